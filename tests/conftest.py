"""What several test files need: settings of hypothesis, the folder of real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("searching", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data."""
    folder = os.environ.get("POLARS_GRADED_DATA")
    if folder is None:
        pytest.skip("POLARS_GRADED_DATA does not name the folder of real data")
    return Path(folder)
