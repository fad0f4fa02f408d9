"""No worse than before: a verdict on each strategy that a change may be held back by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl

from polars_graded._checks import (
    check_choice,
    check_column_names,
    check_columns,
    check_frame,
    check_number,
    first_few,
)
from polars_graded._measuring.definitions import NOTHING
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.names import Measure
from polars_graded._results.comparing import values_of_both
from polars_graded._results.keys import (
    GRADER,
    Columns,
    ResultOptions,
    columns_of_segments,
    has_graders,
    takes_results_of_one,
)
from polars_graded._results.pairs import Pairs, names_of_pairs
from polars_graded._results.per_query import (
    Grid,
    Named,
    as_they_come,
    check_has_best,
    check_per_query,
    measures_and_curves,
    of_measure,
    place_of,
    ratio,
)
from polars_graded._results.power import fewest_queries
from polars_graded._results.significance import Options, TestName, outcome_of
from polars_graded._sentences import counted, in_markdown, name_said, short
from polars_graded._warnings import DataWarning, warn_the_caller

__all__ = ["assert_no_worse", "gate"]

POWER = 0.8
"""The chance with which the queries that are said to be needed decide."""

TESTS: tuple[TestName, ...] = ("t", "permutation", "bootstrap")
"""Tests with an interval of the mean that agrees with them."""

BAD = ("worse", "undecided")
"""Verdicts that hold a change back, the worst first."""


@takes_results_of_one
def gate(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: Named,
    baseline: Any,
    margin: float | Mapping[str, float] = 0.01,
    segments: str | Sequence[str] | None = None,
    test: TestName = "t",
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 10_000,
    **keys: Unpack[ResultOptions],
) -> pl.DataFrame:
    r"""Say of each strategy whether it is better, no worse, or worse than the baseline.

    With the interval of the mean difference, strategy minus baseline, and the margin
    :math:`\delta` by which a strategy may be worse, it is

    - **better** where the whole interval is above 0;
    - **no worse** where it is above :math:`-\delta`;
    - **worse** where it is below :math:`-\delta`;
    - **undecided** else: there are too few queries to say.

    Where the lowest value of a measure is best, this is of baseline minus strategy. All verdicts
    are right together at `confidence`: of m rows each interval has the chance of error
    :math:`(1 - \mathtt{confidence}) / m` (Bonferroni). So the more measures and segments are asked
    about, the wider are the intervals.

    Parameters
    ----------
    per_query, *measures, query, strategy, missing, grader, segments
        As for `compare`.
    baseline
        The strategy that all others are held against; or results of another day, as a frame or the
        `Path` of a Parquet or CSV file that `evaluate`'s result was written to. Of other results
        the only strategy is the baseline, or of several the one of the same name. Queries that one
        of both lacks are left out, with a warning that names them.
    margin
        By how much a mean may be worse and still count as no worse, in the unit of the measure and
        at least 0; or a mapping from measures to their margins.
    test
        Whose intervals: `"t"` (Student's), `"permutation"` or `"bootstrap"`, as for `compare`.
    confidence
        How sure all verdicts are together, between 0 and 1.
    seed, resamples
        As for `compare`.

    Returns
    -------
    DataFrame
        In the order of measures, segments and strategies, with Float64 columns but where said:

        - `measure` (String), the segments, the strategy (under the name of its column), `baseline`,
          `queries` (UInt32), `best` (String), `baseline_mean`, `mean`;
        - `more_queries` (UInt64): where it is undecided, how many more such queries decide in
          80 % of cases if the difference stays as it is; null if it is just the margin;
        - `margin`, `difference` (strategy minus baseline), `low` and `high`, its interval;
        - `verdict` (String) and `sentence` (String), which says it in words.

    Raises
    ------
    ValueError
        As `compare` does; also if other results lack a measure, a strategy or all queries, or if
        there are several graders and `grader` names none.

    Warns
    -----
    DataWarning.missing
        If queries are only in one of both results.
    DataWarning.judgments
        If counts that depend on judgments alone, such as `n_relevant`, differ between both.

    See Also
    --------
    assert_no_worse : The same as one line of a test.
    compare : Differences, intervals and p values of any pairs.
    trust.queries_needed : How many queries show a difference.

    Notes
    -----
    Where no query changes, nothing is worse: the interval is 0 to 0. Where all differences are the
    same and not 0, or there are fewer than two queries, there is no interval and the verdict is
    undecided.

    Of simulated changes that are worse by just the margin of 0.01 at most 3.2 % passed, and of
    those that change nothing at most 0.4 % were stopped. How many queries it takes until most of
    the latter pass (1,000 for one measure, where differences have a standard deviation of 0.1) has
    a table in the book, on the page on how it is tested.

    References
    ----------
    Piaggio, Elbourne, Pocock, Evans, Altman: Reporting of noninferiority and equivalence randomized
    trials, 2012.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["main"] * 4 + ["new"] * 4,
    ...         "query": ["a", "b", "c", "d"] * 2,
    ...         "ap": [0.5, 0.5, 0.7, 0.9, 0.5, 0.52, 0.7, 0.9],
    ...     }
    ... )
    >>> verdicts = gate(per_query, "ap", baseline="main", margin=0.05)
    >>> verdicts.select("strategy", "difference", "low", "high", "verdict")
    shape: (1, 5)
    ┌──────────┬────────────┬───────────┬──────────┬──────────┐
    │ strategy ┆ difference ┆ low       ┆ high     ┆ verdict  │
    │ ---      ┆ ---        ┆ ---       ┆ ---      ┆ ---      │
    │ str      ┆ f64        ┆ f64       ┆ f64      ┆ str      │
    ╞══════════╪════════════╪═══════════╪══════════╪══════════╡
    │ new      ┆ 0.005      ┆ -0.010912 ┆ 0.020912 ┆ no worse │
    └──────────┴────────────┴───────────┴──────────┴──────────┘
    >>> print(verdicts["sentence"].item())
    ap: new is no worse than main: 0.005 (-0.0109 to 0.0209), margin 0.05
    """
    options = Options(test, "none", confidence=confidence, seed=seed, resamples=resamples)
    held = held_against(per_query, measures, baseline, segments, keys)
    return verdicts_of(held, margin, options)


def verdicts_of(held: Held, margin: float | Mapping[str, float], options: Options) -> pl.DataFrame:
    """What `gate` says of strategies and what they are held against."""
    check_choice("test", options.test, TESTS)
    grid = held.grid
    level = options.level / (len(held.a) * len(grid.segments) * len(grid.measures))
    tables = []
    for measure in grid.measures:
        allowed = _margin_of(measure, margin)
        for segment, results in grid.in_segments(measure):
            pairs = Pairs(results, held.a, held.b)
            check_has_best(measure, results.best, "say what is worse")
            verdicts = _verdicts(pairs, allowed, options, level)
            of_it = measure, segment, held.names, verdicts
            tables.append(of_measure(*of_it, more_queries=pl.UInt64()))
    every = pl.concat(tables)
    strategy = held.names[0].name
    said = [_sentence(row, strategy, grid.apart) for row in every.rows(named=True)]
    return every.with_columns(pl.Series("sentence", said))


def assert_no_worse(
    per_query: Any, *measures: Named, undecided: bool = False, **options: Any
) -> None:
    """Fail where a strategy is worse than the baseline, or may be: one line of a test.

    Parameters
    ----------
    per_query, *measures, **options
        As for `gate`, with its `baseline` and `margin`.
    undecided
        Whether what is undecided passes too.

    Raises
    ------
    AssertionError
        If a verdict is worse, or undecided where that does not pass; with a sentence for each.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["main"] * 3 + ["new"] * 3, "query": [1, 2, 3] * 2,
    ...      "ap": [0.5, 0.6, 0.7, 0.3, 0.4, 0.51]}
    ... )
    >>> assert_no_worse(per_query, "ap", baseline="main", margin=0.05)
    Traceback (most recent call last):
    AssertionError: ap: new is worse than main by 0.197 (-0.211 to -0.182), beyond the margin ...
    """
    verdicts = gate(per_query, *measures, **options)
    bad = verdicts.filter(pl.col("verdict").is_in(BAD[: 1 if undecided else 2]))
    if bad.height:
        raise AssertionError("\n".join(bad["sentence"]))


# Which strategies are held against which


class Held(NamedTuple):
    """Strategies and the baseline of each, in one grid."""

    grid: Grid
    a: Integers
    b: Integers
    """Where each strategy and its baseline stand there."""
    names: Sequence[pl.Series]
    """What they are called in their own results."""


def held_against(
    per_query: pl.DataFrame | pl.LazyFrame,
    measures: Sequence[Named],
    baseline: Any,
    segments: Columns | None,
    keys: ResultOptions,
) -> Held:
    """Each strategy and what it is held against: a strategy beside it, or one of other results."""
    if _are_results(baseline):
        rows = per_query.lazy().collect()
        return _beside(rows, measures, results_of(baseline), segments, keys)
    grid = check_per_query(per_query, measures, segments, **keys)
    base = place_of(grid.strategies, baseline)
    a = np.array([place for place in range(len(grid.strategies)) if place != base])
    if not len(a):
        msg = f"there must be another strategy than the baseline {baseline!r} to hold against it"
        raise ValueError(msg)
    b = np.full(len(a), base)
    return Held(grid, a, b, names_of_pairs(grid.strategies, a, b))


def _beside(
    rows: pl.DataFrame,
    measures: Sequence[Named],
    older: pl.DataFrame,
    segments: Columns | None,
    keys: ResultOptions,
) -> Held:
    """Each strategy and, of older results, their only one or that of the same name."""
    name, queries = keys["strategy"], check_column_names("query", keys["query"])
    found, _ = measures_and_curves(rows, measures, query=queries, strategy=name)
    columns = [name, *dict.fromkeys([*queries, *columns_of_segments(segments)]), *found]
    if has_graders(older.schema, {**keys, "segments": segments}) and older[GRADER].n_unique() > 1:
        msg = (
            "`baseline` must have the results of one grader, got "
            f"{first_few(older[GRADER].unique(maintain_order=True).to_list())}\n\n"
            "Hint: .filter(grader=...) of the frame leaves those of one"
        )
        raise ValueError(msg)
    check_columns("baseline", columns, older.schema)
    older = older.cast({query: rows.schema[query] for query in queries})
    strategies, known = as_they_come(rows[name]), as_they_come(older[name])
    _check_same_names(strategies, known)
    places = [0 if len(known) == 1 else place_of(known, each) for each in strategies]
    bases = known[places].alias("baseline")
    rows, older = _of_both(rows, older.filter(pl.col(name).is_in(bases.implode())), queries)
    new, ending = strategies.cast(pl.String), OF_BASELINE
    while new.is_in((bases.cast(pl.String) + ending).implode()).any():
        ending += OF_BASELINE
    text = pl.col(name).cast(pl.String)
    both = [
        rows.select(columns).with_columns(text),
        older.select(columns).with_columns(text + ending),
    ]
    together = pl.concat(both, how="vertical_relaxed")
    grid = check_per_query(together, measures, segments, **keys)
    a, b = (
        np.array([place_of(grid.strategies, each) for each in names])
        for names in (new, bases.cast(pl.String) + ending)
    )
    return Held(grid, a, b, [strategies, bases])


OF_BASELINE = " of the baseline"
"""What the name of a strategy of other results ends with beside those that are held against it."""


def _check_same_names(strategies: pl.Series, known: pl.Series) -> None:
    """Raise where older results have several strategies, and one of the new ones not."""
    new = [each for each in strategies if each not in known.to_list()]
    if len(known) > 1 and new:
        msg = (
            f"`baseline` must have one strategy, or each of those that are held against it, got "
            f"{first_few(known.to_list())} for {first_few(new)}\n\n"
            f"Hint: baseline=older.filter(pl.col({known.name!r}) == {known[0]!r}) is one of them"
        )
        raise ValueError(msg)


def _are_results(baseline: Any) -> bool:
    """Whether a baseline is a file or a frame rather than the name of a strategy."""
    return isinstance(baseline, Path) or hasattr(baseline, "columns")


def results_of(baseline: Any) -> pl.DataFrame:
    """Results of another day."""
    if not isinstance(baseline, Path):
        return check_frame("baseline", baseline).lazy().collect()
    if baseline.suffix == ".parquet":
        return pl.read_parquet(baseline)
    if baseline.suffix == ".csv":
        return pl.read_csv(baseline)
    msg = f"`baseline` must be a .parquet or .csv file of results, got {baseline}"
    raise ValueError(msg)


def _of_both(
    rows: pl.DataFrame, older: pl.DataFrame, queries: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of queries that both results have."""
    lacking = {
        "`baseline`": rows.join(older, on=queries, how="anti", nulls_equal=True),
        "`per_query`": older.join(rows, on=queries, how="anti", nulls_equal=True),
    }
    for where, lost in lacking.items():
        if lost.height:
            n = lost.select(pl.struct(queries).n_unique()).item()
            few = lost.select(queries).unique(maintain_order=True).head(3).rows()
            named = ", ".join(", ".join(map(str, row)) for row in few)
            warn_the_caller(
                DataWarning.missing,
                f"{counted(n, 'queries')} not in {where} {'is' if n == 1 else 'are'} left out: "
                f"{named}{', …' if n > len(few) else ''}",
            )
    rows = rows.join(older, on=queries, how="semi", nulls_equal=True)
    older = older.join(rows, on=queries, how="semi", nulls_equal=True)
    if rows.is_empty():
        msg = "`baseline` must have queries of `per_query`, got none of them"
        raise ValueError(msg)
    _tell_of_judgments(rows, older, queries)
    return rows, older


def _tell_of_judgments(rows: pl.DataFrame, older: pl.DataFrame, queries: Sequence[str]) -> None:
    """Warn where what judgments alone decide has changed."""
    both = [each for each in rows.columns if each in older.columns and _of_judgments(each)]
    for column in both:
        now, then = (
            frame.select(*queries, column).unique(subset=queries, maintain_order=True)
            for frame in (rows, older)
        )
        beside = now.join(then, on=queries, nulls_equal=True, suffix=" then")
        changed = beside.filter(pl.col(column).ne_missing(pl.col(f"{column} then"))).height
        if changed:
            warn_the_caller(
                DataWarning.judgments,
                f"{column!r} depends on judgments alone and differs in "
                f"{counted(changed, 'queries')}: the baseline was measured with others",
            )


def _of_judgments(column: str) -> bool:
    """Whether a column is a measure that no ranking changes."""
    parsed = Measure.parsed(column)
    return parsed is not None and parsed.definition.ranked == NOTHING


# What is said of them


def _margin_of(measure: str, margin: float | Mapping[str, float]) -> float:
    """The margin of a measure."""
    if isinstance(margin, Mapping):
        if measure not in margin:
            msg = f"`margin` must say how much worse {measure!r} may be, got {', '.join(margin)}"
            raise ValueError(msg)
        margin = margin[measure]
    return check_number("margin", margin, at_least=0)


def _verdicts(pairs: Pairs, margin: float, options: Options, level: float) -> dict[str, Any]:
    """The statistics of strategies beside their baselines, and the verdicts."""
    mean, std, *_ = pairs.statistics
    low, high = outcome_of(pairs, options).agreeing(np.full(len(pairs), level))
    unchanged = (std == 0) & (mean == 0)
    low, high = np.where(unchanged, 0, low), np.where(unchanged, 0, high)
    up = pairs.results.higher_is_better
    least, most = (low, high) if up else (-high, -low)
    verdicts = [least > 0, unchanged | (least > -margin), most < -margin]
    verdict = np.select(verdicts, ["better", "no worse", "worse"], "undecided")
    gap = np.abs((mean if up else -mean) + margin)
    means, baseline_means = pairs.means
    return {
        "queries": np.full(len(pairs), pairs.n),
        "best": pairs.results.best,
        "baseline_mean": baseline_means,
        "mean": means,
        "more_queries": [
            _more_queries(effect, pairs.n, level) if each == "undecided" else None
            for each, effect in zip(verdict, ratio(gap, std), strict=True)
        ],
        "margin": margin,
        "difference": mean,
        "low": low,
        "high": high,
        "verdict": verdict.astype(object),
    }


def _more_queries(effect: float, n: int, level: float) -> int | None:
    """How many more queries decide, None where nothing says so."""
    needed = fewest_queries(effect, POWER, level) if effect > 0 else None
    return None if needed is None else max(1, needed - n)


def _sentence(row: Mapping[str, Any], strategy: str, segments: Sequence[str]) -> str:
    """A verdict in words."""
    where = ", ".join([row["measure"], *(f"{key} {row[key]}" for key in segments)])
    new, old = name_said(row[strategy]), name_said(row["baseline"])
    interval = "" if row["low"] is None else f"({short(row['low'])} to {short(row['high'])})"
    if row["verdict"] == "undecided":
        what = f"{where}: undecided whether {new} is worse than {old}"
        if not interval:
            return f"{what}, since there is no interval"
        more = row["more_queries"]
        decided = "" if more is None else f"; {counted(more, 'more queries')} would decide"
        reaches = f"reaches beyond the margin of {short(row['margin'])}"
        return f"{what}: {_difference(row)} {interval} {reaches}{decided}"
    by = f"than {old} by {short(abs(row['difference']))} {interval}"
    margin = short(row["margin"])
    said = {
        "better": f"better {by}",
        "no worse": f"no worse than {old}: {_difference(row)} {interval}, margin {margin}",
        "worse": f"worse {by}, beyond the margin of {margin}",
    }
    return f"{where}: {new} is {said[row['verdict']]}"


def _difference(row: Mapping[str, Any]) -> str:
    """A difference in words, 0 where it is that but for rounding."""
    return short(round(row["difference"], 12))


# For a pull request

MOST_LOST = 5
"""How many queries a summary names."""


def gate_summary(held: Held, verdicts: pl.DataFrame) -> str:
    """What a gate says in Markdown: a verdict, a table, and the queries that lost most."""
    bad = [each for each in BAD if each in {*verdicts["verdict"]}]
    better = (verdicts["verdict"] == "better").all()
    headlines = {"worse": "Worse", "undecided": "Undecided whether worse"}
    headline = headlines[bad[0]] if bad else "Better" if better else "No worse"
    lines = [
        f"## {headline} than the baseline",
        "",
        *(f"- {in_markdown(sentence)}" for sentence in verdicts["sentence"]),
        "",
        "| measure | strategy | baseline | difference | interval | margin | verdict |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for row in verdicts.rows(named=True):
        both = [in_markdown(name_said(row[each.name])) for each in held.names]
        numbers = [short(row[name]) for name in ("difference", "low", "high", "margin")]
        difference, low, high, margin = numbers
        cells = [in_markdown(row["measure"]), *both, difference, f"{low} to {high}", margin]
        lines.append(f"| {' | '.join(cells)} | **{row['verdict']}** |")
    return "\n".join([*lines, *_queries_that_lost(held)]) + "\n"


def _queries_that_lost(held: Held) -> Iterator[str]:
    """A table of the queries that each strategy lost most by the first measure."""
    results = held.grid.results(held.grid.measures[0])
    gain = pl.col("difference") * (1 if results.higher_is_better else -1)
    for a, b, *names in zip(held.a, held.b, *held.names, strict=True):
        each = values_of_both(results, held.grid.strategies, a, b)
        lost = each.filter(gain < 0).sort(gain.round(12), maintain_order=True).head(MOST_LOST)
        if lost.height:
            strategy, base = (in_markdown(name_said(name)) for name in names)
            yield ""
            yield f"Queries that {strategy} lost most by {in_markdown(results.measure)}:"
            yield ""
            yield f"| query | {base} | {strategy} | difference |"
            yield "|---|---:|---:|---:|"
        for *query, new, old, difference, _ in lost.iter_rows():
            values = [short(value) for value in (old, new, difference)]
            yield f"| {in_markdown(', '.join(map(str, query)))} | {' | '.join(values)} |"
