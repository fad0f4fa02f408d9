"""Find and open text files: paths, patterns, bytes or open files, plain or gzip."""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[str] | IO[bytes]"
Paths: TypeAlias = "Source | Iterable[Source]"

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class File(NamedTuple):
    """A file: its path, its content as bytes, or an open file."""

    source: Path | bytes | IO[str] | IO[bytes]

    @property
    def name(self) -> str:
        """Return the name of the file in messages."""
        if isinstance(self.source, Path):
            return str(self.source)
        name = getattr(self.source, "name", None)
        return name if isinstance(name, str) else f"<{type(self.source).__name__}>"

    def read(self) -> bytes:
        """Return the whole content."""
        return b"".join(self.read_blocks(-1))

    def read_blocks(self, size: int) -> Iterator[bytes]:
        """Yield whole lines in blocks of about `size` bytes; all lines at once for -1."""
        with _open_binary(self.source) as opened:
            try:
                block = opened.read(size) + opened.readline()
                block = block.removeprefix(_BYTE_ORDER_MARK)
                while block:
                    yield block
                    block = opened.read(size) + opened.readline()
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                msg = f"{self.name} must be a complete gzip file, got a damaged one: {error}"
                raise ValueError(msg) from None


@contextmanager
def _open_binary(source: Any) -> Iterator[Any]:
    """Yield the source as a binary file, decompressed if it is gzip.

    A file opened here is closed at the end. A file that the caller opened stays open.
    """
    with ExitStack() as stack:
        file = stack.enter_context(source.open("rb")) if isinstance(source, Path) else source
        if isinstance(file, bytes):
            file = io.BytesIO(file)
        elif isinstance(file, io.TextIOBase) or not file.seekable():
            content: Any = file.read()
            file = io.BytesIO(content.encode() if isinstance(content, str) else content)
        start = file.tell()
        is_gzip = file.read(len(_GZIP)) == _GZIP
        file.seek(start)
        yield stack.enter_context(gzip.GzipFile(fileobj=file)) if is_gzip else file


def list_files(paths: Any) -> list[File]:
    """Return the files that `paths` names.

    A path with `*`, `?` or `[` is a pattern, unless a file or folder has exactly this name.
    """
    is_single = isinstance(paths, str | os.PathLike | bytes) or hasattr(paths, "read")
    sources = [paths] if is_single or not isinstance(paths, Iterable) else list(paths)
    if not sources:
        msg = "`paths` must name at least one file, got none"
        raise ValueError(msg)
    return [file for source in sources for file in _list_files_of_path(source)]


def _list_files_of_path(source: Any) -> list[File]:
    if isinstance(source, bytes) or hasattr(source, "read"):
        return [File(source)]
    if not isinstance(source, str | os.PathLike):
        msg = f"`paths` must be a path, an open file or a list of them, got {source!r}"
        raise TypeError(msg)
    path = os.fspath(source)
    if not glob.has_magic(path) or Path(path).exists():
        return [File(Path(path))]
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
    if not matches:
        msg = f"no file has a name like {path!r}"
        raise FileNotFoundError(msg)
    return [File(Path(each)) for each in matches]
