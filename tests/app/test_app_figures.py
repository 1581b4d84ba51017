"""Figures of the page draw the numbers they were given, and differ by more than colour."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("plotly", reason="plotly is not installed")
sys.path.append(str(Path(__file__).parents[1] / "report"))  # contents made by hand

from hand_made_contents import diagnosis, orders
from plotly.graph_objects import Figure

from unmet.app import figures
from unmet.errors import MissingPackage


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


def test_without_plotly_the_command_is_told(monkeypatch):
    for name in ("plotly", "plotly.graph_objects"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=r"the what-if page needs plotly: .*plotly>="):
        figures.drawing()
