"""Ages of replacement by features, from the law that a latent model has learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.band import Array
from unmet.bands.latent.shift import RowQuantiles
from unmet.bands.latent_band import LatentBand
from unmet.costs.age_replacement import AgeReplacement
from unmet.costs.jump import JumpCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import read_features
from unmet.solvers.ages import LEVELS, best_ages

_CHUNK = 4000
_ITERATIONS = 50
_CONVERGED = 1e-9


def latent_ages(
    rule: LatentBand, X: Any, cost: JumpCost | None = None, *, together: bool = False
) -> Array:
    """Best age of replacement of each row under the law that the rule has learned.

    `LatentBand` fits families of lifetimes ("weibull", "lognormal" and others) in the features, in
    which suspensions count as what they are: give it ``censored=``. Its law of each row prices
    every age, so no further model is trained.

    Parameters
    ----------
    rule : LatentBand
        Fitted to the times.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
    cost : AgeReplacement or PreventiveReplacement, optional
        Another one than `fit` was given.
    together : bool, default=False
        Of `AgeReplacement` without a rate. False gives each row the least cost rate of its own:
        features belong to the place, and every successor has the same. True gives the least rate
        of all rows together: each successor is a new draw of a row.

    Returns
    -------
    ndarray of shape (n_rows,)
        inf where no planned replacement pays.

    Examples
    --------
    >>> from unmet import LatentBand
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.simulate import replacement
    >>> train = replacement(n=600, seed=1).train
    >>> cost = AgeReplacement(planned=1, failure=8)
    >>> rule = LatentBand(families="weibull", random_state=0)
    >>> rule = rule.fit(cost, train.features, train.times, censored=train.censored)
    >>> ages = latent_ages(rule, train.features)
    >>> bool(abs(ages / train.optimum(cost) - 1).mean() < 0.15)
    True
    """
    if not isinstance(rule, LatentBand):
        raise Unsupported(f"rule must be a fitted LatentBand, got {type(rule).__name__}.")
    if not hasattr(rule, "learned_"):
        raise InvalidInput("rule must be fitted before it can say ages, got one that is not.")
    features = read_features(X)
    used = rule.cost_ if cost is None else cost
    if not isinstance(used, JumpCost):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(used).__name__}."
        )
    if together and isinstance(used, AgeReplacement) and used.rate is None:
        used = used.at_rate(_common_rate(rule, features, used))
    ages: Array = _each(rule, features, used)[0]
    return ages


def _each(rule: LatentBand, features: Any, cost: JumpCost) -> Array:
    """Ages, costs and lengths of cycles, of shape (3, n_rows)."""
    n_rows = features.shape[0]
    answer = np.empty((3, n_rows))
    for start in range(0, n_rows, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, n_rows))
        rows = RowQuantiles(rule.learned_, rule.learned_.chosen.runner, features[index])
        table = np.stack([rows.truth(float(level)) for level in LEVELS])
        answer[:, index] = best_ages(cost.take(index), table)
    return answer


def _common_rate(rule: LatentBand, features: Any, cost: AgeReplacement) -> float:
    """Least cost rate of all rows together (Dinkelbach 1967)."""
    _, paid, served = _each(rule, features, cost)
    rate = float(paid.sum() / served.sum())
    for _ in range(_ITERATIONS):
        _, paid, served = _each(rule, features, cost.at_rate(rate))
        new = min(float(paid.sum() / served.sum()), rate)
        if rate - new <= _CONVERGED * rate:
            break
        rate = new
    return rate
