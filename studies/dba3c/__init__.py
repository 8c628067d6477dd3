"""Distributed BA3C, measured, simulated and trained: what makes `results/dba3c/`.

    settings      networks that are compared, where rows and figures go
    scaling       two workers beside one, and beside two loops without a server
    shards        1, 2 and 4 parameter shards, beside the workers or apart
    stragglers    backup workers beside one slow worker
    lost_worker   a worker's process is killed
    learning      what `dba3c_quick` learns; `learning_cases` says what is varied
    stops         until the authors' scores, from run folders
    simulation    more workers than this machine carries; `simulation_grid` says which
    figures, simulation_figures, tables, learning_tables, simulation_tables     what is made of the rows

Not here: the simulated cluster (`studies.simulation`), a training of 49 games (`studies.dba3c_atari49`).
"""
