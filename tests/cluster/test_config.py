"""Settings that every kind of cluster has: all that is wrong with them is said at once."""

import pytest

from pipeline.cluster.config import listening_host
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.kinds.local import LocalConfig
from tests.clusters import cluster_config

NEEDED: dict[str, dict[str, str]] = {"address": {"address": "tcp://10.0.0.1:8786"}}


@pytest.mark.parametrize("kind", CLUSTER_KINDS)
def test_each_kind_has_settings_without_mistakes(kind: str) -> None:
    assert cluster_config(kind, **NEEDED.get(kind, {})).mistakes() == []


def test_what_every_kind_has_is_checked_together() -> None:
    config = cluster_config(
        "threads", num_hosts=0, memory_bytes=0, max_restarts=-1, start_timeout_seconds=0.0, lease_seconds=-1.0
    )
    assert config.mistakes() == [
        "num_hosts=0 must be at least 1, or null",
        "memory_bytes=0 must be at least 1, or null",
        "max_restarts=-1 must be at least 0",
        "start_timeout_seconds=0.0 must be positive",
        "lease_seconds=-1.0 must be positive",
    ]


@pytest.mark.parametrize("kind", ["cloud", "ssh"])
def test_a_kind_that_is_unknown_or_of_other_settings_is_refused(kind: str) -> None:
    config = LocalConfig(kind, None, None, 60.0, 3, 30.0, (), "127.0.0.1:0")
    assert config.mistakes() == [
        f"kind={kind} must be one of {', '.join(CLUSTER_KINDS)}, with the settings of that kind"
    ]


@pytest.mark.parametrize("anywhere", [":0", "0.0.0.0:8787", "[::]:8787"])
def test_a_dashboard_that_listens_everywhere_is_linked_to_where_dask_says(anywhere: str) -> None:
    assert listening_host(anywhere) is None
    assert listening_host("127.0.0.1:0") == "127.0.0.1"
