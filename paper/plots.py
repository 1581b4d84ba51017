"""The figures: those of the paper, and what it lacks; needs matplotlib (``unmet[paper]``).

Not pyplot: no global state, and files only, so that a machine without a screen draws the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from paper.protocol import (
    ESTIMATING,
    IGNORING,
    INSENSITIVE,
    PAPER_FAMILIES,
    USUAL,
    Family,
    Results,
    published_hyperparameters,
)
from paper.published import BAND_BOX, SAVINGS, band
from paper.tables import caption, show
from unmet.errors import MissingPackage
from unmet.files import write_figure
from unmet.progress import report_missing

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "unmet",  # the same numbers give the same file
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
}
LEVEL_AXIS = "α = underage / (underage + overage)"

# Okabe and Ito's colours, told apart with any kind of colour vision; markers and dashes differ as
# well, for print without colour.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
ROLES: dict[str, dict[str, Any]] = {
    "EAS": {"color": GREY, "marker": "s", "linestyle": ":"},
    "IEO": {"color": ORANGE, "marker": "o"},
    "ε": {"color": BLUE, "marker": "^", "linestyle": "--"},
    "exact": {"color": "#56B4E9", "marker": "v", "linestyle": (0, (3, 1, 1, 1))},
    "latent": {"color": "#CC79A7", "marker": "P"},
    "flags": {"color": "#E69F00", "marker": "X", "linestyle": "-."},
    "truth": {"color": "#009E73", "marker": "D", "linestyle": (0, (5, 1))},
    "Q*": {"color": "#000000", "marker": "", "linestyle": "--"},
}


def new_figure(width: float, height: float, panels: int = 1) -> tuple[Any, Any]:
    """Make an empty figure with panels on one scale, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingPackage.for_extra("python -m paper reproduce", "matplotlib", "paper") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, panels, sharex=True, sharey=True)


@dataclass(frozen=True)
class PaperFigure:
    """What the paper calls a figure.

    Attributes
    ----------
    label : str
        The paper's, where it has this figure; also the name of the files. Title and notes stand in
        ``captions.md``.
    alt : str
        What it shows, in words and numbers.
    draw : callable
        Returns a matplotlib Figure.
    words : mapping
        What title and notes want to know.
    """

    label: str
    alt: str
    draw: Callable[[], Any]
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it shows."""
        return caption(f"fig-{self.label}", **self.words)[0]

    @property
    def notes(self) -> list[str]:
        """Sentences below it."""
        return caption(f"fig-{self.label}", **self.words)[1:]

    def write(self, folder: Path) -> list[Path]:
        """Write label.svg and label.png, each whole or not at all, without dates."""
        return write_plot(folder / self.label, self.draw)


def write_plot(stem: Path, draw: Callable[..., Any], *content: Any) -> list[Path]:
    """Draw and write stem.svg and stem.png, or say that they are left out without matplotlib."""
    try:
        from matplotlib import rc_context
    except ModuleNotFoundError as error:
        report_missing(error, "the figure")
        return []
    with rc_context(STYLE):
        return write_figure(draw(*content), stem, dpi=200)


# --- Lines over α, one panel per family of models, on the same scale.

#: Name, role, values at each level, and their ranges over the data sets (empty: no shade).
Line = tuple[str, str, Sequence[float | None], Sequence[tuple[float, float]]]
_NAMES: dict[Family, str] = {
    "LR": "Linear models (LR)",
    "NN": "Networks (NN)",
    "Boosted": "Boosted trees",
}

#: The figure of shares goes down to here at most; the table has what is worse.
_LOWEST_SHARE = -0.5


def draw_line(axes: Any, levels: Sequence[float], line: Line) -> None:
    """Draw one line with its name, and its range over the data sets."""
    name, role, values, ranges = line
    style = ROLES[role]
    shown = [(a, value) for a, value in zip(levels, values, strict=True) if value is not None]
    if shown:
        axes.plot(*zip(*shown, strict=True), label=name, **style)
    if ranges and len(levels) > 1:
        axes.fill_between(
            levels, *zip(*ranges, strict=True), color=style["color"], alpha=0.15, lw=0
        )


def _by_family(
    results: Results,
    label: str,
    lines: Mapping[Family, Sequence[Line]],
    ylabel: str,
    *,
    shares: bool = False,
) -> PaperFigure:
    """Draw costs or distances from zero up, or shares of the gap between IEO and Q*."""

    def draw() -> Any:
        figure, panels = new_figure(4.2 * len(lines), 4.4, panels=len(lines))
        for axes, (family, each) in zip(panels, lines.items(), strict=True):
            for line in each:
                draw_line(axes, results.levels, line)
            axes.set_title(_NAMES[family])
            axes.set_xlabel(LEVEL_AXIS)
            axes.set_xticks(results.levels, [f"{level:.2f}" for level in results.levels])
            axes.legend(fontsize=8)
            if shares:
                axes.axhline(0.0, color=ROLES["IEO"]["color"], linewidth=1)
                axes.axhline(1.0, color="black", linewidth=1)
        low = panels[0].get_ylim()[0]
        panels[0].set_ylim(bottom=max(low, _LOWEST_SHARE) if shares else 0.0)
        panels[0].set_ylabel(ylabel)
        if shares:
            panels[0].yaxis.set_major_formatter(lambda value, _: show(value, ".0%"))
        return figure

    form = ".0%" if shares else ".2f"
    words = " ".join(f"{_NAMES[f]}: {_ends(results, each, form)}" for f, each in lines.items())
    return PaperFigure(label, f"By α. {words}", draw)


def _ends(results: Results, lines: Sequence[Line], form: str) -> str:
    """Say in words where each line begins and ends."""
    parts = []
    for name, _, values, _ in lines:
        pairs = zip(results.levels, values, strict=True)
        shown = [f"{show(v, form)} at {a:g}" for a, v in pairs if v is not None]
        if shown:
            parts.append(f"{name} {' to '.join(dict.fromkeys((shown[0], shown[-1])))}")
    return "; ".join(parts) + "."


def _line(results: Results, name: str, role: str, measure: str = "cost") -> Line:
    each = [results.values(name, level, measure) for level in results.levels]
    ranges = [(min(values), max(values)) for values in each]
    return name, role, results.means(name, measure), ranges


def _three(results: Results, family: Family, measure: str) -> list[Line]:
    """EAS, IEO and the ε-insensitive method, with their range over the data sets."""
    roles = {"EAS": ESTIMATING, "IEO": IGNORING, "ε": INSENSITIVE}
    return [_line(results, of[family], role, measure) for role, of in roles.items()]


def _told(family: Family) -> dict[str, str]:
    """Names and roles of the family's methods that are told something or estimate it."""
    chosen = {INSENSITIVE[family]: "ε"} if family in INSENSITIVE else {}
    if family == "LR":
        chosen["LR-εNVC exact"] = "exact"
    return chosen | {f"{family} {role}": role for role in ("latent", "flags", "truth")}


def _savings(results: Results) -> PaperFigure:
    """Draw savings over IEO, with what the text quotes of the published figure."""
    lines: list[Line] = []
    roles: dict[Family, str] = {"LR": "ε", "NN": "IEO"}
    for family, role in roles.items():
        pair = INSENSITIVE[family], IGNORING[family]
        each = [results.savings(*pair, level) for level in results.levels]
        name = f"LR, ours, {USUAL.name}" if family == "LR" else f"{family}, ours"
        ranges = [(min(values), max(values)) for values in each]
        lines.append((name, role, results.mean_savings(family), ranges))
    other = next(each for each in results.readings if each.key == "exchanged")
    lines.append(
        (f"LR, ours, {other.name}", "exact", results.read_as(other).mean_savings("LR"), ())
    )

    def draw() -> Any:
        figure, axes = new_figure(6.2, 4.6)
        for line in lines:
            draw_line(axes, results.levels, line)
        for family, role in roles.items():
            quoted, color = SAVINGS[family], ROLES[role]["color"]
            words = f"{family}, paper, lowest {quoted.lowest:.2%}"
            axes.axhline(quoted.lowest, color=color, linestyle=":", linewidth=1, label=words)
            axes.plot(
                *(quoted.peak, quoted.highest),
                **{"linestyle": "", "marker": "*", "markersize": 15, "markerfacecolor": "none"},
                markeredgecolor=color,
                label=f"{family}, paper, highest {quoted.highest:.2%}",
            )
        axes.set_xlabel(LEVEL_AXIS)
        axes.set_ylabel("saving")
        axes.yaxis.set_major_formatter(lambda value, _: show(value, ".0%"))
        figure.legend(loc="outside lower center", ncols=3, fontsize=8.5)
        return figure

    printed = "; ".join(
        f"{family} {each.lowest:.2%} to {each.highest:.2%}, highest at {each.peak:g}"
        for family, each in SAVINGS.items()
    )
    alt = f"Savings by α: {_ends(results, lines, '.1%')} Published: {printed}."
    return PaperFigure("percentage", alt, draw)


# --- Where the search for ε ends, and the network that is trained.


def _search_ends(results: Results) -> PaperFigure:
    """Draw the whole box, and its corner."""
    marks: dict[str, tuple[list[tuple[float, float]], dict[str, Any]]] = {}
    for family, role in (("LR", "ε"), ("NN", "IEO")):
        color = ROLES[role]["color"]
        look = {"marker": ROLES[role]["marker"], "markeredgecolor": color, "linestyle": ""}
        # published ones are larger and hollow: those of this run can be seen inside them
        printed = [band(family, level)[::-1] for level in results.levels]
        hollow = {**look, "markersize": 11, "markerfacecolor": "none"}
        marks[f"{family} published ({len(printed)})"] = (printed, hollow)
        rows = [row for row in results.searches if (row.step, row.model) == (2, family)]
        found = [(row.best["high"], row.best["low"]) for row in rows]
        if found:
            marks[f"{family} ours ({len(found)})"] = (found, {**look, "markerfacecolor": color})
    highs, lows = zip(*(pair for pairs, _ in marks.values() for pair in pairs), strict=True)
    high, low = BAND_BOX["high"][1], BAND_BOX["low"][1]

    def draw() -> Any:
        figure, _ = new_figure(8.6, 4.6)
        figure.clear()
        for axes, whole in zip(figure.subplots(1, 2), (True, False), strict=True):
            for name, (pairs, look) in marks.items():
                axes.plot(*zip(*pairs, strict=True), label=name, **look)
            axes.plot([0, high, high, 0, 0], [0, 0, low, low, 0], color=GREY, linewidth=1)
            axes.set_xlabel("ε₁, share of the range of sales")
            axes.set_ylabel("ε₂, share of the range of sales")
            axes.set_title("the whole box" if whole else "the corner, enlarged")
            if whole:
                hatched = {"edgecolor": "#BBBBBB", "hatch": "////", "linewidth": 0}
                axes.fill([0, low, 0], [0, low, low], facecolor="none", **hatched)
                axes.text(0.01, 0.135, "ε₂ > ε₁: no band", backgroundcolor="white", fontsize=8.5)
                arrow = {"arrowstyle": "->"}
                axes.annotate(
                    "the cost falls\nthis way", (0.188, 0.010), (0.1, 0.07), arrowprops=arrow
                )
            else:
                axes.set_xlim(min(0.9 * high, min(highs) - 0.004), 1.005 * high)
                axes.set_ylim(-0.0005, max(0.1 * low, max(lows) + 0.003))
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=4, fontsize=8.5)
        return figure

    alt = (
        f"The search box, ε₁ from 0 to {high:g} and ε₂ from 0 to {low:g}, and its corner enlarged; "
        f"results: ε₁ from {min(highs):.4f} to {max(highs):.4f}, ε₂ from {min(lows):.4f} to "
        f"{max(lows):.4f}."
    )
    return PaperFigure("epsilonSearch", alt, draw)


def _network(results: Results) -> PaperFigure:
    """Draw the network of §CustNN with the widths of Table searchingSpace."""
    used = published_hyperparameters()["NN"]
    n_features = len(results.settings.distribution.feature_names)
    widths = [n_features, int(used["units1"]), int(used["units2"]), 1]
    heads = ("features x", f"{widths[1]} sigmoids", f"{widths[2]} sigmoids", "order ŷ, linear")

    def draw() -> Any:
        figure, axes = new_figure(6.4, 4.2)
        axes.set(xlim=(-0.5, 3.5), ylim=(0, 1.1), frame_on=False, xticks=(), yticks=())
        layers = []
        for x, width in enumerate(widths):
            # the first three nodes, the last, and the bias
            nodes = [str(k) for k in range(1, width + 1)] if width > 1 else ["ŷ"]
            nodes = [*nodes[:3], "⋮", nodes[-1]] if width > 5 else nodes
            nodes += ["+1"] if width > 1 else []
            layers.append([(x, 1 - (k + 0.5) / len(nodes), word) for k, word in enumerate(nodes)])
            axes.text(x, 1.05, heads[x], ha="center", fontsize=9)
        for one, other in pairwise(layers):
            for x, y, word in one:
                for to_x, to_y, aim in other:
                    if word != "⋮" and aim not in ("⋮", "+1"):
                        axes.plot([x, to_x], [y, to_y], color=GREY, linewidth=0.6, zorder=1)
        for x, y, word in (node for layer in layers for node in layer):
            if word != "⋮":
                face = "#EEEEEE" if word == "+1" else "white"
                axes.plot(x, y, "o", markersize=24, markerfacecolor=face, markeredgecolor="black")
            axes.text(x, y, word, ha="center", va="center", fontsize=8.5)
        return figure

    alt = (
        f"A network with {widths[0]} features, hidden layers of {widths[1]} and {widths[2]} "
        "sigmoid units with a bias each, and one linear output, the order."
    )
    return PaperFigure("SimpleNN", alt, draw)


# --- All figures, in the order of the paper.


def all_figures(results: Results) -> dict[str, PaperFigure]:
    """Describe every figure, by label; each is drawn when it is written."""
    new_figure(1, 1)  # without matplotlib one sentence, before anything is written
    best: Line = ("Q*", "Q*", [results.optimum_cost(a) for a in results.levels], ())
    gaps: dict[Family, list[Line]] = {}
    shares: dict[Family, list[Line]] = {}
    for family in _NAMES:
        told = {IGNORING[family]: "IEO", **_told(family)}
        gaps[family] = [(n, role, results.means(n), ()) for n, role in told.items()] + [best]
        shares[family] = [
            (n, role, results.shares_closed(n), ()) for n, role in _told(family).items()
        ]
    costs = {f: [*_three(results, f, "cost"), best] for f in PAPER_FAMILIES}
    away = {f: _three(results, f, "rmse_to_optimum") for f in PAPER_FAMILIES}
    figures = (
        _network(results),
        _by_family(results, "testNVcost", costs, "mean cost per product and day"),
        _savings(results),
        _by_family(results, "testRMSEQ", away, "RMSE to Q* (units)"),
        _by_family(results, "gap", gaps, "mean cost per product and day"),
        _by_family(results, "gapClosed", shares, "share closed", shares=True),
        _search_ends(results),
    )
    return {figure.label: figure for figure in figures}
