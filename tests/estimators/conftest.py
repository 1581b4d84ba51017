import numpy as np
import pytest


@pytest.fixture
def rows():
    """Features and observations with skewed noise, so that no quantile is special."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(201, 4))
    s = 40 + X @ [6.0, -3.0, 0.0, 1.0] + generator.gamma(2.0, 3.0, size=201)
    return X, s
