"""Whether a torso of anybody's can be one here: it is made and computes a little, before any work.

    features        as many as it says, finite, in the dtype of its parameters, of one observation as of several,
                    the same whoever makes it
    gradients       reach every parameter; where they are written out, they are those of autograd

Not here: whole modules as networks (`pipeline.networks.trial`), ours, which their tests try.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from pipeline.errors import in_words
from pipeline.networks.compute import resolve_precision
from pipeline.networks.linear import Noise
from pipeline.networks.network import QNetwork
from pipeline.networks.parameters import Tensors, weight_and_bias
from pipeline.networks.replica import QReplica
from pipeline.networks.torso import TORSOS, DifferentiatedTorso, Torso
from pipeline.networks.trial import NEAR, NUM_FRAMES, otherwise_alone, trial_frames
from pipeline.types import Float32Array, UInt8Array

_NEAR = 1e-2
"""How far a written-out gradient may be from autograd's, as a share of its length: rounding is a thousandth of it."""

_NEAR_BFLOAT16 = 1.0
"""As `NEAR`: sums in another order may be far apart there, and what looks at others is found out in float32."""


def faults_of_torso(name: str, stack: int, frame_shape: tuple[int, ...], *, centred: bool, precision: str) -> list[str]:
    """`faults` of the torso that `network.torso` calls so, in float32 and in what `precision` means here."""
    make = partial(TORSOS[name], stack, frame_shape, centred, weight_and_bias)
    shape = (stack, *frame_shape)
    if found := faults(make, shape, torch.float32):
        return found
    if (dtype := resolve_precision(precision, torch.device("cpu"))) == torch.float32:
        return []
    return [f"{line}; precision=float32 leaves out {_name(dtype)}" for line in faults(make, shape, dtype)]


def faults(make: Callable[[], Torso], observation_shape: tuple[int, ...], dtype: torch.dtype) -> list[str]:
    """Why it cannot be a torso of stacks (K, H, W[, 3]), the first reason alone, as the end of a line with its name.

    What its own code raises stands in the line.
    """
    try:
        torso, again = make(), make()
        replica, otherwise = (QReplica(_Alone(made), dtype, torch.device("cpu")) for made in (torso, again))
    except Exception as error:  # whatever its constructor raises
        return [f"cannot be made for observations {observation_shape}: {in_words(error)}"]
    try:
        frames = trial_frames(observation_shape).numpy()
        replica.load(params := _Alone(torso).initial_parameters(np.random.default_rng(0)))
        if (fault := _fault(torso, replica, frames, dtype)) is None:
            fault = _made_otherwise(torso, replica, again, otherwise, params, frames)
    except Exception as error:  # whatever it raises
        fault = f"cannot compute with frames {(NUM_FRAMES, *observation_shape)} in {_name(dtype)}: {in_words(error)}"
    return [] if fault is None else [fault]


class _Alone(QNetwork):
    """A torso with nothing behind it."""

    def __init__(self, torso: Torso) -> None:
        super().__init__(torso.shapes)
        self._torso = torso

    def outputs(self, parameters: Tensors, observations: torch.Tensor, noise: Noise) -> torch.Tensor:
        """Its features."""
        return self._torso(parameters, observations)


def _fault(torso: Torso, replica: QReplica, frames: UInt8Array, dtype: torch.dtype) -> str | None:
    features = replica.outputs(frames)
    wanted = (NUM_FRAMES, torso.num_features)
    if features.shape != wanted or features.dtype != dtype:
        return (
            f"answers {tuple(features.shape)} in {_name(features.dtype)} to {NUM_FRAMES} observations, and must "
            f"answer (B, num_features)={wanted} in {_name(dtype)}, as its parameters are"
        )
    if not features.isfinite().all():
        return "answers what is no finite number with the first values of its parameters: does it divide by 0?"
    near = NEAR if dtype == torch.float32 else _NEAR_BFLOAT16
    if (why := otherwise_alone(lambda rows: [replica.outputs(frames[rows])], [features], near)) is not None:
        return why
    leaves = list(replica.parameters.values())
    # Drawn, and not all alike: features or observations in another order on the way back would not show.
    d_features = torch.from_numpy(np.random.default_rng(0).standard_normal(wanted, np.float32))
    found = torch.autograd.grad((features.float() * d_features).sum(), leaves, allow_unused=True)
    if unreached := [name for name, g in zip(replica.parameters, found, strict=True) if g is None]:
        return f"has parameters that its features do not depend on: {', '.join(unreached)}"
    if isinstance(torso, DifferentiatedTorso) and dtype == torch.float32:
        expected = dict(zip(replica.parameters, found, strict=True))
        return _fault_of_way_back(torso, replica, frames, d_features, expected)
    return None


def _made_otherwise(
    torso: Torso, replica: QReplica, again: Torso, otherwise: QReplica, params: Float32Array, frames: UInt8Array
) -> str | None:
    """Why the same torso, made again, is another one."""
    each_role = "each time that it is made: each role would have others; draw them with a seed of theirs"
    if torso.shapes != again.shapes:
        return f"has other parameters {each_role}"
    otherwise.load(params)
    same = torch.equal(replica.outputs(frames), otherwise.outputs(frames))
    return None if same else f"has other constants {each_role}"


def _fault_of_way_back(
    torso: DifferentiatedTorso, replica: QReplica, frames: UInt8Array, d_features: torch.Tensor, expected: Tensors
) -> str | None:
    written = {name: torch.zeros_like(g) for name, g in expected.items()}
    with torch.no_grad():
        activations = torso.activations(replica.parameters, torch.from_numpy(frames))
        torso.backward(replica.parameters, activations, d_features.clone(), written)
    apart = [name for name, g in expected.items() if (written[name] - g).norm() > _NEAR * g.norm()]
    return f"writes a gradient that is not autograd's: {', '.join(apart)}" if apart else None


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
