"""CleanRL's DQN, `cleanrl/dqn_atari.py` of a checkout as it is: `python -m benchmarks.peers.drivers.cleanrl CHECKOUT`.

The script is run unchanged, with its own options. It prints its speed at every hundredth step from the first update on;
that line tells how far it is, and is not read further, for its number is a mean from the start.
"""

import argparse
import contextlib
import hashlib
import io
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ale_py  # noqa: F401  # registers the games, which the script leaves to an older version
import gymnasium
import torch

from benchmarks.peers.progress import Progress, say, say_facts

STEPS_PER_LINE = 100
STEPS_PER_UPDATE = 4
"""The script's default, as its batch of 32."""


class Listener(io.TextIOBase):
    """What the script prints, read as it comes."""

    def __init__(self, learning_starts: int, tell: Callable[[int, int], None]) -> None:
        """`tell(steps, updates)` is called with each line about speed."""
        self._learning_starts = learning_starts
        self._tell = tell
        # The first multiple of 100 above `learning_starts`.
        self._steps = learning_starts // STEPS_PER_LINE * STEPS_PER_LINE
        self._line = ""

    def write(self, text: str) -> int:
        """Take what was printed, which may be a part of a line."""
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if line.startswith("SPS:"):
                self._steps += STEPS_PER_LINE
                self._tell(self._steps, (self._steps - self._learning_starts) // STEPS_PER_UPDATE)
        return len(text)


def main() -> None:
    """Train until somebody ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--replay", type=int, default=20_000)
    parser.add_argument("--learning-starts", type=int, default=1_000)
    parser.add_argument("--epsilon", type=float, default=0.1)
    chosen = parser.parse_args()
    script = chosen.checkout / "cleanrl" / "dqn_atari.py"
    say_facts(
        library=f"cleanrl dqn_atari.py {hashlib.sha256(script.read_bytes()).hexdigest()[:12]}",
        peer_torch=torch.__version__,
        peer_gymnasium=gymnasium.__version__,
        compute_threads=torch.get_num_threads(),
    )
    words = f"--env-id {chosen.game}NoFrameskip-v4 --buffer-size {chosen.replay} --no-cuda"
    words += f" --learning-starts {chosen.learning_starts} --start-e {chosen.epsilon} --end-e {chosen.epsilon}"
    sys.argv = [str(script), *words.split()]
    sys.path.insert(0, str(chosen.checkout))
    stdout = sys.stdout

    def tell(steps: int, updates: int) -> None:
        with contextlib.redirect_stdout(stdout):
            say(Progress(time.monotonic(), steps, updates))

    with contextlib.redirect_stdout(Listener(chosen.learning_starts, tell)):
        runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
