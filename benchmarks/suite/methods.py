"""Methods: one function each, from what is known of past rows to decisions for test rows.

A new method is a function with `@on_rows` (or `@on_panels`) that says what it must be told. What
it gives is the α-quantile of demand, the order that costs least at the level α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import optimize, stats

from benchmarks.suite.scenarios import LEVELS, OFFSETS, Rows
from unmet import LatentBand, LinearDecision, Newsvendor

COSTS = {level: Newsvendor.at_level(level) for level in LEVELS}
SALES, ORACLE = "linear on sales", "linear on demand"


@dataclass(frozen=True)
class Method:
    name: str
    decide: Callable[[Any, float], np.ndarray]
    knows: tuple[str, ...]
    needs: str | None = None

    def missing(self) -> str:
        return f"{self.needs} is not installed" if self.needs and not find_spec(self.needs) else ""


ROWS: dict[str, Method] = {}


def on_rows(name: str, *knows: str, needs: str | None = None) -> Callable:
    """Add a method that decides for rows with features, told one of `knows` at a time."""

    def add(decide: Callable[[Rows, float], np.ndarray]) -> Callable[[Rows, float], np.ndarray]:
        ROWS[name] = Method(name, decide, knows, needs)
        return decide

    return add


# --- taking sales for demand, and simple corrections ----------------------------------------------


def _linear(X: np.ndarray, observed: np.ndarray, rows: Rows, level: float) -> np.ndarray:
    return LinearDecision(COSTS[level]).fit(X, observed).predict(rows.X_test)


@on_rows(SALES, "nothing")
def linear_on_sales(rows: Rows, level: float) -> np.ndarray:
    return _linear(rows.X, rows.sales, rows, level)


@on_rows(ORACLE, "truth")
def linear_on_demand(rows: Rows, level: float) -> np.ndarray:
    return _linear(rows.X, rows.demand, rows, level)


@on_rows("sold-out days × 1.15", "flags")
def factor_15(rows: Rows, level: float) -> np.ndarray:
    return _linear(rows.X, np.where(rows.censored, 1.15, 1.0) * rows.sales, rows, level)


@on_rows("sold-out days × 1.3", "flags")
def factor_30(rows: Rows, level: float) -> np.ndarray:
    return _linear(rows.X, np.where(rows.censored, 1.3, 1.0) * rows.sales, rows, level)


@on_rows("sold-out days dropped", "flags")
def dropped(rows: Rows, level: float) -> np.ndarray:
    kept = ~rows.censored
    return _linear(rows.X[kept], rows.sales[kept], rows, level)


@on_rows("all days × 1.15", *OFFSETS, "nothing")
def all_days(rows: Rows, level: float) -> np.ndarray:
    return 1.15 * _linear(rows.X, rows.sales, rows, level)


@on_rows("LightGBM quantile", "nothing", needs="lightgbm")
def lightgbm_quantile(rows: Rows, level: float) -> np.ndarray:
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(
        **{"objective": "quantile", "alpha": level, "n_estimators": 200, "learning_rate": 0.05},
        **{"num_leaves": 15, "random_state": 0, "n_jobs": 1, "verbose": -1},
    )
    return model.fit(rows.X, rows.sales).predict(rows.X_test)


@on_rows("conformal, Kaplan–Meier", "flags", "nothing")
def conformal(rows: Rows, level: float) -> np.ndarray:
    """Least squares, and the quantile of its errors on the last quarter of the training days.

    With flags these errors are censored too, and the quantile is that of Kaplan and Meier.
    """
    X, X_test = _with_ones(rows.X, rows.X_test)
    hidden = np.zeros(len(X), dtype=bool) if rows.censored is None else rows.censored
    late = rows.dates > np.sort(rows.dates)[int(0.75 * len(X))]
    early = ~late & ~hidden
    beta = np.linalg.lstsq(X[early], rows.sales[early], rcond=None)[0]
    error, hidden = (rows.sales - X @ beta)[late], hidden[late]
    order = np.lexsort((hidden, error))
    at_risk = np.arange(len(order), 0, -1)
    survival = np.cumprod(1.0 - ~hidden[order] / (at_risk + 1.0))
    reached = np.flatnonzero(survival <= 1 - level)
    return X_test @ beta + error[order][reached[0] if reached.size else -1]


# --- censored regressions by maximum likelihood, as a practitioner would write them ---------------


def _with_ones(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, size = X.mean(axis=0), X.std(axis=0)
    size = np.where(size > 0, size, 1.0)
    first, second = (
        np.column_stack([np.ones(len(each)), (each - mean) / size]) for each in (X, X_test)
    )
    return first, second


def _likelihood(rows: Rows, law: Any, logarithm: bool) -> Callable[[float], np.ndarray]:
    X, X_test = _with_ones(rows.X, rows.X_test)
    unit = rows.sales.std()
    point = rows.sales / unit
    if logarithm:
        point = np.log(np.maximum(point, point[point > 0].min() / 2))

    def minus(v: np.ndarray) -> float:
        z = v[-1] * point - X @ v[:-1]
        seen = law.logpdf(z) + np.log(v[-1])
        return -float(np.where(rows.censored, law.logsf(z), seen).sum())

    start = np.zeros(X.shape[1] + 1)
    start[0], start[-1] = point.mean() / point.std(), 1 / point.std()
    bounds = [(None, None)] * X.shape[1] + [(1e-6, None)]
    found = optimize.minimize(
        minus, start, method="L-BFGS-B", bounds=bounds, options={"maxfun": 100_000}
    ).x

    def quantile(level: float) -> np.ndarray:
        value = (X_test @ found[:-1] + law.ppf(level)) / found[-1]
        return unit * (np.exp(np.minimum(value, 50)) if logarithm else value)

    return quantile


@on_rows("Tobit", "flags")
def tobit(rows: Rows, level: float) -> np.ndarray:
    return rows.once("fit", lambda: _likelihood(rows, stats.norm, False))(level)


@on_rows("Weibull AFT", "flags")
def weibull(rows: Rows, level: float) -> np.ndarray:
    return rows.once("fit", lambda: _likelihood(rows, stats.gumbel_l, True))(level)


@on_rows("lognormal AFT", "flags")
def lognormal(rows: Rows, level: float) -> np.ndarray:
    return rows.once("fit", lambda: _likelihood(rows, stats.norm, True))(level)


# --- ours -----------------------------------------------------------------------------------------


def _flags(rows: Rows) -> dict[str, np.ndarray]:
    return {} if rows.censored is None else {"censored": rows.censored}


@on_rows("unmet, linear", "flags", *OFFSETS, "nothing")
def our_linear(rows: Rows, level: float) -> np.ndarray:
    def fit() -> dict[float, Any]:
        band = LatentBand(rows.rate, random_state=0)
        models = LinearDecision().fit_path(
            rows.X, rows.sales, costs=[*COSTS.values()], bands=band, **_flags(rows)
        )
        return dict(zip(COSTS, models, strict=True))

    return rows.once("fit", fit)[level].predict(rows.X_test)


@on_rows("unmet, distribution", "flags", *OFFSETS, "nothing")
def our_distribution(rows: Rows, level: float) -> np.ndarray:
    def fit() -> LatentBand:
        band = LatentBand(rows.rate, random_state=0)
        return band.fit(COSTS[level], rows.X, rows.sales, **_flags(rows))

    return rows.once("fit", fit).decision(rows.X_test, COSTS[level])
