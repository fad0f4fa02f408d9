"""Reading TREC and LETOR files, and joining a run with judgments."""

from __future__ import annotations

import gzip
import re
import warnings

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from polars_graded import judge, read_letor, read_qrels, read_run

QRELS = "301 0 FBIS3-1 2\n301 0 FBIS3-2 0\n"
RUN = "301 Q0 FBIS3-1 1 2.5 bm25\n301 Q0 FBIS3-9 2 1.5 bm25\n"
LETOR = "2 qid:1 1:3.0 2:0.5 #docid = 40626\n0 qid:1 1:1.0 2:0.25 #docid = 7612\n"

READERS = pytest.mark.parametrize(
    ("read", "text"), [(read_qrels, QRELS), (read_run, RUN), (read_letor, LETOR)]
)


@pytest.fixture
def write(tmp_path):
    """Write a file of text or bytes, and return its path."""

    def to_file(content: str | bytes, name: str = "file.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


# What every reader does


@READERS
def test_gzip_is_told_by_content_and_reads_as_plain_text(write, read, text):
    plain = read(write(text, "named.gz"))
    assert plain.height == 2
    assert_frame_equal(read(write(gzip.compress(text.encode()), "named.txt")), plain)


@READERS
def test_a_path_may_be_a_string(write, read, text):
    path = write(text)
    assert_frame_equal(read(str(path)), read(path))


@READERS
def test_many_files_come_one_after_the_other_in_the_order_given(write, read, text):
    first, second = (write(line, name) for line, name in zip(text.splitlines(), "za", strict=True))
    whole = read(write(text))
    assert_frame_equal(read([first, second]), whole)
    assert_frame_equal(read((second, str(first))), whole.reverse())


@READERS
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(lambda text: text.rstrip("\n"), id="no final newline"),
        pytest.param(lambda text: text.replace("\n", "\r\n").rstrip("\n"), id="final return"),
        pytest.param(lambda text: "\n \n" + text.replace("\n", "\n\t\r\n\n"), id="blank lines"),
        pytest.param(lambda text: text.replace("\n", " \t\n "), id="blanks around a line"),
        pytest.param(lambda text: "\ufeff" + text, id="byte-order mark"),
        pytest.param(lambda text: text.replace(" ", "\t"), id="tabs"),
        pytest.param(lambda text: text.replace(" ", " \t  "), id="several blanks"),
    ],
)
def test_layout_of_the_text_does_not_matter(write, read, text, change):
    assert_frame_equal(read(write(change(text))), read(write(text)))


@READERS
@pytest.mark.parametrize("text_without_rows", ["", "\n", " \r\n\n", "\ufeff"])
def test_a_file_without_rows_is_an_empty_frame_of_the_same_columns(
    write, read, text, text_without_rows
):
    empty = read(write(text_without_rows))
    filled = read(write(text)).select(pl.exclude("f1", "f2"))
    assert_frame_equal(empty, filled.clear())


@READERS
def test_a_file_without_rows_adds_nothing_to_another(write, read, text):
    empty, filled = write("", "empty.txt"), write(text)
    assert_frame_equal(read([empty, filled, empty]), read(filled))


@READERS
def test_identifiers_are_kept_as_they_are_written(write, read, text):
    doc = "\"007'é文書\u00a0x,"
    odd = text.replace("FBIS3-1", doc).replace("40626", doc)
    odd = odd.replace("301", "007").replace("qid:1", "qid:007")
    frame = read(write(odd))
    assert frame.row(0)[:2] == ("007", doc)
    assert frame["query"].to_list() == ["007", "007"]


@READERS
def test_lines_keep_their_order_in_a_long_file(write, read, text):
    line = text.splitlines()[0]
    docs = [str(i * 7919 % 10_007) for i in range(10_007)]
    many = "\n".join(line.replace("FBIS3-1", doc).replace("40626", doc) for doc in docs)
    assert read(write(many))["doc"].to_list() == docs


@READERS
def test_no_file_at_all_is_refused(read, text):
    del text
    with pytest.raises(ValueError, match=r"^`paths` must name at least one file, got none$"):
        read([])


@READERS
def test_a_missing_file_is_named(write, tmp_path, read, text):
    with pytest.raises(FileNotFoundError, match=r"absent\.txt"):
        read([write(text), tmp_path / "absent.txt"])


@READERS
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_text_that_is_not_utf8_is_refused(write, read, text, compress):
    line = text.splitlines()[0].encode()
    path = write(compress(b"\n".join([line, b"", line + b"caf\xe9", line])))
    sentence = f"{path}, line 3: text must be UTF-8, got byte 0xe9: '{line.decode()}caf\ufffd'"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        read(path)


@READERS
def test_a_malformed_line_is_counted_with_blank_lines_in_its_own_file(write, read, text):
    good, bad = write(text, "good.txt"), write(f"\n{text}\r\nnonsense\nmore", "bad.txt")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(bad))}, line 5: .*: 'nonsense'$"):
        read([good, bad])


@READERS
def test_the_first_malformed_line_is_reported_far_into_a_file(write, read, text):
    line = text.splitlines()[0]
    lines = [line] * 9000
    lines[7000] = lines[8000] = f"x {line}"
    path = write("\n".join(lines))
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}, line 7001: "):
        read(path)


@READERS
def test_a_long_malformed_line_is_shortened(write, read, text):
    del text
    path = write("é" * 300)
    with pytest.raises(ValueError, match=r": 'é{200}\.\.\.'$"):
        read(path)


# Judgments


def test_a_judgment_is_a_query_a_document_and_a_grade(write):
    expected = pl.DataFrame(
        {"query": ["301", "301"], "doc": ["FBIS3-1", "FBIS3-2"], "grade": [2, 0]}
    )
    assert_frame_equal(read_qrels(write(QRELS)), expected)


@pytest.mark.parametrize(
    ("written", "grades"),
    [
        ("1 -1", pl.Series([1, -1], dtype=pl.Int64)),
        ("1.0 2e0", pl.Series([1, 2], dtype=pl.Int64)),
        ("+1 -0.0", pl.Series([1, 0], dtype=pl.Int64)),
        ("1 0.5", pl.Series([1.0, 0.5], dtype=pl.Float64)),
        ("1 1e300", pl.Series([1.0, 1e300], dtype=pl.Float64)),
    ],
)
@pytest.mark.parametrize(
    ("read", "line"), [(read_qrels, "q 0 d {}"), (read_letor, "{} qid:q 1:1 #docid = d")]
)
def test_grades_are_whole_numbers_unless_one_is_not(write, read, line, written, grades):
    paths = [write(line.format(grade), grade) for grade in written.split()]
    assert_series_equal(read(paths)["grade"], grades.alias("grade"))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("301 0 FBIS3-1", "a judgment has 4 fields, query iteration doc grade, got 3"),
        ("301 0 FBIS3-1 1 x", "a judgment has 4 fields, query iteration doc grade, got 5"),
        ("301", "a judgment has 4 fields, query iteration doc grade, got 1"),
        ("301 0 FBIS3-1 high", "a grade is a finite number, got 'high'"),
        ("301 0 FBIS3-1 nan", "a grade is a finite number, got 'nan'"),
        ("301 0 FBIS3-1 -inf", "a grade is a finite number, got '-inf'"),
        ("301 0 FBIS3-1 1e999", "a grade is a finite number, got '1e999'"),
        ("301 0 FBIS3-1 1_0", "a grade is a finite number, got '1_0'"),
    ],
)
def test_a_malformed_judgment_is_refused(write, line, complaint):
    path = write(f"{QRELS}{line}\n{QRELS}")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}, line 3: {complaint}: {line!r}')}$"
    ):
        read_qrels(path)


# Runs


def test_a_retrieved_document_has_score_rank_and_strategy(write):
    expected = pl.DataFrame(
        {
            "query": ["301", "301"],
            "doc": ["FBIS3-1", "FBIS3-9"],
            "score": [2.5, 1.5],
            "rank": [1, 2],
            "strategy": ["bm25", "bm25"],
        }
    )
    assert_frame_equal(read_run(write(RUN)), expected)


def test_scores_and_ranks_may_be_negative(write):
    frame = read_run(write("301 Q0 d -1 -1.5e-3 tag"))
    assert frame.row(0) == ("301", "d", -0.0015, -1, "tag")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "301 Q0 d 1 2.5",
            "a retrieved document has 6 fields, query Q0 doc rank score tag, got 5",
        ),
        ("301 Q0 d 1.0 2.5 tag", "a rank is a whole number, got '1.0'"),
        ("301 Q0 d first 2.5 tag", "a rank is a whole number, got 'first'"),
        ("301 Q0 d 1 NaN tag", "a score is a finite number, got 'NaN'"),
        ("301 Q0 d 1 inf tag", "a score is a finite number, got 'inf'"),
        ("301 Q0 d 1 2,5 tag", "a score is a finite number, got '2,5'"),
        ("301 Q0 d first high tag", "a rank is a whole number, got 'first'"),
    ],
)
def test_a_malformed_line_of_a_run_is_refused(write, line, complaint):
    path = write(f"{RUN}{line}\n{RUN}")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}, line 3: {complaint}: {line!r}')}$"
    ):
        read_run(path)


def test_the_first_bad_line_comes_before_the_first_rule(write):
    path = write("301 Q0 d 1 high tag\n301 Q0 d 1\n")
    with pytest.raises(ValueError, match="line 1: a score is a finite number, got 'high'"):
        read_run(path)


# LETOR


def test_a_letor_line_is_a_graded_document_with_its_features(write):
    expected = pl.DataFrame(
        {
            "query": ["1", "1"],
            "doc": ["40626", "7612"],
            "grade": [2, 0],
            "f1": [3.0, 1.0],
            "f2": [0.5, 0.25],
        }
    )
    assert_frame_equal(read_letor(write(LETOR)), expected)


def test_features_come_in_any_order_and_are_zero_where_they_are_left_out(write):
    first = write("0 qid:1 3:0.3 1:-1e-1\n0 qid:1\n", "first.txt")
    second = write("0 qid:2 5:5 01:1\n", "second.txt")
    frame = read_letor([first, second])
    assert frame.select("^f.*$").rows() == [
        (-0.1, 0.0, 0.3, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0, 0.0, 5.0),
    ]


def test_documents_without_any_feature_are_read(write):
    frame = read_letor(write("1 qid:1\n0 qid:1 #docid = x\n"))
    assert_frame_equal(
        frame, pl.DataFrame({"query": ["1", "1"], "doc": ["1", "x"], "grade": [1, 0]})
    )


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("#docid = GX01", "GX01"),
        ("#docid=GX01", "GX01"),
        ("#\tdocid  =GX01", "GX01"),
        ("# docid = GX01 inc = 1 prob = 0.5", "GX01"),
        ("# inc = 1 docid = GX01", "GX01"),
        ("#docid = a#b:c=d", "a#b:c=d"),
        ("# other", "1"),
        ("# mydocid = 7", "1"),
        ("#docid = ", "1"),
        ("#", "1"),
        ("", "1"),
    ],
)
def test_the_document_is_in_the_comment_or_else_the_line_number(write, comment, doc):
    assert read_letor(write(f"1 qid:1 1:2 {comment}"))["doc"].item() == doc


def test_a_comment_may_follow_without_a_blank(write):
    frame = read_letor(write("1 qid:1#docid = a\n1 qid:1 1:2#docid = b\n"))
    assert frame.rows() == [("1", "a", 1, 0.0), ("1", "b", 1, 2.0)]


def test_line_numbers_count_every_line_and_go_on_through_all_files(write):
    first = write("# made by hand\n1 qid:1 1:1\n\n0 qid:1 1:2\n\n", "first.txt")
    second = write("  # and by hand\n1 qid:1 1:3", "second.txt")
    assert read_letor([first, second])["doc"].to_list() == ["2", "4", "7"]
    assert read_letor(second)["doc"].to_list() == ["2"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("2 1:0.5 #docid = 1", "a line begins with a grade and qid:query"),
        ("2 1:0.5 qid:1", "a line begins with a grade and qid:query"),
        ("2 qid:", "a line begins with a grade and qid:query"),
        ("2 qid: 1:0.5", "a line begins with a grade and qid:query"),
        ("2", "a line begins with a grade and qid:query"),
        ("2 # qid:1", "a line begins with a grade and qid:query"),
        ("qid:1 1:0.5", "a line begins with a grade and qid:query"),
        ("x qid:1 1:0.5", "a grade is a finite number, got 'x'"),
        ("nan qid:1 1:0.5", "a grade is a finite number, got 'nan'"),
        ("inf qid:1 1:0.5", "a grade is a finite number, got 'inf'"),
        ("1 qid:1 2:1 2:1", "a line has a feature once, got number 2 again"),
        ("1 qid:1 3:1 2:1 03:2", "a line has a feature once, got number 3 again"),
    ],
)
def test_a_malformed_letor_line_is_refused(write, line, complaint):
    path = write(f"{LETOR}{line}\n{LETOR}")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}, line 3: {complaint}: {line!r}')}$"
    ):
        read_letor(path)


@pytest.mark.parametrize(
    "feature",
    ["0:1", "-2:1", "65536:1", "1.5:1", "x:1", ":1", "2:", "2", "2:nan", "2:inf", "2:1:1", "q:2"],
)
def test_a_malformed_feature_is_refused(write, feature):
    line = f"1 qid:1 1:0.5 {feature} 3:1"
    path = write(f"{LETOR}{line}\n{LETOR}")
    sentence = (
        f"{path}, line 3: a feature is number:value, a number from 1 to 65535 and a finite value,"
        f" got '{feature}': '{line}'"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        read_letor(path)


@pytest.mark.parametrize("first", ["2 1:0.5", "x qid:1", "1 qid:1 0:1", "1 qid:1 2:1 2:1"])
@pytest.mark.parametrize("second", ["2 1:0.5", "x qid:1", "1 qid:1 0:1", "1 qid:1 2:1 2:1"])
def test_the_first_malformed_letor_line_is_reported_whatever_its_fault(write, first, second):
    path = write(f"{LETOR}{first}\n{second}\n")
    with pytest.raises(ValueError, match=f"line 3: .*: {re.escape(repr(first))}$"):
        read_letor(path)


# Judging


def frame_of(columns: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


JUDGMENTS = frame_of("query doc grade", ("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d1", 1))
RETRIEVED = frame_of("query doc score", ("q1", "d9", 0.4), ("q1", "d1", 0.9))
TWO = frame_of(
    "strategy query doc score",
    ("b", "q1", "d1", 0.9),
    ("a", "q2", "d1", 0.8),
    ("b", "q2", "d7", 0.7),
    ("b", "q1", "d2", 0.6),
)


def test_every_row_says_whether_it_was_retrieved_and_whether_it_was_judged():
    expected = frame_of(
        "query doc score grade",
        ("q1", "d9", 0.4, None),
        ("q1", "d1", 0.9, 2),
        ("q1", "d2", None, 1),
        ("q2", "d1", None, 1),
    )
    assert_frame_equal(judge(RETRIEVED, JUDGMENTS), expected)


def test_every_strategy_gets_every_judged_document_of_every_judged_query():
    expected = frame_of(
        "strategy query doc score grade",
        ("b", "q1", "d1", 0.9, 2),
        ("a", "q2", "d1", 0.8, 1),
        ("b", "q2", "d7", 0.7, None),
        ("b", "q1", "d2", 0.6, 1),
        ("b", "q2", "d1", None, 1),
        ("a", "q1", "d1", None, 2),
        ("a", "q1", "d2", None, 1),
    )
    assert_frame_equal(judge(TWO, JUDGMENTS, strategy="strategy"), expected)


def test_columns_of_the_run_come_first_then_what_judgments_add():
    run = RETRIEVED.with_columns(rank=pl.Series([2, 1]), title=pl.lit("t"))
    judgments = JUDGMENTS.select("grade", "doc", "query", assessor=pl.lit("A"))
    frame = judge(run, judgments)
    assert frame.columns == ["query", "doc", "score", "rank", "title", "grade", "assessor"]
    assert frame.row(0) == ("q1", "d9", 0.4, 2, "t", None, None)
    assert frame.row(-1) == ("q2", "d1", None, None, None, 1, "A")


def test_columns_may_have_any_name():
    run = TWO.rename({"query": "topic", "doc": "url", "strategy": "system"})
    judgments = JUDGMENTS.rename({"query": "topic", "doc": "url", "grade": "stars"})
    frame = judge(run, judgments, query="topic", doc="url", grade="stars", strategy="system")
    expected = judge(TWO, JUDGMENTS, strategy="strategy")
    assert_frame_equal(
        frame, expected.rename(dict(zip(expected.columns, frame.columns, strict=True)))
    )


@pytest.mark.parametrize("lazy", [(True, False), (False, True), (True, True)])
def test_lazy_frames_are_collected(lazy):
    run, judgments = (
        frame.lazy() if is_lazy else frame
        for frame, is_lazy in zip((RETRIEVED, JUDGMENTS), lazy, strict=True)
    )
    assert_frame_equal(judge(run, judgments), judge(RETRIEVED, JUDGMENTS))


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["q1", "q2", "d1", "d2", "d9"])])
def test_keys_may_be_categories(dtype):
    keys = {"query": dtype, "doc": dtype}
    frame = judge(RETRIEVED.cast(keys), JUDGMENTS.cast(keys))
    assert_frame_equal(frame, judge(RETRIEVED, JUDGMENTS).cast(keys))


def test_order_of_the_run_is_kept_in_a_long_frame():
    n = 200_000
    run = pl.select(query=pl.int_range(n) * 7919 % 1009, doc=pl.int_range(n), score=pl.lit(1.0))
    judgments = run.select("query", pl.col("doc") + n // 2, grade=pl.lit(1)).reverse()
    frame = judge(run, judgments.sample(fraction=1.0, shuffle=True, seed=1))
    assert_frame_equal(frame.head(n).select(run.columns), run)
    assert frame["score"].tail(-n).null_count() == frame.height - n


def test_a_judgment_without_a_grade_is_none():
    judgments = frame_of(
        "query doc grade note",
        ("q1", "d9", None, "x"),
        ("q1", "d1", 1, "y"),
        ("q1", "d3", None, "z"),
        ("q2", "d1", None, "z"),
    )
    expected = frame_of(
        "query doc score grade note", ("q1", "d9", 0.4, None, None), ("q1", "d1", 0.9, 1, "y")
    )
    assert_frame_equal(judge(RETRIEVED, judgments), expected)


@pytest.mark.parametrize(
    ("unjudged", "sentence"),
    [
        (["q7"], "got 1: 'q7'"),
        (["q9", "q9", "q7"], "got 2: 'q9', 'q7'"),
        (["q9", "q8", "q7", "q6"], "got 4: 'q9', 'q8', 'q7', ..."),
    ],
)
def test_queries_without_judgments_are_left_out_with_a_warning(unjudged, sentence):
    more = [(query, f"d{i}", 0.1) for i, query in enumerate(unjudged)]
    run = pl.concat([frame_of("query doc score", *more), RETRIEVED])
    sentence = f"queries without any judgment are left out of `run`, {sentence}"
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}$") as caught:
        frame = judge(run, JUDGMENTS)
    assert [warning.filename for warning in caught] == [__file__]
    assert_frame_equal(frame, judge(RETRIEVED, JUDGMENTS))


def test_a_query_whose_judgments_have_no_grade_is_without_judgment():
    judgments = JUDGMENTS.with_columns(grade=pl.when(query="q2").then("grade"))
    with pytest.warns(UserWarning, match="got 1: 'q1'$"):
        frame = judge(RETRIEVED, judgments)
    assert frame.rows() == [("q2", "d1", None, 1)]


def test_a_strategy_that_answered_only_unjudged_queries_is_still_judged():
    run = pl.concat([TWO, frame_of("strategy query doc score", ("c", "q7", "d1", 0.1))])
    with pytest.warns(UserWarning, match="got 1: 'q7'$"):
        frame = judge(run, JUDGMENTS, strategy="strategy")
    assert frame.filter(strategy="c").select("query", "doc", "score").rows() == [
        ("q1", "d1", None),
        ("q1", "d2", None),
        ("q2", "d1", None),
    ]


def test_an_empty_run_misses_every_judged_document():
    frame = judge(RETRIEVED.clear(), JUDGMENTS)
    assert_frame_equal(
        frame,
        JUDGMENTS.select("query", "doc", pl.lit(None, pl.Float64).alias("score"), "grade"),
    )


def test_an_empty_run_names_no_strategy():
    expected = judge(TWO, JUDGMENTS, strategy="strategy").clear()
    assert_frame_equal(judge(TWO.clear(), JUDGMENTS, strategy="strategy"), expected)
    assert judge(TWO.clear(), JUDGMENTS)["strategy"].to_list() == [None] * JUDGMENTS.height


def test_a_run_without_any_judgment_is_left_out():
    with pytest.warns(UserWarning, match="got 1: 'q1'$"):
        frame = judge(RETRIEVED, JUDGMENTS.clear())
    assert_frame_equal(frame, judge(RETRIEVED, JUDGMENTS).clear())


def test_a_single_strategy_is_kept_in_added_rows():
    run = TWO.filter(strategy="b")
    assert_frame_equal(judge(run, JUDGMENTS), judge(run, JUDGMENTS, strategy="strategy"))
    assert judge(run, JUDGMENTS)["strategy"].to_list() == ["b"] * 4


def test_several_strategies_are_not_merged_in_silence():
    sentence = (
        '`run` must be one ranking per query, got 2 strategies in its column "strategy":'
        ' pass strategy="strategy" to keep them apart, or drop the column to merge them'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        judge(TWO, JUDGMENTS)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("q1", "d1")], "got 1 more than once: ('q1', 'd1')"),
        (
            [("q1", "d9"), ("q1", "d1"), ("q1", "d1")],
            "got 2 more than once: ('q1', 'd1'), ('q1', 'd9')",
        ),
        (
            [(f"q{i}", "d") for i in (4, 1, 3, 2)] * 2,
            "got 4 more than once: ('q1', 'd'), ('q2', 'd'), ('q3', 'd'), ...",
        ),
    ],
)
def test_a_document_twice_is_refused_in_either_frame(rows, sentence):
    more = frame_of("query doc score", *((*row, 0.5) for row in rows))
    run = pl.concat([RETRIEVED, more])
    sentence = f"must have each (query, doc) once, {sentence}"
    with pytest.raises(ValueError, match=f"^{re.escape(f'`run` {sentence}')}$"):
        judge(run, JUDGMENTS)
    judgments = run.rename({"score": "grade"})
    with pytest.raises(ValueError, match=f"^{re.escape(f'`judgments` {sentence}')}$"):
        judge(RETRIEVED, judgments)


def test_a_document_twice_is_refused_within_a_strategy_only():
    run = pl.concat([TWO, TWO.head(1)])
    sentence = "must have each (strategy, query, doc) once, got 1 more than once: ('b', 'q1', 'd1')"
    with pytest.raises(ValueError, match=f"^{re.escape(f'`run` {sentence}')}$"):
        judge(run, JUDGMENTS, strategy="strategy")
    same_document = TWO.with_columns(doc=pl.lit("d1")).unique(["strategy", "query"])
    assert judge(same_document, JUDGMENTS, strategy="strategy").height == 3 + 3


def test_keys_of_different_types_are_refused():
    sentence = '"query" must have one data type, got Int64 in `run` and String in `judgments`'
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}: cast one of them$"):
        judge(RETRIEVED.with_columns(query=pl.lit(301, pl.Int64)), JUDGMENTS)
    sentence = '"doc" must have one data type, got String in `run` and UInt32 in `judgments`'
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}: cast one of them$"):
        judge(RETRIEVED, JUDGMENTS.with_columns(doc=pl.lit(1, pl.UInt32)))


@pytest.mark.parametrize("column", ["strategy", "query", "doc"])
def test_nulls_in_keys_of_the_run_are_refused(column):
    run = TWO.with_columns(pl.when(pl.col("score") > 0.7).then(column))
    with pytest.raises(ValueError, match=f'^"{column}" must not be null in `run`, got 2 nulls$'):
        judge(run, JUDGMENTS, strategy="strategy")


@pytest.mark.parametrize("column", ["query", "doc"])
def test_nulls_in_keys_of_judgments_are_refused(column):
    judgments = JUDGMENTS.with_columns(pl.when(pl.col("grade") > 1).then(column))
    sentence = f'"{column}" must not be null in `judgments`, got 2 nulls'
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        judge(RETRIEVED, judgments)


@pytest.mark.parametrize(
    ("run", "judgments", "sentence"),
    [
        (
            RETRIEVED.drop("query"),
            JUDGMENTS,
            "`run` has no column 'query'; it has doc, score",
        ),
        (
            RETRIEVED,
            JUDGMENTS,
            "`run` has no column 'strategy'; it has query, doc, score",
        ),
        (pl.DataFrame(), JUDGMENTS, "`run` has no column 'strategy'; it has none"),
        (
            TWO,
            JUDGMENTS.rename({"doc": "docno"}),
            "`judgments` has no column 'doc'; did you mean 'docno'?; it has query, docno, grade",
        ),
        (
            TWO,
            JUDGMENTS.drop("grade"),
            "`judgments` has no column 'grade'; it has query, doc",
        ),
    ],
)
def test_a_missing_column_is_named_beside_those_present(run, judgments, sentence):
    strategy = None if "score" in run.columns and "query" not in run.columns else "strategy"
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=f"^{re.escape(sentence)}$"):
        judge(run, judgments, strategy=strategy)


def test_a_column_in_both_frames_is_refused():
    sentence = 'only "query", "doc" may be in both `run` and `judgments`, got "grade":'
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        judge(RETRIEVED.with_columns(grade=1), JUDGMENTS)
    with pytest.raises(ValueError, match='got "grade", "score": drop or rename'):
        judge(
            RETRIEVED.with_columns(grade=1),
            JUDGMENTS.select("query", "doc", "grade", score="grade"),
        )


@pytest.mark.parametrize("columns", [["query", "doc"], ["strategy", "query", "doc"]])
def test_a_run_without_anything_to_rank_by_is_refused(columns):
    sentence = "`run` must have a column to rank by, such as a score, got "
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        judge(TWO.filter(strategy="b").select(columns), JUDGMENTS)


@pytest.mark.parametrize("frame", [None, [], {"query": []}, pl.Series()])
def test_only_frames_are_judged(frame):
    kind = type(frame).__name__
    with pytest.raises(TypeError, match=f"^`run` must be a DataFrame or a LazyFrame, got {kind}$"):
        judge(frame, JUDGMENTS)
    with pytest.raises(TypeError, match=r"^`judgments` must be a DataFrame or a LazyFrame, got "):
        judge(RETRIEVED, frame)


def slowly_judged(run: pl.DataFrame, judgments: pl.DataFrame) -> list[tuple[object, ...]]:
    """The rows of a run and its misses, one at a time: strategy, query, doc, score, grade."""
    grades = {(q, d): g for q, d, g in judgments.rows() if g is not None}
    queries = {q for q, _ in grades}
    retrieved = {row[:3] for row in run.rows()}
    return [
        *((*row, grades.get(row[1:3])) for row in run.rows() if row[1] in queries),
        *(
            (strategy, q, d, None, grade)
            for strategy in dict.fromkeys(run["strategy"])
            for (q, d), grade in grades.items()
            if (strategy, q, d) not in retrieved
        ),
    ]


KEYS = st.tuples(st.integers(0, 3), st.integers(0, 4))


@settings(deadline=None)
@given(
    run=st.dictionaries(st.tuples(st.sampled_from("abc"), KEYS), st.floats(-1, 1)),
    judgments=st.dictionaries(KEYS, st.sampled_from([None, 0, 1, 2])),
)
def test_judging_is_as_a_slow_loop_does_it(run, judgments):
    run = pl.DataFrame(
        [(strategy, *key, score) for (strategy, key), score in run.items()],
        schema={"strategy": pl.String, "query": pl.Int64, "doc": pl.Int64, "score": pl.Float64},
        orient="row",
    )
    judgments = pl.DataFrame(
        [(*key, grade) for key, grade in judgments.items()],
        schema={"query": pl.Int64, "doc": pl.Int64, "grade": pl.Int64},
        orient="row",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        frame = judge(run, judgments, strategy="strategy")
    assert frame.rows() == slowly_judged(run, judgments)


# Real data


def histogram(frame: pl.DataFrame) -> dict[object, int]:
    return dict(frame.group_by("grade").len().sort("grade").rows())


def test_ohsumed_is_read_whole(data):
    frame = read_letor([data / f"ohsumed/fold{fold}.testset.txt.gz" for fold in range(1, 6)])
    assert frame.columns == ["query", "doc", "grade", *(f"f{i}" for i in range(1, 26))]
    assert frame.height == 16_140
    assert frame["query"].n_unique() == 106
    assert histogram(frame) == {0: 11_303, 1: 2_585, 2: 2_252}
    assert frame.null_count().sum_horizontal().item() == 0
    assert frame.select(pl.struct("query", "doc").is_unique().all()).item()
    sizes = frame.group_by("query").len()["len"]
    assert (sizes.min(), sizes.max()) == (35, 320)
    assert frame.row(0)[:5] == ("85", "7612", 0, 2.0, 1.38629436)
    assert frame.row(0)[-1] == -4.63973
    no_relevant = frame.group_by("query").agg(pl.col("grade").max()).filter(grade=0)
    assert no_relevant["query"].to_list() == ["8"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qrels.test.gz", {0: 3_120, 1: 561}),
        ("qrels.rel_level.gz", {-1: 304, 0: 2_818, 1: 462, 2: 14, 3: 77, 4: 6}),
    ],
)
def test_trec_eval_judgments_are_read_whole(data, name, expected):
    frame = read_qrels(data / "trec_eval" / name)
    assert frame.schema == {"query": pl.String, "doc": pl.String, "grade": pl.Int64}
    assert histogram(frame) == expected
    assert frame["query"].unique().sort().to_list() == ["301", "302", "303"]


def test_trec_eval_results_are_read_whole(data):
    frame = read_run(data / "trec_eval/results.test.gz")
    assert frame.group_by("query").len().sort("query").rows() == [
        ("301", 500),
        ("302", 500),
        ("303", 500),
    ]
    assert frame.row(0) == ("301", "FR940202-2-00150", 2.129133, 104, "STANDARD")
    assert frame["strategy"].unique().to_list() == ["STANDARD"]


def test_text_after_the_tag_is_skipped(data):
    # trec_eval skips it, and has it in five lines of this file to show that it does.
    frame = read_run(data / "trec_eval/results.trunc.gz")
    assert frame["strategy"].unique().to_list() == ["STANDARD"]


def test_a_query_that_trec_eval_results_lack_is_there_once_judged(data):
    run = read_run(data / "trec_eval/results.trunc.gz")
    judgments = read_qrels(data / "trec_eval/qrels.test.gz")
    assert run.height == 584
    frame = judge(run, judgments)
    counts = frame.group_by("query").agg(
        retrieved=pl.col("score").count(), relevant=(pl.col("grade") > 0).sum()
    )
    assert counts.sort("query").rows() == [("301", 500, 474), ("302", 0, 77), ("303", 84, 10)]
    assert frame["strategy"].unique().to_list() == ["STANDARD"]
