"""From a rule's value to an order: safety factor and lots, and how to find them in observations.

**Lots.** An order is factor × value, rounded to lots. The observations tell which lots were in use:
orders in lots of six leave sold-out days in multiples of six.

**Factor.** With s = order wherever the order bound, log(s / value) have a point mass at the
logarithm of the safety factor. Rounding to lots blurs that; but an observation s tells exactly
which factors would have made the order equal to it: an interval. The factor that most intervals
share is found exactly, without a grid, by sorting their ends. What lies above the order speaks
against the factor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, read_array
from unmet.censoring import constants as tuned
from unmet.errors import InvalidInput

Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Direction: TypeAlias = Literal["up", "nearest", "down", "none"]

#: How far, in lots, a value may fall short of a multiple and still be rounded up to it.
_OFFSET: dict[str, float] = {"up": 1.0, "nearest": 0.5, "down": 0.0}

#: Packs that goods come in; a lot is one of them times a power of ten.
_PACKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 24, 25, 30, 36, 40, 48, 50, 60, 72)

# A relative error that arithmetic on the past may leave, and one that storing numbers may leave.
ARITHMETIC = 1e-9
STORED = 1e-6


@dataclass(frozen=True)
class Rounding:
    """One way to turn factor × value into an order.

    Attributes
    ----------
    lot : float
        Orders are multiples of it; 0 where they are not rounded.
    direction : {"up", "nearest", "down", "none"}
    tolerance : float
        Observations that differ from an order by less than this share of it are at the order;
        used only where orders are not rounded.
    literal : bool
        How a value is treated that is a multiple already (or half-way between two): as computers
        do it by default, or as on paper. 1.1 × 50 is 55.00000000000001 in binary and rounds up
        to 56; 2.5 is rounded to 2 by Python and by numpy, to 3 on paper.
    """

    lot: float
    direction: Direction
    tolerance: float = STORED
    literal: bool = False

    def order(self, wanted: Array) -> Array:
        """Round what the rule asks for."""
        if self.direction == "none":
            return wanted
        lots = wanted / self.lot
        slack = 0.0 if self.literal else ARITHMETIC * np.maximum(1.0, np.abs(lots))
        if self.direction == "up":
            return np.asarray(np.ceil(lots - slack) * self.lot)
        if self.direction == "down":
            return np.asarray(np.floor(lots + slack) * self.lot)
        whole = np.round(lots) if self.literal else np.floor(lots + 0.5 + slack)
        return np.asarray(whole * self.lot)

    def gap(self, s: Array, order: Array) -> Array:
        """Observation minus order; exactly 0 where they are the same but for arithmetic."""
        near = self.lot * STORED if self.lot else self.tolerance * np.abs(order)
        apart = s - order
        return np.where(np.abs(apart) <= near, 0.0, apart)

    def reach(self, s: Array) -> tuple[Array, Array, Array]:
        """Say what the rule must have asked for, so that observations are at or above their orders.

        Returns
        -------
        start, stop : ndarray of shape (n_rows,)
            The order equals the observation if factor × value lies between them; NaN where no
            order can equal it. Rounding up excludes `start`, the others exclude `stop`.
        above : ndarray of shape (n_rows,)
            The observation exceeds the order if factor × value lies below this.
        """
        if self.direction == "none":
            inside = 0.99 * self.tolerance  # of what `gap` forgives
            return s * (1 - inside), s * (1 + inside), s * (1 - inside)
        whole = np.round(s / self.lot)
        on_lattice = np.abs(s - whole * self.lot) <= self.lot * STORED
        offset = _OFFSET[self.direction]
        start = np.where(on_lattice, (whole - offset) * self.lot, np.nan)
        next_up = np.where(on_lattice, whole, np.ceil(s / self.lot))
        return start, start + self.lot, (next_up - offset) * self.lot


# --- Units and lots, read off the observations.


def read_lots(lots: Any, s: Array) -> tuple[float, tuple[Rounding, ...]]:
    """Read the unit in which observations count, 0 where in none, and the ways of rounding to try.

    Lots are those that a user names, or found in the observations (`"auto"`).
    """
    positive = s[s > 0]
    typical = float(np.median(positive)) if positive.size else 1.0
    unit = _unit(positive)
    # numbers with so many digits were not counted but computed, and cut off when they were stored
    cut_off = 2 * unit / typical if typical > tuned.MAX_UNITS * unit else 0.0
    counted = unit if not cut_off else 0.0
    if isinstance(lots, str) or lots is None:
        if lots != "auto":
            raise InvalidInput(f'lots must be "auto" or positive numbers, got {lots!r:.40}.')
        sizes = _lots_in_use(positive, counted, typical)
    else:
        sizes = read_array("lots", list(lots if isinstance(lots, Iterable) else [lots])).tolist()
        if not sizes:
            raise InvalidInput("lots must hold at least one number, got none.")
        if min(sizes) < 0:
            raise InvalidInput(
                "lots must be positive numbers, or 0 for orders that are not rounded, "
                f"got {min(sizes)}."
            )
    ways = [Rounding(lot, way) for lot in sizes if lot for way in ("up", "nearest", "down")]
    if 0.0 in sizes:
        ways.append(Rounding(0.0, "none", max(STORED, cut_off)))
    return counted, tuple(ways)


def _share_on(positive: Array, lot: float) -> float:
    """Share of the observations that are one or more lots."""
    lots = positive / lot
    whole = np.round(lots)
    return float(np.mean((np.abs(lots - whole) <= STORED + ARITHMETIC * lots) & (whole > 0)))


def _unit(positive: Array) -> float:
    """Largest number of which nearly all observations are multiples; 0 if there is none."""
    if not positive.size:
        return 1.0
    different = np.unique(positive)
    candidates = [10.0**-power for power in range(7)]
    if different.size > 1:  # sales that were divided by something count in steps of their own
        steps = np.quantile(np.diff(different), [0.0, 0.05, 0.5])
        candidates += [float(different[0]), *steps.tolist()]
    fitting = [size for size in candidates if _share_on(positive, size) >= tuned.ON_UNIT]
    if not fitting:
        return 0.0
    unit = max(fitting)
    packs = [float(pack * unit * 10.0**power) for pack in _PACKS for power in range(10)]
    return max(size for size in packs if size == unit or _share_on(positive, size) >= tuned.ON_PACK)


def _lots_in_use(positive: Array, unit: float, typical: float) -> list[float]:
    """Lots with more multiples among the observations than numbers one unit beside a multiple.

    Orders in lots of six leave sold-out days in multiples of six; without them, multiples of six
    are as frequent as their neighbours. The unit itself is always a lot; 0, no rounding, is one
    where observations are off the unit.
    """
    if not positive.size:
        return [unit]
    excess: dict[float, float] = {}
    for multiple in sorted({pack * 10.0**power for pack in _PACKS for power in range(-6, 10)}):
        lot = float(f"{multiple * (unit or 1.0):.12g}")
        whole = multiple > 1 and float(multiple).is_integer() if unit else lot > typical * 1e-4
        if not whole or lot > typical:
            continue
        found, beside = _share_on(positive, lot), 0.0
        if unit:
            beside = (_share_on(positive + unit, lot) + _share_on(positive - unit, lot)) / 2
        if found - beside > max(0.01, 3 * np.sqrt((found + beside) / positive.size)):
            # a lot is preferred to its own divisors, which share its multiples
            excess[lot] = (found - beside) * (1 - 1 / multiple if unit else 1.0)
    lots = sorted(excess, key=lambda lot: -excess[lot])[: tuned.MAX_LOTS]
    if not unit or _share_on(positive, unit) < 1 - tuned.OFF_UNIT or unit < typical * 1e-3:
        lots.append(0.0)
    return [unit, *lots] if unit else lots


# --- The factor at which observations have a point mass on a rule's value.

#: Safety factors that are looked at.
SMALLEST, LARGEST = 0.5, 3.0

# All groups share one axis, each its own stretch of it, so that one sort serves them all.
_STRIDE, _END = 4.0, 3.9
# Less than what rounding forgives.
_NUDGE, _INWARD = ARITHMETIC / 4, ARITHMETIC / 10
_ROUND_STEPS = (0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001, 5e-4, 1e-4, 1e-5, 1e-6)


def best_factors(
    s: Array,
    base: Array,
    group: Places,
    n_groups: int,
    rounding: Rounding,
    price: float,
    fewest: int = 0,
) -> tuple[Array, Array, int]:
    """Factor of each group that puts most rows at the order and fewest above it.

    A row is at its order for factors in an interval, (first, last] when rounding up and when not
    rounding, else [first, last), and above its order for factors below another end. The number of
    intervals that hold a factor is largest at one of their closed ends.

    Parameters
    ----------
    s : ndarray of shape (n_rows,)
        Observations.
    base : ndarray of shape (n_rows,)
        The rule's value, before the factor and rounding; rows without one are left out.
    group : ndarray of shape (n_rows,), int
        Rows that share a factor.
    n_groups : int
    rounding : Rounding
    price : float
        What a row above the order costs, in rows at the order.
    fewest : int
        Groups that cannot gain so much need not be looked at closely; they get no factor.

    Returns
    -------
    factor : ndarray of shape (n_groups,)
        A round number among the best factors; NaN where no factor puts a row at its order.
    gain : ndarray of shape (n_groups,)
        Rows at the order minus `price` for every row above it.
    looked_at : int
        How many factors were compared: the number of hypotheses.
    """
    use = np.flatnonzero((base > 0) & (s > 0))
    closed_above = rounding.direction in ("up", "none")
    # ends are moved towards the open side, so that arithmetic does not decide what is inside
    scale = (1 + _NUDGE if closed_above else 1 - _NUDGE) / base[use]
    first, last, above = (np.clip(end * scale, 0.0, _END) for end in rounding.reach(s[use]))
    group = group[use]
    looked_at = int(np.count_nonzero((last >= SMALLEST) & (first <= LARGEST)))
    if fewest and n_groups <= tuned.MAX_GROUPS_OF_HISTOGRAMS:
        hopeful = _upper_bound(group, first, last, above, n_groups, price) >= fewest
        kept = hopeful[group]
        group, (first, last, above) = group[kept], (end[kept] for end in (first, last, above))
    tied = (last >= SMALLEST) & (first <= LARGEST)
    origin = group * _STRIDE
    first, last = np.sort((origin + first)[tied]), np.sort((origin + last)[tied])
    above = np.sort(origin + above)
    until = np.cumsum(np.bincount(group, minlength=n_groups))
    side: Literal["left", "right"] = "left" if closed_above else "right"

    def gain_at(points: Array, owner: Places) -> Array:
        """Rows at the order minus the price of those above it, at points of the axis."""
        at = np.searchsorted(first, points, side) - np.searchsorted(last, points, side)
        beyond = until[owner] - np.searchsorted(above, points, side)
        return np.asarray(at - price * beyond, dtype=np.float64)

    best, factor = np.full(n_groups, -np.inf), np.full(n_groups, np.nan)
    ends = last if closed_above else first
    if not ends.size:
        return factor, best, looked_at
    starts = np.floor(ends / _STRIDE) * _STRIDE
    points = starts + np.clip(ends - starts, SMALLEST, LARGEST)
    owner = (points / _STRIDE).astype(np.intp)
    # from a closed end into its interval, past open ends at the same factor but for noise
    gain = gain_at(points + (-_INWARD if closed_above else _INWARD), owner)
    leads = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    best[owner[leads]] = np.maximum.reduceat(gain, leads)
    at_best = np.flatnonzero(gain == best[owner])[::-1]  # the smallest factor among equals is last
    factor[owner[at_best]] = points[at_best] - owner[at_best] * _STRIDE

    # the roundest factor nearby that gains nearly as much: planners order 1.15, not 1.1497, times
    todo, exact = np.flatnonzero(best > 0), factor.copy()
    for size in _ROUND_STEPS:
        if not todo.size:
            break
        nearest = np.round(np.round(exact[todo] / size) * size, 9)
        gained = gain_at(todo * _STRIDE + nearest, todo)
        enough = gained >= best[todo] - np.maximum(tuned.ROUNDER_LOSS * best[todo], 1.0)
        factor[todo[enough]] = nearest[enough]
        todo = todo[~enough]
    return np.where(best >= fewest, factor, np.nan) if fewest else factor, best, looked_at


def _upper_bound(
    group: Places, first: Array, last: Array, above: Array, n_groups: int, price: float
) -> Array:
    """No factor gains a group more than this: intervals that touch a cell, less those all above.

    A histogram in place of a sort, to be rid of hopeless groups in a few passes.
    """
    n_cells = tuned.HISTOGRAM_CELLS
    width = np.log(_END / SMALLEST) / n_cells

    def cell(end: Array) -> Places:
        inside = np.log(np.maximum(end, SMALLEST) / SMALLEST) / width
        return np.asarray(np.minimum(inside, n_cells - 1), dtype=np.intp)

    def histogram(where: Places, owner: Places) -> Array:
        counts = np.bincount(owner * (n_cells + 1) + where, minlength=n_groups * (n_cells + 1))
        return counts.reshape(n_groups, n_cells + 1).astype(np.float64)

    tied = last >= SMALLEST
    enter = histogram(cell(first[tied]), group[tied])
    leave = histogram(cell(last[tied]) + 1, group[tied])
    touching = np.cumsum(enter - leave, axis=1)[:, :-1]
    beyond = histogram(cell(above), group)[:, :-1]
    surely_above = beyond.sum(axis=1, keepdims=True) - np.cumsum(beyond, axis=1)
    return np.asarray((touching - price * surely_above).max(axis=1))
