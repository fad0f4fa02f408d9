"""Comparing strategies: what is said of each pair, defined at every edge."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from polars.testing import assert_frame_equal
from results import FRAME, close, compared, drawn, frame_of, of_few

from polars_graded import compare, differences, evaluate, paper_table, rank_strategies, summarise
from polars_graded._results.significance import CORRECTIONS, TESTS

pytestmark = of_few

COLUMNS = [
    *("measure", "strategy", "baseline", "queries", "best"),
    *("mean", "baseline_mean", "relative_difference", "d_z", "wins", "ties", "losses"),
    *("test", "correction", "p_value", "simultaneous_low", "simultaneous_high", "confidence"),
    *("difference", "ci_low", "ci_high", "p_corrected"),
]
"""What decides stands first and last, which is what Polars prints of so many."""


def test_pairs_are_all_with_the_baseline_or_each_once():
    frame = frame_of(drawn(9, 3)).with_columns(ndcg=pl.col("ap") / 2)
    of_baseline = compare(frame.reverse(), baseline="s1")  # strategies in the order of the rows
    assert of_baseline.select("measure", "strategy", "baseline").rows() == [
        ("ap", "s2", "s1"),
        ("ap", "s0", "s1"),
        ("ndcg", "s2", "s1"),
        ("ndcg", "s0", "s1"),
    ]
    of_all = compare(frame, "ndcg", "ap")
    assert of_all["measure"].to_list() == ["ndcg"] * 3 + ["ap"] * 3
    pairs = [("s0", "s1"), ("s0", "s2"), ("s1", "s2")]
    assert of_all.select("strategy", "baseline").rows() == pairs * 2
    assert of_all.columns == COLUMNS
    counts = ("queries", "wins", "ties", "losses")
    floats = of_all.drop("measure", "strategy", "baseline", "best", "test", "correction", *counts)
    assert set(floats.dtypes) == {pl.Float64}
    assert set(of_all.select(counts).dtypes) == {pl.UInt32}


def test_a_measure_that_is_best_at_its_lowest_is_won_by_the_lower():
    values = {"a": [0.1, 0.1, 0.5], "b": [0.3, 0.2, 0.5]}
    frame = frame_of(values, "e_measure(b=2)@10")
    [row] = compare(frame).rows(named=True)
    assert (row["wins"], row["ties"], row["losses"]) == (2, 1, 0)
    assert row["difference"] == close(-0.1)
    by_query = differences(frame, "e_measure(b=2)@10", "a", "b")
    assert by_query.sort("query")["winner"].to_list() == ["a", "a", None]


# Edges. Warnings are errors, so none leaks.

NOTHING = ("ci_low", "ci_high", "d_z", "p_value", "p_corrected")


@pytest.mark.parametrize("test", TESTS)
def test_fewer_than_two_queries_say_nothing(test):
    [row] = compared({"a": [0.5], "b": [0.25]}, test=test)
    assert (row["queries"], row["difference"], row["wins"]) == (1, 0.25, 1)
    assert [row[name] for name in NOTHING] == [None] * 5
    [row] = compared({"a": [0.5, None], "b": [None, 0.25]}, test=test, missing="drop")
    assert (row["queries"], row["wins"], row["ties"], row["losses"]) == (0, 0, 0, 0)
    means = ("mean", "baseline_mean", "difference", "relative_difference")
    assert [row[name] for name in (*means, *NOTHING)] == [None] * 9


@pytest.mark.parametrize("n_queries", [2, 10, 60])
@pytest.mark.parametrize("test", TESTS)
def test_all_ties_have_p_1(test, n_queries):
    same = [i / n_queries for i in range(n_queries)]
    [row] = compared({"a": same, "b": same}, test=test)
    assert (row["difference"], row["ties"], row["d_z"]) == (0, n_queries, None)
    assert (row["p_value"], row["p_corrected"]) == (1, 1)
    if test == "randomised_tukey":
        assert (row["ci_low"], row["ci_high"]) == (0, 0)
    else:
        assert (row["ci_low"], row["ci_high"]) == (None, None)


CONSTANT = {"t": None, "permutation": 2 / 2**8}


@pytest.mark.parametrize("test", CONSTANT)
def test_differences_that_are_all_the_same(test):
    # Binary fractions of a tenth are not quite the same.
    values = {"a": [0.1 * i + 0.1 for i in range(8)], "b": [0.1 * i for i in range(8)]}
    [row] = compared(values, test=test)
    assert (row["wins"], row["d_z"], row["ci_low"], row["ci_high"]) == (8, None, None, None)
    assert row["p_value"] == (None if CONSTANT[test] is None else close(CONSTANT[test]))


def test_rounding_is_not_a_win():
    thirds = [(0.1 + 0.2) + 0.3, 0.5, 0.7]
    other = [0.1 + (0.2 + 0.3), 0.5, 0.6]
    assert thirds[0] != other[0]
    [row] = compared({"a": thirds, "b": other})
    assert (row["wins"], row["ties"], row["losses"]) == (1, 2, 0)


def test_a_baseline_of_mean_0_has_no_relative_difference():
    [row] = compared({"a": [0.5, 0.25], "b": [0.0, 0.0]})
    assert (row["difference"], row["relative_difference"]) == (0.375, None)


ColumnNotFound = pl.exceptions.ColumnNotFoundError

ERRORS = [
    (["app"], {}, ColumnNotFound, r"no column 'app'; it has .*\n\nHint: did you mean 'ap'"),
    ([3], {}, TypeError, "`measures` must"),
    ([], {"query": "topic"}, ColumnNotFound, "no column 'topic'; it has"),
    (
        ["curve"],
        {},
        TypeError,
        r"'curve' must be one number per query, got List.*\n\nHint: name the measure at",
    ),
    (["note"], {}, TypeError, "measure 'note' must be one number per query, got String$"),
    (["ap", "ap"], {}, ValueError, "each column must be named once, got ap, ap"),
    ([], {"missing": "skip"}, ValueError, "`missing` must"),
    ([], {"baseline": "s9"}, ValueError, "no strategy 's9'.*; there are 's0', 's1', 's2'"),
    ([], {"test": "z"}, ValueError, "`test` must"),
    ([], {"test": "randomised_tukey", "correction": "holm"}, ValueError, "`correction` must"),
    ([], {"confidence": 95}, ValueError, "`confidence` must"),
    ([], {"rope": -0.1}, ValueError, "`rope` must"),
    ([], {"segments": 3}, TypeError, "`segments` must"),
]


@pytest.mark.parametrize(("measures", "options", "exception", "sentence"), ERRORS)
def test_compare_refuses_what_it_cannot_take(measures, options, exception, sentence):
    with pytest.raises(exception, match=sentence):
        compare(FRAME, *measures, **options)


# Several baselines, segments, practical equivalence.


def test_several_baselines_are_each_compared_with_all_others_once():
    frame = frame_of(drawn(9, 4))
    result = compare(frame, baseline=["s2", "s0"])
    pairs = [("s0", "s2"), ("s1", "s2"), ("s3", "s2"), ("s1", "s0"), ("s3", "s0")]
    assert result.select("strategy", "baseline").rows() == pairs
    one = compare(frame, baseline="s2")
    assert result["p_value"].to_list()[:3] == one["p_value"].to_list()
    # The family is all five.
    assert result["p_corrected"].to_list() == close(
        CORRECTIONS["holm"].correct(result["p_value"].to_numpy()).tolist()
    )
    assert compare(frame, baseline=["s2"]).equals(one)
    for wrong in ([], ["s1", "s1"]):
        with pytest.raises(
            ValueError, match="`baseline` must name at least one strategy, and none twice"
        ):
            compare(frame, baseline=wrong)


def with_countries():
    """The six first queries in one country and the nine others in another."""
    country = pl.when(pl.col("query") < 6).then(pl.lit("de")).otherwise(pl.lit("at"))
    frame = frame_of(drawn(15, 3)).with_columns(country=country)
    return frame.with_columns(ndcg=pl.col("ap") ** 2)


@pytest.mark.parametrize("test", TESTS)
def test_segments_are_compared_each_by_itself(test):
    frame = with_countries()
    options = {"test": test, "correction": "none", "resamples": 100}
    result = compare(frame, segments="country", **options)
    assert result.columns == [COLUMNS[0], "country", *COLUMNS[1:]]
    keys = result.select("measure", "country").unique(maintain_order=True).rows()
    assert keys == [("ap", "at"), ("ap", "de"), ("ndcg", "at"), ("ndcg", "de")]
    for country in ("at", "de"):
        part = frame.filter(country=country).drop("country")
        assert_frame_equal(result.filter(country=country).drop("country"), compare(part, **options))


def test_the_family_of_segments_is_all_rows_of_a_measure():
    result = compare(with_countries(), segments=["country"], correction="bonferroni")
    assert result["p_corrected"].to_list() == close(
        result.select((pl.col("p_value") * 6).clip(upper_bound=1)).to_series().to_list()
    )
    for row in result.iter_rows(named=True):
        clear = row["simultaneous_low"] > 0 or row["simultaneous_high"] < 0
        assert clear == (row["p_corrected"] <= 0.05)


# Made by baycomp 1.0.3: Posterior(mean, variance / n, n - 1, rope).probs().
BAYCOMP = {
    0.01: (0.01196863687680581, 0.09907304625318403, 0.8889583168700101),
    0.03: (0.0015724723927902043, 0.5716197382468218, 0.426807789360388),
    0.1: (1.2523161152928103e-05, 0.9995583133727634, 0.00042916346608368183),
}


@pytest.mark.parametrize("rope", BAYCOMP)
def test_practical_equivalence_is_baycomps(rope):
    values = {
        "a": [0.52, 0.61, 0.33, 0.74, 0.28, 0.90, 0.47, 0.66],
        "b": [0.49, 0.63, 0.30, 0.70, 0.29, 0.81, 0.47, 0.60],
    }
    names = ["probability_worse", "probability_equal", "probability_better"]
    [row] = compared(values, rope=rope)
    assert [row[name] for name in names] == pytest.approx(BAYCOMP[rope], rel=1e-9, abs=1e-12)
    lowest = compare(frame_of(values, "e_measure@10"), rope=rope).select(names[::-1])
    assert lowest.row(0) == pytest.approx(BAYCOMP[rope], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("call", [summarise, compare, rank_strategies, paper_table])
def test_measures_may_be_a_list(call):
    frame = frame_of(drawn(20, 3)).with_columns(ndcg=pl.col("ap") ** 2)
    one_by_one, together = call(frame, "ndcg", "ap"), call(frame, ["ndcg", "ap"])
    assert str(one_by_one) == str(together)
    assert str(call(frame, ["ndcg"], {"ap": "highest"})) == str(one_by_one)


def test_a_summary_is_what_numpy_and_scipy_say():
    values = drawn(20, 3)
    frame = frame_of(values).with_columns(ndcg=pl.col("ap") ** 2)
    result = summarise(frame, "ndcg", "ap", confidence=0.9)
    inner = ["median", "geometric_mean", "best", "confidence"]
    shown = ["mean", "std", "ci_low", "ci_high"]
    assert result.columns == ["measure", "strategy", "queries", *inner, *shown]
    assert result.select("best", "confidence").unique().rows() == [("highest", 0.9)]
    assert result["measure"].to_list() == ["ndcg"] * 3 + ["ap"] * 3
    for row in result.filter(measure="ap").iter_rows(named=True):
        x = np.array(values[row["strategy"]])
        interval = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
        assert row["queries"] == 20
        assert row["mean"] == close(x.mean())
        assert row["std"] == close(x.std(ddof=1))
        assert row["median"] == close(np.median(x))
        assert row["geometric_mean"] == close(scipy.stats.gmean(np.maximum(x, 1e-5)))
        assert (row["ci_low"], row["ci_high"]) == (close(interval.low), close(interval.high))


def test_the_geometric_mean_counts_0_as_trec_eval_does():
    [row] = summarise(frame_of({"a": [0.0, 0.1]})).rows(named=True)
    assert row["geometric_mean"] == close(math.sqrt(0.00001 * 0.1))


def test_differences_of_a_strategy_from_itself_are_refused():
    with pytest.raises(ValueError, match="`a` and `b` must be two strategies, got 's1' twice"):
        differences(FRAME, "ap", "s1", "s1")


# The table of a paper.

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
    escaped = r"b & a\textbar{}b\_\textless{}\textbackslash{}\& &"
    assert escaped in paper_table(odd, "ap", format="latex")


def test_a_table_of_one_strategy_has_no_letters():
    one = paper_table(PER_QUERY.filter(strategy="old"), "ap", caption=False)
    assert one.splitlines() == ["| strategy | ap |", "|---|---|", "| old | **0.420** |"]


def test_the_table_of_the_book_is_what_comes_out(ohsumed):
    per_query = evaluate(ohsumed, "mu_ap", "ndcng@10", by=["f1", "f5", "f9", "f21"], ties="order")
    result = compare(per_query, baseline="f5")
    page = Path(__file__).parent.parent / "notebooks/book/how-to/comparing.md"
    text = page.read_text(encoding="utf-8")
    assert result["p_corrected"].max() < 0.0001
    for row in result.iter_rows(named=True):
        numbers = [f"{row[name]:.3f}" for name in ("mean", "baseline_mean", "difference")]
        interval = f"{row['ci_low']:.3f} to {row['ci_high']:.3f}"
        counts = f"{row['wins']}, {row['ties']}, {row['losses']}"
        cells = [row["measure"], row["strategy"], *numbers, interval, f"{row['d_z']:.3f}", counts]
        assert f"| {' | '.join(cells)} |" in text
