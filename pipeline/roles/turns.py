"""Roles that take turns in one thread, each its step, always in the same order: what makes a run repeatable.

    step():  bundle-0, bundle-1 | bundle-0, bundle-1 | ...          one step of each, then all stand

Between two rounds no gradient is under way: there the whole run has a state, those of its roles and of their parameter
shards, and a run that goes on from it is the same run, bit for bit. In free-running threads there is no such moment,
and who comes first decides what is learned.
Departure from both papers, whose roles run at once: the sums are those of a run in which all are equally fast.
Not here: which roles (`pipeline.topologies.turns`), who asks for the state (`pipeline.roles.cuts`), the shards' part
(`pipeline.param_server.snapshot`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.cuts import Cut, StartState, desk_of
from pipeline.roles.progress import RoleProgress
from pipeline.roles.role import LearningRole
from pipeline.roles.spec import RoleSpec
from pipeline.rows import Row
from pipeline.states import pack, unpack


@dataclass(frozen=True)
class Turn:
    """One of the roles, and how it is built."""

    name: str
    index: int
    build: Callable[[Any, Servers, RowSink], Any]


class Turns:
    """Several learning roles as one, which a task steps."""

    def __init__(self, turns: Sequence[Turn], desk: str, spec: RoleSpec, servers: Servers, rows: RowSink) -> None:
        """`desk`: key of the CutDesk at which it meets its coordinator."""
        self._name = spec.place.role
        self._max_steps = spec.max_steps
        self._desk = desk_of(desk)
        self._rows = _CountedRows(rows)
        self._roles: dict[str, LearningRole] = {}
        self._is_in_step = True
        """Or failed in one: then it has no state."""
        for turn in turns:
            place = replace(spec.place, role=turn.name, index=turn.index)
            self._roles[turn.name] = turn.build(replace(spec, place=place, max_steps=None), servers, self._rows)
        if (start := self._desk.arrive()) is not None:
            self._restore(start)
        self._is_in_step = False

    @property
    def done(self) -> bool:
        """True once all together have made `max_steps`."""
        return self._max_steps is not None and self.progress().num_steps >= self._max_steps

    def step(self) -> None:
        """One step of each; then the coordinator may have a look."""
        self._is_in_step = True
        for role in self._roles.values():
            role.step()
        # One may have sent nothing, because its gradient was no number: the others wait for it.
        while not all(role.stands for role in self._roles.values()):
            for role in self._roles.values():
                if role.stands:
                    role.step()
        self._is_in_step = False
        self._desk.pass_by(self.cut)

    def progress(self) -> RoleProgress:
        """Sums, the oldest version, the mean epsilon."""
        all_of = [role.progress() for role in self._roles.values()]
        return RoleProgress(
            num_steps=sum(one.num_steps for one in all_of),
            num_updates=sum(one.num_updates for one in all_of),
            version=min(one.version for one in all_of),
            epsilon=sum(one.epsilon for one in all_of) / len(all_of),
            replay_transitions=sum(one.replay_transitions for one in all_of),
            wall_seconds=max(one.wall_seconds for one in all_of),
            waited_seconds=sum(one.waited_seconds for one in all_of),
            budget_share=max(one.budget_share for one in all_of),
        )

    def cut(self) -> Cut:
        """The state of all, between two steps."""
        return Cut(
            role=self._name,
            progress=self.progress(),
            states={name: pack(role.state()) for name, role in self._roles.items()},
            num_rows=dict(self._rows.num_emitted),
            frames={name: reader for role in self._roles.values() for name, reader in role.frames().items()},
        )

    def close(self) -> None:
        """Leave the state of all, then close them."""
        if not self._is_in_step:
            self._desk.leave(self.cut())
        errors = []
        for role in self._roles.values():
            try:
                role.close()
            except Exception as error:  # the others hold emulators, too
                errors.append(error)
        if errors:
            raise errors[0]

    def _restore(self, start: StartState) -> None:
        if start.states.keys() != self._roles.keys():
            raise CheckpointError(f"the saved roles are {', '.join(start.states)}, these {', '.join(self._roles)}")
        for name, role in self._roles.items():
            role.restore(_unpacked(role, start.states[name]))
            for replay, reader in role.frames().items():
                start.load_frames(replay, reader)
        self._rows.num_emitted = Counter(start.num_rows)


class _CountedRows(RowSink):
    def __init__(self, rows: RowSink) -> None:
        self.num_emitted: Counter[str] = Counter()
        self._rows = rows

    def emit(self, row: Row) -> None:
        self.num_emitted[type(row).__name__] += 1
        self._rows.emit(row)


def _unpacked(role: LearningRole, arrays: Mapping[str, np.ndarray]) -> Any:
    assert role.STATE is not None, "a role without a state is refused before the run starts"
    return unpack(role.STATE, arrays)
