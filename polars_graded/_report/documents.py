"""What the page has of the frame that was evaluated: an overview, and the documents of queries."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_graded._checks import check_column_name, check_columns, check_comparable, check_frame
from polars_graded._drawing.rows import equal_steps
from polars_graded._frames.looking import overview
from polars_graded._frames.request import Request
from polars_graded._measuring.names import Measure
from polars_graded._report.packing import all_rounded, rounded
from polars_graded._report.words import counted
from polars_graded._results.regrading import unjudged_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_graded._results.per_query import Grid

RANKS = 10
"""How many documents of a ranking are shown."""

BELOW = 5
"""How many relevant documents are shown that a strategy has not among these."""

MOST_LETTERS = 160
"""How long a document's name or title is at most."""

MOST_PLACES = 300_000
"""How many documents are looked up, of all strategies and queries together."""

MOST_ROWS = 20_000_000
"""How many rows, of all strategies together, are measured anew as if all were judged."""

MOST_SIZE = 3_000_000
"""How many letters the documents take up at most."""

COLUMNS = {
    "queries": ("queries", "count"),
    "least": ("fewest retrieved per query", "count"),
    "median": ("median retrieved per query", "count"),
    "most": ("most retrieved per query", "count"),
    "retrieved": ("judged documents that were retrieved", "share"),
    "judged": ("retrieved documents that are judged", "share"),
    "judged@10": ("first ten that are judged", "share"),
    "tied": ("retrieved documents with the score of another", "share"),
    "none_judged": ("queries with nothing judged", "count"),
    "none_relevant": ("queries with nothing relevant", "count"),
    "only_relevant": ("queries with only relevant documents", "count"),
    "none_retrieved": ("queries with nothing retrieved", "count"),
    "grades": ("rows of each grade", "grades"),
}
"""What the page calls the columns of `overview`, and how it writes them."""

CONCERNS = {
    "none_judged": "without any judged document",
    "none_relevant": "with judged documents, but none relevant",
    "none_retrieved": "for which nothing was retrieved",
}
"""What makes means wrong, or small."""


@dataclass(frozen=True)
class Documents:
    """The frame that was evaluated, checked, and which of its columns say what."""

    frame: pl.DataFrame
    options: dict[str, Any]
    """The keywords of `evaluate`."""
    doc: str | None
    titles: str | None

    @classmethod
    def of(
        cls, frame: Any, *, doc: str | None, titles: str | None, strategy: str, **options: Any
    ) -> Documents:
        """The frame, its strategies in the column of that name if it has one, or else by scores."""
        checked = check_frame("frame", frame)
        schema = checked.collect_schema()
        request = Request.of(["n_relevant"], **options)
        # One score of a frame that has the column of strategies ranks each of them.
        if strategy in schema and len(request.by) == 1:
            options = options | {"strategy": strategy}
            request = Request.of(["n_relevant"], **options)
        request.check_schema(schema)
        named = {"doc": doc, "titles": titles}
        for argument, name in named.items():
            if name is not None:
                check_columns(
                    "frame", [check_column_name(argument, name)], schema, argument=argument
                )
                check_comparable([name], schema)
        columns = [*request.columns, *(name for name in named.values() if name is not None)]
        request.check_not_stacked(checked)
        collected = checked.lazy().select(*dict.fromkeys(columns)).collect()
        return cls(collected, options, doc, titles)

    @property
    def request(self) -> Request:
        """What the keywords ask for."""
        return Request.of(["n_relevant"], **self.options)

    @cached_property
    def table(self) -> pl.DataFrame:
        """What `overview` says; documents of the same score are tied, whatever breaks ties."""
        table = overview(self.frame, **self.options)
        if not self.request.ties:
            return table
        tied = overview(self.frame, **self.options | {"ties": None})
        return table.with_columns(tied.get_column("tied"))

    @property
    def settings(self) -> dict[str, str]:
        """What was said of the rows, each under its name."""
        request = self.request
        ties = "the order of rows decides"
        if request.ties:
            ties = f"broken by {', '.join(request.ties)}, the highest first"
        low, least = request.scale.irrelevant, request.scale.relevant_from
        said = {"Ties": ties} | ({"Irrelevant": f"grades up to {low:g}"} if low else {})
        return said | ({} if least is None else {"Relevant": f"grades from {least:g} on"})

    def overview(self) -> dict[str, Any]:
        """What `overview` says, in words."""
        table = self.table
        names = table.to_series(0).cast(pl.String).to_list()
        rows = [[_cell(value) for value in row] for row in table.drop(table.columns[0]).iter_rows()]
        note = f"{counted(self.frame.height, 'row', 'rows')} of documents."
        for name, said in CONCERNS.items():
            most: Any = table[name].max()
            if most:
                up_to = "Up to " if table[name].n_unique() > 1 else ""
                note += f" {up_to}{counted(most, 'query', 'queries')} {said}."
        return {
            "note": note,
            "columns": [COLUMNS[name] for name in table.columns[1:]],
            "rows": [[name, *row] for name, row in zip(names, rows, strict=True)],
        }

    def unjudged(self, grid: Grid, names: Sequence[str]) -> dict[str, list[list[float | None]]]:
        """Between which ends unjudged documents could move the mean of each strategy, by measure.

        A measure has none where nothing that was retrieved is unjudged, or where its values are not
        those of the frame as it was given: they were evaluated by other keywords then.
        """
        measures = [name for name in names if Measure.parsed(name)]
        size = self.frame.height * len(self.request.by)
        if not measures or size > MOST_ROWS or (self.table["judged"].fill_null(1) == 1).all():
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # which came when it was evaluated
            bounds = unjudged_bounds(self.frame, *measures, **self.options)
        text = pl.nth(0, 1).cast(pl.String)
        keys = grid.frame.select(text)
        found = {}
        for name in measures:
            ends = bounds.filter(measure=name).drop("measure").with_columns(text)
            rows = keys.join(
                ends, on=keys.columns, how="left", nulls_equal=True, maintain_order="left"
            )
            columns = rows.select("value", "low", "high").to_numpy().reshape(*grid.shape, 3)
            values = grid.values(name)
            whole = np.isfinite(values).all(axis=0)
            columns = columns[:, whole]
            if whole.any() and np.allclose(columns[:, :, 0], values[:, whole], 1e-9, 1e-12):
                found[name] = [all_rounded(each) for each in columns[:, :, 1:].mean(axis=1)]
        return found

    def rankings(
        self, strategies: Sequence[str], queries: pl.Series, size: int
    ) -> dict[str, Any] | None:
        """The first documents of each strategy for queries, as many of them as fit the size.

        For each query that is there it is the documents with their grades and titles, and for each
        strategy which of them it has at each rank; null for a strategy that the frame lacks. Beside
        them stands the best DCG that as many documents of the query can have.
        """
        if self.doc is None:
            return None
        few = MOST_PLACES // (RANKS * len(strategies))
        there = equal_steps(len(queries), max(2, few)).to_list()
        texts = queries.cast(pl.String).gather(there)
        found = self._found(strategies, texts)
        if not any(found.values()):
            msg = (
                "`frame` must have the strategies and queries of `per_query`, got none of "
                f"{', '.join(map(repr, strategies[:3]))} for {texts.to_list()[:3]}"
            )
            raise ValueError(msg)
        entries = [found.get(text, EMPTY) for text in texts]
        sizes = [len(json.dumps(entry, ensure_ascii=False)) for entry in entries]
        kept = len(entries)
        allowed = min(size, MOST_SIZE)
        while kept and sum(sizes[place] for place in equal_steps(len(sizes), kept)) > allowed:
            kept = int(kept * 0.9)
        places = equal_steps(len(entries), kept).to_list()
        _, levels = self._levels
        return {
            "ranks": RANKS,
            "below": BELOW,
            "irrelevant": self.request.scale.irrelevant,
            "levels": levels,
            "there": [there[place] for place in places],
            "entries": [entries[place] for place in places],
        }

    def _found(
        self, strategies: Sequence[str], texts: pl.Series
    ) -> dict[str | None, dict[str, Any]]:
        """The entry of each of these queries, by its text, that has a document."""
        request = self.request
        [query] = request.query
        key = pl.col(query).cast(pl.String)
        rows = self.frame.filter(key.is_in(texts.implode(), nulls_equal=True))
        entries: dict[str | None, dict[str, Any]] = {}
        places: dict[str | None, dict[tuple[Any, ...], int]] = {}
        shown = [name for name in (self.doc, self.titles) if name is not None]
        for place, strategy in enumerate(strategies):
            grade = pl.col(request.grade).cast(pl.Float64)
            for found, *values in self._top(rows, strategy).select(key, *shown, grade).rows():
                if found not in entries:
                    entries[found] = {"documents": [], "ranked": [None] * len(strategies)}
                    places[found] = {}
                entry, known = entries[found], places[found]
                document = (*map(_text, values[:-1]), rounded(values[-1]))
                if document not in known:
                    known[document] = len(known)
                    entry["documents"].append(document)
                if entry["ranked"][place] is None:
                    entry["ranked"][place] = []
                entry["ranked"][place].append(known[document])
        for found, best in self._best(rows, key):
            if found in entries:
                entries[found]["ideal"] = rounded(best)
        return entries

    def _best(self, rows: pl.DataFrame, key: pl.Expr) -> list[tuple[str | None, float | None]]:
        """The DCG of the best documents of each query, with a gain of 2 to the grade, less 1."""
        request = self.request
        grade, scale = pl.col(request.grade).cast(pl.Float64), request.scale
        relevant = pl.when(scale.is_relevant(grade)).then(grade - scale.irrelevant)
        above = relevant.otherwise(grade * 0)
        judged = rows.select(key.alias("query"), self.doc, grade=above).drop_nulls("grade")
        best = judged.unique().sort("grade", descending=True)
        best = best.group_by("query", maintain_order=True).head(RANKS)
        discount = (pl.int_range(pl.len()) + 2).log(2)
        dcg = ((2 ** pl.col("grade") - 1) / discount).sum()
        sums = best.group_by("query").agg(pl.when(dcg.is_finite()).then(dcg).alias("best"))
        return sums.rows()

    def tiles(self, n: int) -> dict[str, dict[str, Any]]:
        """The charts of the first documents of n strategies."""
        from polars_graded._report import specs

        colours, _ = self._levels
        named = self.titles is not None
        pairs = tuple(colours.items())
        return specs.tiles_specs(pairs, self.request.grade, n, RANKS, BELOW, titles=named)

    @cached_property
    def _levels(self) -> tuple[dict[str, str], list[tuple[float, str]]]:
        """The colour of each level of grades, and up to which grade each reaches."""
        from polars_graded._drawing import tiles

        request = self.request
        grades = self.frame.select(pl.col(request.grade).cast(pl.Float64).alias("grade")).unique()
        found, colours = tiles.with_levels(grades, request.scale.irrelevant)
        ends = found.drop_nulls().group_by("level").agg(pl.col("grade").max()).sort("grade")
        return colours, ends.select("grade", "level").rows()

    def _top(self, rows: pl.DataFrame, strategy: str) -> pl.DataFrame:
        """The first documents of a strategy for each query, as `side_by_side` ranks them."""
        request = self.request
        if request.strategy is not None:
            [score] = request.by.values()
            rows = rows.filter(pl.col(request.strategy).cast(pl.String) == strategy)
        elif strategy in request.by:
            score = request.by[strategy]
        else:
            return rows.clear()
        ties = request.ties or ()
        falling = [request.descending] * len(score) + [True] * len(ties)
        top = rows.filter(pl.col(score[0]).is_not_null()).sort(
            [*score, *ties], descending=falling, nulls_last=True, maintain_order=True
        )
        return top.group_by(*request.query, maintain_order=True).head(RANKS)


EMPTY: dict[str, Any] = {"documents": [], "ranked": []}
"""The entry of a query that the frame lacks."""


def _text(value: Any) -> str | None:
    """A name or title, cut where it is long."""
    text = "null" if value is None else str(value)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _cell(value: Any) -> Any:
    """A value of the overview as the page has it."""
    if isinstance(value, list):
        return [[rounded(each["grade"]), each["rows"]] for each in value]
    return value if isinstance(value, int) else rounded(value)
