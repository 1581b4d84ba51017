"""Bad input: one clear sentence each."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LatentBand, Newsvendor
from unmet.errors import InvalidInput

N_ROWS = 80
GENERATOR = np.random.default_rng(0)
FEATURES = GENERATOR.normal(size=(N_ROWS, 2))
SALES = 20.0 + FEATURES @ [2.0, 1.0] + 3.0 * GENERATOR.normal(size=N_ROWS)
COUNTS = GENERATOR.poisson(5.0, N_ROWS).astype(float)
COST = Newsvendor(underage=3, overage=1)


def refuses(said, band=None, X=FEATURES, s=SALES, **known):
    """Check the one sentence that comes back."""
    band = LatentBand(random_state=0) if band is None else band
    with pytest.raises(InvalidInput, match=said) as caught:
        band.fit(COST, X, s, **known)
    message = str(caught.value)
    assert message.endswith(".")
    assert message.count(". ") == 0


@pytest.mark.parametrize(
    "rate",
    [-0.1, 1.0, np.nan, "half", True, (0.1, 1.0), (np.nan, 0.3), (0.1, 0.2, 0.3)],
)
def test_rates_outside_zero_to_one(rate):
    refuses(
        r"sellout_rate must be a number from 0 to below 1, or a range of two, got",
        LatentBand(sellout_rate=rate),
    )


def test_a_range_with_its_ends_crossed():
    refuses(
        r"a range from low to high, such as .1,.3, got \(0\.5, 0\.2\)\.",
        LatentBand(sellout_rate=(0.5, 0.2)),
    )


def test_flags_that_are_none():
    refuses(
        "censored must be True, False, a probability between 0 and 1, or missing, got 2 in row 0",
        censored=np.full(N_ROWS, 2),
    )
    refuses("censored must hold numbers or be missing, got 'yes'", censored=["yes"] * N_ROWS)
    refuses(r"one entry per row, got shape \(80, 2\)", censored=np.zeros((N_ROWS, 2), dtype=bool))


def test_stock_below_the_observation():
    stock = SALES + 1.0
    stock[17] = SALES[17] - 0.01
    refuses("stock must not be below the observation, got stock .* in row 17", stock=stock)
    refuses("stock must have one entry per row of X, got 79 for 80 rows", stock=SALES[:-1])


def test_negative_observations_for_counts():
    refuses(
        "'negative_binomial' needs counts from 0 on, got the negative observation -3",
        LatentBand(families="negative_binomial"),
        s=COUNTS - COUNTS.min() - 3.0,
    )


def test_fractions_for_counts():
    refuses("needs whole numbers, got", LatentBand(families=["normal", "negative_binomial"]))


@pytest.mark.parametrize("family", ["gamma", "lognormal", "weibull"])
def test_observations_that_are_not_positive_for_a_logarithm(family):
    said = f"The family '{family}' needs positive observations, got"
    refuses(said, LatentBand(families=family), s=SALES - 40.0)
    refuses(said, LatentBand(families=family), s=np.append(SALES[:-1], 0.0))


def test_all_rows_censored():
    refuses("got all rows censored", censored=np.ones(N_ROWS, dtype=bool))
    refuses("got all rows censored", stock=SALES)


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_fewer_rows_than_parameters(n_rows):
    refuses(f"X must have at least 8 rows .* got {n_rows}", X=FEATURES[:n_rows], s=SALES[:n_rows])


def test_constant_observations():
    refuses("at least two different observations .* got 80 of 4", s=np.full(N_ROWS, 4.0))


@pytest.mark.parametrize("families", ["norml", ["normal", "x"], ("normal", 2)])
def test_families_that_nobody_knows(families):
    wrong = families if isinstance(families, str) else families[-1]
    refuses(
        f"families must be 'auto' or some of 'normal', .*, got {wrong!r}",
        LatentBand(families=families),
    )


@pytest.mark.parametrize(
    ("orders", "got"), [("never", "'never'"), (["noisy", "x"], "'x'"), ([], "none")]
)
def test_orders_that_nobody_knows(orders, got):
    refuses(
        f"orders must be 'auto' or some of 'absent', 'noisy', 'mixture', got {got}",
        LatentBand(orders=orders),
    )


@pytest.mark.parametrize("most", [99, 1.5, None])
def test_max_rows_that_is_no_number_of_rows(most):
    refuses("max_rows must be a whole number of at least 100, got", LatentBand(max_rows=most))


@pytest.mark.parametrize("location", ["tree", 3.0, COST])
def test_a_location_that_cannot_predict(location):
    refuses("location must be a scikit-learn regressor", LatentBand(location=location))


QUICK = {"families": ["normal", "logistic"], "random_state": 0}


def test_rows_without_weight_do_not_count():
    """Not even if they alone would be refused."""
    weight = np.where(np.arange(N_ROWS) < 60, 2.0, 0.0)
    sales = np.where(weight > 0, SALES, -1e6)
    found = LatentBand(**QUICK).fit(COST, FEATURES, sales, sample_weight=weight)
    expected = LatentBand(**QUICK).fit(COST, FEATURES[:60], SALES[:60])
    np.testing.assert_allclose(found.band(FEATURES).high, expected.band(FEATURES).high)


def test_a_band_of_other_columns_is_refused():
    rule = LatentBand(**QUICK).fit(COST, FEATURES, SALES)
    with pytest.raises(InvalidInput, match="X must have 2 columns as in fit, got 1"):
        rule.band(FEATURES[:, :1])
    with pytest.raises(InvalidInput, match="sellout_rate must be"):
        rule.band_at(FEATURES, 1.2)


def test_a_rate_near_one_leads_to_no_absurd_decision():
    rule = LatentBand(sellout_rate=0.98, random_state=0).fit(COST, FEATURES, SALES)
    band = rule.band(FEATURES)
    assert (band.high > 0).all()
    assert (SALES + band.high <= 3 * SALES.max()).all()
