"""What the paper lacks: costs against the true optimum, and the share of the gap closed."""

from __future__ import annotations

from unmet.paper.figures.group import Group, Panel, describe
from unmet.paper.figures.lines import Label, Line, draw_lines, limits
from unmet.paper.figures.style import STYLES
from unmet.paper.measures import optimum_cost, share_closed
from unmet.paper.methods import IGNORING, INSENSITIVE, Family
from unmet.paper.results import Results

_NAMES: dict[Family, str] = {
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
    for family in _NAMES:
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
            f"{title}, {_NAMES[family]}, by α: {describe(levels, each, '.2f')}",
            draw_lines(
                f"{_NAMES[family]}: cost against the true optimum",
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
        for family in _NAMES
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
            f"{_NAMES[family]}: share of the gap closed",
            levels,
            each,
            "share closed",
            ends,
            percent=True,
            labels=names,
        )
        for label in names:
            figure.axes[0].axhline(label.height, color=label.color, linewidth=1.0, zorder=1)
        alt = f"{title}, {_NAMES[family]}, by α: {describe(levels, each, '.0%')}"
        panels.append(Panel(f"gapClosed-{family.lower()}", alt, figure))
    caption = (
        "0%: as bad as taking sales for demand; 100%: as good as knowing the distribution. No "
        "point where the gap is below 1% of the cost of Q*. Flags and truth are told more than a "
        "planner knows."
    )
    return Group("gapClosed", title, caption, tuple(panels))
