"""Orders of goods that last, from the stock on hand and on its way.

`OrderPlan` with supply rules uses this module to read the stock, to draw sample paths of coming
demand, and to order the quantity that will be missing on them (`unmet.inventory`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules
from unmet.inventory.orders import Replenishment, next_late
from unmet.inventory.rules import Shelves
from unmet.planning.decision_log import DecisionLog, Overrides
from unmet.tables.dates import date_form, period_place, read_dates
from unmet.tables.encoding import as_categories, count_rows
from unmet.tables.panel import Panel, Places
from unmet.tables.reading import as_polars, numbers, require_columns
from unmet.tables.schema import Schema

EMPTY = "nothing left at the end"
"""Column of flags that is made of what was left."""
ORDER_COLUMNS = (
    "order",
    "arrives",
    "on_hand",
    "on_order",
    "expected_demand",
    "order_up_to",
    "runs_empty",
    "chance_of_running_out",
    "expected_shortage",
    "expected_loss",
)
"""Columns of the table of orders, after those of the series."""
OTHER_COLUMNS = ("reorder_point", "minimum", "lot", "low", "middle", "high")
"""Columns of levels and of the projection."""


# --- Reading.


def with_flags(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Add the column of periods at whose end nothing was left.

    A period sold out only if its sales reached the stock. Where less was sold than was left before,
    what was left has gone another way, and nobody knows; not so in tables in which leftovers vanish
    as a rule (more than 5% of the periods with something left): they are of goods that do not last.
    """
    keys, left = list(schema.series), str(schema.on_hand)
    require_columns(rows, [left], "on_hand")
    told = rows.with_columns(
        read_dates(rows, schema.date).alias("\0date"),
        pl.Series("\0left", numbers(rows, left, "on_hand")).fill_nan(None),
        pl.Series("\0sales", numbers(rows, schema.sales, "sales")).fill_nan(None),
    )
    told = told.with_row_index("\0row").sort("\0date")
    last = pl.col("\0left").shift()
    last = last.over(keys) if keys else last
    empty, gone = pl.col("\0left") <= 0, pl.col("\0sales") + pl.col("\0left") < last
    told = told.select("\0row", empty.alias("empty"), gone.alias("gone")).sort("\0row")
    vanish = told.filter(~pl.col("empty"))["gone"].mean() or 0.0
    flags = told["empty"]
    if float(vanish) <= 0.05:  # type: ignore[arg-type]
        flags = flags.set((told["empty"] & told["gone"]).fill_null(value=False), None)
    return rows.with_columns(flags.alias(EMPTY))


def last_rows(rows: pl.DataFrame, schema: Schema, panel: Panel | None = None) -> pl.DataFrame:
    """Last row of each series; in the order of a panel's series where one is given."""
    keys = [f"\0{name}" for name in schema.series]
    text = [as_categories(rows[name]).alias(f"\0{name}") for name in schema.series]
    dated = rows.with_columns(*text, read_dates(rows, schema.date).alias("\0date")).sort("\0date")
    if not keys:
        return dated.tail(1)
    last = dated.group_by(keys, maintain_order=True).last()
    if panel is None or panel.keys is None:
        return last
    return panel.keys.select(keys).join(last, on=keys, how="left", maintain_order="left")


def numbers_of(last: pl.DataFrame, column: str, field: str, schema: Schema) -> Array:
    """Numbers of a column in the last rows; of new series the median, and no stock."""
    require_columns(last, [column], field)
    found = numbers(last, column, field).copy()
    new = last["\0date"].is_null().to_numpy()
    known = found[~new]
    found[new] = 0.0 if field == "on_hand" or not known.size else np.nanmedian(known)
    if np.isnan(found).any():
        called = _called(last, schema, int(np.argmax(np.isnan(found))))
        raise InvalidInput(
            f"{field} must be a number in the last row of every series, got none in column "
            f"{column!r}{called}."
        )
    return found


def _called(last: pl.DataFrame, schema: Schema, place: int) -> str:
    words = [f"{name} {last[chr(0) + name][place]}" for name in schema.series]
    return f" for {', '.join(words)}" if words else ""


def rules_of(
    supply: SupplyRules, last: pl.DataFrame, schema: Schema, leads: LeadTimes | None = None
) -> SupplyRules:
    """Give the rules with the numbers that columns have in the last row of each series."""
    found = {
        name: numbers_of(last, column, name, schema)
        for name, column in supply.columns.items()
        if name != "lead_time" or leads is None
    }
    return supply.replace(**found, **({} if leads is None else {"lead_time": leads.pooled}))


class LeadTimes:
    """Lead times that were seen, by rows of a table that has the series.

    Parameters
    ----------
    table : polars.DataFrame
    periods, weight : ndarray of shape (n_rows,)
    unused : int
        Rows that do not tell.
    """

    def __init__(self, table: pl.DataFrame, periods: Array, weight: Array, unused: int) -> None:
        SupplyRules(periods)  # whole periods, no longer than any lead time may be
        self.table, self.periods, self.unused = table, periods.astype(np.intp), unused
        self.weight = weight / weight.mean()
        self.pooled = np.bincount(self.periods, self.weight)[None] / self.weight.sum()

    @classmethod
    def read(
        cls, supply: SupplyRules, rows: pl.DataFrame, schema: Schema, deliveries: Any
    ) -> LeadTimes | None:
        """Read deliveries, or a column that varies within a series; None where nothing varies."""
        if deliveries is not None:
            return cls._delivered(as_polars(deliveries), rows, schema)
        column = supply.columns.get("lead_time")
        if column is None or column not in rows.columns:
            return None
        values = numbers(rows, column, "lead_time")
        known = ~np.isnan(values)
        table, values = rows.filter(known), values[known]
        keys = table.select(schema.series)
        if keys.with_columns(lead=values).n_unique() <= (keys.n_unique() if keys.width else 1):
            return None
        return cls(table, values, np.ones(values.size), int((~known).sum()))

    @classmethod
    def _delivered(cls, table: pl.DataFrame, rows: pl.DataFrame, schema: Schema) -> LeadTimes:
        names, n_rows = [*schema.series, "ordered", "received"], table.height
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise InvalidInput(
                f"deliveries must have the columns {', '.join(names)}, got no {absent[0]!r}."
            )
        table, weight = table.drop_nulls(["ordered", "received"]), np.ones(0)
        if "units" in table.columns:
            weight = numbers(table, "units", "units")
            table, weight = table.filter(weight > 0), weight[weight > 0]
        rule = "deliveries must be received after they were ordered"
        if not table.height:
            raise InvalidInput(f"{rule}, got no row with both dates.")
        form = date_form(rows, schema.date)
        ordered, received = (read_dates(table, name, form) for name in ("ordered", "received"))
        early = (received < ordered).to_numpy()
        if early.any():
            at = int(early.argmax())
            raise InvalidInput(f"{rule}, got {received[at]} for {ordered[at]}.")
        first, period = read_dates(rows, schema.date).min(), str(schema.period)
        sent, there = (period_place(first, period, each.to_numpy()) for each in (ordered, received))
        periods = np.maximum(there - sent - 1, 0).astype(np.float64)  # the next day: no wait
        weight = weight if weight.size else np.ones(periods.size)
        return cls(table, periods, weight, n_rows - table.height)

    def of_series(self, panel: Panel, schema: Schema) -> Array:
        """Chances of 0, 1, … periods of each series, shrunk to the pooled ones.

        The weight of the pooled ones is that of so many deliveries as the variance within series
        is of that between them, so that suppliers that differ are told apart by few deliveries.
        """
        series = panel.places(self.table, schema.series)
        own = series >= 0
        self.unused += int((~own).sum())
        found = np.zeros((panel.n_series, self.pooled.size))
        np.add.at(found, (series[own], self.periods[own]), self.weight[own])
        count, ahead = found.sum(axis=1), np.arange(self.pooled.size)
        mean = found @ ahead / np.maximum(count, 1e-12)
        total, n_seen = float(count.sum()), int((count > 0).sum())
        strength = 1e-9
        if n_seen > 1:
            off = float(count @ (mean - found.sum(axis=0) @ ahead / total) ** 2) / (n_seen - 1)
            within = float((found * (ahead - mean[:, None]) ** 2).sum()) / max(total - n_seen, 1.0)
            typical = (total - float(count @ count) / total) / (n_seen - 1)
            between = max((off - within) / max(typical, 1e-12), 1e-3 * within)
            strength = max(within / max(between, 1e-12), 1e-9)
        return np.asarray((found + strength * self.pooled) / (count + strength)[:, None])

    def in_words(self, rules: SupplyRules, unit: str) -> str:
        """Say how lead times vary."""
        said = f"Lead times vary, and orders cover that: {lead_in_words(rules, unit)}."
        if self.unused:
            said += (
                f" Not used: {count_rows(self.unused)} of deliveries without a date, units or a "
                "known series."
            )
        return said


def lead_in_words(rules: SupplyRules, unit: str) -> str:
    """Say from where to where lead times vary, and their mean."""
    chances = np.mean(rules.lead_time, axis=0)
    seen = np.flatnonzero(chances > 0)
    return f"{seen.min()} to {seen.max()} {unit}, {seen @ chances[seen]:.3g} on average"


def places(table: pl.DataFrame, schema: Schema, panel: Panel, name: str) -> Places:
    """Places of the series that rows of a table speak of."""
    found = panel.places(table, schema.series)
    if (found < 0).any():
        row = int((found < 0).argmax())
        words = ", ".join(f"{each} {table[each][row]}" for each in schema.series)
        raise InvalidInput(f"{name} must have only series of the table, got {words}.")
    return found


def read_state(
    rows: pl.DataFrame,
    schema: Schema,
    panel: Panel,
    rules: SupplyRules,
    on_order: Any,
    log: DecisionLog | None,
) -> tuple[StockState, list[str]]:
    """Read what is on the shelf, and what a table and a log say is on its way."""
    n_series = panel.n_series
    shelf = np.zeros(n_series)
    if schema.on_hand:
        last = last_rows(rows, schema, panel)
        shelf = numbers_of(last, schema.on_hand, "on_hand", schema)
        if rules.unmet == "lost" and (shelf < 0).any():
            place = int(np.argmax(shelf < 0))
            raise InvalidInput(
                f"on_hand must be 0 or more if unmet demand is lost, got {shelf[place]:g}"
                f"{_called(last, schema, place)}: correct it, or use unmet='backordered'."
            )
    coming, told = np.zeros((n_series, 0)), np.zeros(n_series, dtype=np.bool_)
    if on_order is not None:
        coming, told = _on_its_way(as_polars(on_order), rows, schema, panel)
    if log is None:
        return StockState(shelf, coming), []
    # the log has one order for a day: what arrives with this one is this one, decided again
    logged = log.coming(panel)
    again = np.arange(logged.shape[1]) == rules.whole("lead_time", n_series)[:, None]
    there = (logged > 0) & ~again
    taken = np.where(there & ~told[:, None], logged, 0.0)
    taken = taken[:, : np.flatnonzero(taken.any(axis=0)).max(initial=-1) + 1]
    count, instead = int((taken > 0).sum()), int((there & told[:, None]).sum())
    notes = []
    if count or instead:
        orders = "1 order" if count == 1 else f"{count:,} orders"
        said = f"Open orders: {orders} of the log with {taken.sum():,.10g} units."
        if instead:
            said += f" For {instead:,} more, the table of open orders was used (on_order=)."
        notes.append(said)
    found = np.zeros((n_series, max(taken.shape[1], coming.shape[1])))
    found[:, : coming.shape[1]] += coming
    found[:, : taken.shape[1]] += taken
    return StockState(shelf, found), notes


def _on_its_way(
    coming: pl.DataFrame, rows: pl.DataFrame, schema: Schema, panel: Panel
) -> tuple[Array, NDArray[np.bool_]]:
    """Units by series and period of arrival, and of which series anything is said."""
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
        raise InvalidInput(
            f"on_order must have 0 units or more in every row, got {bad:g} in column {units[0]!r}."
        )
    arrives = read_dates(coming, date, date_form(rows, schema.date))
    first = panel.date(np.array([panel.n_days]))[0].astype(object)
    days = (arrives - first).dt.total_days().to_numpy()
    if (days < 0).any():
        place = int(np.argmax(days < 0))
        raise InvalidInput(
            f"on_order must have dates from {first} on, after the last row of the table, got "
            f"{arrives[place]}."
        )
    period = panel.place(arrives.to_numpy()) - panel.n_days
    found = np.zeros((panel.n_series, int(period.max(initial=0)) + 1))
    series = places(coming, schema, panel, "on_order")
    np.add.at(found, (series, period), quantity)
    told = np.zeros(panel.n_series, dtype=np.bool_)
    told[series] = True
    return found, told


# --- What follows.


def evaluate_overrides(
    log: DecisionLog,
    rows: pl.DataFrame,
    schema: Schema,
    panel: Panel,
    rules: SupplyRules,
    history: Array,
) -> Overrides:
    """Evaluate orders that were changed, from their arrival until the next order could arrive.

    That is what an order is decided by as well: what is too much or too little then, the next order
    corrects. What was there before its arrival is what was left at the end of the period before;
    periods without that, and orders whose time is not over yet, are not evaluated.
    """
    n_series = panel.n_series
    count, suggested, decided = log.overridden(panel)
    series, day = np.nonzero(~np.isnan(decided))
    if not schema.on_hand or not series.size:
        return Overrides(count, 0, 0.0)
    left = np.full((n_series, panel.n_days), np.nan)
    days = panel.place(read_dates(rows, schema.date).to_numpy())
    where = places(rows, schema, panel, "on_hand"), days
    left[where] = numbers(rows, schema.on_hand, "on_hand")
    review = rules.whole("review", n_series)
    over = (day >= 1) & (day + review[series] <= panel.n_days)
    series, day = series[over], day[over]
    before = left[series, day - 1]
    periods = np.minimum(day[:, None] + np.arange(int(review.max(initial=1))), panel.n_days - 1)
    counted = np.arange(periods.shape[1]) < review[series][:, None]
    demand = history[series[:, None], periods]
    known = ~np.isnan(before) & (~np.isnan(demand) | ~counted).all(axis=1)
    if rules.unmet == "lost":
        before = np.maximum(before, 0.0)
    series, day, before = series[known], day[known], before[known]
    demand, counted = demand[known], counted[known]
    if not series.size:
        return Overrides(count, 0, 0.0)
    own = rules.take(series, n_series)

    def evaluated(order: Array) -> float:
        shelves, total = Shelves(before, own), np.zeros(series.size)
        shelves.deliver(order)
        for period in range(demand.shape[1]):
            shelves.sell(np.nan_to_num(demand[:, period]))
            total += np.where(counted[:, period], shelves.cost(), 0.0)
        return float((total + own.rows("fixed", series.size) * (order > 0)).sum())

    difference = evaluated(decided[series, day]) - evaluated(suggested[series, day])
    return Overrides(count, int(series.size), difference)


def order_table(
    found: Replenishment,
    panel: Panel,
    rules: SupplyRules,
    state: StockState,
    expected: Array,
    *,
    money: bool,
) -> pl.DataFrame:
    """Columns of the table of orders, a row for each series of the panel."""
    n_series = panel.n_series
    lead = rules.whole("lead_time", n_series)
    covered = next_late(rules, *expected.shape)
    empty = found.projection.runs_empty()
    chance, short = found.projection.until_next(rules)
    dates = panel.date(panel.n_days + np.maximum(empty, 0)).astype("datetime64[D]")
    whole = bool((found.order == np.round(found.order)).all())
    loss = {"expected_loss": np.round(rules.rows("shortage", n_series) * short, 2)}
    return pl.DataFrame(
        {
            "order": pl.Series(panel.rounded(found.order)).cast(pl.Int64 if whole else pl.Float64),
            "arrives": pl.Series(panel.date(panel.n_days + lead)).cast(pl.Date),
            "on_hand": panel.rounded(state.on_hand),
            "on_order": panel.rounded(state.on_order.sum(axis=1)),
            "expected_demand": panel.rounded((expected * covered).sum(axis=1), 2),
            "order_up_to": panel.rounded(state.position + found.order),
            "runs_empty": np.where(empty < 0, np.datetime64("NaT", "D"), dates),
            "chance_of_running_out": np.round(chance, 3),
            "expected_shortage": panel.rounded(short, 2),
            **(loss if money else {}),
        }
    )
