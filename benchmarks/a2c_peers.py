"""Agent steps per second of synchronous actor-critic training, ours and Stable-Baselines3's, on the same cores.

    dba3c             `experiment=dba3c`: two workers of 8 games, in threads
    ba3c              its baseline in one process: 16 games on one core
    sb3_subproc       A2C of Stable-Baselines3, each of its 16 environments a process of its own
    sb3_dummy         the same, all environments in its process

All train the Nature torso on Pong (four frames a step, no sticky actions, 84 x 84 grey) with an update of 80 steps:
16 games, 5 steps each. They differ in precision (ours bfloat16 where the processor is fast at it, theirs float32), in
the optimizer, and in that each has its own wrappers around the emulator. Rounds take turns.

SB3 runs in a Python of its own, which the variable SB3_PYTHON names:

    python -m venv sb3
    sb3/bin/pip install torch==2.13.0 stable-baselines3==2.9.2 ale-py==0.12.1 opencv-python-headless
    SB3_PYTHON=sb3/bin/python python -m benchmarks a2c_peers

20 runs of half a minute: ten minutes on two cores.
Not here: what each learns; scores of another protocol do not belong beside ours.
"""

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from measuring.provenance import Figure, report
from measuring.rounds import alternate, median_ratio, ratio_quartiles
from measuring.worker_speed import budget, loop_speed, run, speed
from pipeline.config.overrides import compose
from pipeline.topologies.kinds.workers import worker_name

SCRIPT = Path(__file__).parent / "peers" / "sb3_a2c.py"
ENV_CLASSES = {"sb3_subproc": "SubprocVecEnv", "sb3_dummy": "DummyVecEnv"}
_SETTINGS = ("training_evaluation.every_frames=null", "evaluation=smoke", "progress=none", "overwrite=true")


def main(
    game: str = "Pong", num_rounds: int = 5, num_steps: int = 32_000, peer_steps: int = 20_000, own: Sequence[str] = ()
) -> None:
    """Measure and print one JSON line. `own`: more settings of ours."""
    python = os.environ.get("SB3_PYTHON")
    if python is None:
        raise SystemExit("SB3_PYTHON is not set: name a Python that has stable-baselines3 (benchmarks/a2c_peers.py)")
    versions: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [f"game={game}", f"results_dir={results_dir}", *_SETTINGS, *own]
        measured = alternate(
            {
                "dba3c": partial(_ours, "dba3c", settings, num_steps),
                "ba3c": partial(_ours, "ba3c", [*settings, "topology.compute_threads=1"], num_steps // 2),
                **{
                    name: partial(_theirs, python, game, env_class, peer_steps, versions)
                    for name, env_class in ENV_CLASSES.items()
                },
            },
            num_rounds,
            num_warmup_rounds=0,
        )
    low, high = ratio_quartiles(measured["dba3c"], measured["sb3_subproc"])
    report(
        "a2c_peers",
        game=game,
        num_rounds=num_rounds,
        **{f"{name}_steps_per_second": statistics.median(rates) for name, rates in measured.items()},
        dba3c_over_sb3_subproc=median_ratio(measured["dba3c"], measured["sb3_subproc"]),
        dba3c_over_sb3_subproc_low=low,
        dba3c_over_sb3_subproc_high=high,
        ba3c_over_sb3_subproc=median_ratio(measured["ba3c"], measured["sb3_subproc"]),
        dba3c_over_sb3_dummy=median_ratio(measured["dba3c"], measured["sb3_dummy"]),
        ba3c_over_sb3_dummy=median_ratio(measured["ba3c"], measured["sb3_dummy"]),
        **versions,
    )


def _ours(experiment: str, settings: Sequence[str], num_steps: int) -> float:
    words = [f"experiment={experiment}", *settings]
    config = compose([*words, budget(1, num_steps, compose(words).environment.mean_frame_skip)])
    updates = run(config)
    measured = speed(config, updates) if experiment == "dba3c" else loop_speed(config, updates, worker_name(0))
    return measured.data_points_per_second


def _theirs(python: str, game: str, env_class: str, num_steps: int, versions: dict[str, Figure]) -> float:
    command = [python, str(SCRIPT), f"--game={game}", f"--env-class={env_class}", f"--steps={num_steps}"]
    # What our own run has set for its threads is not for others.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    versions |= {f"sb3_{name}": found[name] for name in ("version", "torch", "compute_threads")}
    return float(found["steps_per_second"])


if __name__ == "__main__":
    main()
