"""What a network thinks of what its player is shown, as the overlay of a film draws it.

Not here: drawing (`pipeline.rendering.overlay`), which checkpoint (`pipeline.experiments.scoring.recorded_games`).
"""

from collections.abc import Callable

from pipeline.envs.protocol import EnvironmentConfig
from pipeline.networks.config import NetworkConfig
from pipeline.networks.replica import QReplica
from pipeline.rendering.overlay import POLICY, Opinion, Q
from pipeline.roles.evaluator import load_replica
from pipeline.types import Float32Array, UInt8Array

OpinionOf = Callable[[UInt8Array], Opinion]
"""An observation (K, H, W[, 3]) to an opinion of it."""


def opinions(
    network: NetworkConfig, game: str, environment: EnvironmentConfig, params: Float32Array, device: str, precision: str
) -> OpinionOf:
    """The opinions of the network with `params` (P,): Q-values and their maximum, or the policy and V(s)."""
    replica = load_replica(network, game, environment, params, device, precision)

    def opinion(observation: UInt8Array) -> Opinion:
        if isinstance(replica, QReplica):
            values: Float32Array = replica.values(observation[None])[0].cpu().numpy()
            return Opinion(Q, float(values.max()), values)
        logits, value = replica.policy_and_value(observation[None])
        return Opinion(POLICY, float(value[0]), logits[0].softmax(dim=0).cpu().numpy())

    return opinion
