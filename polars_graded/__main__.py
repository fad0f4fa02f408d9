"""Entry point of `python -m polars_graded`, which prints measures of rankings in files."""

from __future__ import annotations

from polars_graded._command.running import main

if __name__ == "__main__":
    main()
