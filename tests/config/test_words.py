"""The wording of unknown names, and words as Hydra can read them."""

import pytest

from pipeline.config.words import listed, nearest, nearest_ones, no_such, quoted_home, with_words_typed


def test_a_misspelt_name_is_answered_with_the_nearest_one() -> None:
    assert no_such("game", "game=Pongg", "Pongg", ["Alien", "Pong"]) == "game=Pongg: no such game; did you mean Pong?"


def test_several_names_that_are_about_as_near_may_be_named() -> None:
    known = ["Pitfall", "Pitfall2", "Pong"]
    assert no_such("game", "game=Pitfal", "Pitfal", known) == "game=Pitfal: no such game; did you mean Pitfall?"
    assert no_such("game", "x", "Pitfal", known, most=3) == "x: no such game; did you mean Pitfall or Pitfall2?"
    assert nearest_ones("Pong", [*known, "Pang"], 3) == ["Pong"]


def test_a_name_that_resembles_nothing_is_answered_with_what_there_is() -> None:
    assert no_such("fruit", "fruit=x", "x", ["apple", "pear"]) == "fruit=x: no such fruit; there is apple, pear"


def test_upper_and_lower_case_do_not_matter_for_the_nearest_name() -> None:
    assert nearest("MSPACMAN", ["MsPacman", "Pong"]) == "MsPacman"


def test_a_long_list_is_cut_and_says_how_many_are_left_out() -> None:
    assert listed([str(i) for i in range(49)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 37 more"
    assert listed([str(i) for i in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"


def test_what_an_experiment_sets_and_another_option_lacks_is_told_with_the_words_typed() -> None:
    words = {"experiment": "experiment=gorila", "algorithm": "algorithm=actor_critic"}
    (told,) = with_words_typed(["algorithm.outlier_deviations: no such setting; algorithm has kind"], words)
    assert told == (
        "algorithm=actor_critic has no setting algorithm.outlier_deviations, which experiment=gorila sets: "
        "choose an experiment that has algorithm=actor_critic, or ~algorithm.outlier_deviations takes it away; "
        "algorithm has kind"
    )
    for other in (
        "algorithm.x=1: no such setting",
        "algorithm.x is missing: a run needs it",
        "algorithm.x=1 must be 2",
    ):
        assert with_words_typed([other], words) == (other,)


def test_what_only_a_file_sets_is_told_with_the_experiment_and_a_way_out() -> None:
    (told,) = with_words_typed(["optimizer.epsilon: no such setting"], {"experiment": "experiment=mine"})
    assert told == (
        "optimizer.epsilon: no such setting; experiment=mine, or what it builds on or chooses, sets it: mend that, or "
        "~optimizer.epsilon takes it away"
    )
    of_option = with_words_typed(["optimizer.betta: no such setting"], {"optimizer": "optimizer=own"}, lambda _: True)
    assert of_option == ("optimizer.betta: no such setting; the file of optimizer=own sets it: mend it there",)


def test_no_replay_beside_settings_of_one_is_one_line() -> None:
    words = {"experiment": "experiment=dqn_quick", "replay": "replay=none"}
    lines = ["replay.batch_size is missing: a run needs it", "replay.capacity_bytes is missing: a run needs it"]
    assert with_words_typed(lines, words) == (
        "replay=none leaves none, and experiment=dqn_quick sets something of it: choose an experiment that has "
        "replay=none",
    )


def test_kinds_that_do_not_go_together_are_told_with_the_words_that_chose_them() -> None:
    words = {"experiment": "experiment=dba3c", "topology": "topology=global", "network": "network=dba3c_authors"}
    lines = [
        "topology.kind=global cannot run algorithm.kind=actor_critic: choose topology=workers",
        "network.kind=actor_critic must be q",
        "optimizer.kind=adm: no such kind",
    ]
    assert with_words_typed(lines, words) == (
        "topology=global cannot run algorithm.kind=actor_critic of experiment=dba3c: choose topology=workers",
        "network.kind=actor_critic of network=dba3c_authors must be q",
        "optimizer.kind=adm of experiment=dba3c: no such kind",
    )
    assert with_words_typed(lines, {}) == tuple(lines)


@pytest.mark.parametrize(
    ("word", "for_hydra"),
    [
        ("results_dir=~/runs", "results_dir='~/runs'"),
        ("+init_from=~ada/runs/dqn", "+init_from='~ada/runs/dqn'"),
        ("results_dir=~/of ${game}/a=1", "results_dir='~/of ${game}/a=1'"),
        ("hydra.sweep.dir=~/a b", "hydra.sweep.dir='/home/ada/a b'"),
        *((word, word) for word in ("~seed", "~algorithm.discount=0.9", "game=Pong", "results_dir='~/a b'", "x=a/~/b")),
        *((word, word) for word in ("results_dir=~/a,~/b", "cluster.hosts=[~/a]", "results_dir=~/it's")),
    ],
)
def test_a_path_in_the_home_is_quoted_as_hydra_wants_it(
    word: str, for_hydra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert quoted_home(word) == for_hydra
