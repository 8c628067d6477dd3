"""Supervision, measured by killing: what makes `results/chaos/`.

    cases         which run comes next: system, cluster, who brings hosts back
    draws         what is killed when and how, from a seed
    output        what a run has said of it
    judging       what became of a kill, what is wrong with a run that has ended
    kills         what is known of one kill, and its row
    rows, tables  what is kept, and what is made of it
    processes     processes of one run, its hosts and ports: by a mark in their environment
    scene         who holds what at a moment: asked of the run's scheduler
    hosts         a scheduler and hosts that somebody has started
    command       the command of a run, as it is typed, once and again
    watched       one run from its first start to its end, with its kills
    campaign      all of them
    soak          a run that nobody disturbs, for an hour: what it holds

Decisions are pure; `processes`, `scene`, `hosts`, `command`, `watched` and `campaign` do what they say.
Not here: ssh, a full disk, a broken network; what is tested of single deaths (`tests/topologies`).
"""
