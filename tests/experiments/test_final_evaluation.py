"""The final evaluation on real hosts."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pipeline import seeding
from pipeline.cluster.session import open_session
from pipeline.errors import RoleFailedError
from pipeline.experiments import final_evaluation
from pipeline.experiments.checkpoint import Checkpoint
from pipeline.experiments.plan import network_of
from pipeline.experiments.run_folder import open_folder
from pipeline.param_server.snapshot import first_snapshot
from tests.clusters import cluster_config, kill_host, wait_until
from tests.experiments.smoke_runs import smoke_config


def test_a_host_that_dies_ends_the_evaluation_with_its_name_and_a_way_out(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "evaluation.num_episodes=100_000")
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    end = Checkpoint(first_snapshot(params), {}, generation=1)
    folder = open_folder(config).path
    with (
        open_session(cluster_config("processes"), num_hosts=2, threads_per_host=1) as session,
        ThreadPoolExecutor(1) as pool,
    ):
        evaluating = pool.submit(final_evaluation.evaluate, session, config, end, threading.Event(), folder)
        victim = sorted(session.hosts)[0]
        wait_until(lambda: session.client.processing()[victim], "the evaluation is under way")
        kill_host(session, victim)
        with pytest.raises(RoleFailedError, match=rf"{victim} was lost .* resume=true"):
            evaluating.result(timeout=60)
