"""Files as other tools write them, by hand from their formats.

Stable-Baselines3: `stable_baselines3/common/monitor.py`, class Monitor, and `results_plotter`'s reader of it.
Dopamine: `baselines/atari/data/<game>.json` in its repository. DQN Zoo: README.md and `dqn_zoo/dqn/run_atari.py`, which
names the columns; the published tables have environment_name and seed in front of them. nnabla-rl:
`nnabla_rl/hooks/evaluation_hook.py` and `nnabla_rl/writers/file_writer.py`.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

DQN_ZOO_COLUMNS = (
    "environment_name,seed,iteration,frame,eval_episode_return,train_episode_return,eval_num_episodes,"
    "train_num_episodes,eval_frame_rate,train_frame_rate,train_exploration_epsilon,normalized_return,"
    "capped_normalized_return,human_gap"
)


def write_monitor(
    path: Path,
    games: Iterable[tuple[float, int, float]],
    environment: str | None = "BreakoutNoFrameskip-v4",
    t_start: float = 1000.0,
) -> Path:
    """`games` as score, length and seconds; lines end as Python's csv module ends them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "#" + json.dumps({"t_start": t_start, "env_id": environment})
    rows = [f"{score},{length},{seconds}" for score, length, seconds in games]
    path.write_text("".join([f"{header}\n", *(f"{line}\r\n" for line in ["r,l,t", *rows])]), newline="")
    return path


def write_dopamine(path: Path, runs: Iterable[tuple[str, Sequence[float]]]) -> Path:
    """`runs` as agent and the mean score of each iteration."""
    points = [
        {"Iteration": iteration, "Value": value, "Agent": agent}
        for agent, values in runs
        for iteration, value in enumerate(values)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(points, indent=1))
    return path


def write_dqn_zoo(path: Path, phases: Iterable[tuple[str, int, int, str]]) -> Path:
    """`phases` as game, seed, iteration and score."""
    lines = [
        f"{game},{seed},{iteration},{iteration * 1_000_000},{score},1.0,30,90,800,400,0.1,0.5,0.5,0.5"
        for game, seed, iteration, score in phases
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([DQN_ZOO_COLUMNS, *lines]) + "\n")
    return path


def write_nnabla_rl(path: Path, means: Iterable[tuple[int, float]]) -> Path:
    """`means` as iteration and mean score of an evaluation."""
    lines = [f"{iteration}\t{mean:.3f}\t43.542\t160.000\t330.000\t240.000" for iteration, mean in means]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["iteration\tmean\tstd_dev\tmin\tmax\tmedian", *lines]) + "\n")
    return path
