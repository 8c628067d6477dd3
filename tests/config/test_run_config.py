"""Checks across the groups of a run, and what a resume may not change."""

import dataclasses
from collections.abc import Callable

import pytest

from pipeline.config.course import BudgetConfig, TrainingEvaluationConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig, differences


@pytest.fixture(scope="module")
def gorila() -> RunConfig:
    return compose(["experiment=gorila", "game=Pong"])


@pytest.fixture(scope="module")
def dba3c() -> RunConfig:
    return compose(["experiment=dba3c", "game=Pong"])


Change = Callable[[RunConfig], RunConfig]


def group(name: str, **values: object) -> Change:
    """A change of some values of one group."""
    return lambda run: dataclasses.replace(run, **{name: dataclasses.replace(getattr(run, name), **values)})


def root(**values: object) -> Change:
    """A change of some values outside of the groups."""
    return lambda run: dataclasses.replace(run, **values)  # type: ignore[arg-type]  # wrong values are the point


def taken_from(experiment: str, *names: str) -> Change:
    """A change of whole groups to those of another experiment."""
    other = compose([f"experiment={experiment}", "game=Pong"])
    return root(**{name: getattr(other, name) for name in names})


def test_a_sound_run_has_no_mistakes(gorila: RunConfig, dba3c: RunConfig) -> None:
    assert gorila.mistakes() == dba3c.mistakes() == []


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ([root(game="Pongg")], "game=Pongg: no such game; did you mean Pong?"),
        ([root(game="???")], "game is missing: name one, e.g. game=Breakout"),
        ([root(seed=-1)], "seed=-1 must be at least 0"),
        ([root(seed=2**63)], f"seed={2**63} must be at most {2**63 - 1}"),
        *(
            (
                [root(experiment=name)],
                f"experiment={name!r} must be the name of one folder: letters, digits, _ - and .",
            )
            for name in ("../outside", "/etc", "a/b", "..", "", ".hidden", "a b", "x" * 101)
        ),
        ([root(device="gpu")], "device=gpu must be one of auto, cpu, cuda"),
        ([root(precision="float16")], "precision=float16 must be one of auto, float32, bfloat16"),
        ([root(progress="dots")], "progress=dots must be one of auto, bar, lines, none"),
        ([root(results_dir="")], "results_dir is empty: name a folder, e.g. results/runs"),
        (
            [root(resume=True, overwrite=True)],
            "resume=true and overwrite=true exclude each other: go on in the run folder, or replace it",
        ),
        (
            [group("budget", frames=None, minutes=None)],
            "budget.frames and budget.minutes are both null: a run needs at least one of them",
        ),
        ([group("budget", frames=0)], "budget.frames=0 must be at least 1, or null"),
        ([group("budget", minutes=0.0)], "budget.minutes=0.0 must be positive, or null"),
        (
            [group("budget", score=18.0)],
            "budget.score=18.0 needs training_evaluation.every_frames: without it nobody plays before the end",
        ),
        (
            [group("training_evaluation", every_frames=0)],
            "training_evaluation.every_frames=0 must be at least 1, or null for none",
        ),
        ([group("training_evaluation", num_episodes=0)], "training_evaluation.num_episodes=0 must be at least 1"),
        (
            [group("training_evaluation", every_frames=1), group("cluster", num_hosts=2)],
            "cluster.num_hosts=2 must be at least 3: bundle-0, bundle-1, evaluator have hosts of their own",
        ),
        (
            [taken_from("dba3c", "network")],
            "network.kind=actor_critic must be q with algorithm.kind=q_learning",
        ),
        ([root(replay=None)], "replay is missing: algorithm.kind=q_learning needs one, e.g. replay=uniform"),
        (
            [taken_from("dba3c", "topology")],
            "topology.kind=workers cannot run algorithm.kind=q_learning: choose topology=single, bundled or global",
        ),
        (
            [group("param_server", target_period_updates=None)],
            "param_server.target_period_updates=null must be a number with algorithm.kind=q_learning, which learns "
            "from a target network",
        ),
        (
            [group("environment", min_frame_skip=2, max_pool=False)],
            "environment.min_frame_skip=2 must equal environment.frame_skip=4 with algorithm.kind=q_learning, whose "
            "replay takes all lanes together",
        ),
        (
            [group("network", num_quantiles=20), group("algorithm", max_abs_td_error=None)],
            "algorithm.max_abs_td_error=null must be a number with network.num_quantiles, whose kappa it is (Dabney et "
            "al. 2018): algorithm.max_abs_td_error=1.0",
        ),
        (
            [group("network", num_quantiles=20, num_atoms=51)],
            "network.num_quantiles=20 must be 1 with num_atoms=51, or that one 1",
        ),
        (
            [group("network", num_atoms=51), group("algorithm", munchausen=True)],
            "algorithm.munchausen=true cannot be learned with network.num_atoms: its targets are those of values or "
            "of quantiles: network=nature or network=quantile",
        ),
        (
            [group("algorithm", munchausen=True, double=True)],
            "algorithm.double=true must be false with munchausen=true: its targets are means over all next actions",
        ),
        ([group("algorithm", outlier_min_error=-0.5)], "algorithm.outlier_min_error=-0.5 must be at least 0"),
        ([group("algorithm", munchausen_weight=1.5)], "algorithm.munchausen_weight=1.5 must lie in [0, 1]"),
        ([group("algorithm", munchausen_floor=0.5)], "algorithm.munchausen_floor=0.5 must be below 0"),
        (
            [group("algorithm", munchausen_temperature=0.0)],
            "algorithm.munchausen_temperature=0.0 must be positive",
        ),
        ([group("param_server", wire="thin")], "param_server.wire=thin must be one of dense, factors"),
        (
            [group("param_server", wire="factors", push_every_updates=4)],
            "param_server.push_every_updates=4 must be 1 with wire=factors: a mean of several gradients travels with "
            "wire=dense only",
        ),
        (
            [group("param_server", wire="factors"), group("network", dueling=True)],
            "param_server.wire=factors needs a gradient that is written out, and with network.dueling=true it is "
            "autograd's: network.dueling=false, or param_server.wire=dense",
        ),
        ([group("checkpoint", every_minutes=0.0)], "checkpoint.every_minutes=0.0 must be positive"),
        (
            [group("checkpoint", memory_seconds=0.0)],
            "checkpoint.memory_seconds=0.0 must be positive, or null for no snapshots in memory",
        ),
        ([group("checkpoint", keep=0)], "checkpoint.keep=0 must be at least 1"),
        ([group("optimizer", learning_rate=0.0)], "optimizer.learning_rate=0.0 must be positive"),
        (
            [group("topology", num_bundles=3), group("cluster", num_hosts=2)],
            "cluster.num_hosts=2 must be at least 3: bundle-0, bundle-1, bundle-2 have hosts of their own",
        ),
        (
            [group("topology", shards="apart"), group("cluster", num_hosts=3)],
            "cluster.num_hosts=3 must be at least 4: bundle-0, bundle-1, shard-0, shard-1 have hosts of their own",
        ),
        (
            # 10 lanes of 10 records, of which a stack of 4 leaves 6 to sample.
            [group("topology", num_lanes=10), group("replay", capacity=105, min_transitions=61)],
            "replay.capacity=105 over 10 lanes with stack=4 and n_step=1 leaves 60 transitions when full, "
            "min_transitions=61 would never be reached: raise capacity to at least 111",
        ),
        (
            [group("environment", stack=3)],
            "evaluation.environment.stack=4 must equal environment.stack=3: one network plays both, so choose an "
            "evaluation of games that look the same",
        ),
        (
            [group("environment", full_action_set=True)],
            "evaluation.environment.full_action_set=false must equal environment.full_action_set=true: "
            "one network plays both, so choose an evaluation of games that look the same",
        ),
    ],
)
def test_each_mistake_is_one_line_that_names_the_setting(
    gorila: RunConfig, changes: list[Change], mistake: str
) -> None:
    run = gorila
    for change in changes:
        run = change(run)
    assert run.mistakes() == [mistake]


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ([group("algorithm", gae_lambda=1.5)], "algorithm.gae_lambda=1.5 must lie in [0, 1]"),
        (
            [group("algorithm", clip_range=1.0)],
            "algorithm.clip_range=1.0 must lie in (0, 1), or be null for the plain objective",
        ),
        (
            [group("algorithm", num_passes=3)],
            "algorithm.num_passes=3 must be 1 without clip_range: nothing would hold the policy near the one that "
            "played: clip_range=0.1",
        ),
        (
            [group("algorithm", normalised_advantages=True)],
            "algorithm.normalised_advantages=true must be false without clip_range, whose objective they are for: "
            "clip_range=0.1",
        ),
        (
            [taken_from("gorila", "topology")],
            "topology.kind=bundled cannot run algorithm.kind=actor_critic: choose topology=single or workers",
        ),
        (
            [taken_from("apex", "topology")],
            "topology.kind=global cannot run algorithm.kind=actor_critic: choose topology=single or workers",
        ),
        (
            [taken_from("gorila", "network")],
            "network.kind=q must be actor_critic with algorithm.kind=actor_critic",
        ),
        (
            [taken_from("gorila", "replay")],
            "replay must be null with algorithm.kind=actor_critic, which learns from each step once: replay=none",
        ),
        (
            [group("checkpoint", replay=True)],
            "checkpoint.replay=true: algorithm.kind=actor_critic has no replay, leave it false",
        ),
        (
            [group("param_server", actor_pull_every_steps=2)],
            "param_server.actor_pull_every_steps=2 must be 1 with algorithm.kind=actor_critic",
        ),
        (
            [group("param_server", learner_pull_every_updates=2)],
            "param_server.learner_pull_every_updates=2 must be 1 with algorithm.kind=actor_critic",
        ),
        (
            [group("param_server", push_every_updates=2)],
            "param_server.push_every_updates=2 must be 1 with algorithm.kind=actor_critic",
        ),
        (
            [group("param_server", overlap=True)],
            "param_server.overlap=true must be false with topology.sync=true: a worker waits for its quorum",
        ),
        (
            [group("topology", sync=False, num_backup_workers=1)],
            "topology.num_backup_workers=1 needs sync=true: without it nobody waits",
        ),
        (
            [group("topology", num_backup_workers=1), group("cluster", num_hosts=2)],
            "cluster.num_hosts=2 must be at least 4: worker-0, worker-1, worker-2, evaluator have hosts of their own",
        ),
        (
            [group("topology", stragglers=((2, "constant", 1.0),))],
            "topology.stragglers: worker 2 is none of 0 to 1, backup workers included",
        ),
        (
            [group("topology", stragglers=((1, "uniform", 1.0),))],
            "topology.stragglers: uniform of worker 1 must be one of constant, exponential",
        ),
    ],
)
def test_each_mistake_in_a_run_of_workers_is_one_line_too(
    dba3c: RunConfig, changes: list[Change], mistake: str
) -> None:
    run = dba3c
    for change in changes:
        run = change(run)
    assert run.mistakes() == [mistake]


def test_all_that_does_not_fit_an_algorithm_is_told_at_once(dba3c: RunConfig) -> None:
    run = group("cluster", num_hosts=1)(taken_from("gorila", "algorithm")(dba3c))
    run = group("training_evaluation", every_frames=None)(group("budget", score=1.0)(run))
    run = group("environment", stack=3, min_frame_skip=2, max_pool=False)(run)
    assert [line.split("=")[0].split(" ")[0] for line in run.mistakes()] == [
        "topology.kind",
        "network.kind",
        "replay",
        "param_server.target_period_updates",
        "environment.min_frame_skip",
        "budget.score",
        "evaluation.environment.stack",
    ]
    hosts_too = group("cluster", num_hosts=1)(taken_from("gorila", "network")(dba3c))
    assert [line.split("=")[0] for line in hosts_too.mistakes()] == ["network.kind", "cluster.num_hosts"]


@pytest.mark.parametrize(
    "change",
    [
        group("topology", num_backup_workers=1, stragglers=((0, "constant", 1.0), (2, "exponential", 0.0))),
        group("param_server", overlap=False, num_shards=5),
        root(budget=BudgetConfig(1, None, 18.0), training_evaluation=TrainingEvaluationConfig(1, 1)),
        taken_from("ba3c", "topology"),
        taken_from("dba3c_paper", "environment", "evaluation"),
    ],
)
def test_workers_may_have_what_is_at_the_edge(dba3c: RunConfig, change: Change) -> None:
    assert change(dba3c).mistakes() == []


def test_workers_that_wait_for_nobody_may_overlap(dba3c: RunConfig) -> None:
    assert group("param_server", overlap=True)(group("topology", sync=False)(dba3c)).mistakes() == []


@pytest.mark.parametrize(
    "change",
    [
        root(seed=0),
        group("cluster", num_hosts=2),
        group("budget", frames=None, minutes=0.5),
        group("replay", capacity=16 * 4 + 32 + 16, min_transitions=32),
    ],
)
def test_values_at_the_edge_of_what_is_allowed_are_no_mistakes(gorila: RunConfig, change: Change) -> None:
    assert change(gorila).mistakes() == []


def test_a_group_with_a_mistake_is_not_compared_with_others(gorila: RunConfig) -> None:
    no_lanes = group("topology", num_lanes=0)(gorila)  # capacity // num_lanes would be an error of ours
    assert no_lanes.mistakes() == ["topology.num_lanes=0 must be at least 1"]


def test_mistakes_of_all_groups_come_together(gorila: RunConfig) -> None:
    run = root(seed=-1)(group("replay", batch_size=0)(group("network", hidden_units=0)(gorila)))
    assert run.mistakes() == [
        "seed=-1 must be at least 0",
        "network.hidden_units=0 must be at least 1",
        "replay.batch_size=0 must be at least 1",
    ]


def test_a_run_does_not_differ_from_itself(gorila: RunConfig) -> None:
    assert differences(gorila, gorila) == []


@pytest.mark.parametrize(
    "change",
    [
        group("budget", frames=5_000_000),
        group("budget", score=18.0),
        group("training_evaluation", every_frames=1_000_000),
        group("checkpoint", keep=5),
        group("cluster", kind="processes"),
        group("topology", compute_threads=5),
        root(resume=True),
        root(overwrite=True),
        root(plan=True),
        root(progress="none"),
        root(results_dir="elsewhere"),
    ],
)
def test_a_resume_may_change_how_long_and_where_a_run_goes_on(gorila: RunConfig, change: Change) -> None:
    assert change(gorila) != gorila
    assert differences(gorila, change(gorila)) == []


def test_a_resume_that_changes_what_is_computed_is_told_each_setting(gorila: RunConfig) -> None:
    now = root(seed=1)(group("algorithm", discount=0.9)(gorila))
    assert differences(gorila, now) == [
        "seed: 0 in the run folder, 1 now",
        "algorithm.discount: 0.99 in the run folder, 0.9 now",
    ]


def test_another_optimizer_differs_in_the_settings_that_only_one_of_them_has(gorila: RunConfig) -> None:
    rmsprop = compose(["experiment=gorila", "game=Pong", "optimizer=rmsprop"])
    lines = differences(gorila, rmsprop)
    assert "optimizer.kind: adagrad in the run folder, rmsprop now" in lines
    assert "optimizer.initial_accumulator: 0.0 in the run folder, not set now" in lines
    assert "optimizer.decay: not set in the run folder, 0.95 now" in lines


def test_a_setting_that_became_null_differs(gorila: RunConfig) -> None:
    now = group("param_server", max_staleness=None)(gorila)
    assert differences(gorila, now) == ["param_server.max_staleness: 8 in the run folder, null now"]


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ([group("algorithm", q_lambda=-0.1)], "algorithm.q_lambda=-0.1 must lie in [0, 1]"),
        ([group("algorithm", t_max=0)], "algorithm.t_max=0 must be at least 1"),
        (
            [group("algorithm", max_gradient_norm=0.0)],
            "algorithm.max_gradient_norm=0.0 must be positive, or null for none",
        ),
        ([taken_from("dba3c", "network")], "network.kind=actor_critic must be q with algorithm.kind=pqn"),
        (
            [group("network", num_quantiles=20)],
            "algorithm.kind=pqn learns means of returns, no quantiles: network=layer_norm or network=nature",
        ),
        (
            [taken_from("gorila", "topology")],
            "topology.kind=bundled cannot run algorithm.kind=pqn: choose topology=single or workers",
        ),
    ],
)
def test_so_is_each_mistake_in_a_run_of_workers_that_learn_values(changes: list[Change], mistake: str) -> None:
    run = compose(["experiment=pqn", "game=Pong"])
    assert run.mistakes() == []
    for change in changes:
        run = change(run)
    assert run.mistakes() == [mistake]
