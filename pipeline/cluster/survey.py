"""What hosts have said of themselves, and which of them are fit to take part: decisions about answers, no asking.

    first survey     of a session that begins: who dies or stands still is left out, one that lacks packages, an error
    later survey     of a run under way: hosts of another installation, added meanwhile, are left out as well

Not here: asking (`pipeline.cluster.surveyor`), what a host reports (`pipeline.cluster.hosts`).
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from pipeline.cluster.hosts import HostReport, version_differences
from pipeline.errors import HostMismatchError, PlacementError, RemoteLostError

Answer = HostReport | Exception
"""Of a host that was asked what it is: a report, or why there is none. OSError: it died meanwhile; RemoteLostError: it
stands still; any other: it lacks what the question needs."""

_LOST = (OSError, RemoteLostError)


@dataclass(frozen=True)
class Survey:
    """The answers of all hosts that were there at one time."""

    asked: frozenset[str]
    """Addresses of those hosts, whatever they are; not those that stood still or died, which are asked again."""
    reports: Mapping[str, HostReport]
    """Of those that take part, by address, in a stable order."""
    strangers: tuple[str, ...] = ()
    """A sentence for each of those that take no part because they have other versions, or other code."""

    def is_complete(self, present: Set[str]) -> bool:
        """Whether all hosts that are there now were asked and have said something."""
        return present <= self.asked

    def fit(self, present: Set[str]) -> set[str]:
        """Those of the hosts that are there now that take part."""
        return present & self.reports.keys()

    def without(self, address: str) -> "Survey":
        """The same, but that host takes no part any more, and is not asked again."""
        return replace(self, reports={host: report for host, report in self.reports.items() if host != address})


def first_survey(answers: Mapping[str, Answer]) -> Survey:
    """Of hosts by address, without those that died meanwhile or stand still.

    Raises HostMismatchError, with what to do, for the first other one without report, PlacementError if none is left.
    Versions are not compared: that is for whoever asks for offers.
    """
    left = _of_the_living(answers)
    if answers and not left:
        raise PlacementError("; ".join(losses_in_words(answers)))
    return Survey(frozenset(left), {address: _report_of(address, answer) for address, answer in left.items()})


def losses_in_words(answers: Mapping[str, Answer]) -> list[str]:
    """A sentence for each host that died while it was asked, or stands still."""
    return [
        f"{answer}: end that `dask worker`, or let it go on"
        if isinstance(answer, RemoteLostError)
        else f"{address} died while it was asked what it has ({answer}), as a `dask worker` does that has less memory "
        "than torch needs, half a GB: raise its --memory-limit, or end it"
        for address, answer in answers.items()
        if isinstance(answer, _LOST)
    ]


def later_survey(ours: HostReport, answers: Mapping[str, Answer]) -> Survey:
    """The same of a run under way, without hosts that are not as `ours`; nothing that others are makes it fail."""
    told = {address: answer for address, answer in answers.items() if isinstance(answer, HostReport)}
    different = {address: lines for address, host in told.items() if (lines := version_differences(ours, host))}
    return Survey(
        frozenset(_of_the_living(answers)),
        {address: host for address, host in told.items() if address not in different},
        tuple(f"{address} takes no part: it has {'; '.join(lines)}" for address, lines in different.items()),
    )


def _of_the_living(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    return {address: answer for address, answer in answers.items() if not isinstance(answer, _LOST)}


def _report_of(address: str, answer: Answer) -> HostReport:
    if isinstance(answer, HostReport):
        return answer
    raise HostMismatchError(
        f"{address} cannot tell what it is: {answer}\nInstall the same versions of this project and its packages "
        "there, in the Python that its `dask worker` runs in"
    ) from answer
