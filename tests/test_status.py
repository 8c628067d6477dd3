"""`python -m pipeline.status`: a sweep seen through its files."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from rich.console import Console

from dask_jobs.ledger import Ledger, LedgerRow
from pipeline import status
from pipeline.errors import SweepError
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.experiments.sweeps.status import newest_sweep, read_sweep
from pipeline.rows import EpisodeRow, UpdateRow
from pipeline.status import main
from tests.clusters import wait_until
from tests.experiments.smoke_runs import smoke_config

DONE: dict[str, Any] = {"status": "done", "attempts": 1, "seconds": 60.0}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Three games x two experiments: three jobs done, one under way, one waiting, one failed; its ledger."""
    runs = f"results_dir={tmp_path / 'runs'}"

    def job(number: int, experiment: str, game: str, **known: Any) -> LedgerRow:
        return LedgerRow(number, f"experiment={experiment} game={game} {runs}")._replace(**known)

    folder = tmp_path / "sweeps" / "three"
    ledger = Ledger.open(folder)
    ledger.write(
        job(0, "smoke_gorila", "Alien", **DONE, return_value="120.5"),
        job(1, "smoke_gorila", "Boxing", **DONE, return_value="-3.0"),
        job(2, "smoke_gorila", "Breakout", status="running", attempts=1),
        job(3, "smoke_dqn", "Alien", **DONE, return_value="null"),
        job(4, "smoke_dqn", "Boxing", status="failed", reason="MemoryError: too much"),
        job(5, "smoke_dqn", "Breakout"),
    )
    ledger.close()
    write_rows(tmp_path / "runs")
    return folder


def write_rows(results_dir: Path, *words: str) -> None:
    """Of the run under way, by hand: half of its budget, two roles."""
    config = smoke_config(results_dir, "budget.frames=6_000", *words)
    path = config.folder
    path.mkdir(parents=True)
    folder = RunFolder(path)
    for role, steps_per_second in (("bundle-0", 100.0), ("bundle-1", 150.0)):
        for frames in (1_500, 3_000):
            folder.write([update(role, frames, steps_per_second)])
    folder.write([EpisodeRow("bundle-0", 0, 100, 400, score, 100, False, 0.5, 10, 1.0) for score in (2.0, 4.0)])
    folder.close()


def update(role: str, total_frames: int, steps_per_second: float) -> UpdateRow:
    learning = (10, 10, 0, 0, 0, 20, total_frames, 0.1, 1.0, 0.0, 0.0, 0.0, 0)
    return UpdateRow(role, *learning, 0.5, steps_per_second, 25.0, 200, 0.0, 2.0)


def shown(*words: str) -> str:
    console = Console(file=io.StringIO(), width=160)
    assert main(words, console) == 0
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def line_of(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return line.split()


def test_counts_speed_and_time_left_stand_above_all(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    text = shown(f"sweep_dir={sweep}")
    ledger.close()
    # One waits, and half of one is left, at a minute each.
    assert text.splitlines()[0] == (f"{sweep}: 3 done · 1 running · 1 waiting · 1 failed · 250 steps/s · ETA 0:01:30")


def test_a_sweep_that_nobody_runs_has_no_speed_and_no_time_left(sweep: Path) -> None:
    assert shown(f"sweep_dir={sweep}").splitlines()[0] == (
        f"{sweep}: 3 done · 1 running · 1 waiting · 1 failed · nobody runs it"
    )


def test_what_a_second_attempt_took_is_no_measure_of_a_whole_job(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    ledger.write(ledger.rows[0]._replace(attempts=2, seconds=1.0))
    text = shown(f"sweep_dir={sweep}")
    ledger.close()
    assert text.splitlines()[0].endswith("ETA 0:01:30")


def test_a_run_that_was_finished_before_is_no_measure_of_a_whole_job(sweep: Path) -> None:
    config = smoke_config(sweep.parents[1] / "runs", "game=Alien")
    config.folder.mkdir(parents=True)
    RunFolder(config.folder).write_run({"started_at": "2026-05-04T12:00:00+00:00"})
    ledger = Ledger.open(sweep)
    for started, eta in (("2026-05-04T11:59:59+00:00", "ETA 0:01:01"), ("2026-05-04T14:00:00+00:00", "ETA 0:01:30")):
        ledger.write(ledger.rows[0]._replace(started=started, seconds=2.0))
        assert shown(f"sweep_dir={sweep}").splitlines()[0].endswith(eta)
    ledger.close()


def test_runs_are_found_where_a_results_dir_that_names_the_seed_puts_them(sweep: Path) -> None:
    place = sweep.parents[1] / "of_seed"
    ledger = Ledger.open(sweep)
    job = f"experiment=smoke_gorila game=Breakout seed=3 results_dir={place}/${{seed}}"
    ledger.write(LedgerRow(6, job, status="running", attempts=1))
    ledger.close()
    write_rows(place / "3", "seed=3")
    (run,) = [job.run for job in read_sweep(sweep).jobs if job.seed == 3]
    assert run is not None and run.fraction == 0.5


def test_a_run_under_way_is_seen_by_its_newest_rows(sweep: Path) -> None:
    (job,) = read_sweep(sweep).with_status("running")
    assert job.run is not None
    assert (job.run.fraction, job.run.steps_per_second, job.run.mean_score) == (0.5, 250.0, 3.0)
    assert line_of(shown(f"sweep_dir={sweep}"), "2 ")[:7] == ["2", "smoke_gorila", "Breakout", "0", "50%", "250", "3.0"]


def test_every_game_has_a_row_with_a_cell_for_each_experiment(sweep: Path) -> None:
    text = shown(f"sweep_dir={sweep}")
    assert line_of(text, "game") == ["game", "smoke_gorila", "smoke_dqn"]
    assert line_of(text, "Alien") == ["Alien", "120.5", "-"]
    assert line_of(text, "Boxing") == ["Boxing", "-3.0", "failed"]
    assert line_of(text, "Breakout") == ["Breakout", "50%", "·"]
    assert "failed: MemoryError: too much" in text


@pytest.fixture
def own_sweep(tmp_path: Path) -> Path:
    """A sweep over an experiment of a user's own folder, `conf` beside it."""
    experiment = tmp_path / "conf" / "experiment" / "mine.yaml"
    experiment.parent.mkdir(parents=True)
    experiment.write_text("# @package _global_\ndefaults: [smoke_dqn]\nexperiment: mine\n")
    folder = tmp_path / "sweeps" / "own"
    ledger = Ledger.open(folder)
    ledger.write(LedgerRow(0, "experiment=mine game=Alien", **DONE, return_value="1.5"))
    ledger.close()
    return folder


def note_config_dir(sweep: Path, config_dir: Path) -> None:
    """As Hydra's own sweeper does."""
    sources = [
        {"path": "/ours", "schema": "file", "provider": "main"},
        {"path": str(config_dir), "schema": "file", "provider": "command-line"},
    ]
    note = OmegaConf.create({"hydra": {"runtime": {"config_sources": sources}}})
    OmegaConf.save(note, sweep / "multirun.yaml")


def test_runs_of_a_folder_of_one_s_own_are_found_by_what_hydra_has_noted(own_sweep: Path) -> None:
    note_config_dir(own_sweep, own_sweep.parents[1] / "conf")
    assert line_of(shown(f"sweep_dir={own_sweep}"), "Alien") == ["Alien", "1.5"]


def test_runs_of_a_folder_of_one_s_own_are_found_by_its_name(own_sweep: Path) -> None:
    text = shown(f"sweep_dir={own_sweep}", f"config_dir={own_sweep.parents[1] / 'conf'}")
    assert line_of(text, "Alien") == ["Alien", "1.5"]


def test_runs_whose_folder_a_file_names_after_their_game_and_seed_are_found(own_sweep: Path) -> None:
    conf = own_sweep.parents[1] / "conf"
    results_dir = f"{own_sweep.parents[1]}/${{game}}_${{seed}}"
    with (conf / "experiment" / "mine.yaml").open("a") as file:
        file.write(f"results_dir: {results_dir}\n")
    ledger = Ledger.open(own_sweep)
    jobs = [LedgerRow(job, f"experiment=mine game={game} seed=3") for job, game in enumerate(("Alien", "Hero"), 1)]
    ledger.write(*(job._replace(status="running", attempts=1) for job in jobs))
    ledger.close()
    for frames, game in ((1_500, "Alien"), (3_000, "Hero")):
        path = own_sweep.parents[1] / f"{game}_3" / "mine" / game / "3"
        path.mkdir(parents=True)
        folder = RunFolder(path)
        folder.write([update("bundle-0", frames, 100.0)])
        folder.close()
    _, alien, hero = read_sweep(own_sweep, conf).jobs
    assert alien.run is not None and hero.run is not None
    assert (alien.game, alien.run.fraction, hero.game, hero.run.fraction) == ("Alien", 0.25, "Hero", 0.5)


@pytest.mark.parametrize("note", ["none", "gone", "damaged"])
def test_jobs_whose_run_is_not_known_are_counted_with_the_reason_and_the_way_out(own_sweep: Path, note: str) -> None:
    if note == "gone":
        note_config_dir(own_sweep, own_sweep / "gone")
    if note == "damaged":
        (own_sweep / "multirun.yaml").write_text("hydra: [")
    text = " ".join(shown(f"sweep_dir={own_sweep}").split())
    assert "1 of 1 jobs cannot be read here, the first because: " in text and "experiment/mine" in text
    assert "Config search path" not in text
    assert text.endswith("files of yours are found with config_dir=FOLDER")


def test_a_config_dir_that_is_not_there_is_a_mistake(own_sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"sweep_dir={own_sweep}", "config_dir=nope"]) == 2
    assert "config_dir=nope: there is no such folder" in capsys.readouterr().err


def test_a_run_that_has_no_rows_yet_is_starting(sweep: Path) -> None:
    config = smoke_config(sweep.parents[1] / "runs")
    for file in config.folder.iterdir():
        file.unlink()
    assert "starting" in line_of(shown(f"sweep_dir={sweep}"), "2 ")
    assert line_of(shown(f"sweep_dir={sweep}"), "Breakout")[1] == "0%"


def test_seeds_stand_side_by_side(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    overrides = f"experiment=smoke_gorila game=Alien seed=1 results_dir={sweep.parents[1] / 'runs'}"
    ledger.write(LedgerRow(6, overrides)._replace(**DONE, return_value="7.0"))
    ledger.close()
    text = shown(f"sweep_dir={sweep}")
    assert line_of(text, "Alien")[1:3] == ["120.5", "7.0"] and "seeds 0, 1 side by side" in text


def test_a_value_with_spaces_is_one_word(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    overrides = f"experiment=smoke_gorila results_dir='{sweep.parents[1] / 'my runs'}' game=Asterix"
    ledger.write(LedgerRow(6, overrides)._replace(**DONE, return_value="7.0"))
    ledger.close()
    assert line_of(shown(f"sweep_dir={sweep}"), "Asterix")[1] == "7.0"


def test_a_value_in_quotes_is_one_word_whatever_is_in_it(sweep: Path) -> None:
    results_dir = sweep.parents[1] / "runs seed=9 game=Hero"
    overrides = f"experiment=smoke_gorila game='Asterix' results_dir=\"{results_dir}\" seed=1"
    ledger = Ledger.open(sweep)
    ledger.write(LedgerRow(6, overrides)._replace(**DONE, return_value="7.0"))
    ledger.close()
    job = read_sweep(sweep).jobs[-1]
    assert (job.experiment, job.game, job.seed, job.why_unknown) == ("smoke_gorila", "Asterix", 1, "")


def test_a_job_that_is_no_run_of_this_version_is_counted_and_left_out_of_the_games(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    ledger.write(LedgerRow(6, "experiment=of_old game=Alien"), LedgerRow(7, "experiment=smoke_dqn game=Alien seed=x"))
    ledger.close()
    text = shown(f"sweep_dir={sweep}")
    assert "3 waiting" in text.splitlines()[0] and line_of(text, "game") == ["game", "smoke_gorila", "smoke_dqn"]


def test_a_sweep_that_has_ended_is_not_watched_for_ever(sweep: Path) -> None:
    ledger = Ledger.open(sweep)
    ledger.write(*(row._replace(status="done", return_value="1.0") for row in ledger.rows))
    ledger.close()
    assert "6 done" in shown(f"sweep_dir={sweep}", "watch=true").splitlines()[0]


def test_a_sweep_is_watched_until_its_last_job_is_done(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_WATCH_SECONDS", 0.05)
    ledger = Ledger.open(sweep)
    with ThreadPoolExecutor(1) as pool:
        watched = pool.submit(shown, f"sweep_dir={sweep}", "watch=true")
        with pytest.raises(TimeoutError):
            watched.result(timeout=1.0)
        ledger.write(*(row._replace(status="done", return_value="1.0") for row in ledger.rows))
        assert "6 done" in watched.result(timeout=60.0).splitlines()[0]
    ledger.close()


def test_where_the_screen_cannot_be_drawn_anew_a_watched_sweep_is_lines(
    sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "_WATCH_SECONDS", 0.01)
    monkeypatch.setattr(status, "_LINE_SECONDS", 0.02)
    monkeypatch.setenv("TERM", "dumb")
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    ledger = Ledger.open(sweep)
    with ThreadPoolExecutor() as pool:
        watched = pool.submit(main, [f"sweep_dir={sweep}", "watch=true"], Console(file=screen, width=200))
        wait_until(lambda: screen.getvalue().count("1 running") > 1, "two lines")
        ledger.close()
        assert watched.result(timeout=60.0) == 0
    assert screen.getvalue().splitlines()[1].startswith(f"{sweep}: 3 done")


def test_a_sweep_whose_command_was_killed_is_not_watched_for_ever(sweep: Path) -> None:
    assert "1 running" in shown(f"sweep_dir={sweep}", "watch=true").splitlines()[0]


def test_the_newest_sweep_is_found_and_none_is_an_error(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert newest_sweep(sweep.parent) == sweep
    with pytest.raises(SweepError, match=r"there is no sweep below .*: name one with sweep_dir="):
        newest_sweep(sweep)
    assert main([f"sweep_dir={sweep / 'nowhere'}"]) == 2
    assert "there is no ledger of a sweep" in capsys.readouterr().err
    assert main(["sweepdir=x"]) == 2
    assert "did you mean sweep_dir?" in capsys.readouterr().err


def test_runs_that_differ_in_a_setting_alone_are_listed_by_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sweeps" / "rates"
    words = f"experiment=smoke_dqn game=Pong results_dir={tmp_path / 'runs'}"
    ledger = Ledger.open(folder)
    ledger.write(
        LedgerRow(0, f"{words} optimizer.learning_rate=0.1")._replace(**DONE, return_value="7.0"),
        LedgerRow(1, f"{words} optimizer.learning_rate=0.2")._replace(status="running", attempts=1),
    )
    ledger.close()
    assert main([f"sweep_dir={folder}"]) == 0
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "0 optimizer.learning_rate=0.1 7.0" in printed
    assert "1 optimizer.learning_rate=0.2 starting - - -" in printed
