"""Settings of six minutes, chosen on games outside the 49: `python -m studies.six_minutes.tuning`.

Each case of a system trains on each of GAMES, with one seed, for as many frames as two ordinary cores make in six
minutes, whatever the time; then its last parameters play 30 games under no-op starts. A row a run goes to
`results/six_minutes/tuning.csv`; what is there is not run again. Some eight minutes a run on two ordinary cores, 30
runs. The case with the best mean rank over the games is the one that `studies.six_minutes.atari49` takes.

The cases are a list and not a sampler's choice: with so few runs a game Optuna's would draw by chance.
Not here: the 49 games, which have no part in it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline.config.overrides import compose
from pipeline.results.formats import cell
from pipeline.results.random_player import BELOW, YES
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.scored_runs import GREEDY, ScoredRow, place, row_file, score_cell, train_and_score

GAMES = ("AirRaid", "Berzerk", "Carnival", "Kaboom", "Pooyan")
"""None of the 49, of different kinds. Mean grey of random play, of 255: 97, 12, 10, 90, 54 (Pong 106, Breakout 42)."""
GORILA, DBA3C = SYSTEMS = ("gorila", "dba3c")
CASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    GORILA: {
        "gorila": (),
        "gorila, three steps": ("algorithm.n_step=3",),
        "gorila, 50 quantiles over three steps": ("algorithm.n_step=3", "network.num_quantiles=50"),
    },
    DBA3C: {
        "dba3c": (),
        "dba3c, rates of six minutes": ("optimizer.learning_rate_changes=[[500,1e-4],[1000,5e-4],[4800,1e-4]]",),
        "dba3c, half of them": ("optimizer.learning_rate_changes=[[500,1e-4],[1000,2.5e-4],[4800,1e-4]]",),
    },
}
"""System -> case -> settings on top of `COMMON`. The first stands where none is better."""
COMMON: Mapping[str, tuple[str, ...]] = {
    GORILA: ("experiment=gorila_quick", "algorithm.outlier_min_error=0"),
    DBA3C: ("experiment=dba3c_quick", "network.centred_pixels=true"),
}
"""What all cases of a system have. Gorila's rare rewards may count as outliers, as they did in the first rows."""
FRAMES: Mapping[str, int] = {GORILA: 360_000, DBA3C: 960_000}
"""Of six minutes on two cores with AVX2 alone (`results/main_job`, `docs/performance.md`)."""
SEED = 0
OUTPUT = Path("results/six_minutes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, all cases of a system on a game before the next game."""
    chosen = parsed(__doc__, arguments, games=GAMES, output=OUTPUT, runs_dir="outputs/six_minutes/tuning")
    for game in chosen.games:
        for system in SYSTEMS:
            for case, own in CASES[system].items():
                budget = (f"budget.frames={FRAMES[system]}", "budget.minutes=null")
                run = (f"game={game}", f"seed={SEED}", f"results_dir={chosen.runs_dir}/{_folder(case)}")
                words = [*COMMON[system], *own, *budget, *run, *chosen.words]
                file = tuning_rows(chosen.output).made_with(chosen.words, compose(words).precision)
                if not file.has(case, game, SEED):
                    file.append(train_and_score(case, words))


def tuning_rows(folder: Path) -> RowFile[ScoredRow]:
    """What is in `folder`; a game is of one processor, for ranks are within it."""
    return row_file(folder / "tuning.csv", alike=("game",))


def mean_ranks(rows: pd.DataFrame, system: str) -> "pd.Series[float]":
    """Case -> its rank by the best action's score; 1 is the highest.

    The mean over the games that all cases have, of one kind of processor: what another made is not ranked beside them.
    """
    own = rows[rows["case"].isin(list(CASES[system])) & ~rows["game"].isin(mixed_games(rows, system))]
    scores = own.pivot_table(index="case", columns="game", values=GREEDY)
    whole = scores.reindex(list(CASES[system])).dropna(axis="columns")
    return whole.rank(ascending=False).mean(axis="columns")


def mixed_games(rows: pd.DataFrame, system: str) -> list[str]:
    """Games whose rows of the system are of several kinds of processor."""
    own = rows[rows["case"].isin(list(CASES[system]))]
    kinds = own.groupby("game")["processor"].nunique()
    return [str(game) for game in kinds.index[kinds > 1]]


def chosen_case(rows: pd.DataFrame, system: str) -> str:
    """The case with the best mean rank, the first of several. Ends the program while runs are missing."""
    there = set(zip(rows["case"], rows["game"], strict=True))
    missing = [f"{case} on {game}" for case in CASES[system] for game in GAMES if (case, game) not in there]
    if missing:
        raise SystemExit(
            f"the settings of {system} are not chosen yet; python -m studies six_minutes.tuning makes the runs that "
            f"are missing: {'; '.join(missing)}"
        )
    return str(mean_ranks(rows, system).idxmin())


def tuning_table(rows: pd.DataFrame) -> str:
    """A line a case, with its score on each game; ScoredRows."""
    lines = []
    for system in SYSTEMS:
        ranks, mixed, mark = mean_ranks(rows, system), mixed_games(rows, system), ", not ranked"
        for case in CASES[system]:
            own = rows[rows["case"] == case]
            if own.empty:
                continue
            places = [place(row, GREEDY) for row in own.to_dict("records")]
            lines.append(
                {
                    "case": case,
                    "mean rank": cell(ranks.get(case, float("nan")), 2),
                    "above, below random play": f"{places.count(YES)}, {places.count(BELOW)} of {len(own)}",
                    **{game: _on(own, game) + mark * (game in mixed) for game in GAMES},
                    "processor": "; ".join(dict.fromkeys(own["processor"])),
                    "commit": commits_cell(own["run_commit"]),
                }
            )
    return markdown(lines)


def _on(own: pd.DataFrame, game: str) -> str:
    rows = own[own["game"] == game].to_dict("records")
    return score_cell(rows[0], GREEDY) if rows else "not yet"


def _folder(case: str) -> str:
    return case.replace(", ", "-").replace(" ", "_")


if __name__ == "__main__":
    main()
