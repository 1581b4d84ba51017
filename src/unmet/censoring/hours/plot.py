"""An item's days in a chart: sales by the hour, silent hours shaded."""

from __future__ import annotations

import numpy as np

from unmet.censoring.hours.demand import HourlyDemand
from unmet.charts import Chart, grid
from unmet.errors import InvalidInput
from unmet.validation import WholeNumber


def draw_days(reading: HourlyDemand, series: int = 0, *, n_days: int = 21) -> Chart:
    """Draw the last days of an item: a dot for the sales of an hour, shaded if it was likely empty.

    Parameters
    ----------
    reading : HourlyDemand
    series : int
        Row of ``reading.hours.keys``.
    n_days : int

    Returns
    -------
    Chart
    """
    WholeNumber(1)("n_days", n_days)
    hours = reading.hours
    if not 0 <= series < hours.n_series:
        raise InvalidInput(f"series must be from 0 to {hours.n_series - 1}, got {series}.")
    days = np.flatnonzero(hours.known[series])[-n_days:]
    opens, closes = hours.window(series)
    lost = (reading.demand - reading.sold)[series]
    rows, texts = [], {}
    for day in days:
        name = f"{hours.dates[day].astype(object):%a %Y-%m-%d}"
        sold = hours.sales[series, day]
        chance = float(reading.probability[series, day])
        texts[name] = f"{sold[opens:closes].sum():g} sold"
        if chance > 0.5:
            texts[name] += f"; sold out (p = {chance:.2f}), about {lost[day]:.2g} more asked for"
        for hour in range(opens, closes):
            empty = 1.0 - float(reading.stock[series, day, hour])
            rows.append({"row": name, "x": hour, "size": float(sold[hour]), "shade": empty})
    key = ", ".join(str(part) for part in hours.keys.row(series))
    words = {"x": "hour of the day", "size": "sales of the hour", "shade": "shelf likely empty"}
    return grid(rows, texts, title=f"Sales by the hour: {key}", **words)
