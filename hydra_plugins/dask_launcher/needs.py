"""What a job needs, what it was granted, and how it says that it was interrupted: for the authors of job functions.

    def job_needs(config: DictConfig) -> JobNeeds:                  hydra.launcher.needs=my_package.my_module.job_needs
        return JobNeeds((Part(num_threads=4, memory_bytes=2**31),))

    grant = current_grant()                                         in the job function
    if grant is not None and not grant.fits_one_host:
        client = distributed.Client(grant.scheduler)                and use grant.hosts, no others

A job is told to stop by SIGINT, which Python turns into KeyboardInterrupt. One that handles the signal itself raises
JobInterrupted when it has ended in order.
Not here: how far a job is (`hydra_plugins.dask_launcher.progress`).
"""

from hydra_plugins.dask_launcher._needs import Grant, JobInterrupted, JobNeeds, Part, current_grant

__all__ = ["Grant", "JobInterrupted", "JobNeeds", "Part", "current_grant"]
