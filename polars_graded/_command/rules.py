"""Rules of options together: a table of what breaks each, and the sentence that says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from polars_graded._command.parser import OPTIONS, Given, parse_measures
from polars_graded._frames.frame_files import SEPARATORS
from polars_graded._measuring.names import Measure
from polars_graded._measuring.tie_orders import TOOLS
from polars_graded._report.page import load_drawing_scripts
from polars_graded._writing import check_writable

MAX_PRINTED_RANKS = 10_000
"""Largest cutoff of a curve: each of its ranks is a column of the table."""

MIN_GRADERS = 2
"""Graders of which one can be trusted more than the others."""


def _find_measures(condition: Callable[[Measure], object]) -> Callable[[Given], Iterable[str]]:
    return lambda given: [each.name for each in given.measures.values() if condition(each)][:1]


def _find_one_grader_options(given: Given) -> Iterable[str]:
    several = len(given.graders) >= MIN_GRADERS and given.trusted is None
    return filter(given.get_value, ("--report", "--chart", "--format")) if several else ()


def _find_number_options(given: Given) -> Iterable[str]:
    return () if given.numbers else filter(given.get_value, ("--format", "--chart"))


def _find_wrong_trusted(given: Given) -> Iterable[str]:
    is_one = given.trusted in given.graders and len(given.graders) >= MIN_GRADERS
    if given.trusted is not None and not is_one:
        yield f"{given.trusted!r} of {', '.join(given.graders) or 'none'}"


RULES: tuple[tuple[Callable[[Given], Iterable[str]], str], ...] = (
    (_find_wrong_trusted, "--trusted must be one of several graders, got {}"),
    (
        lambda given: given.graders if given.gate and len(given.graders) >= MIN_GRADERS else (),
        "--gate needs the judgments of one grader, as in --qrels FILE RUN, got those of {}",
    ),
    (_find_one_grader_options, "{} shows the grades of one grader, so it needs --trusted"),
    (
        lambda given: {**parse_measures(given.gate or ())}.keys() - given.measures.keys(),
        "--gate takes what --measure names, got {}",
    ),
    (
        lambda given: ["--baseline"] if given.baseline_file and not given.gate else (),
        "a file as {} needs --gate",
    ),
    (
        _find_measures(lambda each: each.is_curve and (each.n or 0) > MAX_PRINTED_RANKS),
        f"a curve to print has a cutoff of at most {MAX_PRINTED_RANKS}, got '{{}}'",
    ),
    (
        _find_measures(lambda each: each.is_curve and each.positions is None),
        "a curve needs a cutoff to be averaged, such as '{}@20'",
    ),
    (_find_number_options, "{} needs a measure with one value per query, got curves"),
    (
        lambda given: [given.ties] if given.report and given.ties in TOOLS else (),
        "--report shows documents in one order, so it takes --ties doc, got {}",
    ),
    (
        lambda given: given.strategy or () if given.frame and len(given.strategy or ()) > 1 else (),
        "--strategy takes one column of a --frame, and --by columns to rank by, got {}",
    ),
    (
        lambda given: [name for name, n in Counter(given.strategy).items() if n > 1],
        "--strategy takes each column once, got {} more often",
    ),
    (
        lambda given: {
            end for file in given.letor or () for end in SEPARATORS if end in file.lower()
        },
        "--letor takes lines of LETOR's format; a {} file is read by --frame",
    ),
    (
        lambda given: ["no run"] if given.qrels and not given.runs else (),
        "--qrels takes a judgment file and at least one run, got {}",
    ),
)
"""What breaks a rule, empty where nothing does, and the sentence that has it in its braces."""


def check_options(given: Given) -> None:
    """Raise where options do not go together, before large files are read.

    Raises
    ------
    ValueError
        If a measure does not exist, or a rule is broken.
    ImportError
        If charts are to be drawn without the library that draws them.
    """
    for name, option in OPTIONS.items():
        value = given.get_value(name)
        if value is None:
            continue
        if option.needs and all(given.get_value(each) is None for each in option.needs):
            msg = f"{name} needs {' or '.join(option.needs)}"
            raise ValueError(msg)
        if option.suffixes:
            if value.suffix.lower() not in option.suffixes:
                msg = f"{name} takes a {' or a '.join(option.suffixes)} file, got {str(value)!r}"
                raise ValueError(msg)
            check_writable(value, given.inputs)
    for find, sentence in RULES:
        if offenders := [*find(given)]:
            raise ValueError(sentence.format(", ".join(offenders)))
    if given.report or given.chart:
        load_drawing_scripts()
