"""What is known of the truth of each row: between which two limits it lies.

One structure for every kind of information. A truth seen exactly has equal limits; one that is at
least the observation (sales of a shelf that sold out, an accepted price) has no upper limit; one
that is below it (a rejected offer) has no lower one.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.band import Array, PerRow
from unmet.errors import InvalidInput


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Limits(PerRow):
    """Lower and upper limit of the truth of each row.

    Every model and every rule takes it as ``censored=``. `LatentBand` can learn from any limits;
    other rules from those that flags can say, and refuse others.

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_rows,)
        lower <= upper. −inf is no lower limit, +inf no upper one; equal limits say that the truth
        was seen. A number holds for every row, but one of the two must be a column.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from unmet import Limits
    >>> Limits(lower=[5, 8, 2], upper=[5, float("inf"), 3]).kinds
    array(['seen', 'right', 'interval'], dtype='<U8')
    >>> Limits.offers(price=[9, 12], accepted=[True, False])
    Limits(lower=[9.0, -inf], upper=[inf, 12.0])
    """

    lower: Array
    upper: Array

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = _read_limit("lower", lower), _read_limit("upper", upper)
        if low.ndim == high.ndim == 0:
            raise InvalidInput(
                f"lower or upper must have one entry per row, got the numbers {low} and {high}."
            )
        if low.ndim and high.ndim and low.size != high.size:
            raise InvalidInput(
                f"upper must have as many rows as lower, got {high.size} instead of {low.size}."
            )
        low, high = np.broadcast_arrays(low, high)
        wrong = (low > high) | (low == np.inf) | (high == -np.inf)
        if wrong.any():
            row = int(wrong.argmax())
            raise InvalidInput(
                "lower must be at most upper, with a number between them, "
                f"got lower {low[row]:g} and upper {high[row]:g} in row {row}."
            )
        object.__setattr__(self, "lower", _frozen(low))
        object.__setattr__(self, "upper", _frozen(high))

    @classmethod
    def right(cls, observation: ArrayLike, censored: Any) -> Self:
        """Truths that are at least the observation where censored, and the observation elsewhere.

        Parameters
        ----------
        observation : array-like of shape (n_rows,)
        censored : array-like of bool, shape (n_rows,)

        Examples
        --------
        >>> Limits.right(observation=[5, 8], censored=[True, False])
        Limits(lower=[5.0, 8.0], upper=[inf, 8.0])
        """
        seen = _read_column("observation", observation)
        flags = _read_flags("censored", censored, seen.size)
        return cls(seen, np.where(flags, np.inf, seen))

    @classmethod
    def offers(cls, price: ArrayLike, accepted: Any) -> Self:
        """Reservation prices: at least the price of an accepted offer, below that of a rejected.

        Parameters
        ----------
        price : array-like of shape (n_rows,)
            What was asked.
        accepted : array-like of bool, shape (n_rows,)
        """
        asked = _read_column("price", price)
        flags = _read_flags("accepted", accepted, asked.size)
        return cls(np.where(flags, asked, -np.inf), np.where(flags, np.inf, asked))

    @classmethod
    def interval(cls, lower: ArrayLike, upper: ArrayLike) -> Self:
        """Truths between two limits: another name of ``Limits(lower, upper)``.

        Examples
        --------
        >>> Limits.interval(lower=0, upper=[4, 6]).kinds
        array(['interval', 'interval'], dtype='<U8')
        """
        return cls(lower, upper)

    @property
    def kinds(self) -> NDArray[np.str_]:
        """For each row "seen", "right", "left", "interval" or "nothing"."""
        kinds = np.full(self.n_rows, "interval")
        below, above = np.isneginf(self.lower), np.isposinf(self.upper)
        for name, rows in (
            ("seen", self.lower == self.upper),
            ("right", above & ~below),
            ("left", below & ~above),
            ("nothing", below & above),
        ):
            kinds[rows] = name
        return kinds

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.lower.size)

    @property
    def shape(self) -> tuple[int]:
        """(n_rows,), as a column has it: so splits of rows may cut it."""
        return (self.n_rows,)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, index: Any) -> Self:
        """Keep some rows; scikit-learn asks for ``[rows, ...]`` when it cuts folds."""
        rows = index[0] if isinstance(index, tuple) else index
        return self.take(np.array([rows]) if isinstance(rows, Integral) else rows)

    def flags(self, observation: Array) -> Array | None:
        """1 where the truth is at least the observation, 0 where it is it; None if that is not all.

        Parameters
        ----------
        observation : ndarray of shape (n_rows,)
        """
        right = np.isposinf(self.upper)
        if np.array_equal(self.lower, observation) and (right | (self.upper == self.lower)).all():
            return right.astype(np.float64)
        return None


def _read_limit(name: str, value: ArrayLike) -> Array:
    """Read a number or column in which infinities are allowed; nothing may be missing."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise ValueError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} must be a number or a column of numbers, got {value!r:.60}."
        ) from None
    if array.ndim > 1:
        raise InvalidInput(f"{name} must be a number or a column, got shape {array.shape}.")
    if np.isnan(array).any():
        row = int(np.isnan(array).argmax())
        raise InvalidInput(
            f"{name} must be a number in every row, -inf or inf where there is no limit, "
            f"got NaN in row {row}."
        )
    return array


def _read_column(name: str, value: ArrayLike) -> Array:
    array = _read_limit(name, value)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one entry per row, got {array}.")
    wrong = np.isinf(array)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(f"{name} must hold finite numbers, got {array[row]} in row {row}.")
    return array


def _read_flags(name: str, value: Any, n_rows: int) -> NDArray[np.bool_]:
    """Truth values, none of them missing: limits have no word for a flag that nobody knows."""
    entries = np.asarray(value)
    if entries.ndim != 1 or entries.size != n_rows:
        raise InvalidInput(
            f"{name} must have one entry for each of {n_rows} rows, got shape {entries.shape}."
        )
    if entries.dtype.kind == "b":
        return entries
    flags = np.empty(n_rows, dtype=np.bool_)
    for row, entry in enumerate(entries.tolist()):
        if not isinstance(entry, bool | int | float | np.bool_ | np.number) or entry not in (0, 1):
            raise InvalidInput(
                f"{name} must be True or False in every row, got {entry!r} in row {row}."
            )
        flags[row] = bool(entry)
    return flags


def _frozen(array: Array) -> Array:
    """Copy that cannot change when the caller's array does."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy
