"""Rows: merged or not, weighted or repeated, present or absent; units they are scaled to."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from small_networks import (
    evaluated_rows,
    full_batch,
    newsvendors,
    one_by_one,
    random_parameters,
    small_data,
)

from unmet import Band, Newsvendor, SquaredError
from unmet.solvers.losses import Units
from unmet.solvers.neural.networks import FeatureScaling, NetworkLayout
from unmet.solvers.neural.optimisers import DistinctRows

LAYOUT = NetworkLayout(2, (3, 2))


def _same_objective(left, right, n_networks, generator, width=0.3):
    parameters = random_parameters(LAYOUT, n_networks, generator)
    arguments = parameters, np.full(n_networks, width), np.arange(n_networks)
    value, gradient = left(*arguments)
    expected = right(*arguments)
    assert value == pytest.approx(expected[0], rel=1e-11)
    assert gradient == pytest.approx(expected[1], rel=1e-9, abs=1e-13)
    assert np.abs(gradient).max() > 1e-3


def _categorical(n_rows, generator):
    """Few distinct rows, not equally frequent, in random order."""
    codes = generator.permutation(np.arange(n_rows) % 60)
    return np.column_stack([codes % 6, codes // 6]).astype(float)


@pytest.mark.parametrize("n_rows", [300, 350])
@pytest.mark.parametrize("kind", ["newsvendor", "squared", "some rows"])
def test_merging_equal_rows_changes_nothing(n_rows, kind):
    generator = np.random.default_rng(1)
    X = _categorical(n_rows, generator)
    s = generator.gamma(2.0, 5.0, size=n_rows)
    merged = DistinctRows.of(X)
    assert merged.n_blocks == 6 - (n_rows == 300)
    assert merged.inputs.shape == (2, 60)
    assert np.array_equal(merged.inputs.T[merged.place], X)
    places = None
    if kind == "newsvendor":
        evaluated = newsvendors(s, generator)
    elif kind == "squared":
        share = generator.dirichlet(np.ones(n_rows))
        evaluated = [
            evaluated_rows(s, SquaredError(), Band(0, 2), share),
            evaluated_rows(s, SquaredError(), None, None),
        ]
    else:
        places = [np.arange(200), np.arange(0, n_rows, 7)]
        whole = evaluated_rows(s, Newsvendor(4, 1), Band(1, 3), None)
        evaluated = [whole.take(each) for each in places]
    several, alone = (
        full_batch(X, evaluated, LAYOUT, "sigmoid", rows=rows, places=places)[0]
        for rows in (merged, one_by_one(X))
    )
    _same_objective(several, alone, len(evaluated), generator)


def test_rows_that_do_not_repeat_evenly_are_not_merged():
    generator = np.random.default_rng(2)
    X = np.repeat(generator.normal(size=(100, 2)), 4, axis=0)
    assert DistinctRows.of(X).n_blocks == 4
    X[:99] = X[0]  # one row a hundred times, the others four times: mostly gaps
    assert DistinctRows.of(X).n_blocks == 1
    assert DistinctRows.of(X[:200:2]).n_blocks == 1  # too few to look


@pytest.mark.parametrize(
    "cost", [Newsvendor(4, 1), SquaredError(), Newsvendor(np.arange(1, 41), 2)]
)
@pytest.mark.parametrize("band", [None, Band(0.5, 3), Band(0, np.linspace(0, 6, 40))])
def test_integer_weights_are_repeated_rows(cost, band):
    X, s, generator = small_data(40, 2)
    times = generator.integers(1, 5, size=40)
    weighted = evaluated_rows(s, cost, band, times / times.sum())
    again = np.repeat(np.arange(40), times)
    repeated = evaluated_rows(s, cost, band).take(again)
    left, (units,) = full_batch(X, [weighted], LAYOUT, "tanh")
    right, (same,) = full_batch(X[again], [repeated], LAYOUT, "tanh")
    assert vars(units) == pytest.approx(vars(same))
    _same_objective(left, right, 1, generator)


def test_rows_of_another_network_are_absent():
    """Networks with rows of their own, in common arrays, and each alone on its rows."""
    X, s, generator = small_data(40, 2)
    whole = newsvendors(s, generator)
    some = [generator.permutation(40)[:size] for size in (12, 25, 39)]
    evaluated = [each.take(rows) for each, rows in zip(whole, some, strict=True)]
    together, _ = full_batch(X, evaluated, LAYOUT, "relu", places=some)
    parameters = random_parameters(LAYOUT, 3, generator)
    value, gradient = together(parameters, np.full(3, 0.2), np.arange(3))
    for place, (each, rows) in enumerate(zip(evaluated, some, strict=True)):
        if each.share is not None:
            assert each.share.sum() == pytest.approx(1.0)
        evaluate, _ = full_batch(X[rows], [each], LAYOUT, "relu")
        expected = evaluate(parameters[place : place + 1], np.full(1, 0.2), np.arange(1))
        assert value[place] == pytest.approx(expected[0][0], rel=1e-12)
        assert gradient[place] == pytest.approx(expected[1][0], rel=1e-10, abs=1e-14)


def _columns():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(50, 5)) * [1, 1e-5, 1e6, 1, 1] + [0, 0, 0, 1e7, 0]
    X[:, 4] = generator.random(50) < 0.3
    X[generator.random(X.shape) < 0.4] = 0
    return X, generator


def test_units_are_those_of_scikit_learn():
    X, generator = _columns()
    share = generator.dirichlet(np.ones(50))
    for weights in (None, share):
        units = FeatureScaling.of(X, weights, "standard")
        expected = StandardScaler().fit(X, sample_weight=weights)
        assert units.location == pytest.approx(expected.mean_, rel=1e-9)
        assert units.unit == pytest.approx(expected.scale_, rel=1e-9)
        scaled = FeatureScaling.of(X, weights, "min-max").dense(X, "float64")
        assert scaled == pytest.approx(MinMaxScaler().fit_transform(X), abs=1e-12)


@pytest.mark.parametrize("kind", ["standard", "min-max"])
def test_sparse_features_have_the_units_of_dense_ones(kind):
    X, generator = _columns()
    share = generator.dirichlet(np.ones(50))
    X = np.column_stack([X, np.full(50, 0.1), np.full(50, 2016.0), np.zeros(50), -abs(X[:, 0])])
    twice = sparse.coo_array((np.tile(X[X != 0] / 2, 2), np.tile(np.nonzero(X), 2)), shape=X.shape)
    for table in (sparse.csr_array(X), sparse.csr_array(twice)):
        for weights in (None, share):
            dense, thin = (FeatureScaling.of(each, weights, kind) for each in (X, table))
            assert thin.location == pytest.approx(dense.location, rel=1e-9, abs=1e-12)
            assert thin.unit == pytest.approx(dense.unit, rel=1e-9)
            assert thin.dense(table, "float64") == pytest.approx(
                dense.dense(X, "float64"), abs=1e-6
            )


def test_constant_columns_become_zero_and_dummies_stay():
    X = np.column_stack([np.full(30, 0.1), np.full(30, 1e9), np.arange(30) % 2, np.zeros(30)])
    for kind in ("standard", "min-max"):
        scaled = FeatureScaling.of(X, None, kind).dense(X, "float32")
        assert (scaled[:, [0, 1, 3]] == 0).all()
        assert scaled.dtype == np.float32
    assert np.array_equal(scaled[:, 2], X[:, 2])


@pytest.mark.parametrize("factor", [1e-200, 1e-6, 1e6, 1e200])
def test_units_grow_with_the_numbers(factor):
    generator = np.random.default_rng(4)
    X, s = generator.normal(size=(30, 2)), generator.gamma(2.0, size=30)
    for kind in ("standard", "min-max"):
        plain = FeatureScaling.of(X, None, kind).dense(X, "float64")
        scaled = FeatureScaling.of(factor * X, None, kind).dense(factor * X, "float64")
        assert scaled == pytest.approx(plain, rel=1e-9)
        units = Units.of(evaluated_rows(s, SquaredError(), None, None), kind)
        other = Units.of(evaluated_rows(factor * s, SquaredError(), None, None), kind)
        assert other.unit / factor == pytest.approx(units.unit)
        assert other.centre / factor == pytest.approx(units.centre)


def test_units_of_observations():
    s, share = np.array([1.0, 2.0, 10.0]), np.array([0.5, 0.25, 0.25])
    units = Units.of(evaluated_rows(s, SquaredError(), None, share), "standard")
    assert (units.centre, units.unit**2) == pytest.approx((3.5, 26.5 - 3.5**2))
    units = Units.of(evaluated_rows(s, SquaredError(), None, share), "min-max")
    assert (units.centre, units.unit) == (1.0, 9.0)
    assert np.array_equal(units.decisions(np.array([0.0, 1.0])), [1.0, 10.0])
    for constant, unit in ((7.0, 7.0), (-3.0, 3.0), (0.0, 1.0)):
        for kind in ("standard", "min-max"):
            units = Units.of(evaluated_rows(np.full(3, constant), SquaredError(), None, None), kind)
            assert (units.centre, units.unit) == (constant, unit)
