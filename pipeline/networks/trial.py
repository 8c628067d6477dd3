"""Whether a module of anybody's can be a network here: it is made and asked once, before any work.

    forward         answers tensors of the right shapes, by itself and not by chance
    buffers         are constants: all that learning changes is in the parameters, which the server holds
    gradients       reach every parameter

Not here: how it computes afterwards (`pipeline.networks.wrapped`).
"""

from collections.abc import Callable, Sequence

import torch

from pipeline.errors import in_words
from pipeline.networks.wrapped import WrappedModule

NUM_FRAMES = 3
"""B of the trial: more than one, for which some layers have rules of their own."""

_CPU = torch.device("cpu")


def wanted(num_actions: int, is_q: bool) -> tuple[str, list[list[tuple[int, ...]]]]:
    """What `forward` has to answer to NUM_FRAMES observations: in words, and what each tensor may look like."""
    of_actions = (NUM_FRAMES, num_actions)
    if is_q:
        return f"Q-values {of_actions}", [[of_actions]]
    values: list[tuple[int, ...]] = [(NUM_FRAMES,), (NUM_FRAMES, 1)]
    return f"logits {of_actions} and values {' or '.join(map(str, values))}", [[of_actions], values]


def faults_of_class(
    make: Callable[[], WrappedModule], made_as: str, num_actions: int, is_q: bool, precision: str
) -> list[str]:
    """Why what `make` makes cannot be a network of that kind, each as the end of a line that begins with its name.

    `made_as`: the call, for a constructor that raises.
    """
    try:
        module = make()
    except Exception as error:  # whatever its constructor raises
        return [f"cannot be made as {made_as}: {in_words(error)}"]
    found = faults(module, *wanted(num_actions, is_q))
    if not found and precision == "bfloat16" and (why := cannot_compute_in(module, torch.bfloat16)) is not None:
        return [f"cannot compute in precision=bfloat16: {why}"]
    return found


def faults(module: WrappedModule, answers: str, shapes: Sequence[Sequence[tuple[int, ...]]]) -> list[str]:
    """Why it cannot be a network, each as the end of a line that begins with its name.

    `answers` tells in words what `shapes` are: what each of its answers may look like, for NUM_FRAMES observations.
    """
    if not module.shapes:
        return ["has no parameters: there is nothing to learn"]
    if module.frozen:
        return [f"has parameters that want no gradient, {', '.join(module.frozen)}: make them buffers"]
    parameters, buffers = module.copied_parameters(torch.float32), module.copied_buffers(torch.float32, _CPU)
    before = {name: buffer.clone() for name, buffer in buffers.items()}
    frames = trial_frames(module)
    try:
        answered = _tensors(module(parameters, frames, buffers))
        again = _tensors(module(parameters, frames, buffers))
    except Exception as error:  # whatever the module raises
        return [f"cannot compute with frames (B, C, H, W) in float32: {in_words(error)}"]
    found = [tuple(tensor.shape) for tensor in answered]
    if len(found) != len(shapes) or any(shape not in allowed for shape, allowed in zip(found, shapes, strict=True)):
        said = " and ".join(map(str, found)) or "no tensors"
        return [f"answers {said} to {NUM_FRAMES} observations, and must answer {answers}"]
    if not all(tensor.isfinite().all() for tensor in answered):
        return ["answers what is no finite number with the first values of its parameters: does it divide by 0?"]
    if changed := [name for name, buffer in buffers.items() if not torch.equal(buffer, before[name])]:
        return [
            f"changes its buffers {', '.join(changed)} while it computes, as BatchNorm does: each role would have "
            "others; use LayerNorm or GroupNorm"
        ]
    if not all(map(torch.equal, answered, again)):
        return ["answers by chance, as Dropout does: take that layer out"]
    return _unreached(parameters, answered)


def cannot_compute_in(module: WrappedModule, dtype: torch.dtype) -> str | None:
    """What the module raises with parameters and frames of `dtype`; None if it computes with them."""
    try:
        with torch.no_grad():
            module(module.copied_parameters(dtype), trial_frames(module), module.copied_buffers(dtype, _CPU))
    except Exception as error:  # whatever the module raises
        return in_words(error)
    return None


def trial_frames(module: WrappedModule) -> torch.Tensor:
    """uint8 (NUM_FRAMES, K, H, W[, 3]), none like the other, always the same."""
    shape = (NUM_FRAMES, *module.observation_shape)
    return torch.randint(256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def _tensors(answer: object) -> list[torch.Tensor]:
    answers = answer if isinstance(answer, tuple | list) else (answer,)
    return [tensor for tensor in answers if isinstance(tensor, torch.Tensor)]


def _unreached(parameters: dict[str, torch.Tensor], answered: Sequence[torch.Tensor]) -> list[str]:
    total = torch.stack([tensor.float().sum() for tensor in answered]).sum()
    try:
        gradients = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
    except RuntimeError as error:
        return [f"cannot be differentiated: {in_words(error)}"]
    unreached = [name.partition(".")[2] for name, g in zip(parameters, gradients, strict=True) if g is None]
    return [f"has parameters that its answers do not depend on: {', '.join(unreached)}"] if unreached else []
