"""A figure of the paper: one or more panels, each with a text for those who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmet.errors import MissingPackage
from unmet.files import write_figure
from unmet.paper.claims import signed
from unmet.simulate import PUBLISHED_LEVELS

# --- How the figures look, and the way to matplotlib, which is an extra.

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
        raise MissingPackage.for_extra("unmet paper reproduce", "matplotlib", "paper") from None
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


# --- A panel of lines over α, each with its name at its end.

_LABEL_POINTS = 11.0
_FRAME = Frame()
_FIRST, _LAST = PUBLISHED_LEVELS[0], PUBLISHED_LEVELS[-1]
_MARGIN = 0.02


@dataclass(frozen=True)
class Line:
    """One method.

    Attributes
    ----------
    name : str
        Written at the end of the line.
    role : str
        Of `STYLES`.
    values : tuple of float or None
        One per level.
    lows, highs : tuple of float
        Range over the data sets, shaded; empty for none.
    """

    name: str
    role: str
    values: tuple[float | None, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Label:
    """A name beside the axes, at the height of what it names."""

    text: str
    height: float
    color: str
    start: float = _LAST


def limits(values: Iterable[float], *, floor: float | None = None) -> tuple[float, float]:
    """Give ends of an axis with a little air; never below ``floor``."""
    known = [value for value in values if not math.isnan(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    air = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    low, high = low - air, high + air
    return (low if floor is None else max(low, floor)), high


def draw_lines(
    title: str,
    levels: Sequence[float],
    lines: Sequence[Line],
    ylabel: str,
    ends: tuple[float, float],
    *,
    percent: bool = False,
    labels: Sequence[Label] = (),
    frame: Frame = _FRAME,
) -> Any:
    """Draw a panel.

    Parameters
    ----------
    title : str
    levels : sequence of float
    lines : sequence of Line
    ylabel : str
    ends : (float, float)
        Of the vertical axis; values below are drawn on its lower end with their number.
    percent : bool
        Print shares as per cent.
    labels : sequence of Label
        More names beside the axes.
    frame : Frame

    Returns
    -------
    matplotlib Figure
    """
    _, settings = drawing()
    with settings(SETTINGS):
        figure, axes = panel(frame, title)
        axes.set_ylim(*ends)
        axes.set_xlim(_FIRST - _MARGIN, _LAST + _MARGIN)
        axes.set_xticks(PUBLISHED_LEVELS, [f"{level:.2f}" for level in PUBLISHED_LEVELS])
        axes.set_xlabel(LEVEL_AXIS)
        axes.set_ylabel(ylabel)
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        if percent:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%".replace("-", "−"))
        names = [name for line in lines if (name := _draw(axes, levels, line, ends))]
        _write_labels(axes, [*names, *labels], ends, frame)
        _write_depths(axes, levels, lines, ends[0])
    return figure


def _write_depths(axes: Any, levels: Sequence[float], lines: Sequence[Line], low: float) -> None:
    """Write what lies below the axis, above each other where several do at one level."""
    for place, level in enumerate(levels):
        deep = [(line.name, v) for line in lines if (v := line.values[place]) and v < low]
        side = -1 if level == _LAST else 1  # away from the names beside the axes
        for rank, (name, value) in enumerate(deep):
            axes.annotate(
                f"↓ {name} {signed(value, '.0%')}",
                (level, low),
                (12 * side, 3 + _LABEL_POINTS * rank),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                fontsize=8,
                color=TEXT,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5},
            )


def _draw(
    axes: Any, levels: Sequence[float], line: Line, ends: tuple[float, float]
) -> Label | None:
    style = STYLES[line.role]
    shown = [(a, value) for a, value in zip(levels, line.values, strict=True) if value is not None]
    if not shown:
        return None
    low = ends[0]
    heights = [max(value, low) for _, value in shown]
    axes.plot([a for a, _ in shown], heights, markeredgecolor="white", markeredgewidth=0.6, **style)
    if line.lows and len(levels) > 1:
        axes.fill_between(levels, line.lows, line.highs, color=style["color"], alpha=0.15, lw=0)
    return Label(line.name, heights[-1], style["color"], shown[-1][0])


def _write_labels(
    axes: Any, labels: Sequence[Label], ends: tuple[float, float], frame: Frame
) -> None:
    """Put names to the right of the axes, apart from each other, with a thread to their place."""
    low, high = ends
    unit = (high - low) / frame.points
    heights = [min(max(label.height, low), high) for label in labels]
    placed = spread(heights, _LABEL_POINTS * unit, low, high)
    for label, at, height in zip(labels, heights, placed, strict=True):
        edge = _LAST + _MARGIN
        thread = {"color": label.color, "linewidth": 0.8, "clip_on": False, "alpha": 0.6}
        axes.plot([label.start, edge, edge + 0.012], [at, at, height], **thread, zorder=1)
        axes.text(
            edge + 0.016, height, label.text, va="center", fontsize=8.5, color=TEXT, clip_on=False
        )


# --- A figure of the paper: one or more panels, each with a text for those who cannot see it.


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    slug : str
        Name of its files.
    alt : str
        What it shows, in words and numbers.
    figure : matplotlib Figure
    """

    slug: str
    alt: str
    figure: Any

    def write(self, folder: Path) -> list[Path]:
        """Write slug.svg and slug.png."""
        return save(self.figure, folder / self.slug)


@dataclass(frozen=True)
class Group:
    """What the paper calls a figure.

    Attributes
    ----------
    label : str
        The paper's, where it has this figure.
    title, caption : str
    panels : tuple of Panel
    """

    label: str
    title: str
    caption: str
    panels: tuple[Panel, ...]


def describe(levels: Sequence[float], lines: Sequence[Line], form: str) -> str:
    """Say in words where each line begins and ends."""
    parts = []
    for line in lines:
        shown = [(a, v) for a, v in zip(levels, line.values, strict=True) if v is not None]
        if not shown:
            continue
        (first, start), (last, end) = shown[0], shown[-1]
        parts.append(
            f"{line.name} {signed(start, form)} at {first:g}"
            + (f" to {signed(end, form)} at {last:g}" if last != first else "")
        )
    return "; ".join(parts) + "."
