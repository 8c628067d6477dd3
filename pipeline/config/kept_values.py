"""What an experiment says of a group stays where a word of the command line chooses another option of that group.

So Hydra merges, and for a replay it is what one wants: `replay=prioritised` keeps the experiment's capacity. With
`optimizer=rmsprop` the rate and epsilon of another optimizer stay, which one may not want. It is told, not changed.
Not here: settings that the chosen option lacks, which are mistakes (`words.with_words_typed`).
"""

from collections.abc import Collection, Mapping
from typing import Any

from pipeline.settings import MISSING, flat, shown


def kept_values(
    chosen: Mapping[str, str], run: Mapping[str, Any], options: Mapping[str, Any], typed: Collection[str], who: str
) -> list[str]:
    """A line for each option that has another value in the run than by itself, which nobody typed.

    chosen: group -> word that chose its option, e.g. "optimizer" -> "optimizer=rmsprop". run: the settings with the
    experiment. options: without it. typed: dotted names of the settings that have words of their own. who: what the
    experiment is called in the line.
    """
    found = []
    for group, word in chosen.items():
        own = dict(_settings(options.get(group)))
        values = [(name, value) for name, value in _settings(run.get(group)) if f"{group}.{name}" not in typed]
        kept = [(name, value) for name, value in values if own.get(name, MISSING) not in (MISSING, value)]
        if kept:
            stay = ", ".join(f"{name}={shown(value)}" for name, value in kept)
            instead = ", ".join(shown(own[name]) for name, _ in kept)
            found.append(f"{word} keeps {stay} of {who} (by itself: {instead})")
    return found


def _settings(group: Any) -> list[tuple[str, Any]]:
    return list(flat(group)) if isinstance(group, Mapping) else []
