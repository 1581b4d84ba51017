"""Families of the truth: against SciPy's distributions, finite differences (far tails included)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unmet.bands.latent.families import FAMILIES, normal_terms

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
    if name == "gamma":
        return log_of_gamma(shape)
    if name == "skewed_left":
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
    terms = family.terms(NEAR, shape)
    with np.errstate(all="ignore"):
        expected = distribution.logpdf(NEAR), distribution.logsf(NEAR), distribution.logcdf(NEAR)
    close_where_known(terms.log_density, expected[0])
    close_where_known(terms.log_survival, expected[1])
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
    terms = family.terms(u, shape)
    np.testing.assert_allclose(terms.log_density - np.log(0.4 * truth), distribution.logpdf(truth))
    np.testing.assert_allclose(terms.log_survival, distribution.logsf(truth), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(family.quantile(LEVELS, shape), u, rtol=1e-7)


def test_a_skewed_truth_of_shape_one_is_the_gumbel():
    skewed, gumbel = FAMILIES["skewed"], FAMILIES["gumbel"]
    for found, expected in zip(skewed.terms(NEAR, 0.0), gumbel.terms(NEAR, 0.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_truth_without_much_skewness_or_tails_is_the_normal():
    u = np.linspace(-3.0, 3.0, 13)
    normal = normal_terms(u).log_density
    for name, far in [("student", 6.0), ("skewed", 7.0), ("skewed_left", 7.0), ("gamma", 12.0)]:
        near = FAMILIES[name].terms(u, far).log_density
        farther_off = FAMILIES[name].terms(u, 2.0).log_density
        assert np.abs(near - normal).max() < 0.3
        assert np.abs(near - normal).max() < 0.3 * np.abs(farther_off - normal).max()


def slopes_by_difference(function, u):
    step = 1e-6 * np.maximum(1.0, np.abs(u))
    return (function(u + step) - function(u - step)) / (2.0 * step)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_slope_and_hazard_are_derivatives_also_in_the_far_tails(name, shape):
    family = FAMILIES[name]
    u = np.concatenate([NEAR, FAR])
    u = u[np.abs(u) > 1e-3]  # the Laplace has no slope at 0
    terms = family.terms(u, shape)
    slope = slopes_by_difference(lambda v: family.terms(v, shape).log_density, u)
    hazard = -slopes_by_difference(lambda v: family.terms(v, shape).log_survival, u)
    # digits of a difference are lost where the logarithm itself is large
    lost = 1e-9 * np.abs(terms.log_density) + 1e-6
    allowed = np.where(np.abs(u) < 20.0, 1e-4, 0.03)
    assert np.all(np.abs(terms.slope - slope) <= lost + allowed * np.abs(slope))
    digits = np.abs(terms.log_density) < 1e9
    assert np.all((np.abs(terms.hazard - hazard) <= lost + allowed * hazard)[digits])


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_far_tails_are_finite_and_fall(name, shape):
    family = FAMILIES[name]
    u = np.concatenate([-np.geomspace(200.0, 15.0, 60), np.geomspace(15.0, 200.0, 60)])
    terms = family.terms(u, shape)
    below = family.log_below(u, shape)
    for column in (*terms, below):
        assert np.isfinite(column).all()
    assert np.all(terms.hazard >= 0)
    assert np.all(terms.log_survival <= 1e-12)
    assert np.all(below <= 1e-12)
    assert np.all(np.diff(terms.log_survival) <= 1e-12)
    assert np.all(np.diff(below) >= -1e-12)
    # the further out, the less likely
    assert np.all(np.diff(terms.log_density[:60]) > 0)
    assert np.all(np.diff(terms.log_density[60:]) < 0)


@pytest.mark.parametrize("shape", [3.0, 5.0, 7.0, 9.0])
def test_logarithms_join_where_gamma_probabilities_underflow(shape):
    """Just before and just after 1e-290 the log-probability is one smooth curve."""
    family = FAMILIES["gamma"]
    for tail in (
        lambda u: family.terms(u, shape).log_survival,
        lambda u: family.log_below(-u, shape),
    ):
        u = np.linspace(0.0, 200.0, 200_001)
        value = tail(u)
        joint = int(np.searchsorted(-value, 290 * np.log(10)))
        assert 10 < joint < u.size - 10
        steps = np.diff(value[joint - 5 : joint + 5])
        np.testing.assert_allclose(steps, np.median(steps), rtol=0.2)


@settings(max_examples=20)
@given(
    shapes=st.lists(st.floats(-3.5, 8.0), min_size=1, max_size=6),
    u=st.floats(-6.0, 6.0),
)
def test_a_tied_gamma_takes_one_shape_per_row(shapes, u):
    family = FAMILIES["gamma"]
    assert family.tied
    column = np.array(shapes)
    points = u + 0.1 * np.arange(column.size)
    together = family.terms(points, column)
    for row, shape in enumerate(shapes):
        alone = family.terms(points[row : row + 1], shape)
        for joint, single in zip(together, alone, strict=True):
            assert joint[row] == pytest.approx(single[0], rel=1e-12, abs=1e-300)
        below = family.log_below(points, column)[row]
        assert below == pytest.approx(family.log_below(points[row : row + 1], shape)[0], rel=1e-12)
    levels = np.full(column.size, 0.23)
    found = family.quantile(levels, column)
    expected = [log_of_gamma(shape).ppf(0.23) for shape in shapes]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_below_and_survival_share_one(name, shape):
    family = FAMILIES[name]
    above = np.exp(family.terms(NEAR, shape).log_survival)
    np.testing.assert_allclose(above + np.exp(family.log_below(NEAR, shape)), 1.0, atol=1e-12)


def test_names_are_those_that_users_write():
    assert list(FAMILIES) == [family.name for family in FAMILIES.values()]
    assert {name for name, family in FAMILIES.items() if family.space == "log"} == {
        "lognormal",
        "weibull",
        "gamma",
    }
