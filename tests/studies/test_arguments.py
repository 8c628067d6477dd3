"""What a study may not overwrite, whatever words it is called with."""

import dataclasses
import inspect
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studies import quick_agents, random_play
from studies.arguments import FIGURES, is_other, on_top, refuse_published
from studies.chaos import soak
from studies.dba3c import dynamic_quorum, learning, lost_worker, scaling, shards, stops, stragglers
from studies.dba3c import simulation as dba3c_simulation
from studies.dba3c.settings import OUTPUT
from studies.gorila_growth import growth
from studies.gorila_growth import simulation as gorila_simulation
from studies.row_file import RowFile

OF_OTHER_RUNS = "is of other runs than these, which differ in "
SPEEDS: dict[Callable[..., None], tuple[Callable[[Path], RowFile[Any]], type]] = {
    scaling.main: (scaling.scaling_rows, scaling.ScalingRow),
    shards.main: (shards.shards_rows, shards.ShardsRow),
    stragglers.main: (stragglers.stragglers_rows, stragglers.StragglersRow),
    lost_worker.main: (lost_worker.lost_worker_rows, lost_worker.LostWorkerRow),
    dynamic_quorum.main: (dynamic_quorum.dynamic_quorum_rows, dynamic_quorum.DynamicQuorumRow),
    dba3c_simulation.main: (dba3c_simulation.simulation_rows, dba3c_simulation.SimulationRow),
    growth.main: (growth.growth_rows, growth.GrowthRow),
    gorila_simulation.main: (growth.growth_rows, growth.GrowthRow),
}
"""Of one game, that no word of the row tells from another."""


def any_row(row_type: type) -> Any:
    """A row with something of the right type in each column."""
    anything: dict[Any, object] = {int: 1, float: 1.0, str: "anything"}
    return row_type(**{field.name: anything[field.type] for field in dataclasses.fields(row_type)})


def test_what_is_published_is_left_to_runs_that_are_published(tmp_path: Path) -> None:
    refuse_published("--figures", FIGURES, FIGURES, game=False, output=False)
    refuse_published("--figures", tmp_path, FIGURES, game=True, output=True)
    for place in (FIGURES, FIGURES.absolute(), FIGURES / ".." / "figures"):
        with pytest.raises(SystemExit, match=rf"^{FIGURES} {OF_OTHER_RUNS}runs-dir, output: .* Name --figures of "):
            refuse_published("--figures", place, FIGURES, runs_dir=True, game=False, output=True)


@pytest.mark.parametrize("main", [shards.main, stragglers.main, dba3c_simulation.main, gorila_simulation.main])
@pytest.mark.parametrize(
    "changed", [{"game": "Seaquest"}, {"overrides": ["seed=1"]}, {"cluster": "threads"}, {"num_workers": 1},
                {"num_started": 4}, {"delay_updates": 2.0}],
)  # fmt: skip
def test_speeds_of_other_runs_do_not_take_the_place_of_published_figures(
    main: Callable[..., None], changed: dict[str, Any]
) -> None:
    if changed.keys() <= inspect.signature(main).parameters.keys():
        with pytest.raises(SystemExit, match=f"{OF_OTHER_RUNS}settings: "):
            main(**changed)


@pytest.mark.parametrize("main", [shards.main, stragglers.main, dba3c_simulation.main, gorila_simulation.main])
def test_a_figure_of_other_rows_than_those_that_are_published_goes_elsewhere(
    tmp_path: Path, main: Callable[..., None]
) -> None:
    with pytest.raises(SystemExit, match=f"{OF_OTHER_RUNS}output: "):
        main(output=tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("main", [learning.main, quick_agents.main])
@pytest.mark.parametrize("words", [["--output", "new"], ["--overrides", "optimizer.epsilon=1e-6"]])
def test_scores_of_other_runs_do_not_take_the_place_of_published_figures(
    main: Callable[[list[str]], None], words: list[str]
) -> None:
    with pytest.raises(SystemExit, match=rf"^{FIGURES} {OF_OTHER_RUNS}{words[0].removeprefix('--')}: "):
        main(words)
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("main", "words", "place"),
    [
        (stops.main, ["--output", "new"], FIGURES),
        (stops.main, ["--experiments", "ba3c"], OUTPUT),
        (soak.main, ["--minutes", "1"], soak.OUTPUT),
        (soak.main, ["--output", "new"], soak.FIGURE),
    ],
)
def test_a_word_of_one_study_alone_is_minded_too(
    main: Callable[[list[str]], None], words: list[str], place: Path
) -> None:
    with pytest.raises(SystemExit, match=rf"^{place} {OF_OTHER_RUNS}{words[0].removeprefix('--')}"):
        main(words)


def test_a_place_is_the_same_however_it_is_spelled(tmp_path: Path) -> None:
    assert not is_other(OUTPUT.absolute(), OUTPUT) and not is_other(OUTPUT / "..", OUTPUT.parent)
    assert is_other(tmp_path, OUTPUT)


def test_random_play_with_other_words_is_not_put_to_that_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_play, "_play", lambda *_: pytest.fail("it was played"))
    shutil.copy("results/random_play/frame_skip_6.csv", tmp_path)
    words = ["--frame-skips", "6", "--games", "Pong", "--output", str(tmp_path)]
    with pytest.raises(SystemExit, match=r"rows of runs with no more settings, and these have .*num_episodes=300"):
        random_play.main([*words, "--overrides", "evaluation.num_episodes=300"])
    longer = ["--frame-skips", "6", "--games", "Gopher", "--output", str(tmp_path / "longer")]
    shutil.copytree("results/random_play/longer", tmp_path / "longer")
    random_play.main([*longer, "--overrides", "evaluation.num_episodes=300"])


def test_another_game_is_a_setting_on_top_of_a_study() -> None:
    assert on_top(["seed=1"], game=("Pong", "Pong")) == ["seed=1"]
    assert on_top(["seed=1"], game=("Breakout", "Pong"), cluster=("threads", "threads")) == ["game=Breakout", "seed=1"]
    assert on_top([], cluster=("threads", "processes")) == ["cluster=threads"]


@pytest.mark.parametrize("main", SPEEDS)
def test_speeds_of_another_game_are_not_put_together_with_those_that_are_there(
    tmp_path: Path, main: Callable[..., None]
) -> None:
    rows_of, row_type = SPEEDS[main]
    rows_of(tmp_path).append(any_row(row_type))
    places = {name: tmp_path for name in ("output", "figures") if name in inspect.signature(main).parameters}
    refused = r"\.csv has rows of runs with no more settings, and these have game=Seaquest: nothing was measured"
    with pytest.raises(SystemExit, match=refused):
        main(game="Seaquest", **places)
    assert len(rows_of(tmp_path).frame()) == 1 and not (tmp_path / "costs.json").exists()
