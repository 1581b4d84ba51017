"""Numbers, columns and flags of rows, and two values made of them: `Band` and `Limits`.

One rule holds everywhere: a number holds for every row, and a 1-D array has one entry per row.
Nothing else is broadcast. A forgotten ``reshape`` or a column of the wrong table is therefore an
error and never becomes a matrix. Values that differ by row derive from `PerRow`: they never change,
they have equality and a hash, and `take` selects some of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any, Self, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from unmet.errors import InvalidInput
from unmet.validation import is_missing

Array: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = float | Array
Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Features: TypeAlias = Array | sparse.csr_array
Index: TypeAlias = int | slice | NDArray[np.integer[Any]] | NDArray[np.bool_]


def read_array(name: str, value: ArrayLike, *, endless: bool = False) -> Array:
    """Read a finite float64 array of 0 or 1 dimensions, without a copy if it already is one.

    `endless` also allows infinities, for limits.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise _not_numbers(name, "nested sequences of different lengths") from None
    if array.ndim > 1:
        raise _not_numbers(name, f"shape {array.shape}")
    if array.dtype.kind not in "iuf":
        # read Python numbers such as fractions; text is not read as one, nor is a truth value
        for row, entry in enumerate(array.ravel().tolist()):
            if isinstance(entry, bool) or not isinstance(entry, Real | Decimal):
                raise _not_numbers(name, f"{entry!r} in row {row}" if array.ndim else repr(entry))
        array = array.astype(np.float64)
    array = array.astype(np.float64, copy=False)
    good = ~np.isnan(array) if endless else np.isfinite(array)
    if not good.all():
        allowed = "a number, -inf or inf where there is no limit" if endless else "a finite number"
        refuse(name, allowed, array, good)
    return array


def read_numbers(
    name: str,
    value: ArrayLike,
    allowed: str = "a finite number",
    valid: Callable[[Any], Any] | None = None,
) -> Numbers:
    """Read a float, or a read-only float64 array with one entry per row, all of them `valid`.

    `allowed` describes in the error message what `valid` tests, such as ``"a positive number"``.
    """
    if type(value) is float and isfinite(value) and (valid is None or valid(value)):
        return value  # the common case, twenty times faster than by way of an array
    array = read_array(name, value)
    if valid is not None:
        good = np.asarray(valid(array))
        if not good.all():
            refuse(name, allowed, array, good)
    if array.ndim == 0:
        return float(array)
    if array.flags.owndata and not array.flags.writeable:
        return array  # read before: costs hand their parameters on
    # A copy, because a frozen value must not change when the caller's array does.
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen


def non_negative(name: str, value: ArrayLike) -> Numbers:
    """Read a number, or one per row, that must not be below zero."""
    return read_numbers(name, value, "a non-negative number", lambda number: number >= 0)


def positive(name: str, value: ArrayLike) -> Numbers:
    """Read a number, or one per row, that must be above zero."""
    return read_numbers(name, value, "a positive number", lambda number: number > 0)


def refuse(name: str, allowed: str, array: Array, good: NDArray[np.bool_]) -> None:
    """Raise the error message that names the first entry that is not `good`."""
    if array.ndim == 0:
        raise InvalidInput(f"{name} must be {allowed}, got {float(array)}.")
    row = int(np.argmin(good))
    raise InvalidInput(f"{name} must be {allowed}, got {float(array[row])} in row {row}.")


def require(good: Any, rule: str, **values: Numbers) -> None:
    """Refuse the first row that breaks a rule, and name the `values` of that row."""
    holds = np.atleast_1d(good)
    if holds.all():
        return
    row = int(np.argmin(holds))
    each = {name: float(np.broadcast_to(value, holds.shape)[row]) for name, value in values.items()}
    found = " and ".join(f"{name} {value}" for name, value in each.items())
    where = f" in row {row}" if any(np.ndim(value) for value in values.values()) else ""
    raise InvalidInput(f"{rule}, got {found}{where}.")


def common_rows(values: Mapping[str, object]) -> int | None:
    """Give the length shared by all 1-D arrays among `values`; None if there is no array.

    A tuple is a parameter with several numbers, such as the tiers of a cost.
    """
    first, count = "", None
    for name, given in values.items():
        several = given if isinstance(given, tuple) else (given,)
        for place, value in enumerate(several):
            if isinstance(value, np.ndarray) and value.ndim:
                each = f"{name}[{place}]" if len(several) > 1 else name
                if count is None:
                    first, count = each, value.size
                elif value.size != count:
                    raise InvalidInput(
                        f"{each} must be a number or have as many rows as {first}, "
                        f"got {value.size} instead of {count}."
                    )
    return count


def expand(name: str, value: Numbers, n_rows: int) -> Array:
    """Give a number or an array one entry per row, as a read-only view."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.size != n_rows:
        raise InvalidInput(
            f"{name} must be a number or have one entry per row, "
            f"got {array.size} entries for {n_rows} rows."
        )
    return np.broadcast_to(array, (n_rows,))


def _not_numbers(name: str, arrived: str) -> InvalidInput:
    return InvalidInput(f"{name} must be a number or a 1-D array of numbers, got {arrived}.")


# --- Columns of tables and series, in which entries may be missing.


def as_array(name: str, value: Any) -> NDArray[Any]:
    """Give the values of an array, of a series of any library, or of a sequence."""
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if nw.dependencies.is_into_series(value):
        return np.asarray(nw.from_native(value, series_only=True).to_numpy())
    if isinstance(value, str | bytes | dict | set):
        raise InvalidInput(f"{name} must be an array of numbers, got {value!r:.60}.")
    try:
        return np.asarray(value)
    except ValueError:
        found = "nested sequences of different lengths"
        raise InvalidInput(f"{name} must be an array of numbers, got {found}.") from None


def read_entries(name: str, value: Any, n_rows: int | None = None) -> NDArray[Any]:
    """Read a column of dates, names or numbers; `n_rows`, if given, is its required length."""
    column = as_array(name, value)
    if column.ndim != 1:
        raise InvalidInput(f"{name} must have one entry per row, got shape {column.shape}.")
    if n_rows is not None:
        check_length(name, column.size, n_rows)
    return column


def slices(count: int, size: int) -> list[slice]:
    """Parts of so many rows that follow each other, each of this size at most."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def golden_section(
    cost: Callable[[Array], Array], low: Array, high: Array, steps: int
) -> tuple[Array, Array, Array]:
    """Narrow brackets around their least costs: the ends, and the better of two points inside."""
    ratio = 0.5 * (np.sqrt(5.0) - 1.0)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(steps):
        lower = at_left <= at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        new = np.where(lower, high - ratio * (high - low), low + ratio * (high - low))
        at_new = cost(new)
        left, right = np.where(lower, new, right), np.where(lower, left, new)
        at_left, at_right = np.where(lower, at_new, at_right), np.where(lower, at_left, at_new)
    return low, high, np.where(at_left <= at_right, left, right)


def taken(record: object, index: Any, *names: str) -> dict[str, Any]:
    """Take rows of fields that have an entry per row, or are None."""
    values = {name: getattr(record, name) for name in names}
    return {name: None if each is None else each[index] for name, each in values.items()}


def check_length(name: str, count: int, n_rows: int) -> None:
    """Refuse a column whose length differs from the number of rows of the features."""
    if count != n_rows:
        raise InvalidInput(
            f"{name} must have one entry per row of X, got {count} for {n_rows} rows."
        )


def read_missing(
    name: str, value: Any, n_rows: int | None = None, *, endless: bool = False
) -> Array:
    """Read a column of numbers in which None and NaN mean unknown; `endless` allows infinities."""
    entries = read_entries(name, value, n_rows)
    if entries.dtype.kind in "biuf":
        column = entries.astype(np.float64)
    else:
        column = np.array([np.nan if is_missing(v) else _number(name, v) for v in entries.tolist()])
    wrong = np.isinf(column) & ~(endless & (column > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(f"{name} must hold finite numbers, got {column[row]} in row {row}.")
    return column


def _number(name: str, entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers or be missing, got {entry!r}.") from None


def read_flags(
    name: str, value: Any, n_rows: int | None = None, *, missing: bool = True, chances: bool = False
) -> Array:
    """Read a column of flags: 1 is true, 0 is false, NaN is missing (unless `missing` is False).

    `chances` also allows probabilities that a flag is true.
    """
    flags = read_missing(name, value, n_rows)
    good = (flags >= 0) & (flags <= 1) if chances else (flags == 0) | (flags == 1)
    wrong = ~(good | (missing & np.isnan(flags)))
    if wrong.any():
        row = int(wrong.argmax())
        allowed = "True, False or missing" if missing else "True or False in every row"
        if chances:
            allowed = "True, False, a probability between 0 and 1, or missing"
        raise InvalidInput(f"{name} must be {allowed}, got {flags[row]:g} in row {row}.")
    return flags


# --- Frozen values with numbers that may differ by row.


class PerRow:
    """A frozen value whose parameters are numbers, or arrays with one entry per row, or tuples.

    The class provides equality, a hash, a representation and the selection of rows. The parameters
    are the fields of a dataclass, or else all attributes. The constructor takes them by name.
    """

    def parameters(self) -> dict[str, Any]:
        """Give names and values of the constructor's parameters."""
        if is_dataclass(self):  # may hold more than its parameters
            return {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        return dict(vars(self))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Give names and values of the constructor's parameters, as scikit-learn expects."""
        return self.parameters()

    def set_params(self, **parameters: Any) -> Self:
        """Give a copy with other parameters; the value itself never changes.

        scikit-learn's estimators change the objects that they hold instead of replacing them. Of
        the estimators, only those of this package therefore support
        ``set_params(cost__underage=4)``. `GridSearchCV` works over them, and over pipelines that
        end in them.

        Examples
        --------
        >>> Band(low=0, high=5).set_params(high=9)
        Band(low=0.0, high=9.0)
        """
        values = self.parameters()
        for name in parameters:
            if name not in values:
                raise InvalidInput(
                    f"{type(self).__name__} has the parameters {', '.join(values) or '(none)'}, "
                    f"got {name!r}."
                )
        return type(self)(**{**values, **parameters})

    def __sklearn_clone__(self) -> Self:
        """Hand out itself: what cannot change needs no copy."""
        return self

    def _keep(self, **values: Any) -> None:
        """Set parameters, once, in the constructor; those with rows must have equally many."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        common_rows(values)

    def take(self, index: Index) -> Self:
        """Select rows; parameters that are numbers hold for every row and stay as they are.

        Parameters
        ----------
        index : array of int, array of bool, or slice
            Rows to keep.
        """
        values, same = self.parameters(), True
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                values[name], same = value[index], False
            elif isinstance(value, tuple) and any(map(np.ndim, value)):
                parts = [each[index] if isinstance(each, np.ndarray) else each for each in value]
                values[name], same = tuple(parts), False
        return self if same else type(self)(**values)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(f"{type(self).__name__} does not change, got a new {name}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PerRow) or type(other) is not type(self):
            return NotImplemented
        theirs = other.parameters()
        return all(_same(v, theirs[name]) for name, v in self.parameters().items())

    def __hash__(self) -> int:
        values = self.parameters().values()
        return hash((type(self), *map(_hashable, values)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_short(v)}" for name, v in self.parameters().items())
        return f"{type(self).__name__}({inside})"


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return np.array_equal(value, other)


def _hashable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value


def _short(value: object) -> str:
    """Show a parameter on one line: of a long array only the ends."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))}{',' if len(value) == 1 else ''})"
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= 6:
        return repr(value.tolist())
    ends = [repr(float(v)) for v in value[[0, 1, -2, -1]]]
    return f"[{ends[0]}, {ends[1]}, ..., {ends[2]}, {ends[3]}]"


class Band(PerRow):
    """Range above the observation in which a decision costs nothing.

    The range goes from observation + low to observation + high. The truth is at least the
    observation and may lie anywhere in the range, so every decision in the range is equally good.
    In the paper low is ε₂ and high is ε₁ (eq. nvc-censored). The paper requires low < high. Here
    both may be equal, which states that the truth is observation + low.

    Parameters
    ----------
    low, high : float or array-like of shape (n_rows,)
        Distances from the observation, in its units, with 0 <= low <= high < inf. A number holds
        for every row. Larger values of both give larger decisions.

    Examples
    --------
    >>> from unmet import Band
    >>> Band(low=2, high=10)
    Band(low=2.0, high=10.0)
    >>> Band(low=0, high=[5, 0, 7.5]).width
    array([5. , 0. , 7.5])
    """

    low: Numbers
    high: Numbers

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        self._keep(low=self._read_end("low", low), high=self._read_end("high", high))
        require(self.low <= self.high, "low must be at most high", low=self.low, high=self.high)

    @staticmethod
    def _read_end(name: str, value: ArrayLike) -> Numbers:
        """Observations are never above the truth, so both ends are at or above them."""
        return non_negative(name, value)

    @classmethod
    def scaled(cls, low: ArrayLike, high: ArrayLike, observation: ArrayLike) -> Self:
        """Make a band from shares of the range of the observations, as the paper states ε.

        The paper searches ε₁ in U(0, .20) and ε₂ in U(0, .15) and reports .1976 and .0022. These
        are shares of the range max - min of the training observations.

        Parameters
        ----------
        low, high : float or array-like of shape (n_rows,)
            Shares of the range.
        observation : array-like of shape (n_observations,)
            Observations that define the range.

        Examples
        --------
        >>> from unmet import Band
        >>> Band.scaled(low=0.25, high=0.5, observation=[10, 14, 30])
        Band(low=5.0, high=10.0)
        """
        seen = read_array("observation", observation)
        if not seen.size:
            raise InvalidInput("observation must have at least one row, got none.")
        shares = cls(low, high)
        spread = float(seen.max()) - float(seen.min())
        return cls(shares.low * spread, shares.high * spread)

    @classmethod
    def around(cls, target: ArrayLike, observation: ArrayLike) -> SignedBand:
        """Make a band of width zero that puts the decision of each row at a target.

        Use it if the truth may lie below the observation. For example, a buyer who rejected an
        offer would have paid less. The ends may be negative, and every model can train on the
        result.

        Parameters
        ----------
        target : float or array-like of shape (n_rows,)
            Best decision of each row.
        observation : float or array-like of shape (n_rows,)
            Observation of each row.

        Examples
        --------
        >>> from unmet import Band
        >>> Band.around(target=[12, 9], observation=[10, 10])
        SignedBand(low=[2.0, -1.0], high=[2.0, -1.0])
        """
        aim, seen = read_numbers("target", target), read_numbers("observation", observation)
        common_rows({"target": aim, "observation": seen})
        return SignedBand(aim - seen, aim - seen)

    @property
    def width(self) -> Numbers:
        """Length of the band, high - low; it is 0 where the truth is taken as known."""
        return self.high - self.low

    def rows(self, n_rows: int) -> tuple[Array, Array]:
        """Give low and high one entry per row, as read-only views.

        Parameters
        ----------
        n_rows : int
            Number of rows.

        Returns
        -------
        low, high : ndarray of shape (n_rows,)
            The two ends, relative to the observation.
        """
        return expand("low", self.low, n_rows), expand("high", self.high, n_rows)


class SignedBand(Band):
    """A band whose ends may lie below the observation; `Band.around` makes it.

    Parameters
    ----------
    low, high : float or array-like of shape (n_rows,)
        Distances from the observation, in its units, with low <= high. Negative values lie below
        the observation.

    Examples
    --------
    >>> from unmet.arrays import SignedBand
    >>> SignedBand(low=-2, high=3).width
    5.0
    """

    @staticmethod
    def _read_end(name: str, value: ArrayLike) -> Numbers:
        return read_numbers(name, value)


class Limits(PerRow):
    """Lower and upper limit of the truth of each row.

    Limits describe every kind of censoring. A truth that was seen has equal limits. A truth that is
    at least the observation has no upper limit: sales of a shelf that sold out, or an accepted
    price. A truth that is below the observation has no lower limit: a rejected offer.

    Every model and every band rule accepts limits as ``censored=``. `LatentBand` can learn from any
    limits. Other rules learn from limits that flags can express, and refuse others.

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_rows,)
        Limits, with lower <= upper. −inf is no lower limit, +inf is no upper limit, and equal
        limits mean that the truth was seen. A number holds for every row, but one of the two must
        be a column.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)
        The limits with one entry per row.

    Examples
    --------
    >>> from unmet import Limits
    >>> Limits(lower=[5, 8, 2], upper=[5, float("inf"), 3]).kinds
    array(['exact', 'right', 'interval'], dtype='<U8')
    >>> Limits.offers(price=[9, 12], accepted=[True, False])
    Limits(lower=[9.0, -inf], upper=[inf, 12.0])
    """

    lower: Array
    upper: Array

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = (
            read_array(name, value, endless=True)
            for name, value in (("lower", lower), ("upper", upper))
        )
        if low.ndim == high.ndim == 0:
            raise InvalidInput(
                f"lower or upper must have one entry per row, got the numbers {low} and {high}."
            )
        if low.ndim and high.ndim and low.size != high.size:
            raise InvalidInput(
                f"upper must have as many rows as lower, got {high.size} instead of {low.size}."
            )
        low, high = np.broadcast_arrays(low, high)
        good = (low <= high) & (low < np.inf) & (high > -np.inf)
        rule = "lower must be at most upper, with a number between them"
        require(good, rule, lower=low, upper=high)
        copies = np.array([low, high])  # these cannot change when the caller's arrays do
        copies.flags.writeable = False
        self._keep(lower=copies[0], upper=copies[1])

    @classmethod
    def offers(cls, price: ArrayLike, accepted: Any) -> Self:
        """Make limits of reservation prices: at least an accepted price, below a rejected one.

        Parameters
        ----------
        price : array-like of shape (n_rows,)
            Price that was offered.
        accepted : array-like of bool, shape (n_rows,)
            Whether the buyer accepted.
        """
        asked = np.atleast_1d(read_array("price", price))
        flags = read_flags("accepted", accepted, missing=False) == 1
        common_rows({"price": asked, "accepted": flags})
        return cls(np.where(flags, asked, -np.inf), np.where(flags, np.inf, asked))

    @property
    def kinds(self) -> NDArray[np.str_]:
        """Kind of each row: "exact", "right", "left", "interval" or "nothing"."""
        kinds = np.full(self.n_rows, "interval")
        below, above = np.isneginf(self.lower), np.isposinf(self.upper)
        kinds[self.lower == self.upper] = "exact"
        kinds[above & ~below], kinds[below & ~above] = "right", "left"
        kinds[below & above] = "nothing"
        return kinds

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.lower.size)

    @property
    def shape(self) -> tuple[int]:
        """Shape of a column, (n_rows,), so that functions that split rows accept limits."""
        return (self.n_rows,)

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, index: Any) -> Self:
        """Keep some rows; scikit-learn asks for ``[rows, ...]`` when it cuts folds."""
        rows = index[0] if isinstance(index, tuple) else index
        return self.take(np.array([rows]) if isinstance(rows, Integral) else rows)

    def flags(self, observation: Array) -> Array | None:
        """Express limits as flags: 1 if the truth is at least the observation, 0 if it was seen.

        Parameters
        ----------
        observation : ndarray of shape (n_rows,)
            Observations to compare the limits with.

        Returns
        -------
        ndarray of shape (n_rows,) or None
            None if flags cannot express the limits.
        """
        right = np.isposinf(self.upper)
        if np.array_equal(self.lower, observation) and (right | (self.upper == self.lower)).all():
            return right.astype(np.float64)
        return None
