"""Directions of sort columns: the argument `descending`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from polars_graded._checks import did_you_mean


@dataclass(frozen=True)
class Directions:
    """The checked argument `descending`. True stands for the highest value first."""

    passed: Mapping[str, tuple[bool, ...]]
    """A flag per sort column, for each entry of `by` that `descending` covers."""
    of_stacked: Mapping[str, bool] = field(default_factory=dict)
    """The direction of stacked strategies, by strategy. If it is False, the computed score of the
    strategy is negated."""
    are_all_ascending: bool = False
    """True if a single False covers several entries of `by`, or stacked strategies."""

    @classmethod
    def of(
        cls, descending: Any, by: Mapping[str, tuple[str, ...]], strategy: str | None = None
    ) -> Self:
        """Check the argument `descending`. `strategy` is the column of stacked strategies."""
        is_mapping, is_stacked = isinstance(descending, Mapping), strategy is not None
        if is_stacked and is_mapping and {*descending}.isdisjoint(by):
            _check_flags_of_stacked(descending, strategy)
            return cls({}, dict(descending))
        is_false = descending is False or (is_mapping and descending == dict.fromkeys(by, False))
        covers_several = is_stacked or (len(by) > 1 and descending is False)
        return cls(_parse_descending(descending, by), {}, is_false and covers_several)

    @property
    def ascending_strategies(self) -> list[str]:
        """The stacked strategies whose lowest value is first."""
        return [name for name, flag in self.of_stacked.items() if not flag]


def _check_flags_of_stacked(descending: Mapping[Any, Any], strategy: str | None) -> None:
    """Raise unless stacked strategies are mapped to Booleans."""
    for name, flag in descending.items():
        if not isinstance(name, str) or not isinstance(flag, bool):
            msg = (
                f"`descending` must map strategies of {strategy!r} to True or False, got "
                f"{descending!r}"
            )
            raise TypeError(msg)


def _parse_descending(
    descending: Any, by: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[bool, ...]]:
    """Map each entry of `by` that `descending` covers to one flag per sort column."""
    if descending is None:
        return {}
    if isinstance(descending, bool):
        descending = dict.fromkeys(by, descending)
    elif isinstance(descending, Mapping):
        for name in descending:
            if name not in by:
                msg = (
                    f"`descending` must map strategies of `by`, {', '.join(map(repr, by))}, to "
                    f"True or False, got {name!r}"
                )
                raise ValueError(msg + (did_you_mean(name, by) if isinstance(name, str) else ""))
    elif isinstance(descending, list | tuple):
        n = len(descending)
        if n != len(by):
            msg = f"`descending` must have one entry per strategy, got {n} for {len(by)}"
            raise ValueError(msg)
        descending = dict(zip(by, descending, strict=True))
    else:
        msg = f"`descending` must be True, False, a list of them or a mapping, got {descending!r}"
        raise TypeError(msg)
    return {name: _parse_flags(name, entry, len(by[name])) for name, entry in descending.items()}


def _parse_flags(name: str, entry: Any, n: int) -> tuple[bool, ...]:
    """Return one flag for each of n sort columns: True for highest first."""
    flags = entry if isinstance(entry, list | tuple) else [entry] * n
    if not all(isinstance(flag, bool) for flag in flags):
        msg = f"`descending` of {name!r} must be True, False or a list of them, got {entry!r}"
        raise TypeError(msg)
    if len(flags) != n:
        msg = f"`descending` of {name!r} must have one entry per column, got {len(flags)} for {n}"
        raise ValueError(msg)
    return tuple(flags)
