"""Colours, fonts and the way to plotly, which is an extra."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import wrap
from types import ModuleType
from typing import Any

from unmet.errors import MissingPackage

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


@dataclass(frozen=True)
class Theme:
    """Colours of Okabe and Ito, told apart with any kind of colour vision, for one background.

    On the dark one they are lighter, so that they keep a contrast of 3:1 or more.
    """

    ink: str
    quiet: str
    grid: str
    paper: str
    truth: str
    seen: str
    hidden: str
    cost: str
    other: str
    interval: str


LIGHT = Theme(
    ink="#1d2126",
    quiet="#59636e",
    grid="#dfe3e8",
    paper="#ffffff",
    truth="#0072B2",
    seen="#D55E00",
    hidden="rgba(230,159,0,0.35)",
    cost="#00805D",
    other="#8a929c",
    interval="rgba(86,180,233,0.25)",
)
DARK = Theme(
    ink="#e8eaed",
    quiet="#aab2bd",
    grid="#343b45",
    paper="#15181d",
    truth="#56B4E9",
    seen="#FF8A3D",
    hidden="rgba(230,159,0,0.35)",
    cost="#2CC79D",
    other="#8b949f",
    interval="rgba(86,180,233,0.22)",
)


def theme(dark: bool) -> Theme:
    """Colours for a background."""
    return DARK if dark else LIGHT


def drawing() -> ModuleType:
    """Import what draws, or say how to get it."""
    try:
        import plotly.graph_objects
    except ImportError:
        raise MissingPackage.for_extra("the report", "plotly", "report") from None
    objects: ModuleType = plotly.graph_objects
    return objects


def base(look: Theme, height: int, *, below: int = 96, **more: Any) -> dict[str, Any]:
    """Layout that all figures share: see-through, the page's font, the legend below.

    `below` is the room for it and for the axis, in pixels.
    """
    shared: dict[str, Any] = {
        "template": "none",
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 13, "color": look.ink},
        "margin": {"l": 56, "r": 14, "t": 26, "b": below},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "traceorder": "normal",
        },
        "hoverlabel": {
            "bgcolor": look.paper,
            "bordercolor": look.quiet,
            "font": {"family": FONT, "color": look.ink},
            "align": "left",
        },
        "hovermode": "closest",
    }
    return shared | more


def axis(look: Theme, title: str | None = None, **more: Any) -> dict[str, Any]:
    """One axis: quiet lines, numbers in full."""
    shared: dict[str, Any] = {
        "gridcolor": look.grid,
        "linecolor": look.quiet,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": look.quiet,
        "ticklen": 4,
        "tickformat": ",~r",
        "automargin": True,
        "separatethousands": True,
    }
    if title is not None:
        shared["title"] = {"text": title, "standoff": 8, "font": {"size": 13}}
    return shared | more


def plain(text: str, width: int | None = None) -> str:
    """Text that plotly shows as it is: it would read tags in it; broken into lines if wanted."""
    lines = wrap(text, width) if width else [text]
    return "<br>".join(escape(line, quote=False) for line in lines)
