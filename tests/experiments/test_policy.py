"""A trained agent outside of its run: what it says, and games that it plays in a loop of one's own."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from pipeline import api
from pipeline.errors import CheckpointError, RunFolderError
from pipeline.experiments.files.saved_config import read_config
from pipeline.experiments.policy import Policy, load_policy
from tests.experiments.smoke_runs import SMALL_WORKERS, smoke_config


@pytest.fixture(scope="module")
def dqn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run of DQN that has ended."""
    folder = api.train(
        smoke_config(
            tmp_path_factory.mktemp("dqn"), "budget.frames=2_000", "evaluation.epsilon=0", experiment="smoke_dqn"
        )
    ).folder
    assert folder is not None
    return folder


@pytest.fixture(scope="module")
def ba3c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run of an actor-critic, of one worker, that has ended."""
    words = ["topology.num_workers=1", "budget.frames=800", *SMALL_WORKERS]
    folder = api.train(smoke_config(tmp_path_factory.mktemp("ba3c"), *words, experiment="smoke_dba3c")).folder
    assert folder is not None
    return folder


def observations_of(policy: Policy, count: int) -> np.ndarray:
    env = policy.make_env()
    found = [env.reset(seed=seed)[0] for seed in range(count)]
    env.close()
    return np.stack(found)


def test_an_agent_plays_the_games_of_its_run_s_evaluation_again(dqn: Path) -> None:
    policy = load_policy(dqn)
    evaluations = api.load_run(dqn).evaluations
    for row in evaluations[evaluations["agent"] == "checkpoint"].to_dict("records"):
        env = policy.make_env()
        observation, _ = env.reset(options={"emulator_seed": row["episode_seed"]})
        score, over = 0.0, False
        while not over:
            action = policy.act(observation)
            assert isinstance(action, int)
            observation, reward, terminated, truncated, _ = env.step(action)
            score, over = score + reward, terminated or truncated
        env.close()
        assert score == row["score"]


def test_an_agent_leaves_a_machine_whose_certificates_stay_behind(dqn: Path, tmp_path: Path) -> None:
    folder = tmp_path / "taken away"
    shutil.copytree(dqn, folder)
    saved = yaml.safe_load((folder / "config.yaml").read_text())
    names = {f"tls_{name}_file": f"/gone/{name}.pem" for name in ("ca", "cert", "key")}
    address = {"kind": "address", "address": "tls://10.0.0.1:8786", "num_hosts": None} | names
    common = {
        name: saved["cluster"][name]
        for name in saved["cluster"]
        if name not in ("kind", "dashboard_address", "num_hosts")
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(saved | {"cluster": address | common}))
    with pytest.raises(RunFolderError, match="names what cannot be used here"):
        read_config(folder)
    there, here = load_policy(folder), load_policy(dqn)
    observations = observations_of(here, 2)
    np.testing.assert_array_equal(there.values(observations), here.values(observations))


def test_what_it_needs_is_stated(dqn: Path) -> None:
    policy = load_policy(str(dqn))
    assert policy.observation_shape == (4, 84, 84)
    assert policy.action_meanings == ("NOOP", "FIRE", "RIGHT", "LEFT")
    assert (policy.game, policy.num_actions, policy.epsilon, policy.is_sampled) == ("Breakout", 4, 0.0, False)
    assert policy.make_env().observation_space.shape == policy.observation_shape


def test_a_batch_is_answered_as_its_observations_one_by_one(dqn: Path, ba3c: Path) -> None:
    for folder in (dqn, ba3c):
        policy = load_policy(folder)
        batch = observations_of(policy, 3)
        one_by_one = [policy.values(observation) for observation in batch]
        np.testing.assert_allclose(policy.values(batch), np.stack(one_by_one), rtol=1e-4, atol=1e-6)
        assert policy.preferences(batch).shape == (3, 4)
        actions = policy.act(batch, epsilon=0.0, sampled=False)
        assert isinstance(actions, np.ndarray) and actions.tolist() == policy.preferences(batch).argmax(1).tolist()
        assert isinstance(policy.act(batch[0]), int)


def test_a_policy_is_sampled_by_its_probabilities_and_epsilon_explores(ba3c: Path) -> None:
    policy = load_policy(ba3c)
    batch = np.repeat(observations_of(policy, 1), 500, axis=0)
    probabilities = torch.from_numpy(policy.preferences(batch[0])).softmax(0).numpy()
    drawn = np.bincount(np.asarray(policy.act(batch, epsilon=0.0, sampled=True)), minlength=4) / 500
    np.testing.assert_allclose(drawn, probabilities, atol=0.1)
    explored = np.bincount(np.asarray(policy.act(batch, epsilon=1.0, sampled=False)), minlength=4) / 500
    np.testing.assert_allclose(explored, 0.25, atol=0.1)


def test_its_module_says_what_it_says(dqn: Path, ba3c: Path) -> None:
    for folder in (dqn, ba3c):
        policy = load_policy(folder)
        batch = observations_of(policy, 2)
        with torch.no_grad():
            answer = policy.as_module()(policy.frames(batch))
        found = answer if isinstance(answer, torch.Tensor) else answer[0]
        np.testing.assert_allclose(found.numpy(), policy.preferences(batch), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_is_refused_in_words(dqn: Path, tmp_path: Path) -> None:
    policy = load_policy(dqn)
    (observation,) = observations_of(policy, 1)
    with pytest.raises(ValueError, match=r"float32 \(4, 84, 84\), needed uint8 \(4, 84, 84\)"):
        policy.act(observation.astype(np.float32))
    no_arrays: list[Any] = [observation.tolist(), torch.from_numpy(observation)]
    for wrong in no_arrays:
        for asked in (policy.act, policy.preferences, policy.values, policy.frames):
            with pytest.raises(ValueError, match=r"got a \w+ as observation, needed a NumPy array uint8 \(4, 84, 84\)"):
                asked(wrong)
    with pytest.raises(ValueError, match=r"\(84, 84, 4\), needed uint8 \(4, 84, 84\)"):
        policy.act(observation.transpose(1, 2, 0))
    with pytest.raises(ValueError, match=r"one axis for a batch"):
        policy.act(observation[None, None])
    with pytest.raises(ValueError, match=r"needs a policy; this network values actions"):
        policy.act(observation, sampled=True)
    with pytest.raises(ValueError, match=r"epsilon=2 must lie in \[0, 1\]"):
        policy.act(observation, epsilon=2)
    with pytest.raises(CheckpointError, match=r"checkpoint=best: there is none"):
        load_policy(dqn, "best")
    with pytest.raises(CheckpointError, match=r"checkpoint=7 must be newest, best or a version that is there"):
        load_policy(dqn, 7)
    with pytest.raises(RunFolderError, match=r"config\.yaml cannot be read"):
        load_policy(tmp_path)
