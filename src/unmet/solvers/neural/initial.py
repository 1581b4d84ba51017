"""Where training begins."""

from __future__ import annotations

import numpy as np

from unmet.band import Array
from unmet.solvers.neural.layout import Layout


def glorot(layout: Layout, generator: np.random.Generator) -> Array:
    """Weights uniform in ±√(6 / (n_in + n_out)), biases 0 (Glorot and Bengio 2010).

    This is the default of Keras, hence the paper's.
    """
    parameters = np.zeros((1, layout.n_parameters))
    for weights, _ in layout.views(parameters):
        limit = np.sqrt(6.0 / (weights.shape[1] + weights.shape[2]))
        weights[...] = generator.uniform(-limit, limit, weights.shape)
    start: Array = parameters[0]
    return start
