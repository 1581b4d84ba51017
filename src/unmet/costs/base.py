"""The contract that every cost meets, and two costs that are not sums of hinges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band, Numbers, PerRow, common_rows, read_array, read_numbers
from unmet.errors import InvalidInput, Unsupported
from unmet.validation import Instance


class Aligned(NamedTuple):
    """Checked inputs of a cost, each with one entry per row.

    `Cost.align` makes it. The arrays may be read-only views.

    Attributes
    ----------
    decision : ndarray of shape (n_rows,)
        Decisions.
    observation : ndarray of shape (n_rows,)
        Observations.
    bottom, top : ndarray of shape (n_rows,)
        Lower and upper end of the band: observation + low and observation + high.

    Examples
    --------
    >>> from unmet import Band, SquaredError
    >>> rows = SquaredError().align(decision=7, observation=[5, 6], band=Band(low=1, high=4))
    >>> rows.bottom, rows.top
    (array([6., 7.]), array([ 9., 10.]))
    """

    decision: Array
    observation: Array
    bottom: Array
    """Lower end of the band, observation + low."""
    top: Array
    """Upper end of the band, observation + high."""


class Cost(PerRow, ABC):
    """Base class of every cost of a decision.

    A cost compares decisions with truths and never sees features. To write your own, decorate a
    class with ``@dataclass(frozen=True, eq=False)`` and define `loss` and `subgradient`. Two
    subclasses need less and can use the exact solver. `PiecewiseLinearCost` needs the two slopes of
    a cost that is linear on each side of the truth. `HingeCost` needs several slopes on each side.

    The base class provides equality, copies and the selection of rows. Parameters are numbers, 1-D
    arrays with one entry per row, or tuples of these. Decisions, truths and observations are
    numbers or arrays, and results have one entry per row. A cost may have kinks, jumps and several
    minima. `check_cost` reports where a cost breaks this contract.

    Attributes
    ----------
    convex : bool, default=False
        Whether `loss` is convex in the decision. Set it on the class; it is not a parameter.
    own_band : bool, default=False
        Whether the band has its own meaning for this cost: the decision costs nothing in the band,
        and outside it costs as much as if the nearer end were the truth.

    Examples
    --------
    The cost of the absolute distance to the truth, with a cap:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from unmet.costs import Cost, check_cost
    >>> @dataclass(frozen=True, eq=False)
    ... class Capped(Cost):
    ...     cap: float
    ...
    ...     def _distance(self, decision, observation, band):
    ...         rows = self.align(decision, observation, band)
    ...         return rows.decision - np.clip(rows.decision, rows.bottom, rows.top)
    ...
    ...     def loss(self, decision, observation, band=None):
    ...         return np.minimum(np.abs(self._distance(decision, observation, band)), self.cap)
    ...
    ...     def subgradient(self, decision, observation, band=None):
    ...         apart = self._distance(decision, observation, band)
    ...         return np.sign(apart) * (np.abs(apart) < self.cap)
    >>> Capped(cap=5).cost(decision=[8, 30], truth=10)
    array([2., 5.])
    >>> check_cost(Capped(cap=5))
    []
    """

    convex: ClassVar[bool] = False
    own_band: ClassVar[bool] = False

    @abstractmethod
    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Compute the ε-insensitive cost of each row, on which models are trained.

        Parameters
        ----------
        decision : float or array-like of shape (n_rows,)
            Decisions to evaluate. A number holds for every row.
        observation : float or array-like of shape (n_rows,)
            Observations, such as sales.
        band : Band, optional
            Range in which the truth may lie, relative to the observation. None is a band of width
            zero, so ``loss(y, d)`` equals ``cost(y, d)``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Costs.
        """

    @abstractmethod
    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Compute one subgradient of `loss` in the decision, for each row.

        On a kink the result is 0 whenever 0 is a subgradient there. A decision that costs nothing
        therefore never moves (Prop. LR-grad, whose inequalities are strict). Only
        ``solver="minibatch"`` uses this method. The exact solver uses hinges, and networks and
        trees use differences of `loss`.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Slopes of the loss.
        """

    def cost(self, decision: ArrayLike, truth: ArrayLike) -> Array:
        """Compute the realised cost of each row, once the truth is known.

        Parameters
        ----------
        decision : float or array-like of shape (n_rows,)
            Decisions to evaluate. A number holds for every row.
        truth : float or array-like of shape (n_rows,)
            What happened, such as demand.

        Returns
        -------
        ndarray of shape (n_rows,)
            Costs.
        """
        chosen, known = read_array("decision", decision), read_array("truth", truth)
        common_rows({"decision": chosen, "truth": known})  # speaks of the truth; loss would not
        return self.loss(chosen, known)

    def with_rows(self, **parameters: ArrayLike | None) -> Self:
        """Replace numeric parameters, usually by arrays with one entry per row.

        Parameters
        ----------
        **parameters : float, array-like of shape (n_rows,) or None
            New values by name. None leaves a parameter as it is.

        Returns
        -------
        Cost
            A cost of the same class.
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
        """Check the inputs of a loss against each other and give each of them one entry per row.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.

        Returns
        -------
        Aligned
            The inputs as arrays, with the two ends of the band.
        """
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
    """Squared distance to the truth (eq. MSELoss).

    With a band, the distance is that to the nearer end of the band. The paper trains its baselines
    (EAS) on this cost, without a band. It has no parameters.

    Examples
    --------
    >>> from unmet import Band, SquaredError
    >>> SquaredError().cost(decision=[7, 12], truth=10)
    array([9., 4.])
    >>> SquaredError().loss(decision=[7, 12, 16], observation=10, band=Band(low=1, high=4))
    array([16.,  0.,  4.])
    """

    convex: ClassVar[bool] = True

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Compute the squared distance of each decision to its band; it is 0 in the band.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        return self._distance(decision, observation, band) ** 2

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Compute twice the signed distance to the band: the gradient, as this cost has no kinks.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        return 2.0 * self._distance(decision, observation, band)

    def _distance(self, decision: ArrayLike, observation: ArrayLike, band: Band | None) -> Array:
        """Signed distance to the band: positive above it, negative below it."""
        rows = self.align(decision, observation, band)
        return np.asarray(rows.decision - np.clip(rows.decision, rows.bottom, rows.top))


class Revenue(Cost):
    """Negative revenue of a price.

    A price y at or below the reservation price d costs ``unit_cost − y``. A price above d costs
    nothing, because the buyer declines. Hand this cost to `unmet.DecisionPlan` to find the prices
    that earn most under the estimated distribution of reservation prices.

    Parameters
    ----------
    unit_cost : float or array-like of shape (n_rows,), default=0.0
        What one deal costs the seller. Larger values give higher prices.

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
        """Compute the negative revenue as if the upper end of the band were the truth.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, self.unit_cost - rows.decision, 0.0)

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Give -1 where the buyer accepts and 0 where the buyer declines; the jump has no slope.

        Parameters
        ----------
        decision, observation, band
            As in `Cost.loss`.
        """
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, -1.0, 0.0)
