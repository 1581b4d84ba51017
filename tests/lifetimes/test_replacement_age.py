"""Ages from lifetimes: by hand, by brute force, and with suspensions taken for what they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from unmet.costs import AgeReplacement
from unmet.data import load_sae
from unmet.errors import InvalidInput
from unmet.lifetimes import Weibull, optimal_age, replacement_age
from unmet.lifetimes.lifetimes import failure_weights, fit_lognormal, fit_weibull

COST = AgeReplacement(1, 5)


def _suspended(n, seed=0, shape=3.0):
    generator = np.random.default_rng(seed)
    lifetimes = 100 * generator.weibull(shape, n)
    planned = 80 * np.exp(0.5 * generator.standard_normal(n))
    return np.minimum(lifetimes, planned), lifetimes > planned


def test_weights_by_hand():
    # the suspension at 3 hands half of its weight to each of 5 and 8
    assert_allclose(failure_weights([2, 3, 5, 8], [0, 1, 0, 0]), [1, 0, 1.5, 1.5])
    # ties: a part suspended at 5 had survived the failure at 5
    assert_allclose(failure_weights([5, 5, 8], [1, 0, 0]), [0, 1, 2])
    # what is never seen to fail stays with the last suspensions
    assert_allclose(failure_weights([5, 8, 8], [0, 1, 1]), [1, 1, 1])


def test_weights_repeat_rows_and_sum_to_what_is_given():
    times, suspended = _suspended(60)
    count = np.random.default_rng(1).integers(1, 4, 60)
    once = failure_weights(times, suspended, sample_weight=count)
    often = failure_weights(np.repeat(times, count), np.repeat(suspended, count))
    assert_allclose(once, np.add.reduceat(often, np.cumsum(count) - count))
    assert once.sum() == pytest.approx(count.sum())


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=9))
def test_kaplan_meier_age_by_brute_force(rows):
    """C(y) from the product-limit survival, integrated step by step, at many ages."""
    times, suspended = np.array([row[0] for row in rows], float), np.array([r[1] for r in rows])
    if suspended.all():
        return
    steps = np.unique(times[~suspended])
    left = [1 - ((times == t) & ~suspended).sum() / (times >= t).sum() for t in steps]

    def survival(age):  # just before an age
        return float(np.prod([each for t, each in zip(steps, left, strict=True) if t < age]))

    def rate(age):
        edges = [0, *(t for t in steps if t < age), age]
        served = sum((b - a) * survival(0.5 * (a + b)) for a, b in pairwise(edges))
        return (survival(age) + 5 * (1 - survival(age))) / served

    ages = np.arange(0.25, times.max() + 0.01, 0.25)
    found = replacement_age(COST, times, censored=suspended, method="kaplan-meier")
    if np.isfinite(found.age):
        assert found.cost == pytest.approx(min(rate(age) for age in ages))
        assert found.cost == pytest.approx(rate(found.age))
    else:
        assert min(ages, key=rate) == times.max()


def test_taking_suspensions_for_failures_replaces_too_early():
    true = optimal_age(COST, Weibull(3.0, 100.0)).age
    for method in ("weibull", "lognormal", "kaplan-meier"):
        knowing, ignoring = [], []
        for seed in range(5):
            times, suspended = _suspended(400, seed)
            knowing.append(replacement_age(COST, times, censored=suspended, method=method).age)
            ignoring.append(replacement_age(COST, times, method=method).age)
        assert np.median(ignoring) < 0.9 * np.median(knowing)
        if method != "lognormal":  # which is not the distribution here
            assert np.median(knowing) == pytest.approx(true, rel=0.12)


def test_distributions_are_those_of_scipy():
    times, suspended = _suspended(300)
    data = stats.CensoredData(uncensored=times[~suspended], right=times[suspended])
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    distribution = fit_weibull(times, suspended)
    assert (distribution.shape, distribution.scale) == pytest.approx((shape, scale), rel=1e-3)
    deviation, _, median = stats.lognorm.fit(data, floc=0)
    other = fit_lognormal(times, suspended)
    assert (other.deviation, other.median) == pytest.approx((deviation, median), rel=1e-3)
    assert fit_weibull(1e9 * times, suspended).scale == pytest.approx(
        1e9 * distribution.scale, rel=1e-9
    )
    weighted = fit_weibull(times, suspended, sample_weight=np.full(300, 7.0))
    assert weighted.shape == pytest.approx(distribution.shape, rel=1e-10)


def test_real_suspensions_move_the_optimum():
    table = load_sae()
    times, suspended = table["time"].to_numpy(), table["suspended"].to_numpy()
    cost = AgeReplacement(1, 20)
    knowing = replacement_age(cost, times, censored=suspended, method="weibull")
    ignoring = replacement_age(cost, times, method="weibull")
    assert knowing.age > 2 * ignoring.age
    assert "Failures: 10, suspensions: 21" in str(knowing)


def test_where_data_end_the_answer_says_so():
    times = np.array([50.0, 90.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0])
    suspended = times == 100
    cost, known = AgeReplacement(1, 1.5), {"times": times, "censored": suspended}
    found = replacement_age(cost, **known, method="kaplan-meier")
    assert found.age == 100
    assert "very uncertain with fewer than 10 failures: there are 2" in found.notes[1]
    assert "there are no data beyond it" in found.notes[2]
    assert np.isnan(found.run_to_failure)
    far = replacement_age(AgeReplacement(1, 1.5), times, censored=suspended, method="weibull")
    assert far.age > 100
    assert "extrapolated" in str(far)


def test_interval_covers_and_is_reproducible():
    times, suspended = _suspended(200)
    one, two = (
        replacement_age(
            COST, times, censored=suspended, method="weibull", confidence=0.9, resamples=60
        )
        for _ in range(2)
    )
    assert one.interval == two.interval
    low, high = one.interval
    assert low < one.age < high < 2 * low
    assert low < optimal_age(COST, Weibull(3.0, 100.0)).age < high


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"times": [1.0, -2.0]}, "times must be a positive number, got -2.0 in row 1."),
        (
            {"times": [1.0, 2.0], "censored": [True]},
            "censored must have one entry per row of X, got 1 for 2 rows.",
        ),
        (
            {"times": [1.0, 2.0], "censored": [True, True]},
            "censored must be False in at least one row with weight, got 2 rows without a failure: "
            "nothing says how parts age.",
        ),
        (
            {"times": [1.0, 2.0], "method": "gamma"},
            "method must be 'weibull', 'lognormal' or 'kaplan-meier', got 'gamma'.",
        ),
        (
            {"times": [2.0, 2.0], "method": "weibull"},
            "times must hold a failure below the largest time for a distribution to be fitted, got "
            "none below 2.",
        ),
        (
            {"times": [1.0, 2.0], "confidence": 2.0},
            "confidence must be a number above 0 and below 1, got 2.0.",
        ),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        replacement_age(COST, **arguments)
    assert str(caught.value) == sentence


def test_parts_that_were_at_work_before_records_began():
    """Those that failed before are missing; taking the others as new makes lives look longer."""
    generator = np.random.default_rng(5)
    lives, entry = 100 * generator.weibull(2.5, 6000), generator.uniform(0, 120, 6000)
    seen = lives > entry
    lives, entry = lives[seen], entry[seen]
    times = np.minimum(lives, entry + 40.0)
    known = fit_weibull(times, times < lives, entry=entry)
    assert (known.shape, known.scale) == pytest.approx((2.5, 100.0), rel=0.05)
    assert fit_weibull(times, times < lives).scale > 1.1 * known.scale
    none = fit_weibull(times, times < lives, entry=np.zeros(times.size))
    assert none.scale == pytest.approx(fit_weibull(times, times < lives).scale, rel=1e-12)
    with pytest.raises(InvalidInput, match="entry must be below the time of each row"):
        fit_weibull([2.0, 3.0], entry=[1.0, 3.0])
