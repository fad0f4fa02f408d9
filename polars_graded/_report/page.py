"""Write one HTML page that arranges charts and tables of results."""

from __future__ import annotations

import datetime as dt
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from polars_graded._frames.arguments import By, Columns, Descending, Grade
from polars_graded._measuring.document_columns import DEFAULT_DOC
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.scale import Undefined
from polars_graded._measuring.ties import TiesArgument
from polars_graded._results.keys import PassedKeys, check_segment_columns
from polars_graded._results.measure_values import MeasureColumns
from polars_graded._results.results import Missing, Results, ResultsByGrader, open_results
from polars_graded._results.significance import CorrectionName, Options, TestName
from polars_graded._versions import __version__
from polars_graded._writing import check_writable, write_atomically

__all__ = ["report"]


@checks_call
def report(
    per_query: pl.DataFrame | pl.LazyFrame,
    file: str | Path,
    *measures: MeasureColumns,
    query: Columns | None = None,
    strategy: str | None = None,
    baseline: Any = None,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    missing: Missing = "error",
    segments: Columns | None = None,
    cluster: Columns | None = None,
    weights: str | None = None,
    grader: str | None = None,
    frame: Any = None,
    doc: str | None = DEFAULT_DOC,
    titles: str | None = None,
    title: str = "Strategies compared",
    date: dt.date | None = None,
    grade: Grade = "grade",
    by: By = "score",
    ties: TiesArgument = None,
    descending: Descending = None,
    irrelevant: float = 0.0,
    max_grade: float | None = None,
    relevant_from: float | None = None,
    undefined_as: Undefined = "default",
    condensed: bool = False,
) -> Path:
    """Write an HTML page with charts and tables of strategies.

    The page needs neither a network nor a server: it is a file that you can open, send and keep.
    Tables can be saved as CSV, charts as SVG and PNG. The page adapts to dark screens and to paper.
    For each measure, it contains:

    - a sentence with the best mean, and its lead over the baseline or the second strategy, with an
      interval;
    - `charts.comparison_forest` of `compare`: without a baseline, of all pairs of up to four
      strategies; more strategies are compared with the best one;
    - `charts.precision_histogram`, for the best strategy and the baseline or the second strategy,
      and for further pairs. With `frame` and `doc`, a click on a query shows its `charts.rankings`;
    - the means of `summarise`, the differences of `compare`, and the queries with the largest
      differences. Counts such as `n_relevant` are a column of the means;
    - `charts.strategy_ranks`;
    - with `segments`, the means in each segment, `charts.comparison_forest` with a panel per
      segment, and the test of `compare_segments`.

    Below are charts of curves, if the results contain curves; with several graders,
    `charts.grading_profile`; with `frame`, the numbers of `overview`; then the settings: test,
    correction, level, versions and date.

    Parameters
    ----------
    per_query
        One row per strategy and query, with one column per measure or curve, as `evaluate` returns
        it. A LazyFrame is collected.
    file
        The path of the page, which is written atomically.
    *measures
        The columns to show, in this order; other measures (or other curves, if you pass curves) are
        left out. By default, all columns of numbers with the name of a measure, and all of lists of
        numbers. A Boolean column is a measure if you pass it.
    query
        The column of queries.
    strategy
        The column of strategies.
    baseline
        The strategy that all others are compared with. Without a baseline, every pair is compared.
    test, correction
        The test of differences and the correction of p values, as for `compare`.
    missing
        The treatment of missing values, as for `compare`. `"drop"` leaves out the query in all
        charts and tables of the measure.
    segments
        The column of segments of queries, or several columns, as for `compare`.
    cluster, weights
        The columns of independent units, and the column of weights of queries, as for `compare`.
    grader
        The grader whose values are shown; by default the grader in `trusted`.
    frame
        The evaluated frame, of any kind, for its overview and the rankings of queries. If `by` has
        one score, and the frame has the column `strategy`, this column names the strategy of each
        row. Otherwise each score in `by` is a strategy.
    doc
        The column of documents in `frame`, found as by `evaluate`. With None, or if none is found,
        the page shows no rankings.
    titles
        A column of `frame` to show for the document.
    title
        The title of the page.
    date
        The date of the page; by default today.
    by, grade, ties, descending
        The meaning of the rows of `frame`, as for `evaluate`.
    irrelevant, max_grade, relevant_from, undefined_as, condensed
        The meaning of the grades in `frame`, as for `evaluate`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        If vl-convert, which contains the scripts that draw charts, is not installed:
        ``pip install "vl-convert-python>=1.9"``.
    ValueError
        If curves in a column differ in length, as they usually do without a cutoff. If `frame`
        shares no strategy or no query with `per_query`. In the same cases as for `compare`.

    Notes
    -----
    Means, intervals, p values and counts are those of `summarise` and `compare`. They use all
    queries, as do all charts. A histogram draws up to 3000 bars, and the page contains up to 24
    histograms and the rankings of up to 20 queries. The page states what is left out.

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
    check_writable(path := Path(file))
    options = Options(test, correction)
    scripts = load_drawing_scripts()
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    by_grader = open_results(
        per_query, measures, passed, missing, dependence="ignore", with_curves=True
    )
    by_grader = ResultsByGrader(
        {name: _complete_key(each) for name, each in by_grader.by_name.items()}
    )
    results = by_grader.only if grader is None else by_grader.get(grader)
    # These modules import Altair, which `import polars_graded` does not load.
    import altair as alt
    from altair.utils import schemapi

    from polars_graded._report.sections import Contents, RankedFrame

    ranked_frame, page_settings = None, {}
    if frame is not None:
        meaning: dict[str, Any] = {
            "ties": ties,
            "irrelevant": irrelevant,
            "max_grade": max_grade,
            "relevant_from": relevant_from,
            "undefined_as": undefined_as,
            "condensed": condensed,
        }
        ranked_frame = RankedFrame.of(
            frame,
            doc,
            titles,
            query=results.keys.query,
            strategy=results.keys.strategy,
            grade=grade,
            by=by,
            descending=descending,
            **meaning,
        )
        defaults = inspect.signature(report).parameters
        page_settings = {
            name.replace("_", " ").capitalize(): str(value)
            for name, value in meaning.items()
            if value is not defaults[name].default
        }
    # The page has its own look and contains its data, whatever the user has enabled. Its charts
    # are valid by construction, and validation is slow.
    own_data = alt.data_transformers.enable("default")
    with alt.theme.enable("none"), own_data, schemapi.debug_mode(arg=False):
        names = check_segment_columns(segments)
        contents = Contents(results, baseline, options, names, ranked_frame)
        contents_by_name = contents.build(by_grader)
    if grader is None:
        [grader] = by_grader.by_name
    grades = {} if grader is None else {"Grades": f"of {grader}"}
    page_settings = contents.settings | grades | page_settings
    page = _render_page(title, contents_by_name, page_settings, date, scripts)
    with write_atomically(path) as new_file:
        new_file.write_text(page, encoding="utf-8", newline="\n")
    return path


def _complete_key(results: Results) -> Results:
    """Return results without segments, whose columns identify a query if the others do not."""
    keys = results.keys
    is_complete = not results.rows.select(keys.strategy, *keys.query_columns).is_duplicated().any()
    query = keys.query_columns if is_complete else keys.identity
    return replace(results, keys=replace(keys, query=query, segments=()))


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

    target, versions = alt.SCHEMA_VERSION.removeprefix("v"), vl_convert.get_vegalite_versions()
    same_major = [each for each in versions if each.split(".")[0] == target.split(".")[0]]
    exact = [each for each in same_major if target.startswith(f"{each}.")]
    bundle: Any = vl_convert.javascript_bundle
    return bundle(vl_version=(exact or same_major)[-1])


def _render_page(
    title: str,
    contents_by_name: dict[str, Any],
    settings: dict[str, str],
    date: dt.date | None,
    scripts: str,
) -> str:
    """Render the HTML of the page."""
    import altair as alt
    from jinja2 import Environment, PackageLoader, StrictUndefined

    versions = f"polars_graded {__version__}, Polars {pl.__version__}, Altair {alt.__version__}"
    made = dt.datetime.now().astimezone().date() if date is None else date
    settings |= {"Made with": versions, "Date": f"{made:%Y-%m-%d}"}
    # StrictUndefined raises an error if the template uses a name that is not defined. By default,
    # Jinja would write an empty text.
    options: Any = {"autoescape": True, "trim_blocks": True, "undefined": StrictUndefined}
    environment = Environment(loader=PackageLoader("polars_graded", "_report"), **options)  # noqa: S701
    template, names = environment.get_template("page.html"), {"title": title, "vega": scripts}
    return template.render(contents_by_name, settings=settings, **names)
