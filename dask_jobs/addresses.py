"""Addresses of Dask schedulers as people type them: what is wrong with one, in words.

Not here: whether somebody answers there.
"""

import re

SCHEMES = ("tcp", "tls", "ws", "wss")
_SAME_PROCESS = "inproc"
_WHOLE = re.compile(r"(?:(?P<scheme>[^:/]*)://)?(?P<host>\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\s:/@\[\]]+):(?P<port>\d{1,5})")
_WITHOUT_PORT = re.compile(r"(?:[^:/]*://)?(?:\[[^\]]*\]|[^\s:/]+):?/?")
_HIGHEST_PORT = 65_535


def address_mistakes(address: str) -> list[str]:
    """What keeps this from being a scheduler's address, one line or none; each begins with the address.

    "host:port" is one too, and means tcp; an IPv6 address stands in brackets. A scheduler in this very process has an
    address that only Dask gives and reads.
    """
    wanted = "tcp://host:port or tls://host:port, such as tcp://10.0.0.1:8786"
    scheme, separator, _ = address.partition("://")
    if scheme == _SAME_PROCESS:
        return []
    if separator and scheme not in SCHEMES:
        return [f"{address}: there is no {scheme}://, it has to be {wanted}"]
    found = _WHOLE.fullmatch(address.removesuffix("/"))
    if found is None:
        if _WITHOUT_PORT.fullmatch(address):
            return [f"{address} has no port: it has to be {wanted}"]
        return [f"{address} is no address: it has to be {wanted}"]
    port = int(found["port"])
    if not 1 <= port <= _HIGHEST_PORT:
        return [f"{address}: port {port} must be between 1 and {_HIGHEST_PORT}"]
    return []
