"""Decisions from forecasts: quantiles, intervals, or sample paths.

The names that forecasting libraries give to columns show the model and the quantile:

==================== ============================== ==================================
name                 quantile                       written by
==================== ============================== ==================================
``m-lo-90``          (1 − 0.90) / 2                 statsforecast, mlforecast, neuralforecast
``m-hi-90``          (1 + 0.90) / 2                 the same
``m-median``         0.5                            neuralforecast
``m_ql0.9``          0.9                            neuralforecast, one quantile
``m-q-0.9``          0.9                            you
``m-q-90``           0.9                            you, in percent
==================== ============================== ==================================

A column ``m`` alone is a mean or a point forecast. It is no quantile and is not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from unmet.arrays import Array
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost, SquaredError
from unmet.costs.base import A_COST
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import numbers, open_frame, with_column
from unmet.estimators.lots import ROUNDING, read_room
from unmet.solvers.boosting.leaves import hinge_minimisers, small
from unmet.validation import OneOf

Beyond: TypeAlias = Literal["refuse", "normal"]

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTERVAL = re.compile(rf"^(?P<model>.+)-(?P<side>lo|hi)-{_NUMBER}$")
_MEDIAN = re.compile(r"^(?P<model>.+)-median$")
_QUANTILE = re.compile(rf"^(?P<model>.+)[-_](?:ql|q-|q_|q){_NUMBER}$")


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
    name: str = "decision",
) -> Any:
    """Decide from forecasts with intervals or quantiles.

    The best decision of a newsvendor is the α-quantile of the truth, with the critical ratio α =
    underage / (underage + overage). Between the forecast levels, the function interpolates along
    the normal score, which is exact for a normal distribution and monotone for any. Quantiles that
    cross are sorted first (rearrangement: Chernozhukov, Fernández-Val and Galichon, 2010).

    Parameters
    ----------
    forecasts : table of pandas, polars or pyarrow
        Forecasts with columns such as ``AutoARIMA-lo-90`` and ``AutoARIMA-hi-90``,
        ``NHITS-median``, ``NHITS_ql0.9``, ``mine-q-0.9``.
    cost : Cost
        Cost whose best decision is a quantile: `Newsvendor`, `CustomPricing`, or a cost of your own
        that is linear on each side of the truth.
    model : str, optional
        Model whose columns to use; needed if there are several.
    beyond : {"refuse", "normal"}, default="refuse"
        What to do if α lies outside the forecast levels: raise an error, or extrapolate like a
        normal distribution from the two outermost levels.
    step, lower, upper : float or array-like of shape (n_rows,), optional
        Lots and bounds, as in `LinearDecision.decide`. Of two lots, the function takes the one that
        costs less under the forecast.
    underage_col, overage_col : str, optional
        Columns with the costs of each row. None takes those of `cost`.
    name : str, default="decision"
        Name of the column of decisions.

    Returns
    -------
    table of the same kind
        The columns that are no forecasts, such as series and time, and the decision.

    Examples
    --------
    >>> import pandas as pd
    >>> from unmet import Newsvendor
    >>> from unmet.adapters import decide_from_quantiles
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
    OneOf(*get_args(Beyond))("beyond", beyond)
    frame = open_frame(forecasts, underage_col, overage_col)
    columns = _quantile_columns(frame.columns, model)
    evaluated = _evaluate(cost, frame, underage_col, overage_col)
    if not isinstance(evaluated, PiecewiseLinearCost):
        raise Unsupported(
            "decide_from_quantiles needs a cost whose best decision is a quantile, such as "
            f"Newsvendor, got {type(evaluated).__name__}: use decide_from_samples."
        )
    # quantile functions of rows, linear in the normal score; beyond the ends, too
    values = np.sort(numbers(frame, *columns.values()), axis=1)
    known, rows, count = np.array(list(columns)), np.arange(len(values)), len(columns)
    level = np.broadcast_to(np.asarray(evaluated.level, dtype=float), (len(values),))
    _check_levels(level, known, beyond)
    score = np.asarray(ndtri(known))
    best = values[:, 0]
    if count > 1:
        right = np.clip(np.searchsorted(score, ndtri(level)), 1, count - 1)
        share = (ndtri(level) - score[right - 1]) / (score[right] - score[right - 1])
        best = (1 - share) * values[rows, right - 1] + share * values[rows, right]

    def below(value: Array) -> Array:
        """Probability that the truth of each row is at most a value."""
        place = (values <= value[:, None]).sum(axis=1)
        if count == 1:
            return np.asarray(place, dtype=np.float64)
        right = np.clip(place, 1, count - 1)
        low = values[rows, right - 1]
        width = values[rows, right] - low
        flat = np.where(value < low, -np.inf, np.inf)  # a distribution without spread there
        share = np.divide(value - low, width, out=flat, where=width > 0)
        return np.asarray(ndtr(score[right - 1] + share * (score[right] - score[right - 1])))

    def up_is_cheaper(down: Array, up: Array) -> NDArray[np.bool_]:
        """Whether the upper of two decisions costs less.

        The cost of a decision y changes by (o + u) F(y) − u, so up is cheaper where F is below α
        on average between the two.
        """
        middle, half = 0.5 * (up + down), 0.5 * (up - down)
        nodes = zip(*np.polynomial.legendre.leggauss(16), strict=True)
        mean = sum(0.5 * weight * below(middle + half * point) for point, weight in nodes)
        return np.asarray((mean < level) & (up > down))

    decision = _rounded(best, up_is_cheaper, step, lower, upper)
    read = {each: read_level(str(each)) for each in frame.columns}
    models = {found[0] for found in read.values() if found is not None}
    kept = [each for each, found in read.items() if found is None and each not in models]
    return with_column(frame.select(kept), name, decision).to_native()


def read_level(name: str) -> tuple[str, float] | None:
    """Read the model and the level of a column from its name; None if it has none."""
    if found := _INTERVAL.match(name):
        width = float(found[3]) / 100
        return found["model"], (1 - width) / 2 if found["side"] == "lo" else (1 + width) / 2
    if found := _MEDIAN.match(name):
        return found["model"], 0.5
    if found := _QUANTILE.match(name):
        level = float(found[2])
        return found["model"], level / 100 if level >= 1 else level
    return None


def _quantile_columns(names: Sequence[str], model: str | None) -> dict[float, str]:
    """Columns of one model by their level, rising."""
    found: dict[str, dict[float, str]] = {}
    for name in names:
        read = read_level(str(name))
        if read is not None and 0 < read[1] < 1:
            owner, level = read
            found.setdefault(owner, {})[round(level, 12)] = name
    if not found:
        raise InvalidInput(
            "forecasts must have columns of quantiles, such as 'AutoARIMA-hi-90' or "
            f"'AutoARIMA-q-0.95', got {', '.join(map(str, names[:20]))}."
        )
    if model is None and len(found) > 1:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got None.")
    chosen = next(iter(found)) if model is None else model
    if chosen not in found:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got {chosen!r}.")
    return dict(sorted(found[chosen].items()))


def _evaluate(
    cost: Any, frame: nw.DataFrame[Any], underage_col: str | None, overage_col: str | None
) -> Cost:
    """Cost of the rows, where columns say so one for each."""
    given = {"underage": underage_col, "overage": overage_col}
    read: Cost = A_COST("cost", cost)
    return read.with_rows(
        **{name: None if col is None else numbers(frame, col)[:, 0] for name, col in given.items()}
    )


def _rounded(
    decision: Array,
    up_is_cheaper: Callable[[Array, Array], NDArray[np.bool_]],
    step: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
) -> Array:
    """Of the two lots beside a decision the cheaper one, the lower where both cost the same."""
    room = read_room(step, lower, upper, decision.size)
    inside = np.clip(decision, room.first, room.last)
    if room.step is None:
        return np.asarray(inside)
    down = np.clip(np.floor(inside / room.step + ROUNDING) * room.step, room.first, room.last)
    up = np.clip(down + room.step, room.first, room.last)
    return np.asarray(np.where(up_is_cheaper(down, up), up, down) + 0.0)


def _check_levels(level: Array, known: Array, beyond: Beyond) -> None:
    """Refuse levels of which the forecasts say nothing."""
    if not ((level > 0) & (level < 1)).all():
        raise InvalidInput("cost must have an underage and an overage above 0, got one that is 0.")
    outside = (level < known[0] - ROUNDING) | (level > known[-1] + ROUNDING)
    if not outside.any() or (beyond == "normal" and known.size > 1):
        return
    listed = ", ".join(f"{each:g}" for each in known)
    wanted = float(level[int(outside.argmax())])
    raise InvalidInput(
        f"forecasts must reach the level {wanted:.4g} that the cost asks for, got the levels "
        f"{listed}: forecast more levels, or say beyond='normal'"
        f"{'' if known.size > 1 else ', which needs two of them'}."
    )


def decide_from_samples(
    forecasts: Any,
    cost: Cost,
    *,
    columns: Sequence[str] | None = None,
    step: ArrayLike | None = 1,
    lower: ArrayLike | None = 0,
    upper: ArrayLike | None = None,
    underage_col: str | None = None,
    overage_col: str | None = None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    name: str = "decision",
) -> Any:
    """Decide from forecasts that are samples of the truth: least mean cost over the samples.

    For a cost that is linear on each side of the truth, the decision is a quantile of the samples.
    For any other `HingeCost` it is a kink of the mean cost, and for `SquaredError` the mean. All
    are exact.

    Parameters
    ----------
    forecasts : table of pandas, polars or pyarrow
        One row for each series and time, with one column per sample.
    cost : HingeCost or SquaredError
        Cost of decisions, such as `Newsvendor` or `TieredCost`.
    columns : sequence of str, optional
        Columns of samples. None takes all except series, time and costs.
    step, lower, upper, underage_col, overage_col, name
        As in `decide_from_quantiles`.
    id_col, time_col : str
        Columns of series and time.

    Returns
    -------
    table of the same kind
        The columns that hold no samples, and the decision.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import TieredCost
    >>> from unmet.adapters import decide_from_samples
    >>> paths = pl.DataFrame(
    ...     {"unique_id": ["a"], "ds": [1], "s1": [4.0], "s2": [6.0], "s3": [9.0], "s4": [30.0]}
    ... )
    >>> cost = TieredCost(underage=4, overage=(1, 9), overage_breaks=10)
    >>> decide_from_samples(paths, cost)["decision"].to_list()
    [14.0]
    """
    frame = open_frame(forecasts, underage_col, overage_col, *(columns or ()))
    others = {id_col, time_col, underage_col, overage_col}
    chosen = [each for each in frame.columns if each not in others]
    chosen = chosen if columns is None else list(columns)
    if not chosen:
        raise InvalidInput("forecasts must have at least one column of samples, got none.")
    values, evaluated = numbers(frame, *chosen), _evaluate(cost, frame, underage_col, overage_col)
    n_rows, n_values = values.shape
    each = np.repeat(np.arange(n_rows), n_values)  # row of each sample

    def mean_cost(decision: Array) -> Array:
        """Mean cost of each row's decision over its equally likely truths."""
        loss = evaluated.take(each).cost(decision[each], values.ravel())
        return np.asarray(loss.reshape(n_rows, n_values).mean(axis=1))

    if isinstance(evaluated, SquaredError):
        best = values.mean(axis=1)
    elif isinstance(evaluated, PiecewiseLinearCost):
        # the least value that at least a share `level` of the samples do not exceed
        level = np.broadcast_to(np.asarray(evaluated.level), (n_rows,))
        place = np.ceil(level * n_values - ROUNDING).astype(np.intp) - 1
        ordered = np.sort(values, axis=1)
        best = ordered[np.arange(n_rows), np.clip(place, 0, n_values - 1)]
    elif isinstance(evaluated, HingeCost):  # where the slope of the mean cost passes 0
        kinks = evaluated.take(each).kinks(values.ravel())
        owner = np.tile(each, len(kinks.position))
        below, above = (np.ravel(part).astype(float) for part in (kinks.below, kinks.above))
        low, high = hinge_minimisers(
            np.ravel(kinks.position), below, below + above, small(owner, n_rows), n_rows
        )
        best = np.where(np.isfinite(low), low, high)
    else:
        raise Unsupported(
            "decide_from_samples needs a cost that is piecewise linear or SquaredError, got "
            f"{type(evaluated).__name__}."
        )
    decision = _rounded(best, lambda down, up: mean_cost(up) < mean_cost(down), step, lower, upper)
    kept = [each for each in frame.columns if each not in chosen]
    return with_column(frame.select(kept), name, decision).to_native()
