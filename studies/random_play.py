"""Random play of all 49 games, beside the published random player: does our protocol play as theirs did?

    frame skip 6   a new action at every 6th frame, 10 Hz: as the random player of Mnih et al. 2015
    frame skip 4   at every 4th, as agents choose

30 games each under no-op starts (up to 30 no-ops, 18,000 frames, no sticky actions, a game's own actions). A row per
game played goes to `frame_skip_6.csv` and `frame_skip_4.csv`; a game of Atari whose rows are there is not played again,
so that it can be stopped at any time. Then the table of `pipeline.results.random_play` is written, as CSV, Markdown and
LaTeX. `python -m studies.random_play --games Breakout Pong` plays a part of it. Where a published score lies outside
the interval of 30 games, `--frame-skips 6 --overrides evaluation.num_episodes=300 --output results/random_play/longer
--games ...` says how far 30 games of the same player spread.
"""

import argparse
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from measuring.markdown import commits_cell, markdown
from measuring.provenance import provenance, report
from pipeline.config.overrides import compose
from pipeline.evaluation.play import evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.games import ATARI49
from pipeline.results.formats import cell, interval_cell, write_table
from pipeline.results.load import LoadedRuns, join_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.published import load_published
from pipeline.results.random_play import random_play_table
from pipeline.results.random_player import random_scores
from pipeline.results.scores import mean_interval
from pipeline.rows import TRUE_BEFORE, EvaluationRow
from studies.row_file import RowFile

FRAME_SKIPS = (6, 4)
SEED = 0
_NUM_DRAWS = 100_000
"""Of means over few games: enough for the second digit of their spread."""


@dataclass(frozen=True)
class RandomGameRow(EvaluationRow):
    """One game of random play."""

    game: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Play what is not there yet, print a JSON line for each game of Atari, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m studies.random_play", description=__doc__)
    parser.add_argument("--games", nargs="+", choices=ATARI49, default=ATARI49, metavar="GAME")
    parser.add_argument("--frame-skips", nargs="+", type=int, choices=FRAME_SKIPS, default=FRAME_SKIPS, metavar="SKIP")
    parser.add_argument("--output", type=Path, default=Path("results/random_play"))
    parser.add_argument("--num-threads", type=int, default=1, help="of the emulator")
    parser.add_argument("--overrides", nargs="*", default=[], help="settings of the protocol, for a trial")
    chosen = parser.parse_args(arguments)
    files = {skip: row_file(chosen.output, skip).made_with(chosen.overrides) for skip in chosen.frame_skips}
    for skip, file in files.items():
        config = protocol(skip, chosen.overrides)
        for game in chosen.games:
            if not file.has(game):
                _play(game, config, file, chosen.num_threads)
    # Of all that is there, whatever part of it was named.
    frames = [frame for skip in FRAME_SKIPS if len(frame := row_file(chosen.output, skip).frame())]
    for path in write_table(random_play_table(random_scores(as_runs(frames))), chosen.output):
        print(path)


def protocol(frame_skip: int, overrides: Sequence[str] = ()) -> EvaluationConfig:
    """No-op starts with this frame skip."""
    skip = f"evaluation.environment.frame_skip={frame_skip}"
    return compose(["experiment=dqn", "game=Pong", "evaluation=noop_starts", skip, *overrides]).evaluation


def row_file(folder: Path, frame_skip: int) -> RowFile[RandomGameRow]:
    """The file of this frame skip; what tells its measurements apart is the game of Atari."""
    return RowFile(folder / f"frame_skip_{frame_skip}.csv", RandomGameRow, settings=("game",))


def as_runs(frames: Sequence[pd.DataFrame]) -> LoadedRuns:
    """The rows as the evaluations of runs, which is what tables are made of."""
    return join_runs([])._replace(evaluations=pd.concat(map(_with_added_columns, frames), ignore_index=True))


def _with_added_columns(rows: pd.DataFrame) -> pd.DataFrame:
    """Columns that evaluation rows have had since these were written are filled with what was true then."""
    added = {name: value for name, value in TRUE_BEFORE[EvaluationRow].items() if name not in rows}
    return rows.assign(**{name: rows.get(value, value) for name, value in added.items()})


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    games = {skip: row_file(folder, skip).frame() for skip in FRAME_SKIPS}
    longer = row_file(folder / "longer", FRAME_SKIPS[0]).frame()
    return {"agreement": agreement_table(games), "longer": longer_table(games[FRAME_SKIPS[0]], longer)}


def agreement_table(games: Mapping[int, pd.DataFrame]) -> str:
    """On how many games the published score lies inside the interval of ours; RandomGameRows by frame skip."""
    published = load_published()[NOOP_STARTS.random]
    lines = []
    for skip, rows in games.items():
        scores = random_scores(as_runs([rows])).set_index("game")
        theirs = published[scores.index]
        outside = scores.index[(theirs < scores["low"]) | (theirs > scores["high"])]
        inside = len(scores) - len(outside)
        lines.append(
            {
                "an action every": f"{skip} frames",
                "published score inside": f"{inside} of {len(scores)} games",
                "outside": ", ".join(map(str, outside)),
                "commit": commits_cell(rows["commit"]),
            }
        )
    return markdown(lines)


def longer_table(games: pd.DataFrame, longer: pd.DataFrame) -> str:
    """Games whose published score lay outside, played on: how far means over as few games as first lie; RandomGameRows.

    Means of games drawn with repetition from the longer series, by one stream a game.
    """
    published = load_published()[NOOP_STARTS.random]
    lines = []
    for game, played in longer.groupby("game", sort=True):
        scores, few = played["score"].to_numpy(), games[games["game"] == game]["score"]
        means = np.random.default_rng(SEED).choice(scores, (_NUM_DRAWS, len(few))).mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        mean = mean_interval(scores)
        lines.append(
            {
                "game": str(game),
                "published": cell(published[game], 1),
                f"ours, {len(few)} games": cell(few.mean(), 1),
                f"ours, {len(scores)} games, 95 % interval": interval_cell(mean.mean, mean.low, mean.high, 1),
                f"95 % of means over {len(few)} games": f"{cell(low, 1)} to {cell(high, 1)}",
                "published is there": "yes" if low <= published[game] <= high else "no",
                "commit": commits_cell(played["commit"]),
            }
        )
    return markdown(lines)


def _play(game: str, config: EvaluationConfig, file: RowFile[RandomGameRow], num_threads: int) -> None:
    start = time.perf_counter()
    games = evaluate_random_agent(game, config, SEED, num_threads=num_threads, commit=str(provenance()["commit"]))
    file.append(*(RandomGameRow(**dataclasses.asdict(played.row), game=game) for played in games))
    report(
        "random_play",
        game=game,
        frame_skip=config.environment.frame_skip,
        num_games=len(games),
        num_steps=sum(played.row.num_steps for played in games),
        mean_score=sum(played.row.score for played in games) / len(games),
        seconds=time.perf_counter() - start,
    )


if __name__ == "__main__":
    main()
