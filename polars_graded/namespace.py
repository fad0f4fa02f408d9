"""The `.graded` namespace, with one method per measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn

import polars as pl

from polars_graded._checks import check_column, did_you_mean
from polars_graded._measuring.document_inputs import DOCUMENT_INPUTS
from polars_graded._measuring.expression import measure_one, measure_several, rank_rows
from polars_graded._measuring.foreign_names import find_own_measures
from polars_graded._measuring.kernels.gains import Discount, GainName
from polars_graded._measuring.kernels.queries import Over, StrictTieRule, TieRule
from polars_graded._measuring.keywords import checks_call
from polars_graded._measuring.measures import Measure
from polars_graded._measuring.phi import ControlPoints, Direction, phi_relevance
from polars_graded._measuring.ranking import Ranking


@pl.api.register_expr_namespace("graded")
class Graded:
    """Ranking measures over a column of relevance grades.

    The rows of a group are the documents of one query. Without a group, all rows belong to one
    query. `ranked_by`, `scaled`, `undefined_as`, `condensed` and `where` specify how to read the
    rows and can be chained in any order. A measure ends the chain: it returns an expression with
    one value per query, named after the measure. The value is a Float64, for counts a UInt32, and
    for curves a List(Float64). `measures` returns several measures as a struct, and `phi_relevance`
    turns a column of scores into grades.

    =====  =====  =========================================================
    score  grade  a row means
    =====  =====  =========================================================
    value  value  retrieved and judged
    value  null   retrieved, not judged: takes its rank, is not relevant
    null   value  judged, not retrieved: no rank, but could have been found
    null   null   ignored
    =====  =====  =========================================================

    Each expression ranks the rows itself, since Polars shares no work between Python functions. For
    several measures of one ranking, use `measures`, which ranks the rows once:

        df.group_by("query").agg(g.mu_ap(), g.ndcng(10))
        df.group_by("query").agg(g.measures("mu_ap", "ndcng@10")).unnest("measures")

    Both return the same columns. Eight measures take about five times as long with separate
    expressions as with `measures`. `evaluate` ranks the rows once, too.

    A grade is a number or a Boolean. If a grade or a score is NaN or infinite, a `ValueError` names
    the column. A query without a relevant document gets the value of `undefined_as`, by default 0
    for nearly all measures.

    These parameters mean the same in all measures that have them:

    - `n`, the cutoff, at least 1: only the first n ranks count. By default all ranks count.
    - `threshold`, the lowest relevant grade; by default any grade above irrelevant is relevant. It
      must be above `irrelevant`, and at least `relevant_from`, if `scaled` sets these.
    - `ties`, the order of tied documents: `"order"` keeps their order in the ranking (that of the
      rows, or that of `ties=` in `evaluate`), `"pessimistic"` puts the worst document first, and
      `"optimistic"` the best. Most measures with `ties` also accept `"average"`, which returns the
      expected value over all orders of tied documents.
    - `gain`, the gain of a grade: `"exp2"` (2^g - 1, where g is the grade minus `irrelevant`),
      `"linear"` (g), or a mapping from grade to gain, in which a higher grade never has a lower
      gain. A document that is not relevant gains 0. An error is raised if the measure needs the
      gain of a grade that the mapping lacks. `"exp2"` raises an error for a grade more than 1000
      above irrelevant, since sums of such gains may overflow. (`"linear"` and `ndcng` accept such
      grades.)
    - `discount`, the factor of a gain at rank i: `"log2"` (1 / log_base(i + 1)),
      `"jarvelin"` (1 up to rank `base`, then 1 / log_base(i)), `"zipf"` (1 / i), or `"none"`
      (1); and `base`, the base of the logarithm, above 1.

    References
    ----------
    Chen, B. Retrieval evaluation (slides), after Baeza-Yates, R. and Ribeiro-Neto, B. (2011).
    Modern Information Retrieval, 2nd edition. Scheel, C., Lommatzsch, A. and Albayrak, S. (2011).
    Performance Measures for Multi-Graded Relevance.

    Examples
    --------
    >>> df = pl.DataFrame(
    ...     {
    ...         "query": ["a", "a", "a", "b", "b"],
    ...         "grade": [0, 2, 1, 3, None],
    ...         "score": [0.9, 0.8, 0.3, 0.4, 0.6],
    ...     }
    ... )
    >>> g = pl.col("grade").graded.ranked_by("score")
    >>> df.group_by("query", maintain_order=True).agg(g.precision(2), g.reciprocal_rank())
    shape: (2, 3)
    ┌───────┬─────────────┬─────────────────┐
    │ query ┆ precision@2 ┆ reciprocal_rank │
    │ ---   ┆ ---         ┆ ---             │
    │ str   ┆ f64         ┆ f64             │
    ╞═══════╪═════════════╪═════════════════╡
    │ a     ┆ 0.5         ┆ 0.5             │
    │ b     ┆ 0.5         ┆ 0.5             │
    └───────┴─────────────┴─────────────────┘
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._ranking = Ranking(expr)

    def _with(self, ranking: Ranking) -> Graded:
        other = Graded(ranking.grade)
        other._ranking = ranking
        return other

    def _one(self, function: str, n: int | None = None, **options: Any) -> pl.Expr:
        __tracebackhide__ = True
        columns = {
            name: check_column(name, options.pop(name)) for name in options.keys() & DOCUMENT_INPUTS
        }
        return measure_one(Measure.of(function, n, **options), self._ranking.with_inputs(**columns))

    # Reading of rows.

    def ranked_by(
        self, *by: str | pl.Expr, descending: bool | Sequence[bool] | None = None
    ) -> Graded:
        """Rank the rows of a query by columns, the highest value first.

        A row is retrieved if the first column is not null. Further columns break ties, with nulls
        last. Rows that are still tied keep their order. Without `ranked_by`, rows are in rank order
        and all are retrieved.

        Parameters
        ----------
        *by
            Column names or expressions. `ranked_by("score", "doc")` is trec_eval's order
            if documents are texts.
        descending
            True ranks the highest value first, and False the lowest, as for rank numbers. Pass one
            Boolean for all columns, or a list. By default the highest value is first, and a
            column that looks like ranks raises an error.

        Raises
        ------
        ValueError
            If `descending` is not passed and a column looks like ranks, as for `evaluate`. Without
            `group_by` or `over`, only a column `rank` is recognised, since one query is too few. A
            column that breaks ties is not checked if it has a usual name of documents, such as
            `"doc"`, or is computed by an expression.

        Notes
        -----
        If rows remain tied, `ties="pessimistic"` and `"optimistic"` return bounds of the value over
        all orders. The bounds hold for all measures with `ties` except `infap` and `bpm`, which may
        fall when a better document moves up. With a cutoff, `ap(over="retrieved")` and
        `pairwise_accuracy` are exceptions, too.

        References
        ----------
        Cabanac et al. (2010). Tie-breaking bias: effect of an uncontrolled parameter on
        information retrieval evaluation. McSherry, F. and Najork, M. (2008). Computing information
        retrieval performance measures efficiently in the presence of tied scores.

        Examples
        --------
        The document without a rank was not retrieved; recall counts it as missed.

        >>> df = pl.DataFrame({"grade": [1, 1, 0], "rank": [2, None, 1]})
        >>> df.select(pl.col("grade").graded.ranked_by("rank", descending=False).recall())
        shape: (1, 1)
        ┌────────┐
        │ recall │
        │ ---    │
        │ f64    │
        ╞════════╡
        │ 0.5    │
        └────────┘
        """
        return self._with(self._ranking.ranked_by(by, descending=descending))

    def scaled(
        self,
        irrelevant: float = 0.0,
        max_grade: float | None = None,
        relevant_from: float | None = None,
    ) -> Graded:
        """Set the scale of the grades, and the lowest relevant grade.

        Parameters
        ----------
        irrelevant
            The grade that means not relevant. It counts as 0, and so does any lower grade, except
            in `infap`. For stars from 1 to 5, pass `irrelevant=1`.
        max_grade
            The highest grade of the scale, for measures that depend on it; by default the
            highest judged grade of the query. A higher grade raises an error when the expression
            is evaluated.
        relevant_from
            The lowest relevant grade, above `irrelevant` and at most `max_grade`; by default any
            grade above `irrelevant`. Documents of lower grades are judged but gain nothing; other
            gains stay the same. The `threshold` of a measure must not be lower.

        Examples
        --------
        One star counts as 0, so 5 stars gain 4 and 3 stars gain 2. For `liked`, 3 stars are below
        `relevant_from` and gain 0:

        >>> df = pl.DataFrame({"stars": [1, 5, 3]})
        >>> g = pl.col("stars").graded.scaled(irrelevant=1)
        >>> liked = g.scaled(irrelevant=1, relevant_from=3.5)
        >>> df.select(g.cg(gain="linear"), liked=liked.cg(gain="linear"), ap=liked.ap())
        shape: (1, 3)
        ┌─────────────────┬───────┬─────┐
        │ cg(gain=linear) ┆ liked ┆ ap  │
        │ ---             ┆ ---   ┆ --- │
        │ f64             ┆ f64   ┆ f64 │
        ╞═════════════════╪═══════╪═════╡
        │ 6.0             ┆ 4.0   ┆ 0.5 │
        └─────────────────┴───────┴─────┘
        """
        scale = self._ranking.scale.with_grades(irrelevant, max_grade, relevant_from)
        return self._with(replace(self._ranking, scale=scale))

    def undefined_as(self, value: float | None = 0.0) -> Graded:
        """Set the value for queries where a measure is undefined.

        Most measures are undefined for a query without a relevant document. If `undefined_as` is
        not called, most measures return 0 for such a query. `roc_auc` and `pairwise_accuracy`
        return null, since 0 would mean worse than chance (1/2). `e_measure` is one minus F, so it
        returns one minus `value`. If φ is undefined for a query, `phi_relevance` returns `value`
        for each score of the query, or null if `undefined_as` is not called. `value` does not apply
        to counts, `judged`, `popularity`, `novelty`, `diversity` and `unexpectedness`, which need
        no relevant document.

        Parameters
        ----------
        value
            A number, or None for null, which excludes the query from means. The default is 0, as in
            trec_eval, LETOR and scikit-learn.

        Examples
        --------
        >>> df = pl.DataFrame({"query": ["a", "a", "b"], "grade": [0, 1, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(
        ...     zero=g.ap(), left_out=g.undefined_as(None).ap()
        ... )
        shape: (2, 3)
        ┌───────┬──────┬──────────┐
        │ query ┆ zero ┆ left_out │
        │ ---   ┆ ---  ┆ ---      │
        │ str   ┆ f64  ┆ f64      │
        ╞═══════╪══════╪══════════╡
        │ a     ┆ 0.5  ┆ 0.5      │
        │ b     ┆ 0.0  ┆ null     │
        └───────┴──────┴──────────┘
        """
        return self._with(replace(self._ranking, scale=self._ranking.scale.with_undefined(value)))

    def only_grade(self, grade: float) -> Graded:
        """Treat one grade alone as relevant, and all others as irrelevant.

        Every measure then uses the grades 1 and 0, and a previous `scaled` no longer matters. If
        higher grades are relevant as well, pass a `threshold` instead.

        Parameters
        ----------
        grade
            The relevant grade. 0.1 also matches the 0.1 of a Float32 column.

        Examples
        --------
        The first grade of at least 2 is at rank 1; the first grade of exactly 2 is at rank 3.

        >>> df = pl.DataFrame({"grade": [3, 0, 2, 1]})
        >>> g = pl.col("grade").graded
        >>> df.select(g.reciprocal_rank(threshold=2), exactly=g.only_grade(2).reciprocal_rank())
        shape: (1, 2)
        ┌──────────────────────────────┬──────────┐
        │ reciprocal_rank(threshold=2) ┆ exactly  │
        │ ---                          ┆ ---      │
        │ f64                          ┆ f64      │
        ╞══════════════════════════════╪══════════╡
        │ 1.0                          ┆ 0.333333 │
        └──────────────────────────────┴──────────┘
        """
        return self._with(self._ranking.only_grade(grade))

    def condensed(self) -> Graded:
        """Drop unjudged documents from the ranking before measuring.

        Judged documents move up to the ranks of the unjudged ones (trec_eval's `-J`). By default an
        unjudged document keeps its rank and counts as not relevant.

        Examples
        --------
        >>> df = pl.DataFrame({"grade": [None, 1]})
        >>> g = pl.col("grade").graded
        >>> df.select(g.reciprocal_rank(), condensed=g.condensed().reciprocal_rank())
        shape: (1, 2)
        ┌─────────────────┬───────────┐
        │ reciprocal_rank ┆ condensed │
        │ ---             ┆ ---       │
        │ f64             ┆ f64       │
        ╞═════════════════╪═══════════╡
        │ 0.5             ┆ 1.0       │
        └─────────────────┴───────────┘
        """
        return self._with(replace(self._ranking, condensed=True))

    def where(self, rows: str | pl.Expr) -> Graded:
        """Keep some rows, and ignore the others.

        Ignored rows are neither retrieved nor judged. They have no rank, and do not count in ideal
        rankings or among the relevant documents. (To make a document unjudged, set its grade to
        null.) After two calls, only the rows that both calls keep are used. `phi_relevance` uses
        all rows.

        Parameters
        ----------
        rows
            A Boolean column, or an expression; null is False.

        Examples
        --------
        Recent documents alone:

        >>> df = pl.DataFrame(
        ...     {"grade": [2, 0, 1], "score": [3, 2, 1], "year": [1999, 2024, 2025]}
        ... )
        >>> g = pl.col("grade").graded.ranked_by("score")
        >>> df.select(
        ...     g.reciprocal_rank(), recent=g.where(pl.col("year") > 2000).reciprocal_rank()
        ... )
        shape: (1, 2)
        ┌─────────────────┬────────┐
        │ reciprocal_rank ┆ recent │
        │ ---             ┆ ---    │
        │ f64             ┆ f64    │
        ╞═════════════════╪════════╡
        │ 1.0             ┆ 0.5    │
        └─────────────────┴────────┘
        """
        mask = check_column("rows", rows)
        if self._ranking.is_used is not None:
            mask = self._ranking.is_used & mask
        return self._with(replace(self._ranking, is_used=mask))

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error for a misspelt measure, with the nearest name."""
        methods = [each for each in dir(type(self)) if not each.startswith("_")]
        own_name = next((each.measure for each in find_own_measures(name, methods)), name)
        hint = did_you_mean(own_name.partition("(")[0].partition("@")[0], methods)
        msg = f"`.graded` has no method {name!r}{hint}"
        raise AttributeError(msg, name=name, obj=None)

    # Relevance from scores.

    def phi_relevance(
        self,
        control_points: ControlPoints | None = None,
        whisker: float = 1.5,
        *,
        floor: float | None = None,
        direction: Direction = "high",
    ) -> pl.Expr:
        r"""Return φ, relevance derived from the distribution of scores.

        The column contains scores: finite numbers or null. Without a group, the whole column is one
        query, so separate the queries with `.over("query")`.
        `evaluate(grade=pl.col("popularity").graded.phi_relevance())` computes φ for each query.

        By default, relevance is 0 up to the median score and 1 at the highest score. In between it
        rises along a monotone curve, a piecewise cubic Hermite interpolation (PCHIP) through the
        control points

        .. math:: (\min, 0), \quad (\mathrm{median}, 0), \quad (\max, 1),

        and, if scores lie beyond the upper whisker :math:`w` of a box plot, also

        .. math::
            (w, 1 - \alpha), \qquad \alpha = \frac{\max - w}{\max - \min}.

        As text: ``(min, 0), (median, 0), (w, 1 - (max - w) / (max - min)), (max, 1)``

        If all scores are equal, φ is undefined. The page "Relevance from scores" of the
        documentation defines the whisker, the points that coincide and the curve for low scores.

        Parameters
        ----------
        control_points
            Pairs (score, relevance) that replace the points above and all other parameters: at
            least two, with increasing scores and relevance from 0 to 1.
        whisker
            Number, at least 0, that decides which scores are outliers: those that exceed the upper
            hinge by more than `whisker` times the distance between the hinges.
        floor
            Only scores above the floor count for the median, the hinges and the whisker; scores up
            to it have relevance 0. `floor=0` leaves out scores of 0. φ is undefined for a query
            without a score above it. A floor needs direction `"high"`.
        direction
            The scores that are relevant: `"high"`; `"low"`, which mirrors the curve; or `"both"`,
            the extremes on both sides, for which the median has relevance 0 and both ends have 1.

        Returns
        -------
        Expr
            Float64 from 0 to 1 under the column's name. It is null if the score is null. Where φ is
            undefined, it is null or the value of `undefined_as`.

        See Also
        --------
        phi_control_points : The control points of every query.
        phi_curve : φ over the range of the scores.

        References
        ----------
        Moniz, Torgo, Vinagre: Data-driven relevance judgments for ranking evaluation, 2016, section
        3.1 and equation 2. Ribeiro, Moniz: Imbalanced regression and extreme value prediction,
        2020. Fritsch, Butland: A method for constructing local monotone piecewise cubic
        interpolants, 1984.

        Examples
        --------
        The most popular news is an outlier. 30 is the upper whisker, with relevance 1 - 70 / 90:

        >>> df = pl.DataFrame({"day": 1, "popularity": [10, 15, 20, 30, 100, None]})
        >>> phi = pl.col("popularity").graded.phi_relevance().over("day")
        >>> df.with_columns(phi.round(3).alias("relevance"))
        shape: (6, 3)
        ┌─────┬────────────┬───────────┐
        │ day ┆ popularity ┆ relevance │
        │ --- ┆ ---        ┆ ---       │
        │ i32 ┆ i64        ┆ f64       │
        ╞═════╪════════════╪═══════════╡
        │ 1   ┆ 10         ┆ 0.0       │
        │ 1   ┆ 15         ┆ 0.0       │
        │ 1   ┆ 20         ┆ 0.0       │
        │ 1   ┆ 30         ┆ 0.222     │
        │ 1   ┆ 100        ┆ 1.0       │
        │ 1   ┆ null       ┆ null      │
        └─────┴────────────┴───────────┘
        """
        scale = self._ranking.scale
        return phi_relevance(
            self._ranking.grade,
            control_points,
            whisker,
            floor=floor,
            direction=direction,
            undefined=None if scale.undefined == "default" else scale.undefined,
        )

    # Several measures at once.

    def measures(
        self,
        *names: str,
        known: str | pl.Expr | None = None,
        subtopics: str | pl.Expr | None = None,
        popularity: str | pl.Expr | None = None,
        features: str | pl.Expr | None = None,
        reference: str | pl.Expr | None = None,
    ) -> pl.Expr:
        """Return several measures over one ranking as a struct.

        Rows are ranked once, so eight measures take about a fifth of the time of eight separate
        expressions.

        Parameters
        ----------
        *names
            Names of measures, such as `"mu_ap"`, `"ndcg@10"`, `"ap(threshold=2)@100"` or
            `"dcg(gain=linear, base=10)"`. The fields of the struct have these names.
        known
            Column that is true if the user knew the document. `coverage_ratio`, `novelty_ratio`,
            `relative_recall` and `recall_effort` need it.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Measures of subtopics, such as `alpha_ndcg` and `err_ia`, need it.
        popularity
            Column with the popularity of each document, for `popularity` and `novelty`.
        features
            Column with the category, the list of categories or the vector of each document, for
            `diversity`.
        reference
            Column with the rank of each document in a reference ranking, or a Boolean column that
            is true for documents that the reference recommends. `unexpectedness` and `serendipity`
            need it.

        Returns
        -------
        Expr
            A struct named `measures`. `.unnest("measures")` of the frame turns it into columns.
            (`.struct.unnest()` of the expression would make Polars compute the struct once for each
            field.)

        Examples
        --------
        >>> df = pl.DataFrame({"query": ["a", "a", "b"], "grade": [0, 1, 1]})
        >>> df.group_by("query", maintain_order=True).agg(
        ...     pl.col("grade").graded.measures("ap", "precision@1")
        ... ).unnest("measures")
        shape: (2, 3)
        ┌───────┬─────┬─────────────┐
        │ query ┆ ap  ┆ precision@1 │
        │ ---   ┆ --- ┆ ---         │
        │ str   ┆ f64 ┆ f64         │
        ╞═══════╪═════╪═════════════╡
        │ a     ┆ 0.5 ┆ 0.0         │
        │ b     ┆ 1.0 ┆ 1.0         │
        └───────┴─────┴─────────────┘

        If one `agg` measures two rankings, give each struct its own name:
        `.measures(...).alias("bm25")`. `evaluate` returns separate rows for each ranking.
        """
        ranking = self._ranking.with_inputs(
            known=known,
            subtopics=subtopics,
            popularity=popularity,
            features=features,
            reference=reference,
        )
        return measure_several(map(Measure.parse, names), ranking)

    # Ranks.

    def rank(self) -> pl.Expr:
        """Return the rank of each row, to filter or aggregate other columns.

        These are the ranks that all measures use. Rows that are equal in all columns get different
        ranks, in the order of the rows. With `condensed`, unjudged documents have no rank.

        Returns
        -------
        Expr
            A column `rank` (UInt32) with one value per row, from 1. It is null for a document that
            was not retrieved, and for a row that `where` leaves out. Use `over` to rank the rows of
            each query in `select` and `with_columns`.

        See Also
        --------
        precision : The share of relevant documents among the first ranks.

        Examples
        --------
        The mean price of the first two results of each query:

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "b", "b"],
        ...         "grade": [1, 0, 2, 0, 1],
        ...         "score": [0.5, 0.9, 0.7, None, 0.3],
        ...         "price": [10.0, 30.0, 20.0, 5.0, 8.0],
        ...     }
        ... )
        >>> g = pl.col("grade").graded.ranked_by("score")
        >>> df.with_columns(g.rank().over("query"))
        shape: (5, 5)
        ┌───────┬───────┬───────┬───────┬──────┐
        │ query ┆ grade ┆ score ┆ price ┆ rank │
        │ ---   ┆ ---   ┆ ---   ┆ ---   ┆ ---  │
        │ str   ┆ i64   ┆ f64   ┆ f64   ┆ u32  │
        ╞═══════╪═══════╪═══════╪═══════╪══════╡
        │ a     ┆ 1     ┆ 0.5   ┆ 10.0  ┆ 3    │
        │ a     ┆ 0     ┆ 0.9   ┆ 30.0  ┆ 1    │
        │ a     ┆ 2     ┆ 0.7   ┆ 20.0  ┆ 2    │
        │ b     ┆ 0     ┆ null  ┆ 5.0   ┆ null │
        │ b     ┆ 1     ┆ 0.3   ┆ 8.0   ┆ 1    │
        └───────┴───────┴───────┴───────┴──────┘
        >>> df.group_by("query", maintain_order=True).agg(
        ...     pl.col("price").filter(g.rank() <= 2).mean()
        ... )
        shape: (2, 2)
        ┌───────┬───────┐
        │ query ┆ price │
        │ ---   ┆ ---   │
        │ str   ┆ f64   │
        ╞═══════╪═══════╡
        │ a     ┆ 25.0  │
        │ b     ┆ 8.0   │
        └───────┴───────┘
        """
        return rank_rows(self._ranking).struct.field("rank")

    # Counting relevant documents.

    def precision(
        self, n: int | None = None, *, threshold: float | None = None, ties: TieRule = "order"
    ) -> pl.Expr:
        r"""Return the share of the first n documents that is relevant.

        The divisor is n even if the list is shorter; without n it is the number of retrieved
        documents.

        .. math:: P@n = \frac{1}{n} \sum_{i=1}^{n} rel(i)

        As text: ``P@n = (rel(1) + … + rel(n)) / n``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        recall : The share of all relevant documents that was retrieved.
        precision_curve : Precision at every rank.
        generalized_precision : Precision of graded relevance.

        Examples
        --------
        In query a, the documents at ranks 1, 3 and 4 are relevant; in query b, none is.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.precision(2), g.precision())
        shape: (2, 3)
        ┌───────┬─────────────┬───────────┐
        │ query ┆ precision@2 ┆ precision │
        │ ---   ┆ ---         ┆ ---       │
        │ str   ┆ f64         ┆ f64       │
        ╞═══════╪═════════════╪═══════════╡
        │ a     ┆ 0.5         ┆ 0.75      │
        │ b     ┆ 0.0         ┆ 0.0       │
        └───────┴─────────────┴───────────┘
        """
        return self._one("precision", n, threshold=threshold, ties=ties)

    def recall(
        self,
        n: int | None = None,
        *,
        threshold: float | None = None,
        over: Over = "relevant",
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return the share of the relevant documents that is among the first n.

        All relevant documents count in R; those that were not retrieved count as missed.

        .. math:: R@n = \frac{1}{R} \sum_{i=1}^{n} rel(i)

        As text: ``R@n = (rel(1) + … + rel(n)) / R``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.
        over
            Divisor of the sum: `"relevant"`, all R relevant documents; `"cutoff"`, min(n, R), so
            that a perfect top n gives 1.

        See Also
        --------
        precision : The share of the retrieved documents that is relevant.
        recall_curve : Recall at every rank.
        generalized_recall : Recall of graded relevance.

        Examples
        --------
        Query a has relevant documents at ranks 1, 3 and 4, so recall is 1/3 at rank 1 and 2/3 at
        rank 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.recall(1), g.recall(3))
        shape: (2, 3)
        ┌───────┬──────────┬──────────┐
        │ query ┆ recall@1 ┆ recall@3 │
        │ ---   ┆ ---      ┆ ---      │
        │ str   ┆ f64      ┆ f64      │
        ╞═══════╪══════════╪══════════╡
        │ a     ┆ 0.333333 ┆ 0.666667 │
        │ b     ┆ 0.0      ┆ 0.0      │
        └───────┴──────────┴──────────┘
        """
        return self._one("recall", n, threshold=threshold, over=over, ties=ties)

    def f_measure(
        self,
        n: int | None = None,
        *,
        beta: float = 1.0,
        threshold: float | None = None,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return F, the weighted harmonic mean of precision and recall.

        P is the precision and R the recall of the first n documents. F is 0 if both are 0.

        .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

        As text: ``F = (1 + beta²) P R / (beta² P + R)``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides),
        alternative measures, method 1. Van Rijsbergen, C. J. (1979). Information Retrieval, 2nd
        edition.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.
        beta
            Weight of recall relative to precision, above 0, at most 1e100.

        See Also
        --------
        e_measure : One minus F.
        max_f_measure : The highest F at any rank.

        Examples
        --------
        Query a: P = 1/2 and R = 1/3, so F = 2 · 1/6 / (5/6).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.f_measure(2))
        shape: (2, 2)
        ┌───────┬─────────────┐
        │ query ┆ f_measure@2 │
        │ ---   ┆ ---         │
        │ str   ┆ f64         │
        ╞═══════╪═════════════╡
        │ a     ┆ 0.4         │
        │ b     ┆ 0.0         │
        └───────┴─────────────┘
        """
        return self._one("f_measure", n, beta=beta, threshold=threshold, ties=ties)

    def e_measure(
        self,
        n: int | None = None,
        *,
        b: float = 1.0,
        threshold: float | None = None,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return E, one minus the weighted harmonic mean of precision and recall.

        P is the precision and R the recall of the first n documents. Lower is better: 0 is perfect,
        and 1 means that nothing relevant was found.

        .. math:: E_b = 1 - \frac{1 + b^2}{\frac{b^2}{R} + \frac{1}{P}}

        As text: ``E = 1 - (1 + b²) / (b² / R + 1 / P)``

        From 0 to 1. A query without a relevant document gets 1, or one minus the value of
        `undefined_as`, since E is one minus F. Source: Chen, B. Retrieval evaluation (slides),
        alternative measures, method 2. Van Rijsbergen, C. J. (1979). Information Retrieval, 2nd
        edition.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.
        b
            Weight of recall relative to precision, above 0, at most 1e100.

        See Also
        --------
        f_measure : One minus E.

        Examples
        --------
        Query a: 1 - 2 / (3 + 2).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.e_measure(2))
        shape: (2, 2)
        ┌───────┬─────────────┐
        │ query ┆ e_measure@2 │
        │ ---   ┆ ---         │
        │ str   ┆ f64         │
        ╞═══════╪═════════════╡
        │ a     ┆ 0.6         │
        │ b     ┆ 1.0         │
        └───────┴─────────────┘
        """
        return self._one("e_measure", n, b=b, threshold=threshold, ties=ties)

    def max_f_measure(
        self,
        n: int | None = None,
        *,
        beta: float = 1.0,
        threshold: float | None = None,
        ties: StrictTieRule = "order",
    ) -> pl.Expr:
        r"""Return maximal F, the highest F measure at any of the first n ranks.

        This is F at the cutoff that is best for each query.

        .. math:: \max_{k \le n} F_\beta@k

        As text: ``the highest F@k for k from 1 to n``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides),
        alternative measures, method 1.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of ties (not `"average"`): see
            `Graded`.
        beta
            Weight of recall relative to precision, above 0, at most 1e100.

        See Also
        --------
        f_measure_curve : F at every rank.

        Examples
        --------
        Query a has 3 relevant documents, so F at rank k is 2 · hits / (k + 3): 2/4, 2/5, 4/6 and
        6/7 at ranks 1 to 4.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.max_f_measure(), g.max_f_measure(2))
        shape: (2, 3)
        ┌───────┬───────────────┬─────────────────┐
        │ query ┆ max_f_measure ┆ max_f_measure@2 │
        │ ---   ┆ ---           ┆ ---             │
        │ str   ┆ f64           ┆ f64             │
        ╞═══════╪═══════════════╪═════════════════╡
        │ a     ┆ 0.857143      ┆ 0.5             │
        │ b     ┆ 0.0           ┆ 0.0             │
        └───────┴───────────────┴─────────────────┘
        """
        return self._one("max_f_measure", n, beta=beta, threshold=threshold, ties=ties)

    def r_precision(self, *, threshold: float | None = None, ties: TieRule = "order") -> pl.Expr:
        r"""Return precision at rank R, where R is the number of relevant documents.

        R counts all relevant documents, retrieved or not.

        .. math:: P@R = \frac{1}{R} \sum_{i=1}^{R} rel(i)

        As text: ``P@R = (rel(1) + … + rel(R)) / R``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides),
        method 2.

        Parameters
        ----------
        threshold, ties
            The lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        precision : Precision at a given rank.
        precision_at_hit : Precision at a given relevant document.

        Examples
        --------
        Query a has R = 3, and 2 of its first 3 documents are relevant.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.r_precision())
        shape: (2, 2)
        ┌───────┬─────────────┐
        │ query ┆ r_precision │
        │ ---   ┆ ---         │
        │ str   ┆ f64         │
        ╞═══════╪═════════════╡
        │ a     ┆ 0.666667    │
        │ b     ┆ 0.0         │
        └───────┴─────────────┘
        """
        return self._one("r_precision", threshold=threshold, ties=ties)

    def precision_at_hit(
        self, *, k: int = 1, threshold: float | None = None, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return precision at the rank of the k-th relevant document.

        The value is 0 if fewer than k relevant documents were retrieved. With k = 1 the value is
        `reciprocal_rank`; the mean over k from 1 to R is `ap`.

        .. math:: \frac{k}{\min \{i : \sum_{j=1}^{i} rel(j) = k\}}

        As text: ``k / (rank of the k-th relevant document)``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides),
        average precision at seen relevant documents.

        Parameters
        ----------
        k
            Which relevant document, counted from the top of the list: 1 is the first.
        threshold, ties
            The lowest relevant grade and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        r_precision : Precision at rank R.

        Examples
        --------
        The second relevant document of query a is at rank 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.precision_at_hit(k=2))
        shape: (2, 2)
        ┌───────┬───────────────────────┐
        │ query ┆ precision_at_hit(k=2) │
        │ ---   ┆ ---                   │
        │ str   ┆ f64                   │
        ╞═══════╪═══════════════════════╡
        │ a     ┆ 0.666667              │
        │ b     ┆ 0.0                   │
        └───────┴───────────────────────┘
        """
        return self._one("precision_at_hit", k=k, threshold=threshold, ties=ties)

    def reciprocal_rank(
        self, n: int | None = None, *, threshold: float | None = None, ties: TieRule = "order"
    ) -> pl.Expr:
        r"""Return one over the rank of the first relevant document.

        The value is 0 if none of the first n documents is relevant. The mean over queries is MRR.

        .. math:: RR = \frac{1}{\min \{i \le n : rel(i) = 1\}}

        As text: ``RR = 1 / (rank of the first relevant document, up to n)``

        From 0 to 1; 0 without a relevant document. Source: Voorhees, E. M. (1999). The TREC-8
        Question Answering Track Report.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        success : 1 if there is a relevant document.
        precision_at_hit : k over the rank of the k-th relevant document.

        Examples
        --------
        In query a, the first relevant document is at rank 1, and the first of grade 2 or more at
        rank 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(
        ...     g.reciprocal_rank(), g.reciprocal_rank(threshold=2)
        ... )
        shape: (2, 3)
        ┌───────┬─────────────────┬──────────────────────────────┐
        │ query ┆ reciprocal_rank ┆ reciprocal_rank(threshold=2) │
        │ ---   ┆ ---             ┆ ---                          │
        │ str   ┆ f64             ┆ f64                          │
        ╞═══════╪═════════════════╪══════════════════════════════╡
        │ a     ┆ 1.0             ┆ 0.333333                     │
        │ b     ┆ 0.0             ┆ 0.0                          │
        └───────┴─────────────────┴──────────────────────────────┘
        """
        return self._one("reciprocal_rank", n, threshold=threshold, ties=ties)

    def success(
        self, n: int | None = None, *, threshold: float | None = None, ties: TieRule = "order"
    ) -> pl.Expr:
        r"""Return 1 if a relevant document is among the first n, else 0.

        In recommendation, the mean of this measure is called the hit rate.

        .. math:: S@n = \max_{i \le n} rel(i)

        As text: ``S@n = 1 if one of rel(1) … rel(n) is 1, else 0``

        0 or 1, or a value in between with averaged ties. A query without a relevant document gets
        0, or the value of `undefined_as`. Source: Craswell, N. and Hawking, D. (2004). Overview of
        the TREC-2004 Web Track.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        reciprocal_rank : One over the rank of the first relevant document.
        n_relevant_retrieved : The number of relevant documents among the first n.

        Examples
        --------
        The first document of query a has grade 1.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.success(1), g.success(1, threshold=2))
        shape: (2, 3)
        ┌───────┬───────────┬────────────────────────┐
        │ query ┆ success@1 ┆ success(threshold=2)@1 │
        │ ---   ┆ ---       ┆ ---                    │
        │ str   ┆ f64       ┆ f64                    │
        ╞═══════╪═══════════╪════════════════════════╡
        │ a     ┆ 1.0       ┆ 0.0                    │
        │ b     ┆ 0.0       ┆ 0.0                    │
        └───────┴───────────┴────────────────────────┘
        """
        return self._one("success", n, threshold=threshold, ties=ties)

    def bpref(self, *, threshold: float | None = None, ties: StrictTieRule = "order") -> pl.Expr:
        r"""Return binary preference (bpref) of relevant over irrelevant documents.

        Only judged documents count: R relevant and N irrelevant ones. A hit is a relevant document
        that was retrieved. Each irrelevant document above a hit reduces the contribution of the
        hit, but at most R irrelevant documents count. If N is 0, each hit contributes 1. A grade
        below irrelevant counts as irrelevant (trec_eval treats -1 as unjudged).

        .. math::

            bpref = \frac{1}{R} \sum_{hits}
            \left(1 - \frac{\min(others\ above, R)}{\min(R, N)}\right)

        As text: ``bpref = (1 / R) sum over hits of (1 - min(others above, R) / min(R, N))``

        From 0 to 1; 0 without a relevant document. Source: Buckley, C. and Voorhees, E. M. (2004).
        Retrieval Evaluation with Incomplete Information, in the form of trec_eval 8 and later.

        Parameters
        ----------
        threshold, ties
            The lowest relevant grade and the order of ties, which cannot be `"average"`: see
            `Graded`.

        See Also
        --------
        roc_auc : The share of pairs of judged documents that are in the right order.
        condensed : Drop unjudged documents, for any measure.

        Examples
        --------
        Query a has R = 3 and N = 1: the irrelevant document is above two of the three hits.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.bpref())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ bpref    │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.333333 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("bpref", threshold=threshold, ties=ties)

    def roc_auc(self, *, threshold: float | None = None, ties: TieRule = "average") -> pl.Expr:
        r"""Return the area under the ROC curve: the share of well-ordered pairs.

        A pair consists of one of the R relevant and one of the N other judged documents of the
        query. It is in the right order if the relevant document is ranked higher. By default, a
        tied pair counts half. Documents that were not retrieved are tied below all others, and a
        pair of two such documents always counts half. Unjudged documents do not count.

        .. math::

            AUC = \frac{|\{(r, o) : r \succ o\}| + \frac{1}{2} |\{(r, o) : r \sim o\}|}{R \cdot N}

        As text: ``(pairs with the relevant one above + tied pairs / 2) / (R N)``

        From 0 to 1. If all or none of the judged documents of a query are relevant, there is no
        pair, and the value is null, or that of `undefined_as`. Source: Scheel et al. (2011),
        section 2.3. Hanley, J. A. and McNeil, B. J. (1982).

        Parameters
        ----------
        threshold
            The lowest relevant grade: see `Graded`.
        ties
            Order of tied documents: with `"average"`, a tied pair counts half; `"pessimistic"` puts
            the worst document first, and `"optimistic"` the best; `"order"` keeps the order of the
            rows.

        See Also
        --------
        bpref : A similar measure, in which at most R irrelevant documents count per hit.

        Examples
        --------
        In query a, one of the three relevant documents is above the irrelevant one.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.roc_auc())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ roc_auc  │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.333333 │
        │ b     ┆ null     │
        └───────┴──────────┘
        """
        return self._one("roc_auc", threshold=threshold, ties=ties)

    def pairwise_accuracy(
        self, n: int | None = None, *, threshold: float | None = None, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return the share of retrieved pairs that are in the right order.

        A pair is a relevant and an irrelevant document, both among the first n. Unjudged documents
        count as irrelevant. (`roc_auc` compares judged documents, retrieved or not.)

        .. math::

            Acc@n = \frac{|\{(i, j) : rel(i) = 1, rel(j) =
            0, i < j \leq n\}|}{|\{(i, j) : rel(i) = 1, rel(j) = 0; i, j \leq n\}|}

        As text: ``Acc@n = pairs with the relevant document first / all pairs``

        From 0 to 1. Without a pair, the value is null, or that of `undefined_as`. Source:
        `Accuracy` of ir_measures.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of ties (not `"average"`): see
            `Graded`.

        See Also
        --------
        roc_auc : The share of pairs of judged documents, retrieved or not.

        Examples
        --------
        Query a: the relevant documents at ranks 1 and 3 make two pairs with the irrelevant one at
        rank 2, and one of the pairs is in the right order.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.pairwise_accuracy(3))
        shape: (2, 2)
        ┌───────┬─────────────────────┐
        │ query ┆ pairwise_accuracy@3 │
        │ ---   ┆ ---                 │
        │ str   ┆ f64                 │
        ╞═══════╪═════════════════════╡
        │ a     ┆ 0.5                 │
        │ b     ┆ null                │
        └───────┴─────────────────────┘
        """
        return self._one("pairwise_accuracy", n, threshold=threshold, ties=ties)

    def generalized_precision(self, n: int | None = None, *, ties: TieRule = "order") -> pl.Expr:
        r"""Return generalized precision: the mean grade as a share of the highest.

        g(i) is the grade at rank i minus `irrelevant`, at least 0. :math:`m_q` is the highest grade
        minus `irrelevant`. The highest grade is the `max_grade` of `scaled`, or else the highest
        judged grade of the query. The divisor is n even if the list is shorter; without n it is the
        number of retrieved documents.

        .. math:: gP@n = \frac{1}{n} \sum_{i=1}^{n} \frac{g(i)}{m_q}

        As text: ``gP@n = (g(1) / m_q + … + g(n) / m_q) / n``

        From 0 to 1; 0 without a relevant document. Source: Kekäläinen, J. and Järvelin, K. (2002).
        Using graded relevance assessments in IR evaluation.

        Parameters
        ----------
        n, ties
            The cutoff and the order of tied documents: see `Graded`.

        See Also
        --------
        precision : Precision of binary relevance.
        generalized_recall : Recall of graded relevance.

        Examples
        --------
        Query a: (1/3 + 0) / 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.generalized_precision(2))
        shape: (2, 2)
        ┌───────┬─────────────────────────┐
        │ query ┆ generalized_precision@2 │
        │ ---   ┆ ---                     │
        │ str   ┆ f64                     │
        ╞═══════╪═════════════════════════╡
        │ a     ┆ 0.166667                │
        │ b     ┆ 0.0                     │
        └───────┴─────────────────────────┘
        """
        return self._one("generalized_precision", n, ties=ties)

    def generalized_recall(self, n: int | None = None, *, ties: TieRule = "order") -> pl.Expr:
        r"""Return generalized recall: grades in the top n divided by all grades.

        The sum of the grades of the first n documents is divided by the sum over all judged
        documents, retrieved or not. g is the grade minus `irrelevant`, at least 0.

        .. math:: gR@n = \frac{\sum_{i=1}^{n} g(i)}{\sum_{judged} g}

        As text: ``gR@n = (g(1) + … + g(n)) / (sum of g over all judged documents)``

        From 0 to 1; 0 without a relevant document. Source: Kekäläinen, J. and Järvelin, K. (2002).
        Using graded relevance assessments in IR evaluation.

        Parameters
        ----------
        n, ties
            The cutoff and the order of tied documents: see `Graded`.

        See Also
        --------
        recall : Recall of binary relevance.
        generalized_precision : Precision of graded relevance.

        Examples
        --------
        Query a: (1 + 0) / 6.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.generalized_recall(2))
        shape: (2, 2)
        ┌───────┬──────────────────────┐
        │ query ┆ generalized_recall@2 │
        │ ---   ┆ ---                  │
        │ str   ┆ f64                  │
        ╞═══════╪══════════════════════╡
        │ a     ┆ 0.166667             │
        │ b     ┆ 0.0                  │
        └───────┴──────────────────────┘
        """
        return self._one("generalized_recall", n, ties=ties)

    # Averaging precision.

    def ap(
        self,
        n: int | None = None,
        *,
        threshold: float | None = None,
        over: Over | Literal["retrieved"] = "relevant",
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return average precision, the mean precision at relevant documents.

        A relevant document below rank n, or not retrieved, adds 0.

        .. math:: AP = \frac{1}{R} \sum_{i=1}^{n} P@i \cdot rel(i)

        As text: ``AP = (1 / R) sum over i <= n of P@i rel(i)``

        From 0 to 1; 0 without a relevant document. Source: Scheel et al. (2011), equations 1 and 2.
        `over="retrieved"`: Chen, B. Retrieval evaluation (slides), method 1.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.
        over
            The divisor: `"relevant"` is R, the number of all relevant documents; `"cutoff"` is
            min(n, R), so that a perfect top n gives 1; `"retrieved"` is the number of relevant
            documents in the first n (0 if none; not with `ties="average"`).

        See Also
        --------
        mu_ap : Average precision over all levels of relevance.
        gap : Average precision for a user whose lowest satisfying grade is unknown.
        q_measure : Average precision with gains.

        Examples
        --------
        Query a: (1/1 + 2/3 + 3/4) / 3; with threshold 2, (1/3 + 2/4) / 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ap(), g.ap(threshold=2))
        shape: (2, 3)
        ┌───────┬──────────┬─────────────────┐
        │ query ┆ ap       ┆ ap(threshold=2) │
        │ ---   ┆ ---      ┆ ---             │
        │ str   ┆ f64      ┆ f64             │
        ╞═══════╪══════════╪═════════════════╡
        │ a     ┆ 0.805556 ┆ 0.416667        │
        │ b     ┆ 0.0      ┆ 0.0             │
        └───────┴──────────┴─────────────────┘
        """
        return self._one("ap", n, threshold=threshold, over=over, ties=ties)

    def mu_ap(
        self,
        n: int | None = None,
        *,
        levels: Sequence[float] | Literal["all"] | None = None,
        ties: StrictTieRule = "order",
    ) -> pl.Expr:
        r"""Return average precision over all levels of relevance (μAP).

        μAP is a weighted mean of AP. For each level t of relevance, AP(t) is the average precision
        if grades of at least t are relevant. Its weight d(t) is t minus the next lower level; for
        the lowest level, d(t) is t minus `irrelevant`. With one level above irrelevant, μAP equals
        `ap`. The mean of μAP over queries is μMAP.

        .. math:: \mu AP = \frac{1}{\sum_{t \in L} d_t} \sum_{t \in L} AP_t \, d_t

        As text: ``μAP = (sum over levels t of AP(t) d(t)) / (sum over levels t of d(t))``

        AP is 0 at a level that no document of the query reaches. If all queries have the same
        levels, μMAP is the weighted mean of the MAP at each level.

        From 0 to 1; 0 without a relevant document. Source: Scheel et al. (2011), equation 4.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        levels
            The levels L of the scale, increasing, above irrelevant; by default the relevant grades
            in the judgments of the query. `"all"` stands for `irrelevant + 1` to `max_grade` in
            steps of one, and needs `scaled(max_grade=...)`.

        See Also
        --------
        ap : Average precision at one level of relevance.
        gap : A mean of AP in which levels with more relevant documents weigh more.

        Examples
        --------
        Query a has AP 0.8056, 0.4167 and 0.3333 at thresholds 1, 2 and 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.mu_ap())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ mu_ap    │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.518519 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("mu_ap", n, levels=levels, ties=ties)

    def gap(
        self,
        n: int | None = None,
        *,
        levels: Sequence[float] | Literal["all"] | None = None,
        ties: StrictTieRule = "order",
    ) -> pl.Expr:
        r"""Return GAP, graded average precision.

        GAP models a user who is satisfied by documents of some unknown grade or higher; V(g) is the
        probability that grade g satisfies the user. GAP is the expected sum of precisions divided
        by the expected number of relevant documents.

        .. math::

            GAP = \frac{\sum_p \frac{1}{p} \sum_{j \le p} \min(V(g_j), V(g_p))}{\sum_{judged} V(g)}

        As text: ``GAP = (sum over p of sum over j <= p of min(V(g_j), V(g_p)) / p) / sum of V(g)``

        From 0 to 1; 0 without a relevant document. Source: Robertson, S. E., Kanoulas, E. and
        Yilmaz, E. (2010). Extending Average Precision to Graded Relevance Judgments.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        levels
            Increasing grades. Each is equally likely to be the lowest grade that satisfies the
            user. By default V(g) is proportional to the distance of g from `irrelevant`. `"all"`
            stands for every level of the scale, as in `mu_ap`.

        See Also
        --------
        mu_ap : Average precision with levels weighted by their distances.
        ap : Average precision at one level of relevance.

        Examples
        --------
        Query a: (1 + (1 + 3)/3 + (1 + 2 + 2)/4) / 6.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.gap())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ gap      │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.597222 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("gap", n, levels=levels, ties=ties)

    def infap(
        self, n: int | None = None, *, threshold: float | None = None, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return inferred average precision (infAP) for partly judged pools.

        Some pools are too large to judge completely. A grade below irrelevant, such as TREC's -1,
        marks a document that was pooled but not judged; null marks a document outside the pool. The
        precision at each hit is an estimate: all pooled documents above the hit are assumed to be
        relevant as often as the judged ones. If every pooled document was judged, the value equals
        `ap` up to 0.00001.

        .. math::

            infAP =
            \frac{1}{R} \sum_{hits} \frac{1}{k} \left(1 + pooled_k \frac{rel_k +
            \varepsilon}{rel_k + other_k + 2 \varepsilon}\right)

        As text: ``infAP = (1/R) sum over hits of (1 + pooled (rel + ε) / (rel + other + 2ε)) / k``

        A hit is a relevant document that was retrieved, and R is the number of relevant documents.
        k is the rank of the hit. pooled, rel and other count documents above the hit: the pooled
        ones, the relevant ones, and the judged ones that are not relevant. ε is 0.00001, as in
        trec_eval.

        From 0 to 1; 0 without a relevant document. Source: Yilmaz, E. and Aslam, J. (2006).
        Estimating Average Precision with Incomplete and Imperfect Judgments.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of ties (not `"average"`): see
            `Graded`.

        See Also
        --------
        ap : Average precision for complete judgments.
        bpref : A measure that ignores documents with a null grade.

        Examples
        --------
        Query a: (1 + (1 + 3 · 1/2) / 4) / 2.

        >>> df = pl.DataFrame({"query": list("aaaab"), "grade": [1, -1, 0, 2, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.infap())
        shape: (2, 2)
        ┌───────┬────────┐
        │ query ┆ infap  │
        │ ---   ┆ ---    │
        │ str   ┆ f64    │
        ╞═══════╪════════╡
        │ a     ┆ 0.8125 │
        │ b     ┆ 0.0    │
        └───────┴────────┘
        """
        return self._one("infap", n, threshold=threshold, ties=ties)

    # Cumulating gain.

    def cg(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return cumulated gain, the sum of the gains of the first n documents.

        Unjudged documents gain 0.

        .. math:: CG@n = \sum_{i=1}^{n} gain(i)

        As text: ``CG@n = gain(1) + … + gain(n)``

        Not below 0; 0 without a relevant document. Source: Järvelin, K. and Kekäläinen, J. (2002).
        Cumulated Gain-Based Evaluation of IR Techniques.

        Parameters
        ----------
        n, gain, ties
            The cutoff, the gain of a grade and the order of tied documents: see `Graded`.

        See Also
        --------
        ncg : CG divided by ideal CG.
        dcg : CG with a discount for lower ranks.

        Examples
        --------
        Query a gains 1 + 0 + 7 + 3. With linear gains, its first 3 documents gain 1 + 0 + 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.cg(), g.cg(3, gain="linear"))
        shape: (2, 3)
        ┌───────┬──────┬───────────────────┐
        │ query ┆ cg   ┆ cg(gain=linear)@3 │
        │ ---   ┆ ---  ┆ ---               │
        │ str   ┆ f64  ┆ f64               │
        ╞═══════╪══════╪═══════════════════╡
        │ a     ┆ 11.0 ┆ 4.0               │
        │ b     ┆ 0.0  ┆ 0.0               │
        └───────┴──────┴───────────────────┘
        """
        return self._one("cg", n, gain=gain, ties=ties)

    def ncg(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return normalised cumulated gain: CG divided by ideal CG.

        NCG is `ndcg` without a discount.

        .. math:: NCG@n = \frac{CG@n}{ICG@n}

        As text: ``NCG@n = CG@n / ICG@n``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).
        Järvelin, K. and Kekäläinen, J. (2000). IR evaluation methods for retrieving highly relevant
        documents.

        Parameters
        ----------
        n, gain, ties
            The cutoff, the gain of a grade and the order of tied documents: see `Graded`.

        See Also
        --------
        cg : CG without normalisation.
        ndcg : NCG with a discount for lower ranks; `ndcg_curve(discount="none")` is the NCG curve.

        Examples
        --------
        Query a: (1 + 0 + 3) / (3 + 2 + 1).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ncg(3, gain="linear"))
        shape: (2, 2)
        ┌───────┬────────────────────┐
        │ query ┆ ncg(gain=linear)@3 │
        │ ---   ┆ ---                │
        │ str   ┆ f64                │
        ╞═══════╪════════════════════╡
        │ a     ┆ 0.666667           │
        │ b     ┆ 0.0                │
        └───────┴────────────────────┘
        """
        return self._one("ncg", n, gain=gain, ties=ties)

    def ideal_cg(
        self, n: int | None = None, *, gain: GainName | Mapping[float, float] = "exp2"
    ) -> pl.Expr:
        r"""Return ideal cumulated gain: the CG of judged documents, best first.

        ICG is `ideal_dcg` without a discount; `ideal_dcg_curve(discount="none")` is the ICG curve.
        ICG does not depend on the ranking: documents that were not retrieved count too.

        .. math:: ICG@n = \sum_{i=1}^{n} gain(i) \text{ in the best order}

        As text: ``ICG@n = gain(1) + … + gain(n) in the best order``

        Not below 0; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).

        Parameters
        ----------
        n, gain
            The cutoff and the gain of a grade: see `Graded`.

        See Also
        --------
        ncg : CG divided by ideal CG.
        ideal_dcg : Ideal CG with a discount for lower ranks.

        Examples
        --------
        Query a: 3 + 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ideal_cg(2, gain="linear"))
        shape: (2, 2)
        ┌───────┬─────────────────────────┐
        │ query ┆ ideal_cg(gain=linear)@2 │
        │ ---   ┆ ---                     │
        │ str   ┆ f64                     │
        ╞═══════╪═════════════════════════╡
        │ a     ┆ 5.0                     │
        │ b     ┆ 0.0                     │
        └───────┴─────────────────────────┘
        """
        return self._one("ideal_cg", n, gain=gain)

    def dcg(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return discounted cumulated gain: gains count less further down.

        Gains are :math:`2^g - 1` by default; scikit-learn and ranx have linear gains, which are
        `dcg(10, gain="linear")`. Unjudged documents gain 0.

        .. math:: DCG@n = \sum_{i=1}^{n} \frac{gain(i)}{\log_2(i + 1)}

        As text: ``DCG@n = sum over i <= n of gain(i) / log2(i + 1)``

        Not below 0; 0 without a relevant document. Source: Scheel et al. (2011), equation 3 without
        its normalisation. Järvelin, K. and Kekäläinen, J. (2002).

        Parameters
        ----------
        n, gain, discount, base, ties
            The cutoff, gains, discounts and the order of tied documents: see `Graded`.

        See Also
        --------
        cg : CG without the discount.
        ndcg : DCG divided by ideal DCG.

        Examples
        --------
        Query a: 1/log2(2) + 7/log2(4), and 1/1 + 7/3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.dcg(3), g.dcg(3, discount="zipf"))
        shape: (2, 3)
        ┌───────┬───────┬──────────────────────┐
        │ query ┆ dcg@3 ┆ dcg(discount=zipf)@3 │
        │ ---   ┆ ---   ┆ ---                  │
        │ str   ┆ f64   ┆ f64                  │
        ╞═══════╪═══════╪══════════════════════╡
        │ a     ┆ 4.5   ┆ 3.333333             │
        │ b     ┆ 0.0   ┆ 0.0                  │
        └───────┴───────┴──────────────────────┘
        """
        return self._one("dcg", n, gain=gain, discount=discount, base=base, ties=ties)

    def ideal_dcg(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
    ) -> pl.Expr:
        r"""Return the DCG of all judged documents in the best order.

        Documents that were judged but not retrieved count too.

        .. math:: IDCG@n = \max_{order} DCG@n

        As text: ``IDCG@n = DCG@n in the best order``

        Not below 0; 0 without a relevant document. Source: Scheel et al. (2011), equation 3, whose
        factor N is 1 / IDCG.

        Parameters
        ----------
        n, gain, discount, base
            The cutoff, gains and discounts: see `Graded`.

        See Also
        --------
        dcg : DCG of the ranking.
        ideal_dcg_curve : Ideal DCG at every rank.

        Examples
        --------
        Query a: 7, and 7/log2(2) + 3/log2(3) + 1/log2(4).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ideal_dcg(1), g.ideal_dcg(3))
        shape: (2, 3)
        ┌───────┬─────────────┬─────────────┐
        │ query ┆ ideal_dcg@1 ┆ ideal_dcg@3 │
        │ ---   ┆ ---         ┆ ---         │
        │ str   ┆ f64         ┆ f64         │
        ╞═══════╪═════════════╪═════════════╡
        │ a     ┆ 7.0         ┆ 9.392789    │
        │ b     ┆ 0.0         ┆ 0.0         │
        └───────┴─────────────┴─────────────┘
        """
        return self._one("ideal_dcg", n, gain=gain, discount=discount, base=base)

    def ndcg(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return normalised discounted cumulated gain: DCG divided by ideal DCG.

        Gains are :math:`2^g - 1` by default. trec_eval (`ndcg_cut_10`), ir_measures, ranx and
        scikit-learn have linear gains: their value is `ndcg(10, gain="linear")`. The ideal is the
        best order of all judged documents, retrieved or not.

        .. math:: NDCG@n = \frac{DCG@n}{IDCG@n}

        As text: ``NDCG@n = DCG@n / IDCG@n``

        From 0 to 1; 0 without a relevant document. Source: Scheel et al. (2011), equation 3.

        Parameters
        ----------
        n, gain, discount, base, ties
            The cutoff, gains, discounts and the order of tied documents: see `Graded`.

        See Also
        --------
        ndcng : NDCG with each grade divided by the highest grade.
        ndcg_curve, ndcg_area : NDCG at every rank, and its mean over the ranks.

        Examples
        --------
        Query a: 1/7, and (1 + 3/2) / (3 + 2/log2(3) + 1/2).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ndcg(1), g.ndcg(3, gain="linear"))
        shape: (2, 3)
        ┌───────┬──────────┬─────────────────────┐
        │ query ┆ ndcg@1   ┆ ndcg(gain=linear)@3 │
        │ ---   ┆ ---      ┆ ---                 │
        │ str   ┆ f64      ┆ f64                 │
        ╞═══════╪══════════╪═════════════════════╡
        │ a     ┆ 0.142857 ┆ 0.525005            │
        │ b     ┆ 0.0      ┆ 0.0                 │
        └───────┴──────────┴─────────────────────┘
        """
        return self._one("ndcg", n, gain=gain, discount=discount, base=base, ties=ties)

    def ndcng(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return NDCNG: NDCG with each grade divided by the highest grade.

        :math:`g(i)` is the grade at rank i minus `irrelevant`, at least 0. :math:`m_q` is the
        highest grade minus `irrelevant`. The highest grade is the `max_grade` of `scaled`, or else
        the highest judged grade of the query. The factor :math:`N_n` makes the value of the ideal
        ranking 1.

        .. math::

            NDCNG@n = N_n \sum_{i=1}^{n} \frac{2^{ngain(i)} - 1}{\log_2(i + 1)}, \quad
                ngain(i) = \frac{g(i)}{m_q}

        As text: ``NDCNG@n = N_n sum over i <= n of (2^(g(i) / m_q) - 1) / log2(i + 1)``

        From 0 to 1; 0 without a relevant document. Source: Scheel et al. (2011), equation 5.

        Parameters
        ----------
        n, discount, base, ties
            The cutoff, discounts and the order of tied documents: see `Graded`.
        gain
            `"exp2"` (2^ngain - 1), `"linear"` (ngain, as in `ndcg(gain="linear")`), or a mapping
            from grades to numbers, which replace the grades in ngain, with gain 2^ngain - 1. If it
            lacks the highest grade, the next lower one counts.

        See Also
        --------
        ndcg : NDCG of grades that are not divided by the highest grade.

        Examples
        --------
        Query a: (2^(1/3) - 1) / (2^1 - 1).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.ndcng(1))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ ndcng@1  │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.259921 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("ndcng", n, gain=gain, discount=discount, base=base, ties=ties)

    def ndcg_area(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return the area under the NDCG curve: its mean over the ranks 1 to n.

        The curve is `ndcg_curve`; with `discount="none"` it is the NCG curve. Without a cutoff, n
        is the length of the list. In the mean over queries, each query has the same weight. Chen's
        slides instead divide the mean DCG curve by the mean ideal DCG curve, which gives more
        weight to queries with many relevant documents.

        .. math:: \frac{1}{n} \sum_{k=1}^{n} NDCG@k

        As text: ``(NDCG@1 + … + NDCG@n) / n``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).
        Scheel et al. (2011), table 2, column mean.

        Parameters
        ----------
        n, gain, discount, base, ties
            The cutoff, gains, discounts and the order of tied documents: see `Graded`.

        See Also
        --------
        ndcng_area : The same area for NDCNG.

        Examples
        --------
        Query a: (1/3 + 1/(3 + 2/log2(3))) / 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ndcg_area(2, gain="linear"))
        shape: (2, 2)
        ┌───────┬──────────────────────────┐
        │ query ┆ ndcg_area(gain=linear)@2 │
        │ ---   ┆ ---                      │
        │ str   ┆ f64                      │
        ╞═══════╪══════════════════════════╡
        │ a     ┆ 0.283986                 │
        │ b     ┆ 0.0                      │
        └───────┴──────────────────────────┘
        """
        return self._one("ndcg_area", n, gain=gain, discount=discount, base=base, ties=ties)

    def ndcng_area(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return the area under the NDCNG curve: its mean over the ranks 1 to n.

        The curve is `ndcng_curve`. Without a cutoff, n is the length of the list.

        .. math:: \frac{1}{n} \sum_{k=1}^{n} NDCNG@k

        As text: ``(NDCNG@1 + … + NDCNG@n) / n``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides).
        Scheel et al. (2011), table 2, column mean.

        Parameters
        ----------
        n, discount, base, ties
            The cutoff, discounts and the order of tied documents: see `Graded`.
        gain
            As for `ndcng`.

        See Also
        --------
        ndcg_area : The same area for NDCG.

        Examples
        --------
        Query a: (1/3 + 1/(3 + 2/log2(3))) / 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ndcng_area(2, gain="linear"))
        shape: (2, 2)
        ┌───────┬───────────────────────────┐
        │ query ┆ ndcng_area(gain=linear)@2 │
        │ ---   ┆ ---                       │
        │ str   ┆ f64                       │
        ╞═══════╪═══════════════════════════╡
        │ a     ┆ 0.283986                  │
        │ b     ┆ 0.0                       │
        └───────┴───────────────────────────┘
        """
        return self._one("ndcng_area", n, gain=gain, discount=discount, base=base, ties=ties)

    # Modelling the user.

    def err(self, n: int | None = None, *, ties: StrictTieRule = "order") -> pl.Expr:
        r"""Return expected reciprocal rank (ERR) of the first satisfying document.

        The user reads the list from the top. A document of grade g (minus `irrelevant`) satisfies
        the user with probability R(g), and a satisfied user stops. g_max is the highest grade minus
        `irrelevant`. The highest grade is the `max_grade` of `scaled`, or else the highest judged
        grade of the query.

        .. math::

            ERR = \sum_r \frac{1}{r} R_r \prod_{i<r} (1 - R_i), \quad
                R = \frac{2^g - 1}{2^{g_{max}}}

        As text: ``ERR = sum over r of R_r (1 - R_1) … (1 - R_(r-1)) / r, R = (2^g - 1) / 2^g_max``

        From 0 to 1; 0 without a relevant document. Source: Chapelle, O., Metzler, D., Zhang, Y. and
        Grinspan, P. (2009). Expected Reciprocal Rank for Graded Relevance.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        nerr : ERR divided by ideal ERR.
        rbp : The model of a user who stops independently of the documents.

        Examples
        --------
        Query a: 1/8 + 7/8 · 7/8 / 3 + 7/8 · 1/8 · 3/8 / 4.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.err())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ err      │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.390462 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("err", n, ties=ties)

    def nerr(self, n: int | None = None, *, ties: StrictTieRule = "order") -> pl.Expr:
        r"""Return normalised expected reciprocal rank: ERR divided by ideal ERR.

        The ideal is the best order of all judged documents, retrieved or not.

        .. math:: nERR = \frac{ERR}{ERR_{ideal}}

        As text: ``nERR = ERR / (ERR of the best order)``

        From 0 to 1; 0 without a relevant document. Source: Chapelle, O., Metzler, D., Zhang, Y. and
        Grinspan, P. (2009). Expected Reciprocal Rank for Graded Relevance.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        err : ERR without normalisation.

        Examples
        --------
        Query a: (1/8) / (7/8).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.nerr(1))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ nerr@1   │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.142857 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("nerr", n, ties=ties)

    def rbp(
        self,
        n: int | None = None,
        *,
        p: float = 0.8,
        graded: bool = False,
        threshold: float | None = None,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return rank-biased precision, for a user who stops at random.

        The user continues from each document to the next with probability p; with p = 0.8 the user
        looks at five documents on average. Even if all documents of a list are relevant, the value
        is below 1; it approaches 1 as the list gets longer.

        .. math:: RBP = (1 - p) \sum_i rel(i)\, p^{i-1}

        As text: ``RBP = (1 - p) sum over i of rel(i) p^(i - 1)``

        From 0 to 1; 0 without a relevant document. Source: Moffat, A. and Zobel, J. (2008).
        Rank-Biased Precision for Measurement of Retrieval Effectiveness.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of tied documents: see `Graded`.
        p
            Probability that the user continues to the next document, above 0 and below 1.
        graded
            By default, a relevant document counts as 1. If True, it counts as its grade divided by
            the highest grade, both minus `irrelevant`. The highest grade is the same as in `err`.

        See Also
        --------
        err : The model of a user whom good documents satisfy.

        Examples
        --------
        Query a: (1 + 1/4 + 1/8) / 2, and (1/3 + 1/4 + 2/3 · 1/8) / 2.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.rbp(p=0.5), g.rbp(p=0.5, graded=True))
        shape: (2, 3)
        ┌───────┬────────────┬─────────────────────────┐
        │ query ┆ rbp(p=0.5) ┆ rbp(p=0.5, graded=True) │
        │ ---   ┆ ---        ┆ ---                     │
        │ str   ┆ f64        ┆ f64                     │
        ╞═══════╪════════════╪═════════════════════════╡
        │ a     ┆ 0.6875     ┆ 0.333333                │
        │ b     ┆ 0.0        ┆ 0.0                     │
        └───────┴────────────┴─────────────────────────┘
        """
        return self._one("rbp", n, p=p, graded=graded, threshold=threshold, ties=ties)

    def q_measure(
        self,
        n: int | None = None,
        *,
        beta: float = 1.0,
        gain: GainName | Mapping[float, float] = "linear",
        over: Over = "relevant",
        ties: StrictTieRule = "order",
    ) -> pl.Expr:
        r"""Return Q-measure: average precision blended with cumulated gain.

        With beta = 0 it is average precision.

        .. math::

            Q = \frac{1}{R} \sum_{r=1}^{n} rel(r)
                \frac{hits(r) + \beta\, cg(r)}{r + \beta\, cg_{ideal}(r)}

        As text: ``Q = (1 / R) sum over r of rel(r) (hits(r) + beta cg(r)) / (r + beta ideal(r))``

        R is the number of relevant documents. hits(r) is the number of relevant documents among the
        first r, and cg(r) is the sum of their gains. cg_ideal(r) (ideal(r) in the text formula) is
        cg(r) in the ideal order. Relevant documents that were not retrieved count in R and in the
        ideal order.

        From 0 to 1; 0 without a relevant document. Source: Sakai, T. (2004). New Performance
        Metrics Based on Multigrade Relevance: Their Application to Question Answering.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        beta
            Weight of the gain relative to the hits, from 0 to 1e4.
        gain
            Gain of a grade: `"linear"` (g, the grade minus `irrelevant`), `"exp2"` (2^g - 1), or a
            mapping from grade to gain, in which a higher grade never has a lower gain. Documents
            that are not relevant gain 0.
        over
            Divisor of the sum: `"relevant"`, all R relevant documents; `"cutoff"`, min(n, R), so
            that n documents in the ideal order give 1 even if R is larger.

        See Also
        --------
        ap : Average precision without gains.
        gap : Average precision over levels of relevance.

        Examples
        --------
        Query a: ((1 + 1) / (1 + 3) + (2 + 4) / (3 + 6) + (3 + 6) / (4 + 6)) / 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.q_measure())
        shape: (2, 2)
        ┌───────┬───────────┐
        │ query ┆ q_measure │
        │ ---   ┆ ---       │
        │ str   ┆ f64       │
        ╞═══════╪═══════════╡
        │ a     ┆ 0.688889  │
        │ b     ┆ 0.0       │
        └───────┴───────────┘
        """
        return self._one("q_measure", n, beta=beta, gain=gain, over=over, ties=ties)

    def sdcg(self, n: int | None = None, *, ties: TieRule = "order") -> pl.Expr:
        r"""Return scaled DCG: DCG divided by the DCG of a list of top grades.

        The gain of a document is its grade divided by the highest grade, both minus `irrelevant`.
        The highest grade is the `max_grade` of `scaled`, or else the highest judged grade of the
        query. NDCG compares the ranking with the best judged documents, and SDCG with a list of n
        documents of the highest grade, even if the query has fewer such documents.

        .. math::

            SDCG@n =
            \frac{\sum_{i=1}^{n} g_i / \log_2(i + 1)}{\sum_{i=1}^{n} 1 / \log_2(i + 1)}

        As text: ``SDCG@n = (sum of g_i / log2(i + 1)) / (sum of 1 / log2(i + 1)), i = 1 … n``

        From 0 to 1; 0 without a relevant document. Without a cutoff, n is the length of the list.
        Source: Moffat, A., Bailey, P., Scholer, F. and Thomas, P. (2017). Incorporating User
        Expectations and Behavior into the Measurement of Search Effectiveness.

        Parameters
        ----------
        n, ties
            The cutoff and the order of tied documents: see `Graded`.

        See Also
        --------
        ndcg : DCG divided by the DCG of the ideal ranking.
        dcg : The sum of discounted gains.

        Examples
        --------
        Query a: (1/3) / (1 + 1 / log2(3)).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.sdcg(2))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ sdcg@2   │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.204382 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("sdcg", n, ties=ties)

    def insq(
        self, n: int | None = None, *, target: float = 1.0, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return INSQ: the mean gain per document for a user with a target.

        The gain of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`). `scaled`
        sets `irrelevant`, by default 0, and the highest grade, by default the highest judged grade
        of the query. A user who wants a total gain of T continues from rank i to rank i + 1 with
        probability C_i. W_i is the probability that the user reaches rank i. Both sums of the
        formula run to rank n or, without a cutoff, to infinity. Ranks beyond the end of the list
        have a gain of 0, so they only add to the divisor.

        .. math::

            INSQ = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i = \prod_{j<i} C_j, \quad
            C_i = \left(\frac{i + 2T - 1}{i + 2T}\right)^2

        As text: ``INSQ = (sum of W_i g_i) / (sum of W_i), W_i = (2T / (2T + i - 1))²``

        From 0 to 1; 0 without a relevant document. Source: Moffat, A., Scholer, F. and Thomas, P.
        (2012). Models and Metrics: IR Evaluation as a User Process.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        target
            The total gain T that the user wants, above 0. A document of the highest grade gains 1.

        See Also
        --------
        inst : The same user, who also adapts to the gain so far.
        rbp : A user who continues with a constant probability.

        Examples
        --------
        Query a: (1/3) / (1 + (2/3)²).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.insq(2))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ insq@2   │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.230769 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("insq", n, target=target, ties=ties)

    def inst(
        self, n: int | None = None, *, target: float = 1.0, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return INST: the mean gain per document for a user who adapts.

        The gain of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`). `scaled`
        sets `irrelevant`, by default 0, and the highest grade, by default the highest judged grade
        of the query. A user who wants a total gain of T continues from rank i to rank i + 1 with
        probability C_i. W_i is the probability that the user reaches rank i. T_i is the gain that
        is still missing: T minus the gain of the first i documents. The smaller T_i is, the lower
        is C_i. Both sums of the formula run to rank n or, without a cutoff, to infinity. Ranks
        beyond the end of the list have a gain of 0, so they only add to the divisor.

        .. math::

            INST = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i = \prod_{j<i} C_j, \quad
            C_i = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2

        As text: ``INST = sum of W_i g_i / sum of W_i, C_i = ((i + T + T_i - 1) / (i + T + T_i))²``

        From 0 to 1; 0 without a relevant document. Source: Bailey, P., Moffat, A., Scholer, F. and
        Thomas, P. (2015). User Variability and IR System Evaluation.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        target
            The total gain T that the user wants, at least 0.5. A document of the highest grade
            gains 1.

        See Also
        --------
        insq : A user who does not adapt to the gain so far.
        bpm : A user who stops when the target is reached.

        Examples
        --------
        Query a: C_1 is ((1 + 1 + 2/3 - 1) / (1 + 1 + 2/3))² = 25/64, so (1/3) / (1 + 25/64).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.inst(2))
        shape: (2, 2)
        ┌───────┬────────┐
        │ query ┆ inst@2 │
        │ ---   ┆ ---    │
        │ str   ┆ f64    │
        ╞═══════╪════════╡
        │ a     ┆ 0.2397 │
        │ b     ┆ 0.0    │
        └───────┴────────┘
        """
        return self._one("inst", n, target=target, ties=ties)

    def bpm(
        self, n: int | None = None, *, target: float = 1.0, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return static BPM: the mean gain of the documents that a user reads.

        BPM is the Bejeweled Player Model; in the static one, the target T is constant. The gain of
        a document is (grade - `irrelevant`) / (highest grade - `irrelevant`). `scaled` sets
        `irrelevant`, by default 0, and the highest grade, by default the highest judged grade of
        the query. The user reads until the total gain reaches T, or else down to rank n (even if
        the list is shorter). Without a cutoff, n is the length of the list.

        .. math::

            BPM@n = \frac{1}{k} \sum_{i=1}^{k} g_i, \quad k =
            \min\{n, \min\{i : g_1 + … + g_i \geq T\}\}

        As text: ``BPM@n = (g_1 + … + g_k) / k, k = first rank with a total gain >= T, or n``

        From 0 to 1; 0 without a relevant document. If a better document moves up, the value can
        fall, because the user then stops before other good documents. Source: Zhang, F. and others
        (2017). Evaluating Web Search with a Bejeweled Player Model.

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        target
            The total gain T that the user wants, above 0. A document of the highest grade gains 1.

        See Also
        --------
        inst : A user who stops with some probability after each document.
        generalized_precision : The mean gain of all n documents.

        Examples
        --------
        Query a: the gains 1/3, 0 and 1 reach the target at rank 3.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.bpm())
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ bpm      │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.444444 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("bpm", n, target=target, ties=ties)

    def nerr8(self, n: int | None = None, *, ties: StrictTieRule = "order") -> pl.Expr:
        r"""Return NERR8: the mean gain for a user who stops when satisfied.

        The gain g of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`).
        `scaled` sets `irrelevant`, by default 0, and the highest grade, by default the highest
        judged grade of the query. The user stops at a document with probability g (`err` uses
        another probability); otherwise the user continues. W_i is the probability that the user
        reaches rank i. Unlike ERR, the value is the mean gain of the documents that the user looks
        at. (`nerr` is another measure: ERR divided by ideal ERR.) Both sums of the formula end at
        rank n or, without a cutoff, at the end of the list.

        .. math::

            NERR_{8} = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i = \prod_{j<i} C_j, \quad
            C_i = 1 - g_i

        As text: ``NERR8 = (sum of W_i g_i) / (sum of W_i), C_i = 1 - g_i``

        From 0 to 1; 0 without a relevant document. Source: Azzopardi, L., Mackenzie, J. and Moffat,
        A. (2021). ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank and
        Other Metrics ("nearly ERR", equation 8).

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        err : Expected reciprocal rank.
        nerr9 : The same for a user who may also lose interest.

        Examples
        --------
        Query a: (1/3) / (1 + 2/3).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nerr8(2))
        shape: (2, 2)
        ┌───────┬─────────┐
        │ query ┆ nerr8@2 │
        │ ---   ┆ ---     │
        │ str   ┆ f64     │
        ╞═══════╪═════════╡
        │ a     ┆ 0.2     │
        │ b     ┆ 0.0     │
        └───────┴─────────┘
        """
        return self._one("nerr8", n, ties=ties)

    def nerr9(self, n: int | None = None, *, ties: StrictTieRule = "order") -> pl.Expr:
        r"""Return NERR9: the mean gain of users who may also lose interest.

        The gain g of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`).
        `scaled` sets `irrelevant`, by default 0, and the highest grade, by default the highest
        judged grade of the query. The user stops at the document of rank i with probability g_i
        (`err` uses another probability). A user who does not stop continues to rank i + 1 with
        probability i / (i + 1), and otherwise loses interest. W_i is the probability that the user
        reaches rank i. Unlike ERR, the value is the mean gain of the documents that the user looks
        at. (`nerr` is another measure: ERR divided by ideal ERR.) Both sums of the formula end at
        rank n or, without a cutoff, at the end of the list.

        .. math::

            NERR_{9} = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i = \prod_{j<i} C_j, \quad
            C_i = \frac{i}{i + 1} (1 - g_i)

        As text: ``NERR9 = (sum of W_i g_i) / (sum of W_i), C_i = i / (i + 1) × (1 - g_i)``

        From 0 to 1; 0 without a relevant document. Source: Azzopardi, L., Mackenzie, J. and Moffat,
        A. (2021). ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank and
        Other Metrics ("nearly ERR", equation 9).

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        err : Expected reciprocal rank.
        nerr8 : The same for a user who stops only when satisfied.

        Examples
        --------
        Query a: (1/3) / (1 + 1/2 · 2/3).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nerr9(2))
        shape: (2, 2)
        ┌───────┬─────────┐
        │ query ┆ nerr9@2 │
        │ ---   ┆ ---     │
        │ str   ┆ f64     │
        ╞═══════╪═════════╡
        │ a     ┆ 0.25    │
        │ b     ┆ 0.0     │
        └───────┴─────────┘
        """
        return self._one("nerr9", n, ties=ties)

    def nerr10(
        self, n: int | None = None, *, p: float = 0.9, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return NERR10: the mean gain of users who may also stop as in `rbp`.

        The gain g of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`).
        `scaled` sets `irrelevant`, by default 0, and the highest grade, by default the highest
        judged grade of the query. The user stops at a document with probability g (`err` uses
        another probability); otherwise the user continues with probability p. W_i is the
        probability that the user reaches rank i. Unlike ERR, the value is the mean gain of the
        documents that the user looks at. (`nerr` is another measure: ERR divided by ideal ERR.)
        Both sums of the formula run to rank n or, without a cutoff, to infinity. Ranks beyond the
        end of the list have a gain of 0, so they only add to the divisor.

        .. math::

            NERR_{10} = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i =
            \prod_{j<i} C_j, \quad C_i = p (1 - g_i)

        As text: ``NERR10 = (sum of W_i g_i) / (sum of W_i), C_i = p (1 - g_i)``

        From 0 to 1; 0 without a relevant document. Source: Azzopardi, L., Mackenzie, J. and Moffat,
        A. (2021). ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank and
        Other Metrics ("nearly ERR", equation 10).

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        p
            Probability that an unsatisfied user continues, above 0 and below 1.

        See Also
        --------
        err : Expected reciprocal rank.
        rbp : A user who continues with probability p after every document.

        Examples
        --------
        Query a: (1/3) / (1 + 0.9 · 2/3).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nerr10(2))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ nerr10@2 │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.208333 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("nerr10", n, p=p, ties=ties)

    def nerr11(
        self, n: int | None = None, *, target: float = 1.0, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return NERR11: the mean gain of users who may also stop as in `insq`.

        The gain g of a document is (grade - `irrelevant`) / (highest grade - `irrelevant`).
        `scaled` sets `irrelevant`, by default 0, and the highest grade, by default the highest
        judged grade of the query. The user stops at a document with probability g (`err` uses
        another probability); otherwise the user continues with the probability of `insq`. W_i is
        the probability that the user reaches rank i. Unlike ERR, the value is the mean gain of the
        documents that the user looks at. (`nerr` is another measure: ERR divided by ideal ERR.)
        Both sums of the formula run to rank n or, without a cutoff, to infinity. Ranks beyond the
        end of the list have a gain of 0, so they only add to the divisor.

        .. math::

            NERR_{11} = \frac{\sum_i W_i g_i}{\sum_i W_i}, \quad W_i =
            \prod_{j<i} C_j, \quad C_i = \left(\frac{i + 2T - 1}{i + 2T}\right)^2 (1 - g_i)

        As text: ``NERR11 = sum W_i g_i / sum W_i, C_i = ((i + 2T - 1) / (i + 2T))² (1 - g_i)``

        From 0 to 1; 0 without a relevant document. Source: Azzopardi, L., Mackenzie, J. and Moffat,
        A. (2021). ERR is not C/W/L: Exploring the Relationship Between Expected Reciprocal Rank and
        Other Metrics ("nearly ERR", equation 11).

        Parameters
        ----------
        n, ties
            The cutoff and the order of ties (not `"average"`): see `Graded`.
        target
            The total gain T that the user wants, above 0. A document of the highest grade gains 1.

        See Also
        --------
        err : Expected reciprocal rank.
        insq : A user with the same target, whose stopping depends only on the rank.

        Examples
        --------
        Query a: (1/3) / (1 + (2/3)² · 2/3).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nerr11(2))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ nerr11@2 │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.257143 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("nerr11", n, target=target, ties=ties)

    def compat(
        self, *, p: float = 0.95, normalised: bool = True, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        r"""Return compatibility: the overlap of the ranking with the ideal one.

        Compatibility is the rank-biased overlap with the ideal ranking. The ideal ranking contains
        only the relevant documents, retrieved or not, by descending grade. Among documents of equal
        grade, the retrieved ones come first, in the order of the ranking. The sums end with the
        longer of the two rankings.

        .. math:: C = \frac{\sum_i p^{i-1} |I_i \cap R_i| / i}{\sum_i p^{i-1} |I_i \cap I_i| / i}

        As text: ``C = (sum of p^(i - 1) |I_i ∩ R_i| / i) / (the same for the ideal ranking)``

        I_i and R_i are the first i documents of the ideal ranking and of the ranking.

        From 0 to 1; 0 without a relevant document. Source: Clarke, C., Vtyurina, A. and Smucker, M.
        (2021). Assessing Top-k Preferences.

        Parameters
        ----------
        p
            Persistence: factor by which the weight falls from each rank to the next, above 0 and
            below 1.
        normalised
            If True, the formula applies. If False, the divisor is the sum of p^(i - 1) over the
            same ranks. Then even an ideally ordered list gets less than 1 if it continues after the
            last relevant document.
        ties
            The order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        ndcg : Discounted gains divided by those of the ideal ranking.

        Examples
        --------
        Query a: the ideal ranking consists of the documents from ranks 3, 4 and 1, in this order.
        Two of them are in the top 3 of the ranking, and all three in the top 4:
        (2/3 · 1/4 + 3/4 · 1/8) / (1 + 1/2 + 1/4 + 3/4 · 1/8).

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.compat(p=0.5))
        shape: (2, 2)
        ┌───────┬───────────────┐
        │ query ┆ compat(p=0.5) │
        │ ---   ┆ ---           │
        │ str   ┆ f64           │
        ╞═══════╪═══════════════╡
        │ a     ┆ 0.141243      │
        │ b     ┆ 0.0           │
        └───────┴───────────────┘
        """
        return self._one("compat", p=p, normalised=normalised, ties=ties)

    # Documents that the user knew.

    def coverage_ratio(self, *, known: str | pl.Expr, threshold: float | None = None) -> pl.Expr:
        r"""Return the share of known relevant documents that was retrieved.

        U is the set of relevant documents that the user knew, and R_k the retrieved part of U.

        .. math:: \frac{|R_k|}{|U|}

        As text: ``|R_k| / |U|``

        From 0 to 1. A query without a known relevant document gets 0, or the value of
        `undefined_as`. Source: Chen, B. Retrieval evaluation (slides), user-oriented measures.
        Korfhage, R. R. (1997). Information Storage and Retrieval.

        Parameters
        ----------
        known
            Column or expression that is true if the user knew the document; null is False.
        threshold
            The lowest relevant grade: see `Graded`.

        See Also
        --------
        novelty_ratio : The share of retrieved relevant documents that was new.
        relative_recall : Retrieved relevant documents per known relevant document.

        Examples
        --------
        Two relevant documents were known, and one of them was retrieved.

        >>> known = [True, False, False, True]
        >>> df = pl.DataFrame({"grade": [1, 0, 1, 1], "rank": [1, 2, 3, None], "known": known})
        >>> g = pl.col("grade").graded.ranked_by("rank", descending=False)
        >>> df.select(g.coverage_ratio(known="known"))
        shape: (1, 1)
        ┌────────────────┐
        │ coverage_ratio │
        │ ---            │
        │ f64            │
        ╞════════════════╡
        │ 0.5            │
        └────────────────┘
        """
        return self._one("coverage_ratio", known=known, threshold=threshold)

    def novelty_ratio(self, *, known: str | pl.Expr, threshold: float | None = None) -> pl.Expr:
        r"""Return the share of retrieved relevant documents that was new.

        R_k is the set of retrieved relevant documents that the user knew, and R_u the set of those
        that the user did not know. The value is 0 if no relevant document was retrieved.

        .. math:: \frac{|R_u|}{|R_u| + |R_k|}

        As text: ``|R_u| / (|R_u| + |R_k|)``

        From 0 to 1; 0 without a relevant document. Source: Chen, B. Retrieval evaluation (slides),
        user-oriented measures. Korfhage, R. R. (1997). Information Storage and Retrieval.

        Parameters
        ----------
        known
            Column or expression that is true if the user knew the document; null is False.
        threshold
            The lowest relevant grade: see `Graded`.

        See Also
        --------
        coverage_ratio : The share of known relevant documents that was retrieved.

        Examples
        --------
        Two relevant documents were retrieved, and one of them was new.

        >>> known = [True, False, False, True]
        >>> df = pl.DataFrame({"grade": [1, 0, 1, 1], "rank": [1, 2, 3, None], "known": known})
        >>> g = pl.col("grade").graded.ranked_by("rank", descending=False)
        >>> df.select(g.novelty_ratio(known="known"))
        shape: (1, 1)
        ┌───────────────┐
        │ novelty_ratio │
        │ ---           │
        │ f64           │
        ╞═══════════════╡
        │ 0.5           │
        └───────────────┘
        """
        return self._one("novelty_ratio", known=known, threshold=threshold)

    def relative_recall(self, *, known: str | pl.Expr, threshold: float | None = None) -> pl.Expr:
        r"""Return the ratio of retrieved to known relevant documents.

        U is the set of relevant documents that the user knew and therefore expected; R_k and R_u
        are the sets of known and of new relevant documents that were retrieved. A value above 1
        means that the user found more than expected.

        .. math:: \frac{|R_k| + |R_u|}{|U|}

        As text: ``(|R_k| + |R_u|) / |U|``

        Not below 0. A query without a known relevant document gets 0, or the value of
        `undefined_as`. Source: Chen, B. Retrieval evaluation (slides), user-oriented measures.
        Korfhage, R. R. (1997). Information Storage and Retrieval.

        Parameters
        ----------
        known
            Column or expression that is true if the user knew the document; null is False.
        threshold
            The lowest relevant grade: see `Graded`.

        See Also
        --------
        coverage_ratio : The share of known relevant documents that was retrieved.
        recall_effort : Known relevant documents per retrieved document.

        Examples
        --------
        Two relevant documents were retrieved, and two were known.

        >>> known = [True, False, False, True]
        >>> df = pl.DataFrame({"grade": [1, 0, 1, 1], "rank": [1, 2, 3, None], "known": known})
        >>> g = pl.col("grade").graded.ranked_by("rank", descending=False)
        >>> df.select(g.relative_recall(known="known"))
        shape: (1, 1)
        ┌─────────────────┐
        │ relative_recall │
        │ ---             │
        │ f64             │
        ╞═════════════════╡
        │ 1.0             │
        └─────────────────┘
        """
        return self._one("relative_recall", known=known, threshold=threshold)

    def recall_effort(self, *, known: str | pl.Expr, threshold: float | None = None) -> pl.Expr:
        r"""Return the number of known relevant documents per retrieved document.

        U is the set of relevant documents that the user knew. A is the set of retrieved documents.

        .. math:: \frac{|U|}{|A|}

        As text: ``|U| / |A|``

        Not below 0. A query without a relevant document, or without any retrieved document, gets 0,
        or the value of `undefined_as`. Source: Chen, B. Retrieval evaluation (slides),
        user-oriented measures. Korfhage, R. R. (1997). Information Storage and Retrieval.

        Parameters
        ----------
        known
            Column or expression that is true if the user knew the document; null is False.
        threshold
            The lowest relevant grade: see `Graded`.

        See Also
        --------
        relative_recall : Retrieved relevant documents per known relevant document.

        Examples
        --------
        Two relevant documents were known, and three documents were retrieved.

        >>> known = [True, False, False, True]
        >>> df = pl.DataFrame({"grade": [1, 0, 1, 1], "rank": [1, 2, 3, None], "known": known})
        >>> g = pl.col("grade").graded.ranked_by("rank", descending=False)
        >>> df.select(g.recall_effort(known="known"))
        shape: (1, 1)
        ┌───────────────┐
        │ recall_effort │
        │ ---           │
        │ f64           │
        ╞═══════════════╡
        │ 0.666667      │
        └───────────────┘
        """
        return self._one("recall_effort", known=known, threshold=threshold)

    # Covering the subtopics of a query.

    def alpha_dcg(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return α-DCG: the gain of new subtopics, discounted by rank.

        A relevant document gains (1 - α)^c for each of its subtopics, where c is the number of
        relevant documents above it with the same subtopic. The discounted sum of gains is divided
        by that of a list in which every document has all subtopics. (`alpha_ndcg` divides by that
        of the ideal ranking.) Without a cutoff, n is the length of the list.

        .. math::

            \alpha\text{-}DCG@n =
            \frac{\sum_{i=1}^{n} gain_i / \log_2(i + 1)}{N \sum_{i=1}^{n} (1 - \alpha)^{i-1} /
            \log_2(i + 1)}, \quad gain_i = \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``α-DCG@n = sum gain_i / log2(i + 1) / (N sum (1 - α)^(i - 1) / log2(i + 1))``

        The sum of gain_i is over the subtopics s of the document at rank i; the gain of an
        irrelevant document is 0. c_{s,i} is the number of relevant documents above rank i with
        subtopic s. N is the number of different subtopics of the relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C., Craswell,
        N., Soboroff, I. and Ashkan, A. (2011). A Comparative Analysis of Cascade Measures for
        Novelty and Diversity.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.

        See Also
        --------
        alpha_ndcg : The same sum, divided by that of the ideal ranking.
        err_ia : The same gains with the discount of ERR.

        Examples
        --------
        Query a has N = 2: (1 + 1/2 / log2(3) + (1 + 1/4) / 2) / (2 (1 + 1/2 / log2(3) + 1/4 / 2)).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.alpha_dcg(3, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬─────────────┐
        │ query ┆ alpha_dcg@3 │
        │ ---   ┆ ---         │
        │ str   ┆ f64         │
        ╞═══════╪═════════════╡
        │ a     ┆ 0.673555    │
        │ b     ┆ 0.0         │
        └───────┴─────────────┘
        """
        return self._one("alpha_dcg", n, subtopics=subtopics, alpha=alpha, threshold=threshold)

    def alpha_ndcg(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return α-NDCG: the gain of new subtopics divided by the ideal gain.

        A relevant document gains (1 - α)^c for each of its subtopics, where c is the number of
        relevant documents above it with the same subtopic. The ideal ranking is greedy: each rank
        gets the document with the highest gain, given the documents above. If several documents
        have the highest gain, `evaluate` takes the one whose name is last in text order, as ndeval
        does. Where documents have no names (in expressions, and in `evaluate` without a column of
        documents), the one whose labels are first in text order is taken. The greedy ranking is not
        always the best. A ranking that is better gets 1 here, but more than 1 in ndeval.

        .. math::

            \alpha\text{-}NDCG@n =
            \frac{\sum_{i=1}^{n} gain_i / \log_2(i + 1)}{\sum_{i=1}^{n} ideal_i / \log_2(i + 1)},
            \quad gain_i = \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``α-NDCG@n = (sum of gain_i / log2(i + 1)) / (the same for the ideal ranking)``

        c_{s,i} is the number of relevant documents above rank i with subtopic s. ideal_i is the
        gain at rank i of the ideal ranking.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C. and others
        (2008). Novelty and Diversity in Information Retrieval Evaluation.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.

        See Also
        --------
        alpha_dcg : The same numerator. The divisor belongs to a list with all subtopics everywhere.
        subtopic_recall : The share of the subtopics that a list covers.

        Examples
        --------
        Query a: (1 + 1/2 / log2(3)) / (2 + 1/2 / log2(3)).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.alpha_ndcg(2, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬──────────────┐
        │ query ┆ alpha_ndcg@2 │
        │ ---   ┆ ---          │
        │ str   ┆ f64          │
        ╞═══════╪══════════════╡
        │ a     ┆ 0.568121     │
        │ b     ┆ 0.0          │
        └───────┴──────────────┘
        """
        return self._one("alpha_ndcg", n, subtopics=subtopics, alpha=alpha, threshold=threshold)

    def err_ia(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return intent-aware ERR: the gain of new subtopics, divided by rank.

        ERR is computed for each subtopic: a relevant document with the subtopic satisfies the user
        with probability α. The mean over the subtopics is divided by the mean for a list in which
        every document has all subtopics. Without a cutoff, n is the length of the list.

        .. math::

            ERR\text{-}IA@n =
            \frac{\sum_{i=1}^{n} gain_i / i}{N \sum_{i=1}^{n} (1 - \alpha)^{i-1} / i}, \quad
            gain_i = \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``ERR-IA@n = (sum of gain_i / i) / (N sum of (1 - α)^(i - 1) / i)``

        The sum of gain_i is over the subtopics s of the document at rank i; the gain of an
        irrelevant document is 0. c_{s,i} is the number of relevant documents above rank i with
        subtopic s. N is the number of different subtopics of the relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C., Craswell,
        N., Soboroff, I. and Ashkan, A. (2011). A Comparative Analysis of Cascade Measures for
        Novelty and Diversity.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.

        See Also
        --------
        nerr_ia : The same sum, divided by that of the ideal ranking.
        err : ERR of graded documents.

        Examples
        --------
        Query a has N = 2: (1 + 1/2 / 2 + (1 + 1/4) / 3) / (2 (1 + 1/2 / 2 + 1/4 / 3)).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.err_ia(3, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ err_ia@3 │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.625    │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("err_ia", n, subtopics=subtopics, alpha=alpha, threshold=threshold)

    def nerr_ia(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return intent-aware ERR divided by that of the ideal ranking.

        The gains and the ideal ranking are those of `alpha_ndcg`.

        .. math::

            nERR\text{-}IA@n =
            \frac{\sum_{i=1}^{n} gain_i / i}{\sum_{i=1}^{n} ideal_i / i}, \quad gain_i =
            \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``nERR-IA@n = (sum of gain_i / i) / (the same for the ideal ranking)``

        c_{s,i} is the number of relevant documents above rank i with subtopic s. ideal_i is the
        gain at rank i of the ideal ranking.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C., Craswell,
        N., Soboroff, I. and Ashkan, A. (2011). A Comparative Analysis of Cascade Measures for
        Novelty and Diversity.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.

        See Also
        --------
        err_ia : The same numerator. The divisor belongs to a list with all subtopics everywhere.

        Examples
        --------
        Query a: (1 + 1/2 / 2) / (2 + 1/2 / 2).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nerr_ia(2, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬───────────┐
        │ query ┆ nerr_ia@2 │
        │ ---   ┆ ---       │
        │ str   ┆ f64       │
        ╞═══════╪═══════════╡
        │ a     ┆ 0.555556  │
        │ b     ┆ 0.0       │
        └───────┴───────────┘
        """
        return self._one("nerr_ia", n, subtopics=subtopics, alpha=alpha, threshold=threshold)

    def nrbp(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        beta: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return NRBP: rank-biased precision that rewards new subtopics.

        Each user looks for one subtopic. A relevant document with this subtopic satisfies the user
        with probability α. A user who is not satisfied continues to the next document with
        probability β.

        .. math::

            NRBP = \frac{1 - (1 - \alpha) \beta}{N} \sum_i gain_i\, \beta^{i-1}, \quad
            gain_i = \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``NRBP = (1 - (1 - α) β) / N × sum of gain_i β^(i - 1)``

        The sum of gain_i is over the subtopics s of the document at rank i; the gain of an
        irrelevant document is 0. c_{s,i} is the number of relevant documents above rank i with
        subtopic s. N is the number of different subtopics of the relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C., Kolla, M.
        and Vechtomova, O. (2009). An Effectiveness Measure for Ambiguous and Underspecified
        Queries.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.
        beta
            Probability, above 0 and below 1, that an unsatisfied user continues to the next
            document.

        See Also
        --------
        nnrbp : NRBP divided by that of the ideal ranking.
        rbp : Rank-biased precision without subtopics.

        Examples
        --------
        Query a has N = 2: (1 - 1/4) / 2 · (1 + 1/2 · 1/2 + (1 + 1/4) · 1/4).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nrbp(subtopics="intents"))
        shape: (2, 2)
        ┌───────┬───────────┐
        │ query ┆ nrbp      │
        │ ---   ┆ ---       │
        │ str   ┆ f64       │
        ╞═══════╪═══════════╡
        │ a     ┆ 0.5859375 │
        │ b     ┆ 0.0       │
        └───────┴───────────┘
        """
        return self._one(
            "nrbp", n, subtopics=subtopics, alpha=alpha, beta=beta, threshold=threshold
        )

    def nnrbp(
        self,
        n: int | None = None,
        *,
        subtopics: str | pl.Expr,
        alpha: float = 0.5,
        beta: float = 0.5,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return NRBP divided by that of the ideal ranking.

        The gains and the ideal ranking are those of `alpha_ndcg`.

        .. math::

            nNRBP = \frac{\sum_i gain_i\, \beta^{i-1}}{\sum_i ideal_i\, \beta^{i-1}}, \quad
            gain_i = \sum_{s} (1 - \alpha)^{c_{s,i}}

        As text: ``nNRBP = (sum of gain_i β^(i - 1)) / (the same for the ideal ranking)``

        c_{s,i} is the number of relevant documents above rank i with subtopic s. ideal_i is the
        gain at rank i of the ideal ranking.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Clarke, C., Kolla, M.
        and Vechtomova, O. (2009). An Effectiveness Measure for Ambiguous and Underspecified
        Queries.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.
        alpha
            Probability, from 0 to 1, that a relevant document satisfies a user who looks for one of
            its subtopics. For each subtopic, every further relevant document gains (1 - α) times as
            much as the one before.
        beta
            Probability, above 0 and below 1, that an unsatisfied user continues to the next
            document.

        See Also
        --------
        nrbp : The same numerator. The divisor belongs to a list with all subtopics everywhere.

        Examples
        --------
        Query a: (1 + 1/2 · 1/2 + (1 + 1/4) · 1/4) / (2 + 1/2 · 1/2 + 1/4 · 1/4).

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.nnrbp(subtopics="intents"))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ nnrbp    │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.675676 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one(
            "nnrbp", n, subtopics=subtopics, alpha=alpha, beta=beta, threshold=threshold
        )

    def subtopic_recall(
        self, n: int | None = None, *, subtopics: str | pl.Expr, threshold: float | None = None
    ) -> pl.Expr:
        r"""Return the share of the subtopics that the first n documents cover.

        A subtopic is covered if a relevant document among the first n has it.

        .. math:: S\text{-}recall@n = \frac{|\bigcup_{i=1}^{n} subtopics(i)|}{N}

        As text: ``S-recall@n = (number of subtopics covered by the first n documents) / N``

        N is the number of subtopics of all relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Zhai, C., Cohen, W. and
        Lafferty, J. (2003). Beyond Independent Relevance.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.

        See Also
        --------
        precision_ia : The mean precision over the subtopics.
        recall : The share of the relevant documents that was retrieved.

        Examples
        --------
        Query a: the first two documents cover one of the two subtopics.

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.subtopic_recall(2, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬───────────────────┐
        │ query ┆ subtopic_recall@2 │
        │ ---   ┆ ---               │
        │ str   ┆ f64               │
        ╞═══════╪═══════════════════╡
        │ a     ┆ 0.5               │
        │ b     ┆ 0.0               │
        └───────┴───────────────────┘
        """
        return self._one("subtopic_recall", n, subtopics=subtopics, threshold=threshold)

    def precision_ia(
        self, n: int | None = None, *, subtopics: str | pl.Expr, threshold: float | None = None
    ) -> pl.Expr:
        r"""Return intent-aware precision: the mean precision over the subtopics.

        For each subtopic, a relevant document counts as relevant only if it has the subtopic.

        .. math:: P\text{-}IA@n = \frac{1}{N} \sum_{s} P_s@n

        As text: ``P-IA@n = (sum of the precisions of the subtopics) / N``

        N is the number of subtopics of all relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Agrawal, R., Gollapudi,
        S., Halverson, A. and Ieong, S. (2009). Diversifying Search Results.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.

        See Also
        --------
        ap_ia : The mean average precision over the subtopics.
        precision : Precision without subtopics.

        Examples
        --------
        Query a: the precision is 3/3 for subtopic car and 1/3 for subtopic cat.

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.precision_ia(3, subtopics="intents"))
        shape: (2, 2)
        ┌───────┬────────────────┐
        │ query ┆ precision_ia@3 │
        │ ---   ┆ ---            │
        │ str   ┆ f64            │
        ╞═══════╪════════════════╡
        │ a     ┆ 0.666667       │
        │ b     ┆ 0.0            │
        └───────┴────────────────┘
        """
        return self._one("precision_ia", n, subtopics=subtopics, threshold=threshold)

    def ap_ia(
        self, n: int | None = None, *, subtopics: str | pl.Expr, threshold: float | None = None
    ) -> pl.Expr:
        r"""Return intent-aware AP: the mean average precision over the subtopics.

        For each subtopic, a relevant document counts as relevant only if it has the subtopic.

        .. math:: AP\text{-}IA@n = \frac{1}{N} \sum_{s} AP_s@n

        As text: ``AP-IA@n = (sum of the average precisions of the subtopics) / N``

        N is the number of subtopics of all relevant documents of the query.

        From 0 to 1; 0 if no relevant document has a subtopic. Source: Agrawal, R., Gollapudi,
        S., Halverson, A. and Ieong, S. (2009). Diversifying Search Results.

        Parameters
        ----------
        n, threshold
            The cutoff and the lowest relevant grade: see `Graded`.
        subtopics
            Column with the subtopics of each document: lists of labels, or one label per document.
            Null means no subtopics. Labels of a document that is not relevant do not count.

        See Also
        --------
        precision_ia : The mean precision over the subtopics.
        ap : Average precision without subtopics.

        Examples
        --------
        Query a: AP is (1 + 1 + 1) / 3 for subtopic car and 1/3 for subtopic cat.

        >>> df = pl.DataFrame(
        ...     {
        ...         "query": ["a", "a", "a", "a", "b"],
        ...         "grade": [1, 1, 1, 0, 0],
        ...         "intents": [["car"], ["car"], ["car", "cat"], [], []],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.ap_ia(subtopics="intents"))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ ap_ia    │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 0.666667 │
        │ b     ┆ 0.0      │
        └───────┴──────────┘
        """
        return self._one("ap_ia", n, subtopics=subtopics, threshold=threshold)

    # Recommending beyond accuracy.

    def popularity(self, n: int | None = None, *, popularity: str | pl.Expr) -> pl.Expr:
        r"""Return the mean popularity of the first n documents.

        Grades do not matter. High values show that a recommender prefers popular documents. The
        divisor is the lower of n and the length of the list.

        .. math:: ARP@n = \frac{1}{m} \sum_{i=1}^{m} p(i), \quad m = \min(n, retrieved)

        As text: ``ARP@n = (sum of p(i) over the first m documents) / m``

        Not below 0, in the unit of the column. The value is null if nothing was retrieved;
        `undefined_as` does not apply. Source: Yin, H. et al. (2012). Challenging the Long Tail
        Recommendation. RecTools calls the measure `AvgRecPopularity`.

        Parameters
        ----------
        n
            The cutoff: see `Graded`.
        popularity
            Column with the popularity of each document, at least 0: the number or the share of the
            users who chose it. An error is raised if it is null for one of the first n documents.

        See Also
        --------
        novelty : The mean self-information of the same documents.

        Examples
        --------
        User a gets documents that 60 % and 20 % of the users chose.

        >>> df = pl.DataFrame(
        ...     {"user": ["a", "a", "b"], "grade": [1, 0, 1], "share": [0.6, 0.2, 0.1]}
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("user", maintain_order=True).agg(g.popularity(2, popularity="share"))
        shape: (2, 2)
        ┌──────┬──────────────┐
        │ user ┆ popularity@2 │
        │ ---  ┆ ---          │
        │ str  ┆ f64          │
        ╞══════╪══════════════╡
        │ a    ┆ 0.4          │
        │ b    ┆ 0.1          │
        └──────┴──────────────┘
        """
        return self._one("popularity", n, popularity=popularity)

    def novelty(self, n: int | None = None, *, popularity: str | pl.Expr) -> pl.Expr:
        r"""Return the mean self-information of the first n documents.

        A document that few users chose has a high self-information: 1 bit if half of the users
        chose it, 10 bits if one of 1024 did. Grades do not matter. (`novelty_ratio` is another
        measure.)

        .. math:: MIUF@n = -\frac{1}{m} \sum_{i=1}^{m} \log_2 p(i), \quad m = \min(n, retrieved)

        As text: ``MIUF@n = -(sum of log2 p(i) over the first m documents) / m``

        p(i) is the share of the users who chose the document at rank i.

        Not below 0, in bits. The value is null if nothing was retrieved; `undefined_as` does not
        apply. Source: Zhou, T. et al. (2010). Solving the apparent diversity-accuracy dilemma of
        recommender systems. RecTools calls the measure `MeanInvUserFreq`. `Surprisal` of RePlay
        divides the sum by n instead of m, then by the log2 of the number of users.

        Parameters
        ----------
        n
            The cutoff: see `Graded`.
        popularity
            Column with the share of the users who chose the document, above 0 and at most 1. An
            error is raised if one of the first n documents has null or a share out of this range.
            For a document that nobody chose, count one user, as RecTools and RePlay do.

        See Also
        --------
        popularity : The mean popularity of the same documents.
        unexpectedness : The share of documents that a reference does not recommend.
        novelty_ratio : The share of retrieved relevant documents that was new to the user.

        Examples
        --------
        User a gets documents of 1 and 3 bits.

        >>> df = pl.DataFrame(
        ...     {"user": ["a", "a", "b"], "grade": [1, 0, 1], "share": [0.5, 0.125, 0.25]}
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("user", maintain_order=True).agg(g.novelty(2, popularity="share"))
        shape: (2, 2)
        ┌──────┬───────────┐
        │ user ┆ novelty@2 │
        │ ---  ┆ ---       │
        │ str  ┆ f64       │
        ╞══════╪═══════════╡
        │ a    ┆ 2.0       │
        │ b    ┆ 2.0       │
        └──────┴───────────┘
        """
        return self._one("novelty", n, popularity=popularity)

    def diversity(self, n: int | None = None, *, features: str | pl.Expr) -> pl.Expr:
        r"""Return intra-list diversity, the mean distance of pairs in the top n.

        Grades do not matter. The distance of two documents depends on the column:

        - one category per document: 1 if the categories differ, otherwise 0 (Hamming distance);
        - a list of categories per document: 1 - (number of shared categories) / (number of
          categories that at least one of the two has) (Jaccard distance);
        - a vector per document, as a list or an array of floats: 1 - the cosine of the angle
          between the two vectors.

        .. math::
            ILD@n = \frac{2}{m (m - 1)} \sum_{i < j \le m} d(i, j), \quad m = \min(n, retrieved)

        As text: ``ILD@n = (sum of d(i, j) over the pairs of the top m) / (number of pairs)``

        Not below 0, and at most 1 for categories or 2 for vectors. The value is null if m is
        below 2; `undefined_as` does not apply. Source: Smyth, B. and McClave, P. (2001). Similarity
        vs. Diversity. Ziegler, C.-N. et al. (2005). Improving Recommendation Lists Through Topic
        Diversification. `IntraListDiversity` of RecTools is the same, but returns 0 for a list of
        one document.

        Parameters
        ----------
        n
            The cutoff: see `Graded`. With categories, computing takes time in proportion to the
            number of pairs.
        features
            Column with the category, the list of categories or the vector of each document. An
            error is raised if one of the first n documents has null, an empty list or a vector of
            zeros, or if any two rows have vectors of different lengths.

        See Also
        --------
        subtopic_recall : The share of the subtopics of a query that relevant documents cover.
        novelty : The mean self-information of the documents.

        Examples
        --------
        User a gets two comedies and a drama: two of three pairs differ.

        >>> df = pl.DataFrame(
        ...     {
        ...         "user": ["a", "a", "a", "b", "b"],
        ...         "grade": [1, 0, 1, 0, 0],
        ...         "genres": [["comedy"], ["comedy"], ["drama"], ["drama"], ["drama", "war"]],
        ...     }
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("user", maintain_order=True).agg(g.diversity(3, features="genres"))
        shape: (2, 2)
        ┌──────┬─────────────┐
        │ user ┆ diversity@3 │
        │ ---  ┆ ---         │
        │ str  ┆ f64         │
        ╞══════╪═════════════╡
        │ a    ┆ 0.666667    │
        │ b    ┆ 0.5         │
        └──────┴─────────────┘
        """
        return self._one("diversity", n, features=features)

    def unexpectedness(self, n: int | None = None, *, reference: str | pl.Expr) -> pl.Expr:
        r"""Return the share of the top n that a reference does not recommend.

        The reference is a simple recommender, such as a list of the most popular documents. The
        reference recommends its first n documents or, without a cutoff, all of its documents.
        Grades do not matter.

        .. math:: Unexp@n = \frac{|\{i \le m : reference(i) > n\}|}{m}, \quad m = \min(n, retrieved)

        As text: ``Unexp@n = (first m documents that the reference does not recommend) / m``

        From 0 to 1. The value is null if nothing was retrieved; `undefined_as` does not apply.
        Source: Murakami, T., Mori, K. and Orihara, R. (2007). Metrics for Evaluating the
        Serendipity of Recommendation Lists. Adamopoulos, P. and Tuzhilin, A. (2014). On
        Unexpectedness in Recommender Systems. `Unexpectedness` of RePlay divides by n instead of m,
        so the missing ranks of a short list count as unexpected there.

        Parameters
        ----------
        n
            The cutoff, also of the reference: see `Graded`.
        reference
            Column with the rank of each document in the reference, from 1, or null if the reference
            lacks the document. A Boolean column is true for documents that the reference
            recommends.

        See Also
        --------
        serendipity : The share of documents that are both unexpected and relevant.
        novelty : The mean self-information of the documents.

        Examples
        --------
        Only one of the two documents of user a is among the first two of the reference.

        >>> df = pl.DataFrame(
        ...     {"user": ["a", "a", "b"], "grade": [1, 0, 1], "popular": [1, 3, None]}
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("user", maintain_order=True).agg(g.unexpectedness(2, reference="popular"))
        shape: (2, 2)
        ┌──────┬──────────────────┐
        │ user ┆ unexpectedness@2 │
        │ ---  ┆ ---              │
        │ str  ┆ f64              │
        ╞══════╪══════════════════╡
        │ a    ┆ 0.5              │
        │ b    ┆ 1.0              │
        └──────┴──────────────────┘
        """
        return self._one("unexpectedness", n, reference=reference)

    def serendipity(
        self,
        n: int | None = None,
        *,
        reference: str | pl.Expr,
        threshold: float | None = None,
    ) -> pl.Expr:
        r"""Return the share of the top n that is relevant and unexpected.

        A document is unexpected if a reference, such as a list of the most popular documents, does
        not recommend it. The reference recommends its first n documents or, without a cutoff, all
        of its documents.

        .. math:: Serendipity@n = \frac{|\{i \le n : relevant(i) \wedge reference(i) > n\}|}{n}

        As text: ``Serendipity@n = (relevant, unexpected documents in the top n) / n``

        From 0 to 1, and at most `precision`. A query without a relevant document gets 0, or the
        value of `undefined_as`. Source: Ge, M., Delgado-Battenfeld, C. and Jannach, D. (2010).
        Beyond Accuracy: Evaluating Recommender Systems by Coverage and Serendipity. `Serendipity`
        of RecTools is another measure: a relevant document counts more if it ranks higher or is
        less popular.

        Parameters
        ----------
        n, threshold
            The cutoff, also of the reference, and the lowest relevant grade: see `Graded`. Without
            a cutoff, the divisor is the length of the list.
        reference
            Column with the rank of each document in the reference, from 1, or null if the reference
            lacks the document. A Boolean column is true for documents that the reference
            recommends.

        See Also
        --------
        unexpectedness : The share of documents that the reference does not recommend.
        precision : The share of relevant documents, in the reference or not.

        Examples
        --------
        User a: both documents are relevant, and the reference also recommends the first.

        >>> df = pl.DataFrame(
        ...     {"user": ["a", "a", "b"], "grade": [1, 1, 0], "popular": [1, 3, None]}
        ... )
        >>> g = pl.col("grade").graded
        >>> df.group_by("user", maintain_order=True).agg(g.serendipity(2, reference="popular"))
        shape: (2, 2)
        ┌──────┬───────────────┐
        │ user ┆ serendipity@2 │
        │ ---  ┆ ---           │
        │ str  ┆ f64           │
        ╞══════╪═══════════════╡
        │ a    ┆ 0.5           │
        │ b    ┆ 0.0           │
        └──────┴───────────────┘
        """
        return self._one("serendipity", n, reference=reference, threshold=threshold)

    # Counts.

    def judged(self, n: int | None = None, *, ties: TieRule = "order") -> pl.Expr:
        """Return the share of the first n documents that was judged.

        The divisor is the lower of n and the length of the list. An empty list gets 0.

        From 0 to 1. `undefined_as` does not apply.

        Parameters
        ----------
        n, ties
            The cutoff and the order of tied documents: see `Graded`.

        See Also
        --------
        condensed : Drop unjudged documents.
        bpref : Measure for incomplete judgments.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.judged(2))
        shape: (2, 2)
        ┌───────┬──────────┐
        │ query ┆ judged@2 │
        │ ---   ┆ ---      │
        │ str   ┆ f64      │
        ╞═══════╪══════════╡
        │ a     ┆ 1.0      │
        │ b     ┆ 1.0      │
        └───────┴──────────┘
        """
        return self._one("judged", n, ties=ties)

    def n_retrieved(self) -> pl.Expr:
        """Return the number of retrieved documents.

        Without `ranked_by`, all rows count. With `ranked_by`, the rows with a score count, judged
        or not. `condensed` leaves out unjudged rows.

        One count per query. `undefined_as` does not apply.

        See Also
        --------
        n_relevant_retrieved : The number of retrieved documents that are relevant.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.n_retrieved())
        shape: (2, 2)
        ┌───────┬─────────────┐
        │ query ┆ n_retrieved │
        │ ---   ┆ ---         │
        │ str   ┆ u32         │
        ╞═══════╪═════════════╡
        │ a     ┆ 4           │
        │ b     ┆ 2           │
        └───────┴─────────────┘
        """
        return self._one("n_retrieved")

    def n_relevant(self, *, threshold: float | None = None) -> pl.Expr:
        """Return R, the number of documents judged relevant.

        Relevant documents count whether or not they were retrieved.

        One count per query. `undefined_as` does not apply.

        Parameters
        ----------
        threshold
            The lowest relevant grade: see `Graded`.

        See Also
        --------
        n_relevant_retrieved : The number of relevant documents that were retrieved.
        recall : The share of relevant documents that was retrieved.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.n_relevant(threshold=2))
        shape: (2, 2)
        ┌───────┬─────────────────────────┐
        │ query ┆ n_relevant(threshold=2) │
        │ ---   ┆ ---                     │
        │ str   ┆ u32                     │
        ╞═══════╪═════════════════════════╡
        │ a     ┆ 2                       │
        │ b     ┆ 0                       │
        └───────┴─────────────────────────┘
        """
        return self._one("n_relevant", threshold=threshold)

    def n_relevant_retrieved(
        self, n: int | None = None, *, threshold: float | None = None, ties: StrictTieRule = "order"
    ) -> pl.Expr:
        """Return the number of relevant documents among the first n.

        Without a cutoff, all relevant documents that were retrieved count.

        One count per query. `undefined_as` does not apply.

        Parameters
        ----------
        n, threshold, ties
            The cutoff, the lowest relevant grade and the order of ties (not `"average"`): see
            `Graded`.

        See Also
        --------
        n_relevant : The number of all relevant documents.
        precision : The share of the first n documents that is relevant.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.n_relevant_retrieved(2))
        shape: (2, 2)
        ┌───────┬────────────────────────┐
        │ query ┆ n_relevant_retrieved@2 │
        │ ---   ┆ ---                    │
        │ str   ┆ u32                    │
        ╞═══════╪════════════════════════╡
        │ a     ┆ 1                      │
        │ b     ┆ 0                      │
        └───────┴────────────────────────┘
        """
        return self._one("n_relevant_retrieved", n, threshold=threshold, ties=ties)

    # Curves.

    def precision_curve(
        self, n: int | None = None, *, threshold: float | None = None, ties: TieRule = "order"
    ) -> pl.Expr:
        r"""Return precision at every rank from 1 to n.

        The value at rank k is `precision(k)`, even beyond the end of the list.

        One value per rank, from 0 to 1; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides).

        Parameters
        ----------
        n, threshold, ties
            The last rank, the lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        interpolated_precision : Precision at levels of recall.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.precision_curve(3))
        shape: (2, 2)
        ┌───────┬──────────────────────┐
        │ query ┆ precision_curve@3    │
        │ ---   ┆ ---                  │
        │ str   ┆ list[f64]            │
        ╞═══════╪══════════════════════╡
        │ a     ┆ [1.0, 0.5, 0.666667] │
        │ b     ┆ [0.0, 0.0, 0.0]      │
        └───────┴──────────────────────┘
        """
        return self._one("precision_curve", n, threshold=threshold, ties=ties)

    def recall_curve(
        self, n: int | None = None, *, threshold: float | None = None, ties: TieRule = "order"
    ) -> pl.Expr:
        r"""Return recall at every rank from 1 to n.

        The value at rank k is `recall(k)`, which stays the same beyond the end of the list.

        One value per rank, from 0 to 1; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides).

        Parameters
        ----------
        n, threshold, ties
            The last rank, the lowest relevant grade and the order of tied documents: see `Graded`.

        See Also
        --------
        recall : Recall at one rank.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.recall_curve(3))
        shape: (2, 2)
        ┌───────┬────────────────────────────────┐
        │ query ┆ recall_curve@3                 │
        │ ---   ┆ ---                            │
        │ str   ┆ list[f64]                      │
        ╞═══════╪════════════════════════════════╡
        │ a     ┆ [0.333333, 0.333333, 0.666667] │
        │ b     ┆ [0.0, 0.0, 0.0]                │
        └───────┴────────────────────────────────┘
        """
        return self._one("recall_curve", n, threshold=threshold, ties=ties)

    def f_measure_curve(
        self,
        n: int | None = None,
        *,
        beta: float = 1.0,
        threshold: float | None = None,
        ties: TieRule = "order",
    ) -> pl.Expr:
        """Return the F measure at every rank from 1 to n.

        The value at rank k is `f_measure(k)`, even beyond the end of the list.

        Values from 0 to 1. A query without a relevant document gets 0 at every rank, or the value
        of `undefined_as`. Source: Chen, B. Retrieval evaluation (slides), alternative measures.

        Parameters
        ----------
        n, threshold, ties
            The last rank, the lowest relevant grade and the order of tied documents: see `Graded`.
        beta
            Weight of recall relative to precision, above 0, at most 1e100.

        See Also
        --------
        max_f_measure : The maximum of the curve.
        e_measure_curve : One minus this curve.

        Examples
        --------
        Query a: 2/4, 2/5 and 4/6.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.f_measure_curve(3))
        shape: (2, 2)
        ┌───────┬──────────────────────┐
        │ query ┆ f_measure_curve@3    │
        │ ---   ┆ ---                  │
        │ str   ┆ list[f64]            │
        ╞═══════╪══════════════════════╡
        │ a     ┆ [0.5, 0.4, 0.666667] │
        │ b     ┆ [0.0, 0.0, 0.0]      │
        └───────┴──────────────────────┘
        """
        return self._one("f_measure_curve", n, beta=beta, threshold=threshold, ties=ties)

    def e_measure_curve(
        self,
        n: int | None = None,
        *,
        b: float = 1.0,
        threshold: float | None = None,
        ties: TieRule = "order",
    ) -> pl.Expr:
        """Return the E measure at every rank from 1 to n.

        Lower is better. The value at rank k is `e_measure(k)`, even beyond the end of the list.

        Values from 0 to 1. A query without a relevant document gets 1 at every rank, or one minus
        the value of `undefined_as`. Source: Chen, B. Retrieval evaluation (slides), alternative
        measures.

        Parameters
        ----------
        n, threshold, ties
            The last rank, the lowest relevant grade and the order of tied documents: see `Graded`.
        b
            Weight of recall relative to precision, above 0, at most 1e100.

        See Also
        --------
        e_measure : E at one rank.
        f_measure_curve : One minus this curve.

        Examples
        --------
        Query a: 1 - 2/4, 1 - 2/5 and 1 - 4/6.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.e_measure_curve(3))
        shape: (2, 2)
        ┌───────┬──────────────────────┐
        │ query ┆ e_measure_curve@3    │
        │ ---   ┆ ---                  │
        │ str   ┆ list[f64]            │
        ╞═══════╪══════════════════════╡
        │ a     ┆ [0.5, 0.6, 0.333333] │
        │ b     ┆ [1.0, 1.0, 1.0]      │
        └───────┴──────────────────────┘
        """
        return self._one("e_measure_curve", n, b=b, threshold=threshold, ties=ties)

    def interpolated_precision(
        self,
        *,
        recall_levels: int | Sequence[float] = 11,
        threshold: float | None = None,
        ties: StrictTieRule = "order",
    ) -> pl.Expr:
        r"""Return interpolated precision at levels of recall.

        The value at level r is the highest precision of all ranks where recall is at least r. It is
        0 if the ranking does not reach this recall. (With 21 relevant documents, recall 0.1 would
        need 2.1 of them. Here, 3 are required; trec_eval 10 rounds to the nearest number and
        requires 2.)

        .. math:: P(r) = \max_{r' \ge r} P(r')

        As text: ``P(r) = the highest precision at a recall of r or more``

        One value for each level, from 0 to 1; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides), examples 3.2 and 3.3.

        Parameters
        ----------
        recall_levels
            Increasing levels from 0 to 1; or the number of levels, at least 2, in equal steps from
            0 to 1.
        threshold, ties
            The lowest relevant grade and the order of ties (not `"average"`): see `Graded`.

        See Also
        --------
        precision_curve : Precision at ranks.

        Examples
        --------
        At its three hits, query a has recall 1/3, 2/3 and 1, and precision 1, 2/3 and 3/4.

        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.interpolated_precision(recall_levels=3))
        shape: (2, 2)
        ┌───────┬─────────────────────────────────┐
        │ query ┆ interpolated_precision(recall_… │
        │ ---   ┆ ---                             │
        │ str   ┆ list[f64]                       │
        ╞═══════╪═════════════════════════════════╡
        │ a     ┆ [1.0, 0.75, 0.75]               │
        │ b     ┆ [0.0, 0.0, 0.0]                 │
        └───────┴─────────────────────────────────┘
        """
        return self._one(
            "interpolated_precision", recall_levels=recall_levels, threshold=threshold, ties=ties
        )

    def cg_curve(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return cumulated gain at every rank from 1 to n.

        The value at rank k is `cg(k)`, which stays the same beyond the end of the list.

        One value per rank, not below 0; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides).

        Parameters
        ----------
        n, gain, ties
            The last rank, the gain of a grade and the order of tied documents: see `Graded`.

        See Also
        --------
        dcg_curve : The curve with a discount for lower ranks.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> g = pl.col("grade").graded
        >>> df.group_by("query", maintain_order=True).agg(g.cg_curve(3, gain="linear"))
        shape: (2, 2)
        ┌───────┬─────────────────────────┐
        │ query ┆ cg_curve(gain=linear)@3 │
        │ ---   ┆ ---                     │
        │ str   ┆ list[f64]               │
        ╞═══════╪═════════════════════════╡
        │ a     ┆ [1.0, 1.0, 4.0]         │
        │ b     ┆ [0.0, 0.0, 0.0]         │
        └───────┴─────────────────────────┘
        """
        return self._one("cg_curve", n, gain=gain, ties=ties)

    def dcg_curve(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return discounted cumulated gain at every rank from 1 to n.

        The value at rank k is `dcg(k)`, which stays the same beyond the end of the list.

        One value per rank, not below 0; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides).

        Parameters
        ----------
        n, gain, discount, base, ties
            The last rank, gains, discounts and the order of tied documents: see `Graded`.

        See Also
        --------
        ideal_dcg_curve : The highest possible curve.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.dcg_curve(3))
        shape: (2, 2)
        ┌───────┬─────────────────┐
        │ query ┆ dcg_curve@3     │
        │ ---   ┆ ---             │
        │ str   ┆ list[f64]       │
        ╞═══════╪═════════════════╡
        │ a     ┆ [1.0, 1.0, 4.5] │
        │ b     ┆ [0.0, 0.0, 0.0] │
        └───────┴─────────────────┘
        """
        return self._one("dcg_curve", n, gain=gain, discount=discount, base=base, ties=ties)

    def ideal_dcg_curve(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
    ) -> pl.Expr:
        r"""Return ideal DCG at every rank from 1 to n.

        The value at rank k is `ideal_dcg(k)`, the DCG of the best order. It stays the same beyond
        the last judged document.

        One value per rank, not below 0; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides).

        Parameters
        ----------
        n
            The last rank, at least 1; by default the number of judged documents.
        gain, discount, base
            Gains and discounts: see `Graded`.

        See Also
        --------
        dcg_curve : The curve of the ranking.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.ideal_dcg_curve(3))
        shape: (2, 2)
        ┌───────┬───────────────────────────┐
        │ query ┆ ideal_dcg_curve@3         │
        │ ---   ┆ ---                       │
        │ str   ┆ list[f64]                 │
        ╞═══════╪═══════════════════════════╡
        │ a     ┆ [7.0, 8.892789, 9.392789] │
        │ b     ┆ [0.0, 0.0, 0.0]           │
        └───────┴───────────────────────────┘
        """
        return self._one("ideal_dcg_curve", n, gain=gain, discount=discount, base=base)

    def ndcg_curve(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return NDCG at every rank from 1 to n.

        The value at rank k is `ndcg(k)`. With `discount="none"`, the curve is that of `ncg`.

        One value per rank, from 0 to 1; all 0 without a relevant document. Source: Chen, B.
        Retrieval evaluation (slides). Scheel et al. (2011), table 2.

        Parameters
        ----------
        n, gain, discount, base, ties
            The last rank, gains, discounts and the order of tied documents: see `Graded`.

        See Also
        --------
        ndcg_area : The mean of the curve.
        ndcng_curve : The same curve for NDCNG.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.ndcg_curve(3))
        shape: (2, 2)
        ┌───────┬────────────────────────────────┐
        │ query ┆ ndcg_curve@3                   │
        │ ---   ┆ ---                            │
        │ str   ┆ list[f64]                      │
        ╞═══════╪════════════════════════════════╡
        │ a     ┆ [0.142857, 0.112451, 0.479091] │
        │ b     ┆ [0.0, 0.0, 0.0]                │
        └───────┴────────────────────────────────┘
        """
        return self._one("ndcg_curve", n, gain=gain, discount=discount, base=base, ties=ties)

    def ndcng_curve(
        self,
        n: int | None = None,
        *,
        gain: GainName | Mapping[float, float] = "exp2",
        discount: Discount = "log2",
        base: float = 2.0,
        ties: TieRule = "order",
    ) -> pl.Expr:
        r"""Return NDCNG at every rank from 1 to n.

        The value at rank k is `ndcng(k)`.

        One value per rank, from 0 to 1; all 0 without a relevant document. Source: Scheel et al.
        (2011), table 2.

        Parameters
        ----------
        n, discount, base, ties
            The last rank, discounts and the order of tied documents: see `Graded`.
        gain
            As for `ndcng`.

        See Also
        --------
        ndcng_area : The mean of the curve.
        ndcg_curve : The same curve for NDCG.

        Examples
        --------
        >>> df = pl.DataFrame({"query": list("aaaabb"), "grade": [1, 0, 3, 2, 0, 0]})
        >>> df.group_by("query", maintain_order=True).agg(pl.col("grade").graded.ndcng_curve(3))
        shape: (2, 2)
        ┌───────┬────────────────────────────────┐
        │ query ┆ ndcng_curve@3                  │
        │ ---   ┆ ---                            │
        │ str   ┆ list[f64]                      │
        ╞═══════╪════════════════════════════════╡
        │ a     ┆ [0.259921, 0.189639, 0.506422] │
        │ b     ┆ [0.0, 0.0, 0.0]                │
        └───────┴────────────────────────────────┘
        """
        return self._one("ndcng_curve", n, gain=gain, discount=discount, base=base, ties=ties)


@checks_call
def graded(column: str | pl.Expr) -> Graded:
    """Return the `.graded` namespace of a column, for type checkers.

    Type checkers and editors do not know a namespace that is registered at run time, but they know
    the result of this function. The result behaves like ``pl.col("grade").graded``.

    Jupyter completes the methods after ``graded("grade").``, but not after
    ``pl.col("grade").graded.``. Either run ``g = pl.col("grade").graded`` first and complete
    ``g.``, or run ``%config Completer.use_jedi = False`` and
    ``%config Completer.evaluation = "unsafe"``.

    Parameters
    ----------
    column
        The column of grades, or an expression for it.

    Examples
    --------
    >>> df = pl.DataFrame({"grade": [0, 1]})
    >>> df.select(graded("grade").reciprocal_rank())
    shape: (1, 1)
    ┌─────────────────┐
    │ reciprocal_rank │
    │ ---             │
    │ f64             │
    ╞═════════════════╡
    │ 0.5             │
    └─────────────────┘
    """
    return Graded(check_column("column", column))
