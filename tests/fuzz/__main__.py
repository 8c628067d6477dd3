"""`python -m tests.fuzz [rounds] [seed]`: the exit status is 1 if a file ended in anything but a sentence."""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzz.campaign import FAULT, campaign, table

_MOST_SHOWN = 10


def main() -> int:
    """Run it and print what came of it."""
    rounds, seed = (int(word) for word in (*sys.argv[1:], *("200", "0")[len(sys.argv) - 1 :]))
    counts: Counter[tuple[str, str]] = Counter()
    shown = 0
    with tempfile.TemporaryDirectory() as folder:
        for one in campaign(Path(folder), rounds, seed):
            counts[one.kind, one.result] += 1
            if one.result == FAULT and (shown := shown + 1) <= _MOST_SHOWN:
                print(f"{one.kind}, {one.damage}, number {one.seed}: {one.text}")
    print(table(counts))
    return 1 if any(result == FAULT for _, result in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
