"""TensorBoard's event files, read back with TensorBoard's own reader."""

from pathlib import Path
from typing import NamedTuple

from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData


class Point(NamedTuple):
    step: int
    value: float
    wall_time: float


def read_hyper_parameters(folder: Path) -> tuple[dict[str, float | str | bool], list[str]]:
    """Name -> value of the settings in a folder of event files, and the tags of their metrics."""
    read = EventAccumulator(str(folder)).Reload().PluginTagToContent("hparams")
    of_session = HParamsPluginData.FromString(read["_hparams_/session_start_info"]).session_start_info.hparams
    described = HParamsPluginData.FromString(read["_hparams_/experiment"]).experiment.metric_infos
    values = {name: getattr(value, value.WhichOneof("kind")) for name, value in of_session.items()}
    return values, [info.name.tag for info in described]


def read_events(folder: Path) -> dict[tuple[str, str], list[Point]]:
    """(source, tag) -> points as TensorBoard would draw them, of every folder of event files below `folder`."""
    found = {}
    for source in sorted(path for path in folder.iterdir() if path.is_dir()):
        events = EventAccumulator(str(source), size_guidance={SCALARS: 0}).Reload()
        for tag in events.Tags()[SCALARS]:
            points = events.Scalars(tag)
            found[source.name, tag] = [Point(point.step, point.value, point.wall_time) for point in points]
    return found
