"""Limits that a batch system sets are seen, where Dask sees those of a container."""

from pathlib import Path

import pytest
from distributed.system import MEMORY_LIMIT

from dask_jobs import memory
from dask_jobs.host import report_here
from dask_jobs.memory import limits_of_groups, limits_of_slurm, memory_limit

GIB = 2**30


def test_a_job_s_group_below_the_root_counts_and_so_do_those_above_it(tmp_path: Path) -> None:
    job = tmp_path / "system.slice" / "slurmstepd.scope" / "job_7"
    (job / "step_0").mkdir(parents=True)
    (job / "memory.max").write_text(f"{4 * GIB}\n")
    (job / "step_0" / "memory.max").write_text("max\n")
    (tmp_path / "memory.max").write_text(f"{64 * GIB}\n")
    own = "0::/system.slice/slurmstepd.scope/job_7/step_0\n"
    assert sorted(limits_of_groups(own, tmp_path)) == [4 * GIB, 64 * GIB]


def test_version_1_has_a_tree_for_memory(tmp_path: Path) -> None:
    job = tmp_path / "memory" / "slurm" / "job_7"
    job.mkdir(parents=True)
    (job / "memory.limit_in_bytes").write_text(f"{4 * GIB}\n")
    own = "11:cpu,cpuacct:/slurm/job_7\n5:memory:/slurm/job_7\n1:name=systemd:/\n"
    assert list(limits_of_groups(own, tmp_path)) == [4 * GIB]


@pytest.mark.parametrize("own", ["0::/docker/0123\n", "0::/../../elsewhere\n", "0::/\n", ""])
def test_a_group_that_is_not_here_is_passed_over_up_to_the_root(own: str, tmp_path: Path) -> None:
    root = tmp_path / "groups"
    root.mkdir()
    (root / "memory.max").write_text(f"{GIB}\n")
    (tmp_path / "memory.max").write_text("1\n")
    assert set(limits_of_groups(own, root)) <= {GIB}
    assert list(limits_of_groups("0::/docker/0123\n", root)) == [GIB]


@pytest.mark.parametrize(
    ("environment", "limits"),
    [
        ({"SLURM_MEM_PER_NODE": "4096"}, [4 * GIB]),
        ({"SLURM_MEM_PER_CPU": "2048", "SLURM_CPUS_ON_NODE": "8"}, [16 * GIB]),
        ({"SLURM_MEM_PER_NODE": "0"}, []),
        ({"SLURM_MEM_PER_CPU": "2048"}, []),
        ({"SLURM_MEM_PER_NODE": "all of it"}, []),
        ({}, []),
    ],
)
def test_slurm_says_what_a_job_has_asked_for(environment: dict[str, str], limits: list[int]) -> None:
    assert list(limits_of_slurm(environment | {"SLURMD_NODENAME": "node1"})) == limits
    assert list(limits_of_slurm(environment)) == [], "salloc's shell, on the machine where it was typed"


def test_where_nothing_is_limited_a_process_may_use_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own").write_bytes(b"0::/user.slice/\xff\n")
    (tmp_path / "user.slice").mkdir()
    (tmp_path / "user.slice" / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)
    for own in ("own", "nothing"):
        monkeypatch.setattr(memory, "_OWN", tmp_path / own)
        assert memory_limit() == MEMORY_LIMIT


def test_a_host_has_no_more_memory_than_its_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_OWN", tmp_path / "nothing")
    monkeypatch.setenv("SLURMD_NODENAME", "node1")
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    assert memory_limit() == report_here().free_memory_bytes == 2**20
