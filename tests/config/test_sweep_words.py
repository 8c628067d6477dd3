"""Sweeps on a command line: their files, their launcher, and every mistake in naming them."""

import csv
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf

from pipeline.config.composition import CONFIG_NAME, HYDRA_VERSION_BASE, config_directory
from pipeline.config.overrides import check_command_line
from pipeline.games import ATARI49
from pipeline.results.published import published_directory
from tests.config.runs import mistakes_in

SWEEPS = sorted(file.stem for file in (config_directory() / "sweep").glob("*.yaml"))


def hydra_config(*words: str) -> Any:
    """What Hydra itself goes by in a command with these words, resolved."""
    with hydra.initialize_config_dir(str(config_directory()), version_base=HYDRA_VERSION_BASE):
        config = hydra.compose(CONFIG_NAME, overrides=["game=Pong", *words], return_hydra_config=True)
        OmegaConf.resolve(config.hydra.launcher)
        return config.hydra


def games_of(sweep: str) -> list[str]:
    return str(hydra_config(f"+sweep={sweep}").sweeper.params.game).split(",")


def test_the_sweeps_over_49_games_have_all_of_them_once() -> None:
    assert games_of("atari49") == games_of("smoke") == list(ATARI49)


def test_the_games_of_dba3c_are_those_with_a_listed_score_or_one_to_stop_at() -> None:
    with (published_directory() / "dba3c_scores.csv").open(newline="") as file:
        assert games_of("dba3c_games") == [row["game"] for row in csv.DictReader(file)]


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_jobs_of_every_sweep_are_runs_without_mistakes(sweep: str) -> None:
    games = [] if hydra_config(f"+sweep={sweep}").sweeper.params.get("game") else ["game=Pong"]
    assert check_command_line(["-m", f"+sweep={sweep}", *games, "hydra/launcher=dask"]) == []


def test_a_sweep_that_names_no_game_leaves_that_to_the_command_line() -> None:
    assert check_command_line(["-m", "+sweep=optuna_example"]) == ["game is missing: name one, e.g. game=Breakout"]


def test_names_and_both_ends_of_what_a_search_tries_are_checked_before_its_first_trial(tmp_path: Path) -> None:
    text = (config_directory() / "sweep" / "optuna_example.yaml").read_text(encoding="utf-8")
    text = text.replace("tag(log, interval(0.0001, 0.002))", "interval(-1, 0.002)")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "mine.yaml").write_text(text.replace("entropy_weight: choice", "entropy_wieght: choice"))
    found = check_command_line(["-m", "+sweep=mine", "game=Pong", "--config-dir", str(tmp_path)])
    assert "optimizer.learning_rate=-1.0 must be positive" in found
    assert "algorithm.entropy_wieght=0.01: no such setting; did you mean algorithm.entropy_weight?" in found


def test_a_sweep_file_may_leave_what_it_goes_over_to_words(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "mine.yaml").write_text("# @package _global_\nresults_dir: elsewhere\n")
    words = "-m +sweep=mine experiment=dqn game=Pong,Boxing --config-dir".split()
    assert check_command_line([*words, str(tmp_path)]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# @package _global_\ndefaults:\n\t- gorila\n", "found character '\\t'"),
        ("# @package _global_\nseed: 1\nseed: 2\n", "duplicate key seed"),
        ("# @package _global_\nseed 1\ngame: Pong\n", "mapping values are not allowed here"),
        ("# @package _global_\ndefaults: 3\n", "defaults"),
    ],
)
def test_a_file_of_one_s_own_that_is_no_yaml_is_one_mistake(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    (line,) = check_command_line(["--config-dir", str(tmp_path), "experiment=mine", "game=Pong"])
    assert line.startswith("Hydra cannot compose this: ") and said in line


def test_a_launcher_of_one_s_own_is_known_and_the_dask_one_under_another_name_too(tmp_path: Path) -> None:
    (tmp_path / "hydra" / "launcher").mkdir(parents=True)
    (tmp_path / "hydra" / "launcher" / "site.yaml").write_text("defaults:\n  - dask\n  - _self_\nretries: 5\n")
    words = ["-m", "--config-dir", str(tmp_path), *"hydra/launcher=site experiment=dqn game=Pong".split()]
    assert check_command_line([*words, "hydra.launcher.num_hosts=2"]) == []
    assert check_command_line([*words, "hydra.launcher.num_hots=2"]) == [
        "hydra.launcher.num_hots=2: no such setting; did you mean hydra.launcher.num_hosts?"
    ]
    (unfit,) = check_command_line([*words, "cluster=ssh", "cluster.hosts=[a,b]"])
    assert unfit.startswith("cluster=ssh: hydra/launcher=dask runs all jobs on one cluster")
    hosts, unfit = check_command_line([*words, "cluster=ssh"])
    assert "hosts" in hosts and unfit.startswith("cluster=ssh: hydra/launcher=dask"), "all at once"


def test_the_cluster_of_a_file_is_looked_at_as_a_typed_one_is(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - dqn\n  - override /cluster: slurm\n  - _self_\nexperiment: mine\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    words = ["-m", "--config-dir", str(tmp_path), "hydra/launcher=dask", "game=Pong"]
    (unfit,) = check_command_line([*words, "experiment=mine"])
    assert unfit.startswith("cluster=slurm of a file: hydra/launcher=dask runs all jobs on one cluster")
    groups = ["cluster=address", "cluster.address=tcp://10.0.0.1:8786", "cluster.groups=[{name: g, roles: [bundle]}]"]
    assert check_command_line([*words, "experiment=gorila", *groups]) == [
        "cluster.groups: a sweep grants its jobs whatever host is free: leave out groups"
    ]


def test_an_address_that_only_files_of_the_sweep_name_is_to_be_typed(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    text = (
        "# @package _global_\ndefaults:\n  - dqn\n  - override /cluster: address\n  - _self_\n"
        "experiment: {0}\ncluster:\n  address: tcp://10.0.0.{1}:8786\n"
    )
    for number, name in enumerate(("one", "other", "third")):
        (tmp_path / "experiment" / f"{name}.yaml").write_text(text.format(name, min(number, 1)))
    line = ["-m", "--config-dir", str(tmp_path), "hydra/launcher=dask", "game=Pong"]
    said = [
        f"cluster.address=tcp://10.0.0.{number}:8786: hydra/launcher=dask hears nothing of what a sweep goes over, nor "
        f"of its files: type cluster=address cluster.address=tcp://10.0.0.{number}:8786"
        for number in (0, 1)
    ]
    assert check_command_line([*line, "experiment=other,third"]) == said[1:]
    assert check_command_line([*line, "experiment=one,other,third"]) == said
    assert check_command_line([*line, "experiment=dqn,third"]) == said[1:]
    assert check_command_line([*line, "experiment=third", "seed=0,1"]) == [], "it is composed first"
    for heard in ("cluster.address=tcp://10.0.0.9:8786", "hydra.launcher.address=tcp://10.0.0.9:8786"):
        assert check_command_line([*line, "experiment=other,third", heard]) == []


def test_the_optuna_example_tunes_two_settings_by_the_score() -> None:
    sweeper = hydra_config("+sweep=optuna_example").sweeper
    assert (len(sweeper.params), sweeper.direction, sweeper.seed) == (2, "maximize", 0)
    assert "ask_and_tell" in sweeper._target_


def test_a_sweep_is_kept_in_a_folder_of_its_name_and_others_together() -> None:
    assert Path(hydra_config("+sweep=atari49").sweep.dir) == Path("results/sweeps/atari49")
    assert Path(hydra_config().sweep.dir) == Path("results/sweeps/ad_hoc")


def test_the_launcher_asks_the_plan_and_takes_its_cluster_from_the_run_s_settings(tmp_path: Path) -> None:
    here = hydra_config("hydra/launcher=dask").launcher
    assert (here.address, here.start_timeout_seconds) == (None, 60.0)
    assert here.needs == "pipeline.experiments.sweeps.job.job_needs"
    files = [tmp_path / name for name in ("ca", "cert", "key")]
    words = [f"cluster.tls_{file.name}_file={file}" for file in files]
    there = hydra_config(
        "hydra/launcher=dask", "cluster=address", "cluster.address=tls://10.0.0.1:8786", *words
    ).launcher
    assert (there.address, there.start_timeout_seconds) == ("tls://10.0.0.1:8786", 600.0)
    assert [there[f"tls_{file.name}_file"] for file in files] == [str(file) for file in files]


def test_what_is_said_of_the_launcher_on_the_command_line_wins() -> None:
    words = ["hydra/launcher=dask", "cluster.dashboard_address=127.0.0.1:8787", "hydra.launcher.num_hosts=3"]
    launcher = hydra_config(*words, "hydra.launcher.address=tcp://10.0.0.2:8786").launcher
    assert (launcher.num_hosts, launcher.address) == (3, "tcp://10.0.0.2:8786")
    assert launcher.dashboard_address == "127.0.0.1:8787"


@pytest.mark.parametrize(
    ("line", "mistakes"),
    [
        ("-m +sweep=atari94", ["+sweep=atari94: no such sweep; did you mean atari49?"]),
        ("+sweep=atari49", ["+sweep=atari49: a sweep is many runs, which need --multirun (-m)"]),
        ("game=Pong hydra/launcher=dask",
         ["hydra/launcher=dask: a sweep is many runs, which need --multirun (-m)"]),
        ("game=Pong hydra/sweeper=ask_and_tell hydra/launcher=basic",
         ["hydra/sweeper=ask_and_tell: a sweep is many runs, which need --multirun (-m)"]),
        ("-m sweep=atari49", ["sweep=atari49: write +sweep=atari49"]),
        ("-m +sweep=atari49,smoke",
         ["+sweep=atari49,smoke: one sweep at a time; its experiments, games and seeds may be many"]),
        ("-m +sweep=atari49 game=Pongg seed=-1",
         ["game=Pongg: no such game; did you mean Pong?", "seed=-1 must be at least 0"]),
        ("-m +sweep=atari49 experiment=dqn,gorilla",
         ["experiment=gorilla: no such experiment; did you mean gorila?"]),
        ("-m +sweep=atari49 hydra/launcher=daks", ["hydra/launcher=daks: no such launcher; did you mean dask?"]),
        ("-m +sweep=atari49 hydra/launcher=dask hydra.launcher.num_hots=2",
         ["hydra.launcher.num_hots=2: no such setting; did you mean hydra.launcher.num_hosts?"]),
        ("-m +sweep=atari49 hydra.launcher.retries=2",
         ["hydra.launcher.retries=2: no such setting with hydra/launcher=basic; it belongs to dask"]),
        ("-m +sweep=atari49 hydra/launcher=dask cluster=slurm",
         ["cluster=slurm: hydra/launcher=dask runs all jobs on one cluster: its own on this machine, or "
          "cluster=address; start hosts there as docs/sweeps.md shows"]),
    ],
)  # fmt: skip
def test_each_mistake_in_naming_a_sweep_or_its_launcher_has_its_line(line: str, mistakes: list[str]) -> None:
    assert check_command_line(line.split()) == mistakes


def test_a_folder_of_the_sweep_that_cannot_be_written_is_told_with_the_other_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["game=Pong", "seed=0,1", f"results_dir={tmp_path}"]
    assert mistakes_in(words, multirun=True) == []
    # As in a checkout that is read-only; the folder of one run alone is what results_dir says.
    monkeypatch.chdir("/proc")
    assert mistakes_in(["game=Pong", f"results_dir={tmp_path}"]) == []
    for which, folder in (
        (["game=Pong"], "results/sweeps/ad_hoc"),
        (["+sweep=smoke"], "results/sweeps/smoke"),
        (["game=Pong", "hydra.sweep.dir=/proc/sweep"], "/proc/sweep"),
    ):
        (told,) = mistakes_in([*words[1:], *which], multirun=True)
        assert told.startswith(f"hydra.sweep.dir={folder} cannot be written: ")
    both = mistakes_in([*words, "replay.capcity=1"], multirun=True)
    assert len(both) == 2 and "did you mean" in both[0] and both[1].startswith("hydra.sweep.dir=")
    assert mistakes_in([*words, f"hydra.sweep.dir={tmp_path}/new"], multirun=True) == []
    assert mistakes_in([*words, "plan=true"], multirun=True) == [], "nothing is written"


def test_a_file_of_one_s_own_may_say_where_a_sweep_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "experiment").mkdir()
    mine = "# @package _global_\ndefaults: [dqn]\nhydra:\n  sweep:\n    dir: {}\n"
    monkeypatch.chdir("/proc")
    words = ["-m", "--config-dir", str(tmp_path), "experiment=mine", "game=Pong", "seed=0,1", f"results_dir={tmp_path}"]
    for folder, mistakes in ((tmp_path / "sweep", 0), (Path("/proc/sweep"), 1)):
        (tmp_path / "experiment" / "mine.yaml").write_text(mine.format(folder))
        told = check_command_line(words)
        assert [line.startswith(f"hydra.sweep.dir={folder} cannot be written: ") for line in told] == [True] * mistakes
