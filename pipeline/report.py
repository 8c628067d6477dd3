"""`python -m pipeline.report [runs_dir=results/runs] [output_dir=results]`: tables and figures, offline.

For every game found: `<output_dir>/tables/<game>.csv` and `.md`, `<output_dir>/figures/<game>.png`. What is missing or
unreadable in a run folder is named and passed over.
Not here: how a table or a figure is made (`pipeline.results`).
"""

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ConfigError, PipelineError
from pipeline.results.curves import save_learning_curves
from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.table import as_markdown, game_table


@dataclass(frozen=True)
class ReportArguments:
    """What the command line may say, as `name=value`."""

    runs_dir: Path = Path("results/runs")
    """Run folders are <runs_dir>/<experiment>/<game>/<seed>."""
    output_dir: Path = Path("results")
    """Gets the folders `tables` and `figures`; what a former report wrote there is written anew."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the report; the exit status is 0 if at least one game was found."""
    try:
        settings = parse_arguments(sys.argv[1:] if arguments is None else arguments)
        loaded = load_runs(settings.runs_dir)
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 2
    for problem in loaded.problems:
        print(problem, file=sys.stderr)
    written = write_report(loaded, settings.output_dir)
    for path in written:
        print(path)
    if not written:
        print(f"No run folder below {settings.runs_dir}: nothing to report.", file=sys.stderr)
        return 1
    return 0


def write_report(loaded: LoadedRuns, output_dir: Path) -> list[Path]:
    """Tables and a figure for every game in `loaded`; the paths that were written."""
    written = []
    for game in sorted(set(loaded.runs["game"])):
        table = game_table(loaded, game)
        table_path = output_dir / "tables" / f"{game}.csv"
        table_path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(table_path, index=False)
        markdown_path = table_path.with_suffix(".md")
        markdown_path.write_text(f"# {game}\n\n{as_markdown(table)}")
        figure_path = output_dir / "figures" / f"{game}.png"
        save_learning_curves(loaded, game, figure_path)
        written += [table_path, markdown_path, figure_path]
    return written


def parse_arguments(arguments: Sequence[str]) -> ReportArguments:
    """`name=value` words as settings. Raises ConfigError with every mistake in them."""
    known = ReportArguments.__dataclass_fields__
    values: dict[str, Path] = {}
    mistakes = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and value and name in known:
            values[name] = Path(value)
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = (
            f"did you mean {near[0]}=…?" if near and near[0] != name else f"known: {', '.join(f'{k}=…' for k in known)}"
        )
        mistakes.append(f"{argument!r} is not understood; {hint}")
    if mistakes:
        raise ConfigError(mistakes)
    return ReportArguments(**values)


if __name__ == "__main__":
    sys.exit(main())
