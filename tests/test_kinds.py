"""Classes by their names: ours by a word, anybody's by where they are."""

import pickle
from pathlib import Path

import pytest
import torch

from pipeline.algorithms.config import ALGORITHMS, ActorCriticConfig
from pipeline.errors import ConfigError
from pipeline.kinds import Kinds, imported, is_of_own_class
from pipeline.networks.config import NETWORKS
from pipeline.networks.torso import TORSOS
from pipeline.optimizers.config import AdamConfig
from pipeline.optimizers.optimizer import OPTIMIZERS
from pipeline.topologies.config import TOPOLOGIES
from tests.networks.modules import Values

HERE = "tests.test_kinds"


class OwnConfig(ActorCriticConfig):
    """Somebody's settings; its word is not ours."""

    KINDS = ("own",)


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (ALGORITHMS, ["q_learning", "actor_critic", "pqn"]),
        (NETWORKS, ["q", "actor_critic", "module"]),
        (TORSOS, ["dqn_2013", "nature", "nature_layer_norm", "ba3c"]),
        (OPTIMIZERS, ["adagrad", "adam", "rmsprop"]),
        (TOPOLOGIES, ["single", "bundled", "global", "workers"]),
    ],
)
def test_ours_are_found_in_the_place_where_they_are(kinds: Kinds[object], words: list[str]) -> None:
    assert list(kinds) == words
    assert all(kinds.why_not(word) is None for word in words)


def test_a_class_of_anybody_s_is_found_by_where_it_is_and_not_by_a_word_of_its_own() -> None:
    assert ALGORITHMS[f"{HERE}.OwnConfig"] is OwnConfig and "own" not in ALGORITHMS
    assert ALGORITHMS.get("own") is None and ALGORITHMS.why_not("own") == "must be one of q_learning, actor_critic, pqn"
    assert imported("tests.networks.modules.Values", torch.nn.Module) is Values


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere.Config", "cannot be imported: No module named 'nowhere'; its package has to be installed, or in the "
                           "folder where the command is typed"),
        (f"{HERE}.Gone", f"cannot be imported: {HERE} has no Gone; it has AdamConfig"),
        ("pipeline.networks.nature.NatureTorso", "must be a class below pipeline.optimizers.optimizer.OptimizerConfig"),
        ("pipeline.seeding.stream", "must be a class below pipeline.optimizers.optimizer.OptimizerConfig"),
        ("pipeline.seeding.Gone", "cannot be imported: pipeline.seeding has no Gone; it has none of this kind"),
        (f"{HERE}:OwnConfig.x", "must be a dotted name, e.g. my_package.my_module.MyClass"),
        ("tests/test_kinds.py", "must be a dotted name, e.g. my_package.my_module.MyClass"),
        (".Config", "must be a dotted name, e.g. my_package.my_module.MyClass"),
    ],
)  # fmt: skip
def test_what_is_not_there_or_is_something_else_is_told_in_one_line(name: str, why: str) -> None:
    assert OPTIMIZERS.get(name) is None
    assert OPTIMIZERS.why_not(name) == why


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("raise ValueError('a\\nb')", "breaks raises ValueError: a b; mend that module"),
        (
            "import sys; sys.exit('usage: breaks.py FILE')",
            "breaks ends its program while it is imported; put what it does below if __name__",
        ),
        ("import nowhere.at_all", "No module named 'nowhere', which breaks imports; install that package"),
    ],
)
def test_an_error_of_a_module_itself_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, why: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks.py").write_text(source)
    with pytest.raises(ConfigError, match=f"cannot be imported: {why}"):
        imported("breaks.Config", AdamConfig)


def test_settings_travel_by_where_their_class_is() -> None:
    config = AdamConfig("adam", 1e-4, (), 0.9, 0.999, 1e-8)
    assert b"pipeline.optimizers.config" in pickle.dumps(config)
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ("network.class=my_package.MyNet cannot compute with frames", True),
        ("optimizer.kind=my_package.lion.LionConfig cannot be imported: gone", True),
        ("network.torso=mine.Wide must be a class below pipeline.networks.torso.Torso", True),
        ("optimizer.kind=adamw: no such kind; did you mean adam?", False),
        ("optimizer.learning_rate=0.5 must be positive", False),
        ("results_dir=a.b is empty", False),
    ],
)
def test_a_mistake_of_ones_own_class_is_told_from_the_others(line: str, is_own: bool) -> None:
    assert is_of_own_class(line) is is_own
