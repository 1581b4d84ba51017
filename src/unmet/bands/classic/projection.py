"""Projection detruncation: every censored value is replaced by a quantile of what lies above it."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from unmet.arrays import Array, Band, Features
from unmet.bands.classic.shared import (
    Filled,
    Flagged,
    Line,
    LinearQuantiles,
    Normal,
    State,
    first_guess,
    levels_of,
    moved,
    refit,
    shift_band,
    warn_unfinished,
)
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.refitting import read_iteration
from unmet.bands.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import Rows

_DIVERGED = 1e4  # times the first spread: no fixed point is that far off


class ProjectionBand(BandRule):
    """Projection detruncation around a linear mean.

    Hopp's method, described by Weatherford & Pölt (2002) and used by airlines beside EM: for normal
    truth with the current mean and spread, a censored observation is replaced by the value that is
    exceeded with probability `tau`, given that the truth is at least the observation; then mean and
    spread are those of the filled-in values, until nothing moves. Their mean is here a line in the
    features. ε of a row is the α-quantile of that truth minus the linear α-quantile of the
    observations, and never below 0.

    Assumes what `EMBand` assumes. It is no maximum likelihood: filled-in values do not vary, so the
    spread comes out too small when much is censored. A smaller `tau` makes up for it, up to the
    point where every step fills in more than the one before, which is refused.

    Parameters
    ----------
    tau : float, default=0.5
        Between 0 and 1, exclusive. At 0.5 the median of what lies above is filled in; the smaller,
        the more demand is believed to be hidden.
    tol : float, default=1e-10
        Stop when a step moves mean and spread by less than this share of the spread.
    max_iter : int, default=2000
        Most steps; a warning says when they were not enough.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
        Mean and spread of the truth.
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.bands import ProjectionBand
    >>> sales, sold_out = [7.0, 9.0, 10.0, 10.0, 8.0], [False, False, True, True, False]
    >>> rule = ProjectionBand().fit(Newsvendor(9, 1), np.zeros((5, 1)), sales, censored=sold_out)
    >>> round(rule.intercept_, 2), round(rule.scale_, 2)
    (9.17, 1.75)
    """

    def __init__(self, tau: float = 0.5, *, tol: float = 1e-10, max_iter: int = 2000) -> None:
        self.tau = tau
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        levels_of(sample.cost, "ProjectionBand", sample.n_rows)
        if not isinstance(self.tau, Real) or isinstance(self.tau, bool) or not 0 < self.tau < 1:
            raise InvalidInput(f"tau must be a number above 0 and below 1, got {self.tau!r}.")
        tolerance, most = read_iteration(self.tol, self.max_iter)
        rows = Flagged.of(sample, "ProjectionBand")
        line = Line.of(rows, "ProjectionBand")
        notes = self._iterate(line, rows, tolerance, most)
        self.coef_, self.intercept_ = self._truth.coefficients, self._truth.intercept
        self.scale_ = self._truth.scale
        self._observed = LinearQuantiles(sample)
        return rows.diagnosis("ProjectionBand", *notes, *line.notes())

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "ProjectionBand", features.shape[0])
        truth = self._truth.quantile(features, level)
        return shift_band(truth, self._observed.predict(features, level))

    def _iterate(self, line: Line, rows: Flagged, tolerance: float, most: int) -> list[str]:
        """Fill in and refit until nothing moves; what a user should know."""
        at, observation = np.flatnonzero(rows.censored), rows.sample.observation
        nothing = np.zeros(observation.size)
        start = state = first_guess(line, rows)
        step, self.n_iter_ = np.inf, 0
        while step > tolerance and self.n_iter_ < most:
            filled = observation.copy()
            filled[at] = _projected(line.mean(state.coordinates)[at], state, filled[at], self.tau)
            after = refit(line, Filled(filled, nothing), float(observation.size - line.rank))
            step, state = moved(state, after, observation.size), after
            self.n_iter_ += 1
            if not state.scale <= _DIVERGED * start.scale:
                raise InvalidInput(
                    f"tau must be larger where {rows.share:.0%} of the rows are censored: at "
                    f"{self.tau} every step of ProjectionBand fills in more than the one before."
                )
        self._truth = line.normal(*state)
        notes = [f"Normal truth with a spread of {state.scale:.4g} around a linear mean."]
        if step > tolerance:
            notes.append(warn_unfinished("ProjectionBand", most, step))
        return notes

    _truth: Normal
    _observed: LinearQuantiles


def _projected(mean: Array, state: State, limit: Array, tau: float) -> Array:
    """Value that is exceeded with probability tau by a normal truth above its limit."""
    # in logarithms, since what lies above a limit may be too rare for a float
    rest = log_ndtr((mean - limit) / state.scale) + np.log(tau)
    return np.asarray(mean - state.scale * ndtri_exp(rest))
