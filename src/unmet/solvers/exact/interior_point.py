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
centrality correctors on the same factor; a direction is linear in the products p v and q o that it
aims at, so a corrector only adds to these. If the corrected step is short, the second-order term is
damped by the lengths of the predictor: on massively degenerate data (half of all sales exactly on a
plane) the undamped one stalls.

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

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack

from unmet.arrays import Array, Places
from unmet.errors import SolverFailure
from unmet.solvers.problem import Hinges

Factor: TypeAlias = Callable[[Array], Array]
"""Solves with a matrix that has been factored."""
Scale: TypeAlias = tuple[float, float]
"""What is small for a problem and what is far: the gap is relative to the objective, but never to
less than the first; decisions might reasonably move by the second, the spread of the kinks."""

# --- Cholesky factors that survive rank deficiency, zero columns and wild scales.


def factorise(matrix: Array) -> Factor:
    """Factor a positive semidefinite matrix.

    The matrix is scaled to a unit diagonal first (Jacobi), so that columns of scale 1e-8 and 1e8
    meet as equals; a shift of a few rounding errors then makes singular matrices (all dummies and
    an intercept, repeated columns) factorable. A zero column gets a unit pivot, so its
    coefficient never moves. The shift grows only when LAPACK refuses.
    """
    size = len(matrix)
    if not size:
        return np.copy
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    empty = None
    if not scale.min() > 1e-75:
        empty = ~(scale > 1e-75)
        scale[empty] = 1.0
    shift = size * 1e-15
    while shift < 1.0:
        scaled = matrix / scale
        scaled /= scale[:, None]
        diagonal = scaled.reshape(-1)[:: size + 1]
        if empty is not None:
            diagonal[empty] = 1.0
        diagonal += shift
        # the matrix is symmetric, so its transpose is a free Fortran-ordered view
        factor, info = lapack.dpotrf(scaled.T, lower=1, overwrite_a=1)
        if info == 0:
            return lambda right: lapack.dpotrs(factor, right / scale, lower=1)[0] / scale
        shift *= 100
    raise SolverFailure("the normal matrix could not be factored; the features may overflow.")


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return rows' diag(weights) rows, in chunks whose scaled copy stays in the cache."""
    n_rows, n_columns = rows.shape
    root = np.sqrt(weights)[:, None]
    chunk = max(256, 75_000 // max(n_columns, 1))  # 600 kB
    if n_rows <= chunk:
        scaled = rows * root
        return np.asarray(scaled.T @ scaled)
    total = np.zeros((n_columns, n_columns))
    buffer = np.empty((chunk, n_columns))
    for first in range(0, n_rows, chunk):
        part = rows[first : first + chunk]
        scaled = np.multiply(part, root[first : first + chunk], out=buffer[: len(part)])
        total += scaled.T @ scaled
    return total


# --- The matrix A: rows of the features, how they stand to the kinks, and ℓ1.


class Operator:
    """The matrix A: a dense design matrix (intercept column included), and its rows as kinks.

    A row has one kink, or several. These come in `blocks` (all first kinks, then all second ones),
    or are `merged`: sorted by row, given as the row of each kink, and where the kinks of each row
    begin. ℓ1 needs no machinery of its own: λ|θ_j| is a hinge at zero like any other, of a row e_j
    that reads off coefficient j alone. These rows come last and add their weight to the diagonal of
    the normal matrix, which is the place where ridge stands too.

    Attributes
    ----------
    penalised : ndarray of int
        Coefficients under ℓ1.
    correctors : int
        Centrality correctors that pay: more, the dearer the factor.
    """

    def __init__(
        self,
        rows: Any,
        blocks: int = 1,
        merged: tuple[Places, Places] | None = None,
        penalised: Places | None = None,
    ) -> None:
        self.rows, self.blocks, self.merged = rows, blocks, merged
        self.n_parameters = int(rows.shape[1])
        self.correctors = 0 if self.n_parameters < 40 else 1 if self.n_parameters < 100 else 2
        self.penalised = penalised
        self.n_lasso = 0 if penalised is None else len(penalised)

    def decisions(self, theta: Array) -> Array:
        """Return Aθ, one entry per kink."""
        values: Array = self.rows @ theta
        if self.merged is not None:
            values = values.take(self.merged[0])
        elif self.blocks > 1:
            values = np.concatenate([values] * self.blocks)
        if self.penalised is None:
            return values
        return np.concatenate([values, theta[self.penalised]])

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        if self.penalised is None:
            return self.times(self.collect(values))
        n_rows = len(values) - self.n_lasso
        result = self.times(self.collect(values[:n_rows]))
        result[self.penalised] += values[n_rows:]
        return result

    def factor(self, weights: Array, ridge: Array | None) -> Factor:
        """Factor A' diag(weights) A + diag(ridge)."""
        if self.penalised is not None:
            n_rows = len(weights) - self.n_lasso
            ridge = np.zeros(self.n_parameters) if ridge is None else ridge.copy()
            ridge[self.penalised] += weights[n_rows:]
            weights = weights[:n_rows]
        return self.factor_rows(self.collect(weights), ridge)

    def collect(self, values: Array) -> Array:
        """Sum the values of each row's kinks."""
        if self.merged is not None:
            values = np.add.reduceat(values, self.merged[1])
        elif self.blocks > 1:
            values = values.reshape(self.blocks, -1).sum(axis=0)
        return values

    def subset(self, kinks: Places) -> Operator:
        """Return the operator of some kinks, in increasing order, those of ℓ1 all among them."""
        kinks = kinks[: len(kinks) - self.n_lasso]
        rows = kinks % self.rows.shape[0] if self.merged is None else self.merged[0][kinks]
        return self.with_rows(self.rows[rows])

    # Other storages have their own of the following.

    def times(self, values: Array) -> Array:
        """Return rows'values."""
        return np.asarray(values @ self.rows)

    def factor_rows(self, weights: Array, ridge: Array | None) -> Factor:
        """Factor rows' diag(weights) rows + diag(ridge)."""
        gram = weighted_gram(self.rows, weights)
        if ridge is not None:
            gram.flat[:: len(gram) + 1] += ridge
        return factorise(gram)

    def with_rows(self, rows: Any) -> Operator:
        """Return the operator of other rows, with one kink each."""
        return Operator(rows, penalised=self.penalised)

    def leverage(self) -> Array | float:
        """Return how far each decision moves with an error of θ, relative to others: all alike."""
        return 1.0


# --- The iteration.


def central_slacks(r: Array, width: Array) -> tuple[Array, Array]:
    """Return o and v of the central path at residuals r, given the width κ of each kink."""
    total = np.sqrt(r * r + width * width) + width
    o, v = 0.5 * (total + r), 0.5 * (total - r)
    # the smaller of the two is a difference of equals: vo = κ (S + κ) / 2 gives it back
    product, over = 0.5 * width * total, r > 0
    np.divide(product, o, out=v, where=over)
    np.divide(product, v, out=o, where=~over)
    return o, v


class InteriorPoint(NamedTuple):
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


class _Direction(NamedTuple):
    """A Newton direction and its longest primal and dual steps."""

    theta: Array
    z: Array
    y: Array
    v: Array
    o: Array
    primal: float
    dual: float


# A hopeless problem overflows before it is recognised; its status says what happened.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def follow_central_path(
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
) -> InteriorPoint:
    """Solve problem (P) of the module docstring; letters as there.

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
        Shorter steps, more of them, and no centrality correctors, where the usual ones stall.
    """
    limit, correctors, step_share = 200, operator.correctors, 0.9995
    if cautious:
        limit, correctors, step_share = 400, 0, 0.95
    smallest, reach = scale
    below, above, w = hinges.below, hinges.above, hinges.weight
    c, total = below + above, float(w.sum())
    b = hinges.position - operator.decisions(start)
    g = np.zeros(operator.n_parameters) if linear is None else linear
    if ridge is not None:
        g = g + ridge * start
        constant += 0.5 * float(np.dot(ridge * start, start))
    hinges_only = linear is None and ridge is None and constant == 0
    two_sided = hinges_only and bool((below > 0).all() and (above > 0).all())
    theta, z, r = np.zeros(operator.n_parameters), np.zeros(len(b)), -b

    # The start of the docstring. Its μ is wider than the cost alone suggests where kinks are much
    # farther away than that, and inside a band that holds nearly everything.
    value = float(np.dot(c, np.maximum(r, 0.0)) - np.dot(below, r))
    distance = float(np.dot(c, np.abs(r)))
    if value <= 1e-6 * distance:
        value = 0.5 * distance
    value *= min(10.0, max(1.0, sqrt(0.5 * distance / max(value, 1e-300))))
    mu = max(value / total, 1e-3 * smallest / total, 1e-300)
    o, v = central_slacks(r, 2 * mu * w / c)
    p, q = mu * w / v, mu * w / o

    def newton(target_v: Array | None = None, target_o: Any = None) -> _Direction:
        """Solve the Newton system for p v → target_v and q o → target_o; None aims at zero."""
        load = r if target_v is None else r + target_v / p - target_o / q
        load = D * load
        d_theta = factor(dual_rest - operator.moments(load))
        d_z = operator.decisions(d_theta)
        d_y = D * d_z
        d_y += load
        d_v = v * d_y
        np.subtract(0.0 if target_v is None else target_v, d_v, out=d_v)
        d_v /= p
        d_v -= v
        d_o = d_v + d_z
        d_o += drift
        # the longest steps that keep slacks and multipliers non-negative
        lowest = min(float((d_v / v).min()), float((d_o / o).min()))
        primal = 1.0 if lowest >= -1.0 else -1.0 / lowest
        lowest = min(float((d_y / p).min()), -float((d_y / q).max()))
        dual = 1.0 if lowest >= -1.0 else -1.0 / lowest
        if ridge is not None:  # a quadratic term ties both steps together
            primal = dual = min(primal, dual)
        return _Direction(d_theta, d_z, d_y, d_v, d_o, primal, dual)

    iteration, status, recentre, lowest = 0, "iteration limit", False, 0.0
    while True:
        # objective, duality gap and dual residual at the current point
        over = np.maximum(r, 0.0)
        under = over - r
        value = np.dot(above, over) + np.dot(below, under) + np.dot(g, theta)
        pull = operator.moments(p - below) + g
        if ridge is not None:
            value += 0.5 * np.dot(ridge * theta, theta)
            pull += ridge * theta
        objective = constant + float(value)
        charged, residual = doubt_of(pull, theta, ridge, reach)
        gap = float(np.dot(q, over) + np.dot(p, under)) + charged
        target = tolerance * max(abs(objective), smallest)
        # No sum of hinges is below zero. With two-sided kinks a cost of zero settles every
        # decision; with a band there is room left, toward whose centre the iteration first
        # goes on.
        if hinges_only and objective <= target and (iteration >= 12 or two_sided):
            gap, residual = objective, 0.0
        if gap <= target and residual <= target:
            status = "optimal"
            break
        if iteration == limit:
            break
        if iteration == 0:
            lowest = -0.1 * abs(objective)
        # A reduced problem that is below zero has no minimum. Whether decisions have left the
        # trusted neighbourhood is looked at now and then.
        left = iteration % 3 == 2 and trust_radius < np.inf
        far = left and np.dot(z, z) > trust_radius * trust_radius * len(z)
        if not objective >= lowest or far:
            status = "unbounded"
            break

        D = v / p
        D += o / q
        np.reciprocal(D, out=D)
        try:
            factor = operator.factor(D, ridge)
        except SolverFailure:
            status = "singular"
            break
        dual_rest, drift = -pull, r - o
        drift += v
        mu = float(np.dot(p, v) + np.dot(q, o)) / (2 * total)
        affine = newton()
        a, d = affine.primal, affine.dual
        predicted = mu + (
            a * (np.dot(p, affine.v) + np.dot(q, affine.o))
            + d * (np.dot(affine.y, v) - np.dot(affine.y, o))
            + a * d * (np.dot(affine.y, affine.v) - np.dot(affine.y, affine.o))
        ) / (2 * total)
        sigma = (max(predicted, 0.0) / mu) ** 3
        if recentre:
            sigma = max(sigma, 0.5)
        # a μ far below what the tolerance asks for only spoils the dual equation by rounding
        wanted = max(sigma * mu, 0.01 * target / (2 * total)) * w
        second_v, second_o = affine.y * affine.v, affine.y * affine.o
        target_v, target_o = wanted - second_v, wanted + second_o
        best = newton(target_v, target_o)
        if min(best.primal, best.dual) < 0.2 and a * d != 1.0:
            milder = wanted - a * d * second_v, wanted + a * d * second_o
            damped = newton(*milder)
            if min(damped.primal, damped.dual) > min(best.primal, best.dual):
                best, (target_v, target_o) = damped, milder
        # Gondzio: push outlying complementarity products back toward the path.
        low, high = 0.1 * wanted, 10 * wanted
        for _ in range(correctors):
            if min(best.primal, best.dual) > 0.9:
                break
            a, d = min(1.0, best.primal + 0.3), min(1.0, best.dual + 0.3)
            push_v = (v + a * best.v) * (p + d * best.y)
            push_o = (o + a * best.o) * (q - d * best.y)
            target_v = target_v + np.maximum(np.clip(push_v, low, high) - push_v, -high)
            target_o = target_o + np.maximum(np.clip(push_o, low, high) - push_o, -high)
            longer = newton(target_v, target_o)
            if longer.primal + longer.dual < best.primal + best.dual + 0.03:
                break
            best = longer
        recentre = min(best.primal, best.dual) < 0.1
        a = 1.0 if best.primal >= 1 else step_share * best.primal
        d = 1.0 if best.dual >= 1 else step_share * best.dual
        theta += a * best.theta
        z += a * best.z
        np.subtract(z, b, out=r)
        v += a * best.v
        o += a * best.o
        p += d * best.y
        q -= d * best.y
        iteration += 1
    theta = start + theta
    if hinges_only and objective <= tolerance * smallest:
        theta = analytic_centre(operator, hinges, theta)
        gap, residual, status = objective, 0.0, "optimal"
    return InteriorPoint(theta, p - below, z, objective, gap, residual, iteration, status)


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
    if operator.n_lasso or not one_sided.all():
        return theta
    sign = np.where(hinges.above > 0, 1.0, -1.0)  # +1: an upper end, the decision lies below
    weight = hinges.weight / hinges.weight.max()
    slack = sign * (hinges.position - operator.decisions(theta))
    if not slack.min() > 0:
        return theta
    for _ in range(100):
        gradient = operator.moments(-sign * weight / slack)
        try:
            step = operator.factor(weight / slack**2, None)(gradient)
        except SolverFailure:
            return theta
        if not float(gradient @ step) > 1e-10 * float(weight.sum()):
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
