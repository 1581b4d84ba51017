"""From sample paths to decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array
from unmet.costs import AgeReplacement, Cost, HingeCost, PiecewiseLinearCost, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.forecasting.frames import Named, answer, numbers, open_frame, price, table_of
from unmet.forecasting.rounding import Outlook, chunks, rounded
from unmet.solvers.boosting.leaves import hinge_minimisers, small

_ROUNDING = 1e-9


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
    place = np.ceil(level * count - _ROUNDING).astype(np.intp) - 1
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
