"""The Markdown summary of a gate, for the page of a CI run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

import polars_graded as pg
from polars_graded._command.messages import format_table

HEADLINES = {
    0: "The gate passes",
    1: "The gate fails: worse than the baseline",
    3: "The gate is undecided: perhaps worse than the baseline",
}
"""Headline for each exit status."""

MAX_LOSSES = 5
"""Maximum number of queries with losses that are listed for a strategy."""


def find_status(verdicts: pl.DataFrame) -> int:
    """Return the exit status: 0 if all verdicts pass, 1 if any is worse, else 3."""
    failed = verdicts.filter(~pl.col("passes"))["verdict"]
    return 0 if failed.is_empty() else 3 if {*failed} == {"undecided"} else 1


def write_summary(headline: str, lines: Iterable[str], *parts: str) -> str:
    """Return a summary of a headline, a list, and further parts."""
    listed = "\n".join(f"- {_escape(line)}" for line in lines)
    return "\n\n".join([f"## {headline}", listed, *parts, f"polars_graded {pg.__version__}"])


def write_losses(
    verdicts: pl.DataFrame,
    values: pl.DataFrame,
    older: pl.DataFrame,
    keys: Mapping[str, Any],
    segments: Sequence[str],
    weights: str | None,
) -> Iterator[str]:
    """Yield a table of the queries that lost most by the first measure, for each verdict.

    With `weights`, the title states that these losses are not weighted.
    """
    strategy = pl.col(keys["strategy"]).cast(pl.String)
    queries = pl.col(keys["query"]).cast(pl.String)  # a file may have texts in place of numbers
    for row in verdicts.filter(measure=verdicts["measure"][0]).rows(named=True):
        values_of_segment = values.filter(
            *(pl.col(name).eq_missing(row[name]) for name in segments)
        )
        before, after = (
            rows.filter(strategy == str(name)).select(queries, pl.col(row["measure"]).alias(column))
            for rows, name, column in (
                (older, row["baseline"], "before"),
                (values_of_segment, row[keys["strategy"]], "after"),
            )
        )
        difference = (pl.col("after") - pl.col("before")).alias("difference")
        both = before.join(after, on=keys["query"]).with_columns(difference)
        loss = -difference if row["best"] != "lowest" else difference
        losses = both.filter(loss > 0).sort(loss, descending=True).head(MAX_LOSSES)
        if losses.height:
            texts = losses.with_columns(pl.col(keys["query"]).map_elements(_escape, pl.String))
            subject = [row["measure"], *(f"{name} {row[name]}" for name in segments)]
            if weights is not None:
                subject.append("without weights")
            title = f"Largest losses of {row[keys['strategy']]} by {', '.join(subject)}:"
            yield f"{_escape(title)}\n\n{format_table(texts, 'MARKDOWN')}"


def _escape(text: str) -> str:
    """Return a text without the meaning that Markdown gives to its characters."""
    return re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", text)
