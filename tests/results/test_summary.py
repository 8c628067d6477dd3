"""The summary on published columns alone gives the papers' headlines; on ours it compares only like with like."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline.games import ATARI49
from pipeline.results.load import join_runs, load_runs
from pipeline.results.protocols import DQN, GORILA, HUMAN_STARTS, NOOP_STARTS, Starts
from pipeline.results.published import load_published
from pipeline.results.random_player import OUR_RANDOM_PLAYER, random_scores
from pipeline.results.run_scores import entries, run_scores
from pipeline.results.summary import COLUMNS, summary, summary_tables
from tests.results.run_folders import evaluation, write_run

NOBODY = random_scores(join_runs([]))


def summary_of(tmp_path: Path) -> pd.DataFrame:
    loaded = load_runs(tmp_path / "runs")
    return summary(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded))


def values(numbers: pd.DataFrame, agent: str, games: str = "all") -> dict[str, float]:
    rows = numbers[(numbers["agent"] == agent) & (numbers["games"] == games)]
    return dict(zip(rows["statistic"], rows["value"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("starts", "median", "mean", "above", "human", "twice", "five_times"),
    [(NOOP_STARTS, 96.4, 495.2, 31, 31, 11, 4), (HUMAN_STARTS, 78.0, 293.0, 41, 25, 22, 11)],
)
def test_the_published_columns_alone_give_the_headlines_of_gorila(
    starts: Starts, median: float, mean: float, above: int, human: int, twice: int, five_times: int
) -> None:
    found = values(summary(starts, {}, NOBODY), GORILA)
    assert (round(found["median"], 1), round(found["mean"], 1)) == (median, mean)
    assert [found[name] for name in ("above_dqn", "at_human_level", "twice_dqn", "five_times_dqn")] == [
        above,
        human,
        twice,
        five_times,
    ]
    # No two scores are equal, so that the chance is the share of games.
    assert found["improvement_dqn"] == pytest.approx(above / 49)


@pytest.mark.parametrize(("starts", "median", "mean"), [(NOOP_STARTS, 93.5, 241.1), (HUMAN_STARTS, 47.5, 122.1)])
def test_the_published_columns_alone_give_the_headlines_of_dqn(starts: Starts, median: float, mean: float) -> None:
    found = values(summary(starts, {}, NOBODY), DQN)
    assert (round(found["median"], 1), round(found["mean"], 1)) == (median, mean)


def test_nobody_is_compared_with_himself() -> None:
    _, wins = summary_tables(NOOP_STARTS, {}, NOBODY)
    text = wins.text.set_index("agent")
    own = [(DQN, "above DQN"), (DQN, "P(> DQN)"), (GORILA, "above Gorila"), (GORILA, "P(> Gorila)")]
    assert [text.loc[place] for place in own] == ["-"] * 4


def test_an_entry_with_all_games_stands_beside_the_published_ones_with_intervals(tmp_path: Path) -> None:
    gorila = load_published()["gorila_noop"]
    for game in ATARI49:
        for seed in range(2):
            # A little above Gorila with one seed, and below with the other.
            score = gorila[game] + (1.0 if seed else -2.0)
            write_run(tmp_path, [evaluation(score)], game=game, seed=seed)
    numbers = summary_of(tmp_path)
    assert list(numbers.columns) == list(COLUMNS)
    assert set(numbers["games"]) == {"all"}
    ours = numbers[numbers["agent"] == "ours: gorila"]
    assert ours["num_seeds"].unique().tolist() == ["2"]
    ends = {row["statistic"]: (row["low"], row["value"], row["high"]) for row in ours.to_dict("records")}
    assert ends["above_gorila"][1] == 0
    assert ends["improvement_gorila"][1] == 0.5
    for statistic in ("mean", "median", "iqm", "optimality_gap", "improvement_gorila"):
        low, value, high = ends[statistic]
        assert low <= value <= high and low < high, statistic
    # In every game the mean is just below Gorila, and in a quarter of all resamples it is above.
    assert 0 < ends["above_gorila"][0] < 49 / 4 < ends["above_gorila"][2]


def test_an_incomplete_entry_is_compared_over_its_own_games_only(tmp_path: Path) -> None:
    for experiment, game in [("gorila", "Pong"), ("gorila", "Breakout"), ("dqn", "Pong")]:
        write_run(tmp_path, [evaluation(20.0)], experiment=experiment, game=game)
    loaded = load_runs(tmp_path / "runs")
    scores = entries(run_scores(loaded))
    numbers = summary(NOOP_STARTS, scores, random_scores(loaded))
    assert numbers.groupby("games")["num_games"].first().to_dict() == {"all": 49, "Breakout, Pong": 2, "Pong": 1}
    assert set(numbers[numbers["games"] == "Pong"]["agent"]) == {DQN, GORILA, "ours: dqn"}
    # Pong: DQN 18.9, random -20.7, human 9.3.
    assert values(numbers, DQN, "Pong")["mean"] == pytest.approx(132.0)
    assert values(numbers, "ours: dqn", "Pong")["mean"] == pytest.approx(100 * 40.7 / 30)
    tables = summary_tables(NOOP_STARTS, scores, random_scores(loaded))
    assert all("1: Pong" in table.text["games"].tolist() for table in tables)
    assert list(tables[0].text.columns) == ["agent", "games", "seeds", "median %", "IQM %", "mean %", "gap %"]
    assert tables[1].text.columns[3:5].tolist() == ["above our random", "above DQN"]


def test_many_games_are_named_by_whose_they_are(tmp_path: Path) -> None:
    for experiment in ("dqn", "gorila"):
        for game in ("Alien", "Breakout", "Hero", "Pong"):
            write_run(tmp_path, [evaluation(20.0)], experiment=experiment, game=game)
    assert summary_of(tmp_path)["games"].unique().tolist() == ["all", "those of dqn; gorila"]


def test_games_that_no_entry_has_all_of_are_those_of_the_report(tmp_path: Path) -> None:
    games = ("Alien", "Breakout", "Hero", "Pong")
    for game in games[1:]:
        write_run(tmp_path, [evaluation(20.0)], game=game)
    loaded = load_runs(tmp_path / "runs")
    numbers = summary(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded), games)
    assert numbers["games"].unique().tolist() == ["all of this report", "Breakout, Hero, Pong"]


def test_entries_with_the_same_games_share_a_block(tmp_path: Path) -> None:
    for experiment in ("dqn", "gorila"):
        write_run(tmp_path, [evaluation(20.0)], experiment=experiment)
    numbers = summary_of(tmp_path)
    assert numbers["games"].unique().tolist() == ["all", "Pong"]


def test_a_multiple_of_dqn_is_reached_by_none_that_is_not_above_it(tmp_path: Path) -> None:
    # Montezuma's Revenge: DQN scores 0, as the random player does, and any multiple of it is 0.
    write_run(tmp_path, [evaluation(0.0)], game="MontezumaRevenge")
    ours = values(summary_of(tmp_path), "ours: gorila", "MontezumaRevenge")
    assert (ours["twice_dqn"], ours["five_times_dqn"], ours["above_dqn"], ours["improvement_dqn"]) == (0, 0, 0, 0.5)


def test_exactly_twice_dqn_is_at_least_twice(tmp_path: Path) -> None:
    random, dqn = (float(load_published()[column]["Breakout"]) for column in ("random_noop", "dqn_nature_noop"))
    write_run(tmp_path, [evaluation(random + 2 * (dqn - random))], game="Breakout")
    ours = values(summary_of(tmp_path), "ours: gorila", "Breakout")
    assert (ours["twice_dqn"], ours["five_times_dqn"], ours["above_dqn"]) == (1, 0, 1)


def test_a_single_game_with_more_seeds_makes_no_interval_over_all(tmp_path: Path) -> None:
    for game in ATARI49:
        for seed in range(3 if game == "Breakout" else 1):
            write_run(tmp_path, [evaluation(100.0 + seed)], game=game, seed=seed)
    numbers = summary_of(tmp_path)
    ours = numbers[numbers["agent"] == "ours: gorila"]
    assert ours["num_seeds"].unique().tolist() == ["1-3"]
    assert ours[["low", "high"]].isna().all(axis=None)


def test_our_random_player_has_a_row_and_who_is_above_it_is_counted(tmp_path: Path) -> None:
    for game, score in (("Pong", 5.0), ("Breakout", 1.0)):
        ours = [evaluation(score + spread, number) for number, spread in enumerate((-0.5, 0.0, 0.5))]
        random = [evaluation(score, number, 0, agent="random", epsilon=1.0) for number, score in enumerate((0.0, 1.0))]
        write_run(tmp_path, ours + random, game=game)
    numbers = summary_of(tmp_path)
    assert values(numbers, "ours: gorila", "Breakout, Pong")["above_random"] == 1
    assert pd.isna(values(numbers, DQN, "Breakout, Pong")["above_random"])
    player = numbers[(numbers["agent"] == OUR_RANDOM_PLAYER) & (numbers["games"] == "Breakout, Pong")]
    assert player["num_seeds"].unique().tolist() == ["-"]
    # Over all 49 games it has none.
    assert OUR_RANDOM_PLAYER not in set(numbers[numbers["games"] == "all"]["agent"])


def test_where_the_random_player_did_not_play_nobody_is_counted_above_it(tmp_path: Path) -> None:
    ours = [evaluation(5.0 + spread, number) for number, spread in enumerate((-0.5, 0.0, 0.5))]
    for game in ("Pong", "Breakout"):
        write_run(tmp_path, ours, game=game)
    assert pd.isna(values(summary_of(tmp_path), "ours: gorila", "Breakout, Pong")["above_random"])
    random = [evaluation(score, number, 0, agent="random", epsilon=1.0) for number, score in enumerate((0.0, 1.0))]
    write_run(tmp_path, [*ours, *random], game="Pong", experiment="dqn")
    assert values(summary_of(tmp_path), "ours: gorila", "Breakout, Pong")["above_random"] == 1
    loaded = load_runs(tmp_path / "runs")
    _, wins = summary_tables(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded))
    notes = wins.notes
    assert any(note.startswith("Of 1 of the 2 games of gorila there are no games of our random") for note in notes)


def test_a_game_of_which_it_is_not_known_is_told_and_makes_no_count_of_none(tmp_path: Path) -> None:
    random = [evaluation(score, number, agent="random", epsilon=1.0) for number, score in enumerate((0.0, 1.0))]
    write_run(tmp_path, [evaluation(5.0), *random], game="Pong")
    assert pd.isna(values(summary_of(tmp_path), "ours: gorila", "Pong")["above_random"])
    loaded = load_runs(tmp_path / "runs")
    _, wins = summary_tables(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded))
    assert any(note.startswith("Of 1 of the 1 games of gorila it is not known") for note in wins.notes)
