"""Names, numbers and counts as sentences have them."""

from __future__ import annotations

import altair as alt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_graded import _sentences
from polars_graded._drawing.panels import add_title
from polars_graded._sentences.titles import TitleFacts, title_means, title_wins

SAID = [
    (_sentences.shorten_name("two\n lines"), "two lines"),
    (_sentences.shorten_name(""), "''"),
    (_sentences.shorten_name("x" * 21 + "y" * 20), "x" * 19 + "…" + "y" * 20),
    (_sentences.format_short(0.12345), "0.123"),
    (_sentences.format_short(999.9), "1,000"),
    (_sentences.format_short(1234.5), "1,234"),
    (_sentences.format_count(1, "queries"), "1 query"),
    (_sentences.format_count(1, "strategies"), "1 strategy"),
    (_sentences.format_count(0, "rows"), "0 rows"),
    (_sentences.format_part(3, 4, "measures"), "3 of 4 measures"),
    (_sentences.format_part(0, 4, "measures"), "none of 4 measures"),
    (_sentences.format_part(0, 1, "measures"), "no measure"),
    (_sentences.format_part(2, 2, "measures"), "both measures"),
    (_sentences.format_part(1, 1, "queries"), "the query"),
    *((_sentences.format_p(p), said) for p, said in ((0.00099, "< 0.001"), (0.0496, "0.0496"))),
    (_sentences.format_p(None), "–"),
    (_sentences.name_interval(0.95), "95 % interval"),
    (_sentences.name_interval(None), "interval"),
    (_sentences.format_percent(0.0004), "< 0.1 %"),
    (_sentences.format_percent(0.12345), "12.3 %"),
    (_sentences.format_percent(0.9996), "> 99.9 %"),
    (_sentences.format_p(1.0), "1"),
    (_sentences.format_p(0.9999), "0.9999"),
    (_sentences.conjugate(1, "have the best mean in"), "has the best mean in"),
    (_sentences.conjugate(2, "lead at"), "lead at"),
    (_sentences.conjugate(1, "retrieved nothing"), "retrieved nothing"),
    (title_wins(["p", "q"], [0, 1], 1), "q beats p in the only query"),
    (title_wins(["p", "q"], [0, 0], 1), "p and q are equal in the only query"),
]


@pytest.mark.parametrize(("said", "expected"), SAID)
def test_what_is_said(said, expected):
    assert said == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.1235"),
        (0, "0.0000"),
        (5e-17, "0.0000"),  # a rounding error
        (0.001, "0.0010"),
        (-4.3321e-6, "−4.33e−06"),
    ],
)
def test_small_numbers_are_not_written_as_zero(value, text):
    assert _sentences.format_number(value) == text


def test_names_that_differ_in_the_middle_keep_this_part():
    model = "cross-encoder/ms-marco-MiniLM-L-{}-v2 reranked top-100 with query expansion"
    short = _sentences.shorten_names([model.format(1), model.format(10), "bm25"], 20)
    assert short == ["…LM-L-1-v2 reranked…", "…LM-L-10-v2 reranke…", "bm25"]
    assert max(map(len, short)) == 20


@given(st.lists(st.text("ab-_ ", max_size=60), max_size=6), st.integers(12, 40))
def test_shortened_names_are_as_different_as_the_names(names, most):
    lines = [" ".join(name.split()) or "''" for name in names]
    short = _sentences.shorten_names(names, most)
    assert len({*short}) == len({*lines})
    assert short == lines or max(map(len, lines)) > most


def test_means_of_no_measures_are_not_those_of_pairs():
    assert title_means(TitleFacts([], 3, 0, [9])) == "Means of 3 strategies by 0 measures"


WORDS = st.lists(st.text("ab-.", min_size=1, max_size=30), min_size=1, max_size=9).map(" ".join)
"""Words of texts, with as many as fit into a line and more."""


@given(st.lists(WORDS | WORDS.map("({})".format), min_size=1, max_size=9).map(" ".join))
def test_no_line_of_a_title_breaks_inside_of_parentheses(text):
    chart = alt.Chart()
    add_title(chart, text, [text])
    title = chart.title.to_dict()
    lines = title["text"] if isinstance(title["text"], list) else [title["text"]]
    for each in (lines, title["subtitle"]):
        assert " ".join(each) == text
        assert all(line.count("(") == line.count(")") for line in each)
