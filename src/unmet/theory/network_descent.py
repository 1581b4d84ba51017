"""Plain SGD on sigmoid networks, row by row in a fixed order, several networks side by side."""

from __future__ import annotations

from typing import Self

import numpy as np

from unmet.band import Array, Band
from unmet.errors import InvalidInput
from unmet.solvers.neural.initial import glorot
from unmet.solvers.neural.layout import Layout
from unmet.theory.parameters import Price, count, positive_number, read_ends, read_steepness


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
        self._rate = positive_number("learning_rate", learning_rate)
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
        layout = Layout(n_features, self._hidden)
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
