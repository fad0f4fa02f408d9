"""The command: values equal to Python's, files, exit statuses and errors of each subcommand."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded._command import main, write_message
from polars_graded._results.significance import CORRECTIONS, TESTS

MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]
RUNS = "--qrels qrels.txt main.run noise.run loss.run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with judgments, three runs with ties and gaps, LETOR lines and rows."""
    folder = tmp_path_factory.mktemp("files")
    rng, n, depth = np.random.default_rng(7), 400, 20
    grades = rng.choice(4, (n, depth), p=[0.6, 0.2, 0.1, 0.1])
    good = (grades + rng.normal(size=grades.shape)).round(2)
    scores = {
        "main": good,
        "noise": good + rng.normal(size=grades.shape) * 0.05,
        "loss": good + rng.normal(size=grades.shape) * 0.6,
    }
    keys = [(q, d) for q in range(n) for d in range(depth)]
    lines = {"qrels.txt": [f"q{q} 0 d{d} {grades[q, d]}" for q, d in keys]}
    for name, of_run in scores.items():
        lines[f"{name}.run"] = [f"q{q} Q0 d{d} 0 {of_run[q, d]:.6f} {name}" for q, d in keys]
    lines["letor.txt"] = [
        f"{grades[q, d]} qid:{q} 1:{good[q, d]} 2:{d / 7:.3f} #docid = {d}" for q, d in keys[:400]
    ]
    for name, texts in lines.items():
        (folder / name).write_text("\n".join(texts) + "\n")
    rows = pl.DataFrame(keys, schema=["query", "doc"], orient="row").with_columns(
        grade=pl.Series(grades.ravel()),
        **{name: pl.Series(of_run.ravel()) for name, of_run in scores.items()},
    )
    rows.write_csv(folder / "rows.csv")
    rows.write_csv(folder / "rows.tsv", separator="\t")
    rows.write_parquet(folder / "rows.parquet")
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
    return folder


@pytest.fixture(autouse=True)
def files(folder, tmp_path, monkeypatch):
    """Work in a copy of the folder."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def command(capsys):
    """Run a line of the command; return what it prints, after a check of its exit status."""

    def run(line: str, status: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        try:
            main(shlex.split(line))
            ended = 0
        except SystemExit as end:
            ended = end.code
        printed = capsys.readouterr()
        assert ended == status, printed
        return printed

    return run


def judged_runs(*names: str) -> pl.DataFrame:
    runs = pg.read_run([f"{name}.run" for name in names])
    return pg.join_judgments(runs, pg.read_qrels("qrels.txt"), strategy="strategy")


def assert_values(file: str, expected: pl.DataFrame) -> None:
    """The file has the values of a frame; ids may be texts."""
    ids = pl.col("strategy", "query").cast(pl.String)
    written, expected = (each.with_columns(ids) for each in (pg.read_results(file), expected))
    assert_frame_equal(
        written.select(expected.columns), expected, check_row_order=False, check_exact=True
    )


def cells(printed: str) -> list[list[str]]:
    """The cells of the printed tables, row by row."""
    rows = [re.split("[│┆]", line)[1:-1] for line in printed.splitlines() if line[:1] == "│"]
    return [[cell.strip() for cell in row] for row in rows]


def column(printed: str, name: str) -> list[float]:
    """The numbers of a printed column."""
    header, *rows = cells(printed)
    return [float(row[header.index(name)]) for row in rows]


def approximately(numbers) -> object:
    """Numbers with the four digits that are printed."""
    return [pytest.approx(number, rel=6e-4, abs=6e-7) for number in numbers]


# Values are those of Python.


@pytest.mark.parametrize("file", ["rows.csv", "rows.tsv", "rows.parquet", "rows.csv.gz"])
def test_rows_have_the_values_of_evaluate(file, command):
    call = "--by old=main noise --measure 'AP=ap(threshold=2)' ndcg@10 --max-grade 3"
    out, err = command(f"evaluate {file} {call} --output values.parquet")
    measures = {"AP": "ap(threshold=2)", "ndcg@10": "ndcg@10"}
    by = {"old": "main", "noise": "noise"}
    expected = pg.evaluate(
        pl.read_parquet("rows.parquet"), measures, by=by, max_grade=3, ties="doc"
    )
    assert_values("values.parquet", expected)
    header, *rows = cells(out)
    assert header == ["strategy", "queries", "AP", "ndcg@10"]
    means = expected.group_by("strategy").mean().sort("AP", descending=True)
    assert [row[:2] for row in rows] == [[name, "400"] for name in means["strategy"]]
    for name in measures:
        assert column(out, name) == approximately(means[name])
    assert "warning" not in err or "'doc' decides" in err


def test_runs_have_the_values_and_warnings_of_python(command):
    loss = Path("loss.run").read_text().splitlines(keepends=True)
    Path("loss.run").write_text("".join(line for line in loss if not line.startswith("q7 ")))
    _, err = command(f"evaluate {RUNS} -o values.csv")
    with warnings.catch_warnings(record=True, action="always") as caught:
        expected = pg.evaluate(judged_runs("main", "noise", "loss"), MEASURES, strategy="strategy")
    assert_values("values.csv", expected)
    assert len(err.splitlines()) == len(caught) > 0
    files = {"`run`": "main.run, noise.run, loss.run", "`judgments`": "qrels.txt"}
    for each in caught:
        sentence = str(each.message).split("\n")[0]
        assert re.sub("`[a-z]+`", lambda name: files[name[0]], sentence) in err


def test_letor_files_have_the_values_of_evaluate(command, data):
    file = str(data / "ohsumed/fold1.testset.txt.gz")
    command(f"evaluate {file} --measure ndcg@10 ap --ties doc -o values.parquet")
    frame = pg.read_letor(file)
    by = [name for name in frame.columns if re.fullmatch(r"f\d+", name)]
    assert_values("values.parquet", pg.evaluate(frame, "ndcg@10", "ap", by=by, ties="doc"))
    out, _ = command("evaluate letor.txt --by f2 f1 --measure ap")
    assert [row[0] for row in cells(out)[1:]] == ["f1", "f2"]


def test_without_files_the_example_is_measured(command):
    out, err = command("evaluate --output values.parquet")
    strategies = ["strong", "fair", "weak"]
    expected = pg.evaluate(pg.datasets.example(), MEASURES, by=strategies)
    assert_values("values.parquet", expected)
    assert [row[0] for row in cells(out)] == ["strategy", *strategies]
    assert err == ""


def test_runs_and_judgments_may_be_csv_or_parquet(command):
    command("evaluate --qrels qrels.txt main.run -o values.parquet --ties doc")
    run, qrels = pg.read_run("main.run"), pg.read_qrels("qrels.txt")
    number = pl.col("doc").str.slice(1).cast(pl.Int64)
    run.with_columns(number).write_csv("main.csv")
    qrels.with_columns(number).write_parquet("qrels.parquet")
    command("evaluate --qrels qrels.parquet main.csv -o others.parquet --ties doc")
    first, second = map(pg.read_results, ("values.parquet", "others.parquet"))
    # The order of ties is that of "d7" and of "7" alike.
    assert_frame_equal(first.select(MEASURES), second.select(MEASURES))
    assert second["strategy"].unique().to_list() == ["main"]


def test_stacked_rows_ranks_and_several_query_columns(command):
    rows = pl.read_parquet("rows.parquet").head(2000)
    rows = rows.with_columns(market=pl.col("query") % 2, term=pl.col("query") // 2)
    stacked = rows.unpivot(["noise", "loss"], index=["market", "term", "doc", "grade"])
    rank = pl.col("value").rank("ordinal", descending=True).over("variable", "market", "term")
    stacked.with_columns(rank=rank).write_parquet("stacked.parquet")
    call = "stacked.parquet --query market term --strategy variable --measure ap"
    out, err = command(f"evaluate {call} --by value --ties doc")
    assert err == ""
    ranked = f"{call} --by rank --descending false"
    assert command(f"evaluate {ranked}")[0] == out
    _, err = command(f"evaluate {call} --by rank", status=2)
    assert "descending" in err
    _, err = command(f"compare {ranked}")
    assert "queries are tested as independent" in err
    assert command(f"compare {ranked} --cluster term")[1] == ""


def test_columns_of_queries_are_clusters_weights_and_segments(command):
    rows = pl.read_parquet("rows.parquet").head(4000)
    number = pl.col("query")
    rows = rows.with_columns(
        term=number // 2, market=pl.format("m{}", number % 2), searches=number % 7 + 1
    )
    rows.write_parquet("stacked.parquet")
    units = "--cluster term --weights searches --segments market"
    call = f"stacked.parquet --by main loss --measure ap --ties doc {units}"
    keywords = {"cluster": "term", "weights": "searches", "segments": "market"}
    values = pg.evaluate(rows, "ap", by=["main", "loss"], ties="doc")
    columns = rows.select("query", "term", "searches", "market").unique()
    values = values.join(columns, on="query", maintain_order="left")
    out, _ = command(f"compare {call} --baseline main -o values.parquet")
    expected = pg.compare(values, "ap", baseline="main", **keywords)
    assert out.index(" m0 ") < out.index(" m1 ")
    for name in ("clusters", "effective_queries", "difference", "ci_low"):
        assert column(out, name) == approximately(expected[name])
    assert {"term", "searches", "market"} <= {*pl.read_parquet("values.parquet").columns}
    out, _ = command(f"evaluate {call}")
    means = pg.summarise(values, "ap", **keywords)
    assert sorted(column(out, "ap")) == approximately(means["mean"].sort())
    with suppress(SystemExit):  # whatever the verdict
        main(f"gate {call} --baseline main -o gate.md".split())
    assert "market m1" in Path("gate.md").read_text()
    command(f"report {call} -o report.html")
    assert "weighted" in Path("report.html").read_text()


@pytest.mark.parametrize(("text", "value"), [("none", None), ("0.5", 0.5)])
def test_a_query_without_a_relevant_document_has_the_passed_value(text, value, command):
    rewritten("qrels.txt", r"^q7 (.*) \d$", r"q7 \1 0")
    call = f"{RUNS} --measure ap --ties doc --undefined-as {text} -o values.parquet"
    out, _ = command(f"evaluate {call}")
    judged = judged_runs("main", "noise", "loss")
    options = {"strategy": "strategy", "ties": "doc", "undefined_as": value}
    assert_values("values.parquet", pg.evaluate(judged, "ap", **options))
    assert column(out, "queries") == [399 if value is None else 400] * 3


def test_grades_of_people_and_of_a_model(command):
    people = Path("qrels.txt").read_text().splitlines(keepends=True)[: 100 * 20]
    Path("people.txt").write_text("".join(people))
    files = "--qrels people=people.txt --qrels model=qrels.txt main.run noise.run loss.run"
    out, _ = command(f"evaluate {files} --measure ap")
    assert {row[0] for row in cells(out)[1:]} == {"people", "model"}
    # Functions that take one grader name the option that selects it.
    for subcommand in ("gate", "report"):
        call = f"{subcommand} {files} --measure ap --baseline main --ties doc"
        _, err = command(call, status=2)
        option = re.search(r"(--grade) '?(\w+)'? selects", err)
        with suppress(SystemExit):  # whatever the verdict
            main([*call.split(), *option.groups()])
    assert "of people" not in err
    assert Path("report.html").exists()


def test_a_fused_table_is_evaluated_as_the_error_says(command):
    command("fuse main.run loss.run -o fused.csv fused.run")
    _, err = command("evaluate fused.csv", status=2)
    assert "pass judgments as --qrels with the columns of scores as --by" in err
    measured = "--qrels qrels.txt --measure ap --ties doc"
    out, _ = command(f"evaluate fused.csv --by fused {measured}")
    assert column(out, "ap") == column(command(f"evaluate fused.run {measured}")[0], "ap")


def test_a_repeated_document_is_named_by_its_file(command):
    lines = Path("main.run").read_text().splitlines()
    Path("twice.run").write_text("\n".join([*lines, "", lines[2]]) + "\n")
    _, err = command("evaluate --qrels qrels.txt loss.run twice.run", status=2)
    got = "got several of ('q0', 'd2')"
    assert f"twice.run must have each document of a query once, {got}" in err


def test_columns_of_queries_hold_for_judged_documents_that_a_table_lacks(command):
    rows = pl.read_csv("rows.csv").with_columns(
        query=pl.format("q{}", "query"),
        doc=pl.format("d{}", pl.col("doc").cast(pl.String).str.strip_chars("d")),
    )
    lands = pl.when(pl.col("query").str.ends_with("1")).then(pl.lit("de")).otherwise(pl.lit("at"))
    rows.filter(pl.int_range(pl.len()) % 7 > 0).drop("grade").with_columns(land=lands).write_csv(
        "scores.csv"
    )
    call = "evaluate --qrels qrels.txt scores.csv"
    out, _ = command(f"{call} --by main --measure ap --segments land")
    assert [row[0] for row in cells(out)[1:]] == ["at", "de"]
    _, err = command(f"{call} --by score", status=2)
    assert "scores.csv" in err  # a run, which has no column of scores


def test_a_table_with_a_column_of_scores_keeps_its_other_columns_beside_judgments(command):
    """A table whose scores are in `score` could be read as a run, which has no further columns."""
    run = pg.read_run("main.run").select("query", "doc", "score")
    land = pl.when(pl.col("query") == "q1").then(pl.lit("de")).otherwise(pl.lit("at"))
    run.with_columns(land=land).write_csv("scored.csv")
    call = "evaluate --qrels qrels.txt scored.csv --measure ap --ties doc"
    expected = column(command(call)[0], "ap")
    for option in ("--query query --doc doc", "--doc none", "--query query --doc none"):
        assert column(command(f"{call} {option}")[0], "ap") == expected
    for option in ("--segments land", "--segments land --cluster land", "--by score"):
        out, _ = command(f"{call} {option}")
        first = ["at", "de"] if "land" in option else ["scored.csv"]
        assert [row[0] for row in cells(out)[1:]] == first
    run.with_columns(score=-pl.col("score"), land=land).write_csv("reversed.csv")
    out, _ = command(call.replace("scored.csv", "scored.csv reversed.csv") + " --segments land")
    assert {row[1] for row in cells(out)[1:]} == {"scored.csv", "reversed.csv"}
    renamed = run.rename({"query": "topic"}).with_columns(model=pl.lit("m"))
    renamed.write_csv("stacked.csv")
    out, _ = command(f"{call.replace('scored', 'stacked')} --query topic --strategy model")
    assert column(out, "ap") == expected


def test_segments_change_neither_names_of_strategies_nor_how_a_run_is_read(command):
    run = pg.read_run("main.run").select("query", doc="doc", points="score", tag="strategy")
    run = run.rename({"points": "score"}).with_columns(land=pl.col("query").str.slice(0, 1))
    run.write_csv("tagged.csv")
    call = "evaluate --qrels qrels.txt tagged.csv --measure ap --ties doc"
    for option in ("", "--named-by file"):
        [_, plain], [_, divided] = (
            cells(command(f"{call} {option} {segments}")[0]) for segments in ("", "--segments land")
        )
        assert divided == ["q", *plain]
    run.with_columns(land=pl.col("doc")).write_csv("tagged.csv")
    _, err = command(f"{call} --segments land", status=2)
    assert "'land' must have one value per query, got several" in err


def test_clusters_that_look_like_numbers_stay_apart(command):
    rows = "query,doc,grade,a,b,c\nq,x,1,1,2,1.1\nq,y,0,2,1,1.1\nr,x,1,1,2,1.10\nr,y,0,2,1,1.10\n"
    Path("clustered.csv").write_text(rows)
    out, _ = command("compare clustered.csv --by a b --cluster c --measure ap")
    assert column(out, "clusters") == [2]


@pytest.mark.parametrize("name", ["doc", "product_id"])
def test_ids_that_look_like_numbers_stay_as_they_are_written(name, command):
    rows = ["1.1,1e5,1,3", "1.1,100000,0,2", "1.10,2.50,0,2", "1.10,2.5,1,1"]
    Path("ids.csv").write_text("\n".join([f"query,{name},grade,score", *rows]))
    command("evaluate ids.csv --measure ap -o values.parquet")
    values = pg.read_results("values.parquet")
    assert values.select("query", "ap").rows() == [("1.1", 1.0), ("1.10", 0.5)]


def test_a_null_query_is_a_query_by_itself(command):
    Path("nulls.csv").write_text("query,doc,grade,score\na,a,1,3\n,c,0,3\n,d,1,2\n")
    out, err = command("evaluate nulls.csv --measure ap")
    assert column(out, "ap") == [0.75]
    assert "measured as one separate query" in err


def test_a_null_segment_has_means(command):
    Path("lands.csv").write_text("query,doc,grade,score,land\na,a,1,3,DE\nb,c,0,3,\nb,d,1,2,\n")
    out, _ = command("evaluate lands.csv --measure ap --segments land")
    assert [row[0] for row in cells(out)[1:]] == ["null", "DE"]
    assert column(out, "ap") == [0.5, 1]


def test_tables_of_several_files_have_the_same_columns_in_any_order(command):
    rows = pl.read_csv("rows.csv")
    first, others = rows.filter(pl.col("query") < 2), rows.filter(pl.col("query") >= 2)
    first.write_csv("first.csv")
    others.select(reversed(rows.columns)).write_csv("others.csv")
    call = "--by main loss --measure ap --ties doc"
    assert command(f"evaluate first.csv others.csv {call}") == command(f"evaluate rows.csv {call}")
    others.drop("noise").write_csv("others.csv")
    _, err = command(f"evaluate first.csv others.csv {call}", status=2)
    assert "others.csv must have the columns of first.csv, which are query, doc, " in err


def test_curves_alone_are_written_and_drawn(command):
    command("evaluate rows.csv --by main --measure dcg_curve@3", status=2)
    out, _ = command("evaluate rows.csv --by main --measure dcg_curve@3 -o curves.parquet")
    assert not out
    assert pg.read_results("curves.parquet")["dcg_curve@3"].list.len().unique().to_list() == [3]
    command("report rows.csv --by main --measure dcg_curve@3 -o curves.html")
    assert "DCG" in Path("curves.html").read_text(encoding="utf-8")


def test_ids_of_each_side_are_shown_if_no_query_is_common(command):
    rewritten("qrels.txt", r"^q", r"topic-")
    _, err = command("evaluate --qrels qrels.txt main.run")
    assert "no query of main.run is in qrels.txt, got 'q0', " in err
    assert "and 'topic-0', " in err


def test_compare_prints_and_writes_what_compare_returns(command):
    needed("vl_convert")
    call = "--measure ap ndcg@10 --baseline main --test permutation --ties doc"
    files = "chart.svg chart.png chart.html paper.tex paper.md values.parquet"
    out, _ = command(f"compare {RUNS} {call} --output {files}")
    values = pg.evaluate(
        judged_runs("main", "noise", "loss"), "ap", "ndcg@10", strategy="strategy", ties="doc"
    )
    assert_values("values.parquet", values)
    options = {"baseline": "main", "test": "permutation"}
    expected = pg.compare(values, **options)
    assert [row[:4] for row in cells(out)[1:]] == [
        [*map(str, row)]
        for row in expected.select("measure", "strategy", "baseline", "queries").rows()
    ]
    for name in ("difference", "ci_low", "ci_high", "p_value", "p_corrected"):
        assert column(out, name) == approximately(expected[name])
    assert out.endswith("Test permutation, correction holm.\n")
    for name, form in (("paper.tex", "latex"), ("paper.md", "markdown")):
        table = pg.paper_table(values, format=form, **options)
        assert Path(name).read_text() == f"{table}\n"
    assert "noise" in Path("chart.svg").read_text()
    assert Path("chart.png").read_bytes().startswith(b"\x89PNG")
    assert "<script src" not in Path("chart.html").read_text()


def test_similarity_has_the_values_of_python(command):
    call = "--measure rbo overlap@5 --ties doc --output values.parquet"
    out, _ = command(f"similarity main.run loss.run {call}")
    runs = pg.read_run(["main.run", "loss.run"])
    expected = pg.similarity(runs, "rbo", "overlap@5", strategy="strategy", ties="doc")
    assert_values("values.parquet", expected)
    means = [expected["rbo"].mean(), expected["overlap@5"].mean()]
    assert column(out, "mean") == approximately(means)
    call = "--baseline main --measure relevant_entered@5 --ties doc"
    out, _ = command(f"similarity {RUNS} {call}")
    judged = judged_runs("main", "noise", "loss")
    options = {"baseline": "main", "strategy": "strategy", "ties": "doc"}
    expected = pg.similarity(judged, "relevant_entered@5", **options)
    means = expected.group_by("strategy", maintain_order=True).agg(pl.mean("relevant_entered@5"))
    assert column(out, "mean") == approximately(means["relevant_entered@5"])


def test_fuse_has_the_values_of_python(command):
    call = "--method weighted_sum --weights 0.3 0.7 --output"
    command(f"fuse main.run loss.run {call} fused.run fused.parquet")
    runs = pg.read_run(["main.run", "loss.run"])
    wide = runs.pivot("strategy", index=["query", "doc"], values="score")
    by, options = ["main", "loss"], {"method": "weighted_sum", "weights": [0.3, 0.7]}
    expected = pg.fuse(wide, by=by, **options)
    assert_frame_equal(pl.read_parquet("fused.parquet"), expected)
    written = pg.read_run("fused.run")
    assert_frame_equal(
        written.select("query", "doc", fused="score"),
        expected.select("query", "doc", "fused"),
        check_row_order=False,
    )
    ranked = written.sort("query", "score", "doc", descending=[False, True, True])
    assert_frame_equal(written, ranked)
    assert written.filter(query="q0")["rank"].to_list() == [*range(1, 21)]
    command(f"fuse rows.csv --by main loss {call} fused.csv")
    rows = pg.fuse(pl.read_csv("rows.csv"), by=by, **options)
    assert_frame_equal(pl.read_csv("fused.csv"), rows)


def test_a_report_is_a_page_of_the_same_results(command):
    needed("vl_convert")
    call = "--measure ap --baseline main --ties doc --title 'Two runs'"
    out, _ = command(f"report {RUNS} {call} -o page.html values.csv")
    assert out == "Report: page.html, values.csv\n"
    assert "<title>Two runs</title>" in Path("page.html").read_text(encoding="utf-8")
    assert pg.read_results("values.csv").columns[:3] == ["strategy", "query", "ap"]


# The gate.


@pytest.fixture
def release(command):
    """The results of the last release, in a file."""
    call = "--measure ndcg@10 n_relevant --ties doc -o release.parquet"
    command(f"evaluate --qrels qrels.txt main.run {call}")
    return "release.parquet"


GATE = "gate --measure ndcg@10 --ties doc --qrels qrels.txt"


@pytest.mark.parametrize(
    ("run", "status", "verdict", "headline"),
    [("noise", 0, "no worse", "passes"), ("loss", 1, "worse", "fails: worse than the baseline")],
)
def test_a_gate_lets_noise_pass_and_stops_a_loss(run, status, verdict, headline, release, command):
    out, _ = command(f"{GATE} {run}.run --baseline {release} -o new.parquet new.md", status)
    assert f"ndcg@10: {run} is {verdict} than main" in out
    new, old = pg.read_results("new.parquet"), pg.read_results(release)
    assert out.splitlines() == pg.gate(new, "ndcg@10", baseline=old)["sentence"].to_list()
    summary = Path("new.md").read_text(encoding="utf-8")
    assert summary.startswith(f"## The gate {headline}\n\n- ndcg@10: {run} is {verdict} than main")
    assert summary.endswith(f"polars_graded {pg.__version__}\n")


def test_the_exit_status_of_a_gate_says_undecided_and_wrong_calls(command, release):
    call = f"{GATE} main.run noise.run --baseline main"
    command(call)
    command(f"{call} --margin 0.0001 -o few.md", status=3)
    assert Path("few.md").read_text().startswith("## The gate is undecided")
    _, err = command(f"{GATE} main.run", status=2)
    assert "--baseline" in err
    _, err = command(f"{call} --margin -1", status=2)
    assert "--margin must be at least 0" in err
    before = Path(release).read_bytes()
    _, err = command(f"{GATE} loss.run --baseline {release} -o {release}", status=2)
    assert "must not be an input" in err
    assert Path(release).read_bytes() == before


def rewritten(file, pattern, replacement):
    """Replace a pattern in the lines of a file."""
    path = Path(file)
    path.write_text(re.sub(pattern, replacement, path.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("change", "options", "allow"),
    [
        ((" 2$", " 5"), "", "--judgments changed"),
        ((r"q[1-9]\d* .*\n", ""), "", "--missing drop"),
        (("", ""), "--ties order", "--scale changed"),
        (("", ""), "--max-grade 9", "--scale changed"),
        (("", ""), "--measure ndcg@10=ndcg(gain=linear)@10", "--formulas changed"),
    ],
)
def test_a_gate_refuses_what_is_not_comparable(change, options, allow, release, command):
    rewritten("qrels.txt", *change)
    defaults = {"--measure": "ndcg@10", "--ties": "doc"} | dict(
        [options.split()] if options else []
    )
    call = [*f"gate --qrels qrels.txt noise.run --baseline {release} -o out.md".split()]
    call += [text for pair in defaults.items() for text in pair]
    _, err = command(shlex.join(call), status=2)
    assert f"{allow} allows it" in err
    # The summary states the refusal, whatever an older one said.
    assert Path("out.md").read_text().startswith("## The gate was refused\n\n- ")
    with suppress(SystemExit):  # whatever the verdict
        main([*call, *allow.split()])
    assert "allowed: " in Path("out.md").read_text()


def list_plan_steps(workflow):
    """Return the shell lines of a workflow of GitHub, as its steps run them."""
    folded_or_not = r"^ +(?:- )?run: (?:>\n((?:  +[^-\s].*\n|  +--.*\n)+)|(.*)\n)"
    steps = re.findall(folded_or_not, workflow, re.MULTILINE)
    return [" ".join((folded or line).split()) for folded, line in steps]


@pytest.mark.slow
def test_the_pipeline_of_the_book_runs_as_it_is_written(tmp_path, monkeypatch):
    """But for what it installs: a program in the place of pip looks at the file alone."""
    page = Path(pg.__file__).parents[1] / "notebooks/book/how-to/gate.md"
    text = page.read_text(encoding="utf-8")
    [release, change] = re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    [workflow] = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    shutil.copy("main.run", "release.run")
    shutil.copy("loss.run", "new.run")
    programs = tmp_path / "programs"
    for name, program in (
        ("programs/pip", 'test "$1" = install && test -f "$2"'),
        ("rank.sh", "cat loss.run"),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
        file.chmod(0o755)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/polars_graded-0.1.0-py3-none-any.whl").touch()
    path = [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))

    def shell(line):
        return subprocess.run(["bash", "-ec", line], check=False).returncode  # noqa: S603, S607

    assert shell(release) == 0
    assert shell(change) == 1
    Path("new.run").unlink()
    steps = list_plan_steps(workflow)
    assert [line.split()[0] for line in steps] == ["pip", "./rank.sh", "python", "test"]
    assert [shell(line) for line in steps] == [0, 0, 1, 0]
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("## ")


# Errors.

OF_ROWS = "compare rows.csv --by main loss --measure ap"
WRONG = {
    "Unknown command": "evaluat",
    "Unknown option": "evaluate --margn 1",
    ": absent.csv": "evaluate absent.csv",
    "there is no file ap@2; --measure ap@2 names": "evaluate rows.csv ap@2 --by main",
    "main.run must be a .csv, .tsv or .parquet file": "evaluate rows.csv main.run",
    "; --qrels FILE reads such lines": "evaluate main.run qrels.txt",
    "there is no file ap; --measure ap": "evaluate ap --qrels qrels.txt main.run",
    "No such file or directory: absent/v.csv": "evaluate -o absent/v.csv",
    "must not be an input": "evaluate rows.csv --by main -o rows.csv",
    "has no column 'score'": "evaluate rows.csv",
    "pass judgments as --qrels, or the column of grades as --grade": "evaluate main.run",
    "got files without rows": "evaluate --qrels qrels.txt blank.run",
    "--qrels must give each value its own name": (
        "evaluate --qrels qrels.txt --qrels qrels.txt main.run"
    ),
    "--columns must give each value its own name, as in NAME=VALUE, got 'known='": (
        "evaluate rows.csv --by main --columns known="
    ),
    "Unknown option: --known. Did you mean --columns known=COLUMN?": (
        "evaluate rows.csv --by main --known seen"
    ),
    "Unknown option: --features. Did you mean --columns features=COLUMN?": (
        "evaluate rows.csv --by main --features=seen"
    ),
    "qrels.run must have each document of a query once, got several of ('q1', 'd1')": (
        "evaluate --qrels qrels.run main.run"
    ),
    "--grade names the column, or pass --qrels": (
        "similarity main.run loss.run --measure relevant_entered@3"
    ),
    "needs runs of several strategies, got only 'main'": "similarity main.run",
    "--qrels needs files of runs": "evaluate --qrels qrels.txt",
    "Unknown option: --max-grade": "similarity rows.csv --max-grade 3",
    "must name files, got the folder 'folder'; 'folder/*'": "evaluate folder",
    "--descending must be true, false": "evaluate rows.csv --descending no",
    "bad.run, line 2": "evaluate --qrels qrels.txt bad.run",
    "empty": "evaluate empty.csv",
    "fuse needs columns of scores, --by old new": "fuse rows.csv -o fused.run",
    "such as overlap@10, got only curves": "similarity --measure overlap_curve@5",
    "such as ndcg@10, got only curves": "compare --measure dcg_curve@5",
    "no column 'main,loss'": "compare rows.csv --by main,loss",
    "no column 'traffic'; it has query, doc, grade, main, noise, loss; --weights names the": (
        f"{OF_ROWS} --weights traffic"
    ),
    "--segments names the column": f"{OF_ROWS} --segments traffic",
    "did you mean 'query'?": f"{OF_ROWS} --cluster quer",
    "'grade' must have one value per query": f"{OF_ROWS} --weights grade",
    "fuse needs a file to write: --output": "fuse rows.csv --by main loss",
    "--grade must name one of several graders with --qrels, got relevance": (
        "evaluate --qrels qrels.txt main.run --grade relevance"
    ),
    "--query must name one column with --qrels": (
        "evaluate --qrels qrels.txt rows.csv --by main --query query doc"
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_an_error_is_one_sentence_without_a_table(sentence, command):
    Path("bad.run").write_text("q1 Q0 d1 1 2 a\nq1 Q0 d2\n")
    Path("qrels.run").write_text("q1 0 d1 1\nq1 0 d1 2\n")
    Path("empty.csv").write_text("")
    Path("blank.run").write_text("\n")
    Path("folder").mkdir()
    out, err = command(WRONG[sentence], status=2)
    assert out == ""
    *warned, error = err.splitlines()
    assert error.startswith("polars-graded: error: ")
    assert sentence in error
    assert all(line.startswith("warning: ") for line in warned)


HINTS = {
    "irrelevant=1 makes 1 irrelevant": "--irrelevant 1 makes 1 irrelevant",
    "cluster=['a', 'b'] counts each": "--cluster a b counts each",
    "cluster= names the column": "--cluster names the column",
    "descending={'Old': False} ranks": "--descending Old=false ranks",
    "leave condensed=True out": "leave --condensed out",
    "undefined_as=None leaves": "--undefined-as none leaves",
    "join_judgments(..., unjudged_below=0) leaves": "--unjudged-below 0 leaves",
    "see 'ap(ties=optimistic)', a {query: {doc: score}}": "",
    # What the command cannot do is left out.
    "ties='order' keeps; overview(frame) counts": "--ties order keeps",
    "missing='drop' leaves; ties='doc' confirms": "--ties doc confirms",
    "by={'a': ['score', 'doc']} names": None,
    ".filter(pl.col('a') == 'x') keeps": None,
    "a mapping names runs: {'a': 'a.run'}": None,
}


@pytest.mark.parametrize("hint", HINTS)
def test_hints_are_options_of_the_subcommand(hint):
    expected = HINTS[hint]
    clause = "" if expected is None else f"; {expected or hint}"
    sentence = "`margin` must be 'ap(ties=optimistic)'"
    message = ValueError(f"{sentence}\n\nHint: {hint}")
    assert write_message(message, "evaluate") == f"{sentence}{clause}"


def test_a_run_has_no_ids_with_tabs(command):
    rows = pl.DataFrame({"query": "q", "doc": ["a\tb", "c"], "s": [1, 2], "t": [2, 1]})
    rows.write_csv("tabs.csv")
    _, err = command("fuse tabs.csv --by s t -o tabs.run", status=2)
    assert "ids without tabs and ends of lines, got ('q', 'a\\tb')" in err
    assert not Path("tabs.run").exists()
    command("fuse tabs.csv --by s t -o fused.csv")


def test_fused_rows_of_stacked_strategies_keep_the_columns_of_documents(command):
    rows = pl.read_parquet("rows.parquet").head(500)
    stacked = rows.unpivot(
        ["main", "loss"], index=["query", "doc", "grade"], variable_name="system"
    )
    stacked.rename({"value": "score"}).with_columns(n=pl.int_range(pl.len())).write_csv("st.csv")
    command("fuse st.csv --strategy system -o fused.csv")
    rows.drop("noise").write_csv("wide.csv")
    command("fuse wide.csv --by main loss -o expected.csv")
    assert_frame_equal(
        pl.read_csv("fused.csv"), pl.read_csv("expected.csv"), check_column_order=False
    )


def test_a_column_with_the_name_of_a_fused_strategy_is_no_score(command):
    rows = "query,doc,system,score,price\n"
    rows += "q,x,price,1,9.5\nq,y,price,2,3.5\nq,x,old,2,9.5\nq,y,old,1,3.5\n"
    Path("price.csv").write_text(rows)
    command("fuse price.csv --strategy system -o fused.csv")
    fused = pl.read_csv("fused.csv")
    assert fused.columns == ["query", "doc", "price", "old", "fused"]
    assert fused["fused"].to_list() == pytest.approx([1 / 61 + 1 / 62] * 2)


def test_a_decimal_comma_has_no_hint_for_python(command):
    Path("comma.csv").write_text('query,doc,grade,old,new\nq,a,1,"1,5",1\nq,b,0,"0,5",2\n')
    _, err = command("evaluate comma.csv --by old new", status=2)
    assert "score 'old' must be a number to rank by, got String" in err
    assert "]" not in err


def test_a_hint_about_grades_below_zero_is_an_option_that_works(command):
    rows = pl.read_parquet("rows.parquet").with_columns(grade=pl.col("grade") - 1)
    rows.write_csv("pooled.csv")
    call = "evaluate pooled.csv --by main --measure judged@10 ap --ties doc"
    _, err = command(call)
    assert "; --unjudged-below 0 leaves these documents unjudged" in err
    _, err = command(f"{call} --unjudged-below 0 -o values.csv")
    assert "below 0" not in err
    judged = rows.with_columns(pl.when(pl.col("grade") >= 0).then("grade"))
    with warnings.catch_warnings(action="ignore"):
        assert_values("values.csv", pg.evaluate(judged, "judged@10", "ap", by="main", ties="doc"))


FUNCTIONS = {
    "evaluate": [pg.evaluate, pg.summarise],
    "compare": [pg.evaluate, pg.compare],
    "gate": [pg.evaluate, pg.gate],
    "report": [pg.evaluate, pg.report],
    "similarity": [pg.similarity, pg.summarise],
    "fuse": [pg.fuse],
}
"""The public functions that each subcommand calls with options."""

OPTIONS_OF_FILES = {"--files", "--named-by", "--output", "--strategy", "--help", "--version"}
OPTIONS_OF_QRELS = {"--qrels", "--unjudged-below"}


@pytest.mark.parametrize("subcommand", FUNCTIONS)
def test_a_subcommand_takes_only_the_options_of_its_functions(subcommand, command):
    listed = {
        name: {*re.findall(r"(?<=\W)--[a-z-]+(?= )", command(f"{name} --help")[0])}
        for name in FUNCTIONS
    }
    arguments = {
        name for function in FUNCTIONS[subcommand] for name in signature(function).parameters
    }
    taken = {f"--{name.replace('_', '-')}" for name in arguments} | OPTIONS_OF_FILES
    taken |= {"--measure"} if "measures" in arguments else set()
    taken |= {"--columns"} if "known" in arguments else set()
    taken |= OPTIONS_OF_QRELS if "grade" in arguments else set()
    # Printed means leave out missing values.
    taken -= {"--missing"} if pg.summarise in FUNCTIONS[subcommand] else set()
    others = set().union(*listed.values()) - taken
    assert listed[subcommand] <= taken
    for option in others:
        assert "Unknown option" in command(f"{subcommand} main.run {option} 1", status=2)[1]


def test_columns_of_documents_are_named_by_one_option(command):
    rows = pl.read_parquet("rows.parquet").with_columns(
        seen=pl.col("query") % 2 == 0,
        popularity=1 / (1 + pl.col("doc").cast(pl.String).str.len_bytes()),
    )
    rows.write_parquet("further.parquet")
    measures = ("coverage_ratio", "novelty@5")
    call = f"evaluate further.parquet --by main --ties doc --measure {' '.join(measures)} --columns"
    command(f"{call} known=seen popularity -o values.csv")
    columns = {"known": "seen", "popularity": "popularity"}
    assert_values("values.csv", pg.evaluate(rows, *measures, by="main", ties="doc", **columns))
    for text in ("known=seen known=doc", "known known"):
        _, err = command(f"{call} {text}", 2)
        assert "--columns must give each value its own name" in err
    help_text = re.sub(r"\W+", " ", command("evaluate --help")[0])
    assert (
        "known coverage_ratio novelty_ratio relative_recall recall_effort a column that"
        in help_text
    )
    _, err = command(f"{call} popularity", 2)
    assert "coverage_ratio needs --columns known, a column that is true for" in err
    _, err = command(f"{call} knwn=seen", 2)
    assert "got 'knwn'; did you mean 'known'?" in err
    _, err = command(f"{call} known=nope popularity", 2)
    assert err.endswith("; --columns known= names the column\n")
    Path("diverse.txt").write_text("1 car d1 2\n1 cat d1 0\n1 cat d7 1\n2 map d2 1\n", "utf-8")
    Path("diverse.run").write_text("1 Q0 d1 1 2 a\n1 Q0 d7 2 1 a\n2 Q0 d3 1 1 a\n", "utf-8")
    measured = "--columns subtopics --measure subtopic_recall@1"
    out, _ = command(f"evaluate diverse.run --qrels diverse.txt {measured}")
    assert column(out, "subtopic_recall@1") == [0.25]  # one of two subtopics of query 1, none of 2


def test_a_table_of_weighted_means_says_so(command):
    rows = pl.read_parquet("rows.parquet").with_columns(searches=pl.col("query") % 7 + 1)
    rows.write_parquet("weighted.parquet")
    for subcommand in ("evaluate", "compare", "similarity"):
        call = f"{subcommand} weighted.parquet --by main loss --ties doc"
        out, _ = command(f"{call} --weights searches")
        assert out.endswith("\nQueries are weighted by searches.\n")
        assert "weighted" not in command(call)[0]


def test_fuse_finds_the_documents_of_stacked_strategies(command):
    rows = pl.read_parquet("rows.parquet").rename({"doc": "product_id"})
    stacked = rows.unpivot(["main", "loss"], index=["query", "product_id"], value_name="score")
    stacked.write_csv("stacked.csv")
    command("fuse stacked.csv --strategy variable -o fused.parquet fused.run")
    expected = pg.fuse(rows, by=["main", "loss"], doc="product_id").select("query", "fused")
    fused = pl.read_parquet("fused.parquet")
    assert_frame_equal(fused.select("query", "fused"), expected, check_row_order=False)
    assert pg.read_run("fused.run").height == rows.height
    stacked.rename({"product_id": "shelf"}).write_csv("stacked.csv")
    call = "fuse stacked.csv -o fused.run --strategy"
    assert "--doc names the column" in command(f"{call} variable", status=2)[1]
    assert "--strategy names the column" in command(f"{call} absent --doc shelf", status=2)[1]


def test_ids_stay_as_they_are_written(command):
    rows = pl.read_parquet("rows.parquet").head(400)
    padded = pl.col("query", "doc").cast(pl.String).str.zfill(3)
    rows.with_columns(padded).write_csv("padded.csv")
    command("evaluate padded.csv --by main loss --measure ap --ties doc -o values.csv")
    written = pl.read_csv("values.csv", infer_schema=False)
    assert written["query"].unique().sort().to_list() == [f"{n:03d}" for n in range(20)]
    expected = pg.evaluate(rows, "ap", by=["main", "loss"], ties="doc")
    assert written["ap"].cast(pl.Float64).to_list() == expected["ap"].to_list()
    # A run and judgments in tables have the same ids.
    scored = rows.with_columns(padded).rename({"main": "score"})
    scored.select("query", "doc", "score", strategy=pl.lit("main")).write_csv("run.csv")
    rows.with_columns(padded).select("query", "doc", "grade").write_csv("judged.csv")
    command("evaluate --qrels judged.csv run.csv --measure ap --ties doc -o of_run.csv")
    of_run = pl.read_csv("of_run.csv", infer_schema=False)
    same = written.filter(strategy="main")
    assert of_run.select("query", "ap").equals(same.select("query", "ap"))


def test_help_names_the_choices(command):
    assert "gate" in command("")[0]
    assert command("--version")[0].strip() == pg.__version__
    words = {*re.findall(r"\w+", command("compare --help")[0])}
    assert {*TESTS, *CORRECTIONS, "error", "drop", "zero"} <= words
    from polars_graded._frames.fusing import Method, Normalisation

    words = {*re.findall(r"\w+", command("fuse --help")[0])}
    assert {*get_args(Method), *get_args(Normalisation)} <= words


# As a program of its own.

PROGRAM = [sys.executable, "-m", "polars_graded"]

FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from polars_graded.__main__ import main
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="bounds the size of files as POSIX does")
def test_a_full_disk_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "folder" / "v.parquet"
    path.parent.mkdir()
    path.write_text("what was there")
    program = [sys.executable, "-c", FULL, "evaluate", "--output", str(path)]
    ended = subprocess.run(program, capture_output=True, check=False, text=True)  # noqa: S603
    assert ended.returncode == 2
    assert "v.parquet could not be written, and is unchanged" in ended.stderr.splitlines()[-1]
    assert [each.read_text() for each in path.parent.iterdir()] == ["what was there"]


@pytest.mark.slow
def test_the_module_runs_in_a_terminal_of_any_encoding(command):
    ended = subprocess.run(  # noqa: S603
        [*PROGRAM, "evaluate"],
        capture_output=True,
        check=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert re.findall(rb"\d\.\d{4}", ended.stdout) == [
        number.encode() for number in re.findall(r"\d\.\d{4}", command("evaluate")[0])
    ]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_output_that_nobody_reads_and_a_full_device():
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(  # noqa: S603
            [*PROGRAM, "evaluate"], stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(  # noqa: S603
        [*PROGRAM, "evaluate"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    assert (ended.returncode, ended.stderr) == (141, b"")
