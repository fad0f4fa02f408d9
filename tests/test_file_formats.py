"""Files of runs and judgments in other formats than TREC's, and comments."""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings

import polars as pl
import pytest
from helpers import COLLECTED
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, read_letor, read_qrels, read_run, scan_qrels, scan_run
from polars_graded._frames import files


def write(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# Comments


RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"
QRELS = "q1 0 d1 2\nq1 0 d2 0\n"
KINDS = pytest.mark.parametrize(
    ("read", "scan", "text"), [(read_qrels, scan_qrels, QRELS), (read_run, scan_run, RUN)]
)


@KINDS
@pytest.mark.parametrize(
    "comment", ["#", "# pooled depth 100", "  # 1 2 3 4 5", "\t#a", "#q1 0 d1 1", "# x 1 2 3 4"]
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_lines_that_begin_with_a_hash_are_comments(
    tmp_path, monkeypatch, read, scan, text, comment, size
):
    """`# pooled depth 100` was a judgment, and its document decided values."""
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    expected = read(text.encode())
    first, second = text.splitlines()
    commented = f"{comment}\n{first}\n{comment}\n\n{comment}\r\n{second}\n{comment}"
    for each in (commented, commented.replace(" ", "\t"), commented.replace("d1", " d1")):
        assert_frame_equal(read(each.encode()), expected)
    path = write(tmp_path, gzip.compress(commented.encode()))
    lazy = scan(path).collect()
    assert_frame_equal(lazy, expected, check_dtypes=False)
    assert read(comment.encode()).is_empty()


# Ranks that are no numbers


@pytest.mark.parametrize(
    ("written", "rank"), [("1.0", 1), ("-", None), ("first", None), ("1.5", None), ("1e3", None)]
)
@pytest.mark.parametrize("separator", [" ", "\t", "  "])
def test_a_rank_beside_a_score_is_ignored_as_in_trec_eval(written, rank, separator):
    text = f"q1 Q0 d1 {written} 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n".replace(" ", separator)
    expected = [("q1", "d1", 2.5, rank, "bm25"), ("q1", "d2", 1.5, 2, "bm25")]
    assert read_run(text.encode()).rows() == expected


# MS MARCO


def test_a_run_of_ms_marco_is_ordered_by_its_ranks(tmp_path):
    path = write(tmp_path, "q1\td2\t2\nq1\td1\t1\nq2\td1\t1\n", "msmarco.tsv")
    expected = [
        ("q1", "d2", -2.0, 2, "msmarco.tsv"),
        ("q1", "d1", -1.0, 1, "msmarco.tsv"),
        ("q2", "d1", -1.0, 1, "msmarco.tsv"),
    ]
    assert read_run(path).rows() == scan_run(path).collect().rows() == expected
    assert read_run({"ours": path})["strategy"].unique().to_list() == ["ours"]
    with warnings.catch_warnings(action="error"):
        both = read_run([path, write(tmp_path, RUN, "trec.run")])
    assert both["strategy"].unique(maintain_order=True).to_list() == ["msmarco.tsv", "bm25"]


@pytest.mark.parametrize("numbers", [[12, 11, 10], [5, 5, 4], [1, 1, 2]])
def test_scores_in_place_of_ranks_are_refused(numbers):
    text = "".join(f"q\td{n}\t{number}\n" for n, number in enumerate(numbers))
    with pytest.raises(ValueError, match="must have a rank in its last column, from 1 or 0 on"):
        read_run(text.encode())
    header = f"query\tdoc\tscore\n{text}"
    assert read_run(header.encode())["score"].to_list() == numbers


# JSON


def lines_of(*values) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


SCORED = {"q1": {"d1": 0.5, "d2": 2}, "q2": {"d1": 1}}
LISTED = {"q1": ["d2", "d1"], "q2": [7], "q3": []}
RESULTS = [
    {"query_id": "q1", "query": "a", "results": [{"corpus_id": "d2", "score": 2, "text": "t"}]},
    {"query_id": "q2", "query": "b", "results": []},
]
RECORDS = [{"qid": 1, "docno": "d1", "score": 2}, {"qid": 1, "docno": "d2", "score": 0.5}]
RERANKED = [{"query": {"qid": "q1", "text": "a"}, "candidates": [{"docid": "d", "score": 1.5}]}]
JSON_RUNS = [
    (json.dumps(SCORED), [("q1", "d1", 0.5, None), ("q1", "d2", 2, None), ("q2", "d1", 1, None)]),
    (json.dumps(LISTED), [("q1", "d2", -1, 1), ("q1", "d1", -2, 2), ("q2", "7", -1, 1)]),
    (lines_of({"q1": {"d": 1}}, {"q2": ["e"]}), [("q1", "d", 1, None), ("q2", "e", -1, 1)]),
    (lines_of(*RESULTS), [("q1", "d2", 2, 1)]),
    (lines_of(*RECORDS), [("1", "d1", 2, None), ("1", "d2", 0.5, None)]),
    (json.dumps(RECORDS), [("1", "d1", 2, None), ("1", "d2", 0.5, None)]),
    (json.dumps(RERANKED), [("q1", "d", 1.5, 1)]),
    (lines_of({"query": "a", "retrieved": ["x", "y"]}), [("a", "x", -1, 1), ("a", "y", -2, 2)]),
    (lines_of({"query": "a", "doc": "x", "rank": 3}), [("a", "x", -3, 3)]),
    ("{}", []),
    ("[]", []),
]


@pytest.mark.parametrize(("text", "expected"), JSON_RUNS)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_runs_may_be_json(tmp_path, monkeypatch, text, expected, size):
    monkeypatch.setattr(files, "BLOCK_BYTES", size)
    expected = [(*row, "ours.json") for row in expected]
    for data in (text.encode(), gzip.compress(b"\n" + text.encode())):
        path = write(tmp_path, data, "ours.json")
        assert read_run(path).rows() == scan_run(path).collect().rows() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"q1": {"d1": 2, "d2": 0.5}}), [("q1", "d1", 2), ("q1", "d2", 0.5)]),
        (json.dumps({"q1": {"d1": True}}), [("q1", "d1", 1)]),
        (json.dumps(LISTED), [("q1", "d2", 1), ("q1", "d1", 1), ("q2", "7", 1)]),
        (lines_of({"query_id": "q", "doc_id": "d"}), [("q", "d", 1)]),
        (lines_of({"query-id": "q", "corpus-id": "d", "score": 3}), [("q", "d", 3)]),
        (lines_of({"query": "q", "relevant": ["d", "e"]}), [("q", "d", 1), ("q", "e", 1)]),
    ],
)
def test_judgments_may_be_json(tmp_path, text, expected):
    path = write(tmp_path, text)
    assert read_qrels(path).rows() == scan_qrels(path).collect().rows() == expected
    assert read_qrels(io.StringIO(text)).rows() == expected


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ('{"q": {"d": null}}', "1 of 1 values of 'score' that are missing or not finite"),
        ('{"q": [{"d": 1}]}', "'doc' of type dict"),
        ('{"q": {"a": 1}, "q": {"a": 2}}', "'q' twice"),
        ('{"version": 2, "q": {"a": 1}}', "objects without 'query'"),
        ('{\n"version": 2, "q": {"a": 1}}', "int for 'version'"),
        ('{"q": {"a": 1}', "Expecting ',' delimiter"),
    ],
)
def test_other_json_is_refused_with_the_forms_that_are_read(text, got):
    forms = "{query: {doc: score}}, {query: [doc, ...]}, or objects with query, doc and score"
    sentence = f"<bytes> must be JSON such as {forms}, got {got}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        read_run(text.encode())


def test_a_line_that_is_no_json_is_named(tmp_path):
    for text in ('{"q": {"a": 1}}\n{"r": {"a"\n', '{"qid": 1, "docid": 2, "score": 3}\n\n{"qid"\n'):
        number = 2 + ("qid" in text)
        with pytest.raises(ValueError, match=f"^<bytes>, line {number} must be JSON such as"):
            read_run(text.encode())
        with pytest.raises(COLLECTED, match=f"line {number} must be JSON such as"):
            scan_run(write(tmp_path, text)).collect()


@pytest.mark.parametrize("read", [read_run, read_qrels])
@pytest.mark.parametrize(
    ("separator", "header"),
    [*((each, "") for each in ",;\t "), *((each, "query doc {}\n") for each in ",;")],
)
def test_the_hint_for_a_table_reads_it(tmp_path, read, separator, header):
    number = "score" if read is read_run else "grade"
    text = (header.format(number) + "q1 d1 0.5\nq1 d2 2.5\n").replace(" ", separator)
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match="Hint: ") as error:
        read(path)
    call = str(error.value).split(f"columns query, doc and {number}: ")[1]
    expected = {"query": ["q1", "q1"], "doc": ["d1", "d2"], number: [0.5, 2.5]}
    assert eval(call).to_dict(as_series=False) == expected  # noqa: S307


@pytest.mark.parametrize("read", [read_run, read_qrels, read_letor])
def test_parquet_is_refused_with_the_call_that_reads_it(tmp_path, read):
    path = tmp_path / "table"
    pl.DataFrame({"query": ["q1"]}).write_parquet(path)
    hint = re.escape("got a Parquet file\n\nHint: join_judgments and evaluate take pl.read_par")
    with pytest.raises(ValueError, match=hint):
        read(path)


def test_times_are_no_grades():
    """Lines of MovieLens' u.data are user, item, rating and time."""
    with pytest.raises(ValueError, match=r"got times such as 881250949\n\nHint: .* 'time'\]\)$"):
        read_qrels(b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    assert read_qrels(b"196 0 242 3\n186 0 302 891717742\n").height == 2


# Several tags in a file


PARTS = "q1 Q0 d1 1 2 R\nq1 Q0 d2 2 1 NR\n"
ONE_RANKING = (
    "the lines of {} for query 'q1' have the tags 'R', 'NR', and no document is under two tags, as "
    "in one ranking; "
)
READERS = pytest.mark.parametrize("read", [read_run, lambda *a, **k: scan_run(*a, **k).collect()])


@READERS
def test_tags_of_one_ranking_are_not_two_strategies(tmp_path, read):
    """They were two strategies with AP 1 and 0 of one ranking."""
    path = write(tmp_path, PARTS + "q2 Q0 d1 1 2 R\n")
    decision = "they are read as one ranking\n\nHint: named_by='file' confirms this"
    said = ONE_RANKING.format(path) + decision
    with pytest.warns(DataWarning.files, match=f"^{re.escape(said)}$") as caught:
        assert read(path)["strategy"].to_list() == ["file"] * 3
    assert len(caught) == 1
    with pytest.warns(DataWarning.files, match=f"^{re.escape(said)}$") as caught:
        several = read([path, write(tmp_path, RUN, "other.run")])
    assert len(caught) == 1
    assert several["strategy"].to_list() == [*["file"] * 3, "bm25", "bm25"]
    with warnings.catch_warnings(action="error"):
        assert read(path, named_by="file")["strategy"].to_list() == ["file"] * 3
        assert read({"ours": path})["strategy"].to_list() == ["ours"] * 3


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_qrels, "new york\t0\tthe big apple\t1\n"),
        (read_qrels, "# c\nnew york\t 0 \tthe big apple \t1\n\nnew york\t0\tfig\t2\n"),
        (read_qrels, "query-id\tcorpus-id\tscore\nnew york\tthe big apple\t1\n"),
        (read_run, "new york\tthe big apple\t1\n"),
        (read_run, "new york\tQ0\tthe big apple\t1\t  0.5\trun a\n"),
        (read_run, "new york\tQ0\tthe big apple\t-\t0.5\trun a\tb\n"),
    ],
)
def test_ids_between_tabs_keep_their_blanks(read, text):
    rows = read(text.encode())
    assert rows.select("query", "doc").row(0) == ("new york", "the big apple")
    if "0.5" in text:
        assert rows["strategy"].to_list() == ["run"]  # a word, as in trec_eval
