"""Check the sort direction of columns that look like ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_graded._checks import did_you_mean, first_few
from polars_graded._frames.request import Request
from polars_graded._frames.rows import Groups
from polars_graded._measuring.document_columns import may_identify_documents
from polars_graded._measuring.rank_columns import (
    collect_rank_facts,
    find_rank_strategies,
    write_directions,
)


def group_rankings(request: Request, rows: pl.DataFrame) -> Groups:
    """Return the rows of each ranking, from rows with computed columns.

    Raise if `descending` does not fit columns that look like ranks.
    """
    groups = Groups.of(rows, request.keys, request.document_columns)
    directions = Directions(request)
    directions.add(groups)
    directions.check()
    return groups


def name_columns(request: Request, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows with computed columns, and keywords that name columns.

    The keywords are arguments of `evaluate`. Directions are checked here, because a single False
    for all strategies becomes a mapping.
    """
    rows = request.add_computed_columns(frame)
    group_rankings(request, rows)
    keywords = {
        "by": {name: [*columns] for name, columns in request.by.items()},
        "descending": {name: [*request.find_directions(name)] for name in request.by},
        "grade": request.grade,
    }
    return rows, keywords


@dataclass(frozen=True)
class Directions:
    """Facts about sort columns that may hold ranks, collected from the parts of a frame."""

    request: Request
    facts: dict[tuple[str, str], list[pl.DataFrame]] = field(default_factory=dict)
    """For each entry of `by` and each of its columns, the facts of every part."""
    strategies: dict[Any, None] = field(default_factory=dict)
    """Stacked strategies, in the order of their first rows."""

    def add(self, groups: Groups) -> None:
        """Add the facts of a part, in which each query is complete."""
        request, strategies, ranks = self.request, None, None
        if request.strategy is not None:
            strategies = groups.keys.get_column(request.strategy).cast(pl.String)
            self.strategies.update(dict.fromkeys(strategies.unique(maintain_order=True)))
        if request.rank_column is not None:
            ranks = groups.frame.get_column(request.rank_column)
        for name, columns in request.by.items():
            if name in request.descending and not request.all_ascending:
                continue
            for position, column in enumerate(columns):
                if position and (column == request.document or may_identify_documents(column)):
                    continue  # ids may be any numbers, and only break ties
                others = None if column == request.rank_column else ranks
                facts = collect_rank_facts(groups.lists(column), strategies, others)
                self.facts.setdefault((name, column), []).append(facts)

    def check(self, *, are_all: bool = True) -> None:
        """Raise if a column looks like ranks and no direction is passed for it.

        Raise also if a single `descending=False` covers ranks and scores alike, or if `descending`
        names a strategy that the frame lacks, unless the parts are not all parts of the frame.
        """
        request = self.request
        names = [*map(str, self.strategies)] if are_all else []
        for name in request.stacked_directions:
            if names and name not in names:
                msg = (
                    f"`descending` must name strategies of {request.strategy!r}, which are "
                    f"{first_few(names)}, got {name!r}{did_you_mean(name, names)}"
                )
                raise ValueError(msg)
        owners = [*(request.by if request.strategy is None else map(str, self.strategies))]
        ranks = {
            (name if request.strategy is None else str(strategy), name, column): clause
            for (name, column), facts in self.facts.items()
            for strategy, clause in find_rank_strategies(
                facts, column if column == request.by[name][0] else ""
            ).items()
        }
        ranks = {key: ranks[key] for key in ranks if key[0] not in request.stacked_directions}
        if request.all_ascending:
            first_columns = {columns[0] for columns in request.by.values()}
            names = list(dict.fromkeys(owner for owner, _, each in ranks if each in first_columns))
            others = [owner for owner in owners if owner not in names]
            if names and others:
                msg = (
                    "`descending=False` must not cover ranks and scores alike, got ranks in "
                    f"{first_few(names)}, but not in {first_few(others)}\n\n"
                    f"Hint: descending={dict.fromkeys(names, False)} ranks the lowest value first "
                    f"for these alone; descending={dict.fromkeys(owners, False)} for all"
                )
                raise ValueError(msg)
        elif ranks:
            (owner, name, column), clause = next(iter(ranks.items()))
            of_strategy = "" if request.strategy is None else f" of strategy {owner!r}"
            lowest, highest = (
                self._write_flags(owner, name, column, flag=flag) for flag in (False, True)
            )
            msg = (
                f"`descending` must be passed for score {column!r}{of_strategy}, which {clause}\n\n"
                f"Hint: {write_directions(lowest, highest)}"
            )
            raise ValueError(msg)

    def _write_flags(self, owner: str, name: str, column: str, *, flag: bool) -> str:
        """Return the value of `descending` that gives one column a direction."""
        columns = self.request.by[name]
        if len(self.strategies) > 1 and column == columns[0]:
            return f"{{{owner!r}: {flag}}}"
        flags = [flag if each == column else True for each in columns]
        value = str(flags if len(columns) > 1 else flag)
        return value if len(self.request.by) == len(columns) == 1 else f"{{{name!r}: {value}}}"
