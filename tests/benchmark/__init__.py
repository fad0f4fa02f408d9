"""How fast and how lean the package is: `python -m tests.benchmark` prints a table of ratios.

A section module has a `TITLE` and `rows(sizes)`. Most of one is a list of cases, the first of which
is what the others are compared with; a new line of the table is a new case.

`python -m tests.benchmark.compared` measures every tool from few rows to where it stops, each
`alone` in a process of its own; what it found is `drawn`.
"""
