"""All figures, in the order of the paper; needs matplotlib (``unmet[paper]``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unmet.paper.figures import (
    SETTINGS,
    STYLES,
    TEXT,
    Frame,
    Group,
    Label,
    Line,
    Panel,
    describe,
    draw_lines,
    drawing,
    limits,
    panel,
)
from unmet.paper.published import BAND_BOX, SAVINGS, band
from unmet.paper.results import (
    ESTIMATING,
    PAPER_FAMILIES,
    Results,
    optimum_cost,
    savings,
    share_closed,
)
from unmet.paper.settings import IGNORING, INSENSITIVE, Family
from unmet.simulate import PUBLISHED_LEVELS

# --- Figures testNVcost, percentage and testRMSEQ.

_NAMES = {"LR": "Linear models (LR)", "NN": "Networks (NN)"}


def _three(results: Results, family: Family, measure: str) -> list[Line]:
    """EAS, IEO and the ε-insensitive method, with their range over the data sets."""
    lines = []
    for role, method in (
        ("EAS", ESTIMATING[family]),
        ("IEO", IGNORING[family]),
        ("ε", INSENSITIVE[family]),
    ):
        by_level = [
            [float(getattr(row, measure)) for row in results.of(method, level)]
            for level in results.settings.levels
        ]
        means = tuple(sum(each) / len(each) for each in by_level)
        lines.append(
            Line(method, role, means, tuple(map(min, by_level)), tuple(map(max, by_level)))
        )
    return lines


def cost_figure(results: Results) -> Group:
    """Fig. testNVcost, with the cost of Q* that the paper does not draw."""
    levels = results.settings.levels
    best = Line("Q*", "Q*", tuple(optimum_cost(results, level) for level in levels))
    lines = {family: [*_three(results, family, "cost"), best] for family in PAPER_FAMILIES}
    return _two_panels(
        results,
        "testNVcost",
        "Out-of-sample average newsvendor costs",
        "Mean cost of a row of the test half-year, priced on the true demand. Shaded: range over "
        "the data sets. The dashed black line, the cost of the true quantile Q*, is not in the "
        "paper's figure.",
        lines,
        "mean cost per product and day",
        "cost on the true demand",
    )


def distance_figure(results: Results) -> Group:
    """Fig. testRMSEQ."""
    lines = {family: _three(results, family, "rmse_to_optimum") for family in PAPER_FAMILIES}
    return _two_panels(
        results,
        "testRMSEQ",
        "Out-of-sample RMSE to the optimal order quantity",
        "Root mean squared distance between orders and Q*. Shaded: range over the data sets.",
        lines,
        "RMSE to Q* (units)",
        "distance to the optimum",
    )


def _two_panels(
    results: Results,
    label: str,
    title: str,
    caption: str,
    lines: dict[Family, list[Line]],
    ylabel: str,
    topic: str,
) -> Group:
    """Draw LR and NN on the same scale, so that they can be compared."""
    values = [
        value
        for each in lines.values()
        for line in each
        for value in (*line.values, *line.lows, *line.highs)
        if value is not None
    ]
    ends = (0.0, limits(values)[1])
    levels = results.settings.levels
    panels = tuple(
        Panel(
            f"{label}-{family.lower()}",
            f"{title}, {_NAMES[family]}, by α: {describe(levels, each, '.2f')}",
            draw_lines(f"{_NAMES[family]}: {topic}", levels, each, ylabel, ends),
        )
        for family, each in lines.items()
    )
    return Group(label, title, caption, panels)


def saving_figure(results: Results) -> Group:
    """Fig. percentage, with what the text quotes of the published one."""
    levels = results.settings.levels
    roles: dict[Family, str] = {"LR": "ε", "NN": "IEO"}
    lines, labels = [], []
    for family in PAPER_FAMILIES:
        each = [savings(results, INSENSITIVE[family], IGNORING[family], a) for a in levels]
        means = tuple(sum(values) / len(values) for values in each)
        spans = (tuple(map(min, each)), tuple(map(max, each)))
        lines.append(Line(f"{family}, ours", roles[family], means, *spans))
        lowest, color = SAVINGS[family].lowest, STYLES[roles[family]]["color"]
        labels.append(Label(f"{family} paper, lowest {lowest:.2%}", lowest, color))
        if SAVINGS[family].peak == PUBLISHED_LEVELS[-1]:
            labels.append(Label(_highest(family), SAVINGS[family].highest, color))
    quoted = [v for each in SAVINGS.values() for v in (each.lowest, each.highest)]
    ends = limits([*quoted, 0.0, *(v for line in lines for v in (*line.lows, *line.highs))])
    frame = Frame(width=5.6, height=4.0, right=1.78)
    title = "Saving of the ε-insensitive method over IEO"
    figure = draw_lines(
        title, levels, lines, "saving", ends, percent=True, labels=labels, frame=frame
    )
    _mark_published(figure, roles)
    ranges = "; ".join(
        f"{family} {each.lowest:.2%} to {each.highest:.2%}, highest at {each.peak:g}"
        for family, each in SAVINGS.items()
    )
    alt = f"{title}, by α: {describe(levels, lines, '.1%')} Published: {ranges}."
    caption = (
        "Mean over the data sets; shaded: their range. Stars: the highest published savings, which "
        "the text quotes with their level. Dotted: the lowest, whose level it does not name."
    )
    return Group(
        "percentage", "Mean percentage cost savings", caption, (Panel("percentage", alt, figure),)
    )


def _highest(family: Family) -> str:
    return f"{family} paper, highest {SAVINGS[family].highest:.2%}"


def _mark_published(figure: Any, roles: dict[Family, str]) -> None:
    """Draw what the text quotes; a peak at the last level has its name beside the axes."""
    _, settings = drawing()
    (axes,) = figure.axes
    star: dict[str, Any] = {"marker": "*", "markersize": 15, "markerfacecolor": "none"}
    with settings(SETTINGS):
        for family, role in roles.items():
            quoted, color = SAVINGS[family], STYLES[role]["color"]
            axes.axhline(quoted.lowest, color=color, linestyle=":", linewidth=1, zorder=1)
            place = (quoted.peak, quoted.highest)
            axes.plot(*place, linestyle="", markeredgecolor=color, markeredgewidth=1.3, **star)
            if quoted.peak != PUBLISHED_LEVELS[-1]:
                words = {"fontsize": 8.5, "color": TEXT, "ha": "right", "va": "bottom"}
                axes.annotate(_highest(family), place, (6, 9), textcoords="offset points", **words)


# --- What the paper lacks: costs against the true optimum, and the share of the gap closed.

_GAP_NAMES: dict[Family, str] = {
    "LR": "Linear models (LR)",
    "NN": "Networks (NN)",
    "Boosted": "Boosted trees",
}
#: The figure of shares goes down to here at most; what is worse is written in numbers.
_LOWEST_SHARE = -0.5


def _methods(family: Family) -> list[tuple[str, str]]:
    """Roles and names of the family's methods that are told something or estimate it."""
    chosen = [("ε", INSENSITIVE[family])] if family in INSENSITIVE else []
    if family == "LR":
        chosen.append(("exact", "LR-εNVC exact"))
    return chosen + [(role, f"{family} {role}") for role in ("latent", "flags", "truth")]


def optimum_figure(results: Results) -> Group:
    """Cost of every method, and of Q*."""
    levels = results.settings.levels
    lines: dict[Family, list[Line]] = {}
    for family in _GAP_NAMES:
        chosen = [("IEO", IGNORING[family]), *_methods(family)]
        lines[family] = [
            Line(name, role, tuple(results.mean(name, level, "cost") for level in levels))
            for role, name in chosen
        ]
        lines[family].append(Line("Q*", "Q*", tuple(optimum_cost(results, a) for a in levels)))
    top = limits([v for each in lines.values() for x in each for v in x.values if v is not None])[1]
    title = "Cost against the true optimum"
    panels = tuple(
        Panel(
            f"gap-{family.lower()}",
            f"{title}, {_GAP_NAMES[family]}, by α: {describe(levels, each, '.2f')}",
            draw_lines(
                f"{_GAP_NAMES[family]}: cost against the true optimum",
                levels,
                each,
                "mean cost per product and day",
                (0.0, top),
            ),
        )
        for family, each in lines.items()
    )
    caption = (
        "The distance to the dashed black line is what a method still pays for not knowing the "
        "demand. The paper compares with IEO only."
    )
    return Group("gap", title, caption, panels)


def share_figure(results: Results) -> Group:
    """Share of the way from IEO to Q*."""
    levels = results.settings.levels
    lines = {
        family: [
            Line(name, role, tuple(share_closed(results, name, level) for level in levels))
            for role, name in _methods(family)
        ]
        for family in _GAP_NAMES
    }
    values = [v for each in lines.values() for x in each for v in x.values if v is not None]
    low, high = limits([*values, 0.0, 1.0])
    ends = (max(low, _LOWEST_SHARE), high)
    title = "Share of the gap between IEO and Q* that is closed"
    panels = []
    for family, each in lines.items():
        names = [
            Label(IGNORING[family], 0.0, STYLES["IEO"]["color"]),
            Label("Q*", 1.0, STYLES["Q*"]["color"]),
        ]
        figure = draw_lines(
            f"{_GAP_NAMES[family]}: share of the gap closed",
            levels,
            each,
            "share closed",
            ends,
            percent=True,
            labels=names,
        )
        for label in names:
            figure.axes[0].axhline(label.height, color=label.color, linewidth=1.0, zorder=1)
        alt = f"{title}, {_GAP_NAMES[family]}, by α: {describe(levels, each, '.0%')}"
        panels.append(Panel(f"gapClosed-{family.lower()}", alt, figure))
    caption = (
        "0%: as bad as taking sales for demand; 100%: as good as knowing the distribution. No "
        "point where the gap is below 1% of the cost of Q*. Flags and truth are told more than a "
        "planner knows."
    )
    return Group("gapClosed", title, caption, tuple(panels))


# --- Where the search for ε ends: the corner of its box.

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


# --- All figures, in the order of the paper; needs matplotlib (``unmet[paper]``).


def all_figures(results: Results) -> dict[str, Group]:
    """Draw every figure, by label."""
    groups = (
        cost_figure(results),
        saving_figure(results),
        distance_figure(results),
        optimum_figure(results),
        share_figure(results),
        search_figure(results),
    )
    return {group.label: group for group in groups}
