"""What can be read off the observations: lattice, floor, known rows, units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.bands.latent.likelihood import CENSORED, FLOOR, SEEN, UNKNOWN
from unmet.bands.latent.observed import Observed, find_lattice


def of(values, censored=None):
    return Observed.of(np.asarray(values, dtype=float), censored)


@given(
    step=st.sampled_from([1, 2, 6, 12, 1000]),
    sign=st.sampled_from([1, -1]),
    multiples=st.lists(st.integers(0, 40), min_size=3, max_size=60),
)
def test_whole_numbers_have_the_largest_step_that_divides_them(step, sign, multiples):
    observation = sign * step * np.array(multiples * 3, dtype=float)
    expected = step * np.gcd.reduce(multiples)
    constant = len(set(multiples)) < 2
    assert find_lattice(observation) == (0.0 if constant else expected)


@pytest.mark.parametrize("step", [0.1, 0.25, 0.05, 1e-4, 3.7, 1e9, 1e-9])
def test_a_lattice_of_any_step_is_found_in_spite_of_rounding(step):
    multiples = np.random.default_rng(0).poisson(30, 500)
    assert find_lattice(step * multiples) == pytest.approx(step, rel=1e-6)
    assert find_lattice(np.round(step * multiples, 12)) == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e300])
def test_continuous_observations_have_no_lattice(scale):
    generator = np.random.default_rng(1)
    for observation in (
        generator.normal(size=500),
        generator.gamma(0.3, size=40),
        np.maximum(generator.normal(size=500), 0.0),
        np.minimum(generator.normal(size=500), 0.3),
        np.append(np.zeros(40), generator.random(5)),
    ):
        assert find_lattice(scale * observation) == 0.0


def test_one_or_no_value_has_no_lattice():
    assert find_lattice(np.full(50, 7.0)) == 0.0
    assert find_lattice(np.array([7.0])) == 0.0


def test_huge_whole_numbers_are_as_good_as_continuous():
    generator = np.random.default_rng(2)
    assert find_lattice(generator.integers(0, 2**52, 300).astype(float)) == 0.0
    assert find_lattice(np.repeat([2.0**60, 2.0**61, 2.0**62], 20)) == 2.0**60


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


def test_a_few_ties_at_the_bottom_are_no_floor():
    values = np.random.default_rng(3).gamma(3.0, size=400)
    assert of(values).floor is None
    assert of(np.append(np.zeros(5), values)).floor is None
    assert of(np.append(np.zeros(6), values)).floor == 0.0
    # one in a hundred, where there are many
    many = np.random.default_rng(3).gamma(3.0, size=10_000)
    assert of(np.append(np.zeros(60), many)).floor is None
    assert of(np.append(np.zeros(120), many)).floor == 0.0


def test_flags_say_what_each_row_is_and_a_censored_row_is_not_at_the_floor():
    values = np.append(np.zeros(10), np.arange(1.0, 5.0))
    flags = np.array([1.0, 0.0, np.nan] + [np.nan] * 7 + [1.0, 0.0, np.nan, 0.0])
    kind = of(values, flags).kind
    assert kind[0] == CENSORED  # nothing in stock: the truth is at least 0
    assert np.all(kind[1:10] == FLOOR)
    np.testing.assert_array_equal(kind[10:], [CENSORED, SEEN, UNKNOWN, SEEN])
    rows = of(values, flags).rows_in("linear")
    np.testing.assert_array_equal(rows.kind, kind)
    np.testing.assert_array_equal(rows.floor, kind == FLOOR)


def test_counts_are_whole_numbers_from_zero_on():
    counts = np.random.default_rng(4).poisson(4.0, 300).astype(float)
    assert of(counts).counts
    assert of(12 * counts).counts
    assert not of(counts - 1.0).counts
    assert not of(0.5 * counts).counts
    assert not of(counts + np.random.default_rng(0).random(300)).counts


def test_points_are_in_units_of_the_spread_and_counts_in_steps():
    counts = 6.0 * np.random.default_rng(5).poisson(9.0, 300)
    observed = of(counts)
    np.testing.assert_array_equal(observed.point("counts"), counts / 6.0)
    assert observed.unit_of("counts") == 6.0
    assert observed.unit_of("linear") == pytest.approx(counts.std())
    continuous = of(np.random.default_rng(5).gamma(4.0, 3.0, size=300))
    assert continuous.point("linear").std() == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.exp(continuous.point("log")) * continuous.unit, continuous.observation
    )


def test_the_floor_stands_half_a_step_above_its_rows():
    counts = np.random.default_rng(6).poisson(1.0, 300).astype(float)
    observed = of(counts)
    at = observed.kind == FLOOR
    np.testing.assert_allclose(observed.point("linear")[at] * observed.unit, 0.5)
    np.testing.assert_allclose(np.exp(observed.point("log")[at]) * observed.unit, 0.5)
    np.testing.assert_allclose(
        observed.point("linear")[~at] * observed.unit, counts[~at], rtol=1e-12
    )


def test_a_floor_of_zero_without_a_lattice_stays_below_every_positive_row():
    clipped = np.maximum(np.random.default_rng(7).normal(1.0, 1.0, 300), 0.0)
    observed = of(clipped)
    at = observed.kind == FLOOR
    np.testing.assert_array_equal(observed.point("linear")[at], 0.0)
    points = observed.point("log")
    assert np.isfinite(points).all()
    assert points[at].max() < points[~at].min()


@pytest.mark.parametrize("space", ["linear", "log"])
def test_the_jacobian_brings_densities_back_to_units_of_the_observation(space):
    """By differences: how fast a point moves with its observation."""
    values = np.random.default_rng(8).gamma(3.0, 5.0, size=40)
    observed = of(values)
    unit = observed.unit
    step = 1e-6 * values

    def place(value):
        return value / unit if space == "linear" else np.log(value / unit)

    np.testing.assert_allclose(observed.point(space), place(values))
    expected = np.log((place(values + step) - place(values - step)) / (2 * step))
    np.testing.assert_allclose(observed.jacobian(space, np.ones(40)), expected, rtol=1e-6)
    np.testing.assert_array_equal(observed.jacobian(space, np.zeros(40)), 0.0)


def test_probabilities_of_counts_are_spread_over_a_step():
    observed = of(6.0 * np.random.default_rng(5).poisson(9.0, 300))
    found = observed.jacobian("counts", np.ones(300))
    np.testing.assert_allclose(np.exp(found), 1.0 / 6.0)
