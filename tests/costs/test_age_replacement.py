"""Age replacement: the ratio, its price of time, and what every cost with a jump can do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from unmet.arrays import Band
from unmet.costs import AgeReplacement, PreventiveReplacement
from unmet.errors import InvalidInput

COSTS = [
    AgeReplacement(2, 7, rate=0.6),
    PreventiveReplacement(2, 7, discount=0.3),
    PreventiveReplacement(2, 7, form="printed", discount=0.3),
]
PER_ROW = [
    AgeReplacement([1, 2, 1, 3], [7, 9, 4, 4], rate=[0.5, 1.0, 0.25, 2.0]),
    PreventiveReplacement([1, 2, 1, 3], [7, 9, 4, 4], discount=[0.5, 0.1, 0.5, 0.2]),
]


def test_loss_by_hand():
    cost = AgeReplacement(planned=2, failure=7, rate=0.5)
    # Failure at 6. In time: 2 − y/2; at 6 still in time; too late: 7 − 6/2.
    assert_allclose(cost.cost([0, 4, 6, 6.5, 90], 6), [2, 0, -1, 4, 4])
    assert_allclose(cost.loss([6, 9], 4, Band(0, 2)), [-1, 4])
    assert_allclose(cost.subgradient([4, 6, 7], 6), [-0.5, -0.5, 0])


def test_rate_is_what_is_paid_over_what_is_served():
    cost = AgeReplacement(planned=2, failure=7)
    # Ages 3 and 8 of parts that fail at 5: planned after 3, failure after 5.
    assert cost.rate_of([3, 8], 5) == pytest.approx((2 + 7) / (3 + 5))
    assert cost.rate_of([3, 8], 5, sample_weight=[3, 1]) == pytest.approx((6 + 7) / (9 + 5))
    assert cost.rate_of([3, 8], [3, 3], Band(2, 2)) == pytest.approx(9 / 8)
    assert cost.rate_of(0, [5, 9]) == np.inf


def test_without_a_rate_single_rows_have_no_price():
    with pytest.raises(
        InvalidInput, match=r"^rate must be a number to evaluate single rows, got None"
    ):
        AgeReplacement(1, 5).cost(3, 4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((1, 1), "failure must be greater than planned, got failure 1.0 and planned 1.0."),
        ((0, 1), "planned must be a positive number, got 0.0."),
        ((1, "5"), "failure must be a number or a 1-D array of numbers, got '5'."),
    ],
)
def test_bad_costs(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        AgeReplacement(*arguments)
    assert str(caught.value) == sentence


def test_bad_rate_and_band():
    with pytest.raises(InvalidInput, match=r"^rate must be a non-negative number, got -0.5\.$"):
        AgeReplacement(1, 5, rate=-0.5)
    with pytest.raises(InvalidInput, match=r"^low of the band must be 0 or equal to high for Age"):
        AgeReplacement(1, 5, rate=1).loss(3, 4, Band(1, 2))


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("width", [0.4, 3.0])
def test_box_mean_against_a_fine_grid(cost, width):
    observation, band = np.array([3.0, 5.0, 5.0, 8.0]), Band(1, 1)
    offsets = (np.arange(20_000) + 0.5) / 20_000 * width - 0.5 * width
    for decision in (0.3, 3.9, 4.1, 6.15, 20.0):
        fine = [cost.loss(decision + offsets, seen, band).mean() for seen in observation]
        mean, slope = cost.box_mean(decision, width, observation, band)
        assert_allclose(mean, fine, rtol=1e-3)
        ends = [cost.loss(decision + side * width / 2, observation, band) for side in (-1, 1)]
        assert_allclose(slope, (ends[1] - ends[0]) / width, rtol=1e-9, atol=1e-12)


times = st.integers(1, 12).map(float)


@given(st.data(), st.sampled_from([*COSTS, *PER_ROW]))
def test_shift_totals_are_the_totals_and_hold_the_best(data, cost):
    """Halves and whole numbers: sums are exact, ties are frequent."""
    rows = 4
    observation = np.array(data.draw(st.lists(times, min_size=rows, max_size=rows)))
    base = np.array(data.draw(st.lists(times, min_size=rows, max_size=rows))) / 2
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=rows, max_size=rows)))
    band = Band(0.5, 0.5)
    shift, total = cost.shift_totals(base, observation, band, weight)
    assert_array_equal(shift, np.sort(observation + 0.5 - base))
    brute = [weight @ cost.loss(base + each, observation, band) for each in shift]
    assert_allclose(total, brute, rtol=1e-12, atol=1e-12)
    anywhere = np.linspace(shift[0] - 1, shift[-1] + 1, 31)
    everywhere = [weight @ cost.loss(base + each, observation, band) for each in anywhere]
    assert total.min() <= min(everywhere) + 1e-12
