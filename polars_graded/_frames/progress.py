"""A bar for what takes long, drawn by tqdm where that is installed and somebody can see it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 2.0
"""What takes less needs no bar."""


@contextmanager
def progress(
    what: str, unit: str, total: int | None, *, shown: bool = True
) -> Iterator[Callable[[int], object]]:
    """A function to call with how much more is done; it draws a bar once that has taken long.

    Nothing is drawn without tqdm, nor where there is neither a terminal nor a notebook.
    """
    if not shown or not _somebody_looks():
        yield lambda _: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda _: None
        return
    with tqdm(desc=what, unit=f" {unit}", total=total, unit_scale=True, delay=SECONDS) as bar:
        yield bar.update


def _somebody_looks() -> bool:
    """Whether there is a terminal or a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()
