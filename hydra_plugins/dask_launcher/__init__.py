"""What Hydra has to find of the job runner `dask_jobs`: `hydra/launcher=dask`, its settings, its search path.

Hydra executes every module here, each time it looks for plugins: they import light things only, and define no class
that has to stay the same.
"""
