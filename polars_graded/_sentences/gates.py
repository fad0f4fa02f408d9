"""Texts of a gate: a sentence for each verdict, and a summary in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_graded._sentences import (
    capitalise,
    conjugate,
    escape_markdown,
    format_count,
    format_short,
    shorten_name,
)
from polars_graded._versions import __version__

UNCHANGED = "unchanged"
WITHIN = "worse, by less than the margin"
BEYOND = "worse, perhaps by more than the margin"
"""Verdicts other than "better", "no worse", "worse" and "undecided"."""

LINE_WIDTH = 79

HEADINGS = ["measure", "strategy", "baseline", "queries", "in common", "lost", "changed", "mean"]
HEADINGS += ["baseline mean", "difference", "interval", "margin", "verdict"]
"""The columns of a summary."""


class Losses(NamedTuple):
    """Queries with losses of a strategy to its baseline, largest loss first."""

    measure: str
    strategy: str
    baseline: str
    queries: Sequence[tuple[str, float, float, float]]
    """Each query with the value of the baseline, the value of the strategy, and the difference."""


def write_sentence(
    row: Mapping[str, Any],
    strategy: str,
    segments: Sequence[str],
    confidence: float,
    min_changed: int,
) -> str:
    """Return a verdict in words, with the numbers that support it.

    If fewer than `min_changed` queries changed, the interval also allows for changes of queries
    that were not given. Otherwise it does not allow for rare large changes that are missing from
    the given queries. The sentence says which, unless the verdict is "unchanged".
    """
    subject = ", ".join([row["measure"], *(f"{key} {row[key]}" for key in segments)])
    names = distinguish_names(row[strategy], row["baseline"])
    verdict = _write_verdict(row, *names, min_changed)
    return "; ".join(
        [
            f"{subject}: {verdict}",
            *_write_counts(row, confidence, min_changed),
            *filter(None, [row["notes"]]),
        ]
    )


def distinguish_names(new: Any, old: Any) -> tuple[str, str]:
    """Return names of a strategy and its baseline, changed if they are equal."""
    new, old = shorten_name(new), shorten_name(old)
    return (f"{new} (new)", f"{old} (baseline)") if new == old else (new, old)


def find_unseen_percentage(level: float, n: int) -> float:
    """Return the percentage p of queries whose changes a sample may miss.

    If more than p % of all queries change, the probability that a sample of n queries contains none
    of them is below `level`.
    """
    percentage: float = 100 * (1 - level ** (1 / n))
    return percentage


class Units(NamedTuple):
    """Independent units of a row: queries, or clusters of queries."""

    n: int
    changed: int
    more: int | None
    noun: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Units:
        """Return the independent units of a row."""
        if "clusters" in row:
            return cls(row["clusters"], row["changed_clusters"], row["more_clusters"], "clusters")
        return cls(row["queries"], row["changed"], row["more_queries"], "queries")


def _write_verdict(row: Mapping[str, Any], new: str, old: str, min_changed: int) -> str:
    verdict, margin, units = row["verdict"], format_short(row["margin"]), Units.of(row)
    if verdict == UNCHANGED:
        percentage = find_unseen_percentage(row["level"], units.n)
        return (
            f"{new} is unchanged from {old}: none of {format_count(units.n, units.noun)} changed; "
            f"a change that affects fewer than {percentage:.2g} % of all {units.noun} may affect "
            "none of these"
        )
    interval = "no interval"
    if row["low"] is not None and row["high"] is not None:
        interval = f"{format_short(row['low'])} to {format_short(row['high'])}"
    difference = (
        "unknown" if row["difference"] is None else format_short(round(row["difference"], 12))
    )
    amount = (
        "" if row["difference"] is None else f"{format_short(abs(row['difference']))} ({interval})"
    )
    if verdict == "undecided":
        reason = _write_reason(row, difference, interval, min_changed)
        return f"undecided whether {new} is worse than {old}: {reason}"
    return {
        "better": f"{new} is better than {old} by {amount}",
        "no worse": f"{new} is no worse than {old}: {difference} ({interval}), margin {margin}",
        "worse": f"{new} is worse than {old} by {amount}, beyond the margin of {margin}",
        WITHIN: f"{new} is worse than {old} by {amount}, by less than the margin of {margin}",
        BEYOND: f"{new} is worse than {old} by {amount}, perhaps by more than the margin of "
        f"{margin}{_write_more_queries(row)}",
    }[verdict]


def _write_reason(row: Mapping[str, Any], difference: str, interval: str, min_changed: int) -> str:
    """Write the reason why a verdict is undecided."""
    margin, units = format_short(row["margin"]), Units.of(row)
    if not row["queries"]:
        return "no query has a value on both sides"
    if row["low"] is None or row["high"] is None:
        changes = "all differences are equal"
        if units.changed < min_changed:
            changes = f"{units.changed} of {format_count(units.n, units.noun)} changed"
        return (
            f"{difference}, without an interval, since {changes} and the range of values is unknown"
        )
    higher_is_better = row["best"] != "lowest"
    worst_end = row["low"] if higher_is_better else -row["high"]
    passes = worst_end > -row["margin"] or not row["changed"]
    if row["lost"] and passes:
        return (
            f"{format_count(row['lost'], 'queries')} {conjugate(row['lost'], 'have')} a value on "
            "one side only, and the verdict changes if the missing values are the least favourable"
        )
    return (
        f"the interval of the difference {difference} ({interval}) reaches beyond the margin of "
        f"{margin}"
        f"{_write_more_queries(row)}"
    )


def _write_more_queries(row: Mapping[str, Any]) -> str:
    """Write how many more queries would probably decide the verdict."""
    *_, n, noun = Units.of(row)
    if n is not None:
        more = f"{format_count(n, f'more {noun}')} {conjugate(n, 'decide')}"
        return f"; if the difference stays the same, {more} in about 4 of 5 cases"
    return f"; the number of further {noun} that would decide is unknown or unrealistic"


def _write_counts(row: Mapping[str, Any], confidence: float, min_changed: int) -> Iterator[str]:
    """Yield the numbers of queries, the means and the confidence as clauses."""
    n, new, old = row["queries"], row["strategy_queries"], row["baseline_queries"]
    if n == new == old:
        yield format_count(n, "queries")
    elif n > min(new, old):
        missing = "missing value counts" if row["lost"] == 1 else "missing values count"
        yield f"{format_count(n, 'queries')}; {row['lost']:,} {missing} as 0"
    else:
        counts = f"of {new:,} of the strategy and {old:,} of the baseline"
        yield f"{format_count(n, 'queries')} in common, {counts}"
    units = Units.of(row)
    if "clusters" in row:
        yield format_count(units.n, "independent clusters")
    if row["undefined"]:
        yield f"{format_count(row['undefined'], 'queries')} without a value on either side left out"
    if row["verdict"] != UNCHANGED:
        exception = ""
        if row["low"] is not None and units.changed < min_changed:
            changes = f"{units.changed:,} changed, fewer than {min_changed}"
            yield f"{changes}, so the interval allows for changes of other {units.noun}"
        elif row["low"] is not None:
            percentage = find_unseen_percentage(row["level"], units.n)
            exception = (
                f", unless rare large changes (in fewer than {percentage:.2g} % of all "
                f"{units.noun}) are missing here"
            )
        if row["mean"] is not None:
            yield f"means {format_short(row['mean'])} and {format_short(row['baseline_mean'])}"
        yield f"{100 * confidence:g} % confidence in all verdicts together{exception}"


def write_failure(verdicts: pl.DataFrame) -> str:
    """Return the sentences of verdicts, wrapped to the width of a terminal."""
    return "\n".join(
        textwrap.fill(sentence, LINE_WIDTH, subsequent_indent="  ", break_long_words=False)
        for sentence in verdicts["sentence"]
    )


def write_summary(
    verdicts: pl.DataFrame,
    strategy: str,
    segments: Sequence[str],
    notes: str,
    losses: Sequence[Losses],
    warnings: Sequence[str] = (),
) -> str:
    """Return a Markdown summary with verdicts, warnings, and tables."""
    kinds = {*verdicts["verdict"]}
    headlines = {
        "worse": "Worse than the baseline",
        BEYOND: "Worse than the baseline, perhaps by more than the margin",
        "undecided": "Undecided whether worse than the baseline",
        WITHIN: "Worse than the baseline, by less than the margin",
        "no worse": "No worse than the baseline",
        "better": "Better than the baseline",
        UNCHANGED: "Unchanged from the baseline",
    }
    if kinds == {"better", UNCHANGED}:
        kinds = {"no worse"}
    lines = [
        f"## {next(text for verdict, text in headlines.items() if verdict in kinds)}",
        "",
        *(f"- {escape_markdown(sentence)}" for sentence in verdicts["sentence"]),
        *(f"- **Warning:** {escape_markdown(warning)}" for warning in warnings),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|{'---|' * 3}{'---:|' * 7}---|---:|---|",
    ]
    for row in verdicts.rows(named=True):
        names = map(escape_markdown, distinguish_names(row[strategy], row["baseline"]))
        segment = [str(row[key]) for key in segments]
        counts = (f"{row['strategy_queries']:,} and {row['baseline_queries']:,}", row["queries"])
        numbers = [_format_cell(row[name]) for name in ("mean", "baseline_mean", "difference")]
        interval = (
            "none"
            if row["low"] is None
            else f"{_format_cell(row['low'])} to {_format_cell(row['high'])}"
        )
        cells = [
            *(escape_markdown(", ".join([row["measure"], *segment])), *names),
            *(*counts, row["lost"], row["changed"]),
            *(*numbers, interval, _format_cell(row["margin"])),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} | **{row['verdict']}** |")
    confidence, level = verdicts["confidence"][0], verdicts["level"][0]
    single_confidence = f" Each interval alone has a confidence of {100 * (1 - level):.4g} %."
    single_note = "" if verdicts.height == 1 else single_confidence
    meaning = (
        f"All intervals hold together with {100 * confidence:g} % confidence: of 100 such gates, "
        f"at most {100 * (1 - confidence):.3g} on average have an interval that misses the true "
        f"difference, unless rare large changes are missing from the sample.{single_note} "
        "Lost queries have a value on one side only."
    )
    smallest = min(map(Units.of, verdicts.rows(named=True)), key=lambda units: units.n)
    if smallest.n:
        percentage = find_unseen_percentage(level, smallest.n)
        meaning += (
            f" A change that affects fewer than {percentage:.2g} % of all {smallest.noun} may "
            f"affect none in a sample of {format_count(smallest.n, smallest.noun)}."
        )
    lines += [
        "",
        meaning,
        *(["", escape_markdown(capitalise(notes)) + "."] if notes else []),
    ]
    return "\n".join([*lines, *_write_losses(losses), "", f"polars_graded {__version__}"]) + "\n"


def write_refusal(reason: str) -> str:
    """Return a Markdown summary of a refused comparison, with the reason."""
    return (
        f"## No verdict: the comparison was refused\n\n- {escape_markdown(reason)}\n\n"
        f"polars_graded {__version__}\n"
    )


def _format_cell(value: float | None) -> str:
    return "none" if value is None else format_short(value)


def _write_losses(losses: Sequence[Losses]) -> Iterator[str]:
    """Yield the lines of one Markdown table for each item of `losses`."""
    for measure, new, old, queries in losses:
        strategy, base = map(escape_markdown, distinguish_names(new, old))
        yield ""
        yield f"Largest losses of {strategy} by {escape_markdown(measure)}:"
        yield ""
        yield f"| query | {base} | {strategy} | difference |"
        yield "|---|---:|---:|---:|"
        for query, *values in queries:
            yield f"| {escape_markdown(query)} | {' | '.join(map(format_short, values))} |"
