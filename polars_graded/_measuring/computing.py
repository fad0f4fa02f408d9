"""The values of measures, computed of columns of lists: one call of each kernel per chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from polars_graded._measuring import batches
from polars_graded._measuring.batches import Lists
from polars_graded._measuring.definitions import ALL, MOST_VALUES
from polars_graded._measuring.documents import DocumentLists
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import MAX_SUM_ERROR, Judged, Queries
from polars_graded._measuring.kernels.ragged import Floats, Mask, Ragged
from polars_graded._measuring.names import Measure
from polars_graded._measuring.ranking import Ranking


@dataclass(frozen=True)
class Computed:
    """What comes out for the queries of a strategy, in chunks of queries."""

    measures: Sequence[Measure]
    chunks: Sequence[tuple[Sequence[Floats | Ragged], Mask]]

    def column(self, number: int) -> pl.Series:
        """The values of one of the measures; NaN is null."""
        return _series(self.measures[number], [values[number] for values, _ in self.chunks])

    @property
    def columns(self) -> list[pl.Series]:
        """The values of each measure."""
        return [*map(self.column, range(len(self.measures)))]

    @property
    def decided_by_order(self) -> pl.Series:
        """Whether another order of documents that are tied would change a value."""
        return pl.Series(np.concatenate([by_order for _, by_order in self.chunks]))


def depth_of(measures: Sequence[Measure]) -> int | None:
    """How many ranked documents any of the measures looks at; None for all."""
    depths = [measure.ranked_depth for measure in measures]
    return None if None in depths else max(each for each in depths if each is not None)


def computed(
    measures: Sequence[Measure],
    ranking: Ranking,
    strategies: Sequence[DocumentLists],
    known: Lists | None = None,
    *,
    ordered: Sequence[Measure] = (),
) -> list[Computed]:
    """For each strategy the values of the measures, or the error of data that they cannot take.

    What is found of grades that several strategies have is found once. `known` are the grades of
    known documents alone, of one strategy. Of the measures that are `ordered` it is looked whether
    the order of tied documents decides a value.
    """
    as_grade = _as_grade(strategies[0].grades.flat.dtype)
    ranking = replace(
        ranking,
        irrelevant=as_grade(ranking.irrelevant),
        highest=None if ranking.highest is None else as_grade(ranking.highest),
        relevant_from=None if ranking.relevant_from is None else as_grade(ranking.relevant_from),
    )
    depth = depth_of(measures)
    arguments = [_arguments(measure, ranking, as_grade) for measure in measures]

    rankings = [*strategies]
    if not (ordered or any(measure.needs_ties for measure in measures)):
        rankings = [replace(documents, ties=None) for documents in rankings]
    if known is not None:
        rankings.append(replace(rankings[0], grades=known))
    lists = [*dict.fromkeys(each for documents in rankings for each in documents.lists)]

    def kernel(*stretches: Ragged) -> list[tuple[list[Floats | Ragged], Mask]]:
        of_lists = dict(zip(lists, stretches, strict=True))
        judged = {
            grades: Judged.of(of_lists[grades], ranking.irrelevant, ranking.relevant_from)
            for grades in dict.fromkeys(documents.grades for documents in rankings)
        }

        def ranked(documents: DocumentLists) -> Queries:
            return Queries.ranked_by(
                judged[documents.grades],
                None if documents.scores is None else of_lists[documents.scores],
                None if documents.ties is None else of_lists[documents.ties],
                descending=documents.descending,
                condensed=ranking.condensed,
                depth=depth,
                highest=ranking.highest,
                alone=len(judged) == len(rankings),
            )

        of_known = None if known is None else ranked(rankings[-1])

        def values_of(queries: Queries) -> tuple[list[Floats | Ragged], Mask]:
            queries.check_grades_within_scale()
            values = [
                _values(measure, given, queries, of_known, _undefined(measure, ranking))
                for measure, given in zip(measures, arguments, strict=True)
            ]
            of_order = [
                pair for pair in zip(measures, arguments, strict=True) if pair[0] in ordered
            ]
            return values, _decided_by_order(of_order, queries)

        # One after the other, so that what is found for one is let go before the next.
        return [values_of(ranked(each)) for each in rankings[: len(strategies)]]

    most = max(measure.values_per_query for measure in measures)
    chunks = batches.run(lists, kernel, values_per_query=most)
    return [Computed(measures, of_strategy) for of_strategy in zip(*chunks, strict=True)]


def _as_grade(dtype: pl.DataType) -> Callable[[float], float]:
    """What a number is in the data type of these grades: it is compared as Polars compares it."""
    kinds: dict[Any, Callable[[Any], Any]] = {pl.Float32: np.float32}
    if hasattr(pl, "Float16"):
        kinds[pl.Float16] = np.float16
    kind = kinds.get(dtype, float)

    def as_grade(number: float) -> float:
        with np.errstate(over="ignore"):  # beyond all grades there are
            return float(kind(number))

    return as_grade


def _arguments(
    measure: Measure, ranking: Ranking, as_grade: Callable[[float], float]
) -> Mapping[str, Any]:
    """What its kernel is called with: the cutoff, and options that are grades as those are."""
    given = {
        name: option.in_type(measure.options[name], as_grade)
        for name, option in measure.definition.options.items()
    }
    if given.get("levels") == ALL:
        given["levels"] = ranking.levels
    if measure.definition.has_cutoff:
        given["n"] = measure.n
    return given


def _decided_by_order(
    measures: Sequence[tuple[Measure, Mapping[str, Any]]], queries: Queries
) -> Mask:
    """Of which queries the order of tied documents decides a value of the measures.

    The worst and the best order bound what any order gives, where a better document that moves up
    never lowers a value; then it is decided by order if and only if the two differ.
    """
    decided = np.zeros(len(queries.ranked.lengths), bool)
    undecided = queries.undecided
    if undecided is None:
        return decided
    for measure, given in measures:
        orders = [undecided.pessimistic, undecided.optimistic]
        if measure.may_fall:
            orders.append(undecided.alternating)
        worst, *others = (_values(measure, given, each, None, np.nan) for each in orders)
        for other in others:
            decided |= _differ(worst, other)
    return decided


def _differ(values: Any, others: Any) -> Mask:
    """Of which queries values differ by more than rounding."""
    if isinstance(values, Ragged):
        return values.count(_differ(values.values, others.values)) > 0
    low, high = np.minimum(values, others), np.maximum(values, others)
    differ: Mask = high - low > MAX_SUM_ERROR * high
    return differ


def _undefined(measure: Measure, ranking: Ranking) -> float:
    """What a query gets for which the measure is undefined; NaN for null."""
    if ranking.undefined is None:
        return np.nan
    if measure.definition.needs_pairs and not ranking.undefined_is_said:
        return np.nan
    return ranking.undefined


def _values(
    measure: Measure,
    arguments: Mapping[str, Any],
    queries: Queries,
    known: Queries | None,
    undefined: float,
) -> Floats | Ragged:
    """The values of a measure; `undefined`, or what it makes of it, for a query without any."""
    definition = measure.definition
    given = dict(arguments)
    if definition.known:
        given["known"] = known
    if "ties" in given:
        queries, ties = queries.with_ties(given.pop("ties"))
        if definition.averages_ties:
            given["ties"] = ties
    values: Floats | Ragged = definition.kernel(queries, **given)
    if not definition.needs_relevant:
        return values
    defined = queries.relevant(queries.judged.top, arguments.get("threshold"))
    if isinstance(values, Ragged):
        of_value = np.repeat(defined, values.lengths)
        return values.of(_where_defined(measure, of_value, values.values, undefined))
    return _where_defined(measure, defined, values, undefined)


def _where_defined(measure: Measure, defined: Mask, values: Floats, undefined: float) -> Floats:
    """The values where they are defined; a kernel may not say that they are not unless it can."""
    missing = defined & np.isnan(values)
    if missing.any() and not measure.definition.can_be_undefined:
        msg = f"{measure.name} is NaN in {missing.sum()} places, which is a defect of its formula"
        raise ArithmeticError(msg)
    return np.where(defined & ~missing, values, measure.definition.if_undefined(undefined))


def _series(measure: Measure, chunks: Sequence[Any]) -> pl.Series:
    """The values of all chunks as a column; NaN is null."""
    if isinstance(chunks[0], Ragged):
        # Chunk by chunk, since what makes a column of lists takes a multiple of its memory.
        lists = (
            batches.list_column(pl.Series(chunk.values, nan_to_null=True), pl.Series(chunk.lengths))
            for chunk in chunks
        )
        return pl.concat(lists).alias(measure.name)
    return pl.Series(
        measure.name,
        np.concatenate(chunks),
        dtype=measure.definition.dtype,
        nan_to_null=measure.definition.dtype == pl.Float64,
    )


# What is wrong with data


def check_measures(measures: Sequence[Measure], ranking: Ranking, *, known: bool) -> None:
    """Raise where a measure asks for what is not there: which documents are known, or a scale."""
    needy = [measure.function for measure in measures if measure.definition.known]
    if needy and not known:
        msg = f"{needy[0]} needs the column of known documents, which only its method takes"
        raise ValueError(msg)
    of_all_levels = [m.function for m in measures if m.options.get("levels") == ALL]
    if not of_all_levels:
        return
    if ranking.highest is None:
        msg = (
            f"`levels='all'` of {of_all_levels[0]} needs the highest grade, got none\n\n"
            "Hint: say it by `scaled(highest=...)`, or name the levels"
        )
        raise ValueError(msg)
    if ranking.highest - ranking.irrelevant > MOST_VALUES:
        msg = f"`levels='all'` must be at most {MOST_VALUES} levels, got up to {ranking.highest:g}"
        raise ValueError(msg)


def sentence(ranking: Ranking, error: UnusableDataError, n: int, each: str = "queries") -> str:
    """What is wrong with grades, and in how many of n queries."""
    rule, *hint = str(error).split("\n\n")
    msg = f"{ranking.column(1)}: {rule}, in {error.queries} of {n} {each}"
    return "\n\n".join([msg, *hint])
