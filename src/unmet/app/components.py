"""What both ways of the page show alike: text that stays text, lists, charts, who waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from unmet.app.cache import FITS

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_Result = TypeVar("_Result")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 3rem 2.5rem 3rem; max-width: 84rem; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 3rem 1rem 2rem; }
  .st-key-figures [data-testid="stColumn"] { min-width: calc(50% - 1rem); flex: 1 1 0; }
}
</style>"""
"""Narrow margins on a phone, and two key figures beside each other."""


def plain(text: str) -> str:
    r"""Escape text for Markdown: no link, plot or tag of it comes alive.

    Examples
    --------
    >>> print(plain("![x](http://a)"))
    \!\[x\]\(http\:\/\/a\)
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def shared(key: str, doing: str, make: Callable[[], _Result]) -> _Result:
    """Give what all users of the same table share, and show who waits that and for how many.

    Parameters
    ----------
    key : str
        Says all that the result follows from.
    doing : str
        What is being done, such as "Learning from the past".
    make : callable
    """
    place = st.empty()

    def tell(before: int) -> None:
        others = {0: "", 1: ": 1 other user is before you"}
        said = others.get(before, f": {before} others are before you")
        place.info(f"{doing} …{said}", icon="⏳")

    with st.spinner(f"{doing} …"):
        found = FITS.get(key, make, tell)
    place.empty()
    return found


def listed(sentences: Iterable[str]) -> None:
    """Show sentences as a list, each of them once."""
    kept = dict.fromkeys(sentences)
    if kept:
        st.markdown("\n".join(f"- {plain(each)}" for each in kept))


def chart(figure: Figure, finding: str, key: str) -> None:
    """Show a figure, and in labels what it shows."""
    st.plotly_chart(figure, theme=None, key=key, alt=finding, config={"displayModeBar": False})
    st.caption(plain(finding))


def key_figures(shown: Iterable[tuple[str, str, str]]) -> None:
    """Show the numbers that stand at the top: name, value and what it means."""
    kept = list(shown)
    with st.container(key="figures"):
        for place, (name, value, meaning) in zip(st.columns(len(kept)), kept, strict=True):
            with place, st.container(border=True, height="stretch"):
                st.metric(name, value)
                st.caption(plain(meaning) or "&nbsp;")


def offer(
    label: str, make: Callable[[], str | bytes], name: str, mime: str = "text/csv", **look: Any
) -> None:
    """Offer a file that is made when somebody asks for it."""
    st.download_button(label, make, file_name=name, mime=mime, on_click="ignore", key=name, **look)
