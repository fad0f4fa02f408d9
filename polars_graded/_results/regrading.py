"""Compute results under other judgments, such as merged or missing grades."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_column_names, check_columns
from polars_graded._frames.arguments import Columns, Measures, parse_scalar_measures
from polars_graded._frames.directions import name_columns
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.request import Request
from polars_graded._frames.strategies import find_pairs
from polars_graded._measuring.definitions import DOCUMENT_INPUTS
from polars_graded._measuring.kernels.ragged import Floats, Integers
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.names import Measure
from polars_graded._results.comparing import compare_results
from polars_graded._results.keys import Keys, check_independence
from polars_graded._results.reliability import compute_tau_ap, compute_tau_b
from polars_graded._results.results import (
    ALL_QUERIES,
    Results,
    check_free_names,
    find_measures,
    make_measure_table,
)
from polars_graded._results.significance import Options, is_significant
from polars_graded._warnings import DataWarning

__all__ = ["robustness_to_grading", "unjudged_bounds"]

Grading: TypeAlias = "str | pl.Expr"

AS_GIVEN = "as given"
"""Name of the grading with which all others are compared."""

DEPTH_COLUMN = "polars_graded: depth"
"""Column of the number of retrieved documents, under a name that no user would choose."""

JUDGED = "judged"
"""Name of the measure that is the share of judged documents."""

MAX_LEVELS = 5
"""Maximum number of levels that are merged in every way. More levels raise an error."""


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
    rows, resolved, keys = _resolve_rows(frame, options)
    grade = resolved["grade"]
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
        best_cases.append(_evaluate_quietly(best_case, requested, strategy_options))
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
        not (definition.depends_on_missed or definition.may_fall or measure.function == JUDGED)
        and (has_max_grade or (has_relevant_grade and not depends_on_scale))
        and options.get("undefined_as", "default") in ("default", None, 0)
    )


@partial(checks_call, forwarded_to=evaluate)
def robustness_to_grading(
    frame: pl.DataFrame | pl.LazyFrame,
    *measures: str,
    gradings: Mapping[str, Grading] | None = None,
    confidence: float = 0.95,
    cluster: Columns | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Compare strategies under the given grades and other gradings.

    The result shows whether the order of strategies and their significant differences depend on the
    grading.

    By default, neighbouring levels are merged in every way that leaves at least two levels, and get
    the lowest of their grades; more than five levels raise an error.

    Parameters
    ----------
    frame
        As for `evaluate`. A LazyFrame is collected.
    *measures
        Measures with one value per query, as for `evaluate`.
    gradings
        A mapping from names to other gradings: a column of the frame, such as the grades of another
        grader, or an expression, such as `pl.col("grade").replace({1: 0})`. The default is
        described above.
    confidence
        The paired t test with Holm's correction gives p values. A p value of at most
        1 - `confidence` makes a difference significant.
    cluster
        The columns of clusters of queries, as for `compare`, among the columns of `query`.
    **options
        The keywords of `evaluate`.

    Returns
    -------
    DataFrame
        One row per grading, measure and strategy. The given grades come first, with the name
        "as given". The other gradings follow in their order. The columns are:

        - `grading` and `measure` (String), and the strategy under the name of its column;
        - `mean` (Float64), and `place` (UInt32) among the strategies, with 1 for the best;
        - `tau` and `tau_ap` (Float64), the correlation between the order of strategies in this
          grading and their order under the given grades; null if all strategies tie in one of these
          orders;
        - `lost`, `gained` and `reversed` (UInt32), the numbers of pairs of strategies whose
          difference is significant only under the given grades, only in this grading, or in both
          with opposite signs;
        - `flipped` (List), the strategies whose difference from the strategy of the row is lost,
          gained or reversed, in the order of strategies.

    See Also
    --------
    trust.order_stability : Stability of the order with other queries.
    charts.grading_profile : Chart of the strategies under each grading.

    References
    ----------
    Scheel, Lommatzsch, Albayrak: Performance measures for multi-graded relevance, 2011. Voorhees:
    Variations in relevance judgments and the measurement of retrieval effectiveness, 2000.

    Examples
    --------
    The order of both strategies depends on whether grade 1 is relevant:

    >>> df = pl.DataFrame(
    ...     {"query": "a", "grade": [2, 1, 1, 0], "x": [4, 1, 2, 3], "y": [1, 4, 3, 2]}
    ... )
    >>> gradings = {"1 is 0": pl.col("grade").replace({1: 0})}
    >>> robustness = robustness_to_grading(df, "precision@2", by=["x", "y"], gradings=gradings)
    >>> robustness.select("grading", "strategy", "mean", "place", "tau")
    shape: (4, 5)
    ┌──────────┬──────────┬──────┬───────┬──────┐
    │ grading  ┆ strategy ┆ mean ┆ place ┆ tau  │
    │ ---      ┆ ---      ┆ ---  ┆ ---   ┆ ---  │
    │ str      ┆ str      ┆ f64  ┆ u32   ┆ f64  │
    ╞══════════╪══════════╪══════╪═══════╪══════╡
    │ as given ┆ x        ┆ 0.5  ┆ 2     ┆ 1.0  │
    │ as given ┆ y        ┆ 1.0  ┆ 1     ┆ 1.0  │
    │ 1 is 0   ┆ x        ┆ 0.5  ┆ 1     ┆ -1.0 │
    │ 1 is 0   ┆ y        ┆ 0.0  ┆ 2     ┆ -1.0 │
    └──────────┴──────────┴──────┴───────┴──────┘
    """
    rows, resolved, (strategy, *query) = _resolve_rows(frame, options)
    grade = resolved["grade"]
    parsed_measures = parse_scalar_measures(measures)
    check_free_names(["grading"], strategy=strategy)
    options_of_test = Options("t", "holm", confidence)
    keys = Keys(query, strategy, cluster=cluster)
    if cluster is not None:
        check_columns("frame", check_column_names("cluster", cluster), query, argument="cluster")
    grades = rows.get_column(grade)
    regradings = _merge_levels(grades) if gradings is None else _apply_gradings(rows, gradings)
    requested = {name: measure.name for name, measure in parsed_measures.items()}
    evaluated = {AS_GIVEN: evaluate(rows, requested, **resolved)}
    check_independence(evaluated[AS_GIVEN], keys)
    for name, new_grades in regradings.items():
        regraded = rows.with_columns(new_grades.alias(grade))
        evaluated[name] = _evaluate_quietly(regraded, requested, resolved)
    best_values = {name: measure.definition.best for name, measure in parsed_measures.items()}
    columns = find_measures(evaluated[AS_GIVEN].schema, keys, [best_values])
    conclusions = {
        name: _draw_conclusions(Results(values, columns, keys, "drop"), options_of_test)
        for name, values in evaluated.items()
    }
    tables = [
        make_measure_table(
            measure,
            ALL_QUERIES,
            [conclusion.strategies],
            _find_changes(conclusion, conclusions[AS_GIVEN][measure]),
            flipped=pl.List(conclusion.strategies.dtype),
        ).select(pl.lit(name).alias("grading"), "*")
        for name, of_measures in conclusions.items()
        for measure, conclusion in of_measures.items()
    ]
    return pl.concat(tables)


BOUND_COLUMNS = ("measure", "value", "value_if_best", "low", "high", "exact", "residual")
"""Columns of `unjudged_bounds` in addition to the strategy and the query."""


class _Conclusion(NamedTuple):
    """Means, order and significant differences of strategies by one measure."""

    strategies: pl.Series
    mean: Floats
    order: Floats
    """A number for each strategy, higher for a better mean."""
    signs: Integers
    """Sign of the difference of each pair of strategies, 0 if it is not significant."""


def _draw_conclusions(results: Results, options: Options) -> dict[str, _Conclusion]:
    """Return the conclusion about each measure."""
    compared = compare_results(results, options)
    sign = is_significant(options.level) * pl.col("difference").sign().fill_null(0)
    signs = compared.select(sign.cast(pl.Int64)).to_numpy().reshape(len(results.measures), -1)
    conclusions = {}
    for measure, of_measure in zip(results.measures, signs, strict=True):
        values = results.get_results(measure)
        mean = values.values.mean(axis=1) if values.n else np.full(len(values.order), np.nan)
        conclusions[measure] = _Conclusion(results.strategies, mean, values.order, of_measure)
    return conclusions


def _find_changes(new: _Conclusion, given: _Conclusion) -> dict[str, Any]:
    """Return the columns of a conclusion and of its changes from that of the given grades."""
    a, b = find_pairs(new.strategies)
    is_flipped = np.zeros((len(new.order), len(new.order)), dtype=bool)
    is_flipped[a, b] = is_flipped[b, a] = given.signs != new.signs
    return {
        "mean": new.mean,
        "place": (new.order > new.order[:, np.newaxis]).sum(axis=1) + 1,
        "tau": compute_tau_b(new.order, given.order),
        "tau_ap": compute_tau_ap(new.order, given.order),
        "lost": np.count_nonzero((given.signs != 0) & (new.signs == 0)),
        "gained": np.count_nonzero((given.signs == 0) & (new.signs != 0)),
        "reversed": np.count_nonzero(given.signs * new.signs < 0),
        "flipped": [new.strategies.filter(pl.Series(row)) for row in is_flipped],
    }


def _resolve_rows(
    frame: Any, options: Mapping[str, Any]
) -> tuple[pl.DataFrame, dict[str, Any], list[str]]:
    """Return rows with computed columns, keywords of `evaluate`, and keys.

    The keywords contain the names of the computed columns in place of expressions. The keys are the
    columns of strategies and queries.
    """
    rows = frame.lazy().collect()
    grade = options.get("grade", "grade")
    if not isinstance(grade, str | pl.Expr):
        check_column_name("grade", grade)
    others = {*DOCUMENT_INPUTS, "consecutive", "fingerprint"}
    request_options: Any = {name: options[name] for name in options if name not in others}
    request = Request.of(rows, ["n_relevant"], **request_options)
    rows, keywords = name_columns(request, rows)
    keywords = {**options, **keywords, "doc": request.document, "fingerprint": None}
    return rows, keywords, request.result_keys


def _evaluate_quietly(
    rows: pl.DataFrame, requested: Mapping[str, str], options: Any
) -> pl.DataFrame:
    """Return the measures of rows under other grades, without warnings.

    The warnings of the original grades are not repeated.
    """
    with warnings.catch_warnings(action="ignore"):
        return evaluate(rows, requested, **options)


# Gradings


def _merge_levels(grades: pl.Series) -> dict[str, pl.Series]:
    """Return gradings that merge neighbouring levels, in every way.

    A grading merges at least two levels, and leaves at least two levels.
    """
    levels = grades.drop_nulls().unique().sort().to_list()
    if not 0 < len(levels) <= MAX_LEVELS:
        msg = (
            f"there must be 1 to {MAX_LEVELS} levels to merge them in every way, got {len(levels)}"
            "\n\nHint: pass the gradings to try as `gradings`"
        )
        raise ValueError(msg)
    gradings = {}
    for splits in product([True, False], repeat=len(levels) - 1):
        if all(splits) or not any(splits):
            continue
        groups = [[levels[0]]]
        for level, is_split in zip(levels[1:], splits, strict=True):
            groups = [*groups, [level]] if is_split else [*groups[:-1], [*groups[-1], level]]
        name = ", ".join("+".join(f"{level:g}" for level in group) for group in groups)
        lowest = {level: group[0] for group in groups for level in group}
        gradings[name] = grades.replace(lowest)
    return dict(sorted(gradings.items(), key=lambda item: -item[0].count(",")))


def _apply_gradings(rows: pl.DataFrame, gradings: Any) -> dict[str, pl.Series]:
    """Return the grades of the rows under each of the gradings."""
    if not isinstance(gradings, Mapping):
        msg = f"`gradings` must be a mapping from names to gradings, got {gradings!r}"
        raise TypeError(msg)
    grades = {name: rows.select(grading).to_series() for name, grading in gradings.items()}
    for name, each in grades.items():
        if name == AS_GIVEN or len(each) != len(rows):
            msg = (
                f"grading {name!r} must give one grade per row, under another name than "
                f"{AS_GIVEN!r}, got {len(each)} for {len(rows)}"
            )
            raise ValueError(msg)
    return grades
