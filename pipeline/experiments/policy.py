"""A trained agent outside of its run: `load_policy("results/runs/dqn/Pong/0")` plays in anybody's loop.

    policy = load_policy(run)
    env = policy.make_env()
    observation, _ = env.reset(seed=0)
    observation, reward, terminated, truncated, _ = env.step(policy.act(observation))

Not here: games that count for a table (`pipeline.experiments.scoring`), whose rows say how they were played.
"""

import os
from pathlib import Path
from typing import cast

import numpy as np
import torch

from pipeline.algorithms.actor_critic import sample_actions
from pipeline.config.run_config import DEVICES, PRECISIONS, RunConfig
from pipeline.config.words import none_of
from pipeline.envs.one_game import OneGame
from pipeline.envs.rom import action_names
from pipeline.errors import ConfigError
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.run_folder import CHECKPOINTS
from pipeline.experiments.files.saved_config import config_anywhere
from pipeline.experiments.scoring.chosen_parameters import chosen_checkpoint
from pipeline.experiments.scoring.request import NEWEST
from pipeline.experiments.specs import checkpoint_fit
from pipeline.networks.replica import QReplica
from pipeline.roles.evaluator import draws_actions, load_replica
from pipeline.types import Float32Array, Int64Array, UInt8Array


class Policy:
    """What a run has learned, and what it wants to see: stacks of the newest frames, as `environment` says.

    Noisy networks play without their noise. Not safe for two threads at once.
    """

    def __init__(self, config: RunConfig, learned: Checkpoint, device: str, precision: str, seed: int) -> None:
        """See `load_policy`."""
        self.config = config
        self.game = config.game
        self.version = learned.server.version
        """Updates of the server."""
        self.total_frames = config.num_frames(learned.num_steps)
        """Emulator frames of training behind it."""
        self.environment = config.evaluation.environment
        """The protocol of its final evaluation: frame skip, sticky actions, size and number of frames, grey or RGB."""
        self.observation_shape = (self.environment.stack, *self.environment.frame_shape)
        """(K, H, W), or (K, H, W, 3) for RGB: uint8, 0 to 255, oldest frame first, zeros before the first one."""
        self.action_meanings = action_names(self.game, self.environment.full_action_set)
        """What action 0, 1, ... does, e.g. "NOOP", "FIRE"."""
        self.num_actions = len(self.action_meanings)
        self.epsilon = config.evaluation.epsilon
        """Share of actions that its final evaluation draws from all alike."""
        self.is_sampled = draws_actions(config.network, config.evaluation)
        """Whether its final evaluation draws the other actions from the policy, or takes the best."""
        self._replica = load_replica(
            config.network, self.game, self.environment, learned.server.params, device, precision
        )
        self._rng = np.random.default_rng(seed)

    def act(
        self, observation: UInt8Array, *, epsilon: float | None = None, sampled: bool | None = None
    ) -> int | Int64Array:
        """The action for one observation, or actions (B,) for B of them.

        `epsilon`: share of actions that are drawn from all alike. `sampled`: the others are drawn from the policy,
        which only an actor-critic has, or the best is taken. None: as in the run's final evaluation, whose
        `max_equal_actions`, which looks back at a game, is left to the loop. Raises ValueError for an observation that
        is no array or of another shape or dtype, an epsilon outside of 0 to 1, or sampling without a policy.
        """
        epsilon = self.epsilon if epsilon is None else epsilon
        sampled = self.is_sampled if sampled is None else sampled
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon={epsilon} must lie in [0, 1]")
        if sampled and isinstance(self._replica, QReplica):
            raise ValueError("sampled=True needs a policy; this network values actions: use epsilon")
        preferences = np.atleast_2d(self.preferences(observation))
        actions = sample_actions(preferences, self._rng) if sampled else preferences.argmax(axis=1)
        explores = self._rng.random(len(actions)) < epsilon
        actions = np.where(explores, self._rng.integers(self.num_actions, size=len(actions)), actions)
        return int(actions[0]) if self._is_single(observation) else actions

    def preferences(self, observation: UInt8Array) -> Float32Array:
        """A number for each action, the larger the better: (A,) for one observation, (B, A) for B of them.

        Q-values, or the logits of an actor-critic's policy. Raises ValueError as `act`.
        """
        return self._answer(self._replica.preferences(self._batch(observation)), observation)

    def values(self, observation: UInt8Array) -> Float32Array:
        """Q-values as `preferences`; of an actor-critic V(s), () for one observation and (B,) for B of them."""
        if isinstance(self._replica, QReplica):
            return self.preferences(observation)
        return self._answer(self._replica.policy_and_value(self._batch(observation)).value, observation)

    def make_env(self) -> OneGame:
        """The game as this agent sees it, one at a time; clipping and lost lives count in training alone."""
        return OneGame(self.game, self.environment)

    def frames(self, observation: UInt8Array) -> torch.Tensor:
        """One observation, or B of them, for `as_module`: uint8 (1 or B, C, H, W). Raises ValueError as `act`."""
        frames = torch.from_numpy(self._batch(observation))
        return frames if frames.dim() == 4 else frames.permute(0, 1, 4, 2, 3).flatten(1, 2)

    def as_module(self) -> torch.nn.Module:
        """An ordinary torch module of torch's own layers, float32 on the CPU, with its own copy of the parameters.

        Pixels 0 to 255 (B, C, H, W), uint8 or float -> Q-values (B, A), or logits (B, A) and value (B,). C is the
        stack, oldest first, or 3 * stack for RGB: see `frames`. Raises ConfigError for a torso of one's own that does
        not define `ordinary`.
        """
        return self._replica.ordinary()

    def _is_single(self, observation: UInt8Array) -> bool:
        return observation.ndim == len(self.observation_shape)

    def _batch(self, observation: UInt8Array) -> UInt8Array:
        if not isinstance(observation, np.ndarray):
            raise ValueError(
                f"got a {type(observation).__name__} as observation, needed a NumPy array uint8 "
                f"{self.observation_shape}, or a batch of such: make_env() gives them; np.asarray(...) makes one"
            )
        shape, num_axes = observation.shape, len(self.observation_shape)
        if observation.dtype != np.uint8 or shape[-num_axes:] != self.observation_shape:
            raise ValueError(
                f"got an observation {observation.dtype} {shape}, needed uint8 {self.observation_shape}, or a batch of "
                "such: make_env() gives them"
            )
        if observation.ndim > num_axes + 1:
            raise ValueError(f"got observations {shape}: one axis for a batch, before {self.observation_shape}")
        return np.ascontiguousarray(observation[None] if self._is_single(observation) else observation)

    def _answer(self, found: torch.Tensor, observation: UInt8Array) -> Float32Array:
        answers = cast(Float32Array, found.float().cpu().numpy())
        return answers[0] if self._is_single(observation) else answers


def load_policy(
    run: str | os.PathLike[str],
    checkpoint: str | int = NEWEST,
    *,
    device: str = "cpu",
    precision: str = "float32",
    seed: int = 0,
) -> Policy:
    """The agent of a run folder. `checkpoint`: "newest", "best" or the version of one that is there.

    `device` and `precision` as in a run's settings; `seed` of its random actions. Raises RunFolderError or
    CheckpointError if the folder or its checkpoint cannot be used, ConfigError for another device or precision.
    """
    if mistakes := [*none_of("device", device, DEVICES), *none_of("precision", precision, PRECISIONS)]:
        raise ConfigError(mistakes)
    folder = Path(run)
    config = config_anywhere(folder)
    _, learned = chosen_checkpoint(folder / CHECKPOINTS, str(checkpoint), checkpoint_fit(config))
    return Policy(config, learned, device, precision, seed)
