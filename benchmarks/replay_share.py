"""What share of a learner's update goes into sampling its minibatch from a full replay.

Updates are whole ones, as a bundle with compute threads of its own makes them: pull, sample of 32 transitions of
100,000, targets, loss and gradient of the Nature network at precision "auto", push into a shard in the same process
and its optimizer step. The clock is around `sample()` inside the update, where caches are as cold as in training.
Not here: `sample()` alone, in a loop (`benchmarks.replay_sampling`).
"""

import statistics
import time

import torch

from benchmarks.replay_sampling import full_replay
from measuring.provenance import report
from measuring.rounds import seconds
from pipeline import seeding
from pipeline.algorithms.config import QLearningConfig
from pipeline.config.overrides import compose
from pipeline.experiments.plan import network_of
from pipeline.interfaces import TransitionSource
from pipeline.networks import compute
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.roles.follower import Follower
from pipeline.roles.learner import Learner
from pipeline.roles.statistics import UpdateStatistics
from pipeline.types import Float32Array, Int64Array, TransitionBatch


def main(num_updates: int = 500, capacity: int = 100_000, num_threads: int = 1) -> None:
    """Fill a replay, learn from it, print one JSON line."""
    # Boxing has all 18 actions, as the replay's noise has.
    config = compose(["experiment=dqn", "game=Boxing"])
    compute.set_compute_threads(num_threads)
    device = compute.resolve_device("cpu")
    dtype = compute.resolve_precision("auto", device)
    network = network_of(config)
    assert isinstance(config.algorithm, QLearningConfig) and isinstance(network, QNetwork) and config.replay is not None
    params = network.initial_parameters(seeding.stream(0, "parameters"))
    shard = ParameterShard(ShardSnapshot(0, params, 0, params, {}), config.optimizer, config.param_server, generation=1)
    client = ParamClient([DirectShard(shard)], ParamLayout(params.size, 1), "benchmark", 1, config.param_server)
    replay = _Timed(full_replay(config.replay.batch_size, capacity))
    learner = Learner(
        config.algorithm,
        config.replay,
        config.param_server,
        Follower(QReplica(network, dtype, device), client),
        Follower(QReplica(network, dtype, device), client),
        replay,
        client,
        UpdateStatistics("bundle-0", 0),
        torch.Generator(),
    )
    num_warmup = max(num_updates // 10, 1)
    updates = [seconds(learner.step) for _ in range(num_warmup + num_updates)][num_warmup:]
    samples = replay.sample_seconds[num_warmup:]
    report(
        "replay_share",
        optimizer=config.optimizer.kind,
        precision=str(dtype).removeprefix("torch."),
        num_threads=num_threads,
        replay_capacity=capacity,
        update_ms=statistics.median(updates) * 1e3,
        sample_ms=statistics.median(samples) * 1e3,
        sample_over_update=statistics.median(sample / update for sample, update in zip(samples, updates, strict=True)),
    )


class _Timed(TransitionSource):
    """A replay with a clock around `sample`."""

    def __init__(self, replay: TransitionSource) -> None:
        self.sample_seconds: list[float] = []
        self._replay = replay

    def num_transitions(self) -> int:
        return self._replay.num_transitions()

    def sample(self) -> TransitionBatch:
        start = time.perf_counter()
        batch = self._replay.sample()
        self.sample_seconds.append(time.perf_counter() - start)
        return batch

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        self._replay.update_priorities(key, abs_error)


if __name__ == "__main__":
    main()
