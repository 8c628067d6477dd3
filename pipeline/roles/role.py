"""A role that plays and learns by itself, and which one carries an algorithm out.

    algorithm=q_learning      Bundle    QRoleSpec
    algorithm=actor_critic    Worker    WorkerSpec
    algorithm=pqn             QWorker   QWorkerSpec
    one of a user's own       a role derived from LearningRole, with a spec for that algorithm

There is no table: a role names its spec, whose field `algorithm` is of its algorithm's class.
Not here: how many of them there are, and roles that only play or only learn (`pipeline.topologies`).
"""

import typing
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.errors import ConfigError
from pipeline.interfaces import RowSink, Servers
from pipeline.kinds import all_below, classes_in
from pipeline.replay.frames import FrameReader
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import RoleSpec


class Role(Protocol):
    """What a host steps."""

    @property
    def done(self) -> bool:
        """True once the role has nothing left to do."""
        ...

    def step(self) -> None:
        """One unit of work, seconds at most."""
        ...

    def progress(self) -> RoleProgress:
        """What it has done so far."""
        ...

    def close(self) -> None:
        """Emit what is left and free what it holds."""
        ...


RoleBuilder = Callable[[Any, Servers, RowSink], Role]
"""(spec, servers, rows) -> role; called on the host."""


class LearningRole(ABC):
    """Stepped on its host until it is done or stopped."""

    NAME: ClassVar[str]
    """What such roles are called: bundle-0, bundle-1, ..."""
    SPEC: ClassVar[type[RoleSpec]]
    """What it is built from."""
    STATE: ClassVar[type | None] = None
    """What `state` gives; None: it cannot be part of a deterministic run."""

    @classmethod
    @abstractmethod
    def build(cls, spec: Any, servers: Servers, rows: RowSink) -> "LearningRole":
        """The role on its host; `spec` is of `SPEC`."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """True once the role has nothing left to do."""

    @abstractmethod
    def step(self) -> None:
        """One unit of work, seconds at most."""

    @abstractmethod
    def progress(self) -> RoleProgress:
        """What it has done so far."""

    @property
    def stands(self) -> bool:
        """True where nothing of it is under way, so that its state is all of it."""
        return True

    def state(self) -> Any:
        """Where it stands, a value of `STATE`; of a role with a replay without its frames (`frames`).

        Raises TypeError for a role that has none.
        """
        raise TypeError(f"{type(self).__name__} has no state: set its STATE, and write state() and restore()")

    def restore(self, state: Any) -> None:
        """Go on from such a state, bit for bit, once `frames` were put back."""
        raise TypeError(f"{type(self).__name__} has no state: set its STATE, and write state() and restore()")

    def frames(self) -> dict[str, FrameReader]:
        """How the frames of its replays are saved and put back, by the replay's name."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Emit what is left and free what it holds."""


def role_of(algorithm: type[AlgorithmConfig]) -> type[LearningRole]:
    """The role that carries out the algorithm with these settings. Raises ConfigError if there is none, or a half."""
    classes_in("pipeline.roles", LearningRole)  # type: ignore[type-abstract]  # ours are defined now, too
    for role in all_below(LearningRole):  # type: ignore[type-abstract]
        if "SPEC" in vars(role) and typing.get_type_hints(role.SPEC).get("algorithm") is algorithm:
            if missing := sorted(getattr(role, "__abstractmethods__", ())):
                raise ConfigError(
                    [f"{role.__name__} does not define {', '.join(missing)}, which LearningRole leaves to it"]
                )
            return role
    raise ConfigError(
        [
            f"no role carries out {algorithm.__name__}: where it is defined, derive one from "
            f"pipeline.roles.role.LearningRole, whose SPEC has a field algorithm: {algorithm.__name__}"
        ]
    )
