"""Coordinates in which problems are solved."""

from __future__ import annotations

import numpy as np

from unmet.solvers.exact.features import Standardisation


def test_standard_round_trip_with_dependent_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1, 1e6, 1e-3] + [1e3, 0, 5]
    X = np.column_stack([X, X[:, 0] + 1e3 * X[:, 2]])
    for all_rows in (True, False):
        standard, _ = Standardisation.of(X, True).orthogonal(X, all_rows=all_rows)
        assert standard.n_parameters == (4 if all_rows else 5)
        theta = rng.standard_normal(standard.n_parameters)
        coefficients, intercept = standard.to_raw(theta)
        np.testing.assert_allclose(
            X @ coefficients + intercept, standard.design(X) @ theta, rtol=1e-6, atol=1e-6
        )


def test_standard_gradient_is_the_design_transposed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) + 4
    X[:, 2] = X[:, 1] + 1e-4 * X[:, 2]
    y = rng.standard_normal(50)
    for standard in (
        Standardisation.of(X, True),
        Standardisation.of(X, False),
        Standardisation.of(X, True).orthogonal(X, all_rows=True)[0],
    ):
        np.testing.assert_allclose(
            standard.gradient(y @ X, y.sum()), y @ standard.design(X), rtol=1e-6, atol=1e-8
        )
