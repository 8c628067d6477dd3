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

from dask_jobs.watched_time import waits
from pipeline.cluster.coordination.tasks import ServerAddresses
from pipeline.cluster.remotes.quorum import HostedLeader, HostedSynchronousShard, LeaderAddress, SynchronousShardAddress
from pipeline.cluster.remotes.replays import HostedReplay, ReplayAddress
from pipeline.cluster.remotes.shards import HostedShard, ShardAddress
from pipeline.cluster.session import Session, Task
from pipeline.envs.episodes import never
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
_RESULT_SECONDS = 10.0
"""How long the address of a server that is there may take to arrive."""


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
        load_seconds: float,
    ) -> None:
        """`host_of` gives the address of the host on which a server of this name is to stand.

        `load_seconds`: how long a replay may take to be created, which reads millions of steps if they were saved.
        """
        self.addresses = ServerAddresses((), ())
        """What roles reach them by."""
        self._session = session
        self._param_server = param_server
        self._optimizer = optimizer
        self._quorum = quorum
        self._replays = replays
        self._generation = generation
        self._host_of = host_of
        self._load_seconds = load_seconds
        self._stop: Callable[[], bool] = never
        self._hosted: dict[str, Task] = {}
        """Dask frees an actor when its last future goes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Role names of those that are there, the parameter shards first."""
        return tuple(self._hosted)

    def start(self, snapshot: ServerSnapshot, stop: Callable[[], bool]) -> None:
        """Create them. Raises RemoteLostError for one that is not there in time, or once `stop` says so."""
        self._stop = stop
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
            hosted_name = self._host(name, hosted, start, self._optimizer, server, self._generation)
            addresses.append(address(hosted_name, self._created(name, server.timeout_seconds)))
        return tuple(addresses)

    def _start_leader(self, shards: tuple[ShardAddress, ...], version: int) -> LeaderAddress | None:
        if self._quorum is None:
            return None
        hosted_name = self._host(LEADER, HostedLeader, self._quorum, version, self._generation, shards)
        return LeaderAddress(hosted_name, self._created(LEADER, self._param_server.timeout_seconds))

    def _start_replays(self) -> tuple[ReplayAddress, ...]:
        # All at once: what each of them loads may take minutes.
        names = [replay_name(index) for index in range(len(self._replays))]
        hosted = [self._host(name, HostedReplay, spec) for name, spec in zip(names, self._replays, strict=True)]
        return tuple(
            ReplayAddress(hosted_name, self._created(name, self._load_seconds))
            for name, hosted_name in zip(names, hosted, strict=True)
        )

    def _host(self, name: str, hosted: type, *args: object) -> str:
        """Have the Dask actor `hosted(hosted_name, *args)` created on the host of role `name`; gives its name."""
        hosted_name = f"{name}-{self._session.run_id}-{self._generation}"
        host = self._host_of(name)
        self._hosted[name] = self._session.submit(hosted, hosted_name, *args, host=host, name=name, actor=True)
        return hosted_name

    def _created(self, name: str, timeout_seconds: float) -> Any:
        """The actor of role `name`, which is waited for as long as its host is there, and not longer than so long."""
        task, host = self._hosted[name], self._host_of(name)
        lost = f"{name} was lost with its host {host} while it was created"
        late = f"{name} was not created within {timeout_seconds:g} s: {host} stands still, or others compute there"
        for seconds in waits(timeout_seconds):
            if task.done():
                break
            self._session.wait_for([task], seconds)
            if not task.done() and host not in self._session.present_hosts():
                raise RemoteLostError(lost)
            if not task.done() and self._stop():
                raise RemoteLostError(f"{name} is not waited for")
        if not task.done():
            raise RemoteLostError(late)
        try:
            return task.result(timeout=_RESULT_SECONDS)
        except TimeoutError as error:
            raise RemoteLostError(late) from error
        except CancelledError as error:  # with the slice that was sent to its host
            raise RemoteLostError(lost) from error
        except Exception as error:  # Dask's own for a task whose only host has been gone for a while, or the server's
            if host in self._session.present_hosts():
                raise
            raise RemoteLostError(lost) from error
