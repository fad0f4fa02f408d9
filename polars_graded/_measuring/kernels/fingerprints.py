"""Hash documents and grades for the fingerprint of a query.

A multilinear function hashes texts [1]. The hashes of a query's documents are added modulo 2^64
[2], so the order of the documents does not matter. This module uses no hash function of a library,
because a new version of the library could return other values.

[1] Lemire, Kaser: Strongly universal string hashing is fast, 2014.
[2] Bellare, Micciancio: A new paradigm for collision-free hashing, 1997.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_graded._measuring.kernels.ragged import Floats, Integers

Hashes: TypeAlias = npt.NDArray[np.uint64]

GOLDEN_STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele, Lea, Flood 2014)."""


def mix_bits(numbers: Hashes) -> Hashes:
    """Return the output of SplitMix64 with each number as the state.

    Each bit of the output depends on all bits of the number.
    """
    z = numbers + GOLDEN_STEP
    z = (z ^ (z >> np.uint64(30))) * MIX_FACTORS[0]
    z = (z ^ (z >> np.uint64(27))) * MIX_FACTORS[1]
    return z ^ (z >> np.uint64(31))


def hash_texts(characters: npt.NDArray[np.uint8], lengths: Integers) -> Hashes:
    """Return the hash of each text; `characters` are the bytes of all texts."""
    hashes = np.zeros(len(lengths), np.uint64)
    is_filled = lengths > 0
    if is_filled.any():
        starts = np.concatenate(([0], np.cumsum(lengths[is_filled])[:-1]))
        position = np.arange(len(characters)) - np.repeat(starts, lengths[is_filled])
        weights = mix_bits(np.arange(lengths.max(), dtype=np.uint64))
        # Plus 1, so that a NUL byte adds something and "a\0" differs from "a".
        terms = (characters.astype(np.uint64) + np.uint64(1)) * weights[position]
        hashes[is_filled] = np.add.reduceat(terms, starts)
    return mix_bits(hashes)


def hash_grades(grades: Floats) -> Hashes:
    """Return the hash of each grade."""
    return mix_bits((grades + 0.0).view(np.uint64))  # adding 0.0 turns -0.0 into 0.0


def combine_hashes(documents: Hashes, values: Hashes) -> Hashes:
    """Combine the hash of each document with the hash of its value.

    The value is the grade of the document, or the inputs of measures.
    """
    return mix_bits(documents ^ values)
