"""The path of a report, which notebooks show as a link."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    _Path = Path
else:
    # Before Python 3.12, only the path class of the operating system can be a base class.
    _Path = type(Path())


class ReportFile(_Path):
    """Path of a report, which notebooks show as a link."""

    def _repr_html_(self) -> str | None:
        """Return a link to the page, then the size and the path of the file.

        The result is None if there is no file. A notebook can open a relative link to a file in its
        working directory. A notebook may refuse to open a file outside this directory, so the full
        path follows as text.
        """
        if not self.is_file():
            return None
        path = self.absolute()
        is_below = path.is_relative_to(Path.cwd())
        address = quote(path.relative_to(Path.cwd()).as_posix()) if is_below else path.as_uri()
        link = f'<a href="{html.escape(address)}" target="_blank">{html.escape(self.name)}</a>'
        size = f"{self.stat().st_size / 1e6:.1f} MB"
        return f"Report: {link} ({size}, {html.escape(str(path))})"
