"""Variants take turns."""

from functools import partial

from measuring.rounds import alternate, median_ratio, shuffled


def test_variants_take_turns_in_changing_order_and_warm_up_rounds_are_not_counted() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return float(len(order))

    variants = {name: partial(note, name) for name in "abc"}
    measured = alternate(variants, num_rounds=40, num_warmup_rounds=1)
    rounds = ["".join(order[start : start + 3]) for start in range(0, len(order), 3)]
    assert len(rounds) == 41 and {"".join(sorted(names)) for names in rounds} == {"abc"}
    assert len(set(rounds)) == 6, "each order there is"
    assert list(measured) == ["a", "b", "c"] and min(measured["a"]) > 3
    assert all(order[int(at) - 1] == name for name, found in measured.items() for at in found)
    assert {len(found) for found in measured.values()} == {40}


def test_rounds_that_are_measured_one_by_one_have_the_orders_of_rounds_measured_at_once() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return 0.0

    variants = {name: partial(note, name) for name in "abc"}
    alternate(variants, num_rounds=8, num_warmup_rounds=0)
    at_once = order.copy()
    order.clear()
    for round_ in range(8):
        alternate(variants, num_rounds=1, num_warmup_rounds=0, first_round=round_)
    assert order == at_once
    assert len({"".join(order[start : start + 3]) for start in range(0, len(order), 3)}) > 2


def test_of_two_rounds_the_second_is_the_first_backwards() -> None:
    for round_ in range(0, 10, 2):
        assert shuffled("abcd", round_) == shuffled("abcd", round_ + 1)[::-1]


def test_steps_that_need_each_other_keep_their_order() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return 0.0

    steps = {name: partial(note, name) for name in "abc"}
    alternate(steps, num_rounds=5, num_warmup_rounds=1, in_order=True)
    assert order == list("abc") * 6


def test_a_ratio_is_taken_within_each_round() -> None:
    # The machine became slower and slower. Of the medians, 20 and 10, the ratio would be 2.
    assert median_ratio([1.0, 20.0, 30.0], [1.0, 10.0, 30.0]) == 1.0
