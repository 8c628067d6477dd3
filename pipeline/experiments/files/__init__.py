"""What a run keeps on disk: its folder, checkpoints, provenance and rows of evaluations."""
