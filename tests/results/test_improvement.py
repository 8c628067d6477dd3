"""Experiments of ours against each other."""

from pathlib import Path

import pytest

from pipeline.results.improvement import improvement, improvement_table
from pipeline.results.load import load_runs
from pipeline.results.run_scores import entries, run_scores
from tests.results.run_folders import evaluation, write_run


def test_each_pair_is_compared_over_the_games_that_both_have(tmp_path: Path) -> None:
    for seed, (gorila, dqn) in enumerate([(3.0, 1.0), (5.0, 4.0)]):
        write_run(tmp_path, [evaluation(gorila)], seed=seed)
        write_run(tmp_path, [evaluation(dqn)], experiment="dqn", seed=seed)
    write_run(tmp_path, [evaluation(9.0)], experiment="apex", game="Hero")
    ours = entries(run_scores(load_runs(tmp_path / "runs")))
    numbers = improvement(ours).set_index(["agent", "other"])
    # Of the four pairs of a run of gorila and one of dqn the first is lower in one: 3 against 4.
    assert numbers["probability"].to_dict() == {("dqn", "gorila"): 0.25, ("gorila", "dqn"): 0.75}
    table = improvement_table(ours)
    assert table is not None
    assert table.text.to_numpy().tolist()[0] == ["ours: apex", "-", "-", "-"]
    (row,) = [cells for cells in table.text.to_dict("records") if cells["agent"] == "ours: gorila"]
    assert row["P(> dqn)"].startswith("0.75 [") and row["P(> dqn)"].endswith("] (1)")


def test_one_seed_of_the_other_is_not_taken_as_exact(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0)], experiment="dqn")
    for seed, score in enumerate([3.0, 5.0, 7.0]):
        write_run(tmp_path, [evaluation(score)], seed=seed)
    table = improvement_table(entries(run_scores(load_runs(tmp_path / "runs"))))
    assert table is not None
    assert table.text.to_numpy().tolist() == [["ours: dqn", "-", "0.00 (1)"], ["ours: gorila", "1.00 (1)", "-"]]


@pytest.mark.parametrize("game", ["Pong", "Hero"])
def test_who_has_no_other_beside_it_is_compared_with_nobody(tmp_path: Path, game: str) -> None:
    write_run(tmp_path, [evaluation(3.0)])
    if game == "Hero":
        write_run(tmp_path, [evaluation(3.0)], experiment="dqn", game=game)
    assert improvement_table(entries(run_scores(load_runs(tmp_path / "runs")))) is None
