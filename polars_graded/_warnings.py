"""Warnings about data that make results misleading without an error."""

from __future__ import annotations

import inspect
import warnings
from typing import ClassVar


class DataWarning(UserWarning):
    """Warning about data that make results misleading without an error.

    Each kind is a subclass and an attribute of this class, such as `DataWarning.ties`. Python
    prints this name before the message: `DataWarning.ties: documents with the same score ...`. Pass
    the subclass to a filter of Python's module `warnings` to silence the kind, or `DataWarning` to
    silence all kinds.

    - `bots`: sessions of a click log have very many clicks;
    - `clusters`: several columns identify a query and none of them does so alone, so that queries
      probably depend on each other;
    - `files`: one of several run files is empty, or several have the same tag;
    - `ids`: identifiers of a run and its judgments hardly match;
    - `join`: the frame seems to lack judged documents that were not retrieved, as after a left or
      inner join;
    - `measures`: columns of numbers are left out, because their names are not names of measures;
    - `missing`: one strategy, or every strategy, has no ranking for some queries;
    - `nulls`: rows have null in place of a query or a strategy;
    - `positions`: a click log shows each document at one rank only, so that clicks cannot separate
      the quality of a document from the effect of its rank;
    - `scale`: grades may be on another scale than assumed, or on several scales;
    - `selection`: the queries that a trusted grader judged are probably not a random sample;
    - `support`: a click log never shows some documents at the ranks that they have in a new
      ranking;
    - `tests`: no difference, however large, is likely to be significant, or a test has no p value;
    - `ties`: the order of tied documents decides a result, or the argument `ties` names the column
      of grades;
    - `topics`: queries of a run have no judgments and are left out, as is usual in a shared task;
    - `unjudged`: judgments are missing for whole queries or for many top-ranked documents.

    See Also
    --------
    evaluate, join_judgments : Functions that issue most of these warnings.

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

    bots: ClassVar[type[DataWarning]]
    clusters: ClassVar[type[DataWarning]]
    files: ClassVar[type[DataWarning]]
    ids: ClassVar[type[DataWarning]]
    join: ClassVar[type[DataWarning]]
    measures: ClassVar[type[DataWarning]]
    missing: ClassVar[type[DataWarning]]
    nulls: ClassVar[type[DataWarning]]
    positions: ClassVar[type[DataWarning]]
    scale: ClassVar[type[DataWarning]]
    selection: ClassVar[type[DataWarning]]
    support: ClassVar[type[DataWarning]]
    tests: ClassVar[type[DataWarning]]
    ties: ClassVar[type[DataWarning]]
    topics: ClassVar[type[DataWarning]]
    unjudged: ClassVar[type[DataWarning]]


KINDS = tuple(DataWarning.__annotations__)

for _name in KINDS:
    _qualified_name = f"DataWarning.{_name}"
    _members = {
        "__module__": __name__,
        "__qualname__": _qualified_name,
        "__doc__": "A kind of `DataWarning`.",
    }
    setattr(DataWarning, _name, type(_qualified_name, (DataWarning,), _members))


def warn_the_caller(kind: type[DataWarning], sentence: str) -> None:
    """Issue a warning that points to the line that called the package."""
    warnings.warn(sentence, kind, stacklevel=_count_levels_to_caller())


def _count_levels_to_caller() -> int:
    """Return the `stacklevel` of the caller outside the package and Polars."""
    packages = (__name__.partition(".")[0], "polars")
    stack_frame, levels = inspect.currentframe(), 0
    while (
        stack_frame is not None
        and stack_frame.f_globals.get("__name__", "").split(".")[0] in packages
    ):
        stack_frame, levels = stack_frame.f_back, levels + 1
    return levels
