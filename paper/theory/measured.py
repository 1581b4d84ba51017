"""Measurements of what the theorems claim: gaps, stability, and training as they assume it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from paper.theory.bounds import Price, count, positive, read_ends, read_steepness
from unmet.arrays import Array, Band
from unmet.checks import OneOf
from unmet.costs import Kinks, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_features
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.neural.networks import NetworkLayout, glorot
from unmet.solvers.problem import HingeProblem

# --- How much more decisions cost on new rows than on those they were learned from.


@dataclass(frozen=True)
class Gap:
    """Mean ε-insensitive costs on observations.

    Attributes
    ----------
    training, fresh : float
    """

    training: float
    fresh: float

    @property
    def value(self) -> float:
        """What the theorems bound: fresh − training."""
        return self.fresh - self.training


def generalisation_gap(
    model: Any,
    X: Any,
    s: Any,
    fresh_X: Any,
    fresh_s: Any,
    *,
    largest_truth: float | None = None,
) -> Gap:
    """Measure what the theorems bound, on rows that the model has not seen.

    The ε-insensitive cost on observations, as it was trained on: it tells whether the model learned
    or memorised, not what its decisions cost on the truth (`unmet.evaluation.realised_cost`).

    Parameters
    ----------
    model : fitted estimator
        With one cost and one band for all rows.
    X, s : table or array-like
        The training rows.
    fresh_X, fresh_s : table or array-like
        Other rows of the same law; the more of them, the better the measurement.
    largest_truth : float, optional
        D̄: cut decisions off at 0 and D̄.

    Returns
    -------
    Gap

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X, s = generator.normal(size=(5030, 10)), generator.uniform(0, 1, size=5030)
    >>> model = LinearDecision(Newsvendor(3, 1)).fit(X[:30], s[:30])
    >>> gap = generalisation_gap(model, X[:30], s[:30], X[30:], s[30:])
    >>> bool(gap.value > 0.1)
    True
    """
    cost, band = model.cost_, model.band_
    numbers = [*cost.parameters().values(), *([] if band is None else [band.low, band.high])]
    if any(np.ndim(each) for each in numbers):
        raise InvalidInput("model must have one cost and one band for all rows, got some per row.")

    def mean(features: Any, observed: Any, name: str) -> float:
        decision = np.asarray(model.predict(features))
        if largest_truth is not None:
            decision = np.clip(decision, 0.0, largest_truth)
        return float(cost.loss(decision, read_column(name, observed), band).mean())

    return Gap(mean(X, s, "s"), mean(fresh_X, fresh_s, "fresh_s"))


# --- Empirical stability: leave out each row, solve exactly again, and see how far costs move.

LeftOut = Literal["costs nothing", "is gone"]
SolverName = Literal["exact", "highs"]


@dataclass(frozen=True)
class Movement:
    """How far one row moves the costs of linear decisions.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        Fitted to all rows.
    without : ndarray of shape (n_left_out, n_features)
        Fitted without the row.
    on_rows : ndarray of shape (n_left_out,)
        Largest change of cost among the given feature vectors, over all observations in [0, D̄].
    anywhere : ndarray of shape (n_left_out,)
        Likewise, also at the feature vector that feels the change most among those as long as the
        longest one given.
    """

    coefficients: Array
    without: Array
    on_rows: Array
    anywhere: Array

    @property
    def largest(self) -> float:
        """Largest change of all."""
        return float(self.anywhere.max())


def leave_one_out(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    largest_truth: float,
    strength: float = 0.0,
    rows: Any = None,
    left_out: LeftOut = "costs nothing",
    solver: SolverName = "exact",
    tolerance: float = 1e-11,
) -> Movement:
    """Leave out one row after the other and measure how far costs move (Definition us).

    Linear decisions x'θ without an intercept, as the theorems have them: give X a column of ones.
    Without a penalty the optimum may be a set, and then the answer depends on which point is taken:
    the exact solver takes one near the analytic centre, HiGHS a vertex.

    Parameters
    ----------
    X, s : table or array-like
        Features and observations.
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor.
    band : Band, optional
    largest_truth : float
        D̄: costs are compared at observations in [0, D̄].
    strength : float
        λ of λ‖θ‖², beside the mean cost.
    rows : array-like of int, optional
        Which rows to leave out; by default each in turn.
    left_out : {"costs nothing", "is gone"}
        Whether the other rows keep their weight 1/n, as in the proofs, or the mean is taken over
        the n − 1 that are left, as by any model that is fitted again. With a penalty the second can
        move costs up to twice as far.
    solver : {"exact", "highs"}
        HiGHS only without a penalty.
    tolerance : float
        Relative duality gap of the exact solver.

    Returns
    -------
    Movement

    Examples
    --------
    >>> import numpy as np
    >>> from paper.theory import linear_stability
    >>> ones, sales = np.ones((207, 1)), np.repeat([0.0, 100.0], [145, 62])
    >>> moved = leave_one_out(ones, sales, 0.7, largest_truth=100, rows=[0])
    >>> allowed = linear_stability(0.7, n_rows=207, n_features=1, largest_truth=100)
    >>> round(moved.largest, 1), round(allowed, 1)
    (70.0, 0.8)
    """
    features = np.asarray(read_features(X, at_least=2), dtype=np.float64)
    observation, own = read_column("s", s, features.shape[0]), _read_cost(cost)
    top = positive("largest_truth", largest_truth)
    OneOf("costs nothing", "is gone")("left_out", left_out)
    n = observation.size
    chosen = np.arange(n) if rows is None else np.asarray(rows, dtype=np.intp)
    kinks = own.kinks(observation, band, 1.0 / n)
    ridge = np.full(features.shape[1], float(strength)) if strength else None
    problem = HingeProblem(features, kinks, fit_intercept=False, ridge=ridge)
    # the others keep their weight, or share that of the row
    factor = 1.0 if left_out == "costs nothing" else n / (n - 1)

    def solve(task: HingeProblem) -> Array:
        if solver == "highs":
            return solve_highs(task).coefficients
        return solve_exact(task, tolerance=tolerance).coefficients

    def without(row: int) -> HingeProblem:
        kept = np.delete(np.arange(n), row)
        below, above = kinks.below[:, kept] * factor, kinks.above[:, kept] * factor
        less = Kinks(kinks.position[:, kept], below, above)
        return replace(problem, features=np.ascontiguousarray(features[kept]), kinks=less)

    full = solve(problem)
    others = np.array([solve(without(int(row))) for row in chosen])
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    both = [_changes(features, full, other, own, band, top, longest) for other in others]
    on_rows, anywhere = np.array(both).reshape(-1, 2).T
    return Movement(full, others, on_rows, anywhere)


def _read_cost(cost: Price) -> PiecewiseLinearCost:
    """Cost with two slopes; a number is the level of the normalised newsvendor."""
    read_steepness(cost)
    return cost if isinstance(cost, PiecewiseLinearCost) else Newsvendor.at_level(float(cost))


def _changes(
    features: Array,
    full: Array,
    other: Array,
    cost: PiecewiseLinearCost,
    band: Band | None,
    top: float,
    longest: float,
) -> tuple[float, float]:
    """Largest change of cost on the given feature vectors, and on any that are as long."""
    change = other - full
    size = float(np.linalg.norm(change))
    on_rows = largest_change(features @ full, features @ other, cost, band, top)
    if not size > 0:
        return on_rows, on_rows
    direction = change * (longest / size)
    extreme = np.vstack([direction, -direction])
    return on_rows, max(on_rows, largest_change(extreme @ full, extreme @ other, cost, band, top))


def largest_change(
    first: Array, second: Array, cost: PiecewiseLinearCost, band: Band | None, top: float
) -> float:
    """Largest |ℓ(s, y₁) − ℓ(s, y₂)| over pairs of decisions and all s in [0, D̄], exactly.

    As a function of s the difference is piecewise linear, with kinks where a decision meets an end
    of its band; so it is largest at one of them or at 0 or D̄.
    """
    # Costs and bands per row belong to training rows; each is tried against all decisions.
    slopes = cost.slopes
    below, above = np.atleast_1d(slopes.below), np.atleast_1d(slopes.above)
    low, high = (0.0, 0.0) if band is None else (band.low, band.high)
    ends = np.broadcast_arrays(below, above, np.atleast_1d(low), np.atleast_1d(high))
    greatest = 0.0
    for u, o, bottom, upper in {tuple(map(float, each)) for each in zip(*ends, strict=True)}:
        kinks = [decision - end for decision in (first, second) for end in (bottom, upper)]
        places = np.clip(np.stack([*kinks, 0 * first, 0 * first + top]), 0.0, top)
        costs = [
            u * np.maximum(places + bottom - decision, 0.0)
            + o * np.maximum(decision - places - upper, 0.0)
            for decision in (first, second)
        ]
        greatest = max(greatest, float(np.abs(costs[0] - costs[1]).max()))
    return greatest


# --- Plain SGD on linear decisions, row by row in a fixed order: what Prop. DNN-UASBound speaks
# of.


def descend_in_order(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    learning_rate: float,
    epochs: int,
    order: Any = None,
    radius: float | None = None,
) -> Array:
    """K passes of SGD over rows in a fixed order, one row a step, from θ = 0.

    The step is θ − η ℓ'(x'θ) x with the subgradient of Prop. LR-grad, the same order of rows in
    every pass, and a constant rate: what Theorem 3.2 of Bassily et al. (2020) asks for.

    Parameters
    ----------
    X, s : table or array-like
        Features and observations. Decisions are x'θ: for an intercept add a column of ones.
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor.
    band : Band, optional
    learning_rate : float
        η.
    epochs : int
        K.
    order : array-like of int, optional
        A permutation of the rows; by default they are taken as they come.
    radius : float, optional
        Project onto the ball of this radius after each step.

    Returns
    -------
    ndarray of shape (n_rows · epochs + 1, n_features)
        Parameters after each step, the start first.

    Examples
    --------
    >>> path = descend_in_order([[1.0], [1.0]], [5, 9], 0.75, learning_rate=2, epochs=3)
    >>> path.ravel()
    array([0. , 1.5, 3. , 4.5, 6. , 5.5, 7. ])
    """
    features = np.asarray(read_features(X), dtype=np.float64)
    observation, own = read_column("s", s, features.shape[0]), _read_cost(cost)
    rate, passes = positive("learning_rate", learning_rate), count("epochs", epochs)
    n = observation.size
    taken = np.arange(n) if order is None else np.asarray(order)
    if taken.shape != (n,) or not np.array_equal(np.sort(taken), np.arange(n)):
        raise InvalidInput(f"order must be a permutation of the {n} rows, got {order!r:.60}.")
    if radius is not None:
        positive("radius", radius)
    below, above = own.slopes.rows(n)
    low, high = (np.zeros(n), np.zeros(n)) if band is None else band.rows(n)
    path = np.zeros((n * passes + 1, features.shape[1]))
    theta = path[0]
    for step, row in enumerate(np.tile(taken, passes), start=1):
        x, decision = features[row], float(features[row] @ theta)
        slope = 0.0
        if decision > observation[row] + high[row]:
            slope = above[row]
        elif decision < observation[row] + low[row]:
            slope = -below[row]
        path[step] = theta - rate * slope * x
        theta = path[step]
        if radius is not None and (length := float(np.linalg.norm(theta))) > radius:
            theta *= radius / length
    return path


def argument_stability(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    row: int,
    features: Any,
    observation: float,
    learning_rate: float,
    epochs: int,
    order: Any = None,
    radius: float | None = None,
) -> float:
    """Largest distance of two SGD runs whose data differ in one row (δ of §prop).

    Compare with `descent_stability`, with ``largest_norm`` the length of the longest feature vector
    of both data sets.

    Parameters
    ----------
    X, s, cost, band, learning_rate, epochs, order, radius
        As in `descend_in_order`.
    row : int
        Which row differs.
    features, observation : array-like of shape (n_features,), and float
        What it is in the other data set.

    Returns
    -------
    float
        Largest over all steps, not only at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.theory import descent_stability
    >>> run = {"learning_rate": 0.1, "epochs": 5}
    >>> X, s = np.ones((10, 1)), np.arange(10.0)
    >>> moved = argument_stability(X, s, 0.8, row=0, features=[1.0], observation=9.0, **run)
    >>> bool(0 < moved <= descent_stability(0.8, n_rows=10, **run))
    True
    """
    table = np.array(read_features(X), dtype=np.float64)
    seen = np.array(read_column("s", s, table.shape[0]))
    how: dict[str, Any] = {"learning_rate": learning_rate, "epochs": epochs}
    how |= {"order": order, "radius": radius}
    first = descend_in_order(table, seen, cost, band, **how)
    if not 0 <= row < seen.size:
        raise InvalidInput(f"row must be between 0 and {seen.size - 1}, got {row!r}.")
    table[row], seen[row] = features, observation
    second = descend_in_order(table, seen, cost, band, **how)
    return float(np.linalg.norm(first - second, axis=1).max())


# --- Plain SGD on sigmoid networks, row by row in a fixed order, several networks side by side.


class PlainNetworks:
    """NN-εNVC trained as Thm dnnGBound assumes: one row a step, constant rate, fixed order.

    Two hidden sigmoid layers and a linear output (§CustNN), gradients by Prop. DNNRule with δ = −α
    below the band. Nothing is scaled, shuffled or stopped early, so this is for measuring what the
    theorem says, not for decisions: use `NeuralDecision` for those. Several networks, each on rows
    of its own, are trained in step, because a step of one costs as much as a step of fifty.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        With the same slopes in all rows; a number is the level α of the normalised newsvendor.
    band : Band, optional
        One for all rows.
    learning_rate : float
        η.
    epochs : int
        K.
    hidden : (int, int)
    seed : int
        Of the first weights, the same for every network (Glorot and Bengio 2010).

    Attributes
    ----------
    weights : list of ndarray
        After `fit`: θ¹, b¹, θ², b², θ³, b³, the first axis being the networks.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(2, 300, 3))  # two networks, 300 rows each
    >>> s = X[:, :, 0] * 0.5
    >>> networks = PlainNetworks(0.75, learning_rate=0.2, epochs=5).fit(X, s)
    >>> networks.predict(X[0]).shape
    (2, 300)
    """

    weights: list[Array]

    def __init__(
        self,
        cost: Price,
        band: Band | None = None,
        *,
        learning_rate: float,
        epochs: int,
        hidden: tuple[int, int] = (9, 5),
        seed: int = 0,
    ) -> None:
        slopes, ends = read_steepness(cost), read_ends(band)
        self._slopes = slopes.underage, slopes.overage
        self._ends = ends
        self._rate = positive("learning_rate", learning_rate)
        self._epochs = count("epochs", epochs)
        self._hidden = hidden
        self._seed = seed

    def fit(self, X: Array, s: Array) -> Self:
        """Train one network on each table of rows.

        Parameters
        ----------
        X : ndarray of shape (n_networks, n_rows, n_features)
        s : ndarray of shape (n_networks, n_rows)
        """
        if X.ndim != 3 or s.shape != X.shape[:2]:
            raise InvalidInput(
                "X must have shape (n_networks, n_rows, n_features) and s its first two, "
                f"got {X.shape} and {s.shape}."
            )
        self.weights = self._start(X.shape[0], X.shape[2])
        # One row of every network together: contiguous, for they are read one after the other.
        rows, seen = np.ascontiguousarray(X.swapaxes(0, 1)), np.ascontiguousarray(s.T)
        for _ in range(self._epochs):
            for x, target in zip(rows, seen, strict=True):
                self._step(x, target)
        return self

    def predict(self, X: Array) -> Array:
        """Decisions of every network for the same rows, shape (n_networks, n_rows)."""
        first, a, second, b, third, c = self.weights
        inner = _sigmoid(np.einsum("moi,ni->mno", first, X, optimize=True) + a[:, None])
        outer = _sigmoid(np.einsum("moi,mni->mno", second, inner, optimize=True) + b[:, None])
        decisions: Array = np.einsum("mi,mni->mn", third, outer) + c[:, None]
        return decisions

    def parameters(self) -> Array:
        """All weights and biases, one row per network."""
        return np.hstack([each.reshape(each.shape[0], -1) for each in self.weights])

    def _start(self, n_networks: int, n_features: int) -> list[Array]:
        layout = NetworkLayout(n_features, self._hidden)
        start = glorot(layout, np.random.default_rng(self._seed))[np.newaxis]
        weights: list[Array] = []
        for matrix, biases in layout.views(np.repeat(start, n_networks, axis=0)):
            weights += [np.array(matrix), np.array(biases[:, :, 0])]
        weights[4], weights[5] = weights[4][:, 0], weights[5][:, 0]  # a single output
        return weights

    def _step(self, x: Array, target: Array) -> None:
        """One row forward and back (Prop. DNNRule)."""
        first, a, second, b, third, c = self.weights
        inner = _sigmoid(np.matmul(first, x[:, :, None])[:, :, 0] + a)
        outer = _sigmoid(np.matmul(second, inner[:, :, None])[:, :, 0] + b)
        decision = (third * outer).sum(axis=1) + c
        (underage, overage), (low, high) = self._slopes, self._ends
        delta = overage * (decision > target + high) - underage * (decision < target + low)
        delta *= self._rate
        back_two = delta[:, None] * third * outer * (1 - outer)
        back_one = np.matmul(back_two[:, None, :], second)[:, 0] * inner * (1 - inner)
        third -= delta[:, None] * outer
        c -= delta
        second -= back_two[:, :, None] * inner[:, None, :]
        b -= back_two
        first -= back_one[:, :, None] * x[:, None, :]
        a -= back_one


def _sigmoid(values: Array) -> Array:
    bent: Array = 0.5 * (1.0 + np.tanh(0.5 * values))
    return bent
