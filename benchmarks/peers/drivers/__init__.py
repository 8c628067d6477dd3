"""A program for each library, run by a Python that has it.

They know nothing of this project but `benchmarks.peers.progress`. Each trains until somebody ends it.
Not here: for how long, and in which Python (`benchmarks.peers.__main__`).
"""
