"""The figures beside other tools: the picture and the table show them, and bounds are kept."""

from __future__ import annotations

import pytest
from benchmark import drawn
from pictures import assert_drawn_alike

# What is committed


@pytest.mark.slow
def test_the_picture_is_drawn_from_the_figures(tmp_path):
    assert_drawn_alike(drawn.PICTURE, drawn.draw, tmp_path)


def test_the_page_has_the_table_of_the_figures():
    [written] = drawn.TABLE.findall(drawn.PAGE.read_text(encoding="utf-8"))
    assert written == drawn.table()


# How it is measured
