"""What benchmarks and studies share: where a figure was measured, rounds in turn, the speed of a worker.

    provenance     commit, machine and versions, and the JSON line that has them
    processor      which kind it is of, and an ordinary one made of a newer
    markdown       tables, and their places in a document
    rounds         times and ratios of variants that take turns
    serverless     roles without any server, which a whole run is held against
    worker_speed   a whole run of DBA3C, and how fast it went when steady
    modules        `python -m <package> NAME ...`: each module in a process of its own

A package beside the two that use it, for neither is a part of the other: a benchmark says how fast something is, a
study makes `results/<name>/`. Imports go down to here and no further back (`tests/test_architecture.py`).
"""
