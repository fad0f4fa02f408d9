"""The command reads frames: from CSV or Parquet to the table, a chart, the report and the gate."""

from __future__ import annotations

import gzip
import re
import warnings

import polars as pl
import pytest
from helpers import needed
from polars.testing import assert_frame_equal

import polars_graded as pg
from polars_graded.__main__ import main
from polars_graded._frames.frame_files import read_frame

LOG = ["--query", "search term", "--grade", "stars", "--doc", "product_id", "--by", "f4", "new=f12"]
MEASURES = ["ndcg@10", "ap", "precision@10"]


@pytest.fixture(scope="module")
def log(data):
    """OHSUMED as the log of a shop: shuffled rows, and columns of other names."""
    frame = pg.read_letor(data / "ohsumed/fold1.testset.txt.gz")
    names = {"query": "search term", "doc": "product_id", "grade": "stars"}
    old = pl.col("f4").rank("ordinal", descending=True).over("query").alias("old place")
    frame = frame.with_columns(pl.col("query", "doc").cast(pl.Int64), old)
    frame = frame.select(*names, "f4", "f12", "old place").rename(names)
    return frame.sample(fraction=1, shuffle=True, seed=3)


def values_of(frame: pl.DataFrame, **options) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pg.DataWarning.ties)
        return pg.evaluate(frame.rename({"product_id": "doc"}), *MEASURES, grade="stars", **options)


@pytest.fixture
def files(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log.write_csv("log.csv")
    log.write_csv("log.tsv", separator="\t")
    log.write_parquet("log.parquet")
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    half = log.height // 2
    log.head(half).write_csv("one.csv")
    log.tail(-half).select(reversed(log.columns)).write_csv("two.csv")
    return tmp_path


KINDS = [["log.csv"], ["log.tsv"], ["log.parquet"], ["log.csv.gz"], ["one.csv", "two.csv"]]


@pytest.mark.parametrize("given", KINDS)
def test_frames_have_the_values_of_evaluate(files, log, given, capsys):
    written = files / "values.parquet"
    main(["--frame", *given, *LOG, "--measure", *MEASURES, "--per-query", str(written)])
    captured = capsys.readouterr()
    expected = values_of(log, query="search term", by={"f4": "f4", "new": "f12"})
    assert_frame_equal(pl.read_parquet(written, columns=expected.columns), expected)
    assert "('f4' in 22, 'new' in 22)" in captured.err
    assert "'product_id' decides which comes first" in captured.err
    for mean in pg.summarise(expected)["mean"]:
        assert f"{mean:.4f}" in captured.out


def test_one_line_leads_to_table_chart_report_and_gate(files, log, capsys):
    needed("vl_convert")
    line = ["--frame", "log.csv", *LOG, "--measure", *MEASURES, "--baseline", "f4"]
    line += ["--gate", "ndcg@10", "--margin", "0.05", "--markdown", "gate.md"]
    line += ["--chart", "chart.svg", "--report", "page.html", "--per-query", "values.csv"]
    with pytest.raises(SystemExit) as ended:
        main(line)
    values = values_of(log, query="search term", by={"f4": "f4", "new": "f12"})
    verdicts = pg.gate(values, "ndcg@10", baseline="f4", margin=0.05)
    assert ended.value.code == {"worse": 1, "undecided": 3}[verdicts["verdict"].item()]
    printed = capsys.readouterr().out
    assert verdicts["sentence"].item() in printed
    assert verdicts["sentence"].item() in (files / "gate.md").read_text()
    chart = (files / "chart.svg").read_text()
    comparison = pg.compare(values, baseline="f4")
    title = pg.charts.comparison_forest(comparison).title["text"]
    assert "".join(title).replace(" ", "") in re.sub("<[^>]*>|\\s", "", chart)
    page = (files / "page.html").read_text()
    assert "broken by product_id, the highest first" in page
    assert "new" in page
    # Results of another day are a baseline, too.
    main([*line[: line.index("--baseline")], "--gate", "ndcg@10", "--baseline", "values.csv"])
    assert "none of 22 queries changed" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["png", "html"])
def test_a_chart_of_means_is_drawn_without_a_baseline(files, kind):
    needed("vl_convert")
    main(["--frame", "log.csv", *LOG, "--measure", "ap", "--chart", f"means.{kind}"])
    drawn = (files / f"means.{kind}").read_bytes()
    assert drawn.startswith(b"\x89PNG" if kind == "png" else b"<!DOCTYPE html>")
    assert kind == "png" or b"https://cdn" not in drawn


@pytest.mark.usefixtures("files")
def test_ranks_are_ranked_the_lowest_first(log):
    given = ["--frame", "log.csv", *LOG[:-3], "--by", "old place", "--measure", *MEASURES]
    main([*given, "--descending", "false", "--per-query", "values.parquet"])
    expected = values_of(log, query="search term", by="old place", descending=False)
    assert_frame_equal(pl.read_parquet("values.parquet", columns=expected.columns), expected)


@pytest.mark.usefixtures("files")
def test_stacked_strategies_and_several_query_columns(log):
    stacked = log.unpivot(
        ["f4", "f12"],
        index=["search term", "product_id", "stars"],
        variable_name="ranker",
        value_name="score",
    ).with_columns(device=pl.col("search term") % 2)
    stacked.write_parquet("stacked.parquet")
    given = ["--frame", "stacked.parquet", "--query", "device", "search term", *LOG[2:6]]
    main([*given, "--strategy", "ranker", "--measure", *MEASURES, "--per-query", "values.parquet"])
    expected = values_of(
        stacked, query=["device", "search term"], strategy="ranker", by="score"
    ).rename({"ranker": "strategy"})
    assert_frame_equal(pl.read_parquet("values.parquet", columns=expected.columns), expected)


REFUSED = {
    "has no column 'score'": ["--frame", "log.csv", *LOG[:6]],
    "has no column 'query'": ["--frame", "log.csv", "--grade", "stars", "--by", "f4"],
    "takes .csv, .tsv (both also as .gz) and .parquet files": ["--frame", "log.xlsx"],
    "a .csv file is read by --frame": ["--letor", "log.csv"],
    "--by needs --frame": ["--by", "f4"],
    "--by takes each name once": ["--frame", "log.csv", *LOG, "f4"],
    "takes true, false or NAME=false, got down": ["--frame", "log.csv", "--descending", "down"],
    "two.csv must have the same columns as other.csv; only one": [
        "--frame",
        "other.csv",
        "two.csv",
        *LOG,
    ],
    "--chart takes a .svg or a .png or a .html file": ["--frame", "log.csv", "--chart", "a.pdf"],
    "--chart needs a measure with one value": ["--measure", "dcg_curve@5", "--chart", "a.svg"],
    "takes one column of a --frame": ["--frame", "log.csv", "--strategy", "f4", "f12"],
    "could not be read": ["--frame", "empty.csv", *LOG],
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_a_frame_cannot_be_is_one_sentence(files, log, sentence, capsys):
    log.rename({"f4": "f5"}).rename({"f12": "f4", "f5": "f13"}).write_csv("other.csv")
    (files / "empty.csv").write_text("")
    arguments = REFUSED[sentence]
    if arguments[1] == "other.csv":
        arguments = [*arguments[:3], *LOG[:6], "--by", "f4"]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert sentence in captured.err
    assert len(captured.err.splitlines()) <= 2


def test_trusted_grades_are_drawn(tmp_path, monkeypatch):
    needed("vl_convert")
    monkeypatch.chdir(tmp_path)
    lines = {"people": [], "model": [], "run": []}
    for query in range(30):
        for doc in range(6):
            grade = (query * doc) % 3
            if query % 3 == 0:
                lines["people"].append(f"q{query} 0 d{doc} {grade}")
            lines["model"].append(f"q{query} 0 d{doc} {(grade + query) % 3}")
            lines["run"].append(f"q{query} Q0 d{doc} 0 {(doc * 7 + query) % 11 + doc / 10} a")
    for name, of_file in lines.items():
        (tmp_path / name).write_text("\n".join(of_file) + "\n")
    given = ["--qrels", "people=people", "--qrels", "model=model", "run", "--measure", "ap"]
    main([*given, "--trusted", "people", "--chart", "both.svg"])
    assert "trusted" in (tmp_path / "both.svg").read_text()


def test_two_columns_can_swap_their_names(tmp_path):
    path = tmp_path / "log.csv"
    pl.DataFrame({"doc": ["x"], "strategy": ["a"], "grade": [1]}).write_csv(path)
    rows = read_frame([str(path)], {"doc": "strategy", "strategy": "doc"})
    assert rows.to_dicts() == [{"strategy": "x", "doc": "a", "grade": 1}]


def test_ids_in_text_files_stay_apart_if_they_are_the_same_number(tmp_path, capsys):
    queries, strategies = tmp_path / "queries.csv", tmp_path / "strategies.tsv"
    queries.write_text(
        "query,doc,grade,score\n001,a,1,.9\n001,b,0,.5\n1,c,1,.9\n1,d,0,.95\n2,01,1,2\n2,1,0,1\n"
    )
    values = tmp_path / "values.csv"
    main(["--frame", str(queries), "--measure", "ap", "--per-query", str(values)])
    assert pg.read_results(values).select("query", "ap").rows() == [
        ("001", 1.0),
        ("1", 0.5),
        ("2", 1.0),
    ]
    rows = (
        "strategy,query,doc,grade,score\n1.1,q,a,1,.9\n1.1,q,b,0,.5\n1.10,q,a,1,.1\n1.10,q,b,0,.5\n"
    )
    strategies.write_text(rows.replace(",", "\t"))
    capsys.readouterr()
    main(["--frame", str(strategies), "--strategy", "strategy", "--measure", "ap"])
    assert re.search(r"1\.1 .*1\.0000.*\n.*1\.10 .*0\.5000", capsys.readouterr().out)


def test_ids_in_text_files_are_numbers_if_nothing_is_lost(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("query,doc,score\n1,7,0.50\n10,8,0.10\n")
    rows = read_frame([str(path)], {}, ["query"])
    assert rows.schema == {"query": pl.Int64, "doc": pl.Int64, "score": pl.Float64}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--frame", "nofile.csv"], "No such file or directory: nofile.csv"),
        (["--chart", "x.pdf"], "--chart"),
        (["--margin", "abc"], "argument --margin: invalid float value: 'abc'"),
        (["--margn", "0.1"], "unrecognized arguments: --margn 0.1"),
    ],
)
def test_the_summary_of_a_gate_states_why_there_is_no_verdict(
    options, reason, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("strategy,query,ap\nold,1,0.5\n")
    (tmp_path / "gate.md").write_text("better")
    with pytest.raises(SystemExit) as stopped:
        main([*options, "--gate", "ap", "--baseline", "old.csv", "--markdown", "gate.md"])
    assert stopped.value.code == 2
    assert reason in (tmp_path / "gate.md").read_text()


@pytest.mark.parametrize("file", ["old.csv", "notes.txt", "old.md"])
@pytest.mark.parametrize(
    "option", ["--frame {}", "--frame={}", "--qrels m={} x.run", "--baseline {}"]
)
def test_a_refusal_overwrites_nothing_but_a_summary(file, option, tmp_path, monkeypatch):
    arguments = option.format(file).split()
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text("strategy,query,ap\nold,1,0.5\n")
    with pytest.raises(SystemExit):
        main([*arguments, "--gate", "ap", "--markdown", file])
    assert (tmp_path / file).read_text() == "strategy,query,ap\nold,1,0.5\n"


def test_a_frame_that_was_cut_off_is_refused(tmp_path):
    """A missing score would otherwise mean that the document was not retrieved."""
    text = "query,doc,grade,score\nq,a,1,0.5\n\nq,b,0,0.25\nq,c,1"
    for name, data in (("x.csv", text.encode()), ("x.csv.gz", gzip.compress(text.encode()))):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(ValueError, match=r"must have 4 values .* got 3 in line 5: 'q,c,1'"):
            read_frame([str(file)], {})
    (tmp_path / "y.csv").write_text('query,doc\n"a, b","c\nd"\n')
    assert read_frame([str(tmp_path / "y.csv")], {}).height == 1


RELATED = """doc,item,grade,score,old
d1,a,2,0.9,0.1
d1,b,0,0.5,0.5
d1,c,1,0.4,0.9
d2,a,0,0.8,0.2
d2,e,1,0.7,0.9
d2,f,2,0.1,0.1
"""


def test_a_needed_column_does_not_give_its_place_to_another(tmp_path, monkeypatch, capsys):
    """The documents of a frame of related items are in `item`, and its queries are documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "related.csv").write_text(RELATED)
    options = ["--doc", "item", "--by", "score", "old", "--ties", "doc", "--measure", "ap"]
    main(["--frame", "related.csv", "--query", "doc", *options])
    assert re.search(r"old\W+2\W+\[0\.8333\]", capsys.readouterr().out)
    (tmp_path / "related.csv").write_text(RELATED.replace("doc,", "query,", 1))
    main(["--frame", "related.csv", "--doc", "item", "--by", "score", "old", "--measure", "ap"])
    assert re.search(r"old\W+2\W+\[0\.8333\]", capsys.readouterr().out)


def test_ids_of_several_files_are_numbers_only_if_all_are(tmp_path):
    for name, ids in (("one.csv", ("1", "1")), ("two.csv", ("1.0", "2.5"))):
        rows = "".join(f"{each},{doc},1,{doc}\n" for doc, each in enumerate(ids))
        (tmp_path / name).write_text(f"user,doc,grade,score\n{rows}")
    files = [str(tmp_path / name) for name in ("one.csv", "two.csv")]
    assert read_frame(files, {}, ["user"])["user"].to_list() == ["1", "1", "1.0", "2.5"]
    assert read_frame(files[:1], {}, ["user"])["user"].to_list() == [1, 1]
    assert read_frame(files[1:], {}, ["user"])["user"].to_list() == [1.0, 2.5]


def test_a_frame_with_quotes_that_was_cut_off_is_refused(tmp_path):
    file = tmp_path / "x.csv"
    text = 'query,doc,title,grade,score\n1,c,"Jam,\nred",1,3\n1,d,"Tea, green",0'
    file.write_text(text)
    with pytest.raises(ValueError, match=r"must have 5 values .* got 4 in line 4"):
        read_frame([str(file)], {})
    file.write_text(f"{text},2\n")
    assert read_frame([str(file)], {})["score"].to_list() == [3, 2]
    for cut in ('query,doc\n1,"c\n', 'query,doc\n1,"c,\nd'):
        file.write_text(cut)
        with pytest.raises(ValueError, match="could not be read"):
            read_frame([str(file)], {})


def test_features_that_are_ranks_are_ranked_as_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = (
        f"{2 if doc < 2 else 0} qid:{query} 1:{doc + 1} 2:{(doc * 7 + query) % 10 / 10}\n"
        for query in range(30)
        for doc in range(10)
    )
    (tmp_path / "ranks.txt").write_text("".join(rows))
    with pytest.raises(SystemExit):
        main(["--letor", "ranks.txt", "--measure", "ap"])
    assert "--descending f1=false ranks the lowest" in capsys.readouterr().err
    main(["--letor", "ranks.txt", "--measure", "ap", "--descending", "f1=false", "f2=true"])
    assert re.search(r"f1\W+30\W+\[1\.0000\]", capsys.readouterr().out)


def test_similarities_of_a_pair_do_not_depend_on_other_pairs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lists = {"A": ("ab", "ab"), "B": ("ab", "ba"), "C": ("cd", "ab")}
    lines = [
        f"{query} Q0 {doc} {rank} {-rank} {name}\n"
        for name, rankings in lists.items()
        for query, docs in enumerate(rankings)
        for rank, doc in enumerate(docs)
    ]
    (tmp_path / "all.run").write_text("".join(lines))
    main(["--similarity", "kendall_tau", "--runs", "all.run"])
    printed = capsys.readouterr().out
    assert re.search(r"A and B\W+2\W+0\.0000", printed)
    assert re.search(r"A and C\W+1\W+1\.0000", printed)
    assert "Queries of a pair without a value are left out: up to 1 of kendall_tau." in printed


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('"query","doc","grade"\n', (0, 3)),
        (f'"query","doc","grade"\n1,"{"z" * 140_000}",2\n', (1, 3)),
        ('query,doc,grade\n1,"a, b",2\n\n\n', (1, 3)),
    ],
)
def test_frames_with_quotes_are_read(tmp_path, text, shape):
    (tmp_path / "x.csv").write_text(text)
    frame = read_frame([str(tmp_path / "x.csv")], {})
    assert (frame.drop_nulls().height, frame.width) == shape


def test_text_columns_of_features_in_parquet_may_differ(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "grade": [1, 0], "f1": [2, 1]})
    rows.with_columns(title=pl.lit("x")).write_parquet("one.parquet")
    rows.with_columns(query=pl.lit("r"), f1=pl.col("f1") / 2).write_parquet("two.parquet")
    main(["--letor", "one.parquet", "two.parquet", "--measure", "ap"])
    assert re.search(r"f1\W+2\W+\[1\.0000\]", capsys.readouterr().out)


def test_clusters_of_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [(term, device, doc) for term in range(30) for device in "abc" for doc in range(4)]
    frame = pl.DataFrame(rows, schema=["term", "device", "doc"], orient="row").with_columns(
        grade=pl.int_range(pl.len()) * 7 % 3, old=(pl.int_range(pl.len()) * 1.7).sin()
    )
    frame.with_columns(new=(pl.col("old") * 99).sin()).write_csv("log.csv")
    call = ["--frame", "log.csv", "--by", "old", "new", "--query", "term", "device"]
    call += ["--measure", "ap", "--baseline", "old"]
    by_term = ["--cluster", "term"]

    def run(*options):
        try:
            main([*call, *options])
        except SystemExit as end:
            return end.code, capsys.readouterr()
        return 0, capsys.readouterr()

    status, printed = run("--gate", "ap")
    assert status == 2
    assert "--cluster term counts all queries" in printed.err
    status, printed = run("--gate", "ap", *by_term, "--per-query", "old.parquet")
    assert status in (0, 1, 3)
    assert "90 queries; 30 independent clusters" in printed.out
    [(_, warned), (_, silent)] = run(), run(*by_term)
    assert warned.err.count("queries are tested as independent") == 1
    assert silent.err == ""
    results = pg.read_results("old.parquet")
    expected = pg.compare(results, "ap", baseline="old", cluster="term")
    assert f"{expected['ci_low'].item():.4f}" in silent.out
    assert f"{expected['ci_low'].item():.4f}" not in warned.out
    _, table = run(*by_term, "--format", "markdown")
    assert "Means of 90 queries in 30 clusters" in table.out
    _, refused = run("--cluster", "market")
    assert "--cluster takes columns of --query, got market; add them to --query" in refused.err
    _, refused = run(*by_term, "--report", "page.html")
    assert "--report tests queries as independent, so it takes no --cluster" in refused.err
