"""What a resumed run says of its replay."""

from pathlib import Path

from pipeline.config.overrides import compose
from pipeline.experiments.specs import how_replays_go_on


def test_a_replay_that_is_kept_and_was_never_saved_is_not_said_to_go_on(tmp_path: Path) -> None:
    config = compose(["experiment=smoke_gorila", "game=Pong", "checkpoint.replay=true", f"results_dir={tmp_path}"])
    start = config.folder / "checkpoints" / "replay" / "bundle-0" / "000000001001"
    (start / "frames").mkdir(parents=True)  # the first save had not ended
    assert how_replays_go_on(config) == "no replay was saved so far: it is filled anew before learning goes on"
    (start / "state.npz").touch()
    assert how_replays_go_on(config) == "the replay goes on as it was saved"
