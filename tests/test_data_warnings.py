"""Nothing wrong in silence: what is refused from the schema, what is warned of, eager and lazy."""

from __future__ import annotations

import random
import re
import warnings
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_graded
from polars_graded import DataWarning, evaluate, join_judgments, overview
from polars_graded._frames.strategies import sort_naturally
from polars_graded._measuring.definitions import DEFINITIONS
from polars_graded._warnings import KINDS

BOTH = pytest.mark.parametrize("lazily", [False, True], ids=["eager", "lazy"])


def measured(frame: pl.DataFrame, *measures: Any, lazily: bool, **options) -> pl.DataFrame:
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


@pytest.mark.parametrize(("call", "named"), [(evaluate, ["ap"]), (overview, [])])
def test_a_lazy_frame_of_stacked_strategies_is_refused_before_anything_runs(call, named):
    def must_not_run(_: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError

    lazy = STACKED.lazy().map_batches(must_not_run, schema=STACKED.schema)
    sentence = (
        "`frame` has a column 'strategy' that no argument names; its strategies would be ranked as "
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call(lazy, *named)
    with pytest.raises(ValueError, match=r"`frame` has 2 strategies in its column 'strategy'"):
        call(STACKED, *named)


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
    said = "the judged share of the first ten documents is 60% for 'new', and 100% for 'pooled': 40"
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
        "the judged share of the first ten documents is 60% for 'new': 160 of the 400 of 'new' are "
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


def test_a_good_frame_is_measured_without_a_word():
    good = RUN.with_columns(grade=pl.lit(1), other=-pl.col("score"))
    with warnings.catch_warnings(action="error"):
        for frame in (good, good.lazy(), good.clear(), good.clear().lazy()):
            evaluate(frame, "ndcg@10", by=["score", "other"]).lazy().collect()


def test_measures_come_alone_in_lists_or_under_names_of_ones_own():
    frame = TIED.head(2).with_columns(score=pl.Series([1, 2]))
    expected = evaluate(frame, "ap", "ndcg@10")
    assert_frame_equal(evaluate(frame, ["ap", "ndcg@10"]), expected)
    assert_frame_equal(evaluate(frame, ["ap"], "ndcg@10"), expected)
    named = evaluate(frame, {"AP": "ap", "nDCG": "ndcg(gain={0: 0, 1: 1, 2: 5})@10"}, ("ap",))
    assert named.columns == ["strategy", "query", "AP", "nDCG", "ap"]
    assert named.row(0)[2:] == (1, 1, 1)


def test_names_with_very_many_digits_are_sorted():
    """Python converts no more than 4300 digits to an integer."""
    names = [f"s{'9' * 5000}", f"s1{'0' * 5000}", "s12", "s9"]
    assert sort_naturally(names) == ["s9", "s12", *names[:2]]


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
@pytest.mark.parametrize("name", ["id", "_id", "ID"])
def test_a_column_that_identifies_queries_orders_no_ties(name, lazily):
    frame = TIED.drop("doc").with_columns((pl.col("query") * 10).alias(name))
    said = "documents with the same score have different grades in 1 of 2 queries ('score' in 1)"
    for rows, value in ((frame, 0.5), (frame.reverse(), 1)):
        with assert_warned(f"{said}, and the order of rows decides which comes first"):
            values = measured(rows, "reciprocal_rank", lazily=lazily)
        assert values.filter(query=1)["reciprocal_rank"].item() == value


@BOTH
@pytest.mark.filterwarnings("ignore:the judged share of the first ten")
def test_a_join_that_starts_from_the_run_is_told(lazily):
    """It lacks what was judged and not retrieved: AP of 1/2 is AP of 1."""
    run = pl.DataFrame({"query": range(20), "doc": ["a"] * 20, "score": [2.5] * 20})
    run = pl.concat([run, run.with_columns(doc=pl.lit("b"), score=1.0)])
    judgments = pl.DataFrame({"query": range(20), "doc": ["a"] * 20, "grade": [1] * 20})
    judgments = pl.concat([judgments, judgments.with_columns(doc=pl.lit("c"))])
    of_both = judgments.head(1).with_columns(doc=pl.lit("b"), grade=0)
    judgments = pl.concat([judgments, of_both], how="vertical_relaxed")
    left = run.join(judgments, on=["query", "doc"], how="left")
    with assert_warned("every judged document was retrieved in all 20 queries, although"):
        assert measured(left, "ap", lazily=lazily)["ap"].unique().to_list() == [1]
    whole = measured(join_judgments(run, judgments), "ap", lazily=lazily)
    assert whole["ap"].unique().to_list() == [0.5]
    measured(left, "precision@1", lazily=lazily)  # looks at what was retrieved alone
    measured(left.filter(pl.col("query") < 9), "ap", lazily=lazily)  # too few to say


@BOTH
@pytest.mark.filterwarnings("ignore:the judged share of the first ten")
def test_candidates_with_one_judged_document_per_query_lack_none(lazily):
    """As if one item of each user is left out, and ranked among others that nobody judged."""
    run = {f"u{user}": {f"i{n}": -n for n in range(10)} for user in range(30)}
    left_out = {f"u{user}": {f"i{user % 10}": 1} for user in range(30)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning.join)
        measured(join_judgments(run, left_out), "ndcg@10", lazily=lazily)


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


RUNS = pl.DataFrame(
    {"strategy": [*"xxxyyy"], "query": [1, 1, 2, 1, 2, 2], "doc": [*"ababab"]}
).with_columns(score=-pl.int_range(6))
OF_RUNS = pl.DataFrame(
    {"query": [1, 1, 1, 2, 2], "doc": ["a", "b", "c", "a", "b"], "grade": [1.0, 2, 1, 0.1, 0.2]}
)


@BOTH
@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_join_of_runs_that_are_stacked_is_told(lazily, how):
    joined = RUNS.join(OF_RUNS, on=["query", "doc"], how=how)
    said = "the relevant documents of a query differ between strategies in 2 of 2 queries (1, 2"
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
    with pytest.warns(DataWarning.join, match=r"in 1 of 2 queries \(1\)"):
        measured(graded_apart, "ap", strategy="strategy", doc=None, lazily=lazily)


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
def test_ties_that_the_grade_breaks_are_told(lazily):
    with assert_warned("`ties` names the grade 'grade', so the best of tied documents comes"):
        found = measured(TIED, "ap", ties="grade", lazily=lazily)
    expected = measured(TIED, {"ap": "ap(ties=optimistic)"}, lazily=lazily)
    assert_frame_equal(found, expected)


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
    with warnings.catch_warnings(record=True, action="always") as caught:
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


@BOTH
@pytest.mark.parametrize("measure", ["err@20", "nerr", "rbp(graded=True)", "generalized_precision"])
def test_queries_that_are_measured_by_scales_of_their_own_are_told(lazily, measure):
    frame = pl.DataFrame(
        {"query": [1, 1, 2, 2, 3], "grade": [4, 0, 1, 0, 0], "score": [2.0, 1.0, 2.0, 1.0, 1.0]}
    )
    said = (
        f"{measure!r} uses the highest grade of each query as the highest of the scale. It ranges "
        "from 1 to 4, so the same grade is worth more in some queries\n\n"
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


def test_the_docstring_describes_each_kind():
    assert re.findall(r"^    - `(\w+)`:", DataWarning.__doc__, re.MULTILINE) == [*KINDS]


def pooled(*measures, **options) -> tuple[pl.DataFrame, list[str]]:
    """Values with grades of -1, and the warnings."""
    rng = random.Random(6)
    grades = [rng.choice([-1, -1, 0, 1, 2]) for _ in range(40 * 8)]
    frame = pl.DataFrame({"query": pl.int_range(40 * 8, eager=True) // 8, "grade": grades})
    frame = frame.with_columns(score=pl.Series(rng.sample(range(1000), 40 * 8)))
    if options.pop("are_unjudged", False):
        frame = frame.with_columns(pl.when(pl.col("grade") >= 0).then("grade"))
    with warnings.catch_warnings(record=True, action="always") as caught:
        values = evaluate(frame, *measures, max_grade=2, descending=True, **options)
    return values, [str(each.message) for each in caught if "below 0" in str(each.message)]


@pytest.mark.parametrize("condensed", [False, True])
def test_grades_below_zero_are_warned_of_if_they_change_a_value(condensed):
    """Without `condensed`, exactly then; with it, also for measures that look at all judgments."""
    names = [name for name, each in DEFINITIONS.items() if not each.input_names]
    values, _ = pooled(*names, condensed=condensed)
    unjudged, _ = pooled(*names, condensed=condensed, are_unjudged=True)
    wrong = []
    for name in names:
        is_changed = not values[name].equals(unjudged[name])
        _, warned = pooled(name, condensed=condensed)
        if name == "infap":
            assert is_changed
            assert not warned
        elif bool(warned) < is_changed or (not condensed and bool(warned) > is_changed):
            wrong.append(name)
        for sentence in warned:
            assert f"matters for '{name}'" in sentence
    assert not wrong


def test_infap_keeps_the_grades_that_other_measures_ignore():
    _, [warned] = pooled("bpref", "infap")
    assert "matters for 'bpref'" in warned
    assert warned.endswith("infap needs these grades, so it belongs in another call")
