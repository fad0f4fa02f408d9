"""Artificial click logs of users with known behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from polars_graded._checks import check_choice, check_number, check_whole_number
from polars_graded._measuring.kernels.ragged import Floats, Mask
from polars_graded._measuring.keywords import checks_keywords

__all__ = ["simulated_log"]

UserModel: TypeAlias = Literal["pbm", "dbn", "dcm"]


@checks_keywords
def simulated_log(
    lists: int = 10_000,
    *,
    queries: int = 20,
    documents: int = 10,
    length: int | None = None,
    rankers: Mapping[str, float] | None = None,
    shuffled: float = 0.0,
    model: UserModel = "pbm",
    decay: float = 1.0,
    continuation: float = 1.0,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Return a click log of users with known behaviour.

    Each result list belongs to a random query and shows the ranking of a random ranker. Each
    document of a query has an attractiveness :math:`a`: the probability that a user who examines
    the document clicks it. It also has a satisfaction :math:`s`: the probability that a click
    satisfies the user. Both are random and independent: :math:`a` is the square of a uniform number
    from 0 to 1, and :math:`s` is uniform from 0.1 to 0.9.

    - `"pbm"`: the user examines rank r with the probability :math:`r^{-\text{decay}}`, independent
      of other ranks, and clicks an examined document with the probability a.
    - `"dbn"`: the user reads from the top and clicks an examined document with the probability a. A
      click satisfies the user with the probability s, and a satisfied user stops. A user who is not
      satisfied yet reads on with the probability `continuation`. With `continuation=1`, this is the
      simplified dynamic Bayesian network, in which a document's relevance is the product of a and
      s.
    - `"dcm"`: the dependent click model. The user reads from the top and clicks with the
      probability a. After a click at rank r the user reads on with the probability
      :math:`1 - r^{-\text{decay}} / 2`. Without a click the user always reads on.

    Parameters
    ----------
    lists
        Number of result lists.
    queries
        Number of queries.
    documents
        Number of documents of each query.
    length
        Number of documents in a list, by default all.
    rankers
        A mapping from the name of each ranker to a standard deviation of at least 0. A ranker sorts
        documents by attractiveness plus normal noise with this standard deviation. The noise is
        drawn once for each ranker, query and document. The default is `{"old": 0.5, "new": 0.1}`.
    shuffled
        The probability, from 0 to 1, that a list shows random documents in random order instead of
        a ranker's ranking.
    model
        The behaviour of users: `"pbm"`, `"dbn"` or `"dcm"`, as above.
    decay, continuation
        Parameters of the models. `"pbm"` and `"dcm"` use `decay`, which is at least 0. `"dbn"` uses
        `continuation`, which is from 0 to 1.
    seed
        The same seed gives the same frame.

    Returns
    -------
    DataFrame
        One row per document shown, list by list in the order of ranks: `session`, `query`, `doc`
        and `rank` (Int64, from 1), `ranker` (String, null for a shuffled list), `clicked`
        (Boolean), and the true `attractiveness` and `satisfaction` of the document (Float64).

    See Also
    --------
    polars_graded.clicks.estimate_pbm, polars_graded.clicks.estimate_sdbn : Estimators to test.

    References
    ----------
    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models,
    2008. Chapelle, Zhang: A dynamic Bayesian network click model for web search ranking, 2009. Guo,
    Liu, Wang: Efficient multiple-click models in web search, 2009 (the dependent click model).

    Examples
    --------
    >>> log = simulated_log(lists=2, documents=2, queries=1)
    >>> log.select("session", "query", "rank")
    shape: (4, 3)
    ┌─────────┬───────┬──────┐
    │ session ┆ query ┆ rank │
    │ ---     ┆ ---   ┆ ---  │
    │ i64     ┆ i64   ┆ i64  │
    ╞═════════╪═══════╪══════╡
    │ 1       ┆ 1     ┆ 1    │
    │ 1       ┆ 1     ┆ 2    │
    │ 2       ┆ 1     ┆ 1    │
    │ 2       ┆ 1     ┆ 2    │
    └─────────┴───────┴──────┘
    """
    for name, number in {"lists": lists, "queries": queries, "documents": documents}.items():
        check_whole_number(name, number)
    n_shown = (
        documents if length is None else check_whole_number("length", length, at_most=documents)
    )
    check_choice("model", model, get_args(UserModel))
    check_number("shuffled", shuffled, at_least=0, at_most=1)
    decay = float(check_number("decay", decay, at_least=0))
    check_number("continuation", continuation, at_least=0, at_most=1)
    if not (rankers is None or isinstance(rankers, Mapping)):
        msg = f"`rankers` must map names to noise, got {rankers!r}"
        raise TypeError(msg)
    noises = {"old": 0.5, "new": 0.1} if rankers is None else dict(rankers)
    if not noises:
        msg = "`rankers` must contain at least one ranker, got none"
        raise ValueError(msg)
    for noise in noises.values():
        check_number("rankers", noise, at_least=0)
    rng = np.random.default_rng(check_whole_number("seed", seed, at_least=0))
    attractiveness = rng.random((queries, documents)) ** 2
    satisfaction = rng.uniform(0.1, 0.9, (queries, documents))
    # One ranking per ranker and query: documents by descending attractiveness with noise.
    orders = np.stack(
        [
            np.argsort(-attractiveness - noise * rng.normal(size=(queries, documents)))[:, :n_shown]
            for noise in noises.values()
        ]
    )
    query = rng.integers(queries, size=lists)
    ranker = rng.integers(len(noises), size=lists)
    docs = orders[ranker, query]
    is_shuffled = rng.random(lists) < shuffled
    docs[is_shuffled] = np.argsort(rng.random((is_shuffled.sum(), documents)))[:, :n_shown]
    rows = query[:, np.newaxis]
    a, s = attractiveness[rows, docs], satisfaction[rows, docs]
    clicked = _simulate_clicks(rng, a, s, model, decay, continuation)
    ranker_names = pl.Series("ranker", [*noises]).gather(ranker).set(pl.Series(is_shuffled), None)
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(1, lists + 1), n_shown),
            "query": np.repeat(query + 1, n_shown),
            "doc": docs.ravel() + 1,
            "rank": np.tile(np.arange(1, n_shown + 1), lists),
            "ranker": ranker_names.gather(np.repeat(np.arange(lists), n_shown)),
            "clicked": clicked.ravel(),
            "attractiveness": a.ravel(),
            "satisfaction": s.ravel(),
        }
    )


def _simulate_clicks(
    rng: np.random.Generator, a: Floats, s: Floats, model: str, decay: float, continuation: float
) -> Mask:
    """Simulate the clicks, given attractiveness `a` and satisfaction `s`."""
    ranks = np.arange(1, a.shape[1] + 1)
    is_attracted = rng.random(a.shape) < a
    if model == "pbm":
        is_clicked: Mask = is_attracted & (rng.random(a.shape) < ranks**-decay)
        return is_clicked
    if model == "dbn":
        is_stop = is_attracted & (rng.random(a.shape) < s) | (rng.random(a.shape) >= continuation)
    else:
        is_stop = is_attracted & (rng.random(a.shape) < ranks**-decay / 2)
    # The user examines all ranks up to and including the first stop.
    is_examined: Mask = np.cumsum(is_stop, axis=1) - is_stop == 0
    return is_attracted & is_examined
