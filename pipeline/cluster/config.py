"""Settings of the Dask cluster that a run uses."""

from dataclasses import dataclass

THREADS, PROCESSES, ADDRESS = KINDS = ("threads", "processes", "address")


@dataclass(frozen=True)
class ClusterConfig:
    """Where hosts come from. Explained in `conf/cluster/`."""

    kind: str
    """"threads": hosts in this process; "processes": a process each, here; "address": those of a running scheduler."""
    address: str | None
    """Scheduler to connect to, for kind "address": tcp://host:port."""
    num_hosts: int | None
    """Hosts to start, for "threads" and "processes"; None: as many as the topology wants."""
    memory_bytes: int | None
    """Memory that the roles may plan with on this machine; None: 80 % of what is free."""
    dashboard_address: str
    """Where the Dask dashboard listens, for clusters that the run starts; ":0" takes any free port."""
    start_timeout_seconds: float
    """How long to wait for hosts."""
    max_restarts: int
    """How often a role that was lost with its host is started again, before the run gives up."""
    lease_seconds: float
    """Roles leave when their coordinator has been silent for this long."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.kind not in KINDS:
            found.append(f"kind={self.kind} must be one of {', '.join(KINDS)}")
        if self.kind == ADDRESS and self.address is None:
            found.append("address is missing: kind=address needs cluster.address=tcp://host:port")
        if self.kind != ADDRESS and self.address is not None:
            found.append(
                f"address={self.address} is given, but kind={self.kind} starts its own cluster: use cluster=address"
            )
        if self.num_hosts is not None and self.num_hosts < 1:
            found.append(f"num_hosts={self.num_hosts} must be at least 1, or null")
        if self.memory_bytes is not None and self.memory_bytes < 1:
            found.append(f"memory_bytes={self.memory_bytes} must be at least 1, or null")
        if self.max_restarts < 0:
            found.append(f"max_restarts={self.max_restarts} must be at least 0")
        for name in ("start_timeout_seconds", "lease_seconds"):
            if getattr(self, name) <= 0:
                found.append(f"{name}={getattr(self, name)} must be positive")
        return found
