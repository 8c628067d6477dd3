"""What a run has said of a kill. Logic without I/O.

Not here: where the output comes from (`studies.chaos.command`).
"""

import re
from collections.abc import Sequence

_BACK = re.compile(r"(?:resumed at|go(?:es)? back to|does so with)[^\n]*?update ([\d,]+)")
_ANEW = re.compile(r"nothing to resume in")
_ERROR = re.compile(r"^error: ", re.MULTILINE)
TRACEBACK = "Traceback (most recent call last)"


def went_back_to(text: str) -> int | None:
    """The update that the run says it went back to first; 0 where it began anew; None if it says no such thing."""
    if (found := _BACK.search(text)) is not None:
        return int(found[1].replace(",", ""))
    return 0 if _ANEW.search(text) else None


def names(text: str, victim: str, address: str, roles: Sequence[str]) -> bool:
    """Whether the run speaks of what was killed: of the host by its address, or of one of its roles as lost or silent.

    A scheduler is named as such. A coordinator cannot speak of its own death: the next one says where it begins.
    """
    if victim == "coordinator":
        return went_back_to(text) is not None
    if victim == "scheduler":
        return "scheduler" in text
    return (bool(address) and address in text) or any(
        re.search(rf"\b{re.escape(role)}\b[^\n]*\b(?:lost|gone|host|failed)\b", text) for role in roles
    )


def started_again(text: str, roles: Sequence[str]) -> bool:
    """Whether one of these roles was started again by the run itself."""
    return any(re.search(rf"\b{re.escape(role)} was lost[^\n]*(?:started again|goes on at)", text) for role in roles)


def is_error(text: str) -> bool:
    """Whether the command has ended with a sentence that says why."""
    return _ERROR.search(text) is not None
