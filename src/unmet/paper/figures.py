"""The figures: those of the paper, and what it lacks; needs matplotlib (``unmet[paper]``).

A figure is one picture or several, each with a text for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmet.files import write_figure
from unmet.paper.claims import signed
from unmet.paper.pictures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LEVEL_AXIS,
    ORANGE,
    PINK,
    SKY,
    STYLE,
    YELLOW,
    drawing,
)
from unmet.paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    Family,
    Results,
)
from unmet.paper.published import BAND_BOX, SAVINGS, band
from unmet.paper.tables import NO_SEARCH
from unmet.simulate import PUBLISHED_LEVELS

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
_SMALL: dict[Any, Any] = {
    **STYLE,
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.5,
}
_TEXT = "#222222"
_NAMES: dict[Family, str] = {
    "LR": "Linear models (LR)",
    "NN": "Networks (NN)",
    "Boosted": "Boosted trees",
}


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
        with settings(_SMALL):
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
        figure.text(0.02, 1 - 0.08 / self.height, title, va="top", fontsize=10.5, color=_TEXT)
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
_FIRST, _LAST = PUBLISHED_LEVELS[0], PUBLISHED_LEVELS[-1]
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
    with settings(_SMALL):
        figure, axes = size.begin(title)
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
        _write_labels(axes, [*names, *labels], ends, size)
        _write_depths(axes, levels, lines, ends[0])
    return figure


def _write_depths(
    axes: Any, levels: Sequence[float], lines: Sequence[FigureLine], low: float
) -> None:
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
                color=_TEXT,
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
        edge = _LAST + _MARGIN
        thread = {"color": label.color, "linewidth": 0.8, "clip_on": False, "alpha": 0.6}
        axes.plot([label.start, edge, edge + 0.012], [at, at, height], **thread, zorder=1)
        axes.text(
            edge + 0.016, height, label.text, va="center", fontsize=8.5, color=_TEXT, clip_on=False
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


# --- One picture per family of models, on the same scale, so that they can be compared.


def _by_family(
    results: Results,
    label: str,
    title: str,
    caption: str,
    lines: Mapping[Family, Sequence[FigureLine]],
    topic: str,
    ylabel: str,
    *,
    shares: bool = False,
) -> PaperFigure:
    """Draw costs or distances from zero up, or shares of the gap between IEO and Q*."""
    values = [
        value
        for each in lines.values()
        for line in each
        for value in (*line.values, *line.lows, *line.highs)
        if value is not None
    ]
    low, high = limits([*values, 0.0, 1.0]) if shares else limits(values)
    ends = (max(low, _LOWEST_SHARE) if shares else 0.0, high)
    pictures = []
    for family, each in lines.items():
        names = []
        if shares:
            names.append(Label(IGNORING[family], 0.0, ROLES["IEO"]["color"]))
            names.append(Label("Q*", 1.0, ROLES["Q*"]["color"]))
        figure = draw_lines(
            f"{_NAMES[family]}: {topic}",
            results.levels,
            each,
            ylabel,
            ends,
            percent=shares,
            labels=names,
        )
        for name in names:
            figure.axes[0].axhline(name.height, color=name.color, linewidth=1.0, zorder=1)
        words = describe(results.levels, each, ".0%" if shares else ".2f")
        alt = f"{title}, {_NAMES[family]}, by α: {words}"
        pictures.append(Picture(f"{label}-{family.lower()}", alt, figure))
    return PaperFigure(label, title, caption, tuple(pictures))


#: The figure of shares goes down to here at most; what is worse is written in numbers.
_LOWEST_SHARE = -0.5


def _three(results: Results, family: Family, measure: str) -> list[FigureLine]:
    """EAS, IEO and the ε-insensitive method, with their range over the data sets."""
    lines = []
    for role, method in (
        ("EAS", ESTIMATING[family]),
        ("IEO", IGNORING[family]),
        ("ε", INSENSITIVE[family]),
    ):
        by_level = [
            [float(getattr(row, measure)) for row in results.of(method, level)]
            for level in results.levels
        ]
        means = tuple(sum(each) / len(each) for each in by_level)
        lines.append(
            FigureLine(method, role, means, tuple(map(min, by_level)), tuple(map(max, by_level)))
        )
    return lines


def _optimum(results: Results) -> FigureLine:
    return FigureLine("Q*", "Q*", tuple(map(results.optimum_cost, results.levels)))


def cost_figure(results: Results) -> PaperFigure:
    """Fig. testNVcost, with the cost of Q* that the paper does not draw."""
    return _by_family(
        results,
        "testNVcost",
        "Out-of-sample average newsvendor costs",
        "Mean cost of a row of the test half-year, priced on the true demand. Shaded: range over "
        "the data sets. The dashed black line, the cost of the true quantile Q*, is not in the "
        "paper's figure.",
        {f: [*_three(results, f, "cost"), _optimum(results)] for f in PAPER_FAMILIES},
        "cost on the true demand",
        "mean cost per product and day",
    )


def distance_figure(results: Results) -> PaperFigure:
    """Fig. testRMSEQ."""
    return _by_family(
        results,
        "testRMSEQ",
        "Out-of-sample RMSE to the optimal order quantity",
        "Root mean squared distance between orders and Q*. Shaded: range over the data sets.",
        {family: _three(results, family, "rmse_to_optimum") for family in PAPER_FAMILIES},
        "distance to the optimum",
        "RMSE to Q* (units)",
    )


def _methods(family: Family) -> list[tuple[str, str]]:
    """Roles and names of the family's methods that are told something or estimate it."""
    chosen = [("ε", INSENSITIVE[family])] if family in INSENSITIVE else []
    if family == "LR":
        chosen.append(("exact", "LR-εNVC exact"))
    return chosen + [(role, f"{family} {role}") for role in ("latent", "flags", "truth")]


def optimum_figure(results: Results) -> PaperFigure:
    """Cost of every method, and of Q*: what the paper lacks."""
    lines: dict[Family, list[FigureLine]] = {}
    for family in _NAMES:
        chosen = [("IEO", IGNORING[family]), *_methods(family)]
        lines[family] = [FigureLine(n, role, tuple(results.means(n, "cost"))) for role, n in chosen]
        lines[family].append(_optimum(results))
    return _by_family(
        results,
        "gap",
        "Cost against the true optimum",
        "The distance to the dashed black line is what a method still pays for not knowing the "
        "demand. The paper compares with IEO only.",
        lines,
        "cost against the true optimum",
        "mean cost per product and day",
    )


def share_figure(results: Results) -> PaperFigure:
    """Share of the way from IEO to Q*."""
    lines = {
        family: [
            FigureLine(name, role, tuple(results.shares_closed(name)))
            for role, name in _methods(family)
        ]
        for family in _NAMES
    }
    return _by_family(
        results,
        "gapClosed",
        "Share of the gap between IEO and Q* that is closed",
        "0%: as bad as taking sales for demand; 100%: as good as knowing the distribution. No "
        "point where the gap is below 1% of the cost of Q*. Flags and truth are told more than a "
        "planner knows.",
        lines,
        "share of the gap closed",
        "share closed",
        shares=True,
    )


# --- Fig. percentage, with what the text quotes of the published one.


def saving_figure(results: Results) -> PaperFigure:
    """Draw savings over IEO; a published peak at the last level has its name beside the axes."""
    levels, last = results.levels, PUBLISHED_LEVELS[-1]
    colors = {family: ROLES[role]["color"] for family, role in _FAMILY_ROLES.items()}
    peaks = {family: f"{family} paper, highest {q.highest:.2%}" for family, q in SAVINGS.items()}
    lines, labels = [], []
    for family, role in _FAMILY_ROLES.items():
        each = [results.savings(INSENSITIVE[family], IGNORING[family], a) for a in levels]
        means = tuple(sum(values) / len(values) for values in each)
        spans = (tuple(map(min, each)), tuple(map(max, each)))
        lines.append(FigureLine(f"{family}, ours", role, means, *spans))
        lowest = SAVINGS[family].lowest
        labels.append(Label(f"{family} paper, lowest {lowest:.2%}", lowest, colors[family]))
        if SAVINGS[family].peak == last:
            labels.append(Label(peaks[family], SAVINGS[family].highest, colors[family]))
    quoted = [v for each in SAVINGS.values() for v in (each.lowest, each.highest)]
    ends = limits([*quoted, 0.0, *(v for line in lines for v in (*line.lows, *line.highs))])
    size = PictureSize(width=5.6, height=4.0, right=1.78)
    title = "Saving of the ε-insensitive method over IEO"
    figure = draw_lines(
        title, levels, lines, "saving", ends, percent=True, labels=labels, size=size
    )
    _, settings = drawing()
    star: dict[str, Any] = {"marker": "*", "markersize": 15, "markerfacecolor": "none"}
    words: dict[str, Any] = {"fontsize": 8.5, "color": _TEXT, "ha": "right", "va": "bottom"}
    with settings(_SMALL):
        for family, color in colors.items():
            (axes,), printed = figure.axes, SAVINGS[family]
            axes.axhline(printed.lowest, color=color, linestyle=":", linewidth=1, zorder=1)
            place = (printed.peak, printed.highest)
            axes.plot(*place, linestyle="", markeredgecolor=color, markeredgewidth=1.3, **star)
            if printed.peak != last:
                axes.annotate(peaks[family], place, (6, 9), textcoords="offset points", **words)
    ranges = "; ".join(
        f"{family} {each.lowest:.2%} to {each.highest:.2%}, highest at {each.peak:g}"
        for family, each in SAVINGS.items()
    )
    alt = f"{title}, by α: {describe(levels, lines, '.1%')} Published: {ranges}."
    caption = (
        "Mean over the data sets; shaded: their range. Stars: the highest published savings, which "
        "the text quotes with their level. Dotted: the lowest, whose level it does not name."
    )
    picture = Picture("percentage", alt, figure)
    return PaperFigure("percentage", "Mean percentage cost savings", caption, (picture,))


_FAMILY_ROLES: dict[Family, str] = {"LR": "ε", "NN": "IEO"}


# --- Where the search for ε ends: the corner of its box.

_SQUARE = PictureSize(height=4.4, left=0.75, right=0.2, bottom=1.12)
_HIGH, _LOW = BAND_BOX["high"][1], BAND_BOX["low"][1]

#: Pairs (ε₁, ε₂) by what they are called, and how they are drawn.
_Marks = dict[str, tuple[list[tuple[float, float]], dict[str, Any]]]


def search_figure(results: Results) -> PaperFigure:
    """Draw the whole box, and its corner."""
    marks: _Marks = {}
    for family, role in _FAMILY_ROLES.items():
        color = ROLES[role]["color"]
        look = {"marker": ROLES[role]["marker"], "markeredgecolor": color}
        # published ones are larger and hollow: those of this run can be seen inside them
        printed = [band(family, level)[::-1] for level in results.levels]
        hollow = {**look, "markersize": 11, "markerfacecolor": "none"}
        marks[f"{family} published"] = (printed, hollow)
        rows = [results.search(2, family, level) for level in results.levels]
        found = [(row.best["high"], row.best["low"]) for row in rows if row is not None]
        if found:
            full = {**look, "markersize": 6, "markerfacecolor": color}
            marks[f"{family} ours"] = (found, full)
    highs, lows = zip(*(pair for pairs, _ in marks.values() for pair in pairs), strict=True)
    corner = (min(0.9 * _HIGH, min(highs) - 0.004), max(0.1 * _LOW, max(lows) + 0.003))
    spans = (
        f"ε₁ from {min(highs):.4f} to {max(highs):.4f}, ε₂ from {min(lows):.4f} to {max(lows):.4f}"
    )
    box_alt = f"The search box, ε₁ from 0 to {_HIGH:g} and ε₂ from 0 to {_LOW:g}; results: {spans}."
    whole = _draw_box("ε search: the whole box", marks, (0.0, _LOW), whole=True)
    enlarged = _draw_box("ε search: the corner, enlarged", marks, corner, whole=False)
    pictures = (
        Picture("epsilonSearch-box", box_alt, whole),
        Picture("epsilonSearch-corner", f"The same, enlarged: {spans}.", enlarged),
    )
    caption = (
        "Each mark is the best ε of one α, as shares of the range of sales. The search minimises "
        "the ε-insensitive cost, which falls towards the lower right corner whatever the data."
    )
    if not results.searches:
        caption += f" {NO_SEARCH}"
    return PaperFigure("epsilonSearch", "Where the search for ε ends", caption, pictures)


def _draw_box(title: str, marks: _Marks, start: tuple[float, float], *, whole: bool) -> Any:
    """Draw from ``start`` = (smallest ε₁, largest ε₂) to the corner; the whole is explained."""
    _, settings = drawing()
    with settings(_SMALL):
        figure, axes = _SQUARE.begin(title)
        left, top = start
        air = 0.03 * (_HIGH - left), 0.03 * top
        axes.set_xlim(left - air[0] * whole, _HIGH + air[0])
        axes.set_ylim(-air[1], top + air[1] * whole)
        axes.set_xlabel("ε₁, share of the range of sales")
        axes.set_ylabel("ε₂, share of the range of sales")
        axes.locator_params(nbins=5)
        edge = {"color": GREY, "linewidth": 1.0}
        axes.plot([0, _HIGH, _HIGH, 0, 0], [0, 0, _LOW, _LOW, 0], **edge)
        if whole:
            hatched = {"edgecolor": "#BBBBBB", "hatch": "////", "linewidth": 0}
            axes.fill([0, _LOW, 0], [0, _LOW, _LOW], facecolor="none", **hatched)
            words = {"fontsize": 8.5, "color": _TEXT, "ha": "center"}
            blank = {"facecolor": "white", "edgecolor": "none", "pad": 2}
            axes.text(0.045, 0.115, "ε₂ > ε₁: no band", bbox=blank, **words)
            arrow = {"arrowstyle": "->", "color": _TEXT}
            axes.annotate("", (0.188, 0.010), (0.125, 0.062), arrowprops=arrow)
            axes.text(0.122, 0.067, "the cost falls\nthis way", va="bottom", **words)
        for name, (pairs, look) in marks.items():
            label = f"{name} ({len(pairs)})"
            points = zip(*pairs, strict=True)
            axes.plot(*points, linestyle="", markeredgewidth=1.2, label=label, **look)
        figure.legend(loc="lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


# --- All figures, in the order of the paper.


def all_figures(results: Results) -> dict[str, PaperFigure]:
    """Draw every figure, by label."""
    figures = (
        cost_figure(results),
        saving_figure(results),
        distance_figure(results),
        optimum_figure(results),
        share_figure(results),
        search_figure(results),
    )
    return {figure.label: figure for figure in figures}
