"""`python -m pipeline.evaluate run=results/runs/gorila/Breakout/0 evaluation=noop_starts`: score runs that are over.

`run`, `evaluation` and `checkpoint` may each name several, with commas between them: all are played at once, on the
hosts of `cluster`. `run` may also be a pattern, or a folder above runs. Settings of the protocol and of the cluster may
follow, such as `evaluation.num_episodes=10`; all else is as the run was trained.
Not here: what is done with these words (`pipeline.experiments.scoring.afterwards`).
"""

from dask_jobs.terminal import INTERRUPTED_STATUS, begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.cluster.coordination.host_logs import leave_dask_out
from pipeline.config.arguments import parse_words
from pipeline.errors import ConfigError, PipelineError, status_of
from pipeline.experiments.scoring.request import NEWEST, EvaluationRequest, find_runs
from pipeline.run_folders import places_of, split_places
from pipeline.seeding import seed_mistakes


@dataclass(frozen=True)
class EvaluateArguments:
    """What the command line may say, as `name=value`, besides settings of `evaluation.` and `cluster.`."""

    run: str | None = None
    """Run folders, patterns, or folders above runs."""
    evaluation: str | None = None
    """Protocols, files in `conf/evaluation/`; null: each run's own."""
    config_dir: Path | None = None
    """A folder with files of one's own beside those of `conf/`."""
    checkpoint: str = NEWEST
    """"newest", "best" (of the evaluations during training) or a version that is there."""
    seed: int | None = None
    """Of the games; null: as at the end of a training, another one for the best parameters."""
    cluster: str = "threads"
    """Where the games are played, a file in `conf/cluster/`."""
    again: bool = False
    """Play what is there already, in the place of its rows."""


def main(words: Sequence[str] | None = None) -> int:
    """Evaluate; the exit status is 0 unless there was an error, which is printed, or it was stopped before its end."""
    leave_dask_out()
    try:
        request = parse_request(sys.argv[1:] if words is None else words)
        # Seconds of torch and Dask, which a command line with mistakes has no use for.
        from pipeline.experiments.scoring.afterwards import evaluate_runs

        is_interrupted = evaluate_runs(request).was_interrupted
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)
    return INTERRUPTED_STATUS if is_interrupted else 0


def parse_request(words: Sequence[str]) -> EvaluationRequest:
    """`name=value` words as what is to be evaluated. Raises ConfigError with every mistake in them."""
    of_protocol = [word for word in words if word.startswith("evaluation.")]
    of_cluster = [word for word in words if word.startswith("cluster.")]
    mistakes: list[str] = []
    arguments, folders = EvaluateArguments(), []
    try:
        arguments = parse_words(EvaluateArguments, [w for w in words if w not in (*of_protocol, *of_cluster)])
    except ConfigError as error:
        mistakes += error.mistakes
    # Looked for even where another word is wrong, so that both are told at once.
    named = [word.removeprefix("run=") for word in words if word.startswith("run=")]
    if not named:
        mistakes.append("run is missing: name a run folder, e.g. run=results/runs/gorila/Breakout/0")
    try:
        there = [place for text in named for place in split_places(text, lambda word: bool(places_of(word)))]
        folders = find_runs(there)
    except ConfigError as error:
        mistakes += error.mistakes
    if arguments.config_dir is not None and not arguments.config_dir.is_dir():
        mistakes.append(f"config_dir={arguments.config_dir}: there is no such folder")
    mistakes += [] if arguments.seed is None else seed_mistakes(arguments.seed)
    if mistakes:
        raise ConfigError(mistakes)
    return EvaluationRequest(
        folders=tuple(folders),
        checkpoints=tuple(arguments.checkpoint.split(",")),
        protocols=tuple(arguments.evaluation.split(",")) if arguments.evaluation else (),
        settings=tuple(of_protocol),
        cluster=(f"cluster={arguments.cluster}", *of_cluster),
        seed=arguments.seed,
        again=arguments.again,
        config_dir=arguments.config_dir,
    )


if __name__ == "__main__":
    sys.exit(main())
