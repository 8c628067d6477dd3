"""A worker's end of a synchronous parameter server: one gradient per version, and waiting for the quorum.

    ready -> pull: all slices of one version t -> gradient -> push: S receipts -> commit -> one of the quorum, or late
      ^                                                                                      |
      +------------------------- all shards have reached t + 1 <-----------------------------+

Adamski et al. 2018 (DBA3C). The wait is in the caller's thread, or on the event loop of a shard elsewhere; never in the
thread in which a shard works.
Not here: cutting and carrying gradients (`pipeline.param_server.client`); who belongs to the quorum (`.quorum`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dask_jobs.watched_time import waits
from pipeline.errors import CallTimeoutError
from pipeline.interfaces import Commit, LeaderHandle, ParamVector, SynchronousShardHandle
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.quorum import LATE
from pipeline.types import AnyGradient, Receipt

_REMIND_SECONDS = 1.0
"""An update that does not come for so long may have been lost on its way to a shard: the leader is asked to repeat."""


class SynchronousClient(ParamClient):
    """Parameters from, and gradients to, the shards of one synchronous server. For one thread.

    Errors are those of ParamClient, and BrokenQuorumError when shards and leader no longer agree.
    """

    def __init__(
        self,
        shards: Sequence[SynchronousShardHandle],
        leader: LeaderHandle,
        layout: ParamLayout,
        sender: str,
        generation: int,
        config: ParamServerConfig,
        first_shard: int = 0,
    ) -> None:
        """See ParamClient. `config.overlap` has no meaning: there is nothing to pull before the others have pushed."""
        super().__init__(shards, layout, sender, generation, replace(config, overlap=False), first_shard)
        self._synchronous_shards = tuple(shards)
        self._leader = leader
        self._awaited = 0
        """Version that the last push helps to make."""

    def ready(self, timeout_seconds: float) -> bool:
        """Whether all shards have passed the version of the last push; waits for it at most so long, asking once."""
        call_seconds = self._config.timeout_seconds
        return _ask(self._synchronous_shards, self._leader, self._awaited, timeout_seconds, call_seconds)

    def pull(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        """Bring all slices of one version, the newest that all shards have, or wait for it.

        Raises CallTimeoutError if after `config.timeout_seconds` shards still answer different versions.
        """
        versions = super().pull(into, known_versions)
        waiting = waits(self._config.timeout_seconds, _REMIND_SECONDS)
        while min(versions) < max(versions):
            if not self._reaches(max(versions), waiting):
                raise CallTimeoutError(
                    f"after {self._config.timeout_seconds:g} s the shards still answer different versions {versions}"
                )
            versions = super().pull(into, versions)
        return versions

    def push(self, gradient: AnyGradient, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        """Offer `gradient` (P,), computed at the one version in `computed_at` (S,); S receipts with the same reason.

        "" is a gradient of the quorum; "late" one that N others came before; see `pipeline.param_server.quorum`. Unlike
        that of a ParamClient, the memory of `gradient` may be used again only when `ready` is True.
        Raises ValueError for another length of either, or for different versions.
        """
        if len(set(computed_at)) != 1:
            raise ValueError(f"got versions {tuple(computed_at)}: a synchronous gradient is computed at a single one")
        receipts = super().push(gradient, computed_at)
        version = computed_at[0]
        self._awaited = version + 1
        reason = next((receipt.reason for receipt in receipts if not receipt.admitted), "")
        if reason in ("", LATE):
            # One that comes too late is committed, too: the leader learns how long it took.
            reason = self._commit(version) or reason
        return tuple(receipt._replace(admitted=reason == "", reason=reason) for receipt in receipts)

    def _commit(self, version: int) -> str:
        commit = Commit(self._sender, self._generation, version)
        return self._leader.commit(commit).result(self._config.timeout_seconds).reason

    def _reaches(self, version: int, waiting: Iterable[float]) -> bool:
        call_seconds = self._config.timeout_seconds
        return any(_ask(self._synchronous_shards, self._leader, version, wait, call_seconds) for wait in waiting)


def reaches(
    shards: Sequence[SynchronousShardHandle],
    leader: LeaderHandle,
    version: int,
    wait_seconds: float,
    timeout_seconds: float,
) -> bool:
    """Whether all `shards` reach `version` within `wait_seconds`; the leader is reminded every second until they do.

    `timeout_seconds` is the deadline of one call beyond the time that it is asked to wait.
    """
    return any(_ask(shards, leader, version, wait, timeout_seconds) for wait in waits(wait_seconds, _REMIND_SECONDS))


def _ask(
    shards: Sequence[SynchronousShardHandle],
    leader: LeaderHandle,
    version: int,
    wait_seconds: float,
    timeout_seconds: float,
) -> bool:
    """`reaches` with one question to each shard, and a reminder if they have not."""
    calls = [shard.wait_version(version, wait_seconds) for shard in shards]
    if min([call.result(wait_seconds + timeout_seconds) for call in calls]) >= version:
        return True
    leader.remind().result(timeout_seconds)
    return False
