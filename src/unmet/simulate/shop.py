"""A shop in closed loop: the orders of a policy determine what it sees and learns from.

Every policy has the same demand and the same history, and shelves of its own. In each period its
delivery arrives and demand comes. Unmet demand is lost or waits, and leftovers are kept or spoil
(`Shelves`). Afterwards the policy sees only its sales and its stock. A policy that takes sales for
demand orders less after each stock-out, and sells out again (Cooper, Homem-de-Mello & Kleywegt
2006).

All series and all policies pass through a period at once.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules
from unmet.inventory.rules import Shelves
from unmet.validation import WholeNumber

FIRST_MONDAY = datetime.date(2018, 1, 1)
"""First period of a shop, unless another is given."""


# --- what a policy sees, and what it is -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Seen:
    """Everything that a policy has seen. Arrays have shape (n_series, n_periods_so_far).

    Attributes
    ----------
    sales : ndarray
        Sales; NaN before a series began. If unmet demand waits, it is booked and counts as sold.
    stock : ndarray
        Available stock of each period. NaN if it was not recorded (history before the run),
        infinite if unmet demand waits and nothing is hidden.
    first_day : datetime.date
        Day, or first day of the week, of the first period.
    step : int
        1 if periods are days, 7 if they are weeks.
    n_before : int
        Number of periods of history before the first order of the run.
    features : mapping of str to ndarray of shape (n_series, n_periods_in_all)
        Features known in advance, also for the coming periods; may be empty.
    demand : ndarray or None
        The truth, only for policies with `oracle = True`.
    seed : int
        Seed for the policy: another one in every period, the same for all policies.

    Examples
    --------
    >>> import datetime
    >>> import numpy as np
    >>> from unmet.simulate.shop import Seen
    >>> sales, stock = np.array([[3.0, 5.0]]), np.array([[6.0, 5.0]])
    >>> seen = Seen(sales, stock, datetime.date(2024, 1, 1), step=1, n_before=0)
    >>> seen.sold_out, seen.n_periods
    (array([[0., 1.]]), 2)
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
        """Flags: 1 if sales reached a recorded stock, 0 if not, NaN if stock is unknown."""
        return np.where(np.isnan(self.stock), np.nan, self.sales >= self.stock)

    @property
    def n_periods(self) -> int:
        """Number of periods so far, which is the position of the next one."""
        return int(self.sales.shape[1])


class Policy(Protocol):
    """Interface of a policy that places orders.

    With an attribute `oracle = True` the policy sees demand as well. Any class with these two
    methods is a policy; you need not derive from this one.

    Examples
    --------
    >>> import numpy as np
    >>> class OrderTheMean:
    ...     def learn(self, seen):
    ...         self.level = np.nanmean(seen.sales, axis=1)
    ...
    ...     def order(self, seen, state):
    ...         return np.maximum(self.level - state.position, 0.0)
    """

    def learn(self, seen: Seen) -> None:
        """Learn from everything seen; called before the first order and then every few periods.

        Parameters
        ----------
        seen : Seen
            Sales and stock so far.
        """
        ...

    def order(self, seen: Seen, state: StockState) -> Array:
        """Give the order of each series, (n_series,); called at every review.

        Parameters
        ----------
        seen : Seen
            Sales and stock so far.
        state : StockState
            Stock on hand and on its way.
        """
        ...


# --- what came of it ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShopRun:
    """Result of several policies on the same demand.

    Attributes
    ----------
    demand : ndarray of shape (n_series, n_periods of the run)
        The demand of the run.
    policies : mapping of str to namespace
        Results of each policy, arrays of shape (n_series, n_periods of the run). ``cost`` is the
        cost of holding, shortage, waste and ordering together. ``orders`` are listed by the period
        before which they were placed. ``stock`` is the available stock after the delivery of the
        period. ``sales`` and ``lost`` are demand that was met at once, and that was not (if it
        waits, it is met later). ``left`` and ``spoiled`` are units at the end that can still be
        sold, and that cannot. ``sold_out`` is whether sales reached the stock.
    first_day : datetime.date
        Day of the first period of the run.
    step : int
        1 if periods are days, 7 if they are weeks.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.simulate import run_shop
    >>> class Always:
    ...     def learn(self, seen):
    ...         pass
    ...
    ...     def order(self, seen, state):
    ...         return np.full(len(seen.sales), 5.0)
    >>> run = run_shop(np.full((1, 30), 5.0), {"five": Always()}, SupplyRules(), n_before=10)
    >>> run.total()["service_level"].to_list()
    [1.0]
    """

    demand: Array
    policies: Mapping[str, Any]
    first_day: datetime.date
    step: int

    def __getitem__(self, name: str) -> Any:
        return self.policies[name]

    def total(self, since: int = 0) -> pl.DataFrame:
        """Summarise the run, one row for each policy.

        Parameters
        ----------
        since : int, default=0
            First period of the run that counts. Larger values leave out the start.

        Returns
        -------
        polars.DataFrame
            policy, cost, cost_per_unit (of demand), service_level (share of demand that was met at
            once), sell_out_rate (share of series and periods), waste (spoiled units as a share of
            units sold or spoiled).
        """
        first = WholeNumber(0, self.demand.shape[1] - 1)("since", since)
        return self._summaries([slice(first, None)]).drop("start", "day")

    def over_time(self, window: int = 28) -> pl.DataFrame:
        """Summarise the run, one row for each policy and window of periods.

        Parameters
        ----------
        window : int, default=28
            Number of periods in a window. The last window may be shorter.

        Returns
        -------
        polars.DataFrame
            policy, start (first period of the window), day (its date), and the columns of `total`.
        """
        size = WholeNumber(1)("window", window)
        starts = range(0, self.demand.shape[1], size)
        return self._summaries([slice(start, start + size) for start in starts])

    def _summaries(self, parts: list[slice]) -> pl.DataFrame:
        lines = []
        for name, kept in self.policies.items():
            for part in parts:
                day = self.first_day + datetime.timedelta(days=part.start * self.step)
                head = {"policy": name, "start": part.start, "day": day}
                lines.append({**head, **self._summary(kept, part)})
        return pl.DataFrame(lines)

    def _summary(self, kept: Any, periods: slice) -> dict[str, float]:
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
    learn_every: int = 7,
    state: StockState | None = None,
    features: Mapping[str, ArrayLike] | None = None,
    first_day: datetime.date = FIRST_MONDAY,
    step: int = 1,
    seed: int = 0,
) -> ShopRun:
    """Let policies order for a shop, each of which sees only its own sales and stock.

    Parameters
    ----------
    demand : array-like of shape (n_series, n_periods)
        The truth. NaN in the history means that the series had not begun, or was closed.
    policies : mapping of str to Policy
        Policies by name.
    rules : SupplyRules
        Rules of supply. Orders are rounded up to lots and minima, and cut at capacities.
    n_before : int
        Number of periods of history before the first order, the same for all policies.
    history_stock : array-like of shape (n_series, n_before), optional
        Available stock in the history, which policies do not see. None is enough stock.
    learn_every : int, default=7
        Number of periods between two calls of `learn`. Smaller values adapt faster and take longer.
    state : StockState, optional
        Stock at the first order. None is empty shelves, and in each period of the lead time a
        delivery of the earlier mean sales.
    features : mapping of str to array-like of shape (n_series, n_periods), optional
        Features known in advance.
    first_day : datetime.date, default=2018-01-01
        Day of the first period; the default is a Monday.
    step : {1, 7}, default=1
        Whether periods are days or weeks.
    seed : int, default=0
        Seed from which `Seen.seed` follows.

    Returns
    -------
    ShopRun
        Costs, orders, stock and sales of each policy.

    Examples
    --------
    In the history, stock was the mean demand. A policy that takes sales for demand never recovers:

    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.simulate import run_shop
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
    >>> demand = np.random.default_rng(0).gamma(6.0, 16.0, size=(40, 300))
    >>> rules = SupplyRules(shelf_life=1, shortage=9, holding=1)
    >>> before = np.full((40, 60), demand.mean())
    >>> policies = {"sales": Quantile(oracle=False), "oracle": Quantile(oracle=True)}
    >>> run = run_shop(demand, policies, rules, n_before=60, history_stock=before)
    >>> run.total()["sell_out_rate"].round(1).to_list()
    [0.4, 0.1]
    """
    truth = np.array(demand, dtype=np.float64)
    if truth.ndim != 2 or not truth.size:
        raise InvalidInput(
            f"demand must have a row for each series and a column for each period, got shape "
            f"{truth.shape}."
        )
    n_series = truth.shape[0]
    n_run = truth.shape[1] - WholeNumber(0, truth.shape[1] - 1)("n_before", n_before)
    if not (np.isfinite(truth[:, n_before:]).all() and np.nanmin(truth) >= 0):
        raise InvalidInput("demand must be finite and 0 or more, and NaN in the history alone.")
    if not policies:
        raise InvalidInput("policies must be at least one, got none.")
    every, n_policies = WholeNumber(1)("learn_every", learn_every), len(policies)
    known = {
        name: _shown(_shaped(name, value, truth.shape, -np.inf))
        for name, value in (features or {}).items()
    }
    if step not in (1, 7):
        raise InvalidInput(f"step must be 1 for days or 7 for weeks, got {step!r}.")
    lead = rules.leads(n_series, n_run)  # of the order of each period, where they vary
    review = rules.whole("review", n_series)
    waits = rules.unmet == "backordered"

    # (n_policies, n_series, n_periods): what one policy sees is one block
    sales = np.full((n_policies, *truth.shape), np.nan)
    stock = np.full((n_policies, *truth.shape), np.nan)
    ample = np.full((n_series, n_before), np.inf)
    before = _shaped(
        "history_stock", ample if history_stock is None else history_stock, ample.shape
    )
    sales[:, :, :n_before] = np.minimum(truth[:, :n_before], before)
    usual = rules.whole("lead_time", n_series)
    begun = _start(sales[0, :, :n_before], usual) if state is None else state
    begun.check(rules, n_series)

    shelves = Shelves(np.repeat(begun.on_hand[:, None], n_policies, axis=1), rules)
    reach = max(int(lead.max()) + 1, begun.on_order.shape[1])
    coming = np.repeat(begun.arrivals(reach)[:, None], n_policies, axis=1)
    kept = {
        name: np.zeros((n_policies, n_series, n_run))
        for name in ("orders", "stock", "sales", "lost", "left", "spoiled", "cost")
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
                first_day,
                step,
                n_before,
                MappingProxyType(known),
                _shown(truth[:, :now]) if getattr(policy, "oracle", False) else None,
                int(seeds[period]),
            )
            if period % every == 0:
                policy.learn(seen)
            if asked.any():
                there = StockState(shelves.on_hand[:, number], coming[:, number].copy())
                wanted = _shaped(f"orders of {name!r}", policy.order(seen, there), (n_series,))
                orders[:, number] = np.where(asked, _orderable(wanted, rules), 0.0)
        coming[rows, :, lead[:, period]] += orders
        shelves.deliver(coming[:, :, 0])
        coming = np.concatenate([coming[:, :, 1:], np.zeros_like(coming[:, :, :1])], axis=2)
        there_now = shelves.stock.sum(axis=-1)
        shelves.sell(np.repeat(truth[:, now, None], n_policies, axis=1))
        # sums of units by age are rounded: where demand was not met, all that was there was sold
        there_now = np.where(shelves.unmet > 0, shelves.sold, there_now)
        sales[:, :, now] = truth[:, now] if waits else shelves.sold.T
        stock[:, :, now] = np.inf if waits else there_now.T
        seen_now = orders, there_now, shelves.sold, shelves.unmet, shelves.left, shelves.spoiled
        paid = shelves.cost() + fixed * (orders > 0)
        for each, value in zip(kept.values(), (*seen_now, paid), strict=True):
            each[:, :, period] = value.T
    ledgers = {
        name: SimpleNamespace(
            **{key: value[number] for key, value in kept.items()},
            sold_out=kept["sales"][number] >= kept["stock"][number],
        )
        for number, name in enumerate(policies)
    }
    start = first_day + datetime.timedelta(days=n_before * step)
    return ShopRun(truth[:, n_before:], MappingProxyType(ledgers), start, step)


def _start(sales: Array, lead: NDArray[np.intp]) -> StockState:
    """Empty shelves, and on its way what was sold on average: shops do not begin with nothing."""
    recent = sales[:, -56:]  # eight weeks say what was on its way
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
        raised = np.ceil(raised / lot - 1e-9) * lot  # less than that is no share of a lot
        most = np.floor(most / lot + 1e-9) * lot
    return np.asarray(np.minimum(raised, most))


def _shown(values: Array) -> Array:
    """Give something to look at and not to write on."""
    view = values.view()
    view.flags.writeable = False
    return view


def _shaped(name: str, value: ArrayLike, shape: tuple[int, ...], least: float = 0.0) -> Array:
    """Read numbers of a shape, none of them missing or below the least."""
    found = np.array(value, dtype=np.float64)
    if found.shape != shape or not (found >= least).all():
        raise InvalidInput(
            f"{name} must be numbers of at least {least:g} and of shape {shape}, "
            f"got shape {found.shape} or others."
        )
    return found
