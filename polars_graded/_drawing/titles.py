"""What a chart shows, in a sentence made of the rows that it draws: its title.

Each function takes such rows and gives one sentence, or none where there is nothing to find: one
strategy alone is ahead of nobody. What no test has settled is said as what it is, a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_graded._drawing.chart_data import has_panels
from polars_graded._results.findings import is_found, names_of_tests
from polars_graded._results.per_query import best_in, bests, natural_order
from polars_graded._results.reliability import kendall
from polars_graded._sentences import (
    FEW_NAMES,
    counted,
    does,
    in_a_row,
    listed,
    name_said,
    of_all,
    percent,
    short,
)

SHARED_LETTERS = "letters: strategies that share one are not told apart"
"""What is said of the groups of `rank_strategies`."""

NOTHING = ""
"""The sentence where there is nothing to find."""

GAPS = {
    "none_judged": "have nothing judged",
    "none_retrieved": "retrieved nothing",
    "none_relevant": "have judged nothing relevant",
    "only_relevant": "have judged nothing irrelevant",
}
"""What can be wrong with queries, as it is said of several strategies."""

ROUNDING = 1e-12
"""What differs by less is the same."""

PROBABLE = 0.95
"""What is as probable as this is said to be so."""

# Who is ahead


def best_names(names: Sequence[str], values: pl.Series, best: Any = "highest") -> list[str]:
    """Those with the best value, none where no value is better than another's."""
    places = bests(values, best)
    return [] if len(places) == len(names) else [names[place] for place in places]


def ahead(
    table: pl.DataFrame, value: str, groups: Sequence[str], name: str = "strategy"
) -> list[list[str]]:
    """Who is best in each group, as the measure of the group has it where it has one.

    Of a group in which nobody can be ahead, since there is one alone or no better side, none; of
    one in which all are the same, all of them.
    """
    found = []
    for group in _parts(table, groups):
        best = best_in(group) if "measure" in group.columns else "highest"
        open_end = best == "none" or group.height == 1
        places = [] if open_end else bests(group[value], best)
        found.append([group[name][place] for place in places])
    return found


def _parts(table: pl.DataFrame, groups: Sequence[str]) -> list[pl.DataFrame]:
    """The rows of each group, all of them where there are no groups."""
    return table.partition_by(groups, maintain_order=True) if groups else [table]


def most_often(leaders: Sequence[Sequence[str]], verb: str, things: str) -> str:
    """Who is best alone most often: "ours leads in 2 of 4 measures, 1 tie".

    The verb is of several. Who shares the best value with another is ahead of nobody: such a group
    is a tie.
    """
    counts = Counter(names[0] for names in leaders if len(names) == 1)
    ties = sum(len(names) > 1 for names in leaders)
    if not counts:
        return NOTHING
    most = max(counts.values())
    names = natural_order(name for name, count in counts.items() if count == most)
    each = " each" if len(names) > 1 else ""
    where = of_all(most, len(leaders), things)
    said = f"{listed(names)} {does(len(names), verb)} {where}{each}"
    return said + (f", {counted(ties, 'ties')}" if ties else "")


def group_names(table: pl.DataFrame) -> tuple[list[str], str]:
    """What a chart has apart, its panels or else its measures, and what these are called."""
    if "panel" in table.columns:
        of_measures = "measure" in table.columns and (table["panel"] == table["measure"]).all()
        return ["panel"], "measures" if of_measures else "panels"
    return (["measure"], "measures") if "measure" in table.columns else ([], "")


def in_panels(table: pl.DataFrame, value: str, verb: str, name: str = "strategy") -> str:
    """Who is best alone in most panels; the verb is of several."""
    return most_often(ahead(table, value, ["panel"], name), verb, "panels")


# Curves


def lines(table: pl.DataFrame, at: str, word: str) -> str:
    """Whose line ends highest, and whose is highest at first."""
    n = table["strategy"].n_unique()
    if has_panels(table):
        last = table.filter(pl.col(at) == pl.col(at).max().over("panel"))
        return in_panels(last, "value", "end highest in") if n > 1 else NOTHING
    # Who is ahead is seen where all lines are.
    ordered = table.filter(pl.len().over(at) == n).sort(at)
    if ordered.is_empty():
        return NOTHING
    start, end = ordered[at][0], ordered[at][-1]
    if n == 1:
        last = ordered.tail(1)
        ideal = last["ideal"][0] if "ideal" in table.columns else None
        share = last["value"][0] / ideal if ideal else None
        return NOTHING if share is None else f"{100 * share:.0f} % of the ideal at {word} {end}"
    leaders = ahead(ordered, "value", [at])
    if len(leaders[-1]) == n:
        return NOTHING
    said = f"{listed(leaders[-1])} {does(len(leaders[-1]), 'are')} highest"
    if ordered.height == table.height and all(each == leaders[-1] for each in leaders):
        return f"{said} at every {word}"
    # Who is highest at both ends is not said to be overtaken.
    overtaken = not set(leaders[0]) & set(leaders[-1]) and len(leaders[0]) <= FEW_NAMES
    first = f", {listed(natural_order(leaders[0]))} at {word} {start}" if overtaken else ""
    return f"{said} at {word} {end}{first}"


def beside_baseline(table: pl.DataFrame, at: str, word: str, baseline: str, level: float) -> str:
    """How many bands of differences end above 0 and how many below, each looked at by itself."""
    last = table.filter(pl.col(at) == pl.col(at).max()).drop_nulls(["ci_low", "ci_high"])
    if last.is_empty():
        return NOTHING
    above, below = last.select(
        above=(pl.col("ci_low") > 0).sum(), below=(pl.col("ci_high") < 0).sum()
    ).row(0)
    n, where = last.height, f"{name_said(baseline)} at {word} {last[at][0]}"
    alone = f"({percent(level)} {'band' if n == 1 else 'bands, each by itself'})"
    if n == 1:
        side = "above" if above else "below" if below else "not clear of"
        return f"{name_said(last['strategy'][0])} is {side} {where} {alone}"
    sides = [(count, side) for count, side in ((above, "above"), (below, "below")) if count]
    if not sides:
        return f"None of {n:,} strategies is clear of {where} {alone}"
    (first, side), *rest = sides
    said = f"{of_all(first, n, 'strategies')} {does(first, 'are')} {side} {where}"
    said = said[0].upper() + said[1:]
    return f"{said}{''.join(f', {count:,} {other}' for count, other in rest)} {alone}"


def levels_of_recall(table: pl.DataFrame) -> str:
    """At how many levels of recall which line is highest."""
    if table["strategy"].n_unique() == 1:
        return NOTHING
    if has_panels(table):
        means = table.group_by("panel", "strategy", maintain_order=True).agg(pl.col("value").mean())
        return in_panels(means.sort("panel", "strategy"), "value", "lie highest in")
    leaders = ahead(table.sort("recall", "strategy"), "value", ["recall"])
    return most_often(leaders, "are highest at", "levels of recall")


def profile(table: pl.DataFrame) -> str:
    """At how many thresholds who is ahead, of the rows that are joined."""
    at_thresholds = table.drop_nulls("joined")
    if has_panels(table):
        leaders = ahead(at_thresholds, "joined", ["panel", "at"])
        return most_often(leaders, "lead at", "thresholds of the panels")
    return most_often(ahead(at_thresholds, "joined", ["at"]), "lead at", "thresholds")


def robustness(table: pl.DataFrame, swaps: str) -> str:
    """What is left of the means after the most swaps."""
    most: Any = table["swaps"].max()
    keys, _ = group_names(table)
    groups = _parts(table.filter(pl.col("swaps") == most), keys)
    if not most or len(groups) > FEW_NAMES:
        return NOTHING
    spans = []
    for rows in groups:
        name = rows[keys[0]][0] if keys else "mean"
        spans.append(f"{name_said(name)} {_from_to(rows['mean'])}")
    return f"After {short(most)} {swaps}: {', '.join(spans)}"


def _from_to(values: pl.Series, said: Callable[[float], str] = short) -> str:
    """The lowest and the highest of some values in words, which can be the same."""
    ends: Any = values.min(), values.max()
    return " to ".join(dict.fromkeys(said(end) for end in ends if end is not None))


# Queries


def wins(both: Sequence[str], table: pl.DataFrame) -> str:
    """Who is better in more queries: "ours wins 61 of 106 queries, bm25 32, 13 ties"."""
    n = table.height
    more, fewer = (table.filter(better=name).height for name in both)
    ties = n - more - fewer
    one, other = map(name_said, both)
    if fewer > more:
        one, other, more, fewer = other, one, fewer, more
    if not more:
        return f"{one} and {other} tie in {of_all(n, n, 'queries')}"
    said = f"{one} wins {of_all(more, n, 'queries')}"
    if more == fewer:
        said = f"{one} and {other} win {more:,} of {n:,} queries each"
    elif fewer:
        said += f", {other} {fewer:,}"
    return said + (f", {ties:,} {'tie' if ties == 1 else 'ties'}" if ties else "")


def extremes(both: Sequence[str], table: pl.DataFrame, most: int) -> list[str]:
    """With which queries each is better by most."""
    falling = table.sort(pl.col("difference").abs(), descending=True, maintain_order=True)
    named = {name: falling.filter(better=name)["query"].head(most) for name in both}
    return [
        f"{name_said(name)} is better by most with {in_a_row([*map(name_said, queries)])}"
        for name, queries in named.items()
        if len(queries)
    ]


def agreement(x: str, y: str, table: pl.DataFrame, things: str) -> str:
    """How alike two measures order points: Kendall's τ."""
    if table.height < 2:  # noqa: PLR2004
        return NOTHING
    tau = kendall(table["x"].to_numpy(), table["y"].to_numpy())
    if np.isnan(tau):
        return NOTHING
    return f"{name_said(x)} and {name_said(y)} order {table.height:,} {things} with τ = {tau:.2f}"


def which_is_higher(x: str, y: str, differences: pl.Series, things: str) -> str:
    """For how many points which of two measures is higher."""
    differences = differences.round(12)
    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    n = len(differences)
    if not above and not below:
        return f"{name_said(x)} and {name_said(y)} are the same for {of_all(n, n, things)}"
    pairs = sorted([(above, x), (below, y)], key=lambda pair: -pair[0])
    (most, one), (fewer, other) = pairs
    said = f"{name_said(one)} is higher for {most:,} of {n:,} {things}"
    return said + (f", {name_said(other)} for {fewer:,}" if fewer else "")


def boxes(table: pl.DataFrame, value: str) -> str:
    """Which group has the highest median."""
    medians = table.drop_nulls("median")
    if has_panels(table):
        return in_panels(medians, "median", "have the highest median in", "group")
    names = best_names(medians["group"].to_list(), medians["median"])
    if not names:
        return NOTHING
    top, low = (short(v) for v in (medians["median"].max(), medians["median"].min()))  # type: ignore[arg-type]
    who = f"{listed(names)} {does(len(names), 'have')}"
    return f"{who} the highest median {name_said(value)}: {top}; the lowest is {low}"


# Strategies


def means(table: pl.DataFrame) -> str:
    """Who has the best mean and by how much, or in how many measures who has it."""
    groups, things = group_names(table)
    n = table.n_unique(groups) if groups else 1
    if n > 1:
        leaders = ahead(table, "mean", groups)
        # No test is here that could settle who leads.
        return most_often(leaders, "have the best mean in", things)
    measure = table["measure"][0]
    best = best_in(table)
    if best == "none" or table.height == 1 or table["strategy"].is_duplicated().any():
        return NOTHING
    names = best_names(table["strategy"].to_list(), table["mean"], best)
    if not names:
        return NOTHING
    ordered = table.sort("mean", descending=best == "highest", maintain_order=True)
    top, second = ordered["mean"][0], ordered["mean"][len(names)]
    who = f"{listed(names)} {does(len(names), 'have')}"
    side = "above" if best == "highest" else "below"
    after = name_said(ordered["strategy"][len(names)])
    mean = f"the {best} mean {name_said(measure)}: {short(top)}"
    return f"{who} {mean}, {short(abs(top - second))} {side} {after}"


def first_places(table: pl.DataFrame) -> str:
    """Who may be first, or by how many measures one strategy alone may."""
    groups, things = group_names(table)
    test = names_of_tests(table)
    tested = f" ({test})" if test else ""
    every = _parts(table, groups)
    may = [[*group.sort("rank").filter(rank_low=1)["strategy"]] for group in every]
    if len(every) > 1:
        alone = sum(len(names) == 1 for names in may)
        where = of_all(alone, len(every), things) if alone else f"none of {len(every)} {things}"
        return f"In {where} one strategy alone may be first{tested}"
    n, [names] = table.height, may
    by = f"by {name_said(table['measure'][0])}{tested}"
    if len(names) == 1:
        return f"{name_said(names[0])} is first {by}"
    return f"{len(names)} of {n:,} strategies may be first {by}: {listed(names)}"


def settled(pairs: pl.DataFrame, significance: float) -> str:
    """Who leads, and how many differences are settled: of pairs, each there once."""
    groups, things = group_names(pairs)
    by = names_of_tests(pairs)
    level = f"{100 * (1 - significance):g} %{by and f' ({by})'}"
    is_settled = pairs.select(is_found(pairs.columns, significance)).to_series()
    n, k = pairs.height, int(is_settled.sum())
    if n == 1:
        row = pairs.row(0, named=True)
        one, other = name_said(row["strategy"]), name_said(row["baseline"])
        difference, best = row["difference"], best_in(pairs)
        if abs(difference) < ROUNDING:
            return f"{one} and {other} have the same mean {name_said(row['measure'])}"
        if best == "none":
            side = "above" if difference > 0 else "below"
            said = f"{one} is {short(abs(difference))} {side} {other}"
        else:
            if (difference < 0) == (best == "highest"):
                one, other = other, one
            said = f"{one} leads {other} by {short(abs(difference))}"
        return f"{said}, {'' if k else 'not '}settled at {level}"
    if not k:
        return f"None of {n:,} differences is settled at {level}"
    leaders = [_leader(group) for group in pairs.partition_by(groups, maintain_order=True)]
    said = f"{of_all(k, n, 'differences')} {does(k, 'are')} settled at {level}"
    if leaders[0] and all(each == leaders[0] for each in leaders):
        where = f" in {of_all(len(leaders), len(leaders), things)}" if len(leaders) > 1 else ""
        return f"{listed(leaders[0])} {does(len(leaders[0]), 'lead')}{where}; {said}"
    return said[0].upper() + said[1:]


def _leader(pairs: pl.DataFrame) -> list[str]:
    """Who has the best mean, as far as pairs say: all of them, or those with one baseline."""
    best = best_in(pairs)
    baselines, strategies = pairs["baseline"].unique(), pairs["strategy"].unique()
    if len(baselines) == 1 and pairs.height == len(strategies):
        ahead_by = {baselines[0]: 0.0} | dict(pairs.select("strategy", "difference").iter_rows())
    else:
        ahead_by = dict.fromkeys(sorted({*baselines, *strategies}), 0.0)
        if pairs.height != len(ahead_by) * (len(ahead_by) - 1) // 2:
            return []
        for one, other, difference in pairs.select(
            "strategy", "baseline", "difference"
        ).iter_rows():
            ahead_by[one] += difference
            ahead_by[other] -= difference
    return best_names([*ahead_by], pl.Series([*ahead_by.values()]), best)


def same_means(table: pl.DataFrame) -> list[str]:
    """Which strategies have the same mean, in each measure or panel, where there are several."""
    groups, _ = group_names(table)
    if table["strategy"].n_unique() < 2 or table.select("strategy", *groups).is_duplicated().any():  # noqa: PLR2004
        return []
    means = table.sort(groups).group_by("strategy", maintain_order=True)
    values = means.agg(pl.col("mean").round(12), *groups)
    return _alike(values.group_by(pl.exclude("strategy")).agg("strategy")["strategy"], "mean")


def twins(pairs: pl.DataFrame) -> list[str]:
    """Which strategies have the same value in every query, by every measure that is compared."""
    if not {"wins", "losses"} <= set(pairs.columns):
        return []
    same = (pl.col("wins") + pl.col("losses") == 0).all()
    alike = pairs.group_by("strategy", "baseline").agg(same.alias("same")).filter("same")
    found: list[set[str]] = []
    for pair in alike.select("strategy", "baseline").rows():
        joined = [group for group in found if group & {*pair}]
        found = [group for group in found if not group & {*pair}]
        found.append({*pair}.union(*joined))
    return _alike(found, "value in every query")


def equivalent(pairs: pl.DataFrame) -> list[str]:
    """How many differences are practically none, as the region of equivalence has it."""
    if "rope" not in pairs.columns or pairs["rope"].null_count() == pairs.height:
        return []
    said = f"shaded: differences up to {short(pairs['rope'].max())}, none in practice"  # type: ignore[arg-type]
    n = int((pairs["probability_equal"] >= PROBABLE).sum())
    probable = f"with a probability of at least {percent(PROBABLE)}"
    return [said, f"{n:,} of {counted(pairs.height, 'differences')} there {probable}"]


def difficulty(table: pl.DataFrame, alike: Sequence[Collection[str]], measure: str) -> str:
    """Which query is hardest, how many tell no strategies apart, and who are the same in all.

    Rows have `query` and its `mean`, the hardest first, and whether all there are the `same`.
    """
    n, same = table.height, int(table["same"].sum())
    hardest = table.filter(pl.col("mean").round(12) == pl.col("mean").first().round(12))["query"]
    mean = f"mean {name_said(measure)} {short(table['mean'][0])}"
    said = f"Hardest of {counted(n, 'queries')}: {listed(natural_order(hardest))}, {mean}"
    if len(hardest) == n:
        said = f"{mean[0].upper()}{mean[1:]} in {of_all(n, n, 'queries')}"
    if same:
        said += f"; all strategies are the same in {of_all(same, n, 'queries')}"
    return "; ".join([said, *_alike(alike, "value in every query")])


def _alike(groups: Iterable[Collection[str]], what: str) -> list[str]:
    """Of groups of strategies, those that have something the same, the largest first."""
    same = [natural_order(each) for each in groups if len(each) > 1]
    said = [listed(names) for names in sorted(same, key=lambda names: (-len(names), names))]
    if len(said) > FEW_NAMES:
        said = [*said[:FEW_NAMES], f"and {len(said) - FEW_NAMES} more groups"]
    return [f"the same {what}: {'; '.join(said)}"] if said else []


# Graders


def grades(one: str, other: str, both: pl.DataFrame) -> str:
    """How many documents two graders give the same grade, and who grades higher how often."""
    above = int((both["other"] > both["one"]).sum())
    below = int((both["other"] < both["one"]).sum())
    n = both.height
    said = f"{name_said(one)} and {name_said(other)} give {n - above - below:,} of {n:,} documents"
    return f"{said} the same grade; {name_said(other)} grades {above:,} higher and {below:,} lower"


def orders(table: pl.DataFrame, graders: Sequence[str]) -> str:
    """How alike two graders order strategies, or who has the best mean under most of several."""
    if has_panels(table) or len(graders) < 2:  # noqa: PLR2004
        return NOTHING
    if len(graders) > 2:  # noqa: PLR2004
        leaders = ahead(table, "mean", ["grader"])
        return most_often(leaders, "have the best mean under", "graders")
    one, other = (table.filter(grader=name).select("strategy", "place") for name in graders)
    both = one.join(other, on="strategy").select(x="place", y="place_right")
    return agreement(graders[0], graders[1], both, "strategies")


def with_a_model(table: pl.DataFrame, of: Mapping[str, str]) -> str:
    """How many intervals a model makes narrower, and how often it alone lies outside of them."""
    known = table.drop_nulls(["ci_low", "trusted_low", of["model"]])
    if not known.height:
        return NOTHING
    width, alone = (known[f"{key}_high"] - known[f"{key}_low"] for key in ("ci", "trusted"))
    narrower = int((width < alone).sum())
    model = known[of["model"]]
    outside = int(((model < known["ci_low"]) | (model > known["ci_high"])).sum())
    n = known.height
    said = f"With the model {of_all(narrower, n, 'intervals')} {does(narrower, 'are')} narrower"
    return f"{said}; alone it lies outside {outside:,} of them"


# Trust


def apart(shares: Mapping[str, tuple[int, int]], level: float, table: pl.DataFrame) -> str:
    """Which measures tell most pairs apart: of each, how many of how many."""
    order = sorted(shares, key=lambda name: -shares[name][0] / shares[name][1])
    (most, n), (least, _) = shares[order[0]], shares[order[-1]]
    by = names_of_tests(table)
    at = f"at p ≤ {level:g} ({by})" if by else f"at corrected p ≤ {level:g}"
    if most == least:
        name = name_said(order[0]) if len(order) == 1 else "Each measure"
        return f"{name} tells {most:,} of {n:,} pairs apart {at}"
    ends = (shares[order[0]], shares[order[-1]])
    first, last = ([name for name in order if shares[name] == end] for end in ends)
    said = f"{listed(first)} {does(len(first), 'tell')} most pairs apart {at}, {most:,} of {n:,}"
    return f"{said}; {listed(last)} the fewest, {least:,}"


def looked_for(table: pl.DataFrame) -> str:
    """Which difference lines of power are of: a number, and which share of ranges that is."""
    numbers, shares = table["difference"], table["share_of_range"].drop_nulls()
    share = _from_to(shares, percent)
    said = f"{share} of the range of means" if share else ""
    amounts = list(dict.fromkeys(short(value) for value in numbers.sort()))
    if len(amounts) == 1:
        return f"a difference of {amounts[0]}" + (f" ({said})" if said else "")
    # Panels may look for another difference each.
    same = " to " not in share and len(shares) == len(numbers)
    return f"a difference of {said}" if same else f"differences of {amounts[0]} to {amounts[-1]}"


def highest_and_lowest(values: Mapping[str, float], where: str, what: str) -> str:
    """Which measures have most of something: "With 53 queries τ is highest for ap (0.90)"."""
    shown = {name: f"{value:.2f}" for name, value in values.items()}
    order = sorted(values, key=lambda name: -values[name])
    if not order:
        return NOTHING
    top, low = shown[order[0]], shown[order[-1]]
    if len(order) == 1:
        return f"{where} {what} is {top} for {name_said(order[0])}"
    if top == low:
        return f"{where} {what} is {top} for each of {len(order)} measures"
    # What is the same in the numbers that are said is not told apart.
    first, last = (listed([name for name in order if shown[name] == end]) for end in (top, low))
    return f"{where} {what} is highest for {first} ({top}), lowest for {last} ({low})"


def swapped(table: pl.DataFrame, rate: float) -> str:
    """From which difference on most queries contradict it less often than the rate."""
    n: Any = table["queries"].max()
    keys = [key for key in ("panel", "measure") if key in table.columns]
    size = pl.col("difference_from")
    often = size.filter(pl.col("swap_rate") >= rate).max()
    # Where no difference is contradicted often, the smallest that there was is not either.
    rare = pl.when(often.is_null()).then(0.0).otherwise(size.filter(size > often).min())
    lines = table.filter(pl.col("queries") == n).group_by(keys, maintain_order=True).agg(rare=rare)
    if lines["rare"].null_count():
        return NOTHING
    names = [" ".join(dict.fromkeys(map(name_said, each))) for each in lines.select(keys).rows()]
    needed = dict(zip(names, lines["rare"], strict=True))
    others = f"With {n:,} queries, less than {100 * rate:g} % of other samples contradict"
    if not any(needed.values()):
        return f"{others} any difference"
    above = [short(value) for value in needed.values()]
    if len(set(above)) == 1:
        _, things = group_names(table)
        where = f" in {of_all(len(above), len(above), things)}" if len(above) > 1 else ""
        return f"{others} differences above {above[0]}{where}"
    if len(needed) > FEW_NAMES:
        return NOTHING
    of_each = [f"{value} ({name})" for value, name in zip(above, needed, strict=True)]
    return f"{others} differences above {in_a_row(of_each, 'or')}"


def gradings(table: pl.DataFrame, given: str) -> str:
    """Under how many gradings who leads, and where the order is least like that as given."""
    said = []
    is_one = table.n_unique(["measure", "^panel$"]) == 1
    if is_one:
        leaders = ahead(table, "mean", ["grading"])
        said.append(most_often(leaders, "lead under", "gradings"))
    others = table.filter(pl.col("grading") != given).drop_nulls("tau")
    if not others.is_empty():
        tau, grading, measure = (
            others.sort("tau", maintain_order=True).select("tau", "grading", "measure").row(0)
        )
        of = "" if is_one else f" for {name_said(measure)}"
        lowest = f"τ is lowest, {tau:.2f}, under {name_said(grading)}{of}"
        the = "the" if any(said) else "The"
        said.append(f"{the} order is always the same" if tau == 1 else lowest)
    told = "; ".join(part for part in said if part)
    return f"{name_said(table['measure'][0])}: {told}" if is_one and told else told


def overlaps(table: pl.DataFrame) -> str:
    """How many pairs of strategies have a value between both means of either, ends and all."""
    groups, _ = group_names(table)
    shared = total = 0
    for group in _parts(table, groups):
        low, high = (group[name].to_numpy() for name in ("low", "high"))
        below = high[:, np.newaxis] < low[np.newaxis, :] - ROUNDING
        n = group.height * (group.height - 1) // 2
        shared, total = shared + n - int(below.sum()), total + n
    if not total:
        return NOTHING
    if (table["low"] == table["high"]).all():
        return "No mean changes where unjudged documents have the highest grade"
    ranges = f"{of_all(shared, total, 'pairs')} of strategies" if shared else "no two strategies"
    return f"From unjudged as irrelevant to all as best, the means of {ranges} overlap"


def ranked(query: str, measure: str, values: Mapping[str, float | None]) -> str:
    """Which strategy ranks a query best."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < 2:  # noqa: PLR2004
        return NOTHING
    names = best_names([*known], pl.Series([*known.values()]))
    if not names:
        return f"In {query}, all have {name_said(measure)} {short(max(known.values()))}"
    rest = max(value for name, value in known.items() if name not in names)
    top, verb = known[names[0]], does(len(names), "lead")
    others = [name for name, value in known.items() if value == rest]
    return (
        f"In {query}, {listed(names)} {verb} with {name_said(measure)} {short(top)}, "
        f"before {listed(others)} with {short(rest)}"
    )


def gaps(facts: Sequence[Mapping[str, Any]]) -> str:
    """What makes means wrong or empty: for how many queries there is nothing to rank or find."""
    said: list[str] = []
    whole = sorted({fact["queries"] for fact in facts})
    for what, verb in GAPS.items():
        n = max(fact[what] or 0 for fact in facts)
        found = [fact for fact in facts if (fact[what] or 0) == n]
        if n:
            every = len(found) == len(facts) > 1
            first = "every" if said else "Every"
            who = f"{first} strategy" if every else listed([fact["strategy"] for fact in found])
            # Strategies of other numbers of queries have no share in common.
            share = of_all(int(n), int(whole[0]), "queries") if len(whole) == 1 else ""
            does_so = does(1 if every else len(found), verb)
            said.append(f"{who} {does_so} for {share or counted(int(n), 'queries')}")
    return "; ".join(said) or "Every query has documents retrieved, judged relevant and judged not"
