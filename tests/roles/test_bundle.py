"""When a bundle begins to learn, and that it does not stop again; what it learns: `test_learner`."""

from dataclasses import replace
from pathlib import Path

from pipeline.replay.config import ReplayConfig
from pipeline.replay.keeper import KeptReplays
from pipeline.roles.spec import QRoleSpec
from tests.protocols import nature_protocol
from tests.roles.wiring import Wired, bundle_spec

MIN_TRANSITIONS = 185


def near_capacity(**changes: object) -> QRoleSpec:
    """Games of 10 steps, and a replay that all these ends keep below its minimum: 200 records, 11 of a game."""
    replay = ReplayConfig(**{**vars(bundle_spec().replay), "capacity": 200, "min_transitions": MIN_TRANSITIONS})
    return bundle_spec(environment=nature_protocol(max_frames=40, noop_max=0), replay=replay, **changes)


def test_a_full_replay_that_ends_of_games_keep_below_its_minimum_is_learned_from_without_a_break() -> None:
    wired = Wired(near_capacity())
    while wired.bundle.progress().num_updates == 0:
        assert wired.bundle.progress().num_steps < 2 * MIN_TRANSITIONS
        wired.bundle.step()
    assert wired.bundle._replay.num_added >= MIN_TRANSITIONS
    before = wired.bundle.progress()
    for _ in range(120):
        wired.bundle.step()
        assert wired.bundle.progress().replay_transitions < MIN_TRANSITIONS
    after = wired.bundle.progress()
    assert abs((after.num_steps - before.num_steps) / 4 - (after.num_updates - before.num_updates)) <= 1
    wired.bundle.close()


def test_a_bundle_learns_at_once_from_a_full_replay_that_was_kept_and_fills_one_that_was_not_full(
    tmp_path: Path,
) -> None:
    (tmp_path / "checkpoints").mkdir()
    spec = near_capacity(kept_replays=KeptReplays(str(tmp_path / "checkpoints" / "replay"), 3600.0))
    for start, (num_steps, learns) in enumerate([(100, False), (300, True), (8, True)], 1):
        wired = Wired(replace(spec, attempt=start))
        wired.run(num_steps)
        wired.bundle.close()
        assert (wired.bundle.progress().num_updates > 0) == learns
        assert wired.bundle.progress().replay_transitions < MIN_TRANSITIONS
