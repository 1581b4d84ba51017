"""Mini-batch descent: updates by hand, every option seen to act, the linear program beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import RandomState

from unmet.arrays import Band
from unmet.costs import Newsvendor, SquaredError
from unmet.errors import InvalidInput, SolverFailure
from unmet.rows import Rows
from unmet.solvers.descent import minibatch
from unmet.solvers.descent.minibatch import MiniBatchOptions
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.problem import HingeProblem

PLAIN = MiniBatchOptions(
    penalty=0.0, validation_size=0.0, shuffle=False, early_stopping=False, baseline=0.0
)


def retail(seed=0, n=300, p=3):
    rng = np.random.default_rng(seed)
    features = rng.random((n, p))
    sales = 50 + features @ np.linspace(-20, 30, p) + rng.gamma(2.0, 4.0, n)
    return features, sales


def read(features, cost, observation, band, sample_weight):
    """Rows with weights as they came: the solver minds only their ratios."""
    observation = np.asarray(observation, dtype=float)
    given = Rows.of(cost, features, observation, sample_weight=sample_weight)
    rows = given.evaluated(cost, band).counted()
    if rows.share is None:
        return rows
    weight = np.asarray(sample_weight, dtype=float)
    return replace(rows, share=weight[weight > 0])


def solve_minibatch(features, cost, observation, band=None, *, sample_weight=None, **how):
    return minibatch.solve_minibatch(read(features, cost, observation, band, sample_weight), **how)


def same(a, b):
    return np.array_equal(a.coefficients, b.coefficients) and a.intercept == b.intercept


class TestByHand:
    def test_one_update_at_85_percent(self):
        # decisions 1 + x'(1, ½):  3 is below 10 + 1: slope −.85;  3½ is above 0 + 2: +.15;
        # 1½ is inside [0 + 1, 0 + 2]: 0.  Sums over the three rows, divided by 3:
        #   θ₁: (−.85·1 + .15·3)/3 = −.4/3     θ₂: (−.85·2 − .15·1)/3 = −1.85/3
        #   intercept: (−.85 + .15)/3 = −.7/3
        # with η = .3 and β = .5 (gradient of β‖θ‖² is θ; the intercept is spared):
        #   θ₁ = 1 + .04 − .3 = .74     θ₂ = .5 + .185 − .15 = .535     intercept = 1 + .07
        features = np.array([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]])
        options = replace(PLAIN, epochs=1, learning_rate=0.3, scale_observation=False)
        solution = solve_minibatch(
            features,
            Newsvendor.at_level(0.85),
            [10.0, 0.0, 0.0],
            Band(1, 2),
            ridge=0.5,
            options=options,
            start=([1.0, 0.5], 1.0),
        )
        assert solution.coefficients == pytest.approx([0.74, 0.535], abs=1e-15)
        assert solution.intercept == pytest.approx(1.07, abs=1e-15)
        assert solution.iterations == 1
        assert solution.method == "mini-batch"
        assert np.isnan(solution.gap)
        assert np.isnan(solution.residual)

    def test_one_update_in_min_max_units(self):
        # sales 10 and 30 are u = 0 and 1; slopes 17 and 3 are .85 and .15 of their total.
        # from u = 0, row one sits on its kink (0) and row two is short (−.85):
        #   w = .1·.85·2/2 = .085, c = .1·.85/2 = .0425; times 20, plus 10:
        solution = solve_minibatch(
            np.array([[1.0], [2.0]]),
            Newsvendor(17, 3),
            [10.0, 30.0],
            options=replace(PLAIN, epochs=1, learning_rate=0.1),
        )
        assert solution.coefficients == pytest.approx([1.7], abs=1e-14)
        assert solution.intercept == pytest.approx(10.85, abs=1e-14)
        # decisions 12.55 (2.55 too many) and 14.25 (15.75 too few)
        assert solution.objective == pytest.approx((3 * 2.55 + 17 * 15.75) / 2, rel=1e-12)

    @pytest.mark.parametrize("alpha", [0.2, 0.85])
    def test_finds_the_quantile_and_not_its_mirror(self, alpha):
        """Slip 2: with the printed sign the underage term would push decisions away."""
        sales = retail(1, 400)[1]
        options = MiniBatchOptions(learning_rate=0.002, epochs=400)
        solution = solve_minibatch(
            np.empty((400, 0)), Newsvendor.at_level(alpha), sales, options=options
        )
        assert np.mean(sales <= solution.intercept) == pytest.approx(alpha, abs=0.04)


class TestOptimum:
    @pytest.mark.parametrize("alpha", [0.3, 0.85])
    @pytest.mark.parametrize("band", [None, Band(0.5, 4.0)])
    def test_close_to_the_linear_program(self, alpha, band):
        features, sales = retail()
        cost = Newsvendor.at_level(alpha)
        exact = solve_highs(HingeProblem(features, cost.kinks(sales, band, np.full(300, 1 / 300))))
        options = MiniBatchOptions(learning_rate=0.02, batch_size=20)
        found = solve_minibatch(features, cost, sales, band, ridge=0.0, options=options)
        assert exact.objective * (1 - 1e-12) <= found.objective < 1.05 * exact.objective

    def test_no_ridge_named_means_the_papers_beta(self):
        features, sales = retail(3)
        options, cost = MiniBatchOptions(epochs=20), Newsvendor(30, 10)
        ridge = 0.006 * 40 / np.ptp(sales)
        default = solve_minibatch(features, cost, sales, options=options)
        named = solve_minibatch(features, cost, sales, ridge=ridge, options=options)
        without = solve_minibatch(features, cost, sales, ridge=0.0, options=options)
        assert default.coefficients == pytest.approx(named.coefficients, rel=1e-12)
        assert default.objective == pytest.approx(named.objective, rel=1e-12)
        assert abs(default.coefficients[2]) < abs(without.coefficients[2])


class TestInvariance:
    def test_units_of_sales_and_money_do_not_matter(self):
        features, sales = retail(6)
        plain = solve_minibatch(features, Newsvendor(3, 1), sales, Band(1, 5))
        large = solve_minibatch(
            features, Newsvendor(300, 100), 1024 * sales - 7168, Band(1024, 5120)
        )
        assert large.coefficients == pytest.approx(1024 * plain.coefficients, rel=1e-9)
        assert large.intercept == pytest.approx(1024 * plain.intercept - 7168, rel=1e-9)
        assert large.iterations == plain.iterations

    def test_integer_weights_equal_repeated_rows(self):
        features, sales = retail(11, 60)
        weight = np.random.default_rng(12).integers(0, 4, 60)
        weight[[sales.argmin(), sales.argmax()]] = 2
        options = replace(PLAIN, batch_size=1000, epochs=200, learning_rate=0.05)
        cost, band = Newsvendor(3, 1), Band(0.5, 3)
        weighted = solve_minibatch(
            features, cost, sales, band, sample_weight=weight, options=options
        )
        repeated = solve_minibatch(
            np.repeat(features, weight, axis=0),
            cost,
            np.repeat(sales, weight),
            band,
            options=options,
        )
        assert weighted.coefficients == pytest.approx(repeated.coefficients, rel=1e-9)
        assert weighted.intercept == pytest.approx(repeated.intercept, rel=1e-9)
        assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)


class TestOptionsAct:
    def test_random_state_bit_for_bit(self):
        features, sales = retail(15)

        def fit(seed, **changes):
            options = MiniBatchOptions(epochs=15, random_state=seed, **changes)
            return solve_minibatch(features, Newsvendor(3, 1), sales, options=options)

        assert same(fit(5), fit(5))
        assert same(fit(5), fit(RandomState(5)))
        assert not same(fit(5), fit(6))
        assert not same(fit(None), fit(None))
        assert same(fit(5, shuffle=False), fit(6, shuffle=False))
        assert not same(fit(5, shuffle=False), fit(5))

    def test_early_stopping_returns_the_best_epoch(self):
        features, sales = retail(18, 200)
        held_out = slice(150, 200)  # the last quarter, when nothing is shuffled
        cost = Newsvendor(3, 1)
        options = MiniBatchOptions(
            learning_rate=0.2, epochs=25, shuffle=False, patience=1000, batch_size=8, baseline=0.0
        )

        def evaluated(changed):
            s = solve_minibatch(features, cost, sales, options=changed)
            decision = features[held_out] @ s.coefficients + s.intercept
            return cost.loss(decision, sales[held_out]).mean()

        losses = [
            evaluated(replace(options, early_stopping=False, epochs=epochs))
            for epochs in range(1, 26)
        ]
        assert evaluated(options) == pytest.approx(min(losses), abs=1e-6 * np.ptp(sales))
        assert losses[-1] > min(losses) * 1.001


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "value", "allowed"),
        [
            ("learning_rate", 0.0, "a finite number above 0"),
            ("penalty", -1e-3, "a finite number of at least 0"),
            ("tolerance", float("nan"), "a finite number of at least 0"),
            ("baseline", -1.0, "a finite number of at least 0"),
            ("validation_size", 1.0, "a number of at least 0 and below 1"),
            ("batch_size", 0, "a whole number of at least 1"),
            ("epochs", 2.5, "a whole number of at least 1"),
            ("shuffle", "yes", "True or False"),
            ("scale_observation", None, "True or False"),
            ("random_state", -1, "a whole number of at least 0, a RandomState or None"),
        ],
    )
    def test_options(self, name, value, allowed):
        with pytest.raises(InvalidInput) as caught:
            MiniBatchOptions(**{name: value})
        assert str(caught.value) == f"{name} must be {allowed}, got {value!r}."

    @pytest.mark.parametrize("epochs", [3, 500])
    def test_divergence_names_the_cure(self, epochs):
        features, sales = retail(24)
        options = replace(PLAIN, learning_rate=1e4, epochs=epochs, batch_size=2)
        with pytest.raises(SolverFailure, match=r"diverged: lower learning_rate\.$"):
            solve_minibatch(features, SquaredError(), sales, options=options)
        with pytest.raises(SolverFailure, match=r"diverged: lower learning_rate\.$"):
            solve_minibatch(features, Newsvendor(3, 1), sales, ridge=1e9, options=options)
