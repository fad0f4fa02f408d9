"""Read text files, plain or gzip, in blocks of whole lines.

A file is given by its path, by a pattern of paths, by its content as bytes, or as an open file.
"""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[str] | IO[bytes]"
Paths: TypeAlias = "Source | Iterable[Source]"

BLOCK_BYTES = 1 << 24
"""Approximate size of a block in bytes.

Parsing a block of this size keeps all cores busy, and the block takes little memory compared with
the parsed rows.
"""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Consecutive whole lines of a file, which are parsed together."""

    file: str
    """Name of the file in messages."""
    text: bytes
    first: int
    """Number of the first line of the block in the file, counted from 1."""


@dataclass(frozen=True)
class TextFile:
    """A text file: its path, its content as bytes, or an open file.

    An open file is read from its current position.
    """

    source: Path | bytes | IO[str] | IO[bytes]
    strategy: str | None = None
    """Name of the strategy if the file is a run. It is None if the run's tags are the names, and
    for files that are not runs."""
    default_strategy: str | None = None
    """Name of the strategy if the file is a run without tags."""

    @property
    def name(self) -> str:
        """Return the name of the file in messages."""
        if isinstance(self.source, Path):
            return str(self.source)
        name = getattr(self.source, "name", None)
        return name if isinstance(name, str) else f"<{type(self.source).__name__}>"

    def blocks(self) -> Iterator[Block]:
        """Yield the lines in blocks; only the last line may lack a line end."""
        first = 1
        with _open_binary(self.source) as opened:
            while text := self._lines(opened):
                if first == 1 and text.startswith(_PARQUET):
                    msg = (
                        f"{self.name} must be text, got a Parquet file\n\n"
                        f"Hint: join_judgments and evaluate take pl.read_parquet({self.name!r})"
                    )
                    raise ValueError(msg)
                content = text.removeprefix(_BYTE_ORDER_MARK) if first == 1 else text
                yield Block(self.name, content, first)
                first += text.count(b"\n")

    def _lines(self, opened: IO[bytes]) -> bytes:
        try:
            return opened.read(BLOCK_BYTES) + opened.readline()
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
            if isinstance(content, str):
                # Lone surrogates are kept here, so that the parser's error can name their line.
                content = content.encode(errors="surrogatepass")
            file = io.BytesIO(content)
        start = file.tell()
        is_gzip = file.read(len(_GZIP)) == _GZIP
        file.seek(start)
        yield stack.enter_context(gzip.GzipFile(fileobj=file)) if is_gzip else file


def list_files(paths: Any) -> list[TextFile]:
    """Return the files that `paths` names.

    A path with `*`, `?` or `[` is a pattern, unless a file or folder has exactly this name.
    """
    is_single = isinstance(paths, str | os.PathLike | bytes) or hasattr(paths, "read")
    sources = [paths] if is_single or not isinstance(paths, Iterable) else list(paths)
    if not sources:
        msg = "`paths` must name at least one file, got none"
        raise ValueError(msg)
    return [file for source in sources for file in _list_files_of_path(source)]


def _list_files_of_path(source: Any) -> list[TextFile]:
    if isinstance(source, bytes) or hasattr(source, "read"):
        return [TextFile(source)]
    if not isinstance(source, str | os.PathLike):
        msg = f"`paths` must be a path, an open file or a list of them, got {source!r}"
        raise TypeError(msg)
    path = os.fspath(source)
    if "\0" in path:
        msg = f"`paths` must be paths without a NUL, got {path!r}"
        raise ValueError(msg)
    if not glob.has_magic(path) or Path(path).exists():
        return [TextFile(Path(path))]
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207
    if not matches:
        msg = f"no file has a name like {path!r}"
        raise FileNotFoundError(msg)
    return [TextFile(Path(each)) for each in matches]
