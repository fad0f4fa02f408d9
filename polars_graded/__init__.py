"""Ranking evaluation with graded relevance, as a Polars expression namespace.

Importing this registers `.graded` on Polars expressions; `Graded` documents its measures.
"""

from polars_graded.compare import compare, differences, rank_correlation, summarise
from polars_graded.evaluate import average_curves, evaluate, summary_table
from polars_graded.judgments import judge, read_letor, read_qrels, read_run
from polars_graded.namespace import Graded, graded
from polars_graded.relevance import phi_control_points, phi_curve

__all__ = [
    "Graded",
    "average_curves",
    "compare",
    "differences",
    "evaluate",
    "graded",
    "judge",
    "phi_control_points",
    "phi_curve",
    "rank_correlation",
    "read_letor",
    "read_qrels",
    "read_run",
    "summarise",
    "summary_table",
]

__version__ = "0.1.0"
