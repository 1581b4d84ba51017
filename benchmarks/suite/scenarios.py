"""Scenarios: a set of demand × the order policy that hid some of it × what is known of it.

`rows` makes training and test rows with features, a model for each; `origins` makes panels, of
which the orders of the coming week are asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.suite.data import DATASETS, Series
from unmet.simulate import censor, censoring_lab, history_orders

LEVELS = (0.65, 0.75, 0.85, 0.95)
POLICIES = {
    "A": {"k": 4, "on": "demand", "round_up": False},
    "B": {"k": 4, "on": "sales", "factor": 1.15},
    "none": None,
    "hours": None,
}
"""Orders: mean demand of the last four same weekdays; 1.15 × their mean sales, rounded up; more
than enough; and whatever the shops did, where hours in stock tell what was missed."""
SCENARIOS = (
    *((name, policy) for policy in "AB" for name in ("bakery", "restaurant", "M5 foods")),
    ("fresh food", "hours"),
    ("simulated", "noisy"),
    *((name, "none") for name in ("bakery", "restaurant", "M5 foods", "simulated")),
)
OFFSETS = {"rate": 0.0, "rate +.15": 0.15, "rate -.15": -0.15}
KNOWN = ("truth", "flags", *OFFSETS, "nothing")
"""What a method is told; "truth" is for the oracle."""
WARM_UP, DAYS, SHARE_TRAIN = 28, 1000, 0.75
FAMILIES = ("normal", "gamma", "lognormal", "negative_binomial", "student")
SIZES = {True: {"series": 4, "groups": 8}, False: {"series": 24, "groups": 40}}
"""How many models a set has, in the quick form and in the full one."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that get one model, and those whose decisions are evaluated.

    Attributes
    ----------
    X, X_test : ndarray of shape (n_rows, n_features), (n_test_rows, n_features)
    sales, dates, series : ndarray of shape (n_rows,)
    demand_test : ndarray of shape (n_test_rows,)
    known : str
        One of `KNOWN`, which decides which of the following are there.
    censored : ndarray of bool or None
    rate : float or None
    demand : ndarray or None
    """

    X: np.ndarray
    sales: np.ndarray
    dates: np.ndarray
    series: np.ndarray
    X_test: np.ndarray
    demand_test: np.ndarray
    censored: np.ndarray | None
    demand: np.ndarray | None
    rate: float | None = None
    known: str = ""
    _kept: dict[Any, Any] = field(default_factory=dict)

    def told(self, known: str) -> Rows:
        """Only what is known."""
        share = float(np.mean(self.censored))
        rate = np.clip(share + OFFSETS[known], 0.02, 0.95) if known in OFFSETS else None
        return replace(
            self,
            censored=self.censored if known == "flags" else None,
            demand=self.demand if known == "truth" else None,
            rate=None if rate is None else float(rate),
            known=known,
            _kept={},
        )

    def once(self, name: Any, make: Any) -> Any:
        """Fit once what serves all levels."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]


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
    return Rows(X=X[train], X_test=X[~train], demand_test=rows["demand"][~train], **kept)


def _spread(items: list[Any], count: int) -> list[Any]:
    """So many of them, evenly spaced."""
    places = np.unique(np.linspace(0, len(items) - 1, min(count, len(items))).astype(int))
    return [items[place] for place in places]


def _simulated(policy: str, quick: bool) -> list[Rows]:
    """Distributions of known form, sold out on four of ten days or never (`unmet.simulate`)."""
    words = {"orders": "never"} if policy == "none" else {"orders": "noisy", "share": 0.4}
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
                    demand_test=test.demand,
                    censored=train.demand > train.sales,
                    demand=train.demand,
                )
            )
    return blocks


@cache
def rows(name: str, policy: str, quick: bool) -> list[Rows]:
    """All blocks of a scenario."""
    if name == "simulated":
        return _simulated(policy, quick)
    groups: dict[Any, list[Series]] = {}
    for series in DATASETS[name].load():
        groups.setdefault(series.name if series.group is None else series.group, []).append(series)
    count = SIZES[quick]["groups" if policy == "hours" else "series"]
    return [_block(group, policy) for group in _spread(list(groups.values()), count)]
