"""Files that other programs load a trained agent from, each loaded again and compared before it counts.

    safetensors   the tensors alone, by the names of the ordinary module's `state_dict`
    pt2           a program of torch.export, which torch loads without our code
    torchscript   a traced module for libtorch; torch 2.13 calls TorchScript deprecated, and names pt2 in its place
    onnx          a graph for onnxruntime and others

Each takes pixels 0 to 255, uint8 (B, C, H, W), any B, and scales them itself; safetensors holds no program.
Not here: the folder around them (`pipeline.experiments.exports.folder`), the module (`pipeline.networks.ordinary`).
"""

import importlib.util
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pipeline.config.words import no_such
from pipeline.errors import ExportError, in_words
from pipeline.extras import how_to_install
from pipeline.types import Float32Array, UInt8Array

if TYPE_CHECKING:
    import torch

EXTRA = "export"
"""Of `pyproject.toml`."""

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""How far answers may lie apart, as a share of the largest, and at least: float32 sums in another order differ by less.
Of the largest, since a small answer may be the difference of large sums."""

Answers = tuple[Float32Array, ...]
"""Q-values (B, A); or logits (B, A) and value (B,)."""


class Format(NamedTuple):
    """One kind of file."""

    file: str
    """Its name in the folder."""
    packages: tuple[str, ...]
    """That it needs besides torch."""
    write: "Callable[[torch.nn.Module, torch.Tensor, Path], None]"
    """Module, two observations as an example, path."""
    answers: "Callable[[torch.nn.Module, Path, UInt8Array], Answers]"
    """What the file says of observations (B, C, H, W); of the module only the form is used, by safetensors."""


def mistakes_of(formats: Sequence[str]) -> list[str]:
    """Names that are no format, and packages that are missing here; a line each. Imports nothing."""
    found = [no_such("format", f"format={name}", name, FORMATS) for name in formats if name not in FORMATS]
    for name in formats:
        needed = FORMATS[name].packages if name in FORMATS else ()
        if missing := [package for package in needed if importlib.util.find_spec(package) is None]:
            found.append(f"format={name}: not installed here: {', '.join(missing)}: {how_to_install(EXTRA)}")
    return found


def write(
    module: "torch.nn.Module", observations: UInt8Array, wanted: Answers, folder: Path, formats: Iterable[str]
) -> dict[str, float]:
    """Write a file of each format into `folder`; format -> how far its answers lie from the agent's, at most.

    `observations`: some (B, C, H, W), B at least 3; `wanted`: what the agent itself answers to them. Raises ExportError
    where the module says otherwise, before anything is written, and where a file cannot be made or says otherwise.
    """
    import torch

    example = torch.from_numpy(observations[:2])
    for here, there in zip(_answers_of(module, observations), wanted, strict=True):
        _distance("as_module() of this agent (its torso's `ordinary`)", here, there)
    distances = {}
    for name in dict.fromkeys(formats):
        path, form = folder / FORMATS[name].file, FORMATS[name]
        try:
            form.write(module, example, path)
            # Of another number of observations than the example has, too.
            found = form.answers(module, path, observations)
            first, *_ = form.answers(module, path, observations[:1])
        except Exception as error:  # whatever torch, ONNX and its runtime raise for a module of somebody's own
            raise ExportError(f"format={name}: {in_words(error)}") from error
        said = f"format={name}: what was written"
        distances[name] = max(_distance(said, here, there) for here, there in zip(found, wanted, strict=True))
        _distance(said, first, wanted[0][:1])
    return distances


def load_tensors(path: Path) -> dict[str, Float32Array]:
    """What a safetensors file holds, by name. Raises ExportError if it is none, or not of finite float32.

    The format holds no code.
    """
    if missing := mistakes_of(["safetensors"]):
        raise ExportError(missing[0])
    from safetensors.numpy import load_file

    try:
        tensors: dict[str, Float32Array] = load_file(path)
    except Exception as error:  # its own kinds, and those of the operating system
        raise ExportError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32 or not np.isfinite(tensor).all():
            raise ExportError(f"{path} cannot be read: {name} holds values that are no finite float32")
    return tensors


def _answers_of(module: "Callable[[torch.Tensor], object]", observations: UInt8Array) -> Answers:
    import torch

    with torch.no_grad():
        said = module(torch.from_numpy(observations))
    tensors = said if isinstance(said, tuple) else (said,)
    return tuple(tensor.numpy() for tensor in tensors)


def _distance(who: str, found: Float32Array, wanted: Float32Array) -> float:
    limit = ABSOLUTE + RELATIVE * float(np.abs(wanted).max(initial=0.0))
    if found.shape != wanted.shape or not np.allclose(found, wanted, 0.0, limit):
        raise ExportError(
            f"{who} answers {found.ravel()[:4].tolist()}, the agent {wanted.ravel()[:4].tolist()}: nothing was left"
        )
    return float(np.abs(found - wanted).max())


def _write_safetensors(module: "torch.nn.Module", example: "torch.Tensor", path: Path) -> None:
    import torch
    from safetensors.torch import save

    # Not its own way to a file, which only its owner may read.
    # Layers that share their weights have them each: the file knows no shared ones.
    tensors = {
        name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in module.state_dict().items()
    }
    path.write_bytes(save(tensors, {"format": "pt"}))


def _answers_of_safetensors(module: "torch.nn.Module", path: Path, observations: UInt8Array) -> Answers:
    import copy

    import torch
    from safetensors.torch import load_file

    other = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in other.state_dict().values():
            tensor.zero_()
    other.load_state_dict(load_file(path))
    return _answers_of(other, observations)


def _write_pt2(module: "torch.nn.Module", example: "torch.Tensor", path: Path) -> None:
    import torch

    torch.export.save(torch.export.export(module, (example,), dynamic_shapes=_any_batch()), path)


def _answers_of_pt2(module: "torch.nn.Module", path: Path, observations: UInt8Array) -> Answers:
    import torch

    return _answers_of(torch.export.load(path).module(), observations)


def _write_torchscript(module: "torch.nn.Module", example: "torch.Tensor", path: Path) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(module, example, check_trace=False).save(str(path))  # it is compared anyway


def _answers_of_torchscript(module: "torch.nn.Module", path: Path, observations: UInt8Array) -> Answers:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _answers_of(torch.jit.load(str(path)), observations)


def _write_onnx(module: "torch.nn.Module", example: "torch.Tensor", path: Path) -> None:
    import torch

    with torch.no_grad():
        names = ["logits", "value"] if isinstance(module(example), tuple) else ["values"]
    # It names packages that some other networks would need.
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registration.level
    registration.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about torch
            torch.onnx.export(
                module,
                (example,),
                path,
                input_names=["frames"],
                output_names=names,
                dynamic_shapes=_any_batch(),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    finally:
        registration.setLevel(level)


def _answers_of_onnx(module: "torch.nn.Module", path: Path, observations: UInt8Array) -> Answers:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return tuple(session.run(None, {"frames": observations}))


def _any_batch() -> tuple[dict[int, object], ...]:
    import torch

    return ({0: torch.export.Dim("batch")},)


FORMATS: Mapping[str, Format] = {
    "safetensors": Format("model.safetensors", ("safetensors",), _write_safetensors, _answers_of_safetensors),
    "pt2": Format("model.pt2", (), _write_pt2, _answers_of_pt2),
    "torchscript": Format("model.torchscript", (), _write_torchscript, _answers_of_torchscript),
    "onnx": Format("model.onnx", ("onnx", "onnxscript", "onnxruntime"), _write_onnx, _answers_of_onnx),
}
"""Word of the command line -> its file."""
