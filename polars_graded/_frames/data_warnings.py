"""What makes a mean wrong without any error: noted while rankings are measured, then warned of.

Notes are a struct beside the values of a strategy and query. They are taken from the groups that
are there anyway, and looked at once all queries are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import polars as pl

from polars_graded._checks import SHOWN, first_few
from polars_graded._frames.request import Request
from polars_graded._measuring.names import Measure
from polars_graded._warnings import DataWarning, warn_the_caller

NOTES = "polars_graded: notes"
"""A column under a name that no frame has."""

JUDGED_AT_THE_TOP = Measure.of("judged", 10)
ROUNDING = 1e-9
"""Sums of the same grades in another order differ by less."""

UNFAIR, FEW = 0.2, 10
"""By so much the judged share of the first ten may differ between strategies before it is told, and
of fewer queries it says too little."""

HALF, STARS = 0.5, 4
"""From so high a grade down to 1 are stars; of fewer levels the relevant alone may be listed."""

GDEVAL_HIGHEST = 4
"""Highest grade of the scale of gdeval, which ir_measures calls for ERR."""

RANKS = {"rank", "ranks", "ranking", "position", "pos", "place"}
"""What a column of ranks is called; of one called otherwise more has to look like it."""

DOCUMENTS = {
    *("doc", "docs", "docid", "docno", "document", "documents", "did", "passage", "passages"),
    *("pid", "item", "items", "itemid", "iid", "movie", "movies", "product", "url"),
}
"""What a column of documents is called."""


def decided_by_order(request: Request) -> list[Measure]:
    """The measures that the order of rows may decide, where nobody said that it should."""
    if request.ties is not None or request.tool is not None:
        return []
    return [measure for measure in request.measures.values() if not measure.needs_ties]


def warn_of_doubles(request: Request, frame: pl.DataFrame) -> None:
    """Warn where a document comes twice for the first, the last or the query in the middle."""
    named = (*request.keys, *request.columns_of_rows)
    if frame.is_empty() or "doc" not in frame.columns or "doc" in named:
        return
    if frame.schema["doc"] == pl.Object:
        return
    for place in sorted({0, frame.height // 2, frame.height - 1}):
        # The rows of the query, and of the strategy, that one row is of.
        same = [frame[key].eq_missing(frame[key].slice(place, 1)) for key in request.keys]
        rows = frame.filter(pl.all_horizontal(*same)).drop_nulls("doc")
        if rows.get_column("doc").n_unique() < rows.height:
            again = rows.filter(pl.col("doc").is_duplicated())
            apart = [
                name
                for name, dtype in frame.schema.items()
                if name not in {"doc", *request.columns}
                and dtype in (pl.String, pl.Categorical, pl.Enum)
                and not rows.select(pl.struct("doc", name).is_duplicated().any()).item()
            ]
            such_as = f", such as strategy={apart[0]!r}" if apart else ""
            of = ", ".join(map(repr, again.select(request.keys).row(0)))
            warn_the_caller(
                DataWarning.duplicates,
                f"{again.get_column('doc')[0]!r} comes more than once for query {of}, and is "
                "ranked as several documents\n\n"
                f"Hint: strategy= names a column that tells stacked strategies apart{such_as}; "
                ".unique() drops rows that are the same",
            )
            return


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


def _words(column: str) -> set[str]:
    """The words that the name of a column is made of."""
    return set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", "_", column).lower()))


def is_called_rank(column: str) -> bool:
    return not RANKS.isdisjoint(_words(column))


def without_a_scale(request: Request) -> list[str]:
    """The measures that take the highest grade of each query for that of the scale."""
    if request.scale.highest is not None:
        return []
    return [
        name
        for name, measure in request.measures.items()
        if measure.definition.is_of_a_scale or measure.options.get("graded")
    ]


def column_of_documents(request: Request, schema: Iterable[str]) -> str | None:
    """The column that is called as documents are, which could break ties."""
    others = (name for name in schema if name not in request.columns)
    return next((name for name in others if not DOCUMENTS.isdisjoint(_words(name))), None)


def warn(request: Request, values: pl.DataFrame) -> None:
    """Warn of what the notes say that stand beside the values of all queries."""
    keys = values.select(request.keys_of_values)
    strategy, *query = (f"polars_graded: {name}" for name in keys.columns)
    keys.columns = [strategy, *query]
    noted = Noted(request, keys.hstack(values.get_column(NOTES).struct.unnest()), strategy, query)
    whose = "" if request.grader is None else f"by the grades of {request.grader!r}: "
    for kind, rule in RULES:
        for sentence in rule(noted):
            warn_the_caller(kind, whose + sentence)


@dataclass(frozen=True)
class Noted:
    """The notes of all queries, and a sentence for each thing that they show."""

    request: Request
    rows: pl.DataFrame
    """One per strategy and query."""
    strategy: str
    """The column of strategies, called as no note is."""
    query: list[str]
    """The columns of queries, called as no note is."""

    @cached_property
    def whole(self) -> dict[str, Any]:
        """What the notes say of all queries together."""
        judged, both = pl.col("judged"), pl.col("retrieved_and_judged")
        not_all_is_judged = (pl.col("retrieved") > both).any()
        return self.rows.select(
            pl.struct(self.query).n_unique().alias("queries"),
            (judged == 0).any().alias("some_are_not_judged"),
            (not_all_is_judged & (judged == both).all()).alias("all_judged_were_retrieved"),
            pl.col("from_one").struct.field("lowest").min(),
            pl.col("from_one").struct.field("highest").max().alias("highest"),
            pl.col("from_one").struct.field("halves").all(),
        ).row(0, named=True)

    @property
    def queries(self) -> int:
        """How many there are."""
        return int(self.whole["queries"])

    @cached_property
    def strategies(self) -> list[dict[str, Any]]:
        """What the notes say of each strategy, in their order."""
        counts_up, retrieved = pl.col("counts_up"), pl.col("retrieved") > 0
        by_strategy = self.rows.group_by(self.strategy, maintain_order=True).agg(
            retrieved.any().alias("answered"),
            counts_up.any(),
            (counts_up.all() & (counts_up.count() >= FEW)).alias("all_count_up"),
            pl.col("decided_by_order").sum(),
            pl.struct(self.query).n_unique().alias("queries"),
            pl.col("judged_at_the_top").filter(retrieved).mean(),
        )
        return by_strategy.rename({self.strategy: "name"}).to_dicts()

    def in_two(self) -> Iterator[str]:
        """Of which queries a part lacks one of the columns that tell queries apart."""
        for name, column in zip(self.request.query, self.query, strict=True):
            others = [key for key in (self.strategy, *self.query) if key != column]
            lacks = pl.col(column).is_null()
            if len(self.query) == 1 or not self.rows.get_column(column).null_count():
                continue
            lacking, known = self.rows.filter(lacks), self.rows.filter(~lacks)
            if parted := lacking.join(known, on=others, how="semi", nulls_equal=True).height:
                these = "1 query is" if parted == 1 else f"{parted} queries are"
                yield (
                    f"{these} cut in two, since {name!r} is null in some rows alone\n\n"
                    "Hint: the documents that judge adds lack what only the run knows: join what "
                    "is known of queries to what evaluate returns"
                )

    def of_no_key(self) -> Iterator[str]:
        """How many rows have no query, or strategy; of several query columns all have to lack."""
        request, one = self.request, self.rows
        kinds = [("query", request.query, self.query)]
        if request.strategy is None:
            one = one.filter(pl.col(self.strategy) == next(iter(request.by)))
        else:
            kinds.append(("strategy", (request.strategy,), [self.strategy]))
        for what, named, columns in kinds:
            column, hint = (sign.join(map(repr, named)) for sign in (" and ", ", "))
            which = {"null": pl.all_horizontal(pl.col(columns).is_null())}
            if all(one.schema[name].is_float() for name in columns):
                which["NaN"] = pl.all_horizontal(pl.col(columns).is_nan())
            of_them = {lacks: pl.col("rows").filter(so).sum() for lacks, so in which.items()}
            for lacks, rows in one.select(**of_them).row(0, named=True).items():
                if rows:
                    these = "1 row, which is" if rows == 1 else f"{rows} rows, which are"
                    yield (
                        f"{what} {column} is {lacks} in {these} measured as a {what} of its own"
                        f"\n\nHint: .drop_{lacks.lower()}s({hint}) leaves such rows out"
                    )

    def on_scales_of_their_own(self) -> Iterator[str]:
        """That queries differ in their highest grade, which counts as the highest of the scale."""
        if not (names := without_a_scale(self.request)):
            return
        highest = pl.col("highest")
        relevant = self.rows.filter(self.request.scale.is_relevant(highest))
        low, high = relevant.select(low=highest.min(), high=highest.max()).row(0)
        if low != high:
            fewer, of = (
                rows.select(self.query).n_unique()
                for rows in (relevant.filter(highest < high), relevant)
            )
            functions = {self.request.measures[name].function for name in names}
            of_gdeval = ""
            if "err" in functions and high != GDEVAL_HIGHEST:
                of_gdeval = (
                    f", that of these grades; highest={GDEVAL_HIGHEST} gives ERR as ir_measures "
                    "has it, whose scale ends there"
                )
            take = "takes" if len(names) == 1 else "take"
            yield (
                f"{first_few(names)} {take} the highest grade of each query for the highest of the "
                f"scale, which is between {low:g} and {high:g}, and below {high:g} in {fewer} of "
                f"{of} queries: their grades are worth more there\n\n"
                f"Hint: highest={high:g} measures all queries by one scale{of_gdeval}"
            )

    def that_count_from_one(self) -> Iterator[str]:
        """That grades look like stars, where nobody said from which on they count."""
        scale, measures = self.request.scale, self.request.measures.values()
        above_one = all((measure.options.get("threshold") or 0) > 1 for measure in measures)
        if scale.irrelevant or scale.relevant_from is not None or above_one:
            return
        low, high = self.whole["lowest"], self.whole["highest"]
        if self.whole["halves"] and low in (HALF, 1) and high >= STARS:
            are = "whole numbers" if low == 1 else "half stars"
            yield (
                f"grades are {are} from {low:g} to {high:g} and never 0: {low:g} is relevant\n\n"
                f"Hint: irrelevant={low:g} says that it is not (of stars up to 5: "
                f"irrelevant={low:g}, highest=5), relevant_from=4 that those from 4 on are, "
                f"relevant_from={low:g} that all are"
            )

    def broken_by_the_grade(self) -> Iterator[str]:
        """That what is measured decides the order of what is tied."""
        if self.request.grade in (self.request.ties or ()):
            yield (
                f"`ties` names the grade {self.request.grade!r}, so that of tied documents the "
                "best comes first, which no strategy could know\n\n"
                "Hint: ties='doc' breaks them by the document; 'ap(ties=optimistic)' is the "
                "highest value that they allow"
            )

    def not_judged(self) -> Iterator[str]:
        """That queries are measured of which nobody knows anything."""
        if self.whole["some_are_not_judged"]:
            undefined = self.request.scale.undefined
            count = "are undefined" if undefined is None else f"count as {undefined:g}"
            rows = self.rows.filter(pl.col("judged") == 0).select(self.query)
            unjudged = rows.unique(maintain_order=True).rows()
            yield (
                f"no document is judged in {len(unjudged)} of {self.queries} queries, which "
                f"{count}: {first_few(unjudged)}\n\n"
                "Hint: judge(run, judgments) leaves such queries out, and adds the judged "
                "documents that were not retrieved, which a join lacks; overview(frame) shows what "
                "there is"
            )

    def lost_by_a_join(self) -> Iterator[str]:
        """That documents which were judged and not retrieved seem to be no longer there."""
        if not any(measure.definition.judged for measure in self.request.measures.values()):
            return  # nothing counts them
        if self.request.strategy is not None and (apart := self._judged_apart()).height:
            queries = apart.select(self.query)
            of_first = apart.join(apart.head(1), on=self.query, how="semi", nulls_equal=True)
            found = of_first.sort("relevant", "worth", maintain_order=True)
            (few, least), *_, (many, most) = found.select(self.strategy, "relevant").rows()
            yield (
                f"the relevant documents of a query differ between strategies in "
                f"{queries.n_unique()} of {self.queries} queries (of {first_few([queries.row(0)])} "
                f"{few!r} has {least} and {many!r} {most}): a join of the run with judgments loses "
                "those that were not retrieved, and makes measures that count what was missed too "
                "good\n\n"
                "Hint: judge(run, judgments) has each judged document, once for each strategy, "
                "with one grade"
            )
        elif (
            self.queries >= FEW
            and self.whole["all_judged_were_retrieved"]
            and not self.whole["some_are_not_judged"]
        ):
            yield (
                f"all documents that are judged were retrieved, in {self.queries} queries, while "
                "others that were retrieved are not judged: right for what was logged; a join that "
                "starts from the run looks so too, and makes measures that count what was missed "
                "too good\n\n"
                "Hint: judge(run, judgments) adds the judged documents that were not retrieved; "
                "overview(frame) shows what there is"
            )

    def _judged_apart(self) -> pl.DataFrame:
        """The rows of queries of which stacked strategies have other relevant documents."""
        n, worth = pl.col("relevant"), pl.col("worth")
        return self.rows.drop_nulls([self.strategy, *self.query]).filter(
            (n.min() < n.max()).over(self.query)
            | (worth.max() - worth.min() > ROUNDING * worth.abs().max()).over(self.query)
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
                "Hint: judge(run, judgments) adds the queries that a run did not answer"
            )

    def not_judged_alike(self) -> Iterator[str]:
        """The strategies of whose first documents the least and the most are judged."""
        of_enough = [each for each in self.strategies if each["queries"] >= FEW]
        shares = [(each["judged_at_the_top"], each["name"]) for each in of_enough]
        shares = sorted((pair for pair in shares if pair[0] is not None), key=itemgetter(0))
        if shares and shares[-1][0] - shares[0][0] >= UNFAIR:
            (low, least), *_, (high, most) = shares
            yield (
                f"strategies are not judged alike: of the first ten documents {low:.0%} are judged "
                f"for {least!r} and {high:.0%} for {most!r}, and an unjudged one counts as "
                "irrelevant\n\n"
                "Hint: condensed=True leaves unjudged documents out; overview(frame) shows shares"
            )

    def ranked_upside_down(self) -> Iterator[str]:
        """The first strategy that is ranked by ranks, the highest of them first."""
        for each in self.strategies:
            column = self.request.columns_of(each["name"])[0]
            if each["counts_up" if is_called_rank(column) else "all_count_up"]:
                yield (
                    f"{column!r} counts from 1 as ranks do, and its highest number is ranked "
                    "first\n\n"
                    "Hint: descending=False ranks the lowest first"
                )
                return

    def decided_by_order(self) -> Iterator[str]:
        """That documents with the same score, which stand in no order, decide values."""
        tied = [each for each in self.strategies if each["decided_by_order"]]
        if not tied:
            return
        tied.sort(key=itemgetter("decided_by_order"), reverse=True)
        of_most = [f"{each['name']!r} in {each['decided_by_order']}" for each in tied[:SHOWN]]
        more = f" and {len(tied) - SHOWN} more strategies" if len(tied) > SHOWN else ""
        among = self.rows.filter("decided_by_order").select(self.query).n_unique()
        column = self.request.tie_column or self.request.document
        if self.request.tie_column is None:
            decides = "the order of rows decides which comes first"
            named = (
                f"ties={column!r} ranks them by that column"
                if column
                else ("ties= names the column of documents, which breaks them")
            )
            hint = f"{named} as in trec_eval; ties='order' says that the order of rows is meant"
        else:
            decides = f"{column!r} decides which comes first, as in trec_eval"
            hint = f"ties={column!r} says that this is meant; ties='order' keeps the order of rows"
        yield (
            f"documents with the same score have different grades in {among} of {self.queries} "
            f"queries ({', '.join(of_most)}{more}), and {decides}\n\nHint: {hint}"
        )


RULES = (
    (DataWarning.nulls, Noted.in_two),
    (DataWarning.nulls, Noted.of_no_key),
    (DataWarning.scale, Noted.on_scales_of_their_own),
    (DataWarning.scale, Noted.that_count_from_one),
    (DataWarning.ties, Noted.broken_by_the_grade),
    (DataWarning.unjudged, Noted.not_judged),
    (DataWarning.join, Noted.lost_by_a_join),
    (DataWarning.missing, Noted.that_did_not_run),
    (DataWarning.unjudged, Noted.not_judged_alike),
    (DataWarning.ranks, Noted.ranked_upside_down),
    (DataWarning.ties, Noted.decided_by_order),
)
"""What is looked for, in the order in which it is told."""
