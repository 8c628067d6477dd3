"""The smallest campaign over damaged files: no traceback, no other values, no code of a file run."""

from pathlib import Path

import pytest

from tests.fuzz.campaign import FAULT, SENTENCE, campaign
from tests.fuzz.files import KINDS


@pytest.mark.slow
def test_a_damaged_file_of_any_kind_is_one_sentence_or_read_as_it_was(tmp_path: Path) -> None:
    outcomes = list(campaign(tmp_path, num_rounds=2))
    assert [one for one in outcomes if one.result == FAULT] == []
    assert {one.kind for one in outcomes if one.result == SENTENCE} == set(KINDS)
