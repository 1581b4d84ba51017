"""Where the search for ε ends: the corner of its box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unmet.paper.figures.group import Group, Panel
from unmet.paper.figures.style import SETTINGS, STYLES, TEXT, Frame, drawing, panel
from unmet.paper.measures import PAPER_FAMILIES
from unmet.paper.published import BAND_BOX, band
from unmet.paper.results import Results

_FRAME = Frame(height=4.4, left=0.75, right=0.2, bottom=1.12)
_HIGH, _LOW = BAND_BOX["high"][1], BAND_BOX["low"][1]


@dataclass(frozen=True)
class _Cloud:
    """Pairs (ε₁, ε₂) that share a marker."""

    name: str
    pairs: tuple[tuple[float, float], ...]
    role: str
    ours: bool


def search_figure(results: Results) -> Group:
    """Draw the whole box, and its corner."""
    clouds = _clouds(results)
    points = [pair for cloud in clouds for pair in cloud.pairs]
    lowest, highest = min(p[0] for p in points), max(p[1] for p in points)
    corner = (min(0.9 * _HIGH, lowest - 0.004), max(0.1 * _LOW, highest + 0.003))
    spans = (
        f"ε₁ from {lowest:.4f} to {max(p[0] for p in points):.4f}, "
        f"ε₂ from {min(p[1] for p in points):.4f} to {highest:.4f}"
    )
    box_alt = f"The search box, ε₁ from 0 to {_HIGH:g} and ε₂ from 0 to {_LOW:g}; results: {spans}."
    panels = (
        Panel(
            "epsilonSearch-box",
            box_alt,
            _draw("ε search: the whole box", clouds, (0.0, _LOW), True),
        ),
        Panel(
            "epsilonSearch-corner",
            f"The same, enlarged: {spans}.",
            _draw("ε search: the corner, enlarged", clouds, corner, False),
        ),
    )
    caption = (
        "Each mark is the best ε of one α, as shares of the range of sales. The search minimises "
        "the ε-insensitive cost, which falls towards the lower right corner whatever the data."
    )
    if not results.searches:
        caption += " This run took the published values and searched nothing."
    return Group("epsilonSearch", "Where the search for ε ends", caption, panels)


def _clouds(results: Results) -> list[_Cloud]:
    levels = results.settings.levels
    clouds = []
    for family, role in zip(PAPER_FAMILIES, ("ε", "IEO"), strict=True):
        printed = tuple((band(family, a)[1], band(family, a)[0]) for a in levels)
        clouds.append(_Cloud(f"{family} published", printed, role, ours=False))
        rows = [results.search(2, family, level) for level in levels]
        found = tuple((r.best["high"], r.best["low"]) for r in rows if r is not None)
        if found:
            clouds.append(_Cloud(f"{family} ours", found, role, ours=True))
    return clouds


def _draw(title: str, clouds: Sequence[_Cloud], start: tuple[float, float], whole: bool) -> Any:
    """Draw from ``start`` = (smallest ε₁, largest ε₂) to the corner."""
    _, settings = drawing()
    with settings(SETTINGS):
        figure, axes = panel(_FRAME, title)
        left, top = start
        air = 0.03 * (_HIGH - left), 0.03 * top
        axes.set_xlim(left - air[0] * whole, _HIGH + air[0])
        axes.set_ylim(-air[1], top + air[1] * whole)
        axes.set_xlabel("ε₁, share of the range of sales")
        axes.set_ylabel("ε₂, share of the range of sales")
        axes.locator_params(nbins=5)
        edge = {"color": "#777777", "linewidth": 1.0}
        axes.plot([0, _HIGH, _HIGH, 0, 0], [0, 0, _LOW, _LOW, 0], **edge)
        if whole:
            _explain(axes)
        for cloud in clouds:
            _mark(axes, cloud)
        figure.legend(loc="lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _explain(axes: Any) -> None:
    triangle = {"facecolor": "none", "edgecolor": "#BBBBBB", "hatch": "////", "linewidth": 0}
    axes.fill([0, _LOW, 0], [0, _LOW, _LOW], **triangle)
    words = {"fontsize": 8.5, "color": TEXT}
    blank = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes.text(0.045, 0.115, "ε₂ > ε₁: no band", ha="center", bbox=blank, **words)
    axes.annotate(
        "", (0.188, 0.010), (0.125, 0.062), arrowprops={"arrowstyle": "->", "color": TEXT}
    )
    axes.text(0.122, 0.067, "the cost falls\nthis way", ha="center", va="bottom", **words)


def _mark(axes: Any, cloud: _Cloud) -> None:
    style = STYLES[cloud.role]
    # published ones are larger and hollow: those of this run can be seen inside them
    look = (
        {"markersize": 6, "markerfacecolor": style["color"]}
        if cloud.ours
        else {"markersize": 11, "markerfacecolor": "none"}
    )
    axes.plot(
        [pair[0] for pair in cloud.pairs],
        [pair[1] for pair in cloud.pairs],
        linestyle="",
        marker=style["marker"],
        markeredgecolor=style["color"],
        markeredgewidth=1.2,
        label=f"{cloud.name} ({len(cloud.pairs)})",
        **look,
    )
