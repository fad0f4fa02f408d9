"""Text files a block of whole lines at a time: paths, patterns and open files, plain or gzip."""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from polars_graded._forking import check_not_forked

if TYPE_CHECKING:
    from collections.abc import Iterator

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[str] | IO[bytes]"
Paths: TypeAlias = "Source | Iterable[Source]"

BLOCK_BYTES = 1 << 24
"""About how much text is read at once: enough for all cores, and little beside what it becomes."""

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Some whole lines of a file."""

    file: str
    """What a message calls the file."""
    text: bytes
    first: int
    """The number of its first line, counted from 1."""


@dataclass(frozen=True)
class TextFile:
    """A path, the text itself as bytes, or an open file, which is read from where it stands."""

    source: Path | bytes | IO[str] | IO[bytes]

    @property
    def name(self) -> str:
        """What a message calls it."""
        if isinstance(self.source, Path):
            return str(self.source)
        name = getattr(self.source, "name", None)
        return name if isinstance(name, str) else f"<{type(self.source).__name__}>"

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file, without what gzip made of it; an open file stays open."""
        if isinstance(self.source, Path):
            with self.source.open("rb") as file, _unpacked(file) as text:
                yield text
        elif isinstance(self.source, bytes):
            with _unpacked(io.BytesIO(self.source)) as text:
                yield text
        else:
            with _unpacked(self.source) as text:
                yield text


@contextmanager
def _unpacked(file: IO[Any]) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where its first two say that it is gzip."""
    if isinstance(file, io.TextIOBase) or not file.seekable():
        content = file.read()
        # What is no text at all is left to be found in its line.
        file = io.BytesIO(
            content.encode(errors="surrogatepass") if isinstance(content, str) else content
        )
    start = file.tell()
    packed = file.read(len(_GZIP)) == _GZIP
    file.seek(start)
    if not packed:
        yield file
        return
    with gzip.GzipFile(fileobj=file) as unpacked:
        yield cast("IO[bytes]", unpacked)


def check_paths(name: str, value: Any) -> list[Source]:
    """`value` as a list of what can be read; not empty."""
    check_not_forked()
    several = isinstance(value, Iterable) and not (
        isinstance(value, str | os.PathLike | bytes) or hasattr(value, "read")
    )
    sources = list(value) if several else [value]
    if not sources:
        msg = f"`{name}` must name at least one file, got none"
        raise ValueError(msg)
    for source in sources:
        if not (isinstance(source, str | os.PathLike | bytes) or hasattr(source, "read")):
            msg = f"`{name}` must be a path, an open file or a list of them, got {source!r}"
            raise TypeError(msg)
        if isinstance(source, str | os.PathLike) and "\0" in os.fspath(source):
            msg = f"`{name}` must be paths without a NUL, got {os.fspath(source)!r}"
            raise ValueError(msg)
    return sources


def text_files(sources: Iterable[Source]) -> list[TextFile]:
    """The files; a path that does not exist and has `*`, `?` or `[` is a pattern of several."""
    files: list[TextFile] = []
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            files.append(TextFile(source))
        elif glob.has_magic(os.fspath(source)) and not Path(source).exists():
            found = sorted(glob.glob(os.fspath(source), recursive=True))  # noqa: PTH207
            if not found:
                msg = f"no file has a name like {os.fspath(source)!r}"
                raise FileNotFoundError(msg)
            files += [TextFile(Path(path)) for path in found]
        else:
            files.append(TextFile(Path(source)))
    return files


def blocks_of(file: TextFile) -> Iterator[Block]:
    """All lines of a file, the last one too where it does not end."""
    first = 1
    begun: list[bytes] = []  # a line, and more than one piece of it where it is long
    with file.opened() as opened:
        while piece := _read(file, opened):
            end = piece.rfind(b"\n") + 1
            if not end:
                begun.append(piece)
                continue
            text = b"".join([*begun, piece[:end]])
            yield _block(file, text, first)
            first += text.count(b"\n")
            begun = [piece[end:]]
    if text := b"".join(begun):
        yield _block(file, text, first)


def _read(file: TextFile, opened: IO[bytes]) -> bytes:
    try:
        return opened.read(BLOCK_BYTES)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        msg = f"{file.name} must be a whole gzip file, got a damaged one: {error}"
        raise ValueError(msg) from None


def _block(file: TextFile, text: bytes, first: int) -> Block:
    return Block(file.name, text.removeprefix(_BYTE_ORDER_MARK) if first == 1 else text, first)
