"""Find the column that identifies documents if no argument names it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import polars as pl

DEFAULT_DOC = "default"
"""Value of `doc=` for which the column of documents is found by its name."""

NOUNS = {
    *("doc", "docs", "docid", "docno", "document", "documents", "did", "passage", "passages"),
    *("pid", "item", "items", "itemid", "iid", "movie", "movies", "product", "products", "url"),
    *("sku", "asin", "ean", "gtin", "isbn", "upc", "doi"),
}
"""Words that name a document column even without a further word."""

NOUNS_BEFORE_IDENTIFIERS = {
    *("ad", "answer", "article", "book", "chunk", "content", "entity", "hotel", "image", "job"),
    *("listing", "news", "offer", "page", "paper", "photo", "post", "recipe", "song", "track"),
    *("video", "variant"),
}
"""Words that, with a word for identifiers, name a document column, as in `article_id`."""

IDENTIFIERS = {"id", "ids", "no", "nr", "number", "key", "code"}
"""Further words that the name of a document column may contain. Others, such as "price" in
product_price, exclude a column."""


def split_words(column: str) -> set[str]:
    """Return the words in the name of a column."""
    return set(re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", "_", column).lower()))


def find_document_column(
    schema: Mapping[str, pl.DataType], others: Collection[str] = ()
) -> str | None:
    """Return the column "doc", or else the first whose name means document ids."""
    names = ["doc", *(name for name in schema if is_called_like_ids(name))]
    for name in names:
        dtype = schema.get(name)
        may_be_ids = dtype is not None and dtype != pl.Object and not dtype.is_float()
        if may_be_ids and name not in others:
            return name
    return None


def is_called_like_ids(column: str) -> bool:
    """Return whether the name of a column contains only words for document ids."""
    words = split_words(column)
    if not words <= NOUNS | NOUNS_BEFORE_IDENTIFIERS | IDENTIFIERS:
        return False
    return not words.isdisjoint(NOUNS) or not (
        words.isdisjoint(NOUNS_BEFORE_IDENTIFIERS) or words.isdisjoint(IDENTIFIERS)
    )
