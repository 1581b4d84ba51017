"""Interactive figures of a plan, for the report and for the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unmet.bands import Diagnosis
from unmet.bands.constants import LABELS_APART
from unmet.bands.pictures import Chart, ChartWords, Line, quantile_chart, rate_charts
from unmet.bands.text import number, percent
from unmet.errors import InvalidInput
from unmet.planning.telling import Comparison, MethodCost
from unmet.report.style import Theme, axis, base, drawing, plain, theme
from unmet.report.words import Words, words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from polars import DataFrame


# --- What the decisions of several methods cost.

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


# --- Decisions over time, or how they are spread.

_FEWEST_TIMES, _MOST_TIMES = 3, 120
_PERIODS = {"1d": "day", "1w": "week", "1mo": "month", "1y": "year"}


class Times(NamedTuple):
    """Decisions by time: the column of times, the period averaged over if any, the means."""

    column: str
    period: str
    table: DataFrame


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
        Decides on the words, and whether decisions of a date are added up or averaged.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    if "decision" not in decisions.columns or not decisions.height:
        raise InvalidInput("decisions must have a column 'decision' and a row, got none.")
    look, words = theme(dark), words_for(problem)
    figure: Figure = drawing().Figure(layout=base(look, 360))
    times = by_time(decisions, words)
    if times is None:
        _spread(figure, decisions, look, words)
    else:
        _lines(figure, times, look, words)
    return figure


def by_time(decisions: DataFrame, words: Words) -> Times | None:
    """Add up or average the decisions of each date; None where there are too few dates.

    Where there are more dates than a line can show, it shows the mean date of each week, month
    or year: a sum would fall where a period is not complete.
    """
    import polars

    dated = [
        name for name, kind in decisions.schema.items() if kind in (polars.Date, polars.Datetime)
    ]
    if not dated:
        return None
    column = dated[0]
    drawn = polars.col([name for name in ("ignoring", "decision") if name in decisions.columns])
    made = decisions.drop_nulls(column).group_by(column)
    table = made.agg(drawn.sum() if words.added_up else drawn.mean()).sort(column)
    if table.height < _FEWEST_TIMES:
        return None
    times = Times(column, "", table)
    for step, period in _PERIODS.items():
        if times.table.height <= _MOST_TIMES:
            break
        times = Times(column, period, _means(table, column, step))
    return times


def _means(table: DataFrame, column: str, step: str) -> DataFrame:
    """Mean of each period from the first date on; without the last one if it is incomplete.

    A week without its Sunday would look as if less were wanted.
    """
    import polars

    count = polars.len().alias("__dates")
    values = polars.exclude(column).mean()
    grouped = table.group_by_dynamic(column, every=step, start_by="datapoint").agg(values, count)
    incomplete = grouped["__dates"][-1] < grouped["__dates"].max()
    return grouped.drop("__dates").head(grouped.height - incomplete)


def _series(columns: list[str], look: Theme, words: Words) -> list[tuple[str, str, str, str]]:
    """Column, name, colour and dash of what is drawn."""
    drawn = [("decision", words.decision, look.truth, "solid")]
    if "ignoring" in columns:
        drawn.append(("ignoring", words.ignoring, look.seen, "dash"))
    return drawn


def _lines(figure: Figure, times: Times, look: Theme, words: Words) -> None:
    # text, because plotly would shift times that carry a zone
    across = [str(each) for each in times.table[times.column].to_list()]
    for column, name, color, dash in _series(times.table.columns, look, words):
        figure.add_scatter(
            x=across,
            y=times.table[column].to_list(),
            mode="lines" if len(across) > 40 else "lines+markers",
            line={"color": color, "width": 2, "dash": dash},
            name=name,
            hovertemplate="%{x}: %{y:,.4~g}<extra>" + name + "</extra>",
        )
    how = f"{words.amount} a date, all rows" if words.added_up else f"mean {words.amount}"
    figure.update_layout(
        xaxis=axis(look, type="date", tickformat=None, nticks=5, tickangle=0),
        yaxis=axis(look, how),
        margin_b=70,
    )


def _spread(figure: Figure, table: DataFrame, look: Theme, words: Words) -> None:
    """Histograms with common bins: one filled, the other hatched.

    They are counted here: the rows themselves would make a large file.
    """
    drawn = _series(table.columns, look, words)
    values = {column: table[column].drop_nulls().to_numpy().astype(float) for column, *_ in drawn}
    edges = _edges(np.concatenate(list(values.values())))
    width = float(edges[1] - edges[0])
    for column, name, color, _ in drawn:
        solid = column == "decision"
        figure.add_bar(
            x=(0.5 * (edges[1:] + edges[:-1])).tolist(),
            y=np.histogram(values[column], edges)[0].tolist(),
            width=width,
            customdata=[f"{low:,.6g} to {low + width:,.6g}" for low in edges[:-1].tolist()],
            name=name,
            marker={
                "color": color if solid else "rgba(0,0,0,0)",
                "opacity": 0.8 if solid else 1.0,
                "pattern": {"shape": "" if solid else "\\", "fgcolor": color, "solidity": 0.3},
                "line": {"color": color, "width": 1.5},
            },
            hovertemplate="%{customdata}: %{y:,} rows<extra>" + name + "</extra>",
        )
    figure.update_layout(
        barmode="overlay",
        bargap=0,
        xaxis=axis(look, words.decision),
        yaxis=axis(look, "rows"),
        margin_b=80,
    )


def _edges(values: Any) -> Any:
    """Ten to thirty bins over all values, with round edges; one where all values are the same."""
    low, high = float(values.min()), float(values.max())
    least = (high - low) / 30 or max(abs(high), 1.0) / 30
    unit = 10.0 ** floor(log10(least))
    size = unit * next(step for step in (1, 2, 5, 10) if step * unit >= least * (1 - 1e-9))
    first = floor(low / size)
    return size * np.arange(first, floor(high / size) + 2)


# --- A diagnosis: charts that `unmet.bands.pictures` describes, drawn by plotly.

_PANELS = ((0.6, 1.0), (0.0, 0.38))  # share of the height that each of two panels takes
_HOVER = {
    "decision": "if the rate is %{x:.0%}: %{y:,.4~g}<extra></extra>",
    "likelihood": "a rate of %{x:.0%} makes the data %{y:.0%} as likely<extra></extra>",
    "cost": "assuming %{x:.0%}: %{y:,.4~g} per row<extra></extra>",
}


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
    chart = quantile_chart(diagnosis, _words(problem), LABELS_APART[True])
    figure = _charts(theme(dark), 440, chart)
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
        Decides on the words.
    dark : bool, default=False
        Colours for a dark background.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    decision, likelihood, _ = rate_charts(diagnosis, _words(problem))
    figure = _charts(theme(dark), 540, decision, likelihood)
    return figure.update_layout(yaxis2={"range": [-0.04, 1.08], "tickformat": ".0%"})


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
    return _charts(theme(dark), 380, rate_charts(diagnosis, _words(problem))[2])


def _words(problem: str) -> ChartWords:
    """Names that a chart asks for."""
    words = words_for(problem)
    return ChartWords(words.truth, words.observations, words.decision, words.rate, words.rate_means)


def _charts(look: Theme, height: int, *charts: Chart) -> Figure:
    """Draw one chart, or two below each other that share their axis across."""
    first = charts[0]
    if first.ticks:
        ends = {"tickvals": list(first.ticks), "ticktext": list(first.ticks.values())}
    else:
        ends = {"tickformat": ".0%", "range": list(first.ends)}
    across = axis(look, first.across.replace("\n", "<br>"), **ends)
    layout = base(look, height, xaxis=across, shapes=_marks(look, charts), annotations=[])
    styles, traces = _styles(look), []
    for place, chart in enumerate(charts):
        upper = "" if place == 0 else str(place + 1)
        name = chart.upward.partition("(")[0].strip()
        if len(charts) == 1:
            upward = axis(look, name)
        else:
            across["anchor"] = f"y{upper}"
            upward = axis(look, domain=list(_PANELS[place]))
            layout["annotations"] += [_heading(name, _PANELS[place][1])]
        upward |= {"type": "log", "dtick": "D2"} if chart.logarithmic else {}
        upward |= {"rangemode": "tozero"} if chart.from_zero else {}
        layout[f"yaxis{upper}"] = upward
        if chart.shaded:
            traces += _hidden(look, *chart.lines[:2])
        for line in chart.lines:
            trace = {"type": "scatter", "x": list(line.x), "y": list(line.y), "name": line.label}
            hover = {"hovertemplate": _HOVER.get(line.role), "yaxis": f"y{upper}"}
            traces.append(trace | hover | styles[line.role])
    figure: Figure = drawing().Figure(traces, layout)
    return figure


def _styles(look: Theme) -> dict[str, dict[str, Any]]:
    """Lines differ by dashes, too."""
    lines, both = {"mode": "lines"}, {"mode": "lines+markers"}
    dots = {"symbol": "circle-open", "size": 7, "color": look.ink, "line": {"width": 1.4}}
    return {
        "truth": lines | {"line": {"color": look.truth, "width": 3}},
        "fitted": lines | {"line": {"color": look.seen, "width": 2.5, "dash": "dash"}},
        "seen": {"mode": "markers", "marker": dots},
        "decision": both | {"line": {"color": look.truth, "width": 2.5}, "marker": {"size": 7}},
        "likelihood": lines | {"line": {"color": look.seen, "width": 2.5, "dash": "dash"}},
        "cost": both
        | {
            "line": {"color": look.cost, "width": 2.5, "dash": "dot"},
            "marker": {"size": 8, "symbol": "square"},
        },
    }


def _hidden(look: Theme, truth: Line, fitted: Line) -> list[dict[str, Any]]:
    """Shade the area between what can be seen and the truth."""
    upper = [max(pair) for pair in zip(truth.y, fitted.y, strict=True)]
    edge: dict[str, Any] = {
        "type": "scatter",
        "x": list(truth.x),
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    pattern: dict[str, Any] = {"shape": "/", "solidity": 0.25, "size": 7, "fgcolor": look.quiet}
    pattern["bgcolor"] = look.hidden
    area = {"fill": "tonexty", "fillcolor": look.hidden, "fillpattern": pattern, "name": "hidden"}
    return [
        edge | {"y": list(fitted.y), "showlegend": False},
        edge | {"y": upper, "legendrank": 1001} | area,
    ]


def _heading(text: str, top: float) -> dict[str, Any]:
    """Name a panel above its upper left corner."""
    return {
        "text": f"<b>{plain(text[:1].upper() + text[1:])}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
    }


def _marks(look: Theme, charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Mark what is known about the rate in all panels, with one entry in the legend."""
    marks: list[dict[str, Any]] = []
    if charts[0].share is not None:
        place, name = charts[0].share
        line = {"color": look.ink, "width": 1.5, "dash": "dashdot"}
        marks.append({"type": "line", "x0": place, "x1": place, "line": line, "name": name})
    if charts[0].within is not None:
        (low, high), name = charts[0].within
        area = {"fillcolor": look.interval, "line": {"width": 0}, "layer": "below"}
        marks.append({"type": "rect", "x0": low, "x1": high, "name": name} | area)
    return [
        mark
        | {"y0": 0, "y1": 1, "legendrank": 1001, "yref": panel, "showlegend": panel == "y domain"}
        for mark in marks
        for panel in ("y domain", "y2 domain")[: len(charts)]
    ]
