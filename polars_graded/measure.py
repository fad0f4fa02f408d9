"""What a measure is: a name, a kernel, how deep it looks; one or many as one expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from polars_graded import arguments, ragged
from polars_graded.errors import UnusableDataError
from polars_graded.gains import DISCOUNTS, GAINS
from polars_graded.kernels import (
    average_precision,
    cumulated_gain,
    known_items,
    precision,
    user_models,
)
from polars_graded.kernels.queries import TIE_RULES, Queries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_graded.ragged import Ragged
    from polars_graded.ranking import Ranking


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
        return arguments.grade_gains(name, value)
    return arguments.choice(name, value, GAINS, instead="a mapping from grade to gain")


def _recall_levels(name: str, value: Any) -> Any:
    if isinstance(value, Iterable):
        return arguments.increasing(name, value, at_least=0, at_most=1)
    return arguments.whole_number(name, value, at_least=2)


THRESHOLD = {"threshold": Option(None, arguments.number)}
TIES = {"ties": Option("order", partial(arguments.choice, among=TIE_RULES))}
GAIN = {"gain": Option("exp2", _gain)}
DISCOUNT = {
    "discount": Option("log2", partial(arguments.choice, among=DISCOUNTS)),
    "base": Option(2.0, partial(arguments.number, above=1)),
}
LEVELS = {"levels": Option(None, arguments.increasing)}


@dataclass(frozen=True)
class Definition:
    """What is computed under the name of a measure, and from what."""

    kernel: Callable[..., Any]
    options: Mapping[str, Option]
    ranked: Depth = Depth.CUTOFF
    judged: Depth = Depth.NOTHING
    has_cutoff: bool = True
    dtype: pl.DataType = field(default_factory=pl.Float64)
    ties: bool = False
    """Whether it has to know which documents are tied."""
    known: bool = False
    """Whether it has to know which documents the user knew."""
    needs_relevant: bool = True
    """Whether it is undefined for a query without a relevant document."""
    undefined: Callable[[float], float] = lambda value: value
    """What it is there, of what a query without a relevant document gets."""
    best: Best = "highest"
    """Which value is the best, if one is."""


def _count(kernel: Callable[..., Any], **needs: Any) -> Definition:
    return Definition(kernel, **needs, dtype=pl.UInt32(), needs_relevant=False, best="none")


def _curve(kernel: Callable[..., Any], options: Mapping[str, Option], **needs: Any) -> Definition:
    return Definition(kernel, options, **needs, dtype=pl.List(pl.Float64))


def _whole(kernel: Callable[..., Any], options: Mapping[str, Option], **needs: Any) -> Definition:
    return Definition(
        kernel, options, ranked=Depth.WHOLE, judged=Depth.WHOLE, has_cutoff=False, **needs
    )


def _over(*divisors: str) -> dict[str, Option]:
    return {"over": Option(divisors[0], partial(arguments.choice, among=divisors))}


def _number(default: float, **bounds: float) -> Option:
    return Option(default, partial(arguments.number, **bounds))


_p, _ap, _cg, _user, _known = (
    precision,
    average_precision,
    cumulated_gain,
    user_models,
    known_items,
)
_to_n: Any = {"judged": Depth.CUTOFF}
_all: Any = {"judged": Depth.WHOLE}

DEFINITIONS: Mapping[str, Definition] = {
    # Counting relevant documents.
    "precision": Definition(_p.precision, THRESHOLD | TIES),
    "recall": Definition(_p.recall, THRESHOLD | _over("relevant", "cutoff") | TIES, **_all),
    "f_measure": Definition(_p.f_measure, {"beta": _number(1.0, above=0)} | THRESHOLD, **_all),
    "e_measure": Definition(
        _p.e_measure,
        {"b": _number(1.0, above=0)} | THRESHOLD,
        best="lowest",
        undefined=lambda value: 1 - value,  # as E is 1 - F
        **_all,
    ),
    "r_precision": _whole(_p.r_precision, THRESHOLD),
    "reciprocal_rank": Definition(_p.reciprocal_rank, THRESHOLD | TIES),
    "success": Definition(_p.success, THRESHOLD | TIES),
    "bpref": _whole(_p.bpref, THRESHOLD),
    "roc_auc": _whole(_p.roc_auc, THRESHOLD, ties=True),
    "generalized_precision": Definition(_p.generalized_precision, {}),
    "generalized_recall": Definition(_p.generalized_recall, {}, **_all),
    # Averaging precision.
    "ap": Definition(_ap.ap, THRESHOLD | _over("relevant", "retrieved", "cutoff"), **_all),
    "mu_ap": Definition(_ap.mu_ap, LEVELS, **_all),
    "gap": Definition(_ap.gap, LEVELS, **_all),
    # Cumulating gain.
    "cg": Definition(_cg.cg, GAIN | TIES),
    "dcg": Definition(_cg.dcg, GAIN | DISCOUNT | TIES),
    "ideal_dcg": Definition(
        _cg.ideal_dcg, GAIN | DISCOUNT, ranked=Depth.NOTHING, best="none", **_to_n
    ),
    "ndcg": Definition(_cg.ndcg, GAIN | DISCOUNT | TIES, **_to_n),
    "ndcng": Definition(_cg.ndcng, GAIN | DISCOUNT | TIES, **_to_n),
    "ndcg_area": Definition(_cg.ndcg_area, GAIN | DISCOUNT, **_all),
    "ndcng_area": Definition(_cg.ndcng_area, GAIN | DISCOUNT, **_all),
    # Modelling the user.
    "err": Definition(_user.err, {}),
    "nerr": Definition(_user.nerr, {}, **_to_n),
    "rbp": Definition(
        _user.rbp,
        {
            "p": _number(0.8, above=0, below=1),
            "graded": Option(default=False, check=arguments.flag),
        }
        | THRESHOLD,
    ),
    "q_measure": Definition(
        _user.q_measure,
        {"beta": _number(1.0, at_least=0), "gain": Option("linear", _gain)}
        | _over("relevant", "cutoff"),
        **_all,
    ),
    # What the user knew.
    "coverage_ratio": _whole(_known.coverage_ratio, THRESHOLD, known=True),
    "novelty_ratio": _whole(_known.novelty_ratio, THRESHOLD, known=True),
    "relative_recall": _whole(_known.relative_recall, THRESHOLD, known=True),
    "recall_effort": _whole(_known.recall_effort, THRESHOLD, known=True),
    # Counts.
    "judged": Definition(_p.judged, {}, needs_relevant=False),
    "n_retrieved": _count(_p.n_retrieved, options={}, ranked=Depth.WHOLE, has_cutoff=False),
    "n_relevant": _count(
        _p.n_relevant, options=THRESHOLD, ranked=Depth.NOTHING, has_cutoff=False, **_all
    ),
    "n_relevant_retrieved": _count(_p.n_relevant_retrieved, options=THRESHOLD),
    # Curves.
    "precision_curve": _curve(_p.precision_curve, THRESHOLD),
    "recall_curve": _curve(_p.recall_curve, THRESHOLD, **_all),
    "interpolated_precision": _curve(
        _p.interpolated_precision,
        {"recall_levels": Option(11, _recall_levels)} | THRESHOLD,
        ranked=Depth.WHOLE,
        has_cutoff=False,
        **_all,
    ),
    "cg_curve": _curve(_cg.cg_curve, GAIN),
    "dcg_curve": _curve(_cg.dcg_curve, GAIN | DISCOUNT),
    "ideal_dcg_curve": _curve(
        _cg.ideal_dcg_curve, GAIN | DISCOUNT, ranked=Depth.NOTHING, best="none", **_to_n
    ),
    "ndcg_curve": _curve(_cg.ndcg_curve, GAIN | DISCOUNT, **_to_n),
    "ndcng_curve": _curve(_cg.ndcng_curve, GAIN | DISCOUNT, **_to_n),
}


ALIASES = {
    "auc": "roc_auc",
    "f1": "f_measure",
    "hit_rate": "success",
    "hits": "n_relevant_retrieved",
    "map": "ap",
    "mrr": "reciprocal_rank",
    "mu_map": "mu_ap",
    "p": "precision",
    "r": "recall",
    "recip_rank": "reciprocal_rank",
    "rprec": "r_precision",
    "rr": "reciprocal_rank",
}
"""What other tools call some of them, for a hint."""


@dataclass(frozen=True)
class Measure:
    """A measure with its cutoff and options, all checked."""

    function: str
    n: int | None
    options: Mapping[str, Any]

    @classmethod
    def of(cls, function: str, n: int | None = None, /, **options: Any) -> Measure:
        """The measure of that name with these arguments, which it checks."""
        if function not in DEFINITIONS:
            meant = ALIASES.get(function.lower(), function)
            hint = arguments.did_you_mean(meant, DEFINITIONS)
            msg = f"there is no measure {function!r}{hint}; there are {', '.join(DEFINITIONS)}"
            raise ValueError(msg)
        definition = DEFINITIONS[function]
        for name in options:
            if name not in definition.options:
                known = ", ".join(definition.options) or "none"
                msg = f"{function} has no option {name!r}; it has {known}"
                raise ValueError(msg)
        if n is not None and not definition.has_cutoff:
            msg = f"{function} takes no cutoff, got {n}"
            raise ValueError(msg)
        return cls(
            function,
            None if n is None else arguments.whole_number("n", n),
            {
                name: option.checked(name, options.get(name, option.default))
                for name, option in definition.options.items()
            },
        )

    @classmethod
    def parse(cls, text: str) -> Measure:
        """The measure that `text` names: `"ndcg@10"`, `"ap(threshold=2)"`."""
        if not isinstance(text, str):
            msg = f"a measure must be named by a string such as 'ndcg@10', got {text!r}"
            raise TypeError(msg)
        match = re.fullmatch(r"\s*(\w+)\s*(\(.*\))?\s*(?:@\s*([+-]?\d+))?\s*", text)
        if match is None:
            msg = f"a measure is written like 'ndcg@10' or 'ap(threshold=2)@100', got {text!r}"
            raise ValueError(msg)
        function, brackets, cutoff = match.groups()
        n = None if cutoff is None else int(cutoff)
        return cls.of(function, n, **_options(text, brackets))

    @classmethod
    def parsed(cls, text: str) -> Measure | None:
        """The measure that `text` names, if it names one."""
        try:
            return cls.parse(text)
        except (ValueError, TypeError):
            return None

    @property
    def definition(self) -> Definition:
        """What is computed."""
        return DEFINITIONS[self.function]

    @property
    def name(self) -> str:
        """What a column of it is called, which `parse` reads back."""
        changed = ", ".join(
            f"{name}={_written(value)}"
            for name, value in self.options.items()
            if value != self.definition.options[name].default
        )
        cutoff = "" if self.n is None else f"@{self.n}"
        return f"{self.function}({changed}){cutoff}" if changed else f"{self.function}{cutoff}"

    @property
    def is_curve(self) -> bool:
        """Whether it has a list of values a query."""
        return isinstance(self.definition.dtype, pl.List)

    @property
    def positions(self) -> tuple[str, tuple[float, ...]] | None:
        """What the values of a curve stand at and what that is called; None if lists differ."""
        if "recall_levels" in self.options:
            return "recall", precision.levels_of_recall(self.options["recall_levels"])
        return None if self.n is None else ("rank", tuple(range(1, self.n + 1)))

    @property
    def made(self) -> int:
        """How many values are made of a query, however short its lists are."""
        if "recall_levels" in self.options:
            return len(precision.levels_of_recall(self.options["recall_levels"]))
        return self.n if self.is_curve and self.n is not None else 0

    @property
    def averages_ties(self) -> bool:
        """Whether tied documents share what they are worth."""
        return self.options.get("ties") == "average"

    @property
    def ranked_depth(self) -> int | None:
        """How many ranked documents it needs; a set of tied ones can reach below the cutoff."""
        return None if self.averages_ties else self.definition.ranked.of(self.n)

    def values(self, queries: Queries, known: Queries | None, undefined: float) -> Any:
        """The value of each query; `undefined` for one without a relevant document."""
        definition = self.definition
        given: dict[str, Any] = dict(self.options)
        if definition.has_cutoff:
            given["n"] = self.n
        if definition.known:
            given["known"] = known
        values = definition.kernel(queries, **given)
        if not definition.needs_relevant:
            return values
        undefined = definition.undefined(undefined)
        defined = queries.relevant(queries.top, self.options.get("threshold"))
        if not isinstance(values, ragged.Ragged):
            return np.where(defined & ~np.isnan(values), values, undefined)
        rows = np.repeat(defined, values.lengths) & ~np.isnan(values.values)
        return values.of(np.where(rows, values.values, undefined))


def one(measure: Measure, ranking: Ranking, known: pl.Expr | None = None) -> pl.Expr:
    """The values of a measure, named after it."""
    dtype = measure.definition.dtype
    expr = _expression([measure], ranking, lambda series: series[0], dtype, known)
    return expr.alias(measure.name)


def several(measures: Iterable[Measure], ranking: Ranking) -> pl.Expr:
    """The values of measures over one ranking as a struct, a field each."""
    chosen = list(measures)
    if not chosen:
        msg = f"name at least one measure; there are {', '.join(DEFINITIONS)}"
        raise ValueError(msg)
    names = [measure.name for measure in chosen]
    if twice := {name for name in names if names.count(name) > 1}:
        msg = f"each measure must be named once, got {', '.join(sorted(twice))} more often"
        raise ValueError(msg)
    if needy := [measure.function for measure in chosen if measure.definition.known]:
        msg = f"{needy[0]} needs the column of known documents, which only its method takes"
        raise ValueError(msg)
    dtype = pl.Struct({measure.name: measure.definition.dtype for measure in chosen})
    struct = partial(_struct, dtype=dtype)
    return _expression(chosen, ranking, struct, dtype).alias("measures")


def _struct(series: Sequence[pl.Series], dtype: pl.Struct) -> pl.Series:
    return pl.DataFrame(series).to_struct().cast(dtype)


def _expression(
    measures: Sequence[Measure],
    ranking: Ranking,
    gather: Callable[[Sequence[pl.Series]], pl.Series],
    dtype: pl.DataType,
    known: pl.Expr | None = None,
) -> pl.Expr:
    """One kernel call over the rankings of all queries, as deep as any of the measures looks."""
    depth = _deepest(measure.ranked_depth for measure in measures)
    # The grade comes first: its name is the one that `.name.keep()` goes back to.
    inputs = {
        "ranked": ranking.ranked(depth),
        "judged": ranking.judged(_deepest(m.definition.judged.of(m.n) for m in measures)),
        "unusable": ranking.unusable(),
    }
    if any(measure.definition.ties or measure.averages_ties for measure in measures):
        inputs["ties"] = ranking.ties()
    if known is not None:
        inputs["known_ranked"] = ranking.where(known).ranked(None)
        inputs["known_judged"] = ranking.where(known).judged(None)

    def kernel(columns: Sequence[pl.Series]) -> pl.Series:
        return gather(_columns(measures, ranking, dict(zip(inputs, columns, strict=True))))

    return pl.map_batches(list(inputs.values()), kernel, is_elementwise=True, return_dtype=dtype)


def _deepest(depths: Iterable[int | None]) -> int | None:
    known = list(depths)
    return None if None in known else max(d for d in known if d is not None)


def _columns(
    measures: Sequence[Measure], ranking: Ranking, columns: dict[str, pl.Series]
) -> list[pl.Series]:
    """The values of the measures, a column each, or the error of data that they cannot take."""
    unusable = columns.pop("unusable")
    _refuse_non_finite(ranking, unusable)
    undefined = np.nan if ranking.undefined is None else ranking.undefined

    def kernel(*lists: Ragged) -> list[Any]:
        given = dict(zip(columns, lists, strict=True))
        queries = Queries(
            given["ranked"],
            given["judged"],
            given["judged"].first(),
            given.get("ties", ragged.EMPTY),
            ranking.irrelevant,
            ranking.highest,
        )
        queries.refuse_grades_above_the_scale()
        known = None
        if "known_ranked" in given:
            known = replace(queries, ranked=given["known_ranked"], judged=given["known_judged"])
        return [measure.values(queries, known, undefined) for measure in measures]

    try:
        made = max(measure.made for measure in measures)
        chunks = ragged.run(list(columns.values()), kernel, made=made)
    except UnusableDataError as error:
        msg = f"{ranking.column(1)}: {error}, in {error.queries} of {len(unusable)} queries"
        raise ValueError(msg) from None
    return [
        _series(measure, values)
        for measure, values in zip(measures, zip(*chunks, strict=True), strict=True)
    ]


def _series(measure: Measure, chunks: Sequence[Any]) -> pl.Series:
    """The values of all chunks as a column; NaN is null."""
    if isinstance(chunks[0], ragged.Ragged):
        # Chunk by chunk, since what makes a column of lists takes a multiple of its memory.
        lists = (
            ragged.list_column(pl.Series(chunk.values, nan_to_null=True), pl.Series(chunk.lengths))
            for chunk in chunks
        )
        return pl.concat(lists).alias(measure.name)
    return pl.Series(
        measure.name,
        np.concatenate(chunks),
        dtype=measure.definition.dtype,
        nan_to_null=measure.definition.dtype == pl.Float64,
    )


def _refuse_non_finite(ranking: Ranking, unusable: pl.Series) -> None:
    """Raise where a column has NaN or infinity."""
    numbers = unusable.explode(empty_as_null=False).fill_null(0).to_numpy()
    if number := int(numbers.max(initial=0)):
        msg = (
            f"{ranking.column(number)} must be finite, got NaN or infinity "
            f"in {(numbers == number).sum()} of {len(numbers)} queries"
        )
        raise ValueError(msg)


def _options(text: str, options: str | None) -> dict[str, Any]:
    """The keywords of a written measure: `(gain=linear, base=10)`."""
    msg = f"options are written like '(threshold=2, over=cutoff)', a cutoff '@10', got {text!r}"
    try:
        call = ast.parse(f"f{options or '()'}", mode="eval").body
    except SyntaxError:
        raise ValueError(msg) from None
    # A second pair of brackets would be a call of what the first one gives.
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)) or call.args:
        raise ValueError(msg)
    names = [keyword.arg for keyword in call.keywords]
    if len(set(names)) < len(names):
        raise ValueError(msg)
    try:
        return {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (ValueError, TypeError):
        raise ValueError(msg) from None


def _value(node: ast.expr) -> Any:
    """What is written after the equals sign: a bare word, a number, a list, a mapping."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _written(value: Any) -> str:
    """An option's value as `_options` reads it."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, tuple) and isinstance(value[0], tuple):
        return f"{{{', '.join(f'{_written(k)}: {_written(v)}' for k, v in value)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return str(value)
