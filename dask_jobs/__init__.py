"""The job runner of sweeps: runs the jobs of a Hydra multirun on the hosts of one Dask cluster, and can resume.

For job functions:
    needs        what a job needs, what it was granted, that it was told to stop
    progress     how far a job is
    ledger       the file that tells what became of each job

One command, from the terminal to a job's process:
    settings     what a user may set
    command      one command, from its first launch to its last       job       one job of Hydra's
    sweep        one launch at work                                    decisions, queue     what is done next
    announcer    telling everybody of a job's state
    allocation   who gets what: all or nothing                         grants    who holds what
    cluster      the hosts of a sweep                                  scheduler, addresses    reaching them
    connection   whether it still holds                                identity    what a scheduler tells
    board        what there is to show                                 display   showing it
    interrupts   Ctrl-C and other signals                              terminal  what is printed
    host         what a host is                                        questions, memory    asking it; its memory
    attempt      a job on its host                                     spares, gpus, wanted    what that takes
    process      the host's end of a job's process                     work      the process itself
    outcome      how an attempt ended

A search, whose jobs are chosen by what earlier ones returned:
    search       one search                                            search_settings    what a user may set
    trials       chooses jobs                                          asking    jobs that are asked for

For all of these:
    refusing     mistakes in settings, told at once                    certificates    mistakes in naming TLS files
    quiet        what Dask logs and nobody needs
    watched_time    time without pauses                                patience    hosts that stood still with us

Not here: what Hydra has to find (`hydra_plugins.dask_launcher`), what the jobs are.
"""

__version__ = "0.1.0"
"""Of the distribution `hydra-dask-jobs` (`packaging/dask-jobs`)."""
