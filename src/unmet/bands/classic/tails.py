"""Lower-tail extrapolation: what is never censored says what the rest would have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from unmet.arrays import Array, Band, Features, read_array
from unmet.bands.classic.shared import Levels, LinearQuantiles, evaluate, levels_of, shift_band
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import Rows

_LOWER = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
_TOUCHED = 0.02  # share of censored rows below the highest quantile that still does no harm


class QuantileTailBand(BandRule):
    """Quantiles below the reach of censoring, extended to the level of the cost.

    Low values are seldom censored: who sells little was not sold out. So the lower quantiles of the
    observations are those of the truth. They are regressed on the features, each coefficient is
    fitted by a straight line in the normal score z of its level, and the line is read at the level
    of the cost. ε of a row is that quantile minus the linear quantile of the observations at the
    same level, and never below 0. It needs no flags and no model of the orders.

    Assumes that truth is normal given the features, with mean and spread both linear in them, and
    that censoring does not touch the quantiles at `levels`. Orders that are often far below the
    usual demand break the second assumption; then ε is too small.

    Parameters
    ----------
    levels : sequence of float, default=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
        At least two different levels, strictly between 0 and 1, that censoring does not touch.

    Attributes
    ----------
    coef_, coef_scale_ : ndarray of shape (n_features,)
    intercept_, intercept_scale_ : float
        Mean of the truth, ``x'coef_ + intercept_``, and its spread,
        ``x'coef_scale_ + intercept_scale_``.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.bands import QuantileTailBand
    >>> generator = np.random.default_rng(0)
    >>> demand = generator.normal(100, 20, size=2000)
    >>> X, sales = np.zeros((2000, 1)), np.minimum(demand, 100)
    >>> model = LinearDecision(Newsvendor(underage=9, overage=1), band=QuantileTailBand())
    >>> model.fit(X, sales).predict([[0]]).round()  # truth: 126
    array([124.])
    """

    def __init__(self, levels: Sequence[float] = _LOWER) -> None:
        self.levels = levels

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        levels_of(sample.cost, "QuantileTailBand", sample.n_rows)
        levels = _read_levels(self.levels)
        self._observed = LinearQuantiles(sample)
        lines = self._observed.lines(levels)
        score = np.column_stack([np.ones(levels.size), ndtri(levels)])
        self._mean, self._scale = np.linalg.lstsq(score, lines, rcond=None)[0]
        self.coef_, self.intercept_ = self._mean[:-1], float(self._mean[-1])
        self.coef_scale_, self.intercept_scale_ = self._scale[:-1], float(self._scale[-1])
        return _diagnosis(sample, levels, lines[-1])

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "QuantileTailBand", features.shape[0])
        mean, scale = evaluate(np.stack([self._mean, self._scale]), features).T
        return shift_band(mean + ndtri(level) * scale, self._observed.predict(features, level))

    _mean: Array
    _scale: Array
    _observed: LinearQuantiles


def _read_levels(value: Sequence[float]) -> Levels:
    levels = np.unique(read_array("levels", value))
    if levels.size < 2 or levels[0] <= 0 or levels[-1] >= 1:
        raise InvalidInput(
            "levels must be at least two different numbers strictly between 0 and 1, "
            f"got {value!r}."
        )
    return levels


def _diagnosis(sample: Rows, levels: Levels, highest: Array) -> Diagnosis:
    """Say what was assumed; where flags are known, how far they bear it out."""
    notes = [
        f"Assumed that truth is normal given the features, and that no row below its "
        f"{levels[-1]:g}-quantile is censored."
    ]
    share = None
    if sample.censored is not None:
        known = ~np.isnan(sample.censored)
        flags, weight = sample.censored[known], sample.weight[known]
        share = float(np.average(flags, weights=weight))
        below = sample.observation < evaluate(highest[None], sample.features)[:, 0]
        inside, touched = float(weight @ below[known]), float(flags @ (weight * below[known]))
        if touched > _TOUCHED * inside:
            notes.append(
                f"Of the rows below that quantile {touched / inside:.0%} are flagged as censored, "
                "so ε is too small: use EMBand, or lower levels."
            )
    return Diagnosis(
        rule="QuantileTailBand", n_rows=sample.n_rows, share_censored=share, notes=tuple(notes)
    )
