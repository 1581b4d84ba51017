"""Figures draw the numbers they were given, and differ by more than colour."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from math import exp

import polars as pl
import pytest
from hand_made_contents import LEVELS, comparison, diagnosis, orders
from hypothesis import given
from hypothesis import strategies as st
from plotly.graph_objects import Figure

from unmet.bands.diagnosis import Sensitivity
from unmet.bands.pictures import plausibility
from unmet.errors import InvalidInput, Unsupported
from unmet.planning.telling import Comparison, MethodCost
from unmet.report import figures
from unmet.report.words import (
    by_time,
    comparison_finding,
    cost_finding,
    quantiles_finding,
    sensitivity_finding,
    words_for,
)

WORDS = words_for("newsvendor")


def trace(figure, name):
    (found,) = (each for each in figure.data if each.name == name)
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_all_figures_are_plotly_and_differ_by_dash_or_marker(dark):
    made = [
        figures.diagnosis_figure(diagnosis(), dark=dark),
        figures.sensitivity_figure(diagnosis(), dark=dark),
        figures.cost_figure(diagnosis(), dark=dark),
        figures.comparison_figure(comparison(), dark=dark),
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
    assert "nothing bends away" in quantiles_finding(same, WORDS)


def test_truth_that_is_straight_in_logarithms_is_drawn_so():
    found = diagnosis()
    grown = tuple(50 * exp(0.8 * place) for place in found.quantiles.straight)
    picture = replace(found.quantiles, latent=grown, modelled=grown, observed=grown)
    figure = figures.diagnosis_figure(replace(found, quantiles=picture))
    assert figure.layout.yaxis.type == "log"


def test_finding_of_quantiles_names_both_ends():
    picture = diagnosis().quantiles
    told = quantiles_finding(picture, WORDS)
    assert "98% of sales lie below 1,100" in told
    assert f"{picture.latent[-1]:,.0f}"[:4] in told
    assert picture.levels == LEVELS


def test_sensitivity_marks_share_and_interval():
    found = diagnosis()
    figure = figures.sensitivity_figure(found)
    assert trace(figure, "mean order quantity").y == found.sensitivity.decision
    names = [shape.name for shape in figure.layout.shapes if shape.showlegend]
    assert names == ["estimated share: 30%", "95% interval: 20% to 40%"]
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert {shape.yref for shape in boxes} == {"y domain", "y2 domain"}
    assert {(shape.x0, shape.x1) for shape in boxes} == {found.interval}
    assert "20% to 40%" in sensitivity_finding(found, found.sensitivity, WORDS)


def test_counted_share_has_no_interval():
    counted = diagnosis(share_is_seen=True)
    shapes = figures.sensitivity_figure(counted).layout.shapes
    assert {shape.type for shape in shapes} == {"line"}
    assert "was counted" in sensitivity_finding(counted, counted.sensitivity, WORDS)


def test_words_of_the_problem_are_used():
    figure = figures.sensitivity_figure(diagnosis(), problem="pricing")
    assert "acceptance rate" in figure.layout.xaxis.title.text
    with pytest.raises(InvalidInput, match="problem must be"):
        figures.cost_figure(diagnosis(), problem="x")


@pytest.mark.parametrize("rate", [0.12, 0.27, 0.3, 0.44])
def test_plausibility_of_a_parabola_is_a_bell(rate):
    rates, shares = plausibility(diagnosis().sensitivity)
    near = min(range(len(rates)), key=lambda at: abs(rates[at] - rate))
    expected = exp(-0.5 * ((rates[near] - 0.3) / 0.05) ** 2)
    assert shares[near] == pytest.approx(expected, abs=1e-9)
    assert max(shares) == 1.0


@given(st.lists(st.floats(0, 800), min_size=2, max_size=12))
def test_plausibility_is_a_share(fall):
    rates = tuple(at / len(fall) for at in range(len(fall)))
    best = min(fall)
    curve = Sensitivity(rates, rates, rates, tuple(each - best for each in fall))
    dense, shares = plausibility(curve)
    assert dense == sorted(dense)
    assert all(0 <= each <= 1 for each in shares)
    assert max(shares) == 1.0


def test_cost_of_a_wrong_rate_is_told():
    curve = diagnosis().sensitivity
    told = cost_finding(curve, WORDS)
    assert "cost least, 50.0 per row, at an assumed sell-out rate of 30%" in told
    assert "Assuming 0% would cost 18% more, assuming 70% 32% more" in told


@pytest.mark.parametrize("draw", [figures.sensitivity_figure, figures.cost_figure])
def test_rules_without_a_profile_say_so(draw):
    with pytest.raises(Unsupported, match="LatentBand has no sensitivity"):
        draw(diagnosis(profile=None))


def test_rules_without_quantiles_say_so():
    with pytest.raises(Unsupported, match="LatentBand has no quantiles"):
        figures.diagnosis_figure(diagnosis(quantiles=None))


def test_comparison_has_bars_savings_and_dots():
    figure = figures.comparison_figure(comparison())
    bars, dots = figure.data
    assert bars.x == (55.5, 75.0, 90.0)
    assert [name.rpartition("<br>")[2] for name in bars.y] == [
        "<b>55.5</b>, 26% less",
        "<b>75.0</b>",
        "<b>90.0</b>, 20% more",
    ]
    assert dots.x == (50.0, 61.0, 70.0, 80.0, 88.0, 92.0)
    assert dots.y == tuple(name for name in bars.y for _ in range(2))
    assert dots.customdata[1] == "2017-03-01 to 2017-04-30"
    assert len(set(bars.marker.pattern.shape)) == 2  # ours stands out without colour


def test_comparison_without_folds_has_no_dots():
    plain = [replace(each, by_fold=()) for each in comparison().methods]
    figure = figures.comparison_figure(Comparison("estimate", tuple(plain), 10))
    assert len(figure.data) == 1


def test_finding_of_comparison_names_the_cheapest():
    assert comparison_finding(comparison("estimate"), WORDS) == (
        "Priced on demand as estimated, “Band from the data” costs least, 26% less than the one "
        "that ignores what is hidden."
    )
    alike = (MethodCost("latent", "A", 5.0, 1.0, saving=0.0), MethodCost("ieo", "B", 5.0, 1.0))
    told = comparison_finding(Comparison("observation", alike, 3), WORDS)
    assert told == "Priced on sales only, all 2 methods cost the same, 5.00 per row."


def test_decisions_of_a_date_are_added_up_or_averaged():
    day = date(2020, 5, 1)
    days = [day, day, day + timedelta(days=1), day + timedelta(days=2)]
    table = pl.DataFrame({"when": days, "decision": [1.0, 4.0, 7.0, 8.0]})
    (line,) = figures.decisions_figure(table).data
    assert line.x == ("2020-05-01", "2020-05-02", "2020-05-03")
    assert line.y == (5.0, 7.0, 8.0)
    (line,) = figures.decisions_figure(table, problem="pricing").data
    assert line.y == (2.5, 7.0, 8.0)


def test_many_dates_are_averaged_by_week_without_an_incomplete_one():
    days = [date(2017, 1, 1) + timedelta(days=at) for at in range(181)]
    weekly = [float(1 + 6 * (at % 7 == 0)) for at in range(181)]  # Sundays sell more
    times, period = by_time(pl.DataFrame({"date": days, "decision": weekly}), WORDS)
    assert period == "week"
    assert times.height == 25
    assert times["decision"].to_list() == pytest.approx([13 / 7] * 25)


@pytest.mark.parametrize(("days", "period"), [(100, ""), (1500, "month"), (9000, "year")])
def test_period_follows_the_number_of_dates(days, period):
    table = orders(days).select("date", "decision")
    times, found = by_time(table, WORDS)
    assert found == period
    assert times.height <= 120


def test_decisions_without_dates_are_counted():
    table = pl.DataFrame({"decision": [1.0, 1.0, 2.0, 9.0], "ignoring": [0.0, 1.0, 1.0, None]})
    figure = figures.decisions_figure(table)
    assert sum(trace(figure, "order quantity").y) == 4
    assert sum(trace(figure, "taking sales for demand").y) == 3


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_every_decision_is_in_a_bin(values):
    (bars,) = figures.decisions_figure(pl.DataFrame({"decision": values})).data
    assert sum(bars.y) == len(values)
    assert len(bars.y) <= 40


def test_decisions_are_needed():
    with pytest.raises(InvalidInput, match="'decision'"):
        figures.decisions_figure(pl.DataFrame({"x": [1]}))
