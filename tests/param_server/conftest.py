"""A small server, and what the tests of its parts say to it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.interfaces import Push
from pipeline.optimizers.config import AdaGradConfig, AdamConfig, RMSPropConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot, split_snapshot
from pipeline.types import Float32Array
from tests.param_server.configs import server_config

CONFIG = server_config(target_period_updates=1000)
OPTIMIZERS: dict[str, OptimizerConfig] = {
    "adagrad": AdaGradConfig(
        kind="adagrad", learning_rate=0.1, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
    ),
    "rmsprop": RMSPropConfig(kind="rmsprop", learning_rate=0.1, learning_rate_changes=(), decay=0.95, epsilon=0.01),
    "adam": AdamConfig(kind="adam", learning_rate=0.1, learning_rate_changes=(), beta1=0.9, beta2=0.999, epsilon=1e-8),
}


@pytest.fixture(params=OPTIMIZERS)
def optimizer(request: pytest.FixtureRequest) -> OptimizerConfig:
    """Each optimizer in turn."""
    return OPTIMIZERS[request.param]


class Server:
    """Shards in this thread that start where a snapshot says, and a client of theirs."""

    def __init__(
        self, start: ServerSnapshot, config: ParamServerConfig, optimizer: OptimizerConfig, generation: int = 1
    ) -> None:
        self.layout = ParamLayout(start.params.size, config.num_shards)
        self.config = config
        self.generation = generation
        self.shards = [
            ParameterShard(slice_start, optimizer, config, generation)
            for slice_start in split_snapshot(start, self.layout)
        ]

    def client(self, sender: str = "bundle-0") -> ParamClient:
        """A new client of all shards."""
        handles = [DirectShard(shard) for shard in self.shards]
        return ParamClient(handles, self.layout, sender, self.generation, self.config)

    def copy(self, client: ParamClient | None = None) -> "Copy":
        """A vector to pull into, empty, behind `client` or a new one."""
        return Copy(client or self.client(), self.layout.num_params)


class Copy:
    """A vector that follows a server, as a role's replica does."""

    def __init__(self, client: ParamClient, size: int) -> None:
        self.flat: Float32Array = np.full(size, np.nan, np.float32)
        self.versions: tuple[int, ...] = ()
        self.loaded: list[int] = []
        """Starts of the slices that the last pull brought."""
        self._client = client

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Copy one slice."""
        self.flat[start : start + len(values)] = values
        self.loaded.append(start)

    def pull(self) -> "Copy":
        """Follow the parameters."""
        self.loaded = []
        self.versions = self._client.pull(self, self.versions)
        return self

    def pull_target(self) -> "Copy":
        """Follow the target network."""
        self.loaded = []
        self.versions = self._client.pull_target(self, self.versions)
        return self


MakeServer = Callable[..., Server]


@pytest.fixture
def make_server() -> MakeServer:
    """`make_server(params or snapshot, optimizer=AdaGrad, generation=1, **settings)`."""

    def make(
        start: npt.ArrayLike | ServerSnapshot,
        optimizer: OptimizerConfig = OPTIMIZERS["adagrad"],
        generation: int = 1,
        **settings: object,
    ) -> Server:
        if not isinstance(start, ServerSnapshot):
            start = first_snapshot(np.array(start, np.float32))
        return Server(start, replace(CONFIG, **settings), optimizer, generation)  # type: ignore[arg-type]

    return make


def push_of(gradient: npt.ArrayLike, **fields: object) -> Push:
    """The first push of bundle-0 in generation 1, computed at version 0, but for `fields`."""
    push = Push(np.array(gradient, np.float32), sender="bundle-0", generation=1, sequence=1, computed_at=0)
    return push._replace(**fields)  # type: ignore[arg-type]
