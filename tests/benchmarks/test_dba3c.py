"""The benchmarks of DBA3C at a toy size: they run, go on where they stopped, and draw. What they say is not tested."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import (
    __main__,
    dba3c_cost_file,
    dba3c_figures,
    dba3c_learning,
    dba3c_lost_worker,
    dba3c_scaling,
    dba3c_shards,
    dba3c_simulation,
    dba3c_stragglers,
    trained_runs,
)
from benchmarks.dba3c_call_costs import COMMIT, MESSAGE, PULL, PUSH, CallMeter, CallSeconds, calls_of
from benchmarks.dba3c_costs import Steps, merged
from benchmarks.dba3c_learning import rates
from benchmarks.dba3c_runs import NETWORKS, QUICK, speed
from benchmarks.simulation.costs import Linear
from benchmarks.simulation.grid import CHECK, GRID, SERVERS, STRAGGLERS, WORKERS, Case
from pipeline.algorithms.config import ActorCriticConfig
from pipeline.config.overrides import compose
from pipeline.errors import DivergedError, PipelineError
from pipeline.interfaces import Immediate
from pipeline.networks.config import ActorCriticNetworkConfig
from pipeline.optimizers import AdamConfig
from pipeline.roles import worker
from pipeline.roles.divergence import DivergenceGuard

STEPS_AND_LANES = {"experiment_dba3c": (40, 8), "dba3c_quick": (20, 4), "dba3c_32": (32, 10), "ba3c_32": (32, 10)}
"""Of a gradient of one of NETWORKS, unless they are 160 and 32."""
TINY = ("network.hidden_units=16", "topology.num_lanes=2", "algorithm.batch_size=10")
PNG = b"\x89PNG"


@pytest.fixture(autouse=True)
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of two gradients, so that a few of them are enough; in this process alone."""
    monkeypatch.setattr(worker, "UPDATES_PER_ROW", 2)


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The JSON lines so far."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def is_figure(path: Path) -> bool:
    """Whether a PNG file is there."""
    return path.read_bytes().startswith(PNG)


def update_rows(*rows: tuple[str, int, float, int, int, float]) -> pd.DataFrame:
    """(role, version, wall seconds, gradients, of them late, seconds waited) each."""
    names = ["role", "version", "wall_seconds", "num_updates", "num_dropped_late", "waited_seconds"]
    return pd.DataFrame(rows, columns=names)


def test_speed_is_counted_between_full_rows_of_the_first_worker() -> None:
    config = compose(["experiment=dba3c", "game=Pong", "topology.num_workers=2", "algorithm.batch_size=30"])
    updates = update_rows(
        ("worker-0", 2, 10.0, 2, 0, 5.0),
        ("worker-1", 5, 3.0, 2, 1, 0.0),
        ("worker-0", 4, 11.0, 2, 0, 0.2),
        ("worker-0", 6, 14.0, 2, 1, 0.8),
        ("worker-0", 7, 99.0, 1, 0, 9.0),  # left behind when it was stopped
    )
    measured = speed(config, updates)
    assert measured.num_updates == 4
    assert measured.seconds_per_update == 1.0
    assert measured.data_points_per_second == 2 * 30
    assert measured.late_share == 2 / 9
    assert measured.waited_share == 0.25


def test_of_asynchronous_workers_each_gradient_is_an_update() -> None:
    config = compose(["experiment=dba3c", "game=Pong", "topology.sync=false", "algorithm.batch_size=30"])
    measured = speed(config, update_rows(("worker-0", 2, 10.0, 2, 0, 0.0), ("worker-0", 6, 12.0, 2, 0, 0.0)))
    assert measured.data_points_per_second == 60


def test_a_run_that_was_too_short_is_refused() -> None:
    config = compose(["experiment=dba3c", "game=Pong"])
    with pytest.raises(ValueError, match="worker-0 has 1 full rows of 2 gradients, needed are 2"):
        speed(config, update_rows(("worker-0", 2, 10.0, 2, 0, 0.0), ("worker-1", 4, 12.0, 2, 0, 0.0)))


def test_networks_take_turns_so_that_their_speeds_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(settings: object, network: str, round_: int, worker_steps: int) -> dba3c_scaling.ScalingRow:
        return dba3c_scaling.ScalingRow(network, round_, "Pong", 1_000, one=100.0, two=200.0, no_server=210.0)

    monkeypatch.setattr(dba3c_scaling, "_measure", measured)
    dba3c_scaling.main(num_rounds=2, networks=("dba3c", "ba3c"), output=tmp_path)
    rows = pd.read_csv(tmp_path / "scaling.csv")
    assert rows["network"].tolist() == ["dba3c", "ba3c", "dba3c", "ba3c"]


def test_workers_are_run_alone_together_and_without_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(num_rounds: int) -> dict[str, Any]:
        # The first loop to be done ends both: on a busy machine it may be far ahead after a tenth of a second.
        dba3c_scaling.main(
            num_rounds=num_rounds, worker_steps=1_600, networks=("nature_grey",), overrides=TINY, output=tmp_path
        )
        (line,) = printed(capsys)
        return line

    first = main(num_rounds=1)
    for name in ("one_steps_per_second", "two_steps_per_second", "no_server_steps_per_second"):
        assert first[name] > 0
    rows = tmp_path / "scaling.csv"
    before = rows.read_text()
    assert main(num_rounds=1)["two_over_no_server"] == first["two_over_no_server"]
    assert rows.read_text() == before


def test_shards_are_counted_beside_and_apart(tmp_path: Path) -> None:
    dba3c_shards.main(
        num_rounds=1,
        num_workers=1,
        worker_steps=80,
        networks=("dba3c",),
        places=("apart",),
        shard_counts=(2,),
        cluster="threads",
        overrides=TINY,
        output=tmp_path,
        figures=tmp_path,
    )
    (row,) = pd.read_csv(tmp_path / "shards.csv").to_dict("records")
    assert (row["shards"], row["num_shards"], row["num_workers"]) == ("apart", 2, 1)
    assert row["data_points_per_second"] > 0
    assert is_figure(tmp_path / "dba3c_shards.png")


def test_a_straggler_sleeps_for_several_healthy_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dba3c_stragglers, "DISTRIBUTIONS", ("constant",))
    dba3c_stragglers.main(
        num_rounds=1,
        num_started=2,
        backup_counts=(0,),
        run_seconds=100.0,
        overrides=("budget.frames=360",),
        output=tmp_path,
        figures=tmp_path,
    )
    healthy, slowed = pd.read_csv(tmp_path / "stragglers.csv").to_dict("records")
    assert (healthy["distribution"], slowed["distribution"]) == ("none", "constant")
    assert healthy["mean_delay_seconds"] == 0.0
    assert slowed["mean_delay_seconds"] == pytest.approx(4 * healthy["seconds_per_update"], rel=1e-3)
    assert slowed["seconds_per_update"] > slowed["mean_delay_seconds"]
    assert is_figure(tmp_path / "dba3c_stragglers.png")


@pytest.mark.slow
def test_a_killed_worker_is_counted_with_the_pauses_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {
        "num_rounds": 1,
        "run_seconds": 12.0,
        "rows_before": 3,
        "backup_counts": (1,),
        "overrides": TINY,
        "output": tmp_path,
    }
    dba3c_lost_worker.main(**settings)
    (row,) = pd.read_csv(tmp_path / "lost_worker.csv").to_dict("records")
    assert (row["num_workers"], row["num_backup_workers"]) == (2, 1)
    assert min(row["seconds_per_update"], row["longest_before_seconds"], row["longest_after_seconds"]) > 0
    assert row["num_updates_after"] > 0
    first = printed(capsys)
    dba3c_lost_worker.main(**settings)
    assert printed(capsys) == first


@pytest.mark.slow
def test_costs_are_measured_and_what_they_predict_stands_beside_a_real_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = (
        Case(WORKERS, 1, 0, 4, num_updates=10),
        Case(WORKERS, 4, 0, 4, num_updates=10),
        # More workers than steps that were measured.
        Case(WORKERS, 100_000, 0, 4, num_updates=10),
        Case(SERVERS, 4, 0, 2, num_updates=10),
        Case(STRAGGLERS, 3, 1, 2, 1, "exponential", 4.0, num_updates=10),
    )
    dba3c_simulation.main(
        networks=("nature_grey",),
        check_networks=("nature_grey",),
        check_workers=(1,),
        num_rounds=2,
        worker_steps=80,
        num_cores=1,
        num_cost_updates=1,
        step_seconds=1.0,
        grid=grid,
        cluster="threads",
        overrides=TINY,
        output=tmp_path,
        figures=tmp_path,
    )
    (line,) = printed(capsys)
    ratio = line["simulated_data_points_per_second"] / line["measured_data_points_per_second"]
    assert line["error"] == pytest.approx(ratio - 1, abs=0.01)
    rows = pd.read_csv(tmp_path / "simulation.csv")
    assert rows["source"].tolist() == ["measured"] * 2 + ["simulated"] * 5
    assert rows["study"].tolist() == [CHECK, CHECK, CHECK, WORKERS, WORKERS, SERVERS, STRAGGLERS]
    for name in ("prediction", "workers", "servers", "stragglers"):
        assert is_figure(tmp_path / f"dba3c_simulated_{name}.png")
    first, second = dba3c_cost_file.load(tmp_path / "costs.json", "nature_grey")
    assert first.calls.message.server.fixed > 0
    assert min(second.steps.alone) > 0
    both = merged([first, second])
    assert both.steps.alone == first.steps.alone + second.steps.alone
    message = both.calls.message.caller.fixed
    assert message == pytest.approx((first.calls.message.caller.fixed + second.calls.message.caller.fixed) / 2)
    dba3c_cost_file.append(tmp_path / "costs.json", "another", both)
    assert dba3c_cost_file.load(tmp_path / "costs.json", "another") == [both]
    assert dba3c_cost_file.load(tmp_path / "costs.json", "nature_grey") == [first, second]


def test_calls_cost_what_a_message_costs_and_as_much_for_each_parameter() -> None:
    measured = {
        MESSAGE: CallSeconds(wall=0.7, caller=0.2, server=0.1),
        PUSH: CallSeconds(wall=9.0, caller=30.2, server=20.1),
        PULL: CallSeconds(wall=9.0, caller=0.15, server=0.1),
        COMMIT: CallSeconds(wall=9.0, caller=0.2, server=50.1),
    }
    calls = calls_of(10, measured, seconds_per_gradient=1.5)
    assert calls.push.caller == Linear(0.2, 3.0) and calls.push.server == Linear(0.1, 2.0)
    assert calls.pull.caller == Linear(0.2, 0.0), "noise makes no parameter cheaper than none"
    assert calls.message.caller.seconds(1000) == 0.2
    assert calls.apply.seconds(10, num_gradients=1) == pytest.approx(50.0)
    assert calls.apply.seconds(10, num_gradients=3) == pytest.approx(80.0)
    assert calls.latency_seconds == pytest.approx(0.2)


def test_what_the_caller_does_not_compute_is_the_servers_or_the_way() -> None:
    computed = 0.0

    def call(wall: float) -> Immediate[str]:
        nonlocal computed
        time.sleep(wall)
        computed += wall / 2
        return Immediate("answer")

    meter = CallMeter(lambda: Immediate(computed))
    meter.carry_out(MESSAGE, lambda: call(0.01))
    meter.begin()
    for _ in range(3):
        assert meter.carry_out(PUSH, lambda: call(0.02)).result(0.0) == "answer"
    calls = meter.end()
    assert set(calls) == {PUSH}, "what was before it began does not count"
    push = calls[PUSH]
    assert push.wall >= 0.02 and push.caller < 0.02
    assert 0.0 < push.server < push.wall - push.caller


def test_a_core_is_as_fast_as_its_steps_tell() -> None:
    assert Steps(alone=(1.0, 3.0), crowded=(2.0, 2.0, 3.0, 3.0)).full_speed == 0.8
    assert Steps(alone=(1.0,), crowded=(0.9,)).full_speed == 1.0


def test_the_grid_has_the_sizes_that_the_figures_need() -> None:
    workers = [case.num_workers for case in GRID if case.study == WORKERS]
    assert (workers[0], workers[-1]) == (1, 1000) and 64 in workers
    assert {case.num_servers for case in GRID if case.study == SERVERS} == {1, 2, 4, 8}
    backups = {case.num_backup_workers for case in GRID if case.study == STRAGGLERS}
    assert backups == {0, 1, 2, 4}
    assert {case.num_workers + case.num_backup_workers for case in GRID if case.study == STRAGGLERS} == {64}
    assert len(set(GRID)) == len(GRID)


@pytest.mark.parametrize(
    ("network", "steps", "lanes"), [(name, *STEPS_AND_LANES.get(name, (160, 32))) for name in NETWORKS]
)
def test_speeds_are_of_as_many_steps_as_the_rows_say(network: str, steps: int, lanes: int) -> None:
    config = compose([*QUICK, *NETWORKS[network], "game=Pong"])
    assert config.mistakes() == []
    assert isinstance(config.algorithm, ActorCriticConfig)
    assert (config.algorithm.batch_size, config.topology.num_lanes) == (steps, lanes)
    assert (config.environment.min_frame_skip == 2) == (network not in ("experiment_dba3c", "dba3c_quick"))
    assert config.training_evaluation.every_frames is None, "nobody plays beside the workers"


@pytest.mark.parametrize(("network", "experiment"), [("experiment_dba3c", "dba3c"), ("dba3c_quick", "dba3c_quick")])
def test_speeds_named_after_an_experiment_are_of_its_network_and_games(network: str, experiment: str) -> None:
    measured = compose([*QUICK, *NETWORKS[network], "game=Pong"])
    meant = compose([f"experiment={experiment}", "game=Pong"])
    assert (measured.environment, measured.topology) == (meant.environment, meant.topology)
    assert measured.network.torso == meant.network.torso and measured.param_server == meant.param_server


def test_a_run_leaves_its_row_and_its_curve_and_is_not_made_again(tmp_path: Path) -> None:
    arguments = ["--game=Pong", "--frames=600", "--seeds", "0", "--cases", "adam_usual"]
    arguments += [f"--runs-dir={tmp_path / 'runs'}", f"--output={tmp_path}", f"--figures={tmp_path}", "--overrides"]
    arguments += [
        *TINY,
        "evaluation=smoke",
        "evaluation.num_episodes=1",
        "environment.max_frames=48",
        "progress=none",
    ]
    dba3c_learning.main(arguments)
    (row,) = pd.read_csv(tmp_path / "learning.csv").to_dict("records")
    assert (row["case"], row["beta1"], row["beta2"], row["network"]) == ("adam_usual", 0.9, 0.999, "nature 16")
    assert row["data_points_per_second"] > 0
    curve = pd.read_csv(tmp_path / "learning_curves.csv")
    assert curve["steps"].is_monotonic_increasing and curve["steps"].iloc[0] > 0
    before = (tmp_path / "learning.csv").read_text()
    dba3c_learning.main(arguments)
    assert (tmp_path / "learning.csv").read_text() == before


def test_a_run_that_fails_is_named_at_the_end_and_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def train(chosen: object, case: str, seed: int) -> Any:
        made.append(case)
        raise PipelineError("diverged")

    monkeypatch.setattr(dba3c_learning, "_train", train)
    with pytest.raises(SystemExit, match=r"without a row:\nbase, seed 0: diverged\nasync, seed 0: diverged"):
        dba3c_learning.main([f"--output={tmp_path}", "--seeds", "0", "--cases", "base", "async"])
    assert made == ["base", "async"]


def test_a_run_that_diverges_has_a_row_without_a_score_and_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def admits(guard: object, measure: float, version: int) -> bool:
        if version < 4:
            return True
        raise DivergedError("no number")

    monkeypatch.setattr(DivergenceGuard, "admits", admits)
    arguments = ["--game=Pong", "--frames=2000", "--seeds", "0", "--cases", "base"]
    arguments += [f"--runs-dir={tmp_path / 'runs'}", f"--output={tmp_path}", f"--figures={tmp_path}", "--overrides"]
    arguments += [*TINY, "progress=none"]
    dba3c_learning.main(arguments)
    (row,) = pd.read_csv(tmp_path / "learning.csv").to_dict("records")
    assert row["end_reason"] == "diverged" and math.isnan(row["evaluation_mean"])
    assert row["num_updates"] >= 2 and row["wall_seconds"] > 0
    before = (tmp_path / "learning.csv").read_text()
    dba3c_learning.main(arguments)
    assert (tmp_path / "learning.csv").read_text() == before


def test_figures_say_how_many_runs_diverged(tmp_path: Path) -> None:
    runs, _ = learning_rows((*dba3c_figures.MODEL_CASES, *dba3c_figures.LARGE_MODEL_CASES))
    runs.loc[0, ["end_reason", "evaluation_mean"]] = "diverged", math.nan
    speeds = network_speeds()
    title = dba3c_figures.models_figure(speeds.rounds, speeds.many_workers, runs).get_suptitle()
    assert title.endswith("; 1 of dba3c diverged")


def test_cases_of_the_hidden_layer_differ_in_its_width_or_its_activation_alone() -> None:
    for cases_of in (dba3c_figures.HIDDEN_LAYER_CASES, dba3c_figures.LARGE_HIDDEN_LAYER_CASES):
        alike = []
        for activation, cases in cases_of.items():
            for case, units in zip(cases, (128, 512) if len(cases) == 2 else (128,), strict=True):
                config = compose(["experiment=dba3c_quick", "game=Breakout", *dba3c_learning.CASES[case]])
                network = config.network
                assert isinstance(network, ActorCriticNetworkConfig) and network.hidden_units == units
                assert network.activation == {"no activation": "linear", "PReLU": "prelu"}[activation]
                others = replace(config, network=replace(network, hidden_units=0, activation=""))
                alike.append((others, dba3c_learning.num_frames(case, 100)))
        assert len(alike) > 2 and all(one == alike[0] for one in alike)


def test_a_curve_is_the_mean_of_the_last_hundred_games() -> None:
    episodes = pd.DataFrame(
        {"role": "worker-0", "total_frames": np.arange(3, 453, 3), "wall_seconds": np.arange(150.0)}
    )
    # Reported by two workers in turn: the file has other games first.
    episodes = episodes.assign(score=np.arange(150.0)).sample(frac=1.0, random_state=0)
    points = trained_runs.curve(episodes, mean_frame_skip=3.0)
    assert points[0] == (20, 19.0, np.arange(20).mean())
    assert points[-1] == (150, 149.0, np.arange(50, 150).mean())


def test_a_curve_of_too_few_games_is_empty() -> None:
    episodes = pd.DataFrame({"role": "worker-0", "total_frames": [3], "wall_seconds": [1.0], "score": [1.0]})
    assert trained_runs.curve(episodes, mean_frame_skip=3.0) == []


def learning_rows(cases: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two seeds of each case, which learn alike."""
    runs = [
        {
            "case": case,
            "seed": seed,
            "game": "Breakout",
            "frames": 300,
            "network": case,
            "num_parameters": 1000 * (1 + index),
            "num_workers": 1 + index,
            "num_cores": 2,
            "batch_size": 5,
            "wall_seconds": 90.0,
            "data_points_per_second": 100.0,
            "training_mean": 10.0,
            "evaluation_mean": 12.0 + index,
            "end_reason": "budget",
        }
        for index, case in enumerate(cases)
        for seed in (0, 1)
    ]
    curves = [
        {"case": run["case"], "seed": run["seed"], "game": "Breakout", "steps": 10, "wall_seconds": 60.0, "score": 8.0}
        for run in runs
    ]
    return pd.DataFrame(runs), pd.DataFrame(curves)


def network_speeds() -> dba3c_learning.Speeds:
    """A round of each of the authors' networks, and of each 32 and 64 simulated workers."""
    round_ = {"round": 0, "game": "Pong", "num_parameters": 1000, "one": 100.0, "two": 200.0, "no_server": 200.0}
    rounds = [{"network": network, **round_} for network in dba3c_figures.MODEL_CASES]
    simulated = [
        {
            "study": study,
            "network": f"{network}_32",
            "num_workers": num_workers,
            "num_servers": 4,
            "num_parameters": 1000,
            "batch_size": 32,
            "data_points_per_second": 1e4,
        }
        for network in dba3c_figures.MODEL_CASES
        for study, num_workers in ((WORKERS, 32), (WORKERS, 64), (SERVERS, 64))
    ]
    return dba3c_learning.Speeds(pd.DataFrame(rounds), pd.DataFrame(simulated))


def test_speeds_of_the_models_are_of_as_many_workers_as_the_authors_had() -> None:
    speeds = network_speeds()
    assert speeds.many_workers[["network", "study", "num_workers"]].to_numpy().tolist() == [
        ["dba3c_32", WORKERS, 64],
        ["ba3c_32", WORKERS, 64],
    ]
    assert speeds.complete
    assert not speeds._replace(rounds=speeds.rounds[:1]).complete
    assert not speeds._replace(simulated=speeds.simulated[:3]).complete


def test_all_figures_of_learning_are_drawn_when_their_cases_are_there(tmp_path: Path) -> None:
    dba3c_learning.draw(*learning_rows(list(dba3c_learning.CASES)), network_speeds(), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    topics = ("settings", "models", "hidden_layer", "workers", "sync", "adam")
    assert names == {f"dba3c_{topic}.png" for topic in topics}
    assert all(is_figure(path) for path in tmp_path.iterdir())


def test_a_figure_whose_cases_are_missing_is_not_drawn(tmp_path: Path) -> None:
    cases = ["base", "steps_10", "async", *dba3c_figures.MODEL_CASES, *dba3c_figures.LARGE_MODEL_CASES]
    speeds = network_speeds()
    dba3c_learning.draw(*learning_rows(cases), speeds._replace(rounds=speeds.rounds[:0]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dba3c_sync.png"], "no speeds of the authors' networks"


def test_a_run_that_never_reaches_the_goal_counts_as_one_that_takes_for_ever() -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    curves.loc[curves["case"] == "base", "score"] = 7.9
    times = dba3c_figures.times_to_goal(curves, runs)
    assert times["num_workers"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert times["minutes"].tolist() == [1.0, 1.0, math.inf, math.inf, 1.0, 1.0, 1.0, 1.0]
    # 10 steps, of which each of 4 workers puts 5 into an update.
    assert times["updates"].iloc[-1] == 0.5


def test_time_to_a_score_is_drawn_from_measured_updates_and_simulated_seconds(tmp_path: Path) -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    simulated = pd.DataFrame(
        {"study": WORKERS, "network": "dba3c_quick", "num_workers": [1, 2, 3, 4], "num_servers": 4}
    ).assign(seconds_per_update=0.1)
    dba3c_simulation.draw_time_to_score(simulated, tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing has been learned yet"
    runs.to_csv(tmp_path / "learning.csv")
    curves.to_csv(tmp_path / "learning_curves.csv")
    dba3c_simulation.draw_time_to_score(simulated, tmp_path, tmp_path)
    assert is_figure(tmp_path / "dba3c_simulated_time_to_score.png")


@pytest.mark.parametrize("case", dba3c_learning.CASES)
def test_every_case_is_a_run_that_can_be_made(case: str) -> None:
    config = compose(["experiment=dba3c_quick", "game=Breakout", *dba3c_learning.CASES[case]])
    assert config.mistakes() == []
    is_large = case in dba3c_figures.ADAM_CASES or case.endswith("_large")
    assert isinstance(config.optimizer, AdamConfig) and config.optimizer.learning_rate == 1e-5
    assert config.optimizer.epsilon == (1e-8 if is_large else 1e-5)


def test_step_sizes_rise_and_fall_after_as_many_steps_whatever_an_update_is_made_of() -> None:
    changes = compose(["experiment=dba3c_quick", "game=Pong"]).optimizer.learning_rate_changes
    assert changes == compose(["experiment=dba3c_quick", "game=Pong", rates(500)]).optimizer.learning_rate_changes
    assert rates(125, 1e-3, times_frames=4).endswith("=[[125,1e-4],[250,0.001],[10000,0.0002]]")


def test_long_benchmarks_run_only_when_they_are_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "command", lambda name: ["echo", name])
    __main__.main([])
    assert capfd.readouterr().out.split() == list(__main__.NAMES)
    __main__.main(["dba3c_learning"])
    assert capfd.readouterr().out.split() == ["dba3c_learning"]
