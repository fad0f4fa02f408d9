"""What a user types: values worked by hand, how rows are read, and every refusal."""

from __future__ import annotations

import math
import re
from itertools import chain

import polars as pl
import pytest
from helpers import GRADED, ODD_QUERIES, Query, frame_of, random_queries, values

from polars_graded import evaluate, graded
from polars_graded._measuring import chunks

LOG3, LOG5 = math.log2(3), math.log2(5)

# Rank order `1 0 ? 3`; the document of grade 2 was not retrieved. So R = 3, and 2 from grade 2 on.
EXAMPLE: Query = [(0.9, 1), (0.8, 0), (0.7, None), (0.6, 3), (None, 2), (None, None)]

UNANSWERED: Query = [(None, grade) for _, grade in EXAMPLE if grade is not None]
"""The same judgments; nothing was retrieved."""


def of_nothing_retrieved(name, expected):
    """What a measure is there, where `expected` is what it is of the example."""
    function = re.split("[(@]", name)[0]
    if function in {"ideal_dcg", "ideal_dcg_curve", "n_relevant"} or name == "roc_auc(threshold=0)":
        return expected  # it looks at judgments alone
    if function == "roc_auc":
        return 1 / 2  # all are tied at the end
    if function.endswith("_curve") and "@" not in name:
        return []
    return [0] * len(expected) if isinstance(expected, list) else int(function == "e_measure")


ALL_RELEVANT = GRADED.scaled(irrelevant=-1)
"""So that a threshold of 0 has all that is judged relevant."""

BY_HAND = [
    (GRADED.precision(), 2 / 4),
    (GRADED.precision(1), 1),
    (GRADED.precision(3), 1 / 3),
    (GRADED.precision(10), 2 / 10),
    (GRADED.precision(threshold=2), 1 / 4),
    (ALL_RELEVANT.precision(threshold=0), 3 / 4),
    (GRADED.judged(), 3 / 4),
    (GRADED.judged(2), 2 / 2),
    (GRADED.judged(3), 2 / 3),
    (GRADED.judged(10), 3 / 4),
    (GRADED.recall(), 2 / 3),
    (GRADED.recall(3), 1 / 3),
    (GRADED.recall(threshold=2), 1 / 2),
    (GRADED.recall(3, threshold=2), 0),
    (GRADED.recall(over="cutoff"), 2 / 3),
    (GRADED.recall(2, over="cutoff"), 1 / 2),
    (GRADED.f_measure(), 2 / (1 / (2 / 3) + 1 / (2 / 4))),
    (GRADED.f_measure(2), 2 / (1 / (1 / 3) + 1 / (1 / 2))),
    (GRADED.f_measure(beta=2), (1 + 4) / (4 / (2 / 3) + 1 / (2 / 4))),
    (GRADED.f_measure(3, threshold=2), 0),
    (GRADED.e_measure(), 1 - 2 / (1 / (2 / 3) + 1 / (2 / 4))),
    (GRADED.e_measure(b=2), 1 - (1 + 4) / (4 / (2 / 3) + 1 / (2 / 4))),
    (GRADED.e_measure(3, threshold=2), 1),
    (GRADED.r_precision(), 1 / 3),
    (GRADED.r_precision(threshold=2), 0),
    (ALL_RELEVANT.r_precision(threshold=0), 3 / 4),
    (GRADED.ap(), (1 / 1 + 2 / 4) / 3),
    (GRADED.ap(3), (1 / 1) / 3),
    (GRADED.ap(threshold=2), (1 / 4) / 2),
    (ALL_RELEVANT.ap(threshold=0), (1 / 1 + 2 / 2 + 3 / 4) / 4),
    (GRADED.ap(over="retrieved"), (1 / 1 + 2 / 4) / 2),
    (GRADED.ap(3, over="retrieved"), 1 / 1),
    (GRADED.ap(3, threshold=2, over="retrieved"), 0),
    (GRADED.ap(2, over="cutoff"), (1 / 1) / 2),
    (GRADED.ap(10, over="cutoff"), (1 / 1 + 2 / 4) / 3),
    (GRADED.mu_ap(), ((1 / 1 + 2 / 4) / 3 + (1 / 4) / 2 + (1 / 4) / 1) / 3),
    (GRADED.mu_ap(3), ((1 / 1) / 3 + 0 + 0) / 3),
    (GRADED.mu_ap(levels=[1, 3]), (1 * (1 / 1 + 2 / 4) / 3 + 2 * (1 / 4) / 1) / 3),
    (GRADED.mu_ap(levels=[0, 2.5, 5]), (2.5 * (1 / 4) + 2.5 * 0) / 5),
    (GRADED.gap(), (1 / 1 + (1 + 3) / 4) / (1 + 0 + 3 + 2)),
    (GRADED.gap(3), (1 / 1) / (1 + 0 + 3 + 2)),
    (GRADED.gap(levels=[1, 2, 3]), (1 / 1 + (1 + 3) / 4) / (1 + 0 + 3 + 2)),
    (GRADED.gap(levels=[2, 3]), (2 / 4) / (0 + 0 + 2 + 1)),
    (GRADED.gap(levels=[-1, 0, 2, 3]), (2 / 4) / (0 + 0 + 2 + 1)),
    (GRADED.reciprocal_rank(), 1 / 1),
    (GRADED.reciprocal_rank(threshold=2), 1 / 4),
    (GRADED.reciprocal_rank(3, threshold=2), 0),
    (GRADED.success(), 1),
    (GRADED.success(3, threshold=2), 0),
    (GRADED.success(4, threshold=2), 1),
    (GRADED.bpref(), ((1 - 0 / 1) + (1 - 1 / 1)) / 3),
    (ALL_RELEVANT.bpref(threshold=0), ((1 - 0) + (1 - 0) + (1 - 0)) / 4),
    (GRADED.roc_auc(), (1 + 0 + 0) / (3 * 1)),
    (GRADED.roc_auc(threshold=3), (0 + 0 + 1) / (1 * 3)),
    (ALL_RELEVANT.roc_auc(threshold=0), None),
    (ALL_RELEVANT.undefined_as(0.5).roc_auc(threshold=0), 0.5),
    (GRADED.generalized_precision(), (1 / 3 + 3 / 3) / 4),
    (GRADED.generalized_precision(1), 1 / 3),
    (GRADED.generalized_precision(10), (1 / 3 + 3 / 3) / 10),
    (GRADED.scaled(max_grade=4).generalized_precision(1), 1 / 4),
    (GRADED.generalized_recall(), (1 + 3) / 6),
    (GRADED.generalized_recall(3), 1 / 6),
    (GRADED.cg(), 1 + 7),
    (GRADED.cg(3), 1),
    (GRADED.cg(gain="linear"), 1 + 3),
    (GRADED.cg(gain={1: 0.5, 2: 4, 3: 4}), 0.5 + 4),
    (GRADED.dcg(), 1 / 1 + 7 / LOG5),
    (GRADED.dcg(gain="linear"), 1 / 1 + 3 / LOG5),
    (GRADED.dcg(base=10), 1 / math.log10(2) + 7 / math.log10(5)),
    (GRADED.dcg(discount="zipf"), 1 / 1 + 7 / 4),
    (GRADED.dcg(discount="none"), 1 + 7),
    (GRADED.dcg(discount="jarvelin"), 1 + 7 / math.log2(4)),
    (GRADED.dcg(discount="jarvelin", base=3), 1 + 7 / math.log(4, 3)),
    (GRADED.dcg(discount="jarvelin", base=5), 1 + 7),
    (GRADED.ideal_dcg(), 7 / 1 + 3 / LOG3 + 1 / 2),
    (GRADED.ideal_dcg(2), 7 / 1 + 3 / LOG3),
    (GRADED.ideal_dcg(gain="linear", discount="jarvelin"), 3 + 2 / 1 + 1 / LOG3),
    (GRADED.ndcg(), (1 / 1 + 7 / LOG5) / (7 / 1 + 3 / LOG3 + 1 / 2)),
    (GRADED.ndcg(1), 1 / 7),
    (GRADED.ndcg(gain="linear"), (1 / 1 + 3 / LOG5) / (3 / 1 + 2 / LOG3 + 1 / 2)),
    (GRADED.ndcg(gain={1: 1, 2: 1, 3: 1}), (1 / 1 + 1 / LOG5) / (1 / 1 + 1 / LOG3 + 1 / 2)),
    (GRADED.ndcg(2, gain="linear", discount="none"), (1 + 0) / (3 + 2)),
    (GRADED.ndcg_area(2, gain="linear"), (1 / 3 + 1 / (3 / 1 + 2 / LOG3)) / 2),
    (GRADED.ndcg_area(gain="linear", discount="none"), (1 / 3 + 1 / 5 + 1 / 6 + 4 / 6) / 4),
    (GRADED.ndcg_area(5, gain="linear", discount="none"), (1 / 3 + 1 / 5 + 1 / 6 + 4 / 6 * 2) / 5),
    (GRADED.ndcng(1), (2 ** (1 / 3) - 1) / (2 ** (3 / 3) - 1)),
    (GRADED.ndcng_area(1), (2 ** (1 / 3) - 1) / (2 ** (3 / 3) - 1)),
    (
        GRADED.ndcng(),
        ((2 ** (1 / 3) - 1) / 1 + 1 / LOG5)
        / (1 / 1 + (2 ** (2 / 3) - 1) / LOG3 + (2 ** (1 / 3) - 1) / 2),
    ),
    (GRADED.ndcng(1, gain="linear"), (1 / 3) / (3 / 3)),
    (GRADED.ndcng(1, gain={1: 2, 2: 4, 3: 8}), (2 ** (2 / 8) - 1) / (2 ** (8 / 8) - 1)),
    (GRADED.scaled(max_grade=4).ndcng(1), (2 ** (1 / 4) - 1) / (2 ** (3 / 4) - 1)),
    (GRADED.scaled(irrelevant=1).ndcng(1), 0),
    (GRADED.scaled(irrelevant=1).cg(), 0 + 3),
    (GRADED.scaled(irrelevant=1).ap(), (1 / 4) / 2),
    (GRADED.scaled(irrelevant=1).mu_ap(), ((1 / 4) / 2 + (1 / 4) / 1) / 2),
    (GRADED.scaled(irrelevant=-1).cg(), 3 + 1 + 15),
    (GRADED.scaled(relevant_from=2).cg(), 7),
    (GRADED.scaled(relevant_from=2).cg(gain={2: 4, 3: 8}), 8),
    (GRADED.scaled(irrelevant=1, relevant_from=3).cg(), 2**2 - 1),
    (GRADED.scaled(relevant_from=2).ndcg(), (7 / LOG5) / (7 / 1 + 3 / LOG3)),
    (GRADED.scaled(relevant_from=2).precision(), 1 / 4),
    (GRADED.scaled(relevant_from=2).ap(), (1 / 4) / 2),
    (GRADED.scaled(relevant_from=2).ap(threshold=2), (1 / 4) / 2),
    (GRADED.scaled(relevant_from=2).ap(threshold=3), (1 / 4) / 1),
    (GRADED.scaled(relevant_from=2).mu_ap(), (2 * (1 / 4) / 2 + 1 * (1 / 4) / 1) / 3),
    (GRADED.scaled(relevant_from=2).err(), (7 / 8) / 4),
    (GRADED.scaled(relevant_from=2).generalized_precision(), (3 / 3) / 4),
    (GRADED.scaled(relevant_from=2).generalized_recall(), 3 / (3 + 2)),
    (GRADED.scaled(relevant_from=3).n_relevant(), 1),
    (GRADED.scaled(relevant_from=4).n_relevant(), 0),
    (GRADED.scaled(relevant_from=4).only_grade(1).n_relevant(), 1),
    (GRADED.err(), 1 / 8 + (7 / 8) * (7 / 8) / 4),
    (GRADED.err(3), 1 / 8),
    (GRADED.scaled(max_grade=4).err(), 1 / 16 + (15 / 16) * (7 / 16) / 4),
    (GRADED.nerr(1), (1 / 8) / (7 / 8)),
    (GRADED.nerr(2), (1 / 8) / (7 / 8 + (1 / 8) * (3 / 8) / 2)),
    (GRADED.rbp(), (1 - 0.8) * (1 + 0.8**3)),
    (GRADED.rbp(3), 1 - 0.8),
    (GRADED.rbp(p=0.5), (1 + 1 / 8) / 2),
    (GRADED.rbp(p=0.5, graded=True), (1 / 3 + (3 / 3) / 8) / 2),
    (GRADED.rbp(p=0.5, threshold=2), (1 / 8) / 2),
    (GRADED.rbp(p=0.5, threshold=2, graded=True), (3 / 3 / 8) / 2),
    (GRADED.q_measure(), ((1 + 1) / (1 + 3) + (2 + 4) / (4 + 6)) / 3),
    (GRADED.q_measure(2), ((1 + 1) / (1 + 3)) / 3),
    (GRADED.q_measure(2, over="cutoff"), ((1 + 1) / (1 + 3)) / 2),
    (GRADED.q_measure(beta=0), (1 / 1 + 2 / 4) / 3),
    (GRADED.q_measure(beta=2), ((1 + 2 * 1) / (1 + 2 * 3) + (2 + 2 * 4) / (4 + 2 * 6)) / 3),
    (GRADED.q_measure(gain="exp2"), ((1 + 1) / (1 + 7) + (2 + 8) / (4 + 11)) / 3),
    (GRADED.n_retrieved(), 4),
    (GRADED.n_relevant(), 3),
    (GRADED.n_relevant(threshold=2), 2),
    (ALL_RELEVANT.n_relevant(threshold=0), 4),
    (GRADED.n_relevant_retrieved(), 2),
    (GRADED.n_relevant_retrieved(threshold=2), 1),
    (GRADED.n_relevant_retrieved(3), 1),
    (GRADED.n_relevant_retrieved(3, threshold=2), 0),
    (GRADED.scaled(irrelevant=1).n_relevant(), 2),
    (GRADED.precision_curve(), [1 / 1, 1 / 2, 1 / 3, 2 / 4]),
    (GRADED.precision_curve(6), [1 / 1, 1 / 2, 1 / 3, 2 / 4, 2 / 5, 2 / 6]),
    (ALL_RELEVANT.precision_curve(2, threshold=0), [1 / 1, 2 / 2]),
    (GRADED.recall_curve(), [1 / 3, 1 / 3, 1 / 3, 2 / 3]),
    (GRADED.recall_curve(5), [1 / 3, 1 / 3, 1 / 3, 2 / 3, 2 / 3]),
    (GRADED.interpolated_precision(), [1 / 1] * 4 + [2 / 4] * 3 + [0] * 4),
    (GRADED.interpolated_precision(recall_levels=2), [1 / 1, 0]),
    (GRADED.interpolated_precision(recall_levels=[1 / 3, 0.5, 2 / 3]), [1 / 1, 2 / 4, 2 / 4]),
    (GRADED.interpolated_precision(recall_levels=3, threshold=2), [1 / 4, 1 / 4, 0]),
    (GRADED.cg_curve(gain="linear"), [1, 1, 1, 1 + 3]),
    (GRADED.dcg_curve(5), [1, 1, 1, 1 + 7 / LOG5, 1 + 7 / LOG5]),
    (GRADED.ideal_dcg_curve(gain="linear"), [3, 3 + 2 / LOG3] + [3 + 2 / LOG3 + 1 / 2] * 2),
    (GRADED.ideal_dcg_curve(6, gain="linear", discount="none"), [3, 3 + 2] + [3 + 2 + 1] * 4),
    (GRADED.ndcg_curve(gain="linear", discount="none"), [1 / 3, 1 / 5, 1 / 6, 4 / 6]),
    (
        GRADED.ndcng_curve(2),
        [2 ** (1 / 3) - 1, (2 ** (1 / 3) - 1) / (1 + (2 ** (2 / 3) - 1) / LOG3)],
    ),
]


@pytest.mark.parametrize(
    ("expr", "expected"), BY_HAND, ids=[expr.meta.output_name() for expr, _ in BY_HAND]
)
def test_value_worked_by_hand(expr, expected):
    found = values(expr, frame_of([EXAMPLE, UNANSWERED, EXAMPLE]))
    nothing = of_nothing_retrieved(expr.meta.output_name(), expected)
    for value, right in zip(found, (expected, nothing, expected), strict=True):
        assert value == (None if right is None else pytest.approx(right, rel=1e-12))


# Other examples, with their own rows.

HALVES = [(4, 0), (3, 1), (2, 0), (1, 1)]

MORE_BY_HAND: list[tuple[pl.Expr, Query, float]] = [
    (GRADED.gap(), [(4, 3), (3, 1), (2, 2), (1, 2)], 0.9270833333333333),
    (
        GRADED.gap(),
        [(4, 3), (3, 1), (2, 2), (1, 2)],
        (3 / 1 + (1 + 1) / 2 + (2 + 1 + 2) / 3 + (2 + 1 + 2 + 2) / 4) / (3 + 1 + 2 + 2),
    ),
    (GRADED.bpref(), HALVES, ((1 - 1 / 2) + (1 - 2 / 2)) / 2),
    # Two relevant documents bound what is held against a hit: three others above it count as two.
    (GRADED.bpref(), [(5, 1), (4, 0), (3, 0), (2, 0), (1, 1)], ((1 - 0) + (1 - 2 / 2)) / 2),
    (GRADED.bpref(), [(3, 0), (2, 1), (None, 1)], (1 - 1 / 1) / 2),
    (GRADED.bpref(), [(2, 1), (1, 1)], (1 + 1) / 2),
    (GRADED.roc_auc(), HALVES, (0 + 1 + 0 + 0) / 4),
    (GRADED.roc_auc(), [(1, 1), (1, 0), (1, 0)], (1 / 2 + 1 / 2) / 2),
    (GRADED.roc_auc(), [(1, 1), (1, 0), (None, 1), (None, 0)], (1 / 2 + 1 + 0 + 1 / 2) / 4),
    (GRADED.roc_auc(), [(2, None), (1, 1), (None, 0)], 1 / 1),
]


@pytest.mark.parametrize(("expr", "query", "expected"), MORE_BY_HAND)
def test_value_of_another_example_worked_by_hand(expr, query, expected):
    assert values(expr, frame_of([query])) == [pytest.approx(expected, rel=1e-12)]


@pytest.mark.parametrize(
    ("by", "expected"),
    [(["all"], 1 / 2), (["all", "pair"], 1), (["all", "last"], 0), (["all", "null"], 1 / 2)],
)
def test_documents_are_tied_where_all_columns_are_equal(by, expected):
    frame = pl.DataFrame({"grade": [1, 0], "all": [0.0, -0.0], "pair": ["b", "a"]})
    frame = frame.with_columns(last=pl.Series([None, 1]), null=None)
    precision = graded("grade").ranked_by(*by).precision(1, ties="average")
    assert frame.select(precision).item() == expected


# U, the relevant documents that the user knew, are the first and the fifth; the first was retrieved
# and with it two others that are relevant.
KNOWN = pl.DataFrame(
    {
        "grade": [1, 0, 3, 2, 2, None, 1],
        "score": [9, 8, 7, 6, None, 5, None],
        "known": [True, True, None, False, True, True, False],
    }
)

USER_ORIENTED = [
    (GRADED.coverage_ratio(known="known"), 1 / 2),
    (GRADED.novelty_ratio(known="known"), 2 / 3),
    (GRADED.relative_recall(known="known"), (1 + 2) / 2),
    (GRADED.recall_effort(known="known"), 2 / 5),
    (GRADED.coverage_ratio(known="known", threshold=2), 0 / 1),
    (GRADED.novelty_ratio(known="known", threshold=2), 2 / 2),
    (GRADED.relative_recall(known="known", threshold=2), 2 / 1),
    (GRADED.recall_effort(known="known", threshold=2), 1 / 5),
    (GRADED.condensed().recall_effort(known="known"), 2 / 4),
    (GRADED.coverage_ratio(known=pl.col("score") > 6), 2 / 2),
    (GRADED.undefined_as(None).coverage_ratio(known=pl.lit(False)), None),
    (GRADED.undefined_as(None).relative_recall(known=pl.lit(False)), None),
    (GRADED.undefined_as(None).novelty_ratio(known=pl.lit(False)), 3 / 3),
    (GRADED.undefined_as(None).recall_effort(known=pl.lit(False)), 0 / 5),
    (GRADED.undefined_as(None).scaled(irrelevant=3).novelty_ratio(known="known"), None),
]


@pytest.mark.parametrize(("expr", "expected"), USER_ORIENTED)
def test_user_oriented_value_worked_by_hand(expr, expected):
    assert KNOWN.select(expr).item() == (expected and pytest.approx(expected, rel=1e-15))


USER_MEASURES = ["coverage_ratio", "novelty_ratio", "relative_recall", "recall_effort"]


# A row beside a relevant document of score 1, and what then are these measures.
ROW_MEASURES = ["n_retrieved", "n_relevant", "precision", "recall", "reciprocal_rank", "ideal_dcg"]
ROW_MEANINGS = {
    "retrieved and judged": ((2, 1), [2, 2, 2 / 2, 2 / 2, 1 / 1, 1 + 1 / LOG3]),
    "retrieved, unjudged": ((2, None), [2, 1, 1 / 2, 1 / 1, 1 / 2, 1]),
    "judged, not retrieved": ((None, 1), [1, 2, 1 / 1, 1 / 2, 1 / 1, 1 + 1 / LOG3]),
    "ignored": ((None, None), [1, 1, 1 / 1, 1 / 1, 1 / 1, 1]),
}


@pytest.mark.parametrize("meaning", ROW_MEANINGS)
def test_what_a_row_means(meaning):
    row, expected = ROW_MEANINGS[meaning]
    frame = frame_of([[(1, 1), row]])
    (found,) = values(GRADED.measures(*ROW_MEASURES), frame)
    assert list(found.values()) == pytest.approx(expected)


def test_rows_are_left_out_of_a_ranking_by_several_columns():
    """The last of them is null in the row that is to stay: its rank comes from the first."""
    frame = pl.DataFrame(
        {
            "query": 1,
            "grade": [0, 1, 2],
            "score": [3, 2, 1],
            "day": [1, 2, None],
            "kept": [False, True, True],
        }
    )
    g = graded("grade").ranked_by("score", "day").where("kept")
    kept = graded("grade").ranked_by("score", "day")
    for measure in (lambda ranked: ranked.n_retrieved(), lambda ranked: ranked.cg_curve()):
        expected = values(measure(kept), frame.filter("kept"))
        assert values(measure(g), frame) == expected
    assert values(g.n_retrieved(), frame) == [2]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (" ndcg@10 ", "ndcg@10"),
        ("ndcg @ 10", "ndcg@10"),
        ("ap( threshold = 2.0 )@5", "ap(threshold=2)@5"),
        ("ap(over=cutoff,threshold=2)", "ap(threshold=2, over=cutoff)"),
        ('ap(over="cutoff")', "ap(over=cutoff)"),
        ("ap(threshold=None, over=relevant)", "ap"),
        ("mu_ap(levels=(1, 2.5))", "mu_ap(levels=[1, 2.5])"),
        ("cg(gain={3: 2.5, 1: 1.0})", "cg(gain={1: 1, 3: 2.5})"),
        ("rbp(graded=True, p=0.80)", "rbp(graded=True)"),
        (
            "interpolated_precision(recall_levels=(0, .5))",
            "interpolated_precision(recall_levels=[0, 0.5])",
        ),
    ],
)
def test_a_measure_may_be_written_in_several_ways(written, name):
    found = frame_of([EXAMPLE]).select(GRADED.measures(written)).unnest("measures")
    assert found.columns == [written]  # as it was asked for
    assert found.to_series().to_list() == values(
        GRADED.measures(name).struct.field(name), frame_of([EXAMPLE])
    )


# What is refused when an expression is built.

WRONG_ARGUMENTS = [
    (lambda g: g.precision(0), ValueError, "`n` must"),
    (lambda g: g.ndcg(2.5), TypeError, "`n` must"),
    (lambda g: g.ap(threshold=math.nan), ValueError, "`threshold` must"),
    (lambda g: g.recall(threshold="2"), TypeError, "`threshold` must"),
    (lambda g: g.ap(over="seen"), ValueError, "`over` must"),
    (lambda g: g.mu_ap(levels=[]), ValueError, "`levels` must not be empty"),
    (lambda g: g.mu_ap(levels=[1, 3, 2]), ValueError, "`levels` must"),
    (lambda g: g.cg(gain="exp"), ValueError, "`gain` must"),
    (lambda g: g.ndcg(gain={}), ValueError, "`gain` must"),
    (lambda g: g.ndcng(gain={1: 3, 2: 2.5}), ValueError, "`gain` must"),
    (lambda g: g.cg(gain={1: -1}), ValueError, "gain.* must be at least 0, got -1"),
    (
        lambda g: g.ideal_dcg(discount="log"),
        ValueError,
        "`discount` .* 'log2', 'jarvelin', 'zipf', 'none', got 'log'\n\nHint: .* 'log2'",
    ),
    (lambda g: g.ndcg(base=1), ValueError, "`base` must"),
    (lambda g: g.precision(ties="mean"), ValueError, "`ties` must"),
    (lambda g: g.mu_ap(ties="average"), ValueError, "`ties` must"),
    (lambda g: g.precision_at_hit(k=0), ValueError, "`k` must"),
    (lambda g: g.f_measure(beta=1e155), ValueError, "`beta` must"),
    (lambda g: g.dcg_curve(2**33), ValueError, "`n` must"),
    (
        lambda g: g.mu_ap(levels="all"),
        ValueError,
        "`levels='all'` of mu_ap needs `max_grade`, got None\n\nHint: pass max_grade=",
    ),
    (
        lambda g: g.scaled(0, 1e9).gap(levels="all"),
        ValueError,
        "`levels='all'` must mean at most 16777216 levels, got grades up to 1e\\+09",
    ),
    (lambda g: g.f_measure(beta=0), ValueError, "`beta` must"),
    (lambda g: g.rbp(p=0), ValueError, "`p` must be above 0, got 0"),
    (lambda g: g.rbp(graded=1), TypeError, "`graded` must"),
    (lambda g: g.interpolated_precision(recall_levels=1), ValueError, "`recall_levels` must"),
    (
        lambda g: g.interpolated_precision(recall_levels=[0.5, 0.1]),
        ValueError,
        "`recall_levels` must",
    ),
    (lambda g: g.novelty_ratio(), TypeError, "missing 1 required keyword-only argument: 'known'"),
    (lambda g: g.coverage_ratio(known=None), TypeError, "`known` must be .*, got None"),
    (lambda g: g.ranked_by(), TypeError, "`ranked_by` needs"),
    (lambda g: g.ranked_by("a", descending=[True, False]), ValueError, "`descending` .* 2 for 1"),
    (lambda g: g.ranked_by("a", descending="yes"), TypeError, "`descending` must"),
    (lambda g: g.scaled(max_grade=0), ValueError, "`max_grade` must"),
    (lambda g: g.scaled(1, relevant_from=1), ValueError, "`relevant_from` must"),
    (lambda g: g.scaled(1, 5, 6), ValueError, "`relevant_from` must"),
    *(
        (
            lambda g, threshold=threshold, low=low: g.scaled(low).ap(threshold=threshold),
            ValueError,
            f"`threshold` of ap must be above `irrelevant`, {low:g}, got {threshold:g}\n\nHint: ",
        )
        for threshold, low in ((0, 0), (0.5, 1))
    ),
    (
        lambda g: g.scaled(relevant_from=2).measures("ndcg", "recall(threshold=1.5)@3"),
        ValueError,
        "`threshold` of recall must be at least `relevant_from`, 2, got 1.5",
    ),
    (lambda g: g.undefined_as("null"), TypeError, "`undefined_as` must"),
    (lambda _: graded(3), TypeError, "`column` must"),
]


@pytest.mark.parametrize(
    ("call", "exception", "sentence"), WRONG_ARGUMENTS, ids=[row[2] for row in WRONG_ARGUMENTS]
)
def test_a_wrong_argument_is_refused_at_once(call, exception, sentence):
    with pytest.raises(exception, match=sentence):
        call(graded("grade"))


WRITTEN_LIKE = "a measure is written like 'ndcg@10'"
OPTIONS_LIKE = "options are written like"

WRONG_NAMES = [
    ([], ValueError, "name at least one measure; there are precision, recall, "),
    (["ap", "ndcg", "ap"], ValueError, "each measure must be named once, got ap more than once"),
    (["mapp"], ValueError, "there is no measure 'mapp'.*; there are precision, recall, "),
    (
        ["ndcg_10"],
        ValueError,
        "there is no measure 'ndcg_10'\n\nHint: did you mean 'ndcg@10' .gains",
    ),
    (["ap(threshold=2"], ValueError, f"{WRITTEN_LIKE}.*, got 'ap.threshold=2'"),
    (["r_precision@5"], ValueError, "r_precision takes no cutoff, got 5"),
    (["ap(2)"], ValueError, "there is no measure 'ap.2.'\n\nHint: 'ap.2.' of a method is 'ap@2'"),
    (["ap(threshold=len([]))"], ValueError, f"{OPTIONS_LIKE}.*, got 'ap.threshold=len"),
    (["ap(threshhold=2)"], ValueError, "ap has no option 'threshhold'; it has threshold, over"),
    (["rbp(graded=yes)"], TypeError, "`graded` must"),
    (
        ["ap", "coverage_ratio"],
        ValueError,
        "coverage_ratio needs `known`, a column that is true for documents .*, got none",
    ),
    ([3], TypeError, "a measure must be named by a string such as 'ndcg@10', got 3"),
]


@pytest.mark.parametrize(
    ("names", "exception", "sentence"), WRONG_NAMES, ids=[str(row[0]) for row in WRONG_NAMES]
)
def test_a_wrong_name_of_a_measure_is_refused(names, exception, sentence):
    with pytest.raises(exception, match=sentence):
        GRADED.measures(*names)


# What is refused when a query is planned, or run.

NOT_NUMBERS = [
    pl.String,
    pl.Binary,
    pl.Date,
    pl.Time,
    pl.Datetime,
    pl.Duration,
    pl.Categorical,
    pl.Enum(["a"]),
    pl.List(pl.Int64),
    pl.Struct({"a": pl.Int64}),
]


def refused_grade() -> pytest.RaisesExc:
    """Our sentence, before what Polars says of the plan."""
    sentence = r"^grade 'grade' must be a number or a Boolean(\n|$)"
    return pytest.raises(pl.exceptions.StructFieldNotFoundError, match=sentence)


@pytest.mark.parametrize("dtype", NOT_NUMBERS, ids=str)
def test_grades_that_are_no_numbers_are_refused_when_the_query_is_planned(dtype):
    lazy = pl.LazyFrame(schema={"query": pl.Int64, "grade": dtype, "score": pl.Float64})
    for expr in (GRADED.ap(), GRADED.n_retrieved(), GRADED.measures("ap", "ndcg")):
        for planned in (lazy.group_by("query").agg(expr), lazy.select(expr.over("query"))):
            with refused_grade():
                planned.collect_schema()


@pytest.mark.parametrize("dtype", [pl.String, pl.Binary, pl.List(pl.Int64)], ids=str)
def test_scores_without_an_order_are_refused(dtype):
    frame = pl.DataFrame({"grade": [1, 0], "score": pl.Series([None, None], dtype=dtype)})
    with pytest.raises(TypeError, match=r"score 'score' must be a number to rank by, got \w+"):
        frame.select(GRADED.ap())


NAN, INF = math.nan, math.inf

BAD_NUMBERS = [
    ("grade", [[NAN], [1], [INF]], 2),
    ("grade", [[0, -INF], [0, 1], [None, 1]], 1),
    ("score", [[NAN, 1], [-INF], [1], [INF, NAN]], 3),
]


@pytest.mark.parametrize(("column", "queries", "bad"), BAD_NUMBERS)
@pytest.mark.parametrize("name", ["ap", "n_retrieved", "n_relevant", "ideal_dcg@1", "precision@1"])
def test_nan_and_infinity_are_refused_with_column_and_number_of_queries(column, queries, bad, name):
    other = "score" if column == "grade" else "grade"
    rows = [{"query": i, column: x, other: 1.0} for i, q in enumerate(queries) for x in q]
    frame = pl.DataFrame(rows)
    found = f"{bad} of {len(queries)} queries"
    sentence = f"{column} '{column}' must be finite, got NaN or infinity in {found}"
    expr = GRADED.measures(name)
    with pytest.raises(ValueError, match=sentence):
        frame.group_by("query").agg(expr)
    with pytest.raises(ValueError, match=sentence):
        frame.with_columns(expr.over("query"))
    for engine in ("in-memory", "streaming"):
        with pytest.raises(ValueError, match=sentence):
            frame.lazy().group_by("query").agg(expr).collect(engine=engine)


WITHOUT_A_VALUE_A_ROW = {
    "literal": [pl.lit(1)],
    "aggregate": [pl.col("score").max()],
    "tie break": ["score", pl.col("grade").max()],
}


@pytest.mark.parametrize("by", WITHOUT_A_VALUE_A_ROW)
@pytest.mark.parametrize("options", [{}, {"ties": "average"}])
def test_what_is_ranked_by_must_have_one_value_per_row(by, options):
    expr = graded("grade").ranked_by(*WITHOUT_A_VALUE_A_ROW[by]).precision(1, **options)
    frame = frame_of([[(2, 1), (1, 0)], [(1, 1), (2, 0), (3, 1)]])
    # An older Polars may notice before we do.
    refused = pytest.raises(
        (ValueError, pl.exceptions.ShapeError, pl.exceptions.InvalidOperationError),
        match=r"must have one value per row|sort_by|`unknown`",
    )
    for ask in (
        lambda: frame.select(expr),
        lambda: frame.group_by("query").agg(expr),
        lambda: frame.select(expr.over("query")),
        lambda: frame.lazy().group_by("query").agg(expr).collect(engine="streaming"),
    ):
        with refused:
            ask()


@pytest.mark.parametrize("name", USER_MEASURES)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.List(pl.Boolean), *NOT_NUMBERS], ids=str)
def test_known_that_is_not_boolean_is_refused_when_the_query_is_planned(name, dtype):
    schema = {"query": pl.Int64, "grade": pl.Int64, "score": pl.Int64, "known": dtype}
    lazy, expr = pl.LazyFrame(schema=schema), getattr(GRADED, name)(known="known")
    for query in (lazy.group_by("query").agg(expr), lazy.select(expr.over("query"))):
        with pytest.raises(pl.exceptions.PolarsError, match=r"Boolean"):
            query.collect_schema()


def test_a_column_that_breaks_ties_is_named_where_it_is_not_finite():
    frame = pl.DataFrame({"grade": [1, 1], "score": [1, 1], "age": [1.0, NAN]})
    sentence = "score 'age' must be finite, got NaN or infinity in 1 of 1 queries"
    with pytest.raises(ValueError, match=sentence):
        frame.select(graded("grade").ranked_by("score", "age").ap())


LACKS = r"grade 'grade': `gain` must map each relevant grade to a gain, got none for"
OVERFLOW = r"grade 'grade': `gain='exp2'` takes relevance up to 1000"

BAD_DATA = [
    (GRADED.cg(gain={1: 1}), [[1], [2], [0]], f"{LACKS} 2, in 1 of 3 queries"),
    (GRADED.dcg(gain={1: 1, 3: 2}), [[2, 1], [2.5], [0]], f"{LACKS} 2, 2.5, in 2 of 3 queries"),
    (GRADED.ndcg(gain={5: 1}), [[4], [6], [None]], f"{LACKS} 4, 6, in 2 of 3 queries"),
    (GRADED.ndcng(gain={5: 1}), [[4], [5]], f"{LACKS} 4, in 1 of 2 queries"),
    (GRADED.ideal_dcg(gain={5: 1}), [[4], [4]], f"{LACKS} 4, in 2 of 2 queries"),
    (GRADED.cg(), [[1001], [1000]], f"{OVERFLOW}.*, in 1 of 2 queries"),
    (GRADED.ndcg(), [[1e300], [5000], [1]], f"{OVERFLOW}.*, in 2 of 3 queries"),
    (GRADED.scaled(-500).dcg(), [[501]], f"{OVERFLOW}.*, in 1 of 1 queries"),
    (GRADED.dcg_curve(), [[1001], [1000]], f"{OVERFLOW}.*, in 1 of 2 queries"),
    (GRADED.q_measure(gain={1: 1}), [[1], [2]], f"{LACKS} 2, in 1 of 2 queries"),
    (GRADED.ndcg(1, gain={1: 1}, ties="average"), [[1, 2]], f"{LACKS} 2, in 1 of 1 queries"),
    (
        GRADED.scaled(max_grade=3).err(),
        [[4], [1]],
        "grade 'grade': grades must not be above `max_grade`, 3, got 4, in 1 of 2 queries",
    ),
    (
        GRADED.scaled(max_grade=3).ndcng(),
        [[3], [4], [5, 9]],
        "grade 'grade': grades must not be above `max_grade`, 3, got 4, 9, in 2 of 3 queries",
    ),
    (
        GRADED.scaled(max_grade=3).precision(1),
        [[4], [1]],
        "grade 'grade': grades must not be above `max_grade`, 3, got 4, in 1 of 2 queries",
    ),
]


@pytest.mark.parametrize(("expr", "queries", "sentence"), BAD_DATA)
@pytest.mark.parametrize("chunk_rows", [1, chunks.CHUNK_ROWS])
def test_bad_data_is_refused_with_the_number_of_queries(
    monkeypatch, expr, queries, sentence, chunk_rows
):
    monkeypatch.setattr(chunks, "CHUNK_ROWS", chunk_rows)
    frame = frame_of([[(-rank, grade) for rank, grade in enumerate(q)] for q in queries])
    with pytest.raises(ValueError, match=sentence):
        frame.group_by("query", maintain_order=True).agg(expr)


def test_grades_that_only_other_ranks_have_need_no_gain():
    frame = frame_of([[(2, 1), (1, 5)]])
    assert values(GRADED.cg(1, gain={1: 3}), frame) == [3]


# Numbers at the edges of what a double, or a column, can hold.


def test_the_gain_of_the_tiniest_grades_keeps_its_digits():
    # With grades so small R = g ln 2, whose products do not matter: ERR is Σ g(r) / r.
    grades = [1e-16, 0, 3e-16, 2e-16, 5e-16]
    reached = 1 / 1 + 3 / 3 + 2 / 4 + 5 / 5
    best = 5 / 1 + 3 / 2 + 2 / 3 + 1 / 4
    frame = frame_of([[(-rank, grade) for rank, grade in enumerate(grades)]])
    (found,) = values(GRADED.nerr(), frame)
    assert found == pytest.approx(reached / best, rel=1e-9)
    assert round(found, 4) == 0.4719


def test_whole_numbers_that_doubles_skip_are_refused():
    frame = pl.DataFrame({"grade": [1, 123456789012345678], "score": [1, 2]})
    sentence = "grade 'grade' must be a number that a double can hold, got 123456789012345678"
    with pytest.raises(ValueError, match=sentence):
        frame.select(GRADED.ap())
    assert frame.select(GRADED.only_grade(1).ap()).item() == 1 / 2
    with pytest.raises(ValueError, match="`threshold` must be a number that a double can hold"):
        GRADED.ap(threshold=10**18 + 1)
    assert frame.with_columns(grade=pl.lit(2**60)).select(GRADED.ap()).item() == 1


def test_area_under_roc_without_a_pair_is_null_unless_a_number_was_asked_for():
    frame = frame_of([[(2, 1), (1, 2)], [(2, 1), (1, 0)], [(2, 0)]])
    assert values(GRADED.roc_auc(), frame) == [None, 1, None]
    assert values(GRADED.undefined_as(0.5).roc_auc(), frame) == [0.5, 1, 0.5]
    assert values(GRADED.undefined_as(None).roc_auc(), frame) == [None, 1, None]
    assert evaluate(frame, "roc_auc")["roc_auc"].to_list() == [None, 1, None]
    assert evaluate(frame, "roc_auc", undefined_as=0)["roc_auc"].to_list() == [0, 1, 0]


def test_levels_of_the_scale_are_shared_by_all_queries():
    frame = frame_of([[(3, 0), (2, 1), (1, 2)], [(2, 0), (1, 1)]])
    shared = GRADED.scaled(max_grade=2).mu_ap(levels="all")
    # AP at 1 is (1/2 + 2/3) / 2 and 1/2, AP at 2 is 1/3 and, for want of a document, 0.
    assert values(shared, frame) == pytest.approx([((1 / 2 + 2 / 3) / 2 + 1 / 3) / 2, 1 / 4])
    stars = frame.with_columns(pl.col("grade") + 1)
    of_stars = GRADED.scaled(irrelevant=1, max_grade=3).mu_ap(levels="all")
    assert values(of_stars, stars) == pytest.approx(values(shared, frame))
    assert values(GRADED.scaled(max_grade=2).gap(levels="all"), frame) == pytest.approx(
        values(GRADED.gap(levels=[1, 2]), frame)
    )


def test_pessimistic_and_optimistic_ties_by_hand():
    # Three documents share the first rank: one of them is relevant, one unjudged.
    frame = frame_of([[(2, 0), (2, 1), (2, None), (1, 2)]])
    found = [values(GRADED.ap(ties=ties), frame)[0] for ties in ("pessimistic", "optimistic")]
    assert found == [(1 / 3 + 2 / 4) / 2, (1 / 1 + 2 / 4) / 2]
    # McSherry and Najork (2008): the mean over the three places of the relevant one.
    average = ((1 / 1 + 1 / 2 + 1 / 3) / 3 + 2 / 4) / 2
    assert values(GRADED.ap(ties="average"), frame) == [pytest.approx(average)]
    assert values(GRADED.judged(1, ties="pessimistic"), frame) == [0]
    with pytest.raises(ValueError, match="`ties='average'` of ap needs another `over`"):
        GRADED.ap(over="retrieved", ties="average")


@pytest.mark.parametrize("rank", [1, 3000, 3300, 5000])
def test_rbp_counts_down_to_what_a_double_can_hold(rank):
    """0.8 ** 3335 is the smallest power that is a double at all."""
    frame = pl.DataFrame({"grade": [0] * (rank - 1) + [1]})
    assert frame.select(pl.col("grade").graded.rbp(p=0.8)).item() == pytest.approx(
        (1 - 0.8) * 0.8 ** (rank - 1), rel=1e-12, abs=0
    )


def ranks_of_loop(query, *, condensed=False):
    """The rank of each row, by a loop: None where it is not retrieved."""
    ranked = [
        row
        for row, (score, grade) in enumerate(query)
        if score is not None and not (condensed and grade is None)
    ]
    ranked.sort(key=lambda row: -query[row][0])
    return [ranked.index(row) + 1 if row in ranked else None for row in range(len(query))]


@pytest.mark.parametrize("condensed", [False, True])
def test_ranks_are_those_of_a_loop_in_every_context(condensed):
    queries = [*ODD_QUERIES.values(), *random_queries(3, 200)]
    frame = frame_of(queries)
    g = GRADED.condensed() if condensed else GRADED
    expected = [ranks_of_loop(query, condensed=condensed) for query in queries]
    over = g.rank().over("query")
    for found in (
        frame.with_columns(over),
        frame.lazy().with_columns(over).collect(),
        frame.lazy().with_columns(over).collect(engine="streaming"),
    ):
        assert found.schema["rank"] == pl.UInt32
        assert found["rank"].to_list() == [*chain(*expected)]
    for engine in ("in-memory", "streaming"):
        lists = frame.lazy().group_by("query").agg(g.rank()).sort("query").collect(engine=engine)
        assert lists["rank"].to_list() == expected
    alone = frame.filter(query=0).select(g.rank())
    assert alone["rank"].to_list() == expected[0]


def test_ranks_without_a_score_are_those_of_the_rows_that_are_kept():
    frame = pl.DataFrame({"grade": [1, None, 0, 2], "old": [True, False, None, True]})
    g = graded("grade")
    assert frame.select(g.rank())["rank"].to_list() == [1, 2, 3, 4]
    assert frame.select(g.where("old").rank())["rank"].to_list() == [1, None, None, 2]
    assert frame.select(g.condensed().rank())["rank"].to_list() == [1, None, 2, 3]
    assert frame.clear().select(g.rank()).schema == {"rank": pl.UInt32}


@pytest.mark.parametrize("grade", [math.nan, math.inf])
def test_a_grade_that_is_no_number_is_not_hidden_by_another(grade):
    frame = pl.DataFrame({"query": 1, "grade": [grade, 2.0]})
    with pytest.raises((ValueError, pl.exceptions.ComputeError), match="must be finite, got NaN"):
        frame.group_by("query").agg(pl.col("grade").graded.only_grade(2).ap())
