"""What `run.json` says: which code, on which hosts, computed what, when, and why it ended."""

import datetime
import functools
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from dask_jobs.needs import current_grant
from pipeline.cluster.hosts import HostReport
from pipeline.cluster.placement import Placement
from pipeline.config.run_config import RunConfig
from pipeline.envs.rom import rom_md5
from pipeline.experiments.files.newer_rows import move_aside
from pipeline.run_folders import DISCARDED
from pipeline.whole_file import whole_text

_GIT_SECONDS = 10.0
"""A run does not wait longer for its commit: a checkout on a network disk may take minutes to compare."""

_AS_APPLY_READS = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--unified=3"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
"""Whatever the user's own git shows differences with, and wherever below the checkout it is asked."""
_MOST_CHANGES = 1_000_000
"""Characters: what is longer is no small change to a commit."""

CHANGES = "code.diff"
"""Name of the file inside a run folder that has the changes."""


def begin(
    before: dict[str, Any],
    config: RunConfig,
    hosts: Mapping[str, HostReport],
    placement: Placement,
    origin: dict[str, Any] | None = None,
    launch_id: str | None = None,
) -> dict[str, Any]:
    """The record of a run that starts now; `before` is the record of an earlier start that is resumed, or empty.

    `origin`: what the parameters were taken from that a new run begins with. `launch_id`: of its sweep's command.
    """
    roles_of: dict[str, list[str]] = {}
    for role, offer in placement.items():
        roles_of.setdefault(offer.address, []).append(role)
    return {
        "experiment": config.experiment,
        "game": config.game,
        "seed": config.seed,
        "commit": commit(),
        "num_untracked_files": num_untracked(),
        "command": command(),
        "launch_id": launch_id,
        "started_at": before.get("started_at", _now()),
        "resumed_at": [*before.get("resumed_at", []), _now()] if before else [],
        "init_from": origin or before.get("init_from") or (config.init_from and {"path": config.init_from}),
        "rom_md5": rom_md5(config.game),
        "versions": next(iter(hosts.values())).versions,
        "coordinator": coordinator(),
        "device": config.device,
        "precision": config.precision,
        "compute_threads": config.topology.compute_threads,
        "hosts": [
            {
                "address": address,
                "machine": host.machine,
                "processor": host.processor,
                "instructions": host.instructions,
                "num_cores": host.num_cores,
                "device": _device(config, host),
                "precision": host.precision if config.precision == "auto" else config.precision,
                "roles": roles_of.get(address, []),
            }
            for address, host in hosts.items()
        ],
        "end_reason": None,
    }


def _device(config: RunConfig, host: HostReport) -> str:
    """What roles compute on there."""
    if config.deterministic:
        return "cpu"
    return host.device if config.device == "auto" else config.device


def end(run: dict[str, Any], reason: str, wall_seconds: float, total_frames: int) -> dict[str, Any]:
    """The record of a run that has ended."""
    return run | {
        "end_reason": reason,
        "ended_at": _now(),
        "wall_seconds": round(wall_seconds, 3),
        "total_frames": total_frames,
    }


@functools.cache
def commit() -> str | None:
    """The git commit of the code that runs, "+" behind it if files differ from it; None outside a checkout.

    As it was when first asked: what has been imported does not change any more.
    """
    try:
        head = _git("rev-parse", "HEAD").strip()
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def num_untracked() -> int | None:
    """Files of the checkout that git neither holds nor ignores: code that the commit does not have; None outside."""
    try:
        return len(_git("ls-files", "--others", "--exclude-standard", ":/").splitlines())
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def changes() -> str | None:
    """What differs from the commit, as `git apply` reads it, or why that is too much; empty if nothing differs.

    None outside a checkout, or where git does not answer. As it was when first asked.
    """
    try:
        text = _difference("--binary")
        if len(text) > _MOST_CHANGES:  # figures drawn anew, say: what differs in the code matters more
            text = _difference()
    except (OSError, subprocess.SubprocessError):
        return None
    if len(text) > _MOST_CHANGES:
        return f"{len(text):,} characters differ from the commit; at most {_MOST_CHANGES:,} are kept here\n"
    return text


def keep_changes(run: Path) -> None:
    """Keep in a run folder what its code has beside the commit, which alone would not say what ran.

    What an earlier start had, and this one has not, goes to `discarded/`. Raises OSError.
    """
    path, text = run / CHANGES, changes()
    if text is None:
        return
    if path.exists() and path.read_bytes() != text.encode():
        move_aside(path, run / DISCARDED)
    if text:
        whole_text(path, text)


def _difference(*options: str) -> str:
    # An option for `diff.relative`, --no-relative, is not known to git before 2.28.
    return _git("-c", "diff.relative=false", "diff", "HEAD", *_AS_APPLY_READS, *options, "--", ":/")


def command() -> str | None:
    """The command of this process as it was typed, Python by its name; None where nobody typed one.

    In a job of a sweep, that is, and where another program, R for example, has Python inside.
    """
    if current_grant() is not None or not sys.orig_argv:
        return None
    return shlex.join([Path(sys.orig_argv[0]).name, *sys.orig_argv[1:]])


def coordinator() -> dict[str, str | None]:
    """What its process is made of, beside the versions that all hosts share."""
    return {
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "gymnasium": metadata.version("gymnasium"),
        "hydra": metadata.version("hydra-core"),
        "cuda": torch.version.cuda,
        "system": platform.platform(),
    }


def _git(*arguments: str) -> str:
    """What git says of the checkout that holds this file, line ends and all.

    Raises CalledProcessError where it is installed: a checkout around that is somebody else's.
    """
    file = Path(__file__)
    for words in (["ls-files", "--error-unmatch", file.name], arguments):
        # Without locks: one that is killed when it takes too long would leave the index of a checkout locked.
        command = ["git", "--no-optional-locks", "-C", str(file.parent), *words]
        done = subprocess.run(command, capture_output=True, check=True, timeout=_GIT_SECONDS)
    # Whatever letters a changed file has: what it says is only kept. Its line ends are part of it.
    return done.stdout.decode("utf-8", errors="replace")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
