"""Small data and problems that several tests of the exact solver share."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from unmet.costs.hinge import Kinks
from unmet.solvers.exact.solve import minimise_rows


def band_kinks(s, level, low=None, high=None, weight=None):
    n = len(s)
    weight = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    if low is None:
        return Kinks(s[None], (level * weight)[None], ((1 - level) * weight)[None])
    zero = np.zeros(n)
    return Kinks(
        np.stack([s + high, s + low]),
        np.stack([zero, level * weight]),
        np.stack([(1 - level) * weight, zero]),
    )


def dense_data(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + rng.gamma(2.0, 1.0, n)


def full(problem):
    """All rows at once, without grouping or screening."""
    return minimise_rows(problem, None, 1e-9)


def categorical(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 40, n)
    X = np.column_stack([code % 5, code // 5, (code % 3) == 0]).astype(float)
    return X, rng.poisson(5 + code % 5).astype(float)


def one_hot(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    blocks = [
        sparse.csr_array((np.ones(n), (np.arange(n), rng.integers(0, k, n))), shape=(n, k))
        for k in levels
    ]
    X = sparse.csr_array(sparse.hstack(blocks))
    return X, X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(n)
