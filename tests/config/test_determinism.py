"""What cannot be deterministic is refused in one sentence each, which says what to type."""

import pytest

from pipeline.config.overrides import compose
from pipeline.errors import ConfigError

WORDS = ["game=Pong", "deterministic=true", "topology.compute_threads=1"]


def mistakes(*words: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        compose([*WORDS, *words])
    return raised.value.mistakes


@pytest.mark.parametrize(
    "words",
    [
        ["experiment=dqn"],
        ["experiment=rainbow"],
        ["experiment=gorila"],
        ["experiment=dba3c", "training_evaluation.every_frames=null"],
        ["experiment=ba3c", "training_evaluation.every_frames=null"],
        ["experiment=dqn", "budget.minutes=5"],
    ],
)
def test_these_can_be_deterministic(words: list[str]) -> None:
    assert compose([*WORDS, *words]).deterministic


@pytest.mark.parametrize(
    ("words", "begin", "cure"),
    [
        (["experiment=gorila", "cluster=processes"], "cluster=processes must be threads", "cluster=threads"),
        (
            ["experiment=gorila_global"],
            "topology.kind=global of experiment=gorila_global cannot take turns",
            "topology=bundled",
        ),
        (["experiment=dqn", "topology.compute_threads=2"], "topology.compute_threads=2", "topology.compute_threads=1"),
        (["experiment=dqn", "device=cuda"], "device=cuda", "device=cpu"),
        (
            ["experiment=dba3c", "topology.num_backup_workers=1", "training_evaluation.every_frames=null"],
            "topology.num_backup_workers=1 must be 0",
            "topology.num_backup_workers=0",
        ),
        (["experiment=dba3c"], "training_evaluation.every_frames=2000000", "training_evaluation.every_frames=null"),
        (["experiment=gorila_quick", "budget.minutes=8"], "budget.minutes=8.0 must be null", "budget.minutes=null"),
        (["experiment=gorila", "param_server.overlap=true"], "param_server.overlap=true must be false", "one process"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_what_to_type(words: list[str], begin: str, cure: str) -> None:
    (line,) = mistakes(*words)
    assert line.startswith(begin) and cure in line and "deterministic=true" in line
