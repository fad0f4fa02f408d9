"""Split a frame that is larger than memory into parts of whole queries.

| way | what it needs | what it costs |
|---|---|---|
| `"sorted"` | the rows of a query are consecutive | one pass, the memory of a few batches |
| a number n | rows that can be read again | n passes, each for one share of the queries, by hash |
| `"scratch"` | free disk space for all rows | one pass, then one or more over a scratch folder |

If `parts` is None, the way depends on the steps in the query plan of the LazyFrame, on the size of
the frame, and on the free memory. If a later version of Polars names a step differently, or returns
no plan, a slower way is chosen, such as the scratch folder. The values stay the same, but
evaluation takes more time, memory or disk space. On 20 million rows of Parquet, the scratch folder
took 1.6 times as long as five passes.

The rows of a query keep their order, since the order may decide the ranks of tied documents.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl
from polars.io.plugins import register_io_source

from polars_graded._checks import check_choice, check_whole_number, first_few
from polars_graded._frames.grouping import find_run_starts
from polars_graded._frames.memory import find_free_memory

Parts: TypeAlias = 'int | Literal["sorted", "scratch"] | None'
"""Requested way to split a frame. With None, the way is chosen automatically."""

WAYS = ("sorted", "scratch")

BATCH_ROWS = 1 << 20
"""Number of rows of a streamed batch: enough to keep all cores busy."""

MIN_ROWS = 1 << 17
"""Minimum number of rows of a slice of a batch; smaller slices save hardly any memory."""

WORKING_BYTES = 400
"""Bytes per row that measuring needs in addition to the row, for lists and arrays."""

ENGINE_BYTES = 256 << 20
"""Bytes that reading and measuring need regardless of the number of rows."""

MAX_MEMORY_SHARE = 0.5
"""Maximum share of the free memory for a part. The size of a part is a rough estimate."""

MAX_PASSES = 16
"""Maximum number of passes if `parts` is None. A scratch folder is faster than more passes."""

BUCKETS = 64
"""Maximum number of subfolders of the scratch folder. Large subfolders are read in passes."""

SAMPLE_ROWS = 1000
"""Number of rows from which the size of a row is estimated."""

SORTED_STEP = "sorted-group-by"
"""Step of a query plan that groups rows which `set_sorted` or `sort` has declared sorted."""

CHEAP_STEPS = {"multi-scan[parquet]", "multi-scan[ipc]", "in-memory-source", "map", "filter"}
CHEAP_STEPS |= {"select", "simple-projection", "with-columns", "negative-slice", "streaming-slice"}
"""Steps that are cheap to repeat: they read Parquet, IPC or frames, filter rows, slice rows, or
compute expressions."""


@dataclass(frozen=True)
class Split:
    """Split a frame into parts of whole queries; `str()` describes the way."""

    way: int | str
    keys: tuple[str, ...]
    rows: int | None
    """Number of rows; None if counting them takes long."""

    def __str__(self) -> str:
        columns = ", ".join(map(repr, self.keys))
        if self.way == "sorted":
            return f"rows are streamed, sorted by {columns}"
        if self.way == "scratch":
            return f"rows go to a scratch folder if they exceed memory, by hash of {columns}"
        if self.way == 1:
            return "all rows at once"
        return f"{self.way} passes over the rows, by hash of {columns}"

    def divide(self, frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """Return the parts of the frame, with rows of the same keys in one part."""
        if self.way == "sorted":
            return split_sorted_rows(frame, self.keys)
        if self.way == "scratch":
            return read_through_scratch(frame, self.keys)
        return read_in_passes(frame, self.keys, int(self.way))


def check_parts(value: Any) -> Parts:
    """Return the checked `parts`: the way to split a frame."""
    if value is None or not isinstance(value, str):
        return None if value is None else check_whole_number("parts", value)
    check_choice("parts", value, WAYS, instead="a number of passes")
    return "sorted" if value == "sorted" else "scratch"


def choose_split(
    frame: pl.LazyFrame, query: Sequence[str], part_keys: Sequence[str], requested: Parts
) -> Split:
    """Choose the way to split a frame, unless `requested` names one.

    Rows with the same `part_keys` are measured together. If `requested` is None, the way is the
    first of these that is possible:

    1. Rows that are declared sorted by `part_keys`, or by the query, are streamed.
    2. Rows that are cheap to read again are read in passes, if `MAX_PASSES` are enough. The number
       of passes follows from the number of rows and the free memory.
    3. All other rows go through a scratch folder.
    """
    query_columns, part_keys = tuple(query), tuple(part_keys)
    rows = None
    if (steps := list_plan_steps(frame)) and steps <= CHEAP_STEPS:
        rows = frame.select(pl.len()).collect().item()
    if requested is None or requested == "sorted":
        by = next(
            (each for each in (part_keys, query_columns) if is_declared_sorted(frame, each)),
            None,
        )
        if by is not None or requested == "sorted":
            return Split("sorted", by or part_keys, rows)
    if requested is None and rows is not None:
        passes = max(1, -(-rows // estimate_part_rows(frame.head(SAMPLE_ROWS).collect())))
        requested = passes if passes <= MAX_PASSES else None
    return Split(requested or "scratch", query_columns, rows)


def is_declared_sorted(frame: pl.LazyFrame, keys: Sequence[str]) -> bool:
    """Return whether Polars knows that the rows are sorted by the keys."""
    return SORTED_STEP in list_plan_steps(
        frame.group_by(keys, maintain_order=True).agg(pl.len().alias("number of rows"))
    )


def list_plan_steps(frame: pl.LazyFrame) -> set[str]:
    """Return the names of the query plan's steps; an empty set if unknown."""
    options: Any = {"engine": "streaming", "plan_stage": "physical", "raw_output": True}
    try:
        graph = frame.show_graph(**options, show=False)
    except (TypeError, ValueError):  # in a version of Polars without these options
        return set()
    return {re.split(r"[\\ ]", label)[0] for label in re.findall(r'label="([^"]*)', graph or "")}


def estimate_part_rows(sample: pl.DataFrame) -> int:
    """Estimate the maximum number of rows of a part from a sample of rows."""
    row = sample.estimated_size() / max(1, sample.height)
    free = max(0, find_free_memory() - ENGINE_BYTES)
    return max(1, int(MAX_MEMORY_SHARE * free / (row + WORKING_BYTES)))


def read_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Return nonempty batches of the rows, in their order."""
    batches = frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming")
    return (batch for batch in batches if batch.height)


# Rows of a query that are consecutive


def split_sorted_rows(frame: pl.LazyFrame, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield parts of sorted rows, cut where a query ends.

    Raise if the rows of a query are not consecutive within a part. This function does not notice a
    query whose rows are in two parts. Such a query occurs twice in the result, so the caller checks
    the result.
    """
    held = [frame.head(0).collect()]
    for batch in _slice_batches(frame):
        start = int(find_run_starts(batch.select(keys))[-1])
        if start:
            yield _concat_sorted([*held, batch.head(start)], keys)
            held = []
        held.append(batch.slice(start))
    yield _concat_sorted(held, keys)


def _concat_sorted(batches: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Join batches to a part; raise if rows of a query are not consecutive."""
    part = pl.concat(batches)
    queries = part.select(keys)
    check_queries_are_together(queries[find_run_starts(queries)], keys)
    return part


def _slice_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield batches, cut into slices if memory is too small for a whole batch."""
    max_part_rows = 0
    for batch in read_batches(frame):
        max_part_rows = max_part_rows or max(MIN_ROWS, estimate_part_rows(batch))
        yield from batch.iter_slices(max_part_rows)


def check_queries_are_together(queries: pl.DataFrame, keys: Sequence[str]) -> None:
    """Raise if a query occurs twice in `queries`.

    The rows of such a query are not consecutive in the frame. `queries` contains the keys of a
    result, or one row for each run. A run is a series of consecutive rows with the same keys.
    """
    varying_keys = [key for key in keys if queries.get_column(key).n_unique() > 1]
    if queries.height <= 1 or (
        varying_keys and queries.select(varying_keys).n_unique() == queries.height
    ):
        return
    scattered = queries.filter(queries.is_duplicated()).unique(maintain_order=True)
    if scattered.height:
        msg = (
            f"rows declared as sorted by {', '.join(map(repr, keys))} must be consecutive for "
            f"each query, got {scattered.height} of {queries.n_unique()} queries in several "
            f"places: {first_few(scattered.rows())}\n\n"
            "Hint: if the rows are not sorted, leave out set_sorted and parts='sorted'"
        )
        raise ValueError(msg)


# Rows in any order


def read_in_passes(frame: pl.LazyFrame, keys: Sequence[str], n: int) -> Iterator[pl.DataFrame]:
    """Read the rows n times, and yield one share of the queries each time."""
    if n == 1:
        yield frame.collect(engine="streaming")
        return
    # The rows may come from a subfolder of the scratch folder. All their hashes are then equal
    # modulo `BUCKETS`, so only hash // `BUCKETS` distinguishes queries.
    share = _hash_keys(keys) // BUCKETS % n
    for number in range(n):
        yield frame.filter(share == number).collect(engine="streaming")


def read_through_scratch(frame: pl.LazyFrame, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield all rows if they fit in memory; else parts from a scratch folder."""
    remaining = read_batches(frame)
    held = [frame.head(0).collect()]
    rows = max_part_rows = 0
    for batch in remaining:
        held.append(batch)
        rows += batch.height
        max_part_rows = max_part_rows or estimate_part_rows(batch)
        if rows > max_part_rows:
            break
    else:
        yield pl.concat(held)
        return
    # Errors are ignored, because Windows cannot remove a file that is still mapped.
    scratch = tempfile.TemporaryDirectory(prefix="polars_graded-", ignore_cleanup_errors=True)
    with scratch as name:
        folder = Path(name)
        _write_buckets(held, remaining, folder, keys)
        for bucket in sorted(folder.iterdir()):
            scan = pl.scan_parquet(bucket / "*.parquet", hive_partitioning=False)
            passes = -(-scan.select(pl.len()).collect().item() // max_part_rows)
            yield from read_in_passes(scan, keys, passes)
            shutil.rmtree(bucket, ignore_errors=True)


def _write_buckets(
    held: list[pl.DataFrame], remaining: Iterator[pl.DataFrame], folder: Path, keys: Sequence[str]
) -> None:
    """Write the held and the remaining rows into folders by hash."""

    def rows(*_: object) -> Iterator[pl.DataFrame]:
        while held:
            yield held.pop(0)
        yield from remaining

    source = register_io_source(rows, schema=held[0].schema)
    by_hash = pl.PartitionBy(folder, key={"bucket": _hash_keys(keys) % BUCKETS}, include_key=False)
    source.sink_parquet(by_hash, compression="lz4", mkdir=True, engine="streaming")


def _hash_keys(keys: Sequence[str]) -> pl.Expr:
    return (pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)).hash(seed=0)
