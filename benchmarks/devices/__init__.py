"""What a GPU is worth beside the processor of the same machine: measured here, and its tables."""
