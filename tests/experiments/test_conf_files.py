"""Every file of `conf/`: it composes, it resolves, and each of its values says where it comes from."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from pipeline.algorithms.config import ActorCriticConfig, PqnConfig, QLearningConfig
from pipeline.config import overrides
from pipeline.config.composition import config_directory
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import to_yaml
from pipeline.networks.config import LayeredConfig, QNetworkConfig
from pipeline.replay.config import ReplayConfig
from pipeline.topologies.kinds.workers import WorkersConfig
from tests.config.runs import run_of_yaml

CONF = config_directory()
OF_SWEEPS = ("hydra", "sweep")
"""Folders whose files say nothing of a run."""
GROUPS = sorted(folder.name for folder in CONF.iterdir() if folder.is_dir() and folder.name not in OF_SWEEPS)
EXPERIMENTS = sorted(file.stem for file in (CONF / "experiment").glob("*.yaml"))
OPTIONS = [(group, file.stem) for group in GROUPS for file in sorted((CONF / group).glob("*.yaml"))]
NEEDED_BESIDE = {
    ("cluster", "address"): ["cluster.address=tcp://10.0.0.1:8786"],
    ("cluster", "ssh"): ["cluster.hosts=[node0,node1]"],
    ("cluster", "kubernetes"): ["cluster.image=registry/pipeline:1"],
    ("topology", "single"): ["param_server=single"],
    ("algorithm", "pqn"): ["experiment=pqn"],
    ("environment", "ba3c_deterministic"): ["experiment=dba3c", "evaluation=ba3c_50_deterministic"],
    ("evaluation", "ba3c_50_deterministic"): ["experiment=dba3c", "environment=ba3c_deterministic"],
    ("network", "module"): ["network.class=tests.networks.modules.Values"],
    ("environment", "ba3c"): ["experiment=dba3c", "network=dba3c_authors", "evaluation=ba3c_50"],
    ("evaluation", "ba3c_50"): ["experiment=dba3c", "environment=ba3c"],
    ("evaluation", "smoke_ba3c"): ["experiment=dba3c", "environment=ba3c"],
} | {
    part: ["experiment=dba3c"]
    for part in [
        ("algorithm", "actor_critic"),
        ("algorithm", "actor_critic_clip"),
        ("network", "ba3c_authors"),
        ("network", "dba3c_authors"),
        ("network", "nature_actor_critic"),
        ("param_server", "synchronous"),
        ("replay", "none"),
        ("topology", "workers"),
    ]
}
"""What must stand on the command line beside an option, since it makes no run by itself."""
PAPERS = (
    "Mnih et al. 2013",
    "Mnih et al. 2015",
    "Nair et al. 2015",
    "Dean et al. 2012",
    "Kingma & Ba 2015",
    "Schaul et al. 2016",
    "Wang et al. 2016",
    "Bellemare et al. 2017",
    "Fortunato et al. 2018",
    "Dabney et al. 2018",
    "Vieillard et al. 2020",
    "Schulman et al. 2017",
    "Hessel et al. 2018",
    "Horgan et al. 2018",
    "Mnih et al. 2016",
    "Adamski et al. 2017",
    "Adamski et al. 2018",
    "Machado et al. 2018",
    "Gallici et al. 2025",
    "van Hasselt et al. 2016",
)
THEIR_CODE = re.compile(r"authors' (best )?(code|command)|\((code|command)\b")
"""A source of its own where the head of the file names their paper."""
VALUE_LINE = re.compile(r"^\s*\w+: *[^\s#]")


@cache
def _composed(words: tuple[str, ...]) -> RunConfig:
    return overrides.compose(words)


def compose(words: Sequence[str]) -> RunConfig:
    """As the command line composes it; the same words are read once, for a composition takes half a second."""
    return _composed(tuple(words))


def value_lines(file: Path) -> list[str]:
    """Lines that give a setting a value; the defaults list gives none, and `hydra:` is Hydra's."""
    lines = file.read_text().splitlines()
    return [line for line in lines if VALUE_LINE.match(line)]


@pytest.mark.parametrize(("group", "option"), OPTIONS, ids=lambda word: word)
def test_every_option_of_every_group_composes_to_a_run_without_mistakes(group: str, option: str) -> None:
    run = compose([f"{group}={option}", "game=Pong", *NEEDED_BESIDE.get((group, option), [])])
    assert isinstance(run, RunConfig)
    assert run.mistakes() == []


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_is_named_after_its_file(experiment: str) -> None:
    assert compose([f"experiment={experiment}", "game=Pong"]).experiment == experiment


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_is_read_from_a_run_folder_as_it_was_written(experiment: str) -> None:
    run = compose([f"experiment={experiment}", "game=Pong"])
    assert run_of_yaml(to_yaml(run)) == run


class QLearning(NamedTuple):
    """The groups of a run of Q-learning that only such a run has."""

    algorithm: QLearningConfig
    network: QNetworkConfig
    replay: ReplayConfig


def q_learning(run: RunConfig) -> QLearning:
    match run.algorithm, run.network, run.replay:
        case QLearningConfig() as algorithm, QNetworkConfig() as network, ReplayConfig() as replay:
            return QLearning(algorithm, network, replay)
    raise AssertionError(f"{run.experiment} learns no Q-values")


@pytest.mark.parametrize(
    ("name", "torso"),
    [
        ("gorila", "dqn_2013"),
        ("gorila_quantile", "dqn_2013"),
        ("dqn", "dqn_2013"),
        ("rainbow", "nature"),
        ("apex", "nature"),
    ],
)
def test_a_smoke_experiment_is_its_system_made_small(name: str, torso: str) -> None:
    system, smoke = (compose([f"experiment={file}", "game=Pong"]) for file in (name, f"smoke_{name}"))
    assert smoke.optimizer == system.optimizer
    assert smoke.topology.kind == system.topology.kind
    assert smoke.param_server.num_shards == system.param_server.num_shards
    assert q_learning(smoke).algorithm.n_step == q_learning(system).algorithm.n_step
    assert q_learning(smoke).replay.priority_exponent == q_learning(system).replay.priority_exponent
    assert isinstance(system.network, LayeredConfig)
    assert smoke.network == dataclasses.replace(system.network, torso=torso, hidden_units=16)
    assert smoke.evaluation.protocol == "smoke"
    assert smoke.budget.frames is not None and smoke.budget.frames <= 10_000
    assert smoke.evaluation.num_episodes == 2


def test_dba3c_made_small_is_dba3c_on_the_games_of_its_paper() -> None:
    dba3c, smoke = (compose([f"experiment={name}", "game=Pong"]) for name in ("dba3c", "smoke_dba3c"))
    assert smoke.param_server == dba3c.param_server
    # Its updates are fewer than those of the warm-up.
    assert smoke.optimizer == dataclasses.replace(dba3c.optimizer, learning_rate=5e-4, learning_rate_changes=())
    assert smoke.topology == dataclasses.replace(dba3c.topology, num_lanes=4)
    assert isinstance(dba3c.algorithm, ActorCriticConfig)
    assert smoke.algorithm == dataclasses.replace(dba3c.algorithm, batch_size=20)
    assert smoke.replay is None
    # There are more parts to turn: colours, random skips, sticky actions.
    paper = compose(["experiment=dba3c_paper", "game=Pong"])
    assert isinstance(paper.network, LayeredConfig)
    assert smoke.network == dataclasses.replace(paper.network, hidden_units=16)
    assert smoke.environment == paper.environment
    assert smoke.evaluation.protocol == "smoke_ba3c" and smoke.evaluation.num_episodes == 2
    assert smoke.budget.frames is not None and smoke.budget.frames <= 10_000


def test_dba3c_and_its_baseline_differ_only_where_the_systems_do() -> None:
    dba3c, ba3c = (compose([f"experiment={name}", "game=Pong"]) for name in ("dba3c", "ba3c"))
    alike = ("network", "optimizer", "environment", "replay", "evaluation", "training_evaluation", "budget")
    assert [name for name in alike if getattr(dba3c, name) != getattr(ba3c, name)] == []
    assert ba3c.param_server == dataclasses.replace(dba3c.param_server, num_shards=1)
    assert ba3c.topology.kind == "single" and ba3c.topology.num_lanes == 2 * dba3c.topology.num_lanes
    assert isinstance(dba3c.algorithm, ActorCriticConfig)
    # Two workers: their update is the mean of two gradients.
    assert ba3c.algorithm == dataclasses.replace(dba3c.algorithm, batch_size=2 * dba3c.algorithm.batch_size)


def test_dba3c_of_the_paper_has_the_authors_settings_whatever_dba3c_has_instead() -> None:
    paper = compose(["experiment=dba3c_paper", "game=Pong"])
    files = (
        "algorithm/actor_critic",
        "network/dba3c_authors",
        "optimizer/adam_dba3c",
        "environment/ba3c",
        "evaluation/ba3c_50",
    )
    for file in files:
        settings = yaml.safe_load((CONF / f"{file}.yaml").read_text())
        settings.pop("defaults", None)
        composed = getattr(paper, file.split("/")[0])
        assert {name: getattr(composed, name) for name in settings} == {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
    assert isinstance(paper.topology, WorkersConfig)
    assert (paper.topology.num_workers, paper.topology.num_backup_workers, paper.param_server.num_shards) == (60, 4, 4)


def test_an_update_of_dba3c_is_made_of_every_lane_s_segments() -> None:
    run = compose(["experiment=dba3c", "game=Pong"])
    assert isinstance(run.algorithm, ActorCriticConfig)
    assert run.algorithm.batch_size == run.topology.num_lanes * run.algorithm.t_max


@pytest.mark.parametrize("suffix", ["", "_quick"])
def test_dba3c_clip_is_dba3c_with_another_objective_and_ba3c_may_have_it(suffix: str) -> None:
    clip, dba3c = (compose([f"experiment={name}{suffix}", "game=Pong"]) for name in ("dba3c_clip", "dba3c"))
    alike = ("environment", "replay", "evaluation", "training_evaluation", "budget", "param_server", "topology")
    assert [name for name in alike if getattr(clip, name) != getattr(dba3c, name)] == []
    assert isinstance(clip.algorithm, ActorCriticConfig) and isinstance(dba3c.algorithm, ActorCriticConfig)
    t_max, lanes = 16, clip.topology.num_lanes
    assert clip.algorithm == dataclasses.replace(
        dba3c.algorithm,
        t_max=t_max,
        batch_size=lanes * t_max,
        gae_lambda=0.95,
        clip_range=0.1,
        num_passes=3,
        normalised_advantages=True,
    )
    assert compose([f"experiment=ba3c{suffix}", "algorithm=actor_critic_clip", "game=Pong"]).mistakes() == []


@pytest.mark.parametrize("suffix", ["", "_quick"])
def test_pqn_learns_values_on_the_system_of_dba3c_and_on_games_and_evaluations_of_dqn(suffix: str) -> None:
    pqn, dba3c, dqn = (compose([f"experiment={name}", "game=Pong"]) for name in (f"pqn{suffix}", "dba3c", "dqn"))
    assert (pqn.param_server, pqn.topology, pqn.replay) == (dba3c.param_server, dba3c.topology, None)
    assert (pqn.environment, pqn.evaluation) == (dqn.environment, dqn.evaluation)
    assert isinstance(pqn.algorithm, PqnConfig)
    assert pqn.algorithm.batch_size == pqn.topology.num_lanes * pqn.algorithm.t_max, "made of every lane"


def test_gorila_and_its_baseline_differ_only_where_the_systems_do() -> None:
    gorila, dqn = (compose([f"experiment={name}", "game=Pong"]) for name in ("gorila", "dqn"))
    assert (gorila.environment, gorila.evaluation, gorila.network) == (dqn.environment, dqn.evaluation, dqn.network)
    assert (gorila.replay, gorila.budget) == (dqn.replay, dqn.budget)
    assert q_learning(gorila).algorithm.outlier_deviations is not None
    assert q_learning(dqn).algorithm.outlier_deviations is None


def test_rainbow_is_dqn_with_all_its_options() -> None:
    rainbow, dqn = (compose([f"experiment={name}", "game=Pong"]) for name in ("rainbow", "dqn"))
    assert (rainbow.environment, rainbow.evaluation, rainbow.budget) == (dqn.environment, dqn.evaluation, dqn.budget)
    assert (rainbow.topology, rainbow.param_server) == (dqn.topology, dqn.param_server)
    algorithm, network, replay = q_learning(rainbow)
    assert algorithm.double and algorithm.n_step == 3 and algorithm.exploration.final_epsilon == 0.0
    assert network.dueling and network.noisy and network.num_atoms == 51
    assert replay.priority_exponent is not None
    algorithm, network, replay = q_learning(dqn)
    assert not algorithm.double and algorithm.n_step == 1
    assert not network.dueling and not network.noisy and network.num_atoms == 1
    assert replay.priority_exponent is None


def test_gorila_quantile_is_gorila_with_another_loss_and_optimizer() -> None:
    quantile, gorila = (compose([f"experiment={name}", "game=Pong"]) for name in ("gorila_quantile", "gorila"))
    alike = ("environment", "evaluation", "budget", "topology", "param_server", "replay")
    assert [name for name in alike if getattr(quantile, name) != getattr(gorila, name)] == []
    algorithm, network, _ = q_learning(quantile)
    assert algorithm == dataclasses.replace(q_learning(gorila).algorithm, n_step=3)
    assert network == dataclasses.replace(q_learning(gorila).network, num_quantiles=200)
    assert quantile.optimizer.kind == "adam"


def test_a_quick_quantile_network_is_small_too() -> None:
    quantile, gorila = (compose([f"experiment={name}_quick", "game=Pong"]) for name in ("gorila_quantile", "gorila"))
    assert q_learning(quantile).network == dataclasses.replace(q_learning(gorila).network, num_quantiles=50)
    assert (quantile.optimizer, quantile.budget) == (gorila.optimizer, gorila.budget)


def test_apex_has_many_epsilons_and_one_prioritised_replay() -> None:
    apex = compose(["experiment=apex", "game=Pong"])
    assert apex.topology.kind == "global"
    algorithm, network, replay = q_learning(apex)
    assert algorithm.double and algorithm.n_step == 3 and algorithm.exploration.lane_spread == 7.0
    assert network.dueling and not network.noisy
    assert replay.priority_exponent is not None


def test_evaluation_plays_like_training_except_for_the_cap() -> None:
    run = compose(["game=Pong", "evaluation=noop_starts"])
    assert run.evaluation.environment.max_frames == 18_000
    assert run.environment.max_frames == 108_000
    assert run.evaluation.environment.noop_max == run.environment.noop_max == 30


@pytest.mark.parametrize("file", sorted(CONF.rglob("*.yaml")), ids=lambda file: str(file.relative_to(CONF)))
def test_every_value_has_a_comment_on_its_line(file: Path) -> None:
    assert value_lines(file)
    assert [line for line in value_lines(file) if " # " not in line] == []


@pytest.mark.parametrize(("group", "option"), OPTIONS, ids=lambda word: word)
def test_every_number_names_the_paper_or_says_that_it_is_ours(group: str, option: str) -> None:
    file = CONF / group / f"{option}.yaml"
    head = " ".join(line for line in file.read_text().splitlines() if line.startswith("#"))
    names_authors = "authors" in head and any(paper in head for paper in PAPERS)

    def has_source(comment: str) -> bool:
        if names_authors and THEIR_CODE.search(comment):
            return True
        return any(word in comment for word in (*PAPERS, "Ours", "ours"))

    lines = value_lines(file)
    numbers = [line for line in lines if re.search(r": *-?[\d.][\d._e+-]* #", line)]
    unsourced = [line for line in numbers if not has_source(line.split(" # ")[1])]
    assert [line for line in unsourced if "only number" not in line] == []


@pytest.mark.parametrize("file", sorted(CONF.rglob("*.yaml")), ids=lambda file: str(file.relative_to(CONF)))
def test_a_number_is_a_number_for_every_yaml_reader(file: Path) -> None:
    # "1e-4" is text to YAML 1.1 readers, "1.0e-4" a number: a run's files are read by other tools too.
    def texts(node: object) -> list[str]:
        match node:
            case dict():
                return [text for value in node.values() for text in texts(value)]
            case str():
                return [node]
            case _:
                return []

    assert [text for text in texts(yaml.safe_load(file.read_text())) if re.fullmatch(r"\d[\d._]*(e-?\d+)?", text)] == []


def test_a_run_under_hydra_leaves_no_file_of_hydra_behind(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "import hydra, os\n"
        "from pipeline.config.composition import config_directory\n"
        "from pipeline.config.overrides import from_hydra\n"
        "@hydra.main(version_base='1.3', config_path=str(config_directory()), config_name='config')\n"
        "def job(config):\n"
        "    print(from_hydra(config).game, os.getcwd())\n"
        "job()\n"
    )
    (tmp_path / "work").mkdir()
    ran = subprocess.run(
        [sys.executable, str(program), "game=Pong", "seed=0"],
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["Pong", str(tmp_path / "work")]
    assert list((tmp_path / "work").iterdir()) == []
