"""How far graders agree: equal to other libraries, to published numbers; null where undefined."""

from __future__ import annotations

import csv
import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from book_numbers import assert_same_share, read_book_table, read_book_text
from helpers import needed
from results import close, rng

from polars_graded import agreement, charts, read_qrels
from polars_graded._results.agreement import (
    MIN_INFORMATIVE_QUERIES,
    QUERY_NUMBER,
    Grades,
    _compute_coefficient_interval,
    _compute_pair_coefficients,
    _count_informative_queries,
    _jackknife,
)

ALL = ("equal", "fleiss_kappa", "alpha_ordinal", "alpha_interval", "ac2")


def values(result, grader=None, other=None):
    """Coefficients by name, of two graders or of all together."""
    rows = result.filter(pl.col("grader").eq_missing(grader), pl.col("other").eq_missing(other))
    return dict(rows.select("coefficient", "value").iter_rows())


def graded(seed, *, graders=3, documents=60, missing=0.0, grades=(0, 1, 2, 3)):
    """Grades of graders who often agree, some of them missing; every grade is given."""
    generator = rng(seed)
    truth = generator.integers(0, len(grades), documents)
    columns = {"query": np.arange(documents) // 6}
    for name in "abcdefgh"[:graders]:
        noisy = np.where(generator.random(documents) < 0.5, truth, generator.permutation(truth))
        column = pl.Series(np.array(grades)[noisy])
        columns[name] = column.set(pl.Series(generator.random(documents) < missing), None)
    return pl.DataFrame(columns)


def array(frame):
    """The grades of all graders, NaN for none: a row per grader."""
    return frame.drop("query").cast(pl.Float64).fill_null(np.nan).to_numpy().T


@pytest.mark.parametrize("missing", [0, 0.3])
def test_pairs_are_as_scikit_learn_and_krippendorff_have_them(missing):
    kappa = needed("sklearn.metrics", ".[peers]").cohen_kappa_score
    alpha = needed("krippendorff", ".[peers]").alpha
    frame = graded(0, missing=missing)
    result = agreement(frame, "a", "b", "c")
    for x, y in ("ab", "ac", "bc"):
        both = frame.drop_nulls([x, y])
        found = values(result, x, y)
        assert found["equal"] == close((both[x] == both[y]).mean())
        assert found["difference"] == close(both[x].mean() - both[y].mean())
        assert found["kappa"] == close(kappa(both[x], both[y]))
        assert found["kappa_linear"] == close(kappa(both[x], both[y], weights="linear"))
        assert found["kappa_quadratic"] == close(kappa(both[x], both[y], weights="quadratic"))
        for level in ("ordinal", "interval"):
            expected = alpha(array(both.select("query", x, y)), level_of_measurement=level)
            assert found[f"alpha_{level}"] == close(expected)


@pytest.mark.parametrize(("missing", "graders"), [(0, 3), (0.4, 3), (0.5, 6)])
@pytest.mark.parametrize("grades", [(0, 1, 2, 3), (0, 1, 5)])
def test_all_together_are_as_krippendorff_has_them(missing, graders, grades):
    alpha = needed("krippendorff", ".[peers]").alpha
    frame = graded(1, missing=missing, graders=graders, grades=grades)
    found = values(agreement(frame, *frame.columns[1:]))
    assert tuple(found) == ALL
    for level in ("ordinal", "interval"):
        expected = alpha(array(frame), level_of_measurement=level)
        assert found[f"alpha_{level}"] == close(expected)


@pytest.mark.parametrize("missing", [0, 0.3])
def test_gwets_and_fleiss_coefficients_are_those_of_irrcac(missing):
    needed("pyarrow")
    raw = needed("irrCAC.raw", "irrCAC").CAC
    frame = graded(2, missing=missing).filter(~pl.all_horizontal(pl.col("a", "b", "c").is_null()))
    ratings = frame.drop("query").to_pandas()

    def expected(columns, method, weights="quadratic"):
        coefficient = getattr(
            raw(columns, weights=weights, categories=[0, 1, 2, 3], digits=12), method
        )()
        return pytest.approx(coefficient["est"]["coefficient_value"], abs=1e-11)

    result = agreement(frame, "a", "b", "c")
    assert values(result)["ac2"] == expected(ratings, "gwet")
    assert values(result)["fleiss_kappa"] == expected(ratings, "fleiss", "identity")
    both = ratings[["a", "b"]].dropna()
    assert values(result, "a", "b")["ac2"] == expected(both, "gwet")


def test_published_numbers_of_models_that_graded(data):
    folder = data / "llmjudge"
    with (folder / "published.csv").open() as lines:
        published = list(csv.DictReader(lines))
    judges = [row["judge"] for row in published]
    long = pl.concat(
        read_qrels(folder / f"{name}.txt.gz").with_columns(grader=pl.lit(name))
        for name in ["people", *judges]
    ).with_columns(pl.col("grade").clip(0, 3))
    wide = long.pivot("grader", index=["query", "doc"], values="grade")
    result = agreement(wide, "people", judges, trusted="people")
    for row in published:
        found = values(result, "people", row["judge"])
        assert f"{found['kappa']:.4f}" == row["kappa"]
        assert f"{found['alpha_ordinal']:.4f}" == row["alpha"]


@pytest.mark.parametrize(
    ("a", "b", "undefined"),
    [
        ([1, 1, 1], [1, 1, 1], "only one grade was given"),
        ([2], [2], "only one grade was given"),
        ([1, None, None], [1, None, 1], "only one grade was given"),
        ([1, None], [None, 2], "no document has grades of two graders"),
        ([None, None], [None, None], "no document has grades of two graders"),
        ([], [], "no document has grades of two graders"),
    ],
)
@pytest.mark.parametrize("third", [False, True])
def test_what_is_undefined_is_null_with_a_reason(a, b, undefined, third):
    frame = pl.DataFrame({"query": range(len(a)), "a": a, "b": b}).cast(pl.Int64)
    frame = frame.with_columns(c=pl.lit(None, pl.Int64))
    result = agreement(frame, *"abc"[: 3 if third else 2])
    numbers = result.select(pl.col("value", "ci_low", "ci_high"))
    assert not numbers.select(pl.any_horizontal(pl.all().is_nan().any())).item()
    beyond_chance = result.filter(~pl.col("coefficient").is_in(["equal", "difference"]))
    assert beyond_chance["value"].null_count() == beyond_chance.height
    assert result.filter(pl.col("value").is_null())["note"].null_count() == 0
    own = beyond_chance.filter(pl.col("grader").eq_missing("a"), pl.col("other") == "b")
    assert all(note.startswith(undefined) for note in own["note"])


@pytest.mark.parametrize("documents", [12, 240])
def test_intervals_are_those_of_the_jackknife_by_hand(documents):
    """Documents that come ten times make nobody surer: each query is left out in turn."""
    frame = graded(4, documents=documents)
    graders = ("a", "b", "c")
    result, tenfold, narrow = (
        agreement(pl.concat([frame] * times), *graders, confidence=confidence)
        for times, confidence in ((1, 0.95), (10, 0.95), (1, 0.5))
    )
    queries = frame["query"].unique().to_list()
    n = len(queries)
    others = [agreement(frame.filter(pl.col("query") != q), *graders) for q in queries]
    pair = ("equal", "kappa", "kappa_quadratic", "difference")
    for names, (one, other) in ((pair, ("a", "b")), (ALL[:2], (None, None))):
        of_pair = pl.col("grader").eq_missing(one), pl.col("other").eq_missing(other)
        without = [values(each, one, other) for each in others]
        for name in names:
            z = np.array([each[name] for each in (values(result, one, other), *without)])
            if name != "difference":
                z = -np.log(np.maximum(1 - z, (1 - z[0]) / n))
            squares = (z[1:] - z[1:].mean()) ** 2
            freedom = min(n - 1, squares.sum() ** 2 / max((squares**2).sum(), 1e-99))
            margin = scipy.stats.t.ppf(0.975, freedom) * np.sqrt((n - 1) / n * squares.sum())
            ends = z[0] - margin, z[0] + margin
            if name != "difference":
                least = 0 if name == "equal" else -1
                ends = tuple(max(least, 1 - math.exp(-end)) for end in ends)
            for each in (result, tenfold):
                row = each.filter(*of_pair, coefficient=name).select("ci_low", "ci_high").row(0)
                assert row == (close(ends) if squares.sum() > 1e-24 else (None, None))
    narrow, wide = (each["ci_high"] - each["ci_low"] for each in (narrow, result))
    assert (narrow < wide).drop_nulls().all()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (["a"], {}, "at least two graders, got a"),
        (["a", "x"], {}, "no column 'x'"),
        (["a", "b"], {"trusted": "c"}, "`trusted` must"),
        ([], {}, "at least two graders, got none"),
        (["a", "a"], {}, "named once"),
    ],
)
def test_what_cannot_be_answered_is_said(arguments, options, said):
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=said):
        agreement(graded(7), *arguments, **options)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_grade_that_is_no_number_is_refused(wrong):
    frame = pl.DataFrame({"query": [1, 2], "a": [0.0, 1.0], "b": [wrong, 1.0]})
    for function in (agreement, charts.agreement):
        with pytest.raises(ValueError, match="grade 'b' must be finite"):
            function(frame, "a", "b")
    with pytest.raises(TypeError, match="grade 'b' must be"):
        agreement(frame.with_columns(b=pl.lit("high")), "a", "b")
    many = pl.DataFrame({"query": range(200), "a": range(200), "b": range(200)})
    with pytest.raises(ValueError, match="at most 101 different grades, got 200"):
        agreement(many, "a", "b")


# How often intervals hold the true value: what the book's table says.


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
