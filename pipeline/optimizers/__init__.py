"""Optimizers of flat float32 slices, a file each with its settings."""
