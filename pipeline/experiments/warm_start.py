"""The first state of a run that begins with the parameters of another one: `init_from=results/runs/gorila/Pong/1`.

Parameters, and on request the optimizer's state, are all that it takes: the target network equals the parameters,
updates, frames and schedules count from 0, the replay is empty. Adam corrects its moments by the number of updates of
the new run. Moments that are taken over need no correction: with betas 0.9 and 0.999 the first thousand steps are
smaller than they would have been, with DBA3C's 0.8 and 0.75 the first ten are larger, the very first 2.5 times.
Not here: what may be begun from (`pipeline.config.warm_start`), going on (`pipeline.experiments.files.checkpoint`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipeline.config.run_config import RunConfig
from pipeline.config.warm_start import CHECKPOINT, EXPORT, find_source
from pipeline.config.words import listed
from pipeline.errors import CheckpointError, ExportError
from pipeline.experiments.exports.formats import FORMATS, load_tensors
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.experiments.files.run_folder import CHECKPOINTS
from pipeline.experiments.plan import first_parameters, network_of
from pipeline.experiments.specs import checkpoint_fit
from pipeline.networks.linear import SIGMA
from pipeline.param_server.snapshot import first_snapshot
from pipeline.roles.evaluator import load_replica
from pipeline.run_facts import facts_in, origin_of
from pipeline.types import Float32Array


class WarmStart(NamedTuple):
    """What a run begins with."""

    start: Checkpoint
    origin: dict[str, Any]
    """For `run.json`: path, experiment, game, seed, commit and version of what it was taken from, as far as known."""


def begin_warm(config: RunConfig, say: Callable[[str], None]) -> WarmStart:
    """The state before the first update; what an exported agent does not tell is as in a cold start.

    `say` is told of each newer checkpoint that cannot be read. Raises CheckpointError, RunFolderError or ExportError
    where what `init_from` names cannot be read or does not fit.
    """
    assert config.init_from is not None
    try:
        source = find_source(config.init_from)
    except ValueError as error:
        raise CheckpointError(f"init_from={config.init_from} {error}") from error
    told = {name: source.settings.get(name) for name in ("experiment", "game", "seed")}
    origin = {"path": config.init_from, **told}
    slots: dict[str, Float32Array] = {}
    if source.kind == EXPORT:
        tensors = load_tensors(source.path / FORMATS["safetensors"].file)
        params = _from_tensors(config, tensors, first_parameters(config))
        origin |= {"commit": source.settings.get("commit"), "version": source.settings.get("version")}
    else:
        fit, with_slots = checkpoint_fit(config), config.init_from_optimizer
        taken = _checkpoint(source.kind, source.path, fit, say, with_slots=with_slots)
        params = taken.server.params
        slots = taken.server.slots if config.init_from_optimizer else {}
        origin |= {"commit": None if source.kind == CHECKPOINT else facts_in(source.path).get("commit")}
        origin |= {"version": taken.server.version}
    origin["optimizer"] = bool(slots)
    return WarmStart(Checkpoint(first_snapshot(params)._replace(slots=slots), {}, generation=0), origin)


def sentence_of(origin: dict[str, Any]) -> str:
    """What is said of it when the run begins."""
    state = ", with its optimizer's state" if origin["optimizer"] else ""
    return f"begins with the parameters of {origin_of({'init_from': origin})}{state}"


def _checkpoint(kind: str, path: Path, fit: Fit, say: Callable[[str], None], *, with_slots: bool) -> Checkpoint:
    if kind == CHECKPOINT:
        taken = checkpoint.load(path, any_name=True)
    else:
        taken = checkpoint.load_newest(path / CHECKPOINTS, say=say)
    if taken.server.params.size != fit.num_parameters:
        raise CheckpointError(
            f"init_from={path} holds {taken.server.params.size:,} parameters, this network has {fit.num_parameters:,}: "
            "give this run the same network, and a game with as many actions"
        )
    if with_slots and set(taken.server.slots) != set(fit.slots):
        raise CheckpointError(
            f"init_from={path} holds the optimizer state {', '.join(sorted(taken.server.slots)) or 'of none'}, this "
            f"optimizer wants {', '.join(sorted(fit.slots)) or 'none'}: leave init_from_optimizer=false"
        )
    return taken


def _from_tensors(config: RunConfig, tensors: dict[str, Float32Array], fresh: Float32Array) -> Float32Array:
    """The flat vector whose ordinary module has these tensors; noise, which that does not have, stays as in `fresh`."""
    params, is_told = fresh.copy(), np.zeros(fresh.size, bool)
    for name, places in _places(config, fresh.size).items():
        if name not in tensors or tensors[name].shape != places.shape:
            found = tensors[name].shape if name in tensors else "missing"
            raise ExportError(f"init_from={config.init_from}: {name} is {found}, this network has {places.shape}")
        params[places] = tensors[name]
        is_told[places] = True
    ends = np.cumsum([shape.size for shape in network_of(config).shapes])
    untold = [
        shape.name
        for shape, end in zip(network_of(config).shapes, ends, strict=True)
        if not shape.name.endswith(SIGMA) and not is_told[end - shape.size : end].all()
    ]
    if untold:
        raise ExportError(
            f"init_from={config.init_from} is an exported agent, which has no {listed(untold)} of this network: name "
            "the run's folder, or a checkpoint of it"
        )
    return params


def _places(config: RunConfig, size: int) -> dict[str, Any]:
    """Where each number of the ordinary module's parameters lies in the flat vector: made of a vector of its places.

    In two digits, since float32 counts to 2^24 only.
    """
    digits = []
    for digit in np.divmod(np.arange(size), _BASE):
        replica = load_replica(
            config.network, config.game, config.environment, digit.astype(np.float32), "cpu", "float32"
        )
        named = replica.ordinary().named_parameters()
        digits.append({name: tensor.detach().numpy().astype(np.int64) for name, tensor in named})
    high, low = digits
    return {name: _BASE * high[name] + low[name] for name in high}


_BASE = 4096
