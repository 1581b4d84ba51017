"""Revenue of prices: by hand, by closed forms, and by what must follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unmet.errors import InvalidInput
from unmet.evaluation import best_price, expected_revenue, realised_revenue
from unmet.evaluation.revenue import most_revenue


class Known:
    """Rule that knows the distribution: one of scipy.stats, shifted by the first feature."""

    def __init__(self, distribution):
        self.distribution = distribution

    def quantile_function(self, X):
        return lambda level: self.distribution.ppf(level) + np.asarray(X)[:, 0]

    def survival_function(self, X):
        return lambda price: self.distribution.sf(price - np.asarray(X)[:, 0])


def test_a_deal_is_made_at_the_reservation_price_and_not_above():
    price, truth = [9.0, 11.0, 8.0, 10.0], [10.0, 10.0, 8.0, 9.99]
    assert realised_revenue(price, truth) == pytest.approx((9 + 8) / 4)
    assert realised_revenue(price, truth, unit_cost=2) == pytest.approx((7 + 6) / 4)
    assert realised_revenue(9.0, truth, unit_cost=[1, 2, 3, 4]) == pytest.approx((8 + 7 + 5) / 4)
    weights = [3.0, 1.0, 0.0, 0.0]
    assert realised_revenue(price, truth, sample_weight=weights) == pytest.approx(27 / 4)


def test_expected_revenue_is_what_many_buyers_pay():
    distribution = stats.gamma(4.0, scale=3.0)
    truth = distribution.rvs(200_000, random_state=1)
    for price in (5.0, 12.0, 20.0):
        chance = np.full(truth.size, distribution.sf(price))
        expected = expected_revenue(price, chance, unit_cost=3)
        assert realised_revenue(price, truth, unit_cost=3) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("unit_cost", [0.0, 2.0, 7.0])
def test_the_best_price_has_its_closed_forms(unit_cost):
    """Exponential: mean above unit cost; uniform: half way from it to the top."""
    distribution = stats.expon(scale=5.0)
    mean = most_revenue(distribution.ppf, distribution.sf, 1, unit_cost)
    assert mean[0] == pytest.approx(5.0 + unit_cost, rel=1e-6)
    distribution = stats.uniform(0, 10)
    uniform = most_revenue(distribution.ppf, distribution.sf, 1, unit_cost)
    assert uniform[0] == pytest.approx((10 + unit_cost) / 2, rel=1e-6)


@given(
    st.sampled_from(["norm", "gumbel_r", "logistic", "lognorm"]),
    st.floats(20, 60),
    st.floats(1, 15),
    st.floats(0, 1),
)
def test_no_price_earns_more_than_the_best(name, middle, scale, part):
    distribution = stats.lognorm(0.03 * scale, scale=middle) if name == "lognorm" else None
    distribution = getattr(stats, name)(middle, scale) if distribution is None else distribution
    unit_cost = part * middle
    found = best_price(Known(distribution), np.zeros((1, 1)), unit_cost=unit_cost)[0]
    grid = np.linspace(unit_cost, distribution.ppf(0.9999), 4000)
    most = np.max((grid - unit_cost) * distribution.sf(grid))
    assert (found - unit_cost) * distribution.sf(found) >= most * (1 - 1e-9)


def test_rows_have_their_own_prices_and_costs():
    rule, X = Known(stats.norm(50, 8)), np.array([[0.0], [10.0], [10.0]])
    price = best_price(rule, X, unit_cost=[5.0, 5.0, 40.0])
    alone = [
        best_price(rule, X[[row]], unit_cost=cost)[0] for row, cost in enumerate([5.0, 5.0, 40.0])
    ]
    assert price == pytest.approx(alone)
    assert price[0] < price[1] < price[2]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: realised_revenue([1, 2], [1, 2, 3]), "price must be one number or have 3 rows"),
        (lambda: realised_revenue(1, 5), "truth must have one number per row"),
        (lambda: realised_revenue([1], [2], unit_cost=[1, 2]), "unit_cost must be one number or"),
        (lambda: expected_revenue([1], [1.2]), r"survival must lie in \[0, 1\], got 1.2 in row 0"),
        (lambda: expected_revenue([1, 2], [0.1]), "like survival"),
        (lambda: best_price(stats.norm, [[1]]), "rule must have methods quantile_function"),
        (
            lambda: most_revenue(stats.norm.ppf, stats.norm.sf, 2, [1, 2, 3]),
            "unit_cost must be a number or",
        ),
    ],
)
def test_what_cannot_be_priced_is_refused(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_the_higher_of_two_humps_is_found_and_the_highest_level_kept():
    """Half of the buyers pay about 40, half about 80: a grid of prices knows which is better."""

    def survival(price):
        return 0.5 * stats.norm(40, 3).sf(price) + 0.5 * stats.norm(80, 3).sf(price)

    grid = np.linspace(0, 100, 100_001)
    below = 1.0 - survival(grid)

    def quantile(level):
        return np.interp(level, below, grid)

    for unit_cost in (0.0, 20.0):
        best = grid[np.argmax((grid - unit_cost) * survival(grid))]
        found = most_revenue(quantile, survival, 1, unit_cost)[0]
        earned = [(price - unit_cost) * survival(price) for price in (found, best)]
        assert earned[0] >= earned[1] * (1 - 1e-6)
    assert best > 60  # at this unit cost the buyers who pay more are worth it
    capped = most_revenue(quantile, survival, 1, 20.0, highest=0.05)[0]
    assert capped == pytest.approx(quantile(0.05), abs=1e-3)
