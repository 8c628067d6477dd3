"""The written report: what files there are, and a page that stands alone."""

import re
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from multiprocessing.context import BaseContext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.results import report_files
from pipeline.results.load import load_runs
from pipeline.results.report_files import write_report
from tests.results.run_folders import actor_critic_update, episode, evaluation, update, write_run

_VOID = {"meta", "input", "br", "link", "img"}


class _Reader(HTMLParser):
    """Checks that tags close in order; collects ids and what is linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href", "src") and value and not value.startswith("data:"):
                (self.links if value.startswith("#") else self.outside).append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report")
    on_the_way = evaluation(2.0, agent="training", version=50, total_frames=2000)
    evaluations = [on_the_way, evaluation(3.0), evaluation(4.0, 1)]
    write_run(path, [episode(1.0), episode(2.0, 2000), update(), *evaluations], seed=0)
    write_run(path, [actor_critic_update(), evaluation(9.0, protocol="<b>", max_frames=400)], "dba3c")
    (write_run(path, [episode(1.0)], game="Hero") / "run.json").write_text("{")
    write_report(load_runs(path / "runs"), path / "out", "results/runs")
    return path / "out"


@pytest.fixture(scope="module")
def page(output: Path) -> str:
    return (output / "report.html").read_text()


def test_every_table_is_there_three_times_and_every_figure_too(output: Path) -> None:
    tables = {path.name for path in (output / "tables").iterdir()}
    for name in ("summary_noop_starts", "atari49_noop_starts", "atari49_human_starts", "time_to_score", "Pong"):
        assert {f"{name}.csv", f"{name}.md", f"{name}.tex"} <= tables
    assert {"runs.csv", "scores.csv", "evaluations.csv"} <= tables
    figures = {path.name for path in (output / "figures").iterdir()}
    for name in ("intervals", "profiles", "sample_efficiency", "scores_gorila", "time_to_score", "Pong"):
        assert {f"{name}.png", f"{name}.svg", f"{name}.pdf"} <= figures
    assert pd.read_csv(output / "tables" / "scores.csv")["score"].tolist() == [9.0, 3.5]


@pytest.mark.slow
def test_several_processes_write_the_same_files_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for game in ("Pong", "Hero"):
        write_run(tmp_path, [episode(1.0), evaluation(3.0), evaluation(4.0, 1)], game=game)
    loaded = load_runs(tmp_path / "runs")
    drawn: list[tuple[int, int]] = []
    one = write_report(loaded, tmp_path / "one", progress=lambda *counts: drawn.append(counts))
    assert drawn == [(1, 2), (2, 2)]
    pools: list[int] = []

    class Counted(ProcessPoolExecutor):
        def __init__(self, num_processes: int, context: BaseContext) -> None:
            pools.append(num_processes)
            super().__init__(num_processes, context)

    monkeypatch.setattr(report_files, "ProcessPoolExecutor", Counted)
    monkeypatch.setattr(report_files, "_GAMES_PER_PROCESS", 1)
    two = write_report(loaded, tmp_path / "two", num_processes=8)
    assert pools == [2]
    assert [path.relative_to(tmp_path / "two") for path in two] == [path.relative_to(tmp_path / "one") for path in one]
    assert [path.read_bytes() for path in two] == [path.read_bytes() for path in one]


def test_the_page_is_well_formed_and_asks_for_nothing_from_outside(page: str) -> None:
    reader = _Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.outside == []
    assert not re.search(r"@import|url\((?!#)|<script", page)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_the_page_has_every_figure_inside_and_both_schemes(page: str) -> None:
    # Averages, profiles, sample efficiency, scores, hours, and the curves of one game.
    assert page.count('<svg role="img"') == 6
    assert "color-scheme: light dark" in page and "light-dark(" in page
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", page))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", page))


def test_arrays_for_rliable_stand_beside_the_tables(output: Path) -> None:
    with np.load(output / "tables" / "rliable.npz") as arrays:
        assert arrays["games"].tolist() == ["Pong"] and arrays["gorila"].shape == (1, 1)


def test_warnings_stand_before_the_first_number_and_names_are_escaped(page: str) -> None:
    warning = page.index("&lt;b&gt; is not the published protocol: max_frames 400")
    assert warning < page.index("<table>")
    assert "<b>" not in page


def test_missing_games_and_unreadable_folders_are_named(page: str) -> None:
    assert "dba3c: no score under no-op starts on 1 of 1 game: Pong" in page
    assert "Hero/0: skipped: " in page


def test_names_of_strangers_are_shown_as_they_are(tmp_path: Path) -> None:
    names = (r"x$\bad$", "_mine")
    for name in names:
        for seed in range(2):
            on_the_way = evaluation(2.0, agent="training", version=50, total_frames=1_000_000)
            at_the_end = [evaluation(21.0 + number, number, total_frames=2_000_000) for number in range(2)]
            write_run(tmp_path, [episode(1.0), episode(2.0, 2000), on_the_way, *at_the_end], name, "Pong", seed)
    write_report(load_runs(tmp_path / "runs"), tmp_path / "out")
    for figure in ("Pong", "budgets_Pong", "time_to_score", "sample_efficiency", "profiles", "intervals"):
        drawn = (tmp_path / "out" / "figures" / f"{figure}.svg").read_text()
        assert all(name in drawn for name in names), figure
