"""Networks written out unit by unit, for the tests of the fast ones, and small data for both."""

from __future__ import annotations

import math
from itertools import chain, pairwise

import numpy as np

from unmet import Band, Newsvendor
from unmet.rows import Rows
from unmet.solvers.losses import Units, loss_of
from unmet.solvers.neural.networks import NetworkLayout, Networks
from unmet.solvers.neural.optimisers import DistinctRows, smoothed_objective


def _sigmoid(z):
    return 1 / (1 + math.exp(-z))


FUNCTIONS = {
    "sigmoid": (_sigmoid, lambda z: _sigmoid(z) * (1 - _sigmoid(z))),
    "tanh": (math.tanh, lambda z: 1 / math.cosh(z) ** 2),
    "relu": (lambda z: max(z, 0.0), lambda z: float(z > 0)),
    "silu": (
        lambda z: z * _sigmoid(z),
        lambda z: _sigmoid(z) + z * _sigmoid(z) * (1 - _sigmoid(z)),
    ),
}
"""Each activation and its derivative, for one number."""


def layers_of(parameters, sizes):
    """Weights and biases from a flat row, in the documented order, without any views."""
    layers, start = [], 0
    for n_in, n_out in pairwise(sizes):
        weights = [
            list(parameters[start + n_in * j : start + n_in * (j + 1)]) for j in range(n_out)
        ]
        start += n_in * n_out
        layers.append((weights, list(parameters[start : start + n_out])))
        start += n_out
    assert start == len(parameters)
    return layers


def decide_one(parameters, sizes, activation, x):
    """Output for one row, and inputs ζ and outputs a of every layer (§CustNN)."""
    apply = FUNCTIONS[activation][0]
    layers = layers_of(parameters, sizes)
    values, zetas, outputs = list(x), [], [list(x)]
    for place, (weights, biases) in enumerate(layers):
        zeta = [
            sum(w * v for w, v in zip(row, values, strict=True)) + bias
            for row, bias in zip(weights, biases, strict=True)
        ]
        last = place == len(layers) - 1
        values = zeta if last else [apply(z) for z in zeta]
        zetas.append(zeta)
        outputs.append(values)
    return values[0], zetas, outputs


def gradient_one(parameters, sizes, activation, x, delta):
    """Prop. DNNRule for one row: δ of the output goes back layer by layer, unit by unit."""
    derivative = FUNCTIONS[activation][1]
    layers = layers_of(parameters, sizes)
    _, zetas, outputs = decide_one(parameters, sizes, activation, x)
    deltas, parts = [delta], []
    for place in range(len(layers) - 1, -1, -1):
        weights = layers[place][0]
        into = [d * a for d in deltas for a in outputs[place]]
        parts.insert(0, into + deltas)
        if place:
            deltas = [
                sum(weights[k][j] * deltas[k] for k in range(len(deltas)))
                * derivative(zetas[place - 1][j])
                for j in range(sizes[place])
            ]
    return np.array(list(chain(*parts)))


def small_data(n_rows=40, n_features=3, seed=0):
    """Scaled features, observations and a generator for more."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    s = 30 + 8 * np.tanh(X[:, 0]) + generator.gamma(2.0, 3.0, size=n_rows)
    return X, s, generator


def evaluated_rows(observation, cost, band=None, share=None):
    """Rows without features."""
    return Rows(np.empty((len(observation), 0)), observation, cost, share, band)


def full_batch(X, evaluated, layout, activation, penalty):
    """Objective of several networks over all rows, as training with L-BFGS has it."""
    rows = DistinctRows.of(X)
    scalings = [Units.of(each, "standard") for each in evaluated]
    loss = loss_of(evaluated, scalings, n_rows=len(X)).rows(rows.order)
    return smoothed_objective(Networks(layout, activation), rows, loss, penalty), scalings


def newsvendors(s, generator):
    """Three kinds of rows for one network each, at different levels."""
    n_rows = s.size
    low = generator.uniform(0, 2, size=n_rows)
    band = Band(low, low + generator.uniform(0, 4, size=n_rows))
    share = generator.uniform(0.1, 1, size=n_rows)
    return [
        evaluated_rows(s, Newsvendor.at_level(0.8), None, None),
        evaluated_rows(s, Newsvendor(0.3, 2.0), Band(1, 5), share / share.sum()),
        evaluated_rows(s, Newsvendor(generator.uniform(1, 9, size=n_rows), 1.0), band, None),
    ]


def random_parameters(layout: NetworkLayout, n_networks, generator, scale=0.7):
    return generator.normal(scale=scale, size=(n_networks, layout.n_parameters))
