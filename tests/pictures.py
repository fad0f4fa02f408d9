"""Pictures that are committed are drawn again, and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from helpers import needed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def assert_drawn_alike(committed: Path, draw: Callable[[Path], None], folder: Path) -> None:
    """What is drawn into the folder is the picture that is committed."""
    needed("vl_convert")
    drawn = folder / committed.name
    draw(drawn)
    expected, got = pixels(committed), pixels(drawn)
    assert got.shape == expected.shape
    # Versions of the renderer may smooth the edges of letters differently; a curve that lies
    # elsewhere changes one pixel in a hundred.
    assert (np.abs(got - expected).max(axis=2) > 64).mean() < 0.003
    assert np.ptp(got, axis=(0, 1)).min() > 100  # it is not blank


def pixels(path: Path) -> np.ndarray:
    images = needed("PIL.Image", ".[test,browser]")
    with images.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.float64)
