"""The log: suggested, decided and delivered orders.

Your own orders are known stock. A day on which you sold as much as was delivered sold out, and a
day with fewer sales did not. With the log both are known from the second week on, and nothing needs
to be estimated. The log also records what a planner made of each suggestion, so that both can be
evaluated later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.files import alone_in, write_content
from unmet.tables.dates import read_dates
from unmet.tables.encoding import as_categories
from unmet.tables.panel import Panel
from unmet.tables.reading import as_polars, numbers, read_table

UNITS = ("suggested", "decided", "delivered")
"""Columns of units: what was suggested, what a planner decided instead, what came."""
_DATE = "date"


@dataclass(frozen=True)
class Overrides:
    """Cost or saving of overriding suggestions.

    Attributes
    ----------
    count, known : int
        Number of changed orders, and of those whose demand is known or estimated by now.
    cost : float
        Cost of the decided orders minus that of the suggested ones; negative if overriding saved.

    Examples
    --------
    >>> from unmet.planning.decision_log import Overrides
    >>> overrides = Overrides(count=12, known=10, cost=-35.0)
    >>> overrides.cost < 0  # overriding saved money
    True
    """

    count: int
    known: int
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """Give plain numbers and a sentence, for JSON."""
        return {"count": self.count, "known": self.known, "cost": self.cost, "said": str(self)}

    def __str__(self) -> str:
        if not self.known:
            return f"Changed orders: {self.count:,}. Their effect on cost is not known yet."
        what = "more" if self.cost >= 0 else "less"
        return (
            f"Changed orders: {self.count:,}. The {self.known:,} with known sales cost "
            f"{abs(self.cost):,.4g} {what} than the suggested orders."
        )


class DecisionLog:
    """Past decisions, one for each series and date.

    Parameters
    ----------
    series : sequence of str
        Columns that identify a series.
    table : polars.DataFrame, optional
        Past decisions, with the columns of the attribute `table`. None is an empty log.
    certain : bool, default=True
        Whether the orders were surely placed. For a table of orders that nobody logged this is
        False: `flags` then checks whether later sales agree with it.

    Attributes
    ----------
    table : polars.DataFrame
        The columns of the series as text, ``date``, ``suggested``, ``decided``, ``delivered``. The
        last two are empty if nothing else was recorded.

    Examples
    --------
    >>> import datetime
    >>> import polars as pl
    >>> from unmet.planning import DecisionLog
    >>> orders = pl.DataFrame(
    ...     {"item": ["a", "b"], "date": [datetime.date(2024, 5, 6)] * 2, "order": [4, 7]}
    ... )
    >>> log = DecisionLog(["item"]).suggested(orders)
    >>> log = log.changed(orders.with_columns(order=pl.Series([4, 9])))
    >>> log.table["decided"].to_list()
    [None, 9.0]
    """

    def __init__(
        self, series: Sequence[str], table: pl.DataFrame | None = None, *, certain: bool = True
    ) -> None:
        self.series, self.certain = tuple(series), certain
        taken = set(self.series) & {_DATE, *UNITS}
        if taken:
            raise InvalidInput(
                f"series must have other names than those of the log, got {sorted(taken)[0]!r}."
            )
        schema = {
            **dict.fromkeys(self.series, pl.String),
            _DATE: pl.Date,
            **dict.fromkeys(UNITS, pl.Float64),
        }
        self.table = pl.DataFrame(schema=schema) if table is None else table.select(*schema)

    # --- Files.

    @classmethod
    def read(cls, file: Path, series: Sequence[str]) -> DecisionLog:
        """Read a log from a Parquet file, or begin a new one if there is no file.

        Parameters
        ----------
        file : Path
            Parquet file.
        series : sequence of str
            Columns that identify a series.
        """
        if not file.exists():
            return cls(series)
        found = read_table(file)
        missing = [name for name in (*series, _DATE, *UNITS) if name not in found.columns]
        if missing:
            raise InvalidInput(
                f"{file} must be a log of decisions with the column {missing[0]!r}, "
                f"got {', '.join(found.columns)}."
            )
        units = [found[name].cast(pl.Float64, strict=False) for name in UNITS]
        keys = [as_categories(found[name]).alias(name) for name in series]
        return cls(series, pl.DataFrame([*keys, found[_DATE].cast(pl.Date), *units]))

    @classmethod
    def of_orders(
        cls, orders: pl.DataFrame, series: Sequence[str], date: str, form: str | None = None
    ) -> DecisionLog | None:
        """Make a log from a table of orders that a plan has written; None for any other table.

        The orders may not have been placed, so the log is not `certain`.
        """
        written = (*series, date, "order", "usual_sales", "safety", "based_on", "outside_data")
        if not set(written) <= set(orders.columns):
            return None
        try:
            found = cls(series).suggested(orders, date, form)
        except InvalidInput:  # somebody has made another table of it
            return None
        return cls(series, found.table, certain=False)

    @classmethod
    def update(
        cls, file: Path, series: Sequence[str], change: Callable[[DecisionLog], DecisionLog]
    ) -> DecisionLog:
        """Read a log, change it and write it, while no other process does the same.

        Entries that others wrote in the meantime are kept. If two write the same series and date,
        the later one counts.
        """
        with alone_in(file.resolve().parent):  # of the file itself: others may come by a link
            log = change(cls.read(file, series))
            log.write(file)
        return log

    def write(self, file: Path) -> None:
        """Write the log to a Parquet file, completely or not at all; replaces an existing file.

        Parameters
        ----------
        file : Path
            Parquet file.
        """
        if file.suffix.lower() != ".parquet":
            raise InvalidInput(f"log must be a Parquet file, got {file.name}.")
        content = BytesIO()
        self.table.sort([*self.series, _DATE]).write_parquet(content)
        write_content(file, content.getvalue())

    # --- Entries.

    def suggested(
        self, order_table: Any, date: str = _DATE, form: str | None = None
    ) -> DecisionLog:
        """Add suggestions; those for the same series and dates are replaced.

        Parameters
        ----------
        order_table : table
            Orders with the columns of the series, the date and ``order``.
        date : str
            Name of the column of dates.
        form : str, optional
            Format of dates that are text, such as "%d/%m/%Y". None recognises them.

        Returns
        -------
        DecisionLog
            A new log.
        """
        new = self._entries(as_polars(order_table), date, {"suggested": "order"}, form)
        keys = [*self.series, _DATE]
        kept = self.table.join(new.select(keys), on=keys, how="anti")
        old = self.table.select(*keys, "decided", "delivered")
        added = new.select(*keys, "suggested").join(old, on=keys, how="left")
        return DecisionLog(self.series, pl.concat([kept, added.select(kept.columns)]))

    def changed(self, table: Any, date: str = _DATE, form: str | None = None) -> DecisionLog:
        """Record decided orders and deliveries: columns ``order`` and ``delivered``.

        An order that equals the suggestion is no change. Rows that the log does not have are added,
        because somebody ordered without a suggestion.

        Parameters
        ----------
        table : table
            Decisions with the columns of the series and the date.
        date : str
            Name of the column of dates.
        form : str, optional
            Format of dates that are text, such as "%d/%m/%Y". None recognises them.

        Returns
        -------
        DecisionLog
            A new log.
        """
        rows = as_polars(table)
        called = {"decided": "order", "delivered": "delivered"}
        names = {unit: column for unit, column in called.items() if column in rows.columns}
        if not names:
            raise InvalidInput(
                "decided must have a column order, a column delivered, or both, "
                f"got {', '.join(rows.columns)}."
            )
        new = self._entries(rows, date, names, form)
        keys = [*self.series, _DATE]
        both = self.table.join(new, on=keys, how="full", coalesce=True, suffix=" new")
        for unit in names:
            both = both.with_columns(pl.coalesce(f"{unit} new", unit).alias(unit))
        same = (pl.col("decided") == pl.col("suggested")).fill_null(value=False)
        both = both.with_columns(decided=pl.when(~same).then("decided"))
        return DecisionLog(self.series, both.select(self.table.columns))

    def _entries(
        self, rows: pl.DataFrame, date: str, units: dict[str, str], form: str | None = None
    ) -> pl.DataFrame:
        lacking = [each for each in (*self.series, date, *units.values()) if each not in rows]
        if lacking:
            raise InvalidInput(
                f"A table of decisions must have the column {lacking[0]!r}, "
                f"got {', '.join(rows.columns)}."
            )
        columns = [as_categories(rows[name]).alias(name) for name in self.series]
        columns.append(read_dates(rows, date, form).alias(_DATE))
        for unit, column in units.items():
            values = numbers(rows, column, column)
            if (values < 0).any():
                raise InvalidInput(
                    f"{column} must be 0 units or more, got {values[values < 0][0]:g}."
                )
            columns.append(pl.Series(unit, values).fill_nan(None))
        found = pl.DataFrame(columns)
        keys = [*self.series, _DATE]
        twice = found.filter(found.select(keys).is_duplicated())
        if twice.height:
            words = ", ".join(str(each) for each in twice.select(keys).row(0))
            raise InvalidInput(
                f"A table of decisions must have one row for each series and date, got several of "
                f"{words}."
            )
        return found

    # --- What it tells.

    def check(self, series: Sequence[str]) -> None:
        """Refuse a log whose series have other columns."""
        if set(self.series) != set(series):
            raise InvalidInput(
                f"log must be of series told apart by {', '.join(series) or 'nothing'}, "
                f"got one of {', '.join(self.series) or 'a single series'}."
            )

    def stock(self, panel: Panel) -> Array:
        """Give the available units of each day: delivered, else decided, else suggested.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.

        Returns
        -------
        ndarray of shape (n_series, n_days)
            Units; NaN where the log has no entry.
        """
        return self._matrix(panel, "delivered", "decided", "suggested")

    def coming(self, panel: Panel) -> Array:
        """Give the units that arrive after the panel's last day; NaN where none do.

        A recorded delivery counts first, otherwise the decided order, otherwise the suggested one.
        The result has shape (n_series, n_periods).
        """
        newest = self.table[_DATE].max()
        ahead = 0 if newest is None else int(panel.place(newest)) + 1 - panel.n_days
        return self._matrix(panel, "delivered", "decided", "suggested", n_coming=max(ahead, 0))

    def followed(self, panel: Panel) -> NDArray[np.bool_]:
        """Mark the days whose stock equals the suggestion, (n_series, n_days)."""
        asked = self._matrix(panel, "suggested")
        return np.asarray(np.abs(self.stock(panel) - asked) <= 1e-9 * np.maximum(asked, 1.0))

    def flags(self, panel: Panel) -> tuple[Array | None, list[str]]:
        """Find the days that sold out, as `Panel.hidden`, including those that the log shows.

        If more was sold than the log says was available, other stock was there, and the day is
        unknown. A log that is not `certain` counts only under three conditions: all its series are
        in the panel, sales exceed its orders on at most one day in twenty, and sales equal them on
        some days. Orders that nobody placed, or those of another table, would not meet these
        conditions.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.

        Returns
        -------
        hidden : ndarray of shape (n_series, n_days) or None
            Flags; None if nothing is known.
        notes : list of str
            Findings, one sentence each.
        """
        stock, sales = self.stock(panel), panel.observed
        known = ~np.isnan(stock) & ~np.isnan(sales)
        if panel.hidden is not None and not self.certain:
            known &= np.isnan(panel.hidden)
        above = known & (sales > stock + 1e-9 * np.maximum(stock, 1.0))
        reached = known & ~above & (sales >= stock) & (sales > 0)
        count, n_above = int(known.sum()), int(above.sum())
        if not count:
            return panel.hidden, []
        if not self.certain:
            foreign = bool((panel.places(self.table, self.series) < 0).any())
            if foreign or n_above > 0.05 * count or not reached.any():
                return panel.hidden, []
        told = np.where(known & ~above, (sales >= stock).astype(np.float64), np.nan)
        what = "log" if self.certain else "previous file of orders"
        notes = [f"Stock of {count:,} days was read from the {what}."]
        if not self.certain:
            notes[0] += " It has the last orders only; a log keeps all of them (log=)."
        if n_above:
            notes.append(
                f"Sales exceed that stock on {n_above:,} of these days: they count as unknown."
            )
        if panel.hidden is not None:
            told = np.where(np.isnan(panel.hidden), told, panel.hidden)
        return told, notes

    def overrides(self, panel: Panel, demand: Array, cost: Newsvendor) -> Overrides:
        """Evaluate decided orders against suggested ones.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.
        demand : ndarray of shape (n_series, n_days)
            Sales, with the expected demand of days that sold out.
        cost : Newsvendor
            Cost of orders.
        """
        count, suggested, decided = self.overridden(panel)
        over = ~np.isnan(decided) & ~np.isnan(demand)
        mean = Newsvendor(np.mean(cost.underage), np.mean(cost.overage))
        paid = mean.cost(decided[over], demand[over]) - mean.cost(suggested[over], demand[over])
        return Overrides(count, int(over.sum()), float(paid.sum()))

    def overridden(self, panel: Panel) -> tuple[int, Array, Array]:
        """Count and list the changed orders.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.

        Returns
        -------
        count : int
            Number of all changed orders, including those of coming days.
        suggested, decided : ndarray of shape (n_series, n_days)
            Changed orders of the panel's days; NaN where nothing was changed.
        """
        changed = self.table.drop_nulls(["decided", "suggested"])
        log = DecisionLog(self.series, changed)
        return changed.height, log._matrix(panel, "suggested"), log._matrix(panel, "decided")

    def _matrix(self, panel: Panel, *units: str, n_coming: int | None = None) -> Array:
        """Put units into a matrix of series × days, the first that is known of several.

        Days are those of the panel, or so many after its last one.
        """
        n_days = panel.n_days if n_coming is None else n_coming
        found = np.full((panel.n_series, n_days), np.nan)
        if not self.table.height:
            return found
        days = panel.place(self.table[_DATE].to_numpy())
        days = days if n_coming is None else days - panel.n_days
        place = panel.places(self.table, self.series)
        values = self.table.select(pl.coalesce(units)).to_series().fill_null(np.nan).to_numpy()
        inside = (days >= 0) & (days < n_days) & (place >= 0) & ~np.isnan(values)
        where = place[inside], days[inside].astype(np.intp)
        found[where] = 0.0
        np.add.at(found, where, values[inside])  # several may arrive in one week
        return found
