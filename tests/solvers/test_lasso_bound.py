import numpy as np
import pytest
from scipy import sparse

from unmet import Band, Newsvendor
from unmet.solvers.highs import solve_highs
from unmet.solvers.lasso_bound import ModerateLasso
from unmet.solvers.problem import HingeProblem

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 5)) + [0, 0, 100, 0, 0]
S = 10 + X @ [1.0, -2.0, 0.5, 0.0, 3.0] + GENERATOR.gamma(2.0, size=60)
KINKS = [
    Newsvendor.at_level(0.85).kinks(S, None, 1 / 60),
    Newsvendor.at_level(0.3).kinks(S, Band(0, 2), 1 / 60),
]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_lowered_penalties_have_the_same_minimum(container, intercept):
    features = container(X)
    lasso = np.array([0.0, 1e-3, 1e4, 0.2, 1e6])
    moderate = ModerateLasso.of(features, KINKS, lasso, fit_intercept=intercept)
    assert (moderate.lasso <= lasso).all()
    assert moderate.lasso[-1] < 10
    assert moderate.zero.tolist()[0] is False
    assert moderate.zero[-1]
    for kinks in KINKS:
        problem = HingeProblem(features, kinks, intercept, None, lasso)
        reference = solve_highs(problem)
        easier = solve_highs(HingeProblem(features, kinks, intercept, None, moderate.lasso))
        found = moderate.restore(problem, easier)
        assert found.objective == pytest.approx(reference.objective, rel=1e-8)
        assert (found.coefficients[moderate.zero] == 0).all()
        assert found.gap <= 1e-8 * found.objective


def test_the_bound_cannot_be_much_lower():
    """Two rows for which a penalty just below the bound leaves the coefficient as it is."""
    x = np.array([[-1.0], [1.0]])
    kinks = Newsvendor.at_level(0.5).kinks(np.array([-50.0, 50.0]), None, 0.5)
    moderate = ModerateLasso.of(x, [kinks], np.array([1e9]), fit_intercept=True)
    bound = moderate.lasso[0] / 2
    left = solve_highs(HingeProblem(x, kinks, True, None, np.array([0.99 * bound])))
    gone = solve_highs(HingeProblem(x, kinks, True, None, np.array([1.01 * bound])))
    assert left.coefficients[0] == pytest.approx(50)
    assert gone.coefficients[0] == pytest.approx(0, abs=1e-9)


def test_moderate_penalties_are_left_alone():
    lasso = np.full(5, 0.01)
    moderate = ModerateLasso.of(X, KINKS, lasso, fit_intercept=True)
    assert np.array_equal(moderate.lasso, lasso)
    problem = HingeProblem(X, KINKS[0], True, None, lasso)
    solution = solve_highs(problem)
    assert moderate.restore(problem, solution) is solution


def test_a_removed_coefficient_leaves_its_level_in_the_intercept():
    from dataclasses import replace

    moderate = ModerateLasso.of(X, KINKS, np.full(5, 1e7), fit_intercept=True)
    problem = HingeProblem(X, KINKS[0], True, None, np.full(5, 1e7))
    exact = solve_highs(problem)
    tilted = replace(exact, coefficients=np.full(5, 1e-9), intercept=exact.intercept - 1e-7)
    found = moderate.restore(problem, tilted)
    assert found.intercept == pytest.approx(exact.intercept, abs=1e-8)
