"""A run joined with judgments, so that no query and no judged document is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_graded._checks import SHOWN, check_columns, check_number, first_few
from polars_graded._columns import takes_any_name
from polars_graded._frames.joining import are_distinct, retrieved_and_missed
from polars_graded._frames.noticing import warn_the_caller
from polars_graded._frames.tables import judgments_table, runs_table
from polars_graded._measuring.keywords import checks_keywords

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["judge"]


@takes_any_name
@checks_keywords
def judge(
    run: Any,
    judgments: Any,
    *,
    query: str = "query",
    doc: str = "doc",
    grade: str = "grade",
    strategy: str | None = None,
    unjudged_below: float | None = None,
) -> pl.DataFrame:
    """Join a run with judgments into the one frame that measures need.

    A row is a document of a query: retrieved and judged, retrieved only (its grade is null) or
    judged only (its score is null, as is every other column of the run). Every judged document of
    every judged query is there for every strategy, so a query that a strategy failed to answer
    counts as a failure instead of vanishing from the mean. A judgment whose grade is null is none:
    it is as if its row were not there.

    Parameters
    ----------
    run
        The retrieved documents, with a score or a rank: any data frame, as for `evaluate`; or a
        mapping from queries to scores, `{query: {doc: score}}`, as pytrec_eval, ranx and BEIR have
        it; or a mapping from queries to documents in rank order, `{query: [doc, ...]}`. A mapping
        from names to any of these stacks several strategies.
    judgments
        The judged documents: a data frame; or `{query: {doc: grade}}`; or `{query: [doc, ...]}` of
        relevant documents, which then have grade 1.
    query
        The column of both frames that names the query.
    doc
        The column of both frames that names the document. A column of lists has one row per query:
        lists of ids in rank order (in `judgments`: of relevant documents, of grade 1), or of
        structs, whose fields are columns then. Without a column of that name it is `retrieved` of
        `run` and `relevant` of `judgments`.
    grade
        The column of `judgments` that holds the grade.
    strategy
        The column of `run` that tells several runs apart. Without it the run is one ranking per
        query, and a column called "strategy" may hold one value only, which added rows get too. A
        mapping of strategies has it under this name, or else "strategy".
    unjudged_below
        A judgment with a lower grade is none: with 0, documents that a qrels file marks by -1 as
        pooled but not judged are unjudged, as trec_eval has them. By default every grade is a
        judgment.

    Returns
    -------
    DataFrame
        The columns of `run`, then those `judgments` adds. First the rows of the run in their order,
        then the judged documents that were not retrieved, strategy by strategy, in the order of
        `judgments`. An empty run gives every judged document without a score if `strategy` is None,
        and no row at all otherwise, since it names no strategy. What comes in rank order has `rank`
        and, so that the first is highest, `score`, minus the rank.

    Raises
    ------
    ColumnNotFoundError
        If a frame lacks a column.
    TypeError
        If `query` or `doc` has another data type in one frame than in the other.
    ValueError
        If the two have no (query, document) in common. If a query, document or strategy is null, or
        a document is in a frame more than once for a query (in `run`: and strategy). If both frames
        have another column of the same name, such as a grade. If the run has no column left to rank
        by. If it holds several strategies and `strategy` is None.

    Warns
    -----
    UserWarning
        If judgments have a grade below 0 and `unjudged_below` is not said: they count as judged.
        If queries of the run have no judgment; they are left out. If judged queries were answered
        by no strategy, by some strategies alone (it names these and the first of the queries), or a
        strategy answered none of them; they count as failures. If in most of the queries that were
        answered nothing that was retrieved is judged, or the two have hardly a document in common,
        as where identifiers are written differently; one of each side is shown.

    See Also
    --------
    overview : What there is to measure, before measuring.
    evaluate : Measures of such a frame.

    Examples
    --------
    Nothing says whether d9 is relevant, and "a" missed d2 of q1 and d1 of q2.

    >>> import polars as pl
    >>> import polars_graded as pg
    >>> runs = {
    ...     "a": {"q1": {"d1": 0.9, "d9": 0.4}, "q2": {"d9": 0.3}},
    ...     "b": {"q1": {"d1": 0.7, "d2": 0.1}, "q2": {"d1": 0.5}},
    ... }
    >>> judgments = pl.DataFrame(
    ...     {"query": ["q1", "q1", "q2"], "doc": ["d1", "d2", "d1"], "grade": [2, 1, 1]}
    ... )
    >>> pg.judge(runs, judgments)
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

    Lists of ids, one row per query, as retrieval for language models has them:

    >>> answers = pl.DataFrame(
    ...     {"query": [1], "retrieved": [["c", "a"]], "relevant": [["a", "b"]]}
    ... )
    >>> pg.judge(answers, answers)
    shape: (3, 5)
    ┌───────┬─────┬──────┬───────┬───────┐
    │ query ┆ doc ┆ rank ┆ score ┆ grade │
    │ ---   ┆ --- ┆ ---  ┆ ---   ┆ ---   │
    │ i64   ┆ str ┆ i64  ┆ i64   ┆ i64   │
    ╞═══════╪═════╪══════╪═══════╪═══════╡
    │ 1     ┆ c   ┆ 1    ┆ -1    ┆ null  │
    │ 1     ┆ a   ┆ 2    ┆ -2    ┆ 1     │
    │ 1     ┆ b   ┆ null ┆ null  ┆ 1     │
    └───────┴─────┴──────┴───────┴───────┘
    """
    table, strategy = runs_table(run, query, doc, strategy)
    judged = judgments_table(judgments, query, doc, grade)
    return _joined(table, judged, query, doc, grade, strategy, unjudged_below)


def _joined(
    run: pl.DataFrame,
    judgments: pl.DataFrame,
    query: str,
    doc: str,
    grade: str,
    strategy: str | None,
    unjudged_below: float | None,
) -> pl.DataFrame:
    """The two joined, once it is seen that they can be."""
    pair = [query, doc]
    for argument, name in (("strategy", strategy), ("query", query), ("doc", doc)):
        check_columns("run", [] if name is None else [name], run.columns, argument=argument)
    if grade not in judgments.columns and grade in run.columns:
        msg = f"`judgments` has no column {grade!r}, but `run` has: are the two swapped?"
        raise pl.exceptions.ColumnNotFoundError(msg)
    for argument, name in (("query", query), ("doc", doc), ("grade", grade)):
        check_columns("judgments", [name], judgments.columns, argument=argument)

    strategy = _strategy_column(run, strategy)
    key = pair if strategy is None else [strategy, *pair]
    _check_match(run, judgments, pair, key)
    hint = "" if strategy is None else SAME_TAGS
    _check_keys(run, "run", key, hint)
    _check_keys(judgments, "judgments", pair)

    judged = judgments.drop_nulls(grade)
    if unjudged_below is not None:
        least = check_number("unjudged_below", unjudged_below)
        judged = judged.filter(pl.col(grade) >= least)
    elif judged.schema[grade].is_numeric() and (below := judged.filter(pl.col(grade) < 0).height):
        warn_the_caller(
            f"{below} of {judged.height} judgments have a grade below 0, and count as judged and "
            "irrelevant\n\n"
            "Hint: unjudged_below=0 takes them for none, as trec_eval does; a lower bound says "
            "that they are meant"
        )
    strategies = None if strategy is None else run[strategy].unique(maintain_order=True)
    answered = run
    if not run.select(query).unique().join(judged, on=query, how="anti").is_empty():
        answered = run.join(judged, on=query, how="semi", maintain_order="left")
    retrieved, missed = retrieved_and_missed(answered, judged, pair, strategies)
    _look_at_overlap(
        run, retrieved, missed, judged, query=query, doc=doc, grade=grade, strategy=strategy
    )
    return pl.concat([retrieved, missed], how="diagonal")


def _look_at_overlap(
    run: pl.DataFrame,
    retrieved: pl.DataFrame,
    missed: pl.DataFrame,
    judged: pl.DataFrame,
    *,
    query: str,
    doc: str,
    grade: str,
    strategy: str | None,
) -> None:
    """Refuse a run and judgments with nothing in common; warn of what they have too little of.

    `retrieved` are the rows of the run in judged queries, with their grades; `missed` the judgments
    that it lacks.
    """
    found = retrieved.get_column(grade).is_not_null()
    if run.height and judged.height and not found.any():
        column = doc if retrieved.height else query
        ours, theirs = (part.get_column(column)[0] for part in (run, judged))
        what = "document of a query" if retrieved.height else "query"
        msg = (
            f"`run` and `judgments` must have a {what} in common, got none: {column!r} is such as "
            f"{ours!r} in `run` and {theirs!r} in `judgments`"
        )
        raise ValueError(msg)
    queries = retrieved.get_column(query)
    if unjudged := _not_in(run.get_column(query), judged.get_column(query)):
        warn_the_caller(
            f"queries without any judgment are left out of `run`, got {len(unjudged)}: "
            f"{first_few(unjudged)}"
        )
    asked = judged.get_column(query).n_unique()
    if unanswered := _not_in(judged.get_column(query), queries):
        warn_the_caller(
            f"{len(unanswered)} of {asked} judged queries have no row in `run`, and count as "
            f"failures: {first_few(unanswered)}"
        )
    if strategy is not None and (
        silent := _not_in(run.get_column(strategy), retrieved.get_column(strategy))
    ):
        warn_the_caller(
            f"{first_few(silent)} answered none of the judged queries, and count as failures "
            "though they did not run"
        )
    if strategy is not None and (lacking := _unanswered_by_some(retrieved, strategy, query)):
        warn_the_caller(
            "some strategies have no row for judged queries that others answered, which count as "
            f"failures: {_those_that_lack(lacking, asked)}\n\n"
            "Hint: where not all strategies were asked alike, keep the queries that all answered"
        )
    without = queries.n_unique() - queries.filter(found).n_unique()
    few = _is_little(int(found.sum()), retrieved.get_column(doc), missed.get_column(doc))
    if 2 * without > queries.n_unique() or few:
        none = f"in {without} of {queries.n_unique()} queries nothing that was retrieved is judged"
        warn_the_caller(
            f"{none if without else 'the run and the judgments have few documents in common'}; "
            f"of all {len(found)} retrieved documents {found.sum()} are judged "
            f"({found.sum() / len(found):.1%})\n\n"
            f"Hint: see that {doc!r} means the same in `run` ({_unmatched(retrieved, doc, found)}) "
            f"and `judgments` ({missed.get_column(doc)[0]!r}); overview() shows what there is"
        )


LITTLE = 0.05
"""So small a share of what could be in common is told: identifiers seem to be written differently.
"""


def _is_little(found: int, retrieved: pl.Series, missed: pl.Series) -> bool:
    """Whether hardly a retrieved document is judged, and hardly one is so for any query.

    Where a few of many are relevant, as for recommenders, what is retrieved for one user is judged
    for another: the identifiers are the same.
    """
    could = min(len(retrieved), found + len(missed))
    if not could or found > LITTLE * could:
        return False
    ours = retrieved.unique()
    return ours.is_in(missed.unique().implode()).sum() <= LITTLE * min(len(ours), could)


def _unanswered_by_some(retrieved: pl.DataFrame, strategy: str, query: str) -> dict[Any, list[Any]]:
    """For each strategy that answered some queries, those that only others answered."""
    keys = retrieved.select(strategy, query)
    # Rows of a query mostly stand together.
    first = pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))
    answered = keys.filter(first | (pl.int_range(pl.len()) == 0)).unique(maintain_order=True)
    strategies, queries = (
        answered.select(name).unique(maintain_order=True) for name in keys.columns
    )
    if answered.height == strategies.height * queries.height:
        return {}
    lacking = strategies.join(queries, how="cross").join(
        answered, on=keys.columns, how="anti", maintain_order="left"
    )
    by_strategy = lacking.group_by(strategy, maintain_order=True).agg(query)
    return dict(by_strategy.iter_rows())


def _those_that_lack(lacking: dict[Any, list[Any]], asked: int) -> str:
    """The first few of them in a sentence, with the first few queries that each lacks."""
    told = [
        f"{name!r} lacks {len(queries)} of {asked} ({first_few(queries)})"
        for name, queries in list(lacking.items())[:SHOWN]
    ]
    return "; ".join(told if len(lacking) <= SHOWN else [*told, "..."])


def _unmatched(retrieved: pl.DataFrame, doc: str, found: pl.Series) -> str:
    """A retrieved document that is not judged."""
    return repr(retrieved.get_column(doc).filter(~found)[0])


def _not_in(values: pl.Series, others: pl.Series) -> list[Any]:
    """The values that are not among the others, each once, in their order."""
    each = values.unique(maintain_order=True).to_frame("value")
    return each.join(
        others.unique().to_frame("value"), on="value", how="anti", maintain_order="left"
    )["value"].to_list()


def _strategy_column(run: pl.DataFrame, strategy: str | None) -> str | None:
    """The column of strategies: the one that is named, or "strategy" if it names a single one."""
    if strategy is not None or "strategy" not in run.columns:
        return strategy
    count = run["strategy"].drop_nulls().n_unique()
    if count > 1:
        msg = (
            f'`run` must be one ranking per query, got {count} strategies in its column "strategy":'
            ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
        )
        raise ValueError(msg)
    return "strategy" if count else None


def _check_match(
    run: pl.DataFrame, judgments: pl.DataFrame, pair: Sequence[str], key: Sequence[str]
) -> None:
    for column in pair:
        ours, theirs = run.schema[column], judgments.schema[column]
        if ours != theirs:
            msg = (
                f'"{column}" must have one data type, got {ours} in `run` and {theirs} in'
                " `judgments`: cast one of them"
            )
            raise TypeError(msg)
    shared = [c for c in judgments.columns if c in run.columns and c not in pair]
    if shared:
        msg = (
            f"only {_listed(pair)} may be in both `run` and `judgments`, got {_listed(shared)}:"
            " drop or rename it in one of them"
        )
        raise ValueError(msg)
    if not set(run.columns).difference(key):
        # Its null is what tells a document that was missed from a retrieved one.
        msg = f"`run` must have a column to rank by, such as a score, got {_listed(run.columns)}"
        raise ValueError(msg)


SAME_TAGS = (
    "\n\nHint: read_run(paths, named_by='file') tells apart runs that have the same tag; .unique() "
    "drops rows that are the same"
)


def _check_keys(frame: pl.DataFrame, name: str, key: list[str], hint: str = "") -> None:
    for column in key:
        if nulls := frame[column].null_count():
            count = "1 null" if nulls == 1 else f"{nulls} nulls"
            msg = f'"{column}" must not be null in `{name}`, got {count}'
            raise ValueError(msg)
    if not are_distinct(frame, key):
        repeated = frame.filter(pl.struct(key).is_duplicated()).select(key).unique()
        msg = (
            f"`{name}` must have each ({', '.join(key)}) once,"
            f" got {repeated.height} more than once: {first_few(repeated.sort(key).rows())}{hint}"
        )
        raise ValueError(msg)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns) or "none"
