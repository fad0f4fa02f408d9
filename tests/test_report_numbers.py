"""The numbers of a report, computed again from the lines of LETOR's OHSUMED by hand and scipy.

Nothing here calls the package but to write the report: not its reader, measures or statistics.
"""

from __future__ import annotations

import gzip
import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from report_page import Part, Report, interval, number
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
def page(files: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What the page of the report contains."""
    frame = pg.read_letor(files)
    by = [f"f{feature}" for feature in FEATURES]
    results = pg.evaluate(frame, *MEASURES, "dcg_curve@20", by=by, ties="order")
    return Report(pg.report(results, tmp_path_factory.mktemp("report") / "page.html"))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, written out (Holm 1979)."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected


def part_of(page: Report, measure: str) -> Part:
    [part] = [each for each in page.parts if each.name == measure]
    return part


def near(value: Any) -> Any:
    return pytest.approx(value, abs=5.1e-5)


@pytest.mark.parametrize("measure", MEASURES)
def test_means_and_intervals(page, values, measure):
    table = part_of(page, measure).tables[f"Means, ordered by {measure}"]
    means = {strategy: own.mean() for strategy, own in values[measure].items()}
    assert table.numbers(f"mean {measure}") == near(means)
    shown = table.column("95 % interval")
    for strategy, own in values[measure].items():
        ends = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert interval(shown[strategy]) == near(ends)
    assert table.rows[0][0] == max(means, key=means.__getitem__)
    assert page.settings["Data"] == "4 strategies, 106 queries"


@pytest.mark.parametrize("measure", MEASURES)
def test_differences_and_p_values(page, values, measure):
    table = part_of(page, measure).tables[f"Differences of {measure}"]
    pairs = list(combinations(values[measure], 2))
    differences = [values[measure][a] - values[measure][b] for a, b in pairs]
    p_values = [stats.ttest_1samp(difference, 0).pvalue for difference in differences]
    shown = {(row[0], row[1]): row[2:] for row in table.rows}
    assert {*shown} == {*pairs}
    for pair, difference, p in zip(pairs, differences, holm(p_values), strict=True):
        mean, ends, p_text, *counts = shown[pair]
        assert number(mean) == near(difference.mean())
        low, high = interval(ends)
        assert low - 1e-4 < difference.mean() < high + 1e-4
        assert (low > 0 or high < 0) == (p <= 0.05)
        # Differences of sums in another order are equal up to rounding.
        wins, losses = (difference > 1e-12).sum(), (difference < -1e-12).sum()
        assert [*map(int, counts)] == [wins, 106 - wins - losses, losses]
        assert p_text == ("< 0.001" if p < 0.001 else "1" if p > 0.99995 else f"{p:.4f}")
        row = [each[:2] for each in table.rows].index([*pair])
        assert bool(table.bold[row]) == (p <= 0.05)


def test_curves(page, rankings):
    [chart] = page.figures(id="curves")
    for strategy, lists in rankings.items():
        own = np.mean([dcg(grades)[:20] for grades in lists.values()], axis=0)
        shown = [row["value"] for row in page.rows(chart) if row["strategy"] == strategy]
        assert shown == pytest.approx(own.tolist())


@pytest.mark.parametrize("measure", MEASURES)
def test_the_headline(page, values, measure):
    part = part_of(page, measure)
    means = {strategy: own.mean() for strategy, own in values[measure].items()}
    first, second = sorted(means, key=means.__getitem__, reverse=True)[:2]
    difference = values[measure][first] - values[measure][second]
    assert first in part.headline
    assert f", {means[first]:.4f} over 106 queries, " in part.headline
    assert f"{difference.mean():.4f} above that of {second} (95 % interval " in part.headline
    wins, losses = (difference > 1e-12).sum(), (difference < -1e-12).sum()
    assert f"better in {wins} queries, worse in {losses}" in part.details
