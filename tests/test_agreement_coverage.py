"""How often intervals of `agreement` hold the true value: what the book's table says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from coverage_tables import assert_same_share, read_book_table, read_book_text

from polars_graded import read_qrels
from polars_graded._results.agreement import (
    MIN_INFORMATIVE_QUERIES,
    QUERY_NUMBER,
    Grades,
    _compute_coefficient_interval,
    _compute_pair_coefficients,
    _count_informative_queries,
    _jackknife,
)

GRADES = {
    "common": (0.4, 0.3, 0.2, 0.1),
    "two grades": (0.8, 0.2),
    "rare": (0.9, 0.07, 0.02, 0.01),
    "very rare": (0.97, 0.02, 0.007, 0.003),
}
"""The shares of the grades from 0."""

DOCUMENTS = 20
"""How many documents a query has."""

NAMES = ("equal", "kappa", "kappa_quadratic", "alpha_ordinal", "ac2", "difference")

REPEATS = 4000


def drawn(kind, n, generator):
    """Grades of two graders for n queries, which differ in difficulty, noise and bias."""
    spread = np.sqrt(1 + 0.7**2)
    cuts = spread * scipy.stats.norm.ppf(np.cumsum(GRADES[kind])[:-1])
    shape = (n, DOCUMENTS)
    latent = generator.standard_normal(shape) + generator.normal(0, 0.7, (n, 1))
    noise = np.exp(generator.normal(-0.7, 0.4, (n, 1))) * generator.standard_normal(shape)
    other = latent + noise + generator.normal(0, 0.3, (n, 1))
    return np.searchsorted(cuts, latent), np.searchsorted(cuts, other)


def count_tables(kind, n, generator):
    """The joint table of grades of each of n queries."""
    a, b = drawn(kind, n, generator)
    k = len(GRADES[kind])
    cells = (np.arange(n)[:, np.newaxis] * k + a) * k + b
    return np.bincount(cells.ravel(), minlength=n * k * k).reshape(n, k, k).astype(float)


def judged_tables(data):
    """The joint table of each query of TREC, of people and of a model."""
    people, model = (
        read_qrels(data / f"llmjudge/{name}.txt.gz").rename({"grade": name[:2]})
        for name in ("people", "willia-umbrela1")
    )
    rows = people.join(model, on=["query", "doc"]).with_columns(pl.col("wi").clip(0, 3))
    a, b = (rows[name].to_numpy().astype(int) for name in ("pe", "wi"))
    query = rows["query"].rank("dense").to_numpy().astype(int) - 1
    counts = np.bincount((query * 4 + a) * 4 + b, minlength=(query.max() + 1) * 16)
    return counts.reshape(-1, 4, 4).astype(float)


def coverage(draw, total, n, repeats):
    """How often the intervals of n queries hold the values of very many; and without a note."""
    values = np.arange(float(len(total)))
    truth = {
        name: each[0] for name, each in _compute_pair_coefficients(total[None], values).items()
    }
    held, there = (dict.fromkeys(NAMES, 0) for _ in range(2))
    quiet = 0
    for _ in range(repeats):
        tables = draw(n)
        estimates = _compute_pair_coefficients(_jackknife(tables), values)
        for name in NAMES:
            value, *without = estimates[name]
            low, high = _compute_coefficient_interval(name, value, np.array(without), 0.05)
            there[name] += low <= high
            held[name] += low <= truth[name] <= high
        counts = tables.sum(axis=1) + tables.sum(axis=2)
        quiet += _count_informative_queries(counts) >= MIN_INFORMATIVE_QUERIES
    return [held[name] / max(there[name], 1) for name in NAMES], quiet / repeats


def simulate(kind, n, repeats, data=None):
    """The coverage of each coefficient, and the share of results without a note."""
    generator = np.random.default_rng(n)
    if kind == "TREC":
        population = judged_tables(data)
        total = population.sum(axis=0)

        def draw(n):
            return population[generator.integers(0, len(population), n)]
    else:
        total = count_tables(kind, 100_000, np.random.default_rng(0)).sum(axis=0)

        def draw(n):
            return count_tables(kind, n, generator)

    return coverage(draw, total, n, repeats)


TABLE = read_book_table("Agreement of graders") if __name__ != "__main__" else {}


@pytest.mark.simulation
@pytest.mark.parametrize(("kind", "n"), TABLE)
def test_intervals_hold_the_value_as_often_as_is_printed(kind, n, request):
    *printed, printed_quiet = TABLE[kind, n]
    data = request.getfixturevalue("data") if kind == "TREC" else None
    found, quiet = simulate(kind, int(n), REPEATS, data)
    for share, expected in zip(found, printed, strict=True):
        assert_same_share(share, expected, REPEATS)
    assert_same_share(quiet, printed_quiet, REPEATS)


@pytest.mark.parametrize(
    ("kinds", "queries", "words"),
    [
        (("common", "two grades"), range(5, 51), "5 to 50 queries, {} % of the 95 % intervals"),
        (("rare", "TREC"), range(5, 11), "TREC documents, {} % do with 5 to 10 queries"),
        (("rare", "TREC"), range(15, 51), "and {} % with 15 or more"),
    ],
)
def test_the_book_states_the_lowest_and_the_highest_coverage(kinds, queries, words):
    shares = [
        share
        for (kind, n), (*shares, _) in TABLE.items()
        if kind in kinds and int(n) in queries
        for share in shares
    ]
    stated = words.format(f"{100 * min(shares):.0f} to {100 * max(shares):.0f}")
    assert stated in read_book_text()


@pytest.mark.parametrize(("kind", "n"), [("common", 5), ("rare", 15)])
def test_a_sample_of_the_simulation_has_the_intervals_of_agreement(kind, n):
    a, b = drawn(kind, n, np.random.default_rng(1))
    query = np.repeat(np.arange(n), DOCUMENTS)
    frame = pl.DataFrame({QUERY_NUMBER: query, "a": a.ravel(), "b": b.ravel()})
    tables = count_tables(kind, n, np.random.default_rng(1))
    values = np.arange(float(len(tables[0])))
    estimates = _compute_pair_coefficients(_jackknife(tables), values)
    for row in Grades.of(frame, ["a", "b"]).compare_pair(0, 1, 0.05):
        value, *without = estimates[row["coefficient"]]
        ends = _compute_coefficient_interval(row["coefficient"], value, np.array(without), 0.05)
        assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx(
            (value, *ends), nan_ok=True
        )


if __name__ == "__main__":
    import os
    import pathlib

    folder = pathlib.Path(os.environ["POLARS_GRADED_DATA"])
    for kind in (*GRADES, "TREC"):
        for n in (5, 8, 10, 15, 25, 50):
            found, quiet = simulate(kind, n, REPEATS, folder)
            print(f"| {kind} | {n} |", " | ".join(f"{each:.3f}" for each in (*found, quiet)), "|")
