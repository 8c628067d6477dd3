"""DBA3C's workers and parameter servers as an event simulation: a simulated clock, measured costs, the real quorum.

    costs        what each step and each message costs, as plain numbers
    clock        the clock, and cores that are shared by what runs on them
    servers      parameter servers that work one message at a time, the quorum leader in the first of them
    workers      workers that wait, pull, compute, push and commit
    experiment   so many workers, so many servers, so many updates -> data points per second and the rest
    grid         which experiments
    figures      what they gave, drawn

Not here: measuring the costs (`studies.simulation.measured_costs`, `.call_costs`), what is simulated with them
(`studies.dba3c.simulation`).
"""
