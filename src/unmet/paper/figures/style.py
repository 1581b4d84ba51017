"""How the figures look, and the way to matplotlib, which is an extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmet.errors import MissingPackage
from unmet.files import write_figure

# Okabe and Ito's colours, told apart with any kind of colour vision; dashes and markers differ as
# well, for print without colour. Text is never coloured: some of the colours are too light for it.
STYLES: dict[str, dict[str, Any]] = {
    "EAS": {"color": "#777777", "marker": "s", "linestyle": ":", "zorder": 2.1},
    "IEO": {"color": "#D55E00", "marker": "o", "linestyle": "-", "zorder": 2.5},
    "ε": {"color": "#0072B2", "marker": "^", "linestyle": "--", "zorder": 2.6},
    "exact": {"color": "#56B4E9", "marker": "v", "linestyle": (0, (3, 1, 1, 1)), "zorder": 2.5},
    "latent": {"color": "#CC79A7", "marker": "P", "linestyle": "-", "zorder": 2.9},
    "flags": {"color": "#E69F00", "marker": "X", "linestyle": "-.", "zorder": 2.7},
    "truth": {"color": "#009E73", "marker": "D", "linestyle": (0, (5, 1)), "zorder": 2.4},
    "Q*": {"color": "#000000", "marker": "", "linestyle": "--", "zorder": 2.8},
}
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.5,
}
LEVEL_AXIS = "α = underage / (underage + overage)"
TEXT = "#222222"


@dataclass(frozen=True)
class Frame:
    """Size of a panel in inches, and where its axes stand in it.

    Fixed by hand and not by a layout engine: places of labels can then be computed.
    """

    width: float = 5.1
    height: float = 3.7
    left: float = 0.78
    right: float = 1.22
    bottom: float = 0.62
    top: float = 0.42

    @property
    def points(self) -> float:
        """Height of the axes in points."""
        return 72 * (self.height - self.bottom - self.top)

    def place(self) -> tuple[float, float, float, float]:
        """Give left, bottom, width, height of the axes as shares of the panel."""
        return (
            self.left / self.width,
            self.bottom / self.height,
            (self.width - self.left - self.right) / self.width,
            (self.height - self.bottom - self.top) / self.height,
        )


def drawing() -> tuple[type[Any], Callable[..., AbstractContextManager[None]]]:
    """Import what draws: figures, and settings for a while; or say how to get it.

    Not pyplot: no global state, and no window on a machine without a screen.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage.for_extra("unmet reproduce", "matplotlib", "paper") from None
    return Figure, rc_context


def panel(frame: Frame, title: str) -> tuple[Any, Any]:
    """Make an empty figure and its axes."""
    figure_class, _ = drawing()
    figure = figure_class(figsize=(frame.width, frame.height))
    axes = figure.add_axes(frame.place())
    # from the edge of the panel, not of the axes: long titles fit
    figure.text(0.02, 1 - 0.08 / frame.height, title, va="top", fontsize=10.5, color=TEXT)
    return figure, axes


def spread(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart until neighbours are ``gap`` away, as little as that needs.

    Parameters
    ----------
    heights : sequence of float
        Where the labels would like to stand.
    gap : float
        Smallest distance.
    low, high : float
        Ends to keep to, as far as there is room.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], gap=2.0, low=0.0, high=10.0)
    [0.0, 2.0, 5.0]
    """
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    groups: list[tuple[float, list[int]]] = []  # middle of a run of touching labels, its members
    for place in order:
        middle, members = heights[place], [place]
        while groups and middle - groups[-1][0] < gap * (len(members) + len(groups[-1][1])) / 2:
            other, earlier = groups.pop()
            total = len(earlier) + len(members)
            middle = (other * len(earlier) + middle * len(members)) / total
            members = earlier + members
        groups.append((middle, members))
    placed = [0.0] * len(heights)
    for middle, members in groups:
        for rank, place in enumerate(members):
            placed[place] = middle + gap * (rank - (len(members) - 1) / 2)
    return _within(placed, order, gap, low, high)


def _within(
    placed: list[float], order: list[int], gap: float, low: float, high: float
) -> list[float]:
    """Push labels back between the ends, first down from the top, then up from the bottom."""
    ceiling = high
    for place in reversed(order):
        placed[place] = min(placed[place], ceiling)
        ceiling = placed[place] - gap
    floor = low
    for place in order:
        placed[place] = max(placed[place], floor)
        floor = placed[place] + gap
    return placed


def save(figure: Any, stem: Path) -> list[Path]:
    """Write stem.svg and stem.png, each whole or not at all, without dates."""
    _, settings = drawing()
    with settings(SETTINGS):
        return write_figure(figure, stem, dpi=200)
