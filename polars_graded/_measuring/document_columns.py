"""Find the column that identifies documents if no argument names it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import polars as pl

DEFAULT_DOC = "default"
"""Default value of `doc`: the column of documents is found by its name."""

DOCUMENT_NAMES = (
    *("doc", "doc_id", "docid", "docno", "did", "document", "document_id", "corpus_id"),
    *("passage", "passage_id", "pid", "chunk_id", "node_id", "context_id", "url", "doi"),
    *("item", "item_id", "itemid", "iid", "product", "product_id", "sku", "asin", "ean", "gtin"),
    *("isbn", "upc", "offer_id", "listing_id", "variant_id", "movie", "movie_id", "video_id"),
    *("song_id", "track_id", "book_id", "article_id", "news_id", "page_id", "paper_id", "ad_id"),
    *("answer_id", "recipe_id", "job_id", "hotel_id", "image_id", "post_id", "_id", "id"),
)
"""Names that tools and shops give to columns of documents; an earlier name goes first. Upper case,
and hyphens or blanks in place of underscores, make no difference: "corpus-id", "productId"."""


NAMES_OF_ANY_ID = {"_id", "id"}
"""Names of `DOCUMENT_NAMES` that may also identify a query, whose rows then share one value."""


def find_document_column(
    schema: Mapping[str, pl.DataType], others: Collection[str] = ()
) -> str | None:
    """Return the column with the first of `DOCUMENT_NAMES`, or None.

    Columns in `others` and columns of objects or lists are left out. Columns of floats are left out
    unless the column is called "doc": it may hold ids that pandas turned into floats because some
    were missing.
    """
    columns: dict[str, str] = {}
    for column, dtype in schema.items():
        is_id = not (dtype.is_nested() or dtype == pl.Object)
        if column not in others and is_id and (column == "doc" or not dtype.is_float()):
            columns.setdefault(normalise_name(column), column)
    return next((columns[name] for name in DOCUMENT_NAMES if name in columns), None)


def may_identify_documents(column: str) -> bool:
    """Return whether a column has one of `DOCUMENT_NAMES`.

    If such a column breaks ties, its numbers are ids, and it is not checked for ranks.
    """
    return normalise_name(column) in DOCUMENT_NAMES


def may_identify_queries(column: str) -> bool:
    """Return whether a column of documents may identify queries instead, by its name."""
    return normalise_name(column) in NAMES_OF_ANY_ID


def normalise_name(column: str) -> str:
    """Return a name in lower case with underscores: "product_id" for "productId"."""
    return re.sub("[ -]", "_", re.sub("(?<=[a-z])(?=[A-Z])", "_", column)).lower()
