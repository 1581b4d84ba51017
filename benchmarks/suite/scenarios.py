"""Scenarios: a set of demand × the order policy that hid some of it × what is known of it.

Three forms. `rows`: training and test rows with features, one model for each series or group.
`origins`: histories of a panel, of which the orders of the coming week are asked. `shop`: a method
orders week by week, and sees what its own orders left of demand.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from benchmarks.suite.data import DATASETS, Series
from unmet.simulate import censor, censoring_lab, history_orders

LEVELS = (0.65, 0.75, 0.85, 0.95)
POLICIES = {
    "A": {"k": 4, "on": "demand", "round_up": False},
    "B": {"k": 4, "on": "sales", "factor": 1.15},
    "none": None,
}
"""Orders: mean demand of the last four same weekdays; 1.15 × their mean sales, rounded up; more
than enough. "hours" is what shops did, where hours in stock tell what was missed; "noisy" and
"at_mass" are those of `unmet.simulate.censoring_lab`."""


class Scenario(NamedTuple):
    """Form, set, and order policy."""

    form: str
    name: str
    policy: str

    def __str__(self) -> str:
        return " ".join(self[1:] if self.form == "rows" else self)

    @property
    def uncensored(self) -> bool:
        return self.policy == "none"

    def units(self, quick: bool) -> list[Any]:
        """Return what standard errors are over: models, origins, or the shop."""
        return {"rows": rows, "plan": origins, "shop": shop}[self.form](*self[1:], quick)


REAL = ("bakery", "restaurant", "M5 foods")
SCENARIOS = (
    *(Scenario("rows", name, policy) for policy in "AB" for name in REAL),
    Scenario("rows", "fresh food", "hours"),
    *(Scenario("rows", "simulated", policy) for policy in ("noisy", "at_mass")),
    *(Scenario("rows", name, "none") for name in (*REAL, "simulated")),
    *(Scenario("plan", name, "B") for name in REAL),
    Scenario("plan", "fresh food", "hours"),
    *(Scenario("plan", name, "none") for name in (*REAL, "pizza")),
    *(Scenario("shop", name, "loop") for name in (*REAL, "fresh food")),
)
OFFSETS = {"rate": 0.0, "rate +.15": 0.15, "rate -.15": -0.15}
KNOWN = ("truth", "flags", "log", "orders", *OFFSETS, "nothing")
"""What a method is told; "truth" is for the oracle, "log" all of its own orders in a shop, "orders"
those of its last plan."""
WARM_UP, DAYS, SHARE_TRAIN = 28, 1000, 0.75
FAMILIES = ("normal", "gamma", "lognormal", "negative_binomial", "student")
HORIZON, HISTORY, SHOP_LEVEL = 7, 365, 0.9
ROW_SERIES, ROW_GROUPS, PANEL_SERIES, ORIGINS, WEEKS = (
    {True: quick, False: full} for quick, full in ((3, 12), (3, 12), (20, 240), (2, 6), (8, 20))
)
"""Sizes of the quick and of the full form."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What is known of the past; `told` leaves only that."""

    censored: np.ndarray | None
    demand: np.ndarray | None
    rate: float | None = None
    known: str = ""
    _kept: dict[Any, Any] = field(default_factory=dict)

    def told(self, known: str) -> Self:
        rate = None
        if known in OFFSETS:
            rate = np.clip(float(np.mean(self.censored)) + OFFSETS[known], 0.02, 0.95)
        return replace(
            self,
            censored=self.censored if known == "flags" else None,
            demand=self.demand if known == "truth" else None,
            rate=None if rate is None else float(rate),
            known=known,
            _kept={},
        )

    def once(self, make: Callable[[], Any]) -> Any:
        """Fit once what serves all levels."""
        if "fit" not in self._kept:
            self._kept["fit"] = make()
        return self._kept["fit"]

    def say(self, verdict: str, low: float, high: float) -> None:
        """Keep what a diagnosis said: whether the data can tell, and the share of hidden rows."""
        self._kept["said"] = verdict, round(float(low), 4), round(float(high), 4)

    @property
    def said(self) -> tuple[str, float, float] | None:
        return self._kept.get("said")


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows(Known):
    """Rows that get one model, and those whose decisions are evaluated.

    Attributes
    ----------
    X, X_test : ndarray of shape (n_rows, n_features), (n_test_rows, n_features)
    sales, dates, series : ndarray of shape (n_rows,)
    truth : ndarray of shape (n_test_rows,)
        Demand of the test rows.
    censored : ndarray of bool, rate : float, demand : ndarray
        None where they are not known.
    """

    X: np.ndarray
    sales: np.ndarray
    dates: np.ndarray
    series: np.ndarray
    X_test: np.ndarray
    truth: np.ndarray

    def read(self, decided: np.ndarray) -> np.ndarray:
        return decided


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel(Known):
    """Series up to an origin; orders of the coming days are evaluated.

    Attributes
    ----------
    names : tuple of str
    dates : ndarray of shape (n_days,)
    sales, censored, demand : ndarray of shape (n_series, n_days)
        Sales are NaN before a series began; the others are None where they are not known.
    coming : ndarray of shape (n_series, HORIZON)
        Demand of the coming days, NaN where it is not known or the shop was closed.
    """

    names: tuple[str, ...]
    dates: np.ndarray
    sales: np.ndarray
    coming: np.ndarray

    @cached_property
    def truth(self) -> np.ndarray:
        return self.coming[~np.isnan(self.coming)]

    def read(self, decided: np.ndarray) -> np.ndarray:
        return decided[~np.isnan(self.coming)]

    def table(self, observed: np.ndarray) -> pl.DataFrame:
        """One row for each series and day."""
        n_series, n_days = observed.shape
        columns = {
            "series": np.repeat(self.names, n_days),
            "date": np.tile(self.dates, n_series),
            "sales": observed.ravel(),
        }
        if self.censored is not None:
            columns["sold_out"] = self.censored.ravel()
        return pl.DataFrame(columns).filter(pl.col("sales").is_not_nan())


@dataclass(frozen=True, eq=False)
class Shop:
    """Demand of a shop that lives by the orders of a method."""

    names: tuple[str, ...]
    demand: np.ndarray
    first_day: datetime.date
    n_before: int
    stock_before: np.ndarray
    known: str = ""

    def told(self, known: str) -> Shop:
        return replace(self, known=known)


def sold(series: Series, policy: str) -> tuple[np.ndarray, np.ndarray]:
    """Sales and stock-outs of a series under an order policy; nothing is sold on closed days."""
    if policy == "hours":
        return series.sales, series.flags
    sales, flags = series.demand.copy(), np.zeros(series.demand.size, dtype=bool)
    if POLICIES[policy] is not None:
        days = np.flatnonzero(np.broadcast_to(series.open, sales.shape))
        order = history_orders(series.demand[days], series.dates[days], **POLICIES[policy])
        sales[days], flags[days] = censor(series.demand[days], order)
        if policy == "B":  # whole units: sold out when nothing was left
            flags[days] = series.demand[days] >= order
    return sales, flags


def _dummies(codes: np.ndarray) -> np.ndarray:
    return 1.0 * (codes[:, None] == np.unique(codes)[None, 1:])


def _features(series: Series, sales: np.ndarray, days: np.ndarray) -> np.ndarray:
    """Weekday, month (of a year or more), mean sales of the fortnight before, and other columns."""
    dates = series.dates[days].astype("datetime64[D]")
    weekday = (dates.astype(int) + 3) % 7
    month = dates.astype("datetime64[M]").astype(int) % 12
    past = sales[days]
    total = np.concatenate([[0.0], np.cumsum(past)])
    place = np.arange(past.size)
    start = np.maximum(place - 14, 0)
    recent = (total[place] - total[start]) / np.maximum(place - start, 1)
    columns = [each[days] for each in series.columns.values()]
    year = [_dummies(month)] if days.size >= 365 else []
    return np.column_stack([_dummies(weekday), *year, recent, *columns])


def _block(group: list[Series], policy: str) -> Rows:
    """Training and test rows of the series of one group, in order of time."""
    parts: dict[str, list[np.ndarray]] = {}
    for place, series in enumerate(group):
        sales, flags = sold(series, policy)
        days = np.flatnonzero(np.broadcast_to(series.open, sales.shape))[-DAYS:]
        X = _features(series, sales, days)
        warm_up = WARM_UP if policy != "hours" else 7
        keep = np.arange(days.size) >= warm_up
        train = np.arange(days.size) < warm_up + SHARE_TRAIN * (days.size - warm_up)
        sure = np.ones(days.size, dtype=bool) if series.sure is None else series.sure[days]
        each = {
            "X": X,
            "sales": sales[days],
            "demand": series.demand[days],
            "dates": series.dates[days],
            "censored": flags[days],
            "series": np.full(days.size, place),
            "train": train,
            "used": np.where(train, True, sure),
        }
        for name, values in each.items():
            parts.setdefault(name, []).append(values[keep])
    rows = {name: np.concatenate(several) for name, several in parts.items()}
    rows = {name: values[rows["used"]] for name, values in rows.items()}
    train, X = rows["train"], rows["X"]
    if len(group) > 1:
        X = np.column_stack([X, _dummies(rows["series"])])
    X = X[:, np.ptp(X[train], axis=0) > 0]
    kept = {name: rows[name][train] for name in ("sales", "demand", "dates", "censored", "series")}
    return Rows(X=X[train], X_test=X[~train], truth=rows["demand"][~train], **kept)


def _spread(items: list[Any], count: int) -> list[Any]:
    """So many of them, evenly spaced."""
    places = np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))
    return [items[place] for place in places]


def _simulated(policy: str, quick: bool) -> list[Rows]:
    """Distributions of known form, sold out on four of ten days or never (`unmet.simulate`)."""
    words = {"orders": "never"} if policy == "none" else {"orders": policy, "share": 0.4}
    blocks = []
    for family in FAMILIES[: 3 if quick else None]:
        for seed in range(1 if quick else 3):
            data = censoring_lab(family, n=900, n_test=900, seed=seed, **words)
            train, test = data.train, data.test
            blocks.append(
                Rows(
                    X=train.features,
                    sales=train.sales,
                    dates=train.dates,
                    series=train.category,
                    X_test=test.features,
                    truth=test.demand,
                    censored=train.demand > train.sales,
                    demand=train.demand,
                )
            )
    return blocks


@cache
def rows(name: str, policy: str, quick: bool) -> list[Rows]:
    """Blocks of rows, one for each series or group."""
    if name == "simulated":
        return _simulated(policy, quick)
    groups: dict[Any, list[Series]] = {}
    for series in DATASETS[name].load():
        groups.setdefault(series.name if series.group is None else series.group, []).append(series)
    count = (ROW_GROUPS if policy == "hours" else ROW_SERIES)[quick]
    return [_block(group, policy) for group in _spread(list(groups.values()), count)]


def _matrix(series: list[Series], values: list[np.ndarray], dates: np.ndarray) -> np.ndarray:
    """One row for each series, NaN where it has no day."""
    found = np.full((len(series), dates.size), np.nan)
    for row, one, each in zip(found, series, values, strict=True):
        row[np.searchsorted(dates, one.dates)] = each
    return found


@cache
def origins(name: str, policy: str, quick: bool) -> list[Panel]:
    """Histories up to several origins, the latest last; four weeks apart where there are years."""
    series = _spread(DATASETS[name].load(), PANEL_SERIES[quick])
    dates = np.unique(np.concatenate([one.dates for one in series]))
    made = [sold(one, policy) for one in series]
    sales = _matrix(series, [each[0] for each in made], dates)
    flags = _matrix(series, [each[1] for each in made], dates) == 1
    demand = _matrix(series, [one.demand for one in series], dates)
    known = [
        np.broadcast_to(one.open if one.sure is None else one.sure, one.dates.shape)
        for one in series
    ]
    truth = np.where(_matrix(series, known, dates) == 1, demand, np.nan)
    step = 4 * HORIZON if dates.size > 2 * HISTORY else HORIZON
    panels = []
    for back in reversed(range(ORIGINS[quick])):
        end = dates.size - HORIZON - back * step
        past = slice(max(end - HISTORY, 0), end)
        panels.append(
            Panel(
                names=tuple(one.name for one in series),
                dates=dates[past],
                sales=sales[:, past],
                coming=truth[:, end : end + HORIZON],
                censored=flags[:, past],
                demand=demand[:, past],
            )
        )
    return panels


@cache
def shop(name: str, policy: str, quick: bool) -> list[Shop]:
    """Eight weeks (four of short series) that orders near the mean cut, then weeks of its own."""
    series = _spread(DATASETS[name].load(), 4 if quick else 12)
    dates = np.unique(np.concatenate([one.dates for one in series]))
    demand = np.nan_to_num(_matrix(series, [one.demand for one in series], dates))
    n_before = 56
    if dates.size < 120:  # fresh food, whose units are normalised
        n_before, demand = 28, np.round(10 * demand)
    demand = demand[:, -(n_before + 7 * min(WEEKS[quick], (dates.size - n_before) // 7)) :]
    first = dates[-demand.shape[1]].astype("datetime64[D]").item()
    by_weekday = demand[:, :n_before].reshape(len(series), -1, 7).mean(axis=1)
    stock = np.round(1.05 * np.tile(by_weekday, n_before // 7))
    return [Shop(tuple(one.name for one in series), demand, first, n_before, stock)]
