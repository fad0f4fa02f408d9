"""Join a run with its judgments, one block of rows at a time.

Joining by query and document takes most of the time of `join_judgments`, so each block is joined
only once. The judgments that a strategy missed are found without another join: the row
numbers of these judgments are in none of the strategy's joined rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROW_NUMBER = "polars_graded: row number"
ROWS = "polars_graded: rows"
FOUND = "polars_graded: found"
NO_STRATEGY = "polars_graded: no strategy"
"""Names of temporary columns. The prefix keeps them apart from the columns of callers.

`ROW_NUMBER` holds row numbers of judgments. `ROWS` holds the number of rows of a strategy and
query, and `FOUND` the number of judged rows among them. If the run has no strategies, `NO_STRATEGY`
holds nulls in their place.
"""

MAX_WAITING_COUNTS = 1 << 20
"""Counts of blocks are kept until they have more rows than this number, and more rows than the
total. Then all are added to the total at once, which is faster than adding them block by block."""

MAX_HELD_HASHES = 1 << 22
"""Maximum number of row hashes from several blocks in memory (32 MiB). If there are more, all are
written to files. A single block may have more."""

MAX_EXAMPLES = 1000
"""Maximum number of unjudged rows whose documents are kept as examples for `judge_checks`."""

N_FILES = 64
"""Number of files with hashes. Each file contains the hashes in one range of numbers."""


# Duplicate rows


def hash_keys(frame: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return a hash of each row's values in the columns of the key."""
    first, *others = (frame.get_column(name).hash(seed) for seed, name in enumerate(key))
    for hashes in others:
        first ^= hashes
    return first


def are_distinct(frame: pl.DataFrame, key: Sequence[str]) -> bool:
    """Return whether all keys are distinct.

    If all hashes differ, all keys differ. Keys of text and integers are therefore hashed first,
    which takes a fifth of the time of comparing the keys. The keys themselves are compared only if
    two hashes are equal.
    """
    if all(dtype == pl.String or dtype.is_integer() for dtype in frame.select(key).dtypes):
        hashes = hash_keys(frame, key)
        if hashes.n_unique() == frame.height:
            return True
    return frame.select(key).n_unique() == frame.height


class Hashes:
    """Collect hashes of rows in memory, or in files if there are many."""

    def __init__(self) -> None:
        self._held: list[pl.Series] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, hashes: pl.Series) -> None:
        """Keep the hashes of some more rows."""
        self._held.append(hashes)
        if len(self._held) > 1 and sum(map(len, self._held)) > MAX_HELD_HASHES:
            self._write()

    def repeated(self) -> pl.Series:
        """Return the distinct hashes that occurred more than once."""
        parts: Iterator[pl.Series] = iter([pl.concat(self._held)] if self._held else [])
        if self._folder is not None:
            self._write()
            files = sorted(Path(self._folder.name).iterdir())
            parts = (pl.Series(np.fromfile(file, np.uint64)) for file in files)
        repeated = [pl.Series(dtype=pl.UInt64)]
        # Counting distinct hashes takes a quarter of the time of finding repeated ones.
        repeated += [
            part.filter(part.is_duplicated()).unique()
            for part in parts
            if part.n_unique() < len(part)
        ]
        return pl.concat(repeated)

    def _write(self) -> None:
        """Move the hashes from memory to files, one file per range."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="polars_graded-")
        if not self._held:
            return
        hashes = pl.concat(self._held).sort().to_numpy()
        self._held = []
        ranges = np.arange(1, N_FILES, dtype=np.uint64) * np.uint64(2**64 // N_FILES)
        for number, part in enumerate(np.split(hashes, np.searchsorted(hashes, ranges))):
            with (Path(self._folder.name) / f"{number:02}").open("ab") as file:
                part.tofile(file)


# A run and its judgments


class Join:
    """Join of a run with its judgments, one block of rows at a time.

    For each strategy, the join marks the judgments whose documents were retrieved. The strategy
    missed the documents of all judgments without a mark.
    """

    def __init__(self, judged: pl.DataFrame, query: str, doc: str, strategy: str | None) -> None:
        self.judged = judged.with_row_index(ROW_NUMBER)
        self.queries = judged.select(query).unique(maintain_order=True)
        self.query, self.doc = query, doc
        self.strategy = NO_STRATEGY if strategy is None else strategy
        """The column of strategies; if the run has none, a temporary column of nulls."""
        self.unmatched = pl.Series()
        """Examples of unjudged documents that were retrieved for judged queries."""
        self._is_retrieved: dict[Any, np.ndarray[Any, np.dtype[np.bool_]]] = {}
        self._counts: list[pl.DataFrame] = []

    @property
    def strategies(self) -> list[Any]:
        """Return the strategies so far, in the order of their first rows."""
        return [*self._is_retrieved]

    def register(self, strategy: Any) -> None:
        """Add a strategy if it is new; no judgment is marked for it yet."""
        if strategy not in self._is_retrieved:
            self._is_retrieved[strategy] = np.zeros(self.judged.height, np.bool_)

    def add(self, block: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of judged queries in a block, with their judgments."""
        if self.strategy == NO_STRATEGY:
            # The nulls are Boolean, since Polars groups by a Boolean column fast.
            block = block.with_columns(pl.lit(None, pl.Boolean).alias(NO_STRATEGY))
        pair = [self.query, self.doc]
        rows = block.join(self.judged, on=pair, how="left", maintain_order="left")
        counts = rows.group_by(self.strategy, self.query, maintain_order=True).agg(
            pl.len().alias(ROWS), pl.col(ROW_NUMBER).count().alias(FOUND)
        )
        if not counts.join(self.queries, on=self.query, how="anti").is_empty():
            rows = rows.join(self.queries, on=self.query, how="semi", maintain_order="left")
        self._add_counts(counts)
        self._mark_matches(rows)
        if not len(self.unmatched):
            others = (
                rows.lazy().filter(pl.col(ROW_NUMBER).is_null()).select(self.doc).head(MAX_EXAMPLES)
            )
            self.unmatched = others.collect().to_series().unique(maintain_order=True)
        return rows.drop(ROW_NUMBER, NO_STRATEGY, strict=False)

    def missed(self) -> Iterator[pl.DataFrame]:
        """Yield one frame per strategy, with the judgments that it missed."""
        dtype = self._counts[0].schema[self.strategy]
        for name, is_retrieved in self._is_retrieved.items():
            rows = self.judged.filter(pl.Series(~is_retrieved)).drop(ROW_NUMBER)
            rows = rows.select(pl.lit(name, dtype).alias(self.strategy), pl.all())
            yield rows.drop(NO_STRATEGY, strict=False)

    def counts(self) -> pl.DataFrame:
        """Count the rows and the judged rows of each strategy and query."""
        counts = pl.concat(self._counts)
        return counts.group_by(self.strategy, self.query, maintain_order=True).sum()

    def _add_counts(self, counts: pl.DataFrame) -> None:
        for name in counts.get_column(self.strategy).unique(maintain_order=True):
            self.register(name)
        self._counts.append(counts)
        total, *others = (frame.height for frame in self._counts)
        if sum(others) > max(MAX_WAITING_COUNTS, total):
            self._counts = [self.counts()]

    def _mark_matches(self, rows: pl.DataFrame) -> None:
        """Mark the judgments whose documents each strategy retrieved."""
        matches = rows.select(self.strategy, ROW_NUMBER).drop_nulls(ROW_NUMBER)
        for (name,), matches_of_strategy in matches.partition_by(
            [self.strategy], as_dict=True
        ).items():
            self._is_retrieved[name][matches_of_strategy.get_column(ROW_NUMBER).to_numpy()] = True
