"""Service levels reached against those meant: shares, standard errors, the plot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from unmet.errors import InvalidInput
from unmet.evaluation import calibration, service_level

LEVELS = (0.15, 0.6, 0.85)


def normal(seed=0, n=4000):
    truth = np.random.default_rng(seed).standard_normal(n)
    return {level: ndtri(level) for level in LEVELS}, truth


def test_the_true_quantiles_are_calibrated():
    found = calibration(*normal())
    assert found.levels == LEVELS
    assert found.n_rows == 4000
    binomial = [np.sqrt(level * (1 - level) / 4000) for level in LEVELS]
    assert found.standard_error == pytest.approx(binomial, rel=0.1)
    assert all(abs(gap) < 3.5 * error for gap, error in zip(found.gap, binomial, strict=True))
    assert found.largest_gap == max(abs(gap) for gap in found.gap)


def test_decisions_that_ignore_censoring_fall_short():
    quantiles, truth = normal()
    low = {level: value - 0.5 for level, value in quantiles.items()}
    found = calibration(low, truth)
    assert max(found.gap) < 0
    assert not any(found.within_chance)


@given(
    truth=st.lists(st.integers(0, 9), min_size=2, max_size=40),
    decision=st.integers(0, 9),
    repeats=st.integers(1, 3),
)
def test_shares_are_service_levels_and_weights_repeat_rows(truth, decision, repeats):
    rows = np.array(truth, dtype=float)
    found = calibration({0.7: decision}, rows)
    assert found.reached[0] == service_level(np.full(rows.size, decision), rows)
    weight = np.where(np.arange(rows.size) == 0, repeats, 1)
    weighted = calibration({0.7: decision}, rows, sample_weight=weight)
    repeated = calibration({0.7: decision}, np.repeat(rows, weight))
    assert weighted.reached[0] == pytest.approx(repeated.reached[0])


def test_rows_that_share_their_luck_count_once():
    quantiles, truth = normal(n=300)
    days = np.repeat(np.arange(300), 8)
    alone = calibration(quantiles, truth)
    naive = calibration(quantiles, np.repeat(truth, 8))
    grouped = calibration(quantiles, np.repeat(truth, 8), groups=days)
    assert grouped.reached == pytest.approx(alone.reached)
    assert grouped.standard_error == pytest.approx(alone.standard_error)
    assert naive.standard_error == pytest.approx(
        np.array(alone.standard_error) / np.sqrt(8), rel=0.01
    )


@pytest.mark.parametrize(
    ("decisions", "options", "words"),
    [
        ({}, {}, "decisions must be a mapping"),
        ([0.5], {}, "decisions must be a mapping"),
        ({1.5: 3}, {}, "each level of decisions must be"),
        ({0.5: [1.0, 2.0]}, {}, "decision must be one number or have 3 rows"),
        ({0.5: 1.0}, {"groups": [1, 2]}, "groups must have 3 rows"),
        ({0.5: 1.0}, {"sample_weight": [-1, 1, 1]}, "sample_weight must not be negative"),
    ],
)
def test_wrong_uses_get_a_sentence(decisions, options, words):
    with pytest.raises(InvalidInput, match=words):
        calibration(decisions, [1.0, 2.0, 3.0], **options)
