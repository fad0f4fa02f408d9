"""Agreement of graders, people or models, on the grades of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column_name,
    check_column_names,
    check_columns,
    check_confidence,
)
from polars_graded._frames.arguments import Columns
from polars_graded._frames.tables import check_distinct
from polars_graded._measuring.column_checks import check_grade
from polars_graded._measuring.document_columns import DEFAULT_DOC, find_document_column
from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.keys import Keys, check_independence, check_named_once
from polars_graded._results.measure_values import compute_margin
from polars_graded._results.results import make_table
from polars_graded._sentences import conjugate, format_count

__all__ = ["agreement"]

MAX_GRADES = 101
"""Maximum number of different grades; with more, graders hardly ever give equal grades."""

QUERY_NUMBER = "polars_graded: number of the query"
"""Column of the number of the query, under a name that no grader has."""

MIN_INFORMATIVE_QUERIES = 15
"""Minimum number of queries with a grade other than the most common one, for reliable intervals."""

SAME_VALUE = (
    "the value is the same whichever query is left out, or is undefined without one of them, so "
    "there is no interval"
)
"""Reason for a missing interval."""

SINGLE_QUERY = "a single query has no variation, so there is no interval"

SHARE_COEFFICIENTS = ("equal",)
"""Coefficients that are shares, at least 0."""

UNBOUNDED_COEFFICIENTS = ("difference",)
"""Coefficients without a maximum."""


@checks_call
def agreement(
    frame: Any,
    *graders: Columns,
    trusted: str | None = None,
    query: Columns = "query",
    doc: str | None = DEFAULT_DOC,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Return coefficients of agreement of graders, with their intervals.

    Each pair of graders is compared on the documents that both judged. With more than two graders,
    coefficients of all graders together follow; they use documents that two graders or more judged.
    The page "Measures" of the documentation defines the coefficients and their intervals, in the
    section "Agreement of graders".

    Parameters
    ----------
    frame
        Any data frame with a column of grades per grader, and one row per document, or per document
        and strategy, as from `join_judgments`. A null grade is missing. Notes has other forms.
    *graders
        The columns of grades, one by one or as a list.
    trusted
        The grader that each other grader is compared with; by default all pairs are compared.
    query
        The column of queries, or several columns.
    doc
        The column of documents; by default "doc", or a column with an equivalent name, such as
        "sku". With None, or without such a column, each row is another document.
    confidence
        The confidence of the intervals, between 0 and 1.

    Returns
    -------
    DataFrame
        One row per pair of graders and coefficient, then the coefficients of all graders together:

        - `grader` and `other` (String), null for all graders together; `coefficient` (String);
        - `documents` and `queries` (UInt32), the numbers on which the value is based;
        - `value`, `ci_low` and `ci_high` (Float64): an interval by the jackknife over **queries**,
          because documents of a query are not independent;
        - `note` (String): the reason for a null value or interval, or a warning that the interval
          is unreliable, because fewer than 15 queries have a grade other than the most common one;
          otherwise null.

        The coefficients of a pair are `equal`, the share of documents with the same grade; Cohen's
        κ (`kappa`, `kappa_linear` and `kappa_quadratic`, which weight differences by their size);
        Krippendorff's α (`alpha_ordinal`, `alpha_interval`); Gwet's `ac2`, for data in which most
        grades are equal; and `difference`, the mean grade of `grader` minus that of `other`. κ, α
        and `ac2` are 1 for full agreement and 0 for the agreement of chance. All graders together
        have `equal`, `fleiss_kappa`, `alpha_ordinal`, `alpha_interval` and `ac2`.

    Raises
    ------
    ValueError
        If there are fewer than two graders; if a document has two grades of one grader; if there
        are more than 101 different grades, or one is NaN or infinite.

    See Also
    --------
    trust.rank_correlation : The correlation of the orders of strategies by two graders. It may be
        high although the graders agree poorly on documents.
    charts.agreement : The grades of two graders, drawn.

    Notes
    -----
    ``pivot("grader", index=["query", "doc"], values="grade")`` makes one column per grader of one
    row per grade. Make codes that are no grades null, such as -1 or 99: they distort coefficients.

    References
    ----------
    Cohen: Weighted kappa, 1968. Fleiss: Measuring nominal scale agreement among many raters, 1971.
    Krippendorff: Computing Krippendorff's alpha-reliability, 2011. Gwet: Handbook of inter-rater
    reliability, 2014. Efron, Tibshirani: An introduction to the bootstrap, 1993, chapter 11 (the
    jackknife).

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {"query": [1, 1, 1, 2, 2], "people": [0, 0, 2, 1, 0], "model": [0, 1, 2, 2, 0]}
    ... )
    >>> agreement(df, "people", "model").select("coefficient", "documents", "value")
    shape: (8, 3)
    ┌─────────────────┬───────────┬──────────┐
    │ coefficient     ┆ documents ┆ value    │
    │ ---             ┆ ---       ┆ ---      │
    │ str             ┆ u32       ┆ f64      │
    ╞═════════════════╪═══════════╪══════════╡
    │ equal           ┆ 5         ┆ 0.6      │
    │ kappa           ┆ 5         ┆ 0.375    │
    │ kappa_linear    ┆ 5         ┆ 0.583333 │
    │ kappa_quadratic ┆ 5         ┆ 0.75     │
    │ alpha_ordinal   ┆ 5         ┆ 0.762143 │
    │ alpha_interval  ┆ 5         ┆ 0.763158 │
    │ ac2             ┆ 5         ┆ 0.736842 │
    │ difference      ┆ 5         ┆ -0.4     │
    └─────────────────┴───────────┴──────────┘
    """
    error_rate = check_confidence(confidence)
    grader_columns = [name for each in graders for name in check_column_names("graders", each)]
    frame = frame.lazy().collect()
    grades = Grades.of(collect_grades(frame, grader_columns, query, doc), grader_columns)
    check_independence(frame, Keys(query), remedy=". Intervals may be too short")
    n_graders = len(grades.graders)
    pairs = [*combinations(range(n_graders), 2)]
    if trusted is not None:
        first = grades.graders.index(check_choice("trusted", trusted, grades.graders))
        pairs = [(first, other) for other in range(n_graders) if other != first]
    rows = [row for i, j in pairs for row in grades.compare_pair(i, j, error_rate)]
    if n_graders > 2:  # noqa: PLR2004
        rows += grades.compare_all(error_rate)
    return make_table(rows)


def collect_grades(
    frame: pl.DataFrame | pl.LazyFrame, graders: Sequence[str], query: Columns, doc: str | None
) -> pl.DataFrame:
    """Return the grades of each document, one column per grader.

    The first column, `QUERY_NUMBER`, contains the number of the query, from 0.
    """
    rows, queries = frame.lazy().collect(), check_column_names("query", query)
    check_columns("frame", queries, rows.columns, argument="query")
    if len(graders) < 2:  # noqa: PLR2004
        msg = f"there must be at least two graders, got {', '.join(graders) or 'none'}"
        raise ValueError(msg)
    check_columns("frame", graders, rows.columns)
    check_named_once([*queries, *graders])
    if doc == DEFAULT_DOC:
        doc = find_document_column(rows.schema, {*queries, *graders})
    if doc is not None:
        check_columns("frame", [check_column_name("doc", doc)], rows.columns, argument="doc")
        check_named_once([*queries, *graders, doc])
        rows = rows.select(*queries, doc, *graders).unique(maintain_order=True)
        check_distinct(rows, "frame", [*queries, doc])
    for name in graders:
        check_grade(f"grade {name!r}", rows.schema[name])
    number = pl.struct(queries).rank("dense").cast(pl.Int64) - 1
    grades = rows.select(number.alias(QUERY_NUMBER), pl.col(graders).cast(pl.Float64))
    for name in graders:
        if not grades[name].is_finite().all():
            msg = f"grade {name!r} must be finite, got NaN or infinity"
            raise ValueError(msg)
    return grades


@dataclass(frozen=True)
class Grades:
    """Grades of all documents, sorted by query."""

    graders: Sequence[str]
    scale: Floats
    """Different grades of all graders, in ascending order."""
    codes: Integers
    """Indices into `scale`, one row per document and one column per grader; -1 for no grade."""
    query: Integers
    """Number of the query of each document, ascending from 0."""

    @classmethod
    def of(cls, rows: pl.DataFrame, graders: Sequence[str]) -> Grades:
        """Return the grades in the columns `graders`, sorted by query.

        Raise if there are more than `MAX_GRADES` different grades.
        """
        rows = rows.sort(QUERY_NUMBER)
        numbers = rows.select(graders).to_numpy().reshape(rows.height, len(graders))
        are_present = rows.select(pl.col(graders).is_not_null()).to_numpy()
        scale = np.unique(numbers[are_present]) if are_present.any() else np.zeros(1)
        if len(scale) > MAX_GRADES:
            msg = f"there must be at most {MAX_GRADES} different grades, got {len(scale)}"
            raise ValueError(msg)
        codes = np.where(are_present, np.searchsorted(scale, np.where(are_present, numbers, 0)), -1)
        return cls(graders, scale, codes, rows[QUERY_NUMBER].to_numpy())

    @property
    def n_queries(self) -> int:
        """Return the number of queries."""
        return int(self.query[-1]) + 1 if len(self.query) else 0

    def compare_pair(self, i: int, j: int, error_rate: float) -> Iterator[dict[str, Any]]:
        """Yield the rows of the agreement of grader `i` with grader `j`."""
        k, a, b = len(self.scale), self.codes[:, i], self.codes[:, j]
        has_both = (a >= 0) & (b >= 0)
        cells = (self.query * k + a) * k + b
        joint = np.bincount(cells[has_both], minlength=self.n_queries * k * k)
        by_query = joint.reshape(self.n_queries, k, k).astype(np.float64)
        tables = _jackknife(by_query)[:, np.newaxis]
        coefficients = {
            name: each[:, 0]
            for name, each in _compute_pair_coefficients(tables, self.scale).items()
        }
        counts = by_query.sum(axis=1) + by_query.sum(axis=2)
        pair = self.graders[i], self.graders[j]
        return self._make_rows(pair, has_both, coefficients, counts, error_rate)

    def compare_all(self, error_rate: float) -> Iterator[dict[str, Any]]:
        """Yield the rows of the agreement of all graders together.

        Documents may have different numbers of grades.
        """
        k, nearness = len(self.scale), _compute_nearness(self.scale)
        grade_counts = (
            np.stack([(self.codes == code).sum(axis=1) for code in range(k)], axis=1) * 1.0
        )
        n_grades = grade_counts.sum(axis=1, keepdims=True)
        has_several = n_grades > 1
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))

        def sum_by_query(of_document: Floats) -> Floats:
            return np.add.reduceat(of_document, starts, axis=0) if len(starts) else of_document

        # `shares` has one row per document. The first column is the share of equal pairs among all
        # pairs of the document's grades. The second column is the mean quadratic weight of all
        # pairs. Both are 0 for a document with fewer than two grades.
        pairs = np.where(has_several, n_grades * (n_grades - 1), np.inf)
        agreeing = [
            (grade_counts * (grade_counts @ kind - 1)).sum(axis=1) for kind in (np.eye(k), nearness)
        ]
        shares = np.stack(agreeing, axis=1) / pairs
        shares_of_document = grade_counts / np.maximum(n_grades, 1)
        sums = sum_by_query(
            np.concatenate([has_several, shares, n_grades > 0, shares_of_document], axis=1)
        )
        # Krippendorff's coincidences: each ordered pair of grades of a document counts 1 / (m - 1),
        # where m is the number of grades of the document. The product of counts also counts each
        # grade paired with itself. These m pairs are subtracted from the diagonal.
        weighted_counts = grade_counts / np.where(has_several, n_grades - 1, np.inf)
        coincidences = np.stack(
            [sum_by_query(grade_counts[:, [i]] * weighted_counts) for i in range(k)], axis=1
        )
        coincidences[:, np.arange(k), np.arange(k)] -= sum_by_query(weighted_counts)
        n, equal, near_pairs, n_judged, *pi = _jackknife(sums).T
        tables = _jackknife(coincidences)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.array(pi).T / n_judged[:, np.newaxis]
            estimates = {
                "equal": equal / n,
                "fleiss_kappa": _correct_for_chance(equal / n, (shares**2).sum(axis=1)),
                **_compute_alphas(tables, self.scale),
                "ac2": _compute_ac2(near_pairs / n, shares, nearness),
            }
        counts = sum_by_query(grade_counts * has_several)
        return self._make_rows((None, None), has_several[:, 0], estimates, counts, error_rate)

    def _make_rows(
        self,
        graders: tuple[str | None, str | None],
        is_judged: Mask,
        coefficients: Mapping[str, Floats],
        counts: Floats,
        error_rate: float,
    ) -> Iterator[dict[str, Any]]:
        """Yield one row per coefficient.

        `counts` has the number of compared grades: a row per query, and a column per grade.
        """
        # The jackknife leaves out only queries with grades that can be compared.
        is_compared = np.asarray(counts.any(axis=1))
        documents, queries = int(is_judged.sum()), int(np.count_nonzero(is_compared))
        n_informative = _count_informative_queries(counts)
        for coefficient, (value, *others) in coefficients.items():
            without = np.array(others)[is_compared] if queries else np.zeros(0)
            low, high = _compute_coefficient_interval(coefficient, value, without, error_rate)
            note = None
            if not documents:
                note = "no document has grades of two graders"
            elif np.isnan(value):
                note = "only one grade was given, so all agreement may be due to chance"
            elif np.isnan(low):
                note = SAME_VALUE if queries > 1 else SINGLE_QUERY
            elif n_informative < MIN_INFORMATIVE_QUERIES:
                note = (
                    f"only {format_count(n_informative, 'queries')} "
                    f"{conjugate(n_informative, 'have')} a grade other than the most common one, "
                    "which is too few for a reliable interval"
                )
            yield {
                "grader": graders[0],
                "other": graders[1],
                "coefficient": coefficient,
                "documents": documents,
                "queries": queries,
                "value": float(value),
                "ci_low": low,
                "ci_high": high,
                "note": note,
            }


def _jackknife(of_query: Floats) -> Floats:
    """Return the sum over all queries, then for each query the sum without it."""
    total = of_query.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - of_query])


def _count_informative_queries(counts: Floats) -> int:
    """Count the queries with a grade other than the most common one."""
    most_common = int(counts.sum(axis=0).argmax()) if len(counts) else 0
    return int(np.count_nonzero(np.delete(counts, most_common, axis=1).any(axis=1)))


def _compute_coefficient_interval(
    coefficient: str, value: Any, without: Floats, error_rate: float
) -> tuple[float, float]:
    """Return the jackknife interval of a coefficient; NaN if it is unknown.

    `without` contains the value without each of n queries. With the deviations d from the mean of
    these values, the standard error is sqrt((n - 1) / n Σ d²). The interval of a coefficient with
    the maximum 1 is that of -log(1 - value), transformed back.
    """
    n = len(without)
    is_bounded = coefficient not in UNBOUNDED_COEFFICIENTS and value < 1
    z, jackknife = value, without
    if is_bounded and n:
        # z is infinite for 1. If only one query has any disagreement, the value without this
        # query is 1. This 1 is replaced by 1 - (1 - value) / n, with the value of all queries.
        z, jackknife = (-np.log(np.maximum(1 - x, (1 - value) / n)) for x in (value, without))
    deviations = (n - 1) * (jackknife - jackknife.mean()) if n else jackknife
    scale = max(1.0, float(np.abs(jackknife).max(initial=0)))
    margin = compute_margin(deviations, np.ones(n), error_rate, scale)
    if margin is None:
        return np.nan, np.nan
    low, high = z - margin, z + margin
    if is_bounded:
        low, high = 1 - np.exp(-low), 1 - np.exp(-high)
        low = max(low, 0.0 if coefficient in SHARE_COEFFICIENTS else min(-1.0, value))
    return float(low), float(high)


# Coefficients


def _compute_pair_coefficients(tables: Floats, scale: Floats) -> dict[str, Floats]:
    """Return the coefficients of two graders from joint tables of grades."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        one, other = shares.sum(axis=-1), shares.sum(axis=-2)
        distance = np.abs(scale[:, np.newaxis] - scale)
        kinds = {"": distance > 0, "_linear": distance, "_quadratic": distance**2}
        flat = shares.reshape(*shares.shape[:-2], -1)
        disagreement = {
            name: flat @ kind.ravel().astype(np.float64) for name, kind in kinds.items()
        }
        nearness = _compute_nearness(scale)
        return {
            "equal": 1 - disagreement[""],
            **{
                f"kappa{name}": 1 - disagreement[name] / ((one @ kind) * other).sum(axis=-1)
                for name, kind in kinds.items()
            },
            **_compute_alphas(tables + tables.swapaxes(-2, -1), scale),
            "ac2": _compute_ac2(flat @ nearness.ravel(), (one + other) / 2, nearness),
            "difference": one @ scale - other @ scale,
        }


def _compute_alphas(coincidences: Floats, scale: Floats) -> dict[str, Floats]:
    """Return Krippendorff's alphas, ordinal and interval, from coincidences.

    The ordinal distance of two grades is the distance of their mean ranks among all given grades.
    """
    counts = coincidences.sum(axis=-1)
    n = counts.sum(axis=-1)
    ranks = counts.cumsum(axis=-1) - counts / 2
    alphas = {}
    for name, positions in (("alpha_ordinal", ranks), ("alpha_interval", scale + 0 * ranks)):
        # alpha = 1 - observed / expected. With centred values x, the observed disagreement is
        # 2 * (spread - product) / n, and the expected disagreement is 2 * spread / (n - 1).
        x = positions - ((counts * positions).sum(axis=-1) / n)[..., np.newaxis]
        spread = (counts * x**2).sum(axis=-1)
        product = ((coincidences @ x[..., np.newaxis])[..., 0] * x).sum(axis=-1)
        value = 1 - (n - 1) / n * (spread - product) / spread
        alphas[name] = np.where((counts > 0).sum(axis=-1) > 1, value, np.nan)
    return alphas


def _compute_nearness(scale: Floats) -> Floats:
    """Return the quadratic weights 1 - (distance / largest distance)²."""
    distance: Floats = (scale[:, np.newaxis] - scale) ** 2
    nearness: Floats = 1 - distance / max(distance.max(initial=0), np.finfo(float).tiny)
    return nearness


def _compute_ac2(observed: Floats, shares: Floats, nearness: Floats) -> Floats:
    """Return Gwet's AC2; NaN if there is only one grade.

    Unlike for κ, the agreement by chance is low if one grade dominates.
    """
    k = max(len(nearness), 2)
    # e = Σ w(i, j) / (k (k - 1)) · Σ π(i) (1 - π(i)): Gwet's agreement by chance.
    chance = nearness.sum() / (k * (k - 1)) * (shares * (1 - shares)).sum(axis=-1)
    return (
        _correct_for_chance(observed, chance)
        if len(nearness) > 1
        else np.full(observed.shape, np.nan)
    )


def _correct_for_chance(observed: Floats, chance: Floats) -> Floats:
    """Return the agreement above chance, divided by its maximum."""
    return (observed - chance) / (1 - chance)
