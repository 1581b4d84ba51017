"""Adam as Keras does it, against the same written out step by step."""

import math

import numpy as np
import pytest

from unmet.solvers.losses import Scratch
from unmet.solvers.neural.networks import NetworkLayout, glorot
from unmet.solvers.neural.optimisers import Moments


def _keras_step(weight, gradient, mean, square, step, rate):
    """keras.optimizers.Adam: learning rate corrected for the start at 0, ε beside √v as it is."""
    mean = mean + (gradient - mean) * (1 - 0.9)
    square = square + (gradient**2 - square) * (1 - 0.999)
    corrected = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return weight - corrected * mean / (math.sqrt(square) + 1e-7), mean, square


def test_steps_are_those_of_keras():
    weights, rates = np.array([[0.5, -1.0, 2.0], [0.1, 0.0, -3.0]]), np.array([[0.1], [0.003]])
    gradients = np.random.default_rng(0).normal(size=(6, 2, 3))
    gradients[:, 0, 0] = 0.0
    gradients[:, 0, 1] *= 1e-7  # of the size of ε, whose place matters then
    parameters, moments = weights.copy(), Moments.none(weights)
    expected = {(i, j): (weights[i, j], 0.0, 0.0) for i in range(2) for j in range(3)}
    for step, gradient in enumerate(gradients, start=1):
        moments.update(parameters, gradient.copy(), rates, Scratch())
        for (i, j), (weight, mean, square) in expected.items():
            expected[i, j] = _keras_step(weight, gradient[i, j], mean, square, step, rates[i, 0])
            assert parameters[i, j] == pytest.approx(expected[i, j][0], rel=1e-12)
    assert moments.steps == 6
    assert parameters[0, 0] == 0.5


def test_weights_begin_uniform_within_the_limits_of_glorot_and_biases_at_zero():
    layout = NetworkLayout(26, (9, 5))
    generator = np.random.default_rng(0)
    starts = np.stack([glorot(layout, generator) for _ in range(200)])
    limits = [math.sqrt(6 / 35), math.sqrt(6 / 14), 1.0]
    for (weights, biases), limit in zip(layout.views(starts), limits, strict=True):
        assert not biases.any()
        assert 0.99 * limit < np.abs(weights).max() <= limit
        assert weights.std() == pytest.approx(limit / math.sqrt(3), rel=0.05)
        assert abs(weights.mean()) < 0.05 * limit
