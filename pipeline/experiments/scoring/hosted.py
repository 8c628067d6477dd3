"""One evaluation as a Dask task on one host: started, looked after, and its games taken from there.

It tells twice a second that it plays. One that does not, since it waits behind the task of another program or stands
still, is named, and counts as lost where a role would (`pipeline.topologies.supervision`).

Not here: which one is started where and what follows a loss (`pipeline.experiments.scoring.queue` of many evaluations,
`pipeline.experiments.scoring.beside_training` of one after the other).
"""

from collections.abc import Callable, Set
from concurrent.futures import CancelledError
from typing import Protocol

from pipeline.cluster.coordination.tasks import RoleAddress, run_until_stopped
from pipeline.cluster.session import Session, Task
from pipeline.errors import PipelineError, RoleFailedError, UnreachableError
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.scoring.queue import Fate, fate_of
from pipeline.roles.evaluator import EvaluatorSpec
from pipeline.topologies.patience import Patience
from pipeline.topologies.silence import Silence
from pipeline.types import Float32Array


class Listener(Protocol):
    """What is asked of the coordinator that evaluations tell how far they are."""

    @property
    def is_behind(self) -> bool:
        """Whether messages have arrived that are not read yet."""

    def num_heard(self, role: str, attempt: int) -> int:
        """Messages of this one that have been read."""

    def dismiss(self, role: str, attempt: int) -> None:
        """Have it leave as soon as it hears of it."""


class HostedEvaluation:
    """Under way from its making on. Its task leaves by itself when the run is over or this process is gone."""

    def __init__(
        self,
        session: Session,
        play: Callable[..., list[PlayedGame]],
        spec: EvaluatorSpec,
        params: Float32Array | None,
        host: str,
        address: RoleAddress,
        name: str,
        listener: Listener,
        patience: Patience,
    ) -> None:
        """`play` is `evaluate_params`, or for `params` None `evaluate_random`; `name` is what the dashboard says.

        Raises RemoteLostError if the host dies while it is sent the parameters (P,).
        """
        self._session = session
        self.host = host
        """Address of the host where it is, or was."""
        self._name = name
        self._address = address
        self._listener = listener
        self._patience = patience
        self._silence = Silence()
        self._silent_seconds = 0.0
        self._is_named = False
        self._is_present = True
        """Whether its host was, when it was last looked: who gives it up asks no scheduler, which may stand still."""
        sent = [] if params is None else [session.send(params, host)]
        self.task: Task = session.submit(run_until_stopped, play, spec, *sent, address=address, host=host, name=name)
        """What Dask runs."""

    def fate(self, present: Set[str]) -> Fate:
        """What has become of it, where these hosts are there."""
        self._is_present = self.host in present
        role = self._address.role
        self._silent_seconds = self._silence.look({role: self._num_heard}, is_behind=self._listener.is_behind)[role]
        return fate_of(
            is_present=self._is_present,
            is_ended=self.task.done(),
            is_cancelled=self.task.cancelled(),
            is_silent=self._silent_seconds > self._patience.lost_silence_seconds,
            is_heard=self._num_heard > 0,
        )

    def news(self) -> str:
        """Of one that was just looked at: a sentence about its silence, once; mostly none."""
        if self._is_named or self._silent_seconds <= self._patience.odd_silence_seconds:
            return ""
        self._is_named = True
        waits = "" if self._num_heard else ", which may wait there for a thread"
        return f"nothing was heard of {self._name} on {self.host} for {self._silent_seconds:.0f} s{waits}"

    def games(self, what: str, timeout_seconds: float) -> list[PlayedGame] | None:
        """Of one that has ended; none if it was told to stop. None if they were lost with their host or a connection.

        Waits so long at most for the host to hand them over. Raises what was raised while it was played: PipelineErrors
        as they are, others as RoleFailedError, which says that `what` has failed.
        """
        try:
            error = self.task.exception()
            if isinstance(error, UnreachableError):
                return None
            if error is not None and not isinstance(error, PipelineError):
                raise RoleFailedError(f"{what} failed: {error!r}") from error
            games: list[PlayedGame] = self.task.result(timeout=timeout_seconds)
        except (CancelledError, TimeoutError):
            return None
        return games

    def cancel(self) -> None:
        """Give it up. It leaves when it hears of it, and keeps its thread from what comes next until then."""
        self._listener.dismiss(self._address.role, self._address.attempt)
        # With a host that is gone it is forgotten: Dask would start it again on one that comes at the same address.
        if self._is_present and self._num_heard and not self.task.done():
            self._session.staying.add(self.task, self._name, self.host)
        else:
            self._session.forget([self.task])

    @property
    def _num_heard(self) -> int:
        return self._listener.num_heard(self._address.role, self._address.attempt)
