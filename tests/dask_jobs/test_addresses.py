"""Addresses of schedulers as people type them."""

import pytest

from dask_jobs.addresses import address_mistakes


@pytest.mark.parametrize(
    "address",
    [
        "tcp://10.0.0.1:8786",
        "tls://node-0.cluster:8786",
        "10.0.0.1:8786",
        "tcp://[::1]:8786",
        "ws://a:1",
        "inproc://192.0.2.2/9700/262",
    ],
)
def test_an_address_is_taken(address: str) -> None:
    assert address_mistakes(address) == []


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("nonsense", "has no port"),
        ("tcp://host", "has no port"),
        ("tcp://host:", "has no port"),
        ("tcp://host:x", "is no address"),
        ("tcp://:8786", "is no address"),
        ("tcp://a b:8786", "is no address"),
        ("foo://host:8786", "there is no foo://"),
        ("http://host:8786", "there is no http://"),
        ("tcp://host:0", "port 0 must be between 1 and 65535"),
        ("tcp://host:99999", "port 99999 must be between 1 and 65535"),
        ("", "is no address"),
    ],
)
def test_another_one_is_refused_with_what_is_wrong_and_an_example(address: str, reason: str) -> None:
    (mistake,) = address_mistakes(address)
    assert mistake.startswith(address) and reason in mistake
