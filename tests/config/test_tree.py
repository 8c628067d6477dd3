"""Nested dictionaries to typed settings and back."""

import dataclasses
from typing import Any

import pytest

from pipeline.algorithms.config import QLearningConfig
from pipeline.cluster.groups import HostGroup
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.kinds.local import LocalConfig
from pipeline.cluster.kinds.ssh import SshConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import build, setting_names, to_yaml, unknown_setting, wrong_type
from pipeline.errors import ConfigError
from pipeline.networks.config import QNetworkConfig
from pipeline.optimizers.config import AdaGradConfig
from pipeline.topologies.kinds.workers import WorkersConfig
from tests.config.runs import run_of_yaml

Tree = dict[str, Any]


@pytest.fixture(scope="module")
def run() -> RunConfig:
    return compose(["experiment=gorila", "game=Pong"])


@pytest.fixture
def tree(run: RunConfig) -> Tree:
    return dataclasses.asdict(run)


def mistakes(tree: Tree) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        build(tree)
    return list(caught.value.mistakes)


def test_a_dictionary_of_the_right_shape_is_the_run(run: RunConfig, tree: Tree) -> None:
    assert build(tree) == run
    assert type(build(tree).optimizer) is AdaGradConfig


def test_names_and_types_at_every_depth_are_reported_together(tree: Tree) -> None:
    tree["sede"] = 1
    tree["seed"] = "abc"
    tree["algorithm"]["exploration"]["final_epsilom"] = 0.1
    del tree["replay"]["capacity"]
    tree["network"] = 3
    tree["budget"]["frames"] = 1.5
    tree["environment"]["grey"] = 1
    tree["evaluation"]["environment"]["stack"] = True
    tree["cluster"]["kind"] = None
    assert mistakes(tree) == [
        "sede: no such setting; did you mean seed?",
        "seed=abc: an integer is expected",
        "budget.frames=1.5: an integer or null is expected",
        "algorithm.exploration.final_epsilom: no such setting; did you mean algorithm.exploration.final_epsilon?",
        "network=3: a group of settings is expected",
        "environment.grey=1: true or false is expected",
        "replay.capacity is missing: a run needs it",
        f"cluster.kind=null: no such kind; there is {', '.join(CLUSTER_KINDS)}",
        "evaluation.environment.stack=true: an integer is expected",
    ]


def test_ranges_are_checked_once_names_and_types_are_right(tree: Tree) -> None:
    tree["seed"] = -1
    tree["param_server"]["num_shards"] = 0
    assert mistakes(tree) == ["seed=-1 must be at least 0", "param_server.num_shards=0 must be at least 1"]


def test_an_unknown_optimizer_is_answered_with_the_nearest(tree: Tree) -> None:
    tree["optimizer"]["kind"] = "adagard"
    assert mistakes(tree) == ["optimizer.kind=adagard: no such kind; did you mean adagrad?"]


def test_an_optimizer_with_the_settings_of_another_is_refused(tree: Tree) -> None:
    tree["optimizer"]["kind"] = "rmsprop"
    assert mistakes(tree) == [
        "optimizer.initial_accumulator: no such setting; optimizer has kind, learning_rate, "
        "learning_rate_changes, decay, epsilon",
        "optimizer.decay is missing: a run needs it",
    ]


def test_a_whole_number_is_taken_for_a_float(tree: Tree) -> None:
    tree["checkpoint"]["every_minutes"] = 5
    value = build(tree).checkpoint.every_minutes
    assert (value, type(value)) == (5.0, float)


def test_a_bare_number_is_taken_for_text(tree: Tree) -> None:
    tree["cluster"]["dashboard_address"] = 8787
    cluster = build(tree).cluster
    assert isinstance(cluster, LocalConfig) and cluster.dashboard_address == "8787"


def test_a_list_of_texts_is_kept_in_its_order_and_read_back_equal() -> None:
    run = compose(["game=Pong", "cluster=ssh", "cluster.hosts=[node1,10.0.0.2,7]"])
    assert isinstance(run.cluster, SshConfig)
    assert run.cluster.hosts == ("node1", "10.0.0.2", "7")
    assert run_of_yaml(to_yaml(run)) == run


def test_pairs_of_an_update_and_a_value_are_kept_in_their_order_and_read_back_equal() -> None:
    run = compose(["game=Pong", "optimizer.learning_rate_changes=[[1000,1],[2000,0.5]]"])
    assert run.optimizer.learning_rate_changes == ((1000, 1.0), (2000, 0.5))
    assert run_of_yaml(to_yaml(run)) == run


def test_stragglers_are_kept_and_read_back_equal() -> None:
    run = compose(["experiment=dba3c", "game=Pong", "topology.stragglers=[[1,constant,1],[0,exponential,0.5]]"])
    assert isinstance(run.topology, WorkersConfig)
    assert run.topology.stragglers == ((1, "constant", 1.0), (0, "exponential", 0.5))
    assert run_of_yaml(to_yaml(run)) == run


def test_groups_of_hosts_are_kept_and_read_back_equal() -> None:
    words = "cluster.groups=[{name:gpus,roles:[bundle],gpus_per_host:1,directives:['--gres=gpu:1']}]"
    run = compose(["experiment=gorila", "game=Pong", "cluster=slurm", words])
    assert run.cluster.groups == (HostGroup("gpus", ("bundle",), gpus_per_host=1, directives=("--gres=gpu:1",)),)
    assert run_of_yaml(to_yaml(run)) == run


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "0.5"),
        ([1000, 0.5], "[1000, 0.5]"),
        ([[0.5, 1000.5]], "[[0.5, 1000.5]]"),
        ([[1000, 0.5, 2]], "[[1000, 0.5, 2]]"),
        ([[1000, None]], "[[1000, null]]"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused(tree: Tree, value: object, shown: str) -> None:
    tree["optimizer"]["learning_rate_changes"] = value
    assert mistakes(tree) == [
        f"optimizer.learning_rate_changes={shown}: a list of pairs, like [[1000,0.5],[2000,0.1]], is expected"
    ]


def test_algorithm_and_network_are_of_the_class_of_their_kind(tree: Tree) -> None:
    assert type(build(tree).algorithm) is QLearningConfig and type(build(tree).network) is QNetworkConfig
    tree["network"]["kind"] = "actor_critic"
    assert "network.activation is missing: a run needs it" in mistakes(tree)
    tree["network"]["kind"] = "actor_critik"
    assert mistakes(tree) == ["network.kind=actor_critik: no such kind; did you mean actor_critic?"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(tree: Tree, value: float) -> None:
    tree["optimizer"]["learning_rate"] = value
    assert mistakes(tree) == [f"optimizer.learning_rate={value}: a finite number is expected"]


@pytest.mark.parametrize("experiment", ["gorila", "dqn"])
def test_a_run_written_as_yaml_is_read_back_equal(experiment: str) -> None:
    run = compose(
        [f"experiment={experiment}", "game=Pong", "seed=0", "optimizer.learning_rate=1e-5", "budget.minutes=3"]
    )
    assert run_of_yaml(to_yaml(run)) == run


def test_text_that_looks_like_something_else_survives_yaml(run: RunConfig) -> None:
    assert isinstance(run.cluster, LocalConfig)
    cluster = dataclasses.replace(run.cluster, dashboard_address="8787")
    odd = dataclasses.replace(run, results_dir="1e5", cluster=cluster)
    assert run_of_yaml(to_yaml(odd)) == odd


@pytest.mark.parametrize("text", ["- a\n- b\n", "seed: [1", ""])
def test_a_damaged_file_is_a_config_error(text: str) -> None:
    with pytest.raises(ConfigError):
        run_of_yaml(text)


def test_the_settings_of_a_run_are_those_of_its_own_optimizer(tree: Tree) -> None:
    names = setting_names(tree)
    assert "optimizer.initial_accumulator" in names
    assert "optimizer.beta1" not in names
    assert "evaluation.environment.frame_skip" in names
    assert "evaluation.environment" not in names


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("optimizer.lerning_rate", "did you mean optimizer.learning_rate?"),
        ("optimiser.learning_rate", "did you mean optimizer.learning_rate?"),
        ("learning_rate", "did you mean optimizer.learning_rate?"),
        ("algoritm", "did you mean algorithm?"),
        ("topology.num_shards", "did you mean param_server.num_shards?"),
        ("evaluation.enviroment.stack", "did you mean evaluation.environment.stack?"),
        ("topology.foo", "topology has kind, num_lanes, shards, compute_threads, num_bundles"),
        ("foo.bar", "a run has experiment, game, seed, device, deterministic, precision, results_dir, resume, "
                    "init_from, init_from_optimizer, overwrite, plan and 14 more"),
    ],
)  # fmt: skip
def test_an_unknown_setting_is_answered_with_the_nearest_or_with_what_there_is(
    tree: Tree, name: str, answer: str
) -> None:
    assert unknown_setting(name, f"{name}=1", tree) == f"{name}=1: no such setting; {answer}"


def test_a_known_setting_is_no_mistake(tree: Tree) -> None:
    assert unknown_setting("evaluation.environment.stack", "", tree) is None


def test_a_single_value_is_checked_against_the_type_of_its_setting(tree: Tree) -> None:
    assert wrong_type("param_server.max_staleness", None, tree) is None
    assert wrong_type("param_server.max_staleness", "x", tree) == (
        "param_server.max_staleness=x: an integer or null is expected"
    )
    assert wrong_type("optimizer.initial_accumulator", 0, tree) is None
    tree["cluster"]["kind"] = "slurm"
    assert wrong_type("cluster.directives", ["--exclusive"], tree) is None
    assert wrong_type("cluster.directives", [["--exclusive"]], tree) == (
        "cluster.directives=[[--exclusive]]: a list of texts, like [a,b], is expected"
    )
