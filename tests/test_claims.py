"""What the title of each chart claims is read back from it, and held against numbers made anew.

Results are random, of few values: with ties, with one query, with strategies that are the same.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import altair as alt
import numpy as np
import polars as pl
import pytest
import scipy.stats
from results import of_few

from polars_graded import (
    charts,
    compare,
    evaluate,
    experiments,
    overview,
    rank_strategies,
    summarise,
)
from polars_graded._drawing import chart_data, style
from polars_graded.trust import (
    order_stability,
    power_curve,
    robustness_to_grading,
    significance_levels,
    swap_rate,
    unjudged_bounds,
)

pytestmark = of_few

SEEDS = [range(10), pytest.param(range(10, 60), marks=pytest.mark.slow)]
NUMBERS = {"the": 1, "both": 2}


def said(chart):
    title = chart.title
    if title is alt.Undefined:
        return ""
    return title["text"] if isinstance(title["text"], str) else " ".join(title["text"])


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
    if rng.random() < 0.3:
        values[0] += 1  # one that all differences are settled with, where queries are many
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


def tops(values, best="highest"):
    """Who has the best of some values, ties and all."""
    values = {name: round(value, 9) for name, value in values.items() if value is not None}
    top = (min if best == "lowest" else max)(values.values())
    return sorted(name for name, value in values.items() if value == top)


def most_often(title, groups, verb):
    """Of groups with the values of each strategy, who is best alone, how often, and the ties."""
    leaders = [tops(group) if len(group) > 1 else [] for group in groups]
    counts = Counter(names[0] for names in leaders if len(names) == 1)
    if not counts:
        assert title == ""
        return
    names, amounts = re.match(rf"(.*?) (?:{verb}) (.*)", title).groups()
    most = max(counts.values())
    assert names_of(names) == sorted(name for name in counts if counts[name] == most)
    assert amount(amounts) == (most, len(groups))
    assert (" each" in amounts) == (len(names_of(names)) > 1)
    ties = re.search(r", (\d+) ties?$", title)
    assert int(ties[1] if ties else 0) == sum(len(each) > 1 for each in leaders)


def by(table, keys, value, name="strategy"):
    return [dict(group.select(name, value).iter_rows()) for _, group in table.group_by(keys)]


def bars(seed):
    frame = results(seed)
    several = seed % 2
    chart = charts.strategy_bars(summarise(frame, *(["ap", "ndcg"] if several else ["ap"])))
    title, means = said(chart), frame.group_by("strategy").agg(pl.col("ap", "ndcg").mean())
    groups = [dict(means.select("strategy", name).iter_rows()) for name in ("ap", "ndcg")]
    if several:
        most_often(title, groups, "has the best mean in|have the best mean in")
        return
    best = tops(groups[0])
    if len(best) == len(groups[0]):
        assert title == ""
        return
    names, top, gap, after = re.match(
        r"(.*?) ha(?:s|ve) the highest mean ap: (.*), (.*) above (.*)", title
    ).groups()
    rest = sorted((v, k) for k, v in groups[0].items() if k not in best)
    assert names_of(names) == best
    assert float(top) == pytest.approx(groups[0][best[0]], rel=5e-3)
    assert float(gap) == pytest.approx(groups[0][best[0]] - rest[-1][0], rel=5e-3)
    assert groups[0][after] == pytest.approx(rest[-1][0])


def settled(title, comparison, names):
    p = comparison["p_corrected"]
    k = sum(each is not None and each <= 0.05 for each in p)
    if comparison.height == 1:
        row = comparison.row(0, named=True)
        if abs(row["difference"]) < 1e-9:
            assert "have the same mean" in title
            return
        first, second, gap = re.match(r"(.*) leads (.*) by ([\d.e-]+), ", title).groups()
        assert {first, second} == set(names)
        assert names[first] > names[second]
        assert float(gap) == pytest.approx(abs(row["difference"]), rel=5e-3)
        assert title.endswith(f", {'' if k else 'not '}settled at 95 % (paired t test, Holm)")
        return
    if not k:
        count = comparison.height
        assert title == f"None of {count} differences is settled at 95 % (paired t test, Holm)"
        return
    assert amount(re.split(r"; ", title)[-1][0].lower() + re.split(r"; ", title)[-1][1:]) == (
        k,
        comparison.height,
    )
    if ";" in title:
        assert names_of(re.match(r"(.*?) leads?", title)[1]) == tops(names)


def compared(seed):
    frame = results(seed)
    means = dict(frame.group_by("strategy").agg(pl.col("ap").mean()).iter_rows())
    if len(means) == 1:
        return None
    baseline = "p" if seed % 2 else None
    return compare(frame, "ap", baseline=baseline), means


def forest(seed):
    if found := compared(seed):
        chart = charts.comparison_forest(found[0])
        settled(said(chart), *found)
        table = chart.data
        if table["baseline"].n_unique() > 1:
            assert all(
                found[1][a] >= found[1][b] for a, b in table[["strategy", "baseline"]].rows()
            )
        # The interval that is drawn is clear of 0 where p says so, and nowhere else.
        low, high = chart_data.interval_ends(table)
        known = table.drop_nulls([low, "p_corrected"])
        clear = (known[low] > 0) | (known[high] < 0)
        assert clear.to_list() == (known["p_corrected"] <= 0.05).to_list()


def matrix(seed):
    if found := compared(seed):
        chart = charts.comparison_matrix(found[0])
        settled(said(chart), *found)
        marked = chart.data.filter(pl.col("mark") != "")
        assert ((marked["mark"] == "+") == (marked["difference"] >= 0)).all()
        assert (marked["p_corrected"] <= 0.05).all()


def told(table, measure, means):
    """Which pairs a comparison tells apart, and who is beaten by nobody."""
    pairs = table.filter(pl.col("p_corrected") <= 0.05, measure=measure)
    found = {frozenset(pair) for pair in pairs.select("strategy", "baseline").rows()}
    return found, {*means} - {min(pair, key=means.get) for pair in found}


def first_by_ap(title, may, n):
    if len(may) == 1:
        assert title == f"{min(may)} is first by ap (paired t test, Holm)"
        return
    count, called = re.match(
        r"(\d+ of \d+) strategies may be first by ap \(paired t test, Holm\): (.*)", title
    ).groups()
    assert count == f"{len(may)} of {n}"
    assert " others" in called or {*names_of(called)} == may


def means_by(frame, measure):
    return dict(frame.group_by("strategy").agg(pl.col(measure).mean()).iter_rows())


def places(seed):
    """Of one measure and of two: who could be first, as `compare` finds nobody better."""
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    ranks, table = rank_strategies(frame, "ap", "ndcg"), compare(frame, "ap", "ndcg")
    may = {name: told(table, name, means_by(frame, name))[1] for name in ("ap", "ndcg")}
    alone = sum(len(names) == 1 for names in may.values())
    title = said(charts.strategy_ranks(ranks))
    where, words = re.match(r"In (none|.*measures?)(.*)", title).groups()
    assert words.endswith("one strategy alone may be first (paired t test, Holm)")
    assert (alone == 0) if where == "none" else amount(where) == (alone, 2)
    title = said(charts.strategy_ranks(ranks.filter(measure="ap")))
    first_by_ap(title, may["ap"], frame["strategy"].n_unique())


def diagram(seed):
    """A bar has the dots of a set of which no two are told apart; each such pair is on one."""
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    means = means_by(frame, "ap")
    apart, may = told(compare(frame, "ap"), "ap", means)
    chart = charts.critical_differences(rank_strategies(frame, "ap"))
    first_by_ap(said(chart), may, len(means))
    dots = chart.data.filter(part="dot")
    sets = {name: {*dots.filter(strategy=name)["set"]} for name in means}
    for one, other in combinations(means, 2):
        assert bool(sets[one] & sets[other]) != ({one, other} in apart)


def curves(seed):
    frame = results(seed)
    title = said(charts.dcg_curves(frame))
    points = {
        name: np.mean([list(each) for each in group["dcg_curve@3"]], axis=0)
        for (name,), group in frame.group_by("strategy")
    }
    heights = [tops({name: each[rank] for name, each in points.items()}) for rank in range(3)]
    if not title:
        assert len(heights[-1]) == len(points)
        return
    names, where, first = re.match(
        r"(.*?) (?:is|are) highest at (every rank|rank 3)(?:, (.*) at rank 1)?$", title
    ).groups()
    assert names_of(names) == heights[-1]
    assert (where == "every rank") == all(each == heights[-1] for each in heights)
    assert bool(first) == (not set(heights[0]) & set(heights[-1]))
    if first:
        assert names_of(first) == heights[0]


def beside_baseline(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    chart = charts.dcg_curves(frame, baseline="p")
    last = chart.data.filter(rank=3).drop_nulls("ci_low")
    title = said(chart)
    if last.is_empty():
        assert title == ""
        return
    above, below = (last["ci_low"] > 0).sum(), (last["ci_high"] < 0).sum()
    assert "95 % band" in title
    if last.height == 1:
        assert (" is above " in title, " is below " in title) == (above == 1, below == 1)
        return
    if not above + below:
        assert title.startswith(f"None of {last.height} strategies is clear")
        return
    counts = {"above": 0, "below": 0}
    for side in counts:
        if match := re.search(rf", (\d+) {side}", title):
            counts[side] = int(match[1])
        elif f" {side} p" in title:
            counts[side] = amount(title[0].lower() + title[1:])[0]
    assert counts == {"above": above, "below": below}


def recall(seed):
    frame = results(seed).select(
        "strategy", "query", pl.col("dcg_curve@3").alias("interpolated_precision")
    )
    points = frame.group_by("strategy").agg(
        *(pl.col("interpolated_precision").list.get(i).mean().alias(str(i)) for i in range(3))
    )
    groups = [dict(points.select("strategy", str(i)).iter_rows()) for i in range(3)]
    title = said(charts.recall_precision_curves(frame))
    most_often(title, groups, "is highest at|are highest at")


def thresholds(seed):
    profile = experiments.threshold_profile(rows(seed), by=["x", "y", "z"], measures="mu_ap")
    chart = charts.threshold_profile(profile)
    joined = profile.filter(pl.col("measure").str.starts_with("ap("))
    if joined.is_empty():
        return
    most_often(said(chart), by(joined, "measure", "mean"), "leads at|lead at")
    # Lines lie as means do: at a threshold all stand at one place.
    at = chart.data.drop_nulls("joined").group_by("measure").agg(pl.col("place").n_unique())
    assert (at["place"] == 1).all()


def histogram(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() == 1:
        return
    title = said(charts.precision_histogram(frame, "ap", "p", "q"))
    p, q = (frame.filter(strategy=name)["ap"].to_numpy() for name in "pq")
    more = {"p": int((p > q).sum()), "q": int((q > p).sum())}
    ties = int((p == q).sum())
    if ties == len(p):
        assert title.startswith("p and q tie in ")
        return
    found = re.search(r", (\d+) ties?$", title)
    assert int(found[1] if found else 0) == ties
    if more["p"] == more["q"]:
        assert title.startswith(f"p and q win {more['p']} of {len(p)} queries each")
        return
    first, words = re.match(r"(.) wins (.*)", title).groups()
    assert more[first] == max(more.values())
    assert amount(words) == (max(more.values()), len(p))
    other = re.search(r", [pq] (\d+)", title)
    assert int(other[1] if other else 0) == min(more.values())


def explored(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() > 1 and not seed % 10:  # it takes a second to draw
        a = said(charts.precision_histogram(frame, "ap", "p", "q"))
        assert said(charts.explore(frame, "p", "q", "ap")) == a


def agreement(seed):
    frame = results(seed)
    title = said(charts.measure_agreement(frame, "ap", "ndcg", panel=None, show="difference"))
    d = (frame["ap"] - frame["ndcg"]).to_numpy()
    more = {"ap": int((d > 0).sum()), "ndcg": int((d < 0).sum())}
    if not any(more.values()):
        assert "are the same" in title
        return
    first, k = re.match(r"(\w+) is higher for ([\d,]+) of", title).groups()
    assert more[first] == int(k) == max(more.values())


def boxed(seed):
    frame = results(seed)
    title = said(charts.sample_boxes(frame, "ap"))
    medians = dict(frame.group_by("strategy").agg(pl.col("ap").median()).iter_rows())
    best = tops(medians)
    if len(best) == len(medians):
        assert title == ""
        return
    assert names_of(re.match(r"(.*?) ha(?:s|ve) the", title)[1]) == best


def told_apart(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() < 3 or frame["query"].n_unique() == 1:
        return
    levels = significance_levels(frame, "ap", "ndcg")
    title = said(charts.significance_curves(levels))
    told = dict(levels.group_by("measure").agg((pl.col("p_corrected") <= 0.05).sum()).iter_rows())
    assert "at p ≤ 0.05 (paired t test, Holm)" in title
    if len(set(told.values())) == 1:
        assert title.startswith(f"Each measure tells {told['ap']} of ")
        return
    names = re.match(r"(.*?) tells? most .*, (\d+) of \d+; (.*) the fewest, (\d+)", title).groups()
    assert [names[0]] == tops(told)
    assert [names[2]] == tops(told, "lowest")
    assert (int(names[1]), int(names[3])) == (max(told.values()), min(told.values()))


def highest_and_lowest(title, values):
    shown = {name: f"{value:.2f}" for name, value in values.items()}
    if len(set(shown.values())) == 1:
        assert f"is {shown['ap']} for each of 2 measures" in title
        return
    top, high, low, least = re.search(
        r"highest for (.*) \((.*)\), lowest for (.*) \((.*)\)", title
    ).groups()
    assert values[top] == max(values.values())
    assert values[low] == min(values.values())
    assert (shown[top], shown[low]) == (high, least)


def power(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() == 1 or frame["query"].n_unique() == 1:
        return
    try:
        unit = "range" if seed % 2 else "measure"
        curve = power_curve(frame, "ap", "ndcg", queries=[20], difference=0.1, unit=unit)
    except ValueError:  # what does not vary has no power, nor what has one mean a range
        return
    values = dict(curve.filter("at_hand").select("measure", "power").iter_rows())
    title = said(charts.power_curves(curve))
    highest_and_lowest(title, values)
    means = frame.group_by("strategy").agg(pl.col("ap", "ndcg").mean())
    ranges = means.select(pl.all().exclude("strategy").max() - pl.all().exclude("strategy").min())
    ranges = [span for span in ranges.row(0) if span > 1e-9]
    shares = sorted(10 if seed % 2 else 10 / span for span in ranges)
    if not seed % 2:
        assert "a difference of 0.1" in title
    if shares:
        found = re.search(r"([\d.]+) %(?: to ([\d.]+) %)? of the range of means", title).groups()
        assert float(found[0]) == pytest.approx(shares[0], abs=0.051)
        assert float(found[1] or found[0]) == pytest.approx(shares[-1], abs=0.051)


def stability(seed):
    frame = results(seed)
    n = frame["query"].n_unique()
    if frame["strategy"].n_unique() < 2 or n < 6:
        return
    stable = order_stability(frame, "ap", "ndcg", sizes=[n // 2, n], samples=5)
    half = stable.filter(queries=n // 2).drop_nulls("tau")
    if half.height == 2:
        title = said(charts.stability_curves(stable))
        assert title.startswith(f"With {n // 2} of {n} queries")
        highest_and_lowest(title, dict(half.select("measure", "tau").iter_rows()))


def swaps(seed):
    frame = results(seed)
    if frame["strategy"].n_unique() < 2 or frame["query"].n_unique() < 6:
        return
    rates = swap_rate(frame, "ap", sizes=3, width=0.1, samples=20).drop_nulls("swap_rate")
    if rates.is_empty():
        return
    chart = charts.swap_rates(rates)
    table = chart.data
    if match := re.search(r"above ([\d.]+)$", said(chart)):
        later = table.filter(pl.col("difference_from") >= float(match[1]) - 1e-9)
        assert not later.is_empty()
        assert (later["swap_rate"] < 0.05).all()
    elif "any difference" in said(chart):
        assert (table["swap_rate"] < 0.05).all()
    else:
        largest = table.sort("difference_from")["swap_rate"][-1]
        assert largest >= 0.05


def gradings(seed):
    frame = rows(seed)
    others = {"one level": {2: 1}, "only 2": {1: 0}}
    robust = robustness_to_grading(frame, "ndcg", by=["x", "y", "z"], gradings=others)
    title = said(charts.grading_profile(robust))
    groups = by(robust, "grading", "mean")
    others = robust.filter(pl.col("grading") != "as given").drop_nulls("tau")
    leads, _, order = title.removeprefix("ndcg: ").partition("; ")
    if "lead" not in leads:
        leads, order = "", leads
    assert not title or title.startswith("ndcg: ")
    most_often(leads, groups, "leads under|lead under")
    if others.is_empty():
        assert order == ""
    elif others["tau"].min() == 1:
        assert order.lower() == "the order is always the same"
    else:
        tau, grading = re.match(r"τ is lowest, (.*), under (.*)", order).groups()
        assert tau == f"{others['tau'].min():.2f}"
        assert others.filter(grading=grading)["tau"].min() == others["tau"].min()


def unjudged(seed):
    measure = "ap" if seed % 2 else "precision@2"
    bounds = unjudged_bounds(rows(seed), measure, by=["x", "y", "z"], highest=2)
    title = said(charts.unjudged_bounds(bounds))
    settings = bounds.group_by("strategy").agg(pl.col("value", "value_if_best").mean())
    ends = pl.min_horizontal(pl.nth(1, 2)), pl.max_horizontal(pl.nth(1, 2)).alias("high")
    means = settings.sort("strategy").select("strategy", *ends).rows()
    n = sum(
        max(a[1], b[1]) <= min(a[2], b[2]) + 1e-9
        for i, a in enumerate(means)
        for b in means[i + 1 :]
    )
    assert not re.search("could|bounds", title)
    if all(low == high for _, low, high in means):
        assert title.startswith("No mean changes")
    elif n:
        assert amount(title.split("the means of ")[1]) == (n, 3)
    else:
        assert "the means of no two strategies overlap" in title


def looked_over(seed):
    frame = rows(seed).with_columns(x=pl.when(pl.col("query") > 0).then("x"))
    table = overview(frame, by=["x", "y", "z"])
    title = said(charts.overview(table))
    for what, words in (
        ("none_judged", "nothing judged"),
        ("none_retrieved", "retrieved nothing"),
        ("none_relevant", "judged nothing relevant"),
        ("only_relevant", "judged nothing irrelevant"),
    ):
        worst = table[what].max()
        assert (words in title) == (worst > 0)
        if worst:
            part = next(part for part in title.split("; ") if words in part)
            names = table.filter(pl.col(what) == worst)["strategy"].to_list()
            everyone = part.lower().startswith("every strategy")
            assert everyone == (len(names) == 3)
            assert everyone or names_of(re.match(r"(.*?) (?:has|have|retr)", part)[1]) == names
            assert amount(part.split(" for ")[1]) == (worst, table["queries"][0])


def ranked(seed):
    frame = rows(seed).with_columns(pl.col("grade").fill_null(0))
    title = said(charts.rankings(frame, 0, "reciprocal_rank", by=["x", "y", "z"]))
    values = evaluate(frame.filter(query=0), "reciprocal_rank", by=["x", "y", "z"])
    values = dict(values.select("strategy", "reciprocal_rank").iter_rows())
    best = tops(values)
    if len(best) == 3:
        assert title.startswith("In query 0, all have")
        return
    assert names_of(re.match(r"In query 0, (.*?) leads?", title)[1]) == best


def phi(seed):
    rng = np.random.default_rng(seed)
    scores = pl.DataFrame({"s": rng.choice([1.0, 2, 3, 50], int(rng.integers(1, 9)))})
    title = said(charts.relevance_function(scores, "s"))
    if scores["s"].n_unique() == 1:
        assert title == "φ is undefined: all scores are the same"
        return
    values = scores.select(pl.col("s").graded.phi_relevance())["s"]
    zero, half = re.match(r"φ is 0 for (.*) % of scores, at least 0.5 for (.*) %", title).groups()
    assert float(zero) == pytest.approx(100 * (values == 0).mean(), abs=0.051)
    assert float(half) == pytest.approx(100 * (values >= 0.5).mean(), abs=0.051)


def robustness(seed):
    frame = experiments.robustness_to_levels(
        [2, 5], [0, 1 + seed % 7], measures="ndcg", runs=3, seed=seed
    )
    title = said(charts.robustness_curves(frame))
    low, high = re.search(r"ndcg ([\d.]+)(?: to ([\d.]+))?$", title).groups()
    last = frame.filter(pl.col("swaps") == pl.col("swaps").max())["mean"]
    assert float(low) == pytest.approx(last.min(), rel=5e-3)
    assert float(high or low) == pytest.approx(last.max(), rel=5e-3)


def heatmap(seed):
    frame = results(seed)
    chart = charts.query_heatmap(frame, "ap")
    title = said(chart)
    values = by(frame, "query", "ap")
    means = {row[0]: row[1] for row in frame.group_by("query").agg(pl.col("ap").mean()).rows()}
    hardest = sorted(str(name) for name in tops(means, "lowest"))
    n = len(means)
    if len(hardest) == n:
        words, k = re.match(r"Mean ap ([\d.]+) in (.*?)(?:;|$)", title).groups()
        assert amount(k) == (n, n)
    else:
        of, names, words = re.match(
            r"Hardest of (\d+) queries: (.*), mean ap ([\d.]+)", title
        ).groups()
        assert int(of) == n
        if "others" not in names:
            assert names_of(names) == hardest
    assert float(words) == pytest.approx(min(means.values()), rel=5e-3)
    same = sum(len({*each.values()}) == 1 for each in values)
    found = re.search(r"all strategies are the same in (.*?)(?:;|$)", title)
    assert (amount(found[1])[0] if found else 0) == same
    lists = frame.sort("query").group_by("strategy").agg("ap")
    twins = lists.group_by("ap").len().filter(pl.col("len") > 1)
    assert ("the same value in every query" in title) == (twins.height > 0)
    drawn = chart.data
    table = frame.with_columns(pl.col("query").cast(pl.String))
    same_rows = drawn.join(table, on=["query", "strategy"])
    assert same_rows["value"].to_list() == same_rows["ap"].to_list()
    assert same_rows.height == frame.height
    assert drawn["query"].unique(maintain_order=True)[0] in hardest


def equivalence(seed):
    if not (found := compared(seed)):
        return
    frame, rope = results(seed), 0.1
    pairs = compare(frame, "ap", rope=rope)
    chart = charts.comparison_forest(pairs)
    settled(said(chart), pairs, found[1])
    n, total = map(int, re.search(r"(\d+) of (\d+) differences? there", noted(chart)).groups())
    assert total == pairs.height
    assert n == (pairs["probability_equal"] >= 0.95).sum()
    assert f"differences up to {rope:g}, none in practice" in noted(chart)


def of_graders(seed):
    """Results that people gave some queries, and a model all."""
    rng = np.random.default_rng(seed)
    names, n = ["p", "q", "r"][: rng.integers(1, 4)], int(rng.choice([3, 12, 30]))
    model = pl.DataFrame(
        {"strategy": np.repeat(names, n), "query": np.tile(np.arange(n), len(names))}
    )
    model = model.with_columns(ap=pl.Series(rng.choice([0, 0.25, 0.5, 1], model.height)))
    noise = pl.Series(rng.choice([0, 0, 0.125, 0.25], model.height))
    people = model.with_columns(pl.col("ap") + noise).filter(pl.col("query") < n // 2 + 1)
    graders = {"people": people, "model": model}
    return pl.concat(each.with_columns(grader=pl.lit(name)) for name, each in graders.items())


def graders_agree(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 3, (2, int(rng.choice([1, 2, 30]))))
    frame = pl.DataFrame({"query": 1, "x": x, "y": y})
    equal, higher, lower = int((x == y).sum()), int((y > x).sum()), int((y < x).sum())
    assert said(charts.agreement(frame, "x", "y")) == (
        f"x and y give {equal} of {len(x)} documents the same grade; y grades {higher} higher and "
        f"{lower} lower"
    )


def graders_order(seed):
    summary = summarise(of_graders(seed))
    title = said(charts.grader_orders(summary))
    people, model = (summary.filter(grader=name)["mean"].round(12) for name in ("people", "model"))
    tau = scipy.stats.kendalltau(people, model).statistic if len(people) > 1 else np.nan
    expected = f"people and model order {len(people)} strategies with τ = {tau:.2f}"
    assert title == ("" if np.isnan(tau) else expected)
    other = summary.filter(grader="model").with_columns(grader=pl.lit("other"))
    three = pl.concat([summary, other])
    verb = "has the best mean under|have the best mean under"
    most_often(said(charts.grader_orders(three)), by(three, "grader", "mean"), verb)


def with_a_model(seed):
    for call in (summarise, compare):
        results = of_graders(seed)
        if call is compare and results["strategy"].n_unique() == 1:
            continue
        found = call(results, trusted="people")
        title = said(charts.trusted_forest(found))
        value = "model_mean" if call is summarise else "model_difference"
        known = [row for row in found.iter_rows(named=True) if row["ci_low"] is not None]
        if not known:
            assert not title
            continue
        width = [row["ci_high"] - row["ci_low"] for row in known]
        alone = [row["trusted_high"] - row["trusted_low"] for row in known]
        narrower = sum(a < b for a, b in zip(width, alone, strict=True))
        outside = sum(not row["ci_low"] <= row[value] <= row["ci_high"] for row in known)
        first, last = re.fullmatch(
            r"With the model (.*) (?:is|are) narrower; alone it lies outside (\d+) of them", title
        ).groups()
        number = re.match(r"(?:all )?(\d+)", first)
        assert (int(number[1]) if number else NUMBERS[first.split()[0]]) == narrower
        assert int(last) == outside


CLAIMS = {
    "query_heatmap": heatmap,
    "comparison_forest with a region of equivalence": equivalence,
    "strategy_bars": bars,
    "comparison_forest": forest,
    "comparison_matrix": matrix,
    "strategy_ranks": places,
    "critical_differences": diagram,
    "dcg_curves": curves,
    "dcg_curves beside a baseline": beside_baseline,
    "recall_precision_curves": recall,
    "threshold_profile": thresholds,
    "precision_histogram": histogram,
    "explore": explored,
    "measure_agreement": agreement,
    "sample_boxes": boxed,
    "significance_curves": told_apart,
    "power_curves": power,
    "stability_curves": stability,
    "swap_rates": swaps,
    "grading_profile": gradings,
    "unjudged_bounds": unjudged,
    "overview": looked_over,
    "rankings": ranked,
    "relevance_function": phi,
    "robustness_curves": robustness,
    "agreement": graders_agree,
    "grader_orders": graders_order,
    "trusted_forest": with_a_model,
}
"""How the claim of each chart is read back from its title and held against its numbers."""


def test_every_chart_is_here():
    assert {name.split()[0] for name in CLAIMS} == set(charts.__all__)


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_title_claims_what_its_numbers_say(name, seeds):
    for seed in seeds:
        CLAIMS[name](seed)


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_strategies_that_are_the_same_are_said(seeds):
    for seed in seeds:
        frame = results(seed)
        names = sorted(set(frame["strategy"]))
        values = {name: frame.filter(strategy=name)["ap"].to_list() for name in names}
        sums = {name: sum(each) for name, each in values.items()}
        for chart, of, what in (
            (lambda frame: charts.strategy_bars(summarise(frame, "ap")), sums, "mean"),
            (
                lambda frame: charts.comparison_forest(compare(frame, "ap")),
                values,
                "value in every",
            ),
            (
                lambda frame: charts.comparison_matrix(compare(frame, "ap")),
                values,
                "value in every",
            ),
        ):
            if len(names) == 1:
                continue
            alike = [[b for b in names if of[b] == of[a]] for a in names]
            alike = sorted({tuple(each) for each in alike if len(each) > 1})
            said_alike = re.search(rf"the same {what}[a-z ]*: (.*)", noted(chart(frame)))
            found = said_alike[1].split("; ") if said_alike else []
            for names_said in found:
                if "others" not in names_said:
                    assert tuple(names_of(names_said)) in alike
            assert len(found) == len(alike)


def test_a_p_of_just_alpha_is_settled():
    """Six signs that all agree have p = 2 / 64, and five of eight such have 8/5 of it: 0.05."""
    ahead = {f"s{i}": [0.5 + 0.05 * i + 0.01 * q for q in range(6)] for i in range(5)}
    alike = {f"t{i}": [0.25 * (-1) ** (q + i) + 0.01 * i for q in range(6)] for i in range(3)}
    frame = pl.concat(
        pl.DataFrame({"strategy": name, "query": range(6), "ap": values})
        for name, values in ({"base": [0.0] * 6} | ahead | alike).items()
    )
    options = {"test": "permutation", "correction": "benjamini_hochberg"}
    comparison = compare(frame, baseline="base", **options)
    assert comparison["p_corrected"].sort().head(5).to_list() == [0.05] * 5
    title = said(charts.comparison_forest(comparison))
    by = "randomisation test, Benjamini and Hochberg"
    assert title == f"s4 leads; 5 of 8 differences are settled at 95 % ({by})"


def test_who_leads_does_not_hang_on_the_order_of_strategies():
    """The last is best, just above the first, and the one between them far below."""
    rng = np.random.default_rng(1)
    means = {"a": 0.9, "b": 0.1, "c": 1.0}
    frame = pl.concat(
        pl.DataFrame({"strategy": name, "query": range(9), "ap": mean + rng.random(9) / 50})
        for name, mean in means.items()
    )
    title = said(charts.comparison_forest(compare(frame)))
    assert title == "c leads; all 3 differences are settled at 95 % (paired t test, Holm)"


def test_what_only_rounding_parts_leads_together():
    values = {"a": [0.1 + 0.2, 0.0], "b": [0.3, 0.0], "c": [0.0, 0.0]}
    frame = pl.concat(
        pl.DataFrame({"strategy": name, "query": [1, 2], "ap": each})
        for name, each in values.items()
    )
    summary = summarise(frame)
    assert summary["mean"][0] > summary["mean"][1]
    title = said(charts.strategy_bars(summary))
    assert title == "a and b have the highest mean ap: 0.15, 0.15 above c"


def test_a_judgment_in_between_leads_out_of_the_line():
    """Of AP the two ends are no bounds, which the title does not claim."""
    ranked = pl.DataFrame({"query": 1, "doc": ["R", *"0123456789"], "grade": [1, *[None] * 10]})
    ranked = ranked.with_columns(score=-pl.int_range(pl.len()))
    bounds = unjudged_bounds(ranked, "ap").row(0, named=True)
    judged = ranked.with_columns(grade=pl.when(doc="9").then(1).otherwise("grade"))
    assert evaluate(judged, "ap")["ap"][0] < bounds["low"]


@pytest.mark.parametrize("name", ["</script><script>throw 1</script>", "a<!--<script>"])
def test_a_name_is_harmless_in_the_page_of_a_chart(name, tmp_path):
    """In the script of a page `</` ends it, and `<!--` with a `<script` after it hides its end."""
    frame = pl.DataFrame(
        {"strategy": [name, "b"] * 2, "query": [name, name, "2", "2"], "ap": [1.0, 0.0, 0.5, 0.25]}
    )
    for i, chart in enumerate(
        [
            charts.strategy_bars(summarise(frame)),
            charts.comparison_forest(compare(frame)),
            charts.precision_histogram(frame, "ap", name, "b", query="query"),
            charts.explore(frame, name, "b"),
            charts.measure_agreement(frame.with_columns(**{name: "ap"}), "ap", name),
        ]
    ):
        chart.save(tmp_path / f"{i}.html")
        page = (tmp_path / f"{i}.html").read_text(encoding="utf-8")
        assert name not in page
        assert "throw 1</" not in page
        assert "<!--" not in page
        assert "script" in str(chart.to_dict()["datasets"])  # it is there all the same


@pytest.mark.parametrize("theme", ["dark", "carbong100"])
def test_what_is_written_is_seen_in_a_dark_theme(theme):
    frame = results(2)
    first = pl.DataFrame({"query": 1, "doc": ["a", "b"], "grade": [1, None], "x": [1, 2]})
    with alt.theme.enable(theme):
        made = [
            charts.strategy_bars(summarise(frame, "ap")),
            charts.comparison_forest(compare(frame, "ap")),
            charts.explore(frame, "p", "q", "ap"),
            charts.relevance_function(pl.DataFrame({"s": [1, 2, 3, 50]}), "s"),
            charts.sample_boxes(frame, "ap"),
            charts.rankings(first, 1, "ndcg@2", by=["x"]),
        ]
        texts = [chart.to_json() for chart in made]
    for text in texts[:-1]:  # what is written on a light tile is dark
        assert style.INK not in text
    assert all(style.LIGHT_INK in text for text in texts)
    with alt.theme.enable("default"):
        assert style.LIGHT_INK not in charts.strategy_bars(summarise(frame, "ap")).to_json()
