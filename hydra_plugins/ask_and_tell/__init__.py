"""What Hydra has to find of searches: `hydra/sweeper=ask_and_tell` and its settings. Light, as in `dask_launcher`."""
