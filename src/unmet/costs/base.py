"""The contract that every cost meets, and two costs that are no sums of hinges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band, Numbers, PerRow, common_rows, read_array, read_numbers
from unmet.errors import InvalidInput, Unsupported
from unmet.validation import Instance


class Aligned(NamedTuple):
    """Checked inputs of a cost, every array of shape (n_rows,); they may be read-only views."""

    decision: Array
    observation: Array
    bottom: Array
    """Lower end of the band, observation + low."""
    top: Array
    """Upper end of the band, observation + high."""


class Cost(PerRow, ABC):
    """What a decision costs; the loss knows nothing of features.

    A cost of your own is a frozen dataclass with two methods, `loss` and `subgradient`; one that is
    linear on either side of the truth derives from `PiecewiseLinearCost` and only says its slopes,
    one with several slopes a side from `HingeCost` and only says its tiers.
    Decorate it with ``@dataclass(frozen=True, eq=False)``: equality that understands arrays, copies
    and the choice of rows come from here. Parameters are numbers, or 1-D NumPy arrays with one
    entry per row, or tuples of these; decisions, truths and observations are numbers or arrays.
    Results have one entry per row. `check_cost` says where a cost breaks this contract.

    A cost may be as rough as it likes: kinks, jumps and valleys are allowed. It may claim more, and
    is checked by what it claims.

    Attributes
    ----------
    convex : bool, default=False
        Whether `loss` is convex in the decision. A claim of the class, not a parameter.
    own_band : bool, default=False
        Whether a band means something else here than everywhere: nothing to pay in it, and outside
        what its nearer end would cost as the truth.
    """

    convex: ClassVar[bool] = False
    own_band: ClassVar[bool] = False

    @abstractmethod
    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """ε-insensitive cost of each row: what is trained on when the truth is not seen.

        Parameters
        ----------
        decision, observation : float or array-like of shape (n_rows,)
        band : Band, optional
            Where the truth may lie, relative to the observation; None is the band of width zero at
            the observation, so that ``loss(y, d)`` equals ``cost(y, d)``.

        Returns
        -------
        ndarray of shape (n_rows,)
        """

    @abstractmethod
    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """One subgradient of `loss` in the decision, for each row.

        On a kink it is 0 whenever 0 is a subgradient there, so a decision that costs nothing never
        moves (Prop. LR-grad, whose inequalities are strict). Only ``solver="minibatch"`` asks for
        it: the exact solver takes hinges, networks and trees take differences of `loss`.
        """

    def cost(self, decision: ArrayLike, truth: ArrayLike) -> Array:
        """Realised cost of each row, once the truth is known.

        Parameters
        ----------
        decision, truth : float or array-like of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        chosen, known = read_array("decision", decision), read_array("truth", truth)
        common_rows({"decision": chosen, "truth": known})  # speaks of the truth; loss would not
        return self.loss(chosen, known)

    def with_rows(self, **parameters: ArrayLike | None) -> Self:
        """Replace numeric parameters, usually by arrays with one entry per row.

        Parameters
        ----------
        **parameters : float, array-like of shape (n_rows,) or None
            New values by name; None leaves a parameter as it is.

        Returns
        -------
        Cost
            Of the same kind.
        """
        if not any(value is not None for value in parameters.values()):
            return self
        given = {name: value for name, value in parameters.items() if value is not None}
        values = self.parameters()
        numeric = [name for name, value in values.items() if _is_numeric(value)]
        for name, value in given.items():
            if name not in numeric:
                raise Unsupported(
                    f"{type(self).__name__} has no parameter {name} per row; "
                    f"it has {' and '.join(numeric) or 'none'}: give arrays when it is made."
                )
            values[name] = read_numbers(name, value)
        return type(self)(**values)

    def align(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Aligned:
        """Check the inputs of a loss against each other and give all of them one entry per row."""
        chosen, seen = read_array("decision", decision), read_array("observation", observation)
        low, high = self._ends(band)
        named = {"decision": chosen, "observation": seen, "low": low, "high": high}
        n_rows = common_rows({**named, **self.parameters()})
        shape = (1 if n_rows is None else n_rows,)
        seen = np.broadcast_to(seen, shape)
        chosen = np.broadcast_to(chosen, shape)
        # not copied where an end is the observation
        bottom, top = (seen if np.ndim(d) == 0 and d == 0 else seen + d for d in (low, high))
        return Aligned(chosen, seen, bottom, top)

    def _ends(self, band: Band | None) -> tuple[Numbers, Numbers]:
        """Give low and high of a band that this cost can use."""
        if band is None:
            return 0.0, 0.0
        if not isinstance(band, Band):
            raise InvalidInput(f"band must be a Band or None, got {band!r}.")
        self._check_band(band)
        return band.low, band.high

    def _check_band(self, band: Band) -> None:
        """Refuse a band that has no meaning for this cost; by default every band has one."""


A_COST = Instance(Cost, "a Cost such as Newsvendor(underage=3, overage=1)")
"""What estimators ask their ``cost`` to be."""


def _is_numeric(value: object) -> bool:
    return isinstance(value, int | float | np.ndarray) and not isinstance(value, bool)


class SquaredError(Cost):
    """Squared distance to the truth (eq. MSELoss), or with a band to its nearest end.

    The paper trains its baselines (EAS) on it, without a band. It has no parameters.

    Examples
    --------
    >>> SquaredError().cost(decision=[7, 12], truth=10)
    array([9., 4.])
    >>> SquaredError().loss(decision=[7, 12, 16], observation=10, band=Band(low=1, high=4))
    array([16.,  0.,  4.])
    """

    convex: ClassVar[bool] = True

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Squared distance of each decision to its band; 0 in the band."""
        return self._distance(decision, observation, band) ** 2

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Twice the signed distance to the band: the gradient, as this cost has no kinks."""
        return 2.0 * self._distance(decision, observation, band)

    def _distance(self, decision: ArrayLike, observation: ArrayLike, band: Band | None) -> Array:
        """Signed distance to the band: positive above it, negative below it."""
        rows = self.align(decision, observation, band)
        return np.asarray(rows.decision - np.clip(rows.decision, rows.bottom, rows.top))


class Revenue(Cost):
    """Minus the revenue of a price: a deal is made where the price is at most the truth.

    A price y at or below the reservation price d costs ``unit_cost − y``, one above it nothing. It
    says what `unmet.DecisionPlan` is to find: prices of most revenue, under the distribution of
    what buyers would pay.

    Parameters
    ----------
    unit_cost : float or array-like of shape (n_rows,), default=0.0
        What a deal costs the seller.

    Examples
    --------
    >>> from unmet.costs import Revenue
    >>> Revenue(unit_cost=2).cost(decision=[9, 11], truth=10)
    array([-7.,  0.])
    """

    unit_cost: Numbers

    def __init__(self, unit_cost: ArrayLike = 0.0) -> None:
        self._keep(unit_cost=read_numbers("unit_cost", unit_cost))

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Minus the revenue if the truth is the upper end of the band."""
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, self.unit_cost - rows.decision, 0.0)

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Minus 1 where a deal is made, 0 beyond; the jump is invisible to it."""
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, -1.0, 0.0)
