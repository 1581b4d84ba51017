"""Splits of dated rows: learn from the past, evaluate on the days after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.arrays import Places
from unmet.errors import InvalidInput
from unmet.validation import Maybe, WholeNumber, is_missing, read_parameters

# --- Reading the time of each row: only its order matters here.


def read_times(time: Any, n_rows: int) -> tuple[Places, int]:
    """Give the position of each row's time among the distinct times, and their number.

    Times are numbers, dates, or ISO text, including months such as "2024-05". Other text is
    refused, because its order would be a guess.
    """
    if nw.dependencies.is_into_series(time):
        series = nw.from_native(time, series_only=True)
        if getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        time = series.to_numpy()
    column = np.asarray(time)
    if column.shape != (n_rows,):
        raise InvalidInput(
            f"time must have one entry per row of X, got shape {column.shape} for {n_rows} rows."
        )
    row = 0
    try:
        if column.dtype.kind in "UO":
            read = np.empty(n_rows, dtype=object)
            for row, entry in enumerate(column.tolist()):
                text = isinstance(entry, str)
                read[row] = (
                    datetime.fromisoformat(entry + "-01" * (len(entry) == 7)) if text else entry
                )
                if is_missing(entry):
                    raise ValueError
            column = read
        elif column.dtype.kind in "fM" and (bad := np.isnan(column)).any():
            row = int(bad.argmax())
            raise ValueError
        elif column.dtype.kind == "b":
            raise ValueError
        distinct, place = np.unique(column, return_inverse=True)
    except (TypeError, ValueError):
        raise InvalidInput(
            "time must hold numbers, dates or ISO text such as '2024-05-01', all of one kind, got "
            f"{column[row]!r:.40} in row {row}."
        ) from None
    return place.reshape(-1).astype(np.intp), distinct.size


# --- Which rows to learn from, and which to evaluate on.


_BLOCKS = {
    "n_splits": WholeNumber(1),
    "gap": WholeNumber(),
    "horizon": Maybe(WholeNumber(1)),
    "min_train": Maybe(WholeNumber(1)),
    "window": Maybe(WholeNumber(1)),
}


@dataclass(frozen=True)
class RollingOrigin:
    """Splits that learn from the past and evaluate on the days after it, without look-ahead.

    The distinct times are sorted. The last `n_splits` × `horizon` of them are held out in blocks,
    and everything before a block is for training. All rows of a time stay together. Use it as
    ``cv=`` of scikit-learn with the times as ``groups=``; `search` takes the pairs of ``split``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of blocks. More blocks average over more origins and need more fits.
    horizon : int, default=None
        Number of distinct times in each block. None shares the times out evenly: those after
        `min_train` and `gap`, or else one part of n_splits + 1 to each block.
    gap : int, default=0
        Number of distinct times left out before each block, for decisions that must be made ahead.
    min_train : int, default=None
        Least number of distinct times for training. None is 1.
    window : int, default=None
        Largest number of distinct times for training, counted from the block backwards. None is
        all.

    Examples
    --------
    >>> from unmet.evaluation import RollingOrigin
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
        """Give the number of splits, as scikit-learn expects.

        Parameters
        ----------
        X, y, groups
            Ignored; scikit-learn passes them.
        """
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        groups: Any = None,
    ) -> Iterator[tuple[Places, Places]]:
        """Give the numbers of training rows and of held-out rows, oldest block first.

        Parameters
        ----------
        X : table or array-like with n_rows rows
            Rows to split; only their number counts.
        y : None
            Ignored.
        groups : array-like of shape (n_rows,)
            Time of each row: numbers, dates or ISO text such as "2024-05-01".

        Yields
        ------
        train, held_out : ndarrays of int
            Row numbers of each split.
        """
        if groups is None:
            raise InvalidInput(
                "RollingOrigin must be given the time of each row as groups=, got None."
            )
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        place, n_times = read_times(groups, n_rows)
        # length of a block; refuse where too little is left to learn from
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
        for block in range(self.n_splits):
            begin = n_times - (self.n_splits - block) * horizon
            end = begin - self.gap
            oldest = 0 if self.window is None else max(0, end - self.window)
            train = np.flatnonzero((place >= oldest) & (place < end))
            yield train, np.flatnonzero((place >= begin) & (place < begin + horizon))
