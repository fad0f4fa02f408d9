"""Files of runs and judgments in other formats than TREC's, and comments."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import warnings

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, read_letor, read_qrels, read_run


def write(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


RUN = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"
QRELS = "q1 0 d1 2\nq1 0 d2 0\n"
KINDS = pytest.mark.parametrize(("read", "text"), [(read_qrels, QRELS), (read_run, RUN)])


@KINDS
@pytest.mark.filterwarnings("ignore:.*has no lines:UserWarning")
@pytest.mark.parametrize(
    "comment", ["#", "# pooled depth 100", "  # 1 2 3 4 5", "\t#a", "#q1 0 d1 1", "# x 1 2 3 4"]
)
def test_lines_that_begin_with_a_hash_are_comments(tmp_path, read, text, comment):
    """`# pooled depth 100` was a judgment, and its document decided values."""
    expected = read(text.encode())
    first, second = text.splitlines()
    commented = f"{comment}\n{first}\n{comment}\n\n{comment}\r\n{second}\n{comment}"
    for each in (commented, commented.replace(" ", "\t"), commented.replace("d1", " d1")):
        assert_frame_equal(read(each.encode()), expected)
    path = write(tmp_path, gzip.compress(commented.encode()))
    assert_frame_equal(read(path), expected)
    assert read(comment.encode()).is_empty()


@pytest.mark.parametrize(
    ("written", "rank"), [("1.0", 1), ("-", None), ("first", None), ("1.5", None), ("1e3", None)]
)
@pytest.mark.parametrize("separator", [" ", "\t", "  "])
def test_a_rank_beside_a_score_is_ignored_as_in_trec_eval(written, rank, separator):
    text = f"q1 Q0 d1 {written} 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n".replace(" ", separator)
    expected = [("q1", "d1", 2.5, rank, "bm25"), ("q1", "d2", 1.5, 2, "bm25")]
    assert read_run(text.encode()).rows() == expected


def test_a_run_of_ms_marco_is_ordered_by_its_ranks(tmp_path):
    path = write(tmp_path, "q1\td2\t2\nq1\td1\t1\nq2\td1\t1\n", "msmarco.tsv")
    expected = [
        ("q1", "d2", -2.0, 2, "msmarco.tsv"),
        ("q1", "d1", -1.0, 1, "msmarco.tsv"),
        ("q2", "d1", -1.0, 1, "msmarco.tsv"),
    ]
    assert read_run(path).rows() == expected
    assert read_run({"ours": path})["strategy"].unique().to_list() == ["ours"]
    with warnings.catch_warnings(action="error"):
        both = read_run([path, write(tmp_path, RUN, "trec.run")])
    assert both["strategy"].unique(maintain_order=True).to_list() == ["msmarco.tsv", "bm25"]


def test_a_run_of_colbert_has_ranks_and_scores():
    text = b"q1\td2\t2\t-7\nq1\td1\t1\t23.5\nq2\td1\t1\t1e-3\n"
    expected = [("q1", "d2", -7.0, 2), ("q1", "d1", 23.5, 1), ("q2", "d1", 0.001, 1)]
    assert read_run(text).drop("strategy").rows() == expected
    passages = read_run(b"1\t0\t1\t20.5\n1\t7\t2\t19.5\n")
    assert passages["doc"].to_list() == ["0", "7"]
    with pytest.raises(ValueError, match=r"got \('8', '1.5'\) for query '2'"):
        read_run(b"1\t7\t1\t2.5\n2\t8\t1.5\t3.5\n")


WITHOUT_RANKS = (
    r"must have a document in its second column and its rank in the third, from 1 or 0 on"
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"q1\t0\td7\t1\n", r"read_qrels\(paths\) reads such lines"),
        (b"1102432\t0\t2026790\t1\n", r"read_qrels\(paths\) reads such lines"),
        (b"q1\t1\t1\t1\nq1\t1\t2\t0\n", WITHOUT_RANKS),  # subtopic 1
        (b"q1\td1\t5\t2.5\nq1\td2\t6\t2.0\n", WITHOUT_RANKS),
        (b"q1\td1\t1\t2.5\nq2\td2\t1.5\t2.0\n", WITHOUT_RANKS),
    ],
)
def test_judgments_are_no_run_of_colbert(text, error):
    with pytest.raises(ValueError, match=error):
        read_run(text)


def test_a_run_of_colbert_is_not_called_judgments():
    with pytest.raises(ValueError, match="a line has 6 fields") as error:
        read_run(b"q1 d7 1 23.5\n")  # with blanks
    assert "read_qrels" not in str(error.value)


@pytest.mark.parametrize("separator", ["\t", ","])
def test_tables_may_have_quotes(separator):
    text = '"query","doc","rating"\n"new ""york""","d1",3\n'.replace(",", separator)
    assert read_qrels(text.encode()).rows() == [('new "york"', "d1", 3)]


@pytest.mark.parametrize("numbers", [[12, 11, 10], [5, 5, 4], [1, 1, 2]])
def test_scores_in_place_of_ranks_are_refused(numbers):
    text = "".join(f"q\td{n}\t{number}\n" for n, number in enumerate(numbers))
    with pytest.raises(ValueError, match=WITHOUT_RANKS):
        read_run(text.encode())
    header = f"query\tdoc\tscore\n{text}"
    assert read_run(header.encode())["score"].to_list() == numbers


# JSON


def lines_of(*values) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


SCORED = {"q1": {"d1": 0.5, "d2": 2}, "q2": {"d1": 1}}
LISTED = {"q1": ["d2", "d1"], "q2": ["7"], "q3": []}
RERANKED = [
    {"query": {"text": "dew", "qid": "q1"}, "candidates": [{"docid": "d", "score": 1.5, "doc": {}}]}
]
RECORDS = [{"qid": 1, "docno": "d1", "score": 2}, {"qid": 1, "docno": "d2", "score": 0.5}]
JSON_RUNS = [
    (json.dumps(SCORED), [("q1", "d1", 0.5, None), ("q1", "d2", 2, None), ("q2", "d1", 1, None)]),
    (json.dumps(LISTED), [("q1", "d2", -1, 1), ("q1", "d1", -2, 2), ("q2", "7", -1, 1)]),
    (lines_of(*RECORDS), [("1", "d1", 2, None), ("1", "d2", 0.5, None)]),
    (json.dumps(RECORDS), [("1", "d1", 2, None), ("1", "d2", 0.5, None)]),
    (json.dumps(RERANKED), [("q1", "d", 1.5, None)]),
    (json.dumps({"q1": [{"doc_id": "d", "score": 1.5}]}), [("q1", "d", 1.5, 1)]),
    (lines_of(*RERANKED), [("q1", "d", 1.5, None)]),
    (lines_of({"id": "a", "doc_id": "x", "score": 3}), [("a", "x", 3, None)]),
    (lines_of({"query": "a", "doc": "x", "rank": 3}), [("a", "x", -3, 3)]),
    ("{}", []),
    ("[]", []),
]


@pytest.mark.filterwarnings("ignore:.*has no lines:UserWarning")
@pytest.mark.parametrize(("text", "expected"), JSON_RUNS)
def test_runs_may_be_json(tmp_path, text, expected):
    expected = [(*row, "ours.json") for row in expected]
    for data in (text.encode(), gzip.compress(b"\n" + text.encode())):
        path = write(tmp_path, data, "ours.json")
        assert read_run(path).rows() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps({"q1": {"d1": 2, "d2": 0.5}}), [("q1", "d1", 2), ("q1", "d2", 0.5)]),
        (json.dumps({"q1": {"d1": True}}), [("q1", "d1", 1)]),
        (json.dumps(LISTED), [("q1", "d2", 1), ("q1", "d1", 1), ("q2", "7", 1)]),
        (lines_of({"query_id": "q", "doc_id": "d"}), [("q", "d", 1)]),
        (lines_of({"query-id": "q", "corpus-id": "d", "score": 3}), [("q", "d", 3)]),
    ],
)
def test_judgments_may_be_json(tmp_path, text, expected):
    assert read_qrels(write(tmp_path, text)).rows() == expected
    assert read_qrels(io.StringIO(text)).rows() == expected


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "csv.gz"])
def test_tables_are_read_by_their_names_of_columns(tmp_path, form):
    table = pl.DataFrame({"QID": [1, 2], "docno": ["a, b", "c"], "score": [1.5, 2], "text": "x"})
    path = tmp_path / f"ours.{form}"
    if form == "parquet":
        table.write_parquet(path)
    else:
        text = table.write_csv(separator="\t" if form == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
    name = f"ours.{form}"
    expected = [("1", "a, b", 1.5, None, name), ("2", "c", 2, None, name)]
    assert read_run(path).rows() == expected
    graded = table.rename({"score": "relevance"}).with_columns(relevance=pl.Series([1, 0]))
    assert read_qrels(graded.write_csv().encode()).rows() == [("1", "a, b", 1), ("2", "c", 0)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("query,doc,score\nq,d,1\nq,e,high\n", "a finite number as 'score' .* 'high' in row 2"),
        ("query,doc,score\nq,,1\n", "a value as 'doc' in each row, got None in row 1"),
        ("query,doc,score\nq,d,1\nq,e\n", "a finite number as 'score' .* None in row 2"),
        ("query,doc,bm25\nq,d,1\n", "a column of 'score', got query, doc, bm25"),
        ("query,doc,score\nq,d,1,2\n", "the fields of its header in each line"),
    ],
)
def test_a_malformed_row_of_a_table_is_refused(text, sentence):
    with pytest.raises(ValueError, match=f"^<bytes> must have {sentence}"):
        read_run(text.encode())


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ('{"q": {"d": "high"}}', "'high'"),
        ('{"q": [{"d": 1}]}', "have a column of 'doc', got query, "),
        ('{"q": {"a": 1}', "Expecting ',' delimiter"),
        ('{"q": {"d": 1}} x', "or objects with query, doc and score: Extra data"),
        ('{"q": {"d": {"score": 2.0}}}', "documents must have a score, got objects with score"),
        ('{"q": {"score": 2.0}}', "documents must have a score, got objects with score"),
        ('{"q": "d"}', "a query must have a list or a mapping of documents, got 'd'"),
        ('[{"a": 1}]', "have a column of 'query', got a"),
    ],
)
def test_other_json_is_refused_with_the_forms_that_are_read(text, got):
    with pytest.raises(ValueError, match=f"^<bytes> must .*{re.escape(got)}"):
        read_run(text.encode())


def test_json_may_hold_the_runs_of_strategies():
    runs = {"b": {"q1": {"d": 1}}, "a": {"q1": {"d": 0.5}, "q2": {}}}
    rows = read_run(json.dumps(runs).encode()).select("strategy", "query", "doc", "score").rows()
    assert rows == [("b", "q1", "d", 1), ("a", "q1", "d", 0.5)]
    with pytest.raises(ValueError, match=r": documents must have a grade, got objects$"):
        read_qrels(json.dumps(runs).encode())


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        (pl.Series([1.5, math.nan]), "Float64"),
        (pl.Series([True, False]), "Boolean"),
        (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), None),
        (pl.Series(["a", "b"], dtype=pl.Categorical), None),
        (pl.Series([1, 2]), None),
    ],
)
def test_ids_in_parquet_are_texts_or_whole_numbers(ids, dtype):
    content = io.BytesIO()
    pl.DataFrame({"query": ids, "doc": ["d", "e"], "grade": [1, 0]}).write_parquet(content)
    if dtype is None:
        expected = ids.cast(pl.String).to_list()
        assert read_qrels(content.getvalue())["query"].to_list() == expected
        return
    sentence = f"^<bytes> must have texts or whole numbers as 'query', got {dtype}$"
    with pytest.raises(ValueError, match=sentence):
        read_qrels(content.getvalue())


@pytest.mark.parametrize("first_line", ["q1,d1,9.0", "qid,product_id,points"])
def test_the_hint_for_a_table_shows_the_columns_of_its_header(first_line):
    text = f"{first_line}\nq1,d2,8.0\n"
    with pytest.raises(ValueError, match=r"\n\nHint: the formats are ") as caught:
        read_run(text.encode())
    header = re.search("first line names its columns, such as '(.*?)'", str(caught.value))[1]
    lines = text if "q1" in first_line else text.partition("\n")[2]
    assert read_run(f"{header}\n{lines}".encode())["score"][-1] == 8


def test_lines_of_queries_with_their_documents_are_read():
    """As Sentence Transformers writes predictions."""
    lines = [
        {"query_id": "q1", "query": "dew", "results": [{"corpus_id": "d1", "score": 0.5}]},
        {"query_id": "q2", "query": "sky", "results": []},
        {"query_id": "q3", "query": "ice", "results": [{"corpus_id": n, "score": 1} for n in "ab"]},
    ]
    expected = [("q1", "d1", 0.5), ("q3", "a", 1.0), ("q3", "b", 1.0)]
    for text in ("".join(json.dumps(line) + "\n" for line in lines), json.dumps(lines)):
        run = read_run(text.encode())
        assert run.select("query", "doc", "score").rows() == expected


def test_ratings_with_times_are_no_judgments():
    with pytest.raises(ValueError, match="got times such as 881250949"):
        read_qrels(b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n")


OTHER_LINES = [
    (read_qrels, "2 qid:1 1:3.0 #docid = 7\n", read_letor),
    (read_run, "2 qid:1 1:3.0\n", read_letor),
    (read_qrels, "q Q0 d 1 2.5 bm25\n", read_run),
    (read_run, "q\t0\td\t1\n", read_qrels),
]


@pytest.mark.parametrize(("read", "text", "other"), OTHER_LINES)
def test_lines_of_another_reader_name_it(read, text, other):
    with pytest.raises(
        ValueError, match=rf"\n\nHint: .*; {other.__name__}\(paths\) reads such lines"
    ):
        read(text.encode())
    assert other(text.encode()).height == 1


@pytest.mark.parametrize("form", ["parquet", "gz"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_damaged_file_is_named(tmp_path, form, share):
    path = tmp_path / f"ours.{form}"
    if form == "parquet":
        pl.DataFrame({"query": ["q"] * 99, "doc": range(99), "score": 1.0}).write_parquet(path)
    else:
        path.write_bytes(gzip.compress("".join(f"q Q0 d{n} 1 2 t\n" for n in range(99)).encode()))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} must be a complete "):
        read_run(path)


def test_tags_of_one_ranking_are_not_two_strategies(tmp_path):
    """They were two strategies with AP 1 and 0 of one ranking."""
    path = write(tmp_path, "q1 Q0 d1 1 2 R\nq1 Q0 d2 2 1 NR\nq2 Q0 d1 1 2 R\n")
    with pytest.warns(DataWarning.files, match=r"has the tags 'R', 'NR', .* read as one ranking"):
        assert read_run(path)["strategy"].to_list() == ["file"] * 3
    with warnings.catch_warnings(action="error"):
        assert read_run(path, named_by="file")["strategy"].to_list() == ["file"] * 3
        assert read_run({"ours": path})["strategy"].to_list() == ["ours"] * 3
        stacked = read_run(b"q1 Q0 d1 1 2 a\nq1 Q0 d1 1 3 b\n")
    assert stacked["strategy"].to_list() == ["a", "b"]


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


@pytest.mark.parametrize("text", ["query,doc,grade\nq,d,{}\n", '{{"q": {{"d": {}}}}}'])
def test_a_grade_in_a_table_or_in_json_is_exact_or_refused(text):
    """9007199254740993 was read as 9007199254740992."""
    assert read_qrels(text.format(2**53 - 1).encode())["grade"].item() == 2**53 - 1
    sentence = "must have a finite number with a magnitude below 9007199254740992 as 'grade'"
    with pytest.raises(ValueError, match=f"^<bytes> {sentence} in each row, got "):
        read_qrels(text.format(2**53 + 1).encode())


@KINDS
@pytest.mark.parametrize("separator", ["  ", "\t", " \t ", "\t\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \r\r\n\n", "\t\n  "])
def test_blanks_around_fields_and_ends_of_lines_make_no_difference(read, text, separator, end):
    other = text.replace(" ", separator).replace("\n", end)
    assert_frame_equal(read(other.encode()), read(text.encode()))


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n"])
@pytest.mark.parametrize("header", ["query,score,doc", "query,doc,score", '"query","doc","score"'])
def test_ends_of_lines_are_no_part_of_the_last_field_of_a_table(header, end):
    """Python's csv writes two CR on Windows unless a file is opened with `newline=""`."""
    row = "1,2,a" if header.endswith("doc") else "1,a,2"
    run = read_run(f"{header}{end}{row}{end}{end}".encode())
    assert run.select("query", "doc", "score").rows() == [("1", "a", 2.0)]
    assert read_qrels(f"query,doc{end}1,a{end}".encode())["doc"].item() == "a"


@pytest.mark.parametrize("text", [b" \r \n", b"\r\n\r", b"\t\r\t"])
def test_a_file_of_blank_lines_is_empty(text):
    assert read_qrels(io.BytesIO(text)).is_empty()


def test_only_blanks_and_tabs_separate_the_fields_that_an_error_counts():
    with pytest.raises(ValueError, match=r"a line has 4 fields, .*, got 3: "):
        read_qrels("q1 0 d1 1\nq1 0 d\u2028e\u00a0f\n".encode())


def test_a_comment_hides_no_row_behind_a_return():
    content = b"# c\rq1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n"
    for text in (content, content.replace(b"\n", b"\r")):
        with pytest.raises(ValueError, match=r"line 1: a line ends in"):
            read_run(io.BytesIO(text))


def test_only_blanks_separate_the_fields_of_a_table_of_blanks():
    content = b"query  doc score \nq1 a\x0bb   2\n"
    assert read_run(io.BytesIO(content)).row(0)[:2] == ("q1", "a\x0bb")
