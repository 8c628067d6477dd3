"""Command lines to runs: everything that is wrong with one is reported at once."""

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from pipeline.config import tree as config_tree
from pipeline.config.composition import CONFIG_NAME, HYDRA_VERSION_BASE, Files, config_directory, resolved
from pipeline.config.overrides import check_command_line, compose, compose_cluster, compose_onto, from_hydra
from pipeline.config.tree import to_yaml, tree_from_yaml
from pipeline.errors import ConfigError
from pipeline.optimizers.config import AdamConfig, RMSPropConfig
from tests.config.runs import mistakes_in

CHECKOUT = Path(__file__).resolve().parents[2]


def check(words: str) -> list[str]:
    return mistakes_in(words.split())


def test_the_overrides_of_a_command_line_make_the_run() -> None:
    run = compose(["experiment=dqn", "game=Breakout", "seed=3", "budget.frames=2_000_000", "cluster=processes"])
    assert (run.experiment, run.game, run.seed, run.budget.frames) == ("dqn", "Breakout", 3, 2_000_000)
    assert run.cluster.kind == "processes"
    assert isinstance(run.optimizer, RMSPropConfig)


def test_a_group_chosen_on_the_command_line_wins_over_the_experiment() -> None:
    run = compose(["experiment=dqn", "optimizer=adam", "optimizer.beta2=0.99", "game=Pong"])
    assert isinstance(run.optimizer, AdamConfig)
    assert run.optimizer.beta2 == 0.99


def test_seed_zero_is_a_seed_and_null_is_a_value() -> None:
    run = compose(["game=Pong", "seed=0", "param_server.max_staleness=null"])
    assert (run.seed, run.param_server.max_staleness) == (0, None)


def test_a_network_that_had_the_name_of_an_experiment_is_answered_with_its_name_now() -> None:
    for name in ("dba3c", "ba3c"):
        assert check(f"experiment=dba3c game=Pong network={name}") == [
            f"network={name}: it is now called {name}_authors: write network={name}_authors"
        ]


def test_five_mistakes_of_one_command_line_are_five_lines() -> None:
    words = "experiment=gorilla game=Pongg optimizer.lerning_rate=1 param_server.num_shards=0 seed=-1"
    with pytest.raises(ConfigError) as caught:
        compose(words.split())
    assert caught.value.mistakes == (
        "experiment=gorilla: no such experiment; did you mean gorila?",
        "optimizer.lerning_rate=1: no such setting; did you mean optimizer.learning_rate?",
        "game=Pongg: no such game; did you mean Pong?",
        "seed=-1 must be at least 0",
        "param_server.num_shards=0 must be at least 1",
    )


def test_a_run_without_a_game_is_told_so_beside_its_other_mistakes() -> None:
    assert check("seed=abc checkpoint.keep=0") == [
        "seed=abc: an integer is expected",
        "game is missing: name one, e.g. game=Breakout",
        "checkpoint.keep=0 must be at least 1",
    ]


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        ("optimizer=adamw", "optimizer=adamw: no such optimizer; did you mean adam?"),
        ("evaluation=x",
         "evaluation=x: no such evaluation; there is ba3c_50, ba3c_50_deterministic, ba3c_50_nature, noop_starts, "
         "noop_starts_30min, smoke, smoke_ba3c, start_states, sticky"),
        ("optimizer={kind:adam}",
         "optimizer={kind:adam}: no such optimizer; there is adagrad, adam, adam_dba3c, rmsprop"),
        ("optimizer.kind=adam",
         "optimizer.kind=adam: each kind has its own settings; write optimizer=NAME, one of adagrad, adam, "
         "adam_dba3c, rmsprop"),
        ("optimizer=adam optimizer.initial_accumulator=1",
         "optimizer.initial_accumulator=1: no such setting of optimizer kind=adam; it belongs to kind=adagrad"),
        ("cluster.address=tcp://a:1",
         "cluster.address=tcp://a:1: no such setting of cluster kind=threads; it belongs to kind=address"),
        ("cluster.kind=ssh",
         "cluster.kind=ssh: each kind has its own settings; write cluster=NAME, one of address, kubernetes, "
         "processes, slurm, ssh, threads"),
        ("cluster=slurm cluster.directives=-x", "cluster.directives=-x: a list of texts, like [a,b], is expected"),
        ("cluster=slurm cluster.directives=[--exclusive,[a]]",
         "cluster.directives=[--exclusive, [a]]: a list of texts, like [a,b], is expected"),
        ("cluster=kubernetes", "cluster.image is missing: kind=kubernetes needs cluster.image=registry/name:tag"),
        ("evaluation.environment.stak=4",
         "evaluation.environment.stak=4: no such setting; did you mean evaluation.environment.stack?"),
        ("+foo=1", "+foo=1: no such setting; a run has experiment, game, seed, device, deterministic, precision, "
                   "results_dir, resume, init_from, init_from_optimizer, overwrite, plan and 14 more"),
        ("+optimizer.momentum=1",
         "+optimizer.momentum=1: no such setting; optimizer has kind, learning_rate, learning_rate_changes, "
         "epsilon, initial_accumulator"),
        ("+seed=1", "+seed=1: seed is there already; write seed=1"),
        ("+optimizer=adam", "+optimizer=adam: optimizer is chosen already; write optimizer=adam"),
        ("++optimizer=adam", "++optimizer=adam: optimizer is chosen already; write optimizer=adam"),
        ("~seed", "~seed: a run needs seed"),
        ("~optimizer", "~optimizer: a run needs optimizer"),
        ("~algorithm.discount=0.99", "~algorithm.discount=0.99: a run needs algorithm.discount"),
        ("resume=maybe", "resume=maybe: true or false is expected"),
        ("replay.capacity=null",
         "replay.capacity=null and capacity_bytes=null: exactly one of them must be given, the other null"),
        ("replay.capacity=2.5", "replay.capacity=2.5: an integer or null is expected"),
        ("lr=3e-4", "lr=3e-4: no such setting; did you mean optimizer.learning_rate?"),
        ("env=foo", "env=foo: no such setting; did you mean game?"),
        ("game=BreakoutNoFrameskip-v4", "game=BreakoutNoFrameskip-v4: no such game; did you mean Breakout?"),
        ("game=ALE/MsPacman-v5", "game=ALE/MsPacman-v5: no such game; did you mean MsPacman?"),
        ("budget=60", "budget=60: budget is no single setting; set budget.frames, budget.minutes, budget.score"),
        ("algorithm.exploration=0.1",
         "algorithm.exploration=0.1: algorithm.exploration is no single setting; set "
         "algorithm.exploration.initial_epsilon, algorithm.exploration.final_epsilon, "
         "algorithm.exploration.decay_updates, algorithm.exploration.decay_share, algorithm.exploration.lane_spread"),
        ("budget={frames:x}", "budget.frames=x: an integer or null is expected"),
        ("seed", "seed: Hydra cannot read this: missing EQUAL at '<EOF>'"),
        ("seed=[1", "seed=[1: Hydra cannot read this: no viable alternative at input '[1'"),
        ("seed=1,2", "seed=1,2: several values need --multirun (-m), or quotes if it is one text"),
        ("cluster=address", "cluster.address is missing: kind=address needs cluster.address=tcp://host:port"),
        ("resume=true overwrite=true",
         "resume=true and overwrite=true exclude each other: go on in the run folder, or replace it"),
        ("topology=global topology.num_replay_shards=3",
         "topology.num_replay_shards=3 must be at most num_actors=2: an actor writes to one shard, the others would "
         "stay empty"),
        ("topology=global topology.traffic.prefetch=-1", "topology.traffic.prefetch=-1 must be at least 0"),
        ("topology.num_actors=3",
         "topology.num_actors=3: no such setting of topology kind=bundled; it belongs to kind=global"),
        ("experiment=dba3c replay.batch_size=3",
         "replay.batch_size=3: no such setting; did you mean algorithm.batch_size?"),
        ("experiment=dba3c replay=null", "replay=null: no such replay; did you mean none?"),
        ("cluster=slurm cluster.groups=[{name:a,role:learner}]",
         "cluster.groups=[{name: a, role: learner}]: a list of groups with name, roles and what their hosts have, like "
         "[{name:gpus,roles:[learner],gpus_per_host:1}], is expected"),
        ("cluster=slurm cluster.groups=[{name:a,roles:[learner]}]",
         "cluster.groups: a has the role learner, of which this run has none: it has bundle, shard"),
        ("cluster=slurm cluster.groups=[{name:a,roles:[bundle]}] cluster.num_hosts=1",
         "cluster.num_hosts=1 must be at least 3: bundle-0, bundle-1 have hosts of their own"),
        ("cluster.groups=[{name:a,roles:[bundle]}]",
         "cluster.groups: all hosts of kind=threads are alike; kinds with groups are address, slurm, kubernetes"),
        ("experiment=dba3c topology.dynamic_quorum=true",
         "topology.dynamic_quorum=true needs num_backup_workers: without any an update waits for all"),
        ("experiment=dba3c topology.stragglers=[[1,0.5]]",
         "topology.stragglers=[[1, 0.5]]: a list of [worker, distribution, mean seconds], like [[1,constant,0.5]], is "
         "expected"),
        ("experiment=dba3c topology.stragglers=[[2,constant,0.5]]",
         "topology.stragglers: worker 2 is none of 0 to 1, backup workers included"),
        ("experiment=dba3c topology.stragglers.num_workers=1",
         "topology.stragglers.num_workers=1: no such setting; topology.stragglers is a single one, a list of [worker, "
         "distribution, mean seconds], like [[1,constant,0.5]], is expected"),
        ("optimizer.learning_rate_changes.first=1",
         "optimizer.learning_rate_changes.first=1: no such setting; optimizer.learning_rate_changes is a single one, a "
         "list of pairs, like [[1000,0.5],[2000,0.1]], is expected"),
        ("experiment=dba3c algorithm.entropy_weight_changes=[[1.5,0.1]]",
         "algorithm.entropy_weight_changes=[[1.5, 0.1]]: a list of pairs, like [[1000,0.5],[2000,0.1]], is expected"),
        ("experiment=dba3c algorithm.entropy_weight_changes=[[20,0.1],[10,0.2]]",
         "algorithm.entropy_weight_changes: updates [20, 10] must be positive and rising"),
        ("topology.num_workers=3",
         "topology.num_workers=3: no such setting of topology kind=bundled; it belongs to kind=workers"),
        ("results_dir=${nowhere}", "Interpolation key 'nowhere' not found full_key: results_dir object_type=dict"),
    ],
)  # fmt: skip
def test_each_kind_of_mistake_has_its_line(words: str, mistake: str) -> None:
    assert check(f"game=Pong {words}") == [mistake]


def test_what_only_hydra_can_tell_is_told_in_its_words_on_one_line() -> None:
    (mistake,) = check("game=Pong optimizer@elsewhere=adam")
    assert mistake.startswith("Hydra cannot compose this: ")
    assert "Could not override 'optimizer@elsewhere'." in mistake
    assert "\n" not in mistake


@pytest.mark.parametrize(
    "words",
    [
        "++seed=4",
        "budget={frames:4}",
        "budget.frames=null budget.minutes=1.5",
        "cluster=address cluster.address=tcp://10.0.0.1:8786",
        "results_dir='elsewhere/${game}' device=cpu",
        "evaluation.environment.noop_max=0",
        "environment@evaluation.environment=nature",
        "hydra/launcher=basic hydra.job.name=x",
    ],
)
def test_what_hydra_allows_and_a_run_can_use_is_no_mistake(words: str) -> None:
    assert check(f"game=Pong {words}") == []


@pytest.mark.parametrize(
    "words",
    [
        "game=Pong ++seed=4 budget={frames:4,minutes:2} optimizer=adam optimizer.beta1=0.5",
        "game=Qbert seed=2 evaluation.environment.noop_max=${seed} results_dir='elsewhere/${game}'",
    ],
)
def test_a_job_of_hydra_gets_the_same_run_as_a_notebook(words: str) -> None:
    with hydra.initialize_config_dir(str(config_directory()), version_base=HYDRA_VERSION_BASE):
        assert from_hydra(hydra.compose(CONFIG_NAME, overrides=words.split())) == compose(words.split())


def test_composing_inside_of_a_running_hydra_leaves_it_as_it_was() -> None:
    with hydra.initialize_config_dir(str(config_directory()), version_base=HYDRA_VERSION_BASE):
        running = GlobalHydra.instance().hydra
        assert compose(["game=Pong"]).game == "Pong"
        assert GlobalHydra.instance().hydra is running
    assert not GlobalHydra.instance().is_initialized()


def test_each_choice_of_a_sweep_is_checked() -> None:
    line = "-m game=Pong,Brakout,Boxing seed=range(-1,2) experiment=gorila,dqn optimizer=adam,adamax hydra.verbose=true"
    assert sorted(check_command_line(line.split())) == [
        "game=Brakout: no such game; did you mean Breakout?",
        "optimizer=adamax: no such optimizer; did you mean adam?",
        "seed=-1 must be at least 0",
    ]


def test_a_setting_must_fit_every_option_that_is_swept() -> None:
    words = [
        "-m",
        "game=Pong",
        "optimizer=choice(adam,rmsprop)",
        "optimizer.beta1=0.8",
        "results_dir=${optimizer.kind}",
    ]
    assert check_command_line(words) == [
        "optimizer.beta1=0.8: no such setting of optimizer kind=rmsprop; it belongs to kind=adam"
    ]


@pytest.mark.parametrize(
    ("swept", "told_by"),
    [
        ("algorithm.double=true,false", "algorithm.double"),
        ("budget.frames=1000,2000", "budget.frames"),
        ("optimizer=adam,rmsprop", "optimizer.kind"),
        ("precision=float32,bfloat16", "precision"),
    ],
)
def test_runs_of_a_sweep_that_would_share_a_folder_are_refused(swept: str, told_by: str) -> None:
    name, words = swept.partition("=")[0], ["-m", "experiment=dqn", "game=Pong,Breakout", "seed=0,1", swept]
    assert check_command_line(words) == [
        f"{name}: runs that differ in it alone would share the folder results/runs/dqn/Pong/0; give each its own "
        f"with a results_dir that names what differs, e.g. 'results_dir=results/runs/${{{told_by}}}'"
    ]
    assert check_command_line([*words, f"results_dir=results/runs/${{{told_by}}}"]) == []
    assert check_command_line([*words, "plan=true"]) == []


def test_for_a_group_whose_options_have_no_name_among_their_settings_no_wrong_way_out_is_shown() -> None:
    for words in (
        ["experiment=dqn", "evaluation=noop_starts,sticky"],
        ["experiment=dba3c", "network=dba3c_authors,ba3c_authors"],
    ):
        (mistake,) = check_command_line(["-m", "game=Pong", *words])
        assert mistake.endswith("give each its own with a results_dir that names what differs")


@pytest.mark.parametrize(
    ("swept", "mistakes"),
    [
        (
            "optimizer.lerning_rate=1e-3,1e-4",
            [
                "optimizer.lerning_rate=0.001: no such setting; did you mean optimizer.learning_rate?",
                "optimizer.lerning_rate=0.0001: no such setting; did you mean optimizer.learning_rate?",
            ],
        ),
        ("seed=x,0", ["seed=x: an integer is expected"]),
    ],
)
def test_a_swept_word_that_is_wrong_tells_nothing_of_folders(swept: str, mistakes: list[str]) -> None:
    assert check_command_line(["-m", "experiment=dqn", "game=Pong", swept]) == mistakes


def test_a_glob_sweeps_over_the_files_of_its_group() -> None:
    words = ["-m", "game=Pong", "optimizer=glob(ad*)", "results_dir=runs/${optimizer.learning_rate}"]
    assert check_command_line(words) == []
    assert check_command_line(["-m", "game=Pong", "optimizer=glob(x*)"]) == [
        "optimizer=glob(x*): a sweep without values"
    ]


@pytest.mark.parametrize(
    "line", ["--help", "--hydra-help", "--cfg job", "--info defaults", "-c all seed=x", "-cp somewhere experiment=mine"]
)
def test_where_hydra_only_shows_something_or_reads_other_files_nothing_is_checked(line: str) -> None:
    assert check_command_line(line.split()) == []


def test_flags_are_told_from_overrides() -> None:
    assert check_command_line(["game=Pong", "seed=0"]) == []
    assert check_command_line(["--multirun", "game=Pong,Boxing"]) == []
    assert check_command_line(["-r", "gmae=Pong", "game=Pong"]) == ["gmae=Pong: no such setting; did you mean game?"]


def test_the_checkout_has_its_configuration_beside_the_package() -> None:
    assert config_directory() == CHECKOUT / "conf"


def test_an_installed_wheel_has_its_configuration_inside_the_package(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__")
    for package in ("pipeline", "dask_jobs", "hydra_plugins"):
        shutil.copytree(CHECKOUT / package, tmp_path / package, ignore=ignore)
    shutil.copytree(CHECKOUT / "conf", tmp_path / "pipeline" / "conf", ignore=ignore)
    (tmp_path / "conf").mkdir()  # another project's, beside ours in site-packages
    (tmp_path / "conf" / "config.yaml").write_text("not: ours\n")
    (tmp_path / "work").mkdir()
    program = (
        "from pipeline.config.composition import config_directory\n"
        "from pipeline.config.overrides import compose\n"
        "print(config_directory())\n"
        "print(compose(['experiment=dqn', 'game=Pong']).experiment)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [str(tmp_path / "pipeline" / "conf"), "dqn"]


def test_a_saved_run_takes_another_protocol_and_keeps_all_else() -> None:
    saved = compose(["experiment=dqn", "game=Pong", "seed=3", "algorithm.discount=0.9", "evaluation.num_episodes=7"])
    tree = tree_from_yaml(to_yaml(saved))
    changed = compose_onto(tree, ["evaluation.epsilon=0.01"], ("evaluation",))
    assert changed == dataclasses.replace(saved, evaluation=dataclasses.replace(saved.evaluation, epsilon=0.01))
    words = ["evaluation=sticky", "evaluation.environment.frame_skip=6"]
    changed = compose_onto(tree, words, ("evaluation",))
    assert (changed.seed, changed.algorithm) == (3, saved.algorithm)
    assert (changed.evaluation.protocol, changed.evaluation.num_episodes) == ("sticky", 30)
    assert changed.evaluation.environment.min_frame_skip == 6


def test_all_mistakes_in_changes_of_a_saved_run_are_told_at_once() -> None:
    tree = tree_from_yaml(to_yaml(compose(["experiment=dqn", "game=Pong"])))
    with pytest.raises(ConfigError) as caught:
        compose_onto(tree, ["seed=1", "evaluation=stickyy", "evaluation.epsilon=2"], ("evaluation",))
    assert caught.value.mistakes == (
        "seed=1: only settings of evaluation can be changed here",
        "evaluation=stickyy: no such evaluation; did you mean sticky?",
        "evaluation.epsilon=2.0 must lie in [0, 1]",
    )


def test_a_cluster_by_itself_may_be_smaller_than_a_run_would_need(tmp_path: Path) -> None:
    assert compose_cluster(["cluster=processes", "cluster.num_hosts=1"]).num_hosts == 1
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "lab.yaml").write_text("defaults: [processes]\nnum_hosts: 7\n")
    assert compose_cluster(["cluster=lab"], tmp_path).num_hosts == 7
    with pytest.raises(ConfigError, match="cluster=lab: no such"):
        compose_cluster(["cluster=lab"])
    with pytest.raises(ConfigError) as caught:
        compose_cluster(["cluster=address", "cluster.num_hosts=0", "cluster.adress=x"])
    assert caught.value.mistakes == (
        "cluster.adress=x: no such setting; did you mean cluster.address?",
        "cluster.num_hosts=0 must be at least 1, or null",
        "cluster.address is missing: kind=address needs cluster.address=tcp://host:port",
    )


@pytest.mark.parametrize(
    "words",
    [
        ["experiment=gorila", "game=Pong"],
        ["experiment=dba3c", "game=Pong", "optimizer=rmsprop", "optimizer.learning_rate=1e-3"],
        ["experiment=dqn", "game=Pong", "budget={frames: 4_000, minutes: 3}", "results_dir='a b/${seed}'", "seed=7"],
    ],
)
def test_a_run_is_what_hydra_composes_of_the_same_words(words: list[str]) -> None:
    assert compose(words) == config_tree.build(resolved(Files().compose_tree(words)))


def test_a_whole_number_may_be_written_as_a_power_of_ten() -> None:
    run = compose(["experiment=gorila", "game=Pong", "budget.frames=2e6"])
    assert run.budget.frames == 2_000_000 and type(run.budget.frames) is int


def test_functions_of_hydra_under_python_o_are_one_sentence() -> None:
    code = (
        "from pipeline.config.overrides import check_command_line\n"
        "print(*check_command_line(['seed=range(0,2)', '-m']))"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "seed=range(0,2): Hydra cannot read this: python -O takes its asserts away: leave out -O" in done.stdout
