"""Bounds of measures under all judgments of unjudged documents."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl

from polars_graded._checks import check_column_name
from polars_graded._frames.arguments import Measures, parse_scalar_measures
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.ranking_checks import name_columns
from polars_graded._frames.request import Request
from polars_graded._measuring.document_inputs import DOCUMENT_INPUTS
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._results.results import check_free_names
from polars_graded._warnings import DataWarning

__all__ = ["unjudged_bounds"]

DEPTH_COLUMN = "polars_graded: depth"
"""Column of the number of retrieved documents, under a name that no user would choose."""

BOUND_COLUMNS = ("measure", "value", "value_if_best", "low", "high", "exact", "residual")
"""Columns of `unjudged_bounds` in addition to the strategy and the query."""

JUDGED_SHARE = "judged"
"""Name of the measure that is the share of judged documents."""


@partial(checks_call, forwarded_to=evaluate)
def unjudged_bounds(
    frame: pl.DataFrame | pl.LazyFrame, *measures: Measures, **options: Any
) -> pl.DataFrame:
    r"""Bound measures by two gradings of unjudged documents.

    One bound is the value of `evaluate`, for which unjudged documents are irrelevant. For the other
    bound, all unjudged documents that were retrieved get the highest grade. Rank-biased precision
    with persistence p also has a residual (Moffat, Zobel): the most that unjudged documents could
    add. Ranks beyond the end of a ranking of d documents count as unjudged and add :math:`p^d`:

    .. math:: (1 - p) \sum_{i \text{ unjudged}} p^{i - 1} + p^d

    As text: ``(1 - p) * ∑ p^(i - 1) + p^d``, summed over the ranks i of unjudged documents. With a
    cutoff n, d is at most n. The page "Rows, ties and missing judgments" of the documentation lists
    the measures whose bounds are exact.

    Parameters
    ----------
    frame
        As for `evaluate`. A LazyFrame is collected.
    *measures
        Measures with one value per query, as for `evaluate`.
    **options
        The keywords of `evaluate`, except `condensed`. The highest grade is `max_grade`, or else
        the maximum of the frame.

    Returns
    -------
    DataFrame
        One row per measure, strategy and query, sorted as by `evaluate` within each measure:

        - `measure` (String), the strategy and the query under the names of their columns;
        - `value` (Float64), the value of `evaluate`, with unjudged documents irrelevant (`bpref`
          and `roc_auc` ignore them);
        - `value_if_best` (Float64), with the highest grade for all unjudged documents
          that were retrieved;
        - `low` and `high` (Float64), the smaller and the larger of both values; null if one of the
          values is null. If `value_if_best` is above `value` for some queries and below `value`
          for others, `low` and `high` each contain values of both gradings, so their means over
          queries belong to neither grading;
        - `exact` (Boolean), true if no judgments can lead to values outside `low` and `high`.
          It is false if no grade of the frame is relevant for the measure and `max_grade` is not
          passed, since the highest possible relevance is then unknown;
        - `residual` (Float64) of `rbp`, null for other measures and if `low` is null.

    See Also
    --------
    Graded.judged : The share of documents that are judged.

    References
    ----------
    Moffat, Zobel: Rank-biased precision for measurement of retrieval effectiveness, 2008, section
    3.3. Buckley, Voorhees: Retrieval evaluation with incomplete information, 2004.

    Examples
    --------
    The second of three documents is unjudged. RBP with p = 0.5 is 1/2. The second document could
    add 1/4, and documents beyond the third could add 1/8:

    >>> df = pl.DataFrame({"query": "a", "grade": [1, None, 0], "score": [3, 2, 1]})
    >>> bounds = unjudged_bounds(df, "precision@2", "rbp(p=0.5)")
    >>> bounds.drop("strategy", "query", "value_if_best")
    shape: (2, 6)
    ┌─────────────┬───────┬─────┬──────┬───────┬──────────┐
    │ measure     ┆ value ┆ low ┆ high ┆ exact ┆ residual │
    │ ---         ┆ ---   ┆ --- ┆ ---  ┆ ---   ┆ ---      │
    │ str         ┆ f64   ┆ f64 ┆ f64  ┆ bool  ┆ f64      │
    ╞═════════════╪═══════╪═════╪══════╪═══════╪══════════╡
    │ precision@2 ┆ 0.5   ┆ 0.5 ┆ 1.0  ┆ true  ┆ null     │
    │ rbp(p=0.5)  ┆ 0.5   ┆ 0.5 ┆ 0.75 ┆ true  ┆ 0.375    │
    └─────────────┴───────┴─────┴──────┴───────┴──────────┘
    """
    if options.get("condensed"):
        msg = "`condensed` must be False, because no unjudged document would remain, got True"
        raise ValueError(msg)
    rows = frame.lazy().collect()
    grade = options.get("grade", "grade")
    if not isinstance(grade, str | pl.Expr):
        check_column_name("grade", grade)
    others = {*DOCUMENT_INPUTS, "consecutive", "fingerprint"}
    request_options: Any = {name: options[name] for name in options if name not in others}
    request = Request.of(rows, ["n_relevant"], **request_options)
    rows, resolved = name_columns(request, rows)
    resolved = {**options, **resolved, "doc": request.columns.document, "fingerprint": None}
    grade, keys = resolved["grade"], request.columns.result_keys
    parsed_measures = parse_scalar_measures(measures)
    requested = {name: each.name for name, each in parsed_measures.items()}
    check_free_names(BOUND_COLUMNS, strategy=keys[0], query=keys[1:])
    max_grade = resolved.get("max_grade")
    best_grade: Any = rows.get_column(grade).max() if max_grade is None else max_grade
    with warnings.catch_warnings():
        # Its hint is to call this function.
        warnings.simplefilter("ignore", DataWarning.unjudged)
        original = evaluate(rows, requested | {DEPTH_COLUMN: "n_retrieved"}, **resolved)
    best_cases = []
    for name, columns in resolved["by"].items():
        flags = {each: flags for each, flags in resolved["descending"].items() if each == name}
        strategy_options: dict[str, Any] = {**resolved, "by": {name: columns}, "descending": flags}
        unjudged = pl.col(grade).is_null() & pl.col(columns[0]).is_not_null()
        best_case = rows.with_columns(
            pl.when(unjudged).then(best_grade).otherwise(pl.col(grade)).alias(grade)
        )
        # The warnings of the original grades are not repeated.
        with warnings.catch_warnings(action="ignore"):
            best_cases.append(evaluate(best_case, requested, **strategy_options))
    regraded = pl.concat(best_cases)
    tables = []
    for name, measure in parsed_measures.items():
        value = original.get_column(name).cast(pl.Float64)
        value_if_best = regraded.get_column(name).cast(pl.Float64)
        has_both = value.is_not_null() & value_if_best.is_not_null()
        ends = pl.min_horizontal(value, value_if_best), pl.max_horizontal(value, value_if_best)
        low, high = (pl.when(has_both).then(end) for end in ends)
        residual = pl.lit(None, pl.Float64)
        if measure.function == "rbp":
            depth = original.get_column(DEPTH_COLUMN).clip(upper_bound=measure.n).cast(pl.Float64)
            # Moffat, Zobel 2008: what unjudged documents could add, plus p^d for ranks beyond d.
            residual = high - low + pl.lit(measure.options["p"] ** depth.to_numpy())
        is_exact = has_both & _has_exact_bounds(measure, best_grade, resolved)
        rows_of_measure = original.select(
            pl.lit(name).alias("measure"),
            *keys,
            value=value,
            value_if_best=value_if_best,
            low=low,
            high=high,
            exact=is_exact,
            residual=residual,
        )
        tables.append(rows_of_measure)
    return pl.concat(tables)


def _has_exact_bounds(
    measure: Measure, best_grade: float | None, options: Mapping[str, Any]
) -> bool:
    """Return whether the bounds of a measure are exact.

    Without `max_grade`, they are not if the best given grade is not relevant.
    """
    definition, has_max_grade = measure.definition, options.get("max_grade") is not None
    limits = [options.get("relevant_from"), measure.options.get("threshold")]
    levels = [level for level in limits if level is not None]
    has_relevant_grade = best_grade is not None and (
        best_grade >= max(levels) if levels else best_grade > options.get("irrelevant", 0.0)
    )
    depends_on_scale = definition.is_of_a_scale or measure.options.get("graded", False)
    return (
        not (
            definition.depends_on_missed or definition.may_fall or measure.function == JUDGED_SHARE
        )
        and (has_max_grade or (has_relevant_grade and not depends_on_scale))
        and options.get("undefined_as", "default") in ("default", None, 0)
    )
