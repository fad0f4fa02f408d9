"""Packages for recommender systems, with binary gains and conflicting dependencies.

Recommendations are the documents of a query; a document with a grade above 0 is relevant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from .peers import Peer, in_pandas
from .work import DOCUMENTS

if TYPE_CHECKING:
    from .peers import Values


def replay_converted(frame: pl.DataFrame) -> Any:
    """It takes frames of Polars."""
    pair = {"query_id": "query", "item_id": "doc"}
    relevant = frame.filter(pl.col("grade") > 0)
    return frame.select(**pair, rating="score"), relevant.select(**pair)


def replay_scored(converted: Any) -> Any:
    from replay.metrics import MAP, NDCG, PerUser

    mode = PerUser()
    return [metric(*converted) for metric in (MAP(DOCUMENTS, mode=mode), NDCG(10, mode=mode))]


def replay_values(scores: Any) -> Values:
    ap, ndcg = (by_user for score in scores for by_user in score.values())
    return [(query, value, ndcg[query]) for query, value in ap.items()]


def rectools_converted(frame: pl.DataFrame) -> Any:
    pair = {"user_id": "query", "item_id": "doc"}
    rank = pl.col("score").rank("ordinal", descending=True).over("query").cast(pl.Int64)
    relevant = frame.filter(pl.col("grade") > 0)
    return in_pandas(frame.select(**pair, rank=rank)), in_pandas(relevant.select(**pair))


def rectools_scored(converted: Any) -> Any:
    from rectools.metrics import MAP, NDCG, calc_metrics

    metrics = {"map": MAP(DOCUMENTS), "ndcg": NDCG(10, divide_by_achievable=True)}
    return calc_metrics(metrics, *converted)


def rectools_values(scores: Any) -> Values:
    """It gives means alone, which it makes faster than values of each query."""
    return [("mean", scores["map"], scores["ndcg"])]


RECOMMENDERS = [
    Peer("RePlay", "replay", replay_converted, replay_scored, replay_values, binary=True),
    Peer("RecTools", "rectools", rectools_converted, rectools_scored, rectools_values, binary=True),
]
