"""Scores that may be ranks, of which nothing says whether the lowest or the highest comes first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_graded._frames.grouping import Groups
from polars_graded._frames.request import Request
from polars_graded._measuring.rank_columns import DOCUMENTS, RankEvidence, RankLists, may_hold_ranks


def check_directions(request: Request, frame: pl.DataFrame) -> None:
    """Raise where a frame has a score that may hold ranks and its direction is not passed."""
    rows = request.add_computed_columns(frame.select(request.input_columns))
    directions = Directions(request, is_whole=True)
    directions.add(Groups.of(rows, request.keys, list(dict.fromkeys(request.scores))))
    directions.check()


def may_be_ranks(request: Request, rows: pl.DataFrame) -> bool:
    """Return whether a score without a direction counts the documents of any of some queries."""
    directions = Directions(request)
    directions.add(Groups.of(rows, request.keys, list(dict.fromkeys(request.scores))))
    return any(evidence.counting for evidence in directions.evidence.values())


@dataclass(frozen=True)
class Directions:
    """The evidence, from part to part, that scores without a direction are ranks."""

    request: Request
    is_whole: bool = False
    """Whether all queries come in one part, so that a look at some may be enough."""
    evidence: dict[tuple[str, Any, str], RankEvidence] = field(default_factory=dict)
    """By entry of `by`, stacked strategy if there are any, and column."""

    def add(self, groups: Groups) -> None:
        """Look at whole queries."""
        request = self.request
        for name, columns in request.by.items():
            if name in request.descending:
                continue
            for place, column in enumerate(columns):
                if place and column in {request.document, DOCUMENTS}:
                    continue  # ids may be any numbers, and only break ties
                if may_hold_ranks(groups.frame.schema[column]):
                    self._add(name, column, groups)

    def _add(self, name: str, column: str, groups: Groups) -> None:
        """Add the evidence of queries, of each stacked strategy by itself."""
        lists = groups.lists(column)
        if self.is_whole and self.request.strategy is None:
            each = {None: RankEvidence.of_all(lists)}
        elif self.request.strategy is None:
            each = {None: RankLists.of(lists).evidence()}
        else:
            ranks = RankLists.of(lists)
            strategies = groups.keys.get_column(self.request.strategy).alias("strategy")
            sums = (
                pl.DataFrame([strategies])
                .hstack([pl.Series(field, mask) for field, mask in vars(ranks).items()])
                .group_by("strategy")
                .agg(pl.col(*vars(ranks)).sum())
            )
            each = {strategy: RankEvidence(*counts) for strategy, *counts in sums.iter_rows()}
        for strategy, evidence in each.items():
            key = name, strategy, column
            self.evidence[key] = self.evidence.get(key, RankEvidence()) + evidence

    def check(self) -> None:
        """Raise where a score may hold ranks and its direction is not passed."""
        for (name, strategy, column), evidence in self.evidence.items():
            if evidence.is_conclusive:
                of = "" if self.request.strategy is None else f" of strategy {strategy!r}"
                msg = (
                    f"`descending` must be passed for score {column!r}{of}, {evidence}\n\n"
                    f"Hint: {self._hint(name, column)}"
                )
                raise ValueError(msg)

    def _hint(self, name: str, column: str) -> str:
        """Return both ways to pass the direction."""
        lowest, highest = (self._passed(name, column, flag=flag) for flag in (False, True))
        hint = (
            f"descending={lowest} ranks its lowest value first, as ranks mean; "
            f"descending={highest} ranks its highest value first"
        )
        if self.request.strategy is None:
            return hint
        evidence = {key[1]: each for key, each in self.evidence.items() if key[2] == column}
        ranked = [strategy for strategy, each in evidence.items() if each.is_conclusive]
        if len(ranked) == len(evidence):
            return hint
        return (
            f"{hint}, for all strategies; to turn round the ranks of some, pass "
            f"by={{{name!r}: pl.when(pl.col({self.request.strategy!r}).is_in({ranked!r}))"
            f".then(-pl.col({column!r})).otherwise({column!r})}}"
        )

    def _passed(self, name: str, column: str, *, flag: bool) -> str:
        """Return how to write the direction of one column of a strategy."""
        columns, given = self.request.by[name], repr(flag)
        if len(columns) > 1:
            given = repr([flag if each == column else True for each in columns])
        is_alone = len(self.request.by) == len(columns) == 1
        return given if is_alone else f"{{{name!r}: {given}}}"
