"""An item's days in a plot: sales by the hour, silent hours shaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.censoring.hours.demand import HourlyDemand
from unmet.data.bundled import WEEKDAYS
from unmet.errors import InvalidInput, MissingPackage
from unmet.validation import WholeNumber

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_days(reading: HourlyDemand, series: int = 0, *, n_days: int = 21) -> Figure:
    """Draw the last days of an item, an hour a bar; hours that were likely empty are shaded.

    Parameters
    ----------
    reading : HourlyDemand
    series : int
        Row of ``reading.hours.keys``.
    n_days : int

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot: save it with ``figure.savefig``.
    """
    WholeNumber(1)("n_days", n_days)
    hours = reading.hours
    if not 0 <= series < hours.n_series:
        raise InvalidInput(f"series must be from 0 to {hours.n_series - 1}, got {series}.")
    module = MissingPackage.or_load("draw_days()", "matplotlib.figure", "report")
    days = np.flatnonzero(hours.known[series])[-n_days:]
    opens, closes = hours.window(series)
    hour = np.arange(opens, closes)
    sold = hours.sales[series][days][:, opens:closes]
    stock = reading.stock[series][days][:, opens:closes]
    most = max(float(sold.max()), 1e-12)
    lost = (reading.demand - reading.sold)[series]
    figure = module.Figure(figsize=(7.2, 1.5 + 0.34 * days.size), layout="constrained")
    axes = figure.subplots()
    shades = (0.1, 0.3, 0.5, 0.7, 0.9)  # least probabilities of an empty shelf
    for row, day in enumerate(days):
        base = days.size - 1 - row
        for place, at in enumerate(hour):
            empty = 1 - float(stock[row, place])
            shade = sum(empty > each for each in shades) / len(shades)
            if shade:
                axes.fill_between(
                    [at, at + 1], base, base + 0.92, color="#d95f02", alpha=0.5 * shade, lw=0
                )
        axes.bar(
            hour + 0.5, 0.86 * sold[row] / most, width=0.8, bottom=base, color="#1b4965", zorder=3
        )
        axes.axhline(base, color="0.85", lw=0.6, zorder=1)
        chance = float(reading.probability[series, day])
        told = f"{sold[row].sum():g} sold"
        if chance > 0.5:
            told += f"; sold out (p = {chance:.2f}), about {lost[day]:.2g} more asked for"
        axes.text(closes + 0.2, base + 0.3, told, fontsize=7.5, va="center")
    labels = [str(np.datetime_as_string(hours.dates[day], unit="D")) for day in days[::-1]]
    names = [
        f"{WEEKDAYS[hours.weekday[day]][:3]} {label}"
        for day, label in zip(days[::-1], labels, strict=True)
    ]
    axes.set_yticks(np.arange(days.size) + 0.4, names, fontsize=7.5)
    step = 2 if closes - opens > 10 else 1
    axes.set_xticks(np.arange(opens, closes + 1, step))
    axes.set_xlim(opens, closes)
    axes.set_ylim(0, days.size)
    axes.set_xlabel("hour of the day", fontsize=8.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    key = ", ".join(str(part) for part in hours.keys.row(series))
    axes.set_title(f"Sales by the hour: {key}", loc="left", fontsize=10)
    handle: Any = [
        axes.bar(0, 0, color="#1b4965", label=f"sales of an hour (tallest: {most:g})"),
        axes.fill_between([0], 0, 0, color="#d95f02", alpha=0.5, label="shelf likely empty"),
    ]
    figure.legend(handles=handle, loc="outside lower left", ncols=2, fontsize=8, frameon=False)
    return figure  # type: ignore[no-any-return]
