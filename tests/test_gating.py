"""What may hold a change back: verdicts beside their intervals, and results of another day."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
from polars.testing import assert_frame_equal

from polars_graded import DataWarning, assert_no_worse, compare, evaluate, gate
from polars_graded.__main__ import main


def per_query(rng, n=20, measures=("ap",), shift=0.0, strategies=("main", "new")):
    """Results that a strategy shares with the first but for noise and a shift."""
    base = rng.random((n, len(measures)))
    frames = []
    for place, name in enumerate(strategies):
        noise = rng.choice([0, -0.1, 0.05, 0.1], base.shape) + shift if place else 0
        columns = dict(zip(measures, (base + noise).T, strict=True))
        frames.append(pl.DataFrame({"strategy": name, "query": np.arange(n), **columns}))
    return pl.concat(frames)


@pytest.mark.parametrize("measure", ["ap", "e_measure@5"])
@pytest.mark.parametrize("seed", range(12))
def test_a_verdict_is_what_the_interval_says(measure, seed):
    rng = np.random.default_rng(seed)
    shift, n = rng.choice([-0.2, -0.05, 0, 0.05, 0.2]), int(rng.choice([2, 8, 60]))
    names = ("main", "x", "y")
    frame = per_query(rng, n, (measure, "recall@9"), shift, names)
    verdicts = gate(frame, baseline="main", margin={measure: 0.05, "recall@9": 0.1})
    assert verdicts.select("measure", "strategy").rows() == [
        (name, strategy) for name in (measure, "recall@9") for strategy in ("x", "y")
    ]
    for row in verdicts.rows(named=True):
        new, old = (
            frame.filter(strategy=name)[row["measure"]].to_numpy()
            for name in (row["strategy"], "main")
        )
        d = new - old
        if np.ptp(d) < 1e-9:  # see below
            continue
        interval = scipy.stats.ttest_1samp(d, 0).confidence_interval(1 - 0.05 / 4)
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval))
        assert row["difference"] == pytest.approx(d.mean())
        # Worse is lower, but of a measure whose lowest value is best.
        down = row["measure"] == "e_measure@5"
        low, high = (-row["high"], -row["low"]) if down else (row["low"], row["high"])
        expected = (
            "better"
            if low > 0
            else "no worse"
            if low > -row["margin"]
            else "worse"
            if high < -row["margin"]
            else "undecided"
        )
        assert row["verdict"] == expected
        gap = (-1 if down else 1) * d.mean() + row["margin"]
        known = expected == "undecided" and abs(gap) > 1e-9
        assert (row["more_queries"] is not None) == known
        said = {"undecided": "undecided whether {} is worse than"}.get(
            expected, "{} is " + expected
        )
        assert said.format(row["strategy"]) in row["sentence"]
        assert row["sentence"].startswith(f"{row['measure']}: ")
        numbers = re.search(r"\((\S+) to (\S+)\)", row["sentence"]).groups()
        assert [*map(float, numbers)] == pytest.approx([row["low"], row["high"]], rel=5e-3)


def test_a_gate_has_the_numbers_of_compare():
    """Where a value is missing, too, of a strategy that is not the baseline."""
    rng = np.random.default_rng(3)
    frame = per_query(rng, 30, strategies=("main", "x", "y"))
    holes = (pl.col("strategy") == "y") & (pl.col("query") % 7 == 0)
    frame = frame.with_columns(ap=pl.when(~holes).then("ap"))
    same = ["strategy", "baseline", "queries", "best", "baseline_mean", "mean", "difference"]
    verdicts = gate(frame, baseline="main", missing="drop")
    pairs = compare(frame, baseline="main", missing="drop", correction="bonferroni")
    assert_frame_equal(verdicts.select(same), pairs.select(same))
    ends = pairs.select(low="simultaneous_low", high="simultaneous_high")
    assert_frame_equal(verdicts.select("low", "high"), ends)
    old = frame.filter(strategy="main")
    beside = gate(frame.filter(pl.col("strategy") != "main"), baseline=old, missing="drop")
    assert_frame_equal(beside, verdicts)


def test_the_queries_that_are_needed_decide_in_four_of_five():
    rng = np.random.default_rng(4)
    frame = per_query(rng, 15)
    [row] = gate(frame, baseline="main").rows(named=True)
    assert row["verdict"] == "undecided"
    d = frame["ap"].to_numpy().reshape(2, 15)
    std, effect = (d[1] - d[0]).std(ddof=1), row["difference"] + 0.01
    n = 15 + row["more_queries"]
    drawn = rng.normal(effect, std, (20_000, n))
    low = drawn.mean(axis=1) - scipy.stats.t.ppf(0.975, n - 1) * drawn.std(axis=1, ddof=1) / n**0.5
    assert (low > 0).mean() == pytest.approx(0.8, abs=0.03)


def test_what_changes_nothing_is_no_worse_and_what_varies_by_nothing_undecided():
    frame = pl.DataFrame({"strategy": ["a", "a", "b", "b"], "query": [1, 2] * 2, "ap": [0.5] * 4})
    for margin in (0, 0.01):
        [row] = gate(frame, baseline="a", margin=margin).rows(named=True)
        assert (row["verdict"], row["low"], row["high"]) == ("no worse", 0, 0)
    lower = frame.with_columns(ap=pl.when(strategy="b").then(0.4).otherwise("ap"))
    for given in (lower, frame.filter(query=1)):
        [row] = gate(given, baseline="a").rows(named=True)
        assert (row["verdict"], row["low"], row["more_queries"]) == ("undecided", None, None)
        assert (
            row["sentence"] == "ap: undecided whether b is worse than a, since there is no interval"
        )


def test_results_of_another_day_are_of_one_grader():
    frame = per_query(np.random.default_rng(1), 9)
    both = pl.concat(frame.with_columns(grader=pl.lit(name)) for name in ("people", "model"))
    with pytest.raises(ValueError, match="`baseline` must have the results of one grader, got 'pe"):
        gate(frame, baseline=both)
    expected = gate(frame, baseline=frame)
    assert gate(frame, baseline=both.filter(grader="people")).equals(expected)
    assert gate(both, baseline=both.filter(grader="people"), grader="people").equals(expected)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_baseline_may_be_results_of_another_day(suffix, tmp_path):
    frame = per_query(np.random.default_rng(1), 30)
    old, new = (frame.filter(strategy=name) for name in ("main", "new"))
    file = tmp_path / f"old{suffix}"
    (old.write_parquet if suffix == ".parquet" else old.write_csv)(file)
    expected = gate(frame, baseline="main")
    for baseline in (file, old, old.with_columns(strategy=pl.lit("main"))):
        assert gate(new, baseline=baseline).equals(expected)
    for values in ([True, False], [1.5, 2.5]):
        named = frame.with_columns(pl.col("strategy").replace_strict(["main", "new"], values))
        beside = [named.filter(strategy=name) for name in values]
        odd = gate(beside[1], baseline=beside[0])
        assert odd.select("strategy", "baseline").row(0) == (values[1], values[0])
        assert odd["low"].equals(expected["low"])
    # Of several strategies that of the same name is the baseline.
    several = pl.concat([old.with_columns(strategy=pl.lit(name)) for name in ("new", "other")])
    [row] = gate(new, baseline=several).rows(named=True)
    assert (row["baseline"], row["difference"]) == ("new", expected["difference"][0])
    with pytest.raises(ValueError, match="got 'one', 'two' for 'new'"):
        gate(
            new,
            baseline=several.with_columns(
                pl.col("strategy").replace(["new", "other"], ["one", "two"])
            ),
        )


def test_a_strategy_may_have_any_name_beside_other_results():
    frame = per_query(np.random.default_rng(1), 30)
    odd = {"main": "new", "new": "new of the baseline"}
    both = frame.with_columns(pl.col("strategy").replace(odd))
    found = gate(both, baseline=frame.filter(strategy="main"))
    assert found["strategy"].to_list() == [*odd.values()]
    assert found["baseline"].to_list() == ["main"] * 2
    assert found["difference"].to_list() == [0, gate(frame, baseline="main")["difference"][0]]
    same = gate(both, baseline=both)
    assert same["baseline"].equals(same["strategy"], check_names=False)
    assert same["difference"].to_list() == [0, 0]


def test_queries_that_one_of_both_lacks_are_named_and_left_out():
    frame = per_query(np.random.default_rng(1), 30)
    old, new = (frame.filter(strategy=name) for name in ("main", "new"))
    with pytest.warns(DataWarning.missing, match="2 queries not in `baseline` are left out: 0, 1"):
        [row] = gate(new, baseline=old.filter(pl.col("query") > 1)).rows(named=True)
    assert row["queries"] == 28
    with pytest.warns(DataWarning.missing, match="1 query not in `per_query` is left out: 29$"):
        gate(new.filter(pl.col("query") < 29), baseline=old)
    with (
        pytest.warns(DataWarning.missing),
        pytest.raises(ValueError, match="`baseline` must have queries of `per_query`, got none"),
    ):
        gate(new, baseline=old.with_columns(pl.col("query") + 100))


def test_judgments_that_changed_are_told_where_they_can_be_seen():
    rows = pl.DataFrame(
        {"query": [1, 1, 2, 2], "doc": [*"abab"], "grade": [1, 0, 1, 1], "score": [2, 1, 1, 2]}
    )
    old = evaluate(rows, "ndcg", "n_relevant")
    new = evaluate(rows.with_columns(grade=pl.Series([1, 1, 1, 1])), "ndcg", "n_relevant")
    with pytest.warns(DataWarning.judgments, match="'n_relevant' .* differs in 1 query: the base"):
        gate(new, "ndcg", baseline=old)
    gate(new.with_columns(n_retrieved=9), "ndcg", baseline=new)  # warnings are errors


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"baseline": "other"}, "there is no strategy 'other'"),
        ({"baseline": "main", "margin": -1}, "`margin` must be at least 0, got -1"),
        ({"baseline": "main", "margin": {"rr": 1}}, "`margin` must say how much worse 'ap' may be"),
        ({"baseline": "main", "test": "wilcoxon"}, "`test` must be one of 't', 'permutation'"),
    ],
)
def test_what_cannot_be_held_against_each_other_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        gate(per_query(np.random.default_rng(1)), "ap", **options)


def test_a_baseline_alone_is_refused():
    alone = per_query(np.random.default_rng(1)).filter(strategy="main")
    with pytest.raises(ValueError, match="another strategy than the baseline 'main'"):
        gate(alone, baseline="main")


def test_one_line_of_a_test_fails_with_the_sentences():
    rng = np.random.default_rng(5)
    worse = per_query(rng, 200, ("ap", "recall@9"), shift=-0.2)
    sentences = gate(worse, baseline="main")["sentence"]
    with pytest.raises(AssertionError, match=re.escape("\n".join(sentences))):
        assert_no_worse(worse, baseline="main")
    few = per_query(rng, 4)
    with pytest.raises(AssertionError, match="undecided"):
        assert_no_worse(few, baseline="main")
    assert_no_worse(few, baseline="main", undecided=True)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Judgments, a run, the same with a little noise, and with one that loses 0.03."""
    monkeypatch.chdir(tmp_path)
    rng, n, depth = np.random.default_rng(7), 400, 20
    grades = rng.choice(4, (n, depth), p=[0.6, 0.2, 0.1, 0.1])
    good = grades + rng.normal(size=grades.shape)
    scores = {
        "main": good,
        "noise": good + rng.normal(size=grades.shape) * 0.05,
        "loss": good + rng.normal(size=grades.shape) * 0.6,
    }
    keys = [(q, d) for q in range(n) for d in range(depth)]
    lines = (f"q{q} 0 d{d} {grades[q, d]}" for q, d in keys)
    pathlib.Path("qrels").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, of_run in scores.items():
        lines = (f"q{q} Q0 d{d} 0 {of_run[q, d]:.6f} {name}" for q, d in keys)
        pathlib.Path(f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command("--qrels", "qrels", "main.run", *MEASURED, "--per-query", "main.parquet")


MEASURED = ("--measure", "ndcg@10", "n_relevant")
GATE = (*MEASURED, "--gate", "ndcg@10", "--margin", "0.01")


def command(*arguments):
    """The exit status of the command."""
    try:
        main([*arguments])
    except SystemExit as end:
        return end.code
    return 0


@pytest.mark.usefixtures("runs")
def test_a_gate_lets_noise_pass_and_stops_a_loss(capsys):
    """In a shell, beside results that were written on another day."""
    values = {}
    for run, status, said in (("noise", 0, "no worse"), ("loss", 1, "worse")):
        capsys.readouterr()
        files = ("--qrels", "qrels", f"{run}.run", *GATE, "--baseline", "main.parquet")
        assert command(*files, "--per-query", "new.csv", "--markdown", "new.md") == status
        printed = capsys.readouterr()
        assert f"ndcg@10: {run} is {said} than main" in printed.out
        assert printed.err == ""
        values[run] = pl.read_csv("new.csv")["ndcg@10"].mean()
        lines = pathlib.Path("new.md").read_text(encoding="utf-8").splitlines()
        assert lines[0] == f"## {said.capitalize()} than the baseline"
        assert f"**{said}** |" in "\n".join(lines)
        lost = [line.split(" | ") for line in lines if re.match(r"\| q\d+ ", line)]
        assert len(lost) == 5
        differences = [float(row[-1].rstrip(" |")) for row in lost]
        assert differences == sorted(differences)
        assert max(differences) < 0
    mean = pl.read_parquet("main.parquet")["ndcg@10"].mean()
    assert values["loss"] == pytest.approx(mean - 0.03, abs=0.01)
    assert values["noise"] == pytest.approx(mean, abs=0.005)


@pytest.mark.usefixtures("runs")
def test_the_exit_status_of_a_gate_says_undecided_and_what_is_bad_input(capsys):
    files = ("--qrels", "qrels", "main.run", "noise.run", "--baseline", "main")
    assert command(*files, *GATE) == 0
    few = ("--gate", "ndcg@10", "--margin", "0.0001", "--markdown", "few.md")
    assert command(*files, *MEASURED, *few) == 3
    headline, *_ = pathlib.Path("few.md").read_text(encoding="utf-8").splitlines()
    assert headline == "## Undecided whether worse than the baseline"
    for wrong, sentence in (
        (("--qrels", "qrels", "main.run", *GATE), "--gate needs a --baseline"),
        ((*files, *MEASURED, "--gate", "ap"), "--gate takes what --measure names, got ap"),
        ((*files, "--markdown", "x.md"), "need --gate"),
        (("--qrels", "qrels", "main.run", "--baseline", "main.parquet"), "need --gate"),
        ((*files, *GATE, "--margin", "-1"), "`margin` must be at least 0"),
    ):
        capsys.readouterr()
        assert command(*wrong) == 2
        assert sentence in capsys.readouterr().err


def shares(effect, measures, queries, changes, seed=0):
    """The shares of changes that pass, are stopped and are left open, of a margin of 0.01."""
    rng, names = np.random.default_rng(seed), ["ap", "ndcg", "recall@9"][:measures]
    found = []
    for _ in range(changes):
        common, own = rng.normal(size=(queries, 1)), rng.normal(size=(queries, measures))
        d = 0.1 * (0.8**0.5 * common + 0.2**0.5 * own) + effect
        values = np.concatenate([np.zeros_like(d), d])
        frame = pl.DataFrame(values, names).with_columns(
            strategy=pl.Series(["a", "b"]).repeat_by(queries).explode(empty_as_null=True),
            query=pl.concat([pl.int_range(queries, eager=True)] * 2),
        )
        verdicts = set(gate(frame, baseline="a")["verdict"])
        found.append(
            "worse" if "worse" in verdicts else "undecided" if "undecided" in verdicts else "pass"
        )
    return [found.count(each) / changes for each in ("pass", "worse", "undecided")]


@pytest.mark.slow
@pytest.mark.parametrize("measures", [1, 3])
def test_what_is_worse_by_the_margin_seldom_passes_and_what_is_not_is_seldom_stopped(measures):
    passed, *_ = shares(-0.01, measures, 50, 400)
    _, stopped, _ = shares(0, measures, 50, 400)
    assert max(passed, stopped) <= 0.05


if __name__ == "__main__":  # the table of the book about `gate`
    for measures in (1, 3):
        for queries in (50, 200, 1000):
            both = [shares(effect, measures, queries, 2000) for effect in (-0.01, 0)]
            cells = "  ".join(f"{100 * share:.1f}" for each in both for share in each)
            print(measures, queries, cells, flush=True)
