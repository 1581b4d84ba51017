"""Which rows a candidate learns from, and which it is priced on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.errors import InvalidInput
from unmet.models.checks import number, whole
from unmet.tuning.times import read_times

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

    whole("n_splits", n_splits, 1)
    number("test_size", test_size, "a share above 0 and below 1", 1e-300, 1 - 1e-16)
    return ShuffleSplit(n_splits, test_size=test_size, random_state=random_state)


@dataclass(frozen=True)
class RollingOrigin:
    """Learn from the past, price on the days after it, again and again: no look ahead.

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
        whole("n_splits", self.n_splits, 1)
        whole("gap", self.gap, 0)
        for name in ("horizon", "min_train", "window"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
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
