"""What centred pixels are worth on bright games: `python -m studies.centred_pixels`.

In the sweep of 49 games (`studies.dba3c_atari49`) eight networks of `dba3c_quick` lost most of their first filters, and
half of their agents played below the random player. Here these games are trained anew, each with
`network.centred_pixels` off and on and all else alike; then the last parameters play 30 games under no-op starts, by
their best action and drawn. A row a run goes to `results/dba3c_atari49/centred_pixels.csv`; what is there is not run
again. A quarter of an hour a run on two ordinary cores.
Not here: other settings of that experiment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console

from measuring.markdown import commits_cell, markdown
from pipeline import api
from pipeline.results.cautions import living_filters
from pipeline.results.formats import interval_cell
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import BELOW, YES, is_above, of_starts, random_scores
from pipeline.results.run_scores import SAMPLED, entries, run_scores
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.trained_runs import train_or_load

EXPERIMENT = "dba3c_quick"
GAMES = ("Bowling", "ChopperCommand", "Pong", "KungFuMaster", "Tutankham", "Tennis", "Boxing", "Riverraid")
"""Those with fewer than half of the first filters at their end in the sweep, the fewest first."""
SEEDS = (0,)
OUTPUT = Path("results/dba3c_atari49")


@dataclass(frozen=True)
class CentredRow:
    """One run."""

    game: str
    seed: int
    centred: str
    """"yes" or "no"."""
    frames: int
    active_filters: float
    """Share of the first convolution's filters that still learned at the end."""
    greedy: float
    """Score of the last parameters by their best action."""
    greedy_low: float
    """95 % interval over its games."""
    greedy_high: float
    drawn: float
    """The same with actions drawn from the policy."""
    drawn_low: float
    drawn_high: float
    random: float
    """Our random player's."""
    random_low: float
    random_high: float
    run_commit: str
    """Of the code that trained; "+" if files differed from it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, both ways of a game before the next game."""
    chosen = parsed(__doc__, arguments, games=GAMES, output=OUTPUT, runs_dir="outputs/centred_pixels")
    file = row_file(chosen.output)
    for seed in SEEDS:
        for game in chosen.games:
            for centred in (False, True):
                if not file.has(game, seed, _word(centred)):
                    file.append(_train(game, seed, centred, chosen.runs_dir, chosen.words))


def row_file(folder: Path) -> RowFile[CentredRow]:
    """What is in `folder`."""
    return RowFile(folder / "centred_pixels.csv", CentredRow, ("game", "seed", "centred"))


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    rows = row_file(folder).frame()
    return {"centred_pixels": centred_table(rows) if len(rows) else "Not measured yet."}


def centred_table(rows: pd.DataFrame) -> str:
    """A line a run; CentredRows. A score that is apart from the random player's says so."""
    return markdown(
        {
            "game": row["game"],
            "centred": row["centred"],
            "seed": str(row["seed"]),
            "filters that still learned": f"{row['active_filters']:.0%}",
            "greedy": _score(row, "greedy"),
            "drawn": _score(row, "drawn"),
            "our random player": interval_cell(row["random"], row["random_low"], row["random_high"], 1),
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in rows.to_dict("records")
    )


def _score(row: dict[object, object], name: str) -> str:
    score, low, high = (float(str(row[f"{name}{end}"])) for end in ("", "_low", "_high"))
    where = is_above(low, high, {"low": row["random_low"], "high": row["random_high"]})
    return interval_cell(score, low, high, 1) + {YES: ", above", BELOW: ", below"}.get(where, "")


def _word(centred: bool) -> str:
    return "yes" if centred else "no"


def _train(game: str, seed: int, centred: bool, runs_dir: str, words: Sequence[str]) -> CentredRow:
    config = api.compose(
        [
            *(f"experiment={EXPERIMENT}", f"game={game}", f"seed={seed}", f"network.centred_pixels={centred}"),
            *(f"results_dir={runs_dir}/{_word(centred)}", "resume=true", *words),
        ]
    )
    folder = Path(train_or_load(config).runs["folder"].item())
    api.evaluate_runs(api.EvaluationRequest((folder,), settings=("evaluation.policy=sampled",)), Console(stderr=True))
    loaded = api.load_run(folder)
    of = entries(run_scores(loaded))
    (greedy,), (drawn,) = (of[name].to_dict("records") for name in (EXPERIMENT, f"{EXPERIMENT}, {SAMPLED}"))
    (random,) = of_starts(random_scores(loaded), NOOP_STARTS).to_dict("records")
    return CentredRow(
        game=game,
        seed=seed,
        centred=_word(centred),
        frames=int(loaded.runs["total_frames"].item()),
        active_filters=float(living_filters(loaded).item()),
        greedy=greedy["score"],
        greedy_low=greedy["low"],
        greedy_high=greedy["high"],
        drawn=drawn["score"],
        drawn_low=drawn["low"],
        drawn_high=drawn["high"],
        random=random["mean"],
        random_low=random["low"],
        random_high=random["high"],
        run_commit=str(loaded.runs["commit"].item()),
    )


if __name__ == "__main__":
    main()
