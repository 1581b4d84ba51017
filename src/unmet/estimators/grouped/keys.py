"""Which group a row belongs to: columns of any type become whole numbers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array
from unmet.censoring.panel import Codes
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import read_features
from unmet.solvers.blocks.source import BlockSource

Column: TypeAlias = str | int

_KINDS = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers"}
_KINDS |= {"U": "text", "M": "dates"}


def read_by(by: Any) -> list[Column]:
    """Names or places of the columns that tell groups apart; a single one may stand alone."""
    columns = [by] if isinstance(by, str | int) else by
    allowed = "by must be a list of column names or places, each once"
    if not isinstance(columns, list | tuple) or not columns:
        raise InvalidInput(f"{allowed}, got {by!r}.")
    for column in columns:
        if not isinstance(column, str | int | np.integer) or isinstance(column, bool):
            raise InvalidInput(f"{allowed}, got {column!r}.")
    if len(set(columns)) != len(columns):
        raise InvalidInput(f"{allowed}, got {by!r}.")
    return list(columns)


def split_table(X: Any, by: Sequence[Column]) -> tuple[list[NDArray[Any]], Array]:
    """Part the columns of `by`, in their order, from the features: all other columns."""
    check_in_memory(X)
    if sparse.issparse(X):
        raise Unsupported(
            "X must be a table or a dense array for a model per group, got a sparse matrix."
        )
    if not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X):
        keys, rest = _split_frame(X, by)
    else:
        keys, rest = _split_array(X, by)
    if not rest.shape[1]:
        raise InvalidInput(
            f"X must have a feature beside the columns of by, got only {list(by)!r}."
        )
    features = read_features(rest)
    assert isinstance(features, np.ndarray)
    return keys, features


def check_in_memory(X: Any) -> None:
    """Refuse rows that are not in memory: every group needs all of its rows at once."""
    lazy = nw.dependencies.is_dask_dataframe(X) or nw.dependencies.is_polars_lazyframe(X)
    if lazy or isinstance(X, BlockSource):
        kind = f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"
        raise Unsupported(
            f"X must be a table in memory for a model per group, got {kind}: read the rows of all "
            "groups, or of some groups at a time, by X.compute() of Dask or X.collect() of polars."
        )


def _split_array(X: Any, by: Sequence[Column]) -> tuple[list[NDArray[Any]], Any]:
    array = np.asarray(X)
    if array.ndim != 2:
        read_features(X)  # which says what is wrong, in the words of all models
    names = [column for column in by if not isinstance(column, int | np.integer)]
    if names:
        raise InvalidInput(
            f"by must hold places of columns if X is an array, got the name {names[0]!r}."
        )
    if not array.shape[1]:
        read_features(X)
    places = [_place(int(column), array.shape[1]) for column in by]
    if len(set(places)) != len(places):
        raise InvalidInput(f"by must name each column once, got {list(by)!r}.")
    keys = [_key(str(column), array[:, place]) for column, place in zip(by, places, strict=True)]
    return keys, np.delete(array, places, axis=1)


def _place(column: int, n_columns: int) -> int:
    if not -n_columns <= column < n_columns:
        raise InvalidInput(f"by must hold places of columns of X, got {column} of {n_columns}.")
    return column % n_columns


def _split_frame(X: Any, by: Sequence[Column]) -> tuple[list[NDArray[Any]], Any]:
    try:
        table = nw.from_native(X, eager_only=True)
        columns = list(table.columns)
    except DuplicateError:
        read_features(X)
        raise
    except TypeError:
        raise Unsupported(f"X must be a table in memory, got {type(X).__name__}.") from None
    if any(isinstance(column, int | np.integer) and column not in columns for column in by):
        by = [columns[_place(c, len(columns))] if isinstance(c, int) else c for c in by]
    missing = [column for column in by if column not in columns]
    if missing:
        raise InvalidInput(f"by must name columns of X, got {missing[0]!r}, which X does not have.")
    keys = [_key(repr(column), table.get_column(column).to_numpy()) for column in by]
    rest = [column for column in columns if column not in by]
    return keys, table.select(nw.col(*rest)).to_native() if rest else np.empty((len(table), 0))


def _key(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Read a column whose entries can be told apart and sorted."""

    def wrong(arrived: str) -> InvalidInput:
        allowed = "only text, only numbers or only dates"
        return InvalidInput(f"The column {name} of by must hold {allowed}, got {arrived}.")

    if values.dtype.kind in "OT":  # Python objects, which must be of one type
        kinds = set(map(type, values.tolist()))
        if kinds <= {str}:
            values = values.astype(np.str_)
        elif kinds <= {int, bool, float}:
            values = values.astype(np.float64)
        else:
            alone = len(kinds) == 1
            row = next(i for i, each in enumerate(values) if alone or not isinstance(each, str))
            raise wrong(f"{values[row]!r} in row {row}")
    kind = values.dtype.kind
    if kind not in _KINDS:
        raise wrong(f"entries of type {values.dtype}")
    missing = np.isnat(values) if kind == "M" else np.zeros(values.size, dtype=np.bool_)
    if kind == "f":
        missing = ~np.isfinite(values)
    if missing.any():
        row = int(missing.argmax())
        found = "inf" if kind == "f" and np.isinf(values[row]) else "a missing value (NaN)"
        raise wrong(f"{found} in row {row}")
    return values


@dataclass(frozen=True)
class GroupIndex:
    """The groups of the training rows, in sorted order.

    Attributes
    ----------
    names : list of ndarray
        Distinct entries of each column of `by`, sorted.
    places : ndarray of shape (n_groups, n_by)
        Which entry of each column a group has.
    """

    names: list[NDArray[Any]]
    places: NDArray[np.int64]

    @classmethod
    def learn(cls, keys: Sequence[NDArray[Any]]) -> tuple[GroupIndex, Codes]:
        """Find the groups, and the group of each row."""
        names, columns = [], []
        for key in keys:
            distinct, place = np.unique(key, return_inverse=True)
            names.append(distinct)
            columns.append(place.astype(np.int64))
        combined = _combine(columns, names)
        _, first, codes = np.unique(combined, return_index=True, return_inverse=True)
        places = np.stack([column[first] for column in columns], axis=1)
        return cls(names, places), codes.astype(np.int64)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.places)

    def lookup(self, keys: Sequence[NDArray[Any]], by: Sequence[Column]) -> tuple[Codes, Codes]:
        """Find rows among the groups; what has not been seen is −1.

        Returns
        -------
        group : ndarray of shape (n_rows,)
        entries : ndarray of shape (n_rows, n_by)
            Place of each entry among those of its column.
        """
        columns = []
        for name, known, key in zip(by, self.names, keys, strict=True):
            if _KINDS[known.dtype.kind] != _KINDS[key.dtype.kind]:
                raise InvalidInput(
                    f"The column {name!r} of by must hold {_KINDS[known.dtype.kind]} as in fit, "
                    f"got {_KINDS[key.dtype.kind]}."
                )
            columns.append(_find(known, key))
        seen = np.all([column >= 0 for column in columns], axis=0)
        known_codes = _combine(list(self.places.T), self.names)
        combined = _combine([np.maximum(column, 0) for column in columns], self.names)
        group = np.where(seen, _find(known_codes, combined), -1)
        return group, np.stack(columns, axis=1)

    def label(self, group: int) -> Any:
        """Name of a group: a tuple, or the entry itself where one column tells groups apart."""
        entries = [
            names[place].item() for names, place in zip(self.names, self.places[group], strict=True)
        ]
        return entries[0] if len(entries) == 1 else tuple(entries)


def _combine(columns: Sequence[NDArray[np.int64]], names: Sequence[NDArray[Any]]) -> Codes:
    """One whole number for several; sorted as the columns are."""
    total = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column, known in zip(columns, names, strict=True):
        size *= len(known)
        if size > np.iinfo(np.int64).max:
            raise InvalidInput("by must not have more than 2⁶³ combinations of entries.")
        total = total * len(known) + column
    return total


def _find(known: NDArray[Any], values: NDArray[Any]) -> Codes:
    """Place of each value among sorted ones, −1 where it is none of them."""
    distinct, back = values, np.arange(values.size)
    if values.dtype.kind == "U" and values.size > known.size:
        # sorting text is dear: look up each distinct entry once
        distinct, back = np.unique(values, return_inverse=True)
    place = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
    found: Codes = np.where(known[place] == distinct, place, -1).astype(np.int64)
    return found[back]
