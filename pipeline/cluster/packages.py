"""Whether the processes of a cluster can import what a run names that is not of this project.

Found out before anything is sent there: Dask tells of a package that is missing on its scheduler in a traceback alone.
Not here: this project's own versions (`pipeline.cluster.hosts`).
"""

from collections.abc import Sequence
from importlib import import_module

from distributed import Client

from pipeline.errors import HostMismatchError

_SCHEDULER = "the scheduler"


def check_importable(client: Client, modules: Sequence[str]) -> None:
    """Raise HostMismatchError, with the first that cannot and why, unless all hosts and the scheduler can import all.

    Nobody is asked where there is nothing to import.
    """
    if not modules:
        return
    answers: dict[str, str | None] = client.run(why_not_importable, list(modules))
    answers[_SCHEDULER] = client.run_on_scheduler(why_not_importable, list(modules))
    for place, why in answers.items():
        if why is not None:
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
