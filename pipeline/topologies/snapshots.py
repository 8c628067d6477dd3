"""The state of a running parameter server as one value, taken from its shards while the roles go on.

    asynchronous    each shard at the version that it is at
    synchronous     one cut: the leader closes no update until all shards were asked at one version

Not here: what a snapshot holds (`pipeline.param_server.snapshot`), its file (`pipeline.experiments.files.checkpoint`).
"""

from pipeline.cluster.coordination.tasks import ServerAddresses
from pipeline.cluster.remotes.quorum import RemoteLeader, RemoteSynchronousShard
from pipeline.cluster.remotes.shards import RemoteShard
from pipeline.errors import BrokenQuorumError
from pipeline.param_server.snapshot import ServerSnapshot, merge_snapshots
from pipeline.param_server.synchronous_client import reaches


def take_snapshot(servers: ServerAddresses, timeout_seconds: float) -> ServerSnapshot:
    """Ask all shards at once; `timeout_seconds`: the deadline of each call.

    Raises BrokenQuorumError when a shard does not reach a version that was closed.
    """
    if servers.leader is None:
        return _ask_all(servers, timeout_seconds)
    leader = RemoteLeader(servers.leader.name, servers.leader.actor)
    try:
        version = leader.hold().result(timeout_seconds)
        _wait_for_all(servers, leader, version, timeout_seconds)
        return _ask_all(servers, timeout_seconds)
    finally:
        # Also when `hold` was not answered: it may have arrived.
        release(servers, timeout_seconds)


def release(servers: ServerAddresses, timeout_seconds: float) -> None:
    """Have the leader, if there is one, close updates again. Raises CallTimeoutError or RemoteLostError."""
    if servers.leader is not None:
        RemoteLeader(servers.leader.name, servers.leader.actor).release().result(timeout_seconds)


def _ask_all(servers: ServerAddresses, timeout_seconds: float) -> ServerSnapshot:
    calls = [RemoteShard(shard.name, shard.actor).snapshot() for shard in servers.shards]
    # None has less because the others took long: that may have been a pause of this process (`dask_jobs.watched_time`).
    return merge_snapshots([call.result(timeout_seconds) for call in calls])


def _wait_for_all(servers: ServerAddresses, leader: RemoteLeader, version: int, timeout_seconds: float) -> None:
    shards = [RemoteSynchronousShard(shard.name, shard.actor) for shard in servers.shards]
    if not reaches(shards, leader, version, timeout_seconds, timeout_seconds):
        raise BrokenQuorumError(
            f"after {timeout_seconds:g} s not all shards have reached version {version}, which their leader has closed"
        )
