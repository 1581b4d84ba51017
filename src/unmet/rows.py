"""The rows of a problem: one record of them, and functions that read and check user input.

Tables, columns and weights are read once per fit. Each error is one sentence.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from unmet.arrays import (
    Array,
    Band,
    Features,
    Limits,
    PerRow,
    as_array,
    check_length,
    common_rows,
    non_negative,
    read_entries,
    read_flags,
    read_missing,
    require,
)
from unmet.costs import Cost, HingeCost
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput, Unsupported
from unmet.validation import is_missing


@dataclass(frozen=True)
class Rows:
    """Checked rows of a problem, as models, band rules and solvers take them.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features), or csr_array
        Features of each row.
    observation : ndarray of shape (n_rows,)
        Observations, such as sales.
    cost : Cost
        Cost of decisions. Its parameters are numbers, or have one entry per row.
    share : ndarray of shape (n_rows,) or None
        Weights that sum to one. None means that all rows count the same.
    band : Band or None
        Range in which the truth may lie, relative to the observation. None takes observations for
        the truth.
    censored : ndarray of shape (n_rows,) or None
        1 where the truth is at least the observation, 0 where the truth is the observation, a
        probability in between, and NaN where nothing is known. None means that nothing is known of
        any row. Stock levels are already converted to flags.
    stock : ndarray of shape (n_rows,) or None
        Available stock; NaN where unknown.
    time, series : ndarray of shape (n_rows,) or None
        Time and series of each row, as given.
    limits : Limits or None
        Limits of each truth, if flags cannot express them.
    entry : ndarray of shape (n_rows,) or None
        For lifetimes: age of each part when records began (delayed entry).

    Examples
    --------
    A band rule of your own receives such rows:

    >>> from unmet import Newsvendor
    >>> from unmet.rows import Rows
    >>> rows = Rows.read(Newsvendor(3, 1), X=[[0.0], [1.0], [2.0]], y=[5, 7, 9])
    >>> rows.n_rows, rows.all_known
    (3, False)
    >>> rows.take([0, 2]).observation
    array([5., 9.])
    """

    features: Features
    observation: Array
    cost: Cost
    share: Array | None = None
    band: Band | None = None
    censored: Array | None = None
    stock: Array | None = None
    time: NDArray[Any] | None = None
    series: NDArray[Any] | None = None
    limits: Limits | None = None
    entry: Array | None = None

    @classmethod
    def read(cls, cost: Cost, X: Any, y: Any, *known: Any, at_least: int = 1, **named: Any) -> Rows:
        """Read and check what an estimator is given; other columns are as in `of`.

        Rows of weight zero are kept: `counted` drops them.
        """
        features = read_features(X, at_least=at_least)
        observation = read_column("y", y, features.shape[0])  # here: it may warn our caller's user
        return cls.of(cost, features, observation, *known, at_least=at_least, **named)

    @classmethod
    def of(
        cls,
        cost: Cost,
        features: Features,
        observation: Array,
        sample_weight: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
        *,
        at_least: int = 1,
    ) -> Rows:
        """Add what else is known to features and observations that have been read.

        `at_least` is the least number of rows that must have weight.
        """
        n_rows = observation.size
        share = None
        if sample_weight is not None:
            share = read_weights(sample_weight, n_rows, at_least=at_least)
        available = None if stock is None else read_missing("stock", stock, n_rows, endless=True)
        limits, flags = None, None
        if isinstance(censored, Limits):
            flags, limits = _read_limits(censored, observation, available)
        elif censored is not None:
            flags = read_flags("censored", censored, n_rows, chances=True)
        if available is not None and limits is None:
            # fill in what stock says where no flag does
            finite = np.where(np.isinf(available), 0.0, np.abs(available))
            slack = STOCK_SLACK * np.fmax(np.abs(observation), finite)
            with np.errstate(invalid="ignore"):
                above = observation > available + slack
                sold_out = np.where(np.isnan(available), np.nan, observation >= available - slack)
            rule = "stock must not be below the observation"
            require(~above, rule, stock=available, observation=observation)
            flags = sold_out if flags is None else np.where(np.isnan(flags), sold_out, flags)
        rows = cls(
            features,
            observation,
            cost,
            share,
            censored=None if flags is None or np.isnan(flags).all() else flags,
            stock=available,
            time=None if time is None else read_entries("time", time, n_rows),
            series=None if series is None else read_entries("series", series, n_rows),
            limits=limits,
        )
        return rows.evaluated(cost)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.observation.size

    @property
    def weight(self) -> Array:
        """Weight of each row, one on average."""
        return np.ones(self.n_rows) if self.share is None else self.share * self.n_rows

    @property
    def all_known(self) -> bool:
        """Whether each row is known to be censored or not."""
        if self.limits is not None:
            return True
        return self.censored is not None and not np.isnan(self.censored).any()

    def evaluated(self, cost: Cost, band: Band | None = None) -> Rows:
        """Give the same rows another cost and band, with as many entries as there are rows."""
        ends = {} if band is None else band.parameters()
        common_rows({"y": self.observation, **ends, **cost.parameters()})
        return replace(self, cost=cost, band=band)

    def counted(self) -> Rows:
        """Drop rows of weight zero."""
        if self.share is None or self.share.all():
            return self
        kept = np.flatnonzero(self.share)
        return replace(self.take(kept), share=self.share[kept])

    def settled(self) -> Rows:
        """Split rows that are censored with some probability, for rules that only know yes and no.

        Such a row appears twice. Once it is censored, with its probability as the share of its
        weight. Once it is seen, with the remaining weight. The likelihood then equals its
        expectation.
        """
        if self.censored is None:
            return self
        soft = np.flatnonzero((self.censored > 0) & (self.censored < 1))
        if not soft.size:
            return self
        both = self.take(np.concatenate([np.arange(self.n_rows), soft]))
        assert both.censored is not None
        chance, flags = self.censored[soft], both.censored.copy()
        flags[soft], flags[self.n_rows :] = 1.0, 0.0
        share = np.full(self.n_rows, 1.0 / self.n_rows) if self.share is None else self.share
        parts = np.concatenate([share, share[soft] * (1 - chance)])
        parts[soft] *= chance
        return replace(both, censored=flags, share=parts / parts.sum())

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Select rows; their shares again sum to one.

        Parameters
        ----------
        index : ndarray of int
            Rows to keep.
        """
        values: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, PerRow):
                values[field.name] = value.take(index)
            else:
                values[field.name] = None if value is None else value[index]
        if self.share is not None:
            values["share"] = values["share"] / values["share"].sum()
        return Rows(**values)

    def mean_cost(self, decision: Array) -> float:
        """Compute the weighted mean of the loss."""
        loss = self.cost.loss(decision, self.observation, self.band)
        return float(loss.mean() if self.share is None else loss @ self.share)

    def kinks(self) -> Kinks:
        """Write the mean cost as hinges."""
        assert isinstance(self.cost, HingeCost)
        # A number where rows count the same: slopes then stay views that repeat one number.
        share = 1.0 / self.n_rows if self.share is None else self.share
        return self.cost.kinks(self.observation, self.band, share)


def read_features(X: Any, *, at_least: int = 1, allow_missing: bool = False) -> Features:
    """Read finite float64 features, C-contiguous or a csr_array, without a copy if possible.

    Parameters
    ----------
    X : array-like, table or sparse matrix of shape (n_rows, n_features)
        Features. A table is anything that narwhals reads: pandas, polars or pyarrow.
    at_least : int, default=1
        Least number of rows that the caller needs.
    allow_missing : bool, default=False
        Whether NaN and None are allowed; both become NaN. Infinity is never allowed.
    """
    if sparse.issparse(X):
        return _read_sparse(X, at_least, allow_missing)
    array, names = _read_table("X", X)
    check_shape(array.shape, at_least)
    if array.dtype != np.float64:
        array = _as_floats("X", array, names)
    rows = np.ascontiguousarray(array)
    flat = rows.reshape(-1)
    # One number tells whether anything is wrong, without an array of as many truth values; it is
    # also large for many entries of some size, so doubt is settled by looking at each.
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.dot(flat, flat)
    if not square <= SIZES[1] ** 2:
        _check_finite("X", rows, names, allow_missing)
        if not allow_missing and flat.size:
            place = np.unravel_index(int(np.abs(flat).argmax()), rows.shape)
            _check_largest("X", float(rows[place]), *map(int, place), names=names)
    return rows


def read_column(name: str, value: Any, n_rows: int | None = None) -> Array:
    """Read a finite float64 column; `n_rows`, if given, is the number of rows of X.

    A table with one column is read as that column, with scikit-learn's warning.
    """
    if value is None:  # in scikit-learn's words
        raise InvalidInput(
            f"The model requires {name} to be passed, but the target {name} is None."
        )
    if sparse.issparse(value):
        raise InvalidInput(f"{name} must be a 1-D array, got a sparse matrix.")
    array, _ = _read_table(name, value)
    if array.ndim == 2 and array.shape[1] == 1:
        text = f"A column-vector {name} was passed when a 1d array was expected."
        warnings.warn(text, DataConversionWarning, stacklevel=4)
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one number per row, got shape {array.shape}.")
    if array.dtype != np.float64:
        array = _as_floats(name, array, None)
    column = np.ascontiguousarray(array)
    if n_rows is not None:
        check_length(name, column.size, n_rows)
    if not np.isfinite(column).all():
        _check_finite(name, column, None)
    return column


def read_weights(sample_weight: Any, n_rows: int, *, at_least: int = 1) -> Array | None:
    """Read weights and scale them to sum to one; None if all rows count the same.

    `at_least` is the least number of rows that must have weight.
    """
    if sample_weight is None:
        return None
    weight = np.asarray(non_negative("sample_weight", sample_weight))
    if not weight.any():
        raise InvalidInput("sample_weight must have a positive entry, got only zeros.")
    if weight.ndim == 0:
        return None
    check_length("sample_weight", weight.size, n_rows)
    if np.count_nonzero(weight) < at_least:
        raise InvalidInput("sample_weight must be positive in at least two rows, got one.")
    _check_size("sample_weight", float(weight.max()))
    return np.asarray(weight / weight.sum())


def check_shape(shape: tuple[int, ...], at_least: int = 1) -> None:
    """Refuse input that is no table or too small, with the messages scikit-learn expects."""
    if len(shape) != 2:
        raise InvalidInput(
            f"X must have two dimensions, rows and columns, got shape {shape}: Reshape your data, "
            "with X.reshape(-1, 1) if it is a single column."
        )
    n_rows, n_features = shape
    if n_rows < at_least:
        needed = "two rows" if at_least == 2 else "one row"
        found = "one sample" if n_rows == 1 else "none"
        raise InvalidInput(f"X must have at least {needed}, got {found}.")
    if not n_features:
        raise InvalidInput(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _read_sparse(X: Any, at_least: int, allow_missing: bool) -> sparse.csr_array:
    check_shape(X.shape, at_least)
    if X.dtype.kind not in "biuf":
        raise _wrong_type("X", X.dtype)
    rows = sparse.csr_array(X, dtype=np.float64)
    table, wrong = rows.tocoo(), _wrong(rows.data, allow_missing)
    if wrong.any():
        place = int(wrong.argmax())
        where = int(table.row[place]), int(table.col[place])
        raise _not_finite("X", table.data[wrong], np.unique(table.row[wrong]).size, *where)
    if rows.nnz and not allow_missing:
        place = int(np.abs(rows.data).argmax())
        where = int(table.row[place]), int(table.col[place])
        _check_largest("X", float(rows.data[place]), *where)
    return rows


def _read_table(name: str, X: Any) -> tuple[NDArray[Any], list[Any] | None]:
    """Values of anything, and column names of a table; an object where not all is numeric."""
    if isinstance(X, np.ndarray) or not nw.dependencies.is_into_dataframe(X):
        return as_array(name, X), None
    try:
        table = nw.from_native(X, eager_only=True)
        names = list(table.columns)
        values = table.to_numpy()
        if values.dtype.kind == "O":
            columns = [np.fromiter(table[name], object, table.shape[0]) for name in names]
            values = np.column_stack(columns)
    except DuplicateError as error:
        found = " ".join(str(error).split()).rstrip(".")
        raise InvalidInput(f"The columns of X must have different names: {found}.") from None
    except TypeError:
        raise Unsupported(f"X must be a table in memory, got {type(X).__name__}.") from None
    return values, names


def _as_floats(name: str, array: NDArray[Any], names: list[Any] | None) -> Array:
    """Numbers of any type as float64; text is not read as numbers."""
    if array.dtype.kind in "biuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind != "O":
        if array.dtype.kind == "U" and array.size:
            raise _wrong_entry(name, array[(0,) * array.ndim], (0,) * array.ndim, names)
        raise _wrong_type(name, array.dtype)
    numbers = np.empty(array.shape)
    for place, entry in np.ndenumerate(array):
        if isinstance(entry, Real | Decimal | np.bool_):
            numbers[place] = float(entry)
        elif is_missing(entry):
            numbers[place] = np.nan  # refused below, with all the other missing ones
        else:
            raise _wrong_entry(name, entry, place, names)
    return numbers


def _wrong_type(name: str, dtype: np.dtype[Any]) -> InvalidInput:
    if dtype.kind == "c":
        return InvalidInput(f"Complex data not supported: {name} must hold real numbers.")
    return InvalidInput(f"{name} must hold numbers, got entries of type {dtype}.")


def _wrong_entry(
    name: str, entry: Any, place: tuple[int, ...], names: list[Any] | None
) -> InvalidInput | Unsupported:
    where = _where(place, names)
    if isinstance(entry, str):
        return InvalidInput(
            f"{name} must hold numbers, got the text {str(entry)!r:.60} in {where}."
        )
    return Unsupported(
        f"Each entry of the {name} argument must be neither a {type(entry).__name__} nor a string "
        f"but a number, got {entry!r:.60} in {where}."
    )


def _wrong(array: Array, allow_missing: bool) -> NDArray[np.bool_]:
    """Entries that are refused."""
    return np.isinf(array) if allow_missing else ~np.isfinite(array)


def _check_finite(
    name: str, array: Array, names: list[Any] | None, allow_missing: bool = False
) -> None:
    """Say how many rows have no number and where the first of them is."""
    wrong = _wrong(array, allow_missing)
    if not wrong.any():
        return
    rows = wrong if array.ndim == 1 else wrong.any(axis=1)
    place = tuple(int(index) for index in np.unravel_index(int(wrong.argmax()), array.shape))
    raise _not_finite(name, array[wrong], int(np.count_nonzero(rows)), *place, names=names)


def _not_finite(
    name: str, entries: Array, n_rows: int, *place: int, names: list[Any] | None = None
) -> InvalidInput:
    missing = np.isnan(entries)
    found = "NaN" if missing.all() else "NaN and inf" if missing.any() else "inf"
    rows = "" if n_rows == 1 else f"{n_rows} rows, first in "
    where = _where(place, names)
    return InvalidInput(f"{name} must hold finite numbers, got {found} in {rows}{where}.")


def _check_largest(name: str, largest: float, *place: int, names: list[Any] | None = None) -> None:
    """Refuse a number beyond what is promised."""
    if abs(largest) > SIZES[1]:
        raise InvalidInput(
            f"{name} must hold numbers up to {SIZES[1]:g} in size, got {largest:.3g} in "
            f"{_where(place, names)}: state it in another unit."
        )


def _where(place: tuple[int, ...], names: list[Any] | None) -> str:
    """Row, counted from 0, and the column by its name where it has one."""
    if len(place) == 1:
        return f"row {place[0]}"
    return f"row {place[0]}, column {place[1] if names is None else repr(names[place[1]])}"


def _read_limits(
    limits: Limits, observation: Array, stock: Array | None
) -> tuple[Array | None, Limits | None]:
    """Read flags, where limits say no more than those; otherwise the limits."""
    check_length("censored", limits.n_rows, observation.size)
    flags = limits.flags(observation)
    if flags is not None:
        return flags, None
    if stock is not None:
        raise InvalidInput(
            "stock and limits of the truth cannot both be given, got both: put what the stock "
            "says into the limits."
        )
    good = (limits.lower != limits.upper) | (limits.lower == observation)
    rule = "y must be the truth where both limits are the same"
    require(good, rule, y=observation, limits=limits.lower)
    return None, limits


STOCK_SLACK = 1e-12
"""Share of sales and stock by which the two may differ and still be the same: sums of fractions
differ in the last digits. No more than that: among numbers near 1e9, a hundred-millionth is ten
units."""


# --- Sizes: what models promise to take.

SIZES = (1e-30, 1e30)
"""Sizes of observations, bands, costs, weights and columns that models take: the squares of their
products stay far inside float64, which ends at 1e±308."""


def check_sizes(rows: Rows, *, features: bool = True) -> None:
    """Refuse numbers of extreme size, which should be given in another unit.

    Only the largest number of each kind counts; smaller ones beside it do no harm. `read_features`
    already refuses features that are too large. If `features` is true, no column may be too small.
    """
    sizes: dict[str, Any] = {"y": rows.observation}
    if rows.band is not None:
        sizes["band low"], sizes["band high"] = rows.band.low, rows.band.high
    for name, value in rows.cost.parameters().items():
        for place, each in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(each, int | float | np.ndarray):
                sizes[f"cost {name}" + (f"[{place}]" if place else "")] = each
    if features:
        largest = _largest(rows.features[:1000])  # most show early that they are not too small
        if (largest < SIZES[0]).any():
            largest = _largest(rows.features)
        for place in np.flatnonzero((largest > 0) & (largest < SIZES[0])).tolist():
            sizes[f"column {place} of X"] = largest[place]
    for name, value in sizes.items():
        finite = np.abs(np.asarray(value)[np.isfinite(value)])
        _check_size(name, float(np.max(finite, initial=0.0)))


def _largest(features: Any) -> Array:
    """Size of the largest entry of each column."""
    found: Any = abs(features).max(axis=0)
    return found if isinstance(found, np.ndarray) else np.asarray(found.toarray()).ravel()


def _check_size(name: str, largest: float) -> None:
    if largest and not SIZES[0] <= largest <= SIZES[1]:
        raise InvalidInput(
            f"The largest number of {name} must be between {SIZES[0]:g} and {SIZES[1]:g} in size, "
            f"or 0, got {largest:.3g}: state it in another unit."
        )
