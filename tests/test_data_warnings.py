"""Nothing wrong in silence: what is refused from the schema, what is warned of, eager and lazy."""

from __future__ import annotations

import random
import re
import warnings
from itertools import chain, permutations, product
from pathlib import Path

import polars as pl
import pytest
from helpers import COLLECTED, GRADED, GRADES, Query, alike, frame_of, values_of_each
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from registry import ROWS

import polars_graded
from polars_graded import (
    DataWarning,
    average_curves,
    count_retrieved,
    evaluate,
    experiments,
    join_judgments,
    overview,
    read_letor,
    read_qrels,
    read_run,
)
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._warnings import KINDS

PACKAGE = Path(polars_graded.__file__).parent

BOTH = pytest.mark.parametrize("lazily", [False, True], ids=["eager", "lazy"])


def measured(frame: pl.DataFrame, *measures: str, lazily: bool, **options) -> pl.DataFrame:
    return evaluate(frame.lazy() if lazily else frame, *measures, **options).lazy().collect()


def assert_warned(message: str, *rest: str) -> pytest.WarningsChecker:
    return pytest.warns(UserWarning, match="^" + re.escape(message) + "".join(rest))


# A run of 199 queries as those of TREC's deep learning track, of which 44 were judged.

draw = random.Random(2020)
RUN = pl.DataFrame(
    [
        (f"{query}", f"D{doc}", 100.0 - rank)
        for query in range(199)
        for rank, doc in enumerate(draw.sample(range(60), 25))
    ],
    schema=["query", "doc", "score"],
    orient="row",
)
QRELS = pl.DataFrame(
    [
        (f"{query}", f"D{doc}", draw.choice([0, 0, 1, 2, 3]))
        for query in range(44)
        for doc in draw.sample(range(60), 30)
    ],
    schema=["query", "doc", "grade"],
    orient="row",
)


def mean(frame: pl.DataFrame, **options) -> float:
    return evaluate(frame, "ndcg@10", **options)["ndcg@10"].mean()


@BOTH
@pytest.mark.filterwarnings("ignore:the judged share of the first ten")
def test_queries_without_a_judged_document_are_warned_of(lazily):
    joined = RUN.join(QRELS, on=["query", "doc"], how="left")
    said = "no document is judged in 155 of 199 queries, which count as 0: '100', '101', '102', ..."
    with assert_warned(
        said, r"\n\nHint: join_judgments\(run, judgments\) leaves such queries out, "
    ) as got:
        values = measured(joined, "ndcg@10", lazily=lazily)
    if not lazily:  # Polars may collect in another thread, where no line of the caller is known
        assert {warning.filename for warning in got} == {__file__}
    with assert_warned("no document is judged in 155 of 199 queries, which are undefined: "):
        measured(joined, "ndcg@10", lazily=lazily, undefined_as=None)
    with assert_warned("queries without any judgment are left out of the result, got 155"):
        judged = join_judgments(RUN, QRELS)
    # The left join divides by all queries, and an ideal ranking of what was retrieved is too poor.
    assert values["ndcg@10"].mean() < 0.4 * mean(judged)
    inner = RUN.join(QRELS, on=["query", "doc"], how="inner")
    assert mean(inner) > mean(judged)


STACKED = pl.DataFrame(
    {
        "strategy": ["a", "a", "b", "b"],
        "query": [1, 1, 1, 1],
        "grade": [1, 0, 1, 0],
        "score": [2.0, 1.0, 1.0, 2.0],
    }
)


@pytest.mark.parametrize(
    ("call", "named"),
    [(evaluate, ["ap"]), (average_curves, ["ndcg_curve@2"]), (count_retrieved, []), (overview, [])],
)
def test_a_lazy_frame_of_stacked_strategies_is_refused_before_anything_runs(call, named):
    def must_not_run(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError

    lazy = STACKED.lazy().map_batches(must_not_run, schema=STACKED.schema)
    sentence = (
        "`frame` has a column 'strategy' that no argument names; its strategies would be ranked as "
        "one\n\nHint: pass strategy='strategy', or drop the column"
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call(lazy, *named)
    with pytest.raises(ValueError, match=r"`frame` has 2 strategies in its column 'strategy'"):
        call(STACKED, *named)


def test_a_lazy_frame_whose_strategies_are_named_is_measured():
    named = evaluate(STACKED.lazy(), "ap", strategy="strategy").collect()
    assert named["ap"].to_list() == [1, 1 / 2]
    by_it = STACKED.with_columns(strategy=pl.Series([2, 1, 2, 1])).lazy()
    assert evaluate(by_it, "ap", by="strategy").collect()["ap"].to_list() == [1]


@BOTH
def test_a_query_that_a_strategy_lacks_is_warned_of_lazily_too(lazily):
    lacking = pl.concat(
        [STACKED, STACKED.filter(strategy="a").with_columns(query=pl.lit(2, pl.Int64))]
    )
    said = "some strategies have no row for some queries, which are missing from their means: "
    with assert_warned(f"{said}'b' lacks 1 of 2\n\nHint: join_judgments"):
        measured(lacking, "ap", lazily=lazily, strategy="strategy")


@BOTH
def test_a_strategy_that_retrieved_nothing_did_not_run(lazily):
    frame = STACKED.drop("strategy").head(2).with_columns(idle=pl.lit(None, pl.Float64))
    with assert_warned("'idle' retrieved nothing for any query, so there is no ranking"):
        values = measured(frame, "ap", lazily=lazily, by=["score", "idle"])
    assert values["ap"].to_list() == [1, 0]


@BOTH
def test_strategies_that_are_not_judged_alike_are_warned_of(lazily):
    # Of ten documents, "pooled" finds all judged and "new" six, in each of ten queries.
    frame = pl.DataFrame(
        [
            (query, doc, None if doc >= 10 else doc % 2, pooled, new)
            for query in range(10)
            for doc in range(14)
            for pooled, new in [(-doc / 4 if doc < 10 else None, doc / 4 if doc >= 4 else None)]
        ],
        schema=["query", "doc", "grade", "pooled", "new"],
        orient="row",
    )
    said = (
        "the judged share of the first ten documents is 60% for 'new' and 100% for 'pooled', and "
        "unjudged documents count as irrelevant"
    )
    with assert_warned(said):
        measured(frame, "ap", lazily=lazily, by=["pooled", "new"])
    few = frame.filter(pl.col("query") < 9)  # of which it would say too little
    with warnings.catch_warnings(action="error"):
        measured(few, "ap", lazily=lazily, by=["pooled", "new"])


def rated(share: float, queries: int = 40) -> pl.DataFrame:
    """Ten products of each query, of which so many are rated, in the orders of two strategies."""
    random_order = random.Random(4)
    return pl.DataFrame(
        [
            (query, doc, doc % 3 if doc < 10 * share else None, random_order.random(), -doc)
            for query in range(queries)
            for doc in range(10)
        ],
        schema=["query", "doc", "grade", "new", "old"],
        orient="row",
    )


@BOTH
@pytest.mark.parametrize("by", ["new", ["new", "old"]])
def test_little_that_is_judged_is_told_though_strategies_are_alike(lazily, by):
    said = (
        "the judged share of the first ten documents is 60% for 'new': 160 of 400 are unjudged "
        "and count as irrelevant\n\nHint: condensed=True leaves unjudged documents out of the "
        "rankings; trust.unjudged_bounds"
    )
    with assert_warned(said):
        measured(rated(0.6), "precision@10", by=by, lazily=lazily)
    with warnings.catch_warnings(action="error"):
        measured(rated(0.6), "precision@10", by=by, condensed=True, lazily=lazily)
        measured(rated(0.8), "precision@10", by=by, lazily=lazily)
        measured(rated(0.6, queries=9), "precision@10", by=by, lazily=lazily)


@BOTH
def test_rows_without_a_query_or_a_strategy_are_told(lazily):
    """They would be a query of their own in each mean."""
    frame = pl.DataFrame(
        {
            "query": ["a", "a", None, None, "b"],
            "system": ["x", "x", "x", None, "x"],
            "grade": [1, 0, 1, 0, 1],
            "score": [5.0, 4.0, 3.0, 2.0, 1.0],
        }
    )
    said = "query 'query' is null in 2 rows, which are measured as one separate query"
    with assert_warned(said, r"\n\nHint: \.drop_nulls\('query'\) leaves such rows out$"):
        assert measured(frame, "ap", lazily=lazily)["query"].to_list() == [None, "a", "b"]
    said = "strategy 'system' is null in 1 row, which is measured as one separate strategy"
    with assert_warned("some strategies have no row"), assert_warned(said), assert_warned("query"):
        measured(frame, "ap", lazily=lazily, strategy="system")
    with warnings.catch_warnings(action="error"):
        whole = measured(frame.drop_nulls("query"), "ap", lazily=lazily)
    assert whole["ap"].mean() == 1
    # Two columns, of which one is known, are a query.
    apart = frame.with_columns(country=pl.Series(["X", "X", "Y", "Y", "Z"]))
    with warnings.catch_warnings(action="error"):
        measured(apart, "ap", query=["country", "query"], lazily=lazily)


@BOTH
@pytest.mark.parametrize("measure", ["err@20", "nerr", "rbp(graded=True)", "generalized_precision"])
def test_queries_that_are_measured_by_scales_of_their_own_are_told(lazily, measure):
    frame = pl.DataFrame(
        {"query": [1, 1, 2, 2, 3], "grade": [4, 0, 1, 0, 0], "score": [2.0, 1.0, 2.0, 1.0, 1.0]}
    )
    said = (
        f"{measure!r} uses the highest grade of each query as the highest of the scale. It ranges "
        "from 1 to 4, and is below 4 in 1 of 2 queries, where the same grade is worth more\n\n"
        "Hint: max_grade=4 measures all queries by one scale"
    )
    with assert_warned(said):
        of_its_own = measured(frame, measure, "ap", lazily=lazily)
    with warnings.catch_warnings(action="error"):
        of_one = measured(frame, measure, "ap", max_grade=4, lazily=lazily)
        measured(frame.filter(pl.col("query") != 1), measure, lazily=lazily)
        measured(frame, "ndcng", "mu_ap", "ndcg", "rbp", lazily=lazily)
    if measure == "err@20":  # 1 - 2^-1 and, as gdeval has it, (2^1 - 1) / 2^4
        assert of_its_own[measure].to_list() == [15 / 16, 1 / 2, 0]
        assert of_one[measure].to_list() == [15 / 16, 1 / 16, 0]


TIED = pl.DataFrame(
    {
        "query": [1, 1, 1, 2, 2],
        "doc": ["a", "b", "c", "a", "b"],
        "grade": [0, 1, 0, 1, 1],
        "score": [2.0, 2.0, 1.0, 3.0, 3.0],
    }
)


@BOTH
def test_ties_that_the_order_of_rows_decides_are_warned_of(lazily):
    said = "documents with the same score have different grades in 1 of 2 queries ('score' in 1)"
    with assert_warned(f"{said}, and the order of rows decides which comes first"):
        by_rows = measured(TIED.drop("doc"), "ap", lazily=lazily)
    assert by_rows["ap"].to_list() == [1 / 2, 1]
    decided = (
        r", and 'doc' decides which comes first: the last in text order"
        r"(.|\n)*Hint: ties='doc' confirms"
    )
    with assert_warned(said, decided):
        by_default = measured(TIED, "ap", lazily=lazily)
    with warnings.catch_warnings(action="error"):
        assert measured(TIED, "ap", lazily=lazily, ties="order").equals(by_rows)
        by_doc = measured(TIED, "ap", lazily=lazily, ties="doc")
        assert by_doc["ap"].to_list() == [1, 1]
        assert by_doc.equals(by_default)
        in_a_list = measured(TIED, "ap", lazily=lazily, by=[["score", "doc"]])
        assert in_a_list.equals(by_doc)
        # What looks at no order, or at all orders, does not depend on that of rows.
        measured(TIED, "precision", "recall", "n_relevant", lazily=lazily)
        measured(TIED, "roc_auc", "ndcg(ties=average)@2", lazily=lazily)
        # Nor do ties of the same grade, or of an unjudged and an irrelevant document.
        alike = TIED.with_columns(grade=pl.Series([None, 0, 1, 1, 1]))
        measured(alike, "ap", lazily=lazily)
        measured(TIED.with_columns(query=pl.int_range(5)), "ap", lazily=lazily, undefined_as=None)


@BOTH
@pytest.mark.parametrize(
    ("called", "hint"),
    [
        ("docno", "ties='docno' confirms this order"),
        ("itemId", "ties='itemId' confirms this order"),
        ("text", "ties= names the column of documents, which breaks ties"),
    ],
)
def test_the_column_that_breaks_ties_or_would_is_named(lazily, called, hint):
    with pytest.warns(UserWarning, match=f"\n\nHint: {hint}"):
        measured(TIED.rename({"doc": called}), "ap", lazily=lazily)


def arranged(query: Query) -> list[Query]:
    """The rows of a query with those of one score in every order."""
    of_score = [[row for row in query if row[0] == score] for score in {row[0] for row in query}]
    return [[*chain(*order)] for order in product(*map(permutations, of_score))]


SMALL = st.lists(
    st.tuples(st.sampled_from([None, 0.0, 1.0, 1.0, 1.0]), st.sampled_from([None, *GRADES])),
    min_size=2,
    max_size=4,
)


HARD_TIES: list[Query] = [
    [(9, 1), (8, 1), (1, 1), (1, 0)],  # the same hits, either way
    [(9, 1), (1, 1), (1, 1), (1, 0), (1, 0)],  # worst and best are 1
    [(9, 1), (1, 4), (1, 4), (1, 3), (1, 0)],  # only best, worst is not 0
    [(3, 0), (3, 3), (2, 4), (2, None)],  # two groups even out
    [(2, 4), (2, 1), (2, 1), (2, 1)],  # the worst order is undefined
]


@pytest.mark.slow
@settings(phases=[Phase.explicit, Phase.reuse, Phase.generate], max_examples=10)
@given(queries=st.lists(SMALL, min_size=3, max_size=5), part=st.integers(0, 9))
@example(queries=HARD_TIES, part=None)
def test_ties_are_told_exactly_where_another_order_of_rows_changes_a_value(queries, part):
    rows = [row for row in ROWS if not row.columns]
    if part is not None:  # each example takes a tenth of the measures, for speed
        rows = rows[part::10]
    orders = [arranged(query) for query in queries]
    values = values_of_each(rows, GRADED, frame_of([*chain(*orders)]))
    frame = frame_of(queries)
    for row in rows:
        left = iter(values[row.name])
        apart = [[next(left) for _ in of_query] for of_query in orders]
        can_change = sum(not all(alike(each, first) for each in those) for first, *those in apart)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", DataWarning.ties)
            evaluate(frame, row.name)
        told = [re.search(r"in (\d+) of", str(warning.message))[1] for warning in caught]
        assert told == ([str(can_change)] if can_change else []), row.name


def test_ties_below_a_cutoff_are_no_reason_to_warn():
    frame = pl.DataFrame(
        {
            "query": [1] * 10,
            "grade": [1, 0, 1, 0, 1, 1, 0, 1, 0, 1],
            "score": [9, 8, 7, 6, 5, 1, 1, 1, 1, 1],
        }
    )
    whole = frame.with_columns(score=1)
    with warnings.catch_warnings(action="error"):
        evaluate(frame, "precision@5", "ndcg@5", "success@9", "reciprocal_rank")
        evaluate(whole, "ncg", "generalized_recall", "generalized_precision", "success@5")
    for measure in ("precision@6", "ndcg@6", "bpref", "judged@6"):
        unjudged = frame.with_columns(pl.col("grade").replace(0, None if "j" in measure else 0))
        with pytest.warns(DataWarning.ties, match="different grades in 1 of 1 queries"):
            evaluate(unjudged, measure)


def test_ties_are_found_wherever_they_stand():
    apart = TIED[[0, 3, 2, 4, 1]]
    said = "documents with the same score have different grades in 1 of 2 queries ('score' in 1)"
    with assert_warned(said):
        evaluate(apart, "ap")
    # In a large frame too, whose other ties are of documents that have the same grade.
    many = pl.select(query=10 + pl.int_range(50_000), score=pl.lit(1.0), grade=pl.lit(1, pl.Int64))
    for rows in (TIED, apart):
        frame = pl.concat([many, many, rows.select(many.columns)])
        with assert_warned("documents with the same score have different grades in 1 of 50002"):
            evaluate(frame, "precision@1")


def test_what_a_further_column_breaks_is_no_tie():
    with warnings.catch_warnings(action="error"):
        evaluate(TIED, "ap", by=[["score", "doc"]])
    doubled = pl.concat([TIED, TIED.with_columns(grade=pl.col("grade").reverse())])
    with assert_warned("documents with the same score have different grades"):
        evaluate(doubled.drop("doc").with_columns(k=1), "ap", by=[["score", "k"]])


def test_rankings_with_ties_are_counted_among_all_rankings():
    frames = [TIED.with_columns(strategy=pl.lit(name)) for name in ("x", "y", "z")]
    stacked = pl.concat(frames).with_columns(
        score=pl.when(strategy="z").then(-pl.int_range(pl.len())).otherwise("score")
    )
    n = stacked["query"].n_unique()
    said = f"documents with the same score have different grades in 2 of {3 * n} rankings ("
    with assert_warned(f"{said}'x' in 1, 'y' in 1)"):
        evaluate(stacked, "ap", strategy="strategy")


def test_ties_of_trec_evals_own_files_are_broken_as_trec_eval_does(data):
    run, qrels = data / "trec_eval/results.test.gz", data / "trec_eval/qrels.test.gz"
    judged = join_judgments(read_run(run), read_qrels(qrels))
    relevant = pl.col("grade").fill_null(0) > 0
    both = judged.drop_nulls("score").group_by("query", "score").agg(relevant.n_unique() > 1)
    n = both.filter("grade")["query"].n_unique()
    assert n > 0
    said = f"documents with the same score have different grades in {n} of 3 queries ('STANDARD'"
    with assert_warned(said):
        ours = evaluate(judged, "ap", strategy="strategy", fingerprint="doc")
    by_doc = evaluate(judged, "ap", strategy="strategy", ties="doc")
    assert_frame_equal(ours.select(by_doc.columns), by_doc)
    # trec_eval's own answer, as it prints it.
    assert ours["ap"].round(4).to_list() == [0.0324, 0.4175, 0.0858]


@BOTH
def test_errors_count_the_queries_of_all_batches(lazily):
    frame = pl.DataFrame(
        {"query": [i // 3 for i in range(1800)], "grade": [5] * 1800, "score": range(1800)}
    ).with_columns(pl.col("query").set_sorted())
    rule = "grade 'grade': grades must not be above `max_grade`, 4, got 5, in 600 of 600 queries"
    with pytest.raises(COLLECTED, match=rule):
        measured(frame, "ap", lazily=lazily, max_grade=4)
    rule = (
        "grade 'grade': `gain` must map each relevant grade to a gain, got none for 5, "
        "in 600 of 600 queries"
    )
    with pytest.raises(COLLECTED, match=rule):
        measured(frame, "ndcg(gain={0: 0, 1: 1})", lazily=lazily)
    infinite = frame.with_columns(score=pl.lit(float("inf")))
    rule = "score 'score' must be finite, got NaN or infinity in 600 of 600 queries"
    with pytest.raises(COLLECTED, match=rule):
        measured(infinite, "ap", lazily=lazily)


def test_a_good_frame_is_measured_without_a_word():
    good = RUN.with_columns(grade=pl.lit(1), other=-pl.col("score"))
    with warnings.catch_warnings(action="error"):
        for frame in (good, good.lazy(), good.clear(), good.clear().lazy()):
            evaluate(frame, "ndcg@10", by=["score", "other"]).lazy().collect()


# What a call asks for, in one form.


def test_measures_come_alone_in_lists_or_under_names_of_ones_own():
    frame = TIED.head(2).with_columns(score=pl.Series([1, 2]))
    expected = evaluate(frame, "ap", "ndcg@10")
    assert_frame_equal(evaluate(frame, ["ap", "ndcg@10"]), expected)
    assert_frame_equal(evaluate(frame, ["ap"], "ndcg@10"), expected)
    named = evaluate(frame, {"AP": "ap", "nDCG": "ndcg(gain={0: 0, 1: 1, 2: 5})@10"}, ("ap",))
    assert named.columns == ["strategy", "query", "AP", "nDCG", "ap"]
    assert named.row(0)[2:] == (1, 1, 1)


def test_stacked_strategies_come_in_natural_order():
    names = ["TS108", "TS12", "TS2"]
    frame = pl.concat([STACKED.head(2).with_columns(strategy=pl.lit(name)) for name in names])
    for kind in (pl.String, pl.Categorical):
        found = evaluate(frame.cast({"strategy": kind}), "ap", strategy="strategy")
        assert found["strategy"].to_list() == ["TS2", "TS12", "TS108"]
    assert evaluate(frame.lazy(), "ap", strategy="strategy").collect()["strategy"].to_list() == [
        *("TS2", "TS12", "TS108")
    ]


def test_strategies_have_the_names_of_a_mapping():
    frame = TIED.with_columns(other=-pl.int_range(5))
    by = {"ours": "other", "tied, then by document": ["score", "doc"]}
    values = evaluate(frame, "ap", by=by)
    assert values["strategy"].unique(maintain_order=True).to_list() == list(by)
    assert values["ap"].to_list() == [1 / 2, 1, 1, 1]


@BOTH
@pytest.mark.filterwarnings("ignore:the judged share of the first ten")
def test_a_join_that_starts_from_the_run_is_told(lazily):
    """It lacks what was judged and not retrieved: AP of 1/2 is AP of 1."""
    run = pl.DataFrame({"query": range(20), "doc": ["a"] * 20, "score": [2.5] * 20})
    run = pl.concat([run, run.with_columns(doc=pl.lit("b"), score=1.0)])
    judgments = pl.DataFrame({"query": range(20), "doc": ["a"] * 20, "grade": [1] * 20})
    judgments = pl.concat([judgments, judgments.with_columns(doc=pl.lit("c"))])
    left = run.join(judgments, on=["query", "doc"], how="left")
    with assert_warned("every judged document was retrieved in all 20 queries, although"):
        assert measured(left, "ap", lazily=lazily)["ap"].unique().to_list() == [1]
    whole = measured(join_judgments(run, judgments), "ap", lazily=lazily)
    assert whole["ap"].unique().to_list() == [0.5]
    measured(left, "precision@1", lazily=lazily)  # looks at what was retrieved alone
    measured(left.filter(pl.col("query") < 9), "ap", lazily=lazily)  # too few to say


@BOTH
def test_a_query_that_is_cut_in_two_by_a_null_is_told(lazily):
    """Rows that `join_judgments` adds have no country, and would be a query of their own."""
    run = pl.DataFrame({"query": [1, 1], "doc": ["a", "b"], "score": [2.0, 1.0], "country": "DE"})
    judged = join_judgments(
        run, pl.DataFrame({"query": [1, 1], "doc": ["a", "c"], "grade": [1, 1]})
    )
    with assert_warned("1 query may be split in two: 'country' is null in some of the rows"):
        cut = measured(judged, "ap", query=["query", "country"], lazily=lazily)
    assert cut["ap"].to_list() == [0, 1]
    two = {"by": {"a": "score", "b": "score"}, "query": ["query", "country"]}
    with assert_warned("1 query may be split in two: 'country' is null in some of the rows"):
        measured(judged, "ap", lazily=lazily, **two)
    assert measured(judged, "ap", lazily=lazily)["ap"].to_list() == [0.5]
    alone = judged.filter(pl.col("country").is_null())
    alone = alone.with_columns(score=pl.lit(1.0))
    measured(alone, "ap", query=["query", "country"], lazily=lazily)


# The kinds of warnings.


def test_every_kind_of_warning_is_given_somewhere_and_documented():
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert set(re.findall(r"(?<!`)DataWarning\.([a-z]+),", code)) == {*KINDS}
    assert re.findall(r"^ *- `([a-z]+)`:", DataWarning.__doc__, flags=re.MULTILINE) == [*KINDS]


def test_a_warning_shows_the_name_that_silences_it():
    with pytest.warns(DataWarning) as caught:
        evaluate(TIED, "ap")
    (warning,) = caught
    assert isinstance(warning.message, UserWarning)
    shown = warnings.formatwarning(
        str(warning.message), warning.category, warning.filename, warning.lineno
    )
    assert "DataWarning.ties: documents with the same score have different grades" in shown
    name = re.search(r"DataWarning\.(\w+)", shown)[1]
    assert warning.filename == __file__
    with warnings.catch_warnings(action="error"):
        warnings.simplefilter("ignore", getattr(DataWarning, name))
        evaluate(TIED, "ap")
        stars = TIED.with_columns(grade=pl.Series([1, 2, 3, 4, 5]))
        with pytest.raises(DataWarning.scale, match="grades are stars"):
            evaluate(stars, "ap")
        warnings.simplefilter("ignore", DataWarning)
        evaluate(stars, "ap")


# Joins that lose judgments, told by what stacked strategies have to share.


RUNS = pl.concat(
    [
        pl.DataFrame({"query": [1, 1, 2], "doc": ["a", "b", "a"]}).with_columns(
            strategy=pl.lit("x")
        ),
        pl.DataFrame({"query": [1, 2, 2], "doc": ["b", "a", "b"]}).with_columns(
            strategy=pl.lit("y")
        ),
    ]
).with_columns(score=-pl.int_range(6))
OF_RUNS = pl.DataFrame(
    {"query": [1, 1, 1, 2, 2], "doc": ["a", "b", "c", "a", "b"], "grade": [1.0, 2, 1, 0.1, 0.2]}
)


@BOTH
@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_join_of_runs_that_are_stacked_is_told(lazily, how):
    joined = RUNS.join(OF_RUNS, on=["query", "doc"], how=how)
    said = (
        "the relevant documents of a query differ between strategies in 2 of 2 queries (query "
        "1: 'y' has 1 and 'x' has 2)"
    )
    with assert_warned(
        said, r"(.|\n)*Hint: join_judgments\(run, judgments\) contains each judged document"
    ):
        measured(joined, "ap", strategy="strategy", lazily=lazily)
    with warnings.catch_warnings(action="error"):
        measured(joined, "precision@5", strategy="strategy", lazily=lazily)
        judged = join_judgments(RUNS, OF_RUNS, strategy="strategy")
        measured(judged, "ap", strategy="strategy", lazily=lazily)
        # In another order the grades of a query add up to another double.
        measured(judged.reverse(), "ap", strategy="strategy", lazily=lazily)
    graded_apart = judged.with_columns(
        pl.when(strategy="x", doc="b", query=1).then(1).otherwise("grade").alias("grade")
    )
    with pytest.warns(
        DataWarning.join, match=r"in 1 of 2 queries \(query 1: 'x' has 3 and 'y' has 3\)"
    ):
        measured(graded_apart, "ap", strategy="strategy", doc=None, lazily=lazily)


def test_joins_of_real_runs_are_told_and_what_judge_makes_of_them_is_not(data):
    rows = read_letor([*sorted(data.glob("ohsumed/*.gz"))]).unique(["query", "doc"])
    runs = [
        rows.select("query", "doc", score=name, strategy=pl.lit(name))
        .sort("score", descending=True)
        .group_by("query", maintain_order=True)
        .head(10)
        for name in ("f1", "f4", "f9")
    ]
    qrels = rows.select("query", "doc", "grade")
    stacked = pl.concat(runs)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning.join)
        evaluate(
            join_judgments(stacked, qrels, strategy="strategy"),
            "ap",
            strategy="strategy",
            ties="doc",
        )
    for how in ("inner", "left"):
        joined = stacked.join(qrels, on=["query", "doc"], how=how)
        with pytest.warns(DataWarning.join, match="differ between strategies in"):
            evaluate(joined, "ap", strategy="strategy", ties="doc")


# What grades mean.


@BOTH
def test_grades_that_look_like_stars_are_told(lazily):
    stars = pl.DataFrame({"query": [1, 1, 2], "grade": [1, 5, 4], "score": [3.0, 2.0, 1.0]})
    said = "grades are stars from 1 to 5 and never 0, so 1 counts as relevant\n\nHint: irrelevant=1"
    with assert_warned(said):
        assert measured(stars, "recall@1", lazily=lazily)["recall@1"].to_list() == [1 / 2, 1]
    # Only measures of a scale have a use for its highest grade.
    of_five = r" makes 1 irrelevant \(stars up to 5: irrelevant=1, max_grade=5\); relevant_from=4 "
    with assert_warned(said, of_five):
        measured(stars.filter(query=1), "generalized_precision@1", lazily=lazily)
    with assert_warned(said, " makes 1 irrelevant; relevant_from=4 "):
        measured(stars, "ndcg", lazily=lazily)
    with pytest.warns(DataWarning.scale):
        measured(stars.cast({"grade": pl.Float64}), "ap", lazily=lazily)
    grade = pl.col("grade")
    with assert_warned("grades are stars from 0.5 to 4.5 and never 0, so 0.5 counts as relevant"):
        measured(stars.with_columns(grade - 0.5), "ap", lazily=lazily)
    with warnings.catch_warnings(action="error"):
        found = measured(stars, "recall@1", irrelevant=1, max_grade=5, lazily=lazily)
        assert found["recall@1"].to_list() == [0, 1]
        measured(stars, "ap", relevant_from=1, lazily=lazily)
        measured(stars, "ap(threshold=4)", lazily=lazily)
        for other in (
            grade - 1,
            grade + 0.5,
            grade - 0.75,
            grade.clip(upper_bound=2),
            grade > 0,
            grade + 1,
        ):
            measured(stars.with_columns(other), "ap", lazily=lazily)


@BOTH
def test_relevant_from_holds_for_whole_frames(lazily):
    """Half stars: of 1, 3 and 4.5 from 3.5 on, gains above half a star."""
    frame = pl.DataFrame({"query": [1] * 3, "grade": [1.0, 3, 4.5], "score": [3.0, 2.0, 1.0]})
    found = measured(
        frame, "cg(gain=linear)", "ap", "ap(threshold=4)", irrelevant=0.5, relevant_from=3.5,
        lazily=lazily,
    )  # fmt: skip
    assert found.row(0)[2:] == (4.0, 1 / 3, 1 / 3)
    (row,) = overview(frame, relevant_from=5).select("none_relevant").rows()
    assert row == (1,)


@BOTH
def test_a_query_that_is_no_number_is_told(lazily):
    frame = pl.DataFrame({"query": [1.0, float("nan")], "grade": [1, 1], "score": [1.0, 1.0]})
    said = "query 'query' is NaN in 1 row, which is measured as one separate query"
    with assert_warned(said, r"\n\nHint: \.drop_nans\('query'\) leaves such rows out$"):
        assert measured(frame, "ap", lazily=lazily).height == 2
    with warnings.catch_warnings(action="error"):
        measured(frame.drop_nans("query"), "ap", lazily=lazily)


@BOTH
def test_ties_that_the_grade_breaks_are_told(lazily):
    with assert_warned("`ties` names the grade 'grade', so the best of tied documents comes"):
        found = measured(TIED, "ap", ties="grade", lazily=lazily)
    assert (
        found["ap"].to_list()
        == measured(TIED, "ap(ties=optimistic)", lazily=lazily)["ap(ties=optimistic)"].to_list()
    )


def test_queries_without_judgments_count_as_each_measure_says():
    frame = pl.DataFrame({"query": list("aabb"), "doc": list("xyxy"), "score": [3.0, 2, 0.5, 1]})
    frame = frame.with_columns(grade=pl.Series([1, 0, None, None]))
    told = (
        "which are undefined for 'roc_auc' and count as 1 for 'e_measure' and count as 0 for 'ap'"
    )
    with pytest.warns(DataWarning.unjudged, match=told):
        evaluate(frame, "roc_auc", "e_measure", "ap")
    with pytest.warns(DataWarning.unjudged, match="in 1 of 2 queries, which are undefined: 'b'"):
        evaluate(frame, "roc_auc")


def test_hints_work_for_expressions_and_for_several_columns():
    frame = pl.DataFrame(
        {"query": ["a"] * 2, "doc": ["x", "y"], "grade": [1, 0], "score": [3.0, 2]}
    )
    with pytest.warns(
        DataWarning.scale, match=r"Hint: pl.when\(grades >= 0\).then\(grades\), with"
    ):
        evaluate(frame, "ap", grade=pl.col("grade") - 1)
    sessions = pl.DataFrame({"user": ["u", "v", None], "session": [1, None, None], "grade": 1})
    sessions = sessions.with_columns(score=1.0)
    with pytest.warns(DataWarning.nulls) as caught:
        evaluate(sessions, "ap", query=["user", "session"])
    [hint] = [
        match[1]
        for each in caught
        if (match := re.search(r"Hint: \.(filter\(.*\)) leaves such rows", str(each.message)))
    ]
    assert eval(f"sessions.{hint}").height == 2  # noqa: S307


def grades_of_one_query(*grades) -> pl.DataFrame:
    return pl.DataFrame({"query": 1, "grade": grades, "score": range(len(grades))})


POWERS = ["cg", "dcg", "ndcg", "ncg", "ideal_dcg", "ideal_cg", "ndcg_area"]
POWERS += [f"{name}_curve" for name in ("cg", "dcg", "ideal_dcg", "ndcg")]
"""Measures with gains of 2^grade - 1 by default."""


@pytest.mark.parametrize("name", DEFINITIONS)
def test_measures_whose_gains_are_powers_of_large_grades_are_named(name):
    """The value of a measure with such gains hardly depends on lower grades, others' does."""
    definition = DEFINITIONS[name]
    text = f"{name}@3" if definition.has_cutoff else name
    frame = grades_of_one_query(40, 0, 20, 43)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            before, after = (
                polars_graded.evaluate(rows, text, max_grade=43).select(pl.last().explode())
                for rows in (frame, frame.with_columns(pl.col("grade").replace({20: 1})))
            )
        except ValueError:
            return  # a measure of further columns
    told = [str(each.message) for each in caught if "2^grade" in str(each.message)]
    assert bool(told) == (name in POWERS)
    if name in POWERS:
        assert all(f"'{text}' uses the gain" in sentence for sentence in told)
        assert_frame_equal(before, after, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("grades", "measures", "options"),
    [
        ((0, 1, 2, 3), ["ndcg@10"], {}),
        ((1, 5), ["ndcg@10"], {"irrelevant": 1}),
        ((0, 10), ["ndcg@10", "dcg_curve@5"], {}),
        ((1, 11), ["dcg"], {"irrelevant": 1}),
        ((0.0, 0.25, 1.0), ["ndcg"], {}),
        ((0, 43), ["ndcg(gain=exp2)@10", "dcg_curve( gain = exp2)@5"], {}),
        ((0, 43), [{"E": "dcg(gain=exp2)@5"}, "ndcg(gain={43: 2})@10", "ndcng"], {}),
        ((0, 43), ["ndcg(gain=linear)@10", "ap", "sdcg@5"], {"max_grade": 43}),
    ],
)
def test_usual_scales_and_chosen_gains_are_not_warned_of(grades, measures, options):
    polars_graded.evaluate(grades_of_one_query(*grades), *measures, **options)


def test_counts_as_grades_are_warned_of_if_gains_are_powers_of_two():
    clicks = grades_of_one_query(0, 3, 43)
    message = (
        r"(?s)'ndcg@10', 'E' use the gain 2\^grade - 1, which is about 10\^13 for the highest "
        r"grade, 43: .*'ndcg\(gain=linear\)@10'; phi_relevance\(\)"
    )
    with pytest.warns(DataWarning.scale, match=message):
        polars_graded.evaluate(clicks, "ndcg@10", {"E": "dcg"}, "ndcg(gain=linear)", "ndcng", "ap")


def test_experiments_use_the_gains_of_their_papers():
    experiments.robustness_to_levels([50], [0, 5], runs=5)
    frame = pl.DataFrame(
        {"query": 1, "grade": [0, 20, 40], "score": [1, 2, 3], "popularity": [1, 50, 900]}
    )
    experiments.threshold_profile(frame, by="score", grade=["grade", "popularity"])
    experiments.ndcg_by_relevance(frame, by="score")


def test_a_count_too_large_for_a_gain_that_is_not_retrieved_is_warned_of():
    frame = grades_of_one_query(3, 5000).with_columns(score=pl.Series([1.0, None]))
    with pytest.warns(DataWarning.scale, match=r"about 10\^1505 for the highest grade, 5000"):
        assert polars_graded.evaluate(frame, "dcg@10")["dcg@10"].item() == 7
