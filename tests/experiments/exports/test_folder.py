"""An exported agent's folder: what is in it, and that it is there whole or not at all."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

from pipeline import api
from pipeline.config.warm_start import warm_start_mistakes
from pipeline.errors import ConfigError, ExportError
from pipeline.experiments.exports import folder, formats
from pipeline.experiments.exports.folder import mistakes_of_place
from pipeline.networks.nature import NatureTorso
from pipeline.networks.ordinary import OrdinaryTorso
from pipeline.networks.parameters import Tensors
from pipeline.results.load import load_run
from pipeline.rows import PROTOCOL_FIELDS
from tests.experiments.smoke_runs import smoke_config


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run of DQN that has ended."""
    place = tmp_path_factory.mktemp("dqn")
    folder = api.train(smoke_config(place, "budget.frames=800", experiment="smoke_dqn")).folder
    assert folder is not None
    return folder


@pytest.mark.slow
def test_a_folder_says_what_it_is_and_is_not_overwritten_unasked(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "agent"
    out.mkdir()  # an empty one is as good as none
    assert api.export_policy(run, "pt2", out=out).folder == out
    assert {path.name for path in out.iterdir()} == {"README.md", "config.json", "evaluations.csv", "model.pt2"}
    told = json.loads((out / "config.json").read_text())
    policy = api.load_policy(run)
    assert (told["num_actions"], told["version"], told["input"]["shape"][1:]) == (4, policy.version, [4, 84, 84])
    front = yaml.safe_load((out / "README.md").read_text().split("---")[1])
    games = pd.read_csv(out / "evaluations.csv")
    scored = games[games["agent"] == "checkpoint"]["score"]
    (result,) = front["model-index"][0]["results"]
    assert front["pipeline_tag"] == "reinforcement-learning"
    assert result["metrics"][0]["value"] == pytest.approx(scored.mean(), abs=0.01)
    observation = policy.make_env().reset(seed=3)[0]
    with torch.no_grad():
        answer = torch.export.load(out / "model.pt2").module()(policy.frames(observation))
    torch.testing.assert_close(answer[0], torch.from_numpy(policy.values(observation)), rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="holds an exported agent already: replace it with overwrite=true"):
        api.export_policy(run, "pt2", out=out)
    assert api.export_policy(run, "pt2", out=out, overwrite=True).folder == out
    with pytest.raises(ConfigError, match="is there and is no exported agent"):
        api.export_policy(run, "pt2", out=run, overwrite=True)
    monkeypatch.chdir(tmp_path)
    for place in (".", "..", tmp_path):
        with pytest.raises(ConfigError, match="is where the command is typed, or around it: name a folder of"):
            api.export_policy(run, "pt2", out=place, overwrite=True)
    with pytest.raises(ConfigError, match=r"out=.*README\.md/agent cannot be written: .* is read-only or no folder"):
        api.export_policy(run, "pt2", out=out / "README.md" / "agent")


def test_the_protocol_is_told_as_in_the_rows_and_as_a_warm_start_reads_it(run: Path, tmp_path: Path) -> None:
    out = api.export_policy(run, out=tmp_path / "agent").folder
    protocol = json.loads((out / "config.json").read_text(encoding="utf-8"))["protocol"]
    games = pd.read_csv(out / "evaluations.csv")
    (row,) = games[games["agent"] == "checkpoint"][[*PROTOCOL_FIELDS]].drop_duplicates().to_dict("records")
    # Read from CSV, "none" is a number that is missing.
    assert {name: protocol[name] for name in PROTOCOL_FIELDS} == row | {"start_states": "none"}
    assert (protocol["name"], protocol["num_episodes"]) == (games["protocol"].iloc[0], len(games) / 2)
    environment = api.load_policy(run).environment
    told = {"fire_on_reset", "max_pool", "frame_height", "frame_width", "stack"}
    assert {name: protocol[name] for name in told} == {name: getattr(environment, name) for name in told}
    assert not {"clip_rewards", "life_loss_ends_return"} & {*protocol}
    assert "clip_rewards" not in (out / "README.md").read_text(encoding="utf-8").split("## Configuration")[0]
    begins = smoke_config(tmp_path, "seed=1", f"init_from={out}", experiment="smoke_dqn")
    assert warm_start_mistakes(begins) == []


def test_points_that_games_went_on_from_are_named_as_their_rows_name_them(run: Path) -> None:
    policy, loaded = api.load_policy(run), load_run(run)
    evaluation = replace(policy.config.evaluation, start_states="points.json")
    policy.config = replace(policy.config, evaluation=evaluation)
    named = loaded.evaluations.assign(start_states="3 points 1f3a9c2e")
    assert folder._played(policy, loaded._replace(evaluations=named)).start_states == "3 points 1f3a9c2e"
    assert folder._played(policy, loaded._replace(evaluations=named[:0])).start_states == "points.json"


def test_a_torso_whose_module_is_another_one_is_not_exported(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordinary = NatureTorso.ordinary

    def without_its_last_rectifier(self: NatureTorso, parameters: Tensors) -> OrdinaryTorso:
        layers, num_channels = ordinary(self, parameters)
        return OrdinaryTorso(torch.nn.Sequential(*list(layers)[:-2], layers[-1]), num_channels)

    monkeypatch.setattr(NatureTorso, "ordinary", without_its_last_rectifier)
    with pytest.raises(ExportError, match=r"as_module\(\) of this agent \(its torso's `ordinary`\) answers"):
        api.export_policy(run, out=tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "ABSOLUTE", -1.0)
    with pytest.raises(ExportError, match="nothing was left"):
        api.export_policy(run, "pt2", out=tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_place_where_nothing_can_be_written_is_a_mistake(tmp_path: Path) -> None:
    link = tmp_path / "agent"
    link.symlink_to("/proc/agent")
    (told,) = mistakes_of_place(link, overwrite=True)
    assert told.startswith(f"out={link} cannot be written: ")
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere")
    assert mistakes_of_place(link, overwrite=True) == []
