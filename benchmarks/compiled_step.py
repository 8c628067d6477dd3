"""What `torch.compile` is worth to an update of Q-learning: `python -m benchmarks compiled_step`. Needs a C++ compiler.

    update      as a learner of `experiment=gorila` computes it: the gradient written out
    module      the same network as an ordinary torch module, differentiated by autograd
    compiled    that module, and the loss behind it, through torch.compile

Targets by a second network, Huber's loss, the gradient and its norm; 32 transitions, float32, one core. They take
turns. How long compiling took is in the line too.
Not here: how near the update comes to the processor's limit (`benchmarks.update_step`).
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.update_step import CPU, batch_of, q_update
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, seconds
from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.q_learning import minibatch_loss, td_targets
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.networks.compute import set_compute_threads
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica


def main(batch_size: int = 32, num_rounds: int = 100) -> None:
    """Print one line. Ends the program where torch lies in a folder that its linker cannot be told of."""
    if (why := why_not_here(Path(torch.__file__).parent)) is not None:
        raise SystemExit(why)
    set_compute_threads(1)
    config = compose(["experiment=gorila", "game=Pong"])
    compiled = _module_update(config, batch_size, compiles=True)
    began = time.monotonic()
    compiled()
    compile_seconds = time.monotonic() - began
    updates = {
        "update": q_update(config, torch.float32, batch_size),
        "module": _module_update(config, batch_size, compiles=False),
        "compiled": compiled,
    }
    measured = alternate(
        {name: partial(seconds, update) for name, update in updates.items()},
        num_rounds,
        num_warmup_rounds=min(num_rounds, 5),
    )
    report(
        "compiled_step",
        capability=torch.backends.cpu.get_cpu_capability(),
        batch_size=batch_size,
        num_rounds=num_rounds,
        compile_seconds=compile_seconds,
        **{f"{name}_ms": 1e3 * statistics.median(of_one) for name, of_one in measured.items()},
        compiled_over_update=median_ratio(measured["compiled"], measured["update"]),
        compiled_over_module=median_ratio(measured["compiled"], measured["module"]),
    )


def why_not_here(folder: Path) -> str | None:
    """Why torch in this folder compiles nothing, if so."""
    if any(character.isspace() for character in str(folder)):
        return f"torch.compile links nothing in {folder}, for it parts paths at spaces: use a checkout without one"
    return None


def _module_update(config: RunConfig, batch_size: int, *, compiles: bool) -> Callable[[], None]:
    network, rng = network_of(config), np.random.default_rng(0)
    assert isinstance(network, QNetwork) and isinstance(config.algorithm, QLearningConfig)
    online, target = (_module(network, rng) for _ in range(2))
    batch, limit = batch_of(config, batch_size, rng), config.algorithm.max_abs_td_error
    tensors = [torch.from_numpy(array) for array in (batch.s_tm1, batch.a_tm1, batch.r_t, batch.discount_t, batch.s_t)]

    def objective(
        s_tm1: torch.Tensor, a_tm1: torch.Tensor, r_t: torch.Tensor, discount_t: torch.Tensor, s_t: torch.Tensor
    ) -> torch.Tensor:
        with torch.no_grad():
            target_tm1 = td_targets(target(s_t), r_t, discount_t)
        return minibatch_loss(online(s_tm1), a_tm1, target_tm1, limit).objective

    computed: Callable[..., torch.Tensor] = torch.compile(objective, dynamic=False) if compiles else objective

    def step() -> None:
        online.zero_grad(set_to_none=False)
        computed(*tensors).backward()
        torch.nn.utils.get_total_norm([p.grad for p in online.parameters() if p.grad is not None]).item()

    return step


def _module(network: QNetwork, rng: np.random.Generator) -> torch.nn.Module:
    replica = QReplica(network, torch.float32, CPU)
    replica.load(network.initial_parameters(rng))
    # The layout in which torch's own convolutions are fastest on a processor.
    return replica.ordinary().to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


if __name__ == "__main__":
    main()
