"""Variants take turns."""

from measuring.rounds import alternate, median_ratio


def test_variants_take_turns_and_warm_up_rounds_are_not_counted() -> None:
    order: list[str] = []

    def note(name: str) -> float:
        order.append(name)
        return float(len(order))

    measured = alternate({"a": lambda: note("a"), "b": lambda: note("b")}, num_rounds=2, num_warmup_rounds=1)
    assert order == ["a", "b", "a", "b", "a", "b"]
    assert measured == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


def test_a_ratio_is_taken_within_each_round() -> None:
    # The machine became slower and slower. Of the medians, 20 and 10, the ratio would be 2.
    assert median_ratio([1.0, 20.0, 30.0], [1.0, 10.0, 30.0]) == 1.0
