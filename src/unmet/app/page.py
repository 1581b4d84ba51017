"""The what-if page; streamlit runs this file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import streamlit as st

from unmet.app.controls import Choice, choose
from unmet.app.outcome import Assumed
from unmet.app.results import show
from unmet.app.sliders import move
from unmet.app.whatif import MOST_ROWS, WhatIf
from unmet.app.wording import plain
from unmet.errors import UnmetError
from unmet.planning import Plan

if TYPE_CHECKING:
    import polars

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
