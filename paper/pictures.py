"""How pictures of this room look, lines over α, and tables on a terminal; matplotlib is an extra.

Not pyplot: no global state, and files only, so that a machine without a screen draws the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from paper.verdicts import signed
from unmet.errors import MissingPackage
from unmet.files import write_figure
from unmet.progress import report_missing
from unmet.simulate import PUBLISHED_LEVELS

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

# Okabe and Ito's colours, told apart with any kind of colour vision; markers and dashes differ as
# well, for print without colour. Text is never coloured: some of the colours are too light for it.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
SKY, PINK, YELLOW, GREEN, BLACK = "#56B4E9", "#CC79A7", "#E69F00", "#009E73", "#000000"

LEVEL_AXIS = "α = underage / (underage + overage)"


def drawing() -> tuple[type[Any], Callable[..., AbstractContextManager[None]]]:
    """Import what draws: figures, and settings for a while; or say how to get it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage.for_extra("python -m paper reproduce", "matplotlib", "paper") from None
    return Figure, rc_context


def write_picture(what: str, stem: Path, compose: Callable[..., Any], *content: Any) -> list[Path]:
    """Draw and write stem.svg and stem.png; say so and write nothing where matplotlib is missing.

    Parameters
    ----------
    what : str
        As in "the figure was left out".
    stem : Path
        In a folder that exists.
    compose : callable
        Makes a figure of `content`.
    """
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError as error:
        report_missing(error, what)
        return []
    with rc_context(STYLE):
        return write_figure(compose(*content), stem)


def terminal_table(title: str, heads: Sequence[str], *, left: int = 1, **how: Any) -> Table:
    """Begin a table for a terminal; all columns but the first `left` hold numbers.

    Parameters
    ----------
    title : str
    heads : sequence of str
    left : int
        Columns of words.
    **how
        Other options of `rich.table.Table`.
    """
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", **how)
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < left else "right")
    return table


def print_sentences(console: Console, sentences: Iterable[str], files: Sequence[Path]) -> None:
    """Print what there is to say, and where the files are."""
    for sentence in sentences:
        console.print(sentence, markup=False)
    if files:
        console.print("Written: " + ", ".join(map(str, files)), soft_wrap=True, markup=False)


# --- How the figures look.

ROLES: dict[str, dict[str, Any]] = {
    "EAS": {"color": GREY, "marker": "s", "linestyle": ":", "zorder": 2.1},
    "IEO": {"color": ORANGE, "marker": "o", "linestyle": "-", "zorder": 2.5},
    "ε": {"color": BLUE, "marker": "^", "linestyle": "--", "zorder": 2.6},
    "exact": {"color": SKY, "marker": "v", "linestyle": (0, (3, 1, 1, 1)), "zorder": 2.5},
    "latent": {"color": PINK, "marker": "P", "linestyle": "-", "zorder": 2.9},
    "flags": {"color": YELLOW, "marker": "X", "linestyle": "-.", "zorder": 2.7},
    "truth": {"color": GREEN, "marker": "D", "linestyle": (0, (5, 1)), "zorder": 2.4},
    "Q*": {"color": BLACK, "marker": "", "linestyle": "--", "zorder": 2.8},
}
SMALL: dict[Any, Any] = {
    **STYLE,
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.5,
}
TEXT = "#222222"


@dataclass(frozen=True)
class Picture:
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
        """Write slug.svg and slug.png, each whole or not at all, without dates."""
        _, settings = drawing()
        with settings(SMALL):
            return write_figure(self.figure, folder / self.slug, dpi=200)


@dataclass(frozen=True)
class PaperFigure:
    """What the paper calls a figure.

    Attributes
    ----------
    label : str
        The paper's, where it has this figure.
    title, caption : str
    pictures : tuple of Picture
    """

    label: str
    title: str
    caption: str
    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class PictureSize:
    """Size of a picture in inches, and how far its axes stand from its edges.

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

    def begin(self, title: str) -> tuple[Any, Any]:
        """Make an empty figure and its axes."""
        figure_class, _ = drawing()
        figure = figure_class(figsize=(self.width, self.height))
        place = (
            self.left / self.width,
            self.bottom / self.height,
            (self.width - self.left - self.right) / self.width,
            (self.height - self.bottom - self.top) / self.height,
        )
        axes = figure.add_axes(place)
        # from the edge of the picture, not of the axes: long titles fit
        figure.text(0.02, 1 - 0.08 / self.height, title, va="top", fontsize=10.5, color=TEXT)
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
    # back between the ends, first down from the top, then up from the bottom
    for place in reversed(order):
        placed[place] = min(placed[place], high)
        high = placed[place] - gap
    for place in order:
        placed[place] = max(placed[place], low)
        low = placed[place] + gap
    return placed


# --- A picture of lines over α, each with its name at its end.

_LABEL_POINTS = 11.0
_USUAL = PictureSize()
FIRST_LEVEL, LAST_LEVEL = PUBLISHED_LEVELS[0], PUBLISHED_LEVELS[-1]
_MARGIN = 0.02


@dataclass(frozen=True)
class FigureLine:
    """One method.

    Attributes
    ----------
    name : str
        Written at the end of the line.
    role : str
        Of `ROLES`.
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
    start: float = LAST_LEVEL


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
    lines: Sequence[FigureLine],
    ylabel: str,
    ends: tuple[float, float],
    *,
    percent: bool = False,
    labels: Sequence[Label] = (),
    size: PictureSize = _USUAL,
) -> Any:
    """Draw a picture.

    Parameters
    ----------
    title : str
    levels : sequence of float
    lines : sequence of FigureLine
    ylabel : str
    ends : (float, float)
        Of the vertical axis; values below are drawn on its lower end with their number.
    percent : bool
        Print shares as per cent.
    labels : sequence of Label
        More names beside the axes.
    size : PictureSize

    Returns
    -------
    matplotlib Figure
    """
    _, settings = drawing()
    with settings(SMALL):
        figure, axes = size.begin(title)
        axes.set_ylim(*ends)
        axes.set_xlim(FIRST_LEVEL - _MARGIN, LAST_LEVEL + _MARGIN)
        axes.set_xticks(PUBLISHED_LEVELS, [f"{level:.2f}" for level in PUBLISHED_LEVELS])
        axes.set_xlabel(LEVEL_AXIS)
        axes.set_ylabel(ylabel)
        axes.grid(axis="y", color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        if percent:
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%".replace("-", "−"))
        names = [name for line in lines if (name := _draw(axes, levels, line, ends))]
        _write_labels(axes, [*names, *labels], ends, size)
        _write_depths(axes, levels, lines, ends[0])
    return figure


def _write_depths(
    axes: Any, levels: Sequence[float], lines: Sequence[FigureLine], low: float
) -> None:
    """Write what lies below the axis, above each other where several do at one level."""
    for place, level in enumerate(levels):
        deep = [(line.name, v) for line in lines if (v := line.values[place]) and v < low]
        side = -1 if level == LAST_LEVEL else 1  # away from the names beside the axes
        for rank, (name, value) in enumerate(deep):
            axes.annotate(
                f"↓ {name} {signed(value, '.0%')}",
                (level, low),
                (22 * side, 3 + _LABEL_POINTS * rank),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                fontsize=8,
                color=TEXT,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.5},
            )


def _draw(
    axes: Any, levels: Sequence[float], line: FigureLine, ends: tuple[float, float]
) -> Label | None:
    style = ROLES[line.role]
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
    axes: Any, labels: Sequence[Label], ends: tuple[float, float], size: PictureSize
) -> None:
    """Put names to the right of the axes, apart from each other, with a thread to their place."""
    low, high = ends
    unit = (high - low) / size.points
    heights = [min(max(label.height, low), high) for label in labels]
    placed = spread(heights, _LABEL_POINTS * unit, low, high)
    for label, at, height in zip(labels, heights, placed, strict=True):
        edge = LAST_LEVEL + _MARGIN
        thread = {"color": label.color, "linewidth": 0.8, "clip_on": False, "alpha": 0.6}
        axes.plot([label.start, edge, edge + 0.012], [at, at, height], **thread, zorder=1)
        axes.text(
            edge + 0.016, height, label.text, va="center", fontsize=8.5, color=TEXT, clip_on=False
        )


def describe(levels: Sequence[float], lines: Sequence[FigureLine], form: str) -> str:
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
