"""What plans of orders and of replenishment have to tell: orders, histories, stock to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.evaluation.backtest import ModelChoice
from unmet.planning.candidates import LABELS
from unmet.planning.decision_report import ITEM_MARK, ReportData, versions
from unmet.planning.order_plan import OrderPlan
from unmet.tables.panel import Places

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
    choice : ModelChoice
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

    choice: ModelChoice
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
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.planning import example, order_report_data
    >>> from unmet.report import render
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, cost=Newsvendor(3, 1), model="linear").fit(sales)
    >>> page = render(order_report_data(plan, currency="€"))
    >>> "Orders follow a line" in page
    True
    """
    check_is_fitted(plan, "choice_")
    panel, schema, order_table = plan.panel_, plan.schema_, plan.order_table_
    unit = "day" if panel.step == 1 else "week"
    # a column of the table may have the name of one that a report gives a meaning
    safe = {name: f"{name} (column)" for name in schema.series if name in _TAKEN}
    shown = order_table.rename(safe | {"order": "decision", **PARTS, "based_on": "based on"})
    series = tuple(safe.get(name, name) for name in schema.series)
    evaluated = plan.costs_are_money
    rate = None if plan.rate_ is None else (plan.rate_.low, plan.rate_.high)
    said = [*plan.choice_.left_out, *notes]
    return OrderReportData(
        **_shared(plan, said, currency, evaluated=evaluated),
        title=title,
        command=command,
        answer=(_answer(plan, shown, unit), plan.choice_.why),
        decisions=shown,
        n_decisions=order_table.height,
        level=float(np.mean(plan.cost_.level)),
        inputs={
            **_inputs(plan),
            "orders": f"for {plan.horizon} {unit}s, decided {plan.lead_time} before the first"
            if plan.lead_time
            else f"for {plan.horizon} {unit}s",
            "aim": _aim(plan),
            "models": LABELS[plan.choice_.model],
        },
        series=series,
        history=histories(plan, _largest(plan)),
        choice=plan.choice_,
        parts={words: float(order_table[name].sum()) for name, words in PARTS.items()},
        ends=(float(order_table["low"].sum()), float(order_table["high"].sum()))
        if {"low", "high"} <= set(order_table.columns)
        else None,
        n_series=int(np.unique(plan.targets_[0]).size),
        whole=_together(plan),
        sold_out=None if panel.hidden is None else float(np.nanmean(panel.hidden)),
        rate=rate,
        asked=_aim(plan),
        evaluated=evaluated,
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
    if plan.costs_are_money:
        cost = plan.cost_
        return (
            f"least cost: a unit too little costs {cost.underage:g}, one too much "
            f"{cost.overage:g}, so demand is met on {level} of the {unit}"
        )
    return f"demand is met on {level} of the {unit}"


def _shared(
    plan: OrderPlan, notes: Sequence[str], currency: str, *, evaluated: bool
) -> dict[str, Any]:
    """Fields that the reports of both kinds of plans have in common."""
    said = [*plan.notes_, *notes]
    if currency and not evaluated:
        said.append(f"Nothing is counted in {currency}: no costs were given.")
    changed = plan.overrides_
    return {
        "problem": "newsvendor",
        "notes": tuple(dict.fromkeys(said)),
        "versions": versions(),
        "date": plan.schema_.date,
        "currency": currency if evaluated else "",
        "unit": "day" if plan.panel_.step == 1 else "week",
        "overrides": "" if changed is None or not changed.count else str(changed),
    }


def _inputs(plan: OrderPlan) -> dict[str, str]:
    """Rows of the table, and which column was taken for what."""
    schema, panel = plan.schema_, plan.panel_
    count = "1 series" if panel.n_series == 1 else f"{panel.n_series:,} series"
    unit = "days" if panel.step == 1 else "weeks"
    named = {
        "date": schema.date,
        "series": ", ".join(schema.series),
        "sales": schema.sales,
        "sold out": schema.sold_out or "",
        "stock": schema.stock or "",
        "known beforehand": ", ".join(panel.known),
    }
    columns = {f"column: {name}": text for name, text in named.items() if text}
    return {"rows": f"{plan.n_rows_:,}, {count}, {panel.n_days:,} {unit}", **columns}


# --- Histories.


def _largest(plan: OrderPlan) -> Places:
    """Places of the series whose history is shown: those with the largest orders."""
    series = plan.targets_[0]
    total = np.bincount(series, plan.order_table_["order"].to_numpy(), plan.panel_.n_series)
    planned = np.unique(series)
    most = MAX_ITEMS[planned.size <= MAX_ITEMS[True]]
    return np.sort(planned[np.argsort(-total[planned], kind="stable")[:most]])


def histories(plan: OrderPlan, kept: Places, most: int | None = None) -> polars.DataFrame:
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


def item_name(plan: OrderPlan, place: int) -> str:
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


# --- Replenishment.


_MANY_DAYS = 45  # of the history, where items are many
_MAX_PERIODS = 45  # to come
_ROOM = {True: 1150.0, False: 650.0}  # kB for items, where the table of orders is short or long
_ITEM, _PERIOD = 6.5, 0.11  # kB of an item, and of a period of it, measured


@dataclass(frozen=True)
class StockAhead:
    """Stock of one series to come, if its order is placed and no other.

    Attributes
    ----------
    name : str
    order : float
    arrives : date
        First period that the order can serve.
    on_hand, on_order : float
    expected : float
        Demand until the next order arrives.
    runs_empty : date or None
        First period in which demand is more likely than not to exceed what is there.
    dates : list of date
        Coming periods.
    demand : list of float
        Expected, of each of them.
    low, middle, high : list of float
        Stock at the end of each: exceeded with a chance of 90, 50 and 10%.
    empty : list of float
        Chance that demand of the period is not met in full.
    arrivals : list of float
        Units that arrive when the period begins, the order included.
    """

    name: str
    order: float
    arrives: date
    on_hand: float
    on_order: float
    expected: float
    runs_empty: date | None
    dates: list[date]
    demand: list[float]
    low: list[float]
    middle: list[float]
    high: list[float]
    empty: list[float]
    arrivals: list[float]


@dataclass(frozen=True, kw_only=True)
class ReplenishmentReportData(ReportData):
    """All that the report of an `OrderPlan` with supply rules shows; `unmet.report` lays it out.

    Of `ReportData` it has decisions (the table of orders, with ``item`` first and most urgent
    series first), history, inputs, notes, command, versions and currency.

    Attributes
    ----------
    ahead : tuple of StockAhead
        The most urgent series.
    totals : dict from str to float
        Sums of the table of orders: order, on_hand, on_order, expected_demand.
    n_ordered, n_empty : int
        Series with an order, and those that are likely to run empty.
    n_periods : int
        How far ahead is looked.
    unit : {"day", "week"}
    missed : dict from str to float
        How far each model of expected demand missed, held out.
    model : str
    overrides : str
        What changing orders has cost or saved; empty where none were.
    aim : str
        What orders aim at, in words.
    """

    ahead: tuple[StockAhead, ...]
    totals: dict[str, float]
    n_ordered: int
    n_empty: int
    n_periods: int
    unit: str
    missed: dict[str, float] = field(default_factory=dict)
    model: str = "seasonal"
    overrides: str = ""
    aim: str = ""


def replenishment_report_data(
    plan: OrderPlan,
    *,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "Orders",
    currency: str = "",
    most: int | None = None,
) -> ReplenishmentReportData:
    """Everything that the report of an `OrderPlan` with supply rules shows.

    Parameters
    ----------
    plan : OrderPlan
        Fitted.
    notes : sequence of str
        Further sentences, such as those on how a file was read.
    command : str
        What makes this report again.
    title : str
    currency : str
        What money is counted in, such as € or EUR; used where costs were given.
    most : int, optional
        Series that are told of one by one, the most urgent; by default as many as find room in a
        file that can be sent by mail.

    Returns
    -------
    ReplenishmentReportData

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import OrderPlan
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.planning import example, replenishment_report_data
    >>> from unmet.report import render
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(supply=SupplyRules(lead_time=2, holding=1, shortage=4)).fit(sales)
    >>> "to order in all" in render(replenishment_report_data(plan))
    True
    """
    import polars as pl

    check_is_fitted(plan, "replenishment_")
    assert plan.supply is not None
    panel, schema, supply = plan.panel_, plan.schema_, plan.supply
    assert panel.planned is not None
    kept = np.flatnonzero(panel.planned)
    order_table = urgent_first(plan.order_table_.with_columns(pl.Series("\0place", kept)))
    places = order_table["\0place"].to_numpy()
    names = pl.Series("item", [item_name(plan, int(each)) for each in places], dtype=pl.String)
    shown = order_table.drop("\0place", *schema.series).insert_column(0, names)
    most = _room(kept.size, plan.expected_.shape[1]) if most is None else most
    unit = "day" if panel.step == 1 else "week"
    shared = _shared(plan, notes, currency, evaluated=plan.costs_are_money)
    return ReplenishmentReportData(
        **shared,
        title=title,
        command=command,
        answer=(f"Order {plan.in_words()}",),
        decisions=shown,
        n_decisions=shown.height,
        inputs={
            **_inputs(plan),
            **({"column: on hand": schema.on_hand} if schema.on_hand else {}),
            "lead time": _said(supply.lead_time, unit),
            "review": f"every {_said(supply.review, unit)}",
            "unmet demand": f"is {supply.unmet}",
            **({} if supply.lasting else {"shelf life": _said(supply.shelf_life, unit)}),
            "aim": _replenishment_aim(plan),
            "expected demand": LABELS[plan.choice_.model],
        },
        series=("item",),
        history=histories(plan, np.sort(places[:most]), None if most > places.size else _MANY_DAYS),
        ahead=tuple(_ahead(plan, shown.head(most), places[:most])),
        totals={
            name: float(shown[name].sum())
            for name in ("order", "on_hand", "on_order", "expected_demand")
        },
        n_ordered=int((shown["order"] > 0).sum()),
        n_empty=int(shown["runs_empty"].is_not_null().sum()),
        n_periods=plan.expected_.shape[1],
        missed=dict(plan.choice_.cost),
        model=plan.choice_.model,
        aim=_replenishment_aim(plan),
    )


def urgent_first(orders: polars.DataFrame) -> polars.DataFrame:
    """Sort orders of replenishment: what runs empty first, then what is likely to run out."""
    return orders.sort(
        "runs_empty",
        "chance_of_running_out",
        "order",
        descending=[False, True, True],
        nulls_last=True,
        maintain_order=True,
    )


def _room(n_series: int, n_periods: int) -> int:
    """Items that find room in a file which can be sent by mail."""
    each = _ITEM + _PERIOD * min(n_periods, _MAX_PERIODS)
    return int(_ROOM[n_series <= MAX_ITEMS[True]] / each)


def _said(value: object, unit: str) -> str:
    if isinstance(value, str):
        return f"{unit}s in the column {value}"
    return f"{value:g} {unit}{'' if value == 1 else 's'}"


def _replenishment_aim(plan: OrderPlan) -> str:
    """Say what orders aim at."""
    unit = "days" if plan.panel_.step == 1 else "weeks"
    supply = plan.supply
    assert supply is not None
    if plan.costs_are_money:
        given = supply if supply.costs_given else plan.rules_
        holding, shortage = (
            f"what column {each} says" if isinstance(each, str) else f"{each:g}"
            for each in (given.holding, given.shortage)
        )
        return (
            f"least cost until the next order arrives: a unit left over costs {holding} each "
            f"{unit[:-1]}, one that is missing {shortage}"
        )
    return f"demand is met on {100 * float(plan.cost_.level):.4g}% of the {unit}"


def _ahead(plan: OrderPlan, shown: polars.DataFrame, places: Places) -> list[StockAhead]:
    panel, found = plan.panel_, plan.replenishment_
    n_periods = min(plan.expected_.shape[1], _MAX_PERIODS)
    dates = panel.date(panel.n_days + np.arange(n_periods)).astype(object).tolist()
    arrivals = plan.state_.arrivals(n_periods)
    lead = plan.rules_.whole("lead_time", panel.n_series)
    soon = np.flatnonzero(lead < n_periods)
    arrivals[soon, lead[soon]] += found.order[soon]
    ahead = found.projection

    def of(values: Array, place: int) -> list[float]:
        return [float(each) for each in np.round(values[place, :n_periods], 3)]

    return [
        StockAhead(
            name=str(row["item"]),
            order=float(row["order"]),
            arrives=row["arrives"],
            on_hand=float(row["on_hand"]),
            on_order=float(row["on_order"]),
            expected=float(row["expected_demand"]),
            runs_empty=row["runs_empty"],
            dates=dates,
            demand=of(plan.expected_, place),
            low=of(ahead.low, place),
            middle=of(ahead.middle, place),
            high=of(ahead.high, place),
            empty=of(ahead.empty, place),
            arrivals=of(arrivals, place),
        )
        for row, place in zip(shown.iter_rows(named=True), places, strict=True)
    ]
