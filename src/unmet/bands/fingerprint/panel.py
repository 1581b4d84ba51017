"""Reading observations, dates and labels of series, each error one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, refuse
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_weights

# --- Rows of several series in the order of time, and the chains of days that a planner looks
# back on.
#  A *chain* is what a rule on the past runs along: all days of a series, or its Mondays, its
# Tuesdays and so on. Days without a row (the store was closed) are passed over, as planners do.

Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

DAYS_A_WEEK = 7


@dataclass(frozen=True, eq=False)
class Chains:
    """Which row comes before which.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Rows of the panel, chain after chain, each chain in the order of time.
    place : ndarray of shape (n_rows,)
        How many rows of its chain come before each of `rows`.
    left : ndarray of shape (n_rows,)
        How many rows of its chain come after each of `rows`.
    """

    rows: Places
    place: Places
    left: Places

    @classmethod
    def of(cls, chain: Places) -> Chains:
        """Chains of rows that are in the order of time; `chain` says to which each belongs."""
        rows = np.argsort(chain, kind="stable")
        member = chain[rows]
        starts = np.flatnonzero(np.r_[True, member[1:] != member[:-1]])
        lengths = np.diff(np.r_[starts, member.size])
        place = np.arange(member.size) - np.repeat(starts, lengths)
        return cls(rows, place, np.repeat(lengths, lengths) - 1 - place)

    def before(self, along: Array, lag: int) -> Array:
        """Value `lag` rows earlier in the chain, NaN if there is none; in the order of `rows`."""
        return np.where(self.place >= lag, np.roll(along, lag), np.nan)

    def after(self, along: Array, lag: int) -> Array:
        """Value `lag` rows later in the chain, NaN if there is none; in the order of `rows`."""
        return np.where(self.left >= lag, np.roll(along, -lag), np.nan)

    def back(self, along: Array) -> Array:
        """From the order of `rows` to the order of the panel."""
        values = np.empty_like(along)
        values[self.rows] = along
        return values

    def row_before(self, lag: int) -> Places:
        """For each row of the panel the row `lag` earlier in its chain; −1 where there is none."""
        earlier = np.empty(self.rows.size, dtype=np.intp)
        earlier[self.rows] = np.where(self.place >= lag, np.roll(self.rows, lag), -1)
        return earlier


@dataclass(frozen=True, eq=False)
class Panel:
    """Observations sorted by series and time.

    Attributes
    ----------
    s : ndarray of shape (n_rows,)
        Observations.
    series : ndarray of shape (n_rows,), int
        Which series a row belongs to: a place in `labels`.
    labels : list
        What the user calls the series.
    given : ndarray of shape (n_rows,), int
        Where each row stood in what the user gave.
    counts : ndarray of shape (n_rows,), bool
        Whether the row is evidence; a row of weight 0 is only history.
    days, weeks : Chains
        All days of a series; the same weekdays of a series.
    """

    s: Array
    series: Places
    labels: list[Any]
    given: Places
    counts: Mask
    days: Chains
    weeks: Chains

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.s.size

    @cached_property
    def repeats(self) -> Mask:
        """Whether an observation is that of the day before, or of the same weekday before."""
        found = np.zeros(self.n_rows, dtype=np.bool_)
        for chains in (self.days, self.weeks):
            along = self.s[chains.rows]
            found[chains.rows] |= along == chains.before(along, 1)
        return found

    @cached_property
    def earlier(self) -> tuple[tuple[Places, ...], ...]:
        """The rows one, two and three before each row, along weeks and along days; −1 for none."""
        lags = range(1, 4)
        return tuple(
            tuple(chains.row_before(lag) for lag in lags) for chains in (self.weeks, self.days)
        )

    def local_level(self, weeks: int = 8) -> Array:
        """Take the smaller mean of the weeks before and after, same weekday; NaN if too few.

        The row itself is left out: a high day is no sign of a high level.
        """
        chains, along = self.weeks, self.s[self.weeks.rows]
        sides: list[Array] = []
        for look in (chains.before, chains.after):
            count, total = np.zeros(self.n_rows), np.zeros(self.n_rows)
            for lag in range(1, weeks + 1):
                value = look(along, lag)
                count += np.isfinite(value)
                total += np.nan_to_num(value)
            sides.append(np.where(count >= 2, total / np.maximum(count, 1), np.nan))
        return chains.back(np.fmin(*sides))

    def unrest(self, unit: float) -> tuple[Array, Array]:
        """How much each row differs from the one before, along days and along weeks.

        (s − s')² / (s + s') in units, 1 on average for Poisson counts of one level; at most 4, so
        that a few jumps do not hide that nothing moves otherwise; NaN where there is nothing.
        """
        moves: list[Array] = []
        for chains in (self.days, self.weeks):
            along = self.s[chains.rows]
            before = chains.before(along, 1)
            total = np.where(along + before > 0, along + before, np.nan)
            change = np.abs(along - before)
            moves.append(chains.back(np.minimum(change / unit * (change / total), 4.0)))
        return moves[0], moves[1]

    def as_given(self, values: Array) -> Array:
        """One value per row, in the order in which the user gave the rows."""
        ordered = np.empty_like(values)
        ordered[self.given] = values
        return ordered


# --- Reading observations, dates and labels of series, each error one sentence.

_DATES = "dates or whole day numbers"


def read_panel(s: Any, time: Any, series: Any, sample_weight: Any) -> Panel:
    """Check what a user gave, and sort it by series and time.

    Parameters
    ----------
    s : array-like of shape (n_rows,)
        Observations, not negative.
    time : array-like of shape (n_rows,)
        Dates, or whole numbers that count days.
    series : array-like of shape (n_rows,) or None
        Labels; None is a single series.
    sample_weight : array-like of shape (n_rows,) or None
        Rows of weight 0 are history, not evidence.
    """
    values = read_column("s", s)
    if not values.size:
        raise InvalidInput("s must have at least one row, got none.")
    if not (values >= 0).all():
        refuse("s", "a non-negative number", values, values >= 0)
    day = _read_days(time, values.size)
    codes, labels = _read_series(series, values.size)
    weight = read_weights(sample_weight, values.size)
    counts = np.ones(values.size, dtype=np.bool_) if weight is None else weight > 0
    given = np.lexsort((day, codes))
    day, codes = day[given], codes[given]
    _refuse_repeated_days(day, codes, labels)
    return Panel(
        s=values[given],
        series=codes,
        labels=labels,
        given=given,
        counts=counts[given],
        days=Chains.of(codes),
        weeks=Chains.of(codes * DAYS_A_WEEK + np.mod(day, DAYS_A_WEEK)),
    )


def _read_days(time: Any, n_rows: int) -> Places:
    """Day numbers; a time of day is dropped, in the zone it is written in."""
    if time is None:
        raise InvalidInput("time must be given to find an order rule, one date per row, got None.")
    column = _read_plain("time", time)
    _check_length("time", "entry", column.size, n_rows)
    if column.dtype.kind == "O":
        column = _read_objects(column)
    if column.dtype.kind == "M":
        missing = np.isnat(column)
        if missing.any():
            raise InvalidInput(f"time must not be missing, got NaT in row {int(missing.argmax())}.")
        return column.astype("datetime64[D]").astype(np.intp)
    if column.dtype.kind not in "iuf":
        found = f"the text {str(column[0])!r:.40}" if column.dtype.kind in "US" else column.dtype
        raise InvalidInput(f"time must hold {_DATES}, got {found}.")
    whole = (np.abs(column) < 2**53) & (column == np.round(column))  # NaN is neither
    if not whole.all():
        row = int(np.argmin(whole))
        raise InvalidInput(f"time must hold {_DATES}, got {column[row]} in row {row}.")
    return column.astype(np.intp)


def _read_objects(column: NDArray[Any]) -> NDArray[Any]:
    """Python's dates and numbers; pandas' time stamps with a zone are dates too."""
    if all(isinstance(entry, Real) and not isinstance(entry, bool) for entry in column):
        return column.astype(np.float64)
    days = np.empty(column.size, dtype="datetime64[D]")
    for row, entry in enumerate(column):
        if entry is None or _is_missing(entry):
            raise InvalidInput(f"time must not be missing, got {entry} in row {row}.")
        if not isinstance(entry, date | np.datetime64):
            raise InvalidInput(f"time must hold {_DATES}, got {entry!r:.40} in row {row}.")
        days[row] = entry.date() if isinstance(entry, datetime) else entry
    return days


def _read_series(series: Any, n_rows: int) -> tuple[Places, list[Any]]:
    """Code of every row and the label of every code, in the order of first appearance."""
    if series is None:
        return np.zeros(n_rows, dtype=np.intp), [None]
    entries = _read_plain("series", series).tolist()
    _check_length("series", "label", len(entries), n_rows)
    places: dict[Any, int] = {}
    try:
        codes = [places.setdefault(entry, len(places)) for entry in entries]
    except TypeError:
        raise InvalidInput(
            "series must hold labels such as text or numbers, "
            f"got entries of type {type(entries[0]).__name__}."
        ) from None
    for label, code in places.items():
        if label is None or _is_missing(label):
            row = codes.index(code)
            raise InvalidInput(f"series must not be missing, got {label} in row {row}.")
    return np.array(codes, dtype=np.intp), list(places)


def _is_missing(entry: Any) -> bool:
    """Whether it is NaN, pandas' NaT (neither equals itself) or pandas' NA."""
    may_differ = isinstance(entry, float | date | np.datetime64)
    return type(entry).__name__ == "NAType" or (may_differ and bool(entry != entry))


def _read_plain(name: str, value: Any) -> NDArray[Any]:
    """One-dimensional array of whatever a column holds; dates and mixed labels stay objects."""
    if nw.dependencies.is_into_series(value):
        column = nw.from_native(value, series_only=True)
        if getattr(column.dtype, "time_zone", None) is not None:
            column = column.dt.replace_time_zone(None)
        array = np.asarray(column.to_numpy())
    elif isinstance(value, list | tuple):
        array = np.fromiter(value, dtype=object, count=len(value))
    else:
        array = np.asarray(value)
    if array.ndim != 1:
        found = f"shape {array.shape}" if array.ndim else repr(value)[:40]
        raise InvalidInput(f"{name} must have one entry per row, got {found}.")
    return array


def _check_length(name: str, what: str, found: int, n_rows: int) -> None:
    if found != n_rows:
        raise InvalidInput(
            f"{name} must have one {what} per row of s, got {found} for {n_rows} rows."
        )


def _refuse_repeated_days(day: Places, codes: Places, labels: list[Any]) -> None:
    repeated = (day[1:] == day[:-1]) & (codes[1:] == codes[:-1])
    if repeated.any():
        label = labels[codes[int(repeated.argmax())]]
        where = "" if label is None else f", first in series {label!r:.40}"
        number = int(np.count_nonzero(repeated))
        raise InvalidInput(
            "time must name each day at most once in a series, "
            f"got {number} day{'s' * (number > 1)} again{where}."
        )
