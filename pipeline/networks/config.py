"""Settings of a network, and the network that they make: of layers of ours, or a torch module of the user's.

Settings are read by commands that never compute: what needs torch is imported where a network is made, or tried.
Not here: the networks (`pipeline.networks.layered`, `.module`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pipeline.errors import ConfigError
from pipeline.kinds import Kinds, imported
from pipeline.networks.activations import ACTIVATIONS
from pipeline.settings import MISSING
from pipeline.types import Distribution

if TYPE_CHECKING:
    from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
    from pipeline.networks.wrapped import WrappedModule

Q_NETWORK = "q"
ACTOR_CRITIC_NETWORK = "actor_critic"

ANSWERS: Mapping[str, str] = {"q_learning": Q_NETWORK, "actor_critic": ACTOR_CRITIC_NETWORK, "pqn": Q_NETWORK}
"""What `forward` answers for each algorithm."""

INITIAL_WEIGHTS = ("fan_in", "he")

_SMALLEST_SIDES: Mapping[str, int] = {"nature": 36, "nature_layer_norm": 36, "dqn_2013": 20, "ba3c": 52}
"""Of a frame, in pixels, for the torsos that are there without looking. Others are looked up, which imports torch."""


@dataclass(frozen=True)
class NetworkConfig:
    """What all networks have. Sources stand beside the values in `conf/network/`."""

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `kind` may be for this class, besides where it is."""
    NOT_ITS_OWN: ClassVar[frozenset[str]] = frozenset()
    """Settings of other networks that an experiment's file may hold all the same; they mean nothing here."""

    kind: str
    """One of `NETWORKS`, or one's own class: "q" (values), "actor_critic" (policy and value), "module" (of torch)."""

    @property
    def answers(self) -> str:
        """Q_NETWORK or ACTOR_CRITIC_NETWORK: what algorithms can make of it."""
        raise self._of_no_kind()

    @property
    def distribution(self) -> Distribution | None:
        """What it says of returns; None: their means."""
        return None

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "Network":
        """The network, for stacks of frames (H, W[, 3]). Raises ValueError when the frame is too small for it."""
        raise self._of_no_kind()

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return []

    def unfit_for(self, algorithm: str, wanted: str) -> str | None:
        """Why an algorithm of this kind, which wants a network that answers `wanted`, cannot use it; None if it can."""
        return None if self.answers == wanted else f"kind={self.kind} must be {wanted} with algorithm.kind={algorithm}"

    def unfit_for_games(
        self, stack: int, frame_shape: tuple[int, ...], num_actions: Callable[[], int], precision: str
    ) -> list[str]:
        """What of it does not work with such frames and actions, one line each, beginning with the field's name."""
        return []

    def _of_no_kind(self) -> TypeError:
        return TypeError(f"no network for {type(self).__name__}: use QNetworkConfig or ActorCriticNetworkConfig")


NETWORKS: Kinds[NetworkConfig] = Kinds(NetworkConfig, "pipeline.networks.config")
"""Settings of networks, by kind."""


@dataclass(frozen=True)
class LayeredConfig(NetworkConfig):
    """A torso and a head."""

    torso: str
    """One of `TORSOS`, or a class of one's own: "my_package.torsos.Wide". "nature": three strided convolutions (Mnih et
    al. 2015), "nature_layer_norm": normalised; "ba3c": four with max-pools, of BA3C and DBA3C (Adamski et al. 2018)."""
    hidden_units: int
    """Width of the fully connected layer, of each of the two with `dueling`."""
    centred_pixels: bool
    """Take the mean of an observation's pixels from each of them, so that a bright background is near 0: else every
    weight of a filter that sees it has a gradient of one sign, and a few steps of Adam switch the filter off."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.torso not in _SMALLEST_SIDES:
            from pipeline.networks.torso import TORSOS

            if (why := TORSOS.why_not(self.torso)) is not None:
                found.append(f"torso={self.torso} {why}")
        if self.hidden_units < 1:
            found.append(f"hidden_units={self.hidden_units} must be at least 1")
        return found

    def unfit_for_games(
        self, stack: int, frame_shape: tuple[int, ...], num_actions: Callable[[], int], precision: str
    ) -> list[str]:
        """See `NetworkConfig`."""
        smallest = _SMALLEST_SIDES.get(self.torso, 0)
        return [
            f"torso={self.torso} needs environment.{side} of {smallest} or more, and evaluation's too, not {pixels}"
            for side, pixels in zip(("frame_height", "frame_width"), frame_shape, strict=False)
            if pixels < smallest
        ]


@dataclass(frozen=True)
class QNetworkConfig(LayeredConfig):
    """A network for Q-learning."""

    KINDS = (Q_NETWORK,)
    dueling: bool
    """Value and advantage in streams of their own (Wang et al. 2016)."""
    noisy: bool
    """Fully connected layers with learned, factorised Gaussian noise for exploration (Fortunato et al. 2018)."""
    noise_scale: float
    """sigma_0: initial size of that noise; not used without `noisy`."""
    num_atoms: int
    """Outcomes of a return's distribution (C51, Bellemare et al. 2017); 1: its mean alone, as in DQN."""
    min_return: float
    """Smallest of these outcomes, in units of clipped reward; not used with one atom."""
    max_return: float
    """Largest of them."""
    num_quantiles: int
    """Equally likely outcomes, which are learned (QR-DQN, Dabney et al. 2018); 1: the mean alone, or atoms."""
    drawn_fractions: bool
    """Learn so many quantiles of fractions drawn anew for each observation (IQN, Dabney et al. 2018)."""
    layer_norm: bool
    """Normalise the hidden layer before its rectifier; the convolutions are normalised by `torso`."""
    initial_weights: str
    """Of all layers: "fan_in", +-1/sqrt(fan-in), biases too, or "he", +-sqrt(6 / fan-in) and no bias: a signal keeps
    its size from layer to layer (He et al. 2015)."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return Q_NETWORK

    @property
    def distribution(self) -> Distribution | None:
        """See `NetworkConfig`."""
        return "quantiles" if self.num_quantiles > 1 else "atoms" if self.num_atoms > 1 else None

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.noise_scale <= 0:
            found.append(f"noise_scale={self.noise_scale} must be positive")
        for name in ("num_atoms", "num_quantiles"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.num_atoms > 1 and self.num_quantiles > 1:
            found.append(f"num_quantiles={self.num_quantiles} must be 1 with num_atoms={self.num_atoms}, or that one 1")
        if self.drawn_fractions and (self.num_quantiles < 2 or self.dueling):
            found.append("drawn_fractions=true needs num_quantiles of 2 or more, and dueling=false")
        if self.min_return >= self.max_return:
            found.append(f"min_return={self.min_return} must be below max_return={self.max_return}")
        if self.initial_weights not in INITIAL_WEIGHTS:
            found.append(f"initial_weights={self.initial_weights} must be one of {', '.join(INITIAL_WEIGHTS)}")
        return found

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "QNetwork":
        """See `NetworkConfig`."""
        import torch

        from pipeline.networks.heads import DuelingHead, PlainHead
        from pipeline.networks.implicit import ImplicitQNetwork
        from pipeline.networks.layered import LayeredQNetwork
        from pipeline.networks.linear import LayerKinds
        from pipeline.networks.parameters import he_values, weight_and_bias
        from pipeline.networks.torso import TORSOS

        torso = TORSOS[self.torso](stack, frame_shape, self.centred_pixels, weight_and_bias)
        layers = LayerKinds(self.noise_scale if self.noisy else None, self.layer_norm)
        made: QNetwork
        if self.drawn_fractions:
            made = ImplicitQNetwork(torso, num_actions, self.hidden_units, self.num_quantiles, layers)
        else:
            sizes = torso.num_features, num_actions, self.hidden_units, max(self.num_atoms, self.num_quantiles)
            head = (DuelingHead if self.dueling else PlainHead)(*sizes, layers)
            returns = torch.linspace(self.min_return, self.max_return, self.num_atoms, dtype=torch.float32)
            support = returns if self.num_atoms > 1 else None
            made = LayeredQNetwork(torso, head, support, self.num_quantiles)
        made.shapes = he_values(made.shapes) if self.initial_weights == "he" else made.shapes
        return made


@dataclass(frozen=True)
class ActorCriticNetworkConfig(LayeredConfig):
    """A network for actor-critic learning: policy and value share everything but their output layers."""

    KINDS = (ACTOR_CRITIC_NETWORK,)
    activation: str
    """Behind the fully connected layer: "relu", "prelu" (one learned slope for all units), or "linear" and no bias."""
    policy_scale: float
    """Of the policy's first weights, uniform in +-policy_scale sqrt(3 / fan-in): near 0, all actions begin alike."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return ACTOR_CRITIC_NETWORK

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.activation not in ACTIVATIONS:
            found.append(f"activation={self.activation} must be one of {', '.join(ACTIVATIONS)}")
        if self.policy_scale <= 0:
            found.append(f"policy_scale={self.policy_scale} must be positive")
        return found

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "ActorCriticNetwork":
        """See `NetworkConfig`."""
        from pipeline.networks.layered import LayeredActorCriticNetwork
        from pipeline.networks.parameters import rectified_weight_and_bias
        from pipeline.networks.policy_head import ActorCriticHead
        from pipeline.networks.torso import TORSOS

        # Ours: with the small first values of Mnih et al. 2015, and pixels not centred, filters died (docs/papers.md).
        torso = TORSOS[self.torso](stack, frame_shape, self.centred_pixels, rectified_weight_and_bias)
        head = ActorCriticHead(torso.num_features, num_actions, self.hidden_units, self.activation, self.policy_scale)
        return LayeredActorCriticNetwork(torso, head)


@dataclass(frozen=True)
class ModuleNetworkConfig(NetworkConfig):
    """A torch module of the user's own."""

    KINDS = ("module",)
    NOT_ITS_OWN = frozenset({"torso", "hidden_units", "centred_pixels"})

    class_: str
    """Where it is, e.g. "my_package.MyNet": a class below `torch.nn.Module`. The setting's name is `network.class`."""
    answers_for: str
    """The kind of algorithm that it is made for, one of ANSWERS."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return ANSWERS[self.answers_for]

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.class_ == MISSING:
            found.append("class is missing: name a torch module of yours, e.g. network.class=my_package.MyNet")
        else:
            from torch.nn import Module

            try:
                imported(self.class_, Module)
            except ConfigError as error:
                found.append(f"class={self.class_} {error.mistakes[0]}")
        if self.answers_for not in ANSWERS:
            found.append(f"answers_for={self.answers_for} must be one of {', '.join(ANSWERS)}")
        return found

    def unfit_for(self, algorithm: str, wanted: str) -> str | None:
        """See `NetworkConfig`."""
        if self.answers_for not in ANSWERS or self.answers == wanted:
            return None
        made_for = next(kind for kind, answers in ANSWERS.items() if answers == wanted)
        return f"answers_for={self.answers_for} must be {made_for} with algorithm.kind={algorithm}"

    def unfit_for_games(
        self, stack: int, frame_shape: tuple[int, ...], num_actions: Callable[[], int], precision: str
    ) -> list[str]:
        """See `NetworkConfig`. The module is made, and computes a little."""
        from pipeline.networks.trial import faults_of_class

        size = (stack, frame_shape, num_actions())
        made_as = f"{self.class_.rpartition('.')[2]}{size}"
        found = faults_of_class(partial(self._wrapped, *size), made_as, size[2], self.answers == Q_NETWORK, precision)
        return [f"class={self.class_} {line}" for line in found]

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "Network":
        """See `NetworkConfig`."""
        from pipeline.networks.module import ModuleActorCriticNetwork, ModuleQNetwork

        made = ModuleQNetwork if self.answers == Q_NETWORK else ModuleActorCriticNetwork
        return made(self._wrapped(stack, frame_shape, num_actions))

    def _wrapped(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> "WrappedModule":
        from torch.nn import Module

        from pipeline.networks.wrapped import WrappedModule

        return WrappedModule(imported(self.class_, Module), stack, frame_shape, num_actions)
