"""What hosts are started with, whatever starts them: the name of their GPUs, and their environment.

Not here: settings of the process that starts them (`pipeline.cluster.session`).
"""

GPU = "GPU"
"""Name of the Dask resource that GPUs are declared as."""
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "134217728", "MALLOC_MMAP_THRESHOLD_": "33554432"}
"""Environment of a host whose glibc keeps up to 128 MiB that it was given back, for arrays of up to 32 MiB.

Roles make the same arrays in each update. Dask's own value has every array over 128 kB mapped anew, page by page; left
to adapt by itself, glibc still did so with what a worker pulled from two shards (`docs/clusters/address.md`: measured).
"""
HOST_ENVIRONMENT = {**KEPT_MEMORY, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
"""Of hosts that a batch system starts: they do not inherit the settings of `session`, where the reasons stand."""
