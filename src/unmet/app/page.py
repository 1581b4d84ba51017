"""The what-if page; streamlit runs this file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app.commands import command_of
from unmet.app.controls import Choice, Moved, choose, move
from unmet.app.whatif import (
    MOST_ROWS,
    Assumed,
    KeyFigure,
    Outcome,
    WhatIf,
    hindsight_sentence,
    interval_sentence,
    key_figures,
    plain,
)
from unmet.bands.text import SURE
from unmet.errors import UnmetError
from unmet.planning import Plan
from unmet.report import figures, render
from unmet.report.words import (
    capital,
    decisions_finding,
    quantiles_finding,
    sensitivity_finding,
    words_for,
)

if TYPE_CHECKING:
    import polars
    from plotly.graph_objects import Figure


# --- What follows from where the sliders stand.

_ROWS = 5_000  # shown in the table; the file has all


def show(choice: Choice, moved: Moved, outcome: Outcome) -> None:
    """Show key figures, charts, the table, what is not known, and what can be taken away."""
    dark = st.context.theme.type == "dark"
    _key_figures(key_figures(outcome))
    sentence = hindsight_sentence(outcome)
    if sentence:
        st.markdown(f"**In hindsight.** {plain(sentence)}")
    left, right = st.columns(2, gap="large")
    with left:
        _decisions(outcome, choice, dark)
    with right:
        rate_place = st.container()
    left, right = st.columns(2, gap="large")
    with left:
        _quantiles(outcome, dark)
    with right:
        _unknown(outcome)
    _table(outcome)
    _take_away(choice, moved, outcome)
    with rate_place:  # last, because its curve takes longest the first time
        _rates(outcome, dark)


def _key_figures(shown: Sequence[KeyFigure]) -> None:
    with st.container(key="figures"):
        for place, each in zip(st.columns(len(shown)), shown, strict=True):
            with place, st.container(border=True, height="stretch"):
                st.metric(each.name, each.value)
                st.caption(plain(each.meaning) or "&nbsp;")


def _chart(figure: Figure, finding: str, key: str) -> None:
    st.plotly_chart(figure, theme=None, key=key, alt=finding, config={"displayModeBar": False})
    st.caption(plain(finding))


def _decisions(outcome: Outcome, choice: Choice, dark: bool) -> None:
    words = words_for(outcome.plan.problem)
    st.subheader(capital(words.decisions), anchor=False)
    st.caption(plain(f"Decided on: {choice.about}."))
    shown = outcome.table.filter(outcome.table["decision"].is_finite())
    if not shown.height:
        st.markdown("No planned replacement pays: replace at failure.")
        return
    figure = figures.decisions_figure(shown, problem=outcome.plan.problem, dark=dark)
    _chart(figure, decisions_finding(shown, words), "chart-decisions")


def _rates(outcome: Outcome, dark: bool) -> None:
    words, found = words_for(outcome.plan.problem), outcome.diagnosis
    st.subheader(f"Another {words.rate}", anchor=False)
    known = outcome.plan.problem == "replacement"  # of every part whether it had failed
    if known or found is None or found.profile is None:
        st.markdown("There is nothing to vary here: the data say it of every row.")
        return
    with st.spinner("Trying other rates …"):
        curve = found.sensitivity
    assert curve is not None
    figure = figures.sensitivity_figure(found, problem=outcome.plan.problem, dark=dark)
    rate = outcome.plan.sellout_rate
    if isinstance(rate, float):
        line = {"color": figures.colors(dark)["cost"], "width": 3}
        figure.add_shape(
            type="line",
            x0=rate,
            x1=rate,
            y0=0,
            y1=1,
            yref="paper",
            line=line,
            name=f"{rate:.0%} assumed",
            showlegend=True,
        )
    _chart(figure, sensitivity_finding(found, curve, words), "chart-rates")


def _quantiles(outcome: Outcome, dark: bool) -> None:
    words, found = words_for(outcome.plan.problem), outcome.diagnosis
    st.subheader("What is hidden", anchor=False)
    if found is None or found.quantiles is None:
        st.markdown("There is no picture of it here.")
        return
    figure = figures.diagnosis_figure(found, problem=outcome.plan.problem, dark=dark)
    _chart(figure, quantiles_finding(found.quantiles, words), "chart-hidden")


def _unknown(outcome: Outcome) -> None:
    words, found = words_for(outcome.plan.problem), outcome.diagnosis
    st.subheader("What the data cannot tell", anchor=False)
    said = []
    if found is None or found.identified is None:
        st.markdown("How surely was not judged.")
    else:
        st.markdown(f"**Identified: {found.identified}**; {plain(SURE[found.identified])}")
        said += [interval_sentence(outcome), *found.notes]
    _listed([*said, *outcome.plan.notes_, *outcome.notes])
    if found is None or found.identified != "yes":
        st.markdown("**What would help**")
        _listed(words.helps)


def _table(outcome: Outcome) -> None:
    words = words_for(outcome.plan.problem)
    st.subheader("Row by row", anchor=False)
    names = {"ignoring": words.ignoring, "decision": words.decision}
    shown = outcome.table.head(_ROWS)
    config: dict[str, Any] = {
        name: st.column_config.NumberColumn(label, format="localized")
        for name, label in names.items()
        if name in shown.columns
    }
    for name, kind in shown.schema.items():
        if kind.is_temporal():
            config[name] = st.column_config.DateColumn(format="YYYY-MM-DD")
    st.dataframe(shown, column_config=config, height=320, key="decisions")
    if shown.height < outcome.table.height:
        st.caption(
            f"The first {shown.height:,} of {outcome.table.height:,} rows; the file has all."
        )


def _take_away(choice: Choice, moved: Moved, outcome: Outcome) -> None:
    st.subheader("Take it away", anchor=False)
    command = command_of(outcome.plan, *choice.names, step=moved.step, lower=moved.lower)
    with st.container(horizontal=True):
        _download("Download orders.csv", outcome.table.write_csv, "orders.csv", "text/csv")
        _download(
            "Download report.html",
            lambda: render(outcome.report(command)),
            "report.html",
            "text/html",
        )
    st.caption("The same on the command line:")
    st.code(command, language="bash", wrap_lines=True)


def _download(label: str, make: Callable[[], str], name: str, mime: str) -> None:
    """Offer a file that is made when somebody asks for it."""
    st.download_button(label, make, file_name=name, mime=mime, on_click="ignore", key=name)


def _listed(sentences: Sequence[str]) -> None:
    kept = [each for each in dict.fromkeys(sentences) if each]
    if kept:
        st.markdown("\n".join(f"- {plain(each)}" for each in kept))


# --- The what-if page; streamlit runs this file.

_LEARNING = "Learning how much is hidden …"
_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 3rem 2.5rem 3rem; max-width: 84rem; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 3rem 1rem 2rem; }
  .st-key-figures [data-testid="stColumn"] { min-width: calc(50% - 1rem); flex: 1 1 0; }
}
</style>"""


def main() -> None:
    """Show the page; whatever goes wrong is one sentence, and the page stays."""
    st.set_page_config("What if? – unmet", "◐", layout="wide")
    st.html(_STYLE)
    st.title("What if?", anchor=False)
    st.caption(
        "Decisions from data that never shows the whole truth. Move a slider: orders, evidence and "
        "money follow."
    )
    try:
        with st.sidebar:
            choice = choose()
        _answer(choice)
    except UnmetError as error:
        st.error(plain(str(error)), icon="⚠️")
        st.markdown(
            "Choose another file or other columns at the side; the page goes on from there."
        )
    except Exception:
        logging.getLogger("unmet").exception("The what-if page met something unexpected.")
        st.error("Something unexpected went wrong; the terminal says what.", icon="⚠️")


def _answer(choice: Choice) -> None:
    """Learn, let the user move what can be moved, and show what follows."""
    start = Plan(**choice.words, **_costs(choice, None))
    by_row = any(choice.words.get(f"{name}_column") for name in ("underage", "overage"))
    if by_row:
        moved = move(choice, rates=choice.words.get("accepted_column") is None)
        start = Plan(**choice.words, **_costs(choice, moved.assumed))
    what_if = _learn(choice.key, repr(start), choice.all_rows, start, choice.table)
    if not by_row:
        moved = move(choice, rates=what_if.rates is not None)
    outcome = what_if.outcome(
        moved.assumed, choice.coming, step=moved.step, lower=moved.lower, truth=choice.truth
    )
    show(choice, moved, outcome)


@st.cache_resource(max_entries=4, show_spinner=_LEARNING)
def _learn(key: str, words: str, all_rows: bool, _plan: Plan, _table: polars.DataFrame) -> WhatIf:  # noqa: ARG001
    """Learn once for each file and each choice of columns."""
    return WhatIf(_plan, _table, max_rows=None if all_rows else MOST_ROWS)


def _costs(choice: Choice, assumed: Assumed | None) -> dict[str, Any]:
    """Costs to learn with: always the same ones, unless rows give one of them."""
    if choice.problem == "replacement":
        return {"planned": 1.0, "failure": 8.0}
    if choice.words.get("goal") == "revenue":
        return {}
    found = {"underage": 3.0, "overage": 1.0} if assumed is None else vars(assumed)
    return {
        name: found[name]
        for name in ("underage", "overage")
        if choice.words.get(f"{name}_column") is None
    }


if __name__ == "__main__":
    main()
