"""Figures testNVcost, percentage and testRMSEQ."""

from __future__ import annotations

from typing import Any

from unmet.paper.figures.group import Group, Panel, describe
from unmet.paper.figures.lines import Label, Line, draw_lines, limits
from unmet.paper.figures.style import SETTINGS, STYLES, TEXT, Frame, drawing
from unmet.paper.measures import ESTIMATING, PAPER_FAMILIES, optimum_cost, savings
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.published import SAVINGS
from unmet.paper.results import Results
from unmet.simulate import PUBLISHED_LEVELS

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
