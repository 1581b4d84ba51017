"""The report of replenishment: orders, the most urgent first, and the stock that they lead to.

Each series that is shown has its history with the demand to come, its stock to come with a range,
what arrives, and the chance of running out. Of thousands, the most urgent are shown; the page says
so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unmet.censoring.plots import Chart
from unmet.censoring.text import number, percent
from unmet.planning.candidates import LABELS
from unmet.planning.order_report import ReplenishmentReportData, StockAhead
from unmet.report.charts import Item, day_label, is_few, items_of, stock_charts
from unmet.report.drawing import Bar, bars, figure
from unmet.report.html import (
    Html,
    element,
    joined,
    key_figure,
    page_head,
    table,
)
from unmet.report.labels import capital, order_labels
from unmet.report.orders import MISSING, amount, item_link, made, picked, told_notes

_MAX_ROWS = 2_000  # more make a page that browsers are slow with
_HEIGHT = 150  # pixels of each of three panels


HOW = (
    "An item runs empty when demand is more likely than not to exceed what is there, if no other "
    "order follows. The chance is that of the time which this order is for."
)
"""How the table of orders is to be read."""


def replenishment_sections(
    content: ReplenishmentReportData,
) -> tuple[Html, dict[str, tuple[str, Html]]]:
    """Give the top of the page, and its sections by name: heading and body.

    Parameters
    ----------
    content : ReplenishmentReportData
    """
    sections = {
        "decisions-section": ("Orders", _orders(content)),
        "items": ("Stock to come, item by item", _items(content)),
        "costs": ("Why these orders", _why(content)),
        "unknown": ("What you should know", told_notes(content)),
        "made": ("How this was made", made(content, notes=False)),
    }
    return _top(content), sections


# --- Top.


def replenishment_figures(content: ReplenishmentReportData) -> list[tuple[str, str, str]]:
    """Give the key figures of the orders: name, value and what it means."""
    unit, totals, count = content.unit, content.totals, content.n_decisions
    within = f"within {content.n_periods} {unit}s" if content.n_periods > 1 else f"the next {unit}"
    return [
        (
            "to order in all",
            amount(totals["order"]),
            f"for {content.n_ordered:,} of {count:,} series",
        ),
        (
            "likely to run empty",
            f"{content.n_empty:,} of {count:,}",
            f"series, {within}, if no other order follows",
        ),
        ("there now", amount(totals["on_hand"]), f"and {amount(totals['on_order'])} on their way"),
        (
            "expected demand",
            amount(round(totals["expected_demand"])),
            "until the next orders arrive",
        ),
    ]


def _top(content: ReplenishmentReportData) -> Html:
    cards = [key_figure(*each) for each in replenishment_figures(content)]
    return page_head(content.title, content.answer, cards)


# --- Orders.


def _orders(content: ReplenishmentReportData) -> Html:
    """Make the table of orders, the most urgent first."""
    order_table = content.decisions
    assert order_table is not None
    rows = order_table.head(_MAX_ROWS)
    links = [item_link(place, each) for place, each in enumerate(content.ahead)]
    names: list[str] = [*links, *(str(each) or "all rows" for each in rows["item"][len(links) :])]

    def units(name: str) -> list[str]:
        return [amount(float(value)) for value in rows[name].to_list()]

    def dates(name: str) -> list[str]:
        return [MISSING if each is None else each.isoformat() for each in rows[name].to_list()]

    columns: list[tuple[str, list[str], bool]] = [
        ("item", names, False),
        ("order", units("order"), True),
        ("arrives", dates("arrives"), False),
        ("there", units("on_hand"), True),
        ("on its way", units("on_order"), True),
        ("expected demand", [number(each, 4) for each in rows["expected_demand"]], True),
        ("runs empty", dates("runs_empty"), False),
        ("chance of running out", [percent(each) for each in rows["chance_of_running_out"]], True),
    ]
    foot = [
        "total of all",
        amount(content.totals["order"]),
        "",
        amount(content.totals["on_hand"]),
        amount(content.totals["on_order"]),
        amount(round(content.totals["expected_demand"])),
        "",
        "",
    ]
    caption = "Orders, the most urgent first"
    if order_table.height > rows.height:
        caption += f": {rows.height:,} of {order_table.height:,} series"
    return joined([table(caption, columns, id_="orders", foot=foot), element("p", HOW)])


# --- Item by item.


def plots(
    content: ReplenishmentReportData,
) -> Iterator[tuple[StockAhead, tuple[Chart, Chart, Chart]]]:
    """Describe what is drawn of each item: demand, stock to come, and the risk of running out."""
    labels = order_labels(content.unit)
    known = {item.name: item for item in items_of(replace(content, decisions=None), labels)[0]}
    few = is_few([Item(each.name) for each in content.ahead])
    for ahead in content.ahead:
        item = known.get(ahead.name, Item(ahead.name))
        yield ahead, stock_charts(item, ahead, labels, few=few)


def _items(content: ReplenishmentReportData) -> Html:
    drawn = [
        figure(
            *charts,
            name=f"item-{place}",
            finding=stock_finding(ahead, content.unit),
            numbers=_numbers(ahead),
            height=_HEIGHT,
        )
        for place, (ahead, charts) in enumerate(plots(content))
    ]
    shown = picked([each.name for each in content.ahead], drawn)
    left = content.n_decisions - len(content.ahead)
    if left > 0:
        said = (
            f"Shown are the {len(content.ahead)} series that run empty first, of "
            f"{content.n_decisions:,}; all are in the table of orders."
        )
        shown.insert(0, element("p", said, class_="quiet"))
    return joined(shown)


def stock_finding(ahead: StockAhead, unit: str) -> str:
    """Say what to order of an item, what is there, and when it runs empty."""
    said = (
        f"Order {amount(ahead.order)}, to arrive for {day_label(ahead.arrives)}."
        if ahead.order > 0
        else "Order nothing."
    )
    if ahead.on_hand < 0:
        said += f" {amount(-ahead.on_hand)} are owed"
    else:
        said += f" {amount(ahead.on_hand)} are there"
    if ahead.on_order:
        said += f" and {amount(ahead.on_order)} on their way"
    said += f"; demand until the next order arrives is expected to be {number(ahead.expected, 4)}."
    if ahead.runs_empty is not None:
        said += f" It is likely to run empty on {day_label(ahead.runs_empty)}"
        said += "." if unit == "day" else " or in that week."
    return said


def _numbers(ahead: StockAhead) -> str:
    """Tell the stock to come to those who do not see it."""
    last = len(ahead.dates) - 1
    return (
        f"At the end of {day_label(ahead.dates[last])} {number(ahead.middle[last], 4)} are left, "
        f"most likely {number(ahead.low[last], 4)} to {number(ahead.high[last], 4)}."
    )


# --- Why.


def _why(content: ReplenishmentReportData) -> Html:
    """Say what orders aim at, what expected demand follows, and what changing orders was worth."""
    parts = [element("p", f"{capital(content.aim)}.")]
    if content.overrides:
        parts.append(element("p", content.overrides))
    missed = content.missed
    said = f"Expected demand follows {LABELS[content.model]}."
    if len(missed) < 2:
        return joined([*parts, element("p", said)])
    usual = missed["seasonal"]
    shown = []
    for name, error in sorted(missed.items(), key=lambda each: each[1]):
        share = error / usual - 1.0 if usual > 0 else 0.0
        than = (
            "" if name == "seasonal" else f"{percent(abs(share))} {'less' if share < 0 else 'more'}"
        )
        shown.append(Bar(capital(LABELS[name]), than, error, ours=name == content.model))
    how = "Less and more are against what is usual."
    drawn = bars(
        shown,
        name="costs",
        finding=f"{said} Drawn is how far each way missed demand on {content.unit}s held out.",
        how=how,
        part="",
    )
    return joined([*parts, drawn])
