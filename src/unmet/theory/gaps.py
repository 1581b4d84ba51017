"""How much more decisions cost on new rows than on those they were learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.band import Array, Band
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import read_column


@dataclass(frozen=True)
class Gap:
    """Mean ε-insensitive costs on observations.

    Attributes
    ----------
    training, fresh : float
    """

    training: float
    fresh: float

    @property
    def value(self) -> float:
        """What the theorems bound: fresh − training."""
        return self.fresh - self.training


def generalisation_gap(
    model: Any,
    X: Any,
    s: Any,
    fresh_X: Any,
    fresh_s: Any,
    *,
    largest_truth: float | None = None,
) -> Gap:
    """Measure what the theorems bound, on rows that the model has not seen.

    The ε-insensitive cost on observations, as it was trained on: it tells whether the model learned
    or memorised, not what its decisions cost on the truth (`unmet.evaluation.realised_cost`).

    Parameters
    ----------
    model : fitted estimator
        With one cost and one band for all rows.
    X, s : table or array-like
        The training rows.
    fresh_X, fresh_s : table or array-like
        Other rows of the same law; the more of them, the better the measurement.
    largest_truth : float, optional
        D̄: cut decisions off at 0 and D̄.

    Returns
    -------
    Gap

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X, s = generator.normal(size=(5030, 10)), generator.uniform(0, 1, size=5030)
    >>> model = LinearDecision(Newsvendor(3, 1)).fit(X[:30], s[:30])
    >>> gap = generalisation_gap(model, X[:30], s[:30], X[30:], s[30:])
    >>> bool(gap.value > 0.1)
    True
    """
    cost, band = model.cost_, model.band_
    numbers = [*cost.parameters().values(), *([] if band is None else [band.low, band.high])]
    if any(np.ndim(each) for each in numbers):
        raise InvalidInput("model must have one cost and one band for all rows, got some per row.")
    pairs = ((X, s, "s"), (fresh_X, fresh_s, "fresh_s"))
    return Gap(
        *(
            _mean(model, features, read_column(name, seen), cost, band, largest_truth)
            for features, seen, name in pairs
        )
    )


def _mean(
    model: Any, X: Any, seen: Array, cost: Cost, band: Band | None, top: float | None
) -> float:
    decision = np.asarray(model.predict(X))
    if top is not None:
        decision = np.clip(decision, 0.0, top)
    return float(cost.loss(decision, seen, band).mean())
