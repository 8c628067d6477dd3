"""Every exception that the pipeline raises on purpose.

    PipelineError
    ├── ConfigError          the command line or a config file asks for something that cannot be
    ├── PlacementError       the cluster that is there cannot hold what the run wants
    ├── HostMismatchError    a host has other versions or code than this process, or lacks a module of the run
    ├── RunFolderError       the run folder is taken, damaged or of another experiment
    │   └── UnfitFolderError     what is in it does not go with the settings, however often it is tried
    ├── SweepError           the folder of a sweep has no ledger, or none that can be read
    ├── CheckpointError      a checkpoint cannot be read or does not fit the network
    ├── DiskError            a disk is full, or may not be written
    ├── RecordingError       a recorded game cannot be read, or is another game when it is played again
    ├── ExportError          an exported file cannot be written, or does not answer as the agent does
    ├── CallTimeoutError     a remote did not answer before its deadline
    ├── RemoteLostError      the host of a remote is gone, and its state with it
    │   ├── UnreachableError     a connection to it broke, or none could be made; it may be there for others
    │   │   └── SchedulerLostError   the cluster's scheduler is gone, and all hosts leave with it
    │   └── BrokenQuorumError    the shards of a synchronous server no longer agree, which loses their state too
    ├── StarvedError         a replay held a role back for longer than it may
    ├── DivergedError        the loss is no number any more
    └── RoleFailedError      a role ended with an error, or its host died

Each message says what was given, what is allowed, and what to do. Anything else that escapes is a bug.
"""

import sys
from collections.abc import Sequence


class PipelineError(Exception):
    """Base of every error that the pipeline raises on purpose."""


class ConfigError(PipelineError):
    """One or more mistakes in a configuration, all found before any work started.

    `mistakes` holds one line per mistake; the message is all of them, numbered.
    """

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        count = len(self.mistakes)
        head = f"{count} mistake{'s' if count != 1 else ''} in the configuration, nothing was started:"
        super().__init__("\n".join([head, *(f"  {i}. {line}" for i, line in enumerate(self.mistakes, 1))]))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[tuple[str, ...]]]:
        return (ConfigError, (self.mistakes,))


def in_words(error: BaseException) -> str:
    """What another's code raised, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def told(line: str) -> None:
    """What is amiss and ends nothing, on the standard error: beside the results of a command."""
    print(f"warning: {line}", file=sys.stderr, flush=True)


def status_of(error: PipelineError) -> int:
    """What a command that it ends gives to its shell: 2 if its words were wrong, and 1 if what they say failed."""
    return 2 if isinstance(error, ConfigError) else 1


class PlacementError(PipelineError):
    """What a run wants does not fit the hosts that are offered; both numbers stand in the message."""


class HostMismatchError(PipelineError):
    """A host has another version of Python or of what must be equal, other code, or lacks a module; what, is told."""


class RunFolderError(PipelineError):
    """A run folder is already taken, or is not what the command needs."""


class UnfitFolderError(RunFolderError):
    """What is in the run folder does not go with the settings of the run: it stays as it is, and the run ends."""


class SweepError(PipelineError):
    """The folder of a sweep has no ledger, or none that can be read."""


class CheckpointError(PipelineError):
    """A checkpoint is missing, damaged, or does not fit the network of this run."""


class DiskError(PipelineError):
    """A disk is full, or may not be written."""


class RecordingError(PipelineError):
    """A recording is missing or damaged, or its game ends otherwise when it is played again."""


class ExportError(PipelineError):
    """A trained agent cannot be written for other programs, or what was written answers otherwise than the agent."""


class CallTimeoutError(PipelineError):
    """A remote did not answer before its deadline; the call may still have been carried out."""


class RemoteLostError(PipelineError):
    """The host of a remote is gone, and the remote's state with it."""


class UnreachableError(RemoteLostError):
    """The connection to a remote broke, or none could be made; whether its host is gone only the scheduler knows."""


class SchedulerLostError(UnreachableError):
    """The scheduler of a cluster is gone: its hosts leave, and nothing goes on without another one."""


class BrokenQuorumError(RemoteLostError):
    """Shards and leader of a synchronous parameter server no longer agree: all go back to the newest snapshot."""


class StarvedError(PipelineError):
    """A role was held back by a replay for longer than it may be."""


class DivergedError(PipelineError):
    """The loss is no finite number any more, and stays so: the parameters are lost to this run."""


class RoleFailedError(PipelineError):
    """A role ended with an error, or the host that ran it died."""
