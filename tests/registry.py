"""Properties of measures: one row per measure and set of options."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import polars as pl
import reference

from polars_graded import Graded
from polars_graded._measuring.measures import Measure


@dataclass(frozen=True)
class Row:
    """A measure with its options."""

    name: str
    """Name of its column."""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    """The further columns that the measure needs, by their keywords."""
    ideal: float | None = 1.0
    """Its value, at every rank, if exactly the judged documents were retrieved, from best to worst.
    None if this value is not the same for all queries with a relevant document."""
    bounds: tuple[float, float] = (0.0, 1.0)
    best: Literal["highest", "lowest", "none"] = "highest"
    """The best value, if there is one."""
    undefined: Callable[[Any], Any] | None = lambda value: value
    """Function from the value of `undefined_as` to the value of a query without a relevant
    document; None if the measure is defined for such a query."""
    dtype: pl.DataType = field(default_factory=pl.Float64)
    ends_with_the_list: bool = True
    """True if a cutoff beyond the end of the list gives the value without a cutoff."""
    never_falls: bool = True
    """True if the value never gets worse when two documents change places and the better one moves
    up. If it is False, a test must find a counterexample."""
    is_null_by_default: bool = False
    """True if a query without a relevant or without an irrelevant document is null, unless
    `undefined_as` is a number."""
    is_null_without_documents: bool = False
    """True if a query with too few retrieved documents is null."""
    skips_unjudged: bool = False
    """True if unjudged documents are ignored; otherwise they count as not relevant."""

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
        """The arguments of the method and of the reference implementation."""
        return () if self.n is None else (self.n,), {**self.columns, **self.options}

    def of(self, graded: Graded) -> pl.Expr:
        """The expression."""
        cutoff, options = self.arguments
        return getattr(graded, self.function)(*cutoff, **options)

    def twin(self, query: reference.Lists, scale: reference.Scale = reference.PLAIN) -> Any:
        """The value of one query by the reference implementation."""
        cutoff, options = self.arguments
        if options.get("ties") in BOUNDS_OF_TIES:
            query = reference.broken(query, options["ties"])
            return self.without("ties").twin(query, scale)
        return getattr(reference, self.function)(query, *cutoff, **options, scale=scale)

    def cut(self, n: int | None) -> Row:
        """The same row with another cutoff."""
        name = self.name.removesuffix(f"@{self.n}")
        return replace(self, name=name if n is None else f"{name}@{n}")

    def without(self, option: str) -> Row:
        """The same row without an option."""
        rest = {name: value for name, value in self.options.items() if name != option}
        return replace(self, name=Measure.of(self.function, self.n, **rest).name, options=rest)

    def with_ties(self, ties: str) -> Row:
        """The same row with ties broken by a rule."""
        function, options, n = re.fullmatch(r"(\w+)(?:\((.*)\))?(@\d+)?", self.name).groups()
        written = f"{options}, ties={ties}" if options else f"ties={ties}"
        return replace(
            self, name=f"{function}({written}){n or ''}", options={**self.options, "ties": ties}
        )

    @property
    def takes_cutoff(self) -> bool:
        """Whether there is an argument n."""
        return "n" in inspect.signature(getattr(Graded, self.function)).parameters

    @property
    def takes_any_grade(self) -> bool:
        """Whether it is defined for grades that are not in `WORTH`."""
        return not isinstance(self.options.get("gain"), Mapping)

    def is_on(self, scale: reference.Scale) -> bool:
        """Whether grades of its threshold, if it has one, are relevant on a scale."""
        threshold = self.options.get("threshold", math.inf)
        return threshold > scale.irrelevant and threshold >= (scale.relevant_from or -math.inf)

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
_WORTH = str(WORTH)
"""Gains that do not rise at every step, for each grade above -1 that tests draw by default."""


class FurtherColumn(NamedTuple):
    """A column of documents beside the grade, in the frames of tests."""

    name: str
    dtype: pl.DataType | type[pl.DataType]
    values: tuple[Any, ...]
    """Values of the documents of a query, in the order of rows; the pattern repeats."""


FURTHER = {
    "known": FurtherColumn("known", pl.Boolean, (True, False, None)),
    "subtopics": FurtherColumn(
        "subtopics", pl.List(pl.String), (["x"], ["y", "x"], None, ["z"], [])
    ),
    "popularity": FurtherColumn("share", pl.Float64, (0.5, 0.125, 1.0, 0.3)),
    "features": FurtherColumn(
        "genres", pl.List(pl.String), (["a"], ["b", "a"], ["c"], ["a", "b", "d"], ["c"])
    ),
    "reference": FurtherColumn("expected", pl.Int64, (1, None, 3, 20, 2)),
}
"""The further columns of documents, by the keywords that name them, in the order of the fields of
`reference.Row`."""

FURTHER_COLUMNS = {keyword: column.name for keyword, column in FURTHER.items()}


_CURVE: dict[str, Any] = {"ideal": None, "dtype": pl.List(pl.Float64)}
_SUM: dict[str, Any] = {"ideal": None, "bounds": (0.0, math.inf)}
"""Of gains: it has no upper bound."""
_SUMS = _CURVE | _SUM
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
_SUBTOPICS: dict[str, Any] = {
    "columns": {"subtopics": "subtopics"},
    # A better document that moves up may have no subtopic.
    "ideal": None,
    "never_falls": False,
}
_NULL_WITHOUT_DOCUMENTS: dict[str, Any] = {
    "ideal": None,
    "undefined": None,
    "is_null_without_documents": True,
}
_BY_COLUMN: dict[str, Any] = {"never_falls": False}
"""Another column than the grade decides which documents are good."""
_OF_POPULARITY: dict[str, Any] = {
    "columns": {"popularity": "share"},
    **_UNBOUNDED,
    **_NULL_WITHOUT_DOCUMENTS,
}
_OF_FEATURES: dict[str, Any] = {
    "columns": {"features": "genres"},
    **_UNBOUNDED,
    **_NULL_WITHOUT_DOCUMENTS,
}
_OF_REFERENCE: dict[str, Any] = {"columns": {"reference": "expected"}, **_BY_N}
_LEVELS: dict[str, Any] = {"dtype": pl.List(pl.Float64)}

_PAIRS: dict[str, Any] = {"skips_unjudged": True, "is_null_by_default": True}
_PAIRS_OF_FIRST: dict[str, Any] = {"is_null_by_default": True, "never_falls": False}

AVERAGE = {"ties": "average"}
ZIPF = {"discount": "zipf"}
NONE = {"discount": "none"}
OWN = {"gain": "linear", "discount": "jarvelin", "base": 3}
_OWN = "gain=linear, discount=jarvelin, base=3"

BOUNDS_OF_TIES = ("pessimistic", "optimistic")

_ROWS = (
    Row("precision", ideal=None, **_BY_N),
    Row("precision@3", ideal=None, **_BY_N),
    Row("precision(threshold=2)@3", {"threshold": 2}, ideal=None, **_BY_N),
    Row("precision(ties=average)@3", AVERAGE, ideal=None, **_BY_N),
    Row("recall"),
    Row("recall@3", ideal=None),
    Row("recall(threshold=2)", {"threshold": 2}),
    Row("recall(over=cutoff)@3", {"over": "cutoff"}),
    Row("recall(over=cutoff, ties=average)@2", {"over": "cutoff"} | AVERAGE),
    Row("f_measure(ties=average)@3", AVERAGE, ideal=None, **_BY_N),
    Row("f_measure", ideal=None, **_BY_N),
    Row("f_measure@3", ideal=None, **_BY_N),
    Row("f_measure(beta=2, threshold=2)@3", {"beta": 2, "threshold": 2}, ideal=None, **_BY_N),
    Row("e_measure(ties=average)@3", AVERAGE, ideal=None, **_E, **_BY_N),
    Row("e_measure", ideal=None, **_E, **_BY_N),
    Row("e_measure@3", ideal=None, **_E, **_BY_N),
    Row("e_measure(b=0.5, threshold=2)@3", {"b": 0.5, "threshold": 2}, ideal=None, **_E, **_BY_N),
    Row("max_f_measure", ideal=None),
    Row("max_f_measure@3", ideal=None),
    Row("max_f_measure(beta=0.5, threshold=2)@2", {"beta": 0.5, "threshold": 2}, ideal=None),
    Row("precision_at_hit"),
    Row("precision_at_hit(k=3, threshold=2)", {"k": 3, "threshold": 2}, ideal=None),
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
    Row("roc_auc", **_PAIRS),
    Row("roc_auc(threshold=2)", {"threshold": 2}, **_PAIRS),
    Row("roc_auc(ties=order)", {"ties": "order"}, **_PAIRS),
    Row("pairwise_accuracy", is_null_by_default=True),
    # A hit that moves up into the first ranks makes pairs with others above it.
    Row("pairwise_accuracy(threshold=2)@3", {"threshold": 2}, ideal=None, **_PAIRS_OF_FIRST),
    Row("generalized_precision", ideal=None, **_BY_N),
    Row("generalized_precision@3", ideal=None, **_BY_N),
    Row("generalized_precision(ties=average)@3", AVERAGE, ideal=None, **_BY_N),
    Row("generalized_recall"),
    Row("generalized_recall(ties=average)@3", AVERAGE, ideal=None),
    Row("generalized_recall@3", ideal=None),
    Row("ap"),
    Row("ap@3", ideal=None),
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
    Row("mu_ap@3", ideal=None),
    # A level that no document reaches has AP 0.
    Row("mu_ap(levels=[1, 2, 3, 4])", {"levels": [1, 2, 3, 4]}, ideal=None),
    Row("mu_ap(levels=[0.5, 1.5, 10])", {"levels": (0.5, 1.5, 10)}, ideal=None),
    Row("mu_ap(levels=[1])@3", {"levels": [1]}, ideal=None),
    # It is smoothed, and a pooled document that nobody judged may be better than an irrelevant one.
    Row("infap", ideal=None, never_falls=False),
    Row("infap(threshold=2)@3", {"threshold": 2}, ideal=None, never_falls=False),
    Row("gap"),
    Row("gap@3", ideal=None),
    Row("gap(levels=[1, 2, 4])", {"levels": [1, 2, 4]}),
    Row("gap(levels=[-1, 0, 0.5])", {"levels": [-1, 0, 0.5]}),
    Row("gap(levels=[1])@3", {"levels": [1]}, ideal=None),
    Row("cg", **_SUM),
    Row("cg(gain=linear)@3", {"gain": "linear"}, **_SUM),
    Row(f"cg(gain={_WORTH})@3", {"gain": WORTH}, **_SUM),
    Row("cg(ties=average)@3", AVERAGE, **_SUM),
    Row("dcg", **_SUM),
    Row("dcg@3", **_SUM),
    Row("dcg(base=10)", {"base": 10}, **_SUM),
    Row("dcg(discount=zipf)@3", ZIPF, **_SUM),
    Row("dcg(discount=none)@3", NONE, **_SUM),
    Row(f"dcg({_OWN})", OWN, **_SUM),
    Row(f"dcg(gain={_WORTH})", {"gain": WORTH}, **_SUM),
    Row("dcg(ties=average)", AVERAGE, **_SUM),
    Row("ideal_dcg", best="none", **_SUM),
    Row("ideal_dcg@3", best="none", **_SUM),
    Row("ideal_dcg(base=10)", {"base": 10}, best="none", **_SUM),
    Row(
        "ideal_dcg(gain=linear, discount=jarvelin)@3",
        {"gain": "linear", "discount": "jarvelin"},
        best="none",
        **_SUM,
    ),
    Row("ideal_cg", best="none", **_SUM),
    Row("ideal_cg(gain=linear)@3", {"gain": "linear"}, best="none", **_SUM),
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
    Row("err", ideal=None),
    Row("err@3", ideal=None),
    Row("nerr"),
    Row("nerr@3"),
    Row("rbp", ideal=None),
    Row("rbp@3", ideal=None),
    Row("rbp(p=0.5, graded=True)", {"p": 0.5, "graded": True}, ideal=None),
    Row("rbp(p=0.95, threshold=2)@3", {"p": 0.95, "threshold": 2}, ideal=None),
    Row("rbp(ties=average)@3", AVERAGE, ideal=None),
    Row("sdcg", ideal=None, **_BY_N),
    Row("sdcg@3", ideal=None, **_BY_N),
    Row("sdcg(ties=average)@3", AVERAGE, ideal=None, **_BY_N),
    Row("insq", ideal=None, **_BY_N),
    Row("insq@3", ideal=None, **_BY_N),
    Row("insq(target=2.5)@20", {"target": 2.5}, ideal=None, **_BY_N),
    Row("inst", ideal=None, **_BY_N),
    Row("inst@3", ideal=None, **_BY_N),
    Row("inst(target=2.5)@20", {"target": 2.5}, ideal=None, **_BY_N),
    # A user who reaches the target earlier reads fewer good documents.
    Row("bpm", ideal=None, never_falls=False, **_BY_N),
    Row("bpm(target=2)@3", {"target": 2}, ideal=None, **_BY_N),
    Row("nerr8", ideal=None, **_BY_N),
    Row("nerr8@15", ideal=None, **_BY_N),
    Row("nerr9", ideal=None, **_BY_N),
    Row("nerr9@15", ideal=None, **_BY_N),
    Row("nerr10", ideal=None, **_BY_N),
    Row("nerr10(p=0.5)@3", {"p": 0.5}, ideal=None, **_BY_N),
    Row("nerr11", ideal=None, **_BY_N),
    Row("nerr11@15", ideal=None, **_BY_N),
    Row("nerr11(target=2.5)@3", {"target": 2.5}, ideal=None, **_BY_N),
    Row("compat"),
    Row("compat(p=0.5, normalised=False)", {"p": 0.5, "normalised": False}, ideal=None),
    # A hit counts with the gain so far, which is less where a poorer document moved up before it.
    Row("q_measure", never_falls=False),
    Row("q_measure@3", ideal=None, never_falls=False),
    Row("q_measure(beta=0)", {"beta": 0}),
    Row(
        "q_measure(beta=0.5, gain=exp2, over=cutoff)@3",
        {"beta": 0.5, "gain": "exp2", "over": "cutoff"},
        never_falls=False,
    ),
    Row(f"q_measure(gain={_WORTH})", {"gain": WORTH}, never_falls=False),
    Row("coverage_ratio", **_KNOWN),
    Row("coverage_ratio(threshold=2)", {"threshold": 2}, **_KNOWN),
    Row("novelty_ratio", ideal=None, **_KNOWN),
    Row("novelty_ratio(threshold=2)", {"threshold": 2}, ideal=None, **_KNOWN),
    Row("relative_recall", ideal=None, **_UNBOUNDED, **_KNOWN),
    Row("relative_recall(threshold=2)", {"threshold": 2}, ideal=None, **_UNBOUNDED, **_KNOWN),
    Row("recall_effort", ideal=None, **_UNBOUNDED, **_KNOWN),
    Row("recall_effort(threshold=2)", {"threshold": 2}, ideal=None, **_UNBOUNDED, **_KNOWN),
    Row("alpha_dcg", **_SUBTOPICS, **_BY_N),
    Row(
        "alpha_dcg(alpha=0.25, threshold=2)@3",
        {"alpha": 0.25, "threshold": 2},
        **_SUBTOPICS,
        **_BY_N,
    ),
    Row("alpha_ndcg", **_SUBTOPICS),
    Row("alpha_ndcg(alpha=0.3)@3", {"alpha": 0.3}, **_SUBTOPICS),
    Row("alpha_ndcg(alpha=1, threshold=2)", {"alpha": 1, "threshold": 2}, **_SUBTOPICS),
    Row("err_ia", **_SUBTOPICS, **_BY_N),
    Row("err_ia(alpha=0, threshold=2)@3", {"alpha": 0, "threshold": 2}, **_SUBTOPICS, **_BY_N),
    Row("nerr_ia", **_SUBTOPICS),
    Row("nerr_ia(alpha=0.9, threshold=2)@3", {"alpha": 0.9, "threshold": 2}, **_SUBTOPICS),
    Row("nrbp", **_SUBTOPICS),
    Row(
        "nrbp(alpha=0.3, beta=0.8, threshold=2)@3",
        {"alpha": 0.3, "beta": 0.8, "threshold": 2},
        **_SUBTOPICS,
    ),
    Row("nnrbp", **_SUBTOPICS),
    Row(
        "nnrbp(alpha=0.3, beta=0.8, threshold=2)@3",
        {"alpha": 0.3, "beta": 0.8, "threshold": 2},
        **_SUBTOPICS,
    ),
    Row("subtopic_recall", **_SUBTOPICS | {"never_falls": True}),
    Row("subtopic_recall(threshold=2)@3", {"threshold": 2}, **_SUBTOPICS),
    Row("precision_ia", **_SUBTOPICS | {"never_falls": True}, **_BY_N),
    Row("precision_ia(threshold=2)@3", {"threshold": 2}, **_SUBTOPICS, **_BY_N),
    Row("ap_ia", **_SUBTOPICS),
    Row("ap_ia(threshold=2)@3", {"threshold": 2}, **_SUBTOPICS),
    Row("popularity", best="none", **_OF_POPULARITY),
    Row("popularity@3", best="none", **_BY_COLUMN, **_OF_POPULARITY),
    Row("novelty", **_OF_POPULARITY),
    Row("novelty@3", **_BY_COLUMN, **_OF_POPULARITY),
    Row("diversity", **_OF_FEATURES),
    Row("diversity@3", **_BY_COLUMN, **_OF_FEATURES),
    Row("unexpectedness", **_OF_REFERENCE, **_NULL_WITHOUT_DOCUMENTS),
    Row("unexpectedness@3", **_BY_COLUMN, **_OF_REFERENCE, **_NULL_WITHOUT_DOCUMENTS),
    Row("serendipity", ideal=None, **_OF_REFERENCE),
    Row("serendipity(threshold=2)@3", {"threshold": 2}, ideal=None, **_BY_COLUMN, **_OF_REFERENCE),
    Row("judged", undefined=None, best="none"),
    Row("judged@3", undefined=None, best="none"),
    Row("judged(ties=average)@3", AVERAGE, undefined=None, best="none"),
    Row("n_retrieved", ideal=None, **_COUNT),
    Row("n_relevant", ideal=None, **_COUNT),
    Row("n_relevant(threshold=2)", {"threshold": 2}, ideal=None, **_COUNT),
    Row("n_relevant_retrieved", ideal=None, **_COUNT),
    Row("n_relevant_retrieved@3", ideal=None, **_COUNT),
    Row("n_relevant_retrieved(threshold=2)@3", {"threshold": 2}, ideal=None, **_COUNT),
    Row("precision_curve", **_CURVE),
    Row("precision_curve(threshold=2)@5", {"threshold": 2}, **_CURVE),
    Row("precision_curve(ties=average)@5", AVERAGE, **_CURVE),
    Row("recall_curve(ties=average)@5", AVERAGE, **_CURVE),
    Row("f_measure_curve", **_CURVE),
    Row("f_measure_curve(beta=2, threshold=2)@5", {"beta": 2, "threshold": 2}, **_CURVE),
    Row("f_measure_curve(ties=average)@5", AVERAGE, **_CURVE),
    Row("e_measure_curve", **_CURVE, **_E),
    Row("e_measure_curve(b=0.5, threshold=2)@5", {"b": 0.5, "threshold": 2}, **_CURVE, **_E),
    Row("e_measure_curve(ties=average)@5", AVERAGE, **_CURVE, **_E),
    Row("recall_curve", **_CURVE),
    Row("recall_curve(threshold=2)@5", {"threshold": 2}, **_CURVE),
    Row("interpolated_precision", **_LEVELS),
    Row(
        "interpolated_precision(recall_levels=3, threshold=2)",
        {"recall_levels": 3, "threshold": 2},
        ideal=1.0,
        **_LEVELS,
    ),
    Row(
        "interpolated_precision(recall_levels=[0.1, 0.5, 0.75, 1])",
        {"recall_levels": [0.1, 0.5, 0.75, 1]},
        ideal=1.0,
        **_LEVELS,
    ),
    Row("cg_curve", **_SUMS),
    Row("cg_curve(gain=linear)@5", {"gain": "linear"}, **_SUMS),
    Row("cg_curve(ties=average)@5", AVERAGE, **_SUMS),
    Row("dcg_curve(ties=average)@5", AVERAGE, **_SUMS),
    Row("ndcg_curve(ties=average)@5", AVERAGE, **_LEVELS),
    Row("ndcng_curve(ties=average)@5", AVERAGE, **_LEVELS),
    Row("dcg_curve", **_SUMS),
    Row(f"dcg_curve({_OWN})@5", OWN, **_SUMS),
    Row("ideal_dcg_curve", best="none", **_SUMS),
    Row(f"ideal_dcg_curve({_OWN})@5", OWN, best="none", **_SUMS),
    Row("ndcg_curve", **_LEVELS),
    Row(f"ndcg_curve({_OWN})@5", OWN, **_LEVELS),
    Row("ndcng_curve", **_LEVELS),
    Row(f"ndcng_curve({_OWN})@5", OWN, **_LEVELS),
)

_WITHOUT_TIES = {
    *("ideal_dcg", "ideal_cg", "ideal_dcg_curve", "n_retrieved", "n_relevant"),
    *("coverage_ratio", "novelty_ratio", "relative_recall", "recall_effort"),
    *("alpha_dcg", "alpha_ndcg", "err_ia", "nerr_ia", "nrbp", "nnrbp"),
    *("subtopic_recall", "precision_ia", "ap_ia"),
    *("popularity", "novelty", "diversity", "unexpectedness", "serendipity"),
}
"""What does not depend on the order of what was retrieved, or has no option for ties."""

_BY_FUNCTION = {
    row.function: row
    for row in reversed(_ROWS)
    if row.function not in _WITHOUT_TIES and "ties" not in row.options
    if row.n is not None or not row.takes_cutoff
}
"""One row per measure, with a cutoff where there is one."""

ROWS = (*_ROWS, *(row.with_ties(ties) for row in _BY_FUNCTION.values() for ties in BOUNDS_OF_TIES))
