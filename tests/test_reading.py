"""Reading TREC and LETOR files, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import math
import os
import random
import re
import warnings
import zlib
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from helpers import simulated
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, read_letor, read_qrels, read_run
from polars_graded._frames import file_formats, reading

ZSTD = b"\x28\xb5\x2f\xfd"

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
def test_many_files_come_one_after_the_other_in_the_order_given(write, read, text):
    first, second = (write(line, name) for line, name in zip(text.splitlines(), "za", strict=True))
    whole = read(write(text))
    assert_frame_equal(read([first, second]), whole)
    assert_frame_equal(read((second, str(first))), whole.reverse())


@READERS
@pytest.mark.filterwarnings("ignore:.*has no lines:UserWarning")
@pytest.mark.parametrize("text_without_rows", ["", "\n", " \r\n\n", "\ufeff"])
def test_a_file_without_rows_is_an_empty_frame_of_the_same_columns(
    write, read, text, text_without_rows
):
    empty = read(write(text_without_rows))
    filled = read(write(text)).select(pl.exclude("f1", "f2"))
    assert_frame_equal(empty, filled.clear())


@READERS
def test_identifiers_are_kept_as_they_are_written(write, read, text):
    doc = "\"007'é文書\u00a0x,"
    odd = text.replace("FBIS3-1", doc).replace("40626", doc)
    odd = odd.replace("301", "007").replace("qid:1", "qid:007")
    frame = read(write(odd))
    assert frame.row(0)[:2] == ("007", doc)
    assert frame["query"].to_list() == ["007", "007"]


@READERS
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_text_that_is_not_utf8_is_refused(write, read, text, compress):
    line = text.splitlines()[0].encode()
    path = write(compress(b"\n".join([line, b"", line + b"caf\xe9", line])))
    sentence = f"{path}, line 3: text must be UTF-8, got byte 0xe9: '{line.decode()}caf\ufffd'"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        read(path)


ONE_ROW = {read_qrels: "q 0 d 1", read_run: "q Q0 d 1 2.5 t", read_letor: "1 qid:q 1:2 #docid = d"}


@READERS
@pytest.mark.parametrize(
    "text_of", [str.encode, io.StringIO, lambda text: io.BytesIO(text.encode())]
)
def test_text_may_be_handed_over_instead_of_a_path(write, read, text, text_of):
    expected = read(write(text))
    assert_frame_equal(read(text_of(text)), expected)
    if read is not read_run:  # whose tags would repeat
        assert_frame_equal(read([text_of(text), write(text)])[2:], read([write(text)] * 2)[2:])


@READERS
def test_an_open_file_may_be_gzip_or_a_pipe(write, read, text):
    packed = gzip.compress(text[:20].encode()) + gzip.compress(text[20:].encode())
    assert_frame_equal(read(io.BytesIO(packed)), read(write(text)))
    if Path("/dev/fd").exists():  # a pipe has a path
        end, start = os.pipe()
        with os.fdopen(start, "wb") as pipe:
            pipe.write(packed)
        assert_frame_equal(read(Path(f"/dev/fd/{end}")), read(write(text)))
        os.close(end)


@READERS
def test_a_pattern_is_its_files_in_the_order_of_their_names(write, tmp_path, read, text):
    first, second = text.splitlines()
    write(second, "b.txt")
    write(first, "a.txt")
    whole = read(write(text, "whole"))
    assert_frame_equal(read(str(tmp_path / "*.txt")), whole)
    assert_frame_equal(read(tmp_path / "[ab].txt"), whole)
    with pytest.raises(FileNotFoundError, match=r"no file has a name like '.*\*\.gz'"):
        read(tmp_path / "*.gz")


@READERS
def test_a_folder_is_refused_with_the_pattern_of_its_files(tmp_path, write, read, text):
    folder = tmp_path / "folder"
    folder.mkdir()
    sentence = f"`paths` must name files, got the folder {str(folder)!r}\n\nHint: "
    with pytest.raises(IsADirectoryError, match=f"^{re.escape(sentence)}") as caught:
        read(folder)
    (folder / "a.txt").write_text(text)
    pattern = re.search("Hint: '(.*)' names all files", str(caught.value))[1]
    assert_frame_equal(read(pattern), read(write(text)))


@READERS
def test_return_alone_ends_no_line(write, read, text):
    """What stood behind it counted as the rest of the line, and its rows were lost."""
    rule = r"a line ends in \n or \r\n, got \r within it"
    old_macintosh = text.replace("\n", "\r")
    path = write(old_macintosh)
    sentence = f"{path}, line 1: {rule}: {old_macintosh.rstrip()!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        read(path)
    first, second = text.splitlines()
    line = f"{first} x\r{second}"
    stray = write(f"{first}\n\n{line}\r\n{second}\n", "stray.txt")
    sentence = f"{stray}, line 3: {rule}: {line!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        read(stray)


@READERS
def test_only_gzip_is_unpacked(write, read, text):
    line = ONE_ROW[read]
    zlib_like = line.replace("q", "x^", 1) if read is not read_letor else f"1 qid:x^ {line[8:]}"
    assert read(write(f"{zlib_like}\n{zlib_like}\n"))["query"].to_list() == ["x^"] * 2
    data = text.encode()
    for packed in (zlib.compress(data), zlib.compress(data)[:-5], ZSTD + data):
        path = write(packed)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}, line 1: "):
            read(path)
    path = write(gzip.compress(data)[:-9])
    with pytest.raises(
        ValueError, match=f"^{re.escape(str(path))} must be a complete gzip file, got"
    ):
        read(path)


@pytest.mark.parametrize(
    ("read", "line"), [(read_qrels, "q 0 d {}"), (read_letor, "{} qid:q 1:1 #docid = d")]
)
def test_a_whole_grade_is_exact_or_refused(write, read, line):
    """123456789012345678 was read as 123456789012345680."""
    exact = 2**53 - 1
    assert read(write(line.format(exact)))["grade"].item() == exact
    for grade in ("9007199254740992", "-123456789012345678", "+99999999999999999999"):
        path = write(line.format(grade))
        sentence = f"{path}, line 1: a grade has a magnitude below "
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
            read(path)


# Judgments


def test_a_judgment_is_a_query_a_document_and_a_grade(write):
    expected = pl.DataFrame(
        {"query": ["301", "301"], "doc": ["FBIS3-1", "FBIS3-2"], "grade": [2, 0]}
    )
    assert_frame_equal(read_qrels(write(QRELS)), expected)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("301 0 FBIS3-1", "a line has 4 fields, query iteration doc grade, got 3"),
        ("301 0 FBIS3-1 1 x", "a line has 4 fields, query iteration doc grade, got 5"),
        ("301 Q0 FBIS3-1 1  2.5 bm25", "a line has 4 fields, query iteration doc grade, got 6"),
        ("301 0 FBIS3-1 1  x", "a line has 4 fields, query iteration doc grade, got 5"),
        ("301 0 FBIS3-1 high", "a grade is a finite number, got 'high'"),
        ("301 0 FBIS3-1 nan", "a grade is a finite number, got 'nan'"),
    ],
)
def test_a_malformed_judgment_is_refused(write, line, complaint):
    path = write(f"{QRELS}{line}\n{QRELS}")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}, line 3: {complaint}: {line!r}')}$"
    ):
        read_qrels(path)


@pytest.mark.parametrize(
    ("read", "text", "n"),
    [
        (read_qrels, "1\t0\ta b\t1\n1\t0\ta b\t1\t\tjunk\n", "4 fields, .* got 5"),
        (read_qrels, "1\t0\ta b\t1\n1\t\ta b\t1\n", "4 fields, .* got 3"),
        (read_qrels, "1\t0\ta b\t1\n1\t0\ta b c\n", "4 fields, .* got 3"),
        (read_run, "1\ta b\t1\n1\ta b\n", "3 fields, .* got 2"),
    ],
)
def test_fields_between_tabs_are_counted(read, text, n):
    with pytest.raises(ValueError, match=f"^<bytes>, line 2: a line has {n}: "):
        read(text.encode())


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


def test_strategies_are_named_after_their_files_or_by_a_mapping(write):
    ours, theirs = write(RUN, "ours.run"), write(gzip.compress(RUN.encode()), "theirs.run.gz")

    def names(*arguments, **options):
        return read_run(*arguments, **options)["strategy"].to_list()

    with pytest.warns(DataWarning.files):
        assert names([ours, theirs]) == ["ours.run"] * 2 + ["theirs.run.gz"] * 2
    assert names([ours, theirs], named_by="file") == ["ours.run"] * 2 + ["theirs.run.gz"] * 2
    assert names({"A": ours, "B": [theirs, ours]}) == ["A"] * 2 + ["B"] * 4
    assert names(io.StringIO(RUN), named_by="file") == ["<StringIO>"] * 2


@pytest.mark.parametrize(
    ("error", "paths", "options", "sentence"),
    [
        (ValueError, "run", {"named_by": "name"}, "`named_by` must"),
        (ValueError, {}, {}, "`paths` must"),
        (ValueError, {"A": []}, {}, "`paths` must"),
        (TypeError, {1: "run"}, {}, "`paths` must"),
        (TypeError, {"A": None}, {}, "`paths` must"),
    ],
)
def test_strategies_that_cannot_be_named_are_refused(error, paths, options, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        read_run(paths, **options)


# LETOR

FEATURE_RULE = (
    "a feature is number:value, once in a line, a number from 1 to 65535 and a finite value, got"
)


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


def test_line_numbers_count_every_line_and_go_on_through_all_files(write):
    first = write("# made by hand\n1 qid:1 1:1\n\n0 qid:1 1:2\n\n", "first.txt")
    second = write("  # and by hand\n1 qid:1 1:3", "second.txt")
    assert read_letor([first, second])["doc"].to_list() == ["2", "4", "7"]
    assert read_letor(second)["doc"].to_list() == ["2"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("2 1:0.5 #docid = 1", "a line begins with a grade and qid:query"),
        ("2 qid:", "a line begins with a grade and qid:query"),
        ("2", "a line begins with a grade and qid:query"),
        ("x qid:1 1:0.5", "a grade is a finite number, got 'x'"),
        ("1 qid:1 65536:1", f"{FEATURE_RULE} '65536:1'"),
        ("1 qid:1 1:2 2:high", f"{FEATURE_RULE} '2:high'"),
        ("1 qid:1 2:1 2:1", f"{FEATURE_RULE} '2:1'"),
        ("1 qid:1 3:1 2:1 03:2", f"{FEATURE_RULE} '03:2'"),
    ],
)
def test_a_malformed_letor_line_is_refused(write, line, complaint):
    path = write(f"{LETOR}{line}\n{LETOR}")
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'{path}, line 3: {complaint}: {line!r}')}$"
    ):
        read_letor(path)


# Mutated files, against a parser that takes one line at a time


def parsed(read, data: bytes) -> tuple[list[tuple[object, ...]], int]:
    """The rows of a file line by line, and the number of the first malformed line, or 0.

    Tabs separate the fields of all lines, or blanks and tabs do. An error is of the first way that
    the first line allows.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    if wrong := next((n for n, raw in enumerate(lines, 1) if "\ufffd" in replaced(raw)), 0):
        return [], wrong  # bytes are decoded before lines are parsed
    if with_return := next((n for n, raw in enumerate(lines, 1) if has_return(raw)), 0):
        return [], with_return  # ends of lines are checked before fields, too
    outcomes = [parsed_at(read, lines, at_tabs=at_tabs) for at_tabs in (True, False)]
    if read is read_letor or b"\t" not in data:
        return outcomes[1]
    for rows, wrong in outcomes:
        if not wrong:
            return rows, 0
    return [], {wrong for _, wrong in outcomes}


def replaced(raw: bytes) -> str:
    return raw.decode(errors="replace")


def has_return(raw: bytes) -> bool:
    return b"\r" in raw.rstrip(b"\r").strip(b" \t")


def parsed_at(read, lines, *, at_tabs):
    rows = []
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode().rstrip("\r").strip(" \t")
            if not line or line.startswith("#"):
                continue
            row = PARSERS[read](line, at_tabs=at_tabs)
        except ValueError:
            return rows, number
        rows.append((str(number) if row[1] is None else row[1], *row[:1], *row[2:]))
    return rows, 0


def fields_of(line: str, *, at_tabs: bool = False) -> list[str]:
    """The fields of a line: between tabs, or between blanks and tabs."""
    if at_tabs:
        fields = [field.strip(" ") for field in line.split("\t")]
        if not all(fields):
            raise ValueError(line)
        return fields
    return [field for field in line.replace("\t", " ").split(" ") if field]


def finite(text: str) -> float:
    if not set(text) <= set("0123456789+-.eE") or not math.isfinite(value := float(text)):
        raise ValueError(text)
    return value


def whole(text: str) -> int:
    if not set(text) <= set("0123456789+-") or not -(2**63) <= int(text) < 2**63:
        raise ValueError(text)
    return int(text)


def grade_of(text: str) -> float:
    if abs(finite(text)) >= 2**53:
        raise ValueError(text)
    return finite(text)


def slow_judgment(line: str, *, at_tabs: bool):
    query, _, doc, grade = fields_of(line, at_tabs=at_tabs)
    return query, doc, grade_of(grade)


def slow_retrieved(line: str, *, at_tabs: bool):
    query, _, doc, rank, score, tag, *_ = fields_of(line, at_tabs=at_tabs)
    return query, doc, finite(score), rank_of(rank), tag.split(" ")[0]


def rank_of(text: str) -> int | None:
    """The rank, which trec_eval ignores, or None."""
    try:
        return whole(re.sub(r"\.0*$", "", text))
    except ValueError:
        return None


def doc_of(comment: str) -> str | None:
    """What follows `docid =` where these begin a word."""
    for start in range(len(comment)):
        word = comment[start:].startswith("docid") and comment[:start][-1:] in ("", " ", "\t")
        equals = comment[start + 5 :].lstrip(" \t")
        if word and equals.startswith("=") and (found := fields_of(equals[1:])):
            return found[0]
    return None


def slow_document(line: str, *, at_tabs: bool):
    del at_tabs
    text, _, comment = line.partition("#")
    grade, query, *features = fields_of(text)
    if not query.startswith("qid:") or query == "qid:":
        raise ValueError(line)
    values = {}
    for feature in features:
        index, value = feature.split(":")
        number = whole(index)
        if not 1 <= number <= 65535 or number in values:
            raise ValueError(feature)
        values[number] = finite(value)
    return query[4:], doc_of(comment), grade_of(grade), tuple(sorted(values.items()))


PARSERS = {read_qrels: slow_judgment, read_run: slow_retrieved, read_letor: slow_document}

ODD = [
    *(b" ", b"  ", b"\t", b"\r", b"\n", b"\r\n", b"\n\n", b" \n", b"\n "),
    b"\x00",
    *(b"#", b":", b"qid:", b"docid", b"=", b'"', b",", b"'", b"\\", b"^", b"x^", b"$", b"*"),
    *(b"0", b"1", b"-", b"+", b".", b"e", b"E5", b"1e999", b"nan", b"inf", b"1_0", b"0x1"),
    *(b"9007199254740991", b"9007199254740992", b"99999999999999999999", b"65535", b"65536"),
    *("é文\u00a0\u2028\u0085\ufeff\U0001f600".encode(), "١".encode(), b"\xff", b"\xc3", b"\x80"),
]


def mutated(text: bytes, rng: random.Random) -> bytes:
    """The text with a few slips: something put in, left out, replaced, moved or cut off."""
    data = text
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 6])):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice([0, 0, 1, 1, 2, 10]))
        odd = rng.choice([b"", rng.choice(ODD), rng.choice(ODD), data[stop : stop + 10]])
        data = data[:start] + odd + data[stop:]
    return data[: rng.randrange(len(data))] if data and rng.random() < 0.1 else data


def seen(read, frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """The rows of a frame as the slow parser has them, without features that are 0."""
    if read is not read_letor:
        return frame.select("doc", pl.exclude("doc")).rows()
    return [
        (doc, query, grade, tuple((i, v) for i, v in enumerate(values, 1) if v != 0))
        for query, doc, grade, *values in frame.rows()
    ]


def without_zeros(row: tuple[object, ...]) -> tuple[object, ...]:
    if isinstance(row[-1], tuple):
        return (*row[:-1], tuple((i, v) for i, v in row[-1] if v != 0))
    return row


@pytest.mark.slow
@READERS
@pytest.mark.parametrize("seed", [0, *simulated(1, 2, 3)])
def test_mutated_files_are_read_as_a_slow_parser_reads_them(monkeypatch, read, text, seed):
    """The first malformed line is named, or every row is there, however the file is cut."""
    rng = random.Random(seed)
    monkeypatch.setattr(reading, "_is_one_ranking", lambda *_: False)
    base = text.encode() * 3
    outcomes = Counter()
    for _ in range(120):
        data = mutated(base.replace(b" ", rng.choice([b" ", b"\t"])), rng)
        monkeypatch.setattr(file_formats, "SLICE_LINES", rng.choice([1, 2, 1 << 12]))
        rows, wrong = parsed(read, data)
        source = rng.choice([bytes, gzip.compress, io.BytesIO])(data)
        if wrong:
            numbers = "|".join(map(str, wrong if isinstance(wrong, set) else [wrong]))
            with pytest.raises(ValueError, match=f", line ({numbers}): "):
                read(source)
        else:
            assert seen(read, read(source)) == [without_zeros(row) for row in rows], data
        outcomes["refused" if wrong else "read"] += 1
    assert min(outcomes["refused"], outcomes["read"]) > 20


def test_an_empty_run_among_others_is_told(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 d 1 0.5 a\n")
    (tmp_path / "empty.run").write_text("\n")
    runs = {"a": tmp_path / "a.run", "b": tmp_path / "empty.run"}
    with pytest.warns(UserWarning, match=r"empty\.run has no lines, so it contains no strategy"):
        assert read_run(runs)["strategy"].to_list() == ["a"]


BEIR = "query-id\tcorpus-id\tscore\n1\t31715818\t1\n3\t14717500\t2\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_judgments_below_the_header_of_beir_are_read(ends):
    text = BEIR.replace("\n", ends).encode()
    expected = [("1", "31715818", 1), ("3", "14717500", 2)]
    assert read_qrels(text).rows() == expected
    assert read_qrels(gzip.compress(text)).rows() == expected
    # Another file has its own form.
    assert read_qrels([text, b"1 0 a 1\n"]).rows() == [*expected, ("1", "a", 1)]


def test_runs_whose_tags_repeat_are_named_after_their_files(tmp_path):
    """Three strategies of five files would be two that nobody ran."""
    for number in range(3):
        (tmp_path / f"BIT{number}.run").write_text(f"1 Q0 a 1 {number}.5 tag{number // 2}\n")
    said = "the tag 'tag0' occurs in 2 files, so strategies are named after files: 'BIT0.run', "
    with pytest.warns(DataWarning.files, match=f"^{re.escape(said)}"):
        runs = read_run(str(tmp_path / "BIT*"))
    assert runs["strategy"].to_list() == ["BIT0.run", "BIT1.run", "BIT2.run"]
    assert runs["score"].to_list() == [0.5, 1.5, 2.5]
    with warnings.catch_warnings(action="error"):
        assert read_run([tmp_path / "BIT1.run", tmp_path / "BIT2.run"])["strategy"].to_list() == [
            *("tag0", "tag1")
        ]
        merged = read_run({"ours": [tmp_path / "BIT0.run", tmp_path / "BIT1.run"]})
        assert merged["strategy"].to_list() == ["ours", "ours"]
