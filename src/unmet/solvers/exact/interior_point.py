"""Primal–dual interior point for sums of hinges, and the matrix that it needs of the features.

The problem, with one entry per kink and z = Aθ the decision at each kink, is ::

    min_θ  Σ_i [ above_i (z_i − b_i)⁺ + below_i (b_i − z_i)⁺ ]  +  g'θ  +  ½ Σ_j ρ_j θ_j²        (P)

Write r = z − b = o − v with o, v ≥ 0 and let y be the multiplier of that equation. Then y lies in
the box [−below, above], and with the two distances to the ends of the box,
p = y + below and q = above − y, the optimality conditions are ::

    A'y + g + ρθ = 0          (dual)
    o − v = Aθ − b            (primal)
    p v = 0,  q o = 0         (complementarity)

The method follows p v = q o = μ w as μ → 0, where w is the weight of the row that a kink belongs
to, so that uneven weights cost few extra iterations. (Weighing by the slopes below + above
instead fails for bands: 81 iterations against 17 on the store-10 data at α = .01.) Eliminating o,
v and y from a Newton step leaves ::

    (A'DA + ρ) dθ = −(A'y + g + ρθ) − A'D (r + r_v/p − r_o/q),     D = 1 / (v/p + o/q)

so the only linear algebra is one p × p matrix per iteration. Directions follow Mehrotra's
predictor and second-order corrector, then, where factors are dear, up to three of Gondzio's
centrality correctors on the same factor. If the corrected step is short, the second-order term
is damped by the lengths of the predictor: on massively degenerate data (half of all sales exactly
on a plane) the undamped one stalls.

**Start.** For any θ₀ and μ the point ::

    κ = 2μw/c,   S = √(r² + κ²),   o = (S + κ + r)/2,   v = (S + κ − r)/2,   p = μw/v,   q = μw/o

with c = below + above satisfies p v = q o = μw, p + q = c and o − v = r, so it is exactly on the
central path of a problem whose dual equation is shifted: in effect a warm start of the smoothed
cost. The first μ is the objective at θ₀ over the sum of the weights, or up to ten times that with
wide bands.

The iteration itself is in the step δ away from the start: moving the origin there keeps a large
common offset of the observations out of it. Ridge becomes ½ρ(start + δ)², that is a linear term, a
constant and ½ρδ².

**Certificate.** For y in the box the difference between (P) and its dual value is
Σ (q r⁺ + p r⁻) + ½ Σ ρ (θ + h/ρ)² with h = A'y + g. Every term is non-negative, so nothing
cancels, and it is what `gap` reports; where ρ_j = 0 the dual equation h_j = 0 must hold, and
`residual` = Σ |h_j| max(|θ_j|, reach) says how much a step of the size of θ_j, or of the spread of
the observations, could still gain because it does not quite. (Not of the residuals: in a reduced
problem that starts on its kinks they are all zero, and prove nothing.) A ρ_j so small that rounding
in h_j costs more by the first formula counts by the second, with h_j + ρ_j θ_j in place of h_j.

**Zero cost.** When a band holds everything, every θ with all decisions inside their bands costs
nothing. The answer then is the analytic centre of that set: the point that maximises
Σ_i w_i log(slack_i) over the distances of the decisions from the ends of their bands. It is unique
in its decisions, does not depend on the start, and keeps away from every end.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unmet.errors import SolverFailure
from unmet.solvers import constants
from unmet.solvers.problem import Hinges, Scale

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# --- Cholesky factors that survive rank deficiency, zero columns and wild scales.

_FIRST_SHIFT = 1e-15
_LARGEST_SHIFT = 1.0
_EMPTY = 1e-75


class CholeskyFactor(NamedTuple):
    """Factor of S⁻¹ G S⁻¹ with S the root of G's diagonal."""

    factor: Array
    scale: Array

    def solve(self, right: Array) -> Array:
        """Solve G x = right."""
        if not len(right):
            return right.copy()
        solution: Array = lapack.dpotrs(self.factor, right / self.scale, lower=1)[0]
        solution /= self.scale
        return solution


def factorise(matrix: Array) -> CholeskyFactor:
    """Factor a positive semidefinite matrix.

    The matrix is scaled to a unit diagonal first (Jacobi), so that columns of scale 1e-8 and 1e8
    meet as equals; a shift of a few rounding errors then makes singular matrices (all dummies and
    an intercept, repeated columns) factorable. A zero column gets a unit pivot, so its
    coefficient never moves. The shift grows only when LAPACK refuses.
    """
    size = len(matrix)
    if not size:
        return CholeskyFactor(matrix, np.empty(0))
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    empty = None
    if not scale.min() > _EMPTY:
        empty = ~(scale > _EMPTY)
        scale[empty] = 1.0
    shift = size * _FIRST_SHIFT
    while shift < _LARGEST_SHIFT:
        scaled = matrix / scale
        scaled /= scale[:, None]
        diagonal = scaled.reshape(-1)[:: size + 1]
        if empty is not None:
            diagonal[empty] = 1.0
        diagonal += shift
        # the matrix is symmetric, so its transpose is a free Fortran-ordered view
        factor, info = lapack.dpotrf(scaled.T, lower=1, overwrite_a=1)
        if info == 0:
            return CholeskyFactor(factor, scale)
        shift *= 100
    raise SolverFailure("the normal matrix could not be factored; the features may overflow.")


# --- The matrix A in dense storage, and how rows become kinks.


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return rows' diag(weights) rows, chunk by chunk, so that the scaled copy stays in cache."""
    n_rows, n_columns = rows.shape
    root = np.sqrt(weights)
    chunk = max(256, constants.GRAM_BYTES // (8 * max(n_columns, 1)))
    if n_rows <= chunk:
        scaled = rows * root[:, None]
        gram: Array = scaled.T @ scaled
        return gram
    total = np.zeros((n_columns, n_columns))
    buffer = np.empty((chunk, n_columns))
    for first in range(0, n_rows, chunk):
        part = rows[first : first + chunk]
        scaled = np.multiply(part, root[first : first + chunk, None], out=buffer[: len(part)])
        total += scaled.T @ scaled
    return total


class KinkOrder:
    """How rows of the features stand to the kinks: one kink per row, in the order of the rows."""

    def spread(self, values: Array) -> Array:
        """From one value per row to one per kink."""
        return values

    def collect(self, values: Array) -> Array:
        """Sum the values of a row's kinks."""
        return values

    def rows_of(self, kinks: Index) -> Index:
        """Return the row of each of these kinks."""
        return kinks


class StackedKinks(KinkOrder):
    """The same number of kinks for every row: all first kinks, then all second kinks."""

    def __init__(self, n_kinks: int, n_rows: int) -> None:
        self.n_kinks, self.n_rows = n_kinks, n_rows

    def spread(self, values: Array) -> Array:
        """Repeat the block of rows."""
        return np.concatenate([values] * self.n_kinks)

    def collect(self, values: Array) -> Array:
        """Sum over the blocks."""
        total: Array = values.reshape(self.n_kinks, -1).sum(axis=0)
        return total

    def rows_of(self, kinks: Index) -> Index:
        """Count within the block."""
        return kinks % self.n_rows


class GroupedKinks(KinkOrder):
    """Kinks sorted by row, any positive number of them per row."""

    def __init__(self, row: Index, starts: Index) -> None:
        self.row, self.starts = row, starts

    def spread(self, values: Array) -> Array:
        """Repeat each row's value."""
        return values.take(self.row)

    def collect(self, values: Array) -> Array:
        """Sum each row's run."""
        total: Array = np.add.reduceat(values, self.starts)
        return total

    def rows_of(self, kinks: Index) -> Index:
        """Look the rows up."""
        return self.row[kinks]


def stacked(n_kinks: int, n_rows: int) -> KinkOrder:
    """Order of kinks that come in blocks, one block per kink of a row."""
    return KinkOrder() if n_kinks == 1 else StackedKinks(n_kinks, n_rows)


class Factorisation(Protocol):
    """Something that solves with the normal matrix."""

    def solve(self, right: Array) -> Array:
        """Solve (A'DA + ρ) x = right."""
        ...


class Operator:
    """The matrix A: a design matrix (intercept column included), and its rows' order as kinks.

    Dense here; other storages, and rows that are penalties, are subclasses.

    Attributes
    ----------
    n_parameters : int
    correctors : int
        Centrality correctors that pay: more, the dearer the factor.
    n_coefficient_kinks : int
        How many of the last kinks are rows e_j: ℓ1 penalties.
    """

    n_coefficient_kinks = 0

    def __init__(self, rows: Any, order: KinkOrder) -> None:
        self.rows = rows
        self.order = order
        self.n_parameters = int(rows.shape[1])
        self.correctors = 0 if self.n_parameters < 40 else 1 if self.n_parameters < 100 else 2

    def decisions(self, theta: Array) -> Array:
        """Return Aθ, one entry per kink."""
        return self.order.spread(self.rows @ theta)

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        result: Array = self.order.collect(values) @ self.rows
        return result

    def leverage(self) -> Array | float:
        """Return how far a decision moves with an error of θ, relative to others: all alike."""
        return 1.0

    def subset(self, kinks: Index) -> Operator:
        """Return the operator of some kinks only, given in increasing order."""
        return Operator(self.rows[self.order.rows_of(kinks)], KinkOrder())

    def factor(self, weights: Array, ridge: Array | None) -> Factorisation:
        """Factor A' diag(weights) A + diag(ridge)."""
        gram = weighted_gram(self.rows, self.order.collect(weights))
        if ridge is not None:
            gram.flat[:: len(gram) + 1] += ridge
        return factorise(gram)


# --- The iteration.


def central_slacks(r: Array, width: Array) -> tuple[Array, Array, Array]:
    """Return S, o and v of the central path at residuals r, given the width κ of each kink."""
    root = np.sqrt(r * r + width * width)
    total = root + width
    o, v = 0.5 * (total + r), 0.5 * (total - r)
    # the smaller of the two is a difference of equals: vo = κ (S + κ) / 2 gives it back
    product, over = 0.5 * width * total, r > 0
    np.divide(product, o, out=v, where=over)
    np.divide(product, v, out=o, where=~over)
    return root, o, v


@dataclass(frozen=True)
class InteriorPoint:
    """Where the iteration ended.

    Attributes
    ----------
    theta, dual : ndarray
        Parameters, and one multiplier per kink.
    change : ndarray
        Of the decisions since the start.
    objective, gap, residual : float
        As in the module docstring.
    iterations : int
    status : str
        ``"optimal"``, ``"iteration limit"``, ``"unbounded"`` (decisions left the trusted
        neighbourhood, the sign of an unbounded reduced problem) or ``"singular"``.
    """

    theta: Array
    dual: Array
    change: Array
    objective: float
    gap: float
    residual: float
    iterations: int
    status: str

    @property
    def moved(self) -> float:
        """Root mean square change of the decisions since the start."""
        return float(np.sqrt(np.mean(self.change**2)))


def solve_hinges(
    operator: Operator,
    hinges: Hinges,
    start: Array,
    scale: Scale,
    *,
    linear: Array | None = None,
    ridge: Array | None = None,
    constant: float = 0.0,
    trust_radius: float = np.inf,
    tolerance: float = 1e-9,
    cautious: bool = False,
    max_iterations: int = constants.MAX_ITERATIONS,
) -> InteriorPoint:
    """Solve problem (P) of the module docstring.

    Parameters
    ----------
    operator : Operator
    hinges : Hinges
    start : ndarray of shape (n_parameters,)
    scale : Scale
        Of the whole problem, not only of the kinks that are open.
    linear : ndarray of shape (n_parameters,), optional
        The term g: what kinks that are certainly far from the decision contribute.
    ridge : ndarray of shape (n_parameters,), optional
        ρ, twice the ridge penalty.
    constant : float
        What kinks outside the problem contribute to the objective at the start.
    trust_radius : float
        Root mean square change of the decisions beyond which the problem counts as unbounded.
    tolerance : float
        Relative gap.
    cautious : bool
        Shorter steps and no centrality correctors, where the usual ones stall.
    max_iterations : int
    """
    shifted = Hinges(
        hinges.position - operator.decisions(start), hinges.below, hinges.above, hinges.weight
    )
    if ridge is not None:
        pull = ridge * start
        linear = pull if linear is None else linear + pull
        constant += 0.5 * float(pull @ start)
    iteration = _Iteration(operator, shifted, scale, linear, ridge, constant, tolerance)
    # A hopeless problem overflows before it is recognised; its status says what happened.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        status, iterations = iteration.run(trust_radius, cautious, max_iterations)
    theta = start + iteration.theta
    gap, residual = iteration.gap, iteration.residual
    if iteration.hinges_only and iteration.objective <= tolerance * scale.smallest:
        theta = analytic_centre(operator, hinges, theta)
        # no sum of hinges is below zero: such an objective is its own certificate
        gap, residual, status = iteration.objective, 0.0, "optimal"
    dual = iteration.p - iteration.below
    return InteriorPoint(
        theta, dual, iteration.z, iteration.objective, gap, residual, iterations, status
    )


def doubt_of(pull: Array, theta: Array, ridge: Array | None, reach: float) -> tuple[float, float]:
    """Return what pull = A'y + g + ρθ ≠ 0 adds to the gap and to the residual."""
    doubt = np.abs(pull) * np.maximum(np.abs(theta), reach)
    if ridge is None:
        return 0.0, float(doubt.sum())
    charged = np.full(len(pull), np.inf)
    np.divide(0.5 * pull * pull, ridge, out=charged, where=ridge > 0)
    proved = charged <= doubt
    return float(charged[proved].sum()), float(doubt[~proved].sum())


def analytic_centre(operator: Operator, hinges: Hinges, theta: Array) -> Array:
    """Move a point of zero cost to the analytic centre of all such points.

    Newton steps, shortened until they stay inside and gain; unchanged where there is no room.
    """
    one_sided = (hinges.below > 0) != (hinges.above > 0)
    if operator.n_coefficient_kinks or not one_sided.all():
        return theta
    sign = np.where(hinges.above > 0, 1.0, -1.0)  # +1: an upper end, the decision lies below
    weight = hinges.weight / hinges.weight.max()
    slack = sign * (hinges.position - operator.decisions(theta))
    if not slack.min() > 0:
        return theta
    for _ in range(constants.CENTRE_STEPS):
        gradient = operator.moments(-sign * weight / slack)
        try:
            step = operator.factor(weight / slack**2, None).solve(gradient)
        except SolverFailure:
            return theta
        if not float(gradient @ step) > constants.CENTRE_DECREMENT * float(weight.sum()):
            break
        # the share of the step that stays inside and raises Σ w log(slack), if there is one
        change = -sign * operator.decisions(step)
        shrinking = float((change / slack).min())
        share = 1.0 if shrinking > -0.9 else -0.9 / shrinking
        for _ in range(40):
            if float(weight @ np.log1p(share * change / slack)) > 0:
                break
            share *= 0.5
        else:
            break
        theta = theta + share * step
        slack = sign * (hinges.position - operator.decisions(theta))
    return theta


@dataclass(slots=True)
class _Direction:
    """A Newton direction and its longest primal and dual steps."""

    d_theta: Array
    d_decision: Array
    d_dual: Array
    d_under: Array
    d_over: Array
    primal_step: float
    dual_step: float

    @property
    def shorter(self) -> float:
        return min(self.primal_step, self.dual_step)


class _Iteration:
    """State of one solve. Letters as in the module docstring."""

    def __init__(
        self,
        operator: Operator,
        hinges: Hinges,
        scale: Scale,
        linear: Array | None,
        ridge: Array | None,
        constant: float,
        tolerance: float,
    ) -> None:
        self.operator = operator
        self.b, self.below, self.above = hinges.position, hinges.below, hinges.above
        self.c = self.below + self.above
        self.w = hinges.weight
        self.total = float(self.w.sum())
        self.g = np.zeros(operator.n_parameters) if linear is None else linear
        self.rho = ridge
        self.hinges_only = linear is None and constant == 0
        self.constant = constant
        self.tolerance = tolerance
        self.smallest_scale, self.reach = scale
        self.theta = np.zeros(operator.n_parameters)
        self.z = np.zeros(len(self.b))
        self.r = self.z - self.b

    def run(self, trust_radius: float, cautious: bool, max_iterations: int) -> tuple[str, int]:
        """Iterate to the end, and say why and when that was."""
        self.correctors = 0 if cautious else self.operator.correctors
        step_share = constants.CAUTIOUS_STEP_SHARE if cautious else constants.STEP_SHARE
        limit = 2 * max_iterations if cautious else max_iterations
        self._centre()
        lowest, recentre = 0.0, False
        for iteration in range(limit + 1):
            self._certify(iteration % constants.MULTIPLIER_REFRESH == 0 or iteration == limit)
            if self._zero(iteration):
                self.gap, self.residual = self.objective, 0.0
            if self._optimal:
                return "optimal", iteration
            if iteration == limit:
                break
            if iteration == 0:
                lowest = -0.1 * abs(self.objective)
            # A sum of hinges cannot be negative; a reduced problem that is has no minimum. Whether
            # decisions have left the trusted neighbourhood is looked at now and then.
            left = iteration % 3 == 2 and np.isfinite(trust_radius)
            far = left and np.dot(self.z, self.z) > trust_radius * trust_radius * len(self.z)
            if not self.objective >= lowest or far:
                return "unbounded", iteration
            try:
                direction = self._direction(recentre)
            except SolverFailure:
                return "singular", iteration
            recentre = direction.shorter < 0.1
            self._advance(direction, step_share)
        return "iteration limit", limit

    def _centre(self) -> None:
        """Put the slacks and multipliers exactly on the (shifted) central path."""
        value = float(np.dot(self.c, np.maximum(self.r, 0.0)) - np.dot(self.below, self.r))
        distance = float(np.dot(self.c, np.abs(self.r)))
        # a band that holds nearly everything: start inside it
        if value <= constants.FLAT_COST * distance:
            value = 0.5 * distance
        # wider than the cost alone suggests where kinks are much farther away than that
        value *= min(10.0, max(1.0, sqrt(0.5 * distance / max(value, 1e-300))))
        mu = max(value / self.total, 1e-3 * self.smallest_scale / self.total, 1e-300)
        _, self.o, self.v = central_slacks(self.r, 2 * mu * self.w / self.c)
        self.p = mu * self.w / self.v
        self.q = mu * self.w / self.o

    def _certify(self, fresh: bool) -> None:
        """Objective, duality gap and dual residual at the current point.

        A Newton step changes h by a known amount, so A'y is computed afresh only now and then,
        and always before the answer is given.
        """
        over = np.maximum(self.r, 0.0)
        under = over - self.r
        value = np.dot(self.above, over) + np.dot(self.below, under) + np.dot(self.g, self.theta)
        self.hinge_gap = float(np.dot(self.q, over) + np.dot(self.p, under))
        if self.rho is not None:
            value += 0.5 * np.dot(self.rho * self.theta, self.theta)
        self.objective = self.constant + float(value)
        self.target = self.tolerance * max(abs(self.objective), self.smallest_scale)
        self.mu = float(np.dot(self.p, self.v) + np.dot(self.q, self.o)) / (2 * self.total)
        if not fresh:
            self._check_dual()
            fresh = self._optimal
        if fresh:
            self.h = self.operator.moments(self.p - self.below)
            self.h += self.g
            self._check_dual()

    def _check_dual(self) -> None:
        """Gap and residual from h."""
        pull = self.h if self.rho is None else self.h + self.rho * self.theta
        self.dual_rest = -pull
        charged, self.residual = doubt_of(pull, self.theta, self.rho, self.reach)
        self.gap = self.hinge_gap + charged

    @property
    def _optimal(self) -> bool:
        return self.gap <= self.target and self.residual <= self.target

    def _zero(self, iteration: int) -> bool:
        """Whether the objective is as good as zero, below which a sum of hinges never falls.

        With two-sided kinks that settles every decision. With a band there is room left, and the
        iteration first goes on toward its analytic centre.
        """
        if not self.hinges_only or self.objective > self.target:
            return False
        return iteration >= constants.CENTRING_ITERATIONS or bool(
            (self.below > 0).all() and (self.above > 0).all()
        )

    def _direction(self, recentre: bool) -> _Direction:
        """Predictor, corrector, and centrality correctors on one factor."""
        p, q, v, o = self.p, self.q, self.v, self.o
        D = v / p
        D += o / q
        np.reciprocal(D, out=D)
        self.D = D
        self.factor = self.operator.factor(D, self.rho)
        self.drift = self.r - o
        self.drift += v
        affine = self._newton(None, None)
        a, d = affine.primal_step, affine.dual_step
        predicted = (
            2 * self.total * self.mu
            + a * (np.dot(p, affine.d_under) + np.dot(q, affine.d_over))
            + d * (np.dot(affine.d_dual, v) - np.dot(affine.d_dual, o))
            + a * d * (np.dot(affine.d_dual, affine.d_under) - np.dot(affine.d_dual, affine.d_over))
        ) / (2 * self.total)
        sigma = (max(predicted, 0.0) / self.mu) ** 3
        if recentre:
            sigma = max(sigma, 0.5)
        # A μ far below what the tolerance asks for only spoils the dual equation by rounding.
        floor = constants.BARRIER_FLOOR * self.target / (2 * self.total)
        wanted = max(sigma * self.mu, floor) * self.w
        # Mehrotra's second-order direction, damped when it would be short.
        second_v = affine.d_dual * affine.d_under
        second_o = affine.d_dual * affine.d_over
        best = self._newton(wanted - second_v, wanted + second_o)
        if best.shorter < constants.SHORT_STEP and a * d != 1.0:
            second_v *= a * d
            second_o *= a * d
            damped = self._newton(wanted - second_v, wanted + second_o)
            best = damped if damped.shorter > best.shorter else best
        # Gondzio: push outlying complementarity products back toward the path.
        stretch, low, high = constants.CORRECTOR_STRETCH, 0.1 * wanted, 10 * wanted
        for _ in range(self.correctors):
            if best.shorter > 0.9:
                break
            primal = min(1.0, best.primal_step + stretch)
            dual = min(1.0, best.dual_step + stretch)
            push_v = (v + primal * best.d_under) * (p + dual * best.d_dual)
            push_o = (o + primal * best.d_over) * (q - dual * best.d_dual)
            push_v = np.maximum(np.clip(push_v, low, high) - push_v, -high)
            push_o = np.maximum(np.clip(push_o, low, high) - push_o, -high)
            longer = self._add(best, push_v, push_o)
            gain = longer.primal_step + longer.dual_step
            if gain < best.primal_step + best.dual_step + 0.1 * stretch:
                break
            best = longer
        return best

    def _newton(self, target_v: Array | None, target_o: Array | None) -> _Direction:
        """Solve the Newton system for p v → target_v and q o → target_o; None aims at zero."""
        p, q, v, D = self.p, self.q, self.v, self.D
        if target_v is None or target_o is None:
            load = D * self.r
        else:
            load = target_v / p
            load += self.r
            load -= target_o / q
            load *= D
        d_theta, d_decision, d_dual = self._eliminated(load, self.dual_rest)
        d_under = v * d_dual
        if target_v is None:
            np.negative(d_under, out=d_under)
        else:
            np.subtract(target_v, d_under, out=d_under)
        d_under /= p
        d_under -= v
        d_over = d_under + d_decision
        d_over += self.drift
        return self._measured(d_theta, d_decision, d_dual, d_under, d_over)

    def _add(self, base: _Direction, push_v: Array, push_o: Array) -> _Direction:
        """Return base plus the direction that changes only the complementarity products."""
        load = push_v / self.p
        load -= push_o / self.q
        load *= self.D
        d_theta, d_decision, d_dual = self._eliminated(load, 0.0)
        d_under = push_v - self.v * d_dual
        d_under /= self.p
        d_over = d_under + d_decision
        d_theta += base.d_theta
        d_decision += base.d_decision
        d_dual += base.d_dual
        d_under += base.d_under
        d_over += base.d_over
        return self._measured(d_theta, d_decision, d_dual, d_under, d_over)

    def _eliminated(self, load: Array, dual_rest: Array | float) -> tuple[Array, Array, Array]:
        """Solve the p × p system: changes of θ, of the decisions and of the multipliers."""
        d_theta = self.factor.solve(dual_rest - self.operator.moments(load))
        d_decision = self.operator.decisions(d_theta)
        d_dual = self.D * d_decision
        d_dual += load
        return d_theta, d_decision, d_dual

    def _measured(
        self, d_theta: Array, d_decision: Array, d_dual: Array, d_under: Array, d_over: Array
    ) -> _Direction:
        """Join the longest steps that keep slacks and multipliers non-negative."""
        lowest = (
            min(float((d_under / self.v).min()), float((d_over / self.o).min())),
            min(float((d_dual / self.p).min()), -float((d_dual / self.q).max())),
        )
        primal, dual = (1.0 if ratio >= -1.0 else -1.0 / ratio for ratio in lowest)
        if self.rho is not None:  # a quadratic term ties both steps together
            primal = dual = min(primal, dual)
        return _Direction(d_theta, d_decision, d_dual, d_under, d_over, primal, dual)

    def _advance(self, direction: _Direction, step_share: float) -> None:
        primal, dual = direction.primal_step, direction.dual_step
        primal = 1.0 if primal >= 1 else step_share * primal
        dual = 1.0 if dual >= 1 else step_share * dual
        self.theta += primal * direction.d_theta
        self.z += primal * direction.d_decision
        np.subtract(self.z, self.b, out=self.r)
        self.v += primal * direction.d_under
        self.o += primal * direction.d_over
        self.p += dual * direction.d_dual
        self.q -= dual * direction.d_dual
        # A'd_dual = dual_rest − ρ dθ holds for every direction that `_newton` and `_add` make
        change = self.dual_rest
        if self.rho is not None:
            change -= self.rho * direction.d_theta
        self.h += dual * change
