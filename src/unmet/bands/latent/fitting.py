"""Maximum likelihood of one explanation: L-BFGS in coordinates whitened by the rows' gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from unmet.band import Array, Numbers
from unmet.bands.latent.counts import count_likelihood
from unmet.bands.latent.design import is_rest
from unmet.bands.latent.likelihood import RowGradient, Rows, row_likelihood
from unmet.bands.latent.model import Model

_SHAPE_STEP = 1e-6
_FIRST_STEP, _LEAST_STEP = 10.0, 0.01  # standard errors


class Rate(NamedTuple):
    """A share sold out that is imposed: its value and how far it may be missed."""

    value: float
    slack: float


@dataclass(frozen=True)
class Problem:
    """One explanation and the rows it must explain.

    Attributes
    ----------
    model : Model
    basis : ndarray of shape (n_rows, n_location)
        Features of the location, a constant first.
    scale_basis : ndarray of shape (n_rows, n_scale)
        Further features of the logarithm of the scale.
    point : ndarray of shape (n_rows,)
        Observations, or their logarithms.
    rows : Rows
    weight : ndarray of shape (n_rows,)
        One on average.
    rate : Rate or None
    """

    model: Model
    basis: Array
    scale_basis: Array
    point: Array
    rows: Rows
    weight: Array
    rate: Rate | None = None

    def take(self, index: NDArray[np.intp]) -> Problem:
        """Keep some rows."""
        return replace(
            self,
            basis=self.basis[index],
            scale_basis=self.scale_basis[index],
            point=self.point[index],
            rows=self.rows.take(index),
            weight=self.weight[index],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Save columns once that stand in both bases."""
        shared = is_rest(self.scale_basis, self.basis)
        return {**vars(self), "scale_basis": None if shared else self.scale_basis}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if state["scale_basis"] is None:
            vars(self)["scale_basis"] = self.basis[:, 1:]

    @property
    def imposes(self) -> bool:
        """Whether a rate is imposed on orders that exist."""
        return self.rate is not None and self.model.policy != "absent"


@dataclass(frozen=True)
class Fit:
    """Maximum-likelihood answer of one problem.

    Attributes
    ----------
    problem : Problem
    parameters : ndarray of shape (n_parameters,)
    rows : ndarray of shape (n_rows,)
        Log-likelihood of each row, in the space of the family.
    climbed : float
        Mean log-likelihood less what an imposed rate costs: what was maximised.
    """

    problem: Problem
    parameters: Array
    rows: Array
    climbed: float

    @property
    def value(self) -> float:
        """Mean log-likelihood."""
        return float(self.problem.weight @ self.rows) / self.rows.size


def row_gradients(problem: Problem, parameters: Array) -> tuple[Array, Array]:
    """Log-likelihood of each row, and its gradient of shape (n_rows, n_parameters)."""
    layout = problem.model.layout
    value, local = _local(problem, parameters)
    gradient = np.empty((value.size, layout.size))
    gradient[:, layout.location] = problem.basis * local[0][:, None]
    start = layout.scale.start
    gradient[:, start] = local[1]
    gradient[:, start + 1 : layout.scale.stop] = problem.scale_basis * local[1][:, None]
    for place, column in zip(range(layout.shape.start, layout.size), local[2:], strict=True):
        gradient[:, place] = column
    return value, gradient


def row_values(problem: Problem, parameters: Array) -> Array:
    """Log-likelihood of each row."""
    return _local(problem, parameters, slopes=False)[0]


def _local(
    problem: Problem, parameters: Array, *, slopes: bool = True
) -> tuple[Array, list[Array]]:
    """Log-likelihood of each row and its derivatives in location, log-scale, and the numbers."""
    model = problem.model
    if model.family.space == "counts":
        return _local_counts(problem, parameters)
    located = model.locate(parameters, problem.basis, problem.scale_basis)
    scale = np.exp(located.log_scale)
    u = (problem.point - located.location) / scale
    orders, shape = model.orders(parameters), model.shape(parameters, located.log_scale)

    def at(new_shape: Numbers) -> RowGradient:
        return row_likelihood(model.family, new_shape, orders, u, located.log_scale, problem.rows)

    rows = at(shape)
    if not slopes:
        return rows.value, []
    local = [-rows.point / scale * located.slope, -rows.density - u * rows.point]
    if model.family.shape is not None or model.family.tied:
        in_shape = (at(shape + _SHAPE_STEP).value - rows.value) / _SHAPE_STEP
        if model.family.tied:
            local[1] -= 2.0 * in_shape
        else:
            local.append(in_shape)
    if orders is not None:
        local.append(rows.level)
        local.append(rows.log_spread * (1.0 - model.least_spread / orders.spread))
        if model.policy == "mixture":
            local.append(rows.ample * orders.ample * (1.0 - orders.ample))
    return rows.value, local


def _local_counts(problem: Problem, parameters: Array) -> tuple[Array, list[Array]]:
    """Do the same for counts, whose orders stand on the logarithmic scale itself."""
    model = problem.model
    located = model.locate(parameters, problem.basis, problem.scale_basis)
    orders, shape = model.orders(parameters), model.shape(parameters, located.log_scale)
    rows = count_likelihood(shape, orders, problem.point, located.location, problem.rows.kind)
    local = [rows.location * located.slope, -2.0 * rows.shape]
    if orders is not None:
        local.append(rows.level)
        local.append(rows.log_spread * (1.0 - model.least_spread / orders.spread))
        if model.policy == "mixture":
            local.append(rows.ample * orders.ample * (1.0 - orders.ample))
    return rows.value, local


def objective(problem: Problem, parameters: Array) -> tuple[float, Array]:
    """Mean negative log-likelihood, plus what bounds and an imposed rate cost, and its gradient."""
    layout = problem.model.layout
    value, local = _local(problem, parameters)
    weight, n_rows = problem.weight, value.size
    gradient = np.empty(layout.size)
    gradient[layout.location] = (weight * local[0]) @ problem.basis
    weighted = weight * local[1]
    gradient[layout.scale.start] = weighted.sum()
    gradient[layout.scale.start + 1 : layout.scale.stop] = weighted @ problem.scale_basis
    gradient[layout.shape.start :] = [weight @ column for column in local[2:]]
    total, gradient = -float(weight @ value) / n_rows, -gradient / n_rows
    if problem.imposes:
        miss, slope = _rate_gap(problem, parameters)
        total += 0.5 * miss * miss
        gradient += miss * slope
    beyond = _beyond(problem, parameters)
    return total + 0.5 * float(beyond @ beyond), gradient + beyond


def _beyond(problem: Problem, parameters: Array) -> Array:
    """How far each parameter lies outside its bounds: half its square is added to the objective."""
    low, high = problem.model.bounds
    beyond: Array = parameters - np.clip(parameters, low, high)
    return beyond


def _rate_gap(problem: Problem, parameters: Array) -> tuple[float, Array]:
    """How far the share misses the imposed rate, in slacks, and its slope in the numbers."""
    rate = problem.rate
    assert rate is not None
    layout = problem.model.layout

    def gap(moved: Array) -> float:
        return (problem.model.share_censored(moved) - rate.value) / rate.slack

    slope = np.zeros(parameters.size)
    typical = [layout.scale.start, *range(layout.shape.start, parameters.size)]
    if problem.model.family.space == "counts":  # their share depends on the mean
        typical.append(layout.location.start)
    for place in typical:
        step = np.zeros(parameters.size)
        step[place] = 1e-5
        slope[place] = (gap(parameters + step) - gap(parameters - step)) / 2e-5
    return gap(parameters), slope


def maximise(
    problem: Problem, start: Array, *, rounds: int = 6, steps: int = 15, tolerance: float = 1e-3
) -> Fit:
    """Climb from one start; whiten again after each round until a round gains next to nothing.

    A thousandth of a unit of log-likelihood decides nothing, so `tolerance` is that; a smaller one
    is for digits that are to be compared.
    """
    here = np.asarray(start, dtype=np.float64)
    n_rows = problem.point.size
    best, _ = objective(problem, here)
    # The first step of L-BFGS-B has length one: make that a few standard errors.
    stride = _FIRST_STEP / np.sqrt(n_rows)
    for _ in range(rounds):
        back = stride * _whitening(problem, here)
        found = optimize.minimize(
            _whitened(problem, here, back),
            np.zeros(here.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 12, "ftol": tolerance / n_rows, "gtol": 1e-9},
        )
        gain = best - float(found.fun)
        if gain > 0:
            here, best = here + back @ found.x, float(found.fun)
        elif found.nit <= 1 and stride > _LEAST_STEP / np.sqrt(n_rows):
            stride *= 0.1  # the very first step went nowhere: a flat, bent direction
            continue
        if gain < 10.0 * tolerance / n_rows:
            break
    return Fit(problem, here, row_values(problem, here), -best)


def _whitened(
    problem: Problem, centre: Array, back: Array
) -> Callable[[Array], tuple[float, Array]]:
    def function(z: Array) -> tuple[float, Array]:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = objective(problem, centre + back @ z)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return 1e10, np.zeros(z.size)
        return value, back.T @ gradient

    return function


def _whitening(problem: Problem, parameters: Array) -> Array:
    """Inverse square root of the mean outer product of the rows' gradients."""
    _, gradient = row_gradients(problem, parameters)
    weighted = gradient * np.sqrt(problem.weight)[:, None]
    outer = weighted.T @ weighted / gradient.shape[0]
    if problem.imposes:
        _, slope = _rate_gap(problem, parameters)
        outer += np.outer(slope, slope)
    outer += np.diag((_beyond(problem, parameters) != 0.0).astype(np.float64))
    size = np.sqrt(np.maximum(np.diag(outer), 1e-12))
    scaled = outer / size[:, None] / size + 1e-6 * np.eye(size.size)
    factor = linalg.cholesky(scaled, lower=True)
    return linalg.solve_triangular(factor, np.diag(1.0 / size), lower=True).T
