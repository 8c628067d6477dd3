"""The words of a study that trains or plays on games and leaves rows, and what they may not overwrite.

Not here: words that a study has for itself, where its rows lie (`studies.row_file`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

FIGURES = Path("docs/figures")
"""Those that are published, of the rows below `results/`."""


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


def refuse_published(word: str, place: Path, published: Path, **differs: bool) -> None:
    """End the program where what it makes would take the place of what is published, which is of other runs.

    `word` names the place; `differs`: setting -> whether it is another one than that of what is published.
    """
    others = [name.replace("_", "-") for name, is_another in differs.items() if is_another]
    if others and not is_other(place, published):
        raise SystemExit(
            f"{published} is of other runs than these, which differ in {', '.join(others)}: nothing was made. Name "
            f"{word} of their own"
        )


def refuse_published_figures(word: str, figures: Path, output: Path, usual: Path, **differs: bool) -> None:
    """The same of the figures of a study: those that are published are of the rows in its `usual` output."""
    refuse_published(word, figures, FIGURES, **differs, output=is_other(output, usual))


def is_other(place: Path, published: Path) -> bool:
    """Whether what lies here is not what is published."""
    return place.resolve() != published.resolve()


def on_top(overrides: Sequence[str], **settings: tuple[object, object]) -> list[str]:
    """What runs have on top of the settings of their study; `settings`: what it names itself, and what is usual."""
    return [*(f"{name}={value}" for name, (value, usual) in settings.items() if value != usual), *overrides]
