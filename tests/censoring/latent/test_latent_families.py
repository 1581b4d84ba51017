"""Families of the truth: against SciPy's distributions, finite differences (far tails included)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from unmet.censoring.latent.families import FAMILIES, PAIRS, family_named, ratio

NEAR = np.linspace(-12.0, 12.0, 193)
FAR = np.array([-200.0, -90.0, -40.0, -31.0, -29.0, 29.0, 31.0, 40.0, 90.0, 200.0])
LEVELS = np.array([1e-9, 1e-4, 0.013, 0.31, 0.5, 0.77, 0.985, 1 - 1e-6])
SHAPES = {
    "student": [-5.0, 0.3, 1.0, 3.7, 6.0],
    "skewed": [-1.5, 0.0, 1.0, 4.2, 7.0],
    "skewed_left": [-1.5, 0.0, 1.0, 4.2, 7.0],
    "gamma": [-3.9, -1.2, 0.0, 1.7, 5.5, 11.0],
}
CASES = [
    pytest.param(name, shape, id=f"{name}-{shape:g}")
    for name, family in FAMILIES.items()
    if family.space != "counts"
    for shape in SHAPES.get(name, [0.0])
]


class Mirrored:
    """Distribution of −Z."""

    def __init__(self, distribution):
        self.distribution = distribution

    def logpdf(self, u):
        return self.distribution.logpdf(-u)

    def logsf(self, u):
        return self.distribution.logcdf(-u)

    def logcdf(self, u):
        return self.distribution.logsf(-u)

    def ppf(self, level):
        return -self.distribution.isf(level)


def log_of_gamma(shape):
    """Logarithm of a gamma of mean one and shape a, times √a, by SciPy."""
    a = np.exp(shape)
    return stats.loggamma(a, loc=-np.log(a) * np.sqrt(a), scale=np.sqrt(a))


def distribution_of(name, shape):
    if name in ("gamma", "skewed_left"):
        return log_of_gamma(shape)
    if name == "skewed":
        return Mirrored(log_of_gamma(shape))
    if name == "student":
        return stats.t(2.0 + np.exp(shape))
    return {
        "normal": stats.norm(),
        "lognormal": stats.norm(),
        "logistic": stats.logistic(),
        "laplace": stats.laplace(),
        "gumbel": stats.gumbel_r(),
        "weibull": stats.gumbel_l(),
    }[name]


def close_where_known(found, expected, rtol=1e-8):
    """SciPy's logarithms of what underflows are infinite: nothing to compare with there."""
    known = np.isfinite(expected) & (np.abs(expected) < 600.0)
    assert known.mean() > 0.4
    np.testing.assert_allclose(found[known], expected[known], rtol=rtol, atol=1e-9)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_density_survival_and_distribution_are_scipys(name, shape):
    family, distribution = FAMILIES[name], distribution_of(name, shape)
    with np.errstate(all="ignore"):
        expected = distribution.logpdf(NEAR), distribution.logsf(NEAR), distribution.logcdf(NEAR)
    close_where_known(family.density(NEAR, shape)[0], expected[0])
    close_where_known(family.log_survival(NEAR, shape), expected[1])
    close_where_known(family.log_below(NEAR, shape), expected[2])


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_quantiles_are_scipys(name, shape):
    found = FAMILIES[name].quantile(LEVELS, shape)
    expected = distribution_of(name, shape).ppf(LEVELS)
    # the logarithm of a gamma of small shape has quantiles below the smallest number
    known = expected > -600.0 * np.exp(0.5 * shape) if name == "gamma" else np.isfinite(expected)
    assert known[2:].all()
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-8, atol=1e-9)
    assert np.all(np.diff(found) >= 0)


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("lognormal", stats.lognorm(0.4, scale=np.exp(1.3))),
        ("weibull", stats.weibull_min(1 / 0.4, scale=np.exp(1.3))),
        ("gamma", stats.gamma(0.4**-2, scale=np.exp(1.3) * 0.4**2)),
    ],
)
def test_on_the_logarithmic_scale_they_are_the_distributions_of_their_names(name, distribution):
    """Location 1.3 and scale 0.4: the logarithm of the truth has the family's distribution."""
    family, shape = FAMILIES[name], -2.0 * np.log(0.4) if name == "gamma" else 0.0
    truth = distribution.ppf(LEVELS)
    u = (np.log(truth) - 1.3) / 0.4
    density, survival = family.density(u, shape)[0], family.log_survival(u, shape)
    np.testing.assert_allclose(density - np.log(0.4 * truth), distribution.logpdf(truth))
    np.testing.assert_allclose(survival, distribution.logsf(truth), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(family.quantile(LEVELS, shape), u, rtol=1e-7)


def slopes_by_difference(function, u):
    step = 1e-6 * np.maximum(1.0, np.abs(u))
    return (function(u + step) - function(u - step)) / (2.0 * step)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_slope_and_hazard_are_derivatives_also_in_the_far_tails(name, shape):
    family = FAMILIES[name]
    u = np.concatenate([NEAR, FAR])
    u = u[np.abs(u) > 1e-3]  # the Laplace has no slope at 0
    density, steep = family.density(u, shape)
    slope = slopes_by_difference(lambda v: family.density(v, shape)[0], u)
    hazard = -slopes_by_difference(lambda v: family.log_survival(v, shape), u)
    # digits of a difference are lost where the logarithm itself is large
    lost = 1e-9 * np.abs(density) + 1e-6
    allowed = np.where(np.abs(u) < 20.0, 1e-4, 0.03)
    assert np.all(np.abs(steep - slope) <= lost + allowed * np.abs(slope))
    found, digits = ratio(density, family.log_survival(u, shape)), np.abs(density) < 1e9
    assert np.all((np.abs(found - hazard) <= lost + allowed * hazard)[digits])


@pytest.mark.parametrize("name", ["student", "skewed", "gamma"])
def test_many_points_are_interpolated_closely(name):
    u = np.random.default_rng(0).uniform(-3.0, 3.0, 5000)
    family, shape = FAMILIES[name], SHAPES[name][2]
    for tail in (family.log_survival, family.log_below):
        exact = np.concatenate([tail(part, shape) for part in np.split(u, 10)])
        np.testing.assert_allclose(tail(u, shape), exact, rtol=1e-7, atol=1e-8)


def test_two_groups_are_a_mixture_of_two_normals():
    u = np.linspace(-4.0, 4.0, 81)
    assert len(PAIRS) == 7
    for family in PAIRS:
        share, gap = {"flat": (0.5, 2.2)}.get(family.name, (None, None))
        if share is None:
            low, apart = re.match(r"two groups \((\d+)% low, (\d) dev", family.name).groups()
            share, gap = float(low) / 100, float(apart)
        # the lower group is `share` of all; scaled and moved to mean 0 and variance 1
        size = np.sqrt(1 + gap**2 * share * (1 - share))
        groups = [stats.norm((at - (1 - share) * gap) / size, 1 / size) for at in (0.0, gap)]
        mixed = [
            share * getattr(groups[0], what)(u) + (1 - share) * getattr(groups[1], what)(u)
            for what in ("pdf", "cdf", "sf")
        ]
        np.testing.assert_allclose(np.exp(family.density(u)[0]), mixed[0], rtol=1e-9)
        np.testing.assert_allclose(np.exp(family.log_below(u)), mixed[1], rtol=1e-9)
        np.testing.assert_allclose(np.exp(family.log_survival(u)), mixed[2], rtol=1e-9)
        slope = slopes_by_difference(lambda at, f=family: f.density(at)[0], u)
        np.testing.assert_allclose(family.density(u)[1], slope, rtol=1e-4, atol=1e-4)
        level = np.array([1e-4, 0.05, 0.3, 0.62, 0.97, 0.9999])
        np.testing.assert_allclose(np.exp(family.log_below(family.quantile(level))), level, 1e-4)
        assert family_named(family.name) is family
