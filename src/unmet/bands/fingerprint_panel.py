"""Rows of several series in the order of time, and the chains of days that a planner looks back on.

A *chain* is what a rule on the past runs along: all days of a series, or its Mondays, its Tuesdays
and so on. Days without a row (the store was closed) are passed over, as planners do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array

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
