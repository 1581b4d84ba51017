"""Censored regression with all flags known: against R's survreg and lifelines on real data.

The files in ``tests/reference`` hold the data, the answers and the scripts that made them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from unmet.censoring.latent.band import LatentBand
from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.fitted import LocationBasis
from unmet.censoring.latent.fitting import maximise
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import CandidateModel, ModelData, all_starts
from unmet.censoring.latent.stack import fit_ridge
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
    location_basis, basis = LocationBasis.of(sample, None, 0)
    scale = {"constant": location_basis.scale_basis(basis, "constant")}
    observed = Observed.of(time, sample.censored)
    return location_basis, ModelData(
        observed, {"features": basis}, scale, sample.weight, True, None
    )


def candidate_of(name):
    family = FAMILIES[name]
    link = "linear" if family.space == "linear" else "multiplicative"
    return CandidateModel(family, "absent", "constant", link)


def raw(fitted, location_basis, features):
    """Intercept, coefficients and scale in the units of the data, by predicting at points."""
    problem, parameters = fitted.fit.problem, fitted.fit.parameters
    points = np.vstack([np.zeros(features.shape[1]), np.eye(features.shape[1])])
    basis = location_basis.basis(points)
    located = problem.model.locate(parameters, basis, np.empty((len(basis), 0)))
    scale = float(np.exp(located.log_scale[0]))
    if problem.model.family.space == "linear":
        line, scale = fitted.unit * located.location, fitted.unit * scale
    else:
        line = located.location + np.log(fitted.unit)
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
    candidate = candidate_of(family)
    problem = data.problem(candidate)
    fitted = data.fitted(candidate, maximise(problem, all_starts(problem)[0], tolerance=1e-8))
    close(raw(fitted, location_basis, features), prediction, prediction["scale"])
    assert fitted.rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)
    if family == "student":
        freedom = 2.0 + np.exp(fitted.fit.parameters[problem.model.slices.shape][0])
        assert freedom == pytest.approx(prediction["freedom"], rel=1e-4)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
@pytest.mark.parametrize("name", ["rossi", "lung"])
def test_known_flags_agree_with_lifelines(name, family):
    prediction = read("lifelines_fits.json")["fits"][name][family]
    features, _, _ = table_of(name)
    location_basis, data = data_of(name)
    candidate = candidate_of(family)
    problem = data.problem(candidate)
    fitted = data.fitted(candidate, maximise(problem, all_starts(problem)[0], tolerance=1e-8))
    second = np.exp(prediction["log_of_second_parameter"])
    close(
        raw(fitted, location_basis, features),
        prediction,
        1.0 / second if family == "weibull" else second,
    )
    assert fitted.rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)


@pytest.mark.parametrize("family", ["normal", "lognormal", "weibull", "gumbel"])
def test_the_rule_itself_finds_that_explanation(family):
    """Through the front door: the same censored regression where slopes are not shrunk."""
    prediction = read("survreg_fits.json")["fits"]["lung"][family]
    features, time, censored = table_of("lung")
    rule = LatentBand(families=family, random_state=0).fit(COST, features, time, censored=censored)
    fitted_model = rule.fitted_model_
    candidate = candidate_of(family)
    fitted = next(each for each in fitted_model.ranked if each.candidate == candidate)
    free = fit_ridge(fitted.fit.problem, np.zeros(features.shape[1]))
    rows = fitted_model.data.fitted(candidate, free).rows
    assert rows.sum() == pytest.approx(prediction["log_likelihood"], abs=1e-4)
    assert fitted.rows.sum() < rows.sum()  # slopes are shrunk
    assert rule.share_censored_ == pytest.approx(censored.mean())
    exact = maximise(fitted.fit.problem, fitted.fit.parameters, tolerance=1e-8)
    found = raw(fitted_model.data.fitted(candidate, exact), fitted_model.location_basis, features)
    close(found, prediction, prediction["scale"])


def test_stock_says_the_same_as_flags():
    features, time, censored = table_of("lung")
    stock = np.where(censored, time, time + 1.0)
    by_flag = LatentBand(families="weibull", random_state=0)
    by_stock = LatentBand(families="weibull", random_state=0)
    by_flag.fit(COST, features, time, censored=censored)
    by_stock.fit(COST, features, time, stock=stock)
    np.testing.assert_array_equal(by_flag.band(features).high, by_stock.band(features).high)


def test_the_data_carry_their_notice():
    notice = read("censored_times.json")["notice"]
    assert "MIT License" in notice
    assert set(read("censored_times.json")["sources"]) == {"rossi", "lung"}
