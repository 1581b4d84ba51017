"""Convex piecewise-linear costs: newsvendor, pricing and tiers.

`Slopes` describes a cost that is linear on each side of the truth. `Tiers` describes a cost whose
slope grows with the distance from the truth. Both become a sum of hinges, `Kinks`, which is the
form that the exact solvers take.
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
        Non-negative cost per unit below and above the truth. Both may not be zero in the same row;
        give a row that should not count ``sample_weight`` 0 instead.

    Examples
    --------
    >>> from unmet.costs import Slopes
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
        """Critical ratio below / (below + above): the quantile of the truth that costs least."""
        # Halving is exact and keeps the sum of two huge slopes finite.
        return self.below * 0.5 / (self.below * 0.5 + self.above * 0.5)

    def rows(self, n_rows: int) -> tuple[Array, Array]:
        """Give both slopes one entry per row, as read-only views.

        Parameters
        ----------
        n_rows : int
            Number of rows.

        Returns
        -------
        below, above : ndarray of shape (n_rows,)
            The two slopes.
        """
        return expand("below", self.below, n_rows), expand("above", self.above, n_rows)


Entries: TypeAlias = ArrayLike | Sequence[ArrayLike]
"""A number, or one entry per tier, each of them a number or an array with one entry per row."""


class Tiers(PerRow):
    """Cost per unit below and above the truth, tier by tier.

    The first slope holds from the truth to the first break, the second from there to the second
    break, and the last one without end. There is one more slope than there are breaks. Slopes may
    not fall with the distance, because the cost would not be convex. They may not be negative,
    because the truth would not be the cheapest decision.

    Parameters
    ----------
    below, above : number, or sequence of numbers or arrays of shape (n_rows,)
        Non-negative slopes, from the truth outwards. Not all may be zero in a row.
    below_breaks, above_breaks : number, or sequence of numbers or arrays of shape (n_rows,)
        Positive, increasing distances from the truth at which the next slope begins.

    Examples
    --------
    >>> from unmet.costs import Tiers
    >>> Tiers(below=4, above=(1, 2, 5), above_breaks=(10, 30))
    Tiers(below=(4.0,), above=(1.0, 2.0, 5.0), below_breaks=(), above_breaks=(10.0, 30.0))
    """

    below: tuple[Numbers, ...]
    above: tuple[Numbers, ...]
    below_breaks: tuple[Numbers, ...]
    above_breaks: tuple[Numbers, ...]

    def __init__(
        self, below: Entries, above: Entries, below_breaks: Entries = (), above_breaks: Entries = ()
    ) -> None:
        given = {"below": (below, below_breaks), "above": (above, above_breaks)}
        self._keep(**read_sides(given))

    @classmethod
    def checked(cls, *given: tuple[Numbers, ...]) -> Self:
        """Make tiers from values that were checked before; costs do so on every access."""
        made = cls.__new__(cls)
        below, above, *breaks = given
        low, high = breaks or ((), ())
        vars(made).update(below=below, above=above, below_breaks=low, above_breaks=high)
        return made

    def kinks(self) -> tuple[list[tuple[Numbers, Numbers]], list[tuple[Numbers, Numbers]]]:
        """Give the distance of each kink from the truth, and by how much the slope grows there."""
        both = []
        for slopes, breaks in ((self.below, self.below_breaks), (self.above, self.above_breaks)):
            side: list[tuple[Numbers, Numbers]] = [(0.0, slopes[0])]
            for place, distance in enumerate(breaks):
                side.append((distance, slopes[place + 1] - slopes[place]))
            both.append(side)
        return both[0], both[1]


def read_sides(given: dict[str, tuple[Entries, Entries]]) -> dict[str, tuple[Numbers, ...]]:
    """Read and check the slopes and breaks of both sides.

    Parameters
    ----------
    given : dict
        From the name of a side, such as ``"overage"``, to its slopes and its breaks. Error messages
        use this name, and for the breaks the name with ``_breaks`` added.

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
    """Hinges whose sum is the cost of each row.

    Row i costs ::

        Σ_k  below[k, i] · (position[k, i] − decision_i)⁺
           + above[k, i] · (decision_i − position[k, i])⁺

    A newsvendor without a band has one kink per row, and with a band two. Every convex
    piecewise-linear cost whose minimum is zero can be written this way.

    Attributes
    ----------
    position : ndarray of shape (n_kinks, n_rows)
        Decisions at which the slope changes.
    below, above : ndarray of shape (n_kinks, n_rows)
        Non-negative cost per unit below and above the position.

    Examples
    --------
    >>> from unmet import Band, Newsvendor
    >>> kinks = Newsvendor(underage=3, overage=1).kinks(observation=[10, 20], band=Band(0, 5))
    >>> kinks.position
    array([[15., 25.],
           [10., 20.]])
    """

    position: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def value(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the hinges of each row.

        Parameters
        ----------
        decision : ndarray of shape (n_rows,)
            Decisions to evaluate.

        Returns
        -------
        ndarray of shape (n_rows,)
            Costs.
        """
        residual = decision - self.position
        cost: NDArray[np.float64] = np.where(
            residual > 0, self.above * residual, -self.below * residual
        ).sum(axis=0)
        return cost


class HingeCost(Cost):
    """Base class of costs that are convex, piecewise linear, and zero at the truth.

    A subclass defines `tiers`: the slopes on both sides of the truth, and where they change. The
    base class derives everything else, and the exact solvers can train the cost. With a band, the
    tiers below start at its lower end s + low and the tiers above at its upper end s + high. A
    decision in the band costs nothing.

    Examples
    --------
    Units that fit on the shelf cost less than units that go to the cellar:

    >>> from dataclasses import dataclass
    >>> from unmet.costs import HingeCost, Tiers
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
        """Cost per unit below and above the truth, from the truth outwards."""

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Compute the ε-insensitive cost of each row (eq. nvc-censored for general slopes).

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
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
        """Compute the slope of `loss` (Prop. LR-grad); it is 0 in the band and at its ends.

        Without a band, or with a band of width zero, there is a single kink at the truth, and the
        slope there is also 0. On every other kink the result is the slope on the side of the truth.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
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

        A band of width zero (or None) gives one kink per row at s + low, with both first slopes.
        Any other band gives two kinks. The first lies at s + high and costs only above; the second
        lies at s + low and costs only below. Each further tier adds a kink that costs the growth of
        the slope, first the tiers above, then those below.

        Parameters
        ----------
        observation : float or array-like of shape (n_rows,)
            Observations, such as sales.
        band : Band, optional
            Range in which the truth may lie. None takes observations for the truth.
        sample_weight : float or array-like of shape (n_rows,), optional
            Non-negative factors of the slopes. They are not normalised. None is 1 for every row.

        Returns
        -------
        Kinks
            Slopes that are equal in every row are views that repeat one number: do not write into
            them.
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
    """Base class of costs that are linear below the truth and linear above it.

    A subclass defines `slopes`. The base class derives everything else, and the exact solvers can
    train the cost. With slopes (u, o) and a band, a row costs u (s + low - y)⁺ + o (y - s - high)⁺.

    Examples
    --------
    A newsvendor who pays tax on leftovers:

    >>> from dataclasses import dataclass
    >>> from unmet.costs import PiecewiseLinearCost, Slopes
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
        """The two slopes as one tier on each side."""
        slopes = self.slopes
        return Tiers.checked((slopes.below,), (slopes.above,))

    @property
    def level(self) -> Numbers:
        """Critical ratio α = below / (below + above): the quantile that costs least."""
        return self.slopes.level


class Newsvendor(PiecewiseLinearCost):
    """Cost of ordering too little or too much (eq. nvc-uncensor, nvc-censored).

    An order y costs ``underage`` for each unit of demand that it misses and ``overage`` for each
    unit that is left over. A model trained on sales s with a band pays only for orders outside [s +
    low, s + high].

    Parameters
    ----------
    underage : float or array-like of shape (n_rows,)
        Positive cost per missing unit (the paper's c_u). Larger values give larger orders.
    overage : float or array-like of shape (n_rows,)
        Positive cost per leftover unit (the paper's c_o). Larger values give smaller orders.

    Examples
    --------
    >>> from unmet import Band, Newsvendor
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
        """Make a newsvendor with underage α and overage 1 - α, the paper's units (eq. NVLoss).

        The result equals that of `from_service_level`, in the paper's notation.

        Parameters
        ----------
        alpha : float or array-like of shape (n_rows,)
            Critical ratio underage / (underage + overage), above 0 and below 1.

        Examples
        --------
        >>> from unmet import Newsvendor
        >>> Newsvendor.at_level(0.75)
        Newsvendor(underage=0.75, overage=0.25)
        """
        return cls._at("alpha", alpha)

    @classmethod
    def from_service_level(cls, service_level: ArrayLike) -> Self:
        """Make a newsvendor whose orders cover the demand in a given share of rows.

        Use it if you have a target service level instead of two costs. Underage is the service
        level and overage is the rest, so costs are in these units and not in money.

        Parameters
        ----------
        service_level : float or array-like of shape (n_rows,)
            Share of rows, above 0 and below 1. Larger values give larger orders.

        Examples
        --------
        >>> from unmet import Newsvendor
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
        """Underage and overage as one tier on each side."""
        return Tiers.checked((self.underage,), (self.overage,))

    def normalised(self) -> Self:
        """Rescale to slopes α and 1 - α (eq. le1e2, in-nvc-norm).

        If costs differ by row, each row is divided by its own total. This changes the weight of the
        rows relative to each other. It does not change the best decision of any single row.

        Examples
        --------
        >>> from unmet import Newsvendor
        >>> Newsvendor(underage=3, overage=1).normalised()
        Newsvendor(underage=0.75, overage=0.25)
        """
        # Each share by its own division: 1 - α would lose digits when α is close to 1.
        above = Slopes(below=self.overage, above=self.underage).level
        return type(self)(underage=self.level, overage=above)


class CustomPricing(PiecewiseLinearCost):
    """ε-insensitive cost of a price (eq. cp).

    The truth is the reservation price of the buyer: the most that the buyer would pay. The
    observation is the price that the buyer accepted. A price y costs ``underprice`` for each unit
    below the accepted price s and ``overprice`` for each unit above s + ε, where ε is the band's
    ``high``. This is the newsvendor cost with low = 0 and critical ratio α = underprice /
    (underprice + overprice). The paper takes underprice as the larger of the two costs; any
    positive pair is allowed.

    Parameters
    ----------
    underprice : float or array-like of shape (n_rows,)
        Positive cost per unit of a price that is too low (the paper's c₂). Larger values give
        higher prices.
    overprice : float or array-like of shape (n_rows,)
        Positive cost per unit of a price that is too high (the paper's c₁). Larger values give
        lower prices.

    Notes
    -----
    Eq. cp has a single ε, the band's ``high``. A ``low`` above 0 states that the buyer would surely
    have paid that much more than the accepted price.

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

    The first leftover units cost ``overage[0]`` each. Units beyond ``overage_breaks[0]`` cost
    ``overage[1]`` each, and so on. ``underage`` works the same way for missing units. With one tier
    on each side the cost is a newsvendor. The exact solvers, networks and trees can train it.

    Parameters
    ----------
    underage, overage : number, or sequence of numbers or arrays of shape (n_rows,)
        Cost per unit in each tier, from the truth outwards. Values are non-negative, never fall,
        and are not all zero. A tier that differs by row is an array inside the sequence.
    underage_breaks, overage_breaks : number, or sequence of numbers or arrays of shape (n_rows,)
        Distances from the truth at which the next tier begins: positive and increasing, one fewer
        than there are tiers. The default is no break, so one tier.

    Notes
    -----
    With a band, the tiers below start at its lower end and the tiers above at its upper end. The
    best decision is not a single quantile of the truth, so there is no ``level``. Band rules that
    need a level refuse this cost. `LatentBand` and `AuditedBand` accept it.

    Examples
    --------
    Leftover units cost 1 each up to 10 units, 2 up to 30 units and 5 beyond. Missing units cost 4
    each up to 20 units and 9 beyond:

    >>> from unmet import TieredCost
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
