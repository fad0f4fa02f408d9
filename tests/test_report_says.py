"""What a report says: its verdict, how sure the order is, what was ranked, how it was made."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from report_page import payload
from results import frame_of, of_few

import polars_graded as pg
from polars_graded import (
    compare,
    datasets,
    evaluate,
    graded,
    join_judgments,
    overview,
    read_letor,
    read_qrels,
    read_run,
    report,
    side_by_side,
)
from polars_graded.trust import (
    discriminative_power,
    order_stability,
    queries_needed,
    unjudged_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [of_few, pytest.mark.usefixtures("charts_built_once")]
pytest.importorskip("vl_convert", reason="vl-convert is not installed")


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What the script of a report reads."""

    def made(results: pl.DataFrame, *measures: str, **options: Any) -> dict[str, Any]:
        return payload(report(results, tmp_path / "page.html", *measures, **options))

    return made


def said(page: dict[str, Any], measure: int = 0) -> str:
    """The verdict on a measure."""
    parts = page["measures"][measure]["verdict"]
    return "".join(page["strategies"][part] if isinstance(part, int) else part for part in parts)


# The verdict.

# Differences 0.25, 0.25, 0 and 0.25: their mean is 0.1875 and s = 0.125, so that t is 3 with 3
# degrees of freedom, whose two-sided p is 0.0577 (any table has 3.182 for 0.05).
FOUR = {"bm25": [0.25, 0.5, 0.5, 0.75], "ours": [0.5, 0.75, 0.5, 1.0]}


def test_a_lead_that_is_open_is_told_with_the_queries_that_would_settle_it(made):
    power = pytest.importorskip("statsmodels.stats.power", reason="statsmodels is not installed")
    solved = power.TTestPower().solve_power(effect_size=0.1875 / 0.125, alpha=0.05, power=0.8)
    needed = math.ceil(solved)
    assert 4 < needed < 10
    reach = 3.182446 * 0.125 / math.sqrt(4)
    assert said(made(frame_of(FOUR))) == (
        "No strategy is clearly first: ours has the best mean ap, 0.6875 over 4 queries, 0.1875 "
        "above that of bm25 "
        f"(95 % interval \N{MINUS SIGN}{reach - 0.1875:.4f} to {0.1875 + reach:.4f}). "
        "That difference is undecided (p = 0.0577). ours is better in 3 queries, worse in 0, and "
        f"equal in 1. If the true difference is as large as the observed one, {needed} queries "
        f"({needed - 4} more) would show it with a probability of 80 % (paired t test at 0.05). "
    )


def test_a_lead_names_the_pairs_for_which_its_interval_is_simultaneous(made):
    frame = frame_of(
        {
            "bad": [0.1, 0.2, 0.15, 0.1, 0.2, 0.1],
            "good": [0.5, 0.55, 0.6, 0.5, 0.6, 0.4],
            "near": [0.5, 0.5, 0.65, 0.45, 0.62, 0.41],
        }
    )
    text = said(made(frame))
    row = compare(frame).filter(strategy="good", baseline="near").row(0, named=True)
    low, high = row["simultaneous_low"], row["simultaneous_high"]
    assert low < row["ci_low"] < row["ci_high"] < high
    interval = f"{low:.4f} to {high:.4f}".replace("-", "\N{MINUS SIGN}")
    assert (
        f"(95 % interval {interval}, corrected by Holm's method). That difference is undecided"
        in text
    )
    assert text.startswith("No strategy is clearly first: good has the best mean ap, ")
    last = "good is significantly better than 1 of the 2 others; undecided: near. "
    assert text.endswith(last)
    text = said(made(frame.filter(pl.col("strategy") != "near")))
    assert text.startswith("good is clearly first: good has the best mean ap, ")
    assert "That difference is significant (p < 0.001)." in text
    assert "more" not in text


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"correction": "bonferroni"}, "simultaneous for all 3 pairs"),
        ({"test": "randomised_tukey"}, "simultaneous for all 3 pairs"),
        ({"correction": "holm"}, "corrected by Holm's method"),
        ({"correction": "benjamini_hochberg"}, "corrected by Benjamini and Hochberg's method"),
    ],
)
def test_intervals_are_said_to_hold_together_where_they_do(made, options, held):
    found = made(
        frame_of({"a": [0.5, 0.6, 0.7], "b": [0.4, 0.6, 0.5], "c": [0.1, 0.5, 0.6]}), **options
    )
    assert f", {held})" in said(found)
    assert ("simultaneous" in found["comparison"]["interval_note"]) == ("simultaneous" in held)


def test_against_a_baseline_the_verdict_is_about_it(made):
    frame = frame_of(
        {
            "a": [0.5, 0.55, 0.6, 0.5, 0.6, 0.4],
            "b": [0.3, 0.35, 0.25, 0.3, 0.32, 0.28],
            "c": [0.1, 0.2, 0.15, 0.1, 0.2, 0.1],
        }
    )
    text = said(made(frame, baseline="b"))
    lead = "a has the best mean ap, 0.5250 over 6 queries, 0.2250 above that of "
    assert text.startswith(f"1 of 2 is better than b, 1 is worse. {lead}the baseline b (95 % ")
    assert "corrected by Holm's method). That difference is significant" in text
    text = said(made(frame, baseline="a"))
    assert text.startswith(f"None of 2 is better than a, 2 are worse. {lead}b ")


VERDICTS = [
    # One strategy: half the width is t * s / sqrt(n) = 4.302653 * 0.25 / sqrt(3).
    (
        {"x": [0.25, 0.5, 0.75]},
        "ap",
        {},
        "x is the only strategy: its mean ap is 0.5000 ± 0.6210 (95 % interval) over 3 queries.",
    ),
    (
        {"x": [0.5, 0.25], "y": [0.25, 0.5], "z": [0.1, 0.1]},
        "ap",
        {},
        "No strategy is clearly first: x and y share the best mean ap, 0.3750 over 2 queries.",
    ),
    (
        {name: [0.5] for name in "vwxyz"},
        "ap",
        {},
        (
            "No strategy is clearly first: v, w, x and 2 others share the best mean ap, 0.5000 "
            "over 1 query."
        ),
    ),
    (
        {"x": [5, 6], "y": [7, 8]},
        "n_retrieved",
        {},
        "Neither high nor low values of n_retrieved are better: they do not order strategies.",
    ),
    (
        {"x": [None, 0.5], "y": [0.5, None]},
        "ap",
        {"missing": "drop"},
        "There is no query in which every strategy has a value of ap.",
    ),
    (
        {"x": [0.5], "y": [0.25]},
        "ap",
        {},
        (
            "No strategy is clearly first: x has the best mean ap, 0.5000 over 1 query, 0.2500 "
            "above that of y. That difference is undecided: one query is too few for a test. x is "
            "better in 1 query, worse in 0, and equal in 0. "
        ),
    ),
]


@pytest.mark.parametrize(("values", "measure", "options", "sentence"), VERDICTS)
def test_verdicts_of_few(made, values, measure, options, sentence):
    assert said(made(frame_of(values, measure), measure, **options)) == sentence


def test_where_lower_is_better_the_leader_is_below(made):
    text = said(
        made(frame_of({"x": [0.1, 0.2, 0.3, 0.1], "y": [0.4, 0.6, 0.5, 0.4]}, "e_measure@5"))
    )
    assert "x has the best mean e_measure@5, 0.1750 over 4 queries, 0.3000 below" in text
    low, high = (float(end) for end in re.search(r"interval ([\d.]+) to ([\d.]+)", text).groups())
    row = compare(frame_of({"x": [0.1, 0.2, 0.3, 0.1], "y": [0.4, 0.6, 0.5, 0.4]}, "e_measure@5"))
    assert [-high, -low] == pytest.approx(row.select("ci_low", "ci_high").row(0), abs=6e-5)
    assert "x is better in 4 queries, worse in 0" in text


def test_on_real_data_the_verdict_is_that_of_the_published_means(made, data):
    """Those that LETOR prints of OHSUMED's 25 features, MAP over all five folds."""
    published = pl.read_csv(data / "ohsumed/published_single_feature.csv")
    (first, best), (second, next_best) = published.top_k(2, by="MAP")["feature", "MAP"].rows()
    frame = read_letor(sorted(data.glob("ohsumed/*.gz")))
    by = [f"f{feature}" for feature in published["feature"]]
    text = said(made(evaluate(frame, "ap", by=by, ties="order")))
    assert text.startswith(
        f"No strategy is clearly first: f{first} has the best mean ap, {best:.4f} over 106 "
        f"queries, {best - next_best:.4f} above that of f{second} (95 % interval"
    )
    assert "corrected by Holm's method). That difference is" in text


def test_a_verdict_counts_the_measures_that_settle_it(made):
    clear, close = [0.5, 0.55, 0.6, 0.5, 0.6, 0.4], [0.1, 0.2, 0.15, 0.1, 0.2, 0.1]
    frame = frame_of({"a": clear, "b": close}).with_columns(
        pl.col("ap").reverse().alias("ndcg"), pl.lit(0.5).alias("recall"), n_retrieved=5
    )
    by = {measure: said(made(frame), i) for i, measure in enumerate(["ap", "ndcg", "recall"])}
    assert by["ap"].startswith("a is clearly first: ")
    assert by["ap"].endswith("a is clearly first by 1 of 3 measures.")
    assert by["ndcg"].endswith("b is clearly first by 1 of 3 measures.")
    assert by["recall"].startswith("No strategy is clearly first: a and b share")
    text = said(made(frame, baseline="b"))
    assert text.startswith("a is better than b. ")
    last = "At least one strategy is significantly better than the baseline by 1 of 3 measures."
    assert text.endswith(last)


@pytest.mark.parametrize("test", ["wilcoxon", "permutation", "bootstrap", "randomised_tukey"])
def test_every_test_has_a_verdict(made, test):
    correction = "none" if test == "randomised_tukey" else "benjamini_hochberg"
    frame = frame_of({name: np.random.default_rng(i).random(30) for i, name in enumerate("xyz")})
    text = said(made(frame, test=test, correction=correction))
    what = "p" if test == "randomised_tukey" else "corrected p"
    assert re.search(rf"That difference is (significant|undecided) \({what} [=<]", text)


# How sure the order is.

TAU = ["tau", "tau_low", "tau_high"]


@pytest.fixture(scope="module")
def per_query() -> pl.DataFrame:
    return evaluate(
        datasets.example(60), "ap", "ndcg@10", "n_retrieved", by=["strong", "fair", "weak"]
    )


def test_certainty_is_what_the_functions_of_that_name_say(made, per_query):
    page = made(per_query)
    assert [row["measure"] for row in page["certainty"]] == ["ap", "ndcg@10"]
    for row, name in zip(page["certainty"], ("ap", "ndcg@10"), strict=True):
        best = per_query.group_by("strategy").agg(pl.col(name).mean())[name].max()
        assert row["difference"] == pytest.approx(0.05 * best, rel=1e-6)
        expected = queries_needed(per_query, name, difference=0.05 * best).row(0, named=True)
        assert row["queries_needed"] == expected["queries_needed"]
        assert row["smallest_difference"] == pytest.approx(
            expected["smallest_difference"], rel=1e-6
        )
        told = discriminative_power(per_query, name, test="t", correction="holm").row(0, named=True)
        assert (row["significant_pairs"], row["pairs"]) == (told["significant_pairs"], 3)
        tau = order_stability(per_query, name, sizes=30, samples=200).row(0, named=True)
        ends = [tau[end] for end in TAU]
        assert [row[end] for end in TAU] == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize(
    "values",
    [
        {"x": [0.5], "y": [0.25]},
        {"x": [0.5, 0.75], "y": [0.25, 0.5]},
        {"x": [0.3, 0.1 + 0.2], "y": [0.0, 0.0]},
        {"x": [0.0, 0.0], "y": [0.0, 0.0]},
        {"x": [0.5, 0.75]},
    ],
)
def test_of_what_does_not_vary_nothing_is_said(made, values):
    assert made(frame_of(values))["certainty"] == []


def test_a_measure_may_have_any_name(made):
    frame = (
        frame_of(FOUR, "value").rename({"query": "topic"}).with_columns(query=pl.col("value") / 2)
    )
    page = made(frame, {"value": "highest", "query": "highest"}, query="topic")
    assert [row["measure"] for row in page["certainty"]] == ["value", "query"]
    assert page["certainty"][0]["queries_needed"] == page["certainty"][1]["queries_needed"]


def test_the_best_mean_is_the_lowest_where_lower_is_better(made):
    frame = frame_of({"x": [0.1, 0.2, 0.3], "y": [0.4, 0.5, 0.2]}, "e_measure@5")
    (row,) = made(frame)["certainty"]
    expected = queries_needed(frame, difference=0.05 * 0.2).row(0, named=True)
    assert row["difference"] == pytest.approx(0.05 * 0.2)
    assert row["queries_needed"] == expected["queries_needed"]
    # Of a mean of 0 there is no share.
    frame = frame_of({"x": [0.0, 0.0, 0.0], "y": [0.25, 0.5, 0.25]}, "e_measure@5")
    (row,) = made(frame)["certainty"]
    assert (row["difference"], row["queries_needed"]) == (None, None)
    expected = queries_needed(frame)["smallest_difference"][0]
    assert row["smallest_difference"] == pytest.approx(expected, rel=1e-6)


# Measures in words.


def test_each_measure_is_explained_by_the_first_line_of_its_method(made):
    frame = frame_of(FOUR, "ndcg@10").with_columns(
        mine=0.5,
        **{"dcg_curve@2": pl.lit([1.0, 2.0]), "interpolated_precision": pl.lit([0.5] * 11)},
    )
    page = made(frame, "ndcg@10", {"mine": "highest"})
    method = type(graded("grade")).ndcg
    line = method.__doc__.split("\n")[0].removeprefix("Return ")
    assert page["measures"][0]["about"] == line[0].upper() + line[1:]
    assert page["measures"][1]["about"] == ""
    titles = [
        layer["encoding"]["y"]["title"]
        for curve in page["curves"]
        for layer in curve["specs"][0]["layer"]
    ]
    assert set(titles) == {"DCG", "interpolated precision"}


# How it was made.


def test_the_settings_are_those_of_the_call(made):
    import altair as alt

    options = {"baseline": "bm25", "test": "wilcoxon", "correction": "bonferroni"}
    page = made(frame_of(FOUR), date=dt.date(2024, 2, 29), missing="zero", **options)
    assert dict(page["settings"]) == {
        "Data": "2 strategies, 4 queries.",
        "Compared": "all with bm25",
        "Test": "Wilcoxon's signed rank test, which compares ranks, not means",
        "Correction": "none, since there is one pair",
        "Level": "p ≤ 0.05; intervals of 95 % confidence",
        "Missing values": "Missing values count as 0.",
        "Made with": f"polars_graded {pg.__version__}, Polars {pl.__version__}, "
        f"Altair {alt.__version__}",
        "Date": "2024-02-29",
    }
    alone = dict(made(frame_of(FOUR).filter(strategy="ours"))["settings"])
    assert list(alone) == ["Data", "Missing values", "Made with", "Date"]
    today = dict(made(frame_of(FOUR))["settings"])["Date"]
    assert abs(dt.date.fromisoformat(today) - dt.date.today()) <= dt.timedelta(days=1)  # noqa: DTZ011


def test_what_else_was_set_is_said(made):
    page = made(frame_of(FOUR), settings={"Unjudged documents": "dropped"})
    assert dict(page["settings"])["Unjudged documents"] == "dropped"
    with pytest.raises(TypeError, match="`settings` must be a mapping from names to texts, got 3"):
        made(frame_of(FOUR), settings=3)


def test_the_same_results_and_date_make_the_same_file(tmp_path, per_query):
    files = [
        report(per_query, tmp_path / f"{name}.html", date=dt.date(2024, 1, 1)) for name in "ab"
    ]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("date", ["2024-01-01", 3])
def test_a_date_that_is_none_is_refused(tmp_path, date):
    with pytest.raises(TypeError, match=f"`date` must be a date, got {date!r}"):
        report(frame_of(FOUR), tmp_path / "page.html", date=date)


def test_a_notebook_shows_the_file_as_a_link(tmp_path, monkeypatch):
    (tmp_path / "a b").mkdir()
    monkeypatch.chdir(tmp_path)
    file = report(frame_of(FOUR), "a b/<i>&é.html")
    assert str(file) == "a b/<i>&é.html"
    assert file.parent._repr_html_() is None  # a folder is no report
    shown = file._repr_html_()
    assert 'href="a%20b/%3Ci%3E%26%C3%A9.html"' in shown
    assert ">&lt;i&gt;&amp;é.html</a> (" in shown
    assert f"{file.stat().st_size / 1e6:.1f} MB, {tmp_path}/a b/&lt;i&gt;&amp;é.html)" in shown
    assert "<i>" not in shown
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = report(frame_of(FOUR), tmp_path / "page.html")
    assert f'href="{(tmp_path / "page.html").as_uri()}"' in file._repr_html_()


# What was ranked.


@pytest.fixture(scope="module")
def ranked() -> pl.DataFrame:
    frame = datasets.example(40).with_columns(
        doc=pl.format("d{}", "doc"), title=pl.format("Title of {} <b>", "doc")
    )
    unjudged = pl.when(pl.col("doc") != "d3").then("grade").alias("grade")
    return frame.with_columns(unjudged, pl.when(pl.col("doc") != "d5").then("weak").alias("weak"))


BY = ["strong", "fair", "weak"]


def shown_documents(page: dict[str, Any], query: str, strategy: str) -> list[list[Any]] | None:
    """The documents of a ranking as the page has them."""
    place = page["rankings"]["inspected"].index(page["queries"].index(query))
    entry = page["rankings"]["entries"][place]
    places = entry["ranked"][page["strategies"].index(strategy)]
    return None if places is None else [entry["documents"][place] for place in places]


def test_documents_are_those_that_stand_side_by_side(made, ranked):
    results = evaluate(ranked, "ap", by=BY)
    page = made(results, frame=ranked, by=BY, titles="title")
    titles = dict(ranked.select("doc", "title").rows())
    assert page["rankings"]["inspected"] == list(range(40))
    for query in page["queries"]:
        expected = side_by_side(ranked, int(query), by=BY)
        for name in BY:
            rows = expected.select(name, f"grade of {name}").rows()
            assert shown_documents(page, query, name) == [[d, titles[d], g] for d, g in rows]


@pytest.mark.parametrize("ties", [None, "doc", "order"])
def test_documents_of_stacked_strategies_have_their_ties_broken(made, ties):
    run = pl.DataFrame(
        {
            "run": ["x"] * 4 + ["y"] * 3,
            "topic": ["1", "1", "1", "2", "1", "1", "2"],
            "doc": ["a", "b", "c", "a", "c", "b", "z"],
            "score": [1.0, 1.0, 2.0, 1.0, 3.0, 3.0, 0.5],
        }
    )
    qrels = pl.DataFrame({"topic": ["1", "1", "2"], "doc": ["a", "d", "z"], "grade": [1, 2, 3]})
    frame = join_judgments(run, qrels, query="topic", strategy="run")
    options: dict[str, Any] = {"query": "topic", "strategy": "run", "ties": ties}
    results = evaluate(frame, "ap", **options | {"ties": ties or "doc"})
    page = made(results, frame=frame, **options)
    # Ties are those of scores, and how they were broken is said: x and y have two of three such.
    tied = overview(frame, **options).columns.index("tied")
    assert [row[tied] for row in page["overview"]["rows"]] == pytest.approx([2 / 4, 2 / 3])
    broken = "broken by doc, the highest first" if ties != "order" else "the order of rows decides"
    assert dict(page["settings"])["Ties"] == broken
    for query in ("1", "2"):
        expected = side_by_side(frame, query, **options | {"ties": ties or "doc"})
        for name in ("x", "y"):
            rows = expected.select(name, f"grade of {name}").drop_nulls(name).rows()
            assert shown_documents(page, query, name) == [list(row) for row in rows]
    table = overview(frame, **options)
    assert [row[0] for row in page["overview"]["rows"]] == table["run"].to_list()


# How different the rankings are.


def similar_rows(page: dict[str, Any]) -> list[tuple[str, str, float, float]]:
    """The names of both strategies of each pair, and both means."""
    names = page["strategies"]
    return [
        (names[row["strategy"]], names[row["other"]], row["overlap"], row["rbo"])
        for row in page["similarity"]["rows"]
    ]


@pytest.mark.parametrize("baseline", [None, "weak"])
def test_similarities_are_those_of_the_rankings_that_differ_most_first(made, ranked, baseline):
    results = evaluate(ranked, "ap", by=BY)
    stacked = ranked.unpivot(BY, index=["query", "doc", "grade"], variable_name="strategy")
    similar = pg.similarity(ranked, "overlap@10", "rbo", by=BY, baseline=baseline)
    expected = similar.group_by("a", "b").agg(pl.col("overlap@10", "rbo").mean()).sort("rbo")
    renamed = stacked.rename({"doc": "thing"})  # a name that does not mean documents
    for frame, by, doc in (
        (ranked, BY, "doc"),
        (stacked, "value", "doc"),
        (renamed, "value", "thing"),
    ):
        page = made(results, frame=frame, by=by, doc=doc, baseline=baseline)
        found = similar_rows(page)
        for (*pair, overlap, rbo), row in zip(found, expected.iter_rows(), strict=True):
            assert {*pair} == {*row[:2]}
            assert (overlap, rbo) == pytest.approx(row[2:])
            assert baseline is None or pair[1] == baseline
        which = "every pair" if baseline is None else "each strategy and the baseline"
        assert page["similarity"]["note"].startswith(f"Means over 40 queries for {which}. Overlap")


def test_many_strategies_are_each_compared_with_the_best(made, ranked):
    rng = np.random.default_rng(0)
    names = [f"run {place}" for place in range(12)]
    noise = {name: pl.col("strong") + rng.normal(size=ranked.height) for name in names}
    frame = ranked.with_columns(pl.col("grade").fill_null(0), **noise)
    page = made(evaluate(frame, "ap", by=names), frame=frame, by=names)
    best = page["strategies"][page["measures"][0]["order"][0]]
    found = similar_rows(page)
    assert len(found) == 11
    assert {row[1] for row in found} == {best}
    start = f"Means over 40 queries for each strategy and {best}, the best by ap. "
    assert page["similarity"]["note"].startswith(start)


def test_without_a_pair_or_documents_to_match_there_is_no_similarity(made, ranked):
    assert made(evaluate(ranked, "ap", by=BY))["similarity"] is None
    alone = made(evaluate(ranked, "ap", by=["weak"]), frame=ranked, by=["weak"])
    assert alone["similarity"] is None
    stacked = ranked.unpivot(BY, index=["query", "grade"], variable_name="strategy")
    options: dict[str, Any] = {"by": "value", "ties": "order"}
    page = made(
        evaluate(stacked, "ap", strategy="strategy", **options), frame=stacked, doc=None, **options
    )
    assert page["similarity"] is None
    assert page["overview"] is not None


def test_the_overview_is_that_of_the_frame(made, ranked):
    page = made(evaluate(ranked, "ap", by=BY), frame=ranked, by=BY)
    table = overview(ranked, by=BY)
    assert len(page["overview"]["columns"]) == table.width - 1
    for row, expected in zip(page["overview"]["rows"], table.iter_rows(named=True), strict=True):
        found = dict(zip(table.columns, row, strict=True))
        grades = [[each["grade"], each["rows"]] for each in expected.pop("grades")]
        assert (found.pop("strategy"), found.pop("grades")) == (expected.pop("strategy"), grades)
        assert found == pytest.approx(expected, rel=1e-6)
    assert page["overview"]["note"] == (
        "4,000 rows of documents. 1 of 40 queries has no irrelevant document."
    )


def test_long_names_differ_in_charts_and_in_lists(made):
    names = [f"elasticsearch-8.11-bm25-k1=1.{i}-b=0.75-rerank-cross-encoder" for i in range(3)]
    page = made(frame_of({name: [0.1 * place, 0.5] for place, name in enumerate(names)}))
    for key, most in (("labels", 22), ("choices", 42)):
        assert len({*page[key]}) == 3
        assert max(map(len, page[key])) <= most
    assert page["strategies"] == names


def test_the_verdict_begins_with_ties_that_decide_the_means(made):
    frame = pl.DataFrame(
        {
            "query": [1, 1, 1, 2, 2, 2],
            "doc": [*"abc"] * 2,
            "grade": [1, 0, 0, 0, 1, 0],
            "x": [1.0, 1.0, 1.0, 1.0, 1.0, 2.0],
            "y": [1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
        }
    )
    options: dict[str, Any] = {"by": ["x", "y"], "ties": "doc"}
    page = made(evaluate(frame, "ap", **options), frame=frame, **options)
    first = "83 % of the scores of x are tied: the order of ties decides the means. "
    assert said(page).startswith(first)
    assert page["overview"]["mostTies"] == 0.5
    apart = made(evaluate(frame, "ap", by="y"), frame=frame, by="y")
    assert "tied" not in said(apart)


def test_the_overview_says_what_makes_means_wrong(made):
    frame = pl.DataFrame(
        {
            "query": [1, 1, 2, 3],
            "doc": ["a", "b", "c", "d"],
            "grade": [1, 0, None, 0],
            "x": [1.0, 0.5, 0.3, 0.2],
            "y": [1.0, 0.5, 0.3, None],
        }
    )
    results = frame_of({"x": [1.0, 0.0, 0.0], "y": [1.0, 0.0, 0.0]}).with_columns(
        query=pl.col("query") + 1
    )
    page = made(results, frame=frame.lazy(), by=["x", "y"])
    assert page["overview"]["note"] == (
        "4 rows of documents. 1 of 3 queries has no judged document; 1 of 3 queries has nothing "
        "retrieved for y; 1 of 3 queries has judged documents, but none relevant."
    )
    assert shown_documents(page, "3", "y") is None
    assert shown_documents(page, "2", "y") == [["c", None]]


def test_any_frame_will_do_and_any_query(made):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = {
        "query": ["q", None],
        "doc": [None, "b" * 500],
        "grade": [True, False],
        "score": [1, 2],
    }
    results = pl.DataFrame({"strategy": "score", "query": [None, "q"], "ap": [0.5, 1.0]})
    page = made(results, frame=pl.DataFrame(frame))
    assert shown_documents(page, "q", "score") == [["null", 1]]
    assert shown_documents(page, "null", "score") == [["b" * 159 + "…", 0]]
    decimals = pl.DataFrame(frame).with_columns(
        grade=pl.Series(["1.5", "0"]).str.to_decimal(scale=1)
    )
    assert shown_documents(made(results, frame=decimals), "q", "score") == [["null", 1.5]]
    assert made(results, frame=pandas.DataFrame(frame | {"query": ["q", "r"]}))["rankings"][
        "entries"
    ]


def test_scores_and_grades_may_be_expressions(made, ranked):
    """The page is that of a frame with the computed columns."""
    mixed, phi = pl.col("strong") + pl.col("weak"), pl.col("grade").graded.phi_relevance()
    exprs: dict[str, Any] = {"by": {"mixed": mixed, "weak": pl.col("weak")}, "grade": phi}
    exprs["ties"] = "doc"
    computed = ranked.with_columns(mixed=mixed, grade=phi.over("query"))
    names: dict[str, Any] = {"by": ["mixed", "weak"], "ties": "doc"}
    pages = []
    for frame, options in ((ranked, exprs), (ranked.lazy(), exprs), (computed, names)):
        results = evaluate(computed, "ap", "ndcg@10", **names)
        pages.append(made(results, frame=frame, doc="doc", **options))
    assert pages[0] == pages[1] == pages[2]
    assert pages[0]["rankings"]["entries"]


def test_one_direction_for_ranks_and_scores_is_refused(made, ranked):
    frame = ranked.with_columns(rank=pl.col("weak").rank("ordinal", descending=True).over("query"))
    results = evaluate(ranked, "ap", by=["strong", "weak"])
    with pytest.raises(ValueError, match="descending"):
        made(results, frame=frame, by=["strong", "rank"], descending=False)


def test_without_documents_there_is_an_overview_alone(made, ranked):
    frame = ranked.drop("doc")
    page = made(evaluate(frame, "ap", by=BY), frame=frame, by=BY, doc=None)
    assert page["rankings"] is None
    assert len(page["overview"]["rows"]) == 3


def test_rows_mean_what_evaluate_was_told(made, ranked):
    """Unjudged documents that were dropped are in no ranking and move no mean."""
    scale: dict[str, Any] = {"condensed": True, "max_grade": 5, "undefined_as": 0.5}
    page = made(evaluate(ranked, "precision@5", by=BY, **scale), frame=ranked, by=BY, **scale)
    expected = side_by_side(ranked, int(page["queries"][0]), by=BY, **scale)
    for name in BY:
        rows = expected.select(name, f"grade of {name}").rows()
        assert shown_documents(page, page["queries"][0], name) == [list(row) for row in rows]
    assert page["unjudged"] == {}
    settings = dict(page["settings"])
    assert settings["Unjudged documents"] == "dropped from the rankings"
    assert settings["Highest grade"] == "5"
    assert settings["Queries without a relevant document"] == "count as 0.5"
    # A higher grade than any there is moves what an unjudged document could be worth.
    highest = {"max_grade": 5}
    page = made(evaluate(ranked, "err@5", by=BY, **highest), frame=ranked, by=BY, **highest)
    bounds = unjudged_bounds(ranked, "err@5", by=BY, **highest).group_by("strategy")
    means = bounds.agg(pl.col("value", "value_if_best").mean()).rows_by_key("strategy", unique=True)
    for name, ends in zip(page["strategies"], page["unjudged"]["err@5"], strict=True):
        assert ends == pytest.approx(means[name], rel=1e-6)


# What unjudged documents could change.


def test_where_means_could_lie_is_what_the_bounds_say(made, ranked):
    measures = ["ap", "precision@5", "ndcg@10"]
    results = evaluate(ranked, *measures, by=BY)
    page = made(results, frame=ranked, by=BY)
    bounds = unjudged_bounds(ranked, *measures, by=BY)
    for name in measures:
        of_it = bounds.filter(measure=name).group_by("strategy")
        means = of_it.agg(pl.col("value", "value_if_best").mean())
        expected = means.rows_by_key("strategy", unique=True)
        for strategy, ends in zip(page["strategies"], page["unjudged"][name], strict=True):
            assert ends == pytest.approx(expected[strategy], rel=1e-6)


def test_of_two_queries_one_of_which_has_an_unjudged_document(made):
    frame = pl.DataFrame(
        {
            "query": ["a", "a", "a", "b", "b"],
            "doc": ["x", "y", "z", "x", "y"],
            "grade": [1, None, 0, 1, 0],
            "score": [3, 2, 1, 2, 1],
        }
    )
    results = evaluate(frame, "precision@2", ties="order")
    page = made(results, frame=frame)
    assert page["measures"][0]["means"] == [0.5]
    assert page["unjudged"] == {"precision@2": [[0.5, 0.75]]}
    # Of what is all judged, or was evaluated otherwise, nothing is said.
    assert made(results, frame=frame.with_columns(pl.col("grade").fill_null(0)))["unjudged"] == {}
    assert made(results, frame=frame.with_columns(score=-pl.col("score")))["unjudged"] == {}
    own = made(results.rename({"precision@2": "mine"}), {"mine": "precision@2"}, frame=frame)
    assert own["unjudged"] == {"mine": [[0.5, 0.75]]}
    other = made(results.rename({"precision@2": "mine"}), {"mine": "highest"}, frame=frame)
    assert other["unjudged"] == {}


WRONG = [
    ({"frame": {}}, TypeError, "`frame` must be a data frame"),
    ({"by": "bm25"}, pl.exceptions.ColumnNotFoundError, "no column 'bm25'"),
    ({"doc": "url"}, pl.exceptions.ColumnNotFoundError, "no column 'url'"),
    ({"titles": "name"}, pl.exceptions.ColumnNotFoundError, "no column 'name'"),
    ({"titles": 3}, TypeError, "`titles` must be"),
    ({"by": "strong"}, ValueError, "must have the strategies and queries of `per_query`, got none"),
    ({"descending": 1}, TypeError, "`descending` must be"),
]


@pytest.mark.parametrize(("options", "error", "sentence"), WRONG)
def test_a_frame_that_is_another_is_refused(tmp_path, ranked, options, error, sentence):
    results = evaluate(ranked, "ap", by=["fair", "weak"])
    with pytest.raises(error, match=sentence):
        report(results, tmp_path / "page.html", **{"frame": ranked, "by": "fair"} | options)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_with_its_frame_too_25_strategies_and_5000_queries_stay_below_8_mb(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"system {i}" for i in range(25)]
    n = 5000 * 15
    frame = pl.DataFrame(
        {"query": np.repeat(np.arange(5000), 15), "doc": [f"document {i}" for i in range(n)]}
        | {"grade": rng.integers(0, 3, n)}
        | {name: rng.random(n) for name in names}
    ).with_columns(title=pl.format("{} is a title as long as they are in a library's list", "doc"))
    measures = ["ap", "ndcg@10", "ndcg@5", "precision@5", "mu_ap"]
    curves = ["dcg_curve@20", "ideal_dcg_curve@20", "interpolated_precision"]
    results = evaluate(frame, *measures, *curves, by=names)
    file = report(results, tmp_path / "page.html", frame=frame, by=names, titles="title")
    assert file.stat().st_size < 8e6
    page = payload(file)
    assert len(page["queries"]) == 5000
    there = page["rankings"]["inspected"]
    assert 20 < len(there) < 5000
    for place in (there[0], there[-1]):
        query = page["queries"][place]
        expected = side_by_side(frame, int(query), by=names)
        for name in ("system 0", "system 24"):
            found = [document[0] for document in shown_documents(page, query, name)]
            assert found == expected[name].to_list()


# The command.


def test_the_command_hands_on_what_it_ranked(tmp_path, data, capsys):
    from polars_graded.__main__ import main

    qrels, run = data / "trec_eval/qrels.test.gz", data / "trec_eval/results.test.gz"
    main(["--qrels", str(qrels), str(run), "--report", str(tmp_path / "page.html")])
    assert "page.html" in capsys.readouterr().out
    page = payload(tmp_path / "page.html")
    [strategy] = page["strategies"]
    frame = join_judgments(read_run(run), read_qrels(qrels), strategy="strategy")
    for query in page["queries"]:
        expected = side_by_side(frame, query, strategy="strategy", ties="doc")
        rows = expected.select(strategy, f"grade of {strategy}").rows()
        assert shown_documents(page, query, strategy) == [list(row) for row in rows]
    assert page["overview"]["rows"][0][0] == strategy


def test_the_command_without_documents_has_an_overview(tmp_path, ranked, capsys):
    from polars_graded.__main__ import main

    file = tmp_path / "ranked.parquet"
    ranked.select("query", "strong", "weak", grade=pl.col("grade").fill_null(0)).write_parquet(file)
    main(["--letor", str(file), "--report", str(tmp_path / "page.html"), "--ties", "order"])
    assert "page.html" in capsys.readouterr().out
    page = payload(tmp_path / "page.html")
    assert page["rankings"] is None
    assert [row[0] for row in page["overview"]["rows"]] == ["strong", "weak"]
