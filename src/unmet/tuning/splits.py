"""Which rows a candidate learns from, and which it is evaluated on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from unmet.checks import Maybe, Number, WholeNumber, is_missing, is_whole, read_parameters
from unmet.errors import InvalidInput

# --- Reading the time of each row: only its order matters here.

_ALLOWED = "numbers, dates or ISO text such as '2024-05-01'"


def read_times(time: Any, n_rows: int) -> tuple[NDArray[np.intp], int]:
    """Place of each row's time among the distinct times in order, and how many those are."""
    column = _comparable(_plain(time))
    if column.size != n_rows:
        raise InvalidInput(
            f"time must have one entry per row of X, got {column.size} for {n_rows} rows."
        )
    try:
        distinct, place = np.unique(column, return_inverse=True)
    except TypeError:
        raise InvalidInput(f"time must hold {_ALLOWED}, got entries that mix them.") from None
    return place.reshape(-1).astype(np.intp), distinct.size


def _plain(time: Any) -> NDArray[Any]:
    """One-dimensional array of whatever the column holds."""
    if nw.dependencies.is_into_series(time):
        column = nw.from_native(time, series_only=True)
        if getattr(column.dtype, "time_zone", None) is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        array = np.asarray(column.to_numpy())
    elif isinstance(time, list | tuple):
        array = np.fromiter(time, dtype=object, count=len(time))
    else:
        array = np.asarray(time)
    if array.ndim != 1:
        found = f"shape {array.shape}" if array.ndim else f"{time!r:.40}"
        raise InvalidInput(f"time must have one entry per row, got {found}.")
    return array


def _comparable(column: NDArray[Any]) -> NDArray[Any]:
    """Entries that sort as time does, none of them missing."""
    if column.dtype.kind == "U" or (
        column.dtype.kind == "O" and any(isinstance(entry, str) for entry in column)
    ):
        read = [_from_text(row, entry) for row, entry in enumerate(column.tolist())]
        return np.fromiter(read, dtype=object, count=len(read))
    if column.dtype.kind in "iu":
        return column
    if column.dtype.kind not in "fMO":
        raise InvalidInput(f"time must hold {_ALLOWED}, got entries of type {column.dtype}.")
    for row, entry in enumerate(column) if column.dtype.kind == "O" else ():
        if is_missing(entry):
            raise InvalidInput(f"time must not be missing, got {entry} in row {row}.")
        if isinstance(entry, bool) or not isinstance(entry, Real | date | np.datetime64):
            raise InvalidInput(f"time must hold {_ALLOWED}, got {entry!r:.40} in row {row}.")
    if column.dtype.kind in "fM":
        missing = np.isnat(column) if column.dtype.kind == "M" else np.isnan(column)
        if missing.any():
            row = int(missing.argmax())
            raise InvalidInput(f"time must not be missing, got {column[row]} in row {row}.")
    return column


def _from_text(row: int, entry: Any) -> datetime:
    """Only ISO text is read, and months such as "2024-05": other dates would have to be guessed."""
    text = entry if isinstance(entry, str) else ""
    for iso in (text, f"{text}-01"):
        try:
            return datetime.fromisoformat(iso)
        except ValueError:
            continue
    raise InvalidInput(f"time must hold {_ALLOWED}, got {entry!r:.40} in row {row}.")


# --- Which rows a candidate learns from, and which it is evaluated on.

Index = NDArray[np.intp]


def shuffled_splits(n_splits: int = 5, random_state: Any = None, test_size: float = 0.25) -> Any:
    """Random splits into rows to learn from and rows to price: Algorithm 1 of App. training.

    Every split draws anew, so a row may be held out several times or never.

    Parameters
    ----------
    n_splits : int, default=5
        V; the paper does not say how many.
    random_state : int, RandomState or None, default=None
    test_size : float, default=0.25
        Share of the rows that are held out.

    Returns
    -------
    sklearn.model_selection.ShuffleSplit

    Examples
    --------
    >>> [held_out.size for _, held_out in shuffled_splits(3, random_state=0).split(range(40))]
    [10, 10, 10]
    """
    from sklearn.model_selection import ShuffleSplit  # slow to import

    WholeNumber(1)("n_splits", n_splits)
    Number(above=0, below=1)("test_size", test_size)
    return ShuffleSplit(n_splits, test_size=test_size, random_state=random_state)


_BLOCKS = {
    "n_splits": WholeNumber(1),
    "gap": WholeNumber(),
    "horizon": Maybe(WholeNumber(1)),
    "min_train": Maybe(WholeNumber(1)),
    "window": Maybe(WholeNumber(1)),
}


@dataclass(frozen=True)
class RollingOrigin:
    """Learn from the past, evaluate on the days after it, again and again: no look ahead.

    The distinct times are put in order. The last `n_splits` × `horizon` of them are held out in
    blocks, each with what lies before it to learn from; all rows of a time stay together. Usable
    as ``cv=`` of scikit-learn, with the times as ``groups=``.

    Parameters
    ----------
    n_splits : int, default=5
    horizon : int, default=None
        Distinct times in each block held out. None shares the times out evenly: those after
        `min_train` and `gap`, or else one part of n_splits + 1 to each block.
    gap : int, default=0
        Distinct times left out before each block, for decisions that must be made ahead.
    min_train : int, default=None
        Fewest distinct times to learn from; None is 1.
    window : int, default=None
        Most distinct times to learn from, the latest of them; None is all.

    Examples
    --------
    >>> days = ["2024-05-01", "2024-05-02", "2024-05-02", "2024-05-03", "2024-05-04"]
    >>> for train, held_out in RollingOrigin(2, horizon=1).split(days, groups=days):
    ...     print(train, held_out)
    [0 1 2] [3]
    [0 1 2 3] [4]
    """

    n_splits: int = 5
    horizon: int | None = None
    gap: int = 0
    min_train: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        read_parameters(_BLOCKS, self)
        if self.window is not None and self.min_train is not None and self.window < self.min_train:
            raise InvalidInput(
                f"window must not be below min_train, got {self.window} and {self.min_train}."
            )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Give the number of splits, as scikit-learn asks."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        groups: Any = None,
    ) -> Iterator[tuple[Index, Index]]:
        """Give row numbers to learn from and row numbers held out, oldest block first.

        Parameters
        ----------
        X : table or array-like with n_rows rows
        y : ignored
        groups : array-like of shape (n_rows,)
            The time of each row: numbers, dates or ISO text such as "2024-05-01".

        Yields
        ------
        train, held_out : ndarrays of int
        """
        if groups is None:
            raise InvalidInput(
                "RollingOrigin must be given the time of each row: time= of search, or groups= "
                "of scikit-learn, got None."
            )
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        place, n_times = read_times(groups, n_rows)
        horizon = self._horizon(n_times)
        for block in range(self.n_splits):
            begin = n_times - (self.n_splits - block) * horizon
            end = begin - self.gap
            oldest = 0 if self.window is None else max(0, end - self.window)
            train = np.flatnonzero((place >= oldest) & (place < end))
            yield train, np.flatnonzero((place >= begin) & (place < begin + horizon))

    def _horizon(self, n_times: int) -> int:
        """Length of a block; refuse where too little is left to learn from."""
        least = 1 if self.min_train is None else self.min_train
        horizon = self.horizon
        if horizon is None:
            horizon = (n_times - self.gap - least) // self.n_splits
            if self.min_train is None:
                horizon = min(horizon, n_times // (self.n_splits + 1))
            horizon = max(1, horizon)
        needed = least + self.gap + self.n_splits * horizon
        if n_times < needed:
            raise InvalidInput(
                f"time must have at least {needed} different entries for {self.n_splits} blocks of "
                f"{horizon}, a gap of {self.gap} and {least} to learn from, got {n_times}."
            )
        return horizon


# --- Rows to learn from and rows to price, read from whatever says how to split.


@dataclass(frozen=True)
class SearchFold:
    """Row numbers to learn from and row numbers held out."""

    train: Index
    held_out: Index


def read_folds(
    cv: Any, X: Any, y: Any, n_rows: int, time: Any, seed: int
) -> tuple[SearchFold, ...]:
    """Folds of a number of random splits, a splitter, or pairs of row numbers."""
    if time is not None and not isinstance(cv, RollingOrigin):
        raise InvalidInput(f"time is only used by cv=RollingOrigin(), got cv={cv!r:.60}.")
    if is_whole(cv):
        pairs = shuffled_splits(WholeNumber(1)("cv", cv), random_state=seed).split(np.empty(n_rows))
    elif isinstance(cv, RollingOrigin):
        pairs = cv.split(X, y, groups=time)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, y)
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = cv
    else:
        raise InvalidInput(
            "cv must be a number of random splits, a splitter such as RollingOrigin(), or pairs "
            f"of row numbers, got {cv!r:.60}."
        )
    try:
        folds = tuple(_read_pair(pair, n_rows) for pair in pairs)
    except InvalidInput:
        raise
    except ValueError as error:  # of a splitter of scikit-learn
        raise InvalidInput(f"cv must be able to split {n_rows} rows: {error}") from None
    if not folds:
        raise InvalidInput("cv must have at least one split, got none.")
    return folds


def _read_pair(pair: Any, n_rows: int) -> SearchFold:
    try:
        train, held_out = pair
    except (TypeError, ValueError):
        raise InvalidInput(
            "cv must hold pairs: row numbers to learn from and row numbers held out, "
            f"got {pair!r:.60}."
        ) from None
    return SearchFold(_read_rows(train, n_rows), _read_rows(held_out, n_rows))


def _read_rows(rows: Any, n_rows: int) -> Index:
    """Row numbers, from numbers or a mask."""
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n_rows,):
        array = np.flatnonzero(array)
    good = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not good or array.min() < 0 or array.max() >= n_rows or np.unique(array).size < array.size:
        raise InvalidInput(
            f"cv must hold different row numbers from 0 to {n_rows - 1} in each part, and at least "
            f"one, got {rows!r:.60}."
        )
    return array.astype(np.intp)


def take(values: Any, rows: Index) -> Any:
    """Choose rows of a table or column, in its own kind; None and single numbers hold for all."""
    if values is None:
        return None
    array = values if hasattr(values, "shape") else np.asarray(values)
    return array if array.shape == () else _safe_indexing(array, rows)


# --- Reading what `fit` is told of each row.


def read_known(fit_parameters: Any, n_rows: int) -> dict[str, Any]:
    """Things per row by name, those that are None left out."""
    if fit_parameters is None:
        return {}
    if not isinstance(fit_parameters, Mapping):
        raise InvalidInput(
            "fit_parameters must map names to columns, such as {'sample_weight': weight}, "
            f"got {fit_parameters!r:.60}."
        )
    known = {}
    for name, value in fit_parameters.items():
        if value is None:
            continue
        try:
            shape = np.shape(value)
        except ValueError:  # things of different lengths
            shape = (len(value), 0)
        if shape and (len(shape) != 1 or shape[0] != n_rows):
            raise InvalidInput(
                f"fit_parameters must have one entry per row of X, got shape {shape} "
                f"for {name} and {n_rows} rows."
            )
        known[str(name)] = value
    return known
