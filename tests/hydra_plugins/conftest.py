"""The real clusters of the job runner's tests, for Hydra's own."""

from tests.dask_jobs.conftest import end_commands, scheduler_address, scheduler_here

__all__ = ["end_commands", "scheduler_address", "scheduler_here"]
