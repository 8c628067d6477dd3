"""Settings of the launcher: all mistakes at once, in words."""

from typing import Any

import pytest

from dask_jobs.settings import LauncherSettings, locate


def test_the_defaults_have_no_mistakes() -> None:
    assert LauncherSettings().mistakes() == []


@pytest.mark.parametrize(
    ("settings", "mistake"),
    [
        ({"num_hosts": 0}, "num_hosts=0 must be above 0"),
        ({"threads_per_host": 0}, "threads_per_host=0 must be above 0, or null"),
        ({"memory_factor": 0.0}, "memory_factor=0.0 must be above 0, or null"),
        ({"retries": -1}, "retries=-1 must be at least 0"),
        ({"stop_seconds": -1.0}, "stop_seconds=-1.0 must be at least 0"),
        ({"start_timeout_seconds": 0.0}, "start_timeout_seconds=0.0 must be above 0"),
        ({"dashboard_address": ":70000"}, "dashboard_address=:70000 must end in a port from 0 to 65535, e.g. :8787"),
        ({"dashboard_address": "0.0.0.0"}, "dashboard_address=0.0.0.0 must end in a port from 0 to 65535"),
        ({"progress": "bar"}, "progress=bar must be one of auto, live, lines, none"),
        ({"needs": "os.getpid", "threads": 2}, "needs=os.getpid already says what a job needs: leave threads"),
        ({"needs": "os.no_such"}, "needs=os.no_such is no function: module 'os' has no attribute 'no_such'"),
        ({"needs": "no_such_module.f"}, "needs=no_such_module.f is no function: No module named 'no_such_module'"),
        ({"on_cluster": "alone"}, "on_cluster=alone is no function: alone has no module in it"),
        ({"on_cluster": "os.name"}, "on_cluster=os.name is no function: os.name is a str, not a function"),
        ({"preload": ["json", "no_such.module"]}, "preload=no_such.module: there is no such module"),
        (
            {"address": "tcp://a:1", "gpus_per_host": 1},
            "gpus_per_host=1 is for a cluster of the launcher's own: the hosts at address=tcp://a:1 say themselves",
        ),
        (
            {"address": "tcp://a:1", "tls_ca_file": __file__, "tls_cert_file": __file__, "tls_key_file": __file__},
            "address=tcp://a:1 must begin with tls:// where certificates are given",
        ),
        (
            {"address": "tls://a:1", "tls_ca_file": __file__},
            "tls_cert_file, tls_key_file is missing: TLS needs all of",
        ),
        (
            {"tls_ca_file": __file__, "tls_cert_file": __file__, "tls_key_file": __file__},
            "tls_ca_file, tls_cert_file, tls_key_file is for a cluster at address=tls://host:port, which is missing",
        ),
    ],
)
def test_each_mistake_is_told_in_words(settings: dict[str, Any], mistake: str) -> None:
    (found,) = LauncherSettings(**settings).mistakes()
    assert found.startswith(mistake)


def test_a_function_is_found_by_its_dotted_path() -> None:
    assert locate("os.path.join")("a", "b") == "a/b"
