"""What a fitted candidate model says of any rows: quantiles of the truth and of the observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from unmet.arrays import Array, Features, Numbers
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import Columns, SparseBasis, least_squares, ready_to_solve
from unmet.censoring.latent.counts import count_likelihood, count_quantile
from unmet.censoring.latent.families import normal_terms
from unmet.censoring.latent.fitting import LatentModel, Located
from unmet.censoring.latent.likelihood import CENSORED, UNKNOWN, Orders, RowKinds, row_likelihood
from unmet.censoring.rule import USUAL_LEVELS, line_between
from unmet.costs import Newsvendor
from unmet.costs.hinge import Kinks
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

_HALVINGS = 60


@dataclass(frozen=True)
class Prediction:
    """A model with its parameters, and the way from its units back to those of the observation.

    Attributes
    ----------
    model : LatentModel
    parameters : ndarray
    unit : float
        Of the observation.
    floor : float or None
        Truths below it are observed there.
    orders : Orders or None
        In units of the scale; None where orders never bind.
    """

    model: LatentModel
    parameters: Array
    unit: float
    floor: float | None
    orders: Orders | None

    def truth_quantile(self, rows: Located, level: Numbers) -> Array:
        """Conditional quantile of the truth, at one level or at one for each row."""
        shape = self._shape(rows)
        if self.model.family.space == "counts":
            return self.unit * count_quantile(level, rows.location, shape)
        return self._place(rows, self.model.family.quantile(level, shape))

    def observed_quantile(
        self, rows: Located, level: Numbers, order: Array | None = None, unlimited: float = 0.0
    ) -> Array:
        """Conditional quantile of the observation, min(truth, order).

        Parameters
        ----------
        rows : Located
        level : float or ndarray of shape (n_rows,)
        order : ndarray of shape (n_rows,), optional
            Where orders are known to stand, instead of the model's.
        unlimited : float
            With `order`: the chance that a truth beyond it was met all the same.
        """
        if order is not None:
            free = self.truth_quantile(rows, level)
            if unlimited == 0.0:
                return np.minimum(free, order)
            # beyond it only unlimited stock shows the truth: P(S > y) = unlimited · P(D > y)
            beyond = np.clip(1.0 - (1.0 - np.asarray(level)) / unlimited, 1e-12, 1.0 - 1e-12)
            further = np.maximum(order, self.truth_quantile(rows, beyond))
            return np.where(free <= order, free, further)
        if self.orders is None:
            return self.truth_quantile(rows, level)
        shape = self._shape(rows)
        if self.model.family.space == "counts":
            return self.unit * count_quantile(level, rows.location, shape, self.orders)
        return self._place(rows, self._observed_points(level, shape))

    def below(self, rows: Located, value: Array) -> Array:
        """Probability that the truth is at most a value."""
        shape = self._shape(rows)
        if self.model.family.space == "counts":
            count, size = np.maximum(value / self.unit, 0.0), np.exp(shape)
            mean = np.exp(rows.location)
            # the middle of the step, so that whole numbers do not all count as reached
            upper = special.betainc(count + 0.5, size, mean / (mean + size))
            return np.asarray(1.0 - upper)
        u = self._standardised(rows, value)
        return np.asarray(np.exp(self.model.family.log_below(u, shape)))

    def censored_probability(self, rows: Located, value: Array) -> Array:
        """Probability that the truth lies above an observation of this value."""
        if self.orders is None:
            return np.zeros(value.size)
        shape, orders, family = self._shape(rows), self.orders, self.model.family
        count, u = np.round(value / self.unit), self._standardised(rows, value)

        def log_likelihood(kind: int) -> Array:
            kinds = np.full(value.size, kind)
            if family.space == "counts":
                return count_likelihood(shape, orders, count, rows.location, kinds).value
            return row_likelihood(
                family, shape, orders, u, rows.log_scale, RowKinds.of(kinds)
            ).value

        return np.asarray(np.exp(log_likelihood(CENSORED) - log_likelihood(UNKNOWN)))

    def _standardised(self, rows: Located, value: Array) -> Array:
        """Distance of values from the location, in units of the scale."""
        point = value / self.unit
        if self.model.family.space == "log":
            point = np.log(np.maximum(point, 1e-300))
        elif self.model.family.space == "root":
            point = np.sqrt(np.maximum(point, 0.0))
        return np.asarray((point - rows.location) * np.exp(-rows.log_scale))

    def _shape(self, rows: Located) -> Numbers:
        return self.model.shape(self.parameters, rows.log_scale)

    def _observed_points(self, level: Numbers, shape: Numbers) -> Numbers:
        """Standardised quantiles of the observation, solved once for each level and shape."""
        if np.ndim(shape) == 0 or np.ptp(shape) < 1e-9:
            levels, back = np.unique(level, return_inverse=True)
            points = self._bisect(levels, np.full(levels.size, np.mean(shape)))
            return points[back].reshape(np.shape(level)) if np.ndim(level) else float(points[0])
        levels, back = np.unique(np.broadcast_to(level, np.shape(shape)), return_inverse=True)
        grid = np.linspace(np.min(shape), np.max(shape), tuned.SHAPES_SOLVED)
        points = np.empty(np.shape(shape))
        for place, each in enumerate(levels):
            here = back == place
            solved = self._bisect(np.full(tuned.SHAPES_SOLVED, each), grid)
            points[here] = np.interp(np.asarray(shape)[here], grid, solved)
        return points

    def _bisect(self, level: Array, shape: Array) -> Array:
        """Solve survival = 1 − level between a point surely below and the truth's own quantile."""
        family = self.model.family
        one_shape: Numbers = shape if family.tied else float(shape[0])
        target = np.log1p(-level)
        top = np.asarray(family.quantile(level, one_shape))
        low = np.minimum(family.quantile(0.5 * level, one_shape), top - 1.0)
        for _ in range(_HALVINGS):
            short = self._log_survival(low, one_shape) < target
            if not short.any():
                break
            low = np.where(short, low - 2.0 * (top - low), low)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + top)
            above = self._log_survival(middle, one_shape) > target
            low, top = np.where(above, middle, low), np.where(above, top, middle)
        return top

    def _log_survival(self, point: Array, shape: Numbers) -> Array:
        orders = self.orders
        assert orders is not None
        lasts: Array = special.log_ndtr((orders.level - point) / orders.spread)
        if orders.unlimited > 0.0:
            lasts = np.logaddexp(np.log(orders.unlimited), np.log1p(-orders.unlimited) + lasts)
        return self.model.family.log_survival(point, shape) + lasts

    def _place(self, rows: Located, point: Numbers) -> Array:
        """Back to the units of the observation."""
        value = rows.location + np.exp(rows.log_scale) * point
        if self.model.family.space == "log":
            value = np.exp(np.minimum(value, 600.0))
        elif self.model.family.space == "root":
            value = np.maximum(value, 0.0) ** 2
        value = value * self.unit
        return value if self.floor is None else np.maximum(value, self.floor)


def orders_of_known(u: Array, censored: Array, weight: Array) -> Orders:
    """Level and spread of orders when it is known which rows they bound.

    Orders of the other rows are only known to lie above: a censored normal, by Newton-free
    expectation and maximisation, which needs no derivatives and cannot overshoot.
    """
    bound = censored.astype(bool)
    level = float(np.average(u[bound], weights=weight[bound]))
    spread = max(float(np.std(u)), 1e-3)
    for _ in range(200):
        v = (u - level) / spread
        hazard = normal_terms(v).hazard
        mean = np.where(bound, u, level + spread * hazard)
        square = np.where(bound, 0.0, spread**2 * np.maximum(1.0 + v * hazard - hazard**2, 0.0))
        new_level = float(np.average(mean, weights=weight))
        new_spread = float(np.sqrt(np.average((mean - new_level) ** 2 + square, weights=weight)))
        done = abs(new_level - level) + abs(new_spread - spread) < 1e-6 * spread
        level, spread = new_level, max(new_spread, 1e-3)
        if done:
            break
    return Orders(level, spread)


@dataclass(frozen=True)
class ObservedQuantiles:
    """Linear quantiles of the observations in the features of the location.

    The likelihood also says what the quantiles of the observation are, but it takes orders to move
    with the truth. Real ones do not on every day: a promotion lifts demand and not the order. The
    observations themselves know that.

    Attributes
    ----------
    basis : ndarray or SparseBasis of shape (n_rows, n_basis)
        A constant first.
    observation, weight : ndarray of shape (n_rows,)
    """

    basis: Columns
    observation: Array
    weight: Array
    solved: dict[float, Array] = field(default_factory=dict, repr=False, compare=False)

    def quantile(self, basis: Array, level: Numbers) -> Array:
        """Conditional quantile of any rows, at one level or at one for each row."""
        if np.ndim(level) == 0:
            return np.asarray(basis @ self._line(float(level)))
        levels, back = np.unique(level, return_inverse=True)
        if levels.size > tuned.LEVELS_SOLVED:
            levels = np.linspace(levels[0], levels[-1], tuned.LEVELS_SOLVED)
            values = np.stack([basis @ self._line(float(each)) for each in levels])
            right = np.clip(np.searchsorted(levels, level), 1, levels.size - 1)
            rows = np.arange(right.size)
            share = (level - levels[right - 1]) / (levels[right] - levels[right - 1])
            return np.asarray((1 - share) * values[right - 1, rows] + share * values[right, rows])
        lines = np.stack([self._line(float(each)) for each in levels])
        return np.asarray(np.einsum("ij,ij->i", basis, lines[back]))

    def without_rows(self) -> ObservedQuantiles:
        """Keep lines of the usual levels, and of those that somebody has asked for."""
        lines = {level: self._line(level) for level in sorted({*USUAL_LEVELS, *self.solved})}
        nothing = np.empty(0)
        return ObservedQuantiles(np.empty((0, self.basis.shape[1])), nothing, nothing, lines)

    def _line(self, level: float) -> Array:
        """Coefficients of one quantile, the constant first; solved once."""
        if level not in self.solved and not self.observation.size:
            return line_between(level, self.solved)
        if level not in self.solved:
            share = self.weight / self.weight.sum()
            kinks = Newsvendor.at_level(level).kinks(self.observation, None, share)
            self.solved[level] = self._solve(kinks)
        return self.solved[level]

    @cached_property
    def _cells(self) -> Features:
        """Columns of a basis that is not written out, in the form that a solver likes best."""
        assert isinstance(self.basis, SparseBasis)
        cells = self.basis.cells[:, 1:]
        written = cells.toarray()
        return cells if ready_to_solve(written) is not written else written

    def _solve(self, kinks: Kinks) -> Array:
        """Coefficients of the line of least cost."""
        if not isinstance(self.basis, SparseBasis):
            found = solve_exact(HingeProblem(np.ascontiguousarray(self.basis[:, 1:]), kinks))
            return np.append(found.intercept, found.coefficients)
        # in the columns that are mostly 0; what they say of the rows, the basis says as well
        cells = self._cells
        found = solve_exact(HingeProblem(cells, kinks))
        line = cells @ found.coefficients + found.intercept
        return least_squares(self.basis, line, self.weight)
