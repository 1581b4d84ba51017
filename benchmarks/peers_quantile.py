"""Peers that know quantile regression: statsmodels, pyfixest, ReHLine, and R's quantreg.

A package for quantile regression solves the band exactly on 2n rows at level α: (x, s+high)
with weight 1−α and (x, s+low) with weight α, because with ρ the check loss

    (1−α) ρ(s+high − y) + α ρ(s+low − y)
        = (1−α)(y−s−high)⁺ + α(s+low−y)⁺ + α(1−α)(high − low).

Packages without weights get the rows multiplied by them, which is the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from cases import Problem

One = Callable[[], np.ndarray]


def stacked(problem: Problem, level: float):
    """Features, targets and weights whose check loss is the cost with the band."""
    X, s = problem.X, problem.s
    if not problem.banded:
        return X, s, None
    rows = sp.vstack([X, X], format="csr") if problem.sparse else np.concatenate([X, X])
    targets = np.concatenate([s + problem.high, s + problem.low])
    return rows, targets, np.repeat([1 - level, level], len(s))


def weighted(problem: Problem, level: float):
    """Return features and targets with the weights multiplied in."""
    X, s, weight = stacked(problem, level)
    return (X, s) if weight is None else (X * weight[:, None], s * weight)


def statsmodels(problem: Problem, level: float) -> One:
    """Fit ``QuantReg``: reweighted least squares, which stops near the optimum."""
    from statsmodels.regression.quantile_regression import QuantReg

    X, s = weighted(problem, level)

    def solve() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return QuantReg(s, X).fit(q=level, vcov="iid").params

    return solve


def pyfixest(method: str) -> Callable[[Problem, float], One]:
    """Call pyfixest's array-level solver: no formula, no data frame, no variances."""

    def prepare(problem: Problem, level: float) -> One:
        from pyfixest.estimation.quantreg.quantreg_ import Quantreg

        X, s = weighted(problem, level)
        bare = object.__new__(Quantreg)  # its solvers use nothing else of the model
        bare._k = X.shape[1]
        fit = bare.fit_qreg_fn if method == "fn" else bare.fit_qreg_pfn

        def solve() -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return fit(X=X, Y=s[:, None], q=level)[0]

        return solve

    return prepare


def rehline(problem: Problem, level: float) -> One:
    """Give ReHLine the two hinges of every row, around a least-squares fit.

    ReHLine minimises C · cost + ½‖θ‖² and calls the loss with a band ``QR_eps``, centred: after a
    shift of s it is this one. Here the hinges are given as they stand, so no rows are stacked.
    Its ridge cannot be switched off; measured from a pilot fit it is small, and with C as below
    it disturbs the objective by less than 1e-6 (found by trial, as small as that allows: a larger C
    is slower, and rare dummies need one).
    """
    from rehline._base import ReHLine_solver

    X, (n, p) = problem.X, problem.X.shape
    gram = X.T @ X
    pilot = np.linalg.solve(gram.toarray() if problem.sparse else gram, X.T @ problem.s)
    pilot[0] += np.quantile(problem.s - X @ pilot, level) + (problem.low + problem.high) / 2
    rest = problem.s - X @ pilot
    filled = (X.nnz if problem.sparse else np.count_nonzero(X)) / (n * p)
    strength = min(25 / filled, 700) * p / n * rest.std()
    over, under = strength * (1 - level), strength * level
    U = np.vstack([np.full(n, over), np.full(n, -under)])
    V = np.vstack([-over * (rest + problem.high), under * (rest + problem.low)])
    options = {"max_iter": 10_000_000, "tol": 1e-7, "verbose": 0}
    return lambda: pilot + ReHLine_solver(X, U, V, **options).beta
