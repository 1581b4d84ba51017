"""A shop in closed loop: what a policy orders decides what it sees, and learns from.

Every policy has the same demand and the same history, and then shelves of its own. Each period its
delivery arrives, demand comes, what is not there is lost or waits, leftovers are kept or spoil
(`Shelves`). What it sold and what there was to sell is all that it is shown
afterwards: a policy that takes sales for demand orders less after each day that it has sold out,
and the next day sells out again (Cooper, Homem-de-Mello & Kleywegt 2006).

All series and all policies pass through a period at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules
from unmet.inventory.rules import Shelves
from unmet.progress import Step
from unmet.simulate.base import YEAR, distribution, streams, weekday
from unmet.simulate.censoring_lab import WEEKDAY_EFFECTS
from unmet.validation import Number, OneOf, WholeNumber

if TYPE_CHECKING:
    import polars

FIRST_MONDAY = datetime.date(2018, 1, 1)
"""First period of a shop, unless another is given."""

_RECENT = 56  # periods of history that say what was on its way when the run begins
_ROUNDING = 1e-9  # a share of a lot that is no share


# --- what a policy sees, and what it is -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Seen:
    """What a policy has seen. Arrays have shape (n_series, n_periods_so_far).

    Attributes
    ----------
    sales : ndarray
        NaN before a series began. Where unmet demand waits, it is booked and counts as sold.
    stock : ndarray
        What was there to sell in each period; NaN where nobody wrote it down (history before the
        run), infinite where unmet demand waits and nothing is hidden.
    first_day : datetime.date
        Day, or first day of the week, of the first period.
    step : int
        1: periods are days, 7: weeks.
    n_before : int
        Periods of history before the first order of the run.
    features : mapping of str to ndarray of shape (n_series, n_periods_in_all)
        Known beforehand, for the coming periods too; may be empty.
    demand : ndarray or None
        The truth; only given to policies with `oracle = True`.
    seed : int
        To draw with; another in every period, the same for all policies.
    """

    sales: Array
    stock: Array
    first_day: datetime.date
    step: int
    n_before: int
    features: Mapping[str, Array] = field(default_factory=dict)
    demand: Array | None = None
    seed: int = 0

    @property
    def sold_out(self) -> Array:
        """1 where sales reached a recorded stock, 0 where not, NaN where stock is unknown."""
        return np.where(np.isnan(self.stock), np.nan, self.sales >= self.stock)

    @property
    def n_periods(self) -> int:
        """Periods so far; the next one has this number."""
        return int(self.sales.shape[1])


class Policy(Protocol):
    """A policy that places orders. With an attribute `oracle = True` it sees demand as well."""

    def learn(self, seen: Seen) -> None:
        """Learn from all that was seen; before the first order, and again after some periods."""
        ...

    def order(self, seen: Seen, state: StockState) -> Array:
        """Say what to order of each series, (n_series,); asked at every review."""
        ...


# --- what came of it ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ledger:
    """What came of a policy; arrays of shape (n_series, n_periods of the run).

    Attributes
    ----------
    cost : ndarray
        The sum of `parts`.
    parts : mapping of str to ndarray
        "holding", "shortage", "waste" and "ordering".
    orders : ndarray
        By the period before which they were placed.
    stock : ndarray
        Units there to be sold, after the delivery of the period.
    sales, lost : ndarray
        Demand that was met when it came up, and that was not; where it waits it is met later.
    left, spoiled : ndarray
        Units at the end that can still be sold, and that cannot any more.
    sold_out : ndarray of bool
        Whether sales reached the stock.
    """

    cost: Array
    parts: Mapping[str, Array]
    orders: Array
    stock: Array
    sales: Array
    lost: Array
    left: Array
    spoiled: Array
    sold_out: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ShopRun:
    """A run of several policies on the same demand.

    Attributes
    ----------
    demand : ndarray of shape (n_series, n_periods of the run)
    policies : mapping of str to Ledger
    first_day : datetime.date
        Of the first period of the run.
    step : int
    """

    demand: Array
    policies: Mapping[str, Ledger]
    first_day: datetime.date
    step: int

    def __getitem__(self, name: str) -> Ledger:
        return self.policies[name]

    def total(self, since: int = 0) -> polars.DataFrame:
        """One line for each policy.

        Parameters
        ----------
        since : int, default=0
            Period of the run from which on it counts, where the start is not to.

        Returns
        -------
        polars.DataFrame
            policy, cost, cost_per_unit (of demand), service_level (share of demand that was met
            when it came up), sell_out_rate (share of series and periods), waste (units spoiled, as
            a share of those sold or spoiled).
        """
        import polars as pl

        from_here = slice(WholeNumber(0, self.demand.shape[1] - 1)("since", since), None)
        return pl.DataFrame(
            [
                {"policy": name, **self._summary(kept, from_here)}
                for name, kept in self.policies.items()
            ]
        )

    def over_time(self, window: int = 28) -> polars.DataFrame:
        """One line for each policy and each window of so many periods; a rest at the end is one.

        Returns
        -------
        polars.DataFrame
            policy, start (first period of the window), day (its date), and what `total` has.
        """
        import polars as pl

        size, n_periods = WholeNumber(1)("window", window), self.demand.shape[1]
        return pl.DataFrame(
            [
                {
                    "policy": name,
                    "start": start,
                    "day": self.first_day + datetime.timedelta(days=start * self.step),
                    **self._summary(kept, slice(start, start + size)),
                }
                for name, kept in self.policies.items()
                for start in range(0, n_periods, size)
            ]
        )

    def _summary(self, kept: Ledger, periods: slice) -> dict[str, float]:
        cost = float(kept.cost[:, periods].sum())
        demand = float(self.demand[:, periods].sum())
        sold, spoiled = float(kept.sales[:, periods].sum()), float(kept.spoiled[:, periods].sum())
        return {
            "cost": cost,
            "cost_per_unit": cost / demand if demand > 0 else np.nan,
            "service_level": sold / demand if demand > 0 else 1.0,
            "sell_out_rate": float(kept.sold_out[:, periods].mean()),
            "waste": spoiled / (spoiled + sold) if spoiled > 0 else 0.0,
        }


# --- the loop -------------------------------------------------------------------------------------


def run_shop(
    demand: ArrayLike,
    policies: Mapping[str, Policy],
    rules: SupplyRules,
    *,
    n_before: int,
    history_stock: ArrayLike | None = None,
    history_recorded: bool = False,
    learn_every: int = 7,
    state: StockState | None = None,
    features: Mapping[str, ArrayLike] | None = None,
    first_day: datetime.date = FIRST_MONDAY,
    step: int = 1,
    seed: int = 0,
    progress: Step | None = None,
) -> ShopRun:
    """Let policies order for a shop, each seeing what its own orders left of demand.

    Parameters
    ----------
    demand : array-like of shape (n_series, n_periods)
        The truth. NaN in the history: the series had not begun, or was closed.
    policies : mapping of str to Policy
    rules : SupplyRules
        What is ordered is rounded up to lots and minima and cut at capacities.
    n_before : int
        Periods of history before the first order, the same for all policies.
    history_stock : array-like of shape (n_series, n_before), optional
        What there was to sell in the history; by default enough.
    history_recorded : bool, default=False
        Whether policies see that stock.
    learn_every : int, default=7
        Periods between two calls of `learn`.
    state : StockState, optional
        What is there and on its way at the first order. By default the shelves are empty, and in
        each period of the lead time arrives what was sold on average before.
    features : mapping of str to array-like of shape (n_series, n_periods), optional
        Known beforehand.
    first_day : datetime.date, default=2018-01-01
        A Monday.
    step : {1, 7}, default=1
        Whether periods are days or weeks.
    seed : int, default=0
        Of what policies draw: `Seen.seed` follows from it.
    progress : callable, optional
        Called with how many periods are done, of how many.

    Returns
    -------
    ShopRun

    Examples
    --------
    Orders of the mean hid much of demand; a policy that takes sales for demand never finds out:

    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.simulate import run_shop, shop_demand
    >>> class Quantile:
    ...     def __init__(self, oracle):
    ...         self.oracle = oracle
    ...
    ...     def learn(self, seen):
    ...         past = seen.demand if self.oracle else seen.sales
    ...         self.level = np.quantile(past[:, -84:], 0.9, axis=1)
    ...
    ...     def order(self, seen, state):
    ...         return np.maximum(self.level - state.position, 0.0)
    >>> demand, _ = shop_demand("gamma", 40, 300, seed=1)
    >>> rules = SupplyRules(shelf_life=1, shortage=9, holding=1)
    >>> before = np.repeat(demand[:, :60].mean(axis=1, keepdims=True), 60, axis=1)
    >>> policies = {"sales": Quantile(oracle=False), "oracle": Quantile(oracle=True)}
    >>> run = run_shop(demand, policies, rules, n_before=60, history_stock=before)
    >>> run.total()["sell_out_rate"].round(1).to_list()
    [0.4, 0.1]
    """
    truth, n_run = _read_demand(demand, n_before)
    n_series = truth.shape[0]
    if not policies:
        raise InvalidInput("policies must be at least one, got none.")
    every, n_policies = WholeNumber(1)("learn_every", learn_every), len(policies)
    known = {
        name: _like("features", value, truth.shape) for name, value in (features or {}).items()
    }
    day, days = _day(first_day), _step(step)
    lead = rules.whole("lead_time", n_series)
    review = rules.whole("review", n_series)
    waits = rules.unmet == "backordered"

    # (n_policies, n_series, n_periods): what one policy sees is one block
    sales = np.full((n_policies, *truth.shape), np.nan)
    stock = np.full((n_policies, *truth.shape), np.nan)
    before = _read_history(history_stock, n_series, n_before)
    sales[:, :, :n_before] = np.minimum(truth[:, :n_before], before)
    if history_recorded:
        stock[:, :, :n_before] = before
    begun = _start(sales[0, :, :n_before], lead) if state is None else state
    begun.check(rules, n_series)

    shelves = Shelves(np.repeat(begun.on_hand[:, None], n_policies, axis=1), rules)
    reach = max(int(lead.max()) + 1, begun.on_order.shape[1])
    coming = np.repeat(begun.arrivals(reach)[:, None], n_policies, axis=1)
    kept = {
        name: np.zeros((n_policies, n_series, n_run))
        for name in ("orders", "stock", "sales", "lost", "left", "spoiled", "cost", "short")
    }
    fixed = rules.rows("fixed", n_series)[:, None]
    seeds = np.random.SeedSequence(WholeNumber(0)("seed", seed)).generate_state(n_run)
    rows = np.arange(n_series)
    for period in range(n_run):
        now = n_before + period
        orders = np.zeros((n_series, n_policies))
        asked = period % review == 0
        for number, (name, policy) in enumerate(policies.items()):
            if not asked.any() and period % every:
                continue
            seen = Seen(
                _shown(sales[number, :, :now]),
                _shown(stock[number, :, :now]),
                day,
                days,
                n_before,
                MappingProxyType(known),
                _shown(truth[:, :now]) if getattr(policy, "oracle", False) else None,
                int(seeds[period]),
            )
            if period % every == 0:
                policy.learn(seen)
            if asked.any():
                there = StockState(shelves.on_hand[:, number], coming[:, number].copy())
                wanted = _read_order(name, policy.order(seen, there), n_series)
                orders[:, number] = np.where(asked, _orderable(wanted, rules), 0.0)
        coming[rows, :, lead] += orders
        shelves.deliver(coming[:, :, 0])
        coming = np.concatenate([coming[:, :, 1:], np.zeros_like(coming[:, :, :1])], axis=2)
        there_now = shelves.stock.sum(axis=-1)
        shelves.sell(np.repeat(truth[:, now, None], n_policies, axis=1))
        # sums of units by age are rounded: where demand was not met, all that was there was sold
        there_now = np.where(shelves.unmet > 0, shelves.sold, there_now)
        sales[:, :, now] = truth[:, now] if waits else shelves.sold.T
        stock[:, :, now] = np.inf if waits else there_now.T
        for name, value in (
            ("orders", orders),
            ("stock", there_now),
            ("sales", shelves.sold),
            ("lost", shelves.unmet),
            ("left", shelves.left),
            ("spoiled", shelves.spoiled),
            ("cost", shelves.cost() + fixed * (orders > 0)),
            ("short", shelves.owed if waits else shelves.unmet),
        ):
            kept[name][:, :, period] = value.T
        if progress is not None:
            progress(period + 1, n_run, "the shop is open")
    ledgers = {
        name: _ledger({key: value[number] for key, value in kept.items()}, rules)
        for number, name in enumerate(policies)
    }
    start = day + datetime.timedelta(days=n_before * days)
    return ShopRun(truth[:, n_before:], MappingProxyType(ledgers), start, days)


def _ledger(kept: dict[str, Array], rules: SupplyRules) -> Ledger:
    n_series = kept["cost"].shape[0]
    holding, shortage, waste, fixed = (
        rules.rows(name, n_series)[:, None] for name in ("holding", "shortage", "waste", "fixed")
    )
    parts = {
        "holding": holding * kept["left"],
        "shortage": shortage * kept.pop("short"),
        "waste": waste * kept["spoiled"],
        "ordering": fixed * (kept["orders"] > 0),
    }
    sold_out = kept["sales"] >= kept["stock"]
    return Ledger(parts=MappingProxyType(parts), sold_out=sold_out, **kept)


def _start(sales: Array, lead: NDArray[np.intp]) -> StockState:
    """Empty shelves, and on its way what was sold on average: shops do not begin with nothing."""
    recent = sales[:, -_RECENT:]
    known = ~np.isnan(recent)
    mean = np.where(known, recent, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    if (recent[known] == np.round(recent[known])).all():
        mean = np.round(mean)
    coming = mean[:, None] * (np.arange(int(lead.max())) < lead[:, None])
    return StockState(np.zeros(lead.size), coming)


def _orderable(wanted: Array, rules: SupplyRules) -> Array:
    """Whole lots and at least the minimum, at most the capacity."""
    n_series = wanted.size
    raised = np.where(wanted > 0, np.maximum(wanted, rules.rows("minimum", n_series)), 0.0)
    most = np.inf if rules.capacity is None else rules.rows("capacity", n_series)
    if rules.lot is not None:
        lot = rules.rows("lot", n_series)
        raised = np.ceil(raised / lot - _ROUNDING) * lot
        most = np.floor(most / lot + _ROUNDING) * lot
    return np.asarray(np.minimum(raised, most))


def _shown(values: Array) -> Array:
    """Give something to look at and not to write on."""
    view = values.view()
    view.flags.writeable = False
    return view


# --- reading --------------------------------------------------------------------------------------


def _read_demand(demand: ArrayLike, n_before: int) -> tuple[Array, int]:
    truth = np.array(demand, dtype=np.float64)
    if truth.ndim != 2 or not truth.size:
        raise InvalidInput(
            f"demand must have a row for each series and a column for each period, got shape "
            f"{truth.shape}."
        )
    before = WholeNumber(0)("n_before", n_before)
    if before >= truth.shape[1]:
        raise InvalidInput(
            f"n_before must leave at least one of {truth.shape[1]} periods, got {before}."
        )
    history, coming = truth[:, :before], truth[:, before:]
    bad = np.append((history < 0) | np.isinf(history), ~np.isfinite(coming) | (coming < 0), axis=1)
    if bad.any():
        raise InvalidInput(
            "demand must be finite and 0 or more, and NaN in the history alone, "
            f"got {truth[bad][0]:g}."
        )
    return truth, coming.shape[1]


def _like(name: str, value: ArrayLike, shape: tuple[int, int]) -> Array:
    found = np.array(value, dtype=np.float64)
    if found.shape != shape:
        raise InvalidInput(f"{name} must have shape {shape} like demand, got {found.shape}.")
    return _shown(found)


def _read_history(stock: ArrayLike | None, n_series: int, n_before: int) -> Array:
    if stock is None:
        return np.full((n_series, n_before), np.inf)
    found = np.asarray(stock, dtype=np.float64)
    if found.shape != (n_series, n_before):
        raise InvalidInput(
            f"history_stock must have shape {(n_series, n_before)}, got {found.shape}."
        )
    bad = np.isnan(found) | (found < 0)
    if bad.any():
        raise InvalidInput(f"history_stock must be 0 or more, got {found[bad][0]:g}.")
    return found


def _read_order(name: str, order: ArrayLike, n_series: int) -> Array:
    found = np.asarray(order, dtype=np.float64)
    if found.shape != (n_series,):
        raise InvalidInput(
            f"orders of policy {name!r} must be one number for each of {n_series:,} series, "
            f"got shape {found.shape}."
        )
    bad = ~np.isfinite(found) | (found < 0)
    if bad.any():
        raise InvalidInput(
            f"orders of policy {name!r} must be finite and 0 or more, got {found[bad][0]:g}."
        )
    return found


def _step(value: int) -> int:
    if value not in (1, 7):
        raise InvalidInput(f"step must be 1 for days or 7 for weeks, got {value!r}.")
    return int(value)


def _day(value: datetime.date) -> datetime.date:
    if not isinstance(value, datetime.date):
        raise InvalidInput(f"first_day must be a datetime.date, got {value!r}.")
    return value


# --- demand whose distribution is known
# --------------------------------------------------------------------

Quantile = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Distribution:
    """A distribution of demand: quantile of (level, mean, deviation), and its usual size."""

    quantile: Quantile
    level: float = 100.0
    spread: float = 0.25
    whole: bool = False
    by_level: bool = False


def family_quantile(name: Any, shape: float = 0.0) -> Quantile:
    """Quantile function of a family of `distribution`."""

    def quantile(level: Array, mean: Array, deviation: Array) -> Array:
        if name == "poisson":
            deviation = np.sqrt(mean)
        elif name == "negative_binomial":
            deviation = np.sqrt(mean + deviation**2)
        return np.asarray(distribution(name, mean, deviation, shape).ppf(level))

    return quantile


LEAST_LUCK = 2.0**-54  # 0 would be a demand of -∞
_IDLE = 0.55  # share of days without demand of intermittent counts


def _intermittent(level: Array, mean: Array, deviation: Array) -> Array:
    """No demand on most days; on the others 1 + Poisson, with the given mean of such days."""
    rest = np.maximum((level - _IDLE) / (1 - _IDLE), LEAST_LUCK)
    some = 1 + family_quantile("poisson")(rest, np.maximum(mean - 1, 0.05), deviation)
    return np.where(level <= _IDLE, 0.0, some)


SHOP_DISTRIBUTIONS: Mapping[str, Distribution] = MappingProxyType(
    {
        "poisson": Distribution(family_quantile("poisson"), level=20.0, whole=True, by_level=True),
        "negative binomial": Distribution(
            family_quantile("negative_binomial"), level=12.0, spread=0.35, whole=True, by_level=True
        ),
        "normal": Distribution(family_quantile("normal")),
        "gamma": Distribution(family_quantile("gamma"), spread=0.4, by_level=True),
        "lognormal": Distribution(family_quantile("lognormal"), spread=0.4, by_level=True),
        "intermittent": Distribution(_intermittent, level=3.0, whole=True, by_level=True),
    }
)
PATTERNS = ("weekday", "season", "trend", "shift", "promotion")

# shares of the level of a series
_LEVELS = 0.6  # standard deviation of its logarithm
_WEEK = 2.5  # times the effects of the censoring lab, which are those of a whole store
_SEASON = 0.3
_TREND = 0.4  # in a year, up or down
_SHIFT, _SHIFT_BETWEEN = 0.4, (0.3, 0.7)  # up or down, and when, as a share of all periods
_PROMOTION, _PROMOTED = 0.8, 0.1  # rise, and share of weeks
_LEAST = 0.1


def shop_demand(
    kind: str,
    n_series: int,
    n_periods: int,
    seed: int = 0,
    *,
    level: float | None = None,
    first_day: datetime.date = FIRST_MONDAY,
    step: int = 1,
) -> tuple[Array, dict[str, Array]]:
    """Draw demand of many series.

    Parameters
    ----------
    kind : str
        A distribution: "poisson", "negative binomial", "normal", "gamma", "lognormal" or
        "intermittent" (counts, nothing on 55% of days). Patterns may be added:
        "gamma+weekday+promotion". "weekday" is the same for all series, "season" has one peak a
        year, "trend" and "shift" (of the level, once) go up in some series and down in others,
        "promotion" raises weeks that are known beforehand.
    n_series, n_periods : int
    seed : int, default=0
    level : float, optional
        Typical mean of a series; series differ by a factor of about 2 either way. By default what
        is usual for the distribution, from 3 (intermittent, on days with demand) to 100.
    first_day : datetime.date, default=2018-01-01
    step : {1, 7}, default=1
        Days or weeks.

    Returns
    -------
    demand : ndarray of shape (n_series, n_periods)
    features : dict of str to ndarray of shape (n_series, n_periods)
        What is known beforehand: "promotion" where there is one. Series and periods that two kinds
        have in common share their luck.

    Examples
    --------
    >>> demand, features = shop_demand("poisson+promotion", 3, 200, seed=0)
    >>> demand.shape, sorted(features)
    ((3, 200), ['promotion'])
    """
    name, *patterns = (word.strip() for word in str(kind).split("+"))
    OneOf(*SHOP_DISTRIBUTIONS)("kind", name)
    for pattern in patterns:
        OneOf(*PATTERNS)(f"pattern in kind {kind!r}", pattern)
    days = _step(step)
    if days == 7 and "weekday" in patterns:
        raise InvalidInput(f"step must be 1 for a weekday pattern, got 7 with kind {kind!r}.")
    count, length = WholeNumber(1)("n_series", n_series), WholeNumber(1)("n_periods", n_periods)
    distribution = SHOP_DISTRIBUTIONS[name]
    usual = distribution.level if level is None else float(Number(above=0)("level", level))
    sizes, luck, paths, weeks = streams(
        np.random.SeedSequence([WholeNumber(0)("seed", seed), crc32(b"shop")]), 4
    )
    own = np.exp(_LEVELS * sizes.standard_normal(count))[:, None]
    signs = np.where(paths.random((count, 1)) < 0.5, -1.0, 1.0)
    when = length * np.interp(paths.random((count, 1)), (0.0, 1.0), _SHIFT_BETWEEN)
    peak = YEAR * paths.random((count, 1))

    period = np.arange(length)
    day = days * period
    dates = np.datetime64(_day(first_day), "D") + day
    effect = np.zeros((count, length))
    features = {}
    if "weekday" in patterns:
        effect += _WEEK * np.array(WEEKDAY_EFFECTS)[weekday(dates)]
    if "season" in patterns:
        effect += _SEASON * np.cos(2.0 * np.pi * (day - peak) / YEAR)
    if "trend" in patterns:
        effect += signs * _TREND * (day - day.mean()) / YEAR
    if "shift" in patterns:
        effect += signs * _SHIFT * (period >= when)
    if "promotion" in patterns:
        week = day // 7
        promoted = (weeks.random((int(week[-1]) + 1, count)).T < _PROMOTED)[:, week]
        effect += _PROMOTION * promoted
        features["promotion"] = promoted.astype(np.float64)
    share = own * np.maximum(1.0 + effect, _LEAST)
    mean = usual * share
    deviation = (
        usual
        * distribution.spread
        * (share if distribution.by_level else np.broadcast_to(own, share.shape))
    )
    drawn = luck.random((length, count)).T
    demand = distribution.quantile(np.maximum(drawn, LEAST_LUCK), mean, deviation)
    return np.maximum(demand, 0.0), features
