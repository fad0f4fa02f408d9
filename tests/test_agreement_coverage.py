"""How often intervals of `agreement` hold the true value: what the book's table says."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
import scipy.stats

from polars_graded._results.agreement import Grades

GRADES = {
    "common": (0.4, 0.3, 0.2, 0.1),
    "rare": (0.9, 0.07, 0.02, 0.01),
    "very rare": (0.97, 0.02, 0.007, 0.003),
}
"""The shares of the grades 0 to 3."""

FEW_QUERIES = 25
"""Up to so many queries are drawn in every run of the tests."""

DOCUMENTS = 20
"""How many documents a query has."""


def drawn(kind, n, generator):
    """Grades of two graders for n queries, which differ in difficulty, noise and bias."""
    spread = np.sqrt(1 + 0.7**2)
    cuts = spread * scipy.stats.norm.ppf(np.cumsum(GRADES[kind])[:-1])
    shape = (n, DOCUMENTS)
    latent = generator.standard_normal(shape) + generator.normal(0, 0.7, (n, 1))
    noise = np.exp(generator.normal(-0.7, 0.4, (n, 1))) * generator.standard_normal(shape)
    other = latent + noise + generator.normal(0, 0.3, (n, 1))
    columns = (np.searchsorted(cuts, each).ravel() for each in (latent, other))
    return pl.DataFrame(dict(zip("ab", columns, strict=True))).with_columns(
        query=pl.int_range(pl.len()) // DOCUMENTS
    )


def rows_of(frame):
    """What `agreement` says of the pair."""
    return [*Grades.of(frame, ["a", "b"], None).compare_pairs(0, [1], 0.05)]


@cache
def truth(kind):
    """Each coefficient of very many queries."""
    rows = rows_of(drawn(kind, 100_000, np.random.default_rng(0)))
    return {row["coefficient"]: row["value"] for row in rows}


def coverage(kind, n, repeats):
    """How often intervals that are there hold the truth, how many are, and have no note."""
    generator = np.random.default_rng(n)
    held, there, quiet = (dict.fromkeys(truth(kind), 0) for _ in range(3))
    for _ in range(repeats):
        for row in rows_of(drawn(kind, n, generator)):
            name = row["coefficient"]
            if not np.isnan(row["ci_low"]):
                there[name] += 1
                held[name] += row["ci_low"] <= truth(kind)[name] <= row["ci_high"]
            quiet[name] += row["note"] is None
    return {
        name: (held[name] / max(there[name], 1), there[name] / repeats, quiet[name] / repeats)
        for name in held
    }


PRINTED = {
    ("common", 5): (0.950, 0.944, 0.952, 0.956, 0.0),
    ("common", 10): (0.939, 0.938, 0.944, 0.949, 0.0),
    ("common", 25): (0.957, 0.953, 0.953, 0.954, 1.0),
    ("common", 50): (0.956, 0.950, 0.946, 0.953, 1.0),
    ("common", 100): (0.962, 0.944, 0.939, 0.956, 1.0),
    ("rare", 5): (0.967, 0.885, 0.909, 0.971, 0.0),
    ("rare", 10): (0.953, 0.893, 0.921, 0.955, 0.0),
    ("rare", 25): (0.948, 0.924, 0.943, 0.940, 0.98),
    ("rare", 50): (0.951, 0.941, 0.936, 0.948, 1.0),
    ("rare", 100): (0.953, 0.931, 0.943, 0.950, 1.0),
    ("very rare", 5): (0.987, 0.832, 0.813, 0.972, 0.0),
    ("very rare", 10): (0.983, 0.845, 0.888, 0.968, 0.0),
    ("very rare", 25): (0.952, 0.875, 0.911, 0.944, 0.15),
    ("very rare", 50): (0.953, 0.919, 0.938, 0.946, 1.0),
    ("very rare", 100): (0.945, 0.925, 0.941, 0.941, 1.0),
}
"""What the table says of `equal`, `kappa_quadratic`, `alpha_ordinal` and `ac2`, and of notes."""

NAMES = ("equal", "kappa_quadratic", "alpha_ordinal", "ac2")


CASES = [
    *(pytest.param(*key, 60) for key in PRINTED if key[1] <= FEW_QUERIES),
    *(pytest.param(*key, 500, marks=pytest.mark.simulation) for key in PRINTED),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n", "repeats"), CASES)
def test_intervals_hold_the_value_as_often_as_is_printed(kind, n, repeats):
    *shares, quiet = PRINTED[kind, n]
    found = coverage(kind, n, repeats)
    for name, share in zip(NAMES, shares, strict=True):
        held, there, _ = found[name]
        room = 4 * (share * (1 - share) / (repeats * there)) ** 0.5
        assert held == pytest.approx(share, abs=room + 0.001)
    room = 4 * (max(quiet * (1 - quiet), 0.01) / repeats) ** 0.5
    assert found["equal"][2] == pytest.approx(quiet, abs=room)
