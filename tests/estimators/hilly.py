"""Data on which a line fails, for the tests of models that bend."""

import numpy as np


def hill_rows(n_rows=300, seed=0):
    """Features, observations with skewed noise, and their means given the features."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2, 2, size=(n_rows, 2))
    mean = 40 + 12 * np.exp(-(X[:, 0] ** 2)) * X[:, 1]
    return X, mean + generator.gamma(2.0, 1.5, size=n_rows), mean + 3.0
