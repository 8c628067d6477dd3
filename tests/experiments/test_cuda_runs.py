"""Whole runs on a GPU, and their resume. Skipped where there is no CUDA device."""

from pathlib import Path

import pytest
import torch

from pipeline.experiments.run import train
from pipeline.results.load import load_run
from tests.experiments.smoke_runs import frames_beyond, smoke_config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
EXPERIMENTS = ["smoke_dqn", "smoke_gorila", "smoke_gorila_quantile", "smoke_apex", "smoke_rainbow", "smoke_dba3c",
               "smoke_dba3c_clip"]  # fmt: skip


@pytest.mark.parametrize("cluster", ["threads", "processes"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_run_ends_with_its_table_and_goes_on(tmp_path: Path, experiment: str, cluster: str) -> None:
    # "auto": a GPU that is declared, as device=cuda asks for, has one role alone.
    words = ["device=auto", f"cluster={cluster}", "precision=auto"]
    first = train(smoke_config(tmp_path, *words, experiment=experiment))
    assert first.folder is not None
    run = load_run(first.folder)
    assert run.problems == () and run.runs["end_reason"].item() == "budget"
    assert set(run.evaluations["agent"]) == {"checkpoint", "random"}

    more = frames_beyond(first.folder, 1_000)
    second = train(smoke_config(tmp_path, *words, "resume=true", f"budget.frames={more}", experiment=experiment))
    assert second.folder == first.folder
    assert load_run(first.folder).runs["end_reason"].item() == "budget"


def test_a_demand_for_a_gpu_is_met(tmp_path: Path) -> None:
    result = train(smoke_config(tmp_path, "device=cuda", "topology.num_bundles=1", experiment="smoke_gorila"))
    assert result.folder is not None
    assert load_run(result.folder).runs["end_reason"].item() == "budget"
