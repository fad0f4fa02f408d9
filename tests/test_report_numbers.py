"""The numbers of a report, computed again from the lines of LETOR's OHSUMED by hand and scipy.

Nothing here calls the package but to write the report: not its reader, measures or statistics.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

import polars_graded as pg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FEATURES = (1, 5, 22, 25)
MEASURES = ("ndcg@10", "ap", "precision@5")
Values = dict[str, dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def files(data: Path) -> list[Path]:
    return [data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)]


@pytest.fixture(scope="module")
def rankings(files: Sequence[Path]) -> dict[str, dict[str, list[int]]]:
    """The grades of each query in the order of each feature; tied lines keep their order."""
    queries: dict[str, list[tuple[int, dict[int, float]]]] = {}
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                grade, query, *features = line.partition("#")[0].split()
                numbers = dict(pair.split(":") for pair in features)
                row = int(grade), {int(name): float(value) for name, value in numbers.items()}
                queries.setdefault(query.removeprefix("qid:"), []).append(row)
    return {
        f"f{feature}": {
            query: [grade for grade, _ in sorted(rows, key=lambda row: -row[1][feature])]
            for query, rows in queries.items()
        }
        for feature in FEATURES
    }


def dcg(grades: Sequence[int]) -> list[float]:
    """Discounted cumulated gain at each rank (Scheel and others 2011, equation 3)."""
    gains = [(2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1)]
    return np.cumsum(gains).tolist()


def ndcg_at_10(grades: Sequence[int]) -> float:
    ideal = dcg(sorted(grades, reverse=True)[:10])[-1]
    return dcg(grades[:10])[-1] / ideal if ideal else 0.0


def average_precision(grades: Sequence[int]) -> float:
    ranks = [rank for rank, grade in enumerate(grades, 1) if grade > 0]
    return sum(seen / rank for seen, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


def precision_at_5(grades: Sequence[int]) -> float:
    return sum(grade > 0 for grade in grades[:5]) / 5


@pytest.fixture(scope="module")
def values(rankings: Mapping[str, Mapping[str, Sequence[int]]]) -> Values:
    functions = dict(zip(MEASURES, (ndcg_at_10, average_precision, precision_at_5), strict=True))
    return {
        measure: {
            strategy: np.array([function(grades) for grades in queries.values()])
            for strategy, queries in rankings.items()
        }
        for measure, function in functions.items()
    }


@pytest.fixture(scope="module")
def page(files: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page of the report contains."""
    frame = pg.read_letor(files)
    by = [f"f{feature}" for feature in FEATURES]
    results = pg.evaluate(frame, *MEASURES, "dcg_curve@20", by=by, ties="order")
    file = pg.report(results, tmp_path_factory.mktemp("report") / "page.html")
    text = file.read_text(encoding="utf-8")
    [payload] = re.findall(r'<script type="application/json" id="payload">(.*?)</script>', text)
    return json.loads(payload)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, written out (Holm 1979)."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected


@pytest.mark.parametrize("measure", MEASURES)
def test_means_and_intervals(page, values, measure):
    [shown] = [each for each in page["measures"] if each["name"] == measure]
    for strategy, mean, margin in zip(
        page["strategies"], shown["means"], shown["margins"], strict=True
    ):
        own = values[measure][strategy]
        low, high = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert mean == pytest.approx(own.mean(), rel=1e-6)
        assert margin == pytest.approx((high - low) / 2, rel=1e-6)
    means = [values[measure][strategy].mean() for strategy in page["strategies"]]
    assert shown["best_strategies"] == [int(np.argmax(means))]
    assert page["total"] == 106


@pytest.mark.parametrize("measure", MEASURES)
def test_differences_and_p_values(page, values, measure):
    comparison = page["comparison"]
    place = [each["name"] for each in page["measures"]].index(measure)
    rows = [dict(zip(comparison["columns"], row, strict=True)) for row in comparison["rows"][place]]
    pairs = list(combinations(page["strategies"], 2))
    differences = [values[measure][a] - values[measure][b] for a, b in pairs]
    tests = [stats.ttest_1samp(difference, 0) for difference in differences]
    corrected = holm([test.pvalue for test in tests])
    shown = {
        (page["strategies"][row["strategy"]], page["strategies"][row["baseline"]]): row
        for row in rows
    }
    assert {*shown} == {*pairs}
    for pair, difference, test, p in zip(pairs, differences, tests, corrected, strict=True):
        row = shown[pair]
        low, high = test.confidence_interval(0.95)
        assert row["difference"] == pytest.approx(difference.mean(), rel=1e-6)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), rel=1e-5, abs=1e-7)
        # Differences of sums in another order are equal up to rounding.
        wins, losses = (difference > 1e-12).sum(), (difference < -1e-12).sum()
        assert (row["wins"], row["losses"]) == (wins, losses)
        assert row["ties"] == 106 - wins - losses
        assert row["p_corrected"] == pytest.approx(p, rel=1e-5)
        assert row["significant"] == (p <= 0.05)
        assert row["p"] == ("< 0.001" if p < 0.001 else f"{p:.4f}")


@pytest.mark.parametrize("measure", MEASURES)
def test_how_many_pairs_are_significant(page, values, measure):
    [row] = [each for each in page["certainty"] if each["measure"] == measure]
    pairs = list(combinations(FEATURES, 2))
    p_values = holm(
        [stats.ttest_rel(*(values[measure][f"f{each}"] for each in pair)).pvalue for pair in pairs]
    )
    assert (row["significant_pairs"], row["pairs"]) == (
        sum(p <= 0.05 for p in p_values),
        len(pairs),
    )
    assert row["queries"] == 106
    # A twentieth of the best mean.
    best = max(mean.mean() for mean in values[measure].values())
    assert row["difference"] == pytest.approx(best / 20, rel=1e-5)


def test_curves(page, rankings):
    [curve] = page["curves"]
    assert curve["at"] == list(range(1, 21))
    for strategy, shown in zip(page["strategies"], curve["packed"]["means"], strict=True):
        own = np.mean([dcg(grades)[:20] for grades in rankings[strategy].values()], axis=0)
        assert shown == pytest.approx(own.tolist(), rel=1e-5)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_verdict(page, values, measure):
    [shown] = [each for each in page["measures"] if each["name"] == measure]
    verdict = "".join(
        part if isinstance(part, str) else page["strategies"][part] for part in shown["verdict"]
    )
    means = {strategy: own.mean() for strategy, own in values[measure].items()}
    first, second = sorted(means, key=means.__getitem__, reverse=True)[:2]
    difference = values[measure][first] - values[measure][second]
    above = f"{difference.mean():.4f}"
    assert f"best mean {measure}, {means[first]:.4f} over 106 queries, {above} above" in verdict
    wins, losses = (difference > 1e-12).sum(), (difference < -1e-12).sum()
    assert f"better in {wins} queries, worse in {losses}" in verdict
