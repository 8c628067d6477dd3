"""One evaluation as a Dask task on one host: started, looked after, and its games taken from there.

Not here: which one is started where and what follows a loss (`pipeline.experiments.scoring.queue` of many evaluations,
`pipeline.experiments.scoring.beside_training` of one after the other).
"""

from collections.abc import Callable, Set
from concurrent.futures import CancelledError

from pipeline.cluster.coordination.tasks import RoleAddress, run_until_stopped
from pipeline.cluster.session import Session, Task
from pipeline.errors import PipelineError, RoleFailedError
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.scoring.queue import Fate, fate_of
from pipeline.roles.evaluator import EvaluatorSpec
from pipeline.types import Float32Array


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
    ) -> None:
        """`play` is `evaluate_params`, or for `params` None `evaluate_random`; `name` is what the dashboard says.

        Raises RemoteLostError if the host dies while it is sent the parameters (P,).
        """
        self._session = session
        self._host = host
        sent = [] if params is None else [session.send(params, host)]
        self.task: Task = session.submit(run_until_stopped, play, spec, *sent, address=address, host=host, name=name)
        """What Dask runs."""

    def fate(self, present: Set[str]) -> Fate:
        """What has become of it, where these hosts are there."""
        return fate_of(is_present=self._host in present, is_ended=self.task.done(), is_cancelled=self.task.cancelled())

    def games(self, what: str, timeout_seconds: float) -> list[PlayedGame] | None:
        """Of one that has ended; none if it was told to stop. None if they were lost with their host.

        Waits so long at most for the host to hand them over. Raises what was raised while it was played: PipelineErrors
        as they are, others as RoleFailedError, which says that `what` has failed.
        """
        try:
            error = self.task.exception()
            if error is not None and not isinstance(error, PipelineError):
                raise RoleFailedError(f"{what} failed: {error!r}") from error
            games: list[PlayedGame] = self.task.result(timeout=timeout_seconds)
        except (CancelledError, TimeoutError):
            return None
        return games

    def cancel(self) -> None:
        """Have Dask forget it. What is played goes on until its coordinator says that it has to leave."""
        self._session.forget([self.task])
