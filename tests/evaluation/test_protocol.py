"""What a protocol is, as far as rows do not tell it, and what is refused."""

from pathlib import Path

import pytest

from pipeline.config.overrides import compose
from pipeline.errors import ConfigError
from pipeline.evaluation.protocol import ALWAYS, UNTOLD

CONF = Path(__file__).resolve().parents[2] / "conf" / "evaluation"


@pytest.mark.parametrize("name", [file.stem for file in sorted(CONF.glob("*.yaml"))])
def test_what_rows_do_not_tell_is_the_same_in_the_files_of_all_protocols(name: str) -> None:
    # Games that look as each protocol wants them.
    experiment = "dba3c_paper" if name in ("ba3c_50", "smoke_ba3c") else "smoke_dqn"
    points = [f"evaluation.start_states='{Path(__file__)}'"] if name == "start_states" else []
    protocol = compose([f"experiment={experiment}", "game=Pong", f"evaluation={name}", *points]).evaluation
    told = {setting: getattr(protocol.environment, setting) for setting in UNTOLD}
    assert ALWAYS[protocol.protocol] == told


def test_another_value_of_what_rows_do_not_tell_wants_another_name_unless_the_run_goes_on(tmp_path: Path) -> None:
    words = ["experiment=smoke_dqn", "game=Pong", f"results_dir={tmp_path}"]
    words += ["evaluation.environment.fire_on_reset=true"]
    told = r"evaluation\.environment\.fire_on_reset=true is not smoke, and rows do not"
    for more in ((), ("resume=true",)):
        with pytest.raises(ConfigError, match=told):
            compose([*words, *more])
    assert compose([*words, "evaluation.protocol=mine"]).evaluation.environment.fire_on_reset
    begun = compose(words[:-1]).folder
    begun.mkdir(parents=True)
    (begun / "config.yaml").touch()
    assert compose([*words, "resume=true"]).evaluation.environment.fire_on_reset
    with pytest.raises(ConfigError, match=told):
        compose([*words, "overwrite=true"])
