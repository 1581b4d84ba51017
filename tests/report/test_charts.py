"""Charts draw the numbers they were given, and differ by more than colour."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from math import exp, nan

import polars as pl
import pytest
from hand_made_contents import diagnosis, orders
from hypothesis import given
from hypothesis import strategies as st

from unmet.censoring.plots import plausibility, possible_rates, quantile_chart, rate_charts
from unmet.censoring.text import labels_for
from unmet.charts import STYLES, at, bars, between, curve, embedded, lines, packed, panels, span
from unmet.errors import InvalidInput
from unmet.report.sentences import sensitivity_finding
from unmet.report.tables import decisions_chart

LABELS = labels_for("newsvendor")
DAY = date(2020, 5, 1)


def rows(chart, name):
    return [row for row in chart.spec["datasets"]["rows"] if row["s"] == name]


def values(chart, name):
    return [row["y"] for row in rows(chart, name)]


def test_styles_differ_without_colour_in_each_chart():
    charts = [
        quantile_chart(diagnosis(), LABELS),
        *rate_charts(diagnosis(), LABELS),
        decisions_chart(orders(), LABELS)[0],
    ]
    for chart in charts:
        looks = []
        for layer in chart.spec["layer"]:
            for channel in ("strokeDash", "shape"):
                scale = layer["encoding"].get(channel, {}).get("scale")
                if scale:
                    looks.append(dict(zip(scale["domain"], map(str, scale["range"]), strict=True)))
        kinds = {name: tuple(look.get(name) for look in looks) for look in looks for name in look}
        drawn = [name for name in kinds if rows(chart, name) and "y" in rows(chart, name)[0]]
        assert len({kinds[name] for name in drawn}) == len(drawn)


def test_missing_values_are_left_out_and_dates_stay_days():
    days = [DAY, DAY + timedelta(1), DAY + timedelta(2)]
    chart = lines(
        [curve("a", "truth", days, [1.0, nan, 3.0]), curve("b", "seen", days, [None] * 3)]
    )
    assert [(row["x"], row["y"]) for row in rows(chart, "a")] == [
        ("2020-05-01T00:00", 1.0),
        ("2020-05-03T00:00", 3.0),
    ]
    assert rows(chart, "b") == []


def test_parts_are_packed_without_loss():
    start = datetime(2020, 5, 1)
    days = [start + timedelta(k) for k in range(4)]
    hours = [start + timedelta(hours=6), start + timedelta(days=2)]
    parts = [
        curve("all", "truth", days, [1.0, 2.0, 3.0, 4.25]),
        curve("some", "seen", hours, [7.0, 8.0]),
        between("range", "range", days, [0.0] * 4, [5.0] * 4),
        curve("none", "seen", [], []),
    ]
    found = packed(parts)
    assert found["from"] == "2020-05-01"
    assert found["parts"] == {
        "all": [0, [1, 2, 3, 4.25]],
        "some": [[0.25, 2], [7, 8]],
        "range": [0, [0, 0, 0, 0], [5, 5, 5, 5]],
    }


def test_data_never_becomes_markup():
    text = embedded({"a": "</script><b>"}, "name")
    assert text.count("<") == 2
    assert json.loads(text.partition(">")[2].rpartition("<")[0]) == {"a": "</script><b>"}


def test_colours_on_dark_paper_are_others():
    chart = lines([curve("a", "truth", [0, 1], [1, 2])])
    assert "#0072b2" in json.dumps(chart.on(dark=False))
    assert "#0072b2" not in json.dumps(chart.on(dark=True))


def test_every_style_is_rendered(tmp_path):
    pytest.importorskip("vl_convert", reason="vl-convert is not installed")
    parts = [curve(name, name, [0, 1], [k, k + 1]) for k, name in enumerate(STYLES)]
    marks = [at("here", "found", 0.5), at("level", "found", y=3), span("span", "range", 0.2, 0.4)]
    chart = panels({"one": [*marks, *parts], "two": parts}, alt="Two panels")
    written = chart.save(tmp_path / "chart.svg").read_text()
    assert all(f">{name}<" in written for name in (*STYLES, "one", "two", "here"))
    assert chart.save(tmp_path / "chart.png").read_bytes()[1:4] == b"PNG"
    shown = bars([{"name": "ours", "value": 2.0, "ours": True, "parts": [1.0, 3.0]}])
    assert "ours" in shown.save(tmp_path / "bars.svg").read_text()


def test_files_without_a_renderer(tmp_path):
    chart = lines([curve("a", "truth", [0, 1], [1, 2])], alt="It rises")
    page = chart.save(tmp_path / "chart.html").read_text()
    assert "It rises" in page
    assert "http" not in page.partition("<script>")[0].replace("http-equiv", "")
    assert json.loads(chart.save(tmp_path / "chart.json").read_text())["width"] == 560
    assert "srcdoc" in chart._repr_html_()
    with pytest.raises(InvalidInput, match=r"must end in .html, .json, .svg, .png or .pdf"):
        chart.save(tmp_path / "chart.gif")


# --- A diagnosis.


def test_sensitivity_marks_share_and_interval():
    found = diagnosis()
    chart = rate_charts(found, LABELS, assumed=0.5)[0]
    assert values(chart, "mean order quantity") == list(found.sensitivity.decision)
    assert rows(chart, "estimated share: 30%")[0]["x"] == 0.3
    assert rows(chart, "50% assumed")[0]["x"] == 0.5
    (strip,) = rows(chart, "95% interval: 20% to 40%")
    assert (strip["x"], strip["x2"]) == found.interval
    assert "20% to 40%" in sensitivity_finding(found, found.sensitivity, LABELS)


def test_counted_share_has_no_interval_and_nothing_below_it_is_drawn():
    counted = diagnosis(share_is_seen=True)
    found = possible_rates(counted)
    assert found.rate == (0.3, 0.4, 0.5, 0.6, 0.7)
    assert found.decision[0] == 1090.0
    chart = rate_charts(counted, LABELS)[0]
    assert min(row["x"] for row in rows(chart, "mean order quantity")) == 0.3
    assert "interval" not in json.dumps(chart.spec["datasets"])
    told = sensitivity_finding(counted, found, LABELS)
    assert "counted in the data" in told
    assert "from 30% to 70%" in told
    assert possible_rates(diagnosis()).rate == diagnosis().sensitivity.rate


@pytest.mark.parametrize("rate", [0.12, 0.27, 0.44])
def test_plausibility_of_a_parabola_is_a_bell(rate):
    rates, shares = plausibility(diagnosis().sensitivity)
    near = min(range(len(rates)), key=lambda at: abs(rates[at] - rate))
    expected = exp(-0.5 * ((rates[near] - 0.3) / 0.05) ** 2)
    assert shares[near] == pytest.approx(expected, abs=1e-9)
    assert max(shares) == 1.0


def test_quantiles_are_shaded_where_something_is_hidden():
    chart = quantile_chart(diagnosis(), LABELS)
    plot = diagnosis().quantiles
    hidden = [high - low for low, high in zip(plot.modelled, plot.latent, strict=True)]
    assert [row["y2"] - row["y"] for row in rows(chart, "hidden")] == pytest.approx(hidden)
    assert "bend away" in chart.spec["title"]


# --- Decisions.


def test_decisions_of_a_date_are_added_up_or_averaged():
    days = [DAY, DAY, DAY + timedelta(days=1), DAY + timedelta(days=2)]
    table = pl.DataFrame({"when": days, "decision": [1.0, 4.0, 7.0, 8.0]})
    chart, period = decisions_chart(table, LABELS)
    assert period == ""
    assert values(chart, "order quantity") == [5.0, 7.0, 8.0]
    chart, _ = decisions_chart(table, labels_for("pricing"))
    assert values(chart, "price") == [2.5, 7.0, 8.0]


def test_many_dates_are_shown_by_week_and_an_incomplete_one_not_at_all():
    days = [DAY + timedelta(days=k) for k in range(200)]
    table = pl.DataFrame({"when": days, "decision": [2.0] * 200})
    chart, period = decisions_chart(table, LABELS)
    assert period == "week"
    assert values(chart, "order quantity") == [2.0] * 28


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_every_decision_is_in_a_bin(numbers):
    chart, period = decisions_chart(pl.DataFrame({"decision": numbers}), LABELS)
    assert period is None
    assert sum(values(chart, "order quantity")) == 2 * len(numbers)  # two corners of each step
