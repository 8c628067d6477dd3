"""Words of other libraries are answered with ours."""

import pytest

from pipeline.config.composition import Files
from pipeline.config.other_words import ELSEWHERE
from pipeline.config.overrides import compose
from pipeline.config.tree import setting_names
from pipeline.errors import ConfigError


def test_what_other_libraries_call_a_setting_is_one_of_ours_and_no_name_that_we_have() -> None:
    settings = {
        name
        for kind in ("gorila", "dba3c", "dba3c_clip", "rainbow")
        for name in setting_names(Files().compose_tree([f"experiment={kind}"]))
    }
    assert settings >= set(ELSEWHERE.values())
    assert not settings & set(ELSEWHERE)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("learning_starts=10", "replay.min_transitions"),
        ("epsilon=0.1", "algorithm.exploration.final_epsilon"),
        ("optimizer.lr=1", "optimizer.learning_rate"),
        ("algorithm.gamma=0.9", "algorithm.discount"),
        ("algorithm.ent_coef=1", "algorithm.entropy_weight"),
        ("track=true", "logging"),
        ("log_dir=x", "results_dir"),
    ],
)
def test_a_word_of_another_library_is_answered_with_ours_below_a_group_too(word: str, ours: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(["experiment=gorila", "game=Pong", word])
    assert caught.value.mistakes == (f"{word}: no such setting; did you mean {ours}?",)
