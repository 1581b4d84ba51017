"""Where each weight of a network stands in one flat row of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.neural.activations import Floats

Layers: TypeAlias = list[tuple[Floats, Floats]]
"""Weights (n_networks, n_out, n_in) and biases (n_networks, n_out, 1), from the input on."""


@dataclass(frozen=True)
class Layout:
    """Layers of a network: weights of shape (n_out, n_in), then biases, from the input on.

    This is also the order and the shape of ``torch.nn.Linear``, so that parameters can be handed
    from one backend to the other as they are.

    Attributes
    ----------
    n_features : int
    hidden : tuple of int
        Width of each hidden layer; none gives a linear decision.
    """

    n_features: int
    hidden: tuple[int, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Width of every layer, input and output among them."""
        return (self.n_features, *self.hidden, 1)

    @cached_property
    def n_parameters(self) -> int:
        """Length of a row of parameters."""
        return sum(
            n_out * (n_in + 1) for n_in, n_out in zip(self.sizes, self.sizes[1:], strict=False)
        )

    def views(self, parameters: Floats) -> Layers:
        """Weights (n_networks, n_out, n_in) and biases (n_networks, n_out, 1) of each layer.

        Parameters
        ----------
        parameters : ndarray of shape (n_networks, n_parameters)
            Views of it are given, not copies.
        """
        layers, start = [], 0
        for n_in, n_out in zip(self.sizes, self.sizes[1:], strict=False):
            middle, end = start + n_in * n_out, start + n_out * (n_in + 1)
            weights = parameters[:, start:middle].reshape(-1, n_out, n_in)
            layers.append((weights, parameters[:, middle:end].reshape(-1, n_out, 1)))
            start = end
        return layers

    def is_weight(self) -> NDArray[np.bool_]:
        """Tell weights, which are penalised, from biases, which are not."""
        mask = np.zeros((1, self.n_parameters), dtype=bool)
        for weights, _ in self.views(mask):
            weights[...] = True
        is_weight: NDArray[np.bool_] = mask[0]
        return is_weight

    def embed(self, smaller: Layout) -> NDArray[np.intp]:
        """Places in this layout of the parameters of a network with fewer units in some layers."""
        index = np.arange(self.n_parameters)[np.newaxis]
        places: list[NDArray[np.intp]] = []
        for (weights, biases), n_in, n_out in zip(
            self.views(index), smaller.sizes, smaller.sizes[1:], strict=False
        ):
            places += [weights[0, :n_out, :n_in].ravel(), biases[0, :n_out, 0]]
        return np.concatenate(places)

    @classmethod
    def covering(cls, layouts: Sequence[Layout]) -> Layout:
        """Layout with room for each of several that are equally deep."""
        widths = np.array([layout.hidden for layout in layouts]).reshape(len(layouts), -1)
        return cls(layouts[0].n_features, tuple(int(width) for width in widths.max(axis=0)))
