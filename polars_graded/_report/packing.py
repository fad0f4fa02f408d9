"""Round numbers for the JSON of a page, and pack arrays of numbers into text."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.ragged import Floats
from polars_graded._report.payload import OptionalNumber, PagePoints
from polars_graded._sentences import format_count

MAX_STEPS = 2**16 - 2
"""Number of steps between the lowest and the highest value of a query's curves."""

MAX_VALUE = float(np.finfo(np.float32).max)
"""Maximum absolute value in a page, which stores values as 32-bit floats."""


def check_size(name: str, values: Floats) -> None:
    """Raise if the absolute value of any number exceeds `MAX_VALUE`."""
    if (is_too_large := np.abs(values) > MAX_VALUE).any():
        msg = (
            f"{name!r} must lie within ±3.4e38 to be shown, got "
            f"{format_count(int(is_too_large.sum()), 'values')} beyond, such as "
            f"{values[is_too_large][0]:g}"
        )
        raise ValueError(msg)


def pack_values(values: Floats) -> str:
    """Pack values as 32-bit floats, which have 24 significant bits."""
    return _encode_base64(values.astype("<f4"))


def pack_points(points: Floats, means: list[list[OptionalNumber]]) -> PagePoints:
    """Pack each point as a whole number of steps above the lowest value.

    `MAX_STEPS` equal steps span the range from the lowest to the highest point of a query, over all
    strategies. A missing point has the code `MAX_STEPS + 1`.
    """
    is_known = ~np.isnan(points)
    low = np.where(is_known, points, np.inf).min(axis=(0, 2))
    high = np.where(is_known, points, -np.inf).max(axis=(0, 2))
    # If a query has only missing points, low and high are 0.
    low, high = (np.where(np.isfinite(ends), ends, 0).astype("<f4") for ends in (low, high))
    span = (high - low).astype(np.float64)[:, None]
    share = np.divide(points - low[:, None], span, out=np.zeros_like(points), where=span > 0)
    codes = np.where(is_known, np.clip(np.rint(share * MAX_STEPS), 0, MAX_STEPS), MAX_STEPS + 1)
    return {
        "n_lines": len(points),
        "codes": _encode_base64(codes.astype("<u2")),
        "low": _encode_base64(low),
        "high": _encode_base64(high),
        "means": means,
    }


def _encode_base64(array: npt.NDArray[Any]) -> str:
    """Return the bytes of an array as Base64 text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def round_number(value: float | None) -> float | None:
    """Round a number to seven significant digits; NaN becomes None."""
    return None if value is None or np.isnan(value) else float(f"{value:.7g}")


def format_cell(value: Any) -> Any:
    """Convert a value to a cell of a table.

    Integers and texts are unchanged, and other numbers are rounded. A list of dictionaries becomes
    a list of rows.
    """
    if isinstance(value, list):
        return [[*map(format_cell, row.values())] for row in value]
    return value if isinstance(value, int | str) else round_number(value)


def round_numbers(values: Iterable[Any]) -> list[float | None]:
    """Round each number to seven significant digits."""
    return [round_number(value) for value in values]
