"""Whether the processes of a cluster can import what a run names that is not of this project, and have the same of it.

Found out before anything is sent there: Dask tells of a package that is missing on its scheduler in a traceback alone,
and of a host whose modules are older than the files that they came from it tells nothing.
Not here: this project's own versions and code (`pipeline.cluster.hosts`).
"""

import contextlib
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from distributed import Client

from pipeline.cluster.scheduler import ANSWER_SECONDS, asked_of
from pipeline.errors import HostMismatchError, PlacementError

_SCHEDULER = "the scheduler"
_OF_THE_BUILD = ("version.py", "_version.py")
"""Written where a package is built: they tell of that place (2.13.0+cpu, a date), be the code the same or not."""
_DIGITS = 12


def check_importable(
    client: Client,
    hosts: Iterable[str],
    modules: Sequence[str],
    *,
    compares_code: bool = True,
    answer_seconds: float = ANSWER_SECONDS,
) -> None:
    """Raise HostMismatchError, with all that cannot and why, unless these hosts and the scheduler can import all.

    With `compares_code` hosts are refused as well that have other code of a module than this process. Nobody is asked
    where there is nothing to import. Raises PlacementError if a host stands still for `answer_seconds`,
    UnreachableError if the scheduler does, and SchedulerLostError if it is gone.
    """
    if not modules:
        return
    code_here = {package: code_of(package) for package in map(package_of, modules)} if compares_code else {}

    def ask() -> Any:
        question = why_unfit, list(modules), code_here
        return client.run(*question, workers=list(hosts), on_error="return", asynchronous=True)

    with asked_of(client):
        # First the scheduler: hosts are asked through it.
        # It computes nothing: what code it has of them does not matter.
        missing = client.run_on_scheduler(why_not_importable, list(modules), callback_timeout=answer_seconds)
        try:
            answers: dict[str, list[str] | Exception] = client.sync(ask, callback_timeout=answer_seconds)
        except TimeoutError as error:
            raise PlacementError(
                f"not all hosts have told within {answer_seconds:g} s whether they can import {', '.join(modules)}: "
                "end the `dask worker` that stands still, or let it go on"
            ) from error
    answers[_SCHEDULER] = [f"cannot import {why}" for why in missing]
    # One that died meanwhile is missed by whoever places roles.
    found = [
        f"{place} {why}"
        for place, answer in answers.items()
        if not isinstance(answer, OSError)
        for why in (answer if isinstance(answer, list) else [f"cannot import {', '.join(modules)}: {_reason(answer)}"])
    ]
    if found:
        raise HostMismatchError(
            "\n".join(found) + "\nInstall what is missing there, in the Python that it runs in, or start it where it is"
        )


def why_unfit(modules: Sequence[str], code_there: Mapping[str, str]) -> list[str]:
    """Why this process cannot do the work of one that has this code of the packages of these modules, a line each."""
    found = [f"cannot import {why}" for why in why_not_importable(modules)]
    for package, code in code_there.items():
        # Of what is in an archive, or compiled, there is nothing to compare.
        if code and (ours := code_of(package)) and ours != code:
            found.append(
                f"has other code of {package} ({ours}) than this command ({code}): bring its files up to date there, "
                "and start anew what has imported older ones, be it hosts or this program"
            )
    return found


def why_not_importable(modules: Sequence[str]) -> list[str]:
    """Those of these modules that this process cannot import, and why, a line each."""
    found = []
    for module in modules:
        try:
            import_module(module)
        except (Exception, SystemExit) as error:  # whatever a module of the user's raises; a script may end
            found.append(f"{module}: {_reason(error)}")
    return found


@functools.cache
def code_of(*packages: str) -> str:
    """Digits that stand for the sources of these packages, or modules that are in none; "" where none can be read.

    They are as they were when this process was first asked: what it has imported stays, however its files change. The
    same sources have the same digits wherever they are, in a checkout or installed.
    """
    digest, num_read = hashlib.sha256(), 0
    for package in packages:
        for name, file in _sources(package):
            with contextlib.suppress(OSError):  # an editor's own file, which is gone again
                digest.update(f"{package}/{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
                num_read += 1
    return digest.hexdigest()[:_DIGITS] if num_read else ""


def _sources(package: str) -> Iterator[tuple[str, Path]]:
    """Their names below the package, in order, and where they are."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # it has been told already that it cannot be imported
        return
    if spec is None:
        return
    for root in map(Path, spec.submodule_search_locations or ()):
        for file in sorted(root.rglob("*.py")):
            name = file.relative_to(root)
            if name.name not in _OF_THE_BUILD and not any(part.startswith(".") for part in name.parts):
                yield name.as_posix(), file
    if spec.submodule_search_locations is None and spec.origin is not None and spec.origin.endswith(".py"):
        yield Path(spec.origin).name, Path(spec.origin)


def package_of(module: str) -> str:
    """The package around a module, or the module itself where there is none.

    A folder without an __init__.py is none: it may be a whole checkout, its environments and results included.
    """
    names = module.split(".")
    for end in range(1, len(names)):
        package = ".".join(names[:end])
        with contextlib.suppress(ImportError, ValueError):
            if (spec := find_spec(package)) is not None and spec.origin is not None:
                return package
    return module


def _reason(error: Exception | SystemExit) -> str:
    return " ".join(str(error).split()) or type(error).__name__
