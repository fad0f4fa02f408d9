"""Check the sort direction of columns that may hold ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_graded._frames.grouping import Groups
from polars_graded._frames.request import Request
from polars_graded._measuring.rank_columns import (
    DOCUMENTS,
    RankEvidence,
    find_evidence,
    may_hold_ranks,
    sample_lists,
    write_directions,
)


def check_directions(request: Request, frame: pl.DataFrame) -> None:
    """Raise if `descending` does not fit columns that may hold ranks.

    `Directions.check` lists the cases.
    """
    rows = request.add_computed_columns(frame.select(request.input_columns))
    _collect_evidence(request, rows).check()


def name_columns(request: Request, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows with computed columns, and keywords that name columns.

    The keywords are the arguments `by`, `descending` and `grade` of `evaluate`. A single False for
    all strategies becomes a mapping such as {"a": [False], "b": [False]}, in which `evaluate`
    cannot recognise the single False. In this case, this function checks the directions itself.
    """
    if request.all_ascending:
        check_directions(request, frame)
    keywords = {
        "by": {name: [*columns] for name, columns in request.by.items()},
        "descending": {name: [*flags] for name, flags in request.descending.items()},
        "grade": request.grade,
    }
    return request.add_computed_columns(frame), keywords


def may_be_ranks(request: Request, rows: pl.DataFrame) -> bool:
    """Return whether any sort column may hold ranks in at least one query.

    The columns of a strategy are left out if `descending` is passed for it as True.
    """
    return any(each.n_spread for each in _collect_evidence(request, rows).evidence.values())


def _collect_evidence(request: Request, rows: pl.DataFrame) -> Directions:
    """Return the evidence of ranks in rows that already have computed columns."""
    scores = list(dict.fromkeys(request.scores))
    return Directions.of(request, Groups.of(rows, request.keys, scores))


@dataclass(frozen=True)
class Directions:
    """Evidence that sort columns hold ranks, collected from one or more parts of a frame.

    The columns of a strategy are left out if `descending` is passed for it as True.
    """

    request: Request
    evidence: dict[tuple[str, Any, str], RankEvidence] = field(default_factory=dict)
    """Evidence by (name, strategy, column). The name is a key of `by`, and the column is one of the
    sort columns that `by` lists for it. The strategy is a value of the column of stacked
    strategies; None without this column."""

    @classmethod
    def of(cls, request: Request, groups: Groups) -> Directions:
        """Return the evidence in `groups`, in which each query is complete."""
        directions = cls(request)
        directions.add(groups)
        return directions

    def add(self, groups: Groups) -> None:
        """Add the evidence in `groups`, in which each query is complete."""
        request = self.request
        for name, columns in request.by.items():
            ascends = not request.find_directions(name)[0]
            if name in request.descending and not ascends:
                continue
            for position, column in enumerate(columns):
                if position and column in {request.document, DOCUMENTS}:
                    continue  # ids may be any numbers, and only break ties
                if may_hold_ranks(groups.frame.schema[column]):
                    self._add(name, column, groups)

    def _add(self, name: str, column: str, groups: Groups) -> None:
        """Add the evidence of one column, separately for each stacked strategy."""
        lists = groups.lists(column)
        if self.request.strategy is None:
            by_strategy = {None: RankEvidence.of(lists)}
        else:
            sample, indices = sample_lists(lists)
            strategies = groups.keys.get_column(self.request.strategy)[indices].alias("strategy")
            numbers = find_evidence(sample)
            sums = (
                pl.DataFrame([strategies])
                .hstack([pl.Series(field, values) for field, values in numbers._asdict().items()])
                .group_by("strategy")
                .agg(pl.col(*numbers._fields).sum())
            )
            by_strategy = {
                strategy: RankEvidence(*counts) for strategy, *counts in sums.iter_rows()
            }
        for strategy, evidence in by_strategy.items():
            key = name, strategy, column
            self.evidence[key] = self.evidence.get(key, RankEvidence()) + evidence

    def check(self) -> None:
        """Raise if `descending` does not fit columns that may hold ranks.

        There are three cases:

        - no direction is passed for a column that may hold ranks;
        - a single False covers some strategies with ranks and others with scores;
        - False ranks the lowest number first, but a query has several numbers below 1. These are
          probably codes for documents that were not retrieved, and would be ranked before rank 1.
        """
        if self.request.all_ascending:
            self._check_all_ascending()
        for (name, strategy, column), evidence in self.evidence.items():
            is_first = column == self.request.by[name][0]
            if name in self.request.descending:
                if is_first and evidence.is_conclusive and evidence.n_low:
                    _refuse_low_codes(name, column, evidence.n_low)
                continue
            # A column that breaks ties may hold ids. Like ranks, ids hardly repeat within a query.
            # So such a column needs stronger evidence of ranks: in nearly all queries, the numbers
            # count the documents, starting at 1 or 0.
            if evidence.is_conclusive if is_first else evidence.has_counts_from_one:
                owner = "" if self.request.strategy is None else f" of strategy {strategy!r}"
                msg = (
                    f"`descending` must be passed for score {column!r}{owner}, {evidence}\n\n"
                    f"Hint: {self._write_hint(name, column)}"
                )
                raise ValueError(msg)

    def _check_all_ascending(self) -> None:
        """Raise if a single `descending=False` covers both ranks and scores."""
        by, stacked = self.request.by, self.request.strategy is not None
        first = {key: each for key, each in self.evidence.items() if key[2] == by[key[0]][0]}
        ranks = [key for key, each in first.items() if each.is_conclusive]
        others = [key for key in first if key not in ranks]
        if not ranks or not others:
            return
        name, _, column = ranks[0]
        if stacked:
            hint = self._write_reversal(name, column, [key[1] for key in ranks])
        else:
            entries = ", ".join(self._write_entry(key[0], key[2], flag=False) for key in ranks)
            hint = f"descending={{{entries}}}"
        names = [", ".join(repr(key[stacked]) for key in keys) for keys in (ranks, others)]
        msg = (
            f"`descending=False` must not cover scores and ranks alike: {names[0]} may hold ranks, "
            f"but not {names[1]}\n\n"
            f"Hint: {hint} reverses {names[0]} alone; descending={dict.fromkeys(by, False)} "
            "ranks the lowest value first for all"
        )
        raise ValueError(msg)

    def _write_hint(self, name: str, column: str) -> str:
        """Return a hint with the arguments for both directions."""
        is_only_column = len(self.request.by) == len(self.request.by[name]) == 1
        lowest, highest = (self._write_entry(name, column, flag=flag) for flag in (False, True))
        if is_only_column:
            lowest, highest = "False", "True"
        else:
            lowest, highest = f"{{{lowest}}}", f"{{{highest}}}"
        hint = write_directions(lowest, highest)
        if self.request.strategy is None:
            return hint
        evidence = {key[1]: each for key, each in self.evidence.items() if key[2] == column}
        ranked = [strategy for strategy, each in evidence.items() if each.is_conclusive]
        if len(ranked) == len(evidence):
            return hint
        return (
            f"{self._write_reversal(name, column, ranked)} reverses the ranks and leaves other "
            f"strategies as they are; descending={highest} ranks the highest value first for all"
        )

    def _write_reversal(self, name: str, column: str, ranked: list[Any]) -> str:
        """Return the argument that reverses the ranks of some stacked strategies."""
        return (
            f"by={{{name!r}: pl.when(pl.col({self.request.strategy!r}).is_in({ranked!r}))"
            f".then(-pl.col({column!r})).otherwise({column!r})}}"
        )

    def _write_entry(self, name: str, column: str, *, flag: bool) -> str:
        """Return the entry of `descending` for one column of a strategy."""
        columns = self.request.by[name]
        flags = [flag if each == column else True for each in columns]
        return f"{name!r}: {flags if len(columns) > 1 else flag}"


def _refuse_low_codes(name: str, column: str, n: int) -> None:
    """Raise the error for numbers below 1 in a column of ranks.

    `descending=False` would rank these numbers first.
    """
    msg = (
        f"score {column!r} must be null for documents that were not retrieved, got {n} numbers "
        f"below 1 among ranks, which `descending=False` would rank first\n\n"
        f"Hint: by={{{name!r}: pl.when(pl.col({column!r}) >= 1).then({column!r})}} makes them "
        f"null; by={{{name!r}: pl.col({column!r}) + 1}} ranks them first"
    )
    raise ValueError(msg)
