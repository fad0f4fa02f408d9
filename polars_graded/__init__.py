"""Ranking evaluation with graded relevance, as a Polars expression namespace.

Importing this package, usually as `pg`, registers `.graded` on expressions and on frames.
`help(pl.col("grade").graded)` lists the measures. `help(pg.evaluate)` explains the function
`evaluate`. Each function below has such a help text.

The functions of frames are also methods, for chaining:
``df.graded.evaluate("ndcg@10", by=["old", "new"]).graded.compare(baseline="old")``. Charts are too:
``df.graded.charts.strategy_bars()``.

Begin with these
    join_judgments    a run and its judgments as the one frame that measures need
    evaluate          the measures of rankings: one row per strategy and query
    summarise         each strategy's means, with intervals
    compare           strategies pair by pair, with tests of their differences
    charts            Altair charts of these results
    report            one HTML page that shows these results
    gate              verdicts, such as better, no worse or worse than the baseline

Files
    read_run                      runs, from TREC to CSV, Parquet and JSON
    read_qrels                    judgments, in the same formats
    read_letor                    LETOR's graded documents with their features
    read_results, write_results   files of results, with the settings of `evaluate` if known

Data and rankings
    overview       shares of documents that are retrieved, judged and relevant
    side_by_side   each strategy's document at each rank of one query
    similarity     measures of how alike two rankings are; most need no grades
    fuse           one score per document from those of several strategies
    DataWarning    warnings about data that make results misleading

More about results
    rank_strategies    strategies by their means, with intervals of their ranks
    compare_segments   tests of whether a difference varies between segments of queries
    differences        two strategies query by query
    paper_table        the table of a paper: strategies by measures, with significance

Measures as expressions
    graded   the `.graded` of a column, for type checkers and editors
    Graded   its class, whose methods rank rows and compute measures

For studies
    agreement                       agreement of graders on the grades of documents
    catalogue                       coverage and concentration of recommendations to all users
    phi_control_points, phi_curve   φ, which maps scores to relevance, for each query
    trust                           module: power, stability and robustness of results
    clicks                          module: relevance, interleaving and evaluation from click logs
    datasets                        module: rankings and click logs to try measures on
    show_versions                   the versions of this package and its dependencies
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polars_graded._frame_methods import GradedFrame as _GradedFrame  # noqa: F401 (registers)
from polars_graded._frames.evaluating import evaluate
from polars_graded._frames.fusing import fuse
from polars_graded._frames.inspecting import overview, side_by_side
from polars_graded._frames.joining import join_judgments
from polars_graded._frames.reading import read_letor, read_qrels, read_run
from polars_graded._frames.similarities import similarity
from polars_graded._measuring.phi import phi_control_points, phi_curve
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
from polars_graded._results.result_files import read_results, write_results
from polars_graded._versions import __version__, show_versions
from polars_graded._warnings import DataWarning
from polars_graded.namespace import Graded, graded

if TYPE_CHECKING:
    from polars_graded import charts, clicks, datasets, trust

__all__ = [
    "DataWarning",
    "Graded",
    "__version__",
    "agreement",
    "catalogue",
    "charts",
    "clicks",
    "compare",
    "compare_segments",
    "datasets",
    "differences",
    "evaluate",
    "fuse",
    "gate",
    "graded",
    "join_judgments",
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
    "show_versions",
    "side_by_side",
    "similarity",
    "summarise",
    "trust",
    "write_results",
]

_MODULES = ("charts", "clicks", "datasets", "trust")


def __getattr__(name: str) -> Any:
    """Load a module on first use, since importing Altair is slow."""
    if name in _MODULES:
        return import_module(f"polars_graded.{name}")
    msg = f"module 'polars_graded' has no attribute {name!r}{_find_module(name)}"
    raise AttributeError(msg)


_NAMES_HERE = {
    **dict.fromkeys(("summarize", "summary", "describe", "aggregate"), "summarise"),
    **dict.fromkeys(("calc_aggregate", "evaluate_run", "score"), "evaluate"),
}
"""Functions of this package, by their names in other tools or in American spelling."""


def _find_module(name: str) -> str:
    """Return a hint with the name to use, or "" if no name is known."""
    if name in _NAMES_HERE:
        return f"\n\nHint: it is called pg.{_NAMES_HERE[name]}"
    if name.startswith("_"):
        return ""  # such as __wrapped__, which tools look up in every module
    homes = [module for module in _MODULES if name in import_module(f"{__name__}.{module}").__all__]
    places = " or ".join(f"pg.{module}.{name}" for module in homes)
    return f"\n\nHint: it is {places}" if places else ""


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__
