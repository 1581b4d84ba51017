"""Plain SGD on linear decisions, row by row in a fixed order: what Prop. DNN-UASBound speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.band import Array, Band
from unmet.costs import Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_features
from unmet.theory.parameters import Price, count, positive_number, read_steepness


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
    observation = read_column("s", s, features.shape[0])
    read_steepness(cost)
    own = cost if isinstance(cost, PiecewiseLinearCost) else Newsvendor.at_level(float(cost))
    rate, passes = positive_number("learning_rate", learning_rate), count("epochs", epochs)
    n = observation.size
    taken = _read_order(order, n)
    if radius is not None:
        positive_number("radius", radius)
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
    >>> from unmet.theory import descent_stability
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


def _read_order(order: Any, n_rows: int) -> Any:
    if order is None:
        return np.arange(n_rows)
    taken = np.asarray(order)
    if taken.shape != (n_rows,) or not np.array_equal(np.sort(taken), np.arange(n_rows)):
        raise InvalidInput(f"order must be a permutation of the {n_rows} rows, got {order!r:.60}.")
    return taken
