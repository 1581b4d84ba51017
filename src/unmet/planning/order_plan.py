"""From a sales history to orders: for the coming days, or to replenish stock.

`OrderPlan` infers the columns of a table, forecasts the demand of coming days and its spread
(`DemandForecast`), and orders: for every series and coming day, or, with supply rules, the quantity
that each series needs now given its stock on hand and on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.censoring.hours.demand import HourlyDemand
from unmet.censoring.latent.sellout import ANY_RATE, RateRange, SelloutProfile, read_rate
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput, Note, Unsupported
from unmet.estimators.base import one_blas_thread
from unmet.inventory import SupplyRules, order_up_to, replenish
from unmet.inventory.orders import MAX_REVIEWS, Replenishment
from unmet.persistence import save
from unmet.planning import replenishment
from unmet.planning.candidates import (
    BLOCK,
    CANDIDATES,
    DRIVERS,
    DemandForecast,
    TrainingSet,
    hashes_of,
)
from unmet.planning.candidates import drivers as drivers_of
from unmet.planning.decision_log import DecisionLog, Overrides
from unmet.planning.history import History
from unmet.planning.on_dask import fit_on_dask, is_dask, on_workers, write_orders
from unmet.planning.stockouts import VIEWS, infer_stockouts, without_few_flags
from unmet.progress import Step, silent
from unmet.tables.dates import LENGTH, PERIODS, period_date
from unmet.tables.forms import DUPLICATES, SalesTable, read_sales, refuse_senseless
from unmet.tables.panel import (
    GAPS,
    Panel,
    Places,
    among,
    keys_of,
    read_panel_and_facts,
    refuse_absurd,
)
from unmet.tables.reading import as_polars, kind_of, like_table, require_columns
from unmet.tables.schema import Schema
from unmet.validation import ErrorCollector, Instance, Number, OneOf, WholeNumber

SERVICE_LEVEL = 0.9
"""What is planned for where no cost is given: demand is met on nine days of ten."""
MAX_ORDER = 3.0
"""Orders of a period are at most so many times the largest demand of the series; of a series that
is short, of similar ones."""
ORDER_COLUMNS = (
    *("order", "usual_sales", "hidden_demand", "safety", "based_on", "outside_data"),
    *("low", "high"),
)
"""Columns of a table of orders, after those of the series and the date; some of them where they are
asked for."""


class OrderPlan(BaseEstimator):
    """Orders from a table of past sales: for the coming days, or to replenish stock.

    Parameters
    ----------
    horizon : int, default=7
        Number of days that orders are for (weeks, if the table has one row a week). Ignored with
        `supply`.
    cost : Newsvendor, default=None
        Cost of a missing unit and of a leftover unit. `Newsvendor.at_level` stands for a service
        level, the share of days on which demand is met; larger levels give larger orders. None is a
        service level of 0.9.
    lead_time : int, default=0
        Days between the last known day and the first day that orders are for. Longer lead times
        make forecasts less certain, and so change orders.
    lot : float, None or "auto", default="auto"
        Orders are multiples of it. None keeps fractions. "auto" is 1 if all sales are whole
        numbers, and None otherwise.
    supply : SupplyRules, default=None
        Rules of supply, if stock lasts: lead time, review, shelf life, costs of holding and
        shortage, lots. The plan then gives one order per series, given its stock on hand
        (`Schema.on_hand`) and on its way. Numbers of the rules may be names of columns. None orders
        for single days.
    schema : Schema, default=None
        Columns of the table by their meaning. The plan infers the fields that you do not give
        (`unmet.planning.infer_schema`).
    sellout_rate : float or (float, float), default=None
        Share of days that sold out, if neither flags nor stock show which. Larger rates give larger
        orders: those of least expected cost over everything that such days may have hidden
        (`unmet.censoring.latent.sellout`). A range uses all its rates, and the table of orders
        shows the orders of both ends. If you give nothing and nothing shows which days sold out,
        the plan allows rates from 0 to 60%, with most weight on 0. The rate 0 takes sales for
        demand.
    model : str or sequence of str, default="auto"
        Forecasting model: "seasonal", "smoothing", "linear", "distribution", "neural", "boosted",
        or several to average. "auto" and "blend" average smoothing, the linear model and boosted
        trees, without a member that clearly makes held-out forecasts worse.
    country : str, default=None
        Code of a country whose public holidays are features, such as "DE"; needs the package
        ``holidays``. None uses no holidays.
    max_series : int, default=5,000
        Largest number of series from which shared parts are learned: coefficients, trees, the
        spread of demand, the week. Smaller values are faster. If there are more series, the plan
        samples them by `random_state`; the others use the shared parts and their own history.
        Ignored with `supply`, `log` or `hours`.
    random_state : int, default=0
        Seed of models, draws and samples.
    n_jobs : int, default=None
        Threads of boosted trees. None is one. Orders do not depend on it.

    Attributes
    ----------
    schema_ : Schema
        The complete schema.
    cost_ : Newsvendor
        The cost; with `supply` that of the median series.
    notes_ : tuple of str
        Findings about the table, one sentence each.
    panel_ : Panel
        Sales by series and day.
    n_rows_ : int
        Number of rows of the table.
    order_table_ : polars.DataFrame
        Table of orders, as `orders` gives it.
    demand_ : ndarray of shape (n_series, n_days) or None
        Sales, with the expected demand of days that sold out; None if no day was imputed.
    inferred_ : str
        Why days are taken as sold out although no column shows it, in one sentence; empty
        otherwise.
    overrides_ : Overrides or None
        Cost or saving of changed suggestions, if `fit` was given a log.
    choice_ : ModelChoice
        The forecasting model, and the cost of each candidate on held-out days.
    members_ : tuple of PanelModel
        The models whose forecasts are averaged.
    expected_ : ndarray of shape (n_series, n_periods)
        Expected demand of the coming periods.
    distribution_ : DemandDistribution
        Spread of demand around its expectation.
    reached_ : float or None
        Share of held-out days on which such orders would have met demand (or sales, if nothing
        shows which days sold out). Not with `supply`.
    targets_ : tuple of ndarray
        Series, day and gap of each order, as positions in the panel. Not with `supply`.
    rate_ : RateRange or None
        Sell-out rates that orders assume. Not with `supply`.
    rules_ : SupplyRules
        With `supply`: its numbers, by series.
    state_ : StockState
        With `supply`: stock on hand and on its way.
    replenishment_ : Replenishment
        With `supply`: orders, and the stock that they lead to.
    checked_ : tuple of float or None
        With `supply`: number of stocks expected to run out on held-out periods, number that did,
        and number of all; None if the history is too short.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import Newsvendor, OrderPlan
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.planning import example
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, cost=Newsvendor.at_level(0.8), model="linear").fit(sales)
    >>> plan.schema_.series, plan.schema_.sold_out
    (('dish',), 'sold_out')
    >>> plan.orders().columns
    ['dish', 'date', 'order', 'usual_sales', 'hidden_demand', 'safety', 'based_on', 'outside_data']
    >>> plan.orders().height
    4
    >>> rules = SupplyRules(lead_time=2, holding=1, shortage=4)
    >>> OrderPlan(supply=rules).fit(sales).orders().columns[:5]
    ['dish', 'order', 'arrives', 'on_hand', 'on_order']
    """

    def __init__(
        self,
        horizon: int = 7,
        cost: Newsvendor | None = None,
        *,
        lead_time: int = 0,
        lot: float | str | None = "auto",
        supply: SupplyRules | None = None,
        schema: Schema | None = None,
        sellout_rate: float | tuple[float, float] | None = None,
        model: str | Sequence[str] = "auto",
        country: str | None = None,
        max_series: int = 5_000,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.horizon = horizon
        self.cost = cost
        self.lead_time = lead_time
        self.lot = lot
        self.supply = supply
        self.schema = schema
        self.sellout_rate = sellout_rate
        self.model = model
        self.country = country
        self.max_series = max_series
        self.random_state = random_state
        self.n_jobs = n_jobs

    notes_: tuple[str, ...]
    _is_part = False  # of the orders of a larger table
    _sample: tuple[Panel, Places] | None = None
    _span: tuple[Any, Any] | None = None
    _on_dask: Any = None  # the table of which a sample was learned from
    _pooled: DemandForecast | None = None

    def check(self) -> Newsvendor:
        """Validate all parameters, raise one error that lists every problem; return the cost."""
        wrong = ErrorCollector()
        ask = wrong.ask
        ask(WholeNumber(1, 366), "horizon", self.horizon)
        ask(WholeNumber(0, 366), "lead_time", self.lead_time)
        for name, kind in (("cost", Newsvendor), ("supply", SupplyRules), ("schema", Schema)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                wrong.sentences.append(f"{name} must be a {kind.__name__}, got {value!r:.60}.")
        if isinstance(self.schema, Schema):
            ask(OneOf(*GAPS), "gaps", self.schema.gaps)
            ask(OneOf(*DUPLICATES), "duplicates", self.schema.duplicates)
            if self.schema.period is not None:
                ask(OneOf(*PERIODS), "period", self.schema.period)
        ask(WholeNumber(10), "max_series", self.max_series)
        ask(WholeNumber(0, 2**32 - 2), "random_state", self.random_state)
        if self.lot not in ("auto", None):
            ask(Number(above=0), "lot", self.lot)
        ask(self._names)
        ask(read_rate, self.sellout_rate)
        if isinstance(self.supply, SupplyRules):
            for name, default in (("lead_time", 0), ("lot", "auto"), ("sellout_rate", None)):
                if getattr(self, name) != default:
                    where = "set it there" if hasattr(self.supply, name) else "leave it out"
                    wrong.sentences.append(f"{name} must not be given with supply: {where}.")
            if self.supply.costs_given and self.cost is not None:
                wrong.sentences.append(
                    "cost must not be given with costs of supply: leave one out."
                )
        wrong.tell()
        cost = Newsvendor.at_level(SERVICE_LEVEL) if self.cost is None else self.cost
        if np.ndim(cost.level):
            raise InvalidInput("cost must be the same for all orders, got one cost per row.")
        return cost

    def columns(self, table: Any) -> Schema:
        """Infer the schema of a table, without learning anything.

        The stock at the end of a period (`Schema.on_hand`) is not the stock at its beginning. If no
        column shows which periods sold out, those whose final stock is 0 did.

        Parameters
        ----------
        table : table
            As for `fit`.

        Returns
        -------
        Schema
            The complete schema.
        """
        return self.read(table).schema

    def read(self, table: Any, future: Any = None) -> SalesTable:
        """Convert a table of any form to one row per series and period, without learning.

        Parameters
        ----------
        table : table
            As for `fit`.
        future : table, optional
            As for `fit`.
        """
        if isinstance(table, SalesTable):
            return table
        given = self.schema or Schema()
        told = () if future is None else as_polars(future).columns
        if self.supply is None:
            found = read_sales(table, replace(given, on_hand=None), told=told)
            found.schema.refuse_taken(ORDER_COLUMNS)
            return found
        found = read_sales(table, given, told=told, beside=set(self.supply.columns.values()))
        schema = found.schema
        schema.refuse_taken((*replenishment.ORDER_COLUMNS, *replenishment.OTHER_COLUMNS))
        if given.on_hand and not (schema.sold_out or schema.stock or given.sold_out == ""):
            schema = schema.with_sold_out(replenishment.EMPTY)
        return replace(found, schema=schema)

    def with_flags(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add flags to a table whose final stocks show which periods sold out."""
        if self.schema_.sold_out != replenishment.EMPTY:
            return rows
        return replenishment.with_flags(rows, self.schema_)

    def fit(
        self,
        table: Any,
        *,
        future: Any = None,
        on_order: Any = None,
        deliveries: Any = None,
        log: DecisionLog | None = None,
        hours: HourlyDemand | None = None,
        force: bool = False,
        progress: Step | None = None,
    ) -> Self:
        """Learn from a table of pandas, polars or pyarrow, and order.

        Parameters
        ----------
        table : table
            One row for each series and day, week or month; or another form that `read` knows, such
            as one column per month, or order lines.
        future : table, optional
            Known values of coming days: the date, some or all columns of the series, and columns
            that `table` has as well, such as prices. Series that only it has are new.
        on_order : table, optional
            With `supply`, orders on their way: the columns of the series, the date of arrival
            (named like the dates of the table, or ``arrives``), and units (one numeric column, or
            ``order``). A table from `orders` is such a table.
        deliveries : table, optional
            With `supply`, past deliveries, from which lead times are learned for each series: the
            columns of the series, and the dates ``ordered`` and ``received``; ``units`` are
            weights.
        log : DecisionLog, optional
            Earlier suggestions, decisions and deliveries. Days whose stock it shows are then known
            to have sold out or not, unless a column of the table shows it. With `supply`, orders in
            the log that arrive after the last row are taken as on their way, except for series in
            `on_order`. An order that would arrive together with the new one is decided again. The
            log then does not show which periods sold out, because a delivery is not the whole
            stock.
        hours : HourlyDemand, optional
            Estimates from hourly sales of the same days, from `detect_stockouts` or `recover` of
            `unmet.censoring.hours`: how likely each day sold out, and how much it lost.
        force : bool, default=False
            Whether to plan although the table or the orders look wrong, and to believe sales that
            look mistyped.
        progress : callable, optional
            Called as ``progress(done, total, doing)`` during the work. None reports nothing.

        Returns
        -------
        OrderPlan
            Itself.
        """
        if on_order is not None and self.supply is None:
            raise InvalidInput("on_order needs supply, the rules of replenishment: add supply=.")
        if deliveries is not None and (self.supply is None or np.any(self.supply.lead_time != 0)):
            raise InvalidInput(
                "deliveries needs supply rules without lead_time: leave lead_time out."
            )
        tell: Step = progress if progress is not None else silent
        self._on_dask = None
        if is_dask(table):
            if any(each is not None for each in (on_order, deliveries, log, hours)):
                raise Unsupported(
                    "on_order, deliveries, log and hours must not be given with a Dask frame."
                )
            fit_on_dask(self, table, future, force, tell)
            self._on_dask = (*self._on_dask, future, force)
            return self
        rows, ahead, leads = self._open(table, future, log, hours, force, tell, deliveries)
        with one_blas_thread():  # the same sums on every machine
            if self.supply is not None:
                last = replenishment.last_rows(rows, self.schema_, self.panel_)
                self.rules_ = replenishment.rules_of(self.supply, last, self.schema_, leads)
                if leads is not None:
                    chances = leads.of_series(self.panel_, self.schema_)
                    self.rules_ = self.rules_.replace(lead_time=chances)
                    self.notes_ += (leads.in_words(self.rules_, self._unit),)
                self.state_, said = replenishment.read_state(
                    rows, self.schema_, self.panel_, self.rules_, on_order, log
                )
                self.notes_ += tuple(said)
                self._refill(ahead, tell)
            else:
                self._learn(tell)
                self._decide()
        if log is not None and log.certain:
            self._evaluate_overrides(log, rows)
        tell(5, 5, "done")
        return self

    def correct(
        self,
        table: Any,
        *,
        log: DecisionLog | None = None,
        hours: HourlyDemand | None = None,
        force: bool = False,
        progress: Step | None = None,
    ) -> Any:
        """Give the corrected history of demand (`demand`) of a table, without ordering.

        Parameters
        ----------
        table, log, hours, force, progress
            As for `fit`.

        Returns
        -------
        table of the given kind
            As from `demand`.

        Examples
        --------
        >>> from unmet import OrderPlan
        >>> from unmet.planning import example
        >>> OrderPlan().correct(example().sales).columns
        ['dish', 'date', 'sales', 'stockout', 'demand', 'low', 'high', 'why']
        """
        tell: Step = progress if progress is not None else silent
        self._open(table, None, log, hours, force, tell)
        self.notes_ = (*((self.inferred_,) if self.inferred_ else ()), *self._notes_on_table)
        tell(3, 5, "estimating the demand of sold-out days")
        self._reach = self.horizon, self.lead_time
        with one_blas_thread():
            self._keep_history(self._training())
        tell(5, 5, "done")
        return self.demand()

    def _open(
        self,
        table: Any,
        future: Any,
        log: DecisionLog | None,
        hours: HourlyDemand | None,
        force: bool,
        tell: Step,
        deliveries: Any = None,
    ) -> tuple[pl.DataFrame, int, replenishment.LeadTimes | None]:
        """Read the table, and ask what is known of each day.

        Returns
        -------
        rows : polars.DataFrame
        ahead : int
            How many coming periods matter.
        leads : LeadTimes or None
            With `supply`, where lead times vary.
        """
        self.cost_ = self.check()
        tell(0, 5, "reading the table")
        sales = self.read(table, future)
        rows, self.schema_ = sales.table, sales.schema
        self._force = force
        if not force:
            refuse_senseless(sales)
        if log is not None:
            log.check(self.schema_.series)
        ahead, leads = self.lead_time + self.horizon, None
        if self.supply is not None:
            leads = replenishment.LeadTimes.read(self.supply, rows, self.schema_, deliveries)
            last = replenishment.last_rows(rows, self.schema_)
            rules = replenishment.rules_of(self.supply, last, self.schema_, leads)
            ahead = rules.periods(last.height, MAX_REVIEWS if np.any(rules.fixed) else 1)
        self._sample = None
        alone = self.supply is None and log is None and hours is None
        if not (alone and self._read_sample(sales, future, ahead)):
            self.panel_, notes, self._facts = read_panel_and_facts(
                self.with_flags(rows),
                self.schema_,
                coming=future,
                n_coming=ahead,
                force=force,
                span=self._span,
            )
        else:
            notes = self._sample_notes
        self.schema_ = self.schema_.with_known_future(self.panel_.known)
        if log is not None and self.supply is None:
            hidden, said = log.flags(self.panel_)
            self.panel_ = replace(self.panel_, hidden=hidden)
            notes += said
        if hours is not None:
            Instance(HourlyDemand, "what detect_stockouts or recover gives")("hours", hours)
            self.panel_, said = hours.on_panel(
                self.panel_, self.schema_.series, VIEWS, self.random_state
            )
            notes += said
        self.rate_: RateRange | None = read_rate(self.sellout_rate)
        self.inferred_ = ""
        self.panel_, said = without_few_flags(self.panel_)
        notes += said
        if self.panel_.some_unknown and self.rate_ is None and self._sample is None:
            tell(1, 5, "detecting stock-outs in the sales")
            with one_blas_thread():
                past = self._history(self.panel_)
                self.panel_, self.inferred_ = infer_stockouts(
                    self.panel_, past, self.lead_time + 1, self.random_state
                )
        self._notes_on_table = (*sales.notes, *notes)
        self.notes_ = (*self._notes_on_parameters(), *self._notes_on_table)
        if self.panel_.hidden is not None:
            self.rate_ = None
        self.n_rows_ = sales.n_rows
        self._kind = "polars" if isinstance(table, SalesTable) else kind_of(table)
        self._memo: dict[Any, Any] = {}
        self.overrides_: Overrides | None = None
        return rows, ahead, leads

    def _read_sample(self, sales: SalesTable, future: Any, ahead: int) -> bool:
        """Read a sample of the series as a table of its own, and the others alike, where many.

        Not where sales themselves tell which days sold out: then series are asked all together.
        """
        if sales.n_series <= self.max_series:
            return False
        rows, schema = sales.table, self.schema_
        keys = keys_of(rows.select(schema.series), schema.series)
        each = keys.unique()
        chosen = each[np.argsort(hashes_of(each.rows(), self.random_state))[: self.max_series]]
        later = None
        if future is not None:  # series that only it has are new: they are decided with the sample
            later = as_polars(future)
            names = [name for name in schema.series if name in later.columns]
            if len(names) == len(schema.series):
                asked = keys_of(later, names)
                others = keys.join(chosen, on=keys.columns, how="anti", nulls_equal=True)
                later = later.filter(~among(asked, others))
        span = rows[schema.date].min(), rows[schema.date].max()
        words: dict[str, Any] = {"n_coming": ahead, "force": self._force, "span": span}
        some = rows.filter(among(keys, chosen))
        sampled, notes, facts = read_panel_and_facts(some, schema, coming=later, **words)
        sampled, said = without_few_flags(sampled)
        self._facts = facts = replace(facts, flags=sampled.hidden is not None)
        if sampled.some_unknown and read_rate(self.sellout_rate) is None:
            with one_blas_thread():
                seed, gap = self.random_state, self.lead_time + 1
                if infer_stockouts(sampled, self._history(sampled), gap, seed)[1]:
                    return False
        schema = schema.with_known_future(sampled.known)
        self.panel_, _, _ = read_panel_and_facts(rows, schema, coming=future, like=facts, **words)
        assert sampled.keys is not None
        self._sample = sampled, self.panel_.places(sampled.keys, schema.series)
        self._sample_notes = [
            *notes,
            *said,
            self.learned_from(sales.n_series),
        ]
        return True

    def learned_from(self, n_series: int) -> str:
        """Say how many series were learned from."""
        return (
            f"The models were fitted to a random sample of {self.max_series:,} of {n_series:,} "
            "series (max_series=)."
        )

    def _evaluate_overrides(self, log: DecisionLog, rows: pl.DataFrame) -> None:
        demand = self.demand_
        if demand is None:  # sold-out days hide what nobody has estimated
            demand = np.where(self.panel_.imputed, np.nan, self.panel_.observed)
        if self.supply is None:
            self.overrides_ = log.overrides(self.panel_, demand, self.cost_)
        else:
            self.overrides_ = replenishment.evaluate_overrides(
                log, rows, self.schema_, self.panel_, self.rules_, demand
            )
        if self.overrides_.known and not self.costs_are_money:
            over = 1.0 - float(self.cost_.level)
            said = f"evaluated with underage {1.0 - over:.4g} and overage {over:.4g}."
            self.notes_ += (f"No costs were given, so changed orders were {said}",)

    @property
    def costs_are_money(self) -> bool:
        """Whether you gave costs, and not a service level (two costs that sum to 1)."""
        if self.supply is not None and self.supply.costs_given:
            return True
        if self.cost is None:
            return False
        return abs(float(self.cost.underage) + float(self.cost.overage) - 1.0) > 1e-9

    def at(self, **changed: Any) -> OrderPlan:
        """Give the same plan for another cost or rate, without fitting anything again.

        Parameters
        ----------
        **changed
            `cost`, and without supply rules `sellout_rate`, as for the constructor.

        Returns
        -------
        OrderPlan
            A fitted plan. Changed orders of the log are not evaluated again.

        Examples
        --------
        >>> import polars as pl
        >>> from unmet import Newsvendor, OrderPlan
        >>> from unmet.planning import example
        >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
        >>> plan = OrderPlan(horizon=2, cost=Newsvendor.at_level(0.8), model="linear").fit(sales)
        >>> more = plan.at(cost=Newsvendor.at_level(0.95))
        >>> bool((more.orders()["order"] > plan.orders()["order"]).all())
        True
        """
        check_is_fitted(self, "panel_")
        other: OrderPlan = copy(self).set_params(**changed)
        if other.supply is not None and "cost" in changed:
            other.supply = other.supply.replace(holding=None, shortage=None)
        other.cost_ = other.check()
        other.rate_ = read_rate(other.sellout_rate)
        again = other.rate_ is not None and bool(self.inferred_)  # what a user says counts more
        if again:
            other.panel_, other.inferred_ = replace(self.panel_, hidden=None, drawn=None), ""
            other._memo = {}
        if other.panel_.hidden is not None:
            other.rate_ = None
        other.notes_ = (*other._notes_on_parameters(), *self._notes_on_table)
        other.overrides_ = other.reached_ = None
        with one_blas_thread():
            if again:
                other._learn(silent)
            if other.supply is not None:
                other._order()
            else:
                other._decide()
        return other

    # --- Tables.

    def orders(self) -> Any:
        """Give the table of orders.

        Returns
        -------
        table of the kind that `fit` was given
            One row for each series and coming day: the columns of the series, the date, and

            - ``order``;
            - ``usual_sales``: expected sales;
            - ``hidden_demand``: expected demand beyond that on days that sell out;
            - ``safety``: added because a missing unit costs more than a leftover unit (negative if
              it costs less), rounding included;
            - ``based_on``: "own history", "short history" or "similar series";
            - ``outside_data``: why an order lies outside of all observations ("above the largest
              sales"); empty otherwise;
            - ``low`` and ``high``, with a range of sell-out rates: the orders of its ends.

            The order is the sum of usual sales, hidden demand and safety.

            With `supply` one row for each series that is still sold: its columns, and

            - ``order``, and when it ``arrives``: the first period that it can serve;
            - ``on_hand`` and ``on_order``: stock on hand, and on its way;
            - ``expected_demand`` until the next order arrives;
            - ``order_up_to``: stock on hand and on its way after the order is placed;
            - ``runs_empty``: first period in which demand is more likely than not to exceed the
              stock, if no other order follows; empty if there is none;
            - ``chance_of_running_out`` before the next order arrives, that is within lead time and
              review, and ``expected_shortage``: expected missing units until then;
            - ``expected_loss``, if you gave costs: the cost of these units.
        """
        check_is_fitted(self, "n_rows_")
        if self._on_dask is not None:
            return on_workers(self, "orders", *self._on_dask[2:])
        return like_table(self.order_table_, self._kind)

    def _orders_table(self) -> pl.DataFrame:
        return self.order_table_

    def write_orders(
        self, folder: str | Path, *, progress: Step | None = None
    ) -> tuple[int, float]:
        """Let the workers of Dask write the orders as Parquet, one file per partition.

        Parameters
        ----------
        folder : str or Path
            Folder that all workers can reach; empty, or created.
        progress : callable, optional
            As for `fit`.

        Returns
        -------
        rows : int
            Number of orders written.
        total : float
            Sum of the orders.
        """
        check_is_fitted(self, "n_rows_")
        if self._on_dask is None:
            raise Unsupported("write_orders needs a plan fitted to a Dask frame: use orders().")
        tell: Step = progress if progress is not None else silent
        future, force = self._on_dask[2:]
        return write_orders(self, folder, future, force, tell)

    def quantiles(self, levels: Sequence[float] = (0.5, 0.9)) -> Any:
        """Give quantiles of the demand of every series and coming period.

        Parameters
        ----------
        levels : sequence of float, default=(0.5, 0.9)
            Levels, each above 0 and below 1.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, the date, and ``demand_q0.5``, ``demand_q0.9``, …, as
            `unmet.adapters.decide_from_quantiles` reads them.
        """
        check_is_fitted(self, "n_rows_")
        asked = [Number(above=0, below=1)("levels", level) for level in levels]
        panel = self.panel_
        if self.supply is None:
            series, day, _ = self.targets_
        else:
            planned, ahead = np.flatnonzero(panel.planned), self.expected_.shape[1]
            series = np.repeat(planned, ahead)
            day = panel.n_days + np.tile(np.arange(ahead), planned.size)
        found = [self._quantile(series, day, level) for level in asked]
        rising = np.sort(np.stack(found), axis=0)[np.argsort(np.argsort(asked))]
        columns = {self.schema_.date: pl.Series(panel.date(day)).cast(pl.Date)}
        for level, values in zip(asked, rising, strict=True):
            columns[f"demand_q{level:g}"] = pl.Series(panel.rounded(values))
        return like_table(self._keyed(pl.DataFrame(columns), series), self._kind)

    def demand(self) -> Any:
        """Give the corrected history: sales, and estimated demand.

        Returns
        -------
        table of the kind that `fit` was given
            One row for each series and day with sales: the columns of the series, the date,
            ``sales``, ``stockout`` (the probability that the day sold out; empty if unknown),
            ``demand`` (expected), ``low`` and ``high`` (demand lies between them with a probability
            of 80%), and ``why``: how the plan knows that the day sold out. If the table has the
            columns ``ds`` and ``y`` of forecasting libraries, the corrected history is ``y`` and
            sales are ``y_observed``.
        """
        check_is_fitted(self, "n_rows_")
        if self._on_dask is not None:
            return on_workers(self, "demand", *self._on_dask[2:])
        return like_table(self._demand_table(), self._kind)

    def _demand_table(self) -> pl.DataFrame:
        panel = self.panel_
        series, day = np.nonzero(~np.isnan(panel.observed))
        sales = panel.observed[series, day]
        with one_blas_thread():
            low, high = (each[series, day] for each in self._quantiles_of_days((0.1, 0.9)))
        demand = sales if self.demand_ is None else self.demand_[series, day]
        rate = np.nan if self.rate_ is None else self.rate_.imposed[0]
        stockout = np.full(sales.size, rate) if panel.hidden is None else panel.hidden[series, day]
        why = np.where(
            stockout > 0, self._source, np.where(stockout == 0, "all demand was seen", "unknown")
        )
        if panel.drawn is None and panel.hidden is not None:
            perhaps = "perhaps sold out: estimated from days with a flag"
            why = np.where((stockout > 0) & (stockout < 1), perhaps, why)
        columns = {"sales": sales, "stockout": stockout, "demand": demand, "low": low, "high": high}
        frame = pl.DataFrame(
            {
                self.schema_.date: pl.Series(panel.date(day)).cast(pl.Date),
                **{
                    name: pl.Series(panel.rounded(each)).fill_nan(None)
                    for name, each in columns.items()
                },
                "why": why,
            }
        )
        found = self._keyed(frame, series)
        if (self.schema_.date, self.schema_.sales) == ("ds", "y"):
            found = found.rename({"sales": "y_observed", "demand": "y"})
        return found

    def _quantiles_of_days(self, levels: Sequence[float]) -> list[Array]:
        """Quantiles of the demand of all past days, each of shape (n_series, n_days)."""
        training = self._training()
        if self._sample is None:
            others = None if training.panel is not None else self.panel_
            return training.quantiles(levels, others)
        whole, (_, places) = self.panel_, self._sample
        found = [whole.observed.copy() for _ in levels]
        for values, own in zip(found, training.quantiles(levels), strict=True):
            values[places] = own
        pooled = training.for_others()
        for some in self._blocks():
            parts = pooled.quantiles(levels, whole.take(some))
            for values, own in zip(found, parts, strict=True):
                values[some] = own
        return found

    def _blocks(self) -> list[Places]:
        """Series that were not learned from, some at a time."""
        assert self._sample is not None
        rest = np.setdiff1d(np.arange(self.panel_.n_series), self._sample[1])
        return [rest[start : start + BLOCK] for start in range(0, rest.size, BLOCK)]

    @property
    def _source(self) -> str:
        """What tells that a day sold out."""
        schema = self.schema_
        if self.inferred_:
            return "sold out: sales stop at a limit"
        if self.panel_.hidden is None:
            return "perhaps sold out: by the sell-out rate"
        if self.panel_.drawn is not None:
            return "sold out: hours of sales"
        column = schema.sold_out or schema.stock
        return f"sold out: column {column}" if column else "sold out: log of orders"

    def levels(self) -> Any:
        """Give reorder points and order-up-to levels, for systems that need them.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, ``reorder_point``, ``order_up_to``, ``minimum``, ``lot``.
        """
        check_is_fitted(self, "replenishment_")
        found = order_up_to(self._paths(), self.rules_, seed=self.random_state)
        columns = {
            name: pl.Series(name, self.panel_.rounded(values)).fill_nan(None)
            for name, values in found.columns().items()
        }
        return like_table(self._keyed(pl.DataFrame(columns)), self._kind)

    def projection(self) -> Any:
        """Give the projected stock, if these orders are placed and no others.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, the date, ``expected_demand``, the stock at the end of the
            period (``low``, ``middle``, ``high``: exceeded with a chance of 90, 50 and 10%), and
            ``chance_of_running_out``.
        """
        check_is_fitted(self, "replenishment_")
        found, panel = self.replenishment_.projection, self.panel_
        n_series, n_periods = found.low.shape
        dates = panel.date(panel.n_days + np.arange(n_periods))
        frame = pl.DataFrame(
            {
                self.schema_.date: pl.Series(np.tile(dates, n_series)).cast(pl.Date),
                "expected_demand": panel.rounded(self.expected_.ravel(), 2),
                "low": panel.rounded(found.low.ravel(), 2),
                "middle": panel.rounded(found.middle.ravel(), 2),
                "high": panel.rounded(found.high.ravel(), 2),
                "chance_of_running_out": np.round(found.empty.ravel(), 3),
            }
        )
        return like_table(self._keyed(frame, np.repeat(np.arange(n_series), n_periods)), self._kind)

    def _keyed(self, frame: pl.DataFrame, series: Places | None = None) -> pl.DataFrame:
        """Put the columns of the series before those of a frame, without series that ended."""
        panel = self.panel_
        places = np.arange(panel.n_series) if series is None else series
        if self.schema_.series and panel.keys is not None:
            frame = panel.keys.select(self.schema_.series)[places].hstack(frame)
        return frame if "stockout" in frame.columns else frame.filter(panel.planned[places])

    def explain(self, rows: Any = None, *, drivers: bool = False) -> Any:
        """Split orders into usual sales, hidden demand and cost of running out, in units.

        Parameters
        ----------
        rows : table, optional
            Rows to explain, in their order: the columns of the series and the date. None explains
            all.
        drivers : bool, default=False
            Whether to split usual sales as well, into the columns
            `unmet.planning.candidates.DRIVERS`: level of the series, recent sales, weekday, season,
            values known in advance (prices, promotions), similar series, and other. Trees give SHAP
            values, the linear model gives coefficients times the distance from the mean, and
            smoothing gives level and weekday. Networks and distributions do not support it.

        Returns
        -------
        table of the kind that `fit` was given
            One column per part.
        """
        if self.supply is not None:
            raise Unsupported("explain needs a plan without supply rules, got one with them.")
        check_is_fitted(self, "choice_")

        names = [*self.schema_.series, self.schema_.date]
        parts = self.order_table_.select(*names, "usual_sales", "hidden_demand", "safety", "order")
        parts = parts.rename({"safety": "cost_of_running_out"}).with_row_index("\0row")
        if rows is not None:
            asked = as_polars(rows)
            require_columns(asked, names, "rows")
            same = [pl.col(name).cast(parts[name].dtype, strict=False) for name in names]
            parts = asked.select(same).join(parts, on=names, how="left", maintain_order="left")
            if parts["\0row"].null_count():
                lost = parts.filter(pl.col("\0row").is_null()).select(names).row(0)
                raise InvalidInput(
                    f"rows must be among the orders, got {', '.join(map(str, lost))}."
                )
        place, found = parts["\0row"].to_numpy().astype(np.intp), parts.drop("\0row")
        if drivers:
            series, day, gap = (each[place] for each in self.targets_)
            with one_blas_thread():
                history = self._history(self.panel_, self.demand_)
                each = [drivers_of(m, history, series, day, gap) for m in self.members_]
            apart = {name: np.mean([one[name] for one in each], axis=0) for name in DRIVERS}
            # of what is expected, usual sales are those without what is hidden
            share = found["usual_sales"].to_numpy() / np.maximum(sum(apart.values()), 1e-300)
            apart = {name: share * values for name, values in apart.items()}
            columns = [
                pl.Series(name, self.panel_.rounded(values)) for name, values in apart.items()
            ]
            found = pl.DataFrame([*found.select(names), *columns, *found.drop(names)])
        return like_table(found, self._kind)

    # --- Saving.

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> Path:
        """Write this plan to one file that holds no code; `unmet.load` reads it.

        The loaded plan gives the same orders and reports. The file holds the panel, but no features
        and no sample paths.

        Parameters
        ----------
        path : str or Path
            File to write. Any name works; ``.unmet`` is customary.
        about : dict, optional
            Further information to store with the plan, as plain JSON.

        Returns
        -------
        Path
            The file.
        """
        return save(self, path, about=about)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved plan holds; everything that can be recomputed is left out."""
        state = dict(vars(self))
        if "_memo" in state:
            state["_memo"] = {}
        state.pop("_on_dask", None)  # its rows lie elsewhere
        state.pop("_pooled", None)
        if hasattr(self, "replenishment_"):
            found = self.replenishment_
            state["replenishment_"] = replace(found, _given=found.projection)
        return state

    # --- Learning.

    def _names(self) -> str | tuple[str, ...]:
        """Models that may decide."""
        listed = (self.model,) if isinstance(self.model, str) else tuple(self.model)
        wrong = [name for name in listed if name not in (*CANDIDATES, "auto")]
        if wrong or not listed or (len(listed) > 1 and {"auto", "blend"} & set(listed)):
            known = ", ".join(map(repr, CANDIDATES))
            raise InvalidInput(
                f"model must be 'auto', one of {known}, or several of these, got {self.model!r}."
            )
        return listed[0] if len(listed) == 1 else listed

    def _notes_on_parameters(self) -> list[str]:
        said: list[str] = []
        unit, lasts = self._unit, self.supply is not None
        if self.cost is None and not (lasts and self.supply.costs_given):  # type: ignore[union-attr]
            costs = "holding=, shortage=" if lasts else "underage=, overage="
            said.append(
                Note(
                    f"No costs were given, so orders aim at {SERVICE_LEVEL:.0%} service level: "
                    f"set a service level or costs (service_level=, {costs})."
                )
            )
        if lasts and not self.schema_.on_hand:
            said.append(
                Note(
                    "No column has the stock on hand, so orders assume empty shelves: name the "
                    "column of stock at the end of a period (on_hand=).",
                    1.0,
                )
            )
        if self.inferred_:
            said.append(self.inferred_)
        if self.rate_ is not None and self.panel_.hidden is not None:
            said.append(
                f"The sell-out rate was not used, because flags or stock tell which {unit} sold "
                "out."
            )
        if lasts and self.panel_.hidden is None:
            said.append(
                Note(
                    f"Sales were taken as demand, because no column tells which {unit} sold out: "
                    "add a column of flags or of stock (sold_out=, stock=)."
                )
            )
        return said

    @property
    def _unit(self) -> str:
        return f"{self.panel_.unit}s"

    @property
    def lot_(self) -> Array:
        """Size of a lot of each series; 0 where any quantity can be ordered."""
        n_series = self.panel_.n_series
        if self.lot == "auto":
            return self.panel_.whole.astype(np.float64)
        return np.full(n_series, 0.0 if self.lot is None else float(self.lot))

    def _history(self, panel: Panel, demand: Array | None = None) -> History:
        return History(panel, demand, seasons=panel.tells_seasons, country=self.country)

    def _forecast(self, n_periods: int, lead_time: int = 0) -> DemandForecast:
        return DemandForecast(
            n_periods,
            self._names(),
            lead_time=lead_time,
            seasons=self.panel_.tells_seasons,
            country=self.country,
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _training(self) -> TrainingSet:
        """Rows to learn from; a plan that was loaded makes them when they are needed."""
        if "training" not in self._memo:
            forecast = self._forecast(*self._reach)
            panel = self.panel_ if self._sample is None else self._sample[0]
            self._memo["training"] = forecast.training(panel)
        made: TrainingSet = self._memo["training"]
        return made

    def _keep(self, forecast: DemandForecast) -> None:
        """Keep what was learned."""
        self._reach = forecast.n_periods, forecast.lead_time
        self.choice_, self.members_ = forecast.choice_, forecast.members_
        self.distribution_, self.expected_ = forecast.distribution_, forecast.expected()
        self._memo["training"] = forecast.training_
        self._keep_history(forecast.training_)
        self._sold_share = forecast.training_.sold_share
        self._skewness = forecast.skewness_

    def _keep_history(self, training: TrainingSet) -> None:
        """Keep demand, and the probability that each day without a flag sold out."""
        self.panel_ = training.history.panel
        self.demand_: Array | None = training.demand if training.imputed else None

    def _learn(self, tell: Step) -> None:
        """Learn what to expect of the days that orders are for."""
        forecast, whole = self._forecast(self.horizon, self.lead_time), self.panel_
        forecast.fit(whole if self._sample is None else self._sample[0], self.cost_, tell)
        self._memo["forecast"] = forecast
        tell(4, 5, "deciding")
        self._keep(forecast)
        pooled = self._pooled = forecast.for_others()
        if self._sample is not None:
            self._keep_others(whole, pooled, tell)
        self.reached_: float | None = None

    def _keep_others(self, whole: Panel, pooled: DemandForecast, tell: Step) -> None:
        """Ask what is expected of the series that were not learned from, some at a time."""
        assert self._sample is not None
        sampled, places = self.panel_, self._sample[1]
        self._sample = sampled, places

        def of_all(own: Array, fill: Array | float = np.nan) -> Array:
            found = np.empty((whole.n_series, *own.shape[1:]))
            found[:] = fill
            found[places] = own
            return found

        observed = of_all(sampled.observed, whole.observed)
        hidden = None if sampled.hidden is None else of_all(sampled.hidden, whole.hidden)  # type: ignore[arg-type]
        demand = None if self.demand_ is None else of_all(self.demand_)
        expected, factor = of_all(self.expected_), of_all(self.distribution_.factor)
        sold_share = of_all(self._sold_share)
        self.panel_ = whole
        for number, some in enumerate(self._blocks()):
            tell(4, 5, f"deciding: {number * BLOCK:,} of {whole.n_series:,} series")
            other = pooled.others(whole.take(some))
            expected[some], factor[some] = other.expected, other.distribution.factor
            sold_share[some] = other.sold_share
            if hidden is not None and other.panel.hidden is not None:
                hidden[some] = other.panel.hidden
            if demand is not None and other.demand is not None:
                demand[some] = other.demand
        self.panel_ = replace(whole, observed=observed, hidden=hidden)
        self.demand_, self.expected_, self._sold_share = demand, expected, sold_share
        self.distribution_ = replace(self.distribution_, factor=factor)

    def decide(self, table: Any, *, future: Any = None, force: bool = False) -> Any:
        """Give orders for other series of the same table, with the fitted plan.

        The shared parts stay as they were learned, and each series uses its own history. An order
        therefore does not depend on the other series in the call. Spark and others call this method
        on workers, with a plan that was fitted to a sample and saved.

        Parameters
        ----------
        table : table
            Rows with the columns that `fit` was given, and dates up to the same last one.
        future : table, optional
            As for `fit`, without new series.
        force : bool, default=False
            As for `fit`.

        Returns
        -------
        table of the given kind
            As from `orders`.

        Examples
        --------
        >>> import polars as pl
        >>> from unmet import OrderPlan
        >>> from unmet.planning import example
        >>> sales = example().sales
        >>> some, others = sales.filter(pl.col("dish") != "lamb"), pl.col("dish") == "lamb"
        >>> plan = OrderPlan(horizon=2, model="linear").fit(some)
        >>> plan.decide(sales.filter(others)).height
        2
        """
        return like_table(self._for_others(table, future, force).order_table_, kind_of(table))

    def _for_others(self, table: Any, future: Any, force: bool) -> OrderPlan:
        """Give the same plan, of other series."""
        check_is_fitted(self, "n_rows_")
        if self.supply is not None or not hasattr(self, "choice_"):
            raise Unsupported("decide needs a plan without supply rules: use orders() instead.")
        if self.inferred_ or self.panel_.drawn is not None:
            raise Unsupported(
                "decide needs a plan with flags, stock or a sell-out rate: this one detected "
                "stock-outs in the sales or hours of its own series."
            )
        if self._pooled is None:  # of a plan that was loaded: learned again, to the same bits
            panel = self.panel_ if self._sample is None else self._sample[0]
            with one_blas_thread():
                learned = self._forecast(*self._reach).fit(panel, self.cost_)
            self._pooled = learned.for_others()
        facts, schema = self._facts, self.schema_
        sales = read_sales(table, replace(schema, on_hand=None))
        last = period_date(facts.first_day, str(schema.period), np.array([facts.n_days - 1]))[0]
        latest = sales.table[schema.date].max()
        if latest > last.item() or sales.table[schema.date].min() < facts.first_day:
            raise InvalidInput(
                f"table must have dates from {facts.first_day} to {last}, as in fit, got "
                f"{sales.table[schema.date].min()} to {latest}: fit the plan again."
            )
        if future is not None:
            future = as_polars(future)
            if set(schema.series) <= set(future.columns):  # no new series: others know of those
                keys = keys_of(sales.table, schema.series)
                future = future.filter(among(keys_of(future, schema.series), keys))
        other, ahead = copy(self), self.lead_time + self.horizon
        other.panel_, _, _ = read_panel_and_facts(
            sales.table,
            schema,
            coming=future,
            n_coming=ahead,
            force=force,
            like=facts,
            span=(facts.first_day, last.item()),
        )
        with one_blas_thread():
            found = self._pooled.others(other.panel_)
            other.panel_, other.demand_, other.expected_ = found.panel, found.demand, found.expected
            other.distribution_, other._sold_share = found.distribution, found.sold_share
            other._force, other.notes_, other._sample = force, (), None
            other._memo, other._is_part = {"training": self._pooled.training_}, True
            other._decide()
        return other

    def _sales_level(self, level: float, rate: RateRange | None = None) -> float:
        """Level of sales at which demand has its quantile at a level, by the sell-out rate."""
        if self.panel_.hidden is not None:
            return level
        profile = SelloutProfile(rate or self.rate_ or ANY_RATE, self._skewness)
        # beyond that level a history of sales has nothing to say
        return min(float(profile.observed_level(level)), 0.999)

    # --- Orders of the coming days.

    def _coming(self) -> tuple[Places, Places, Places]:
        """Series, days and gaps that orders are for."""
        panel = self.panel_
        series = np.repeat(np.arange(panel.n_series), self.horizon)
        first = panel.n_days + self.lead_time
        day = np.tile(np.arange(first, first + self.horizon), panel.n_series)
        open_days = panel.is_open(series, day)
        if not open_days.all():
            self.notes_ += ("Closed days, on which nothing is ever sold, have no orders.",)
        kept = open_days & panel.planned[series]
        if not kept.any() and not self._is_part:
            raise InvalidInput(
                "table must have series with a row in the last four weeks of the table, got none."
            )
        return series[kept], day[kept], day[kept] - panel.n_days + 1

    def _of_rows(self, series: Places, day: Places) -> tuple[Array, Places, Places]:
        """Give what is expected of days, their series, and how many periods ahead they are."""
        ahead = day - self.panel_.n_days - self._reach[1]
        return self.expected_[series, ahead], series, ahead

    def _quantile(self, series: Places, day: Places, level: float, **rate: RateRange) -> Array:
        """Quantile of the demand of coming days."""
        rows = self._of_rows(series, day)
        found = self.distribution_.quantile(*rows, self._sales_level(level, **rate))
        return np.where(rows[0] > 0, found, 0.0)

    def _most(self, series: Places, decided: Array, advice: str = "") -> Array:
        """Most that may be expected or ordered; what is far beyond is refused (`refuse_absurd`)."""
        if self._force:
            return np.full(series.size, np.inf)
        advice = advice or f"add more {self._unit} of history"
        like = self._facts if self._is_part else None
        largest = refuse_absurd(self.panel_, series, decided, advice, like)
        if self.demand_ is not None:
            largest = np.maximum(largest, np.nan_to_num(self.demand_).max(axis=1)[series])
        return MAX_ORDER * largest

    def _decide(self) -> None:
        """Make the table of orders."""
        panel, level = self.panel_, float(self.cost_.level)
        self.targets_ = series, day, _ = self._coming()
        decided = self._quantile(series, day, level)
        advice = "" if self.choice_.model == "seasonal" else "use model='seasonal'"
        expected = self._of_rows(series, day)[0]
        # a quantile far out may be large: it is cut, unless it is no number
        most = self._most(series, expected + 0.0 * decided, advice)
        expected, decided = np.minimum([expected, decided], most)
        usual, ends = expected * self._sold_share[series], list[Array]()
        hidden = expected - usual
        if panel.hidden is None:
            without = self.distribution_.quantile(*self._of_rows(series, day), 0.5)
            hidden = np.maximum(self._quantile(series, day, 0.5) - without, 0.0)
        if self.rate_ is not None and self.rate_.low < self.rate_.high:
            rates = [RateRange(each, each) for each in self.rate_]
            ends = [self._quantile(series, day, level, rate=each) for each in rates]
        order = self._in_lots(series, day, decided)
        if panel.hidden is None and self.rate_ is None and not self._is_part:
            self.notes_ += (self._assumed(series, day, order),)
        forecast = self._memo.get("forecast")
        if forecast is not None:
            self.reached_ = forecast.reached(self._sales_level(level))
        seen = (~np.isnan(panel.observed)).sum(axis=1)
        based_on = np.where(
            seen >= max(28 // LENGTH[panel.period], 4), "own history", "short history"
        )
        based_on = np.where(seen == 0, "similar series", based_on)
        new = int((seen[panel.planned] == 0).sum())
        if new:
            said = f"{new:,} new series: their orders are based on similar series."
            self.notes_ += (Note(said, new / panel.n_series),)
        nothing = float((panel.observed == 0).sum() / max(seen.sum(), 1))
        if nothing > 0.5 and order.sum() > 2.0 * expected.sum():
            self.notes_ += (
                Note(
                    f"Orders are {order.sum() / max(expected.sum(), 1e-300):.1f} times expected "
                    f"demand, because series sell nothing on {nothing:.0%} of the {self._unit}: if "
                    "stock can be kept, use replenishment, or plan weeks (period='week').",
                    0.5,
                ),
            )
        outside = (order > panel.largest[series]) & (seen[series] > 0)
        usual, hidden = panel.rounded(usual, 2), panel.rounded(hidden, 2)
        whole_units = bool((order == np.round(order)).all())
        # parts of one table have columns of one kind, whatever is in them
        units = pl.Int64 if whole_units and not self._is_part else pl.Float64
        made = pl.DataFrame(
            {
                self.schema_.date: pl.Series(panel.date(day)).cast(pl.Date),
                "order": pl.Series(panel.rounded(order)).cast(units),
                "usual_sales": usual,
                "hidden_demand": hidden,
                "safety": panel.rounded(order - usual - hidden),
                "based_on": based_on[series],
                "outside_data": pl.Series(np.where(outside, "above the largest sales", "")),
            }
        )
        if ends:
            low, high = np.minimum(np.maximum(ends[0], 0.0), order), np.maximum(ends[1], order)
            made = made.with_columns(
                pl.Series(each, np.round(values) if whole_units else panel.rounded(values)).cast(
                    units
                )
                for each, values in (("low", low), ("high", high))
            )
        self._orders = self._keyed(made, series)

    def _assumed(self, series: Places, day: Places, order: Array) -> Note:
        """Say what orders assume where nothing is known, and what they would be otherwise."""
        level = float(self.cost_.level)
        likely = SelloutProfile(ANY_RATE, self._skewness).likely[1]
        share = f"up to {likely:.0%}" if likely else "hardly any"
        with_hidden, without = (
            self._quantile(series, day, level, rate=each).sum()
            for each in (ANY_RATE, RateRange(0.0, 0.0))
        )
        less = float(order.sum()) * float(without / with_hidden) if with_hidden > 0 else 0.0
        return Note(
            f"No column tells which {self._unit} sold out, so orders assume that {share} of them "
            f"did: {order.sum():,.0f} units instead of about {less:,.0f} without stock-outs "
            "(sellout_rate=0). If you know the rate, set it (sellout_rate=.2).",
            abs(1.0 - less / max(float(order.sum()), 1e-300)),
        )

    def _in_lots(self, series: Places, day: Places, decided: Array) -> Array:
        """Round to lots the cheaper way, by the distribution of each order's demand.

        One more lot on top of x saves as long as the chance that demand is no more than x, taken
        over the lot, is below the level.
        """
        lot = self.lot_[series]
        level = self._sales_level(float(self.cost_.level))
        order = np.maximum(decided, 0.0)
        rows = np.flatnonzero(lot > 0)
        size = lot[rows]
        down = np.floor(order[rows] / size + 1e-9) * size
        mean, who, ahead = self._of_rows(series[rows], day[rows])
        reached = np.zeros(rows.size)
        steps = (np.arange(8) + 0.5) / 8.0
        for step in steps:
            reached += self.distribution_.reached(down + step * size, mean, who, ahead) / 8.0
        order[rows] = np.where((reached < level) & (order[rows] > down), down + size, down)
        return order

    # --- Orders that refill shelves.

    def _refill(self, ahead: int, tell: Step) -> None:
        """Learn what demand to expect, draw paths of it, and order."""
        panel = self.panel_
        forecast = self._forecast(ahead).fit(panel, progress=tell)
        self._keep(forecast)
        self.checked_: tuple[float, int, int] | None = forecast.stocks_that_last()
        expected = self.expected_
        covers = self.rules_.whole("lead_time", panel.n_series) + self.rules_.whole(
            "review", panel.n_series
        )
        covered = (np.arange(ahead) < covers[:, None]) & panel.planned[:, None]
        series, period = np.nonzero(covered)
        asked = expected[series, period]
        expected[series, period] = np.minimum(asked, self._most(series, asked))
        if self._closed.any():
            expected[self._closed] = 0.0
            self._notes_on_table += ("Closed days, on which nothing is ever sold, have no demand.",)
            self.notes_ += self._notes_on_table[-1:]
        tell(3, 5, "ordering")
        self._order()

    @property
    def _closed(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Coming periods in which nothing is ever sold, (n_series, n_periods)."""
        series, ahead = np.ogrid[: self.expected_.shape[0], : self.expected_.shape[1]]
        return np.broadcast_to(
            ~self.panel_.is_open(series, self.panel_.n_days + ahead), self.expected_.shape
        )

    def _paths(self) -> Array:
        """Paths of demand; a plan that was loaded draws them when they are needed."""
        if "paths" not in self._memo:
            with one_blas_thread():
                drawn = self.distribution_.draw(self.expected_, 400, seed=self.random_state)
            drawn[np.broadcast_to(self._closed[:, None], drawn.shape)] = 0.0
            self._memo["paths"] = drawn
        paths: Array = self._memo["paths"]
        return paths

    def _order(self) -> None:
        """Order what will be missing on the paths."""
        assert self.supply is not None
        rules, n_series = self.rules_, self.panel_.n_series
        if not self.supply.costs_given:
            rules = rules.replace(shortage=self.cost_.underage, holding=self.cost_.overage)
        if rules.auto_lot:
            rules = rules.replace(lot=1.0 if self.panel_.counted else None)
        self.rules_ = rules
        shortage, holding = (rules.rows(name, n_series) for name in ("shortage", "holding"))
        level = np.clip(np.median(shortage / (shortage + holding)), 0.01, 0.999)
        self.cost_ = Newsvendor.at_level(float(level))
        self.replenishment_: Replenishment = replenish(self._paths(), rules, self.state_)

    @property
    def order_table_(self) -> pl.DataFrame:
        """Table of orders, as `orders` gives it."""
        if self.supply is None:
            return self._orders
        return self._keyed(
            replenishment.order_table(
                self.replenishment_,
                self.panel_,
                self.rules_,
                self.state_,
                self.expected_,
                money=self.costs_are_money,
            )
        )

    def in_words(self) -> str:
        """Summarise the plan in a few sentences."""
        check_is_fitted(self, "replenishment_")
        orders = self.order_table_
        total, ordered = float(orders["order"].sum()), int((orders["order"] > 0).sum())
        said = [f"Order {total:,.0f} units for {ordered:,} of {orders.height:,} series."]
        said += [f"{self.risk_in_words(orders)}.", self.choice_.why]
        if self.checked_ is not None:
            promised, seen, count = self.checked_
            said.append(
                f"In the backtest {seen:,} of {count:,} stocks ran out within "
                f"{self.expected_.shape[1]} {self._unit}; the forecast expected {promised:,.0f}."
            )
        return " ".join(said)

    def risk_in_words(self, orders: pl.DataFrame) -> str:
        """Say how many series are expected to run out by when, and what that costs."""
        count = float(orders["chance_of_running_out"].sum())
        who = f"about {count:,.0f}" if count >= 0.5 else "hardly any"
        short = float(orders["expected_shortage"].sum())
        said = f"{self.until_next[:1].upper()}{self.until_next[1:]}, {who} of {orders.height:,} "
        said += f"series will run out, with {short:,.4g} units of unmet demand"
        if self.costs_are_money:
            said += f" and an expected cost of {float(orders['expected_loss'].sum()):,.4g}"
        return said

    @property
    def until_next(self) -> str:
        """Periods that orders cover, in words."""
        rules, unit = self.rules_, self._unit
        alike = all(np.ptp(getattr(rules, name)) == 0 for name in ("lead_time", "review"))
        if rules.varies or not alike:
            return "before the next order can arrive"
        periods = int(np.max(rules.lead_time) + np.max(rules.review))
        within = f"{periods} {unit}" if periods > 1 else f"{unit[:-1]}"
        return f"in the next {within}, before the next order can arrive"
