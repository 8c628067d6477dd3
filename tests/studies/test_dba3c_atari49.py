"""What is counted over 49 games, from made-up rows."""

import pandas as pd

from pipeline.results.cautions import blind_runs
from pipeline.results.load import LoadedRuns, join_runs
from studies.dba3c_atari49 import GREEDY, SAMPLED, above_table, filters_table


def loaded_with(**shares: float) -> LoadedRuns:
    """Runs that end with so many living filters, after rows with all of them."""
    rows = [
        {"experiment": "dba3c_quick", "game": game, "seed": 0, "version": version, "active_filters": active}
        for game, share in shares.items()
        for version, active in enumerate([1.0] * 20 + [share] * 10)
    ]
    # As they lie in a file: workers report in turn.
    return join_runs([])._replace(actor_critic_updates=pd.DataFrame(rows).sample(frac=1.0, random_state=0))


def test_lost_filters_are_those_that_the_report_measures() -> None:
    loaded = loaded_with(Pong=0.103, Alien=0.5, Bowling=0.04)
    assert filters_table(loaded).splitlines()[2:] == ["| Bowling | 4.0 % | yes |", "| Pong | 10.3 % | no |"]
    (warning,) = blind_runs(loaded)
    assert warning.startswith("dba3c_quick/Bowling/0: at the end 4% ")


def test_a_game_counts_once_in_either_way() -> None:
    games = pd.DataFrame({f"{GREEDY} above": ["yes", "yes", "below"], f"{SAMPLED} above": ["yes", "no", "no"]})
    counts = [line.split(" | ")[1] for line in above_table(games).splitlines()[2:]]
    assert counts == ["2 of 3 games |", "1 of 3 games |", "2 of 3 games |"]
