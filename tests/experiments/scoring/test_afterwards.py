"""Runs that are over, evaluated on a real threads cluster: a finished one, and one that was killed."""

import io
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline import api, seeding
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.session import Session
from pipeline.errors import ConfigError
from pipeline.evaluate import main, parse_request
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.files import checkpoint, run_lock
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.saved_config import read_config
from pipeline.experiments.plan import network_of
from pipeline.experiments.run import train
from pipeline.experiments.scoring import afterwards
from pipeline.experiments.scoring.afterwards import Result, evaluate_runs
from pipeline.experiments.scoring.chosen_parameters import chosen_checkpoint
from pipeline.experiments.scoring.tasks import Evaluation, play_all
from pipeline.experiments.specs import checkpoint_fit
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.roles.progress import RoleProgress
from tests.experiments.smoke_runs import opened, smoke_config


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seed 0, and one of seed 1 that was killed after a checkpoint."""
    results_dir = tmp_path_factory.mktemp("runs")
    train(smoke_config(results_dir, "budget.frames=1200"), Console(file=io.StringIO()))
    config = smoke_config(results_dir, "seed=1")
    params = network_of(config).initial_parameters(seeding.stream(1, "parameters")).astype(np.float32)
    steps = RoleProgress(300, 7, 7, 0.0, 0, 2.5)
    slots = {"sum_of_squares": np.zeros_like(params)}
    server = first_snapshot(params)._replace(versions=(7, 7), target_versions=(0, 0), slots=slots)
    killed = Checkpoint(server, {"bundle-0": steps}, generation=1)
    folder = opened(config)
    checkpoint.save(folder.checkpoints, killed, keep=2)
    checkpoint.save(folder.checkpoints / "best", killed._replace(server=first_snapshot(params)), keep=1)
    return results_dir / "smoke_gorila" / "Breakout"


@pytest.fixture
def copies(runs: Path, tmp_path: Path) -> Path:
    """The same, for a test that changes them: the folder above both."""
    return Path(shutil.copytree(runs, tmp_path / "runs"))


def evaluate(*words: str) -> tuple[Result, str]:
    """What the command does, and what it prints."""
    output = io.StringIO()
    return evaluate_runs(parse_request(words), Console(file=output, width=200)), output.getvalue()


def mistakes(*words: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        evaluate(*words)
    return raised.value.mistakes


def test_runs_are_evaluated_side_by_side_each_into_its_own_rows(copies: Path) -> None:
    result, printed = evaluate(f"run={copies}", "evaluation=sticky", "evaluation.num_episodes=2", SHORT)
    assert result == Result(num_played=2, num_there=0, was_interrupted=False)
    assert "2 evaluation(s) on 2 host(s)" in printed
    for seed, version in ((0, newest(copies / "0")), (1, 7)):
        rows = load_run(copies / str(seed)).evaluations.query("protocol == 'sticky'")
        assert rows["agent"].tolist() == ["checkpoint"] * 2
        assert rows["version"].tolist() == [version] * 2
        assert rows["sticky_probability"].tolist() == [0.25] * 2
        assert rows["max_frames"].tolist() == [200] * 2
        assert rows["episode_seed"].tolist() == seeding.game_seeds(seed, "evaluation", count=2).tolist()
        assert rows["commit"].nunique() == 1
        (recording,) = (copies / str(seed) / "recordings").glob("sticky_checkpoint_*.npz")
        assert [game.row.score for game in recordings.load(recording)] == rows["score"].tolist()
    assert "Breakout, 2 runs" in printed and "ours: smoke_gorila" in printed


def test_what_the_training_evaluated_is_there_already_and_played_again_only_if_asked(copies: Path) -> None:
    run = copies / "0"
    before = (run / "evaluations.csv").read_text()
    result, printed = evaluate(f"run={run}")
    assert result == Result(0, 1, False)
    assert "there already; again=true" in printed
    assert (run / "evaluations.csv").read_text() == before
    assert evaluate(f"run={run}", "again=true")[0] == Result(1, 0, False)
    rows = load_run(run).evaluations
    assert sorted((run / "evaluations.csv").read_text().splitlines()) == sorted(before.splitlines())
    assert rows.groupby("agent").size().to_dict() == {"checkpoint": 2, "random": 2}
    assert len((run / "discarded" / "evaluations.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("evaluation.environment.fire_on_reset=true",),
            "fire_on_reset=true is not smoke as the run has it (false), and",
        ),
        (
            ("evaluation=sticky", "evaluation.environment.max_pool=false"),
            "max_pool=false is not sticky, and rows do not",
        ),
    ],
)
def test_games_that_would_count_as_others_want_a_name_of_their_own(
    copies: Path, words: tuple[str, ...], told: str
) -> None:
    (mistake,) = mistakes(f"run={copies / '0'}", *words)
    assert f"evaluation.environment.{told}" in mistake
    assert evaluate(f"run={copies / '0'}", *words, "evaluation.protocol=mine", SHORT)[0].num_played == 1


def test_games_are_played_again_after_a_resume_has_discarded_others(copies: Path) -> None:
    run = copies / "0"
    (run / "discarded").mkdir()
    # Without a header, as a resume leaves them, and one of them damaged.
    lost = (run / "evaluations.csv").read_text().splitlines(keepends=True)[1] + "smoke,check\n"
    (run / "discarded" / "evaluations.csv").write_text(lost)
    assert evaluate(f"run={run}", "again=true")[0] == Result(1, 0, False)
    assert load_run(run).evaluations.groupby("agent").size().to_dict() == {"checkpoint": 2, "random": 2}
    aside = (run / "discarded" / "evaluations.csv").read_text()
    assert aside.startswith(lost) and len(aside.splitlines()) == 4


def test_games_that_the_disk_does_not_take_are_scored_all_the_same(copies: Path) -> None:
    run = copies / "0"
    shutil.rmtree(run / "recordings")
    (run / "recordings").touch()
    result, printed = evaluate(f"run={run}", "seed=5")
    assert result.num_played == 1 and "games are scored and not recorded: " in printed
    assert len(load_run(run).evaluations.query("agent == 'checkpoint'")) == 4


def test_another_seed_plays_other_games_beside_those_that_are_there(copies: Path) -> None:
    assert evaluate(f"run={copies / '0'}", "seed=5")[0].num_played == 1
    rows = load_run(copies / "0").evaluations.query("agent == 'checkpoint'")
    assert rows["episode_seed"].tolist()[2:] == seeding.game_seeds(5, "evaluation", count=2).tolist()


def test_checkpoints_are_called_newest_best_or_by_their_version(copies: Path) -> None:
    run = copies / "1"
    evaluate(f"run={run}", "checkpoint=best,newest,7", "evaluation.num_episodes=1", SHORT)
    rows = load_run(run).evaluations
    assert sorted(zip(rows["agent"], rows["version"], rows["total_frames"], strict=True)) == [
        ("best", 0, 1200),
        ("checkpoint", 7, 1200),
    ]


def test_a_newest_checkpoint_that_is_damaged_is_named_before_the_one_before_it_is_played(
    copies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copies / "1" / "checkpoints" / f"{99:012d}.npz").write_bytes(b"cut short")
    result, _ = evaluate(f"run={copies / '1'}", "evaluation.num_episodes=1")
    assert result.num_played == 1
    told = capsys.readouterr().err
    assert f"{99:012d}.npz cannot be read: " in told and "; the checkpoint before it is taken" in told


def test_runs_that_are_being_deleted_are_none(copies: Path) -> None:
    shutil.copytree(copies / "0", copies / ".0.deleted.1")
    assert api.find_runs([str(copies)]) == [copies / "0", copies / "1"]


def test_runs_are_found_whatever_their_folder_is_called_and_wherever_it_lies(copies: Path, tmp_path: Path) -> None:
    place = tmp_path / "[old], 1*"
    place.mkdir()
    (place / "linked").symlink_to(copies)
    found = [place / "linked" / "0", place / "linked" / "1"]
    assert api.find_runs([str(place)]) == found
    assert api.find_runs([str(place), str(copies)]) == found, "each once"
    assert list(parse_request([f"run={place},{copies}"]).folders) == found
    assert sorted(api.load_runs(str(place)).runs["folder"]) == [str(folder) for folder in found]
    hidden = tmp_path / ".mine"
    shutil.copytree(copies / "0", hidden)
    assert api.find_runs([str(hidden)]) == [hidden]


def test_from_python_a_request_is_of_the_newest_checkpoint_on_this_machine_unless_it_says_more(copies: Path) -> None:
    found = tuple(api.find_runs([str(copies)]))
    # One of them by two names, and a folder as a text.
    folders = (*found, copies / "0" / ".." / "0")
    protocols_of_his = copies / "conf"
    protocols_of_his.mkdir()
    request = api.EvaluationRequest(folders, protocols=("sticky",), settings=("evaluation.num_episodes=1", SHORT))
    request = request._replace(config_dir=str(protocols_of_his))  # type: ignore[arg-type]
    assert api.evaluate_runs(request, Console(file=io.StringIO())) == Result(2, 0, False)
    played = [api.load_run(folder).evaluations.query("protocol == 'sticky'")["version"].tolist() for folder in found]
    assert played == [[newest(copies / "0")], [7]]


def test_a_line_that_a_kill_cut_short_does_not_spoil_new_rows(copies: Path) -> None:
    run = copies / "0"
    with (run / "evaluations.csv").open("a") as file:
        file.write("smoke,checkpoint,1")
    assert evaluate(f"run={run}", "seed=5")[0].num_played == 1
    assert load_run(run).problems == ()


def test_a_run_that_somebody_writes_in_is_refused(copies: Path) -> None:
    with run_lock.hold(copies / "0" / "config.yaml"):
        (line,) = mistakes(f"run={copies}", "seed=5")
    assert line.startswith(f"{copies / '0'} is being trained or evaluated")


def test_a_run_is_held_while_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = smoke_config(tmp_path)
    refused: list[str] = []

    def evaluate_meanwhile(_run: object) -> None:
        refused.extend(mistakes(f"run={tmp_path}"))

    monkeypatch.setattr("pipeline.experiments.run._Run.carry_out", evaluate_meanwhile)
    folder = opened(config)
    params = np.zeros(network_of(config).num_parameters, np.float32)
    checkpoint.save(folder.checkpoints, Checkpoint(first_snapshot(params), {}, 0), keep=1)
    train(smoke_config(tmp_path, "resume=true"), Console(file=io.StringIO()))
    assert len(refused) == 1 and "right now" in refused[0]


@pytest.mark.slow
def test_what_is_finished_before_ctrl_c_is_kept(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted_after_the_first(
        session: Session,
        cluster: ClusterConfig,
        evaluations: Sequence[Evaluation],
        interrupt: threading.Event,
        say: Callable[[str], None],
        show: Callable[[int, int], object],
    ) -> Iterator[tuple[int, list[PlayedGame]]]:
        for played in play_all(session, cluster, evaluations, interrupt, say, show=show):
            interrupt.set()
            yield played

    monkeypatch.setattr(afterwards, "play_all", interrupted_after_the_first)
    words = ["seed=5", "evaluation=smoke,sticky", "evaluation.num_episodes=1", "cluster.num_hosts=1", SHORT]
    result, printed = evaluate(f"run={copies / '0'}", *words)
    assert result == Result(num_played=1, num_there=0, was_interrupted=True)
    assert "interrupted: 1 evaluation(s) are not finished" in printed
    assert len(load_run(copies / "0").evaluations.query("agent == 'checkpoint'")) == 3
    monkeypatch.undo()
    assert evaluate(f"run={copies / '0'}", *words)[0] == Result(1, 1, False)


def test_all_mistakes_are_told_at_once(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mistakes(f"run={tmp_path / 'none'},{runs}/x*", "again=maybe", "sed=1") == (
        "again=maybe: must be true or false",
        "sed=1: no such setting; did you mean seed?",
        f"run={tmp_path / 'none'}: no run folder is there, which would hold a config.yaml",
        f"run={runs}/x*: no run folder is there, which would hold a config.yaml",
    )
    words = ("evaluation=ba3c_50", "evaluation.epsilom=1", "checkpoint=best", "cluster=thread")
    assert mistakes(f"run={runs}", *words) == (
        "cluster=thread: no such cluster; did you mean threads?",
        "evaluation.epsilom=1: no such setting; did you mean evaluation.epsilon?",
        "evaluation.environment.grey=false must equal environment.grey=true: one network plays both, so choose an "
        "evaluation of games that look the same",
    )
    found = mistakes(f"run={runs}", "checkpoint=best,999999")
    assert found[0].startswith(f"{runs / '0'}: checkpoint=best: there is none")
    assert f"{runs / '1'}: checkpoint=999999 must be newest, best or a version that is there; there is 0, 7" in found
    assert main([f"run={runs}", "checkpoint=999999"]) == 2
    assert capsys.readouterr().err.startswith("error: 2 mistakes")


def test_a_version_is_found_beside_what_lies_deeper(copies: Path) -> None:
    checkpoints = copies / "1" / "checkpoints"
    for deeper in ("exact", "exact/frames/bundle-0", "replay/bundle-0/000000000001/frames/0"):
        (checkpoints / deeper).mkdir(parents=True)
        (checkpoints / deeper / "000000000007.npz").write_bytes(b"no checkpoint")
    fit = checkpoint_fit(read_config(copies / "1"))
    path, loaded = chosen_checkpoint(checkpoints, "7", fit)
    assert path == checkpoints / "000000000007.npz" and loaded.server.version == 7


def test_one_that_is_stopped_says_so_by_its_status(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = Result(1, 0, was_interrupted=True)
    monkeypatch.setattr(afterwards, "evaluate_runs", lambda _: stopped)
    assert main([f"run={copies}"]) == 130


def newest(run: Path) -> int:
    return checkpoint.load_newest(run / "checkpoints").server.version


SHORT = "evaluation.environment.max_frames=200"
