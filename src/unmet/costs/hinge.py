"""Convex piecewise-linear costs, and what follows from their slopes: newsvendor, pricing, tiers.

`Slopes` are the two of a cost that is linear on either side of the truth, `Tiers` grow with the
distance from it. Both are written as a sum of hinges, `Kinks`: what the exact solvers take.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import (
    Array,
    Band,
    Numbers,
    PerRow,
    common_rows,
    expand,
    non_negative,
    positive,
    read_array,
    read_numbers,
)
from unmet.costs.base import Aligned, Cost
from unmet.errors import InvalidInput


class Slopes(PerRow):
    """Cost per unit that a decision lies below or above the truth.

    Parameters
    ----------
    below, above : float or array-like of shape (n_rows,)
        Non-negative, and not both zero in the same row (a row that should not count has
        ``sample_weight`` 0).

    Examples
    --------
    >>> Slopes(below=3, above=1).level
    0.75
    """

    below: Numbers
    above: Numbers

    def __init__(self, below: ArrayLike, above: ArrayLike) -> None:
        self._keep(below=non_negative("below", below), above=non_negative("above", above))
        if not np.all((self.below > 0) | (self.above > 0)):
            raise InvalidInput("below and above must not both be 0 in the same row.")

    @property
    def level(self) -> Numbers:
        """Share below / (below + above): the quantile of the truth that costs least."""
        # Halving is exact and keeps the sum of two huge slopes finite.
        return self.below * 0.5 / (self.below * 0.5 + self.above * 0.5)

    def rows(self, n_rows: int) -> tuple[Array, Array]:
        """Below and above with one entry for each of `n_rows` rows, as read-only views."""
        return expand("below", self.below, n_rows), expand("above", self.above, n_rows)


Entries: TypeAlias = ArrayLike | Sequence[ArrayLike]
"""A number, or one entry per tier, each of them a number or an array with one entry per row."""


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
        self._keep(**read_sides(given))

    @classmethod
    def checked(cls, *given: tuple[Numbers, ...]) -> Self:
        """Make tiers of what was checked before, as costs do each time they are asked."""
        made = cls.__new__(cls)
        below, above, *breaks = given
        low, high = breaks or ((), ())
        vars(made).update(below=below, above=above, below_breaks=low, above_breaks=high)
        return made

    def kinks(self) -> tuple[list[tuple[Numbers, Numbers]], list[tuple[Numbers, Numbers]]]:
        """Distances of the kinks below and above the truth, and how much the slope grows there."""
        both = []
        for slopes, breaks in ((self.below, self.below_breaks), (self.above, self.above_breaks)):
            side: list[tuple[Numbers, Numbers]] = [(0.0, slopes[0])]
            for place, distance in enumerate(breaks):
                side.append((distance, slopes[place + 1] - slopes[place]))
            both.append(side)
        return both[0], both[1]


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
        slopes[name] = _read_tiers(name, steepness, strictly=False)
        further = breaks[f"{name}_breaks"] = _read_tiers(f"{name}_breaks", distances, strictly=True)
        if len(slopes[name]) != len(further) + 1:
            raise InvalidInput(
                f"{name} must have one tier more than {name}_breaks has breaks, "
                f"got {len(slopes[name])} and {len(further)} "
                f"(a tier that differs by row is an array inside: {name}=(first, second))."
            )
    common_rows({**slopes, **breaks})
    first, second = slopes.values()
    if not np.all(np.greater(first[-1], 0) | np.greater(second[-1], 0)):
        raise InvalidInput(f"{' and '.join(slopes)} must not both be 0 in the same row.")
    return {**slopes, **breaks}


def _read_tiers(name: str, value: Any, *, strictly: bool) -> tuple[Numbers, ...]:
    """Read slopes, which must not fall from tier to tier, or breaks, which must grow.

    A single number is one tier.
    """
    listed = value
    if not isinstance(value, tuple | list):
        listed = list(np.asarray(value)) if np.ndim(value) else (value,)
    valid: Callable[..., Any] = np.greater if strictly else np.greater_equal
    allowed = "a non-negative number, as the truth must cost least"
    if strictly:
        allowed = "a positive distance from the truth"
    tiers = tuple(read_numbers(name, each, allowed, lambda v: valid(v, 0)) for each in listed)
    common_rows({name: tiers})
    for earlier, later in pairwise(tiers):
        grows = np.atleast_1d(valid(later, earlier))
        if grows.all():
            continue
        row = int(np.argmin(grows))
        before, after = (float(np.broadcast_to(v, grows.shape)[row]) for v in (earlier, later))
        rule = "grow from break to break" if strictly else "not fall from tier to tier"
        why = "" if strictly else ": such a cost is not convex"
        where = f" in row {row}" if grows.size > 1 else ""
        raise InvalidInput(f"{name} must {rule}, got {after} after {before}{where}{why}.")
    return tiers


class Kinks(NamedTuple):
    """Hinges that sum to one cost per row.

    Row i of the data costs ::

        Σ_k  below[k, i] · (position[k, i] − decision_i)⁺
           + above[k, i] · (decision_i − position[k, i])⁺

    A newsvendor without a band has one kink a row, with a band two; any convex piecewise-linear
    cost with a minimum of zero is a handful of them.

    Attributes
    ----------
    position : ndarray of shape (n_kinks, n_rows)
        Where the slope changes, in units of the observation.
    below, above : ndarray of shape (n_kinks, n_rows)
        Non-negative cost per unit below and above the position.
    """

    position: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def value(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each row, shape (n_rows,)."""
        residual = decision - self.position
        cost: NDArray[np.float64] = np.where(
            residual > 0, self.above * residual, -self.below * residual
        ).sum(axis=0)
        return cost


class HingeCost(Cost):
    """A cost that is convex and piecewise linear, and costs nothing at the truth.

    A subclass gives `tiers`: the slopes on both sides of the truth, and where they change. The rest
    follows, and the exact solvers can train it. With a band, the tiers below count from its lower
    end s + low, those above from its upper end s + high; in the band nothing is paid.

    Examples
    --------
    Stock that fills the shelf is cheap, what goes to the cellar is not:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Shelf(HingeCost):
    ...     margin: float
    ...     shelf: float
    ...
    ...     @property
    ...     def tiers(self):
    ...         return Tiers(below=self.margin, above=(1, 4), above_breaks=self.shelf)
    >>> Shelf(margin=3, shelf=20).cost(decision=[8, 30, 40], truth=10)
    array([ 6., 20., 60.])
    """

    convex: ClassVar[bool] = True

    @property
    @abstractmethod
    def tiers(self) -> Tiers:
        """Cost per unit of decision below and above the truth, from the truth outwards."""

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """ε-insensitive cost of each row (eq. nvc-censored for general slopes); 0 in the band."""
        rows = self.align(decision, observation, band)
        tiers = self._tiers_for(rows)
        short = np.maximum(rows.bottom - rows.decision, 0.0)
        excess = np.maximum(rows.decision - rows.top, 0.0)
        total: Array = tiers.below[0] * short + tiers.above[0] * excess
        for far, kinks in zip((short, excess), tiers.kinks(), strict=True):
            for distance, growth in kinks[1:]:  # the first ones are paid already
                total += growth * np.maximum(far - distance, 0.0)
        return total

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Slope of `loss` in the decision (Prop. LR-grad); 0 in the band and on both its ends.

        Without a band, or where it has no width, there is a single kink at the truth; there, too,
        the answer is 0. On every other kink it is the slope on the side of the truth.
        """
        rows = self.align(decision, observation, band)
        tiers = self._tiers_for(rows)
        down, up = tiers.kinks()
        slope: Array = np.zeros(rows.decision.size)
        for distance, growth in up:
            slope += growth * (rows.decision > rows.top + distance)
        for distance, growth in down:
            slope -= growth * (rows.decision < rows.bottom - distance)
        return slope

    def kinks(
        self,
        observation: ArrayLike,
        band: Band | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Kinks:
        """Write the loss as hinges, the form that the exact solvers take.

        A band without width (or None) gives one kink per row at s + low, with both first slopes.
        Any other gives two, in this order: s + high, which costs only above, and s + low, which
        costs only below. Every further tier adds a kink that costs what it adds to the slope,
        first those above, then those below.

        Parameters
        ----------
        observation : float or array-like of shape (n_rows,)
        band : Band, optional
        sample_weight : float or array-like of shape (n_rows,), optional
            Non-negative factors of the slopes; they are not normalised here.

        Returns
        -------
        Kinks
            Slopes that are the same in every row are views that repeat one number: do not write
            into them.
        """
        seen, weight = read_array("observation", observation), sample_weight
        if weight is None:
            weight = 1.0
        elif not isinstance(weight, float):
            weight = non_negative("sample_weight", weight)
        low, high = self._ends(band)
        named = {"observation": seen, "low": low, "high": high, "sample_weight": weight}
        tiers = self.tiers
        n_rows = common_rows({**named, **self.parameters(), **vars(tiers)})
        seen = np.broadcast_to(seen, (1 if n_rows is None else n_rows,))
        down, up = tiers.kinks()
        if np.all(low == high):  # both first kinks are one
            listed = [(low, down[0][1], up[0][1])]
        else:
            listed = [(high, 0.0, up[0][1]), (low, down[0][1], 0.0)]
        for distance, growth in up[1:]:
            listed.append((high + distance, 0.0, growth))
        for distance, growth in down[1:]:
            listed.append((low - distance, growth, 0.0))
        shape = len(listed), seen.size
        position = np.empty(shape)
        for row, (distance, _, _) in zip(position, listed, strict=True):
            np.add(seen, distance, out=row)
        sides = []
        for side in (1, 2):
            slopes = [each[side] * weight for each in listed]
            if all(map(np.isscalar, slopes)):  # a view that repeats one number
                sides.append(np.broadcast_to(np.array(slopes)[:, np.newaxis], shape))
            else:
                sides.append(np.stack([np.broadcast_to(each, shape[1:]) for each in slopes]))
        return Kinks(position, *sides)

    def _tiers_for(self, rows: Aligned) -> Tiers:
        tiers = self.tiers
        common_rows({"decision": rows.decision, **tiers.parameters()})
        return tiers


class PiecewiseLinearCost(HingeCost):
    """A cost that is linear below the truth and linear above it.

    A subclass gives `slopes`; the rest follows from them, and the exact solvers can train it. With
    slopes (u, o) and a band, a row costs u (s + low - y)⁺ + o (y - s - high)⁺.

    Examples
    --------
    A newsvendor who pays tax on what is left over:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Taxed(PiecewiseLinearCost):
    ...     margin: float
    ...     price: float
    ...     tax: float = 0.2
    ...
    ...     @property
    ...     def slopes(self):
    ...         return Slopes(below=self.margin, above=self.price * (1 + self.tax))
    >>> Taxed(margin=3, price=5).cost(decision=[8, 12], truth=10)
    array([ 6., 12.])
    """

    @property
    @abstractmethod
    def slopes(self) -> Slopes:
        """Cost per unit of decision below and above the truth."""

    @property
    def tiers(self) -> Tiers:
        """One tier on either side."""
        slopes = self.slopes
        return Tiers.checked((slopes.below,), (slopes.above,))

    @property
    def level(self) -> Numbers:
        """Critical ratio α: the quantile of the truth that has the least expected cost."""
        return self.slopes.level


class Newsvendor(PiecewiseLinearCost):
    """Newsvendor cost (eq. nvc-uncensor) and its ε-insensitive form (eq. nvc-censored).

    An order y costs ``underage`` for each unit of demand it misses and ``overage`` for each unit
    left over; trained on sales s, only orders outside [s + low, s + high] cost anything.

    Parameters
    ----------
    underage, overage : float or array-like of shape (n_rows,)
        Positive cost per missing unit (c_u) and per unit left over (c_o).

    Examples
    --------
    >>> from unmet.arrays import Band
    >>> newsvendor = Newsvendor(underage=3, overage=1)
    >>> newsvendor.level
    0.75
    >>> newsvendor.cost(decision=[8, 12], truth=10)
    array([6., 2.])
    >>> newsvendor.loss(decision=[8, 12, 16], observation=10, band=Band(low=1, high=4))
    array([9., 0., 2.])
    """

    underage: Numbers
    overage: Numbers

    def __init__(self, underage: ArrayLike, overage: ArrayLike) -> None:
        self._keep(underage=positive("underage", underage), overage=positive("overage", overage))

    @classmethod
    def at_level(cls, alpha: ArrayLike) -> Self:
        """Newsvendor in the normalised units of the paper: underage α, overage 1 - α (eq. NVLoss).

        `from_service_level` is the same in the words of a planner.

        Parameters
        ----------
        alpha : float or array-like of shape (n_rows,)
            Critical ratio, strictly between 0 and 1.

        Examples
        --------
        >>> Newsvendor.at_level(0.75)
        Newsvendor(underage=0.75, overage=0.25)
        """
        return cls._at("alpha", alpha)

    @classmethod
    def from_service_level(cls, service_level: ArrayLike) -> Self:
        """Newsvendor whose orders should cover the demand in this share of rows.

        For those who have a target instead of two costs: the same as costs of a missing unit and of
        one left over in the ratio of `service_level` to the rest, with a sum of 1. What is lost is
        then in these units, not in money.

        Parameters
        ----------
        service_level : float or array-like of shape (n_rows,)
            Strictly between 0 and 1.

        Examples
        --------
        >>> Newsvendor.from_service_level(0.75)
        Newsvendor(underage=0.75, overage=0.25)
        """
        return cls._at("service_level", service_level)

    @classmethod
    def _at(cls, name: str, ratio: ArrayLike) -> Self:
        allowed = "strictly between 0 and 1" + (", such as .95" if name == "service_level" else "")
        level = read_numbers(name, ratio, allowed, lambda ratio: (ratio > 0) & (ratio < 1))
        return cls(underage=level, overage=1.0 - level)

    @property
    def slopes(self) -> Slopes:
        """Underage below the truth, overage above it."""
        return Slopes(below=self.underage, above=self.overage)

    @property
    def tiers(self) -> Tiers:
        """The same as one tier on either side."""
        return Tiers.checked((self.underage,), (self.overage,))

    def normalised(self) -> Self:
        """Rescale to slopes α and 1 - α (eq. le1e2, in-nvc-norm).

        With costs that differ by row this divides each row by its own total, which changes the
        weight of the rows against each other, though not the best decision of any one of them.

        Examples
        --------
        >>> Newsvendor(underage=3, overage=1).normalised()
        Newsvendor(underage=0.75, overage=0.25)
        """
        # Each share by its own division: 1 - α would lose digits when α is close to 1.
        above = Slopes(below=self.overage, above=self.underage).level
        return type(self)(underage=self.level, overage=above)


class CustomPricing(PiecewiseLinearCost):
    """ε-insensitive cost of a price (eq. cp).

    The truth is the buyer's reservation price, the observation the price that was accepted. A price
    y costs ``underprice`` for each unit below the accepted price s and ``overprice`` for each unit
    above s + ε, with ε the band's ``high``. It is the newsvendor cost with low = 0 and level
    α = underprice / (underprice + overprice). The paper thinks of underprice as the larger of the
    two; any positive pair is allowed.

    Parameters
    ----------
    underprice, overprice : float or array-like of shape (n_rows,)
        Positive cost per unit of price too low (c₂) and too high (c₁).

    Notes
    -----
    Eq. cp has one ε, the band's ``high``. A ``low`` above 0 says that the buyer would surely have
    paid so much more than the accepted price.

    Examples
    --------
    >>> from unmet import Band, CustomPricing
    >>> pricing = CustomPricing(underprice=4, overprice=1)
    >>> pricing.level
    0.8
    >>> pricing.loss(decision=[9, 12, 15], observation=10, band=Band(low=0, high=3))
    array([4., 0., 2.])
    """

    underprice: Numbers
    overprice: Numbers

    def __init__(self, underprice: ArrayLike, overprice: ArrayLike) -> None:
        self._keep(
            underprice=positive("underprice", underprice),
            overprice=positive("overprice", overprice),
        )

    @property
    def slopes(self) -> Slopes:
        """Underprice below the truth, overprice above it."""
        return Slopes(below=self.underprice, above=self.overprice)


class TieredCost(HingeCost):
    """Underage and overage with several tiers each: any convex piecewise-linear cost.

    The first units too many cost ``overage[0]`` each, those beyond ``overage_breaks[0]`` cost
    ``overage[1]``, and so on; likewise ``underage`` below the truth. One tier on either side is the
    newsvendor. The exact solvers train it as they train a newsvendor; trees and networks, too.

    Parameters
    ----------
    underage, overage : number, or sequence of numbers or arrays of shape (n_rows,)
        Cost per unit in each tier, from the truth outwards: non-negative, never falling, not all
        zero. A tier that differs by row is an array inside the sequence.
    underage_breaks, overage_breaks : number, or sequence of numbers or arrays of shape (n_rows,)
        Distances from the truth at which the next tier begins: positive, growing, one fewer than
        there are tiers.

    Notes
    -----
    With a band, the tiers below count from its lower end, those above from its upper end. The best
    decision is not one quantile of the truth, so there is no ``level``, and band rules that need
    one refuse this cost; `LatentBand` and `AuditedBand` take it.

    Examples
    --------
    Overage of 1 a unit up to 10 units, of 2 up to 30, of 5 beyond; underage of 4, of 9 beyond 20:

    >>> cost = TieredCost(
    ...     underage=(4, 9), overage=(1, 2, 5), underage_breaks=20, overage_breaks=(10, 30)
    ... )
    >>> cost.cost(decision=[90, 70, 105, 120, 140], truth=100)
    array([ 40., 170.,   5.,  30., 100.])
    """

    underage: tuple[Numbers, ...]
    overage: tuple[Numbers, ...]
    underage_breaks: tuple[Numbers, ...]
    overage_breaks: tuple[Numbers, ...]

    def __init__(
        self,
        underage: Entries,
        overage: Entries,
        *,
        underage_breaks: Entries = (),
        overage_breaks: Entries = (),
    ) -> None:
        given = {"underage": (underage, underage_breaks), "overage": (overage, overage_breaks)}
        self._keep(**read_sides(given))

    @property
    def tiers(self) -> Tiers:
        """Underage below the truth, overage above it."""
        return Tiers.checked(self.underage, self.overage, self.underage_breaks, self.overage_breaks)
