"""Tables that the command prints: means, curves and differences."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import polars as pl

from polars_graded._command.parser import Arguments
from polars_graded._measuring.definitions import Best
from polars_graded._measuring.names import Measure
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.findings import find_single_unit
from polars_graded._results.forms import paper_table
from polars_graded._results.keys import GRADER, split_by_grader
from polars_graded._results.per_query import compute_curve_means, find_best_places, find_places
from polars_graded._results.significance import Options
from polars_graded._sentences import format_p, list_names
from polars_graded._sentences.verdicts import write_untested

LINE_FORMAT: Literal["UTF8_FULL_CONDENSED"] = "UTF8_FULL_CONDENSED"
ASCII_FORMAT: Literal["ASCII_FULL_CONDENSED"] = "ASCII_FULL_CONDENSED"


def write_tables(per_query: pl.DataFrame, arguments: Arguments) -> str:
    """Return all tables that the command prints, as one text."""
    if arguments.format != "text":
        return _write_paper_tables(per_query, arguments)
    tables = []
    for grader, rows in split_by_grader(per_query, {"measures": [[*arguments.measures]]}).items():
        first, *others = _write_means(rows, arguments)
        tables += [f"Grades of {grader}\n{first}" if grader else first, *others]
    if arguments.scalar_measures and arguments.trusted is not None:
        tables.append(_write_trusted_means(per_query, arguments))
    if arguments.is_compared:
        tables.append(_write_differences(per_query, arguments))
    return "\n\n".join(tables)


def _write_paper_tables(per_query: pl.DataFrame, arguments: Arguments) -> str:
    """Return the tables for a paper, as one text.

    Without a trusted grader, there is one table. With a trusted grader, every grader except the
    trusted one has a table.
    """
    options = arguments.comparison | {"format": arguments.format, "trusted": arguments.trusted}
    graders: list[str | None] = [None]
    if arguments.trusted is not None:
        graders = per_query[GRADER].unique(maintain_order=True).to_list()
        graders.remove(arguments.trusted)
    tables = [
        paper_table(per_query, arguments.scalar_measures, grader=each, **options)
        for each in graders
    ]
    return "\n\n".join(tables)


def _write_means(per_query: pl.DataFrame, arguments: Arguments) -> Iterator[str]:
    """Yield the table of means, a table for each curve, and notes."""
    best = "" if arguments.similarity else ", the best of each column in brackets"
    notes = [f"Means over the queries{best}."]
    if arguments.scalar_measures:
        # Means of strategies are over the same queries. A pair of similar rankings is not compared
        # with other pairs.
        parts = [per_query]
        if arguments.similarity:
            parts = per_query.partition_by("strategy", maintain_order=True)
        summary = pl.concat(
            summarise(
                part,
                arguments.scalar_measures,
                query=arguments.query_columns,
                missing="drop",
                # Only means are printed, and they do not depend on clusters.
                cluster=arguments.query_columns,
            )
            for part in parts
        )
        counts = summary.group_by("strategy").agg(pl.col("queries").max())
        means = counts.join(summary.pivot("measure", index="strategy", values="mean"), "strategy")
        yield format_table(_mark_best(means, arguments.scalar_measures))
        total = per_query.select(arguments.query_columns).n_unique()
        left_out = summary.group_by("measure", maintain_order=True).agg(
            total - pl.col("queries").cast(pl.Int64).min()
        )
        without_value = [f"{n} of {name}" for name, n in left_out.iter_rows() if n]
        subject = "Queries without a value of every strategy"
        if arguments.similarity:
            subject = "Queries of a pair without a value"
            without_value = [f"up to {each}" for each in without_value]
        notes += [f"{subject} are left out: {', '.join(without_value)}."] if without_value else []
    for name, measure in arguments.measures.items():
        if measure.is_curve:
            yield _write_curve(per_query, measure, name)
    yield "\n".join(notes)


def _write_trusted_means(per_query: pl.DataFrame, arguments: Arguments) -> str:
    """Return a table of means, estimated with a trusted grader.

    The column `mean` estimates the mean over all queries, as if the trusted grader had judged all
    of these queries.
    """
    means = summarise(per_query, arguments.scalar_measures, trusted=arguments.trusted)
    keys = ["grader", "measure", "strategy"]
    columns = ["mean", "ci_low", "ci_high", "trusted_mean", "model_mean"]
    table = _format_numbers(means.select(*keys, *columns, pl.col("worth").round(1)), columns)
    notes = []
    for (note,), rows in means.drop_nulls("note").group_by("note", maintain_order=True):
        names = [" of ".join(row) for row in rows.select("measure", "strategy").iter_rows()]
        subject = f" on {list_names(names)}" if rows.height < means.height else ""
        notes.append(escape_control_characters(f"Note{subject}: {note}."))
    source = (
        f"Means that {arguments.trusted} would find over all queries, if the queries that "
        f"{arguments.trusted} judged are a random sample."
    )
    return "\n".join([format_table(table), source, *notes])


def _write_curve(per_query: pl.DataFrame, curve: Measure, column: str) -> str:
    """Return a table of the mean of a curve at each of its positions."""
    name, values = curve.positions or ("", ())
    positions = pl.Series("at", values)
    means = compute_curve_means(per_query.lazy(), [column], positions, ["strategy"]).collect()
    wide = means.pivot("at", index="strategy", values=column)
    wide.columns = ["strategy", *(f"{value:g}" for value in values)]
    best = dict.fromkeys(wide.columns[1:], curve.definition.best)
    return f"{column} by {name}\n{format_table(_mark_best(wide, best))}"


def _write_differences(per_query: pl.DataFrame, arguments: Arguments) -> str:
    """Return a table of differences between strategies.

    With a baseline, the table compares each strategy with the baseline. Without a baseline, the
    table compares all pairs of strategies.
    """
    options = arguments.comparison
    tested = Options(options["test"], options["correction"])
    counts = ["wins", "ties", "losses"]
    if arguments.trusted is not None:
        options, counts = options | {"trusted": arguments.trusted}, []
    result = compare(per_query, arguments.scalar_measures, **options)
    columns, p_values = ["difference", "ci_low", "ci_high"], ["p_value", "p_corrected"]
    keys = [name for name in ("grader", "measure", "strategy", "baseline") if name in result]
    table = _format_numbers(
        result.select(*keys, *columns, *p_values, *counts), columns
    ).with_columns(pl.Series(name, [format_p(p) for p in result[name]]) for name in p_values)
    if (single := find_single_unit(result)) is not None:
        return f"{format_table(table)}\nDifferences; {write_untested(single)}."
    return (
        f"{format_table(table)}\nDifferences with their 95 % intervals, test {tested.test}, "
        f"correction {tested.correction}."
    )


def _mark_best(means: pl.DataFrame, best: Mapping[str, Best]) -> pl.DataFrame:
    """Sort a table by the first column in `best`, and mark the best values.

    The best values of each column are in brackets, since stars would suggest significance.
    """
    first, direction = next(iter(best.items()))
    order = find_places(means[first])
    means = means.sort(order, "strategy", descending=[direction != "lowest", False])
    table = _format_numbers(means, best)
    for name, best_direction in best.items():
        best_rows = find_best_places(means[name], best_direction)
        cells = [
            f"[{text}]" if i in best_rows else f"{text} " for i, text in enumerate(table[name])
        ]
        table = table.with_columns(pl.Series(name, cells, dtype=pl.String))
    return table


def _format_numbers(table: pl.DataFrame, columns: Any) -> pl.DataFrame:
    """Return the table with `columns` as texts.

    A number has four decimals in its text. A null becomes an empty text.
    """
    return table.with_columns(
        pl.Series(name, ["" if n is None else f"{n:.4f}" for n in table[name]], dtype=pl.String)
        for name in columns
    )


def format_table(table: pl.DataFrame) -> str:
    """Return a table as text.

    The borders are Unicode lines. If standard output cannot encode the text with these lines, the
    borders are ASCII characters.
    """
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    table = table.with_columns(
        pl.Series(
            name,
            [None if cell is None else escape_control_characters(cell) for cell in table[name]],
        )
        for name in texts
    )
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=2**31,
        tbl_formatting=LINE_FORMAT,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_alignment="RIGHT",
    ) as config:
        try:
            str(table).encode(find_output_encoding())
        except UnicodeEncodeError:
            config.set_tbl_formatting(ASCII_FORMAT)
        return str(table)


def find_output_encoding() -> str:
    """Return the encoding of standard output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def escape_control_characters(text: str) -> str:
    """Return the text with escaped control and format characters.

    A control character could move the cursor, and a format character could reorder the text. Also
    escaped are line and paragraph separators, which could break the line, and lone surrogates,
    which cannot be encoded.
    """
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else char
        for char in text
    )
