"""Sentences of a gate, one for each verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from polars_graded._sentences import conjugate, format_count, format_key, format_short

UNCHANGED = "unchanged"
WITHIN = "worse, by less than the margin"
BEYOND = "worse, perhaps by more than the margin"
"""Verdicts other than "better", "no worse", "worse" and "undecided"."""

EFFECTIVE_CHANGED = "effective_changed"
"""Column of the effective number of weighted queries with a difference."""

MIN_CHANGED_QUERIES = 25
"""Minimum number of queries with a difference. If there are fewer, the interval of the test is not
used."""


def write_sentence(
    row: Mapping[str, Any],
    strategy: str,
    segments: Sequence[str],
    short_names: Mapping[str, str],
) -> str:
    """Return a verdict in words, with the numbers that support it.

    `short_names` has the short name of each strategy and baseline.

    If fewer than `MIN_CHANGED_QUERIES` changed, the interval also allows for changes of queries
    that were not given. Otherwise it does not allow for rare large changes that are missing from
    the given queries. The sentence says which, unless the verdict is "unchanged".
    """
    texts = (f"{key} {format_key(row[key])}" for key in segments)
    subject = ", ".join([row["measure"], *texts])
    new, old = (short_names[str(row[name])] for name in (strategy, "baseline"))
    if new == old:  # an earlier version of the same strategy
        new, old = f"{new} (new)", f"{old} (baseline)"
    units = Units.of(row)
    verdict = f"{subject}: {_write_verdict(row, units, new, old)}"
    return "; ".join([verdict, *_write_counts(row, units), *filter(None, [row["notes"]])])


def find_unseen_percentage(error_rate: float, n: int) -> float:
    """Return the percentage p of queries whose changes a sample may miss.

    If more than p % of all queries change, the probability that a sample of n queries contains none
    of them is below `error_rate`.
    """
    percentage: float = 100 * (1 - error_rate ** (1 / n))
    return percentage


class Units(NamedTuple):
    """Independent units of a row: queries, or clusters of queries."""

    n: int
    changed: int
    noun: str
    effective_changed: float
    """Number of changed units, which with weights is the effective number."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Units:
        """Return the independent units of a row."""
        noun = "clusters" if "clusters" in row else "queries"
        changed = row["changed_clusters" if noun == "clusters" else "changed"]
        return cls(row[noun], changed, noun, row.get(EFFECTIVE_CHANGED, changed))

    @property
    def has_few_changes(self) -> bool:
        """Return whether the interval of the test is not used."""
        return self.effective_changed < MIN_CHANGED_QUERIES


def _write_verdict(row: Mapping[str, Any], units: Units, new: str, old: str) -> str:
    """Write the verdict with its difference and interval."""
    verdict = row["verdict"]
    if verdict == UNCHANGED:
        percentage = find_unseen_percentage(row["level"], units.n)
        return (
            f"{new} is unchanged from {old}: none of {format_count(units.n, units.noun)} changed; "
            f"a change that affects fewer than {percentage:.2g} % of all {units.noun} may affect "
            "none of these"
        )
    if verdict == "undecided":
        return f"undecided whether {new} is worse than {old}: {_write_reason(row, units)}"
    # All other verdicts have an interval.
    margin, interval = format_short(row["margin"]), _format_interval(row)
    difference = format_short(round(row["difference"], 12))
    # An amount is positive, so the ends of its interval have the sign of the difference as +.
    ends = (row["low"], row["high"]) if row["difference"] >= 0 else (-row["high"], -row["low"])
    low, high = map(format_short, ends)
    amount = f"{format_short(abs(row['difference']))} ({low} to {high})"
    return {
        "better": f"{new} is better than {old} by {amount}",
        "no worse": f"{new} is no worse than {old}: {difference} ({interval}), margin {margin}",
        "worse": f"{new} is worse than {old} by {amount}, beyond the margin of {margin}",
        WITHIN: f"{new} is worse than {old} by {amount}, by less than the margin of {margin}",
        BEYOND: f"{new} is worse than {old} by {amount}, perhaps by more than the margin of "
        f"{margin}",
    }[verdict]


def _format_interval(row: Mapping[str, Any]) -> str:
    """Return the ends of the interval of a difference."""
    return f"{format_short(row['low'])} to {format_short(row['high'])}"


def _write_reason(row: Mapping[str, Any], units: Units) -> str:
    """Write the reason why a verdict is undecided."""
    if not row["queries"]:
        return "no query has a value on both sides"
    difference = format_short(round(row["difference"], 12))
    if row["low"] is None:
        changes = "all differences are equal"
        if units.has_few_changes:
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
        f"the interval of the difference {difference} ({_format_interval(row)}) reaches beyond the "
        f"margin of {format_short(row['margin'])}"
    )


def _write_counts(row: Mapping[str, Any], units: Units) -> Iterator[str]:
    """Yield the numbers of queries, the means and the confidence as clauses."""
    n, new, old = row["queries"], row["strategy_queries"], row["baseline_queries"]
    if n == new == old:
        yield format_count(n, "queries")
    elif n > min(new, old):
        missing = "missing value counts" if row["lost"] == 1 else "missing values count"
        yield f"{format_count(n, 'queries')}; {row['lost']:,} {missing} as 0"
    else:
        counts = f"of {new:,} of the strategy and {old:,} of the baseline"
        yield f"{format_count(n, 'queries')} with a value of every strategy, {counts}"
    if "clusters" in row:
        yield format_count(units.n, "independent clusters")
    if (effective := row.get("effective_queries")) is not None:
        yield f"weighted, as precise as {_format_effective(effective)} of equal weight"
    if row["undefined"]:
        yield f"{format_count(row['undefined'], 'queries')} without a value on either side left out"
    if row["verdict"] != UNCHANGED:
        exception = ""
        if row["low"] is not None and units.has_few_changes:
            changes = f"{units.changed:,} changed, "
            if units.changed < MIN_CHANGED_QUERIES:
                changes += f"fewer than {MIN_CHANGED_QUERIES}"
            else:
                equal = f"{_format_effective(units.effective_changed)} of equal weight"
                changes += f"as precise as {equal}, below {MIN_CHANGED_QUERIES}"
            yield f"{changes}, so the interval allows for changes of other {units.noun}"
        elif row["low"] is not None:
            percentage = find_unseen_percentage(row["level"], units.n)
            exception = (
                f", unless rare large changes (in fewer than {percentage:.2g} % of all "
                f"{units.noun}) are missing here"
            )
        if row["mean"] is not None:
            yield f"means {format_short(row['mean'])} and {format_short(row['baseline_mean'])}"
        yield f"{100 * row['confidence']:g} % confidence that all verdicts are right{exception}"


def _format_effective(number: float) -> str:
    """Return an effective number, rounded down: 24.96 is fewer than 25."""
    return f"{math.floor(10 * round(number, 6)) / 10:,g}"
