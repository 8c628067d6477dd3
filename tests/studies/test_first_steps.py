"""Which filters and units count as on, and one real run."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from studies import first_steps
from studies.first_steps import FirstStepsRow, first_steps_table, shares_on


def test_what_answers_the_same_everywhere_is_off() -> None:
    units = torch.nn.Linear(1, 4)
    with torch.no_grad():
        # Always 0, always 2, told apart, told apart by a rounding error.
        units.weight.copy_(torch.tensor([[1.0], [0.0], [1.0], [1e-9]]))
        units.bias.copy_(torch.tensor([-9.0, 2.0, 0.0, 1.0]))
    assert shares_on(torch.nn.Sequential(units, torch.nn.ReLU()), torch.tensor([[0.0], [1.0]])) == [0.25]


def test_a_filter_that_tells_places_apart_is_on() -> None:
    filters = torch.nn.Conv2d(1, 2, 1, bias=False)
    with torch.no_grad():
        filters.weight.copy_(torch.tensor([1.0, -1.0]).view(2, 1, 1, 1))
    assert shares_on(torch.nn.Sequential(filters, torch.nn.ReLU()), torch.tensor([[[[0.0, 1.0]]]])) == [0.5]


def test_a_network_before_its_first_update_counts_once_whatever_comes_after() -> None:
    rows = [
        FirstStepsRow("Pong", 0, sums, updates, *(share,) * 4)
        for sums, updates, share in ((0.0, 0, 0.5), (0.0, 250, 0.2), (1e-5, 0, 0.5), (1e-5, 250, 0.4))
    ]
    table = first_steps_table(pd.DataFrame(rows).assign(commit="abc"))
    assert "| before the first update | 1 | 50% (50%) |" in table
    assert "| 0 | 1 | 20% (20%) |" in table and "| 1e-05 | 1 | 40% (40%) |" in table


@pytest.mark.slow
def test_a_run_gives_a_row_before_its_first_update_and_one_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_steps, "SEEDS", (0,))
    monkeypatch.setattr(first_steps, "ACCUMULATORS", (0.0,))
    first_steps.main(["--games", "Pong", "--output", str(tmp_path)])
    begun, learned = first_steps.row_file(tmp_path).frame().to_dict("records")
    assert begun["updates"] == 0 < learned["updates"]
    assert all(0 < row[layer] <= 1 for row in (begun, learned) for layer in first_steps.LAYERS)
    assert learned["first_convolution"] < begun["first_convolution"]
