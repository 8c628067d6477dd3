"""What hosts offer to a placement: of hosts that are there, from their reports; of hosts to come, from the settings.

A host in a batch job or a pod has what was asked for it, whatever its machine has.
Not here: choosing among offers (`pipeline.cluster.placement`), starting hosts (`pipeline.cluster.start`).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.groups import HostGroup
from pipeline.cluster.hosts import MEMORY_SHARE, HostReport, report_host
from pipeline.cluster.placement import Offer
from pipeline.cluster.staying import Staying


def present_offers(
    config: ClusterConfig,
    reports: Mapping[str, HostReport],
    num_threads: Mapping[str, int],
    staying: Staying | None = None,
) -> list[Offer]:
    """Offers of the hosts that reported and are still there; `num_threads` has their Dask threads by address.

    `staying`: less what it keeps; None: whole.
    """
    kept = Staying() if staying is None else staying
    left, gpus = kept.threads_left(num_threads), kept.gpus_kept()
    offers = [
        _offer(config, _groups_of(config, report), address, report, left[address])
        for address, report in reports.items()
        if address in left
    ]
    # Of GPUs that a host does not declare it has as many as threads.
    return [
        offer
        if reports[offer.address].declared_gpus is None
        else replace(offer, num_gpus=max(0, offer.num_gpus - gpus[offer.address]))
        for offer in offers
    ]


def future_offers(
    config: ClusterConfig, num_hosts: Mapping[str | None, int], threads_per_host: int
) -> list[Offer] | None:
    """Offers of the hosts that would be started, so many of each group; None where only the hosts themselves can tell.

    Hosts of no group are under None.
    """
    if not config.can_tell_hosts_before_start:
        return None
    ours = report_host()
    of_group: dict[str | None, list[HostGroup]] = {group.name: [group] for group in config.groups}
    return [
        _offer(config, of_group.get(name, []), f"{name or 'host'}-{i}", ours, threads_per_host)
        for name, count in num_hosts.items()
        for i in range(count)
    ]


def offers_without_others(offers: Sequence[Offer]) -> list[Offer]:
    """What hosts would offer if no other command used them.

    Where free memory is what counts, there is no limit to it, since how much of it others have is not known.
    """
    return [offer if offer.memory_is_total else replace(offer, memory_bytes=sys.maxsize) for offer in offers]


def _groups_of(config: ClusterConfig, report: HostReport) -> list[HostGroup]:
    return [group for group in config.groups if group.name in report.resources]


def _offer(
    asked: ClusterConfig, groups: Sequence[HostGroup], address: str, report: HostReport, num_threads: int
) -> Offer:
    config = asked.of_group(groups[0] if groups else None)
    names = frozenset(group.name for group in groups)
    if (host := config.asked_host) is not None:
        return Offer(
            address=address,
            machine=address,
            num_threads=num_threads,
            memory_bytes=int((config.memory_bytes or report.free_memory_bytes) * MEMORY_SHARE),
            num_cores=host.num_cores or num_threads,
            num_gpus=host.num_gpus,
            memory_is_total=config.memory_bytes is not None,
            groups=names,
        )
    return Offer(
        address=address,
        machine=report.machine,
        num_threads=num_threads,
        memory_bytes=config.memory_bytes or report.free_memory_bytes,
        num_cores=report.num_cores,
        num_gpus=_num_gpus(report, num_threads),
        memory_is_total=config.memory_bytes is not None,
        groups=names,
    )


def _num_gpus(report: HostReport, num_threads: int) -> int:
    """What the host declares. One that sees a GPU and declares none lets all its roles share it."""
    if report.declared_gpus is not None:
        return report.declared_gpus
    return num_threads if report.device == "cuda" else 0
