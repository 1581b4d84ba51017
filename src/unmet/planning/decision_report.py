"""Results of a plan that the command line, the report and the page show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from unmet.censoring.model import equally_likely
from unmet.tables.dates import read_dates
from unmet.tables.reading import TableRows

if TYPE_CHECKING:
    from unmet.planning.decision_plan import DecisionPlan, Decisions

Basis: TypeAlias = Literal["truth", "seen", "estimate", "observation"]


@dataclass(frozen=True)
class MethodCost:
    """Cost and service of the decisions of one method.

    Attributes
    ----------
    method : str
        Short name: "latent", "ieo", "eas", "published", …
    label : str
        Name that readers see.
    cost : float
        Mean cost per row.
    decision : float
        Mean decision.
    service_level : float or None
        Share of rows whose decision covers the truth; None if the truth is unknown.
    fill_rate : float or None
        Share of the truth that is served.
    saving : float or None
        Share of the cost of the method that ignores censoring ("ieo") that is saved.
    by_fold : tuple of float
        Mean cost in each held-out block; empty if there are none.

    Examples
    --------
    >>> from unmet.planning.decision_report import MethodCost
    >>> MethodCost(method="plan", label="this plan", cost=12.5, decision=40.0).cost
    12.5
    """

    method: str
    label: str
    cost: float
    decision: float
    service_level: float | None = None
    fill_rate: float | None = None
    saving: float | None = None
    by_fold: tuple[float, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Comparison of several methods on the same rows.

    Attributes
    ----------
    basis : {"truth", "seen", "estimate", "observation"}
        Basis of the evaluation: "truth" is the truth itself. "seen" are rows that show the truth,
        weighted for the others. "estimate" is the estimated distribution of the truth.
        "observation" are the observations, which favor decisions that are too low.
    methods : tuple of MethodCost
        Cost of each method; ``comparison["plan"]`` is the entry of one method.
    n_rows : int
        Number of evaluated rows.
    folds : tuple of pairs of str
        First and last time of each held-out block; empty if rows were held out at random.
    notes : tuple of str
        Findings, one sentence each.

    Examples
    --------
    >>> from unmet.planning.decision_report import Comparison, MethodCost
    >>> ours = MethodCost(method="plan", label="this plan", cost=12.5, decision=40.0)
    >>> Comparison(basis="truth", methods=(ours,), n_rows=90)["plan"].cost
    12.5
    """

    basis: Basis
    methods: tuple[MethodCost, ...]
    n_rows: int
    folds: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, method: str) -> MethodCost:
        return {each.method: each for each in self.methods}[method]

    def to_dict(self) -> dict[str, Any]:
        """Give plain numbers and text, for JSON."""
        return asdict(self)


# --- The last observations of each item, kept with a plan so that its reports can show them.

ITEM_MARK = " · "
"""Stands between the parts of an item's name."""
_MAX_ITEMS, _MAX_TIMES = 200, 60  # a saved plan stays small


def keep_history(plan: DecisionPlan, rows: TableRows, features: Any) -> dict[str, list[Any]] | None:
    """Keep the last observations of each item, for the largest items only; None without dates.

    If a distribution was estimated, also keep the expected truth.
    """
    if plan.date is None:
        return None
    names = tuple(plan.series) or tuple(plan.by)
    item = pl.concat_str(
        [pl.col(name).cast(pl.String).fill_null("–") for name in names], separator=ITEM_MARK
    )
    seen = pl.DataFrame(
        {
            "item": rows.table.select(item).to_series() if names else [""] * rows.table.height,
            "date": read_dates(rows.table, plan.date),
            "observed": rows.observed,
            "row": np.arange(rows.observed.size),
            "sold_out": [None] * rows.observed.size if rows.flag is None else rows.flag == 1.0,
        }
    )
    sizes = seen.group_by("item", maintain_order=True).agg(pl.col("observed").sum())
    largest = sizes.sort("observed", descending=True, maintain_order=True).head(_MAX_ITEMS)
    kept = seen.join(largest.select("item"), on="item", how="semi").drop_nulls("date")
    latest = pl.col("date").rank("dense", descending=True).over("item") <= _MAX_TIMES
    kept = kept.filter(latest).sort("item", "date", maintain_order=True)
    rule, expected = getattr(plan.estimator_, "rule_", None), None
    if rule is not None and hasattr(rule, "quantile_function") and not plan.by:
        seen_from = features[kept["row"].to_numpy()]
        expected = equally_likely(rule.quantile_function(seen_from), 41).mean(axis=0)
    unknown = pl.lit(None, pl.Float64).alias("expected")
    whole = kept.with_columns(unknown if expected is None else pl.Series("expected", expected))
    amounts = pl.col("observed", "expected")
    together = whole.group_by("item", "date", maintain_order=True).agg(
        amounts.sum() if plan.problem == "newsvendor" else amounts.mean(),
        pl.col("sold_out").cast(pl.Boolean).any(),
    )
    if expected is None:  # a sum of nothing would be 0
        together = together.with_columns(unknown)
    text = together.with_columns(pl.col("date").dt.to_string("iso:strict"))
    return {name: text[name].to_list() for name in _HISTORY}


_HISTORY = ("item", "date", "observed", "expected", "sold_out")


def history_table(plan: DecisionPlan) -> pl.DataFrame | None:
    """Give the kept history with dates as dates; None if there is none."""
    kept = getattr(plan, "history_", None)
    if kept is None:
        return None
    types = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Boolean)
    table = pl.DataFrame(kept, schema=dict(zip(_HISTORY, types, strict=True)))
    dates = table["date"]
    timed = dates.str.contains("T").any()
    return table.with_columns(dates.str.to_datetime() if timed else dates.str.to_date())


def decision_table(table: pl.DataFrame, plan: DecisionPlan, found: Decisions) -> pl.DataFrame:
    """Make a table of decisions, for a file or a report.

    Parameters
    ----------
    table : polars.DataFrame
        Rows that were decided on.
    plan : DecisionPlan
        The fitted plan.
    found : Decisions
        Decisions for these rows.

    Returns
    -------
    polars.DataFrame
        Columns that identify rows, ``ignoring`` (the decision that takes observations for the
        truth), ``decision``, and ``outside_data`` if a decision lies outside of all observations.

    Examples
    --------
    >>> from unmet import Band, DecisionPlan, Newsvendor
    >>> from unmet.planning import decision_table
    >>> from unmet.simulate import store10
    >>> table = store10(seed=0).train.to_polars()
    >>> plan = DecisionPlan("sales", ["category"], Newsvendor(3, 1), band=Band(0, 40)).fit(table)
    >>> rows = table.head(2)
    >>> decision_table(rows, plan, plan.decide(rows)).columns[:3]
    ['category', 'ignoring', 'decision']
    """
    names = [plan.date, *plan.series, *plan.by, *plan.features]
    keep = [name for name in dict.fromkeys(names) if name is not None and name in table.columns]
    columns = [] if found.ignoring is None else [pl.Series("ignoring", found.ignoring)]
    columns.append(pl.Series("decision", found.decision))
    if (found.outside_data != "").any():
        columns.append(pl.Series("outside_data", found.outside_data))
    return pl.DataFrame([*(table[name] for name in keep), *columns])
