"""One measure or many as one expression: Polars calls it once, with all queries."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_graded._measuring import batches
from polars_graded._measuring.definitions import ALL, MOST_VALUES
from polars_graded._measuring.kernels.errors import UnusableDataError
from polars_graded._measuring.kernels.queries import Queries
from polars_graded._measuring.kernels.ragged import Ragged
from polars_graded._measuring.names import check_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
    from polars_graded._measuring.names import Measure
    from polars_graded._measuring.ranking import Ranking


def one(measure: Measure, ranking: Ranking, known: pl.Expr | None = None) -> pl.Expr:
    """The values of a measure, named after it."""
    dtype = measure.definition.dtype
    expr = _expression([measure], ranking, lambda series: series[0], dtype, known)
    return expr.alias(measure.name)


EACH, KNOWN = "each", "known"
"""The documents of a query, and the same with the grades of known documents alone."""

UNUSABLE = pl.Struct(
    {
        "column": pl.UInt32(),
        "rule": pl.String(),
        "queries": pl.UInt32(),
        "grades": pl.List(pl.Float64),
    }
)
"""What is wrong with the data of a query: the number of a column with NaN or infinity in it; or the
rule that a batch of queries breaks, in how many of them and by which grades, at the first of it."""


def several(measures: Iterable[Measure], ranking: Ranking, *, unchecked: bool = False) -> pl.Expr:
    """The values of measures over one ranking as a struct, one field each.

    Polars may hand the queries over in several batches, so an error that is raised here counts
    those of one batch. `unchecked` raises none: what is wrong stands in a field `unusable`, for
    `check_usable` to raise once all batches are there.
    """
    chosen = list(measures)
    check_once([measure.name for measure in chosen])
    if needy := [measure.function for measure in chosen if measure.definition.known]:
        msg = f"{needy[0]} needs the column of known documents, which only its method takes"
        raise ValueError(msg)
    fields: dict[str, Any] = {measure.name: measure.definition.dtype for measure in chosen}
    dtype = pl.Struct(fields | {"unusable": UNUSABLE} if unchecked else fields)
    struct = partial(_struct, dtype=dtype)
    return _expression(chosen, ranking, struct, dtype, unchecked=unchecked).alias("measures")


def _struct(series: Sequence[pl.Series], dtype: pl.Struct) -> pl.Series:
    return pl.DataFrame(series).to_struct().cast(dtype)


def _expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    gather: Callable[[Sequence[pl.Series]], pl.Series],
    dtype: pl.DataType,
    known: pl.Expr | None = None,
    *,
    unchecked: bool = False,
) -> pl.Expr:
    """One kernel call over the rankings of all queries, as deep as any of the measures looks."""
    of_known = None if known is None else ranking.where(known).kept()
    ranking = ranking.kept()
    for measure in measures:
        _check_levels(measure, ranking)
    # The grade comes first: its name is the one that `.name.keep()` goes back to. What is wrong
    # with it comes before what Polars would say of it.
    inputs = {} if ranking.looked_at else {"unusable": ranking.unusable()}
    inputs[EACH] = _documents(measures, ranking)
    if of_known is not None:
        inputs[KNOWN] = _documents(measures, of_known)

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        given = dict(zip(inputs, columns, strict=True))
        if ranking.looked_at:
            unusable = np.zeros(len(columns[0]), np.int64)
        else:
            unusable = _numbers_of_columns(given.pop("unusable"))
        if unchecked:
            return gather(_columns_and_what_is_wrong(measures, ranking, given, unusable))
        _check_finite(ranking, unusable)
        try:
            return gather(_columns(measures, ranking, given))
        except UnusableDataError as error:
            raise ValueError(_sentence(ranking, error, len(unusable))) from None

    return pl.map_batches(list(inputs.values()), kernel, is_elementwise=True, return_dtype=dtype)


def _check_levels(measure: Measure, ranking: Ranking) -> None:
    """Raise where a measure asks for all levels of a scale whose highest grade was not said."""
    if measure.options.get("levels") != ALL:
        return
    if ranking.highest is None:
        msg = (
            f"`levels='all'` of {measure.function} needs the highest grade, got none\n\n"
            "Hint: say it by `scaled(highest=...)`, or name the levels"
        )
        raise ValueError(msg)
    if ranking.highest - ranking.irrelevant > MOST_VALUES:
        msg = f"`levels='all'` must be at most {MOST_VALUES} levels, got up to {ranking.highest:g}"
        raise ValueError(msg)


def _documents(measures: Sequence[Measure], ranking: Ranking) -> pl.Expr:
    """What measures have to know of the documents of each query, as a list."""
    if _depth(measures) == 0:
        return ranking.grade.implode()
    return ranking.documents(ties=any(measure.needs_ties for measure in measures))


def _depth(measures: Sequence[Measure]) -> int | None:
    """How many ranked documents any of the measures looks at; None for all."""
    depths = [measure.ranked_depth for measure in measures]
    return None if None in depths else max(each for each in depths if each is not None)


def _lists(documents: pl.Series, *, ties: bool) -> dict[str, batches.Lists]:
    """Grades, scores and, where they are asked for, ties of documents, each in lists of its own."""
    lists = batches.Lists.of(documents)
    if not isinstance(lists.flat.dtype, pl.Struct):
        return {"grades": lists}
    grades, *keys = lists.fields()
    scores = keys[0].as_numbers()
    if not ties:
        return {"grades": grades, "scores": scores}
    tied = scores if len(keys) == 1 else batches.Lists.numbered_runs(keys)
    return {"grades": grades, "scores": scores, "ties": tied}


def _columns(
    measures: Sequence[Measure], ranking: Ranking, columns: dict[str, pl.Series]
) -> list[pl.Series]:
    """The values of the measures, one column each, or the error of data that they cannot take."""
    ties = any(measure.needs_ties for measure in measures)
    lists = {
        (whose, name): each
        for whose, documents in columns.items()
        for name, each in _lists(documents, ties=ties).items()
    }
    as_grade = _as_grade(lists[EACH, "grades"].flat.dtype)
    ranking = replace(
        ranking,
        irrelevant=as_grade(ranking.irrelevant),
        highest=None if ranking.highest is None else as_grade(ranking.highest),
    )
    depth = _depth(measures)
    arguments = [_arguments(measure, ranking, as_grade) for measure in measures]

    def queries_of(whose: str, given: Mapping[tuple[str, str], Ragged]) -> Queries:
        return Queries.ranked_by(
            given[whose, "grades"],
            given.get((whose, "scores")),
            given.get((whose, "ties")),
            descending=not ranking.by or ranking.descending[0],
            condensed=ranking.condensed,
            depth=depth,
            irrelevant=ranking.irrelevant,
            highest=ranking.highest,
        )

    def kernel(*stretches: Ragged) -> list[Any]:
        given = dict(zip(lists, stretches, strict=True))
        queries = queries_of(EACH, given)
        known = queries_of(KNOWN, given) if KNOWN in columns else None
        queries.check_grades_within_scale()
        return [
            _values(measure, given, queries, known, _undefined(measure, ranking))
            for measure, given in zip(measures, arguments, strict=True)
        ]

    most = max(measure.values_per_query for measure in measures)
    chunks = batches.run(list(lists.values()), kernel, values_per_query=most)
    return [
        _series(measure, values)
        for measure, values in zip(measures, zip(*chunks, strict=True), strict=True)
    ]


def _as_grade(dtype: pl.DataType) -> Callable[[float], float]:
    """What a number is in the data type of these grades: it is compared as Polars compares it."""
    kinds: dict[Any, Callable[[Any], Any]] = {pl.Float32: np.float32}
    if hasattr(pl, "Float16"):
        kinds[pl.Float16] = np.float16
    kind = kinds.get(dtype, float)
    return lambda number: float(kind(number))


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
    defined = queries.relevant(queries.top, arguments.get("threshold"))
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


def _numbers_of_columns(unusable: pl.Series) -> Integers:
    """For each query the number of a column with NaN or infinity in it, or 0."""
    return unusable.explode(empty_as_null=False).fill_null(0).to_numpy()


def _check_finite(ranking: Ranking, unusable: Integers, each: str = "queries") -> None:
    """Raise where a column has NaN or infinity."""
    if number := int(unusable.max(initial=0)):
        msg = (
            f"{ranking.column(number)} must be finite, got NaN or infinity "
            f"in {(unusable == number).sum()} of {len(unusable)} {each}"
        )
        raise ValueError(msg)


def _sentence(ranking: Ranking, error: UnusableDataError, n: int, each: str = "queries") -> str:
    return f"{ranking.column(1)}: {error}, in {error.queries} of {n} {each}"


def _columns_and_what_is_wrong(
    measures: Sequence[Measure], ranking: Ranking, columns: dict[str, pl.Series], unusable: Integers
) -> list[pl.Series]:
    """The values of the measures, or null where data are unusable, and what is wrong with them."""
    error, values = None, [pl.Series(m.name, [], dtype=m.definition.dtype) for m in measures]
    if not unusable.any():
        try:
            values = _columns(measures, ranking, columns)
        except UnusableDataError as caught:
            error = caught
    wrong = pl.DataFrame({"column": unusable}).with_columns(
        rule=pl.lit(None, pl.String), queries=pl.lit(None), grades=pl.lit(None)
    )
    if error is not None:
        broken = {"rule": error.rule, "queries": error.queries, "grades": [*error.grades]}
        first = pl.int_range(pl.len()) == 0
        wrong = wrong.with_columns(
            pl.when(first).then(pl.lit(value)).alias(name) for name, value in broken.items()
        )
    if error is not None or unusable.any():
        values = [column.extend_constant(None, len(unusable)) for column in values]
    return [*values, wrong.to_struct("unusable")]


def check_usable(ranking: Ranking, unusable: pl.Series, each: str = "queries") -> None:
    """Raise what `several` left unchecked, of all queries together, or of what `each` is called."""
    wrong = unusable.struct.unnest()
    _check_finite(ranking, wrong.get_column("column").to_numpy(), each)
    broken = wrong.drop_nulls("rule").select("rule", "queries", "grades").iter_rows()
    if errors := [UnusableDataError(*row) for row in broken]:
        error = UnusableDataError.of_all(errors)
        raise ValueError(_sentence(ranking, error, len(unusable), each))
