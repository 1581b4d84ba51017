"""A diagnosis in words (`describe`) and in pictures (`draw`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.arrays import Array
from unmet.bands.diagnosis import Diagnosis, QuantilePicture, Sensitivity
from unmet.bands.text import headline, interval, percent
from unmet.errors import Unsupported

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import YAxis
    from matplotlib.figure import Figure, SubFigure


# --- Colours, sizes and the way to matplotlib, which is an extra.

# Okabe and Ito's colours, told apart with any kind of colour vision. In print without colour the
# lines still differ by dashes and markers, the areas by hatching.
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
BLACK, PALE = "#000000", "#E4E4E4"

SETTINGS: dict[Any, Any] = {
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
NARROW = {"legend.fontsize": 8.5, "legend.handlelength": 1.6}


def drawing() -> tuple[type[Figure], Callable[..., AbstractContextManager[None]]]:
    """Import what draws: figures, and settings for a while; or say how to get it.

    Not pyplot: no global state, and no window on a machine without a screen.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise Unsupported(
            "Drawing a diagnosis needs matplotlib, which is not installed: "
            "pip install 'unmet[report]'."
        ) from None
    return Figure, rc_context


def plain_numbers(axis: YAxis) -> None:
    """Print numbers in full: a common factor would stand where the title is."""
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")


# --- Observed against latent quantiles: straight until censoring bends them.

# In the order in which they claim their place on the axis.
_TICKS = (0.5, 0.05, 0.95, 0.25, 0.75, 0.9, 0.1, 0.99, 0.01)
_VISIBLE = 0.01  # a gap below this share of the range is no gap
_WORD = (0.25, 0.14)  # share of the panel's width and height that the word takes, with some air
_DOTS: dict[str, Any] = {"mfc": "white", "mec": BLACK, "mew": 0.9, "ms": 4}
_AREA: dict[str, Any] = {"fc": ORANGE, "ec": ORANGE, "alpha": 0.3, "hatch": "///", "lw": 0}
_LABEL: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "weight": "bold",
    "bbox": {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
}


def draw_quantiles(axes: Axes, picture: QuantilePicture, narrow: bool = False) -> None:
    """Draw the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    picture : QuantilePicture
    narrow : bool
        Whether it is drawn for a small screen.
    """
    place, latent = np.array(picture.straight), np.array(picture.latent)
    modelled, observed = np.array(picture.modelled), np.array(picture.observed)
    axes.plot(place, latent, color=BLUE, lw=2, label="truth, as fitted")
    axes.plot(place, modelled, color=VERMILION, lw=1.6, ls="--", label="observation, as fitted")
    axes.plot(place, observed, "o", label="observation, as seen", **_DOTS)
    if straight_in_logarithms(picture):
        axes.set_yscale("log", subs=())
        axes.locator_params(axis="y", subs=(1.0, 2.0, 3.0, 5.0))
    plain_numbers(axes.yaxis)
    hidden = hides(picture)
    if hidden:
        _shade(axes, place, modelled, latent)
    _level_axis(axes, picture, narrow)
    axes.set_ylabel("typical row (units of the observation)")
    how = "bend away from the truth" if hidden else "follow a straight line"
    axes.set_title(f"Observations {how}")


def _shade(axes: Axes, place: Array, modelled: Array, latent: Array) -> None:
    """Shade what is hidden, and name it unless the word would touch a curve."""
    above = (latent > modelled).tolist()
    axes.fill_between(place, modelled, latent, where=above, label="hidden", zorder=0, **_AREA)
    # both curves rise: the truth is nearest where the word begins, the observation where it ends
    begin = place[-1] - _WORD[0] * (place[-1] - place[0])
    nearest = [(begin, np.interp(begin, place, latent)), (place[-1], modelled[-1])]
    to_panel = axes.transScale + axes.transLimits
    (left, top), (right, bottom) = to_panel.transform(nearest)
    if top - bottom > _WORD[1]:
        at = (0.5 * (left + right), 0.5 * (top + bottom))
        axes.annotate("hidden", at, xycoords="axes fraction", **_LABEL)


def _level_axis(axes: Axes, picture: QuantilePicture, narrow: bool) -> None:
    kept = level_ticks(picture, 0.085 if narrow else 0.07)
    axes.set_xticks(list(kept), list(kept.values()))
    axes.set_xlabel("per cent of cases below\n(spaced so that the truth is straight)")


def hides(picture: QuantilePicture) -> bool:
    """Whether the fitted truth lies visibly above the fitted observation."""
    latent, modelled = np.array(picture.latent), np.array(picture.modelled)
    return float((latent - modelled).max()) > _VISIBLE * float(np.ptp(latent))


def level_ticks(picture: QuantilePicture, apart: float) -> dict[float, str]:
    """Label levels, as many as fit; they are spaced as the family's quantiles are.

    Parameters
    ----------
    picture : QuantilePicture
    apart : float
        Least distance between two labels, as a share of the axis.

    Returns
    -------
    dict of float to str
        Place on the axis, and the level there in per cent.
    """
    levels, place = np.array(picture.levels), np.array(picture.straight)
    distance = apart * (place[-1] - place[0])
    kept: dict[float, str] = {}
    for level in _TICKS:
        at = float(np.interp(level, levels, place))
        inside = levels[0] <= level <= levels[-1]
        if inside and all(abs(at - other) >= distance for other in kept):
            kept[at] = f"{100 * level:.0f}"
    return kept


def straight_in_logarithms(picture: QuantilePicture) -> bool:
    """Whether the truth is straight on a logarithmic axis only."""
    place, latent = np.array(picture.straight), np.array(picture.latent)
    observed = np.array(picture.observed)
    if not min(latent.min(), observed.min()) > 0:
        return False
    bend = _bend(place, latent)
    return bend > 0.005 and _bend(place, np.log(latent)) < 0.25 * bend


def _bend(place: Array, curve: Array) -> float:
    """Largest distance from the chord, as a share of the range."""
    chord = np.interp(place, place[[0, -1]], curve[[0, -1]])
    return float(np.abs(curve - chord).max()) / (float(np.ptp(curve)) or 1.0)


# --- Decision and cost against the sell-out rate that one assumes.


def draw_sensitivity(upper: Axes, lower: Axes, diagnosis: Diagnosis, curve: Sensitivity) -> None:
    """Draw decisions above, their cost below, with what is known about the rate in both.

    Parameters
    ----------
    upper, lower : matplotlib.axes.Axes
        They share their horizontal axis.
    diagnosis : Diagnosis
    curve : Sensitivity
    """
    upper.plot(curve.rate, curve.decision, "-o", color=BLUE, ms=4, label="mean decision")
    lower.plot(curve.rate, curve.cost, "--s", color=GREEN, ms=4, label="mean cost per row")
    for axes in (upper, lower):
        axes.set_xlim(min(curve.rate) - 0.02, max(curve.rate) + 0.02)
        axes.margins(y=0.12)
        plain_numbers(axes.yaxis)
        _mark(axes, diagnosis, curve)
    lower.set_ylim(bottom=min(0.0, *curve.cost))
    upper.set_ylabel("mean decision\n(units of the observation)")
    lower.set_ylabel("mean cost per row\n(units of the cost)")
    lower.xaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.0f}%")
    lower.set_xlabel("assumed sell-out rate\n(share of rows censored)")
    upper.set_title("Decision at an assumed sell-out rate")
    lower.set_title("Its cost, if the estimate is right")


def _mark(axes: Axes, diagnosis: Diagnosis, curve: Sensitivity) -> None:
    """Mark the share and its interval; grey what the data rule out."""
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return
    how = "counted" if diagnosis.share_is_seen else "estimated"
    axes.axvline(share, color=BLACK, lw=1.2, ls="-.", label=f"{how} share: {percent(share)}")
    if ends is None or diagnosis.share_is_seen:
        return
    axes.plot(
        ends,
        (0.04, 0.04),
        "-|",
        transform=axes.get_xaxis_transform(),
        color=BLACK,
        lw=2.5,
        ms=9,
        mew=1.5,
        solid_capstyle="butt",
        label=f"95% interval: {interval(ends)}",
    )
    left, right = axes.get_xlim()
    spans = [(left, ends[0])] * (ends[0] > curve.rate[0])
    spans += [(ends[1], right)] * (ends[1] < curve.rate[-1])
    for place, span in enumerate(spans):
        label = "_nolegend_" if place else "ruled out (95%)"
        axes.axvspan(*span, facecolor=PALE, edgecolor="none", zorder=0, label=label)


# --- A diagnosis in words (`describe`) and in pictures (`draw`).

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
    if diagnosis.quantiles is None and diagnosis.profile is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has nothing to draw: it has neither quantiles nor "
            "sensitivity to a sell-out rate."
        )
    new_figure, settings = drawing()
    curve = diagnosis.sensitivity
    with settings(SETTINGS | NARROW if narrow else SETTINGS):
        figure, panels = _empty(new_figure, diagnosis, curve, narrow)
        if diagnosis.quantiles is not None:
            draw_quantiles(panels[0].subplots(), diagnosis.quantiles, narrow)
        if curve is not None:
            upper, lower = panels[-1].subplots(2, 1, sharex=True)
            draw_sensitivity(upper, lower, diagnosis, curve)
        for panel in panels:
            _legend(panel)
    return figure


def _empty(
    new_figure: type[Figure], diagnosis: Diagnosis, curve: Sensitivity | None, narrow: bool
) -> tuple[Figure, list[SubFigure]]:
    """Figure with its heading, and one panel for each thing to draw."""
    drawn = (diagnosis.quantiles is not None, curve is not None)
    heights = [height for height, exists in zip(_HEIGHTS, drawn, strict=True) if exists]
    wide = not narrow and all(drawn)
    if wide:
        size, rows, columns = (10.2, 5.4), 1, 2
    else:
        size, rows, columns = (4.3 if narrow else 5.6, sum(heights) + 0.8), len(heights), 1
    figure = new_figure(figsize=size, layout="constrained")
    heading = fill(_heading(diagnosis, curve), round(9.5 * size[0]))
    figure.suptitle(heading, fontsize=11, weight="bold", x=0.01, ha="left")
    ratios = None if wide else heights
    panels = figure.subfigures(rows, columns, height_ratios=ratios, wspace=0.04, squeeze=False)
    return figure, list(panels.flat)


def _heading(diagnosis: Diagnosis, curve: Sensitivity | None) -> str:
    """Say what was found, and what cannot be drawn."""
    heading = headline(diagnosis)
    if curve is None:
        return f"{heading}. There is no sensitivity to a sell-out rate to draw."
    if diagnosis.quantiles is None:
        return f"{heading}. There are no quantiles to draw."
    return heading


def _legend(panel: SubFigure) -> None:
    """One legend below a panel, each entry once, curves before marks."""
    shown = [list(zip(*axes.get_legend_handles_labels(), strict=True)) for axes in panel.axes]
    entries = {label: handle for each in shown for handle, label in each[:1]}
    entries |= {label: handle for each in shown for handle, label in each[1:]}
    panel.legend(list(entries.values()), list(entries), loc="outside lower left", ncols=2)
