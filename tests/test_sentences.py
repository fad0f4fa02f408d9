"""Names, numbers and counts as sentences have them."""

from __future__ import annotations

import pytest

from polars_graded import _sentences

SAID = [
    (_sentences.name_said("two\n lines"), "two lines"),
    (_sentences.name_said(""), "''"),
    (_sentences.name_said("x" * 21 + "y" * 20), "x" * 19 + "…" + "y" * 20),
    (_sentences.listed(["a"]), "a"),
    (_sentences.listed(["a", "b", "c"]), "a, b and c"),
    (_sentences.listed(["a", "b", "c", "d", "e"]), "a, b and 3 others"),
    (_sentences.in_a_row(["a", "b"], "or"), "a or b"),
    (_sentences.short(0.12345), "0.123"),
    (_sentences.short(1234.5), "1,234"),
    (_sentences.counted(1, "queries"), "1 query"),
    (_sentences.counted(1, "strategies"), "1 strategy"),
    (_sentences.counted(0, "rows"), "0 rows"),
    (_sentences.of_all(3, 4, "measures"), "3 of 4 measures"),
    (_sentences.of_all(2, 2, "measures"), "both measures"),
    (_sentences.of_all(1, 1, "queries"), "the query"),
    *((_sentences.p_said(p), said) for p, said in ((0.00099, "< 0.001"), (0.0496, "0.0496"))),
    (_sentences.p_said(None), "–"),
    (_sentences.percent(0.0004), "< 0.1 %"),
    (_sentences.percent(0.12345), "12.3 %"),
    (_sentences.percent(0.9996), "> 99.9 %"),
    (_sentences.p_said(1.0), "1"),
    (_sentences.p_said(0.9999), "0.9999"),
    (_sentences.does(1, "have the best mean in"), "has the best mean in"),
    (_sentences.does(2, "lead at"), "lead at"),
    (_sentences.does(1, "retrieved nothing"), "retrieved nothing"),
    (_sentences.together(3, "pairs"), "all 3 pairs together"),
]


@pytest.mark.parametrize(("said", "expected"), SAID)
def test_what_is_said(said, expected):
    assert said == expected
