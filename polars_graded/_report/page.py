"""One HTML page that shows strategies, their differences, curves and queries, linked."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import rows as chart_rows
from polars_graded._measuring.names import Measure
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.keys import finds_keys
from polars_graded._results.per_query import (
    Grid,
    best_of,
    bests,
    collected_keys,
    measures_and_curves,
    natural_order,
)
from polars_graded._writing import check_writable, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask
    from polars_graded._results.per_query import Missing
    from polars_graded._results.significance import CorrectionName, TestName

__all__ = ["report"]

STEPS = 2**16 - 2
"""How many steps lie between a query's lowest and highest value of a curve."""

MOST_POINTS = 1_200_000
"""How many points the curves of all strategies and queries have together."""

MOST_VALUES = 640_000
"""How many values of measures the page has of single queries."""

MOST_QUERIES = 5000
"""How many queries can be looked at one by one."""

MOST_BARS = 1000
"""How many bars stand side by side; with more queries, several share one."""

LARGEST = float(np.finfo(np.float32).max)
"""The page has values with 24 bits, and none beyond."""

FEWEST_POINTS = 20
"""How many points each curve has, however many there are."""

MOST_PAIRS = 4
"""With so many strategies every pair is shown; with more, each is compared with one."""

ALPHA = 0.05

TESTS = {
    "t": "the paired t test",
    "wilcoxon": "Wilcoxon's signed rank test",
    "permutation": "Fisher's randomisation test",
    "bootstrap": "the bootstrap",
    "randomised_tukey": "the randomised Tukey test, which holds for all pairs together",
}
CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "corrected after Bonferroni",
    "holm": "corrected after Holm",
    "benjamini_hochberg": "corrected after Benjamini and Hochberg",
}
MISSING = {
    "error": "",
    "drop": "A query in which any strategy lacks a value is left out of that measure.",
    "zero": "A value that is missing counts as 0.",
}
ABSENT = {
    "measures": "There is no measure to show: only curves were evaluated. Add one, such as ap.",
    "rank": "There is no curve by rank. Add dcg_curve@20 and ideal_dcg_curve@20 to what is "
    "evaluated.",
    "recall": "There is no recall-precision curve. Add interpolated_precision to what is "
    "evaluated.",
}


@finds_keys
def report(
    per_query: pl.DataFrame | pl.LazyFrame,
    file: str | Path,
    *measures: str,
    query: str = "query",
    strategy: str = "strategy",
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName = "holm",
    missing: Missing = "error",
    title: str = "Strategies compared",
) -> Path:
    """Write one HTML page that shows the strategies, their differences, their curves, each query.

    The page needs neither a network nor a server: it is a file to open, to send and to keep. What
    is chosen in one part shows in all others: strategies in their table, a query by its name or a
    click on its bar. It has these parts, each for what the frame has:

    - the strategies with the mean of each measure and its interval, as `summarise` has them, the
      best marked; beside them the values of the query that is chosen;
    - their differences with intervals and p values, as `compare` has them, for two strategies or
      more: against the baseline, or else every pair;
    - curves by rank, such as `dcg_curve@20`, with the ideal curve where `ideal_dcg_curve@20` is
      there too: means, or those of the query that is chosen;
    - recall-precision curves, for which there has to be an `interpolated_precision`, likewise;
    - the precision histogram of two strategies: by how much one is better, one bar per query. It
      starts with `r_precision` where that is there.

    Parameters
    ----------
    per_query
        One row per strategy and query, with one column per measure or curve, as `evaluate` returns
        it. A LazyFrame is collected.
    file
        Where to write the page. It replaces a file that is there, when it is whole: a page that
        could not be written to its end leaves that file as it was.
    *measures
        The columns to show, in the order in which they are wanted. Naming measures leaves out other
        measures, naming curves other curves; by default every column of numbers, or lists of
        them, but `query` and `strategy`. A Boolean column is a measure where it is named.
    query
        The column that tells the queries apart.
    strategy
        The column that tells the strategies apart.
    baseline
        The strategy that all others are compared with; without it every pair is.
    test, correction
        How differences are tested and p values corrected, as for `compare`.
    missing
        What to do where a value of a measure or curve is missing, as for `compare`. With `"drop"`,
        a query that any strategy lacks is in no mean and has no bar; the values that are there
        still show where it is chosen.
    title
        What the page is called.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If vl-convert is not installed, which has the scripts that draw charts:
        ``pip install "polars-graded[report]"``.
    ColumnNotFoundError
        If a column is not there.
    TypeError
        If a column that is named has neither numbers nor lists of them; if `title` is not a string
        or `file` not the name of a file.
    ValueError
        If there is no row or no column to show, or one is named twice; if curves in a column, or
        their ideal curves, differ in length, as those without a cutoff do; as `compare`.
    OSError
        If the file cannot be written.

    Notes
    -----
    The page has each value of a measure with 24 bits, about seven digits; values that differ by
    less than a four millionth of the largest are ties there, and values beyond 3.4e38 are refused.
    The point of a query's curve is right to a hundred thousandth of the height of that query's
    curves. Means, intervals, p values and counts of the comparison are as `summarise` and `compare`
    have them.

    A page stays a file to send: up to 5000 queries can be looked at one by one, and fewer where
    many strategies and measures have values for them; of more, those at equal steps in their order
    stand for all. Curves have fewer points, at ranks in equal steps, and then fewer queries. What
    is left out the page says; means, intervals and tests are of all. 25 strategies, 5000 queries,
    five measures and curves to rank 20 make less than 8 MB, of which the scripts are 1 MB. Up to
    1000 queries are a bar each, of more some neighbours share one.

    Examples
    --------
    >>> import tempfile
    >>> from polars_graded import datasets, evaluate
    >>> per_query = evaluate(
    ...     datasets.example(10),
    ...     "ndcg@10",
    ...     "r_precision",
    ...     "dcg_curve@20",
    ...     "ideal_dcg_curve@20",
    ...     "interpolated_precision",
    ...     by=["strong", "fair", "weak"],
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(per_query, f"{folder}/page.html", baseline="weak")
    ...     page.name, page.stat().st_size > 0
    ('page.html', True)
    """
    if not isinstance(title, str):
        msg = f"`title` must be a string, got {title!r}"
        raise TypeError(msg)
    if not isinstance(file, str | os.PathLike):
        msg = f"`file` must be the name of a file, a string or a Path, got {file!r}"
        raise TypeError(msg)
    check_writable(path := Path(file))
    check_choice("missing", missing, MISSING)
    check_choice("test", test, TESTS)
    check_choice("correction", correction, CORRECTIONS)
    scripts = drawing_scripts()
    from polars_graded._report import specs

    numbers, curves = measures_and_curves(
        per_query, measures, query=query, strategy=strategy, curves=True
    )
    columns = [*numbers, *curves]
    frame = collected_keys(per_query, columns, query=query, strategy=strategy)
    if frame.is_empty():
        msg = "`per_query` must have a row per strategy and query to show, got none"
        raise ValueError(msg)
    names = _in_natural_order(frame[strategy].unique())
    grid = Grid(frame, missing, names)
    strategies = names.cast(pl.String).to_list()
    seen = _seen(len(grid.queries), len(strategies) * len(numbers))
    queries = list(_labels(grid.queries[seen]))
    keys: dict[str, Any] = {"query": query, "strategy": strategy, "missing": missing}
    measured, drawn = _measures(grid, numbers, seen, keys), _curves(grid, curves, seen)
    payload: dict[str, Any] = {
        "about": _about(len(strategies), len(grid.queries), len(queries), drawn),
        "strategies": strategies,
        "queries": queries,
        "total": len(grid.queries),
        "measures": measured,
        "curves": drawn,
        "missing": MISSING[missing],
        "steps": STEPS,
        "alpha": ALPHA,
        "mostPairs": MOST_PAIRS,
        "mostNamed": specs.MOST_NAMED,
        "mostBars": MOST_BARS,
        "looks": specs.strategy_looks(len(strategies)),
        "absent": ABSENT | _without_value(curves, drawn),
        "corrected": _p_value(test, correction),
        "specs": {"forest": specs.forest_specs(), "bars": specs.bars_specs(query)},
    }
    if numbers and (len(strategies) > 1 or baseline is not None):
        options = keys | {"baseline": baseline, "test": test, "correction": correction}
        payload |= _comparison(grid, numbers, options)
        payload["absent"]["comparison"] = None
    else:
        payload["absent"]["comparison"] = (
            "There is one strategy alone: comparing needs two."
            if numbers
            else "There is no measure to compare strategies by."
        )
        payload["comparison"] = {"baseline": None, "rows": [], "columns": []}
    page = _filled(
        _part("page.html"),
        {
            "title": html.escape(title),
            "style": _part("page.css"),
            "script": _part("page.js"),
            "vega": scripts,
            # No text can end the script that it stands in.
            "payload": json.dumps(
                payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")
            ).replace("<", "\\u003c"),
        },
    )
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")
    return path


@cache
def drawing_scripts() -> str:
    """Vega, Vega-Lite and Vega-Embed, of the version that Altair writes for."""
    try:
        import vl_convert
    except ImportError:
        msg = (
            "a report needs vl-convert, which has the scripts that draw its charts: "
            'pip install "polars-graded[report]"'
        )
        raise ImportError(msg) from None
    import altair as alt

    major, minor, *_ = alt.SCHEMA_VERSION.removeprefix("v").split(".")
    known = vl_convert.get_vegalite_versions()
    same = [version for version in known if version.startswith(f"{major}.")]
    wanted = f"{major}.{minor}"
    version = wanted if wanted in known else [wanted, *same][-1]
    bundle: Any = vl_convert.javascript_bundle
    scripts: str = bundle(vl_version=version)
    return scripts


# From a frame to what the page has


def _in_natural_order(strategies: pl.Series) -> pl.Series:
    """Strategies in the order of their colours."""
    texts = strategies.cast(pl.String).to_list()
    return strategies[[texts.index(name) for name in natural_order(texts)]]


def _labels(queries: pl.Series) -> Iterator[str]:
    """A text for each query that can be typed in a line: no two are the same, none is empty."""
    texts = queries.cast(pl.String).to_list()
    kept, labels = set(texts), set[str]()
    for text in texts:
        label = "null" if text is None else " ".join(text.splitlines()) or "empty"
        while label in labels or (label != text and label in kept):
            label = f"({label})"
        labels.add(label)
        yield label


def _about(n_strategies: int, n_queries: int, n_seen: int, drawn: list[dict[str, Any]]) -> str:
    """What the page is of, and what it leaves out."""
    said = (
        f"{_counted(n_strategies, 'strategy', 'strategies')}, "
        f"{_counted(n_queries, 'query', 'queries')}."
    )
    with_curves = min([len(curve["there"]) for curve in drawn if curve["there"]], default=n_seen)
    if n_seen < n_queries:
        said += f" {n_seen:,} of them, at equal steps in their order, are here one by one"
        said += f", {with_curves:,} with their curves" if with_curves < n_seen else ""
    elif with_curves < n_seen:
        said += f" {with_curves:,} of them, at equal steps in their order, have their curves here"
    else:
        return said
    return f"{said}; means, intervals and tests are of all."


def _seen(n_queries: int, n_values: int) -> Integers:
    """Which queries can be looked at one by one, each with so many values of measures."""
    most = min(MOST_QUERIES, MOST_VALUES // max(1, n_values))
    return chart_rows.equal_steps(n_queries, max(2, most)).to_numpy()


def _check_size(name: str, values: Floats) -> None:
    """Raise where a value is beyond what the page can hold."""
    if (wrong := np.abs(values) > LARGEST).any():
        msg = (
            f"{name!r} must lie within ±3.4e38 to be shown, got {values[wrong][0]:g} among "
            f"{_counted(int(wrong.sum()), 'value', 'values')} beyond"
        )
        raise ValueError(msg)


def _measures(
    grid: Grid, names: list[str], seen: Integers, keys: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What the page has of each measure: its means, and the values of queries packed."""
    if not names:
        return []
    strategy = keys["strategy"]
    summary = summarise(grid.frame, *names, **keys)
    result = []
    for name in names:
        rows = pl.DataFrame([grid.strategies]).join(
            summary.filter(measure=name), on=strategy, maintain_order="left"
        )
        best = best_of(name)
        values = grid.values(name)
        _check_size(name, values)
        result.append(
            {
                "name": name,
                "best": best,
                "queries": rows["queries"][0],
                "means": _json(rows["mean"]),
                "margins": _json(rows["ci_high"] - rows["mean"]),
                "bests": bests(rows["mean"], best),
                "values": _base64(values[:, seen].astype("<f4")),
            }
        )
    return result


def _curves(grid: Grid, names: list[str], seen: Integers) -> list[dict[str, Any]]:
    """What the page has of each curve: its chart, its means, and the values of queries packed."""
    from polars_graded._drawing.parts import FEW_POINTS, MOST_COLOURS
    from polars_graded._report import specs

    result = []
    kinds = _kinds(names)
    for name, kind in kinds.items():
        ideal_name = chart_rows.ideal_of(name, names) if kind == "rank" else None
        length = grid.curve_length(name, *([] if ideal_name is None else [ideal_name]))
        everything = grid.curve(name, length)
        _check_size(name, everything)
        if np.isnan(everything).all():
            continue
        ideal = None if ideal_name is None else grid.curve(ideal_name, length)
        if ideal is not None:
            _check_size(str(ideal_name), ideal)
            ideal = None if np.isnan(ideal).all() else ideal[: 1 if _same(ideal) else None]
        n_lines = (len(everything) + (0 if ideal is None else len(ideal))) * len(kinds)
        kept = np.arange(length)
        if kind == "rank":
            fitting = max(FEWEST_POINTS, MOST_POINTS // (n_lines * len(seen)))
            fitting = min(fitting, chart_rows.most_points(len(everything)))
            kept = chart_rows.equal_steps(length, fitting).to_numpy()
        # Where even so few points do not fit, fewer queries have them.
        most = max(2, MOST_POINTS // (n_lines * max(1, len(kept))))
        there = chart_rows.equal_steps(len(seen), most).to_numpy()
        at = chart_rows.positions_of(name, kind, length).to_numpy()
        points = everything[:, :, kept]
        whole = _whole(everything)
        ideal = None if ideal is None else ideal[:, :, kept]
        packed = seen[there]
        result.append(
            {
                "name": name,
                "kind": kind,
                "at": at[kept].tolist(),
                "queries": int(whole.sum()),
                "means": _means(points, whole),
                "there": None if len(there) == len(seen) else there.tolist(),
                "packed": _packed(points[:, packed]),
                "ideal": None
                if ideal is None
                else _packed(ideal[:, packed]) | {"means": _means(ideal, whole)},
                "spec": specs.curve_spec(
                    name,
                    kind,
                    int(at[-1]),
                    unit=_is_unit(points, ideal),
                    few=len(kept) <= FEW_POINTS and len(points) <= MOST_COLOURS,
                    ideal=ideal is not None,
                ),
            }
        )
    return result


def _kinds(names: list[str]) -> dict[str, str]:
    """Which curves are by rank and which by recall; an ideal curve is no curve of its own."""
    parsed = {name: Measure.parsed(name) for name in names}
    return {
        name: "recall" if name.startswith("interpolated_precision") else "rank"
        for name, measure in parsed.items()
        if measure is None or measure.function != "ideal_dcg_curve"
    }


def _without_value(names: list[str], drawn: list[dict[str, Any]]) -> dict[str, str]:
    """What is said of curves that are there where none of their kind has a value to draw."""
    kinds = _kinds(names)
    empty = set(kinds.values()) - {curve["kind"] for curve in drawn}
    return {
        kind: f"There is no value of {' or '.join(name for name in kinds if kinds[name] == kind)}."
        for kind in empty
    }


def _same(lines: Floats) -> bool:
    """Whether all strategies have the same line in each query."""
    return np.array_equal(lines, np.broadcast_to(lines[:1], lines.shape), equal_nan=True)


def _is_unit(points: Floats, ideal: Floats | None) -> bool:
    """Whether all values that can be drawn lie between 0 and 1."""
    drawn = [points] if ideal is None else [points, ideal]
    return all(np.nanmin(each) >= 0 and np.nanmax(each) <= 1 for each in drawn)


def _whole(points: Floats) -> Mask:
    """Which queries have all values of all strategies."""
    return np.asarray(np.isfinite(points).all(axis=(0, 2)))


def _means(points: Floats, whole: Mask) -> list[list[float | None]]:
    """The means over those queries, a list of points per strategy."""
    used = points[:, whole]
    means = used.mean(axis=1) if whole.any() else np.full((len(points), points.shape[2]), np.nan)
    return [_json(row) for row in means]


def _packed(points: Floats) -> dict[str, Any]:
    """Each point as a whole number of steps from the lowest to the highest of its query."""
    there = ~np.isnan(points)
    low = np.where(there, points, np.inf).min(axis=(0, 2))
    high = np.where(there, points, -np.inf).max(axis=(0, 2))
    # A query without any point has ends that are numbers all the same.
    low, high = (np.where(np.isfinite(ends), ends, 0).astype("<f4") for ends in (low, high))
    span = (high - low).astype(np.float64)[:, None]
    share = np.divide(points - low[:, None], span, out=np.zeros_like(points), where=span > 0)
    codes = np.where(there, np.clip(np.rint(share * STEPS), 0, STEPS), STEPS + 1)
    return {
        "lines": len(points),
        "codes": _base64(codes.astype("<u2")),
        "low": _base64(low),
        "high": _base64(high),
    }


def _base64(array: npt.NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def _rounded(value: float | None) -> float | None:
    """A number with as many digits as are looked at; None for none."""
    return None if value is None or np.isnan(value) else float(f"{value:.7g}")


def _json(values: Iterable[Any]) -> list[float | None]:
    return [_rounded(value) for value in values]


def _comparison(grid: Grid, names: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The differences of each measure, strategies by their places, and what was done."""
    result = compare(grid.frame, *names, **options)
    places = {name: i for i, name in enumerate(grid.strategies.to_list())}
    baseline, test = options["baseline"], options["test"]
    columns = {
        "strategy": options["strategy"],
        "baseline": "baseline",
        "difference": "difference",
        "low": "ci_low",
        "high": "ci_high",
        "wins": "wins",
        "ties": "ties",
        "losses": "losses",
        "p": "p_corrected",
    }
    rows = []
    for name in names:
        table = result.filter(measure=name).select(columns.values())
        rows.append(
            [
                [places[first], places[second], *(_cell(value) for value in others)]
                for first, second, *others in table.iter_rows()
            ]
        )
    n = len(rows[0])
    corrected = CORRECTIONS[options["correction"]]
    if options["correction"] != "none":
        corrected += f" for the {n} pairs of each measure" if n > 1 else ""
    p_values = "" if test == "randomised_tukey" else f"; p values {corrected}"
    note = (
        f"Means of one strategy minus those of another over the same queries, tested by "
        f"{TESTS[test]}{p_values}. p below {ALPHA:g} is in bold and filled in the chart."
    )
    return {
        "comparison": {
            "baseline": None if baseline is None else places[baseline],
            "columns": list(columns),
            "rows": rows,
            "note": note,
        },
    }


def _p_value(test: str, correction: str) -> str:
    """What a p value is called; those of a Tukey test are corrected by nothing else."""
    return "p" if test == "randomised_tukey" or correction == "none" else "corrected p"


def _cell(value: float | None) -> float | None:
    """A count as it is, and any other number rounded."""
    return value if isinstance(value, int) else _rounded(value)


# The page


def _part(name: str) -> str:
    return resources.files("polars_graded._report").joinpath(name).read_text(encoding="utf-8")


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with its parts; what looks like a part within a part is left as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _counted(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"
