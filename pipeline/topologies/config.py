"""Settings of a topology: how many roles there are and where they stand."""

from dataclasses import dataclass

SINGLE = "single"
BUNDLED = "bundled"
BESIDE, APART = SHARD_PLACES = ("beside", "apart")


@dataclass(frozen=True)
class TopologyConfig:
    """Who is started. Sources stand beside the values in `conf/topology/`."""

    kind: str
    """"single": one bundle and its parameters on one host, the baseline; "bundled": bundles around a server."""
    num_bundles: int
    """Actor + local replay + learner, each bundle on a host of its own."""
    num_lanes: int
    """Games that one actor plays at once."""
    shards: str
    """"beside": shards share the bundles' hosts in turn; "apart": each shard has a host of its own."""
    compute_threads: int
    """Torch threads of one bundle, emulator threads likewise."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.kind not in (SINGLE, BUNDLED):
            found.append(f"kind={self.kind} must be one of {SINGLE}, {BUNDLED}")
        if self.shards not in SHARD_PLACES:
            found.append(f"shards={self.shards} must be one of {', '.join(SHARD_PLACES)}")
        for name in ("num_bundles", "num_lanes", "compute_threads"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.kind == SINGLE and (self.num_bundles != 1 or self.shards != "beside"):
            found.append(f"kind={SINGLE} needs num_bundles=1 and shards=beside")
        return found
