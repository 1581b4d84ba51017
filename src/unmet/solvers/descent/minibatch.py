"""Mini-batch gradient descent as published (eq. LR-updateRule), with all of its options.

With batch B of n_B rows, learning rate η, penalty β and u_i = x_i'w + c, one update is ::

    w  ←  w − η [ (1/n_B) Σ_{i∈B} slope_i(u_i) x_i  +  2 β w ]
    c  ←  c − η   (1/n_B) Σ_{i∈B} slope_i(u_i)

where the slope of the ε-insensitive newsvendor cost is −α for u < s + ε₂, 1 − α for u > s + ε₁ and
0 otherwise (Prop. LR-grad). The paper prints the update with +α, which climbs; this module uses the
minus sign of the paper's own proposition.

**Units.** The learning rates and ε boxes of the paper make sense only on min-max scaled
observations, so descent runs on them: decision = min + (max − min) u. Slopes are divided by their
total, underage + overage, which gives the paper's α and 1 − α. A cost without slopes is divided by
its mean absolute subgradient at the smallest plus that at the largest observation: squared error
becomes half the squared error of u. One learning rate therefore serves all units of sales and
money.

**The intercept** is not penalised, as everywhere in this package. Without an intercept, u = 0 must
mean a decision of 0, so observations are divided by their largest absolute value and not shifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_random_state

from unmet.arrays import Array, Features
from unmet.costs import PiecewiseLinearCost
from unmet.errors import SolverFailure
from unmet.rows import Rows
from unmet.solvers.losses import HingeLoss, Index, Units, ValueLoss, loss_of, mean_slopes
from unmet.solvers.problem import Solution
from unmet.validation import (
    Constraint,
    Number,
    Seed,
    TrueOrFalse,
    WholeNumber,
    read_parameters,
    refusal,
)


@dataclass(frozen=True)
class MiniBatchOptions:
    """Options of Table LRHyperparam, with the tuned values of Table searchingSpace.

    The paper prints eta 0.0007 and beta 0.0060, each outside its own search space. Its results
    agree with beta as printed and disagree with eta as printed. Beta is therefore 0.0060 here, and
    eta is 0.0060, which lies in its space
    (slip 6 of docs/paper/reproduction.md).

    Parameters
    ----------
    learning_rate : float, default=0.006
        η (eta), above 0, in scaled units. Larger values learn faster and may diverge.
    penalty : float, default=0.006
        β (beta), the coefficient of ‖w‖² in scaled units, used if you give no ridge. Larger values
        shrink coefficients more.
    batch_size : int, default=98
        Rows per update; the last batch of an epoch may be smaller. Larger batches give less noisy
        steps.
    epochs : int, default=500
        Largest number of passes over the training rows.
    validation_size : float, default=0.25
        Share of rows held out to evaluate progress. With 0, or a single row, the training objective
        decides.
    shuffle : bool, default=True
        Whether to shuffle before holding rows out, and again before every epoch. Otherwise the last
        rows are held out and batches follow the order of the data.
    random_state : int, RandomState or None, default=123
        Seed of the shuffling; an int makes the result repeatable bit for bit.
    early_stopping : bool, default=True
        Whether to stop after ``patience`` epochs without progress, and to return the parameters of
        the best epoch and not of the last one.
    tolerance : float, default=1e-7
        A loss is progress if it is lower than the best so far by more than this, in scaled units.
    patience : int, default=30
        Number of epochs without progress after which early stopping ends.
    baseline : float, default=1e-6
        Stop as soon as the loss is below this, with or without early stopping, in scaled units.
    scale_observation : bool, default=True
        Whether to descend in scaled units, and not in those of the observation and of the cost.

    Examples
    --------
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.solvers.descent.minibatch import MiniBatchOptions
    >>> options = MiniBatchOptions(epochs=20, random_state=0)
    >>> model = LinearDecision(Newsvendor(3, 1), solver="minibatch", minibatch=options)
    >>> model.fit([[1], [2], [3], [4]], [11, 19, 31, 39]).n_iter_ <= 20
    True
    """

    learning_rate: float = 0.006
    penalty: float = 0.006
    batch_size: int = 98
    epochs: int = 500
    validation_size: float = 0.25
    shuffle: bool = True
    random_state: int | RandomState | None = 123
    early_stopping: bool = True
    tolerance: float = 1e-7
    patience: int = 30
    baseline: float = 1e-6
    scale_observation: bool = True

    def __post_init__(self) -> None:
        read_parameters(_ALLOWED, self)
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise refusal("random_state", Seed(), self.random_state) from None


_ALLOWED: dict[str, Constraint] = {
    **dict.fromkeys(("shuffle", "early_stopping", "scale_observation"), TrueOrFalse()),
    **dict.fromkeys(("batch_size", "epochs", "patience"), WholeNumber(1)),
    "learning_rate": Number(above=0),
    **dict.fromkeys(("penalty", "tolerance", "baseline"), Number(least=0)),
    "validation_size": Number(least=0, below=1),
}


# --- Rows as mini-batch descent reads them: scaled, in batches, reordered every epoch.


def choose_units(rows: Rows, weight: Array, fit_intercept: bool) -> Units:
    """Choose min-max units of the observation, and the total slope of the cost."""
    low, high = float(rows.observation.min()), float(rows.observation.max())
    centre, unit = low, high - low
    if not fit_intercept:  # a decision of 0 must stay 0
        centre, unit = 0.0, max(-low, high)
    if isinstance(rows.cost, PiecewiseLinearCost):
        steepness = mean_slopes(rows.cost, rows.n_rows, weight)
    else:
        ends = (np.full_like(rows.observation, end) for end in (low, high))
        slopes = sum(np.abs(rows.cost.subgradient(end, rows.observation)) for end in ends)
        steepness = float(np.average(slopes, weights=weight))
    return Units(centre, unit or 1.0, steepness or 1.0)


def _normalised(weight: Array) -> Array:
    """Weights with mean one, so that a mean over rows is a weighted mean."""
    return np.asarray(weight * (weight.size / weight.sum()))


def _diverged() -> SolverFailure:
    return SolverFailure("Mini-batch descent diverged: lower learning_rate.")


# --- Mini-batch gradient descent as published (eq. LR-updateRule), with all of its options.


def solve_minibatch(
    rows: Rows,
    *,
    ridge: ArrayLike | None = None,
    fit_intercept: bool = True,
    options: MiniBatchOptions | None = None,
    start: tuple[ArrayLike, float] | None = None,
) -> Solution:
    """Fit a linear decision by the paper's mini-batch gradient descent (eq. LR-updateRule).

    Parameters
    ----------
    rows : Rows
        Rows that all have weight; the cost need not be piecewise linear.
    ridge : float or array-like of shape (n_features,), optional
        Coefficient of ‖θ‖² next to the weighted mean cost, as in `HingeProblem`, so that all
        solvers can solve the same problem. None takes ``options.penalty``, the paper's β, which is
        ridge · (max − min) / (underage + overage).
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    options : MiniBatchOptions, optional
        Options of the descent. None takes the paper's.
    start : tuple of (coefficients, intercept), optional
        Where to begin. None begins at the smallest observation for every row.

    Returns
    -------
    Solution
        Its objective covers all rows, including held-out ones. ``gap`` and ``residual`` are nan,
        because descent proves nothing.

    Raises
    ------
    SolverFailure
        If the parameters become infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.rows import Rows
    >>> from unmet.solvers.descent.minibatch import MiniBatchOptions, solve_minibatch
    >>> x = np.linspace(0.0, 1.0, 200)[:, None]
    >>> sales = 40 + 20 * x[:, 0]
    >>> options = MiniBatchOptions(learning_rate=0.05, batch_size=20)
    >>> solution = solve_minibatch(Rows(x, sales, Newsvendor(3, 1)), ridge=0.0, options=options)
    >>> np.allclose(x @ solution.coefficients + solution.intercept, sales, atol=1.0)
    True
    """
    options = options or MiniBatchOptions()
    weight = _normalised(np.ones(rows.n_rows) if rows.share is None else rows.share)
    n_features = rows.features.shape[1]
    units = choose_units(rows, weight, fit_intercept) if options.scale_observation else Units()
    penalty = _penalty(ridge, units, options, n_features)
    random = check_random_state(options.random_state)
    how = units, penalty, fit_intercept, options
    split = _split(rows.n_rows, options, random)
    if split is None:
        descent = evaluator = _Descent(rows, weight, *how)
    else:
        training, held_out = split
        descent = _Descent(rows.take(training), _normalised(weight[training]), *how)
        how = units, np.zeros_like(penalty), fit_intercept, options
        evaluator = _Descent(rows.take(held_out), _normalised(weight[held_out]), *how)
    parameters = _begin(start, units, n_features, fit_intercept)
    # run epochs until an option says stop; parameters to return, and epochs run
    least, best, idle, epochs = np.inf, parameters, 0, 0
    while epochs < options.epochs:
        descent.epoch(parameters, random)
        epochs += 1
        found = evaluator.objective(parameters)
        if found < least - options.tolerance:
            least, best, idle = found, parameters.copy(), 0
        else:
            idle += 1
        if found < options.baseline or (options.early_stopping and idle >= options.patience):
            break
    parameters = best if options.early_stopping else parameters
    coefficients, intercept = _restore(parameters, units, fit_intercept)
    decision = np.asarray(rows.features @ coefficients + intercept)
    loss = rows.cost.loss(decision, rows.observation, rows.band)
    return Solution(
        coefficients=coefficients,
        intercept=intercept,
        objective=float(loss @ weight) / len(loss)
        + float(penalty @ coefficients**2) * units.steepness / units.unit,
        gap=float("nan"),
        residual=float("nan"),
        iterations=epochs,
        passes=1.0,
        method="mini-batch",
    )


class _Descent:
    """Training rows, ready for epochs; or held-out rows, to evaluate them by.

    Batches are slices of one reordered copy; nothing is indexed row by row inside an epoch.
    """

    def __init__(
        self,
        rows: Rows,
        weight: Array,
        units: Units,
        penalty: Array,
        fit_intercept: bool,
        options: MiniBatchOptions,
    ) -> None:
        n_rows, size = rows.n_rows, options.batch_size
        self._n_rows, self._options = n_rows, options
        self._batches = [slice(first, first + size) for first in range(0, n_rows, size)]
        self._features = _append_ones(rows.features) if fit_intercept else rows.features
        self._blocks = self._cut(self._features)
        self._ordered: Array | None = None
        share = weight / units.steepness
        self._loss = loss_of([replace(rows, share=share)], [replace(units, steepness=1.0)])
        self._shuffled = self._loss.rows(np.arange(n_rows))
        self._losses = [self._shuffled.part(batch) for batch in self._batches]
        self._penalty = np.append(penalty, 0.0) if fit_intercept else penalty
        self._penalised = bool(self._penalty.any())
        self._decay = 1.0 - 2.0 * options.learning_rate * self._penalty

    def epoch(self, parameters: Array, random: RandomState) -> None:
        """Update ``parameters`` in place, batch after batch (eq. LR-updateRule, sign corrected)."""
        rate = self._options.learning_rate
        if self._options.shuffle:
            self._reorder(random.permutation(self._n_rows))
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, once
            for (block, transposed), loss in zip(self._blocks, self._losses, strict=True):
                slope = loss.slope(self._finite(block.dot(parameters)))[0]
                if self._penalised:
                    parameters *= self._decay
                parameters -= transposed.dot(slope) * (rate / len(slope))
        if not np.isfinite(parameters).all():
            raise _diverged()

    def objective(self, parameters: Array) -> float:
        """Mean cost plus penalty, in scaled units."""
        decision = self._finite(np.asarray(self._features @ parameters))
        loss = float(self._loss.value(decision)[0]) / self._n_rows
        return loss + float(self._penalty @ parameters**2)

    def _finite(self, decision: Array) -> Array:
        """Decisions as one set; a cost would refuse infinite ones in words of its own."""
        if isinstance(self._loss, ValueLoss) and not np.isfinite(decision).all():
            raise _diverged()
        return decision[np.newaxis]

    def _reorder(self, order: Index) -> None:
        """Put the rows in this order for the coming epoch."""
        if isinstance(self._features, np.ndarray):
            if self._ordered is None:  # the blocks stay views of this copy
                self._ordered = np.empty_like(self._features)
                self._blocks = self._cut(self._ordered)
            # "raise" would copy
            np.take(self._features, order, axis=0, out=self._ordered, mode="clip")
        else:
            self._blocks = self._cut(self._features[order])
        if isinstance(self._loss, HingeLoss) and isinstance(self._shuffled, HingeLoss):
            self._loss.reorder(order, self._shuffled)  # and so do the losses
        else:
            self._losses = [self._loss.rows(order[batch]) for batch in self._batches]

    def _cut(self, rows: Features) -> list[tuple[Any, Any]]:
        """Each batch of rows and its transpose."""
        blocks = [rows[batch] for batch in self._batches]
        return [(block, block.T) for block in blocks]


def _append_ones(features: Features) -> Features:
    """Features with a last column of ones."""
    ones = np.ones((features.shape[0], 1))
    if isinstance(features, np.ndarray):
        return np.hstack([features, ones])
    return sparse.csr_array(sparse.hstack([features, sparse.csr_array(ones)], format="csr"))


def _split(
    n_rows: int, options: MiniBatchOptions, random: RandomState
) -> tuple[Index, Index] | None:
    """Training rows and held-out rows, the latter rounded up but never all."""
    n_held_out = min(math.ceil(options.validation_size * n_rows), n_rows - 1)
    if not n_held_out:
        return None
    order = random.permutation(n_rows) if options.shuffle else np.arange(n_rows)
    return order[: n_rows - n_held_out], order[n_rows - n_held_out :]


def _penalty(
    ridge: ArrayLike | None, units: Units, options: MiniBatchOptions, n_features: int
) -> Array:
    """β of each coefficient, in scaled units."""
    if ridge is None:
        return np.full(n_features, options.penalty)
    return np.broadcast_to(np.asarray(ridge) * (units.unit / units.steepness), (n_features,))


def _begin(
    start: tuple[ArrayLike, float] | None, units: Units, n_features: int, fit_intercept: bool
) -> Array:
    """Parameters in scaled units, the intercept last."""
    if start is None:
        return np.zeros(n_features + fit_intercept)
    scaled = np.asarray(start[0], dtype=np.float64) / units.unit
    return np.append(scaled, (start[1] - units.centre) / units.unit) if fit_intercept else scaled


def _restore(parameters: Array, units: Units, fit_intercept: bool) -> tuple[Array, float]:
    """Coefficients and intercept in the user's units."""
    if not fit_intercept:
        return parameters * units.unit, 0.0
    return parameters[:-1] * units.unit, float(units.centre + units.unit * parameters[-1])
