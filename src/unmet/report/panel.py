"""The report of a panel's plan: orders first, then each item, what is hidden, and why these orders.

A panel of a few series is shown whole. Of thousands, totals of the largest are shown and can be
searched, and the largest of these have their history; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from math import nan
from typing import TYPE_CHECKING, cast

from unmet.censoring.text import number, percent
from unmet.planning.candidates import LABELS
from unmet.planning.order_report import MAX_ITEMS, PARTS, OrderReportData
from unmet.report.charts import Item, item_chart, item_names, items_of
from unmet.report.drawing import Bar, bars, figure
from unmet.report.html import (
    Html,
    element,
    folded,
    joined,
    key_figure,
    page_head,
    pairs,
    table,
)
from unmet.report.labels import Labels, capital, money, order_labels
from unmet.report.orders import (
    amount,
    by_item,
    by_item_and_day,
    by_row,
    item_finding,
    item_link,
    made,
    told_notes,
)

if TYPE_CHECKING:
    from polars import DataFrame

_MAX_TOTALS = 2_000  # rows of a table of totals: more make a page that browsers are slow with
_MAX_HIDING = 10  # items that hide most
_USUAL = "seasonal"  # what candidates are compared with


def panel_sections(content: OrderReportData) -> tuple[Html, dict[str, tuple[str, Html]]]:
    """Give the top of the page, and its sections by name: heading and body.

    Parameters
    ----------
    content : OrderReportData
    """
    labels = order_labels(content.unit)
    totals = _totals(content)
    items = _items(content, totals, labels)
    left_out = totals.height - len(items)
    sections = {
        "decisions-section": ("Orders", _orders(content, totals, items, labels)),
        "items": ("Item by item", by_item(items, (), labels)),
        "hidden": ("What is hidden", _hidden(content, totals)),
        "costs": ("Why these orders", _choice(content)),
        "unknown": ("What you should know", told_notes(content)),
        "statistics": ("Statistics", _statistics(content)),
        "made": ("How this was made", made(content, notes=False)),
    }
    if left_out:
        said = (
            f"Shown are the {len(items)} series with the largest orders, of {totals.height:,}; "
            "all are in the table of orders."
        )
        heading, body = sections["items"]
        sections["items"] = heading, joined([element("p", said, class_="quiet"), body])
    return _top(content), sections


# --- Top.


def _top(content: OrderReportData) -> Html:
    decided = content.decisions
    assert decided is not None
    total = float(decided["decision"].sum())
    days = decided[str(content.date)].n_unique()
    cards = [
        key_figure(
            "to order in all", amount(total), f"{number(total / max(days, 1), 4)} a {content.unit}"
        ),
        key_figure(
            "usual sales",
            amount(content.parts["usual sales"]),
            f"what is sold on half of such {content.unit}s",
        ),
    ]
    hidden, safety = content.parts["hidden demand"], content.parts["safety"]
    if hidden:
        cards.append(
            key_figure(
                "hidden demand", f"+{amount(hidden)}", "asked for beyond that where it sells out"
            )
        )
    why = (
        "because running out costs more than a leftover"
        if safety >= 0
        else "because a leftover costs more than running out"
    )
    sign = "+" if safety >= 0 else "−"
    cards.append(key_figure("safety", f"{sign}{amount(abs(safety))}", why))
    if content.ends is not None:
        low, high = map(amount, content.ends)
        cards.append(key_figure("if the sell-out rate is another", f"{low} to {high}"))
    cost = content.choice.cost
    best = content.choice.model
    if best != _USUAL and cost.get(_USUAL, 0.0) > 0:
        saved = 1.0 - cost[best] / cost[_USUAL]
        more = ""
        if content.evaluated:
            gain = (cost[_USUAL] - cost[best]) * content.n_decisions
            more = f"about {money(gain, content.currency)} for these orders, if it stays so"
        cards.append(
            key_figure(
                "cost against the same weekdays before"
                if content.unit == "day"
                else "cost against the weeks before",
                f"{percent(saved)} less",
                f"on {content.choice.n_days} {content.unit}s held out",
                more,
            )
        )
    return page_head(content.title, content.answer, cards)


# --- Orders.


def _totals(content: OrderReportData) -> DataFrame:
    """Give sums of each series: its name, orders and what they consist of; the largest first."""
    import polars as pl

    decided = content.decisions
    assert decided is not None
    names = item_names(decided, content.series) if content.series else [""] * decided.height
    return (
        decided.with_columns(pl.Series("\0item", names))
        .group_by("\0item", maintain_order=True)
        .agg(pl.col("decision", *PARTS.values()).sum(), pl.col("based on").first())
        .sort("decision", descending=True, maintain_order=True)
    )


def _items(content: OrderReportData, totals: DataFrame, labels: Labels) -> list[Item]:
    """Items with history, orders and what these consist of."""
    import polars as pl

    most = MAX_ITEMS[totals.height <= MAX_ITEMS[True]]
    kept = totals.head(most)
    decided = content.decisions
    assert decided is not None
    names = item_names(decided, content.series) if content.series else [""] * decided.height
    own = pl.Series(names, dtype=pl.String).is_in(kept["\0item"].to_list())
    found, _ = items_of(replace(content, decisions=decided.filter(own)), labels)
    sums = {str(row["\0item"]): row for row in kept.iter_rows(named=True)}
    items = []
    for item in found:
        row = sums.get(item.name)
        if row is None:
            continue
        parts = {name: float(row[name]) for name in PARTS.values()}
        based_on = str(row["based on"])
        items.append(
            replace(item, parts=parts, based_on="" if based_on == "own history" else based_on)
        )
    return items


def _orders(
    content: OrderReportData, totals: DataFrame, items: Sequence[Item], labels: Labels
) -> Html:
    """Show orders by item and day, or totals where items are too many; drawn; and row by row."""
    if totals.height > len(items):
        shown = _table_of_totals(totals, items)
    else:
        shown = by_item_and_day(items, labels)
    drawn = Html()
    if totals.height > 1:
        together = _together(content)
        finding = item_finding(together, labels)
        chart = item_chart(together, labels, few=True)
        drawn = figure(chart, name="decisions", finding=f"All series together. {finding}")
    return joined([shown, drawn, by_row(content, labels, alone=not shown)])


def _table_of_totals(totals: DataFrame, items: Sequence[Item]) -> Html:
    rows = totals.head(_MAX_TOTALS)
    links = {item.name: item_link(place, item) for place, item in enumerate(items)}
    columns: list[tuple[str, list[str], bool]] = [
        ("item", [links.get(name, name) for name in rows["\0item"].to_list()], False),
        ("total", [amount(value) for value in rows["decision"].to_list()], True),
    ]
    columns += [
        (name, [amount(value) for value in rows[name].to_list()], True) for name in PARTS.values()
    ]
    foot = ["total of all", amount(float(totals["decision"].sum()))]
    foot += [amount(float(totals[name].sum())) for name in PARTS.values()]
    left = totals.height - rows.height
    caption = f"Orders by item, all {totals.height:,}"
    if left:
        caption = f"Orders by item, the {rows.height:,} largest of {totals.height:,}"
    return table(caption, columns, id_="orders", foot=foot)


def _together(content: OrderReportData) -> Item:
    """All series as if they were one."""
    import polars as pl

    decided = content.decisions
    assert decided is not None
    sums = decided.group_by(str(content.date)).agg(pl.col("decision").sum()).sort(str(content.date))
    past = cast("list[date]", content.whole["date"])
    observed = cast("list[float]", content.whole["observed"])
    expected = cast("list[float]", content.whole["expected"])
    return Item(
        "all series",
        past=past,
        observed=observed,
        expected=expected or [nan] * len(past),
        sold_out=[False] * len(past),
        coming=sums[str(content.date)].to_list(),
        decided=sums["decision"].cast(pl.Float64).to_list(),
        parts=dict(content.parts),
    )


# --- What is hidden.


def _hidden(content: OrderReportData, totals: DataFrame) -> Html:
    """Say how often it sold out, what that hid, and which items hide most."""
    unit = content.unit
    if content.sold_out is None:
        said = f"Nothing tells which {unit}s sold out, so sales are taken for demand."
        if content.rate is not None:
            low, high = content.rate
            share = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
            said = (
                f"Nothing tells which {unit}s sold out; that {share} of them did was said, and "
                "orders are as much higher as that hides."
            )
        if content.ends is not None:
            low_sum, high_sum = map(amount, content.ends)
            said += f" The ends of the range ask for {low_sum} and {high_sum} in all."
        return element("p", said)
    said = f"{percent(content.sold_out)} of the {unit}s with a flag were stock-outs."
    observed = cast("list[float]", content.whole["observed"])
    expected = cast("list[float]", content.whole["expected"])
    truth, seen = sum(expected), sum(observed)
    if expected and truth > 0:
        said += (
            f" In the last {len(observed)} {unit}s {amount(seen)} were sold; demand is expected to "
            f"have been {amount(truth)}, so {percent(max(1 - seen / truth, 0.0))} of it was hidden."
        )
    elif content.sold_out > 0:
        said += " Too few did to learn what they hid, so sales are taken for demand."
    parts = [element("p", said)]
    most = totals.filter(totals["hidden demand"] > 0).sort(
        "hidden demand", descending=True, maintain_order=True
    )
    if most.height > 1:
        rows = most.head(_MAX_HIDING)
        heading = "Items whose orders rest most on what was hidden"
        columns: list[tuple[str, list[str], bool]] = [
            ("item", rows["\0item"].to_list(), False),
            ("hidden demand", [amount(value) for value in rows["hidden demand"].to_list()], True),
            ("order", [amount(value) for value in rows["decision"].to_list()], True),
        ]
        parts.append(table(heading, columns))
    return joined(parts)


# --- Why these orders.


def _choice(content: OrderReportData) -> Html:
    """Say which model decides, and by how much it is cheaper than others on days held out."""
    choice = content.choice
    parts = [element("p", choice.why), element("p", f"{capital(content.asked)}.")]
    if content.overrides:
        parts.append(element("p", content.overrides))
    if len(choice.cost) < 2:
        return joined(parts)
    if choice.censoring_adjusted:
        start, rest, kind = (
            f"✓ Sold-out {content.unit}s are weighed for.",
            " What they hid costs as well.",
            "seen",
        )
    else:
        start, rest, kind = (
            "≈ Costs are those of sales.",
            f" Nothing says which of the {content.unit}s held out sold out.",
            "estimate",
        )
    parts.append(element("p", element("strong", start), rest, class_=f"basis basis-{kind}"))
    usual = choice.cost.get(_USUAL)
    shown = []
    for name, cost in sorted(choice.cost.items(), key=lambda each: each[1]):
        value = money(cost, content.currency) if content.evaluated else ""
        if usual and name != _USUAL:
            share = cost / usual - 1.0
            than = f"{percent(abs(share))} {'less' if share < 0 else 'more'}"
            value = f"{value}, {than}" if value else than
        shown.append(Bar(capital(LABELS[name]), value, cost, ours=name == choice.model))
    finding = (
        f"Mean cost of a {content.unit} of a series, on {choice.n_days} {content.unit}s that no "
        "model had seen."
    )
    how = "Less and more are against the same weekdays before." if usual else ""
    parts.append(bars(shown, name="costs", finding=finding, how=how, part=""))
    return joined(parts)


# --- Appendix.


def _statistics(content: OrderReportData) -> Html:
    """Give costs of all candidates for slow and fast sellers, and what they were evaluated on."""
    choice = content.choice
    if not choice.cost:
        return element("p", "No models were compared, so there are no statistics.")
    names = sorted(choice.cost, key=choice.cost.__getitem__)
    columns: list[tuple[str, list[str], bool]] = [
        ("model", [capital(LABELS[name]) for name in names], False),
        ("all", [number(choice.cost[name], 4) for name in names], True),
    ]
    for group, costs in choice.groups.items():
        columns.append((f"{group} sellers", [number(costs[name], 4) for name in names], True))
    how = (
        "weighted by the inverse of how likely a row was seen whole"
        if choice.censoring_adjusted
        else "all rows alike"
    )
    level = content.level
    facts = {
        f"{content.unit}s held out": f"{choice.n_days:,}",
        "rows evaluated": f"{choice.n_rows:,}, {how}",
        "level of the cost": "" if level is None else f"{level:.4g}",
    }
    scale = (
        "In the units of your costs."
        if content.evaluated
        else "A unit too little costs the level, one too much the rest to 1."
    )
    return folded(
        "Show costs of all models, for slow and fast sellers",
        table(f"Mean cost of a {content.unit} of a series", columns),
        element("p", scale, class_="quiet"),
        pairs("named", facts.items()),
    )
