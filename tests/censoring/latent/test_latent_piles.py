"""Planes on which observations have a point mass: found where there is one, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.censoring.latent.likelihood import FLOOR
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.orders import find_order_plane
from unmet.costs import SquaredError
from unmet.rows import Rows
from unmet.simulate import store10


def look(features, observation):
    observed = Observed.of(Rows(features, observation, SquaredError()))
    return find_order_plane(features, observation, observed.lattice, observed.kind != FLOOR)


def one_hot(generator, n_rows, *sizes):
    return np.column_stack(
        [np.eye(size)[generator.integers(0, size, n_rows)][:, 1:] for size in sizes]
    )


def designs(generator, n_rows):
    return [
        generator.normal(size=(n_rows, 2)),
        one_hot(generator, n_rows, 7, 4),
        generator.integers(0, 2, (n_rows, 1)).astype(float),
        np.zeros((n_rows, 1)),
        generator.integers(0, 10, (n_rows, 2)).astype(float),
    ]


def means(features, mean):
    """Log-linear in the features, about `mean`."""
    centred = features - features.mean(axis=0)
    line = centred @ np.linspace(0.5, 1.0, features.shape[1])
    return mean * np.exp(0.3 * line / max(float(line.std()), 1e-9))


@pytest.mark.parametrize("clip", [True, False])
def test_the_orders_of_store_10_are_found_exactly(clip):
    train = store10(seed=3, clip=clip).train
    order_plane = look(train.features, train.sales)
    # a sale of nothing from nothing is a row at the bottom
    sold_out = (train.demand >= train.order) & ((train.sales > 0) | (not clip))
    np.testing.assert_array_equal(order_plane.on, sold_out)
    assert order_plane.unlimited == 0.0
    positive = train.order > 0
    np.testing.assert_allclose(
        order_plane.level(train.features)[positive], train.order[positive], rtol=1e-6, atol=1e-6
    )


def piled_with_ample(seed, unlimited, n_rows=600):
    generator = np.random.default_rng(seed)
    features = np.column_stack([generator.normal(size=n_rows), generator.random(n_rows) < 0.4])
    level = 50.0 + features @ [6.0, 9.0]
    truth = level + 8.0 * generator.normal(size=n_rows) - 2.0
    binds = generator.random(n_rows) >= unlimited
    return features, np.where(binds, np.minimum(truth, level), truth), level, truth, binds


@pytest.mark.parametrize("unlimited", [0.1, 0.5])
def test_a_pile_inside_the_observations_is_found(unlimited):
    features, seen, level, truth, binds = piled_with_ample(2, unlimited)
    order_plane = look(features, seen)
    np.testing.assert_array_equal(order_plane.on, binds & (truth > level))
    beyond = truth > level
    assert order_plane.unlimited == pytest.approx((~binds & beyond).sum() / beyond.sum())
    np.testing.assert_allclose(order_plane.coefficients, [6.0, 9.0], rtol=1e-6)
    assert order_plane.intercept == pytest.approx(50.0)


def test_whole_numbers_tie_by_chance_and_are_no_pile():
    """Poisson, overdispersed, binomial and rounded."""
    found, tried = 0, 0
    for mean in (0.3, 6.0):
        generator = np.random.default_rng([0, int(10 * mean)])
        for features in designs(generator, 120):
            rows = means(features, mean)
            for observation in (
                generator.poisson(rows),
                generator.negative_binomial(1.5, 1.5 / (1.5 + rows)),
                generator.binomial(3, 0.8, rows.size),
                np.round(generator.gamma(2.0, rows / 2.0), 1),
                np.round(10.0 + 0.5 * generator.normal(size=rows.size)),
            ):
                tried += 1
                found += look(features, np.asarray(observation, dtype=float)) is not None
    assert tried == 50
    assert found == 0


def test_continuous_observations_are_no_pile():
    generator = np.random.default_rng(0)
    for features in designs(generator, 300):
        rows = means(features, 20.0)
        for observation in (
            rows + 5.0 * generator.normal(size=300),
            generator.gamma(2.0, rows / 2.0),
            rows + generator.standard_t(2.0, size=300),
            np.maximum(rows + 20.0 * generator.normal(size=300), 0.0),
        ):
            assert look(features, observation) is None


def test_noise_around_the_orders_is_no_pile():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(500, 2))
    level = features @ [3.0, 1.0] + 20.0
    order = level + 0.05 * generator.normal(size=500)
    assert look(features, np.minimum(order, level + 4.0 * generator.normal(size=500))) is None
