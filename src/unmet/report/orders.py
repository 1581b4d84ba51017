"""What reports share: tables of orders by item and day, rows, items, notes, how it was made.

A table of items and days has totals; where there is no room for all days, days are put together.
Each item has its history, what is hidden in it, and its orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from unmet.censoring.text import decimals_for, fixed, number, percent
from unmet.planning.decision_report import ReportData
from unmet.planning.order_report import StockAhead
from unmet.report.charts import MAX_ITEMS, Item, day_label, is_few, item_chart
from unmet.report.drawing import figure
from unmet.report.html import Html, element, folded, joined, pairs, several, table
from unmet.report.labels import Labels, capital, decisions_finding

if TYPE_CHECKING:
    from polars import DataFrame

MISSING = "–"
_ROWS = 200  # of decisions shown one by one
_DIGITS = 4
_MAX_COLUMNS = 31  # days or items side by side
_MAX_DAYS = 400  # below each other
_NAMED = 12  # of the items that are left out
ITEM_HEIGHT = 220
"""Pixels of the plot of an item."""


def decimals_of(values: Sequence[float]) -> int:
    """None for whole numbers; for others as many as four digits of a typical one need."""
    known = [value for value in values if isfinite(value)]
    if all(float(value).is_integer() for value in known):
        return 0
    typical = sorted(abs(value) for value in known)[len(known) // 2]
    return decimals_for(typical, _DIGITS)


# --- Items by days.


def by_item_and_day(items: Sequence[Item], labels: Labels) -> Html:
    """Make the table of items and days with totals; nothing where there are not several of both.

    Few days stand side by side. More of them stand below each other if there are few items;
    otherwise days are put together into weeks or months.

    Parameters
    ----------
    items : sequence of Item
    labels : Labels
        Whether decisions add up: prices and ages are averaged.
    """
    shown = [item for item in items if item.coming]
    times = sorted({moment for item in shown for moment in item.coming})
    if len(shown) < 2 or len(times) < 2:
        return Html()
    cells = {item.name: dict(zip(item.coming, item.decided, strict=True)) for item in shown}
    names = {item.name: item_link(place, item) for place, item in enumerate(items)}
    decimals = decimals_of([value for item in shown for value in item.decided])
    whole = "total" if labels.added_up else "mean"

    def put(values: Sequence[float]) -> str:
        known = [value for value in values if isfinite(value)]
        if not known:
            return MISSING if not any(value == np.inf for value in values) else "never"
        if labels.added_up or len(known) == 1:
            return fixed(sum(known), decimals)
        return number(sum(known) / len(known), _DIGITS)

    if len(times) > _MAX_COLUMNS and len(shown) <= _MAX_COLUMNS // 2:
        rows = times[:_MAX_DAYS]
        columns: list[tuple[str, list[str], bool]] = [
            ("day", [f"{day:%a} {day_label(day)}" for day in rows], False)
        ]
        columns.append(
            (whole, [put([row[day] for row in cells.values() if day in row]) for day in rows], True)
        )
        foot = [whole, put([value for item in shown for value in item.decided])]
        for item in shown:
            mine = cells[item.name]
            columns.append(
                (item.name, [put([mine[day]] if day in mine else []) for day in rows], True)
            )
            foot.append(put(item.decided))
        caption = f"{capital(labels.decisions)} by day and item"
        if len(rows) < len(times):
            caption += f", the first {len(rows):,} of {len(times):,} days; totals are of all"
        return table(caption, columns, id_="orders", foot=foot)
    period, groups = _together(times)
    heads = list(groups)
    columns = [("item", [names[item.name] for item in shown], False)]
    columns.append((whole, [put(item.decided) for item in shown], True))
    foot = [whole, put([value for item in shown for value in item.decided])]
    for head in heads:
        parts = [[row[day] for day in groups[head] if day in row] for row in cells.values()]
        columns.append((head, [put(part) for part in parts], True))
        foot.append(put([value for part in parts for value in part]))
    period = labels.period if period == "day" else period
    caption = f"{capital(labels.decisions)} by item and {period}"
    return table(caption, columns, id_="orders", foot=foot)


def _together(times: Sequence[date]) -> tuple[str, dict[str, list[date]]]:
    """Days that stand in one column: each alone, or those of a week or a month."""
    if len(times) <= _MAX_COLUMNS:
        years = times[0].year != times[-1].year
        return "day", {
            f"{day:%a} {day.day} {day:%b}"
            + (f" {day.year}" if years else "")
            + (f" {day:%H:%M}" if len({each.toordinal() for each in times}) < len(times) else ""): [
                day
            ]
            for day in times
        }
    weeks: dict[str, list[date]] = {}
    months: dict[str, list[date]] = {}
    for day in times:
        first = date.fromordinal(day.toordinal() - day.weekday())
        weeks.setdefault(f"week of {day_label(first)}", []).append(day)
        months.setdefault(f"{day:%b %Y}", []).append(day)
    return ("week", weeks) if len(weeks) <= _MAX_COLUMNS else ("month", months)


# --- Row by row.


def by_row(content: ReportData, labels: Labels, *, alone: bool) -> Html:
    """Make the table of the first rows: item, date and decision, what is compared with, the rest.

    Parameters
    ----------
    content : ReportData
        With decisions.
    labels : Labels
    alone : bool
        Whether this is the only table of decisions; otherwise it is folded.
    """
    decided = content.decisions
    assert decided is not None
    shown, count = decided.head(_ROWS), max(content.n_decisions, decided.height)
    rows = "one row" if count == 1 else f"{count:,} rows"
    if shown.height < count:
        rows = f"first {shown.height:,} of {rows}"
    caption = f"{capital(labels.decisions)}, {rows}"
    parts = [table(caption, row_columns(shown, labels, content), id_="decisions")]
    if shown.height < count:
        left = f"{count - shown.height:,} more rows"
        more = f"{left} are in the table of decisions, not in this file."
        parts.append(element("p", more, class_="quiet"))
    return joined(parts) if alone else folded("Row by row", *parts)


def row_columns(
    shown: DataFrame, labels: Labels, content: ReportData
) -> list[tuple[str, list[str], bool]]:
    """Item, date and decision first; numbers that were decided with thousands set off.

    Names and codes stay as they are.
    """
    decimals = decimals_of([float(value) for value in shown["decision"].drop_nulls().to_list()])
    headings = {"decision": labels.decision, "ignoring": labels.ignoring}
    first = [*content.series, content.date, "decision", "ignoring"]
    names = [name for name in first if name is not None and name in shown.columns]
    columns: dict[str, tuple[str, list[str], bool]] = {}
    for name in dict.fromkeys((*names, *shown.columns)):
        column, cells = shown[name], []
        for value in column.to_list():
            if value is None:
                cells.append(MISSING)
            elif name in headings:
                cells.append("never" if value == np.inf else fixed(float(value), decimals))
            elif column.dtype.is_float() and not value.is_integer():
                cells.append(number(value, _DIGITS))
            else:
                cells.append(str(int(value) if column.dtype.is_float() else value))
        columns[name] = headings.get(name, name), cells, column.dtype.is_numeric()
        if name == "ignoring":
            # the key is no name of a column
            columns["\0change"] = "change", _changes(shown, decimals), True
    return list(columns.values())


def _changes(shown: DataFrame, decimals: int) -> list[str]:
    cells = []
    for value in (shown["decision"] - shown["ignoring"]).to_list():
        if value is None or not isfinite(value):
            cells.append(MISSING)
            continue
        rounded = round(value, decimals) or 0.0
        cells.append(("+" if rounded > 0 else "") + fixed(rounded, decimals))
    return cells


# --- Item by item.


def item_link(place: int, item: Item | StockAhead) -> Html:
    """Name an item so that a click leads to it."""
    return element("a", item.name or "all rows", href=f"#item-{place}")


def by_item(items: Sequence[Item], left_out: Sequence[str], labels: Labels) -> Html:
    """Show each item: a sentence, and history, what is hidden and decisions in a plot.

    One is open; scripts add a field to pick another, without them a click on its name opens it.

    Parameters
    ----------
    items : sequence of Item
    left_out : sequence of str
        Names of items for which there is no room.
    labels : Labels
    """
    if not items:
        sentence = (
            "Items are shown where the table has dates and the columns that tell series apart are "
            "named (series=, --series)."
        )
        return element("p", sentence, class_="quiet")
    few = is_few(items)
    drawn = [
        figure(
            item_chart(item, labels, few=few),
            name=f"item-{place}",
            finding=item_finding(item, labels),
            height=ITEM_HEIGHT,
        )
        for place, item in enumerate(items)
    ]
    shown = picked([item.name for item in items], drawn)
    if left_out:
        named = ", ".join(left_out[:_NAMED])
        more = f" and {len(left_out) - _NAMED:,} more" if len(left_out) > _NAMED else ""
        sentence = (
            f"Shown are the {MAX_ITEMS} largest of {len(items) + len(left_out):,} items; totals "
            f"by item are of these. Left out: {named}{more}."
        )
        shown.append(element("p", sentence, class_="quiet"))
    return joined(shown)


def picked(names: Sequence[str], drawn: Sequence[Html]) -> list[Html]:
    """Fold what is drawn of each item below its name, and let readers pick one."""
    parts, options = [], []
    for place, (called, body) in enumerate(zip(names, drawn, strict=True)):
        name = called or "all rows"
        options.append(element("option", name, value=f"item-{place}"))
        # the others share a name: a browser opens one at a time
        parts.append(
            folded(name, body, open_=place == 0, class_="item", id=f"item-{place}", name="item")
        )
    picker = element("label", "Show ", element("select", *options, id="picker"))
    shown = [element("p", picker, class_="search", hidden=True)] if len(parts) > 1 else []
    return [*shown, *parts]


def item_finding(item: Item, labels: Labels) -> str:
    """Say what to do about an item, and what its history hides."""
    said = []
    decided = [value for value in item.decided if isfinite(value)]
    if decided:
        unit = labels.period
        count = f"one {unit}" if len(decided) == 1 else f"{len(decided):,} {unit}s"
        total, mean = sum(decided), sum(decided) / len(decided)
        if labels.added_up:
            said.append(f"Order {amount(total)} for {count} to come, {number(mean)} a {unit}")
        else:
            said.append(f"The mean {labels.decision} of {count} to come is {number(mean, _DIGITS)}")
        other = sum(value for value in item.ignoring if isfinite(value))
        if other > 0 and len(item.ignoring) == len(decided):
            change = total / other - 1
            way = "more" if change > 0 else "less"
            same = abs(change) < 0.0005
            said[-1] += (
                f", as {labels.ignoring}"
                if same
                else (f", {percent(abs(change))} {way} than {labels.ignoring}")
            )
        said[-1] += "."
        if item.parts:
            based_on = f" It is based on {item.based_on}." if item.based_on else ""
            said.append(f"That is {parts_label(item.parts)}.{based_on}")
    if item.past and labels.added_up:
        seen = sum(item.observed)
        when = f"In the last {len(item.past):,} {labels.period}s of the history"
        start = f"{when} {amount(seen)} were sold"
        both = zip(item.observed, item.expected, strict=True)  # expected where days sold out
        truth = sum(high if isfinite(high) else low for low, high in both)
        if not any(map(isfinite, item.expected)):
            said.append(f"{start}.")
        elif truth > seen * 1.0005:
            hidden = percent((truth - seen) / truth)
            said.append(
                f"{start}; {labels.truth} is expected to have been {amount(truth)}, so {hidden} of "
                "it was hidden."
            )
        else:
            said.append(f"{start}, as much as {labels.truth} is expected to have been.")
    elif item.past:
        mean = sum(item.observed) / len(item.observed)
        said.append(
            f"{capital(labels.observations)} of the history average {number(mean, _DIGITS)}."
        )
    return " ".join(said)


def parts_label(parts: Mapping[str, float]) -> str:
    """Say what orders consist of, as a sum.

    Examples
    --------
    >>> parts_label({"usual sales": 100.0, "hidden demand": 0.0, "safety": -4.0})
    '100 usual sales − 4 safety'
    """
    said = ""
    for name, value in parts.items():
        if not said:
            said = f"{amount(value)} {name}"
        elif value:
            said += f" {'+' if value > 0 else '−'} {amount(abs(value))} {name}"
    return said


def amount(total: float) -> str:
    """Print a sum, in full where it is large: it may be looked up elsewhere."""
    whole = abs(total) >= 100 or float(total).is_integer()
    return fixed(total, 0) if whole else number(total, _DIGITS)


def orders_finding(content: ReportData, labels: Labels) -> str:
    """Say what the plot of all decisions shows, and of how many rows."""
    decided = content.decisions
    assert decided is not None
    finding = decisions_finding(decided, labels)
    if decided.height < content.n_decisions:
        finding += f" Drawn are the first {decided.height:,} of {content.n_decisions:,} rows."
    return finding


# --- What a reader should know, and how the report was made.


def made(content: ReportData, *, notes: bool = True) -> Html:
    """Tell what went in, what was done to it (unless told elsewhere), the command, and versions."""
    inputs = dict(content.inputs)
    if content.level is not None and not any("level" in name.lower() for name in inputs):
        inputs["Level α"] = f"{content.level:.4g}"
    versions = ", ".join(f"{name} {version}" for name, version in content.versions.items())
    told = element("ul", several("li", content.notes))
    command = element("pre", element("code", content.command), tabindex="0")
    parts = [
        ("What went in", inputs and pairs("named", inputs.items())),
        ("What was done to the table", notes and content.notes and told),
        ("To make it again", content.command and command),
        ("Versions", versions and element("p", versions)),
    ]
    shown = [joined([element("h3", heading), Html(body)]) for heading, body in parts if body]
    return joined(shown) if shown else element("p", "Nothing was noted down.")


def told_notes(content: ReportData) -> Html:
    """List what was found in the table."""
    if not content.notes:
        return element("p", "Nothing unusual was found in the table.")
    return element("ul", several("li", content.notes))
