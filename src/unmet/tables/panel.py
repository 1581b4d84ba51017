"""A table of sales as a panel: a matrix of series × days, with what is known of each day.

Days without a row are unknown, not zero, unless the table shows that zeros were left out. Values
known in advance reach as far as the table of coming days.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.arrays import Array, taken
from unmet.errors import InvalidInput, Note, SolverFailure
from unmet.tables.dates import (
    CYCLE,
    LENGTH,
    date_form,
    find_period,
    period_date,
    period_place,
    read_dates,
)
from unmet.tables.encoding import as_categories, count_rows
from unmet.tables.reading import as_polars, numbers, read_flags
from unmet.tables.schema import Schema
from unmet.validation import OneOf

Places = NDArray[np.intp]
"""Places of series or days in a panel."""
GAPS = ("auto", "missing", "zero")
"""What days without a row are: found out, unknown, or days on which nothing was sold."""
_WEEK = 7
ENDED = {"day": 28, "business day": 28, "week": 28, "month": 12, "quarter": 6, "year": 3}
"""Periods without a row after which a series is taken to have ended."""
MAX_TIMES = 10.0
"""The largest sales of the past are not exceeded by more in what is expected of a period: whatever
model says more is wrong."""
MAX_SALES = 1e15
"""Sales of a period: whole numbers are exact below it, and sums of squares finite."""


@dataclass(frozen=True)
class Panel:
    """Series × days.

    Attributes
    ----------
    observed : ndarray of shape (n_series, n_days)
        Sales; NaN where there is no row.
    hidden : ndarray of shape (n_series, n_days) or None
        1 where the day sold out, 0 where all demand was seen, NaN where nobody knows; probabilities
        where `drawn` is given. None where nobody knows anything.
    first_day : datetime.date
    period : str
        What a column is for: "day", "business day", "week", "month", "quarter" or "year".
    group : ndarray of shape (n_series,) or None
        Series that are similar share a number.
    static : mapping of str to ndarray of shape (n_series,)
        Categories of series, as whole numbers.
    known : mapping of str to ndarray of shape (n_series, n_days + n_coming)
        What is known beforehand of each day, such as prices; NaN where it is not.
    categories : tuple of str
        Those of `known` that are numbers of categories.
    price : str or None
        The one of `known` that is a price.
    keys : polars.DataFrame or None
        The columns that tell series apart, a row for each series.
    planned : ndarray of bool, shape (n_series,)
        Series that orders are for: those that are new, or still sold at the end; by default all.
    drawn : ndarray of shape (n_draws, n_series, n_days) or None
        Demand that is drawn from what the hours of each day say of it, where somebody read those.
    closed : ndarray of bool, shape (n_series, n_days + n_coming), or None
        Days on which a series cannot be sold: on that weekday it never was, or a column that is
        known beforehand says so. None where there are none.
    weekdays : ndarray of bool, or None
        Days of the cycle on which anything is sold, where more series than these tell.
    """

    observed: Array
    hidden: Array | None
    first_day: datetime.date
    period: str = "day"
    group: Places | None = None
    static: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    known: Mapping[str, Array] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    price: str | None = None
    keys: pl.DataFrame | None = None
    planned: NDArray[np.bool_] = None  # type: ignore[assignment]
    drawn: Array | None = None
    closed: NDArray[np.bool_] | None = None
    weekdays: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        if self.planned is None:
            object.__setattr__(self, "planned", np.ones(self.n_series, dtype=np.bool_))

    @property
    def n_series(self) -> int:
        """How many series."""
        return int(self.observed.shape[0])

    @property
    def n_days(self) -> int:
        """How many days, those without rows included."""
        return int(self.observed.shape[1])

    def date(self, day: Places) -> NDArray[np.datetime64]:
        """Dates of days, those to come included."""
        return period_date(self.first_day, self.period, day)

    def place(self, dates: Any) -> Places:
        """Days of dates, those to come included: the inverse of `date`."""
        return period_place(self.first_day, self.period, dates)

    @property
    def unit(self) -> str:
        """What users call a column: day, week, month, quarter or year."""
        return self.period.split()[-1]

    @property
    def cycle(self) -> int:
        """Columns after which similar ones come again: 7 days, 12 months, 1 week."""
        return CYCLE[self.period]

    def places(self, table: pl.DataFrame, names: Sequence[str]) -> Places:
        """Place of the series that each row of a table speaks of; −1 where the panel lacks it."""
        if not names or self.keys is None:
            return np.zeros(table.height, dtype=np.intp)
        hidden = [f"\0{name}" for name in names]
        asked = keys_of(table, names)
        own = self.keys.select(hidden).with_row_index("\0place")
        found = asked.join(own, on=hidden, how="left", maintain_order="left")["\0place"]
        return found.cast(int).fill_null(-1).to_numpy().astype(np.intp)

    def take(self, places: Places) -> Panel:
        """Keep some series."""
        names = ("observed", "hidden", "group", "keys", "planned", "closed")
        every = taken(self, places, *names)
        every["keys"] = self.keys if self.keys is None or not self.keys.width else every["keys"]
        return replace(
            self,
            **every,
            static={name: each[places] for name, each in self.static.items()},
            known={name: each[places] for name, each in self.known.items()},
            drawn=None if self.drawn is None else self.drawn[:, places],
        )

    def until(self, n_days: int) -> Panel:
        """Keep what was known after so many days; what is known beforehand stays."""
        hidden = None if self.hidden is None else self.hidden[:, :n_days]
        drawn = None if self.drawn is None else self.drawn[:, :, :n_days]
        return replace(self, observed=self.observed[:, :n_days], hidden=hidden, drawn=drawn)

    @property
    def imputed(self) -> NDArray[np.bool_]:
        """Days that sold out, surely or perhaps: those whose demand is not what was sold."""
        if self.hidden is None:
            return np.zeros(self.observed.shape, dtype=np.bool_)
        return np.asarray(self.hidden > 0)

    @property
    def some_unknown(self) -> bool:
        """Whether of some days with sales nobody knows if they sold out."""
        seen = ~np.isnan(self.observed)
        return self.hidden is None or bool(np.isnan(self.hidden[seen]).any())

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether all sales of each series are whole numbers; of a new one, whether all are."""
        seen = ~np.isnan(self.observed)
        found = (~seen | (self.observed == np.round(self.observed))).all(axis=1)
        return np.asarray(np.where(seen.any(axis=1), found, found.all()))

    @property
    def counted(self) -> bool:
        """Whether all sales are whole numbers."""
        return bool(self.whole.all())

    @property
    def largest(self) -> Array:
        """Largest sales of each series; 0 where it has none."""
        return np.asarray(np.nan_to_num(self.observed).max(axis=1, initial=0.0))

    @property
    def tells_seasons(self) -> bool:
        """Whether the past is long enough to tell seasons."""
        return self.n_days * LENGTH[self.period] > 400

    def rounded(self, values: Array, decimals: int = 4) -> Array:
        """Round amounts; to more decimals where usual sales of a series are below 1."""
        sold = self.observed > 0
        usual = np.sum(self.observed, axis=1, where=sold) / np.maximum(sold.sum(axis=1), 1)
        least = np.min(usual, initial=1.0, where=usual > 0)
        return np.round(values, decimals + int(np.ceil(-np.log10(least))))

    def is_open(self, series: Places, day: Places) -> NDArray[np.bool_]:
        """Whether series can be sold on days, those to come included."""
        open_days = self.open_weekdays[day % self.open_weekdays.size]
        return open_days if self.closed is None else open_days & ~self.closed[series, day]

    @property
    def open_weekdays(self) -> NDArray[np.bool_]:
        """Days of the cycle on which there has ever been a row, by day % cycle."""
        if self.weekdays is not None:
            return self.weekdays
        cycle = self.cycle if self.unit == "day" else 1
        seen = ~np.isnan(self.observed).all(axis=0)
        found = np.zeros(cycle, dtype=np.bool_)
        np.logical_or.at(found, np.arange(seen.size) % cycle, seen)
        return found if self.n_days >= 2 * cycle else np.ones(cycle, dtype=np.bool_)


@dataclass(frozen=True)
class PanelFacts:
    """What a panel was found to be, so that further series of the same table are read alike.

    Attributes
    ----------
    first_day : datetime.date
    n_days, n_series : int
    flags : bool
        Whether anything tells which days sold out.
    zero_gaps : bool
        Whether days without a row are days on which nothing was sold.
    seen : ndarray of bool, shape (n_days,)
        Days on which there is any row.
    weekdays : ndarray of bool
        As for `Panel`.
    closed : ndarray of bool, shape (n_days + n_coming,)
        Days that are closed for all series.
    closing : mapping of str to list of str
        Values of columns that close a day.
    labels : mapping of str to list of str
        Values of categories, in the order of their numbers.
    alike : str
        The category whose series are similar; empty where none is.
    groups : ndarray
        Its numbers, in the order of `largest`.
    largest : ndarray
        Largest sales of each group of similar series, and last those of all.
    events : mapping of str to ndarray of shape (n_days + 1,)
        Of columns with numbers: the share of series that have three times their mean on each day,
        and last the largest number.
    """

    first_day: datetime.date
    n_days: int
    n_series: int
    flags: bool
    zero_gaps: bool
    seen: NDArray[np.bool_]
    weekdays: NDArray[np.bool_]
    closed: NDArray[np.bool_]
    closing: Mapping[str, list[str]]
    labels: Mapping[str, list[str]]
    alike: str
    groups: NDArray[np.int64]
    largest: Array
    events: Mapping[str, Array]


Given: TypeAlias = tuple[pl.DataFrame, pl.DataFrame | None, Schema, tuple[Places, Places, Places]]
"""Rows of the past and of coming days, their columns, and their series and days."""


def read_panel(table: pl.DataFrame, schema: Schema, **how: Any) -> tuple[Panel, list[str]]:
    """Read a panel, and what should be said of it, as `read_panel_and_facts` does."""
    return read_panel_and_facts(table, schema, **how)[:2]


def read_panel_and_facts(
    table: pl.DataFrame,
    schema: Schema,
    *,
    coming: Any = None,
    n_coming: int = 0,
    force: bool = False,
    like: PanelFacts | None = None,
    span: tuple[datetime.date, datetime.date] | None = None,
) -> tuple[Panel, list[str], PanelFacts]:
    """Read a panel from a table, and keep what is needed to read further series alike.

    Sales far beyond all others of their series are mistyped, and count as unknown.

    Parameters
    ----------
    table : polars.DataFrame
    schema : Schema
    coming : table, optional
        What is known of coming days: a date column, columns of series or some of them, and
        features. Series that only it has are new.
    n_coming : int
        Coming days that matter, lead time included.
    force : bool
        Whether to take all cells as they are.
    like : PanelFacts, optional
        Of the panel that these are further series of: what depends on other series is as there.
    span : tuple of two dates, optional
        First and last date of a larger table that these are some series of.

    Returns
    -------
    panel : Panel
    notes : list of str
    facts : PanelFacts
    """
    OneOf(*GAPS)("gaps", schema.gaps)
    notes: list[str] = []
    dates = read_dates(table, schema.date, schema.date_format)
    later = None if coming is None else _coming_rows(as_polars(coming), schema, table)
    keys, codes = _number_series(table, schema.series, later)
    first, last = span or (dates.min(), dates.max())
    assert isinstance(first, datetime.date)
    assert isinstance(last, datetime.date)
    period = schema.period or find_period(dates, schema.date)
    day = period_place(first, period, dates.to_numpy())
    n_days, unit = int(period_place(first, period, last)) + 1, period.split()[-1]
    if like is not None:
        schema = replace(schema, gaps="zero" if like.zero_gaps else "missing")
    place = codes * n_days + day
    repeated = np.flatnonzero(np.diff(np.sort(place)) == 0)
    if repeated.size:
        where = np.sort(place)[repeated[0]]
        raise InvalidInput(
            f"Each series must have one row per {unit}, got several for "
            f"{period_date(first, period, where % n_days)}{_called(keys, int(where // n_days))}: "
            "sum them (duplicates='sum'), or name the columns that identify a series (series=)."
        )
    sales = numbers(table, schema.sales, "sales")
    negative = int((sales < 0).sum())
    if negative:
        said = f"Sales below 0 were set to 0 in {count_rows(negative)}."
        notes.append(Note(said, negative / sales.size))
        sales = np.maximum(sales, 0.0)
    if np.isnan(sales).all():
        raise InvalidInput(f"sales must have numbers, got none in column {schema.sales!r}.")
    absent = int(np.isnan(sales).sum())
    if absent:
        said = f"Sales are unknown in {count_rows(absent)} without a number in {schema.sales!r}."
        notes.append(Note(said, absent / sales.size))

    n_series = keys.height if keys.width else 1
    shape = (n_series, n_days)
    observed = np.full(shape, np.nan)
    observed[codes, day] = sales
    hidden = _hidden(table, schema, sales, notes)
    told = None if hidden is None else np.full(shape, np.nan)
    if told is not None:
        told[codes, day] = hidden
    if like is not None:
        told = np.full(shape, np.nan) if told is None and like.flags else told
        told = told if like.flags else None
    seen = (~np.isnan(observed)).any(axis=0) if like is None else like.seen
    observed, told, zero_gaps = _fill_gaps(observed, told, schema.gaps, period, seen, notes)
    events: dict[str, Array] = {}
    start = first, period
    if not force:
        events[schema.sales] = _events(observed) if like is None else like.events[schema.sales]
        observed = _without_mistyped(observed, schema.sales, start, keys, notes, events, like)
        told = None if told is None else np.where(np.isnan(observed), np.nan, told)
    highest = float(np.nanmax(observed))
    if highest > MAX_SALES:
        raise InvalidInput(
            f"sales must be at most {MAX_SALES:g}, got {highest:g} in column {schema.sales!r}: "
            "use a larger unit."
        )
    cells = np.zeros((3, 0), dtype=np.intp)
    if later is not None:
        cells = _coming_cells(later, schema, keys, period_place(first, period, later[schema.date]))
        cells = cells[:, (cells[2] >= 0) & (cells[2] < n_days + n_coming)]
    given, shape = (table, later, schema, (codes, day, cells)), (n_series, n_days + n_coming)
    labels: dict[str, list[str]] = {} if like is None else dict(like.labels)
    known, categories = _known(given, shape, notes, labels)
    price = schema.price if schema.price in known else None
    if not force and price is not None and price not in categories:
        events[price] = _events(known[price]) if like is None else like.events[price]
        known[price] = _without_mistyped(known[price], price, start, keys, notes, events, like)
    static = _static(given, keys, labels)
    planned = _planned(observed, period, notes)
    closed = _closed_weekdays(observed, period, n_coming, like)
    closing: dict[str, list[str]] = {} if like is None else dict(like.closing)
    closed |= _closed_by_column(given, closed, closing, like is None)
    closed[:, :n_days] &= ~(observed > 0)
    shut = closed[:, :n_days] & (observed == 0)
    if shut.any():
        notes.append(
            f"Closed days, on which nothing is ever sold, were left out and have no orders: "
            f"{count_rows(int(shut.sum()))}."
        )
        observed = np.where(shut, np.nan, observed)
        told = None if told is None else np.where(shut, np.nan, told)
    out_of = keys if keys.width else pl.DataFrame()
    panel = Panel(
        observed, told, first, period, None, static, known, categories, price, out_of, planned
    )
    panel = replace(panel, closed=closed if closed.any() else None)
    if like is not None:
        if like.alike:
            group = np.searchsorted(like.groups, static[like.alike])
            there = like.groups[np.minimum(group, like.groups.size - 1)] == static[like.alike]
            panel = replace(panel, group=np.where(there, group, like.groups.size).astype(np.intp))
        return replace(panel, weekdays=like.weekdays), notes, like
    alike, largest = _similar(observed, static), panel.largest
    groups = np.unique(static[alike]) if alike else np.zeros(1, dtype=np.int64)
    if alike:
        group = np.searchsorted(groups, static[alike]).astype(np.intp)
        panel = replace(panel, group=group)
    most = np.zeros(groups.size + 1)
    np.maximum.at(most, np.zeros(n_series, int) if panel.group is None else panel.group, largest)
    most[-1] = largest.max()
    facts = PanelFacts(
        first_day=first,
        n_days=n_days,
        n_series=n_series,
        flags=told is not None,
        zero_gaps=zero_gaps,
        seen=seen,
        weekdays=panel.open_weekdays,
        closed=np.asarray(closed.all(axis=0)),
        closing=closing,
        labels=labels,
        alike=alike,
        groups=groups,
        largest=most,
        events=events,
    )
    return panel, notes, facts


def refuse_absurd(
    panel: Panel, series: Places, expected: Array, advice: str, like: PanelFacts | None = None
) -> Array:
    """Refuse what sales of the past cannot explain, whichever model expects it.

    Parameters
    ----------
    panel : Panel
    series, expected : ndarray of shape (n_rows,)
        What is expected, or ordered before lots, of single periods.
    advice : str
        What to do about it, the end of a sentence.
    like : PanelFacts, optional
        Of a panel that these are further series of.

    Returns
    -------
    ndarray of shape (n_rows,)
        The largest sales that each was compared with.

    Raises
    ------
    SolverFailure
        Where it is not a number, or more than `MAX_TIMES` times the largest sales of the series;
        of a series that is new or short, of the largest of similar ones too.
    """
    seen = ~np.isnan(panel.observed)
    own = np.where(seen, panel.observed, 0.0).max(axis=1, initial=0.0)
    group = np.zeros(panel.n_series, np.intp) if panel.group is None else panel.group
    alike = np.zeros(int(group.max(initial=0)) + 1)
    np.maximum.at(alike, group, own)
    if like is not None:
        alike = like.largest
    most = alike.max(initial=own.max(initial=0.0))
    alike = np.where(alike > 0, alike, most or 1.0)  # where nothing was ever sold
    short = (seen.sum(axis=1) < 4 * _WEEK) | (own <= 0)
    largest = np.where(short, np.maximum(own, alike[group]), own)
    wrong = ~(expected <= MAX_TIMES * largest[series])
    if not wrong.any():
        return np.asarray(largest[series])
    place = int(np.argmax(np.where(wrong, expected / largest[series], -1.0)))
    who = int(series[place])
    of = " or similar ones" if short[who] else ""
    called = "" if panel.keys is None else _called(panel.keys, who)
    others = np.unique(series[wrong]).size - 1
    more = f" (and so for {others:,} more series)" if others else ""
    look = "check the table of coming days (future=), or " if panel.known else ""
    raise SolverFailure(
        f"The forecast for a {panel.unit} must be at most {MAX_TIMES:g} times the largest sales of "
        f"the series{of}, {largest[who]:,.6g}{called}, got {expected[place]:,.6g}{more}: {look}"
        f"{advice}, or plan anyway (force=True)."
    )


# --- Series and days.


def keys_of(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Columns that tell series apart, as text."""
    return table.select(as_categories(table[name]).alias(f"\0{name}") for name in names)


def among(asked: pl.DataFrame, keys: pl.DataFrame) -> pl.Series:
    """Whether each key is among some."""
    known = keys.unique().with_columns(pl.lit(True).alias("\0there"))
    found = asked.join(known, on=asked.columns, how="left", maintain_order="left")
    return found["\0there"].fill_null(False)


def _number_series(
    table: pl.DataFrame, names: Sequence[str], later: pl.DataFrame | None
) -> tuple[pl.DataFrame, Places]:
    """Series in the order of their names, and the number of each row's."""
    if not names:
        return pl.DataFrame(), np.zeros(table.height, dtype=np.intp)
    for name in names:
        if table[name].null_count():
            raise InvalidInput(
                f"series must have a value in every row, got empty cells in "
                f"{count_rows(table[name].null_count())} of column {name!r}."
            )
    hidden = [f"\0{name}" for name in names]

    def written(frame: pl.DataFrame) -> pl.DataFrame:
        text = [as_categories(frame[name]).alias(f"\0{name}") for name in names]
        return frame.select(names).with_columns(text)

    both = written(table)
    each = both.unique(subset=hidden, keep="any")
    if later is not None and set(names) <= set(later.columns):
        added = written(later).cast({name: table[name].dtype for name in names}, strict=False)
        each = pl.concat([each, added]).unique(subset=hidden, keep="first", maintain_order=True)
    each = each.sort([*names, *hidden]).with_row_index("\0code")
    codes = both.select(hidden).join(each, on=hidden, how="left", maintain_order="left")["\0code"]
    return each.select(*names, *hidden), codes.to_numpy().astype(np.intp)


def _fill_gaps(
    observed: Array,
    hidden: Array | None,
    gaps: str,
    period: str,
    anywhere: NDArray[np.bool_],
    notes: list[str],
) -> tuple[Array, Array | None, bool]:
    """Decide what days or weeks without a row are, between the first and last of each series.

    A day without any row (`anywhere`) is a closed day. Last it is said whether they are zeros.

    Where they are zeros, those after the last row are as well, unless the series has ended: no row
    for a while, and for longer than four times its mean interval between rows.
    """
    seen = ~np.isnan(observed)
    n_days = observed.shape[1]
    first = np.where(seen.any(axis=1), seen.argmax(axis=1), n_days)
    last = n_days - 1 - seen[:, ::-1].argmax(axis=1)
    day = np.arange(n_days)
    inside = (day > first[:, None]) & (day < last[:, None]) & anywhere
    empty = inside & ~seen
    n_empty, n_inside = int(empty.sum()), int(inside.sum())
    if not n_empty and gaps != "zero":
        return observed, hidden, False
    values = observed[seen]
    whole = bool((values == np.round(values)).all())
    # where one is sold on many days, none is sold on some: such rows were left out
    left_out = whole and not (values == 0).any() and float((values == 1).mean()) > 0.05
    many = n_empty > 0.05 * n_inside
    as_zero = gaps == "zero" or (gaps == "auto" and left_out and many)
    if as_zero:
        interval = (last - first) / np.maximum(seen.sum(axis=1) - 1, 1)
        alive = n_days - 1 - last <= np.maximum(ENDED[period] - 1, 4 * interval)
        empty |= (alive & seen.any(axis=1))[:, None] & (day > last[:, None]) & anywhere
        n_empty = int(empty.sum())
    if not n_empty:
        return observed, hidden, as_zero
    count, share = f"{period.split()[-1].capitalize()}s without a row", n_empty / n_inside
    if as_zero:
        why = "" if gaps == "zero" else ", because no row has 0 and many have 1"
        notes.append(Note(f"{count} count as 0 sold{why}: {n_empty:,}.", share))
        hidden = None if hidden is None else np.where(empty, 0.0, hidden)
        return np.where(empty, 0.0, observed), hidden, True
    if many or gaps == "auto":
        said = f"{count} count as unknown: {n_empty:,}. If nothing was sold, count them as 0 "
        said += "(gaps='zero')."
        notes.append(Note(said, share))
    return observed, hidden, False


def _events(values: Array) -> Array:
    """Share of series that have three times their mean on each day; last, the largest number."""
    positive = np.where(values > 0, values, 0.0)
    mean = positive.sum(axis=1) / np.maximum((positive > 0).sum(axis=1), 1)
    there = ~np.isnan(values) & (mean[:, None] > 0)
    often = (there & (positive >= 3 * mean[:, None])).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.append(often, positive.max(initial=0.0))


def _without_mistyped(
    values: Array,
    name: str,
    start: tuple[Any, str],
    keys: pl.DataFrame,
    notes: list[str],
    events: Mapping[str, Array],
    like: PanelFacts | None,
) -> Array:
    """Take cells for unknown that are ten times all others of their series, but for 2% of them.

    Of a short series they are ten times all other series as well. Where most cells are 0, an order
    in bulk may be so large: there it takes a hundred times. On a day on which other series have
    three times their mean as well, it is an event. Where most series have more such cells, they are
    on two scales, such as units and cents: they are refused.
    """
    found: list[tuple[int, int, float]] = []
    positive = np.where(values > 0, values, 0.0)
    count = (positive > 0).sum(axis=1)
    mean = positive.sum(axis=1) / np.maximum(count, 1)
    highest = positive.max(axis=1, initial=0.0)
    two_scales: list[Array] = []
    usual = np.median(positive[positive > 0]) if positive.any() else 1.0
    few_units = 5.0 * min(1.0, float(usual))  # below, numbers differ by chance
    for row in np.flatnonzero((highest >= 10 * few_units) & (count >= 3)):
        rising = np.maximum(np.sort(positive[row]), few_units)
        if (rising[1:] < 10 * rising[:-1]).all():  # most series
            continue
        there = np.flatnonzero(positive[row])
        falling = there[np.argsort(-positive[row, there], kind="stable")]
        long = there.size >= 10
        floor = few_units
        if not long:
            others = events[name][-1] if like else np.delete(highest, row).max(initial=0.0)
            floor = others or np.inf
        size = np.maximum(positive[row, falling], floor)
        times = 10.0 if 2 * there.size > there[-1] - there[0] else 100.0
        beyond = np.flatnonzero(size[:-1] >= times * size[1:]) + 1
        few = 1 + there.size // 50
        two_scales += [size[n - 1 : n + 1] for n in beyond if long and few < n < size.size - few]
        last = max(beyond[beyond <= few], default=0)
        for day in falling[:last]:
            if like is not None:
                if events[name][day] < 0.2:
                    found.append((int(row), int(day), positive[row, falling[last]]))
                continue
            others = ~np.isnan(values[:, day]) & (mean > 0)
            others[row] = False
            event = (positive[others, day] >= 3 * mean[others]).sum()
            if not event or event < 0.2 * others.sum():
                found.append((int(row), int(day), positive[row, falling[last]]))
    if like is None and 2 * len(two_scales) > (count >= 10).sum():
        high, low = two_scales[0]
        raise InvalidInput(
            f"Column {name!r} must have one scale, but most series have values up to {low:,.6g} "
            f"and from {high:,.6g}, like euros and cents: correct them, or plan anyway "
            "(force=True)."
        )
    if not found:
        return values
    who, when, usual = found[0]
    more = f" (and {len(found) - 1:,} more such cells)" if found[1:] else ""
    notes.append(
        Note(
            f"{values[who, when]:,.10g} in {name!r} on {period_date(*start, when)}"
            f"{_called(keys, who)} counts as unknown, because the next largest value is "
            f"{usual:,.6g}{more}: correct it, or keep it (force=True).",
            len(found) / max(count.sum(), 1),
        )
    )
    values = values.copy()
    values[tuple(np.array([each[:2] for each in found]).T)] = np.nan
    return values


def _planned(observed: Array, period: str, notes: list[str]) -> NDArray[np.bool_]:
    """Leave out series that have had no row for a while; those without any are new."""
    seen = ~np.isnan(observed)
    last = ENDED[period]
    ended = seen.any(axis=1) & ~seen[:, -last:].any(axis=1)
    if ended.any():
        said = f"Series without a row in the last {last} {period}s have no orders: {ended.sum():,}."
        notes.append(Note(said, float(ended.mean())))
    return np.asarray(~ended)


# --- Days on which nothing can be sold.


def _closed_weekdays(
    observed: Array, period: str, n_coming: int, like: PanelFacts | None
) -> NDArray[np.bool_]:
    """Weekdays on which a series, or all together, only ever had rows of 0.

    By chance that is unlikely: the share of zeros on the other weekdays, to the power of how often
    the weekday was seen, is below 0.001 over the number of such tests.
    """
    n_series, n_days = observed.shape
    closed = np.zeros((n_series, n_days + n_coming), dtype=np.bool_)
    cycle = CYCLE[period]
    if period not in ("day", "business day"):
        return closed
    weekday = np.arange(n_days + n_coming) % cycle
    seen, zero = ~np.isnan(observed), observed == 0
    n_seen, n_zero = (
        np.stack([each[:, weekday[:n_days] == place].sum(axis=1) for place in range(cycle)], axis=1)
        for each in (seen, zero)
    )
    if like is not None:
        closed |= like.closed[: closed.shape[1]]
    for every in (False, True) if like is None else (False,):
        rows, zeros = (
            (each.sum(axis=0, keepdims=True) if every else each) for each in (n_seen, n_zero)
        )
        others = rows.sum(axis=1, keepdims=True) - rows
        share = (zeros.sum(axis=1, keepdims=True) - zeros + 0.5) / (others + 1.0)
        n_tests = rows.size if like is None else like.n_series * cycle
        never = (zeros == rows) & (rows >= 3) & (share**rows < 1e-3 / n_tests)
        closed |= never[:, weekday]
    return closed


def _closed_by_column(
    given: Given, closed: NDArray[np.bool_], closing: dict[str, list[str]], learn: bool
) -> NDArray[np.bool_]:
    """Days that a column such as ``open`` closes: one of its values only ever comes with 0.

    Such values are added to `closing`, or taken from there.
    """
    table, later, schema, at = given
    found = np.zeros(closed.shape, dtype=np.bool_)
    open_rows = ~closed[at[:2]]  # Sundays explain themselves
    zero = numbers(table, schema.sales, "sales") == 0
    for name in schema.known_future:
        text = as_categories(table[name])
        if text.n_unique() > 10 or not (learn or name in closing):
            continue
        values, value = np.unique(text.to_numpy(), return_inverse=True)
        rows, zeros = np.bincount(value), np.bincount(value, zero)
        others = np.bincount(value, zero & open_rows), np.bincount(value, open_rows)
        part, whole = (each.sum() - each for each in others)
        never = (zeros == rows) & (rows >= 3) & (whole - part >= 3)
        never &= ((part + 0.5) / (whole + 1.0)) ** rows < 1e-3
        never = never if learn else np.isin(values, closing[name])
        if not never.any():
            continue
        closing[name] = [str(each) for each in values[never]]
        shut = never[value]
        found[at[0][shut], at[1][shut]] = True
        if later is not None and name in later.columns:
            row, series, day = at[2]
            coming = np.isin(as_categories(later[name]).to_numpy(), values[never])[row]
            found[series[coming], day[coming]] = True
    return found


# --- What is known of days and of series.


def _hidden(table: pl.DataFrame, schema: Schema, sales: Array, notes: list[str]) -> Array | None:
    """1 where a row sold out, by its flag or by its stock."""
    found: Array | None = None
    if schema.stock is not None:
        stock = numbers(table, schema.stock, "stock")
        stock = np.where((stock <= 0) & (sales > 0), np.nan, stock)  # nobody has kept it
        below = int((stock < sales).sum())
        if below:
            notes.append(
                f"Stock {schema.stock!r} is below sales in {count_rows(below)}: they count as sold "
                "out."
            )
        found = np.where(np.isnan(stock), np.nan, (sales >= stock).astype(np.float64))
    if schema.sold_out is not None:
        flags = read_flags(table, schema.sold_out, schema.sold_out_opposite)
        found = flags if found is None else np.where(np.isnan(flags), found, flags)
    if found is None or np.isnan(found).all():
        return None
    return np.where(np.isnan(sales), np.nan, found)


def _coming_rows(coming: pl.DataFrame, schema: Schema, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of coming days, with their dates read as those of the table."""
    if schema.date not in coming.columns:
        raise InvalidInput(
            f"future must have the date column {schema.date!r}, got {', '.join(coming.columns)}: "
            "rename its column."
        )
    dates = read_dates(coming, schema.date, date_form(table, schema.date))
    return coming.with_columns(dates.alias(schema.date))


def _known(
    given: Given, shape: tuple[int, int], notes: list[str], labels: dict[str, list[str]]
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Matrices of what is known beforehand, and which of them are categories.

    A column that coming days lack is left out. Values of categories are added to `labels`, or taken
    from there.
    """
    table, later, schema, at = given
    there = () if later is None else later.columns
    lacking = [name for name in dict.fromkeys(schema.known_future) if name not in there]
    if lacking:
        more = f" and {len(lacking) - 10:,} more" if len(lacking) > 10 else ""
        notes.append(
            Note(
                f"Not used as features: {', '.join(lacking[:10])}{more}. To use them, add a table "
                "of their values on the coming days (future=)."
            )
        )
    found: dict[str, Array] = {}
    categories: list[str] = []
    names = [name for name in schema.known_future if name in there]
    if later is None or not names:
        return found, ()
    row, series, day = at[2]
    for name in names:
        both = [table[name], later[name]]
        if all(each.dtype.is_numeric() or each.dtype == pl.Boolean for each in both):
            past, next_days = (numbers(pl.DataFrame([each]), name, "known_future") for each in both)
        else:
            text = [as_categories(each) for each in both]
            values = labels.setdefault(name, pl.concat(text).unique().sort().to_list())
            categories.append(name)
            past, next_days = (_codes(each, values).astype(np.float64) for each in text)
        matrix = np.full(shape, np.nan)
        matrix[at[:2]] = past
        matrix[series, day] = next_days[row]
        found[name] = matrix
    empty = sum(int(np.isnan(each[:, at[1].max() + 1 :]).sum()) for each in found.values())
    if empty:
        notes.append(Note(f"The table of coming days has no value in {empty:,} cells (future=)."))
    return found, tuple(categories)


def _coming_cells(later: pl.DataFrame, schema: Schema, keys: pl.DataFrame, day: Places) -> Places:
    """Row, series and day of each cell that coming days tell; of all series if they name none."""
    shared = [name for name in schema.series if name in later.columns]
    text = [as_categories(later[name]).alias(f"\0{name}") for name in shared]
    asked = pl.DataFrame([pl.Series("\0day", day), *text]).with_row_index("\0row")
    own = (keys if keys.width else pl.DataFrame({"one": [0]})).with_row_index("\0series")
    named = [f"\0{name}" for name in shared]
    both = asked.join(own, on=named) if shared else asked.join(own, how="cross")
    return both.select("\0row", "\0series", "\0day").to_numpy().T.astype(np.intp)


def _static(
    given: Given, keys: pl.DataFrame, labels: dict[str, list[str]]
) -> dict[str, NDArray[np.int64]]:
    """Categories of series as numbers, −1 where unknown: columns that never change, and parts.

    Values are added to `labels`, or taken from there.
    """
    table, later, schema, at = given
    found: dict[str, NDArray[np.int64]] = {}
    if keys.height < 2 and not labels:
        return found
    if len(schema.series) > 1:
        for name in schema.series:
            text = keys[f"\0{name}"]
            found[name] = _codes(text, labels.setdefault(name, text.unique().sort().to_list()))
    for name in schema.static:
        text = as_categories(table[name])
        values = labels.setdefault(name, text.unique().sort().to_list())
        own = np.full(keys.height, -1, dtype=np.int64)
        own[at[0]] = _codes(text, values)
        if later is not None and name in later.columns and set(schema.series) <= set(later.columns):
            row, series, _ = at[2]
            own[series] = _codes(as_categories(later[name]), values)[row]
        found[name] = own
    return found


def _codes(text: pl.Series, values: list[str]) -> NDArray[np.int64]:
    """Places of text among values, −1 where it is none of them."""
    places = range(len(values))
    return text.replace_strict(values, places, default=-1, return_dtype=pl.Int64).to_numpy()


def _similar(observed: Array, static: Mapping[str, NDArray[np.int64]]) -> str:
    """Name the category that says most about levels; none where none says much.

    By the share of the variance of log-levels between series that lies between categories, as
    adjusted for their number.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        count = (~np.isnan(observed)).sum(axis=1)
        level = np.log(np.nansum(observed, axis=1) / count)
    known = np.isfinite(level)
    if known.sum() < 4 or not static:
        return ""
    value = level[known] - level[known].mean()
    total = float(value @ value) / (value.size - 1)
    best, alike = 0.1, ""
    for name, codes in static.items():
        _, label = np.unique(codes[known], return_inverse=True)
        size = np.bincount(label)
        if size.size > value.size / 2 or size.size < 2:
            continue
        rest = value - (np.bincount(label, weights=value) / size)[label]
        explained = 1.0 - float(rest @ rest) / (value.size - size.size) / max(total, 1e-300)
        if explained > best:
            best, alike = explained, name
    return alike


# --- Labels.


def _called(keys: pl.DataFrame, place: int) -> str:
    names = [name for name in keys.columns if not name.startswith("\0")]
    words = [f"{name} {keys[name][place]}" for name in names]
    return f" for {', '.join(words)}" if words else ""
