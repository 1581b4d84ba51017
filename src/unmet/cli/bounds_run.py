"""What ``unmet bounds`` computes: the three bounds, and gaps measured on simulated sales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.cli.bounds_world import World
from unmet.cli.output import Step
from unmet.costs import Newsvendor
from unmet.files import Cell
from unmet.models import LinearDecision
from unmet.theory import (
    Bound,
    PlainNetworks,
    balanced_learning_rate,
    linear_bound,
    network_bound,
    penalised_bound,
    sample_size_for,
)

#: Short names and what they stand for, in the order of every table.
ALGORITHMS = {
    "LR-εNVC": "linear, no penalty",
    "LR-εNVC-R": "linear, with λ‖θ‖²",
    "NN-εNVC": "network, K passes of SGD",
}

#: Rows of the training sets that are simulated: 2016 has 3,294, the others are √10 apart.
SIZES = (104, 329, 1042, 3294, 10417, 32940)


@dataclass(frozen=True)
class Setting:
    """What the bounds are asked about.

    Attributes
    ----------
    alpha, low, high : float
        Level of the cost, and the band.
    n_rows, n_features, longest : int, int and float
        n, p, and the greatest length of a feature vector (X_max √p).
    largest_truth : float
        D̄.
    strength : float
        λ.
    epochs, learning_rate : int, and float or None
        K and η; None is the rate that the paper recommends.
    delta, constant : float
        δ and c.
    """

    alpha: float
    low: float
    high: float
    n_rows: int
    n_features: int
    longest: float
    largest_truth: float
    strength: float
    epochs: int
    learning_rate: float | None
    delta: float
    constant: float

    @property
    def cost(self) -> Newsvendor:
        """Normalised newsvendor."""
        return Newsvendor.at_level(self.alpha)

    @property
    def band(self) -> Band:
        """Band with the two ends."""
        return Band(self.low, self.high)

    def bounds(self) -> dict[str, Bound]:
        """Bound of each algorithm."""
        same: dict[str, Any] = {"n_rows": self.n_rows, "delta": self.delta}
        same["largest_truth"] = self.largest_truth
        x_max = self.longest / sqrt(self.n_features) if self.n_features > 0 else self.longest
        penalty: dict[str, Any] = {"largest_feature": x_max, "strength": self.strength}
        descent: dict[str, Any] = {"epochs": self.epochs, "constant": self.constant}
        cost, band, p = self.cost, self.band, self.n_features
        return {
            "LR-εNVC": linear_bound(cost, band, n_features=p, **same),
            "LR-εNVC-R": penalised_bound(cost, band, n_features=p, **penalty, **same),
            "NN-εNVC": network_bound(
                cost, band, learning_rate=self.learning_rate, **descent, **same
            ),
        }


@dataclass(frozen=True)
class Measured:
    """One algorithm on training sets of one size.

    Attributes
    ----------
    algorithm : str
        A key of `ALGORITHMS`.
    n_rows, repetitions : int
    bound, ceiling : float
        The bound, and the largest cost there is.
    gap_mean, gap_largest : float
        Expected cost minus training cost: mean and largest over the training sets.
    above_bound : int
        In how many training sets the gap exceeds the bound.
    training_cost, expected_cost : float
        Means over the training sets.
    """

    algorithm: str
    n_rows: int
    repetitions: int
    bound: float
    ceiling: float
    gap_mean: float
    gap_largest: float
    above_bound: int
    training_cost: float
    expected_cost: float

    def as_row(self) -> dict[str, Cell]:
        """Plain values by name, ready for CSV and JSON."""
        return dict(vars(self))


def describe(setting: Setting) -> list[dict[str, Cell]]:
    """Say for each bound what it is, and how many rows it asks for."""
    return [_described(name, bound) for name, bound in setting.bounds().items()]


def _described(name: str, bound: Bound) -> dict[str, Cell]:
    return {
        "algorithm": name,
        "label": bound.label,
        "stability": bound.stability,
        "bound": bound.value,
        "ceiling": bound.ceiling,
        "vacuous": bound.vacuous,
        "rows_to_say_anything": sample_size_for(bound.ceiling, bound) if bound.falls else None,
        "rows_for_a_tenth": sample_size_for(0.1 * bound.ceiling, bound) if bound.falls else None,
        "caveat": bound.caveat or None,
    }


def measure(setting: Setting, seed: int, repetitions: int, step: Step) -> list[Measured]:
    """Train each algorithm on independent training sets of each size.

    Parameters
    ----------
    setting : Setting
        Its rows and features are not used: these are the store's.
    seed : int
        Training set number i of size n is the same for all algorithms.
    repetitions : int
        Training sets of each size.
    step : Step
        Told before each size of each algorithm.
    """
    world = World.scaled(setting.largest_truth)
    results: list[Measured] = []
    total = len(ALGORITHMS) * len(SIZES)
    for n_rows in SIZES:
        generators = [np.random.default_rng([seed, n_rows, i]) for i in range(repetitions)]
        drawn = [world.draw(n_rows, generator) for generator in generators]
        own = _at(setting, world, n_rows)
        bounds = own.bounds()
        for name in ALGORITHMS:
            step(len(results), total, f"{name}, {n_rows:,} rows")
            decisions = np.clip(_train(name, own, world, drawn), 0.0, setting.largest_truth)
            results.append(_judge(name, own, bounds[name], world, drawn, decisions))
    return [each for name in ALGORITHMS for each in results if each.algorithm == name]


Drawn = Sequence[tuple[NDArray[np.intp], Array]]


def _at(setting: Setting, world: World, n_rows: int) -> Setting:
    """Take rows and features from the store."""
    shape = {"n_rows": n_rows, "n_features": world.features.shape[1], "longest": world.longest}
    return Setting(**{**vars(setting), **shape})


def _train(name: str, setting: Setting, world: World, drawn: Drawn) -> Array:
    """Decisions for each cell, one row per training set."""
    if name == "NN-εNVC":
        return _networks(setting, world, drawn)
    model = LinearDecision(
        setting.cost,
        setting.band,
        penalty="l2" if name == "LR-εNVC-R" else None,
        strength=setting.strength,
        fit_intercept=False,  # the column of ones is penalised like the others, as in the theorem
    )
    fits = (model.fit(world.features[cells], sales) for cells, sales in drawn)
    return np.array([fit.predict(world.features) for fit in fits])


def _networks(setting: Setting, world: World, drawn: Drawn) -> Array:
    rate = setting.learning_rate
    if rate is None:
        rate = balanced_learning_rate(
            setting.cost,
            n_rows=setting.n_rows,
            epochs=setting.epochs,
            largest_truth=setting.largest_truth,
        )
    dummies = world.features[:, 1:]  # biases stand for the column of ones
    networks = PlainNetworks(
        setting.cost, setting.band, learning_rate=rate, epochs=setting.epochs
    ).fit(dummies[np.array([cells for cells, _ in drawn])], np.array([s for _, s in drawn]))
    return networks.predict(dummies)


def _judge(
    name: str, setting: Setting, bound: Bound, world: World, drawn: Drawn, decisions: Array
) -> Measured:
    costs = np.array(list(_costs(setting, world, drawn, decisions)))
    training, expected = costs.T
    gap = expected - training
    return Measured(
        algorithm=name,
        n_rows=setting.n_rows,
        repetitions=len(drawn),
        bound=bound.value,
        ceiling=bound.ceiling,
        gap_mean=float(gap.mean()),
        gap_largest=float(gap.max()),
        above_bound=int((gap > bound.value).sum()),
        training_cost=float(training.mean()),
        expected_cost=float(expected.mean()),
    )


def _costs(
    setting: Setting, world: World, drawn: Drawn, decisions: Array
) -> Iterator[tuple[float, float]]:
    """Training cost and expected cost of each training set."""
    cost, band = setting.cost, setting.band
    for (cells, sales), decision in zip(drawn, decisions, strict=True):
        training = float(cost.loss(decision[cells], sales, band).mean())
        yield training, world.expected_cost(decision, cost, band)


def meaning(measured: Sequence[Measured], asked: int) -> list[str]:
    """Say in words how far bounds and measurements are apart, at the size nearest to `asked`."""
    sentences = []
    n_rows = min((each.n_rows for each in measured), key=lambda n: abs(log(n / asked)), default=0)
    for each in measured:
        if each.n_rows != n_rows:
            continue
        worth = "says nothing" if each.bound >= each.ceiling else "says something"
        sentences.append(
            f"{each.algorithm}: at {n_rows:,} rows the largest of {each.repetitions} gaps is "
            f"{each.gap_largest:.2g}, the bound {each.bound:.2g}, {_times(each)}; no cost exceeds "
            f"{each.ceiling:.2g}, so the bound {worth}."
        )
    return sentences


def _times(each: Measured) -> str:
    if each.gap_largest <= 0:
        return "and no gap is positive"
    return f"{float(f'{each.bound / each.gap_largest:.2g}'):,.0f} times as much"
