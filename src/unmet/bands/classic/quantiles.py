"""Quantiles of the observations, linear in the features, and what rules make of them.

`LinearQuantiles` and `Flagged` serve all classic rules; `QuantileTailBand` needs nothing else: what
is never censored, the lower tail, says what the rest would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from unmet.arrays import Array, Band, Features, read_array
from unmet.bands import constants as tuned
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.rule import USUAL_LEVELS, BandRule, line_between
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.path import solve_path

_LOWER = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)


def levels_of(cost: Cost, rule: str, n_rows: int) -> Array:
    """Level α of each row: which quantile of the truth costs least.

    Parameters
    ----------
    cost : Cost
    rule : str
        Who asks, for the sentence of the error.
    n_rows : int
    """
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"{rule} needs a cost whose best decision is a quantile, such as Newsvendor, "
            f"and {type(cost).__name__} has no level: use AuditedBand."
        )
    level = np.broadcast_to(np.asarray(cost.level, dtype=np.float64), (n_rows,))
    inside = (level > 0) & (level < 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidInput(
            f"{rule} needs a cost whose level lies strictly between 0 and 1, got {level[row]}."
        )
    return level


def shift_band(truth: Array, observed: Array) -> Band:
    """Band without width, at the distance between two quantiles of a row; never below 0."""
    shift = np.maximum(truth - observed, 0.0)
    return Band(low=shift, high=shift)


class LinearQuantiles:
    """Linear quantile regressions of the observations, solved exactly when first asked for.

    A linear model trained on observations + ε, with ε = (any linear function) − (the line of its
    own level), returns that function: quantile regression is equivariant. So for linear models a
    rule that subtracts these lines gives exactly its own estimate of the truth's quantile, and
    other models keep what they know about the observations beyond a line.

    Parameters
    ----------
    rows : Rows
        Kept by reference, for levels that nobody has asked for yet.
    """

    def __init__(self, rows: Rows) -> None:
        self._features = rows.features
        self._observation = rows.observation
        self._share = rows.share
        self._lines: dict[float, Array] = {}

    def to_state(self) -> dict[str, Any]:
        """Give what a saved rule holds: lines of the usual levels and of those asked for."""
        self.lines(np.array(USUAL_LEVELS))
        levels = sorted(self._lines)
        return {"levels": np.array(levels), "lines": np.stack([self._lines[v] for v in levels])}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LinearQuantiles:
        """Make what `to_state` described: lines without the rows."""
        found = cls.__new__(cls)
        found._observation = np.empty(0)
        found._lines = dict(zip(state["levels"].tolist(), state["lines"], strict=True))
        return found

    def lines(self, levels: Array) -> Array:
        """Coefficients of each level, the intercept last: shape (n_levels, n_features + 1)."""
        missing = sorted({float(level) for level in levels} - self._lines.keys())
        if not self._observation.size:
            between = {level: line_between(level, self._lines) for level in missing}
            return np.array([(between | self._lines)[float(level)] for level in levels])
        share = 1.0 / self._observation.size if self._share is None else self._share
        kinks = [
            Newsvendor.at_level(level).kinks(self._observation, None, share) for level in missing
        ]
        solutions = solve_path(self._features, kinks)
        for level, found in zip(missing, solutions, strict=True):
            self._lines[level] = np.append(found.coefficients, found.intercept)
        return np.array([self._lines[float(level)] for level in levels])

    def predict(self, features: Features, level: Array) -> Array:
        """Quantile of each row at its own level, shape (n_rows,)."""
        knots, place = np.unique(level, return_inverse=True)
        rows, n_knots = np.arange(level.size), tuned.MOST_LINES
        if knots.size <= n_knots:
            return evaluate(self.lines(knots), features)[rows, place]
        # interpolate in the normal score between lines: smoother there than in the level
        score = ndtri(level)
        scores = np.linspace(score.min(), score.max(), n_knots)
        position = np.interp(score, scores, np.arange(n_knots))
        left = np.minimum(position.astype(np.intp), n_knots - 2)
        values, share = evaluate(self.lines(np.asarray(ndtr(scores))), features), position - left
        return np.asarray((1.0 - share) * values[rows, left] + share * values[rows, left + 1])


def evaluate(lines: Array, features: Features) -> Array:
    """Value of every line in every row, shape (n_rows, n_lines)."""
    values: Array = features @ lines[:, :-1].T + lines[:, -1]
    return values


@dataclass(frozen=True)
class Flagged:
    """Rows with a flag.

    Attributes
    ----------
    rows : Rows
        Those rows only.
    censored : ndarray of shape (n_rows,), bool
        Whether the truth is at least the observation; otherwise it is the observation.
    n_unknown : int
        Rows that were left out because nobody knows whether they are censored.
    """

    rows: Rows
    censored: NDArray[np.bool_]
    n_unknown: int

    @classmethod
    def of(cls, rows: Rows, rule: str) -> Flagged:
        """Keep the rows with a flag; refuse data in which nothing, or no truth, is known."""
        if rows.censored is None:
            raise InvalidInput(
                f"censored must be given to {rule}, or stock, which says the same, got none."
            )
        known = np.flatnonzero(~np.isnan(rows.censored))
        kept = rows if known.size == rows.n_rows else rows.take(known)
        assert kept.censored is not None
        flags = kept.censored > 0
        if flags.all():
            raise InvalidInput(
                f"censored must be False in at least one row for {rule}, "
                f"got True in all {flags.size} rows that have a flag."
            )
        return cls(kept, flags, rows.n_rows - known.size)

    @property
    def share(self) -> float:
        """Weighted share of censored rows."""
        return float(np.average(self.censored, weights=self.rows.share))

    def diagnosis(self, rule: str, *notes: str, identified: Identified = "yes") -> Diagnosis:
        """Say what a rule found that takes flags for what they are."""
        if self.n_unknown:
            left_out = (
                f"{self.n_unknown} rows without a flag were left out, as if chance had decided "
                "which rows have one."
            )
            notes = (*notes, left_out)
        return Diagnosis(
            rule=rule,
            n_rows=self.rows.n_rows,
            share_censored=self.share,
            identified="weakly" if self.n_unknown and identified == "yes" else identified,
            notes=notes,
        )


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

    def __init__(
        self, levels: Sequence[float] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
    ) -> None:
        self.levels = levels

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        levels_of(rows.cost, "QuantileTailBand", rows.n_rows)
        levels = np.unique(read_array("levels", self.levels))
        if levels.size < 2 or levels[0] <= 0 or levels[-1] >= 1:
            raise InvalidInput(
                "levels must be at least two different numbers strictly between 0 and 1, "
                f"got {self.levels!r}."
            )
        self._observed = LinearQuantiles(rows)
        lines = self._observed.lines(levels)
        score = np.column_stack([np.ones(levels.size), ndtri(levels)])
        self._mean, self._scale = np.linalg.lstsq(score, lines, rcond=None)[0]
        self.coef_, self.intercept_ = self._mean[:-1], float(self._mean[-1])
        self.coef_scale_, self.intercept_scale_ = self._scale[:-1], float(self._scale[-1])
        notes, share = (
            [
                f"Assumed that truth is normal given the features, and that no row below its "
                f"{levels[-1]:g}-quantile is censored."
            ],
            None,
        )
        if rows.censored is not None:  # how far flags bear it out
            known = ~np.isnan(rows.censored)
            flags, weight = rows.censored[known], rows.weight[known]
            share = float(np.average(flags, weights=weight))
            below = rows.observation < evaluate(lines[-1:], rows.features)[:, 0]
            inside, touched = float(weight @ below[known]), float(flags @ (weight * below[known]))
            if touched > tuned.TOUCHED * inside:
                notes.append(
                    f"Of the rows below that quantile {touched / inside:.0%} are flagged as "
                    "censored, so ε is too small: use EMBand, or lower levels."
                )
        return Diagnosis(
            rule="QuantileTailBand", n_rows=rows.n_rows, share_censored=share, notes=tuple(notes)
        )

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "QuantileTailBand", features.shape[0])
        mean, scale = evaluate(np.stack([self._mean, self._scale]), features).T
        return shift_band(mean + ndtri(level) * scale, self._observed.predict(features, level))
