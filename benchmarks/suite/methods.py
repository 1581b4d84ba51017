"""Methods: one function each, from what is known of past rows to decisions for test rows.

A new method is a function with `@on_rows` (or `@on_panels`) that says what it must be told. What
it gives is the α-quantile of demand, the order that costs least at the level α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import optimize, stats

from benchmarks.suite.scenarios import HORIZON, LEVELS, OFFSETS, Panel, Rows, Shop
from unmet import LatentBand, LinearDecision, Newsvendor, OrderPlan
from unmet.inventory import StockState
from unmet.planning import DecisionLog
from unmet.simulate.shop import Seen
from unmet.tables.schema import Schema

COSTS = {level: Newsvendor.at_level(level) for level in LEVELS}
SALES, ORACLE = "linear on sales", "linear on demand"
PLAN, PLAN_ORACLE = "unmet plan", "unmet plan on demand"
YARDSTICKS = {
    "rows": (SALES, ORACLE),
    "plan": ("same weekdays", PLAN_ORACLE),
    "shop": ("same weekdays", PLAN_ORACLE),
}
"""By form: what takes sales for demand, and what is shown demand."""
WEEK = 7


@dataclass(frozen=True)
class Method:
    name: str
    decide: Callable[[Any, float], np.ndarray]
    knows: tuple[str, ...]
    needs: str | None = None
    full: tuple[str, ...] = ()  # of `knows`, what the quick form leaves out

    def missing(self) -> str:
        return f"{self.needs} is not installed" if self.needs and not find_spec(self.needs) else ""


METHODS: dict[str, dict[str, Method]] = {"rows": {}, "plan": {}, "shop": {}}
"""By the form of scenarios that they decide for."""


def method(form: str, name: str, *knows: str, **rest: Any) -> Callable:
    """Add a method for one form of scenarios, told one of `knows` at a time.

    On rows it takes `Rows` and a level and returns decisions for the test rows; for plans a `Panel`
    and a level, and returns orders of shape (n_series, HORIZON); for shops it takes a `Shop` and a
    level and returns a policy (`unmet.simulate.run_shop`).
    """

    def add(decide: Callable[[Any, float], Any]) -> Callable[[Any, float], Any]:
        METHODS[form][name] = Method(name, decide, knows, **rest)
        return decide

    return add


on_rows, on_panels, in_shops = (partial(method, form) for form in METHODS)


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
    return _trees(level).fit(rows.X, rows.sales).predict(rows.X_test)


def _trees(level: float) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        **{"objective": "quantile", "alpha": level, "n_estimators": 200, "learning_rate": 0.05},
        **{"num_leaves": 15, "random_state": 0, "n_jobs": 1, "verbose": -1},
    )


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
    return rows.once(lambda: _likelihood(rows, stats.norm, False))(level)


@on_rows("Weibull AFT", "flags")
def weibull(rows: Rows, level: float) -> np.ndarray:
    return rows.once(lambda: _likelihood(rows, stats.gumbel_l, True))(level)


@on_rows("lognormal AFT", "flags", full=("flags",))
def lognormal(rows: Rows, level: float) -> np.ndarray:
    return rows.once(lambda: _likelihood(rows, stats.norm, True))(level)


# --- ours -----------------------------------------------------------------------------------------


def _flags(rows: Rows) -> dict[str, np.ndarray]:
    return {} if rows.censored is None else {"censored": rows.censored}


@on_rows("unmet, linear", "flags", *OFFSETS, "nothing", full=(*OFFSETS, "nothing"))
def our_linear(rows: Rows, level: float) -> np.ndarray:
    def fit() -> dict[float, Any]:
        words = {"bands": LatentBand(rows.rate, random_state=0), **_flags(rows)}
        models = LinearDecision().fit_path(rows.X, rows.sales, costs=[*COSTS.values()], **words)
        return dict(zip(COSTS, models, strict=True))

    return rows.once(fit)[level].predict(rows.X_test)


def _distribution(rows: Rows, level: float, dates: bool = False, **options: Any) -> np.ndarray:
    def fit() -> LatentBand:
        band = LatentBand(rows.rate, random_state=0, **options)
        more = {"time": rows.dates, "series": rows.series} if dates else {}
        band.fit(COSTS[level], rows.X, rows.sales, **_flags(rows), **more)
        said = band.diagnosis_
        if said.share_range is not None:
            rows.say(said.identified, *said.share_range)
        return band

    return rows.once(fit).decision(rows.X_test, COSTS[level])


on_rows("unmet, distribution", "flags", *OFFSETS, "nothing")(_distribution)
on_rows("unmet, distribution, dates", "nothing")(partial(_distribution, dates=True))
for _way in ("least_censoring", "minimax_regret", "expected_cost"):
    _name = f"unmet, {_way.replace('_', ' ')}"
    _full = () if _way == "minimax_regret" else ("nothing",)
    on_rows(_name, "nothing", full=_full)(partial(_distribution, when_unidentified=_way))


# --- plans: orders of the coming week -------------------------------------------------------------


def _fitted(
    panel: Panel, level: float, model: str = "auto", lot: Any = None, log: Any = None
) -> OrderPlan:
    observed = panel.sales if panel.demand is None else panel.demand
    flags = "" if panel.censored is None else "sold_out"
    schema = Schema(date="date", series="series", sales="sales", sold_out=flags)
    words = {"sellout_rate": panel.rate, "model": model, "lot": lot, "n_jobs": 1}
    plan = OrderPlan(HORIZON, Newsvendor.at_level(level), schema=schema, **words)
    return plan.fit(panel.table(observed), log=log)


def _orders(panel: Panel, plan: OrderPlan) -> np.ndarray:
    table, place = plan.orders(), {name: row for row, name in enumerate(panel.names)}
    orders = np.zeros((len(panel.names), HORIZON))
    day = (table["date"].to_numpy() - panel.dates[-1]).astype("timedelta64[D]").astype(int) - 1
    orders[[place[each] for each in table["series"]], day] = table["order"].to_numpy()
    return orders


def _plan(panel: Panel, level: float, model: str = "auto") -> np.ndarray:
    plan = panel.once(lambda: _fitted(panel, level, model))
    return _orders(panel, plan.at(cost=Newsvendor.at_level(level)))


on_panels(PLAN, "flags", "rate", "nothing")(_plan)
on_panels(PLAN_ORACLE, "truth")(_plan)
for _member in ("smoothing", "linear", "boosted", "distribution", "seasonal"):
    _full = () if _member in ("smoothing", "linear", "boosted") else ("flags", "nothing")
    on_panels(f"unmet plan, {_member}", "flags", "nothing", full=_full)(
        partial(_plan, model=_member)
    )


@on_panels("same weekdays", "flags", "nothing")
def same_weekdays(panel: Panel, level: float) -> np.ndarray:
    """Quantile of the last eight same weekdays; with flags, of those that did not sell out."""
    hidden = np.zeros(panel.sales.shape, bool) if panel.censored is None else panel.censored
    orders = np.empty((len(panel.names), HORIZON))
    for day in range(HORIZON):
        past = panel.sales[:, day - WEEK :: -WEEK][:, :8]
        kept = np.where(hidden[:, day - WEEK :: -WEEK][:, :8], np.nan, past)
        kept = np.where(np.isnan(kept).all(axis=1, keepdims=True), np.nan_to_num(past), kept)
        orders[:, day] = np.nanquantile(kept, level, axis=1, method="higher")
    return orders


def _lags(values: np.ndarray, day: int, ahead: int) -> np.ndarray:
    """What is known of a day so many days before: same weekdays, recent means, the weekday."""
    known = values[:, : day - ahead + 1]
    same = values[:, [day - WEEK * week for week in range(1, 5)]]
    means = [np.nanmean(known[:, -span:], axis=1) for span in (7, 28)]
    parts = np.full((len(values), 2), (day % WEEK, ahead))
    return np.column_stack([same, *means, same.mean(axis=1), parts])


@on_panels("LightGBM quantile", "nothing", needs="lightgbm")
def lightgbm_lags(panel: Panel, level: float) -> np.ndarray:
    """One model of all series, each in units of its own mean."""
    scale = np.maximum(np.nanmean(panel.sales, axis=1, keepdims=True), 1e-9)
    values = np.column_stack([panel.sales / scale, np.full((len(scale), HORIZON), np.nan)])
    n_days = panel.sales.shape[1]
    past = [(day, 1 + day % HORIZON) for day in range(35, n_days)]
    X = np.concatenate([_lags(values, *each) for each in past])
    y = np.concatenate([values[:, day] for day, _ in past])
    model = _trees(level).fit(X[~np.isnan(y)], y[~np.isnan(y)])
    coming = [model.predict(_lags(values, n_days + day, 1 + day)) for day in range(HORIZON)]
    return np.column_stack(coming) * scale


def _statsforecast(panel: Panel, level: float, name: str) -> np.ndarray:
    """Upper end of the central interval whose upper tail is 1 − level."""
    import statsforecast
    from statsforecast import models

    central = {each: round(100 * (2 * each - 1)) for each in LEVELS}

    def fit() -> Any:
        table = panel.table(panel.sales).rename({"series": "unique_id", "date": "ds", "sales": "y"})
        frame = table.sort("unique_id", "ds").to_pandas()
        engine = statsforecast.StatsForecast([getattr(models, name)(season_length=WEEK)], "D")
        return engine.forecast(df=frame, h=HORIZON, level=list(central.values()))

    found = panel.once(fit).set_index("unique_id")[f"{name}-hi-{central[level]}"]
    return np.stack([found.loc[each].to_numpy() for each in panel.names])


for _name in ("AutoETS", "AutoTheta"):
    on_panels(_name, "nothing", needs="statsforecast")(partial(_statsforecast, name=_name))


# --- shops: orders that decide what is seen -------------------------------------------------------


class _Weekly:
    """Plan every week from what was seen, order what a day still lacks."""

    def __init__(self, shop: Shop, level: float, decide: Callable[[Panel, float], np.ndarray]):
        self.shop, self.level, self.decide = shop, level, decide
        self.oracle = shop.known == "truth"

    def learn(self, seen: Seen) -> None:
        known, n_before = self.shop.known, self.shop.n_before
        out = (seen.sold_out == 1) & (seen.stock > 0)  # of the days before its log nothing is known
        if known == "flags":
            stock = self.shop.stock_before
            out[:, :n_before] = (self.shop.demand[:, :n_before] >= stock) & (stock > 0)
        panel = Panel(
            names=self.shop.names,
            dates=np.datetime64(seen.first_day, "D") + np.arange(seen.n_periods),
            sales=seen.sales,
            coming=np.zeros((len(self.shop.names), HORIZON)),
            censored=out if known in ("flags", "log") else None,
            demand=seen.demand if self.oracle else None,
        )
        self.start, self.orders = seen.n_periods, self.decide(panel, self.level)

    def order(self, seen: Seen, state: StockState) -> np.ndarray:
        return np.maximum(self.orders[:, seen.n_periods - self.start] - state.position, 0.0)


@in_shops(PLAN, "flags", "log", "orders", "nothing")
@in_shops(PLAN_ORACLE, "truth")
def planning_shop(shop: Shop, level: float) -> _Weekly:
    """`unmet plan` with flags, its log, the file of its last orders, or nothing."""
    log: DecisionLog | None = None

    def decide(panel: Panel, level: float) -> np.ndarray:
        nonlocal log
        if shop.known == "log":  # what was ordered says which days sold out
            panel = replace(panel, censored=None)
        plan = _fitted(panel, level, lot="auto", log=log)
        if shop.known == "log":
            log = (log or DecisionLog(["series"])).suggested(plan.orders())
        elif shop.known == "orders":
            log = DecisionLog.of_orders(plan.orders(), ["series"], "date")
        return _orders(panel, plan)

    return _Weekly(shop, level, decide)


@in_shops("same weekdays", "log", "nothing")
def weekday_shop(shop: Shop, level: float) -> _Weekly:
    return _Weekly(shop, level, same_weekdays)


def _weekday_tobit(panel: Panel, level: float) -> np.ndarray:
    """A Tobit model of each series with weekdays."""
    n_days = panel.sales.shape[1]
    X = np.eye(WEEK)[np.arange(n_days + HORIZON) % WEEK][:, 1:]
    orders = []
    for sales, censored in zip(panel.sales, panel.censored, strict=True):
        words = dict.fromkeys(("dates", "series", "truth", "demand"))
        rows = Rows(X=X[:n_days], X_test=X[n_days:], sales=sales, censored=censored, **words)
        orders.append(tobit(rows, level))
    return np.stack(orders)


@in_shops("Tobit by weekday", "log")
def tobit_shop(shop: Shop, level: float) -> _Weekly:
    return _Weekly(shop, level, _weekday_tobit)
