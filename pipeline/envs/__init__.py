"""Atari games, many at once; the only package that knows the emulator."""
