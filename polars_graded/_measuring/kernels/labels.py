"""Labels of documents, such as subtopics and categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged, repeat_each


@dataclass(frozen=True)
class Labels:
    """Table of labels, with one entry per document.

    Lists of documents contain the indices of these entries.
    """

    codes: Integers
    """Labels as numbers from 1, document by document; ascending within a document."""
    offsets: Integers
    """Offset of the labels of each document in `codes`."""
    order: Integers
    """Sort key of each document: among equal gains, the ideal ranking takes the lowest key."""

    @cached_property
    def code_bound(self) -> int:
        """Return a number above all codes, at least 1."""
        return int(self.codes.max(initial=0)) + 1

    def find(self, documents: Integers) -> tuple[Integers, Integers]:
        """Return two arrays with an entry per label of the documents.

        The first contains the position of the label's document in `documents`, the second the code
        of the label.
        """
        document, indices = expand(self.offsets, documents)
        return document, self.codes[indices]

    @cached_property
    def keys(self) -> Integers:
        """Return one number per label that encodes its document and code, ascending."""
        document = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return document * (self.code_bound + 1) + self.codes

    def mask_missing(self, documents: Integers) -> Mask:
        """Return the mask of documents without a label."""
        is_missing: Mask = self.offsets[documents + 1] == self.offsets[documents]
        return is_missing

    def sum_distances(self, documents: Ragged) -> Floats:
        """Return the sum of distances over the pairs of documents of each list.

        The distance of two documents is 1 - |A ∩ B| / |A ∪ B|, where A and B are their sets of
        labels.
        """
        indices = documents.values.astype(np.int64)
        sizes = self.offsets[indices + 1] - self.offsets[indices]
        below = repeat_each(documents.lengths, documents.lengths) - documents.number
        total = np.zeros(len(documents.lengths))
        for step in range(1, documents.lengths.max(initial=0)):
            # All pairs of documents whose ranks differ by `step`.
            upper = np.flatnonzero(below >= step)
            pair, codes = self.find(indices[upper])
            keys = indices[upper + step][pair] * (self.code_bound + 1) + codes
            key_index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            n_shared = np.bincount(pair, self.keys[key_index] == keys, minlength=len(upper))
            distances = 1 - n_shared / (sizes[upper] + sizes[upper + step] - n_shared)
            total += np.bincount(documents.query[upper], distances, minlength=len(total))
        return total


def expand(offsets: Integers, lists: Integers) -> tuple[Integers, Integers]:
    """Return the indices of the values in some lists.

    `lists` contains indices of lists, whose values begin at `offsets`. The first result is, for
    each value, the position of its list in `lists`; the second is the index of the value.
    """
    lengths = offsets[lists + 1] - offsets[lists]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    indices = np.arange(total) + np.repeat(offsets[lists] - ends + lengths, lengths)
    return np.repeat(np.arange(len(lists)), lengths), indices
