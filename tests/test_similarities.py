"""Similarity of rankings: equal to slow references, to published numbers and to other tools."""

from __future__ import annotations

import itertools
import math
import random
import re
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from helpers import simulated
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

import polars_graded as pg
from polars_graded._measuring.kernels import list_similarity
from polars_graded._measuring.kernels.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BOTH = ["x", "y"]


def read_groups(text: str) -> list[set[str]]:
    """Read a ranking such as "red (blue green) pink", with ties in brackets."""
    found = re.findall(r"\(([^)]*)\)|(\w+)", text)
    return [set(tied.split()) if tied else {alone} for tied, alone in found]


def frame_of_pairs(pairs: Iterable[tuple[Any, Any]]) -> pl.DataFrame:
    """One query per pair of rankings, with the documents in random order."""
    rows = []
    rng = random.Random(0)
    for query, lists in enumerate(pairs):
        scores = [
            {doc: -float(place) for place, group in enumerate(groups) for doc in group}
            for groups in lists
        ]
        docs = sorted({*scores[0], *scores[1]})
        rng.shuffle(docs)
        rows += [(query, doc, *(each.get(doc) for each in scores)) for doc in docs]
        rows += [(query, None, None, None)] * (not docs)
    schema = {"query": pl.Int64, "doc": pl.String, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(rows, schema, orient="row")


def compare(frame: pl.DataFrame, *measures: str, **options: Any) -> pl.DataFrame:
    """Compare two columns of scores, without warnings of ties."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.DataWarning.ties)
        warnings.simplefilter("ignore", pg.DataWarning.unjudged)
        return pg.similarity(frame, *measures, **({"by": BOTH} | options))


# Slow references, on lists of documents without ties


def agreement(a: list[str], b: list[str], d: int) -> float:
    """Share of the first d documents that two lists have in common."""
    return len({*a[:d]} & {*b[:d]}) / d


def slow_rbo(a: list[str], b: list[str], p: float) -> float:
    """RBO_EXT of Webber, Moffat and Zobel 2010, equation 32, in its own terms."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    if not s:
        return 0.0
    overlap = [len({*a[:d]} & {*b[:d]}) for d in range(n + 1)]
    total = sum(overlap[d] / d * p**d for d in range(1, n + 1))
    total += sum(overlap[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((overlap[n] - overlap[s]) / n + overlap[s] / s) * p**n


def slow_rbo_to(a: list[str], b: list[str], p: float, depth: int = 120) -> float:
    """RBO of long lists, summed term by term."""
    seen_a, seen_b, overlap, total = set[str](), set[str](), 0, 0.0
    for d in range(1, depth + 1):
        for doc, own, other in ((a[d - 1], seen_a, seen_b), (b[d - 1], seen_b, seen_a)):
            own.add(doc)
            overlap += doc in other
        total += (1 - p) * p ** (d - 1) * overlap / d
    return total


def continued(a: list[str], b: list[str], *, shared: bool) -> tuple[list[str], list[str]]:
    """Both lists continued with documents that agree as well as possible, or not at all."""
    rest_a, rest_b = ([doc for doc in two if doc not in one] for one, two in ((a, b), (b, a)))
    if not shared:
        rest_a, rest_b = [], []
    new = [f"new {place}" for place in range(130)]
    more_a, more_b = [*a, *rest_a], [*b, *rest_b]
    if shared:
        return more_a + new, more_b + new
    return more_a + new, more_b + [f"other {place}" for place in range(130)]


def slow_tau_ap(a: list[str], b: list[str]) -> float | None:
    """Yilmaz, Aslam and Robertson 2008: a is the list, b the reference."""
    common = [doc for doc in a if doc in b]
    if len(common) < 2:
        return None
    shares = []
    for place in range(1, len(common)):
        above = common[:place]
        right = sum(b.index(doc) < b.index(common[place]) for doc in above)
        shares.append(right / place)
    return 2 * sum(shares) / len(shares) - 1


def slow_displacement(a: list[str], b: list[str], n: int) -> float | None:
    moves = [
        abs(a.index(doc) - b.index(doc)) for doc in a if doc in b[:n] or (doc in b and doc in a[:n])
    ]
    return max(moves, default=None)


def slow_jaccard(a: list[str], b: list[str], n: int) -> float:
    return len({*a[:n]} & {*b[:n]}) / len({*a[:n]} | {*b[:n]})


GRADES = {"a": 2, "b": 0, "c": 1, "e": 3, "f": 0, "g": 1}
"""Grades of documents; d and h are not judged."""


def count_relevant(docs: set[str], lowest: int = 1) -> int:
    return sum(GRADES.get(doc, 0) >= lowest for doc in docs)


REFERENCES: dict[str, Callable[[list[str], list[str]], float | None]] = {
    "overlap@3": lambda a, b: agreement(a, b, min(3, max(len(a), len(b)))),
    "overlap": lambda a, b: agreement(a, b, max(len(a), len(b))),
    "average_overlap@4": lambda a, b: float(
        np.mean([agreement(a, b, d) for d in range(1, min(4, max(len(a), len(b))) + 1)])
    ),
    "jaccard@3": lambda a, b: slow_jaccard(a, b, 3),
    "rbo(p=0.7)": lambda a, b: slow_rbo(a, b, 0.7),
    "rbo_min(p=0.7)": lambda a, b: slow_rbo_to(*continued(a, b, shared=False), 0.7),
    "rbo_max(p=0.7)": lambda a, b: slow_rbo_to(*continued(a, b, shared=True), 0.7),
    "tau_ap": slow_tau_ap,
    "max_displacement@2": lambda a, b: slow_displacement(a, b, 2),
    "max_displacement": lambda a, b: slow_displacement(a, b, 99),
    "top_changed": lambda a, b: float(a[:1] != b[:1]),
    "relevant_entered@3": lambda a, b: count_relevant({*a[:3]} - {*b[:3]}),
    "relevant_left@3": lambda a, b: count_relevant({*b[:3]} - {*a[:3]}),
    "relevant_left": lambda a, b: count_relevant({*b} - {*a}),
    "relevant_entered(threshold=2)@2": lambda a, b: count_relevant({*a[:2]} - {*b[:2]}, 2),
}

DOCS = "abcdefgh"
lists = st.lists(st.sampled_from(DOCS), unique=True, max_size=8)


@given(st.lists(st.tuples(lists, lists).filter(any), min_size=1, max_size=6))
def test_lists_of_all_shapes_equal_the_slow_references(pairs):
    grouped = [tuple([{doc} for doc in each] for each in pair) for pair in pairs]
    frame = frame_of_pairs(grouped).with_columns(
        grade=pl.col("doc").replace_strict(GRADES, default=None, return_dtype=pl.Int64)
    )
    got = compare(frame, *REFERENCES)
    for name, reference in REFERENCES.items():
        expected = [reference(*pair) for pair in pairs]
        assert got[name].to_list() == pytest.approx(expected, abs=1e-9, nan_ok=True), name


def orders(groups: list[set[str]]) -> list[list[str]]:
    """All orders of tied documents."""
    each = [list(itertools.permutations(sorted(group))) for group in groups]
    return [[doc for group in chosen for doc in group] for chosen in itertools.product(*each)]


@st.composite
def tied_lists(draw: st.DrawFn) -> list[set[str]]:
    docs = draw(st.lists(st.sampled_from(DOCS[:6]), unique=True, min_size=1, max_size=4))
    levels = [draw(st.integers(0, 2)) for _ in docs]
    groups = [
        {doc for doc, at in zip(docs, levels, strict=True) if at == level} for level in (0, 1, 2)
    ]
    return [group for group in groups if group]


@given(st.lists(st.tuples(tied_lists(), tied_lists()), min_size=1, max_size=3))
def test_variant_a_is_the_mean_over_all_orders_of_tied_documents(pairs):
    # Agreement is bilinear, but the extrapolation of lists of unlike lengths is not.
    alike = [len({sum(map(len, each)) for each in pair}) == 1 for pair in pairs]
    references: dict[str, Callable[[list[str], list[str]], float]] = {
        "overlap@2": lambda a, b: agreement(a, b, min(2, max(len(a), len(b)))),
        "average_overlap@3": lambda a, b: float(
            np.mean([agreement(a, b, d) for d in range(1, min(3, max(len(a), len(b))) + 1)])
        ),
        "rbo": lambda a, b: slow_rbo(a, b, 0.9),
    }
    values = compare(frame_of_pairs(pairs), *references)
    for name, reference in references.items():
        for value, is_alike, (one, two) in zip(values[name], alike, pairs, strict=True):
            if is_alike or name != "rbo":
                every = [reference(a, b) for a in orders(one) for b in orders(two)]
                assert value == pytest.approx(np.mean(every), abs=1e-9), name


def contribution(groups: list[set[str]], doc: str, d: int, ties: str) -> float:
    """Share of a document that is among the first d: c of Corsi and Urbano 2024."""
    top = 1
    for group in groups:
        bottom = top + len(group) - 1
        if doc in group:
            reached = 1.0 if ties == "w" else (d - top + 1) / len(group)
            return 0.0 if d < top else 1.0 if d >= bottom else reached
        top = bottom + 1
    return 0.0


def slow_tied_rbo(x: list[set[str]], y: list[set[str]], p: float, ties: str) -> float:
    """RBO_EXT of Corsi and Urbano 2024, from the contribution of each document at each depth."""
    short, long = sorted((x, y), key=lambda groups: sum(map(len, groups)))
    (s, n), docs = [sum(map(len, each)) for each in (short, long)], {*chain(*x), *chain(*y)}
    at_end, total = 0.0, 0.0
    for d in range(1, n + 1):
        one, two = (
            {doc: contribution(each, doc, d, ties) for doc in docs} for each in (short, long)
        )
        overlap = sum(one[doc] * two[doc] for doc in docs)
        seen = overlap
        if d > s:
            only = [two[doc] for doc in docs - {*chain(*short)} if two[doc] > 0]
            overlap += (d - s) * at_end * sum(only) / len(only)
        counts = [sum(each.values()) for each in (one, two)]
        squares = [sum(c * c for c in each.values()) for each in (one, two)]
        if d > s:
            counts[0] = squares[0] = d
        size = {"a": d, "b": math.sqrt(squares[0] * squares[1]), "w": sum(counts) / 2}[ties]
        agreement = overlap / size
        at_end = agreement if d == s else at_end
        total += (1 - p) * p ** (d - 1) * agreement
    return total + (seen + (n - s) * at_end) / n * p**n


@given(st.lists(st.tuples(tied_lists(), tied_lists()), min_size=1, max_size=5))
def test_variants_equal_the_slow_reference(pairs):
    names = {f"rbo(p=0.8, ties={ties})": ties for ties in "wab"}
    values = compare(frame_of_pairs(pairs), *names)
    for name, ties in names.items():
        expected = [slow_tied_rbo(*pair, 0.8, ties) for pair in pairs]
        assert values[name].to_list() == pytest.approx(expected, abs=1e-12)


# Values of the implementation of Corsi and Urbano 2024 (github.com/julian-urbano/sigir2024-rbo,
# rbo/test.csv): the rankings, p, and RBO_EXT, RBO_MIN and RBO_MAX of the variants w, a and b.
CORSI_AND_URBANO = [
    (
        "(i3 i6) (i2 i7) i10",
        "(i3 i6 i7 i10) (i1 i2)",
        0.965413635276732,
        (0.946064537517568, 0.343706790399566, 0.958770957517067),
        (0.92051534467649, 0.319428239558438, 0.934492406675939),
        (0.956844651806714, 0.348953051936765, 0.964017219054266),
    ),
    (
        "(i3 i6 i10 i14 i15)",
        "i6 (i3 i7 i10 i14) i8 i15 (i1 i2 i4)",
        0.926466853612826,
        (0.826094305041388, 0.472435570943777, 0.886946365077668),
        (0.756260643055255, 0.408427037876955, 0.819119845432353),
        (0.828615638235269, 0.479991820201298, 0.891823302442912),
    ),
    (
        "(i1 i3 i6 i11 i15) i17 (i5 i8)",
        "(i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12)",
        0.966485585840186,
        (0.647993254615828, 0.307897712904381, 0.853885398258049),
        (0.56593642947334, 0.250532359019861, 0.795583602856033),
        (0.658581961799868, 0.315458973083789, 0.861496368240528),
    ),
    (
        "i5 (i1 i2 i3 i4 i6)",
        "i14 i11 (i1 i2 i3 i6 i8 i9 i10 i13)",
        0.989677000181474,
        (0.582382777932075, 0.109321635629902, 0.947128961509598),
        (0.506338899449639, 0.0951569037156836, 0.933510149185559),
        (0.538239342563821, 0.0990949395707414, 0.938103744890412),
    ),
    (
        "(i4 i14) i10 i9 i16 i1 (i11 i21) i7",
        "(i4 i7 i9 i10 i14 i16) i21 (i1 i11) (i3 i6 i17 i18)",
        0.980350757903177,
        (0.95731778452095, 0.350742506261885, 0.95731778452095),
        (0.939619367902257, 0.336112285552834, 0.939619367902257),
        (0.96333114711547, 0.35963910728389, 0.96333114711547),
    ),
    (
        "i21 i20 (i1 i16 i19) (i5 i10) i4",
        "(i12 i17) (i2 i3 i8 i11) (i15 i18) (i6 i13) (i7 i14) i9",
        0.930074017489188,
        (0, 0, 0.389142712252727),
        (0, 0, 0.38977330351866),
        (0, 0, 0.390116806797613),
    ),
    (
        "i4 (i2 i14) i7 i5 i3",
        "(i9 i13) (i6 i8) i1 i5 i10 i15 i11",
        0.986650551181127,
        *[(0.155835200392091, 0.02839705430193, 0.89085092447296)] * 3,
    ),
]


@pytest.mark.parametrize(("x", "y", "p", "w", "a", "b"), CORSI_AND_URBANO)
def test_ties_equal_the_values_of_corsi_and_urbano(x, y, p, w, a, b):
    pair = read_groups(x), read_groups(y)
    names = [
        f"{name}(p={p!r}, ties={ties})" for ties in "wab" for name in ("rbo", "rbo_min", "rbo_max")
    ]
    values = compare(frame_of_pairs([pair, pair[::-1]]), *names).select(names)
    for row in values.rows():
        assert row == pytest.approx((*w, *a, *b), abs=1e-12)


@given(st.integers(0, 10**6))
def test_correlations_equal_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        [
            (
                query,
                str(doc),
                *(None if rng.random() < 0.2 else rng.integers(0, 6) / 3 for _ in "xy"),
            )
            for query in range(20)
            for doc in range(rng.integers(1, 12))
        ],
        {"query": pl.Int64, "doc": pl.String, "x": pl.Float64, "y": pl.Float64},
        orient="row",
    )
    got = compare(frame, "kendall_tau", "spearman", descending=True)
    for (query,), rows in frame.drop_nulls().group_by("query"):
        own = got.filter(query=query)
        for name, theirs in (("kendall_tau", stats.kendalltau), ("spearman", stats.spearmanr)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = theirs(rows["x"], rows["y"]).statistic if rows.height > 1 else math.nan
            expected = None if math.isnan(value) else pytest.approx(value, abs=1e-12)
            assert own[name].item() == expected, (name, rows)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 100, *simulated(3000)])
def test_lower_values_before_are_counted_in_lists_of_any_length(length, monkeypatch):
    rng = np.random.default_rng(length)
    rows = [rng.permutation(n) for n in (length, 0, length // 2, 1, length)]
    offsets = np.cumsum([0, *map(len, rows)])
    found = Ragged(np.concatenate(rows).astype(float), offsets)
    expected = [int((row[:place] < row[place]).sum()) for row in rows for place in range(len(row))]
    assert list_similarity.count_lower_before(found).tolist() == expected
    monkeypatch.setattr(list_similarity, "MAX_COMPARED_LENGTH", 1)
    assert list_similarity.count_lower_before(found).tolist() == expected


# Frames

EXAMPLE = pl.DataFrame(
    {
        "query": [1, 1, 1, 2, 2],
        "doc": [7, 8, 9, 7, 8],
        "bm25": [3.0, 2.0, 1.0, 5.0, 1.0],
        "ours": [1.0, 2.0, None, 5.0, 2.0],
        "old": [0.5, None, 0.1, None, None],
    }
)
NAMES = ["bm25", "ours", "old"]
EVERY = ["rbo", "rbo_min", "overlap@2", "jaccard@2", "kendall_tau", "tau_ap", "overlap_curve@2"]


def test_stacked_and_lazy_frames_give_the_same_values():
    expected = compare(EXAMPLE, *EVERY, by=NAMES, descending=True)
    stacked = EXAMPLE.unpivot(NAMES, index=["query", "doc"], variable_name="strategy").sample(
        fraction=1, shuffle=True, seed=1
    )
    options: dict[str, Any] = {"by": "value", "strategy": "strategy", "descending": True}
    # Stacked strategies are in natural order, the columns in that of `by`.
    in_order = compare(EXAMPLE, *EVERY, by=sorted(NAMES), descending=True)
    assert_frame_equal(compare(stacked, *EVERY, **options), in_order)
    assert_frame_equal(compare(stacked.drop_nulls(), *EVERY, **options), in_order)
    assert_frame_equal(compare(EXAMPLE.lazy(), *EVERY, by=NAMES, descending=True), expected)
    # No row of "old" is left for query 2.
    assert_frame_equal(compare(stacked.drop_nulls().lazy(), *EVERY, **options), in_order)


def test_relevant_documents_that_enter_and_leave_need_grades():
    graded = EXAMPLE.with_columns(level=pl.Series([1, 3, 0, None, 4]))
    names, options = ["relevant_entered@1", "relevant_left@1"], {"grade": "level", "by": NAMES[:2]}
    # Query 1: "bm25" has document 7 (grade 1) first, and "ours" 8 (grade 3). Query 2: both have 7.
    for irrelevant, first in ((0, (1, 1)), (1, (0, 1)), (3, (0, 0))):
        values = pg.similarity(graded, *names, irrelevant=irrelevant, **options)
        assert values.select(names).rows() == [first, (0, 0)]
        assert values.schema["relevant_left@1"] == pl.UInt32
    stacked = graded.unpivot(NAMES, index=["query", "doc", "level"], variable_name="strategy")
    expected = compare(graded, *names, "rbo", grade="level", by=sorted(NAMES), relevant_from=4)
    options = {"by": "value", "strategy": "strategy", "grade": "level", "relevant_from": 4}
    assert_frame_equal(compare(stacked, *names, "rbo", **options), expected)
    assert {*pg.summarise(expected)["best"]} == {"none"}
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="no column 'grade'"):
        pg.similarity(EXAMPLE, "relevant_left@1", by=NAMES)
    with pytest.raises(TypeError, match="`grade` must be a column name or an expression"):
        pg.similarity(graded, "relevant_left@1", by=NAMES, grade=["level", "query"])
    unjudged = graded.with_columns(level=pl.when(pl.col("query") == 1).then("level"))
    with pytest.warns(pg.DataWarning.unjudged, match="no document is judged in 1 of 2 queries"):
        pg.similarity(unjudged, "relevant_left@1", **options | {"by": NAMES, "strategy": None})


@pytest.mark.parametrize(
    ("change", "options", "rule"),
    [
        ({}, {"by": ["bm25"]}, "at least two strategies to compare, got 'bm25'"),
        ({"doc": pl.lit(7)}, {"by": NAMES}, "must have each document of 'doc' once per ranking"),
        ({"ours": pl.lit(float("nan"))}, {"by": NAMES}, "score 'ours' must be finite"),
        ({"a": "query"}, {"by": NAMES, "query": "a"}, "may have the name of another, got 'a'"),
        ({"ours": pl.lit("x")}, {"by": NAMES}, "score 'ours' must be a number to rank by"),
    ],
)
def test_unusable_frames_raise(change, options, rule):
    with pytest.raises((ValueError, TypeError), match=re.escape(rule)):
        pg.similarity(EXAMPLE.with_columns(**change), "rbo", **options)


@pytest.mark.parametrize(
    ("measure", "rule"),
    [
        ("ndcg@10", "'ndcg@10' is a measure of one ranking"),
        ("rbo@10", "rbo takes no cutoff"),
        ("jaccard(ties=a)", "`ties` must"),
    ],
)
def test_wrong_measures_raise(measure, rule):
    with pytest.raises(ValueError, match=re.escape(rule)):
        pg.similarity(EXAMPLE, measure, by=NAMES)
    with pytest.raises(ValueError, match="'rbo' is a measure of two rankings"):
        pg.evaluate(EXAMPLE, "rbo", by=NAMES)


@pytest.mark.parametrize("queries", [1, 7])
def test_chunks_of_queries_do_not_change_values(queries, monkeypatch):
    from polars_graded._measuring import chunks

    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"query": np.arange(900) // 30, "x": rng.integers(0, 9, 900), "y": rng.random(900)}
    )
    expected = compare(frame, *EVERY)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30 * queries)
    assert_frame_equal(compare(frame, *EVERY), expected)


def test_strategies_keep_their_type_without_rows():
    rows = pl.DataFrame(
        {"strategy": ["x", "y"], "query": [1, 1], "doc": ["d", "d"], "score": [1.0, 2.0]},
        schema_overrides={"strategy": pl.Enum(["x", "y"])},
    )
    full, empty = (pg.similarity(each, "rbo", strategy="strategy") for each in (rows, rows.clear()))
    assert empty.schema == full.schema
