"""Memory in the plans that documents show is what the plan says today; places are the reader's own machines.

Not here: whether their commands would start (`tests.test_docs`).
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cluster.placement import Offer
from pipeline.config.overrides import compose
from pipeline.experiments.plan import make_plan
from tests.test_docs import CHECKOUT, DOCUMENTS

SHOWN = re.compile(r"^```\n((?:(?!^```).*\n)*)```\n\n```text\n(plan of .*\n(?:(?!^```).*\n)*)", re.MULTILINE)
"""Commands, and what the last of them printed."""
MEMORY = re.compile(r"^│ ([\w-]+) +│.*│ +([\d,]+) MiB │", re.MULTILINE)
IN_ALL = re.compile(r"([\d.]+ GiB in all, [\d.]+) of them")


def shown_plans() -> Iterator[tuple[Path, list[str], str]]:
    """Document, words of the command, what is shown below."""
    for document in DOCUMENTS:
        for block, shown in SHOWN.findall(document.read_text()):
            *_, last = block.replace("\\\n", " ").splitlines()
            yield document.relative_to(CHECKOUT), shlex.split(last, comments=True)[3:], shown


def planned(words: list[str]) -> tuple[dict[str, str], str]:
    """Role -> MiB, and the sum, on hosts that have room for everything."""
    config = compose([word for word in words if word != "plan=true"])
    hosts = [Offer(f"host-{i}", f"machine-{i}", 9, 2**40, 9, num_gpus=1) for i in range(9)]
    plan = make_plan(config, hosts)
    (in_all,) = IN_ALL.findall(" ".join(plan.remarks(config)))
    return {demand.role: f"{demand.memory_bytes / 2**20:,.0f}" for demand in plan.demands}, in_all


SHOWN_PLANS = list(shown_plans())


def test_plans_are_shown() -> None:
    assert len(SHOWN_PLANS) >= 7


@pytest.mark.parametrize(("document", "words", "shown"), SHOWN_PLANS, ids=[str(plan[0]) for plan in SHOWN_PLANS])
def test_memory_of_a_plan_that_is_shown_is_what_the_plan_says(document: Path, words: list[str], shown: str) -> None:
    memory, in_all = planned(words)
    assert (dict(MEMORY.findall(shown)), IN_ALL.findall(shown)) == (memory, [in_all])
