"""Tests that may be looked at every day: levels over half a year of looking, and power."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unmet.planning.sequential import (
    days_alike,
    discoveries,
    independent_trials,
    rank_evidence,
    rate_evidence,
    started_anew,
)

RUNS, DAYS, PAST = 300, 182, 112
LEVEL = 0.05
# more alarms than these in 300 runs happen once in a thousand times if the level is kept
MOST = stats.binom(RUNS, LEVEL).ppf(0.999) / RUNS
WEEK = np.arange(PAST + DAYS) % 7
PROFILE = np.array([0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 0.8])[WEEK]


def alarms(evidence):
    """Share of runs in which somebody who looks every day would ever have been alarmed."""
    return np.mean(evidence.max(axis=-1) >= -np.log(LEVEL))


def delays(evidence, level):
    """Days until the alarm, infinite where there was none."""
    found = [next(iter(np.flatnonzero(each[1:] >= -np.log(level))), None) for each in evidence]
    return np.array([np.inf if day is None else day + 1 for day in found])


# --- Rates.


def shares(rate, n_series, alike, seed, days=PAST + DAYS):
    """Daily shares of series that sold out; `alike` is the correlation between two of them."""
    generator = np.random.default_rng(seed)
    chance = np.full((RUNS, days), rate)
    if alike:
        size = (1.0 - alike) / alike
        chance = generator.beta(rate * size, (1.0 - rate) * size, (RUNS, days))
    return generator.binomial(n_series, chance) / n_series


def rate_of(seen, planned, n_series, above, past=PAST):
    trials = independent_trials(seen, np.full(seen.shape, float(n_series)), past)
    return rate_evidence(seen[:, past:], np.full(DAYS, planned), trials, above=above)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(
    ("rate", "n_series", "alike"), [(0.15, 1, 0), (0.05, 10, 0.1), (0.15, 300, 0.3)]
)
def test_rates_keep_their_level(rate, n_series, alike, above):
    evidence = rate_of(shares(rate, n_series, alike, 0), rate, n_series, above)
    assert alarms(evidence) <= MOST
    assert np.mean(np.exp(evidence[:, -1])) < 1.6  # the mean of an e-process is at most 1


def test_rates_keep_their_level_without_a_past_and_with_all_series_alike():
    generator = np.random.default_rng(3)
    together = (generator.random((RUNS, DAYS)) < 0.1).astype(float)  # all or nothing, 300 series
    for above in (True, False):
        assert alarms(rate_of(together, 0.1, 300, above, past=0)) <= MOST


def test_a_rate_inside_of_the_plan_raises_fewer_alarms():
    assert alarms(rate_of(shares(0.10, 10, 0.1, 1), 0.15, 10, True)) <= 0.01
    assert alarms(rate_of(shares(0.10, 10, 0.1, 1), 0.05, 10, False)) <= 0.01


@pytest.mark.parametrize(("n_series", "days"), [(10, 30), (300, 20)])
def test_tripled_sell_outs_are_found(n_series, days):
    evidence = rate_of(shares(0.3, n_series, 0.05, 2), 0.15, n_series, True)
    assert np.quantile(delays(evidence, 0.002), 0.9) <= days + 10
    assert np.median(delays(evidence, 0.002)) <= days


def test_one_series_is_the_likelihood_ratio_of_coins():
    seen = np.array([1.0, 0.0, 1.0])
    found = rate_evidence(seen, np.full(3, 0.2), np.ones(3), above=True)
    odds = np.array([1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0]) * 0.2 / 0.8
    other = odds / (1.0 + odds)
    ratio = (other / 0.2) ** 2 * (1.0 - other) / 0.8
    assert np.exp(found[-1]) == pytest.approx(0.5 + 0.5 * ratio.mean())


# --- Levels.


def sold(level, change, spread, seed, runs=RUNS, begin=0):
    generator = np.random.default_rng(seed)
    mean = level * PROFILE * np.ones((runs, 1))
    mean[:, PAST + begin :] *= change
    if spread:
        mean = mean * generator.gamma(1.0 / spread, spread, mean.shape)
    return generator.poisson(mean).astype(float)


def ranks_of(values, above, tolerance=0.1):
    return rank_evidence(
        values[:, :PAST],
        values[:, PAST:],
        tolerance=tolerance,
        above=above,
        of_reference=WEEK[:PAST],
        of_fresh=WEEK[PAST:],
    )


@pytest.mark.parametrize(("above", "change"), [(True, 1.1), (False, 0.9)])
@pytest.mark.parametrize(("level", "spread"), [(0.4, 0), (200, 1.0)])
def test_levels_keep_their_level_at_the_edge_of_the_tolerance(level, spread, above, change):
    assert alarms(ranks_of(sold(level, change, spread, 0), above)) <= MOST


def test_a_level_is_known_by_its_ranks_alone():
    values = sold(20, 1.0, 0.1, 0)
    np.testing.assert_allclose(
        ranks_of(values, True, 0.0), ranks_of(np.expm1(values / 50), True, 0.0)
    )


@pytest.mark.parametrize(
    ("level", "change", "days", "begin"), [(5, 2.0, 28, 0), (100, 0.5, 8, 0), (100, 1.4, 14, 133)]
)
def test_a_changed_level_is_found(level, change, days, begin):
    evidence = ranks_of(sold(level, change, 0, 1, begin=begin), change > 1)
    found = delays(evidence, 0.002) - begin
    assert np.quantile(found, 0.9) <= days
    assert (found > 0).all()


@pytest.mark.parametrize(("stays", "spread"), [(0.5, 0.2), (0.8, 0.2)])
def test_warm_weeks_keep_the_level(stays, spread):
    """A level that wanders, from day to day with an autocorrelation: many days count as few."""
    generator = np.random.default_rng(5)
    noise = generator.normal(size=(RUNS, PAST + DAYS))
    for day in range(1, PAST + DAYS):
        noise[:, day] = stays * noise[:, day - 1] + np.sqrt(1 - stays**2) * noise[:, day]
    values = np.exp(spread * noise)
    alike = np.array([days_alike(each[:PAST], WEEK[:PAST]) for each in values])
    assert 1.5 < np.median(alike) <= 4.0
    how = {"tolerance": 0.1, "of_reference": WEEK[:PAST], "of_fresh": WEEK[PAST:]}
    both = [
        rank_evidence(values[:, :PAST], values[:, PAST:], above=above, alike=alike[:, None], **how)
        for above in (True, False)
    ]
    assert alarms(np.logaddexp(*both) - np.log(2)) <= MOST
    doubled = rank_evidence(
        values[:, :PAST], 2 * values[:, PAST:], above=True, alike=alike[:, None], **how
    )
    assert np.median(delays(doubled, 0.002)) <= 35


# --- What holds for all of them.


@given(
    st.integers(1, 6),
    st.integers(1, 25),
    st.integers(0, 2**31),
    st.booleans(),
)
def test_evidence_starts_at_one_and_knows_no_order_of_series(n_series, n_days, seed, above):
    generator = np.random.default_rng(seed)
    before = generator.poisson(3.0, (n_series, 28)).astype(float)
    after = generator.poisson(4.0, (n_series, n_days)).astype(float)
    after[generator.random(after.shape) < 0.2] = np.nan
    of_before, of_after = np.arange(28) % 7, np.arange(28, 28 + n_days) % 7
    order = generator.permutation(n_series)

    def evidence(rows):
        return rank_evidence(
            before[rows],
            after[rows],
            tolerance=0.1,
            above=above,
            of_reference=of_before,
            of_fresh=of_after,
        )

    found = evidence(np.arange(n_series))
    assert found.shape == (n_series, n_days + 1)
    np.testing.assert_array_equal(found[:, 0], 0.0)
    np.testing.assert_array_equal(evidence(order), found[order])
    moved = discoveries(found[:, -1], 0.3)
    np.testing.assert_array_equal(discoveries(found[order, -1], 0.3), moved[order])
    share = generator.random(n_days)
    rate = rate_evidence(share, np.full(n_days, 0.2), np.full(n_days, 3.0), above=above)
    assert rate[0] == 0.0


def test_beginnings_by_brute_force():
    increments = np.random.default_rng(0).normal(size=(2, 17))
    total = 1.0 - sum(1 / (k * (k + 1)) for k in (1, 2, 3))
    for week in range(3):
        bets = np.exp(increments[:, 7 * week :].sum(axis=1)).mean()
        total += bets / ((week + 1) * (week + 2))
    assert np.exp(started_anew(increments)[-1]) == pytest.approx(total)


def test_false_discoveries_are_few():
    false, total = [], []
    for seed in range(10):
        still = sold(20, 1.0, 0.1, seed, runs=40)
        moved = sold(20, 2.5, 0.1, 100 + seed, runs=10)
        values = np.concatenate([still, moved])
        both = [ranks_of(values, above, 0.25) for above in (True, False)]
        evidence = np.logaddexp(*both) - np.log(2)
        found = discoveries(evidence[:, 84], 0.1)
        false.append(found[:40].sum() / max(found.sum(), 1))
        total.append(found[40:].mean())
    assert np.mean(false) <= 0.1
    assert np.mean(total) >= 0.9


def test_discoveries_by_brute_force():
    generator = np.random.default_rng(0)
    for _ in range(50):
        values = np.exp(generator.normal(2.0, 2.0, 9))
        best = max(
            (k for k in range(10) if k == 0 or (values >= 9 / (k * 0.2)).sum() >= k), default=0
        )
        assert discoveries(np.log(values), 0.2).sum() == best
