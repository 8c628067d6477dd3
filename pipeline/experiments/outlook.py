"""What a new run is to expect of this machine, told before it starts.

    rehearse -> frames a second     the run's own learning roles, made small, step for two seconds
    outlook  -> the sentence        how long its frames take, or where its minutes end it

Left out of the measurement: what travels between roles, and the games at the end. A guess before the first second of
training, not a promise: where something else wants the processor now, it is slower now.
Not here: how fast a run under way is (`pipeline.experiments.meter`).
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.cluster.coordination.batch_thread import batch_thread
from pipeline.cluster.hosts import report_host
from pipeline.config.course import BudgetConfig
from pipeline.config.run_config import RunConfig
from pipeline.errors import PipelineError, in_words
from pipeline.experiments.plan import first_parameters
from pipeline.experiments.specs import role_spec
from pipeline.interfaces import RowSink, Servers
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.roles.role import LearningRole, role_of
from pipeline.roles.spec import RoleSpec
from pipeline.rows import Row
from pipeline.types import Float32Array

_MIN_FRAMES, _MIN_MINUTES = 100_000, 2.0
"""Of a budget: a run that is over so soon need not be told how long it will take."""
_NUM_LANES = 4
"""At most: each takes a while to make."""
_REPLAY_STEPS = 2_000
_WARM_UP_UPDATES, _WARM_UP_SECONDS = 3, 2.0
"""The first updates of a process are slower than all others."""


def is_worth_a_rehearsal(config: RunConfig) -> bool:
    """Whether the run is long, begins anew, and has this machine for its hosts."""
    frames, minutes = config.budget.frames, config.budget.minutes
    is_long = (frames is None or frames >= _MIN_FRAMES) and (minutes is None or minutes >= _MIN_MINUTES)
    return is_long and config.cluster.is_on_this_machine and not config.resume


def foretell(config: RunConfig) -> str:
    """The sentence on this machine. Raises a PipelineError that would end the run as well."""
    try:
        return outlook(config.budget, rehearse(config))
    except PipelineError:
        raise
    except Exception as error:  # of a role of somebody's own, which may need more than is built here
        return f"how long it will take cannot be told: {in_words(error)}"


def outlook(budget: BudgetConfig, frames_per_second: float) -> str:
    """The sentence, for a machine that makes so many frames a second of this run. Raises ValueError for none."""
    if frames_per_second <= 0:
        raise ValueError(f"frames_per_second={frames_per_second} must be positive")
    speed = f"this machine now makes about {_rounded(frames_per_second)} frames/s of this run"
    frames, minutes = budget.frames, budget.minutes
    in_time = None if minutes is None else f"about {_rounded(60 * minutes * frames_per_second)} frames"
    if frames is None:
        return f"{speed}: {in_time} until budget.minutes={minutes:g} ends the training"
    needed = frames / frames_per_second / 60
    if minutes is None or needed <= minutes:
        return f"{speed}: {frames:,} frames in about {duration(needed)}"
    return (
        f"{speed}: {frames:,} frames would take about {duration(needed)}; budget.minutes={minutes:g} ends the "
        f"training after {in_time}"
    )


def rehearse(config: RunConfig, seconds: float = 2.0) -> float:
    """Emulator frames a second of all roles that learn, as many at once as this machine has cores for them.

    Takes some three seconds more to make them ready. Raises what a role raises that cannot be built alone.
    """
    topology = config.topology
    small = replace(
        config,
        topology=replace(topology, num_lanes=min(topology.num_lanes, _NUM_LANES)),
        param_server=replace(config.param_server, num_shards=1),
        replay=None
        if config.replay is None
        else replace(
            config.replay, capacity=_REPLAY_STEPS, capacity_bytes=None, min_transitions=config.replay.batch_size
        ),
        # Nothing of this is the run's.
        checkpoint=replace(config.checkpoint, replay=False),
    )
    params = first_parameters(config)
    num_roles = max(min(topology.num_learning, report_host().num_cores // topology.compute_threads), 1)
    # All are ready before one is measured: else the first would have the machine to itself.
    ready = threading.Barrier(num_roles)
    with ThreadPoolExecutor(num_roles) as threads:
        speeds = [threads.submit(_steps_per_second, small, index, params, ready, seconds) for index in range(num_roles)]
        errors = [error for speed in speeds if (error := speed.exception()) is not None]
    # Who waited for one that failed says only that.
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return sum(speed.result() for speed in speeds) * config.environment.mean_frame_skip


def _steps_per_second(
    config: RunConfig, index: int, params: Float32Array, ready: threading.Barrier, seconds: float
) -> float:
    role: LearningRole | None = None
    try:
        with batch_thread():  # as the task of a role
            role = _alone(config, role_spec(config, generation=1), index, params)
            end = time.monotonic() + _WARM_UP_SECONDS
            while role.progress().num_updates < _WARM_UP_UPDATES and time.monotonic() < end:
                role.step()
            ready.wait()
            before, started = role.progress().num_steps, time.monotonic()
            while time.monotonic() < started + seconds:
                role.step()
            return (role.progress().num_steps - before) / (time.monotonic() - started)
    except BaseException:
        ready.abort()
        raise
    finally:
        if role is not None:
            role.close()


def _alone(config: RunConfig, spec: RoleSpec, index: int, params: Float32Array) -> LearningRole:
    """The run's learning role with parameters of its own."""
    role = role_of(type(config.algorithm))
    placed = replace(spec, max_steps=None, place=replace(spec.place, role=f"{role.NAME}-{index}", index=index))
    shard = ParameterShard(ShardSnapshot(0, params, 0, params, {}), config.optimizer, spec.param_server, 1)
    return role.build(placed, Servers([DirectShard(shard)], []), _NoRows())


class _NoRows(RowSink):
    def emit(self, row: Row) -> None:
        """Nobody wants them."""


def _rounded(number: float) -> str:
    """With two digits that count."""
    return f"{float(f'{number:.1e}'):,.0f}"


def duration(minutes: float) -> str:
    """In the unit that one would say it in: "40 seconds", "8 minutes", "5 hours", "4 days"."""
    if minutes < 2:
        return f"{60 * minutes:.0f} seconds"
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 72 * 60 else f"{minutes / 60 / 24:.0f} days"
