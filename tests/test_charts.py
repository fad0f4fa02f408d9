"""Charts: each is valid, drawn, composed and true to the numbers, whatever the frame."""

from __future__ import annotations

import inspect
import io
import json
import math
import re
from collections import Counter
from datetime import date, datetime
from functools import cache, partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
import scipy.stats
import vl_convert
from chart_registry import (
    DCG_20,
    IDEAL_20,
    KEYS,
    MEASURES,
    ROWS,
    Row,
    clicks_of,
    comparison_of,
    ranks_of,
    results,
    scores_of,
    spec_of,
    summary_of,
)
from hard_results import LONG_NAMES, graded_twice, hard_results, scores_of_documents
from helpers import frame_of, slow
from papers import CG, CHEN_MEANS, CUMULATED, DCG, ICG, IDCG, as_printed, entries
from PIL import Image
from polars.testing import assert_frame_equal
from scenes import assert_inside, boxes_of, scene_of

from polars_graded import (
    average_curves,
    charts,
    compare,
    datasets,
    differences,
    evaluate,
    experiments,
    overview,
    phi_control_points,
    rank_strategies,
    similarity,
    summarise,
    trust,
)
from polars_graded._drawing import chart_checks, style
from polars_graded._frames.sorting import sort_naturally
from polars_graded.charts._print import PRINT_COLOURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WITHOUT_KEYS = (charts.measure_agreement,)
"""Charts of frames that may lack the columns of strategies and queries."""
CATEGORY_COLOURS = alt.Scale(range=style.CATEGORY_COLOURS).to_dict()["range"]
OF_DIFFERENCES = (charts.precision_histogram, charts.explore, charts.query_heatmap)
LAYERED = {name: row for name, row in ROWS.items() if not row.views}
every_chart = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
every_layered_chart = pytest.mark.parametrize("row", LAYERED.values(), ids=LAYERED)

NAMES = [
    *("a.b", "a[0]", "it's", 'say "x"', "C:\\new", "naïve 排序 φ", "two\nlines", ""),
    *("a very long name " * 20, "datum['x']", "<b>", "null", "1", " ", "#", "%", "\t", "{}"),
]

IDENTIFIERS = {
    "whole numbers": (pl.Int64, range(18)),
    "dates": (pl.Date, [date(2024, 1, day) for day in range(1, 19)]),
    "times": (pl.Datetime, [datetime(2024, 1, day, 12) for day in range(1, 19)]),  # noqa: DTZ001
    "text": (pl.String, NAMES),
    "categories": (pl.Categorical, NAMES),
    "an enum": (pl.Enum(NAMES), NAMES),
    "numbers": (pl.Float64, [place + 0.5 for place in range(18)]),
}


# What a chart is made of


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
    return own + [
        found
        for name, each in spec.items()
        if name not in ("encoding", "datasets")
        for found in encodings(each)
    ]


# Every chart, of any size


@every_chart
@pytest.mark.parametrize("size", [(2, 5), *slow((25, 106))])
@pytest.mark.usefixtures("checked")
def test_it_is_drawn_without_a_warning(row, size, capfd):
    assert_drawn(row.draw(row.frame(*size)), capfd)


@pytest.mark.slow
@every_layered_chart
@pytest.mark.parametrize(("k", "n"), [(25, 5000), (1, 1)])
def test_at_most_3000_rows_reach_it(row, k, n):
    assert 1 <= row.of(max(k, row.fewest), n).data.height <= chart_checks.MAX_DRAWN_ROWS


@pytest.mark.parametrize(
    "name", ["dcg_curves with an interval", "sample_quantiles", "strategy_bars"]
)
def test_one_query_of_one_strategy_is_drawn(name, capfd):
    png_of(ROWS[name].of(1, 1), capfd)


@pytest.mark.parametrize("k", [1, 7])
def test_a_thousand_ranks_are_drawn_with_the_first_and_the_last(k):
    rows = rows_of(charts.dcg_curves(results(k, 3, ranks=1000)))
    ranks = [row["rank"] for row in rows if row["strategy"] == "s1"]
    assert (ranks[0], ranks[-1]) == (1, 1000)
    assert len(ranks) == min(1000, 3000 // k)
    assert set(np.diff(ranks)) <= {1, 2, 3}


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


@pytest.mark.parametrize("name", ["dcg_curves", "recall_precision_curves"])
def test_a_value_of_a_list_that_is_no_number_counts_in_no_mean(name):
    row = ROWS[name]
    frame = results(1, 3)
    lists = frame[row.value].to_list()
    lists[0][:3] = [None, math.nan, math.inf]
    drawn = row.draw(frame.with_columns(pl.Series(row.value, lists))).data["value"]
    for place, value in enumerate(drawn):
        there = [each[place] for each in lists if place > 2 or each is not lists[0]]
        assert value == pytest.approx(np.mean(there))


def keyed(row: Row) -> list[str]:
    """The columns of names that a chart takes."""
    named = {"strategy", "query", "group"} & set(row.columns)
    return [row.columns[name] for name in named if row.columns[name] in row.frame(2, 5).columns]


@cache
def height_of(row: Row, k: int, n: int) -> int:
    """How many rows are drawn."""
    return len(rows_of(row.of(k, n)))


def in_turn(several: Iterable[str], many: Iterable[str]) -> list[tuple[str, str]]:
    """One of several kinds for each of many charts, so that each kind meets some."""
    return list(zip(many, cycle(several), strict=False))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), in_turn(IDENTIFIERS, ROWS))
def test_names_of_any_kind_are_drawn_as_they_are(name, kind):
    row = ROWS[name]
    dtype, values = IDENTIFIERS[kind]
    values = list(values)
    frame = row.frame(3, 18)
    renamed, options = frame, {}
    for column in keyed(row):
        known = frame[column].unique(maintain_order=True).to_list()
        names = dict(zip(known, values, strict=False))
        renamed = renamed.with_columns(pl.col(column).replace_strict(names, return_dtype=dtype))
        if column == "strategy" and "a" in row.options:
            options = {"a": names["s1"], "b": names["s2"]}
        if column == "strategy" and "baseline" in frame.columns:
            baselines = {"s1": values[16], "s3": values[17]} | names
            renamed = renamed.with_columns(
                pl.col("baseline").replace_strict(
                    {name: baselines[name] for name in frame["baseline"].unique()},
                    return_dtype=dtype,
                )
            )
    after = row.draw(renamed, **options)
    assert len(rows_of(after)) == height_of(row, 3, 18)
    drawn = {column: pl.Series(values, dtype=dtype).cast(pl.String).to_list() for column in KEYS}
    for column in set(drawn) & set(after.data.columns) & {"strategy", "query"}:
        if column == "query" and row.function not in WITHOUT_KEYS:
            continue
        assert set(after.data[column]) <= {*drawn[column], *frame[column].cast(pl.String)}


@pytest.mark.parametrize(
    "name",
    ["dcg_curves", "measure_agreement", "sample_quantiles", "strategy_bars"],
)
def test_a_strategy_that_is_null_is_called_so(name):
    row = ROWS[name]
    first = pl.when(pl.col("strategy") != "s1").then("strategy").alias("strategy")
    chart = row.draw(row.frame(2, 5).with_columns(first))
    assert "null" in chart.data["group" if name == "sample_quantiles" else "strategy"].to_list()


ODD_COLUMNS = ["a.b[0] {}", 'it\'s "{}"', "\\排序\n {}", "value {}"]


def renamed(row, odd):
    """The keywords that name the columns of a row after their renaming, with what is measured."""
    keywords = {keyword: odd.get(name, name) for keyword, name in row.columns.items()}
    if row.function in OF_DIFFERENCES:
        keywords["measure"] = {keywords["measure"]: row.columns["measure"]}
    return keywords


@pytest.mark.slow
@pytest.mark.parametrize(("name", "pattern"), in_turn(ODD_COLUMNS, ROWS))
def test_columns_may_have_any_name(name, pattern):
    row = ROWS[name]
    frame = row.frame(3, 8)
    odd = {name: pattern.format(name) for name in row.columns.values() if name in frame.columns}
    chart = row.function(frame.rename(odd), **(renamed(row, odd) | row.options))
    spec_of(chart, validate=True)
    plain = row.of(3, 8).data
    kept = [name for name in plain.columns if name in chart.data.columns]
    if name == "similarity_matrix" and odd:
        # Only a measure of a known name is drawn in both cells of a pair.
        plain = chart.data.select("a", "b").join(plain, on=["a", "b"], maintain_order="left")
    assert_frame_equal(chart.data.select(kept), plain.select(kept))


NO_XML = "\x00\x08\x0b\x0c\x0e\x1f\ufffe\uffff"
"""Of the characters that XML 1.0 does not hold (section 2.2), the ends of their ranges: an SVG is
XML, and what draws it ends the process over one."""


@every_chart
def test_characters_that_no_picture_holds_are_not_drawn(row):
    bad = f"{NO_XML}\u2028"  # which no text of a script holds either
    frame = row.frame(3, 8).with_columns(cs.string() + bad)
    odd = {name: name + bad for name in row.columns.values() if name in frame.columns}
    keywords = renamed(row, odd)
    of_strategies = {"a", "b", "baseline", "x", "y"} & {*row.options}
    keywords |= row.options | {name: row.options[name] + bad for name in of_strategies}
    chart = row.function(frame.rename(odd), **keywords)
    drawn = json.dumps(chart.to_dict())
    assert not [character for character in bad if json.dumps(character).strip('"') in drawn]


CLASHES = {
    "strategy and panel swapped": (
        charts.strategy_bars,
        summary_of(2, 5)
        .filter(measure="mu_ap")
        .with_columns(system="strategy", strategy=pl.lit("other")),
        {"strategy": "system", "panel": "strategy"},
        {"strategy": ["s1", "s2"]},
    ),
    "ranks called value": (
        charts.dcg_curves,
        ranks_of(1, 3).rename({"rank": "value"}),
        {"curve": "cg", "rank": "value"},
        {"rank": [1, 2, 3]},
    ),
    "scores called relevance": (
        charts.relevance_function,
        pl.DataFrame({"relevance": [1.0, 2.0, 3.0, 4.0]}),
        {"score": "relevance"},
        {"relevance": [0.0, 1.0]},
    ),
    "groups called value": (
        charts.sample_quantiles,
        pl.DataFrame({"value": ["a", "a"], "group": [1.0, 2.0]}),
        {"value": "group", "group": "value"},
        {"group": ["a"], "median": [1.5]},
    ),
    "a column panel of one's own": (
        charts.strategy_bars,
        summary_of(2, 5).with_columns(panel="strategy"),
        {"panel": None},
        {"strategy": ["s1", "s2"]},
    ),
}


@pytest.mark.parametrize("case", CLASHES)
def test_columns_may_be_called_like_those_that_are_drawn(case):
    function, frame, options, expected = CLASHES[case]
    chart = function(frame, **options)
    spec_of(chart, validate=True)
    for column, values in expected.items():
        assert set(values) <= set(chart.data[column])
    if case.startswith("a column panel"):
        assert isinstance(chart, alt.LayerChart)


def test_columns_that_no_chart_can_show_are_left_out():
    frame = summary_of(2, 5).with_columns(
        lists=pl.lit([1.0]),
        time=pl.duration(hours=1),
        bytes=pl.lit(b"x"),
        day=pl.date(2024, 1, 1),
        share=pl.lit(0.5).cast(pl.Decimal(4, 2)),
        kind=pl.lit("x").cast(pl.Categorical),
    )
    chart = charts.strategy_bars(frame)
    spec_of(chart, validate=True)
    assert {"lists", "time", "bytes"}.isdisjoint(chart.data.columns)
    assert {"day", "share", "kind"} <= set(chart.data.columns)


# Composed by the caller


COMPOSED = {
    # a chart, one of its kind, and one of another kind
    "layered": lambda chart, kin, _: chart + of_the_size_of(chart, kin),
    "over a rule": lambda chart, *_: chart + alt.Chart().mark_rule().encode(y=alt.datum(0.5)),
    "beside another": lambda chart, _, other: chart | other,
    "above two": lambda chart, kin, other: chart & (kin | other),
    "of another size": lambda chart, *_: chart.properties(title="mine", width=420, height=130),
    "configured": lambda chart, *_: chart.configure_axis(labelFontSize=20),
}


def of_the_size_of(chart: Any, kin: Any) -> Any:
    kin = kin.copy()
    kin.width, kin.height = chart.width, chart.height
    return kin


def has_panels(row: Row) -> bool:
    return "panel" in inspect.signature(row.function).parameters


def unpanelled(row: Row, n: int = 8) -> Any:
    """A chart without panels, which the caller can layer and facet."""
    return row.of(3, n, **({"panel": None} if has_panels(row) else {}))


def composed(row: Row, how: str) -> Any:
    return COMPOSED[how](unpanelled(row), unpanelled(row, 9), ROWS["sample_quantiles"].of(2, 5))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "how"), in_turn(COMPOSED, LAYERED))
def test_it_composes(name, how):
    assert isinstance(unpanelled(ROWS[name]), alt.LayerChart)
    spec_of(composed(ROWS[name], how), validate=True)


def drawn_marks(chart: Any) -> list[tuple[str, ...]]:
    """What a browser would draw, wherever it stands: shapes with their colours."""
    import xml.etree.ElementTree as ET

    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    options = {} if version not in vl_convert.get_vegalite_versions() else {"vl_version": version}
    root = ET.fromstring(vl_convert.vegalite_to_svg(spec_of(chart), **options))  # noqa: S314
    found = []
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        kinds = group.get("class", "").split()
        if "role-mark" in kinds:
            looks = ("fill", "stroke", "fill-opacity", "opacity", "stroke-dasharray")
            found += [
                (kinds[0], *(each.get(look, "") for look in looks))
                for each in group
                if each.tag.endswith(("path", "line"))
            ]
    return sorted(found)


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
    assert set(spec.get("title", {})) <= {
        "text",
        "anchor",
        "fontSize",
        "subtitle",
        "subtitleFontSize",
    }
    assert len(spec["datasets"]) == 1


@every_chart
def test_every_name_and_axis_has_a_title(row):
    spec = row.spec()
    shared = spec.get("spec", spec).get("encoding", {})
    for encoding in encodings(spec):
        for channel in {"x", "y", "color"} & set(encoding):
            if "field" in encoding[channel]:
                assert "title" in encoding[channel] | shared.get(channel, {})


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


def test_a_description_has_the_first_numbers():
    means = pl.DataFrame(
        {
            "measure": "ap",
            "strategy": [f"s{i}" for i in range(12)],
            "mean": [i / 16 for i in range(12)],
        }
    )
    described = spec_of(charts.strategy_bars(means))["description"]
    assert described.startswith(
        "Mean average precision of 12 strategies. mean ap: s11 0.6875, s10 0.6250, "
    )
    assert described.endswith("s2 0.1250, and 2 more")


# Panels


def test_panels_keep_all_values_and_their_order():
    frame = results(2, 6).with_columns(
        topic=(pl.col("query") % 3).replace_strict({0: "b", 1: "a", 2: "c"})
    )
    chart = charts.measure_agreement(frame, "mu_ap", "ndcg", panel="topic")
    assert isinstance(chart, alt.FacetChart)
    assert spec_of(chart)["facet"]["sort"] == ["a", "c", "b"]  # as they come
    got = chart.data.sort("strategy", pl.col("query").cast(pl.Int64))
    assert got["x"].to_list() == frame["mu_ap"].to_list()
    assert got["panel"].to_list() == frame["topic"].to_list()


def test_a_panel_a_query_draws_its_curves_not_their_means():
    frame = results(2, 4)
    chart = charts.dcg_curves(frame, panel="query")
    for (query,), rows in chart.data.group_by("panel"):
        expected = frame.filter(query=int(query), strategy="s2")[DCG_20][0]
        assert rows.filter(strategy="s2")["value"].to_list() == pytest.approx(expected.to_list())
    assert "mean" not in json.dumps(spec_of(chart)["spec"])


# Colours


@pytest.mark.parametrize("k", [2, 8])
def test_strategies_have_the_same_colours_in_all_charts(k):
    names = ("dcg_curves", "strategy_bars", "strategy_ranks", "grading_profile")
    specs = [spec_of(ROWS[name].of(k, 5)) for name in names]
    scales = [spec.get("spec", spec)["encoding"]["color"]["scale"] for spec in specs]
    names = [f"s{i}" for i in range(1, k + 1)]
    assert all(scale == {"domain": names, "range": CATEGORY_COLOURS} for scale in scales)


@pytest.mark.parametrize(("name", "last"), [("dcg_curves", 20), ("dcg_curves of ranks", 5)])
def test_of_more_lines_than_colours_the_best_have_one_and_the_rest_are_grey(name, last):
    chart = ROWS[name].of(25, 5)
    ends = chart.data.filter(rank=last)
    best = ends.sort("value", descending=True)["strategy"].head(8)
    colour = next(each["color"] for each in encodings(spec_of(chart)) if "color" in each)
    assert colour["value"] == style.REST_COLOUR.to_dict()
    shown = colour["condition"]
    assert shown["test"] == {"field": "strategy", "oneOf": sort_naturally(best)}
    assert shown["scale"] == {"domain": sort_naturally(best), "range": CATEGORY_COLOURS}


TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colours: list[str]) -> np.ndarray:
    """Red, green and blue as amounts of light (IEC 61966-2-1)."""
    coded = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours])
    return np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIELAB under D65."""
    xyz = light @ TO_XYZ.T / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


def test_the_colours_of_strategies_on_paper_are_apart_in_grey():
    lightness = lab(linear(PRINT_COLOURS))[:, 0]
    for n, least in ((2, 51), (3, 24), (4, 16), (5, 9.5), (10, 7.5)):
        assert np.diff(np.sort(lightness[:n])).min() > least


BACKGROUNDS = ["white", "#14181d", "#333", "#777777", "#ff0000", "#00aa00", "#5050ff", "#eee"]


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_on_cells_are_legible_on_any_background(background, sign):
    values = [sign * step / 50 for step in range(51)]
    names = [f"s{step}" for step in range(51)]
    similar = pl.DataFrame({"a": "x", "b": names, "query": 1, "own": values})
    chart = charts.similarity_matrix(similar, "own").configure(background=background)
    svg = vl_convert.vegalite_to_svg(chart.to_dict())

    def fills(kind: str) -> list[Any]:
        [group] = re.findall(rf'class="mark-{kind} role-mark[^>]*>(.*?)</g>', svg)
        names = {"black": "rgb(0, 0, 0)", "white": "rgb(255, 255, 255)"}
        found = re.findall(r'fill="([^"]+)"', group)
        return [[*map(int, re.findall(r"\d+", names.get(each, each)))] for each in found]

    cells, texts = fills("rect"), fills("text")
    assert len(cells) == len(texts) == 51
    digits = {"white": "#fff"}.get(background, background).removeprefix("#")
    assert cells[0] == [*bytes.fromhex("".join(digit * (6 // len(digits)) for digit in digits))]
    for cell, text in zip(cells, texts, strict=True):
        colours = ["#" + bytes(each).hex() for each in (cell, text)]
        lower, higher = np.sort(linear(colours) @ TO_XYZ[1])
        assert (higher + 0.05) / (lower + 0.05) > 4.4, (cell, text)


# Errors


def without(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.drop(column)


FRAME_NAMES = {
    "strategy_bars": "summary",
    "comparison_forest": "comparison",
    "comparison_matrix": "comparison",
    "strategy_ranks": "ranks",
    "significance_curves": "levels",
    "sample_size_curves": "curve",
    "click_rates": "clicks",
    "trade_off": "summary",
    "catalogue_curves": "curve",
    "grading_profile": "robustness",
    "overview": "table",
}
NO_RANKS = (
    "'cg' must be a curve, one list per query, or numbers with a column of ranks, "
    "got numbers and no column 'rank'"
)


@every_chart
def test_a_missing_column_is_named_beside_those_there_are(row):
    frame = row.frame(2, 5)
    for name in set(row.columns.values()) & set(frame.columns):
        if row.function in WITHOUT_KEYS and name in KEYS:
            continue
        with pytest.raises(pl.exceptions.ColumnNotFoundError) as error:
            row.draw(frame.rename({name: f"{name}x"}))
        if name == "rank":
            assert NO_RANKS in str(error.value)
            continue
        assert f"column {name!r}; it has " in str(error.value)
        assert f"\n\nHint: did you mean '{name}x'?" in str(error.value)


@every_chart
def test_a_column_that_is_not_named_by_a_string_is_an_error(row):
    frame = row.frame(2, 5)
    panel = {"panel"} if has_panels(row) else set()
    for keyword in {*row.columns, *panel} - {"reference"}:
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


AGAIN = "`panel` names the columns that distinguish repeated rows"


def first_again(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame.head(1)])


def repeated(times: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: pl.concat([frame.with_columns(topic=place) for place in range(times)])


NO_NUMBERS = {
    # the row: the column that is of text
    "strategy_bars": "mean",
    "comparison_forest": "p_corrected",
    "dcg_curves of ranks": "rank",
    "relevance_function": "popularity",
}
ERRORS = {
    # the row, what is done to its frame, the options, and the sentence
    "two curves": (
        "dcg_curves",
        with_columns(cg=DCG_20),
        {"curve": None},
        f"unless there is exactly one, got {DCG_20} and cg",
    ),
    "no curve": (
        "recall_precision_curves",
        without("interpolated_precision"),
        {"curve": None},
        "a column of lists, or of numbers beside a column 'recall', got strategy",
    ),
    "a query twice": (
        "dcg_curves",
        first_again,
        {},
        "`frame` must have each query of a strategy once, got 1 row too many",
    ),
    "a rank twice": (
        "dcg_curves of ranks",
        first_again,
        {},
        "a strategy must have each rank once, got 1 row too many",
    ),
    "a rank of 0": (
        "dcg_curves of ranks",
        with_columns(rank=pl.col("rank").cast(pl.Int64) - 1),
        {},
        "'rank' must contain ranks, whole numbers from 1, got 2 other values",
    ),
    "a strategy twice": (
        "strategy_bars",
        first_again,
        {},
        f"`summary` must have each strategy once in a panel, got 1 row too many; {AGAIN}",
    ),
    "too many panels": (
        "dcg_curves",
        repeated(61),
        {"panel": "topic"},
        "`panel` must have at most 60 values, got 61 in 'topic'; filter them",
    ),
    "an infinite score": (
        "relevance_function",
        with_columns(popularity=math.inf),
        {},
        "score 'popularity' must be finite",
    ),
    "no pair of values": (
        "measure_agreement",
        with_columns(ndcg=None),
        {},
        "`frame` must have a row with both 'mu_ap' and 'ndcg', got none",
    ),
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


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_a_column_of_text_is_an_error_where_numbers_are_drawn(name):
    column, row = NO_NUMBERS[name], ROWS[name]
    argument = FRAME_NAMES.get(name, "frame")
    with pytest.raises(TypeError) as error:
        row.draw(row.frame(2, 5).with_columns(pl.lit("x").alias(column)))
    assert str(error.value) == f"`{argument}` must have numbers in {column!r}, got String"


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("comparison_forest", {"confidence": "low"}, "`confidence` must be a number, got 'low'"),
        ("sample_quantiles", {"reference": True}, "`reference` must be a number, got True"),
        ("measure_agreement", {"x": DCG_20}, f"`frame` must have numbers in '{DCG_20}', got List("),
        ("precision_histogram", {"measure": DCG_20}, "must be one number per query, got List("),
    ],
)
def test_an_argument_of_the_wrong_kind_is_an_error(name, options, sentence):
    with pytest.raises(TypeError) as error:
        ROWS[name].draw(ROWS[name].frame(2, 5), **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_value_is_an_error_that_says_what_is_wrong(case):
    name, change, options, sentence = ERRORS[case]
    frame = ROWS[name].frame(2, 5)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        ROWS[name].draw(change(frame) if change else frame, **options)
    assert sentence in str(error.value)


# What is drawn where


def properties(channel: dict[str, Any]) -> dict[str, Any]:
    """What a channel shows, in which order and between which ends."""
    kept = {
        name: channel[name]
        for name in ("field", "datum", "aggregate", "title", "sort", "stack", "bin", "value")
        if name in channel
    }
    scale = channel.get("scale") or {}
    named = ("domain", "range", "zero", "reverse", "type")
    return kept | {name: scale[name] for name in named if name in scale}


def layers_in(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers of a chart, of its panels or of its views."""
    for views in ("hconcat", "vconcat"):
        if views in spec:
            return [layer for view in spec[views] for layer in layers_in(view)]
    return spec.get("spec", spec)["layer"]


FOUR = pl.DataFrame(
    {
        "strategy": ["s1"] * 4 + ["s2"] * 4,
        "query": [1, 2, 3, 4] * 2,
        "mu_ap": [0.5, 0.5, 0.25, 1.0, 0.5, 0.25, 0.5, 0.0],
        "ndcg": [0.5, 0.75, 0.25, 1.0, 0.5, 0.5, 0.75, 0.0],
    }
)


MANY = pl.concat(
    FOUR.with_columns(pl.col("query") + 4 * place).with_columns(many=pl.col("ndcg") * 1000)
    for place in range(76)
)


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
    "strategy_ranks of groups": lambda frame: charts.strategy_ranks(
        rank_strategies(frame, "ndcg"), show="groups"
    ),
    "dcg_curves": lambda frame: charts.dcg_curves(frame, DCG_20),
    "precision_histogram": lambda frame: charts.precision_histogram(
        frame, "ndcg", *frame["strategy"].unique().sort().head(2)
    ),
    "query_heatmap": lambda frame: charts.query_heatmap(frame, "ndcg"),
    "sample_quantiles": lambda frame: charts.sample_quantiles(frame, "ndcg"),
    "measure_agreement": lambda frame: charts.measure_agreement(frame, "ndcg", "ap"),
    "click_rates": lambda frame: charts.click_rates(
        pl.concat(
            clicks_of(1, 8).with_columns(ranker=pl.lit(name)) for name in frame["strategy"].unique()
        ),
        panel="ranker",
    ),
    "similarity_matrix": lambda frame: charts.similarity_matrix(
        compare(frame, "ndcg").select(a="strategy", b="baseline", rbo="p_value"), "rbo"
    ),
    "trade_off": lambda frame: charts.trade_off(summarise(frame, "ndcg", "ap"), "ndcg", "ap"),
    "explore": lambda frame: charts.explore(
        frame, *frame["strategy"].unique().sort().head(2), "ndcg"
    ),
    "sample_size_curves": lambda frame: charts.sample_size_curves(
        trust.order_stability(frame, "ndcg", "ap", samples=20)
    ),
    "relevance_function": lambda frame: charts.relevance_function(
        frame.select(views=(1 + 1000 * pl.col("ndcg") ** 4).round()), "views"
    ),
    "overview": lambda frame: charts.overview(
        overview(
            scores_of_documents(names := frame["strategy"].unique(maintain_order=True).to_list()),
            by=names,
        )
    ),
    "grading_profile of graders": lambda frame: charts.grading_profile(
        summarise(graded_twice(frame), "ndcg"), show="places"
    ),
    "grading_profile": lambda frame: charts.grading_profile(
        trust.robustness_to_grading(
            scores_of_documents(names := frame["strategy"].unique(maintain_order=True).to_list()),
            "ndcg@10",
            by=names,
            ties="doc",
        )
    ),
    "strategy_bars of bounds": lambda frame: charts.strategy_bars(
        trust.unjudged_bounds(
            scores_of_documents(
                names := frame["strategy"].unique(maintain_order=True).to_list()
            ).with_columns(pl.when(pl.col("grade") < 2).then("grade")),
            "precision@10",
            "rbp(p=0.9)",
            by=names,
            ties="doc",
        )
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


# Half of the data for each chart in every run, and the other half among the slow tests.
HARD = [
    pytest.param(name, data, marks=[pytest.mark.slow] * ((chart + kind) % 2))
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


SEGMENTED = pl.DataFrame(
    {
        "segment": [*"aabb"],
        "measure": "n_retrieved",
        "strategy": ["s1", "s2"] * 2,
        "mean": [5.0, 6.0, 100.0, 120.0],
    }
)


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: charts.strategy_bars(summarise(MANY, "mu_ap", "ndcg")), "independent"),
        (lambda: charts.comparison_forest(compare(MANY, "mu_ap", "ndcg")), "shared"),
        (
            lambda: charts.comparison_forest(compare(MANY, {"mu_ap": "mu_ap", "many": "none"})),
            "independent",
        ),
        # Panels of one measure share it whatever its values.
        (lambda: charts.strategy_bars(SEGMENTED, panel="segment"), "shared"),
        (
            lambda: charts.strategy_bars(
                SEGMENTED.select(
                    "segment", "measure", "strategy", query=1, value="mean"
                ).with_columns(value_if_best=pl.col("value") + 1, residual=0.0),
                panel="segment",
            ),
            "shared",
        ),
        (lambda: ROWS["relevance_function"].of(2, 9), "independent"),
        (lambda: charts.dcg_curves(results(2, 2), panel="query"), "shared"),
    ],
)
def test_panels_share_an_axis_where_their_measures_can(make, x):
    spec = spec_of(make())
    chart = make()
    assert properties(spec["facet"]) == {
        "field": "panel",
        "title": None,
        "sort": chart.data["panel"].unique(maintain_order=True).to_list(),
    }
    assert spec["resolve"]["scale"] == {"x": x}


# The numbers are those of the measures


def printed_curve(line: str) -> list[object]:
    return [as_printed(number) for number in entries(line)]


@pytest.mark.parametrize("line", CHEN_MEANS)
def test_the_slides_curves_are_drawn(line):
    expr, printed = CHEN_MEANS[line]
    curves = average_curves(frame_of(CUMULATED), CG, DCG, ICG, IDCG).with_columns(expr.alias(line))
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
    for source in (average_curves(frame, CG, DCG, ICG, IDCG), evaluate(frame, CG, DCG, ICG, IDCG)):
        chart = charts.dcg_curves(source, curve, ideal=True)
        means = average_curves(frame, ideal)[ideal].to_list()
        assert [row["ideal"] for row in rows_of(chart)] == pytest.approx(means)
        assert means[:3] == [pytest.approx(float(number), abs=0.06) for number in printed]
        assert any("ideal" in str(each["y"]) for each in encodings(chart.to_dict()))
    assert (
        "ideal"
        not in charts.dcg_curves(average_curves(frame, CG, DCG, IDCG), CG, ideal=True).data.columns
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("example 3.2", [1, 1, 2 / 3, 1 / 2, 2 / 5, 1 / 3, 0, 0, 0, 0, 0]),
        ("example 3.3", [1 / 3] * 4 + [1 / 4] * 3 + [1 / 5] * 4),
    ],
)
def test_the_slides_interpolated_precision_is_drawn(query, expected):
    slides = datasets.worked_example("chen").filter(query=query)
    for make in (evaluate, average_curves):
        rows = rows_of(charts.recall_precision_curves(make(slides, "interpolated_precision")))
        assert [row["recall"] for row in rows] == pytest.approx([i / 10 for i in range(11)])
        assert [row["value"] for row in rows] == pytest.approx(expected)


def test_recall_levels_of_ones_own_are_where_they_are_drawn():
    name = "interpolated_precision(recall_levels=[0.25, 0.5, 1.0])"
    slides = datasets.worked_example("chen")
    chart = charts.recall_precision_curves(evaluate(slides, name))
    assert chart.data["recall"].to_list() == [0.25, 0.5, 1.0]


def test_an_ideal_list_that_is_null_counts_in_no_mean():
    first = pl.when(pl.int_range(pl.len()) > 0)
    frame = results(1, 3).with_columns(pl.col(IDEAL_20) * pl.col("query"))
    data = charts.dcg_curves(
        frame.with_columns(first.then(IDEAL_20).alias(IDEAL_20)), ideal=True
    ).data
    assert data["value"].to_list() == charts.dcg_curves(frame, ideal=True).data["value"].to_list()
    ideal = charts.dcg_curves(frame.slice(1), ideal=True).data["ideal"]
    assert data["ideal"].to_list() == pytest.approx(ideal.to_list())
    nothing = frame.with_columns(pl.lit(None, pl.List(pl.Float64)).alias(IDEAL_20))
    assert charts.dcg_curves(nothing, ideal=True).data["ideal"].null_count() == 20


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


def test_a_histogram_of_r_precision_has_what_each_query_differs_by():
    ranking = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [1, 0, 0]}
    frame = pl.DataFrame(
        [
            (query, grade, -place, place)
            for query, grades in ranking.items()
            for place, grade in enumerate(grades)
        ],
        ["query", "grade", "down", "up"],
        orient="row",
    )
    per_query = evaluate(frame, "r_precision", by=["down", "up"])
    rows = rows_of(charts.precision_histogram(per_query, "r_precision", "down", "up"))
    assert [(row["query"], row["difference"]) for row in rows] == [("a", 1), ("c", 1), ("b", 0)]
    assert [row["better"] for row in rows] == ["down", "down", None]


@pytest.mark.parametrize("order", ["difference", "query"])
@pytest.mark.parametrize("n", [1, 60, 5000])
def test_every_query_is_a_bar_of_the_same_width_of_chart(n, order):
    frame = results(2, n)
    chart = charts.precision_histogram(frame, "mu_ap", "s1", "s2", order=order)
    expected = differences(frame, "mu_ap", "s1", "s2", order=order)
    assert (chart.width, chart.height) == (600, 280)
    if n <= 3000:
        assert chart.data["difference"].to_list() == expected["difference"].to_list()
        assert chart.data["better"].to_list() == expected["winner"].to_list()
    else:
        assert chart.data.height == 3000
        assert "3,000 of 5,000 queries are drawn" in " ".join(chart.title["subtitle"])
    if order == "difference":
        ends = chart.data["difference"][0], chart.data["difference"][-1]
        assert ends == pytest.approx((expected["difference"].max(), expected["difference"].min()))
    x = chart.to_dict()["encoding"]["x"]
    assert x["title"] == ("queries, sorted by difference" if order == "difference" else "query")
    assert x["axis"]["labels"] == (n <= 60 or order == "query")


def test_wins_ties_and_losses_are_those_of_compare():
    frame = results(2, 106)
    [row] = compare(frame, "r_precision", baseline="s2").to_dicts()
    chart = charts.precision_histogram(frame, "r_precision", "s1", "s2")
    assert row["losses"] > row["wins"] > 1 < row["ties"]
    title = f"s2 beats s1 in {row['losses']} of 106 queries, loses in {row['wins']}"
    assert chart.title["text"] == title
    numbers = [row[name] for name in ("difference", "ci_low", "ci_high")]
    mean, low, high = (f"{number:.4f}".replace("-", "−") for number in numbers)
    note = f"mean difference {mean}, 95 % interval {low} to {high}"
    assert spec_of(chart)["title"]["subtitle"] == [note]
    drawn = chart.data.select("mean", "ci_low", "ci_high").unique().row(0)
    assert drawn == pytest.approx(tuple(numbers))


def test_a_measure_that_is_best_at_its_lowest_is_won_from_below():
    frame = results(2, 5).with_columns(
        pl.when(strategy="s1").then(0.2).otherwise(0.3).alias("e_measure@5")
    )
    chart = charts.precision_histogram(frame, "e_measure@5", "s1", "s2")
    assert set(chart.data["better"]) == {"s1"}
    assert chart.title["text"] == "s1 beats s2 in 5 of 5 queries, loses in 0"
    # Equal differences have no interval.
    assert spec_of(chart)["title"]["subtitle"] == ["mean difference −0.1000"]
    assert chart.data["ci_low"].is_null().all()
    assert chart.data["difference"].to_list() == pytest.approx([-0.1] * 5)


def test_a_heat_map_leaves_out_queries_without_a_relevant_document():
    frame = pl.DataFrame(
        {
            "strategy": ["s1", "s2"] * 3,
            "query": [*"aabbcc"],
            "ap": [0.0, 0.0, 0.5, 1.0, 0.25, 0.5],
            "n_relevant": [0, 0, 1, 1, 2, 2],
        }
    )
    chart = charts.query_heatmap(frame, "ap")
    assert chart.data["query"].unique(maintain_order=True).to_list() == ["c", "b"]
    assert "without 1 query that has no relevant document" in " ".join(chart.title["subtitle"])
    assert "without" not in " ".join(
        charts.query_heatmap(frame.drop("n_relevant"), "ap").title["subtitle"]
    )
    assert charts.query_heatmap(frame, "n_relevant").data["query"].n_unique() == 3


@pytest.mark.parametrize(
    ("shares", "note"),
    [
        (
            [0.5, 0.9, 0.75],
            "intervals from both are 25 % narrower than from trusted grades alone (median)",
        ),
        (
            [1.3, 0.9, 1.1],
            "intervals from both are 10 % wider than from trusted grades alone (median)",
        ),
        (
            [1.0, 1.001, 0.5],
            "intervals from both are as wide as from trusted grades alone (median)",
        ),
    ],
)
def test_a_forest_of_trusted_grades_states_the_median_change_of_widths(shares, note):
    n = len(shares)
    middles = {f"{name}mean": [0.5] * n for name in ("trusted_", "model_", "")}
    ends = {
        f"{name}_{end}": [0.5 + sign * 0.2] * n
        for name in ("trusted", "model")
        for end, sign in (("low", -1), ("high", 1))
    }
    both = {
        f"ci_{end}": [0.5 + sign * 0.2 * share for share in shares]
        for end, sign in (("low", -1), ("high", 1))
    }
    names = {"measure": ["ap"] * n, "strategy": [f"s{i}" for i in range(n)]}
    chart = charts.comparison_forest(pl.DataFrame(names | middles | ends | both))
    assert note in " ".join(chart.title["subtitle"])


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


def test_of_many_scores_the_ends_are_among_those_drawn():
    frame = scores_of(1, 5000)
    drawn = charts.relevance_function(frame, "popularity").data.filter(part="score")["score"]
    scores = frame["popularity"]
    assert (drawn.min(), drawn.max()) == (scores.min(), scores.max())
    assert drawn.is_in(scores.implode()).all()


@pytest.mark.parametrize("n", [1, 106, 5000])
@pytest.mark.parametrize("k", [2, 25])
def test_differences_of_measures_count_every_query_once(k, n):
    frame = results(k, n)
    chart = charts.measure_agreement(frame, "mu_ap", "ndcg", show="difference")
    assert chart.data["count"].sum() == k * n
    difference = frame["mu_ap"] - frame["ndcg"]
    for row in rows_of(chart):
        inside = difference.is_between(row["low"] - 1e-9, row["high"] + 1e-9).sum()
        assert inside >= row["count"]
    middles = (chart.data["low"] + chart.data["high"]) / 2
    widths = chart.data["high"] - chart.data["low"]
    mean = (middles * chart.data["count"]).sum() / (k * n)
    assert mean == pytest.approx(difference.mean(), abs=widths.max() / 2)
    assert (middles / widths - (middles / widths).round()).abs().max() < 1e-6


def test_points_of_agreement_are_queries():
    frame = results(2, 500)
    data = charts.measure_agreement(frame, "mu_ap", "ndcg").data
    points = frame.select("strategy", pl.col("query").cast(pl.String), x="mu_ap", y="ndcg")
    assert_frame_equal(data, points)


@pytest.mark.parametrize("panel", [None, "strategy"])
def test_cells_of_many_points_count_each_once(panel):
    frame = results(3, 700).with_columns(ndcg=pl.col("mu_ap").shuffle(seed=1))
    data = charts.measure_agreement(frame, "mu_ap", "ndcg", panel=panel).data
    assert data["count"].sum() == frame.height
    assert data.height <= chart_checks.MAX_DRAWN_ROWS
    for row in data.rows(named=True):
        inside = (
            pl.col(field).is_between(row[name] - 1e-9, row[f"{name}_end"] + 1e-9)
            for name, field in (("x", "mu_ap"), ("y", "ndcg"))
        )
        points = frame.filter(*inside, **({"strategy": row["panel"]} if panel else {}))
        assert points.height >= row["count"] > 0


@pytest.mark.parametrize("n", [40, 400])
def test_correlations_are_those_of_scipy(n):
    frame = results(3, n).with_columns(ndcg=pl.col("ndcg") + pl.col("mu_ap").shuffle(seed=1) - 1)

    def written(rows):
        x, y = rows["mu_ap"], rows["ndcg"]
        tau, r = (f(x, y).statistic for f in (scipy.stats.kendalltau, scipy.stats.pearsonr))
        return f"τ {tau:.2f}, r {r:.2f}"

    assert charts.measure_agreement(frame, "mu_ap", "ndcg").title["subtitle"] == [written(frame)]
    data = charts.measure_agreement(frame, "mu_ap", "ndcg", panel="strategy").data
    labels = data.drop_nulls("label").select("panel", "label").rows()
    assert labels == [(f"s{i}", written(frame.filter(strategy=f"s{i}"))) for i in (1, 2, 3)]
    equal = charts.measure_agreement(frame.with_columns(ndcg=0.5), "mu_ap", "ndcg")
    assert equal.title["subtitle"] == ["line: both are equal"]


@pytest.mark.parametrize("n", [1, 2, 7, 106])
def test_strips_are_the_percentiles(n):
    frame = results(3, n).with_columns(pl.col("mu_ap") ** 3)
    data = charts.sample_quantiles(frame, "mu_ap", reference="ndcg").data
    for (name,), samples in frame.group_by("strategy"):
        [strip] = data.filter(group=name).to_dicts()
        quantiles = np.percentile(samples["mu_ap"].to_numpy(), [5, 25, 50, 75, 95])
        drawn = [strip[column] for column in ("q5", "q25", "median", "q75", "q95")]
        assert drawn == pytest.approx(list(quantiles))
        assert (strip["samples"], strip["reference"]) == (n, pytest.approx(samples["ndcg"].mean()))


def test_moniz_figure_2_has_ndcg_as_a_diamond_and_ndcg_phi_as_strips():
    samples = experiments.popularity_scenarios(20)
    chart = charts.sample_quantiles(
        samples, "ndcg_phi", group="imbalance", reference="ndcg", panel="strategy"
    )
    lines = chart.data.filter(panel="scenario_1")["reference"].drop_nulls()
    assert lines.to_list() == pytest.approx([samples.filter(strategy="scenario_1")["ndcg"][0]] * 2)


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
    assert set(charts.comparison_forest(comparison).data["significance"]) == {"not significant"}
    assert set(charts.comparison_matrix(comparison).data["mark"]) == {""}


def test_a_p_of_just_alpha_is_filled_and_its_interval_clear_of_0():
    """Of all 32 signs of five differences of one sign, two are as far out: p is 2 / 32."""
    frame = pl.DataFrame(
        {
            "strategy": ["a"] * 5 + ["b"] * 5,
            "query": [1, 2, 3, 4, 5] * 2,
            "ap": [0.5, 0.625, 0.75, 0.875, 1.0] + [0.25] * 5,
        }
    )
    comparison = compare(frame, test="permutation", confidence=1 - 2 / 32)
    assert comparison["p_corrected"].to_list() == [2 / 32]
    assert comparison["simultaneous_low"][0] > 0
    forest = charts.comparison_forest(comparison, confidence=1 - 2 / 32)
    assert forest.data["significance"].to_list() == ["corrected p ≤ 0.0625"]
    title = " ".join(forest.to_dict()["title"]["text"].split())
    assert title == "a is better than b (randomisation test)"
    matrix = charts.comparison_matrix(comparison, confidence=1 - 2 / 32)
    assert matrix.data["mark"].to_list() == ["+", "\u2212"]


def test_without_simultaneous_intervals_the_forest_speaks_of_none():
    comparison = compare(results(4, 30), "mu_ap", test="wilcoxon")
    spec = spec_of(charts.comparison_forest(comparison))
    assert "simultaneous" not in str([layer["encoding"].get("x") for layer in spec["layer"]])
    axis_title = spec["encoding"]["x"]["title"]
    assert "line: 95 % interval of each difference alone" in axis_title
    assert "as p is" not in str(axis_title)


def test_an_interval_without_one_end_is_not_drawn():
    summary = summary_of(2, 9).with_columns(ci_low=pl.when(strategy="s1").then("ci_low"))
    data = charts.strategy_bars(summary).data
    assert data.filter(strategy="s2")["ci_high"].null_count() == len(MEASURES)
    assert data.filter(strategy="s1")["ci_high"].null_count() == 0


# What charts have in common


def test_every_chart_function_is_tested():
    assert {row.function.__name__ for row in ROWS.values()} == {*charts.__all__} - {"for_print"}


@pytest.mark.parametrize(
    ("frame", "ideal", "error", "sentence"),
    [
        ({"c": [[0.1]], "i": [1.0]}, "i", TypeError, "`ideal` must hold lists, as 'c' does, got"),
        ({"c": [0.1], "rank": [1], "i": [[1.0]]}, "i", TypeError, "must have numbers in 'i'"),
        ({"c": [[0.1]]}, "", pl.exceptions.ColumnNotFoundError, "`frame` has no column ''"),
    ],
)
def test_an_ideal_that_is_no_curve_beside_the_other_is_refused(frame, ideal, error, sentence):
    frame = pl.DataFrame({"strategy": "a", "query": 1} | frame)
    with pytest.raises(error, match=sentence):
        charts.dcg_curves(frame, "c", ideal=ideal)


def test_differences_by_rank_are_paired_and_their_band_is_the_interval_of_compare():
    frame = results(3, 30)
    chart = charts.dcg_curves(frame, baseline="s2")
    assert set(chart.data["strategy"]) == {"s1", "s3"}
    at_ranks = frame.select(
        "strategy",
        "query",
        *(pl.col(DCG_20).list.get(rank - 1).alias(f"at {rank}") for rank in (1, 20)),
    )
    for rank in (1, 20):
        expected = compare(at_ranks, {f"at {rank}": "dcg"}, baseline="s2")
        drawn = chart.data.filter(rank=rank).sort("strategy")
        for one, other in (("value", "difference"), ("ci_low", "ci_low"), ("ci_high", "ci_high")):
            assert drawn[one].to_list() == pytest.approx(expected[other].to_list())
    wider = charts.dcg_curves(frame, baseline="s2", confidence=0.99).data
    assert (wider["ci_high"] > chart.data["ci_high"]).all()
    # They have the colours that they have beside the baseline.
    assert next(
        each["color"] for each in encodings(spec_of(chart)) if "field" in each.get("color", {})
    )["scale"] == {"domain": ["s1", "s2", "s3"], "range": CATEGORY_COLOURS}
    one_lacks = frame.filter((pl.col("strategy") != "s1") | (pl.col("query") > 2))
    drawn = charts.dcg_curves(one_lacks, baseline="s2").data
    both = charts.dcg_curves(frame.filter(pl.col("query") > 2), baseline="s2").data
    first = {"strategy": "s1", "rank": 20}
    assert drawn.filter(**first)["value"].item() == both.filter(**first)["value"].item()
    with pytest.raises(ValueError, match="there is no strategy 's4'"):
        charts.dcg_curves(frame, baseline="s4")
    with pytest.raises(ValueError, match="`baseline` needs a list for each query"):
        charts.dcg_curves(ranks_of(2, 5), baseline="s1")


def test_the_interval_is_the_one_that_agrees_with_p():
    wide = pl.col("ci_high") - pl.col("ci_low")
    comparison = comparison_of(3, 9).with_columns(
        simultaneous_low=pl.col("ci_low") - wide, simultaneous_high=pl.col("ci_high") + wide
    )
    for frame, low in (
        (comparison.drop("simultaneous_low", "simultaneous_high"), "ci_low"),
        (comparison, "simultaneous_low"),
    ):
        spec = spec_of(charts.comparison_forest(frame))["spec"]
        [line] = [each for each in spec["layer"] if "x2" in each["encoding"]]
        assert line["encoding"]["x"]["field"] == low
        assert line["encoding"]["x2"]["field"] == low.replace("low", "high")
        are_corrected = low != "ci_low"
        assert ("corrected as p is" in " ".join(spec["encoding"]["x"]["title"])) == are_corrected


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


NAMES_OF_SCRIPTS = [
    *("constructor", "__proto__", "two\nlines", "a\u2028b", "nul\0", "toString", "valueOf", "it's")
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "dcg_curves",
        "precision_histogram",
        "recall_precision_curves",
        "measure_agreement",
        "sample_quantiles",
        "strategy_bars",
    ],
)
def test_names_that_a_script_has_for_its_own_are_drawn_like_any_other(name):
    row = ROWS[name]
    frame = row.frame(8, 8)
    to = dict(zip([f"s{place}" for place in range(1, 9)], NAMES_OF_SCRIPTS, strict=True))
    queries = dict(zip(map(str, range(1, 9)), NAMES_OF_SCRIPTS, strict=True))
    columns = {"strategy": to, "baseline": to, "query": queries}
    odd = frame.with_columns(
        pl.col(column).cast(pl.String).replace(names)
        for column, names in columns.items()
        if column in frame.columns
    )
    pair = {"a": "constructor", "b": "__proto__"} if "a" in row.options else {}
    counts = [
        Counter(shape for shape, *_ in drawn_marks(chart))
        for chart in (row.draw(frame), row.draw(odd, **pair))
    ]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) >= 8


SEGMENTS = pl.DataFrame(
    {
        "strategy": ["x", "x", "y", "y"] * 2,
        "country": ["fr"] * 4 + ["de"] * 4,
        "rank": [1, 2] * 4,
        "recall": [0.0, 1.0] * 4,
        "cg": [float(place) for place in range(8)],
    }
)


@pytest.mark.parametrize(
    ("function", "at"), [(charts.dcg_curves, "rank"), (charts.recall_precision_curves, "recall")]
)
def test_segments_have_a_panel_each_and_are_never_one_line(function, at):
    frame = SEGMENTS.select("strategy", "country", at, "cg")
    chart = function(frame, "cg")
    assert isinstance(chart, alt.FacetChart)
    assert spec_of(chart)["facet"]["sort"] == ["fr", "de"]
    assert chart.data.filter(strategy="x", panel="de")["value"].to_list() == [4.0, 5.0]
    assert isinstance(function(frame.filter(country="fr"), "cg"), alt.LayerChart)
    both = frame.with_columns(year=pl.Series([1, 1, 1, 1, 1, 1, 2, 2]))
    again = pl.concat([both, both.with_columns(year=pl.lit(3, pl.Int64))])
    panels = {*function(again, "cg").data["panel"]}
    assert panels == {f"{country}, {year}" for country, year in again["country", "year"].rows()}


# Queries of several columns.

BY_DEVICE = {
    "precision_histogram": lambda frame, **keys: charts.precision_histogram(
        frame, "ap", "strong", "weak", **keys
    ),
    "explore": lambda frame, **keys: charts.explore(frame, "strong", "weak", "ap", **keys),
    "dcg_curves": lambda frame, **keys: charts.dcg_curves(frame, confidence=0.95, **keys),
    "baseline": lambda frame, **keys: charts.dcg_curves(frame, baseline="weak", **keys),
    "recall_precision_curves": charts.recall_precision_curves,
    "measure_agreement": lambda frame, **keys: charts.measure_agreement(
        frame, "ap", "ndcg@10", **keys
    ),
}


@pytest.mark.parametrize("name", BY_DEVICE)
@pytest.mark.filterwarnings("ignore:queries are tested as independent")
def test_several_columns_tell_queries_apart(name):
    """As one column does that has both, in the order of both."""
    measures = ["ap", "ndcg@10", "dcg_curve@5", "interpolated_precision"]
    alone = evaluate(datasets.example(6), *measures, by=["strong", "weak"])
    both = pl.concat(
        [
            alone.with_columns(device=pl.lit("phone")),
            # The same queries once more, with other values.
            alone.filter(pl.col("query") > 2).with_columns(
                pl.col("ap", "ndcg@10") / 2, device=pl.lit("desk")
            ),
        ]
    )
    joined = both.with_columns(pl.format("{}, {}", "device", "query").alias("device, query"))
    one = BY_DEVICE[name](joined.drop("query", "device"), query="device, query")
    several = BY_DEVICE[name](both, query=["device", "query"])
    assert several.data.select(one.data.columns).equals(one.data)
    assert several.to_dict()["description"] == one.to_dict()["description"]


def test_a_chart_takes_the_one_column_that_could_be_the_query():
    frame = evaluate(datasets.example(6), "ap", by=["strong", "weak"]).rename({"query": "term"})
    chart = charts.precision_histogram(frame, "ap", "strong", "weak")
    named = charts.precision_histogram(frame, "ap", "strong", "weak", query="term")
    assert chart.to_dict() == named.to_dict()
    with pytest.raises(ValueError, match=r"`query` must be passed .* got row, term"):
        charts.precision_histogram(frame.with_row_index("row"), "ap", "strong", "weak")
    with pytest.raises(TypeError, match="no argument 'baseline'; there are per_query, measure"):
        charts.precision_histogram(frame, "ap", "strong", "weak", baseline="weak")


# What is no name.


# Similarity of rankings


def test_a_histogram_of_similarities_counts_queries_of_each_pair_by_bin():
    similar = pl.DataFrame(
        {"a": "a", "b": ["b"] * 3 + ["c"], "query": [1, 2, 3, 1], "rbo": [0.0, 1, 1, 0.5]}
    )
    rows = charts.similarity_matrix(similar, "rbo", show="histogram").data
    counts = {
        (name, round(low, 9), round(high, 9)): n
        for name, low, high, n in rows.select("panel", "low", "high", "count").iter_rows()
    }
    # No bin begins below 0 or ends above 1.
    expected = {("a and b", 0, 0.1): 1, ("a and b", 0.9, 1): 2, ("a and c", 0.5, 0.6): 1}
    assert counts == expected
    edges = pl.DataFrame({"a": "a", "b": "b", "rbo": [i / 10 for i in range(11)]})
    counted = charts.similarity_matrix(edges, "rbo", show="histogram").data["count"].to_list()
    assert counted == [1] * 9 + [2]
    for value in (0.0, -1.0):
        alone = edges.head(1).with_columns(rbo=value)
        drawn = charts.similarity_matrix(alone, "rbo", show="histogram").data
        assert drawn["low"].to_list() == [value]


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


def test_long_names_of_pairs_keep_the_parts_in_which_strategies_differ():
    names = [f"neural-reranker-v{i}-distilled-from-a-large-teacher-{i}000-final" for i in range(3)]
    rng = np.random.default_rng(0)
    rows = {"query": np.repeat([1, 2, 3], 9), "doc": [*range(9)] * 3}
    frame = pl.DataFrame(rows | {name: rng.random(27) for name in names})
    similar = similarity(frame, "overlap_curve@5", "rbo", by=names)
    histograms = charts.similarity_matrix(similar, "rbo", show="histogram")
    curves = charts.dcg_curves(similar, "overlap_curve@5")
    for pairs in (curves.data["strategy"], histograms.data["panel"]):
        drawn = pairs.unique().to_list()
        assert len(drawn) == 3
        assert max(map(len, drawn)) <= style.MAX_LABEL_LETTERS
        for pair in drawn:
            one, other = pair.split(" and ")
            assert one != other
    title = charts.dcg_curves(similar, "overlap_curve@5").title.text
    assert title == "Overlap of 3 pairs of strategies by rank"
    few = similarity(frame.rename({names[0]: "x", names[1]: "y"}), "overlap_curve@5", by=["x", "y"])
    one = charts.dcg_curves(few)
    assert {*one.data["strategy"]} == {"x and y"}
    assert one.title.text == "Overlap of 1 pair of strategies by rank"


def test_curves_of_two_segments_are_no_single_line():
    rows = pl.DataFrame(
        {
            "query": range(4),
            "doc": "a",
            "grade": 1,
            "s": 1.0,
            "country": ["DE", "DE", "FR", "FR"],
            "device": ["d", "m"] * 2,
        }
    )
    curves = average_curves(rows, "dcg_curve@2", by="s", segments=["country", "device"])
    with pytest.raises(ValueError, match=r"a strategy must have each rank once.* too many"):
        charts.dcg_curves(curves, panel="country")
    assert {*charts.dcg_curves(curves).data["panel"]} == {"DE, d", "DE, m", "FR, d", "FR, m"}


def test_a_curve_states_the_queries_that_are_drawn():
    lists = [[0.1, 0.2, 0.3]] * 14
    frame = pl.DataFrame({"strategy": ["a"] * 4 + ["b"] * 10, "query": [*range(4), *range(10)]})
    frame = frame.with_columns(pl.Series("dcg_curve@3", lists))
    for options, count in (({}, "4 to 10 queries"), ({"baseline": "b"}, "4 queries")):
        assert count in " ".join(charts.dcg_curves(frame, **options).title["subtitle"])
    gaps = frame.head(4).with_columns(
        pl.Series("dcg_curve@3", [[1.0, 2], [math.nan] * 2, [math.inf] * 2, [3.0, 4]])
    )
    assert "2 queries" in " ".join(charts.dcg_curves(gaps).title["subtitle"])


def test_a_baseline_is_no_grey_line():
    rows = [(f"s{n}", query, [0.1 * n, 0.2]) for n in range(13) for query in range(3)]
    frame = pl.DataFrame(rows, schema=["strategy", "query", "dcg_curve@2"], orient="row")
    assert "grey" not in " ".join(charts.dcg_curves(frame, baseline="s0").title["subtitle"])
    assert "grey: 5 others" in " ".join(charts.dcg_curves(frame).title["subtitle"])


def test_a_renamed_similarity_is_not_mirrored():
    similar = similarity(
        datasets.example(9), {"entered": "relevant_entered@10"}, by=["weak", "strong"]
    )
    assert charts.similarity_matrix(similar, "entered").data.select("a", "b").rows() == [
        ("weak", "strong")
    ]


def test_queries_of_two_columns_have_names_of_their_own():
    rows = pl.DataFrame({"strategy": ["a", "a", "b", "b"], "user": ["x, y", "x"] * 2})
    rows = rows.with_columns(topic=pl.Series(["z", "y, z"] * 2), ap=pl.Series([0.1, 0.9, 0.5, 0.6]))
    chart = charts.query_heatmap(rows, "ap", query=["user", "topic"])
    assert set(chart.data["query"]) == {"x, y, z (1)", "x, y, z (2)"}


def test_a_query_is_without_relevant_documents_only_if_all_strategies_say_so():
    frame = pl.DataFrame({"strategy": ["x", "x", "y", "y"], "query": [1, 2] * 2})
    frame = frame.with_columns(ndcg=pl.Series([0.0, 1, 1, 1]), n_relevant=pl.Series([0, 1, 1, 1]))
    chart = charts.query_heatmap(frame.rename({"ndcg": "ndcg@10"}), "ndcg@10")
    assert chart.data["query"].n_unique() == 2
    assert "no relevant" not in " ".join(chart.title["subtitle"])


@pytest.mark.parametrize(
    ("scores", "panels", "note"),
    [
        ([5.0, 5, 7, 7], "aabb", "φ is undefined in 2 panels: all values are the same"),
        ([5.0, 5, 7, 9], "aabb", "φ is undefined in 1 panel: all values are the same"),
        ([1.0, 5, 5, 5], None, "1 at the highest value, 0 at lower values up to the median"),
    ],
)
def test_notes_of_phi_hold_for_equal_values(scores, panels, note):
    frame = pl.DataFrame({"s": scores, "q": [*(panels or "aaaa")]})
    chart = charts.relevance_function(frame, "s", panel="q" if panels else None)
    assert note in " ".join(chart.title["subtitle"])
