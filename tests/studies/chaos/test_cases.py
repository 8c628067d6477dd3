"""Which runs a campaign has, and that what is typed for them is without mistakes."""

import pytest

from pipeline.config.overrides import compose
from studies.chaos.cases import ADDRESS, APART, BESIDE, ON_SLURM, SLURM, SYSTEMS, case_of, words


def test_twelve_runs_are_every_system_on_every_cluster_and_the_next_twelve_have_their_shards_apart() -> None:
    first, second = ([case_of(run) for run in range(start, start + 12)] for start in (0, 12))
    assert len({(case.system, case.cluster, case.has_replacement) for case in first}) == 12
    assert {case.system for case in first[:4]} == set(SYSTEMS)
    assert {case.shards for case in first} == {BESIDE} and {case.shards for case in second} == {APART}


@pytest.mark.parametrize("run", range(12))
def test_shares_of_victims_make_one_and_only_nannies_that_are_replaced_are_killed(run: int) -> None:
    case = case_of(run)
    assert sum(case.victims.values()) == pytest.approx(1.0)
    assert ("nanny" in case.victims) == (case.cluster == ADDRESS and case.has_replacement)
    assert case.num_spares == (0 if case.has_replacement else 1)


@pytest.mark.parametrize("run", [0, 1, 2, 3, 12])
def test_what_is_typed_is_a_run(run: int) -> None:
    config = compose([*words(case_of(run), 5, 0.5), "cluster=processes"])
    assert (config.seed, config.budget.minutes, config.budget.frames) == (5, 0.5, None)


def test_on_slurm_there_are_four_systems_whose_jobs_come_again_and_what_is_typed_is_a_run() -> None:
    cases = [case_of(run, ON_SLURM) for run in range(8)]
    assert {(case.cluster, case.has_replacement, case.num_spares) for case in cases} == {(SLURM, True, 0)}
    assert [case.system for case in cases[:4]] == list(SYSTEMS)
    assert {case.shards for case in cases[:4]} == {BESIDE} and {case.shards for case in cases[4:]} == {APART}
    assert sum(cases[0].victims.values()) == pytest.approx(1.0)
    config = compose([*words(cases[0], 5, 0.5), "cluster=slurm"])
    assert (config.cluster.kind, config.cluster.lease_seconds) == ("slurm", 10.0)
