"""Steps 1 to 3 of App. training: search hyperparameters, search ε, fit and price a method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from paper.protocol import (
    BY_NAME,
    TUNING_LEVEL,
    USUAL,
    FitRow,
    PaperSettings,
    Reading,
    SearchRow,
)
from paper.published import BAND_BOX, STEP_1, band
from unmet.arrays import Array, Band
from unmet.bands import LatentBand
from unmet.costs import Newsvendor, SquaredError
from unmet.evaluation import realised_cost, rmse_to_optimum, service_level
from unmet.models import BoostedDecision, LinearDecision, NeuralDecision
from unmet.simulate import PUBLISHED_LEVELS, DemandPart, Simulated, StoreLaw, store10
from unmet.solvers.descent.minibatch import MiniBatchOptions
from unmet.tuning import Uniform, Whole, search

# --- Hyperparameters and ε that the fits are given: published, or found by the searches.

#: The only seed the paper names (Table LRHyperparam); it starts every network as well.
SEED = 123


@dataclass(frozen=True)
class Tuned:
    """Results of Steps 1 and 2.

    Attributes
    ----------
    hyperparameters : mapping from model to name to float
        Of "LR", "NN-MSE" and "NN", by the names of Table searchingSpace.
    bands : mapping from ("LR" or "NN", α) to (ε₂, ε₁)
        Shares of the range of sales.
    """

    hyperparameters: Mapping[str, Mapping[str, float]]
    bands: Mapping[tuple[str, float], tuple[float, float]]

    @classmethod
    def published(cls, reading: Reading = USUAL) -> Tuned:
        """Return what the paper prints: Tables searchingSpace and epsilonSearchResults.

        eta and beta of the linear descent are those of the reading.
        """
        results: dict[str, dict[str, float]] = {}
        for line in STEP_1:
            results.setdefault(line.model, {})[line.name] = line.used
        if reading.learning_rate is not None and reading.penalty is not None:
            results["LR"] |= {"eta": reading.learning_rate, "beta": reading.penalty}
        pairs = [(family, level) for family in ("LR", "NN") for level in PUBLISHED_LEVELS]
        return cls(results, {pair: band(*pair) for pair in pairs})

    @classmethod
    def found(cls, searches: Sequence[SearchRow]) -> Tuned:
        """Read the searches; what is missing is not needed yet."""
        first = {row.model: row.best for row in searches if row.step == 1}
        second = [row for row in searches if row.step == 2]
        bands = {(row.model, row.level): (row.best["low"], row.best["high"]) for row in second}
        return cls({**cls.published().hyperparameters, **first}, bands)

    def descent(self) -> MiniBatchOptions:
        """Options of LR-NVC and LR-εNVC-R."""
        return _descent_options(self.hyperparameters["LR"])

    def network(self, model: str, **parameters: Any) -> NeuralDecision:
        """Make a network that trains as the paper's do, with the widths of "NN" or "NN-MSE"."""
        sizes = _network_sizes(self.hyperparameters[model])
        return NeuralDecision.published(**sizes, random_state=SEED, **parameters)


def _descent_options(values: Mapping[str, float]) -> MiniBatchOptions:
    """Options of Table LRHyperparam with these tuned ones."""
    return MiniBatchOptions(
        learning_rate=values["eta"], penalty=values["beta"], batch_size=int(values["batch_size"])
    )


def _network_sizes(values: Mapping[str, float]) -> dict[str, Any]:
    """Parameters of `NeuralDecision.published` that are tuned."""
    sizes = int(values["units1"]), int(values["units2"])
    return {"hidden_layer_sizes": sizes, "batch_size": int(values["batch_size"])}


# --- Step 3: fit one method on one data set, and price it on the true demand.

#: Trained on squared error, which α does not enter: one fit serves all levels.
SAME_AT_ALL_LEVELS = ("LR-MSE", "NN-MSE")


@lru_cache(maxsize=2)
def _simulated(number: int, clip: bool, law: StoreLaw) -> Simulated[DemandPart]:
    return store10(number - 1, clip=clip, law=law)


def dataset(number: int, settings: PaperSettings) -> Simulated[DemandPart]:
    """Simulate data set ``number`` of a run, counted from 1."""
    return _simulated(number, settings.clip, settings.law)


def fit_method(
    name: str, number: int, levels: Sequence[float], tuned: Tuned, settings: PaperSettings
) -> list[tuple[FitRow, Array]]:
    """Fit a method on the training year, and decide for the test half-year.

    Parameters
    ----------
    name : str
        Of `METHODS`, or of a method under another reading.
    number : int
        Data set, from 1.
    levels : sequence of float
        More than one only where one fit serves them all (`SAME_AT_ALL_LEVELS`).
    tuned : Tuned
    settings : PaperSettings

    Returns
    -------
    list of (FitRow, ndarray)
        For each level the row, and the decisions as they were priced: those below zero are raised
        to zero where the settings clip.
    """
    data = dataset(number, settings)
    train, test = data.train, data.test
    target = train.demand if name.endswith("truth") else train.sales
    known = {"censored": train.censored} if name.endswith("flags") else {}
    model = _model(BY_NAME[name].model, levels[0], tuned, train.sales)
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page says what they would say
        model.fit(train.features, target, **known)
    seconds = perf_counter() - started
    trained = model.cost_.loss(model.predict(train.features), target, model.band_)
    predicted = model.predict(test.features)
    decision = np.maximum(predicted, 0.0) if settings.clip else predicted
    rows = []
    for level in levels:
        cost, optimum = Newsvendor.at_level(level), test.optimum(level)
        row = FitRow(
            dataset=number,
            level=level,
            method=name,
            cost=realised_cost(cost, decision, test.demand),
            cost_as_predicted=realised_cost(cost, predicted, test.demand),
            cost_optimum=realised_cost(cost, optimum, test.demand),
            rmse_to_optimum=rmse_to_optimum(decision, optimum),
            service_level=service_level(decision, test.demand, strict=True),
            fit_seconds=seconds,
            training_cost=float(np.mean(trained)),
            iterations=int(model.n_iter_),
        )
        rows.append((row, decision))
    return rows


def _model(name: str, level: float, tuned: Tuned, sales: Array) -> Any:
    """Make the model of one method, not fitted yet; the six of the paper train as it does."""
    cost, family = Newsvendor.at_level(level), BY_NAME[name].family
    if name == "LR-MSE":
        return LinearDecision(SquaredError())
    if name == "NN-MSE":
        return tuned.network(name, cost=SquaredError())
    chosen: Band | LatentBand | None = None
    if "εNVC" in name:
        chosen = Band.scaled(*tuned.bands[family, level], observation=sales)
    elif name.endswith(("latent", "flags")):
        chosen = LatentBand(random_state=SEED)
    if name in ("LR-NVC", "LR-εNVC-R"):
        return LinearDecision(cost, chosen, solver="minibatch", minibatch=tuned.descent())
    # NN truth is the floor for NN-NVC: the same network, the same training
    if name in ("NN-NVC", "NN-εNVC", "NN truth"):
        return tuned.network("NN", cost=cost, band=chosen)
    if family == "LR":
        return LinearDecision(cost, band=chosen)
    kind = NeuralDecision if family == "NN" else BoostedDecision
    return kind(cost, band=chosen, random_state=SEED)


# --- Steps 1 and 2 of App. training: hyperparameters, then ε for each level, on data set 1.
#
# The tree-structured Parzen estimator of Optuna stands where the paper used Hyperopt's, which is no
# longer maintained. As published, a candidate is priced by its own ε-insensitive cost on held-out
# *sales*. For Step 2 that makes the search degenerate: the cost falls whenever ε₁ grows or ε₂
# shrinks, whatever the data.

SearchedModel = Literal["LR", "NN", "NN-MSE"]

#: The method whose model is searched; LR-εNVC-R and NN-εNVC share what is found.
_SEARCHED: dict[SearchedModel, str] = {"LR": "LR-NVC", "NN": "NN-NVC", "NN-MSE": "NN-MSE"}

Space = Mapping[str, Uniform | Whole]

#: ε₁ and ε₂, as shares of the range of sales (App. training, Step 2).
BAND_SPACE: Space = {name: Uniform(*ends) for name, ends in BAND_BOX.items()}

#: Trials asked for at a time. Networks of the same width and batch, as in Step 2, are trained much
#: faster together; otherwise it pays to know the last trial before the next is chosen.
_AT_ONCE = {(2, "NN"): 10}


@dataclass(frozen=True)
class SearchJob:
    """One search: Step 1 of a model, or Step 2 of a model at one level."""

    step: int
    model: SearchedModel
    level: float

    @property
    def name(self) -> str:
        """For its file."""
        return f"step{self.step}-{self.model.lower()}-{self.level:.2f}"

    def stops(self, trials: int) -> list[int]:
        """Numbers of trials after which the search is looked at: every ten, and at the end."""
        return [*range(10, trials, 10), trials]

    def advance(
        self, folder: Path, settings: PaperSettings, tuned: Tuned, trials: int
    ) -> SearchRow:
        """Go on with the search until ``trials`` are done in all.

        Parameters
        ----------
        folder : Path
            For the journal of trials.
        settings : PaperSettings
        tuned : Tuned
            For Step 2, the hyperparameters of Step 1.
        trials : int

        Returns
        -------
        SearchRow
            The best so far; its seconds are those of this call.
        """
        train = dataset(1, settings).train
        started = perf_counter()
        found = search(
            _model(_SEARCHED[self.model], self.level, tuned, train.sales),
            self.space,
            train.features,
            train.sales,
            build=self._build(train.sales),
            score="observed",  # Algorithm 1: the sales are all it sees
            cv=settings.folds,
            trials=trials,
            batch=_AT_ONCE.get((self.step, self.model), 1),
            storage=folder / f"{self.name}.log",
            name=self.name,
            random_state=SEED,
            refit=False,
        )
        best = {name: float(value) for name, value in found.best_values.items()}
        seconds = perf_counter() - started
        return SearchRow(self.step, self.model, self.level, best, found.best_cost, trials, seconds)

    @property
    def space(self) -> Space:
        """Where the search looks."""
        if self.step == 2:
            return BAND_SPACE
        return {
            line.name: Whole(int(line.low), int(line.high))
            if line.whole
            else Uniform(line.low, line.high)
            for line in STEP_1
            if line.model == self.model
        }

    def _build(self, sales: Array) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """From sampled values to parameters of the estimator."""

        def banded(values: Mapping[str, Any]) -> dict[str, Any] | None:
            if values["low"] > values["high"]:
                return None  # no band at all
            return {"band": Band.scaled(values["low"], values["high"], observation=sales)}

        if self.step == 2:
            return banded
        if self.model == "LR":
            return lambda values: {"minibatch": _descent_options(values)}
        return _network_sizes


def search_jobs(settings: PaperSettings) -> list[SearchJob]:
    """All searches of a run, those of networks first as they take longest."""
    if settings.published_settings:
        return []
    first = [SearchJob(1, model, TUNING_LEVEL) for model in ("NN", "NN-MSE", "LR")]
    return first + [
        SearchJob(2, model, level) for model in ("NN", "LR") for level in settings.levels
    ]
