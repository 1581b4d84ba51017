"""Random hinge problems of all the awkward kinds, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unmet.costs.hinge import Kinks
from unmet.solvers.problem import HingeProblem

LEVELS = (0.01, 0.1, 0.3, 0.55, 0.75, 0.9, 0.95, 0.999)


def newsvendor_kinks(observation, level, low=None, high=None, weight=None):
    n = len(observation)
    weight = np.full(n, 1.0) if weight is None else weight
    weight = weight / weight.sum()
    if low is None:
        return Kinks(observation[None], (level * weight)[None], ((1 - level) * weight)[None])
    zero = np.zeros(n)
    return Kinks(
        np.stack([observation + high, observation + low]),
        np.stack([zero, level * weight]),
        np.stack([(1 - level) * weight, zero]),
    )


def _plain(rng, n, p):
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n) + 2.0


def _all_dummies(rng, n, p):
    code = rng.integers(0, p, n)
    X = np.eye(p)[code]
    return X, rng.normal(code, 1.0)


def _repeated_columns(rng, n, p):
    X, s = _plain(rng, n, max(2, p // 2))
    return np.hstack([X, X[:, :1] * 3, X[:, :1] + X[:, 1:2]]), s


def _constant_columns(rng, n, p):
    X, s = _plain(rng, n, p)
    X[:, 0] = 7.0
    X[:, -1] = 0.0
    return X, s


def _wild_scales(rng, n, p):
    X, s = _plain(rng, n, p)
    return X * 10.0 ** rng.uniform(-8, 8, p), s * 10.0 ** rng.uniform(-6, 6)


def _integer_ties(rng, n, p):
    X = rng.integers(0, 3, (n, p)).astype(float)
    return X, rng.poisson(3.0, n).astype(float)


def _wide(rng, n, p):
    n = min(n, 40)
    return _plain(rng, n, 2 * n)


def _offset(rng, n, p):
    X, s = _plain(rng, n, p)
    return X + 1e4, s + 1e6


def _outliers(rng, n, p):
    X, s = _plain(rng, n, p)
    s[rng.integers(0, n, 3)] *= 1e6
    return X, s


def _heavy_tails(rng, n, p):
    X = rng.standard_t(1.5, (n, p))
    return X, X @ rng.standard_normal(p) + rng.standard_cauchy(n)


def _on_a_plane(rng, n, p):
    X, _ = _plain(rng, n, p)
    plane = X @ rng.standard_normal(p)
    return X, np.where(rng.random(n) < 0.5, plane, plane - rng.exponential(1.0, n))


def _correlated(rng, n, p):
    X, _ = _plain(rng, n, p)
    X = X[:, :1] + 1e-3 * X
    return X, X.sum(axis=1) + rng.standard_normal(n)


def _few_rows(rng, n, p):
    return _plain(rng, int(rng.integers(1, 6)), p)


def _rare_dummies(rng, n, p):
    X, s = _plain(rng, n, p)
    X[:, 0] = 0.0
    rare = rng.integers(0, n, 2)
    X[rare, 0] = 1.0
    s[rare] += 50.0
    return X, s


KINDS: dict[str, Callable] = {
    name.removeprefix("_"): function
    for name, function in list(globals().items())
    if name.startswith("_") and callable(function) and not name.startswith("__")
}


def problem(kind: str, seed: int, n_rows: int | None = None) -> HingeProblem:
    """One problem: kind and seed fix everything."""
    rng = np.random.default_rng([seed, *kind.encode()])
    n = n_rows or int(rng.integers(30, 400))
    p = int(rng.integers(2, 9))
    X, s = KINDS[kind](rng, n, p)
    n = len(s)
    spread = float(np.std(s)) or 1.0
    low = high = weight = None
    if rng.random() < 0.5:
        low = rng.uniform(0, 0.2, n) * spread if rng.random() < 0.5 else np.full(n, 0.05 * spread)
        high = low + rng.uniform(0, 0.6) * spread
    if rng.random() < 0.3:
        weight = rng.exponential(1.0, n) ** 3 + 1e-6
    lasso = None
    if rng.random() < 0.25:
        lasso = np.full(X.shape[1], 0.02 * spread / max(np.abs(X).max(), 1e-12))
    kinks = newsvendor_kinks(s, float(rng.choice(LEVELS)), low, high, weight)
    return HingeProblem(np.ascontiguousarray(X), kinks, bool(rng.random() < 0.8), None, lasso)
