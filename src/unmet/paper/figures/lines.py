"""A panel of lines over α, each with its name at its end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from unmet.paper.claims.claim import signed
from unmet.paper.figures.style import (
    LEVEL_AXIS,
    SETTINGS,
    STYLES,
    TEXT,
    Frame,
    drawing,
    panel,
    spread,
)
from unmet.simulate import PUBLISHED_LEVELS

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
