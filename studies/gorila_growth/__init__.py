"""How Gorila grows: what a bundle's parts cost here, an event simulation of many bundles, real runs beside it.

    costs           what each part of a bundle and each call to a shard costs, as plain numbers, and as a JSON file
    slice_bytes     how many bytes a slice takes on the wire
    servers         simulated hosts and shards: the real rule of admission, one call at a time
    bundles         simulated bundles: pull, play, pull, gradient, push
    experiment      a placement of bundles and shards, costs -> steps per second, staleness and the rest
    part_costs      measures the costs, each part by itself
    grid            which clusters are simulated
    simulation      the command: parts, real runs to check, and what is simulated
    growth          the command: real runs over workers and shards, memory beside the plan
    real_runs       one real run as a command of its own: its speed and its peak of memory
    senders         the command: rows and heartbeats of a thousand roles
    tables, figures what is made of the rows

Makes `results/gorila_growth/`. The clock, cores and links are those of `studies.simulation`, which is DBA3C's.
"""
