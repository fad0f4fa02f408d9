"""Run `python -m polars_graded`, which prints measures of rankings."""

from __future__ import annotations

from polars_graded._command import main

if __name__ == "__main__":
    main()
