"""Files that are there whole or not at all: written beside, synced, and moved into place."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_writable", "whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write the file `path`: beside it, from where all of it is moved into its place.

    Whoever opens `path` meanwhile, or after the writer failed or was killed, finds the file that
    was there before, or none. What is no file, such as a pipe or a device, is written itself.
    """
    before = _status(path)
    if before and not stat.S_ISREG(before.st_mode):
        yield path
        return
    path = path.resolve()  # a link stays, and what it leads to is replaced
    # Short, since a file's name may be as long as any.
    part = path.with_name(f".{path.name[:50]}.{os.getpid()}.part")
    try:
        yield part
        _sync(part, os.O_RDWR)
        part.replace(path)
    except BaseException:
        with suppress(OSError):  # Windows removes no file that is open
            part.unlink()
        raise
    with suppress(OSError):  # not every system opens a folder
        _sync(path.parent, os.O_RDONLY)


def check_writable(path: Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise where the file `path` cannot be written, or is one of the `inputs`."""
    if "\0" in str(path):
        msg = f"a file to write must have a name without a NUL, got {str(path)!r}"
        raise ValueError(msg)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    status = _status(path)
    needed = [path] if status else []
    if not status or stat.S_ISREG(status.st_mode):
        needed.append(path.resolve().parent)
    if not all(os.access(place, os.W_OK) for place in needed):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    for given in map(Path, inputs):
        if status and given.exists() and path.samefile(given):
            msg = f"a file to write must not be one that is read, got {path}"
            raise ValueError(msg)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or a folder's list of its files, is on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
