"""The words of a study that trains or plays on games and leaves rows.

Not here: studies that take other words (each has them itself).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path


def parsed(
    about: str | None,
    arguments: Sequence[str] | None,
    *,
    games: Sequence[str],
    output: Path,
    runs_dir: str | None = None,
) -> argparse.Namespace:
    """`games`, `output`, `words` for each run and, where run folders are kept, `runs_dir`.

    `about`: the study's docstring; the others: what holds where a word is not given. Ends the program at a word that it
    does not know.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="*", default=games)
    if runs_dir is not None:
        parser.add_argument("--runs-dir", default=runs_dir, help="where the run folders go")
    parser.add_argument("--output", type=Path, default=output, help="where the rows go")
    parser.add_argument("words", nargs="*", help="more settings of each run")
    return parser.parse_args(arguments)
