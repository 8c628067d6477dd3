"""The page of all experiments is what conf/ and the reference runs make of it."""

from docs import experiments_table


def test_the_page_has_every_experiment_as_it_is_now() -> None:
    page = experiments_table.PAGE.read_text(encoding="utf-8")
    assert experiments_table.table() in page, "write it anew: python docs/experiments_table.py"
