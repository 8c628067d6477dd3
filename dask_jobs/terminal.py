"""What a command prints, its Ctrl-C, and its end: none breaks into its work, shows a traceback or keeps a user waiting.

    begin()     first of all in a program, before its imports, which may take seconds

    a stream that cannot show a letter (an ASCII locale)      shows another in its place
    one that is gone (`| head`), or whose disk is full        is said to be so, once, where it can be said
    Ctrl-C that nobody hears                                  one sentence, and the status that shells give to it
    the end of a process                                      without a last search for garbage (`leave_at_once`)
    a terminal that cannot move its cursor                    is told from others (`can_redraw`)

Not here: Ctrl-C and other signals that somebody hears (`interrupts`).
"""

import atexit
import contextlib
import gc
import io
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:  # its import takes a while, and this comes before all
    from rich.console import Console

INTERRUPTED_STATUS = 130
"""What shells give to a program that SIGINT ended."""

MISTAKEN_STATUS = 2
"""Of a command whose words are wrong, so that nothing was started; argparse, and so Hydra, has the same."""

_MOST_FILES = 65_536
"""Open at once: some programs go through all that there may be when they start another."""

_PLAIN = str.maketrans({"·": "|", "≥": ">=", "†": "+"})
"""What stands for the letters of ours that a stream may not know; for others a question mark does."""


def begin() -> None:
    """For the whole process, once."""
    if not isinstance(sys.stdout, LastingStream):
        sys.stdout, sys.stderr = lasting_output(), cast(TextIO, LastingStream(sys.stderr, "error output"))
        sys.excepthook = _tell
        leave_at_once()
        allow_many_files()


def leave_at_once() -> None:
    """Of this process, when it ends.

    Python looks for garbage while it ends, three times. Among all that torch, Dask and the emulator have made, that
    takes more than a second, in each process of a run, and finds nothing that anybody needs: files and processes are
    closed by who has opened them.
    """
    atexit.register(gc.freeze)


def allow_many_files() -> None:
    """Let this process have more open files than it begins with: often 1,024, which is few for 300 hosts.

    Each host is several connections, and each run that is evaluated a file that is held.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # no other systems than ours have it

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def lasting_output() -> TextIO:
    """Standard output, for who prints in a process that is not ours."""
    is_lasting = isinstance(sys.stdout, LastingStream)
    return sys.stdout if is_lasting else cast(TextIO, LastingStream(sys.stdout, "output"))


_LOST = (OSError, ValueError)
"""What writing to a stream raises that is gone; ValueError: it was closed."""


class LastingStream(io.TextIOBase):
    """A stream to print to that never fails; else as the one it is made of."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        """`stream`: None is one that was closed before the program began."""
        self._stream = stream
        self._name = name

    def write(self, text: str, /) -> int:
        """Print, as far as that can be done."""
        if self._stream is not None:
            try:
                self._stream.write(self._shown(text))
            except _LOST as error:
                self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Hand over what was printed."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except _LOST as error:
                self._lose(error)

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether somebody may be looking."""
        # Somebody's own stream, that writes to two places for example, may have no more than write and flush.
        stream = self._stream
        return not getattr(stream, "closed", False) and bool(getattr(stream, "isatty", bool)())

    def fileno(self) -> int:
        """Of the stream below. Raises OSError if there is none any more."""
        if self._stream is None:
            raise OSError(f"the {self._name} is gone")
        return self._stream.fileno()

    def __getattr__(self, name: str) -> Any:
        # "reconfigure", for example; what is lost has nothing.
        return getattr(self.__dict__["_stream"], name)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as of Python's own streams
        """Of the stream below."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def _shown(self, text: str) -> str:
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return text.translate(_PLAIN).encode(self.encoding, "replace").decode(self.encoding)
        return text

    def _lose(self, error: Exception) -> None:
        stream, self._stream = self._stream, None
        if self in (sys.stdout, sys.stderr):
            # A program of ours: what it still holds would fail once more at its end. Others have their own ways.
            with contextlib.suppress(*_LOST, AttributeError):  # one of somebody's own may have no number
                number = stream.fileno()  # type: ignore[union-attr]
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, number)
                os.close(nothing)
        if self is not sys.stderr:
            with contextlib.suppress(
                *_LOST, AttributeError
            ):  # that one may be on the same disk, or be no stream at all
                print(f"warning: the {self._name} is lost from here on, and the work goes on: {error}", file=sys.stderr)


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print(f"stopped by {str(error) or 'Ctrl-C'}", file=sys.stderr)
        # Of what uncaught errors do, Python lets this be chosen.
        sys.exit(INTERRUPTED_STATUS)
    sys.__excepthook__(kind, error, trace)


def can_redraw(console: "Console") -> bool:
    """Whether a table can be drawn anew in its place; elsewhere Rich draws none at all, or one below the other."""
    # An editor's terminal (TERM=dumb).
    if not console.is_interactive or console.is_dumb_terminal:
        return False
    # These ask for colours, as CI does, and have Rich take a file for a terminal.
    asks_for_colours = "FORCE_COLOR" in os.environ or os.environ.get("TTY_COMPATIBLE") == "1"
    return not asks_for_colours or console.file.isatty()
