"""Asks a scheduler which hosts are there, and hosts what they are; nobody is waited for without a limit.

Not here: what follows from their answers (`pipeline.cluster.survey`).
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence

from distributed import Client

from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.hosts import HostReport, report_host
from pipeline.cluster.scheduler import asked_of, scheduler_of
from pipeline.cluster.survey import Answer, Survey, first_survey, later_survey, losses_in_words
from pipeline.errand import Errand
from pipeline.errors import RemoteLostError


class Surveyor:
    """The hosts that one run may use, as they are now and as they were when they were asked last."""

    def __init__(
        self,
        client: Client,
        granted: GrantedHosts | None,
        answer_seconds: float,
        ours: Callable[[], HostReport],
        ask_for_hosts: Callable[[], None],
    ) -> None:
        """Asks all hosts; raises as `first_survey`. `granted`: what the run may use of the cluster; None: all.

        `answer_seconds`: how long a scheduler or a host that stands still is waited for. `ours`: what those that come
        later have to be like. `ask_for_hosts`: in place of lost ones, before hosts are asked again.
        """
        self._client = client
        self._granted = granted
        self._answer_seconds = answer_seconds
        self._ours = ours
        self._ask_for_hosts = ask_for_hosts
        self._surveying = Errand[bool]("pipeline-survey")
        # Not the same one: whoever waits for a survey must not lose its result to whoever only looks at the hosts.
        self._asking_new = Errand[bool]("pipeline-new-hosts")
        self._began: dict[str, float] = {}
        """Address of each host that was ever asked -> when it began, on the monotonic clock of this machine."""
        answers = self._answers()
        if deaths := {address: answer for address, answer in answers.items() if isinstance(answer, OSError)}:
            # Whoever cannot be reached for a moment is there again; whoever has died is gone, and is told of.
            answers = {**deaths, **self._answers()}
        self.losses = losses_in_words(answers)
        """A sentence for each host that died while it was asked or did not answer, and is left out."""
        self.survey: Survey = first_survey(answers)
        """The last one."""

    def num_threads(self) -> dict[str, int]:
        """Address of each host that is there now -> threads that the run may use there.

        Raises UnreachableError if the scheduler does not answer for long, SchedulerLostError if it is gone.
        """
        present = self._asked_of_scheduler()
        return present if self._granted is None else self._granted.among(present)

    def fit(self) -> set[str]:
        """Addresses of the hosts that are there now and have this installation; new ones once they answered."""
        present = set(self.num_threads())
        if not self.survey.is_complete(present):
            with contextlib.suppress(OSError):  # one has died meanwhile
                self._asking_new.ask(self._survey)
        return self.survey.fit(present)

    def survey_soon(self) -> bool:
        """Whether the hosts were asked again; they are, in another thread. Raises as `survey_again`."""
        return self._surveying.ask(self._survey) is not None

    def survey_again(self) -> None:
        """Ask the hosts that are there now, and take those of this installation that answer."""
        self._ask_for_hosts()
        self.survey = later_survey(self._ours(), self._answers())

    def leave_out(self, address: str) -> None:
        """Take this host for lost until the next survey."""
        self.survey = self.survey.without(address)

    def age_seconds(self, address: str) -> float:
        """How long ago the job of this host began, be it there or not; 0 of one that was never asked."""
        return max(0.0, time.monotonic() - self._began.get(address, math.inf))

    def _survey(self) -> bool:
        self.survey_again()
        return True

    def _asked_of_scheduler(self) -> dict[str, int]:
        """Address -> threads. Not `Client.nthreads`, which waits for a scheduler that stands still for ever."""
        with asked_of(self._client) as scheduler:
            present: dict[str, int] = self._client.sync(
                scheduler.ncores, workers=None, callback_timeout=self._answer_seconds
            )
            return present

    def _answers(self) -> dict[str, Answer]:
        addresses = sorted(self.num_threads())
        with scheduler_of(self._client):
            answers: dict[str, Answer] = dict(zip(addresses, self._client.sync(self._ask, addresses), strict=True))
        now = time.monotonic()
        for address, answer in answers.items():
            if isinstance(answer, HostReport):
                self._began[address] = now - answer.age_seconds
        return answers

    async def _ask(self, addresses: Sequence[str]) -> list[Answer]:
        return await asyncio.gather(*map(self._ask_one, addresses))

    async def _ask_one(self, address: str) -> Answer:
        asked = self._client.run(report_host, workers=[address], on_error="return", asynchronous=True)
        try:
            answer: Answer = (await asyncio.wait_for(asked, self._answer_seconds))[address]
        except TimeoutError:
            return RemoteLostError(f"{address} has not answered for {self._answer_seconds:g} s")
        except OSError as error:
            return error
        return answer
