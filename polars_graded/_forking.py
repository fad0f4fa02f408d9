"""Polars does not survive a fork: its threads stay behind, and what waits for them never ends."""

from __future__ import annotations

import os
from pathlib import Path

_left_behind = False


def check_not_forked() -> None:
    """Raise in a process that was forked from one in which Polars had begun its threads."""
    if _left_behind:
        msg = (
            "this process was forked from one that had used Polars, whose threads it lacks: it "
            "would deadlock\n\n"
            "Hint: multiprocessing.get_context('spawn'), or 'forkserver', starts processes that can"
        )
        raise RuntimeError(msg)


def _look_for_threads() -> None:
    global _left_behind  # noqa: PLW0603
    names = []
    for task in Path("/proc/self/task").glob("*/comm"):
        try:
            names.append(task.read_text(encoding="utf-8", errors="replace"))
        except OSError:  # the thread has ended
            continue
    _left_behind = any(name.startswith("polars-") and name[7:8].isdigit() for name in names)


def _forget() -> None:
    global _left_behind  # noqa: PLW0603
    _left_behind = False


# Where there is no such folder, as on macOS, processes are not forked unless asked for.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look_for_threads, after_in_parent=_forget)
