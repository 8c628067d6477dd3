"""Run folders of earlier versions are read as this version would have written them."""

from pathlib import Path

import pytest

from docs.site_pages import is_left_out
from pipeline.config.overrides import compose
from pipeline.config.tree import to_yaml
from pipeline.errors import ConfigError
from pipeline.older_settings import in_settings_of_today
from tests.config.runs import run_of_yaml

CHECKOUT = Path(__file__).resolve().parents[1]

OF_BEFORE_ACTOR_CRITICS = {f"reference_runs/gorila_quick/Breakout/{seed}" for seed in range(3)}
"""Folders under results/ whose settings have no kind of algorithm; their rows are all that is used of them."""


def test_a_setting_that_was_added_later_is_what_was_true_before_and_no_other_may_be_missing() -> None:
    run = compose(["experiment=gorila", "game=Pong"])
    lines = to_yaml(run).splitlines(keepends=True)
    added_later = (
        "logging: null",
        "centred_pixels: false",
        "policy: greedy",
        "decay_share: null",
        "init_from: null",
        "num_quantiles: 1",
        "layer_norm: false",
        "initial_weights: fan_in",
        "munchausen: false",
        "munchausen_weight: 0.9",
        "munchausen_temperature: 0.03",
        "munchausen_floor: -1.0",
    )
    of_before = [line for line in lines if line.strip() not in added_later]
    assert len(of_before) == len(lines) - len(added_later)
    assert run_of_yaml("".join(of_before)) == run
    with pytest.raises(ConfigError, match="seed is missing"):
        run_of_yaml("".join(line for line in lines if not line.startswith("seed:")))


def test_a_run_of_before_goes_on_with_the_outlier_rule_alone() -> None:
    lines = to_yaml(compose(["experiment=gorila", "game=Pong"])).splitlines(keepends=True)
    of_before = "".join(line for line in lines if "outlier_min_error" not in line)
    assert run_of_yaml(of_before) == compose(["experiment=gorila", "game=Pong", "algorithm.outlier_min_error=0"])


@pytest.mark.parametrize(
    ("words", "told", "did_nothing"),
    [
        (
            ["environment.frame_skip=1", "environment.min_frame_skip=1", "environment.max_pool=false"],
            "max_pool: false",
            "max_pool: true",
        ),
        ([], "noise_scale: null", "noise_scale: 0.5"),
    ],
)
def test_what_did_nothing_and_is_refused_since_is_left_out(words: list[str], told: str, did_nothing: str) -> None:
    run = compose(["experiment=dba3c", "game=Pong", *words])
    of_before = to_yaml(run).replace(told, did_nothing)
    assert of_before != to_yaml(run) and run_of_yaml(of_before) == run


@pytest.mark.parametrize(
    ("alike", "listed"),
    [
        ("{num_workers: 0, distribution: constant, mean_seconds: 0.0}", "[]"),
        ("{num_workers: 2, distribution: exponential, mean_seconds: 1}", "[[2,exponential,1],[3,exponential,1]]"),
    ],
)
def test_so_many_of_the_last_workers_that_straggle_alike_become_a_list(alike: str, listed: str) -> None:
    words = ["experiment=dba3c", "game=Pong", "topology.num_workers=3", "topology.num_backup_workers=1"]
    text = to_yaml(compose(words))
    of_before = text.replace("stragglers: []", f"stragglers: {alike}")
    assert of_before != text
    assert run_of_yaml(of_before) == compose([*words, f"topology.stragglers={listed}"])


@pytest.mark.parametrize(
    "alike", ["{num_workers: 1}", "{num_workers: 0, distribution: constant, mean_seconds: 0, a: 1}"]
)
def test_stragglers_that_no_version_wrote_are_refused(alike: str) -> None:
    text = to_yaml(compose(["experiment=dba3c", "game=Pong"]))
    with pytest.raises(ConfigError, match=r"topology.stragglers=.*: a list of \[worker"):
        run_of_yaml(text.replace("stragglers: []", f"stragglers: {alike}"))


def test_settings_of_today_are_left_as_they_are() -> None:
    tree = {
        "logging": "tensorboard",
        "deterministic": True,
        "init_from": "results/runs/dqn/Pong/0",
        "init_from_optimizer": True,
        "network": {"centred_pixels": True},
        "evaluation": {"policy": "sampled"},
    }
    assert in_settings_of_today(tree) == tree
    assert in_settings_of_today({"a": 1}) == {
        "a": 1,
        "logging": None,
        "deterministic": False,
        "init_from": None,
        "init_from_optimizer": False,
    }


def test_all_committed_run_folders_can_be_read_but_the_oldest() -> None:
    results = CHECKOUT / "results"
    unread = set()
    for path in results.rglob("config.yaml"):
        if is_left_out(str(path.relative_to(CHECKOUT))):  # a user's own runs, of whatever version
            continue
        try:
            run_of_yaml(path.read_text())
        except ConfigError:
            unread.add(str(path.parent.relative_to(results)))
    assert unread == OF_BEFORE_ACTOR_CRITICS
