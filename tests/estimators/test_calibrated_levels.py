"""Levels moved by held-out rows until truths lie below as often as meant, and where that ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator

from unmet import Newsvendor
from unmet.estimators.levels import ConformalLevels, held_out_levels
from unmet.rows import Rows


def market(generator, n, order=0.7):
    """Levels of truths and of orders by a distribution that is too narrow: deviation 1, not 1.5."""
    truth, stock = generator.normal(0, 1.5, n), generator.normal(order, 1.5, n)
    return ConformalLevels(stats.norm.cdf(np.minimum(truth, stock)), truth > stock)


def coverage(level):
    """Exact share of truths below the quantile at a level of that distribution."""
    return float(stats.norm.cdf(stats.norm.ppf(level), 0, 1.5))


# --- the guarantee, by simulation --------------------------------------------------------------


@pytest.mark.parametrize("level", [0.35, 0.6, 0.75])
def test_the_level_is_reached_on_average(level):
    generator = np.random.default_rng(int(1000 * level))
    reached, naive, bound = [], [], []
    for _ in range(150):
        levels = market(generator, 400)
        found = levels.correction(level)
        reached.append(coverage(level + found.shift))
        bound.append(found.bound)
        seen = ~levels.censored  # the same without weights, as if the seen rows were a fair sample
        fair = ConformalLevels(levels.below[seen], np.zeros(seen.sum(), dtype=bool))
        naive.append(coverage(level + fair.correction(level).shift))
    assert np.mean(reached) == pytest.approx(level, abs=np.mean(bound))
    assert np.mean(naive) < level - 0.05


# --- what it is, where it is something known ----------------------------------------------------


@given(
    values=st.lists(st.integers(0, 20), min_size=45, max_size=90),
    level=st.sampled_from([0.15, 0.5, 0.8]),
)
def test_without_censoring_it_is_the_order_statistic_of_split_conformal(values, level):
    below = np.array(values) / 20
    found = ConformalLevels(below, np.zeros(below.size, dtype=bool)).correction(level)
    place = int(np.ceil(level * (below.size + 1) - 1e-9))
    assert found.applied
    assert level + found.shift == pytest.approx(np.sort(below)[place - 1], abs=1e-12)
    assert found.effective_rows == below.size + 1


@given(seed=st.integers(0, 10**6))
def test_a_higher_level_never_asks_for_less(seed):
    levels = market(np.random.default_rng(seed), 300)
    meant = [0.2, 0.4, 0.6, 0.75, 0.9]
    assert (np.diff(levels.asked(meant)) > 0).all()


# --- levels of a whole distribution -------------------------------------------------------------


class NarrowDistribution(BaseEstimator):
    """A normal distribution around the mean of what is seen, with a given, wrong deviation."""

    def __init__(self, deviation=1.0):
        self.deviation = deviation

    def fit_rows(self, rows, cost, **_):
        assert cost is rows.cost
        self.learned_from_ = rows.n_rows
        columns = np.column_stack([np.ones(rows.n_rows), rows.features])
        self.slopes_ = np.linalg.lstsq(columns, rows.observation, rcond=None)[0]
        return self

    def located(self, X):
        return np.column_stack([np.ones(len(X)), X]) @ self.slopes_

    def survival(self, X, value):
        return stats.norm.sf(value, self.located(X), self.deviation)

    def quantile(self, X, level):
        return stats.norm.ppf(level, self.located(X), self.deviation)


def distribution_rows(generator, n, **known):
    x = generator.uniform(-2, 2, (n, 1))
    truth = 20 + 3 * x[:, 0] + generator.gumbel(0, 2, n)
    stock = 23 + 3 * x[:, 0] + 2.5 * generator.standard_normal(n)
    rows = Rows.of(
        Newsvendor.at_level(0.7), x, np.minimum(truth, stock), None, truth > stock, **known
    )
    return rows, truth


def distribution_coverage(distribution, levels, level):
    x = np.linspace(-2, 2, 101)[:, None]
    asked = distribution.quantile(x, float(levels.asked(level)))
    return float(stats.gumbel_r.cdf(asked, 20 + 3 * x[:, 0], 2).mean())


@pytest.mark.parametrize("level", [0.3, 0.6, 0.8])
def test_a_wrong_distribution_is_asked_at_levels_that_reach_what_is_meant(level):
    generator = np.random.default_rng(7)
    reached, plain = [], []
    for _ in range(40):
        rows, _ = distribution_rows(generator, 400)
        levels = held_out_levels(NarrowDistribution(), rows)
        distribution = NarrowDistribution().fit_rows(rows, rows.cost)
        reached.append(distribution_coverage(distribution, levels, level))
        plain.append(
            distribution_coverage(
                distribution, ConformalLevels(levels.below[:5], levels.censored[:5]), level
            )
        )
    assert np.mean(reached) == pytest.approx(level, abs=0.02)
    assert abs(np.mean(plain) - level) > 0.05  # five rows are too few: the distribution as it is


# --- where it is off ----------------------------------------------------------------------------


def test_few_rows_are_left_alone_and_told():
    levels = market(np.random.default_rng(0), 25)
    found = levels.correction(0.8)
    assert not found.applied
    assert found.shift == 0
    assert found.reason.startswith("Not calibrated: 25 held-out rows are worth")
    assert levels.asked(0.8) == 0.8
