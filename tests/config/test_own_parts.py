"""Classes of a user's own are made and tried for a new run, and for no run that is only read."""

from dataclasses import dataclass, fields, replace
from importlib import import_module

import pytest

from pipeline.algorithms.config import ActorCriticConfig
from pipeline.config.overrides import compose
from pipeline.config.own_parts import faults_of_own_parts
from pipeline.config.tree import to_yaml
from pipeline.networks.config import QNetworkConfig
from pipeline.networks.network import QNetwork
from tests.config.runs import mistakes_in, run_of_yaml
from tests.conftest import OWN

CONF = OWN / "conf"
MINE = ["experiment=mine", "game=Pong"]

pytestmark = pytest.mark.usefixtures("own_package")


@dataclass(frozen=True)
class Alone(ActorCriticConfig):
    """An algorithm that no role carries out."""


@dataclass(frozen=True)
class Broken(QNetworkConfig):
    """A network that cannot be made."""

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> QNetwork:
        """Raises."""
        raise ValueError(f"{num_actions} actions\nare too many")


def test_right_ones_have_no_faults() -> None:
    assert faults_of_own_parts(compose(MINE, CONF)) == []
    assert faults_of_own_parts(compose(["experiment=gorila", "game=Pong"])) == []


def test_an_algorithm_without_a_role_is_told_before_any_run_of_a_sweep() -> None:
    run = compose(["experiment=dba3c", "game=Pong"])
    values = {field.name: getattr(run.algorithm, field.name) for field in fields(run.algorithm)}
    (line,) = faults_of_own_parts(replace(run, algorithm=Alone(**values | {"kind": "my.Alone"})))
    assert line.startswith("algorithm.kind=my.Alone: no role carries out Alone: where it is defined, derive one from ")


def test_a_network_that_cannot_be_made_is_told_with_what_it_was_made_for() -> None:
    run = compose(["experiment=gorila", "game=Pong"])
    values = {field.name: getattr(run.network, field.name) for field in fields(run.network)}
    assert faults_of_own_parts(replace(run, network=Broken(**values | {"kind": "my.Broken"}))) == [
        "network.kind=my.Broken cannot be made for (4, (84, 84), 6): ValueError: 6 actions are too many"
    ]


def test_who_reads_a_saved_run_tries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = to_yaml(compose(MINE, CONF))
    monkeypatch.setattr(import_module("mylab.lion").Lion, "apply", lambda *_: None)
    assert run_of_yaml(saved).experiment == "mine"
    (line,) = mistakes_in(MINE, config_dir=CONF)
    assert "leaves the parameters as they are" in line
