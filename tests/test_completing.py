"""What Jupyter offers behind a dot, as IPython completes it: what the README says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from helpers import needed

import polars_graded as pg

needed("IPython")

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def jedi_keeps_to_itself(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What Jedi remembers it remembers for this process, where another could write at the time."""
    try:
        import jedi
    except ImportError:
        return
    jedi.settings.cache_directory = str(tmp_path_factory.mktemp("jedi"))


@pytest.fixture
def completed(jedi_keeps_to_itself: None) -> Callable[..., set[str]]:  # noqa: ARG001
    """What stands behind a dot, in a session with the names of the README."""
    from IPython.core.completer import IPCompleter, provisionalcompleter

    held = {"pl": pl, "pg": pg, "grade": pl.col("grade"), "g": pl.col("grade").graded}

    def completed(text: str, **options: Any) -> set[str]:
        completer = IPCompleter(namespace=held, **options)
        with provisionalcompleter():
            found = completer.completions(text, len(text))
            return {each.text.lstrip(".") for each in found}

    return completed


MEASURES = {"ndcg", "mu_ap", "ap", "ranked_by", "measures"}


@pytest.mark.slow
@pytest.mark.parametrize("text", ['pg.graded("grade").', "grade.graded.", "g."])
def test_measures_complete(completed, text):
    needed("jedi")
    assert completed(text, use_jedi=True) >= MEASURES


def test_the_namespace_of_an_expression_completes(completed):
    assert completed("grade.gra") == {"graded"}


@pytest.mark.parametrize(
    "text", ['pl.col("grade").graded.', 'pl.col("grade").graded.ranked_by("score").']
)
def test_an_expression_that_is_written_out_completes_where_it_may_be_evaluated(completed, text):
    assert not completed(text) & MEASURES  # as long as nobody says so
    assert completed(text, use_jedi=False, evaluation="unsafe") >= MEASURES


def test_charts_are_offered_alone(completed):
    assert completed("pg.charts.") == set(pg.charts.__all__)
