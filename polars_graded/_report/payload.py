"""The data of a page: exactly the fields that Python writes and that the script reads."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from polars_graded._sentences.verdicts import Sentence

OptionalNumber: TypeAlias = float | None


class PageMeasure(TypedDict):
    """A measure: its column in the table of strategies, and its values for single queries."""

    name: str
    about: str
    best: Any
    """`"highest"`, `"lowest"` or `"none"`."""
    queries: int
    means: list[OptionalNumber]
    margins: list[OptionalNumber]
    best_strategies: list[int]
    order: list[int]
    """Indices of strategies, the best first; the highest first if `best` is `"none"`."""
    values: str
    """Values by strategy and query, as packed 32-bit floats."""
    bin: float
    rounding: float
    verdict: Sentence
    """Parts of the text: strings, and indices in place of the names of strategies."""


class PagePoints(TypedDict):
    """The curves of single queries, packed into text, and the mean curves.

    For each query, there is one curve per strategy (`n_lines` is the number of strategies), or one
    curve that all strategies share (`n_lines` is 1).
    """

    n_lines: int
    codes: str
    low: str
    high: str
    means: list[list[OptionalNumber]]


class Curve(TypedDict):
    """A curve, and the specifications of its chart.

    If there is an ideal curve, the first specification leaves it out and the second draws it.
    """

    name: str
    about: str
    kind: str
    at: list[float]
    unit: bool
    """True if all values lie between 0 and 1."""
    queries: int
    inspected: list[int] | None
    packed: PagePoints
    ideal: PagePoints | None
    specs: list[dict[str, Any]]


class PairNumbers(TypedDict):
    """Numbers of a difference, named like the columns of `compare`."""

    difference: OptionalNumber
    ci_low: OptionalNumber
    ci_high: OptionalNumber
    wins: int
    ties: int
    losses: int
    p_corrected: OptionalNumber
    simultaneous_low: OptionalNumber
    simultaneous_high: OptionalNumber


class Pair(PairNumbers):
    """A difference between two strategies, which are given by their indices."""

    strategy: int
    baseline: int
    p: str
    significant: bool


class Comparison(TypedDict):
    """The pairs of strategies for each measure, and how they were tested."""

    baseline: int | None
    columns: list[str]
    """The fields of `Pair`; empty if there are no pairs."""
    rows: list[list[list[Any]]]
    """Values of `columns`, nested by measure and pair."""
    note: str
    interval_note: str


class Certainty(TypedDict):
    """A row of the table of certainty, for a measure.

    `smallest_difference` is the smallest difference that the queries can show. `tau` is the
    stability of the order of strategies.
    """

    measure: str
    queries: int
    smallest_difference: OptionalNumber
    difference: OptionalNumber
    queries_needed: int | None
    significant_pairs: int
    pairs: int
    tau: OptionalNumber
    tau_low: OptionalNumber
    tau_high: OptionalNumber
    note: str


class Segment(TypedDict):
    """A row of the table of segments."""

    name: str
    queries: int
    means: list[OptionalNumber]
    best_strategies: list[int]


class SegmentsOfMeasure(TypedDict):
    """The rows of a measure, and a note on differences that vary between segments."""

    rows: list[Segment]
    note: str


class Segments(TypedDict):
    """The means in segments, by measure."""

    title: str
    measures: list[SegmentsOfMeasure]


class Overview(TypedDict):
    """The rows of `overview`, and the titles and formats of their columns.

    The first column, the strategy, has no title or format. A format is a word such as `"count"`.
    """

    note: str
    columns: list[tuple[str, str]]
    mostTies: float
    rows: list[list[Any]]


class SimilarPair(TypedDict):
    """A row of the table of similarities, for two strategies given by their indices.

    `overlap` and `rbo` compare the rankings of both strategies. They are means over queries.
    """

    strategy: int
    other: int
    overlap: OptionalNumber
    rbo: OptionalNumber


class Similarity(TypedDict):
    """The pairs, from the least to the most similar by `rbo`, and a note on the measures."""

    note: str
    rows: list[SimilarPair]


class PageRankings(TypedDict):
    """The first documents of each strategy, for the queries in `inspected`.

    The page may not have room for the documents of all queries.
    """

    ranks: int
    columns: list[str]
    inspected: list[int]
    entries: list[dict[str, Any]]


class Graders(TypedDict):
    """The charts of graders, and the text that describes them."""

    spec: dict[str, Any]
    description: str


class Payload(TypedDict):
    """All data of a page."""

    about: str
    strategies: list[str]
    labels: list[str]
    """Names in the chart of differences. Names of more than 20 letters are shortened if all names
    then remain different."""
    choices: list[str]
    """Names in the lists to choose from, shortened in the same way if longer than 40 letters."""
    queries: list[str]
    total: int
    measures: list[PageMeasure]
    curves: list[Curve]
    missing: str
    steps: int
    alpha: float
    mostPairs: int
    mostNamed: int
    mostColours: int
    rest: dict[str, Any]
    forestSteps: list[int]
    looks: list[dict[str, Any]]
    absent: dict[str, str]
    corrected: str
    testName: str
    specs: dict[str, Any]
    comparison: Comparison
    certainty: list[Certainty]
    share: str
    segments: Segments | None
    overview: Overview | None
    similarity: Similarity | None
    unjudged: dict[str, list[list[OptionalNumber]]]
    rankings: PageRankings | None
    graders: Graders | None
    settings: list[tuple[str, str]]
