"""Maximum likelihood of one candidate model: L-BFGS in coordinates whitened by the rows' gradients.

`OrthogonalBasis` makes features of location and scale, `LatentModel` says what the parameters of an
candidate model mean, `LikelihoodProblem` joins it with rows, and `maximise` fits it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse, special

from unmet.arrays import Array, Features, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import Columns, SparseBasis, second_moments
from unmet.censoring.latent.counts import count_likelihood, count_share
from unmet.censoring.latent.families import Family, normal_terms
from unmet.censoring.latent.likelihood import Orders, RowGradient, RowKinds, row_likelihood

Policy: TypeAlias = Literal["absent", "noisy", "mixture"]
_LOG_SCALES = (-30.0, 30.0)
_LOG_SPREADS = (-20.0, 5.0)
_LOGIT_AMPLES = (-15.0, 15.0)
_SHAPE_STEP = 1e-6
_SHARE_STEP = 1e-5
_FURTHEST_LEVEL, _LEVEL_STEPS = 1e6, 80
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


@dataclass(frozen=True)
class OrthogonalBasis:
    """A constant, then an orthogonal basis of what the features span.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    turn : ndarray of shape (n_features, n_basis - 1)
        Centred features times this are uncorrelated and of mean square one on the training rows.
    stretch : ndarray of shape (n_basis - 1,)
        Sum of squared slopes of the standardised features that one unit of a basis slope is: what a
        ridge on these must charge.
    """

    mean: Array
    turn: Array
    stretch: Array

    @classmethod
    def of(cls, features: Features, weight: Array) -> OrthogonalBasis:
        """Read a basis off the training rows."""
        share = weight / weight.sum()
        mean = np.asarray(share @ features)
        second = features.T @ (sparse.diags_array(share) @ features)
        second = np.asarray(second.todense() if sparse.issparse(second) else second)
        covariance = second - np.outer(mean, mean)
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        # A column counts as constant when its spread is rounding beside its size.
        moves = size > 1e-7 * np.sqrt(np.maximum(np.diag(second), 1e-300))
        size = np.where(moves, size, 1.0)
        scaled = covariance / size[:, None] / size * np.outer(moves, moves)
        values, vectors = np.linalg.eigh(scaled)
        kept = values > 1e-9 * max(float(values[-1]), 1e-300) if values.size else values > 0
        turn = vectors[:, kept] / np.sqrt(values[kept]) / size[:, None]
        return cls(mean, turn * moves[:, None], 1.0 / values[kept])

    def basis(self, features: Features) -> Array:
        """Give any rows the features of the training rows."""
        columns = features @ self.turn - self.mean @ self.turn
        return np.column_stack([np.ones(columns.shape[0]), columns])

    def columns(self, features: Features) -> Columns:
        """Give the same basis, not written out where features are mostly zero."""
        thin = SparseBasis.of(features, self.mean, self.turn)
        return self.basis(features) if thin is None else thin


class ParameterSlices(NamedTuple):
    """Slices of the parameter vector; an empty slice where a parameter does not exist."""

    location: slice
    scale: slice
    shape: slice
    level: slice
    spread: slice
    unlimited: slice
    size: int


class Located(NamedTuple):
    """Location and log-scale of rows, with the slope of the location in its linear predictor."""

    location: Array
    slope: Array | float
    log_scale: Array

    def take(self, index: NDArray[np.intp]) -> Located:
        """Keep some rows."""
        slope = self.slope[index] if isinstance(self.slope, np.ndarray) else self.slope
        return Located(self.location[index], slope, self.log_scale[index])


@dataclass(frozen=True)
class LatentModel:
    """Family of the truth, policy of the orders, and how both depend on the features.

    The order is location + scale · (level + spread · W) with W standard normal: it moves with the
    truth. Where it is never binding there are no such parameters.

    Attributes
    ----------
    family : Family
    policy : {"absent", "noisy", "mixture"}
        How orders were placed: never binding; around a level; the same, and sometimes unlimited.
    n_location, n_scale : int
        Features of the location, a constant among them, and of the logarithm of the scale, apart
        from its constant.
    softness : float
        For an additive location on the logarithmic scale: the level below which it bends towards
        0; 0 for a location that is itself linear.
    least_spread : float
        Smallest spread of orders, in units of the scale: below it orders count as at_mass up.
    """

    family: Family
    policy: Policy
    n_location: int
    n_scale: int = 0
    softness: float = 0.0
    least_spread: float = 1e-3

    @cached_property
    def slices(self) -> ParameterSlices:
        """Where each parameter stands in the vector."""
        orders = int(self.policy != "absent")
        counts = [
            self.n_location,
            1 + self.n_scale,
            int(self.family.shape is not None),
            orders,
            orders,
            int(self.policy == "mixture"),
        ]
        ends = list(accumulate(counts, initial=0))
        location, scale, shape, level, spread, unlimited = (slice(*each) for each in pairwise(ends))
        return ParameterSlices(location, scale, shape, level, spread, unlimited, ends[-1])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Where each parameter still changes something: lower and upper ends.

        Beyond, the likelihood is flat, and a climb that steps there would never come back.
        """
        slices, family = self.slices, self.family
        low, high = np.full(slices.size, -np.inf), np.full(slices.size, np.inf)
        least, most = family.shapes
        scales = (-0.5 * most, -0.5 * least) if family.space == "counts" else _LOG_SCALES
        for part, (bottom, top) in (
            (slice(slices.scale.start, slices.scale.start + 1), scales),
            (slices.shape, family.shapes),
            (slices.spread, _LOG_SPREADS),
            (slices.unlimited, _LOGIT_AMPLES),
        ):
            low[part], high[part] = bottom, top
        return low, high

    def locate(self, parameters: Array, basis: Columns, scale_basis: Columns) -> Located:
        """Location and scale of any rows."""
        slices = self.slices
        linear = basis @ parameters[slices.location]
        slope: Array | float = 1.0
        if self.softness:
            scaled = linear / self.softness
            positive = self.softness * np.maximum(np.logaddexp(0.0, scaled), 1e-12)
            slope = special.expit(scaled) / positive
            linear = np.log(positive)
        part = parameters[slices.scale]
        log_scale = np.clip(part[0] + scale_basis @ part[1:], *_LOG_SCALES)
        return Located(linear, slope, log_scale)

    def orders(self, parameters: Array) -> Orders | None:
        """Orders in units of the scale; None where they never bind."""
        if self.policy == "absent":
            return None
        slices = self.slices
        spread = self.least_spread + np.exp(np.clip(parameters[slices.spread][0], *_LOG_SPREADS))
        unlimited = 0.0
        if self.policy == "mixture":
            unlimited = special.expit(parameters[slices.unlimited][0])
        return Orders(float(parameters[slices.level][0]), float(spread), float(unlimited))

    def shape(self, parameters: Array, log_scale: Numbers | None = None) -> Numbers:
        """Logarithm of the shape, where the log-scale is as given or its mean; 0 without one."""
        if self.family.tied:
            # features of the scale have mean 0 on the training rows
            mean = float(parameters[self.slices.scale][0])
            return -2.0 * (mean if log_scale is None else log_scale)
        shape = parameters[self.slices.shape]
        return float(shape[0]) if shape.size else 0.0

    def share_censored(self, parameters: Array) -> float:
        """Probability that the truth exceeds the order.

        It is the same in every row, but for counts and for a gamma whose scale varies: there that
        of a typical row.
        """
        return float(self.shares_censored(parameters[None])[0])

    def shares_censored(self, several: Array) -> Array:
        """Probabilities that the truth exceeds the order, for each of several parameters."""
        if self.policy == "absent":
            return np.zeros(len(several))
        if self.family.space == "counts":
            # all features but the constant are at their mean, 0
            basis, scale_basis = np.eye(1, self.n_location), np.zeros((1, self.n_scale))
            shares = []
            for each in several:
                orders, location = self.orders(each), self.locate(each, basis, scale_basis).location
                assert orders is not None
                shares.append(count_share(location, self.shape(each), orders))
            return np.array(shares)
        slices = self.slices
        log_spread = np.clip(several[:, slices.spread], *_LOG_SPREADS)
        points = several[:, slices.level] + (self.least_spread + np.exp(log_spread)) * _NODES
        shape: Numbers = several[:, slices.shape] if slices.shape.stop > slices.shape.start else 0.0
        if self.family.tied:
            shape = -2.0 * several[:, slices.scale.start, None]
        survival = np.exp(self.family.log_survival(points, shape)) @ _NODE_WEIGHTS
        if self.policy == "mixture":
            survival = survival * special.expit(-several[:, slices.unlimited.start])
        return np.asarray(survival)


@dataclass(frozen=True)
class LikelihoodProblem:
    """One candidate model and the rows it must explain.

    Attributes
    ----------
    model : LatentModel
    basis : ndarray or SparseBasis of shape (n_rows, n_location)
        Features of the location, a constant first.
    scale_basis : ndarray or SparseBasis of shape (n_rows, n_scale)
        Further features of the logarithm of the scale.
    point : ndarray of shape (n_rows,)
        Observations, or their logarithms.
    rows : RowKinds
    weight : ndarray of shape (n_rows,)
        One on average.
    rate : tuple of two floats, or None
        A share sold out that is imposed, and how far it may be missed.
    """

    model: LatentModel
    basis: Columns
    scale_basis: Columns
    point: Array
    rows: RowKinds
    weight: Array
    rate: tuple[float, float] | None = None

    def take(self, index: NDArray[np.intp]) -> LikelihoodProblem:
        """Keep some rows."""
        return replace(
            self,
            basis=self.basis[index],
            scale_basis=self.scale_basis[index],
            point=self.point[index],
            rows=self.rows.take(index),
            weight=self.weight[index],
        )

    def located(self, parameters: Array) -> Located:
        """Location and scale of the rows."""
        return self.model.locate(parameters, self.basis, self.scale_basis)

    @property
    def imposes(self) -> bool:
        """Whether a rate is imposed on orders that exist."""
        return self.rate is not None and self.model.policy != "absent"


@dataclass(frozen=True)
class LikelihoodFit:
    """Maximum-likelihood answer of one problem.

    Attributes
    ----------
    problem : LikelihoodProblem
    parameters : ndarray of shape (n_parameters,)
    rows : ndarray of shape (n_rows,)
        Log-likelihood of each row, in the space of the family.
    climbed : float
        Mean log-likelihood less what an imposed rate costs: what was maximised.
    """

    problem: LikelihoodProblem
    parameters: Array
    rows: Array
    climbed: float

    @property
    def value(self) -> float:
        """Mean log-likelihood."""
        return float(self.problem.weight @ self.rows) / self.rows.size

    @property
    def located(self) -> Located:
        """Location and scale of its rows."""
        return self.problem.located(self.parameters)


def row_gradients(problem: LikelihoodProblem, parameters: Array) -> tuple[Array, Array]:
    """Log-likelihood of each row, and its gradient of shape (n_rows, n_parameters)."""
    slices = problem.model.slices
    value, local = _local(problem, parameters)
    gradient = np.empty((value.size, slices.size))
    gradient[:, slices.location] = np.asarray(problem.basis) * local[0][:, None]
    start = slices.scale.start
    gradient[:, start] = local[1]
    scale_basis = np.asarray(problem.scale_basis)
    gradient[:, start + 1 : slices.scale.stop] = scale_basis * local[1][:, None]
    for place, column in enumerate(local[2:], slices.shape.start):
        gradient[:, place] = column
    return value, gradient


def information(problem: LikelihoodProblem, parameters: Array) -> Array:
    """Sum of the outer products of the rows' gradients, with their weights."""
    if not isinstance(problem.basis, SparseBasis):
        _, gradient = row_gradients(problem, parameters)
        weighted = gradient * np.sqrt(problem.weight)[:, None]
        return np.asarray(weighted.T @ weighted)
    _, local = _local(problem, parameters)
    return _assembled(problem, [[left * right for right in local] for left in local])


def _assembled(problem: LikelihoodProblem, local: list[list[Array]]) -> Array:
    """Sum over rows of a symmetric matrix in the parameters, given that of each row's own.

    Those of a row are its linear predictor, its log-scale and the numbers; only the part on and
    above the diagonal is read.
    """
    weight, basis, scale_basis = problem.weight, problem.basis, problem.scale_basis
    slices = problem.model.slices
    place, scale = slices.location, slice(slices.scale.start + 1, slices.scale.stop)
    numbers = [slices.scale.start, *range(slices.shape.start, slices.size)]
    found = np.empty((slices.size, slices.size))
    for row, left in enumerate(numbers, 1):
        for column, right in enumerate(numbers[row - 1 :], row):
            found[left, right] = found[right, left] = weight @ local[row][column]
    found[place, place] = second_moments(basis, basis, weight * local[0][0])
    across = np.stack([weight * each for each in local[0][1:]])
    found[numbers, place] = across @ basis
    found[place, numbers] = found[numbers, place].T
    if scale.start < scale.stop:
        found[place, scale] = second_moments(basis, scale_basis, across[0])
        found[scale, place] = found[place, scale].T
        found[scale, scale] = second_moments(scale_basis, scale_basis, weight * local[1][1])
        across = np.stack([weight * each for each in local[1][1:]])
        found[numbers, scale] = across @ scale_basis
        found[scale, numbers] = found[numbers, scale].T
    return found


def row_values(problem: LikelihoodProblem, parameters: Array) -> Array:
    """Log-likelihood of each row."""
    return _local(problem, parameters, slopes=False)[0]


def scale_slopes(problem: LikelihoodProblem, parameters: Array) -> Array:
    """Slope of each row's log-likelihood in the logarithm of its scale."""
    return _local(problem, parameters)[1][1]


def _local(
    problem: LikelihoodProblem, parameters: Array, *, slopes: bool = True
) -> tuple[Array, list[Array]]:
    """Log-likelihood of each row and its derivatives in location, log-scale, and the numbers."""
    model, family = problem.model, problem.model.family
    located = problem.located(parameters)
    orders, shape = model.orders(parameters), model.shape(parameters, located.log_scale)
    if family.space == "counts":  # their orders stand on the logarithmic scale itself
        counted = count_likelihood(
            shape, orders, problem.point, located.location, problem.rows.kind
        )
        value, level, log_spread, unlimited = counted.value, *counted[3:]
        local = [counted.location * located.slope, -2.0 * counted.shape]
    else:
        scale = np.exp(located.log_scale)
        u = (problem.point - located.location) / scale
        order = None if orders is None else normal_terms((u - orders.level) / orders.spread)

        def at(shape: Numbers, *, slopes: bool) -> RowGradient:
            given = orders, u, located.log_scale, problem.rows
            return row_likelihood(family, shape, *given, order=order, slopes=slopes)

        rows = at(shape, slopes=slopes)
        value, _, level, log_spread, unlimited, _ = rows
        if not slopes:
            return value, []
        local = [-rows.point / scale * located.slope, -rows.density - u * rows.point]
        if family.shape is not None or family.tied:
            in_shape = (at(shape + _SHAPE_STEP, slopes=False).value - value) / _SHAPE_STEP
            if family.tied:
                local[1] -= 2.0 * in_shape
            else:
                local.append(in_shape)
    if orders is not None:
        local += [level, log_spread * (1.0 - model.least_spread / orders.spread)]
        if model.policy == "mixture":
            local.append(unlimited * orders.unlimited * (1.0 - orders.unlimited))
    return value, local


def objective(problem: LikelihoodProblem, parameters: Array) -> tuple[float, Array]:
    """Mean negative log-likelihood, plus what bounds and an imposed rate cost, and its gradient."""
    slices = problem.model.slices
    value, local = _local(problem, parameters)
    weight, n_rows = problem.weight, value.size
    gradient = np.empty(slices.size)
    gradient[slices.location] = (weight * local[0]) @ problem.basis
    weighted = weight * local[1]
    gradient[slices.scale.start] = weighted.sum()
    gradient[slices.scale.start + 1 : slices.scale.stop] = weighted @ problem.scale_basis
    gradient[slices.shape.start :] = [weight @ column for column in local[2:]]
    total, gradient = -float(weight @ value) / n_rows, -gradient / n_rows
    if problem.imposes:
        miss, slope = _rate_gap(problem, parameters)
        total += 0.5 * miss * miss
        gradient += miss * slope
    beyond = _beyond(problem, parameters)
    return total + 0.5 * float(beyond @ beyond), gradient + beyond


def _beyond(problem: LikelihoodProblem, parameters: Array) -> Array:
    """How far each parameter lies outside its bounds: half its square is added to the objective."""
    return np.asarray(parameters - np.clip(parameters, *problem.model.bounds))


def _rate_gap(problem: LikelihoodProblem, parameters: Array) -> tuple[float, Array]:
    """How far the share misses the imposed rate, in slacks, and its slope in the numbers."""
    assert problem.rate is not None
    rate, slack = problem.rate
    share, slope = share_slopes(problem.model, parameters)
    return (share - rate) / slack, slope / slack


def share_slopes(model: LatentModel, parameters: Array) -> tuple[float, Array]:
    """Share censored, and its slope in the parameters."""
    slices = model.slices
    numbers = [slices.scale.start, *range(slices.shape.start, parameters.size)]
    if model.family.space == "counts":  # their share depends on the mean
        numbers.append(slices.location.start)
    elif not model.family.tied:  # and that of others not on their scale
        numbers = numbers[1:]
    steps = np.zeros((len(numbers), parameters.size))
    steps[np.arange(len(numbers)), numbers] = _SHARE_STEP
    moved = np.concatenate([parameters[None], parameters + steps, parameters - steps])
    here, above, below = np.split(model.shares_censored(moved), [1, 1 + len(numbers)])
    slope = np.zeros(parameters.size)
    slope[numbers] = (above - below) / (2.0 * _SHARE_STEP)
    return float(here[0]), slope


# --- How much is looked for at all.


_LEFT: ContextVar[list[int] | None] = ContextVar("evaluations left", default=None)


@contextmanager
def limited_effort(most: int) -> Iterator[list[int]]:
    """Count evaluations of the likelihood within, so that no series takes for ever.

    Gives the number that is left, in a list; below 0 searches end after their next step.
    """
    left = [most]
    token = _LEFT.set(left)
    try:
        yield left
    finally:
        _LEFT.reset(token)


def may_go_on() -> bool:
    """Count one evaluation of the likelihood; False where searches should come to their end."""
    left = _LEFT.get()
    if left is None:
        return True
    left[0] -= 1
    return left[0] >= 0


def maximise(
    problem: LikelihoodProblem,
    start: Array,
    *,
    rounds: int = 6,
    steps: int = 15,
    tolerance: float = 1e-3,
    hopeless: float = -np.inf,
    whitening: Array | None = None,
) -> LikelihoodFit:
    """Climb from one start; whiten again after each round until a round gains next to nothing.

    A thousandth of a unit of log-likelihood decides nothing, so `tolerance` is that; a smaller one
    is for digits that are to be compared. A climb that will not come as high as `hopeless`, in
    units of log-likelihood, ends after the round that shows it: five times what is left to gain by
    the slopes there would not do. The first `whitening` may be that of a neighbour (`whiten`).
    """
    surface = RateSurface.of(problem, start)
    here = surface.from_parameters(np.asarray(start, dtype=np.float64))
    n_rows = problem.point.size
    best = surface.objective(here)[0]
    # The first step of L-BFGS-B has length one: make that a few standard errors.
    stride = tuned.FIRST_STEP / np.sqrt(n_rows)
    if np.isfinite(hopeless):  # look up more often
        steps = min(steps, tuned.FIRST_STEPS)
    for number in range(rounds):
        if number or whitening is None:
            whitening = _whitening(surface, here)
        back, centre = stride * whitening, here

        def whitened(z: Array, centre: Array = centre, back: Array = back) -> tuple[float, Array]:
            may_go_on()  # counted; scipy ends a round after some steps by itself
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, gradient = surface.objective(centre + back @ z)
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                return 1e10, np.zeros(z.size)
            return value, back.T @ gradient

        found = optimize.minimize(
            whitened,
            np.zeros(here.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 12, "ftol": tolerance / n_rows, "gtol": 1e-9},
        )
        gain = best - float(found.fun)
        if gain > 0:
            here, best = here + back @ found.x, float(found.fun)
        elif found.nit <= 1 and stride > tuned.LEAST_STEP / np.sqrt(n_rows):
            stride *= 0.1  # the very first step went nowhere: a flat, bent direction
            continue
        left = 0.5 * float(found.jac @ found.jac) / stride**2
        if n_rows * (5.0 * left - best) < hopeless:
            break
        if gain < 10.0 * tolerance / n_rows or not may_go_on():
            break
    parameters = surface.to_parameters(here)[0]
    return LikelihoodFit(problem, parameters, row_values(problem, parameters), -best)


@dataclass(frozen=True)
class RateSurface:
    """Coordinates in which an imposed rate is met along straight lines.

    A rate is a stiff and bent constraint: a climb in the parameters themselves must follow it in
    tiny steps. Here the level of the orders stands for its distance from the level at which the
    share is the rate, given all other parameters; without a rate these are the parameters.
    """

    problem: LikelihoodProblem
    bent: bool
    last: list[float] = field(default_factory=list)
    """The level that was found last: the next one is near."""

    @classmethod
    def of(cls, problem: LikelihoodProblem, start: Array) -> RateSurface:
        """Coordinates of a problem; the parameters themselves where no level meets the rate."""
        bent = problem.imposes and problem.model.family.space != "counts"
        surface = cls(problem, bent)
        return surface if not bent or surface._level(start) is not None else cls(problem, False)

    def from_parameters(self, parameters: Array) -> Array:
        """Coordinates of some parameters."""
        level = self._level(parameters) if self.bent else None
        if level is None:
            return parameters
        here = parameters.copy()
        here[self.problem.model.slices.level] -= level
        return here

    def to_parameters(self, here: Array) -> tuple[Array, Array | None]:
        """Parameters, and the slope of the order's level in the coordinates beside its own."""
        place = self.problem.model.slices.level.start
        level = self._level(here) if self.bent else None
        if level is None:
            return here, None
        parameters = here.copy()
        parameters[place] = level
        _, slope = share_slopes(self.problem.model, parameters)
        along = -slope / min(slope[place], -1e-300)
        along[place] = 0.0
        parameters[place] += here[place]
        return parameters, along

    def objective(self, here: Array) -> tuple[float, Array]:
        """Value and gradient in these coordinates."""
        parameters, along = self.to_parameters(here)
        value, gradient = objective(self.problem, parameters)
        if along is None:
            return value, gradient
        return value, gradient + gradient[self.problem.model.slices.level.start] * along

    def _level(self, parameters: Array) -> float | None:
        """Level at which the share is the rate; None where there is none within sight."""
        model, rate = self.problem.model, self.problem.rate
        assert rate is not None
        orders, shape = model.orders(parameters), model.shape(parameters)
        assert orders is not None
        wanted = rate[0] / max(1.0 - orders.unlimited, 1e-300)
        if not 0.0 < wanted < 1.0:
            return None
        points, family = orders.spread * _NODES, model.family
        low, high = -_FURTHEST_LEVEL, _FURTHEST_LEVEL
        level = float(np.clip(family.quantile(1.0 - wanted, shape), low, high))
        level = self.last[-1] if self.last else level
        for _ in range(_LEVEL_STEPS):
            at = level + points
            miss = float(_NODE_WEIGHTS @ np.exp(family.log_survival(at, shape))) - wanted
            low, high = (level, high) if miss > 0 else (low, level)
            density = float(_NODE_WEIGHTS @ np.exp(family.density(at, shape)[0]))
            step = miss / max(density, 1e-300)
            if abs(step) <= 1e-8 * (1.0 + abs(level)):  # its square is what is left then
                self.last[:] = [level + step]
                return level + step
            level = level + step if low < level + step < high else 0.5 * (low + high)
        return None


def whiten(problem: LikelihoodProblem, parameters: Array) -> Array:
    """Give the coordinates of a climb from here, for climbs of neighbouring problems as well."""
    surface = RateSurface.of(problem, parameters)
    return _whitening(surface, surface.from_parameters(parameters))


def _whitening(surface: RateSurface, here: Array) -> Array:
    """Inverse square root of the mean outer product of the rows' gradients."""
    problem = surface.problem
    parameters, along = surface.to_parameters(here)
    n_rows, enough = problem.point.size, max(tuned.ROWS_WHITENED, 40 * here.size)
    part = problem
    if n_rows >= 2 * enough:
        part = problem.take(np.linspace(0, n_rows - 1, enough).astype(np.intp))
    outer = information(part, parameters) / part.point.size
    if problem.imposes:
        _, slope = _rate_gap(problem, parameters)
        outer += np.outer(slope, slope)
    outer += np.diag((_beyond(problem, parameters) != 0.0).astype(np.float64))
    if along is not None:
        place = problem.model.slices.level.start
        outer += np.outer(outer[:, place], along)
        outer += np.outer(along, outer[place])
    size = np.sqrt(np.maximum(np.diag(outer), 1e-12))
    scaled = outer / size[:, None] / size + 1e-6 * np.eye(size.size)
    if not np.isfinite(scaled).all():  # so far from the rows that no slope is a number
        return np.eye(size.size)
    try:
        factor = linalg.cholesky(scaled, lower=True)
    except linalg.LinAlgError:  # slopes so far apart that a square is below 0 by rounding
        return np.diag(1.0 / size)
    return linalg.solve_triangular(factor, np.diag(1.0 / size), lower=True).T
