"""Results in other forms: one row per measure and cutoff, and a paper's table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_graded._checks import (
    check_choice,
    check_columns,
    check_frame,
    check_number,
    check_whole_number,
)
from polars_graded._measuring.names import Measure
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.keys import finds_keys
from polars_graded._results.per_query import best_of, bests, measures_and_curves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_graded._results.per_query import Missing
    from polars_graded._results.significance import CorrectionName, TestName

__all__ = ["long_form", "paper_table"]

Format = Literal["markdown", "latex", "html"]

LONG = ("measure", "cutoff", "value")
"""What `long_form` gives beside columns that are no measures."""


@finds_keys
def long_form(
    per_query: Any, *measures: str, query: str = "query", strategy: str = "strategy"
) -> pl.DataFrame:
    """Put the measures of a result below one another, cutoffs in a column of their own, for charts.

    Parameters
    ----------
    per_query
        One row per strategy and query with one column per measure, as `evaluate` returns it.
    *measures
        The columns to take; by default all measures that are numbers.
    query, strategy
        The columns of keys; by default the columns called so, or the second and the first.

    Returns
    -------
    DataFrame
        The columns that are no measures, then `measure` (String, without its cutoff), `cutoff`
        (Int64, null for the whole ranking) and `value` (Float64), measure by measure.

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
    numbers, _ = measures_and_curves(per_query, measures, query=query, strategy=strategy)
    frame = check_frame("per_query", per_query).lazy()
    others = [
        name
        for name in frame.collect_schema()
        if name not in numbers and (name in (query, strategy) or Measure.parsed(name) is None)
    ]
    check_columns("per_query", others, others)
    for name in others:
        if name in LONG:
            msg = (
                f"`per_query` must not have a column {name!r}, which is one of the result\n\n"
                "Hint: rename the column"
            )
            raise ValueError(msg)
    measures_of = {name: Measure.parsed(name) for name in numbers}
    cutoffs = {name: each.n for name, each in measures_of.items() if each and each.n is not None}
    without = {name: name.removesuffix(f"@{n}") for name, n in cutoffs.items()}
    measure = pl.col("measure")
    # Only an eager frame keeps the order of rows.
    wide = frame.select(*others, pl.col(numbers).cast(pl.Float64)).collect()
    long = wide.unpivot(numbers, index=others, variable_name="measure", value_name="value")
    return long.select(
        *others,
        measure.replace(without),
        measure.replace_strict(cutoffs, default=None, return_dtype=pl.Int64).alias("cutoff"),
        "value",
    )


@finds_keys
def paper_table(
    per_query: Any,
    *measures: str,
    query: str = "query",
    strategy: str = "strategy",
    format: Format = "markdown",  # noqa: A002
    digits: int = 3,
    test: TestName = "t",
    correction: CorrectionName | None = None,
    alpha: float = 0.05,
    missing: Missing = "error",
) -> str:
    """Write the table of a paper: strategies by measures, and whom each beats significantly.

    Means are rounded, the best of a measure is bold, and letters stand for the strategies that one
    beats: its mean is better and the corrected p value, of all pairs, at most `alpha`.

    Parameters
    ----------
    per_query, *measures, query, strategy, test, correction, missing
        As for `compare`.
    format
        `"markdown"`, `"latex"` (with booktabs) or `"html"`.
    digits
        How many digits stand after the point.
    alpha
        The level of significance.

    Returns
    -------
    str
        The table, to `print` or to write to a file.

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
    """
    check_choice("format", format, WRITERS)
    check_whole_number("digits", digits, at_least=0)
    check_number("alpha", alpha, above=0, below=1)
    keys = {"query": query, "strategy": strategy, "missing": missing}
    means = summarise(per_query, *measures, **keys)  # type: ignore[arg-type]
    names = means.get_column(strategy).unique(maintain_order=True).to_list()
    letters = {name: _letter(place) for place, name in enumerate(names)}
    beaten: dict[tuple[str, Any], set[Any]] = {}
    if len(names) > 1:
        compared = compare(per_query, *measures, **keys, test=test, correction=correction)  # type: ignore[arg-type]
        beaten = _beaten(compared.filter(pl.col("p_corrected") <= alpha), strategy)
    columns: dict[str, list[Cell]] = {}
    for (measure,), of_it in means.group_by("measure", maintain_order=True):
        values = dict(of_it.select(strategy, "mean").iter_rows())
        best = bests(of_it.get_column("mean"), best_of(str(measure)))
        best_names = {of_it.get_column(strategy)[place] for place in best}
        columns[str(measure)] = [
            (
                "–" if values[name] is None else f"{values[name]:.{digits}f}",
                name in best_names,
                "".join(letters[each] for each in names if each in beaten.get((measure, name), ())),
            )
            for name in names
        ]
    rows = [
        (letters[name], str(name), [column[place] for column in columns.values()])
        for place, name in enumerate(names)
    ]
    return WRITERS[format](strategy, list(columns), rows)


Cell = tuple[str, bool, str]
Row = tuple[str, str, list[Cell]]


def _letter(place: int) -> str:
    """A to z, then aa, ab and so on."""
    letters = ""
    while place >= 0:
        letters = chr(ord("a") + place % 26) + letters
        place = place // 26 - 1
    return letters


def _beaten(told_apart: pl.DataFrame, strategy: str) -> dict[tuple[str, Any], set[Any]]:
    """Whom each strategy beats by each measure."""
    found: dict[tuple[str, Any], set[Any]] = {}
    rows = told_apart.select("measure", strategy, "baseline", "difference").iter_rows()
    for measure, a, b, difference in rows:
        which = best_of(measure)
        if which != "none" and difference:
            winner, loser = (a, b) if (difference > 0) == (which == "highest") else (b, a)
            found.setdefault((measure, winner), set()).add(loser)
    return found


SUPERSCRIPTS = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))


def _markdown(strategy: str, measures: Sequence[str], rows: Sequence[Row]) -> str:
    def cell(mean: str, best: bool, beaten: str) -> str:  # noqa: FBT001
        raised = "".join(SUPERSCRIPTS.get(letter, letter) for letter in beaten)
        return (f"**{mean}**" if best else mean) + raised

    def plain(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|")

    lines = [f"|   | {' | '.join(map(plain, [strategy, *measures]))} |"]
    lines.append("|---" * (len(measures) + 2) + "|")
    for letter, name, cells in rows:
        lines.append(f"| {' | '.join([letter, plain(name), *(cell(*each) for each in cells)])} |")
    return "\n".join(lines)


def _latex(strategy: str, measures: Sequence[str], rows: Sequence[Row]) -> str:
    special = {c: f"\\{c}" for c in "&%$#_{}"} | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }

    def plain(text: str) -> str:
        return "".join(special.get(character, character) for character in text)

    def cell(mean: str, best: bool, beaten: str) -> str:  # noqa: FBT001
        written = f"\\textbf{{{mean}}}" if best else mean
        return f"{written}$^{{{beaten}}}$" if beaten else written

    lines = [f"\\begin{{tabular}}{{ll{'r' * len(measures)}}}", "\\toprule"]
    lines += [" & ".join(["", *map(plain, [strategy, *measures])]) + r" \\", "\\midrule"]
    for letter, name, cells in rows:
        lines.append(" & ".join([letter, plain(name), *(cell(*each) for each in cells)]) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _html(strategy: str, measures: Sequence[str], rows: Sequence[Row]) -> str:
    def cell(mean: str, best: bool, beaten: str) -> str:  # noqa: FBT001
        written = f"<b>{mean}</b>" if best else mean
        return f"<td>{written}{f'<sup>{beaten}</sup>' if beaten else ''}</td>"

    head = "".join(f"<th>{escape(text)}</th>" for text in ["", strategy, *measures])
    lines = ["<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for letter, name, cells in rows:
        inner = "".join(cell(*each) for each in cells)
        lines.append(f"<tr><td>{letter}</td><td>{escape(name)}</td>{inner}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


WRITERS = {"markdown": _markdown, "latex": _latex, "html": _html}
