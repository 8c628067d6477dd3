"""What the wire of factors can be had with, and the one line that says what it cannot be had with."""

from dataclasses import replace

import pytest

from pipeline.config.factors import without_factors
from pipeline.config.overrides import compose
from pipeline.networks.config import ModuleNetworkConfig, NetworkConfig
from tests.networks.configs import actor_critic_config, network_config
from tests.param_server.configs import server_config

FACTORS = server_config(wire="factors")
MODULE = ModuleNetworkConfig(kind="module", class_="torch.nn.Linear", answers_for="q_learning")
PLAIN: list[NetworkConfig] = [
    network_config(),
    network_config(torso="dqn_2013", centred_pixels=True),
    network_config(torso="pipeline.networks.nature.NatureTorso"),
    actor_critic_config(torso="nature", activation="relu"),
]
OTHERS: list[NetworkConfig] = [
    network_config(dueling=True),
    network_config(noisy=True),
    network_config(num_atoms=5),
    network_config(num_quantiles=5),
    network_config(layer_norm=True),
    network_config(torso="nature_layer_norm"),
    network_config(torso="ba3c"),
    network_config(torso="tests.own.mylab.torsos.OneConvolution"),
    actor_critic_config(torso="nature", activation="prelu"),
    actor_critic_config(torso="nature", activation="linear"),
]


@pytest.mark.parametrize("network", [*PLAIN, *OTHERS])
def test_it_can_be_had_of_the_networks_whose_gradient_is_written_out(network: NetworkConfig) -> None:
    is_plain = network.make(4, (84, 84), 3).plain_layers is not None
    assert is_plain == (network in PLAIN)
    assert bool(without_factors(network, FACTORS)) != is_plain
    assert without_factors(network, replace(FACTORS, wire="dense")) == []


@pytest.mark.parametrize(
    ("network", "given", "allowed"),
    [
        (network_config(noisy=True), "network.noisy=true", "network.noisy=false"),
        (
            network_config(dueling=True, num_atoms=51),
            "network.dueling=true, network.num_atoms=51",
            "network.dueling=false, network.num_atoms=1",
        ),
        (network_config(torso="ba3c"), "network.torso=ba3c", "network.torso=nature or dqn_2013"),
        (
            actor_critic_config(torso="nature", activation="prelu"),
            "network.activation=prelu",
            "network.activation=relu",
        ),
        (MODULE, "network.kind=module", "network=nature or network=nature_actor_critic"),
    ],
    ids=["noisy", "two at once", "torso", "activation", "module"],
)
def test_what_cannot_be_is_one_line_that_says_what_to_type(network: NetworkConfig, given: str, allowed: str) -> None:
    assert without_factors(network, FACTORS) == [
        f"param_server.wire=factors needs a gradient that is written out, and with {given} it is autograd's: "
        f"{allowed}, or param_server.wire=dense"
    ]


@pytest.mark.parametrize("experiment", ["gorila", "gorila_global", "dqn", "dba3c", "ba3c", "dba3c_clip"])
def test_these_experiments_can_have_it(experiment: str) -> None:
    words = [f"experiment={experiment}", "game=Pong", "param_server.wire=factors"]
    assert compose(words).param_server.wire == "factors"
