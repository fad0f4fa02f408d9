"""Benchmarks of time and memory: `python -m tests.benchmark` prints a table of ratios.

A section module has a `TITLE` and `rows(sizes)`. It mostly consists of a list of cases. All cases
are compared with the first one, and each new case adds a line to the table.

`python -m tests.benchmark.compared` measures other tools with more and more rows, each tool in a
separate process (`alone`), and draws the results (`drawn`).
"""
