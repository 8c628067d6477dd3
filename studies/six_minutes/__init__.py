"""Six minutes of two ordinary cores a game: what makes `results/six_minutes/`.

    tuning     settings of both systems, tried on games outside the 49
    atari49    the 49 games, once, with what was chosen there
    tables     of their rows
    figures    of the 49 games

Not here: longer trainings (`studies.reference_runs`), the first sweep of the 49 games (`studies.dba3c_atari49`).
"""
