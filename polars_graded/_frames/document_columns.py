"""Find the column that identifies documents if no argument names it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import polars as pl

DEFAULT_DOC = "default"
"""Default value of `doc`: the column of documents is found by its name."""

NOUNS = {
    *("doc", "docs", "docid", "docno", "document", "documents", "did", "passage", "passages"),
    *("pid", "item", "items", "itemid", "iid", "movie", "movies", "product", "products", "url"),
    *("sku", "asin", "ean", "gtin", "isbn", "upc", "doi"),
}
"""Words that mean document ids without a further word, as in a column `item`."""

NOUNS_BEFORE_IDENTIFIERS = {
    *("ad", "answer", "article", "book", "chunk", "content", "entity", "hotel", "image", "job"),
    *("listing", "news", "offer", "page", "paper", "photo", "post", "recipe", "song", "track"),
    *("video", "variant"),
}
"""Words that mean document ids only beside a word of `IDENTIFIERS`, as in `article_id`."""

IDENTIFIERS = {"id", "ids", "no", "nr", "number", "key", "code"}
"""Words for identifiers. A column `product_price` does not contain document ids, because "price" is
in none of the three sets."""


def split_words(column: str) -> set[str]:
    """Return the words in the name of a column, in lower case."""
    return set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", "_", column).lower()))


def find_document_column(
    schema: Mapping[str, pl.DataType], others: Collection[str] = ()
) -> str | None:
    """Return the column "doc", or the first column named like document ids.

    Columns in `others` and columns of objects are left out. Columns of floats are left out unless
    the column is called "doc": it may hold ids that pandas turned into floats because some were
    missing. Return None if no column remains.
    """
    names = ["doc", *(name for name in schema if is_called_like_ids(name))]
    for name in names:
        dtype = schema.get(name)
        if dtype is None or dtype == pl.Object or name in others:
            continue
        if name == "doc" or not dtype.is_float():
            return name
    return None


def is_called_like_ids(column: str) -> bool:
    """Return whether the name of a column means document ids.

    Each word of the name must be in one of the three sets. `item` and `item_id` pass because of a
    word of `NOUNS`. `article_id` passes because it combines a word of `NOUNS_BEFORE_IDENTIFIERS`
    with one of `IDENTIFIERS`. `article` and `id` do not pass.
    """
    words = split_words(column)
    if not words <= NOUNS | NOUNS_BEFORE_IDENTIFIERS | IDENTIFIERS:
        return False
    return not words.isdisjoint(NOUNS) or not (
        words.isdisjoint(NOUNS_BEFORE_IDENTIFIERS) or words.isdisjoint(IDENTIFIERS)
    )
