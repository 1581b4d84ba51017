"""Levels moved by held-out rows until truths lie below as often as meant, and where that ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logit
from sklearn.base import BaseEstimator

from unmet import Newsvendor
from unmet.errors import InvalidInput
from unmet.models.levels import ConformalCorrection, ConformalLevels, _folds, held_out_levels
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


@settings(max_examples=25, deadline=None)
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


@settings(max_examples=20, deadline=None)
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


def test_levels_rise_and_what_lies_beyond_is_moved_like_the_highest():
    generator = np.random.default_rng(2)
    rows, _ = distribution_rows(generator, 1500)
    levels = held_out_levels(NarrowDistribution(), rows)
    meant = np.array([0.2, 0.5, 0.7, 0.9, 0.97, 0.99])
    asked = levels.asked(meant)
    assert (np.diff(asked) > 0).all()
    assert asked[0] == levels.asked(0.2)
    highest = levels.highest
    assert levels.correction(highest).applied
    assert not levels.correction(highest + 0.0101).applied
    edge = highest + levels.correction(highest).shift
    for level, found in zip(meant, asked, strict=True):
        if level > highest:
            assert logit(found) - logit(level) == pytest.approx(logit(edge) - logit(highest))
    assert meant[-1] > highest


def test_whole_weeks_are_held_out_and_unknown_rows_are_not_counted():
    generator = np.random.default_rng(2)
    days = np.datetime64("2024-01-01") + np.arange(200)
    rows, _ = distribution_rows(generator, 200, time=days)
    fold = _folds(rows, 4, 0)
    assert (fold[:7] == 0).all()
    assert (fold[7:14] == 1).all()
    assert fold[28] == 0
    left = np.flatnonzero(np.arange(200) // 7 % 4 != 0)  # every fourth week held out elsewhere
    assert np.bincount(_folds(rows.take(left), 4, 0)).min() > 20
    some = replace(rows, censored=np.where(np.arange(200) < 50, np.nan, rows.censored))
    assert held_out_levels(NarrowDistribution(), some).below.size == 150
    assert held_out_levels(NarrowDistribution(), replace(rows, censored=None)) is None
    assert (
        held_out_levels(NarrowDistribution(), replace(rows, censored=np.full(200, np.nan))) is None
    )
    undated = _folds(replace(rows, time=None), 4, 0)
    assert np.bincount(undated).tolist() == [50] * 4
    assert (undated[:7] != 0).any()


# --- where it is off ----------------------------------------------------------------------------


def test_few_rows_are_left_alone_and_told():
    levels = market(np.random.default_rng(0), 25)
    found = levels.correction(0.8)
    assert not found.applied
    assert found.shift == 0
    assert found.reason.startswith("Not calibrated: 25 held-out rows are worth")
    assert levels.asked(0.8) == 0.8


def test_levels_beyond_what_is_seen_are_left_alone_and_told():
    # orders end where 70% of the truths lie: nothing above was ever seen
    generator = np.random.default_rng(0)
    truth = generator.uniform(size=2000)
    stock = np.minimum(generator.beta(3, 1, 2000), 0.7)
    levels = ConformalLevels(np.minimum(truth, stock), truth > stock)
    assert levels.correction(0.5).shift == pytest.approx(0.0, abs=0.05)
    beyond = levels.correction(0.9)
    assert not beyond.applied
    assert beyond.reached is None  # the quantile itself lies where nothing was seen
    assert "seen rows reach the" in beyond.reason
    assert float(beyond.reason.split("the ")[1].split("%")[0]) == pytest.approx(70, abs=5)


def test_the_standard_error_is_that_of_many_draws():
    generator = np.random.default_rng(8)
    for order, largest in ((4.0, 1.15), (0.7, 1.5)):
        found = [market(generator, 300, order).correction(0.6) for _ in range(200)]
        spread = np.std([each.reached for each in found])
        assert np.mean([each.reached for each in found]) == pytest.approx(coverage(0.6), abs=0.01)
        # the error takes weights as known; those that are estimated make the spread smaller
        assert 0.85 < np.mean([each.standard_error for each in found]) / spread < largest


def test_a_level_of_one_gets_a_sentence():
    with pytest.raises(InvalidInput, match="level must be"):
        market(np.random.default_rng(0), 60).correction(1.0)


def test_the_record_says_how_far_it_may_be_off():
    assert ConformalCorrection(0.9, 0.1, 0.8, 0.02, 100, 50.0).bound == pytest.approx(0.02)
    assert ConformalCorrection(0.9, 0.0, None, None, 0, 0.0, "none").bound == 1.0
