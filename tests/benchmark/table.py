"""Lines of the table: measurements, targets and format."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int
    peer_rows: int
    repeat: int


@dataclass(frozen=True)
class Target:
    """What a ratio must be."""

    bound: float
    at_least: bool = False

    def met_by(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:.3g}"


def at_most(bound: float) -> Target:
    return Target(bound)


def at_least(bound: float) -> Target:
    return Target(bound, at_least=True)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    measured: str
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Case:
    """Something to measure in seconds or bytes, and what its ratio to the first case must be."""

    what: str
    measure: Callable[[], float]
    target: Target | None = None


TURN = 0.25
"""Seconds in which a quick run is repeated before it is the next one's turn."""


def timed(run: Callable[[], object]) -> Callable[[], float]:
    """What measures the seconds that `run` takes: the least of a turn."""

    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    def seconds() -> float:
        tries = [once()]
        while sum(tries) < TURN:
            tries.append(once())
        return min(tries)

    return seconds


def compared(
    cases: Sequence[Case], repeat: int, write: Callable[[float], str] = "{:.3f} s".format
) -> Iterator[Row]:
    """A row a case: the least of its measurements and its ratio to that of the first case.

    The cases take turns, so that whatever else the machine does is not all one case's loss.
    """
    rounds = [[case.measure() for case in cases] for _ in range(repeat)]
    least = [min(values) for values in zip(*rounds, strict=True)]
    for case, value in zip(cases, least, strict=True):
        ratio = value / least[0]
        if case.target is None:
            yield Row(case.what, write(value), ratio)
        else:
            yield Row(case.what, write(value), ratio, str(case.target), case.target.met_by(ratio))


def written(sections: Iterable[tuple[str, Sequence[Row]]]) -> str:
    """The table, a line a row and a heading a section."""
    layout = "{:<44}{:>12}{:>9}{:>9}  {}".format
    lines = [layout("what", "measured", "ratio", "target", "met?")]
    for title, rows in sections:
        lines += ["", title]
        for row in rows:
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            met = "" if row.met is None else "yes" if row.met else "NO"
            line = layout(f"  {row.what}", row.measured, ratio, row.target, met)
            lines.append(line.rstrip())
    return "\n".join(lines)
