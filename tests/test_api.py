"""The examples of the documents, run as they stand but for the time that they take, and what they print."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pipeline import api

CHECKOUT = Path(__file__).resolve().parents[1]
SHORTER = {
    '"experiment=dqn"': '"experiment=smoke_dqn", "progress=none"',
    '"budget.minutes=5"': '"budget.frames=1200"',
    'protocols=("sticky",)': 'protocols=("sticky",), settings=SHORT',
}
"""What stands in an example -> what is run."""
SHORT = ("evaluation.num_episodes=2", "evaluation.environment.max_frames=400")


def examples(page: str) -> list[str]:
    """The Python code of a document, block by block."""
    return re.findall(r"```python\n(.*?)```", (CHECKOUT / page).read_text(encoding="utf-8"), re.DOTALL)


def run(code: str) -> tuple[str, dict[str, Any]]:
    """What a block prints, and its names."""
    for word, shorter in SHORTER.items():
        code = code.replace(word, shorter)
    names: dict[str, Any] = {"SHORT": SHORT}
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, names)  # noqa: S102
    return printed.getvalue(), names


@pytest.mark.slow
def test_the_example_of_the_first_page_prints_the_agent_s_mean_beside_the_random_player_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = examples("README.md")
    printed, names = run(code)
    played = names["runs"].evaluations
    for agent in ("checkpoint", "random"):
        mean = played[played["agent"] == agent]["score"].mean()
        assert re.search(rf"^{agent} +{re.escape(str(float(mean)))}$", printed, re.MULTILINE), printed
    assert names["result"].score.mean == played[played["agent"] == "checkpoint"]["score"].mean()


@pytest.mark.slow
def test_the_examples_of_the_page_on_python_print_scores_by_protocol_and_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    first, loop, _, rows = examples("docs/python.md")
    assert run(loop)[1]["seed"] == 2
    printed, names = run(first)
    score = names["result"].score
    assert f"MeanInterval(mean={score.mean!r}" in printed
    assert re.search(r"^smoke +checkpoint +-?[0-9.]+\n +random +-?[0-9.]+$", printed, re.MULTILINE), printed
    printed, names = run(rows)
    played = api.load_run(tmp_path / "results" / "runs" / "smoke_dqn" / "Pong" / "5").evaluations
    played = played[played["agent"] == "checkpoint"]
    for protocol in ("smoke", "sticky"):
        mean = played[played["protocol"] == protocol]["score"].mean()
        assert re.search(rf" 5 +{protocol} +{re.escape(str(float(mean)))} ", printed), printed
    assert str(names["runs"].problems) in printed
