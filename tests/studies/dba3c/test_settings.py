"""The networks of speed runs have the games and gradients that rows say they have."""

import pytest

from pipeline.algorithms.config import ActorCriticConfig
from pipeline.config.overrides import compose
from pipeline.networks.config import ActorCriticNetworkConfig
from studies.dba3c.settings import NETWORKS, QUICK

STEPS_AND_LANES = {
    "experiment_dba3c": (40, 8),
    "dba3c_quick": (20, 4),
    "dba3c_authors_32": (32, 10),
    "ba3c_authors_32": (32, 10),
}
"""Of a gradient of one of NETWORKS, unless they are 160 and 32."""


@pytest.mark.parametrize(
    ("network", "steps", "lanes"), [(name, *STEPS_AND_LANES.get(name, (160, 32))) for name in NETWORKS]
)
def test_speeds_are_of_as_many_steps_as_the_rows_say(network: str, steps: int, lanes: int) -> None:
    config = compose([*QUICK, *NETWORKS[network], "game=Pong"])
    assert config.mistakes() == []
    assert isinstance(config.algorithm, ActorCriticConfig)
    assert (config.algorithm.batch_size, config.topology.num_lanes) == (steps, lanes)
    assert (config.environment.min_frame_skip == 2) == (network not in ("experiment_dba3c", "dba3c_quick"))
    assert config.training_evaluation.every_frames is None, "nobody plays beside the workers"


@pytest.mark.parametrize(("network", "experiment"), [("experiment_dba3c", "dba3c"), ("dba3c_quick", "dba3c_quick")])
def test_speeds_named_after_an_experiment_are_of_its_network_and_games(network: str, experiment: str) -> None:
    measured = compose([*QUICK, *NETWORKS[network], "game=Pong"])
    meant = compose([f"experiment={experiment}", "game=Pong"])
    assert (measured.environment, measured.topology) == (meant.environment, meant.topology)
    assert isinstance(measured.network, ActorCriticNetworkConfig)
    assert isinstance(meant.network, ActorCriticNetworkConfig)
    assert measured.network.torso == meant.network.torso and measured.param_server == meant.param_server
