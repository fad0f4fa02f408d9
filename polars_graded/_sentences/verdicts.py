"""Phrase the findings of tests as sentences.

A sentence is a list of texts and strategies. In the title of a chart, a strategy is its name. In
the report, a strategy is its index, which the report replaces by the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from polars_graded._sentences import (
    capitalise,
    conjugate,
    format_count,
    format_number,
    format_p,
    format_part,
    format_percent,
)

TextOrStrategy: TypeAlias = str | int
Sentence: TypeAlias = list[TextOrStrategy]

MAX_P = 0.05
"""Level of significance of the report; its intervals have the confidence 1 - MAX_P."""

MAX_NAMED_STRATEGIES = 3
"""Maximum number of strategies that a sentence names; the others are counted."""


class FindingCounts(NamedTuple):
    """Numbers of differences: significant in each direction, and all others by their kind."""

    better: int
    worse: int
    undecided: int
    equal: int
    """Number of differences that are 0 in every query."""
    untested: int
    """Number of differences without a p value, such as those that are the same in every query."""
    sides: tuple[str, str] = ("better than", "worse than")
    """Names of the two directions."""
    query: str = "query"
    """Name of a query that is compared; "weighted query" with weights."""

    @property
    def n_tested(self) -> int:
        """Return the number of differences with a p value."""
        return self.better + self.worse + self.undecided + self.equal


class Tested(NamedTuple):
    """Describe the test that compared the pairs of strategies."""

    test_words: str
    """Test, in words."""
    correction_words: str
    """Correction in words; "none" if the test itself accounts for the number of pairs."""
    is_corrected: bool
    """True if p values are corrected for the number of pairs; False for one pair."""
    is_joint: bool
    """True if the intervals of several pairs hold simultaneously with the stated confidence."""
    baseline: int | None
    """Index of the strategy that all others are compared with; None if every pair is compared."""
    n_pairs: int
    """Number of pairs of each measure."""
    single: str | None = None
    """Unit of results that cannot be tested, since there is only one, such as "query"."""

    @property
    def p_name(self) -> str:
        """Return "corrected p", or "p" if there is no correction."""
        return "corrected p" if self.is_corrected else "p"

    def settings(self, strategies: Sequence[str]) -> dict[str, str]:
        """Return the settings of the comparison as names and texts."""
        baseline = None if self.baseline is None else strategies[self.baseline]
        compared = {"Compared": "every pair" if baseline is None else f"all with {baseline}"}
        if self.single is not None:
            return compared | {"Test": f"none, since {write_untested(self.single)}"}
        return compared | {
            "Test": self.test_words,
            "Correction": self.correction_words,
            "Level": f"p ≤ {MAX_P:g}; intervals of {format_percent(1 - MAX_P)} confidence",
        }


def write_title(sentence: Sentence, tests: str) -> str:
    """Return a sentence as a title, followed by its tests in parentheses."""
    return "".join(map(str, sentence)) + (f" ({tests})" if tests else "")


# Answers


def compare_with_baseline(
    counts: FindingCounts,
    baseline: TextOrStrategy,
    only: TextOrStrategy | None = None,
    things: str = "strategies",
) -> Sentence:
    """State how many strategies are better or worse than the baseline.

    For a single comparison, `only` is the strategy that is compared with the baseline. For several
    comparisons, `only` is None. `things` is the noun for what is counted: "comparisons" instead of
    "strategies" if there are several measures or segments.
    """
    if only is not None:
        return _compare_only(counts, only, baseline)
    better, worse, undecided, equal, untested, (up, down), query = counts
    if not counts.n_tested:
        return [f"None of {untested:,} differences from ", baseline, " is tested"]
    if worse and not better:
        (better, up), (worse, down) = (worse, down), (better, up)
    which = format_part(better, counts.n_tested, f"tested {things}" if untested else things)
    others = {
        down.split()[0]: worse,
        "undecided": undecided,
        f"equal in every {query}" if things == "strategies" else "equal": equal,
        "not tested": untested,
    }
    others = {words: n for words, n in others.items() if n}
    if things != "strategies":
        rest = "".join(f", {words} in {n:,}" for words, n in others.items())
        return [f"{capitalise(up)} ", baseline, f" in {which}{rest}"]
    rest = "".join(f", {n:,} {words}" for words, n in others.items())
    are = conjugate(better or 1, "are")
    which = which if untested else which.removesuffix(" strategies")
    return [f"{capitalise(which)} {are} {up} ", baseline, rest]


def _compare_only(
    counts: FindingCounts, only: TextOrStrategy, baseline: TextOrStrategy
) -> Sentence:
    """State the finding of a single comparison."""
    up, down = counts.sides
    if counts.untested:
        return ["The difference of ", only, " from ", baseline, " is not tested"]
    if counts.equal:
        return [only, " equals ", baseline, f" in every {counts.query}"]
    if counts.undecided:
        return ["Undecided whether ", only, f" is {up} ", baseline]
    return [only, f" is {up if counts.better else down} ", baseline]


def count_significant(counts: FindingCounts) -> Sentence:
    """State how many of the differences are significant."""
    if not counts.n_tested:
        return [f"None of {counts.untested:,} differences is tested"]
    significant, untested = counts.better + counts.worse, counts.untested
    things = "tested differences" if untested else "differences"
    which = capitalise(format_part(significant, counts.n_tested, things))
    rest = f", {counts.undecided:,} undecided" if significant and counts.undecided else ""
    rest += f", {counts.equal:,} equal in every {counts.query}" if counts.equal else ""
    rest += f", {untested:,} not tested" if untested else ""
    return [f"{which} {conjugate(significant or 1, 'are')} significant{rest}"]


def write_untested(unit: str) -> str:
    """Return a clause for the results of a single query or cluster."""
    return f"one {unit} cannot be tested"


NO_FIRST = "No strategy is clearly first"


def name_first(may_be_first: Sequence[TextOrStrategy], n: int) -> Sentence:
    """State which strategy is clearly first, or list those that may be first."""
    if len(may_be_first) == 1:
        return [may_be_first[0], " is clearly first"]
    which = format_part(len(may_be_first), n, "strategies").removesuffix(" strategies")
    return [f"{NO_FIRST}, {which} may be: ", *list_strategies(may_be_first)]


def list_strategies(strategies: Sequence[TextOrStrategy]) -> Sentence:
    """List strategies, as in "a", "a and b" or "a, b, c and 4 others"."""
    others = len(strategies) - MAX_NAMED_STRATEGIES
    shown: Sentence = list(strategies[:MAX_NAMED_STRATEGIES])
    if others > 0:
        shown.append(format_count(others, "others"))
    sentence = shown[:1]
    for number, each in enumerate(shown[1:], start=2):
        sentence += [" and " if number == len(shown) else ", ", each]
    return sentence


# The verdict of the report


class Facts(NamedTuple):
    """Findings for the verdict on one measure."""

    name: str
    """Column of the measure."""
    title: str
    """Name of the measure for readers."""
    best: str
    """Best values: "highest", "lowest" or "none"."""
    n_queries: int
    """Number of queries."""
    means: Sequence[float | None]
    """Mean of each strategy."""
    margins: Sequence[float | None]
    """Distance from each mean to the end of its interval."""
    leaders: Sequence[int]
    """Indices of the strategies with the best mean."""
    order: Sequence[int]
    """Indices of all strategies, the best first."""
    pairs: Sequence[Mapping[str, Any]]
    """Rows of `compare`, with indices of strategies and `significant`."""
    tested: Tested
    lead_pair: Mapping[str, Any] | None
    """Comparison of the leader with the baseline. Without a baseline, or if the baseline leads, it
    is the comparison of the leader with the second strategy. None if several strategies share the
    lead, or if there is only one strategy."""
    may_be_first: Sequence[int]
    """Strategies for which no other strategy is significantly better."""


def write_headline(facts: Facts) -> Sentence:  # noqa: PLR0911 (one return per case)
    """State the best mean of a measure, its lead, and what the test of this lead found."""
    tested, leaders = facts.tested, facts.leaders
    means: Any = facts.means
    if not facts.n_queries:
        return [f"There is no query in which every strategy has a value of {facts.title}."]
    over = f"over {format_count(facts.n_queries, 'queries')}"
    if facts.best == "none":
        rule = "are better: they do not order strategies."
        return [f"Neither high nor low values of {facts.name} {rule}"]
    if len(means) == 1:
        [margin] = facts.margins
        reach = "" if margin is None else f" ± {format_number(margin)} (95 % interval)"
        mean = f"{format_number(means[0])}{reach} {over}"
        return [0, f" is the only strategy: its mean {facts.title} is {mean}."]
    best = f"{facts.title}, {format_number(means[leaders[0]])} {over}"
    pair = facts.lead_pair
    if len(leaders) > 1 or pair is None:
        answer = [f"{NO_FIRST}: "] if tested.baseline is None else []
        return [*answer, *list_strategies(leaders), f" share the best mean {best}."]
    [leader] = leaders
    other = pair["baseline"] if pair["strategy"] == leader else pair["strategy"]
    side = "below" if facts.best == "lowest" else "above"
    gap = f"{format_number(abs(means[leader] - means[other]))} {side}"
    interval = f"{_write_interval(pair, leader, side, tested)}."
    if tested.baseline == other and pair["p_corrected"] is not None:
        doubt = [] if pair["significant"] else ["Undecided whether "]
        better = [
            " is better than the baseline ",
            other,
            f": its mean {best}, is {gap} that of ",
            other,
        ]
        return [*doubt, leader, *better, interval]
    if tested.baseline is None and facts.may_be_first == [leader]:
        return [leader, f" is clearly first: its mean {best}, is {gap} that of ", other, interval]
    # Without all tests, no strategy can be called first, and a doubt would have no reason.
    are_tested = all(each["p_corrected"] is not None for each in facts.pairs)
    answer = [f"{NO_FIRST}: "] * (tested.baseline is None and are_tested)
    answer += ["The baseline "] * (tested.baseline == leader)
    return [*answer, leader, f" has the best mean {best}, {gap} that of ", other, interval]


def _write_interval(pair: Mapping[str, Any], leader: int, side: str, tested: Tested) -> str:
    """Write the interval of a lead.

    The interval agrees with the corrected p. If no such interval exists, write the interval of the
    difference without correction. If neither exists, return "". Without a p value, write that the
    difference was not tested.
    """
    if pair["p_corrected"] is None:
        reason = "the difference cannot" if tested.single is None else f"one {tested.single} cannot"
        return f" ({reason} be tested)"
    low, high = pair["simultaneous_low"], pair["simultaneous_high"]
    scope = ""
    if low is None:
        low, high = pair["ci_low"], pair["ci_high"]
    elif tested.is_joint:
        scope = f", simultaneous for {format_part(tested.n_pairs, tested.n_pairs, 'pairs')}"
    elif tested.is_corrected:
        scope = f", {tested.correction_words}"
    if low is None:
        return ""
    if (side == "below") == (leader == pair["strategy"]):
        low, high = -high, -low
    return f" (95 % interval {format_number(low)} to {format_number(high)}{scope})"


def _write_p(name: str, value: float | None) -> str:
    """Return text such as "p = 0.0123" or "corrected p < 0.001"."""
    text = format_p(value)
    return f"{name} {text}" if text.startswith("<") else f"{name} = {text}"


def write_variation(pairs: Sequence[Mapping[str, Any]], *, is_corrected: bool) -> Sentence:
    """State which differences vary between segments; [] if none could be tested.

    `pairs` are rows of `compare_segments`, which state whether each p value is significant.
    """
    tested = [pair for pair in pairs if pair["p_corrected"] is not None]
    if not tested:
        return []
    p = "corrected p" if is_corrected and len(pairs) > 1 else "p"
    varied = sorted(
        (pair for pair in tested if pair["significant"]), key=lambda pair: pair["p_corrected"]
    )
    if not varied:
        smallest = _write_p(p, min(pair["p_corrected"] for pair in tested))
        return [f"No difference varies significantly between segments (smallest {smallest})."]
    first, n = varied[0], len(varied)
    shown = [first["strategy"], " and ", first["baseline"]]
    smallest = f"({_write_p(p, first['p_corrected'])})"
    if n == 1:
        return ["The difference of ", *shown, f" varies between segments {smallest}."]
    subject = capitalise(format_part(n, len(pairs), "differences"))
    return [f"{subject} vary between segments, most clearly that of ", *shown, f" {smallest}."]
