import numpy as np
import pytest
from scipy import sparse

from unmet import Newsvendor
from unmet.solvers.exact.features import minimum_norm
from unmet.solvers.problem import HingeProblem, Solution


def _problem(features, intercept=True, **penalties):
    n_rows = features.shape[0]
    s = np.random.default_rng(5).gamma(2.0, 3.0, size=n_rows)
    return HingeProblem(
        features, Newsvendor(3, 1).kinks(s, None, 1 / n_rows), intercept, **penalties
    )


def _at(problem, coefficients, intercept=1.5):
    objective = problem.objective(coefficients, intercept)
    return Solution(coefficients, intercept, objective, 0.0, 0.0, 1, 1.0, "made up")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(5, 9), (20, 9)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_decisions_stay_and_the_norm_is_that_of_the_pseudoinverse(shape, intercept, container):
    generator = np.random.default_rng(0)
    rank = 4
    features = generator.normal(size=(shape[0], rank)) @ generator.normal(size=(rank, shape[1]))
    features[:, 2] = 7.0 if intercept else 0.0  # a column that cannot matter
    features *= 10.0 ** generator.uniform(-2, 2, size=shape[1])
    problem = _problem(container(features), intercept)
    start = _at(problem, generator.normal(size=shape[1]), 1.5 if intercept else 0.0)
    found = minimum_norm(problem, start)
    before = features @ start.coefficients + start.intercept
    assert features @ found.coefficients + found.intercept == pytest.approx(before, rel=1e-9)
    centred = features - features.mean(axis=0) if intercept else features
    centred[:, 2] = 0.0
    least = np.linalg.pinv(centred, rcond=1e-12) @ (centred @ start.coefficients)
    assert found.coefficients == pytest.approx(least, rel=1e-6, abs=1e-9)
    assert found.objective == pytest.approx(start.objective, rel=1e-9)


def test_nothing_happens_where_there_is_no_freedom():
    generator = np.random.default_rng(1)
    full = generator.normal(size=(30, 9))
    deficient = full[:, [0, 0, 1, 2, 3, 4, 5, 6, 7]]
    for problem in (
        _problem(full),
        _problem(full * 1e-8 + 1),
        _problem(deficient, ridge=np.ones(9)),
        _problem(deficient, lasso=np.ones(9)),
        _problem(np.tile(deficient, (2, 1))),  # many rows: not worth looking
    ):
        start = _at(problem, generator.normal(size=9))
        assert minimum_norm(problem, start) is start
