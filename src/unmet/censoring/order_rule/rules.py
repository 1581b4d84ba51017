"""The past that planners look back on, and the rules by which they order from it.

A *chain* is what a rule on the past runs along: all days of a series, or its Mondays, its Tuesdays
and so on. Days without a row (the store was closed) are passed over, as planners do. Rules are
means, maxima and exponential smoothing along a chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from math import ceil, log
from numbers import Real
from typing import Any, Literal, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, refuse
from unmet.censoring import constants as tuned
from unmet.censoring.order_rule.lots import Mask, Places
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_weights
from unmet.validation import Number, OneOf, WholeNumber, is_missing, refusal

Kind: TypeAlias = Literal["mean", "maximum", "smoothing"]

DAYS_A_WEEK = 7
_DATES = "dates or whole day numbers"


@dataclass(frozen=True, eq=False)
class Chains:
    """Which row comes before which.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Rows of the histories, chain after chain, each chain in the order of time.
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
        """Value `lag` rows earlier in the chain, later for negative lags; NaN if there is none.

        Both in the order of `rows`.
        """
        there = self.place >= lag if lag > 0 else self.left >= -lag
        return np.where(there, np.roll(along, lag), np.nan)

    def back(self, along: Array) -> Array:
        """From the order of `rows` to the order of the histories."""
        values = np.empty_like(along)
        values[self.rows] = along
        return values

    def row_before(self, lag: int) -> Places:
        """For each row of the histories the row `lag` earlier in its chain; −1 without one."""
        earlier = np.empty(self.rows.size, dtype=np.intp)
        earlier[self.rows] = np.where(self.place >= lag, np.roll(self.rows, lag), -1)
        return earlier


@dataclass(frozen=True, eq=False)
class Histories:
    """Observations of several series, sorted by series and time.

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
    unit : float
        What observations are multiples of; 0 where they are not, or nobody has looked.
    """

    s: Array
    series: Places
    labels: list[Any]
    given: Places
    counts: Mask
    days: Chains
    weeks: Chains
    unit: float = 0.0

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
        return tuple(
            tuple(chains.row_before(lag) for lag in range(1, 4))
            for chains in (self.weeks, self.days)
        )

    @cached_property
    def local_level(self) -> Array:
        """Take the smaller mean of the weeks before and after, same weekday; NaN if too few.

        The row itself is left out: a high day is no sign of a high level.
        """
        chains, along = self.weeks, self.s[self.weeks.rows]
        sides: list[Array] = []
        for side in (1, -1):
            count, total = np.zeros(self.n_rows), np.zeros(self.n_rows)
            for lag in range(1, tuned.WEEKS_AROUND + 1):
                value = chains.before(along, side * lag)
                count += np.isfinite(value)
                total += np.nan_to_num(value)
            sides.append(np.where(count >= 2, total / np.maximum(count, 1), np.nan))
        return chains.back(np.fmin(*sides))

    @cached_property
    def unrest(self) -> list[Array]:
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
            moves.append(chains.back(np.minimum(change / self.unit * (change / total), 4.0)))
        return moves

    def as_given(self, values: Array) -> Array:
        """One value per row, in the order in which the user gave the rows."""
        ordered = np.empty_like(values)
        ordered[self.given] = values
        return ordered


# --- Reading observations, dates and labels of series.


def read_histories(s: Any, time: Any, series: Any, sample_weight: Any) -> Histories:
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
    if time is None:
        raise InvalidInput("time must be given to find an order rule, one date per row, got None.")
    day = _read_days(_read_plain("time", "entry", time, values.size))
    codes, labels = np.zeros(values.size, dtype=np.intp), [None]
    if series is not None:
        codes, labels = _read_labels(_read_plain("series", "label", series, values.size).tolist())
    weight = read_weights(sample_weight, values.size)
    counts = np.ones(values.size, dtype=np.bool_) if weight is None else weight > 0
    given = np.lexsort((day, codes))
    day, codes = day[given], codes[given]
    repeated = (day[1:] == day[:-1]) & (codes[1:] == codes[:-1])
    if repeated.any():
        label = labels[codes[int(repeated.argmax())]]
        where = "" if label is None else f", first in series {label!r:.40}"
        number = int(np.count_nonzero(repeated))
        raise InvalidInput(
            "time must name each day at most once in a series, "
            f"got {number} day{'s' * (number > 1)} again{where}."
        )
    return Histories(
        s=values[given],
        series=codes,
        labels=labels,
        given=given,
        counts=counts[given],
        days=Chains.of(codes),
        weeks=Chains.of(codes * DAYS_A_WEEK + np.mod(day, DAYS_A_WEEK)),
    )


def _read_days(column: NDArray[Any]) -> Places:
    """Day numbers; a time of day is dropped, in the zone it is written in."""
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
        if is_missing(entry):
            raise InvalidInput(f"time must not be missing, got {entry} in row {row}.")
        if not isinstance(entry, date | np.datetime64):
            raise InvalidInput(f"time must hold {_DATES}, got {entry!r:.40} in row {row}.")
        days[row] = entry.date() if isinstance(entry, datetime) else entry
    return days


def _read_labels(entries: list[Any]) -> tuple[Places, list[Any]]:
    """Code of every row and the label of every code, in the order of first appearance."""
    places: dict[Any, int] = {}
    try:
        codes = [places.setdefault(entry, len(places)) for entry in entries]
    except TypeError:
        raise InvalidInput(
            "series must hold labels such as text or numbers, "
            f"got entries of type {type(entries[0]).__name__}."
        ) from None
    for label, code in places.items():
        if is_missing(label):
            row = codes.index(code)
            raise InvalidInput(f"series must not be missing, got {label} in row {row}.")
    return np.array(codes, dtype=np.intp), list(places)


def _read_plain(name: str, what: str, value: Any, n_rows: int) -> NDArray[Any]:
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
    if array.size != n_rows:
        raise InvalidInput(
            f"{name} must have one {what} per row of s, got {array.size} for {n_rows} rows."
        )
    return array


# --- What planners compute from the past.


@dataclass(frozen=True)
class OrderRule:
    """What a planner computes from the observations of a series before he multiplies and rounds.

    Attributes
    ----------
    kind : {"mean", "maximum", "smoothing"}
    of : int or float
        How many past rows a mean or maximum takes; the weight of the newest row in smoothing.
    same_weekday : bool
        Whether it looks at the same weekday only, or at all days.

    Examples
    --------
    >>> OrderRule("mean", 4).name
    'mean of the last 4 same weekdays'
    """

    kind: Kind
    of: float
    same_weekday: bool = True

    def __post_init__(self) -> None:
        OneOf("mean", "maximum", "smoothing")("kind", self.kind)
        if self.kind == "smoothing":
            Number(above=0, most=1)("of", self.of)
        elif Number()("of", self.of) < 1 or self.of % 1:
            raise refusal("of", WholeNumber(1), self.of)

    @property
    def name(self) -> str:
        """In words, as it is printed and as ``rules=`` takes it."""
        days = "same weekdays" if self.same_weekday else "days"
        if self.kind == "smoothing":
            return f"exponential smoothing {self.of:g} of {days}"
        if self.of == 1:
            return "last week's value" if self.same_weekday else "yesterday's value"
        return f"{self.kind} of the last {int(self.of)} {days}"

    @property
    def needs(self) -> int:
        """How many rows of its chain must come before a row it speaks about."""
        if self.kind != "smoothing":
            return int(self.of)
        left = log(tuned.STARTING_SHARE)
        return 1 if self.of == 1 else ceil(left / log(1 - self.of))

    def base(self, histories: Histories) -> Array:
        """Value of the rule for every row, from earlier rows only; NaN where they are too few."""
        chains = histories.weeks if self.same_weekday else histories.days
        along = histories.s[chains.rows]
        if self.kind == "smoothing":
            value = _smooth(along, chains, float(self.of))
        else:
            # summed one by one, whole numbers stay exact
            value = chains.before(along, 1)
            for lag in range(2, int(self.of) + 1):
                earlier = chains.before(along, lag)
                value = value + earlier if self.kind == "mean" else np.maximum(value, earlier)
            value = value / int(self.of) if self.kind == "mean" else value
        return chains.back(np.where(chains.place >= self.needs, value, np.nan))


def _smooth(along: Array, chains: Chains, weight: float) -> Array:
    """Smoothed value before each row, started at the first row of the chain.

    y_t = (1 − w) y_{t−1} + w s_t is a geometric sum; adding the sum of the 2^j rows before to that
    of the last 2^j doubles its reach, so that a chain of T rows takes log₂ T passes over all chains
    at once.
    """
    total = np.where(chains.place == 0, along, weight * along)
    reach, longest = 1, int(chains.place.max()) + 1
    while reach < longest:
        decay = (1 - weight) ** reach
        if decay < 1e-18:
            break
        total = total + decay * np.nan_to_num(chains.before(total, reach))
        reach *= 2
    return chains.before(total, 1)


#: What is tried unless the user names rules.
DEFAULT_RULES: tuple[OrderRule, ...] = (
    *(OrderRule("mean", count) for count in range(1, 9)),
    *(OrderRule("maximum", count) for count in range(2, 9)),
    *(OrderRule("mean", count, same_weekday=False) for count in (1, 7, 14, 28)),
    *(OrderRule("maximum", count, same_weekday=False) for count in (7, 14, 28)),
    *(OrderRule("smoothing", weight) for weight in (0.1, 0.2, 0.3, 0.5)),
    *(OrderRule("smoothing", weight, same_weekday=False) for weight in (0.1, 0.2, 0.3, 0.5)),
)


def read_rules(rules: Any) -> Sequence[OrderRule]:
    """Rules to try: "auto", or rules and names of rules."""
    if isinstance(rules, str) and rules == "auto":
        return DEFAULT_RULES
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise InvalidInput(f'rules must be "auto" or a list of rules, got {rules!r:.60}.')
    known = {rule.name: rule for rule in DEFAULT_RULES}
    chosen: list[OrderRule] = []
    for rule in rules:
        if isinstance(rule, OrderRule):
            chosen.append(rule)
        elif isinstance(rule, str) and rule in known:
            chosen.append(known[rule])
        else:
            raise InvalidInput(
                "rules must hold OrderRule or names such as "
                f"'mean of the last 4 same weekdays', got {rule!r:.60}."
            )
    if not chosen:
        raise InvalidInput("rules must hold at least one rule, got none.")
    return chosen
