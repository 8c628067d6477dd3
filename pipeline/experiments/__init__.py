"""One run from start to end; its files, scores, curves, and its place in a sweep have a room each."""
