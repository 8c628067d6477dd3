"""The page as Bokeh has it: what each figure holds, and what stands where there is nothing."""

from typing import Any

import pytest
from bokeh.document import Document
from bokeh.models import ColumnDataSource, GridBox, Label

from dask_jobs.progress import TOPIC as SWEEP_TOPIC
from pipeline.cluster.dashboard.board import Board
from pipeline.cluster.dashboard.figures import MAX_ROLES, RunColours
from pipeline.cluster.dashboard.page import MAX_CURVES, Page, show
from pipeline.cluster.dashboard.style import COLOURS, STATUS_COLOURS
from pipeline.cluster.glance import TOPIC as RUN_TOPIC
from tests.cluster.glances import glance, newest

TITLES = [
    "Mean score of the last 100 training games", "Steps/s of each role", "Updates/s of the server",
    "Staleness (versions)", "Replay fill (1: full)", "Restarts of roles", "Entropy of the policy (nats)",
    "Late gradients (share)",
]  # fmt: skip


def figures(page: Page) -> dict[str, Any]:
    """Title -> figure; the grid of the sweep under "sweep"."""
    boxes = [child for child in page.root.children if isinstance(child, GridBox)]
    found = {figure.title.text: figure for box in boxes for figure, *_ in box.children}
    return found | {"sweep": page.root.children[-1].children[0]}


def empty_words(figure: Any) -> list[str]:
    """What is said in a figure without data."""
    return [label.text for label in figure.center if isinstance(label, Label) and label.visible]


def rows(figure: Any, column: str) -> list[list[Any]]:
    """A column of each of a figure's sources that has it, in the order of drawing."""
    found: list[ColumnDataSource] = list(dict.fromkeys(renderer.data_source for renderer in figure.renderers))
    return [list(source.data[column]) for source in found if column in source.data]


def board_of(*glances: Any) -> Board:
    board = Board()
    for found in glances:
        board.receive(RUN_TOPIC, found.to_message())
    return board


def page_of(board: Board) -> dict[str, Any]:
    page = Page(board)
    page.update()
    return figures(page)


def test_an_empty_page_has_all_its_figures_and_each_says_why_it_is_empty() -> None:
    shown = page_of(Board())
    assert list(shown) == [*TITLES, "sweep"]
    assert all(len(empty_words(figure)) == 1 for figure in shown.values())


def test_the_document_that_a_browser_gets_holds_every_panel() -> None:
    document = Document()
    show(Board(), None, {"pages": ["status", "pipeline"]}, document)  # type: ignore[arg-type]
    text = str(document.to_json())
    assert all(title in text for title in TITLES)
    assert document.title == "Dask: Pipeline" and document.template_variables["pages"] == ["status", "pipeline"]
    assert len(document.session_callbacks) == 1


def test_a_run_has_a_line_in_each_figure_that_it_has_numbers_for() -> None:
    shown = page_of(board_of(glance(wall_seconds=60.0), glance(wall_seconds=120.0, num_frames=8_000, mean_score=5.0)))
    curves = shown[TITLES[0]]
    assert rows(curves, "xs") == [[], [[4_000, 8_000]]] and rows(curves, "ys") == [[], [[3.0, 5.0]]]
    assert rows(shown["Updates/s of the server"], "xs") == [[], [[1.0, 2.0]]]
    assert rows(shown["Replay fill (1: full)"], "ys") == [[], [[0.25, 0.25]]]
    (text,) = rows(shown["Steps/s of each role"], "text")
    assert text == ["Breakout bundle-0: 60", "Breakout bundle-1: 40"]
    without = {title for title, figure in shown.items() if empty_words(figure)}
    assert without == {"Entropy of the policy (nats)", "Late gradients (share)", "sweep"}


def test_a_run_of_workers_has_entropy_and_late_gradients_and_no_replay() -> None:
    none: dict[str, Any] = {"mean_staleness": None, "replay_fill": None, "epsilon": None}
    shown = page_of(board_of(glance(entropy=1.5, late_share=0.25, **none)))
    assert rows(shown["Entropy of the policy (nats)"], "ys") == [[], [[1.5]]]
    assert rows(shown["Late gradients (share)"], "ys") == [[], [[0.25]]]
    without = {title for title, figure in shown.items() if empty_words(figure)}
    assert without == {"Staleness (versions)", "Replay fill (1: full)", "sweep"}


def test_a_run_has_one_colour_everywhere_and_older_runs_stand_faintly_behind() -> None:
    shown = page_of(board_of(*(glance(f"/{index}", seed=index) for index in range(len(COLOURS) + 2))))
    behind, before = rows(shown[TITLES[0]], "label")[:2]
    assert behind == [f"Breakout · gorila · seed {index}" for index in (0, 1)]
    assert before == [f"Breakout · gorila · seed {index}" for index in range(2, len(COLOURS) + 2)]
    assert rows(shown[TITLES[0]], "colour")[0] == list(COLOURS) == rows(shown["Restarts of roles"], "colour")[0]


def test_a_colour_stays_with_its_run_and_is_free_again_when_the_run_is_old() -> None:
    board, colours = board_of(glance("/a"), glance("/b")), RunColours()
    assert colours.of(newest(board, 2)) == {"/a": COLOURS[0], "/b": COLOURS[1]}
    board.receive(RUN_TOPIC, glance("/c").to_message())
    assert colours.of(newest(board, 2)) == {"/b": COLOURS[1], "/c": COLOURS[0]}


def test_colours_stay_with_runs_that_go_on_however_many_others_are_heard_of() -> None:
    board = board_of(*(glance(f"/{index}", seed=index) for index in range(12)))
    page = Page(board)
    page.update()
    first = rows(figures(page)[TITLES[0]], "label")[1], rows(figures(page)[TITLES[0]], "colour")[0]
    for wall in range(20):
        for index in range(12):
            seed = (index + wall) % 12
            board.receive(RUN_TOPIC, glance(f"/{seed}", seed=seed, wall_seconds=20.0 + wall).to_message())
        page.update()
        shown = figures(page)
        assert (rows(shown[TITLES[0]], "label")[1], rows(shown[TITLES[0]], "colour")[0]) == first
        assert rows(shown["Restarts of roles"], "label")[1] == first[0]


def test_runs_of_one_game_experiment_and_seed_have_each_a_line_in_the_legend() -> None:
    shown = page_of(board_of(*(glance(f"/runs/{trial}/0") for trial in "ab")))
    labels = rows(shown[TITLES[0]], "label")[1]
    assert labels == [f"Breakout · gorila · seed 0 · {trial}" for trial in "ab"]
    assert set(rows(shown["Steps/s of each role"], "label")[0]) == set(labels)


def test_an_axis_tells_ticks_of_small_shares_apart() -> None:
    formatter = page_of(Board())["Late gradients (share)"].yaxis[0].formatter
    assert formatter.format.count("0") > 4


def test_what_is_never_negative_is_drawn_from_zero_on_even_if_it_is_zero_throughout() -> None:
    shown = page_of(board_of(glance(num_restarts=0, updates_per_second=40.0)))
    restarts, updates = shown["Restarts of roles"].y_range, shown["Updates/s of the server"].y_range
    assert (restarts.start, restarts.end) == pytest.approx((-0.05, 1.08))
    assert (updates.start, updates.end) == pytest.approx((-2.0, 43.2))


def test_what_is_drawn_at_once_is_bounded() -> None:
    many_roles = {f"bundle-{index}": 1.0 for index in range(MAX_ROLES + 5)}
    runs = [glance(f"/{index}", role_steps_per_second=many_roles) for index in range(MAX_CURVES + 5)]
    shown = page_of(board_of(*runs))
    assert sum(map(len, rows(shown[TITLES[0]], "xs"))) == MAX_CURVES
    roles = next(figure for title, figure in shown.items() if title.startswith("Steps/s of each role"))
    assert roles.title.text == f"Steps/s of each role ({MAX_ROLES} of {len(many_roles) * len(runs)})"
    assert len(rows(roles, "text")[0]) == MAX_ROLES


def test_the_grid_is_coloured_by_status_and_a_running_job_is_filled_as_far_as_it_is() -> None:
    board = Board()
    names = [{"job": number, "overrides": [f"game={game}"], "status": "waiting"}
             for number, game in enumerate(("Alien", "Pong", "Qbert"))]  # fmt: skip
    board.receive(SWEEP_TOPIC, {"sweep": "s", "kind": "jobs", "jobs": names})
    for number, status in enumerate(("done", "running")):
        told = {"job": number, "status": status, "attempt": 1, "host": "h", "reason": ""}
        board.receive(SWEEP_TOPIC, {"sweep": "s", "kind": "status", **told})
    board.receive(SWEEP_TOPIC, {"sweep": "s", "kind": "progress", "job": 1, "fraction": 0.25, "details": {}})
    grid = page_of(board)["sweep"]
    assert not empty_words(grid)
    assert rows(grid, "colour") == [[STATUS_COLOURS[status] for status in ("done", "running", "waiting")]]
    (left,), (right,), (filled,) = (rows(grid, column) for column in ("left", "right", "filled"))
    shares = [(end - start) / (full - start) for start, end, full in zip(left, filled, right, strict=True)]
    assert shares == pytest.approx([1.0, 0.25, 0.0])
    assert rows(grid, "text")[0] == ["", "25%", ""] and sorted(rows(grid, "text")[1])[:2] == ["", ""]


def test_nothing_is_sent_to_the_browser_while_nothing_changes() -> None:
    board = board_of(glance())
    document, page = Document(), Page(board)
    page.update()
    document.add_root(page.root)
    events: list[object] = []
    document.on_change(events.append)
    page.update()
    assert events == []
    board.receive(RUN_TOPIC, glance(wall_seconds=11.0).to_message())
    page.update()
    assert events
