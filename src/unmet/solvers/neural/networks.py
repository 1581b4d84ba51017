"""Forward and backward passes through many networks at once (§CustNN, Prop. DNNRule).

Arrays of activations have the shape (network, unit, row): the rows, of which there are most, are
contiguous, and one product serves a layer of all networks. The recursion is the paper's,

    δ of a hidden layer = (θ' δ of the next layer) ∘ σ'(ζ),
    ∂/∂θ = δ a',   ∂/∂b = Σ δ,

where the δ of the output is the slope of the cost in the decision: −α below the band, 1 − α above
it (the paper's text prints +α).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, Features, slices
from unmet.solvers.losses import Floats, ScalingName, Scratch, Units

ROWS_AT_A_TIME = 1 << 13
"""Rows that are decided at a time: each takes as much memory as there are units."""

# --- What a hidden unit does to its input, and the slope of that.

ActivationName = Literal["sigmoid", "relu", "silu", "tanh"]


Activation: TypeAlias = tuple[Callable[[Floats], Floats], Callable[[Floats, Floats], None]]
"""A function of one number and its derivative, both written into the arrays they are given.

The first overwrites inputs by outputs and returns what the second will need: for most functions the
outputs themselves, as their derivative is a function of them. The second multiplies its first
argument by the derivative, and may overwrite its other one.
"""


def _sigmoid_of_minus(inputs: Floats) -> Floats:
    # exp beats expit and tanh by a factor of two or more in float32; where it overflows to inf,
    # the reciprocal is 0, which is right: callers silence the warning once for all layers.
    np.exp(inputs, out=inputs)
    inputs += 1
    np.reciprocal(inputs, out=inputs)
    return inputs


def _chain_sigmoid(slope: Floats, outputs: Floats) -> None:
    slope *= outputs
    np.subtract(1, outputs, out=outputs)
    slope *= outputs


def _tanh(inputs: Floats) -> Floats:
    np.tanh(inputs, out=inputs)
    return inputs


def _chain_tanh(slope: Floats, outputs: Floats) -> None:
    outputs *= outputs
    np.subtract(1, outputs, out=outputs)
    slope *= outputs


def _relu(inputs: Floats) -> Floats:
    # An array of zeros, not the number: the comparison is then twice as fast.
    np.maximum(inputs, np.zeros(inputs.shape[-1], inputs.dtype), out=inputs)
    return inputs


def _chain_relu(slope: Floats, outputs: Floats) -> None:
    slope *= outputs > 0


def _silu(inputs: Floats) -> Floats:
    gate = _sigmoid_of_minus(-inputs)
    derivative = inputs * gate
    inputs[...] = derivative  # z σ(z), whose derivative is σ + zσ(1 − σ)
    derivative *= 1 - gate
    derivative += gate
    return derivative


def _chain_silu(slope: Floats, derivative: Floats) -> None:
    slope *= derivative


ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        "sigmoid": (_sigmoid_of_minus, _chain_sigmoid),
        "relu": (_relu, _chain_relu),
        "silu": (_silu, _chain_silu),
        "tanh": (_tanh, _chain_tanh),
    }
)
_NEGATED = ("sigmoid",)
"""Functions that are given minus their inputs. Minus signs of weights cost less than those of all
rows, and rounding does not see them."""


# --- Where each weight of a network stands in one flat row of parameters.

Layers: TypeAlias = list[tuple[Floats, Floats]]
"""Weights (n_networks, n_out, n_in) and biases (n_networks, n_out, 1), from the input on."""


@dataclass(frozen=True)
class NetworkLayout:
    """Layers of a network: weights of shape (n_out, n_in), then biases, from the input on.

    This is also the order and the shape of ``torch.nn.Linear``, so you can copy parameters to it.

    Attributes
    ----------
    n_features : int
        Number of inputs.
    hidden : tuple of int
        Width of each hidden layer; () gives a linear decision.
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
        return np.asarray(mask[0])


# --- Where training begins.


def glorot(layout: NetworkLayout, generator: np.random.Generator) -> Array:
    """Weights uniform in ±√(6 / (n_in + n_out)), biases 0 (Glorot and Bengio 2010).

    This is the default of Keras, hence the paper's.
    """
    parameters = np.zeros((1, layout.n_parameters))
    for weights, _ in layout.views(parameters):
        limit = np.sqrt(6.0 / (weights.shape[1] + weights.shape[2]))
        weights[...] = generator.uniform(-limit, limit, weights.shape)
    return np.asarray(parameters[0])


# --- Forward and backward through many networks at once (§CustNN, Prop. DNNRule).


@dataclass(frozen=True)
class Networks:
    """Networks of one layout and one activation; their parameters are always handed in.

    Inputs are of shape (n_features, n_rows) where all networks see the same rows, else of shape
    (n_streams, n_features, n_rows): as many networks for each stream, one after the other.
    """

    layout: NetworkLayout
    activation: str

    def decide(self, parameters: Floats, inputs: Floats) -> Floats:
        """Compute the outputs, of shape (n_networks, n_rows)."""
        with np.errstate(over="ignore"):  # exp of a sigmoid, see there
            return self.forward(self.layout.views(parameters), inputs, Scratch())[0]

    def forward(
        self, layers: Layers, inputs: Floats, scratch: Scratch
    ) -> tuple[Floats, list[Floats]]:
        """Compute the outputs, and keep what `backward` needs of the hidden layers.

        Both live in `scratch`, until it is used again. Layers are views of parameters.
        """
        (apply, _), memory = ACTIVATIONS[self.activation], []
        last, negated = len(layers) - 1, self.activation in _NEGATED
        for place, (weights, biases) in enumerate(layers):
            if negated and place < last:
                weights, biases = -weights, -biases
            if place == 0:
                values = _first_layer(weights, inputs, scratch)
            else:
                kept = apply(values)
                memory += [values, kept]
                shape = (*weights.shape[:2], values.shape[2])
                out = scratch.array(f"layer {place - 1}", shape, values.dtype)
                values = np.matmul(weights, values, out=out)
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
        """Write the gradient in the parameters into `gradients`, also `NetworkLayout.views`.

        Parameters
        ----------
        memory : list of ndarray
            From `forward`; it is used up.
        slope : ndarray of shape (n_networks, n_rows)
            Derivative of the objective in each output (δ of the output layer).
        """
        _, chain = ACTIVATIONS[self.activation]
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


# --- Trained networks, and the units of features: raw ones saturate units or leave them asleep.


@dataclass(frozen=True)
class FeatureScaling:
    """Scaled features are (x − location) / unit, column by column.

    Attributes
    ----------
    location, unit : ndarray of shape (n_features,)
        Sparse features have the same: they are made dense, some rows at a time, anyway.
    """

    location: Array
    unit: Array

    @classmethod
    def of(cls, features: Features, share: Array | None, kind: ScalingName) -> Self:
        """Learn from rows: "standard" takes mean and standard deviation, "min-max" the range.

        Dummies of zeros and ones stay as they are under "min-max". Constant columns become 0.
        """
        low, high = _ends(features)
        reach = _positive(high - low)
        if kind == "min-max":
            return cls(low, reach)
        if sparse.issparse(features):
            # mean and variance of (x − low) / reach, from the entries that are stored and the
            # others
            n_rows, n_columns = features.shape
            weight = np.full(n_rows, 1.0 / n_rows) if share is None else share
            table = features.tocoo()
            table.sum_duplicates()
            column = table.col
            stored, zero = (table.data - low[column]) / reach[column], -low / reach
            each = weight[table.row]
            absent = np.maximum(1.0 - np.bincount(column, each, n_columns), 0.0)
            mean = np.bincount(column, each * stored, n_columns) + absent * zero
            square = np.bincount(column, each * np.square(stored - mean[column]), n_columns)
            square = square + absent * np.square(zero - mean)
        else:
            # Shares of the range: columns far from zero keep their digits, squares stay small.
            part = (features - low) / reach
            mean = np.average(part, axis=0, weights=share)
            part -= mean
            square = np.average(np.square(part, out=part), axis=0, weights=share)
        spread = np.where(high > low, reach * np.sqrt(square), 0.0)
        return cls(low + reach * mean, _positive(spread))

    def dense(self, features: Features, dtype: Any) -> Floats:
        """Scaled features of shape (n_rows, n_features), dense, in another type."""
        if sparse.issparse(features):
            features = features.toarray()
        return np.asarray(((features - self.location) / self.unit).astype(dtype, copy=False))


def _positive(spread: Array) -> Array:
    return np.where(spread > 0, spread, 1.0)


def _ends(features: Features) -> tuple[Array, Array]:
    """Least and greatest entry of each column."""
    if sparse.issparse(features):
        low, high = (np.asarray(each.todense()) for each in (features.min(0), features.max(0)))
        return low.ravel().astype(np.float64), high.ravel().astype(np.float64)
    return features.min(axis=0), features.max(axis=0)


@dataclass(frozen=True)
class Network:
    """A trained network, which decides in the user's units without the estimator.

    Attributes
    ----------
    layout : NetworkLayout
        Sizes of the layers.
    activation : str
        Activation of the hidden layers.
    parameters : ndarray of shape (n_parameters,)
        Weights and biases of all layers.
    features : FeatureScaling
        Scaling of the features.
    target : Units
        Scaling of the decision.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import NeuralDecision, Newsvendor
    >>> model = NeuralDecision(Newsvendor(1, 1), hidden_layer_sizes=(3,), random_state=0)
    >>> network = model.fit(np.arange(20.0)[:, None], np.arange(20.0)).network_
    >>> network.decide(np.array([[3.0]])) == model.predict([[3.0]])
    array([ True])
    """

    layout: NetworkLayout
    activation: ActivationName
    parameters: Floats
    features: FeatureScaling
    target: Units

    def decide(self, features: Features) -> Array:
        """Decide for each row.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features), or csr_array
            Features in their own units.
        """
        # In float64, so that a decision does not depend on the rows that come with it.
        parameters = self.parameters[np.newaxis].astype(np.float64)
        networks = Networks(self.layout, self.activation)
        decisions = np.empty(features.shape[0])
        for part in slices(decisions.size, ROWS_AT_A_TIME):
            inputs = self.features.dense(features[part], parameters.dtype).T
            decisions[part] = networks.decide(parameters, np.ascontiguousarray(inputs))[0]
        return self.target.decisions(decisions)

    def layers(self) -> Sequence[tuple[Floats, Floats]]:
        """Give weights (n_out, n_in) and biases (n_out,) of each layer, from the input on."""
        views = self.layout.views(self.parameters[np.newaxis])
        return [(weights[0], biases[0, :, 0]) for weights, biases in views]
