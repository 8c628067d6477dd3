"""A page of ours on the Dask dashboard."""
