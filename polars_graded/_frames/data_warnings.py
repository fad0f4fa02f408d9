"""Notes: facts about rankings, and the warnings of misleading means that follow from them.

A note has one value per strategy and query, or is about all grades. The data raise no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeAlias

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES, first_few
from polars_graded._frames.columns import FrameColumns
from polars_graded._frames.request import Request
from polars_graded._frames.rows import TEMPORARY_NAME_TEMPLATE
from polars_graded._frames.strategies import in_order
from polars_graded._measuring.computing import DEPENDS_ON_TIES, N_FIRST
from polars_graded._measuring.kernels.queries import MAX_SUM_ERROR
from polars_graded._measuring.measures import Measure
from polars_graded._warnings import DataWarning, warn_the_caller

SUMMARIES: Mapping[str, pl.Expr] = {
    "queries": pl.len(),
    "answered": (pl.col("retrieved") > 0).sum(),
    "some_retrieved_are_unjudged": (pl.col("retrieved") > pl.col("retrieved_and_judged")).any(),
    "all_judged_are_retrieved": (pl.col("judged") == pl.col("retrieved_and_judged")).all(),
    "tie_dependent": pl.col(DEPENDS_ON_TIES).sum(),
    "first": pl.col("retrieved").clip(upper_bound=N_FIRST).cast(pl.Int64).sum(),
    "judged_first": pl.col("judged_of_first_ten").cast(pl.Int64).sum(),
    "lowest_maximum_grade": pl.col("maximum_grade").min(),
    "highest_maximum_grade": pl.col("maximum_grade").max(),
    "queries_with_relevant": pl.col("maximum_grade").count(),
}
"""Summaries of the notes of a strategy, by name.

The maximum grade of a query is the highest grade of its relevant documents.
"""

MIN_HALF_STAR = 0.5
"""Lowest grade of a scale of half stars."""

LOWEST, HIGHEST, HALVES = "lowest_grade", "highest_grade", "grades_are_halves"
BELOW_ZERO = "grades_below_zero"
"""Names of notes about all grades."""

MIN_QUERIES_FOR_SHARES = 10
"""Minimum number of queries for a warning about shares of judged or of retrieved documents."""

MIN_JUDGED_SHARE = 0.8
"""Minimum judged share of the first ten documents; a lower share causes a warning."""

MIN_STARS = 4
"""Grade that a scale of stars must reach. The grades 1 to 3, for example, do not count as stars,
since all of them may be relevant."""

MAX_STARS = 10
"""Highest grade of a scale of stars. Higher grades are counts, such as clicks."""

MAX_EXPONENT = 10
"""Maximum grade above `irrelevant` for which gains are powers of 2 without a warning."""


def note_grades(grades: pl.Series) -> pl.DataFrame:
    """Return the notes about all grades of a part, such as the lowest and the highest."""
    ends = grades.to_frame("grade").select(
        pl.col("grade").min().cast(pl.Float64).alias(LOWEST),
        pl.col("grade").max().cast(pl.Float64).alias(HIGHEST),
    )
    low = ends.get_column(LOWEST).item()
    are_halves = False
    if low is not None and low >= MIN_HALF_STAR:  # half-star scales start at 0.5
        doubled = 2 * grades.cast(pl.Float64)
        are_halves = bool((doubled == doubled.floor()).all())
    n_below = int((grades < 0).sum()) if low is not None and low < 0 else 0
    return ends.with_columns(
        pl.lit(are_halves).alias(HALVES), pl.lit(n_below, pl.Int64).alias(BELOW_ZERO)
    )


@dataclass(frozen=True)
class Notes:
    """Notes of all rankings of a request and of their grades, and sentences about them."""

    request: Request
    table: pl.DataFrame
    """Strategy and query, named by `TEMPORARY_NAME_TEMPLATE`, and the notes."""
    grade_notes: Mapping[str, Any]
    """Notes about all grades, by name."""
    document: str | None
    """The column of documents, or None."""

    @classmethod
    def of(
        cls,
        request: Request,
        tables: Iterable[pl.DataFrame],
        grades: Iterable[pl.DataFrame],
        document: str | None,
    ) -> Notes:
        """Return the notes of all parts: tables of rankings, and results of `note_grades`."""
        notes_of_grades = pl.concat(grades).select(
            pl.col(LOWEST).min(),
            pl.col(HIGHEST).max(),
            pl.col(HALVES).all(),
            pl.col(BELOW_ZERO).sum(),
        )
        return cls(request, pl.concat(tables), notes_of_grades.row(0, named=True), document)

    @property
    def columns(self) -> FrameColumns:
        """The columns of the frame, by what they hold."""
        return self.request.columns

    @property
    def strategy(self) -> str:
        """The column of strategies in the table."""
        return TEMPORARY_NAME_TEMPLATE.format(self.columns.strategy_key)

    @property
    def query(self) -> list[str]:
        """The columns of queries in the table."""
        return [TEMPORARY_NAME_TEMPLATE.format(key) for key in self.columns.query]

    @cached_property
    def of_judged_queries(self) -> Notes:
        """The notes without queries that the grader did not judge for any strategy."""
        is_judged = pl.col("judged").max().over(self.query) > 0
        return replace(self, table=self.table.filter(is_judged))

    @cached_property
    def of_queries(self) -> pl.DataFrame:
        """The rows of the first entry of `by`. Further entries have the same queries and grades."""
        if self.columns.strategy is not None:
            return self.table
        return self.table.filter(pl.col(self.strategy) == next(iter(self.columns.by)))

    @cached_property
    def strategies(self) -> list[dict[str, Any]]:
        """Names and summaries of strategies, in the order of the result."""
        summaries = self.table.group_by(pl.col(self.strategy).alias("name")).agg(**SUMMARIES)
        order = in_order(summaries.get_column("name"))
        if self.columns.strategy is None:
            order = pl.Series("name", [*self.columns.by], dtype=pl.String)
        return (
            order.to_frame()
            .join(summaries, on="name", nulls_equal=True, maintain_order="left")
            .to_dicts()
        )

    @cached_property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.table.select(self.query).n_unique()

    @cached_property
    def unjudged(self) -> list[tuple[Any, ...]]:
        """The queries for which a strategy has no judged document, in sorted order."""
        queries = self.of_queries.filter(judged=0).select(self.query)
        return queries.unique().sort(self.query).rows()

    @cached_property
    def has_irrelevant_judgments(self) -> bool:
        """Return whether a judged document is irrelevant, for at least one measure."""
        lowest = self.grade_notes[LOWEST]
        if lowest is None:
            return False
        thresholds = (
            measure.options.get("threshold") for measure in self.request.measures.values()
        )
        is_relevant = pl.select(self.request.scale.is_relevant(pl.lit(lowest))).item()
        return not is_relevant or any(each is not None and lowest < each for each in thresholds)

    @property
    def hint_at_unjudged(self) -> str:
        """Return the hint of warnings about a low judged share."""
        hint = (
            "trust.unjudged_bounds(frame, ...) shows how far judging them could move each value; "
            "overview(frame) counts judged documents"
        )
        if self.has_irrelevant_judgments:
            hint = f"condensed=True leaves unjudged documents out of the rankings; {hint}"
        return f"\n\nHint: {hint}"

    def holds_for_all(self, count: str) -> bool:
        """Return whether the note `count` is true or above 0 for all strategies."""
        return all(each[count] for each in self.strategies)

    def find_null_keys(self) -> Iterator[str]:
        """Yield sentences about rows without a query or a strategy."""
        keys = [("query", [*self.columns.query], self.query)]
        if self.columns.strategy is not None:
            keys.append(("strategy", [self.columns.strategy], [self.strategy]))
        for key, columns, columns_of_notes in keys:
            is_null = pl.all_horizontal(pl.col(columns_of_notes).is_null())
            total = pl.col("rows").filter(is_null).cast(pl.Int64).sum()
            n_rows = self.of_queries.select(total).item()
            quoted = ", ".join(map(repr, columns))
            hint = f"drop_nulls({quoted})"
            if len(columns) > 1:
                hint = f"filter(~pl.all_horizontal(pl.col({quoted}).is_null()))"
            if n_rows:
                subject = "1 row, which is" if n_rows == 1 else f"{n_rows} rows, which are"
                yield (
                    f"{key} {quoted} is null in {subject} measured as one separate {key}"
                    f"\n\nHint: .{hint} leaves such rows out"
                )

    def find_unlike_scales(self) -> Iterator[str]:
        """Yield a sentence if the scale of a measure differs between queries."""
        if not (names := self.request.measures_without_scale):
            return
        relevant = [each for each in self.strategies if each["queries_with_relevant"]]
        low = min((each["lowest_maximum_grade"] for each in relevant), default=0)
        high = max((each["highest_maximum_grade"] for each in relevant), default=0)
        if low != high:
            verb = "uses" if len(names) == 1 else "use"
            yield (
                f"{first_few(names)} {verb} the highest grade of each query as the highest of the "
                f"scale. It ranges from {low:g} to {high:g}, so the same grade is worth more in "
                f"some queries\n\nHint: max_grade={high:g} measures all queries by one scale"
            )

    def find_stars(self) -> Iterator[str]:
        """Yield a sentence if the lowest grade on a scale of stars is relevant."""
        scale, measures = self.request.scale, self.request.measures.values()
        is_above_one = all((measure.options.get("threshold") or 0) > 1 for measure in measures)
        if scale.irrelevant or scale.relevant_from is not None or is_above_one:
            return
        low, high, are_halves = (self.grade_notes[name] for name in (LOWEST, HIGHEST, HALVES))
        if are_halves and low in (MIN_HALF_STAR, 1) and MIN_STARS <= high <= MAX_STARS:
            scale_hint = f" (stars up to 5: irrelevant={low:g}, max_grade=5)"
            yield (
                f"grades are stars from {low:g} to {high:g} and never 0, so {low:g} counts as "
                f"relevant\n\nHint: irrelevant={low:g} makes {low:g} irrelevant"
                f"{scale_hint if self.request.measures_without_scale else ''}; "
                f"relevant_from=4 makes 4 and more relevant; relevant_from={low:g} makes all "
                "relevant"
            )

    def find_large_gains(self) -> Iterator[str]:
        """Yield a sentence if grades are large, and gains are powers of 2 by default."""
        highest = self.grade_notes[HIGHEST] or 0
        exponent = highest - self.request.scale.irrelevant
        names = [name for name, each in self.request.measures.items() if _is_power_of_2(each)]
        if names and exponent > MAX_EXPONENT:
            yield (
                f"{first_few(names)} {'uses' if len(names) == 1 else 'use'} the gain 2^grade - 1, "
                f"which is about 10^{exponent * math.log10(2):.0f} for the highest grade, "
                f"{highest:g}: lower grades hardly count\n\n"
                "Hint: counts, such as clicks, have linear gains in 'ndcg(gain=linear)@10'; "
                "phi_relevance() makes grades from 0 to 1 from counts; "
                "'ndcg(gain=exp2)@10' confirms these gains"
            )

    def find_grades_below_zero(self) -> Iterator[str]:
        """Yield a sentence about grades below 0, which may mean unjudged."""
        scale, measures = self.request.scale, self.request.measures
        # For `infap`, such grades mark pooled documents that nobody judged.
        has_infap = any(each.function == "infap" for each in measures.values())
        names = [
            name
            for name, each in measures.items()
            if (self.request.condensed or each.definition.distinguishes_unjudged)
            and each.function != "infap"
        ]
        n, low = self.grade_notes[BELOW_ZERO], self.grade_notes[LOWEST]
        if n and names and not scale.irrelevant and scale.relevant_from is None:
            subject = "1 grade below 0 counts" if n == 1 else f"{n} grades below 0 count"
            grade = self.columns.grade
            code = f"pl.when(pl.col({grade!r}) >= 0).then({grade!r})"
            if grade in self.columns.expressions:
                code = "pl.when(grades >= 0).then(grades), with your expression `grades`"
            yield (
                f"{subject} as judged and irrelevant, which matters for {first_few(names)}; the "
                f"lowest is {low:g}\n\n"
                "Hint: join_judgments(..., unjudged_below=0) leaves these documents unjudged, as "
                f"trec_eval does; so does {code}; relevant_from=1 states that they were judged"
                f"{'; infap needs these grades, so it belongs in another call' * has_infap}"
            )

    def find_ties_by_grade(self) -> Iterator[str]:
        """Yield a sentence if `ties` names the column of grades."""
        if self.columns.grade in self.request.ties.columns:
            yield (
                f"`ties` names the grade {self.columns.grade!r}, so the best of tied documents "
                "comes first, although a strategy does not know the grades\n\n"
                "Hint: ties='doc' breaks ties by the document; 'ap(ties=optimistic)' is the "
                "highest value of all orders of tied documents"
            )

    def find_unjudged_queries(self) -> Iterator[str]:
        """Yield a sentence about queries without a judged document."""
        if unjudged := self.unjudged:
            hint = (
                "join_judgments(run, judgments) leaves such queries out, and adds the judged "
                "documents that were not retrieved, which a plain join loses; overview(frame) "
                "counts judged and retrieved documents"
            )
            if self.columns.grade in self.columns.expressions:
                hint = (
                    "the expression of grades is null for all documents of such a query, as "
                    "phi_relevance is if all documents have the same value; undefined_as=None "
                    "leaves these queries out of means"
                )
            subject = "no document is judged"
            if self.columns.strategy is not None:
                subject = "a strategy has no judged document"
            yield (
                f"{subject} in {len(unjudged)} of {self.n_queries} queries, which "
                f"{self._write_fill_values()}: {first_few(unjudged)}\n\nHint: {hint}"
            )

    def _write_fill_values(self) -> str:
        """Describe how measures treat queries without a relevant document: "count as 0"."""
        names_by_effect: dict[str, list[str]] = {}
        for name, measure in self.request.measures.items():
            value = measure.find_undefined(self.request.scale)
            effect = "are undefined"
            if value is not None:
                effect = f"count as {measure.definition.if_undefined(value):g}"
            names_by_effect.setdefault(effect, []).append(name)
        if len(names_by_effect) == 1:
            return next(iter(names_by_effect))
        texts = (f"{effect} for {first_few(names)}" for effect, names in names_by_effect.items())
        return " and ".join(texts)

    def find_lost_documents(self) -> Iterator[str]:
        """Yield a sentence if a join seems to have lost judged documents."""
        if not self.request.depends_on_missed:
            return
        if self.columns.strategy is not None and (rows := self._select_unlike_judgments()).height:
            queries = rows.select(self.query).unique(maintain_order=True)
            yield (
                "the relevant documents of a query differ between strategies in "
                f"{queries.height} of {self.n_queries} queries ({first_few(queries.rows())}): a "
                "plain join of runs and judgments drops judged documents that were not retrieved, "
                "so recall, ap and ndcg are too high\n\n"
                "Hint: join_judgments(run, judgments) contains each judged document once for each "
                "strategy, with one grade"
            )
        elif (
            self.n_queries >= MIN_QUERIES_FOR_SHARES
            and any(each["some_retrieved_are_unjudged"] for each in self.strategies)
            and self.holds_for_all("all_judged_are_retrieved")
            and not self.unjudged
            # If a join loses the only judged document of a query, the query is unjudged.
            and self.of_queries.get_column("judged").max() != 1
        ):
            yield (
                f"every judged document was retrieved in all {self.n_queries} queries, although "
                "not every retrieved document is judged. This is normal for a log of what users "
                "saw, and for candidates that contain all judged documents. After a left join of a "
                "run with judgments, however, judged documents that were not retrieved are lost, "
                "and recall, ap and ndcg are too high\n\n"
                "Hint: join_judgments(run, judgments) adds the judged documents that were not "
                "retrieved; overview(frame) counts judged and retrieved documents"
            )

    def _select_unlike_judgments(self) -> pl.DataFrame:
        """Return the rows of queries whose judgments differ between strategies.

        Judgments differ if the number of relevant documents or the sum of their grades differs.
        """
        query = self.query
        keys = [self.strategy, *query]
        rows = self.table.drop_nulls(keys).sort(keys)
        n, grade_sum = pl.col("n_relevant"), pl.col("sum_of_relevant")
        return rows.filter(
            (n.min() < n.max()).over(query)
            | (grade_sum.max() - grade_sum.min() > MAX_SUM_ERROR * grade_sum.abs().max()).over(
                query
            )
        )

    def find_missing_rankings(self) -> Iterator[str]:
        """Yield sentences about strategies that lack rankings of queries."""
        if without_answers := [each["name"] for each in self.strategies if not each["answered"]]:
            yield (
                f"{first_few(without_answers)} retrieved nothing for any query, so there is no "
                "ranking to measure\n\n"
                "Hint: overview(frame) shows what each strategy retrieved"
            )
        lacking = [
            f"{each['name']!r} lacks {self.n_queries - each['queries']} of {self.n_queries}"
            for each in self.strategies
            if each["queries"] < self.n_queries
        ]
        if lacking:
            yield (
                "some strategies have no row for some queries, which are missing from their means: "
                f"{', '.join(lacking[:5])}\n\n"
                "Hint: join_judgments(run, judgments) adds the queries that a run did not answer"
            )

    def find_condensed_positives(self) -> Iterator[str]:
        """Yield a sentence if dropping unjudged documents leaves only relevant ones."""
        drops_some = any(each["some_retrieved_are_unjudged"] for each in self.strategies)
        if self.request.condensed and drops_some and not self.has_irrelevant_judgments:
            yield (
                "no judged document is irrelevant, so with condensed=True the rankings contain "
                "only relevant documents, at the first ranks\n\n"
                "Hint: leave condensed=True out; trust.unjudged_bounds(frame, ...) shows how far "
                "judging more documents could move each value"
            )

    def find_low_judged_share(self) -> Iterator[str]:
        """Yield a sentence if the judged share of any strategy is too low."""
        strategies = [
            each for each in self.strategies if each["answered"] >= MIN_QUERIES_FOR_SHARES
        ]
        if self.request.condensed or not strategies:
            return
        shares = [each["judged_first"] / each["first"] for each in strategies]
        pairs = sorted(zip(shares, strategies, strict=True), key=itemgetter(0))
        (low, lowest), (high, highest) = pairs[0], pairs[-1]
        if low < MIN_JUDGED_SHARE:
            unjudged = round(lowest["first"] - lowest["judged_first"])
            others = f", and {high:.0%} for {highest['name']!r}" if high > low else ""
            yield (
                f"the judged share of the first ten documents is {low:.0%} for {lowest['name']!r}"
                f"{others}: {unjudged} of the {lowest['first']} of {lowest['name']!r} are "
                f"unjudged and count as irrelevant{self.hint_at_unjudged}"
            )

    def find_decisive_ties(self) -> Iterator[str]:
        """Yield a sentence if the order of tied documents changes values."""
        tied = [each for each in self.strategies if each["tie_dependent"]]
        if not tied:
            return
        tied.sort(key=itemgetter("tie_dependent"), reverse=True)
        most_tied = [
            f"{each['name']!r} in {each['tie_dependent']}" for each in tied[:MAX_SHOWN_VALUES]
        ]
        if len(tied) > MAX_SHOWN_VALUES:
            most_tied.append("...")
        if self.request.ties.document is None or self.document is None:
            decision = "the order of rows decides which comes first"
            hint = (
                "ties= names the column of documents, which breaks ties, the last in text order "
                "first; ties='order' keeps the order of rows"
            )
        else:
            column = repr(self.request.ties.document)
            decision = f"{column} decides which comes first: the last in text order"
            hint = f"ties={column} confirms this order; ties='order' keeps the order of rows"
        judgments = " or ".join(["grades", *self.columns.inputs])
        n_tied = self.table.filter(DEPENDS_ON_TIES).select(self.query).n_unique()
        yield (
            f"documents with the same score have different {judgments} in {n_tied} of "
            f"{self.n_queries} queries ({', '.join(most_tied)}), and {decision}\n\nHint: {hint}"
        )


WarningRule: TypeAlias = tuple[type[DataWarning], Callable[[Notes], Iterator[str]]]
"""A kind of warnings, and the function that yields their sentences."""

WARNING_RULES: Sequence[WarningRule] = (
    (DataWarning.nulls, Notes.find_null_keys),
    (DataWarning.scale, Notes.find_unlike_scales),
    (DataWarning.scale, Notes.find_stars),
    (DataWarning.scale, Notes.find_large_gains),
    (DataWarning.scale, Notes.find_grades_below_zero),
    (DataWarning.ties, Notes.find_ties_by_grade),
    (DataWarning.unjudged, Notes.find_unjudged_queries),
    (DataWarning.join, Notes.find_lost_documents),
    (DataWarning.missing, Notes.find_missing_rankings),
    (DataWarning.unjudged, Notes.find_condensed_positives),
    (DataWarning.unjudged, Notes.find_low_judged_share),
    (DataWarning.ties, Notes.find_decisive_ties),
)
"""Rules in the order in which their warnings are issued."""


def warn_of_notes(notes: Notes, rules: Iterable[WarningRule] = WARNING_RULES) -> None:
    """Issue the warnings that follow from the notes by some rules."""
    request, grader = notes.request, notes.columns.grader
    prefix = "" if grader is None else f"by the grades of {grader!r}: "
    for kind, find_sentences in rules:
        if kind not in request.unused_warnings:
            for sentence in find_sentences(notes):
                warn_the_caller(kind, prefix + sentence)


def _is_power_of_2(measure: Measure) -> bool:
    """Return whether the gain of a grade is a power of 2, although nobody chose this gain."""
    is_chosen = "gain=" in (measure.name_as_written or "").replace(" ", "")
    return (
        not is_chosen
        and measure.options.get("gain") == "exp2"
        and not measure.definition.normalises_grades
    )
