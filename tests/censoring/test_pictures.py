"""A diagnosis in charts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hand_made_diagnoses import ALL, bare, weak

from unmet.censoring.plots import draw
from unmet.errors import Unsupported

DRAWN = ("sold_out", "unclear", "weak", "multiplicative")


@pytest.fixture(scope="module")
def charts():
    """Each diagnosis, and what is drawn of it by part."""
    found = {}
    for name in DRAWN:
        diagnosis = ALL[name]()
        spec = draw(diagnosis).spec
        rows = [row for each in spec["datasets"].values() for row in each]
        parts = {row["s"]: [one for one in rows if one["s"] == row["s"]] for row in rows}
        found[name] = diagnosis, spec, parts
    return found


every = pytest.mark.parametrize("name", DRAWN)


@every
def test_curves_are_those_of_the_diagnosis(charts, name):
    diagnosis, spec, parts = charts[name]
    assert len(spec["vconcat"]) == 3
    plot, curve = diagnosis.quantiles, diagnosis.sensitivity
    for part, x, y in (
        ("truth, as fitted", plot.straight, plot.latent),
        ("observations, as fitted", plot.straight, plot.modelled),
        ("observations, as seen", plot.straight, plot.observed),
        ("mean decision", curve.rate, curve.decision),
        ("mean cost per row", curve.rate, curve.cost),
    ):
        assert [row["x"] for row in parts[part]] == list(x)
        assert [row["y"] for row in parts[part]] == list(y)
    assert ("hidden" in parts) == (name != "unclear")


@every
def test_share_and_interval_are_marked(charts, name):
    diagnosis, _, parts = charts[name]
    share = {"sold_out": "49%", "weak": "37%", "multiplicative": "35%"}.get(name, "0%")
    how = "assumed" if name == "unclear" else "estimated"  # where the data cannot tell
    assert {row["x"] for row in parts[f"{how} share: {share}"]} == {diagnosis.share_censored}
    (strip,) = {name for name in parts if name.startswith("95% interval")}
    assert {(row["x"], row["x2"]) for row in parts[strip]} == {diagnosis.interval}


def test_a_distribution_that_multiplies_is_straight_on_a_logarithmic_axis(charts):
    for name in DRAWN:
        text = json.dumps(charts[name][1])
        assert ('"log"' in text) == (name == "multiplicative")


def test_heading_says_what_was_found():
    assert draw(weak()).spec["title"] == "LatentBand, 900 rows (identified: weakly)"
    nameless = replace(weak(), identified=None, share_censored=None)
    assert draw(nameless).alt == "LatentBand, 900 rows"


def test_bare_diagnosis_has_nothing_to_draw():
    with pytest.raises(
        Unsupported, match=r"^The diagnosis of FixedBand has nothing to draw: .*\.$"
    ):
        draw(bare())
