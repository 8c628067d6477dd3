"""Which losses are compared, and computing the gradient of one batch of noise under any.

Not here: timing it (`benchmarks.loss_costs.__main__`, `benchmarks.devices`).
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from benchmarks.update_step import batch_of
from pipeline.algorithms.actor_critic import actor_critic_loss
from pipeline.algorithms.clipped import clipped_loss
from pipeline.algorithms.config import ActorCriticConfig, PqnConfig, QLearningConfig
from pipeline.algorithms.q_learning import minibatch_loss
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.networks.network import ActorCriticNetwork, QNetwork
from pipeline.networks.replica import PolicyReplica, QReplica
from pipeline.roles.q_loss import QLoss

OF_Q_LEARNING: Mapping[str, tuple[str, ...]] = {
    "gorila": ("experiment=gorila",),
    "gorila, squared error": ("experiment=gorila", "algorithm.max_abs_td_error=null"),
    "gorila, munchausen": ("experiment=gorila", "algorithm.munchausen=true"),
    "gorila, atoms": ("experiment=gorila", "network=c51"),
    "gorila_quantile": ("experiment=gorila_quantile",),
    "gorila_quantile, 50 quantiles": ("experiment=gorila_quantile", "network.num_quantiles=50"),
    "gorila_quantile, drawn fractions": ("experiment=gorila_quantile", "network=implicit_quantile"),
    "gorila_quantile, munchausen": ("experiment=gorila_quantile", "algorithm.munchausen=true"),
}
OF_ROLLOUTS: Mapping[str, tuple[str, ...]] = {
    "dba3c": ("experiment=dba3c",),
    "dba3c_clip": ("experiment=dba3c_clip",),
    "pqn": ("experiment=pqn",),
}
"""The first of each is what the others are compared with. Returns over lambda are summed where steps are collected."""


def gradient_of(config: RunConfig, device: torch.device, dtype: torch.dtype) -> Callable[[], torch.Tensor]:
    """Computing the gradient of one batch of noise there: the flat vector, float32, on that device."""
    if isinstance(config.algorithm, ActorCriticConfig):
        return _of_actor_critic(config, config.algorithm, device, dtype)
    if isinstance(config.algorithm, PqnConfig):
        return _of_pqn(config, config.algorithm, device, dtype)
    assert isinstance(config.algorithm, QLearningConfig)
    return _of_q_learning(config, config.algorithm, device, dtype)


def _of_q_learning(
    config: RunConfig, algorithm: QLearningConfig, device: torch.device, dtype: torch.dtype
) -> Callable[[], torch.Tensor]:
    network, rng = network_of(config), np.random.default_rng(0)
    assert isinstance(network, QNetwork) and config.replay is not None
    online, target = QReplica(network, dtype, device), QReplica(network, dtype, device)
    for replica in (online, target):
        replica.load(network.initial_parameters(rng))
    loss = QLoss(algorithm, online, target, torch.Generator().manual_seed(0))
    batch = batch_of(config, config.replay.batch_size, rng)
    return lambda: online.gradient(loss(batch, None).objective)


def _of_actor_critic(
    config: RunConfig, algorithm: ActorCriticConfig, device: torch.device, dtype: torch.dtype
) -> Callable[[], torch.Tensor]:
    network, rng = network_of(config), np.random.default_rng(0)
    assert isinstance(network, ActorCriticNetwork)
    replica = PolicyReplica(network, dtype, device)
    replica.load(network.initial_parameters(rng))
    batch = batch_of(config, algorithm.batch_size, rng)
    a_tm1, ones = torch.from_numpy(batch.a_tm1).to(device), torch.from_numpy(batch.r_t).to(device)
    weights = algorithm.entropy_weight, algorithm.value_weight

    def step() -> torch.Tensor:
        logits, values = replica.outputs(batch.s_tm1)
        if algorithm.clip_range is None:
            loss = actor_critic_loss(logits, values, a_tm1, ones, *weights)
        else:
            loss = clipped_loss(logits, values, a_tm1, ones, ones, -ones, algorithm.clip_range, *weights)
        return replica.gradient(loss.objective)

    return step


def _of_pqn(
    config: RunConfig, algorithm: PqnConfig, device: torch.device, dtype: torch.dtype
) -> Callable[[], torch.Tensor]:
    network, rng = network_of(config), np.random.default_rng(0)
    assert isinstance(network, QNetwork)
    replica = QReplica(network, dtype, device)
    replica.load(network.initial_parameters(rng))
    batch = batch_of(config, algorithm.batch_size, rng)
    a_tm1, ones = torch.from_numpy(batch.a_tm1).to(device), torch.from_numpy(batch.r_t).to(device)
    return lambda: replica.gradient(minibatch_loss(replica.outputs(batch.s_tm1), a_tm1, ones, None).objective)
