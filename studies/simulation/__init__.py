"""DBA3C's workers and parameter servers as an event simulation: a simulated clock, measured costs, the real quorum.

    costs            what each step and each message costs, as plain numbers
    clock            the clock, and cores that are shared by what runs on them
    servers          parameter servers that work one message at a time, the quorum leader in the first of them
    workers          workers that wait, pull, compute, push and commit
    experiment       so many workers, so many servers, so many updates -> data points per second and the rest
    measured_costs   what a worker's steps cost on this machine, and with its calls all that `costs` wants
    call_costs       what a call and an update cost
    cost_file        these as a JSON file, which is a `round_file`

Not here: what is simulated with them, and its figures and tables (`studies.dba3c.simulation`).
"""
