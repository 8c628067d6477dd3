"""Whether the processes of a cluster can import what a run names that is not of this project.

Found out before anything is sent there: Dask tells of a package that is missing on its scheduler in a traceback alone.
Not here: this project's own versions (`pipeline.cluster.hosts`).
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from distributed import Client

from pipeline.cluster.scheduler import ANSWER_SECONDS, asked_of
from pipeline.errors import HostMismatchError, PlacementError

_SCHEDULER = "the scheduler"


def check_importable(
    client: Client, hosts: Iterable[str], modules: Sequence[str], *, answer_seconds: float = ANSWER_SECONDS
) -> None:
    """Raise HostMismatchError, with all that cannot and why, unless these hosts and the scheduler can import all.

    Nobody is asked where there is nothing to import. Raises PlacementError if a host stands still for `answer_seconds`,
    UnreachableError if the scheduler does, and SchedulerLostError if it is gone.
    """
    if not modules:
        return

    def ask() -> Any:
        asked = list(hosts)
        return client.run(why_not_importable, list(modules), workers=asked, on_error="return", asynchronous=True)

    with asked_of(client):
        # First the scheduler: hosts are asked through it.
        here = client.run_on_scheduler(why_not_importable, list(modules), callback_timeout=answer_seconds)
        try:
            answers: dict[str, list[str] | Exception] = client.sync(ask, callback_timeout=answer_seconds)
        except TimeoutError as error:
            raise PlacementError(
                f"not all hosts have told within {answer_seconds:g} s whether they can import {', '.join(modules)}: "
                "end the `dask worker` that stands still, or let it go on"
            ) from error
    answers[_SCHEDULER] = here
    # One that died meanwhile is missed by whoever places roles.
    found = [
        f"{place} cannot import {why}"
        for place, answer in answers.items()
        if not isinstance(answer, OSError)
        for why in (answer if isinstance(answer, list) else [f"{', '.join(modules)}: {_in_one_line(answer)}"])
    ]
    if found:
        raise HostMismatchError(
            "\n".join(found) + "\nInstall what is missing there, in the Python that it runs in, or start it where it is"
        )


def why_not_importable(modules: Sequence[str]) -> list[str]:
    """Those of these modules that this process cannot import, and why, a line each."""
    found = []
    for module in modules:
        try:
            import_module(module)
        except (Exception, SystemExit) as error:  # whatever a module of the user's raises; a script may end
            found.append(f"{module}: {_in_one_line(error)}")
    return found


def _in_one_line(error: Exception | SystemExit) -> str:
    return " ".join(str(error).split()) or type(error).__name__
