"""Results in other forms, and results whose keys need not be named."""

from __future__ import annotations

import polars as pl
import pytest

from polars_graded import (
    compare,
    differences,
    evaluate,
    long_form,
    paper_table,
    rank_correlation,
    report,
    summarise,
)
from polars_graded._results.keys import found_keys

PER_QUERY = pl.DataFrame(
    {
        "strategy": ["bm25"] * 5 + ["ours"] * 5 + ["old"] * 5,
        "query": [1, 2, 3, 4, 5] * 3,
        "ap": [0.25, 0.5, 0.5, 0.75, 0.25, 0.5, 0.75, 0.875, 1.0, 0.375, 0.2, 0.5, 0.4, 0.7, 0.3],
        "e_measure@5": [0.5, 0.5, 0.4, 0.3, 0.5, 0.1, 0.2, 0.1, 0.0, 0.2, 0.6, 0.5, 0.4, 0.3, 0.5],
        "price": [3] * 15,
    }
)


def test_the_long_form_has_measure_and_cutoff_apart():
    wide = pl.DataFrame(
        {
            "strategy": ["x"],
            "query": [1],
            "ndcg@5": [0.5],
            "ndcg@10": [0.75],
            "ap(threshold=2)@100": [1.0],
            "n_relevant": [3],
            "cg_curve@2": [[1.0, 2.0]],
            "country": ["se"],
        }
    )
    found = long_form(wide)
    assert found.columns == ["strategy", "query", "country", "measure", "cutoff", "value"]
    assert found.select("measure", "cutoff", "value").rows() == [
        ("ndcg", 5, 0.5),
        ("ndcg", 10, 0.75),
        ("ap(threshold=2)", 100, 1),
        ("n_relevant", None, 3),
    ]
    assert long_form(wide.lazy(), "ndcg@10").height == 1


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
    assert paper_table(PER_QUERY, digits=2) == MARKDOWN
    assert paper_table(PER_QUERY, digits=2, format="latex") == LATEX
    html = paper_table(PER_QUERY, "ap", format="html")
    assert "<td>b</td><td>ours</td><td><b>0.700</b><sup>ac</sup></td>" in html
    strict = paper_table(PER_QUERY, "ap", alpha=1e-9)
    assert "| b | ours | **0.700** |" in strict


def test_names_do_not_break_a_papers_table():
    odd = PER_QUERY.with_columns(pl.col("strategy").replace("ours", r"a|b_<\&"))
    assert r"| b | a\|b_<\\& |" in paper_table(odd, "ap")
    assert r"b & a|b\_<\textbackslash{}\& &" in paper_table(odd, "ap", format="latex")
    assert "<td>a|b_&lt;\\&amp;</td>" in paper_table(odd, "ap", format="html")
    one = paper_table(PER_QUERY.filter(strategy="old"), "ap")
    assert one.endswith("| a | old | **0.420** |")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"format": "word"}, "`format` must be one of 'markdown', 'latex', 'html', got 'word'"),
        ({"digits": -1}, "`digits` must be at least 0, got -1"),
        ({"alpha": 5}, "`alpha` must be below 1, got 5"),
    ],
)
def test_what_no_table_is_made_of_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        paper_table(PER_QUERY, **options)


# Keys that nobody names


def test_rows_stay_in_order_measure_by_measure():
    values = [n / 1000 for n in range(1000)]
    wide = pl.DataFrame({"strategy": "x", "query": range(1000), "ap": values, "ndcg@5": values})
    for frame in (wide, wide.lazy(), pl.concat([wide[:500], wide[500:]], rechunk=False)):
        found = long_form(frame)
        assert found["query"].to_list() == [*range(1000)] * 2
        assert found["measure"].to_list() == ["ap"] * 1000 + ["ndcg"] * 1000
        assert found["value"].to_list() == values * 2


def test_differences_that_rounding_parts_stand_by_query():
    """0.3 - 0.2 is less than 0.1, and 0.2 - 0.1 is that."""
    rows = {"a": [0.5, 0.3, 0.2, 0.1], "b": [0.1, 0.2, 0.1, 0.0]}
    columns = {"strategy": ["a"] * 4 + ["b"] * 4, "query": [0, 1, 2, 3] * 2}
    frame = pl.DataFrame({**columns, "ap": [*rows["a"], *rows["b"]]})
    assert differences(frame, "ap", "a", "b")["query"].to_list() == [0, 1, 2, 3]


def test_results_know_their_keys_by_name_or_place():
    plain = PER_QUERY.drop("price")
    named = plain.rename({"strategy": "model", "query": "user"})
    pairs = compare(named)
    assert pairs.rename({"model": "strategy"}).equals(compare(plain))
    assert summarise(named).columns[1] == "model"
    assert differences(named, "ap", "ours", "old").columns[0] == "user"
    assert rank_correlation(named).equals(rank_correlation(plain))
    assert long_form(named).columns[:2] == ["model", "user"]
    assert "| b | ours |" in paper_table(named)
    told = compare(named.select("user", "model", "ap"), query="user", strategy="model")
    assert told.equals(compare(named, "ap"))


@pytest.mark.parametrize(
    ("columns", "named", "keys"),
    [
        (["model", "user", "ap"], {}, {"strategy": "model", "query": "user"}),
        (["strategy", "query", "ap"], {}, {}),
        (["query", "strategy", "ap"], {}, {}),
        (["strategy", "country", "query", "ap"], {}, {}),
        (["model", "query", "ap"], {}, {"strategy": "model"}),
        (["query", "ap"], {}, {}),
        (["ap", "ndcg"], {}, {}),
        (["user", "model", "ap"], {"query": "user"}, {"query": "user"}),
        (["user", "model", "ap"], {"query": "user", "strategy": "model"}, None),
    ],
)
def test_which_columns_are_keys(columns, named, keys):
    assert found_keys(columns, named) == (named if keys is None else keys)


def test_a_key_that_cannot_be_told_is_asked_for():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'strategy'"):
        compare(PER_QUERY.select("query", "ap"))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'per_query'"):
        compare()


def test_numbers_beside_measures_are_none_unless_they_are_asked_for():
    assert set(summarise(PER_QUERY)["measure"]) == {"ap", "e_measure@5"}
    assert set(summarise(PER_QUERY, "price")["measure"]) == {"price"}
    other = PER_QUERY.select("strategy", "query", "price", mine="ap")
    assert set(summarise(other)["measure"]) == {"price", "mine"}


def test_strategies_stand_as_evaluate_has_them():
    frame = pl.DataFrame({"query": [1, 1], "grade": [1, 0], "b": [2, 1], "a": [1, 2], "c": [1, 2]})
    values = evaluate(frame, "ap", by=["b", "c", "a"])
    assert summarise(values)["strategy"].to_list() == ["b", "c", "a"]
    one = PER_QUERY.filter(strategy="old")
    mixed = pl.concat([one.with_columns(strategy=pl.lit(n)) for n in ("t12", "t2", "t1")])
    assert summarise(mixed.sort("query"), "ap")["strategy"].to_list() == ["t1", "t2", "t12"]


def test_a_report_takes_any_names(tmp_path):
    pytest.importorskip("vl_convert", reason="vl_convert is not installed")
    named = PER_QUERY.rename({"strategy": "model", "query": "user"})
    assert "ours" in report(named, tmp_path / "r.html").read_text(encoding="utf-8")
