"""Inputs that once misled the exact solver: each was wrong, raised or changed its input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from unmet import Band, LinearDecision, Newsvendor
from unmet.costs import PiecewiseLinearCost
from unmet.costs.hinge import Kinks, Slopes
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import Operator, follow_central_path
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Hinges

COST = Newsvendor(4, 1)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_more_columns_than_rows_far_from_zero(offset):
    X = rng().normal(size=(10, 20)) + offset
    s = rng().normal(size=10) + 5
    model = LinearDecision(COST).fit(X, s)
    assert COST.loss(model.predict(X), s).mean() <= 1e-6


def test_sparse_column_far_from_zero():
    generator = rng()
    levels = sparse.csr_array(
        (np.ones(2000), generator.integers(0, 150, 2000), np.arange(2001)), shape=(2000, 150)
    )
    number = generator.normal(size=2000)
    s = number + generator.normal(size=2000)
    near = LinearDecision(COST).fit(sparse.csr_array(sparse.hstack([levels, number[:, None]])), s)
    far = LinearDecision(COST).fit(
        sparse.csr_array(sparse.hstack([levels, 1e6 + number[:, None]])), s
    )
    assert far.solution_.objective == pytest.approx(near.solution_.objective, rel=1e-7)
    assert far.solution_.method == "sparse interior point"


@dataclass(frozen=True, eq=False)
class OneSided(PiecewiseLinearCost):
    below: object = 1.0
    above: object = 1.0

    @property
    def slopes(self):
        return Slopes(below=self.below, above=self.above)


@pytest.mark.parametrize("n", [300, 9000])
def test_kinks_that_cost_nothing(n):
    generator = rng()
    X = generator.normal(size=(n, 3))
    s = X.sum(axis=1) + generator.normal(size=n)
    below = np.where(np.arange(n) % 3 == 0, 0.0, 2.0)
    cost, band = OneSided(below, np.ones(n)), Band(0, 0.5)
    ours = LinearDecision(cost, band=band).fit(X, s).solution_
    assert "interior point" in ours.method
    reference = LinearDecision(cost, band=band, solver="highs").fit(X, s).solution_
    assert ours.objective <= reference.objective * (1 + 1e-8)


def test_the_callers_sparse_matrix_is_not_changed():
    generator = rng()
    S = sparse.csr_array(
        (np.ones(2000), generator.integers(0, 150, 2000), np.arange(0, 2001, 4)), shape=(500, 150)
    )
    before = S.copy()
    S.data.flags.writeable = False
    S.indices.flags.writeable = False
    LinearDecision(COST).fit(S, generator.normal(size=500))
    assert S.nnz == before.nnz
    np.testing.assert_array_equal(S.indices, before.indices)


@pytest.mark.parametrize("n", [3000, 6000])
def test_a_flat_optimum_does_not_depend_on_the_order_of_rows(n):
    generator = rng()
    X = generator.normal(size=(n, 5))
    s = X.sum(axis=1) + generator.normal(size=n) + 50
    order = generator.permutation(n)
    band = Band(low=0, high=2000)
    first = LinearDecision(COST, band=band).fit(X, s).predict(X)
    second = LinearDecision(COST, band=band).fit(X[order], s[order]).predict(X)
    np.testing.assert_allclose(first, second, atol=1.0)


def test_elastic_net_with_many_columns_proves_its_answer():
    X = rng().normal(size=(60, 400))
    s = 2 * X[:, :4].sum(axis=1) + rng().normal(size=60)
    solution = (
        LinearDecision(COST, penalty="elasticnet", strength=0.05, l1_ratio=0.5).fit(X, s).solution_
    )
    assert solution.gap <= 2e-9 * solution.objective


def test_three_kinks_a_row():
    generator = rng()
    X = generator.normal(size=(400, 3))
    s = X.sum(axis=1) + generator.normal(size=400)
    weight = np.full(400, 1 / 400)
    kinks = Kinks(
        np.stack([s, s + 0.5, s + 2]),
        np.stack([0.8 * weight, 0 * weight, 0 * weight]),
        np.stack([0.1 * weight, 0.1 * weight, 0.5 * weight]),
    )
    problem = HingeProblem(X, kinks)
    assert solve_exact(problem).objective <= solve_highs(problem).objective * (1 + 1e-8)


def test_certificate_sees_a_dual_residual_even_on_the_kinks():
    """All kinks are hit exactly, yet the linear term pulls the decision away without end."""
    weight = np.full(4, 0.25)
    hinges = Hinges(np.zeros(4), 0.9 * weight, 0.1 * weight, weight)
    found = follow_central_path(
        Operator(np.ones((4, 1))),
        hinges,
        np.zeros(1),
        (0.0, 10.0),
        linear=np.array([-0.5]),
        constant=1.0,
    )
    assert found.status == "unbounded"
