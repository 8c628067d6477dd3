"""How fast it is: each module is run with `python -m benchmarks NAME` and prints one JSON line per group of figures.

Lines that were kept are in `benchmarks/results/`. Not here: what is learned, and whatever else makes `results/<name>/`
(`studies`); what both share (`measuring`).
"""
