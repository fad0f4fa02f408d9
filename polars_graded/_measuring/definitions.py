"""Definitions of measures: their kernels, options and properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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
    depends_on_missed: bool = False
    """True if the value depends on judged documents that were not retrieved. False if only the
    highest grade of all judged documents matters, as for `err`."""
    has_cutoff: bool = True
    needs_all_ranks: bool = False
    """True if a measure with a cutoff needs the ranks below the cutoff, too."""
    dtype: pl.DataType = field(default_factory=pl.Float64)
    input_names: tuple[str, ...] = ()
    """Names of the columns of documents that the measure needs besides the grade, such as `known`.
    The keywords for these columns have the same names."""
    needs_relevant: bool = True
    """True if the measure is undefined for a query without a relevant document."""
    needs_grades: bool = True
    """False if the measure uses no grades."""
    distinguishes_unjudged: bool = False
    """True if an unjudged document can give another value than one that was judged irrelevant."""
    is_null_by_default: bool = False
    """True if an undefined value is null, not 0, unless `undefined_as` is passed. A share of pairs,
    for example, has the expected value 1/2 in a random order, so 0 would be worse."""
    can_be_undefined: bool = False
    """True if the measure can also be undefined for a query with a relevant document. Its kernel
    then returns NaN. For example, the query has no pairs to order, no known documents, no retrieved
    documents or no subtopics, or its ideal value is 0 because all gains are 0."""
    if_undefined: Callable[[float], float] = lambda value: value
    """Function that converts the result of `Measure.find_undefined` to the fill value of the
    measure, for example to 1 minus it for E."""
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


# Properties that several measures share.

COUNT: Mapping[str, Any] = {
    "dtype": pl.UInt32(),
    "needs_relevant": False,
    "best": "none",
    "is_bounded": False,
}
CURVE: Mapping[str, Any] = {"dtype": pl.List(pl.Float64)}
COMPLEMENT_OF_F: Mapping[str, Any] = {"best": "lowest", "if_undefined": lambda value: 1 - value}
"""Properties of E, which is 1 - F: the lowest value is best, and fill values are 1 minus those of
F."""
OF_WHOLE_LIST: Mapping[str, Any] = {"depends_on_missed": True, "has_cutoff": False}
OVER_IDEAL: Mapping[str, Any] = {"depends_on_missed": True, "can_be_undefined": True}
"""Properties of a measure that is divided by an ideal value. It is undefined if this value is 0."""
IDEAL: Mapping[str, Any] = {"depends_on_missed": True, "best": "none", "is_bounded": False}
"""Properties of a measure of the ideal ranking."""
OF_KNOWN_ITEMS: Mapping[str, Any] = {
    **OF_WHOLE_LIST,
    "input_names": ("known",),
    "can_be_undefined": True,
    "ignores_order": True,
}
OF_SUBTOPICS: Mapping[str, Any] = {
    "depends_on_missed": True,
    "input_names": ("subtopics",),
    "can_be_undefined": True,
}
WITHOUT_GRADES: Mapping[str, Any] = {
    "needs_relevant": False,
    "needs_grades": False,
    "ignores_order": True,
}
"""Properties of a measure that uses an input and no grades."""


def _define_ndcng(kernel: Callable[..., Any], **properties: Any) -> Definition:
    """Return the definition of a measure with the gains of NDCNG."""
    return Definition(
        partial(kernel, gain_function=compute_normalised_gains),
        GAIN | DISCOUNT | TIES,
        normalises_grades=True,
        **OVER_IDEAL,
        **properties,
    )


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
    "r_precision": Definition(
        precision.r_precision, THRESHOLD | TIES, **OF_WHOLE_LIST, is_sum=True
    ),
    "precision_at_hit": Definition(
        precision.precision_at_hit,
        {"k": Option(1, check_whole_number)} | THRESHOLD | TIE_ORDER,
        has_cutoff=False,
    ),
    "reciprocal_rank": Definition(precision.reciprocal_rank, THRESHOLD | TIES, is_sum=True),
    "success": Definition(precision.success, THRESHOLD | TIES),
    "bpref": Definition(
        precision.bpref, THRESHOLD | TIE_ORDER, **OF_WHOLE_LIST, distinguishes_unjudged=True
    ),
    "roc_auc": Definition(
        precision.roc_auc,
        THRESHOLD | TIED_PAIRS,
        **OF_WHOLE_LIST,
        distinguishes_unjudged=True,
        can_be_undefined=True,
        is_null_by_default=True,
    ),
    "pairwise_accuracy": Definition(
        precision.pairwise_accuracy,
        THRESHOLD | TIE_ORDER,
        can_be_undefined=True,
        is_null_by_default=True,
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
    "mu_ap": Definition(average_precision.mu_ap, LEVELS | TIE_ORDER, **OVER_IDEAL, is_sum=True),
    "gap": Definition(average_precision.gap, LEVELS | TIE_ORDER, **OVER_IDEAL, is_sum=True),
    "infap": Definition(
        average_precision.infap,
        THRESHOLD | TIE_ORDER,
        depends_on_missed=True,
        distinguishes_unjudged=True,
        may_fall=True,
    ),
    # Cumulated gain.
    "cg": Definition(partial(dcg, **UNDISCOUNTED), GAIN | TIES, is_bounded=False, is_sum=True),
    "dcg": Definition(dcg, GAIN | DISCOUNT | TIES, is_bounded=False, is_sum=True),
    "ideal_dcg": Definition(ideal_dcg, GAIN | DISCOUNT, **IDEAL),
    "ndcg": Definition(ndcg, GAIN | DISCOUNT | TIES, **OVER_IDEAL, is_sum=True),
    "ndcng": _define_ndcng(ndcg, is_sum=True),
    "ncg": Definition(partial(ndcg, **UNDISCOUNTED), GAIN | TIES, **OVER_IDEAL, is_sum=True),
    "ideal_cg": Definition(partial(ideal_dcg, **UNDISCOUNTED), GAIN, **IDEAL),
    "ndcg_area": Definition(ndcg_area, GAIN | DISCOUNT | TIES, **OVER_IDEAL),
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
    "compat": Definition(
        user_models.compat,
        {
            "p": make_number_option(0.95, above=0, below=1),
            "normalised": Option(default=True, check=check_flag),
        }
        | TIE_ORDER,
        **OF_WHOLE_LIST,
    ),
    # Documents that the user knew.
    "coverage_ratio": Definition(known_items.coverage_ratio, THRESHOLD, **OF_KNOWN_ITEMS),
    "novelty_ratio": Definition(known_items.novelty_ratio, THRESHOLD, **OF_KNOWN_ITEMS),
    "relative_recall": Definition(
        known_items.relative_recall, THRESHOLD, **OF_KNOWN_ITEMS, is_bounded=False
    ),
    "recall_effort": Definition(
        known_items.recall_effort, THRESHOLD, **OF_KNOWN_ITEMS, is_bounded=False
    ),
    # Subtopics of a query.
    "alpha_dcg": Definition(
        subtopics.alpha_dcg, ALPHA | THRESHOLD, **OF_SUBTOPICS, weighs_missing_ranks=True
    ),
    "alpha_ndcg": Definition(subtopics.alpha_ndcg, ALPHA | THRESHOLD, **OF_SUBTOPICS),
    "err_ia": Definition(
        subtopics.err_ia, ALPHA | THRESHOLD, **OF_SUBTOPICS, weighs_missing_ranks=True
    ),
    "nerr_ia": Definition(subtopics.nerr_ia, ALPHA | THRESHOLD, **OF_SUBTOPICS),
    "nrbp": Definition(subtopics.nrbp, ALPHA | PATIENCE | THRESHOLD, **OF_SUBTOPICS),
    "nnrbp": Definition(subtopics.nnrbp, ALPHA | PATIENCE | THRESHOLD, **OF_SUBTOPICS),
    "subtopic_recall": Definition(
        subtopics.subtopic_recall, THRESHOLD, **OF_SUBTOPICS, ignores_order=True
    ),
    "precision_ia": Definition(
        subtopics.precision_ia, THRESHOLD, **OF_SUBTOPICS, ignores_order=True
    ),
    "ap_ia": Definition(subtopics.ap_ia, THRESHOLD, **OF_SUBTOPICS),
    # Recommendations beyond accuracy.
    "popularity": Definition(
        partial(recommendations.average_input, name="popularity"),
        {},
        input_names=("popularity",),
        **WITHOUT_GRADES,
        best="none",
        is_bounded=False,
    ),
    "novelty": Definition(
        recommendations.novelty, {}, input_names=("popularity",), **WITHOUT_GRADES, is_bounded=False
    ),
    "diversity": Definition(
        recommendations.diversity, {}, input_names=("features",), **WITHOUT_GRADES, is_bounded=False
    ),
    "unexpectedness": Definition(
        recommendations.unexpectedness, {}, input_names=("reference",), **WITHOUT_GRADES
    ),
    "serendipity": Definition(
        recommendations.serendipity, THRESHOLD, input_names=("reference",), ignores_order=True
    ),
    # Counts.
    "judged": Definition(
        precision.judged, TIES, needs_relevant=False, distinguishes_unjudged=True, best="none"
    ),
    "n_retrieved": Definition(
        precision.n_retrieved, {}, **COUNT, has_cutoff=False, needs_grades=False
    ),
    "n_relevant": Definition(
        precision.n_relevant, THRESHOLD, **COUNT, has_cutoff=False, depends_on_missed=True
    ),
    "n_relevant_retrieved": Definition(
        precision.n_relevant_retrieved, THRESHOLD | TIE_ORDER, **COUNT
    ),
    # Curves.
    "precision_curve": Definition(precision.precision_curve, THRESHOLD | TIES, **CURVE),
    "recall_curve": Definition(
        precision.recall_curve, THRESHOLD | TIES, **CURVE, depends_on_missed=True
    ),
    "f_measure_curve": Definition(
        precision.f_measure_curve, BETA | THRESHOLD | TIES, **CURVE, depends_on_missed=True
    ),
    "e_measure_curve": Definition(
        precision.e_measure_curve,
        B_OPTION | THRESHOLD | TIES,
        **CURVE,
        depends_on_missed=True,
        **COMPLEMENT_OF_F,
    ),
    "interpolated_precision": Definition(
        precision.interpolated_precision,
        {"recall_levels": Option(11, _check_recall_levels)} | THRESHOLD | TIE_ORDER,
        **CURVE,
        has_cutoff=False,
        depends_on_missed=True,
    ),
    "cg_curve": Definition(
        partial(dcg_curve, **UNDISCOUNTED), GAIN | TIES, **CURVE, is_bounded=False
    ),
    "dcg_curve": Definition(dcg_curve, GAIN | DISCOUNT | TIES, **CURVE, is_bounded=False),
    "ideal_dcg_curve": Definition(
        ideal_dcg_curve, GAIN | DISCOUNT, **IDEAL, **CURVE, distinguishes_unjudged=True
    ),
    "ndcg_curve": Definition(ndcg_curve, GAIN | DISCOUNT | TIES, **OVER_IDEAL, **CURVE),
    "ndcng_curve": _define_ndcng(ndcg_curve, **CURVE),
}
