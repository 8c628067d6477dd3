"""Reasons why a run cannot begin with the parameters of another one, among the other mistakes of a command line."""

from pathlib import Path

import pytest

from pipeline.config.overrides import compose
from pipeline.config.tree import to_yaml
from pipeline.config.warm_start import CHECKPOINT, find_source
from tests.config.runs import mistakes_in


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """What stands of a run of smoke_dqn on Breakout before its checkpoints are read."""
    folder = tmp_path / "smoke_dqn" / "Breakout" / "0"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / "000000000000.npz").touch()
    (folder / "config.yaml").write_text(to_yaml(compose(["experiment=smoke_dqn", "game=Breakout"])))
    return folder


def mistakes(source: Path, *words: str, game: str = "Breakout") -> list[str]:
    given = ["experiment=smoke_dqn", f"game={game}", "seed=1", f"results_dir={source.parents[2]}"]
    return mistakes_in([*given, f"init_from={source}", *words])


def test_the_same_network_and_actions_fit(source: Path) -> None:
    assert mistakes(source) == []
    assert mistakes(source, game="Freeway") != []
    assert mistakes(source / "checkpoints" / "000000000000.npz") == []


def test_what_does_not_fit_is_told_with_the_other_mistakes(source: Path) -> None:
    found = mistakes(source, "network.hidden_units=32", "buget.frames=1", game="Pong")
    assert any("did you mean budget.frames?" in line for line in found)
    assert any("has another network (network.hidden_units=16, here 32)" in line for line in found)
    assert any("plays Breakout with 4 actions, Pong has 6" in line for line in found)
    found = mistakes(source, "optimizer=adagrad", "init_from_optimizer=true")
    assert len(found) == 1 and "this run has adagrad" in found[0]


def test_a_network_of_one_s_own_module_fits_its_own_run_and_first_weights_do_not_matter(source: Path) -> None:
    module = ["network=module", "network.class=tests.networks.modules.Values"]
    (source / "config.yaml").write_text(to_yaml(compose(["experiment=smoke_dqn", "game=Breakout", *module])))
    assert mistakes(source, *module) == []
    (found,) = mistakes(source)
    assert "has another network (network.kind=module, here q" in found
    (source / "config.yaml").write_text(to_yaml(compose(["experiment=smoke_dqn", "game=Breakout"])))
    assert mistakes(source, "network.initial_weights=he") == []


@pytest.mark.parametrize("below", ["", "checkpoints", "checkpoints/best"])
def test_a_checkpoint_is_held_against_its_run_wherever_it_is_named_from(
    below: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "checkpoints" / "best").mkdir()
    monkeypatch.chdir(source / below)
    for up in ("checkpoints", "best", "."):
        if (path := Path(up, "000000000000.npz")).parent.is_dir():
            path.touch()
            found = find_source(str(path))
            assert found.kind == CHECKPOINT and found.settings["experiment"] == "smoke_dqn"


def test_a_copy_of_a_checkpoint_beneath_another_tool_s_config_is_of_no_known_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text("theme: material\n")
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "good.npz").touch()
    monkeypatch.chdir(tmp_path / "agents")
    assert find_source("good.npz").settings == {}


def test_a_source_has_to_be_there_and_to_stay(source: Path, tmp_path: Path) -> None:
    (line,) = mistakes(tmp_path)
    assert "is no run folder, no checkpoint (.npz) and no exported agent" in line
    found = mistakes(source, "seed=0", "overwrite=true")
    assert any("in this run's own folder, which overwrite=true empties" in line for line in found)
    (line,) = mistakes_in(["game=Pong", "init_from_optimizer=true"])
    assert line.startswith("init_from_optimizer=true needs init_from")
