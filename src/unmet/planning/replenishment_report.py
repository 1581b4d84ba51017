"""What a `ReplenishmentPlan` has to tell: orders, stock to come, histories, ready for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.planning.decision_report import ReportData, versions
from unmet.planning.demand_forecast import LABELS
from unmet.planning.order_plan import SERVICE_LEVEL
from unmet.planning.order_report import MAX_ITEMS, columns_of, histories, item_name
from unmet.planning.panel import Places
from unmet.planning.replenishment_plan import ReplenishmentPlan

if TYPE_CHECKING:
    import polars

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
    """All that the report of a `ReplenishmentPlan` shows; `unmet.report` lays it out.

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
    model: str = "usual"
    overrides: str = ""
    aim: str = ""


def replenishment_report_data(
    plan: ReplenishmentPlan,
    *,
    notes: Sequence[str] = (),
    command: str = "",
    title: str = "Orders",
    currency: str = "",
    most: int | None = None,
) -> ReplenishmentReportData:
    """Everything that the report of a fitted `ReplenishmentPlan` shows, for `write_report`.

    Parameters
    ----------
    plan : ReplenishmentPlan
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
    >>> from unmet.planning import ReplenishmentPlan, example, replenishment_report_data
    >>> from unmet.report import render
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = ReplenishmentPlan(lead_time=2, holding=1, shortage=4, n_paths=100).fit(sales)
    >>> "to order in all" in render(replenishment_report_data(plan))
    True
    """
    import polars as pl

    check_is_fitted(plan, "replenishment_")
    panel, schema = plan.panel_, plan.schema_
    assert panel.planned is not None
    kept = np.flatnonzero(panel.planned)
    order_table = plan.order_table_.with_columns(pl.Series("\0place", kept))
    order_table = order_table.sort(
        "runs_empty",
        "chance_of_running_out",
        "order",
        descending=[False, True, True],
        nulls_last=True,
        maintain_order=True,
    )
    places = order_table["\0place"].to_numpy()
    names = pl.Series("item", [item_name(plan, int(each)) for each in places], dtype=pl.String)
    shown = order_table.drop("\0place", *schema.series).insert_column(0, names)
    most = _room(kept.size, plan.demand_forecast_.expected.shape[1]) if most is None else most
    unit = "day" if panel.step == 1 else "week"
    evaluated = plan.shortage is not None
    said = [*plan.notes_, *notes]
    if currency and not evaluated:
        said.append(f"Nothing is counted in {currency}: no costs were given.")
    count = "1 series" if panel.n_series == 1 else f"{panel.n_series:,} series"
    changed = plan.overrides_
    return ReplenishmentReportData(
        title=title,
        problem="newsvendor",
        answer=(f"Order {plan.in_words()}",),
        decisions=shown,
        n_decisions=shown.height,
        inputs={
            "rows": f"{plan.n_rows_:,}, {count}, {panel.n_days:,} {unit}s",
            **columns_of(plan),
            **({"column: on hand": plan.on_hand} if plan.on_hand else {}),
            "lead time": _said(plan.lead_time, unit),
            "review": f"every {_said(plan.review, unit)}",
            "unmet demand": f"is {plan.unmet}",
            **({} if plan.shelf_life is None else {"shelf life": _said(plan.shelf_life, unit)}),
            "aim": _aim(plan),
            "expected demand": LABELS[plan.demand_forecast_.model],
        },
        notes=tuple(dict.fromkeys(said)),
        command=command,
        versions=versions(),
        date=schema.date,
        series=("item",),
        history=histories(plan, np.sort(places[:most]), None if most > places.size else _MANY_DAYS),
        currency=currency if evaluated else "",
        ahead=tuple(_ahead(plan, shown.head(most), places[:most])),
        totals={
            name: float(shown[name].sum())
            for name in ("order", "on_hand", "on_order", "expected_demand")
        },
        n_ordered=int((shown["order"] > 0).sum()),
        n_empty=int(shown["runs_empty"].is_not_null().sum()),
        n_periods=plan.demand_forecast_.expected.shape[1],
        unit=unit,
        missed=dict(plan.demand_forecast_.error),
        model=plan.demand_forecast_.model,
        overrides="" if changed is None or not changed.count else str(changed),
        aim=_aim(plan),
    )


def _room(n_series: int, n_periods: int) -> int:
    """Items that find room in a file which can be sent by mail."""
    each = _ITEM + _PERIOD * min(n_periods, _MAX_PERIODS)
    return int(_ROOM[n_series <= MAX_ITEMS[True]] / each)


def _said(value: object, unit: str) -> str:
    if isinstance(value, str):
        return f"{unit}s in the column {value}"
    return f"{value:g} {unit}{'' if value == 1 else 's'}"


def _aim(plan: ReplenishmentPlan) -> str:
    """Say what orders aim at."""
    unit = "days" if plan.panel_.step == 1 else "weeks"
    if plan.shortage is not None:
        holding, shortage = (
            f"what column {each} says" if isinstance(each, str) else f"{each:g}"
            for each in (plan.holding, plan.shortage)
        )
        return (
            f"least cost until the next order arrives: a unit left over costs {holding} each "
            f"{unit[:-1]}, one that is missing {shortage}"
        )
    level = SERVICE_LEVEL if plan.service_level is None else plan.service_level
    return f"demand is met on {100 * level:.4g}% of the {unit}"


def _ahead(plan: ReplenishmentPlan, shown: polars.DataFrame, places: Places) -> list[StockAhead]:
    panel, found = plan.panel_, plan.replenishment_
    n_periods = min(plan.demand_forecast_.expected.shape[1], _MAX_PERIODS)
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
            demand=of(plan.demand_forecast_.expected, place),
            low=of(ahead.low, place),
            middle=of(ahead.middle, place),
            high=of(ahead.high, place),
            empty=of(ahead.empty, place),
            arrivals=of(arrivals, place),
        )
        for row, place in zip(shown.iter_rows(named=True), places, strict=True)
    ]
