"""Ordinary linear problems by seed, with the mishaps of real tables, compared with HiGHS.

A table has prices, rain, weekdays, flags and counts. Some of its columns depend on others: a sum, a
difference, a copy in another unit, a price with tax in whole cents, all levels of a category beside
the intercept, a constant. Now and then a cell is mistyped as 1e8, before or after sums were taken,
and columns are in units that differ by up to 1e12. Costs are asymmetric; some problems have a band,
weights, ridge or ℓ1, sparse features, more columns than rows, or are one of a path.

**The reference** is the cost that HiGHS finds on the paper's program, in columns at right angles
where nothing is penalised. Under ridge, HiGHS solves the program with ridge replaced by its tangent
at the answer: a lower bound of the cost, which an optimum reaches up to rounding. Where the answer
is above such a bound, it must also be above the cost of parameters of HiGHS, or between these and
its own; otherwise there is no reference. An answer that costs
less than 1e-8 of the best constant decision counts as free.

=============  =====================================================================================
solved         cost and gap are within 1e-6 of the least cost
refused        one of our own errors; at most one in a hundred
no reference   solved by its own gap, but HiGHS found no optimum, or only a loose bound
gap            the answer's own gap is above 1e-6 of its cost (a failure)
above          the cost is above that of HiGHS by more than 1e-6 (a failure)
untrue         the cost of the answer is not what the solution says (a failure)
foreign        an error or a warning that is not ours (a failure)
=============  =====================================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from fuzz import Verdict
from scipy import sparse
from scipy.linalg import qr, solve_triangular
from scipy.optimize import linprog

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import SolverFailure, UnmetError
from unmet.solvers.exact.highs import assemble, solve_highs
from unmet.solvers.problem import HingeProblem

COUNT = 100_000
OUTCOMES = ("solved", "refused", "no reference", "gap", "above", "untrue", "foreign")
FAILURES = OUTCOMES[3:]
CLOSE, NOTHING, TYPO = 1e-6, 1e-8, 1e8
SUMS = ("sum", "difference", "copy", "taxed", "unit", "constant", "mean", "other")


@dataclass(frozen=True)
class Case:
    """One fit, alone or as the last of a path."""

    X: np.ndarray
    y: np.ndarray
    underage: float
    overage: float
    weight: np.ndarray | None = None
    low: Any = None
    high: Any = None
    intercept: bool = True
    penalty: str | None = None
    strength: float = 1.0
    as_sparse: bool = False
    path: bool = False
    kinds: tuple[str, ...] = ()

    def fit(self) -> LinearDecision:
        cost = Newsvendor(self.underage, self.overage)
        model = LinearDecision(
            cost,
            self.band,
            solver="exact",
            penalty=self.penalty,
            strength=self.strength,
            fit_intercept=self.intercept,
        )
        X = sparse.csr_array(self.X) if self.as_sparse else self.X
        if not self.path:
            return model.fit(X, self.y, sample_weight=self.weight)
        model.set_params(cost=None, band=None)
        costs, weight = [Newsvendor(2.0, 1.0), cost], self.weight
        return model.fit_path(X, self.y, costs=costs, bands=self.band, sample_weight=weight)[1]

    def without_row(self, row: int) -> Case:
        def cut(value):
            return np.delete(value, row) if np.ndim(value) else value

        parts = {name: cut(getattr(self, name)) for name in ("y", "weight", "low", "high")}
        return replace(self, X=np.delete(self.X, row, axis=0), **parts)

    def simpler(self) -> Iterator[Case]:
        """Smaller problems that may still fail: fewer rows, fewer columns, fewer parts."""
        for row in range(len(self.y)):
            if len(self.y) > 2:
                yield self.without_row(row)
        for column in range(self.X.shape[1]):
            if self.X.shape[1] > 1:
                yield replace(self, X=np.delete(self.X, column, axis=1))
        if self.weight is not None:
            yield replace(self, weight=None)
        if self.low is not None:
            yield replace(self, low=None, high=None)
        if self.penalty is not None:
            yield replace(self, penalty=None, strength=1.0)
        if self.as_sparse:
            yield replace(self, as_sparse=False)

    def source(self) -> str:
        """Lines of Python that make the problem again, to the last bit."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kinds"}
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[name] = f"np.array({value.tolist()!r})"
            else:
                parts[name] = repr(value)
        return f"Case({', '.join(f'{name}={value}' for name, value in parts.items())})"

    @property
    def band(self) -> Band | None:
        return None if self.low is None else Band(low=self.low, high=self.high)

    def problem(self) -> HingeProblem:
        """The rows with weight, as `LinearDecision` hands them to its solver."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        kept = np.flatnonzero(weight)
        share, band = weight[kept] / weight[kept].sum(), self.band
        kinks = Newsvendor(self.underage, self.overage).kinks(
            self.y[kept], None if band is None else band.take(kept), share
        )
        each, s = np.full(self.X.shape[1], self.strength), self.y[kept]
        middle = share @ s if self.intercept else 0.0
        unit = np.sqrt(share @ (s - middle) ** 2) or np.sqrt(share @ s**2) or 1.0
        ridge, lasso = (each if self.penalty == name else None for name in ("l2", "l1"))
        ridge = None if ridge is None else ridge / unit
        return HingeProblem(self.X[kept], kinks, self.intercept, ridge, lasso)


def _column(rng, n):
    kind = rng.integers(7)
    if kind == 0:
        return np.round(rng.uniform(1, 20, n), 2)  # a price
    if kind == 1:
        return np.round(rng.gamma(0.4, 8.0, n), 1)  # rain
    if kind == 2:
        return rng.poisson(3.0, n).astype(float)
    if kind == 3:
        return (rng.random(n) < rng.uniform(0.02, 0.6)).astype(float)
    if kind == 4:
        return np.arange(n) + float(rng.choice([0.0, 2000.0]))  # a trend
    return rng.normal(rng.choice([0.0, 15.0, 1000.0]), 5.0, n)


def _features(rng, n, p, kinds):
    base = [_column(rng, n) for _ in range(max(1, p - int(rng.integers(0, 6))))]
    late = rng.random() < 0.5  # a mistyped cell before sums are taken, or after
    if rng.random() < 0.4 and not late:
        kinds.append("typo")
        for _ in range(int(rng.integers(1, 4))):
            base[rng.integers(len(base))][rng.integers(n)] = TYPO
    columns = list(base)
    if rng.random() < 0.4:
        kinds.append("one-hot")
        levels = int(rng.integers(2, 8))
        columns += list(np.eye(levels)[rng.integers(0, levels, n)].T)
    while len(columns) < p or rng.random() < 0.3:
        one, other = (columns[rng.integers(len(columns))] for _ in range(2))
        kind = str(rng.choice(SUMS))
        kinds.append(kind)
        columns.append(
            {
                "sum": one + other,
                "difference": one - other,
                "copy": one.copy(),
                "taxed": np.round(1.19 * one, 2),  # what is left of it is cents
                "unit": one * float(rng.choice([100.0, 0.453592, 1e-3])),
                "constant": np.full(n, float(rng.choice([0.0, 1.0, 0.1, 7.0]))),
                "mean": (one + other) / 2,
                "other": _column(rng, n),
            }[kind]
        )
    X = np.column_stack([columns[place] for place in rng.permutation(len(columns))])
    if rng.random() < 0.4 and late:
        kinds.append("late typo")
        for _ in range(int(rng.integers(1, 4))):
            X[rng.integers(n), rng.integers(X.shape[1])] = TYPO
    if rng.random() < 0.4:
        kinds.append("units")
        low = float(rng.choice([0.0, -12.0]))
        X = X * 10.0 ** rng.uniform(low, 12, X.shape[1])
    return np.ascontiguousarray(X)


def _observations(rng, X):
    size = np.median(np.abs(X), axis=0)
    plane = (X / np.where(size > 0, size, 1.0)) @ rng.normal(0, 3, X.shape[1])
    plane = np.clip(plane, -100, 100) + 120
    kind = rng.integers(5)
    noise = rng.gamma(2.0, 5.0, len(X))
    if kind == 0:
        y = rng.poisson(plane).astype(float)
    elif kind == 1:
        y = np.minimum(plane + noise, np.quantile(plane + noise, 0.7))  # sold out
    elif kind == 2:
        y = np.where(rng.random(len(X)) < 0.5, plane, plane - noise)
    else:
        y = plane + noise
    return y * float(rng.choice([1.0, 1.0, 1e-3, 1e6]))


def generate(seed: int) -> Case:
    """Make the problem of a seed; the seed fixes everything."""
    rng = np.random.default_rng([30, seed])
    n, p = int(np.exp(rng.uniform(np.log(10), np.log(2000)))), int(rng.integers(1, 31))
    kinds: list[str] = []
    X = _features(rng, n, p, kinds)
    y = _observations(rng, X)
    spread = float(np.ptp(y)) or 1.0
    low = high = weight = penalty = None
    if rng.random() < 0.4:
        kinds.append("band")
        low = float(rng.choice([0.0, 0.02])) * spread
        high = low + float(rng.choice([0.05, 0.3, 2.0])) * spread
        if rng.random() < 0.4:
            low, high = low * rng.random(n), high * (1 + rng.random(n))
    if rng.random() < 0.3:
        kinds.append("weights")
        fading = 0.97 ** np.arange(n)[::-1]
        weight = [rng.exponential(1.0, n), fading, (rng.random(n) < 0.7) * 1.0][rng.integers(3)]
        weight[:2] = 1.0
    strength = 1.0
    if rng.random() < 0.25:
        penalty = str(rng.choice(["l1", "l2"]))
        strength = float(10.0 ** rng.uniform(-6, 1))
        kinds.append(penalty)
    alpha = float(rng.choice([0.05, 0.2, 0.6, 0.75, 0.9, 0.95, 0.99]))
    return Case(
        X,
        y,
        alpha,
        1 - alpha,
        weight,
        low,
        high,
        intercept=bool(rng.random() < 0.85),
        penalty=penalty,
        strength=strength,
        as_sparse=bool(rng.random() < 0.15),
        path=bool(rng.random() < 0.15),
        kinds=tuple(kinds),
    )


def best_constant(problem: HingeProblem) -> float:
    """Cost of the best decision that is the same for all rows; of 0 where there is no intercept."""
    kinks = problem.kinks
    levels = kinks.position.ravel() if problem.fit_intercept else [0.0]
    decisions = np.unique(np.quantile(levels, np.linspace(0, 1, 101), method="nearest"))
    return min(float(kinks.value(np.full(kinks.position.shape[1], z)).sum()) for z in decisions)


def _with_moderate_lasso(problem: HingeProblem) -> HingeProblem:
    """Lower penalties that hold a coefficient at zero whatever the rest, as far as they still do.

    HiGHS finds no optimum beside slopes of 1e12.
    """
    if problem.lasso is None:
        return problem
    steepest = np.maximum(problem.kinks.below, problem.kinks.above).sum(axis=0)
    return replace(
        problem, lasso=np.minimum(problem.lasso, 2 * steepest @ np.abs(problem.features))
    )


def least_cost(problem: HingeProblem, model: LinearDecision) -> float:
    """Return what HiGHS finds: a lower bound, or the cost of better parameters."""
    coefficients, intercept = model.coef_, float(model.intercept_)
    cost = problem.objective(coefficients, intercept)
    if problem.lasso is not None:
        return solve_highs(_with_moderate_lasso(problem)).objective
    if problem.ridge is None:
        bound, *found = orthogonal_optimum(problem)
        if cost - bound > CLOSE * cost > cost - problem.objective(*found):
            raise SolverFailure("HiGHS found a cost that rounding does not let any rule have.")
        return bound
    bound, towards, level = tangent_optimum(problem, coefficients, intercept)
    if cost - bound <= CLOSE * cost:
        return bound
    found = min(
        problem.objective(coefficients + step * towards, intercept + step * level)
        for step in np.geomspace(1e-9, 1.0, 60)
    )
    if cost - found <= CLOSE * cost:
        raise SolverFailure("HiGHS found only a loose bound under ridge.")
    return found


def orthogonal_optimum(problem: HingeProblem) -> tuple[float, np.ndarray, float]:
    """Least cost in columns at right angles, which hide no direction from HiGHS, and where it is.

    Directions with less than 1e-10 of the spread of their column are left out.
    """
    X = problem.features
    centre = X.mean(axis=0) * problem.fit_intercept
    deviation = X - centre
    scale = np.sqrt((deviation**2).mean(axis=0))
    scale[scale <= 1e-14 * np.abs(centre)] = np.inf
    turned, triangle, order = qr(deviation / scale, mode="economic", pivoting=True)
    size = np.sqrt(len(X))
    rank = np.count_nonzero(np.abs(triangle.diagonal()) > 1e-10 * size)
    found = solve_highs(replace(problem, features=size * turned[:, :rank]))
    coefficients, kept = np.zeros(len(scale)), order[:rank]
    inner = solve_triangular(triangle[:rank, :rank], size * found.coefficients)
    coefficients[kept] = inner / scale[kept]
    return found.objective, coefficients, float(found.intercept - centre @ coefficients)


def tangent_optimum(
    problem: HingeProblem, coefficients: np.ndarray, intercept: float
) -> tuple[float, np.ndarray, float]:
    """Least cost with ridge replaced by its tangent here, and the way to where HiGHS reaches it."""
    program, width = assemble(problem), len(coefficients)
    point = coefficients * program.column
    if problem.fit_intercept:
        level = intercept + float(program.centre @ coefficients) - program.level
        point = np.append(point, level)
    local, unit = program.about(point)
    slope = np.zeros(len(point))
    slope[:width] = 2 * problem.ridge * coefficients / program.column / program.slope
    bounds = np.column_stack([-local.below, local.above])
    for tolerance in (1e-10, 1e-8):
        options = {f"{side}_feasibility_tolerance": tolerance for side in ("primal", "dual")}
        given = {"A_eq": local.rows.T, "b_eq": -slope, "bounds": bounds, "options": options}
        found = linprog(local.position, method="highs-ds", **given)
        if found.status == 0:
            bound = -found.fun * unit * program.slope + problem.ridge @ coefficients**2
            move = unit * found.eqlin.marginals
            towards = move[:width] / program.column
            level = move[width] - program.centre @ towards if problem.fit_intercept else 0.0
            return float(bound), towards, float(level)
    raise SolverFailure("HiGHS found no optimum under ridge.")


def evaluate(case: Case) -> Verdict:
    """Fit, and compare with HiGHS."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = case.fit()
    except UnmetError as error:
        return Verdict("refused", str(error))
    except Exception as error:
        return Verdict("foreign", f"{type(error).__name__}: {error}")
    problem, solution = case.problem(), model.solution_
    cost, constant = problem.objective(model.coef_, model.intercept_), best_constant(problem)
    told = f"cost {cost:.9e}, gap {solution.gap:.1e}, {solution.method}"
    if max(cost, solution.objective) <= NOTHING * constant:
        return Verdict("solved", told)
    if not abs(cost - solution.objective) <= CLOSE * cost:
        return Verdict("untrue", f"{told}, said to be {solution.objective:.9e}")
    if not solution.gap <= CLOSE * cost:
        return Verdict("gap", told)
    try:
        least = least_cost(problem, model)
    except UnmetError as error:
        return Verdict("no reference", f"{told}, {error}")
    if not cost - least <= CLOSE * cost:
        return Verdict("above", f"{told}, HiGHS {least:.9e}")
    return Verdict("solved", told)
