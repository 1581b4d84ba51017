"""What must not change a network's decisions, and what must change them in a known way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmet import Band, NeuralDecision, Newsvendor

LEVELS = st.sampled_from([0.05, 0.2, 0.37, 0.71, 0.9, 0.98])
SEEDS = st.integers(0, 10**6)
SOLVERS = st.sampled_from(["lbfgs", "adam"])
quick = settings(max_examples=8, deadline=None)


def _rows(seed, n_rows=61):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3)) * generator.uniform(0.2, 5, size=3)
    s = 20 + 8 * np.tanh(X[:, 0]) * X[:, 1] + generator.gamma(2.0, 3.0, size=n_rows)
    return X, s, generator


def _fit(solver, alpha, X, s, band=None, given=None, **keywords):
    """Few passes in float64: rounding must not have the time to grow into another minimum."""
    common = {"hidden_layer_sizes": (4, 2), "max_iter": 8, "dtype": "float64", "random_state": 1}
    model = NeuralDecision(
        Newsvendor.at_level(alpha), band, solver=solver, **{**common, **(given or {})}
    )
    return model.fit(X, s, **keywords)


def _same(left, right, tolerance=1e-6):
    assert left == pytest.approx(right, rel=tolerance, abs=tolerance * np.abs(right).max())


@quick
@given(seed=SEEDS, alpha=LEVELS, solver=SOLVERS, power=st.sampled_from([-27, -6, 6, 27]))
def test_scaling_the_observations_scales_the_decisions(seed, alpha, solver, power):
    X, s, _ = _rows(seed)
    factor = 10.0**power
    held = {"strength": 0.02}  # of the penalty
    plain = _fit(solver, alpha, X, s, Band(1, 4), held)
    scaled = _fit(solver, alpha, X, factor * s, Band(factor, 4 * factor), held)
    _same(scaled.predict(X) / factor, plain.predict(X))
    assert scaled.training_cost_ / factor == pytest.approx(plain.training_cost_, rel=1e-6)


@quick
@given(seed=SEEDS, alpha=LEVELS, solver=SOLVERS, shift=st.sampled_from([-1e6, -3.0, 1e3, 1e6]))
def test_shifting_the_observations_shifts_the_decisions(seed, alpha, solver, shift):
    X, s, _ = _rows(seed)
    plain, moved = _fit(solver, alpha, X, s), _fit(solver, alpha, X, s + shift)
    assert moved.predict(X) - shift == pytest.approx(plain.predict(X), abs=1e-4)


@quick
@given(
    seed=SEEDS,
    alpha=LEVELS,
    solver=SOLVERS,
    scaling=st.sampled_from(["standard", "min-max"]),
    power=st.sampled_from([-27, -6, 6, 27]),
)
def test_units_of_the_features_do_not_matter(seed, alpha, solver, scaling, power):
    X, s, generator = _rows(seed)
    units = 10.0**power * generator.uniform(1, 9, size=3)
    offset = units * generator.normal(scale=10, size=3)
    plain = _fit(solver, alpha, X, s, given={"scaling": scaling})
    other = _fit(solver, alpha, X * units + offset, s, given={"scaling": scaling})
    _same(other.predict(X * units + offset), plain.predict(X))


@quick
@given(seed=SEEDS, alpha=LEVELS, band=st.sampled_from([None, Band(1, 6)]))
def test_integer_weights_are_repeated_rows(seed, alpha, band):
    X, s, generator = _rows(seed)
    times = generator.integers(0, 4, size=s.size)
    weighted = _fit("lbfgs", alpha, X, s, band, sample_weight=times)
    repeated = _fit("lbfgs", alpha, X.repeat(times, axis=0), s.repeat(times), band)
    _same(weighted.predict(X), repeated.predict(X))
    assert weighted.training_cost_ == pytest.approx(repeated.training_cost_, rel=1e-6)


@quick
@given(seed=SEEDS, alpha=LEVELS)
def test_the_order_of_the_rows_does_not_matter_to_lbfgs(seed, alpha):
    X, s, generator = _rows(seed)
    order = generator.permutation(s.size)
    high = generator.uniform(0, 5, size=s.size)
    plain = _fit("lbfgs", alpha, X, s, Band(0, high))
    shuffled = _fit("lbfgs", alpha, X[order], s[order], Band(0, high[order]))
    _same(shuffled.predict(X), plain.predict(X))
