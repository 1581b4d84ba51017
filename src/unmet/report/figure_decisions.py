"""Decisions over time, or how they are spread."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unmet.errors import InvalidInput
from unmet.report.figure_style import Theme, axis, base, drawing, theme
from unmet.report.words import Words, words_for

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
    from polars import DataFrame

__all__ = ["Times", "by_time", "decisions_figure"]

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
