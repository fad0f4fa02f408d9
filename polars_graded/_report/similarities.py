"""Compare rankings without grades, for a table of the report."""

from __future__ import annotations

import warnings

import polars as pl

from polars_graded._frames.list_pairs import similarity
from polars_graded._report.documents import RankedFrame
from polars_graded._report.packing import round_number
from polars_graded._report.payload import Payload, Similarity
from polars_graded._results.per_query import Grid
from polars_graded._sentences import format_count, shorten_name

KEYWORDS = ("query", "by", "descending", "strategy")
"""Keywords of `evaluate` that define the rankings. `ties` is not among them, so that documents with
equal scores remain tied."""

MAX_PAIRED_STRATEGIES = 10
"""Maximum number of strategies for which every pair is shown; with more, one strategy is compared
with all others."""

MAX_COMPARED_ROWS = 50_000_000
"""Maximum of (number of rows) × (number of scores in `by`). If every pair of strategies is
compared, this product is multiplied by the number of strategies."""

NOTE = (
    "Means over {queries} for {pairs}. Overlap is the share of the first ten documents that both "
    "strategies have. Rank-biased overlap compares whole rankings, and the top ranks count most "
    "(p = 0.9). Both are 1 for equal rankings and 0 without a common document, and use no grades. "
    "The rankings that differ most come first."
)


def build_similarity(documents: RankedFrame, grid: Grid, payload: Payload) -> Similarity | None:
    """Return mean similarities of all pairs, or of one strategy to all others.

    If the page has a baseline, the baseline is compared with all others. Otherwise, all pairs are
    compared if the frame has at most `MAX_PAIRED_STRATEGIES` strategies of the page. If it has
    more, the best strategy by the first measure is compared with all others. Without measures, the
    first strategy is compared with all others.

    Return None in any of these cases:

    - the frame has fewer than two strategies of the page;
    - the frame lacks the strategy that is compared with all others;
    - the frame has too many rows;
    - the frame has a column of strategies but no column of documents.
    """
    request, frame, names = documents.request, documents.frame, payload["strategies"]
    doc = request.document or documents.shown.get("doc")
    if request.strategy is not None:
        if doc is None:
            return None
        frame = frame.with_columns(pl.col(request.strategy).cast(pl.String).fill_null("null"))
        available = {*frame[request.strategy]}
    else:
        available = {*request.by}
    shared = [name for name in names if name in available]
    baseline_index, first_measure = payload["comparison"]["baseline"], payload["measures"][:1]
    baseline, pairs = None, "every pair"
    if baseline_index is not None:
        baseline, pairs = names[baseline_index], "each strategy and the baseline"
    elif len(shared) > MAX_PAIRED_STRATEGIES:
        baseline = names[first_measure[0]["order"][0]] if first_measure else names[0]
        best = f", the best by {first_measure[0]['name']}" if first_measure else ""
        pairs = f"each strategy and {shorten_name(baseline)}{best}"
    n_rows = frame.height * len(request.by) * (len(shared) if baseline is None else 1)
    has_pair = len(shared) > 1 and baseline in {None, *shared}
    if not has_pair or n_rows > MAX_COMPARED_ROWS:
        return None
    options = {name: documents.options[name] for name in KEYWORDS if name in documents.options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the evaluation has already warned
        values = similarity(
            frame,
            {"overlap": "overlap@10", "rbo": "rbo"},
            doc=doc,
            baseline=baseline,
            progress=False,
            **options,
        )
    [query] = request.query
    is_in_page = (
        pl.col(query)
        .cast(pl.String)
        .is_in(grid.queries.cast(pl.String).implode(), nulls_equal=True)
    )
    values = values.filter(is_in_page, pl.col("a").is_in(shared), pl.col("b").is_in(shared))
    means = values.group_by("a", "b", maintain_order=True).agg(pl.col("overlap", "rbo").mean())
    n_queries = format_count(values[query].n_unique(), "queries")
    return {
        "note": NOTE.format(pairs=pairs, queries=n_queries),
        "rows": [
            {
                "strategy": names.index(a),
                "other": names.index(b),
                "overlap": round_number(overlap),
                "rbo": round_number(rbo),
            }
            for a, b, overlap, rbo in means.sort("rbo", nulls_last=True).iter_rows()
        ],
    }
