"""Which role carries an algorithm out."""

from dataclasses import dataclass

import pytest

from pipeline.algorithms.config import ActorCriticConfig, AlgorithmConfig, PqnConfig, QLearningConfig
from pipeline.errors import ConfigError
from pipeline.roles.bundle import Bundle
from pipeline.roles.q_worker import QWorker
from pipeline.roles.role import LearningRole, role_of
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker


@dataclass(frozen=True)
class OwnConfig(ActorCriticConfig):
    """Somebody's algorithm."""


@dataclass(frozen=True)
class OwnSpec(WorkerSpec):
    """What its role is built from."""

    algorithm: OwnConfig


@dataclass(frozen=True)
class HalfConfig(ActorCriticConfig):
    """Another one."""


@dataclass(frozen=True)
class HalfSpec(WorkerSpec):
    """What its role would be built from."""

    algorithm: HalfConfig


class HalfARole(LearningRole):
    """Its role, of which nothing is written."""

    SPEC = HalfSpec


class OwnWorker(Worker):
    """Its role."""

    SPEC = OwnSpec


def test_an_algorithm_s_role_is_the_one_whose_spec_is_of_it() -> None:
    assert role_of(QLearningConfig) is Bundle and role_of(ActorCriticConfig) is Worker
    assert role_of(PqnConfig) is QWorker
    assert role_of(OwnConfig) is OwnWorker


def test_an_algorithm_without_a_role_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="no role carries out AlgorithmConfig: where it is defined, derive one from"):
        role_of(AlgorithmConfig)


def test_half_a_role_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(ConfigError, match="HalfARole does not define build, close, done, progress, step, which Learni"):
        role_of(HalfConfig)
