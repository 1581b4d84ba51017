"""The three bounds of ``python -m paper bounds``, and gaps measured on simulated sales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from paper.tables import Table
from paper.theory import (
    Bound,
    Price,
    balanced_learning_rate,
    count,
    linear_bound,
    network_bound,
    penalised_bound,
    positive,
    read_ends,
    read_steepness,
    sample_size_for,
)
from unmet.arrays import Array, Band
from unmet.charts import Chart, at, axis, curve, panels
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.estimators import LinearDecision
from unmet.files import Cell
from unmet.progress import Step
from unmet.simulate.store10 import PUBLISHED_STORE, store10
from unmet.solvers.neural.networks import NetworkLayout, glorot

# --- Store 10 as the theorems want it: independent rows, bounded demand.

_QUANTILES = 400
_DEVIATIONS = 5  # of the noise, above the largest mean: there demand is cut off


@dataclass(frozen=True, eq=False)
class BoundedStore:
    """Product, weekday and month drawn at random; the largest demand is `largest_truth`.

    Attributes
    ----------
    features : ndarray of shape (n_cells, 26)
        Every kind of row there is, the first column ones.
    share : ndarray of shape (n_cells,)
        How often each comes, as in 2016.
    mean : ndarray of shape (n_cells,)
        Of demand.
    noise : float
        Standard deviation of demand.
    largest_truth : float
        D̄.
    """

    features: Array
    share: Array
    mean: Array
    noise: float
    largest_truth: float

    @classmethod
    def scaled(cls, largest_truth: float) -> BoundedStore:
        """Store 10, with its largest demand scaled to `largest_truth`."""
        train = store10(0).train
        cells, where, counts = np.unique(
            train.features, axis=0, return_index=True, return_counts=True
        )
        factor = largest_truth / (float(train.mean.max()) + _DEVIATIONS * PUBLISHED_STORE.deviation)
        features = np.hstack([np.ones((len(cells), 1)), cells])
        share = counts / counts.sum()
        noise = PUBLISHED_STORE.deviation * factor
        return cls(features, share, train.mean[where] * factor, noise, largest_truth)

    @property
    def longest(self) -> float:
        """Greatest length of a feature vector."""
        return float(np.sqrt((self.features**2).sum(axis=1).max()))

    def draw(self, n_rows: int, generator: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
        """Cells and sales of independent rows."""
        cells = generator.choice(self.share.size, size=n_rows, p=self.share)
        return cells, self._sales(self.mean[cells], generator.standard_normal(n_rows))

    def expected_cost(self, decision: Array, cost: Newsvendor, band: Band) -> float:
        """Mean cost on all rows there could be: cells by their share, noise by its quantiles.

        `decision` has one entry per cell.
        """
        levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        sales = self._sales(self.mean[:, None], ndtri(levels)[None, :])
        repeated = np.repeat(decision, _QUANTILES)
        costs = cost.loss(repeated, sales.ravel(), band).reshape(sales.shape)
        return float(self.share @ costs.mean(axis=1))

    def _sales(self, mean: Array, luck: Array) -> Array:
        demand = np.clip(mean + self.noise * luck, 0.0, self.largest_truth)
        sales: Array = np.minimum(demand, np.maximum(mean, 0.0))
        return sales


# --- Plain SGD on sigmoid networks, row by row in a fixed order, several networks side by side.


class PlainNetworks:
    """NN-εNVC trained as Thm dnnGBound assumes: one row a step, constant rate, fixed order.

    It has two hidden sigmoid layers and a linear output (§CustNN), with gradients by Prop. DNNRule
    with δ = −α below the band. Nothing is scaled, shuffled or stopped early, so the class measures
    the theorem; use `NeuralDecision` for decisions. Several networks, each on its own rows, are
    trained in step, because a step of one costs as much as a step of fifty.

    Parameters
    ----------
    cost : PiecewiseLinearCost or float
        Cost with the same slopes in all rows; a number is the level α of the normalised newsvendor.
    band : Band, optional
        One band for all rows. None is a band of width zero.
    learning_rate : float
        η. Larger values learn faster and may diverge.
    epochs : int
        K, the number of passes over the rows.
    hidden : (int, int), default=(9, 5)
        Widths of the two hidden layers.
    seed : int, default=0
        Seed of the first weights, the same for every network (Glorot and Bengio 2010).

    Attributes
    ----------
    weights : list of ndarray
        After `fit`: θ¹, b¹, θ², b², θ³, b³; the first axis is the networks.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.gaps import PlainNetworks
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
            Features of each network's rows.
        s : ndarray of shape (n_networks, n_rows)
            Observations of each network's rows.
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
        """Give decisions of every network for the same rows, shape (n_networks, n_rows).

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Features.
        """
        first, a, second, b, third, c = self.weights
        inner = _sigmoid(np.einsum("moi,ni->mno", first, X, optimize=True) + a[:, None])
        outer = _sigmoid(np.einsum("moi,mni->mno", second, inner, optimize=True) + b[:, None])
        decisions: Array = np.einsum("mi,mni->mn", third, outer) + c[:, None]
        return decisions

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


# --- The three bounds, and gaps measured on simulated sales.

#: Rows of the training sets that are simulated: 2016 has 3,294, the others are √10 apart.
SIZES = (104, 329, 1042, 3294, 10417, 32940)


@dataclass(frozen=True)
class BoundSetting:
    """What the bounds are asked about.

    Attributes
    ----------
    alpha, low, high : float
        Level of the cost, and the band.
    n_rows, n_features : int
        n and p, in which the intercept counts.
    longest : float
        Greatest length of a feature vector (X_max √p).
    largest_truth : float
        D̄.
    strength : float
        λ.
    epochs : int
        K; the learning rate is the one that the paper recommends.
    delta : float
        δ; c of the bound for networks is 1.
    """

    alpha: float = 0.75
    low: float = 0.0
    high: float = 0.05
    n_rows: int = 3294
    n_features: int = 26
    longest: float = 2.0
    largest_truth: float = 1.0
    strength: float = 0.01
    epochs: int = 5
    delta: float = 0.05

    def bounds(self) -> dict[str, Bound]:
        """Bound of each algorithm."""
        cost, band = Newsvendor.at_level(self.alpha), Band(self.low, self.high)
        same: dict[str, Any] = {
            "n_rows": self.n_rows,
            "delta": self.delta,
            "largest_truth": self.largest_truth,
        }
        x_max, p = self.longest / sqrt(self.n_features), self.n_features
        penalty: dict[str, Any] = {"largest_feature": x_max, "strength": self.strength}
        return {
            "LR-εNVC": linear_bound(cost, band, n_features=p, **same),
            "LR-εNVC-R": penalised_bound(cost, band, n_features=p, **penalty, **same),
            "NN-εNVC": network_bound(cost, band, epochs=self.epochs, **same),
        }


def bound_table(setting: BoundSetting) -> Table:
    """Say for each bound what it is, and how many rows it asks for."""
    rows = [
        (name, bound.label, bound.stability, bound.value, bound.ceiling)
        + ("yes" if bound.vacuous else "no",)
        + tuple(sample_size_for(share * bound.ceiling, bound) for share in (1.0, 0.1))
        for name, bound in setting.bounds().items()
    ]
    columns = {"algorithm": "", "theorem": "", "ξ": ".3g", "bound": ".3g", "largest cost": ".3g"}
    columns |= {"says nothing": "", "rows needed": ",.0f", "for a tenth": ",.0f"}
    caveats = [f"{name}: {b.caveat}" for name, b in setting.bounds().items() if b.caveat]
    return Table("bounds", columns, rows, vars(setting), caveats)


def measure(setting: BoundSetting, seed: int, repetitions: int, step: Step) -> list[dict[str, Any]]:
    """Train each algorithm on independent training sets of each size, and measure its gap.

    Parameters
    ----------
    setting : BoundSetting
        Numbers of the bounds. Its rows and features are not used: these are the store's.
    seed : int
        Seed. Training set number i of size n is the same for all algorithms.
    repetitions : int
        Number of training sets of each size.
    step : Step
        Called before each size of each algorithm.

    Returns
    -------
    list of dict
        One per algorithm and size: ``bound`` and ``ceiling`` (the largest possible cost), mean and
        largest gap (expected cost minus training cost) over the training sets, number of training
        sets whose gap exceeds the bound, mean training and expected cost.

    Examples
    --------
    >>> from paper.gaps import BoundSetting, measure
    >>> rows = measure(BoundSetting(), 0, 20, print)  # takes a minute  # doctest: +SKIP
    """
    store = BoundedStore.scaled(setting.largest_truth)
    cost, band = Newsvendor.at_level(setting.alpha), Band(setting.low, setting.high)
    results: list[dict[str, Any]] = []
    for n_rows in SIZES:
        generators = [np.random.default_rng([seed, n_rows, i]) for i in range(repetitions)]
        drawn = [store.draw(n_rows, generator) for generator in generators]
        columns = store.features.shape[1]
        own = replace(setting, n_rows=n_rows, n_features=columns, longest=store.longest)
        for name, bound in own.bounds().items():
            step(len(results), 3 * len(SIZES), f"{name}, {n_rows:,} rows")
            decisions = np.clip(_train(name, own, store, drawn), 0.0, setting.largest_truth)
            pairs = zip(drawn, decisions, strict=True)
            losses = [cost.loss(y[cells], sales, band).mean() for (cells, sales), y in pairs]
            expected = np.array([store.expected_cost(y, cost, band) for y in decisions])
            gap = expected - np.array(losses)
            results.append(
                {
                    "algorithm": name,
                    "n_rows": n_rows,
                    "repetitions": repetitions,
                    "bound": bound.value,
                    "ceiling": bound.ceiling,
                    "gap_mean": float(gap.mean()),
                    "gap_largest": float(gap.max()),
                    "above_bound": int((gap > bound.value).sum()),
                    "training_cost": float(np.mean(losses)),
                    "expected_cost": float(expected.mean()),
                }
            )
    return sorted(results, key=lambda row: list(setting.bounds()).index(row["algorithm"]))


def _train(name: str, setting: BoundSetting, store: BoundedStore, drawn: Any) -> Array:
    """Decisions for each cell, one row per training set."""
    cost, band = Newsvendor.at_level(setting.alpha), Band(setting.low, setting.high)
    if name == "NN-εNVC":
        n, top = setting.n_rows, setting.largest_truth
        rate = balanced_learning_rate(cost, n_rows=n, epochs=setting.epochs, largest_truth=top)
        dummies = store.features[:, 1:]  # biases stand for the column of ones
        networks = PlainNetworks(cost, band, learning_rate=rate, epochs=setting.epochs)
        cells, sales = (np.array(each) for each in zip(*drawn, strict=True))
        return networks.fit(dummies[cells], sales).predict(dummies)
    model = LinearDecision(
        cost,
        band,
        penalty="l2" if name == "LR-εNVC-R" else None,
        fit_intercept=False,  # the column of ones is penalised like the others, as in the theorem
    )
    decided = []
    for cells, sales in drawn:
        # λ‖θ‖² of the theorem: the estimator counts ‖θ‖² in units of the root mean square
        model.set_params(strength=setting.strength * sqrt(np.mean(sales**2)))
        decided.append(model.fit(store.features[cells], sales).predict(store.features))
    return np.array(decided)


def meaning(measured: Sequence[dict[str, Any]], asked: int) -> list[str]:
    """Say in words how far bounds and measurements are apart, at the size nearest to `asked`."""
    sentences = []
    n_rows = min(SIZES, key=lambda n: abs(log(n / asked)))
    for row in (each for each in measured if each["n_rows"] == n_rows):
        bound, gap, ceiling = row["bound"], row["gap_largest"], row["ceiling"]
        times = f"{float(f'{bound / gap:.2g}'):,.0f} times as much" if gap > 0 else "no gap at all"
        sentences.append(
            f"{row['algorithm']}: at {n_rows:,} rows the largest of {row['repetitions']} gaps is "
            f"{gap:.2g}, the bound {bound:.2g}, {times}; no cost exceeds {ceiling:.2g}, so the "
            f"bound says {'nothing' if bound >= ceiling else 'something'}."
        )
    return sentences


#: Title of each panel, and how far its bound is proved.
_PANELS = {
    "LR-εNVC": "linear, no penalty\nnot proved",
    "LR-εNVC-R": "linear, with λ‖θ‖²\nproved; λ = {strength:g}",
    "NN-εNVC": "network, {epochs} passes of SGD\nproved for convex costs; c = 1",
}


def draw_gaps(measured: Sequence[dict[str, Cell]], setting: BoundSetting) -> Chart:
    """One panel per algorithm: bound and measured gap against the number of rows."""
    parts = {}
    for name, words in _PANELS.items():
        own: list[dict[str, Any]] = [row for row in measured if row["algorithm"] == name]
        rows, largest = ([row[key] for row in own] for key in ("n_rows", "gap_largest"))
        sets = f"largest gap of {own[0]['repetitions']} training sets"
        drawn = [
            curve("the bound", "fitted", rows, [row["bound"] for row in own]),
            at("the largest cost there is", ("grey", (2, 2), "stroke"), y=own[0]["ceiling"]),
            curve(sets, "decision", rows, [max(each, 1e-9) for each in largest]),
        ]
        # Through the last point: there the gap is all chance, which falls as 1/√n.
        if largest[-1] > 0:
            line = [largest[-1] * (rows[-1] / n) ** 0.5 for n in rows]
            drawn.append(curve("slope of 1/√n", ("ink", (6, 4), "stroke"), rows, line))
        parts[f"{name}: {words.format(**vars(setting))}".replace("\n", "; ")] = drawn
    across = axis("training rows n", log=True)
    return panels(parts, x=across, y=axis("cost on new rows minus in training", log=True))
