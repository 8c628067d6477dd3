"""Whether a module of anybody's can be a network here: it is made and asked once, before any work.

    forward         answers tensors of the right shapes, by itself and not by chance, to one observation as to several
    buffers         are constants, the same whoever makes it: all that learning changes is in the parameters, which the
                    server holds
    gradients       reach every parameter

Not here: how it computes afterwards (`pipeline.networks.wrapped`).
"""

from collections.abc import Callable, Sequence

import torch

from pipeline.errors import in_words
from pipeline.networks.wrapped import WrappedModule

NUM_FRAMES = 3
"""B of the trial: more than one, for which some layers have rules of their own."""

NEAR = 1e-4
"""How far an answer to one observation may be from that among others, in units of the largest: a sum in another order
is a hundred times nearer."""

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
        module, again = make(), make()
    except Exception as error:  # whatever its constructor raises
        return [f"cannot be made as {made_as}: {in_words(error)}"]
    found = faults(module, *wanted(num_actions, is_q)) or _made_otherwise(module, again)
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
    frames = trial_frames(module.observation_shape)
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
    if (why := otherwise_alone(lambda rows: _tensors(module(parameters, frames[rows], buffers)), answered)) is not None:
        return [why]
    return _unreached(parameters, answered)


def otherwise_alone(
    ask: Callable[[slice], Sequence[torch.Tensor]], together: Sequence[torch.Tensor], near: float = NEAR
) -> str | None:
    """Why an observation alone is answered otherwise than among NUM_FRAMES, whose answers are `together`; None if not.

    `ask` answers those of a slice. `near`: how far numbers may be apart, as a share of the largest of their tensor.
    """
    for i in range(NUM_FRAMES):
        try:
            with torch.no_grad():
                alone = ask(slice(i, i + 1))
        except Exception as error:  # whatever it raises
            return f"cannot compute with one observation alone: {in_words(error)}"
        among = [answer[i : i + 1] for answer in together]
        shapes, wanted_shapes = ([tuple(tensor.shape) for tensor in tensors] for tensors in (alone, among))
        if shapes != wanted_shapes:
            said, wanted_in_words = (" and ".join(map(str, found)) for found in (shapes, wanted_shapes))
            return (
                f"answers otherwise for one observation than for several: {said or 'no tensors'}, and must answer "
                f"{wanted_in_words}; a squeeze() needs its axis"
            )
        limits = [near * answer.abs().max().item() for answer in together]
        if not all(torch.allclose(a, b, 0, limit) for a, b, limit in zip(alone, among, limits, strict=True)):
            return (
                "answers otherwise for one observation than for several, as BatchNorm does: each has to be answered "
                "by itself; use LayerNorm or GroupNorm"
            )
    return None


def cannot_compute_in(module: WrappedModule, dtype: torch.dtype) -> str | None:
    """What the module raises with parameters and frames of `dtype`; None if it computes with them."""
    frames = trial_frames(module.observation_shape)
    try:
        with torch.no_grad():
            module(module.copied_parameters(dtype), frames, module.copied_buffers(dtype, _CPU))
    except Exception as error:  # whatever the module raises
        return in_words(error)
    return None


def trial_frames(observation_shape: tuple[int, ...]) -> torch.Tensor:
    """uint8 (NUM_FRAMES, K, H, W[, 3]), each brighter than the one before, always the same."""
    shape = (NUM_FRAMES, *observation_shape)
    noise = torch.randint(256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    # Noise alone has the same mean and variance in each, and what divides by those of the batch would not show.
    return torch.stack([noise[i] // (NUM_FRAMES - i) for i in range(NUM_FRAMES)])


def _made_otherwise(module: WrappedModule, again: WrappedModule) -> list[str]:
    """Why the same module, made again, is another one; it has no other faults."""
    each_role = "each role would have others; draw them with torch, whose generator is seeded, or with a seed of theirs"
    buffers, others = (made.copied_buffers(torch.float32, _CPU) for made in (module, again))
    alike = [name for name in buffers.keys() & others.keys() if torch.equal(buffers[name], others[name])]
    if different := [name for name in buffers | others if name not in alike]:
        return [f"has other buffers {', '.join(different)} each time that it is made: {each_role}"]
    if module.shapes != again.shapes:
        return [f"has other parameters each time that it is made: {each_role}"]
    parameters, frames = module.copied_parameters(torch.float32), trial_frames(module.observation_shape)
    answered, otherwise = (_tensors(made(parameters, frames)) for made in (module, again))
    if not all(map(torch.equal, answered, otherwise)):
        return [f"has other constants each time that it is made, which are no buffers: {each_role}"]
    return []


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
