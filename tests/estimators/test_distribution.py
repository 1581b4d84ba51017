"""Decisions from the distribution: quantiles, independent references, estimator conventions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmet import (
    AgeReplacement,
    DistributionDecision,
    FixedBand,
    LatentBand,
    LinearDecision,
    Newsvendor,
    SquaredError,
    TieredCost,
)
from unmet.errors import InvalidInput, Unsupported
from unmet.lifetimes import latent_ages

COST = Newsvendor(underage=9, overage=1)


def plain(**parameters):
    """The quickest distribution: normal."""
    return LatentBand(**{"families": "normal", "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def shop():
    """Normal demand, stock that moves with it less than demand does, and flags."""
    generator = np.random.default_rng(5)
    X = generator.uniform(size=(3000, 2))
    demand = 60 + X @ [40.0, -15.0] + generator.normal(scale=11, size=3000)
    stock = 62 + X @ [25.0, -10.0] + generator.normal(scale=8, size=3000)
    return X, demand, stock, np.minimum(demand, stock)


@pytest.fixture(scope="module")
def fitted(shop):
    X, _, stock, sales = shop
    return DistributionDecision(COST, plain()).fit(X, sales, stock=stock)


def tobit(X, sales, censored):
    """Normal distribution with censored rows by scipy: coefficients, the constant first, and σ."""
    basis = np.column_stack([np.ones(len(X)), X])

    def negative(parameters):
        scale = np.exp(parameters[-1])
        z = (sales - basis @ parameters[:-1]) / scale
        row = np.where(censored, stats.norm.logsf(z), stats.norm.logpdf(z) - parameters[-1])
        return -row.sum()

    start = np.append(np.linalg.lstsq(basis, sales, rcond=None)[0], np.log(sales.std()))
    found = optimize.minimize(negative, start, method="BFGS").x
    return found[:-1], np.exp(found[-1])


def test_decides_the_quantile_of_the_distribution_at_the_level_of_the_cost(fitted, shop):
    X = shop[0]
    assert np.array_equal(fitted.predict(X), fitted.band_rule_.quantile(X, 0.9))
    assert fitted.diagnosis_ is fitted.band_rule_.diagnosis_
    assert fitted.band_ is None


@pytest.mark.parametrize("level", [0.3, 0.9])
def test_without_censoring_it_comes_to_the_normal_quantile_of_least_squares(shop, level):
    X, demand = shop[:2]
    model = DistributionDecision(Newsvendor.at_level(level), plain(orders="absent")).fit(X, demand)
    least_squares = LinearRegression().fit(X, demand)
    spread = np.std(demand - least_squares.predict(X), ddof=3)
    expected = least_squares.predict(X) + spread * stats.norm.ppf(level)
    assert np.abs(model.predict(X) - expected).max() < 0.12 * spread


def test_with_flags_it_comes_to_a_tobit_model(shop):
    (X, demand, stock, sales), level = shop, 0.9
    model = DistributionDecision(Newsvendor.at_level(level), random_state=0)
    model.fit(X, sales, censored=demand >= stock)
    coefficients, scale = tobit(X, sales, demand >= stock)
    expected = coefficients[0] + X @ coefficients[1:] + scale * stats.norm.ppf(level)
    assert scale == pytest.approx(11, abs=0.6)  # the reference itself
    assert np.abs(model.predict(X) - expected).mean() < 0.12 * scale


def test_beats_taking_sales_for_demand(shop, fitted):
    X, demand, _, sales = shop
    ignoring = LinearDecision(COST).fit(X, sales)
    assert fitted.score(X, demand) > 0.8 * ignoring.score(X, demand)  # scores are negative
    assert np.mean(demand <= fitted.predict(X)) == pytest.approx(0.9, abs=0.02)


@given(st.floats(0.01, 500.0))
@settings(max_examples=4, deadline=None)
def test_decisions_scale_with_the_observations(shop, factor):
    X, demand, stock, sales = (each[:300] for each in shop)
    one, other = (
        DistributionDecision(COST, plain())
        .fit(X, scale * sales, censored=demand >= stock)
        .predict(X)
        for scale in (1.0, factor)
    )
    assert other == pytest.approx(factor * one, rel=1e-3)


def test_costs_per_row_are_used_where_rows_have_them(fitted, shop):
    X = shop[0][:3]
    each = fitted.predict(X, underage=[9, 1, 3])
    assert each[0] == fitted.predict(X)[0]
    assert each[1] == fitted.band_rule_.quantile(X, 0.5)[1]
    assert each[2] == pytest.approx(fitted.band_rule_.quantile(X, 0.75)[2])
    lots = fitted.decide(X, step=5, underage=[9, 1, 3])
    assert (lots % 5 == 0).all()
    assert (np.abs(lots - each) < 5).all()
    with pytest.raises(InvalidInput, match="underage"):
        fitted.predict(X, underage=[9, 1])


def test_other_costs_get_the_decision_of_least_expected_cost(shop):
    X, demand, stock, sales = (each[:400] for each in shop)
    flags = {"censored": demand >= stock}
    mean = DistributionDecision(SquaredError(), plain()).fit(X, sales, **flags)
    assert mean.predict(X) == pytest.approx(mean.band_rule_.quantile(X, 0.5), abs=0.1)  # symmetric
    same = DistributionDecision(
        TieredCost((3, 3), (1, 1), underage_breaks=5, overage_breaks=5), plain()
    )
    two = same.fit(X, sales, **flags).predict(X)
    assert np.abs(two - same.band_rule_.quantile(X, 0.75)).max() < 1.5  # found on nodes
    cost = AgeReplacement(planned=1, failure=8)
    ages = DistributionDecision(cost, plain(families="weibull")).fit(X, sales, **flags)
    expected = latent_ages(ages.band_rule_, X)
    assert np.isfinite(expected).all()
    assert ages.predict(X) == pytest.approx(expected)
    assert (ages.decide(X, step=5) % 5 == 0).all()


def test_lots_are_weighed_by_the_distribution_not_by_sales(shop):
    X, demand, stock, _ = (each[:600] for each in shop)
    short = np.minimum(demand, stock - 15)  # nearly all rows sold out
    model = DistributionDecision(COST, plain()).fit(X, short, censored=demand >= stock - 15)
    low, high = model.decide(X, step=40), model.predict(X)
    paid = [COST.cost(lots, demand).mean() for lots in (low, 40 * np.floor(high / 40))]
    assert paid[0] < paid[1]
    assert model.decide(X, step=40, minimum=120).min() >= 0


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (
            DistributionDecision(band=None),
            InvalidInput,
            "band must be a band rule such as LatentBand",
        ),
        (DistributionDecision(band=FixedBand(0, 3)), Unsupported, "cannot say quantiles"),
        (DistributionDecision(distribution="bent"), InvalidInput, "distribution must be"),
        (DistributionDecision(cost=3), InvalidInput, "cost must be"),
        (
            DistributionDecision(band=LatentBand(location=None), distribution="boosted"),
            Unsupported,
            "needs LatentBand",
        ),
    ],
)
def test_wrong_parameters_are_named(model, error, words, shop):
    with pytest.raises(error, match=words):
        model.fit(shop[0][:50], shop[3][:50])


def _by_folds(estimator):
    """Give the checks that cannot hold: candidates are compared on folds of rows."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(names, "a row that is repeated may be on both sides of a fold")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [DistributionDecision(COST, LatentBand(families="normal", orders="absent", random_state=0))],
    expected_failed_checks=_by_folds,
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)
