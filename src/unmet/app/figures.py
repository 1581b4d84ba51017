"""Interactive figures of the what-if page, by plotly.

The page of streamlit removes SVG of our own, so plotly draws here what `unmet.report.drawing` draws
in a report, from the same description. Each exists for a light and for a dark background. Colours
are those of Okabe and Ito, which can be
told apart with any kind of colour vision; lines differ by dashes and markers, areas by hatching, so
that nothing hangs on a colour. A diagnosis is drawn as `unmet.censoring.plots` describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from unmet.censoring import Diagnosis
from unmet.censoring.constants import LABELS_APART
from unmet.censoring.plots import Chart, Line, quantile_chart, rate_charts
from unmet.errors import MissingPackage
from unmet.report.charts import Item, decisions_chart, item_chart
from unmet.report.labels import Labels, capital, labels_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from polars import DataFrame

Colors: TypeAlias = dict[str, str]

_COLORS = {  # on light and on dark paper: there lighter, for a contrast of 3:1 or more
    "ink": ("#1d2126", "#e8eaed"),
    "quiet": ("#59636e", "#aab2bd"),
    "grid": ("#dfe3e8", "#343b45"),
    "paper": ("#ffffff", "#15181d"),
    "truth": ("#0072B2", "#56B4E9"),
    "seen": ("#D55E00", "#FF8A3D"),
    "hidden": ("rgba(230,159,0,0.35)", "rgba(230,159,0,0.35)"),
    "cost": ("#00805D", "#2CC79D"),
    "other": ("#8a929c", "#8b949f"),
    "interval": ("rgba(86,180,233,0.25)", "rgba(86,180,233,0.22)"),
}
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
_MANY = 60  # places across, from which on lines and markers are finer
_PANELS = ((0.6, 1.0), (0.0, 0.38))  # share of the height that each of two panels takes
_ABOVE = {  # the upper left corner of a panel
    "xref": "paper",
    "yref": "paper",
    "x": 0,
    "xanchor": "left",
    "yanchor": "bottom",
    "yshift": 4,
    "showarrow": False,
}
_HOVER = {
    "decision": "if the rate is %{x:.0%}: %{y:,.4~g}<extra></extra>",
    "likelihood": "a rate of %{x:.0%} makes the data %{y:.0%} as likely<extra></extra>",
}


def colors(dark: bool) -> Colors:
    """Colours for a background, by what they stand for."""
    return {name: pair[dark] for name, pair in _COLORS.items()}


def decisions_figure(
    decisions: DataFrame, *, problem: str = "newsvendor", dark: bool = False
) -> Figure:
    """Draw decisions by date where the table has dates, and how they are spread where not.

    Parameters
    ----------
    decisions : polars.DataFrame
        With a column ``decision``, and perhaps ``ignoring``: what would be decided without the
        band.
    problem : {"newsvendor", "pricing", "replacement"}
        Decides on the labels, and whether decisions of a date are added up or averaged.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return _charts(colors(dark), 360, decisions_chart(decisions, labels_for(problem)))


def item_figure(item: Item, labels: Labels, *, dark: bool = False) -> Figure:
    """Draw what an item sold, what sold-out days hid, and what is ordered for the coming days.

    Parameters
    ----------
    item : Item
    labels : Labels
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return _charts(colors(dark), 380, item_chart(item, labels, few=True))


def diagnosis_figure(
    diagnosis: Diagnosis, *, problem: str = "newsvendor", dark: bool = False
) -> Figure:
    """Draw the quantiles of a typical row: seen, fitted, and those of the truth.

    Parameters
    ----------
    diagnosis : Diagnosis
        With `quantiles`.
    problem : {"newsvendor", "pricing", "replacement"}
        Decides on the labels.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    chart = quantile_chart(diagnosis, labels_for(problem), LABELS_APART[True])
    figure = _charts(colors(dark), 440, chart)
    assert diagnosis.quantiles is not None
    for line in chart.lines:
        figure.update_traces(
            {
                "customdata": [100 * level for level in diagnosis.quantiles.levels],
                "hovertemplate": f"{plain(line.label)}<br>%{{customdata:.0f}}% of cases below "
                "%{y:,.4~g}<extra></extra>",
            },
            {"name": line.label},
        )
    return figure


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
        Decides on the labels.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    decision, likelihood, _ = rate_charts(diagnosis, labels_for(problem))
    figure = _charts(colors(dark), 540, decision, likelihood)
    return figure.update_layout(yaxis2={"range": [-0.04, 1.08], "tickformat": ".0%"})


def stock_figures(charts: tuple[Chart, Chart, Chart], *, dark: bool = False) -> list[Figure]:
    """Draw an item's past with the demand to come; and its stock to come above the risk.

    Parameters
    ----------
    charts : tuple of three Charts
        As `unmet.report.replenishment.plots` describes them.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    list of two plotly.graph_objects.Figure
    """
    past, stock, chance = charts
    drawn = _charts(colors(dark), 520, stock, chance)
    return [_charts(colors(dark), 340, past), drawn]


def _charts(look: Colors, height: int, *charts: Chart) -> Figure:
    """Draw one chart, or two below each other that share their axis across."""
    first = charts[0]
    if first.ticks:
        ends = {"tickvals": list(first.ticks), "ticktext": list(first.ticks.values())}
    else:
        ends = {"tickformat": ".0%", "range": list(first.ends)}
    across = _axis(look, first.across.replace("\n", "<br>"), **ends)
    layout = _base(look, height, xaxis=across, shapes=_marks(look, charts), annotations=[])
    styles, traces = _styles(look), []
    for place, chart in enumerate(charts):
        upper = "" if place == 0 else str(place + 1)
        name = chart.upward.partition("(")[0].strip()
        if len(charts) == 1:
            upward = _axis(look, name)
        else:
            across["anchor"] = f"y{upper}"
            upward = _axis(look, domain=list(_PANELS[place]))
            heading = {"text": f"<b>{plain(capital(name))}</b>", "y": _PANELS[place][1]}
            layout["annotations"].append(_ABOVE | heading)
        upward |= {"type": "log", "dtick": "D2"} if chart.logarithmic else {}
        upward |= {"rangemode": "tozero"} if chart.from_zero else {}
        upward |= {"range": [-0.04, 1.08], "tickformat": ".0%"} if chart.shares else {}
        layout[f"yaxis{upper}"] = upward
        if chart.shaded:
            traces += _hidden(look, *chart.lines[:2])
        if chart.area is not None:
            traces += _range(look, *chart.area, f"y{upper}")
        for line in chart.lines:
            trace = {"type": "scatter", "x": list(line.x), "y": list(line.y), "name": line.label}
            places, steps = list(line.places), {}
            if line.stepped:  # each value holds between two places
                trace["x"] = [0.5 * (low + high) for low, high in pairwise(line.x)]
                places = [f"{low:,.6g} to {high:,.6g}" for low, high in pairwise(line.x)]
                steps = {"mode": "lines", "line_shape": "hvh"}
            hover: dict[str, Any] = {
                "hovertemplate": _HOVER.get(line.role),
                "yaxis": f"y{upper}",
            }
            if places:
                value = "%{y:.0%}" if chart.shares else "%{y:,.4~g}"
                hover |= {
                    "customdata": places,
                    "hovertemplate": f"%{{customdata}}: {value}<extra>{plain(line.label)}</extra>",
                }
            many = {"line_width": 1.5, "marker_size": 5} if len(line.x) > _MANY else {}
            traces.append(trace | hover | styles[line.role] | many | steps)
    figure: Figure = drawing().Figure(traces, layout)
    return figure


def _styles(look: Colors) -> dict[str, dict[str, Any]]:
    """Lines differ by dashes, too."""
    lines, both = {"mode": "lines"}, {"mode": "lines+markers"}
    dots = {"symbol": "circle-open", "size": 7, "color": look["ink"], "line": {"width": 1.4}}
    return {
        "truth": lines | {"line": {"color": look["truth"], "width": 3}},
        "fitted": lines | {"line": {"color": look["seen"], "width": 2.5, "dash": "dash"}},
        "seen": {"mode": "markers", "marker": dots},
        "decision": both | {"line": {"color": look["truth"], "width": 2.5}, "marker": {"size": 7}},
        "likelihood": lines | {"line": {"color": look["seen"], "width": 2.5, "dash": "dash"}},
        "cost": both
        | {
            "line": {"color": look["cost"], "width": 2.5, "dash": "dot"},
            "marker": {"size": 8, "symbol": "square"},
        },
        "sold out": {"mode": "markers", "marker": {"color": look["seen"], "size": 7}},
        "order": both
        | {
            "line": {"color": look["cost"], "width": 2},
            "marker": {"size": 8, "symbol": "square"},
        },
    }


def _hidden(look: Colors, truth: Line, fitted: Line) -> list[dict[str, Any]]:
    """Shade the area between what can be seen and the truth."""
    upper = [max(pair) for pair in zip(truth.y, fitted.y, strict=True)]
    edge: dict[str, Any] = {
        "type": "scatter",
        "x": list(truth.x),
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    pattern: dict[str, Any] = {"shape": "/", "solidity": 0.25, "size": 7, "fgcolor": look["quiet"]}
    pattern["bgcolor"] = look["hidden"]
    area = {
        "fill": "tonexty",
        "fillcolor": look["hidden"],
        "fillpattern": pattern,
        "name": "hidden",
    }
    return [
        edge | {"y": list(fitted.y), "showlegend": False},
        edge | {"y": upper, "legendrank": 1001} | area,
    ]


def _range(look: Colors, low: Line, high: Line, upward: str) -> list[dict[str, Any]]:
    """Fill what lies between two edges; the label of the first names it."""
    edge: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "yaxis": upward,
    }
    pattern = {"shape": "/", "solidity": 0.15, "size": 7, "fgcolor": look["quiet"]}
    area = {"fill": "tonexty", "fillcolor": look["interval"], "name": low.label}
    return [
        edge | {"x": list(low.x), "y": list(low.y), "showlegend": False},
        edge
        | {"x": list(high.x), "y": list(high.y), "legendrank": 1001}
        | area
        | {"fillpattern": pattern | {"bgcolor": look["interval"]}},
    ]


def _marks(look: Colors, charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Mark the given rate in all panels, with one entry in the legend."""
    marks: list[dict[str, Any]] = []
    if charts[0].share is not None:
        place, name = charts[0].share
        line = {"color": look["ink"], "width": 1.5, "dash": "dashdot"}
        marks.append({"type": "line", "x0": place, "x1": place, "line": line, "name": name})
    if charts[0].within is not None:
        (low, high), name = charts[0].within
        area = {"fillcolor": look["interval"], "line": {"width": 0}, "layer": "below"}
        marks.append({"type": "rect", "x0": low, "x1": high, "name": name} | area)
    return [
        mark
        | {"y0": 0, "y1": 1, "legendrank": 1001, "yref": panel, "showlegend": panel == "y domain"}
        for mark in marks
        for panel in ("y domain", "y2 domain")[: len(charts)]
    ]


def drawing() -> ModuleType:
    """Import what draws, or say how to get it."""
    try:
        import plotly.graph_objects
    except ImportError:
        raise MissingPackage.for_extra("the what-if page", "plotly", "app") from None
    objects: ModuleType = plotly.graph_objects
    return objects


def _base(look: Colors, height: int, **more: Any) -> dict[str, Any]:
    """Layout that all figures share: see-through, the page's font, the legend below."""
    shared: dict[str, Any] = {
        "template": "none",
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "size": 13, "color": look["ink"]},
        "margin": {"l": 56, "r": 14, "t": 26, "b": 96},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "traceorder": "normal",
        },
        "hoverlabel": {
            "bgcolor": look["paper"],
            "bordercolor": look["quiet"],
            "font": {"family": _FONT, "color": look["ink"]},
            "align": "left",
        },
        "hovermode": "closest",
    }
    return shared | more


def _axis(look: Colors, title: str | None = None, **more: Any) -> dict[str, Any]:
    """One axis: quiet lines, numbers in full."""
    shared: dict[str, Any] = {
        "gridcolor": look["grid"],
        "linecolor": look["quiet"],
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": look["quiet"],
        "ticklen": 4,
        "tickformat": ",~r",
        "automargin": True,
        "separatethousands": True,
    }
    if title is not None:
        shared["title"] = {"text": title, "standoff": 8, "font": {"size": 13}}
    return shared | more


def plain(text: str) -> str:
    """Text that plotly shows as it is: it would read tags in it."""
    return escape(text, quote=False)
