"""Who is ahead on the 49 games after six minutes of the same two cores: `python -m studies.six_minutes.atari49`.

Gorila, its baseline DQN with the same settings, and DBA3C train on each game for six minutes of wall clock, with the
settings that `studies.six_minutes.tuning` chose on other games; then the last parameters play 30 games under no-op
starts, DBA3C's by their best action and drawn. The rows of a game go to `results/six_minutes/atari49.csv` together,
since only runs of one machine in one state compare; games that are there are not run again. Nothing else may run
meanwhile. The figure beside the rows is drawn anew after each game. Twenty-five minutes a game on two cores. Games
come in an order that nobody chose, so that those which are there at any time are a sample of the 49.
Not here: which settings (`tuning`).
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from measuring.markdown import commits_cell, markdown
from pipeline.config.overrides import compose
from pipeline.games import ATARI49
from pipeline.results.atari49 import normalised
from pipeline.results.budgets import Yardstick, yardsticks
from pipeline.results.formats import cell, interval_cell
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import BELOW, YES
from pipeline.results.style import save_figure
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.scored_runs import DRAWN, GREEDY, RANDOM, ScoredRow, place, row_file, score_cell, train_and_score
from studies.six_minutes.figures import games_figure
from studies.six_minutes.tuning import CASES, COMMON, DBA3C, GORILA, OUTPUT, SEED, chosen_case, tuning_rows

DQN = "dqn"
SYSTEMS = (GORILA, DQN, DBA3C)
MINUTES = 6.0
ORDER = tuple(sorted(ATARI49, key=lambda game: sha256(game.encode()).digest()))
"""The 49 games as they are played: by the digest of their names, which is the same everywhere and means nothing."""
_YARDSTICK, _YARDSTICK_FRAMES = "DQN (nnabla-rl)", 1_000_000
"""The published agent that was played most like ours, at its first mark."""

Row = Mapping[Any, Any]
"""A ScoredRow as a record."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, all systems of a game before the next game."""
    chosen = parsed(__doc__, arguments, games=ORDER, output=OUTPUT, runs_dir="outputs/six_minutes/atari49")
    settings = settings_of(tuning_rows(chosen.output).frame())
    for game in chosen.games:
        budget = (f"budget.minutes={MINUTES}", "budget.frames=null")
        run = (f"game={game}", f"seed={SEED}", f"results_dir={chosen.runs_dir}", *budget, *chosen.words)
        words = {system: [*settings[system], *run] for system in SYSTEMS}
        file = atari49_rows(chosen.output).made_with(chosen.words, compose(words[GORILA]).precision)
        if not file.has(GORILA, game, SEED):
            file.append(*[train_and_score(system, words[system]) for system in SYSTEMS])
            save_figure(figure_of(file.frame()), chosen.output / "atari49.png")


def settings_of(tuned: pd.DataFrame) -> Mapping[str, tuple[str, ...]]:
    """System -> its settings, those of the chosen case. Ends the program while runs of the tuning are missing."""
    words = {system: CASES[system][chosen_case(tuned, system)] for system in (GORILA, DBA3C)}
    return {
        GORILA: (*COMMON[GORILA], *words[GORILA]),
        DQN: ("experiment=dqn_quick", "topology.compute_threads=2", *words[GORILA]),
        DBA3C: (*COMMON[DBA3C], *words[DBA3C]),
    }


def atari49_rows(folder: Path) -> RowFile[ScoredRow]:
    """What is in `folder`; the case of a row is its system. All are of one processor, by whose minutes they end."""
    return row_file(folder / "atari49.csv", alike=())


def figure_of(rows: pd.DataFrame) -> Figure:
    """Gorila beside DQN."""
    return games_figure(rows, (GORILA, DQN), f"{MINUTES:g} minutes of the same two cores")


def games_table(rows: pd.DataFrame) -> str:
    """A line a game; ScoredRows."""
    yardstick = next(agent for agent in yardsticks() if agent.agent == _YARDSTICK)
    lines = []
    for game, runs in rows.groupby("game", sort=True):
        of = {row["case"]: row for row in runs.to_dict("records")}
        lines.append(
            {
                "game": str(game),
                "our random player": score_cell(of[GORILA], RANDOM),
                GORILA: score_cell(of[GORILA], GREEDY),
                DQN: score_cell(of[DQN], GREEDY),
                "ahead": ahead(of[GORILA], of[DQN]),
                f"{DBA3C}, greedy": score_cell(of[DBA3C], GREEDY),
                f"{DBA3C}, drawn": score_cell(of[DBA3C], DRAWN),
                f"{_YARDSTICK}, 1 M frames": _published(yardstick, str(game)),
                "processor": "; ".join(dict.fromkeys(runs["processor"])),
                "commit": commits_cell(runs["run_commit"]),
            }
        )
    return markdown(lines)


def ahead(gorila: Row, dqn: Row) -> str:
    """Which of the two has its whole interval above the other's: "gorila", "dqn" or ""."""
    if gorila[f"{GREEDY}_low"] > dqn[f"{GREEDY}_high"]:
        return GORILA
    return DQN if dqn[f"{GREEDY}_low"] > gorila[f"{GREEDY}_high"] else ""


def systems_table(rows: pd.DataFrame) -> str:
    """A line for each system and way to play: games above and below random play, and the median over the games."""
    lines = []
    for system, way in ((GORILA, GREEDY), (DQN, GREEDY), (DBA3C, GREEDY), (DBA3C, DRAWN)):
        own = rows[rows["case"] == system].set_index("game")
        places = [place(row, way) for row in own.to_dict("records")]
        percent = pd.Series(normalised(own[way], NOOP_STARTS))
        lines.append(
            {
                "system": system if system != DBA3C else f"{system}, {way}",
                "games": str(len(own)),
                "frames, median": cell(own["frames"].median(), 0),
                "above random play": str(places.count(YES)),
                "below": str(places.count(BELOW)),
                "median, % of human": cell(percent.median(), 1),
            }
        )
    return markdown(lines)


def wins_table(rows: pd.DataFrame) -> str:
    """Gorila beside DQN: on how many games which is ahead, and the share on which Gorila's mean is the higher one."""
    of = {str(case): {row["game"]: row for row in own.to_dict("records")} for case, own in rows.groupby("case")}
    pairs = [(gorila, of[DQN][game]) for game, gorila in of[GORILA].items()]
    apart = [ahead(gorila, dqn) for gorila, dqn in pairs]
    higher = sum(gorila[GREEDY] > dqn[GREEDY] for gorila, dqn in pairs)
    unequal = sum(gorila[GREEDY] != dqn[GREEDY] for gorila, dqn in pairs)
    return markdown(
        [
            {
                "games": str(len(pairs)),
                f"{GORILA} ahead, intervals apart": str(apart.count(GORILA)),
                f"{DQN} ahead, intervals apart": str(apart.count(DQN)),
                f"{GORILA}'s mean higher, of unequal ones": f"{higher} of {unequal}: {share_cell(higher, unequal)}",
            }
        ]
    )


def share_cell(count: int, total: int) -> str:
    """A share with its 95 % interval (Wilson 1927): "60 % [46 %, 73 %]"."""
    if total == 0:
        return "-"
    low, high = stats.binomtest(count, total).proportion_ci(method="wilson")
    return f"{100 * count / total:.0f} % [{100 * low:.0f} %, {100 * high:.0f} %]"


def _published(yardstick: Yardstick, game: str) -> str:
    score = yardstick.at(game, _YARDSTICK_FRAMES)
    return "" if score is None else interval_cell(score.mean, score.low, score.high, 1)


if __name__ == "__main__":
    main()
