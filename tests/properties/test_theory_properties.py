"""Theorems about the theorems, on random costs, bands and data sets."""

import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[1] / "paper" / "theory"))
from measured import argument_stability, leave_one_out

from paper.theory import (
    cost_supremum,
    descent_stability,
    linear_bound,
    lipschitz_constant,
    network_bound,
    penalised_bound,
    penalised_stability,
    printed_cost_bound,
    sample_size_for,
)
from unmet import Band, Newsvendor

levels = st.floats(0.02, 0.98)
seeds = st.integers(0, 2**32 - 1)
strengths = st.floats(-4, 2).map(lambda power: 10.0**power)
bands = st.none() | st.tuples(st.floats(0, 30), st.floats(0, 60)).map(
    lambda ends: Band(ends[0], ends[0] + ends[1])
)


@given(levels, bands, st.floats(0.1, 50), seeds)
def test_no_cost_exceeds_the_supremum_and_one_attains_it(level, band, top, seed):
    cost, generator = Newsvendor.at_level(level), np.random.default_rng(seed)
    highest = cost_supremum(level, band, largest_truth=top)
    decisions, seen = generator.uniform(0, top, (2, 300))
    assert cost.loss(decisions, seen, band).max() <= highest * (1 + 1e-12)
    corners = cost.loss([0.0, 0.0, top, top], [0.0, top, 0.0, top], band)
    np.testing.assert_allclose(corners.max(), highest, rtol=1e-12, atol=1e-12)
    assert highest <= printed_cost_bound(level, band, largest_truth=top) * (1 + 1e-12)


@given(levels, bands, seeds)
def test_the_lipschitz_constant_is_tight(level, band, seed):
    cost, steep = Newsvendor.at_level(level), lipschitz_constant(level)
    generator = np.random.default_rng(seed)
    first, second, seen = generator.uniform(-200, 200, (3, 200))
    change = np.abs(cost.loss(first, seen, band) - cost.loss(second, seen, band))
    assert (change <= steep * np.abs(first - second) * (1 + 1e-9) + 1e-9).all()
    far = np.array([[-300.0, -299.0], [300.0, 301.0]])  # below and above every band
    slopes = [np.ptp(cost.loss(pair, 0.0, band)) for pair in far]
    np.testing.assert_allclose(max(slopes), steep, rtol=1e-9)


@given(seeds, levels, strengths, st.booleans(), st.integers(3, 12), st.integers(1, 3))
def test_leaving_out_a_row_never_moves_penalised_costs_beyond_the_bound(
    seed, level, strength, banded, n_rows, n_features
):
    """Prop. LR-R-stable, at the worst feature vector and observation there are."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n_rows, n_features))
    X[:, 0] = 1.0
    sales = generator.uniform(0, 10, n_rows) * generator.choice([0.01, 1.0], n_rows)
    band = Band(0.5, 2.0) if banded else None
    longest = np.linalg.norm(X, axis=1).max()
    shape = {"n_rows": n_rows, "n_features": n_features, "strength": strength}
    shape["largest_feature"] = longest / np.sqrt(n_features)
    how = {"largest_truth": 10.0, "strength": strength}
    kept = leave_one_out(X, sales, level, band, **how).largest
    gone = leave_one_out(X, sales, level, band, left_out="is gone", **how).largest
    # what the solver leaves open moves costs, too: √(gap / λ) in the coefficients
    slack = 1e-4 * min(1.0, strength**-0.5)
    assert kept <= penalised_stability(level, **shape) + slack
    assert gone <= penalised_stability(level, refit=True, **shape) + slack


@given(seeds, levels, st.integers(1, 9), st.integers(1, 5), st.floats(-3, 1))
def test_neighbouring_descents_stay_together(seed, level, n_rows, epochs, power):
    """Prop. DNN-UASBound where it holds: linear decisions, ‖x‖ ≤ 1."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows + 1, 2))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    run = {"learning_rate": 10.0**power, "epochs": epochs}
    moved = argument_stability(
        X[:-1],
        generator.uniform(0, 5, n_rows),
        level,
        row=int(generator.integers(n_rows)),
        features=X[-1],
        observation=float(generator.choice([-50.0, 0.0, 5.0, 50.0])),
        order=generator.permutation(n_rows),
        **run,
    )
    assert moved <= descent_stability(level, n_rows=n_rows, **run) * (1 + 1e-9)


@given(levels, bands, st.integers(1, 40), st.floats(0.1, 50), st.floats(-4, 2), st.integers(0, 2))
def test_a_sample_size_is_exact(level, band, n_features, top, power, which):
    """The bound is at most the gap with so many rows, and above it with one less."""
    shape = {"n_rows": 7, "largest_truth": top}
    if which == 0:
        bound = linear_bound(level, band, n_features=n_features, **shape)
    elif which == 1:
        penalty = {"largest_feature": 1.5, "strength": 0.2}
        bound = penalised_bound(level, band, n_features=n_features, **penalty, **shape)
    else:
        bound = network_bound(level, band, epochs=n_features, **shape)
    gap = 10.0**power
    rows = sample_size_for(gap, bound)
    assert bound.at(rows).value <= gap
    assert rows == 1 or bound.at(rows - 1).value > gap
    assert all(bound.at(rows + more).value <= gap for more in (1, 10, 60, 1000, 10 * rows))
