"""Which networks have a gradient that can travel as factors: plain ones, whose gradient is written out.

Not here: how it travels (`pipeline.param_server.slices`), where it is written (`pipeline.networks.written_out`).
"""

from pipeline.networks.activations import RELU
from pipeline.networks.config import ActorCriticNetworkConfig, LayeredConfig, NetworkConfig, QNetworkConfig
from pipeline.param_server.config import DENSE, FACTORS, ParamServerConfig
from pipeline.settings import shown

_WRITTEN_OUT = ("nature", "dqn_2013")
"""Torsos of ours; of a user's own, those below `DifferentiatedTorso`."""


def without_factors(network: NetworkConfig, param_server: ParamServerConfig) -> list[str]:
    """Why `param_server.wire=factors` cannot be had of this network, in one line that says what can; else nothing."""
    if param_server.wire != FACTORS or not (wrong := _wrong(network)):
        return []
    given, allowed = (", ".join(one) for one in zip(*wrong, strict=True))
    return [
        f"param_server.wire={FACTORS} needs a gradient that is written out, and with {given} it is autograd's: "
        f"{allowed}, or param_server.wire={DENSE}"
    ]


def _wrong(network: NetworkConfig) -> list[tuple[str, str]]:
    """Settings as they are, and as they would have to be."""
    if not isinstance(network, LayeredConfig):
        return [(f"network.kind={network.kind}", "network=nature or network=nature_actor_critic")]
    wanted: dict[str, object] = {}
    if isinstance(network, QNetworkConfig):
        # Drawn fractions have several quantiles.
        wanted = {"dueling": False, "noisy": False, "num_atoms": 1, "num_quantiles": 1, "layer_norm": False}
    elif isinstance(network, ActorCriticNetworkConfig):
        wanted = {"activation": RELU}
    found = [
        (f"network.{name}={shown(getattr(network, name))}", f"network.{name}={shown(value)}")
        for name, value in wanted.items()
        if getattr(network, name) != value
    ]
    if not _is_written_out(network.torso):
        found.append((f"network.torso={network.torso}", f"network.torso={' or '.join(_WRITTEN_OUT)}"))
    return found


def _is_written_out(torso: str) -> bool:
    if "." not in torso:
        return torso in _WRITTEN_OUT
    from pipeline.networks.torso import TORSOS, DifferentiatedTorso  # torch: for a torso of the user's alone

    return issubclass(TORSOS[torso], DifferentiatedTorso)
