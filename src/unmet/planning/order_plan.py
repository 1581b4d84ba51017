"""From a sales history to the orders of the coming days.

`OrderPlan` finds its way in a table, lets candidates compete on the last weeks of it, learns the
cheapest of them on all of it, and decides for every series and every coming day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array
from unmet.censoring.latent.observed import RateRange, read_rate
from unmet.censoring.latent.stack import SelloutProfile
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput, MissingPackage
from unmet.estimators.base import one_blas_thread
from unmet.estimators.lots import ShiftCost, to_lots
from unmet.evaluation import censored_cost
from unmet.evaluation.censored import CensoredCost
from unmet.persistence import save
from unmet.planning.decision_log import DecisionLog, Overrides, unevaluated
from unmet.planning.history import History
from unmet.planning.panel_models import (
    CANDIDATES,
    LABELS,
    MAX_DISTRIBUTIONS,
    MIN_ROWS,
    VIEWS,
    PanelModel,
    TrainingSet,
)
from unmet.planning.panel_models import drivers as drivers_of
from unmet.planning.problem_estimators import Rate
from unmet.progress import Step, silent
from unmet.rows import Rows
from unmet.tables.panel import (
    GAPS,
    KnowsHours,
    Panel,
    Places,
    read_panel,
    refuse_absurd,
    with_hours,
)
from unmet.tables.reading import as_polars, kind_of, like_table
from unmet.tables.schema import Schema, infer_schema
from unmet.validation import ErrorCollector, Maybe, Number, OneOf, WholeNumber

if TYPE_CHECKING:
    import polars

SERVICE_LEVEL = 0.9
"""What is planned for where nobody says what mistakes cost: demand is met on nine days of ten."""
BLOCKS = 4, 12
"""Fewest and most blocks of `horizon` days at the end of a history that candidates are compared on:
as many as `ENOUGH` rows need, as far as there are days."""
ENOUGH = 1000
_HELD_OUT = 0.4  # of the days at most
_MIN_DAYS = 21  # to learn from before the first block
_MOSTLY_KNOWN = 0.5  # of the rows must be flagged yes or no for an censoring_adjusted score
_MIN_SEEN = 20
_VOLUMES = ("slow", "middling", "fast")
_BACKTEST_ROWS = 200_000  # are enough to tell candidates apart
_SIMPLE = "Orders follow the level and weekdays of each series, shrunk to those of all"
_SIMPLER = "take a simpler model (--model seasonal)"
_HIGHEST = 0.999  # level of sales beyond which a history has nothing to say
ORDER_COLUMNS = ("order", "usual_sales", "hidden_demand", "safety", "based_on", "low", "high")
"""Columns of a table of orders, after those of the series and the date; some of them where they are
asked for."""


@dataclass(frozen=True)
class ChosenModel:
    """Which candidate decides, and what all of them cost on days held out.

    Attributes
    ----------
    model : str
        One of `CANDIDATES`.
    why : str
        One sentence.
    cost : dict from str to float
        Mean cost of a day of a series; empty where nothing was compared.
    groups : dict from str to dict from str to float
        The same for slow, middling and fast sellers.
    n_rows, n_days : int
        Rows and days held out.
    censoring_adjusted : bool
        Whether sold-out days were weighed for; otherwise sales were taken for demand.
    left_out : tuple of str
        Sentences on candidates that could not take part.
    """

    model: str
    why: str
    cost: dict[str, float] = field(default_factory=dict)
    groups: dict[str, dict[str, float]] = field(default_factory=dict)
    n_rows: int = 0
    n_days: int = 0
    censoring_adjusted: bool = False
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        return asdict(self)


class OrderPlan(BaseEstimator):
    """Orders for the coming days, from a table of past sales.

    Parameters
    ----------
    horizon : int, default=7
        How many days orders are for; weeks, where the table has one row a week.
    lead_time : int, default=0
        Days between the last one that is known and the first one that orders are for.
    underage, overage : float, default=None
        What a unit too little and a unit too much cost.
    service_level : float, default=None
        Instead of costs: the share of days on which demand is to be met. Without either it is 0.9.
    sellout_rate : float or (float, float), default=None
        Share of days that sold out, where neither flags nor stock tell which: orders are then those
        of a higher level of sales (`unmet.censoring.latent.stack.SelloutProfile`). A range is
        planned for by its middle, and the table of orders says what its ends would ask for.
    date, series, sales, sold_out, stock, price, known_future : default=None
        Columns; what is not said is guessed (`unmet.planning.infer_schema`).
    gaps : {"auto", "missing", "zero"}, default="auto"
        What days without a row are.
    country : str, default=None
        Code of a country whose public holidays are features, such as "DE"; needs the package
        ``holidays``.
    model : str or sequence of str, default="auto"
        "seasonal", "linear", "distribution", "neural", "boosted" or "blend"; of several, or of all
        with "auto", the one that costs least on days held out.
    step : float, None or "auto", default="auto"
        Size of a lot; None keeps fractions. By default 1 where all sales are whole numbers.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads of trees; the answer does not depend on it.

    Attributes
    ----------
    schema_ : Schema
        Which column is what.
    choice_ : ChosenModel
        Which candidate decides, and why.
    cost_ : Newsvendor
    notes_ : tuple of str
        What a planner should know of the table.
    panel_ : Panel
    n_rows_ : int
        Rows of the table.
    order_table_ : polars.DataFrame
        What `orders` gives.
    targets_ : tuple of ndarray
        Series, day and gap of each row of it, as numbers of the panel.
    rate_ : RateRange or None
        Sell-out rates that are planned for.
    demand_ : ndarray of shape (n_series, n_days) or None
        Sales, with the expected demand of days that sold out.
    overrides_ : Overrides or None
        What changing suggestions has cost or saved, where `fit` was given a log.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.planning import OrderPlan, example
    >>> sales = example().sales.filter(pl.col("dish").is_in(["lamb", "steak"]))
    >>> plan = OrderPlan(horizon=2, service_level=0.8, model="linear").fit(sales)
    >>> plan.schema_.series, plan.schema_.sold_out
    (('dish',), 'sold_out')
    >>> plan.orders().columns
    ['dish', 'date', 'order', 'usual_sales', 'hidden_demand', 'safety', 'based_on']
    >>> plan.orders().height
    4
    """

    def __init__(
        self,
        *,
        horizon: int = 7,
        lead_time: int = 0,
        underage: float | None = None,
        overage: float | None = None,
        service_level: float | None = None,
        sellout_rate: Rate = None,
        date: str | None = None,
        series: Sequence[str] | None = None,
        sales: str | None = None,
        sold_out: str | None = None,
        stock: str | None = None,
        price: str | None = None,
        known_future: Sequence[str] | None = None,
        gaps: str = "auto",
        country: str | None = None,
        model: str | Sequence[str] = "auto",
        step: float | str | None = "auto",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.horizon = horizon
        self.lead_time = lead_time
        self.underage = underage
        self.overage = overage
        self.service_level = service_level
        self.sellout_rate = sellout_rate
        self.date = date
        self.series = series
        self.sales = sales
        self.sold_out = sold_out
        self.stock = stock
        self.price = price
        self.known_future = known_future
        self.gaps = gaps
        self.country = country
        self.model = model
        self.step = step
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check(self) -> Newsvendor:
        """Refuse words that do not fit together, all of them at once; give the cost."""
        wrong = ErrorCollector()
        ask = wrong.ask
        ask(WholeNumber(1, 366), "horizon", self.horizon)
        ask(WholeNumber(0, 366), "lead_time", self.lead_time)
        for name in ("underage", "overage"):
            ask(Maybe(Number(above=0)), name, getattr(self, name))
        ask(Maybe(Number(above=0, below=1)), "service_level", self.service_level)
        ask(OneOf(*GAPS), "gaps", self.gaps)
        ask(WholeNumber(0, 2**32 - 2), "random_state", self.random_state)
        if self.step not in ("auto", None):
            ask(Number(above=0), "step", self.step)
        ask(self._names)
        ask(read_rate, self.sellout_rate)
        wrong.about_costs(self.service_level, underage=self.underage, overage=self.overage)
        wrong.tell()
        if self.underage is not None and self.overage is not None:
            return Newsvendor(self.underage, self.overage)
        return Newsvendor.at_level(
            SERVICE_LEVEL if self.service_level is None else self.service_level
        )

    def columns(self, table: Any) -> Schema:
        """Say which column is what, without learning anything."""
        names = ("date", "series", "sales", "sold_out", "stock", "price", "known_future", "gaps")
        given = Schema(**{name: getattr(self, name) for name in names})
        found = infer_schema(as_polars(table), given)
        found.refuse_taken(ORDER_COLUMNS)
        return found

    def fit(
        self,
        table: Any,
        *,
        future: Any = None,
        log: DecisionLog | None = None,
        hours: KnowsHours | None = None,
        progress: Step | None = None,
    ) -> Self:
        """Learn from a table of pandas, polars or pyarrow.

        Parameters
        ----------
        table : table
            One row for each series and day.
        future : table, optional
            What is known of coming days: the date, columns of the series or some of them, and
            columns that the table has as well, such as prices. Series that only it has are new.
        log : DecisionLog, optional
            What was suggested, decided and delivered before. Days of which it says what was there
            to sell are known to have sold out or not, where no column of the table tells.
        hours : DetectedStockouts or RecoveredDemand, optional
            What the hours of the till say of the same days (`unmet.censoring.hours`): how likely
            each sold out, and what it lost.
        progress : callable, optional
            Is told how far the work is: ``progress(done, total, doing)``.

        Returns
        -------
        OrderPlan
            Itself.
        """
        self.cost_ = self.check()
        rows = as_polars(table)
        if not rows.height:
            raise InvalidInput("table must have at least one row, got none.")
        tell: Step = progress if progress is not None else silent
        tell(0, 5, "reading the table")
        self.schema_: Schema = self.columns(rows)
        ahead = self.lead_time + self.horizon
        self.panel_, notes = read_panel(rows, self.schema_, coming=future, n_coming=ahead)
        self.schema_ = self.schema_.with_known_future(self.panel_.known)
        if log is not None:
            log.check(self.schema_.series)
            hidden, said = log.flags(self.panel_)
            self.panel_ = replace(self.panel_, hidden=hidden)
            notes += said
        if hours is not None:
            if not hasattr(hours, "drawn_demand"):
                raise InvalidInput(
                    f"hours must be what detect_stockouts or recover gives, got a "
                    f"{type(hours).__name__}."
                )
            told = hours.drawn_demand(VIEWS, self.random_state)
            self.panel_, said = with_hours(self.panel_, self.schema_.series, told)
            notes += said
        self.rate_: RateRange | None = read_rate(self.sellout_rate)
        self.notes_ = (*self._notes_on_words(), *notes)
        if self.panel_.hidden is not None:
            self.rate_ = None
        self.n_rows_ = rows.height
        self._kind = kind_of(table)
        with one_blas_thread():  # the same sums on every machine
            self._learn(tell)
        self.overrides_: Overrides | None = None
        if log is not None:
            demand = self.demand_
            if demand is None:  # sold-out days hide what nobody has estimated
                demand = self.panel_.observed.copy()
                demand[self.panel_.imputed] = np.nan
            self.overrides_ = log.overrides(self.panel_, demand, self.cost_)
            if self.overrides_.known and self.underage is None:
                self.notes_ += (unevaluated(float(self.cost_.level)),)
        self.panel_ = replace(self.panel_, drawn=None)  # all of it has been learned
        return self

    def _learn(self, tell: Step) -> Self:
        """Choose, learn and decide."""
        tell(1, 5, "comparing models on the last weeks")
        self.choice_ = self._choose()
        tell(2, 5, f"learning {LABELS[self.choice_.model]}")
        training = self._training(self.panel_)
        as_sold = self._training(self.panel_, impute=False) if training.imputed else training
        self._imputed: Array | None = None
        if training.imputed:
            self._imputed = training.demand[self.panel_.imputed]
        name = self.choice_.model
        self.model_ = self._fit_model(name, training)
        tell(3, 5, "taking orders apart")
        middle = Newsvendor.at_level(0.5)
        self._median = self._fit_model(name, as_sold, middle)
        with_hidden: PanelModel | None = None
        ends: list[PanelModel] = []
        if training.imputed:
            with_hidden = self._fit_model(name, training, middle)
        elif self.rate_ is not None:
            levels = [_observed(0.5, self.rate_.imposed[0])]
            if self.rate_.low < self.rate_.high:
                rates = (self.rate_.low, self.rate_.high)
                levels += [_observed(float(self.cost_.level), each) for each in rates]
            asked = [Newsvendor.at_level(level) for level in levels]
            with_hidden, *ends = (self._fit_model(name, training, each) for each in asked)
        tell(4, 5, "deciding")
        self.order_table_ = self._decide(training, as_sold.history, with_hidden, ends)
        tell(5, 5, "done")
        return self

    def orders(self) -> Any:
        """Give the table of orders: one row for each series and coming day.

        Returns
        -------
        table of the kind that `fit` was given
            The columns of the series, the date, and

            - ``order``;
            - ``usual_sales``: what is sold on half of such days;
            - ``hidden_demand``: what is asked for beyond that where it sells out;
            - ``safety``: what is added because running out costs more than a leftover (or taken
              away where it costs less), rounding included;
            - ``based_on``: "own history", "short history" or "similar series";
            - ``low`` and ``high``, with a range of sell-out rates: what its ends ask for.

            The order is the sum of usual sales, hidden demand and safety.
        """
        check_is_fitted(self, "choice_")
        return like_table(self.order_table_, self._kind)

    def explain(self, rows: Any = None, *, drivers: bool = False) -> Any:
        """Take orders apart: order = usual sales + hidden demand + cost of running out, in units.

        Parameters
        ----------
        rows : table, optional
            With the columns of the series and the date: which rows, in which order. By default all.
        drivers : bool, default=False
            Whether usual sales are taken apart as well, into the columns
            `unmet.planning.panel_models.DRIVERS`: what the series usually sells, and what recent
            sales, the weekday, the season, what is known beforehand (prices, promotions), similar
            series and all else add or take away. For trees these are SHAP values, for the linear
            model coefficients times the distance from the mean; the same weekdays before and the
            distribution cannot be taken apart so.

        Returns
        -------
        table of the kind that `fit` was given
        """
        check_is_fitted(self, "choice_")
        import polars as pl

        names = [*self.schema_.series, self.schema_.date]
        parts = self.order_table_.select(*names, "usual_sales", "hidden_demand", "safety", "order")
        parts = parts.rename({"safety": "cost_of_running_out"})
        if rows is None:
            place = np.arange(parts.height)
        else:
            place = self._places(as_polars(rows), parts.select(names))
        found = parts[place]
        if drivers:
            apart = self._drivers(place)
            found = pl.concat([found.select(names), apart, found.drop(names)], how="horizontal")
        return like_table(found, self._kind)

    def _places(self, asked: polars.DataFrame, own: polars.DataFrame) -> Places:
        """Rows of the table of orders that are asked for."""
        import polars as pl

        names = own.columns
        absent = [name for name in names if name not in asked.columns]
        if absent:
            raise InvalidInput(
                f"rows must have the columns {', '.join(names)}, got no {absent[0]!r}."
            )
        numbered = own.with_row_index("\0row")
        place = asked.select(
            pl.col(name).cast(own[name].dtype, strict=False) for name in names
        ).join(numbered, on=names, how="left", maintain_order="left")["\0row"]
        if place.null_count():
            row = int(place.is_null().arg_max() or 0)
            raise InvalidInput(
                f"rows must be among the orders, got row {row}: "
                f"{', '.join(str(each) for each in asked.select(names).row(row))}."
            )
        return place.to_numpy().astype(np.intp)

    def _drivers(self, place: Places) -> polars.DataFrame:
        """Take usual sales of rows of the table of orders apart."""
        import polars as pl

        series, day, gap = (each[place] for each in self.targets_)
        history = History(self.panel_, seasons=self.panel_.tells_seasons, country=self.country)
        with one_blas_thread():
            found = drivers_of(self._median, history, series, day, gap)
        return pl.DataFrame({name: np.round(values, 4) for name, values in found.items()})

    @property
    def demand_(self) -> Array | None:
        """Sales, with the expected demand of days that sold out; None where none were imputed."""
        if self._imputed is None or self.panel_.hidden is None:
            return None
        demand = self.panel_.observed.copy()
        demand[self.panel_.imputed] = self._imputed
        return demand

    # --- Saving.

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> Path:
        """Write this plan to one file that holds no code; `unmet.load` reads it.

        What is loaded has the same orders, explains them and is reported in the same way. The file
        holds the panel, but no features.

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

    # --- Learning.

    def _names(self) -> tuple[str, ...]:
        """Candidates that may decide."""
        if self.model == "auto":
            return CANDIDATES
        listed = (self.model,) if isinstance(self.model, str) else tuple(self.model)
        wrong = [name for name in listed if name not in CANDIDATES]
        if wrong or not listed:
            known = ", ".join(map(repr, CANDIDATES))
            raise InvalidInput(
                f"model must be 'auto', one of {known}, or several of these, got {self.model!r}."
            )
        return listed

    def _notes_on_words(self) -> list[str]:
        said = []
        if self.service_level is None and self.underage is None:
            said.append(
                f"No costs were given: orders meet demand on {SERVICE_LEVEL:.0%} of the days; "
                "say otherwise by --service-level, or by --underage and --overage."
            )
        if self.rate_ is not None and self.panel_.hidden is not None:
            said.append("The sell-out rate is not used: flags or stock tell which days sold out.")
        if self.rate_ is None and self.panel_.hidden is None:
            said.append(
                "Nothing tells which days sold out, so sales are taken for demand; if you know "
                "about how often you do, say so by --sellout-rate, such as .2 or .1,.3."
            )
        return said

    @property
    def _unit(self) -> str:
        return "days" if self.panel_.step == 1 else "weeks"

    @property
    def _sales_cost(self) -> Newsvendor:
        """The cost under which sales ask for what demand does under `cost_`."""
        if self.rate_ is None:
            return self.cost_
        rate = self.rate_.imposed[0]
        return Newsvendor.at_level(_observed(float(self.cost_.level), rate))

    def _model(self, name: str, cost: Newsvendor | None = None) -> PanelModel:
        return PanelModel(name, cost or self._sales_cost, self.random_state, self.n_jobs)

    def _fit_model(
        self, name: str, training: TrainingSet, cost: Newsvendor | None = None
    ) -> PanelModel:
        return self._model(name, cost).fit(training)

    def _training(self, panel: Panel, *, impute: bool = True, **how: Any) -> TrainingSet:
        return TrainingSet(
            panel,
            self.horizon,
            self.lead_time,
            impute=impute,
            seasons=self.panel_.tells_seasons,
            country=self.country,
            seed=self.random_state,
            **how,
        )

    def _held_out(self) -> tuple[int, int]:
        """Blocks of days that can be held out, and how many days are before them."""
        panel = self.panel_
        wanted = -(-ENOUGH // (panel.n_series * self.horizon))
        wanted = min(max(wanted, BLOCKS[0]), BLOCKS[1])
        n_blocks = min(wanted, int(_HELD_OUT * panel.n_days) // self.horizon)
        start = panel.n_days - n_blocks * self.horizon - self.lead_time
        while n_blocks > 0 and start < _MIN_DAYS:
            n_blocks, start = n_blocks - 1, start + self.horizon
        return n_blocks, start

    def _short(self) -> ChosenModel | None:
        """Take the simplest model of a past that is too short to compare any; None if it is not."""
        panel, unit = self.panel_, self._unit
        seen = int((~np.isnan(panel.observed)).sum())
        if seen < 2 * MIN_ROWS:
            return ChosenModel("seasonal", f"{_SIMPLE}: {seen} {unit} are too few to compare.")
        if self._held_out()[0] < 1:
            why = f"{panel.n_days} {unit} are too few to hold some out and compare."
            return ChosenModel("seasonal", f"{_SIMPLE}: {why}")
        return None

    def _choose(self) -> ChosenModel:
        """Compare candidates on the last blocks of days; each learns from what was before all."""
        names, panel, unit = self._names(), self.panel_, self._unit
        if len(names) == 1:
            return ChosenModel(names[0], f"Orders follow {LABELS[names[0]]}, as asked.")
        if (short := self._short()) is not None:
            return short
        n_blocks, start = self._held_out()
        training = self._training(panel.until(start), most_rows=_BACKTEST_ROWS)
        if training.n_rows < MIN_ROWS:
            return ChosenModel("seasonal", f"{_SIMPLE}: the past is short.")
        fitted, left_out = self._fitted(names, training)
        blocks = [start + block * self.horizon for block in range(n_blocks)]
        decided: dict[str, list[Array]] = {name: [] for name in names if name in fitted}
        where: list[tuple[Places, Places]] = []
        for known in blocks:
            history = training.continued(panel.until(known))
            series, day, gap = self._targets(known, panel)
            kept = ~np.isnan(panel.observed[series, day])
            series, day, gap = series[kept], day[kept], gap[kept]
            if not series.size:
                continue
            where.append((series, day))
            found = {
                name: model.decide(history, series, day, gap)
                for name, model in fitted.items()
                if name != "blend"
            }
            if "blend" in decided:
                found["blend"] = 0.5 * (found["linear"] + found["boosted"])
            for name, each in decided.items():
                each.append(found[name])
        if not where:
            return ChosenModel("seasonal", f"{_SIMPLE}: the last {unit} are empty.")
        series, day = (np.concatenate(each) for each in zip(*where, strict=True))
        orders = {name: np.concatenate(each) for name, each in decided.items()}
        score, censoring_adjusted = self._score(orders, series, day, training.usual_orders(series))
        return self._told(
            score, censoring_adjusted, series, n_blocks * self.horizon, tuple(left_out)
        )

    def _fitted(
        self, names: Sequence[str], training: TrainingSet
    ) -> tuple[dict[str, PanelModel], list[str]]:
        """Candidates that have learned; those whose package is missing are left out."""
        wanted = [name for name in names if name != "blend"]
        if "blend" in names:
            wanted = list(dict.fromkeys([*wanted, "linear", "boosted"]))
        fitted: dict[str, PanelModel] = {}
        left_out: list[str] = []
        for name in wanted:
            if name == "distribution" and training.panel.n_series > MAX_DISTRIBUTIONS:
                left_out.append(
                    f"{LABELS[name].capitalize()} took no part: {training.panel.n_series:,} series "
                    f"are more than {MAX_DISTRIBUTIONS:,}."
                )
                continue
            try:
                fitted[name] = self._model(name).fit(training)
            except MissingPackage as error:
                left_out.append(f"{LABELS[name].capitalize()} took no part: {error}")
        if "blend" in names and {"linear", "boosted"} <= fitted.keys():
            fitted["blend"] = self._model("blend")
        return fitted, left_out

    def _targets(self, known: int, panel: Panel) -> tuple[Places, Places, Places]:
        """Series, days and gaps of one block, decided when so many days were known."""
        first = known + self.lead_time
        series = np.repeat(np.arange(panel.n_series), self.horizon)
        day = np.tile(np.arange(first, first + self.horizon), panel.n_series)
        return series, day, day - known + 1

    def _score(
        self, orders: Mapping[str, Array], series: Places, day: Places, usual: Array | None
    ) -> tuple[CensoredCost, bool]:
        """Evaluate candidates on days held out; sold-out days are weighed for where known.

        Orders of the past followed habits of each series, so that what it sold when it sold out is
        what says how far they reached.
        """
        panel = self.panel_
        if panel.drawn is not None:  # evaluated on what the hours say was asked for
            n_draws = panel.drawn.shape[0]
            asked = panel.drawn[:, series, day].ravel()
            often = {name: np.tile(each, n_draws) for name, each in orders.items()}
            groups = np.tile(series, n_draws) if np.unique(series).size >= 10 else None
            return censored_cost(
                self.cost_, often, asked, np.zeros(asked.size), groups=groups
            ), True
        observed = panel.observed[series, day]
        groups = series if np.unique(series).size >= 10 else None
        if panel.hidden is not None:
            flags = panel.hidden[series, day]
            told = float(np.mean(~np.isnan(flags)))
            if told >= _MOSTLY_KNOWN and (flags == 0.0).sum() >= _MIN_SEEN:
                try:
                    found = censored_cost(
                        self.cost_, orders, observed, flags, level=usual, groups=groups
                    )
                    return found, bool((flags == 1.0).any())
                except InvalidInput:
                    pass  # too few rows are known enough: evaluated on sales, which is said
        seen = np.zeros(observed.size)
        return censored_cost(self._sales_cost, orders, observed, seen, groups=groups), False

    def _told(
        self,
        score: CensoredCost,
        censoring_adjusted: bool,
        series: Places,
        n_days: int,
        left_out: tuple[str, ...],
    ) -> ChosenModel:
        """Say which candidate it is, by how much, and what it costs for slow and fast sellers."""
        ordered = sorted(score.cost, key=score.cost.__getitem__)
        best = ordered[0]
        panel = self.panel_
        series = np.tile(series, score.weight.size // series.size)
        with np.errstate(invalid="ignore"):
            level = np.nansum(panel.observed, axis=1) / (~np.isnan(panel.observed)).sum(axis=1)
        place = np.argsort(np.argsort(np.nan_to_num(level), kind="stable"), kind="stable")
        third = (3 * place // max(level.size, 1)) if level.size >= 9 else np.ones_like(place)
        groups: dict[str, dict[str, float]] = {}
        for number, name in enumerate(_VOLUMES):
            rows = (third[series] == number) & (score.weight > 0)
            if level.size >= 9 and rows.any():
                share = score.weight[rows] / score.weight[rows].sum()
                groups[name] = {
                    each: float(share @ score.per_row[each][rows]) for each in score.cost
                }
        why = (
            f"Orders follow {LABELS[best]}: on the last {n_days} {self._unit}, which it had not "
            f"seen, {_less(score.cost, best, ordered[1])}"
        )
        if "seasonal" in score.cost and ordered[1] != "seasonal" != best:
            why += f", and {_less(score.cost, best, 'seasonal')}"
        return ChosenModel(
            best,
            why + ".",
            dict(score.cost),
            groups,
            score.n_known,
            n_days,
            censoring_adjusted,
            left_out,
        )

    # --- Deciding.

    def _decide(
        self,
        training: TrainingSet,
        as_sold: History,
        with_hidden: PanelModel | None,
        ends: Sequence[PanelModel],
    ) -> polars.DataFrame:
        """Future rows, their orders, and what these consist of."""
        import polars as pl

        panel = self.panel_
        series, day, gap = self._targets(panel.n_days, panel)
        open_days = panel.open_weekdays[day % panel.open_weekdays.size]
        if not open_days.all():
            self.notes_ += ("Weekdays on which nothing was ever sold have no orders.",)
        assert panel.planned is not None
        kept = open_days & panel.planned[series]
        series, day, gap = series[kept], day[kept], gap[kept]
        self.targets_ = series, day, gap
        if not series.size:
            raise InvalidInput(
                "table must have series that are still sold, got none with a row in the last four "
                "weeks."
            )
        decided = self.model_.decide(training.history, series, day, gap)
        usual = self._median.decide(as_sold, series, day, gap)
        hidden = np.zeros(decided.size)
        if with_hidden is not None:
            whole = with_hidden.decide(training.history, series, day, gap)
            hidden = np.maximum(whole - usual, 0.0)
        other = f"give more {self._unit}" if self.choice_.model == "seasonal" else _SIMPLER
        for expected in (decided, usual + hidden):
            refuse_absurd(panel, series, expected, other)
        order = self._lots(decided, training)
        seen = (~np.isnan(panel.observed)).sum(axis=1)
        based_on = np.where(seen >= 28 // panel.step, "own history", "short history")
        based_on = np.where(seen == 0, "similar series", based_on)
        new = int((seen[panel.planned] == 0).sum())
        if new:
            are = "series is" if new == 1 else "series are"
            self.notes_ += (f"{new:,} {are} new: orders are based on similar series.",)
        assert panel.keys is not None
        keys = panel.keys.select(self.schema_.series)[series] if self.schema_.series else None
        usual, hidden = np.round(usual, 2), np.round(hidden, 2)
        safety = np.round(order - usual - hidden, 4)
        whole_units = bool((order == np.round(order)).all())
        units = pl.Int64 if whole_units else pl.Float64
        made = pl.DataFrame(
            {
                self.schema_.date: pl.Series(panel.date(day)).cast(pl.Date),
                "order": pl.Series(np.round(order, 4)).cast(units),
                "usual_sales": usual,
                "hidden_demand": hidden,
                "safety": safety,
                "based_on": based_on[series],
            }
        )
        if ends:
            low, high = (model.decide(training.history, series, day, gap) for model in ends)
            low, high = np.minimum(np.maximum(low, 0.0), order), np.maximum(high, order)
            made = made.with_columns(
                pl.Series(name, np.round(each, 0 if whole_units else 4)).cast(units)
                for name, each in (("low", low), ("high", high))
            )
        return made if keys is None else keys.hstack(made)

    def _lots(self, decided: Array, training: TrainingSet) -> Array:
        """Round to lots the cheaper way, which differs between slow and fast sellers."""
        step = self.lot_
        if step is None:
            return np.maximum(decided, 0.0)
        if not training.n_rows:
            nearest = np.ceil(np.round(decided / step, 6) - 0.5) * step
            return np.maximum(nearest, 0.0)
        some = np.sort(np.random.default_rng(self.random_state).permutation(training.n_rows)[:6000])
        level = training.level[some]
        truth = training.value[some] * level
        first = np.minimum(self.lead_time + 1, training.day[some])
        learned = self.model_.decide(
            training.history, training.series[some], training.day[some], first
        )
        cuts = np.quantile(level, [1 / 3, 2 / 3])
        own = np.searchsorted(cuts, decided)
        order = np.empty(decided.size)
        for third in range(3):
            rows = np.searchsorted(cuts, level) == third
            rows = rows if rows.sum() >= MIN_ROWS else np.ones(some.size, dtype=np.bool_)
            nothing = np.empty((int(rows.sum()), 0))
            shifts = ShiftCost.at(Rows(nothing, truth[rows], self._sales_cost), learned[rows])
            asked = own == third
            order[asked] = to_lots(decided[asked], shifts, step, 0, None)
        return order

    @property
    def lot_(self) -> float | None:
        """Size of a lot."""
        if self.step != "auto":
            return None if self.step is None else float(self.step)
        values = self.panel_.observed[~np.isnan(self.panel_.observed)]
        return 1.0 if (values == np.round(values)).all() else None


def _observed(level: float, rate: float) -> float:
    """Level of sales at which demand has its quantile at a level, if so many days sold out."""
    return min(float(SelloutProfile.of(rate).observed_level(level)), _HIGHEST)


def _less(cost: Mapping[str, float], best: str, other: str) -> str:
    """How much less the best costs than another one, in words."""
    if cost[other] <= 0:
        return f"it costs as much as {LABELS[other]}"
    share = 1.0 - cost[best] / cost[other]
    return f"it costs {share:.1%} less than {LABELS[other]}"
