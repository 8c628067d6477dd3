"""Our own contenders are runs that would start, with what they promise to have in common."""

from pathlib import Path

import pytest

from benchmarks.peers.contenders import Contender, Shared, contenders
from benchmarks.peers.environments import PACKAGES
from pipeline.config.overrides import compose
from pipeline.replay.config import ReplayConfig

SHARED = Shared("Pong", 2, "float32", Path("/checkout"))
EVERYBODY = contenders(SHARED)


@pytest.mark.parametrize("name", [name for name, contender in EVERYBODY.items() if contender.is_ours])
def test_ours_are_runs_of_the_experiments_with_the_settings_of_all(name: str) -> None:
    contender: Contender = EVERYBODY[name]
    num_roles, *words = contender.words
    config = compose(words)
    assert config.experiment == name and config.precision == "float32"
    assert config.topology.num_playing == int(num_roles) == contender.num_roles
    assert config.environment.mean_frame_skip == 4
    if isinstance(config.replay, ReplayConfig):
        assert (config.replay.capacity, config.replay.min_transitions) == (20_000, 1_000)
        assert config.replay.batch_size == 32


def test_others_have_an_environment_and_a_driver() -> None:
    drivers = Path("benchmarks/peers/drivers")
    for contender in EVERYBODY.values():
        assert contender.is_ours or contender.environment in PACKAGES
        assert (Path(__file__).resolve().parents[3] / drivers / f"{contender.driver}.py").exists()
