"""Write and read files of results, with the settings of `evaluate`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from polars_graded._frames.request import SETTINGS
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._writing import write_atomically

FORMATS = (".parquet", ".csv")


@checks_call
def write_results(per_query: Any, path: str | PathLike[str]) -> None:
    """Write the results of `evaluate` to a file, with the settings that produced them.

    The settings are each measure's full formula, the scale and the order of ties. They are known if
    the results come from `evaluate(..., fingerprint=)`. Such results also have a column `judgments`
    with a fingerprint of each query's judgments.

    In a CSV file, only the first row has the settings, if they are the same in all rows.

    The file is written atomically.

    Parameters
    ----------
    per_query
        Results: any data frame, eager or lazy.
    path
        A .parquet or .csv file. In a CSV file, numbers have all digits, a curve is a list of
        numbers separated by blanks, and null is an empty cell.

    Raises
    ------
    ValueError
        If the suffix of the file is neither .parquet nor .csv.

    See Also
    --------
    read_results : Read such a file.
    gate : Compare results with earlier ones, such as those of a file.

    Examples
    --------
    >>> import tempfile
    >>> from polars_graded import evaluate
    >>> from pathlib import Path
    >>> rows = pl.DataFrame(
    ...     {"query": ["001"] * 2, "doc": ["a", "b"], "grade": [0, 2], "score": [2, 1]}
    ... )
    >>> per_query = evaluate(rows, "ap", ties="doc", fingerprint="doc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_results(per_query, Path(folder, "main.csv"))
    ...     read_results(Path(folder, "main.csv")).drop("settings")
    shape: (1, 4)
    ┌──────────┬───────┬─────┬──────────────────┐
    │ strategy ┆ query ┆ ap  ┆ judgments        │
    │ ---      ┆ ---   ┆ --- ┆ ---              │
    │ str      ┆ str   ┆ f64 ┆ str              │
    ╞══════════╪═══════╪═════╪══════════════════╡
    │ score    ┆ 001   ┆ 0.5 ┆ d231d3379190d635 │
    └──────────┴───────┴─────┴──────────────────┘
    """
    file = _check_file(path)
    frame = per_query.lazy().collect()
    with write_atomically(file) as part:
        if file.suffix.lower() == ".parquet":
            frame.write_parquet(part)
            return
        if SETTINGS in frame.columns and frame[SETTINGS].n_unique() == 1:
            is_first = pl.int_range(pl.len()) == 0
            frame = frame.with_columns(pl.when(is_first).then(SETTINGS).alias(SETTINGS))
        # A cell of a CSV file holds no list, so blanks separate the values of a curve. Times are
        # cast to text here, since `write_csv` may format them differently. When `gate` compares new
        # results with the file, it casts the new times to text in the same way.
        curves = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
        lists = pl.col(curves).cast(pl.List(pl.String)).list.join(" ")
        times = (cs.datetime() | cs.time()).cast(pl.String)
        frame.with_columns(*([lists] if curves else []), times).write_csv(part)


@checks_call
def read_results(path: str | PathLike[str]) -> pl.DataFrame:
    r"""Read a file that `write_results` or the command has written.

    Parameters
    ----------
    path
        A .parquet or .csv file. In a CSV file, a column is read as numbers if it has the name of a
        measure, or if the settings list it as a measure. Curves and all other columns are text, so
        that an id such as 001 keeps its zeros.

    Returns
    -------
    DataFrame
        The results, with the columns `judgments` and `settings` if they come from
        `evaluate(..., fingerprint=)`.

    Raises
    ------
    ValueError
        If the suffix of the file is neither .parquet nor .csv, or if the file is damaged.

    See Also
    --------
    write_results : Write such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "main.csv")
    ...     _ = file.write_text("strategy,query,ap\n1,001,0.5\n1,08,0.25\n")
    ...     read_results(file)
    shape: (2, 3)
    ┌──────────┬───────┬──────┐
    │ strategy ┆ query ┆ ap   │
    │ ---      ┆ ---   ┆ ---  │
    │ str      ┆ str   ┆ f64  │
    ╞══════════╪═══════╪══════╡
    │ 1        ┆ 001   ┆ 0.5  │
    │ 1        ┆ 08    ┆ 0.25 │
    └──────────┴───────┴──────┘
    """
    file = _check_file(path)
    try:
        if file.suffix.lower() == ".parquet":
            return pl.read_parquet(file)
        frame = pl.read_csv(file, infer_schema=False)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        msg = f"{file} must be a complete file of results: {error}"
        raise ValueError(msg) from None
    if SETTINGS in frame.columns:
        frame = frame.with_columns(pl.col(SETTINGS).forward_fill())
    settings = read_settings(frame)
    return cast_measures(frame, settings[0]["measures"] if len(settings) == 1 else {})


def read_settings(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the distinct settings of results.

    Rows from several files can have different settings. The list is empty if no row has settings.
    """
    if SETTINGS not in frame.columns or frame.schema[SETTINGS] != pl.String:
        return []
    texts = frame[SETTINGS].drop_nulls().unique(maintain_order=True).to_list()
    try:
        return [json.loads(text) for text in texts]
    except json.JSONDecodeError as error:
        msg = f"column {SETTINGS!r} must have the text that `evaluate` writes: {error}"
        raise ValueError(msg) from None


def cast_measures(
    frame: pl.DataFrame, formulas: Mapping[str, str], key_columns: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the frame with text columns of measures converted to numbers.

    `key_columns` hold keys, even if they have the name of a measure. Another column holds a measure
    if its name is that of a measure, or is in `formulas`, which contains the measure of the column.
    Curves stay text.
    """
    numbers: dict[str, Any] = {}
    for name in frame.select(cs.string() - cs.by_name(key_columns, require_all=False)).columns:
        measure = Measure.try_parse(formulas.get(name, name))
        if measure is not None and measure.is_curve:
            continue
        if measure is not None:
            numbers[name] = measure.definition.dtype
        elif name in formulas:
            numbers[name] = pl.Float64()
    try:
        return frame.with_columns(pl.col(name).cast(dtype) for name, dtype in numbers.items())
    except pl.exceptions.InvalidOperationError as error:
        msg = f"columns of measures must be numbers, got text: {str(error).splitlines()[0]}"
        raise ValueError(msg) from None


def _check_file(path: str | PathLike[str]) -> Path:
    """Return the path of a file of results; raise if its suffix is not supported."""
    file = Path(fspath(path))
    if file.suffix.lower() not in FORMATS:
        msg = f"a file of results must be a .parquet or .csv file, got {file}"
        raise ValueError(msg)
    return file
