"""What a worker's network computed when it chose actions serves the gradient, as long as its parameters are the same.

    policy(observations) -> logits, values      activations kept, under the number of the call
    outputs(batch)       -> logits, values      with a graph, from what was kept; the rest is computed again
    forget()                                    the parameters are about to change

Of a batch whose lanes keep step, four steps in five were chosen by the parameters that its gradient is of
(`pipeline.roles.rollouts`). Networks whose gradient is autograd's keep nothing: they compute the whole batch again.
Not here: what the activations are (`pipeline.networks.written_out`).
"""

import numpy as np
import torch

from pipeline.networks.network import ActorCriticNetwork, Network
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.replica import PolicyReplica
from pipeline.networks.written_out import Activations, joined
from pipeline.types import Float32Array, RolloutBatch, UInt8Array


class Recollection:
    """Activations of one version of the parameters in `replica`."""

    def __init__(self, replica: PolicyReplica) -> None:
        self._replica = replica
        self._kept: dict[int, Activations] = {}
        """By number of the call."""
        self._num_calls = 0

    def policy(self, observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        """Logits (D, A) and values (D,) of uint8 (D, K, H, W[, 3]), to choose actions by."""
        activations = self._replica.activations(observations)
        if activations is None:
            logits, values = self._replica.policy_and_value(observations)
        else:
            self._kept[self._num_calls] = activations
            logits, values = (answer.detach() for answer in self._replica.answers(activations))
        self._num_calls += 1
        return logits.cpu().numpy(), values.cpu().numpy()

    def forget(self) -> None:
        """Compute everything again from now on; calls are counted on."""
        self._kept.clear()

    def restart(self, num_calls: int) -> None:
        """Know nothing, as after `forget`, and count calls on from this number."""
        self._kept.clear()
        self._num_calls = num_calls

    def outputs(self, batch: RolloutBatch) -> PolicyAndValue:
        """Logits (B, A) and values (B,) of a batch whose `origin` are calls of `policy`, with a graph."""
        calls = enumerate(batch.origin.tolist())
        found = {i: (self._kept[call], row) for i, (call, row) in calls if call in self._kept}
        if not found:
            return self._replica.outputs(batch.s_tm1)
        unknown = [i for i in range(len(batch.origin)) if i not in found]
        if unknown:
            again = self._replica.activations(batch.s_tm1[unknown])
            assert again is not None, "it was kept of others"
            found |= {i: (again, row) for row, i in enumerate(unknown)}
        return self._replica.answers(joined([found[i] for i in range(len(found))]))


def num_activations(network: Network, stack: tuple[int, ...]) -> int:
    """Floats that are kept for one observation (K, H, W[, 3])."""
    if not isinstance(network, ActorCriticNetwork):
        return 0
    replica = PolicyReplica(network, torch.float32, torch.device("meta"))
    kept = replica.activations(np.zeros((1, *stack), np.uint8))
    return 0 if kept is None else sum(layer.numel() for layer in (*kept.torso, kept.hidden))
