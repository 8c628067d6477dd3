"""What follows from the answers of hosts that were asked what they are; nobody is asked here."""

import re
from typing import cast

import pytest
from distributed import Client

from pipeline.cluster.hosts import HostReport
from pipeline.cluster.survey import Answer, Survey, first_survey, later_survey, losses_in_words
from pipeline.cluster.surveyor import Surveyor
from pipeline.errors import HostMismatchError, PlacementError, RemoteLostError

OURS = HostReport("node1", 2, 2**30, "a processor", "cpu", "float32", {"torch": "2.13.0"})
OTHERS = HostReport("node2", 2, 2**30, "a processor", "cpu", "float32", {"torch": "1.0.0"})


def beside_ours(answer: Answer) -> dict[str, Answer]:
    """A host that is as we are, and what another one says."""
    return {"tcp://a:1": OURS, "tcp://b:2": answer}


def test_hosts_that_begin_a_session_take_part_whatever_their_versions() -> None:
    assert first_survey(beside_ours(OTHERS)).reports == {"tcp://a:1": OURS, "tcp://b:2": OTHERS}


def test_a_host_that_cannot_tell_what_it_is_lets_no_session_begin() -> None:
    with pytest.raises(HostMismatchError, match=re.escape("tcp://b:2 cannot tell what it is: no torch")):
        first_survey(beside_ours(ModuleNotFoundError("no torch")))


def test_a_host_that_stands_still_when_it_is_asked_is_left_out_by_name() -> None:
    answers = beside_ours(RemoteLostError("tcp://b:2 sleeps"))
    survey = first_survey(answers)
    assert survey.reports == {"tcp://a:1": OURS} and not survey.is_complete({"tcp://a:1", "tcp://b:2"})
    assert losses_in_words(answers) == ["tcp://b:2 sleeps: end that `dask worker`, or let it go on"]


def test_a_host_that_dies_while_it_is_asked_is_left_out_by_name() -> None:
    answers = beside_ours(OSError("gone"))
    survey = first_survey(answers)
    assert survey.reports == {"tcp://a:1": OURS} and not survey.is_complete({"tcp://a:1", "tcp://b:2"})
    (sentence,) = losses_in_words(answers)
    assert sentence.startswith("tcp://b:2 died while it was asked what it has (gone), as ")
    assert "--memory-limit" in sentence and losses_in_words({"tcp://a:1": OURS}) == []


def test_a_session_tells_of_a_host_that_is_gone_when_all_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Answer]] = [beside_ours(OSError("gone")), {"tcp://a:1": OURS}]
    monkeypatch.setattr(Surveyor, "_answers", lambda _: asked.pop(0))
    surveyor = Surveyor(cast(Client, None), None, 1.0, lambda: OURS, lambda: None)
    assert surveyor.survey.reports == {"tcp://a:1": OURS} and asked == []
    assert [sentence.partition(" died ")[0] for sentence in surveyor.losses] == ["tcp://b:2"]


def test_a_host_that_answers_when_it_is_asked_again_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Answer]] = [beside_ours(OSError("a moment")), beside_ours(OURS)]
    monkeypatch.setattr(Surveyor, "_answers", lambda _: asked.pop(0))
    surveyor = Surveyor(cast(Client, None), None, 1.0, lambda: OURS, lambda: None)
    assert set(surveyor.survey.reports) == {"tcp://a:1", "tcp://b:2"} and surveyor.losses == []


def test_no_session_begins_where_the_only_host_has_died_and_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Answer]] = [{"tcp://b:2": OSError("gone")}, {}]
    monkeypatch.setattr(Surveyor, "_answers", lambda _: asked.pop(0))
    with pytest.raises(PlacementError, match=r"tcp://b:2 died .*--memory-limit"):
        Surveyor(cast(Client, None), None, 1.0, lambda: OURS, lambda: None)


def test_no_session_begins_where_all_die_or_stand_still_while_they_are_asked() -> None:
    with pytest.raises(PlacementError, match=r"tcp://b:2 died .*; tcp://c:3 sleeps: end that `dask worker`"):
        first_survey({"tcp://b:2": OSError("gone"), "tcp://c:3": RemoteLostError("tcp://c:3 sleeps")})


@pytest.mark.parametrize("answer", [OTHERS, ModuleNotFoundError("no torch")])
def test_such_a_host_is_left_out_of_a_run_under_way_and_not_asked_again(answer: Answer) -> None:
    survey = later_survey(OURS, beside_ours(answer))
    assert survey.reports == {"tcp://a:1": OURS}
    assert survey.is_complete({"tcp://a:1", "tcp://b:2"})
    assert survey.fit({"tcp://a:1", "tcp://b:2"}) == {"tcp://a:1"}
    of_others = ("tcp://b:2 takes no part: it has torch 1.0.0, the coordinator has 2.13.0",)
    assert survey.strangers == (of_others if answer is OTHERS else ())


def test_a_host_that_stands_still_is_left_out_of_a_run_under_way_until_it_answers() -> None:
    survey = later_survey(OURS, beside_ours(RemoteLostError("sleeps")))
    assert survey.fit({"tcp://a:1", "tcp://b:2"}) == {"tcp://a:1"}
    assert not survey.is_complete({"tcp://a:1", "tcp://b:2"})
    assert later_survey(OURS, beside_ours(OURS)).fit({"tcp://a:1", "tcp://b:2"}) == {"tcp://a:1", "tcp://b:2"}


def test_a_host_that_dies_meanwhile_spoils_no_survey_of_a_run_under_way_and_is_asked_again_if_it_is_there() -> None:
    survey = later_survey(OURS, beside_ours(OSError("gone")))
    assert survey.reports == {"tcp://a:1": OURS}
    assert survey.is_complete({"tcp://a:1"}) and not survey.is_complete({"tcp://a:1", "tcp://b:2"})


def test_a_host_that_was_not_there_is_asked_and_one_that_has_gone_is_not_fit() -> None:
    survey = Survey(frozenset({"tcp://a:1", "tcp://b:2"}), {"tcp://a:1": OURS, "tcp://b:2": OURS})
    assert not survey.is_complete({"tcp://a:1", "tcp://c:3"})
    assert survey.fit({"tcp://a:1", "tcp://c:3"}) == {"tcp://a:1"}


def test_a_host_that_is_left_out_stays_out() -> None:
    survey = first_survey(beside_ours(OURS)).without("tcp://a:1").without("tcp://a:1")
    assert survey.reports == {"tcp://b:2": OURS}
    assert survey.is_complete({"tcp://a:1", "tcp://b:2"})
