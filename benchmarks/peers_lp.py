"""Peers that see a linear program: scipy's and scikit-learn's HiGHS, cvxpy with Clarabel.

With o the overshoot above s+high and u the shortfall below s+low, the program is

    min Σ (1−α) o + α u   s.t.   Xθ − o ≤ s+high,   Xθ + u ≥ s+low,   o, u ≥ 0

(without a band both rows join into Xθ − o + u = s), the paper's LP.εLR with the constraints on
o and u in their right places. Its dual has one row per coefficient:

    max Σ b (s+low) − a (s+high)   s.t.   X'(b − a) = 0,   0 ≤ a ≤ 1−α,   0 ≤ b ≤ α

(without a band a single variable c = b − a in [α−1, α]), and θ are the multipliers of its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from cases import Problem
from peers_quantile import stacked

One = Callable[[], np.ndarray]
TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def highs(form: str, method: str) -> Callable[[Problem, float], One]:
    """Give the program, primal or dual, to ``scipy.optimize.linprog``."""

    def prepare(problem: Problem, level: float) -> One:
        from scipy.optimize import linprog

        program = (primal if form == "primal" else dual)(problem, level)

        def solve() -> np.ndarray:
            result = linprog(**program, method=method)
            if result.status != 0:
                raise RuntimeError(result.message)
            if form == "primal":
                return result.x[: problem.X.shape[1]]
            # linprog minimises, so a multiplier is the change of −(maximum)
            return -result.eqlin.marginals

        return solve

    return prepare


def primal(problem: Problem, level: float) -> dict:
    """Arguments of linprog for variables (θ, o, u)."""
    X, s = sp.csr_array(problem.X), problem.s
    n, p = X.shape
    one = sp.eye_array(n, format="csr")
    cost = np.concatenate([np.zeros(p), np.full(n, 1 - level), np.full(n, level)])
    bounds = np.column_stack([np.repeat([-np.inf, 0], [p, 2 * n]), np.full(p + 2 * n, np.inf)])
    if not problem.banded:
        rows = sp.hstack([X, -one, one], format="csc")
        return {"c": cost, "A_eq": rows, "b_eq": s, "bounds": bounds}
    rows = sp.block_array([[X, -one, None], [-X, None, -one]], format="csc")
    sides = np.concatenate([s + problem.high, -s - problem.low])
    return {"c": cost, "A_ub": rows, "b_ub": sides, "bounds": bounds}


def dual(problem: Problem, level: float) -> dict:
    """Arguments of linprog for the dual variables, signs turned to a minimum."""
    X, s = sp.csr_array(problem.X), problem.s
    n, p = X.shape
    if not problem.banded:
        bounds = np.tile([level - 1, level], (n, 1))
        return {"c": -s, "A_eq": sp.csc_array(X.T), "b_eq": np.zeros(p), "bounds": bounds}
    cost = np.concatenate([s + problem.high, -s - problem.low])
    bounds = np.column_stack([np.zeros(2 * n), np.repeat([1 - level, level], n)])
    rows = sp.hstack([-X.T, X.T], format="csc")
    return {"c": cost, "A_eq": rows, "b_eq": np.zeros(p), "bounds": bounds}


def sklearn(method: str) -> Callable[[Problem, float], One]:
    """Fit ``QuantileRegressor`` without a penalty; the band as weighted, stacked rows."""

    def prepare(problem: Problem, level: float) -> One:
        from sklearn.linear_model import QuantileRegressor

        X, s, weight = stacked(problem, level)
        model = QuantileRegressor(quantile=level, alpha=0, fit_intercept=False, solver=method)
        return lambda: model.fit(X, s, sample_weight=weight).coef_

    return prepare


def clarabel(problem: Problem, level: float) -> One:
    """State the cost in cvxpy and solve it with Clarabel; its own tolerances miss 1e-6 at times."""
    import cvxpy as cp

    theta = cp.Variable(problem.X.shape[1])
    excess = problem.X @ theta - problem.s
    over, under = cp.pos(excess - problem.high), cp.pos(problem.low - excess)
    # the mean, as users write it; interior-point tolerances are relative to the objective
    cost = ((1 - level) * cp.sum(over) + level * cp.sum(under)) / len(problem.s)

    def solve() -> np.ndarray:
        # a new program each time: cvxpy keeps the compiled one
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL, **TIGHT)
        return theta.value

    return solve
