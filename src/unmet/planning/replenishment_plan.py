"""From a sales history, stock on hand and orders on their way to the next order.

`ReplenishmentPlan` learns what demand to expect until the next order arrives
(`unmet.planning.demand_forecast`), draws paths of it, and orders what will be missing on them
(`unmet.inventory`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.estimators.base import one_blas_thread
from unmet.inventory import StockState, SupplyRules, order_up_to, replenish
from unmet.inventory.levels import StockLevels
from unmet.inventory.orders import MAX_REVIEWS, Replenishment, some_rules
from unmet.inventory.rules import Shelves
from unmet.persistence import save
from unmet.planning.decision_log import DecisionLog, Overrides, unevaluated
from unmet.planning.demand_forecast import LABELS, DemandForecast, DemandModel
from unmet.planning.order_plan import SERVICE_LEVEL
from unmet.progress import Step, silent
from unmet.tables.encoding import as_categories
from unmet.tables.panel import GAPS, Panel, read_panel, refuse_absurd
from unmet.tables.reading import (
    as_polars,
    date_form,
    kind_of,
    like_table,
    numbers,
    read_dates,
    require_columns,
)
from unmet.tables.schema import Schema, infer_schema
from unmet.validation import ErrorCollector, Maybe, Number, OneOf, WholeNumber

if TYPE_CHECKING:
    import polars

PerSeries = float | str | None
"""A number, or the name of a column that has one for each series."""
_N_PATHS = 400
_EMPTY = "nothing left at the end"
_VANISH = 0.05  # of the periods with something left: more, and leftovers do not last
ORDER_COLUMNS = (
    "order",
    "arrives",
    "on_hand",
    "on_order",
    "expected_demand",
    "order_up_to",
    "runs_empty",
    "chance_of_running_out",
)
"""Columns of the table of orders, after those of the series."""
_OTHERS = ("reorder_point", "minimum", "lot", "low", "middle", "high")  # of the other tables
_NUMBERS = ("lead_time", "review", "holding", "shortage", "waste", "fixed", "lot", "minimum")


class ReplenishmentPlan(BaseEstimator):
    """The next order of every series, given a lead time, what is there and what is on its way.

    Parameters
    ----------
    lead_time : int or str, default=0
        Periods (rows of the table: days or weeks) between an order and the first one that it can
        serve; 0: the order is there when the next period begins. This and the following numbers may
        name a column of the table, of which the last row of a series counts.
    review : int or str, default=1
        Periods from one order to the next.
    holding, shortage : float or str, default=None
        What a unit left over costs each period, and one that is missing.
    service_level : float, default=None
        Instead of these two: shortage / (shortage + holding); 0.9 where nothing is said.
    unmet : {"lost", "backordered"}, default="lost"
    shelf_life : int or str, default=None
        Periods in which a unit can be sold; None: leftovers last.
    waste, fixed, minimum, capacity : float or str, default=None
        Cost of a unit that spoils and of an order, least and most units of an order.
    lot : float, str, None or "auto", default="auto"
        Orders are multiples of it; by default 1 where all sales are whole numbers.
    budget : float, default=None
        Most units of all orders together.
    on_hand : str, default=None
        Column of what is left on the shelf at the end of each period; its last row is the stock on
        hand, and where it is 0 the period is taken to have sold out, unless a flag says otherwise
        or less was sold than was left before.
    date, series, sales, sold_out, stock, price, known_future : default=None
        Columns; what is not said is guessed (`unmet.planning.infer_schema`).
    gaps : {"auto", "missing", "zero"}, default="auto"
    country : str, default=None
        Whose public holidays are features.
    n_paths : int, default=400
        Sample paths of demand.
    random_state : int, default=0
    n_jobs : int, default=None

    Attributes
    ----------
    schema_ : Schema
    demand_forecast_ : DemandForecast
        Expected demand and its spread.
    rules_ : SupplyRules
    state_ : StockState
    replenishment_ : Replenishment
    notes_ : tuple of str
    panel_ : Panel
    empty_tells : bool
        Whether periods with nothing left at their end are taken to have sold out.
    service_level_ : float
        Share of periods in which demand is to be met: of costs that differ, the median.
    demand_ : ndarray of shape (n_series, n_periods)
        Sales, with the expected demand of periods that sold out; NaN where nobody knows.
    overrides_ : Overrides or None
        What changing suggestions has cost or saved, where `fit` was given a log.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.planning import ReplenishmentPlan, example
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = ReplenishmentPlan(lead_time=2, holding=1, shortage=4).fit(sales)
    >>> plan.orders().columns[:5]
    ['dish', 'order', 'arrives', 'on_hand', 'on_order']
    """

    def __init__(
        self,
        *,
        lead_time: PerSeries = 0,
        review: PerSeries = 1,
        holding: PerSeries = None,
        shortage: PerSeries = None,
        service_level: float | None = None,
        unmet: str = "lost",
        shelf_life: PerSeries = None,
        waste: PerSeries = None,
        fixed: PerSeries = None,
        lot: PerSeries = "auto",
        minimum: PerSeries = None,
        capacity: PerSeries = None,
        budget: float | None = None,
        on_hand: str | None = None,
        date: str | None = None,
        series: Sequence[str] | None = None,
        sales: str | None = None,
        sold_out: str | None = None,
        stock: str | None = None,
        price: str | None = None,
        known_future: Sequence[str] | None = None,
        gaps: str = "auto",
        country: str | None = None,
        n_paths: int = _N_PATHS,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.lead_time = lead_time
        self.review = review
        self.holding = holding
        self.shortage = shortage
        self.service_level = service_level
        self.unmet = unmet
        self.shelf_life = shelf_life
        self.waste = waste
        self.fixed = fixed
        self.lot = lot
        self.minimum = minimum
        self.capacity = capacity
        self.budget = budget
        self.on_hand = on_hand
        self.date = date
        self.series = series
        self.sales = sales
        self.sold_out = sold_out
        self.stock = stock
        self.price = price
        self.known_future = known_future
        self.gaps = gaps
        self.country = country
        self.n_paths = n_paths
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check(self) -> None:
        """Refuse words that do not fit together, all of them at once."""
        wrong = ErrorCollector()
        ask = wrong.ask
        ask(Maybe(Number(above=0, below=1)), "service_level", self.service_level)
        ask(Maybe(Number(above=0)), "budget", self.budget)
        ask(OneOf(*GAPS), "gaps", self.gaps)
        ask(WholeNumber(1, 100_000), "n_paths", self.n_paths)
        ask(WholeNumber(0, 2**32 - 2), "random_state", self.random_state)
        wrong.about_costs(self.service_level, holding=self.holding, shortage=self.shortage)
        given = {
            name: getattr(self, name)
            for name in (*_NUMBERS, "shelf_life", "capacity")
            if not isinstance(getattr(self, name), str) and getattr(self, name) is not None
        }
        for name, value in given.items():
            ask(SupplyRules, **{name: value})
        ask(SupplyRules, unmet=self.unmet)
        wrong.tell()

    def fit(
        self,
        table: Any,
        *,
        on_order: Any = None,
        future: Any = None,
        log: DecisionLog | None = None,
        progress: Step | None = None,
    ) -> Self:
        """Learn from a table of pandas, polars or pyarrow, and order.

        Parameters
        ----------
        table : table
            One row for each series and period.
        on_order : table, optional
            What is on its way: the columns of the series, the date of arrival (called as dates
            are in the table, or ``arrives``), and units (one column of numbers, or ``order``). A
            order_table that `orders` gave before is such a table.
        future : table, optional
            What is known of coming periods, as for `OrderPlan.fit`.
        log : DecisionLog, optional
            Orders that were suggested, decided and delivered before, by the date on which they
            arrive. Those that arrive after the last row of the table are taken as on their way,
            but for series of which `on_order` has a row; one that would arrive with the order that
            is decided now is that order, decided again. What was changed is evaluated
            (`overrides_`). Which periods sold out is not taken from the log, but from what is left
            at their end (`on_hand`): stock lasts, so that a delivery is not all that was there.
        progress : callable, optional
        """
        self.check()
        rows = as_polars(table)
        if not rows.height:
            raise InvalidInput("table must have at least one row, got none.")
        tell: Step = progress if progress is not None else silent
        tell(0, 4, "reading the table")
        self.schema_: Schema = self.columns(rows)
        if log is not None:
            log.check(self.schema_.series)
        dates = read_dates(rows, self.schema_.date)
        latest = _Latest(rows, self.schema_, dates)
        self.rules_ = self._rules(rows, latest)
        reviews = MAX_REVIEWS if np.any(self.rules_.fixed) else 1
        ahead = self.rules_.periods(latest.n_series, reviews)
        panel_rows = self.with_flags(rows)
        self.panel_, notes = read_panel(panel_rows, self.schema_, coming=future, n_coming=ahead)
        self.schema_ = self.schema_.with_known_future(self.panel_.known)
        self._latest = latest.of(self.panel_)
        self.rules_ = self._rules(rows, latest)  # now in the order of the panel
        self.notes_ = (*self._notes_on_words(), *notes)
        self.state_ = self._state(rows, on_order, log)
        self.n_rows_ = rows.height
        self._kind = kind_of(table)
        with one_blas_thread():  # the same sums on every machine
            tell(1, 4, "learning what to expect")
            model = DemandModel(
                ahead,
                seasons=self.panel_.tells_seasons,
                country=self.country,
                seed=self.random_state,
                n_jobs=self.n_jobs,
            )
            self.demand_forecast_: DemandForecast = model.fit(self.panel_).ahead()
            self._refuse_absurd()
            tell(2, 4, "drawing demand")
            self._paths = self._drawn()
            self._say_what_is_closed()
            tell(3, 4, "ordering")
            self._order()
            self.demand_: Array = model.demand
        self.overrides_: Overrides | None = None if log is None else self._overrides(log, rows)
        if self.overrides_ is not None and self.overrides_.known and self.shortage is None:
            self.notes_ += (unevaluated(self.service_level or SERVICE_LEVEL),)
        del self._latest  # its rows
        tell(4, 4, "done")
        return self

    def _refuse_absurd(self) -> None:
        """Refuse expected demand that past sales cannot explain, in periods that orders cover."""
        n_series, expected = self.panel_.n_series, self.demand_forecast_.expected
        covers = self.rules_.whole("lead_time", n_series) + self.rules_.whole("review", n_series)
        covered = np.arange(expected.shape[1]) < covers[:, None]
        assert self.panel_.planned is not None
        series, period = np.nonzero(covered & self.panel_.planned[:, None])
        refuse_absurd(self.panel_, series, expected[series, period], "give more periods")

    def _order(self) -> None:
        self.replenishment_: Replenishment = replenish(
            self._all_paths, self.rules_, self.state_, budget=self.budget
        )

    def at(
        self,
        *,
        service_level: float | None = None,
        holding: float | None = None,
        shortage: float | None = None,
    ) -> ReplenishmentPlan:
        """Give the same plan for other costs: what was learned is shared, only orders are new.

        Parameters
        ----------
        service_level : float, optional
        holding, shortage : float, optional
            Instead of it, for all series alike.

        Returns
        -------
        ReplenishmentPlan
            Fitted. What changing orders was worth is not evaluated again.

        Examples
        --------
        >>> import polars as pl
        >>> from unmet.planning import ReplenishmentPlan, example
        >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
        >>> plan = ReplenishmentPlan(lead_time=2, service_level=0.8).fit(sales)
        >>> bool((plan.at(service_level=0.95).orders()["order"] > plan.orders()["order"]).all())
        True
        """
        check_is_fitted(self, "replenishment_")
        words = {"service_level": service_level, "holding": holding, "shortage": shortage}
        other: ReplenishmentPlan = copy(self).set_params(**words)
        other.check()
        costs = other._costs()
        rules = {each.name: getattr(self.rules_, each.name) for each in fields(self.rules_)}
        if self.waste is None:
            rules.pop("waste")  # what spoils costs what is left does
        other.rules_ = SupplyRules(**{**rules, **costs})
        before = self._notes_on_words()
        kept = [note for note in self.notes_ if note not in before]
        other.notes_ = (*other._notes_on_words(), *kept)
        other.overrides_ = None
        with one_blas_thread():
            other._order()
        return other

    def orders(self) -> Any:
        """Give the table of orders: one row for each series that is still sold.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, and

            - ``order``, and when it ``arrives``: the first period that it can serve;
            - ``on_hand`` and ``on_order``: what is there, and on its way;
            - ``expected_demand`` until the next order arrives;
            - ``order_up_to``: what is there and on its way once the order is placed;
            - ``runs_empty``: first period in which demand is more likely than not to exceed what
              is there, if no other order follows; empty where there is none;
            - ``chance_of_running_out`` in the periods that the order is for.
        """
        check_is_fitted(self, "replenishment_")
        return like_table(self.order_table_, self._kind)

    def levels(self) -> Any:
        """Give reorder points and order-up-to levels for systems that ask for them.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, ``reorder_point``, ``order_up_to``, ``minimum``, ``lot``.
        """
        import polars as pl

        check_is_fitted(self, "replenishment_")
        found: StockLevels = order_up_to(self._all_paths, self.rules_, seed=self.random_state)
        columns = {
            name: pl.Series(name, np.round(values, 4)).fill_nan(None)
            for name, values in found.columns().items()
        }
        return like_table(self._keyed(pl.DataFrame(columns)), self._kind)

    def projection(self) -> Any:
        """Give the stock to come, if the orders are placed and no others.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, the date, ``expected_demand``, stock at the end of the
            period (``low``, ``middle``, ``high``: exceeded with a chance of 90, 50 and 10%), and
            ``chance_of_running_out``.
        """
        import polars as pl

        check_is_fitted(self, "replenishment_")
        found, panel = self.replenishment_.projection, self.panel_
        n_series, n_periods = found.low.shape
        dates = panel.date(panel.n_days + np.arange(n_periods))
        frame = pl.DataFrame(
            {
                self.schema_.date: pl.Series(np.tile(dates, n_series)).cast(pl.Date),
                "expected_demand": np.round(self.demand_forecast_.expected.ravel(), 2),
                "low": np.round(found.low.ravel(), 2),
                "middle": np.round(found.middle.ravel(), 2),
                "high": np.round(found.high.ravel(), 2),
                "chance_of_running_out": np.round(found.empty.ravel(), 3),
            }
        )
        return like_table(self._keyed(frame, n_periods), self._kind)

    @property
    def service_level_(self) -> float:
        """Share of periods in which demand is to be met."""
        n_series = self.panel_.n_series
        shortage, holding = (self.rules_.rows(name, n_series) for name in ("shortage", "holding"))
        return float(np.clip(np.median(shortage / (shortage + holding)), 0.01, 0.999))

    # --- Saving.

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> Path:
        """Write this plan to one file that holds no code; `unmet.load` reads it.

        What is loaded has the same orders, levels and stock to come, and is reported in the same
        way. The file holds the panel and the distribution of demand, but no sample paths.

        Parameters
        ----------
        path : str or Path
            Any name; ``.unmet`` is customary.
        about : dict, optional
            Whatever should travel with the plan, in plain JSON.

        Returns
        -------
        Path
            Where it was written.
        """
        return save(self, path, about=about)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved plan holds: no sample paths; they are drawn again where needed."""
        state = {name: value for name, value in vars(self).items() if name != "_paths"}
        if hasattr(self, "replenishment_"):
            found = self.replenishment_
            state["replenishment_"] = replace(found, _given=found.projection)
        return state

    # --- Reading.

    def columns(self, table: Any) -> Schema:
        """Say which column is what, without learning anything.

        What is left at the end of a period is no stock to begin it with.
        """
        rows = as_polars(table)
        used = {getattr(self, name) for name in (*_NUMBERS, "shelf_life", "capacity")}
        used |= {self.on_hand}
        mine = [name for name in used if isinstance(name, str) and name in rows.columns]
        if self.on_hand is not None:
            require_columns(rows, [self.on_hand], "on_hand")
        names = ("date", "series", "sales", "sold_out", "stock", "price", "known_future", "gaps")
        given = Schema(**{name: getattr(self, name) for name in names})
        schema = infer_schema(rows.drop(mine), given)
        schema.refuse_taken((*ORDER_COLUMNS, *_OTHERS))
        if self.on_hand is not None and schema.sold_out is None and schema.stock is None:
            self.empty_tells = self.sold_out != ""
            return schema.with_sold_out(_EMPTY) if self.empty_tells else schema
        self.empty_tells = False
        return schema

    def with_flags(self, rows: polars.DataFrame) -> polars.DataFrame:
        """Add the column of periods at whose end nothing was left, where that tells sell-outs.

        A period sold out only if its sales reached the stock. Where less was sold than was left
        before, what was left has gone another way, and nobody knows; not so in tables in which
        leftovers vanish as a rule: they are of goods that do not last.
        """
        import polars as pl

        if not self.empty_tells:
            return rows
        require_columns(rows, [str(self.on_hand)], "on_hand")
        schema, keys = self.schema_, list(self.schema_.series)
        told = rows.with_columns(
            read_dates(rows, schema.date).alias("\0date"),
            pl.Series("\0left", numbers(rows, str(self.on_hand), "on_hand")).fill_nan(None),
            pl.Series("\0sales", numbers(rows, schema.sales, "sales")).fill_nan(None),
        )
        told = told.with_row_index("\0row").sort("\0date")
        last = pl.col("\0left").shift()
        last = last.over(keys) if keys else last
        empty, gone = pl.col("\0left") <= 0, pl.col("\0sales") + pl.col("\0left") < last
        told = told.select("\0row", empty.alias("empty"), gone.alias("gone")).sort("\0row")
        vanish = told.filter(~pl.col("empty"))["gone"].mean() or 0.0
        flags = told["empty"]
        if float(vanish) <= _VANISH:  # type: ignore[arg-type]
            flags = flags.set((told["empty"] & told["gone"]).fill_null(value=False), None)
        return rows.with_columns(flags.alias(_EMPTY))

    def _rules(self, rows: polars.DataFrame, latest: _Latest) -> SupplyRules:
        """Numbers of the shop, those of columns taken from the last row of each series."""
        words: dict[str, Any] = {}
        for name in (*_NUMBERS, "shelf_life", "capacity"):
            value = getattr(self, name)
            if value is None or (name == "lot" and value == "auto"):
                continue
            if isinstance(value, str):
                require_columns(rows, [value], name)
                value = latest.numbers(rows, value, name)
            words[name] = value
        words = {**self._costs(), **words}
        if self.lot == "auto":
            sold = numbers(rows, self.schema_.sales, "sales")
            sold = sold[~np.isnan(sold)]
            if (sold == np.round(sold)).all():
                words["lot"] = 1.0
        return SupplyRules(unmet=self.unmet, **words)  # type: ignore[arg-type]

    def _costs(self) -> dict[str, Any]:
        """Give costs of holding and shortage; a service level stands for both."""
        if self.shortage is not None:
            return {"holding": self.holding, "shortage": self.shortage}
        level = SERVICE_LEVEL if self.service_level is None else self.service_level
        return {"holding": 1.0 - level, "shortage": level}

    def _state(self, rows: polars.DataFrame, on_order: Any, log: DecisionLog | None) -> StockState:
        n_series = self.panel_.n_series
        shelf = np.zeros(n_series)
        if self.on_hand is not None:
            shelf = self._latest.numbers(rows, self.on_hand, "on_hand")
            if self.unmet == "lost" and (shelf < 0).any():
                place = int(np.argmax(shelf < 0))
                raise InvalidInput(
                    "on_hand must be 0 or more where unmet demand is lost, "
                    f"got {shelf[place]:g}{self._latest.called(place)}."
                )
        coming, told = np.zeros((n_series, 0)), np.zeros(n_series, dtype=np.bool_)
        if on_order is not None:
            coming, told = self._on_its_way(as_polars(on_order), rows)
        if log is not None:
            coming = self._logged(log, coming, told)
        return StockState(shelf, coming)

    def _logged(
        self, log: DecisionLog, coming: Array, told: np.ndarray[Any, np.dtype[np.bool_]]
    ) -> Array:
        """Add orders of the log that have not arrived, of series that nothing else speaks of."""
        logged = log.coming(self.panel_)
        n_series, n_periods = logged.shape
        # the log has one order for a day: what arrives with this one is this one, decided again
        again = np.arange(n_periods) == self.rules_.whole("lead_time", n_series)[:, None]
        there = (logged > 0) & ~again
        taken = np.where(there & ~told[:, None], logged, 0.0)
        count, instead = int((taken > 0).sum()), int((there & told[:, None]).sum())
        if count or instead:
            orders = "1 order" if count == 1 else f"{count:,} orders"
            how = "is taken as on its way" if count == 1 else "are taken as on their way"
            said = f"{orders} of the log, {taken.sum():,.10g} units, {how}"
            if instead:
                said += f"; of {instead:,} more the table of what is on its way speaks instead"
            self.notes_ += (f"{said}.",)
        width = max(n_periods, coming.shape[1])
        found = np.zeros((n_series, width))
        found[:, : coming.shape[1]] += coming
        found[:, :n_periods] += taken
        return found

    def _on_its_way(
        self, coming: polars.DataFrame, rows: polars.DataFrame
    ) -> tuple[Array, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Units by series and period of arrival, and of which series anything is said."""
        schema, panel = self.schema_, self.panel_
        date = schema.date
        if date not in coming.columns and "arrives" in coming.columns:
            date = "arrives"  # a table of orders, as it was written
        names = [*schema.series, date]
        absent = [name for name in names if name not in coming.columns]
        if absent:
            raise InvalidInput(
                f"on_order must have the columns {', '.join(names)} and one of units, "
                f"got no {absent[0]!r}."
            )
        others = [name for name in coming.columns if name not in names]
        units = [name for name in others if coming[name].dtype.is_numeric()]
        units = ["order"] if "order" in units else units
        if len(units) != 1:
            listed = ", ".join(units) or "none"
            raise InvalidInput(f"on_order must have one column of units, got {listed}.")
        quantity = numbers(coming, units[0], "on_order")
        if np.isnan(quantity).any() or (quantity < 0).any():
            bad = quantity[np.isnan(quantity) | (quantity < 0)][0]
            raise InvalidInput(f"on_order must be 0 units or more, got {bad:g} in {units[0]!r}.")
        arrives = read_dates(coming, date, date_form(rows, schema.date))
        first = panel.date(np.array([panel.n_days]))[0].astype(object)
        days = (arrives - first).dt.total_days().to_numpy()
        if (days < 0).any():
            place = int(np.argmax(days < 0))
            raise InvalidInput(
                f"on_order must arrive from {first} on, after the last row of the table, "
                f"got {arrives[place]}."
            )
        period = (days // panel.step).astype(np.intp)
        found = np.zeros((panel.n_series, int(period.max(initial=0)) + 1))
        series = self._latest.places(coming, schema)
        np.add.at(found, (series, period), quantity)
        told = np.zeros(panel.n_series, dtype=np.bool_)
        told[series] = True
        return found, told

    def _notes_on_words(self) -> list[str]:
        said = []
        if self.service_level is None and self.shortage is None:
            said.append(
                f"No costs were given: demand is met in {SERVICE_LEVEL:.0%} of the periods; say "
                "otherwise by --service-level, or by --holding and --shortage."
            )
        if self.on_hand is None:
            said.append(
                "Nothing says what is there: shelves are taken to be empty; name the column of "
                "what is left at the end of a period (--on-hand)."
            )
        if self.panel_.hidden is None:
            said.append(
                "Nothing tells which periods sold out, so sales are taken for demand; a column of "
                "flags, or of what is left at the end, would tell."
            )
        return said

    # --- Deciding.

    @property
    def _closed(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Coming periods on whose weekday nothing was ever sold."""
        panel = self.panel_
        days = panel.n_days + np.arange(self.demand_forecast_.expected.shape[1])
        return np.asarray(~panel.open_weekdays[days % panel.open_weekdays.size])

    @property
    def _all_paths(self) -> Array:
        """Paths of demand; a plan that was loaded draws them when they are needed."""
        if not hasattr(self, "_paths"):
            with one_blas_thread():
                self._paths = self._drawn()
        return self._paths

    def _drawn(self) -> Array:
        """Paths of demand; nothing is asked for on weekdays on which nothing was ever sold."""
        paths = self.demand_forecast_.paths(self.n_paths, seed=self.random_state)
        paths[:, :, self._closed] = 0.0
        return paths

    def _say_what_is_closed(self) -> None:
        closed = self._closed
        if closed.any():
            self.demand_forecast_.expected[:, closed] = 0.0
            self.notes_ += ("Weekdays on which nothing was ever sold have no demand.",)

    def _overrides(self, log: DecisionLog, rows: polars.DataFrame) -> Overrides:
        """Evaluate orders that were changed, from their arrival until the next order could arrive.

        That is what an order is decided by as well: what is too much or too little then, the next
        order corrects. What was there before its arrival is what was left at the end of the period
        before; periods without that, and orders whose time is not over yet, are not evaluated.
        """
        panel, n_series = self.panel_, self.panel_.n_series
        count, suggested, decided = log.overridden(panel)
        series, day = np.nonzero(~np.isnan(decided))
        if self.on_hand is None or not series.size:
            return Overrides(count, 0, 0.0)
        left = self._latest.matrix(rows, self.on_hand, self.schema_, panel)
        review = self.rules_.whole("review", n_series)
        over = (day >= 1) & (day + review[series] <= panel.n_days)
        series, day = series[over], day[over]
        before = left[series, day - 1]
        periods = np.minimum(day[:, None] + np.arange(int(review.max(initial=1))), panel.n_days - 1)
        counted = np.arange(periods.shape[1]) < review[series][:, None]
        demand = self.demand_[series[:, None], periods]
        known = ~np.isnan(before) & (~np.isnan(demand) | ~counted).all(axis=1)
        if self.unmet == "lost":
            before = np.maximum(before, 0.0)
        series, day, before = series[known], day[known], before[known]
        demand, counted = demand[known], counted[known]
        if not series.size:
            return Overrides(count, 0, 0.0)
        rules = some_rules(self.rules_, series, n_series)

        def evaluated(order: Array) -> float:
            shelves, total = Shelves(before, rules), np.zeros(series.size)
            shelves.deliver(order)
            for period in range(demand.shape[1]):
                shelves.sell(np.nan_to_num(demand[:, period]))
                total += np.where(counted[:, period], shelves.cost(), 0.0)
            return float((total + rules.rows("fixed", series.size) * (order > 0)).sum())

        difference = evaluated(decided[series, day]) - evaluated(suggested[series, day])
        return Overrides(count, int(series.size), difference)

    @property
    def order_table_(self) -> polars.DataFrame:
        """What `orders` gives."""
        import polars as pl

        panel, state, rules = self.panel_, self.state_, self.rules_
        found = self.replenishment_
        n_series = panel.n_series
        lead, review = rules.whole("lead_time", n_series), rules.whole("review", n_series)
        ahead = np.arange(self.demand_forecast_.expected.shape[1])
        covered = ahead < (lead + review)[:, None]
        served = covered & (ahead >= lead[:, None])
        chance = np.where(served, found.projection.empty, 0.0).max(axis=1)
        empty = found.projection.runs_empty()
        dates = panel.date(panel.n_days + np.maximum(empty, 0))
        none_left = pl.Series(dates).cast(pl.Date).to_list()
        whole = bool((found.order == np.round(found.order)).all())
        frame = pl.DataFrame(
            {
                "order": pl.Series(found.order).cast(pl.Int64 if whole else pl.Float64).round(4),
                "arrives": pl.Series(panel.date(panel.n_days + lead)).cast(pl.Date),
                "on_hand": np.round(state.on_hand, 4),
                "on_order": np.round(state.on_order.sum(axis=1), 4),
                "expected_demand": np.round(
                    (self.demand_forecast_.expected * covered).sum(axis=1), 2
                ),
                "order_up_to": np.round(state.position + found.order, 4),
                "runs_empty": [
                    day if place >= 0 else None for day, place in zip(none_left, empty, strict=True)
                ],
                "chance_of_running_out": np.round(chance, 3),
            },
            schema_overrides={"runs_empty": pl.Date},
        )
        return self._keyed(frame)

    def _keyed(self, frame: polars.DataFrame, each: int = 1) -> polars.DataFrame:
        """Put the columns of the series before those of a frame, without series that ended."""
        panel = self.panel_
        assert panel.planned is not None
        places = np.repeat(np.arange(panel.n_series), each)
        if self.schema_.series and panel.keys is not None:
            frame = panel.keys.select(self.schema_.series)[places].hstack(frame)
        return frame.filter(np.repeat(panel.planned, each))

    def in_words(self) -> str:
        """Say what was found, in a few sentences."""
        check_is_fitted(self, "replenishment_")
        order_table = self.order_table_
        unit = "days" if self.panel_.step == 1 else "weeks"
        demand_forecast = self.demand_forecast_
        total = float(order_table["order"].sum())
        ordered = int((order_table["order"] > 0).sum())
        said = [f"{total:,.0f} units for {ordered:,} of {order_table.height:,} series."]
        soon = int(order_table["runs_empty"].is_not_null().sum())
        if soon:
            ahead = self.demand_forecast_.expected.shape[1]
            within = f"within {ahead} {unit}" if ahead > 1 else f"in the next {unit[:-1]}"
            said.append(
                f"{soon:,} series {'is' if soon == 1 else 'are'} likely to run empty {within} if "
                "no other order follows."
            )
        follows = f"Expected demand follows {LABELS[demand_forecast.model]}"
        if demand_forecast.model != "usual" and demand_forecast.error:
            less = 1 - demand_forecast.error[demand_forecast.model] / demand_forecast.error["usual"]
            if less >= 0.005:
                follows += f", which missed {less:.0%} less than what is usual"
        said.append(f"{follows}.")
        return " ".join(said)


class _Latest:
    """Last row of each series, in the order of the panel's series."""

    def __init__(self, rows: polars.DataFrame, schema: Schema, dates: polars.Series) -> None:
        import polars as pl

        self.names = list(schema.series)
        text = [as_categories(rows[name]).alias(f"\0{name}") for name in self.names]
        marked = pl.DataFrame([*text, dates.alias("\0date")]).with_row_index("\0row")
        keys = [f"\0{name}" for name in self.names]
        if keys:
            last = marked.sort("\0date").group_by(keys, maintain_order=True).last()
        else:
            last = marked.sort("\0date").tail(1)
        self.last, self.keys = last, keys
        self.n_series = last.height
        self._rows = last["\0row"].to_numpy()
        self._fresh = np.zeros(0, dtype=np.intp)

    def of(self, panel: Panel) -> Self:
        """Put series into the order of a panel; those that only coming rows have are last."""
        import polars as pl

        if not self.keys or panel.keys is None:
            return self
        own = panel.keys.select(self.keys)
        joined = own.join(
            self.last.with_columns(pl.col("\0row").alias("\0place")),
            on=self.keys,
            how="left",
            maintain_order="left",
        )
        place = joined["\0place"].cast(pl.Int64).fill_null(-1).to_numpy()
        self._rows = np.where(place >= 0, place, 0)
        self._fresh = np.flatnonzero(place < 0)
        self.last = own.with_row_index("\0row")
        self.n_series = own.height
        return self

    def numbers(self, rows: polars.DataFrame, column: str, field: str) -> Array:
        """Give the number of a column in the last row of each series."""
        found: Array = numbers(rows, column, field)[self._rows].copy()
        known = np.delete(found, self._fresh)
        found[self._fresh] = 0.0 if field == "on_hand" or not known.size else np.median(known)
        if np.isnan(found).any():
            place = int(np.argmax(np.isnan(found)))
            raise InvalidInput(
                f"{field} must be a number in the last row of every series, got none in column "
                f"{column!r}{self.called(place)}."
            )
        return found

    def places(self, coming: polars.DataFrame, schema: Schema) -> np.ndarray[Any, Any]:
        """Places of the series that rows of another table speak of."""
        import polars as pl

        if not self.keys:
            return np.zeros(coming.height, dtype=np.intp)
        asked = coming.select(as_categories(coming[name]).alias(f"\0{name}") for name in self.names)
        found = asked.join(self.last, on=self.keys, how="left", maintain_order="left")["\0row"]
        if found.null_count():
            row = int(found.is_null().arg_max() or 0)
            words = ", ".join(f"{name} {coming[name][row]}" for name in schema.series)
            raise InvalidInput(f"on_order must be of series that the table has, got {words}.")
        return found.cast(pl.Int64).to_numpy().astype(np.intp)

    def matrix(self, rows: polars.DataFrame, column: str, schema: Schema, panel: Panel) -> Array:
        """Numbers of a column by series and period of a panel; NaN where there is none."""
        day = (read_dates(rows, schema.date) - panel.first_day).dt.total_days().to_numpy()
        found = np.full((panel.n_series, panel.n_days), np.nan)
        place = self.places(rows, schema)
        found[place, (day // panel.step).astype(np.intp)] = numbers(rows, column, column)
        return found

    def called(self, place: int) -> str:
        """Name a series in a sentence."""
        words = [
            f"{name} {self.last[key][place]}"
            for name, key in zip(self.names, self.keys, strict=True)
        ]
        return f" for {', '.join(words)}" if words else ""
