"""Slopes that grow with the distance from the truth, tier by tier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Numbers, PerRow, common_rows, read_numbers
from unmet.errors import InvalidInput

Entries: TypeAlias = ArrayLike | Sequence[ArrayLike]
"""A number, or one entry per tier, each of them a number or an array with one entry per row."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Tiers(PerRow):
    """Cost per unit below and above the truth, tier by tier.

    The first slope holds from the truth to the first break, the next from there to the second, the
    last without end. So there is one slope more than there are breaks. Slopes never fall with the
    distance, as the cost would not be convex, and are never negative, as the truth would not be
    the cheapest decision.

    Parameters
    ----------
    below, above : number, or sequence of numbers or arrays of shape (n_rows,)
        Non-negative slopes, from the truth outwards; not all zero in a row.
    below_breaks, above_breaks : number, or sequence of numbers or arrays of shape (n_rows,)
        Positive distances from the truth at which the next slope begins, increasing.

    Examples
    --------
    >>> Tiers(below=4, above=(1, 2, 5), above_breaks=(10, 30))
    Tiers(below=(4.0,), above=(1.0, 2.0, 5.0), below_breaks=(), above_breaks=(10.0, 30.0))
    """

    below: tuple[Numbers, ...]
    above: tuple[Numbers, ...]
    below_breaks: tuple[Numbers, ...]
    above_breaks: tuple[Numbers, ...]

    def __init__(
        self,
        below: Entries,
        above: Entries,
        below_breaks: Entries = (),
        above_breaks: Entries = (),
    ) -> None:
        given = {"below": (below, below_breaks), "above": (above, above_breaks)}
        for name, value in read_sides(given).items():
            object.__setattr__(self, name, value)

    @classmethod
    def checked(
        cls,
        below: tuple[Numbers, ...],
        above: tuple[Numbers, ...],
        below_breaks: tuple[Numbers, ...] = (),
        above_breaks: tuple[Numbers, ...] = (),
    ) -> Self:
        """Make tiers of what was checked before, as costs do each time they are asked."""
        made = cls.__new__(cls)
        values = vars(made)
        values["below"], values["above"] = below, above
        values["below_breaks"], values["above_breaks"] = below_breaks, above_breaks
        return made

    @property
    def steepest(self) -> Numbers:
        """Largest slope of all: how much a unit of decision can cost at most."""
        largest = np.maximum(self.below[-1], self.above[-1])
        return largest if largest.ndim else float(largest)

    def kinks_below(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Distance of each kink below the truth, and by how much the slope grows there."""
        return _kinks(self.below, self.below_breaks)

    def kinks_above(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Distance of each kink above the truth, and by how much the slope grows there."""
        return _kinks(self.above, self.above_breaks)


def read_sides(given: dict[str, tuple[Entries, Entries]]) -> dict[str, tuple[Numbers, ...]]:
    """Read slopes and breaks of both sides, by the names that sentences should use.

    Parameters
    ----------
    given : dict
        From the name of a side, such as ``"overage"``, to its slopes and its breaks; the name of
        the breaks is that of the slopes and ``_breaks``.

    Returns
    -------
    dict
        Slopes of all sides, then breaks of all sides.
    """
    slopes, breaks = {}, {}
    for name, (steepness, distances) in given.items():
        slopes[name] = _read_slopes(name, steepness)
        breaks[f"{name}_breaks"] = _read_breaks(f"{name}_breaks", distances)
        _check_count(name, len(slopes[name]), len(breaks[f"{name}_breaks"]))
    common_rows({**slopes, **breaks})
    first, second = slopes.values()
    if not np.all(np.greater(first[-1], 0) | np.greater(second[-1], 0)):
        raise InvalidInput(f"{' and '.join(slopes)} must not both be 0 in the same row.")
    return {**slopes, **breaks}


def _read_slopes(name: str, value: Any) -> tuple[Numbers, ...]:
    allowed = "a non-negative number, as the truth must cost least"
    read = tuple(read_numbers(name, each, allowed, lambda v: v >= 0) for each in _listed(value))
    _check_growth(name, read, strictly=False)
    return read


def _read_breaks(name: str, value: Any) -> tuple[Numbers, ...]:
    allowed = "a positive distance from the truth"
    read = tuple(read_numbers(name, each, allowed, lambda v: v > 0) for each in _listed(value))
    _check_growth(name, read, strictly=True)
    return read


def _listed(value: Any) -> Sequence[Any]:
    """Split a parameter into its tiers; a single number is one tier."""
    if isinstance(value, tuple | list):
        return value
    array = np.asarray(value)
    return (value,) if array.ndim == 0 else list(array)


def _check_count(name: str, n_slopes: int, n_breaks: int) -> None:
    if n_slopes != n_breaks + 1:
        raise InvalidInput(
            f"{name} must have one tier more than {name}_breaks has breaks, got {n_slopes} and "
            f"{n_breaks} (a tier that differs by row is an array inside: {name}=(first, second))."
        )


def _check_growth(name: str, tiers: tuple[Numbers, ...], *, strictly: bool) -> None:
    common_rows({name: tiers})
    for earlier, later in pairwise(tiers):
        grows = np.atleast_1d((np.greater if strictly else np.greater_equal)(later, earlier))
        if grows.all():
            continue
        row = int(np.argmin(grows))
        before, after = (float(np.broadcast_to(v, grows.shape)[row]) for v in (earlier, later))
        rule = "grow from break to break" if strictly else "not fall from tier to tier"
        why = "" if strictly else ": such a cost is not convex"
        where = f" in row {row}" if grows.size > 1 else ""
        raise InvalidInput(f"{name} must {rule}, got {after} after {before}{where}{why}.")


def _kinks(
    slopes: tuple[Numbers, ...], breaks: tuple[Numbers, ...]
) -> Iterator[tuple[Numbers, Numbers]]:
    yield 0.0, slopes[0]
    for place, distance in enumerate(breaks):
        yield distance, slopes[place + 1] - slopes[place]
