"""The evaluator: networks of either kind play by what they prefer, policies also by chance."""

import numpy as np
import pytest

from pipeline.envs.rom import num_actions
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.networks.config import NetworkConfig
from pipeline.networks.parameters import ParameterShape
from pipeline.roles.evaluator import EvaluatorSpec, evaluate_params
from pipeline.types import Float32Array
from tests.networks.configs import actor_critic_config, network_config
from tests.protocols import nature_protocol

FIRE, RIGHT = 1, 2
"""Of Breakout: after RIGHT alone no ball is ever served."""


def evaluator_spec(network: NetworkConfig, policy: str = "greedy") -> EvaluatorSpec:
    """One short game of Breakout, seen small."""
    protocol = nature_protocol(noop_max=0, max_frames=1_000, frame_height=52, frame_width=52, stack=1)
    return EvaluatorSpec(
        game="Breakout",
        seed=0,
        network=network,
        evaluation=EvaluationConfig("test", 1, 0.0, policy, None, None, protocol),
        compute_threads=1,
        device="cpu",
        precision="float32",
        agent="checkpoint",
        version=7,
        total_frames=28,
        wall_seconds=1.0,
        commit="",
        starts=None,
    )


def params_that_prefer(action: int, spec: EvaluatorSpec, bias_name: str) -> Float32Array:
    """All zero, but for the bias of one action in the output layer."""
    environment = spec.evaluation.environment
    actions = num_actions(spec.game, environment.full_action_set)
    network = spec.network.make(environment.stack, environment.frame_shape, actions)
    params = np.zeros(network.num_parameters, np.float32)
    params[offset(network.shapes, bias_name) + action] = 1.0
    return params


def offset(shapes: tuple[ParameterShape, ...], name: str) -> int:
    """Where a parameter begins in the vector."""
    names = [shape.name for shape in shapes]
    return sum(shape.size for shape in shapes[: names.index(name)])


@pytest.mark.parametrize(
    ("network", "bias_name"),
    [(network_config(), "head.output.bias"), (actor_critic_config(), "head.policy.bias")],
    ids=lambda given: given if isinstance(given, str) else given.kind,
)
def test_the_action_of_the_largest_output_is_played(network: NetworkConfig, bias_name: str) -> None:
    spec = evaluator_spec(network)
    ((waiting, stuck),) = evaluate_params(spec, params_that_prefer(RIGHT, spec, bias_name))
    ((playing, _),) = evaluate_params(spec, params_that_prefer(FIRE, spec, bias_name))
    assert waiting.truncated and waiting.score == 0.0 and waiting.num_steps == 250
    assert set(stuck.actions) == {RIGHT}
    assert not playing.truncated and playing.num_steps < 250
    assert (playing.agent, playing.version, playing.total_frames) == ("checkpoint", 7, 28)


def test_actions_of_a_policy_are_drawn_where_the_protocol_says_so_and_those_of_q_values_never() -> None:
    for network, bias_name, is_policy in (
        (actor_critic_config(), "head.policy.bias", True),
        (network_config(), "head.output.bias", False),
    ):
        spec = evaluator_spec(network, policy="sampled")
        ((row, episode),) = evaluate_params(spec, params_that_prefer(RIGHT, spec, bias_name))
        assert row.sampled == is_policy
        assert set(episode.actions) == ({0, 1, 2, 3} if is_policy else {RIGHT})


def test_a_stopped_evaluation_has_no_rows() -> None:
    spec = evaluator_spec(actor_critic_config())
    params = params_that_prefer(RIGHT, spec, "head.policy.bias")
    assert evaluate_params(spec, params, stop=lambda: True) == []


def test_a_network_of_no_kind_is_refused_by_name() -> None:
    spec = evaluator_spec(NetworkConfig(kind="?"))
    with pytest.raises(TypeError, match="NetworkConfig: use QNetworkConfig or ActorCriticNetworkConfig"):
        evaluate_params(spec, np.zeros(1, np.float32))
