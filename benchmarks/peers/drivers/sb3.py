"""DQN and A2C of Stable-Baselines3: `python -m benchmarks.peers.drivers.sb3 a2c --vec-env subproc`.

Its own Atari wrappers, `CnnPolicy` (the convolutions of Nature DQN, 512 units) and the settings that its authors
publish for Atari. A2C: 16 games, 5 steps, entropy weight 0.01, value weight 0.25, their RMSProp. DQN: 1 game, an update
of 32 every 4 steps, Adam with 1e-4, target network every 1,000 steps.
"""

import argparse
from typing import Any

import ale_py
import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

from benchmarks.peers.progress import ProgressReporter, say_facts

NUM_GAMES = {"a2c": 16, "dqn": 1}
VEC_ENVS = {"dummy": DummyVecEnv, "subproc": SubprocVecEnv}
FOREVER = 1_000_000_000


class Listener(BaseCallback):  # type: ignore[misc]  # SB3 may be missing here
    """Says how far the model is."""

    def __init__(self) -> None:
        super().__init__()
        self._reporter = ProgressReporter()

    def _on_step(self) -> bool:
        self._reporter.say(self.num_timesteps, self.model._n_updates)
        return True


def main() -> None:
    """Train until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm", choices=NUM_GAMES)
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--vec-env", default="dummy", choices=VEC_ENVS)
    parser.add_argument("--replay", type=int, default=20_000)
    parser.add_argument("--learning-starts", type=int, default=1_000)
    parser.add_argument("--epsilon", type=float, default=0.1)
    chosen = parser.parse_args()
    gymnasium.register_envs(ale_py)
    games = make_atari_env(
        f"ALE/{chosen.game}-v5",
        n_envs=NUM_GAMES[chosen.algorithm],
        seed=0,
        env_kwargs={"frameskip": 1, "repeat_action_probability": 0.0},
        vec_env_cls=VEC_ENVS[chosen.vec_env],
    )
    stacked = VecFrameStack(games, n_stack=4)
    model = _a2c(stacked) if chosen.algorithm == "a2c" else _dqn(stacked, chosen)
    say_facts(
        library=f"stable-baselines3 {stable_baselines3.__version__}",
        peer_torch=torch.__version__,
        compute_threads=torch.get_num_threads(),
    )
    model.learn(FOREVER, callback=Listener())


def _a2c(games: VecFrameStack) -> Any:
    policy = {"optimizer_class": RMSpropTFLike, "optimizer_kwargs": {"eps": 1e-5}}
    return stable_baselines3.A2C(
        "CnnPolicy", games, ent_coef=0.01, vf_coef=0.25, policy_kwargs=policy, device="cpu", seed=0
    )


def _dqn(games: VecFrameStack, chosen: argparse.Namespace) -> Any:
    return stable_baselines3.DQN(
        "CnnPolicy",
        games,
        learning_rate=1e-4,
        buffer_size=chosen.replay,
        learning_starts=chosen.learning_starts,
        batch_size=32,
        train_freq=4,
        gradient_steps=1,
        target_update_interval=1_000,
        exploration_initial_eps=chosen.epsilon,
        exploration_final_eps=chosen.epsilon,
        device="cpu",
        seed=0,
    )


if __name__ == "__main__":
    main()
