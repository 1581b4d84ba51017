"""Decisions where the data cannot tell: least regret, expected cost, and what they promise."""

from __future__ import annotations

import numpy as np

from unmet import LatentBand, Newsvendor
from unmet.simulate import censoring_lab


def test_a_decision_is_the_quantile_of_the_truth():
    rows = censoring_lab("normal", orders="noisy", share=0.3, n=400).train
    rule = LatentBand(random_state=0).fit(Newsvendor(3, 1), rows.features, rows.sales)
    some = rows.features[:7]
    np.testing.assert_array_equal(rule.decision(some), rule.quantile(some, 0.75))
    other = rule.decision(some, Newsvendor(1, 4))
    np.testing.assert_array_equal(other, rule.quantile(some, 0.2))
