"""The same numbers give the same decisions, whatever they come in; and awkward numbers."""

import numpy as np
import pytest
from hilly import hill_rows
from scipy import sparse

from unmet import Band, LinearDecision, NeuralDecision, Newsvendor, SquaredError

COST = Newsvendor(4, 1)


def _model(**parameters):
    return NeuralDecision(COST, Band(0, 1), **{"random_state": 0, "max_iter": 15, **parameters})


@pytest.mark.parametrize(
    ("container", "solver", "scaling"),
    [(sparse.csr_array, "lbfgs", "standard"), (sparse.coo_array, "adam", "min-max")],
)
def test_sparse_is_dense_with_fewer_numbers(container, solver, scaling):
    X, s, _ = hill_rows()
    X = np.column_stack([np.where(np.abs(X) < 0.7, 0.0, X), 2000.0 + np.arange(300) % 12])
    weight = np.linspace(0.1, 1, 300)
    model = _model(solver=solver, scaling=scaling, dtype="float64")
    dense = model.fit(X, s, sample_weight=weight).predict(X)
    thin = model.fit(container(X), s, sample_weight=weight)
    assert thin.predict(container(X)) == pytest.approx(dense, rel=1e-7)
    assert thin.predict(X) == pytest.approx(dense, rel=1e-7)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize(
    "kind",
    ["more columns than rows", "constant", "collinear", "far", "ties"],
)
def test_awkward_features(kind, solver):
    generator = np.random.default_rng(1)
    X, s, _ = hill_rows(60)
    X = {
        "more columns than rows": generator.normal(size=(60, 90)),
        "constant": np.column_stack([X, np.full(60, 0.1), np.zeros(60)]),
        "collinear": np.column_stack([X, X, X.sum(axis=1)]),
        "far": X + [1e6, -1e7],
        "ties": np.round(X),
    }[kind]
    model = _model(solver=solver, max_iter=60).fit(X, s)
    decision = model.predict(X)
    assert np.isfinite(decision).all()
    flat = LinearDecision(COST, Band(0, 1)).fit(np.zeros((60, 1)), s).solution_.objective
    assert model.training_cost_ < 0.95 * flat


@pytest.mark.parametrize("constant", [7.0, 0.0])
@pytest.mark.parametrize("cost", [COST, SquaredError()])
def test_observations_that_are_all_the_same(constant, cost):
    X, _, _ = hill_rows(40)
    model = NeuralDecision(cost, random_state=0).fit(X, np.full(40, constant))
    size = abs(constant) or 1.0
    assert model.predict(X) == pytest.approx(np.full(40, constant), abs=0.02 * size)
