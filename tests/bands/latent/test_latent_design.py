"""The basis of location and scale: orthogonal, whatever the features look like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unmet.bands.latent.fitting import OrthogonalBasis


def spans(basis, features):
    """How much of the features the basis cannot say, beside their size."""
    wide = np.column_stack([np.ones(len(features)), features])
    rest = wide - basis @ np.linalg.lstsq(basis, wide, rcond=None)[0]
    return np.abs(rest).max(axis=0) / np.abs(wide).max(axis=0).clip(1e-300)


def gram(basis, weight):
    return (basis * weight[:, None]).T @ basis / weight.sum()


@given(
    seed=st.integers(0, 10**6),
    n_columns=st.integers(1, 6),
    log_size=st.floats(-8.0, 8.0),
    shift=st.floats(-50.0, 50.0),
)
def test_columns_are_uncorrelated_of_size_one_and_span_the_features(
    seed, n_columns, log_size, shift
):
    generator = np.random.default_rng(seed)
    mixed = generator.normal(size=(60, n_columns)) @ generator.normal(size=(n_columns, n_columns))
    features = 10.0**log_size * (mixed + shift)
    weight = generator.gamma(2.0, size=60)
    basis = OrthogonalBasis.of(features, weight).basis(features)
    np.testing.assert_allclose(gram(basis, weight), np.eye(basis.shape[1]), atol=1e-5)
    assert spans(basis, features).max() < 1e-4


def test_constant_columns_are_left_out():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(80, 2))
    constants = np.tile([0.0, 1.0, 1e9, -3e-9, 1 / 3], (80, 1))
    both = np.column_stack([features, constants])
    basis = OrthogonalBasis.of(both, np.ones(80)).basis(both)
    assert basis.shape[1] == 3
    assert spans(basis, features).max() < 1e-9
    alone = OrthogonalBasis.of(constants, np.ones(80)).basis(constants)
    np.testing.assert_array_equal(alone, np.ones((80, 1)))


def test_a_full_set_of_dummies_loses_one_column():
    day = np.eye(7)[np.random.default_rng(1).integers(0, 7, 200)]
    basis = OrthogonalBasis.of(day, np.ones(200)).basis(day)
    assert basis.shape[1] == 7
    np.testing.assert_allclose(gram(basis, np.ones(200)), np.eye(7), atol=1e-9)
    assert spans(basis, day).max() < 1e-9


def test_collinear_columns_count_once():
    generator = np.random.default_rng(2)
    two = generator.normal(size=(90, 2))
    features = np.column_stack([two, two @ [3.0, -1.0], 1e6 * two[:, 0], two[:, 1] - 4.0])
    basis = OrthogonalBasis.of(features, np.ones(90)).basis(features)
    assert basis.shape[1] == 3
    assert spans(basis, two).max() < 1e-6


def test_more_columns_than_rows_give_a_basis_of_the_rows():
    features = np.random.default_rng(3).normal(size=(20, 50))
    basis = OrthogonalBasis.of(features, np.ones(20)).basis(features)
    assert basis.shape[1] == 20
    np.testing.assert_allclose(gram(basis, np.ones(20)), np.eye(20), atol=1e-6)


def test_columns_of_wildly_different_sizes_all_count():
    generator = np.random.default_rng(4)
    features = generator.normal(size=(100, 3)) * [1e-9, 1.0, 1e9] + [0.0, 2016.0, 1e9]
    basis = OrthogonalBasis.of(features, np.ones(100)).basis(features)
    assert basis.shape[1] == 4
    np.testing.assert_allclose(gram(basis, np.ones(100)), np.eye(4), atol=1e-6)


def test_a_year_is_not_a_constant():
    year = np.repeat([2016.0, 2017.0], 50)[:, None]
    basis = OrthogonalBasis.of(year, np.ones(100)).basis(year)
    np.testing.assert_allclose(np.abs(basis[:, 1]), 1.0, rtol=1e-6)


def test_no_columns_leave_the_constant():
    nothing = np.empty((12, 0))
    np.testing.assert_array_equal(
        OrthogonalBasis.of(nothing, np.ones(12)).basis(nothing), np.ones((12, 1))
    )


def test_sparse_features_have_the_basis_of_dense_ones():
    generator = np.random.default_rng(5)
    features = (generator.random((150, 9)) < 0.2) * generator.normal(2.0, 1.0, (150, 9))
    weight = generator.gamma(3.0, size=150)
    dense = OrthogonalBasis.of(features, weight)
    thin = OrthogonalBasis.of(sparse.csr_array(features), weight)
    np.testing.assert_allclose(thin.mean, dense.mean)
    found = thin.basis(sparse.csr_array(features))
    assert isinstance(found, np.ndarray)
    # eigenvectors are unique up to their sign
    expected = dense.basis(features)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_integer_weights_are_repeated_rows():
    generator = np.random.default_rng(6)
    features = generator.normal(size=(50, 3))
    count = generator.integers(0, 4, 50)
    weighted = OrthogonalBasis.of(features, count.astype(float))
    repeated = OrthogonalBasis.of(np.repeat(features, count, axis=0), np.ones(count.sum()))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(
        np.abs(weighted.basis(features)), np.abs(repeated.basis(features)), atol=1e-8
    )


def test_other_rows_get_the_features_of_the_training_rows():
    generator = np.random.default_rng(7)
    features = generator.normal(size=(70, 3))
    design = OrthogonalBasis.of(features, np.ones(70))
    line = generator.normal(size=4)
    fitted = np.linalg.lstsq(
        design.basis(features), np.column_stack([np.ones(70), features]) @ line, rcond=None
    )[0]
    new = generator.normal(size=(5, 3)) * 10.0
    np.testing.assert_allclose(
        design.basis(new) @ fitted, np.column_stack([np.ones(5), new]) @ line, rtol=1e-7
    )
    assert design.basis(new[:1]).shape == pytest.approx((1, 4))
