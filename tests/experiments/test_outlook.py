"""What a run expects of this machine: the sentence by hand, and the measurement on roles that are very small."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.course import BudgetConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError
from pipeline.experiments import outlook as module
from pipeline.experiments.outlook import foretell, is_worth_a_rehearsal, outlook, rehearse
from tests.experiments.smoke_runs import SMALL_WORKERS, smoke_config


@pytest.mark.parametrize(
    ("frames", "minutes", "said"),
    [
        (480_000, None, "480,000 frames in about 8 minutes"),
        (480_000, 8.5, "480,000 frames in about 8 minutes"),
        (
            480_000,
            5.0,
            "480,000 frames would take about 8 minutes; budget.minutes=5 ends the training after about 310,000 frames",
        ),
        (None, 2.5, "about 150,000 frames until budget.minutes=2.5 ends the training"),
        (100_000, None, "100,000 frames in about 97 seconds"),
        (20_000_000, None, "20,000,000 frames in about 5 hours"),
        (1_000_000_000, None, "1,000,000,000 frames in about 11 days"),
    ],
)
def test_it_tells_how_long_the_frames_take_or_where_the_minutes_end_them(
    frames: int | None, minutes: float | None, said: str
) -> None:
    budget = BudgetConfig(frames=frames, minutes=minutes, score=None)
    assert outlook(budget, 1_033.3) == f"this machine now makes about 1,000 frames/s of this run: {said}"


def test_a_machine_that_makes_nothing_has_no_outlook() -> None:
    with pytest.raises(ValueError, match=r"frames_per_second=0\.0 must be positive"):
        outlook(BudgetConfig(frames=1, minutes=None, score=None), 0.0)


@pytest.mark.parametrize(
    ("words", "is_worth_it"),
    [
        ([], True),
        (["cluster=processes"], True),
        (["budget.minutes=1"], False),
        (["budget.frames=20_000"], False),
        (["resume=true"], False),
        (["cluster=address", "cluster.address=tcp://10.0.0.1:8786"], False),
    ],
)
def test_only_a_long_run_that_begins_on_this_machine_is_rehearsed(words: list[str], is_worth_it: bool) -> None:
    config = compose(["experiment=gorila_quick", "game=Breakout", *words])
    assert is_worth_a_rehearsal(config) == is_worth_it


def small(tmp_path: Path, experiment: str) -> RunConfig:
    return smoke_config(tmp_path, *(SMALL_WORKERS if experiment == "smoke_dba3c" else []), experiment=experiment)


@pytest.mark.slow
@pytest.mark.parametrize(
    "experiment", ["smoke_gorila", "smoke_dba3c", "smoke_gorila_quantile", "smoke_dqn", "smoke_rainbow", "smoke_apex"]
)
def test_every_system_can_be_rehearsed_and_leaves_nothing_behind(tmp_path: Path, experiment: str) -> None:
    config, before = small(tmp_path, experiment), set(threading.enumerate())
    if config.replay is not None:
        config = replace(config, checkpoint=replace(config.checkpoint, replay=True))
    assert rehearse(config, seconds=0.1) > 0
    assert set(threading.enumerate()) <= before
    assert not config.folder.exists()


def test_a_role_that_cannot_be_built_ends_the_rehearsal_for_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this host has no CUDA device"):
        foretell(replace(small(tmp_path, "smoke_gorila"), device="cuda"))


def test_an_error_that_nobody_foresaw_is_no_reason_not_to_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(config: RunConfig) -> float:
        raise IndexError("no replays")

    monkeypatch.setattr(module, "rehearse", broken)
    assert foretell(small(tmp_path, "smoke_gorila")) == "how long it will take cannot be told: IndexError: no replays"
