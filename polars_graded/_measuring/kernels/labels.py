"""Tables of labels and of vectors of documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.ragged import (
    Floats,
    Integers,
    Mask,
    Ragged,
    list_rows,
    repeat_each,
)


@dataclass(frozen=True)
class Labels:
    """Table of the labels of documents.

    Documents are numbered from 0. Lists of documents contain these numbers.
    """

    codes: Integers
    """Labels as numbers from 1, document by document; ascending within a document."""
    offsets: Integers
    """The labels of document d are `codes[offsets[d] : offsets[d + 1]]`."""
    order: Integers
    """Sort key of each document. The ideal ranking sorts documents of equal gain by this key, the
    lowest first."""

    @cached_property
    def code_bound(self) -> int:
        """Return the highest code plus 1, or 1 if there are no labels."""
        return int(self.codes.max(initial=0)) + 1

    def find(self, documents: Integers) -> tuple[Integers, Integers]:
        """Return the labels of some documents as two arrays.

        The first array contains positions in `documents`, the second contains codes. If the first
        document has the codes 2 and 5, and the second has code 3, the arrays are [0, 0, 1] and
        [2, 5, 3].
        """
        lengths = self.offsets[documents + 1] - self.offsets[documents]
        position = np.repeat(np.arange(len(documents)), lengths)
        return position, self.codes[list_rows(self.offsets, documents)]

    def differ(self, documents: Integers, others: Integers) -> Mask:
        """Return the mask of pairs of documents whose labels differ."""
        lengths = np.diff(self.offsets)
        differ: Mask = lengths[documents] != lengths[others]
        alike = np.flatnonzero(~differ)
        position, codes = self.find(documents[alike])
        _, other_codes = self.find(others[alike])
        differ[alike[position[codes != other_codes]]] = True
        return differ

    @cached_property
    def keys(self) -> Integers:
        """Return one number per pair of a document and its label, ascending.

        The number identifies the pair.
        """
        document = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return document * (self.code_bound + 1) + self.codes

    def mask_missing(self, documents: Integers) -> Mask:
        """Return the mask of documents without a label."""
        is_missing: Mask = self.offsets[documents + 1] == self.offsets[documents]
        return is_missing

    def sum_distances(self, documents: Ragged) -> Floats:
        """Sum the distances between all pairs of documents in each list.

        The distance of two documents is 1 - |A ∩ B| / |A ∪ B|, where A and B are their sets of
        labels.
        """
        indices = documents.values.astype(np.int64)
        sizes = self.offsets[indices + 1] - self.offsets[indices]
        below = repeat_each(documents.lengths, documents.lengths) - documents.position
        total = np.zeros(len(documents.lengths))
        for step in range(1, documents.lengths.max(initial=0)):
            # All pairs of documents whose ranks differ by `step`.
            upper = np.flatnonzero(below >= step)
            pair, codes = self.find(indices[upper])
            keys = indices[upper + step][pair] * (self.code_bound + 1) + codes
            key_index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            n_shared = np.bincount(pair, self.keys[key_index] == keys, minlength=len(upper))
            distances = 1 - n_shared / (sizes[upper] + sizes[upper + step] - n_shared)
            total += np.bincount(documents.query_index[upper], distances, minlength=len(total))
        return total


@dataclass(frozen=True)
class Vectors:
    """Vectors of documents; the index of a document is its row in `values`."""

    values: npt.NDArray[np.floating]
    """One row per document; zeros for a document without a vector."""
    norms: Floats
    """Euclidean length of each vector; 0 for a vector of zeros."""

    def differ(self, documents: Integers, others: Integers) -> Mask:
        """Return the mask of pairs of documents whose vectors differ."""
        differ: Mask = (self.values[documents] != self.values[others]).any(axis=1)
        return differ

    def mask_missing(self, documents: Integers) -> Mask:
        """Return the mask of documents that have no vector or a vector of zeros."""
        is_missing: Mask = self.norms[documents] == 0
        return is_missing

    def sum_distances(self, documents: Ragged) -> Floats:
        """Return Σ (1 - cos(i, j)) over the document pairs i < j of each list.

        With unit vectors u_i, Σ_{i<j} u_i u_j = (|Σ u_i|² - m) / 2 for m documents.
        """
        indices, m = documents.values.astype(np.int64), documents.lengths
        norms = self.norms[indices]
        squares = np.zeros(len(m))
        # Add one dimension at a time: the vectors of all these documents would not fit into the
        # cache.
        for column in self.values.T:
            squares += documents.sum(column[indices] / norms) ** 2
        return m * (m - 1) / 2 - (squares - m) / 2
