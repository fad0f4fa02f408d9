"""What the package warns of: data that make means wrong though every value is right."""

from __future__ import annotations

import inspect
import warnings
from typing import ClassVar


class DataWarning(UserWarning):
    """Something in the data makes a mean wrong, or may, though every value is computed right.

    Each kind is a class of its own, an attribute of this one, and Python shows its name before the
    sentence: `DataWarning.ties: documents with the same score ...`. That name silences the kind,
    and `DataWarning` all of them, by Python's own filters.

    - `files`: a file of a run is empty, or several have the same tag;
    - `ids`: identifiers of a run and its judgments hardly match;
    - `join`: judged documents that were not retrieved seem to be lost, as by a left or inner join;
    - `measures`: columns of numbers are left out, since they are not called like measures;
    - `missing`: a strategy, or all of them, did not answer queries;
    - `nulls`: rows have no query, or no strategy;
    - `ranks`: ranks are taken for scores;
    - `scale`: grades may mean something else than they are taken for;
    - `selection`: the queries that a trusted grader judged are hardly a random sample;
    - `tests`: a test can find no difference, however large, or has no p value;
    - `ties`: the order of rows decides a value, or the grade does;
    - `topics`: queries of a run are not judged and left out, as is usual in a shared task;
    - `unjudged`: queries, or one strategy's first documents, are not judged.

    See Also
    --------
    evaluate, judge : What they warn of.

    Examples
    --------
    >>> import warnings
    >>> import polars as pl
    >>> import polars_graded as pg
    >>> df = pl.DataFrame({"query": [1, 1], "grade": [0, 1], "score": [0.5, 0.5]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", pg.DataWarning.ties)
    ...     pg.evaluate(df, "ap")
    shape: (1, 3)
    ┌──────────┬───────┬─────┐
    │ strategy ┆ query ┆ ap  │
    │ ---      ┆ ---   ┆ --- │
    │ str      ┆ i64   ┆ f64 │
    ╞══════════╪═══════╪═════╡
    │ score    ┆ 1     ┆ 0.5 │
    └──────────┴───────┴─────┘
    """

    files: ClassVar[type[DataWarning]]
    ids: ClassVar[type[DataWarning]]
    join: ClassVar[type[DataWarning]]
    measures: ClassVar[type[DataWarning]]
    missing: ClassVar[type[DataWarning]]
    nulls: ClassVar[type[DataWarning]]
    ranks: ClassVar[type[DataWarning]]
    scale: ClassVar[type[DataWarning]]
    selection: ClassVar[type[DataWarning]]
    tests: ClassVar[type[DataWarning]]
    ties: ClassVar[type[DataWarning]]
    topics: ClassVar[type[DataWarning]]
    unjudged: ClassVar[type[DataWarning]]


KINDS = tuple(DataWarning.__annotations__)

for _name in KINDS:
    _called = f"DataWarning.{_name}"
    _members = {
        "__module__": __name__,
        "__qualname__": _called,
        "__doc__": "A kind of `DataWarning`.",
    }
    setattr(DataWarning, _name, type(_called, (DataWarning,), _members))


def warn_the_caller(kind: type[DataWarning], sentence: str) -> None:
    """Warn in the name of the line that called the package."""
    warnings.warn(sentence, kind, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How many calls up the stack is the first from outside the package and Polars."""
    packages = (__name__.partition(".")[0], "polars")
    frame, levels = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in packages:
        frame, levels = frame.f_back, levels + 1
    return levels
