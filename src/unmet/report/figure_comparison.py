"""What the decisions of several methods cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unmet.bands.picture_words import number, percent
from unmet.planning.results import Comparison, MethodCost
from unmet.report.figure_style import Theme, axis, base, drawing, plain, theme

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["comparison_figure", "saving_words"]

_OURS = "latent"
_LABEL = 18  # characters of a line


def comparison_figure(comparison: Comparison, *, dark: bool = False) -> Figure:
    """Draw the mean cost of each method as a bar, and of each block of time as a dot.

    Parameters
    ----------
    comparison : Comparison
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    objects, look, methods = drawing(), theme(dark), comparison.methods
    names = [_name(each) for each in methods]
    ours = [each.method == _OURS for each in methods]
    bars = objects.Bar(
        y=names,
        x=[each.cost for each in methods],
        orientation="h",
        marker={
            "color": [look.truth if mine else look.other for mine in ours],
            "pattern": {"shape": ["" if mine else "/" for mine in ours], "solidity": 0.25},
        },
        name="mean over all rows",
        showlegend=False,
        customdata=[plain(each.label) for each in methods],
        hovertemplate="%{customdata}<br>%{x:,.4~g} per row<extra></extra>",
    )
    figure = objects.Figure([bars], _layout(look, methods))
    for trace in _dots(look, comparison, names):
        figure.add_trace(trace)
    return figure


def saving_words(method: MethodCost) -> str:
    """Say what a method saves against ignoring that something is hidden; nothing for that one."""
    saving = method.saving
    if saving is None or method.method == "ieo":
        return ""
    if abs(saving) < 0.0005:
        return "no difference"
    return f"{percent(abs(saving))} {'less' if saving > 0 else 'more'}"


def _dots(look: Theme, comparison: Comparison, names: list[str]) -> list[dict[str, Any]]:
    """One dot a method and block of time."""
    blocks = [f"{fold.first} to {fold.last}" for fold in comparison.folds]
    places, costs, labels = [], [], []
    for name, method in zip(names, comparison.methods, strict=True):
        for at, cost in enumerate(method.by_fold):
            places.append(name)
            costs.append(cost)
            labels.append(plain(blocks[at] if at < len(blocks) else f"part {at + 1}"))
    if not places:
        return []
    edge = {"color": look.ink, "width": 1.5}
    return [
        {
            "type": "scatter",
            "x": costs,
            "y": places,
            "customdata": labels,
            "mode": "markers",
            "marker": {"symbol": "diamond", "size": 8, "color": look.paper, "line": edge},
            "name": "one block of time held out",
            "hovertemplate": "%{customdata}<br>%{x:,.4~g} per row<extra></extra>",
        }
    ]


def _name(method: MethodCost) -> str:
    """Stand before the bar: label, cost and saving, which would not fit after it on a phone."""
    saving = saving_words(method)
    cost = f"<b>{number(method.cost)}</b>" + (f", {saving}" if saving else "")
    return f"{plain(method.label, _LABEL)}<br>{cost}"


def _layout(look: Theme, methods: Sequence[MethodCost]) -> dict[str, Any]:
    across = axis(look, "mean cost per row", rangemode="tozero")
    upward = axis(look, autorange="reversed", ticks="", showgrid=False)
    lines = max(_name(each).count("<br>") for each in methods)
    height = 130 + (44 + 16 * lines) * len(methods)
    return base(look, height, xaxis=across, yaxis=upward, bargap=0.4, below=80)
