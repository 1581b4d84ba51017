"""What the charts of a plan show, as descriptions that `unmet.report.drawing` draws.

Those of a diagnosis are described in `unmet.censoring.plots`; here are decisions over time, how
they are spread, and each item with its history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from math import floor, log10, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.censoring.plots import Chart, Line, Role
from unmet.errors import InvalidInput
from unmet.planning.decision_report import ITEM_MARK, ReportData
from unmet.planning.order_report import StockAhead
from unmet.report.labels import Labels, by_time

if TYPE_CHECKING:
    from polars import DataFrame

MAX_ITEMS = 200
"""Items that a report holds: a file that can be sent by mail."""
_FEW_DATES = 10  # on an axis of their own: three of them are labelled
_FEW_ITEMS = 25  # get more of their history
_MAX_TIMES = {True: 120, False: 45}  # of one item, few items or many; of history and of orders
_TICKS = (0.07, 0.29, 0.5, 0.71, 0.93)  # of an axis of dates: labels fit on a phone


# --- Decisions of all rows.


def decisions_chart(decisions: DataFrame, labels: Labels) -> Chart:
    """Describe decisions by date where the table has dates, and how they are spread where not.

    Parameters
    ----------
    decisions : polars.DataFrame
        With a column ``decision``, and perhaps ``ignoring``: what would be decided without the
        band.
    labels : Labels
        Also say whether decisions of a date are added up or averaged.
    """
    if "decision" not in decisions.columns or not decisions.height:
        raise InvalidInput("decisions must have a column 'decision' and a row, got none.")
    named: dict[str, tuple[str, Role]] = {"decision": (labels.decision, "order")}
    if "ignoring" in decisions.columns:
        named["ignoring"] = (labels.ignoring, "fitted")
    times = by_time(decisions, labels)
    if times is not None:
        dates = times[0].to_series().to_list()
        places, told = [days(each) for each in dates], [day_label(each) for each in dates]
        lines = [
            Line(name, places, _numbers(times[0][column]), role, told)
            for column, (name, role) in named.items()
        ]
        how = f"{labels.amount} a date, all rows" if labels.added_up else f"mean {labels.amount}"
        return Chart(
            title=labels.decisions,
            across=_years(dates),
            upward=how,
            lines=tuple(lines),
            ticks=date_ticks(dates),
            from_zero=labels.added_up,
        )
    # counted here: the rows themselves would make a large file
    counted = {name: _finite(decisions[name].to_list()) for name in named}
    whole = np.concatenate(list(counted.values()))
    if not whole.size:
        raise InvalidInput("decisions must have a finite one to draw, got none.")
    edges = _edges(whole)
    lines = [
        Line(
            name,
            edges.tolist(),
            np.histogram(counted[column], edges)[0].astype(float).tolist(),
            role,
            stepped=True,
        )
        for column, (name, role) in named.items()
    ]
    ends = [float(edges[round(share * (edges.size - 1))]) for share in (0, 0.25, 0.5, 0.75, 1)]
    ticks = {place: f"{place:,.6g}" for place in ends}
    return Chart(
        title=labels.decisions,
        across=labels.decision,
        upward="rows",
        lines=tuple(lines),
        ticks=ticks,
        from_zero=True,
    )


def _edges(values: Any) -> Any:
    """Ten to thirty bins over all values, with round edges; one where all values are the same."""
    low, high = float(values.min()), float(values.max())
    least = (high - low) / 30 or max(abs(high), 1.0) / 30
    unit = 10.0 ** floor(log10(least))
    size = unit * next(step for step in (1, 2, 5, 10) if step * unit >= least * (1 - 1e-9))
    first = floor(low / size)
    return size * np.arange(first, floor(high / size) + 2)


def _finite(values: Iterable[float | None]) -> Any:
    kept = np.array([nan if value is None else float(value) for value in values])
    return kept[np.isfinite(kept)]


def _numbers(values: Iterable[float | None]) -> list[float]:
    return [nan if value is None else float(value) for value in values]


# --- Dates on an axis.


def days(moment: date) -> float:
    """Days since the beginning of the calendar; hours are parts of a day."""
    hours = 0.0
    if isinstance(moment, datetime):
        hours = (moment.hour * 60 + moment.minute) / 1440
    return moment.toordinal() + hours


def day_label(moment: date) -> str:
    """Name a day, with its hour where it has one."""
    said = f"{moment.day} {moment:%b %Y}"
    timed = isinstance(moment, datetime) and (moment.hour or moment.minute)
    return f"{said}, {moment:%H:%M}" if timed else said


def date_ticks(dates: Sequence[date]) -> dict[float, str]:
    """Label a few of the dates: days where the axis is short, months where it is long."""
    low, high = days(min(dates)), days(max(dates))
    months = high - low > 400
    ticks: dict[float, str] = {}
    for share in _TICKS:
        wanted = low + share * (high - low)
        near = min(dates, key=lambda each: abs(days(each) - wanted))
        ticks[days(near)] = f"{near:%b %Y}" if months else f"{near.day} {near:%b}"
    return ticks


def _years(dates: Sequence[date]) -> str:
    first, last = min(dates).year, max(dates).year
    return str(first) if first == last else f"{first} to {last}"


# --- Items.


@dataclass(frozen=True)
class Item:
    """What is known and decided of one item.

    Attributes
    ----------
    name : str
    past, coming : list of date
        Days of the history, and days to decide on.
    observed, expected : list of float
        What was seen on the days of the history, and what the truth is expected to have been; nan
        where nobody knows.
    sold_out : list of bool
        Days of the history of which it is known that they hide something.
    decided, ignoring : list of float
        Decisions of the coming days, and those that take observations for the truth.
    parts : dict from str to float
        What the decisions consist of in all, where that is known.
    based_on : str
        What they are based on, where it is not the item's own history.
    """

    name: str
    past: list[date] = field(default_factory=list)
    observed: list[float] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)
    sold_out: list[bool] = field(default_factory=list)
    coming: list[date] = field(default_factory=list)
    decided: list[float] = field(default_factory=list)
    ignoring: list[float] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    based_on: str = ""


def item_names(decisions: DataFrame, series: Sequence[str]) -> list[str]:
    """Name the item of each row: the values of the columns that tell series apart."""
    rows = decisions.select(series).iter_rows()
    return [ITEM_MARK.join("–" if part is None else str(part) for part in row) for row in rows]


def items_of(content: ReportData, labels: Labels) -> tuple[list[Item], list[str]]:
    """Items with history and orders, and the names of those for which there is no room.

    The largest are kept, in the order of the table.

    Parameters
    ----------
    content : ReportData
    labels : Labels

    Returns
    -------
    items : list of Item
    left_out : list of str
        The largest of them first.
    """
    import polars as pl

    found: dict[str, Item] = {}
    decided, when = content.decisions, content.date
    how = pl.Expr.sum if labels.added_up else pl.Expr.mean
    if decided is not None and when is not None and _dated(decided, when):
        named = decided.with_columns(
            pl.Series("__item", item_names(decided, content.series))
            if content.series
            else pl.lit("").alias("__item")
        )
        columns = [name for name in ("decision", "ignoring") if name in decided.columns]
        grouped = named.drop_nulls(when).group_by("__item", when, maintain_order=True)
        table = grouped.agg(how(pl.col(columns))).sort(when, maintain_order=True)
        order = {
            name: place for place, name in enumerate(named["__item"].unique(maintain_order=True))
        }
        for key, part in table.partition_by("__item", as_dict=True).items():
            name = str(key[0])
            found[name] = Item(
                name,
                coming=part[when].to_list(),
                decided=_numbers(part["decision"]),
                ignoring=_numbers(part["ignoring"]) if "ignoring" in columns else [],
            )
        found = {name: found[name] for name in sorted(found, key=lambda name: order[name])}
    past = content.history
    if past is not None and past.height:
        for key, part in (
            past.sort("date", maintain_order=True)
            .partition_by("item", as_dict=True, maintain_order=True)
            .items()
        ):
            item = found.setdefault(str(key[0]), Item(str(key[0])))
            item.past.extend(part["date"].to_list())
            item.observed.extend(_numbers(part["observed"]))
            item.expected.extend(_numbers(part["expected"]))
            item.sold_out.extend(bool(each) for each in part["sold_out"].to_list())

    def rank(name: str) -> tuple[bool, float]:  # those to decide on first, the largest first
        item = found[name]
        return not item.decided, -float(np.nansum(item.decided or item.observed))

    ranked = sorted(found, key=rank)
    kept = set(ranked[:MAX_ITEMS])
    return [item for name, item in found.items() if name in kept], ranked[MAX_ITEMS:]


def _dated(decided: DataFrame, when: str) -> bool:
    import polars as pl

    return when in decided.columns and decided.schema[when] in (pl.Date, pl.Datetime)


def item_chart(item: Item, labels: Labels, *, few: bool) -> Chart:
    """Describe the history of an item, what is expected to lie behind it, and what is decided.

    Parameters
    ----------
    item : Item
    labels : Labels
    few : bool
        Whether there is room for a long history.
    """
    most = _MAX_TIMES[few]
    past, coming = slice(-most, None), slice(0, most)
    lines = []
    out = [
        value if flag else nan
        for value, flag in zip(item.observed[past], item.sold_out[past], strict=True)
    ]
    drawn: tuple[tuple[str, list[date], list[float], Role], ...] = (
        (labels.observations, item.past[past], item.observed[past], "seen"),
        (f"{labels.truth}, as expected", item.past[past], item.expected[past], "truth"),
        (labels.interval_censored, item.past[past], out, "sold out"),
        (labels.decision, item.coming[coming], item.decided[coming], "order"),
    )
    for name, dates, values, role in drawn:
        if np.isfinite(values).any():
            places = [days(each) for each in dates]
            lines.append(Line(name, places, values, role, [day_label(each) for each in dates]))
    shown = [*item.past[past], *item.coming[coming]]
    return Chart(
        title=item.name,
        across=_years(shown),
        upward=labels.amount,
        lines=tuple(lines),
        ticks=date_ticks(shown),
        from_zero=labels.added_up,
    )


def stock_charts(
    item: Item, ahead: StockAhead, labels: Labels, *, few: bool
) -> tuple[Chart, Chart, Chart]:
    """Describe the history of an item with demand to come, its stock to come, and its risk.

    Parameters
    ----------
    item : Item
        Its history.
    ahead : StockAhead
    labels : Labels
    few : bool
        Whether there is room for a long history.
    """
    places = [days(each) for each in ahead.dates]
    told = [day_label(each) for each in ahead.dates]
    expected = Line("demand to come, as expected", places, ahead.demand, "fitted", told)
    shown = [*item.past[-_MAX_TIMES[few] :], *ahead.dates]
    past = item_chart(item, labels, few=few) if item.past else None
    sold = Chart(
        title=item.name,
        across=_years(shown),
        upward=f"{labels.amount} a {labels.period}",
        lines=(*(past.lines if past is not None else ()), expected),
        ticks=date_ticks(shown),
        from_zero=True,
    )
    ends = {0, len(ahead.dates) // 2, len(ahead.dates) - 1}
    few_dates = len(ahead.dates) <= _FEW_DATES
    ticks = date_ticks([ahead.dates[place] for place in sorted(ends)] if few_dates else ahead.dates)
    # nothing joins deliveries: between two of them there is none
    comes = [place for place, units in enumerate(ahead.arrivals) if units > 0]
    apart = [each for place in comes for each in (place, None)]
    arrivals = Line(
        "arrives",
        [places[comes[0]] if place is None else places[place] for place in apart],
        [nan if place is None else ahead.arrivals[place] for place in apart],
        "order",
        ["" if place is None else told[place] for place in apart],
    )
    range_ = "left at the end, 8 times of 10"
    stock = Chart(
        title=item.name,
        across=_years(ahead.dates),
        upward="stock to come",
        lines=(
            Line("left at the end, as often more as less", places, ahead.middle, "truth", told),
            *((arrivals,) if comes else ()),
        ),
        ticks=ticks,
        from_zero=True,
        area=(
            Line(range_, places, ahead.low, "fitted"),
            Line(range_, places, ahead.high, "fitted"),
        ),
    )
    chance = Chart(
        title=item.name,
        across=_years(ahead.dates),
        upward="chance of running out",
        lines=(Line("chance of running out", places, ahead.empty, "cost", told),),
        ticks=ticks,
        shares=True,
    )
    return sold, stock, chance


def is_few(items: Sequence[Item]) -> bool:
    """Whether there is room for a long history of each."""
    return len(items) <= _FEW_ITEMS
