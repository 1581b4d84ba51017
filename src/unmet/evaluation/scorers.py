"""The measures as scikit-learn scorers, for ``cross_val_score`` and ``GridSearchCV``.

scikit-learn hands a scorer whatever ``y`` the search was given. Give it the truth where you have
it (a simulation, an audit, flagged rows only): a score on censored observations prefers models
that order too little, and no search over such a score can notice the censoring.

Weights reach a scorer by scikit-learn's metadata routing, or directly::

    scorer(model, X, truth, sample_weight=weight)
    make_cost_scorer(cost).set_score_request(sample_weight=True)   # inside a search
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from unmet.evaluation.measures import (
    RealisedCost,
    fill_rate,
    realised_cost,
    service_level,
    service_level_gap,
)


def _score(
    truth: ArrayLike, decision: ArrayLike, *, measure: Callable[..., float], **keywords: Any
) -> float:
    """Swap the two: scikit-learn hands over the truth first, the measures take it second.

    A plain function with keywords, not a closure: scorers must survive pickling.
    """
    return measure(decision, truth, **keywords)


def make_cost_scorer(cost: RealisedCost) -> Any:
    """Minus the mean realised cost (eq. nvcost): greater is better.

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        With the same parameters for every row: a search splits the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from unmet.costs import Newsvendor
    >>> X, truth = np.zeros((2, 1)), np.array([12.0, 6.0])
    >>> model = DummyRegressor(strategy="constant", constant=10.0).fit(X, truth)
    >>> make_cost_scorer(Newsvendor(underage=3, overage=1))(model, X, truth)
    -5.0
    """
    return make_scorer(_score, greater_is_better=False, measure=partial(realised_cost, cost))


def make_service_level_gap_scorer(level: float) -> Any:
    """Minus the absolute distance of the service level from `level`: greater is better.

    Parameters
    ----------
    level : float
        α in (0, 1).
    """
    return make_scorer(_score, greater_is_better=False, measure=service_level_gap, level=level)


#: Share of rows covered. For reporting: a search over it orders without end.
service_level_scorer: Any = make_scorer(_score, measure=service_level)

#: Share of demanded units served. For reporting, likewise.
fill_rate_scorer: Any = make_scorer(_score, measure=fill_rate)
