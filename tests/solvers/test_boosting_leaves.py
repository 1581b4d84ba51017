"""Leaves: against every kink, against HiGHS, against general-purpose minimisers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from small_networks import evaluated_rows

from unmet import Band, Newsvendor, PreventiveReplacement, SquaredError
from unmet.costs import Cost
from unmet.solvers.boosting import leaves
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.problem import HingeProblem

# Few different values, so that ties and flat minima are the rule.
values = st.integers(-4, 4).map(float)
slopes = st.sampled_from([0.25, 1.0, 3.0])


def read_objective(cost, observation, band, share):
    return leaves.read_objective(evaluated_rows(observation, cost, band, share))


@st.composite
def rows_in_leaves(draw, banded=True):
    """Observations, decisions, bands, costs and weights of rows in one to three leaves."""
    n_leaves = draw(st.integers(1, 3))
    n_rows = draw(st.integers(n_leaves, 12))

    def column(entries):
        return np.array(draw(st.lists(entries, min_size=n_rows, max_size=n_rows)))

    others = [draw(st.integers(0, n_leaves - 1)) for _ in range(n_rows - n_leaves)]
    leaf = np.array([*range(n_leaves), *others])
    low = column(st.integers(0, 2).map(float)) if banded else np.zeros(n_rows)
    band = Band(low, low + column(st.integers(0, 3).map(float))) if banded else None
    cost = Newsvendor(column(slopes), column(slopes))
    share = column(st.sampled_from([0.5, 1.0, 2.0])) if draw(st.booleans()) else None
    return leaf, column(values), column(values), band, cost, share


def _evaluate(cost, observation, band, share, decision, leaf, chosen, value):
    """What the rows of one leaf cost when their decisions change by a value."""
    rows = leaf == chosen
    weight = 1.0 if share is None else share[rows]
    kept = None if band is None else band.take(rows)
    moved = decision[rows] + value
    return float(np.sum(weight * cost.take(rows).loss(moved, observation[rows], kept)))


def _check_leaves(cost, leaf, observation, decision, band, share, candidates):
    """No candidate is cheaper, and going less far is dearer."""
    objective = read_objective(cost, observation, band, share)
    found = objective.minimisers(decision, leaf, int(leaf.max()) + 1)
    for chosen, value in enumerate(found):
        args = cost, observation, band, share, decision, leaf, chosen
        least = _evaluate(*args, value)
        for candidate in candidates:
            assert least <= _evaluate(*args, candidate) + 1e-9
        if value:
            assert _evaluate(*args, 0.999 * value) > least + 1e-9


@given(rows_in_leaves())
def test_hinges_against_every_kink(rows):
    leaf, observation, decision, band, cost, share = rows
    kinks = [observation + end - decision for end in band.rows(leaf.size)]
    _check_leaves(cost, leaf, observation, decision, band, share, np.concatenate(kinks))


@given(rows_in_leaves())
def test_the_start_is_the_best_constant_of_highs(rows):
    _, observation, _, band, cost, share = rows
    kinks = cost.kinks(observation, band, np.ones(observation.size) if share is None else share)
    solution = solve_highs(HingeProblem(np.zeros((observation.size, 1)), kinks))
    start = read_objective(cost, observation, band, share).start()
    assert kinks.value(np.full(observation.size, start)).sum() == pytest.approx(
        solution.objective, abs=1e-9
    )


@given(rows_in_leaves(banded=False))
def test_squares_against_a_general_minimiser(rows):
    leaf, observation, decision, band, _, share = rows
    objective = read_objective(SquaredError(), observation, band, share)
    found = objective.minimisers(decision, leaf, int(leaf.max()) + 1)
    for chosen, value in enumerate(found):
        args = SquaredError(), observation, band, share, decision, leaf, chosen
        best = minimize_scalar(
            lambda each, args=args: _evaluate(*args, each),
            bounds=(-20, 20),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert _evaluate(*args, value) <= best.fun + 1e-9
        if abs(value) > 1e-6:  # nearer to zero is dearer
            assert _evaluate(*args, 0.99 * value) > _evaluate(*args, value)


def test_more_leaves_than_a_byte_counts():
    generator = np.random.default_rng(1)
    n_leaves = 700
    leaf = generator.permutation(np.repeat(np.arange(n_leaves), 5))
    s = generator.gamma(2.0, 5.0, leaf.size)
    found = read_objective(Newsvendor(3, 1), s, None, None).minimisers(0 * s, leaf, n_leaves)
    expected = [np.sort(s[leaf == each])[3] for each in range(n_leaves)]  # ⌈¾ · 5⌉ = 4th of five
    assert found.tolist() == expected


@dataclass(frozen=True, eq=False)
class Quartic(Cost):
    """Smooth, and three times as dear above the truth."""

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        over = np.maximum(rows.decision - rows.top, 0.0)
        under = np.maximum(rows.bottom - rows.decision, 0.0)
        return 3.0 * over**4 + under**4

    def subgradient(self, decision, observation, band=None):
        raise AssertionError("values are enough")


def test_a_smooth_cost_of_ones_own_is_searched():
    generator = np.random.default_rng(5)
    s, leaf, weight = generator.gamma(2.0, 4.0, 300), np.arange(300) % 4, generator.random(300)
    for band in (None, Band(0.0, generator.random(300) * 3)):
        objective = read_objective(Quartic(), s, band, weight)
        found = objective.minimisers(np.full(300, 2.0), leaf, 4)
        for chosen, value in enumerate(found):
            args = Quartic(), s, band, weight, np.full(300, 2.0), leaf, chosen
            best = minimize_scalar(
                lambda each, args=args: _evaluate(*args, each), bounds=(-30, 30), method="bounded"
            )
            assert _evaluate(*args, value) <= best.fun * 1.0001


def test_a_cost_with_jumps_is_searched_among_its_jumps():
    generator = np.random.default_rng(6)
    s, leaf = 10 * generator.weibull(2.0, 400), np.arange(400) % 3
    cost = PreventiveReplacement(planned=1.0, failure=6.0, discount=0.1)
    found = read_objective(cost, s, None, None).minimisers(np.full(400, 3.0), leaf, 3)
    for chosen, value in enumerate(found):
        args = cost, s, None, None, np.full(400, 3.0), leaf, chosen
        best = min(_evaluate(*args, each - 3.0) for each in s[leaf == chosen])
        assert _evaluate(*args, value) <= best * 1.01
        assert _evaluate(*args, value) <= _evaluate(*args, 0.0)
