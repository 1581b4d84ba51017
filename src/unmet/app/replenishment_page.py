"""Replenishment as the page shows it: the next orders, the stock to come, and who runs empty.

What is shown is a `ReplenishmentReportData`, as in the report: the same key figures, the same plots
and the same sentences (`unmet.report.replenishment`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app import figures
from unmet.app.controls import Asked, Source, chart, key_figures, listed, offer, plain, shared
from unmet.app.planning import on_the_page, orders_file, plan_command
from unmet.costs import Newsvendor
from unmet.inventory import SupplyRules
from unmet.planning import OrderPlan, replenishment_report_data
from unmet.planning.candidates import LABELS
from unmet.planning.order_plan import SERVICE_LEVEL
from unmet.planning.order_report import ReplenishmentReportData
from unmet.report import render
from unmet.report.labels import capital
from unmet.report.replenishment import HOW, plots, replenishment_figures, stock_finding

if TYPE_CHECKING:
    import polars

_MAX_ITEMS = 300  # that can be looked at one by one, the most urgent first
_MAX_ROWS = 2_000  # of the table that is shown; the file has all


def show_replenishment(source: Source, asked: Asked) -> None:
    """Show the page of replenishment: controls, orders, stock to come, notes, and files."""
    st.title("What to order now", anchor=False)
    st.caption(
        "From what was sold, what is there and what is on its way to the next order of each item: "
        "enough until the one after it can arrive."
    )
    times, costs = _controls(source, asked)
    plan = OrderPlan(supply=SupplyRules(**times), **asked.parameters)
    learned = _learn(f"{asked.key} {times}", plan, source.file.table, asked.future, asked.on_order)
    with st.spinner("Deciding …"):
        decided = learned.at(cost=costs)
    order_table = decided.orders()
    name, mime, _ = orders_file(order_table.head(1), source.name, source.file.dialect)
    command = plan_command(
        decided,
        asked.guess,
        source.name,
        future=asked.future_name,
        on_order=asked.on_order_name,
        decimal=source.decimal,
        orders=name,
    )
    content = replenishment_report_data(decided, most=_MAX_ITEMS)
    key_figures((capital(what), value, why) for what, value, why in replenishment_figures(content))
    find = _orders(content)
    _item(content, find)
    _notes(source, content)
    st.subheader("Take it away", anchor=False)
    with st.container(horizontal=True):
        offer(
            f"Download {name}",
            lambda: orders_file(order_table, source.name, source.file.dialect)[2],
            name,
            mime,
            type="primary",
        )
        offer(
            "Download report.html",
            lambda: render(
                replenishment_report_data(decided, notes=source.file.notes, command=command)
            ),
            "report.html",
            "text/html",
        )
    st.caption("The same on the command line:")
    st.code(command, language="bash", wrap_lines=True)


def _learn(
    key: str,
    plan: OrderPlan,
    table: polars.DataFrame,
    future: polars.DataFrame | None,
    on_order: polars.DataFrame | None,
) -> OrderPlan:
    """Learn once for each file, choice of columns, lead time and review, for every visitor."""
    return shared(
        f"replenish {key}",
        "Learning from the past",
        lambda: plan.fit(table, future=future, on_order=on_order),
    )


# --- What is moved.


def _controls(source: Source, asked: Asked) -> tuple[dict[str, Any], Newsvendor]:
    """Ask how long orders take, how often one orders, and what to aim at."""
    key, unit = source.key, asked.unit
    with st.container(border=True):
        first, second, third, fourth = st.columns([1.2, 1.2, 2.4, 2.1], gap="medium")
        with first:
            lead_time = st.number_input(
                f"{capital(unit)} until an order arrives",
                0,
                366,
                0,
                key=f"{key}-arrives-{unit}",
                help=f"0: ordered tonight, it is there when the next {unit[:-1]} begins.",
            )
        with second:
            review = st.number_input(
                f"{capital(unit)} from one order to the next",
                1,
                366,
                1,
                key=f"{key}-review-{unit}",
                help="Each order must last until the next one arrives.",
            )
        with fourth:
            by_costs = st.toggle("Costs instead of a service level", key=f"{key}-lasting-costs")
        with third:
            if by_costs:
                costs = _costs(key, unit[:-1])
            else:
                costs = Newsvendor.at_level(service_level(key, unit))
    return {"lead_time": int(lead_time), "review": int(review)}, costs


def service_level(key: str, unit: str) -> float:
    """Ask for the share of days on which demand is to be met."""
    level = st.slider(
        f"Service level: share of {unit} on which demand is met",
        50,
        99,
        round(100 * SERVICE_LEVEL),
        format="%d%%",
        key=f"{key}-level",
    )
    return float(level / 100)


def _costs(key: str, unit: str) -> Newsvendor:
    left, right = st.columns(2)
    with left:
        shortage = st.number_input(
            "A unit that is missing costs", 0.01, 1e9, 1.0, key=f"{key}-shortage"
        )
    with right:
        holding = st.number_input(
            f"A unit left over costs, each {unit}", 0.01, 1e9, 0.2, key=f"{key}-holding"
        )
    return Newsvendor(underage=float(shortage), overage=float(holding))


# --- What is shown.


def _orders(content: ReplenishmentReportData) -> str:
    """Show orders, the most urgent first; give what was searched for."""
    import polars as pl

    st.subheader("Orders, the most urgent first", anchor=False)
    order_table = content.decisions
    assert order_table is not None
    find = ""
    if order_table.height > 1:
        find = st.text_input("Find items", key="find", placeholder="part of a name or number")
    labels = find.strip().lower()
    table = order_table.filter(pl.col("item").str.to_lowercase().str.contains(labels, literal=True))
    if not table.height:
        st.markdown("No item has this in its name.")
        return find
    shown = table.head(_MAX_ROWS).with_columns(pl.col("chance_of_running_out") * 100)
    columns: dict[str, Any] = {
        "item": st.column_config.TextColumn("item", pinned=True),
        "order": st.column_config.NumberColumn("order", format="localized"),
        "arrives": st.column_config.DateColumn("arrives", format="ddd D MMM"),
        "on_hand": st.column_config.NumberColumn("there", format="localized"),
        "on_order": st.column_config.NumberColumn("on its way", format="localized"),
        "expected_demand": st.column_config.NumberColumn("expected demand", format="%.1f"),
        "order_up_to": None,  # the file has it
        "runs_empty": st.column_config.DateColumn("runs empty", format="ddd D MMM"),
        "chance_of_running_out": st.column_config.NumberColumn(
            "chance of running out", format="%.0f%%"
        ),
    }
    tall = min(38 + 35 * shown.height, 420)
    st.dataframe(shown, column_config=columns, height=tall, hide_index=True, key="replenish")
    if shown.height < table.height:
        st.caption(f"The first {shown.height:,} of {table.height:,} items; the file has all.")
    st.caption(HOW)
    return find


def _item(content: ReplenishmentReportData, find: str) -> None:
    """Show one item: its past with the demand to come, its stock to come, and its risk."""
    st.subheader("Stock to come", anchor=False)
    labels = find.strip().lower()
    known = {ahead.name: ahead for ahead in content.ahead}
    names = [name for name in known if labels in name.lower()] or list(known)
    name = names[0]
    if len(known) > 1:
        name = st.selectbox("Item", names, key="stock-item")
    ahead, history = known[name], content.history
    assert history is not None
    own = replace(content, ahead=(ahead,), history=history.filter(history["item"] == name))
    _, charts = next(plots(own))
    dark = st.context.theme.type == "dark"
    st.markdown(f"**{plain(stock_finding(ahead, content.unit))}**")
    past, stock = figures.stock_figures(charts, dark=dark)
    left, right = st.columns(2, gap="large")
    sold = f"What was sold, and the demand that is expected of the coming {content.unit}s."
    ranges = "The shaded area has what is left 8 times of 10."
    with left:
        chart(past, sold, "chart-sold")
    with right:
        chart(stock, ranges, "chart-stock")


def _notes(source: Source, content: ReplenishmentReportData) -> None:
    """Show what a planner should know, and behind a click what expected demand follows."""
    notes = [*source.file.notes, *content.notes]
    if notes:
        st.subheader("Good to know", anchor=False)
        listed(on_the_page(each) for each in notes)
    with st.expander("How the orders were made"):
        st.markdown(plain(f"{capital(content.aim)}."))
        st.markdown(plain(f"Expected demand follows {LABELS[content.model]}."))
        if len(content.missed) > 1:
            ranked = sorted(content.missed.items(), key=lambda each: each[1])
            usual = content.missed["seasonal"] or 1.0
            st.caption(f"How far each way missed demand on {content.unit}s held out:")
            st.dataframe(
                {
                    "expected demand": [LABELS[name] for name, _ in ranked],
                    "against what is usual": [f"{error / usual:.0%}" for _, error in ranked],
                },
                hide_index=True,
                key="missed",
            )
