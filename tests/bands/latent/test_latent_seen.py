"""Quantiles of the observations as they are: what a model without a band decides."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.bands.latent.fitting import OrthogonalBasis
from unmet.bands.latent.prediction import ObservedQuantiles
from unmet.costs import Newsvendor
from unmet.models import LinearDecision


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(151, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 0.0]
    truth = 40.0 + features @ [2.0, 0.5, 3.0] + generator.gamma(2.0, 4.0, size=151)
    weight = generator.gamma(2.0, size=151)
    return features, truth, weight / weight.mean()


def quantiles(rows, weight=None):
    features, observation, weights = rows
    design = OrthogonalBasis.of(features, weights if weight is None else weight)
    seen = ObservedQuantiles(
        design.basis(features), observation, weights if weight is None else weight
    )
    return seen, design


@pytest.mark.parametrize("level", [0.12, 0.4, 0.9])
def test_they_are_the_decisions_of_a_linear_model_without_a_band(rows, level):
    features, observation, weight = rows
    seen, design = quantiles(rows)
    model = LinearDecision(Newsvendor.at_level(level)).fit(
        features, observation, sample_weight=weight
    )
    new = np.random.default_rng(2).normal(size=(20, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 0.0]
    for each in (features, new):
        found = seen.quantile(design.basis(each), level)
        np.testing.assert_allclose(found, model.predict(each), rtol=1e-6)


def test_a_level_for_each_row_is_that_level_alone(rows):
    features, _, _ = rows
    seen, design = quantiles(rows)
    basis = design.basis(features)
    level = np.where(features[:, 0] > 0, 0.8, 0.3)
    found = seen.quantile(basis, level)
    for each in (0.3, 0.8):
        np.testing.assert_allclose(
            found[level == each], seen.quantile(basis, each)[level == each], rtol=1e-9
        )


def test_many_levels_are_interpolated(rows):
    features, _, _ = rows
    seen, design = quantiles(rows)
    basis = design.basis(features)
    level = np.linspace(0.2, 0.9, features.shape[0])
    found = seen.quantile(basis, level)
    assert len(seen.solved) < 20
    assert found[0] == pytest.approx(seen.quantile(basis[:1], 0.2)[0])
    assert found[-1] == pytest.approx(seen.quantile(basis[-1:], 0.9)[0])
    exact = np.array(
        [seen.quantile(basis[row : row + 1], float(level[row]))[0] for row in range(0, 151, 10)]
    )
    assert np.abs(found[::10] - exact).max() < 0.25 * rows[1].std()
    assert np.abs(found[::10] - exact).mean() < 0.03 * rows[1].std()


def test_each_level_is_solved_once(rows):
    seen, design = quantiles(rows)
    basis = design.basis(rows[0])
    first = seen.quantile(basis, 0.7)
    line = seen.solved[0.7]
    np.testing.assert_array_equal(seen.quantile(basis, 0.7), first)
    assert seen.solved[0.7] is line
    assert list(seen.solved) == [0.7]


def test_integer_weights_are_repeated_rows(rows):
    features, observation, _ = rows
    count = np.random.default_rng(3).integers(0, 4, 151)
    design = OrthogonalBasis.of(features, np.ones(151))
    basis = design.basis(features)
    weighted = ObservedQuantiles(basis, observation, count / count.mean())
    repeated = ObservedQuantiles(
        np.repeat(basis, count, axis=0), np.repeat(observation, count), np.ones(count.sum())
    )
    found, expected = (each.quantile(basis, 0.83) for each in (weighted, repeated))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_constant_alone_gives_the_sample_quantile():
    observation = np.random.default_rng(4).gamma(2.0, size=101)
    seen = ObservedQuantiles(np.ones((101, 1)), observation, np.ones(101))
    found = seen.quantile(np.ones((2, 1)), 0.83)
    np.testing.assert_allclose(found, np.sort(observation)[83], rtol=1e-7)


def test_units_do_not_matter(rows):
    features, observation, weight = rows
    basis = OrthogonalBasis.of(features, weight).basis(features)
    expected = ObservedQuantiles(basis, observation, weight).quantile(basis, 0.66)
    for factor in (1e6, 1e-6):
        found = ObservedQuantiles(basis, factor * observation, weight).quantile(basis, 0.66)
        np.testing.assert_allclose(found / factor, expected, rtol=1e-6)
