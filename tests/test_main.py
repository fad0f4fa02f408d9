"""The command: files in, or the built-in example, a table of means out; sentences for errors."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal
from report_page import Report

import polars_graded
from polars_graded import (
    DataWarning,
    average_curves,
    compare,
    datasets,
    evaluate,
    join_judgments,
    paper_table,
    read_letor,
    read_qrels,
    read_results,
    read_run,
    summarise,
)
from polars_graded.__main__ import main
from polars_graded._command import files as command_files
from polars_graded._command.parser import MEASURES
from polars_graded._command.sentences import write_for_the_shell
from polars_graded._measuring.definitions import DEFINITIONS

# f1 ranks every query in the ideal order, f2 in the opposite one.
LETOR = """\
2 qid:1 1:3 2:1 #docid = a
0 qid:1 1:1 2:3 #docid = b
1 qid:1 1:2 2:2 #docid = c
1 qid:2 1:5 2:1 #docid = a
0 qid:2 1:4 2:2 #docid = b
"""
QRELS = "q1 0 a 2\nq1 0 b 0\nq1 0 c 1\nq2 0 a 1\nq1 0 x 0\n"
GOOD = "q1 Q0 a 1 3.0 good\nq1 Q0 c 2 2.0 good\nq1 Q0 b 3 1.0 good\nq2 Q0 a 1 1.0 good\n"
# Does not answer q2; x is not relevant.
POOR = "q1 Q0 b 1 3.0 poor\nq1 Q0 x 2 2.0 poor\nq1 Q0 a 3 1.0 poor\n"
TIED = "q1 Q0 c 1 1.0 tied\nq1 Q0 a 2 1.0 tied\nq1 Q0 b 3 1.0 tied\n"
TWIN = POOR.replace("poor", "good")

# f1 ranks all that is relevant first, f2 what is most relevant.
DIVIDED = """\
2 qid:1 1:2 2:4
0 qid:1 1:1 2:3
1 qid:1 1:3 2:2
1 qid:1 1:4 2:1
"""
STARS = LETOR.replace("2 qid", "5 qid").replace("1 qid", "3 qid").replace("0 qid", "1 qid")
WIDE = "".join(
    f"{grade} qid:1 {' '.join(f'{feature}:{grade * feature}' for feature in range(1, 31))}\n"
    for grade in range(3)
)


pytestmark = pytest.mark.usefixtures("charts_undrawn")


def parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


FILES = {
    "letor.txt": LETOR,
    "letor.gz": gzip.compress(LETOR.encode()),
    "more.txt": LETOR.replace("qid:", "qid:9"),
    "stars.txt": STARS,
    "divided.txt": DIVIDED,
    "wide.txt": WIDE,
    "qrels.txt": QRELS,
    "qrels.gz": gzip.compress(QRELS.encode()),
    "good.run": GOOD,
    "good.gz": gzip.compress(GOOD.encode()),
    "poor.run": POOR,
    "tied.run": TIED,
    "twin.run": TWIN,
    "here/run": GOOD,
    "there/run": TWIN,
    "both.run": GOOD + POOR,
    "unjudged.run": GOOD + "q9 Q0 a 1 1.0 good\n",
    "empty": "",
    "no_feature.txt": "1 qid:1 #docid = a\n",
    "bad.letor": LETOR.replace("2:3", "2:x"),
    "bad.qrels": QRELS.replace("q1 0 b 0", "q1 0 b"),
    "bad.run": GOOD.replace("1.0", "high", 1),
    "binary": bytes(range(128, 256)),
    "cut.gz": gzip.compress(QRELS.encode())[:-12],
    "damaged.gz": gzip.compress(QRELS.encode())[:-8] + bytes(8),
    "here.parquet": "PAR1 is no more than a word",
    "nested.parquet": parquet(pl.DataFrame({"query": ["q"], "doc": [["a"]], "grade": [1]})),
    "text.parquet": parquet(pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": ["high"]})),
    "few.parquet": parquet(pl.DataFrame({"query": ["q1"], "grade": [1]})),
}
JUDGED = ("--qrels", "qrels.txt", "good.run", "poor.run")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Work in a folder that has the files above."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def command(capsys):
    """Run the command; give what it prints to standard output and standard error."""

    def run(*arguments: str) -> tuple[str, str]:
        main(arguments)
        return capsys.readouterr()

    return run


STARS = "warning: grades are stars from 1 to 5 and never 0, so 1 counts as relevant; .*\n"


@pytest.fixture
def tables(command):
    """Run the command; give the cells it prints, by title, strategy and column.

    It says nothing beside but that a query was not answered, or what is `also` said.
    """

    def run(*arguments: str, also: str = "") -> dict[str, dict[str, dict[str, str]]]:
        report, complaints = command(*arguments)
        unanswered = "warning: 1 of 2 judged queries have no row in `run`, and count as failures: "
        by_some = (
            "warning: some strategies have no row for judged queries that others answered; "
            r"these queries count as failures: .* lacks 1 of 2 \('q2'\).*\n"
        )
        said = [f"{re.escape(unanswered)}'q2'\n", by_some, also]
        assert complaints == "" or any(re.fullmatch(each, complaints) for each in said)
        return parsed(report)

    return run


@pytest.fixture
def table(tables):
    """Run the command; give the cells of the table of means, by strategy and column."""
    return lambda *arguments, also="": tables(*arguments, also=also)[""]


@pytest.fixture
def refusal(capsys):
    """Run the command, which has to exit with code 2; give the one sentence that says why."""

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        report, complaints = capsys.readouterr()
        assert report == ""
        before, _, sentence = complaints.partition("polars-graded: error: ")
        assert before == ""
        sentence, see, rest = sentence.removesuffix("\n").partition("\n")
        assert see + rest in ("", "\nsee polars-graded --help")
        return sentence

    return run


def parsed(report: str) -> dict[str, dict[str, dict[str, str]]]:
    """The cells of the tables of a report, by title, strategy and column."""
    result = {}
    for block in report.split("\n\n"):
        lines = block.splitlines()
        rows = [re.split("[│┆]", line)[1:-1] for line in lines if line.startswith("│")]
        if rows:
            head, *body = [[cell.strip() for cell in row] for row in rows]
            title = "" if lines[0].startswith("┌") else lines[0]
            result[title] = {name: dict(zip(head[1:], cells, strict=True)) for name, *cells in body}
    return result


def number(cell: str) -> float:
    return float(cell.strip("[]"))


def numbers(rows: dict[str, dict[str, str]]) -> dict[tuple[str, str], float]:
    """The means by strategy and measure."""
    return {
        (strategy, column): number(cell)
        for strategy, cells in rows.items()
        for column, cell in cells.items()
        if column != "queries"
    }


def means(per_query: pl.DataFrame) -> Any:
    """What `numbers` should be, up to the decimals printed."""
    frame = per_query.group_by("strategy").agg(pl.exclude("query").mean())
    long = frame.unpivot(index="strategy")
    return printed({(strategy, measure): mean for strategy, measure, mean in long.rows()})


def printed(values: Any) -> Any:
    """What equals the values with the four decimals that are printed."""
    return pytest.approx(values, abs=6e-5)


def marked(rows: dict[str, dict[str, str]], column: str) -> list[str]:
    """The strategies that a column marks as the best."""
    return [strategy for strategy, cells in rows.items() if cells[column].startswith("[")]


def judged_runs() -> pl.DataFrame:
    run = read_run(["good.run", "poor.run"])
    with pytest.warns(UserWarning, match="'poor' lacks 1 of 2"):
        return join_judgments(run, read_qrels("qrels.txt"), strategy="strategy")


# Without files.


def test_without_files_strategies_of_known_quality_come_in_their_order(table):
    rows = table()
    assert list(rows) == ["strong", "fair", "weak"]
    assert list(rows["fair"]) == ["queries", *MEASURES]
    for measure in MEASURES:
        strong, fair, weak = (number(cells[measure]) for cells in rows.values())
        assert 1 > strong > fair > weak > 0
        assert marked(rows, measure) == ["strong"]


def test_without_files_the_example_of_the_library_is_measured(table):
    rows = table("--measure", "mu_ap", "err@5", "--max-grade", "4")
    by = ["strong", "fair", "weak"]
    example = evaluate(datasets.example(), "mu_ap", "err@5", by=by, max_grade=4)
    assert numbers(rows) == means(example)
    assert {cells["queries"] for cells in rows.values()} == {"300"}


# LETOR files.


def test_every_feature_of_a_letor_file_is_a_strategy(table):
    rows = table("--letor", "letor.txt")
    frame = read_letor("letor.txt")
    assert numbers(rows) == means(evaluate(frame, *MEASURES, by=["f1", "f2"]))
    assert list(rows) == ["f1", "f2"]
    assert {cells["queries"] for cells in rows.values()} == {"2"}


def test_several_letor_files_are_one_collection(table):
    rows = table("--letor", "letor.txt", "more.txt")
    assert rows["f1"]["queries"] == "4"
    assert numbers(rows) == numbers(table("--letor", "letor.txt"))


def test_features_to_rank_by_can_be_chosen(table):
    assert list(table("--letor", "letor.txt", "--strategy", "f2")) == ["f2"]
    assert list(table("--letor", "letor.txt", "--strategy", "f2", "f1")) == ["f1", "f2"]


def test_a_feature_may_be_the_grade_and_then_is_no_strategy(table):
    rows = table("--letor", "letor.txt", "--grade", "f1", "--measure", "ndcg", also=STARS)
    with pytest.warns(DataWarning.scale):
        expected = evaluate(read_letor("letor.txt"), "ndcg", grade="f1", by="f2")
    assert numbers(rows) == means(expected)


@pytest.mark.parametrize("scale", [{"irrelevant": 1}, {"irrelevant": 1, "max_grade": 9}, {}])
def test_a_scale_of_stars_can_be_said(table, scale):
    measures = ["ap", "ndcg", "ndcng@2"]
    options = [
        text
        for name, value in scale.items()
        for text in (f"--{name.replace('_', '-')}", str(value))
    ]
    told = nullcontext() if scale else pytest.warns(DataWarning.scale)
    rows = table("--letor", "stars.txt", *options, "--measure", *measures, also=STARS)
    with told:
        expected = evaluate(read_letor("stars.txt"), *measures, by=["f1", "f2"], **scale)
    assert numbers(rows) == means(expected)


# Judgments and runs.


def test_runs_are_strategies_named_after_their_tags(table):
    rows = table(*JUDGED)
    assert list(rows) == ["good", "poor"]
    order = [["score", "doc"]]
    expected = evaluate(judged_runs(), *MEASURES, by=order, strategy="strategy")
    assert numbers(rows) == means(expected)


def test_judgments_have_a_scale_too(table):
    measures = ["n_relevant", "err", "ndcng@2"]
    rows = table(*JUDGED, "--irrelevant", "1", "--max-grade", "4", "--measure", *measures)
    columns = {"by": [["score", "doc"]], "strategy": "strategy"}
    expected = evaluate(judged_runs(), *measures, irrelevant=1, max_grade=4, **columns)
    assert numbers(rows) == means(expected)
    assert rows["good"]["n_relevant"] == "0.5000"


def test_a_query_that_a_run_does_not_answer_counts_as_zero(table):
    rows = table(*JUDGED, "--measure", "ap")
    assert {cells["queries"] for cells in rows.values()} == {"2"}
    assert numbers(rows) == printed({("good", "ap"): 1, ("poor", "ap"): (1 / 3 / 2 + 0) / 2})


def test_ties_are_broken_by_document_descending(table):
    decided = (
        "(.*\n)*warning: documents with the same score .* \\('tied' in 1\\), and 'doc' decides.*\n"
    )
    measures = ("cg@1", "cg@2", "cg@3")
    cells = table("--qrels", "qrels.txt", "tied.run", "--measure", *measures, also=decided)["tied"]
    # c, b and a have gains 1, 0 and 3; the other of the two queries is not answered.
    assert [number(cells[f"cg@{n}"]) for n in (1, 2, 3)] == [1 / 2, 1 / 2, 4 / 2]


@pytest.mark.parametrize(
    ("plain", "compressed"),
    [
        (["--letor", "letor.txt"], ["--letor", "letor.gz"]),
        (["--qrels", "qrels.txt", "good.run"], ["--qrels", "qrels.gz", "good.gz"]),
    ],
)
def test_gzip_makes_no_difference(command, plain, compressed):
    assert command(*compressed) == command(*plain)


SAME_TAGS = [
    (["good.run", "twin.run"], ["good.run", "twin.run"]),
    (["good.run", "poor.run", "twin.run"], ["good.run", "poor.run", "twin.run"]),
    (["here/run", "there/run"], ["here/run", "there/run"]),
]


@pytest.mark.parametrize(("runs", "names"), SAME_TAGS)
def test_runs_with_the_same_tag_are_told_apart_by_file(table, runs, names):
    unanswered = "(warning: .*judged queries.*\n)?"
    told = f"warning: the tag 'good' occurs in 2 files, so .*\n{unanswered}"
    rows = table("--qrels", "qrels.txt", *runs, "--measure", "ap", also=told)
    assert sorted(rows) == names
    assert rows[names[0]]["ap"] == "[1.0000]"


def test_runs_in_one_file_are_told_apart_by_tag(table):
    both = table("--qrels", "qrels.txt", "both.run")
    assert both == table(*JUDGED)


def test_runs_and_judgments_in_other_formats_are_read(table):
    Path("marco.tsv").write_text("# MS MARCO\nq1\td2\t1\nq1\td 1\t2\nq2\td3\t1\n")
    Path("lists.json").write_text('{"q1": ["d 1"], "q2": ["d3"]}')
    Path("lines.jsonl").write_text(
        '{"query_id": "q1", "results": [{"corpus_id": "d2", "score": 1}]}\n'
        '{"query_id": "q2", "results": [{"corpus_id": "d3", "score": 2}]}\n'
    )
    Path("judged.json").write_text('{"q1": {"d 1": 2}, "q2": {"d3": 1}}')
    Path("beir.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td 1\t2\nq2\td3\t1\n")
    Path("marco.qrels").write_text("q1\t0\td 1\t2\nq2\t0\td3\t1\n")
    runs = ["marco.tsv", "lists.json", "lines.jsonl"]
    for judgments in ("judged.json", "beir.tsv", "marco.qrels"):
        rows = table("--qrels", judgments, *runs, "--measure", "ap")
        values = {"marco.tsv": 3 / 4, "lists.json": 1, "lines.jsonl": 1 / 2}
        assert numbers(rows) == printed({(name, "ap"): value for name, value in values.items()})


def test_tags_of_one_ranking_are_one_strategy(table):
    """They were the strategies R and NR, with AP 1 and 0."""
    lines = "q1 Q0 x 1 2 NR\nq1 Q0 a 2 1 R\nq2 Q0 b 1 1 R\n"
    Path("tags.run").write_text(lines)
    Path("three.txt").write_text("q1 0 a 1\nq1 0 x 0\nq2 0 b 1\n")
    arguments = ("--qrels", "three.txt", "tags.run", "--measure", "ap")
    told = "warning: the lines of tags.run .* read as one ranking; --named-by file confirms this\n"
    assert numbers(table(*arguments, also=told)) == {("tags.run", "ap"): 0.75}
    assert numbers(table(*arguments, "--named-by", "file")) == {("tags.run", "ap"): 0.75}


def test_a_run_without_a_judged_document_is_0_and_other_forms_of_ids_are_refused(table, refusal):
    Path("none.run").write_text("q1 Q0 x1 1 2 t\n")
    Path("numbers.run").write_text("q1 Q0 1 1 2 t\n")
    Path("ids.txt").write_text("q1 0 d1 1\n")
    none = "warning: in 1 of 1 queries no retrieved document is judged; .*\n"
    arguments = ("--measure", "ap", "--qrels", "ids.txt")
    assert numbers(table(*arguments, "none.run", also=none)) == {("t", "ap"): 0}
    assert refusal(*arguments, "numbers.run") == (
        "`run` and `judgments` must write 'doc' in the same form, got, for example, '1' in `run` "
        "and 'd1' in `judgments`"
    )


# What is measured, and how it is printed.


def test_measures_are_columns_in_the_order_given(table):
    names = ["ndcg(gain=linear)@10", "ap(threshold=2)", "dcg(gain=linear, discount=zipf)", "cg@1"]
    rows = table("--letor", "letor.txt", "--measure", *names)
    assert list(rows["f1"]) == ["queries", *names]
    expected = evaluate(read_letor("letor.txt"), *names, by=["f1", "f2"])
    assert numbers(rows) == means(expected)


def test_measures_have_names_of_their_own(command, tmp_path):
    own = {"First": "ndcg(gain=linear)@10", "E": "e_measure(b=2)@10"}
    asked = ["--measure", *(f"{name}={measure}" for name, measure in own.items()), "ap"]
    files = ["--report", "page.html", "--per-query", "values.parquet"]
    report = command(*asked, "--test", "t", *files).out
    values = evaluate(datasets.example(), own, "ap", by=["strong", "fair", "weak"])
    assert_frame_equal(pl.read_parquet("values.parquet").drop("judgments"), values)
    rows = parsed(report.partition("\n\n")[0])[""]
    assert numbers(rows) == means(values)
    # Of the E measure the lowest is best, whatever it is called.
    assert [marked(rows, name) for name in (*own, "ap")] == [["strong"]] * 3
    assert compared(report) == expected(compare(values, own, "ap"))
    assert [part.name for part in Report(tmp_path / "page.html").parts[:3]] == [*own, "ap"]


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_a_papers_table_is_printed(command, form):
    names = ["AP=ap", "E=e_measure@1"]
    for options in ({}, {"baseline": "f2", "correction": "none"}):
        given = [part for name, value in options.items() for part in (f"--{name}", value)]
        report = command("--letor", "letor.txt", "--measure", *names, "--format", form, *given).out
        own = {"AP": "ap", "E": "e_measure@1"}
        values = evaluate(read_letor("letor.txt"), own, by=["f1", "f2"])
        assert report == paper_table(values, own, format=form, **options) + "\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--measure", "=ap"], "a measure must have a name before its '=', got '=ap'"),
        (["--measure", "x=ap", "x=cg"], "each measure must be named once, got x several times"),
        (["--measure", "C=cg_curve@3"], "a curve must not be renamed, got 'C=cg_curve@3'"),
        (["--measure", "x=nothing"], "there is no measure 'nothing'.*"),
        (
            ["--measure", "cg_curve@3", "--format", "latex"],
            "--format needs a measure with one value per query, got curves",
        ),
    ],
)
def test_names_and_forms_that_cannot_be_are_refused(refusal, arguments, sentence):
    assert re.fullmatch(sentence, refusal("--letor", "letor.txt", *arguments))


def test_a_measure_is_called_as_it_was_asked_for(table):
    rows = table("--letor", "letor.txt", "--measure", "ap( threshold=2.0 )", "rbp(p=0.8)")
    assert list(rows["f1"]) == ["queries", "ap( threshold=2.0 )", "rbp(p=0.8)"]


@pytest.mark.parametrize(
    ("measure", "best"), [("ap", ["f1"]), ("e_measure@1", ["f1"]), ("success", ["f1", "f2"])]
)
def test_the_best_comes_first_and_all_that_are_as_good_are_marked(table, measure, best):
    rows = table("--letor", "letor.txt", "--measure", measure)
    assert list(rows) == ["f1", "f2"]
    assert marked(rows, measure) == best


def test_no_count_is_the_best(table):
    rows = table("--letor", "letor.txt", "--measure", "n_relevant_retrieved@1")
    assert marked(rows, "n_relevant_retrieved@1") == []


def test_the_first_measure_orders_the_strategies_and_each_column_has_its_own_best(table):
    for measures, order in [(["ap", "cg@1"], ["f1", "f2"]), (["cg@1", "ap"], ["f2", "f1"])]:
        rows = table("--letor", "divided.txt", "--measure", *measures)
        assert list(rows) == order
        assert [marked(rows, measure) for measure in ("ap", "cg@1")] == [["f1"], ["f2"]]


def test_all_strategies_and_measures_are_shown_however_many(command):
    measures = [f"ndcg(gain=linear, discount=zipf)@{n}" for n in range(1, 21)]
    report, _ = command("--letor", "wide.txt", "--measure", *measures)
    rows = parsed(report)[""]
    assert sorted(rows) == sorted(f"f{n}" for n in range(1, 31))
    assert list(rows["f1"]) == ["queries", *measures]
    assert "…" not in report


def test_what_the_numbers_are_stands_below_them(command):
    report, _ = command("--letor", "letor.txt")
    assert report.endswith("\n\nMeans over the queries, the best of each column in brackets.\n")


def test_a_curve_has_a_table_of_its_own_with_its_means(tables):
    curves = {
        "precision_curve@2": "precision_curve@2 by rank",
        "dcg_curve(gain=linear)@2": "dcg_curve(gain=linear)@2 by rank",
        "interpolated_precision": "interpolated_precision by recall",
    }
    shown = tables("--letor", "letor.txt", "--measure", "ap", *curves)
    assert list(shown) == ["", *curves.values()]
    assert list(shown[""]["f1"]) == ["queries", "ap"]
    for curve, title in curves.items():
        expected = average_curves(read_letor("letor.txt"), curve, by=["f1", "f2"])
        points = {(strategy, f"{place:g}"): mean for strategy, place, mean in expected.rows()}
        assert list(shown[title]) == ["f1", "f2"]
        assert numbers(shown[title]) == printed(points)


def test_each_point_of_a_curve_has_its_best_marked(tables):
    rows = tables("--letor", "letor.txt", "--measure", "recall_curve@3")["recall_curve@3 by rank"]
    assert [marked(rows, rank) for rank in "123"] == [["f1"], ["f1"], ["f1", "f2"]]


def test_help_names_every_measure(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    words = re.findall(r"\w+", capsys.readouterr().out)
    assert {*DEFINITIONS} <= set(words)


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"polars-graded {polars_graded.__version__}\n"


# Strategies compared.

COMPARISON = ("--measure", "ap", "ndcg@3")


def compared(report: str) -> dict[tuple[str, str, str], list[str]]:
    """The rows of the comparison, the last table, by measure, strategy and baseline."""
    lines = [line for line in report.splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in re.split("[│┆]", line)[1:-1]] for line in lines]
    start = next(place for place, row in enumerate(rows) if row[0] == "measure")
    return {tuple(row[:3]): row[3:] for row in rows[start + 1 :]}


def expected(result: pl.DataFrame) -> dict[tuple[str, str, str], list[str]]:
    numbers = ["difference", "ci_low", "ci_high"]
    counts = ["wins", "ties", "losses"]
    return {
        (row["measure"], row["strategy"], row["baseline"]): [
            *(f"{row[name]:.4f}" for name in numbers),
            *(
                "< 0.001" if row[name] < 0.001 else f"{row[name]:.4f}"
                for name in ("p_value", "p_corrected")
            ),
            *(str(row[name]) for name in counts),
        ]
        for row in result.iter_rows(named=True)
    }


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--baseline", "weak"], {"baseline": "weak"}),
        (["--baseline", "fair", "--test", "wilcoxon"], {"baseline": "fair", "test": "wilcoxon"}),
        (["--correction", "bonferroni"], {"correction": "bonferroni"}),
        (["--test", "randomised_tukey"], {"test": "randomised_tukey", "correction": "none"}),
    ],
)
def test_the_comparison_stands_under_the_table(command, options, arguments):
    per_query = evaluate(datasets.example(), "ap", "ndcg@3", by=["strong", "fair", "weak"])
    report = command(*COMPARISON, *options).out
    assert compared(report) == expected(compare(per_query, **arguments))
    correction = arguments.get("correction", "holm")
    assert report.endswith(
        f"Differences with their 95 % intervals, test {arguments.get('test', 't')}, "
        f"correction {correction}.\n"
    )


def test_one_query_is_compared_without_a_test(command):
    Path("one.txt").write_text(QRELS.splitlines()[0], encoding="utf-8")
    out = command("--qrels", "one.txt", "good.run", "poor.run", "--measure", "ap", "--test", "t")
    assert out.out.endswith("\nDifferences; one query cannot be tested.\n")


def test_nothing_is_compared_unless_asked_for(command):
    assert "p_value" not in command(*COMPARISON).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--baseline", "best"], ".*'best'.*"),
        (["--test", "anova"], "argument --test: invalid choice: 'anova' .*"),
        (["--test", "randomised_tukey", "--correction", "holm"], ".*`correction` must be .*none.*"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(refusal, arguments, sentence):
    assert re.fullmatch(sentence, refusal(*COMPARISON, *arguments))


# Values per query in a file.


@pytest.mark.parametrize("name", ["values.csv", "values.parquet"])
@pytest.mark.parametrize("measures", [["ap", "n_relevant", "ndcg(gain=linear)@10"], MEASURES])
def test_values_per_query_read_back_are_those_of_evaluate(table, name, measures):
    rows = table(*JUDGED, "--measure", *measures, "--per-query", name)
    ranked = {"by": [["score", "doc"]], "strategy": "strategy"}
    expected = evaluate(judged_runs(), *measures, **ranked, fingerprint="doc")
    written = read_results(name)
    assert_frame_equal(written, expected)
    assert numbers(rows) == means(written.drop("judgments", "settings"))


def test_a_curve_per_query_is_a_list_in_parquet_and_blanks_part_it_in_csv(command):
    curve = "precision_curve@2"
    expected = evaluate(read_letor("letor.txt"), curve, by=["f1", "f2"])
    for name in ("values.csv", "values.parquet"):
        command("--letor", "letor.txt", "--measure", curve, "--per-query", name)
    assert_frame_equal(pl.read_parquet("values.parquet").drop("judgments"), expected)
    written = pl.read_csv("values.csv", schema_overrides={"query": pl.String})
    written = written.drop("judgments", "settings")
    assert written[curve].to_list()[:2] == ["1.0 1.0", "1.0 0.5"]
    split = pl.col(curve).str.split(" ").cast(pl.List(pl.Float64))
    assert_frame_equal(written.with_columns(split), expected)


def test_a_file_of_values_is_written_over(table):
    for measure in ("ap", "cg"):
        table("--letor", "letor.txt", "--measure", measure, "--per-query", "values.csv")
    assert pl.read_csv("values.csv").columns[:3] == ["strategy", "query", "cg"]


def test_a_file_that_is_read_is_not_written_over(refusal):
    Path("in.csv").write_text(GOOD)
    Path("link.csv").symlink_to("in.csv")
    for name in ("in.csv", "./in.csv", "link.csv"):
        sentence = refusal("--qrels", "qrels.txt", "in.csv", "--per-query", name)
        assert sentence == f"a file to write must not be an input as well, got {Path(name)}"
    assert Path("in.csv").read_text() == GOOD


# Parquet.


def test_files_may_be_parquet(command):
    judged, run = read_qrels("qrels.txt"), read_run(["good.run", "poor.run"])
    judged.write_parquet("qrels.parquet")
    run.write_parquet("runs.parquet")
    expected = command(*JUDGED)
    assert command("--qrels", "qrels.parquet", "runs.parquet") == expected
    assert command("--qrels", "qrels.parquet", "good.run", "poor.run") == expected
    read_letor("letor.txt").write_parquet("letor.parquet")
    assert command("--letor", "letor.parquet") == command("--letor", "letor.txt")
    columns = read_letor("letor.txt").drop("doc").with_columns(text=pl.lit("is no feature"))
    columns.write_parquet("letor.parquet")
    assert command("--letor", "letor.parquet") == command("--letor", "letor.txt")


@pytest.mark.parametrize(
    "arguments",
    [JUDGED, ("--qrels", "qrels.gz", "good.gz", "poor.run", "runs.parquet", "both.run")],
)
def test_runs_that_may_exceed_memory_go_by(command, monkeypatch, arguments):
    read_run(["good.run", "poor.run"]).write_parquet("runs.parquet")
    expected = command(*arguments)
    monkeypatch.setattr(command_files, "find_free_memory", lambda: 0)
    monkeypatch.setattr(command_files, "read_run", None)
    monkeypatch.setattr(pl, "read_parquet", None)
    assert command(*arguments) == expected


def test_a_report_of_runs_that_may_exceed_memory_has_no_documents(command, monkeypatch):
    monkeypatch.setattr(command_files, "find_free_memory", lambda: 0)
    _, complaints = command(*JUDGED, "--report", "page.html")
    assert "the runs may exceed memory, so the report shows no documents" in complaints
    assert Path("page.html").exists()


def test_a_run_in_parquet_without_a_strategy_is_named_after_its_file(table):
    run = read_run("good.run").select("query", "doc", pl.col("score").cast(pl.Int32))
    run.write_parquet("ours.parquet")
    rows = table("--qrels", "qrels.txt", "ours.parquet", "--measure", "ap")
    assert numbers(rows) == {("ours", "ap"): 1}


def test_ids_in_parquet_may_be_numbers(table):
    keys = pl.col("query").str.slice(1).cast(pl.Int64)
    read_qrels("qrels.txt").with_columns(keys).write_parquet("qrels.parquet")
    Path("number.run").write_text(GOOD.replace("q", ""))
    rows = table("--qrels", "qrels.parquet", "number.run", "--measure", "ap")
    assert numbers(rows) == {("good", "ap"): 1}


# How rankings are read.


def test_ties_are_broken_by_document_or_left_in_the_order_of_rows(table, command):
    # Documents c, a, b in the file have one score, and gains 1, 3 and 0.
    names = ("doc", "order", "trec_eval", "pytrec_eval", "ir_measures")
    tools = (["--ties", tool] for tool in names)
    for options, first in ((each, 1) for each in tools):
        cells = table("--qrels", "qrels.txt", "tied.run", "--measure", "cg@1", "cg@2", *options)
        assert number(cells["tied"]["cg@1"]) == first / 2
        second = 4 / 2 if "order" in options else 1 / 2
        assert number(cells["tied"]["cg@2"]) == second
    # Of one score: documents a, b with grades 0 and 1; b comes first where documents break ties.
    Path("level.txt").write_text("0 qid:1 1:1 #docid = a\n1 qid:1 1:1 #docid = b\n")
    for ties, first in (("order", 0), ("doc", 1)):
        rows = table("--letor", "level.txt", "--measure", "cg@1", "--ties", ties)
        assert numbers(rows) == {("f1", "cg@1"): first}
    by_default = command("--letor", "level.txt", "--measure", "cg@1")
    assert number(parsed(by_default.out)[""]["f1"]["cg@1"]) == 1
    assert (
        "('f1' in 1), and 'doc' decides which comes first: the last in text order" in by_default.err
    )


def test_unjudged_documents_can_be_dropped(table):
    # b (0), y (unjudged), a (2) and c (1), which was not retrieved; q2 is not answered.
    Path("new.run").write_text(POOR.replace(" x ", " y "))
    arguments = ("--qrels", "qrels.txt", "new.run", "--measure", "ap")
    assert numbers(table(*arguments)) == printed({("poor", "ap"): 1 / 3 / 2 / 2})
    assert numbers(table(*arguments, "--condensed")) == printed({("poor", "ap"): 1 / 2 / 2 / 2})


def test_a_low_grade_can_be_no_judgment(table):
    Path("pooled.txt").write_text("q 0 x -1\nq 0 a 1\nq 0 n 0\nq 0 b 1\n")
    Path("xanb.run").write_text("".join(f"q Q0 {d} 1 {-i} t\n" for i, d in enumerate("xanb")))
    arguments = ("--qrels", "pooled.txt", "xanb.run", "--measure", "bpref")
    meant = table(*arguments, "--unjudged-below=-1")
    assert numbers(meant) == printed({("t", "bpref"): 1 / 4})
    assert numbers(table(*arguments, "--unjudged-below", "0")) == printed({("t", "bpref"): 1 / 2})


@pytest.mark.parametrize(
    ("value", "mean"), [("0", 1 / 2), ("1", 1), ("none", 1), ("None", 1), ("0.5", 3 / 4)]
)
def test_a_query_without_a_relevant_document_counts_as_said(command, value, mean):
    Path("half.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n0 qid:2 1:1\n")
    printed_, told = command("--letor", "half.txt", "--measure", "ap", "--undefined-as", value)
    assert told == ""
    assert numbers(parsed(printed_)[""]) == printed({("f1", "ap"): mean})


def test_what_is_not_said_is_what_evaluate_has(table):
    """A query without a relevant document is worse than chance at 0: roc_auc is null there."""
    Path("half.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n0 qid:2 1:1\n")
    options = ("--letor", "half.txt", "--measure", "roc_auc", "ap")
    expected = evaluate(read_letor("half.txt"), "roc_auc", "ap", by=["f1"])
    rows = numbers(table(*options))
    assert rows == means(expected)
    assert rows == printed({("f1", "roc_auc"): 1, ("f1", "ap"): 1 / 2})
    assert numbers(table(*options, "--undefined-as", "0"))["f1", "roc_auc"] == 0.5


def test_grades_are_relevant_from_one_on(table, tmp_path):
    options = ("--letor", "stars.txt", "--measure", "ndcg", "ap", "--irrelevant", "1")
    scale = {"irrelevant": 1, "relevant_from": 4}
    expected = evaluate(read_letor("stars.txt"), "ndcg", "ap", by=["f1", "f2"], **scale)
    page = tmp_path / "page.html"
    rows = table(*options, "--relevant-from", "4", "--report", str(page), also="")
    assert numbers(rows) == means(expected)
    assert "grades from 4 on" in page.read_text(encoding="utf-8")


def test_a_query_that_is_left_out_of_means_is_left_out_of_comparisons(command):
    Path("two.txt").write_text(LETOR + "0 qid:3 1:1 2:2\n")
    options = ("--measure", "ap", "--baseline", "f1")
    expected = command("--letor", "letor.txt", *options).out
    without = command("--letor", "two.txt", *options, "--undefined-as", "none").out
    assert compared(without) == compared(expected)


# A report.


def test_a_report_adds_what_it_shows_and_changes_nothing_else(command):
    needed("vl_convert")
    arguments = [*JUDGED, "--measure", "ap", "ndcg@3", "dcg_curve@2", "--per-query"]
    printed = command(*arguments, "without.csv").out
    assert command(*arguments, "with.csv", "--report", "page.html").out == (
        f"{printed}\nReport: page.html\n"
    )
    assert Path("with.csv").read_text() == Path("without.csv").read_text()
    page = Report(Path("page.html"))
    assert [part.name for part in page.parts] == ["ap", "ndcg@3", "r_precision"]
    assert len(page.figures(id="curves")) == 3
    assert len(page.figures(id="rankings")) == 1


def test_a_report_says_what_the_options_mean(command):
    needed("vl_convert")
    options = ("--condensed", "--unjudged-below", "1", "--undefined-as", "none", "--max-grade", "3")
    command(*QUIET, *options, "--measure", "ap", "--report", "page.html")
    settings = Report(Path("page.html")).settings
    assert {name: settings[name] for name in list(settings)[2:-2]} == {
        "Ties": "broken by doc, the highest first",
        "Highest grade": "3",
        "Unjudged documents": "dropped from the rankings",
        "Judgments": "none below grade 1",
        "Queries without a relevant document": "are left out",
    }


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (["ap"], "count as 0"),
        (["ap", "roc_auc"], "count as 0 and are left out of roc_auc"),
        (
            ["roc_auc", "ap", "pairwise_accuracy"],
            "count as 0 and are left out of roc_auc and pairwise_accuracy",
        ),
        (["roc_auc"], "are left out of roc_auc"),
    ],
)
def test_a_report_names_the_measures_that_leave_queries_out(command, measures, said):
    needed("vl_convert")
    command(*QUIET, "--measure", *measures, "--report", "page.html")
    settings = Report(Path("page.html")).settings
    assert settings["Queries without a relevant document"] == said


def test_what_is_asked_for_comes_once_and_in_its_order(command):
    needed("vl_convert")
    command("--measure", "interpolated_precision", "r_precision", "ap", "--report", "page.htm")
    page = Report(Path("page.htm"))
    assert [part.name for part in page.parts] == ["r_precision", "ap"]


def test_what_a_report_adds_is_told_and_all_its_measures_where_curves_alone_are_asked_for(
    command, capsys
):
    needed("vl_convert")
    command("--measure", "interpolated_precision", "dcg_curve@5", "--report", "page.html")
    assert [part.name for part in Report(Path("page.html")).parts] == ["r_precision"]
    with pytest.raises(SystemExit):
        main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "this option adds the measures r_precision, dcg_curve@20, ideal_dcg_curve@20" in told


@pytest.mark.parametrize(
    ("options", "baseline", "said"),
    [
        ([], None, "the paired t test; corrected by Holm's method"),
        (["--baseline", "weak"], "weak", "corrected by Holm's method"),
        (["--test", "wilcoxon", "--correction", "none"], None, "compares ranks, not means; not"),
        (["--test", "randomised_tukey"], None, "the randomised Tukey test"),
    ],
)
def test_a_report_compares_as_the_options_say(command, options, baseline, said):
    needed("vl_convert")
    command("--measure", "ap", "--report", "page.html", *options)
    settings = Report(Path("page.html")).settings
    assert settings["Compared"] == ("every pair" if baseline is None else f"all with {baseline}")
    assert said in f"{settings['Test']}; {settings['Correction']}"


def test_a_report_without_what_it_needs_is_refused_before_files_are_read(refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    sentence = refusal("--letor", "absent.txt", "--report", "page.html")
    assert sentence.endswith('pip install "vl-convert-python>=1.9"')


# Warnings.


def test_warnings_are_sentences_beside_the_table(command):
    report, complaints = command("--qrels", "qrels.txt", "unjudged.run", "--measure", "ap")
    assert complaints == (
        "warning: queries without any judgment are left out of the result, got 1: 'q9'\n"
    )
    assert parsed(report)[""] == {"good": {"queries": "2", "ap": "[1.0000]"}}


# Refusals.

LETOR_FILE = ("--letor", "letor.txt")

ERRORS = [
    # Files.
    (["--letor", "absent.txt"], r"No such file or directory: absent\.txt"),
    (["--letor", "letor.txt", "absent.txt"], r"No such file or directory: absent\.txt"),
    (["--qrels", "absent.txt", "good.run"], r"No such file or directory: absent\.txt"),
    (["--qrels", "qrels.txt", "absent.run"], r"No such file or directory: absent\.run"),
    (["--letor", "here"], "Is a directory: here"),
    (["--qrels", "qrels.txt", "here"], "Is a directory: here"),
    (["--letor", "bad.letor"], r"bad\.letor, line 2: a feature is .*, got '2:x': '0 qid:1 .*'"),
    (["--qrels", "bad.qrels", "good.run"], r"bad\.qrels, line 2: a judgment has 4 fields, .*"),
    (["--qrels", "qrels.txt", "bad.run"], r"bad\.run, line 3: a score is .*, got 'high': .*"),
    (["--qrels", "letor.txt", "good.run"], r"letor\.txt, line 1: a judgment has 4 fields, .*"),
    (["--letor", "qrels.txt"], r"qrels\.txt, line 1: .*"),
    (["--letor", "binary"], "binary, line 1: text must be UTF-8, got byte 0x80: .*"),
    (["--qrels", "cut.gz", "good.run"], r".*cut\.gz.*"),
    (["--qrels", "damaged.gz", "good.run"], r".*damaged\.gz.*"),
    (["--letor", "empty"], r".*\bempty\b.*"),
    (["--qrels", "empty", "good.run"], r".*\bempty\b.*"),
    (["--qrels", "qrels.txt", "good.run", "empty"], r".*\bempty\b.*"),
    (["--letor", "no_feature.txt"], r".*\bfeature.*"),
    (["--qrels", "qrels.txt", "good.run", "good.run"], r".*more than once.*good\.run.*"),
    # Measures.
    (["--measure", "ndgc"], "there is no measure 'ndgc'; did you mean 'ndcg'.*"),
    (["--measure", "foo"], "there is no measure 'foo'; there are precision, recall, .*"),
    (["--letor", "absent.txt", "--measure", "foo"], "there is no measure 'foo'; there are .*"),
    (["--measure", "ndcg@0"], "`n` must be at least 1, got 0"),
    (["--measure", "ndcg@ten"], "a measure is written like 'ndcg@10' or .*, got 'ndcg@ten'"),
    (["--measure", "ndcg(x)"], r"options are written like .*, got 'ndcg\(x\)'"),
    (["--measure", "ndcg(10)"], r"there is no measure 'ndcg\(10\)'; .* is 'ndcg@10' here"),
    (["--measure", "ap(depth=3)"], "ap has no option 'depth'; it has threshold, over, ties"),
    (["--measure", "ndcg(gain=lin)"], "`gain` must be one of 'exp2', 'linear', .*, got 'lin'.*"),
    (["--measure", "ap", "ap"], "each measure must be named once, got ap several times"),
    (
        ["--measure", "relative_recall"],
        "relative_recall needs `known`, a column that is true for .*, got none",
    ),
    (["--measure", "ndcg_curve"], "a curve needs a cutoff to be averaged, .*"),
    (["--measure"], "argument --measure: expected at least one argument"),
    # Options that do not fit.
    (["--qrels", "qrels.txt"], "--qrels takes a judgment file and at least one run, got no run"),
    (["--letor", "letor.txt", *JUDGED], "argument --qrels: not allowed with argument --letor"),
    (["--strategy", "strong"], "--(strategy|grade) needs --frame or --letor"),
    (["--grade", "doc"], "--(strategy|grade) needs --frame or --letor"),
    ([*JUDGED, "--strategy", "good"], "--(strategy|grade) needs --frame or --letor"),
    ([*LETOR_FILE, "--strategy", "f9"], "`frame` has no column 'f9'.*; it has query, doc, .*"),
    ([*LETOR_FILE, "--strategy", "doc"], "score 'doc' must be a number to rank by, got String; .*"),
    ([*LETOR_FILE, "--strategy", "f1", "f1"], r".*strategy.* once, got .*f1.*"),
    ([*LETOR_FILE, "--grade", "gade"], "`frame` has no column 'gade'; .*did you mean 'grade'.*"),
    ([*LETOR_FILE, "--grade", "doc"], "grade 'doc' must be a number or a Boolean, got String; .*"),
    (["--irrelevant", "low"], "argument --irrelevant: invalid float value: 'low'"),
    (["--irrelevant", "nan"], "`irrelevant` must be finite, got nan"),
    (["--irrelevant", "2", "--max-grade", "1"], "`max_grade` must be above 2.*, got 1.*"),
    (["--measure", "queries=ap"], "a measure must not be called queries, since the tables have .*"),
    (
        ["--measure", "N=ndcg@10", "--gate", "N=ap", "--baseline", "strong"],
        "--gate takes measures that --measure names, got N=ap",
    ),
    (
        [*JUDGED, "--measure", "err_ia", "--relevant-from", "2"],
        "a document has each subtopic with a grade above 0, whatever --relevant-from; .*",
    ),
    (
        ["--qrels", "people=qrels.txt", "good.run", "--measure", "err_ia"],
        r"measures of subtopics need the judgments of one grader \(.*\), got people",
    ),
    (
        ["--chart", "one.html", "--report", "one.html"],
        "each file to write needs a name of its own, got one.html several times",
    ),
    ([*LETOR_FILE, "--max-grade", "1"], ".* must not be above `max_grade`, 1, in 1 of 2 queries"),
    (["letor.txt"], r"unrecognized arguments: letor\.txt"),
    (["--measure", "dcg_curve@9999999"], ".* cutoff of at most 10000, got 'dcg_curve@9.*'"),
    (["--undefined-as", "all"], "argument --undefined-as: must be a finite number, .* got 'all'"),
    (["--undefined-as", "nan"], "argument --undefined-as: must be a finite number, .* got 'nan'"),
    (["--unjudged-below", "0"], "--unjudged-below needs --qrels"),
    (["--ties", "random"], "argument --ties: invalid choice: 'random' .*"),
    (["--baseline", ""], "there is no strategy ''.*"),
    # Parquet.
    (["--letor", "absent.parquet"], r"No such file or directory: absent\.parquet"),
    (["--qrels", "here.parquet", "good.run"], r"here\.parquet must be a complete Parquet file: .*"),
    (["--qrels", "few.parquet", "good.run"], r"`few\.parquet` has no column 'doc'.*"),
    (
        ["--qrels", "nested.parquet", "good.run"],
        r"nested\.parquet must have names .*'doc', got L.*",
    ),
    (
        ["--qrels", "qrels.txt", "text.parquet"],
        r"text\.parquet must have numbers .*'score', got S.*",
    ),
    (["--qrels", "qrels.txt", "few.parquet"], r"`few\.parquet` has no column 'doc'.*"),
    # A file to write.
    (["--per-query", "values.txt"], r"--per-query takes .*\.csv.*\.parquet.*, got 'values\.txt'"),
    (["--per-query", "values"], r"--per-query takes .*\.csv.*\.parquet.*, got 'values'"),
    (["--per-query", "absent/values.csv"], r"No such file or directory.*: absent/values\.csv"),
    (["--per-query", "absent/v.parquet"], r"No such file or directory.*: absent/v\.parquet"),
    (["--report", "page.pdf"], r"--report takes .*\.html.*\.htm.*, got 'page\.pdf'"),
    (["--report", "absent/page.html"], r"No such file or directory.*: absent/page\.html"),
]


@pytest.mark.parametrize(
    ("arguments", "sentence"), ERRORS, ids=[" ".join(arguments) for arguments, _ in ERRORS]
)
def test_what_cannot_be_done_is_said_in_one_sentence(refusal, arguments, sentence):
    assert re.fullmatch(sentence, refusal(*arguments))


def test_a_wrong_suffix_is_told_before_files_are_read(refusal):
    assert refusal("--letor", "absent.txt", "--per-query", "x.txt").startswith("--per-query takes")


# As a program of its own.

QUIET = ("--qrels", "qrels.txt", "good.run")  # of which there is nothing to warn


def program(*arguments: str, encoding: str, **options: Any) -> subprocess.CompletedProcess:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-m", "polars_graded", *arguments],
        check=False,
        encoding=encoding,
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        **options,
    )


@pytest.mark.slow
def test_the_module_runs_and_prints_what_main_prints(command):
    finished = program(*QUIET, encoding="utf-8")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout == command(*QUIET).out


@pytest.mark.slow
def test_a_terminal_that_has_no_lines_to_draw_with_shows_the_numbers_all_the_same():
    finished = program(*QUIET, "--measure", "ap", encoding="ascii")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert re.search(r"good\W+2\W+\[1\.0000\]", finished.stdout)


@pytest.mark.slow
def test_a_report_may_have_any_name_on_any_terminal():
    needed("vl_convert")
    finished = program("--measure", "ap", "--report", "日.html", encoding="ascii")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.endswith("\n\nReport: \\u65e5.html\n")
    assert Path("日.html").exists()


def test_names_cannot_move_the_cursor(table):
    content = GOOD.replace("good", "\x1b[31mgo\x7fod\x9b\u202e\u2028")
    Path("red.run").write_text(content, encoding="utf-8")
    assert list(table("--qrels", "qrels.txt", "red.run")) == [r"\x1b[31mgo\x7fod\x9b\u202e\u2028"]


def test_names_are_shown_whole_however_long(table):
    names = ["n" * 300 + last for last in "ab"]
    for name in names:
        Path(f"{name[-1]}.run").write_text(GOOD.replace("good", name))
    assert sorted(table("--qrels", "qrels.txt", "a.run", "b.run")) == names


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_device_is_said_in_one_sentence():
    with Path("/dev/full").open("w") as full:
        finished = program(*QUIET, encoding="utf-8", stdout=full)
    assert finished.returncode == 2
    assert finished.stderr.endswith(
        "polars-graded: error: No space left on device: standard output\n"
    )
    assert "Traceback" not in finished.stderr


@pytest.mark.slow
def test_nobody_to_read_the_output_is_no_error():
    end, start = os.pipe()
    os.close(end)
    finished = program(*QUIET, encoding="utf-8", stdout=start)
    os.close(start)
    assert (finished.returncode, finished.stderr) == (141, "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_ctrl_c_is_one_line():
    os.mkfifo("waiting")
    process = subprocess.Popen(
        [sys.executable, "-m", "polars_graded", "--letor", "waiting"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What is started in the background ignores the signal, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    # Who opens the other end goes on as soon as the command has opened its own.
    with process, Path("waiting").open("w"):
        time.sleep(0.5)  # until it reads, which nothing but the signal ends
        process.send_signal(signal.SIGINT)
        try:
            said, complaints = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, said, complaints) == (130, "", "polars-graded: stopped\n")


@pytest.fixture
def graders(tmp_path):
    """Files of what people judged of every third query, and a model of all; and two runs."""
    rng = np.random.default_rng(0)
    lines: dict[str, list[str]] = {"people": [], "model": [], "a.run": [], "b.run": []}
    for query in range(45):
        for doc, grade in enumerate(rng.integers(0, 3, 8)):
            if query % 3 == 0:
                lines["people"].append(f"q{query} 0 d{doc} {grade}")
            lines["model"].append(f"q{query} 0 d{doc} {max(0, grade - rng.integers(0, 2))}")
            for name, spread in (("a", 1), ("b", 4)):
                score = grade + spread * rng.standard_normal()
                lines[f"{name}.run"].append(f"q{query} Q0 d{doc} 0 {score:.4f} {name}")
    for name, of_file in lines.items():
        (tmp_path / name).write_text("\n".join(of_file) + "\n")
    return ["--qrels", "people=people", "--qrels", "model=model", "a.run", "b.run"]


def test_grades_of_people_and_of_a_model_are_taken_together(command, graders):
    run = read_run(["a.run", "b.run"])
    judged = join_judgments(
        run, {name: read_qrels(name) for name in ("people", "model")}, strategy="strategy"
    )
    options = {"strategy": "strategy", "grade": ["people", "model"], "ties": "doc"}
    results = evaluate(judged, "ndcg@5", "ap", **options)
    arguments = [*graders, "--measure", "ndcg@5", "ap", "--per-query", "values.parquet"]
    report, complaints = command(*arguments, "--trusted", "people", "--baseline", "b")
    assert complaints == ""
    assert_frame_equal(pl.read_parquet("values.parquet").drop("judgments"), results)
    for grader in ("people", "model"):
        means = summarise(results, "ap", grader=grader)["mean"]
        _, _, table = report.partition(f"Grades of {grader}\n")
        assert all(f"{mean:.4f}" in table.partition("\n\n")[0] for mean in means)
    means = summarise(results, trusted="people")
    differences = compare(results, trusted="people", baseline="b")
    for value in [*means["mean"], *means["trusted_mean"], *differences["difference"]]:
        assert f"{value:.4f}" in report
    assert "that people would find over all queries, if the queries that people judged" in report


def test_a_mean_says_of_how_many_queries_it_is(command):
    Path("some.txt").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d2 1\nq3 0 d1 0\n")
    lines = (f"{query} Q0 d{doc} 0 {doc} a" for query in ("q1", "q2", "q3") for doc in (1, 2))
    Path("all.run").write_text("\n".join(lines) + "\n")
    given = ("--qrels", "some.txt", "all.run", "--measure", "ap", "roc_auc")
    for options, said in (
        ((), "2 of roc_auc"),
        (("--undefined-as", "none"), "1 of ap, 2 of roc_auc"),
    ):
        report, _ = command(*given, *options)
        told = f"\nQueries without a value of every strategy are left out: {said}.\n"
        assert report.endswith(told)
    report, _ = command(*given, "--undefined-as", "0")
    assert report.endswith("in brackets.\n")


def test_a_gate_goes_by_the_judgments_of_one_grader(command, graders, refusal):
    arguments = ("--measure", "ap", "--gate", "ap", "--baseline", "b")
    for trusted in ((), ("--trusted", "people")):
        sentence = refusal(*graders, *arguments, *trusted)
        assert sentence == (
            "--gate needs the judgments of one grader, as in --qrels FILE RUN, got those of "
            "people, model"
        )
    printed = command("--qrels", "people", "a.run", "b.run", *arguments, "--margin", "0.9").out
    assert "ap: a is " in printed


def test_a_papers_table_of_several_graders_is_of_the_trusted_one(command, graders, refusal):
    given = [*graders, "--measure", "ap", "--format", "markdown"]
    assert "--format shows the grades of one grader" in refusal(*given)
    table, _ = command(*given, "--trusted", "people")
    judgments = {name: read_qrels(name) for name in ("people", "model")}
    both = join_judgments(read_run(["a.run", "b.run"]), judgments, strategy="strategy")
    values = evaluate(both, "ap", strategy="strategy", grade=["people", "model"], ties="doc")
    assert table.rstrip("\n") == paper_table(values, trusted="people")
    corrected = summarise(values, trusted="people")
    assert all(f"{mean:.3f}" in table for mean in corrected["mean"])
    of_people = summarise(values, grader="people")
    assert not any(f"{mean:.3f}" in table for mean in of_people["mean"])
    assert "as people would judge them" in " ".join(table.split())
    assert "must be 't'" in refusal(*graders, "--trusted", "people", "--test", "wilcoxon")
    assert "must be 't' if" in refusal(
        *[*graders, "--measure", "ap", "--format", "html", "--trusted", "people"],
        *["--test", "wilcoxon"],
    )


def test_the_report_of_graders_shows_the_trusted_one(command, graders, refusal):
    needed("vl_convert")
    assert "one grader, so it needs --trusted" in refusal(*graders, "--report", "page.html")
    command(*graders, "--measure", "ap", "--trusted", "people", "--report", "page.html")
    settings = Report(Path("page.html")).settings
    assert settings["Grades"] == "of people"
    assert settings["Data"].endswith(", 15 queries")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--qrels", "qrels.txt", "--qrels", "x=qrels.txt", "good.run"],
            "as NAME=FILE, got 'qrels",
        ),
        (["--qrels", "x=qrels.txt", "--qrels", "x=qrels.gz", "good.run"], "once, got 'x' again"),
        ([*JUDGED, "--trusted", "people"], "one of several graders, got 'people'; graders: none"),
        (
            ["--qrels", "x=qrels.txt", "--qrels", "y=qrels.gz", "good.run", "--trusted", "z"],
            "got 'z'; graders: x, y",
        ),
    ],
)
def test_graders_that_are_not_clear_are_refused(refusal, given, said):
    assert said in refusal(*given)


def test_a_file_may_have_an_equals_sign_in_its_name(table, tmp_path):
    (tmp_path / "a=b.txt").write_text(QRELS)
    assert table("--qrels", "a=b.txt", "good.run") == table("--qrels", "qrels.txt", "good.run")


HINTS_ON_THE_SHELL = {
    "descending={'old_rank': False} ranks": "--descending old_rank=false ranks",
    "descending=False ranks": "--descending false ranks",
    "condensed=True leaves": "--condensed leaves",
    "max_grade=3 measures": "--max-grade 3 measures",
    "max_grade=... sets": "--max-grade ... sets",
    "relevant_from=0.5 that": "--relevant-from 0.5 that",
    "undefined_as=None leaves": "--undefined-as none leaves",
    "query=['a', 'the market'] makes": "--query a 'the market' makes",
    "ties='order' keeps": "--ties order keeps",
    "ties='product_id' ranks": "--doc product_id ranks",
    "by={'score': pl.when(1)} turns": "by={'score': pl.when(1)} turns",
    "doc=None ranks": "doc=None ranks",
    "of k=3 pairs": "of k=3 pairs",
}


@pytest.mark.parametrize("hint", HINTS_ON_THE_SHELL)
def test_hints_name_options_on_the_shell(hint):
    written = write_for_the_shell(f"a sentence\n\nHint: {hint}\n\nmore")
    assert written == f"a sentence; {HINTS_ON_THE_SHELL[hint]}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(",", ";"), "must have ',' between its columns, got ';'"),
        (lambda text: text.replace(",", ";").replace(".", ","), "between its columns, got ';'"),
        (lambda text: text.replace(",0,", ",NA,"), "null_values=..NA... reads the text NA as null"),
        (lambda text: text.replace(",0,", ",NaN,"), "fill_nan.None. makes NaN null, which means"),
    ],
)
def test_files_of_other_forms_are_answered_with_how_to_read_them(refusal, tmp_path, change, said):
    rows = pl.DataFrame(
        {"query": [1, 1, 2], "doc": ["a", "b", "a"], "grade": [0, 1, 0], "score": [0.5, 0.2, 0.3]}
    )
    file = tmp_path / "log.csv"
    file.write_text(change(rows.write_csv()))
    assert re.search(said, refusal("--frame", str(file), "--measure", "ap"))


def test_a_column_that_is_called_like_documents_gives_fingerprints(tables, tmp_path):
    rows = pl.DataFrame(
        {"query": [1, 1], "product_id": ["a", "b"], "grade": [0, 1], "score": [0.5, 0.2]}
    )
    rows.write_csv(tmp_path / "log.csv")
    written = []
    for name, options in {"one": [], "other": ["--doc", "product_id"]}.items():
        file = tmp_path / f"{name}.csv"
        frame = ["--frame", str(tmp_path / "log.csv"), "--measure", "ap"]
        tables(*frame, *options, "--per-query", str(file))
        written.append(read_results(file)["judgments"].to_list())
    assert written[0] == written[1]


def test_runs_are_compared_without_judgments(tables, command, tmp_path):
    similarity = ["--similarity", "overlap@1", "jaccard", "overlap_curve@2"]
    shown = tables(*similarity, "--runs", "good.run", "poor.run")
    # q1: good has a, c, b and poor has b, x, a. Only good answers q2.
    cells = shown[""]["good and poor"]
    assert (cells["queries"], cells["overlap@1"], cells["jaccard"]) == ("2", "0.0000", "0.2500")
    assert shown["overlap_curve@2 by rank"]["good and poor"] == {"1": "0.0000", "2": "0.0000"}
    assert "best" not in command(*similarity, "--runs", "good.run", "poor.run")[0]
    with_judgments = tables(*similarity, *JUDGED)
    assert with_judgments == shown
    file = tmp_path / "values.csv"
    tables("--similarity", "rbo", "--baseline", "weak", "--per-query", str(file))
    assert pl.read_csv(file)["b"].unique().to_list() == ["weak"]


def test_relevant_documents_that_enter_are_counted_with_judgments(table, tables):
    runs = ("--runs", "good.run", "poor.run", "--qrels", "qrels.txt")
    assert tables(*runs) == tables(*JUDGED)
    similarity = ["--similarity", "relevant_entered@2", "relevant_left@2"]
    # Of q1, good has a and c first (grades 2 and 1), and poor has b and x (grade 0). Only good
    # answers q2, with a (grade 1).
    for options, entered in (((), "1.5000"), (("--relevant-from", "2"), "0.5000")):
        for files in (runs, JUDGED):
            cells = table(*similarity, *files, *options)["good and poor"]
            assert (cells["relevant_entered@2"], cells["relevant_left@2"]) == (entered, "0.0000")
    rows = pl.DataFrame({"query": 1, "doc": ["a", "b"], "stars": [1, 3]})
    rows.with_columns(old=pl.Series([2.0, 1.0]), new=pl.Series([1.0, 2.0])).write_csv("scores.csv")
    frame = ("--frame", "scores.csv", "--by", "new", "old", "--grade", "stars")
    shown = table("--similarity", "relevant_entered@1", *frame, "--irrelevant", "1")
    assert shown["new and old"]["relevant_entered@1"] == "1.0000"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--runs", "good.run"],
            "--runs need judgments by --qrels, or --similarity without judgments",
        ),
        (["--runs", "good.run", "--letor", "letor.txt"], "so they take no --letor"),
        (["--similarity", "rbo", "--measure", "ap"], "--similarity takes no --measure"),
        (["--similarity", "rbo", "--relevant-from", "2"], "--similarity takes no --relevant-from"),
        (
            ["--similarity", "relevant_left", "--runs", "good.run", "poor.run"],
            "relevant_left needs judgments by --qrels",
        ),
        (
            [
                "--similarity",
                "relevant_left",
                "--qrels",
                "people=qrels.txt",
                "good.run",
                "poor.run",
            ],
            "needs the judgments of one grader, as in --qrels FILE RUN, got those of people",
        ),
        (["--similarity", "ap"], "'ap' is a measure of one ranking"),
        (["--measure", "rbo"], "'rbo' is a measure of two rankings"),
        (["--similarity", "overlap_curve"], "a curve needs a cutoff to be averaged"),
        (["--similarity", "rbo", "--runs", "good.run"], "at least two strategies to compare"),
        (["--similarity", "rbo", "--baseline", "best"], "no strategy 'best'; there are 'strong', "),
    ],
)
def test_options_of_similarity_are_checked(refusal, arguments, said):
    assert said in refusal(*arguments)


def test_frames_without_grades_are_compared(table, tmp_path):
    rows = pl.DataFrame({"query": [1, 1], "doc": ["a", "b"], "old": [2.0, 1.0], "new": [1.0, 2.0]})
    rows.write_csv(tmp_path / "scores.csv")
    shown = table("--similarity", "kendall_tau", "--frame", "scores.csv", "--by", "old", "new")
    assert shown["old and new"]["kendall_tau"] == "-1.0000"
