"""Whole games under a protocol: played, recorded, gone on with from start states."""
