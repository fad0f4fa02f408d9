"""The table of a paper: strategies by measures, with significant pairs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Any, Literal, NamedTuple

import polars as pl

from polars_graded._checks import check_choice, check_flag, check_whole_number
from polars_graded._frames.arguments import Columns
from polars_graded._measuring.keywords import checks_call
from polars_graded._results.comparing import LETTERS, compare_results, summarise_results
from polars_graded._results.findings import find_single_unit, is_significant
from polars_graded._results.keys import PassedKeys
from polars_graded._results.measure_values import MeasureColumns, check_best, find_best_indices
from polars_graded._results.results import EFFECTIVE, Missing, open_results
from polars_graded._results.significance import (
    CORRECTIONS,
    TESTS,
    CorrectionName,
    Options,
    TestName,
)
from polars_graded._sentences import escape_markdown, format_key, format_range

__all__ = ["paper_table"]

Format = Literal["markdown", "latex"]


@checks_call
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
        `"markdown"` or `"latex"` (with booktabs).
    digits
        Number of digits after the decimal point.
    baseline
        The strategy with which all others are compared; by default all pairs are compared.
    caption
        If True, a sentence explains the bold means and the letters or signs. The sentence is below
        a Markdown table, but above a LaTeX table, where a `table` then contains the `tabular`.
    cluster, weights
        The columns of clusters, and the column of weights, as for `compare`.

    Returns
    -------
    str
        The table, to `print` or to write to a file.

    Raises
    ------
    ValueError
        If there are more than 25 strategies and no baseline, since each strategy needs a letter.

    See Also
    --------
    rank_strategies : Groups of strategies that do not differ significantly.

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
    if isinstance(baseline, list | tuple):
        msg = f"`baseline` must be one strategy, which the signs + and - refer to, got {baseline!r}"
        raise TypeError(msg)
    options = Options(test, correction, confidence)
    passed = PassedKeys(query, strategy, segments=segments, cluster=cluster, weights=weights)
    results = open_results(per_query, measures, passed, missing, grader).only
    means, names = summarise_results(results, confidence), results.strategies.to_list()
    if not names:
        msg = "`per_query` must have a row per strategy and query, got none"
        raise ValueError(msg)
    if baseline is None and len(names) > len(LETTERS):
        msg = (
            f"there must be at most {len(LETTERS)} strategies, a letter for each, unless "
            f"`baseline` names the one to compare with, got {len(names)}"
        )
        raise ValueError(msg)
    comparison = pl.DataFrame(schema={"p_corrected": pl.Float64})
    if len(names) > 1 or baseline is not None:
        comparison = compare_results(results, options, baseline)
    has_letters = baseline is None and len(names) > 1
    letters = dict(zip(names, LETTERS, strict=False)) if has_letters else {}
    part_columns, strategy = ["measure", *results.keys.segments], results.strategies.name
    findings = comparison.filter(is_significant(options.error_rate))
    superscripts = _find_superscripts(findings, part_columns, strategy, letters)
    writer, head = WRITERS[format], [strategy]
    lines = [[*([letters[name]] if letters else []), writer.plain(str(name))] for name in names]
    for part, table in means.group_by(part_columns, maintain_order=True):
        best_indices = find_best_indices(table["mean"], check_best(str(part[0]), table["best"][0]))
        head.append(", ".join(map(format_key, part)))
        for index, (name, mean) in enumerate(table.select(strategy, "mean").rows()):
            text = "–" if mean is None else f"{mean:.{digits}f}"
            signs = "".join(sorted(superscripts[(*part, name)]))
            lines[index].append(writer.write_cell(text, signs, is_best=index in best_indices))
    caption_text = _write_caption(means, comparison, options, baseline) if caption else ""
    return "\n".join(writer.write([*map(writer.plain, head)], lines, caption_text))


def _find_superscripts(
    findings: pl.DataFrame, part_columns: Sequence[str], strategy: str, letters: Mapping[Any, str]
) -> dict[Any, str]:
    """Return the superscripts of each strategy in each column of the table.

    The superscripts are the letters of the strategies that are significantly worse. `letters` is
    empty if there is a baseline, or a single strategy. With a baseline, the superscript is + for a
    strategy that is significantly better than the baseline, and - for a worse one.
    """
    superscripts: dict[Any, str] = defaultdict(str)
    for row in findings.rows(named=True):
        if row["best"] not in ("highest", "lowest"):
            continue
        part = tuple(row[name] for name in part_columns)
        one, other = row[strategy], row["baseline"]
        is_better = (row["difference"] > 0) == (row["best"] == "highest")
        if not letters:
            superscripts[(*part, one)] = "+" if is_better else "-"
        else:
            winner, loser = (one, other) if is_better else (other, one)
            superscripts[(*part, winner)] += letters[loser]
    return superscripts


def _write_caption(
    means: pl.DataFrame, comparison: pl.DataFrame, options: Options, baseline: Any
) -> str:
    """Return the caption: the meaning of bold numbers and superscripts."""
    queries = format_range(means["queries"].to_list(), "queries")
    if "clusters" in means.columns:
        queries += f" in {format_range(means['clusters'].to_list(), 'clusters')}"
    if EFFECTIVE in means.columns:
        effective = means[EFFECTIVE].drop_nulls().round().cast(pl.UInt32)
        queries += f", weighted ({format_range(effective.to_list(), 'effective queries')})"
    if means["best"].is_in(["highest", "lowest"]).not_().all():
        return f"Means of {queries}; of these measures, no value is best."
    text, test = f"Means of {queries}, the best of each column in bold", TESTS[options.test]
    if comparison.is_empty():
        return f"{text}."
    if not comparison["p_corrected"].count():
        single = find_single_unit(means)
        why = f"one {single} cannot be tested" if single else f"{test.words} has no p value"
        return f"{text}; no difference is tested: {why}."
    meaning = "a letter stands for a strategy that is significantly worse"
    if baseline is not None:
        meaning = f"+ stands for significantly better than {baseline}, - for worse"
    # One pair per measure needs no correction.
    is_one_pair = comparison.height == means["measure"].n_unique()
    corrected = f", p values {CORRECTIONS[options.correction].words}"
    by = test.words if test.simultaneous or is_one_pair else f"{test.words}{corrected}"
    return f"{text}; {meaning} (p of at most {options.error_rate:g}) by {by}."


# Formats


class Writer(NamedTuple):
    """Functions and texts that write a table in one format."""

    plain: Callable[[str], str]
    """Function that escapes a text."""
    bold: str
    raised: Callable[[str], str]
    write: Callable[[list[str], list[list[str]], str], list[str]]
    """Function that takes a head, rows and a caption, and returns the lines of the table. Rows
    have a letter before the first column of the head, if there are letters."""

    def write_cell(self, text: str, signs: str, *, is_best: bool) -> str:
        """Return the cell of a mean, with its superscripts."""
        return (self.bold.format(text) if is_best else text) + (self.raised(signs) if signs else "")


SUPERSCRIPTS = dict(zip(f"{LETTERS}+-", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁺⁻", strict=True))


def _write_markdown(head: list[str], body: list[list[str]], caption: str) -> list[str]:
    """Return the lines of a Markdown table."""
    heads = [" "] * (len(body[0]) - len(head)) + head
    first, *lines = (f"| {' | '.join(cells)} |" for cells in (heads, *body))
    # A line that begins with + or - would be an item of a list.
    text = re.sub(r"\n([+-]) ", r" \1\n", fill(escape_markdown(caption), 92))
    caption_lines = ["", text] if caption else []
    return [first, "|---" * len(heads) + "|", *lines, *caption_lines]


def _write_latex(head: list[str], body: list[list[str]], caption: str) -> list[str]:
    """Return the lines of a LaTeX table."""
    heads = [""] * (len(body[0]) - len(head)) + head
    first, *lines = (" & ".join(cells) + r" \\" for cells in (heads, *body))
    lines = ["\\toprule", first, "\\midrule", *lines, "\\bottomrule"]
    columns = "l" * (len(heads) - len(head) + 1) + "r" * (len(head) - 1)
    lines = [f"\\begin{{tabular}}{{{columns}}}", *lines, "\\end{tabular}"]
    table_lines = ["\\begin{table}", "\\centering", f"\\caption{{{_escape_latex(caption)}}}"]
    return [*table_lines, *lines, "\\end{table}"] if caption else lines


def _escape_latex(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    return "".join(LATEX_ESCAPES.get(character, character) for character in text)


LATEX_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


WRITERS = {
    "markdown": Writer(
        escape_markdown,
        "**{}**",
        lambda signs: "".join(map(SUPERSCRIPTS.__getitem__, signs)),
        _write_markdown,
    ),
    "latex": Writer(_escape_latex, "\\textbf{{{}}}", "$^{{{}}}$".format, _write_latex),
}
