"""Time to compare and to fuse two strategies, relative to the floor of one of them."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_graded import fuse, similarity

from .table import Case, Row, Sizes, at_most, compared, timed
from .work import DOCUMENTS, floor, rankings

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "Two strategies compared and fused, in multiples of the floor of one of them"

THREE = ("rbo", "overlap@10", "kendall_tau")

PEER_QUERIES = 1000
"""Queries for packages that take two lists of one query."""


def rows(sizes: Sizes) -> Iterator[Row]:
    frame = two_strategies(sizes.rows)
    by = ["score", "other"]
    cases = [
        Case(name, timed(partial(similarity, frame, name, by=by)))
        for name in ("overlap@10", "rbo", "kendall_tau", "tau_ap", "spearman")
    ]
    yield from compared(
        [
            Case("floor", timed(partial(floor, frame))),
            *cases,
            Case("three together", timed(partial(similarity, frame, *THREE, by=by)), at_most(2.5)),
            Case("fuse by reciprocal ranks", timed(partial(fuse, frame, by=by))),
        ],
        sizes.repeat,
    )
    few = two_strategies(PEER_QUERIES * DOCUMENTS).with_columns(doc=pl.int_range(pl.len()))
    peers = [Case("1,000 queries: rbo here", timed(partial(similarity, few, "rbo", by=by)))]
    if find_spec("rbo") is not None:
        peers.append(Case("1,000 queries: the package rbo", timed(partial(each_rbo, few))))
    peers.append(Case("1,000 queries: fuse here", timed(partial(fuse, few, by=by))))
    if find_spec("ranx") is not None:
        peers.append(Case("1,000 queries: fuse of ranx", timed(partial(fuse_with_ranx, few))))
    yield from compared(peers, sizes.repeat)


def two_strategies(rows: int) -> pl.DataFrame:
    """Rankings with the scores of two strategies that are alike."""
    noise = 0.3 * np.random.default_rng(1).random(rows)
    return rankings(rows).with_columns(other=pl.col("score") + pl.Series(noise))


def each_rbo(frame: pl.DataFrame) -> list[float]:
    """The values of the package rbo, which takes two lists."""
    from rbo import RankingSimilarity

    lists = frame.group_by("query").agg(
        pl.col("doc").sort_by(by, descending=True).alias(by) for by in ("score", "other")
    )
    pairs = lists.select("score", "other").iter_rows()
    return [RankingSimilarity(one, other).rbo_ext(p=0.9) for one, other in pairs]


def fuse_with_ranx(frame: pl.DataFrame) -> object:
    """The fusion of ranx, from dicts of runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what ranx warns of is its own
        from ranx import Run
        from ranx import fuse as fuse_runs

        runs = []
        for name in ("score", "other"):
            lists = frame.group_by("query").agg(pl.col("doc").cast(pl.String), name)
            run = {
                str(query): dict(zip(docs, scores, strict=True))
                for query, docs, scores in lists.iter_rows()
            }
            runs.append(Run(run, name=name))
        return fuse_runs(runs, norm=None, method="rrf")
