"""A diagnosis in plots: what is drawn is described here once, as `Chart`s.

Anything can render a chart. Here matplotlib does (`draw`, for ``Diagnosis.plot``), in
`unmet.report.drawing` our own SVG, for reports, in `unmet.app.figures` plotly, for the page; each
has a table of styles and adds nothing of its own.
Lines differ by dashes and markers, areas by hatching, so that they can be told apart without
colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unmet.arrays import Array
from unmet.censoring import constants as tuned
from unmet.censoring.model import Curve, Diagnosis, QuantilePlot, Sensitivity
from unmet.censoring.text import headline, interval, percent
from unmet.errors import MissingPackage, Unsupported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Role: TypeAlias = Literal[
    "truth", "fitted", "seen", "sold out", "decision", "likelihood", "cost", "order"
]


@dataclass(frozen=True)
class ChartLabels:
    """What the reader calls things."""

    truth: str = "truth"
    observations: str = "observations"
    decision: str = "decision"
    rate: str = "sell-out rate"
    rate_means: str = "share of rows censored"


# --- What is drawn.


@dataclass(frozen=True)
class Line:
    """One line or row of markers; `role` decides on its style.

    Attributes
    ----------
    label : str
    x, y : sequence of float
        A stepped line has one place more than values: each value holds between two places.
    role : Role
    places : sequence of str
        What a reader is told of each place, such as its date; empty where the number says it.
    stepped : bool
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    role: Role
    places: Sequence[str] = ()
    stepped: bool = False


@dataclass(frozen=True)
class Chart:
    """One panel.

    Attributes
    ----------
    title, across, upward : str
        Title and names of the axes; units stand in parentheses.
    lines : tuple of Line
    ticks : dict of float to str
        Labels of the axis across; empty where that is in per cent.
    logarithmic, from_zero : bool
        Whether the upward axis is logarithmic; whether it starts at 0.
    shares : bool
        Whether the upward axis is in per cent, from 0 to 1.
    shaded : bool
        Whether the area between the first and the second line is what is hidden.
    share, assumed : tuple of float and str, or None
        Place across that is marked, and its label: what was found, and what somebody assumes.
    within : tuple of a pair of floats and str, or None
        Interval across that is marked, and its label.
    area : tuple of two Lines, or None
        Lower and upper edge of an area that is filled; the label of the first names it.
    """

    title: str
    across: str
    upward: str
    lines: tuple[Line, ...]
    ticks: Mapping[float, str] = field(default_factory=dict)
    logarithmic: bool = False
    from_zero: bool = False
    shares: bool = False
    shaded: bool = False
    share: tuple[float, str] | None = None
    assumed: tuple[float, str] | None = None
    within: tuple[tuple[float, float], str] | None = None
    area: tuple[Line, Line] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of an axis across that is in per cent."""
        return min(self.lines[0].x) - 0.02, max(self.lines[0].x) + 0.02


def quantile_chart(diagnosis: Diagnosis, words: ChartLabels, apart: float) -> Chart:
    """Describe the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `quantiles`.
    words : ChartLabels
    apart : float
        Least distance between two labels of levels, as a share of the axis.
    """
    plot = diagnosis.quantiles
    if plot is None:
        raise Unsupported(f"The diagnosis of {diagnosis.rule} has no quantiles to draw.")
    levels, place = np.array(plot.levels), np.array(plot.straight)
    distance = apart * (place[-1] - place[0])
    ticks: dict[float, str] = {}
    for level in tuned.TICK_LEVELS:
        at = float(np.interp(level, levels, place))
        inside = levels[0] <= level <= levels[-1]
        if inside and all(abs(at - other) >= distance for other in ticks):
            ticks[at] = f"{100 * level:.0f}"
    hidden, latent = hides(plot), np.array(plot.latent)
    logarithmic = False
    if min(plot.latent) > 0 and min(plot.observed) > 0:
        bend = _bend(place, latent)
        logarithmic = bend > 0.005 and _bend(place, np.log(latent)) < 0.25 * bend
    named: tuple[tuple[str, Curve, Role], ...] = (
        (f"{words.truth}, as fitted", plot.latent, "truth"),
        (f"{words.observations}, as fitted", plot.modelled, "fitted"),
        (f"{words.observations}, as seen", plot.observed, "seen"),
    )
    places = [f"{100 * level:.0f}% of cases below" for level in plot.levels]
    how = "bend away from the truth" if hidden else "follow a straight line"
    return Chart(
        title=f"Observations {how}",
        across="per cent of cases below\n(spaced so that the truth is straight)",
        upward="typical row (units of the observation)",
        lines=tuple(Line(name, plot.straight, curve, role, places) for name, curve, role in named),
        ticks=dict(sorted(ticks.items())),
        logarithmic=logarithmic,
        shaded=hidden,
    )


def hides(plot: QuantilePlot) -> bool:
    """Whether the fitted truth lies visibly above the fitted observation."""
    latent, modelled = np.array(plot.latent), np.array(plot.modelled)
    return float((latent - modelled).max()) > tuned.VISIBLE * float(np.ptp(latent))


def _bend(place: Array, curve: Array) -> float:
    """Largest distance from the chord, as a share of the range."""
    chord = np.interp(place, place[[0, -1]], curve[[0, -1]])
    return float(np.abs(curve - chord).max()) / (float(np.ptp(curve)) or 1.0)


def possible_rates(diagnosis: Diagnosis) -> Sensitivity | None:
    """Give the curves over rates, without rates below what was counted: those are impossible.

    None where the rule has no such curves; they take a fit per rate when they are first asked for.
    """
    curve, share = diagnosis.sensitivity, diagnosis.share_censored
    if curve is None or share is None or not diagnosis.share_is_seen:
        return curve
    kept = [place for place, rate in enumerate(curve.rate) if rate >= share - 1e-9]
    if not kept or len(kept) == len(curve.rate):
        return curve
    columns = curve.rate, curve.decision, curve.cost, curve.fit
    return Sensitivity(*(tuple(column[place] for place in kept) for column in columns))


def rate_charts(diagnosis: Diagnosis, words: ChartLabels) -> tuple[Chart, Chart, Chart]:
    """Describe decision, likelihood and cost against the rate that one assumes.

    The given rate is marked in all of them. The curves take a fit per rate when they
    are first asked for.
    """
    curve = possible_rates(diagnosis)
    if curve is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has no sensitivity to a rate to draw."
        )
    share, ends, counted = diagnosis.share_censored, diagnosis.interval, diagnosis.share_is_seen
    marks: dict[str, Any] = {"across": f"assumed {words.rate}\n({words.rate_means})"}
    if share is not None:
        given = diagnosis.share_given is not None
        found = "assumed" if diagnosis.identified == "no" else "estimated"
        how = "given" if given else "counted" if counted else found
        marks["share"] = share, f"{how} share: {percent(share)}"
        if ends is not None and not counted and not given:
            marks["within"] = ends, f"95% interval: {interval(ends)}"
    name = f"mean {words.decision}"
    rates, likelihood = plausibility(curve)
    return (
        Chart(
            title=f"{words.decision.capitalize()} at an assumed {words.rate}",
            upward=f"{name}\n(units of the observation)",
            lines=(Line(name, curve.rate, curve.decision, "decision"), *_least_regret(diagnosis)),
            **marks,
        ),
        Chart(
            title="How well each rate fits",
            upward="likelihood, against the best rate",
            lines=(Line("how well it fits", rates, likelihood, "likelihood"),),
            shares=True,
            **marks,
        ),
        Chart(
            title="Its cost, if the estimate is right",
            upward="mean cost per row\n(units of the cost)",
            lines=(Line("mean cost per row", curve.rate, curve.cost, "cost"),),
            from_zero=True,
            **marks,
        ),
    )


def _least_regret(diagnosis: Diagnosis) -> list[Line]:
    """Draw the decision of minimax regret beside those of each rate, where the data cannot tell."""
    told = diagnosis.ambiguity
    if told is None:
        return []
    return [Line("of minimax regret", told.rates, (told.minimax_regret.decision,) * 2, "fitted")]


def plausibility(curve: Sensitivity) -> tuple[list[float], list[float]]:
    """Likelihood of the observations at each rate as a share of the best rate's.

    Between rates the square root of the fall of the log-likelihood is taken as linear, as it is
    for a parabola; the interval of `Diagnosis` does the same.

    Parameters
    ----------
    curve : Sensitivity

    Returns
    -------
    rates, shares : list of float
    """
    rate, fall = np.array(curve.rate), np.maximum(np.array(curve.fit), 0.0)
    steps = [np.linspace(start, end, 12, endpoint=False) for start, end in pairwise(rate)]
    dense = np.concatenate([*steps, rate[-1:]])
    root = np.interp(dense, rate, np.sqrt(fall))
    return dense.tolist(), np.exp(-(root**2)).tolist()


# --- Drawn by matplotlib, which is an extra.

# Okabe and Ito's colours, told apart with any kind of colour vision.
_BLUE, _VERMILION, _GREEN, _ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
_BLACK, _PALE = "#000000", "#E4E4E4"
_STYLES: dict[Role, dict[str, Any]] = {
    "truth": {"color": _BLUE, "lw": 2},
    "fitted": {"color": _VERMILION, "lw": 1.6, "ls": "--"},
    "seen": {"marker": "o", "ls": "", "mfc": "white", "mec": _BLACK, "mew": 0.9, "ms": 4},
    "decision": {"color": _BLUE, "marker": "o", "ms": 4},
    "cost": {"color": _GREEN, "marker": "s", "ls": "--", "ms": 4},
}
_AREA: dict[str, Any] = {"fc": _ORANGE, "ec": _ORANGE, "alpha": 0.3, "hatch": "///", "lw": 0}
_WORD: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "weight": "bold",
    "bbox": {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
}
_BAR: dict[str, Any] = {"color": _BLACK, "lw": 2.5, "ms": 9, "mew": 1.5, "solid_capstyle": "butt"}
_SETTINGS: dict[Any, Any] = {
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 2.2,
    "hatch.linewidth": 0.5,
}
_NARROW = {"legend.fontsize": 8.5, "legend.handlelength": 1.6}
_HEIGHTS = (3.6, 5.2)  # inches of the quantiles and of the two curves, where they are stacked


def draw(diagnosis: Diagnosis, *, narrow: bool = False) -> Figure:
    """Draw what the data say about censoring.

    On one side observed against latent quantiles, straight until censoring bends them; on the
    other decision and cost against an assumed sell-out rate, which takes a fit per rate when it
    is first asked for.

    Parameters
    ----------
    diagnosis : Diagnosis
    narrow : bool, default=False
        Stack the panels, for a phone or a column of text.

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot: save it with ``figure.savefig``.
    """
    heading = headline(diagnosis)
    if diagnosis.quantiles is None and diagnosis.profile is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has nothing to draw: it has neither quantiles nor "
            "sensitivity to a sell-out rate."
        )
    # not pyplot: no global state, and no window on a machine without a screen
    matplotlib = MissingPackage.or_load("Drawing a diagnosis", "matplotlib", "report")
    new_figure = MissingPackage.or_load("Drawing a diagnosis", "matplotlib.figure", "report").Figure
    words, stacks = ChartLabels(), []
    if diagnosis.quantiles is None:
        heading += ". There are no quantiles to draw."
    else:
        stacks.append([quantile_chart(diagnosis, words, tuned.LABELS_APART[narrow])])
    if diagnosis.sensitivity is None:
        heading += ". There is no sensitivity to a sell-out rate to draw."
    else:
        decision, _, cost = rate_charts(diagnosis, words)
        stacks.append([decision, cost])
    heights = [_HEIGHTS[len(charts) - 1] for charts in stacks]
    wide = not narrow and len(stacks) == 2
    size = (10.2, 5.4) if wide else (4.3 if narrow else 5.6, sum(heights) + 0.8)
    with matplotlib.rc_context(_SETTINGS | _NARROW if narrow else _SETTINGS):
        figure: Figure = new_figure(figsize=size, layout="constrained")
        text = fill(heading, round(9.5 * size[0]))
        figure.suptitle(text, fontsize=11, weight="bold", x=0.01, ha="left")
        rows, columns = (1, 2) if wide else (len(stacks), 1)
        ratios = None if wide else heights
        panels = figure.subfigures(rows, columns, height_ratios=ratios, wspace=0.04, squeeze=False)
        for panel, charts in zip(panels.flat, stacks, strict=True):
            _draw_stack(panel, charts)
    return figure


def _draw_stack(panel: SubFigure, charts: Sequence[Chart]) -> None:
    """Draw charts below each other, and one legend: each entry once, lines before marks."""
    stack = panel.subplots(len(charts), 1, sharex=True, squeeze=False)[:, 0]
    for axes, chart in zip(stack, charts, strict=True):
        draw_chart(axes, chart)
    for axes in stack[:-1]:
        axes.set_xlabel("")
    shown = [list(zip(*axes.get_legend_handles_labels(), strict=True)) for axes in stack]
    entries = {label: handle for each in shown for handle, label in each[:1]}
    entries |= {label: handle for each in shown for handle, label in each[1:]}
    panel.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=2)


def draw_chart(axes: Axes, chart: Chart) -> None:
    """Draw one chart."""
    for line in chart.lines:
        axes.plot(line.x, line.y, label=line.label, **_STYLES[line.role])
    if chart.logarithmic:
        axes.set_yscale("log", subs=())
        axes.locator_params(axis="y", subs=(1.0, 2.0, 3.0, 5.0))
    # numbers in full: a common factor would stand where the title is
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_title(chart.title)
    axes.set_xlabel(chart.across)
    axes.set_ylabel(chart.upward)
    if chart.shaded:
        _shade(axes, *chart.lines[:2])
    if chart.ticks:
        axes.set_xticks(list(chart.ticks), list(chart.ticks.values()))
        return
    axes.set_xlim(*chart.ends)
    axes.margins(y=0.12)
    axes.xaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.0f}%")
    if chart.share is not None:
        place, label = chart.share
        axes.axvline(place, color=_BLACK, lw=1.2, ls="-.", label=label)
    if chart.within is not None:
        (low, high), label = chart.within
        transform = axes.get_xaxis_transform()
        axes.plot((low, high), (0.04, 0.04), "-|", transform=transform, label=label, **_BAR)
        # grey what the data rule out
        rates, (left, right), label = chart.lines[0].x, chart.ends, "ruled out (95%)"
        for start, stop, outside in ((left, low, low > rates[0]), (high, right, high < rates[-1])):
            if outside:
                axes.axvspan(start, stop, facecolor=_PALE, edgecolor="none", zorder=0, label=label)
                label = "_nolegend_"
    if chart.from_zero:
        axes.set_ylim(bottom=min(0.0, *chart.lines[0].y))


def _shade(axes: Axes, truth: Line, fitted: Line) -> None:
    """Shade what is hidden, and name it unless the word would touch a curve."""
    place, latent, modelled = np.array(truth.x), np.array(truth.y), np.array(fitted.y)
    above = (latent > modelled).tolist()
    axes.fill_between(place, modelled, latent, where=above, label="hidden", zorder=0, **_AREA)
    # both curves rise: the truth is nearest where the word begins, the observation where it ends
    begin = place[-1] - tuned.WORD_WIDTH * (place[-1] - place[0])
    nearest = [(begin, np.interp(begin, place, latent)), (place[-1], modelled[-1])]
    to_panel = axes.transScale + axes.transLimits
    (left, top), (right, bottom) = to_panel.transform(nearest)
    if top - bottom > tuned.WORD_HEIGHT:
        at = (0.5 * (left + right), 0.5 * (top + bottom))
        axes.annotate("hidden", at, xycoords="axes fraction", **_WORD)
