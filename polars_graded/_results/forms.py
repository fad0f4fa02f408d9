"""Results in other forms: long tables, and the table of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import fill
from typing import Any, Literal, NamedTuple

import polars as pl

from polars_graded._checks import check_choice, check_columns, check_flag, check_whole_number
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_keywords
from polars_graded._measuring.names import Measure
from polars_graded._results.best_values import MeasureColumns, check_direction, find_best_places
from polars_graded._results.comparing import compare_grid, summarise_grid
from polars_graded._results.findings import find_single_unit, is_significant
from polars_graded._results.grid import Missing
from polars_graded._results.ranks import LETTERS, check_test_of_means, rank_grid
from polars_graded._results.result_sets import ResultSet, open_results
from polars_graded._results.significance import (
    CORRECTIONS,
    TESTS,
    CorrectionName,
    Options,
    TestName,
)
from polars_graded._results.tables import EFFECTIVE
from polars_graded._sentences import escape_markdown, format_count

__all__ = ["long_form", "paper_table"]

Format = Literal["markdown", "latex", "html"]

LONG_COLUMNS = ("measure", "cutoff", "value")
"""Columns that `long_form` adds to the columns that are not measures."""


@checks_keywords
def long_form(
    per_query: pl.DataFrame | pl.LazyFrame,
    *measures: MeasureColumns,
    query: Columns | None = None,
    strategy: str | None = None,
    grader: str | None = None,
) -> pl.DataFrame:
    """Stack the columns of measures, with cutoffs in a column of their own.

    Charts by cutoff need this form.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    *measures
        The columns of measures to stack; by default all measures with one number per query (no
        curves).
    query, strategy, grader
        As for `compare`.

    Returns
    -------
    DataFrame
        The columns other than measures, then `measure` (String, without its cutoff), `cutoff`
        (Int64, null for the whole ranking) and `value` (Float64). There is one row per
        strategy, query, measure and cutoff, in the order of the stacked columns.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {"strategy": ["ours"], "query": [1], "ndcg@5": [0.5], "ndcg@10": [0.75]}
    ... )
    >>> long_form(per_query)
    shape: (2, 5)
    ┌──────────┬───────┬─────────┬────────┬───────┐
    │ strategy ┆ query ┆ measure ┆ cutoff ┆ value │
    │ ---      ┆ ---   ┆ ---     ┆ ---    ┆ ---   │
    │ str      ┆ i64   ┆ str     ┆ i64    ┆ f64   │
    ╞══════════╪═══════╪═════════╪════════╪═══════╡
    │ ours     ┆ 1     ┆ ndcg    ┆ 5      ┆ 0.5   │
    │ ours     ┆ 1     ┆ ndcg    ┆ 10     ┆ 0.75  │
    └──────────┴───────┴─────────┴────────┴───────┘
    """
    return open_results(per_query, measures, query=query, strategy=strategy, grader=grader).stack(
        _list_values
    )


def _list_values(results: ResultSet) -> pl.DataFrame:
    """Return one row per value of a strategy, a query and a measure."""
    numbers, _ = results.find_measures()
    frame = results.rows.lazy()
    keys = [results.keys.strategy, *results.keys.queries]
    others = [
        name
        for name in frame.collect_schema()
        if name not in numbers and (name in keys or Measure.parsed(name) is None)
    ]
    check_columns("per_query", others, others)
    for name in others:
        if name in LONG_COLUMNS:
            msg = (
                f"`per_query` must not have a column {name!r}, a column of the result\n\n"
                "Hint: rename the column"
            )
            raise ValueError(msg)
    measures_of = {name: Measure.parsed(name) for name in numbers}
    cutoffs = {name: each.n for name, each in measures_of.items() if each and each.n is not None}
    without = {name: name.removesuffix(f"@{n}") for name, n in cutoffs.items()}
    measure = pl.col("measure")
    # The frame is collected before `unpivot`, which keeps the order of rows only in a DataFrame.
    wide = frame.select(*others, pl.col(numbers).cast(pl.Float64)).collect()
    long = wide.unpivot(numbers, index=others, variable_name="measure", value_name="value")
    return long.select(
        *others,
        measure.replace(without),
        measure.replace_strict(cutoffs, default=None, return_dtype=pl.Int64).alias("cutoff"),
        "value",
    )


@checks_keywords
def paper_table(
    per_query: Any,
    *measures: MeasureColumns,
    segments: Columns | None = None,
    format: Format = "markdown",  # noqa: A002
    digits: int = 3,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    baseline: Any = None,
    confidence: float = 0.95,
    letters: Literal["worse", "groups"] = "worse",
    caption: bool = True,
    cluster: Columns | None = None,
    weights: str | None = None,
    query: Columns | None = None,
    strategy: str | None = None,
    missing: Missing = "error",
    grader: str | None = None,
) -> str:
    """Return the table of a paper: strategies, measures, significant pairs.

    Means are rounded, and the best mean of a measure is bold. Superscript letters after a mean
    stand for the strategies that are significantly worse: their mean is worse, and the corrected p
    value is at most 1 - `confidence`. With a baseline, + and - mark strategies that are
    significantly better or worse than the baseline.

    Parameters
    ----------
    per_query, *measures, query, strategy, segments, test, correction, confidence, missing, grader
        As for `compare`. With segments, there is one column per measure and segment.
    format
        `"markdown"`, `"latex"` (with booktabs) or `"html"`.
    digits
        Number of digits after the decimal point.
    baseline
        The strategy with which all others are compared; by default all pairs are compared.
    letters
        With `"worse"`, the letters after a mean stand for strategies that are significantly worse.
        With `"groups"`, strategies that share a letter do not differ significantly, as for
        `rank_strategies`.
    caption
        If True, a sentence explains the bold means and the letters or signs. The sentence is below
        a Markdown table, but above a LaTeX or HTML table. In LaTeX, a `table` then contains the
        `tabular`.
    cluster, weights
        The columns of clusters, and the column of weights, as for `compare`.

    Returns
    -------
    str
        The table, to `print` or to write to a file.

    Raises
    ------
    ValueError
        If more than 25 superscript letters are needed. Each group needs a letter with
        `letters="groups"`. Each strategy needs a letter with `letters="worse"` and no baseline.
        If `letters` is `"groups"` and a baseline is passed.

    Examples
    --------
    >>> per_query = pl.DataFrame(
    ...     {
    ...         "strategy": ["bm25"] * 5 + ["ours"] * 5,
    ...         "query": [1, 2, 3, 4, 5] * 2,
    ...         "ap": [0.25, 0.5, 0.5, 0.75, 0.25, 0.5, 0.75, 0.875, 1.0, 0.375],
    ...     }
    ... )
    >>> print(paper_table(per_query))
    |   | strategy | ap |
    |---|---|---|
    | a | bm25 | 0.450 |
    | b | ours | **0.700**ᵃ |
    <BLANKLINE>
    Means of 5 queries, the best of each column in bold; a letter stands for a strategy that is
    significantly worse (p of at most 0.05) by the paired t test.
    """
    check_choice("format", format, WRITERS)
    check_whole_number("digits", digits, at_least=0)
    check_flag("caption", caption)
    check_choice("letters", letters, ("worse", "groups"))
    _check_baseline(baseline, letters)
    options = Options(test, correction, confidence)
    if letters == "groups":
        check_test_of_means(options)
    results = open_results(
        per_query,
        measures,
        query=query,
        strategy=strategy,
        segments=segments,
        cluster=cluster,
        weights=weights,
        missing=missing,
        grader=grader,
    )
    grid = results.only.read_grid()
    means = summarise_grid(grid, confidence)
    parts = ["measure", *grid.segment_columns]
    strategy, names = grid.strategies.name, grid.strategies.to_list()
    if not names:
        msg = "`per_query` must have a row per strategy and query, got none"
        raise ValueError(msg)
    if baseline is None and letters == "worse" and len(names) > len(LETTERS):
        msg = (
            f"there must be at most {len(LETTERS)} strategies, a letter for each, unless "
            f"`baseline` names the one to compare with, got {len(names)}"
        )
        raise ValueError(msg)
    needs_signs = baseline is None and letters == "worse"
    signs = dict(zip(names, LETTERS, strict=False)) if needs_signs else {}
    marked, is_tested = means.select(*parts, strategy, mark=pl.lit("")), False
    if len(names) > 1 or baseline is not None:
        pairs = compare_grid(grid, options, baseline)
        is_tested = pairs["p_corrected"].count() > 0
    if is_tested and letters == "groups":
        marked = rank_grid(grid, options, pairs).select(*parts, strategy, mark="group")
        if not {*"".join(marked["mark"])} <= {*LETTERS}:
            msg = f"there must be at most {len(LETTERS)} groups, a letter for each"
            raise ValueError(msg)
    elif is_tested:
        significant = pairs.filter(is_significant(pairs.columns, options.level))
        marked = _find_superscripts(significant, parts, strategy, signs)
    joined = means.join(
        marked, on=[*parts, strategy], how="left", nulls_equal=True, maintain_order="left"
    )
    writer, head, columns = WRITERS[format], [strategy], []
    for part, rows_of_part in joined.group_by(parts, maintain_order=True):
        best = find_best_places(
            rows_of_part["mean"], check_direction(str(part[0]), rows_of_part["best"][0])
        )
        head.append(", ".join(map(str, part)))
        columns.append(
            [
                writer.write_cell(
                    "–" if mean is None else f"{mean:.{digits}f}", place in best, mark
                )
                for place, (mean, mark) in enumerate(
                    rows_of_part.select("mean", "mark").iter_rows()
                )
            ]
        )
    rows = [
        [signs.get(name, ""), writer.plain(str(name)), *cells]
        for name, *cells in zip(names, *columns, strict=True)
    ]
    meaning = _write_meaning(letters, baseline) if is_tested else ""
    is_one_pair = is_tested and pairs.height == len(grid.measures)
    caption_text = ""
    if caption:
        caption_text = _write_caption(means, options, meaning, is_one_pair=is_one_pair)
    return "\n".join(writer.write([*map(writer.plain, head)], rows, caption_text))


def _check_baseline(baseline: Any, letters: str) -> None:
    """Raise unless the baseline is None, or one strategy for the signs + and -."""
    if letters == "groups" and baseline is not None:
        msg = "`letters` must be 'worse' with a `baseline`, got 'groups', which compare all pairs"
        raise ValueError(msg)
    if isinstance(baseline, list | tuple):
        msg = f"`baseline` must be one strategy, which the signs + and - refer to, got {baseline!r}"
        raise TypeError(msg)


def _write_meaning(letters: str, baseline: Any) -> str:
    """Return the meaning of the superscripts of a table."""
    if letters == "groups":
        return "strategies that share a letter do not differ significantly"
    if baseline is not None:
        return f"+ stands for significantly better than {baseline}, - for worse"
    return "a letter stands for a strategy that is significantly worse"


def _find_superscripts(
    findings: pl.DataFrame, parts: Sequence[str], strategy: str, signs: Mapping[Any, str]
) -> pl.DataFrame:
    """Return the superscripts of each strategy in each column of the table.

    The superscripts are the letters of the strategies that are significantly worse; `signs` maps
    strategies to letters. If `signs` is empty, there is a baseline. Then the superscript is + for a
    strategy that is significantly better than the baseline, and - for a worse one.
    """
    up = pl.col("best").replace_strict({"highest": 1, "lowest": -1}, default=0)
    better = pl.col("difference") * up
    winner, mark = pl.col(strategy), pl.when(better > 0).then(pl.lit("+")).otherwise(pl.lit("-"))
    if signs:
        winner = pl.when(better > 0).then(strategy).otherwise("baseline")
        loser = pl.when(better > 0).then("baseline").otherwise(strategy)
        texts = {str(name): sign for name, sign in signs.items()}
        mark = loser.cast(pl.String).replace_strict(texts, return_dtype=pl.String)
    marks = findings.filter(better != 0).select(*parts, winner.alias(strategy), mark.alias("mark"))
    return marks.group_by(*parts, strategy).agg(pl.col("mark").sort().str.join())


def _write_caption(
    means: pl.DataFrame, options: Options, meaning: str, *, is_one_pair: bool
) -> str:
    """Return the caption: the meaning of bold numbers and superscripts.

    With one pair per measure, no p value is corrected.
    """
    queries = _format_range(means["queries"], "queries")
    if "clusters" in means.columns:
        queries += f" in {_format_range(means['clusters'], 'clusters')}"
    if EFFECTIVE in means.columns:
        effective = means[EFFECTIVE].drop_nulls().round().cast(pl.UInt32)
        queries += f", weighted ({_format_range(effective, 'effective queries')})"
    test, correction = TESTS[options.test], CORRECTIONS[options.correction]
    corrected = f", p values {correction.words}"
    if test.simultaneous or is_one_pair:
        corrected = ""
    if means["best"].is_in(["highest", "lowest"]).not_().all():
        return f"Means of {queries}; of these measures, no value is best."
    text = f"Means of {queries}, the best of each column in bold"
    if not meaning:
        single = find_single_unit(means)
        why = f"one {single} cannot be tested" if single else "there is nothing to test"
        return f"{text}; no difference is tested: {why}."
    return f"{text}; {meaning} (p of at most {options.level:g}) by {test.words}{corrected}."


def _format_range(counts: pl.Series, noun: str) -> str:
    """Return the smallest and the largest count with their noun, or the only one."""
    lowest, highest = counts.unique().sort().gather([0, -1])
    return ("" if lowest == highest else f"{lowest:,} to ") + format_count(highest, noun)


# Formats


class Writer(NamedTuple):
    """Functions and texts that write a table in one format."""

    plain: Callable[[str], str]
    """Function that escapes a text."""
    bold: str
    raised: Callable[[str], str]
    write: Callable[[list[str], list[list[str]], str], list[str]]
    """Function that takes a head, rows and a caption, and returns the lines of the table."""

    def write_cell(self, mean: str, best: bool, signs: str | None) -> str:  # noqa: FBT001
        """Return the cell of a mean, with its superscripts."""
        return (self.bold.format(mean) if best else mean) + (self.raised(signs) if signs else "")


SUPERSCRIPTS = dict(zip(f"{LETTERS}+-", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁺⁻", strict=True))


def _write_markdown(head: list[str], rows: list[list[str]], caption: str) -> list[str]:
    """Return the lines of a Markdown table."""
    first, *lines = (f"| {' | '.join(cells)} |" for cells in ([" ", *head], *rows))
    # A line that begins with + or - would be an item of a list.
    text = re.sub(r"\n([+-]) ", r" \1\n", fill(escape_markdown(caption), 92))
    caption_lines = ["", text] if caption else []
    return [first, "|---" * (len(head) + 1) + "|", *lines, *caption_lines]


def _write_latex(head: list[str], rows: list[list[str]], caption: str) -> list[str]:
    """Return the lines of a LaTeX table."""
    first, *lines = (" & ".join(cells) + r" \\" for cells in (["", *head], *rows))
    lines = ["\\toprule", first, "\\midrule", *lines, "\\bottomrule"]
    lines = [f"\\begin{{tabular}}{{ll{'r' * (len(head) - 1)}}}", *lines, "\\end{tabular}"]
    table_lines = ["\\begin{table}", "\\centering", f"\\caption{{{_escape_latex(caption)}}}"]
    return [*table_lines, *lines, "\\end{table}"] if caption else lines


def _escape_latex(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    return "".join(LATEX_ESCAPES.get(character, character) for character in text)


LATEX_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _write_html(head: list[str], rows: list[list[str]], caption: str) -> list[str]:
    """Return the lines of an HTML table."""
    caption_lines = [f"<caption>{escape(caption, quote=False)}</caption>"] if caption else []
    first = "".join(f"<th>{cell}</th>" for cell in ["", *head])
    lines = (f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for cells in rows)
    first = f"<thead><tr>{first}</tr></thead>"
    return ["<table>", *caption_lines, first, "<tbody>", *lines, "</tbody>", "</table>"]


WRITERS = {
    "markdown": Writer(
        escape_markdown,
        "**{}**",
        lambda signs: "".join(map(SUPERSCRIPTS.__getitem__, signs)),
        _write_markdown,
    ),
    "latex": Writer(_escape_latex, "\\textbf{{{}}}", "$^{{{}}}$".format, _write_latex),
    "html": Writer(escape, "<b>{}</b>", "<sup>{}</sup>".format, _write_html),
}
