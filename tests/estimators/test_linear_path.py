import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from unmet import Band, LinearDecision, Newsvendor

LEVELS = (0.15, 0.35, 0.6, 0.85, 0.95)


def _assert_same(model, alone, X):
    assert model.solution_.objective == pytest.approx(alone.solution_.objective, rel=1e-8)
    assert model.cost == alone.cost
    assert model.band == alone.band
    assert model.get_params() == alone.get_params()


def test_a_grid_of_levels_equals_separate_fits(rows):
    X, s = rows
    costs = [Newsvendor.at_level(alpha) for alpha in LEVELS]
    models = LinearDecision(band=Band(0, 2), penalty="l1", strength=0.01).fit_path(
        X, s, costs=costs
    )
    assert len(models) == len(LEVELS)
    for cost, model in zip(costs, models, strict=True):
        alone = LinearDecision(cost, Band(0, 2), penalty="l1", strength=0.01).fit(X, s)
        _assert_same(model, alone, X)
    means = [model.predict(X).mean() for model in models]
    assert means == sorted(means)


def test_a_grid_of_bands_equals_separate_fits_and_mixes_kinds(rows):
    X, s = rows
    generator = np.random.default_rng(1)
    weight = generator.integers(0, 3, size=s.size)
    bands = [None, Band(0, 1), Band(0, generator.uniform(0, 5, size=s.size)), Band(3, 3)]
    own = LinearDecision(Newsvendor(4, 1))
    models = own.fit_path(X, s, bands=bands, sample_weight=weight)
    for band, model in zip(bands, models, strict=True):
        alone = LinearDecision(Newsvendor(4, 1), band).fit(X, s, sample_weight=weight)
        _assert_same(model, alone, X)
    with pytest.raises(NotFittedError):
        own.predict(X)


def test_pairs_are_taken_together(rows):
    X, s = rows
    costs, bands = [Newsvendor(1, 2), Newsvendor(5, 1)], [Band(0, 1), None]
    models = LinearDecision().fit_path(X, s, costs=costs, bands=bands)
    assert [(model.cost, model.band) for model in models] == list(zip(costs, bands, strict=True))
    single = LinearDecision().fit_path(X, s, costs=costs[0], bands=bands[0])
    assert single[0].solution_.objective == pytest.approx(models[0].solution_.objective, rel=1e-8)
    assert LinearDecision().fit_path(X, s, costs=[]) == []
