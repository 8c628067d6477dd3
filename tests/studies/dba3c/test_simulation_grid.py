"""Which clusters are simulated."""

from studies.dba3c.simulation_grid import GRID, SERVERS, STRAGGLERS, WORKERS


def test_the_grid_has_the_sizes_that_the_figures_need() -> None:
    workers = [case.num_workers for case in GRID if case.study == WORKERS]
    assert (workers[0], workers[-1]) == (1, 1000) and 64 in workers
    assert {case.num_servers for case in GRID if case.study == SERVERS} == {1, 2, 4, 8}
    backups = {case.num_backup_workers for case in GRID if case.study == STRAGGLERS}
    assert backups == {0, 1, 2, 4}
    assert {case.num_workers + case.num_backup_workers for case in GRID if case.study == STRAGGLERS} == {64}
    assert len(set(GRID)) == len(GRID)
