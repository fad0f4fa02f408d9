"""Ranking evaluation with graded relevance, as a Polars expression namespace.

Importing this registers `.graded` on Polars expressions; `Graded` documents its measures. The
modules `charts`, `datasets`, `experiments` and `trust` are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.judging import judge
from polars_graded._frames.overview import overview, side_by_side
from polars_graded._frames.reading import (
    read_letor,
    read_qrels,
    read_run,
    scan_letor,
    scan_qrels,
    scan_run,
)
from polars_graded._measuring.phi import phi_control_points, phi_curve
from polars_graded._report.page import report
from polars_graded._results.agreement import agreement
from polars_graded._results.averages import average_curves, count_retrieved
from polars_graded._results.comparing import compare, differences, summarise
from polars_graded._results.forms import long_form, paper_table
from polars_graded._results.gating import assert_no_worse, gate
from polars_graded._results.ranks import rank_strategies
from polars_graded._results.segments import compare_segments
from polars_graded._versions import show_versions
from polars_graded._warnings import DataWarning
from polars_graded.namespace import Graded, graded

if TYPE_CHECKING:
    from polars_graded import charts, datasets, experiments, trust

__all__ = [
    "DataWarning",
    "Graded",
    "agreement",
    "assert_no_worse",
    "average_curves",
    "charts",
    "compare",
    "compare_segments",
    "count_retrieved",
    "datasets",
    "differences",
    "evaluate",
    "experiments",
    "gate",
    "graded",
    "judge",
    "long_form",
    "overview",
    "paper_table",
    "phi_control_points",
    "phi_curve",
    "rank_strategies",
    "read_letor",
    "read_qrels",
    "read_run",
    "report",
    "scan_letor",
    "scan_qrels",
    "scan_run",
    "show_versions",
    "side_by_side",
    "summarise",
    "trust",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The modules that are loaded when they are first used; Altair is slow to import."""
    if name in ("charts", "datasets", "experiments", "trust"):
        return import_module(f"polars_graded.{name}")
    msg = f"module 'polars_graded' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """What completion offers, modules that are not loaded yet among it."""
    return [*__all__, "__version__"]
