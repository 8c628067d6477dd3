"""Each benchmark at a toy size: it runs, and prints the figures that are promised. What they say is not tested."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import (
    actor_stepping,
    compiled_step,
    gorila_scaling,
    optimizer_step,
    random_frame_skip,
    replay_prioritised,
    replay_sampling,
    replay_saving,
    replay_share,
    replay_wire,
    report_time,
    server_wire,
    sweep_overhead,
    update_step,
)
from benchmarks.devices import __main__ as devices
from benchmarks.gradient_wire import __main__ as gradient_wire
from benchmarks.loss_costs import __main__ as loss_costs
from benchmarks.loss_costs.losses import OF_Q_LEARNING, OF_ROLLOUTS
from pipeline.config.overrides import compose
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.slices import Multiplier, sliced
from pipeline.results.load import load_run
from pipeline.results.run_scores import run_scores

TORCH_LINKS_NOTHING = compiled_step.why_not_here(Path(torch.__file__).parent)
PROVENANCE = {"commit", "cpu", "num_cores", "python", "torch", "numpy"}
TINY_RUN = (
    "network.hidden_units=16",
    "topology.num_lanes=4",
    "replay.batch_size=4",
    "replay.min_transitions=64",
    "algorithm.steps_per_update=2",
)


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The JSON lines so far, each with its commit and machine."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    for line in lines:
        assert line.keys() >= PROVENANCE
    return lines


def positive(line: dict[str, Any], *names: str) -> bool:
    """All these figures are there and above zero."""
    return all(line[name] > 0 for name in names)


@pytest.mark.slow
def test_devices_are_compared_in_steps_and_in_runs(capsys: pytest.CaptureFixture[str]) -> None:
    small = ("network.torso=dqn_2013", "topology.num_lanes=4", "param_server.num_shards=1")
    devices.main(
        num_rounds=1, batch_sizes=(20,), num_playing=(1,), clusters=("threads",), role_steps=2_600, overrides=small
    )
    lines = printed(capsys)
    steps = [line for line in lines if line["benchmark"] == "devices_step"]
    runs = [line for line in lines if line["benchmark"] == "devices_run"]
    assert {line["experiment"] for line in steps} == {line["experiment"] for line in runs} == {"gorila", "dba3c"}
    assert {line["device"] for line in runs} == ({"cpu", "cuda"} if torch.cuda.is_available() else {"cpu"})
    assert all(positive(line, "gradient_ms") for line in steps) and all(
        positive(line, "steps_per_second") for line in runs
    )


@pytest.mark.slow
def test_the_benchmark_of_losses_has_a_line_for_each_beside_that_of_its_system(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loss_costs.main(num_rounds=1)
    lines = {line["loss"]: line for line in printed(capsys)}
    assert lines.keys() == OF_Q_LEARNING.keys() | OF_ROLLOUTS.keys()
    assert all(positive(line, "gradient_ms", "ms_per_step") for line in lines.values())
    assert lines["gorila"]["per_step_over_first"] == lines["dba3c"]["per_step_over_first"] == 1.0
    assert lines["dba3c_clip"]["steps_per_gradient"] == pytest.approx(128 / 3, rel=1e-3)
    assert lines["pqn"]["steps_per_gradient"] == 32


def test_the_benchmark_of_an_update_has_a_line_for_each_precision(capsys: pytest.CaptureFixture[str]) -> None:
    update_step.main(batch_size=2, num_rounds=1)
    lines = printed(capsys)
    assert [line["dtype"] for line in lines] in (["float32"], ["float32", "bfloat16"])
    for line in lines:
        assert positive(line, "update_ms", "autograd_ms", "product_gigaflop_per_second", "share_of_product")
        # By hand: 18.7 million for a pass forward, of which there are two; as many for the gradient of the weights, and
        # for that of the layers' inputs, 6.6 million less for the image, which wants none.
        assert line["gigaflop"] == pytest.approx(2 * 68.2e-3, rel=0.02)


def test_where_torch_compiles_nothing_the_benchmark_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__file__", "/home/a user/torch/__init__.py")
    with pytest.raises(SystemExit, match=r"links nothing in /home/a user/torch, .* a checkout without one"):
        compiled_step.main(batch_size=2, num_rounds=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, of a part that it imports
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile wants a C++ compiler")
@pytest.mark.skipif(TORCH_LINKS_NOTHING is not None, reason=str(TORCH_LINKS_NOTHING))
def test_a_compiled_update_stands_beside_ours_and_the_module_s(capsys: pytest.CaptureFixture[str]) -> None:
    compiled_step.main(batch_size=2, num_rounds=1)
    (line,) = printed(capsys)
    assert positive(line, "compile_seconds", "update_ms", "module_ms", "compiled_ms", "compiled_over_update")


def test_the_optimizer_benchmark_has_a_line_for_each_optimizer_and_wire(capsys: pytest.CaptureFixture[str]) -> None:
    optimizer_step.main(num_params=1000, num_calls=2)
    lines = printed(capsys)
    assert [line.get("optimizer") or line["wire_dtype"] for line in lines] == [
        "adagrad",
        "rmsprop",
        "adam",
        "float32",
        "bfloat16",
    ]
    assert all(positive(line, "step_ms") for line in lines[:3])


def test_prioritised_draws_are_timed_beside_those_of_other_libraries_where_they_are_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    replay_prioritised.main(capacity=1600, torchrl_capacity=1000, num_rounds=2)
    lines = printed(capsys)
    trees, replays = lines[:4], lines[4:]
    assert [line["fan_out"] for line in trees] == [8, 16, 32, 64]
    assert all(positive(line, "find_ms", "set_ms") for line in trees)
    assert [line["data"] for line in replays] == ["index", "frames"]
    for line in replays:
        assert positive(line, "ours_ms")
        for name in ("cpprb", "torchrl"):
            assert line[f"{name}_ms"] == "not installed" or line[f"ours_over_{name}"] > 0


@pytest.mark.slow
def test_the_pause_for_saving_a_replay_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    replay_saving.main(capacity=1600, num_played=20)
    everything, new = printed(capsys)
    assert (everything["frames"], new["frames"]) == ("all", "new")
    assert all(positive(line, "pause_ms", "write_seconds", "frame_files_mb", "state_mb") for line in (everything, new))


def test_replay_sampling_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    replay_sampling.main(capacity=1600, num_calls=2)
    (line,) = printed(capsys)
    assert positive(line, "sample_32_microseconds", "sample_512_microseconds", "add_microseconds")


def test_a_sample_is_part_of_its_update(capsys: pytest.CaptureFixture[str]) -> None:
    replay_share.main(num_updates=3, capacity=1600)
    (line,) = printed(capsys)
    assert positive(line, "update_ms", "sample_ms")
    assert 0 < line["sample_over_update"] < 1


@pytest.mark.slow
def test_actor_and_bare_environment_are_stepped_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    actor_stepping.main(threads=(1,), num_rounds=2, steps_per_round=5, num_lanes=2)
    (line,) = printed(capsys)
    assert positive(line, "actor_steps_per_second", "bare_steps_per_second", "actor_over_bare")


def test_random_and_fixed_frame_skips_are_stepped_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    random_frame_skip.main(num_rounds=2, steps_per_round=10, num_lanes=2)
    (line,) = printed(capsys)
    assert positive(line, "random_steps_per_second", "fixed_steps_per_second", "random_over_fixed")
    assert line["mean_frame_skip"] == 3.0


@pytest.mark.slow
def test_the_actor_and_the_bare_environment_play_the_same_games() -> None:
    config = compose(["game=Breakout", "topology.num_lanes=2", "replay=smoke"])
    actor, bare = actor_stepping.actor_step(config, 1), actor_stepping.bare_step(config, 1)
    # Breakout's first random games end within 400 steps: the step after an end plays in one lane only.
    counts = [actor() for _ in range(400)]
    assert 1 in counts
    assert counts == [bare() for _ in range(400)]


@pytest.mark.slow
def test_both_wires_are_timed_with_shared_memory_and_without(capsys: pytest.CaptureFixture[str]) -> None:
    server_wire.main(num_params=1001, num_rounds=2)
    lines = printed(capsys)
    assert [line["wire_dtype"] for line in lines] == ["float32", "bfloat16"]
    for line in lines:
        assert positive(line, *(f"{call}_{way}_ms" for call in ("push", "pull") for way in ("memory", "tcp", "direct")))
        assert positive(line, "socket_ms", "copy_ms", "memory_over_tcp", "push_pull_over_socket")


@pytest.mark.slow
def test_a_gradient_and_its_factors_are_held_against_each_other_and_bare_sockets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    layer = gradient_wire.Layer(start=30, num_units=20, num_inputs=50, num_behind=40)
    gradient_wire.main(layer, batch_sizes=(4,), counts=(2,), num_rounds=2)
    *wires, mean = printed(capsys)
    assert [(line["wire_dtype"], line["dense_bytes"], line["factors_bytes"]) for line in wires] == [
        ("float32", 4_280, 4 * (70 + 4 * 70)),
        ("bfloat16", 2_140, 2 * (70 + 4 * 70)),
    ]
    for line in wires:
        for wire in ("dense", "factors"):
            assert positive(line, f"push_{wire}_ms", f"pull_{wire}_ms", f"socket_{wire}_ms", f"{wire}_over_socket")
        assert positive(line, "product_ms", "factors_over_dense")
    assert mean["num_gradients"] == 2 and positive(mean, "mean_dense_ms", "mean_factors_ms", "factors_over_dense")


def test_the_two_forms_of_the_gradient_that_is_sent_are_one() -> None:
    layer = gradient_wire.Layer(start=3, num_units=4, num_inputs=5, num_behind=2)
    sent = gradient_wire.Sent(layer, batch_size=6)
    sent.multiply()
    (one,) = sliced(sent.factored, ParamLayout(layer.num_params, 1), "float32")
    np.testing.assert_array_equal(Multiplier().whole(one), sent.dense)
    assert gradient_wire.NATURE.num_params == optimizer_step.NUM_PARAMS


@pytest.mark.slow
def test_gorila_is_run_with_one_bundle_with_two_and_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    gorila_scaling.main(num_rounds=1, bundle_steps=1_200, overrides=TINY_RUN)
    (line,) = printed(capsys)
    assert positive(line, "one_steps_per_second", "two_steps_per_second", "no_server_steps_per_second")
    assert positive(line, "two_over_one", "two_over_no_server")
    assert 0 < line["two_admitted"] <= 1


@pytest.mark.slow
def test_replay_wire_counts_the_bytes_of_a_transition(capsys: pytest.CaptureFixture[str]) -> None:
    replay_wire.main(num_rounds=3, capacity=2_000)
    (line,) = printed(capsys)
    assert positive(line, "add_ms", "sample_ms", "add_socket_ms", "sample_socket_ms", "add_over_socket")
    # A frame and its scalars are 7,074 bytes; a sampled transition has five frames.
    assert line["add_bytes_per_transition"] > 7_074
    assert line["sample_bytes_per_transition"] > 5 * 7_056


@pytest.mark.slow
def test_a_report_is_timed_over_folders_that_it_reads_without_a_remark(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    size = report_time.Size(num_episodes=20, num_updates=10, num_evaluation_games=4)
    report_time.main(games=("Pong",), num_seeds=2, size=size)
    out, err = capfd.readouterr()
    (line,) = (json.loads(text) for text in out.splitlines())
    assert err == "" and line["num_folders"] == 2
    assert positive(line, "report_seconds", "cpu_seconds", "input_bytes", "output_bytes")
    loaded = load_run(report_time.write_run(tmp_path, "Pong", 0, size))
    assert loaded.problems == ()
    assert [len(rows) for rows in (loaded.episodes, loaded.updates, loaded.evaluations)] == [20, 10, 8]
    assert run_scores(loaded)["differs"].tolist() == ["", ""]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_sweep_is_timed_beside_the_same_runs_by_hand(capfd: pytest.CaptureFixture[str]) -> None:
    short = ("budget.frames=1_000", "evaluation.num_episodes=1", "evaluation.environment.max_frames=400")
    smoke = ("experiment=smoke_dba3c", "progress=none", "overwrite=true", *short)
    sweep_overhead.main(games=("Pong", "Boxing"), overrides=smoke)
    (line,) = (json.loads(text) for text in capfd.readouterr().out.splitlines())
    assert line["num_runs"] == 2
    assert positive(line, "by_hand_seconds", "sweep_seconds", "sweep_over_by_hand", "startup_seconds")
    assert 0 < line["busy_share"] <= 1
