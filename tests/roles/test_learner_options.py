"""Every option of Q-learning with every other: an update of a real learner on transitions of real games."""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.algorithms.config import QLearningConfig
from pipeline.interfaces import TransitionSource
from pipeline.networks.config import QNetworkConfig
from pipeline.networks.replica import QReplica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import first_snapshot, split_snapshot
from pipeline.replay.config import ReplayConfig
from pipeline.replay.memory import ReplayMemory
from pipeline.roles.follower import Follower
from pipeline.roles.learner import Learner
from pipeline.roles.statistics import UpdateStatistics
from pipeline.types import Float32Array, Int64Array, TransitionBatch
from tests.networks.configs import network_config
from tests.roles.wiring import ADAGRAD, Wired, bundle_spec

SPEC = bundle_spec()
HALF = SPEC.replay.batch_size // 2
NUM_ACTIONS = 4
"""Of Breakout."""
OUTCOMES: Mapping[str, Mapping[str, Any]] = {
    "num_atoms=1": {},
    "num_atoms=51": {"num_atoms": 51},
    "num_quantiles=20": {"num_quantiles": 20},
    "drawn_fractions": {"num_quantiles": 8, "drawn_fractions": True},
}
"""Settings of the network."""


class Watched(TransitionSource):
    """A replay that remembers its last minibatch, and what it was told of priorities."""

    def __init__(self, replay: ReplayMemory) -> None:
        self.batch: TransitionBatch
        self.told: list[tuple[Int64Array, Float32Array]] = []
        self._replay = replay

    def num_transitions(self) -> int:
        """The replay's."""
        return self._replay.num_transitions()

    def sample(self) -> TransitionBatch:
        """A copy of the replay's."""
        self.batch = TransitionBatch._make(np.copy(array) for array in self._replay.sample())
        return self.batch

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """Remember, and pass on."""
        self.told.append((key, abs_error))
        self._replay.update_priorities(key, abs_error)


class Learning:
    """One learner and one shard in this thread."""

    def __init__(self, algorithm: QLearningConfig, network_settings: QNetworkConfig, replay: ReplayConfig) -> None:
        network = network_settings.make(4, (84, 84), NUM_ACTIONS)
        layout = ParamLayout(network.num_parameters, num_shards=1)
        (start,) = split_snapshot(first_snapshot(network.initial_parameters(np.random.default_rng(0))), layout)
        self.shard = ParameterShard(start, ADAGRAD, SPEC.param_server, generation=1)
        client = ParamClient([DirectShard(self.shard)], layout, "learner-0/1", 1, SPEC.param_server)
        online, target = (Follower(QReplica(network, torch.float32, torch.device("cpu")), client) for _ in range(2))
        self.transitions = Watched(played(algorithm.n_step, replay))
        self.statistics = UpdateStatistics("learner-0", 0)
        self.learner = Learner(
            algorithm,
            replay,
            SPEC.param_server,
            online,
            target,
            self.transitions,
            client,
            self.statistics,
            torch.Generator(),
        )

    def params(self) -> Float32Array:
        """The server's, now."""
        return self.shard.snapshot().params.copy()


@functools.cache
def played(n_step: int, replay: ReplayConfig) -> ReplayMemory:
    """What four games of Breakout left after 120 steps, mostly random ones."""
    wired = Wired(bundle_spec(algorithm=replace(SPEC.algorithm, n_step=n_step), replay=replay))
    wired.run(120)
    wired.bundle.close()
    return wired.bundle._replay


def replay_config(prioritised: bool) -> ReplayConfig:
    return replace(SPEC.replay, priority_exponent=0.6 if prioritised else None, importance_updates=10)


@pytest.mark.parametrize(
    ("target", "dueling", "noisy", "outcomes", "layer_norm", "n_step", "prioritised"),
    [
        options
        for options in itertools.product(
            ("plain", "double", "munchausen"),
            (False, True),
            (False, True),
            ("num_atoms=1", "num_atoms=51", "num_quantiles=20", "drawn_fractions"),
            (False, True),
            (1, 3),
            (False, True),
        )
        if (options[0], options[3]) != ("munchausen", "num_atoms=51")
        and (options[1], options[3]) != (True, "drawn_fractions")
    ],
)
def test_all_options_go_together(
    target: str, dueling: bool, noisy: bool, outcomes: str, layer_norm: bool, n_step: int, prioritised: bool
) -> None:
    algorithm = replace(SPEC.algorithm, double=target == "double", munchausen=target == "munchausen", n_step=n_step)
    network = network_config(dueling=dueling, noisy=noisy, layer_norm=layer_norm, **OUTCOMES[outcomes])
    assert network.mistakes() == algorithm.unfit_for_distribution(network.distribution) == []
    learning = Learning(algorithm, network, replay_config(prioritised))
    before = learning.params()
    for _ in range(2):
        learning.learner.step()
    after = learning.params()
    assert np.isfinite(after).all()
    # What had a gradient has moved; only rectified units that were off at every transition have none.
    assert (after != before).mean() > 0.3
    assert learning.shard.snapshot().version == 2
    assert len(learning.transitions.told) == (2 if prioritised else 0)


def test_a_replay_with_priorities_is_told_the_error_of_each_transition_of_the_minibatch() -> None:
    learning = Learning(SPEC.algorithm, network_config(), replay_config(prioritised=True))
    learning.learner.step()
    ((key, abs_error),) = learning.transitions.told
    np.testing.assert_array_equal(key, learning.transitions.batch.key)
    assert abs_error.shape == key.shape
    assert abs_error.dtype == np.float32
    assert (abs_error >= 0).all() and (abs_error > 0).any()


def test_rare_transitions_weigh_more_and_ever_more_as_updates_go_by() -> None:
    learning = Learning(SPEC.algorithm, network_config(), replay_config(prioritised=True))
    batch = learning.transitions.sample()._replace(relative_chance=np.repeat([4.0, 1.0], HALF).astype(np.float32))
    weights = []
    for version in (0, 5, 10, 1000):
        learning.learner._online.versions = (version,)
        weight = learning.learner._importance(batch)
        assert weight is not None
        assert weight[HALF:].tolist() == [1.0] * HALF
        weights.append(weight[0].item())
    # beta: 0.4, half way to 1, 1, 1.
    assert weights == pytest.approx([4**-0.4, 4**-0.7, 4**-1.0, 4**-1.0])


def test_the_outlier_rule_and_the_rows_see_the_loss_without_weights() -> None:
    plain, weighted = (Learning(SPEC.algorithm, network_config(), replay_config(prioritised=p)) for p in (False, True))
    batch = plain.transitions.sample()._replace(relative_chance=np.linspace(0.5, 8.0, 2 * HALF, dtype=np.float32))
    losses = []
    for learner in (plain.learner, weighted.learner):
        learner._refresh()
        losses.append(learner._loss(batch, learner._importance(batch)))
    assert losses[0].mean_loss == losses[1].mean_loss == losses[0].objective
    assert losses[1].objective < losses[1].mean_loss


def test_a_loss_that_is_no_number_becomes_no_priority() -> None:
    learning = Learning(SPEC.algorithm, network_config(), replay_config(prioritised=True))
    learning.shard._params[:] = np.nan
    learning.learner.step()
    assert learning.transitions.told == []
