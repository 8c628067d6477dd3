"""What centred pixels are worth on bright games: `python -m studies.centred_pixels`.

In the sweep of 49 games (`studies.dba3c_atari49`) eight networks of `dba3c_quick` lost most of their first filters, and
half of their agents played below the random player. Here these games are trained anew, each with
`network.centred_pixels` off and on and all else alike; then the last parameters play 30 games under no-op starts, by
their best action and drawn. The two rows of a game go to `results/dba3c_atari49/centred_pixels.csv` together, since
only runs of one kind of processor compare; games that are there are not run again. Half an hour a game on two ordinary
cores.
Not here: other settings of that experiment (`studies.six_minutes.tuning`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline.config.overrides import compose
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.scored_runs import DRAWN, GREEDY, RANDOM, ScoredRow, row_file, score_cell, train_and_score

EXPERIMENT = "dba3c_quick"
GAMES = ("Bowling", "ChopperCommand", "Pong", "KungFuMaster", "Tutankham", "Tennis", "Boxing", "Riverraid")
"""Those with fewer than half of the first filters at their end in the sweep, the fewest first."""
SEEDS = (0,)
CENTRED = {"no": False, "yes": True}
"""Case -> `network.centred_pixels`."""
OUTPUT = Path("results/dba3c_atari49")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, both ways of a game before the next game."""
    chosen = parsed(__doc__, arguments, games=GAMES, output=OUTPUT, runs_dir="outputs/centred_pixels")
    some = _words(chosen, GAMES[0], SEEDS[0], next(iter(CENTRED)))
    file = centred_rows(chosen.output).made_with(chosen.words, compose(some).precision)
    # All are looked for before any is trained: the partner of a row may be of another processor than this.
    missing = {
        (game, seed): {case: _words(chosen, game, seed, case) for case in CENTRED if not file.has(case, game, seed)}
        for seed in SEEDS
        for game in chosen.games
    }
    for cases in missing.values():
        if cases:
            file.append(*[train_and_score(case, words) for case, words in cases.items()])


def centred_rows(folder: Path) -> RowFile[ScoredRow]:
    """What is in `folder`; the case of a row is "yes" with centred pixels, "no" without."""
    return row_file(folder / "centred_pixels.csv", alike=("game", "seed"))


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    rows = centred_rows(folder).frame()
    return {"centred_pixels": centred_table(rows) if len(rows) else "Not measured yet."}


def centred_table(rows: pd.DataFrame) -> str:
    """A line a run; ScoredRows. A score that is apart from the random player's says so."""
    return markdown(
        {
            "game": row["game"],
            "centred": row["case"],
            "seed": str(row["seed"]),
            "filters that still learned": f"{row['active_filters']:.0%}",
            "greedy": score_cell(row, GREEDY),
            "drawn": score_cell(row, DRAWN),
            "our random player": score_cell(row, RANDOM),
            "processor": row["processor"],
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in rows.to_dict("records")
    )


def _words(chosen: argparse.Namespace, game: str, seed: int, case: str) -> list[str]:
    own = (f"experiment={EXPERIMENT}", f"game={game}", f"seed={seed}")
    ours = (f"network.centred_pixels={CENTRED[case]}", f"results_dir={chosen.runs_dir}/{case}")
    return [*own, *ours, *chosen.words]


if __name__ == "__main__":
    main()
