"""What is measured of a run, from rows and counters made by hand, and of a real one against its own files."""

import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Scheduler
from rich.console import Console

from pipeline.cluster.dashboard.plugin import PagePlugin
from pipeline.cluster.glance import RunGlance
from pipeline.experiments import meter
from pipeline.experiments.files import checkpoint
from pipeline.experiments.meter import RunMeter
from pipeline.experiments.run import train
from pipeline.results.load import load_run
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, UpdateRow
from tests.clocks import Clock
from tests.clusters import running_cluster
from tests.experiments.smoke_runs import SMALL_WORKERS, smoke_config

EPISODE = EpisodeRow("bundle-0", 0, 1, 4, 3.0, 1, False, 0.25, 0, 0.0)
UPDATE = UpdateRow("bundle-0", 9, 9, 0, 0, 0, 9, 4, 0.5, 1.5, 0.1, 0.2, 0.3, 2, 0.25, 600.0, 150.0, 90, 0.0, 1.5)
GRADIENTS = ActorCriticUpdateRow(
    "worker-0", 20, 15, 5, 0, 0, 9, 4, 0.1, 0.2, 1.75, 0.5, 1.5, 0.3, 1.0, 0.25, 1, 600.0, 4.0, 0.5, 0.25, 0.0, 1.5
)


def role(num_steps: int, version: int = 0, wall_seconds: float = 0.0, replay_transitions: int = 0) -> RoleProgress:
    return RoleProgress(num_steps, version, version, 0.25, replay_transitions, wall_seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(meter, "time", clock)
    return clock


def make(*overrides: str, experiment: str = "smoke_gorila") -> RunMeter:
    return RunMeter(smoke_config(Path("runs"), *overrides, experiment=experiment), "/runs/here")


def last(measuring: RunMeter, clock: Clock, *states: dict[str, RoleProgress]) -> RunGlance:
    """The glance at the last of these states, ten seconds apart."""
    for roles in states:
        clock.now += 10.0
        seen = measuring.glance(roles)
    return seen


def test_speeds_are_means_over_what_was_seen_and_frames_are_those_of_all_roles(clock: Clock) -> None:
    states = [
        {"bundle-0": role(1000, 0), "bundle-1": role(500, 10)},
        {"bundle-0": role(1600), "bundle-1": role(900, 260)},
    ]
    seen = last(make("budget.frames=20000"), clock, *states)
    assert (seen.num_frames, seen.num_updates, seen.fraction) == (10_000, 260, 0.5)
    assert (seen.steps_per_second, seen.updates_per_second) == (100.0, 25.0)
    assert seen.role_steps_per_second == {"bundle-0": 60.0, "bundle-1": 40.0}
    assert seen.eta_seconds == pytest.approx(10.0 / (0.5 - 0.3) * 0.5)
    assert (seen.folder, seen.experiment, seen.game, seen.seed) == ("/runs/here", "smoke_gorila", "Breakout", 0)


def test_what_is_left_goes_by_the_speed_of_learning_and_not_by_that_of_filling_the_replay(clock: Clock) -> None:
    measuring = make("budget.frames=20000")
    filling = [{"bundle-0": role(num_steps)} for num_steps in (0, 1000, 2000)]
    assert last(measuring, clock, *filling).eta_seconds is None
    assert last(
        measuring, clock, {"bundle-0": role(2100, 25)}, {"bundle-0": role(2200, 50)}
    ).eta_seconds == pytest.approx(280.0)


def test_nothing_is_known_before_the_first_role_is_heard_of(clock: Clock) -> None:
    seen = last(make(), clock, {}, {})
    assert (seen.num_frames, seen.fraction, seen.steps_per_second, seen.role_steps_per_second) == (0, 0.0, 0.0, {})
    assert seen.eta_seconds is seen.mean_score is seen.mean_staleness is seen.entropy is None


def test_speeds_forget_what_is_longer_ago_than_half_a_minute(clock: Clock) -> None:
    slow = [{"bundle-0": role(num_steps)} for num_steps in (0, 10, 20, 30)]
    fast = [{"bundle-0": role(30 + 1000 * tens)} for tens in (1, 2, 3)]
    assert last(make(), clock, *slow, *fast).steps_per_second == 100.0


def test_steps_of_a_role_that_is_heard_of_for_the_first_time_are_no_speed(clock: Clock) -> None:
    one, both = {"bundle-0": role(100_000)}, {"bundle-0": role(101_000), "bundle-1": role(100_000)}
    later = {"bundle-0": role(102_000), "bundle-1": role(101_000)}
    measuring = make()
    speeds = [last(measuring, clock, roles).steps_per_second for roles in ({}, one, both, later)]
    assert speeds == [0.0, 0.0, 0.0, 200.0]


def test_a_learner_beside_actors_is_no_role_that_plays(clock: Clock) -> None:
    seen = last(make("topology=global"), clock, {"actor-0": role(10), "learner-0": role(0, 5)})
    assert list(seen.role_steps_per_second) == ["actor-0"]


def test_scores_are_those_of_the_last_hundred_games(clock: Clock) -> None:
    measuring = make()
    measuring.see([EpisodeRow("bundle-0", 0, 1, 4, 1000.0, 1, False, 0.25, 0, 0.0)])
    measuring.see([EPISODE] * 99)
    assert last(measuring, clock, {}).mean_score == pytest.approx(12.97)
    measuring.see([EPISODE])
    assert last(measuring, clock, {}).mean_score == 3.0


def test_what_is_told_of_the_learning_is_its_algorithm_s(clock: Clock) -> None:
    learner = make()
    learner.see([UPDATE])
    seen = last(learner, clock, {})
    assert (seen.mean_staleness, seen.epsilon, seen.entropy, seen.late_share) == (0.3, 0.25, None, None)
    synchronous = make(*SMALL_WORKERS, experiment="smoke_dba3c")
    synchronous.see([GRADIENTS])
    seen = last(synchronous, clock, {})
    assert (seen.mean_staleness, seen.epsilon, seen.entropy, seen.late_share) == (None, None, 1.75, 0.25)
    asynchronous = make(
        *SMALL_WORKERS, "topology.sync=false", "topology.num_backup_workers=0", experiment="smoke_dba3c"
    )
    asynchronous.see([GRADIENTS])
    seen = last(asynchronous, clock, {})
    assert (seen.mean_staleness, seen.entropy, seen.late_share) == (0.25, 1.75, None)
    of_values = make(experiment="smoke_pqn")
    of_values.see([replace(UPDATE, num_admitted=6, num_dropped_stale=3)])
    seen = last(of_values, clock, {})
    assert (seen.mean_staleness, seen.epsilon, seen.entropy, seen.late_share) == (None, 0.25, None, 3 / 9)


def test_late_gradients_are_those_of_all_workers_in_their_newest_groups() -> None:
    measuring = make(experiment="smoke_dba3c")
    groups = [("worker-0", 20), ("worker-1", 5), ("worker-0", 1), ("worker-2", 12)]
    measuring.see([replace(GRADIENTS, role=role, num_dropped_late=late) for role, late in groups])
    assert measuring.glance({}).late_share == (1 + 5 + 12) / 60
    measuring.went_back()
    assert measuring.glance({}).late_share is None


@pytest.mark.parametrize(
    ("overrides", "roles", "fill"),
    [
        ([], {"bundle-0": role(1, replay_transitions=1000), "bundle-1": role(1, replay_transitions=2000)}, 0.75),
        (
            ["topology=global", "topology.num_replay_shards=1"],
            {"actor-0": role(1), "learner-0": role(0, replay_transitions=1500)},
            0.75,
        ),
        (
            ["topology=global", "topology.num_learners=2", "topology.num_replay_shards=2"],
            {f"learner-{index}": role(0, replay_transitions=1000) for index in range(2)},
            0.25,
        ),
        ([], {"bundle-0": role(1, replay_transitions=4001)}, 1.0),
    ],
    ids=["of each bundle", "global", "two shards and two learners that know of both", "never more than full"],
)
def test_the_replay_s_fill_is_of_all_that_fits(
    clock: Clock, overrides: list[str], roles: dict[str, RoleProgress], fill: float
) -> None:
    measuring = make("replay.capacity=2000", "replay.min_transitions=500", *overrides)
    assert last(measuring, clock, roles).replay_fill == fill


def test_a_return_to_a_checkpoint_is_no_negative_speed(clock: Clock) -> None:
    measuring = make("budget.frames=40000")
    last(measuring, clock, {"bundle-0": role(4000, 90)}, {"bundle-0": role(5000, 100)})
    measuring.went_back()
    seen = last(measuring, clock, {"bundle-0": role(1000, 20)}, {"bundle-0": role(2000, 40)})
    assert (seen.steps_per_second, seen.updates_per_second, seen.num_restarts) == (100.0, 2.0, 1)
    assert seen.eta_seconds == 80.0


def test_restarts_are_counted(clock: Clock) -> None:
    measuring = make()
    measuring.restarted()
    measuring.restarted()
    assert last(measuring, clock, {}).num_restarts == 2


@pytest.mark.slow
def test_a_real_run_publishes_glances_whose_numbers_are_those_of_its_files(tmp_path: Path) -> None:
    with running_cluster() as cluster:
        where = ["cluster=address", f"cluster.address={cluster.scheduler_address}"]
        short = ["environment.max_frames=300", "evaluation.num_episodes=1"]
        with (tmp_path / "printed").open("w") as printed:
            result = train(smoke_config(tmp_path, *where, *short), Console(file=printed, width=200))
        assert isinstance(cluster.scheduler, Scheduler)
        plugin = cluster.scheduler.plugins[PagePlugin.name]
        assert isinstance(plugin, PagePlugin)
        (series,) = plugin.board.runs.values()
    assert "/status and http" in (tmp_path / "printed").read_text()
    assert result.folder is not None and result.folder.absolute() == Path(series.newest.folder)
    end, loaded = checkpoint.load_newest(result.folder / "checkpoints"), load_run(result.folder)
    newest = series.newest
    assert (newest.num_frames, newest.fraction) == (4 * end.num_steps, 1.0)
    assert newest.wall_seconds == end.wall_seconds
    assert newest.num_updates == max(progress.version for progress in end.progress.values()) > 0
    assert newest.mean_score == pytest.approx(statistics.fmean(loaded.episodes["score"].iloc[-100:]))
    assert newest.mean_staleness == pytest.approx(loaded.updates["mean_staleness"].iloc[-1])
    assert newest.role_steps_per_second.keys() == {role for role, made in end.progress.items() if made.num_steps}
    assert newest.replay_fill is not None and 0 < newest.replay_fill <= 1
