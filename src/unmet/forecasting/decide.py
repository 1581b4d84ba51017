"""From sample paths to decisions."""

from __future__ import annotations

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
from unmet.forecasting.frames import (
    Named,
    answer,
    numbers,
    open_frame,
    price,
    quantile_columns,
    table_of,
)
from unmet.models.lots import read_room
from unmet.solvers.boosting.leaves import hinge_minimisers, small

# --- Lots for decisions whose truth is known as equally likely values of each row.

Flags: TypeAlias = NDArray[np.bool_]

_AT_ONCE = 4_000_000  # numbers that are priced together
_ROUNDING = 1e-9  # of a lot: a decision this close below one is meant to be that one


@dataclass(frozen=True)
class Outlook:
    """What the truth of each row may be, and what mistakes cost there.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_values)
        Equally likely.
    cost : Cost
        With numbers, or one entry per row.
    """

    values: Array
    cost: Cost

    def mean_cost(self, decision: Array) -> Array:
        """Mean cost of each row's decision, of shape (n_rows,)."""
        n_rows, n_values = self.values.shape
        paid = np.empty(n_rows)
        for rows in chunks(n_rows, n_values):
            each = np.repeat(rows, n_values)
            priced = self.cost.take(each).cost(decision[each], self.values[rows].ravel())
            paid[rows] = priced.reshape(rows.size, n_values).mean(axis=1)
        return paid

    def up_is_cheaper(self, down: Array, up: Array) -> Flags:
        """Whether the upper of two decisions costs less, in each row."""
        return np.asarray(self.mean_cost(up) < self.mean_cost(down))


def rounded(
    decision: Array,
    up_is_cheaper: Callable[[Array, Array], Flags],
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


def chunks(n_rows: int, per_row: int) -> list[NDArray[np.intp]]:
    """Rows in portions whose numbers fit into memory together."""
    size = max(_AT_ONCE // max(per_row, 1), 1)
    return [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


# --- From quantile forecasts to decisions.

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


# --- From sample paths to decisions.

_SAMPLE_ROUNDING = 1e-9


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
    id_col: str = "unique_id",
    time_col: str = "ds",
    name: str = "decision",
) -> Any:
    """Decide by forecasts that are samples of the truth: the least mean cost over them, exactly.

    For a cost that is linear on either side of the truth that is a quantile of the samples, for any
    other `HingeCost` a kink of the mean cost, for `SquaredError` the mean; other costs are priced
    at every sample and between them, and the cheapest is taken.

    Parameters
    ----------
    forecasts : table of pandas, polars or pyarrow
        One row for each series and time with one column per sample; or, with `sample_col`, one row
        for each sample.
    cost : Cost
        Any but an `AgeReplacement` without its rate.
    columns : sequence of str, optional
        Those that hold samples; by default all but series, time and costs.
    sample_col : str, optional
        For long tables: the column with the number of the sample. Every series and time must have
        as many of them.
    value_col : str, default="y"
        For long tables: the column with the value.
    step, lower, upper, underage_col, overage_col, id_col, time_col, name
        As in `decide_from_quantiles`. In a long table costs are those of the first row of a series
        and time.

    Returns
    -------
    table of the same kind
        With the columns of series and time, and the decision.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import TieredCost
    >>> from unmet.forecasting import decide_from_samples
    >>> paths = pl.DataFrame(
    ...     {"unique_id": ["a"], "ds": [1], "s1": [4.0], "s2": [6.0], "s3": [9.0], "s4": [30.0]}
    ... )
    >>> cost = TieredCost(underage=4, overage=(1, 9), overage_breaks=10)
    >>> decide_from_samples(paths, cost)["decision"].to_list()
    [14.0]
    """
    named = Named(id_col, time_col)
    frame = open_frame(forecasts, named, sample_col, underage_col, overage_col)
    if sample_col is not None:
        frame, values = _from_long(frame, named, value_col)
    else:
        taken = {id_col, time_col, underage_col, overage_col}
        chosen = [each for each in frame.columns if each not in taken]
        chosen = chosen if columns is None else list(columns)
        if not chosen:
            raise InvalidInput("forecasts must have at least one column of samples, got none.")
        open_frame(frame.to_native(), named, *chosen)
        values = table_of(frame, chosen)
    outlook = Outlook(values, price(cost, frame, underage_col, overage_col))
    decision = rounded(best_decisions(outlook), outlook.up_is_cheaper, step, lower, upper)
    return answer(frame, named, name, decision)


def best_decisions(outlook: Outlook) -> Array:
    """Least mean cost of each row over its equally likely truths, of shape (n_rows,)."""
    values, cost = outlook.values, outlook.cost
    if isinstance(cost, AgeReplacement) and cost.rate is None:
        raise Unsupported(
            "decide_from_samples and AgeReplacement without its rate do not fit together, because "
            "only a long run of replacements has a cost: use unmet.replacement."
        )
    if isinstance(cost, SquaredError):
        return np.asarray(values.mean(axis=1))
    if isinstance(cost, PiecewiseLinearCost):
        return _quantiles(values, np.broadcast_to(np.asarray(cost.level), (len(values),)))
    if isinstance(cost, HingeCost):
        return _at_kinks(values, cost)
    return _searched(outlook)


def _quantiles(values: Array, level: Array) -> Array:
    """Least value that at least a share `level` of the samples do not exceed."""
    count = values.shape[1]
    place = np.ceil(level * count - _SAMPLE_ROUNDING).astype(np.intp) - 1
    rows = np.arange(len(values))
    return np.asarray(np.sort(values, axis=1)[rows, np.clip(place, 0, count - 1)])


def _at_kinks(values: Array, cost: HingeCost) -> Array:
    """Where the slope of the mean cost, a sum of hinges, passes 0."""
    n_rows, n_values = values.shape
    best = np.empty(n_rows)
    for rows in chunks(n_rows, 8 * n_values):
        each = np.repeat(rows, n_values)
        kinks = cost.take(each).kinks(values[rows].ravel())
        owner = np.tile(np.repeat(np.arange(rows.size), n_values), len(kinks.position))
        below, above = (np.ravel(part).astype(float) for part in (kinks.below, kinks.above))
        found = hinge_minimisers(
            np.ravel(kinks.position), below, below + above, small(owner, rows.size), rows.size
        )
        best[rows] = np.where(np.isfinite(found.low), found.low, found.high)
    return best


def _searched(outlook: Outlook) -> Array:
    """Try every sample, just below it, and halfway to the next: jumps and valleys are allowed."""
    ordered = np.sort(outlook.values, axis=1)
    middle = 0.5 * (ordered[:, 1:] + ordered[:, :-1])
    just_below = np.nextafter(ordered, -np.inf)
    tried = np.concatenate([ordered, just_below, middle], axis=1)
    best, least = tried[:, 0], np.full(len(tried), np.inf)
    for candidate in tried.T:
        paid = outlook.mean_cost(np.ascontiguousarray(candidate))
        better = paid < least
        best, least = np.where(better, candidate, best), np.where(better, paid, least)
    return np.asarray(best)


def _from_long(
    frame: nw.DataFrame[Any], named: Named, value_col: str
) -> tuple[nw.DataFrame[Any], Array]:
    """Rows of the first sample of each series and time, and the samples beside them."""
    open_frame(frame.to_native(), named, value_col)
    values = numbers(frame, value_col)
    keys = [frame[each].to_numpy() for each in (named.id_col, named.time_col)]
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
