"""Runs that begin with the parameters of another one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline import api
from pipeline.errors import CheckpointError, ExportError, RunFolderError
from pipeline.experiments import run, warm_start
from pipeline.experiments.files import checkpoint
from pipeline.experiments.plan import first_parameters, network_of
from pipeline.experiments.specs import checkpoint_fit
from pipeline.experiments.warm_start import begin_warm
from pipeline.param_server.snapshot import first_snapshot
from tests.experiments.smoke_runs import SMALL_WORKERS, smoke_config


def saved(folder: Path, experiment: str, *words: str) -> tuple[Path, np.ndarray]:
    """A checkpoint of such an experiment, with parameters and an optimizer state of its own."""
    config = smoke_config(folder, *words, experiment=experiment)
    params = network_of(config).initial_parameters(np.random.default_rng(7))
    slots = {name: np.full_like(params, 0.5) for name in checkpoint_fit(config).slots}
    server = first_snapshot(params)._replace(versions=(9,), target_versions=(9,), slots=slots)
    return checkpoint.save(folder, checkpoint.Checkpoint(server, {}, 0), 1), params


@pytest.mark.parametrize("experiment", ["smoke_gorila", "smoke_rainbow", "smoke_dba3c", "smoke_apex"])
def test_parameters_are_taken_and_the_optimizer_on_request(experiment: str, tmp_path: Path) -> None:
    path, params = saved(tmp_path, experiment)
    for asked in (False, True):
        words = [f"init_from={path}", f"init_from_optimizer={str(asked).lower()}"]
        config = smoke_config(tmp_path, *words, experiment=experiment)
        begun = begin_warm(config, print)
        np.testing.assert_array_equal(begun.start.server.params, params)
        np.testing.assert_array_equal(begun.start.server.target, params)
        assert (begun.start.server.version, begun.origin["version"]) == (0, 9)
        assert bool(begun.start.server.slots) is begun.origin["optimizer"] is asked


def test_a_checkpoint_alone_that_does_not_fit_is_one_sentence(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, "smoke_dqn", "network.hidden_units=8")
    config = smoke_config(tmp_path, f"init_from={path}", experiment="smoke_dqn")
    with pytest.raises(CheckpointError, match=r"parameters, this network has .*: give this run the same network"):
        begin_warm(config, print)


def test_a_copy_of_a_checkpoint_may_be_called_as_its_owner_likes(tmp_path: Path) -> None:
    path, params = saved(tmp_path, "smoke_dqn")
    config = smoke_config(tmp_path, f"init_from={path.rename(tmp_path / 'my best.npz')}", experiment="smoke_dqn")
    begun = begin_warm(config, print)
    np.testing.assert_array_equal(begun.start.server.params, params)
    assert begun.origin["version"] == 9


def test_what_cannot_be_read_or_does_not_fit_is_told_before_there_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "open_session", None)
    path, _ = saved(tmp_path, "smoke_dqn", "network.hidden_units=8")
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(path.read_bytes()[:1_000])
    for source, told in ((path, "parameters, this network has"), (damaged, "cannot be read")):
        config = smoke_config(tmp_path / "runs", f"init_from={source}", experiment="smoke_dqn")
        with pytest.raises(CheckpointError, match=told):
            api.train(config)
        assert not (tmp_path / "runs").exists()


def test_an_exported_agent_that_lacks_parameters_of_the_network_is_refused_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(smoke_config(tmp_path, experiment="smoke_rainbow"), init_from="agent")
    fresh = network_of(config).initial_parameters(np.random.default_rng(1))
    places = warm_start._places(config, fresh.size)
    tensors = {name: fresh[where] for name, where in places.items()}
    np.testing.assert_array_equal(warm_start._from_tensors(config, tensors, fresh), fresh)
    # As of a module that has one of them in another form, which its export then lacks.
    monkeypatch.setattr(warm_start, "_places", lambda *_: dict(list(places.items())[1:]))
    with pytest.raises(
        ExportError, match=r"init_from=agent is an exported agent, which has no conv1\.weight of this network: name"
    ):
        warm_start._from_tensors(config, tensors, fresh)


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["smoke_dqn", "smoke_rainbow", "smoke_apex", "smoke_dba3c"])
def test_an_exported_agent_begins_a_run_that_says_so_and_goes_on_from_its_own(experiment: str, tmp_path: Path) -> None:
    words = ["budget.frames=1_200", "evaluation.num_episodes=2"]
    words += SMALL_WORKERS if experiment == "smoke_dba3c" else []
    first = api.train(smoke_config(tmp_path, *words, experiment=experiment)).folder
    assert first is not None
    out = api.export_policy(first, out=tmp_path / "agent").folder
    config = smoke_config(tmp_path, *words, "seed=1", f"init_from={out}", experiment=experiment)
    network = network_of(config)
    begun, was = begin_warm(config, print).start.server.params, api.load_policy(first)
    places = np.concatenate([np.full(shape.size, shape.name.endswith("_sigma")) for shape in network.shapes])
    taken = checkpoint.load_newest(first / "checkpoints").server.params
    np.testing.assert_array_equal(begun, np.where(places, first_parameters(config), taken))
    second = api.train(config).folder
    assert second is not None
    assert api.load_run(second).runs["init_from"].iloc[0] == f"{experiment}/Breakout/0 at update {was.version:,}"
    further = ["seed=1", f"init_from={out}", "resume=true", "budget.frames=2_400"]
    api.train(smoke_config(tmp_path, *words, *further, experiment=experiment))
    assert api.load_run(second).runs["init_from"].iloc[0] == f"{experiment}/Breakout/0 at update {was.version:,}"
    with pytest.raises(RunFolderError, match=r"init_from: .*(?s:.*)with init_from=.* it begins with these parameters"):
        api.train(smoke_config(tmp_path, *words, "seed=1", "resume=true", experiment=experiment))
