"""Check the installed package outside the project: `python -I smoke.py`."""

from __future__ import annotations

import sys
from importlib import metadata, resources
from pathlib import Path

import polars as pl

import polars_graded as pg

assert Path(pg.__file__).is_relative_to(sys.prefix), f"{pg.__file__} is not the installed package"
assert resources.files(pg).joinpath("py.typed").is_file()
assert metadata.version("polars-graded") == pg.__version__
assert not {"altair", "cyclopts", "scipy"} & set(sys.modules), "the import loads slow modules"

df = pl.DataFrame({"query": ["a", "a", "b", "b"], "grade": [0, 2, 1, 0], "score": [2, 1, 2, 1]})
g = pl.col("grade").graded.ranked_by("score")
table = df.group_by("query", maintain_order=True).agg(g.reciprocal_rank(), g.precision(1))
assert table.rows() == [("a", 1 / 2, 0.0), ("b", 1.0, 1.0)], table

per_query = pg.evaluate(pg.datasets.example(), "ap", "ndcg@10", by=["strong", "weak"])
summary = pg.summarise(per_query, "ap")
strong, weak = summary["mean"]
assert strong > weak
assert pg.compare(per_query, "ap", test="permutation")["p_value"].item() < 0.05
assert pg.charts.strategy_bars(summary).to_dict()["datasets"]
print(f"polars_graded {pg.__version__} works on Python {sys.version.split()[0]}")
