"""Evaluations beside the training on real hosts; what they score is made up, so that the best can be told."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.session import Session, open_session
from pipeline.envs.episodes import Episode
from pipeline.errors import ConfigError, RemoteLostError, RoleFailedError
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.files import checkpoint, evaluation_rows
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.scoring import beside_training
from pipeline.experiments.scoring.beside_training import TrainingEvaluation
from pipeline.experiments.scoring.hosted import Listener
from pipeline.param_server.snapshot import first_snapshot
from pipeline.roles.evaluator import EvaluatorSpec
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EvaluationRow
from pipeline.topologies.patience import Patience
from pipeline.types import Float32Array
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until
from tests.experiments.smoke_runs import smoke_config

GONE = "tcp://127.0.0.1:9"
PATIENCE = Patience(odd_silence_seconds=1.0, lost_silence_seconds=2.0)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session(cluster_config("threads"), num_hosts=2, threads_per_host=1) as session:
        yield session


@pytest.fixture(scope="module", autouse=True)
def coordinator(session: Session) -> Iterator[Coordinator]:
    with Coordinator(session.client, session.run_id, lambda rows: None) as coordinator:
        yield coordinator


def played(score: float, version: int, num_frames: int = 0) -> Checkpoint:
    """Parameters that score `score` and, in the second game, one point more."""
    server = first_snapshot(np.array([score], np.float32))._replace(versions=(version,))
    steps = RoleProgress(num_frames // 3, version, version, 0.0, 0, 2.5)
    return Checkpoint(server, {"worker-0": steps}, generation=1)


def made_up_scores(
    spec: EvaluatorSpec, params: Float32Array, stop: Callable[[], bool], tell: Callable[[int], object]
) -> list[PlayedGame]:
    """Stands in for the games: the first parameter is the score."""
    if np.isinf(params[0]):
        pause = threading.Event()
        while not stop():
            pause.wait(0.01)
        return []
    assert spec.agent == "training"
    rows = [
        EvaluationRow(
            spec.evaluation.protocol, spec.agent, spec.version, spec.total_frames, i, spec.seed, 0,
            params[0].item() + i, 1, False, 0.0, False, 0, 4, 4, 0.0, 0, 400, False, True, "none", "",
            spec.wall_seconds,
        )
        for i in range(spec.evaluation.num_episodes)
    ]  # fmt: skip
    config = spec.evaluation.environment
    return [PlayedGame(row, Episode(spec.game, config, row.episode_seed, b"\x00", row.score, False)) for row in rows]


LET_GO = threading.Event()


def stands_still(spec: EvaluatorSpec, params: Float32Array, **_: object) -> list[PlayedGame]:
    """Says nothing, and asks nobody whether it is to stop."""
    LET_GO.wait(LIMIT_SECONDS)
    return []


def stands_still_later(
    spec: EvaluatorSpec, params: Float32Array, stop: Callable[[], bool], tell: Callable[[int], object]
) -> list[PlayedGame]:
    """The same once it was heard of."""
    tell(0)
    pause = threading.Event()
    for _ in range(150):
        stop()
        pause.wait(0.01)
    return stands_still(spec, params)


class Hears:
    """Stands in for a coordinator that hears of all, again and again."""

    is_behind = False

    def __init__(self) -> None:
        self._num_asked = 0

    def num_heard(self, role: str, attempt: int) -> int:
        self._num_asked += 1
        return self._num_asked

    def dismiss(self, role: str, attempt: int) -> None:
        """Nobody hears it."""


class Evaluated:
    """An evaluation every 300 frames, looked after."""

    def __init__(self, session: Session, folder: Path, listener: Listener | None = None) -> None:
        self.listener = listener or Hears()
        words = ["training_evaluation.every_frames=300", "training_evaluation.num_episodes=2"]
        config = smoke_config(folder, *words, experiment="smoke_dba3c")
        self.said: list[str] = []
        self.evaluation = TrainingEvaluation(
            session, config, min(session.hosts), folder, self.said.append, None, PATIENCE
        )
        self.best = folder / "checkpoints" / "best"
        self.best.parent.mkdir(exist_ok=True)  # as the first checkpoint of a run has made it
        self.recordings = folder / "recordings"
        self.num_taken = 0
        self.rows: list[EvaluationRow] = []

    def check(self, num_frames: int, taken: Checkpoint, free_hosts: set[str] | None = None) -> tuple[int, str]:
        """Number of rows, and the sentence."""

        def take() -> Checkpoint:
            self.num_taken += 1
            return taken

        rows, said = self.evaluation.check(num_frames, take, free_hosts or set(), self.listener)
        self.rows += rows
        return len(rows), said

    @property
    def is_playing(self) -> bool:
        return self.evaluation._hosted is not None

    def play(self, num_frames: int, taken: Checkpoint) -> tuple[int, str]:
        """From the start to the end of one that is due."""
        assert self.check(num_frames, taken) == (0, "")
        answers: list[tuple[int, str]] = []

        def is_over() -> bool:
            answers.append(self.check(num_frames, taken))
            return answers[-1] != (0, "")

        wait_until(is_over, "the evaluation is over")
        return answers[-1]


@pytest.fixture
def evaluated(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluated:
    monkeypatch.setattr(beside_training, "evaluate_params", made_up_scores)
    return Evaluated(session, tmp_path)


def test_one_that_stands_still_is_named_and_in_the_end_given_up_and_played_elsewhere(
    session: Session, coordinator: Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated = Evaluated(session, tmp_path, coordinator)
    first, other = sorted(session.hosts)
    said: list[str] = []

    def looked() -> bool:
        said.append(evaluated.check(301, played(1.0, 1, 301), {first, other})[1])
        return not evaluated.is_playing

    try:
        with monkeypatch.context() as still:
            still.setattr(beside_training, "evaluate_params", stands_still)
            assert evaluated.check(300, played(1.0, 1, 300)) == (0, "")
            wait_until(looked, "it is given up")
        named, moved = filter(None, said)
        assert named.startswith(f"nothing was heard of evaluator on {first} for ")
        assert moved == f"evaluator says nothing on {first} and goes on at {other}"
        monkeypatch.setattr(beside_training, "evaluate_params", made_up_scores)
        assert evaluated.play(301, played(1.0, 2, 301))[0] == 2
    finally:
        LET_GO.set()


def test_one_that_stood_still_leaves_its_host_to_the_next_one(
    session: Session, coordinator: Coordinator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated = Evaluated(session, tmp_path, coordinator)
    LET_GO.clear()
    try:
        with monkeypatch.context() as still:
            still.setattr(beside_training, "evaluate_params", stands_still_later)
            evaluated.check(300, played(1.0, 1, 300))
            wait_until(lambda: (evaluated.check(300, played(1.0, 1, 300)), not evaluated.is_playing)[1], "given up")
        evaluated.check(301, played(1.0, 2, 301))
        assert evaluated.num_taken == 1, "none is started behind it"
        monkeypatch.setattr(beside_training, "evaluate_params", made_up_scores)
        first, other = sorted(session.hosts)
        evaluated.check(301, played(1.0, 2, 301), {first})
        assert evaluated.num_taken == 2, "the host has another thread"
        assert evaluated.check(301, played(1.0, 3, 301), {other}) == (0, "") and evaluated.evaluation.host == first
        evaluated.evaluation.cancel()
    finally:
        LET_GO.set()
    monkeypatch.setattr(beside_training, "evaluate_params", made_up_scores)
    wait_until(lambda: evaluated.check(301, played(1.0, 2, 301))[0] == 2, "the next one is played there")
    assert evaluated.evaluation.host == min(session.hosts)


def test_one_is_played_whenever_its_frames_are_reached_and_never_two_at_once(evaluated: Evaluated) -> None:
    assert evaluated.check(299, played(1.0, 1)) == (0, "") and evaluated.num_taken == 0
    assert evaluated.evaluation.best_mean is None
    assert evaluated.play(310, played(1.0, 4, 310)) == (2, "evaluation at 309 frames: mean 1.5 over 2 games")
    assert evaluated.num_taken == 1
    assert evaluated.check(599, played(1.0, 5, 599)) == (0, "") and evaluated.num_taken == 1
    assert evaluated.play(1_700, played(2.0, 9, 1_700))[0] == 2
    assert evaluated.check(1_799, played(1.0, 9)) == (0, "") and evaluated.num_taken == 2, "missed ones are not made up"


def test_the_best_is_kept_and_remembered_by_a_run_that_goes_on(
    evaluated: Evaluated, session: Session, tmp_path: Path
) -> None:
    for number, (score, best) in enumerate([(1.0, 1.0), (-3.0, 1.0), (4.0, 4.0), (4.0, 4.0)], 1):
        evaluated.play(300 * number, played(score, number, 300 * number))
        kept = checkpoint.load_newest(evaluated.best)
        assert kept.server.params == [best] and evaluated.evaluation.best_mean == best + 0.5
    assert kept.server.version == 3, "an equal one is no better"
    (recording,) = recordings.all_in(evaluated.recordings)
    assert [game.row.score for game in recordings.load(recording)] == [4.0, 5.0]
    assert [path.name for path in sorted(evaluated.best.iterdir())] == ["000000000003.npz", "score.json"]
    said = json.loads((evaluated.best / "score.json").read_text())
    assert said == {"mean_score": 4.5, "num_episodes": 2, "protocol": "smoke_ba3c"}
    assert Evaluated(session, tmp_path).evaluation.best_mean == 4.5


@pytest.mark.parametrize(("was_written", "num_taken"), [(True, 0), (False, 1)])
def test_a_run_that_goes_on_evaluates_at_its_next_mark_or_what_it_has_missed(
    evaluated: Evaluated, session: Session, tmp_path: Path, was_written: bool, num_taken: int
) -> None:
    evaluated.play(310, played(1.0, 4, 310))
    if was_written:
        evaluation_rows.add(tmp_path, evaluated.rows)
    again = Evaluated(session, tmp_path)
    again.check(320, played(1.0, 5, 320))
    assert again.num_taken == num_taken
    again.evaluation.cancel()
    if was_written:
        again.check(600, played(1.0, 9, 600))
        assert again.num_taken == 1
        again.evaluation.cancel()


BEYOND = f'{{"mean_score": 1{"0" * 400}}}'
"""A number that is none of Python's floats."""


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mean_score": "4.5"}', '{"mean_score": NaN}', "\0", BEYOND])
def test_a_best_score_that_cannot_be_read_is_told_and_the_next_one_counts(
    session: Session, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "checkpoints" / "best" / "score.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    again = Evaluated(session, tmp_path)
    assert again.evaluation.best_mean is None
    (line,) = again.said
    assert line.startswith(f"{path} cannot be read: ") and line.endswith(
        "the next evaluation counts as the best so far"
    )


def test_a_best_that_cannot_be_kept_is_told_and_ends_nothing(evaluated: Evaluated) -> None:
    evaluated.recordings.touch()
    num_rows, said = evaluated.play(300, played(1.0, 1, 300))
    assert num_rows == 2 and "mean 1.5 over 2 games, the best so far, of which not all could be kept: " in said
    assert evaluated.evaluation.best_mean == 1.5


def test_the_best_may_be_of_an_older_version_than_the_best_before(evaluated: Evaluated) -> None:
    evaluated.play(300, played(1.0, 90, 300))
    evaluated.play(600, played(2.0, 80, 600))  # after the run went back to a checkpoint
    assert checkpoint.load_newest(evaluated.best).server.params == [2.0]


def test_one_that_was_given_up_is_played_anew(evaluated: Evaluated) -> None:
    evaluated.check(300, played(1.0, 1, 300))
    evaluated.evaluation.cancel()
    assert evaluated.play(301, played(2.0, 2, 300))[0] == 2
    assert evaluated.num_taken == 2


def test_one_that_was_told_to_stop_counts_for_nothing_and_is_played_anew(
    evaluated: Evaluated, coordinator: Coordinator, session: Session
) -> None:
    evaluated.check(300, played(np.inf, 1, 300))
    wait_until(lambda: session.client.processing()[evaluated.evaluation.host], "it has begun")
    coordinator.stop_roles()
    wait_until(lambda: evaluated.check(300, played(1.0, 2, 300))[0] == 2, "another is played")
    coordinator.let_roles_run({})
    assert evaluated.num_taken == 2 and evaluated.evaluation.best_mean == 1.5


def test_a_host_that_dies_while_it_is_sent_the_parameters_ends_nothing(
    evaluated: Evaluated, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lost:
        lost.setattr(session, "send", loses_host)
        assert evaluated.check(300, played(1.0, 1, 300)) == (0, "")
    assert evaluated.play(301, played(1.0, 2, 300))[0] == 2


def loses_host(value: object, host: str) -> None:
    """Stands in for `Session.send`."""
    raise RemoteLostError(f"{host} was lost")


class Lost:
    """A task whose host died, before Dask had told of the host; stands in for a task that has ended."""

    def __init__(self, cancelled: bool, error: type[Exception]) -> None:
        self._cancelled = cancelled
        self._error = error

    def done(self) -> bool:
        return True

    def cancelled(self) -> bool:
        return self._cancelled

    def exception(self) -> None:
        assert not self._cancelled, "what was cancelled has no exception"

    def result(self, timeout: float) -> None:
        raise self._error()


@pytest.mark.parametrize("lost", [Lost(True, CancelledError), Lost(False, CancelledError), Lost(False, TimeoutError)])
def test_games_that_were_lost_with_their_host_are_played_anew(
    lost: Lost, evaluated: Evaluated, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(session, "submit", lambda *_, **__: lost)
        assert evaluated.check(300, played(1.0, 1, 300)) == (0, "")
        assert evaluated.check(300, played(1.0, 1, 300)) == (0, "")
    assert evaluated.play(301, played(1.0, 2, 300))[0] == 2


@pytest.mark.parametrize(
    "error", [ValueError("the emulator broke"), ConfigError(["game=Pong: ale-py has no ROM"]), RemoteLostError("gone")]
)
def test_one_that_fails_ends_the_run_with_its_reason(
    evaluated: Evaluated, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> list[PlayedGame]:
        raise error

    monkeypatch.setattr(beside_training, "evaluate_params", fails)
    evaluated.check(300, played(1.0, 1, 300))

    def failed() -> bool:
        try:
            evaluated.check(300, played(1.0, 1))
        except RoleFailedError as failure:
            return str(failure) == f"evaluator failed: {error!r}"
        return False

    wait_until(failed, "the error is told")


def test_when_it_has_to_leave_its_host_it_goes_on_where_there_is_room(evaluated: Evaluated, session: Session) -> None:
    evaluated.evaluation.host = beside_training.NO_HOST
    left = "evaluator has left its host to a role that the run needs"
    assert evaluated.check(300, played(1.0, 1, 300)) == (0, f"{left}: nothing is evaluated until another host is free")
    host = max(session.hosts)
    assert evaluated.check(300, played(1.0, 1, 300), {host}) == (0, f"{left} and goes on at {host}")
    assert evaluated.play(300, played(1.0, 1, 300))[0] == 2


def test_when_its_host_is_gone_it_says_so_once_and_takes_the_first_that_is_free(
    evaluated: Evaluated, session: Session
) -> None:
    evaluated.evaluation.host = GONE
    other = max(session.hosts)
    waits = f"evaluator was lost with its host {GONE}: nothing is evaluated until another host is free"
    assert evaluated.check(300, played(1.0, 1, 300)) == (0, waits)
    assert evaluated.check(300, played(1.0, 1, 300)) == (0, "")
    goes_on = f"evaluator was lost with its host {GONE} and goes on at {other}"
    assert evaluated.check(300, played(1.0, 1, 300), {other}) == (0, goes_on)
    assert evaluated.evaluation.host == other and evaluated.num_taken == 0
    assert evaluated.play(300, played(1.0, 1, 300))[0] == 2
