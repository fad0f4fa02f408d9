"""Ranking evaluation with graded relevance, as a Polars expression namespace.

Importing this registers `.graded` on expressions: `help(pl.col("grade").graded)` has the measures,
`help(pg.evaluate)` any name below. The modules are loaded when they are first used.

Measures of columns
    Graded               what `.graded` is: how rows become a ranking, and its measures
    graded               the `.graded` of a column, for type checkers and editors
    phi_control_points   the control points that φ runs through, for each query
    phi_curve            φ from the lowest to the highest score, for each query

Files, and runs with their judgments
    read_run, scan_run         TREC runs at once, or lazily
    read_qrels, scan_qrels     TREC judgments
    read_letor, scan_letor     LETOR's graded documents with their features
    judge                      a run and its judgments as the one frame that measures need
    DataWarning                what in the data makes a mean wrong, or may

Whole frames
    overview          what was retrieved, judged and relevant, before measuring
    count_retrieved   what all queries together retrieved and could have retrieved
    side_by_side      what each strategy has at each rank of one query
    evaluate          the measures of rankings: one row per strategy and query

What results say
    summarise           each strategy's means: what goes into a paper's table
    compare             strategies pair by pair, and whether a difference may be chance
    compare_segments    whether a difference is another in each segment of queries
    differences         two strategies query by query
    rank_strategies     strategies by their means, and how sure each rank is
    gate                better, no worse, or worse than the baseline
    assert_no_worse     the same as one line of a test
    write_results, read_results   files of results that say what they are
    average_curves      curves averaged over queries
    agreement           how far graders agree on the grades of documents
    long_form           measures below one another, for charts
    paper_table         the table of a paper: strategies by measures, with significance
    report              one HTML page of all of it

Modules
    charts        Altair charts of what the functions above return
    trust         how far results can be trusted
    datasets      rankings to try measures on
    experiments   two papers' experiments

show_versions   the versions of this package and of what it works with
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
from polars_graded._results.result_files import read_results, write_results
from polars_graded._results.segments import compare_segments
from polars_graded._versions import __version__, show_versions
from polars_graded._warnings import DataWarning
from polars_graded.namespace import Graded, graded

if TYPE_CHECKING:
    from polars_graded import charts, datasets, experiments, trust

__all__ = [
    "DataWarning",
    "Graded",
    "__version__",
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
    "read_results",
    "read_run",
    "report",
    "scan_letor",
    "scan_qrels",
    "scan_run",
    "show_versions",
    "side_by_side",
    "summarise",
    "trust",
    "write_results",
]

_MODULES = ("charts", "datasets", "experiments", "trust")


def __getattr__(name: str) -> Any:
    """Load a module when it is first used; Altair is slow to import."""
    if name in _MODULES:
        return import_module(f"polars_graded.{name}")
    msg = f"module 'polars_graded' has no attribute {name!r}{_hint_of(name)}"
    raise AttributeError(msg)


_CALLED_HERE = {
    **dict.fromkeys(("summarize", "summary", "describe", "aggregate"), "summarise"),
    **dict.fromkeys(("calc_aggregate", "evaluate_run", "score"), "evaluate"),
}
"""What other tools, and the other spelling, call a function."""


def _hint_of(name: str) -> str:
    """Return a hint at what a name is called here, or at the module that holds it."""
    if name in _CALLED_HERE:
        return f"\n\nHint: it is called pg.{_CALLED_HERE[name]}"
    if name.startswith("_"):
        return ""  # what tools look for in any module
    homes = [module for module in _MODULES if name in import_module(f"{__name__}.{module}").__all__]
    places = " or ".join(f"pg.{module}.{name}" for module in homes)
    return f"\n\nHint: it is {places}" if places else ""


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__
