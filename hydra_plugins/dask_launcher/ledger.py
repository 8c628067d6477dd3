"""What became of each job of a sweep: `ledger.csv` in its folder, for programs that read it.

    for row in read_ledger(Path("results/sweeps/atari49")):
        print(row.job, row.overrides, row.status, row.reason)

The same file read with pandas has the columns of LedgerRow.
"""

from hydra_plugins.dask_launcher._ledger import (
    DONE,
    FAILED,
    INTERRUPTED,
    LEDGER,
    RUNNING,
    STATUSES,
    WAITING,
    Ledger,
    LedgerError,
    LedgerRow,
    is_held,
    read_ledger,
)

__all__ = [
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "LEDGER",
    "RUNNING",
    "STATUSES",
    "WAITING",
    "Ledger",
    "LedgerError",
    "LedgerRow",
    "is_held",
    "read_ledger",
]
