"""What a protocol is, as far as rows do not tell it, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.overrides import compose
from pipeline.evaluation.protocol import ALWAYS, EvaluationConfig
from tests.protocols import nature_protocol

CONF = Path(__file__).resolve().parents[2] / "conf" / "evaluation"
PROTOCOL = EvaluationConfig("noop_starts", 30, 0.05, "greedy", None, None, nature_protocol())


@pytest.mark.parametrize("name", [file.stem for file in sorted(CONF.glob("*.yaml"))])
def test_what_rows_do_not_tell_is_the_same_in_the_files_of_all_protocols(name: str) -> None:
    # Games that look as each protocol wants them.
    experiment = "dba3c_paper" if name in ("ba3c_50", "smoke_ba3c") else "smoke_dqn"
    points = [f"evaluation.start_states={Path(__file__)}"] if name == "start_states" else []
    protocol = compose([f"experiment={experiment}", "game=Pong", f"evaluation={name}", *points]).evaluation
    told = {setting: getattr(protocol.environment, setting) for setting in ("fire_on_reset", "max_pool")}
    assert ALWAYS[protocol.protocol] == told


def test_another_value_of_what_rows_do_not_tell_wants_another_name() -> None:
    pressing = replace(PROTOCOL, environment=replace(PROTOCOL.environment, fire_on_reset=True))
    (mistake,) = pressing.mistakes()
    assert mistake.startswith("environment.fire_on_reset=true is not noop_starts, and rows do not tell it")
    assert replace(pressing, protocol="mine").mistakes() == PROTOCOL.mistakes() == []
