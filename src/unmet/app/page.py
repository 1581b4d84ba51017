"""The what-if page; streamlit runs this file.

What it shows is text that nothing in a file can turn into markup.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app.controls import (
    STYLE,
    PageChoice,
    bring,
    chart,
    choose,
    key_figures,
    listed,
    move,
    offer,
    plain,
    shared,
)
from unmet.app.orders import show_orders
from unmet.app.whatif import MAX_ROWS, Outcome, WhatIf
from unmet.censoring.plots import possible_rates, quantile_chart, rate_charts
from unmet.censoring.text import (
    Labels,
    capital,
    followed,
    hidden_rows,
    if_wrong,
    labels_for,
    number,
    percent,
    sure,
)
from unmet.costs import Revenue
from unmet.errors import UnmetError
from unmet.planning import DecisionPlan
from unmet.planning.plan_options import command_of, plan_from_options
from unmet.report import render
from unmet.report.page import SYMBOLS
from unmet.report.sentences import decisions_finding, quantiles_finding, sensitivity_finding
from unmet.report.tables import decisions_chart
from unmet.tables.dialect import Dialect, as_bytes

if TYPE_CHECKING:
    import polars

_ROWS = 5_000  # shown in the table; the file has all


def main() -> None:
    """Show the page; whatever goes wrong is one sentence, and the page stays."""
    st.set_page_config("What if? – unmet", "◐", layout="wide")
    st.html(STYLE)
    try:
        source = bring()
        if source is None:
            return
        if source.history:
            show_orders(source)
        else:
            st.title("What if?", anchor=False)
            st.caption(
                "Decisions from data that never shows the whole truth. Move a slider: orders, "
                "evidence and money follow."
            )
            with st.sidebar:
                choice = choose(source)
            _answer(choice)
    except UnmetError as error:
        st.error(plain(str(error)), icon="⚠️")
        st.markdown(
            "Choose another file or other columns at the side; the page goes on from there."
        )
    except Exception:
        logging.getLogger("unmet").exception("The what-if page met something unexpected.")
        st.error("Something unexpected went wrong; the terminal says what.", icon="⚠️")


def _answer(choice: PageChoice) -> None:
    """Learn, let the user move what can be moved, and show what follows."""
    # costs to learn with are always the same ones, unless rows give one of them
    costs: dict[str, Any] = {name: start for name, (_, start) in choice.costs.items()}
    moved = None
    if any(choice.labels.get(f"{name}_column") for name in ("underage", "overage")):
        moved = move(choice, rates=choice.labels.get("accepted_column") is None)
        costs = {name: moved[0][name] for name in costs}
    plan = plan_from_options(**choice.labels, **costs)
    what_if = _learn(choice.key, choice.all_rows, plan, choice.table)
    assumed, lots = moved or move(choice, rates=what_if.rates is not None)
    outcome = what_if.outcome(assumed, choice.coming, truth=choice.truth, **lots)
    command = command_of(outcome.plan, *choice.names, **lots)
    _show(outcome, choice.about, command)


def _learn(key: str, all_rows: bool, plan: DecisionPlan, table: polars.DataFrame) -> WhatIf:
    """Learn once for each file and each choice of columns, for every visitor."""
    # of the content as it was read: another decimal sign makes another table of the same file
    content = f"{dict(table.schema)} {table.hash_rows().sum()}"
    return shared(
        f"rows {key} {content} {all_rows} {plan.get_params()}",
        "Learning how much is hidden",
        lambda: WhatIf(plan, table, max_rows=None if all_rows else MAX_ROWS),
    )


def _show(outcome: Outcome, about: str, command: str) -> None:
    """Show key figures, charts, the table, what is not known, and what can be taken away."""
    labels = labels_for(outcome.plan.problem)
    key_figures(_key_figures(outcome, labels))
    if outcome.hindsight is not None:
        st.markdown(f"**In hindsight.** {plain(_hindsight(outcome))}")
    choice = outcome.plan.choice_
    if choice is not None and choice.scored:
        st.markdown(plain(choice.why))
    left, right = st.columns(2, gap="large")
    with left:
        _decisions(outcome, labels, about)
    with right:
        rate_place = st.container()
    left, right = st.columns(2, gap="large")
    with left:
        _quantiles(outcome, labels)
    with right:
        _unknown(outcome, labels)
    _table(outcome.table, labels)
    st.subheader("Take it away", anchor=False)
    with st.container(horizontal=True):
        offer("Download orders.csv", partial(as_bytes, outcome.table, Dialect()), "orders.csv")
        offer(
            "Download report.html",
            lambda: render(outcome.report(command)),
            "report.html",
            "text/html",
        )
    st.caption("The same on the command line:")
    st.code(command, language="bash", wrap_lines=True)
    with rate_place:  # last, because its curve takes longest the first time
        _rates(outcome, labels)


def _key_figures(outcome: Outcome, labels: Labels) -> list[tuple[str, str, str]]:
    """Give the numbers that stand at the top: name, value and what it means."""
    shown, name, meaning = [], f"Mean {labels.decision}", ""
    decided = outcome.table["decision"]
    finite = decided.filter(decided.is_finite())
    if finite.len():
        if "ignoring" in outcome.table.columns:
            other = outcome.table["ignoring"]
            plainly = float(other.filter(other.is_finite()).mean() or 0.0)  # type: ignore[arg-type]
            meaning = f"{number(plainly, 4)} {labels.ignoring}"
        mean = float(finite.mean() or 0.0)  # type: ignore[arg-type]
        shown.append((name, number(mean, 4), meaning))
        if labels.added_up:
            shown.append(("In all", f"{float(finite.sum()):,.0f}", f"{decided.len():,} rows"))
    else:
        shown.append((name, "never", "no planned replacement pays"))
    found, at_stake, problem = outcome.diagnosis, outcome.stake, outcome.plan.problem
    if found is not None and found.share_censored is not None:
        share, said = hidden_rows(found, problem, outcome.assumed)
        shown.append((f"Rows that hide {labels.truth}", share, said))
    if found is not None and found.identified is not None:
        value = f"{SYMBOLS[found.identified]} {found.identified}"
        shown.append(("Can the data tell?", value, sure(found)))
    if at_stake is not None:
        total, low, high = (each * outcome.table.height for each in at_stake)
        meaning = "what ignoring it costs, all rows"
        if low != high:
            meaning += f"; {number(low)} to {number(high)} possible"
        shown.append(("Money at stake", number(total), meaning))
    return shown


def _hindsight(outcome: Outcome) -> str:
    """Say what the decisions would have cost, where the truth is known."""
    found = outcome.hindsight
    assert found is not None
    plan, start = found["plan"], f"On the truth of {found.n_rows:,} rows"
    if isinstance(outcome.plan.cost, Revenue):
        return f"{start} these prices earn {number(-plan.cost)} per row."
    sentence = f"{start} these decisions cost {number(plan.cost)} per row"
    if plan.saving is None:
        return f"{sentence}."
    way = "less" if plan.saving >= 0 else "more"
    return (
        f"{sentence}, {number(found['ieo'].cost)} if observations are taken for the truth: "
        f"{percent(abs(plan.saving))} {way}."
    )


def _decisions(outcome: Outcome, labels: Labels, about: str) -> None:
    st.subheader(capital(labels.decisions), anchor=False)
    st.caption(plain(f"Decided on: {about}."))
    shown = outcome.table.filter(outcome.table["decision"].is_finite())
    if not shown.height:
        st.markdown("No planned replacement pays: replace at failure.")
        return
    drawn, period = decisions_chart(shown, labels)
    chart(drawn, decisions_finding(shown, labels, period))


def _rates(outcome: Outcome, labels: Labels) -> None:
    found = outcome.diagnosis
    st.subheader(f"Another {labels.rate}", anchor=False)
    if outcome.plan.problem == "replacement" or found is None or found.profile is None:
        known = found is not None and found.share_is_seen
        why = "the data say it of every row" if known else "no rate can be assumed"
        st.markdown(f"There is nothing to vary here: {why}.")
        return
    with st.spinner("Trying other rates …"):
        curve = possible_rates(found)
    assert curve is not None
    decision, fit, _ = rate_charts(found, labels, outcome.assumed)
    chart(decision, sensitivity_finding(found, curve, labels))
    chart(fit)


def _quantiles(outcome: Outcome, labels: Labels) -> None:
    found = outcome.diagnosis
    st.subheader("What is hidden", anchor=False)
    if found is None or found.quantiles is None:
        st.markdown("There is no plot of it here.")
        return
    chart(quantile_chart(found, labels), quantiles_finding(found.quantiles, labels))


def _unknown(outcome: Outcome, labels: Labels) -> None:
    found = outcome.diagnosis
    st.subheader("What the data cannot tell", anchor=False)
    said: list[str] = []
    if found is None or found.identified is None:
        st.markdown("How surely was not evaluated.")
    else:
        st.markdown(f"**Can the data tell? {found.identified}**; {plain(sure(found))}")
        problem = outcome.plan.problem
        if outcome.assumed is None:
            said += [hidden_rows(found, problem)[1], followed(found, problem)]
        else:
            said += [f"Without an assumed rate: {hidden_rows(found, problem)[1]}"]
        said = [each for each in (*said, if_wrong(found, labels.decision)) if each]
    statistics = () if found is None else found.notes
    listed(each for each in (*said, *outcome.plan.notes_, *outcome.notes) if each not in statistics)
    if statistics:
        with st.expander("Statistics"):
            listed(statistics)
    if found is None or found.identified != "yes":
        st.markdown("**What would help**")
        listed(labels.helps)


def _table(table: polars.DataFrame, labels: Labels) -> None:
    st.subheader("Row by row", anchor=False)
    shown = table.head(_ROWS)
    config: dict[str, Any] = {}
    for name, label in (("ignoring", labels.ignoring), ("decision", labels.decision)):
        if name in shown.columns:
            config[name] = st.column_config.NumberColumn(label, format="localized")
    for name, kind in shown.schema.items():
        if kind.is_temporal():
            config[name] = st.column_config.DateColumn(format="YYYY-MM-DD")
    st.dataframe(shown, column_config=config, height=320, key="decisions")
    if shown.height < table.height:
        st.caption(f"The first {shown.height:,} of {table.height:,} rows; the file has all.")


if __name__ == "__main__":
    main()
