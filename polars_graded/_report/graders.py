"""What the graders of results say, in the charts that there are of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_graded._report.specs import CONFIG
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.keys import GRADER
from polars_graded.charts import grader_orders, trusted_forest

if TYPE_CHECKING:
    from collections.abc import Mapping


def graders_drawn(
    by_grader: Mapping[str, pl.DataFrame],
    measures: dict[str, Any],
    trusted: str | None,
    baseline: Any,
    **keys: Any,
) -> dict[str, Any]:
    """The order of strategies under each grader; what trusted grades, a model's and both say."""
    strategy = keys["strategy"]
    results = pl.concat(
        rows.with_columns(pl.lit(name).alias(GRADER)) for name, rows in by_grader.items()
    )
    charts: list[Any] = [grader_orders(summarise(results, measures, **keys), strategy=strategy)]
    if trusted is not None:
        # Of several models one measure is drawn, each model in a panel.
        panel = "measure" if len(by_grader) == 2 else GRADER  # noqa: PLR2004
        drawn = measures if panel == "measure" else dict([*measures.items()][:1])
        tables = [summarise(results, drawn, trusted=trusted, **keys)]
        if results[strategy].n_unique() > 1:
            tables.append(compare(results, drawn, trusted=trusted, baseline=baseline, **keys))
        charts += [trusted_forest(each, panel=panel, strategy=strategy) for each in tables]
    said = ". ".join(chart.description for chart in charts)
    chart = alt.vconcat(*charts).resolve_scale(color="independent")
    return {"spec": {**chart.to_dict(), "params": [], "config": CONFIG}, "said": said}
