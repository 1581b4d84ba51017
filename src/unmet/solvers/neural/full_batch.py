"""The smoothed objective over all rows: what L-BFGS minimises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from unmet.band import Array
from unmet.solvers.grouping import groups_of
from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.networks import Networks
from unmet.solvers.neural.objectives import Index, Objective
from unmet.solvers.neural.scratch import Scratch

_MOST_PADDING = 1.5


@dataclass(frozen=True)
class DistinctRows:
    """Rows with equal features need one run through the networks, not one each.

    Distinct rows are laid out as often as the most frequent of them occurs, in blocks of all of
    them; gaps are filled by the row that costs nothing. Then spreading decisions over rows and
    collecting slopes from them are copies and sums of whole blocks.

    Attributes
    ----------
    inputs : ndarray of shape (n_features, n_distinct)
    order : ndarray of shape (n_blocks · n_distinct,)
        Row of the data at each place.
    n_blocks : int
    place : ndarray of shape (n_rows,)
        Distinct row that each row equals.
    """

    inputs: Floats
    order: Index
    n_blocks: int
    place: Index

    @classmethod
    def of(cls, features: Floats) -> Self:
        """Look for equal rows, and use them where there is something to gain."""
        n_rows = len(features)
        groups = groups_of(features)
        if groups is not None:
            counts = np.bincount(groups.group)
            if counts.max() * counts.size <= _MOST_PADDING * n_rows:
                by_group = np.argsort(groups.group, kind="stable")
                place = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
                order = np.full((counts.max(), counts.size), n_rows)
                order[place, groups.group[by_group]] = by_group
                inputs = np.ascontiguousarray(features[groups.first].T)
                return cls(inputs, order.ravel(), int(counts.max()), groups.group)
        every = np.arange(n_rows)
        return cls(np.ascontiguousarray(features.T), every, 1, every)

    def spread(self, decision: Floats, scratch: Scratch) -> Floats:
        """Decisions of distinct rows → of all rows."""
        if self.n_blocks == 1:
            return decision
        shape = (len(decision), self.n_blocks, decision.shape[1])
        blocks = scratch.array("blocks", shape, decision.dtype)
        blocks[...] = decision[:, np.newaxis]
        return blocks.reshape(len(decision), -1)

    def collect(self, slope: Floats) -> Floats:
        """Slopes of all rows → of distinct rows."""
        if self.n_blocks == 1:
            return slope
        total: Floats = np.add.reduce(slope.reshape(len(slope), self.n_blocks, -1), axis=1)
        return total


@dataclass(frozen=True)
class FullBatch:
    """Smoothed mean cost plus penalty of some networks, with its gradient.

    Attributes
    ----------
    networks : Networks
    rows : DistinctRows
    objective : Objective
        Of the rows in the order of `rows`.
    penalty : ndarray of shape (n_networks, n_parameters) or None
        λ of every parameter; 0 for biases.
    mask : ndarray of shape (n_networks, n_parameters) or None
        1 where a parameter belongs to its network, 0 where it only fills up narrower layers.
    n_networks : int
    scratch : Scratch
    """

    networks: Networks
    rows: DistinctRows
    objective: Objective
    penalty: Floats | None
    mask: Floats | None

    n_networks: int
    scratch: Scratch = field(default_factory=Scratch)

    def __call__(self, parameters: Floats, width: Array, names: Index) -> tuple[Array, Floats]:
        """Values and gradients of the networks in `names`."""
        some = names.size < self.n_networks
        objective = self.objective.networks(names) if some else self.objective
        inputs, gradient = self.rows.inputs, np.empty_like(parameters)
        scratch = self.scratch
        views = self.networks.layout.views
        layers = views(parameters)
        decision, memory = self.networks.forward(layers, inputs, scratch)
        value, slope = objective.smoothed(self.rows.spread(decision, scratch), width, scratch)
        slope = self.rows.collect(slope)
        self.networks.backward(layers, inputs, memory, slope, views(gradient), scratch)
        if self.penalty is not None:
            weighted = parameters * (self.penalty[names] if some else self.penalty)
            value = value + np.vecdot(weighted, parameters)
            gradient += 2 * weighted
        if self.mask is not None:
            gradient *= self.mask[names] if some else self.mask
        return value, gradient
