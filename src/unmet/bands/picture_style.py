"""Colours, sizes and the way to matplotlib, which is an extra."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from unmet.errors import Unsupported

if TYPE_CHECKING:
    from matplotlib.axis import YAxis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any kind of colour vision. In print without colour the
# lines still differ by dashes and markers, the areas by hatching.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
BLACK, PALE = "#000000", "#E4E4E4"

SETTINGS: dict[Any, Any] = {
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 2.2,
    "hatch.linewidth": 0.5,
}
NARROW = {"legend.fontsize": 8.5, "legend.handlelength": 1.6}


def drawing() -> tuple[type[Figure], Callable[..., AbstractContextManager[None]]]:
    """Import what draws: figures, and settings for a while; or say how to get it.

    Not pyplot: no global state, and no window on a machine without a screen.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise Unsupported(
            "Drawing a diagnosis needs matplotlib, which is not installed: "
            "pip install 'unmet[report]'."
        ) from None
    return Figure, rc_context


def plain_numbers(axis: YAxis) -> None:
    """Print numbers in full: a common factor would stand where the title is."""
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
