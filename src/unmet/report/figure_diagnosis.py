"""Observed against latent quantiles: straight until censoring bends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unmet.bands import Diagnosis
from unmet.bands.diagnosis import QuantilePicture
from unmet.bands.picture_quantiles import hides, level_ticks, straight_in_logarithms
from unmet.errors import Unsupported
from unmet.report.figure_style import Theme, axis, base, drawing, plain, theme
from unmet.report.words import words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["diagnosis_figure"]

_APART = 0.085  # so that labels of levels do not touch on a phone


def diagnosis_figure(
    diagnosis: Diagnosis, *, problem: str = "newsvendor", dark: bool = False
) -> Figure:
    """Draw the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `quantiles`.
    problem : {"newsvendor", "pricing", "replacement"}
        Decides on the words.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    objects, look, words = drawing(), theme(dark), words_for(problem)
    picture = diagnosis.quantiles
    if picture is None:
        raise Unsupported(f"The diagnosis of {diagnosis.rule} has no quantiles to draw.")
    figure = objects.Figure(layout=_layout(look, picture))
    if hides(picture):
        for trace in _hidden(look, picture):
            figure.add_trace(trace)
    percent = [100 * level for level in picture.levels]
    for name, curve, style in _curves(look, picture, words.observations, words.truth):
        figure.add_trace(
            objects.Scatter(
                x=list(picture.straight),
                y=list(curve),
                customdata=percent,
                name=name,
                hovertemplate=f"{plain(name)}<br>%{{customdata:.0f}}% of cases below "
                "%{y:,.4~g}<extra></extra>",
                **style,
            )
        )
    return figure


def _curves(
    look: Theme, picture: QuantilePicture, observations: str, truth: str
) -> list[tuple[str, tuple[float, ...], dict[str, Any]]]:
    """Name, heights and style of each; lines differ by dashes, too."""
    dots = {"symbol": "circle-open", "size": 7, "color": look.ink, "line": {"width": 1.4}}
    fitted: dict[str, Any] = {"mode": "lines"}
    return [
        (
            f"{truth}, as fitted",
            picture.latent,
            fitted | {"line": {"color": look.truth, "width": 3}},
        ),
        (
            f"{observations}, as fitted",
            picture.modelled,
            fitted | {"line": {"color": look.seen, "width": 2.5, "dash": "dash"}},
        ),
        (f"{observations}, as seen", picture.observed, {"mode": "markers", "marker": dots}),
    ]


def _hidden(look: Theme, picture: QuantilePicture) -> list[dict[str, Any]]:
    """Shade the area between what can be seen and the truth."""
    place, modelled = list(picture.straight), list(picture.modelled)
    upper = [max(pair) for pair in zip(picture.latent, modelled, strict=True)]
    edge: dict[str, Any] = {
        "type": "scatter",
        "x": place,
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    pattern: dict[str, Any] = {"shape": "/", "solidity": 0.25, "size": 7, "fgcolor": look.quiet}
    pattern["bgcolor"] = look.hidden
    area = {"fill": "tonexty", "fillcolor": look.hidden, "fillpattern": pattern, "name": "hidden"}
    return [
        edge | {"y": modelled, "showlegend": False},
        edge | {"y": upper, "legendrank": 1001} | area,
    ]


def _layout(look: Theme, picture: QuantilePicture) -> dict[str, Any]:
    ticks = dict(sorted(level_ticks(picture, _APART).items()))
    across = axis(
        look,
        "per cent of cases below<br>(spaced so that the truth is straight)",
        tickvals=list(ticks),
        ticktext=list(ticks.values()),
    )
    upward = axis(look, "typical row")
    if straight_in_logarithms(picture):
        upward |= {"type": "log", "dtick": "D2"}
    return base(look, 440, xaxis=across, yaxis=upward)
