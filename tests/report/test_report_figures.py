"""Figures draw the numbers they were given, and differ by more than colour."""

from __future__ import annotations

from datetime import date, timedelta
from math import exp

import polars as pl
import pytest
from hand_made_contents import diagnosis, orders
from hypothesis import given
from hypothesis import strategies as st
from read_page import read

from unmet.censoring.plots import (
    Chart,
    Line,
    plausibility,
    possible_rates,
    quantile_chart,
    rate_charts,
)
from unmet.report.charts import decisions_chart
from unmet.report.drawing import Bar, bars, figure, plots
from unmet.report.labels import (
    labels_for,
    sensitivity_finding,
)

WORDS = labels_for("newsvendor")


PRICING = labels_for("pricing")


def line(chart, name):
    (found,) = (each for each in chart.lines if each.label == name)
    return found


def quantiles(found):
    return quantile_chart(found, WORDS, 0.1)


def drawn(*charts):
    return read(plots(*charts, alt="what it shows"))


def numbers(path):
    return [each.replace(",", "") for each in path.attributes["data-y"].split("|")]


def test_lines_of_a_chart_differ_by_dash_or_marker():
    charts = [
        quantiles(diagnosis()),
        *rate_charts(diagnosis(), WORDS),
        decisions_chart(orders(), WORDS),
    ]
    for chart in charts:
        styles = [
            frozenset(
                path.attributes["class"] for path in group.all("path") if "class" in path.attributes
            )
            for group in drawn(chart).all("g")
        ]
        assert len(styles) == len(set(styles)) == len(chart.lines)


def test_what_is_drawn_is_what_is_described():
    chart = Chart("", "across", "upward", (Line("a", (0.0, 0.5), (1.0, 3.0), "decision"),))
    plot = drawn(chart)
    (path,) = (each for each in plot.all("path") if "data-y" in each.attributes)
    assert numbers(path) == ["1.000", "3.000"]
    # ends are 2 points beyond the rates, and 6% of the range beyond the values
    low, high = (0.02 / 0.54, 0.52 / 0.54), (0.12 / 2.24, 2.12 / 2.24)
    assert path.attributes["d"] == (
        f"M{1000 * low[0]:.0f} {1000 - round(1000 * high[0])}"
        f"L{1000 * low[1]:.0f} {1000 - round(1000 * high[1])}"
    )
    assert path.attributes["data-x"] == "0%|50%"


def test_missing_values_leave_a_gap():
    chart = Chart(
        "", "", "", (Line("a", (0.0, 0.1, 0.2, 0.3), (1.0, float("nan"), 3.0, 2.0), "truth"),)
    )
    (path,) = (each for each in drawn(chart).all("path") if "data-y" in each.attributes)
    assert path.attributes["d"].count("M") == 2
    assert path.attributes["d"].count("L") == 1
    assert numbers(path) == ["1.000", "3.000", "2.000"]


def test_sensitivity_marks_share_and_interval():
    found = diagnosis()
    chart = rate_charts(found, WORDS)[0]
    assert line(chart, "mean order quantity").y == found.sensitivity.decision
    assert chart.within[0] == found.interval
    plot = drawn(chart)
    names = [each.text.strip() for each in plot.one("ul").all("li")]
    assert names == ["mean order quantity", "estimated share: 30%", "95% interval: 20% to 40%"]
    (box,) = plot.all("rect")
    # from 2 points below the first rate to 2 points above the last
    assert int(box.attributes["x"]) == round(1000 * (found.interval[0] + 0.02) / 0.74)
    assert "20% to 40%" in sensitivity_finding(found, found.sensitivity, WORDS)


def test_counted_share_has_no_interval_and_nothing_below_it_is_drawn():
    counted = diagnosis(share_is_seen=True)
    curve = possible_rates(counted)
    assert curve.rate == (0.3, 0.4, 0.5, 0.6, 0.7)
    assert curve.decision[0] == 1090.0
    for chart in rate_charts(counted, WORDS):
        assert chart.within is None
        assert min(chart.lines[0].x) == 0.3
    told = sensitivity_finding(counted, curve, WORDS)
    assert "was counted" in told
    assert "from 30% to 70%" in told
    assert possible_rates(diagnosis()).rate == diagnosis().sensitivity.rate


@pytest.mark.parametrize("rate", [0.12, 0.27, 0.3, 0.44])
def test_plausibility_of_a_parabola_is_a_bell(rate):
    rates, shares = plausibility(diagnosis().sensitivity)
    near = min(range(len(rates)), key=lambda at: abs(rates[at] - rate))
    expected = exp(-0.5 * ((rates[near] - 0.3) / 0.05) ** 2)
    assert shares[near] == pytest.approx(expected, abs=1e-9)
    assert max(shares) == 1.0


def test_bars_are_as_long_as_their_size_and_ours_stands_out():
    shown = [
        Bar("ours", "50", 50.0, [(40.0, "first"), (60.0, "second")], ours=True),
        Bar("<i>theirs</i>", "100", 100.0),
    ]
    plot = read(bars(shown, name="x", finding="Ours costs less.", part="one block"))
    ours, theirs = (int(each.attributes["width"]) for each in plot.all("rect"))
    assert theirs == pytest.approx(2 * ours, abs=1)
    assert {each.attributes["class"] for each in plot.all("rect")} == {"ours", "other"}
    assert [each for each in plot.all("path") if each.attributes["class"] == "slashes"]
    (dots,) = (each for each in plot.all("path") if "data-y" in each.attributes)
    assert numbers(dots) == ["40.00", "60.00"]
    assert dots.attributes["data-x"] == "first|second"
    assert "<i>theirs</i>" in plot.text


def test_a_figure_tells_those_who_do_not_see_it():
    chart = rate_charts(diagnosis(), WORDS)[2]
    plot = read(figure(chart, name="x", finding="It rises.", how="Look.", numbers="1, 2."))
    assert plot.one("div", role="img").attributes["aria-label"] == "It rises. 1, 2."
    assert plot.one("figcaption").text == "It rises. Look."
    assert all(each.attributes["aria-hidden"] == "true" for each in plot.all("svg"))


def test_decisions_of_a_date_are_added_up_or_averaged():
    day = date(2020, 5, 1)
    days = [day, day, day + timedelta(days=1), day + timedelta(days=2)]
    table = pl.DataFrame({"when": days, "decision": [1.0, 4.0, 7.0, 8.0]})
    (summed,) = decisions_chart(table, WORDS).lines
    assert list(summed.places) == ["1 May 2020", "2 May 2020", "3 May 2020"]
    assert list(summed.y) == [5.0, 7.0, 8.0]
    (averaged,) = decisions_chart(table, PRICING).lines
    assert list(averaged.y) == [2.5, 7.0, 8.0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_every_decision_is_in_a_bin(values):
    (counts,) = decisions_chart(pl.DataFrame({"decision": values}), WORDS).lines
    assert sum(counts.y) == len(values)
    assert len(counts.y) <= 40
