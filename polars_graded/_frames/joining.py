"""Join runs with judgments, append missed documents, and check that they match.

A strategy missed a judged document if it did not retrieve the document. The rows of the run keep
their order. Rows of queries without judgments are dropped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

import polars as pl
import polars.selectors as cs

from polars_graded._checks import (
    MAX_SHOWN_VALUES,
    TEXT_TYPES,
    check_column_name,
    check_column_names,
    check_columns,
    check_number,
    first_few,
    pack_query,
)
from polars_graded._frames.lazy_frames import scan_frames
from polars_graded._frames.tables import (
    Frame,
    build_judgment_table,
    build_run_table,
    check_judgment_columns,
    check_key_columns,
    gather_subtopics,
)
from polars_graded._measuring.column_checks import check_grade
from polars_graded._measuring.keywords import checks_call
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["join_judgments"]

ROW_NUMBER = "polars_graded: row number"
NO_STRATEGY = "polars_graded: no strategy"
N_RETRIEVED, N_FOUND = "polars_graded: retrieved", "polars_graded: found"
"""Names of temporary columns: row numbers of judgments; nulls in place of strategies if a run has
none; and for a strategy and query, the number of retrieved documents and of judged ones among them.
The prefix keeps them apart from the columns of callers."""

MAX_COMPARED_IDS = 1000
"""Maximum number of documents whose ids are compared with those of judgments."""


class _JoinOptions(TypedDict, total=False):
    """The keywords of `join_judgments`."""

    query: str | Sequence[str]
    doc: str
    grade: str
    strategy: str | None
    subtopic: str | None
    unjudged_below: float | None


@overload
def join_judgments(
    run: pl.LazyFrame | Mapping[str, pl.LazyFrame], judgments: Any, **options: Unpack[_JoinOptions]
) -> pl.LazyFrame: ...
@overload
def join_judgments(run: Any, judgments: Any, **options: Unpack[_JoinOptions]) -> pl.DataFrame: ...
@checks_call
def join_judgments(
    run: Any,
    judgments: Any,
    *,
    query: str | Sequence[str] = "query",
    doc: str = "doc",
    grade: str = "grade",
    strategy: str | None = None,
    subtopic: str | None = None,
    unjudged_below: float | None = None,
) -> Any:
    """Join a run with judgments into one frame that can be evaluated.

    A row of the result is a document of a query. If the document is not judged, its grade is null.
    If it was not retrieved, its score is null. The result contains every judged document of every
    judged query for every strategy, so that an unanswered query counts as a failure. The page
    "Rows, ties and missing judgments" of the documentation describes lists, empty runs and ids.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank: any data frame; `{query: {doc: score}}`; or
        `{query: [doc, ...]}` in rank order. A mapping from names to any of these stacks strategies.
        A LazyFrame is joined lazily; Spark and Ray are collected.
    judgments
        The judged documents: a data frame; `{query: {doc: grade}}`; or `{query: [doc, ...]}` of
        relevant documents, which get grade 1. For several graders, pass a mapping from their names,
        or a column `"grader"`.
    query, doc
        The columns of both frames that name the query (one or a list of columns) and the document.
        A column of documents may hold one list per query.
    grade
        The column of `judgments` that holds the grade. A null grade is no judgment.
    strategy
        The column of `run` that identifies strategies, by default "strategy", if the run has this
        column; otherwise, the run is one ranking per query. For a mapping of runs, it names the
        column of the result.
    subtopic
        The column of `judgments` that names the subtopic, if a document is judged once per
        subtopic. The result has one row per document with its highest grade, and a column
        "subtopics".
    unjudged_below
        Judgments with a lower grade are ignored. With 0, documents with the grade -1 in a qrels
        file (pooled but not judged) are unjudged. By default, every grade is a judgment.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `run`, then those that `judgments` adds. The rows of the run for judged
        queries come first, then the judged documents that were not retrieved, strategy by strategy.

    Raises
    ------
    ValueError
        If run and judgments write ids in different forms, so that no document is found. If a
        document occurs more than once for a query in `judgments`, or for a query and strategy in
        `run`. If a query, document or strategy is null; if another column is in both frames.
        Errors in the rows of a lazy run are raised when the result is collected.

    Warns
    -----
    DataWarning
        If queries of the run have no judgment (they are left out), or strategies did not answer a
        judged query (these count as failures). If in most queries no retrieved document is
        judged.

    See Also
    --------
    overview : Counts of retrieved, judged and relevant documents, before measuring.
    evaluate : Measures of such a frame.

    Examples
    --------
    No judgment names d9. The strategy "a" did not retrieve d2 for q1, nor d1 for q2.

    >>> import polars as pl
    >>> runs = {
    ...     "a": {"q1": {"d1": 0.9, "d9": 0.4}, "q2": {"d9": 0.3}},
    ...     "b": {"q1": {"d1": 0.7, "d2": 0.1}, "q2": {"d1": 0.5}},
    ... }
    >>> judgments = pl.DataFrame(
    ...     {"query": ["q1", "q1", "q2"], "doc": ["d1", "d2", "d1"], "grade": [2, 1, 1]}
    ... )
    >>> join_judgments(runs, judgments)
    shape: (8, 5)
    ┌──────────┬───────┬─────┬───────┬───────┐
    │ strategy ┆ query ┆ doc ┆ score ┆ grade │
    │ ---      ┆ ---   ┆ --- ┆ ---   ┆ ---   │
    │ str      ┆ str   ┆ str ┆ f64   ┆ i64   │
    ╞══════════╪═══════╪═════╪═══════╪═══════╡
    │ a        ┆ q1    ┆ d1  ┆ 0.9   ┆ 2     │
    │ a        ┆ q1    ┆ d9  ┆ 0.4   ┆ null  │
    │ a        ┆ q2    ┆ d9  ┆ 0.3   ┆ null  │
    │ b        ┆ q1    ┆ d1  ┆ 0.7   ┆ 2     │
    │ b        ┆ q1    ┆ d2  ┆ 0.1   ┆ 1     │
    │ b        ┆ q2    ┆ d1  ┆ 0.5   ┆ 1     │
    │ a        ┆ q1    ┆ d2  ┆ null  ┆ 1     │
    │ a        ┆ q2    ┆ d1  ┆ null  ┆ 1     │
    └──────────┴───────┴─────┴───────┴───────┘
    """
    query_columns = check_column_names("query", query)
    passed = {"doc": doc, "grade": grade, "strategy": strategy, "subtopic": subtopic}
    names = [*query_columns]
    for argument, name in passed.items():
        if name is not None:
            if check_column_name(argument, name) in names:
                msg = f"`{argument}` must name a column that no other argument names, got {name!r}"
                raise ValueError(msg)
            names.append(name)
    if unjudged_below is not None:
        unjudged_below = check_number("unjudged_below", unjudged_below)
    query = ", ".join(query_columns)
    if len(query_columns) > 1:
        run = pack_query("run", run, query_columns, query)
        judgments = pack_query("judgments", judgments, query_columns, query)
    if subtopic is not None:
        judgments = gather_subtopics(judgments, query, doc, grade, subtopic, unjudged_below)
    run, strategy, strategies = build_run_table(run, query, doc, strategy)
    judgments, grades = build_judgment_table(judgments, query, doc, grade)
    run = _type_columns(run, judgments, query, doc, "score")
    judgments = _type_columns(judgments, run, query, doc, *grades)
    run_schema, judgment_schema = run.collect_schema(), judgments.collect_schema()
    is_single = strategy is None
    if is_single and "strategy" in {*run_schema} - {query, doc}:
        strategy = "strategy"
    check_schemas(run_schema, judgment_schema, query, doc, grades, strategy)
    schema = pl.Schema({**run_schema, **judgment_schema})
    key = [strategy or NO_STRATEGY, query, doc]
    score = find_score(run_schema, key)
    graded = pl.col(grades)
    if unjudged_below is not None:
        judgments = judgments.with_columns(pl.when(graded >= unjudged_below).then(graded))

    def join_rows(wanted: Collection[str], _: object = None) -> Iterator[pl.DataFrame]:
        # The score is also needed: a null marks judged documents that were not retrieved.
        needed = {*wanted, *key, *grades, score}
        columns = [name for name in schema if name in needed]
        rows = run.select(cs.by_name(columns, require_all=False))
        rows = rows.collect(engine="streaming") if isinstance(rows, pl.LazyFrame) else rows
        if strategy is None:
            # The nulls are Boolean, since Polars groups by a Boolean column fast.
            rows = rows.with_columns(pl.lit(None, pl.Boolean).alias(NO_STRATEGY))
        judged = judgments.lazy().select(cs.by_name(columns, require_all=False)).collect()
        check_key_columns(judged, "judgments", [query, doc])
        is_unnamed = is_single and rows[key[0]].null_count() == rows.height
        check_key_columns(rows, "run", [query, doc] if is_unnamed else key)
        judged = judged.filter(pl.any_horizontal(graded.is_not_null()))
        names = [None] if is_unnamed else strategies
        joined = _join_tables(rows, judged, names, key, score, query_columns)
        yield joined.select(cs.by_name(*wanted))

    joined: Frame = (
        next(join_rows(schema)) if isinstance(run, pl.DataFrame) else scan_frames(schema, join_rows)
    )
    return joined if len(query_columns) == 1 else joined.unnest(query)


def _type_columns(table: Frame, other: Frame, query: str, doc: str, *numbers: str) -> Frame:
    """Return the table; columns whose values show no type get the types of the other frame.

    These are columns of nulls, and all columns of an empty DataFrame.
    """
    schema, types = table.collect_schema(), other.collect_schema()
    is_empty = isinstance(table, pl.DataFrame) and table.is_empty()
    expected = {name: types[name] for name in (query, doc) if name in types}
    expected |= {
        name: pl.Float64() for name in numbers if not schema.get(name, pl.Null()).is_numeric()
    }
    changes = {
        name: dtype
        for name, dtype in expected.items()
        if name in schema and (is_empty or schema[name] == pl.Null)
    }
    return pl.DataFrame(schema=schema | changes) if is_empty else table.cast(pl.Schema(changes))


def _join_tables(
    run: pl.DataFrame,
    judged: pl.DataFrame,
    strategy_names: Sequence[Any],
    key: Sequence[str],
    score: str,
    query_columns: Sequence[str],
) -> pl.DataFrame:
    """Return the rows of judged queries, then the judgments that each strategy missed.

    Some of the strategies in `strategy_names` may have no rows.
    """
    strategy, query, doc = key
    judged = judged.with_row_index(ROW_NUMBER)
    queries = judged.select(query).unique(maintain_order=True)
    joined = run.join(judged, on=[query, doc], how="left", maintain_order="left")
    counts = joined.group_by(strategy, query, maintain_order=True).agg(
        pl.len().alias(N_RETRIEVED), pl.col(ROW_NUMBER).count().alias(N_FOUND)
    )
    unjudged_queries = counts.join(queries, on=query, how="anti", maintain_order="left")
    if unjudged_queries.height:
        joined = joined.join(queries, on=query, how="semi", maintain_order="left")
    strategies = counts.select(strategy)
    strategies = pl.concat(
        [strategies, pl.DataFrame({strategy: strategy_names}, strategies.schema)]
    )
    strategies = strategies.unique(maintain_order=True)
    answers = strategies.join(queries, how="cross", maintain_order="left_right").join(
        counts, on=[strategy, query], how="left", nulls_equal=True, maintain_order="left"
    )
    # Only keys are joined, and the judgments are gathered by their row numbers.
    missed = strategies.join(
        judged.select(ROW_NUMBER), how="cross", maintain_order="left_right"
    ).join(
        joined.select(strategy, ROW_NUMBER).drop_nulls(ROW_NUMBER),
        on=[strategy, ROW_NUMBER],
        how="anti",
        nulls_equal=True,
        maintain_order="left",
    )
    missed = missed.select(strategy).hstack(judged[missed[ROW_NUMBER]])
    if joined.is_empty():
        check_forms(query, run[query], judged[query])
    elif not answers[N_FOUND].sum():
        check_forms(doc, joined[doc].head(MAX_COMPARED_IDS), judged[doc])
    warn_of_unjudged_queries(unjudged_queries[query].unique(maintain_order=True), run, judged)
    warn_of_missing_rows(answers, strategy, query_columns, score)
    warn_of_unmatched(answers, joined, missed if missed.height else judged, query, doc)
    return pl.concat([joined, missed], how="diagonal")


# Checks


def check_schemas(
    run: pl.Schema,
    judgments: pl.Schema,
    query: str,
    doc: str,
    grades: list[str],
    strategy: str | None,
) -> None:
    """Raise if a run and judgments with these columns cannot be joined."""
    strategies = [] if strategy is None else [strategy]
    for argument, names in (("strategy", strategies), ("query", [query]), ("doc", [doc])):
        check_columns("run", names, run, argument=argument)
    grade, *_ = grades
    if grade in run and grade not in judgments:
        msg = f"`judgments` has no column {grade!r}, but `run` has: are the two swapped?"
        raise pl.exceptions.ColumnNotFoundError(msg)
    check_judgment_columns("judgments", judgments, query, doc, grade)
    for grade in grades:
        check_grade(f"grade {grade!r}", judgments[grade])
    pair = [query, doc]
    for column in pair:
        if run[column] != judgments[column]:
            msg = (
                f'"{column}" must have one data type, got {run[column]} in `run` and '
                f"{judgments[column]} in `judgments`: cast one of them"
            )
            raise TypeError(msg)
    if shared := [name for name in judgments if name in run and name not in pair]:
        msg = (
            f"only {_quote(pair)} may be in both `run` and `judgments`, "
            f"got {_quote(shared)}: drop or rename it in one of them"
        )
        raise ValueError(msg)
    if not {*run}.difference([strategy, *pair]):
        # After the join, a null score marks judged documents that were not retrieved. Without a
        # score, they could not be distinguished from retrieved documents.
        msg = f"`run` must have a column to rank by, such as a score, got {_quote([*run])}"
        raise ValueError(msg)


def find_score(run: Iterable[str], key: Sequence[str]) -> str:
    """Return the column that shows whether a document was retrieved."""
    return min((name for name in run if name not in key), key="score".__ne__)


def _quote(columns: Sequence[str]) -> str:
    """Return the names of columns for a sentence."""
    return ", ".join(f'"{column}"' for column in columns)


def check_forms(column: str, ours: pl.Series, theirs: pl.Series) -> None:
    """Raise if no id can be equal because run and judgments write ids in different forms.

    All ids of one side are whole numbers and none of the other is, or ids such as "1", "001" and
    "1.0" are equal as numbers only.
    """
    if ours.dtype not in TEXT_TYPES or ours.is_empty() or theirs.is_empty():
        return
    one, other = (ids.cast(pl.String).unique() for ids in (ours, theirs))
    number = r"^0*([0-9]+)(\.0*)?$"
    are_numbers = [ids.str.contains(number) for ids in (one, other)]
    if all(each.all() for each in are_numbers):
        plain, other_plain = (ids.str.replace(number, "$1") for ids in (one, other))
        is_common, is_equal = one.is_in(other.implode()), plain.is_in(other_plain.implode())
        are_different = is_equal.any() and not is_common.any()
    else:
        are_different = any(each.all() for each in are_numbers) and not all(
            each.any() for each in are_numbers
        )
    if are_different:
        msg = (
            f"`run` and `judgments` must write {column!r} in the same form, got, for example, "
            f"{ours[0]!r} in `run` and {theirs[0]!r} in `judgments`"
        )
        raise ValueError(msg)


def warn_of_unjudged_queries(queries: pl.Series, run: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Warn of queries of the run without judgments; show some of each side if they are all."""
    if queries.is_empty():
        return
    column, n_queries = queries.name, len(queries)
    sentence = f"queries without any judgment are left out of the result, got {n_queries}: "
    sentence += first_few(queries.to_list())
    if n_queries == run[column].n_unique() and judged.height:
        theirs = first_few(judged[column].unique(maintain_order=True).to_list())
        sentence = (
            f"no query of `run` is in `judgments`, got {first_few(queries.to_list())} and {theirs}"
        )
    warn_the_caller(DataWarning.topics, sentence)


def warn_of_missing_rows(
    answers: pl.DataFrame, strategy: str, query_columns: Sequence[str], score: str
) -> None:
    """Warn of judged queries that strategies did not answer.

    `answers` has a row per strategy and judged query, with null counts if there is no answer.
    """
    query, is_missing = ", ".join(query_columns), pl.col(N_RETRIEVED).is_null()
    by_strategy = answers.group_by(strategy, maintain_order=True).agg(
        pl.col(query).filter(is_missing)
    )
    lacking = by_strategy.filter(pl.col(query).list.len() > 0)
    if lacking.is_empty():
        return
    clauses = [
        f"{f'{name!r} lacks ' if by_strategy.height > 1 else ''}"
        f"{len(unanswered)} of {answers[query].n_unique()} ({first_few(unanswered)})"
        for name, unanswered in lacking.rows()
    ]
    more = ["..."] if len(clauses) > MAX_SHOWN_VALUES else []
    sentence = (
        "judged queries without a row in `run` count as failures: "
        f"{'; '.join([*clauses[:MAX_SHOWN_VALUES], *more])}"
    )
    n_answering = answers.drop_nulls(N_RETRIEVED)[strategy].n_unique()
    over = f"over({', '.join(map(repr, query_columns))})"
    has_answer = f"pl.col({score!r}).is_not_null()"
    hint = f"if they were not run, .filter({has_answer}.any().{over}) keeps those that were"
    if by_strategy.height > 1:
        n_strategies = f"pl.col({strategy!r}).filter({has_answer}).n_unique().{over}"
        hint = (
            f"if strategies ran on different queries, .filter({n_strategies} == {n_answering}) "
            "keeps those that all answered"
        )
    warn_the_caller(DataWarning.missing, f"{sentence}\n\nHint: {hint}" if n_answering else sentence)


def warn_of_unmatched(
    answers: pl.DataFrame, joined: pl.DataFrame, missed: pl.DataFrame, query: str, doc: str
) -> None:
    """Warn if no retrieved document is judged in more than half of the answered queries."""
    counts = answers.group_by(query).agg(pl.col(N_RETRIEVED, N_FOUND).sum())
    counts = counts.filter(pl.col(N_RETRIEVED) > 0)
    n_unmatched = counts.filter(pl.col(N_FOUND) == 0).height
    if 2 * n_unmatched <= counts.height:
        return
    n_retrieved, n_found = int(counts[N_RETRIEVED].sum()), int(counts[N_FOUND].sum())
    unjudged = joined.lazy().filter(pl.col(ROW_NUMBER).is_null()).select(doc).first().collect()
    warn_the_caller(
        DataWarning.ids,
        f"in {n_unmatched} of {counts.height} queries no retrieved document is judged; {n_found} "
        f"of {n_retrieved} retrieved documents are judged ({n_found / n_retrieved:.1%})\n\n"
        f"Hint: check that {doc!r} means the same in `run` ({unjudged.item()!r}) and `judgments` "
        f"({missed[doc][0]!r}); overview(frame) counts retrieved and judged documents",
    )
