"""Best ages under known distributions: closed forms, quadrature, grids, package reliability."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from unmet.costs import AgeReplacement, Newsvendor, PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.lifetimes import Lognormal, Weibull, expected_cost, optimal_age
from unmet.solvers.descent.jumps import LEVELS, best_ages

REFERENCE = Path(__file__).parents[1] / "reference" / "reliability_ages.json"
DISTRIBUTIONS = [
    (Weibull(2.2, 3.0), stats.weibull_min(2.2, scale=3.0)),
    (Weibull(0.8, 3.0), stats.weibull_min(0.8, scale=3.0)),
    (Lognormal(3.0, 0.4), stats.lognorm(0.4, scale=3.0)),
    (Lognormal(3.0, 1.3), stats.lognorm(1.3, scale=3.0)),
]
DISTRIBUTION_NAMES = [
    repr(distribution) for distribution, _ in DISTRIBUTIONS
]  # the name of a SciPy distribution holds its address


@pytest.mark.parametrize("case", json.loads(REFERENCE.read_text())["cases"], ids=str)
def test_the_package_reliability_agrees(case):
    found = optimal_age(
        AgeReplacement(case["planned"], case["failure"]), Weibull(case["shape"], case["scale"])
    )
    assert found.age == pytest.approx(case["age"], abs=2 * 3 * case["scale"] / 10_000)
    assert found.cost == pytest.approx(case["rate"], rel=1e-6)
    assert found.cost <= case["rate"] * (1 + 1e-12)  # its grid is not finer than the optimum


@pytest.mark.parametrize(("distribution", "reference"), DISTRIBUTIONS, ids=DISTRIBUTION_NAMES)
def test_distributions_against_scipy(distribution, reference):
    ages = np.array([0.01, 0.7, 3.0, 11.0])
    assert_allclose(distribution.survival(ages), reference.sf(ages), rtol=1e-12)
    assert_allclose(
        distribution.quantile([0.02, 0.5, 0.9]), reference.ppf([0.02, 0.5, 0.9]), rtol=1e-12
    )
    assert distribution.mean == pytest.approx(reference.mean(), rel=1e-12)
    for age in ages:
        assert distribution.interval_mean(age) == pytest.approx(
            quad(reference.sf, 0, age)[0], rel=1e-8
        )
        paid = quad(lambda t: np.exp(-0.3 * t) * reference.pdf(t), 0, age)[0]
        assert distribution.discounted_failure(age, 0.3) == pytest.approx(paid, rel=1e-6)
    assert distribution.interval_mean(np.inf) == pytest.approx(reference.mean())


def test_discounted_weibull_in_closed_form():
    """h(y) (c − p) = r p, with h(y) = (β/η)(y/η)^(β−1)."""
    planned, failure, discount, shape, scale = 2.0, 9.0, 0.05, 2.5, 10.0
    age = scale * (discount * planned * scale / (shape * (failure - planned))) ** (1 / (shape - 1))
    found = optimal_age(
        PreventiveReplacement(planned, failure, discount=discount), Weibull(shape, scale)
    )
    assert found.age == pytest.approx(age, rel=1e-12)


@pytest.mark.parametrize(("distribution", "reference"), DISTRIBUTIONS, ids=DISTRIBUTION_NAMES)
@pytest.mark.parametrize(
    "cost",
    [
        AgeReplacement(1, 5),
        AgeReplacement(1, 1.3),
        AgeReplacement(1, 5, rate=0.6),
        PreventiveReplacement(1, 5, discount=0.1),
        PreventiveReplacement(1, 1.5, discount=0.5),
    ],
    ids=repr,
)
def test_no_age_of_a_grid_is_cheaper(distribution, reference, cost):
    found = optimal_age(cost, distribution)
    grid = np.concatenate([np.geomspace(1e-4, 400, 3000), [np.inf]])
    prices = expected_cost(cost, distribution, grid)
    assert found.cost <= prices.min() + 1e-9 * abs(prices.min())
    assert found.cost == pytest.approx(
        float(expected_cost(cost, distribution, found.age)), rel=1e-9
    )
    assert found.cost == pytest.approx(prices.min(), rel=2e-3, abs=2e-3)
    assert found.run_to_failure == pytest.approx(prices[-1])


@pytest.mark.parametrize(
    "distribution", [Weibull(1.0, 7.0), Weibull(0.6, 7.0), Lognormal(7.0, 1.5)]
)
def test_parts_that_do_not_wear_out_are_never_replaced(distribution):
    found = optimal_age(AgeReplacement(1, 6), distribution)
    assert found.age == np.inf
    assert found.cost == found.run_to_failure == pytest.approx(6 / distribution.mean)
    assert str(found).startswith("Replace at failure")


def test_the_printed_form_replaces_at_once():
    distribution = Weibull(3, 10)
    cost = PreventiveReplacement(1, 5, form="printed", discount=0.1)
    assert optimal_age(cost, distribution).age == 0.0
    sample = distribution.quantile((np.arange(20_000) + 0.5) / 20_000)
    for age in (2.0, 8.0, 14.0):
        assert expected_cost(cost, distribution, age) == pytest.approx(
            cost.cost(age, sample).mean(), rel=1e-3
        )


@pytest.mark.parametrize(
    "cost",
    [
        AgeReplacement(1, 8),
        AgeReplacement(1, 8, rate=0.5),
        PreventiveReplacement(1, 8, discount=0.1),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "distribution", [Weibull(2.6, np.array([2.0, 9.0])), Lognormal(np.array([2.0, 9.0]), 0.4)]
)
def test_ages_from_quantiles_alone(cost, distribution):
    """The table of quantiles knows no family, and comes within a percent."""
    table = np.stack([distribution.quantile(level) for level in LEVELS])
    found, exact = best_ages(cost, table), optimal_age(cost, distribution)
    assert_allclose(found.age, exact.age, rtol=0.02)
    assert_allclose(expected_cost(cost, distribution, found.age), exact.cost, rtol=1e-3, atol=1e-4)


def test_bad_input_is_one_sentence():
    with pytest.raises(InvalidInput, match=r"^shape must be a finite number above 0, got -1.0\.$"):
        Weibull(-1.0)
    with pytest.raises(InvalidInput, match=r"^deviation must be a finite number above 0"):
        Lognormal(3.0, [0.4, 0.5])
    with pytest.raises(
        Unsupported, match=r"^cost must be AgeReplacement or Preventive.*Newsvendor"
    ):
        optimal_age(Newsvendor(1, 2), Weibull(2))
    with pytest.raises(
        Unsupported, match=r"^distribution must be Weibull or Lognormal, got float\.$"
    ):
        optimal_age(AgeReplacement(1, 2), 3.0)
    with pytest.raises(InvalidInput, match=r"^age must be non-negative or inf"):
        expected_cost(AgeReplacement(1, 2), Weibull(2), -1.0)
    with pytest.raises(InvalidInput, match=r"^scale must be a number or have as many rows as fail"):
        optimal_age(AgeReplacement(1, [2, 3]), Weibull(2, [1, 2, 3]))
