from pathlib import Path

from pipeline.results.cautions import blind_runs, missing_scores, protocol_warnings, unlike_runs
from pipeline.results.load import load_runs
from pipeline.results.run_scores import run_scores
from tests.results.run_folders import actor_critic_update, evaluation, write_run


def missing(tmp_path: Path) -> list[str]:
    loaded = load_runs(tmp_path / "runs")
    return missing_scores(loaded, run_scores(loaded))


def test_games_and_seeds_without_a_score_are_named(tmp_path: Path) -> None:
    for game, seed in [("Pong", 0), ("Pong", 1), ("Hero", 1)]:
        write_run(tmp_path, [evaluation(1.0)], game=game, seed=seed, end_reason="budget")
    games, seeds = missing(tmp_path)
    assert games.startswith("gorila: no score under no-op starts on 47 of 49 games: Alien, Amidar, ")
    assert "Pong" not in games and "Hero" not in games
    assert seeds == "gorila: no score under no-op starts of seed 0 on Hero"


def test_a_run_without_an_evaluation_is_missing_and_one_without_an_end_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0)], seed=0, end_reason="budget")
    write_run(tmp_path, [], seed=1)
    assert missing(tmp_path)[1:] == [
        "gorila: no score under no-op starts of seed 1 on Pong",
        "gorila/Pong/1: no end is written: it goes on, or it was killed",
    ]


def test_a_run_that_ended_before_its_budget_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0, agent="random")], seed=0, end_reason="error: shards were lost 4 times")
    write_run(tmp_path, [evaluation(1.0)], seed=1, end_reason="interrupted")
    assert missing(tmp_path)[2:] == [
        "gorila/Pong/0: ended before its budget (error: shards were lost 4 times); it has no score",
        "gorila/Pong/1: ended before its budget (interrupted); scores are of what it had reached",
    ]


def test_a_score_under_another_protocol_is_none_under_no_op_starts_and_warned_of(tmp_path: Path) -> None:
    for game in ("Pong", "Hero"):
        write_run(tmp_path, [evaluation(1.0, protocol="smoke", max_frames=400)], game=game, end_reason="budget")
    write_run(tmp_path, [evaluation(1.0, protocol="smoke", max_frames=400)], experiment="dqn", end_reason="budget")
    assert "49 of 49 games" in missing(tmp_path)[0]
    (warning,) = protocol_warnings(run_scores(load_runs(tmp_path / "runs")))
    assert warning == (
        "smoke is not the published protocol: max_frames 400 instead of 18000. Scores under it are not normalised and "
        "stand in no table beside published ones: dqn (Pong); gorila (Hero, Pong)."
    )


def test_runs_of_several_commits_or_budgets_in_one_column_are_named(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0, total_frames=1_000)], seed=0, commit="0123456789")
    write_run(tmp_path, [evaluation(1.0, total_frames=2_000)], seed=1, commit="abcdefabcd")
    write_run(tmp_path, [evaluation(1.0, total_frames=1_000)], experiment="dqn", seed=0, commit="0123456789")
    write_run(tmp_path, [evaluation(1.0, total_frames=1_004)], experiment="dqn", seed=1, commit="0123456789")
    assert unlike_runs(run_scores(load_runs(tmp_path / "runs"))) == [
        "gorila: runs of 2 commits in one column: 0123456, abcdefa",
        "gorila: runs of 1,000 to 2,000 training frames in one column",
    ]


def test_so_are_runs_that_were_played_otherwise_than_published_ones(tmp_path: Path) -> None:
    for seed, frames in ((0, 1_000), (1, 3_000)):
        rows = [evaluation(1.0, total_frames=frames, protocol="smoke", max_frames=400)]
        write_run(tmp_path, rows, experiment="dba3c", seed=seed, commit="0123456789")
    assert unlike_runs(run_scores(load_runs(tmp_path / "runs"))) == [
        "dba3c (smoke): runs of 1,000 to 3,000 training frames in one column"
    ]


def test_runs_that_ended_with_most_of_their_first_filters_off_are_named(tmp_path: Path) -> None:
    for seed, shares in enumerate(([0.9, 0.05], [0.05, 0.9], [0.08, 0.08], [0.9, 0.15])):
        rows = [actor_critic_update(version=i, active_filters=shares[i // 10]) for i in range(20)]
        write_run(tmp_path, rows, experiment="dba3c", seed=seed)
    first, second = blind_runs(load_runs(tmp_path / "runs"))
    assert first.startswith("dba3c/Pong/0: at the end 5% of the first convolution's filters still learned")
    assert second.startswith("dba3c/Pong/2: at the end 8%")
