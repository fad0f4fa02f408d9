"""Texts that a picture and its page can hold: signs stand for what would end either."""

from __future__ import annotations

import re

import polars as pl

SIGNS = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
SIGNS |= dict.fromkeys("\u2028\u2029", "\u2424") | dict.fromkeys("\ufffe\uffff", "\ufffd")
"""Characters that no picture or script can hold, and the signs that stand for them."""

SIGNS |= {"</": "<\u200b/", "<!--": "<\u200b!--"}
"""In the script of a page these end it, or hide its end: a space of no width keeps them apart."""

UNPRINTABLE = re.compile("|".join(map(re.escape, SIGNS)))


def escape_text(text: str) -> str:
    """Return a text with signs for what no picture can hold."""
    return UNPRINTABLE.sub(lambda match: SIGNS[match[0]], text)


def escape_texts(texts: pl.Expr) -> pl.Expr:
    """Texts of a column likewise."""
    return texts.str.replace_many(list(SIGNS), list(SIGNS.values()))
