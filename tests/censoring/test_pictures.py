"""A diagnosis in plots."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations

import pytest
from hand_made_diagnoses import (
    ALL,
    bare,
    uncensored,
    unclear,
    weak,
)
from matplotlib.patches import Rectangle

from unmet.censoring.plots import draw
from unmet.censoring.text import describe
from unmet.errors import MissingPackage, Unsupported

DRAWN = ("sold_out", "unclear", "weak", "multiplicative")


@pytest.fixture(scope="module")
def figures():
    """Each diagnosis drawn wide and narrow, laid out as for a file."""
    drawn = {}
    for name in DRAWN:
        for narrow in (False, True):
            diagnosis = ALL[name]()
            figure = draw(diagnosis, narrow=narrow)
            figure.draw_without_rendering()
            drawn[name, narrow] = (diagnosis, figure)
    return drawn


every = pytest.mark.parametrize("name", DRAWN)
both_forms = pytest.mark.parametrize("narrow", [False, True])


def line(axes, label):
    (found,) = [each for each in axes.get_lines() if str(each.get_label()).startswith(label)]
    return found


def greyed(axes):
    spans = [each for each in axes.patches if isinstance(each, Rectangle)]
    return sorted((each.get_x(), each.get_x() + each.get_width()) for each in spans)


def texts(figure):
    """Boxes of all that is written, by what it says."""
    written = [figure._suptitle]
    for panel in figure.subfigs:
        written += [entry for legend in panel.legends for entry in legend.get_texts()]
        for axes in panel.axes:
            written += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
            written += axes.texts
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                ticks = axis.get_major_ticks()
                written += [t.label1 for t in ticks if low <= t.get_loc() <= high]
    return [
        (each.get_text(), each.get_window_extent())
        for each in written
        if each.get_visible() and each.get_text().strip()
    ]


@every
@both_forms
def test_three_panels_with_labels(figures, name, narrow):
    _, figure = figures[name, narrow]
    left, upper, lower = figure.axes
    assert left.get_ylabel() == "typical row (units of the observation)"
    assert left.get_xlabel().startswith("per cent of cases below")
    assert upper.get_ylabel() == "mean decision\n(units of the observation)"
    assert lower.get_ylabel() == "mean cost per row\n(units of the cost)"
    assert lower.get_xlabel().startswith("assumed sell-out rate")
    assert upper.get_xlim() == lower.get_xlim()
    assert all(axes.get_title(loc="left") for axes in figure.axes)


@every
@both_forms
def test_nothing_overlaps_and_nothing_is_cut_off(figures, name, narrow):
    _, figure = figures[name, narrow]
    boxes = texts(figure)
    assert len(boxes) > 25
    for said, box in boxes:
        assert box.x0 >= 0, said
        assert box.y0 >= 0, said
        assert box.x1 <= figure.bbox.x1, said
        assert box.y1 <= figure.bbox.y1, said
    for (one, first), (other, second) in combinations(boxes, 2):
        assert not first.overlaps(second), (one, other)
    panels = [axes.get_window_extent() for axes in figure.axes]
    for first, second in combinations(panels, 2):
        assert not first.overlaps(second)
    for said, box in boxes:
        if said != "hidden":
            assert not any(box.padded(-2).overlaps(panel) for panel in panels), said


@every
@both_forms
def test_curves_are_those_of_the_diagnosis(figures, name, narrow):
    diagnosis, figure = figures[name, narrow]
    left, upper, lower = figure.axes
    plot, curve = diagnosis.quantiles, diagnosis.sensitivity
    for label, expected in (
        ("truth, as fitted", plot.latent),
        ("observations, as fitted", plot.modelled),
        ("observations, as seen", plot.observed),
    ):
        place, value = line(left, label).get_data()
        assert list(place) == list(plot.straight)
        assert list(value) == list(expected)
    for axes, label, expected in (
        (upper, "mean decision", curve.decision),
        (lower, "mean cost per row", curve.cost),
    ):
        rate, value = line(axes, label).get_data()
        assert list(rate) == list(curve.rate)
        assert list(value) == list(expected)
    assert lower.get_ylim()[0] == 0


@every
@both_forms
def test_legends(figures, name, narrow):
    _, figure = figures[name, narrow]
    quantiles, sensitivity = (
        [entry.get_text() for entry in panel.legends[0].get_texts()] for panel in figure.subfigs
    )
    expected = ["truth, as fitted", "observations, as fitted", "observations, as seen"]
    if name in ("sold_out", "weak", "multiplicative"):
        expected.append("hidden")
    assert quantiles == expected
    assert sensitivity[:2] == ["mean decision", "mean cost per row"]
    assert sensitivity[-1] == "ruled out (95%)"
    share = {"sold_out": "49%", "weak": "37%", "multiplicative": "35%"}.get(name, "0%")
    how = "assumed" if name == "unclear" else "estimated"  # where the data cannot tell
    assert f"{how} share: {share}" in sensitivity
    assert len(sensitivity) == 5
    interval = {"sold_out": "47% to 50%", "weak": "22% to 53%", "unclear": "0% to 51%"}
    if name in interval:
        assert f"95% interval: {interval[name]}" in sensitivity


@every
def test_what_the_data_rule_out_is_grey(figures, name):
    diagnosis, figure = figures[name, False]
    curve, (low, high) = diagnosis.sensitivity, diagnosis.interval
    for axes in figure.axes[1:]:
        spans = greyed(axes)
        grey = [any(a <= rate <= b for a, b in spans) for rate in curve.rate]
        assert grey == [fit > 1.92 for fit in curve.fit]
        assert all(b <= low or a >= high for a, b in spans)
        marked = line(axes, "95% interval").get_xdata()
        assert tuple(marked) == (low, high)
        how = "assumed" if name == "unclear" else "estimated"
        at = line(axes, f"{how} share").get_xdata()
        assert set(at) == {diagnosis.share_censored}
    assert len(greyed(figure.axes[1])) == (2 if low > 0 else 1)


def test_heading_says_what_was_found():
    def heading(diagnosis):
        return " ".join(draw(diagnosis).get_suptitle().split())

    assert heading(weak()) == (
        "LatentBand, 900 rows: 37% of them hide some of the truth (identified: weakly)"
    )
    assert "none of them hides any of the truth (identified: yes)" in heading(uncensored())
    assert "some of the truth may be hidden (identified: no)" in heading(unclear())
    nameless = replace(weak(), identified=None, share_censored=None)
    assert heading(nameless) == "LatentBand, 900 rows"


def test_bare_diagnosis_has_nothing_to_draw():
    with pytest.raises(
        Unsupported, match=r"^The diagnosis of FixedBand has nothing to draw: .*\.$"
    ):
        draw(bare())


@pytest.mark.parametrize("module", ["matplotlib", "matplotlib.figure"])
def test_without_matplotlib_one_sentence_says_how_to_get_it(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    diagnosis = weak()
    with pytest.raises(MissingPackage, match=r"^[^.]*pip install 'matplotlib>=3\.10'\.$"):
        draw(diagnosis)
    assert diagnosis.profile.calls == []
    assert "Identified: weakly" in describe(diagnosis)
