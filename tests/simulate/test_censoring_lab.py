"""The censoring lab: families, scales, orders, and the best decision kept beside them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from unmet.errors import InvalidInput
from unmet.simulate import censoring_lab
from unmet.simulate.demand import FAMILIES, distribution

LEVELS = (0.15, 0.55, 0.75, 0.95)
SCALED = ("constant", "level", "features")
COUNTS = ("poisson", "negative_binomial")
# demand of the first day with seed 0: a change here changes every published figure of the lab
PINNED = [
    105.0768631448,
    121.4318185592,
    132.6179765711,
    70.57075917479,
    129.2490468465,
    126.8287294998,
    74.96500133642,
    132.7219586028,
    63.55968961699,
]


def whole(lab, name):
    return np.concatenate([getattr(part, name) for part in (lab.train, lab.test)])


def one(family, mean=80.0, deviation=16.0, shape=0.0):
    return distribution(family, np.array([mean]), np.array([deviation]), shape)


def quantiles(family, *levels, **options):
    return np.array([float(one(family, **options).ppf(level)[0]) for level in levels])


# --- families -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "shape"),
    [(f, {"student": 7.0, "gamma_noise": 1.5}.get(f, 0.0)) for f in FAMILIES if f not in COUNTS],
)
def test_mean_and_deviation_mean_the_same_in_every_family(family, shape):
    # moments as integrals of the quantile function over log-odds, where both tails are resolved
    odds = np.linspace(-34, 34, 4001)
    level = 1 / (1 + np.exp(-odds))
    weight = (odds[1] - odds[0]) * level * (1 - level)
    truth = distribution(family, np.full(4001, 80.0), np.full(4001, 16.0), shape)
    value = truth.ppf(level)
    mean = (weight * value).sum()
    assert mean == pytest.approx(80, abs=1e-4)
    assert math.sqrt((weight * (value - mean) ** 2).sum()) == pytest.approx(16, rel=2e-3)


@pytest.mark.parametrize(("family", "variance"), [("poisson", 30.0), ("negative_binomial", 130.0)])
def test_moments_of_counts(family, variance):
    truth = one(family, mean=30.0, deviation=math.sqrt(variance))
    count = np.arange(400)
    chance = truth.sf(count - 1) - truth.sf(count)
    assert chance.sum() == pytest.approx(1)
    assert (chance * count).sum() == pytest.approx(30)
    assert (chance * (count - 30) ** 2).sum() == pytest.approx(variance)


def test_shapes_of_the_families_from_tables_and_by_hand():
    def stretch(family, **options):
        """(q.95 − q.5) / (q.75 − q.5): free of mean and deviation."""
        low, middle, high = quantiles(family, 0.5, 0.75, 0.95, **options)
        return (high - low) / (middle - low)

    assert stretch("normal") == pytest.approx(1.644854 / 0.674490, rel=1e-5)
    assert stretch("logistic") == pytest.approx(math.log(19) / math.log(3))
    assert stretch("laplace") == pytest.approx(math.log(10) / math.log(2))
    assert stretch("student", shape=5.0) == pytest.approx(2.015048 / 0.726687, rel=1e-5)
    double_log = [-math.log(-math.log(level)) for level in (0.5, 0.75, 0.95)]
    expected = (double_log[2] - double_log[0]) / (double_log[1] - double_log[0])
    assert stretch("gumbel") == pytest.approx(expected)
    # shape 1 is the exponential distribution, which starts one deviation below its mean
    low, middle, high = quantiles("gamma_noise", 1e-12, 0.5, 0.95, shape=1.0)
    assert low == pytest.approx(64)
    assert (high - low) / (middle - low) == pytest.approx(math.log(20) / math.log(2))
    logs = np.log(quantiles("lognormal", 0.5, 0.75, 0.95))
    assert (logs[2] - logs[0]) / (logs[1] - logs[0]) == pytest.approx(1.644854 / 0.67449, rel=1e-5)
    logs = np.log(quantiles("weibull", 0.5, 0.75, 0.95))
    single = [math.log(-math.log(1 - level)) for level in (0.5, 0.75, 0.95)]
    assert (logs[2] - logs[0]) / (logs[1] - logs[0]) == pytest.approx(
        (single[2] - single[0]) / (single[1] - single[0])
    )


# --- the best decision --------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["laplace", "weibull", "poisson", "negative_binomial"])
def test_optimum_is_the_quantile_of_demand_within_every_category(family):
    for scale in (None,) if family == "poisson" else SCALED:
        lab = censoring_lab(family, scale=scale, n=4500, n_test=900, seed=5)
        for level in LEVELS:
            below = np.concatenate(
                [part.demand < part.optimum(level) for part in (lab.train, lab.test)]
            )
            upto = np.concatenate(
                [part.demand <= part.optimum(level) for part in (lab.train, lab.test)]
            )
            category = whole(lab, "category")
            for name in np.unique(category):
                rows = category == name
                error = 4.5 * math.sqrt(level * (1 - level) / rows.sum())
                assert upto[rows].mean() > level - error
                assert below[rows].mean() < level + error
                if family not in COUNTS:
                    assert upto[rows].mean() == pytest.approx(level, abs=error)


def test_clipping():
    raw = censoring_lab("laplace", spread=0.9, clip=False, seed=4)
    clipped = censoring_lab("laplace", spread=0.9, seed=4)
    for rough, smooth in ((raw.train, clipped.train), (raw.test, clipped.test)):
        assert (rough.demand < 0).mean() > 0.05
        assert np.array_equal(smooth.demand, np.maximum(rough.demand, 0))
        assert smooth.order.min() >= 0
        assert np.array_equal(smooth.optimum(0.03), np.maximum(rough.optimum(0.03), 0))
        assert rough.optimum(0.03).min() < 0


# --- orders -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "orders"),
    [("normal", "at_mass"), ("normal", "noisy"), ("poisson", "noisy")],
)
@pytest.mark.parametrize("share", [0.1, 0.45])
def test_share_censored_is_as_asked(family, orders, share):
    options = {"orders": orders, "share": share, "n": 3000, "n_test": 3000}
    labs = [censoring_lab(family, seed=seed, **options) for seed in (1, 2)]
    found = np.mean([part.share_censored for lab in labs for part in (lab.train, lab.test)])
    # whole units of stock cannot meet a share exactly
    grain = 0.004 if family in COUNTS else 0.0
    assert found == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 12_000) + grain)


def test_counts_are_whole_numbers():
    part = censoring_lab("poisson", n=450, n_test=45).train
    assert (part.order >= part.mean).all()  # rounded up
    assert (part.order < part.mean + 1).all()
    for family, orders in product(COUNTS, ("at_mass", "noisy", "never")):
        lab = censoring_lab(family, orders=orders, n=450, n_test=45)
        for name in ("demand", "order", "sales"):
            values = whole(lab, name)
            assert np.array_equal(values, np.round(values))


# --- seeds, rows and features -------------------------------------------------------------------


def test_policies_of_one_seed_share_demand_and_families_share_luck():
    labs = [censoring_lab("gamma", orders=o, seed=3).train for o in ("at_mass", "noisy")]
    assert np.array_equal(labs[0].demand, labs[1].demand)
    for family in FAMILIES[:-2]:  # not the counts, which tie
        part = censoring_lab(family, scale="level", seed=3).train
        above = part.demand > part.optimum(0.65)
        assert np.array_equal(above, labs[0].demand > labs[0].optimum(0.65))


def test_luck_is_pinned():
    part = censoring_lab("normal", n=9, n_test=9, seed=0).train
    assert part.demand == pytest.approx(PINNED, rel=1e-11)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"family": "cauchy"}, "family must be 'normal', .*, got 'cauchy'"),
        ({"family": "poisson", "scale": "level"}, 'scale must be None for family "poisson"'),
        ({"orders": "quantile"}, "orders must be 'at_mass', .*, got 'quantile'"),
        ({"share": 0.0}, "share must be a number above 0 and below 1 or None, got 0.0"),
        ({"orders": "never", "share": 0.3}, 'share must be None with orders="never", got 0.3'),
        ({"noise": -1.0}, "noise must be a finite number of at least 0, got -1.0"),
        ({"level": -3.0}, "level must be a finite number above 0, got -3.0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        (
            {"family": "poisson", "level": 0.5, "share": 0.9},
            "share must be at most 0.4.., the share of rows with any demand, got 0.9",
        ),
    ],
)
def test_bad_input_is_one_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        censoring_lab(**{"n": 90, "n_test": 9, **options})
    assert str(caught.value).endswith(".")
