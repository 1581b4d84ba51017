"""Catalogue of the solvers compared, and how each is given the same problem.

A peer turns a problem into a call without arguments. Everything a user of that package would
do once before calling it (stacking rows, building a linear program) is done outside the clock.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from cases import BLOCK, Problem
from scipy.sparse.linalg import splu

# --- Peers that know quantile regression: statsmodels, pyfixest, ReHLine, and R's quantreg
#
# A package for quantile regression solves the band exactly on 2n rows at level α: (x, s+high)
# with weight 1−α and (x, s+low) with weight α, because with ρ the check loss
#
#     (1−α) ρ(s+high − y) + α ρ(s+low − y)
#         = (1−α)(y−s−high)⁺ + α(s+low−y)⁺ + α(1−α)(high − low).
#
# Packages without weights get the rows multiplied by them, which is the same.

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


# --- Peers that see a linear program: scipy's and scikit-learn's HiGHS, cvxpy with Clarabel
#
# With o the overshoot above s+high and u the shortfall below s+low, the program is
#
#     min Σ (1−α) o + α u   s.t.   Xθ − o ≤ s+high,   Xθ + u ≥ s+low,   o, u ≥ 0
#
# (without a band both rows join into Xθ − o + u = s), the paper's LP.εLR with the constraints on
# o and u in their right places. Its dual has one row per coefficient:
#
#     max Σ b (s+low) − a (s+high)   s.t.   X'(b − a) = 0,   0 ≤ a ≤ 1−α,   0 ≤ b ≤ α
#
# (without a band a single variable c = b − a in [α−1, α]), and θ are the multipliers of its rows.

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


# --- Hand a problem to R's quantreg and take back its coefficients; the clock runs inside R

SCRIPT = Path(__file__).with_name("quantreg.R")


def run_r(problem: Problem, method: str, budget: float) -> np.ndarray:
    """Return one row of coefficients per level; R reports the times on standard output.

    The arrays of ``problem`` may be dropped by the caller meanwhile: they travel by file.
    """
    with tempfile.TemporaryDirectory(prefix="quantreg-") as name:
        folder = Path(name)
        write(problem, folder)
        environment = dict(os.environ)
        if library := environment.pop("BENCHMARK_R_BLAS", ""):
            environment["LD_PRELOAD"] = library
        command = ["Rscript", str(SCRIPT), str(folder), method, str(budget)]
        done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("Error")]
            raise RuntimeError(" ".join(said) or done.stderr[-200:])
        return np.fromfile(folder / "theta").reshape(len(problem.levels), -1)


def write(problem: Problem, folder: Path) -> None:
    """Write the arrays as R reads them: column by column, or compressed rows counted from one."""
    n, p = problem.X.shape
    entries = problem.X.nnz if problem.sparse else 0
    shape = [n, p, problem.low, problem.high, entries, *problem.levels]
    np.array(shape, dtype=float).tofile(folder / "shape")
    problem.s.tofile(folder / "s")
    if not problem.sparse:
        with (folder / "X").open("wb") as stream:
            for column in range(p):
                np.ascontiguousarray(problem.X[:, column]).tofile(stream)
        return
    problem.X.data.tofile(folder / "X")
    (problem.X.indices + 1).astype(np.int32).tofile(folder / "columns")
    (problem.X.indptr + 1).astype(np.int32).tofile(folder / "rows")


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
    """Prepare this project's exact solver."""
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
    from unmet.rows import Rows
    from unmet.solvers.descent.minibatch import solve_minibatch

    band = Band(problem.low, problem.high) if problem.banded else None

    def solve() -> np.ndarray:
        cost = Newsvendor.at_level(level)
        found = solve_minibatch(Rows(problem.X, problem.s, cost, None, band), ridge=0.0)
        return np.concatenate([[found.intercept], found.coefficients])

    return solve


FLOOR, US = "least squares", "unmet"
_ALL = [
    Peer(FLOOR, least_squares, sparse=True, exact=False),
    Peer(US, unmet_exact, "unmet.estimators.linear", ones=False, sparse=True, paths=True),
    Peer(
        "paper's mini-batch",
        each_level(unmet_minibatch),
        "unmet.solvers.descent.minibatch",
        ones=False,
        exact=False,
    ),
    *(
        Peer(f"scipy {form} {method}", each_level(highs(form, method)), sparse=True)
        for form in ("primal", "dual")
        for method in ("highs-ds", "highs-ipm")
    ),
    *(
        Peer(f"scikit-learn {method}", each_level(sklearn(method)), "sklearn", sparse=True)
        for method in ("highs", "highs-ds", "highs-ipm")
    ),
    Peer("cvxpy Clarabel", each_level(clarabel), "clarabel", sparse=True),
    Peer("statsmodels", each_level(statsmodels), "statsmodels", exact=False),
    Peer("pyfixest fn", each_level(pyfixest("fn")), "pyfixest"),
    Peer("pyfixest pfn", each_level(pyfixest("pfn")), "pyfixest"),
    Peer("ReHLine", each_level(rehline), "rehline", sparse=True),
    Peer("R br", None, method="br"),
    Peer("R fnb", None, method="fnb", paths=True),
    Peer("R pfn", None, method="pfn"),
    Peer("R sfn", None, method="sfn", dense=False, sparse=True),
]
PEERS = {peer.name: peer for peer in _ALL}
