"""From rows to tables and figures: load -> scores -> table, curves. No torch, no dask."""
