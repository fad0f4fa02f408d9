"""Peak memory in addition to the loaded frame, in multiples of the frame's size."""

from __future__ import annotations

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .expressions import implodes, side_by_side
from .table import Case, Row, Sizes, at_most, compared
from .work import eight, floor, rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

TITLE = "Peak memory beyond the loaded frame, in multiples of its size: Int64, Int64, Float64"

STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")
WARM_UP_ROWS = 10_000
REPEAT = 2


def rows(sizes: Sizes) -> Iterator[Row]:
    if not STATUS.exists():
        yield Row("peak memory", f"needs {STATUS}")
        return
    cases = [
        Case("the frame", lambda: float(rankings(sizes.rows).estimated_size())),
        Case("floor", partial(in_fresh_process, floor, sizes.rows)),
        Case("the eight together", partial(in_fresh_process, eight, sizes.rows), at_most(2)),
    ]
    yield from compared(cases, min(sizes.repeat, REPEAT), megabytes)
    cases = [
        Case("sixteen implodes", partial(in_fresh_process, implodes, sizes.rows)),
        Case(
            "the eight methods side by side",
            partial(in_fresh_process, side_by_side, sizes.rows),
            at_most(1.5),
        ),
    ]
    yield from compared(cases, min(sizes.repeat, REPEAT), megabytes)


def megabytes(n: float) -> str:
    return f"{n / 1e6:,.0f} MB"


def in_fresh_process(
    run: Callable[[pl.DataFrame], object], rows: int, make: Callable[[int], pl.DataFrame] = rankings
) -> float:
    """The peak beyond the frame, in a process that has never held anything else."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_peak, run, rows, make).result()


def _peak(
    run: Callable[[pl.DataFrame], object], rows: int, make: Callable[[int], pl.DataFrame]
) -> float:
    run(make(WARM_UP_ROWS))
    frame = make(rows)
    # Making a frame may take more memory than it has, so the peak begins again here.
    PEAK_RESET.write_text("5")
    before = status("VmRSS")
    run(frame)
    return float(status("VmHWM") - before)


def status(field: str) -> int:
    """Bytes as the kernel counts them; getrusage would count what the parent process had."""
    match = re.search(rf"{field}:\s*(\d+) kB", STATUS.read_text())
    assert match is not None
    return int(match[1]) * 1024
