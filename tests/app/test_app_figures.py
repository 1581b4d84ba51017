"""Figures of the page draw the numbers they were given, and differ by more than colour."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date, timedelta
from math import exp
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("plotly", reason="plotly is not installed")
sys.path.append(str(Path(__file__).parents[1] / "report"))  # contents made by hand

from hand_made_contents import diagnosis, orders
from plotly.graph_objects import Figure

from unmet.app import figures
from unmet.errors import InvalidInput, MissingPackage


def trace(figure, name):
    (found,) = (each for each in figure.data if each.name == name)
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_all_figures_are_plotly_and_differ_by_dash_or_marker(dark):
    made = [
        figures.diagnosis_figure(diagnosis(), dark=dark),
        figures.sensitivity_figure(diagnosis(), dark=dark),
        figures.decisions_figure(orders(), dark=dark),
    ]
    for figure in made:
        assert isinstance(figure, Figure)
        assert figure.layout.font.color == figures.colors(dark)["ink"]
        lines = [each.line for each in figure.data if each.type == "scatter" and "line" in each]
        shown = [(line.dash or "solid") for line in lines if line.width]
        assert len(shown) == len(set(shown))


def test_quantiles_are_those_of_the_diagnosis():
    found = diagnosis()
    figure = figures.diagnosis_figure(found)
    assert trace(figure, "demand, as fitted").y == found.quantiles.latent
    assert trace(figure, "sales, as seen").y == found.quantiles.observed
    assert trace(figure, "sales, as seen").mode == "markers"
    assert trace(figure, "hidden").fill == "tonexty"
    assert figure.layout.xaxis.ticktext[0] == "5"
    assert list(figure.layout.xaxis.tickvals) == sorted(figure.layout.xaxis.tickvals)
    assert figure.layout.yaxis.type != "log"


def test_nothing_is_shaded_where_nothing_is_hidden():
    found = diagnosis()
    same = replace(found.quantiles, modelled=found.quantiles.latent)
    figure = figures.diagnosis_figure(replace(found, quantiles=same))
    assert "hidden" not in [each.name for each in figure.data]


def test_truth_that_is_straight_in_logarithms_is_drawn_so():
    found = diagnosis()
    grown = tuple(50 * exp(0.8 * place) for place in found.quantiles.straight)
    plot = replace(found.quantiles, latent=grown, modelled=grown, observed=grown)
    figure = figures.diagnosis_figure(replace(found, quantiles=plot))
    assert figure.layout.yaxis.type == "log"


def test_sensitivity_marks_share_and_interval():
    found = diagnosis()
    figure = figures.sensitivity_figure(found)
    assert trace(figure, "mean order quantity").y == found.sensitivity.decision
    names = [shape.name for shape in figure.layout.shapes if shape.showlegend]
    assert names == ["estimated share: 30%", "95% interval: 20% to 40%"]
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert {shape.yref for shape in boxes} == {"y domain", "y2 domain"}
    assert {(shape.x0, shape.x1) for shape in boxes} == {found.interval}


def test_counted_share_has_no_interval():
    counted = diagnosis(share_is_seen=True)
    shapes = figures.sensitivity_figure(counted).layout.shapes
    assert {shape.type for shape in shapes} == {"line"}


def test_decisions_of_a_date_are_added_up_or_averaged():
    day = date(2020, 5, 1)
    days = [day, day, day + timedelta(days=1), day + timedelta(days=2)]
    table = pl.DataFrame({"when": days, "decision": [1.0, 4.0, 7.0, 8.0]})
    (line,) = figures.decisions_figure(table).data
    assert line.customdata == ("1 May 2020", "2 May 2020", "3 May 2020")
    assert line.y == (5.0, 7.0, 8.0)
    (line,) = figures.decisions_figure(table, problem="pricing").data
    assert line.y == (2.5, 7.0, 8.0)


def test_decisions_without_dates_are_counted():
    table = pl.DataFrame({"decision": [1.0, 1.0, 2.0, 9.0], "ignoring": [0.0, 1.0, 1.0, None]})
    figure = figures.decisions_figure(table)
    assert sum(trace(figure, "order quantity").y) == 4
    assert sum(trace(figure, "if sales are taken for demand").y) == 3


def test_decisions_are_needed():
    with pytest.raises(InvalidInput, match="'decision'"):
        figures.decisions_figure(pl.DataFrame({"x": [1]}))


def test_without_plotly_the_command_is_told(monkeypatch):
    for name in ("plotly", "plotly.graph_objects"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=r"the what-if page needs plotly: .*plotly>="):
        figures.drawing()
