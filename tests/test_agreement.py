"""How far graders agree: equal to other libraries, to published numbers; null where undefined."""

from __future__ import annotations

import csv
import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from helpers import needed
from results import close, rng

from polars_graded import agreement, charts, read_qrels

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
