"""From forecasts to decisions: quantiles, intervals, or sample paths.

Which column is which quantile of which model is told by the names that forecasting libraries give:

==================== ============================== ==================================
name                 means the quantile             written by
==================== ============================== ==================================
``m-lo-90``          (1 − 0.90) / 2                 statsforecast, mlforecast, neuralforecast
``m-hi-90``          (1 + 0.90) / 2                 the same
``m-median``         0.5                            neuralforecast
``m_ql0.9``          0.9                            neuralforecast, one quantile
``m-q-0.9``          0.9                            by hand
``m-q-90``           0.9                            by hand, in percent
==================== ============================== ==================================

A column ``m`` without more is a mean or a point, not a quantile, and is not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from unmet.arrays import Array
from unmet.costs import AgeReplacement, Cost, HingeCost, PiecewiseLinearCost, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import check_columns, numbers, open_frame, with_column
from unmet.estimators.lots import read_room
from unmet.solvers.boosting.leaves import hinge_minimisers, small
from unmet.validation import OneOf

Beyond: TypeAlias = Literal["refuse", "normal"]

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTERVAL = re.compile(rf"^(?P<model>.+)-(?P<side>lo|hi)-{_NUMBER}$")
_MEDIAN = re.compile(r"^(?P<model>.+)-median$")
_QUANTILE = re.compile(rf"^(?P<model>.+)[-_](?:ql|q-|q_|q){_NUMBER}$")

_AT_ONCE = 4_000_000  # numbers that are evaluated together
_ROUNDING = 1e-9  # of a lot or a level: what lies this close to one is meant to be that one
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _read_keep(keep: Sequence[str]) -> list[str]:
    if isinstance(keep, str):
        raise InvalidInput(f"keep must be a list of names, got the text {keep!r}.")
    return list(keep)


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
    keep: Sequence[str] = (),
    id_col: str = "unique_id",
    time_col: str = "ds",
    name: str = "decision",
) -> Any:
    """Decide by forecasts that come with intervals or quantiles.

    The best decision of a newsvendor is the α-quantile of the truth. Between the levels that were
    forecast it is interpolated along the normal score, which is exact for a normal distribution and
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
        distribution does from the two outermost levels.
    step, lower, upper : float or array-like of shape (n_rows,), optional
        Lots and bounds, as in `LinearDecision.decide`; of two lots the one is taken that costs less
        under the forecast.
    underage_col, overage_col : str, optional
        Columns with the costs of each row.
    keep : sequence of str
        Further columns that the answer shall have, such as ``cutoff`` and ``y`` of a
        cross-validation.
    id_col, time_col : str
        Columns of series and time.
    name : str, default="decision"
        Of the column with the decisions.

    Returns
    -------
    table of the same kind
        With the columns of series and time, those to keep, and the decision.

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
    kept = _read_keep(keep)
    frame = open_frame(forecasts, id_col, time_col, underage_col, overage_col, *kept)
    columns = _quantile_columns(frame.columns, model)
    evaluated = _evaluate(cost, frame, underage_col, overage_col)
    if not isinstance(evaluated, PiecewiseLinearCost):
        raise Unsupported(
            "decide_from_quantiles needs a cost whose best decision is a quantile, such as "
            f"Newsvendor, got {type(evaluated).__name__}: use decide_from_samples."
        )
    values = np.sort(numbers(frame, *columns.values()), axis=1)
    known = np.array(list(columns))
    level = np.broadcast_to(np.asarray(evaluated.level, dtype=float), (len(values),))
    _check_levels(level, known, beyond)
    truth = Quantiles(values, np.asarray(ndtri(known)), level)
    decision = _rounded(truth.best, truth.up_is_cheaper, step, lower, upper)
    return with_column(frame.select(id_col, time_col, *kept), name, decision).to_native()


def read_level(name: str) -> tuple[str, float] | None:
    """Model and level of a column; None where the name does not say."""
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
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), got {cost!r}."
        )
    given = {"underage": underage_col, "overage": overage_col}
    return cost.with_rows(
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
    down = np.clip(np.floor(inside / room.step + _ROUNDING) * room.step, room.first, room.last)
    up = np.clip(down + room.step, room.first, room.last)
    return np.asarray(np.where(up_is_cheaper(down, up), up, down) + 0.0)


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
        flat = np.where(value < low, -np.inf, np.inf)  # a distribution without spread there
        share = np.divide(value - low, width, out=flat, where=width > 0)
        gap = self.score[right] - self.score[right - 1]
        return np.asarray(ndtr(self.score[right - 1] + share * gap))

    def up_is_cheaper(self, down: Array, up: Array) -> NDArray[np.bool_]:
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
    outside = (level < known[0] - _ROUNDING) | (level > known[-1] + _ROUNDING)
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
    sample_col: str | None = None,
    value_col: str = "y",
    step: ArrayLike | None = 1,
    lower: ArrayLike | None = 0,
    upper: ArrayLike | None = None,
    underage_col: str | None = None,
    overage_col: str | None = None,
    keep: Sequence[str] = (),
    id_col: str = "unique_id",
    time_col: str = "ds",
    name: str = "decision",
) -> Any:
    """Decide by forecasts that are samples of the truth: the least mean cost over them, exactly.

    For a cost that is linear on either side of the truth that is a quantile of the samples, for any
    other `HingeCost` a kink of the mean cost, for `SquaredError` the mean; other costs are
    evaluated at every sample and between them, and the cheapest is taken.

    Parameters
    ----------
    forecasts : table of pandas, polars or pyarrow
        One row for each series and time with one column per sample; or, with `sample_col`, one row
        for each sample.
    cost : Cost
        Any but an `AgeReplacement` without its rate.
    columns : sequence of str, optional
        Those that hold samples; by default all but series, time, costs and those to keep.
    sample_col : str, optional
        For long tables: the column with the number of the sample. Every series and time must have
        as many of them.
    value_col : str, default="y"
        For long tables: the column with the value.
    step, lower, upper, underage_col, overage_col, keep, id_col, time_col, name
        As in `decide_from_quantiles`. In a long table costs and columns to keep are those of the
        first row of a series and time.

    Returns
    -------
    table of the same kind
        With the columns of series and time, those to keep, and the decision.

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
    kept = _read_keep(keep)
    frame = open_frame(forecasts, id_col, time_col, sample_col, underage_col, overage_col, *kept)
    if sample_col is not None:
        frame, values = _from_long(frame, id_col, time_col, value_col)
    else:
        taken = {id_col, time_col, underage_col, overage_col, *kept}
        chosen = [each for each in frame.columns if each not in taken]
        chosen = chosen if columns is None else list(columns)
        if not chosen:
            raise InvalidInput("forecasts must have at least one column of samples, got none.")
        check_columns("The frame", frame, chosen)
        values = numbers(frame, *chosen)
    evaluated = _evaluate(cost, frame, underage_col, overage_col)
    n_rows, n_values = values.shape

    def mean_cost(decision: Array) -> Array:
        """Mean cost of each row's decision over its equally likely truths."""
        paid = np.empty(n_rows)
        for rows in _chunks(n_rows, n_values):
            each = np.repeat(rows, n_values)
            loss = evaluated.take(each).cost(decision[each], values[rows].ravel())
            paid[rows] = loss.reshape(rows.size, n_values).mean(axis=1)
        return paid

    if isinstance(evaluated, AgeReplacement) and evaluated.rate is None:
        raise Unsupported(
            "decide_from_samples and AgeReplacement without its rate do not fit together, because "
            "only a long run of replacements has a cost: use unmet.lifetimes."
        )
    if isinstance(evaluated, SquaredError):
        best = np.asarray(values.mean(axis=1))
    elif isinstance(evaluated, PiecewiseLinearCost):
        # the least value that at least a share `level` of the samples do not exceed
        level = np.broadcast_to(np.asarray(evaluated.level), (n_rows,))
        place = np.ceil(level * n_values - _ROUNDING).astype(np.intp) - 1
        ordered = np.sort(values, axis=1)
        best = ordered[np.arange(n_rows), np.clip(place, 0, n_values - 1)]
    elif isinstance(evaluated, HingeCost):
        best = _at_kinks(values, evaluated)
    else:
        best = _searched(values, mean_cost)
    decision = _rounded(best, lambda down, up: mean_cost(up) < mean_cost(down), step, lower, upper)
    return with_column(frame.select(id_col, time_col, *kept), name, decision).to_native()


def _chunks(n_rows: int, per_row: int) -> list[NDArray[np.intp]]:
    """Rows in portions whose numbers fit into memory together."""
    size = max(_AT_ONCE // max(per_row, 1), 1)
    return [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def _at_kinks(values: Array, cost: HingeCost) -> Array:
    """Where the slope of the mean cost, a sum of hinges, passes 0."""
    n_rows, n_values = values.shape
    best = np.empty(n_rows)
    for rows in _chunks(n_rows, 8 * n_values):
        each = np.repeat(rows, n_values)
        kinks = cost.take(each).kinks(values[rows].ravel())
        owner = np.tile(np.repeat(np.arange(rows.size), n_values), len(kinks.position))
        below, above = (np.ravel(part).astype(float) for part in (kinks.below, kinks.above))
        low, high = hinge_minimisers(
            np.ravel(kinks.position), below, below + above, small(owner, rows.size), rows.size
        )
        best[rows] = np.where(np.isfinite(low), low, high)
    return best


def _searched(values: Array, mean_cost: Callable[[Array], Array]) -> Array:
    """Try every sample, just below it, and halfway to the next: jumps and valleys are allowed."""
    ordered = np.sort(values, axis=1)
    middle = 0.5 * (ordered[:, 1:] + ordered[:, :-1])
    tried = np.concatenate([ordered, np.nextafter(ordered, -np.inf), middle], axis=1)
    best, least = tried[:, 0], np.full(len(tried), np.inf)
    for candidate in tried.T:
        paid = mean_cost(np.ascontiguousarray(candidate))
        better = paid < least
        best, least = np.where(better, candidate, best), np.where(better, paid, least)
    return np.asarray(best)


def _from_long(
    frame: nw.DataFrame[Any], id_col: str, time_col: str, value_col: str
) -> tuple[nw.DataFrame[Any], Array]:
    """Rows of the first sample of each series and time, and the samples beside them."""
    check_columns("The frame", frame, [value_col])
    values = numbers(frame, value_col)[:, 0]
    keys = [frame[each].to_numpy() for each in (id_col, time_col)]
    codes = [np.unique(key, return_inverse=True)[1] for key in keys]
    joint = codes[0] * (codes[1].max() + 1) + codes[1]
    _, first, owner, count = np.unique(
        joint, return_index=True, return_inverse=True, return_counts=True
    )
    if np.ptp(count):
        raise InvalidInput(
            "Every series and time must have as many samples, got between "
            f"{count.min()} and {count.max()}."
        )
    table = values[np.argsort(owner, kind="stable")].reshape(first.size, -1)
    order = np.argsort(first, kind="stable")
    kept = np.zeros(len(frame), dtype=bool)
    kept[first] = True
    return frame.filter(kept.tolist()), table[order]
