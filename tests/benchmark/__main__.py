"""Entry point of `python -m tests.benchmark`: measure, and print the table."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version

from . import (
    checks,
    compiled,
    expressions,
    files,
    floor,
    growth,
    imports,
    logs,
    memory,
    peers,
    relevance,
    shapes,
    similarity,
    skew,
    streaming,
    trust,
)
from .table import Sizes, written

SECTIONS = {
    "floor": floor,
    "expressions": expressions,
    "shapes": shapes,
    "similarity": similarity,
    "checks": checks,
    "compiled": compiled,
    "growth": growth,
    "skew": skew,
    "relevance": relevance,
    "trust": trust,
    "logs": logs,
    "files": files,
    "memory": memory,
    "streaming": streaming,
    "peers": peers,
    "import": imports,
}


def main() -> None:
    options = arguments()
    sizes = Sizes(options.rows, options.peer_rows, options.repeat)
    load = os.getloadavg()[0]
    sections = []
    for name in options.only:
        print(f"measuring {name} …", file=sys.stderr)
        section = SECTIONS[name]
        sections.append((section.TITLE, list(section.rows(sizes))))
    versions = ", ".join(f"{name} {version(name)}" for name in ("polars", "numpy"))
    print(
        f"{sizes.rows:,} rows, {sizes.peer_rows:,} for peers, best of {sizes.repeat}\n"
        f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores, load {load:.1f}\n"
    )
    print(written(sections))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmark",
        description="Measure the package and print one table of ratios. "
        "The targets are meant for the default sizes and a quiet machine.",
    )
    add = parser.add_argument
    add(
        "--rows",
        type=at_least(1000),
        default=10_000_000,
        help="number of rows, with 100 rows per query (%(default)s)",
    )
    add(
        "--peer-rows",
        type=at_least(1000),
        default=1_000_000,
        help="number of rows for the comparison with other packages (%(default)s)",
    )
    add(
        "--repeat",
        type=at_least(1),
        default=5,
        help="number of runs; the fastest counts (%(default)s)",
    )
    add(
        "--only",
        nargs="+",
        choices=SECTIONS,
        default=list(SECTIONS),
        metavar="SECTION",
        help=f"sections to measure: {', '.join(SECTIONS)} (all)",
    )
    return parser.parse_args()


def at_least(least: int):
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            msg = f"must be at least {least}, got {value}"
            raise argparse.ArgumentTypeError(msg)
        return value

    return number


if __name__ == "__main__":
    main()
