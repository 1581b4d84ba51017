import numpy as np
import pytest

from unmet.solvers import constants
from unmet.solvers.exact.features import column_means


@pytest.mark.parametrize("weighted", [False, True])
def test_means(weighted, monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1000, 3)) + [0, 1e6, -4]
    share = generator.dirichlet(np.ones(1000)) if weighted else None
    expected = np.average(X, axis=0, weights=share)
    assert column_means(X, share) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(constants, "MEANS_CHUNK", 100)
    assert column_means(X, share) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_rows", [1, 500, 100_000])
def test_constant_columns_are_exact(n_rows):
    X = np.tile([0.1, -7.3e11, 1e-9], (n_rows, 1))
    share = np.random.default_rng(1).dirichlet(np.ones(n_rows))
    assert np.array_equal(column_means(X), X[0])
    assert np.array_equal(column_means(X, share), X[0])
