"""LatentBand under models that can bend: trees stand for the features where demand bends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.censoring.latent.location import find_location
from unmet.rows import Rows
from unmet.simulate import censoring_lab, nonlinear_demand

COST = Newsvendor.at_level(0.85)
FAMILIES = ("normal", "logistic")


class Bent(BaseEstimator):
    """A model that is not linear, for all that anybody can see."""


def rule(**options):
    return LatentBand(**{"families": "normal", "random_state": 0, **options})


def fitted(part, estimator=None, known=None, **options):
    model = Bent() if estimator is None else estimator
    return rule(**options).fit(COST, part.features, part.sales, estimator=model, **(known or {}))


def trees(features, target, level):
    """Another library's trees: what a band is worth does not depend on our own models."""
    model = HistGradientBoostingRegressor(
        loss="quantile", quantile=level, max_leaf_nodes=8, max_iter=150, random_state=0
    )
    return model.fit(features, target)


def closed(data, found, level=0.85):
    """Share of the gap between ignoring censoring and the true quantile."""
    train, test, cost = data.train, data.test, Newsvendor.at_level(level)
    band = found.band(train.features, cost=cost)
    np.testing.assert_array_equal(band.low, band.high)
    paid = [
        cost.cost(decision, test.demand).mean()
        for decision in (
            trees(train.features, train.sales, level).predict(test.features),
            trees(train.features, train.sales + band.low, level).predict(test.features),
            test.optimum(level),
        )
    ]
    return (paid[0] - paid[1]) / (paid[0] - paid[2])


@pytest.fixture(scope="module")
def at_mass():
    return nonlinear_demand(0, n=1200)


@pytest.fixture(scope="module")
def found(at_mass):
    return fitted(at_mass.train, families=FAMILIES)


# --- nothing known ------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.75, 0.95])
def test_orders_piled_up_on_a_bent_surface_are_seen_through(at_mass, found, level):
    assert closed(at_mass, found, level) > 0.6
    assert found.diagnosis_.share_censored == pytest.approx(at_mass.train.share_censored, abs=0.12)
    assert found.diagnosis_.identified != "no"


def test_features_alone_see_nothing_there(at_mass):
    features = fitted(at_mass.train, location=None)
    assert not features.band(at_mass.train.features).low.any()


@pytest.mark.slow
def test_a_spread_that_differs_by_product_is_followed():
    part = nonlinear_demand(1, n=2000, scale="features").train
    shift = fitted(part).band(part.features).low
    products = {name: shift[part.category == name].mean() for name in set(part.category)}
    # deviations are 20, 12, 30 and 16: bread is the most uncertain, soup the least
    assert products["bread"] == max(products.values()) > 1.4 * products["soup"]


def test_the_diagnosis_says_what_stood_for_the_features(at_mass, found):
    (note,) = [note for note in found.diagnosis_.notes if "rees stand for the features" in note]
    straight = LinearRegression().fit(at_mass.train.features, at_mass.train.sales)
    left = np.var(at_mass.train.sales - straight.predict(at_mass.train.features))
    # of the variance that a plane leaves, all but that of min(Z, 0), Z of deviation 20, is bends
    bends = 1 - 400 * (0.5 - 0.5 / np.pi) / left
    assert bends - 0.1 < float(note.split("plane, ")[1].split("%")[0]) / 100 < bends


def test_the_picture_shows_residuals_of_rows_that_trees_had_not_seen(found):
    plot = found.diagnosis_.quantiles
    ends = [np.array(each)[[2, -3]] for each in (plot.observed, plot.modelled)]
    spread = [float(np.ptp(each)) for each in ends]
    assert spread[0] > 0.9 * spread[1]


# --- which location -----------------------------------------------------------------------------


def test_linear_models_keep_the_features(found):
    assert found.model_.basis.location is not None
    part = nonlinear_demand(0, n=300).train
    plain = fitted(part, location=None)
    for model in (LinearDecision(), None):
        other = rule().fit(COST, part.features, part.sales, estimator=model)
        assert other.model_.basis.location is None
        np.testing.assert_array_equal(
            other.band(part.features, cost=Newsvendor(9, 1)).low,
            plain.band(part.features, cost=Newsvendor(9, 1)).low,
        )


def test_demand_that_does_not_bend_keeps_the_features():
    part = censoring_lab(orders="noisy", n=500).train
    bent = fitted(part)
    assert bent.model_.basis.location is None
    np.testing.assert_array_equal(
        bent.band(part.features).low, fitted(part, location=None).band(part.features).low
    )


@pytest.mark.parametrize(("n_rows", "bends"), [(149, False), (150, True)])
def test_few_rows_keep_the_features(n_rows, bends):
    generator = np.random.default_rng(0)
    features = generator.uniform(-1, 1, (n_rows, 1))
    sales = 80 + 30 * (np.abs(features[:, 0]) > 0.5) + generator.normal(size=n_rows)
    location = find_location(Rows.read(COST, features, sales), "auto", Bent(), 0, [])
    assert (location is not None) == bends


@pytest.mark.parametrize("location", ["tree", 7, Newsvendor])
def test_bad_locations(at_mass, location):
    with pytest.raises(ValueError, match=r"'auto', 'trees' or None, got .*tree|7|Newsvendor"):
        fitted(at_mass.train, location=location)


# --- the columns --------------------------------------------------------------------------------


@pytest.mark.slow
def test_flags_of_orders_that_did_not_follow_demand(at_mass):
    train = at_mass.train
    order = LinearRegression().fit(train.features, train.demand).predict(train.features)
    order += np.random.default_rng(3).normal(0, 5, order.size)
    train = replace(train, order=order)
    flagged = fitted(train, known={"censored": train.censored})
    assert closed(replace(at_mass, train=train), flagged) > 0.75
