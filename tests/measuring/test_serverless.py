"""Loops without a server."""

from measuring.serverless import rows_without_server
from pipeline.config.overrides import compose
from pipeline.experiments.specs import q_role_spec
from pipeline.interfaces import RowSink
from pipeline.param_server.shard import DirectShard
from pipeline.roles.spec import QRoleSpec


class Counting:
    """A role that only counts; the first is done after three steps, the other one never."""

    def __init__(self, spec: QRoleSpec, shard: DirectShard, is_first: bool) -> None:
        self.spec, self.shard, self.is_first = spec, shard, is_first
        self.num_steps, self.has_left = 0, False

    @property
    def done(self) -> bool:
        return self.is_first and self.num_steps == 3

    def step(self) -> None:
        self.num_steps += 1

    def close(self) -> None:
        self.has_left = True


def test_each_loop_has_a_shard_of_its_own_and_the_first_to_be_done_ends_all() -> None:
    config = compose(["experiment=gorila_quick", "game=Pong", "network.hidden_units=16"])
    made: dict[str, Counting] = {}

    def make(spec: QRoleSpec, shard: DirectShard, rows: RowSink) -> Counting:
        name = spec.place.role
        made[name] = Counting(spec, shard, name == "bundle-0")
        return made[name]

    found = rows_without_server(config, q_role_spec(config, generation=1), ["bundle-0", "bundle-1"], 7, make)
    first, second = (made[name] for name in ("bundle-0", "bundle-1"))
    assert found == [[], []] and first.num_steps == 3 and first.has_left and second.has_left
    assert first.shard is not second.shard
    assert [(one.spec.place.index, one.spec.max_steps, one.spec.param_server.num_shards) for one in made.values()] in (
        [(0, 7, 1), (1, 7, 1)],
        [(1, 7, 1), (0, 7, 1)],
    )
