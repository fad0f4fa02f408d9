"""The table of a paper, and results whose keys need not be named."""

from __future__ import annotations

import polars as pl
import pytest

from polars_graded import compare, paper_table

pytestmark = pytest.mark.usefixtures("charts_undrawn")

PER_QUERY = pl.DataFrame(
    {
        "strategy": ["bm25"] * 5 + ["ours"] * 5 + ["old"] * 5,
        "query": [1, 2, 3, 4, 5] * 3,
        "ap": [0.25, 0.5, 0.5, 0.75, 0.25, 0.5, 0.75, 0.875, 1.0, 0.375, 0.2, 0.5, 0.4, 0.7, 0.3],
        "e_measure@5": [0.5, 0.5, 0.4, 0.3, 0.5, 0.1, 0.2, 0.1, 0.0, 0.2, 0.6, 0.5, 0.4, 0.3, 0.5],
        "price": [3] * 15,
    }
)


MARKDOWN = """\
|   | strategy | ap | e_measure@5 |
|---|---|---|---|
| a | bm25 | 0.45 | 0.44 |
| b | ours | **0.70**ᵃᶜ | **0.12**ᵃᶜ |
| c | old | 0.42 | 0.46 |"""
LATEX = r"""\begin{tabular}{llrr}
\toprule
 & strategy & ap & e\_measure@5 \\
\midrule
a & bm25 & 0.45 & 0.44 \\
b & ours & \textbf{0.70}$^{ac}$ & \textbf{0.12}$^{ac}$ \\
c & old & 0.42 & 0.46 \\
\bottomrule
\end{tabular}"""


def test_a_papers_table_has_the_best_in_bold_and_whom_it_beats():
    # By scipy's ttest_rel and Holm: ours differs from both at 0.05, bm25 and old do not differ.
    told = compare(PER_QUERY, "ap", "e_measure@5").filter(pl.col("p_corrected") <= 0.05)
    pairs = {("bm25", "ours"), ("ours", "old")}
    assert set(told.select("strategy", "baseline").rows()) == pairs
    assert paper_table(PER_QUERY, digits=2, caption=False) == MARKDOWN
    assert paper_table(PER_QUERY, digits=2, format="latex", caption=False) == LATEX
    strict = paper_table(PER_QUERY, "ap", confidence=1 - 1e-9)
    assert "| b | ours | **0.700** |" in strict


def test_a_table_of_one_pair_claims_no_correction():
    # One pair is not corrected, so the table marks a difference if the p value itself is small.
    for strategy in ("ours", "old"):
        pair = PER_QUERY.filter(pl.col("strategy").is_in(["bm25", strategy]))
        for correction in (None, "bonferroni", "none"):
            table = " ".join(paper_table(pair, "ap", correction=correction).split())
            assert "p values" not in table
            assert ("ᵃ" in table) == (compare(pair, "ap")["p_value"][0] <= 0.05)
    # Two segments are two pairs, which are corrected together.
    halves = PER_QUERY.filter(pl.col("strategy") != "old").with_columns(
        half=pl.col("query").is_in([1, 3])
    )
    assert "p values" in paper_table(halves, "ap", segments="half")


def test_a_baseline_takes_plus_and_minus():
    rows = paper_table(PER_QUERY, digits=2, baseline="ours").splitlines()
    assert rows[2:5] == [
        "| bm25 | 0.45⁻ | 0.44⁻ |",
        "| ours | **0.70** | **0.12** |",
        "| old | 0.42⁻ | 0.46⁻ |",
    ]
    assert "+ stands for significantly better than ours, - for worse" in " ".join(rows)
    better = paper_table(PER_QUERY, baseline="old", format="latex")
    assert r"ours & \textbf{0.700}$^{+}$ & \textbf{0.120}$^{+}$" in better


def test_letters_are_read_one_by_one():
    """Each letter is raised and means one strategy; beyond 25 there is none left."""
    many = pl.concat(
        PER_QUERY.filter(strategy="old").with_columns(
            strategy=pl.lit(f"s{place:02}"), ap=place * (1 + pl.col("query") / 10_000)
        )
        for place in range(26)
    )
    few = many.filter(pl.col("strategy") < "s25")
    last = paper_table(few, "ap", caption=False).splitlines()[-1]
    # Each is better than those before by 1 in every query but for rounding: the t test is sure.
    assert last == "| z | s24 | **24.007**ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸ |"
    with pytest.raises(ValueError, match=r"at most 25 strategies, .* unless `baseline` .* got 26$"):
        paper_table(many, "ap")
    assert "| s25 |" in paper_table(many, "ap", baseline="s00")


def test_a_key_that_cannot_be_told_is_asked_for():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'strategy'"):
        compare(PER_QUERY.select("query", "ap"))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'per_query'"):
        compare()


def test_names_do_not_break_a_papers_table():
    odd = PER_QUERY.with_columns(pl.col("strategy").replace("ours", r"a|b_<\&"))
    assert r"| b | a\|b_\<\\& |" in paper_table(odd, "ap")
    assert r"b & a|b\_<\textbackslash{}\& &" in paper_table(odd, "ap", format="latex")


def test_a_table_of_one_strategy_has_no_letters():
    one = paper_table(PER_QUERY.filter(strategy="old"), "ap", caption=False)
    assert one.splitlines() == ["| strategy | ap |", "|---|---|", "| old | **0.420** |"]
