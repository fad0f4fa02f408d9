"""What makes a mean wrong without any error: noted while rankings are measured, then warned of.

Notes are a struct beside the values of a strategy and query. They are taken from the groups that
are there anyway, and looked at once all queries are there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_graded._checks import first_few
from polars_graded._measuring.names import Measure
from polars_graded._warnings import DataWarning, warn_the_caller

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polars_graded._frames.request import Request


class Told(NamedTuple):
    """What is to be warned of."""

    kind: type[DataWarning]
    sentence: str


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

RANKS = {"rank", "ranks", "ranking", "position", "pos", "place"}
"""What a column of ranks is called; of one called otherwise more has to look like it."""

DOCUMENTS = {
    *("doc", "docs", "docid", "docno", "document", "documents", "did", "passage", "passages"),
    *("pid", "item", "items", "itemid", "iid", "movie", "movies", "product", "url"),
}
"""What a column of documents is called."""


def decided_by_order(request: Request) -> list[Measure]:
    """The measures that the order of rows may decide, where nobody said that it should."""
    if request.ties is not None:
        return []
    return [measure for measure in request.measures.values() if not measure.needs_ties]


def warn_of_doubles(request: Request, frame: pl.DataFrame) -> None:
    """Warn where a document comes twice for the first, the last or the query in the middle."""
    if frame.is_empty() or "doc" not in frame.columns or "doc" in request.columns:
        return
    if frame.schema["doc"] == pl.Object:
        return
    for place in sorted({0, frame.height // 2, frame.height - 1}):
        rows = _rows_beside(frame, place, request.keys)
        docs = rows.get_column("doc")
        if docs.n_unique() < len(docs) - max(0, docs.null_count() - 1):
            rows = rows.drop_nulls("doc")
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


def _rows_beside(frame: pl.DataFrame, place: int, keys: Sequence[str]) -> pl.DataFrame:
    """The rows of the query, and of the strategy, that one row is of."""
    same = [frame[key].eq_missing(frame[key].slice(place, 1)) for key in keys]
    return frame.filter(pl.all_horizontal(*same))


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
    keys = keys.rename({name: f"polars_graded: {name}" for name in keys.columns})
    noted = keys.hstack(values.get_column(NOTES).struct.unnest())
    for told in (
        *_in_two(request, values),
        *_of_no_key(request, noted, keys.columns),
        *_on_scales_of_their_own(request, noted, keys.columns[1:]),
        *_that_count_from_one(noted),
        *_broken_by_the_grade(request),
        *_sentences(request, noted, keys.columns),
    ):
        whose = "" if request.grader is None else f"by the grades of {request.grader!r}: "
        warn_the_caller(told.kind, whose + told.sentence)


def _of_no_key(request: Request, noted: pl.DataFrame, keys: list[str]) -> Iterator[Told]:
    """How many rows have no query, or no strategy; of several query columns all have to lack."""
    one = noted if request.strategy else noted.filter(pl.col(keys[0]) == next(iter(request.by)))
    kinds = [("query", request.query, keys[1:])]
    if request.strategy is not None:
        kinds.append(("strategy", (request.strategy,), keys[:1]))
    for what, named, columns in kinds:
        column, hint = (sign.join(map(repr, named)) for sign in (" and ", ", "))
        floats = all(one.schema[name].is_float() for name in columns)
        is_nan = pl.all_horizontal(pl.col(columns).is_nan()) if floats else pl.lit(value=False)
        is_null = pl.all_horizontal(pl.col(columns).is_null())
        for lacks, which, drops in (("null", is_null, "drop_nulls"), ("NaN", is_nan, "drop_nans")):
            rows = one.filter(which).get_column("rows").sum()
            if rows:
                these = "1 row, which is" if rows == 1 else f"{rows} rows, which are"
                yield Told(
                    DataWarning.nulls,
                    f"{what} {column} is {lacks} in {these} measured as a {what} of its own\n\n"
                    f"Hint: .{drops}({hint}) leaves such rows out",
                )


def _on_scales_of_their_own(
    request: Request, noted: pl.DataFrame, query: list[str]
) -> Iterator[Told]:
    """That queries differ in their highest grade, which counts as the highest of the scale."""
    names = without_a_scale(request)
    if not names:
        return
    relevant = noted.filter(request.scale.is_relevant(pl.col("highest")))
    low, high = relevant.select(low=pl.col("highest").min(), high=pl.col("highest").max()).row(0)
    if low != high:
        fewer = relevant.filter(pl.col("highest") < high).select(query).n_unique()
        of = relevant.select(query).n_unique()
        take = "takes" if len(names) == 1 else "take"
        yield Told(
            DataWarning.scale,
            f"{first_few(names)} {take} the highest grade of each query for the highest of the "
            f"scale, which is between {low:g} and {high:g}, and below {high:g} in {fewer} of {of} "
            "queries: their grades are worth more there\n\n"
            f"Hint: highest={high:g} measures all queries by one scale",
        )


def _that_count_from_one(noted: pl.DataFrame) -> Iterator[Told]:
    """That grades look like stars, of which the lowest counts as relevant."""
    of = pl.col("from_one").struct.field
    low, high, halves = noted.select(
        of("lowest").min(), of("highest").max().alias("high"), of("halves").all().alias("halves")
    ).row(0)
    if halves and low in (HALF, 1) and high >= STARS:
        are = "whole numbers" if low == 1 else "half stars"
        yield Told(
            DataWarning.scale,
            f"grades are {are} from {low:g} to {high:g} and never 0: {low:g} is relevant\n\n"
            f"Hint: irrelevant={low:g} says that it is not (of stars up to 5: irrelevant={low:g}, "
            f"highest=5), relevant_from=4 that those from 4 on are, relevant_from={low:g} that all "
            "are",
        )


def _broken_by_the_grade(request: Request) -> Iterator[Told]:
    """That what is measured decides the order of what is tied."""
    if request.ties and request.grade in request.ties:
        yield Told(
            DataWarning.ties,
            f"`ties` names the grade {request.grade!r}, so that of tied documents the best comes "
            "first, which no strategy could know\n\n"
            "Hint: ties='doc' breaks them by the document; 'ap(ties=optimistic)' is the highest "
            "value that they allow",
        )


def _in_two(request: Request, values: pl.DataFrame) -> Iterator[Told]:
    """Of which queries a part lacks one of the columns that tell queries apart."""
    for name in request.query:
        others = [key for key in request.keys_of_values if key != name]
        if len(request.query) == 1 or not values.get_column(name).null_count():
            continue
        lacking, known = (values.filter(pl.col(name).is_null() == null) for null in (True, False))
        if parted := lacking.join(known, on=others, how="semi", nulls_equal=True).height:
            these = "1 query is" if parted == 1 else f"{parted} queries are"
            yield Told(
                DataWarning.nulls,
                f"{these} cut in two, since {name!r} is null in some rows alone\n\n"
                "Hint: the documents that judge adds lack what only the run knows: join what is "
                "known of queries to what evaluate returns",
            )


def _sentences(request: Request, noted: pl.DataFrame, keys: list[str]) -> Iterator[Told]:
    """What is to be warned of; `keys` are called as no note is."""
    strategy, query = keys[:1], keys[1:]
    joined, lost = _are_joined_to_the_run(request, noted), [*_judged_apart(request, noted, keys)]
    told = noted.select(
        (pl.col("judged", "retrieved") == 0).any(),
        pl.col("decided_by_order", "counts_up").any(),
    )
    if noted.get_column(*strategy).n_unique() <= 1 and not (joined or lost or any(told.row(0))):
        return
    queries = noted.select(query).n_unique() if noted.height else 0
    if unjudged := _those(noted, pl.col("judged") == 0, query):
        yield _not_judged(request, unjudged, queries)
    elif queries >= FEW and joined and not lost:
        yield _joined_to_the_run(queries)
    yield from lost
    of_strategies = noted.group_by(strategy, maintain_order=True).agg(
        (pl.col("retrieved") > 0).any().alias("answered"),
        pl.col("counts_up").any(),
        (pl.col("counts_up").all() & (pl.col("counts_up").count() >= FEW)).alias("all_count_up"),
        pl.col("decided_by_order").sum(),
        pl.struct(query).n_unique().alias("queries"),
        pl.col("judged_at_the_top").filter(pl.col("retrieved") > 0).mean(),
    )
    yield from _that_did_not_run(of_strategies, strategy, queries)
    yield from _not_judged_alike(of_strategies, strategy)
    yield from _ranked_upside_down(request, of_strategies)
    if tied := _those(of_strategies, pl.col("decided_by_order") > 0, strategy):
        among = noted.filter("decided_by_order").select(query).n_unique()
        yield _decided_by_order(request, f"{among} of {queries} queries of {first_few(tied)}")


def _not_judged(request: Request, unjudged: list[Any], queries: int) -> Told:
    undefined = request.scale.undefined
    count = "are undefined" if undefined is None else f"count as {undefined:g}"
    return Told(
        DataWarning.unjudged,
        f"no document is judged in {len(unjudged)} of {queries} queries, which {count}: "
        f"{first_few(unjudged)}\n\n"
        "Hint: judge(run, judgments) leaves such queries out, and adds the judged documents "
        "that were not retrieved, which a join lacks; overview(frame) shows what there is",
    )


def _joined_to_the_run(queries: int) -> Told:
    return Told(
        DataWarning.join,
        f"all documents that are judged were retrieved, in {queries} queries, while others "
        "that were retrieved are not judged: right for what was logged; a join that starts "
        "from the run looks so too, and makes measures that count what was missed too good\n\n"
        "Hint: judge(run, judgments) adds the judged documents that were not retrieved; "
        "overview(frame) shows what there is",
    )


def _that_did_not_run(
    of_strategies: pl.DataFrame, strategy: list[str], queries: int
) -> Iterator[Told]:
    """Strategies that retrieved nothing, or lack some of the queries."""
    if silent := _those(of_strategies, ~pl.col("answered"), strategy):
        yield Told(
            DataWarning.missing,
            f"{first_few(silent)} retrieved nothing for any query, which is no bad ranking but "
            "none\n\n"
            "Hint: overview(frame) shows what each strategy retrieved",
        )
    lacking = of_strategies.filter(pl.col("queries") < queries).select(*strategy, "queries")
    if lacking.height:
        named = ", ".join(
            f"{name!r} lacks {queries - n} of {queries}" for name, n in lacking.head(5).iter_rows()
        )
        yield Told(
            DataWarning.missing,
            "some strategies have no row for some queries, which are missing from their means: "
            f"{named}\n\n"
            "Hint: judge(run, judgments) adds the queries that a run did not answer",
        )


def _not_judged_alike(of_strategies: pl.DataFrame, strategy: list[str]) -> Iterator[Told]:
    """The strategies of whose first documents the least and the most are judged."""
    shares = of_strategies.filter(pl.col("queries") >= FEW).drop_nulls("judged_at_the_top")
    shares = shares.sort("judged_at_the_top").select(*strategy, "judged_at_the_top")
    if shares.height > 1:
        (least, low), (most, high) = shares.row(0), shares.row(-1)
        if high - low >= UNFAIR:
            yield Told(
                DataWarning.unjudged,
                f"strategies are not judged alike: of the first ten documents {low:.0%} are judged "
                f"for {least!r} and {high:.0%} for {most!r}, and an unjudged one counts as "
                "irrelevant\n\n"
                "Hint: condensed=True leaves unjudged documents out; overview(frame) shows shares",
            )


def _ranked_upside_down(request: Request, of_strategies: pl.DataFrame) -> Iterator[Told]:
    """The first strategy that is ranked by ranks, the highest of them first."""
    counts = of_strategies.select(pl.first(), "counts_up", "all_count_up")
    for name, some, every in counts.iter_rows():
        column = request.columns_of(name)[0]
        if some if is_called_rank(column) else every:
            yield Told(
                DataWarning.ranks,
                f"{column!r} counts from 1 as ranks do, and its highest number is ranked first\n\n"
                "Hint: descending=False ranks the lowest first",
            )
            return


def _decided_by_order(request: Request, where: str) -> Told:
    breaks = "ties= names the column of documents, which breaks them as in trec_eval"
    if request.document is not None:
        breaks = f"ties={request.document!r} ranks them by that column, as trec_eval does"
    return Told(
        DataWarning.ties,
        f"documents with the same score have different grades in {where}, and the order of rows "
        "decides which comes first\n\n"
        f"Hint: {breaks}; ties='order' says that the order of rows is meant",
    )


def _judged_apart(request: Request, noted: pl.DataFrame, keys: list[str]) -> Iterator[Told]:
    """Queries of which stacked strategies have other relevant documents, as joins make them."""
    if request.strategy is None or not _look_at_all_judged(request):
        return
    n, worth = pl.col("relevant"), pl.col("worth")
    apart = noted.drop_nulls(keys).filter(
        (n.min() < n.max()).over(keys[1:])
        | (worth.max() - worth.min() > ROUNDING * worth.abs().max()).over(keys[1:])
    )
    if apart.is_empty():
        return
    of, queries = apart.select(keys[1:]).n_unique(), noted.select(keys[1:]).n_unique()
    [first, *_] = _those(apart, pl.lit(value=True), keys[1:])
    of_first = apart.join(apart.head(1), on=keys[1:], how="semi", nulls_equal=True)
    found = (
        of_first.sort("relevant", "worth", maintain_order=True).select(keys[0], "relevant").rows()
    )
    (few, least), (many, most) = found[0], found[-1]
    yield Told(
        DataWarning.join,
        f"the relevant documents of a query differ between strategies in {of} of {queries} queries "
        f"(of {first_few([first])} {few!r} has {least} and {many!r} {most}): a join of the run "
        "with judgments loses those that were not retrieved, and makes measures that count what "
        "was missed too good\n\n"
        "Hint: judge(run, judgments) has each judged document, once for each strategy, with one "
        "grade",
    )


def _look_at_all_judged(request: Request) -> bool:
    """Whether any of the measures counts what was judged and not retrieved."""
    return any(measure.definition.judged for measure in request.measures.values())


def _are_joined_to_the_run(request: Request, noted: pl.DataFrame) -> bool:
    """Whether some of what was retrieved is not judged, but all that is judged was retrieved."""
    if not _look_at_all_judged(request):
        return False
    both = pl.col("retrieved_and_judged")
    some, every = noted.select(
        (pl.col("retrieved") > both).any(), (pl.col("judged") == both).all()
    ).row(0)
    return bool(some and every)


def _those(frame: pl.DataFrame, which: pl.Expr, columns: list[str]) -> list[Any]:
    """The keys of some rows, each once."""
    return frame.filter(which).select(columns).unique(maintain_order=True).rows()
