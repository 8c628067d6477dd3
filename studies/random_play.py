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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from measuring.provenance import provenance, report
from pipeline.config.overrides import compose
from pipeline.evaluation.play import evaluate_random_agent
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.games import ATARI49
from pipeline.results.formats import write_table
from pipeline.results.load import LoadedRuns, join_runs
from pipeline.results.random_play import random_play_table
from pipeline.results.random_player import random_scores
from pipeline.rows import EvaluationRow
from studies.row_file import RowFile

FRAME_SKIPS = (6, 4)
SEED = 0


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
    files = {skip: row_file(chosen.output, skip) for skip in chosen.frame_skips}
    for skip, file in files.items():
        config = protocol(skip, chosen.overrides)
        for game in chosen.games:
            if not file.has(game):
                _play(game, config, file, chosen.num_threads)
    for path in write_table(
        random_play_table(random_scores(as_runs([file.frame() for file in files.values()]))), chosen.output
    ):
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
    return join_runs([])._replace(evaluations=pd.concat(frames, ignore_index=True))


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
