"""Importance weights: what makes up for transitions being drawn with unequal chances.

Not here: how they are drawn (`pipeline.replay`).
"""

import torch

from pipeline.algorithms.checks import check_tensor


def importance_exponent(initial: float, num_updates: int, version: int) -> float:
    """beta after `version` server updates: from `initial` on a line to 1.0, where it is from `num_updates` on.

    beta = initial + (1 - initial) * min(version / num_updates, 1). Schaul et al. 2016, section 3.4.
    Departure: the clock of the paper is its learner's steps; here it is the server's, which all learners share.
    """
    return initial + (1.0 - initial) * min(version / num_updates, 1.0)


def importance_weights(relative_chance: torch.Tensor, exponent: float) -> torch.Tensor:
    """weight = relative_chance^-exponent / max over the minibatch, (B,) float32 in (0, 1].

    relative_chance (B,) float32, positive: N * P(i), N transitions of which i is drawn with chance P(i).
    Schaul et al. 2016, section 3.4: division by the largest only ever makes an update smaller.
    """
    check_tensor("relative_chance", relative_chance, torch.float32, num_axes=1)
    # The smallest chance has the largest weight; dividing first keeps powers of tiny chances finite.
    return (relative_chance / relative_chance.amin()) ** -exponent
