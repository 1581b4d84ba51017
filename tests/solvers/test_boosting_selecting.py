"""Leaves of several workers, against all kinks sorted together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.solvers import constants
from unmet.solvers.blocks.source import LocalWorker
from unmet.solvers.boosting.distributed import SortedKinks, select_intervals
from unmet.solvers.boosting.leaves import hinge_minimisers


class Several(LocalWorker):
    """Workers in this process."""

    def __init__(self, things):
        self.things, self.hosts, self.asked = things, ("",) * len(things), 0

    def ask_each(self, method, given):
        self.asked += 1
        return [
            getattr(thing, method)(*each) for thing, each in zip(self.things, given, strict=True)
        ]


def compare(kinks, n_leaves, place):
    """Both ways to the same intervals."""
    position, below, jump, leaf = kinks
    alone = hinge_minimisers(position, below, jump, leaf, n_leaves)
    parts = []
    for number in range(place.max() + 1):
        rows = place == number
        slopes = (below, jump) if jump.size == 1 else (below[rows], jump[rows])
        parts.append(SortedKinks(position[rows], *slopes, leaf[rows], n_leaves))
    places = Several(parts)
    sums = (sum(getattr(part, name) for part in parts) for name in ("below", "total"))
    found = select_intervals(places, *sums)
    np.testing.assert_array_equal(found.low, alone.low)
    np.testing.assert_array_equal(found.high, alone.high)
    return places.asked


@given(
    seed=st.integers(0, 10_000),
    n_kinks=st.integers(1, 400),
    n_places=st.integers(1, 4),
    values=st.sampled_from([2, 10, 10_000]),
    whole=st.booleans(),
)
def test_any_rows_in_any_places(seed, n_kinks, n_places, values, whole):
    rng = np.random.default_rng(seed)
    position = rng.integers(-values, values, n_kinks) / 7.0
    below = rng.integers(0, 4, n_kinks).astype(float)
    above = rng.integers(0, 4, n_kinks).astype(float)
    if whole:
        below, above = np.array([4.0]), np.array([1.0])
    leaf = rng.integers(0, 3, n_kinks).astype(np.uint8)
    place = np.sort(rng.integers(0, n_places, n_kinks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "FEW_KINKS", 3)
        patch.setattr(constants, "KINK_GROWTH", 2)
        compare((position, below, below + above, leaf), 3, place)


@pytest.mark.parametrize("ties", [True, False])
def test_many_rows_need_few_rounds(ties):
    rng = np.random.default_rng(0)
    n = 300_000
    position = rng.poisson(8, n).astype(float) if ties else rng.normal(size=n)
    place = np.sort((position > 0.3).astype(int)) if ties else (position > 0.3).astype(int)
    jump, below = np.full(n, 5.0), rng.choice([4.0, 4.5], n)
    leaf = (rng.random(n) < 0.01).astype(np.uint8)
    assert compare((position, below, jump, leaf), 2, place) <= 3
