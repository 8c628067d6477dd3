"""What centred pixels are worth on bright games: `python -m studies.centred_pixels`.

In the sweep of 49 games (`studies.dba3c_atari49`) eight networks of `dba3c_quick` lost most of their first filters, and
half of their agents played below the random player. Here these games are trained anew, each with
`network.centred_pixels` off and on and all else alike; then the last parameters play 30 games under no-op starts, by
their best action and drawn. A row a run goes to `results/dba3c_atari49/centred_pixels.csv`; what is there is not run
again. A quarter of an hour a run on two ordinary cores.
Not here: other settings of that experiment (`studies.six_minutes.tuning`).
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.scored_runs import DRAWN, GREEDY, RANDOM, ScoredRow, row_file, score_cell, train_and_score

EXPERIMENT = "dba3c_quick"
GAMES = ("Bowling", "ChopperCommand", "Pong", "KungFuMaster", "Tutankham", "Tennis", "Boxing", "Riverraid")
"""Those with fewer than half of the first filters at their end in the sweep, the fewest first."""
SEEDS = (0,)
OUTPUT = Path("results/dba3c_atari49")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, both ways of a game before the next game."""
    chosen = parsed(__doc__, arguments, games=GAMES, output=OUTPUT, runs_dir="outputs/centred_pixels")
    file = centred_rows(chosen.output)
    for seed in SEEDS:
        for game in chosen.games:
            for centred in (False, True):
                case = "yes" if centred else "no"
                if not file.has(case, game, seed):
                    own = (f"experiment={EXPERIMENT}", f"game={game}", f"seed={seed}")
                    ours = (f"network.centred_pixels={centred}", f"results_dir={chosen.runs_dir}/{case}")
                    file.append(train_and_score(case, [*own, *ours, *chosen.words]))


def centred_rows(folder: Path) -> RowFile[ScoredRow]:
    """What is in `folder`; the case of a row is "yes" with centred pixels, "no" without."""
    return row_file(folder / "centred_pixels.csv")


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
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in rows.to_dict("records")
    )


if __name__ == "__main__":
    main()
