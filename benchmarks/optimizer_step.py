"""Time of one optimizer step on the Nature network's parameters, and of what a shard does around it. One core.

A step reads and writes params, gradient and slots: some 20 to 50 MB, more than a cache holds, as in training.
"""

import numpy as np
import torch

from measuring.provenance import report
from measuring.rounds import median_seconds
from pipeline.optimizers.config import AdaGradConfig, AdamConfig, RMSPropConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import DENSE, WIRE_DTYPES, ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.wire import decode, encode
from pipeline.types import Float32Array

NUM_PARAMS = 1_693_362
"""Nature network with 18 actions."""

OPTIMIZERS: tuple[OptimizerConfig, ...] = (
    AdaGradConfig(kind="adagrad", learning_rate=1e-4, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0),
    RMSPropConfig(kind="rmsprop", learning_rate=1e-4, learning_rate_changes=(), decay=0.95, epsilon=0.01),
    AdamConfig(kind="adam", learning_rate=1e-4, learning_rate_changes=(), beta1=0.9, beta2=0.999, epsilon=1e-8),
)


class Copy:
    """A float32 vector that parameters are pulled into."""

    def __init__(self, num_params: int) -> None:
        self._flat = np.zeros(num_params, np.float32)

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Copy one slice."""
        self._flat[start : start + len(values)] = values


def main(num_params: int = NUM_PARAMS, num_calls: int = 200) -> None:
    """Print one line for each optimizer, then one for each wire dtype."""
    # Asked for first: a thread that has not yet computed forgets what it is told.
    torch.get_num_threads()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    params, gradient = (rng.standard_normal(num_params).astype(np.float32) for _ in range(2))
    for config in OPTIMIZERS:
        step_optimizer(config, params.copy(), gradient, num_calls)
    for wire_dtype in WIRE_DTYPES:
        cross_wire(wire_dtype, params, gradient, num_calls)


def step_optimizer(config: OptimizerConfig, params: Float32Array, gradient: Float32Array, num_calls: int) -> None:
    """The bare step."""
    optimizer = config.make(params.size)
    seconds = median_seconds(lambda: optimizer.apply(params, gradient), num_calls)
    report("optimizer_step", optimizer=config.kind, num_params=params.size, step_ms=seconds * 1e3)


def server_config(wire_dtype: str) -> ParamServerConfig:
    """One shard without guards or intervals, and no target network within a benchmark."""
    return ParamServerConfig(
        num_shards=1,
        max_staleness=None,
        target_period_updates=10**9,
        wire=DENSE,
        wire_dtype=wire_dtype,
        actor_pull_every_steps=1,
        learner_pull_every_updates=1,
        push_every_updates=1,
        overlap=False,
        timeout_seconds=60.0,
    )


def cross_wire(wire_dtype: str, params: Float32Array, gradient: Float32Array, num_calls: int) -> None:
    """Both directions of the wire, and a client's pull of a new version with the push that makes the next one."""
    config = server_config(wire_dtype)
    shard = ParameterShard(ShardSnapshot(0, params, 0, params, {}), OPTIMIZERS[0], config, generation=1)
    client = ParamClient([DirectShard(shard)], ParamLayout(params.size, 1), "benchmark", 1, config)
    copy = Copy(params.size)
    wire = encode(gradient, wire_dtype)
    report(
        "parameter_wire",
        wire_dtype=wire_dtype,
        num_params=params.size,
        encode_ms=median_seconds(lambda: encode(gradient, wire_dtype), num_calls) * 1e3,
        decode_ms=median_seconds(lambda: decode(wire), num_calls) * 1e3,
        adagrad_pull_push_ms=median_seconds(lambda: client.push(gradient, client.pull(copy, ())), num_calls) * 1e3,
    )


if __name__ == "__main__":
    main()
