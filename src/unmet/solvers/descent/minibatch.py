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
from dataclasses import dataclass, replace
from itertools import zip_longest
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from unmet.arrays import Band, Features, read_array, read_numbers
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.solvers.problem import Solution

# --- The options of mini-batch descent, under the names and with the values of the paper.


@dataclass(frozen=True)
class MiniBatchOptions:
    """Every option of Table LRHyperparam, with the tuned values of Table searchingSpace.

    The paper prints eta 0.0007 and beta 0.0060, each outside its own search space; exchanged they
    fit, and so they stand here.

    Parameters
    ----------
    learning_rate : float, default=0.006
        η (eta), in scaled units.
    penalty : float, default=0.0007
        β (beta), the coefficient of ‖w‖² in scaled units, used when the caller names no ridge.
    batch_size : int, default=98
        Rows per update; the last batch of an epoch may be smaller.
    epochs : int, default=500
        Greatest number of passes over the training rows.
    validation_size : float, default=0.25
        Share of rows held out to judge progress; with 0, or a single row, the training objective
        judges.
    shuffle : bool, default=True
        Shuffle before holding rows out, and again before every epoch; otherwise the last rows are
        held out and batches follow the order of the data.
    random_state : int, RandomState or None, default=123
        Seed of the shuffling; a number makes the result repeatable bit for bit.
    early_stopping : bool, default=True
        Stop after ``patience`` epochs without progress, and return the best epoch's parameters
        instead of the last one's.
    tolerance : float, default=1e-7
        A loss is progress if it is lower than the best so far by more than this; in scaled units.
    patience : int, default=30
        Epochs without progress that early stopping waits for.
    baseline : float, default=1e-6
        Stop as soon as the loss is below this, with or without early stopping; in scaled units.
    scale_observation : bool, default=True
        Descend in scaled units; otherwise in those of the observation and of the cost.
    """

    learning_rate: float = 0.006
    penalty: float = 0.0007
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
        for name in ("shuffle", "early_stopping", "scale_observation"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidInput(f"{name} must be True or False, got {getattr(self, name)!r}.")
        for name in ("batch_size", "epochs", "patience"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
        _number("learning_rate", self.learning_rate, above=0.0)
        for name in ("penalty", "tolerance", "baseline"):
            _number(name, getattr(self, name))
        _number("validation_size", self.validation_size, below=1.0)
        try:
            check_random_state(self.random_state)
        except ValueError:
            raise InvalidInput(
                "random_state must be a non-negative integer, a RandomState or None, "
                f"got {self.random_state!r}."
            ) from None


def _number(name: str, value: object, above: float | None = None, below: float = np.inf) -> None:
    """Refuse what is no number from 0 (or from above ``above``) to below ``below``."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if (number >= 0 if above is None else number > above) and number < below:
        return
    allowed = "non-negative" if above is None else "positive"
    limit = f" below {below:g}" if below < np.inf else ""
    raise InvalidInput(f"{name} must be a finite {allowed} number{limit}, got {value!r}.")


# --- Rows of data as mini-batch descent reads them: scaled, in batches, reordered every epoch.
#
# Batches are slices of one reordered copy; nothing is indexed row by row inside an epoch.

Floats = NDArray[np.float64]
Order = NDArray[np.intp]


@dataclass(frozen=True)
class Units:
    """Scaled decisions u, with decision = offset + unit · u, and the unit of the cost's slope.

    The cost in scaled units is ``cost / (steepness · unit)``; its slope in u is then
    ``subgradient / steepness``, whatever the units of the observation and of the cost.
    """

    offset: float = 0.0
    unit: float = 1.0
    steepness: float = 1.0


@dataclass(frozen=True)
class Data:
    """Rows with positive weight, checked and of equal length."""

    features: Features
    cost: Cost
    observation: Floats
    band: Band | None
    weight: Floats

    def take(self, index: Order) -> Data:
        """Keep some rows, in the order of ``index``."""
        band = None if self.band is None else self.band.take(index)
        cost, observation = self.cost.take(index), self.observation[index]
        return Data(self.features[index], cost, observation, band, self.weight[index])

    def normalised(self) -> Data:
        """Weights with mean one, so that a mean over rows is a weighted mean."""
        return replace(self, weight=self.weight * (len(self.weight) / self.weight.sum()))

    def costs(self, units: Units, batches: list[slice]) -> RowCosts:
        """Loss and slope by the shortest way that this cost allows."""
        hinges = getattr(type(self.cost), "subgradient", None) is HingeCost.subgradient
        return (HingeRows if hinges else GeneralRows)(self, units, batches)


def read_data(
    features: Features,
    cost: Cost,
    observation: ArrayLike,
    band: Band | None,
    sample_weight: ArrayLike | None,
) -> Data:
    """Check the rows against each other and leave out those without weight."""
    for name in ("loss", "subgradient", "take"):
        if not hasattr(cost, name):
            raise Unsupported(
                f"The solver 'minibatch' needs a cost with {name}, and {cost!r} has none."
            )
    rows = sparse.csr_array(features) if sparse.issparse(features) else np.asarray(features)
    if rows.ndim != 2 or not rows.shape[0]:
        raise InvalidInput(
            f"features must be a 2-D array with at least one row, got shape {rows.shape}."
        )
    if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise InvalidInput("features must be finite, got nan or inf.")
    seen = read_array("observation", observation)
    n_rows = rows.shape[0]
    _same_length("observation", seen, n_rows)
    weight = (
        np.ones(n_rows) if sample_weight is None else read_array("sample_weight", sample_weight)
    )
    _same_length("sample_weight", weight, n_rows)
    if weight.min() < 0 or weight.max() == 0:
        allowed = "non-negative numbers that are not all zero"
        raise InvalidInput(f"sample_weight must hold {allowed}, got a least of {weight.min()}.")
    cost.subgradient(seen, seen, band)  # a cost knows best what fits it, and says so
    data = Data(rows.astype(np.float64, copy=False), cost, seen, band, weight)
    return data if weight.min() > 0 else data.take(np.flatnonzero(weight))


def _same_length(name: str, values: Floats, n_rows: int) -> None:
    """Refuse a column of another table."""
    if values.shape != (n_rows,):
        raise InvalidInput(
            f"{name} must have one entry per row of features, got {values.size} for {n_rows} rows."
        )


def choose_units(data: Data, fit_intercept: bool) -> Units:
    """Min-max units of the observation, and the total slope of the cost."""
    low, high = float(data.observation.min()), float(data.observation.max())
    if fit_intercept:
        offset, unit = low, high - low
    else:  # a decision of 0 must stay 0
        offset, unit = 0.0, max(-low, high)
    if isinstance(data.cost, PiecewiseLinearCost):
        slopes = sum(data.cost.slopes.rows(len(data.weight)))
    else:
        ends = (np.full_like(data.observation, end) for end in (low, high))
        slopes = sum(np.abs(data.cost.subgradient(end, data.observation)) for end in ends)
    steepness = float(np.average(slopes, weights=data.weight))
    return Units(offset, unit or 1.0, steepness or 1.0)


class RowCosts(Protocol):
    """Weighted loss and slope of the rows, as functions of the scaled decision."""

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """Slope of each row of a batch."""

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""


class HingeRows:
    """Costs with slopes and a band: Prop. LR-grad on four numbers per row and tier.

    What a tier adds to the slopes is paid outside a band that holds those of all tiers before it.
    """

    def __init__(self, data: Data, units: Units, batches: list[slice]) -> None:
        assert isinstance(data.cost, HingeCost)
        n_rows = len(data.observation)
        low, high = (0.0, 0.0) if data.band is None else data.band.rows(n_rows)
        share = data.weight / units.steepness
        seen = data.observation - units.offset
        tiers = data.cost.tiers
        nothing = (0.0, 0.0)
        sides = zip_longest(tiers.kinks_below(), tiers.kinks_above(), fillvalue=nothing)
        self._table = np.stack(
            [
                np.broadcast_to(column, (n_rows,))
                for (down, below), (up, above) in sides
                for column in (
                    (seen + low - down) / units.unit,
                    (seen + high + up) / units.unit,
                    -below * share,
                    above * share,
                )
            ]
        )
        self._ordered = self._table.copy()
        self._batches = [_by_tier(self._ordered[:, batch]) for batch in batches]

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        np.take(self._table, order, axis=1, out=self._ordered, mode="clip")  # "raise" would copy

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """−α below the band, 1 − α above it, 0 in it and on its ends, each times its weight."""
        (bottom, top, minus_below, above), *outer = self._batches[batch]
        slope = np.zeros(len(scaled))
        np.copyto(slope, above, where=scaled > top)
        np.copyto(slope, minus_below, where=scaled < bottom)
        for bottom, top, minus_below, above in outer:
            np.add(slope, above, out=slope, where=scaled > top)
            np.add(slope, minus_below, out=slope, where=scaled < bottom)
        return slope

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""
        total = 0.0
        for bottom, top, minus_below, above in _by_tier(self._table):
            short, excess = np.minimum(scaled - bottom, 0.0), np.maximum(scaled - top, 0.0)
            total += float(minus_below @ short + above @ excess)
        return total / len(scaled)


def _by_tier(table: Floats) -> list[tuple[Floats, ...]]:
    """Split into views of four rows each: bottom, top, and the slopes outside."""
    return [tuple(table[first : first + 4]) for first in range(0, len(table), 4)]


class GeneralRows:
    """Any cost, by its own ``loss`` and ``subgradient``; slower, as a cost checks its input."""

    def __init__(self, data: Data, units: Units, batches: list[slice]) -> None:
        self._data, self._units, self._batches = data, units, batches
        self._order = np.arange(len(data.observation))

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        self._order = order

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """Slope of each row of a batch."""
        index = self._order[self._batches[batch]]
        data, decision = self._data, self._decision(scaled)
        band = None if data.band is None else data.band.take(index)
        slope = data.cost.take(index).subgradient(decision, data.observation[index], band)
        return slope * (data.weight[index] / self._units.steepness)

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""
        data = self._data
        loss = data.cost.loss(self._decision(scaled), data.observation, data.band)
        total = float(loss @ data.weight) / len(scaled)
        return total / (self._units.steepness * self._units.unit)

    def _decision(self, scaled: Floats) -> Floats:
        """Decisions in the user's units; a cost would refuse infinite ones in words of its own."""
        decision = self._units.offset + self._units.unit * scaled
        if not np.isfinite(decision).all():
            raise diverged()
        return decision


def diverged() -> SolverFailure:
    """Build the error that names the cure."""
    return SolverFailure("Mini-batch descent diverged: lower learning_rate.")


class Design:
    """Features (and a column of ones, if an intercept is fitted) in batches."""

    def __init__(self, features: Features, fit_intercept: bool, batches: list[slice]) -> None:
        self._rows = _append_ones(features) if fit_intercept else features
        self._batches = batches
        self._ordered: Floats | None = None
        self.blocks = self._cut(self._rows)

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        if not isinstance(self._rows, np.ndarray):
            self.blocks = self._cut(self._rows[order])
            return
        if self._ordered is None:  # the blocks stay views of this copy
            self._ordered = np.empty_like(self._rows)
            self.blocks = self._cut(self._ordered)
        np.take(self._rows, order, axis=0, out=self._ordered, mode="clip")  # "raise" would copy

    def _cut(self, rows: Features) -> list[tuple[Any, Any]]:
        """Each batch of rows and its transpose."""
        blocks = [rows[batch] for batch in self._batches]
        return [(block, block.T) for block in blocks]

    def decide(self, parameters: Floats) -> Floats:
        """Scaled decisions of all rows, in the order in which they came."""
        return np.asarray(self._rows @ parameters)


def _append_ones(features: Features) -> Features:
    """Features with a last column of ones."""
    ones = np.ones((features.shape[0], 1))
    if isinstance(features, np.ndarray):
        return np.hstack([features, ones])
    return sparse.csr_array(sparse.hstack([features, sparse.csr_array(ones)], format="csr"))


# --- Mini-batch gradient descent as published (eq. LR-updateRule), with all of its options.


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
