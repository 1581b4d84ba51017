"""Mini-batch gradient descent as published (eq. LR-updateRule), with all of its options.

With batch B of n_B rows, learning rate η, penalty β and u_i = x_i'w + c, one update is ::

    w  ←  w − η [ (1/n_B) Σ_{i∈B} slope_i(u_i) x_i  +  2 β w ]
    c  ←  c − η   (1/n_B) Σ_{i∈B} slope_i(u_i)

where the slope of the ε-insensitive newsvendor cost is −α for u < s + ε₂, 1 − α for u > s + ε₁ and
0 otherwise (Prop. LR-grad). The paper prints the update with +α, which climbs; the minus sign of
its own proposition is used here.

**Units.** The learning rates and ε boxes of the paper make sense only on min-max scaled
observations, so descent runs in them: decision = min + (max − min) u. Slopes are divided by their
total, underage + overage, which leaves the paper's α and 1 − α. A cost without slopes is divided
by its mean absolute subgradient at the least plus that at the greatest observation: squared error
becomes half the squared error of u. So one learning rate serves all units of sales and money.

**The intercept** is not penalised, as everywhere in this package. Without one, u = 0 must mean a
decision of 0, so observations are divided by their greatest absolute value and not shifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from unmet.band import Band, read_array, read_numbers
from unmet.costs.base import Cost
from unmet.errors import InvalidInput
from unmet.solvers.minibatch_options import MiniBatchOptions
from unmet.solvers.minibatch_rows import (
    Data,
    Design,
    Floats,
    Units,
    choose_units,
    diverged,
    read_data,
)
from unmet.solvers.problem import Features, Solution

__all__ = ["DescentState", "MiniBatchOptions", "one_epoch", "solve_minibatch"]


@dataclass(frozen=True)
class DescentState:
    """Where descent stands between calls of `one_epoch`; parameters in the user's units."""

    coefficients: Floats
    intercept: float
    units: Units
    epochs: int = 0


def solve_minibatch(
    features: Features,
    cost: Cost,
    observation: ArrayLike,
    band: Band | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ridge: ArrayLike | None = None,
    fit_intercept: bool = True,
    options: MiniBatchOptions | None = None,
    start: tuple[ArrayLike, float] | None = None,
) -> Solution:
    """Fit a linear decision by the paper's mini-batch gradient descent (eq. LR-updateRule).

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
        Without a column for the intercept.
    cost : Cost
        Anything with ``loss`` and ``subgradient``; it need not be piecewise linear.
    observation : array-like of shape (n_rows,)
    band : Band, optional
        In units of the observation, like everything here that is not in ``options``.
    sample_weight : array-like of shape (n_rows,), optional
        Only ratios matter; rows of weight 0 are left out before anything else happens.
    ridge : float or array-like of shape (n_features,), optional
        Coefficient of ‖θ‖² beside the weighted mean cost, as in `HingeProblem`, so that all
        solvers can be given the same problem. None takes ``options.penalty``, the paper's β, which
        is ridge · (max − min) / (underage + overage).
    fit_intercept : bool, default=True
    options : MiniBatchOptions, optional
    start : tuple of (coefficients, intercept), optional
        Where to begin; otherwise at the least observation for every row.

    Returns
    -------
    Solution
        Its objective is over all rows, held-out ones too; ``gap`` and ``residual`` are nan, since
        descent proves nothing.

    Raises
    ------
    SolverFailure
        If the parameters become infinite.

    Examples
    --------
    >>> from unmet.costs import Newsvendor
    >>> x = np.linspace(0.0, 1.0, 200)[:, None]
    >>> sales = 40 + 20 * x[:, 0]
    >>> options = MiniBatchOptions(learning_rate=0.05, batch_size=20)
    >>> solution = solve_minibatch(x, Newsvendor(3, 1), sales, ridge=0.0, options=options)
    >>> np.allclose(x @ solution.coefficients + solution.intercept, sales, atol=1.0)
    True
    """
    options = options or MiniBatchOptions()
    data = read_data(features, cost, observation, band, sample_weight).normalised()
    units = choose_units(data, fit_intercept) if options.scale_observation else Units()
    penalty = _penalty(ridge, units, options, data.features.shape[1])
    random = check_random_state(options.random_state)
    training, held_out = _split(data, options, random)
    descent = _Descent(training, units, penalty, fit_intercept, options)
    judge = descent
    if held_out is not None:
        judge = _Descent(held_out, units, np.zeros_like(penalty), fit_intercept, options)
    parameters = _begin(start, units, data.features.shape[1], fit_intercept)
    parameters, epochs = _descend(parameters, descent, judge, random, options)
    coefficients, intercept = _restore(parameters, units, fit_intercept)
    decision = np.asarray(data.features @ coefficients + intercept)
    loss = data.cost.loss(decision, data.observation, data.band)
    return Solution(
        coefficients=coefficients,
        intercept=intercept,
        objective=float(loss @ data.weight) / len(loss)
        + float(penalty @ coefficients**2) * units.steepness / units.unit,
        gap=float("nan"),
        residual=float("nan"),
        iterations=epochs,
        passes=1.0,
        method="mini-batch",
    )


def one_epoch(
    features: Features,
    cost: Cost,
    observation: ArrayLike,
    band: Band | None = None,
    *,
    state: DescentState | None = None,
    sample_weight: ArrayLike | None = None,
    ridge: ArrayLike | None = None,
    fit_intercept: bool = True,
    options: MiniBatchOptions | None = None,
) -> DescentState:
    """Go once through the given rows, from ``state`` or from the beginning; for ``partial_fit``.

    No rows are held out. The first call fixes the units by its rows, the state carries them on.
    Weights are used as they are, so that they mean the same in every call.

    Parameters
    ----------
    features, cost, observation, band, sample_weight, ridge, fit_intercept, options
        As in `solve_minibatch`.
    state : DescentState, optional
        What the previous call returned.

    Returns
    -------
    DescentState
    """
    options = options or MiniBatchOptions()
    data = read_data(features, cost, observation, band, sample_weight)
    n_features = data.features.shape[1]
    units = choose_units(data, fit_intercept) if options.scale_observation else Units()
    if state is not None:
        units = state.units
    start = None if state is None else (state.coefficients, state.intercept)
    parameters = _begin(start, units, n_features, fit_intercept)
    penalty = _penalty(ridge, units, options, n_features)
    done = 0 if state is None else state.epochs
    seed = options.random_state
    if isinstance(seed, int | np.integer):  # must not give every call the same order of rows
        seed = RandomState([int(seed), done])
    descent = _Descent(data, units, penalty, fit_intercept, options)
    descent.epoch(parameters, check_random_state(seed))
    return DescentState(*_restore(parameters, units, fit_intercept), units, done + 1)


class _Descent:
    """Training rows, ready for epochs; or held-out rows, to judge them by."""

    def __init__(
        self,
        data: Data,
        units: Units,
        penalty: Floats,
        fit_intercept: bool,
        options: MiniBatchOptions,
    ) -> None:
        n_rows, size = len(data.observation), options.batch_size
        batches = [slice(first, first + size) for first in range(0, n_rows, size)]
        self._n_rows, self._options = n_rows, options
        self._design = Design(data.features, fit_intercept, batches)
        self._costs = data.costs(units, batches)
        self._penalty = np.append(penalty, 0.0) if fit_intercept else penalty
        self._penalised = bool(self._penalty.any())
        self._decay = 1.0 - 2.0 * options.learning_rate * self._penalty

    def epoch(self, parameters: Floats, random: RandomState) -> None:
        """Update ``parameters`` in place, batch after batch (eq. LR-updateRule, sign corrected)."""
        rate = self._options.learning_rate
        if self._options.shuffle:
            order = random.permutation(self._n_rows)
            self._design.reorder(order)
            self._costs.reorder(order)
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, once
            for number, (block, transposed) in enumerate(self._design.blocks):
                slope = self._costs.slope(number, block.dot(parameters))
                if self._penalised:
                    parameters *= self._decay
                parameters -= transposed.dot(slope) * (rate / len(slope))
        if not np.isfinite(parameters).all():
            raise diverged()

    def objective(self, parameters: Floats) -> float:
        """Mean cost plus penalty, in scaled units."""
        loss = self._costs.loss(self._design.decide(parameters))
        return loss + float(self._penalty @ parameters**2)


def _descend(
    parameters: Floats,
    training: _Descent,
    judge: _Descent,
    random: RandomState,
    options: MiniBatchOptions,
) -> tuple[Floats, int]:
    """Run epochs until an option says stop; parameters to return, and epochs run."""
    least, best, idle, epoch = np.inf, parameters, 0, 0
    while epoch < options.epochs:
        training.epoch(parameters, random)
        epoch += 1
        loss = judge.objective(parameters)
        if loss < least - options.tolerance:
            least, best, idle = loss, parameters.copy(), 0
        else:
            idle += 1
        if loss < options.baseline or (options.early_stopping and idle >= options.patience):
            break
    return (best if options.early_stopping else parameters), epoch


def _split(data: Data, options: MiniBatchOptions, random: RandomState) -> tuple[Data, Data | None]:
    """Training rows and held-out rows, the latter rounded up but never all."""
    n_rows = len(data.observation)
    n_held_out = min(math.ceil(options.validation_size * n_rows), n_rows - 1)
    if not n_held_out:
        return data, None
    order = random.permutation(n_rows) if options.shuffle else np.arange(n_rows)
    training, held_out = order[: n_rows - n_held_out], order[n_rows - n_held_out :]
    return data.take(training).normalised(), data.take(held_out).normalised()


def _penalty(
    ridge: ArrayLike | None, units: Units, options: MiniBatchOptions, n_features: int
) -> Floats:
    """β of each coefficient, in scaled units."""
    if ridge is None:
        return np.full(n_features, options.penalty)
    given = np.asarray(read_numbers("ridge", ridge, "non-negative", lambda r: r >= 0))
    if given.ndim and len(given) != n_features:
        raise InvalidInput(
            "ridge must be a number or have one entry per feature, "
            f"got {len(given)} for {n_features} features."
        )
    return np.broadcast_to(given * (units.unit / units.steepness), (n_features,))


def _begin(
    start: tuple[ArrayLike, float] | None, units: Units, n_features: int, fit_intercept: bool
) -> Floats:
    """Parameters in scaled units, the intercept last."""
    if start is None:
        return np.zeros(n_features + fit_intercept)
    coefficients = read_array("start", start[0])
    if coefficients.shape != (n_features,):
        raise InvalidInput(
            f"start must have one coefficient per feature, got {coefficients.size} "
            f"for {n_features} features."
        )
    scaled = coefficients / units.unit
    return np.append(scaled, (start[1] - units.offset) / units.unit) if fit_intercept else scaled


def _restore(parameters: Floats, units: Units, fit_intercept: bool) -> tuple[Floats, float]:
    """Coefficients and intercept in the user's units."""
    if not fit_intercept:
        return parameters * units.unit, 0.0
    return parameters[:-1] * units.unit, float(units.offset + units.unit * parameters[-1])
