"""What is varied in the study of learning."""

from dataclasses import replace

import pytest

from pipeline.config.overrides import compose
from pipeline.networks.config import ActorCriticNetworkConfig
from pipeline.optimizers.config import AdamConfig
from studies.dba3c import learning_cases
from studies.dba3c.learning_cases import rates


def test_cases_of_the_hidden_layer_differ_in_its_width_or_its_activation_alone() -> None:
    for cases_of in (learning_cases.HIDDEN_LAYER_CASES, learning_cases.LARGE_HIDDEN_LAYER_CASES):
        alike = []
        for activation, cases in cases_of.items():
            for case, units in zip(cases, (128, 512) if len(cases) == 2 else (128,), strict=True):
                config = compose(["experiment=dba3c_quick", "game=Breakout", *learning_cases.CASES[case].settings])
                network = config.network
                assert isinstance(network, ActorCriticNetworkConfig) and network.hidden_units == units
                assert network.activation == {"no activation": "linear", "PReLU": "prelu"}[activation]
                others = replace(config, network=replace(network, hidden_units=0, activation=""))
                alike.append((others, learning_cases.num_frames(case, 100)))
        assert len(alike) > 2 and all(one == alike[0] for one in alike)


@pytest.mark.slow
@pytest.mark.parametrize("case", learning_cases.CASES)
def test_every_case_is_a_run_that_can_be_made(case: str) -> None:
    config = compose(["experiment=dba3c_quick", "game=Breakout", *learning_cases.CASES[case].settings])
    assert config.mistakes() == []
    is_large = case in learning_cases.ADAM_CASES or case.endswith("_large")
    assert isinstance(config.optimizer, AdamConfig) and config.optimizer.learning_rate == 1e-5
    assert config.optimizer.epsilon == (1e-8 if is_large else 1e-5)


def test_step_sizes_rise_and_fall_after_as_many_steps_whatever_an_update_is_made_of() -> None:
    changes = compose(["experiment=dba3c_quick", "game=Pong"]).optimizer.learning_rate_changes
    assert changes == compose(["experiment=dba3c_quick", "game=Pong", rates(500)]).optimizer.learning_rate_changes
    assert rates(125, 1e-3, times_frames=4).endswith("=[[125,1e-4],[250,0.001],[10000,0.0002]]")
