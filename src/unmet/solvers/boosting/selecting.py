"""Exact leaves of rows that lie in several places.

The value of a leaf is where the running sum of slopes over its sorted kinks reaches what all kinks
cost below (`leaves.py`). Each place sorts its own kinks. It is then asked for a few of them between
two bounds, evenly spaced, with the running sums there: how much is certainly below each and how
much may be. The sums of all places tell between which two the value must lie. That is asked again
more finely, until the kinks that are left are few enough to be sent: three rounds for millions of
rows. What comes out is what sorting all kinks together would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unmet.band import Array
from unmet.solvers.boosting.leaves import Index, Intervals, order_within
from unmet.solvers.places import Places

_ROUNDING = 1e-10  # as in `hinge_minimisers`
_FEW = 256  # kinks of a leaf that a place sends in the first round
_GROWTH = 4  # by which they are more in the next: whatever the ties, some round is the last
_LOOK = 64  # times as many are looked at for ties

#: Lower and upper bound of the values of some leaves: leaf, low, high, and how many kinks to send.
Question: TypeAlias = tuple[list[int], list[float], list[float], int]


@dataclass(frozen=True)
class Offer:
    """Kinks of one leaf in one place, between two bounds.

    Attributes
    ----------
    point : ndarray of shape (n_offered,)
        Different positions, in order; the last is the greatest between the bounds.
    before, through : ndarray of shape (n_offered,)
        Sum of the jumps of the leaf's kinks below each position, and up to it.
    base : float
        Sum of the jumps up to the lower bound.
    complete : bool
        Whether there are no others between the bounds.
    """

    point: Array
    before: Array
    through: Array
    base: float
    complete: bool

    def certain(self, candidate: Array) -> Array:
        """Sum of the jumps up to each candidate, at least."""
        sums = np.concatenate([[self.base], self.through])
        return sums[np.searchsorted(self.point, candidate, side="right")]

    def possible(self, candidate: Array) -> Array:
        """Sum of the jumps up to each candidate, at most."""
        if self.complete:
            return self.certain(candidate)
        sums = np.concatenate([self.before, self.through[-1:]])
        return sums[np.searchsorted(self.point, candidate, side="right")]


@dataclass(frozen=True)
class Offers:
    """Offers of several leaves end to end: few arrays travel faster than many."""

    numbers: Array
    count: list[int]
    base: list[float]
    complete: list[bool]

    @classmethod
    def of(cls, offers: list[Offer]) -> Offers:
        """Put offers together."""
        parts = [np.stack([each.point, each.before, each.through]) for each in offers]
        return cls(
            np.concatenate(parts, axis=1),
            [each.point.size for each in offers],
            [each.base for each in offers],
            [each.complete for each in offers],
        )

    def apart(self) -> list[Offer]:
        """Take them apart again."""
        parts = np.split(self.numbers, np.cumsum(self.count)[:-1], axis=1)
        each = zip(parts, self.base, self.complete, strict=True)
        return [Offer(part[0], part[1], part[2], base, whole) for part, base, whole in each]


class SortedKinks:
    """Kinks of one place, by leaf and position; parameters as in `hinge_minimisers`."""

    def __init__(
        self, position: Array, below: Array, jump: Array, leaf: Index, n_leaves: int
    ) -> None:
        order = order_within(leaf, position)
        self._point = position[order]
        count = np.bincount(leaf, minlength=n_leaves)
        self._bounds = np.concatenate([[0], np.cumsum(count)])
        if jump.size == 1:
            self._running = np.arange(leaf.size + 1) * jump[0]
            self.below = count * below[0]
        else:
            self._running = np.concatenate([[0.0], np.cumsum(jump[order])])
            self.below = np.bincount(leaf, below, n_leaves)
        self.total = np.diff(self._running[self._bounds])

    def offers(self, question: Question) -> Offers:
        """Answer for each leaf that is asked for."""
        leaves, low, high, few = question
        return Offers.of([self._offer(*each, few) for each in zip(leaves, low, high, strict=True)])

    def _offer(self, leaf: int, low: float, high: float, few: int) -> Offer:
        start, end = self._bounds[leaf], self._bounds[leaf + 1]
        points = self._point[start:end]
        first, last = np.searchsorted(points, [low, high], side="right")
        inside = points[first:last]
        complete = inside.size <= _LOOK * few
        if complete:
            chosen = (
                inside[np.concatenate([[True], np.diff(inside) > 0])] if inside.size else inside
            )
            complete = chosen.size <= few
        if not complete:
            chosen = np.unique(inside[np.linspace(0, inside.size - 1, few).astype(np.intp)])
        sums = self._running[start : end + 1] - self._running[start]
        before = sums[np.searchsorted(points, chosen, side="left")]
        through = sums[np.searchsorted(points, chosen, side="right")]
        return Offer(chosen, before, through, float(sums[first]), complete)


class _Search:
    """Looks for the interval of one leaf."""

    def __init__(self, below: float, total: float) -> None:
        slack = _ROUNDING * total
        self._targets = below - slack, below + slack
        self._open = below <= slack, total - below <= slack
        self.low, self.high = -np.inf, np.inf
        self.found: tuple[float, float] | None = None
        if all(self._open):
            self.found = (-np.inf, np.inf)

    def hear(self, offers: list[Offer]) -> None:
        """Narrow the bounds, or finish."""
        if all(offer.complete for offer in offers):
            self._finish(offers)
            return
        candidate = np.unique(np.concatenate([offer.point for offer in offers]))
        certain = sum(offer.certain(candidate) for offer in offers)
        possible = sum(offer.possible(candidate) for offer in offers)
        under = np.flatnonzero(possible < self._targets[0])
        over = np.flatnonzero(certain > self._targets[1])
        if under.size:
            self.low = float(candidate[under[-1]])
        if over.size:
            self.high = float(candidate[over[0]])

    def _finish(self, offers: list[Offer]) -> None:
        point = np.concatenate([offer.point for offer in offers])
        jump = np.concatenate([offer.through - offer.before for offer in offers])
        order = np.argsort(point, kind="stable")
        running = sum(offer.base for offer in offers) + np.cumsum(jump[order])
        sides = zip(self._targets, ("left", "right"), self._open, (-np.inf, np.inf), strict=True)
        ends = []
        for target, side, free, infinite in sides:
            index = np.searchsorted(running, target, side=side)  # type: ignore[call-overload]
            reached = point[order[min(int(index), point.size - 1)]]
            ends.append(infinite if free else float(reached))
        self.found = (ends[0], ends[1])


def select_intervals(places: Places, below: Array, total: Array) -> Intervals:
    """Minimise a sum of hinges in each leaf, with `offers` of all places.

    Parameters
    ----------
    places : Places
        Whose method ``offers`` is that of `SortedKinks`.
    below, total : ndarray of shape (n_leaves,)
        Sums over all kinks of a leaf: of slopes below, and of jumps.
    """
    searches = [_Search(*each) for each in zip(below.tolist(), total.tolist(), strict=True)]
    few = _FEW
    while left := [i for i, search in enumerate(searches) if search.found is None]:
        bounds = [searches[i].low for i in left], [searches[i].high for i in left]
        answers = [offers.apart() for offers in places.ask("offers", (left, *bounds, few))]
        for i, offers in zip(left, zip(*answers, strict=True), strict=True):
            searches[i].hear(list(offers))
        few *= _GROWTH
    low, high = np.array([search.found for search in searches], dtype=np.float64).T
    return Intervals(low, high)
