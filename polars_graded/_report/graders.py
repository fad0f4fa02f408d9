"""Add the graders of results to the verdicts and to the charts of the page."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from polars_graded._report.payload import Payload
from polars_graded._report.specs import CONFIG
from polars_graded._results.comparing import compare, summarise
from polars_graded._results.keys import GRADER
from polars_graded._results.per_query import find_best_places
from polars_graded._sentences import conjugate, list_names
from polars_graded.charts import grader_orders, trusted_forest


def add_graders(
    payload: Payload,
    results: pl.DataFrame,
    grader: str,
    trusted: str | None,
    baseline: Any,
    **keys: Any,
) -> None:
    """Add sentences on graders to the verdicts, and charts of graders.

    Each verdict gets a sentence that all results are based on the grades of `grader`. For each
    other grader, a further sentence names the strategies with the best mean by this grader. This
    further sentence is left out if all or none of the strategies have the best mean. If there is
    only one grader, no charts are added.
    """
    for measure in payload["measures"]:
        measure["verdict"].append(f" All results are based on the grades of {grader}.")
    best = {measure["name"]: measure["best"] for measure in payload["measures"]}
    if not best or results[GRADER].n_unique() == 1:
        return
    means = summarise(results, best, **keys)
    for measure in payload["measures"]:
        rows = means.filter(pl.col("measure") == measure["name"], pl.col(GRADER) != grader)
        for (other,), rows_of_grader in rows.group_by(GRADER, maintain_order=True):
            strategies = rows_of_grader[keys["strategy"]].cast(pl.String).to_list()
            names = [
                strategies[index]
                for index in find_best_places(rows_of_grader["mean"], measure["best"])
            ]
            leads = f"{list_names(names)} {conjugate(len(names), 'have')} the best mean"
            are_all_best = len(names) in (0, len(strategies))
            measure["verdict"] += [] if are_all_best else [f" By those of {other}, {leads}."]
    charts: list[Any] = [grader_orders(means, strategy=keys["strategy"])]
    if trusted is not None:
        # Two graders: one panel per measure. More graders: one panel per grader, and only the first
        # measure is drawn.
        panel = "measure" if results[GRADER].n_unique() == 2 else GRADER  # noqa: PLR2004
        drawn_measures = best if panel == "measure" else dict([*best.items()][:1])
        tables = [summarise(results, drawn_measures, trusted=trusted, **keys)]
        if len(payload["strategies"]) > 1:
            tables.append(
                compare(results, drawn_measures, trusted=trusted, baseline=baseline, **keys)
            )
        charts += [trusted_forest(each, panel=panel, strategy=keys["strategy"]) for each in tables]
    description = ". ".join(chart.description for chart in charts)
    spec = alt.vconcat(*charts).resolve_scale(color="independent").to_dict()
    spec |= {"params": [], "config": CONFIG}
    payload["graders"] = {"spec": spec, "description": description}
