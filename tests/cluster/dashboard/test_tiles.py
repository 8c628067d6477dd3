"""Which job stands where in the grid, and what its tile says."""

import itertools

import pytest

from pipeline.cluster.dashboard.sweep import Job
from pipeline.cluster.dashboard.tiles import MAX_COLUMNS, Grid, arrange, text_of
from pipeline.games import ATARI49
from tests.cluster.glances import glance


def grid_of(*commands: str) -> Grid:
    return arrange({number: Job(tuple(command.split())) for number, command in enumerate(commands)})


def places(grid: Grid) -> dict[int, tuple[float, int]]:
    """Job -> column (counted from its block's first) and row."""
    firsts = sorted({label.x for label in grid.rows})
    return {tile.job: (round(tile.x - max(x for x in firsts if x <= tile.x), 6), tile.y) for tile in grid.tiles}


def rows(grid: Grid) -> list[str]:
    return [label.text for label in grid.rows]


def columns(grid: Grid) -> list[str]:
    return list(dict.fromkeys(label.text for label in grid.columns))


def test_games_are_rows_and_everything_else_that_differs_is_a_column() -> None:
    grid = grid_of(
        "experiment=gorila game=Alien seed=0 budget.frames=6000",
        "experiment=gorila game=Alien seed=1 budget.frames=6000",
        "experiment=gorila game=Pong seed=0 budget.frames=6000",
        "experiment=gorila game=Pong seed=1 budget.frames=6000",
    )
    assert rows(grid) == ["Alien", "Pong"]
    assert columns(grid) == ["gorila · seed 0", "gorila · seed 1"]
    assert [column for column, _ in places(grid).values()] == [0, 1, 0, 1]


def test_49_games_of_two_experiments_stand_in_blocks_side_by_side_and_none_covers_another() -> None:
    grid = grid_of(*(f"experiment={name} game={game}" for name in ("gorila", "dba3c") for game in ATARI49))
    corners = [(tile.x, tile.y) for tile in grid.tiles]
    assert len(set(corners)) == 98 and grid.height == 17
    assert len(grid.columns) == 6 and columns(grid) == ["gorila", "dba3c"]
    assert all(x > 0 and x + 1 <= grid.width + 1e-9 and 0 <= y < grid.height for x, y in corners)
    in_one_row = sorted(x for x, y in corners if y == 0)
    assert all(after - before >= 1 - 1e-9 for before, after in itertools.pairwise(in_one_row))


def test_as_many_columns_as_have_room_make_one_block_and_more_make_a_list_of_jobs() -> None:
    seeds = [f"experiment=dqn game={game} seed={seed}" for seed in range(MAX_COLUMNS) for game in ("Alien", "Pong")]
    assert len(columns(grid_of(*seeds))) == MAX_COLUMNS and grid_of(*seeds).height == 2
    grid = grid_of(*seeds, f"experiment=dqn game=Pong seed={MAX_COLUMNS}")
    assert columns(grid) == [""] and rows(grid)[-1] == f"job 24: game=Pong seed={MAX_COLUMNS}"


def test_a_search_over_a_parameter_has_one_column_a_value_while_there_is_room() -> None:
    search = [f"game=Pong optimizer.step_size={10**-power} seed=3" for power in range(MAX_COLUMNS + 1)]
    assert columns(grid_of(*search[:2])) == ["step_size 1", "step_size 0.1"]
    assert rows(grid_of(*search))[:2] == ["job 0: step_size=1", "job 1: step_size=0.1"]


def test_jobs_that_were_asked_the_same_are_told_apart_by_number() -> None:
    assert rows(grid_of("game=Pong seed=3", "game=Pong seed=3")) == ["job 0", "job 1"]


def test_jobs_of_another_program_are_listed_by_their_overrides() -> None:
    assert rows(grid_of("x=1 y=2", "x=3 y=2")) == ["job 0: x=1", "job 1: x=3"]


def test_a_job_that_nobody_named_is_placed_by_its_glance() -> None:
    grid = arrange({4: Job(glance=glance(game="Qbert"))})
    assert rows(grid) == ["Qbert"] and columns(grid) == ["gorila"]


def test_a_sweep_without_jobs_has_an_empty_grid() -> None:
    assert grid_of() == Grid((), (), (), 0, 0)


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (Job(), ""),
        (Job(fraction=0.2), "20%"),
        (Job(glance=glance(mean_score=31.44), fraction=0.2), "31.4 · 20%"),
        (Job(glance=glance(mean_score=31.44), fraction=1.0, status="done"), "31.4"),
        (Job(glance=glance(mean_score=12345.6), fraction=1.0, status="done"), "12,346"),
        (Job(glance=glance(mean_score=31.44), final_score=28.0, fraction=1.0, status="done"), "28.0"),
        (Job(glance=glance(mean_score=None), fraction=0.2), "20%"),
        (Job(glance=glance(mean_score=1.0), fraction=0.2, status="failed"), "failed · 20%"),
    ],
)
def test_a_tile_says_the_score_and_how_far_or_that_it_failed(job: Job, text: str) -> None:
    assert text_of(job) == text


def test_trials_whose_columns_would_look_the_same_make_a_list_with_numbers_that_can_be_read() -> None:
    words = "game=Boxing experiment=smoke_dba3c optimizer.learning_rate={} algorithm.entropy_weight={}"
    grid = grid_of(words.format(0.0005176340429875835, 0.001), words.format(0.0003557849734536974, 0.05))
    assert rows(grid) == [
        "job 0: learning_rate=0.0005176 entropy_weight=0.001",
        "job 1: learning_rate=0.0003558 entropy_weight=0.05",
    ]
