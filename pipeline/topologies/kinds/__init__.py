"""The topologies, a file each: settings, what their roles want of hosts, who is started. No torch, and no Dask."""
