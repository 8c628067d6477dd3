"""A Hydra launcher for Dask: `hydra/launcher=dask` runs the jobs of a multirun on the hosts of one Dask cluster.

    config.py       its settings
    launcher.py     what Hydra calls
    search_path.py  where Hydra finds hydra/launcher=dask, and how a program sets its own values
    needs.py        for job functions: what a job needs, what it was granted, that it was told to stop
    progress.py     for job functions: how far a job is
    ledger.py       the file that tells what became of each job

Hydra executes every module here whose name has no leading underscore, each time it looks for plugins: those import
light things only, and define no class that has to stay the same.
"""
