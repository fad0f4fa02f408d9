"""From a frame to the few rows that a chart draws: means, steps, bins and boxes.

However many rows come in, a few thousand come out: of curves with more points, positions in equal
steps; of more points, how many are where. Names are text, numbers Float64 or null.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from polars_graded._checks import check_collected, check_column_names, check_columns, check_level
from polars_graded._drawing.printing import printed
from polars_graded._measuring.names import Measure
from polars_graded._results.keys import GRADER, Columns, check_one_grader
from polars_graded._results.per_query import (
    Results,
    curve_means,
    length_of,
    mean_margin,
    natural_order,
    place_of,
)
from polars_graded._results.significance import RANKS

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame
Ends: TypeAlias = tuple[float, float]
"""Where an axis begins and ends."""

MOST_ROWS = 3000
"""How many rows a chart draws."""

MOST_BINS = 40
"""How many bins a histogram has."""

MOST_PANELS = 60
"""How many panels are still looked at."""

OF_ALL = "simultaneous_low", "simultaneous_high"
"""The ends of the intervals that agree with corrected p values."""

SIDES = (
    *(("strategy", "baseline"), ("mean", "baseline_mean"), ("wins", "losses")),
    ("probability_better", "probability_worse"),
)
"""What a pair has of one and of the other."""

UNLIKE = 10
"""A measure that spans this many times less than another needs an axis of its own."""


def check_numbers(
    argument: str, frame: pl.DataFrame, columns: Iterable[str], *, lists: bool = False
) -> None:
    """Raise where a column that is drawn is not of numbers, nor of lists of them where these do."""
    for column in columns:
        dtype: Any = frame.schema[column]
        of = dtype.inner if lists and isinstance(dtype, pl.List) else dtype
        if not (of.is_numeric() or of in (pl.Boolean, pl.Null)):
            msg = f"`{argument}` must have numbers in {column!r}, got {dtype}"
            raise TypeError(msg)


def drawable(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that a chart can show, without NaN and infinity, which are no JSON."""
    names = cs.by_dtype(pl.Categorical, pl.Enum)
    shown = cs.numeric() | cs.string() | cs.boolean() | cs.date() | cs.datetime() | names
    frame = frame.select(shown).with_columns(cs.decimal().cast(pl.Float64), names.cast(pl.String))
    finite = pl.when(cs.float().is_finite()).then(cs.float())
    return frame.with_columns(printed(cs.string()), finite)


OF_OBJECTS = (
    *("__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf", "__defineGetter__", "__defineSetter__"),
    *("__lookupGetter__", "__lookupSetter__"),
)
"""Names that every object of a script has for its own."""


def text(column: str) -> pl.Expr:
    """A column of names as text, which is drawn as it is but for control characters.

    Vega keeps what it draws by name, and mistakes a name that its objects have for their own: to
    such a name comes a space of no width.
    """
    others = {name: f"{name}\u200b" for name in OF_OBJECTS}
    names = pl.col(column).cast(pl.String).fill_null("null").replace(others)
    return printed(names)


def texts(names: Mapping[str, str]) -> list[pl.Expr]:
    """Columns of names as text, called as they are drawn."""
    return [text(column).alias(name) for name, column in names.items()]


def texts_of(values: Iterable[Any]) -> list[str]:
    """Names as they are drawn."""
    return pl.DataFrame({"name": list(values)}).select(text("name")).to_series().to_list()


def names_in(frame: pl.DataFrame, column: str) -> list[str]:
    """Each name of a column once, as it is drawn."""
    return frame.select(text(column).unique()).to_series().to_list()


def number(column: str | pl.Expr) -> pl.Expr:
    """A column of numbers, null where one cannot be drawn."""
    number = (pl.col(column) if isinstance(column, str) else column).cast(pl.Float64)
    return pl.when(number.is_finite()).then(number)


def of_one_grader(argument: str, frame: Frame, *named: Any) -> pl.DataFrame:
    """The frame, collected; raise where it mixes graders that no column in `named` tells apart."""
    collected = check_collected(argument, frame)
    if GRADER in collected.columns and GRADER not in named:
        check_names(collected, [GRADER])
        check_one_grader(
            argument,
            natural_order(names_in(collected, GRADER)),
            ".filter(grader={!r}) leaves those of one, and panel='grader' gives each a panel, in "
            "a chart that has some",
        )
    return collected


def result_rows(
    argument: str,
    frame: Frame,
    *numbers: str,
    texts: Sequence[str] = ("measure",),
    at: Sequence[str] = (),
    strategy: str | None = None,
    panel: str | None = None,
    once: str | None = None,
    every: bool = False,
) -> pl.DataFrame:
    """The rows of a frame of results that have the first of the numbers, and stand somewhere.

    Strategies stand in the column `strategy` and panels in `panel`, as text. Where `every` row is
    drawn, none stands for others; what is there `once` in a panel is not repeated.
    """
    keys = {name: c for name, c in (("strategy", strategy), ("panel", panel)) if c is not None}
    frame = of_one_grader(argument, frame, panel, *texts)
    names = keys | {name: name for name in texts}
    drawn = columns(argument, frame, names, dict(zip(numbers, numbers, strict=True)), at)
    frame = frame.with_columns(drawn)
    check_panels(frame, panel)
    frame = drawable(frame).drop_nulls([numbers[0], *at])
    ends = pl.col("^ci_(low|high)$")
    if {"ci_low", "ci_high"} <= set(frame.columns):
        # An interval is there with both its ends.
        frame = frame.with_columns(pl.when(~pl.any_horizontal(ends.is_null())).then(ends))
    check_not_empty(argument, frame, numbers[0])
    if every:
        check_row_count(argument, frame)
    if once is not None:
        check_not_repeated(argument, frame, once, panel)
    return frame


UNNAMED = (pl.List, pl.Array, pl.Struct, pl.Object, pl.Duration, pl.Binary)
"""What holds no names: nothing that could be written beside a line."""


def check_names(frame: pl.DataFrame, columns: Iterable[str]) -> None:
    """Raise where one of the columns that are there holds what cannot be written as a name."""
    for column in columns:
        if isinstance(dtype := frame.schema.get(column), UNNAMED):
            msg = f"column {column!r} must hold texts, numbers or dates to be shown, got {dtype}"
            raise TypeError(msg)


def one_query(
    argument: str, frame: Frame, query: Columns, strategy: str
) -> tuple[pl.DataFrame, str]:
    """The frame with one column that tells queries apart, sorted as several are, and its name."""
    several = check_column_names("query", query)
    frame = check_collected(argument, frame)
    check_names(frame, [*several, strategy])
    if len(several) == 1:
        return frame, several[0]
    check_columns(argument, several, frame.columns)
    name = ", ".join(several)
    texts = pl.concat_str([text(column) for column in several], separator=", ").alias(name)
    order = frame.select(several).unique().sort(several).select(texts).to_series()
    return frame.with_columns(texts.cast(pl.Enum(order.unique(maintain_order=True)))), name


def columns(
    argument: str,
    frame: pl.DataFrame,
    names: Mapping[str, str],
    numbers: Mapping[str, str],
    at: Sequence[str] = (),
) -> list[pl.Expr]:
    """Columns of names and of numbers, called as they are drawn; raise where one cannot be."""
    check_columns(argument, [*names.values(), *at, *numbers.values()], frame.columns)
    check_numbers(argument, frame, [*numbers.values(), *at])
    check_names(frame, names.values())
    return [*texts(names), *(number(column).alias(name) for name, column in numbers.items())]


def query_rows(
    frame: pl.DataFrame,
    keys: Mapping[str, str],
    numbers: Mapping[str, str],
    others: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The rows that have all of the numbers, under the names that are given, with the others."""
    table = frame.select(columns("frame", frame, keys, {**numbers, **(others or {})}))
    table = table.drop_nulls(list(numbers))
    check_not_empty("frame", table, *numbers.values())
    check_panels(table, keys.get("panel"))
    return table


def check_row_count(argument: str, table: pl.DataFrame) -> None:
    """Raise where there are more rows than can be drawn."""
    if table.height > MOST_ROWS:
        rule = f"`{argument}` must have at most {MOST_ROWS} rows to draw"
        msg = f"{rule}, got {table.height}; filter it"
        raise ValueError(msg)


def check_not_repeated(
    argument: str, table: pl.DataFrame, name: str, panel: str | None, of: Sequence[str] = ()
) -> None:
    """Raise where a panel has something twice, which would be drawn as one.

    It is a column, or what it is made `of`.
    """
    if panel and (repeated := table.height - table.n_unique([*(of or [name]), "panel"])):
        msg = (
            f"`{argument}` must have each {name} once in a panel, got {repeated} again; "
            "`panel` names the column that sets them apart"
        )
        if panel != "measure" and "measure" in table.columns and table["measure"].n_unique() > 1:
            msg += f"\n\nHint: .filter(measure={table['measure'][0]!r}) leaves one measure"
        raise ValueError(msg)


def curve_points(
    frame: pl.DataFrame,
    curve: str,
    ideal: str | None = None,
    *,
    kind: str,
    at: Any,
    confidence: float | None,
    baseline: Any = None,
    panel: str | None,
    query: str,
    strategy: str,
) -> pl.DataFrame:
    """The points of curves, or of differences to a baseline, of a frame of points or of lists."""
    keys = {"strategy": strategy} | ({"panel": panel} if panel else {})
    values = {"value": curve} | ({"ideal": ideal} if ideal is not None else {})
    check_columns("frame", [*keys.values(), *values.values()], frame.columns)
    is_list = isinstance(frame.schema[curve], pl.List)
    check_numbers("frame", frame, values.values(), lists=is_list)
    if ideal is not None and is_list and not isinstance(frame.schema[ideal], pl.List | pl.Null):
        msg = f"`ideal` must hold lists, as {curve!r} does, got {frame.schema[ideal]} in {ideal!r}"
        raise TypeError(msg)
    check_not_empty("frame", frame, curve)
    if confidence is not None:
        check_level(confidence)
    frame = frame.with_columns(texts(keys))
    check_panels(frame, panel)
    if is_list:
        check_columns("frame", [query], frame.columns)
        if repeated := frame.height - frame.n_unique([*keys, query]):
            msg = f"`frame` must have each {query} of a {strategy} once, got {repeated} again"
            raise ValueError(msg)
        if baseline is not None:
            frame = _less_baseline(frame, curve, baseline, [*keys, query])
        return _means_of_lists(frame, keys, values, kind, confidence)
    for argument, given in (("baseline", baseline), ("confidence", confidence)):
        if given is not None:
            msg = f"`{argument}` needs a list for each query, as evaluate() gives, "
            msg += f"got a number in {curve!r}"
            raise ValueError(msg)
    if isinstance(at, str) and at not in frame.columns:
        msg = (
            f"{curve!r} must be a curve, one list per query, or stand beside a column of {kind}s, "
            f"got numbers and no column {at!r}"
        )
        raise pl.exceptions.ColumnNotFoundError(msg)
    numbers = columns("frame", frame, {}, values, [at])
    not_ranks = (pl.col(at) < 1) | (pl.col(at) % 1 != 0)
    if kind == "rank" and (wrong := frame.filter(not_ranks).height):
        msg = f"{at!r} must be ranks, whole numbers from 1 on, got {wrong} others"
        raise ValueError(msg)
    points = drawable(frame.with_columns(pl.col(at).alias(kind), *numbers))
    points = points.drop_nulls(["value", kind])
    check_not_empty("frame", points, curve)
    apart = [name for name, dtype in points.schema.items() if name == kind or not dtype.is_float()]
    if repeated := points.height - points.n_unique(apart):
        msg = f"a strategy must have each {kind} once, got {repeated} again"
        raise ValueError(msg)
    drawn = [*keys, kind, *values]
    replaced = {*drawn, *keys.values(), at, *values.values()}
    others = [name for name in points.columns if name not in replaced]
    return thinned(points.select(*drawn, *others), kind)


def panel_of(
    frame: pl.DataFrame, curve: str, panel: str | None, strategy: str, at: str
) -> str | None:
    """The panel that is named, or else the column that sets apart the curves of a strategy."""
    named = {strategy, at, curve}
    if panel or not named <= {*frame.columns} or isinstance(frame.schema[curve], pl.List):
        return panel
    points = drawable(frame.drop_nulls([curve, at]))
    if not named <= {*points.columns} or points.n_unique([strategy, at]) == points.height:
        return None
    others = [name for name in points.columns if name not in named]
    names = [name for name in others if not points.schema[name].is_float()]
    found = [name for name in names if points.n_unique([strategy, at, name]) == points.height]
    if not found and names and points.n_unique([strategy, at, *names]) == points.height:
        again = points.height - points.n_unique([strategy, at])
        msg = (
            f"a strategy must have each {at} once in a panel, got {again} again; "
            f"`panel` names one column, and {' and '.join(names)} set them apart together"
        )
        raise ValueError(msg)
    return next(iter(found), None)


def _less_baseline(frame: pl.DataFrame, curve: str, baseline: Any, keys: list[str]) -> pl.DataFrame:
    """The curves of all other strategies minus that of the baseline, in the queries of both."""
    [name] = texts_of([baseline])
    place_of(frame["strategy"].unique().sort(), name)
    same = [key for key in keys if key != "strategy"]
    base = frame.filter(strategy=name).select(*same, pl.col(curve).alias("of the baseline"))
    both = frame.filter(pl.col("strategy") != name).join(
        base, on=same, nulls_equal=True, maintain_order="left"
    )
    one, other = pl.col(curve), pl.col("of the baseline")
    both = both.filter(one.list.len() == other.list.len())
    floats = pl.List(pl.Float64)
    return both.with_columns(one.cast(floats) - other.cast(floats))


def _means_of_lists(
    frame: pl.DataFrame,
    keys: Iterable[str],
    values: dict[str, str],
    at: str,
    confidence: float | None,
) -> pl.DataFrame:
    """The mean over queries at each position of lists, with its interval where that is asked."""
    curve = values["value"]
    frame = frame.drop_nulls(curve)
    check_not_empty("frame", frame, curve)
    frame = frame.with_columns(pl.col(*values.values()).cast(pl.List(pl.Float64)))
    n = length_of(frame, [*values.values()], " and ".join(values.values()))
    positions = positions_of(curve, at, n)
    kept = equal_steps(len(positions), most_points(frame.n_unique(list(keys))))
    chosen = pl.lit(pl.Series(kept)).implode()
    nothing = pl.lit(pl.Series([[None] * n], dtype=pl.List(pl.Float64))).first()
    numbers = pl.when(pl.element().is_finite()).then(pl.element())
    lists = frame.select(
        *keys,
        *(
            # An ideal list that is null beside a curve is as many nulls.
            pl.col(column).fill_null(nothing).list.gather(chosen).list.eval(numbers).alias(name)
            for name, column in values.items()
        ),
    )
    lines = curve_means(lists.lazy(), list(values), positions[kept].alias(at), list(keys))
    means = lines.collect().drop_nulls("value")
    check_not_empty("frame", means, curve)
    queries, std = means["queries of value"].to_numpy(), means["std of value"].to_numpy()
    means = means.select(*keys, at, *values)
    if confidence is not None:
        margin = pl.Series(mean_margin(std, queries, confidence), nan_to_null=True)
        means = means.with_columns(
            ci_low=pl.col("value") - margin, ci_high=pl.col("value") + margin
        )
    return means


def positions_of(curve: str, at: str, n: int) -> pl.Series:
    """What the n values of a list stand at."""
    measure = Measure.parsed(curve)
    if measure is not None and measure.positions is not None and len(measure.positions[1]) == n:
        return pl.Series(measure.positions[1])
    ranks = pl.int_range(1, n + 1, eager=True)
    return ranks if at == "rank" else (ranks - 1) / max(1, n - 1)


def thinned(table: pl.DataFrame, at: str) -> pl.DataFrame:
    """The rows of as many positions, in equal steps, as can be drawn."""
    positions = table[at].unique().sort()
    n_lines: Any = table[at].value_counts()["count"].max()
    kept = positions[equal_steps(len(positions), most_points(n_lines))]
    return table.filter(pl.col(at).is_in(kept.implode()))


def most_points(n_lines: int) -> int:
    """How many points each of n lines can have."""
    check_count("lines", n_lines, MOST_ROWS // 2)
    return MOST_ROWS // n_lines


def check_count(what: str, n: int, most: int) -> None:
    """Raise where there are more than can be drawn."""
    if n > most:
        msg = f"at most {most} {what} can be drawn, got {n}; filter the frame"
        raise ValueError(msg)


def equal_steps(n: int, most: int) -> pl.Series:
    """Which of n rows to keep so that there are `most`, the first and the last among them."""
    kept = min(n, most)
    return (pl.int_range(kept, eager=True) * (n - 1) / max(1, kept - 1)).round().cast(pl.Int64)


def only_curve(frame: pl.DataFrame, kind: str, at: str, but: Collection[str | None]) -> str:
    """The one curve of a kind: a list where there are any, or else a number beside `at`."""
    names = [name for name in frame.columns if name not in but and kind_of(name) == kind]
    columns = {name: frame.schema[name] for name in names}
    lists = [name for name, dtype in columns.items() if isinstance(dtype, pl.List)]
    if not lists and at not in frame.columns:
        msg = (
            f"`frame` must have a curve, a column of lists or numbers beside a column {at!r}, got "
            f"{', '.join(frame.columns)}\n\n"
            f"Hint: evaluate(frame, {SUCH_AS[kind]!r}) has one"
        )
        raise ValueError(msg)
    floats = [name for name, dtype in columns.items() if dtype.is_float()]
    found = lists or floats or [name for name, dtype in columns.items() if dtype.is_numeric()]
    if len(found) != 1:
        got = " and ".join(found) or f"none among {', '.join(frame.columns)}"
        msg = f"`curve` must say which column to draw where there is not just one, got {got}"
        raise ValueError(msg)
    return found[0]


def title_of(curve: str, frame: pl.DataFrame, *, each_query: bool) -> str:
    """What a curve is called: of lists, means are drawn, unless each query has its panel."""
    lists = isinstance(frame.schema[curve], pl.List)
    return f"mean {curve}" if lists and not each_query else curve


SUCH_AS = {"rank": "dcg_curve@10", "recall": "interpolated_precision"}
"""A curve of each kind."""


def kind_of(curve: str) -> str | None:
    """Whether a curve is by rank or by recall; an ideal curve is none of its own."""
    if curve.startswith("interpolated_precision"):
        return "recall"
    return None if curve.startswith("ideal_dcg_curve") else "rank"


def ideal_of(curve: str, columns: Iterable[str]) -> str | None:
    """The column of the ideal curve with the gain, discount and cutoff of a CG or DCG curve."""
    measure = Measure.parsed(curve)
    if measure is None or measure.function not in ("cg_curve", "dcg_curve"):
        return None
    options = {"discount": "none", "base": 2.0, **measure.options}
    options.pop("ties", None)  # the ideal order has none that matter
    for name in columns:
        other = Measure.parsed(name)
        if other is not None and (other.function, other.n, other.options) == (
            "ideal_dcg_curve",
            measure.n,
            options,
        ):
            return name
    return None


def threshold_of(name: str) -> float | None:
    """The threshold of average precision at one, of whole lists and over all that is relevant."""
    measure = Measure.parsed(name)
    if measure is None or name != Measure.of("ap", threshold=measure.options.get("threshold")).name:
        return None
    threshold: float | None = measure.options["threshold"]
    return threshold


def places_of(thresholds: Sequence[float], others: int) -> list[float]:
    """Where thresholds stand on an axis, as far apart as they are, and the others behind them."""
    places = [float(each) for each in thresholds]
    last = places[-1] if places else 0.0
    step = (last - places[0]) / (len(places) - 1) if len(places) > 1 else 1.0
    return places + [last + step * (place + bool(places)) for place in range(others)]


def side_by_side(strategies: Sequence[str], places: Sequence[float]) -> dict[str, float]:
    """How far beside a place each strategy stands, so that those alike do not hide each other."""
    room = 0.8 * min((b - a for a, b in itertools.pairwise(places)), default=1.0)
    middle = (len(strategies) - 1) / 2
    return {name: (i - middle) * room / len(strategies) for i, name in enumerate(strategies)}


def shared_bars(table: pl.DataFrame, size: int) -> pl.DataFrame:
    """One bar per query, or two for `size` neighbours: by what each strategy is better."""
    bar = (pl.col("position") - 1) // size
    bars = table.with_columns(
        pl.col("position").min().over(bar).cast(pl.Int64),
        pl.col("position").max().over(bar).cast(pl.Int64).alias("last"),
        pl.col("difference") / pl.len().over(bar),
    )
    # A tie has a place of its own only where each query has one.
    bars = bars.drop_nulls("better") if size > 1 else bars
    first, last = pl.col("query").first(), pl.col("query").last()
    return (
        bars.group_by("position", "last", "better", maintain_order=True)
        .agg(
            pl.when(pl.len() > 1).then(first + " … " + last).otherwise(first).alias("query"),
            pl.len().alias("queries"),
            pl.col("difference").sum(),
        )
        .select("position", "last", "query", "queries", "difference", "better")
    )


def hardest_first(
    results: Results, names: pl.Series, most: int
) -> tuple[pl.DataFrame, pl.DataFrame, list[list[str]]]:
    """A row for each query and strategy, the hardest query first, and the best strategy.

    Of more queries than `most`, or than rows that can be drawn, neighbours share one. Beside them
    the queries with their mean and whether all strategies are the `same` there, and the groups of
    strategies that are the same in all.
    """
    sign = -1 if results.best == "lowest" else 1
    # Those that are the same but for rounding stay in their order.
    columns = np.argsort(-sign * results.values.mean(axis=1).round(12), kind="stable")
    rows = np.argsort(sign * results.values.mean(axis=0).round(12), kind="stable")
    values, names = results.values[columns][:, rows], names[columns]
    [queries] = results.queries.to_frame("name").select(text("name"))[rows]
    same = np.ptp(values, axis=0) <= results.rounding[rows]
    every = pl.DataFrame({"query": queries, "mean": values.mean(axis=0), "same": same})
    _, place = np.unique(values.round(12), axis=0, return_inverse=True)
    alike = [names.filter(pl.Series(place == each)).to_list() for each in range(max(place) + 1)]
    size = -(-len(queries) // min(most, MOST_ROWS // len(names)))
    starts = np.arange(0, len(queries), size)
    ends = np.minimum(starts + size, len(queries))
    ends_of_rows = zip(starts.tolist(), ends.tolist(), strict=True)
    table = pl.DataFrame(
        {
            "position": starts + 1,
            "last": ends,
            "query": [
                queries[at] if end - at == 1 else f"{queries[at]} … {queries[end - 1]}"
                for at, end in ends_of_rows
            ],
            "queries": pl.Series(ends - starts, dtype=pl.UInt32),
            "value": (np.add.reduceat(values, starts, axis=1) / (ends - starts)).T.tolist(),
        }
    )
    table = table.select(pl.lit(names).implode().alias("strategy"), pl.all())
    return table.explode("strategy", "value"), every, alike


BOX = ("whisker_low", "q1", "median", "q3", "whisker_high")
"""The columns of a box, from the bottom to the top."""


def boxes(samples: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """One row per box, and one for each of the values beyond its whiskers."""
    value = pl.col("value")
    q1, q3 = (value.quantile(q, "linear").over(keys) for q in (0.25, 0.75))
    inside = value.is_between(q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1))
    samples = samples.with_columns(inside.alias("inside"))
    within = value.filter("inside")
    boxes = samples.group_by(keys, maintain_order=True).agg(
        pl.len().alias("samples"),
        pl.col("reference").mean(),
        within.min().alias("whisker_low"),
        value.quantile(0.25, "linear").alias("q1"),
        value.median().alias("median"),
        value.quantile(0.75, "linear").alias("q3"),
        within.max().alias("whisker_high"),
    )
    check_count("boxes", boxes.height, MOST_ROWS // 3)
    most = MOST_ROWS // boxes.height - 1
    beyond = at_equal_steps(samples.filter(~pl.col("inside")), "value", most, keys)
    points = beyond.select(*keys, pl.col("value").alias("outlier"))
    return pl.concat([boxes.select(*keys, "samples", *BOX, "reference"), points], how="diagonal")


def at_equal_steps(table: pl.DataFrame, value: str, most: int, keys: Sequence[str]) -> pl.DataFrame:
    """At most this many rows of each group, in equal steps by a value, the first and last too."""
    table = table.sort(*keys, value)
    rank, last = pl.int_range(pl.len()), (pl.len().cast(pl.Int64) - 1).clip(1)
    if keys:
        rank, last = rank.over(keys), last.over(keys)
    return table.filter(rank * (most - 1) // last > (rank - 1) * (most - 1) // last)


def counted(table: pl.DataFrame, groups: list[str], most: int) -> pl.DataFrame:
    """How many differences x - y of a group are in which bin, 0 in the middle of one."""
    difference = table["x"] - table["y"]
    # 0 is always on the axis, so that a bin is no narrower than can be seen there.
    drawn = np.append(difference.to_numpy(), 0.0)
    width = round_step(float(np.ptp(drawn)) / most)
    bins = table.with_columns((difference / width).round().alias("bin"))
    counts = bins.group_by(*groups, "bin").agg(pl.len().alias("queries")).sort(*groups, "bin")
    return counts.select(
        *groups,
        ((pl.col("bin") - 0.5) * width).alias("low"),
        ((pl.col("bin") + 0.5) * width).alias("high"),
        "queries",
    )


def round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least this; 0.02 for 0."""
    if least <= 0:
        return 0.02
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)


def round_ends(values: pl.Series, steps: int = 5) -> Ends:
    """Round numbers below and above all values, about this many steps apart."""
    array = values.to_numpy()
    step = round_step(float(np.ptp(array)) / steps)
    low = math.floor(array.min() / step + 1e-9) * step
    return low, max(low + step, math.ceil(array.max() / step - 1e-9) * step)


def difference_bins(differences: pl.Series, n: int) -> tuple[Ends, float]:
    """Where the axis of the differences of n queries ends, and how wide their bins are."""
    low, high = round_ends(differences)
    width = round_step((high - low) / min(MOST_BINS, 10 + math.isqrt(n)))
    # 0 is in the middle of a bin.
    return (low - width / 2, high + width / 2), width


def axes_ends(x: pl.Series, y: pl.Series) -> tuple[Ends, Ends]:
    """The ends of two axes, the same unless that would leave one of them nearly empty."""
    both = pl.concat([x, y])
    spans = [float(np.ptp(values.to_numpy())) for values in (x, y, both)]
    if 0 < min(spans) < spans[2] / UNLIKE:
        return round_ends(x), round_ends(y)
    return (round_ends(both),) * 2


def round_ranks(last: int) -> list[int]:
    """The ranks that an axis names: all of few, or the first and then round ones."""
    if last <= 10:  # noqa: PLR2004
        return list(range(1, last + 1))
    step = max(5, int(round_step(last / 8)))
    return [1, *range(step, last + 1, step)]


def round_powers(low: float, high: float) -> list[float]:
    """The amounts that an axis names which spreads the low ones: 0 and powers of ten.

    Of few powers, also two and five times each.
    """
    furthest = max(abs(low), abs(high), 1.0)
    powers = [10.0**power for power in range(math.floor(math.log10(furthest)) + 1)]
    found: list[float] = []
    for steps in ([1.0], [1.0, 2.0, 5.0]):
        amounts = [step * power for power in powers for step in steps]
        each = sorted({0.0, *amounts, *(-amount for amount in amounts)})
        found = [amount for amount in each if low <= amount <= high]
        if len(found) > 3:  # noqa: PLR2004
            break
    return found


def check_not_empty(argument: str, table: pl.DataFrame, *values: str) -> None:
    """Raise where there is nothing to draw."""
    if table.is_empty():
        both = "both " if len(values) > 1 else "a value in "
        wanted = " and ".join(map(repr, values))
        msg = f"`{argument}` must have a row with {both}{wanted}, got none"
        raise ValueError(msg)


def check_panels(table: pl.DataFrame, panel: str | None) -> None:
    """Raise where there are more panels than can be looked at."""
    if panel is not None and (n := table["panel"].n_unique()) > MOST_PANELS:
        msg = f"`panel` must have at most {MOST_PANELS} values, got {n} in {panel!r}; filter them"
        raise ValueError(msg)


def has_panels(table: pl.DataFrame) -> bool:
    """Whether there are several panels."""
    return "panel" in table.columns and table["panel"].n_unique() > 1


def by_falling(table: pl.DataFrame, value: str, name: str) -> list[str]:
    """Names by the values of the first measure, the highest first; then those it lacks."""
    first = (pl.col("measure") == pl.col("measure").first()).alias("first")
    ordered = table.sort(first, value, descending=True, maintain_order=True)
    return ordered[name].unique(maintain_order=True).to_list()


def best_lines(table: pl.DataFrame, at: str | None, most: int) -> list[str]:
    """The strategies whose lines end highest, or lie highest, as many as have a colour."""
    last = table if at is None else table.filter(pl.col(at) == pl.col(at).max())
    heights = last.group_by("strategy").agg(pl.col("value").mean())
    best = heights.sort("value", "strategy", descending=[True, False])
    return best["strategy"].to_list()[:most]


LABEL_SHARE = 0.045
"""How much of an axis the name beside a line takes."""


def with_labels(
    table: pl.DataFrame,
    is_last: pl.Expr,
    by: Sequence[str | pl.Expr],
    ends: Ends,
    named: Collection[str],
    lines: Sequence[str] = ("strategy",),
) -> pl.DataFrame:
    """The rows with `label_at`: where the name of a line stands beside its end, above the next.

    The first of `by` is how high a line ends, and what follows it orders those that end alike.
    Of many lines, those of a few names are `named`.
    """
    is_last &= pl.col(lines[-1]).is_in([*named])
    last = table.filter(is_last).sort(*by, lines[-1])
    last = last.unique(lines, keep="first", maintain_order=True)
    several = "panel" in lines and not last.is_empty()
    placed = [
        group.select(*lines, label_at=pl.Series(apart(heights, ends), dtype=pl.Float64))
        for group in (last.partition_by("panel") if several else [last])
        for heights in [group.select(by[0]).to_series()]
    ]
    table = table.join(pl.concat(placed), on=lines, how="left", maintain_order="left")
    return table.with_columns(pl.when(is_last).then("label_at").alias("label_at"))


def apart(heights: Iterable[float], ends: Ends) -> list[float]:
    """Heights of names, from the lowest up, moved so that none stands over the next."""
    step = (ends[1] - ends[0]) * LABEL_SHARE
    places: list[float] = []
    for height in heights:
        places.append(height if not places else max(height, places[-1] + step))
    # What was moved up beyond the axis moves down again.
    highest = ends[1]
    for place in reversed(range(len(places))):
        places[place] = highest = min(places[place], highest)
        highest -= step
    return places


def interval_ends(comparison: pl.DataFrame) -> tuple[str, str]:
    """The ends of the intervals that are drawn: those that agree with p, where there are any."""
    agree = set(OF_ALL) <= set(comparison.columns) and comparison[OF_ALL].drop_nulls().height
    return OF_ALL if agree else ("ci_low", "ci_high")


def higher_first(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each pair from the side of the one that has the higher mean, in all its columns."""
    return _turned(pairs, pl.col("difference") < 0)


def _turned(pairs: pl.DataFrame, which: pl.Expr) -> pl.DataFrame:
    """Some pairs from their other side, in all columns."""
    turned = {name: -pl.col(name) for name in ("difference", "d_z", RANKS)}
    turned["relative_difference"] = -pl.col("difference") / pl.col("mean")
    for one, other in (("ci_low", "ci_high"), OF_ALL):
        turned |= {one: -pl.col(other), other: -pl.col(one)}
    for one, other in SIDES:
        turned |= {one: pl.col(other), other: pl.col(one)}
    return pairs.with_columns(
        pl.when(which).then(value).otherwise(name).alias(name)
        for name, value in turned.items()
        if {name, *value.meta.root_names()} <= set(pairs.columns)
    )


def confidence(comparison: pl.DataFrame) -> float | None:
    """The confidence that all intervals of differences have, None where they do not say it."""
    said = "confidence" in comparison.columns
    found = comparison["confidence"].unique().to_list() if said else []
    return found[0] if len(found) == 1 else None


def pair_name(*, versus: bool) -> pl.Expr:
    """What a pair is called: its strategy, and the baseline where that has to be said."""
    return pl.format("{} - {}", "strategy", "baseline") if versus else pl.col("strategy")


def both_sides(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each pair as it is, and as its other side has it."""
    keys = [name for name in ("measure", "panel") if name in pairs.columns]
    one = pairs.select(*keys, "strategy", "baseline", "difference", "p_corrected", "found")
    other = _turned(one, pl.lit(value=True))
    return pl.concat([one, other]).sort(*keys, "strategy", "baseline", maintain_order=True)


def names_of_points(keys: Sequence[str]) -> pl.Expr:
    """What the control points of scores are, which stand in their order."""
    last, is_zero = pl.int_range(pl.len()) == pl.len() - 1, pl.col("relevance") == 0
    name = (
        pl.when(last)
        .then(pl.lit("highest"))
        .when(~is_zero)
        .then(pl.lit("whisker"))
        .when(pl.int_range(pl.len()) == (is_zero & ~last).sum() - 1)
        .then(pl.lit("median"))
        .otherwise(pl.lit("lowest"))
    )
    return (name.over(keys) if keys else name).alias("name")


def name_of(what: str, table: pl.DataFrame) -> str:
    """A name for what is selected in a chart, which no chart of other rows has."""
    return f"{what}_{hashlib.sha1(table.write_json().encode()).hexdigest()[:10]}"  # noqa: S324
