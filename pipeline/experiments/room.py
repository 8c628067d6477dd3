"""Room for a run on hosts that others use, too: its plan, once they have left enough, and what it holds from then on.

Not here: what is placed where (`pipeline.experiments.plan`), the books of who holds what (`pipeline.cluster.sharing`).
"""

import contextlib
import time
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.hosts import with_other_code
from pipeline.cluster.packages import check_importable
from pipeline.cluster.scheduler import ANSWER_SECONDS
from pipeline.cluster.session import Session
from pipeline.config.run_config import RunConfig
from pipeline.config.words import listed
from pipeline.errors import PlacementError
from pipeline.experiments.plan import Plan, make_plan

_LOOK_SECONDS = 1.0
"""How often it is looked whether others have left."""


class _OutrunError(PlacementError):
    """Others were faster."""


def plan_beside_others(config: RunConfig, session: Session, console: Console) -> Plan:
    """The plan on what others have left, held from now on; waits for them where the hosts would do without them.

    Raises HostMismatchError where they have other versions or other code, or cannot import what the run names,
    PlacementError when the hosts would not do, or others have not left within `cluster.start_timeout_seconds`; with
    `config.plan` it does not wait, and holds nothing.
    """
    # First: they are asked something then that other code may not understand.
    session.check_versions()
    check_importable(session.client, session.hosts, config.own_modules, compares_code=session.compares_code)
    if session.granted is not None and (older := with_other_code(session.hosts)):
        console.print(
            f"[yellow]warning:[/yellow] {escape(listed(older))} began with other files of pipeline than this job: some "
            "were edited since. Start the hosts anew for runs of one code",
            highlight=False,
            soft_wrap=True,
        )
    limit_seconds = config.cluster.start_timeout_seconds
    # A look may wait for answers of hosts. Of a pause of the whole process no more counts than of one.
    watched = WatchedTime(time.monotonic, longest_seconds=min(ANSWER_SECONDS, limit_seconds / 4))
    num_looks, has_told = 0, False
    while True:
        others = session.others()
        if num_looks > 0:
            # After the look at the others: of those who have left, the memory is free as well.
            with contextlib.suppress(OSError):  # a host has died meanwhile
                session.survey_again()
        try:
            return plan_now(config, session)
        except _OutrunError:
            # Whoever was faster may have left again: that is no reason to give up.
            if watched.now() > limit_seconds:
                raise
        except PlacementError:
            others = others or session.others()
            if not others:
                raise
            # Raises where the run would not find room without them either.
            make_plan(config, session.offers(as_if_alone=True), granted=session.granted)
            if config.plan or watched.now() > limit_seconds:
                raise
        if others and not has_told:
            has_told = True
            console.print(
                f"waiting up to {limit_seconds:g} s for room; others have {others}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        num_looks += 1
        time.sleep(_LOOK_SECONDS)


def plan_now(config: RunConfig, session: Session, may_lack: Sequence[str] = ()) -> Plan:
    """The plan on what others have left at this moment, held from now on unless `config.plan`; `may_lack` as there.

    Raises PlacementError, with the names of the others, and of hosts that are not as this process.
    """
    others = session.others()
    try:
        plan = make_plan(config, session.offers(), granted=session.granted, may_lack=may_lack)
    except PlacementError as error:
        besides = [f"Others have {others}: wait for their end, or start more hosts"] if others else []
        besides += session.strangers
        if not besides:
            raise
        raise PlacementError("\n".join([str(error), *besides])) from error
    if not config.plan and not session.hold(plan.placement, plan.demands):
        raise _OutrunError(f"others have just taken hosts of this plan: {session.others() or 'they have left again'}")
    return plan
