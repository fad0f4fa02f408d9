"""Progress bars for long evaluations, drawn by tqdm if it is installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

SECONDS = 2.0
"""Seconds of work after which a bar is drawn."""


@contextmanager
def show_progress(*, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts measured rows, and draws a bar for long work.

    A bar is drawn only if tqdm is installed, and a terminal or a notebook shows the output.
    """
    is_visible = shown and _is_watched()
    start, done, bar = monotonic(), 0, None

    def count(n: int) -> None:
        nonlocal done, bar
        done += n
        if bar is not None:
            bar.update(n)
        elif is_visible and monotonic() - start >= SECONDS:
            # tqdm is imported only now, so that short evaluations do not wait for it.
            bar = _make_bar(desc="measured", unit=" rows", initial=done, unit_scale=True)

    try:
        yield count
    finally:
        if bar is not None:
            bar.close()


def _make_bar(**options: Any) -> Any:
    """Return a bar of tqdm, or None if tqdm is not installed."""
    with warnings.catch_warnings():
        # In a notebook without widgets, tqdm draws a text bar and warns needlessly.
        warnings.simplefilter("ignore")
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(**options)


def _is_watched() -> bool:
    """Return whether a terminal or a notebook shows the output."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") or sys.stderr.isatty()
