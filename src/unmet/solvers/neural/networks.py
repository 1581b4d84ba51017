"""Forward and backward through many networks at once (§CustNN, Prop. DNNRule).

Arrays of activations have the shape (network, unit, row): the rows, of which there are most, lie
next to each other, and one product serves a layer of all networks. The recursion is the paper's,

    δ of a hidden layer = (θ' δ of the next layer) ∘ σ'(ζ),
    ∂/∂θ = δ a',   ∂/∂b = Σ δ,

with the δ of the output the slope of the cost in the decision: −α below the band, 1 − α above it
(the text prints +α; slip 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmet.solvers.neural.activations import ACTIVATIONS, Floats
from unmet.solvers.neural.layout import Layers, Layout
from unmet.solvers.neural.scratch import Scratch


@dataclass(frozen=True)
class Networks:
    """Networks of one layout and one activation; their parameters are always handed in.

    Inputs are of shape (n_features, n_rows) where all networks see the same rows, else of shape
    (n_streams, n_features, n_rows): as many networks for each stream, one after the other.
    """

    layout: Layout
    activation: str

    def decide(self, parameters: Floats, inputs: Floats) -> Floats:
        """Compute the outputs, of shape (n_networks, n_rows)."""
        with np.errstate(over="ignore"):  # exp of a sigmoid, see there
            return self.forward(self.layout.views(parameters), inputs, Scratch())[0]

    def forward(
        self, layers: Layers, inputs: Floats, scratch: Scratch
    ) -> tuple[Floats, list[Floats]]:
        """Compute the outputs, and keep what `backward` needs of the hidden layers.

        Both live in `scratch`, until it is used again. Layers are `Layout.views` of parameters.
        """
        apply, memory = ACTIVATIONS[self.activation].apply, []
        values = _first_layer(layers[0][0], inputs, scratch)
        values += layers[0][1]
        for place, (weights, biases) in enumerate(layers[1:]):
            kept = apply(values)
            memory += [values, kept]
            shape = (*weights.shape[:2], values.shape[2])
            values = np.matmul(
                weights, values, out=scratch.array(f"layer {place}", shape, values.dtype)
            )
            values += biases
        return values[:, 0], memory

    def backward(
        self,
        layers: Layers,
        inputs: Floats,
        memory: list[Floats],
        slope: Floats,
        gradients: Layers,
        scratch: Scratch,
    ) -> None:
        """Write the gradient in the parameters into `gradients`, also `Layout.views`.

        Parameters
        ----------
        memory : list of ndarray
            From `forward`; it is used up.
        slope : ndarray of shape (n_networks, n_rows)
            Derivative of the objective in each output (δ of the output layer).
        """
        chain = ACTIVATIONS[self.activation].chain
        delta = slope[:, np.newaxis]
        ones = np.ones(delta.shape[2], delta.dtype)  # sums as products: twice as fast as a sum
        for layer in range(len(layers) - 1, 0, -1):
            values, kept = memory[2 * layer - 2 : 2 * layer]
            into, into_biases = gradients[layer]
            np.matmul(delta, values.transpose(0, 2, 1), out=into)
            np.vecdot(delta, ones, out=into_biases[:, :, 0])
            back = layers[layer][0].transpose(0, 2, 1)
            # A product with one column is a plain multiplication, and faster as such.
            product = np.multiply if back.shape[2] == 1 else np.matmul
            delta = product(back, delta, out=scratch.like(f"delta {layer}", values))
            chain(delta, kept)
        into, into_biases = gradients[0]
        _first_gradient(delta, inputs, into)
        np.vecdot(delta, ones, out=into_biases[:, :, 0])


def _first_layer(weights: Floats, inputs: Floats, scratch: Scratch) -> Floats:
    """Product of all first layers with the inputs: one large product where inputs are shared."""
    n_networks, n_units, n_features = weights.shape
    n_rows = inputs.shape[-1]
    out = scratch.array("first layer", (n_networks, n_units, n_rows), weights.dtype)
    n_streams = 1 if inputs.ndim == 2 else len(inputs)
    np.matmul(
        weights.reshape(n_streams, -1, n_features),
        inputs,
        out=out.reshape(n_streams, -1, n_rows),
    )
    return out


def _first_gradient(delta: Floats, inputs: Floats, out: Floats) -> None:
    n_networks, n_units, n_rows = delta.shape
    n_streams = 1 if inputs.ndim == 2 else len(inputs)
    product = delta.reshape(n_streams, -1, n_rows) @ inputs.swapaxes(-1, -2)
    out[...] = product.reshape(n_networks, n_units, -1)
