"""The namespace `.graded` of frames: the functions of this package as methods, for chaining."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MethodType
from typing import Any

import polars as pl

from polars_graded._checks import did_you_mean
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.fusing import fuse
from polars_graded._frames.inspecting import overview, side_by_side
from polars_graded._frames.joining import join_judgments
from polars_graded._frames.similarities import similarity
from polars_graded._report.page import report
from polars_graded._results.agreement import agreement
from polars_graded._results.catalogues import catalogue
from polars_graded._results.comparing import (
    compare,
    compare_segments,
    differences,
    rank_strategies,
    summarise,
)
from polars_graded._results.gating import gate
from polars_graded._results.paper_tables import paper_table
from polars_graded._results.result_files import write_results

_FUNCTIONS: tuple[Any, ...] = (
    *(join_judgments, overview, side_by_side, evaluate, similarity, fuse, agreement),
    catalogue,
    *(summarise, compare, differences, compare_segments, rank_strategies),
    *(gate, paper_table, report, write_results),
)
METHODS: dict[str, Callable[..., Any]] = {each.__name__: each for each in _FUNCTIONS}
"""Functions whose first argument is a frame."""


class FrameMethods:
    """Functions of a module as methods of a frame, which is their first argument."""

    def __init__(
        self, frame: pl.DataFrame | pl.LazyFrame, methods: dict[str, Any], of: str
    ) -> None:
        self._frame, self._methods, self._of = frame, methods, of

    def __getattr__(self, name: str) -> Any:
        """Return a function with the frame as its first argument."""
        if name not in self._methods:
            hint = did_you_mean(name, self._methods)
            msg = f"{self._of} has no method {name!r}; there are {', '.join(self._methods)}{hint}"
            raise AttributeError(msg)
        return MethodType(self._methods[name], self._frame)

    def __dir__(self) -> list[str]:
        """Return the names of the methods for completion."""
        return [*self._methods]


@pl.api.register_lazyframe_namespace("graded")
@pl.api.register_dataframe_namespace("graded")
class GradedFrame(FrameMethods):
    """The functions of this package as methods of a DataFrame or LazyFrame.

    ``df.graded.evaluate("ndcg@10", by="score")`` is ``pg.evaluate(df, "ndcg@10", by="score")``. The
    methods have the names, arguments and results of the functions whose first argument is a frame.
    `df.graded.charts` contains the charts.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {"query": [1, 1, 2, 2], "grade": [2, 0, 1, 0], "old": [1, 2, 3, 4], "new": [4, 3, 2, 1]}
    ... )
    >>> values = df.graded.evaluate("ap", by=["old", "new"])
    >>> values.graded.summarise().select("strategy", "measure", "mean")
    shape: (2, 3)
    ┌──────────┬─────────┬──────┐
    │ strategy ┆ measure ┆ mean │
    │ ---      ┆ ---     ┆ ---  │
    │ str      ┆ str     ┆ f64  │
    ╞══════════╪═════════╪══════╡
    │ old      ┆ ap      ┆ 0.5  │
    │ new      ┆ ap      ┆ 1.0  │
    └──────────┴─────────┴──────┘
    """

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        super().__init__(frame, METHODS, ".graded")

    @property
    def charts(self) -> FrameMethods:
        """The charts of `polars_graded.charts` as methods of the frame."""
        # Altair is loaded on first use, since importing it is slow.
        module = import_module("polars_graded.charts")
        methods = {name: getattr(module, name) for name in module.__all__ if name != "for_print"}
        return FrameMethods(self._frame, methods, ".graded.charts")

    def __dir__(self) -> list[str]:
        """Return the names of the methods for completion."""
        return [*METHODS, "charts"]
