"""Likelihood of the observations under S = min(D, Q), and its maximum for one candidate model.

With u = (s − location) / scale and v = (u − level) / spread, a truth D and an order Q that are
independent given the features have, per row, ::

    seen      ℓ₁ = log f(u) − log scale + log B(v)
    censored  ℓ₂ = log S(u) + log(1 − π) + log φ(v) − log(scale · spread)
    unknown   log(exp ℓ₁ + exp ℓ₂)
    floor     log(1 − S(u) B(v)),   the observation is a lower bound of what can be observed
    below     log F(u),             the truth is below a limit
    between   log(F(u + w) − F(u)), the truth is between two limits, w apart in units of scale

where f and S are density and survival of the family, B(v) = π + (1 − π) Φ(−v) is the chance that
the stock lasts, and π that it is unlimited. Without orders B is 1 and their factor is left out of
ℓ₂: where every row is known to be censored or seen, that is censored regression.
The last two kinds occur without orders only: limits of the truth ask nothing of those. A truth that
had to exceed a value to be in the records at all (delayed entry) has − log S there in addition.

`LatentModel` says what the parameters of a candidate model mean, `Problem` joins it with rows, and
`maximise` climbs by L-BFGS in coordinates whitened by the rows' gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special

from unmet.arrays import Array, Numbers, taken
from unmet.censoring.latent.counts import count_likelihood, count_share
from unmet.censoring.latent.families import NORMAL, Family, ratio

Policy: TypeAlias = Literal["absent", "noisy", "mixture"]
ScaleName: TypeAlias = Literal["constant", "level", "features"]
LinkName: TypeAlias = Literal["linear", "additive", "multiplicative"]
Orders: TypeAlias = tuple[float, float, float]
"""Level and spread of orders in units of the truth's scale, and the chance of unlimited stock."""

UNKNOWN, CENSORED, SEEN, FLOOR, BELOW, BETWEEN = range(6)
_LOG_SCALES, _LOG_SPREADS = (-30.0, 30.0), (-20.0, 5.0)
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


@dataclass(frozen=True)
class LatentModel:
    """A candidate model: family of the truth, policy of the orders, and how both follow features.

    The order is location + scale · (level + spread · W) with W standard normal: it moves with the
    truth. Where it is never binding there are no such parameters.

    Attributes
    ----------
    family : Family
    policy : {"absent", "noisy", "mixture"}
        How orders were placed: never binding; around a level; the same, and sometimes unlimited.
    scale : {"constant", "level", "features"}
        What the scale follows.
    link : {"linear", "additive", "multiplicative"}
        How the location follows the features, on the logarithmic scale.
    on_orders : bool
        Whether the location moves with orders that are known, instead of with each feature.
    n_location, n_scale : int
        Features of the location, a constant among them, and of the logarithm of the scale, apart
        from its constant.
    softness : float
        For an additive location on the logarithmic scale: the level below which it bends towards
        0; 0 for a location that is itself linear.
    least_spread : float
        Smallest spread of orders, in units of the scale: below it orders count as a point mass.
    unit : float
        Of the points, in units of the observation.
    """

    family: Family
    policy: Policy
    scale: ScaleName = "constant"
    link: LinkName = "linear"
    on_orders: bool = False
    n_location: int = 1
    n_scale: int = 0
    softness: float = 0.0
    least_spread: float = 1e-3
    unit: float = 1.0

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each parameter stands in the vector; an empty slice where it does not exist."""
        orders = int(self.policy != "absent")
        counts = {
            "location": self.n_location,
            "scale": 1 + self.n_scale,
            "shape": int(self.family.shape is not None),
            "level": orders,
            "spread": orders,
            "unlimited": int(self.policy == "mixture"),
        }
        ends = accumulate(counts.values(), initial=0)
        return {name: slice(*each) for name, each in zip(counts, pairwise(ends), strict=True)}

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(self.slices["unlimited"].stop)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Where each parameter still changes something: lower and upper ends.

        Beyond, the likelihood is flat, and a climb that steps there would never come back.
        """
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        least, most = self.family.shapes
        scales = (-0.5 * most, -0.5 * least) if self.family.space == "counts" else _LOG_SCALES
        constant = self.slices["scale"].start
        low[constant], high[constant] = scales
        low[self.slices["shape"]], high[self.slices["shape"]] = self.family.shapes
        low[self.slices["spread"]], high[self.slices["spread"]] = _LOG_SPREADS
        low[self.slices["unlimited"]], high[self.slices["unlimited"]] = -15.0, 15.0
        return low, high

    def locate(self, parameters: Array, basis: Array, scale_basis: Array) -> tuple[Array, Array]:
        """Location and log-scale of any rows."""
        linear = basis @ parameters[self.slices["location"]]
        if self.softness:
            bent = np.logaddexp(0.0, linear / self.softness)
            linear = np.log(self.softness * np.maximum(bent, 1e-12))
        part = parameters[self.slices["scale"]]
        return linear, np.clip(part[0] + scale_basis @ part[1:], *_LOG_SCALES)

    def orders(self, parameters: Array) -> Orders | None:
        """Orders in units of the scale; None where they never bind."""
        if self.policy == "absent":
            return None
        level, log_spread = parameters[self.slices["level"].start :][:2]
        spread = self.least_spread + np.exp(np.clip(log_spread, *_LOG_SPREADS))
        unlimited = special.expit(parameters[-1]) if self.policy == "mixture" else 0.0
        return float(level), float(spread), float(unlimited)

    def shape(self, parameters: Array, log_scale: Numbers | None = None) -> Numbers:
        """Logarithm of the shape, where the log-scale is as given or its mean; 0 without one."""
        if self.family.tied:
            # features of the scale have mean 0 on the training rows
            mean = float(parameters[self.slices["scale"].start])
            return -2.0 * (mean if log_scale is None else log_scale)
        shape = parameters[self.slices["shape"]]
        return float(shape[0]) if shape.size else 0.0

    def share_censored(self, parameters: Array) -> float:
        """Probability that the truth exceeds the order, in a typical row.

        It is the same in every row, but for counts and for a gamma whose scale varies.
        """
        orders, shape = self.orders(parameters), self.shape(parameters)
        if orders is None:
            return 0.0
        if self.family.space == "counts":
            # all features but the constant are at their mean, 0
            basis, scale_basis = np.eye(1, self.n_location), np.zeros((1, self.n_scale))
            return count_share(self.locate(parameters, basis, scale_basis)[0], shape, orders)
        level, spread, unlimited = orders
        survival = np.exp(self.family.log_survival(level + spread * _NODES, shape)) @ _NODE_WEIGHTS
        return float(survival / _NODE_WEIGHTS.sum()) * (1.0 - unlimited)

    def share_slopes(self, parameters: Array) -> Array:
        """Slope of the share in the parameters, by differences."""
        slope, step = np.zeros(parameters.size), 1e-5
        numbers = [self.slices["scale"].start, *range(self.slices["shape"].start, self.size)]
        if self.family.space == "counts":  # their share depends on the mean
            numbers.append(0)
        for place in numbers if self.policy != "absent" else []:
            ends = []
            for move in (step, -step):
                moved = parameters.copy()
                moved[place] += move
                ends.append(self.share_censored(moved))
            slope[place] = (ends[0] - ends[1]) / (2.0 * step)
        return slope

    def at_rate(self, parameters: Array, rate: float) -> Array | None:
        """Parameters with the level of orders at which the share is the rate; None without one."""
        place = self.slices["level"].start
        found = parameters.copy()

        def miss(level: float) -> float:
            found[place] = level
            return self.share_censored(found) - rate

        low, high = found[place] - 1.0, found[place] + 1.0
        for _ in range(40):
            if miss(low) >= 0.0 >= miss(high):
                found[place] = optimize.brentq(miss, low, high, xtol=1e-10)
                return found
            low, high = low - 2.0 * (high - low), high + 2.0 * (high - low)
        return None


@dataclass(frozen=True)
class Problem:
    """One candidate model and the rows it must explain.

    Attributes
    ----------
    model : LatentModel
    basis : ndarray of shape (n_rows, n_location)
        Features of the location, a constant first.
    scale_basis : ndarray of shape (n_rows, n_scale)
        Further features of the logarithm of the scale.
    point : ndarray of shape (n_rows,)
        Observations, or their logarithms.
    kind : ndarray of int, shape (n_rows,)
        UNKNOWN, CENSORED, SEEN, FLOOR, BELOW or BETWEEN.
    weight : ndarray of shape (n_rows,)
        One on average.
    width : ndarray of shape (n_rows,) or None
        How far the upper limit of rows between two lies above their point.
    rate : float or None
        A share sold out that is imposed.
    entry : ndarray of shape (n_rows,) or None
        Points that a truth must exceed to be in the records at all (delayed entry).
    """

    model: LatentModel
    basis: Array
    scale_basis: Array
    point: Array
    kind: Array
    weight: Array
    width: Array | None = None
    rate: float | None = None
    entry: Array | None = None

    def take(self, index: NDArray[np.intp]) -> Problem:
        """Keep some rows."""
        names = ("basis", "scale_basis", "point", "kind", "weight", "width", "entry")
        return replace(self, **taken(self, index, *names))

    def residual(self, parameters: Array) -> tuple[Array, Array, Array]:
        """Points in units of the scale from the location; location and log-scale of the rows."""
        location, log_scale = self.model.locate(parameters, self.basis, self.scale_basis)
        return (self.point - location) * np.exp(-log_scale), location, log_scale

    def rows(self, parameters: Array, *, slopes: bool = True) -> tuple[Array, list[Array]]:
        """Log-likelihood of each row, and its slopes in location, log-scale, and the numbers."""
        model, family = self.model, self.model.family
        u, location, log_scale = self.residual(parameters)
        orders, shape = model.orders(parameters), model.shape(parameters, log_scale)
        if family.space == "counts":  # their orders stand on the logarithmic scale itself
            known = self.kind == CENSORED, self.kind == SEEN
            value, columns = count_likelihood(shape, orders, self.point, location, *known)
            local = [columns[0], -2.0 * columns[1], *columns[2:]]
        else:
            value, by_point, by_density, more = row_likelihood(
                family, shape, orders, u, log_scale, self.kind, self.width
            )
            if self.entry is not None:  # given that the truth exceeds it
                began = (self.entry - location) * np.exp(-log_scale)
                survived = family.log_survival(began, shape)
                value = value - survived
            if not slopes:
                return value, []
            local = [-by_point * np.exp(-log_scale), -by_density - u * by_point]
            if self.entry is not None:
                hazard = ratio(family.density(began, shape)[0], survived)
                local = [local[0] - hazard * np.exp(-log_scale), local[1] - hazard * began]
            if family.shape is not None or family.tied:
                step = 1e-6
                moved = row_likelihood(
                    family, shape + step, orders, u, log_scale, self.kind, self.width
                )[0]
                if family.tied:
                    local[1] -= 2.0 * (moved - value) / step
                else:
                    local.append((moved - value) / step)
            local += more
        if model.softness and slopes:
            linear = self.basis @ parameters[model.slices["location"]]
            local[0] = local[0] * special.expit(linear / model.softness) / np.exp(location)
        if orders is not None:
            local[-2] = local[-2] * (1.0 - model.least_spread / orders[1])
            local[-1] = local[-1] * orders[2] * (1.0 - orders[2])
            if model.policy == "noisy":
                local.pop()
        return value, local

    def values(self, parameters: Array) -> Array:
        """Log-likelihood of each row."""
        return self.rows(parameters, slopes=False)[0]

    def information(self, parameters: Array) -> Array:
        """Sum over rows of the outer products of their gradients."""
        _, local = self.rows(parameters)
        columns = np.column_stack(
            [
                self.basis * local[0][:, None],
                local[1],
                self.scale_basis * local[1][:, None],
                *local[2:],
            ]
        )
        return np.asarray((columns * self.weight[:, None]).T @ columns)

    def objective(self, parameters: Array) -> tuple[float, Array]:
        """Mean negative log-likelihood, plus what bounds cost, and its gradient."""
        value, local = self.rows(parameters)
        by_scale = self.weight * local[1]
        gradient = np.concatenate(
            [
                (self.weight * local[0]) @ self.basis,
                [by_scale.sum()],
                by_scale @ self.scale_basis,
                [self.weight @ column for column in local[2:]],
            ]
        )
        beyond = parameters - np.clip(parameters, *self.model.bounds)
        total = -float(self.weight @ value) / value.size + 0.5 * float(beyond @ beyond)
        return total, -gradient / value.size + beyond


def row_likelihood(
    family: Family,
    shape: Numbers,
    orders: Orders | None,
    u: Array,
    log_scale: Array,
    kind: Array,
    width: Array | None = None,
) -> tuple[Array, Array, Array, list[Array]]:
    """Log-likelihood of each row, its slope in u, how far it is a density, and slopes of orders.

    The slope in u holds the order's place relative to the location. A row that enters with a
    density has 1, one that enters with a probability 0; a row between two limits is in between.
    Slopes of orders are in their level, log-spread and chance of unlimited stock.
    """
    if orders is None:
        return *_without_orders(family, shape, u, log_scale, kind, width), []
    level, spread, unlimited = orders
    log_density, slope = family.density(u, shape)
    log_survival = family.log_survival(u, shape)
    v = (u - level) / spread
    order_density, order_survival = NORMAL.density(v)[0], NORMAL.log_survival(v)
    # logarithm of the chance that stock lasts, and minus its derivative in v
    lasts = order_survival
    if unlimited:
        lasts = np.log(unlimited + (1.0 - unlimited) * np.exp(order_survival))
    lasts_slope = (1.0 - unlimited) * ratio(order_density, lasts)
    seen = log_density + lasts - log_scale
    binds = np.log1p(-unlimited)
    short = binds + order_density + log_survival - np.log(spread) - log_scale
    both = np.logaddexp(seen, short)
    # the probability of having been seen, given the observation
    share, value = np.exp(seen - both), both
    if kind.any():
        censored, uncensored = kind == CENSORED, kind == SEEN
        value = np.where(censored, short, np.where(uncensored, seen, both))
        share = np.where(censored, 0.0, np.where(uncensored, 1.0, share))
    other, density = 1.0 - share, np.ones_like(u)
    by_point = share * slope - other * ratio(log_density, log_survival)
    by_v = -share * lasts_slope - other * v
    by_unlimited = np.zeros_like(u)
    if unlimited:
        met = -np.expm1(order_survival) * np.exp(-lasts)
        by_unlimited = share * met - other / (1.0 - unlimited)
    by_spread = -other - v * by_v
    if (kind == FLOOR).any():
        at = kind == FLOOR
        own = shape[at] if isinstance(shape, np.ndarray) else shape
        sold_out, above = special.log_ndtr(v[at]), log_survival[at]
        value[at] = np.logaddexp(family.log_below(u[at], own), above + sold_out + binds)
        by_point[at] = ratio(log_density[at] + lasts[at], value[at])
        by_v[at] = ratio(above + order_density[at] + binds, value[at])
        by_spread[at] = -v[at] * by_v[at]
        by_unlimited[at] = -ratio(above + sold_out, value[at])
        density[at] = 0.0
    by_level = -by_v / spread
    return value, by_point - by_level, density, [by_level, by_spread, by_unlimited]


def _without_orders(
    family: Family, shape: Numbers, u: Array, log_scale: Array, kind: Array, width: Array | None
) -> tuple[Array, Array, Array]:
    """Censored regression; rows of which nothing is known count as seen."""
    log_density, point = family.density(u, shape)
    value, density = log_density - log_scale, np.ones_like(u)
    for at, tail, sign in (
        (kind == CENSORED, family.log_survival, -1.0),
        ((kind == FLOOR) | (kind == BELOW), family.log_below, 1.0),
    ):
        if at.any():
            value[at] = tail(u[at], shape[at] if isinstance(shape, np.ndarray) else shape)
            point[at] = sign * ratio(log_density[at], value[at])
            density[at] = 0.0
    if (kind == BETWEEN).any():
        at = kind == BETWEEN
        assert width is not None
        own = shape[at] if isinstance(shape, np.ndarray) else shape
        value[at], point[at], density[at] = between(
            family, own, u[at], width[at] * np.exp(-log_scale[at])
        )
    return value, point, density


def between(family: Family, shape: Numbers, u: Array, width: Array) -> tuple[Array, Array, Array]:
    """Log-probability of a truth between u and u + width, its slope in u, and in log width.

    A difference of probabilities loses its digits where both are nearly the same: the difference is
    taken of the smaller tail, by way of logarithms, and of narrow limits the density is.
    """
    top = u + width
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        above, above_top = family.log_survival(u, shape), family.log_survival(top, shape)
        under, under_top = family.log_below(u, shape), family.log_below(top, shape)
        value = np.where(
            under_top < above,
            under_top + np.log(-np.expm1(under - under_top)),
            above + np.log(-np.expm1(above_top - above)),
        )
    rise = ratio(family.density(top, shape)[0], value)
    slope, in_width = rise - ratio(family.density(u, shape)[0], value), width * rise
    narrow = ~(width >= 1e-5)
    if narrow.any():
        middle, middle_slope = family.density(u + 0.5 * width, shape)
        value = np.where(narrow, middle + np.log(np.maximum(width, 1e-300)), value)
        slope = np.where(narrow, middle_slope, slope)
        in_width = np.where(narrow, 1.0 + 0.5 * width * middle_slope, in_width)
    return value, slope, in_width


# --- The climb.


def maximise(
    problem: Problem,
    start: Array,
    *,
    rounds: int = 6,
    steps: int = 15,
    tolerance: float = 1e-3,
    whitening: Array | None = None,
) -> tuple[Array, float]:
    """Climb from one start; whiten again after each round until a round gains next to nothing.

    Gives the parameters and their mean log-likelihood. A thousandth of a unit of log-likelihood
    decides nothing, so `tolerance` is that; a smaller one is for digits that are to be compared.
    Where a rate is imposed, the level of the orders is no coordinate: it follows from the others,
    since a stiff and bent constraint would have to be followed in tiny steps. The first
    `whitening` may be that of a neighbour (`whiten`).
    """
    here, n_rows = _coordinates(problem, np.asarray(start, dtype=np.float64)), problem.point.size
    back = np.eye(here.size)

    def objective(z: Array) -> tuple[float, Array]:
        """Minus the mean log-likelihood, and its gradient, in coordinates whitened around here."""
        parameters, along = _parameters(problem, here + back @ z)
        if parameters is None:  # no orders make the rate
            return 1e10, np.zeros(z.size)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = problem.objective(parameters)
        if along is not None:
            place = problem.model.slices["level"].start
            gradient = np.delete(gradient, place) + gradient[place] * along
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return 1e10, np.zeros(z.size)
        return value, back.T @ gradient

    best = objective(np.zeros(here.size))[0]
    # The first step of L-BFGS-B has length one: make that ten standard errors.
    stride = 10.0 / np.sqrt(n_rows)
    for number in range(rounds):
        if number or whitening is None:
            whitening = whiten(problem, here)
        back = stride * whitening
        found = optimize.minimize(
            objective,
            np.zeros(here.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 12, "ftol": tolerance / n_rows, "gtol": 1e-9},
        )
        gain = best - float(found.fun)
        if gain > 0:
            here, best = here + back @ found.x, float(found.fun)
        elif found.nit <= 1 and stride > 0.01 / np.sqrt(n_rows):
            stride *= 0.1  # the very first step went nowhere: a flat, bent direction
            continue
        if gain < 10.0 * tolerance / n_rows:
            break
    parameters, _ = _parameters(problem, here)
    return (start if parameters is None else parameters), -best


def _coordinates(problem: Problem, parameters: Array) -> Array:
    """Coordinates of a climb: all parameters, but the level of orders where a rate is imposed."""
    if problem.rate is None or problem.model.policy == "absent":
        return parameters
    return np.delete(parameters, problem.model.slices["level"].start)


def _parameters(problem: Problem, here: Array) -> tuple[Array | None, Array | None]:
    """Parameters at some coordinates, and the slope of the level in these; None without a rate."""
    if here.size == problem.model.size:
        return here, None
    model, place = problem.model, problem.model.slices["level"].start
    assert problem.rate is not None
    start = float(model.family.quantile(1.0 - problem.rate, 0.0))
    found = model.at_rate(np.insert(here, place, start), problem.rate)
    if found is None:
        return None, None
    slope = model.share_slopes(found)
    return found, -np.delete(slope, place) / min(slope[place], -1e-300)


def whiten(problem: Problem, here: Array) -> Array:
    """Inverse square root of the mean outer product of the rows' gradients, in coordinates."""
    here = _coordinates(problem, here) if here.size == problem.model.size else here
    parameters, along = _parameters(problem, here)
    if parameters is None:
        return np.eye(here.size)
    n_rows, enough = problem.point.size, max(8000, 40 * here.size)  # more change nothing
    part = problem
    if n_rows >= 2 * enough:
        part = problem.take(np.linspace(0, n_rows - 1, enough).astype(np.intp))
    outer = part.information(parameters) / part.point.size
    beyond = parameters != np.clip(parameters, *problem.model.bounds)
    outer += np.diag(beyond.astype(np.float64))
    if along is not None:
        place = problem.model.slices["level"].start
        turn = np.insert(np.eye(here.size), place, along, axis=0)
        outer = turn.T @ outer @ turn
    size = np.sqrt(np.maximum(np.diag(outer), 1e-12))
    scaled = outer / size[:, None] / size + 1e-6 * np.eye(size.size)
    if not np.isfinite(scaled).all():  # so far from the rows that no slope is a number
        return np.eye(size.size)
    try:
        factor = linalg.cholesky(scaled, lower=True)
    except linalg.LinAlgError:  # slopes so far apart that a square is below 0 by rounding
        return np.diag(1.0 / size)
    return np.asarray(linalg.solve_triangular(factor, np.diag(1.0 / size), lower=True).T)
