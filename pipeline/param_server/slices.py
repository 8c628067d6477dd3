"""A gradient in slices: cut by its sender, and whole numbers again in a shard.

    dense       all P numbers            ->  each shard gets its slice
    factored    rest, delta, inputs      ->  each shard gets its part of the rest, delta of the units whose rows it has
                                             a part of, and all inputs; it multiplies out these rows

A sender never forms the product, and of N gradients of one synchronous update a shard forms one product: that of their
factors side by side. Sufficient factors: Xie et al. 2014. Departure: there each worker sends its factors to all others,
here to the shards, which hold the optimizer's state.
Sums of products are in float32, in the order in which a matrix product takes them. With one shard and one gradient that
is the product that its sender would have made, bit for bit; a part of the rows, or several gradients, may be rounded
otherwise.
Not here: where the factors come from (`pipeline.networks.written_out`), norms (`pipeline.networks.computed_gradient`).
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch.utils.dlpack import from_dlpack

from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.wire import decode, encode
from pipeline.types import AnyGradient, FactoredGradient, FactoredSlice, Float32Array, SliceGradient


def sliced(gradient: AnyGradient, layout: ParamLayout, wire_dtype: str) -> list[SliceGradient]:
    """What travels to each shard. In float32 it may share the memory of `gradient`.

    Raises ValueError for a gradient of another length than `layout`.
    """
    if not isinstance(gradient, FactoredGradient):
        return [encode(part, wire_dtype) for part in layout.cut(gradient)]
    if (length := _length(gradient)) != layout.num_params:
        raise ValueError(f"got factors of a vector of length {length}, this layout cuts ({layout.num_params},)")
    rest, delta, inputs = (
        encode(decode(part), wire_dtype) for part in (gradient.rest, gradient.delta, gradient.inputs)
    )
    encoded = FactoredGradient(rest, gradient.start, delta, inputs)
    return [_cut(encoded, part) for part in layout.slices]


def copied(gradient: AnyGradient) -> AnyGradient:
    """The same in memory of its own."""
    if isinstance(gradient, FactoredGradient):
        rest, start, delta, inputs = gradient
        return FactoredGradient(rest.copy(), start, delta.copy(), inputs.copy())
    return gradient.copy()


def check_length(gradient: SliceGradient, length: int) -> None:
    """Raises ValueError for a shard's part of another length, or factors that do not fit each other."""
    if not isinstance(gradient, FactoredSlice):
        if gradient.shape != (length,):
            raise ValueError(f"got a gradient slice of shape {gradient.shape}, this shard holds {(length,)}")
        return
    rest, before, skipped, size, delta, inputs = gradient
    if rest.ndim != 1 or rest.size + size != length:
        raise ValueError(
            f"got a factored gradient slice of {rest.shape} and {size} numbers, this shard holds {(length,)}"
        )
    if delta.ndim != 2 or inputs.ndim != 2 or len(delta) != len(inputs):
        raise ValueError(f"got factors of shapes {delta.shape} and {inputs.shape}: they are not of one batch")
    num_inputs = inputs.shape[1]
    left = delta.shape[1] * num_inputs - skipped
    is_in_it = 0 <= skipped < num_inputs and 0 < size <= left and 0 <= before <= rest.size
    # What comes before or behind the product has its first or its last row whole.
    if not is_in_it or (before > 0 and skipped > 0) or (before < rest.size and size < left):
        raise ValueError(
            f"got {size} numbers behind {skipped} skipped and {before} others of a product of {delta.shape[1]} rows of "
            f"{num_inputs}: they are not in it"
        )


class Multiplier:
    """Turns what was sent to one shard into numbers, in memory of its own that every call uses again."""

    def __init__(self) -> None:
        self._memory: Float32Array = np.empty(0, np.float32)

    def whole(self, gradient: SliceGradient) -> Float32Array:
        """(slice length,) float32, valid until the next call. Dense ones are not copied where they need not be."""
        return self._mean([gradient]) if isinstance(gradient, FactoredSlice) else decode(gradient)

    def mean(self, gradients: Sequence[SliceGradient]) -> Float32Array:
        """The mean of several (slice length,), valid until the next call.

        Dense ones are added in float32 in this order and divided by their number: the same however the vector is cut.
        """
        factored = [gradient for gradient in gradients if isinstance(gradient, FactoredSlice)]
        if len(factored) == len(gradients):
            return self._mean(factored)
        if factored:
            raise ValueError("got dense and factored gradients of one update: all workers have one param_server.wire")
        # One after the other: all at once they would take as much memory again as was sent, or twice that.
        first, *others = (gradient for gradient in gradients if not isinstance(gradient, FactoredSlice))
        mean = self._room(len(first))
        np.copyto(mean, decode(first))
        return _divided(mean, map(decode, others), len(gradients))

    def _mean(self, gradients: Sequence[FactoredSlice]) -> Float32Array:
        count, (rest, before, skipped, size, *_) = len(gradients), gradients[0]
        places = {(one.before, one.skipped, one.size, one.delta.shape[1], one.inputs.shape[1]) for one in gradients}
        if len(places) > 1:
            raise ValueError(f"got factors of one update that belong to different places of a slice: {places}")
        delta, inputs = _side_by_side(gradients)
        num_rows, num_inputs = delta.shape[1], inputs.shape[1]
        # The first row and the last may reach beyond the slice: there is room for them on both sides, so that the
        # product is written where it stays. Where something comes before or behind it, it ends there with a whole row.
        room = self._room(num_rows * num_inputs + rest.size)
        product = room[before : before + num_rows * num_inputs].reshape(num_rows, num_inputs)
        torch.mm(from_dlpack(delta).t(), from_dlpack(inputs), out=torch.from_numpy(product))
        whole = room[skipped : skipped + rest.size + size]
        for begin, part in ((0, slice(before)), (before + size, slice(before, None))):
            here = whole[begin : begin + rest[part].size]
            np.copyto(here, decode(rest[part]))
            _divided(here, (decode(one.rest[part]) for one in gradients[1:]), count)
        return whole

    def _room(self, size: int) -> Float32Array:
        if self._memory.size < size:
            # Torch's memory begins where vector registers like it, as that of the sender's product does.
            self._memory = torch.empty(size, dtype=torch.float32).numpy()
        return self._memory[:size]


def _side_by_side(gradients: Sequence[FactoredSlice]) -> tuple[Float32Array, Float32Array]:
    """Factors (B, R) and (B, F) of the mean, B over all batches."""
    if len(gradients) == 1:
        return decode(gradients[0].delta), decode(gradients[0].inputs)
    delta = np.concatenate([decode(one.delta) for one in gradients])
    # This one is divided, not the product: it is some hundred times smaller.
    np.divide(delta, len(gradients), out=delta)
    return delta, np.concatenate([decode(one.inputs) for one in gradients])


def _divided(mean: Float32Array, others: Iterable[Float32Array], count: int) -> Float32Array:
    """The first of `count` in `mean`, and the others."""
    for other in others:
        mean += other
    if count > 1:
        mean /= count
    return mean


def _length(gradient: FactoredGradient) -> int:
    """P. Raises ValueError for parts that do not fit each other."""
    rest, start, delta, inputs = gradient
    fit = rest.ndim == 1 and delta.ndim == inputs.ndim == 2 and len(delta) == len(inputs)
    if not fit or not 0 <= start <= rest.size:
        raise ValueError(
            f"got factors of shapes {delta.shape} and {inputs.shape} from number {start} on, around a rest of "
            f"{rest.shape}: they are not of one batch, or not in the vector"
        )
    length: int = rest.size + delta.shape[1] * inputs.shape[1]
    return length


def _cut(gradient: FactoredGradient, part: slice) -> SliceGradient:
    rest, start, delta, inputs = gradient
    num_inputs = inputs.shape[1]
    size = delta.shape[1] * num_inputs
    # Where the slice begins and ends within the product; both at one of its ends if it has no part of it.
    first, end = (min(max(number - start, 0), size) for number in (part.start, part.stop))
    mine = rest[part.start - first : part.stop - end]
    if first == end:
        return mine
    row = first // num_inputs
    rows = delta[:, row : -(-end // num_inputs)].copy()
    return FactoredSlice(mine, max(start - part.start, 0), first - row * num_inputs, end - first, rows, inputs)
