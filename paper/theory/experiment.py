"""What ``python -m paper bounds`` shows: the three bounds, and gaps measured on simulated sales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri

from paper.pictures import (
    BLUE,
    GREY,
    ORANGE,
    drawing,
    print_sentences,
    terminal_table,
)
from paper.theory import (
    Bound,
    PlainNetworks,
    balanced_learning_rate,
    linear_bound,
    network_bound,
    penalised_bound,
    sample_size_for,
)
from unmet.arrays import Array, Band
from unmet.costs import Newsvendor
from unmet.files import Cell
from unmet.models import LinearDecision
from unmet.progress import Step
from unmet.simulate import PUBLISHED_LAW, store10

# --- The store of the demonstration as the theorems want it: independent rows, bounded demand.

_QUANTILES = 400
_DEVIATIONS = 5  # of the noise, above the largest mean: there demand is cut off


@dataclass(frozen=True, eq=False)
class BoundedStore:
    """Product, weekday and month drawn at random; everything in units of D̄.

    Attributes
    ----------
    features : ndarray of shape (n_cells, 26)
        Every kind of row there is, the first column ones.
    share : ndarray of shape (n_cells,)
        How often each comes, as in 2016.
    mean : ndarray of shape (n_cells,)
        Of demand, in units of D̄.
    noise : float
        Standard deviation of demand, in the same units.
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
        factor = largest_truth / (float(train.mean.max()) + _DEVIATIONS * PUBLISHED_LAW.deviation)
        features = np.hstack([np.ones((len(cells), 1)), cells])
        share = counts / counts.sum()
        noise = PUBLISHED_LAW.deviation * factor
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

        Parameters
        ----------
        decision : ndarray of shape (n_cells,)
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


# --- The three bounds, and gaps measured on simulated sales.

#: Short names and what they stand for, in the order of every table.
ALGORITHMS = {
    "LR-εNVC": "linear, no penalty",
    "LR-εNVC-R": "linear, with λ‖θ‖²",
    "NN-εNVC": "network, K passes of SGD",
}

#: Rows of the training sets that are simulated: 2016 has 3,294, the others are √10 apart.
SIZES = (104, 329, 1042, 3294, 10417, 32940)


@dataclass(frozen=True)
class BoundSetting:
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
        same: dict[str, Any] = {
            "n_rows": self.n_rows,
            "delta": self.delta,
            "largest_truth": self.largest_truth,
        }
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


def describe(setting: BoundSetting) -> list[dict[str, Cell]]:
    """Say for each bound what it is, and how many rows it asks for."""
    return [
        {
            "algorithm": name,
            "label": bound.label,
            "stability": bound.stability,
            "bound": bound.value,
            "ceiling": bound.ceiling,
            "vacuous": bound.vacuous,
            "rows_to_say_anything": _rows_needed(bound, bound.ceiling),
            "rows_for_a_tenth": _rows_needed(bound, 0.1 * bound.ceiling),
            "caveat": bound.caveat or None,
        }
        for name, bound in setting.bounds().items()
    ]


def _rows_needed(bound: Bound, gap: float) -> int | None:
    return sample_size_for(gap, bound) if bound.falls else None


def measure(setting: BoundSetting, seed: int, repetitions: int, step: Step) -> list[Measured]:
    """Train each algorithm on independent training sets of each size.

    Parameters
    ----------
    setting : BoundSetting
        Its rows and features are not used: these are the store's.
    seed : int
        Training set number i of size n is the same for all algorithms.
    repetitions : int
        Training sets of each size.
    step : Step
        Told before each size of each algorithm.
    """
    store = BoundedStore.scaled(setting.largest_truth)
    cost, band = setting.cost, setting.band
    results: list[Measured] = []
    total = len(ALGORITHMS) * len(SIZES)
    for n_rows in SIZES:
        generators = [np.random.default_rng([seed, n_rows, i]) for i in range(repetitions)]
        drawn = [store.draw(n_rows, generator) for generator in generators]
        # rows and features are the store's
        columns = store.features.shape[1]
        own = replace(setting, n_rows=n_rows, n_features=columns, longest=store.longest)
        for name, bound in own.bounds().items():
            step(len(results), total, f"{name}, {n_rows:,} rows")
            decisions = np.clip(_train(name, own, store, drawn), 0.0, setting.largest_truth)
            pairs = zip(drawn, decisions, strict=True)
            losses = [cost.loss(y[cells], sales, band).mean() for (cells, sales), y in pairs]
            training = np.array(losses)
            expected = np.array([store.expected_cost(y, cost, band) for y in decisions])
            gap = expected - training
            results.append(
                Measured(
                    algorithm=name,
                    n_rows=n_rows,
                    repetitions=repetitions,
                    bound=bound.value,
                    ceiling=bound.ceiling,
                    gap_mean=float(gap.mean()),
                    gap_largest=float(gap.max()),
                    above_bound=int((gap > bound.value).sum()),
                    training_cost=float(training.mean()),
                    expected_cost=float(expected.mean()),
                )
            )
    return [each for name in ALGORITHMS for each in results if each.algorithm == name]


Drawn = Sequence[tuple[NDArray[np.intp], Array]]


def _train(name: str, setting: BoundSetting, store: BoundedStore, drawn: Drawn) -> Array:
    """Decisions for each cell, one row per training set."""
    if name == "NN-εNVC":
        rate = setting.learning_rate
        if rate is None:
            rate = balanced_learning_rate(
                setting.cost,
                n_rows=setting.n_rows,
                epochs=setting.epochs,
                largest_truth=setting.largest_truth,
            )
        dummies = store.features[:, 1:]  # biases stand for the column of ones
        networks = PlainNetworks(
            setting.cost, setting.band, learning_rate=rate, epochs=setting.epochs
        )
        cells, sales = (np.array(each) for each in zip(*drawn, strict=True))
        return networks.fit(dummies[cells], sales).predict(dummies)
    model = LinearDecision(
        setting.cost,
        setting.band,
        penalty="l2" if name == "LR-εNVC-R" else None,
        strength=setting.strength,
        fit_intercept=False,  # the column of ones is penalised like the others, as in the theorem
    )
    fits = (model.fit(store.features[cells], sales) for cells, sales in drawn)
    return np.array([fit.predict(store.features) for fit in fits])


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


# --- The tables of ``python -m paper bounds``.


def show(
    setting: BoundSetting,
    rows: Sequence[dict[str, Cell]],
    sentences: Sequence[str],
    files: Sequence[Path],
) -> None:
    """Print the bounds, what is wrong with them, what was measured, and where the files are."""
    console = Console(highlight=False)
    console.print(table(setting, rows))
    for row in rows:
        if row["caveat"]:
            console.print(f"{row['algorithm']}: {row['caveat']}", markup=False)
    if sentences:
        console.print("\nMeasured on simulated sales", style="bold")
    print_sentences(console, sentences, files)


def table(setting: BoundSetting, rows: Sequence[dict[str, Cell]]) -> Table:
    """Give one row per algorithm."""
    result = terminal_table(
        f"What {setting.n_rows:,} rows and {setting.n_features} features guarantee at "
        f"α = {setting.alpha:g}, D̄ = {setting.largest_truth:g}, δ = {setting.delta:g}",
        ("algorithm", "ξ", "bound", "largest cost", "rows needed", "for a tenth"),
        caption=(
            "ξ: what one row can move. Bound: cost on new rows minus training cost. Rows needed "
            "until the bound is below the largest cost there is, and below a tenth of it. *: above "
            "the largest cost there is, so it says nothing."
        ),
        caption_justify="left",
    )
    for row in rows:
        result.add_row(
            str(row["algorithm"]),
            _short(row["stability"]),
            _short(row["bound"]) + (" *" if row["vacuous"] else ""),
            _short(row["ceiling"]),
            _whole(row["rows_to_say_anything"]),
            _whole(row["rows_for_a_tenth"]),
        )
    return result


def _short(value: Cell) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _whole(value: Cell) -> str:
    return f"{value:,}" if isinstance(value, int) else "never"


# --- The figure; needs matplotlib (``unmet[report]``).

_STANDING = {
    "LR-εNVC": "not proved",
    "LR-εNVC-R": "proved; λ = {strength:g}",
    "NN-εNVC": "proved for convex costs; c = {constant:g}, K = {epochs}",
}


def compose(measured: Sequence[Measured], setting: BoundSetting) -> Any:
    """One panel per algorithm: bound and measured gap against the number of rows."""
    figure_class, _ = drawing()
    figure = figure_class(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, len(ALGORITHMS), sharex=True, sharey=True)
    for axes, (name, words) in zip(panels, ALGORITHMS.items(), strict=True):
        _panel(axes, [each for each in measured if each.algorithm == name])
        standing = _STANDING[name].format(**vars(setting))
        axes.set_title(f"{name}: {words}\n{standing}", fontsize=10, loc="left")
    units = f"demand up to {setting.largest_truth:g}, underage + overage = 1 per unit"
    panels[0].set_ylabel(f"cost on new rows minus cost in training\n({units})", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(axes: Any, own: Sequence[Measured]) -> None:
    rows = [each.n_rows for each in own]
    largest = [each.gap_largest for each in own]
    ceiling = own[0].ceiling
    axes.plot(rows, [each.bound for each in own], color=ORANGE, lw=2, label="the bound")
    axes.axhline(ceiling, color=GREY, lw=1, ls=":", label="the largest cost there is")
    sets = f"largest gap of {own[0].repetitions} training sets"
    axes.plot(rows, largest, color=BLUE, marker="o", ms=5, lw=1.4, label=sets)
    # Through the last point: there the gap is all chance, which falls as 1/√n.
    if largest[-1] > 0:
        line = [largest[-1] * (rows[-1] / n) ** 0.5 for n in rows]
        axes.plot(rows, line, color="black", lw=1, ls="--", label="slope of 1/√n")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training rows n")
    axes.grid(color=GREY, alpha=0.2, lw=0.6)
