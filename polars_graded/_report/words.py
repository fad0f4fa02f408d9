"""Write sentences that do not depend on the results, and explain measures in a line."""

from __future__ import annotations

import inspect

from polars_graded._measuring.names import Measure
from polars_graded.namespace import Graded

MISSING = {
    "error": "",
    "drop": "If a strategy lacks the value of a measure for a query, the query is left out of that "
    "measure.",
    "zero": "Missing values count as 0.",
}
UNDEFINED = "If a measure is undefined for a query, the query is left out of that measure."


def explain_measure(name: str, formula: str | None = None) -> str:
    """Explain a measure or curve in a line; return "" for a column that is not a measure.

    `formula` is the measure that the column contains, such as "ndcg@10". If the column has another
    name, the formula precedes the explanation.
    """
    measure = Measure.parsed(formula or name)
    method = measure and getattr(Graded, measure.function, None)
    line = (inspect.getdoc(method) or "").split("\n", maxsplit=1)[0] if method else ""
    line = line.removeprefix("Return ")  # a page describes the value, not the call
    line = line[:1].upper() + line[1:]
    return f"{formula}: {line}" if formula and formula != name else line
