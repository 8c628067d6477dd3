"""Who is there at one moment of a run, and who holds which roles: asked of its scheduler, as any client may.

Not here: which of them is killed (`studies.chaos.draws`).
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import psutil
from distributed import Client

from pipeline.cluster import glance
from studies.chaos.processes import is_host, is_nanny, listening, marked, speaks_to

_ANSWER_SECONDS = 5.0
_ROLE = re.compile(r"((?:bundle|actor|learner|worker|shard|replay)-\d+|leader|evaluator|evaluate(?:-random)?)-\w+-\w+")


class Placed(NamedTuple):
    """A process that can be killed."""

    process: psutil.Process
    address: str
    """Of the host, or of the nanny's host; "" where it is not known, or the process is of another kind."""
    roles: tuple[str, ...]


class Scene(NamedTuple):
    """What there is."""

    victims: Mapping[str, list[Placed]]
    """Kind of victim -> processes, in the order of their addresses; hosts without roles only where no host has one."""
    update: int
    """Of the server, as far as the run has told; 0: nothing."""
    frames: int


def look(mark: str, coordinator: int, scheduler: int | None) -> Scene:
    """At the run with this mark. `coordinator` and `scheduler` are process ids; None: it is in the coordinator."""
    processes = marked(mark)
    ports = {process.pid: listening(process) for process in processes}
    spoken_to = set[int]().union(*(speaks_to(process) for process in processes if process.pid != coordinator))
    serves = coordinator if scheduler is None else scheduler
    asked = _ask(ports.get(serves, set()) & spoken_to)
    hosts = [_placed(process, ports[process.pid], asked) for process in processes if is_host(process)]
    by_parent = {host.process.ppid(): host for host in hosts if host.process.is_running()}
    nannies = [process for process in processes if is_nanny(process)]
    placed = {
        "host": hosts,
        "nanny": [by_parent[each.pid]._replace(process=each) for each in nannies if each.pid in by_parent],
        "coordinator": [Placed(each, "", ()) for each in processes if each.pid == coordinator],
        "scheduler": [Placed(each, "", ()) for each in processes if each.pid == scheduler],
    }
    victims = {kind: sorted(_with_roles(those), key=lambda each: each.address) for kind, those in placed.items()}
    return Scene(victims, asked.update, asked.frames)


def roles_on_cluster(port: int) -> int:
    """Tasks and actors of runs that a scheduler has."""
    return sum(len(roles) for roles in _ask({port}).roles.values())


class _Asked(NamedTuple):
    roles: Mapping[str, tuple[str, ...]]
    """Address of a host -> what it holds."""
    update: int
    frames: int


def _ask(ports: set[int]) -> _Asked:
    """The scheduler that listens on one of these ports; nothing if none answers."""
    for port in sorted(ports):
        with contextlib.suppress(Exception), _client(port) as client:  # it may be dying
            held: dict[str, set[str]] = {address: set() for address in _answer(client, client.scheduler.ncores)}
            for question in (client.scheduler.processing, client.scheduler.has_what):
                for address, keys in _answer(client, question).items():
                    held.setdefault(address, set()).update(m[1] for key in keys if (m := _ROLE.fullmatch(str(key))))
            told = _answer(client, client.scheduler.events, topic=glance.TOPIC)
            newest = told[-1][1] if told else {}
            roles = {address: tuple(sorted(those)) for address, those in held.items()}
            return _Asked(roles, int(newest.get("num_updates", 0)), int(newest.get("num_frames", 0)))
    return _Asked({}, 0, 0)


def _answer(client: Client, question: Callable[..., Any], **words: str) -> Any:
    # Dask's own methods for the same wait without end for a scheduler that stands still.
    return client.sync(question, callback_timeout=_ANSWER_SECONDS, **words)


def _client(port: int) -> Client:
    return Client(f"tcp://127.0.0.1:{port}", timeout=_ANSWER_SECONDS, set_as_default=False)


def _placed(process: psutil.Process, ports: set[int], asked: _Asked) -> Placed:
    for address, roles in asked.roles.items():
        if int(address.rpartition(":")[2]) in ports:
            return Placed(process, address, roles)
    return Placed(process, "", ())


def _with_roles(hosts: list[Placed]) -> list[Placed]:
    return [host for host in hosts if host.roles] or hosts
