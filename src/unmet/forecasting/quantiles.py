"""From quantile forecasts to decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from unmet.band import Array
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.forecasting.columns import quantile_columns
from unmet.forecasting.frames import Named, answer, open_frame, price, table_of
from unmet.forecasting.rounding import Flags, rounded

Beyond: TypeAlias = Literal["refuse", "normal"]
_SAME = 1e-9
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def decide_from_quantiles(
    forecasts: Any,
    cost: Cost,
    model: str | None = None,
    *,
    beyond: Beyond = "refuse",
    step: ArrayLike | None = 1,
    lower: ArrayLike | None = 0,
    upper: ArrayLike | None = None,
    underage_col: str | None = None,
    overage_col: str | None = None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    name: str = "decision",
) -> Any:
    """Decide by forecasts that come with intervals or quantiles.

    The best decision of a newsvendor is the α-quantile of the truth. Between the levels that were
    forecast it is interpolated along the normal score, which is exact for a normal law and
    monotone for any. Quantiles that cross are put in order first (rearrangement: Chernozhukov,
    Fernández-Val and Galichon, 2010).

    Parameters
    ----------
    forecasts : table of pandas, polars or pyarrow
        With columns such as ``AutoARIMA-lo-90`` and ``AutoARIMA-hi-90``, ``NHITS-median``,
        ``NHITS_ql0.9``, ``mine-q-0.9``.
    cost : Cost
        Whose best decision is a quantile: `Newsvendor`, `CustomPricing`, or one of your own that
        is linear on either side of the truth.
    model : str, optional
        Which model's columns; needed if there are several.
    beyond : {"refuse", "normal"}, default="refuse"
        What to do where α lies outside the levels that were forecast: nothing, or go on as a normal
        law does from the two outermost levels.
    step, lower, upper : float or array-like of shape (n_rows,), optional
        Lots and bounds, as in `LinearDecision.decide`; of two lots the one is taken that costs less
        under the forecast.
    underage_col, overage_col : str, optional
        Columns with the costs of each row.
    id_col, time_col : str
        Columns of series and time.
    name : str, default="decision"
        Of the column with the decisions.

    Returns
    -------
    table of the same kind
        With the columns of series and time, and the decision.

    Examples
    --------
    >>> import pandas as pd
    >>> from unmet import Newsvendor
    >>> from unmet.forecasting import decide_from_quantiles
    >>> forecasts = pd.DataFrame(
    ...     {
    ...         "unique_id": ["bread", "rolls"],
    ...         "ds": pd.to_datetime(["2024-05-01", "2024-05-01"]),
    ...         "AutoARIMA": [50.0, 200.0],
    ...         "AutoARIMA-lo-80": [40.0, 160.0],
    ...         "AutoARIMA-hi-80": [60.0, 240.0],
    ...     }
    ... )
    >>> decide_from_quantiles(forecasts, Newsvendor(underage=3, overage=1))["decision"].tolist()
    [55.0, 221.0]
    """
    if beyond not in get_args(Beyond):
        raise InvalidInput(f"beyond must be 'refuse' or 'normal', got {beyond!r}.")
    named = Named(id_col, time_col)
    frame = open_frame(forecasts, named, underage_col, overage_col)
    columns = quantile_columns(frame.columns, model)
    priced = price(cost, frame, underage_col, overage_col)
    if not isinstance(priced, PiecewiseLinearCost):
        raise Unsupported(
            "decide_from_quantiles needs a cost whose best decision is a quantile, such as "
            f"Newsvendor, got {type(priced).__name__}: use decide_from_samples."
        )
    values = np.sort(table_of(frame, list(columns.values())), axis=1)
    known = np.array(list(columns))
    level = np.broadcast_to(np.asarray(priced.level, dtype=float), (len(values),))
    _check_levels(level, known, beyond)
    law = Quantiles(values, np.asarray(ndtri(known)), level)
    decision = rounded(law.best, law.up_is_cheaper, step, lower, upper)
    return answer(frame, named, name, decision)


@dataclass(frozen=True)
class Quantiles:
    """Quantile functions of rows, linear in the normal score; beyond the ends, too.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_levels)
        Rising in each row.
    score : ndarray of shape (n_levels,)
        Normal scores of the levels, rising.
    level : ndarray of shape (n_rows,)
        α of each row's cost.
    """

    values: Array
    score: Array
    level: Array

    @property
    def best(self) -> Array:
        """Quantile of each row at its level."""
        if self.score.size == 1:
            return np.asarray(self.values[:, 0])
        wanted = ndtri(self.level)
        right = np.clip(np.searchsorted(self.score, wanted), 1, self.score.size - 1)
        left_score, right_score = self.score[right - 1], self.score[right]
        share = (wanted - left_score) / (right_score - left_score)
        rows = np.arange(len(self.values))
        low, high = self.values[rows, right - 1], self.values[rows, right]
        return np.asarray((1 - share) * low + share * high)

    def below(self, value: Array) -> Array:
        """Probability that the truth of each row is at most a value."""
        count = self.score.size
        place = (self.values <= value[:, None]).sum(axis=1)
        if count == 1:
            return np.asarray(place, dtype=np.float64)
        right, rows = np.clip(place, 1, count - 1), np.arange(len(value))
        low = self.values[rows, right - 1]
        width = self.values[rows, right] - low
        flat = np.where(value < low, -np.inf, np.inf)  # a law without spread there
        share = np.divide(value - low, width, out=flat, where=width > 0)
        gap = self.score[right] - self.score[right - 1]
        return np.asarray(ndtr(self.score[right - 1] + share * gap))

    def up_is_cheaper(self, down: Array, up: Array) -> Flags:
        """Whether the upper of two decisions costs less.

        The cost of a decision y changes by (o + u) F(y) − u, so up is cheaper where F is below α
        on average between the two.
        """
        middle, half = 0.5 * (up + down), 0.5 * (up - down)
        mean = sum(
            0.5 * weight * self.below(middle + half * point)
            for point, weight in zip(_POINTS, _WEIGHTS, strict=True)
        )
        return np.asarray((mean < self.level) & (up > down))


def _check_levels(level: Array, known: Array, beyond: Beyond) -> None:
    """Refuse levels of which the forecasts say nothing."""
    if not ((level > 0) & (level < 1)).all():
        raise InvalidInput("cost must have an underage and an overage above 0, got one that is 0.")
    outside = (level < known[0] - _SAME) | (level > known[-1] + _SAME)
    if not outside.any() or (beyond == "normal" and known.size > 1):
        return
    listed = ", ".join(f"{each:g}" for each in known)
    wanted = float(level[int(outside.argmax())])
    raise InvalidInput(
        f"forecasts must reach the level {wanted:.4g} that the cost asks for, got the levels "
        f"{listed}: forecast more levels, or say beyond='normal'"
        f"{'' if known.size > 1 else ', which needs two of them'}."
    )
