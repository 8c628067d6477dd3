"""`python -m pipeline.report [results_dir=…] [output_dir=…] [seeds=true] [imports=[tool:path,…]]`, offline.

Writes `<output_dir>/tables/`, `<output_dir>/figures/` and `<output_dir>/report.html`, one file for any browser.
`imports` adds results of other tools, apart from ours: `sb3:<folder>`, `dopamine:<path>`, `dqn_zoo:<path>`,
`nnabla_rl:<folder>`.
What is missing or unreadable in a run folder is named, here and in the page, and passed over.
Not here: what the report holds (`pipeline.results.report`), how it is written (`pipeline.results.report_files`).
"""

from dask_jobs.terminal import begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.arguments import parse_words
from pipeline.disk import check_writable, told_if_refused
from pipeline.errors import ConfigError, PipelineError, status_of
from pipeline.run_folders import split_places

if TYPE_CHECKING:
    from pipeline.results.imports import Import


@dataclass(frozen=True)
class ReportArguments:
    """What the command line may say, as `name=value`."""

    results_dir: Path = Path("results/runs")
    """Every run folder at or below it counts; `pipeline.train` writes <results_dir>/<experiment>/<game>/<seed>."""
    output_dir: Path = Path("results")
    """Gets `tables`, `figures` and `report.html`; what a former report wrote there is written anew."""
    seeds: bool = False
    """true: learning curves have a thin line for each seed, below the mean and the range of all."""
    imports: str | None = None
    """Results of other tools: sb3:<folder>, dopamine:<path>, dqn_zoo:<path> or nnabla_rl:<folder>.

    Several are a list: [sb3:<folder>,...].
    """


def main(words: Sequence[str] | None = None) -> int:
    """Make the report; the exit status is 0 if at least one run was found."""
    try:
        arguments, imports = parse_arguments(sys.argv[1:] if words is None else words)
        place = arguments.output_dir
        check_writable(f"output_dir={place}", place, place / "tables", place / "figures")
        with told_if_refused(arguments.output_dir):
            return _report(arguments, imports)
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        return status_of(error)


def _report(arguments: ReportArguments, imports: "tuple[Import, ...]") -> int:
    # pandas and matplotlib, which the help has no use for
    from pipeline.results.imports import load_imports
    from pipeline.results.load import load_runs, of_known_games
    from pipeline.results.report_files import write_report
    from pipeline.results.report_summary import drawing, found, left_over, written

    loaded = of_known_games(load_runs(arguments.results_dir, with_updates=False))
    imported = load_imports(imports)
    for problem in (*loaded.problems, *imported.problems):
        print(problem, file=sys.stderr)
    if loaded.runs.empty:
        why = "none of its run folders can be read" if loaded.problems else "no run folder is below it"
        print(f"error: {arguments.results_dir}: {why}, nothing to report", file=sys.stderr)
        return 1
    print(found(loaded.runs), flush=True)  # before the seconds that drawing takes
    source, num_processes = str(arguments.results_dir), os.cpu_count() or 1
    with drawing(sys.stderr) as progress:
        paths = write_report(
            loaded,
            arguments.output_dir,
            source,
            imported=imported,
            with_seeds=arguments.seeds,
            num_processes=num_processes,
            progress=progress,
        )
    print(written(paths))
    if (warning := left_over(paths)) is not None:
        print(warning, file=sys.stderr)
    return 0


def parse_arguments(words: Sequence[str]) -> tuple[ReportArguments, tuple["Import", ...]]:
    """`name=value` words as settings, and what is to be imported. Raises ConfigError with every mistake in them."""
    mistakes: list[str] = []
    arguments = ReportArguments()
    try:
        arguments = parse_words(ReportArguments, words)
    except ConfigError as error:
        mistakes += error.mistakes
    # Looked for even where another word is wrong, so that both are told at once.
    named = [word.removeprefix("imports=") for word in words if word.startswith("imports=")]
    imports = _parse_imports(named[-1], mistakes) if named else ()
    if mistakes:
        raise ConfigError(mistakes)
    return arguments, imports


def _parse_imports(value: str, mistakes: list[str]) -> tuple["Import", ...]:
    """One import, or several as a list in brackets."""
    from pipeline.results.imports import is_import, parse_import

    found = []
    for word in split_places(value, is_import):
        try:
            found.append(parse_import(word))
        except ValueError as error:
            mistakes.append(f"imports: {error}")
    return tuple(found)


if __name__ == "__main__":
    sys.exit(main())
