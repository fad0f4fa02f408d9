"""Time from a dataframe to map and ndcg@10 of every query, compared with other packages."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_graded import evaluate

from .table import Case, Row, Sizes, Target, at_least, at_most, compared, timed
from .work import floor, named_rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TITLE = "A dataframe with names as ids → map and ndcg@10 a query, in multiples of our time"

SAME = at_most(1e-9)
WARM_UP_ROWS = 10_000

Values: TypeAlias = "list[tuple[str, float, float]]"
"""A query, its map and its ndcg@10, with the grade as the gain."""


@dataclass(frozen=True)
class Peer:
    """Another package: what it makes of the frame, and what it computes from that."""

    name: str
    module: str
    convert: Callable[[pl.DataFrame], Any]
    score: Callable[[Any], Any]
    values: Callable[[Any], Values]
    target: Target | None = None
    score_alone: Target | None = None
    """What `score` without `convert` is held to, where it is measured too."""
    binary: bool = False
    """Whether the gain is 1 for every grade above 0."""


def in_pandas(frame: pl.DataFrame) -> Any:
    """The frame with names as Python's strings, without a detour over Arrow."""
    import pandas as pd

    columns = {
        column.name: pd.Series(
            column.to_numpy(), dtype=object if column.dtype == pl.String else None
        )
        for column in frame
    }
    return pd.DataFrame(columns)


def ranx_converted(frame: pl.DataFrame) -> Any:
    from ranx import Qrels, Run

    table = in_pandas(frame)
    qrels = Qrels.from_df(table, q_id_col="query", doc_id_col="doc", score_col="grade")
    return qrels, Run.from_df(table, q_id_col="query", doc_id_col="doc", score_col="score")


def ranx_scored(converted: Any) -> Any:
    from ranx import evaluate

    qrels, run = converted
    measures = ["map", "ndcg@10"]
    scores = evaluate(qrels, run, measures, return_mean=False, save_results_in_run=False)
    return [qrels.keys(), *(scores[measure] for measure in measures)]


def dicts(frame: pl.DataFrame) -> Any:
    """Grades and scores by query and document, the quickest way found to make them."""
    lists = frame.group_by("query").agg("doc", "grade", "score")
    qrels, run = {}, {}
    for query, docs, grades, scores in lists.iter_rows():
        qrels[query] = dict(zip(docs, grades, strict=True))
        run[query] = dict(zip(docs, scores, strict=True))
    return qrels, run


def pytrec_eval_scored(converted: Any) -> Any:
    from pytrec_eval import RelevanceEvaluator

    qrels, run = converted
    return RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"}).evaluate(run)


def pytrec_eval_values(scores: Any) -> Values:
    return [(query, values["map"], values["ndcg_cut_10"]) for query, values in scores.items()]


def ir_measures_scored(converted: Any) -> Any:
    from ir_measures import AP, iter_calc, nDCG

    return list(iter_calc([AP, nDCG @ 10], *converted))


def ir_measures_values(scores: Any) -> Values:
    values: dict[str, dict[str, float]] = {}
    for one in scores:
        values.setdefault(one.query_id, {})[str(one.measure)] = one.value
    return [(query, value["AP"], value["nDCG@10"]) for query, value in values.items()]


def lists(frame: pl.DataFrame) -> Any:
    return frame.group_by("query").agg("grade", "score", hit=pl.col("grade") > 0).rows()


def sklearn_scored(converted: Any) -> Any:
    from sklearn.metrics import average_precision_score, ndcg_score

    return [
        (
            query,
            average_precision_score(hits, scores),
            ndcg_score([grades], [scores], k=10, ignore_ties=True),
        )
        for query, grades, scores, hits in converted
    ]


PEERS = [
    Peer(
        "ranx",
        "ranx",
        ranx_converted,
        ranx_scored,
        lambda scores: list(zip(*scores, strict=True)),
        at_least(100),
        score_alone=at_least(12),
    ),
    Peer("pytrec_eval", "pytrec_eval", dicts, pytrec_eval_scored, pytrec_eval_values, at_least(20)),
    Peer("ir_measures", "ir_measures", dicts, ir_measures_scored, ir_measures_values, at_least(10)),
    Peer("scikit-learn", "sklearn", lists, sklearn_scored, list),
]


def ours(frame: pl.DataFrame) -> pl.DataFrame:
    return evaluate(frame, "ap", "ndcg(gain=linear)@10")


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = named_rankings(sizes.peer_rows)
    installed = [peer for peer in PEERS if find_spec(peer.module)]
    scored: dict[str, Any] = {}
    cases = [
        Case("polars_graded", timed(partial(ours, frame))),
        Case("floor", timed(partial(floor, frame)), at_least(1 / 1.5)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for peer in installed:
            peer.score(peer.convert(frame.head(WARM_UP_ROWS)))
            cases += _cases(peer, frame, scored)
        yield from compared(cases, sizes.repeat)
    expected = ours(frame)
    for peer in installed:
        difference = _largest_difference(peer.values(scored[peer.name]), expected)
        yield Row(
            f"largest difference from {peer.name}",
            f"{difference:.1e}",
            target=str(SAME),
            met=SAME.met_by(difference),
        )
    for peer in PEERS:
        if peer not in installed:
            yield Row(peer.name, "not installed")


def _cases(peer: Peer, frame: pl.DataFrame, scored: dict[str, Any]) -> Iterator[Case]:
    """The cases of a peer; the first keeps what it computed in `scored`."""

    def convert_and_score() -> None:
        scored[peer.name] = peer.score(peer.convert(frame))

    yield Case(peer.name, timed(convert_and_score), peer.target)
    if peer.score_alone is not None:
        converted = peer.convert(frame)
        score = timed(partial(peer.score, converted))
        yield Case(f"{peer.name}, its evaluation alone", score, peer.score_alone)


def _largest_difference(values: Values, expected: pl.DataFrame) -> float:
    """Over all queries and both measures; infinite where queries differ."""
    theirs = pl.DataFrame(values, ["query", "map", "ndcg"], orient="row").sort("query")
    if not theirs.get_column("query").equals(expected.get_column("query")):
        return float("inf")
    return max(
        float((mine - other).abs().max())
        for mine, other in zip(expected.get_columns()[-2:], theirs.get_columns()[1:], strict=True)
    )
