from pathlib import Path

from pipeline.games import ATARI49
from pipeline.results.load import load_runs
from pipeline.results.report import Report, game_runs, game_section, make_report
from tests.results.run_folders import episode, evaluation, update, write_run


def report(tmp_path: Path) -> Report:
    return make_report(load_runs(tmp_path / "runs"))


def test_a_report_of_one_run_has_what_can_be_said_and_says_what_is_missing(tmp_path: Path) -> None:
    write_run(tmp_path, [episode(1.0), evaluation(2.0)], commit="0123456789", end_reason="budget")
    made = report(tmp_path)
    assert [section.anchor for section in made.sections] == ["ours", "summary", "games49", "human-starts"]
    assert dict(made.facts)["commits"] == "0123456"
    assert dict(made.facts)["scores of gorila"] == "1 game, 1 seed"
    assert made.warnings == ()
    assert made.missing == ()
    assert made.scores["score"].tolist() == [2.0]


def test_other_protocols_and_random_play_have_sections_when_they_were_played(tmp_path: Path) -> None:
    rows = [evaluation(2.0, max_frames=400), evaluation(0.0, agent="random", epsilon=1.0, version=0)]
    write_run(tmp_path, rows)
    made = report(tmp_path)
    assert [section.anchor for section in made.sections][2:] == ["games49", "other", "random", "human-starts"]
    assert "max_frames 400 instead of 18000" in made.warnings[0]


def test_a_run_of_millions_of_frames_stands_beside_published_ones_at_equal_frames(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(2.0, total_frames=2_000_000)], game="Breakout")
    loaded = load_runs(tmp_path / "runs")
    made = make_report(loaded)
    assert "equal-frames" in [section.anchor for section in made.sections]
    (breakout,) = (game_section(runs) for runs in game_runs(loaded, made.scores))
    assert [table.name for table in breakout.tables][1:] == ["budgets_Breakout"]
    assert [figure.name for figure in breakout.figures] == ["Breakout", "budgets_Breakout"]


def test_a_game_without_published_scores_is_reported_and_has_no_normalised_score(tmp_path: Path) -> None:
    games = [evaluation(score, number) for number, score in enumerate([200.0, 300.0, 400.0])]
    random = [evaluation(score, number, agent="random", epsilon=1.0) for number, score in enumerate([10.0, 50.0])]
    write_run(tmp_path, [episode(1.0), *games, *random, evaluation(7.0, agent="training")], game="Pooyan")
    loaded = load_runs(tmp_path / "runs")
    made = make_report(loaded)
    assert dict(made.facts)["scores of gorila"] == "1 game, 1 seed"
    (pooyan,) = game_runs(loaded, made.scores)
    (table,) = game_section(pooyan).tables
    assert table.text["agent"].tolist() == ["ours: gorila", "ours: random player"]
    assert set(table.text["% of human"]) == {""} and table.text["score"][0] == "300.0"
    assert table.notes[0].startswith("Published scores are of 49 games, and this is none of them")
    assert not any("published random player" in note for note in table.notes)


def test_with_more_than_a_few_games_all_that_are_missing_are_named(tmp_path: Path) -> None:
    for game in ATARI49[:13]:
        write_run(tmp_path, [evaluation(2.0)], game=game)
    made = report(tmp_path)
    assert "gorila: no score under no-op starts on 36 of 49 games: " in made.missing[0]
    assert [section.anchor for section in made.sections] == ["summary", "games49", "human-starts"]


def test_each_game_of_a_run_has_a_section_even_without_any_score(tmp_path: Path) -> None:
    for game in ("Pong", "Breakout"):
        write_run(tmp_path, [], game=game)
    loaded = load_runs(tmp_path / "runs")
    sections = [game_section(runs) for runs in game_runs(loaded, make_report(loaded).scores)]
    assert [section.title for section in sections] == ["Breakout", "Pong"]


def test_the_section_of_a_game_is_made_of_the_rows_of_that_game_alone(tmp_path: Path) -> None:
    for game, score in (("Pong", 3.0), ("Hero", 5.0)):
        write_run(tmp_path, [episode(score), update(), evaluation(score)], game=game)
    loaded = load_runs(tmp_path / "runs")
    hero, pong = game_runs(loaded, make_report(loaded).scores)
    assert (hero.game, pong.game) == ("Hero", "Pong")
    for part in (hero.loaded.runs, hero.loaded.episodes, hero.loaded.evaluations, hero.scores):
        assert part["game"].tolist() == ["Hero"]
    assert hero.scores["score"].tolist() == [5.0]


def test_evaluations_during_training_make_a_section_of_hours(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(2.0, agent="training"), evaluation(3.0)])
    assert "time" in [section.anchor for section in report(tmp_path).sections]


def test_runs_of_files_that_differ_from_their_commit_are_told_apart(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(2.0)], seed=0, commit="0123456789")
    write_run(tmp_path, [evaluation(2.0)], seed=1, commit="0123456789+")
    made = report(tmp_path)
    assert dict(made.facts)["commits"] == "0123456, 0123456+"
    assert made.warnings == ("gorila: runs of 2 commits in one column: 0123456, 0123456+",)
