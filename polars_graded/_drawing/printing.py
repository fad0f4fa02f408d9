"""Texts that a picture can hold: signs stand for control characters, which end what draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

SIGNS = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
SIGNS |= dict.fromkeys("\u2028\u2029", "\u2424") | dict.fromkeys("\ufffe\uffff", "\ufffd")
"""Characters that no picture or script can hold, and the signs that stand for them."""

OF_TEXTS = str.maketrans(SIGNS)


def printed_text(text: str) -> str:
    """A text with signs for what no picture can hold."""
    return text.translate(OF_TEXTS)


def printed(texts: pl.Expr) -> pl.Expr:
    """Texts of a column likewise."""
    return texts.str.replace_many(list(SIGNS), list(SIGNS.values()))
