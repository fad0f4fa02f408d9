"""What a measure is: its kernel, its options, and how deep it looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

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
    cumulated_gain,
    known_items,
    precision,
    user_models,
)
from polars_graded._measuring.kernels.gains import DISCOUNTS, GAINS
from polars_graded._measuring.kernels.queries import TIE_RULES

if TYPE_CHECKING:
    from collections.abc import Callable

Best: TypeAlias = Literal["highest", "lowest", "none"]


class Depth(Enum):
    """How much of a list a measure looks at."""

    NOTHING = 0
    CUTOFF = 1
    WHOLE = 2

    def of(self, n: int | None) -> int | None:
        """How many values that are at cutoff `n`; None for all."""
        return {Depth.NOTHING: 0, Depth.CUTOFF: n, Depth.WHOLE: None}[self]


@dataclass(frozen=True)
class Option:
    """A keyword of a measure: its default, and what else it may be."""

    default: Any
    check: Callable[[str, Any], Any]

    def checked(self, name: str, value: Any) -> Any:
        """`value`, as kernels take it."""
        return self.default if value is self.default else self.check(name, value)


def _gain(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return check_grade_gains(name, value)
    return check_choice(name, value, GAINS, instead="a mapping from grade to gain")


def _recall_levels(name: str, value: Any) -> Any:
    if isinstance(value, Iterable):
        return check_increasing(name, value, at_least=0, at_most=1)
    return check_whole_number(name, value, at_least=2)


NOTHING, CUTOFF, WHOLE = Depth.NOTHING, Depth.CUTOFF, Depth.WHOLE

THRESHOLD = {"threshold": Option(None, check_number)}
TIES = {"ties": Option("order", partial(check_choice, among=TIE_RULES))}
GAIN = {"gain": Option("exp2", _gain)}
DISCOUNT = {
    "discount": Option("log2", partial(check_choice, among=DISCOUNTS)),
    "base": Option(2.0, partial(check_number, above=1)),
}
LEVELS = {"levels": Option(None, check_increasing)}


@dataclass(frozen=True)
class Definition:
    """What is computed under the name of a measure, and from what."""

    kernel: Callable[..., Any]
    options: Mapping[str, Option]
    ranked: Depth = CUTOFF
    judged: Depth = NOTHING
    has_cutoff: bool = True
    dtype: pl.DataType = field(default_factory=pl.Float64)
    ties: bool = False
    """Whether it has to know which documents are tied."""
    known: bool = False
    """Whether it has to know which documents the user knew."""
    needs_relevant: bool = True
    """Whether it is undefined for a query without a relevant document."""
    can_be_undefined: bool = False
    """Whether it can be undefined for other queries too, where its kernel gives NaN: without a pair
    to order, without a known document, or where no level and no gain is above 0."""
    if_undefined: Callable[[float], float] = lambda value: value
    """What such a query gets, made of the value that `undefined_as` names."""
    best: Best = "highest"
    """Which value is the best, if one is."""


def _count(kernel: Callable[..., Any], **needs: Any) -> Definition:
    return Definition(kernel, **needs, dtype=pl.UInt32(), needs_relevant=False, best="none")


def _curve(kernel: Callable[..., Any], options: Mapping[str, Option], **needs: Any) -> Definition:
    return Definition(kernel, options, **needs, dtype=pl.List(pl.Float64))


def _whole(kernel: Callable[..., Any], options: Mapping[str, Option], **needs: Any) -> Definition:
    return Definition(kernel, options, ranked=WHOLE, judged=WHOLE, has_cutoff=False, **needs)


def _divided_by(*divisors: str) -> dict[str, Option]:
    return {"over": Option(divisors[0], partial(check_choice, among=divisors))}


def _number(default: float, **bounds: float) -> Option:
    return Option(default, partial(check_number, **bounds))


DEFINITIONS: Mapping[str, Definition] = {
    # Counting relevant documents.
    "precision": Definition(precision.precision, THRESHOLD | TIES),
    "recall": Definition(
        precision.recall, THRESHOLD | _divided_by("relevant", "cutoff") | TIES, judged=WHOLE
    ),
    "f_measure": Definition(
        precision.f_measure, {"beta": _number(1.0, above=0)} | THRESHOLD, judged=WHOLE
    ),
    "e_measure": Definition(
        precision.e_measure,
        {"b": _number(1.0, above=0)} | THRESHOLD,
        best="lowest",
        if_undefined=lambda value: 1 - value,  # as E is 1 - F
        judged=WHOLE,
    ),
    "r_precision": _whole(precision.r_precision, THRESHOLD),
    "reciprocal_rank": Definition(precision.reciprocal_rank, THRESHOLD | TIES),
    "success": Definition(precision.success, THRESHOLD | TIES),
    "bpref": _whole(precision.bpref, THRESHOLD),
    "roc_auc": _whole(precision.roc_auc, THRESHOLD, ties=True, can_be_undefined=True),
    "generalized_precision": Definition(precision.generalized_precision, {}),
    "generalized_recall": Definition(precision.generalized_recall, {}, judged=WHOLE),
    # Averaging precision.
    "ap": Definition(
        average_precision.ap,
        THRESHOLD | _divided_by("relevant", "retrieved", "cutoff"),
        judged=WHOLE,
    ),
    "mu_ap": Definition(average_precision.mu_ap, LEVELS, judged=WHOLE, can_be_undefined=True),
    "gap": Definition(average_precision.gap, LEVELS, judged=WHOLE, can_be_undefined=True),
    # Cumulating gain.
    "cg": Definition(cumulated_gain.cg, GAIN | TIES),
    "dcg": Definition(cumulated_gain.dcg, GAIN | DISCOUNT | TIES),
    "ideal_dcg": Definition(
        cumulated_gain.ideal_dcg, GAIN | DISCOUNT, ranked=NOTHING, best="none", judged=CUTOFF
    ),
    "ndcg": Definition(
        cumulated_gain.ndcg, GAIN | DISCOUNT | TIES, judged=CUTOFF, can_be_undefined=True
    ),
    "ndcng": Definition(
        cumulated_gain.ndcng, GAIN | DISCOUNT | TIES, judged=CUTOFF, can_be_undefined=True
    ),
    "ndcg_area": Definition(
        cumulated_gain.ndcg_area, GAIN | DISCOUNT, judged=WHOLE, can_be_undefined=True
    ),
    "ndcng_area": Definition(
        cumulated_gain.ndcng_area, GAIN | DISCOUNT, judged=WHOLE, can_be_undefined=True
    ),
    # Modelling the user.
    "err": Definition(user_models.err, {}),
    "nerr": Definition(user_models.nerr, {}, judged=CUTOFF),
    "rbp": Definition(
        user_models.rbp,
        {
            "p": _number(0.8, above=0, below=1),
            "graded": Option(default=False, check=check_flag),
        }
        | THRESHOLD,
    ),
    "q_measure": Definition(
        user_models.q_measure,
        {"beta": _number(1.0, at_least=0), "gain": Option("linear", _gain)}
        | _divided_by("relevant", "cutoff"),
        judged=WHOLE,
    ),
    # What the user knew.
    "coverage_ratio": _whole(
        known_items.coverage_ratio, THRESHOLD, known=True, can_be_undefined=True
    ),
    "novelty_ratio": _whole(
        known_items.novelty_ratio, THRESHOLD, known=True, can_be_undefined=True
    ),
    "relative_recall": _whole(
        known_items.relative_recall, THRESHOLD, known=True, can_be_undefined=True
    ),
    "recall_effort": _whole(
        known_items.recall_effort, THRESHOLD, known=True, can_be_undefined=True
    ),
    # Counts.
    "judged": Definition(precision.judged, {}, needs_relevant=False),
    "n_retrieved": _count(precision.n_retrieved, options={}, ranked=WHOLE, has_cutoff=False),
    "n_relevant": _count(
        precision.n_relevant, options=THRESHOLD, ranked=NOTHING, has_cutoff=False, judged=WHOLE
    ),
    "n_relevant_retrieved": _count(precision.n_relevant_retrieved, options=THRESHOLD),
    # Curves.
    "precision_curve": _curve(precision.precision_curve, THRESHOLD),
    "recall_curve": _curve(precision.recall_curve, THRESHOLD, judged=WHOLE),
    "interpolated_precision": _curve(
        precision.interpolated_precision,
        {"recall_levels": Option(11, _recall_levels)} | THRESHOLD,
        ranked=WHOLE,
        has_cutoff=False,
        judged=WHOLE,
    ),
    "cg_curve": _curve(cumulated_gain.cg_curve, GAIN),
    "dcg_curve": _curve(cumulated_gain.dcg_curve, GAIN | DISCOUNT),
    "ideal_dcg_curve": _curve(
        cumulated_gain.ideal_dcg_curve, GAIN | DISCOUNT, ranked=NOTHING, best="none", judged=CUTOFF
    ),
    "ndcg_curve": _curve(
        cumulated_gain.ndcg_curve, GAIN | DISCOUNT, judged=CUTOFF, can_be_undefined=True
    ),
    "ndcng_curve": _curve(
        cumulated_gain.ndcng_curve, GAIN | DISCOUNT, judged=CUTOFF, can_be_undefined=True
    ),
}
