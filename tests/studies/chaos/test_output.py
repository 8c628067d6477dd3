"""What a run's own sentences tell of a kill."""

import pytest

from studies.chaos.output import is_error, names, started_again, went_back_to

LOST = "bundle-1 was lost (its host tcp://127.0.0.1:5 is gone) and started again on tcp://127.0.0.1:6\n"
BACK = "shard-0 is lost with its host; all roles go back to the checkpoint of update 1,176, 4 newer rows set aside\n"
EVALUATOR = "evaluator was lost with its host tcp://127.0.0.1:5 and goes on at tcp://127.0.0.1:6\n"
SCHEDULER = "error: the scheduler does not answer any more\n"


@pytest.mark.parametrize(
    ("text", "update"),
    [
        (BACK, 1176),
        ("resumed at update 620, 12,836 frames\n", 620),
        ("it was told to end, and does so with the checkpoint of update 7, 0 newer rows\n", 7),
        ("nothing to resume in runs/a: it begins anew\n", 0),
        (LOST, None),
    ],
)
def test_the_update_that_a_run_went_back_to_is_read(text: str, update: int | None) -> None:
    assert went_back_to(text) == update


@pytest.mark.parametrize(
    ("text", "victim", "address", "roles", "is_named"),
    [
        (LOST, "host", "tcp://127.0.0.1:5", ("bundle-1",), True),
        (BACK, "host", "tcp://127.0.0.1:9", ("bundle-0", "shard-0"), True),
        (BACK, "host", "tcp://127.0.0.1:9", ("bundle-0", "shard-1"), False),
        ("building bundle-0\n", "host", "tcp://127.0.0.1:9", ("bundle-0",), False),
        (SCHEDULER, "scheduler", "", (), True),
        (SCHEDULER, "coordinator", "", (), False),
        ("resumed at update 0, 0 frames\n", "coordinator", "", (), True),
    ],
)
def test_what_was_killed_is_named_by_its_address_or_by_its_roles(
    text: str, victim: str, address: str, roles: tuple[str, ...], is_named: bool
) -> None:
    assert names(text, victim, address, roles) == is_named


def test_roles_that_are_started_again_are_told_from_others() -> None:
    assert started_again(LOST, ("bundle-1",)) and started_again(EVALUATOR, ("evaluator",))
    assert not started_again(LOST, ("bundle-0",)) and not started_again(BACK, ("shard-0",))


def test_an_end_with_a_sentence_is_told_from_one_without() -> None:
    assert is_error(f"building\n{SCHEDULER}") and not is_error("Error executing job\n")
