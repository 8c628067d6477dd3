"""The final evaluation on real hosts."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pipeline import seeding
from pipeline.cluster.session import Session, open_session
from pipeline.errors import RoleFailedError
from pipeline.experiments.files import evaluation_rows
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.run_folder import RECORDINGS
from pipeline.experiments.plan import network_of
from pipeline.experiments.scoring import at_the_end
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from tests.clusters import cluster_config, kill_host, wait_until
from tests.experiments.smoke_runs import opened, smoke_config


def test_parameters_that_have_been_played_are_not_played_again(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    end = Checkpoint(first_snapshot(params), {}, generation=1)
    folder = opened(config)
    with open_session(cluster_config("threads"), num_hosts=1, threads_per_host=1) as session:
        rows = at_the_end.evaluate(session, config, None, end, threading.Event(), folder.path, print)
        assert rows and {row.agent for row in rows} == {"checkpoint", "random"}
        # A full disk, or a kill, has left some of one player's games, and half a line.
        folder.write(rows[: -config.evaluation.num_episodes + 1])
        folder.close()
        with (folder.path / "evaluations.csv").open("a") as file:
            file.write("smoke,rand")
        again = at_the_end.evaluate(session, config, None, end, threading.Event(), folder.path, print)
        assert again and {row.agent for row in again} == {"random"}
        evaluation_rows.add(folder.path, again)
        assert at_the_end.evaluate(session, config, None, end, threading.Event(), folder.path, print) == []
    agents = load_run(folder.path).evaluations["agent"].value_counts()
    assert agents.to_dict() == dict.fromkeys(("checkpoint", "random"), config.evaluation.num_episodes)


def test_games_that_cannot_be_recorded_are_scored_all_the_same(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    end = Checkpoint(first_snapshot(params), {}, generation=1)
    folder = opened(config).path
    (folder / RECORDINGS).touch()
    said: list[str] = []
    with open_session(cluster_config("threads"), num_hosts=1, threads_per_host=1) as session:
        rows = at_the_end.evaluate(session, config, None, end, threading.Event(), folder, said.append)
    assert rows is not None and len(rows) == 2 * config.evaluation.num_episodes
    assert len(said) == 2 and all(sentence.startswith("games are scored and not recorded: ") for sentence in said)


@pytest.mark.slow
def test_what_a_dead_host_played_is_played_elsewhere_until_too_many_have_died(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "evaluation.num_episodes=100_000", "cluster.max_restarts=1")
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    end = Checkpoint(first_snapshot(params), {}, generation=1)
    folder = opened(config).path
    with (
        open_session(cluster_config("processes"), num_hosts=2, threads_per_host=1) as session,
        ThreadPoolExecutor(1) as pool,
    ):
        evaluating = pool.submit(at_the_end.evaluate, session, config, None, end, threading.Event(), folder, print)
        first_hosts = set(session.hosts)
        victim = min(first_hosts)
        wait_until(lambda: session.client.processing()[victim], "the evaluation is under way")
        kill_host(session, victim)

        def successors() -> list[str]:
            return [host for host, tasks in session.client.processing().items() if tasks and host not in first_hosts]

        wait_until(successors, "it is under way on the host that was started instead")
        (victim,) = successors()
        kill_host(session, victim)
        with pytest.raises(RoleFailedError, match=rf"{victim} was lost .* cluster.max_restarts=1 .* resume=true"):
            evaluating.result(timeout=60)


@pytest.mark.slow
def test_where_no_host_is_left_and_none_comes_the_evaluation_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = smoke_config(tmp_path)
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    end = Checkpoint(first_snapshot(params), {}, generation=1)
    folder = opened(config).path
    with open_session(cluster_config("processes"), num_hosts=1, threads_per_host=1) as session:
        monkeypatch.setattr(Session, "host_timeout_seconds", 0.5)
        session.client.retire_workers(list(session.hosts))
        with pytest.raises(RoleFailedError, match=r"no host is left for 2 evaluation\(s\), .* within 0.5 s"):
            at_the_end.evaluate(session, config, None, end, threading.Event(), folder, print)
