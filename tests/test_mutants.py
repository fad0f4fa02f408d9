"""The pieces of code in which `tests.mutants` plants bugs."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.piece}")
def test_the_piece_is_in_the_file_exactly_once(mutant: Mutant) -> None:
    code = (ROOT / "polars_graded" / mutant.file).read_text(encoding="utf-8")
    assert code.count(mutant.piece) == 1
