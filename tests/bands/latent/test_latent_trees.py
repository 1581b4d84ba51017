"""Trees on what a plane leaves: how many, where they split, and that no row tells on itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from unmet.bands.latent.location import Bins, grow, grow_again, one_thread


@pytest.fixture(autouse=True)
def quiet():
    with one_thread():
        yield


def folds_of(n_rows, count=4):
    return list(KFold(count, shuffle=True, random_state=1).split(np.zeros(n_rows)))


def grown(features, target, weight=None, **options):
    weight = np.ones(target.size) if weight is None else weight
    options = {"most": 60, **options}
    return grow(features, target, weight, folds_of(target.size), Bins.of(features), **options)


def bent(seed=0, n_rows=600, noise=1.0):
    generator = np.random.default_rng(seed)
    features = generator.uniform(-1, 1, (n_rows, 3))
    level = 20 + 5 * features[:, 0] + 8 * (features[:, 1] * features[:, 2] > 0)
    return features, level, level + noise * generator.normal(size=n_rows)


def test_a_plane_needs_no_trees():
    generator = np.random.default_rng(3)
    features = generator.normal(size=(500, 4))
    target = 3 + features @ [1.0, -2.0, 0.5, 0.0] + generator.normal(size=500)
    found = grown(features, target)
    assert found.n_trees <= 5  # held-out rows may like a handful by chance
    straight = LinearRegression().fit(features, target)
    error = (found.predict(features) - straight.predict(features)).std()
    assert error < 0.35
    np.testing.assert_allclose(
        found.straight[folds_of(500)[0][1]],
        LinearRegression()
        .fit(features[folds_of(500)[0][0]], target[folds_of(500)[0][0]])
        .predict(features[folds_of(500)[0][1]]),
    )


def test_bends_are_followed_beyond_the_plane():
    features, level, target = bent()
    found = grown(features, target)
    assert found.n_trees >= 20
    plane = np.sqrt(np.mean((level - found.straight) ** 2))
    assert plane > 3.5  # an exclusive or: no plane sees it
    assert np.sqrt(np.mean((level - found.held_out) ** 2)) < 0.4 * plane
    fresh, truth, _ = bent(seed=9)
    assert np.sqrt(np.mean((truth - found.predict(fresh)) ** 2)) < 0.4 * plane


def test_their_number_is_where_rows_held_out_are_told_best():
    features, _, target = bent(n_rows=300, noise=2.0)
    short, long = grown(features, target, most=20), grown(features, target, most=300)
    assert short.n_trees == 20 < long.n_trees < 300
    error = {
        count: np.mean((target - each.held_out) ** 2) for count, each in ((20, short), (0, long))
    }
    assert error[0] < error[20]
    # fits that grew far beyond are worse on the rows held out
    far = grow_again(features, target, np.ones(300), folds_of(300), replace(long, n_trees=300))
    assert np.mean((target - far) ** 2) > error[0]


def test_no_row_has_a_part_in_its_own_prediction():
    features, _, target = bent(n_rows=300)
    found = grown(features, target)
    folds = folds_of(300)
    first = grow_again(features, target, np.ones(300), folds, found)
    np.testing.assert_allclose(first, found.held_out)
    row = int(folds[2][1][0])
    moved = target.copy()
    moved[row] += 1000.0
    second = grow_again(features, moved, np.ones(300), folds, found)
    assert second[row] == first[row]
    np.testing.assert_array_equal(second[folds[2][1]], first[folds[2][1]])
    assert np.abs(second - first).max() > 1.0


def test_rows_without_weight_teach_nothing():
    features, _, target = bent(n_rows=400)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    wild = np.where(weight > 0, target, 1e4)
    found = grown(features, wild, weight)
    error = np.abs(found.predict(features)[:200] - target[:200])
    assert error.mean() < 3.0


def test_a_scale_of_weights_means_nothing():
    features, _, target = bent(n_rows=300)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 300)
    one, other = (grown(features, target, scale * weight) for scale in (1.0, 8.0))
    np.testing.assert_allclose(one.held_out, other.held_out)


def test_without_a_plane_the_mean_is_where_trees_begin():
    features, _, target = bent()
    found = grown(features, target, bends_only=True)
    inside, outside = folds_of(600)[1]
    np.testing.assert_allclose(found.straight[outside], target[inside].mean())
    assert found.plane is None
    assert np.corrcoef(found.predict(features), target)[0, 1] > 0.9


def test_wide_tables_get_a_ridge():
    generator = np.random.default_rng(5)
    features = generator.normal(size=(200, 150))
    target = features[:, 0] + 0.1 * generator.normal(size=200)
    found = grown(features, target)
    assert np.mean((target - found.straight) ** 2) < target.var()


def test_a_target_without_noise_is_followed_closely():
    features, level, _ = bent()
    ones = np.ones(level.size)
    found = grow(features, level, ones, (), Bins.of(features), most=300)
    assert found.n_trees == 300
    assert np.abs(found.predict(features) - level).mean() < 0.2


# --- bins ---------------------------------------------------------------------------------------


def test_few_values_have_a_bin_each_and_new_ones_go_to_the_nearest():
    column = np.array([3.0, 1.0, 1.0, 7.0])[:, None]
    bins = Bins.of(column)
    np.testing.assert_array_equal(bins.codes(column)[:, 0], [1, 0, 0, 2])
    np.testing.assert_array_equal(
        bins.codes(np.array([[-9.0], [1.9], [2.1], [4.9], [5.1], [99.0]]))[:, 0],
        [0, 0, 1, 1, 2, 2],
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=700))
def test_bins_keep_the_order_and_are_few(values):
    column = np.array(values)[:, None]
    codes = Bins.of(column).codes(column)[:, 0]
    assert np.unique(codes).size <= 255
    order = np.argsort(column[:, 0], kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    same = np.diff(column[order, 0]) == 0
    assert (np.diff(codes[order])[same] == 0).all()


def test_many_values_fill_their_bins_evenly():
    column = np.random.default_rng(0).exponential(size=(5000, 1))
    counts = np.bincount(Bins.of(column).codes(column)[:, 0].astype(int))
    assert counts.size == 255
    assert counts.max() < 1.3 * counts.mean()
