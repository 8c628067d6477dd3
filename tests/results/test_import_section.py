from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.results.curves import learning_panels
from pipeline.results.import_section import imported_cautions, imported_curves, imported_table
from pipeline.results.imports import NOTHING, Import, Imported, load_imports
from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.report import game_runs, game_section, make_report
from pipeline.results.run_scores import entries, run_scores
from pipeline.results.scores import seed_interval
from tests.results.foreign_files import write_dopamine, write_dqn_zoo, write_monitor
from tests.results.run_folders import episode, evaluation, write_run


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    """DQN of Dopamine with two runs of Pong, and A2C of Stable-Baselines3 with one of Breakout: 150 games, 0 to 149."""
    write_monitor(tmp_path / "a2c" / "monitor.csv", [(float(score), 1000, float(score)) for score in range(150)])
    data = write_dopamine(tmp_path / "pong.json", [("DQN", [-21.0, -20.0, 10.0]), ("DQN", [-21.0, -10.0, 14.0])])
    return load_imports([Import("sb3", tmp_path / "a2c"), Import("dopamine", data)])


@pytest.fixture
def ours(tmp_path: Path) -> LoadedRuns:
    """One run of Pong, to frame 2,000,000."""
    folder = write_run(
        tmp_path, [episode(-20.0, 500_000), episode(-19.0, 2_000_000), evaluation(3.0), evaluation(5.0, 1)]
    )
    return load_runs(folder.parents[2])


def test_a_run_counts_by_its_last_hundred_games_or_its_last_mean(imported: Imported) -> None:
    numbers = imported_table(imported, {}).numbers
    assert numbers.index.tolist() == ["Breakout", "Pong"]
    assert numbers["Stable-Baselines3: a2c score"]["Breakout"] == np.arange(50, 150).mean()
    assert numbers["Dopamine: DQN score"]["Pong"] == 12.0
    low, high = seed_interval([10.0, 14.0])
    assert (numbers["Dopamine: DQN low"]["Pong"], numbers["Dopamine: DQN high"]["Pong"]) == (low, high)


def test_ours_stand_beside_theirs_and_what_nobody_played_is_missing(imported: Imported, ours: LoadedRuns) -> None:
    text = imported_table(imported, entries(run_scores(ours))).text.set_index("game")
    assert text["ours: gorila"].to_dict() == {"Breakout": "missing", "Pong": "4.0"}
    assert text["Stable-Baselines3: a2c"].to_dict() == {"Breakout": "99.5", "Pong": "missing"}
    assert text["Dopamine: DQN: runs"].to_dict() == {"Breakout": "missing", "Pong": "2"}


def test_every_agent_has_its_caution_and_its_note_with_what_is_known_of_its_protocol(imported: Imported) -> None:
    dopamine, sb3 = imported_cautions(imported)
    assert dopamine.startswith("Dopamine: DQN (1 game): imported; training games; protocol not in the file, by default")
    assert sb3.startswith("Stable-Baselines3: a2c (1 game): imported; training games, protocol unknown. Not comparable")
    notes = imported_table(imported, {}).notes
    assert any(note.startswith("Stable-Baselines3: a2c: training games, protocol unknown") for note in notes)


def test_a_curve_is_the_mean_over_runs_as_far_as_all_go(tmp_path: Path) -> None:
    phases = [("pong", seed, iteration, str(10 * seed + iteration)) for seed in (1, 2) for iteration in range(seed + 1)]
    found = load_imports([Import("dqn_zoo", write_dqn_zoo(tmp_path / "dqn.csv", phases))])
    (curve,) = imported_curves(found, "Pong")
    assert curve.label == "DQN Zoo: dqn, 2 runs, protocol unknown"
    assert (curve.frames[[0, -1]].tolist(), curve.scores[[0, -1]].tolist()) == ([0.0, 1e6], [15.0, 16.0])


def test_games_are_drawn_as_their_rolling_mean(imported: Imported) -> None:
    (curve,) = imported_curves(imported, "Breakout")
    assert curve.frames[-1] == 150_000.0 and curve.scores[-1] == pytest.approx(99.5)
    assert curve.scores[0] == 0.0


def test_a_run_of_unknown_frames_has_no_curve_but_its_score(tmp_path: Path) -> None:
    write_monitor(tmp_path / "a2c" / "monitor.csv", [(1.0, 10, 1.0)], "Pong-v4")
    found = load_imports([Import("sb3", tmp_path / "a2c")])
    assert imported_curves(found, "Pong") == ()
    assert imported_table(found, {}).text["Stable-Baselines3: a2c"].tolist() == ["1.0"]


def test_their_curves_are_drawn_against_frames_alone_and_as_far_as_ours_go(
    imported: Imported, ours: LoadedRuns
) -> None:
    panels = learning_panels(ours, "Pong", imported_curves(imported, "Pong")).axes
    (line,) = [line for line in panels[0].lines if line.get_label() == "Dopamine: DQN, 2 runs, protocol unknown"]
    assert np.asarray(line.get_xdata())[0] == 1.0 and 1.9 < np.asarray(line.get_xdata())[-1] <= 2.0
    assert not any("Dopamine" in str(other.get_label()) for axes in panels[1:] for other in axes.lines)


def test_the_report_has_a_section_a_caution_and_curves_of_them_and_its_other_tables_stay_as_they_are(
    imported: Imported, ours: LoadedRuns
) -> None:
    without, with_them = make_report(ours), make_report(ours, imported)
    tables = {table.name: table for section in with_them.sections for table in section.tables}
    for section in without.sections:
        for table in section.tables:
            pd.testing.assert_frame_equal(tables[table.name].text, table.text)
    assert set(tables) - {table.name for section in without.sections for table in section.tables} == {"imported"}
    assert with_them.warnings == (*without.warnings, *imported_cautions(imported))
    (pong,) = game_runs(ours, with_them.scores, imported)
    assert [curve.label for curve in pong.beside] == ["Dopamine: DQN, 2 runs, protocol unknown"]
    (drawn,) = game_section(pong).figures
    assert any("Dopamine" in str(line.get_label()) for line in drawn.figure.axes[0].lines)


def test_nothing_imported_leaves_no_trace(ours: LoadedRuns) -> None:
    assert imported_cautions(NOTHING) == []
    assert imported_curves(NOTHING, "Pong") == ()
    assert "imported" not in {section.anchor for section in make_report(ours).sections}
