"""EM for censored normal demand: the standard unconstraining method of revenue management."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

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
from unmet.rows import Rows


class EMBand(BandRule):
    """Maximum likelihood of normal truth that is known to be censored in some rows (Tobit).

    Truth is normal around a linear mean, with the same spread everywhere; rows flagged as censored
    say "at least this much". The expectation–maximisation algorithm (Dempster, Laird & Rubin 1977;
    in revenue management Salch 1997, Weatherford & Pölt 2002) fills in the mean of what lies above,
    refits and repeats; its limit is the maximum of the likelihood. ε of a row is the α-quantile of
    that truth minus the linear α-quantile of the observations, and never below 0.

    Assumes normal truth, a linear mean, one spread for all rows, and flags that are right.

    Parameters
    ----------
    tol : float, default=1e-10
        Stop when a step moves mean and spread by less than this share of the spread.
    max_iter : int, default=2000
        Most steps of the algorithm; a warning says when they were not enough.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
        Mean and spread of the truth.
    n_iter_ : int

    Notes
    -----
    Convergence is linear, and slow where much is censored; two steps are therefore extrapolated
    into a third (SQUAREM, Varadhan & Roland 2008), which is kept only if the likelihood is higher.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.bands import EMBand
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(2000, 1))
    >>> demand = 50 + 30 * X[:, 0] + generator.normal(scale=10, size=2000)
    >>> stock = 50 + 30 * X[:, 0]
    >>> model = LinearDecision(Newsvendor(underage=9, overage=1), band=EMBand())
    >>> model.fit(X, np.minimum(demand, stock), stock=stock).predict([[0.5]]).round()  # truth: 78
    array([77.])
    """

    def __init__(self, *, tol: float = 1e-10, max_iter: int = 2000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        levels_of(sample.cost, "EMBand", sample.n_rows)
        tolerance, most = read_iteration(self.tol, self.max_iter)
        rows = Flagged.of(sample, "EMBand")
        line = Line.of(rows, "EMBand")
        likelihood = _Likelihood.of(line, rows)
        state, self.n_iter_, step = _maximise(likelihood, first_guess(line, rows), tolerance, most)
        self._truth = line.normal(*state)
        self.coef_, self.intercept_ = self._truth.coefficients, self._truth.intercept
        self.scale_ = self._truth.scale
        self._observed = LinearQuantiles(sample)
        notes = [f"Normal truth with a spread of {self.scale_:.4g} around a linear mean."]
        if step > tolerance:
            notes.append(warn_unfinished("EMBand", most, step))
        return rows.diagnosis("EMBand", *notes, *line.notes())

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "EMBand", features.shape[0])
        truth = self._truth.quantile(features, level)
        return shift_band(truth, self._observed.predict(features, level))

    _truth: Normal
    _observed: LinearQuantiles


@dataclass(frozen=True)
class _Likelihood:
    """Censored normal rows, and what the algorithm asks of them."""

    line: Line
    observation: Array
    at: NDArray[np.intp]
    """Which rows are censored."""
    weight: Array

    @classmethod
    def of(cls, line: Line, rows: Flagged) -> _Likelihood:
        weight = rows.sample.weight
        return cls(line, rows.sample.observation, np.flatnonzero(rows.censored), weight)

    def step(self, state: State) -> State:
        """Fill in conditional means, and refit: one E-step and one M-step."""
        value, variance = self.observation.copy(), np.zeros(self.observation.size)
        mean = self.line.mean(state.coordinates)[self.at]
        limit = (self.observation[self.at] - mean) / state.scale
        ratio = _hazard(limit)
        value[self.at] = mean + state.scale * ratio
        # Var[Z | Z > a] = 1 − λ(λ − a): in (0, 1), but for rounding far out
        variance[self.at] = state.scale**2 * np.clip(1.0 - ratio * (ratio - limit), 0.0, 1.0)
        return refit(self.line, Filled(value, variance), float(value.size))

    def log(self, state: State) -> float:
        """Log-likelihood per row, but for a constant."""
        score = (self.observation - self.line.mean(state.coordinates)) / state.scale
        each = -0.5 * score**2 - np.log(state.scale)
        each[self.at] = log_ndtr(-score[self.at])
        return float(self.weight @ each / each.size)


def _hazard(limit: Array) -> Array:
    """E[Z | Z > limit] = φ / (1 − Φ) of a standard normal Z, without under- or overflow."""
    with np.errstate(over="ignore"):  # far below every value nothing is cut off: 1 / inf = 0
        return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(limit / np.sqrt(2.0)))


def _maximise(
    likelihood: _Likelihood, state: State, tolerance: float, most: int
) -> tuple[State, int, float]:
    """Take steps in pairs, each followed by a leap; state, number of steps, size of the last."""
    n_rows, done = likelihood.observation.size, 0
    while True:
        first = likelihood.step(state)
        size = moved(state, first, n_rows)
        if size <= tolerance or done + 3 > most:
            return first, done + 1, size
        second = likelihood.step(first)
        leap = _extrapolated(state, first, second, n_rows)
        third = second if leap is None else likelihood.step(leap)
        done += 3
        state = third if likelihood.log(third) >= likelihood.log(second) else second


def _extrapolated(start: State, first: State, second: State, n_rows: int) -> State | None:
    """Squared extrapolation of two steps (scheme S3), with the scale in logarithms."""
    unit = start.scale * np.sqrt(n_rows)  # brings both parts of a state to a like size
    points = [
        np.append(each.coordinates / unit, np.log(each.scale)) for each in (start, first, second)
    ]
    step = points[1] - points[0]
    turn = (points[2] - points[1]) - step
    bend = float(np.linalg.norm(turn))
    if not bend > 0:
        return None
    length = max(float(np.linalg.norm(step)) / bend, 1.0)
    far = points[0] + 2.0 * length * step + length**2 * turn
    if not abs(far[-1] - points[2][-1]) < 2.0:  # a scale several times off helps nobody
        return None
    return State(far[:-1] * unit, float(np.exp(far[-1])))
