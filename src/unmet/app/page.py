"""The what-if page; streamlit runs this file.

The page shows text from files in a way that cannot become markup.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app.controls import (
    STYLE,
    PageChoice,
    Waiting,
    answer,
    bring,
    chart,
    choose,
    key_figures,
    listed,
    move,
    plain,
    shared,
    show_earlier,
    show_table,
    take_away,
    without_parameters,
)
from unmet.app.orders import show_orders
from unmet.app.whatif import WhatIf
from unmet.censoring.plots import possible_rates, quantile_chart, rate_charts
from unmet.censoring.text import Labels, capital, followed, hidden_rows, if_wrong, labels_for, sure
from unmet.errors import UnmetError
from unmet.planning.plan_options import command_of, plan_from_options
from unmet.report import render
from unmet.report.page import decision_cards, method_costs
from unmet.report.sentences import decisions_finding, quantiles_finding, sensitivity_finding
from unmet.report.tables import decisions_chart
from unmet.tables.reading import table_bytes

if TYPE_CHECKING:
    from unmet.progress import Step


def main() -> None:
    """Show the page; whatever goes wrong is one sentence, and the page stays."""
    st.set_page_config("What if? – unmet", "◐", layout="wide")
    st.html(STYLE)
    try:
        source = bring()
        if source.history:
            show_orders(source)
        else:
            st.title("What if?", anchor=False)
            st.caption(
                "See how costs and the sell-out rate change the decisions. Move a slider to begin."
            )
            with st.sidebar:
                choice = choose(source)
            _answer(choice)
    except Waiting:
        show_earlier()
    except UnmetError as error:
        st.error(plain(without_parameters(str(error))), icon="⚠️")
        st.markdown("Choose another file or other columns at the side.")
        show_earlier()
    except Exception:
        logging.getLogger("unmet").exception("The what-if page has a bug.")
        st.error("This is a bug in unmet; the terminal shows where.", icon="⚠️")


def _answer(choice: PageChoice) -> None:
    """Learn, let the user move what can be moved, and show what follows."""
    # costs to learn with are always the same ones, unless rows give one of them
    costs: dict[str, Any] = {name: start for name, (_, start) in choice.costs.items()}
    moved = None
    if any(choice.labels.get(f"{name}_column") for name in ("underage", "overage")):
        moved = move(choice, rates=choice.labels.get("accepted_column") is None)
        costs = {name: moved[0][name] for name in costs}
    plan = plan_from_options(**choice.labels, **costs)
    # of the content as it was read: another decimal sign makes another table of the same file
    content = f"{choice.key} {dict(choice.table.schema)} {choice.table.hash_rows().sum()}"

    def learn(tell: Step) -> WhatIf:
        tell(1, 2, "estimating how much is hidden")
        return WhatIf(plan, choice.table)

    read = f"{choice.table.height:,} rows of {choice.names[0]}."
    what_if = shared(f"rows {content} {plan.get_params()}", learn, lambda: listed([read]))
    assumed, lots = moved or move(choice, rates=what_if.takes_rates)
    data = what_if.outcome(assumed, choice.coming, truth=choice.truth, **lots)
    data["command"] = command_of(data["plan"], *choice.names, **lots)
    answer(choice.names[0], lambda: _show(data, choice.about))


def _show(data: dict[str, Any], about: str) -> None:
    """Show key figures, charts, the table, what is not known, and what can be taken away."""
    labels, decided = labels_for(data["problem"]), data["decisions"]
    # one column less, so that names fit; what else there is to say stands below
    key_figures(card[:3] for card in decision_cards(data) if card[0] != "rows decided")
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(capital(labels.decisions), anchor=False)
        st.caption(plain(f"Rows: {about}."))
        finite = decided.filter(decided["decision"].is_finite())
        if finite.height:
            drawn, period = decisions_chart(finite, labels)
            chart(drawn, decisions_finding(finite, labels, period))
        else:
            st.markdown("Replace at failure: planned replacement costs more.")
    with right:
        rate_place = st.container()
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Hidden values", anchor=False)
        found = data["diagnosis"]
        if found is None or found.quantiles is None:
            st.markdown("There is no plot of hidden values for this model.")
        else:
            chart(quantile_chart(found, labels), quantiles_finding(found.quantiles, labels))
    with right:
        _unknown(data, labels)
    if data["comparison"] is not None:
        st.subheader("Cost on the true values", anchor=False)
        chart(*method_costs(data))
    st.subheader("All rows", anchor=False)
    columns: dict[str, Any] = {
        name: st.column_config.NumberColumn(label, format="localized")
        for name, label in (("ignoring", labels.ignoring), ("decision", labels.decision))
    }
    for name, kind in decided.schema.items():
        if kind.is_temporal():
            columns[name] = st.column_config.DateColumn(format="YYYY-MM-DD")
    show_table(decided, "decisions", columns, 320)
    take_away(lambda: table_bytes(decided, ".csv"), lambda: render(data), data["command"])
    with rate_place:  # last, because its curve takes longest the first time
        _rates(data, labels)


def _rates(data: dict[str, Any], labels: Labels) -> None:
    found = data["diagnosis"]
    st.subheader(f"Other values of the {labels.rate}", anchor=False)
    if data["problem"] == "replacement" or found is None or found.profile is None:
        known = found is not None and found.share_is_seen
        why = "the data have it for every row" if known else "the model has none"
        st.markdown(f"The rate cannot be varied: {why}.")
        return
    with st.spinner("computing other rates …"):
        curve = possible_rates(found)
    assert curve is not None
    decision, fit, _ = rate_charts(found, labels, data["assumed"])
    chart(decision, sensitivity_finding(found, curve, labels))
    chart(fit)


def _unknown(data: dict[str, Any], labels: Labels) -> None:
    found, problem = data["diagnosis"], data["problem"]
    st.subheader("What the data cannot tell", anchor=False)
    said: list[str] = []
    if found is None or found.identified is None:
        st.markdown("This was not evaluated.")
    else:
        st.markdown(f"**Can the data tell? {found.identified}**. {capital(plain(sure(found)))}")
        if data["assumed"] is None:
            said += [hidden_rows(found, problem)[1], followed(found, problem)]
        else:
            said += [f"Without an assumption: {hidden_rows(found, problem)[1]}"]
        said = [each for each in (*said, if_wrong(found, problem)) if each]
    statistics = () if found is None else found.notes
    listed(each for each in (*said, *data["notes"]) if each not in statistics)
    if statistics:
        with st.expander("Statistics"):
            listed(statistics)
    if found is None or found.identified != "yes":
        st.markdown("**What would help**")
        listed(labels.helps)


if __name__ == "__main__":
    main()
