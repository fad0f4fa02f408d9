"""What is true of every measure: one row per measure and set of options."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Literal

import polars as pl
import reference

from polars_graded import Graded
from polars_graded._measuring.names import Measure


@dataclass(frozen=True)
class Row:
    """A measure with its options."""

    name: str
    """What its column is called."""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns that it needs beside grades and scores; it then has no name to call it by."""
    ideal: Any = 1.0
    """Its value where all that was judged, and nothing else, was retrieved from best to worst, or
    a function of those grades; the highest is at least 2, the irrelevant ones are 0 or less."""
    bounds: tuple[float, float] = (0.0, 1.0)
    best: Literal["highest", "lowest", "none"] = "highest"
    """Which value is the best, if one is."""
    undefined: Callable[[Any], Any] | None = lambda value: value
    """Its value for a query without a relevant document, of what such a query gets; None if there
    is nothing special about such a query."""
    dtype: pl.DataType = field(default_factory=pl.Float64)
    ends_with_the_list: bool = True
    """A cutoff beyond the list is no cutoff."""
    never_falls: bool = True
    """It does not get worse where two documents change places so that the better one moves up."""
    needs_pairs: bool = False
    """It is null for a query without a relevant and an irrelevant document unless a number was
    asked for."""
    skips_unjudged: bool = False
    """An unjudged document is as if it were not there, instead of not relevant."""

    @property
    def function(self) -> str:
        """The method of `Graded`, and the function of `reference`."""
        return re.split("[(@]", self.name)[0]

    @property
    def n(self) -> int | None:
        """The cutoff."""
        _, _, n = self.name.rpartition("@")
        return int(n) if n.isdigit() else None

    @property
    def arguments(self) -> tuple[tuple[int, ...], dict[str, Any]]:
        """What to call either of them with."""
        return () if self.n is None else (self.n,), {**self.columns, **self.options}

    def of(self, graded: Graded) -> pl.Expr:
        """The expression."""
        cutoff, options = self.arguments
        return getattr(graded, self.function)(*cutoff, **options)

    def twin(self, query: reference.Lists, scale: reference.Scale = reference.PLAIN) -> Any:
        """The value of one query, by the loop of its definition."""
        cutoff, options = self.arguments
        if options.get("ties") in BOUNDS_OF_TIES:
            query = reference.broken(query, options["ties"])
            return self.without("ties").twin(query, scale)
        return getattr(reference, self.function)(query, *cutoff, **options, scale=scale)

    def cut(self, n: int | None) -> Row:
        """This with another cutoff."""
        name = self.name.removesuffix(f"@{self.n}")
        return replace(self, name=name if n is None else f"{name}@{n}")

    def without(self, option: str) -> Row:
        """This without an option."""
        rest = {name: value for name, value in self.options.items() if name != option}
        return replace(self, name=Measure.of(self.function, self.n, **rest).name, options=rest)

    def with_ties(self, ties: str) -> Row:
        """This with ties broken by a rule."""
        function, options, n = re.fullmatch(r"(\w+)(?:\((.*)\))?(@\d+)?", self.name).groups()
        written = f"{options}, ties={ties}" if options else f"ties={ties}"
        return replace(
            self,
            name=f"{function}({written}){n or ''}",
            options={**self.options, "ties": ties},
        )

    @property
    def takes_cutoff(self) -> bool:
        """Whether there is an argument n."""
        return "n" in inspect.signature(getattr(Graded, self.function)).parameters

    @property
    def takes_any_grade(self) -> bool:
        """Whether it is defined for grades that are not in `WORTH`."""
        return not isinstance(self.options.get("gain"), Mapping)

    @property
    def is_curve(self) -> bool:
        """Whether it has a list of values per query."""
        return self.dtype == pl.List

    @property
    def at_a_rank(self) -> Row:
        """The measure whose value a curve has at each rank, without a cutoff."""
        return replace(self.cut(None), name=self.cut(None).name.replace("_curve", ""))

    @property
    def averages_ties(self) -> bool:
        """Whether it is an expected value over all orders of tied documents."""
        return self.options.get("ties") == "average"


WORTH = {0: 1, 0.5: 1, 1: 2, 2: 3, 3: 3, 4: 10}
_WORTH = "{0: 1, 0.5: 1, 1: 2, 2: 3, 3: 3, 4: 10}"
"""A gain that does not rise everywhere, for every grade above -1 that tests draw by default."""

KNOWN = (True, False, None)
"""Which documents of a query the user knew: so on, in the order of its rows."""


# Values of the ideal order.

Grades = Sequence[float]


def _n_relevant(judged: Grades, threshold: float | None = None) -> int:
    return sum(grade > 0 if threshold is None else grade >= threshold for grade in judged)


def _top(n: int, threshold: float | None = None) -> Callable[[Grades], int]:
    """How many relevant documents there is room for in the top n."""
    return lambda judged: min(n, _n_relevant(judged, threshold))


def _share(n: int, threshold: float | None = None) -> Callable[[Grades], float]:
    """The part of the relevant documents for which there is room in the top n."""
    return lambda judged: _top(n, threshold)(judged) / _n_relevant(judged, threshold)


def _f(n: int | None, beta: float, threshold: float | None) -> Callable[[Grades], float]:
    """The weighted harmonic mean of the precision and the recall that there can be."""

    def ideal(judged: Grades) -> float:
        hits = min(n or math.inf, _n_relevant(judged, threshold))
        p, r = hits / (n or len(judged)), hits / _n_relevant(judged, threshold)
        return (1 + beta**2) / (beta**2 / r + 1 / p)

    return ideal


def _e(n: int | None, b: float, threshold: float | None) -> Callable[[Grades], float]:
    return lambda judged: 1 - _f(n, b, threshold)(judged)


def _unless_all_relevant(threshold: float | None) -> Callable[[Grades], float | None]:
    """1, or undefined where no judged document is irrelevant."""
    return lambda judged: 1.0 if _n_relevant(judged, threshold) < len(judged) else None


def _max_f(n: int | None, beta: float, threshold: float | None) -> Callable[[Grades], float]:
    """The highest F that there can be at any rank."""
    return lambda judged: max(_f(k, beta, threshold)(judged) for k in range(1, len(judged[:n]) + 1))


def _relevance(n: int | None) -> Callable[[Grades], float]:
    return lambda judged: sum(max(grade, 0) for grade in judged[:n])


def _of_levels(n: int, *, shared: bool) -> Callable[[Grades], float]:
    """At every level there is room for a part of the documents of that level."""

    def ideal(judged: Grades) -> float:
        levels = pairwise(sorted({max(grade, 0) for grade in judged} | {0}))
        reached = wanted = 0
        for before, t in levels:
            total = _n_relevant(judged, t)
            reached += (t - before) * min(n, total) / (total if shared else 1)
            wanted += (t - before) * (1 if shared else total)
        return reached / wanted

    return ideal


def _err(n: int | None) -> Callable[[Grades], float]:
    def ideal(judged: Grades) -> float:
        found, not_yet = 0, 1
        for rank, grade in enumerate(judged[:n], 1):
            satisfied = (2 ** max(grade, 0) - 1) / 2 ** max(judged)
            found += not_yet * satisfied / rank
            not_yet *= 1 - satisfied
        return found

    return ideal


def _known(judged: Grades, threshold: float | None = None) -> int:
    """How many relevant documents the user knew."""
    known = [grade for place, grade in enumerate(judged) if KNOWN[place % len(KNOWN)]]
    return _n_relevant(known, threshold)


def _none(_rank: int) -> float:
    return 1


def _log2(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _log10(rank: int) -> float:
    return 1 / math.log10(rank + 1)


def _jarvelin(rank: int) -> float:
    return 1 if rank < 2 else 1 / math.log2(rank)


def _jarvelin_3(rank: int) -> float:
    return 1 if rank < 3 else 1 / math.log(rank, 3)


def _zipf(rank: int) -> float:
    return 1 / rank


def _exp2(grade: float) -> float:
    return 2**grade - 1


Gain = Callable[[float], float]
Discount = Callable[[int], float]


def _gains(judged: Grades, gain: Gain, discount: Discount) -> list[float]:
    return [gain(g) * discount(rank) if g > 0 else 0 for rank, g in enumerate(judged, 1)]


def _sum(n: int | None, gain: Gain, discount: Discount = _none) -> dict[str, Any]:
    """What is true of Σ gain · discount over the first n: it has no upper bound."""
    return {
        "ideal": lambda judged: sum(_gains(judged, gain, discount)[:n]),
        "bounds": (0.0, math.inf),
    }


def _curve(n: int | None, at: Callable[[Grades, int], float]) -> dict[str, Any]:
    """What is true of a curve: a value at every rank, of the grades and the rank."""

    def ideal(judged: Grades) -> list[float]:
        return [at(judged, k) for k in range(1, (n or len(judged)) + 1)]

    return {"ideal": ideal, "dtype": pl.List(pl.Float64)}


def _sums(n: int | None, gain: Gain, discount: Discount = _none) -> dict[str, Any]:
    """What is true of the curve of Σ gain · discount: a list that ends keeps its last value."""

    def at(judged: Grades, k: int) -> float:
        so_far = list(accumulate(_gains(judged, gain, discount)))
        return so_far[min(k, len(so_far)) - 1]

    return _curve(n, at) | {"bounds": (0.0, math.inf)}


def _f_at(beta: float, threshold: float | None = None) -> Callable[[Grades, int], float]:
    return lambda judged, k: _f(k, beta, threshold)(judged)


def _e_at(b: float, threshold: float | None = None) -> Callable[[Grades, int], float]:
    return lambda judged, k: _e(k, b, threshold)(judged)


def _perfect(n: int | None) -> dict[str, Any]:
    return _curve(n, lambda _judged, _k: 1.0)


def _precision_at(threshold: float | None = None) -> Callable[[Grades, int], float]:
    return lambda judged, k: _top(k, threshold)(judged) / k


def _recall_at(threshold: float | None = None) -> Callable[[Grades, int], float]:
    return lambda judged, k: _share(k, threshold)(judged)


_UNBOUNDED: dict[str, Any] = {"bounds": (0.0, math.inf)}
_COUNT: dict[str, Any] = {
    "bounds": (0.0, math.inf),
    "dtype": pl.UInt32(),
    "best": "none",
    "undefined": None,
}
_E: dict[str, Any] = {
    "best": "lowest",
    "undefined": lambda value: None if value is None else 1 - value,
}
_BY_N: dict[str, Any] = {"ends_with_the_list": False}
_KNOWN: dict[str, Any] = {"columns": {"known": "known"}}
_LEVELS: dict[str, Any] = {"dtype": pl.List(pl.Float64)}

_PAIRS: dict[str, Any] = {"skips_unjudged": True, "needs_pairs": True}

AVERAGE = {"ties": "average"}
ZIPF = {"discount": "zipf"}
NONE = {"discount": "none"}
OWN = {"gain": "linear", "discount": "jarvelin", "base": 3}
_OWN = "gain=linear, discount=jarvelin, base=3"

BOUNDS_OF_TIES = ("pessimistic", "optimistic")

_ROWS = (
    Row("precision", ideal=lambda judged: _n_relevant(judged) / len(judged), **_BY_N),
    Row("precision@3", ideal=lambda judged: _top(3)(judged) / 3, **_BY_N),
    Row(
        "precision(threshold=2)@3",
        {"threshold": 2},
        ideal=lambda judged: _top(3, 2)(judged) / 3,
        **_BY_N,
    ),
    Row("precision(ties=average)@3", AVERAGE, ideal=lambda judged: _top(3)(judged) / 3, **_BY_N),
    Row("recall"),
    Row("recall@3", ideal=_share(3)),
    Row("recall(threshold=2)", {"threshold": 2}),
    Row("recall(over=cutoff)@3", {"over": "cutoff"}),
    Row("recall(over=cutoff, ties=average)@2", {"over": "cutoff"} | AVERAGE),
    Row("f_measure(ties=average)@3", AVERAGE, ideal=_f(3, 1, None), **_BY_N),
    Row("f_measure", ideal=_f(None, 1, None), **_BY_N),
    Row("f_measure@3", ideal=_f(3, 1, None), **_BY_N),
    Row(
        "f_measure(beta=2, threshold=2)@3", {"beta": 2, "threshold": 2}, ideal=_f(3, 2, 2), **_BY_N
    ),
    Row("e_measure(ties=average)@3", AVERAGE, ideal=_e(3, 1, None), **_E, **_BY_N),
    Row("e_measure", ideal=_e(None, 1, None), **_E, **_BY_N),
    Row("e_measure@3", ideal=_e(3, 1, None), **_E, **_BY_N),
    Row(
        "e_measure(b=0.5, threshold=2)@3",
        {"b": 0.5, "threshold": 2},
        ideal=_e(3, 0.5, 2),
        **_E,
        **_BY_N,
    ),
    Row("max_f_measure", ideal=_max_f(None, 1, None)),
    Row("max_f_measure@3", ideal=_max_f(3, 1, None)),
    Row(
        "max_f_measure(beta=0.5, threshold=2)@2",
        {"beta": 0.5, "threshold": 2},
        ideal=_max_f(2, 0.5, 2),
    ),
    Row("precision_at_hit"),
    Row(
        "precision_at_hit(k=3, threshold=2)",
        {"k": 3, "threshold": 2},
        ideal=lambda judged: float(_n_relevant(judged, 2) >= 3),
    ),
    Row("r_precision"),
    Row("r_precision(ties=average)", AVERAGE),
    Row("r_precision(threshold=2)", {"threshold": 2}),
    Row("reciprocal_rank"),
    Row("reciprocal_rank@3"),
    Row("reciprocal_rank(threshold=2)@2", {"threshold": 2}),
    Row("reciprocal_rank(ties=average)", AVERAGE),
    Row("reciprocal_rank(threshold=2, ties=average)@2", {"threshold": 2} | AVERAGE),
    Row("success"),
    Row("success@3"),
    Row("success(threshold=2, ties=average)@2", {"threshold": 2} | AVERAGE),
    Row("bpref", skips_unjudged=True),
    Row("bpref(threshold=2)", {"threshold": 2}, skips_unjudged=True),
    Row("roc_auc", ideal=_unless_all_relevant(None), **_PAIRS),
    Row("roc_auc(threshold=2)", {"threshold": 2}, ideal=_unless_all_relevant(2), **_PAIRS),
    Row("roc_auc(ties=order)", {"ties": "order"}, ideal=_unless_all_relevant(None), **_PAIRS),
    Row(
        "generalized_precision",
        ideal=lambda judged: _relevance(None)(judged) / max(judged) / len(judged),
        **_BY_N,
    ),
    Row(
        "generalized_precision@3",
        ideal=lambda judged: _relevance(3)(judged) / max(judged) / 3,
        **_BY_N,
    ),
    Row(
        "generalized_precision(ties=average)@3",
        AVERAGE,
        ideal=lambda judged: _relevance(3)(judged) / max(judged) / 3,
        **_BY_N,
    ),
    Row("generalized_recall"),
    Row(
        "generalized_recall(ties=average)@3",
        AVERAGE,
        ideal=lambda judged: _relevance(3)(judged) / _relevance(None)(judged),
    ),
    Row(
        "generalized_recall@3",
        ideal=lambda judged: _relevance(3)(judged) / _relevance(None)(judged),
    ),
    Row("ap"),
    Row("ap@3", ideal=_share(3)),
    Row("ap(ties=average)", AVERAGE),
    Row(
        "ap(threshold=2, over=cutoff, ties=average)@3", {"threshold": 2, "over": "cutoff"} | AVERAGE
    ),
    Row("ap(threshold=2)", {"threshold": 2}),
    Row("ap(threshold=0.5)", {"threshold": 0.5}),
    Row("ap(over=retrieved)", {"over": "retrieved"}),
    # A relevant document that moves up into the first ranks is one more to be divided by.
    Row("ap(over=retrieved)@3", {"over": "retrieved"}, never_falls=False),
    Row("ap(over=cutoff)", {"over": "cutoff"}),
    Row("ap(over=cutoff)@3", {"over": "cutoff"}),
    Row("ap(threshold=2, over=cutoff)@2", {"threshold": 2, "over": "cutoff"}),
    Row("mu_ap"),
    Row("mu_ap@3", ideal=_of_levels(3, shared=True)),
    # A level that no document reaches has AP 0.
    Row(
        "mu_ap(levels=[1, 2, 3, 4])",
        {"levels": [1, 2, 3, 4]},
        ideal=lambda judged: int(max(judged)) / 4,
    ),
    Row("mu_ap(levels=[0.5, 1.5, 10])", {"levels": (0.5, 1.5, 10)}, ideal=1.5 / 10),
    Row("mu_ap(levels=[1])@3", {"levels": [1]}, ideal=_share(3, 1)),
    Row("gap"),
    Row("gap@3", ideal=_of_levels(3, shared=False)),
    Row("gap(levels=[1, 2, 4])", {"levels": [1, 2, 4]}),
    Row("gap(levels=[-1, 0, 0.5])", {"levels": [-1, 0, 0.5]}),
    Row("gap(levels=[1])@3", {"levels": [1]}, ideal=_share(3, 1)),
    Row("cg", **_sum(None, _exp2)),
    Row("cg(gain=linear)@3", {"gain": "linear"}, **_sum(3, float)),
    Row(f"cg(gain={_WORTH})@3", {"gain": WORTH}, **_sum(3, WORTH.__getitem__)),
    Row("cg(ties=average)@3", AVERAGE, **_sum(3, _exp2)),
    Row("dcg", **_sum(None, _exp2, _log2)),
    Row("dcg@3", **_sum(3, _exp2, _log2)),
    Row("dcg(base=10)", {"base": 10}, **_sum(None, _exp2, _log10)),
    Row("dcg(discount=zipf)@3", ZIPF, **_sum(3, _exp2, _zipf)),
    Row("dcg(discount=none)@3", NONE, **_sum(3, _exp2)),
    Row(f"dcg({_OWN})", OWN, **_sum(None, float, _jarvelin_3)),
    Row(f"dcg(gain={_WORTH})", {"gain": WORTH}, **_sum(None, WORTH.__getitem__, _log2)),
    Row("dcg(ties=average)", AVERAGE, **_sum(None, _exp2, _log2)),
    Row("ideal_dcg", best="none", **_sum(None, _exp2, _log2)),
    Row("ideal_dcg@3", best="none", **_sum(3, _exp2, _log2)),
    Row("ideal_dcg(base=10)", {"base": 10}, best="none", **_sum(None, _exp2, _log10)),
    Row(
        "ideal_dcg(gain=linear, discount=jarvelin)@3",
        {"gain": "linear", "discount": "jarvelin"},
        best="none",
        **_sum(3, float, _jarvelin),
    ),
    Row("ideal_cg", best="none", **_sum(None, _exp2)),
    Row("ideal_cg(gain=linear)@3", {"gain": "linear"}, best="none", **_sum(3, float)),
    Row("ncg"),
    Row("ncg(gain=linear)@3", {"gain": "linear"}),
    Row("ncg(gain=linear, ties=average)@2", {"gain": "linear"} | AVERAGE),
    Row("ndcg"),
    Row("ndcg@3"),
    Row("ndcg(gain=linear)@3", {"gain": "linear"}),
    Row("ndcg(discount=jarvelin)@3", {"discount": "jarvelin"}),
    Row("ndcg(discount=zipf)", ZIPF),
    Row("ndcg(discount=none)@3", NONE),
    Row(f"ndcg(gain={_WORTH}, base=10)@3", {"gain": WORTH, "base": 10}),
    Row("ndcg(ties=average)", AVERAGE),
    Row("ndcg(gain=linear, ties=average)@3", {"gain": "linear"} | AVERAGE),
    Row("ndcng"),
    Row("ndcng@3"),
    Row("ndcng(gain=linear)", {"gain": "linear"}),
    Row("ndcng(discount=zipf)@3", ZIPF),
    Row("ndcng(discount=jarvelin, base=1.5)", {"discount": "jarvelin", "base": 1.5}),
    Row(f"ndcng(gain={_WORTH})@3", {"gain": WORTH}),
    Row("ndcng(ties=average)@3", AVERAGE),
    Row("ndcg_area", **_BY_N),
    Row("ndcg_area@5", **_BY_N),
    Row("ndcg_area(ties=average)@5", AVERAGE, **_BY_N),
    Row(f"ndcg_area({_OWN})@5", OWN, **_BY_N),
    Row("ndcng_area", **_BY_N),
    Row("ndcng_area@5", **_BY_N),
    Row("ndcng_area(ties=average)@5", AVERAGE, **_BY_N),
    Row(f"ndcng_area({_OWN})", OWN, **_BY_N),
    Row("err", ideal=_err(None)),
    Row("err@3", ideal=_err(3)),
    Row("nerr"),
    Row("nerr@3"),
    Row("rbp", ideal=lambda judged: 1 - 0.8 ** _n_relevant(judged)),
    Row("rbp@3", ideal=lambda judged: 1 - 0.8 ** _top(3)(judged)),
    Row(
        "rbp(p=0.5, graded=True)",
        {"p": 0.5, "graded": True},
        ideal=lambda judged: sum(
            max(grade, 0) / max(judged) * 0.5**rank for rank, grade in enumerate(judged, 1)
        ),
    ),
    Row(
        "rbp(p=0.95, threshold=2)@3",
        {"p": 0.95, "threshold": 2},
        ideal=lambda judged: 1 - 0.95 ** _top(3, 2)(judged),
    ),
    Row("rbp(ties=average)@3", AVERAGE, ideal=lambda judged: 1 - 0.8 ** _top(3)(judged)),
    # A hit counts with the gain so far, which is less where a poorer document moved up before it.
    Row("q_measure", never_falls=False),
    Row("q_measure@3", ideal=_share(3), never_falls=False),
    Row("q_measure(beta=0)", {"beta": 0}),
    Row(
        "q_measure(beta=0.5, gain=exp2, over=cutoff)@3",
        {"beta": 0.5, "gain": "exp2", "over": "cutoff"},
        never_falls=False,
    ),
    Row(f"q_measure(gain={_WORTH})", {"gain": WORTH}, never_falls=False),
    Row("coverage_ratio", **_KNOWN),
    Row("coverage_ratio(threshold=2)", {"threshold": 2}, **_KNOWN),
    Row("novelty_ratio", ideal=lambda judged: 1 - _known(judged) / _n_relevant(judged), **_KNOWN),
    Row(
        "novelty_ratio(threshold=2)",
        {"threshold": 2},
        ideal=lambda judged: 1 - _known(judged, 2) / _n_relevant(judged, 2),
        **_KNOWN,
    ),
    Row(
        "relative_recall",
        ideal=lambda judged: _n_relevant(judged) / _known(judged),
        **_UNBOUNDED,
        **_KNOWN,
    ),
    Row(
        "relative_recall(threshold=2)",
        {"threshold": 2},
        ideal=lambda judged: _n_relevant(judged, 2) / _known(judged, 2),
        **_UNBOUNDED,
        **_KNOWN,
    ),
    Row("recall_effort", ideal=lambda judged: _known(judged) / len(judged), **_UNBOUNDED, **_KNOWN),
    Row(
        "recall_effort(threshold=2)",
        {"threshold": 2},
        ideal=lambda judged: _known(judged, 2) / len(judged),
        **_UNBOUNDED,
        **_KNOWN,
    ),
    Row("judged", undefined=None),
    Row("judged@3", undefined=None),
    Row("judged(ties=average)@3", AVERAGE, undefined=None),
    Row("n_retrieved", ideal=len, **_COUNT),
    Row("n_relevant", ideal=_n_relevant, **_COUNT),
    Row(
        "n_relevant(threshold=2)",
        {"threshold": 2},
        ideal=lambda judged: _n_relevant(judged, 2),
        **_COUNT,
    ),
    Row("n_relevant_retrieved", ideal=_n_relevant, **_COUNT),
    Row("n_relevant_retrieved@3", ideal=_top(3), **_COUNT),
    Row("n_relevant_retrieved(threshold=2)@3", {"threshold": 2}, ideal=_top(3, 2), **_COUNT),
    Row("precision_curve", **_curve(None, _precision_at())),
    Row("precision_curve(threshold=2)@5", {"threshold": 2}, **_curve(5, _precision_at(2))),
    Row("precision_curve(ties=average)@5", AVERAGE, **_curve(5, _precision_at())),
    Row("recall_curve(ties=average)@5", AVERAGE, **_curve(5, _recall_at())),
    Row("f_measure_curve", **_curve(None, _f_at(1))),
    Row(
        "f_measure_curve(beta=2, threshold=2)@5",
        {"beta": 2, "threshold": 2},
        **_curve(5, _f_at(2, 2)),
    ),
    Row("f_measure_curve(ties=average)@5", AVERAGE, **_curve(5, _f_at(1))),
    Row("e_measure_curve", **_curve(None, _e_at(1)), **_E),
    Row(
        "e_measure_curve(b=0.5, threshold=2)@5",
        {"b": 0.5, "threshold": 2},
        **_curve(5, _e_at(0.5, 2)),
        **_E,
    ),
    Row("e_measure_curve(ties=average)@5", AVERAGE, **_curve(5, _e_at(1)), **_E),
    Row("recall_curve", **_curve(None, _recall_at())),
    Row("recall_curve(threshold=2)@5", {"threshold": 2}, **_curve(5, _recall_at(2))),
    Row("interpolated_precision", ideal=[1.0] * 11, **_LEVELS),
    Row(
        "interpolated_precision(recall_levels=3, threshold=2)",
        {"recall_levels": 3, "threshold": 2},
        ideal=[1.0] * 3,
        **_LEVELS,
    ),
    Row(
        "interpolated_precision(recall_levels=[0.1, 0.5, 0.75, 1])",
        {"recall_levels": [0.1, 0.5, 0.75, 1]},
        ideal=[1.0] * 4,
        **_LEVELS,
    ),
    Row("cg_curve", **_sums(None, _exp2)),
    Row("cg_curve(gain=linear)@5", {"gain": "linear"}, **_sums(5, float)),
    Row("cg_curve(ties=average)@5", AVERAGE, **_sums(5, _exp2)),
    Row("dcg_curve(ties=average)@5", AVERAGE, **_sums(5, _exp2, _log2)),
    Row("ndcg_curve(ties=average)@5", AVERAGE, **_perfect(5)),
    Row("ndcng_curve(ties=average)@5", AVERAGE, **_perfect(5)),
    Row("dcg_curve", **_sums(None, _exp2, _log2)),
    Row(f"dcg_curve({_OWN})@5", OWN, **_sums(5, float, _jarvelin_3)),
    Row("ideal_dcg_curve", best="none", **_sums(None, _exp2, _log2)),
    Row(f"ideal_dcg_curve({_OWN})@5", OWN, best="none", **_sums(5, float, _jarvelin_3)),
    Row("ndcg_curve", **_perfect(None)),
    Row(f"ndcg_curve({_OWN})@5", OWN, **_perfect(5)),
    Row("ndcng_curve", **_perfect(None)),
    Row(f"ndcng_curve({_OWN})@5", OWN, **_perfect(5)),
)

_WITHOUT_TIES = {
    *("ideal_dcg", "ideal_cg", "ideal_dcg_curve", "n_retrieved", "n_relevant"),
    *("coverage_ratio", "novelty_ratio", "relative_recall", "recall_effort"),
}
"""What does not depend on the order of what was retrieved."""

_BY_FUNCTION = {
    row.function: row
    for row in reversed(_ROWS)
    if row.function not in _WITHOUT_TIES and "ties" not in row.options
    if row.n is not None or not row.takes_cutoff
}
"""One row per measure, with a cutoff where there is one."""

ROWS = (
    *_ROWS,
    *(row.with_ties(ties) for row in _BY_FUNCTION.values() for ties in BOUNDS_OF_TIES),
)
