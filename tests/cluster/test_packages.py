"""What the processes of a cluster can import."""

import os
import signal
import sys
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from pipeline.cluster.packages import check_importable, code_of, package_of, why_not_importable, why_unfit
from pipeline.errors import HostMismatchError, PlacementError


def test_all_modules_that_are_not_there_are_told_in_a_line_each() -> None:
    assert why_not_importable(["json", "pipeline.seeding"]) == []
    said = ["nowhere.lion: No module named 'nowhere'", "elsewhere: No module named 'elsewhere'"]
    assert why_not_importable(["json", "nowhere.lion", "elsewhere"]) == said


def test_the_same_sources_have_the_same_digits_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(where: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = tmp_path / where / "lions" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with monkeypatch.context() as changed:
            changed.syspath_prepend(str(tmp_path / where))
            code_of.cache_clear()
            return code_of("lions")

    sources = {"a.py": "x = 1\n", "inner/b.py": "y = 2\n"}
    code = told("checkout", sources)
    beside = {"a.pyc": "?", "_version.py": "z = 3\n", ".#a.py": "", ".notes/b.py": ""}
    assert code == told("installed", sources | beside) != ""
    assert told("moved", {"a.py": "x = 1\n", "other/b.py": "y = 2\n"}) != code
    assert told("edited", sources | {"inner/b.py": "y = 3\n"}) != code
    assert code_of("nowhere") == code_of("sys") == ""


def test_a_folder_that_is_no_package_of_its_own_is_not_taken_for_the_code_of_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("agents/__init__.py", "agents/lion.py", "loose.py", "venv/torch.py"):
        file = tmp_path / "their_research" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [package_of(f"their_research.{name}") for name in ("agents.lion", "agents", "loose")]
    assert found == ["their_research.agents", "their_research.agents", "their_research.loose"]
    assert package_of("pipeline.roles.actor") == "pipeline" and package_of("json") == "json"
    assert code_of("their_research.loose") not in ("", code_of("their_research.agents"))


def test_a_host_that_has_imported_a_module_before_it_was_edited_is_refused_and_one_that_has_not_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_agent.py").write_text("num_units = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code_of.cache_clear()
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=None)
    with cluster, Client(cluster) as client:
        (host,) = client.nthreads()
        check_importable(client, [host], ["my_agent"])
        (tmp_path / "my_agent.py").write_text("num_units = 2\n")
        check_importable(client, [host], ["my_agent"])  # this command has imported the old one, too
        code_of.cache_clear()  # the next command
        with pytest.raises(HostMismatchError, match=rf"{host} has other code of my_agent .* start anew what has"):
            check_importable(client, [host], ["my_agent"])
        check_importable(client, [host], ["my_agent"], compares_code=False)
        client.restart()
        (host,) = client.nthreads()
        check_importable(client, [host], ["my_agent"])
    assert why_unfit([], {"my_agent": ""}) == [], "nothing is known of an archive"
    sys.modules.pop("my_agent", None)


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
