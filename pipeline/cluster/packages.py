"""Whether the processes of a cluster can import what a run names that is not of this project.

Found out before anything is sent there: Dask tells of a package that is missing on its scheduler in a traceback alone.
Not here: this project's own versions (`pipeline.cluster.hosts`).
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from distributed import Client

from pipeline.errors import HostMismatchError, PlacementError

_SCHEDULER = "the scheduler"


def check_importable(
    client: Client, hosts: Iterable[str], modules: Sequence[str], *, answer_seconds: float = 60.0
) -> None:
    """Raise HostMismatchError, with the first that cannot and why, unless these hosts and the scheduler can import all.

    Nobody is asked where there is nothing to import. Raises PlacementError if one stands still for `answer_seconds`.
    """
    if not modules:
        return

    def ask() -> Any:
        asked = list(hosts)
        return client.run(why_not_importable, list(modules), workers=asked, on_error="return", asynchronous=True)

    try:
        answers: dict[str, str | Exception | None] = client.sync(ask, callback_timeout=answer_seconds)
    except OSError as error:
        raise PlacementError(
            f"not all hosts have told within {answer_seconds:g} s whether they can import {', '.join(modules)}: "
            "end the `dask worker` that stands still, or let it go on"
        ) from error
    answers[_SCHEDULER] = client.run_on_scheduler(why_not_importable, list(modules))
    for place, why in answers.items():
        # One that died meanwhile is missed by whoever places roles.
        if why is not None and not isinstance(why, OSError):
            raise HostMismatchError(
                f"{place} cannot import {why}\nInstall that package there, in the Python that it runs in, or start it "
                "where the package is"
            )


def why_not_importable(modules: Sequence[str]) -> str | None:
    """The first of these modules that this process cannot import, and why, in one line; None if it can import all."""
    for module in modules:
        try:
            import_module(module)
        except Exception as error:  # whatever a module of the user's raises
            return f"{module}: {' '.join(str(error).split()) or type(error).__name__}"
    return None
