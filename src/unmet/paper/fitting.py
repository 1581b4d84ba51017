"""Step 3: fit one method on one data set, and price it on the true demand."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from unmet.band import Array
from unmet.bands import LatentBand
from unmet.costs import Newsvendor, SquaredError
from unmet.evaluation import realised_cost, rmse_to_optimum, service_level
from unmet.models import BoostedDecision, LinearDecision, NeuralDecision
from unmet.paper.methods import BY_NAME, Method
from unmet.paper.results import FitRow
from unmet.paper.tuned import SEED, Tuned
from unmet.simulate import Store10, store10

#: Trained on squared error, which α does not enter: one fit serves all levels.
SAME_AT_ALL_LEVELS = ("LR-MSE", "NN-MSE")


@lru_cache(maxsize=2)
def dataset(number: int, clip: bool) -> Store10:
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
