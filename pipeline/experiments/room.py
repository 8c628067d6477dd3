"""Room for a run on a cluster that others use, too: its plan, once their tasks have left threads enough.

Not here: what is placed where (`pipeline.experiments.plan`), the hosts that a sweep grants its runs
(`hydra_plugins.dask_launcher`).
"""

import contextlib
import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from pipeline.cluster.session import Session
from pipeline.errors import PlacementError
from pipeline.experiments.config import RunConfig
from pipeline.experiments.plan import Plan, make_plan

_LOOK_SECONDS = 1.0
"""How often it is looked whether others have left."""


def plan_beside_others(config: RunConfig, session: Session, console: Console) -> Plan:
    """The plan on the threads that nobody else computes in; waits for them where the hosts would do otherwise.

    Two runs that look at the same moment may still take the same threads. Raises PlacementError when the hosts would
    not do, or others have not left within `cluster.start_timeout_seconds`; with `config.plan` it does not wait.
    """
    limit_seconds = config.cluster.start_timeout_seconds
    end, has_told = time.monotonic() + limit_seconds, False
    while True:
        try:
            return make_plan(config, session.offers(), granted=session.granted)
        except PlacementError as error:
            others = session.others()
            # Raises where the run would not find room without them either.
            make_plan(config, session.offers(as_if_alone=True), granted=session.granted)
            # Who is not seen has left since the offers were made.
            if others and (config.plan or time.monotonic() > end):
                raise PlacementError(
                    f"{error}\nTaken by other runs: {_in_words(others)}; wait for their end, or start more hosts"
                ) from error
            if others and not has_told:
                has_told = True
                console.print(
                    f"waiting up to {limit_seconds:g} s for threads; taken by other runs: {_in_words(others)}",
                    highlight=False,
                )
        time.sleep(_LOOK_SECONDS)
        with contextlib.suppress(OSError):  # a host has died meanwhile
            session.survey_again()  # where they leave, memory is free, too


def _in_words(others: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{len(keys)} on {host} ({keys[0]})" for host, keys in others.items())
