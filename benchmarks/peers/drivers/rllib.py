"""DQN and IMPALA of RLlib, its newer interface: `python -m benchmarks.peers.drivers.rllib impala`.

Its own Atari wrappers and the convolutions of Nature DQN with 512 units, which are a convolution of 7 x 7 here. DQN is
the plain one: no double Q, no dueling, a uniform replay, one game in the process that learns, as is its default.
IMPALA: one process that plays 5 games in pieces of 50 steps, batches of 500, learning in the main process.
"""

import argparse
from typing import Any

import gymnasium
import ray
import torch
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.wrappers.atari_wrappers import wrap_atari_for_new_api_stack
from ray.tune.registry import register_env

from benchmarks.peers.progress import ProgressReporter, say_facts

NATURE = [[32, 8, 4, "valid"], [64, 4, 2, "valid"], [64, 3, 1, "valid"], [512, 7, 1, "valid"]]
"""Filters, size, stride, padding."""
BATCH_SIZES = {"dqn": 32, "impala": 500}


def main() -> None:
    """Train until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=BATCH_SIZES)
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--replay", type=int, default=20_000)
    parser.add_argument("--learning-starts", type=int, default=1_000)
    parser.add_argument("--epsilon", type=float, default=0.1)
    chosen = parser.parse_args()
    register_env("game", lambda config: _game(chosen.game))
    ray.init(num_cpus=chosen.cores, include_dashboard=False)
    algorithm = (_dqn(chosen) if chosen.algorithm == "dqn" else _impala()).build_algo()
    say_facts(
        library=f"ray[rllib] {ray.__version__}", peer_torch=torch.__version__, compute_threads=torch.get_num_threads()
    )
    reporter = ProgressReporter(every_seconds=0.0)
    while True:
        found = algorithm.train()
        learned = found.get("learners", {}).get("default_policy", {}).get("num_module_steps_trained_lifetime", 0)
        steps = found.get("env_runners", {}).get("num_env_steps_sampled_lifetime", 0)
        reporter.say(steps, int(learned) // BATCH_SIZES[chosen.algorithm])


def _game(name: str) -> Any:
    # Made in a process of Ray's, where nothing has been imported.
    import ale_py

    gymnasium.register_envs(ale_py)
    game = gymnasium.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0)
    return wrap_atari_for_new_api_stack(game, dim=84, frameskip=4, framestack=4)


def _model() -> DefaultModelConfig:
    return DefaultModelConfig(conv_filters=NATURE, conv_activation="relu", head_fcnet_hiddens=[], vf_share_layers=True)


def _dqn(chosen: argparse.Namespace) -> Any:
    return (
        DQNConfig()
        .environment("game", clip_rewards=True)
        .training(
            lr=1e-4,
            train_batch_size_per_learner=BATCH_SIZES["dqn"],
            double_q=False,
            dueling=False,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": chosen.replay},
            epsilon=chosen.epsilon,
            num_steps_sampled_before_learning_starts=chosen.learning_starts,
            target_network_update_freq=1_000,
        )
        .env_runners(num_env_runners=0, rollout_fragment_length=4)
        .learners(num_learners=0, num_gpus_per_learner=0)
        .rl_module(model_config=_model())
        .reporting(min_time_s_per_iteration=1, min_sample_timesteps_per_iteration=0)
    )


def _impala() -> Any:
    return (
        IMPALAConfig()
        .environment("game", clip_rewards=True)
        .training(train_batch_size_per_learner=BATCH_SIZES["impala"])
        .env_runners(num_env_runners=1, num_envs_per_env_runner=5, rollout_fragment_length=50)
        .learners(num_learners=0, num_gpus_per_learner=0)
        .rl_module(model_config=_model())
        .reporting(min_time_s_per_iteration=1)
    )


if __name__ == "__main__":
    main()
