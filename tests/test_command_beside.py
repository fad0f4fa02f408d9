"""The command without options says what `join_judgments`, `evaluate` and `summarise` say."""

from __future__ import annotations

import random
import re
import warnings

import polars as pl
import pytest

from polars_graded import evaluate, join_judgments, read_letor, read_qrels, read_run, summarise
from polars_graded.__main__ import main

MEASURES = ["mu_ap", "ndcng@10", "ndcg@10", "ap", "precision@10"]


def numbers_in(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"(?<![\w.])\d+\.\d+", text)]


def assert_said(caught, err: str) -> None:
    """Every warning is told, in its words, and nothing else is."""
    told = " ".join(err.split())
    for each in caught:
        claim, *_ = str(each.message).split("\n")
        assert claim in told
    assert told.count("warning") == len(caught)


def written(folder, seed):
    """Judgments, and two runs that tie and miss; one answers fewer queries."""
    rng = random.Random(seed)
    qrels = [
        f"{query} 0 d{doc} {rng.choice([0, 0, 1, 2, 4])}"
        for query in range(12)
        for doc in rng.sample(range(30), 12)
    ]
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    for name, answered in (("ours", 12), ("bm25", 12 - seed % 2)):
        lines = [
            f"{query} Q0 d{doc} {rank} {rng.choice([3, 2.5, 2, 1])} {name}"
            for query in range(answered)
            for rank, doc in enumerate(rng.sample(range(30), 10), 1)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", range(4))
def test_runs_are_measured_and_warned_of_alike(tmp_path, capsys, seed, monkeypatch):
    written(tmp_path, seed)
    monkeypatch.chdir(tmp_path)
    main(["--qrels", "qrels.txt", "ours.txt", "bm25.txt", "--per-query", "values.csv"])
    captured = capsys.readouterr()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = read_run(["ours.txt", "bm25.txt"])
        judged = join_judgments(runs, read_qrels("qrels.txt"), strategy="strategy")
        values = evaluate(judged, MEASURES, strategy="strategy")
    read = pl.read_csv("values.csv", schema_overrides={"query": pl.String})
    assert read.select(MEASURES).rows() == [
        pytest.approx(row, abs=1e-12) for row in values.select(MEASURES).rows()
    ]
    assert read["strategy"].to_list() == values["strategy"].to_list()
    assert_said(caught, captured.err)
    means = summarise(values, *MEASURES)
    shown = numbers_in(captured.out)
    for mean in means["mean"]:
        assert any(abs(mean - number) <= 5.1e-5 for number in shown), (mean, captured.out)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_letor_are_measured_and_warned_of_alike(tmp_path, capsys, seed, monkeypatch):
    rng = random.Random(seed)
    lines = [
        f"{rng.choice([0, 1, 2])} qid:{query} 1:{rng.choice([1, 2, 3])} 2:{rng.random():.3f}"
        for query in range(11)
        for _ in range(8)
    ]
    (tmp_path / "rows.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    main(["--letor", "rows.txt", "--per-query", "values.csv"])
    captured = capsys.readouterr()
    frame = read_letor("rows.txt")
    with pytest.warns(UserWarning, match="'doc' decides which comes first") as caught:
        values = evaluate(frame, MEASURES, by=["f1", "f2"])
    read = pl.read_csv("values.csv")
    assert read.select(MEASURES).rows() == [
        pytest.approx(row, abs=1e-12) for row in values.select(MEASURES).rows()
    ]
    assert_said(caught, captured.err)
