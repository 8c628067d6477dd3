"""`python -m pipeline.report [results_dir=results/runs] [output_dir=results] [imports=[tool:path,…]]`, offline.

Writes `<output_dir>/tables/`, `<output_dir>/figures/` and `<output_dir>/report.html`, one file for any browser.
`imports` adds results of other tools, apart from ours: `sb3:<folder>`, `dopamine:<path>`, `dqn_zoo:<path>`.
What is missing or unreadable in a run folder is named, here and in the page, and passed over.
Not here: what the report holds (`pipeline.results.report`), how it is written (`pipeline.results.report_files`).
"""

import difflib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigError, PipelineError
from pipeline.results.imports import Import, load_imports, parse_import
from pipeline.results.load import load_runs
from pipeline.results.report_files import write_report


@dataclass(frozen=True)
class ReportArguments:
    """What the command line may say, as `name=value`."""

    results_dir: Path = Path("results/runs")
    """Run folders are <results_dir>/<experiment>/<game>/<seed>, as `pipeline.train` writes them."""
    output_dir: Path = Path("results")
    """Gets `tables`, `figures` and `report.html`; what a former report wrote there is written anew."""
    imports: tuple[Import, ...] = ()
    """Results of other tools."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the report; the exit status is 0 if at least one run was found."""
    try:
        settings = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 2
    loaded = load_runs(settings.results_dir)
    imported = load_imports(settings.imports)
    for problem in (*loaded.problems, *imported.problems):
        print(problem, file=sys.stderr)
    if loaded.runs.empty:
        print(f"No run folder below {settings.results_dir}: nothing to report.", file=sys.stderr)
        return 1
    source, num_processes = str(settings.results_dir), os.cpu_count() or 1
    for path in write_report(loaded, settings.output_dir, source, imported=imported, num_processes=num_processes):
        print(path)
    return 0


def parse_arguments(arguments: Sequence[str]) -> ReportArguments:
    """`name=value` words as settings. Raises ConfigError with every mistake in them."""
    known = ReportArguments.__dataclass_fields__
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and value and name in known:
            values[name] = _parse_imports(value, mistakes) if name == "imports" else Path(value)
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = (
            f"did you mean {near[0]}=…?" if near and near[0] != name else f"known: {', '.join(f'{k}=…' for k in known)}"
        )
        mistakes.append(f"{argument!r} is not understood; {hint}")
    if mistakes:
        raise ConfigError(mistakes)
    return ReportArguments(**values)


def _parse_imports(value: str, mistakes: list[str]) -> tuple[Import, ...]:
    """One import, or several as a list in brackets."""
    found = []
    for word in value.removeprefix("[").removesuffix("]").split(","):
        try:
            found.append(parse_import(word.strip()))
        except ValueError as error:
            mistakes.append(f"imports: {error}")
    return tuple(found)


if __name__ == "__main__":
    sys.exit(main())
