"""How the flat parameter vector is cut into the slices of the shards.

Contiguous slices in shard order, as many bytes in each as in any other, give or take one parameter. The cut follows
from P and S alone, so that client, shards and checkpoints agree on it without talking. Departure: DBA3C's published
code puts whole tensors on its servers, each on the one with the fewest bytes so far.
Not here: putting slices together again (`pipeline.param_server.client`, `pipeline.param_server.snapshot`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.errors import ConfigError
from pipeline.types import Float32Array


@dataclass(frozen=True)
class ParamLayout:
    """A vector of `num_params` (P) parameters cut into `num_shards` (S) slices. Raises ConfigError for S > P."""

    num_params: int
    num_shards: int

    def __post_init__(self) -> None:
        if not 1 <= self.num_shards <= self.num_params:
            allowed = f"1 to {self.num_params}, the number of the network's parameters"
            raise ConfigError([f"param_server.num_shards={self.num_shards} must lie in {allowed}"])

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Each shard's part of the vector; the first P mod S slices are one longer than the rest."""
        size, longer = divmod(self.num_params, self.num_shards)
        ends = [size * (shard + 1) + min(shard + 1, longer) for shard in range(self.num_shards)]
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))

    def cut(self, flat: Float32Array) -> Sequence[Float32Array]:
        """Views of `flat` (P,), one for each shard. Raises ValueError for another length."""
        if flat.shape != (self.num_params,):
            raise ValueError(f"got a vector of shape {flat.shape}, this layout cuts ({self.num_params},)")
        return [flat[part] for part in self.slices]
