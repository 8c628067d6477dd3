"""The wording of unknown names."""

from pipeline.config.words import listed, nearest, no_such


def test_a_misspelt_name_is_answered_with_the_nearest_one() -> None:
    assert no_such("game", "game=Pongg", "Pongg", ["Alien", "Pong"]) == "game=Pongg: no such game; did you mean Pong?"


def test_a_name_that_resembles_nothing_is_answered_with_what_there_is() -> None:
    assert no_such("fruit", "fruit=x", "x", ["apple", "pear"]) == "fruit=x: no such fruit; there is apple, pear"


def test_upper_and_lower_case_do_not_matter_for_the_nearest_name() -> None:
    assert nearest("MSPACMAN", ["MsPacman", "Pong"]) == "MsPacman"


def test_a_long_list_is_cut_and_says_how_many_are_left_out() -> None:
    assert listed([str(i) for i in range(49)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 37 more"
    assert listed([str(i) for i in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
