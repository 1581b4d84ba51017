"""Decision, fit and cost against the rate that one assumes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import Sensitivity
from unmet.bands.picture_words import interval, percent
from unmet.errors import Unsupported
from unmet.report.figure_style import Theme, axis, base, drawing, plain, theme
from unmet.report.words import Words, words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["cost_figure", "plausibility", "sensitivity_figure"]

_STEPS = 12  # between two rates
_UPPER, _LOWER = (0.6, 1.0), (0.0, 0.38)  # share of the height that each panel takes


def sensitivity_figure(
    diagnosis: Diagnosis, *, problem: str = "newsvendor", dark: bool = False
) -> Figure:
    """Draw the mean decision against an assumed rate, and below how well each rate fits.

    The curves take a fit per rate when they are first asked for.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `sensitivity`.
    problem : {"newsvendor", "pricing", "replacement"}
        Decides on the words.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    objects, look, words = drawing(), theme(dark), words_for(problem)
    curve = _curve(diagnosis)
    rates, fits = plausibility(curve)
    upper = objects.Scatter(
        x=list(curve.rate),
        y=list(curve.decision),
        mode="lines+markers",
        line={"color": look.truth, "width": 2.5},
        marker={"size": 7},
        name=f"mean {words.decision}",
        hovertemplate="if the rate is %{x:.0%}: %{y:,.4~g}<extra></extra>",
    )
    lower = objects.Scatter(
        x=rates,
        y=fits,
        yaxis="y2",
        mode="lines",
        line={"color": look.seen, "width": 2.5, "dash": "dash"},
        name="how well it fits",
        hovertemplate="a rate of %{x:.0%} makes the data %{y:.0%} as likely<extra></extra>",
    )
    layout = _shared(look, diagnosis, words, 540, ("y domain", "y2 domain"))
    layout["xaxis"]["anchor"] = "y2"
    layout["yaxis"] = axis(look, domain=list(_UPPER))
    layout["yaxis2"] = axis(look, domain=list(_LOWER), range=[-0.04, 1.08], tickformat=".0%")
    layout["annotations"] = [
        _heading(f"Mean {words.decision}", _UPPER[1]),
        _heading("Likelihood, against the best rate", _LOWER[1]),
    ]
    return objects.Figure([upper, lower], layout)


def cost_figure(diagnosis: Diagnosis, *, problem: str = "newsvendor", dark: bool = False) -> Figure:
    """Draw what decisions cost that follow an assumed rate, if the chosen explanation is true.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `sensitivity`.
    problem : {"newsvendor", "pricing", "replacement"}
        Decides on the words.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    objects, look, words = drawing(), theme(dark), words_for(problem)
    curve = _curve(diagnosis)
    line = objects.Scatter(
        x=list(curve.rate),
        y=list(curve.cost),
        mode="lines+markers",
        line={"color": look.cost, "width": 2.5, "dash": "dot"},
        marker={"size": 8, "symbol": "square"},
        name="mean cost per row",
        hovertemplate="assuming %{x:.0%}: %{y:,.4~g} per row<extra></extra>",
    )
    layout = _shared(look, diagnosis, words, 380, ("y domain",))
    layout["yaxis"] = axis(look, "mean cost per row", rangemode="tozero")
    return objects.Figure([line], layout)


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
    steps = [np.linspace(start, end, _STEPS, endpoint=False) for start, end in pairwise(rate)]
    dense = np.concatenate([*steps, rate[-1:]])
    root = np.interp(dense, rate, np.sqrt(fall))
    return dense.tolist(), np.exp(-(root**2)).tolist()


def _curve(diagnosis: Diagnosis) -> Sensitivity:
    curve = diagnosis.sensitivity
    if curve is None:
        raise Unsupported(
            f"The diagnosis of {diagnosis.rule} has no sensitivity to a rate to draw."
        )
    return curve


def _heading(text: str, top: float) -> dict[str, Any]:
    """Name a panel above its upper left corner."""
    return {
        "text": f"<b>{plain(text)}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
    }


def _shared(
    look: Theme, diagnosis: Diagnosis, words: Words, height: int, panels: tuple[str, ...]
) -> dict[str, Any]:
    """Layout with rates across, and what is known about the rate marked in all panels."""
    curve = _curve(diagnosis)
    ends = [min(curve.rate) - 0.015, max(curve.rate) + 0.015]
    title = f"assumed {words.rate}<br>({words.rate_means})"
    across = axis(look, title, tickformat=".0%", range=ends)
    return base(look, height, xaxis=across, shapes=_marks(look, diagnosis, panels))


def _marks(look: Theme, diagnosis: Diagnosis, panels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Mark the share, and its interval where it was not counted."""
    share, ends = diagnosis.share_censored, diagnosis.interval
    if share is None:
        return []
    how = "counted" if diagnosis.share_is_seen else "in the chosen explanation"
    whole = {"y0": 0, "y1": 1, "legendrank": 1001}
    line = {"color": look.ink, "width": 1.5, "dash": "dashdot"}
    name = f"{percent(share)} {how}"
    marks = [whole | {"type": "line", "x0": share, "x1": share, "line": line, "name": name}]
    if ends is not None and not diagnosis.share_is_seen:
        area = {"fillcolor": look.interval, "line": {"width": 0}, "layer": "below"}
        name = f"95% interval: {interval(ends)}"
        marks += [whole | {"type": "rect", "x0": ends[0], "x1": ends[1], "name": name} | area]
    return [
        mark | {"yref": panel, "showlegend": panel == panels[0]}
        for mark in marks
        for panel in panels
    ]
