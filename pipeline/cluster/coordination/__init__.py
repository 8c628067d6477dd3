"""Between coordinator and roles: rows, progress and the lease, as numbered batches."""
