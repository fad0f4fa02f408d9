"""Definitions of measures: their kernels, options and properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_graded._checks import (
    check_choice,
    check_flag,
    check_grade_gains,
    check_increasing,
    check_number,
    check_whole_number,
)
from polars_graded._measuring.kernels import (
    average_precision,
    known_items,
    precision,
    recommendations,
    subtopics,
    user_models,
)
from polars_graded._measuring.kernels.cumulated_gain import (
    compute_normalised_gains,
    dcg,
    dcg_curve,
    ideal_dcg,
    ideal_dcg_curve,
    ndcg,
    ndcg_area,
    ndcg_curve,
)
from polars_graded._measuring.kernels.gains import DISCOUNTS, GAINS
from polars_graded._measuring.kernels.queries import MAX_RELEVANCE, STRICT_TIE_RULES, TIE_RULES

Best: TypeAlias = Literal["highest", "lowest", "none"]


class Depth(Enum):
    """Part of the ranked list that a measure needs."""

    NOTHING = 0
    CUTOFF = 1
    ALL_RANKS = 2

    def at(self, n: int | None) -> int | None:
        """Return the number of ranks needed at cutoff `n`; None for all ranks."""
        return {Depth.NOTHING: 0, Depth.CUTOFF: n, Depth.ALL_RANKS: None}[self]


@dataclass(frozen=True)
class Option:
    """Keyword of a measure, with its default and its check."""

    default: Any
    check: Callable[[str, Any], Any]
    is_of_grades: bool = False
    """True if the value is a grade, several grades, or pairs of a grade and its gain."""

    def check_value(self, name: str, value: Any) -> Any:
        """Return `value`, checked and in the form that kernels take."""
        return self.default if value is self.default else self.check(name, value)

    def convert_grades(self, value: Any, convert: Callable[[float], float]) -> Any:
        """Return `value` with its grades converted by `convert`."""
        if not self.is_of_grades or value is None or isinstance(value, str):
            return value
        if not isinstance(value, tuple):
            return convert(value)
        return tuple(
            (convert(each[0]), each[1]) if isinstance(each, tuple) else convert(each)
            for each in value
        )


def _check_gain(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        pairs = check_grade_gains(name, value)
        if pairs[-1][1] > MAX_RELEVANCE:
            msg = f"`{name}` must map grades to at most {MAX_RELEVANCE:g}, got {pairs[-1][1]:g}"
            raise ValueError(msg)
        return pairs
    return check_choice(name, value, GAINS, instead="a mapping from grade to gain")


def _check_levels(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return check_choice(name, value, [ALL], instead="a sequence of numbers")
    return check_increasing(name, value)


def _check_recall_levels(name: str, value: Any) -> Any:
    if isinstance(value, Iterable):
        return check_increasing(name, value, at_least=0, at_most=1)
    return check_whole_number(name, value, at_least=2, at_most=MAX_CURVE_VALUES)


ALL = "all"
"""Value of `levels` for all levels of a scale: 1, 2 and 3 for `irrelevant=0`, `max_grade=3`."""

NOTHING, CUTOFF, ALL_RANKS = Depth.NOTHING, Depth.CUTOFF, Depth.ALL_RANKS

THRESHOLD = {"threshold": Option(None, check_number, is_of_grades=True)}
TIES = {"ties": Option("order", partial(check_choice, among=TIE_RULES))}
TIE_ORDER = {"ties": Option("order", partial(check_choice, among=STRICT_TIE_RULES))}
TIED_PAIRS = {"ties": Option("average", partial(check_choice, among=TIE_RULES))}
GAIN = {"gain": Option("exp2", _check_gain, is_of_grades=True)}
DISCOUNT = {
    "discount": Option("log2", partial(check_choice, among=DISCOUNTS)),
    "base": Option(2.0, partial(check_number, above=1)),
}
MAX_CURVE_VALUES = 1 << 24
"""Maximum number of values of a curve. Also the maximum number of ranks of a measure with
`weighs_missing_ranks`, and of levels with `levels="all"`. The limit keeps arrays small enough for
memory."""
MAX_WEIGHT = 1e100
"""Maximum of the options `beta` and `b`, whose squares must fit a double."""
LEVELS = {"levels": Option(None, _check_levels, is_of_grades=True)}


@dataclass(frozen=True)
class Definition:
    """Definition of a measure: its kernel, its input, and its properties."""

    kernel: Callable[..., Any]
    options: Mapping[str, Option]
    depth: Depth = CUTOFF
    depends_on_missed: bool = False
    """True if the value depends on judged documents that were not retrieved. False if only the
    highest grade of all judged documents matters, as for `err`."""
    has_cutoff: bool = True
    dtype: pl.DataType = field(default_factory=pl.Float64)
    input_names: tuple[str, ...] = ()
    """Names of the columns of documents that the measure needs besides the grade, such as `known`.
    The keywords for these columns have the same names."""
    needs_relevant: bool = True
    """True if the measure is undefined for a query without a relevant document."""
    needs_grades: bool = True
    """False if the measure uses no grades."""
    needs_pairs: bool = False
    """True if the measure is a share of pairs of documents. By default, an undefined value of such
    a measure is null, not 0, because a random order already has the expected value 1/2."""
    can_be_undefined: bool = False
    """True if the measure can also be undefined for a query with a relevant document. Its kernel
    then returns NaN. For example, the query has no pairs to order, no known documents, no retrieved
    documents or no subtopics, or its ideal value is 0 because all gains are 0."""
    if_undefined: Callable[[float], float] = lambda value: value
    """Function that converts the value of `undefined_as` to the fill value of the measure."""
    best: Best = "highest"
    """Best value: "highest", "lowest" or "none"."""
    is_of_a_scale: bool = False
    """True if the measure depends on the highest grade of the scale, even if no document has this
    grade. False for `rbp`, which depends on the highest grade only with `graded=True`."""
    is_bounded: bool = True
    """True if all values lie between 0 and 1."""
    normalises_grades: bool = False
    """True if gains are those of grades divided by the highest grade."""
    weighs_missing_ranks: bool = False
    """True if the kernel computes a weight for each rank down to the cutoff, even for ranks beyond
    the end of the list."""
    may_fall: bool = False
    """True if the value may get worse when a document gets a better grade, or when two neighbouring
    documents are swapped so that the better one comes first. False if this happens only with some
    options: see `Measure.may_fall`. One effect does not count here: if `depends_on_missed` is True,
    a better grade can make a document relevant and so change the divisor of the measure."""
    is_symmetric: bool = True
    """False if the value of two rankings depends on which is first."""
    compares_ties: bool = False
    """True if the measure always depends on which documents are tied. It has no option `ties`."""
    ignores_order: bool = False
    """True if the measure has `input_names`, and the order of the first n documents does not change
    the value. (A measure without cutoff uses all retrieved documents.)"""
    is_sum: bool = False
    """True if `charts.rankings` may show the measure as a sum over ranks, in which no term depends
    on documents below its rank, and terms differ between ranks."""

    @property
    def averages_ties(self) -> bool:
        """Return whether the kernel can average over all orders of tied documents.

        The result is valid only for measures in `DEFINITIONS`.
        """
        return "ties" in self.options and self.options["ties"] is not TIE_ORDER["ties"]


def _define_count(kernel: Callable[..., Any], **properties: Any) -> Definition:
    return Definition(
        kernel, **properties, dtype=pl.UInt32(), needs_relevant=False, best="none", is_bounded=False
    )


def _define_curve(
    kernel: Callable[..., Any], options: Mapping[str, Option], **properties: Any
) -> Definition:
    return Definition(kernel, options, **properties, dtype=CURVE_TYPE)


def _define_without_cutoff(
    kernel: Callable[..., Any], options: Mapping[str, Option], **properties: Any
) -> Definition:
    return Definition(
        kernel, options, depth=ALL_RANKS, depends_on_missed=True, has_cutoff=False, **properties
    )


def _define_over_ideal(
    kernel: Callable[..., Any], options: Mapping[str, Option], **properties: Any
) -> Definition:
    """Return the definition of a measure that is divided by an ideal value.

    The measure is undefined if its ideal value is 0.
    """
    return Definition(kernel, options, depends_on_missed=True, can_be_undefined=True, **properties)


def _define_ndcng(kernel: Callable[..., Any], **properties: Any) -> Definition:
    """Return the definition of a measure with the gains of NDCNG."""
    return _define_over_ideal(
        partial(kernel, gain_function=compute_normalised_gains),
        GAIN | DISCOUNT | TIES,
        normalises_grades=True,
        **properties,
    )


def _define_ideal(
    kernel: Callable[..., Any], options: Mapping[str, Option], **properties: Any
) -> Definition:
    """Return the definition of a measure of the ideal ranking."""
    return Definition(
        kernel,
        options,
        depth=NOTHING,
        depends_on_missed=True,
        best="none",
        is_bounded=False,
        **properties,
    )


def _define_for_known_items(kernel: Callable[..., Any], **properties: Any) -> Definition:
    return _define_without_cutoff(
        kernel,
        THRESHOLD,
        input_names=("known",),
        can_be_undefined=True,
        ignores_order=True,
        **properties,
    )


def _define_for_subtopics(
    kernel: Callable[..., Any], options: Mapping[str, Option] | None = None, **properties: Any
) -> Definition:
    return Definition(
        kernel,
        {**(options or {}), **THRESHOLD},
        **properties,
        depends_on_missed=True,
        input_names=("subtopics",),
        can_be_undefined=True,
    )


def _define_for_documents(kernel: Callable[..., Any], column: str, **properties: Any) -> Definition:
    """Return the definition of a measure that uses one input and no grades."""
    properties = {
        "needs_relevant": False,
        "needs_grades": False,
        "ignores_order": True,
    } | properties
    return Definition(kernel, {}, input_names=(column,), **properties)


def _make_over_option(*divisors: str) -> dict[str, Option]:
    return {"over": Option(divisors[0], partial(check_choice, among=divisors))}


def make_number_option(default: float, **bounds: float) -> Option:
    """Return an option that takes a number within the bounds."""
    return Option(default, partial(check_number, **bounds))


BETA = {"beta": make_number_option(1.0, above=0, at_most=MAX_WEIGHT)}
ALPHA = {"alpha": make_number_option(0.5, at_least=0, at_most=1)}
PATIENCE = {"beta": make_number_option(0.5, above=0, below=1)}
MAX_TARGET = 1e6
"""Maximum target of a user. Sums of inverse squares of much larger numbers lose their digits."""

TARGET = {"target": make_number_option(1.0, at_least=1 / MAX_TARGET, at_most=MAX_TARGET)}
CURVE_TYPE = pl.List(pl.Float64)
COMPLEMENT_OF_F: Mapping[str, Any] = {"best": "lowest", "if_undefined": lambda value: 1 - value}
"""Properties of E, which is 1 - F: the lowest value is best, and fill values are 1 minus those of
F."""
UNDISCOUNTED: Mapping[str, Any] = {"discount": "none", "base": 2.0}
B_OPTION = {"b": make_number_option(1.0, above=0, at_most=MAX_WEIGHT)}


DEFINITIONS: Mapping[str, Definition] = {
    # Counting relevant documents.
    "precision": Definition(precision.precision, THRESHOLD | TIES),
    "recall": Definition(
        precision.recall,
        THRESHOLD | _make_over_option("relevant", "cutoff") | TIES,
        depends_on_missed=True,
        is_sum=True,
    ),
    "f_measure": Definition(precision.f_measure, BETA | THRESHOLD | TIES, depends_on_missed=True),
    "e_measure": Definition(
        precision.e_measure, B_OPTION | THRESHOLD | TIES, depends_on_missed=True, **COMPLEMENT_OF_F
    ),
    "max_f_measure": Definition(
        precision.max_f_measure, BETA | THRESHOLD | TIE_ORDER, depends_on_missed=True
    ),
    "r_precision": _define_without_cutoff(precision.r_precision, THRESHOLD | TIES, is_sum=True),
    "precision_at_hit": Definition(
        precision.precision_at_hit,
        {"k": Option(1, check_whole_number)} | THRESHOLD | TIE_ORDER,
        depth=ALL_RANKS,
        has_cutoff=False,
    ),
    "reciprocal_rank": Definition(precision.reciprocal_rank, THRESHOLD | TIES, is_sum=True),
    "success": Definition(precision.success, THRESHOLD | TIES),
    "bpref": _define_without_cutoff(precision.bpref, THRESHOLD | TIE_ORDER),
    "roc_auc": _define_without_cutoff(
        precision.roc_auc, THRESHOLD | TIED_PAIRS, can_be_undefined=True, needs_pairs=True
    ),
    "pairwise_accuracy": Definition(
        precision.pairwise_accuracy,
        THRESHOLD | TIE_ORDER,
        can_be_undefined=True,
        needs_pairs=True,
        may_fall=True,
    ),
    "generalized_precision": Definition(precision.generalized_precision, TIES, is_of_a_scale=True),
    "generalized_recall": Definition(
        precision.generalized_recall, TIES, depends_on_missed=True, is_sum=True
    ),
    # Averaging precision.
    "ap": Definition(
        average_precision.ap,
        THRESHOLD | _make_over_option("relevant", "retrieved", "cutoff") | TIES,
        depends_on_missed=True,
        is_sum=True,
    ),
    "mu_ap": _define_over_ideal(average_precision.mu_ap, LEVELS | TIE_ORDER, is_sum=True),
    "gap": _define_over_ideal(average_precision.gap, LEVELS | TIE_ORDER, is_sum=True),
    "infap": Definition(
        average_precision.infap, THRESHOLD | TIE_ORDER, depends_on_missed=True, may_fall=True
    ),
    # Cumulated gain.
    "cg": Definition(partial(dcg, **UNDISCOUNTED), GAIN | TIES, is_bounded=False, is_sum=True),
    "dcg": Definition(dcg, GAIN | DISCOUNT | TIES, is_bounded=False, is_sum=True),
    "ideal_dcg": _define_ideal(ideal_dcg, GAIN | DISCOUNT),
    "ndcg": _define_over_ideal(ndcg, GAIN | DISCOUNT | TIES, is_sum=True),
    "ndcng": _define_ndcng(ndcg, is_sum=True),
    "ncg": _define_over_ideal(partial(ndcg, **UNDISCOUNTED), GAIN | TIES, is_sum=True),
    "ideal_cg": _define_ideal(partial(ideal_dcg, **UNDISCOUNTED), GAIN),
    "ndcg_area": _define_over_ideal(ndcg_area, GAIN | DISCOUNT | TIES),
    "ndcng_area": _define_ndcng(ndcg_area),
    # Modelling the user.
    "err": Definition(user_models.err, TIE_ORDER, is_of_a_scale=True, is_sum=True),
    "nerr": Definition(
        user_models.nerr, TIE_ORDER, depends_on_missed=True, is_of_a_scale=True, is_sum=True
    ),
    "rbp": Definition(
        user_models.rbp,
        {
            "p": make_number_option(0.8, above=0, below=1),
            "graded": Option(default=False, check=check_flag),
        }
        | THRESHOLD
        | TIES,
        is_sum=True,
    ),
    "q_measure": Definition(
        user_models.q_measure,
        {
            "beta": make_number_option(1.0, at_least=0, at_most=1e4),
            "gain": Option("linear", _check_gain, is_of_grades=True),
        }
        | _make_over_option("relevant", "cutoff")
        | TIE_ORDER,
        depends_on_missed=True,
        is_sum=True,
    ),
    "sdcg": Definition(
        user_models.sdcg, TIES, is_of_a_scale=True, is_sum=True, weighs_missing_ranks=True
    ),
    "insq": Definition(user_models.insq, TARGET | TIE_ORDER, is_of_a_scale=True, is_sum=True),
    "inst": Definition(
        user_models.inst,
        {"target": make_number_option(1.0, at_least=0.5, at_most=MAX_TARGET)} | TIE_ORDER,
        is_of_a_scale=True,
        may_fall=True,
    ),
    "bpm": Definition(user_models.bpm, TARGET | TIE_ORDER, is_of_a_scale=True, may_fall=True),
    "nerr8": Definition(user_models.nerr8, TIE_ORDER, is_of_a_scale=True, may_fall=True),
    "nerr9": Definition(
        user_models.nerr9,
        TIE_ORDER,
        is_of_a_scale=True,
        weighs_missing_ranks=True,
        may_fall=True,
    ),
    "nerr10": Definition(
        user_models.nerr10,
        {"p": make_number_option(0.9, above=0, below=1)} | TIE_ORDER,
        is_of_a_scale=True,
        may_fall=True,
    ),
    "nerr11": Definition(user_models.nerr11, TARGET | TIE_ORDER, is_of_a_scale=True, may_fall=True),
    "compat": _define_without_cutoff(
        user_models.compat,
        {
            "p": make_number_option(0.95, above=0, below=1),
            "normalised": Option(default=True, check=check_flag),
        }
        | TIE_ORDER,
    ),
    # Documents that the user knew.
    "coverage_ratio": _define_for_known_items(known_items.coverage_ratio),
    "novelty_ratio": _define_for_known_items(known_items.novelty_ratio),
    "relative_recall": _define_for_known_items(known_items.relative_recall, is_bounded=False),
    "recall_effort": _define_for_known_items(known_items.recall_effort, is_bounded=False),
    # Subtopics of a query.
    "alpha_dcg": _define_for_subtopics(subtopics.alpha_dcg, ALPHA, weighs_missing_ranks=True),
    "alpha_ndcg": _define_for_subtopics(subtopics.alpha_ndcg, ALPHA),
    "err_ia": _define_for_subtopics(subtopics.err_ia, ALPHA, weighs_missing_ranks=True),
    "nerr_ia": _define_for_subtopics(subtopics.nerr_ia, ALPHA),
    "nrbp": _define_for_subtopics(subtopics.nrbp, ALPHA | PATIENCE),
    "nnrbp": _define_for_subtopics(subtopics.nnrbp, ALPHA | PATIENCE),
    "subtopic_recall": _define_for_subtopics(subtopics.subtopic_recall, ignores_order=True),
    "precision_ia": _define_for_subtopics(subtopics.precision_ia, ignores_order=True),
    "ap_ia": _define_for_subtopics(subtopics.ap_ia),
    # Recommendations beyond accuracy.
    "popularity": _define_for_documents(
        partial(recommendations.average_input, name="popularity"),
        "popularity",
        best="none",
        is_bounded=False,
    ),
    "novelty": _define_for_documents(recommendations.novelty, "popularity", is_bounded=False),
    "diversity": _define_for_documents(recommendations.diversity, "features", is_bounded=False),
    "unexpectedness": _define_for_documents(recommendations.unexpectedness, "reference"),
    "serendipity": Definition(
        recommendations.serendipity, THRESHOLD, input_names=("reference",), ignores_order=True
    ),
    # Counts.
    "judged": Definition(precision.judged, TIES, needs_relevant=False, best="none"),
    "n_retrieved": _define_count(
        precision.n_retrieved, options={}, depth=ALL_RANKS, has_cutoff=False, needs_grades=False
    ),
    "n_relevant": _define_count(
        precision.n_relevant,
        options=THRESHOLD,
        depth=NOTHING,
        has_cutoff=False,
        depends_on_missed=True,
    ),
    "n_relevant_retrieved": _define_count(
        precision.n_relevant_retrieved, options=THRESHOLD | TIE_ORDER
    ),
    # Curves.
    "precision_curve": _define_curve(precision.precision_curve, THRESHOLD | TIES),
    "recall_curve": _define_curve(precision.recall_curve, THRESHOLD | TIES, depends_on_missed=True),
    "f_measure_curve": _define_curve(
        precision.f_measure_curve, BETA | THRESHOLD | TIES, depends_on_missed=True
    ),
    "e_measure_curve": _define_curve(
        precision.e_measure_curve,
        B_OPTION | THRESHOLD | TIES,
        depends_on_missed=True,
        **COMPLEMENT_OF_F,
    ),
    "interpolated_precision": _define_curve(
        precision.interpolated_precision,
        {"recall_levels": Option(11, _check_recall_levels)} | THRESHOLD | TIE_ORDER,
        depth=ALL_RANKS,
        has_cutoff=False,
        depends_on_missed=True,
    ),
    "cg_curve": _define_curve(partial(dcg_curve, **UNDISCOUNTED), GAIN | TIES, is_bounded=False),
    "dcg_curve": _define_curve(dcg_curve, GAIN | DISCOUNT | TIES, is_bounded=False),
    "ideal_dcg_curve": _define_ideal(ideal_dcg_curve, GAIN | DISCOUNT, dtype=CURVE_TYPE),
    "ndcg_curve": _define_over_ideal(ndcg_curve, GAIN | DISCOUNT | TIES, dtype=CURVE_TYPE),
    "ndcng_curve": _define_ndcng(ndcg_curve, dtype=CURVE_TYPE),
}
