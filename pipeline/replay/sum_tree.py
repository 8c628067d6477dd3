"""A sum tree: weights, changed many at a time, from which indices are drawn in proportion to their weight.

With four children per node and at most two nodes on top (here there are FAN_OUT and MAX_TOP), and six weights:

    top       10          0              one node per four leaves
    leaves    1 0 4 5     0 0 (0 0)      what is there for padding is zero

A mass in [0, total) belongs to the leaf in whose stretch it falls: 0 <= mass < 1 to leaf 0, 1 <= mass < 5 to leaf 2,
5 <= mass < 10 to leaf 3. A leaf of weight zero has no stretch and is never found.

Each call works on all its leaves at once, level by level, the top by bisection. A node is always the sum of its
children, computed anew, so rounding errors do not build up however often weights are set.

Not here: what the weights mean, and that they are finite and not negative (`pipeline.replay.prioritised`).
"""

import numpy as np

from pipeline.types import Float64Array, Int64Array

FAN_OUT = 16
"""Children per node, unless another number is asked for. A level costs a handful of NumPy calls: few children make many
levels, many children make long calls. `benchmarks.replay_prioritised` compares 8, 16, 32 and 64."""
MAX_TOP = 4096
"""Nodes on top at most: summing so many costs less than one more level."""


def tree_bytes(size: int) -> int:
    """Bytes of all arrays of a SumTree of this size: exact."""
    return np.dtype(np.float64).itemsize * sum(_level_sizes(size, FAN_OUT, MAX_TOP))


class SumTree:
    """`size` weights in float64, all zero at first."""

    def __init__(self, size: int, fan_out: int = FAN_OUT, max_top: int = MAX_TOP) -> None:
        if size < 1 or fan_out < 2 or max_top < 1:
            raise ValueError(
                f"size={size} and max_top={max_top} must be at least 1, fan_out={fan_out} must be at least 2"
            )
        self.size = size
        self._fan_out = fan_out
        self._levels: list[Float64Array] = [np.zeros(length) for length in _level_sizes(size, fan_out, max_top)]
        """Leaves first, the top last."""
        self._families = [level.reshape(-1, fan_out) for level in self._levels[:-1]]
        """The same memory, siblings in one row: row j belongs to node j of the level above."""

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self._levels[-1].sum())

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(level.nbytes for level in self._levels)

    def get(self, indices: Int64Array) -> Float64Array:
        """The weights (B,) of leaves (B,)."""
        return self._levels[0].take(indices)

    def set(self, indices: Int64Array, weights: Float64Array | float) -> None:
        """Give leaves (B,) these weights, finite and not negative; where an index comes twice, its last one counts."""
        # NumPy promises no order where an index comes twice in an assignment.
        nodes, last = np.unique(indices[::-1], return_index=True)
        self._levels[0][nodes] = np.broadcast_to(weights, indices.shape)[::-1][last]
        for families, parents in zip(self._families, self._levels[1:], strict=True):
            nodes = nodes // self._fan_out
            parents[nodes] = families.take(nodes, axis=0).sum(axis=1)

    def find(self, masses: Float64Array) -> Int64Array:
        """The leaves (B,) to which these masses (B,) in [0, total) belong; by rounding, a mass may come out one later.

        Never a leaf of weight zero. ValueError if there is no other.
        """
        if not self.total > 0:
            raise ValueError(f"find() in a sum tree whose {self.size} weights are all zero")
        ends = self._levels[-1].cumsum()  # where the stretch of each node ends
        rest = np.minimum(masses, np.nextafter(ends[-1], 0.0))
        node: Int64Array = np.searchsorted(ends, rest, side="right")
        rest = rest - np.where(node > 0, ends[node - 1], 0.0)
        draw = np.arange(len(masses))
        for families in reversed(self._families):
            ends = families.take(node, axis=0).T.cumsum(axis=0)  # (fan_out, B)
            # Summed in another order, the children may end a little below the mass that their parent was found by.
            # The first child that ends above the mass ends above the one before it, too: its weight is not zero.
            rest = np.minimum(rest, np.nextafter(ends[-1], 0.0))
            child = np.count_nonzero(ends <= rest, axis=0)
            rest = rest - np.where(child > 0, ends[child - 1, draw], 0.0)
            node = node * self._fan_out + child
        return node

    def check_valid(self) -> None:
        """State the invariant; AssertionError tells what is broken. Looks at every node: for tests."""
        leaves = self._levels[0]
        if not (np.isfinite(leaves).all() and (leaves >= 0).all()):
            raise AssertionError("a weight is negative or not finite")
        if leaves[self.size :].any():
            raise AssertionError("a leaf that is there for padding has a weight")
        for level, (families, parents) in enumerate(zip(self._families, self._levels[1:], strict=True), start=1):
            sums = np.zeros_like(parents)
            sums[: len(families)] = families.sum(axis=1)
            if (wrong := np.flatnonzero(parents != sums)).size > 0:
                raise AssertionError(f"nodes {wrong.tolist()} of level {level} are not the sums of their children")


def _level_sizes(size: int, fan_out: int, max_top: int) -> list[int]:
    """Nodes of each level, leaves first, each but the top padded to whole families."""
    sizes: list[int] = []
    num_nodes = size
    while num_nodes > max_top:
        num_families = -(-num_nodes // fan_out)
        sizes.append(num_families * fan_out)
        num_nodes = num_families
    return [*sizes, num_nodes]
