"""Puts our page into the dashboard of a scheduler: `/pipeline`, and a tab of that name in Dask's own navigation bar.

    register(client) -> plugin on the scheduler -> events so far, then each new one -> board -> page

Dask documents no way to add a page; tests hold the one taken here. Nothing is drawn while nobody looks.
Not here: what is kept (`pipeline.cluster.dashboard.board`), what is drawn (`pipeline.cluster.dashboard.page`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from distributed import Client, Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from pipeline.cluster.dashboard.board import TOPICS, Board
from pipeline.cluster.scheduler import ANSWER_SECONDS

PAGE = "pipeline"
"""Where the page answers, beside Dask's own."""
DASKS_PAGE = "status"


class PagePlugin(SchedulerPlugin):
    """Keeps a board of what runs and launchers publish on a scheduler, and serves its page there."""

    name = "pipeline-page"
    idempotent = True

    def __init__(self) -> None:
        self.board = Board()
        self.is_served = False
        """Whether the page is there to be looked at."""

    async def start(self, scheduler: Scheduler) -> None:
        """Serve the page if the scheduler has a dashboard, and take the events that came before."""
        self.is_served = _serve(scheduler, self.board)
        for topic in TOPICS:
            for _, message in scheduler.get_events(topic):
                self.board.receive(topic, message)

    def log_event(self, topic: str, msg: Any) -> None:
        """Take an event."""
        self.board.receive(topic, msg)


def register(
    client: Client, say: Callable[[str], object] = print, *, answer_seconds: float = ANSWER_SECONDS
) -> tuple[str, ...]:
    """Have the scheduler of this client serve the page, once however often it is asked; the pages that there are.

    None of a scheduler that was started without a dashboard. Where it cannot serve ours, or stands still for
    `answer_seconds`, `say` gets one sentence, and nothing else is amiss.
    """
    there: tuple[str, ...] = (DASKS_PAGE,)

    async def ask() -> Any:
        await client.register_plugin(PagePlugin())
        return await client.run_on_scheduler(_is_served)

    try:
        if client.sync(ask, callback_timeout=answer_seconds):
            return DASKS_PAGE, PAGE
        there, reason = (), "the scheduler was started without a dashboard"
    except TimeoutError:
        reason = f"the scheduler has not answered within {answer_seconds:g} s"
    except Exception as error:  # whatever a foreign scheduler lacks: this project, Bokeh, the permission to add to it
        reason = (str(error) or repr(error)).splitlines()[0]
    say(f"the dashboard has no page of the pipeline: {reason}")
    return there


def _is_served(dask_scheduler: Scheduler) -> bool:
    plugin = dask_scheduler.plugins[PagePlugin.name]
    return isinstance(plugin, PagePlugin) and plugin.is_served


def _serve(scheduler: Scheduler, board: Board) -> bool:
    # Imported there and then: who registers the page needs no Bokeh.
    from bokeh.server.tornado import BokehTornado
    from distributed.dashboard.core import BokehApplication
    from distributed.dashboard.scheduler import template_variables
    from tornado.ioloop import IOLoop

    from pipeline.cluster.dashboard.page import show

    http = scheduler.http_application
    dashboard = next((served for served in http.applications if isinstance(served, BokehTornado)), None)
    if dashboard is None:
        return False
    variables = template_variables(scheduler)
    if PAGE not in variables["pages"]:
        # Dask's own pages make their navigation bars of this very list.
        variables["pages"].append(PAGE)
    application = BokehApplication(
        {f"/{PAGE}": partial(show, board)}, scheduler, prefix=dashboard.prefix, template_variables=variables
    )
    http.add_application(application)
    application.initialize(IOLoop.current())
    application.start()
    return True
