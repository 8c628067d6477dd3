"""Steps per second of an actor that need not ask its network, beside ale-py's bare vector environment.

    actor   Actor.step: random actions -> AtariLanes -> LaneStep -> replay, scores and episode rows
    bare    AtariVectorEnv.step of the same settings, from the same seeds, with the same actions: the same games

Epsilon is 1, so what differs is what the pipeline adds around the emulator. The replay is full, as for most of a run:
while it fills, the system hands out its memory, which may cost more than writing it. One line per number of threads.
Not here: the network (`benchmarks.replay_share`), whole bundles (`benchmarks.gorila_scaling`).
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AutoresetMode

from benchmarks.replays import replay_of
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio
from pipeline import seeding
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.envs.atari import AtariLanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.experiments.plan import network_of
from pipeline.games import rom_name
from pipeline.interfaces import RowSink
from pipeline.networks import compute
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.replay.memory import ReplayMemory
from pipeline.roles.actor import Actor
from pipeline.roles.follower import Follower
from pipeline.roles.place import RolePlace
from pipeline.rows import Row
from pipeline.schedules import Extent
from pipeline.types import Int64Array, LaneStep

CAPACITY = 50_000
"""Agent steps of the replay, full from the start."""
ALWAYS_RANDOM = ExplorationConfig(
    initial_epsilon=1.0, final_epsilon=1.0, decay_updates=1, decay_share=None, lane_spread=0.0
)


def main(
    threads: tuple[int, ...] = (1, 2), num_rounds: int = 200, steps_per_round: int = 5, num_lanes: int = 16
) -> None:
    """Print one JSON line for each number of emulator threads."""
    config = compose(["experiment=dqn", "game=Pong", f"replay.capacity={CAPACITY}", f"topology.num_lanes={num_lanes}"])
    for num_threads in threads:
        variants = {
            name: _steps_per_second(make(config, num_threads), steps_per_round)
            for name, make in (("actor", actor_step), ("bare", bare_step))
        }
        measured = alternate(variants, num_rounds)
        report(
            "actor_stepping",
            game=config.game,
            num_threads=num_threads,
            num_lanes=num_lanes,
            **{f"{name}_steps_per_second": statistics.median(rates) for name, rates in measured.items()},
            actor_over_bare=median_ratio(measured["actor"], measured["bare"]),
        )


def actor_step(config: RunConfig, num_threads: int) -> Callable[[], int]:
    """A random actor's `step`, which returns the agent steps that it made."""
    environment, num_lanes = config.environment, config.topology.num_lanes
    network = network_of(config)
    assert isinstance(network, QNetwork)
    params = np.zeros(network.num_parameters, np.float32)
    shard = ParameterShard(ShardSnapshot(0, params, 0, params, {}), config.optimizer, config.param_server, generation=1)
    client = ParamClient([DirectShard(shard)], ParamLayout(params.size, 1), "benchmark", 1, config.param_server)
    device = compute.resolve_device("cpu")
    replica = QReplica(network, compute.resolve_precision("auto", device), device)
    replay = replay_of(config)
    _fill(replay, config)
    return Actor(
        RolePlace("bundle-0", 0, 1, 0, 0.0),
        AtariLanes(config.game, environment, num_lanes, num_threads),
        Follower(replica, client),
        1,
        ALWAYS_RANDOM,
        Extent(None, None),
        replay,
        _NoRows(),
        _action_rng(),
        torch.Generator(),
        _seeds(num_lanes),
    ).step


def bare_step(config: RunConfig, num_threads: int) -> Callable[[], int]:
    """The same with nothing around ale-py."""
    num_lanes = config.topology.num_lanes
    env = _bare_environment(config.game, config.environment, num_lanes, num_threads)
    env.reset(seed=_seeds(num_lanes))
    rng, num_actions = _action_rng(), len(env.ale.get_action_set())
    ended = np.zeros(num_lanes, np.bool_)

    def step() -> int:
        nonlocal ended
        num_steps = num_lanes - int(ended.sum())  # the step after an end only resets
        _, _, terminated, truncated, _ = env.step(rng.integers(num_actions, size=num_lanes))
        ended = terminated | truncated
        return num_steps

    return step


def _steps_per_second(step: Callable[[], int], num_calls: int) -> Callable[[], float]:
    def measure() -> float:
        start = time.perf_counter()
        num_steps = sum(step() for _ in range(num_calls))
        return num_steps / (time.perf_counter() - start)

    return measure


class _NoRows(RowSink):
    def emit(self, row: Row) -> None:
        pass


def _bare_environment(game: str, environment: EnvironmentConfig, num_lanes: int, num_threads: int) -> AtariVectorEnv:
    return AtariVectorEnv(
        rom_name(game),
        num_lanes,
        num_threads=num_threads,
        max_num_frames_per_episode=environment.max_frames,
        repeat_action_probability=environment.sticky_probability,
        full_action_space=environment.full_action_set,
        autoreset_mode=AutoresetMode.NEXT_STEP,
        img_height=environment.frame_height,
        img_width=environment.frame_width,
        grayscale=environment.grey,
        stack_num=environment.stack,
        frameskip=environment.frame_skip,
        maxpool=environment.max_pool,
        noop_max=environment.noop_max + 1,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
        use_fire_reset=environment.fire_on_reset,
    )


def _fill(replay: ReplayMemory, config: RunConfig) -> None:
    num_lanes = config.topology.num_lanes
    blank = LaneStep(
        frame_tm1=np.zeros((num_lanes, *config.environment.frame_shape), np.uint8),
        first_tm1=np.zeros(num_lanes, np.bool_),
        valid=np.ones(num_lanes, np.bool_),
        a_tm1=np.zeros(num_lanes, np.int64),
        r_t=np.zeros(num_lanes, np.float32),
        continues_t=np.ones(num_lanes, np.float32),
    )
    for _ in range(CAPACITY // num_lanes):
        replay.add(blank)


def _action_rng() -> np.random.Generator:
    return seeding.stream(0, "benchmark", "actions")


def _seeds(num_lanes: int) -> Int64Array:
    return seeding.emulator_seeds(0, "benchmark", "emulator", count=num_lanes)


if __name__ == "__main__":
    main()
