"""The specification that is handed to Kubernetes, as a whole."""

from pathlib import Path

import pytest
import yaml

from pipeline.cluster.session import open_session
from pipeline.cluster.start import submission
from pipeline.errors import PlacementError
from tests.clusters import cluster_config

EXPECTED = Path(__file__).parent / "expected"


def test_the_specification_is_the_expected_one() -> None:
    config = cluster_config(
        "kubernetes", memory_bytes=8 * 10**9, host_cores=2, gpus_per_host=1, start_timeout_seconds=600.0
    )
    assert submission(config, num_hosts=3, threads_per_host=1) == (EXPECTED / "kubernetes.yaml").read_text()


def test_a_host_without_gpus_asks_for_none_and_has_as_many_cores_as_threads() -> None:
    text = submission(cluster_config("kubernetes"), num_hosts=1, threads_per_host=4)
    assert text is not None and "gpu" not in text.lower()
    (host,) = yaml.safe_load(text)["spec"]["worker"]["spec"]["containers"]
    assert host["resources"]["limits"] == {"cpu": "4", "memory": str(2**40)}


def test_a_machine_without_credentials_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    with pytest.raises(PlacementError, match=r"the kubernetes cluster could not be started: .*credentials"):
        open_session(cluster_config("kubernetes"), num_hosts=1, threads_per_host=1).__enter__()


def test_all_mistakes_of_kubernetes_are_reported_together() -> None:
    config = cluster_config("kubernetes", memory_bytes=None, image=None, host_cores=0)
    assert config.mistakes() == [
        "memory_bytes is missing: kind=kubernetes has to ask for the memory of each host, in bytes",
        "image is missing: kind=kubernetes needs cluster.image=registry/name:tag",
        "host_cores=0 must be at least 1, or null",
    ]
