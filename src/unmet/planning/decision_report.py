"""What a plan has to tell: results that the command line, the report and the page show."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unmet.censoring.model import Diagnosis
from unmet.planning.decision_models import candidates
from unmet.planning.summary import NOUNS, followed, hidden_rows
from unmet.tables.reading import TableRows, read_dates

if TYPE_CHECKING:
    import polars

    from unmet.planning.decision_plan import DecisionPlan, Decisions

Basis: TypeAlias = Literal["truth", "seen", "estimate", "observation"]


@dataclass(frozen=True)
class MethodCost:
    """What the decisions of one method cost, and what they do.

    Attributes
    ----------
    method : str
        Short name: "latent", "ieo", "eas", "published", …
    label : str
        What a reader is shown.
    cost : float
        Mean per row.
    decision : float
        Mean decision.
    service_level : float or None
        Share of rows whose decision covers the truth; None where the truth is not known.
    fill_rate : float or None
        Share of the truth that is served.
    saving : float or None
        Share of the cost of the method that ignores censoring ("ieo") that is saved.
    by_fold : tuple of float
        Mean cost in each block of time held out; empty where there are none.
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
class Fold:
    """A block of time held out: learned from what lies before it.

    Attributes
    ----------
    first, last : str
        First and last time held out.
    """

    first: str
    last: str


@dataclass(frozen=True)
class Comparison:
    """Several methods evaluated on the same rows.

    Attributes
    ----------
    basis : {"truth", "seen", "estimate", "observation"}
        What the decisions were evaluated on: the truth itself; rows that show it, weighted for
        those that do not; the distribution of the truth as estimated; or the observations, which
        favour decisions that are too low.
    methods : tuple of MethodCost
    n_rows : int
        Rows evaluated.
    folds : tuple of Fold
        Blocks of time held out; empty where the rows are those that were learned from.
    notes : tuple of str
        Sentences a reader should know.
    """

    basis: Basis
    methods: tuple[MethodCost, ...]
    n_rows: int
    folds: tuple[Fold, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, method: str) -> MethodCost:
        for each in self.methods:
            if each.method == method:
                return each
        raise KeyError(method)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Stake:
    """What it costs to ignore that observations hide the truth.

    Attributes
    ----------
    per_row : float
        Mean cost of a row that ignoring it adds, if the chosen model is the true one.
    low, high : float
        The same over all candidates that the data cannot rule out; low may be 0.
    n_rows : int
        Rows decided on.
    """

    per_row: float
    low: float
    high: float
    n_rows: int

    @property
    def total(self) -> float:
        """For all rows decided on."""
        return self.per_row * self.n_rows

    @property
    def total_range(self) -> tuple[float, float]:
        """The same over all candidates that the data cannot rule out."""
        return self.low * self.n_rows, self.high * self.n_rows


@dataclass(frozen=True)
class ReportData:
    """All that a report shows; `unmet.report` lays it out.

    Attributes
    ----------
    title : str
    problem : {"newsvendor", "pricing", "replacement"}
    answer : tuple of str
        The main message, a sentence each: shown first.
    decisions : polars.DataFrame or None
        One row per decision: columns that tell rows apart, then ``decision`` last; a column
        ``ignoring`` before it, where there is one, is what would be decided without the band.
    n_decisions : int
        Rows in all; `decisions` may hold only the first of them.
    diagnosis : Diagnosis or None
    comparison : Comparison or None
    stake : Stake or None
    level : float or None
        α of the cost, where it is one number.
    inputs : mapping of str to str
        What went in, ready to show: rows, columns, costs, model, band.
    notes : tuple of str
        What was done to the table, a sentence each: rows left out, values filled in, unseen
        categories.
    command : str
        The command line, or the lines of Python, that make this report again.
    versions : mapping of str to str
        Of the packages that matter.
    date : str or None
        Column of `decisions` that has the dates.
    series : tuple of str
        Columns of `decisions` that tell items apart.
    history : polars.DataFrame or None
        The last observations of each item, one row each: ``item`` (values of the columns of
        `series`, joined by `ITEM_MARK`), ``date``, ``observed``, ``expected`` (what the truth is
        expected to have been) and ``sold_out`` (known to hide something); the last two may be
        null.
    currency : str
        What money is counted in; empty where nobody says.
    assumed : float or None
        Share of rows that somebody assumes to hide something, whatever was found.
    """

    title: str
    problem: str
    answer: tuple[str, ...] = ()
    decisions: polars.DataFrame | None = None
    n_decisions: int = 0
    diagnosis: Diagnosis | None = None
    comparison: Comparison | None = None
    stake: Stake | None = None
    level: float | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    date: str | None = None
    series: tuple[str, ...] = ()
    history: polars.DataFrame | None = None
    currency: str = ""
    assumed: float | None = None


# --- The last observations of each item, kept with a plan so that its reports can show them.

ITEM_MARK = " · "
"""Stands between the parts of an item's name."""
_MAX_ITEMS, _MAX_TIMES = 200, 60  # a saved plan stays small


def keep_history(plan: DecisionPlan, rows: TableRows, features: Any) -> dict[str, list[Any]] | None:
    """Give the last observations of each item, the largest items only; None without dates.

    Where a distribution was learned, also what the truth is expected to have been.
    """
    import polars as pl

    from unmet.planning.backtest import expected_truth

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
    if callable(getattr(rule, "quantile_function", None)) and not plan.by:
        expected = expected_truth(rule, features[kept["row"].to_numpy()]).mean(axis=0)
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


def history_table(plan: DecisionPlan) -> polars.DataFrame | None:
    """Give the history that a plan has kept, with dates as dates; None where it has kept none."""
    import polars as pl

    kept = getattr(plan, "history_", None)
    if kept is None:
        return None
    types = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Boolean)
    table = pl.DataFrame(kept, schema=dict(zip(_HISTORY, types, strict=True)))
    dates = table["date"]
    timed = dates.str.contains("T").any()
    return table.with_columns(dates.str.to_datetime() if timed else dates.str.to_date())


# --- What a plan found, put together for a reader.

_PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "polars", "lightgbm")
_TITLES = {
    "newsvendor": "Order quantities",
    "pricing": "Prices",
    "replacement": "Replacement ages",
}
BASELINES = {
    "newsvendor": "if sales are taken for demand",
    "pricing": "if offers are taken for what buyers would pay",
    "replacement": "if times in service are taken for lifetimes",
}
"""What everything is compared with, in labels."""


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that an answer depends on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def stake(plan: DecisionPlan, n_rows: int) -> Stake | None:
    """Cost of ignoring the censoring in so many rows; None where nothing was estimated."""
    found = plan.diagnosis_
    if found is None or found.stake is None or plan.problem == "replacement":
        return None
    low, high = found.stake_range or (found.stake, found.stake)
    return Stake(found.stake, low, high, n_rows)


def decision_table(
    table: polars.DataFrame, plan: DecisionPlan, found: Decisions
) -> polars.DataFrame:
    """Columns that tell rows apart, what ignoring would decide, and the decision."""
    import polars as pl

    names = [plan.date, *plan.series, *plan.by, *plan.features]
    keep = [name for name in dict.fromkeys(names) if name is not None and name in table.columns]
    columns = [] if found.ignoring is None else [pl.Series("ignoring", found.ignoring)]
    kept = [table[name] for name in keep]
    return pl.DataFrame([*kept, *columns, pl.Series("decision", found.decision)])


def report_data(
    plan: DecisionPlan,
    *,
    decisions: polars.DataFrame | None = None,
    comparison: Comparison | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    title: str | None = None,
    currency: str = "",
    assumed: float | None = None,
) -> ReportData:
    """Everything that a report of a fitted plan shows.

    Parameters
    ----------
    plan : DecisionPlan
        Fitted.
    decisions : polars.DataFrame, optional
        From `decision_table`.
    comparison : Comparison, optional
        By default that of the plan.
    notes : sequence of str
        Further sentences, such as those of `Decisions`.
    command : str
        What makes this report again.
    title : str, optional
    currency : str
        What money is counted in.
    assumed : float, optional
        Share of rows that the decisions assume to hide something, whatever was found.
    """
    n_decisions = 0 if decisions is None else decisions.height
    comparison = plan.comparison_ if comparison is None else comparison
    at_stake = stake(plan, n_decisions or plan.n_rows_)
    return ReportData(
        title=title or _TITLES[plan.problem],
        problem=plan.problem,
        answer=tuple(answer(plan, decisions, comparison, assumed)),
        decisions=decisions,
        n_decisions=n_decisions,
        diagnosis=plan.diagnosis_,
        comparison=comparison,
        stake=at_stake,
        level=plan.level,
        inputs=_inputs(plan),
        notes=tuple(dict.fromkeys((*plan.notes_, *_why(plan), *notes))),
        command=command,
        versions=versions(),
        date=plan.date,
        series=tuple(name for name in plan.series or plan.by if name),
        history=history_table(plan),
        currency=currency,
        assumed=assumed,
    )


def _why(plan: DecisionPlan) -> tuple[str, ...]:
    """Say why this model decides, where a plan left that open: with numbers, so not at the top."""
    return () if plan.choice_ is None else (plan.choice_.why,)


def answer(
    plan: DecisionPlan,
    decisions: polars.DataFrame | None,
    comparison: Comparison | None,
    assumed: float | None = None,
) -> list[str]:
    """Give the main message, a sentence each."""
    said = []
    noun = NOUNS[plan.problem]
    if decisions is not None:
        decided = decisions["decision"].to_numpy()
        mean = float(decided[np.isfinite(decided)].mean()) if np.isfinite(decided).any() else np.inf
        sentence = f"{decisions.height:,} {noun}, on average {mean:,.1f}"
        if "ignoring" in decisions.columns and plan.problem != "replacement":
            more = float((decided - decisions["ignoring"].to_numpy()).mean())
            way = "more" if more >= 0 else "less"
            sentence += f": {abs(more):,.1f} {way} than {BASELINES[plan.problem]}"
        said.append(sentence + ".")
    found = plan.diagnosis_
    if found is not None:
        _, hidden = hidden_rows(found, plan.problem, assumed)
        taken = followed(found, plan.problem) if assumed is None else ""
        said += [sentence for sentence in (" ".join([hidden, taken]).strip(),) if sentence]
    saving = None if comparison is None else comparison["plan"].saving
    if comparison is not None and saving is not None:
        where = {
            "truth": "on the true values",
            "seen": "on rows that were seen, weighted for those that sold out",
            "estimate": "if the estimate is right",
            "observation": "on the observations, which favour decisions that are too low",
        }[comparison.basis]
        way = "less" if saving >= 0 else "more"
        said.append(
            f"On {comparison.n_rows:,} rows held out, {noun} cost {abs(saving):.1%} {way} than "
            f"{BASELINES[plan.problem]} ({where})."
        )
    return said


def _model(plan: DecisionPlan) -> str:
    """Name the model, and what it was chosen from."""
    names = candidates(plan.model)
    if plan.choice_ is None or len(names) == 1:
        return plan.model_name
    how = "chosen on rows held out" if plan.choice_.scored else "not compared"
    return f"{plan.model_name}, of {', '.join(names)} ({how})"


def _inputs(plan: DecisionPlan) -> dict[str, str]:
    """Name what went in."""
    shown = {
        "problem": plan.problem,
        "rows learned from": f"{plan.n_rows_:,}",
        "observation": plan.observed,
        "features": ", ".join(plan.features),
        "calendar features": ", ".join(plan.calendar),
        "one model for each": ", ".join(plan.by),
        "date": plan.date or "",
        "series": ", ".join(plan.series),
        "flags": plan.flag or "",
        "stock": plan.column("stock") or "",
        "model": _model(plan) if plan.problem != "replacement" else "",
        "band": plan.words.partition(", ")[2],
    }
    from unmet.planning.plan_options import cost_options

    costs = cost_options(plan)
    if plan.problem == "replacement":
        shown["costs"] = f"planned {costs['planned']}, failure {costs['failure']}"
    elif "goal" in costs:
        shown["goal"] = f"most revenue above a unit cost of {costs['unit_cost']}"
    elif "service_level" in costs:
        shown["service level"] = costs["service_level"]
    else:
        for name, labels in (("underage", "too little"), ("overage", "too much")):
            column = plan.column(name)
            shown[f"cost of a unit {labels}"] = f"column {column}" if column else costs[name]
    return {name: value for name, value in shown.items() if value}
