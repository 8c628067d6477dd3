"""What may stand behind the hidden layer of an actor-critic network, by name; apart from torch, for settings.

Not here: what they compute (`pipeline.networks.policy_head`).
"""

RELU, PRELU, LINEAR = ACTIVATIONS = ("relu", "prelu", "linear")
