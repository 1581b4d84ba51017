"""Orders on the page: for the coming days, or to replenish stock that is kept.

The page is for a planner; statistics are one click away. It shows the key figures, charts and
sentences of the report.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from unmet.app.controls import (
    NONE,
    Asked,
    Source,
    answer,
    beside,
    chart,
    key_figures,
    listed,
    one_column,
    plain,
    shared,
    show_table,
    take_away,
)
from unmet.app.planning import guess, item_of, items, orders_name, plan_command, unit_of, written
from unmet.censoring.text import capital, number, order_labels, percent
from unmet.charts import curve
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.inventory import SupplyRules
from unmet.planning import OrderPlan, Schema
from unmet.planning.order_plan import SERVICE_LEVEL
from unmet.report import render, report_data
from unmet.report.page import (
    chance_chart,
    cost_table,
    order_cards,
    replenishment_cards,
    stock_chart,
)
from unmet.report.sentences import amount, item_finding, stock_finding
from unmet.report.tables import by_day, item_chart, item_name, item_parts, items_of, stock_parts
from unmet.tables.panel import GAPS
from unmet.tables.reading import read_flags
from unmet.tables.schema import date_columns, holds_flags

if TYPE_CHECKING:
    import polars

    from unmet.tables.forms import SalesTable

_RATES = (None, *(place / 20 for place in range(17)))
_MAX_ITEMS = 1_000  # that one chooses from; a search finds the others
_GAPS = dict(zip(GAPS, ("found out", "unknown", "nothing sold"), strict=True))


def show_orders(source: Source) -> None:
    """Show the page of a history: controls, then orders and what to take away."""
    with st.sidebar:
        asked = _columns(source)
    lasts = asked.on_hand is not None
    st.title("Orders for today" if lasts else "Orders for the coming days", anchor=False)
    st.caption("Orders from past sales, corrected for stock-outs, with safety stock.")
    given, moved = _controls(source, asked)
    if not lasts:  # another level needs no other fit
        given |= {"cost": Newsvendor.at_level(SERVICE_LEVEL), "sellout_rate": None}
    plan = OrderPlan(**given, **asked.parameters)
    key = f"{asked.key} {given}"
    sales = _sales(asked.key, plan, source.file.table, asked.future)
    tables: dict[str, Any] = {"future": asked.future, "on_order": asked.on_order}
    learned = shared(
        key,
        lambda tell: plan.fit(sales, progress=tell, **tables),
        partial(_show_sold, source, asked, sales),
    )
    same = all(getattr(learned, name) == value for name, value in moved.items())
    decided = learned if same else learned.at(**moved)
    draw = _show_replenishment if lasts else _show_coming
    answer(source.name, partial(draw, source, asked, sales, learned, decided))


@st.cache_resource(max_entries=8, show_spinner="Reading the table …")
def _sales(key: str, _plan: OrderPlan, _table: polars.DataFrame, _future: Any) -> SalesTable:  # noqa: ARG001
    return _plan.read(_table, _future)


def _show_sold(source: Source, asked: Asked, sales: SalesTable) -> None:
    """Show what was sold, while orders are computed, and how the table was read."""
    table, schema, unit = sales.table, sales.schema, asked.unit
    sold, days = float(table[schema.sales].sum()), table[schema.date].n_unique()
    cards = [
        ("total sales", amount(sold), f"{number(sold / max(days, 1), 4)} a {unit[:-1]}"),
        ("items", f"{sales.n_series:,}", f"over {days:,} {unit}"),
    ]
    if schema.sold_out in table.columns:
        flags = read_flags(table, schema.sold_out, schema.sold_out_opposite)
        cards.append((f"sold-out {unit}", percent(float(np.nanmean(flags))), "counted"))
    key_figures(cards, "sold")
    _show_columns(source, asked, sales)


def _show_columns(source: Source, asked: Asked, sales: SalesTable) -> None:
    """Show which column is what and why, and what was read, as `unmet plan` does."""
    import polars as pl

    schema, dates = sales.schema, sales.table[sales.schema.date]
    st.markdown(
        f"{sales.n_rows:,} rows, {sales.n_series:,} series, one row per {schema.period}, "
        f"{dates.min()} to {dates.max()}."
    )
    guess = asked.guess or Schema()
    rows = [
        (
            name.replace("_", " "),
            ", ".join(column) if isinstance(column, tuple) else column,
            guess.why.get(name, "") if column == getattr(guess, name) else "chosen by you",
        )
        for name in ("date", "series", "sales", "sold_out", "stock", "price", "on_hand")
        if (column := getattr(schema, name))
    ]
    table = pl.DataFrame(rows, schema=["use", "column", "reason"], orient="row")
    st.dataframe(table, hide_index=True, key="columns")
    if schema.left_out:
        shown = ", ".join(f"{name} ({why})" for name, why in [*schema.left_out.items()][:20])
        st.caption(plain(f"Not used: {shown}."))
    listed((*source.file.notes, *sales.notes))


def _show_coming(
    source: Source, asked: Asked, sales: SalesTable, learned: OrderPlan, decided: OrderPlan
) -> None:
    """Show orders for coming days: key figures, items, notes, how they were made, and files."""
    data, choice = report_data(decided), decided.choice_
    share = data["sold_out"]
    told = "in the history" if share is not None else "no column has them"
    sold_out = f"sold-out {asked.unit}", "?" if share is None else percent(share), told
    # what the others cost stands below
    cards = [card for card in order_cards(data) if not card[0].startswith("saving")]
    key_figures([*cards, sold_out])
    _orders(decided)
    _notes(source, data)
    with st.expander("How the orders were made"):
        st.markdown(plain(choice.why))
        if choice.cost:
            sold = "" if choice.censoring_adjusted else ", with sales taken as demand"
            level = f"{100 * float(learned.cost_.level):.4g}%"
            st.caption(
                f"Mean cost per {data['unit']} in a backtest on {choice.n_days} {data['unit']}s, "
                f"at a service level of {level}{sold}:"
            )
            columns = {name: cells for name, cells, _ in cost_table(choice, data["unit"])}
            st.dataframe(columns, hide_index=True, key="models")
        listed(choice.left_out)
        _show_columns(source, asked, sales)
    _take_away(source, asked, decided)


def _take_away(source: Source, asked: Asked, decided: OrderPlan) -> None:
    name = orders_name(source.name)
    command = plan_command(
        decided,
        asked.guess,
        source.name,
        future=asked.future_name,
        on_order=asked.on_order_name,
        decimal=source.decimal,
        orders=name,
    )
    data = partial(report_data, decided, notes=source.file.notes, command=command)
    take_away(partial(written, decided, source.file, name), lambda: render(data()), command, name)


# --- At the side: which column is what.


def _columns(source: Source) -> Asked:
    """Ask which column is what, starting from the guesses of `unmet plan`."""
    table, key = source.file.table, f"{source.key}-{source.decimal}"
    first, doubt = _guess(key, {}, table)
    st.header("Columns", divider="gray")
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    days, flagged = _kinds(key, table)
    start = first.date if first is not None else days[0] if len(days) == 1 else None
    date = one_column("Date", f"{key}-plan-date", table.columns, start)
    start = None if first is None else first.sales
    sales = one_column("Sales", f"{key}-plan-sales", numeric, start)
    if date is None or sales is None:
        raise InvalidInput(doubt or "Choose the columns of dates and of sales.")
    rest, _ = _guess(key, {"date": date, "sales": sales}, table)
    rest = rest or Schema(series=())
    key = f"{key}-{date}-{sales}"  # other columns of these ask anew for the rest
    others = [name for name in table.columns if name not in (date, sales)]
    begin = [name for name in rest.series or () if name in others]
    series = st.multiselect(
        "Series: columns that identify one", others, begin, key=f"{key}-series", placeholder=NONE
    )
    flags = [name for name in others if name in flagged]
    amounts = [name for name in numeric if name != sales]
    sold_out = one_column("Sold out: yes or no", f"{key}-flag", flags, rest.sold_out)
    above = st.container()
    label = "Stock on hand, if stock is kept"
    left = one_column(label, f"{key}-left", amounts, None)
    coming, coming_name, way = None, None, ""
    if left is not None:
        coming, coming_name, way = beside(
            source,
            "Open orders (optional)",
            "Columns of series, date of arrival and units, such as the last orders.csv.",
            "on-order",
        )
    with above:  # what is left at the end is no stock to begin with
        amounts = [name for name in amounts if name != left]
        stock = one_column("Available stock", f"{key}-stock", amounts, rest.stock)
        price = one_column("Price", f"{key}-price", amounts, rest.price)
    labels: dict[str, Any] = {
        "date": date,
        "sales": sales,
        "series": tuple(name for name in table.columns if name in series),
        # what is left tells which days sold out, unless somebody took a flag away
        "sold_out": sold_out or ("" if left is None or rest.sold_out else None),
        "stock": stock or "",
        "price": price or "",
    }
    with st.expander("More"):
        labels["gaps"] = st.selectbox(
            "Days without a row", list(GAPS), format_func=_GAPS.__getitem__, key=f"{key}-gaps"
        )
        label = "Public holidays, by country code"
        country = st.text_input(label, key=f"{key}-country", placeholder="such as DE")
        labels["country"] = country.strip().upper() or None
        future, name, content = beside(
            source,
            "Coming days: prices, promotions, new items",
            "Columns of dates, series and values known in advance.",
            "future",
        )
    told = [(name, value) for name, value in labels.items() if value is not None]
    learned = f"{source.key} {source.decimal} {content} {sorted(told)} {left} {way}"
    if left is not None:
        first, doubt = _guess(key, {"on_hand": left}, table)
    usual = None if doubt else first  # what the command line would guess
    unit = unit_of(table, date)
    return Asked(labels, usual, unit, future, name, learned, left, coming, coming_name)


@st.cache_data(max_entries=16, show_spinner=False)
def _kinds(key: str, _table: polars.DataFrame) -> tuple[list[str], list[str]]:  # noqa: ARG001
    """Columns of dates and of flags."""
    flags = [name for name in _table.columns if holds_flags(_table[name])]
    return date_columns(_table, _table.columns), flags


@st.cache_data(max_entries=16, show_spinner=False)
def _guess(key: str, given: dict[str, str], _table: polars.DataFrame) -> tuple[Schema | None, str]:  # noqa: ARG001
    return guess(_table, **given)


# --- What is moved.


def _controls(source: Source, asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask for what is fitted for, such as the horizon, and for what is moved: costs and a rate."""
    lasts, unit, one = asked.on_hand is not None, asked.unit, asked.unit[:-1]
    key = f"{source.key}-{unit}-{lasts}"
    with st.container(border=True):
        first, second, third, fourth = st.columns([1.1, 2.6, 1.2, 2.1], gap="medium")
        label = f"{capital(unit)} {'between orders' if lasts else 'to order for'}"
        days = first.number_input(label, 1, 366, 1 if lasts else 7, key=f"{key}-days")
        label = f"{capital(unit)} until an order arrives" if lasts else f"Lead time, {unit}"
        about = f"{capital(unit)} between the last row and the first one ordered for."
        if lasts:
            about = f"0: an order arrives before the next {one}."
        lead_time = third.number_input(label, 0, 366, 0, key=f"{key}-lead", help=about)
        rate = None
        if not (lasts or asked.labels["sold_out"] or asked.labels["stock"]):
            rate = fourth.select_slider(
                f"Share of {unit} that sold out",
                _RATES,
                None,
                key=f"{key}-rate",
                format_func=lambda each: "not known" if each is None else f"{each:.0%}",
                help="Share that you estimate, if no column has stock-outs.",
            )
        if fourth.toggle("Use costs", key=f"{key}-costs"):
            left, right = second.columns(2)
            little, much = "Underage cost", "Overage cost"
            if lasts:
                little, much = "Shortage cost", f"Holding cost, each {one}"
            start = (1.0, 0.2) if lasts else (3.0, 1.0)
            under = left.number_input(little, 0.01, 1e9, start[0], key=f"{key}-underage")
            over = right.number_input(much, 0.01, 1e9, start[1], key=f"{key}-overage")
            cost = Newsvendor(float(under), float(over))
            second.caption(f"Service level: {cost.level:.0%}.")
        else:
            label = f"Service level: share of {unit} with demand met"
            usual, key = round(100 * SERVICE_LEVEL), f"{source.key}-level"
            level = second.slider(label, 50, 99, usual, format="%d%%", key=key)
            cost = Newsvendor.at_level(level / 100)
    if lasts:
        return {"supply": SupplyRules(lead_time=int(lead_time), review=int(days))}, {"cost": cost}
    given = {"horizon": int(days), "lead_time": int(lead_time)}
    return given, {"cost": cost, "sellout_rate": rate}


# --- What is shown.


def _found(order_table: polars.DataFrame, names: Any) -> tuple[polars.DataFrame, str]:
    """Ask for a part of a name; give the rows of such items."""
    find = ""
    if order_table.select(names).n_unique() > 1:
        find = st.text_input("Find items", key="find", placeholder="part of a name or number")
    has = names.str.to_lowercase().str.contains(find.strip().lower(), literal=True)
    rows = order_table.filter(has)
    if not rows.height:
        st.markdown("No item has this text in its name.")
    return rows, find.strip().lower()


@st.fragment
def _orders(plan: OrderPlan) -> None:
    """Show orders as items × days, and one item; a search makes nothing else anew."""
    import polars as pl

    st.subheader("Orders", anchor=False)
    schema, labels = plan.schema_, order_labels(plan.panel_.unit)
    rows, find = _found(plan.order_table_, item_name(schema.series))
    if not rows.height:
        return
    cells = rows.select(
        item_name(schema.series), date=schema.date, decision=pl.col("order").cast(pl.Float64)
    )
    found = by_day(cells, labels)
    table = cells.drop("item") if found is None and not schema.series else cells
    if found is not None:
        _, table, last = found
        first = pl.DataFrame([["all", *last]], schema=table.schema, orient="row")
        table = pl.concat([first, table.cast(first.schema)])
    columns = {
        name: st.column_config.NumberColumn(name.strip(), format="localized", width="small")
        for name, kind in table.schema.items()
        if kind.is_numeric()
    }
    show_table(table, "orders", columns)
    _item(plan, find)


def _item(plan: OrderPlan, find: str) -> None:
    """Show one item: its past, what sold-out days hid, and its orders."""
    schema, names = plan.schema_, items(plan)
    st.subheader("One item" if schema.series else "History and orders", anchor=False)
    kept = [place for place, name in names.items() if find in name.lower()] or list(names)[:1]
    place = kept[0]
    if schema.series:
        options = kept[:_MAX_ITEMS]
        place = st.selectbox("Item", options, format_func=names.__getitem__, key="item")
    item, rows = item_of(plan, place)
    labels = order_labels(plan.panel_.unit)
    chart(item_chart(item_parts(item, labels), labels), item_finding(item, labels))
    columns: dict[str, Any] = {schema.date: st.column_config.DateColumn(format="ddd D MMM")}
    for name in ("usual_sales", "hidden_demand", "safety"):
        columns[name] = st.column_config.NumberColumn(name.replace("_", " "), format="%.1f")
    columns["based_on"] = st.column_config.TextColumn("based on")
    show_table(rows.drop(schema.series), "parts", columns, 330)


def _notes(source: Source, data: dict[str, Any]) -> None:
    """Show what a planner should know."""
    notes = [*source.file.notes, *data["notes"]]
    if notes:
        st.subheader("Notes", anchor=False)
        listed(notes)


# --- Where stock lasts.


def _show_replenishment(
    source: Source, asked: Asked, sales: SalesTable, _: OrderPlan, decided: OrderPlan
) -> None:
    """Show what to order now: orders, stock to come, notes, how they were made, and files."""
    data = report_data(decided, most=_MAX_ITEMS)
    key_figures(replenishment_cards(data))
    _urgent(data)
    _notes(source, data)
    with st.expander("How the orders were made"):
        st.markdown(plain(f"Target: {data['aim']}."))
        st.markdown(plain(data["choice"].why))
        _show_columns(source, asked, sales)
    _take_away(source, asked, decided)


@st.fragment
def _urgent(data: dict[str, Any]) -> None:
    """Show orders, the most urgent first, and the stock to come of one item."""
    import polars as pl

    st.subheader("Orders, most urgent first", anchor=False)
    rows, find = _found(data["decisions"], pl.col("item"))
    if not rows.height:
        return
    config = st.column_config
    columns: dict[str, Any] = {
        "item": config.TextColumn("item", pinned=True),
        "order": config.NumberColumn("order", format="localized"),
        "arrives": config.DateColumn("arrives", format="ddd D MMM"),
        "on_hand": config.NumberColumn("on hand", format="localized"),
        "on_order": config.NumberColumn("on order", format="localized"),
        "expected_demand": config.NumberColumn("expected demand", format="%.1f"),
        "order_up_to": None,  # the file has it
        "runs_empty": config.DateColumn("runs out", format="ddd D MMM"),
        "chance_of_running_out": config.NumberColumn("stock-out probability", format="percent"),
        "expected_shortage": config.NumberColumn("expected shortage", format="%.1f"),
        "expected_loss": config.NumberColumn("expected loss", format="%.2f"),
    }
    show_table(rows, "replenish", columns)
    st.caption(
        "“Runs out” is the first date on which a stock-out is more likely than not, without "
        "further orders. The probability refers to the time until the next order can arrive."
    )
    _stock(data, find)


def _stock(data: dict[str, Any], find: str) -> None:
    """Show one item: its past with the demand to come, its stock to come, and its risk."""
    st.subheader("Projected stock", anchor=False)
    known = {ahead["item"]: ahead for ahead in data["ahead"]}
    names = [name for name in known if find in name.lower()] or list(known)
    name = st.selectbox("Item", names, key="stock-item") if len(known) > 1 else names[0]
    ahead, history = known[name], data["history"]
    labels = order_labels(data["unit"])
    found, _ = items_of(None, history.filter(history["item"] == name), labels, when=None)
    past = item_parts(found[0], labels) if found else []
    coming = curve("expected demand", "fitted", ahead["dates"], ahead["demand"])
    stock, chance = stock_parts(ahead)
    st.markdown(f"**{plain(stock_finding(ahead, data['unit']))}**")
    left, right = st.columns(2, gap="large")
    with left:
        chart(item_chart([*past, coming], labels), "Past sales and expected demand.")
    with right:
        chart(stock_chart(stock), "The shaded area is the 80% interval.")
        chart(chance_chart(chance))
