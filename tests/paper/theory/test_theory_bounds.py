"""Stability and generalisation bounds: numbers by hand, units, printed against corrected."""

from math import e, exp, log, sqrt

import pytest

from paper.theory import (
    balanced_learning_rate,
    cost_supremum,
    descent_stability,
    linear_bound,
    linear_stability,
    network_bound,
    penalised_bound,
    penalised_stability,
    stable_learning_rate,
)
from unmet import Band, Newsvendor
from unmet.errors import InvalidInput

SHAPE = {"n_rows": 200, "n_features": 3, "largest_truth": 10}
PENALTY = {"largest_feature": 2.0, "strength": 0.5}


def test_stability_by_hand():
    # α = .8: slopes .8 and .2, so .64 / .2 = 3.2; p/n = .015; D̄ + ε₂ = 11
    assert linear_stability(0.8, Band(1, 4), **SHAPE) == pytest.approx(0.015 * 3.2 * 11)
    assert linear_stability(0.2, Band(1, 4), **SHAPE) == pytest.approx(0.015 * 3.2 * 11)
    # .64 · 4 · 3 / (2 · 200 · .5)
    assert penalised_stability(0.8, n_rows=200, n_features=3, **PENALTY) == pytest.approx(0.0384)
    refit = penalised_stability(0.8, n_rows=200, n_features=3, refit=True, **PENALTY)
    assert refit == pytest.approx(0.0768)
    # 2 · .8 · .1 · (√(16 · 4) + 8)
    assert descent_stability(0.8, n_rows=16, epochs=4, learning_rate=0.1) == pytest.approx(2.56)
    longer = descent_stability(0.2, n_rows=16, epochs=4, learning_rate=0.1, largest_norm=3)
    assert longer == pytest.approx(7.68)


def test_the_normalised_form_of_the_theorem_without_penalty():
    """Thm LR-GenBound is printed divided by (α ∨ (1 − α)) (D̄ + ε₂)."""
    delta, n, p = 0.1, 200, 3
    for alpha in (0.7, 0.35):
        bound = linear_bound(alpha, Band(1, 4), **SHAPE, delta=delta, printed=True)
        ratio = max(alpha, 1 - alpha) / min(alpha, 1 - alpha)
        right = 2 * p / n * ratio + (4 * p * ratio + 1) * sqrt(log(1 / delta) / (2 * n))
        assert bound.value / (max(alpha, 1 - alpha) * 11) == pytest.approx(right)


def test_the_penalised_theorem_as_printed():
    alpha, delta, n, p, x_max, strength = 0.3, 0.1, 200, 3, 2.0, 0.5
    root = sqrt(log(2 / delta) / (2 * n))
    first = max(alpha, (1 - alpha) ** 2) * x_max**2 * p / (n * strength)
    second = 2 * 0.7**2 * x_max**2 * p / strength * root
    third = 11 * 0.7 * root
    bound = penalised_bound(alpha, Band(1, 4), **SHAPE, **PENALTY, delta=delta, printed=True)
    assert list(bound.parts.values()) == pytest.approx([first, second, third])
    assert bound.value == pytest.approx(first + second + third)


def test_corrected_is_below_printed_and_has_the_right_first_term():
    for alpha in (0.2, 0.55, 0.8):
        right = penalised_bound(alpha, **SHAPE, **PENALTY)
        printed = penalised_bound(alpha, **SHAPE, **PENALTY, printed=True)
        stability = penalised_stability(alpha, n_rows=200, n_features=3, **PENALTY)
        assert right.value < printed.value
        assert next(iter(right.parts.values())) == pytest.approx(2 * stability)
    # (.64 where .8 is printed; both agree for α ≤ .382)
    firsts = [
        next(iter(penalised_bound(0.8, **SHAPE, **PENALTY, printed=printed).parts.values()))
        for printed in (False, True)
    ]
    assert firsts[1] / firsts[0] == pytest.approx(1.25)


def test_units_of_money_and_of_demand():
    """In cents, and in grams instead of kilograms, a bound is the same statement."""
    euros = penalised_bound(Newsvendor(3, 1), Band(1, 4), **SHAPE, **PENALTY)
    cents = penalised_bound(
        Newsvendor(300, 100), Band(1, 4), **SHAPE, largest_feature=2.0, strength=50.0
    )
    assert cents.value == pytest.approx(100 * euros.value)
    # y = x'θ in grams: θ is 1000 times larger, costs per gram 1000 times smaller
    grams = penalised_bound(
        Newsvendor(0.003, 0.001),
        Band(1000, 4000),
        n_rows=200,
        n_features=3,
        largest_truth=10_000,
        largest_feature=2.0,
        strength=0.5e-6,
    )
    assert grams.value == pytest.approx(euros.value)
    linear = [linear_bound(c, **SHAPE).value for c in (Newsvendor(3, 1), Newsvendor(300, 100))]
    assert linear[1] == pytest.approx(100 * linear[0])


def test_network_bound_by_hand():
    """At n = e and δ = 1/e the logarithms are 1 and 2: n is whole, so near them."""
    bound = network_bound(
        0.8, n_rows=3, epochs=3, largest_truth=2, learning_rate=0.5, delta=exp(-1), constant=7
    )
    first = 7 * 0.64 * 0.5 * (3 + 6) * log(3) * log(3 * e)
    second = 7 * 0.8 * 2 * sqrt(1 / 3)
    assert list(bound.parts.values()) == pytest.approx([first, second])
    assert bound.ceiling == pytest.approx(1.6)
    assert bound.stability == pytest.approx(2 * 0.8 * 0.5 * 9)


def test_the_recommended_rate_is_the_default_and_gives_a_rate_of_a_root():
    rate = balanced_learning_rate(0.2, n_rows=100, epochs=9, largest_truth=12)
    assert rate == pytest.approx(12 / (0.8 * 100 * 3))
    same = {"n_rows": 100, "epochs": 9, "largest_truth": 12}
    fixed = network_bound(0.2, **same, learning_rate=rate)
    assert fixed.value == pytest.approx(network_bound(0.2, **same).value)
    large = [network_bound(0.2, n_rows=10**k, epochs=9, largest_truth=12) for k in (12, 14)]
    # a hundred times the rows: a tenth, but for two logarithms
    assert large[1].value / large[0].value == pytest.approx(0.1, rel=0.4)
    assert large[1].value < 0.14 * large[0].value


def test_stable_learning_rates_make_descent_stable():
    assert stable_learning_rate(n_rows=50, epochs=7) == pytest.approx(1 / 50)
    assert stable_learning_rate(n_rows=7, epochs=7) == pytest.approx(1 / 49)
    for few, many in [((10**4, 5), (10**6, 5)), ((5, 10**2), (5, 10**4))]:
        moved = []
        for n_rows, epochs in (few, many):
            rate = stable_learning_rate(n_rows=n_rows, epochs=epochs)
            moved.append(descent_stability(0.7, n_rows=n_rows, epochs=epochs, learning_rate=rate))
        assert moved[1] < 0.2 * moved[0]


def test_a_bound_speaks():
    small = penalised_bound(0.8, **SHAPE, **PENALTY)
    assert small.vacuous is False
    assert "at most" in str(small)
    assert "says nothing" not in str(small)
    assert small.value == pytest.approx(sum(small.parts.values()))
    tiny = penalised_bound(0.8, **SHAPE, largest_feature=2.0, strength=1e-4)
    assert tiny.vacuous
    assert "This says nothing: no decision can cost more than 8" in str(tiny)
    assert "Caution: it is based on Prop. LR-stable" in str(linear_bound(0.8, **SHAPE))
    assert small.ceiling == cost_supremum(0.8, largest_truth=10)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_rows": 0}, "n_rows must be a whole number of at least 1, got 0"),
        ({"n_rows": 2.5}, "n_rows must be a whole number"),
        ({"n_features": 0}, "n_features must be a whole number"),
        ({"largest_truth": -1}, "largest_truth must be a finite number above 0, got -1"),
        ({"largest_feature": 0}, "largest_feature must be a finite number above 0"),
        ({"strength": 0}, "strength must be a finite number above 0, got 0"),
        ({"strength": float("inf")}, "strength must be a finite number above 0"),
        ({"delta": 1}, "delta must be a number above 0 and below 1, got 1"),
        ({"delta": 0.0}, "delta must be a number above 0 and below 1"),
        ({"cost": 1.0}, "alpha must be strictly between 0 and 1"),
    ],
)
def test_bad_numbers_are_refused_in_one_sentence(change, sentence):
    given = {"cost": 0.8, **SHAPE, **PENALTY, **change}
    with pytest.raises(InvalidInput, match=sentence):
        penalised_bound(**given)
    if "largest_feature" in change or "strength" in change:
        return
    with pytest.raises(InvalidInput, match=sentence):
        linear_bound(**{k: v for k, v in given.items() if k not in PENALTY})
