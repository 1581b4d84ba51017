"""Convex piecewise-linear costs, and what follows from their slopes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, Band, Numbers, common_rows, non_negative, read_array
from unmet.costs.base import Cost, Rows, count_rows, shifted
from unmet.costs.kinks import Kinks
from unmet.costs.slopes import Slopes
from unmet.costs.tiers import Tiers


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

    @property
    def steepest(self) -> Numbers:
        """Largest slope of the loss in the decision."""
        return self.tiers.steepest

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """ε-insensitive cost of each row (eq. nvc-censored for general slopes); 0 in the band."""
        rows = self.align(decision, observation, band)
        tiers = self._tiers_for(rows)
        short = np.maximum(rows.bottom - rows.decision, 0.0)
        excess = np.maximum(rows.decision - rows.top, 0.0)
        total: Array = tiers.below[0] * short + tiers.above[0] * excess
        for far, kinks in ((short, tiers.kinks_below()), (excess, tiers.kinks_above())):
            next(kinks)  # the first ones are paid already
            for distance, growth in kinks:
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
        up, down = tiers.kinks_above(), tiers.kinks_below()
        (_, above), (_, below) = next(up), next(down)
        slope: Array = above * (rows.decision > rows.top) - below * (rows.decision < rows.bottom)
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
            Slopes that are the same in every row are views that repeat one number (and an
            observation with one kink and no band is not copied): do not write into them.
        """
        seen = read_array("observation", observation)
        weight: Numbers = 1.0
        if sample_weight is not None:
            weight = non_negative("sample_weight", sample_weight)
        low, high = self._ends(band)
        named = {"observation": seen, "low": low, "high": high, "sample_weight": weight}
        tiers = self.tiers
        n_rows = count_rows({**named, **self.parameters(), **tiers.parameters()})
        seen = np.broadcast_to(seen, (n_rows,))
        return _hinges(tiers, seen, low, high, weight)

    def _tiers_for(self, rows: Rows) -> Tiers:
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


def _hinges(tiers: Tiers, seen: Array, low: Numbers, high: Numbers, weight: Numbers) -> Kinks:
    """List distances from the observation with their two slopes, and stack them."""
    up = [(distance, 0.0, growth * weight) for distance, growth in tiers.kinks_above()]
    down = [(-distance, growth * weight, 0.0) for distance, growth in tiers.kinks_below()]
    known = bool(np.all(low == high))
    if known:  # both first kinks are one
        listed = [(low, down[0][1], up[0][2])]
    else:
        listed = [(high, 0.0, up[0][2]), (low, down[0][1], 0.0)]
    listed += [(high + distance, below, above) for distance, below, above in up[1:]]
    listed += [(low + distance, below, above) for distance, below, above in down[1:]]
    distances, below, above = zip(*listed, strict=True)
    if len(listed) == 1:
        position = shifted(seen, distances[0])[np.newaxis]
    else:
        position = np.empty((len(listed), seen.size))
        for row, distance in zip(position, distances, strict=True):
            np.add(seen, distance, out=row)
    return Kinks(position, _stacked(below, seen.size), _stacked(above, seen.size))


def _stacked(slopes: Sequence[Numbers], n_rows: int) -> Array:
    """Stack one slope per kink into shape (n_kinks, n_rows); a view when they are numbers."""
    if all(isinstance(slope, float) for slope in slopes):
        return np.broadcast_to(np.asarray(slopes)[:, np.newaxis], (len(slopes), n_rows))
    return np.stack([np.broadcast_to(slope, (n_rows,)) for slope in slopes])
