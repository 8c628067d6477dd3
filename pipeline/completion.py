"""What the Tab key can put in place of a word that is not finished, and what makes a shell ask for it.

A command's words are settings: `name=`, and below a group `group.name=`. Behind the equals sign stand the options of a
group, the games, or the values of a setting that has only some; else the shell's own files.
Hydra completes the words of a program too, but not those of `python -m`, nor of commands without Hydra.
Not here: the command that prints this (`pipeline.__main__`).
"""

import contextlib
import dataclasses
import importlib
import shlex
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.config.composition import Files
from pipeline.config.run_config import DEVICES, PRECISIONS, PROGRESS_KINDS
from pipeline.errors import ConfigError
from pipeline.games import GAMES

COMMANDS: Mapping[str, str] = {
    "train": "one run, or many with -m",
    "evaluate": "score runs that are over, under any protocol",
    "report": "tables, curves and a page of all runs",
    "status": "how far a sweep is",
    "play": "a recorded game as a film or in a window; or play yourself",
    "export": "a trained agent for other programs",
    "start_states": "states from which games of an evaluation begin",
}
"""Name of each module in `pipeline` that is a command -> what it does, in a line of `pipeline --help`."""

SHELLS = ("bash", "zsh", "fish")

_FLAGS = ("--help", "--multirun", "--config-dir", "--cfg", "--hydra-help")
_CHOICES: Mapping[str, Sequence[str]] = {
    "game": GAMES,
    "device": DEVICES,
    "precision": PRECISIONS,
    "progress": PROGRESS_KINDS,
}


def completed(line: str) -> list[str]:
    """What the last word of a command line can become, in order; finished words end with a space.

    `line`: from the command's name up to the cursor. Empty where nothing is known, as of paths.
    """
    words = _split(line)
    *before, last = words[1:] if len(words) > 1 else [""]
    if not before:
        return [f"{name} " for name in (*COMMANDS, "completion", "--help", "--version") if name.startswith(last)]
    command, *others = before
    if command == "completion":
        return [f"{shell} " for shell in SHELLS if shell.startswith(last)]
    if command not in COMMANDS:
        return []
    name, equals, value = last.partition("=")
    if not equals:
        return _names(command, others, last)
    # Of several values, as a sweep has them, the last.
    done, comma, begun = value.rpartition(",")
    return [f"{name}={done}{comma}{choice} " for choice in _values(command, others, name) if choice.startswith(begun)]


def shell_script(shell: str) -> str:
    """What that shell has to read, once or in its start file."""
    return _SCRIPTS[shell]


def _split(line: str) -> list[str]:
    """The words, the last of them empty behind a space; a quotation that is still open counts as closed."""
    for end in ("", "'", '"'):
        with contextlib.suppress(ValueError):
            words = shlex.split(line + end)
            return [*words, ""] if line[-1:].isspace() else words
    return line.split()


def _names(command: str, others: Sequence[str], begun: str) -> list[str]:
    if command != "train":
        names: Iterable[str] = (f"{field}=" for field in _fields(command))
        return [name for name in (*names, "--help ") if name.startswith(begun)]
    above, dot, _ = begun.rpartition(".")
    tree = _tree(others)
    level = _below(tree, above) if dot else tree
    groups = [] if dot else [f"{name}=" for name in level if Files().options(name)]
    others_here = ["experiment=", "+sweep=", "hydra/launcher="] if not dot else []
    settings = [f"{above}{dot}{name}{'.' if isinstance(value, Mapping) else '='}" for name, value in level.items()]
    flags = [f"{flag} " for flag in _FLAGS] if begun.startswith("-") else []
    return [name for name in dict.fromkeys([*others_here, *groups, *settings, *flags]) if name.startswith(begun)]


def _values(command: str, others: Sequence[str], name: str) -> Sequence[str]:
    plain = name.lstrip("+~")
    if plain == "hydra/launcher":
        return Files().launchers()
    if options := Files().options(plain):
        return options
    if plain in _CHOICES and (command == "train" or plain in _fields(command)):
        return _CHOICES[plain]
    if command == "train":
        above, _, last = plain.rpartition(".")
        is_switch = isinstance(_below(_tree(others), above).get(last), bool)
    else:
        is_switch = _fields(command).get(plain) is bool
    return ("true", "false") if is_switch else ()


def _fields(command: str) -> Mapping[str, Any]:
    """Of the dataclass that a command's words fill: name -> type."""
    module = importlib.import_module(f"pipeline.{command}")
    (arguments,) = (
        value
        for name, value in vars(module).items()
        if name.endswith("Arguments") and dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    )
    return typing.get_type_hints(arguments)


def _tree(words: Sequence[str]) -> Mapping[str, Any]:
    """The settings of the run that the other words make, or of one without them, if they are not right yet."""
    overrides = [word for word in words if "=" in word and "," not in word and not word.startswith("-")]
    try:
        return Files().compose_tree(overrides)
    except ConfigError:
        return Files().compose_tree([])


def _below(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The settings of a group; none if it has none."""
    level: Any = tree
    for part in name.split(".") if name else []:
        level = level.get(part) if isinstance(level, Mapping) else None
    return level if isinstance(level, Mapping) else {}


_SCRIPTS: Mapping[str, str] = {
    "bash": r"""_pipeline_completion() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT}
    COMPREPLY=($("$1" completion words "$line" 2>/dev/null))
    # bash puts its answer in place of what stands behind the last equals sign.
    if [[ $COMP_WORDBREAKS == *=* ]]; then
        local word=${line##* }
        local kept=${word%"${word##*=}"}
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    fi
}
complete -o nospace -o bashdefault -o default -F _pipeline_completion pipeline
""",
    "zsh": r"""_pipeline_completion() {
    local found
    found="$("${words[1]}" completion words "${words[1,CURRENT-1]} $PREFIX" 2>/dev/null)"
    if [[ -n $found ]]; then
        compadd -Q -S '' -- "${(@f)found}"
    else
        compset -P '*='
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _pipeline_completion pipeline
""",
    "fish": r"""function __pipeline_completion
    set -l program (commandline -opc)[1]
    set -l found ($program completion words (commandline -cp | string collect) 2>/dev/null | string trim --right)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct | string replace -r '.*=' '')
    end
end
complete -c pipeline -f -a '(__pipeline_completion)'
""",
}
