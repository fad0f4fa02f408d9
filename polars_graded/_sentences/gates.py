"""Sentences of a gate: one per verdict, and a summary in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from polars_graded._sentences import capitalised, counted, in_markdown, name_said, short
from polars_graded._versions import __version__

UNCHANGED = "unchanged"
WITHIN = "worse, by less than the margin"
BEYOND = "worse; whether by more than the margin is undecided"
"""Verdicts, beside better, no worse, worse and undecided."""

LINE_WIDTH = 79

HEADINGS = ["measure", "strategy", "baseline", "queries", "in common", "lost", "changed", "mean"]
HEADINGS += ["baseline mean", "difference", "interval", "margin", "verdict"]
"""The columns of a summary."""


class Losses(NamedTuple):
    """Queries that a strategy lost to its baseline by one measure, the largest loss first."""

    measure: str
    strategy: str
    baseline: str
    queries: Sequence[tuple[str, float, float, float]]
    """Query, value of the baseline, value of the strategy, and their difference."""


def sentence_of(
    row: Mapping[str, Any],
    strategy: str,
    segments: Sequence[str],
    confidence: float,
    min_changed: int,
) -> str:
    """Return a verdict in words, with all that it rests on.

    With fewer changed queries than `min_changed`, the interval is a conservative one.
    """
    where = ", ".join([row["measure"], *(f"{key} {row[key]}" for key in segments)])
    verdict = _verdict_said(row, *names_apart(row[strategy], row["baseline"]))
    return "; ".join(
        [
            f"{where}: {verdict}",
            *_counts(row, confidence, min_changed),
            *filter(None, [row["notes"]]),
        ]
    )


def names_apart(new: Any, old: Any) -> tuple[str, str]:
    """Return how a strategy and its baseline are called, told apart where they share a name."""
    new, old = name_said(new), name_said(old)
    return (f"{new} (new)", f"{old} (baseline)") if new == old else (new, old)


def largest_unseen_share(level: float, n: int) -> float:
    """Return the largest percentage of queries that n of them miss with the chance `level`."""
    share: float = 100 * (1 - level ** (1 / n))
    return share


def _verdict_said(row: Mapping[str, Any], new: str, old: str) -> str:
    verdict, margin, n = row["verdict"], short(row["margin"]), row["queries"]
    if verdict == UNCHANGED:
        share = largest_unseen_share(row["level"], n)
        return (
            f"{new} is unchanged from {old}: none of {counted(n, 'queries')} changed; a change "
            f"that touches fewer than {share:.2g} % of queries may show nothing in them"
        )
    interval = "no interval"
    if row["low"] is not None and row["high"] is not None:
        interval = f"{short(row['low'])} to {short(row['high'])}"
    difference = "unknown" if row["difference"] is None else short(round(row["difference"], 12))
    by = "" if row["difference"] is None else f"{short(abs(row['difference']))} ({interval})"
    if verdict == "undecided":
        return f"undecided whether {new} is worse than {old}: {_reason(row, difference, interval)}"
    return {
        "better": f"{new} is better than {old} by {by}",
        "no worse": f"{new} is no worse than {old}: {difference} ({interval}), margin {margin}",
        "worse": f"{new} is worse than {old} by {by}, beyond the margin of {margin}",
        WITHIN: f"{new} is worse than {old} by {by}, by less than the margin of {margin}",
        BEYOND: f"{new} is worse than {old} by {by}; whether by more than the margin of {margin} "
        f"is undecided{_more(row)}",
    }[verdict]


def _reason(row: Mapping[str, Any], difference: str, interval: str) -> str:
    """Return why a verdict is undecided."""
    margin = short(row["margin"])
    if not row["queries"]:
        return "no query has a value on both sides"
    if row["low"] is None or row["high"] is None:
        few = f"{row['changed']} of {counted(row['queries'], 'queries')} changed"
        return f"{difference}, without an interval, since {few} and the range of values is unknown"
    up = row["best"] != "lowest"
    least = row["low"] if up else -row["high"]
    if row["lost"] and least > -row["margin"]:
        return (
            f"{counted(row['lost'], 'queries')} have a value on one side alone, which turn the "
            "verdict if they count as worst"
        )
    return f"{difference} ({interval}) reaches beyond the margin of {margin}{_more(row)}"


def _more(row: Mapping[str, Any]) -> str:
    """Return how many more queries would decide, with the condition of that."""
    if row["more_queries"] is not None:
        more = counted(row["more_queries"], "more queries")
        return f"; if the difference stays as it is, {more} decide in 4 of 5 cases or more"
    if row["margin"] > 0:
        return "; the loss is close to the margin, so more queries will hardly decide"
    return "; the two are about as good, so more queries will hardly decide"


def _counts(row: Mapping[str, Any], confidence: float, min_changed: int) -> Iterator[str]:
    """Return the queries, the means and the confidence."""
    n, new, old = row["queries"], row["strategy_queries"], row["baseline_queries"]
    if n == new == old:
        yield counted(n, "queries")
    else:
        yield f"{counted(n, 'queries')} in common of {new:,} and {old:,} of the baseline"
    if row["undefined"]:
        yield f"{counted(row['undefined'], 'queries')} without a value on either side left out"
    if row["verdict"] != UNCHANGED:
        if row["changed"] < min_changed and row["low"] is not None:
            few = f"{row['changed']:,} changed, fewer than {min_changed}"
            yield f"{few}, so the interval is a conservative one"
        if row["mean"] is not None:
            yield f"means {short(row['mean'])} and {short(row['baseline_mean'])}"
        yield f"{100 * confidence:g} % confidence in all verdicts together"


def failure_message(verdicts: pl.DataFrame) -> str:
    """Return the sentences of verdicts in lines that fit a terminal."""
    return "\n".join(
        textwrap.fill(sentence, LINE_WIDTH, subsequent_indent="  ", break_long_words=False)
        for sentence in verdicts["sentence"]
    )


def summary_of_gate(
    verdicts: pl.DataFrame,
    strategy: str,
    segments: Sequence[str],
    notes: str,
    losses: Sequence[Losses],
    warnings: Sequence[str] = (),
) -> str:
    """Return what a gate found in Markdown: verdicts, a table, and the queries that lost most."""
    kinds = {*verdicts["verdict"]}
    headlines = {
        "worse": "Worse than the baseline",
        BEYOND: "Worse than the baseline; whether by more than the margin is undecided",
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
        *(f"- {in_markdown(sentence)}" for sentence in verdicts["sentence"]),
        *(f"- **Warning:** {in_markdown(each)}" for each in warnings),
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|{'---|' * 3}{'---:|' * 7}---|---:|---|",
    ]
    for row in verdicts.rows(named=True):
        names = map(in_markdown, names_apart(row[strategy], row["baseline"]))
        segment = [str(row[key]) for key in segments]
        counts = (f"{row['strategy_queries']:,} and {row['baseline_queries']:,}", row["queries"])
        numbers = [_number(row[name]) for name in ("mean", "baseline_mean", "difference")]
        interval = (
            "none" if row["low"] is None else f"{_number(row['low'])} to {_number(row['high'])}"
        )
        cells = [
            *(in_markdown(", ".join([row["measure"], *segment])), *names),
            *(*counts, row["lost"], row["changed"]),
            *(*numbers, interval, _number(row["margin"])),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} | **{row['verdict']}** |")
    confidence, level = verdicts["confidence"][0], verdicts["level"][0]
    each = "" if verdicts.height == 1 else f" Each alone holds at {100 * (1 - level):.4g} %."
    meaning = (
        f"All intervals hold together with {100 * confidence:g} % confidence: of 100 such gates at "
        f"most {100 * (1 - confidence):.3g} have an interval without the true difference.{each} "
        "Lost queries have a value on one side alone."
    )
    if (n_queries := verdicts["queries"].min()) and isinstance(n_queries, int):
        share = largest_unseen_share(level, n_queries)
        meaning += (
            f" A change that touches fewer than {share:.2g} % of queries may show nothing in "
            f"{counted(n_queries, 'queries')}."
        )
    lines += [
        "",
        meaning,
        *(["", in_markdown(capitalised(notes)) + "."] if notes else []),
    ]
    return (
        "\n".join([*lines, *_tables_of_losses(losses), "", f"polars_graded {__version__}"]) + "\n"
    )


def summary_of_refusal(reason: str) -> str:
    """Return in Markdown that nothing was compared, and why."""
    return (
        f"## No verdict: the comparison was refused\n\n- {in_markdown(reason)}\n\n"
        f"polars_graded {__version__}\n"
    )


def _number(value: float | None) -> str:
    return "none" if value is None else short(value)


def _tables_of_losses(losses: Sequence[Losses]) -> Iterator[str]:
    """Yield the lines of a table for each strategy that lost queries."""
    for measure, new, old, queries in losses:
        strategy, base = map(in_markdown, names_apart(new, old))
        yield ""
        yield f"Queries that {strategy} lost most by {in_markdown(measure)}:"
        yield ""
        yield f"| query | {base} | {strategy} | difference |"
        yield "|---|---:|---:|---:|"
        for query, *values in queries:
            yield f"| {in_markdown(query)} | {' | '.join(map(short, values))} |"
