"""Reading an estimator's constructor parameters when `fit` needs them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol, get_args

import numpy as np

from unmet.band import Band
from unmet.bands import BandRule, LatentBand, SearchedBand
from unmet.costs import Cost, Newsvendor
from unmet.errors import InvalidInput
from unmet.models.checks import number, one_of, true_or_false
from unmet.models.training import Method, PenaltyName, SolverName
from unmet.solvers.minibatch_options import MiniBatchOptions

_EVEN = Newsvendor(underage=1.0, overage=1.0)
_PUBLISHED = MiniBatchOptions()
_SHORT_NAMES: dict[str, type[BandRule]] = {"latent": LatentBand, "searched": SearchedBand}


def read_cost(cost: Cost | None) -> Cost:
    """Cost of an estimator; None is the median's."""
    if cost is None:
        return _EVEN
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), or None, got {cost!r}."
        )
    return cost


def read_band(band: Any) -> Band | BandRule | None:
    """Band or rule of an estimator; None is no band, a short name is the rule as it comes."""
    if band is None or isinstance(band, Band | BandRule):
        return band
    if isinstance(band, str) and band in _SHORT_NAMES:
        return _SHORT_NAMES[band]()
    raise InvalidInput(
        "band must be a Band, a band rule such as LatentBand(), 'latent', 'searched' or None, "
        f"got {band!r}."
    )


class Trainable(Protocol):
    """Constructor parameters of an estimator that the solvers of this package train."""

    solver: SolverName
    penalty: PenaltyName | None
    strength: float
    l1_ratio: float
    fit_intercept: bool
    tolerance: float
    minibatch: MiniBatchOptions | None
    random_state: int | np.random.RandomState | None


def read_method(model: Trainable) -> Method:
    """How to train, from parameters that may hold anything."""
    one_of("solver", model.solver, get_args(SolverName))
    penalty = model.penalty
    if penalty is not None:
        one_of("penalty", penalty, (None, *get_args(PenaltyName)))
    largest = float(np.finfo(float).max)
    strength = number("strength", model.strength, "a finite non-negative number", 0.0, largest)
    ratio = number("l1_ratio", model.l1_ratio, "a number between 0 and 1", 0.0, 1.0)
    allowed = "a number above 0 and below 1"
    ridge = {"l2": strength, "elasticnet": strength * (1.0 - ratio)}
    lasso = {"l1": strength, "elasticnet": strength * ratio}
    return Method(
        solver=model.solver,
        penalty=penalty,
        ridge=ridge.get(penalty or "", 0.0),
        lasso=lasso.get(penalty or "", 0.0),
        fit_intercept=true_or_false("fit_intercept", model.fit_intercept),
        tolerance=number("tolerance", model.tolerance, allowed, 1e-300, 1 - 1e-16),
        minibatch=_options(model.minibatch, model.random_state),
    )


def read_pairs(
    costs: Cost | Iterable[Cost | None] | None,
    bands: Any,
) -> list[tuple[Cost | None, Any]]:
    """Costs and bands in pairs, a single one with all of the others."""
    all_costs: list[Cost | None] = _listed("costs", costs, Cost)
    all_bands = _listed("bands", bands, Band, BandRule, str)
    if len(all_costs) == 1:
        all_costs *= len(all_bands)
    elif len(all_bands) == 1:
        all_bands *= len(all_costs)
    if len(all_costs) != len(all_bands):
        raise InvalidInput(
            "costs and bands must be of equal length, or one of them single, "
            f"got {len(all_costs)} and {len(all_bands)}."
        )
    return list(zip(all_costs, all_bands, strict=True))


def _listed(name: str, value: Any, *kinds_allowed: type) -> list[Any]:
    if value is None or isinstance(value, kinds_allowed):
        return [value]
    if isinstance(value, str) or not isinstance(value, Iterable):
        kinds = f"a {kinds_allowed[0].__name__} or several of them"
        raise InvalidInput(f"{name} must be {kinds}, got {value!r}.")
    return list(value)


def _options(
    minibatch: MiniBatchOptions | None, random_state: int | np.random.RandomState | None
) -> MiniBatchOptions:
    if minibatch is not None and not isinstance(minibatch, MiniBatchOptions):
        raise InvalidInput(f"minibatch must be MiniBatchOptions or None, got {minibatch!r}.")
    options = _PUBLISHED if minibatch is None else minibatch
    return options if random_state is None else replace(options, random_state=random_state)
