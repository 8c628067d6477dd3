"""The data that travels between the parts, and the array types it is made of.

One spelling everywhere, after dqn_zoo: `s_tm1, a_tm1, r_t, discount_t, s_t` (time as suffix, `tm1` = t - 1).
B is a batch, E the lanes of one actor (games played at once), P the number of parameters, H x W a frame,
K the frames of a stack, A the actions of a game. Counters are Python ints from end to end.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

UInt8Array = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
WireArray = npt.NDArray[np.float32] | npt.NDArray[np.uint16]
"""What crosses a process border: float32, or bfloat16 carried as uint16."""
Distribution = Literal["atoms", "quantiles"]
"""How a network says which returns are likely: by the chances of given ones, or by equally likely ones."""


class FactoredGradient(NamedTuple):
    """A gradient (P,) whose largest tensor, a fully connected layer's weights, is given as the product that it is.

    Of U units with F inputs each it is delta^T inputs, U * F numbers from number `start` of the vector on; the rest
    lies before and behind. Xie et al. 2014 ("Distributed Machine Learning via Sufficient Factor Broadcasting").
    """

    rest: WireArray
    """(P - U * F,): the vector without that tensor."""
    start: int
    delta: WireArray
    """(B, U): d loss / d what the units were before they were rectified, of each of the B observations."""
    inputs: WireArray
    """(B, F): what the units were given."""


AnyGradient = Float32Array | FactoredGradient
"""A whole gradient: (P,) float32, or with factors of float32."""


class FactoredSlice(NamedTuple):
    """A shard's part of a FactoredGradient. It has `size` numbers of the product, between those of `rest`.

    A slice may begin and end in the middle of a row of the product; all rows that it has a part of are here.
    """

    rest: WireArray
    before: int
    """Numbers of `rest` that come before those of the product; the others come behind."""
    skipped: int
    """Numbers at the beginning of the first row that belong to the shard before."""
    size: int
    delta: WireArray
    """(B, R): of the units whose rows are here."""
    inputs: WireArray
    """(B, F)"""


SliceGradient = WireArray | FactoredSlice
"""A shard's part of a gradient, as it travels."""


class LaneStep(NamedTuple):
    """One step of all E lanes of an actor, as the replay takes it: what was seen, what was done, what came of it."""

    frame_tm1: UInt8Array
    """(E, H, W) or (E, H, W, 3): newest frame of the observation in which the action was chosen."""
    first_tm1: BoolArray
    """(E,): that observation is the first of an episode; no stack reaches behind it."""
    valid: BoolArray
    """(E,): False where the episode had already ended at t - 1: the action was ignored, it is no transition."""
    a_tm1: Int64Array
    """(E,): action index below A."""
    r_t: Float32Array
    """(E,): reward as the learner sees it (clipped if the protocol clips)."""
    continues_t: Float32Array
    """(E,): 0.0 where the return ends at t (game over, or a life lost if the protocol says so), else 1.0.

    A time limit is not an end of the return: there it is 1.0, and the lane's next frame is the last of the episode.
    """


class TransitionBatch(NamedTuple):
    """B transitions as a learner takes them. Arrays may be views of memory that the next sample overwrites."""

    s_tm1: UInt8Array
    """(B, K, H, W), or (B, K, H, W, 3) for RGB; frames before the episode's start are zero."""
    a_tm1: Int64Array
    """(B,)"""
    r_t: Float32Array
    """(B,): reward of one step, or the discounted sum over the n steps between s_tm1 and s_t."""
    discount_t: Float32Array
    """(B,): what the value of s_t counts: gamma ** steps between, 0.0 where the return ends before s_t."""
    s_t: UInt8Array
    """Like s_tm1, n steps later, fewer where the episode is over before; meaningless where discount_t is 0."""
    relative_chance: Float32Array
    """(B,): chance of drawing this transition, times the number of transitions: 1.0 where all are equally likely."""
    key: Int64Array
    """(B,): names each transition to `TransitionSource.update_priorities`; its meaning is the replay's own."""


class RolloutBatch(NamedTuple):
    """B steps as an actor-critic learner takes them. Arrays may be views of memory that the next batch overwrites."""

    s_tm1: UInt8Array
    """(B, K, H, W), or (B, K, H, W, 3) for RGB; frames before the episode's start are zero."""
    a_tm1: Int64Array
    """(B,)"""
    return_tm1: Float32Array
    """(B,): discounted rewards from s_tm1 on, and the value of the state behind the last of them, 0 where it ended;
    with lambda below 1 mixed with the values between."""
    value_tm1: Float32Array
    """(B,): V(s_tm1), when a_tm1 was chosen."""
    log_pi_tm1: Float32Array
    """(B,): logarithm of the chance that a_tm1 was chosen with."""
    origin: Int64Array
    """(B, 2): which call of the policy chose a_tm1, counted from 0, and which of its rows s_tm1 was."""


class Receipt(NamedTuple):
    """What one shard did with one pushed slice."""

    admitted: bool
    reason: str
    """Why it was dropped: "" | "stale" | "late" | "duplicate" | "old_generation"."""
    version: int
    """The shard's version after this push (number of updates that it has applied)."""
    staleness: int
    """The shard's version when the gradient arrived minus the version that it was computed at."""
