"""Censored regression with all flags known: against R's survreg and lifelines on real data.

The files in ``tests/reference`` hold the data, the answers and the scripts that made them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from unmet.censoring.latent.band import LatentBand
from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.likelihood import maximise
from unmet.censoring.latent.location import LocationBasis
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import FittedCandidate, first_start
from unmet.censoring.latent.stack import _ridged
from unmet.costs import Newsvendor
from unmet.rows import Rows

REFERENCE = Path(__file__).parents[2] / "reference"
COST = Newsvendor(underage=3, overage=1)


@cache
def read(name):
    return json.loads((REFERENCE / name).read_text(encoding="utf-8"))


def table_of(name):
    rows = read("censored_times.json")["data"][name]
    features = np.column_stack([np.array(each, float) for each in rows["features"].values()])
    return features, np.array(rows["time"], float), np.array(rows["event"]) == 0


def data_of(name):
    """Everything that `LatentBand` would race on, with a constant scale."""
    features, time, censored = table_of(name)
    sample = Rows.read(COST, features, time, censored=censored)
    location, basis = LocationBasis.learn(sample, None, 0, shrinks=False)
    scale = {"constant": location.scale_basis(basis, "constant")}
    return location, replace(Observed.of(sample), basis=basis, scale_bases=scale)


def model_of(data, name):
    family = FAMILIES[name]
    return data.model(family, link="linear" if family.space == "linear" else "multiplicative")


def exact(data, name):
    """Maximum likelihood, to many digits."""
    model = model_of(data, name)
    problem = data.problem(model)
    found, _ = maximise(problem, first_start(problem), tolerance=1e-8)
    return FittedCandidate.of(data, model, found)


def raw(fitted, location_basis, features):
    """Intercept, coefficients and scale in the units of the data, by predicting at points."""
    model, unit = fitted.model, fitted.model.unit
    points = np.vstack([np.zeros(features.shape[1]), np.eye(features.shape[1])])
    basis = location_basis.basis(points)
    line, log_scale = model.locate(fitted.parameters, basis, np.empty((len(basis), 0)))
    scale = float(np.exp(log_scale[0]))
    if model.family.space == "linear":
        line, scale = unit * line, unit * scale
    else:
        line = line + np.log(unit)
    return line[0], line[1:] - line[0], scale


def close(found, prediction, scale_of_answer):
    intercept, coefficients, scale = found
    expected = np.array(list(prediction["coefficients"].values()))
    assert intercept == pytest.approx(prediction["intercept"], rel=1e-4)
    np.testing.assert_allclose(coefficients, expected, rtol=1e-4)
    assert scale == pytest.approx(scale_of_answer, rel=1e-4)


SURVREG = [
    (name, family)
    for name in ("rossi", "lung")
    for family in ("normal", "logistic", "gumbel", "lognormal", "weibull")
]


@pytest.mark.parametrize(("name", "family"), [*SURVREG, ("lung", "student")])
def test_known_flags_agree_with_survreg(name, family):
    prediction = read("survreg_fits.json")["fits"][name][family]
    features, _, _ = table_of(name)
    location_basis, data = data_of(name)
    fitted = exact(data, family)
    close(raw(fitted, location_basis, features), prediction, prediction["scale"])
    assert fitted.rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)
    if family == "student":
        freedom = 2.0 + np.exp(fitted.parameters[-1])
        assert freedom == pytest.approx(prediction["freedom"], rel=1e-4)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
@pytest.mark.parametrize("name", ["rossi", "lung"])
def test_known_flags_agree_with_lifelines(name, family):
    prediction = read("lifelines_fits.json")["fits"][name][family]
    features, _, _ = table_of(name)
    location_basis, data = data_of(name)
    fitted = exact(data, family)
    second = np.exp(prediction["log_of_second_parameter"])
    close(
        raw(fitted, location_basis, features),
        prediction,
        1.0 / second if family == "weibull" else second,
    )
    assert fitted.rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)


@pytest.mark.parametrize("family", ["weibull", "gumbel"])
def test_the_rule_itself_finds_that_explanation(family):
    """Through the front door: the same censored regression where slopes are not shrunk."""
    prediction = read("survreg_fits.json")["fits"]["lung"][family]
    features, time, censored = table_of("lung")
    rule = LatentBand(families=family, random_state=0).fit(COST, features, time, censored=censored)
    data = rule.model_.data
    model = model_of(data, family)
    fitted = next(each for each in rule.model_.ranked if each.model == model)
    free = FittedCandidate.of(
        data, model, _ridged(np.zeros(features.shape[1]))(data.problem(model))
    )
    assert free.rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)
    assert fitted.rows.sum() < free.rows.sum()  # slopes are shrunk
    assert rule.diagnosis_.share_censored == pytest.approx(censored.mean())
    close(raw(free, rule.model_.basis, features), prediction, prediction["scale"])
