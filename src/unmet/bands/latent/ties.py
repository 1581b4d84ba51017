"""Observations that tie at the top of rows with the same features: orders, whatever their shape.

Where features repeat, as categories do, and orders follow them, rows of the same features had the
same stock, and those that sold out show the same observation, the largest of all. No line or plane
is needed for that. Truths that have fractions do not tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.band import Array
from unmet.solvers.grouping import RowGroups, groups_of
from unmet.solvers.problem import Features

Mask: TypeAlias = NDArray[np.bool_]
_FEWEST, _LEAST_SHARE = 10, 0.02  # tied rows that chance does not bring
_COPIES = 0.1  # ties below the top, as a share of those there: rows that were copied
_NEARLY_ALL = 0.8
_SAME = 1e-9  # of the largest observation
_FEW = 0.1  # share of rows in doubt that may be settled by what is likelier


@dataclass(frozen=True)
class Ties:
    """What ties say of each row.

    Attributes
    ----------
    flags : ndarray of shape (n_rows,)
        1 sold out, 0 did not, NaN in doubt.
    order : ndarray of shape (n_rows,)
        What was in stock; NaN where no two rows of the same features sold out.
    """

    flags: Array
    order: Array

    @property
    def sold_out(self) -> Mask:
        """Rows that sold out."""
        return np.asarray(self.flags == 1)


def find_ties(features: Features, observation: Array, lattice: float, counts: Mask) -> Ties | None:
    """Look for groups of rows whose largest observation occurs several times; None without any.

    Parameters
    ----------
    features, observation
    lattice : float
        Observations are multiples of it, and then tie by chance; 0 if of nothing.
    counts : ndarray of bool
        Rows to look at: not those at the bottom of what can be observed.
    """
    if lattice or sparse.issparse(features):
        return None
    groups = groups_of(np.asarray(features))
    if groups is None:
        return None
    tied, highest = _tops(groups, observation)
    top = observation >= highest - _SAME * float(np.abs(observation).max())
    piled, below = tied & top & counts, tied & ~top & counts
    n_rows, n_piled = int(counts.sum()), int(piled.sum())
    if n_piled < max(_FEWEST, _LEAST_SHARE * n_rows) or n_piled > _NEARLY_ALL * n_rows:
        return None
    if below.sum() > _COPIES * n_piled:
        return None
    has_pile = np.bincount(groups.group, weights=piled)[groups.group] > 0
    flags = _flags(groups, piled, has_pile, top & counts)
    return Ties(flags, np.where(has_pile, highest, np.nan))


def _tops(groups: RowGroups, observation: Array) -> tuple[Mask, Array]:
    """Whether a row shares its observation with another of its group; the largest of each group."""
    group, same = groups.group, _SAME * float(np.abs(observation).max())
    order = np.lexsort((observation, group))
    value = observation[order]
    ties = (np.diff(value) <= same) & (np.diff(group[order]) == 0)
    tied = np.empty(value.size, dtype=bool)
    tied[order] = np.append(ties, False) | np.append(False, ties)
    highest = np.full(groups.first.size, -np.inf)
    np.maximum.at(highest, group, observation)
    return tied, highest[group]


def _flags(groups: RowGroups, piled: Mask, has_pile: Mask, top: Mask) -> Array:
    """Rows below the top were seen; one that is alone there may be either."""
    group = groups.group
    flags = piled.astype(float)
    doubt = top & ~has_pile
    if doubt.sum() > _FEW * group.size:
        flags[doubt] = np.nan
        return flags
    # With a chance c of selling out, k rows of which one did or none: k·c against 1 − c.
    chance = float(piled.sum()) / float(has_pile.sum())
    size = np.bincount(group)[group]
    flags[doubt] = (size * chance > 1.0 - chance)[doubt]
    return flags
