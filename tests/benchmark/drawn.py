"""Stored results of `tests.benchmark.compared`, as a picture and as a table."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FIGURES = Path(__file__).with_name("compared.csv")
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PICTURE = NOTEBOOKS / "compared.png"
PAGE = NOTEBOOKS / "book" / "testing.md"
TABLE = re.compile(r"(?<=<!-- compared -->\n).*(?=<!-- /compared -->)", re.DOTALL)
"""What of the page is written by this module."""

SCHEMA = {
    "tool": pl.String,
    "version": pl.String,
    "python": pl.String,
    "polars": pl.String,
    "cores": pl.Int64,
    "memory": pl.Int64,
    "load": pl.Float64,
    "rows": pl.Int64,
    "convert": pl.Float64,
    "evaluate": pl.Float64,
    "gigabytes": pl.Float64,
    "stopped": pl.String,
}
"""A row is one tool at one size; memory and gigabytes are those of the machine and of the run."""
MACHINE = ("cores", "memory", "python", "polars")


# As they are kept


def figures() -> pl.DataFrame:
    return pl.read_csv(FIGURES, schema=SCHEMA)


def keep(rows: Sequence[dict[str, Any]]) -> None:
    whole = [{name: row.get(name) for name in SCHEMA} for row in rows]
    measured = pl.col("convert", "evaluate", "gigabytes").round_sig_figs(3)
    pl.DataFrame(whole, SCHEMA).with_columns(measured).write_csv(FIGURES)


# As a table


def table() -> str:
    """One row per tool and one column per size, then where they stop, and what was measured on."""
    found = figures()
    sizes = found["rows"].unique().sort().to_list()
    heads = ["", *map(words, sizes), "conversion"]
    lines = [heads, ["---"] * len(heads)]
    for (tool,), runs in found.group_by("tool", maintain_order=True):
        by_size = {run["rows"]: cell(run, "<br>") for run in runs.iter_rows(named=True)}
        cells = [by_size.get(size, "") for size in sizes]
        lines.append([tool, *cells, conversion(runs)])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    sentences = "\n".join([*stops(found), machine(found)])
    return f"{rows}\n\n{sentences}\n"


def stops(found: pl.DataFrame) -> Iterator[str]:
    """A sentence for each size and reason at which tools stop."""
    stopped = found.drop_nulls("stopped")
    for (rows, why), runs in stopped.group_by("rows", "stopped", maintain_order=True):
        *others, last = runs["tool"]
        names = f"{', '.join(others)} and {last} stop" if others else f"{last} stops"
        yield f"At {words(rows)} rows {names}: {why.rstrip('.')}."


def machine(found: pl.DataFrame) -> str:
    """What was measured on, and with which versions."""
    cores, memory, python, polars = found.select(MACHINE).drop_nulls().row(0)
    beside = "beside other work" if found["load"].max() > 1 else "with nothing else to do"
    tools = found.filter(pl.col("tool").str.starts_with("polars_graded").not_())
    versions = tools.drop_nulls("version").unique("tool", maintain_order=True)
    named = "".join(
        f", {tool} {version}{'' if own == polars else f' with Polars {own}'}"
        for tool, version, own in versions.select("tool", "version", "polars").rows()
    )
    return (
        f"Measured on {cores} cores and {memory} GB of memory {beside}; "
        f"Python {python}, Polars {polars}{named}."
    )


def conversion(runs: pl.DataFrame) -> str:
    """The share of its seconds in the largest run of a tool."""
    last = runs.drop_nulls("convert")[-1:]
    return "".join(
        f"{convert / (convert + evaluate):.0%}"
        for convert, evaluate in last.select("convert", "evaluate").rows()
    )


def cell(run: dict[str, Any], between: str = ", ") -> str:
    if run["stopped"]:
        return f"*{run['stopped']}*".replace("|", r"\|")
    return f"{seconds(run['convert'] + run['evaluate'])}{between}{run['gigabytes']:.1f} GB"


def seconds(value: float) -> str:
    """With two digits, or whole."""
    return f"{value:.0f} s" if value >= 9.95 else f"{value:#.2g} s"


def words(rows: int) -> str:
    """A number of rows as it is read."""
    for power, word in ((10**6, "million"), (10**3, "thousand")):
        if rows >= power:
            return f"{rows / power:g} {word}"
    return str(rows)


def write_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(), page), encoding="utf-8")


# As a picture

WIDTH, HEIGHT = 460, 500
LABEL_HEIGHT = 30
COLOURS = ("#02307b", "#16809d", "#d92800", "#130e0b", "#236b57", "#7c7549", "#493000", "#c304e5")
"""Those of the package, which every kind of eye tells apart, in the order of the figures."""
FAINT, INK = "#d5d8dc", "#545b64"


def draw(path: Path) -> None:
    """Write the picture."""
    chart().save(path, scale_factor=1.5)


def chart() -> alt.LayerChart:
    """Rows against seconds: one line per tool, with its name and where it stops at the end."""
    found = figures().with_columns(seconds=pl.col("convert") + pl.col("evaluate"))
    done = found.drop_nulls("seconds").select("tool", "rows", "seconds")
    sizes = found["rows"].unique().sort()
    bounds = (done["seconds"].min() / 1.5, done["seconds"].max() * 10)
    tools = found["tool"].unique(maintain_order=True).to_list()
    names = pl.DataFrame({"rows": sizes, "name": [words(rows) for rows in sizes]})
    x = alt.X(
        "rows:Q",
        title="rows, 100 per query",
        scale=alt.Scale(type="log", domain=[sizes[0], sizes[-1]], nice=False),
        axis=alt.Axis(
            values=sizes.to_list(),
            labelExpr=f"{dict(names.select(pl.col('rows').cast(pl.String), 'name').rows())}"
            "[datum.value]",
            labelFlush=False,
            gridColor=FAINT,
        ),
    )
    y = alt.Y(
        "seconds:Q",
        title="seconds, with conversion",
        scale=alt.Scale(type="log", domain=bounds, nice=False),
        axis=alt.Axis(values=[10.0**power for power in range(-4, 4)], format="~g", gridColor=FAINT),
    )
    colour = alt.Color(
        "tool:N", scale=alt.Scale(domain=tools, range=COLOURS[: len(tools)]), legend=None
    )
    lines = alt.Chart(done).encode(x, y, colour)
    ends = alt.Chart(with_labels(found, bounds)).encode(x, y, colour)
    labels = ends.encode(x=alt.value(WIDTH + 28), y="label:Q")
    return alt.layer(
        ends.mark_rule(strokeDash=[1, 3], strokeWidth=1.2).encode(
            x2=alt.value(WIDTH + 22), y2="label:Q"
        ),
        lines.mark_line(strokeWidth=2, point={"size": 32, "filled": True}),
        ends.transform_filter("datum.stops").mark_text(text="×", fontSize=24, fontWeight="bold"),
        labels.mark_text(align="left", dy=-6, fontSize=13, fontWeight="bold").encode(text="tool:N"),
        labels.mark_text(align="left", dy=8, fontSize=11).encode(
            text="words:N", color=alt.value(INK)
        ),
    ).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(
            "Average precision and NDCG@10 of every query, from a frame with names as ids",
            subtitle="× is the last size before a tool stops"
            if found["stopped"].is_not_null().any()
            else "",
            anchor="start",
            offset=12,
        ),
    )


def with_labels(found: pl.DataFrame, bounds: tuple[float, float]) -> pl.DataFrame:
    """One row per tool: its largest run, what is said beside it, and at which height.

    Names stand in the order of what a row costs, where a line would go on to, as far as there is
    room.
    """
    largest = found["rows"].max()
    ends = [
        end
        for _, runs in found.group_by("tool", maintain_order=True)
        for end in runs.drop_nulls("seconds")[-1:]
        .select("tool", "rows", "seconds")
        .with_columns(stops=runs["stopped"].is_not_null().any(), words=pl.lit(last_words(runs)))
        .rows(named=True)
    ]
    ends.sort(key=lambda end: end["seconds"] / end["rows"])
    bottom, top = map(math.log10, bounds)
    gap = (top - bottom) * LABEL_HEIGHT / HEIGHT
    height = bottom
    for left, end in zip(reversed(range(len(ends))), ends, strict=True):
        wanted = math.log10(end["seconds"] / end["rows"] * largest)
        height = max(height, min(wanted, top - gap * (left + 0.5)))
        end["label"] = 10**height
        height += gap
    return pl.DataFrame(ends)


def last_words(runs: pl.DataFrame) -> str:
    """What became of the largest size that was tried."""
    last = runs.row(-1, named=True)
    return f"{words(last['rows'])} rows: {last['stopped'] or cell(last)}"
