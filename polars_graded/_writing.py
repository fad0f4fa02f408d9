"""Write files atomically: write a temporary file, sync it and move it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_writable", "write_atomically"]


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and move its file to `path` afterwards.

    Until the move, a previous file at `path` is unchanged. It also stays unchanged if the writer
    fails or is killed. For a pipe or a device, yield `path` itself.
    """
    status = _read_status(path)
    if status and not stat.S_ISREG(status.st_mode):
        yield path
        return
    path = path.resolve()  # the target of a link is replaced, not the link
    # The name of `path` may have the maximum length of a file name, so only its start is used.
    part = path.with_name(f".{path.name[:50]}.{os.getpid()}.part")
    try:
        yield part
        _sync(part, os.O_RDWR)
        part.replace(path)
    except BaseException:
        with suppress(OSError):  # Windows cannot remove an open file
            part.unlink()
        raise
    with suppress(OSError):  # not every system can open a folder
        _sync(path.parent, os.O_RDONLY)


def check_writable(path: Path, sources: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise if the file `path` cannot be written, or is one of its `sources`."""
    if "\0" in str(path):
        msg = f"a file to write must have a name without a NUL, got {str(path)!r}"
        raise ValueError(msg)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    status = _read_status(path)
    targets = [path] if status else []
    if not status or stat.S_ISREG(status.st_mode):
        targets.append(path.resolve().parent)
    if not all(os.access(target, os.W_OK) for target in targets):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    for source in map(Path, sources):
        if status and source.exists() and path.samefile(source):
            msg = f"a file to write must not be an input as well, got {path}"
            raise ValueError(msg)


def _read_status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _sync(path: Path, flags: int) -> None:
    """Wait until a file, or the list of files in a folder, is on disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
