"""From a request and a frame of whole queries to one row per strategy and query.

This knows of no engine. What is too large for one frame is cut into parts of whole queries, whose
values are put together before they are finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from polars_graded._frames import data_warnings, sorting
from polars_graded._frames.data_warnings import JUDGED_AT_THE_TOP, NOTES
from polars_graded._frames.grouping import Groups, are_sorted
from polars_graded._frames.inputs import GRADER
from polars_graded._frames.request import Request
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.computing import (
    Computed,
    check_measures,
    computed,
    depth_of,
    sentence,
)
from polars_graded._measuring.documents import (
    Documents,
    check_finite,
    check_grades,
    check_keys,
    not_finite,
)
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import Ranking
from polars_graded._measuring.tie_orders import TieOrder, groups_of

UNUSABLE = "polars_graded: unusable"
"""A column under a name that no frame has."""

WHAT_IS_UNUSABLE = pl.Struct(
    {
        "column": pl.UInt32(),
        "rule": pl.String(),
        "queries": pl.UInt32(),
        "grades": pl.List(pl.Float64),
    }
)
"""What is wrong with the data of a query: the number of a column with NaN or infinity in it; or the
rule that queries of a part break, in how many of them and by which grades, at the first of all."""


MOST_ROWS = 1 << 24
"""Strategies that have no more rows in all are measured together, so that what they share is found
once; of more, progress shows in between."""


def grouped(requests: Sequence[Request], frame: pl.DataFrame) -> Groups:
    """The rows of each query, for the same request of several graders."""
    columns = dict.fromkeys(name for request in requests for name in request.columns_of_rows)
    return Groups.of(frame, requests[0].keys, [*columns])


def values_of(request: Request, groups: Groups) -> Iterator[pl.DataFrame]:
    """For each entry of `by` the values of whole queries, with notes beside them."""
    part, names = Part(request, groups), [*request.by]
    size = max(1, MOST_ROWS // max(1, groups.frame.height))
    for first in range(0, len(names), size):
        yield from part.values(names[first : first + size])


@dataclass(frozen=True)
class Part:
    """A frame of whole queries, and what is asked of it."""

    request: Request
    groups: Groups

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """What is measured, each once."""
        top = [JUDGED_AT_THE_TOP] if self.has_unjudged else []
        measures = {measure.name: measure for measure in [*self.request.measures.values(), *top]}
        check_measures([*measures.values()], self.request.scale, known=False)
        return measures

    @cached_property
    def has_unjudged(self) -> bool:
        """Whether strategies may differ in how much of what they retrieved is judged."""
        return _are_compared(self.request) and self.grades.flat.null_count() > 0

    @cached_property
    def grades(self) -> Lists:
        """The grades of each query, which all strategies share."""
        grades = self.groups.lists(self.request.grade)
        check_grades(self.request.scale, grades)
        return grades

    @cached_property
    def notes(self) -> dict[str, pl.Series]:
        """What is to be known of each query, whatever the strategy."""
        return notes_of_queries(self)

    def keys(self, name: str) -> list[Lists]:
        """What a strategy is ranked by."""
        columns = [*self.request.columns_of(name), *(self.request.ties or ())]
        return [*map(self.groups.lists, columns)]

    def documents(self, name: str, measures: Sequence[Measure], order: TieOrder) -> Documents:
        """The documents of each query, as a strategy ranks them."""
        if depth_of(measures) == 0:
            return Documents(self.grades, None, None)
        keys = self.keys(name)
        if self.request.ties is not None:
            return Documents.of(self.ranking(name), self.grades, keys)
        return Documents.of(self.ranking(name), self.grades, keys, order, self.names)

    @property
    def names(self) -> Callable[[Integers], pl.Series] | None:
        """What gives the documents at some places, as text; None without a column of them."""
        column = self.request.tie_column
        if column is None:
            return None
        return lambda places: self.groups.at(column, places).cast(pl.String)

    def not_finite(self, name: str) -> Integers:
        """For each query the number of a column of the strategy with NaN or infinity, or 0."""
        ranking, keys = self.ranking(name), self.keys(name)
        check_keys(ranking, self.grades, keys)
        return not_finite([self.grades, *keys])

    def values(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The values of some strategies; null where data are unusable, with what is wrong."""
        bad = {name: self.not_finite(name) for name in names}
        usable = [name for name, numbers in bad.items() if not numbers.any()]
        error, found = None, dict[str, list[Computed]]()
        try:
            for order, measures in groups_of(self.request.tool, [*self.measures.values()]):
                of_usable = (
                    computed(
                        measures,
                        self.ranking(usable[0]),
                        [self.documents(name, measures, order) for name in usable],
                        ordered=data_warnings.decided_by_order(self.request),
                    )
                    if usable
                    else []
                )
                for name, each in zip(usable, of_usable, strict=True):
                    found.setdefault(name, []).append(each)
        except UnusableDataError as caught:
            error, found = caught, {}
        for name in names:
            wrong = self.constant(None, WHAT_IS_UNUSABLE)
            if name not in found:
                wrong = _wrong(bad[name], error)
            yield self.of_strategy(name, found.get(name), wrong)

    def constant(self, value: object, dtype: pl.DataType) -> pl.Series:
        """A column of one value for each query."""
        return pl.Series([value], dtype=dtype).new_from_index(0, self.groups.n)

    def ranking(self, name: str) -> Ranking:
        """How a strategy is ranked."""
        return self.request.ranking(self.request.columns_of(name))

    def of_strategy(
        self, name: str, found: Sequence[Computed] | None, wrong: pl.Series
    ) -> pl.DataFrame:
        """The columns of a strategy: keys, values, what is wrong and what is to be known."""
        request, keys = self.request, self.groups.keys
        of_measure = {
            name: self.constant(None, each.definition.dtype) for name, each in self.measures.items()
        }
        for some in found or ():
            named = (each.name for each in some.measures)
            of_measure |= dict(zip(named, some.columns, strict=True))
        strategy = self.constant(name, pl.String())
        if request.strategy is not None:
            strategy = keys.get_column(request.strategy)
        top = of_measure.get(JUDGED_AT_THE_TOP.name)
        notes = self.notes | notes_of_strategy(self, request.columns_of(name)[0])
        top = of_measure.get(JUDGED_AT_THE_TOP.name)
        notes["judged_at_the_top"] = self.constant(1.0, pl.Float64()) if top is None else top
        notes["decided_by_order"] = self.constant(value=False, dtype=pl.Boolean())
        if found is not None and data_warnings.decided_by_order(request):
            [notes["decided_by_order"]] = (some.decided_by_order for some in found)
        return pl.DataFrame(
            [
                strategy.alias(request.key),
                *map(keys.get_column, request.query),
                *(of_measure[m.name].alias(column) for column, m in request.measures.items()),
                wrong.alias(UNUSABLE),
                pl.DataFrame(notes).to_struct(NOTES),
            ]
        )


def notes_of_queries(part: Part) -> dict[str, pl.Series]:
    """What is to be known of each query, whatever the strategy."""
    request, groups, grades = part.request, part.groups, part.grades
    noted = {
        "rows": pl.Series(np.diff(groups.offsets)),
        "judged": pl.Series(grades.count(grades.flat.is_not_null())),
        "from_one": part.constant(_count_from_one(grades.flat), COUNTED),
    }
    if data_warnings.without_a_scale(request):
        doubles = grades.flat.cast(pl.Float64).fill_null(float("nan"))
        noted["highest"] = groups.reduced(np.fmax, doubles)
    if request.strategy is not None:
        # They are the same for all strategies that are stacked, or judgments were lost.
        grade = pl.col("grade")
        relevant = request.scale.is_relevant(grade)
        worth = pl.when(relevant).then(grade.cast(pl.Float64)).otherwise(0.0)
        rows = grades.flat.to_frame("grade").select(relevant=relevant, worth=worth)
        noted["relevant"] = pl.Series(grades.count(rows["relevant"]))
        noted["worth"] = groups.reduced(np.add, rows["worth"])
    return noted


COUNTED = pl.Struct({"lowest": pl.Float64(), "highest": pl.Float64(), "halves": pl.Boolean()})


def _count_from_one(grades: pl.Series) -> dict[str, object]:
    """The ends of grades, and whether they are stars."""
    low, high = (float(end) if end is not None else None for end in (grades.min(), grades.max()))  # type: ignore[arg-type]
    halves = False
    if low is not None and low >= data_warnings.HALF:  # or else it does not matter
        twice = 2 * grades.cast(pl.Float64)
        halves = bool((twice == twice.floor()).all())
    return {"lowest": low, "highest": high, "halves": halves}


def notes_of_strategy(part: Part, score: str) -> dict[str, pl.Series]:
    """What is to be known of each query, and of a strategy, before it is measured."""
    scores = part.groups.lists(score)
    retrieved = scores.flat.is_not_null()
    return {
        "retrieved": pl.Series(scores.count(retrieved)),
        "retrieved_and_judged": pl.Series(scores.count(retrieved & part.grades.flat.is_not_null())),
        "counts_up": _counts_up(part, scores.flat),
    }


def _counts_up(part: Part, values: pl.Series) -> pl.Series:
    """Whether a score has each number from 1, or 0, once, as ranks have; null of too few.

    One that is not called a rank has to count in the order of rows too, where scores fall.
    """
    called_rank = data_warnings.is_called_rank(values.name)
    looks_so = values.dtype.is_numeric() and (called_rank or _counts_by_row(values))
    if not part.request.descending or not looks_so:
        return part.constant(value=False, dtype=pl.Boolean())
    score = pl.col("value")
    least = score.min()
    counts = ((least == 0) | (least == 1)) & (score.max() - least + 1 == score.count())
    return part.groups.aggregated(
        values, counts if called_rank else pl.when(score.count() > 1).then(counts)
    )


def _counts_by_row(values: pl.Series) -> bool:
    """Whether each value is one more than the one above it, or begins anew from 0 or 1."""
    if values.is_empty() or values[0] not in (0, 1):
        return False
    return bool(((values.diff() == 1) | (values == values[0])).all())


def _wrong(numbers: Integers, error: UnusableDataError | None) -> pl.Series:
    """What is wrong with each query: a column, by its number; or, at the first, an error."""
    wrong: list[dict[str, object]] = [{"column": number} for number in numbers.tolist()]
    if error is not None:
        wrong[0] |= {"rule": error.rule, "queries": error.queries, "grades": [*error.grades]}
    return pl.Series(wrong, dtype=WHAT_IS_UNUSABLE)


def _check_usable(ranking: Ranking, wrong: pl.Series, each: str) -> None:
    """Raise what is wrong with any of the queries, or what `each` is called, all counted."""
    fields = wrong.struct.unnest()
    check_finite(ranking, fields.get_column("column").fill_null(0).to_numpy(), each)
    broken = fields.drop_nulls("rule").select("rule", "queries", "grades").iter_rows()
    if errors := [UnusableDataError(*row) for row in broken]:
        error = UnusableDataError.of_all(errors)
        raise ValueError(sentence(ranking, error, len(wrong), each))


def _are_compared(request: Request) -> bool:
    """Whether there may be several strategies."""
    return len(request.by) > 1 or request.strategy is not None


def in_order(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    """The values of all queries, checked and in order, with notes beside them."""
    names = [*request.by] if values.get_column(UNUSABLE).count() else []
    for name in names:
        of_it = values if request.strategy else values.filter(pl.col(request.key) == name)
        each = "rankings" if request.strategy else "queries"
        _check_usable(request.ranking(request.columns_of(name)), of_it.get_column(UNUSABLE), each)
    values = values.drop(UNUSABLE)
    if not are_sorted(values.select(request.query)):
        values = values.sort(request.query)
    if not _are_compared(request):
        return values
    strategies = pl.Series(request.key, [*request.by])
    if request.strategy is not None:
        strategies = sorting.in_order(values.get_column(request.key))
    return strategies.to_frame().join(
        values, on=request.key, nulls_equal=True, maintain_order="left_right"
    )


def finished(requests: Sequence[Request], values: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What the caller gets of the values of all queries, and is warned of."""
    found = [_finished(*each) for each in zip(requests, values, strict=True)]
    if len(requests) > 1:
        data_warnings.warn_of_parts(requests, values)
    return pl.concat(found)


def _finished(request: Request, values: pl.DataFrame) -> pl.DataFrame:
    values = in_order(request, values)
    if request.grader is None:
        data_warnings.warn(request, values)
        return values.drop(NOTES)
    judged = (pl.col(NOTES).struct.field("judged") > 0).any().over(request.query)
    data_warnings.warn(request, values.filter(judged))
    return values.select(
        pl.lit(request.grader).alias(GRADER),
        *request.keys_of_values,
        *(pl.when(judged).then(pl.col(name)).alias(name) for name in request.measures),
    )
