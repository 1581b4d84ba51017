"""Lots: the steps in which a series counts, and how an order is rounded to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from unmet.arrays import Array, read_array
from unmet.errors import InvalidInput

Rounding: TypeAlias = Literal["up", "nearest", "down", "none"]

#: How far, in lots, a value may fall short of a multiple and still be rounded up to it.
_OFFSET: dict[str, float] = {"up": 1.0, "nearest": 0.5, "down": 0.0}

#: Packs that goods come in; a lot is one of them times a power of ten.
_PACKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 18, 20, 24, 25, 30, 36, 40, 48, 50, 60, 72)

# A relative error that arithmetic on the past may leave, and one that storing numbers may leave.
ARITHMETIC = 1e-9
STORED = 1e-6

# Typical observations of more units than this are measured or computed, not counted.
_DIGITS = 1e5
# Orders that are not rounded are tried if this share of the observations is off the unit.
_OFF_UNIT = 0.005


@dataclass(frozen=True)
class Step:
    """One way to turn factor × value into an order.

    Attributes
    ----------
    lot : float
        Orders are multiples of it; 0 where they are not rounded.
    rounding : {"up", "nearest", "down", "none"}
    tolerance : float
        Observations that differ from an order by less than this share of it are at the order;
        used only where orders are not rounded.
    literal : bool
        How a value is treated that is a multiple already (or half-way between two): as computers
        do it by default, or as on paper. 1.1 × 50 is 55.00000000000001 in binary and rounds up
        to 56; 2.5 is rounded to 2 by Python and by numpy, to 3 on paper.
    """

    lot: float
    rounding: Rounding
    tolerance: float = STORED
    literal: bool = False

    def order(self, wanted: Array) -> Array:
        """Round what the rule asks for."""
        if self.rounding == "none":
            return wanted
        lots = wanted / self.lot
        slack = 0.0 if self.literal else ARITHMETIC * np.maximum(1.0, np.abs(lots))
        if self.rounding == "up":
            return np.asarray(np.ceil(lots - slack) * self.lot)
        if self.rounding == "down":
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
        if self.rounding == "none":
            inside = 0.99 * self.tolerance  # of what `gap` forgives
            return s * (1 - inside), s * (1 + inside), s * (1 - inside)
        whole = np.round(s / self.lot)
        on_lattice = np.abs(s - whole * self.lot) <= self.lot * STORED
        offset = _OFFSET[self.rounding]
        start = np.where(on_lattice, (whole - offset) * self.lot, np.nan)
        next_up = np.where(on_lattice, whole, np.ceil(s / self.lot))
        return start, start + self.lot, (next_up - offset) * self.lot


@dataclass(frozen=True)
class Lattice:
    """How finely a series counts.

    Attributes
    ----------
    unit : float
        Nearly all observations are multiples of it; 0 where there is no such number.
    steps : tuple of Step
        Ways of rounding worth trying.
    """

    unit: float
    steps: tuple[Step, ...]


def read_lattice(lots: Any, s: Array) -> Lattice:
    """Ways of rounding to try: found in the observations, or those of the lots a user names."""
    positive = s[s > 0]
    typical = float(np.median(positive)) if positive.size else 1.0
    unit = _unit(positive)
    # numbers with so many digits were not counted but computed, and cut off when they were stored
    cut_off = 2 * unit / typical if typical > _DIGITS * unit else 0.0
    counted = unit if not cut_off else 0.0
    if isinstance(lots, str) or lots is None:
        if lots != "auto":
            raise InvalidInput(f'lots must be "auto" or positive numbers, got {lots!r:.40}.')
        sizes = _lots_in_use(positive, counted, typical)
    else:
        sizes = _read_lots(lots)
    steps = [Step(lot, rounding) for lot in sizes if lot for rounding in ("up", "nearest", "down")]
    if 0.0 in sizes:
        steps.append(Step(0.0, "none", max(STORED, cut_off)))
    return Lattice(counted, tuple(steps))


def _read_lots(lots: Any) -> list[float]:
    if not isinstance(lots, Iterable):
        lots = [lots]
    sizes = read_array("lots", list(lots))
    if not sizes.size:
        raise InvalidInput("lots must hold at least one number, got none.")
    if (sizes < 0).any():
        raise InvalidInput(
            "lots must be positive numbers, or 0 for orders that are not rounded, "
            f"got {float(sizes.min())}."
        )
    return [float(size) for size in sizes]


def _share_on(positive: Array, lot: float) -> float:
    """Share of the observations that are one or more lots."""
    lots = positive / lot
    whole = np.round(lots)
    return float(np.mean((np.abs(lots - whole) <= STORED + ARITHMETIC * lots) & (whole > 0)))


def _unit(positive: Array, nearly_all: float = 0.9) -> float:
    """Largest number of which nearly all observations are multiples; 0 if there is none."""
    if not positive.size:
        return 1.0
    different = np.unique(positive)
    steps = np.diff(different)
    candidates = [10.0**-power for power in range(7)]
    if steps.size:  # sales that were divided by something count in steps of their own
        candidates += [float(different[0]), *np.quantile(steps, [0.0, 0.05, 0.5]).tolist()]
    fitting = [size for size in candidates if _share_on(positive, size) >= nearly_all]
    if not fitting:
        return 0.0
    unit = max(fitting)
    packs = [float(pack * unit * 10.0**power) for pack in _PACKS for power in range(10)]
    # a few values may all be multiples by chance, so packs need a little more
    return max(size for size in packs if size == unit or _share_on(positive, size) >= 0.98)


def _lots_in_use(positive: Array, unit: float, typical: float, most: int = 4) -> list[float]:
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
    lots = sorted(excess, key=lambda lot: -excess[lot])[:most]
    if not unit or _share_on(positive, unit) < 1 - _OFF_UNIT or unit < typical * 1e-3:
        lots.append(0.0)
    return [unit, *lots] if unit else lots
