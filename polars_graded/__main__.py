"""`python -m polars_graded`: rankings in files, or a built-in example, to a table of measures."""

from __future__ import annotations

from polars_graded._command.running import main

if __name__ == "__main__":
    main()
