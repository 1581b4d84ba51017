"""Defaults of networks that depend on their data."""

from __future__ import annotations

PARTIAL_WIDTH = 0.03
"""Width by which `partial_fit` smooths a cost without slopes, in spreads."""

LBFGS_PASSES, ADAM_EPOCHS = 200, 80
"""Passes over the data where `max_iter` is None."""

ADAM_RATE, NARROW_LAYER = 0.02, 10
"""Learning rate where it is None; beyond so many units it falls with the root of the width."""

BATCHES, BATCH_ROWS = 50, (32, 512)
"""Batches of an epoch where `batch_size` is None, and the fewest and the most rows of each."""
