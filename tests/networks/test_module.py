"""Ordinary torch modules as networks: equal to themselves, drawn from the run's stream, and refused before any work."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from pipeline.config.overrides import compose
from pipeline.config.tree import to_yaml
from pipeline.networks.config import ModuleNetworkConfig
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
from pipeline.networks.replica import PolicyReplica, QReplica
from tests.config.runs import mistakes_in, run_of_yaml
from tests.networks import modules

SHAPES = [(84, 84), (84, 84, 3)]
CPU = torch.device("cpu")


def config(name: str, answers_for: str = "q_learning") -> ModuleNetworkConfig:
    """The network that is a class of `tests.networks.modules`."""
    return ModuleNetworkConfig("module", f"tests.networks.modules.{name}", answers_for)


def q_replica(network: Network, dtype: torch.dtype = torch.float32) -> QReplica:
    assert isinstance(network, QNetwork)
    replica = QReplica(network, dtype, CPU)
    replica.load(network.initial_parameters(np.random.default_rng(1)))
    return replica


def policy_replica(network: Network) -> PolicyReplica:
    assert isinstance(network, ActorCriticNetwork)
    replica = PolicyReplica(network, torch.float32, CPU)
    replica.load(network.initial_parameters(np.random.default_rng(1)))
    return replica


def frames(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 4, *shape), dtype=np.uint8)


def as_channels(observations: np.ndarray) -> torch.Tensor:
    """What a module sees of them: stacks of RGB frames as three channels for each frame."""
    seen = torch.from_numpy(observations).float()
    return seen if seen.dim() == 4 else seen.permute(0, 1, 4, 2, 3).flatten(1, 2)


def with_vector(module: torch.nn.Module, flat: np.ndarray) -> torch.nn.Module:
    """The module with these parameters, in the order of `named_parameters`; convolutions lie channels-last."""
    start = 0
    for _, parameter in module.named_parameters():
        part = torch.from_numpy(flat[start : start + parameter.numel()])
        start += parameter.numel()
        if parameter.dim() == 4:
            out, channels, height, width = parameter.shape
            part = part.view(out, height, width, channels).permute(0, 3, 1, 2)
        parameter.data.copy_(part.reshape(parameter.shape))
    assert start == flat.size
    return module


@pytest.mark.parametrize("shape", SHAPES)
def test_a_module_values_actions_as_it_does_by_itself(shape: tuple[int, ...]) -> None:
    network = config("Values").make(4, shape, 6)
    flat = network.initial_parameters(np.random.default_rng(1))
    alone = with_vector(modules.Values(4, shape, 6), flat)
    found = q_replica(network).values(frames(shape))
    torch.testing.assert_close(found, alone(as_channels(frames(shape))))
    assert found.dtype == torch.float32 and network.num_parameters == flat.size


def test_a_module_prefers_actions_and_values_states_as_it_does_by_itself() -> None:
    network = config("PolicyAndValues", "actor_critic").make(4, (84, 84), 6)
    flat = network.initial_parameters(np.random.default_rng(1))
    logits, value = with_vector(modules.PolicyAndValues(4, (84, 84), 6), flat)(as_channels(frames((84, 84))))
    found = policy_replica(network).policy_and_value(frames((84, 84)))
    torch.testing.assert_close(found.logits, logits)
    torch.testing.assert_close(found.value, value.squeeze(1))


def test_a_gradient_is_that_of_the_module_in_the_order_of_its_parameters() -> None:
    network = config("Values").make(4, (84, 84), 6)
    flat = network.initial_parameters(np.random.default_rng(1))
    alone = modules.Values(4, (84, 84), 6)
    (with_vector(alone, flat)(as_channels(frames((84, 84)))) ** 2).sum().backward()
    replica = q_replica(network)
    found = replica.gradient((replica.outputs(frames((84, 84))) ** 2).sum())
    again = with_vector(modules.Values(4, (84, 84), 6), found.numpy())
    for (name, by_itself), ours in zip(alone.named_parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(ours.data, by_itself.grad, msg=name, rtol=1e-4, atol=1e-5)


def test_first_values_follow_from_the_stream_and_leave_torch_s_own_generator_alone() -> None:
    network = config("Values").make(4, (84, 84), 6)
    before = torch.get_rng_state()
    first, same, other = (network.initial_parameters(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(first, same)
    assert (first != other).mean() > 0.9


def test_constants_that_a_module_draws_are_the_same_whoever_makes_it() -> None:
    assert config("WithRandomFeatures").unfit_for_games(4, (84, 84), lambda: 6, "float32") == []

    def made(seed: int) -> QReplica:
        torch.manual_seed(seed)  # what a role's process did before
        return q_replica(config("WithRandomFeatures").make(4, (84, 84), 6))

    one, other = made(1), made(2)
    assert torch.equal(one.values(frames((84, 84))), other.values(frames((84, 84))))
    with torch.no_grad():
        alone = one.ordinary()(torch.from_numpy(frames((84, 84))))
    torch.testing.assert_close(alone, one.values(frames((84, 84))))


def test_constants_are_the_same_where_several_roles_make_a_module_at_once() -> None:
    def drawn(_: int) -> bytes:
        made = q_replica(config("WithRandomFeatures").make(4, (84, 84), 6))
        return made.values(frames((84, 84))).numpy().tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(drawn, range(40)))) == 1


def test_a_module_computes_in_bfloat16_where_it_can_and_else_in_float32() -> None:
    able, unable = (config(name).make(4, (84, 84), 6) for name in ("Values", "Float32Only"))
    exact, rounded = (q_replica(able, dtype).values(frames((84, 84))) for dtype in (torch.float32, torch.bfloat16))
    assert rounded.dtype == torch.float32 and not torch.equal(exact, rounded)
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.05)
    exact, same = (q_replica(unable, dtype).values(frames((84, 84))) for dtype in (torch.float32, torch.bfloat16))
    assert torch.equal(exact, same)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("WithBatchNorm", "changes its buffers norm.running_mean, norm.running_var, norm.num_batches_tracked while it "
                          "computes, as BatchNorm does: each role would have others; use LayerNorm or GroupNorm"),
        ("WithBatchNormOfItself", "answers otherwise for one observation than for several, as BatchNorm does: each has "
                                  "to be answered by itself; use LayerNorm or GroupNorm"),
        ("LessTheBatch", "answers otherwise for one observation than for several, as BatchNorm does: "),
        ("Squeezed", "answers otherwise for one observation than for several: (6,), and must answer (1, 6); a "
                     "squeeze() needs its axis"),
        ("WithNumpyFeatures", "has other buffers shifts each time that it is made: each role would have others; draw "
                              "them with torch, whose generator is seeded, or with a seed of theirs"),
        ("WithHiddenFeatures", "has other constants each time that it is made, which are no buffers: each role would"),
        ("WithDropout", "answers by chance, as Dropout does: take that layer out"),
        ("WithUnusedLayer", "has parameters that its answers do not depend on: unused.weight, unused.bias"),
        ("WithFrozenLayer", "has parameters that want no gradient, frozen: make them buffers"),
        ("OneTooMany", "answers (3, 7) to 3 observations, and must answer Q-values (3, 6)"),
        ("PolicyAndValues", "answers (3, 6) and (3, 1) to 3 observations, and must answer Q-values (3, 6)"),
        ("WithoutParameters", "has no parameters: there is nothing to learn"),
        ("OfAnEnvironment", "cannot be made as OfAnEnvironment(4, (84, 84), 6): TypeError: "),
        ("Detached", "cannot be differentiated: RuntimeError: "),
        ("DividedByZero", "answers what is no finite number with the first values of its parameters: "),
    ],
)  # fmt: skip
def test_a_module_that_can_be_no_network_is_refused_in_one_line(name: str, mistake: str) -> None:
    (line,) = config(name).unfit_for_games(4, (84, 84), lambda: 6, "float32")
    assert line.startswith(f"class=tests.networks.modules.{name} {mistake}")


def test_a_module_for_policies_must_answer_logits_and_values() -> None:
    assert config("PolicyAndValues", "actor_critic").unfit_for_games(4, (84, 84), lambda: 6, "auto") == []
    (line,) = config("Values", "actor_critic").unfit_for_games(4, (84, 84), lambda: 6, "auto")
    assert line.endswith("answers (3, 6) to 3 observations, and must answer logits (3, 6) and values (3,) or (3, 1)")


def test_bfloat16_that_is_asked_for_and_cannot_be_is_a_mistake() -> None:
    assert config("Values").unfit_for_games(4, (84, 84), lambda: 6, "bfloat16") == []
    assert config("Float32Only").unfit_for_games(4, (84, 84), lambda: 6, "auto") == []
    (line,) = config("Float32Only").unfit_for_games(4, (84, 84), lambda: 6, "bfloat16")
    assert line.startswith("class=tests.networks.modules.Float32Only cannot compute in precision=bfloat16: ")


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        ([], "network.class is missing: name a torch module of yours, e.g. network.class=my_package.MyNet"),
        (["network.class=nowhere.Net"], "network.class=nowhere.Net cannot be imported: No module named 'nowhere'; its "
                                        "package has to be installed, or in the folder where the command is typed"),
        (["network.class=tests.networks.modules.Net"], "network.class=tests.networks.modules.Net cannot be imported: "),
        (["network.class=Net"], "network.class=Net must be a dotted name, e.g. my_package.my_module.MyClass"),
        (["network.class=pipeline.seeding.stream"], "network.class=pipeline.seeding.stream must be a class below "
                                                    "torch.nn.Module"),
        (["network.class=tests.networks.modules.OneTooMany"], "network.class=tests.networks.modules.OneTooMany answers "
                                                              "(3, 7) to 3 observations, and must answer Q-values (3"),
        (["network.class=tests.networks.modules.Values", "network.answers_for=actor_critic"],
         "network.answers_for=actor_critic must be q_learning with algorithm.kind=q_learning"),
        (["network.class=tests.networks.modules.Values", "network.answers_for=ppo"],
         "network.answers_for=ppo must be one of q_learning, actor_critic, pqn"),
        (["network.class=tests.networks.modules.Values", "network.hidden_units=8"],
         "network.hidden_units=8: no such setting of network kind=module; it belongs to kind=q and kind=actor_critic"),
    ],
)  # fmt: skip
def test_mistakes_in_a_module_are_lines_in_the_list_of_mistakes(words: list[str], mistake: str) -> None:
    found = mistakes_in(["experiment=smoke_dqn", "game=Pong", "network=module", *words, "seed=-1"])
    assert [line for line in found if line.startswith(mistake)]
    assert "seed=-1 must be at least 0" in found


@pytest.mark.parametrize(
    ("experiment", "name"), [("gorila", "Values"), ("smoke_gorila", "Values"), ("dba3c_quick", "PolicyAndValues")]
)
def test_a_module_takes_the_place_of_any_experiment_s_network_and_is_read_back_equal(
    experiment: str, name: str
) -> None:
    path = f"tests.networks.modules.{name}"
    run = compose([f"experiment={experiment}", "game=Pong", "network=module", f"network.class={path}"])
    assert run.network == ModuleNetworkConfig("module", path, run.algorithm.kind)
    assert f"  class: {path}\n" in to_yaml(run)
    assert run_of_yaml(to_yaml(run)) == run
