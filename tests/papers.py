"""The rankings and the numbers of the papers, as they print them, for all tests that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

if TYPE_CHECKING:
    from helpers import Query


def as_printed(printed: float | str) -> object:
    """What rounds to a printed number: within half a unit of its last digit."""
    _, _, decimals = str(printed).partition(".")
    return pytest.approx(float(printed), rel=0, abs=0.5 * 10 ** -len(decimals) + 1e-9)


def cut_to(printed: str) -> object:
    """What has a printed whole number before its point."""
    return pytest.approx(float(printed) + 0.5, rel=0, abs=0.5)


def entries(line: str) -> list[str]:
    """The entries of a printed line, numbers with the digits that they are printed with."""
    return line.split()


def in_rank_order(grades: list[float], not_retrieved: list[float] = ()) -> Query:
    """A query whose documents stand in rank order, then judged ones without a score."""
    retrieved = [(-rank, grade) for rank, grade in enumerate(grades)]
    return [*retrieved, *((None, grade) for grade in not_retrieved)]


# Scheel, Lommatzsch and Albayrak (2011), table 1.

SCHEEL = in_rank_order([1, 0, 3, 3, 2, 0, 1, 4])
TABLE_1 = {5: "0.000", 4: "0.125", 3: "0.403", 2: "0.483", 1: "0.780", 0: "1.000"}


# Chen's slides, examples 3.2 and 3.3: one ranking, judged for two requests.

CHEN = entries("d123 d84 d56 d6 d8 d9 d511 d129 d187 d25 d38 d48 d250 d113 d3")


def judged_for(relevant: str) -> Query:
    """The ranking with the relevant documents of a request, found or not."""
    documents = entries(relevant)
    found = [float(doc in documents) for doc in CHEN]
    return in_rank_order(found, [1.0 for doc in documents if doc not in CHEN])


EXAMPLE_3_2 = judged_for("d3 d5 d9 d25 d39 d44 d56 d71 d89 d123")
EXAMPLE_3_3 = judged_for("d3 d56 d129")


# Chen's slides on cumulated gain: G are the gains found, I those there are.

G1 = [1, 0, 1, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 3]
G2 = [0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3]
I1 = [3, 3, 3, 2, 2, 2, 1, 1, 1, 1]
I2 = [3, 2, 1]


def missed(found: list[int], there_are: list[int]) -> list[int]:
    """The documents that were judged but not found."""
    return [
        grade for grade in {*there_are} for _ in range(there_are.count(grade) - found.count(grade))
    ]


CUMULATED = [in_rank_order(G1, missed(G1, I1)), in_rank_order(G2, missed(G2, I2))]


CG = "cg_curve(gain=linear)@15"
DCG = "dcg_curve(gain=linear, discount=jarvelin)@15"
ICG = "ideal_dcg_curve(gain=linear, discount=none)@15"
IDCG = "ideal_dcg_curve(gain=linear, discount=jarvelin)@15"

CHEN_CURVES = {
    "CG1": (CG, 0, "1 1 2 2 2 5 5 5 5 7 7 7 7 7 10"),
    "CG2": (CG, 1, "0 0 2 2 2 2 2 3 3 3 3 3 3 3 6"),
    "DCG1": (DCG, 0, "1.0 1.0 1.6 1.6 1.6 2.8 2.8 2.8 2.8 3.4 3.4 3.4 3.4 3.4 4.2"),
    "DCG2": (DCG, 1, "0.0 0.0 1.3 1.3 1.3 1.3 1.3 1.6 1.6 1.6 1.6 1.6 1.6 1.6 2.4"),
    "ICG1": (ICG, 0, "3 6 9 11 13 15 16 17 18 19 19 19 19 19 19"),
    "ICG2": (ICG, 1, "3 5 6 6 6 6 6 6 6 6 6 6 6 6 6"),
    "IDCG1": (IDCG, 0, "3.0 6.0 7.9 8.9 9.8 10.5 10.9 11.2 11.5 11.8 11.8 11.8 11.8 11.8 11.8"),
    "IDCG2": (IDCG, 1, "3.0 5.0 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6 5.6"),
}

CHEN_MEANS = {
    "mean CG": (pl.col(CG), "0.5 0.5 2.0 2.0 2.0 3.5 3.5 4.0 4.0 5.0 5.0 5.0 5.0 5.0 8.0"),
    "mean DCG": (pl.col(DCG), "0.5 0.5 1.4 1.4 1.4 2.0 2.0 2.2 2.2 2.5 2.5 2.5 2.5 2.5 3.3"),
    "NCG": (
        pl.col(CG) / pl.col(ICG),
        "0.17 0.09 0.27 0.24 0.21 0.33 0.32 0.35 0.33 0.40 0.40 0.40 0.40 0.40 0.64",
    ),
    "NDCG": (
        pl.col(DCG) / pl.col(IDCG),
        "0.17 0.09 0.21 0.20 0.19 0.25 0.25 0.26 0.26 0.29 0.29 0.29 0.29 0.29 0.37",
    ),
}
