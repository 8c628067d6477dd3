"""How near an update of Q-learning comes to the processor's limit: the step of a learner alone, on one core.

    update      targets, loss and gradient of one minibatch, as a learner of `experiment=gorila` computes them
    autograd    the same with a network whose gradient is left to autograd (`pipeline.networks.written_out`)
    product     the best of some products of square matrices, by torch's own way and by oneDNN's, which has the
                convolutions: what the processor can do

They take turns. A line for each precision; of the precisions, bfloat16 only where the processor is fast at it.
`ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2` makes an ordinary processor of a newer one.
Not here: emulator, replay, optimizer and server around it (`benchmarks.gorila_scaling`).
"""

import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, seconds
from pipeline.algorithms.config import QLearningConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.networks.compute import resolve_precision, set_compute_threads
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.roles.q_loss import QLoss
from pipeline.types import TransitionBatch

CPU = torch.device("cpu")
PRODUCT_SIZES = (384, 512, 768)
"""Rows and columns: some megabytes, which the caches hold."""


def main(batch_size: int = 32, num_rounds: int = 100) -> None:
    """Print one line for each precision."""
    set_compute_threads(1)
    config = compose(["experiment=gorila", "game=Pong"])
    for dtype in dict.fromkeys((torch.float32, resolve_precision("auto", CPU))):
        _measure(config, dtype, batch_size, num_rounds)


def _measure(config: RunConfig, dtype: torch.dtype, batch_size: int, num_rounds: int) -> None:
    update, by_autograd = q_update(config, dtype, batch_size), q_update(config, dtype, batch_size, written_out=False)
    with FlopCounterMode(display=False) as counter:
        update()
    ways = [way for way in WAYS if _is_there(way, dtype)]
    products = {f"{way} {size}": WAYS[way](size, dtype) for way in ways for size in PRODUCT_SIZES}
    measured = alternate(
        {
            "update": partial(seconds, update),
            "autograd": partial(seconds, by_autograd),
            **{name: partial(seconds, product) for name, product in products.items()},
        },
        num_rounds,
        num_warmup_rounds=min(num_rounds, 5),
    )
    flops = counter.get_total_flops()
    speeds = {
        way: max(2 * size**3 / statistics.median(measured[f"{way} {size}"]) for size in PRODUCT_SIZES) for way in ways
    }
    way, best = max(speeds.items(), key=lambda item: item[1])
    reached = flops / statistics.median(measured["update"])
    report(
        "update_step",
        capability=torch.backends.cpu.get_cpu_capability(),
        dtype=str(dtype).removeprefix("torch."),
        batch_size=batch_size,
        num_rounds=num_rounds,
        update_ms=1e3 * statistics.median(measured["update"]),
        autograd_ms=1e3 * statistics.median(measured["autograd"]),
        update_over_autograd=median_ratio(measured["update"], measured["autograd"]),
        gigaflop=flops / 1e9,
        update_gigaflop_per_second=reached / 1e9,
        product_gigaflop_per_second=best / 1e9,
        product_by=way,
        share_of_product=reached / best,
    )


def q_update(config: RunConfig, dtype: torch.dtype, batch_size: int, written_out: bool = True) -> Callable[[], None]:
    """Computes loss, gradient and its norm of one minibatch of noise at each call."""
    network = network_of(config)
    assert isinstance(network, QNetwork) and isinstance(config.algorithm, QLearningConfig)
    if not written_out:
        network.plain_layers = None
    online, target = QReplica(network, dtype, CPU), QReplica(network, dtype, CPU)
    rng = np.random.default_rng(0)
    for replica in (online, target):
        replica.load(network.initial_parameters(rng))
    loss = QLoss(config.algorithm, online, target, torch.Generator())
    batch = batch_of(config, batch_size, rng)

    def step() -> None:
        online.gradient(loss(batch, None).objective).norm().item()

    return step


def batch_of(config: RunConfig, batch_size: int, rng: np.random.Generator) -> TransitionBatch:
    """Noise for transitions."""
    stack, frame_shape = config.environment.stack, config.environment.frame_shape
    stacks = rng.integers(0, 256, (batch_size, stack + 1, *frame_shape), dtype=np.uint8)
    ones = np.ones(batch_size, np.float32)
    actions = rng.integers(0, 3, batch_size)
    return TransitionBatch(stacks[:, :stack], actions, ones, ones, stacks[:, -stack:], ones, actions)


def _torch_product(size: int, dtype: torch.dtype) -> Callable[[], object]:
    a, b, out = (torch.ones(size, size, dtype=dtype) for _ in range(3))
    return partial(torch.mm, a, b, out=out)


def _onednn_product(size: int, dtype: torch.dtype) -> Callable[[], object]:
    a, b = (torch.ones(size, size, dtype=dtype) for _ in range(2))
    return partial(torch.ops.mkldnn._linear_pointwise, a, b, None, "none", [], "")


WAYS = {"torch.mm": _torch_product, "oneDNN": _onednn_product}
"""Of multiplying. In float32 torch.mm is MKL's, which on AMD's processors takes no more than AVX2."""


def _is_there(way: str, dtype: torch.dtype) -> bool:
    """Whether this torch and processor have it; kept to AVX2, oneDNN has no bfloat16."""
    try:
        WAYS[way](PRODUCT_SIZES[0], dtype)()
    except (AttributeError, RuntimeError):
        return False
    return True


if __name__ == "__main__":
    main()
