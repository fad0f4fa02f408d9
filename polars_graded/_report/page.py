"""Write one HTML page with linked views of strategies, differences, curves and queries."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from polars_graded._checks import check_choice
from polars_graded._drawing import chart_rows
from polars_graded._frames.request import Columns, Request, RowOptions
from polars_graded._measuring.kernels.ragged import Integers
from polars_graded._measuring.keywords import takes_options_of
from polars_graded._measuring.ranking import DOCUMENT_INPUTS
from polars_graded._report.certainty import (
    DEFAULT_DIFFERENCE_SHARE,
    build_certainty,
    collect_verdict_facts,
)
from polars_graded._report.contents import (
    build_comparison,
    build_curves,
    build_measures,
    build_pairs,
    build_segments,
    choose_queries,
    describe_data,
    explain_missing_curves,
)
from polars_graded._report.documents import RankedFrame
from polars_graded._report.file import ReportFile
from polars_graded._report.packing import MAX_STEPS
from polars_graded._report.payload import Pair, Payload
from polars_graded._report.similarities import build_similarity
from polars_graded._report.words import MISSING, UNDEFINED
from polars_graded._results.findings import describe_test
from polars_graded._results.keys import (
    run_all_graders,
    select_grader,
    split_by_grader,
    takes_results,
)
from polars_graded._results.per_query import (
    Grid,
    MeasureColumns,
    Missing,
    collect_rows,
    find_index,
    find_measures_and_curves,
    sort_naturally,
)
from polars_graded._results.significance import CorrectionName, Options, TestName
from polars_graded._sentences import format_percent, shorten_names
from polars_graded._sentences.verdicts import ALPHA, write_verdict
from polars_graded._versions import __version__
from polars_graded._writing import check_writable, write_atomically

__all__ = ["report"]

MAX_PAIRS = 4
"""Maximum number of strategies for which a page without a baseline shows all pairs when it opens.
With more strategies, it shows the pairs of the best strategy and each other strategy."""

MAX_LABEL_LETTERS = 20
"""Maximum number of letters of a name beside the forest plot, where space is narrow."""

MAX_FILE_LETTERS = 7_800_000
"""Maximum number of letters of drawing scripts, data and documents together. If this number would
be exceeded, documents are left out. Scripts and other data are always complete."""

SCRIPTS = (
    *("state.js", "elements.js", "charts.js", "saving.js"),
    *("verdict.js", "strategies.js", "comparison.js", "curves.js", "histogram.js", "explore.js"),
    *("documents.js", "page.js"),
)
"""Files of the script of the page, each after the files that it needs."""


@takes_results(run_all_graders)
@takes_options_of(Request.of, without=DOCUMENT_INPUTS)
def report(
    per_query: pl.DataFrame | pl.LazyFrame,
    file: str | Path,
    *measures: MeasureColumns,
    query: Columns = "query",
    strategy: str = "strategy",
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    missing: Missing = "error",
    segments: Columns | None = None,
    grader: str | None = None,
    trusted: str | None = None,
    frame: Any = None,
    doc: str | None = "doc",
    titles: str | None = None,
    settings: Mapping[str, str] | None = None,
    title: str = "Strategies compared",
    date: dt.date | None = None,
    **options: Unpack[RowOptions],
) -> ReportFile:
    """Write an HTML page with the strategies, differences, curves and queries.

    The page needs neither a network nor a server: it is a file that you can open, send and keep. A
    selection in one part applies to all others. You can select a measure, a query by its name or a
    click on its bar, and strategies in their table. The address contains the selection, so that a
    link shows the same view. Tables can be saved as CSV, charts as SVG and PNG. The page has these
    parts, if their data are passed:

    - the verdict: the leader in the selected measure, its lead over the baseline or the second
      strategy, and whether the lead is significant. If not, the verdict estimates how many more
      queries would show the lead;
    - the numbers of ranked and judged documents, as in `overview`, if `frame` is given;
    - the strategies with the mean of each measure and its interval, as in `summarise`. The best
      mean is marked. Beside the means are the values of the selected query. If `frame` is given and
      contains unjudged documents, the page can also show two means, as in `trust.unjudged_bounds`:
      in one, all unjudged documents are irrelevant; in the other, all have the highest grade;
    - the certainty of the order: the smallest difference that the queries can show, as in
      `trust.queries_needed`; the number of pairs with a significant difference; and how strongly
      the order in a random half of the queries correlates with the order in all queries;
    - the similarity of rankings, if `frame` is given: the mean `overlap@10` and `rbo` of
      `similarity`, for each strategy and the baseline, or for every pair. With more than ten
      strategies and no baseline, each is compared with the best;
    - the differences from the baseline, or between the strategies of every pair, with intervals and
      p values, as in `compare`;
    - with `segments`, the means in each segment, and the differences that vary between segments, as
      in `compare_segments`;
    - curves by rank, such as `dcg_curve@20`: their means, or the curves of the selected query. The
      ideal curve is also drawn if the results contain `ideal_dcg_curve@20`;
    - recall-precision curves, also as means or for the selected query, if the results contain
      `interpolated_precision`;
    - the precision histogram of two strategies: their difference, one bar per query;
    - the views of `charts.explore` for the same two strategies: you can select queries in them, and
      the page shows the means over the selected queries;
    - the first ten documents of both strategies in the selected query, as in `side_by_side`, if
      `frame` and `doc` are given;
    - for results of several graders, the order of strategies under each, as in
      `charts.grader_orders`. With `trusted`, the estimates from trusted grades, from a model's
      grades and from both, as in `charts.trusted_forest`;
    - the settings: test, correction, level, the order of ties, versions and date.

    Parameters
    ----------
    per_query
        One row per strategy and query, with one column per measure or curve, as `evaluate` returns
        it. A LazyFrame is collected.
    file
        The path of the page, which is written atomically. An existing file is replaced only if the
        page can be written completely.
    *measures
        The columns to show, in this order. If you pass measures, other measures are left out; if
        you pass curves, other curves are left out. The default is every column of numbers with the
        name of a measure, and every column of lists of numbers. A Boolean column is a measure if
        you pass it.
    query
        The column of queries.
    strategy
        The column of strategies.
    baseline
        The strategy that all others are compared with. Without a baseline, every pair is compared.
    test, correction
        The test of differences and the correction of p values, as for `compare`.
    missing
        The treatment of missing values of a measure or curve, as for `compare`. With `"drop"`, if a
        strategy has no value of a measure for a query, the means and bars of this measure leave out
        the query. If you select this query, the page still shows the values of the other
        strategies.
    segments
        The column of segments of queries, or several columns, as for `compare`.
    grader
        The grader whose values are shown; by default the grader in `trusted`. For results of
        several graders, pass `grader` or `trusted`.
    trusted
        The grader whose grades are trusted, as for `compare`. This grader judged some of the
        queries.
    frame
        The evaluated frame, of any kind. The page then also shows an overview of this frame, and
        the documents of queries. If `by` has one score, and the frame has the column `strategy`,
        this column names the strategy of each row. Otherwise each score in `by` is a strategy.
    doc
        The column of documents in `frame`. With None, the page shows no documents.
    titles
        A column of `frame` to show below each document, such as its title or its text.
    settings
        Further settings to show, each with its name, such as `{"Judgments": "those of 2004"}`.
    title
        The title of the page.
    date
        The date of the page; by default today. With a fixed date, the same results make the same
        file.
    by, grade, ties, descending
        The meaning of the rows of `frame`, as for `evaluate`.
    irrelevant, max_grade, relevant_from, undefined_as, condensed, where
        The meaning of the grades in `frame`, as for `evaluate`. The page states settings other than
        the default.

    Returns
    -------
    ReportFile
        The file, a `Path`. Notebooks show it as a link.

    Raises
    ------
    ImportError
        If vl-convert, which contains the scripts that draw charts, is not installed:
        ``pip install "vl-convert-python>=1.9"``.
    ValueError
        If curves in a column, or their ideal curves, differ in length. Without a cutoff, they
        usually do. If documents are shown, but `frame` shares no strategy or no query with
        `per_query`. In the same cases as for `compare`.

    Notes
    -----
    The page contains each value of a measure with about seven digits. In the page, values that
    differ by less than a four-millionth of the largest value are ties. Values beyond 3.4e38 raise
    an error. Means, intervals, p values and counts of the comparison are those of `summarise` and
    `compare`.

    A page is small enough to send: less than 8 MB with 25 strategies, 5000 queries, five measures
    and curves to rank 20. It shows up to 5000 queries one by one, or fewer if there are many
    strategies and measures. If there are more queries, the page shows evenly spaced queries. If a
    curve has too many ranks, the page shows evenly spaced ranks. The page states what is left out.
    Means, intervals and tests always use all queries.

    Examples
    --------
    >>> import tempfile
    >>> from polars_graded import datasets, evaluate
    >>> measures = ["ndcg@10", "r_precision", "dcg_curve@20", "interpolated_precision"]
    >>> per_query = evaluate(datasets.example(10), measures, by=["strong", "fair", "weak"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(per_query, f"{folder}/page.html", baseline="weak")
    ...     page.name, page.stat().st_size > 0
    ('page.html', True)
    """
    _check_texts(title, file, date, settings)
    check_writable(path := Path(file))
    check_choice("missing", missing, MISSING)
    tests = Options(test, correction)
    scripts = load_drawing_scripts()
    all_results = per_query = per_query.lazy().collect()
    key_arguments = {
        "query": query,
        "strategy": strategy,
        "measures": measures,
        "segments": segments,
    }
    grader, per_query = select_grader(
        split_by_grader(all_results, key_arguments), grader or trusted
    )
    per_query, one = chart_rows.join_query_columns("per_query", per_query, query, strategy)
    numbers, curves = find_measures_and_curves(
        per_query, measures, query=one, strategy=strategy, curves=True
    )
    results = collect_rows(per_query, [*numbers, *curves], query=one, strategy=strategy)
    if results.is_empty():
        msg = "`per_query` must have a row per strategy and query to show, got none"
        raise ValueError(msg)
    documents = None
    if frame is not None:
        documents = RankedFrame.of(frame, doc, titles, strategy=strategy, query=query, **options)
    order = _sort_strategies(results[strategy].unique())
    grid = Grid(results.drop(curves), missing, order, measures)
    curve_grid = Grid(results.drop(numbers), missing, order, measures)
    keys: dict[str, Any] = {"query": one, "strategy": strategy, "missing": missing}
    shown = choose_queries(len(grid.queries), len(grid.strategies) * len(numbers))
    import altair as alt

    # The user's theme is meant for other charts, and does not apply to the page.
    with alt.theme.enable("none"):
        payload = _build_payload(grid, curve_grid, shown, baseline, tests)
        if grader is not None:
            from polars_graded._report.graders import add_graders

            add_graders(payload, all_results, grader, trusted, baseline, **keys | {"query": query})
    payload["segments"] = build_segments(per_query, grid, segments, keys)
    page_settings = {} if grader is None else {"Grades": f"of {grader}"}
    if documents is not None:
        page_settings |= documents.settings
        payload["overview"] = documents.build_overview()
        if warning := documents.warn_of_ties():
            for measure in payload["measures"]:
                measure["verdict"].insert(0, f"{warning} ")
        payload["similarity"] = build_similarity(documents, grid, payload)
        payload["unjudged"] = documents.compute_unjudged_means(grid, numbers)
        remaining_letters = MAX_FILE_LETTERS - len(scripts) - len(_encode_json(payload))
        payload["rankings"] = documents.build_rankings(
            payload["strategies"], grid.queries[shown], remaining_letters
        )
    page_settings |= settings or {}
    payload["settings"] = _list_settings(payload, page_settings, date)
    page = _render_page(title, payload, scripts)
    with write_atomically(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")
    return ReportFile(path)


def _has_undefined(grid: Grid) -> bool:
    """Return whether any measure lacks a value for any query."""
    return any(grid.frame[name].null_count() for name in grid.measures)


def _check_texts(title: Any, file: Any, date: Any, settings: Any) -> None:
    """Raise if the title, file, date or settings have the wrong type."""
    pairs = settings.items() if isinstance(settings, Mapping) else []
    expected = "a mapping from names to texts"
    for name, value, kind, rule in (
        ("title", title, str, "a string"),
        ("file", file, str | os.PathLike, "the name of a file, a string or a Path"),
        ("date", date, dt.date | None, "a date"),
        ("settings", settings, Mapping | None, expected),
        *(("settings", text, str, expected) for pair in pairs for text in pair),
    ):
        if not isinstance(value, kind):
            msg = f"`{name}` must be {rule}, got {value!r}"
            raise TypeError(msg)


def load_drawing_scripts() -> str:
    """Return the scripts of Vega, Vega-Lite and Vega-Embed as one text.

    Vega-Lite has the version that Altair targets. If vl-convert lacks this version, the last one in
    its list with the same major version is used.
    """
    try:
        import vl_convert
    except ImportError:
        msg = (
            "reports and chart files need vl-convert, which contains the scripts that draw charts: "
            'pip install "vl-convert-python>=1.9"'
        )
        raise ImportError(msg) from None
    import altair as alt

    major, minor, *_ = alt.SCHEMA_VERSION.removeprefix("v").split(".")
    versions = vl_convert.get_vegalite_versions()
    same = [version for version in versions if version.startswith(f"{major}.")]
    wanted = f"{major}.{minor}"
    version = wanted if wanted in versions else [wanted, *same][-1]
    bundle: Any = vl_convert.javascript_bundle
    return bundle(vl_version=version)


# The data of the page


def _sort_strategies(strategies: pl.Series) -> pl.Series:
    """Sort strategies naturally; they get their colours in this order."""
    texts = strategies.cast(pl.String).to_list()
    return strategies[[texts.index(name) for name in sort_naturally(texts)]]


def _write_query_labels(queries: pl.Series) -> Iterator[str]:
    """Yield a distinct label of one line for each query."""
    texts = queries.cast(pl.String).to_list()
    kept, labels = set(texts), set[str]()
    for text in texts:
        label = "null" if text is None else " ".join(text.splitlines()) or "empty"
        while label in labels or (label != text and label in kept):
            label = f"({label})"
        labels.add(label)
        yield label


def _build_payload(
    grid: Grid,
    curves: Grid,
    shown: Integers,
    baseline: Any,
    tests: Options,
) -> Payload:
    """Return the results in the form that the script of the page reads."""
    from polars_graded._drawing import style
    from polars_graded._report import specs

    strategies = grid.strategies.cast(pl.String).to_list()
    queries = list(_write_query_labels(grid.queries[shown]))
    measured, drawn = build_measures(grid, shown), build_curves(curves, shown)
    absent = explain_missing_curves(curves.measures, drawn) | {curve["kind"]: "" for curve in drawn}
    pairs: list[list[Pair]] = [[] for _ in grid.measures]
    if not grid.measures:
        absent["comparison"] = "There is no measure to compare strategies by."
    elif len(strategies) == 1 and baseline is None:
        absent["comparison"] = "There is only one strategy; a comparison needs two."
    else:
        pairs = build_pairs(grid, tests, baseline)
    place = None if baseline is None else find_index(grid.strategies, baseline)
    n_pairs, single = max(map(len, pairs), default=0), "query" if len(grid.queries) == 1 else None
    tested = describe_test(tests.test, tests.correction, place, n_pairs, single)
    for measure, facts in zip(
        measured, collect_verdict_facts(grid, measured, pairs, tested), strict=True
    ):
        measure["verdict"] = write_verdict(facts)
    return {
        "about": describe_data(len(strategies), len(grid.queries), len(queries), drawn),
        "strategies": strategies,
        "labels": shorten_names(strategies, MAX_LABEL_LETTERS),
        "choices": shorten_names(strategies),
        "queries": queries,
        "total": len(grid.queries),
        "measures": measured,
        "curves": drawn,
        "missing": MISSING[grid.missing] or UNDEFINED * _has_undefined(grid),
        "steps": MAX_STEPS,
        "alpha": ALPHA,
        "mostPairs": MAX_PAIRS,
        "mostNamed": style.MAX_NAMED_MARKS,
        "mostColours": style.MAX_COLOURS,
        "rest": {"colour": style.REST, "dash": [1, 0]},
        "forestSteps": specs.FOREST_STEPS,
        "looks": specs.choose_looks(len(strategies)),
        "absent": absent,
        "corrected": tested.p,
        "testName": tested.name,
        "specs": {
            "forest": specs.build_forest_specs(tested.p),
            "bars": specs.build_bar_specs(grid.queries.name),
            "explore": specs.build_explore_spec(grid.queries.name),
        },
        "comparison": build_comparison(pairs, tested),
        "certainty": build_certainty(grid, measured, pairs),
        "share": format_percent(DEFAULT_DIFFERENCE_SHARE),
        "segments": None,
        "overview": None,
        "similarity": None,
        "unjudged": {},
        "rankings": None,
        "graders": None,
        "settings": [*tested.settings(strategies).items()] if tested.pairs else [],
    }


def _list_settings(
    payload: Payload, others: Mapping[str, str], date: dt.date | None
) -> list[tuple[str, str]]:
    """List the settings of the page, each with its name."""
    import altair as alt

    versions = f"polars_graded {__version__}, Polars {pl.__version__}, Altair {alt.__version__}"
    made = dt.datetime.now().astimezone().date() if date is None else date
    return [
        ("Data", payload["about"]),
        *payload["settings"],
        ("Missing values", payload["missing"] or "none are allowed"),
        *others.items(),
        ("Made with", versions),
        ("Date", f"{made:%Y-%m-%d}"),
    ]


# The page


def _read_part(name: str) -> str:
    """Read the text of a file in this package."""
    return resources.files("polars_graded._report").joinpath(name).read_text(encoding="utf-8")


def _render_page(title: str, payload: Payload, scripts: str) -> str:
    """Render the HTML of the page, which states its own size."""
    from jinja2 import StrictUndefined, Template

    from polars_graded._report import specs

    parts = {
        "style": _read_part("page.css") + specs.write_dark_style(),
        "script": "\n".join(map(_read_part, SCRIPTS)),
        "vega": scripts,
        "payload": _encode_json(payload),
    }
    size = sum(len(part.encode()) for part in parts.values())
    # StrictUndefined raises an error if the template uses a key that the payload lacks. By default,
    # Jinja would write an empty text.
    template = Template(
        _read_part("page.html"), autoescape=True, trim_blocks=True, undefined=StrictUndefined
    )
    return template.render(parts, title=title, page=payload, size=f"{size / 1e6:.1f} MB")


def _encode_json(payload: Payload) -> str:
    """Encode the payload as JSON without "<", so that no text ends the script."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
