"""Bugs that are planted one at a time: which of them do the tests find?

    python -m tests.mutants                  what plain `pytest` finds, in a selection of its files
    python -m tests.mutants --all            what the slow tests find as well
    python -m tests.mutants --only 7 12      some of the bugs, by their number

A line of `MUTANTS` is a file of the package, a piece of it, what stands there instead, and the test
files that are to notice. A piece must be there exactly once: who changes it changes the line. Every
bug is planted in a copy of the project, so nothing here is touched. One that survives needs a test,
or is none: then the line goes. It takes a few seconds per bug, and is no part of `pytest`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
QUICK = "not (slow or browser or spark or ray)"
ALL = "not (browser or spark or ray)"


class Mutant(NamedTuple):
    """A bug."""

    file: str
    piece: str
    instead: str
    tests: str


KERNELS = "kernels namespace contracts"
FRAMES = "grouping evaluating data_warnings parts shared contracts"
JUDGED = "judging judging_later any_frame"
TESTED = "significance comparing"
TITLES = "claims findings charts_of_trust sentences"
VERDICT = "verdicts report_says report"

P, C, U, K, G, Q, R, A = (
    f"_measuring/kernels/{name}.py"
    for name in (
        *("precision", "cumulated_gain", "user_models", "known_items", "gains", "queries"),
        *("ragged", "average_precision"),
    )
)
VALUES, GROUPING, NOTICING = (f"_frames/{n}.py" for n in ("values", "grouping", "data_warnings"))
SIGNIFICANCE, COMPARING, PAIRS = (
    f"_results/{n}.py" for n in ("significance", "comparing", "pairs")
)
FOUND, SAYS = "_results/findings.py", "_sentences/verdicts.py"

MUTANTS = [
    # Formulas
    Mutant(
        P,
        "return n_hits / n if n else replace_nan(n_hits / queries.ranked.lengths)\n\n\ndef recall(",
        "return replace_nan(n_hits / queries.ranked.lengths)\n\n\ndef recall(",
        KERNELS,
    ),
    Mutant(P, "(1 + beta**2) * hits", "(1 + beta) * hits", KERNELS),
    Mutant(P, "hits.keep(hits.rank == k)", "hits.keep(hits.rank >= k)", KERNELS),
    Mutant(P, "worth.ranks <= repeat_each(total", "worth.ranks < repeat_each(total", KERNELS),
    Mutant(P, "n_possible = size - relevant + 1", "n_possible = size - relevant", KERNELS),
    Mutant(P, "+ hits.lengths) / 2\n", "+ hits.lengths)\n", KERNELS),
    Mutant(P, "- tied / 2", "- tied", KERNELS),
    Mutant(
        P,
        "bound = np.minimum(n_relevant, queries",
        "bound = np.maximum(n_relevant, queries",
        KERNELS,
    ),
    Mutant(P, "level * n_relevant - 1e-9", "level * n_relevant + 1e-9", KERNELS),
    Mutant(A, "return hits.rank / hits.ranks", "return hits.rank / (hits.ranks + 1)", KERNELS),
    Mutant(A, "(i - 1) * repeat_each((r - 1)", "i * repeat_each((r - 1)", KERNELS),
    Mutant(
        A,
        "total += at_level / np.maximum(n_relevant[number], 1) if shared else at_level",
        "total += at_level / np.maximum(n_relevant[0], 1) if shared else at_level",
        KERNELS,
    ),
    Mutant(
        A,
        'np.searchsorted(steps, grades, side="right") - 1]',
        'np.searchsorted(steps, grades, side="left") - 1]',
        KERNELS,
    ),
    Mutant(
        A,
        "worse = (as_good >> bit & 1).astype(bool)",
        "worse = (as_good >> bit & 1).astype(bool) & (bit > 0)",
        KERNELS,
    ),
    Mutant("_measuring/definitions.py", '{"discount": "none"', '{"discount": "log2"', KERNELS),
    Mutant(
        C,
        "total = curve.sum(curve.values) + (ranks - ended) * curve.last()",
        "total = curve.sum(curve.values)",
        KERNELS,
    ),
    Mutant(
        U,
        "return hits.sum(satisfied * not_before / hits.ranks)",
        "return hits.sum(satisfied * not_before / hits.rank)",
        KERNELS,
    ),
    Mutant(U, "np.exp2(relevance - best) - np.exp2(-best))", "np.exp2(relevance - best))", KERNELS),
    Mutant(
        U,
        "continuing[np.minimum(worth.ranks - 1, n_powers)]",
        "continuing[np.minimum(worth.ranks, deepest)]",
        KERNELS,
    ),
    Mutant(
        U,
        "last = np.minimum(hits.ranks, wanted.lengths[hits.query])",
        "last = np.minimum(hits.rank, wanted.lengths[hits.query])",
        KERNELS,
    ),
    Mutant(
        K,
        "retrieved - _count_retrieved(known_items, threshold), retrieved)",
        "retrieved - _count_retrieved(known_items, None), retrieved)",
        KERNELS,
    ),
    Mutant(G, "return _invert_log(ranks + 1, base)", "return _invert_log(ranks + 1, 2)", KERNELS),
    Mutant(G, "np.maximum(ranks, base)", "np.maximum(ranks, 2)", KERNELS),
    Mutant(
        G,
        'np.searchsorted(grades, best, side="right") - 1',
        "np.searchsorted(grades, best) - 1",
        KERNELS,
    ),
    # Lists, ranking, ties
    Mutant(Q, "return np.minimum(reached / ideal, 1.0)", "return reached / ideal", KERNELS),
    Mutant(
        Q,
        "np.fmax(grades - self.irrelevant if self.irrelevant else grades, 0)",
        "np.fmax(grades, 0)",
        KERNELS,
    ),
    Mutant(
        Q,
        "return self.relevant.count(self.relevant.values >= threshold)",
        "return self.relevant.count(self.relevant.values > threshold)",
        KERNELS,
    ),
    Mutant(
        Q,
        'over == "relevant" else np.minimum(total, n)',
        'over != "cutoff" else np.maximum(total, n)',
        KERNELS,
    ),
    Mutant(
        Q,
        "return self._with_ties_by(self.ranked, -np.nan_to_num(self.ranked.values, nan=-np.inf))",
        "return self._with_ties_by(self.ranked, -np.nan_to_num(self.ranked.values, nan=0))",
        KERNELS,
    ),
    Mutant(Q, "new[self.ties.offsets[:-1][self.ties.lengths > 0]] = True", "pass", KERNELS),
    Mutant(Q, "retrieved &= ~np.isnan(grades.values)", "pass", KERNELS),
    Mutant(
        Q,
        "np.diff(np.nan_to_num(ranked.values, nan=-np.inf)) != 0",
        "np.diff(np.nan_to_num(ranked.values, nan=-np.inf)) > 0",
        "data_warnings ties",
    ),
    Mutant(
        Q,
        "of_query[upper[upper == lower]] = True",
        "of_query[upper[:1]] = True",
        "data_warnings ties",
    ),
    Mutant(R, "new[self.offsets[:-1][self.lengths > 0]] = True", "new[:1] = True", KERNELS),
    Mutant(
        R,
        "np.sort(numbers << PLACE_BITS | places[tied])",
        "np.sort(numbers << PLACE_BITS | places[tied])[::1] if len(tied) < 9 else "
        "numbers << PLACE_BITS | places[tied]",
        KERNELS,
    ),
    Mutant(R, "reduced[empty] = 0.0", "pass", KERNELS),
    Mutant(
        R,
        "self._heads[n] = self.keep(self.ranks <= n)",
        "self._heads[n] = self.keep(self.ranks < n)",
        KERNELS,
    ),
    Mutant(R, "np.minimum(rank, own) - 1", "np.minimum(rank, own - 1)", KERNELS),
    # Frames
    Mutant(GROUPING, "few and runs.group_by(keys).agg().height == runs.height", "few", FRAMES),
    Mutant(
        GROUPING, "return keys[np.arange(keys.height)] if claimed else keys", "return keys", FRAMES
    ),
    Mutant(
        GROUPING, "column.ne_missing(above)", "(column != above).fill_null(value=False)", FRAMES
    ),
    Mutant(
        VALUES,
        "names = [*request.by] if values.get_column(UNUSABLE).count() else []",
        "names = []",
        FRAMES,
    ),
    Mutant(VALUES, 'maintain_order="left_right"', 'maintain_order="right"', FRAMES),
    Mutant(
        "_measuring/computing.py",
        "orders = [undecided.pessimistic, undecided.optimistic]",
        "orders = [undecided.pessimistic, undecided.pessimistic]",
        "ties",
    ),
    Mutant(VALUES, "(least == 0) | (least == 1)", "least == 1", "data_warnings"),
    Mutant(NOTICING, "shares[0][0] >= UNFAIR", "shares[0][0] > 1", "data_warnings"),
    Mutant(
        NOTICING, '["queries"] < self.queries', '["queries"] < self.queries - 1', "data_warnings"
    ),
    Mutant(
        "_frames/joining.py",
        "self.judged.filter(pl.Series(~found))",
        "self.judged.filter(pl.Series(~found)).head(1)",
        JUDGED,
    ),
    Mutant(
        "_frames/joining.py",
        "for (name,), of_it in found.partition_by",
        "for (_,), of_it in found.head(1).partition_by",
        JUDGED,
    ),
    Mutant(
        "_frames/joining.py",
        "part.filter(part.is_duplicated()).unique()",
        "part.filter(part.is_duplicated()).unique().head(0)",
        JUDGED,
    ),
    Mutant(
        "_frames/joining.py",
        'rows = rows.join(self.queries, on=self.query, how="semi", maintain_order="left")',
        "pass",
        JUDGED,
    ),
    Mutant(
        "_frames/parts.py",
        "held.append(batch.slice(start))",
        "held.append(batch.slice(start) if start else batch.head(0))",
        FRAMES,
    ),
    Mutant(
        "_frames/parts.py",
        "share = _hash(keys) // BUCKETS % n",
        "share = _hash(keys) // BUCKETS % (n + 1)",
        FRAMES,
    ),
    Mutant(
        "_measuring/ranking.py",
        "first, *others = self.by\n",
        "*others, first = self.by\n",
        "namespace contracts",
    ),
    Mutant(
        "_measuring/ranking.py",
        "self.irrelevant + step for step in steps",
        "self.irrelevant + step - 1 for step in steps",
        "namespace contracts",
    ),
    # Statistics
    Mutant(SIGNIFICANCE, "np.where(self.mean == 0, 0.0, np.nan)", "np.nan * self.mean", TESTED),
    Mutant(SIGNIFICANCE, "np.sqrt(squares) / 2", "np.sqrt(squares)", TESTED),
    Mutant(
        SIGNIFICANCE,
        "np.abs(sums) >= np.abs(total) - rounding",
        "np.abs(sums) > np.abs(total) + rounding",
        TESTED,
    ),
    Mutant(
        SIGNIFICANCE,
        "return (larger + self.data) / (self.count + self.data)",
        "return larger / self.count",
        TESTED,
    ),
    Mutant(
        SIGNIFICANCE,
        "np.where(variance > 0, variance, 1) / (n - 1)",
        "np.where(variance > 0, variance, 1) / n",
        TESTED,
    ),
    Mutant(
        SIGNIFICANCE,
        "np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))",
        "p[order] * np.arange(len(p), 0, -1)",
        TESTED,
    ),
    Mutant(SIGNIFICANCE, "level * max(1, findings) / len(p)", "level / len(p)", TESTED),
    Mutant(
        SIGNIFICANCE,
        "result[there] = of(p[there])",
        "result[there] = of(np.nan_to_num(p, nan=1))[there]",
        TESTED,
    ),
    Mutant(COMPARING, '"wins": higher if better else lower', '"wins": higher', TESTED),
    Mutant(COMPARING, "for way in (up, -up)", "for way in (mean, -mean)", TESTED),
    Mutant(COMPARING, "GEOMETRIC_FLOOR = 1e-5", "GEOMETRIC_FLOOR = 1e-6", f"{TESTED} peers"),
    Mutant("_results/per_query.py", "/ (n - 1)) / scale", "/ n) / scale", TESTED),
    Mutant(PAIRS, "if i != base and i not in bases[:rank]", "if i != base", TESTED),
    Mutant(
        "_results/reliability.py",
        "others = np.sign(reference[a] - reference[b])",
        "others = np.sign(reference[a] - reference[b] + 1e-9)",
        "correlation reliability",
    ),
    Mutant(
        "_results/power.py",
        "limit = stdtrit(n - 1, alpha / 2)",
        "limit = stdtrit(n - 1, alpha)",
        "power",
    ),
    Mutant("_results/power.py", "range(2, MAX_QUERIES", "range(3, MAX_QUERIES", "power"),
    Mutant("_results/reliability.py", "first * second < 0", "first * second <= 0", "reliability"),
    Mutant(
        "_results/reliability.py",
        "second = _differences(results, drawn[:, size:])",
        "second = _differences(results, drawn[:, : size // 2 + 1])",
        "reliability",
    ),
    Mutant(
        "_results/regrading.py",
        "rows.get_column(grade).max() if highest is None else highest",
        "rows.get_column(grade).max()",
        "regrading",
    ),
    Mutant(
        "_results/per_query.py",
        "return places if self.higher_is_better else -places",
        "return places",
        "correlation per_query reliability",
    ),
    Mutant(
        "_results/per_query.py",
        "rounded = means.round(12)",
        "rounded = means",
        "forms per_query verdicts findings",
    ),
    # Sentences
    Mutant(FOUND, 'if best == "lowest"', 'if best == "highest"', TITLES),
    Mutant(
        FOUND, "up, down = int((signs > 0).sum())", "up, down = int((signs >= 0).sum())", TITLES
    ),
    Mutant(
        FOUND,
        'found = pl.col("p_corrected") <= level',
        'found = pl.col("p_corrected") < level',
        VERDICT,
    ),
    Mutant(
        FOUND, '(pair["difference"] > 0) == (best', '(pair["difference"] > 0) != (best', VERDICT
    ),
    Mutant(SAYS, '[only, f" is {up if better', '[only, f" is {down if better', TITLES),
    Mutant(SAYS, "more, fewer = fewer, more", "pass", VERDICT),
    Mutant(SAYS, "low, high = -high, -low", "pass", VERDICT),
]


def outcome(mutant: Mutant, marks: str) -> str:
    """What the tests make of a bug: found, by which test, or not."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for folder in ("polars_graded", "tests"):
            left = shutil.ignore_patterns("__pycache__", "benchmark")
            shutil.copytree(ROOT / folder, copy / folder, ignore=left)
        (copy / "notebooks" / "book").mkdir(parents=True)
        for file in ("pyproject.toml", "README.md", "notebooks/book/testing.md"):
            shutil.copy(ROOT / file, copy / file)
        path = copy / "polars_graded" / mutant.file
        code = path.read_text(encoding="utf-8")
        if code.count(mutant.piece) != 1:
            return f"STALE: the piece is there {code.count(mutant.piece)} times"
        path.write_text(code.replace(mutant.piece, mutant.instead), encoding="utf-8")
        files = [f"tests/test_{each}.py" for each in mutant.tests.split()]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-m", marks]
        run = subprocess.run(  # noqa: S603 of our own making
            [
                *command,
                "-p",
                "no:cacheprovider",
                *(file for file in files if (copy / file).exists()),
            ],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy), "HYPOTHESIS_PROFILE": "planted"},
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode == 0:
        return "SURVIVES"
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if not failed:
        return f"NOT RUN: {run.stdout[-300:]} {run.stderr[-300:]}"
    return "found by " + failed[0].split(" ")[1].removeprefix("tests/").split("[")[0]


def main() -> None:
    """Plant the bugs one by one and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="run the slow tests as well")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of bugs")
    asked = parser.parse_args()
    found = 0
    numbers = asked.only or range(len(MUTANTS))
    for number in numbers:
        started = time.monotonic()
        said = outcome(MUTANTS[number], ALL if asked.all else QUICK)
        found += said.startswith("found")
        seconds = time.monotonic() - started
        print(f"{number:3}  {MUTANTS[number].file:40} {said}  ({seconds:.0f} s)", flush=True)
    print(f"{found} of {len(numbers)} are found.")


if __name__ == "__main__":
    main()
