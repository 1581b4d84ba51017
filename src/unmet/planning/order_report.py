"""What the plan of a panel has to tell: its orders, histories and choice, ready for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.planning.decision_report import ITEM_MARK, ReportData, versions
from unmet.planning.order_plan import ChosenModel, OrderPlan
from unmet.planning.panel import Places
from unmet.planning.panel_models import LABELS
from unmet.planning.replenishment_plan import ReplenishmentPlan

if TYPE_CHECKING:
    import polars

MAX_ITEMS = {True: 200, False: 100}
"""Items whose history a report shows: of a panel that has no more than the first, or of a larger
one, of which totals must find room as well."""
_MAX_DAYS = 120  # of their history
_TAKEN = ("decision", "ignoring")  # columns that a report gives a meaning of its own
PARTS = {"usual_sales": "usual sales", "hidden_demand": "hidden demand", "safety": "safety"}
"""What an order consists of, by column of the table of orders: what a reader is shown."""


@dataclass(frozen=True, kw_only=True)
class OrderReportData(ReportData):
    """All that the report of a panel's plan shows; `unmet.report` lays it out.

    Of `ReportData` it has decisions (with a column for each of `PARTS`, by what readers are
    shown), history, date, series, inputs, notes, command, versions and currency.

    Attributes
    ----------
    choice : ChosenModel
    parts : mapping of str to float
        Sums of usual sales, hidden demand and safety over all orders.
    ends : pair of float, or None
        Sums of what both ends of a range of sell-out rates ask for.
    n_series : int
        Series that orders are for.
    unit : {"day", "week"}
        What one order is for.
    whole : mapping of str to list
        The history of all series together: ``date``, ``observed``, ``expected`` (empty where
        nothing was imputed).
    sold_out : float or None
        Share of the days with a flag that were stock-outs; None where nothing tells.
    rate : pair of float, or None
        Sell-out rates that somebody has said.
    asked : str
        What orders aim at, in words.
    evaluated : bool
        Whether costs were given, so that costs are money.
    overrides : str
        What changing orders has cost or saved; empty where none were.
    """

    choice: ChosenModel
    parts: Mapping[str, float]
    n_series: int
    unit: str = "day"
    ends: tuple[float, float] | None = None
    whole: Mapping[str, list[object]] = field(default_factory=dict)
    sold_out: float | None = None
    rate: tuple[float, float] | None = None
    asked: str = ""
    evaluated: bool = False
    overrides: str = ""


def order_report_data(
    plan: OrderPlan,
    *,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "Orders",
    currency: str = "",
) -> OrderReportData:
    """Everything that a report of a fitted `OrderPlan` shows, for `unmet.report.write_report`.

    Parameters
    ----------
    plan : OrderPlan
        Fitted, or loaded.
    notes : sequence of str
        Further sentences, such as those on how a file was read.
    command : str
        What makes this report again.
    title : str
    currency : str
        What money is counted in, such as € or EUR; used where costs were given.

    Returns
    -------
    OrderReportData

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.planning import OrderPlan, example, order_report_data
    >>> from unmet.report import render
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, underage=3, overage=1, model="linear").fit(sales)
    >>> page = render(order_report_data(plan, currency="€"))
    >>> "Orders follow a line" in page
    True
    """
    check_is_fitted(plan, "choice_")
    panel, schema, order_table = plan.panel_, plan.schema_, plan.order_table_
    unit = "day" if panel.step == 1 else "week"
    count = "1 series" if panel.n_series == 1 else f"{panel.n_series:,} series"
    # a column of the table may have the name of one that a report gives a meaning
    safe = {name: f"{name} (column)" for name in schema.series if name in _TAKEN}
    shown = order_table.rename(safe | {"order": "decision", **PARTS, "based_on": "based on"})
    series = tuple(safe.get(name, name) for name in schema.series)
    evaluated = plan.underage is not None
    changed = plan.overrides_
    rate = None if plan.rate_ is None else (plan.rate_.low, plan.rate_.high)
    said = [*plan.notes_, *plan.choice_.left_out, *notes]
    if currency and not evaluated:
        said.append(f"Nothing is counted in {currency}: no costs were given.")
    return OrderReportData(
        title=title,
        problem="newsvendor",
        answer=(_answer(plan, shown, unit), plan.choice_.why),
        decisions=shown,
        n_decisions=order_table.height,
        level=float(np.mean(plan.cost_.level)),
        inputs={
            "rows": f"{plan.n_rows_:,}, {count}, {panel.n_days:,} {unit}s",
            **columns_of(plan),
            "orders": f"for {plan.horizon} {unit}s, decided {plan.lead_time} before the first"
            if plan.lead_time
            else f"for {plan.horizon} {unit}s",
            "aim": _aim(plan),
            "models": LABELS[plan.choice_.model],
        },
        notes=tuple(dict.fromkeys(said)),
        command=command,
        versions=versions(),
        date=schema.date,
        series=series,
        history=histories(plan, _largest(plan)),
        currency=currency if evaluated else "",
        choice=plan.choice_,
        parts={words: float(order_table[name].sum()) for name, words in PARTS.items()},
        ends=(float(order_table["low"].sum()), float(order_table["high"].sum()))
        if {"low", "high"} <= set(order_table.columns)
        else None,
        n_series=int(np.unique(plan.targets_[0]).size),
        unit=unit,
        whole=_together(plan),
        sold_out=None if panel.hidden is None else float(np.nanmean(panel.hidden)),
        rate=rate,
        asked=_aim(plan),
        evaluated=evaluated,
        overrides="" if changed is None or not changed.count else str(changed),
    )


def _answer(plan: OrderPlan, shown: polars.DataFrame, unit: str) -> str:
    dates = shown[plan.schema_.date].unique().sort()
    total = float(shown["decision"].sum())
    count = int(np.unique(plan.targets_[0]).size)
    first, last = (f"{each.day} {each:%b %Y}" for each in (dates[0], dates[-1]))
    when = first if dates.len() == 1 else f"{first} to {last}"
    items = "one series" if count == 1 else f"{count:,} series"
    amount = f"{total:,.0f}" if total >= 100 else f"{total:,.4g}"
    length = f"one {unit}" if dates.len() == 1 else f"{dates.len()} {unit}s"
    return f"Order {amount} units for {items} and {length}, {when}."


def _aim(plan: OrderPlan) -> str:
    """Say what orders aim at."""
    unit = "days" if plan.panel_.step == 1 else "weeks"
    level = f"{100 * float(np.mean(plan.cost_.level)):.4g}%"
    if plan.underage is not None:
        return (
            f"least cost: a unit too little costs {plan.underage:g}, one too much "
            f"{plan.overage:g}, so demand is met on {level} of the {unit}"
        )
    return f"demand is met on {level} of the {unit}"


def columns_of(plan: OrderPlan | ReplenishmentPlan) -> dict[str, str]:
    """Which column was taken for what."""
    schema = plan.schema_
    named = {
        "date": schema.date,
        "series": ", ".join(schema.series),
        "sales": schema.sales,
        "sold out": schema.sold_out or "",
        "stock": schema.stock or "",
        "known beforehand": ", ".join(plan.panel_.known),
    }
    return {f"column: {name}": text for name, text in named.items() if text}


# --- Histories.


def _largest(plan: OrderPlan) -> Places:
    """Places of the series whose history is shown: those with the largest orders."""
    series = plan.targets_[0]
    total = np.bincount(series, plan.order_table_["order"].to_numpy(), plan.panel_.n_series)
    planned = np.unique(series)
    most = MAX_ITEMS[planned.size <= MAX_ITEMS[True]]
    return np.sort(planned[np.argsort(-total[planned], kind="stable")[:most]])


def histories(
    plan: OrderPlan | ReplenishmentPlan, kept: Places, most: int | None = None
) -> polars.DataFrame:
    """Give the last days of some series, as `ReportData.history` holds them."""
    import polars as pl

    panel = plan.panel_
    first = max(panel.n_days - (_MAX_DAYS if most is None else most), 0)
    observed = panel.observed[kept, first:]
    demand = None if panel.hidden is None else plan.demand_
    expected = np.full(observed.shape, np.nan) if demand is None else demand[kept, first:]
    hidden = np.zeros(observed.shape) if panel.hidden is None else panel.hidden[kept, first:]
    dates = panel.date(np.arange(first, panel.n_days))
    names = np.repeat(np.arange(kept.size), observed.shape[1])
    seen = ~np.isnan(observed.ravel())
    return pl.DataFrame(
        {
            "item": pl.Series([item_name(plan, int(place)) for place in kept], dtype=pl.String)[
                names[seen]
            ],
            "date": pl.Series(np.tile(dates, kept.size)[seen]).cast(pl.Date),
            "observed": observed.ravel()[seen],
            "expected": pl.Series(expected.ravel()[seen]).fill_nan(None),
            "sold_out": hidden.ravel()[seen] > 0.5,
        }
    )


def item_name(plan: OrderPlan | ReplenishmentPlan, place: int) -> str:
    """Name a series by its keys, as reports do."""
    keys = plan.panel_.keys
    if not plan.schema_.series or keys is None:
        return ""
    row = keys.select(plan.schema_.series).row(place)
    return ITEM_MARK.join("–" if part is None else str(part) for part in row)


def _together(plan: OrderPlan) -> dict[str, list[object]]:
    """Add up the last days of all series that orders are for."""
    panel, demand = plan.panel_, plan.demand_
    first = max(panel.n_days - _MAX_DAYS, 0)
    kept = np.unique(plan.targets_[0])

    def summed(values: Array) -> Array:
        return np.asarray(np.nansum(values[kept, first:], axis=0))

    seen = ~np.isnan(panel.observed[kept, first:]).all(axis=0)
    dates = panel.date(np.arange(first, panel.n_days))[seen]
    return {
        "date": dates.tolist(),
        "observed": summed(panel.observed)[seen].tolist(),
        "expected": [] if demand is None else summed(demand)[seen].tolist(),
    }
