"""What a title states is read back from it, and held against numbers that are made anew.

Results are random, of few values: with ties, with one query, with strategies that are the same.
"""

from __future__ import annotations

import re

import altair as alt
import numpy as np
import polars as pl
import pytest
from helpers import simulated
from report_page import Report
from results import frame_of, of_few
from scipy.stats import ttest_rel

from polars_graded import charts, compare, datasets, rank_strategies, report, similarity, summarise
from polars_graded._results.significance import TESTS

pytestmark = of_few

SEEDS = [range(12), *simulated(range(12, 40))]
NUMBERS = {"the": 1, "both": 2}


def said(chart):
    title = chart.title
    if title is alt.Undefined:
        return ""
    return title["text"] if isinstance(title["text"], str) else " ".join(title["text"])


def written(number):
    """A number as charts print it."""
    return f"{number:.4f}".replace("-", "\N{MINUS SIGN}")


def noted(chart):
    """What stands below the title, where lines of a note are joined."""
    title = chart.title
    return "" if title is alt.Undefined else " ".join(title.to_dict().get("subtitle", []))


def results(seed):
    """One row per strategy and query, of two measures and a curve."""
    rng = np.random.default_rng(seed)
    names = ["p", "q", "r", "s"][: rng.integers(1, 5)]
    n = int(rng.choice([1, 2, 3, 6, 9]))
    values = rng.choice([0, 0.25, 0.5, 1.0], (len(names), n, 5))
    if rng.random() < 0.4:
        values[-1] = values[0]
    if rng.random() < 0.3:
        values[:, :, 1] = values[:, :, 0]
    if rng.random() < 0.2:
        values[-1] = values[0] + 0.25  # a difference that the t test cannot test
    # Differences that are settled, where queries are many.
    values += rng.choice([-2, 0, 0, 0, 1], (len(names), 1, 1))
    frame = pl.DataFrame(
        {
            "strategy": np.repeat(names, n),
            "query": np.tile(np.arange(n), len(names)),
            "ap": values[:, :, 0].ravel(),
            "ndcg": values[:, :, 1].ravel(),
            "dcg_curve@3": values[:, :, 2:].reshape(-1, 3).tolist(),
        }
    )
    return frame.with_columns(pl.col("dcg_curve@3").cast(pl.List(pl.Float64)))


def rows(seed):
    """One row per query and document, with grades, some unjudged, and three scores."""
    rng = np.random.default_rng(seed)
    n, depth = int(rng.choice([1, 2, 5])), 4
    scores = {name: rng.permutation(n * depth) for name in "xyz"}
    if rng.random() < 0.4:
        scores["z"] = scores["x"]
    grades = rng.choice([0, 1, 2, None], n * depth, p=[0.4, 0.2, 0.2, 0.2]).tolist()
    frame = {"query": np.repeat(np.arange(n), depth), "doc": np.tile(np.arange(depth), n)}
    return pl.DataFrame(frame | {"grade": pl.Series(grades, dtype=pl.Int64), **scores})


def names_of(text):
    return re.split(r", | and ", text)


def amount(words):
    """A number at the beginning of "2 of 3 measures", "both measures", "all 4", "the measure"."""
    if match := re.match(r"([\d,]+) of ([\d,]+) ", words):
        return tuple(int(each.replace(",", "")) for each in match.groups())
    word = words.split()[0]
    n = NUMBERS.get(word) or int(words.split()[1].replace(",", ""))
    return n, n


def compared(seed):
    frame = results(seed)
    means = dict(frame.group_by("strategy").agg(pl.col("ap").mean()).iter_rows())
    if len(means) == 1:
        return None
    baseline = "p" if seed % 2 else None
    return compare(frame, "ap", baseline=baseline), means


def means_by(frame, measure):
    return dict(frame.group_by("strategy").agg(pl.col(measure).mean()).iter_rows())


def directions(comparison):
    """Return how many differences are above 0 and below by p, and how many tests left open.

    A difference that is 0 in every query is neither.
    """
    found = [row["difference"] for row in comparison.rows(named=True) if is_settled(row)]
    up = sum(difference > 0 for difference in found)
    equal = comparison.filter(pl.col("ties") == pl.col("queries"), p_corrected=1).height
    return up, len(found) - up, comparison["p_corrected"].count() - len(found) - equal


def is_settled(row):
    return row["p_corrected"] is not None and row["p_corrected"] <= 0.05


def named_test(table, *, alone):
    """What a title says of the test: that there is none if there is one query."""
    if table["queries"].max() == 1:
        return "only one query"
    if "untested" in table.columns and table["untested"].min() == table.height - 1:
        return "not tested"
    return "paired t test" if alone else "paired t test, Holm"


def beside_a_baseline(title, comparison):
    """Read a title about a baseline: its counts in both directions are those of p."""
    test = named_test(comparison, alone=comparison.height == 1)
    better, worse, undecided = directions(comparison)
    if comparison.height == 1:
        side = "better" if better else "worse"
        one, other = comparison.select("strategy", "baseline").row(0)
        expected = f"{one} is {side} than {other} ({test})"
        expected = expected if better or worse else f"{one} equals {other} in every query ({test})"
        if undecided:
            expected = f"Undecided whether {one} is better than {other} ({test})"
        if not comparison["p_corrected"].count():
            expected = f"The difference of {one} from {other} is not tested ({test})"
        assert title == expected
        return
    n = comparison["p_corrected"].count()
    if not n:
        assert title == f"None of {comparison.height} differences from p is tested ({test})"
        return
    words, rest = title[0].lower() + title[1:], title.split(" than p")[1]
    assert (" worse than p" in title) == (worse > better == 0)
    if worse and not better:
        better, worse = worse, 0
    is_none = words.startswith(("none of ", "no tested "))
    assert (0 if is_none else amount(words.replace(" are", " x are"))[0]) == better
    assert f"{n}" in words or words.startswith(("both", "the tested", "no tested"))
    assert_untested_counted(rest, comparison)
    assert int((re.search(r", (\d+) worse", rest) or [0, 0])[1]) == worse
    assert int((re.search(r", (\d+) undecided", rest) or [0, 0])[1]) == undecided
    assert title.endswith(f" ({test})")


def assert_untested_counted(title, comparison):
    untested = comparison["p_corrected"].null_count()
    assert int((re.search(r", (\d+) not tested", title) or [0, 0])[1]) == untested


def all_pairs(title, comparison):
    """Read a title about all pairs."""
    (up, down, undecided), n = directions(comparison), comparison["p_corrected"].count()
    settled = up + down
    assert title.endswith(f" ({named_test(comparison, alone=False)})")
    if not n:
        assert title.startswith(f"None of {comparison.height} differences is tested ")
        return
    assert_untested_counted(title, comparison)
    if not settled:
        assert re.match(rf"(None of {n}|No)( tested)? differences? is significant\b", title)
    else:
        assert amount(title[0].lower() + title[1:]) == (settled, n)
        assert int((re.search(r", (\d+) undecided", title) or [0, 0])[1]) == undecided


def forest(seed):
    if found := compared(seed):
        chart = charts.comparison_forest(found[0])
        one = found[0]["baseline"].n_unique() == 1
        (beside_a_baseline if one else all_pairs)(said(chart), found[0])
        table = chart.data
        # The interval that is drawn is clear of 0 where p says so, and nowhere else.
        low, high = "simultaneous_low", "simultaneous_high"
        if not table[low].count():
            low, high = "ci_low", "ci_high"
        known = table.drop_nulls([low, "p_corrected"])
        clear = (known[low] > 0) | (known[high] < 0)
        assert clear.to_list() == (known["p_corrected"] <= 0.05).to_list()


def matrix(seed):
    if found := compared(seed):
        chart = charts.comparison_matrix(found[0])
        assert said(chart) == said(charts.comparison_forest(found[0]))
        marked = chart.data.filter(pl.col("mark") != "")
        assert ((marked["mark"] == "+") == (marked["difference"] >= 0)).all()
        assert (marked["p_corrected"] <= 0.05).all()


def told(table, measure, means):
    """Which pairs a comparison tells apart, and who is beaten by nobody."""
    pairs = table.filter(pl.col("p_corrected") <= 0.05, measure=measure)
    found = {frozenset(pair) for pair in pairs.select("strategy", "baseline").rows()}
    return found, {*means} - {min(pair, key=means.get) for pair in found}


def first_by_ap(title, may, n, test):
    if len(may) == 1:
        assert title == f"{min(may)} is clearly first ({test})"
        return
    pattern = rf"No strategy is clearly first, (.*) may be: (.*) \({test}\)"
    count, called = re.fullmatch(pattern, title).groups()
    assert amount(f"{count} x") == (len(may), n)
    assert "other" in called or {*names_of(called)} == may


def places(seed):
    """Of one measure and of two: who could be first, as `compare` finds nobody better."""
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    ranks, table = rank_strategies(frame, "ap", "ndcg"), compare(frame, "ap", "ndcg")
    may = {name: told(table, name, means_by(frame, name))[1] for name in ("ap", "ndcg")}
    alone = sum(len(names) == 1 for names in may.values())
    title = said(charts.strategy_ranks(ranks))
    if title.startswith("No strategy is clearly first by either measure"):
        assert alone == 0
    else:
        who, where = re.match(r"(.*) is clearly first by (.*measures?)", title).groups()
        assert amount(where) == (alone, 2)
        clear = {next(iter(names)) for names in may.values() if len(names) == 1}
        assert who == (clear.pop() if len(clear) == 1 else "One strategy")
    for chart in (charts.strategy_ranks, charts.strategy_bars):
        title = said(chart(ranks.filter(measure="ap")))
        n = frame["strategy"].n_unique()
        first_by_ap(title, may["ap"], n, named_test(ranks.filter(measure="ap"), alone=n == 2))


def histogram(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    chart = charts.precision_histogram(frame, "ap", "p", "q")
    p, q = (frame.filter(strategy=name)["ap"].to_numpy() for name in "pq")
    wins, queries = [int((p > q).sum()), int((q > p).sum())], len(p)
    mean = f"mean difference {written(np.mean(p - q))}"
    if np.ptp(p - q) > 0:
        low, high = ttest_rel(p, q).confidence_interval(0.95)
        mean += f", 95 % interval {written(low)} to {written(high)}"
    assert noted(chart) == mean
    n = f"{queries} queries"
    first, second = ("p", "q") if wins[0] > wins[1] else ("q", "p")
    expected = f"{first} beats {second} in {max(wins)} of {n}, loses in {min(wins)}"
    if queries == 1:
        expected = f"{first} beats {second} in the only query"
    if wins[0] == wins[1]:
        expected = f"p and q each win in {wins[0]} of {n}"
    if wins == [0, 0]:
        part = {1: "the only query", 2: "both queries"}.get(queries, f"all {n}")
        expected = f"p and q are equal in {part}"
    assert said(chart) == expected


def described(seed):
    """What is drawn is counted: measures, strategies, queries."""
    frame = results(seed)
    n, strategies = frame["query"].n_unique(), frame["strategy"].n_unique()
    of = f"of {strategies} {'strategy' if strategies == 1 else 'strategies'}"
    queries = f"{n} {'query' if n == 1 else 'queries'}"
    for chart, title in (
        (charts.strategy_bars(summarise(frame, "ap")), f"Mean average precision {of}"),
        (charts.dcg_curves(frame), f"DCG {of} by rank"),
    ):
        assert said(chart).removesuffix(", 95 % intervals") == title
        assert noted(chart).startswith(queries)
    several = charts.strategy_bars(summarise(frame, "ap", "ndcg"))
    assert said(several).startswith(f"Means {of} by 2 measures")


CLAIMS = {
    "comparison_forest": forest,
    "comparison_matrix": matrix,
    "strategy_ranks": places,
    "precision_histogram": histogram,
    "descriptive titles": described,
}
"""Charts that state what a test found, and the counts in other titles."""


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_title_claims_what_its_numbers_say(name, seeds):
    for seed in seeds:
        CLAIMS[name](seed)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("seed", range(3))
def test_every_test_is_of_means(test, seed):
    """What is found lies on the side of the mean: intervals that agree are clear of 0 there."""
    rng = np.random.default_rng(seed)
    values = {f"s{i}": (rng.exponential(1, 40) ** 2 + 2.0 * i).tolist() for i in range(4)}
    found = compare(frame_of(values), test=test, resamples=1000).filter(
        pl.col("p_corrected") <= 0.05
    )
    assert found.height
    sides = pl.when(pl.col("simultaneous_low") > 0).then(1).otherwise(-1)
    assert found.select((sides == pl.col("difference").sign()).all()).item()


@pytest.mark.slow
@pytest.mark.parametrize("test", ["t", *simulated(*{*TESTS} - {"t"})])
def test_of_one_query_no_chart_claims_a_test_or_an_interval(test):
    values = {"a": [0.5], "b": [0.25], "c": [0.75]}
    frame = frame_of(values).with_columns(curve=pl.concat_list("ap", pl.col("ap") / 2))
    comparison = compare(frame, "ap", test=test)
    drawn = [charts.comparison_forest(comparison), charts.comparison_matrix(comparison)]
    ranks = rank_strategies(frame, "ap", test=test)
    drawn.append(charts.strategy_ranks(ranks))
    line = "line: all ranks, since one query cannot be tested"
    assert line in " ".join(drawn[2].title["subtitle"])
    for chart in drawn:
        assert said(chart).endswith("(only one query)")
    drawn += [charts.dcg_curves(frame, "curve", confidence=0.95)]
    drawn += [charts.explore(frame, "a", "b", "ap"), charts.strategy_bars(summarise(frame, "ap"))]
    for chart in drawn:
        written = str(chart.title) + str([*find_titles(chart.to_dict())])
        assert not re.search(r"\bt test|Holm|randomis|95 %|band", written), written


def find_titles(spec):
    """Each title of an axis or a legend."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "title":
                yield value
            elif key not in ("datasets", "data"):
                yield from find_titles(value)
    elif isinstance(spec, list):
        for each in spec:
            yield from find_titles(each)


@pytest.mark.usefixtures("charts_undrawn")
def test_of_one_query_the_report_claims_no_test_and_no_interval(tmp_path):
    frame = frame_of({"a": [0.5], "b": [0.25], "c": [0.75]})
    page = Report(report(frame, tmp_path / "page.html"))
    [section] = page.sections
    assert not re.search(r"\bt test|Holm|interval", section.headline + section.details)
    assert page.settings["Test"] == "none, since one query cannot be tested"
    assert set(section.tables["Differences of ap"].column("95 % interval").values()) == {"–"}


TESTED = [[0.75, 0.5, 1.0, 0.75], [0.5, 0.25, 0.75, 0.5], [0.25, 0.0, 0.25, 0.25]]
"""The first differs from the second by a quarter in every query, which the t test cannot test."""


def test_strategies_that_are_equal_in_every_query_are_not_undecided():
    frame = frame_of({"a": TESTED[0], "b": TESTED[0]})
    comparison = compare(frame, baseline="a")
    title = said(charts.comparison_forest(comparison))
    assert title == "b equals a in every query (paired t test)"


@pytest.mark.parametrize(
    ("strategies", "baseline", "words"),
    [("ab", "a", "b equals a in"), ("abc", "a", ", 1 equal in"), ("abc", None, ", 1 equal in")],
)
def test_strategies_that_differ_only_in_a_query_of_weight_0(strategies, baseline, words):
    values = {"a": [0.1, 0.2, 0.3, 0.4], "b": [0.5, 0.2, 0.3, 0.4], "c": [0.1, 0.2, 0.5, 0.7]}
    frame = frame_of({name: values[name] for name in strategies})
    weighted = frame.with_columns(weight=pl.col("query").clip(0, 1))
    chart = charts.comparison_forest(compare(weighted, baseline=baseline, weights="weight"))
    assert f"{words} every weighted query" in said(chart)


@pytest.mark.filterwarnings("ignore:.* the same in every query")
def test_ranks_say_which_differences_were_not_tested():
    """The differences from b are a quarter in every query, and a and c are equal."""
    ranks = rank_strategies(frame_of({"a": TESTED[0], "b": TESTED[1], "c": TESTED[0]}))
    assert dict(ranks.select("strategy", "untested").rows()) == {"a": 1, "c": 1, "b": 2}
    chart = charts.strategy_ranks(ranks).to_dict()
    assert "2 differences not tested" in " ".join(chart["title"]["subtitle"])
    assert "same letter: not significant or not tested" in str(chart)
    title = said(charts.strategy_ranks(rank_strategies(frame_of({"a": TESTED[0], "b": TESTED[1]}))))
    assert title == "No strategy is clearly first, both may be: a and b (not tested)"


def test_the_strategies_of_similarities_are_pairs():
    frame = datasets.example(6)
    means = summarise(similarity(frame, "rbo", by=["strong", "fair", "weak"]))
    title = said(charts.strategy_bars(means))
    assert title == "Mean rank-biased overlap of 3 pairs of strategies"


@pytest.mark.parametrize(
    ("n", "n_strategies", "key"),
    [(1, 3, "○ not tested"), (9, 2, "● p ≤ 0.05 ○"), (9, 3, "● corrected p ≤ 0.05 ○")],
)
def test_a_legend_names_the_p_that_is_drawn(n, n_strategies, key):
    values = {
        name: [(7 * place * q + place) % 5 / 5 for q in range(n)]
        for place, name in enumerate("abc"[:n_strategies])
    }
    comparison = compare(frame_of(values))
    text = str(charts.comparison_forest(comparison).to_dict()).replace("\\xa0", " ")
    assert key in text
    assert ("● " in text) == (n > 1)
    if n_strategies > 2 and n > 1:  # a part of a larger table stays corrected
        part = str(charts.comparison_forest(comparison.sort("p_value").head(1)).to_dict())
        assert "corrected" in part
        assert "Holm" in part


LONG = "a name that is longer than anybody would give to a strategy"


@pytest.mark.parametrize("name", [LONG * 3, "x" * 300, "two\nlines", "", "<b>$x$</b>"])
def test_a_title_fits_whatever_strategies_are_called(name):
    """About seven pixels a letter leave room beside it in a cell of 700."""
    chart = charts.precision_histogram(frame_of({name: [1, 0, 1], "b": [0, 1, 0]}), "ap", name, "b")
    title = chart.to_dict()["title"]["text"]
    lines = [title] if isinstance(title, str) else title
    assert max(map(len, lines)) < 700 / 7
    assert all(line == line.strip() and "\n" not in line for line in lines)
