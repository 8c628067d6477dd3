"""Our training beside another library's. That library is not installed with the tests: a script speaks for it."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import a2c_peers
from pipeline.roles import worker

TINY = ("network.hidden_units=16", "topology.num_lanes=2", "algorithm.batch_size=10", "evaluation.num_episodes=1")


def stand_in(folder: Path, body: str) -> str:
    """A program that is started as that Python would be."""
    program = folder / "python"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.slow
def test_ours_and_theirs_take_turns_and_their_versions_stand_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worker, "UPDATES_PER_ROW", 2)
    says = '{"steps_per_second": 100.0, "version": "1.2", "torch": "3.4", "compute_threads": 2}'
    monkeypatch.setenv("SB3_PYTHON", stand_in(tmp_path, f"assert 'sb3_a2c.py' in sys.argv[1]\nprint('{says}')"))
    a2c_peers.main(num_rounds=1, num_steps=160, own=TINY)
    line = json.loads(capsys.readouterr().out)
    assert line["sb3_subproc_steps_per_second"] == line["sb3_dummy_steps_per_second"] == 100.0
    assert line["dba3c_over_sb3_subproc"] == pytest.approx(line["dba3c_steps_per_second"] / 100, rel=0.01)
    assert line["ba3c_steps_per_second"] > 0
    assert (line["sb3_version"], line["sb3_torch"], line["sb3_compute_threads"]) == ("1.2", "3.4", 2)


def test_without_the_other_library_it_is_said_what_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SB3_PYTHON", raising=False)
    with pytest.raises(SystemExit, match="SB3_PYTHON is not set: name a Python that has stable-baselines3"):
        a2c_peers.main()


def test_what_the_other_library_fails_with_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = stand_in(tmp_path, "raise SystemExit('no module named stable_baselines3')")
    with pytest.raises(SystemExit, match="failed:\nno module named stable_baselines3"):
        a2c_peers._theirs(python, "Pong", "DummyVecEnv", 100, {})
