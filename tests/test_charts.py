"""Charts: each is valid, drawn, composed and true to the numbers, whatever the frame."""

from __future__ import annotations

import inspect
import io
import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import polars.selectors as cs
import pytest
import vl_convert
from chart_registry import (
    DCG_20,
    KEYS,
    LONG_NAMES,
    MEASURES,
    ROWS,
    comparison_of,
    graded_twice,
    hard_results,
    results,
    scores_of_documents,
    spec_of,
    summary_of,
)
from helpers import frame_of, mean_curves, simulated
from papers import CG, CHEN_MEANS, CUMULATED, DCG, ICG, IDCG, as_printed, entries
from PIL import Image
from polars.testing import assert_frame_equal
from scenes import assert_inside, boxes_of, scene_of

from polars_graded import (
    charts,
    compare,
    evaluate,
    phi_control_points,
    rank_strategies,
    summarise,
    trust,
)
from polars_graded._drawing import chart_rows, style
from polars_graded._frames.strategies import sort_naturally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CATEGORY_COLOURS = alt.Scale(range=style.CATEGORY_COLOURS).to_dict()["range"]
OF_DIFFERENCES = (charts.precision_histogram, charts.explore)
LAYERED = {name: row for name, row in ROWS.items() if not row.views}
every_chart = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
every_layered_chart = pytest.mark.parametrize("row", LAYERED.values(), ids=LAYERED)


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """The rows of the one data set of a chart."""
    [rows] = spec_of(chart)["datasets"].values()
    return rows


def png_of(chart: Any, capfd: pytest.CaptureFixture[str]) -> Image.Image:
    """The picture of a chart, with nothing to be warned of."""
    spec = spec_of(chart, validate=True)
    capfd.readouterr()
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    options = {} if version not in vl_convert.get_vegalite_versions() else {"vl_version": version}
    picture = vl_convert.vegalite_to_png(spec, show_warnings=True, **options)
    assert "".join(capfd.readouterr()) == ""
    return Image.open(io.BytesIO(picture)).convert("RGB")


def assert_drawn(chart: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """The picture is neither blank nor too large to look at."""
    picture = png_of(chart, capfd)
    shades = picture.convert("L").histogram()
    assert sum(count > 0 for count in shades) > 10
    assert max(shades) < 0.99 * picture.width * picture.height
    assert picture.width < 2000


def encodings(spec: Any) -> list[dict[str, Any]]:
    """Every encoding in a chart, whatever it is nested in."""
    if isinstance(spec, list):
        return [found for each in spec for found in encodings(each)]
    if not isinstance(spec, dict):
        return []
    own = [spec["encoding"]] if "encoding" in spec else []
    others = [each for name, each in spec.items() if name not in ("encoding", "datasets")]
    return own + encodings(others)


# Every chart, of any size


@every_chart
@pytest.mark.parametrize("size", [(2, 5), *simulated((25, 106))])
@pytest.mark.usefixtures("checked")
def test_it_is_drawn_without_a_warning(row, size, capfd):
    assert_drawn(row.draw(row.frame(*size)), capfd)


@pytest.mark.slow
@every_layered_chart
@pytest.mark.parametrize(("k", "n"), [(25, 3200), pytest.param(1, 1, marks=pytest.mark.simulation)])
def test_at_most_3000_rows_reach_it(row, k, n):
    assert 1 <= row.of(max(k, row.fewest), n).data.height <= chart_rows.MAX_DRAWN_ROWS


@every_chart
def test_a_lazy_frame_will_do_and_the_frame_stays_as_it_is(row):
    frame = row.frame(3, 8)
    before = frame.clone()
    lazy = row.draw(frame.lazy())
    assert_frame_equal(frame, before)
    assert_frame_equal(row.of(3, 8).data, lazy.data)
    assert row.spec() == spec_of(lazy)


@every_chart
def test_its_rows_stay_the_same_frame_however_the_rows_of_their_frame_stand(row):
    shuffled = row.frame(3, 8).sample(fraction=1, shuffle=True, seed=1)
    one, other = row.of(3, 8).data, row.draw(shuffled).data
    if row.function not in OF_DIFFERENCES:
        # Sums in another order can differ in their last bit: sort by what is exact first.
        keys = [name for name in one.columns if one.schema[name] != pl.Float64]
        one, other = (each.sort([*keys, *each.columns]) for each in (one, other))
    floats = one.select(pl.col(pl.Float64)).columns
    assert_frame_equal(one, other.select(one.columns), check_exact=not floats)


# Values and names of any kind


@pytest.mark.slow
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.value])
def test_a_value_that_is_no_number_is_not_drawn(name, bad):
    row = ROWS[name]
    frame = row.frame(3, 8)
    dtype = frame.schema[row.value]
    wrong = [bad] * frame[row.value].list.len()[0] if isinstance(dtype, pl.List) else bad
    first = pl.when(pl.int_range(pl.len()) == 0)
    spoilt = frame.with_columns(
        first.then(pl.lit(wrong, dtype)).otherwise(row.value).alias(row.value),
        first.then(pl.lit(bad, pl.Float64)).otherwise(0.5).alias("other"),
    )
    if row.function in OF_DIFFERENCES and bad in (math.inf, -math.inf):
        with pytest.raises(ValueError, match="must be finite"):
            row.draw(spoilt)
        return
    drawn = row.draw(spoilt)
    spec_of(drawn, validate=True)
    if row.options.get("missing") == "zero":
        frame = frame.with_columns(first.then(0.0).otherwise(row.value).alias(row.value))
    else:
        frame = frame.slice(1)
    expected = row.draw(frame).data
    assert_frame_equal(drawn.data.select(expected.columns), expected)


NO_XML = "\x00\x08\x0b\x0c\x0e\x1f\ufffe\uffff"
"""Of the characters that XML 1.0 does not hold (section 2.2), the ends of their ranges: an SVG is
XML, and what draws it ends the process over one."""


@every_chart
def test_characters_that_no_picture_holds_are_not_drawn(row):
    # No text of a script holds U+2028, and "</" may end the script.
    bad = [*NO_XML, "\u2028", "</", "<!--"]
    frame = row.frame(3, 8)
    frame = frame.with_columns(cs.string().exclude("measure", "source") + "".join(bad))
    of_strategies = {"a", "b", "baseline"} & {*row.options}
    chart = row.draw(frame, **{name: row.options[name] + "".join(bad) for name in of_strategies})
    drawn = json.dumps(chart.to_dict())
    assert not [text for text in bad if json.dumps(text).strip('"') in drawn]


# Composed by the caller


@pytest.fixture
def night() -> Iterator[None]:
    """A theme of the user's own."""
    night = {"config": {"background": "#123", "range": {"category": ["#fed", "#abc"]}}}
    alt.theme.register("night", enable=False)(lambda: alt.theme.ThemeConfig(night))
    try:
        with alt.theme.enable("night"):
            yield
    finally:
        alt.theme.unregister("night")


@every_chart
@pytest.mark.usefixtures("night")
def test_a_theme_of_the_user_is_followed(row):
    spec = spec_of(row.draw(row.frame(2, 8)))
    assert spec["config"]["background"] == "#123"
    assert "#4c78a8" not in json.dumps(spec)


@every_chart
def test_it_leaves_the_state_of_altair_and_the_look_to_the_caller(row):
    def state() -> list[Any]:
        parts = (alt.renderers, alt.data_transformers, alt.theme)
        return [(part.active, dict(part.options)) for part in parts]

    before = state()
    chart = row.draw(row.frame(2, 8))
    assert state() == before
    assert chart.config is alt.Undefined
    with alt.theme.enable("none"):
        spec = spec_of(chart)
    assert "config" not in spec
    of_title = {"text", "anchor", "fontSize", "subtitle", "subtitleFontSize"}
    assert set(spec.get("title", {})) <= of_title
    assert len(spec["datasets"]) == 1


@every_chart
def test_a_chart_says_what_it_is_where_it_is_not_seen(row):
    """Screen readers have the description of a chart, which Vega gives to its picture."""
    spec = row.spec()
    if "title" in spec:
        text = spec["title"]["text"]
        assert spec["description"].startswith(text if isinstance(text, str) else " ".join(text))
    assert len(spec["description"]) > 10
    assert "description" not in spec.get("spec", {})
    assert vl_convert.vegalite_to_vega(spec)["description"] == spec["description"]


@pytest.mark.parametrize("k", [2, 8])
def test_strategies_have_the_same_colours_in_all_charts(k):
    names = ("dcg_curves", "strategy_bars", "strategy_ranks", "grading_profile")
    specs = [spec_of(ROWS[name].of(k, 5)) for name in names]
    scales = [spec.get("spec", spec)["encoding"]["color"]["scale"] for spec in specs]
    names = [f"s{i}" for i in range(1, k + 1)]
    assert all(scale == {"domain": names, "range": CATEGORY_COLOURS} for scale in scales)


def test_of_more_lines_than_colours_the_best_have_one_and_the_rest_are_grey():
    chart = ROWS["dcg_curves"].of(25, 5)
    ends = chart.data.filter(rank=20)
    best = ends.sort("value", descending=True)["strategy"].head(8)
    colour = next(each["color"] for each in encodings(spec_of(chart)) if "color" in each)
    assert colour["value"] == style.REST_COLOUR.to_dict()
    shown = colour["condition"]
    assert shown["test"] == {"field": "strategy", "oneOf": sort_naturally(best)}
    assert shown["scale"] == {"domain": sort_naturally(best), "range": CATEGORY_COLOURS}


# Errors


@every_chart
def test_a_missing_column_is_named_beside_those_there_are(row):
    frame = row.frame(2, 5)
    for name in set(row.columns.values()) & set(frame.columns):
        if row.function is charts.measure_agreement and name in KEYS:
            continue  # its frame may lack the columns of strategies and queries
        with pytest.raises(pl.exceptions.ColumnNotFoundError) as error:
            row.draw(frame.rename({name: f"{name}x"}))
        assert f"column {name!r}; it has " in str(error.value)
        assert f"\n\nHint: did you mean '{name}x'?" in str(error.value)


@every_chart
def test_a_column_that_is_not_named_by_a_string_is_an_error(row):
    frame = row.frame(2, 5)
    panel = {"panel"} & {*inspect.signature(row.function).parameters}
    for keyword in {*row.columns, *panel}:
        with pytest.raises(
            TypeError, match=r"must be (named by a string|the name of a column)"
        ) as error:
            row.draw(frame, **{keyword: 5})
        assert str(error.value).endswith(", got 5")


@every_chart
def test_a_frame_without_rows_is_refused(row):
    with pytest.raises(ValueError, match=r"got none|there are none|there is no strategy"):
        row.draw(row.frame(2, 5).clear())


def with_columns(**columns: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(**columns)


def first_again(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame.head(1)])


ERRORS = {
    # the row, what is done to its frame, the options, and the sentence
    "two curves": (
        "dcg_curves",
        with_columns(cg=DCG_20),
        {"curve": None},
        f"unless exactly one is a curve by rank, got {DCG_20} and cg",
    ),
    "no curve": (
        "recall_precision_curves",
        lambda frame: frame.drop("interpolated_precision"),
        {"curve": None},
        "unless exactly one is a curve by recall, got dcg_curve@20, ideal_dcg_curve@20",
    ),
    "a query twice": ("dcg_curves", first_again, {}, "`frame` must"),
    "a strategy twice": (
        "strategy_bars",
        first_again,
        {},
        "`summary` must have each strategy of a panel once, got 1 row too many; `panel` names the ",
    ),
    "too many panels": (
        "dcg_curves",
        lambda frame: pl.concat([frame.with_columns(topic=place) for place in range(61)]),
        {"panel": "topic"},
        "at most 60 panels can be drawn, got 61",
    ),
    "an infinite score": (
        "relevance_function",
        with_columns(popularity=math.inf),
        {},
        "score 'popularity' must be finite",
    ),
    "a colour that does not exist": (
        "strategy_bars",
        None,
        {"colours": {"s1": "#c00", "s2": "bleu"}},
        "`colours` must have CSS names such as 'teal' or codes such as '#c00', got 'bleu' for 's2'",
    ),
    "no pair of values": ("measure_agreement", with_columns(ndcg=None), {}, "`frame` must"),
    "no query in common": (
        "precision_histogram",
        with_columns(r_precision=math.nan),
        {},
        "'s1' and 's2' must have a query with a value of r_precision, got none",
    ),
    "a missing value": (
        "precision_histogram",
        with_columns(r_precision=math.nan),
        {"missing": "error"},
        "missing='drop' leaves such a query out for all strategies",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_value_is_an_error_that_says_what_is_wrong(case):
    name, change, options, sentence = ERRORS[case]
    frame = ROWS[name].frame(2, 5)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        ROWS[name].draw(change(frame) if change else frame, **options)
    assert sentence in str(error.value)


# What is drawn where


def layers_in(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers of a chart, of its panels or of its views."""
    for views in ("hconcat", "vconcat"):
        if views in spec:
            return [layer for view in spec[views] for layer in layers_in(view)]
    return spec.get("spec", spec).get("layer", [spec])


HARD_RESULTS = {
    "long names": partial(hard_results, tuple(LONG_NAMES), 45),
    "25 strategies": partial(hard_results, tuple(f"run-{i}" for i in range(25)), 50),
    "2,000 queries": partial(hard_results, ("bm25", "dense", "fused"), 2000),
    "5 queries": partial(hard_results, tuple(f"run-{i}" for i in range(9)), 5),
}

HARD_CHARTS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "strategy_bars": lambda frame: charts.strategy_bars(summarise(frame, "ndcg", "ap")),
    "comparison_forest": lambda frame: charts.comparison_forest(
        compare(frame, "ndcg", baseline=frame["strategy"][0])
    ),
    "comparison_matrix": lambda frame: charts.comparison_matrix(compare(frame, "ndcg")),
    "strategy_ranks": lambda frame: charts.strategy_ranks(rank_strategies(frame, "ndcg", "ap")),
    "dcg_curves": lambda frame: charts.dcg_curves(frame, DCG_20),
    "precision_histogram": lambda frame: charts.precision_histogram(
        frame, "ndcg", *frame["strategy"].unique().sort().head(2)
    ),
    "measure_agreement": lambda frame: charts.measure_agreement(frame, "ndcg", "ap"),
    "similarity_matrix": lambda frame: charts.similarity_matrix(
        compare(frame, "ndcg").select(a="strategy", b="baseline", rbo="p_value"), "rbo"
    ),
    "explore": lambda frame: charts.explore(
        frame, *frame["strategy"].unique().sort().head(2), "ndcg"
    ),
    "sample_size_curves": lambda frame: charts.sample_size_curves(
        trust.order_stability(frame, "ndcg", "ap", samples=20)
    ),
    "relevance_function": lambda frame: charts.relevance_function(
        frame.select(views=(1 + 1000 * pl.col("ndcg") ** 4).round()), "views"
    ),
    "grading_profile": lambda frame: charts.grading_profile(
        summarise(graded_twice(frame), "ndcg"), show="places"
    ),
    "comparison_forest of trusted grades": lambda frame: charts.comparison_forest(
        trust.prediction_powered_differences(
            graded_twice(frame), "ndcg", trusted="people", baseline=frame["strategy"].unique()[0]
        )
    ),
    "rankings": lambda frame: charts.rankings(
        scores_of_documents(frame["strategy"].unique(maintain_order=True).to_list()),
        1,
        "mu_ap",
        by=frame["strategy"].unique(maintain_order=True).to_list(),
        n=10,
    ),
}


@pytest.mark.slow
@every_chart
def test_every_text_of_a_chart_lies_inside_its_picture(row):
    assert_inside(scene_of(row.of(2, 9)))


# Half of the data for each chart before each change, and the other half each week.
HARD = [
    pytest.param(name, data, marks=[pytest.mark.simulation] * ((chart + kind) % 2))
    for chart, name in enumerate(HARD_CHARTS)
    for kind, data in enumerate(HARD_RESULTS)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data"), HARD)
def test_texts_of_hard_data_lie_inside_the_picture_and_apart(name, data):
    scene = scene_of(HARD_CHARTS[name](HARD_RESULTS[data]()))
    assert_inside(scene)
    # The outline of a text has the same box.
    boxes = [*dict.fromkeys(boxes_of(scene["scenegraph"], *scene["origin"]))]
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            overlap_x = min(one.right, other.right) - max(one.left, other.left)
            overlap_y = min(one.bottom, other.bottom) - max(one.top, other.top)
            assert overlap_x <= 1 or overlap_y <= 1, (one, other)


@every_chart
def test_every_field_is_one_of_its_data(row):
    chart = row.of(3, 70)
    spec = spec_of(chart)
    made = {
        name
        for layer in layers_in(spec)
        for step in layer.get("transform", [])
        for each in step.get("aggregate", [step])
        for name in ([each["as"]] if isinstance(each.get("as"), str) else each.get("as", []))
    }
    for encoding in encodings(spec):
        for channel in encoding.values():
            for each in channel if isinstance(channel, list) else [channel]:
                assert each.get("field", "position") in {*chart.data.columns, *made, "position"}


# The numbers are those of the measures


def printed_curve(line: str) -> list[object]:
    return [as_printed(number) for number in entries(line)]


@pytest.mark.parametrize("line", CHEN_MEANS)
def test_the_slides_curves_are_drawn(line):
    expr, printed = CHEN_MEANS[line]
    means = mean_curves(frame_of(CUMULATED), CG, DCG, ICG, IDCG).with_columns(expr.alias(line))
    curves = means.group_by("strategy").agg(line).with_columns(query=1)
    rows = rows_of(charts.dcg_curves(curves, line))
    assert [row["rank"] for row in rows] == list(range(1, 16))
    assert [row["value"] for row in rows] == printed_curve(printed)


@pytest.mark.parametrize(
    ("curve", "ideal", "printed"),
    [
        (CG, ICG, ["3", "5.5", "7.5"]),  # (3 + 3) / 2, (6 + 5) / 2, (9 + 6) / 2
        (DCG, IDCG, ["3.0", "5.5", "6.8"]),  # likewise, and (7.9 + 5.6) / 2
    ],
)
def test_the_ideal_of_the_same_gain_and_discount_is_dashed_beside_a_curve(curve, ideal, printed):
    frame = frame_of(CUMULATED)
    chart = charts.dcg_curves(evaluate(frame, CG, DCG, ICG, IDCG), curve, ideal=True)
    means = mean_curves(frame, ideal)[ideal].to_list()
    assert [row["ideal"] for row in rows_of(chart)] == pytest.approx(means)
    assert means[:3] == [pytest.approx(float(number), abs=0.06) for number in printed]
    assert any("ideal" in str(each["y"]) for each in encodings(chart.to_dict()))
    chart = charts.dcg_curves(evaluate(frame, CG, DCG, IDCG), CG, ideal=True)
    assert "ideal" not in chart.data.columns


def test_the_axis_of_ranks_has_one_title():
    chart = charts.dcg_curves(evaluate(frame_of(CUMULATED), CG, ICG), CG, ideal=True)
    assert "rank" in {box.text for box in boxes_of(scene_of(chart)["scenegraph"], 0, 0)}


def test_arrays_are_curves_as_lists_are():
    frame = pl.DataFrame({"strategy": "a", "query": [1, 2], "cg_curve@2": [[1, 2], [2, 4]]})
    arrays = frame.with_columns(pl.col("cg_curve@2").list.to_array(2))
    assert charts.dcg_curves(arrays).data["value"].to_list() == [1.5, 3]
    with pytest.raises(ValueError, match="got no column of lists among strategy, query"):
        charts.dcg_curves(frame.select("strategy", "query"))


def test_numbers_by_rank_are_refused_as_curves():
    frame = pl.DataFrame({"strategy": ["a", "a"], "rank": [1, 2], "cg": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"'cg' must have a list per query, .* got Float64"):
        charts.dcg_curves(frame, "cg")


def test_the_band_is_the_interval_that_summarise_gives():
    frame = results(2, 9)
    chart = charts.dcg_curves(frame, confidence=0.9)
    for rank in (1, 7, 20):
        at_rank = frame.with_columns(pl.col(DCG_20).list.get(rank - 1).alias("at"))
        expected = summarise(at_rank, "at", confidence=0.9).select(
            "strategy", "mean", "ci_low", "ci_high"
        )
        got = chart.data.filter(rank=rank).select("strategy", "value", "ci_low", "ci_high")
        assert_frame_equal(got, expected.rename({"mean": "value"}))


def test_phi_has_its_control_points_and_every_score():
    # Moniz, Torgo and Vinagre (2016), figure 1: with scores beyond the whisker, and without.
    for scores in ([10, 15, 20, 30, 100], [10, 20, 30, 40, 50]):
        frame = pl.DataFrame({"popularity": scores})
        parts = charts.relevance_function(frame, "popularity").data.partition_by(
            "part", as_dict=True
        )
        expected = phi_control_points(frame, "popularity")
        assert parts["control point",]["score"].to_list() == expected["popularity"].to_list()
        assert parts["control point",]["relevance"].to_list() == expected["relevance"].to_list()
        phi = frame.select(pl.col("popularity").graded.phi_relevance()).to_series()
        assert parts["score",]["score"].to_list() == scores
        assert parts["score",]["relevance"].to_list() == pytest.approx(phi.to_list())
        assert parts["φ",]["score"][0] == min(scores)
        assert parts["φ",]["score"][-1] == max(scores)
    # The whisker of the first is 30, so that its relevance is 1 - (100 - 30) / (100 - 10).
    assert phi_control_points(pl.DataFrame({"p": [10, 15, 20, 30, 100]}), "p")["relevance"][2] == (
        pytest.approx(1 - 70 / 90)
    )


def test_bars_are_the_means_and_intervals_of_summarise():
    summary = summary_of(3, 9)
    columns = ["measure", "strategy", "mean", "ci_low", "ci_high"]
    assert_frame_equal(charts.strategy_bars(summary).data.select(columns), summary.select(columns))


def test_the_forest_has_the_numbers_of_compare_and_fills_what_is_significant():
    frame = results(5, 106)
    comparison = compare(frame, *MEASURES)
    data = charts.comparison_forest(comparison, confidence=0.99).data
    columns = ["measure", "strategy", "baseline", "difference", "ci_low", "ci_high", "p_corrected"]
    assert_frame_equal(data.select(columns), comparison.select(columns))
    assert data["pair"].to_list() == [
        f"{a} − {b}" for a, b in data.select("strategy", "baseline").rows()
    ]
    believed = data.filter(significance="corrected p ≤ 0.01")
    assert 0 < believed.height < data.height
    assert believed["p_corrected"].max() <= 0.01
    assert data.filter(significance="not significant")["p_corrected"].min() > 0.01


@pytest.mark.parametrize("p", [None, math.nan, 0.0501, 1.0])
def test_only_a_p_of_at_most_alpha_is_significant(p):
    comparison = comparison_of(3, 9).with_columns(p_corrected=pl.lit(p, pl.Float64))
    text = "not significant" if p in (0.0501, 1.0) else "not tested"
    chart = charts.comparison_forest(comparison)
    assert set(chart.data["significance"]) == {text}
    assert chart.description.endswith(f"○ {text}".replace(" ", "\N{NO-BREAK SPACE}"))
    assert set(charts.comparison_matrix(comparison).data["mark"]) == {""}


def test_every_chart_function_is_tested():
    assert {row.function.__name__ for row in ROWS.values()} == {*charts.__all__} - {"for_print"}


def test_the_interval_is_the_one_that_agrees_with_p():
    wide = pl.col("ci_high") - pl.col("ci_low")
    comparison = comparison_of(3, 9).with_columns(
        simultaneous_low=pl.col("ci_low") - wide, simultaneous_high=pl.col("ci_high") + wide
    )
    for frame, low in (
        (comparison.drop("simultaneous_low", "simultaneous_high"), "ci_low"),
        (comparison, "simultaneous_low"),
    ):
        chart = charts.comparison_forest(frame)
        spec = spec_of(chart)["spec"]
        [line] = [each for each in spec["layer"] if "x2" in each["encoding"]]
        assert line["encoding"]["x"]["field"] == low
        assert line["encoding"]["x2"]["field"] == low.replace("low", "high")
        are_corrected = low != "ci_low"
        assert ("corrected as p is" in chart.description) == are_corrected


def test_the_matrix_has_each_pair_from_both_sides():
    frame = results(5, 106)
    comparison = compare(frame, "mu_ap")
    chart = charts.comparison_matrix(comparison)
    drawn = {
        row[:2]: row[2:]
        for row in chart.data.select("strategy", "baseline", "difference", "mark").rows()
    }
    assert len(drawn) == 20
    for row in comparison.iter_rows(named=True):
        sign, other = "+\u2212" if row["difference"] > 0 else "\u2212+"
        is_settled = row["p_corrected"] < 0.05
        pair = (row["strategy"], row["baseline"])
        assert drawn[pair] == (row["difference"], sign if is_settled else "")
        assert drawn[pair[::-1]] == (-row["difference"], other if is_settled else "")
    assert {mark for _, mark in drawn.values()} == {"", "+", "\u2212"}
    means = summarise(frame, "mu_ap").sort("mean", descending=True)["strategy"].to_list()
    field = spec_of(chart)["encoding"]
    assert field["x"]["scale"]["domain"] == field["y"]["scale"]["domain"] == means


def test_a_matrix_of_similarities_has_similar_strategies_side_by_side():
    means = {("a", "b"): 0.1, ("a", "c"): 0.9, ("a", "d"): 0.2}
    means |= {("b", "c"): 0.2, ("b", "d"): 0.8, ("c", "d"): 0.1}
    similar = pl.DataFrame(
        [(*pair, query, mean + query / 10) for pair, mean in means.items() for query in (-1, 1)],
        ["a", "b", "query", "rbo"],
        orient="row",
    )
    chart = charts.similarity_matrix(similar, "rbo")
    cells = {(a, b): mean for a, b, mean, _ in chart.data.iter_rows()}
    expected = means | {pair[::-1]: mean for pair, mean in means.items()}
    assert cells == pytest.approx(expected)
    assert {*chart.data["queries"]} == {2}
    names = spec_of(chart)["encoding"]["y"]["scale"]["domain"]
    assert {frozenset(names[:2]), frozenset(names[2:])} == {frozenset("ac"), frozenset("bd")}
    assert chart.title.subtitle[-1].endswith("similar strategies side by side")

    one = charts.similarity_matrix(similar.filter(pl.col("a") == "a"), "rbo")
    assert spec_of(one)["encoding"]["y"]["scale"]["domain"] == [*"acdb"]
    assert "side by side" not in str(one.title.subtitle)
    directed = charts.similarity_matrix(similar.rename({"rbo": "tau_ap"}), "tau_ap")
    assert {(a, b) for a, b, *_ in directed.data.iter_rows()} == {*means}
