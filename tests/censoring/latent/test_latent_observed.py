"""What can be read off the observations: lattice, floor, known rows, units."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.censoring.latent.likelihood import FLOOR, UNKNOWN
from unmet.censoring.latent.observed import Observed, find_lattice
from unmet.costs import SquaredError
from unmet.rows import Rows


def of(values):
    return Observed.of(Rows(np.zeros((len(values), 1)), np.asarray(values), SquaredError()))


@pytest.mark.parametrize("step", [0.1, 0.25, 0.05, 1e-4, 3.7, 1e9, 1e-9])
def test_a_lattice_of_any_step_is_found_in_spite_of_rounding(step):
    multiples = np.random.default_rng(0).poisson(30, 500)
    assert find_lattice(step * multiples) == pytest.approx(step, rel=1e-6)
    assert find_lattice(np.round(step * multiples, 12)) == pytest.approx(step, rel=1e-6)


def test_a_lowest_value_that_many_share_is_a_floor():
    clipped = np.maximum(np.random.default_rng(3).normal(0.5, 1.0, 400), 0.0)
    observed = of(clipped)
    assert observed.floor == 0.0
    np.testing.assert_array_equal(observed.kind == FLOOR, clipped == 0.0)
    assert set(observed.kind) == {FLOOR, UNKNOWN}
    assert of(clipped + 3.5).floor == 3.5
    assert of(clipped - 9.0).floor == -9.0
    assert observed.positive
    assert not of(clipped - 9.0).positive
