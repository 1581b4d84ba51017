"""Catalogue of the solvers compared, and how each is given the same problem.

A peer turns a problem into a call without arguments. Everything a user of that package would
do once before calling it (stacking rows, building a linear program) is done outside the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from shutil import which

import numpy as np
import peers_lp as lp
import peers_quantile as quantile
import scipy.linalg as la
from cases import BLOCK, Problem
from scipy.sparse.linalg import splu

Solve = Callable[[], np.ndarray]  # coefficients, one row per level


@dataclass(frozen=True)
class Peer:
    """One solver: its name in the tables, how it is prepared, and what it can do."""

    name: str
    prepare: Callable[[Problem], Solve] | None
    needs: str = "scipy"
    ones: bool = True  # wants the column of ones in X
    dense: bool = True
    sparse: bool = False
    exact: bool = True  # aims at the optimum; others are shown with their excess
    paths: bool = False  # worth showing on the cases with several levels
    method: str | None = None  # of R quantreg, timed inside R

    def installed(self) -> bool:
        """Whether the package (or R) is present."""
        if self.method:
            return which("Rscript") is not None
        try:
            return find_spec(self.needs) is not None
        except ModuleNotFoundError:  # of a package that holds it
            return False

    def can(self, sparse: bool, path: bool) -> bool:
        """Whether the peer takes part in such a case."""
        return (self.sparse if sparse else self.dense) and (self.paths or not path)


def each_level(one: Callable[[Problem, float], Callable[[], np.ndarray]]):
    """Solve the levels of a problem one after the other."""

    def prepare(problem: Problem) -> Solve:
        solves = [one(problem, level) for level in problem.levels]
        return lambda: np.array([solve() for solve in solves])

    return prepare


def least_squares(problem: Problem) -> Solve:
    """Solve the normal equations: the floor, one pass over the data."""
    X, s, levels = problem.X, problem.s, len(problem.levels)

    def dense() -> np.ndarray:
        p = X.shape[1]
        gram, moment = np.zeros((p, p), order="F"), np.zeros(p)
        for start in range(0, len(s), BLOCK):
            rows = X[start : start + BLOCK]
            # rows.T is column-major, so the product reads the data in place
            gram = la.blas.dsyrk(1.0, rows.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            moment += s[start : start + BLOCK] @ rows
        return la.cho_solve(la.cho_factor(gram, lower=True), moment)

    def sparse() -> np.ndarray:
        gram = (X.T @ X).tocsc()
        return splu(gram, "COLAMD", options={"SymmetricMode": True}).solve(X.T @ s)

    solve = sparse if problem.sparse else dense
    return lambda: np.tile(solve(), (levels, 1))


def unmet_exact(problem: Problem) -> Solve:
    """Prepare this project's exact solver; several levels are one path."""
    from unmet import Band, LinearDecision, Newsvendor

    band = Band(problem.low, problem.high) if problem.banded else None
    costs = [Newsvendor.at_level(level) for level in problem.levels]

    def solve() -> np.ndarray:
        if len(costs) == 1:
            models = [LinearDecision(costs[0], band=band).fit(problem.X, problem.s)]
        else:
            model = LinearDecision(costs[0], band=band)
            models = model.fit_path(problem.X, problem.s, costs=costs)
        return np.array([np.concatenate([[m.intercept_], m.coef_]) for m in models])

    return solve


def unmet_minibatch(problem: Problem, level: float) -> Callable[[], np.ndarray]:
    """Prepare the paper's descent with its published options, as this project implements it."""
    from unmet.arrays import Band
    from unmet.costs import Newsvendor
    from unmet.solvers.descent.minibatch import solve_minibatch

    band = Band(problem.low, problem.high) if problem.banded else None

    def solve() -> np.ndarray:
        cost = Newsvendor.at_level(level)
        found = solve_minibatch(problem.X, cost, problem.s, band, ridge=0.0)
        return np.concatenate([[found.intercept], found.coefficients])

    return solve


FLOOR, US = "least squares", "unmet"
_ALL = [
    Peer(FLOOR, least_squares, sparse=True, exact=False),
    Peer(US, unmet_exact, "unmet.models.linear", ones=False, sparse=True, paths=True),
    Peer(
        "paper's mini-batch",
        each_level(unmet_minibatch),
        "unmet.solvers.descent.minibatch",
        ones=False,
        exact=False,
    ),
    *(
        Peer(f"scipy {form} {method}", each_level(lp.highs(form, method)), sparse=True)
        for form in ("primal", "dual")
        for method in ("highs-ds", "highs-ipm")
    ),
    *(
        Peer(f"scikit-learn {method}", each_level(lp.sklearn(method)), "sklearn", sparse=True)
        for method in ("highs", "highs-ds", "highs-ipm")
    ),
    Peer("cvxpy Clarabel", each_level(lp.clarabel), "clarabel", sparse=True),
    Peer("statsmodels", each_level(quantile.statsmodels), "statsmodels", exact=False),
    Peer("pyfixest fn", each_level(quantile.pyfixest("fn")), "pyfixest"),
    Peer("pyfixest pfn", each_level(quantile.pyfixest("pfn")), "pyfixest"),
    Peer("ReHLine", each_level(quantile.rehline), "rehline", sparse=True),
    Peer("R br", None, method="br"),
    Peer("R fnb", None, method="fnb", paths=True),
    Peer("R pfn", None, method="pfn"),
    Peer("R sfn", None, method="sfn", dense=False, sparse=True),
]
PEERS = {peer.name: peer for peer in _ALL}
