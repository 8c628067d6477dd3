"""`python -m pipeline.train` as users start it, stop it and have it killed."""

import re
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from distributed import Client

from pipeline.experiments.files import checkpoint
from pipeline.experiments.life import RunTiming
from pipeline.results.load import load_run
from tests.clusters import wait_until
from tests.experiments.commands import Command, Start
from tests.experiments.smoke_runs import SMALL_WORKERS, frames_beyond, smoke_words

FOR_EVER = "budget.frames=4_000_000_000"
OFTEN = "checkpoint.every_minutes=0.01"
SHARD_APART = ("cluster=processes", "topology.num_bundles=1", "topology.shards=apart", "param_server.num_shards=1")
"""One bundle, and a shard on a host of its own."""


@pytest.fixture
def results_dir(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def train_words(results_dir: Path, *words: str, experiment: str = "smoke_gorila") -> list[str]:
    smaller = SMALL_WORKERS if experiment == "smoke_dba3c" else []
    return ["-m", "pipeline.train", *smoke_words(results_dir, experiment), *smaller, "progress=lines", *words]


def folder_in(results_dir: Path, experiment: str = "smoke_gorila") -> Path:
    return results_dir / experiment / "Breakout" / "0"


def has_rows(folder: Path) -> bool:
    """True once there are rows of both kinds."""
    files = [folder / name for name in ("episodes.csv", "updates.csv")]
    return all(file.exists() and file.read_text().count("\n") > 2 for file in files)


def has_learned(folder: Path) -> bool:
    """True once there are rows of both kinds and a checkpoint with updates in it."""
    versions = [int(path.stem) for path in (folder / "checkpoints").glob("[0-9]*.npz")]
    return max(versions, default=0) > 0 and has_rows(folder)


def test_all_mistakes_of_a_command_line_are_told_at_once_and_nothing_is_started(start: Start, tmp_path: Path) -> None:
    words = "experiment=gorilla game=Pongg optimizer.lerning_rate=1 param_server.num_shards=0 seed=-1".split()
    command = start("-m", "pipeline.train", *words, f"results_dir={tmp_path / 'runs'}")
    assert command.ends() == 2
    lines = command.printed.splitlines()
    assert lines[0] == "error: 5 mistakes in the configuration, nothing was started:"
    assert [line.split(".")[0].strip() for line in lines[1:]] == ["1", "2", "3", "4", "5"]
    for meant in ("gorila", "Pong", "optimizer.learning_rate", "num_shards=0 must be at least 1", "seed=-1 must be"):
        assert sum(meant in line for line in lines[1:]) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_what_cannot_be_placed_is_a_message_and_no_traceback(start: Start, results_dir: Path) -> None:
    command = start(*train_words(results_dir, "cluster.memory_bytes=1000"))
    assert command.ends() == 1
    assert "error: the roles on " in command.printed and "Traceback" not in command.printed
    assert not results_dir.exists()


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["smoke_gorila", "smoke_dba3c"])
def test_a_killed_coordinator_leaves_rows_and_a_checkpoint_from_which_the_run_is_completed(
    experiment: str, start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir, experiment)
    words = train_words(results_dir, experiment=experiment)
    command = start(*words, FOR_EVER, OFTEN)
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    command.send(signal.SIGKILL)
    assert command.ends() == -signal.SIGKILL

    killed = load_run(folder)
    assert len(killed.episodes) > 0 and len(killed.updates) + len(killed.actor_critic_updates) > 0
    assert killed.runs["end_reason"].isna().all()
    saved = checkpoint.load_newest(folder / "checkpoints")
    assert saved.server.version > 0

    command = start(*words, FOR_EVER)
    assert command.ends() == 1
    assert re.search(r"error: .* holds a run already.*resume=true.*overwrite=true", command.printed)
    assert "Traceback" not in command.printed

    budget = frames_beyond(folder, 2_000)
    command = start(*words, f"budget.frames={budget}", "resume=true")
    assert command.ends() == 0, command.printed
    completed = load_run(folder)
    assert completed.problems == ()
    assert completed.runs["end_reason"].item() == "budget"
    assert completed.runs["total_frames"].item() >= budget
    assert set(completed.evaluations["agent"]) == {"checkpoint", "random"}
    for rows in (completed.episodes, completed.updates, completed.actor_critic_updates):
        for _, of_role in rows.groupby("role"):
            assert of_role["wall_seconds"].is_monotonic_increasing
            assert of_role["version"].is_monotonic_increasing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "more", "owner"),
    [("smoke_gorila", ["cluster=processes"], "bundle-0"), ("smoke_gorila", ["topology=global"], "replay-0")],
)
def test_a_killed_run_that_keeps_its_replays_learns_on_from_them_at_once(
    experiment: str, more: list[str], owner: str, start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir, experiment)
    more = [*more, "checkpoint.replay=true", "replay.min_transitions=500"]
    words = train_words(results_dir, *more, experiment=experiment)
    command = start(*words, FOR_EVER, OFTEN)
    saved = folder / "checkpoints" / "replay" / owner
    command.wait_until(lambda: has_learned(folder) and any(saved.glob("*/state.npz")), "a replay and a checkpoint")
    num_rows = len(load_run(folder).updates)
    command.wait_until(lambda: len(load_run(folder).updates) > num_rows + 10, "many more rows")
    command.send(signal.SIGKILL)
    assert command.ends() == -signal.SIGKILL
    (before,) = saved.iterdir()

    start_version = checkpoint.load_newest(folder / "checkpoints").server.version
    # Too few steps to fill the replay again.
    command = start(*words, f"budget.frames={frames_beyond(folder, 100)}", "resume=true")
    assert command.ends() == 0, command.printed
    assert "the replay goes on as it was saved" in command.printed
    updates = load_run(folder).updates
    assert (updates[updates["version"] > start_version]["replay_transitions"] >= 500).any()
    assert before.name not in [path.name for path in saved.iterdir()] or owner == "replay-0"


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["threads", "processes"])
def test_ctrl_c_in_a_terminal_ends_a_run_with_its_table(start: Start, results_dir: Path, cluster: str) -> None:
    folder = folder_in(results_dir)
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, f"cluster={cluster}"))
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    command.ctrl_c()
    assert command.ends() == 0, command.printed
    assert "Breakout, smoke_gorila, seed 0" in command.printed and f"results in {folder}" in command.printed
    ended = load_run(folder)
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()
    assert len(ended.evaluations) == 4
    assert has_counted_all(command, folder)


@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_all_processes_of_a_batch_job_costs_a_run_nothing_that_it_has_learned(
    start: Start, results_dir: Path, which: signal.Signals
) -> None:
    folder = folder_in(results_dir)
    # Without checkpoints on the way: what is saved is saved after the signal.
    command = start(*train_words(results_dir, FOR_EVER, "cluster=processes"))
    command.wait_until(lambda: has_rows(folder), "rows")
    assert newest_version(folder) == 0
    # `timeout` tells the process, and then the group.
    command.send(which)
    command.send_to_all(which)
    wait_until(lambda: newest_version(folder) > 0, "a checkpoint")
    assert command.ends() == 0, command.printed
    end = checkpoint.load_newest(folder / "checkpoints")
    assert f"told to end: the training is saved at update {end.server.version:,}" in command.printed
    ended = load_run(folder)
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()
    assert len(ended.evaluations) == 4
    assert has_counted_all(command, folder)


@pytest.mark.slow
def test_a_run_that_is_told_to_end_and_has_lost_its_hosts_waits_for_nothing(start: Start, results_dir: Path) -> None:
    folder = folder_in(results_dir)
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, "cluster=processes"))
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    command.send(signal.SIGTERM)
    command.send_to_all(signal.SIGKILL, itself=False)
    assert command.ends() == 0, command.printed
    assert "did not leave within" not in command.said and "waiting up to" not in command.said, command.printed
    assert f"{newest_version(folder):,}" in command.said
    assert load_run(folder).runs["end_reason"].item() == "interrupted"


@pytest.mark.slow
def test_the_command_pipeline_train_starts_processes_and_hears_signals_as_its_module_does(
    start: Start, results_dir: Path
) -> None:
    words = train_words(results_dir, FOR_EVER, OFTEN, "cluster=processes")
    assert words[:2] == ["-m", "pipeline.train"]
    command = start("-m", "pipeline", "train", *words[2:])
    command.wait_until(lambda: has_learned(folder_in(results_dir)), "rows and a checkpoint")
    command.ctrl_c()
    assert command.ends() == 0, command.printed
    ended = load_run(folder_in(results_dir))
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()


@pytest.mark.slow
def test_ctrl_c_ends_all_runs_of_a_plain_sweep(start: Start, results_dir: Path) -> None:
    command = start(*train_words(results_dir, FOR_EVER, OFTEN), "seed=0,1", "-m")
    command.wait_until(lambda: has_learned(folder_in(results_dir)), "rows and a checkpoint")
    command.send(signal.SIGINT)
    assert command.ends() == 130, command.printed
    assert "Breakout, smoke_gorila, seed 0" in command.printed
    assert [folder.name for folder in folder_in(results_dir).parent.iterdir()] == ["0"]


@pytest.mark.slow
def test_a_shard_s_host_that_is_killed_takes_the_run_back_to_its_checkpoint_and_the_run_goes_on(
    start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir)
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, *SHARD_APART))
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    host_of(command, "shard-0", folder).kill()
    command.wait_until(lambda: "all roles go back to the checkpoint of update" in command.printed, "the recovery")
    assert "all roles go back to the checkpoint of update" in (folder / "log.txt").read_text("utf-8")
    generation = checkpoint.load_newest(folder / "checkpoints").generation
    command.wait_until(
        lambda: checkpoint.load_newest(folder / "checkpoints").generation > generation, "a checkpoint after the loss"
    )
    command.send(signal.SIGINT)
    assert command.ends() == 0, command.printed
    assert load_run(folder).runs["end_reason"].item() == "interrupted"


@pytest.mark.slow
def test_between_checkpoints_the_loss_of_a_shard_costs_what_the_command_has_not_yet_in_memory(
    start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir)
    command = start(*train_words(results_dir, FOR_EVER, "checkpoint.memory_seconds=0.2", *SHARD_APART))
    # Its only file is that of update 0, and stays so for ten minutes.
    command.wait_until(lambda: has_rows(folder) and len(load_run(folder).updates) > 4, "updates")
    assert newest_version(folder) == 0
    host_of(command, "shard-0", folder).kill()
    command.wait_until(lambda: "all roles go back to the checkpoint of update" in command.printed, "the recovery")
    found = re.search(r"go back to the checkpoint of update ([\d,]+)", command.printed)
    assert found is not None and int(found[1].replace(",", "")) == newest_version(folder) > 0
    command.send(signal.SIGINT)
    assert command.ends() == 0, command.printed


@pytest.mark.slow
def test_a_worker_lost_with_a_shard_takes_all_back_to_one_version_and_a_lost_evaluator_is_replaced(
    start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir, "smoke_dba3c")
    words = ["cluster=processes", "training_evaluation.every_frames=300", "training_evaluation.num_episodes=1"]
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, *words, experiment="smoke_dba3c"))
    command.wait_until(lambda: has_learned(folder) and num_evaluated(folder) > 0, "rows of all kinds")

    host_of(command, "evaluator", folder).kill()
    command.wait_until(lambda: re.search(r"evaluator was lost .* goes on at tcp", command.printed), "another host")
    before = num_evaluated(folder)
    command.wait_until(lambda: num_evaluated(folder) > before, "an evaluation there")
    assert "go back" not in command.printed

    # With it go a shard and the leader: the other shard has to go back to the same version.
    host_of(command, "worker-0", folder).kill()
    command.wait_until(lambda: "all roles go back to the checkpoint of update" in command.printed, "the recovery")
    generation = checkpoint.load_newest(folder / "checkpoints").generation
    before = num_evaluated(folder)
    command.wait_until(
        lambda: (
            checkpoint.load_newest(folder / "checkpoints").generation > generation
            and num_evaluated(folder) > before + 1
        ),
        "a checkpoint and evaluations after the loss",
    )
    command.send(signal.SIGINT)
    assert command.ends() == 0, command.printed
    assert "Compute Failed" not in command.printed, "what Dask logs of it is told in words"
    ended = load_run(folder)
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()
    assert set(ended.evaluations["agent"]) == {"checkpoint", "best", "random", "training"}


@pytest.mark.slow
def test_with_a_backup_worker_a_killed_one_takes_nobody_back(start: Start, results_dir: Path) -> None:
    folder = folder_in(results_dir, "smoke_dba3c")
    words = ["cluster=processes", "topology.num_workers=2", "topology.num_backup_workers=1"]
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, *words, experiment="smoke_dba3c"))
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    host_of(command, "worker-2", folder).kill()
    command.wait_until(lambda: re.search(r"worker-2 was lost .* started again on tcp", command.printed), "its return")
    version = newest_version(folder)
    command.wait_until(lambda: newest_version(folder) > version, "a later checkpoint")
    command.send(signal.SIGINT)
    assert command.ends() == 0, command.printed
    assert "go back" not in command.printed
    ended = load_run(folder)
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()
    assert ended.actor_critic_updates["num_dropped_late"].sum() > 0


def has_counted_all(command: Command, folder: Path) -> bool:
    """Whether the rows of an interrupted run tell of each update, but for those of roles that it names as late.

    That it hurries is told by what it says, as this machine may be slow.
    """
    waited = [int(seconds) for seconds in re.findall(r"did not leave within (\d+) s", command.said)]
    assert all(seconds < RunTiming().leave_seconds for seconds in waited), f"no hurry: {command.printed}"
    num_told = load_run(folder).updates["num_admitted"].sum()
    num_made = max(checkpoint.load_newest(folder / "checkpoints").server.versions)
    return bool(num_told <= num_made if waited else num_told == num_made)


def newest_version(folder: Path) -> int:
    """Of the checkpoints."""
    return checkpoint.load_newest(folder / "checkpoints").server.version


def num_evaluated(folder: Path) -> int:
    """Games of evaluations so far."""
    return (folder / "evaluations.csv").read_text().count("\n") - 1


def host_of(command: Command, role: str, folder: Path) -> psutil.Process:
    """The process that holds a role, as the run was started."""
    hosts = psutil.Process(command.process.pid).children(recursive=True)
    (found,) = [host for host in hosts if _listens_at(host, _address_of(role, folder))]
    return found


def _address_of(role: str, folder: Path) -> str:
    facts = (folder / "run.json").read_text()
    (address,) = re.findall(rf'"address": "tcp://([\d.:]+)"[^}}]*"roles": \[[^\]]*"{role}"', facts)
    return str(address)


def _listens_at(process: psutil.Process, address: str) -> bool:
    return any(
        connection.status == psutil.CONN_LISTEN and f"{connection.laddr.ip}:{connection.laddr.port}" == address
        for connection in process.net_connections("tcp")
    )


@pytest.fixture
def cluster(start: Start, tmp_path: Path) -> Iterator[str]:
    """`dask scheduler` and three `dask worker` on loopback; their address."""
    scheduler_file = tmp_path / "scheduler.json"
    loopback = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(scheduler_file)]
    scheduler = start("-m", "distributed.cli.dask_scheduler", *loopback, "--port", "0")
    scheduler.wait_until(lambda: re.search(r"Scheduler at: +(tcp://\S+)", scheduler.printed), "the scheduler")
    (address,) = re.findall(r"Scheduler at: +(tcp://\S+)", scheduler.printed)
    options = ["--host", "127.0.0.1", "--no-dashboard", "--nthreads", "1", "--memory-limit", "0", "--no-nanny"]
    workers = [start("-m", "distributed.cli.dask_worker", address, *options) for _ in range(3)]
    for worker in workers:
        worker.wait_until(lambda worker=worker: "Registered to" in worker.printed, "a worker")  # type: ignore[misc]
    yield address
    for command in [*workers, scheduler]:
        command.process.terminate()
        command.ends()


@pytest.mark.slow
def test_on_a_running_cluster_a_killed_coordinator_frees_the_hosts_and_another_one_completes_the_run(
    cluster: str, start: Start, results_dir: Path
) -> None:
    folder = folder_in(results_dir)
    words = ["cluster=address", f"cluster.address={cluster}", "topology.shards=apart", "param_server.num_shards=1"]
    command = start(*train_words(results_dir, FOR_EVER, OFTEN, "cluster.lease_seconds=3", *words))
    command.wait_until(lambda: has_learned(folder), "rows and a checkpoint")
    addresses = {_address_of(role, folder) for role in ("bundle-0", "bundle-1", "shard-0")}
    assert len(addresses) == 3
    with Client(cluster) as client:
        assert sorted(client.run(_roles_here).values()) == [0, 1, 1]
        command.send(signal.SIGKILL)
        command.ends()
        wait_until(lambda: not any(client.run(_roles_here).values()), "the roles have left")

    budget = frames_beyond(folder, 1_000)
    command = start(*train_words(results_dir, f"budget.frames={budget}", "resume=true", *words))
    assert command.ends() == 0, command.printed
    assert load_run(folder).runs["end_reason"].item() == "budget"


def _roles_here() -> int:
    """Threads of this process that are inside a role's task."""
    return sum(
        any(frame.name == "run_role" for frame in traceback.extract_stack(top))
        for top in sys._current_frames().values()
    )
