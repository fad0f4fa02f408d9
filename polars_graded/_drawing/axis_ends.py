"""Choose round numbers for the ends and the ticks of axes."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import polars as pl

AxisEnds: TypeAlias = tuple[float, float]
"""The lowest and the highest value of an axis."""

MIN_SPAN_RATIO = 10
"""Ratio above which the axes of x and y have different ends.

The ratio is the range of all values, divided by the range of x or of y, whichever is smaller.
"""


def choose_step(minimum: float) -> float:
    """Return the smallest round number that is at least `minimum`.

    Round numbers are 1, 2 and 5 times a power of ten. The result is 0.02 if `minimum` is 0 or less.
    """
    if minimum <= 0:
        return 0.02
    power = 10.0 ** math.floor(math.log10(minimum))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= minimum)


def choose_ends(values: pl.Series, steps: int = 5) -> AxisEnds:
    """Return round numbers that enclose all values.

    Both numbers are multiples of a round step. The axis has at most `steps` + 1 such steps.
    """
    array = values.to_numpy()
    step = choose_step(float(np.ptp(array)) / steps)
    # Without the tiny amount, a rounding error could add a whole step.
    low = math.floor(array.min() / step + 1e-9) * step
    return low, max(low + step, math.ceil(array.max() / step - 1e-9) * step)


def choose_ends_of_axes(x: pl.Series, y: pl.Series) -> tuple[AxisEnds, AxisEnds]:
    """Return the ends of both axes.

    Both axes get the same ends if no value is negative, and if both x and y then fill at least 1 /
    `MIN_SPAN_RATIO` of the range of all values. If all values of x are equal, or all values of y,
    they need not fill this share.
    """
    both = pl.concat([x, y])
    spans = [float(np.ptp(values.to_numpy())) for values in (x, y, both)]
    are_unlike = 0 < min(spans) < spans[2] / MIN_SPAN_RATIO
    if are_unlike or (both < 0).any():
        return choose_ends(x, 10), choose_ends(y, 10)
    return (choose_ends(both),) * 2


def choose_rank_ticks(last: int) -> list[int]:
    """Return the ranks to label on an axis.

    If there are at most ten ranks, all are labelled. Otherwise, rank 1 and the multiples of a round
    step are labelled.
    """
    if last <= 10:  # noqa: PLR2004
        return list(range(1, last + 1))
    step = max(5, int(choose_step(last / 8)))
    return [1, *range(step, last + 1, step)]


def choose_power_ticks(low: float, high: float, smallest: float = 1.0) -> list[float]:
    """Return the amounts to label on a symlog axis: 0 and powers of ten.

    The powers begin at `smallest`: 1, 10, 100 and so on, and -1, -10, -100 and so on. If at most
    three of these amounts lie between `low` and `high`, 2 and 5 times each power are labelled too.
    """
    max_amount = max(abs(low), abs(high), smallest)
    first, last = (math.floor(math.log10(amount)) for amount in (smallest, max_amount))
    powers = [10.0**power for power in range(first, last + 1)]
    ticks: list[float] = []
    for steps in ([1.0], [1.0, 2.0, 5.0]):
        amounts = [step * power for power in powers for step in steps]
        candidates = sorted({0.0, *amounts, *(-amount for amount in amounts)})
        ticks = [amount for amount in candidates if low <= amount <= high]
        if len(ticks) > 3:  # noqa: PLR2004
            break
    return ticks


def choose_log_ticks(low: float, high: float) -> list[float]:
    """Return the numbers to label on a logarithmic axis.

    These are one, two and five times powers of ten.
    """
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = (step * 10.0**power for power in powers for step in (1, 2, 5))
    return [tick for tick in ticks if low <= tick <= high]
