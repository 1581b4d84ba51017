"""Simulated lifetimes: the distribution they are drawn from, what is hidden, and the best ages."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from unmet.costs import AgeReplacement, PreventiveReplacement
from unmet.simulate import replacement

COST = AgeReplacement(1, 6)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_lifetimes_have_the_distribution_that_is_kept(family):
    part = replacement(family, n=3000, n_test=1, seed=2).train
    uniform = 1 - part.distribution.survival(part.lifetimes)
    assert stats.kstest(uniform, "uniform").pvalue > 0.01
    logs = np.log(part.distribution.quantile(0.5))
    effect = np.linalg.lstsq(np.column_stack([part.features, np.ones(3000)]), logs, rcond=None)[0]
    assert effect[:4] == pytest.approx([-0.8, -0.25, -0.3, 0.0], abs=1e-9)


@pytest.mark.parametrize("policy", ["fixed", "noisy", "features"])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_policies_hide_the_share_asked_for(policy, share):
    part = replacement(policy=policy, share=share, n=4000, n_test=1).train
    assert part.share_censored == pytest.approx(share, abs=0.03)
    assert_array_equal(part.times, np.minimum(part.lifetimes, part.intervals))
    assert_array_equal(part.times[~part.censored], part.lifetimes[~part.censored])
    assert (np.unique(part.intervals).size == 1) == (policy == "fixed")


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_no_shift_of_the_optimum_is_better(family):
    part = replacement(family, n=20, n_test=8000, seed=3).test
    best = part.optimum(COST, together=True)
    rates = [COST.rate_of(factor * best, part.lifetimes) for factor in (0.85, 1.0, 1.15)]
    assert min(rates) == rates[1] == pytest.approx(part.best_rate(COST), rel=0.04)
    assert rates[1] < COST.rate_of(part.optimum(COST), part.lifetimes)
    discounted = PreventiveReplacement(1, 6, discount=0.001)
    ages = part.optimum(discounted)
    paid = [discounted.cost(factor * ages, part.lifetimes).mean() for factor in (0.7, 1.0, 1.4)]
    assert min(paid) == paid[1]


def test_seeds_repeat_and_test_rows_do_not_move_training_rows():
    one, two = replacement(seed=4, n=60), replacement(seed=4, n=60, n_test=7)
    assert_array_equal(one.train.times, two.train.times)
    assert not np.array_equal(one.train.times, replacement(seed=5, n=60).train.times)
    table = one.train.to_polars()
    assert table.columns[-3:] == ["time", "suspended", "lifetime"]
    assert table.height == len(one.train)
