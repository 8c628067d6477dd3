"""What travels for a slice."""

import pytest

from pipeline.config.overrides import compose
from pipeline.experiments.plan import network_of
from studies.gorila_growth.slice_bytes import factors_of, slice_bytes

RUN = ("experiment=gorila", "game=Pong")


def test_numbers_are_as_many_as_the_slice_has() -> None:
    push, pull = slice_bytes(compose([*RUN, "param_server.wire_dtype=bfloat16"]), 64)
    assert push.of(1000) == pull.of(1000) == 2000.0


def test_each_shard_gets_one_factor_whole_and_its_part_of_all_else() -> None:
    config = compose([*RUN, "param_server.wire=factors"])
    size, batch_size = network_of(config).num_parameters, 32
    push, pull = slice_bytes(config, 2)
    others = size - 512 * 3136
    # The whole vector to one shard, to the byte.
    assert push.of(size) == pytest.approx(4 * (others + batch_size * (512 + 3136)))
    assert push.fixed == pytest.approx(4 * batch_size * 3136, rel=0.01)
    assert pull.of(size) == 4 * size


def test_a_network_that_leaves_its_gradient_to_autograd_has_no_factors() -> None:
    with pytest.raises(ValueError, match=r"param_server\.wire=dense"):
        factors_of(network_of(compose(["experiment=gorila", "game=Pong", "network.noisy=true"])), 32)
