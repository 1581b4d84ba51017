"""The contract that every cost meets, and what the piecewise-linear ones get from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import (
    Array,
    Band,
    Numbers,
    PerRow,
    common_rows,
    non_negative,
    read_array,
    read_numbers,
)
from unmet.costs.kinks import Kinks
from unmet.costs.slopes import Slopes
from unmet.errors import InvalidInput, Unsupported


class Rows(NamedTuple):
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
    linear on either side of the truth derives from `PiecewiseLinearCost` and only says its slopes.
    Decorate it with ``@dataclass(frozen=True, eq=False)``: equality that understands arrays, copies
    and the choice of rows come from here. Parameters are numbers, or 1-D NumPy arrays with one
    entry per row; so are decisions, truths and observations. Results have one entry per row.
    """

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
        moves (Prop. LR-grad, whose inequalities are strict).
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
        values = self.parameters()
        numeric = [name for name, value in values.items() if _is_numeric(value)]
        given = {name: value for name, value in parameters.items() if value is not None}
        unknown = [name for name in given if name not in numeric]
        if unknown:
            known = (
                f"{', '.join(numeric[:-1])} and {numeric[-1]}" if numeric[1:] else "".join(numeric)
            )
            raise Unsupported(
                f"{type(self).__name__} has no parameter {unknown[0]} per row; "
                f"it has {known or 'none'}."
            )
        read = {name: read_numbers(name, value) for name, value in given.items()}
        return type(self)(**{**values, **read}) if given else self

    def align(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Rows:
        """Check the inputs of a loss against each other and give all of them one entry per row."""
        chosen, seen = read_array("decision", decision), read_array("observation", observation)
        low, high = self._ends(band)
        named = {"decision": chosen, "observation": seen, "low": low, "high": high}
        shape = (_count({**named, **self.parameters()}),)
        seen = np.broadcast_to(seen, shape)
        chosen = np.broadcast_to(chosen, shape)
        return Rows(chosen, seen, _shifted(seen, low), _shifted(seen, high))

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


def _is_numeric(value: object) -> bool:
    return isinstance(value, int | float | np.ndarray) and not isinstance(value, bool)


class PiecewiseLinearCost(Cost):
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
    def level(self) -> Numbers:
        """Critical ratio α: the quantile of the truth that has the least expected cost."""
        return self.slopes.level

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """ε-insensitive cost of each row (eq. nvc-censored for general slopes); 0 in the band."""
        rows = self.align(decision, observation, band)
        slopes = self._slopes_for(rows)
        short = np.maximum(rows.bottom - rows.decision, 0.0)
        excess = np.maximum(rows.decision - rows.top, 0.0)
        total: Array = slopes.below * short + slopes.above * excess
        return total

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Slope of `loss` in the decision (Prop. LR-grad); 0 in the band and on both its ends.

        Without a band, or where it has no width, there is a single kink; there, too, the answer is
        0, which lies in the subdifferential [-below, above].
        """
        rows = self.align(decision, observation, band)
        slopes = self._slopes_for(rows)
        over, under = rows.decision > rows.top, rows.decision < rows.bottom
        slope: Array = slopes.above * over - slopes.below * under
        return slope

    def kinks(
        self,
        observation: ArrayLike,
        band: Band | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Kinks:
        """Write the loss as hinges, the form that the exact solvers take.

        A band without width (or None) gives one kink per row, at s + low with both slopes. Any
        other gives two, in this order: s + high, which costs only above, and s + low, which costs
        only below.

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
            observation without a band is not copied): do not write into them.
        """
        seen = read_array("observation", observation)
        weight: Numbers = 1.0
        if sample_weight is not None:
            weight = non_negative("sample_weight", sample_weight)
        low, high = self._ends(band)
        named = {"observation": seen, "low": low, "high": high, "sample_weight": weight}
        slopes = self.slopes
        n_rows = _count({**named, **self.parameters(), **slopes.parameters()})
        seen = np.broadcast_to(seen, (n_rows,))
        below, above = slopes.below * weight, slopes.above * weight
        if np.all(low == high):
            position = _shifted(seen, low)[np.newaxis]
            return Kinks(position, _stacked([below], n_rows), _stacked([above], n_rows))
        position = np.empty((2, n_rows))
        np.add(seen, high, out=position[0])
        np.add(seen, low, out=position[1])
        return Kinks(position, _stacked([0.0, below], n_rows), _stacked([above, 0.0], n_rows))

    def _slopes_for(self, rows: Rows) -> Slopes:
        slopes = self.slopes
        common_rows({"decision": rows.decision, **slopes.parameters()})
        return slopes


def _count(values: Mapping[str, object]) -> int:
    """Count the rows that `values` speak of; numbers alone make one row."""
    n_rows = common_rows(values)
    return 1 if n_rows is None else n_rows


def _shifted(observation: Array, distance: Numbers) -> Array:
    """Add `distance`, without a copy when it is the number 0."""
    if isinstance(distance, float) and distance == 0:
        return observation
    return observation + distance


def _stacked(slopes: Sequence[Numbers], n_rows: int) -> Array:
    """Stack one slope per kink into shape (n_kinks, n_rows); a view when they are numbers."""
    if all(isinstance(slope, float) for slope in slopes):
        return np.broadcast_to(np.asarray(slopes)[:, np.newaxis], (len(slopes), n_rows))
    return np.stack([np.broadcast_to(slope, (n_rows,)) for slope in slopes])
