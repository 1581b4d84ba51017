"""Orders that follow a series' own past, and the sales they leave: to censor real demand."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, read_array
from unmet.errors import InvalidInput
from unmet.evaluation.measures import read_columns
from unmet.simulate.base import weekday
from unmet.validation import Number, OneOf, WholeNumber

History = Literal["demand", "sales"]

# a factor such as 1.1 is not exact in binary: 1.1 × 50 must not be rounded up to 56
_ROUNDING = 1e-9


class Censored(NamedTuple):
    """What a planner sees, and which rows hide something."""

    sales: Array
    """min(demand, order), shape (n_rows,)."""
    censored: NDArray[np.bool_]
    """Whether demand exceeds the order, shape (n_rows,)."""


def censor(demand: ArrayLike, order: ArrayLike) -> Censored:
    """Sell what is in stock.

    Parameters
    ----------
    demand : array-like of shape (n_rows,)
    order : array-like of shape (n_rows,)
        The stock of each row; ``inf`` is a stock that never runs out.

    Examples
    --------
    >>> censor([5, 8, 3], [6, 6, np.inf])
    Censored(sales=array([5., 6., 3.]), censored=array([False,  True, False]))
    """
    (wanted,) = read_columns(demand=demand)
    stock = np.asarray(order, dtype=np.float64)
    if stock.shape != wanted.shape:
        raise InvalidInput(f"order must have one number per row of demand, got {stock.shape}.")
    if np.isnan(stock).any():
        row = int(np.argmax(np.isnan(stock)))
        raise InvalidInput(f"order must be a number in every row, got nan in row {row}.")
    read_array("order", stock[np.isfinite(stock)])
    return Censored(np.minimum(wanted, stock), wanted > stock)


def history_orders(
    demand: ArrayLike,
    date: ArrayLike,
    series: ArrayLike | None = None,
    *,
    k: int = 4,
    factor: float = 1.0,
    on: History = "demand",
    round_up: bool = True,
) -> Array:
    """Order a multiple of the mean of the last `k` same weekdays of the same series.

    ::

        order = ⌈factor · (v₁ + … + v_k) / k⌉

    where v are the demands, or the sales that earlier orders left, of the last `k` rows of the
    series on that weekday; days without a row (the store was closed) are passed over.

    Parameters
    ----------
    demand : array-like of shape (n_rows,)
        The truth, in any order of rows.
    date : array-like of shape (n_rows,)
        Dates, e.g. ``datetime64`` or a column of a table; one row per series and date.
    series : array-like of shape (n_rows,), optional
        Which series a row belongs to, e.g. store and product in one label; None is a single one.
    k : int
        How many same weekdays are averaged.
    factor : float
        Safety factor.
    on : {"demand", "sales"}
        What the planner looks back at. With "sales" a sold-out day lowers later orders: the
        spiral-down of Cooper, Homem-de-Mello and Kleywegt (2006).
    round_up : bool
        Order whole units.

    Returns
    -------
    ndarray of shape (n_rows,)
        ``inf`` where there are not yet `k` same weekdays to look back at.

    Examples
    --------
    >>> weeks = np.datetime64("2024-01-01") + 7 * np.arange(4)
    >>> history_orders([10, 13, 20, 11], weeks, k=2)
    array([inf, inf, 12., 17.])
    >>> history_orders([10, 13, 20, 11], weeks, k=2, on="sales")
    array([inf, inf, 12., 13.])
    """
    (wanted,) = read_columns(demand=demand)
    days = _read_dates(date, len(wanted))
    groups = np.zeros(len(wanted), dtype=np.int64)
    if series is not None:
        labels = np.asarray(series)
        if labels.shape != wanted.shape:
            raise InvalidInput(
                f"series must have {len(wanted)} rows like demand, got shape {labels.shape}."
            )
        groups = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    weeks, multiple = WholeNumber(1)("k", k), Number(above=0)("factor", factor)
    on_sales = OneOf(*get_args(History))("on", on) == "sales"
    rows = np.lexsort((days, weekday(days), groups))
    new = _changes(groups[rows], days[rows])[1:]
    if not new.all():
        day = days[rows][1:][np.argmin(new)]
        raise InvalidInput(f"date must not repeat within a series, got {day} twice.")
    starts = np.flatnonzero(_changes(groups[rows], weekday(days)[rows]))
    order = np.full(len(wanted), np.inf)
    for same_weekday in np.split(rows, starts):  # of one series, in order of time
        seen: list[float] = []
        for row, value in zip(same_weekday.tolist(), wanted[same_weekday].tolist(), strict=True):
            if len(seen) >= weeks:
                ordered = multiple * (sum(seen[-weeks:]) / weeks)
                if round_up:
                    ordered = float(np.ceil(ordered - _ROUNDING * abs(ordered)))
                order[row] = ordered
            seen.append(min(value, float(order[row])) if on_sales else value)
    return order


def _changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a row differs from the one before it; False in the first."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _read_dates(date: ArrayLike, n_rows: int) -> NDArray[np.datetime64]:
    given = np.asarray(date)
    try:
        if given.dtype.kind not in "MUO":  # a number would be taken for days since 1970
            raise TypeError
        days = given.astype("datetime64[D]")
    except (TypeError, ValueError):
        first = next(iter(given.ravel().tolist()), None)
        raise InvalidInput(f"date must be dates, got {first!r}.") from None
    if days.shape != (n_rows,):
        raise InvalidInput(f"date must have {n_rows} rows like demand, got shape {days.shape}.")
    if np.isnat(days).any():
        raise InvalidInput(
            f"date must not be missing, got none in row {np.argmax(np.isnat(days))}."
        )
    return days
