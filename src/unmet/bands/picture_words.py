"""Numbers as a planner reads them."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, isfinite, log10

__all__ = ["decimals_for", "fixed", "interval", "number", "percent"]

_MOST_DECIMALS = 6
_HUGE = 1e12


def number(value: float, digits: int = 3) -> str:
    """Round to significant digits, thousands set off; whole thousands keep one digit more.

    Examples
    --------
    >>> number(31.4149), number(0.0123456), number(11762.4), number(-0.0)
    ('31.4', '0.0123', '11,760', '0')
    """
    if not value:
        return "0"
    if not 1 / _HUGE <= abs(value) < _HUGE:
        return f"{value:.{digits}g}"
    places = digits - 1 - floor(log10(abs(value))) + (abs(value) >= 1000)
    return f"{round(value, places):,.{max(places, 0)}f}"


def decimals_for(scale: float, digits: int) -> int:
    """How many decimals show `digits` significant ones of `scale`; 0 where there is no scale."""
    if not isfinite(scale) or not scale:
        return 0
    return min(max(digits - 1 - floor(log10(abs(scale))), 0), _MOST_DECIMALS)


def fixed(value: float, decimals: int) -> str:
    """Print so many decimals, with thousands set off; huge numbers in short."""
    if not abs(value) < _HUGE:
        return f"{value:.3g}"
    return f"{value:,.{decimals}f}"


def percent(share: float, decimals: int | None = None) -> str:
    """Print a share as per cent: whole ones, below 10% with one decimal.

    Examples
    --------
    >>> percent(0.4853), percent(0.0213), percent(0.0002), percent(0.0)
    ('49%', '2.1%', 'below 0.1%', '0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    if decimals is None:
        decimals = 1 if 0 < share < 0.0995 else 0
    return f"{100 * share:.{decimals if share else 0}f}%"


def interval(ends: Iterable[float]) -> str:
    """Print the range of some shares, with a decimal if it takes one to tell its ends apart.

    Examples
    --------
    >>> interval((0.467, 0.503)), interval((0.481, 0.487)), interval((0.0551, 0.6))
    ('47% to 50%', '48.1% to 48.7%', '5.5% to 60%')
    """
    low, *_, high = sorted(ends)
    decimals = None if high - low >= 0.03 else 1
    return f"{percent(low, decimals)} to {percent(high, decimals)}"
