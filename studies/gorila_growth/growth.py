"""Real runs that grow on this machine: `python -m studies gorila_growth.growth`.

    workers      1, 2 and 4 synchronous workers of `experiment=dba3c`, in threads
    shards       two bundles around 1 to 64 shards, in threads
    processes    the same around 1 to 64 shards of the bundles' own host processes

Bundles over 1, 2 and 4 are measured where the simulation is checked with them (`.simulation`); their rows go into the
same file. Each run is a command of its own, whose peak of memory stands beside the run's plan. A row a run goes into
results/gorila_growth/growth.csv, and runs that are there are not made again: delete rows to measure anew.
Each kind of processor has rows of its own; one that is kept to AVX2 is a kind as well (`measuring.processor`).
51 runs of half a minute: 30 minutes. `--beside other` says that the machine has something else to do.
Not here: what the simulation says (`studies.gorila_growth.simulation`), rows and heartbeats (`.senders`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from measuring.processor import KIND, kind_here, processor_here
from measuring.rounds import shuffled
from measuring.worker_speed import budget
from pipeline.config.overrides import compose
from studies.arguments import on_top
from studies.gorila_growth.grid import BFLOAT16, FACTORS, FLOAT32, PROCESSES, THREADS, Case
from studies.gorila_growth.real_runs import real_run
from studies.gorila_growth.settings import DBA3C, GAME, GORILA, NOTHING, OUTPUT, beside_of, of_bundles
from studies.row_file import RowFile

BUNDLES, WORKERS, SHARDS = "bundles", "workers", "shards"
_FRAME_SKIP = 4


@dataclass(frozen=True)
class GrowthRow:
    """One real run."""

    study: str
    """"bundles", "workers" or "shards": what grows."""
    cluster: str
    shards: str
    """"beside" or "apart"."""
    num_roles: int
    """Bundles or workers."""
    num_shards: int
    round: int
    game: str
    beside: str
    """What else the machine had to do: "nothing" or "other"."""
    processor: str
    """Its instructions and the precision, as "avx2, float32"."""
    num_parameters: int
    steps_per_second: float
    updates_per_second: float
    stale_share: float
    mean_staleness: float
    waited_share: float
    planned_bytes: int
    peak_bytes: int


def main(
    beside: str = NOTHING,
    game: str = GAME,
    num_rounds: int = 3,
    role_steps: int = 3_000,
    worker_steps: int = 12_000,
    worker_counts: Sequence[int] = (1, 2, 4),
    shard_counts: Sequence[int] = (1, 2, 4, 8, 16, 32, 64),
    clusters: Sequence[str] = (THREADS, PROCESSES),
    overrides: Sequence[str] = (),
    worker_overrides: Sequence[str] = (),
    output: Path = OUTPUT,
) -> None:
    """Measure what has no row yet; sizes take turns within a round."""
    rows = growth_rows(output).made_with(on_top([*overrides, *worker_overrides], game=(game, GAME)))
    for round_ in range(num_rounds):
        for count in shuffled(worker_counts, round_):
            own = [f"topology.num_workers={count}", budget(count, worker_steps, _FRAME_SKIP), f"game={game}"]
            words = [*DBA3C, "cluster=threads", *own, *worker_overrides]
            _run(rows, (WORKERS, THREADS, "beside", count, 2, round_), game, beside, words)
        for cluster, num_shards in shuffled(product(clusters, shard_counts), round_):
            case = Case(SHARDS, cluster, 2, num_shards)
            run_case(rows, case, "beside", round_, game, beside, role_steps, overrides)


def growth_rows(folder: Path) -> RowFile[GrowthRow]:
    """The runs that are in `folder`."""
    settings = ("study", "cluster", "shards", "num_roles", "num_shards", "round", *KIND)
    return RowFile(folder / "growth.csv", GrowthRow, settings=settings)


def run_case(
    rows: RowFile[GrowthRow],
    case: Case,
    shards: str,
    round_: int,
    game: str,
    beside: str,
    bundle_steps: int,
    overrides: Sequence[str],
) -> None:
    """A real run of so many bundles, unless its row is there. `shards`: "beside" or "apart"."""
    study = SHARDS if case.study == SHARDS else BUNDLES
    place = (study, case.cluster, shards, case.num_bundles, case.num_shards, round_)
    _run(rows, place, game, beside, [*case_words(case, shards, game), *overrides, _frames(case, bundle_steps)])


def case_words(case: Case, shards: str, game: str) -> list[str]:
    """Settings of a case on this machine."""
    place = [f"cluster={case.cluster}", f"topology.shards={shards}", f"game={game}"]
    dtype = BFLOAT16 if case.wire == BFLOAT16 else FLOAT32
    wire = ["param_server.wire=factors"] if case.wire == FACTORS else [f"param_server.wire_dtype={dtype}"]
    return [*GORILA, *place, *of_bundles(case.num_bundles, case.num_shards), *wire]


def _run(
    rows: RowFile[GrowthRow], place: tuple[str, str, str, int, int, int], game: str, beside: str, words: Sequence[str]
) -> None:
    """`place`: the first columns of a GrowthRow, whose run these words are; nothing is done if its row is there."""
    kind = processor_here(compose(words).precision)
    if not rows.has(*place, *kind_here(kind)):
        rows.append(GrowthRow(*place, game, beside, kind, **asdict(real_run(words))))


def _frames(case: Case, bundle_steps: int) -> str:
    return f"budget.frames={_FRAME_SKIP * case.num_bundles * bundle_steps}"


if __name__ == "__main__":
    main(beside_of(__doc__))
