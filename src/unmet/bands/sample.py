"""What a band rule learns from: rows that count, and what is known about each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.band import Array, PerRow, common_rows
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.limits import Limits
from unmet.rows import read_column, read_features, read_weights
from unmet.solvers.problem import Features


@dataclass(frozen=True)
class Sample:
    """Checked rows, those without weight left out.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features), or csr_array
    observation : ndarray of shape (n_rows,)
    cost : Cost
        Its parameters are numbers, or have one entry per row.
    share : ndarray of shape (n_rows,) or None
        Positive weights that sum to one; None where all rows count the same.
    censored : ndarray of shape (n_rows,) or None
        1 where the truth is known to be at least the observation, 0 where it is the observation,
        NaN where nobody knows; None where nothing is known of any row. Stock is already used.
    stock : ndarray of shape (n_rows,) or None
        What was available; NaN where not known.
    time, series : ndarray of shape (n_rows,) or None
        As given.
    limits : Limits or None
        Between what each truth lies, where that is more than flags can say.
    """

    features: Features
    observation: Array
    cost: Cost
    share: Array | None = None
    censored: Array | None = None
    stock: Array | None = None
    time: NDArray[Any] | None = None
    series: NDArray[Any] | None = None
    limits: Limits | None = None

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
        """Whether for every row it is known if it is censored."""
        if self.limits is not None:
            return True
        return self.censored is not None and not np.isnan(self.censored).any()

    @classmethod
    def read(
        cls,
        cost: Cost,
        X: Any,
        s: Any,
        *,
        sample_weight: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
    ) -> Sample:
        """Read what a rule is given; each error is one sentence."""
        features = read_features(X)
        n_rows = features.shape[0]
        observation = read_column("y", s, n_rows)
        share = read_weights(sample_weight, n_rows)
        available = None if stock is None else read_missing("stock", stock, n_rows, endless=True)
        limits, flags = None, None
        if isinstance(censored, Limits):
            flags, limits = _read_limits(censored, observation, available)
        elif censored is not None:
            flags = read_flags("censored", censored, n_rows)
        common_rows({"y": observation, **cost.parameters()})
        if available is not None and limits is None:
            flags = _with_stock(flags, observation, available)
        sample = cls(
            features,
            observation,
            cost,
            share,
            None if flags is None or np.isnan(flags).all() else flags,
            available,
            None if time is None else _read_any("time", time, n_rows),
            None if series is None else _read_any("series", series, n_rows),
            limits,
        )
        if share is None or share.all():
            return sample
        return sample.take(np.flatnonzero(share))

    def take(self, index: NDArray[np.intp]) -> Sample:
        """Keep some rows, their shares summing to one again."""
        values = {}
        for field in fields(self):
            value = getattr(self, field.name)
            keeps = value is None or isinstance(value, PerRow)
            values[field.name] = value if keeps else value[index]
        values["cost"] = self.cost.take(index)
        values["limits"] = None if self.limits is None else self.limits.take(index)
        if self.share is not None:
            values["share"] = values["share"] / values["share"].sum()
        return Sample(**values)


def _read_limits(
    limits: Limits, observation: Array, stock: Array | None
) -> tuple[Array | None, Limits | None]:
    """Read flags, where limits say no more than those; otherwise the limits."""
    _check_length("censored", limits.n_rows, observation.size)
    flags = limits.flags(observation)
    if flags is not None:
        return flags, None
    if stock is not None:
        raise InvalidInput(
            "stock and limits of the truth cannot both be given, got both: put what the stock "
            "says into the limits."
        )
    wrong = (limits.lower == limits.upper) & (limits.lower != observation)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            "y must be the truth where both limits are the same, "
            f"got y {observation[row]:g} and limits {limits.lower[row]:g} in row {row}."
        )
    return None, limits


def read_missing(name: str, value: Any, n_rows: int, *, endless: bool = False) -> Array:
    """Column of numbers in which None and NaN stand for what is not known; `endless` allows inf."""
    column = np.array([np.nan if _is_missing(v) else _number(name, v) for v in _entries(value)])
    _check_length(name, column.size, n_rows)
    wrong = np.isinf(column) & ~(endless & (column > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(f"{name} must hold finite numbers, got {column[row]} in row {row}.")
    return column


def read_flags(name: str, value: Any, n_rows: int) -> Array:
    """1 for true, 0 for false, NaN for missing."""
    array = np.asarray(value)
    if array.dtype.kind == "b" and array.ndim == 1:
        flags = array.astype(np.float64)
        _check_length(name, flags.size, n_rows)
        return flags
    flags = read_missing(name, value, n_rows)
    wrong = ~(np.isnan(flags) | (flags == 0) | (flags == 1))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{name} must be True, False or missing, got {flags[row]:g} in row {row}."
        )
    return flags


def _with_stock(flags: Array | None, observation: Array, stock: Array) -> Array:
    """Fill in what stock says where no flag does."""
    # Sums of fractions differ in the last digits; a hundred-millionth is no sale.
    slack = 1e-8 * np.fmax(np.abs(observation), np.where(np.isinf(stock), 0.0, np.abs(stock)))
    with np.errstate(invalid="ignore"):
        above = observation > stock + slack
        sold_out = np.where(np.isnan(stock), np.nan, observation >= stock - slack)
    if above.any():
        row = int(above.argmax())
        raise InvalidInput(
            f"stock must not be below the observation, got stock {stock[row]:g} "
            f"and observation {observation[row]:g} in row {row}."
        )
    return sold_out if flags is None else np.where(np.isnan(flags), sold_out, flags)


def _read_any(name: str, value: Any, n_rows: int) -> NDArray[Any]:
    """Column of any type: dates, names or numbers."""
    array = (
        nw.from_native(value, series_only=True).to_numpy()
        if nw.dependencies.is_into_series(value)
        else np.asarray(value)
    )
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one entry per row, got shape {array.shape}.")
    _check_length(name, array.size, n_rows)
    return array


def _check_length(name: str, count: int, n_rows: int) -> None:
    if count != n_rows:
        raise InvalidInput(
            f"{name} must have one entry per row of X, got {count} for {n_rows} rows."
        )


def _entries(value: Any) -> Iterable[Any]:
    if nw.dependencies.is_into_series(value):
        entries: Iterable[Any] = nw.from_native(value, series_only=True).to_list()
        return entries
    array = np.asarray(value, dtype=object)
    if array.ndim != 1:
        raise InvalidInput(f"Flags and stock must be columns, got shape {array.shape}.")
    return list(array)


def _is_missing(entry: Any) -> bool:
    if entry is None or type(entry).__name__ == "NAType":
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _number(name: str, entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers or be missing, got {entry!r}.") from None
