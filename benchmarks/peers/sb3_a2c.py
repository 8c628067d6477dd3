"""Agent steps per second of A2C in Stable-Baselines3: `python benchmarks/peers/sb3_a2c.py --env-class SubprocVecEnv`.

Its own Atari wrappers, `CnnPolicy` (the convolutions of Nature DQN, 512 units) and the settings that its authors
publish for Atari: 16 environments, 5 steps, entropy weight 0.01, value weight 0.25, their RMSProp. One JSON line.
"""

import argparse
import json
import time
from typing import Any

import ale_py
import gymnasium
import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

NUM_ENVS = 16
ENV_CLASSES = {"DummyVecEnv": DummyVecEnv, "SubprocVecEnv": SubprocVecEnv}


class Stopwatch(BaseCallback):  # type: ignore[misc]  # SB3 may be missing here
    """Seconds and steps from `num_warmup_steps` on."""

    def __init__(self, num_warmup_steps: int) -> None:
        super().__init__()
        self._num_warmup_steps = num_warmup_steps
        self._first: tuple[int, float] | None = None
        self._last = (0, 0.0)

    @property
    def steps_per_second(self) -> float:
        """Over what was timed."""
        assert self._first is not None
        return (self._last[0] - self._first[0]) / (self._last[1] - self._first[1])

    def _on_step(self) -> bool:
        self._last = (self.num_timesteps, time.perf_counter())
        if self._first is None and self.num_timesteps >= self._num_warmup_steps:
            self._first = self._last
        return True


def main() -> None:
    """Train for a while and print how fast."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--env-class", default="SubprocVecEnv", choices=ENV_CLASSES)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--warmup-steps", type=int, default=4_000)
    chosen = parser.parse_args()
    gymnasium.register_envs(ale_py)
    options: dict[str, Any] = {"frameskip": 1, "repeat_action_probability": 0.0}
    games = make_atari_env(
        f"ALE/{chosen.game}-v5",
        n_envs=NUM_ENVS,
        seed=0,
        env_kwargs=options,
        vec_env_cls=ENV_CLASSES[chosen.env_class],
    )
    stopwatch = Stopwatch(chosen.warmup_steps)
    policy = {"optimizer_class": RMSpropTFLike, "optimizer_kwargs": {"eps": 1e-5}}
    with_stacks = VecFrameStack(games, n_stack=4)
    model = stable_baselines3.A2C(
        "CnnPolicy", with_stacks, ent_coef=0.01, vf_coef=0.25, policy_kwargs=policy, device="cpu", seed=0
    )
    model.learn(chosen.steps, callback=stopwatch)
    with_stacks.close()
    found = {
        "steps_per_second": stopwatch.steps_per_second,
        "version": stable_baselines3.__version__,
        "torch": torch.__version__,
        "compute_threads": torch.get_num_threads(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
