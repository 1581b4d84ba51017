"""Tables and charts of orders: by item and day, row by row, and each item with its history.

An item is a dictionary: ``name``, ``past`` (a frame with ``date``, ``observed``, ``expected`` and
``sold_out``; None without a history) and ``coming`` (``date``, ``decision`` and perhaps
``ignoring``; None where nothing is decided), and perhaps ``parts`` and ``based_on``. A table is a
list of columns: heading, cells, and whether these are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from unmet.censoring.text import Labels, decimals_for, fixed, number
from unmet.charts import Chart, Part, axis, between, curve, lines
from unmet.planning.decision_report import ITEM_MARK
from unmet.report.sentences import DIGITS, amount, day_label

Columns: TypeAlias = list[tuple[str, list[Any], bool]]
MAX_ITEMS = 200
"""Items that a report holds: a file that can be sent by mail."""
MISSING = "–"
_MAX_ROWS = 200  # shown one by one
_MAX_COLUMNS = 31  # days or items side by side


# --- Decisions of all rows.


def decisions_chart(decisions: pl.DataFrame, labels: Labels) -> tuple[Chart, str | None]:
    """Draw decisions by date where the table has dates, and how they are spread where not.

    Where there are more dates than a line can show, it shows the mean date of each week, month or
    year: a sum would fall where a period is not complete. The last period is left out if it is
    incomplete.

    Parameters
    ----------
    decisions : polars.DataFrame
        With a column ``decision``, and perhaps ``ignoring``: what would be decided without the
        band.
    labels : Labels
        Also say whether decisions of a date are added up or averaged.

    Returns
    -------
    Chart
    str or None
        Period whose mean date is shown; empty where every date is; None without dates.
    """
    styles = {"ignoring": (labels.ignoring, "fitted"), "decision": (labels.decision, "order")}
    named = {name: each for name, each in styles.items() if name in decisions.columns}
    kinds = decisions.schema.items()
    dated = [name for name, kind in kinds if kind in (pl.Date, pl.Datetime)]
    dates = None
    if dated:
        drawn = pl.col(list(named))
        made = decisions.drop_nulls(dated[0]).group_by(pl.col(dated[0]).alias("date"))
        dates = made.agg(drawn.sum() if labels.added_up else drawn.mean()).sort("date")
    if dates is not None and dates.height >= 3:
        table, shown = dates, ""
        for step, period in {"1d": "day", "1w": "week", "1mo": "month", "1y": "year"}.items():
            if table.height <= 120:  # more would not be told apart
                break
            groups = dates.group_by_dynamic("date", every=step, start_by="datapoint")
            means = groups.agg(pl.exclude("date").mean(), pl.len().alias("count"))
            incomplete = means["count"][-1] < means["count"].max()
            table, shown = means.drop("count").head(means.height - incomplete), period
        parts = [curve(*each, table["date"], table[name]) for name, each in named.items()]
        how = f"{labels.amount} per date" if labels.added_up else f"mean {labels.amount}"
        return lines(parts, y=axis(how, zero=labels.added_up)), shown
    values = {name: decisions[name].to_numpy() for name in named}
    every = np.concatenate(list(values.values()))
    bins = min(max(decisions.height // 5, 10), 30)
    edges = np.histogram_bin_edges(every[np.isfinite(every)], bins)
    parts = []
    for name, each in named.items():
        counts = np.histogram(values[name], edges)[0]
        steps = np.repeat(edges, 2)[1:-1].tolist()
        parts.append(curve(*each, steps, np.repeat(counts, 2).tolist()))
    return lines(parts, x=labels.decision, y=axis("rows", zero=True)), None


# --- Items.


def item_name(columns: Sequence[str]) -> Any:
    """Expression that names the item of each row: the values that tell series apart."""
    if not columns:
        return pl.lit("").alias("item")
    texts = [pl.col(name).cast(pl.String).fill_null(MISSING) for name in columns]
    return pl.concat_str(texts, separator=ITEM_MARK).alias("item")


def items_of(
    decisions: pl.DataFrame | None,
    history: pl.DataFrame | None,
    labels: Labels,
    *,
    when: str | None,
    series: Sequence[str] = (),
    most: int = MAX_ITEMS,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Items with history and orders, and the names of those for which there is no room.

    The largest are kept, in the order of the table.

    Parameters
    ----------
    decisions : polars.DataFrame or None
    history : polars.DataFrame or None
        With ``item``, ``date``, ``observed``, ``expected`` and ``sold_out``.
    labels : Labels
    when : str or None
        Column of dates of `decisions`.
    series : sequence of str
        Columns of `decisions` that tell items apart.
    most : int

    Returns
    -------
    items : list of dict
    left_out : list of str
        The largest of them first.
    """
    found: dict[str, dict[str, Any]] = {}

    def entry(name: str) -> dict[str, Any]:
        return found.setdefault(name, {"name": name, "past": None, "coming": None})

    dated = decisions is not None and when is not None and when in decisions.columns
    if decisions is not None and dated and decisions.schema[str(when)] in (pl.Date, pl.Datetime):
        numbers = [name for name in ("decision", "ignoring") if name in decisions.columns]
        rows = decisions.select(item_name(series), pl.col(str(when)).alias("date"), *numbers)
        groups = rows.drop_nulls("date").group_by("item", "date", maintain_order=True)
        how = pl.col(numbers).sum() if labels.added_up else pl.col(numbers).mean()
        for part in groups.agg(how).partition_by("item", maintain_order=True):
            entry(str(part["item"][0]))["coming"] = part.sort("date")
    if history is not None:
        for part in history.partition_by("item", maintain_order=True):
            entry(str(part["item"][0]))["past"] = part.sort("date")

    def rank(item: Mapping[str, Any]) -> tuple[bool, float]:  # those to decide on first
        coming = item["coming"]
        shown = item["past"]["observed"] if coming is None else coming["decision"]
        return coming is None, -float(shown.fill_nan(0.0).sum())

    ranked = [item["name"] for item in sorted(found.values(), key=rank)]
    kept = set(ranked[:most])
    return [item for name, item in found.items() if name in kept], ranked[most:]


def item_parts(item: Mapping[str, Any], labels: Labels, *, most: int = 120) -> list[Part]:
    """Give the history of an item, what is expected to lie behind it, and what is decided.

    Parameters
    ----------
    item : mapping
    labels : Labels
    most : int
        Days of the history, and of the coming days.
    """
    parts = []
    if item["past"] is not None:
        past = item["past"].tail(most)
        hidden = past.filter(past["sold_out"].fill_null(False))
        for name, style, rows, column in (
            (f"expected {labels.truth}".replace("the ", ""), "truth", past, "expected"),
            (labels.observations, "seen", past, "observed"),
            (labels.sold_out, "sold out", hidden, "observed"),
        ):
            parts.append(curve(name, style, rows["date"], rows[column]))
    if item["coming"] is not None:
        coming = item["coming"].head(most)
        parts.append(curve(labels.decision, "order", coming["date"], coming["decision"]))
    return [part for part in parts if part[3]]


def item_chart(parts: Sequence[Part], labels: Labels) -> Chart:
    """Draw an item; see `item_parts`."""
    return lines(parts, y=axis(labels.amount, zero=labels.added_up), height=220)


def stock_parts(ahead: Mapping[str, Any]) -> tuple[list[Part], list[Part]]:
    """Give the stock of an item to come, with what arrives, and its chance of running out."""
    dates = ahead["dates"]
    comes = [(day, units) for day, units in zip(dates, ahead["arrivals"], strict=True) if units > 0]
    stock = [
        between("80% interval", "range", dates, ahead["low"], ahead["high"]),
        curve("median stock", "truth", dates, ahead["middle"]),
        curve(
            "arrivals", ("green", None, "square"), *zip(*comes, strict=True) if comes else ((), ())
        ),
    ]
    chance = [curve("stock-out probability", "cost", dates, ahead["empty"])]
    return stock, chance


# --- Tables.


def by_day(rows: pl.DataFrame, labels: Labels) -> tuple[str, pl.DataFrame, list[float]] | None:
    """Lay decisions out as items × days, weeks or months; None unless there are several of both.

    Parameters
    ----------
    rows : polars.DataFrame
        ``item``, ``date`` and ``decision``.
    labels : Labels
        Whether decisions add up: prices and ages are averaged.

    Returns
    -------
    how : str
        What stands down and across, such as "by item and day".
    table : polars.DataFrame
        Names first, then a column "total" or "mean", and the others.
    last : list of float
        Total or mean of each column but the first.
    """
    days = rows["date"].unique().sort().to_list()
    if rows["item"].n_unique() < 2 or len(days) < 2:
        return None
    whole, summed = ("total", pl.Expr.sum) if labels.added_up else ("mean", pl.Expr.mean)
    number_of = summed(pl.col("decision"))
    period, named = _periods(days)
    heads = list(dict.fromkeys(named.values()))
    cells = rows.with_columns(pl.col("date").replace_strict(named).alias("\0day"))
    table = cells.pivot(
        "\0day",
        index="item",
        values="decision",
        aggregate_function="sum" if labels.added_up else "mean",
    )
    sums = cells.group_by("item").agg(number_of.alias(whole))
    table = table.join(sums, on="item", how="left", maintain_order="left")
    last = dict(cells.group_by("\0day").agg(number_of).iter_rows())
    how = f"by item and {labels.period if period == 'day' else period}"
    totals = [float(rows.select(number_of).item()), *(float(last[head]) for head in heads)]
    return how, table.select("item", whole, *heads), totals


def _periods(days: Sequence[date]) -> tuple[str, dict[date, str]]:
    """Name the column of each day: its own, or that of its week or month."""
    if len(days) <= _MAX_COLUMNS:
        year = " %Y" if days[0].year != days[-1].year else ""
        time = " %H:%M" if len({day.toordinal() for day in days}) < len(days) else ""
        return "day", {day: f"{day:%a} {day.day} {day:%b{year}{time}}" for day in days}
    weeks = {
        day: f"week of {day_label(date.fromordinal(day.toordinal() - day.weekday()))}"
        for day in days
    }
    if len(set(weeks.values())) <= _MAX_COLUMNS:
        return "week", weeks
    return "month", {day: f"{day:%b %Y}" for day in days}


def decimals_of(values: Sequence[Any]) -> int:
    """None for whole numbers; for others as many as four digits of a typical one need."""
    known = sorted(abs(value) for value in values if value is not None and isfinite(value))
    whole = all(float(value).is_integer() for value in known)
    return 0 if whole else decimals_for(known[len(known) // 2], DIGITS)


def formatted(values: Sequence[Any], decimals: int) -> list[str]:
    """Print numbers of a column with the same decimals."""
    return [
        MISSING
        if v is None or v != v
        else "never"
        if v == inf
        else fixed(float(v) or 0.0, decimals)
        for v in values
    ]


def row_columns(shown: pl.DataFrame, labels: Labels, first: Sequence[str | None]) -> Columns:
    """Item, date and decision first; numbers that were decided with thousands set off.

    Names and codes stay as they are.
    """
    headings = {"decision": labels.decision, "ignoring": labels.ignoring}
    decimals = decimals_of(shown["decision"].to_list())
    order = [*(name for name in first if name in shown.columns), *headings]
    columns: Columns = []
    for name in dict.fromkeys((*order, *shown.columns)):
        if name not in shown.columns:
            continue
        column = shown[name]
        if name in headings:
            cells = formatted(column.to_list(), decimals)
        else:
            cells = [MISSING if v is None else _cell(v) for v in column.to_list()]
        columns.append((headings.get(name, name), cells, column.dtype.is_numeric()))
        if name == "ignoring":
            change = formatted((shown["decision"] - column).to_list(), decimals)
            columns.append(("change", [f"+{v}" if v[0] not in "-–0n" else v for v in change], True))
    return columns


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else number(value, DIGITS)
    return str(value)


def by_row(decisions: pl.DataFrame, labels: Labels, first: Sequence[str | None]) -> dict[str, Any]:
    """Give the table of the first rows, and a sentence on the others."""
    shown, count = decisions.head(_MAX_ROWS), decisions.height
    rows = "one row" if count == 1 else f"{count:,} rows"
    part = f"first {shown.height:,} of " if shown.height < count else ""
    left = f"{count - shown.height:,} more rows are in the table of decisions."
    return {
        "caption": f"{labels.decisions}, {part}{rows}",
        "columns": row_columns(shown, labels, first),
        "left": left if part else "",
    }


def amounts(values: Sequence[float]) -> list[str]:
    """Print sums."""
    return [amount(float(value)) for value in values]
