"""Example of a restaurant: the bundled YAZ data, with the sales that its orders left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

DISHES = ("shrimp", "chicken", "koefte", "lamb", "steak")
"""Of seven: of the others few portions are sold."""

_CUT = date(2015, 8, 10)  # the last quarter is what is to come
_KEPT = ("date", "weekday", "month", "is_holiday", "rain", "sunshine", "temperature")

EXAMPLE: dict[str, Any] = {
    "observed": "sales",
    "features": ("weekday", "month", "dish", "is_holiday", "temperature"),
    "underage": 3.0,
    "overage": 1.0,
    "date": "date",
    "series": ("dish",),
}
"""Options of a `DecisionPlan` that fit the example, as `plan_from_options` takes them."""


@dataclass(frozen=True)
class Example:
    """Tables of the example.

    Attributes
    ----------
    sales : polars.DataFrame
        Data of the planner: date, weekday, month, holiday, weather, dish and sales. Two more
        columns, whether the dish sold out and its stock, let you try what such information is
        worth.
    coming : polars.DataFrame
        The quarter to decide on, without sales.
    truth : polars.DataFrame
        The same quarter with the demand that nobody knew in advance.

    Examples
    --------
    >>> from unmet.planning import example
    >>> tables = example()
    >>> "demand" in tables.truth.columns, "sales" in tables.coming.columns
    (True, False)
    """

    sales: pl.DataFrame
    coming: pl.DataFrame
    truth: pl.DataFrame


def example() -> Example:
    """Load five dishes of a restaurant in Stuttgart, censored by orders on past sales.

    The demand is real (ddop's YAZ data, see `unmet.data.load_yaz`). The orders are not known, so
    they are simulated: for each dish, 1.15 times the mean sales of the last four same weekdays.
    Sales are the smaller of demand and order.

    Examples
    --------
    >>> from unmet.planning import example
    >>> tables = example()
    >>> tables.sales.height, tables.coming.height
    (3350, 450)
    >>> round(tables.sales["sold_out"].mean(), 2)
    0.37
    """
    import numpy as np

    from unmet.data import load_yaz
    from unmet.simulate import censor, history_orders

    table = load_yaz().filter(pl.col("is_closed") == 0)
    days = [
        table.select(*_KEPT, pl.lit(dish).alias("dish"), pl.col(dish).alias("demand"))
        for dish in DISHES
    ]
    long = pl.concat(days).sort("date", "dish").cast({"weekday": pl.String, "month": pl.String})
    orders = history_orders(
        long["demand"], long["date"], long["dish"], k=4, factor=1.15, on="sales"
    )
    sales, censored = censor(long["demand"], orders)
    whole = long.with_columns(
        pl.Series("sales", sales).cast(pl.Int64),
        pl.Series("sold_out", censored),
        pl.Series("stock", np.where(np.isfinite(orders), orders, np.nan)).fill_nan(None),
    )
    past, coming = whole.filter(pl.col("date") < _CUT), whole.filter(pl.col("date") >= _CUT)
    hidden = ("sales", "sold_out", "stock")
    return Example(
        sales=past.drop("demand"),
        coming=coming.drop("demand", *hidden),
        truth=coming.drop(*hidden),
    )
