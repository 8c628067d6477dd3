"""The servers of one generation of a run: Dask actors on the hosts of a fleet.

    shard-0 ... shard-S      one slice of the parameters each
    leader                   beside shard-0, of a synchronous parameter server only
    replay-0 ... replay-R    one part of the global replay each; none where bundles have their own

Not here: where they stand (`pipeline.topologies.fleet`), what their loss means (`pipeline.topologies.supervision`),
what they do (`pipeline.param_server`, `pipeline.replay`), what is saved of the shards
(`pipeline.topologies.snapshots`).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from pipeline.cluster.coordination.tasks import ServerAddresses
from pipeline.cluster.remotes.quorum import HostedLeader, HostedSynchronousShard, LeaderAddress, SynchronousShardAddress
from pipeline.cluster.remotes.replays import HostedReplay, ReplayAddress
from pipeline.cluster.remotes.shards import HostedShard, ShardAddress
from pipeline.cluster.session import Session, Task
from pipeline.errors import RemoteLostError
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.quorum_size import QuorumRange
from pipeline.param_server.snapshot import ServerSnapshot, split_snapshot
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.topologies.system import replay_name, shard_name

LEADER = "leader"
"""Name of the quorum leader."""


class HostedServers:
    """All servers of a generation; none before `start` and after `release`."""

    def __init__(
        self,
        session: Session,
        param_server: ParamServerConfig,
        optimizer: OptimizerConfig,
        quorum: int | QuorumRange | None,
        replays: Sequence[ReplayServerSpec],
        generation: int,
        host_of: Callable[[str], str],
    ) -> None:
        """`host_of` gives the address of the host on which a server of this name is to stand."""
        self.addresses = ServerAddresses((), ())
        """What roles reach them by."""
        self._session = session
        self._param_server = param_server
        self._optimizer = optimizer
        self._quorum = quorum
        self._replays = replays
        self._generation = generation
        self._host_of = host_of
        self._hosted: dict[str, Task] = {}
        """Dask frees an actor when its last future goes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Role names of those that are there, the parameter shards first."""
        return tuple(self._hosted)

    def start(self, snapshot: ServerSnapshot) -> None:
        """Create them. Raises RemoteLostError for one that is not there in time."""
        shards = self._start_shards(snapshot)
        leader = self._start_leader(shards, snapshot.version)
        self.addresses = ServerAddresses(shards, self._start_replays(), leader)

    def release(self) -> None:
        """Let Dask forget them."""
        self._session.forget(list(self._hosted.values()))
        self.addresses, self._hosted = ServerAddresses((), ()), {}

    def _start_shards(self, snapshot: ServerSnapshot) -> tuple[ShardAddress, ...]:
        server = self._param_server
        asynchronous = self._quorum is None
        hosted, address = (
            (HostedShard, ShardAddress) if asynchronous else (HostedSynchronousShard, SynchronousShardAddress)
        )
        slices = split_snapshot(snapshot, ParamLayout(snapshot.params.size, server.num_shards))
        addresses = []
        for name, part in zip(map(shard_name, range(server.num_shards)), slices, strict=True):
            start = self._session.send(part, self._host_of(name))
            hosted_name, actor = self._host(name, hosted, start, self._optimizer, server, self._generation)
            addresses.append(address(hosted_name, actor))
        return tuple(addresses)

    def _start_leader(self, shards: tuple[ShardAddress, ...], version: int) -> LeaderAddress | None:
        if self._quorum is None:
            return None
        return LeaderAddress(*self._host(LEADER, HostedLeader, self._quorum, version, self._generation, shards))

    def _start_replays(self) -> tuple[ReplayAddress, ...]:
        return tuple(
            ReplayAddress(*self._host(replay_name(index), HostedReplay, spec))
            for index, spec in enumerate(self._replays)
        )

    def _host(self, name: str, hosted: type, *args: object) -> tuple[str, Any]:
        """Create the Dask actor `hosted(hosted_name, *args)` on the host of role `name`; its name and itself."""
        hosted_name = f"{name}-{self._session.run_id}-{self._generation}"
        host = self._host_of(name)
        self._hosted[name] = self._session.submit(hosted, hosted_name, *args, host=host, name=name, actor=True)
        timeout_seconds = self._param_server.timeout_seconds
        try:
            return hosted_name, self._hosted[name].result(timeout=timeout_seconds)
        except TimeoutError as error:
            raise RemoteLostError(
                f"{name} was not created within {timeout_seconds:g} s: {host} stands still, or others compute there"
            ) from error
        except CancelledError as error:  # with the slice that was sent to its host
            raise RemoteLostError(f"{name} was lost with its host {host} while it was created") from error
        except Exception as error:  # Dask's own for a task whose only host has been gone for a while, or the server's
            if host in self._session.present_hosts():
                raise
            raise RemoteLostError(f"{name} was lost with its host {host} while it was created") from error
