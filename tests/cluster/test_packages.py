"""What the processes of a cluster can import."""

import os
import signal
import sys
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from pipeline.cluster.packages import check_importable, why_not_importable
from pipeline.errors import HostMismatchError, PlacementError


def test_all_modules_that_are_not_there_are_told_in_a_line_each() -> None:
    assert why_not_importable(["json", "pipeline.seeding"]) == []
    said = ["nowhere.lion: No module named 'nowhere'", "elsewhere: No module named 'elsewhere'"]
    assert why_not_importable(["json", "nowhere.lion", "elsewhere"]) == said


def test_a_host_of_the_run_that_cannot_import_what_it_names_or_stands_still_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("")
    # The hosts first: those that are started later get this process's places to import from.
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None)
    with cluster, Client(cluster) as client:
        (host,) = client.nthreads()
        monkeypatch.syspath_prepend(str(tmp_path))
        check_importable(client, [host], [])
        check_importable(client, [host], ["pipeline.seeding"])
        with pytest.raises(HostMismatchError, match=rf"{host} cannot import only_here: No module named 'only_here'"):
            check_importable(client, [host], ["only_here"])
        check_importable(client, [], ["only_here"])  # a host that the run may not use need not
        process = client.run(os.getpid)[host]
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(PlacementError, match=r"not all hosts have told within 1 s .* import only_here"):
                check_importable(client, [host], ["only_here"], answer_seconds=1.0)
        finally:
            os.kill(process, signal.SIGCONT)
    sys.modules.pop("only_here", None)
