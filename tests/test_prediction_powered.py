"""What people would say of all queries: the formula by hand, another library, coverage, Holm."""

from __future__ import annotations

import warnings
from statistics import covariance, fmean, variance

import numpy as np
import polars as pl
import pytest
import scipy.stats
from helpers import needed, simulated
from polars.testing import assert_frame_equal
from results import close, rng

import polars_graded as pg
from polars_graded import DataWarning
from polars_graded._results.prediction_powered import compute_corrected_means
from polars_graded.trust import prediction_powered_differences, prediction_powered_means


def graded(people, model, **others):
    """Results of graders: each a mapping from strategies to values by query, None for none."""
    graders = {"people": people, "model": model, **others}
    rows = [
        (grader, strategy, query, value)
        for grader, of_it in graders.items()
        for strategy, values in of_it.items()
        for query, value in enumerate(values)
    ]
    schema = {"grader": pl.String, "strategy": pl.String, "query": pl.Int64, "ap": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def drawn(seed, n, total, strategies=2, noise=0.5):
    """Results where people judged n queries of all, in any places, and a model all of them."""
    generator = rng(seed)
    judged = generator.permutation(total) < n
    people, model = {}, {}
    hardness = generator.standard_normal(total)
    for place in range(strategies):
        y = hardness + 0.2 * place + generator.standard_normal(total)
        people[f"s{place}"] = [
            value if known else None for value, known in zip(y, judged, strict=True)
        ]
        model[f"s{place}"] = (0.8 * y + 0.3 + noise * generator.standard_normal(total)).tolist()
    return people, model


def by_hand(y, f, rest):
    """The mean, its standard error and the weight, as the formula says it, query by query."""
    n, others = len(y), len(rest)
    scale = (1 + n / others) * variance([*f, *rest])
    fitted = [covariance([*y[:q], *y[q + 1 :]], [*f[:q], *f[q + 1 :]]) for q in range(n)]
    own = [min(1, max(0, each / scale)) for each in fitted]
    weight = fmean(own)
    theta = weight * fmean(rest) + fmean(a - w * b for a, b, w in zip(y, f, own, strict=True))
    left = [a - w * (b - fmean(rest)) for a, b, w in zip(y, f, own, strict=True)]
    return theta, (weight**2 * variance(rest) / others + variance(left) / n) ** 0.5, weight


def parted(people, model):
    """People's values, the model's of the same queries, and its other ones."""
    y = [value for value in people if value is not None]
    f = [guess for value, guess in zip(people, model, strict=True) if value is not None]
    return y, f, [guess for value, guess in zip(people, model, strict=True) if value is None]


@pytest.mark.parametrize(("n", "total"), [(4, 9), (11, 60), (30, 40)])
def test_means_are_those_of_the_formula(n, total):
    people, model = drawn(n, n, total)
    rows = prediction_powered_means(graded(people, model), trusted="people", confidence=0.9).rows(
        named=True
    )
    for row in rows:
        y, f, rest = parted(people[row["strategy"]], model[row["strategy"]])
        mean, error, weight = by_hand(y, f, rest)
        margin = scipy.stats.t.ppf(0.95, n - 1) * error
        assert (row["queries"], row["model_queries"]) == (n, total - n)
        assert [row["mean"], row["weight"]] == close([mean, weight])
        assert [row["ci_low"], row["ci_high"]] == close([mean - margin, mean + margin])
        assert row["correlation"] == close(np.corrcoef(y, f)[0, 1])
        assert row["worth"] == close(variance(y) / error**2 - n)
        alone = scipy.stats.t.interval(0.9, n - 1, fmean(y), scipy.stats.sem(y))
        assert [row["trusted_mean"], row["trusted_low"], row["trusted_high"]] == close(
            [fmean(y), *alone]
        )
        assert row["model_mean"] == close(fmean([*f, *rest]))


def test_differences_are_those_of_the_formula_and_turn_with_their_strategies():
    people, model = drawn(1, 12, 50, strategies=3)
    results = graded(people, model)
    rows = prediction_powered_differences(
        results, trusted="people", baseline="s0", correction="none"
    ).rows(named=True)
    for row in rows:
        a, b = row["strategy"], "s0"
        y = [None if x is None else x - z for x, z in zip(people[a], people[b], strict=True)]
        mean, error, _ = by_hand(*parted(y, np.subtract(model[a], model[b]).tolist()))
        assert row["difference"] == close(mean)
        assert row["p_value"] == close(2 * scipy.stats.t.sf(abs(mean / error), 11))
    turned = prediction_powered_differences(results, trusted="people", baseline="s2").row(
        0, named=True
    )
    other = next(row for row in rows if row["strategy"] == "s2")
    assert [turned["difference"], turned["weight"]] == close(
        [-other["difference"], other["weight"]]
    )


def test_with_many_queries_the_interval_is_that_of_ppi_python():
    """The weights of 2,000 queries are nearly one weight, which ppi-python fits itself."""
    ppi = needed("ppi_py", ".[references]")
    generator = rng(3)
    y, rest = generator.standard_normal(2000), generator.standard_normal(9000)
    f = y + generator.standard_normal(2000)
    found = compute_corrected_means(y[np.newaxis], f[np.newaxis], rest[np.newaxis])
    low, high = (end.item() for end in ppi.ppi_mean_ci(y, f, rest, alpha=0.05))
    margin = scipy.stats.norm.ppf(0.975) * found.both.error[0]
    assert found.both.mean[0] == pytest.approx((low + high) / 2, abs=0.01 * margin)
    assert margin == pytest.approx((high - low) / 2, rel=0.01)


@pytest.mark.parametrize("says", ["the same of all", "the contrary", "nothing else"])
def test_a_model_that_adds_nothing_leaves_what_people_say(says):
    people, model = drawn(4, 12, 40)
    if says == "nothing else":
        model = {
            name: [
                guess if value is not None else None
                for value, guess in zip(people[name], values, strict=True)
            ]
            for name, values in model.items()
        }
    else:
        by = 0 if says == "the same of all" else -1
        model = {name: [by * value for value in values] for name, values in model.items()}
    results = graded(people, model)
    for call, of_people, shared in (
        (prediction_powered_means, pg.summarise, ["mean"]),
        (prediction_powered_differences, pg.compare, ["difference", "p_corrected"]),
    ):
        found, alone = call(results, trusted="people"), of_people(results, grader="people")
        assert found["weight"].to_list() == [0] * found.height
        for name in (*shared, "ci_low", "ci_high"):
            assert found[name].to_list() == close(alone[name].to_list())
        if says == "nothing else":
            assert all("adds nothing" in note for note in found["note"])


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm", "benjamini_hochberg"])
def test_intervals_agree_with_corrected_p_values(correction):
    for seed in range(8):
        results = graded(*drawn(seed, 20, 60, strategies=4))
        rows = prediction_powered_differences(results, trusted="people", correction=correction)
        clear = (rows["simultaneous_low"] > 0) | (rows["simultaneous_high"] < 0)
        assert clear.to_list() == (rows["p_corrected"] <= 0.05).to_list()


def test_each_model_stands_in_by_itself():
    people, model = drawn(5, 12, 40)
    _, poor = drawn(6, 12, 40)
    every = graded(people, model, poor=poor)
    found = prediction_powered_means(every, trusted="people")
    assert found["grader"].unique(maintain_order=True).to_list() == ["model", "poor"]
    alone = prediction_powered_means(graded(people, model), trusted="people")
    assert_frame_equal(found.filter(grader="model"), alone)
    assert_frame_equal(prediction_powered_means(every, trusted="people", grader="model"), alone)


def in_segments(seed, n, total):
    """Results of queries in four countries, of which people judged one query in 7 and none in 9."""
    country = (
        pl.when(query=0).then(7).when(pl.col("query") < 3).then(9).otherwise(pl.col("query") % 2)
    )
    people, model = drawn(seed, n, total, strategies=3)
    people = {name: [0.5, None, None, *values[3:]] for name, values in people.items()}
    return graded(people, model).with_columns(country.alias("country"))


@pytest.mark.parametrize("call", [prediction_powered_means, prediction_powered_differences])
def test_each_segment_is_judged_by_itself(call):
    results = in_segments(10, 20, 60)
    how = {"correction": "none"} if call is prediction_powered_differences else {}
    found = call(results, trusted="people", segments="country", **how)
    assert found.columns[:3] == ["grader", "measure", "country"]
    assert found["country"].unique(maintain_order=True).to_list() == [0, 1, 7, 9]
    for country in (0, 1, 7):
        alone = call(results.filter(country=country).drop("country"), trusted="people", **how)
        assert_frame_equal(found.filter(country=country).drop("country"), alone)
    none = found.filter(country=9)
    assert set(none["queries"]) == {0}
    assert set(none["model_queries"]) == {2}
    assert none["mean" if call is prediction_powered_means else "difference"].is_null().all()
    assert all("'people' judged 0 queries, too few" in note for note in none["note"])
    one = found.filter(country=7)
    assert one["ci_low"].is_null().all()
    assert all("'people' judged 1 query, too few" in note for note in one["note"])


def test_the_differences_of_all_segments_are_corrected_together():
    rows = prediction_powered_differences(
        in_segments(11, 20, 60), trusted="people", segments="country"
    )
    known = rows.drop_nulls("p_value")
    assert known.height == 6  # three pairs in each of two countries
    smallest = known.sort("p_value").row(0, named=True)
    assert smallest["p_corrected"] == close(min(1, 6 * smallest["p_value"]))
    clear = (known["simultaneous_low"] > 0) | (known["simultaneous_high"] < 0)
    assert clear.to_list() == (known["p_corrected"] <= 0.05).to_list()


def test_a_trusted_grader_without_results_is_refused():
    with pytest.raises(ValueError, match="`trusted` must be one of 'people', 'model', got 'gpt'"):
        prediction_powered_differences(graded(*drawn(0, 5, 9)), trusted="gpt")


def chosen(seed, n=50, total=500):
    """People judged the queries of which the model's values are lowest."""
    generator = rng(seed)
    y = generator.random((2, total))
    f = np.clip(y + 0.2 * generator.standard_normal((2, total)), 0, 1)
    worst = np.argsort(f.mean(axis=0))[:n]
    people = {
        f"s{i}": [value if place in worst else None for place, value in enumerate(y[i])]
        for i in range(2)
    }
    return people, {f"s{i}": f[i].tolist() for i in range(2)}, y


@pytest.mark.parametrize("repeats", [3, *simulated(200)])
def test_queries_that_were_not_drawn_at_random_are_told(repeats):
    """Of the worst queries the interval misses the true mean in every world."""
    for seed in range(repeats):
        people, model, y = chosen(seed)
        with pytest.warns(DataWarning.selection, match="'people' judged are hardly a random sam"):
            found = prediction_powered_means(graded(people, model), trusted="people")
        held = (found["ci_low"].to_numpy() <= y.mean(axis=1)) & (
            y.mean(axis=1) <= found["ci_high"].to_numpy()
        )
        assert repeats == 3 or not held.any()


@pytest.mark.parametrize("repeats", [50, *simulated(400)])
def test_random_samples_are_hardly_ever_warned_of(repeats):
    told = 0
    for seed in range(repeats):
        results = graded(*drawn(seed, 20, 100))
        with warnings.catch_warnings(record=True, action="always") as caught:
            prediction_powered_means(results, trusted="people")
        told += any(each.category is DataWarning.selection for each in caught)
    assert told / repeats <= 0.001 + 3 * (0.001 / repeats) ** 0.5


def values(kind, generator, shape):
    """Values with mean 0 and standard deviation 1."""
    if isinstance(kind, str):
        normal = kind == "normal"
        return generator.standard_normal(shape) if normal else generator.exponential(1, shape) - 1
    drawn_anew = generator.choice(kind, shape)
    return (drawn_anew - kind.mean()) / kind.std()


def coverage(kind, correlation, n, repeats, total=1000):
    """How often intervals at 0.95 hold the mean, and how wide they are beside people's alone."""
    generator = rng(n)
    held, widths = [], []
    for _ in range(repeats // 250):
        y = values(kind, generator, (250, total))
        others = values(kind, generator, (250, total))
        f = 0.3 + correlation * y + (1 - correlation**2) ** 0.5 * others
        found = compute_corrected_means(y[:, :n], f[:, :n], f[:, n:])
        held.append(np.abs(found.both.mean) <= scipy.stats.t.ppf(0.975, n - 1) * found.both.error)
        widths.append(found.both.error / found.trusted.error)
    return np.mean(held), np.median(widths)


PRINTED = {
    ("normal", 0.9): ([0.950, 0.946, 0.955, 0.954], 0.50),
    ("normal", 0.5): ([0.943, 0.944, 0.956, 0.955], 0.91),
    ("normal", 0): ([0.947, 0.947, 0.956, 0.950], 1.01),
    ("exponential", 0.9): ([0.885, 0.917, 0.929, 0.949], 0.58),
    ("exponential", 0.5): ([0.890, 0.918, 0.931, 0.947], 0.93),
    ("exponential", 0): ([0.897, 0.925, 0.935, 0.947], 1.00),
}
"""What the table says, of 10, 25, 50 and 200 queries, and how wide intervals are at 25."""


@pytest.mark.parametrize("repeats", [500, *simulated(10_000)])
@pytest.mark.parametrize(("kind", "correlation"), PRINTED)
def test_intervals_hold_the_mean_as_often_as_is_printed(kind, correlation, repeats):
    printed, width = PRINTED[kind, correlation]
    for n, share in zip((10, 25, 50, 200), printed, strict=True):
        if repeats > 500 or n == 25:
            held, found = coverage(kind, correlation, n, repeats)
            assert held == pytest.approx(share, abs=4 * (share * (1 - share) / repeats) ** 0.5)
            if n == 25:
                assert found == pytest.approx(width, abs=0.02)


@pytest.mark.slow
def test_intervals_hold_the_mean_of_average_precision(ohsumed):
    ap = pg.evaluate(ohsumed, "ap", by="f11", ties="order")["ap"].to_numpy()
    for correlation, printed in ((0.9, [0.94, 0.943]), (0, [0.943, 0.948])):
        for n, share in zip((10, 25), printed, strict=True):
            held, _ = coverage(ap, correlation, n, 10_000)
            assert held == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("repeats", [40, *simulated(600)])
def test_holm_seldom_finds_what_is_not_there(repeats):
    """All pairs of four strategies that do not differ: any is found in at most 0.05 of all."""
    found = 0
    for seed in range(repeats):
        generator = rng(seed)
        y = generator.standard_normal((4, 200))
        f = 0.7 * y + generator.standard_normal((4, 200)) + generator.standard_normal(200)
        people = {f"s{i}": [*y[i, :25], *[None] * 175] for i in range(4)}
        results = graded(people, {f"s{i}": f[i].tolist() for i in range(4)})
        with warnings.catch_warnings(action="ignore", category=DataWarning.selection):
            found += (
                prediction_powered_differences(results, trusted="people")["p_corrected"].min()
                <= 0.05
            )
    assert found / repeats <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5
