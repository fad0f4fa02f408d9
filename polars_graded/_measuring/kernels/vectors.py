"""Vectors of documents, such as embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.ragged import Floats, Integers, Mask, Ragged


@dataclass(frozen=True)
class Vectors:
    """Vectors of documents; the index of a document is its row in `values`."""

    values: npt.NDArray[np.floating]
    """One row per document; zeros for a document without a vector."""
    norms: Floats
    """Euclidean length of each vector; 0 for a vector of zeros."""

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
