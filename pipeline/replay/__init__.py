"""Transitions kept and drawn: rings of frames, samplers, shards, and who writes to and reads from them."""
