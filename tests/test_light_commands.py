"""Commands that compute nothing load nothing to compute with: help and mistakes are told at once.

The import profile is in docs/performance.md. Not here: who may import what at all (`tests.test_architecture`).
"""

import subprocess
import sys

import pytest

HEAVY = frozenset(
    {"torch", "distributed", "dask", "pandas", "gymnasium", "ale_py", "scipy", "matplotlib", "bokeh", "imageio_ffmpeg"}
)
SAY_WHAT_WAS_LOADED = (
    "import atexit, sys; atexit.register(lambda: print('loaded', *{name.partition('.')[0] for name in sys.modules}))"
)


def run(program: str, *words: str) -> tuple[int, str, set[str]]:
    """Exit status of a Python program in a process of its own, what it said, and the packages that it loaded."""
    told = subprocess.run(
        [sys.executable, "-c", f"{SAY_WHAT_WAS_LOADED}\n{program}", *words], capture_output=True, text=True
    )
    said, _, loaded = told.stdout.rpartition("loaded ")
    return told.returncode, said + told.stderr, set(loaded.split())


def command(module: str, *words: str) -> tuple[int, str, set[str]]:
    """The same of `python -m module words`."""
    return run(f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)", *words)


@pytest.mark.parametrize("module", ["train", "evaluate", "export", "play", "report", "start_states", "status"])
def test_the_help_of_every_command_loads_nothing_heavy(module: str) -> None:
    status, said, loaded = command(f"pipeline.{module}", "--help")
    assert status == 0, said
    assert "settings:" in said or "== Config: " in said
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("module", "words", "mistake"),
    [
        ("train", ["game=Brekout", "optimizer=adm", "budget.frames=-1"], "did you mean Breakout?"),
        ("train", ["-m", "game=Pong,Brekout", "seed=0,1"], "did you mean Breakout?"),
        ("train", ["game=Pong", "replay=none"], "replay is missing"),
        ("evaluate", ["run=nowhere", "sed=1"], "did you mean seed?"),
        ("export", ["run=nowhere", "format=onx"], "did you mean onnx?"),
        ("play", ["run=nowhere", "fps=-1"], "fps=-1 must be positive"),
        ("report", ["results=x"], "did you mean results_dir?"),
        ("start_states", ["num_points=0"], "num_points=0 must be at least 1"),
        ("status", ["wach=true"], "did you mean watch?"),
    ],
)
def test_a_list_of_mistakes_loads_nothing_heavy(module: str, words: list[str], mistake: str) -> None:
    status, said, loaded = command(f"pipeline.{module}", *words)
    assert status != 0
    assert mistake in said
    assert not loaded & HEAVY


@pytest.mark.parametrize("experiment", ["gorila", "gorila_quick", "dba3c", "dba3c_paper", "rainbow", "apex"])
def test_composing_a_run_loads_nothing_heavy(experiment: str) -> None:
    program = "import sys; from pipeline.config.overrides import compose; compose(sys.argv[1:])"
    status, said, loaded = run(program, f"experiment={experiment}", "game=Breakout")
    assert status == 0, said
    assert not loaded & HEAVY
