"""Damaged files, many of them: each ends in one sentence, is read as it was, or is a fault of ours."""
