"""The script of a report, run by node without a browser: its numbers are those of the results."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from helpers import needed
from report_page import payload

from polars_graded import compare, datasets, differences, evaluate, report, summarise
from polars_graded._sentences import format_number

if TYPE_CHECKING:
    import polars as pl

needed("vl_convert")

DOCUMENT = Path(__file__).with_name("document.js")
STRATEGIES = ["fair", "strong", "weak"]
"""As the page numbers them."""
ASKED = """
const answers = {};
for (const [name, ask] of Object.entries({%s})) answers[name] = ask();
drawing.then(() => console.log(JSON.stringify({...answers, drawn: drawings.length})));
"""


@pytest.fixture(scope="module")
def per_query() -> pl.DataFrame:
    frame = datasets.example(12, seed=3)
    names = ["ap", "e_measure@5", "dcg_curve@5", "ideal_dcg_curve@5", "interpolated_precision"]
    return evaluate(frame, names, by=STRATEGIES)


@pytest.fixture(scope="module")
def page(per_query, tmp_path_factory) -> Path:
    return report(per_query, tmp_path_factory.mktemp("report") / "page.html")


def answers(page: Path, **asked: str) -> dict[str, Any]:
    """What expressions of JavaScript are within the script of a page."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    script = page.read_text(encoding="utf-8").rpartition("<script>")[2].partition("</script>")[0]
    asks = ASKED % ", ".join(f"{name}: () => {code}" for name, code in asked.items())
    end = script.rindex("})();")
    text = json.dumps(json.dumps(payload(page)))
    held = f"document.getElementById = () => ({{textContent: {text}}});"
    code = "\n".join([DOCUMENT.read_text(encoding="utf-8"), held, script[:end], asks, script[end:]])
    run = subprocess.run(  # noqa: S603 of our own making
        [node, "-"], input=code, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def saved(text: str) -> list[dict[str, str]]:
    """The rows of a file that the page saves."""
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_have_the_means_and_intervals_of_summarise(page, per_query):
    found = answers(
        page,
        strategies="csv(savedRows.get('strategies'))",
        by_lowest="(change({measure: 1}), csv(savedRows.get('strategies')))",
    )
    for measure, text in (("ap", found["strategies"]), ("e_measure@5", found["by_lowest"])):
        rows = saved(text)
        expected = summarise(per_query, measure)
        means = [float(row[measure]) for row in rows]
        assert means == sorted(means, reverse=measure == "ap")
        assert {row["strategy"] for row in rows} == {*STRATEGIES}
        for row in rows:
            [of_it] = expected.filter(strategy=row["strategy"]).rows(named=True)
            columns = {
                measure: "mean",
                f"{measure} ci_low": "ci_low",
                f"{measure} ci_high": "ci_high",
            }
            for column, name in columns.items():
                assert float(row[column]) == pytest.approx(of_it[name], rel=2e-5)
    assert found["drawn"] > 3


@pytest.mark.parametrize("measure", ["ap", "e_measure@5"])
def test_differences_are_those_of_compare_from_the_better_side(page, per_query, measure):
    place = ["ap", "e_measure@5"].index(measure)
    found = answers(
        page,
        every=f"(change({{measure: {place}}}), csv(savedRows.get('comparison')))",
        beside="(change({against: 1}), csv(savedRows.get('comparison')))",
    )
    comparison = compare(per_query, "ap", "e_measure@5").filter(measure=measure)
    by_pair = {}
    for row in comparison.rows(named=True):
        turned = {"difference": -row["difference"], "wins": row["losses"], "losses": row["wins"]}
        if row["ci_low"] is not None:
            turned |= {"ci_low": -row["ci_high"], "ci_high": -row["ci_low"]}
        by_pair[row["strategy"], row["baseline"]] = row
        by_pair[row["baseline"], row["strategy"]] = row | turned
    sign = 1 if measure == "ap" else -1
    for text, n in ((found["every"], 3), (found["beside"], 2)):
        rows = saved(text)
        assert len(rows) == n
        for row in rows:
            expected = by_pair[row["strategy"], row["baseline"]]
            for name in ("difference", "ci_low", "ci_high", "p_corrected"):
                if expected[name] is None:
                    assert row[name] == ""
                else:
                    assert float(row[name]) == pytest.approx(expected[name], rel=2e-5, abs=1e-9)
            assert [int(row[name]) for name in ("wins", "ties", "losses")] == [
                expected[name] for name in ("wins", "ties", "losses")
            ]
    assert all(float(row["difference"]) * sign >= 0 for row in saved(found["every"]))
    assert {row["baseline"] for row in saved(found["beside"])} == {STRATEGIES[1]}


def test_queries_stand_by_falling_difference_and_say_who_won(page, per_query):
    found = answers(
        page, rows="(change({a: 0, b: 2}), seen.rows)", note="$('#histogram .note').textContent"
    )
    expected = differences(per_query, "ap", STRATEGIES[0], STRATEGIES[2])
    got = [row["difference"] for row in found["rows"]]
    assert got == pytest.approx(expected["difference"].to_list(), abs=1e-6)
    assert got == sorted(got, reverse=True)
    names = [STRATEGIES[0], STRATEGIES[2], None]
    one, other = map(re.escape, names[:2])
    pattern = rf"{one} is better in (\d+) \w+, {other} in (\d+), (\d+) ties?"
    wins, losses, ties = map(int, re.search(pattern, found["note"]).groups())
    winners = expected["winner"].to_list()
    assert [wins, losses, ties] == [winners.count(name) for name in names]


def test_curves_unpack_to_the_values_of_each_query(page, per_query):
    code = (
        "curves.map((c) => strategies.map((_, s) => queries.map((_, q) => "
        "[...Array(5).keys()].map((k) => c.value(s, q, k)))))"
    )
    found = answers(page, values=code, names="curves.map(({name}) => name)")
    for name, values in zip(found["names"], found["values"], strict=True):
        for strategy, of_queries in zip(STRATEGIES, values, strict=True):
            expected = per_query.filter(strategy=strategy).sort("query")[name].list.head(5)
            spans = expected.list.max().max()
            for got, right in zip(of_queries, expected.to_list(), strict=True):
                assert got == pytest.approx(right, abs=2e-5 * max(spans, 1))


@pytest.mark.parametrize(
    "changes",
    ["measure: 1", "query: 3, a: 2, b: 1", "against: 3", "chosen: new Set([0, 2])", "query: null"],
)
def test_an_address_leads_back_to_what_was_chosen(page, changes):
    found = answers(
        page,
        before=f"(change({{{changes}}}), {{...state, chosen: [...state.chosen]}})",
        after="((found) => ({...found, chosen: [...found.chosen]}))"
        "(fromAddress(location.hash.slice(1)))",
    )
    assert found["after"] == found["before"]


def test_an_address_of_another_page_is_passed_over(page):
    found = answers(
        page,
        state="((s) => [s.measure, s.query, s.a, s.chosen.size])"
        "(fromAddress('measure=none&query=99999&a=nobody&without=x'))",
    )
    assert found["state"] == [0, None, None, 3]


def test_numbers_are_written_as_python_writes_them(page):
    values = [0.0, 1 / 3, -0.25, 0.00004, -12.5, 999.99994]
    found = answers(
        page,
        numbers=f"{values}.map(written)",
        none="[written(null), written(NaN)]",
        large="[written(1234.56), written(-1234.56)]",
        signed="[signed(0.5), signed(-0.5), signed(0)]",
    )
    assert found["numbers"] == [format_number(value) for value in values]
    assert found["none"] == ["–"] * 2
    minus = "\N{MINUS SIGN}"
    assert found["large"] == ["1234.6", f"{minus}1234.6"]
    assert found["signed"] == ["+0.5000", f"{minus}0.5000", "0.0000"]


def test_texts_are_saved_so_that_others_read_them(page):
    found = answers(
        page,
        text="""csv([["a", 1.23456789, null, NaN, 3],
            ['say "x", y', [["1", 2], ["unjudged", 3]], "", "two\\nlines", 0]])""",
    )
    rows = list(csv.reader(io.StringIO(found["text"])))
    assert rows == [
        ["a", "1.234568", "", "", "3"],
        ['say "x", y', "1: 2; unjudged: 3", "", "two\nlines", "0"],
    ]
