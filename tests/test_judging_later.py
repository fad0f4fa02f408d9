"""A lazy run that is judged when it is collected: the same rows, and the same that is refused."""

from __future__ import annotations

import re

import polars as pl
import pytest
from helpers import COLLECTED, catch_messages, frame_of, random_queries
from polars.testing import assert_frame_equal

from polars_graded import join_judgments

# Strategies of these runs did not answer all the same queries, as those of real ones do.
pytestmark = pytest.mark.filterwarnings("ignore:judged queries without a row:UserWarning")


ROWS = frame_of(random_queries(3, 200, grades=[0, 0, 1, 2, 3])).select(
    pl.format("q{}", "query").alias("query"),
    pl.format("d{}", pl.int_range(pl.len()).over("query")).alias("doc"),
    "grade",
    "score",
)
JUDGMENTS = ROWS.select("query", "doc", "grade").drop_nulls().filter(pl.col("query") != "q17")
RUN = (
    ROWS.drop_nulls("score")
    .drop("grade")
    .filter(pl.col("query") != "q30")
    .sample(fraction=1, shuffle=True, seed=1)
)
STACKED = pl.concat(
    RUN.filter(pl.col("query").str.slice(1).cast(pl.Int64) % 10 != 7 + seed).with_columns(
        score=pl.col("score") * sign, run=pl.lit(name)
    )
    for seed, (name, sign) in enumerate({"b": 1, "a": -1, "c": 2}.items())
).sample(fraction=1, shuffle=True, seed=2)

WITH_NAMES = {"strategy": "run"}

fits = pytest.mark.filterwarnings("ignore:queries without any|judged queries without a row")
"""Of a query that is not judged, and one that nobody answered."""


@fits
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("lazy_judgments", [True, False])
def test_rows_are_those_of_an_eager_run_in_their_order(engine, lazy_judgments):
    judgments = JUDGMENTS.lazy() if lazy_judgments else JUDGMENTS
    for run, options in ((RUN, {}), (STACKED, WITH_NAMES)):
        expected = join_judgments(run, JUDGMENTS, **options)
        found = join_judgments(run.lazy(), judgments, **options)
        assert isinstance(found, pl.LazyFrame)
        assert found.collect_schema() == expected.schema
        assert_frame_equal(found.collect(engine=engine), expected)


@fits
def test_columns_of_the_judgments_alone_are_joined():
    expected = join_judgments(RUN, JUDGMENTS).select("grade")
    assert_frame_equal(join_judgments(RUN.lazy(), JUDGMENTS).select("grade").collect(), expected)


@fits
def test_only_needed_columns_are_read(tmp_path, monkeypatch):
    """A wide run has text of documents, which takes most of the memory."""
    wide = RUN.with_columns(**{f"w{i}": pl.lit("text") for i in range(8)})
    wide.write_parquet(tmp_path / "run.parquet")
    read = []

    def collect(frame, **options):
        collected = collect_frame(frame, **options)
        read.append(collected.columns)
        return collected

    joined = join_judgments(pl.scan_parquet(tmp_path / "run.parquet"), JUDGMENTS)
    expected = joined.collect().select("query", "grade", "w3")
    collect_frame = pl.LazyFrame.collect
    monkeypatch.setattr(pl.LazyFrame, "collect", collect)
    found = collect_frame(joined.select("query", "grade", "w3"))
    assert_frame_equal(found, expected)
    assert ["query", "doc", "score", "w3"] in read
    assert not any("w4" in columns for columns in read)


def in_one_query(name, value):
    """A column with another value in one query."""
    return pl.when(query="q5").then(value).otherwise(name).alias(name)


REFUSED = {
    "a document twice": (pl.concat([RUN, RUN.slice(1, 4)]), JUDGMENTS),
    "a judgment twice": (RUN, pl.concat([JUDGMENTS] * 2)),
    "other documents": (RUN.with_columns(doc=pl.col("doc").hash().cast(pl.String)), JUDGMENTS),
    "other queries": (RUN.with_columns(query=pl.col("query").str.slice(1)), JUDGMENTS),
    "null in the run": (RUN.with_columns(in_one_query("doc", None)), JUDGMENTS),
    "null in judgments": (RUN, JUDGMENTS.with_columns(in_one_query("doc", None))),
    "a null strategy": (
        RUN.with_columns(strategy=pl.lit("x")).with_columns(in_one_query("strategy", None)),
        JUDGMENTS,
    ),
}


@fits
@pytest.mark.parametrize("keys", [[], ["query"]])
@pytest.mark.parametrize("case", REFUSED)
def test_what_rows_show_is_refused_when_they_go_by(case, keys):
    run, judgments = REFUSED[case]
    with pytest.raises(ValueError, match="must") as eager:
        join_judgments(run, judgments)
    rule = str(eager.value).partition(", got")[0]
    lazy = run.lazy().sort(keys, maintain_order=True) if keys else run.lazy()
    judged = join_judgments(lazy, judgments.lazy())
    with pytest.raises(COLLECTED, match=re.escape(rule)):
        judged.collect()


def test_a_strategy_without_rows_misses_every_judged_document():
    runs = {"a": RUN.lazy(), "b": RUN.clear().lazy()}
    judged, messages = catch_messages(lambda: join_judgments(runs, JUDGMENTS).collect())
    assert "'b' lacks" in messages
    missed = judged.filter(strategy="b")
    assert missed.height == JUDGMENTS.height
    assert missed["score"].null_count() == JUDGMENTS.height


@pytest.mark.parametrize(
    ("run", "judgments"),
    [
        (STACKED, JUDGMENTS),
        (STACKED, JUDGMENTS.with_columns(grade=pl.col("grade") - 1)),
        (STACKED.filter((pl.col("run") != "c") | (pl.col("query") == "q17")), JUDGMENTS),
        (STACKED.with_columns(doc=pl.col("doc").replace({"d1": "x", "d2": "y"})), JUDGMENTS),
        (
            STACKED.with_columns(
                doc=pl.when(pl.col("query") == "q142").then("doc").otherwise("x" + pl.col("doc"))
            ),
            JUDGMENTS,
        ),
    ],
)
def test_it_is_warned_of_what_an_eager_run_is(run, judgments):
    _, expected = catch_messages(lambda: join_judgments(run, judgments, **WITH_NAMES))
    judged = join_judgments(run.lazy(), judgments.lazy(), **WITH_NAMES)
    assert catch_messages(judged.collect)[1] == expected
    assert expected
