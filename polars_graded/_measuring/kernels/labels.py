"""Labels of documents, such as subtopics and categories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polars_graded._measuring.kernels.ragged import Integers


@dataclass(frozen=True)
class Labels:
    """Labels of all documents of a call, by the place of the document."""

    codes: Integers
    """Number of each label, document by document."""
    offsets: Integers
    """Offset of the labels of each document in `codes`."""
    order: Integers
    """Order of the documents that the ideal ranking takes first, of those with equal gain."""

    @cached_property
    def n(self) -> int:
        """Return the number of distinct labels, at least 1."""
        return int(self.codes.max(initial=0)) + 1

    def find(self, places: Integers) -> tuple[Integers, Integers]:
        """Return the labels of documents: the index of the document in `places`, and the code."""
        document, inside = expand(self.offsets, places)
        return document, self.codes[inside]


def expand(offsets: Integers, lists: Integers) -> tuple[Integers, Integers]:
    """Return the places of all values of some lists, and the index of the list of each."""
    lengths = offsets[lists + 1] - offsets[lists]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places = np.arange(total) + np.repeat(offsets[lists] - ends + lengths, lengths)
    return np.repeat(np.arange(len(lists)), lengths), places
