"""What a GPU is worth: one gradient, and whole runs, on the processor and on the GPU of the same machine.

    step    the gradient of one minibatch on one core and on the GPU, there and back as float32; they take turns
    run     agent steps per second of `gorila` and `dba3c`, over the number of bundles or workers

All roles of a run share the GPU. Emulators and preprocessing stay on the processor. Without a CUDA device only the
processor's lines are printed. Where many roles share little, one may make too few updates to be measured: that run is
named on standard error, and the next one is made.
Not here: the table (`benchmarks.devices.table`), several GPUs, which are declared by hosts (`docs/clusters/gpus.md`).
"""

import itertools
import logging
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial

import torch

from benchmarks.gorila_scaling import STEADY, steady_run
from benchmarks.loss_costs.losses import gradient_of
from measuring import worker_speed
from measuring.provenance import report
from measuring.rounds import alternate, seconds
from pipeline.config.overrides import compose
from pipeline.networks.compute import resolve_precision, set_compute_threads

STEPS = (("gorila", "replay.batch_size"), ("dba3c", "algorithm.batch_size"))
"""Experiment, and what sets the size of its minibatch."""
_STEADY = [setting for setting in STEADY if not setting.startswith("cluster=")]


def main(
    game: str = "Pong",
    num_rounds: int = 50,
    batch_sizes: Sequence[int] = (32, 256),
    num_playing: Sequence[int] = (1, 4, 12),
    clusters: Sequence[str] = ("threads", "processes"),
    role_steps: int = 3_000,
    overrides: Sequence[str] = (),
) -> None:
    """Print a line for each step and each run. `overrides` are for both experiments."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for experiment, batch_setting in STEPS:
        for batch_size in batch_sizes:
            words = [f"experiment={experiment}", f"game={game}", f"{batch_setting}={batch_size}", *overrides]
            _measure_steps(experiment, batch_size, words, devices, num_rounds)
    for cluster, count, device in itertools.product(clusters, num_playing, devices):
        words = [f"game={game}", f"device={device}", f"cluster={cluster}", *overrides]
        for measure in (_measure_bundles, _measure_workers):
            try:
                measure(count, role_steps, device, cluster, words)
            except ValueError as error:
                print(f"{count} roles, {device}, cluster={cluster}: {error}", file=sys.stderr)


def _measure_steps(
    experiment: str, batch_size: int, words: Sequence[str], devices: Sequence[str], num_rounds: int
) -> None:
    set_compute_threads(1)
    config = compose(words)
    kinds = {
        (name, dtype): _whole(gradient_of(config, torch.device(name), dtype))
        for name in devices
        for dtype in dict.fromkeys((torch.float32, resolve_precision("auto", torch.device(name))))
    }
    measured = alternate(
        {f"{name} {dtype}": partial(seconds, step) for (name, dtype), step in kinds.items()},
        num_rounds,
        num_warmup_rounds=min(num_rounds, 5),
    )
    for name, dtype in kinds:
        report(
            "devices_step",
            experiment=experiment,
            batch_size=batch_size,
            device=name,
            device_name=_device_name(name),
            dtype=str(dtype).removeprefix("torch."),
            num_rounds=num_rounds,
            gradient_ms=1e3 * statistics.median(measured[f"{name} {dtype}"]),
        )


def _whole(gradient: Callable[[], torch.Tensor]) -> Callable[[], object]:
    """With its way back to the processor, where the server adds gradients up."""
    return lambda: gradient().cpu()


def _measure_bundles(count: int, role_steps: int, device: str, cluster: str, words: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = [f"topology.num_bundles={count}", f"budget.frames={4 * count * role_steps}", f"results_dir={folder}"]
        rate, admitted = steady_run(compose([*_STEADY, *words, *size]))
    _report_run("gorila", count, device, cluster, rate, admitted_share=admitted)


def _measure_workers(count: int, role_steps: int, device: str, cluster: str, words: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = [f"topology.num_workers={count}", worker_speed.budget(count, role_steps, 4), f"results_dir={folder}"]
        steady = ["experiment=dba3c", "evaluation=smoke", "evaluation.num_episodes=1"]
        config = compose([*steady, "progress=none", *words, *size])
        speed = worker_speed.speed(config, worker_speed.run(config))
    _report_run("dba3c", count, device, cluster, speed.data_points_per_second, waited_share=speed.waited_share)


def _report_run(experiment: str, count: int, device: str, cluster: str, rate: float, **shares: float) -> None:
    report(
        "devices_run",
        experiment=experiment,
        cluster=cluster,
        num_playing=count,
        device=device,
        device_name=_device_name(device),
        steps_per_second=rate,
        **shares,
    )


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "processor"


if __name__ == "__main__":
    main()
