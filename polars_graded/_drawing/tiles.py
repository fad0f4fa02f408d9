"""Rankings side by side as columns of tiles: the rows that are drawn, and their marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from polars_graded._drawing import chart_data
from polars_graded._drawing.style import (
    DOUBT,
    FAINT,
    INK,
    MOST_COLOURS,
    REST,
    choosing,
    decimals,
    legend,
    once,
    strategy_look,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

TILE, GAP, BAR = 0.5, 0.02, 0.18
AT, END = round(TILE + GAP, 2), round(TILE + GAP + BAR, 2)
"""How wide the tile of a document is, and where the bar beside it begins and ends, of 1."""

FEW_GRADES = 6
"""So many relevant grades have a colour each; of more, four ranges of them do."""

IRRELEVANT, UNJUDGED = "#e6e8eb", "unjudged"
LIGHTEST, DARKEST = (0x8F, 0xBF, 0xE6), (0x10, 0x3A, 0x66)
"""The colours of the lowest relevant grade and of the highest: dark is more, in grey print too."""

MOST_BELOW = 10
"""How many relevant documents stand below the line."""

LETTER = 6
"""About how many pixels a letter takes."""

SMALL = 10
"""The size of what stands on tiles."""

NAMED_RANKS = 25
"""Of so many ranks, each has its number."""

BARE: dict[str, Any] = {"grid": False, "domain": False, "ticks": False}
"""An axis that is labels alone."""

HEIGHT = {"top": "datum.y - 0.44", "bottom": "datum.y + 0.44"}
"""Where a tile begins and ends."""

LONGEST = 300
"""How much of a text a tooltip shows."""


def column_width(n: int) -> int:
    """How wide each of n columns is."""
    return max(24, min(280, 700 // n))


def tile_rows(
    documents: pl.DataFrame, values: Mapping[str, float | None], n: int, label: str
) -> pl.DataFrame:
    """What is drawn: `document` rows, `line` rows that join them, and `strategy` rows above them.

    A `column` is the place of a strategy, `y` the rank, and below the line the place there.
    """
    names = list(values)
    place = pl.col("strategy").replace_strict(
        {name: at for at, name in enumerate(names)}, return_dtype=pl.Int64
    )
    documents = documents.with_columns(place.alias("column"))
    top = documents.filter(pl.col("rank") <= n).with_columns(
        pl.col("rank").cast(pl.Float64).alias("y")
    )
    deepest: Any = top["rank"].max()
    shown, hidden = _below(documents, top, n, (deepest or 0) + 2.0)
    share = pl.col("adds") / pl.col("value")
    value = pl.DataFrame(
        {"strategy": names, "value": list(values.values())},
        schema={"strategy": pl.String, "value": pl.Float64},
    )
    tiles = (
        pl.concat([top, shown], how="diagonal")
        .join(value, on="strategy", maintain_order="left")
        .with_columns(
            pl.lit("document").alias("part"),
            pl.when(pl.col("value") > 0).then(share).alias("share"),
        )
        .drop("value")
    )
    written = ["" if value is None else f"{label} {value:.4f}" for value in values.values()]
    heads = value.with_columns(
        pl.lit("strategy").alias("part"),
        place.alias("column"),
        pl.Series("label", written, dtype=pl.String),
    )
    return pl.concat(
        [tiles, _lines(tiles), heads.join(hidden, on="strategy", how="left")], how="diagonal"
    )


def _below(
    documents: pl.DataFrame, top: pl.DataFrame, n: int, first: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The relevant documents that are not in the first n, and how many of a strategy there are.

    Of many, those that are in the first n of another strategy come before others.
    """
    missed = documents.filter(pl.col("relevant"), (pl.col("rank") > n) | pl.col("rank").is_null())
    elsewhere = pl.col("doc").is_in(top["doc"].unique().implode())
    chosen = missed.sort(
        elsewhere, "grade", "rank", "doc", descending=[True, True, False, False], nulls_last=True
    )
    chosen = chosen.group_by("strategy", maintain_order=True).head(MOST_BELOW)
    by_rank = chosen.sort(
        "column", "rank", "grade", "doc", descending=[False, False, True, False], nulls_last=True
    )
    at = pl.int_range(pl.len()).over("strategy") + first
    rank = pl.when(pl.col("rank").is_null()).then(pl.lit("no rank"))
    shown = by_rank.with_columns(
        at.cast(pl.Float64).alias("y"),
        rank.otherwise(pl.format("rank {}", "rank")).alias("label"),
        pl.lit(None, pl.Float64).alias("adds"),
    )
    counts = missed.group_by("strategy").agg(below=pl.len())
    return shown, counts


def _lines(tiles: pl.DataFrame) -> pl.DataFrame:
    """A line from each document to the same one in the next column."""
    left = tiles.select("strategy", "column", "y", "doc", "relevant", "adds", "label")
    right = left.select(pl.col("column") - 1, pl.col("y").alias("y_next"), "doc")
    lines = left.join(right, on=["column", "doc"], maintain_order="left")
    if tiles["column"].n_unique() > MOST_COLOURS:
        # Of many columns, each pair is too narrow for more than the lines that matter.
        lines = lines.filter("relevant")
    return lines.with_columns(pl.lit("line").alias("part"))


def with_levels(documents: pl.DataFrame, irrelevant: float) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows with the `level` of their grade, and the colour of each level, the lowest first."""
    grade = pl.col("grade")
    grades = documents["grade"].drop_nulls()
    relevant = grades.filter(grades > irrelevant).unique().sort().to_list()
    others = grades.filter(grades <= irrelevant)
    low = f"{irrelevant:g}" if (others == irrelevant).all() else f"{irrelevant:g} or below"
    if len(relevant) <= FEW_GRADES:
        ends = relevant
        names = [f"{end:g}" for end in ends]
    else:
        width = (relevant[-1] - irrelevant) / 4
        ends = [irrelevant + width * step for step in (1, 2, 3)] + [relevant[-1]]
        names = [f"up to {end:.3g}" for end in ends]
    level: Any = pl.when(grade.is_null()).then(pl.lit(UNJUDGED)).when(grade <= irrelevant)
    level = level.then(pl.lit(low))
    for end, name in zip(ends, names, strict=True):
        level = level.when(grade <= end).then(pl.lit(name))
    leveled = documents.with_columns(
        level.otherwise(pl.lit(names[-1] if names else low)).alias("level")
    )
    colours = {low: IRRELEVANT} | dict(zip(names, ramp(len(names)), strict=True))
    colours[UNJUDGED] = "#ffffff"
    there = set(leveled["level"])
    return leveled, {name: colour for name, colour in colours.items() if name in there}


def ramp(n: int) -> list[str]:
    """So many colours from the lightest to the darkest; of one, that in the middle."""
    steps = [0.5] if n == 1 else [step / (n - 1) for step in range(n)]
    return [
        "#"
        + "".join(
            f"{round(a + (b - a) * step):02x}" for a, b in zip(LIGHTEST, DARKEST, strict=True)
        )
        for step in steps
    ]


def is_dark(colour: str) -> bool:
    """Whether what is written on a colour has to be white."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140  # noqa: PLR2004


@dataclass(frozen=True)
class Page:
    """What is to be known of `tile_rows` to draw them: where they end and what they are called."""

    names: list[str]
    """The strategies."""
    labels: list[str]
    """What stands above their columns."""
    ranks: int
    """The last rank above the line."""
    lowest: float
    """Where the last document stands."""
    most: Any
    """The most that a document adds."""
    colours: Mapping[str, str]
    """The colour of each level."""
    measure: str
    grade: str
    strategy: str
    columns: list[str]
    selected: alt.Parameter

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        n: int,
        colours: Mapping[str, str],
        *,
        measure: str,
        grade: str,
        strategy: str,
    ) -> Page:
        """What these rows have."""
        documents, heads = table.filter(part="document"), table.filter(part="strategy")
        ranks, lowest, most = documents.select(
            pl.col("rank").filter(pl.col("rank") <= n).max(),
            pl.col("y").max(),
            pl.col("adds").max(),
        ).row(0)
        selected = alt.selection_point(
            name=chart_data.name_of("document", table),
            fields=["doc"],
            on="pointerover",
            clear="pointerout",
        )
        names, labels = heads["strategy"].to_list(), heads["label"].to_list()
        ends = (ranks or 0, lowest or 0, most or 0)
        return cls(names, labels, *ends, colours, measure, grade, strategy, table.columns, selected)

    @property
    def width(self) -> int:
        """How wide a column is."""
        return column_width(len(self.names))

    @property
    def room(self) -> Any:
        """How long what stands on a tile is at most, in pixels."""
        return self.width * TILE - 8

    @property
    def look(self) -> dict[str, Any]:
        """The colour of a strategy's name, where there are few."""
        few = len(self.names) <= MOST_COLOURS
        return strategy_look(self.names, self.strategy, legends=False) if few else {}

    @property
    def has_bars(self) -> bool:
        """Whether a document adds anything."""
        return bool(self.most > 0)

    @property
    def prints(self) -> bool:
        """Whether a number fits beside a tile."""
        return self.width * BAR >= 5 * LETTER

    @property
    def size(self) -> dict[str, Any]:
        """The size of the whole."""
        return {"width": self.width * len(self.names), "height": 18 * (self.lowest + 1.8)}

    def across(self, field: str) -> alt.X:
        """Where something stands from left to right."""
        last = round(len(self.names) - 1 + END + 0.1, 2)
        return alt.X(
            f"{field}:Q",
            title=f"beside a document: what it adds to {self.measure}",
            axis=alt.Axis(labels=False, titleAnchor="start", **BARE),
            scale=alt.Scale(domain=[-GAP, last], nice=False, zero=False),
        )

    def down(self, field: str) -> alt.Y:
        """Where something stands from the top."""
        return alt.Y(f"{field}:Q", **self._ranks)

    def line(self) -> alt.YDatum:
        """The line below the last rank."""
        return alt.YDatum(self.ranks + 0.5, **self._ranks)

    @property
    def _ranks(self) -> dict[str, Any]:
        every = list(range(1, self.ranks + 1))
        values = every if self.ranks <= NAMED_RANKS else chart_data.round_ranks(self.ranks)
        ends = [-1.2, self.lowest + 0.6]
        return {
            "title": "rank",
            "axis": alt.Axis(
                values=values, format="d", labelOverlap=False, titleAngle=0, titleY=22, **BARE
            ),
            "scale": alt.Scale(domain=ends, reverse=True, nice=False, zero=False),
        }

    @property
    def tooltip(self) -> list[Any]:
        """What is said of a document."""
        title, gain = ([name] if name in self.columns else [] for name in ("title", "gain"))
        return [
            *("strategy:N", "rank:Q", "doc:N", *(f"{name}:N" for name in title)),
            alt.Tooltip("grade:Q", title=self.grade),
            "tied:N",
            *decimals(*gain, "adds"),
            alt.Tooltip("share:Q", format=".1%"),
        ]

    @property
    def seen(self) -> dict[str, Any]:
        """All but the document under the pointer, if one is, are faint."""
        return {"opacity": alt.condition(self.selected, alt.value(1), alt.value(0.15))}


def marks(page: Page) -> list[alt.Chart]:
    """Tiles, what each adds, the lines between them and what stands above and below.

    Rows are those of `tile_rows`, with the `level` of a grade and a `name` to write on a tile.
    """
    layers = [_links(page), *_boxes(page)]
    if page.has_bars:
        layers.append(_bars(page))
    return [*layers, *_words(page), *_heads(page), *_line(page)]


def _part(name: str, *filters: str, **calculated: str) -> alt.Chart:
    """The rows of a part, of which some are kept, with what is calculated of them."""
    chart: Any = alt.Chart().transform_filter(f"datum.part === '{name}'")
    for kept in filters:
        chart = chart.transform_filter(kept)
    part: alt.Chart = chart.transform_calculate(**calculated) if calculated else chart
    return part


def _links(page: Page) -> alt.Chart:
    """The lines, which begin where a bar or a word ends."""
    if page.prints:
        side = f"datum.adds > 0 || isValid(datum.label) ? {END} : {TILE}"
    else:
        side = f"datum.adds > 0 ? {AT} + {BAR} * datum.adds / {page.most} : {TILE}"
    lines = _part("line", start=f"datum.column + ({side})", end="datum.column + 1")
    links: alt.Chart = lines.mark_rule().encode(
        x=page.across("start"),
        x2="end:Q",
        y=page.down("y"),
        y2="y_next:Q",
        stroke=alt.condition("datum.relevant", alt.value(INK), alt.value(FAINT)),
        strokeWidth=alt.condition("datum.relevant", alt.value(1.5), alt.value(1)),
        **page.seen,
    )
    return links


def _boxes(page: Page) -> list[alt.Chart]:
    """The tiles: those without a judgment have an outline alone."""
    sides = {"right": f"datum.column + {TILE}", **HEIGHT}
    shape = {"x": page.across("column"), "x2": "right:Q", "y": page.down("top"), "y2": "bottom:Q"}
    # Not `color`, which is the strategies'.
    fill = alt.Fill(
        "level:N",
        title=page.grade,
        scale=alt.Scale(domain=list(page.colours), range=list(page.colours.values())),
        legend=legend(symbolStrokeColor=REST, symbolType="square"),
    )
    tiles = _part("document", **sides).mark_rect()
    tiles = tiles.encode(**shape, **page.seen, fill=fill, tooltip=page.tooltip)
    found = [choosing(tiles, page.selected)]
    if UNJUDGED in page.colours:
        unjudged = _part("document", f"datum.level === '{UNJUDGED}'", **sides)
        outline = unjudged.mark_rect(fill=None, stroke=DOUBT, strokeDash=[3, 2])
        found.append(outline.encode(**shape, **page.seen))
    return found


def _bars(page: Page) -> alt.Chart:
    """What documents add, as bars beside them."""
    end = f"datum.column + {AT} + {BAR} * datum.adds / {page.most}"
    bars = _part("document", "datum.adds > 0", start=f"datum.column + {AT}", end=end, **HEIGHT)
    drawn: alt.Chart = bars.mark_rect(color=FAINT).encode(
        x=page.across("start"),
        x2="end:Q",
        y=page.down("top"),
        y2="bottom:Q",
        tooltip=page.tooltip,
    )
    return drawn


def _words(page: Page) -> list[alt.Chart]:
    """What stands on tiles and beside them, where it fits."""
    found = []
    if page.width * TILE >= 9 * LETTER:
        dark = [name for name, colour in page.colours.items() if is_dark(colour)]
        on_dark = alt.FieldOneOfPredicate(field="level", oneOf=dark)
        names = _part("document").mark_text(align="left", dx=4, limit=page.room, fontSize=SMALL)
        found.append(
            names.encode(
                x=page.across("column"),
                y=page.down("y"),
                text="name:N",
                fill=alt.condition(on_dark, alt.value("white"), alt.value(INK)),
                tooltip=page.tooltip,
            )
        )
    if page.prints:
        numbers, words = (
            _part("document", kept, beside=f"datum.column + {AT}")
            .mark_text(align="left", dx=2, fontSize=SMALL, color=colour)
            .encode(x=page.across("beside"), y=page.down("y"))
            for kept, colour in (("datum.adds > 0", INK), ("isValid(datum.label)", DOUBT))
        )
        found += [
            numbers.encode(text=alt.Text("adds:Q", format=".3f")),
            words.encode(text="label:N"),
        ]
    return found


def _heads(page: Page) -> list[alt.Chart]:
    """Strategies above their columns, and their values."""
    head = _part("strategy", above="-0.75")
    bold = head.mark_text(align="left", fontWeight="bold", limit=page.width * 0.95)
    tooltip = ["strategy:N", *decimals("value")]
    found = [
        bold.encode(
            x=page.across("column"),
            y=page.down("above"),
            text="strategy:N",
            tooltip=tooltip,
            **page.look,
        )
    ]
    if page.width >= 6 * LETTER:
        fits = page.width >= LETTER * max(len(label) for label in page.labels)
        text = alt.Text("label:N") if fits else alt.Text("value:Q", format=".3f")
        values = _part("strategy", "isValid(datum.value)", at="0")
        values = values.mark_text(align="left", fontSize=SMALL)
        found.append(values.encode(x=page.across("column"), y=page.down("at"), text=text))
    return found


def _line(page: Page) -> list[alt.Chart]:
    """The line, and how many relevant documents there are below, if any."""
    if page.lowest <= page.ranks:
        return []
    said = "datum.below + ' relevant below'" if page.width >= 17 * LETTER else "datum.below"
    caption = _part("strategy", "datum.below > 0", at=f"{page.ranks + 1}", caption=f"'' + {said}")
    caption = caption.mark_text(align="left", fontSize=SMALL, color=DOUBT)
    return [
        once().mark_rule(color="gray").encode(page.line()),
        caption.encode(x=page.across("column"), y=page.down("at"), text="caption:N"),
    ]
