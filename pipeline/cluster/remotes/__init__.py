"""Calls to objects in other processes: parameter shards, their quorum, replay shards."""
