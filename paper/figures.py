"""The figures: those of the paper, and what it lacks; needs matplotlib (``unmet[paper]``).

A figure is one picture or several, each with a text for those who cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper.pictures import (
    GREY,
    ROLES,
    SMALL,
    TEXT,
    FigureLine,
    Label,
    PaperFigure,
    Picture,
    PictureSize,
    describe,
    draw_lines,
    drawing,
    limits,
)
from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    USUAL,
    Family,
    Results,
)
from paper.published import BAND_BOX, SAVINGS, STEP_1, band
from paper.tables import NO_SEARCH

_NAMES: dict[Family, str] = {
    "LR": "Linear models (LR)",
    "NN": "Networks (NN)",
    "Boosted": "Boosted trees",
}

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
    """Draw savings over IEO; every name stands beside the axes, where no line crosses it."""
    levels = results.levels
    lines, labels = [], []
    for family, role in _FAMILY_ROLES.items():
        each = [results.savings(INSENSITIVE[family], IGNORING[family], a) for a in levels]
        means = tuple(sum(values) / len(values) for values in each)
        spans = (tuple(map(min, each)), tuple(map(max, each)))
        name = f"LR, ours, {USUAL.name}" if family == "LR" else f"{family}, ours"
        lines.append(FigureLine(name, role, means, *spans))
        quoted, color = SAVINGS[family], ROLES[role]["color"]
        labels += [
            Label(f"{family} paper, lowest {quoted.lowest:.2%}", quoted.lowest, color),
            Label(
                f"★ {family} paper {quoted.highest:.2%}", quoted.highest, color, start=quoted.peak
            ),
        ]
    other = next(each for each in results.readings if each.key == "exchanged")
    means = tuple(results.read_as(other).mean_savings("LR"))
    lines.append(FigureLine(f"LR, ours, {other.name}", "exact", means))
    quoted_values = [v for each in SAVINGS.values() for v in (each.lowest, each.highest)]
    drawn = [v for line in lines for v in (*line.values, *line.lows, *line.highs) if v is not None]
    ends = limits([*quoted_values, 0.0, *drawn])
    size = PictureSize(width=5.7, height=4.0, right=1.88)
    title = "Saving of the ε-insensitive method over IEO"
    figure = draw_lines(
        title, levels, lines, "saving", ends, percent=True, labels=labels, size=size
    )
    _, settings = drawing()
    star: dict[str, Any] = {"marker": "*", "markersize": 15, "markerfacecolor": "none"}
    with settings(SMALL):
        for family, role in _FAMILY_ROLES.items():
            (axes,), printed, color = figure.axes, SAVINGS[family], ROLES[role]["color"]
            axes.axhline(printed.lowest, color=color, linestyle=":", linewidth=1, zorder=1)
            place = (printed.peak, printed.highest)
            axes.plot(*place, linestyle="", markeredgecolor=color, markeredgewidth=1.3, **star)
    ranges = "; ".join(
        f"{family} {each.lowest:.2%} to {each.highest:.2%}, highest at {each.peak:g}"
        for family, each in SAVINGS.items()
    )
    alt = f"{title}, by α: {describe(levels, lines, '.1%')} Published: {ranges}."
    caption = (
        "Mean over the data sets; shaded: their range. Stars: the highest published savings, which "
        "the text quotes with their level. Dotted: the lowest, whose level it does not name. "
        f"{USUAL.name}: {USUAL.meaning}; {other.name}: {other.meaning}."
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
    with settings(SMALL):
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
            words = {"fontsize": 8.5, "color": TEXT, "ha": "center"}
            blank = {"facecolor": "white", "edgecolor": "none", "pad": 2}
            axes.text(0.045, 0.115, "ε₂ > ε₁: no band", bbox=blank, **words)
            arrow = {"arrowstyle": "->", "color": TEXT}
            axes.annotate("", (0.188, 0.010), (0.125, 0.062), arrowprops=arrow)
            axes.text(0.122, 0.067, "the cost falls\nthis way", va="bottom", **words)
        for name, (pairs, look) in marks.items():
            label = f"{name} ({len(pairs)})"
            points = zip(*pairs, strict=True)
            axes.plot(*points, linestyle="", markeredgewidth=1.2, label=label, **look)
        figure.legend(loc="lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


# --- Fig. SimpleNN: the network that is trained.


def network_figure(results: Results) -> PaperFigure:
    """Draw the network of §CustNN with the widths of Table searchingSpace."""
    widths = {line.name: int(line.used) for line in STEP_1 if line.model == "NN"}
    n_features = len(results.settings.law.feature_names)
    layers = (
        ("features x", n_features, True),
        (f"{widths['units1']} sigmoids", widths["units1"], True),
        (f"{widths['units2']} sigmoids", widths["units2"], True),
        ("order ŷ, linear", 1, False),
    )
    _, settings = drawing()
    with settings(SMALL):
        figure, axes = PictureSize(width=6.4, height=4.2, left=0.2, right=0.2, bottom=0.2).begin(
            f"The network: {n_features} features, two hidden layers, one order"
        )
        axes.set_axis_off()
        axes.set_xlim(-0.35, 3.35)
        axes.set_ylim(0.0, 6.1)
        places = [
            [
                (x, 5.3 - 5.3 * (k + 0.5) / n)
                for k, n in ((k, len(shown)) for k in range(len(shown)))
            ]
            for x, shown in enumerate(_shown(count, biased) for _, count, biased in layers)
        ]
        for x, (words, count, biased) in enumerate(layers):
            shown = _shown(count, biased)
            for (left, height), text in zip(places[x], shown, strict=True):
                if x + 1 < len(layers) and text != "⋮":
                    targets = zip(places[x + 1], _shown(*layers[x + 1][1:]), strict=True)
                    for (right, other), aim in targets:
                        if aim not in ("⋮", "+1"):
                            ends = [left, right], [height, other]
                            axes.plot(*ends, color=GREY, linewidth=0.6, alpha=0.6, zorder=1)
                if text != "⋮":
                    face = "#EEEEEE" if text == "+1" else "white"
                    look = {"marker": "o", "markersize": 25, "markerfacecolor": face}
                    axes.plot(left, height, markeredgecolor=TEXT, zorder=2, **look)
                words_look = {"ha": "center", "va": "center", "fontsize": 8.5, "color": TEXT}
                axes.text(left, height, text, zorder=3, **words_look)
            axes.text(x, 5.75, words, ha="center", fontsize=9, color=TEXT)
    alt = (
        f"A network with {n_features} features, hidden layers of {widths['units1']} and "
        f"{widths['units2']} sigmoid units with a bias each, and one linear output, the order."
    )
    caption = (
        "Every unit takes a weighted sum of the layer before it, the bias +1 included (§CustNN). "
        "The paper draws no widths; these are the published ones of NN-NVC and NN-εNVC."
    )
    picture = Picture("SimpleNN", alt, figure)
    return PaperFigure("SimpleNN", "A simple neural network", caption, (picture,))


def _shown(count: int, biased: bool) -> list[str]:
    """Name the nodes of a layer that are drawn: the first three, the last, and the bias."""
    nodes = [str(k) for k in range(1, count + 1)]
    if count == 1:
        nodes = ["ŷ"]
    elif count > 5:
        nodes = [*nodes[:3], "⋮", nodes[-1]]
    return [*nodes, "+1"] if biased else nodes


# --- All figures, in the order of the paper.


def all_figures(results: Results) -> dict[str, PaperFigure]:
    """Draw every figure, by label."""
    figures = (
        network_figure(results),
        cost_figure(results),
        saving_figure(results),
        distance_figure(results),
        optimum_figure(results),
        share_figure(results),
        search_figure(results),
    )
    return {figure.label: figure for figure in figures}
