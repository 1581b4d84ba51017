"""Step 3: fit one method on one data set, and price it on the true demand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from unmet.arrays import Array, Band
from unmet.bands import LatentBand
from unmet.costs import Newsvendor, SquaredError
from unmet.evaluation import realised_cost, rmse_to_optimum, service_level
from unmet.models import BoostedDecision, LinearDecision, NeuralDecision
from unmet.paper.published import BAND_BOX, STEP_1
from unmet.paper.results import FitRow, SearchRow
from unmet.paper.settings import BY_NAME, TUNING_LEVEL, Method, Settings
from unmet.paper.tuned import SEED, Tuned, descent_options, widths
from unmet.simulate import DemandPart, Simulated, store10
from unmet.tuning import Uniform, Whole, search

#: Trained on squared error, which α does not enter: one fit serves all levels.
SAME_AT_ALL_LEVELS = ("LR-MSE", "NN-MSE")


@lru_cache(maxsize=2)
def dataset(number: int, clip: bool) -> Simulated[DemandPart]:
    """Simulate data set ``number``, counted from 1."""
    return store10(number - 1, clip=clip)


def fit_method(
    name: str, number: int, levels: Sequence[float], tuned: Tuned, clip: bool
) -> list[tuple[FitRow, Array]]:
    """Fit a method on the training year, and decide for the test half-year.

    Parameters
    ----------
    name : str
        Of `METHODS`.
    number : int
        Data set, from 1.
    levels : sequence of float
        More than one only where one fit serves them all (`SAME_AT_ALL_LEVELS`).
    tuned : Tuned
    clip : bool

    Returns
    -------
    list of (FitRow, ndarray)
        For each level the row, and the decisions as predicted: the paper cuts none off at zero.
    """
    data = dataset(number, clip)
    train, test = data.train, data.test
    method = BY_NAME[name]
    target = train.demand if name.endswith("truth") else train.sales
    known = {"censored": train.censored} if name.endswith("flags") else {}
    model = _model(method, levels[0], tuned, train.sales)
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page says what they would say
        model.fit(train.features, target, **known)
    seconds = perf_counter() - started
    trained = model.cost_.loss(model.predict(train.features), target, model.band_)
    decision = model.predict(test.features)
    rows = []
    for level in levels:
        cost, optimum = Newsvendor.at_level(level), test.optimum(level)
        row = FitRow(
            dataset=number,
            level=level,
            method=name,
            cost=realised_cost(cost, decision, test.demand),
            cost_optimum=realised_cost(cost, optimum, test.demand),
            rmse_to_optimum=rmse_to_optimum(decision, optimum),
            service_level=service_level(decision, test.demand, strict=True),
            fit_seconds=seconds,
            training_cost=float(np.mean(trained)),
            iterations=int(model.n_iter_),
        )
        rows.append((row, decision))
    return rows


def _model(method: Method, level: float, tuned: Tuned, sales: Array) -> Any:
    """Make the model of one method, not fitted yet."""
    cost = Newsvendor.at_level(level)
    if method.origin == "published":
        return _published(method.name, cost, level, tuned, sales)
    if method.name == "LR-εNVC exact":
        return LinearDecision(cost, band=tuned.band("LR", level, sales))
    if method.name == "NN truth":  # the floor for NN-NVC: the same network, the same training
        return tuned.neural(tuned.network, cost=cost)
    learns = method.name.endswith(("latent", "flags"))
    band = LatentBand(random_state=SEED) if learns else None
    if method.family == "LR":
        return LinearDecision(cost, band=band)
    if method.family == "NN":
        return NeuralDecision(cost, band=band, random_state=SEED)
    return BoostedDecision(cost, band=band, random_state=SEED)


def _published(name: str, cost: Newsvendor, level: float, tuned: Tuned, sales: Array) -> Any:
    """Make one of the six methods, trained as the paper does (App. training)."""
    if name == "LR-MSE":
        return LinearDecision(SquaredError())
    if name == "NN-MSE":
        return tuned.neural(tuned.squared, cost=SquaredError())
    if name == "LR-NVC":
        return LinearDecision(cost, solver="minibatch", minibatch=tuned.descent)
    if name == "NN-NVC":
        return tuned.neural(tuned.network, cost=cost)
    if name == "LR-εNVC-R":
        band = tuned.band("LR", level, sales)
        return LinearDecision(cost, band, solver="minibatch", minibatch=tuned.descent)
    assert name == "NN-εNVC", name
    return tuned.neural(tuned.network, cost=cost, band=tuned.band("NN", level, sales))


# --- Steps 1 and 2 of App. training: hyperparameters, then ε for each level, on data set 1.
#
# The tree-structured Parzen estimator of Optuna stands where the paper used Hyperopt's, which is no
# longer maintained. As published, a candidate is priced by its own ε-insensitive cost on held-out
# *sales*. For Step 2 that makes the search degenerate: the cost falls whenever ε₁ grows or ε₂
# shrinks, whatever the data.

SearchedModel = Literal["LR", "NN", "NN-MSE"]
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

    def advance(self, folder: Path, settings: Settings, tuned: Tuned, trials: int) -> SearchRow:
        """Go on with the search until ``trials`` are done in all.

        Parameters
        ----------
        folder : Path
            For the journal of trials.
        settings : Settings
        tuned : Tuned
            For Step 2, the hyperparameters of Step 1.
        trials : int

        Returns
        -------
        SearchRow
            The best so far; its seconds are those of this call.
        """
        train = dataset(1, settings.clip).train
        started = perf_counter()
        found = search(
            self._estimator(tuned),
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

    def _estimator(self, tuned: Tuned) -> Any:
        cost = Newsvendor.at_level(self.level)
        if self.model == "LR":
            return LinearDecision(cost, solver="minibatch", minibatch=tuned.descent)
        if self.model == "NN-MSE":
            return tuned.neural(tuned.squared, cost=SquaredError())
        return tuned.neural(tuned.network, cost=cost)

    def _build(self, sales: Array) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """From sampled values to parameters of the estimator."""

        def banded(values: Mapping[str, Any]) -> dict[str, Any] | None:
            if values["low"] > values["high"]:
                return None  # no band at all
            return {"band": Band.scaled(values["low"], values["high"], observation=sales)}

        if self.step == 2:
            return banded
        if self.model == "LR":
            return lambda values: {"minibatch": descent_options(values)}
        return lambda values: widths(values).parameters()


def search_jobs(settings: Settings) -> list[SearchJob]:
    """All searches of a run, those of networks first as they take longest."""
    if settings.published_settings:
        return []
    first = [SearchJob(1, model, TUNING_LEVEL) for model in ("NN", "NN-MSE", "LR")]
    return first + [
        SearchJob(2, model, level) for model in ("NN", "LR") for level in settings.levels
    ]
