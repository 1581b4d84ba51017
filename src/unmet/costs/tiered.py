"""A newsvendor whose costs per unit grow with the distance from the demand."""

from __future__ import annotations

from unmet.arrays import Numbers
from unmet.costs.hinge import Entries, HingeCost, Tiers, read_sides


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
