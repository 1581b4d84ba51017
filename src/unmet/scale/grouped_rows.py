"""Rows sorted by group, and parts of them that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band, PerRow
from unmet.costs import Cost

Index: TypeAlias = NDArray[np.intp] | NDArray[np.bool_] | slice


@dataclass(frozen=True)
class Rows:
    """What a model is trained on.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
    observation : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
        Positive, as given.
    cost : Cost
    band : Band or None
    known : dict
        What a band rule is told, where each group learns its own.
    """

    features: Array
    observation: Array
    weight: Array | None
    cost: Cost
    band: Band | None
    known: dict[str, Any]

    def __len__(self) -> int:
        return self.observation.size

    def take(self, index: Index) -> Rows:
        """Keep some rows."""
        return Rows(
            self.features[index],
            self.observation[index],
            None if self.weight is None else self.weight[index],
            self.cost.take(index),
            None if self.band is None else self.band.take(index),
            {
                name: value.take(index) if isinstance(value, PerRow) else value[index]
                for name, value in self.known.items()
            },
        )


@dataclass(frozen=True)
class Panel:
    """Rows in the order of their groups; within a group in the order in which they came.

    Attributes
    ----------
    rows : Rows
    starts : ndarray of shape (n_groups + 1,)
        Where each group begins.
    """

    rows: Rows
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.int64], n_groups: int) -> Panel:
        """Sort rows; those without weight are left out."""
        order = np.argsort(codes, kind="stable")
        if rows.weight is not None:
            order = order[rows.weight[order] > 0]
        starts = np.searchsorted(codes[order], np.arange(n_groups + 1))
        return cls(rows.take(order), starts)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Rows of each group."""
        return np.diff(self.starts)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Group of each row."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def pick(self, groups: NDArray[np.intp]) -> Panel:
        """Keep some groups, in increasing order."""
        sizes = self.sizes[groups]
        chosen = np.zeros(self.sizes.size, dtype=np.bool_)
        chosen[groups] = True
        rows = self.rows.take(np.flatnonzero(chosen[self.codes]))
        return Panel(rows, np.append(0, np.cumsum(sizes)))

    def between(self, first: int, last: int) -> Panel:
        """Keep groups that follow each other, without copies of features."""
        starts = self.starts[first : last + 1]
        return Panel(self.rows.take(slice(int(starts[0]), int(starts[-1]))), starts - starts[0])

    def each(self) -> list[Rows]:
        """Rows of every group."""
        places = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return [self.rows.take(slice(*ends)) for ends in places]


def read_known(known: dict[str, Any]) -> dict[str, Any]:
    """Columns that can be taken apart by row; what was not given is left out."""
    columns: dict[str, Any] = {}
    for name, value in known.items():
        if value is None:
            continue
        if isinstance(value, PerRow):
            columns[name] = value
        elif nw.dependencies.is_into_series(value):
            columns[name] = nw.from_native(value, series_only=True).to_numpy()
        else:
            columns[name] = np.asarray(value)
    return columns


def without_known(rows: Rows) -> Rows:
    """Leave out what only a rule reads."""
    return replace(rows, known={})
