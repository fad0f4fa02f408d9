"""Results in other forms, and results whose keys need not be named."""

from __future__ import annotations

import re

import polars as pl
import pytest
from results import of_few

from polars_graded import (
    charts,
    compare,
    datasets,
    differences,
    evaluate,
    long_form,
    paper_table,
    report,
    summarise,
)
from polars_graded._results.keys import find_keys
from polars_graded._results.significance import CORRECTIONS, TESTS
from polars_graded.trust import rank_correlation

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
    assert paper_table(PER_QUERY, digits=2, caption=False) == MARKDOWN
    assert paper_table(PER_QUERY, digits=2, format="latex", caption=False) == LATEX
    html = paper_table(PER_QUERY, "ap", format="html")
    assert "<td>b</td><td>ours</td><td><b>0.700</b><sup>ac</sup></td>" in html
    strict = paper_table(PER_QUERY, "ap", confidence=1 - 1e-9)
    assert "| b | ours | **0.700** |" in strict


def test_means_that_rounding_parts_are_both_bold():
    keys = {"strategy": ["x", "x", "y", "y"], "query": [1, 2, 1, 2]}
    frame = pl.DataFrame(keys | {"ap": [0.1, 0.2, 0.15, 0.15]})
    assert (0.1 + 0.2) / 2 != 0.15
    assert paper_table(frame, "ap", caption=False).count("**0.150**") == 2


def test_names_do_not_break_a_papers_table():
    odd = PER_QUERY.with_columns(pl.col("strategy").replace("ours", r"a|b_<\&"))
    assert r"| b | a\|b_\<\\& |" in paper_table(odd, "ap")
    assert r"b & a|b\_<\textbackslash{}\& &" in paper_table(odd, "ap", format="latex")
    assert "<td>a|b_&lt;\\&amp;</td>" in paper_table(odd, "ap", format="html")
    one = paper_table(PER_QUERY.filter(strategy="old"), "ap", caption=False)
    assert one.endswith("| a | old | **0.420** |")


@of_few
def test_the_caption_says_what_the_signs_stand_for():
    """A property: each letter under a measure is told apart by the test and level that are said."""
    for test, correction in (("t", None), ("wilcoxon", "bonferroni"), ("randomised_tukey", None)):
        options = {"test": test, "correction": correction, "confidence": 0.9}
        for layout in ("markdown", "latex", "html"):
            table = " ".join(paper_table(PER_QUERY, format=layout, **options).split())
            assert "Means of 5 queries, the best of each column in bold" in table
            assert f"(p of at most 0.1) by {TESTS[test].words}" in table
            said = CORRECTIONS["holm" if correction is None else correction].words
            assert (f"p values {said}" in table) == (test != "randomised_tukey")
    bare = paper_table(PER_QUERY, caption=False, format="latex")
    assert paper_table(PER_QUERY, format="latex").splitlines()[3:-1] == bare.splitlines()
    holes = PER_QUERY.with_columns(pl.when(query=1).then(None).otherwise("ap").alias("ap"))
    assert "Means of 4 to 5 queries" in paper_table(holes, missing="drop")


def test_the_caption_counts_a_single_query_and_an_empty_table_is_refused():
    few = pl.DataFrame({"strategy": ["a", "b"], "query": [1, 1], "ap": [0.5, 0.25]})
    assert "\nMeans of 1 query, the best" in paper_table(few)
    with pytest.raises(ValueError, match="must have a row per strategy and query, got none"):
        paper_table(few.clear())


def test_a_baseline_takes_plus_and_minus():
    rows = paper_table(PER_QUERY, digits=2, baseline="ours").splitlines()
    assert rows[2:5] == [
        "|  | bm25 | 0.45⁻ | 0.44⁻ |",
        "|  | ours | **0.70** | **0.12** |",
        "|  | old | 0.42⁻ | 0.46⁻ |",
    ]
    assert "+ stands for significantly better than ours, - for worse" in " ".join(rows)
    better = paper_table(PER_QUERY, baseline="old", format="latex")
    assert r"ours & \textbf{0.700}$^{+}$ & \textbf{0.120}$^{+}$" in better
    assert "<sup>+</sup>" in paper_table(PER_QUERY, baseline="old", format="html")


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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"format": "word"}, "`format` must be one of 'markdown', 'latex', 'html', got 'word'"),
        ({"digits": -1}, "`digits` must be at least 0, got -1"),
        ({"confidence": 5}, "`confidence` must be below 1, got 5"),
    ],
)
def test_what_no_table_is_made_of_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        paper_table(PER_QUERY, **options)


# Keys that nobody names


def test_differences_that_rounding_parts_stand_by_query():
    """0.3 - 0.2 is less than 0.1, and 0.2 - 0.1 is that."""
    rows = {"a": [0.5, 0.3, 0.2, 0.1], "b": [0.1, 0.2, 0.1, 0.0]}
    columns = {"strategy": ["a"] * 4 + ["b"] * 4, "query": [0, 1, 2, 3] * 2}
    frame = pl.DataFrame({**columns, "ap": [*rows["a"], *rows["b"]]})
    assert differences(frame, "ap", "a", "b")["query"].to_list() == [0, 1, 2, 3]


def test_results_take_keys_of_any_name():
    plain = PER_QUERY.drop("price")
    named = plain.rename({"strategy": "model", "query": "user"})
    keys = {"strategy": "model", "query": "user"}
    assert compare(named, **keys).rename({"model": "strategy"}).equals(compare(plain))
    assert summarise(named, **keys).columns[1] == "model"
    assert differences(named, "ap", "ours", "old", **keys).columns[0] == "user"
    assert rank_correlation(named, **keys).equals(rank_correlation(plain))
    assert long_form(named, **keys).columns[:2] == ["model", "user"]
    assert "| b | ours |" in paper_table(named, **keys)
    reordered = named.select("user", "model", "ap")
    assert compare(reordered, **keys).equals(compare(named, "ap", **keys))
    for name, other in (("strategy", "model"), ("query", "user")):
        one = plain.rename({name: other})
        assert compare(one).rename({other: name}, strict=False).equals(compare(plain))


@pytest.mark.parametrize("order", [("ranker", "topic"), ("topic", "ranker")])
@pytest.mark.parametrize(
    "function", [compare, summarise, paper_table, long_form, rank_correlation, report]
)
def test_places_of_columns_do_not_tell_a_strategy_from_a_query(function, order, tmp_path):
    frame = PER_QUERY.rename({"strategy": "ranker", "query": "topic"}).select(*order, "ap")
    path = [tmp_path / "r.html"] if function is report else []
    sentence = (
        "`strategy` and `query` must be passed if there is no column 'strategy' or 'query' and "
        f"several columns are possible, got {', '.join(order)}\n\n"
        "Hint: strategy=..., query=... name one column for each"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        function(frame, *path)


@pytest.mark.parametrize(
    ("columns", "named", "keys"),
    [
        ("ap model", {}, ("strategy", "query")),
        ("model user ap", {"query": "user"}, ("model", "user")),
        ("strategy query ap", {}, ("strategy", "query")),
        ("query strategy ap", {}, ("strategy", "query")),
        ("strategy country query ap", {}, ("strategy", "query")),
        ("strategy ap term", {}, ("strategy", "term")),
        ("model query ap", {}, ("model", "query")),
        ("query ap", {}, ("strategy", "query")),
        ("ap ndcg", {}, ("strategy", "query")),
        ("user model ap", {"query": "user"}, ("model", "user")),
        ("user model ap", {"query": "user", "strategy": "model"}, ("model", "user")),
        ("strategy term land ap", {"segments": "land"}, ("strategy", "term")),
        ("strategy term year ap", {"measures": ({"year": "lowest"},)}, ("strategy", "term")),
        ("strategy device term ap", {"query": ["device", "term"]}, ("strategy", "device+term")),
    ],
)
def test_which_columns_are_keys(columns, named, keys):
    schema = {name: pl.Float64() if name == "ap" else pl.String() for name in columns.split()}
    query = keys[1].split("+") if "+" in keys[1] else keys[1]
    assert find_keys(pl.DataFrame(schema=schema), **named) == (query, keys[0])


def test_a_key_is_not_guessed_where_several_could_be_meant():
    """The first of three columns is not the query because it stands there."""
    term = {"row": [1, 2, 3, 4, 2, 3, 4, 1], "term": [*"abcd"] * 2}
    values = [0.25, 0.5, 0.5, 0.75, 0.5, 0.75, 0.5, 1.0]
    frame = pl.DataFrame({"strategy": ["x"] * 4 + ["y"] * 4} | term | {"ap": values})
    sentence = r"^`query` must be passed .* got row, term\n\nHint: query=\[...\]"
    for call in (compare, summarise, paper_table, long_form, rank_correlation):
        with pytest.raises(ValueError, match=sentence):
            call(frame)
    with pytest.raises(ValueError, match=sentence):
        differences(frame, "ap", "x", "y")
    assert compare(frame, query="term").equals(compare(frame.drop("row")))
    assert not compare(frame, query="term").equals(compare(frame.drop("term")))


def test_a_key_that_cannot_be_told_is_asked_for():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'strategy'"):
        compare(PER_QUERY.select("query", "ap"))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'per_query'"):
        compare()


def test_strategies_stand_as_evaluate_has_them():
    frame = pl.DataFrame({"query": [1, 1], "grade": [1, 0], "b": [2, 1], "a": [1, 2], "c": [1, 2]})
    values = evaluate(frame, "ap", by=["b", "c", "a"])
    assert summarise(values)["strategy"].to_list() == ["b", "c", "a"]
    one = PER_QUERY.filter(strategy="old")
    mixed = pl.concat([one.with_columns(strategy=pl.lit(n)) for n in ("t12", "t2", "t1")])
    assert summarise(mixed.sort("query"), "ap")["strategy"].to_list() == ["t1", "t2", "t12"]


@pytest.mark.slow
def test_pictures_and_pages_know_which_value_of_a_renamed_measure_is_best(tmp_path):
    own = PER_QUERY.rename({"e_measure@5": "E"})
    named = {"E": "e_measure@5"}
    pairs = compare(own, named)
    assert set(pairs["best"]) == {"lowest"}
    assert set(summarise(own, named)["best"]) == {"lowest"}
    # A title counts what is better as it does for the measure under its own name.
    titles = [
        charts.comparison_forest(compare(results, measure, baseline="old")).to_dict()["title"]
        for results, measure in ((own, named), (PER_QUERY, "e_measure@5"))
    ]
    assert titles[0]["text"] == titles[1]["text"]
    assert "better than old" in " ".join(titles[0]["text"])
    pytest.importorskip("vl_convert", reason="vl_convert is not installed")
    headlines = [
        re.search(r"<h2>([^<]*)</h2>", report(*page).read_text(encoding="utf-8"))[1]
        for page in (
            (own, tmp_path / "r.html", named),
            (PER_QUERY, tmp_path / "r.html", "e_measure@5"),
        )
    ]
    assert headlines[0].replace("mean E,", "mean E-measure@5,") == headlines[1]
    with pytest.raises(ValueError, match="must specify the best value of 'E'"):
        report(own, tmp_path / "r.html", "E")
    several = PER_QUERY.with_columns(device=pl.lit("phone"))
    keys = {"query": ["device", "query"]}
    assert "phone" in report(several, tmp_path / "r.html", **keys).read_text(encoding="utf-8")


@pytest.mark.parametrize("letters", ["worse", "groups"])
def test_the_caption_names_no_test_where_nothing_is_tested(letters):
    values = evaluate(datasets.example(), "ap", by=["strong", "weak"])
    for few in (values.filter(strategy="weak"), values.filter(query=values["query"][0])):
        table = paper_table(few, letters=letters, format="markdown")
        assert "no difference is tested: " in table
        assert "letter" not in table
        assert "\N{MODIFIER LETTER SMALL A}" not in table


def test_signs_refer_to_one_baseline():
    values = evaluate(datasets.example(), "ap", by=["strong", "fair", "weak"])
    with pytest.raises(TypeError, match="`baseline` must be one strategy, which the signs"):
        paper_table(values, baseline=["fair", "weak"])
