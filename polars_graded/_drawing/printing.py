"""Replace texts that a picture or the script of a page cannot contain."""

from __future__ import annotations

import re

import polars as pl

SIGNS = {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"}
SIGNS |= dict.fromkeys("\u2028\u2029", "\u2424") | dict.fromkeys("\ufffe\uffff", "\ufffd")
"""Texts that a picture or a script cannot contain, with their replacements."""

# "</" could end the script of a page, and "<!--" could hide the end of the script. A zero-width
# space splits both.
SIGNS |= {"</": "<\u200b/", "<!--": "<\u200b!--"}

UNPRINTABLE = re.compile("|".join(map(re.escape, SIGNS)))


def escape_text(text: str) -> str:
    """Replace what a picture or the script of a page cannot contain."""
    return UNPRINTABLE.sub(lambda match: SIGNS[match[0]], text)


def escape_texts(texts: pl.Expr) -> pl.Expr:
    """Return an expression that escapes the texts of a column as `escape_text` does."""
    return texts.str.replace_many(list(SIGNS), list(SIGNS.values()))
