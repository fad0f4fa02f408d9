"""Rules for combinations of options, and the error for each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from polars_graded._command.parser import FRAME, LETOR, OPTIONS, Arguments, parse_measures
from polars_graded._frames.frame_files import SEPARATORS
from polars_graded._measuring.names import Measure
from polars_graded._measuring.tie_orders import TOOLS
from polars_graded._report.page import load_drawing_scripts
from polars_graded._writing import check_writable

MAX_PRINTED_RANKS = 10_000
"""Maximum cutoff of a printed curve, whose table has a column for each position."""

MIN_GRADERS = 2
"""Minimum number of graders for the rules about several graders."""


def _find_measures(condition: Callable[[Measure], object]) -> Callable[[Arguments], Iterable[str]]:
    """Return a function that lists the first measure that meets a condition."""
    return lambda arguments: [each.name for each in arguments.measures.values() if condition(each)][
        :1
    ]


def _find_one_grader_options(arguments: Arguments) -> Iterable[str]:
    """Return the passed options that do not work with several graders.

    With fewer than two graders, or with --trusted, all options work, and the result is empty.
    """
    has_several = len(arguments.graders) >= MIN_GRADERS and arguments.trusted is None
    return filter(arguments.get_value, ("--report", "--chart", "--format")) if has_several else ()


def _find_number_options(arguments: Arguments) -> Iterable[str]:
    """Return --format and --chart, if passed without a scalar measure."""
    return () if arguments.scalar_measures else filter(arguments.get_value, ("--format", "--chart"))


def _find_wrong_trusted(arguments: Arguments) -> Iterable[str]:
    """Yield a text such as "'people'; graders: model" if --trusted is wrong.

    --trusted must name one of at least two graders.
    """
    is_valid = arguments.trusted in arguments.graders and len(arguments.graders) >= MIN_GRADERS
    if arguments.trusted is not None and not is_valid:
        yield f"{arguments.trusted!r}; graders: {', '.join(arguments.graders) or 'none'}"


def _find_unknown_gate_measures(arguments: Arguments) -> Iterable[str]:
    """Yield measures of --gate that are no measure of --measure, or have another formula."""
    others = [text for text in arguments.gate or () if text not in arguments.measures]
    for text, (name, measure) in zip(others, parse_measures(others).items(), strict=True):
        if arguments.measures.get(name) != measure:
            yield text


def _find_repeated_outputs(arguments: Arguments) -> Iterable[str]:
    """Return the files that several options would write."""
    files = [arguments.get_value(name) for name, each in OPTIONS.items() if each.suffixes]
    paths = [file for file in files if file is not None]
    counts = Counter(file.resolve() for file in paths)
    return [str(file) for file in paths if counts[file.resolve()] > 1][:1]


def _find_scales_of_subtopics(arguments: Arguments) -> Iterable[str]:
    """Return the options that set a scale, if --qrels gives the subtopics of documents."""
    has_subtopics = arguments.qrels and "subtopics" in arguments.needed_inputs
    options = ("--irrelevant", "--relevant-from")
    return filter(arguments.get_value, options) if has_subtopics else ()


SIMILARITY_OPTIONS = (
    *("--similarity", "--query", "--by", "--descending", "--doc", "--strategy", "--ties"),
    *("--named-by", "--baseline", "--per-query", "--chart"),
)
"""Options that are compatible with --similarity."""

GRADE_OPTIONS = ("--grade", "--irrelevant", "--relevant-from", "--unjudged-below")
"""Options that are also compatible with --similarity if a measure needs grades."""


def _find_foreign_options(arguments: Arguments) -> Iterable[str]:
    """Return the passed options that --similarity does not take."""
    compatible = {*SIMILARITY_OPTIONS, *(GRADE_OPTIONS if arguments.needs_grades else ())}
    names = [name for name in OPTIONS if name not in compatible]
    return filter(arguments.get_value, names) if arguments.similarity else ()


def _find_graded_similarities(arguments: Arguments) -> Iterable[str]:
    """Return the measures of --similarity that need grades."""
    measures = arguments.measures.items() if arguments.similarity else ()
    return [name for name, measure in measures if measure.definition.needs_grades]


RULES: tuple[tuple[Callable[[Arguments], Iterable[str]], str], ...] = (
    (_find_foreign_options, "--similarity takes no {}"),
    (
        lambda arguments: filter(arguments.get_value, (FRAME, LETOR) if arguments.runs else ()),
        "--runs are judged by --qrels, so they take no {}",
    ),
    (
        lambda arguments: (
            ["--runs"] if arguments.runs and not (arguments.similarity or arguments.qrels) else ()
        ),
        "{} need judgments by --qrels, or --similarity without judgments",
    ),
    (
        lambda arguments: (
            _find_graded_similarities(arguments) if arguments.runs and not arguments.qrels else ()
        ),
        "{} needs judgments by --qrels",
    ),
    (
        lambda arguments: arguments.graders if _find_graded_similarities(arguments) else (),
        "--similarity needs the judgments of one grader, as in --qrels FILE RUN, got those of {}",
    ),
    (_find_wrong_trusted, "--trusted must be one of several graders, got {}"),
    (
        lambda arguments: (
            arguments.graders if arguments.gate and len(arguments.graders) >= MIN_GRADERS else ()
        ),
        "--gate needs the judgments of one grader, as in --qrels FILE RUN, got those of {}",
    ),
    (_find_one_grader_options, "{} shows the grades of one grader, so it needs --trusted"),
    (_find_unknown_gate_measures, "--gate takes measures that --measure names, got {}"),
    (
        lambda arguments: {*arguments.measures} & {"query", "strategy", "grader", "queries"},
        "a measure must not be called {}, since the tables have a column of this name",
    ),
    (_find_repeated_outputs, "each file to write needs a name of its own, got {} several times"),
    (
        lambda arguments: (
            arguments.graders if arguments.qrels and "subtopics" in arguments.needed_inputs else ()
        ),
        "measures of subtopics need the judgments of one grader (--qrels FILE RUN), got {}",
    ),
    (
        _find_scales_of_subtopics,
        "a document has each subtopic with a grade above 0, whatever {}; leave out lower grades",
    ),
    (
        lambda arguments: ["--baseline"] if arguments.baseline_file and not arguments.gate else (),
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
    (
        lambda arguments: [
            name for name in arguments.cluster or () if name not in (arguments.query or ())
        ],
        "--cluster takes columns of --query, got {}; add them to --query",
    ),
    (
        lambda arguments: filter(arguments.get_value, ["--report"] if arguments.cluster else ()),
        "{} tests queries as independent, so it takes no --cluster",
    ),
    (_find_number_options, "{} needs a measure with one value per query, got curves"),
    (
        lambda arguments: [arguments.ties] if arguments.report and arguments.ties in TOOLS else (),
        "--report shows documents in one order, so it takes --ties doc, got {}",
    ),
    (
        lambda arguments: (
            arguments.strategy or ()
            if arguments.frame and len(arguments.strategy or ()) > 1
            else ()
        ),
        "--strategy takes one column of a --frame; --by takes the columns to rank by; got {}",
    ),
    (
        lambda arguments: [name for name, n in Counter(arguments.strategy).items() if n > 1],
        "--strategy takes each column once, got {} several times",
    ),
    (
        lambda arguments: {
            suffix
            for file in arguments.letor or ()
            for suffix in SEPARATORS
            if file.lower().removesuffix(".gz").endswith(suffix)
        },
        "--letor takes lines of LETOR's format; a {} file is read by --frame",
    ),
    (
        lambda arguments: ["no run"] if arguments.qrels and not arguments.run_files else (),
        "--qrels takes a judgment file and at least one run, got {}",
    ),
)
"""Rules. Each rule is a function and an error text. The function returns what breaks the rule, such
as names of options. If it returns anything, the returned texts replace {} in the error text."""


def check_options(arguments: Arguments) -> None:
    """Raise if options are not compatible.

    The command calls this function before it reads the rankings, which may be large.

    Raises
    ------
    ValueError
        If a measure does not exist, if an option lacks another that it needs, if options break a
        rule, or if a file to write has a wrong suffix or is an input.
    OSError
        If a requested file cannot be written.
    ImportError
        If a chart or a report is requested, and Altair or vl-convert is not installed.
    """
    for name, option in OPTIONS.items():
        value = arguments.get_value(name)
        if value is None:
            continue
        if option.needs and all(arguments.get_value(each) is None for each in option.needs):
            msg = f"{name} needs {' or '.join(option.needs)}"
            raise ValueError(msg)
        if option.suffixes:
            if value.suffix.lower() not in option.suffixes:
                msg = f"{name} takes a {' or a '.join(option.suffixes)} file, got {str(value)!r}"
                raise ValueError(msg)
            check_writable(value, arguments.inputs)
    for find, sentence in RULES:
        if offenders := [*find(arguments)]:
            raise ValueError(sentence.format(", ".join(offenders)))
    if arguments.report or arguments.chart:
        load_drawing_scripts()
