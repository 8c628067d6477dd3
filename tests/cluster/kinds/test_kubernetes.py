"""The specification that is handed to Kubernetes, as a whole."""

from pathlib import Path

import pytest
import yaml

from pipeline.cluster.groups import HostGroup
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


def test_each_group_is_a_worker_group_of_the_operator() -> None:
    group = HostGroup("gpus", ("learner",), num_hosts=2, gpus_per_host=1, memory_bytes=2**33)
    text = submission(cluster_config("kubernetes", groups=(group,)), num_hosts=5, threads_per_host=1)
    assert text is not None
    cluster, workers = yaml.safe_load_all(text)
    assert cluster["spec"]["worker"]["replicas"] == 3
    assert (workers["kind"], workers["metadata"]["name"]) == ("DaskWorkerGroup", "pipeline-NAME-gpus")
    assert (workers["spec"]["cluster"], workers["spec"]["worker"]["replicas"]) == ("pipeline-NAME", 2)
    (host,) = workers["spec"]["worker"]["spec"]["containers"]
    assert " ".join(host["args"]).count("--resources GPU=1,gpus=1") == 1
    assert host["resources"]["limits"] == {"cpu": "1", "memory": str(2**33), "nvidia.com/gpu": "1"}
    (other,) = cluster["spec"]["worker"]["spec"]["containers"]
    assert "--resources" not in other["args"] and host["env"] == other["env"]


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
