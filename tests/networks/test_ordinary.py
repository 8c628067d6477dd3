"""Networks as ordinary torch modules: every one answers what its replica answers."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from pipeline.errors import ConfigError
from pipeline.networks.config import LayeredConfig, ModuleNetworkConfig, QNetworkConfig
from pipeline.networks.nature import NatureTorso
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
from pipeline.networks.replica import PolicyReplica, QReplica
from tests.networks.configs import actor_critic_config, network_config
from tests.rounding import assert_equal_but_for_rounding

CPU = torch.device("cpu")
NETWORKS: Mapping[str, LayeredConfig] = {
    "nature": network_config(),
    "dqn_2013": network_config(torso="dqn_2013"),
    "centred": network_config(centred_pixels=True),
    "dueling": network_config(dueling=True),
    "rainbow": network_config(dueling=True, noisy=True, num_atoms=5),
    "c51": network_config(num_atoms=5),
    "quantiles": network_config(num_quantiles=5),
    "drawn fractions": network_config(num_quantiles=5, drawn_fractions=True),
    "layer norm": network_config(torso="nature_layer_norm", layer_norm=True),
    "dueling, normalised": network_config(layer_norm=True, dueling=True),
    "drawn fractions, normalised": network_config(layer_norm=True, num_quantiles=5, drawn_fractions=True),
    "dueling quantiles": network_config(dueling=True, num_quantiles=5),
    "pooled": network_config(torso="ba3c"),
    "dba3c": actor_critic_config(),
    "ba3c": actor_critic_config(activation="prelu"),
    "actor-critic": actor_critic_config(torso="nature", activation="relu", centred_pixels=True),
}


def replica_of(network: Network) -> QReplica | PolicyReplica:
    if isinstance(network, QNetwork):
        return QReplica(network, torch.float32, CPU)
    assert isinstance(network, ActorCriticNetwork)
    return PolicyReplica(network, torch.float32, CPU)


@pytest.mark.parametrize("shape", [(84, 84), (84, 84, 3)], ids=["grey", "RGB"])
@pytest.mark.parametrize("name", NETWORKS)
def test_an_ordinary_module_answers_what_the_replica_answers(name: str, shape: tuple[int, ...]) -> None:
    network = NETWORKS[name].make(4, shape, 6)
    rng = np.random.default_rng(0)
    observations = rng.integers(0, 256, (3, 4, *shape), dtype=np.uint8)
    frames = torch.from_numpy(observations)
    if len(shape) == 3:
        frames = frames.permute(0, 1, 4, 2, 3).flatten(1, 2)
    replica = replica_of(network)
    replica.load(network.initial_parameters(rng))
    with torch.no_grad():
        found = replica.ordinary()(frames)
    num_terms = 4 * 84 * 84
    if isinstance(replica, QReplica):
        assert_equal_but_for_rounding(found, replica.values(observations), num_terms)
    else:
        expected = replica.policy_and_value(observations)
        assert_equal_but_for_rounding(found[0], expected.logits, num_terms)
        assert_equal_but_for_rounding(found[1], expected.value, num_terms)


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_an_ordinary_module_has_every_parameter_but_those_of_noise(name: str, noisy: bool) -> None:
    config = NETWORKS[name]
    network = (replace(config, noisy=noisy) if isinstance(config, QNetworkConfig) else config).make(4, (52, 52), 6)
    replica = replica_of(network)
    assert network.num_parameters < 2**24  # up to which float32 counts
    replica.load(np.arange(network.num_parameters, dtype=np.float32))
    found = torch.cat([parameter.detach().flatten() for parameter in replica.ordinary().parameters()])
    is_noise = np.concatenate([np.full(shape.size, shape.name.endswith("_sigma")) for shape in network.shapes])
    assert sorted(found.tolist()) == np.flatnonzero(~is_noise).tolist()


def test_its_weights_are_its_own_and_load_into_layers_in_torch_s_order() -> None:
    network = network_config(torso="dqn_2013").make(4, (84, 84), 6)
    assert isinstance(network, QNetwork)
    replica = QReplica(network, torch.float32, CPU)
    replica.load(network.initial_parameters(np.random.default_rng(0)))
    module = replica.ordinary()
    written_by_hand = nn.Sequential(
        nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(2592, 16),
        nn.ReLU(), nn.Linear(16, 6),
    )  # fmt: skip
    written_by_hand.load_state_dict(dict(zip(written_by_hand.state_dict(), module.state_dict().values(), strict=True)))
    observations = np.random.default_rng(1).integers(0, 256, (2, 4, 84, 84), dtype=np.uint8)
    before = replica.values(observations)
    found = written_by_hand(torch.from_numpy(observations).float() / 255)
    assert_equal_but_for_rounding(found.detach(), before, 4 * 84 * 84)
    with torch.no_grad():
        next(module.parameters()).zero_()
    assert torch.equal(replica.values(observations), before)


def test_a_module_of_a_user_s_own_comes_back_as_it_is_with_what_it_has_learned() -> None:
    config = ModuleNetworkConfig("module", "tests.networks.modules.Values", "q_learning")
    network = config.make(4, (84, 84), 6)
    assert isinstance(network, QNetwork)
    replica = QReplica(network, torch.float32, CPU)
    replica.load(network.initial_parameters(np.random.default_rng(0)))
    observations = np.random.default_rng(1).integers(0, 256, (2, 4, 84, 84), dtype=np.uint8)
    found = replica.ordinary()(torch.from_numpy(observations))
    assert_equal_but_for_rounding(found.detach(), replica.values(observations), 4 * 84 * 84)


def test_a_torso_that_does_not_say_what_it_is_made_of_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NatureTorso, "ordinary", lambda self, parameters: None)
    with pytest.raises(ConfigError, match=r"NatureTorso does not say which .* define `NatureTorso\.ordinary`"):
        replica_of(network_config().make(4, (84, 84), 6)).ordinary()
