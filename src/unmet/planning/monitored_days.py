"""The days since a plan: new rows on the grid of the plan's series and days.

Beside what was sold stands what the plan expected of the day, whether it sold out, whether the plan
was followed, and the last weeks before the plan, with which new days are compared.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.planning.decision_log import DecisionLog
from unmet.planning.encoding import as_categories
from unmet.planning.order_plan import OrderPlan
from unmet.planning.panel import Panel, read_panel
from unmet.planning.reading import read_dates
from unmet.planning.replenishment_plan import ReplenishmentPlan

if TYPE_CHECKING:
    import polars

REFERENCE = 112, 52
"""Days, or weeks where a row is a week, before the plan's last one that say what is usual."""
MIN_REFERENCE = 14
"""Days with rows that a series needs among them to be compared with."""
MAX_NAMES = 5
"""Series, or values of a column, that a sentence names."""
_FAST = 5.0  # a day: from here on half of such days is about the mean
_DRAWN = 3.0  # days of all weekdays that count beside those of the same


class MonitoredDays:
    """New rows beside the plan: matrices of the plan's series × new days."""

    def __init__(
        self,
        plan: OrderPlan | ReplenishmentPlan,
        table: polars.DataFrame,
        log: DecisionLog | str | Path | None,
    ) -> None:
        self.plan, self.panel, self.schema = plan, plan.panel_, plan.schema_
        self.lasting = isinstance(plan, ReplenishmentPlan)
        self.level = (
            plan.service_level_ if isinstance(plan, ReplenishmentPlan) else float(plan.cost_.level)
        )
        panel, schema = self.panel, self.schema
        if isinstance(plan, ReplenishmentPlan):
            table = plan.with_flags(table)
        known = tuple(panel.known)
        asked = (schema.date, *schema.series, schema.sales, schema.sold_out, schema.stock, *known)
        lacking = [name for name in asked if name is not None and name not in table.columns]
        if lacking:
            raise InvalidInput(
                f"table must have the columns that the plan was made from, got no {lacking[0]!r} "
                f"but {', '.join(table.columns[:20])}."
            )
        end = panel.date(np.array([panel.n_days - 1]))[0].astype(object)
        dates = read_dates(table, schema.date)
        newest = str(dates.max())
        self.rows = table.filter(dates > end)
        if not self.rows.height:
            raise InvalidInput(
                f"table must have rows after the plan's last day, {end}, got none after {newest}."
            )
        self.n_rows = self.rows.height
        self.notes: list[str] = []
        zeros = plan.gaps == "zero" or any(" as 0 sold" in note for note in plan.notes_)
        fresh, notes = read_panel(
            self.rows.with_columns(dates.filter(dates > end).alias(schema.date)),
            replace(schema, known=(), static=()),
            gaps="zero" if zeros else "missing",
        )
        self.notes += [note for note in notes if "no orders" not in note]
        self.fresh, self.known = fresh, known
        self.cycle = 7 if panel.step == 1 else 1
        columns = self._columns(fresh.date(np.arange(fresh.n_days)))
        self.n_days = int(columns[-1]) + 1
        self.day = panel.n_days + np.arange(self.n_days)
        self.dates = panel.date(self.day)
        self.of_day = self.day % self.cycle
        self.owner = self._owners(fresh)
        self.own = self.owner >= 0
        self._place = np.ix_(self.owner[self.own], columns)
        self.observed = self.on_grid(fresh.observed)
        self.seen = ~np.isnan(self.observed)
        if not self.seen.any():
            raise InvalidInput(
                "table must have new rows of series that the plan knows, got none of them."
            )
        self._flags(log)
        self._reference()
        self._orders()

    def _columns(self, dates: NDArray[np.datetime64]) -> NDArray[np.intp]:
        """Places of dates after the plan's last day."""
        apart = (dates - np.datetime64(self.panel.first_day, "D")).astype(np.int64)
        used = apart[~np.isnan(self.fresh.observed).all(axis=0)]
        if (used % self.panel.step).any():
            raise InvalidInput(
                "table must have dates that are whole weeks after those of the plan, got "
                f"{dates[0]}."
            )
        return np.asarray(apart // self.panel.step - self.panel.n_days, dtype=np.intp)

    def _owners(self, fresh: Panel) -> NDArray[np.intp]:
        """Find each new series in the plan; −1 where the plan does not know it."""
        if not self.schema.series:
            return np.zeros(1, dtype=np.intp)
        assert fresh.keys is not None
        assert self.panel.keys is not None
        names = [f"\0{name}" for name in self.schema.series]
        own = self.panel.keys.select(names).with_row_index("\0place")
        place = fresh.keys.select(names).join(own, on=names, how="left", maintain_order="left")
        return place["\0place"].cast(int).fill_null(-1).to_numpy().astype(np.intp)

    def on_grid(self, values: Array) -> Array:
        """Put a matrix of the new panel onto the grid of the plan; NaN where it has nothing."""
        found = np.full((self.panel.n_series, self.n_days), np.nan)
        found[self._place] = values[self.own]
        return found

    def _flags(self, log: DecisionLog | str | Path | None) -> None:
        """Find which days sold out, what was there to sell, and whether the plan was followed."""
        fresh = self.fresh
        hidden, stock, followed = fresh.hidden, None, None
        if log is not None and self.lasting:
            self.notes.append(
                "The log is not used: stock lasts, so that a delivery is not all that was there."
            )
        elif log is not None:
            if not isinstance(log, DecisionLog):
                if not Path(log).exists():
                    raise InvalidInput(f"log must be a Parquet file, but there is no {log}.")
                log = DecisionLog.read(Path(log), self.schema.series)
            hidden, said = log.flags(fresh)
            self.notes += said or ["The log says nothing of the new days."]
            if said:
                stock, followed = log.stock(fresh), log.followed(fresh).astype(np.float64)
        told = self.schema.stock is not None and self.rows[self.schema.stock].count() > 0
        if stock is None and told:
            stock = self._stock_column()
        nothing = np.full((self.panel.n_series, self.n_days), np.nan)
        self.hidden = nothing if hidden is None else self.on_grid(hidden)
        self.hidden[~self.seen] = np.nan
        self.stock = None if stock is None else self.on_grid(stock)
        self._followed = None if followed is None else self.on_grid(followed) == 1.0

    def _stock_column(self) -> Array:
        """Read what was available from its column."""
        schema = replace(self.schema, sales=str(self.schema.stock), sold_out=None, stock=None)
        held = self.rows.with_columns(read_dates(self.rows, schema.date).alias(schema.date))
        return read_panel(held, replace(schema, known=(), static=()), gaps="missing")[0].observed

    def _reference(self) -> None:
        """Last days before the plan's end, and what is usual on each weekday."""
        panel, plan = self.panel, self.plan
        size = min(REFERENCE[0 if panel.step == 1 else 1], panel.n_days)
        demand = panel.observed if plan.demand_ is None else plan.demand_
        self.reference = demand[:, panel.n_days - size :].copy()
        if plan.demand_ is None:
            # where only a rate is known, orders that reach further also sell more
            usual, hidden = (
                float(plan.order_table_[name].sum()) for name in ("usual_sales", "hidden_demand")
            )
            self.reference *= 1.0 + (hidden / usual if usual > 0 else 0.0)
        self.of_reference = np.arange(panel.n_days - size, panel.n_days) % self.cycle
        there = ~np.isnan(self.reference)
        with np.errstate(invalid="ignore"):
            self.mean = np.nansum(self.reference, axis=1) / there.sum(axis=1)
        self.usual = np.empty((panel.n_series, self.cycle))
        for each in range(self.cycle):
            own = self.of_reference == each
            sums = np.nansum(self.reference[:, own], axis=1) + _DRAWN * self.mean
            self.usual[:, each] = sums / (there[:, own].sum(axis=1) + _DRAWN)
        self.told = there.sum(axis=1) >= min(MIN_REFERENCE, size)
        self.expected = self.usual[:, self.of_day]

    def _orders(self) -> None:
        """Put orders and usual sales of the table of orders on the grid."""
        self.order = np.full((self.panel.n_series, self.n_days), np.nan)
        if isinstance(self.plan, ReplenishmentPlan):
            self._lasting_orders(self.plan)
            return
        order_table, (series, day, _) = self.plan.order_table_, self.plan.targets_
        inside = day < self.panel.n_days + self.n_days
        place = series[inside], day[inside] - self.panel.n_days
        self.order[place] = order_table["order"].to_numpy().astype(np.float64)[inside]
        median = np.full_like(self.order, np.nan)
        median[place] = (order_table["usual_sales"] + order_table["hidden_demand"]).to_numpy()[
            inside
        ]
        # half of the days of a slow seller say little about its mean
        better = (median > 0) & (self.expected >= _FAST)
        self.expected = np.where(better, median, self.expected)
        order = order_table["order"].to_numpy().astype(np.float64)
        self.ties, self.lots = self._whole_units(order, series, day, self.plan.step)

    def _lasting_orders(self, plan: ReplenishmentPlan) -> None:
        """Put what is expected on the grid; one order is not what a single day had to sell.

        A shelf is exactly empty where demand until the next order arrives is what is there and on
        its way. Days that are served by leftovers sell out less often than the level says.
        """
        n_series, ahead = self.panel.n_series, plan.demand_forecast_.expected[:, : self.n_days]
        self.expected = self.expected.copy()
        self.expected[:, : ahead.shape[1]] = ahead
        periods = plan.rules_.whole("lead_time", n_series) + plan.rules_.whole("review", n_series)
        covered = np.arange(plan.demand_forecast_.expected.shape[1]) < periods[:, None]
        mean = (plan.demand_forecast_.expected * covered).sum(axis=1)
        there = plan.state_.position + plan.replenishment_.order
        every = np.arange(n_series)
        day = np.zeros(n_series, dtype=np.intp)
        step = None if plan.rules_.lot is None else 1.0
        self.ties, _ = self._whole_units(there, every, day, step, mean, periods)
        self.lots = np.full(n_series, 1.0 - self.level)

    def _whole_units(
        self,
        order: Array,
        series: NDArray[np.intp],
        day: NDArray[np.intp],
        step: float | str | None,
        mean: Array | None = None,
        periods: NDArray[np.intp] | None = None,
    ) -> tuple[Array, Array]:
        """Chance of asking for exactly the order, and for what a smaller lot would have met.

        By series, from a negative binomial distribution with the mean and the variance of the
        reference; of several periods together where `mean` says what is expected of them.
        """
        n_series = self.panel.n_series
        values = self.reference[~np.isnan(self.reference)]
        if step == "auto":
            seen = self.panel.observed[~np.isnan(self.panel.observed)]
            step = 1.0 if (seen == np.round(seen)).all() else None
        if step is None or not values.size:
            return np.zeros(n_series), np.zeros(n_series)
        if mean is None:
            mean = self.usual[series, day % self.cycle]
        overall = float(np.nanmean(self.mean))
        mean = np.maximum(np.where(np.isnan(mean), overall, mean), 1e-3)
        base = self.usual[:, self.of_reference]
        with np.errstate(invalid="ignore"):
            extra = np.nansum((self.reference - base) ** 2 - base, axis=1)
            extra = extra / np.nansum(np.where(np.isnan(self.reference), 0.0, base**2), axis=1)
        extra = np.clip(np.nan_to_num(extra), 1e-3, 10.0)[series]
        extra = extra if periods is None else extra / periods  # sums vary less
        distribution = stats.nbinom(1.0 / extra, 1.0 / (1.0 + extra * mean))
        found = []
        below = distribution.cdf(np.ceil(order) - 1) - distribution.cdf(order - float(step))
        for chance in (distribution.pmf(np.round(order)), np.maximum(below, 0.0)):
            sums = np.bincount(series, weights=chance, minlength=n_series)
            count = np.bincount(series, minlength=n_series)
            with np.errstate(invalid="ignore"):
                found.append(np.where(count > 0, sums / count, chance.mean()))
        return found[0], found[1]

    @property
    def follows(self) -> tuple[NDArray[np.bool_] | None, str]:
        """Days on which the plan was followed, and who says so."""
        there = ~np.isnan(self.hidden)
        if self.lasting:
            return None, ""
        if self._followed is not None:
            return there & self._followed, "by the log"
        if self.stock is not None:
            with np.errstate(invalid="ignore"):
                same = np.abs(self.stock - self.order) <= 1e-9 * np.maximum(self.order, 1.0)
            return there & same, "by the stock"
        if there.any():
            return there & ~np.isnan(self.order), "if orders were as planned"
        return None, ""

    @property
    def follows_known(self) -> bool:
        """Whether the log or the stock says on which days the plan was followed."""
        return self._followed is not None or self.stock is not None

    def date(self, day: int | None) -> datetime.date | None:
        """Date of a new day."""
        if day is None:
            return None
        found = self.dates[day].astype(object)
        assert isinstance(found, datetime.date)
        return found

    def named(self, series: Sequence[int] | NDArray[np.intp]) -> str:
        """Names of some series of the plan."""
        keys = self.panel.keys
        if not self.schema.series or keys is None:
            return "the only one"
        shown = [
            " ".join(str(keys[name][int(each)]) for name in self.schema.series)
            for each in series[:MAX_NAMES]
        ]
        more = len(series) - len(shown)
        return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")

    def key(self, series: int) -> dict[str, str]:
        """Name one series by its columns."""
        if not self.schema.series or self.panel.keys is None:
            return {}
        return {name: str(self.panel.keys[name][series]) for name in self.schema.series}

    def row_days(self) -> NDArray[np.intp]:
        """Give the new day of each new row."""
        dates = read_dates(self.rows, self.schema.date)
        apart = (dates - self.panel.first_day).dt.total_days().to_numpy() // self.panel.step
        return np.asarray(apart - self.panel.n_days, dtype=np.intp)

    def row_owners(self) -> NDArray[np.intp]:
        """Find each row's series in the plan; −1 where the plan does not know it."""
        import polars as pl

        names = self.schema.series
        if not names or self.panel.keys is None:
            return np.zeros(self.rows.height, dtype=np.intp)
        own = self.panel.keys.select(pl.col(f"\0{name}").alias(name) for name in names)
        text = self.rows.select(as_categories(self.rows[name]).alias(name) for name in names)
        place = text.join(
            own.with_row_index("\0place"), on=list(names), how="left", maintain_order="left"
        )["\0place"]
        return place.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)
