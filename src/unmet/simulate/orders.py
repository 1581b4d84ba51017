"""Orders that follow a series' own past, and the sales they leave: to censor real demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import bisect
from scipy.special import ndtri

from unmet.arrays import Array, read_array
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_column, as_number
from unmet.simulate.base import Market, weekday

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
    wanted = as_column("demand", demand)
    stock = _read_order(order, len(wanted))
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
    wanted = as_column("demand", demand)
    days = _read_dates(date, len(wanted))
    groups = _read_series(series, len(wanted))
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInput(f"k must be a positive integer, got {k!r}.")
    if as_number("factor", factor) <= 0:
        raise InvalidInput(f"factor must be a positive number, got {factor}.")
    if on not in ("demand", "sales"):
        raise InvalidInput(f'on must be "demand" or "sales", got {on!r}.')
    rows = np.lexsort((days, weekday(days), groups))
    _refuse_repeated_days(groups[rows], days[rows])
    starts = np.flatnonzero(_changes(groups[rows], weekday(days)[rows]))
    order = np.full(len(wanted), np.inf)
    for same_weekday in np.split(rows, starts):
        order[same_weekday] = _look_back(
            wanted[same_weekday].tolist(), int(k), float(factor), on == "sales", round_up
        )
    return order


def _look_back(
    demand: list[float], k: int, factor: float, on_sales: bool, round_up: bool
) -> list[float]:
    """Orders of one series on one weekday, in order of time."""
    seen: list[float] = []
    orders = []
    for wanted in demand:
        order = np.inf
        if len(seen) >= k:
            order = factor * (sum(seen[-k:]) / k)
            if round_up:
                order = float(np.ceil(order - _ROUNDING * abs(order)))
        seen.append(min(wanted, order) if on_sales else wanted)
        orders.append(order)
    return orders


def _changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether a row differs from the one before it; False in the first."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _refuse_repeated_days(groups: NDArray[np.int64], days: NDArray[np.datetime64]) -> None:
    new = _changes(groups, days)[1:]
    if not new.all():
        day = days[1:][np.argmin(new)]
        raise InvalidInput(f"date must not repeat within a series, got {day} twice.")


def _read_order(order: ArrayLike, n_rows: int) -> Array:
    stock = np.asarray(order, dtype=np.float64)
    if stock.shape != (n_rows,):
        raise InvalidInput(f"order must have one number per row of demand, got {stock.shape}.")
    if np.isnan(stock).any():
        row = int(np.argmax(np.isnan(stock)))
        raise InvalidInput(f"order must be a number in every row, got nan in row {row}.")
    read_array("order", stock[np.isfinite(stock)])
    return stock


def _read_dates(date: ArrayLike, n_rows: int) -> NDArray[np.datetime64]:
    given = np.asarray(date)
    try:
        if given.dtype.kind not in "MUO":  # a number would be taken for days since 1970
            raise TypeError
        days = given.astype("datetime64[D]")
    except (TypeError, ValueError):
        raise InvalidInput(f"date must be dates, got {_first(date)!r}.") from None
    if days.shape != (n_rows,):
        raise InvalidInput(f"date must have {n_rows} rows like demand, got shape {days.shape}.")
    if np.isnat(days).any():
        raise InvalidInput(
            f"date must not be missing, got none in row {np.argmax(np.isnat(days))}."
        )
    return days


def _read_series(series: ArrayLike | None, n_rows: int) -> NDArray[np.int64]:
    if series is None:
        return np.zeros(n_rows, dtype=np.int64)
    labels = np.asarray(series)
    if labels.shape != (n_rows,):
        raise InvalidInput(f"series must have {n_rows} rows like demand, got shape {labels.shape}.")
    codes: NDArray[np.int64] = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return codes


def _first(value: ArrayLike) -> object:
    return next(iter(np.asarray(value).ravel().tolist()), None)


# --- What was in stock: order policies of the censoring lab.
#
# Every policy but "history" and "never" starts from a level that moves with the features: the
# row's mean of demand plus one shift for all rows, or the row's own quantile of demand.

Policy = Literal["piled", "noisy", "mixture", "history", "never"]
POLICIES: tuple[Policy, ...] = get_args(Policy)


@dataclass(frozen=True)
class Rule:
    """A policy and its numbers, checked; see `censoring_lab` for what they mean."""

    policy: Policy
    share: float | None = None
    quantile: float | None = None
    noise: float = 0.5
    ample: float = 0.5
    factor: float = 1.0
    on: History = "demand"

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidInput(f"orders must be one of {', '.join(POLICIES)}, got {self.policy!r}.")
        for name in ("share", "quantile"):
            if getattr(self, name) is not None:
                self._check_level(name)
        if self.share is not None and self.quantile is not None:
            raise InvalidInput(
                f"share must be None when quantile says where orders stand, got {self.share}."
            )
        if as_number("noise", self.noise) < 0:
            raise InvalidInput(f"noise must not be negative, got {self.noise}.")
        if not 0 <= as_number("ample", self.ample) < 1:
            raise InvalidInput(f"ample must be at least 0 and below 1, got {self.ample}.")
        if self.policy == "mixture" and self.share is not None and self.share + self.ample >= 1:
            raise InvalidInput(
                f"share must be below 1 - ample = {1 - self.ample:g}, got {self.share}."
            )

    def _check_level(self, name: str) -> None:
        value = getattr(self, name)
        if self.policy in ("history", "never"):
            raise InvalidInput(f'{name} must be None with orders="{self.policy}", got {value!r}.')
        if not 0 < as_number(name, value) < 1:
            raise InvalidInput(f"{name} must lie strictly between 0 and 1, got {value}.")


def policy_orders(rule: Rule, market: Market, generator: np.random.Generator) -> Array:
    """Orders of every row, for each policy that does not look at the past.

    The draws are the same whatever the policy, so policies can be compared seed by seed.
    """
    draws = generator.random((len(market.mean), 2))
    scatter = np.zeros(len(market.mean))
    if rule.policy == "noisy":
        scatter = rule.noise * market.deviation * _normal(draws[:, 0])
    if rule.policy == "never":
        return _plenty(market)
    binding = market.stocked(_level(rule, market, scatter) + scatter)
    if rule.policy == "mixture":
        return np.where(draws[:, 1] < rule.ample, _plenty(market), binding)
    return binding


def _level(rule: Rule, market: Market, scatter: Array) -> Array:
    if rule.quantile is not None:
        level: Array = market.distribution.ppf(rule.quantile)
        return level
    if rule.share is None:
        return market.mean
    binding = 1 - rule.ample if rule.policy == "mixture" else 1.0
    return market.mean + _shift(rule.share / binding, market, scatter)


def _shift(share: float, market: Market, scatter: Array) -> float:
    """Shift of all orders at which the expected share of sold-out rows is `share`."""
    first = np.arange(len(market.mean)) < market.n_train

    def excess(shift: float) -> float:
        sold_out = market.distribution.sf(market.stocked(market.mean + shift + scatter))
        return float(sold_out[first].mean()) - share

    # beyond the smallest and largest quantile, plus what scatters, every row is on one side
    reach = np.abs(market.distribution.ppf([[1e-9], [1 - 1e-9]]) - market.mean).max()
    most = float(reach + np.abs(scatter).max())
    if excess(-most) < 0:
        raise InvalidInput(
            f"share must be at most {excess(-most) + share:.3f}, "
            f"the share of rows with any demand, got {share}."
        )
    return float(bisect(excess, -most, most, xtol=1e-8 * most))


def _plenty(market: Market) -> Array:
    """Stock that never runs out: above the .999-quantile, and above demand where it is higher."""
    usual = np.maximum(market.distribution.ppf(0.999), market.demand)
    return market.stocked(usual + market.deviation)


def _normal(uniform: Array) -> Array:
    return np.asarray(ndtri(np.maximum(uniform, 2.0**-54)), dtype=np.float64)
