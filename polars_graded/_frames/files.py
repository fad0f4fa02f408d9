"""Find files, and read their content and their lines: paths, patterns, bytes or open files."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, TypeAlias

import polars as pl

Source: TypeAlias = "str | os.PathLike[str] | bytes | IO[str] | IO[bytes]"
Paths: TypeAlias = "Source | Iterable[Source]"

MAX_SHOWN_CHARACTERS = 200
"""Maximum length of a line in an error."""

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
        """Return the content, decompressed if it is gzip."""
        if isinstance(self.source, bytes):
            content = self.source
        elif isinstance(self.source, Path):
            content = self.source.read_bytes()
        else:
            given = self.source.read()
            content = given.encode() if isinstance(given, str) else given
        if content.startswith(_GZIP):
            try:
                content = gzip.decompress(content)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                msg = f"{self.name} must be a complete gzip file, got a damaged one: {error}"
                raise ValueError(msg) from None
        return content.removeprefix(_BYTE_ORDER_MARK)


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


def split_lines(file: str, content: bytes) -> pl.DataFrame:
    """Return the `number` and the stripped text of each `line`; raise unless all are UTF-8."""
    try:
        # Some text, such as "x^", begins like a compressed file, which Polars would decompress.
        lines = pl.read_lines(b"\n" + content, name="line", row_index_name="number").slice(1)
    except (pl.exceptions.PolarsError, OSError):
        _refuse_other_bytes(file, content)
    text = pl.col("line").str.strip_chars_end("\r").str.strip_chars(" \t")
    return lines.with_columns(pl.col("number").cast(pl.Int64), text)


def _refuse_other_bytes(file: str, content: bytes) -> NoReturn:
    """Raise for the first line that is not UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        line = content.split(b"\n")[number - 1].decode(errors="replace").strip(" \t\r")
        sentence = f"text must be UTF-8, got byte 0x{content[error.start]:02x}"
        refuse_line(file, number, sentence, line)
    msg = f"{file} must have lines of text, got something else"
    raise ValueError(msg)


def refuse_line(file: str, number: int, sentence: str, line: str, hint: str = "") -> NoReturn:
    """Raise for a malformed line."""
    if len(line) > MAX_SHOWN_CHARACTERS:
        line = line[:MAX_SHOWN_CHARACTERS] + "..."
    msg = f"{file}, line {number}: {sentence}: {line!r}{hint}"
    raise ValueError(msg)
