"""Orders for the coming days as the page shows them: for a planner, statistics a click away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from unmet.app import figures
from unmet.app.controls import (
    NONE,
    Asked,
    Source,
    beside,
    chart,
    key_figures,
    listed,
    offer,
    one_column,
    plain,
    shared,
)
from unmet.app.planning import (
    OrderWhatIf,
    by_day,
    costs_by_model,
    first_guess,
    in_weeks,
    on_the_page,
    orders_file,
    other_fields,
    plan_command,
)
from unmet.app.replenishment_page import service_level, show_replenishment
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation.backtest import ModelChoice
from unmet.inventory import SupplyRules
from unmet.planning import OrderPlan, Schema, infer_schema
from unmet.report.labels import order_labels
from unmet.report.orders import item_finding
from unmet.tables.panel import GAPS
from unmet.tables.schema import holds_flags

if TYPE_CHECKING:
    import polars

_RATES = (None, *(place / 20 for place in range(17)))
_MAX_ITEMS = 1_000  # that one chooses from; a search finds the others
_MAX_ROWS = 2_000  # of the table that is shown; the file has all
_GAPS = dict(zip(GAPS, ("found out", "unknown", "nothing sold"), strict=True))


def show_orders(source: Source) -> None:
    """Show the page of a history: controls, orders, one item, notes, and what to take away."""
    with st.sidebar:
        asked = _columns(source)
    if asked.on_hand is not None:
        show_replenishment(source, asked)
        return
    st.title("Orders for the coming days", anchor=False)
    st.caption(
        "From what was sold to what to order: with what sold-out days hid, and with as much safety "
        "as you ask for."
    )
    horizon, lead_time, moved, compared = _controls(source, asked)
    plan = OrderPlan(horizon=horizon, lead_time=lead_time, **asked.parameters)
    key = f"{asked.key} {horizon} {lead_time}"
    what_if = _learn(key, plan, source.file.table, asked.future)
    choice = _compare(key, what_if, moved) if compared else what_if.quick
    decided = shared(
        f"orders {key} {moved} {choice.model}",
        "Deciding",
        lambda: what_if.orders(choice, **moved),
    )
    order_table = decided.orders()
    key_figures(_key_figures(decided, asked.weeks))
    find = _orders(order_table, decided.schema_)
    _item(what_if, decided, find)
    _notes(source, decided)
    st.subheader("Take it away", anchor=False)
    name, mime, _ = orders_file(order_table.head(1), source.name, source.file.dialect)
    offer(
        f"Download {name}",
        lambda: orders_file(order_table, source.name, source.file.dialect)[2],
        name,
        mime,
        type="primary",
    )
    st.caption("The same on the command line:")
    command = plan_command(
        decided,
        asked.guess,
        source.name,
        future=asked.future_name,
        decimal=source.decimal,
        orders=name,
    )
    st.code(command, language="bash", wrap_lines=True)


# --- At the side: which column is what.


def _columns(source: Source) -> Asked:
    """Ask which column is what, starting from the guesses of `unmet plan`."""
    table, key = source.file.table, f"{source.key}-{source.decimal}"
    first_date, first_sales, doubt = _first_guess(key, table)
    st.header("Columns", divider="gray")
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    date = one_column("Date", f"{key}-plan-date", table.columns, first_date)
    sales = one_column("What was sold", f"{key}-plan-sales", numeric, first_sales)
    if date is None or sales is None:
        raise InvalidInput(doubt or "Choose the columns of dates and of what was sold.")
    guess = _other_fields(key, date, sales, table)
    key = f"{key}-{date}-{sales}"  # other columns of these ask anew for the rest
    others = [name for name in table.columns if name not in (date, sales)]
    begin = [name for name in guess.series if name in others]
    series = st.multiselect(
        "Items: columns that tell them apart",
        others,
        begin,
        key=f"{key}-series",
        placeholder=NONE,
    )
    flags = [name for name in others if holds_flags(table[name])]
    amounts = [name for name in numeric if name != sales]
    sold_out = one_column("Sold out: yes or no", f"{key}-flag", flags, guess.sold_out)
    above = st.container()
    left, coming, coming_name, way = _stock_that_lasts(source, key, amounts)
    with above:  # what is left at the end is no stock to begin with
        rest = [name for name in amounts if name != left]
        stock = one_column("What was in stock", f"{key}-stock", rest, guess.stock)
        price = one_column("Price", f"{key}-price", rest, guess.price)
    labels: dict[str, Any] = {
        "date": date,
        "sales": sales,
        "series": tuple(name for name in table.columns if name in series),
        # what is left tells which days sold out, unless somebody took a flag away
        "sold_out": sold_out or ("" if left is None or guess.sold_out else None),
        "stock": stock or "",
        "price": price or "",
    }
    with st.expander("More"):
        labels["gaps"] = st.selectbox(
            "Days without a row", list(GAPS), format_func=_GAPS.__getitem__, key=f"{key}-gaps"
        )
        labels["country"] = _country(key)
        future, name, content = beside(
            source,
            "Coming days: prices, promotions, new items",
            "Dates, items or some of their columns, and what is known of them.",
            "future",
        )
    told = [(name, value) for name, value in labels.items() if value is not None]
    learned = f"{source.key} {source.decimal} {content} {sorted(told)} {left} {way}"
    guess_there = _usual(source.key, table, left)
    weeks = in_weeks(table, date)
    return Asked(labels, guess_there, weeks, future, name, learned, left, coming, coming_name)


def _stock_that_lasts(
    source: Source, key: str, amounts: list[str]
) -> tuple[str | None, polars.DataFrame | None, str | None, str]:
    """Ask for what was left at the end of each day, and then for what is on its way."""
    label = "If stock lasts: what was left at the end"
    left = one_column(label, f"{key}-left", amounts, None)
    if left is None:
        return None, None, None, ""
    coming, name, content = beside(
        source,
        "On its way (optional)",
        "Items, the day on which something arrives, and units; the last orders.csv will do.",
        "on-order",
    )
    return left, coming, name, content


@st.cache_data(max_entries=8, show_spinner=False)
def _first_guess(key: str, _table: polars.DataFrame) -> tuple[str | None, str | None, str]:  # noqa: ARG001
    return first_guess(_table)


@st.cache_data(max_entries=8, show_spinner=False)
def _other_fields(key: str, date: str, sales: str, _table: polars.DataFrame) -> Schema:  # noqa: ARG001
    return other_fields(_table, date, sales)


@st.cache_data(max_entries=8, show_spinner=False)
def _usual(key: str, _table: polars.DataFrame, left: str | None) -> Schema | None:  # noqa: ARG001
    try:
        return (
            infer_schema(_table)
            if left is None
            else OrderPlan(supply=SupplyRules(), schema=Schema(on_hand=left)).columns(_table)
        )
    except InvalidInput:
        return None


def _country(key: str) -> str | None:
    """Ask whose public holidays matter."""
    text = st.text_input(
        "Public holidays of (code of a country)", key=f"{key}-country", placeholder="such as DE"
    )
    return text.strip().upper() or None


# --- What is moved.


def _controls(source: Source, asked: Asked) -> tuple[int, int, dict[str, Any], bool]:
    """Show horizon and service level first, then what matters less often."""
    key, unit = source.key, asked.unit
    unknown = not asked.labels["sold_out"] and not asked.labels["stock"]
    with st.container(border=True):
        first, second, third, fourth = st.columns([1.1, 2.6, 1.1, 2.2], gap="medium")
        with first:
            horizon = st.number_input(
                f"{unit.capitalize()} to order for", 1, 366, 7, key=f"{key}-horizon-{unit}"
            )
        with third:
            lead_time = st.number_input(
                f"Lead time, {unit}",
                0,
                366,
                0,
                key=f"{key}-lead",
                help=f"{unit.capitalize()} from the last one known to the first one ordered for.",
            )
        with fourth:
            rate = None
            if unknown:
                rate = st.select_slider(
                    f"Share of {unit} that sold out",
                    _RATES,
                    None,
                    key=f"{key}-rate",
                    format_func=lambda each: "not known" if each is None else f"{each:.0%}",
                    help="About how often you sell out: sales then hide demand.",
                )
            compared = st.toggle(
                "Compare all models",
                value=True,
                key=f"{key}-compare",
                help="Tries several ways to forecast on the last weeks and keeps the cheapest, as "
                "the command line does; without it orders are there some seconds sooner.",
            )
            by_costs = st.toggle("Costs instead of a service level", key=f"{key}-costs")
        with second:
            cost = _costs(key) if by_costs else Newsvendor.at_level(service_level(key, unit))
    return int(horizon), int(lead_time), {"cost": cost, "sellout_rate": rate}, compared


def _costs(key: str) -> Newsvendor:
    left, right = st.columns(2)
    with left:
        under = st.number_input("A unit too little costs", 0.01, 1e9, 3.0, key=f"{key}-underage")
    with right:
        over = st.number_input("A unit too much costs", 0.01, 1e9, 1.0, key=f"{key}-overage")
    st.caption(f"Demand is then met on {under / (under + over):.0%} of the days.")
    return Newsvendor(float(under), float(over))


def _learn(
    key: str, plan: OrderPlan, table: polars.DataFrame, future: polars.DataFrame | None
) -> OrderWhatIf:
    """Learn once for each file, choice of columns, horizon and lead time, for every visitor."""
    return shared(
        f"history {key}", "Learning from the past", lambda: OrderWhatIf(plan, table, future=future)
    )


def _compare(key: str, what_if: OrderWhatIf, moved: dict[str, Any]) -> ModelChoice:
    """Compare once, at the service level at which it is first asked for."""
    doing = "Comparing all models on the last weeks"
    return shared(f"backtest {key}", doing, lambda: what_if.compare(**moved))


# --- What is shown.


def _key_figures(plan: OrderPlan, weeks: bool) -> list[tuple[str, str, str]]:
    order_table, past = plan.orders(), plan.panel_.hidden
    dates, unit = order_table[plan.schema_.date], "weeks" if weeks else "days"
    units, hidden, safety = (
        float(order_table[name].sum()) for name in ("order", "hidden_demand", "safety")
    )
    span = f"{dates.min():%d %b} to {dates.max():%d %b %Y}"
    shown = [("Units to order", f"{units:,.0f}", f"{order_table.height:,} orders, {span}")]
    share = f"{hidden / units:.0%} of the units" if units > 0 else "units"
    shown.append(("Hidden demand", f"{hidden:,.0f}", f"{share}: asked for beyond sales"))
    share = f"{abs(safety) / units:.0%} of the units" if units > 0 else "units"
    why = "so that you seldom run out" if safety >= 0 else "less, as leftovers cost more"
    shown.append(("Safety", f"{safety:,.0f}".replace("-", "−"), f"{share}: {why}"))
    if past is None:
        shown.append((f"Sold-out {unit}", "?", "no column tells"))
    else:
        shown.append((f"Sold-out {unit}", f"{np.nanmean(past):.0%}", "of the past, as counted"))
    return shown


def _orders(order_table: polars.DataFrame, schema: Schema) -> str:
    """Show orders as items × days; give what was searched for."""
    st.subheader("Orders", anchor=False)
    find = ""
    if schema.series:
        find = st.text_input("Find items", key="find", placeholder="part of a name or number")
    table = by_day(order_table, schema, find)
    if not table.height:
        st.markdown("No item has this in its name.")
        return find
    config: dict[str, Any] = {
        name: st.column_config.NumberColumn(format="localized", width="small")
        for name, kind in table.schema.items()
        if kind.is_numeric()
    }
    for name in schema.series:
        config[name] = st.column_config.TextColumn(pinned=len(schema.series) == 1)
    shown = table.head(_MAX_ROWS)
    tall = min(38 + 35 * shown.height, 420)
    st.dataframe(shown, column_config=config, height=tall, hide_index=True, key="orders")
    if shown.height < table.height:
        st.caption(f"The first {shown.height:,} of {table.height:,} items; the file has all.")
    return find


def _item(what_if: OrderWhatIf, plan: OrderPlan, find: str) -> None:
    """Show one item: its past, what sold-out days hid, and its orders."""
    schema = plan.schema_
    st.subheader("One item" if schema.series else "The past and the orders", anchor=False)
    items = what_if.items()
    labels = find.strip().lower()
    names = dict([each for each in items if labels in each[1].lower()][:_MAX_ITEMS] or items[:1])
    place = next(iter(names))
    if schema.series:
        place = st.selectbox("Item", list(names), format_func=names.__getitem__, key="item")
    item, rows = what_if.item(plan, place)
    shown = order_labels("day" if plan.panel_.step == 1 else "week")
    dark = st.context.theme.type == "dark"
    chart(figures.item_figure(item, shown, dark=dark), item_finding(item, shown), "chart-item")
    parts = rows.drop(schema.series).rename(
        {"usual_sales": "usual sales", "hidden_demand": "hidden demand", "based_on": "based on"}
    )
    config = {
        schema.date: st.column_config.DateColumn(format="ddd D MMM"),
        **{
            name: st.column_config.NumberColumn(format="%.1f")
            for name in ("usual sales", "hidden demand", "safety")
        },
    }
    tall = min(38 + 35 * parts.height, 330)
    st.dataframe(parts, column_config=config, height=tall, hide_index=True, key="parts")


def _notes(source: Source, plan: OrderPlan) -> None:
    """Show what a planner should know, and behind a click what a statistician asks."""
    notes = [*source.file.notes, *plan.notes_]
    if notes:
        st.subheader("Good to know", anchor=False)
        listed(on_the_page(each) for each in notes)
    choice, schema = plan.choice_, plan.schema_
    with st.expander("How the orders were made"):
        st.markdown(plain(choice.why))
        if choice.cost:
            sold = "" if choice.censoring_adjusted else "; sales are taken for demand"
            st.caption(f"Mean cost of a day on {choice.n_days} days that no model had seen{sold}:")
            st.dataframe(costs_by_model(choice), hide_index=True, key="models")
        else:
            st.markdown("“Compare all models” tries others on the last weeks of the past.")
        listed(choice.left_out)
        used = [f"{name}: {why}" for name, why in schema.left_out.items()]
        if used:
            st.markdown("Columns that are not used:")
            listed(used)
