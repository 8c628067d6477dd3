from pathlib import Path

import pytest
import yaml

from pipeline.results.load import load_runs
from pipeline.results.run_settings import unlike_settings
from tests.results.run_folders import evaluation, write_run


def lines(tmp_path: Path, *settings: dict[str, object]) -> list[str]:
    for seed, of_run in enumerate(settings):
        folder = write_run(tmp_path, [evaluation(1.0)], seed=seed)
        (folder / "config.yaml").write_text(yaml.safe_dump(of_run))
    return unlike_settings(load_runs(tmp_path / "runs").runs)


def test_what_differs_is_named_with_its_runs(tmp_path: Path) -> None:
    (line,) = lines(
        tmp_path,
        {"seed": 0, "algorithm": {"n_step": 1, "double": False}, "network": {"dueling": False}},
        {"seed": 1, "algorithm": {"n_step": 3, "double": False}, "network": {"dueling": True}},
        {"seed": 2, "algorithm": {"n_step": 3, "double": False}, "network": {"dueling": True}},
    )
    assert line == (
        "gorila: runs with different settings under one name: algorithm.n_step 1 (Pong/0), 3 (Pong/1, Pong/2); "
        "network.dueling False (Pong/0), True (Pong/1, Pong/2)"
    )


def test_many_runs_are_counted_and_many_settings_cut_short(tmp_path: Path) -> None:
    many: list[dict[str, object]] = [{"a": {str(name): seed // 4 for name in range(7)}} for seed in range(8)]
    (line,) = lines(tmp_path, *many)
    assert "a.0 0 (4 runs), 1 (4 runs); a.1" in line
    assert line.endswith("; and 2 more")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"game": "Pong", "budget": {"frames": 1}}, {"game": "Hero", "budget": {"frames": 2}}),
        # Of another version of pipeline.
        ({"algorithm": {"n_step": 1}}, {"algorithm": {"n_step": 1, "double": True}}),
        ({"network": {"torso": "nature"}}, {"network": {"torso": "nature", "centred_pixels": False}}),
    ],
)
def test_what_makes_no_other_agent_is_not_named(
    tmp_path: Path, one: dict[str, object], other: dict[str, object]
) -> None:
    assert lines(tmp_path, one, other) == []


def test_what_was_true_before_a_setting_was_added_differs_from_what_is_not(tmp_path: Path) -> None:
    (line,) = lines(
        tmp_path,
        {"seed": 0, "network": {"torso": "nature"}},
        {"seed": 1, "network": {"torso": "nature", "centred_pixels": True}},
    )
    assert line.endswith("under one name: network.centred_pixels False (Pong/0), True (Pong/1)")


def test_a_config_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    folders = [write_run(tmp_path, [evaluation(1.0)], seed=seed) for seed in range(3)]
    (folders[0] / "config.yaml").write_text("{")
    (folders[1] / "config.yaml").write_text("a: 1")
    (folders[2] / "config.yaml").unlink()
    assert unlike_settings(load_runs(tmp_path / "runs").runs) == []


def test_runs_that_differ_in_their_threads_alone_are_alike(tmp_path: Path) -> None:
    assert lines(tmp_path, *({"seed": 0, "topology": {"compute_threads": number}} for number in (1, 2))) == []
