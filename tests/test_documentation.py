"""Whatever is public says what it takes and shows how it is called."""

from __future__ import annotations

import doctest
import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest

import polars_graded
from polars_graded import Graded, charts, clicks, datasets, trust

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS = (polars_graded, charts, clicks, datasets, trust)


def public() -> Iterator[tuple[str, Any]]:
    """Every public function and class, and the methods of `Graded`, by name."""
    for room in ROOMS:
        for name in dir(room):
            thing = getattr(room, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield name if room is polars_graded else f"{room.__name__}.{name}", thing
    for name, method in vars(Graded).items():
        if not name.startswith("_"):
            yield f"Graded.{name}", method


THINGS = dict(public())
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
FUNCTIONS = {name: thing for name, thing in THINGS.items() if inspect.isfunction(thing)}


def section(title: str, text: str) -> str:
    """What stands under a heading of a docstring, up to the next one."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def described(text: str) -> list[str]:
    """The parameters of a docstring, which share a line where they share what is said of them."""
    lines = [line for line in section("Parameters", text).splitlines() if re.match(r"\S", line)]
    return [name.strip().lstrip("*") for line in lines for name in line.split(",")]


def test_the_docstring_of_the_package_has_every_name_once():
    page = inspect.getdoc(polars_graded) or ""
    lines = re.findall(r"^(?: {4})?((?:\w+, )*\w+) {3,}\w", page, re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    assert sorted([*names, "__version__"]) == sorted(dir(polars_graded))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_each_parameter_is(name):
    parameters = set(inspect.signature(FUNCTIONS[name]).parameters) - {"self"}
    found = described(inspect.getdoc(FUNCTIONS[name]) or "")
    assert sorted(found) == sorted(parameters)


@pytest.mark.parametrize("name", THINGS)
def test_a_public_name_shows_an_example_that_prints(name):
    """The examples are run with the tests, as all of the package's are."""
    text = section("Examples", inspect.getdoc(THINGS[name]) or "")
    examples = doctest.DocTestParser().get_examples(text)
    assert any(example.want for example in examples)
    assert not any(doctest.SKIP in example.options for example in examples)


@pytest.mark.parametrize("name", THINGS)
def test_a_docstring_has_at_most_700_words(name):
    """Definitions, derivations and edge cases stand once, on a page of the book."""
    words = len((inspect.getdoc(THINGS[name]) or "").split())
    assert words <= 700


@pytest.mark.parametrize("name", THINGS)
def test_the_text_of_a_parameter_has_at_most_three_lines(name):
    """Lines have at most 100 columns, which ruff checks."""
    text = section("Parameters", inspect.getdoc(THINGS[name]) or "")
    texts = re.split(r"^\S.*\n", text, flags=re.MULTILINE)
    assert max(len([line for line in text.splitlines() if line.strip()]) for text in texts) <= 3


OF_ROWS = "grade by ties descending irrelevant max_grade relevant_from undefined_as condensed where"


@pytest.mark.parametrize(
    "name", ["overview", "side_by_side", "similarity", "catalogue", "report", "charts.rankings"]
)
def test_arguments_of_rows_have_the_defaults_of_evaluate(name):
    """The same keywords mean the same in each function of rows."""
    function = charts.rankings if name == "charts.rankings" else getattr(polars_graded, name)
    own, of_evaluate = (
        inspect.signature(each).parameters for each in (function, polars_graded.evaluate)
    )
    shared = [each for each in OF_ROWS.split() if each in own]
    assert len(shared) >= 3
    assert [own[each].default for each in shared] == [of_evaluate[each].default for each in shared]


WITH_ARGUMENTS = {
    name: function
    for name, function in FUNCTIONS.items()
    if not name.startswith("Graded.") and inspect.signature(function).parameters
}


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_an_unknown_keyword_is_answered_with_the_arguments_of_the_function(name):
    parameters = inspect.signature(WITH_ARGUMENTS[name]).parameters.values()
    names = [each.name for each in parameters if each.kind in NAMED]
    with pytest.raises(TypeError, match=r"^there is no argument 'zzz'; there are ") as caught:
        WITH_ARGUMENTS[name](zzz=1)
    listed = str(caught.value).partition("; there are ")[2].split(", ")
    assert {*names} <= {*listed}
    last = [each for each in names if each in listed][-1]
    misspelt = f"{last}{last[-1]}"
    with pytest.raises(TypeError, match=f"did you mean '{last}'"):
        WITH_ARGUMENTS[name](**{misspelt: 1})
