"""What makes `results/<name>/`: a module or a folder each, run with `python -m studies NAME`.

A study writes rows and goes on where it stopped: what was measured is not measured again. The tables of its README are
made of these rows, without measuring, by `python -m studies tables`.

    chaos             what becomes of runs whose processes are killed (a folder)
    dba3c             speed, learning, stragglers and a simulation of distributed BA3C (a folder)
    dba3c_atari49     49 games with half a million steps each
    first_steps       what the first updates of AdaGrad leave of a network
    gorila_growth     a simulation of many bundles, real runs that grow, memory and rows (a folder)
    guards            what Gorila's two guards are worth
    main_job          what `make train` comes to on an ordinary processor
    optimizer_sweep   optimizers and step sizes of `gorila_quick`
    quick_agents      six agents of Q-learning on one schedule
    random_play       random play of 49 games beside the published player
    reference_runs    single runs that are kept whole
    simulation        the simulated cluster that `dba3c.simulation` fills with measured costs (a folder)

Not here: how fast parts are (`benchmarks`), what studies and benchmarks share (`measuring`).
"""
