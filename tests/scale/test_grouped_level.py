import numpy as np
import pytest

from unmet.scale.grouped.keys import GroupIndex
from unmet.scale.grouped.pooling import Level, Seen, cross_fitted, fold_rows


def rows(sizes, means, deviation, seed=0, places=None):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    y = np.asarray(means, float)[codes] + deviation * np.random.default_rng(seed).normal(
        size=codes.size
    )
    places = np.arange(len(sizes))[:, None] if places is None else np.array(places)
    index = GroupIndex([np.arange(column.max() + 1) for column in places.T], places)
    weight = np.ones(codes.size)
    return Seen.of(y, weight, codes, index), weight


def test_large_groups_have_their_mean_and_small_ones_are_drawn_in():
    seen, weight = rows([2000, 2000, 2000, 2], [10, 50, 90, 130], 20.0)
    level = Level.learn(seen, weight).group
    means = [seen.observation[seen.codes == group].mean() for group in range(4)]
    assert np.allclose(level[:3], means[:3], rtol=1e-3)
    assert seen.overall < level[3] < means[3] - 5


def test_the_pull_is_the_ratio_of_variances():
    """Mean squared error is least near the level that empirical Bayes gives."""
    generator = np.random.default_rng(1)
    truth = 100 + 3 * generator.normal(size=2000)
    seen, weight = rows([4] * 2000, truth, 6.0, seed=2)
    level = Level.learn(seen, weight).group
    mean = seen.add_up(seen.observation) / 4
    errors = [
        np.mean((seen.overall + w * (mean - seen.overall) - truth) ** 2)
        for w in np.linspace(0, 1, 101)
    ]
    assert np.mean((level - truth) ** 2) < 1.01 * min(errors)


def test_groups_that_do_not_differ_have_one_level():
    seen, weight = rows([30, 30], [5, 5], 0.0)
    assert np.allclose(Level.learn(seen, weight).group, 5)
    alone, weight = rows([40], [7], 2.0)
    assert np.ptp(cross_fitted(alone, weight, fold_rows(alone.codes, 0))) == 0


@pytest.mark.parametrize("product", [True, False])
def test_an_unseen_pair_is_what_its_entries_let_us_expect(product):
    places = [(store, item) for store in range(3) for item in range(4) if (store, item) != (2, 3)]
    store, item = np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 30.0, 80.0])
    means = [
        store[s] * item[i] if product else -5 + 10 * store[s] + item[i] - 60 for s, i in places
    ]
    # a balanced table leaves one pair out: it is told apart from the mean of all
    seen, weight = rows([50] * 11, means, 0.0, places=places)
    assert seen.product is product
    level = Level.learn(seen, weight)
    expected = level.expected(np.array([[2, 3], [-1, 3], [2, -1], [-1, -1]]))
    assert expected[0] == expected.max()
    assert expected[3] == seen.overall
    ratio = (
        expected[1] * expected[2] / seen.overall
        if product
        else expected[1] + expected[2] - seen.overall
    )
    assert np.isclose(expected[0], ratio)


def test_a_row_has_no_hand_in_its_own_level():
    seen, weight = rows([6, 9, 30], [10, 40, 20], 5.0)
    folds = fold_rows(seen.codes, 0)
    before = cross_fitted(seen, weight, folds)
    moved = seen.observation.copy()
    moved[3] += 100
    after = Seen.of(moved, weight, seen.codes, seen.index)
    after = Seen(moved, seen.codes, seen.index, seen.overall, after.product)
    held = folds == folds[3]
    changed = cross_fitted(after, weight, folds) != before
    assert not changed[held].any()
    assert changed[~held].any()


def test_folds_spread_every_group():
    codes = np.random.default_rng(0).integers(0, 7, 500)
    folds = fold_rows(codes, 3)
    for group in range(7):
        assert np.ptp(np.bincount(folds[codes == group], minlength=5)) <= 1
    assert not np.array_equal(folds, fold_rows(codes, 4))
