"""Maximum likelihood: another optimiser, closed forms, units, and parameters found again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special

from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.likelihood import (
    CENSORED,
    SEEN,
    UNKNOWN,
    LatentModel,
    Problem,
    maximise,
)
from unmet.censoring.latent.selection import _STARTS, first_start

SLOPES = np.array([2.0, 0.8, -0.5])
LINEAR = [name for name, family in FAMILIES.items() if family.space == "linear"]
LOGARITHMIC = [name for name, family in FAMILIES.items() if family.space == "log"]


def problem_of(
    name, policy, point, basis, *, kind=UNKNOWN, weight=None, rate=None, scale=None, **options
):
    n_rows = point.size
    scale = np.empty((n_rows, 0)) if scale is None else scale
    sizes = {"n_location": basis.shape[1], "n_scale": scale.shape[1]}
    model = LatentModel(FAMILIES[name], policy, **sizes, **options)
    weight = np.ones(n_rows) if weight is None else weight
    kind = np.broadcast_to(kind, n_rows).copy()
    return Problem(model, basis, scale, point, kind, weight, rate=rate)


def all_starts(problem):
    return [first_start(problem, offset) for offset in _STARTS]


def features(n_rows, generator):
    return np.column_stack([np.ones(n_rows), generator.normal(size=(n_rows, 2))])


def standard_truth(name, size, generator):
    return {
        "normal": generator.normal,
        "lognormal": generator.normal,
        "logistic": generator.logistic,
        "laplace": generator.laplace,
        "student": lambda size: generator.standard_t(4.0, size),
        "gumbel": generator.gumbel,
        "skewed_left": lambda size: np.log(generator.gamma(1.0, 1.0, size)),
        "skewed": lambda size: -np.log(generator.gamma(1.0, 1.0, size)),
        "weibull": lambda size: np.log(generator.exponential(size=size)),
        "gamma": lambda size: np.log(generator.gamma(4.0, 0.25, size)) / 0.5,
    }[name](size=size)


def simulated(name, policy, n_rows, seed, scale=0.5):
    """Location 2 + 0.8 x₁ − 0.5 x₂, orders around 0.3 above it, in half of the mixture ample."""
    generator = np.random.default_rng(seed)
    basis = features(n_rows, generator)
    location = basis @ SLOPES
    truth = location + scale * standard_truth(name, n_rows, generator)
    order = location + scale * (0.6 + 0.4 * generator.normal(size=n_rows))
    if policy == "mixture":
        order[generator.random(n_rows) < 0.5] = np.inf
    censored = truth > order
    return basis, np.minimum(truth, order), censored


def best_of_bfgs(problem, n_more, gtol=1e-8):
    """Another optimiser, from the same starts and from others about them."""
    generator = np.random.default_rng(99)
    starts = all_starts(problem)
    starts += [starts[0] + 0.4 * generator.normal(size=starts[0].size) for _ in range(n_more)]
    with np.errstate(all="ignore"):
        found = [
            optimize.minimize(
                problem.objective,
                start,
                jac=True,
                method="BFGS",
                options={"gtol": gtol},
            )
            for start in starts
        ]
    return min(found, key=lambda each: each.fun)


@pytest.mark.parametrize("name", LINEAR + LOGARITHMIC)
def test_known_flags_reach_the_optimum_of_another_optimiser(name):
    basis, point, censored = simulated(name, "noisy", 150, seed=4)
    assert 20 < censored.sum() < 80
    problem = problem_of(name, "absent", point, basis, kind=np.where(censored, CENSORED, SEEN))
    found, climbed = maximise(problem, first_start(problem))
    best = best_of_bfgs(problem, 1)
    # in units of log-likelihood; the Laplace has kinks that stop both
    behind = (best.fun + climbed) * point.size * -1.0
    assert abs(behind) < (0.03 if name == "laplace" else 1e-3)
    if name != "laplace":
        located = problem.basis @ (found - best.x)[:3]
        assert np.abs(located).max() < 5e-3 * np.exp(best.x[3])


@pytest.mark.parametrize(
    ("name", "policy"),
    [("normal", "noisy"), ("lognormal", "mixture")],
)
def test_unknown_rows_reach_the_best_of_many_starts(name, policy):
    basis, point, _ = simulated(name, policy, 200, seed=12)
    problem = problem_of(name, policy, point, basis, least_spread=0.05)
    climbed = max(maximise(problem, start)[1] for start in all_starts(problem))
    best = best_of_bfgs(problem, 3, gtol=1e-6)
    assert (-climbed - best.fun) * point.size < 0.05


def test_an_uncensored_normal_is_least_squares():
    generator = np.random.default_rng(3)
    basis = features(80, generator)
    point = basis @ SLOPES + generator.standard_t(3, 80)
    problem = problem_of("normal", "absent", point, basis)
    found, climbed = maximise(problem, first_start(problem))
    expected, (squares,), *_ = np.linalg.lstsq(basis, point, rcond=None)
    np.testing.assert_allclose(found[:3], expected, atol=2e-4)
    spread = squares / 80
    assert found[3] == pytest.approx(0.5 * np.log(spread), abs=2e-4)
    assert climbed == pytest.approx(-0.5 * np.log(2 * np.pi * spread) - 0.5, abs=1e-6)
    assert problem.values(found).sum() / 80 == pytest.approx(climbed)


def test_counts_agree_with_statsmodels():
    regression = pytest.importorskip("statsmodels.discrete.discrete_model")
    generator = np.random.default_rng(10)
    basis = features(400, generator)
    mean = np.exp(basis @ [1.5, 0.4, -0.2])
    count = generator.negative_binomial(3.0, 3.0 / (3.0 + mean)).astype(float)
    problem = problem_of("negative_binomial", "absent", count, basis)
    found, climbed = maximise(problem, first_start(problem), tolerance=1e-8)
    expected = regression.NegativeBinomial(count, basis).fit(disp=0, gtol=1e-9)
    np.testing.assert_allclose(found[:3], expected.params[:3], atol=1e-5)
    # their overdispersion is one over the size, and the size here exp(−2 log σ)
    assert np.exp(2.0 * found[3]) == pytest.approx(expected.params[3], rel=1e-3)
    assert climbed * count.size == pytest.approx(expected.llf, abs=1e-3)


def test_a_gamma_agrees_with_the_generalised_linear_model_of_statsmodels():
    """Whose coefficients do not depend on the dispersion: location is the logarithm of the mean."""
    linear = pytest.importorskip("statsmodels.genmod.generalized_linear_model")
    families = pytest.importorskip("statsmodels.genmod.families")
    generator = np.random.default_rng(14)
    basis = features(300, generator)
    truth = generator.gamma(3.0, np.exp(basis @ SLOPES) / 3.0)
    problem = problem_of("gamma", "absent", np.log(truth), basis)
    found, _ = maximise(problem, first_start(problem), tolerance=1e-8)
    link = families.Gamma(families.links.Log())
    expected = linear.GLM(truth, basis, family=link).fit(tol=1e-12)
    np.testing.assert_allclose(found[:3], expected.params, rtol=1e-5)
    # its scale solves log a − ψ(a) = mean(log(mean / truth)): a = σ⁻²
    a = np.exp(-2.0 * found[3])
    ratio = np.mean(np.log(expected.mu / truth))
    assert np.log(a) - special.digamma(a) == pytest.approx(ratio, rel=1e-5)


@pytest.mark.parametrize(("name", "rate"), [("normal", 0.15), ("gamma", 0.6)])
def test_an_imposed_rate_is_met(name, rate):
    basis, point, _ = simulated(name, "noisy", 250, seed=41)
    problem = problem_of(name, "noisy", point, basis, least_spread=0.05, rate=rate)
    found, climbed = max(
        (maximise(problem, start) for start in all_starts(problem)), key=lambda fit: fit[1]
    )
    assert problem.model.share_censored(found) == pytest.approx(rate, abs=1e-6)
    _, free = maximise(replace(problem, rate=None), found)
    assert climbed <= free + 1e-6
