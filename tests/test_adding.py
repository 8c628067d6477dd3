"""The worked examples of docs/adding.md: their changes are made in a copy of the package, and do what the page says."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
FILE = re.compile(r"`(pipeline/[\w/]+\.py)`")
CHANGE = re.compile(r"^```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Change(NamedTuple):
    """One `diff` block, of the file that the text names last before it."""

    file: str
    before: str
    after: str


def changes(section: str) -> Iterator[Change]:
    """The changes that a section of docs/adding.md asks for, in order."""
    text = (CHECKOUT / "docs" / "adding.md").read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for block in CHANGE.finditer(text):
        lines = block[1].splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        yield Change(FILE.findall(text[: block.start()])[-1], before, after)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package, of its configuration and of the published scores."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("pipeline", "conf", "results/published"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=ignored)
    return tmp_path


def follow(section: str, folder: Path) -> None:
    """Make the changes of a section in `folder`; each has to fit in exactly one place."""
    asked = list(changes(section))
    assert asked
    for change in asked:
        path = folder / change.file
        text = path.read_text()
        assert text.count(change.before) == 1, change
        path.write_text(text.replace(change.before, change.after))


def run(program: str, folder: Path) -> list[str]:
    """Lines that a Python program prints with the copy in `folder`; AssertionError with what it said if it fails."""
    outcome = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.splitlines()


ROWS = """
from pathlib import Path

from pipeline.experiments.curves.scalars import scalars
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.results.load import load_run
from pipeline.roles.statistics import UpdateStatistics

statistics = UpdateStatistics("bundle-0", num_steps=0)
for loss in (0.5, 2.0, 1.0):
    statistics.computed(loss, mean_q=0.0, gradient_norm=1.0)
row = statistics.row(version=3, num_steps=12, total_frames=48, epsilon=0.1, heldout_max_q=0.0, replay_transitions=12,
                     waited_seconds=0.0, wall_seconds=1.0)
folder = Path("run")
folder.mkdir()
(folder / "run.json").write_text('{"experiment": "dqn", "game": "Pong", "seed": 0}')
RunFolder(folder).write([row])
print((folder / "updates.csv").read_text().splitlines()[0])
print(load_run(folder).updates["max_loss"].tolist())
print([point.value for point in scalars([row]) if point.tag == "updates/max_loss"])
older = [line.split(",") for line in (folder / "updates.csv").read_text().splitlines()]
place = older[0].index("max_loss")
(folder / "updates.csv").write_text("".join(",".join(line[:place] + line[place + 1:]) + "\\n" for line in older))
print(load_run(folder).updates["max_loss"].tolist())
"""


def test_a_column_of_rows_is_in_the_file_the_table_and_the_curves_and_older_files_load(copy: Path) -> None:
    follow("A column of rows", copy)
    header, loaded, curve, older = run(ROWS, copy)
    assert "mean_loss,max_loss,mean_gradient_norm" in header
    assert (loaded, curve, older) == ("[2.0]", "[2.0]", "[nan]")


MEASURE = """
from pipeline.results.load import join_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import random_scores
from pipeline.results.summary import summary_tables

table, _ = summary_tables(NOOP_STARTS, {}, random_scores(join_runs([])))
print(table.text.set_index("agent").loc["DQN (Nature)", "worst game %"])
"""


def test_a_measure_of_the_report_is_in_the_summary(copy: Path) -> None:
    follow("A measure of the report", copy)
    assert run(MEASURE, copy) == ["0"]
