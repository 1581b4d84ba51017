"""Smoothed linear decisions: as good as a global search, better than a constant."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import differential_evolution

from unmet import LinearDecision
from unmet.costs import AgeReplacement, PreventiveReplacement
from unmet.errors import Unsupported
from unmet.lifetimes import expected_cost
from unmet.rows import Rows
from unmet.simulate import replacement
from unmet.solvers.descent.jumps import solve_smoothed

COSTS = [PreventiveReplacement(1, 5, discount=0.0005), AgeReplacement(1, 8, rate=0.006)]


@pytest.fixture(scope="module")
def lives():
    part = replacement(n=150, n_test=1, policy="never", seed=2).train
    return part.features[:, :2], part.times


@pytest.mark.parametrize("cost", COSTS)
def test_as_good_as_a_global_search_of_the_smoothed_cost(cost, lives):
    X, times = lives
    width = 0.8 * times.size**-0.2 * times.std()

    def mean(theta):
        return cost.box_mean(X @ theta[:2] + theta[2], width, times)[0].mean()

    box = [(-1500, 1500), (-1500, 1500), (-500, 2500)]
    searched = differential_evolution(mean, box, seed=0, maxiter=60, popsize=12, polish=True)
    found = solve_smoothed(Rows(X, times, cost))
    assert mean(np.append(found.coefficients, found.intercept)) <= searched.fun + 1e-4
    paid = cost.loss(X @ found.coefficients + found.intercept, times).mean()
    assert found.objective == pytest.approx(paid)


@pytest.mark.parametrize("cost", COSTS)
def test_better_than_the_best_constant_for_new_parts(cost):
    data = replacement(n=400, n_test=1000, policy="never", seed=1)
    X, times = data.train.features, data.train.times
    model = LinearDecision(cost, solver="smoothed").fit(X, times)
    constant = LinearDecision(cost).fit(np.zeros((times.size, 1)), times).intercept_
    ages = np.maximum(model.predict(data.test.features), 0.0)
    floor, one, lines = (
        expected_cost(cost, data.test.distribution, each).mean()
        for each in (data.test.optimum(cost), constant, ages)
    )
    assert floor < lines < one
    assert model.solution_.objective == pytest.approx(-model.score(X, times))
    again = LinearDecision(cost, solver="smoothed").fit(X, times)
    assert np.array_equal(again.coef_, model.coef_)


def test_one_penalty_does_not_fit():
    with pytest.raises(Unsupported, match="'smoothed' and the penalty 'l1' do not fit together"):
        LinearDecision(COSTS[0], solver="smoothed", penalty="l1").fit([[1.0], [2.0]], [3.0, 4.0])
