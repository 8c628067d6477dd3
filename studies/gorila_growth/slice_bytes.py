"""How many bytes of a push and of a pull travel for a slice of the parameters, with the wire of a run.

Numbers are as many as the slice has. Of factors each shard gets all of one and its rows of the other
(`pipeline.param_server.slices`): so many bytes whatever the size of its slice, and so many for each parameter.
Not here: what a call costs (`studies.gorila_growth.part_costs`).
"""

import numpy as np

from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.networks.network import Network
from pipeline.param_server.config import FACTORS
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.slices import sliced
from pipeline.types import FactoredGradient, FactoredSlice, SliceGradient
from studies.gorila_growth.costs import SliceBytes

_BYTES = {"float32": 4.0, "bfloat16": 2.0}


def slice_bytes(config: RunConfig, many: int) -> tuple[SliceBytes, SliceBytes]:
    """Of a push and of a pull. A factored push is a line through the whole vector and its `many`th part, on average."""
    server = config.param_server
    dense = SliceBytes(0.0, _BYTES[server.wire_dtype])
    if server.wire != FACTORS:
        return dense, dense
    assert config.replay is not None, "bundles have a replay"
    network = network_of(config)
    gradient, size = factors_of(network, config.replay.batch_size), network.num_parameters
    whole, part = (
        sum(num_bytes(one) for one in sliced(gradient, ParamLayout(size, count), server.wire_dtype)) / count
        for count in (1, many)
    )
    per_param = (whole - part) / (size - size / many) if many > 1 else 0.0
    return SliceBytes(whole - per_param * size, per_param), dense


def factors_of(network: Network, batch_size: int) -> FactoredGradient:
    """A gradient of zeros in the shape that a minibatch leaves. Raises ValueError for one that has no factors."""
    if network.plain_layers is None:
        raise ValueError("the gradient of this network is autograd's and has no factors: param_server.wire=dense")
    names = [shape.name for shape in network.shapes]
    layer = names.index(f"{network.plain_layers.hidden}.weight")
    num_units, num_inputs = network.shapes[layer].shape
    return FactoredGradient(
        np.zeros(network.num_parameters - network.shapes[layer].size, np.float32),
        sum(shape.size for shape in network.shapes[:layer]),
        np.zeros((batch_size, num_units), np.float32),
        np.zeros((batch_size, num_inputs), np.float32),
    )


def num_bytes(gradient: SliceGradient) -> int:
    """Of the arrays that travel."""
    arrays = (gradient.rest, gradient.delta, gradient.inputs) if isinstance(gradient, FactoredSlice) else (gradient,)
    return sum(array.nbytes for array in arrays)
