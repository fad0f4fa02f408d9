"""Warn of data that make means wrong without any error, by the notes of all rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import polars as pl

from polars_graded._checks import MAX_SHOWN_VALUES, first_few
from polars_graded._frames.document_columns import words_of
from polars_graded._frames.notes import (
    AT_CODE,
    AT_HIGHEST,
    BELOW_CODE,
    BELOW_ZERO,
    HALVES,
    HIGHEST,
    LOWEST,
    NOTES,
    Notes,
    counts_missed,
)
from polars_graded._frames.request import Request
from polars_graded._measuring.kernels.queries import MAX_SUM_ERROR
from polars_graded._measuring.names import Measure
from polars_graded._warnings import DataWarning, warn_the_caller

JUDGED_AT_THE_TOP = Measure.of("judged", 10)
UNFAIR, MIN_TRUSTED_QUERIES = 0.2, 10
"""By so much the judged share of the first ten may differ between strategies before it is told, and
of fewer queries it says too little."""

MIN_JUDGED_SHARE = 0.8
"""Share of the first ten documents that must be judged, or a warning says how many are not."""

HALF, STARS = 0.5, 4
"""From so high a grade down to 1 are stars; of fewer levels the relevant alone may be listed."""

GDEVAL_HIGHEST = 4
"""Highest grade of the scale of gdeval, which ir_measures calls for ERR."""

CODES = {9, 98, 99, 127, 255, 999, 9999, 32767, 65535}
"""Numbers that stand for a missing grade in files of many tools."""

MIN_CODE_RATIO = 3
"""Minimum ratio of such a number to the next highest grade from which it may be no grade."""

RANKS = {"rank", "ranks", "ranking", "position", "pos", "place"}
"""Words that a column of ranks is called by; of fewer than ten queries these suffice to warn."""


def decided_by_order(request: Request) -> list[Measure]:
    """Return the measures that the order of rows may decide, unless the caller chose it."""
    if request.ties is not None or request.tool is not None:
        return []
    return [measure for measure in request.measures.values() if not measure.needs_ties]


PART = 0.5
"""Of less than this share of what another grader judged in a query, its values are of a part."""


def warn_of_parts(requests: Sequence[Request], values: Sequence[pl.DataFrame]) -> None:
    """Warn where a grader judged a part of the documents of a query, which another judged."""
    query = list(requests[0].query)
    names = [f"polars_graded: {number}" for number, _ in enumerate(requests)]
    judged = (each.get_column(NOTES).struct.field("judged") for each in values)
    beside = [each.alias(name) for each, name in zip(judged, names, strict=True)]
    counts = values[0].select(query).with_columns(beside).group_by(query).agg(pl.col(names).sum())
    for request, name in zip(requests, names, strict=True):
        some = counts.filter(pl.col(name) > 0)
        partly = some.filter(pl.col(name) < PART * pl.max_horizontal(names)).sort(query)
        if partly.height:
            warn_the_caller(
                DataWarning.unjudged,
                f"{request.grader!r} judged less than half of what another grader judged in "
                f"{partly.height} of {some.height} queries, so that values differ by what was "
                f"judged: {first_few(partly.select(query).rows())}\n\n"
                "Hint: whole queries are to be judged where graders are compared, or means "
                "corrected (trusted=)",
            )


def is_called_rank(column: str) -> bool:
    return not RANKS.isdisjoint(words_of(column))


def without_a_scale(request: Request) -> list[str]:
    """Return the measures that take the highest grade of each query for that of the scale."""
    if request.scale.max_grade is not None:
        return []
    return [
        name
        for name, measure in request.measures.items()
        if measure.definition.is_of_a_scale or measure.options.get("graded")
    ]


def warn(request: Request, notes: Notes, values: pl.DataFrame) -> None:
    """Warn of what the notes show, and those that are kept beside the values of all queries."""
    noted = Noted(request, notes, values)
    whose = "" if request.grader is None else f"by the grades of {request.grader!r}: "
    for kind, rule in RULES:
        for sentence in rule(noted):
            warn_the_caller(kind, whose + sentence)


@dataclass(frozen=True)
class Noted:
    """The notes of all queries, and a sentence for each thing that they show."""

    request: Request
    notes: Notes
    values: pl.DataFrame
    """One row per strategy and query."""

    @cached_property
    def strategies(self) -> list[dict[str, Any]]:
        """The counts of each strategy, with its name, in the order of the result."""
        counts = self.notes.strategies.rename({self.notes.strategy: "name"})
        order = self.values.get_column(self.request.key).unique(maintain_order=True)
        if self.request.strategy is None:
            order = pl.Series([*self.request.by], dtype=pl.String)
        names = order.alias("name").to_frame()
        return names.join(
            counts, on="name", how="inner", nulls_equal=True, maintain_order="left"
        ).to_dicts()

    @cached_property
    def queries(self) -> int:
        """The number of queries."""
        if self.request.strategy is None:
            return self.strategies[0]["queries"] if self.strategies else 0
        return self.values.select(self.request.query).n_unique()

    def all_of(self, count: str) -> bool:
        """Return whether it is true of all strategies."""
        return all(each[count] for each in self.strategies)

    def in_rankings(self, counts: Sequence[int], of: Sequence[int]) -> str:
        """Return how many queries there are of how many, or rankings of stacked strategies."""
        if self.request.strategy is None:
            return f"{counts[0]} of {of[0]} queries"
        some = [pair for pair in zip(counts, of, strict=True) if pair[0]]
        n, total = (sum(each) for each in zip(*some, strict=True))
        return f"{n} of {total} {'rankings' if len(some) > 1 else 'queries'}"

    def in_two(self) -> Iterator[str]:
        """Yield how many queries are cut, as some rows lack one of the columns of a query."""
        if len(self.request.query) == 1:
            return
        for name in self.request.query:
            lacks = pl.col(name).is_null()
            if not self.values.get_column(name).null_count():
                continue
            others = [key for key in self.request.result_keys if key != name]
            keys = self.values.select(self.request.result_keys)
            lacking, complete = keys.filter(lacks), keys.filter(~lacks)
            if parted := lacking.join(complete, on=others, how="semi", nulls_equal=True).height:
                these = "1 query is" if parted == 1 else f"{parted} queries are"
                yield (
                    f"{these} cut in two if they are one, since {name!r} is null in some rows "
                    f"alone: null makes a query of its own\n\n"
                    "Hint: the documents that join_judgments adds lack what only the run knows: "
                    "join what is known of queries to what evaluate returns; pl.col("
                    f"{name!r}).fill_null('none') says that null is a value like any other"
                )

    def of_no_key(self) -> Iterator[str]:
        """Yield how many rows have no query, or no strategy."""
        for (kind, lack), rows in self.notes.rows_without_key.items():
            names = self.request.query if kind == "query" else (self.request.strategy,)
            column, hint = (sign.join(map(repr, names)) for sign in (" and ", ", "))
            if rows:
                these = "1 row, which is" if rows == 1 else f"{rows} rows, which are"
                yield (
                    f"{kind} {column} is {lack} in {these} measured as a {kind} of its own"
                    f"\n\nHint: .drop_{lack.lower()}s({hint}) leaves such rows out"
                )

    def on_scales_of_their_own(self) -> Iterator[str]:
        """Yield that queries differ in their highest grade, which counts as that of the scale."""
        if not (names := without_a_scale(self.request)):
            return
        relevant = [each for each in self.strategies if each["relevant"]]
        low = min((each["lowest_relevant_highest"] for each in relevant), default=0)
        high = max((each["highest"] for each in relevant), default=0)
        if low != high:
            fewer = [
                each["relevant"] - (each[AT_HIGHEST] if each["highest"] == high else 0)
                for each in relevant
            ]
            these = self.in_rankings(fewer, [each["relevant"] for each in relevant])
            functions = {self.request.measures[name].function for name in names}
            of_gdeval = ""
            if "err" in functions and high != GDEVAL_HIGHEST:
                of_gdeval = (
                    f", that of these grades; max_grade={GDEVAL_HIGHEST} gives ERR as ir_measures "
                    "has it, whose scale ends there"
                )
            take = "takes" if len(names) == 1 else "take"
            yield (
                f"{first_few(names)} {take} the highest grade of each query for the highest of the "
                f"scale, which is between {low:g} and {high:g}, and below {high:g} in {these}: "
                "their grades are worth more there\n\n"
                f"Hint: max_grade={high:g} measures all queries by one scale{of_gdeval}"
            )

    def that_count_from_one(self) -> Iterator[str]:
        """Warn that grades look like stars, where nobody said from which on they count."""
        scale, measures = self.request.scale, self.request.measures.values()
        above_one = all((measure.options.get("threshold") or 0) > 1 for measure in measures)
        if scale.irrelevant or scale.relevant_from is not None or above_one:
            return
        lows, highs = ([each[end] for each in self.strategies] for end in (LOWEST, HIGHEST))
        low = min((each for each in lows if each is not None), default=None)
        high = max((each for each in highs if each is not None), default=0)
        if self.all_of(HALVES) and low in (HALF, 1) and high >= STARS:
            yield (
                f"grades are stars from {low:g} to {high:g} and never 0: {low:g} is relevant\n\n"
                f"Hint: irrelevant={low:g} says that it is not (of stars up to 5: "
                f"irrelevant={low:g}, max_grade=5), relevant_from=4 that those from 4 on are, "
                f"relevant_from={low:g} that all are"
            )

    def below_zero(self) -> Iterator[str]:
        """Yield how many grades are below 0, which files of judgments use for unjudged ones."""
        scale, grade = self.request.scale, self.request.grade
        n = max((each[BELOW_ZERO] for each in self.strategies), default=0)
        if n and not scale.irrelevant and scale.relevant_from is None:
            low = min(each[LOWEST] for each in self.strategies if each[LOWEST] is not None)
            these = "1 grade below 0 counts" if n == 1 else f"{n} grades below 0 count"
            yield (
                f"{these} as judged and irrelevant; the lowest is {low:g}\n\n"
                f"Hint: pl.when(pl.col({grade!r}) >= 0).then({grade!r}) leaves these documents "
                "unjudged, as trec_eval does; relevant_from= says that they were judged"
            )

    def may_be_codes(self) -> Iterator[str]:
        """Yield how many grades are a number that often stands for a missing one."""
        if self.request.scale.max_grade is not None:
            return
        coded = [each for each in self.strategies if each[BELOW_CODE] is not None]
        if not coded:
            return
        code = max(each[HIGHEST] for each in coded)
        rest = max(each[BELOW_CODE] for each in coded)
        n = max(each[AT_CODE] for each in coded)
        if code in CODES and 0 < rest <= code / MIN_CODE_RATIO:
            grade = self.request.grade
            these = "1 grade is" if n == 1 else f"{n} grades are"
            yield (
                f"{these} {code:g}, and the next highest is {rest:g}: a code for no grade would "
                "count as the most relevant\n\n"
                f"Hint: pl.when(pl.col({grade!r}) <= {rest:g}).then({grade!r}) leaves these "
                f"documents unjudged; max_grade={code:g} says that it is a grade"
            )

    def broken_by_the_grade(self) -> Iterator[str]:
        """Warn that what is measured decides the order of what is tied."""
        if self.request.grade in (self.request.ties or ()):
            yield (
                f"`ties` names the grade {self.request.grade!r}, so that of tied documents the "
                "best comes first, which no strategy could know\n\n"
                "Hint: ties='doc' breaks them by the document; 'ap(ties=optimistic)' is the "
                "highest value that they allow"
            )

    def not_judged(self) -> Iterator[str]:
        """Warn that queries are measured of which nobody knows anything."""
        if self.notes.unjudged:
            undefined = self.request.scale.undefined
            count = "are undefined" if undefined is None else f"count as {undefined:g}"
            counts = [[each[name] for each in self.strategies] for name in ("unjudged", "queries")]
            hint = (
                "join_judgments(run, judgments) leaves such queries out, and adds the judged "
                "documents that were not retrieved, which a join lacks; overview(frame) shows what "
                "there is"
            )
            if self.request.grade in self.request.computed:
                hint = (
                    "the expression of grades is null for all documents of a query, as "
                    "phi_relevance is if all have one score; undefined_as=None leaves such queries "
                    "out of means"
                )
            yield (
                f"no document is judged in {self.in_rankings(*counts)}, which {count}: "
                f"{first_few(self.notes.unjudged)}\n\nHint: {hint}"
            )

    def lost_by_a_join(self) -> Iterator[str]:
        """Warn that documents which were judged and not retrieved seem to be no longer there."""
        if not counts_missed(self.request):
            return
        if self.request.strategy is not None and (apart := self._judged_apart()).height:
            query = [*self.request.query]
            queries = apart.select(query)
            of_first = apart.join(apart.head(1), on=query, how="semi", nulls_equal=True)
            ordered = of_first.sort("relevant", "worth", maintain_order=True)
            (few, least), *_, (many, most) = ordered.select(self.request.key, "relevant").rows()
            yield (
                f"the relevant documents of a query differ between strategies in "
                f"{queries.n_unique()} of {self.queries} queries (of {first_few([queries.row(0)])} "
                f"{few!r} has {least} and {many!r} {most}): a join of the run with judgments loses "
                "those that were not retrieved, and makes measures that count what was missed too "
                "good\n\n"
                "Hint: join_judgments(run, judgments) has each judged document, once for each "
                "strategy, with one grade"
            )
        elif (
            self.queries >= MIN_TRUSTED_QUERIES
            and any(each["retrieved_unjudged"] for each in self.strategies)
            and self.all_of("retrieved_all_judged")
            and not self.notes.unjudged
        ):
            yield (
                f"no judged document was missed in any of {self.queries} queries, though not every "
                "retrieved document is judged. That is right for a log of what users saw. After a "
                "left join of a run with judgments it means that missed documents were lost, so "
                "that recall, ap and ndcg come out too high\n\n"
                "Hint: join_judgments(run, judgments) adds the judged documents that were not "
                "retrieved; overview(frame) shows what there is"
            )

    def _judged_apart(self) -> pl.DataFrame:
        """Return the rows of queries whose relevant documents differ between stacked strategies."""
        keys, query = self.request.result_keys, self.request.query
        rows = self.values.select(*keys, pl.col(NOTES).struct.unnest()).drop_nulls(keys)
        n, worth = pl.col("relevant"), pl.col("worth")
        return rows.filter(
            (n.min() < n.max()).over(query)
            | (worth.max() - worth.min() > MAX_SUM_ERROR * worth.abs().max()).over(query)
        )

    def that_did_not_run(self) -> Iterator[str]:
        """Strategies that retrieved nothing, or lack some of the queries."""
        if silent := [each["name"] for each in self.strategies if not each["answered"]]:
            yield (
                f"{first_few(silent)} retrieved nothing for any query, which is no bad ranking but "
                "none\n\n"
                "Hint: overview(frame) shows what each strategy retrieved"
            )
        lacking = [
            f"{each['name']!r} lacks {self.queries - each['queries']} of {self.queries}"
            for each in self.strategies
            if each["queries"] < self.queries
        ]
        if lacking:
            yield (
                "some strategies have no row for some queries, which are missing from their means: "
                f"{', '.join(lacking[:5])}\n\n"
                "Hint: join_judgments(run, judgments) adds the queries that a run did not answer"
            )

    def not_judged_alike(self) -> Iterator[str]:
        """Return the strategies with the least and the most judged first documents."""
        of_enough = [each for each in self.strategies if each["queries"] >= MIN_TRUSTED_QUERIES]
        answered = [each for each in of_enough if each["answered"]]
        shares = sorted(
            ((each["judged_at_the_top"] / each["answered"], each["name"]) for each in answered),
            key=itemgetter(0),
        )
        if shares and shares[-1][0] - shares[0][0] >= UNFAIR:
            (low, least), *_, (high, most) = shares
            yield (
                f"strategies are not judged alike: of the first ten documents {low:.0%} are judged "
                f"for {least!r} and {high:.0%} for {most!r}, and an unjudged one counts as "
                "irrelevant\n\n"
                "Hint: condensed=True leaves unjudged documents out; overview(frame) shows shares"
            )

    def hardly_judged(self) -> Iterator[str]:
        """Yield the strategy of whose first documents the least are judged, if that is little."""
        of_enough = [each for each in self.strategies if each["answered"] >= MIN_TRUSTED_QUERIES]
        if not of_enough or next(self.not_judged_alike(), None):
            return
        every = [each["judged_of_first_ten"] / each["first_ten"] for each in of_enough]
        share, least = min(zip(every, of_enough, strict=True), key=itemgetter(0))
        if share < MIN_JUDGED_SHARE:
            unjudged = round(least["first_ten"] - least["judged_of_first_ten"])
            yield (
                f"of the first ten documents {share:.0%} are judged for {least['name']!r}: "
                f"{unjudged} of {least['first_ten']} are not, and count as irrelevant\n\n"
                "Hint: condensed=True leaves unjudged documents out of the rankings; "
                "trust.unjudged_bounds(frame, ...) shows how far judging them could move each value"
            )

    def ranked_upside_down(self) -> Iterator[str]:
        """Return the first strategy that is ranked by ranks with the highest first."""
        for each in self.strategies:
            column = self.request.find_columns(each["name"])[0]
            if each["some_count_up"]:
                several = self.request.strategy is None and len(self.request.by) > 1
                lowest = f"{{{each['name']!r}: False}}" if several else "False"
                yield (
                    f"{column!r} counts from 1 as ranks do, and its highest number is ranked "
                    "first\n\n"
                    f"Hint: descending={lowest} ranks the lowest first"
                )
                return

    def decided_by_order(self) -> Iterator[str]:
        """Warn that documents with the same score, which stand in no order, decide values."""
        tied = [each for each in self.strategies if each["decided_by_order"]]
        if not tied:
            return
        tied.sort(key=itemgetter("decided_by_order"), reverse=True)
        of_most = [
            f"{each['name']!r} in {each['decided_by_order']}" for each in tied[:MAX_SHOWN_VALUES]
        ]
        more = (
            f" and {len(tied) - MAX_SHOWN_VALUES} more strategies"
            if len(tied) > MAX_SHOWN_VALUES
            else ""
        )
        counts = [self.notes.n_decided]
        if self.request.strategy is not None:
            counts = [each["decided_by_order"] for each in self.strategies]
        among = self.in_rankings(counts, [each["queries"] for each in self.strategies])
        column = self.request.tie_column or self.request.document
        if self.request.tie_column is None:
            decides = "the order of rows decides which comes first"
            remedy = (
                f"ties={column!r} ranks them by that column"
                if column
                else "ties= names the column of documents, which breaks them"
            )
            hint = f"{remedy} as in trec_eval; ties='order' says that the order of rows is meant"
        else:
            decides = f"{column!r} decides which comes first, as in trec_eval"
            hint = f"ties={column!r} says that this is meant; ties='order' keeps the order of rows"
        yield (
            f"documents with the same score have different grades in {among} "
            f"({', '.join(of_most)}{more}), and {decides}\n\nHint: {hint}"
        )


RULES = (
    (DataWarning.nulls, Noted.in_two),
    (DataWarning.nulls, Noted.of_no_key),
    (DataWarning.scale, Noted.on_scales_of_their_own),
    (DataWarning.scale, Noted.that_count_from_one),
    (DataWarning.scale, Noted.below_zero),
    (DataWarning.scale, Noted.may_be_codes),
    (DataWarning.ties, Noted.broken_by_the_grade),
    (DataWarning.unjudged, Noted.not_judged),
    (DataWarning.join, Noted.lost_by_a_join),
    (DataWarning.missing, Noted.that_did_not_run),
    (DataWarning.unjudged, Noted.not_judged_alike),
    (DataWarning.unjudged, Noted.hardly_judged),
    (DataWarning.ranks, Noted.ranked_upside_down),
    (DataWarning.ties, Noted.decided_by_order),
)
"""What is looked for, in the order in which it is told."""
