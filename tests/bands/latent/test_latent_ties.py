"""Ties at the top of rows with the same features: found where orders made them, only there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from unmet.bands.latent.likelihood import FLOOR
from unmet.bands.latent.observed import Observed
from unmet.bands.latent.orders import find_ties


def look(features, observation):
    observed = Observed.of(observation, None)
    return find_ties(features, observation, observed.lattice, observed.kind != FLOOR)


def cells(seed=0, n_rows=1200, n_cells=40, above=0.0):
    """Rows of a few kinds; the order of each kind stands `above` deviations over its mean."""
    generator = np.random.default_rng(seed)
    kind = generator.integers(0, n_cells, n_rows)
    mean = generator.uniform(50, 150, n_cells)[kind]
    features = np.column_stack([kind % 8, kind // 8, np.ones(n_rows)]).astype(float)
    demand = mean + 10 * generator.normal(size=n_rows)
    order = mean + 10 * above
    return features, demand, order


@pytest.mark.parametrize("above", [-0.8, 0.0, 0.9])
def test_rows_that_sold_out_are_found_exactly(above):
    features, demand, order = cells(above=above)
    flags, stock = look(features, np.minimum(demand, order))
    np.testing.assert_array_equal(flags == 1, demand >= order)
    assert set(flags) == {0.0, 1.0}
    np.testing.assert_allclose(stock, order)


def test_rounding_in_the_last_digit_does_not_hide_a_tie():
    features, demand, order = cells()
    sales = np.minimum(demand, order)
    shaken = sales * (1 + 2e-16 * np.random.default_rng(1).integers(-1, 2, sales.size))
    np.testing.assert_array_equal(look(features, shaken)[0], look(features, sales)[0])


def test_nothing_is_found_where_nothing_was_hidden():
    features, demand, _ = cells()
    assert look(features, demand) is None


def test_rows_that_were_copied_are_no_orders():
    features, demand, _ = cells()
    rows = np.random.default_rng(4).integers(0, demand.size, 2 * demand.size)
    assert look(features[rows], demand[rows]) is None


def test_features_that_do_not_repeat_show_nothing():
    features, demand, order = cells()
    features = features + np.random.default_rng(2).normal(size=features.shape)
    assert look(features, np.minimum(demand, order)) is None


def test_whole_numbers_tie_by_chance():
    features, demand, order = cells()
    assert look(features, np.round(np.minimum(demand, order))) is None


def test_observations_that_follow_from_the_features_are_no_orders():
    features, _, order = cells()
    assert look(features, order + 0.0) is None


def test_the_bottom_is_no_order():
    features, demand, _ = cells()
    sales = np.where(features[:, 0] < 3, 0.0, demand)
    assert look(features, sales) is None


def test_sparse_tables_are_left_alone():
    features, demand, order = cells()
    assert look(sparse.csr_array(features), np.minimum(demand, order)) is None


def test_small_groups_leave_doubt():
    features, demand, order = cells(n_rows=1500, n_cells=500)
    flags, stock = look(features, np.minimum(demand, order))
    sold_out, doubt = demand >= order, np.isnan(flags)
    assert 0.1 < doubt.mean() < 0.5
    np.testing.assert_array_equal(flags[~doubt], sold_out[~doubt])
    assert np.isnan(stock[doubt]).all()
    assert 0.2 < sold_out[doubt].mean() < 0.95


def test_little_doubt_is_settled_by_what_is_likelier():
    features, demand, order = cells(n_rows=1500, n_cells=150)
    sales = np.minimum(demand, order)
    flags, stock = look(features, sales)
    assert not np.isnan(flags).any()
    wrong = (flags == 1) != (demand >= order)
    assert wrong.mean() < 0.01
    # of ten rows at the same order hardly ever none sells out: a single top is more likely one
    alone = np.isnan(stock) & (flags == 1)
    assert alone.any()


def test_few_ties_are_not_enough():
    features, demand, order = cells(above=2.6)
    sales = np.minimum(demand, order)
    assert (demand >= order).sum() > 2
    assert look(features, sales) is None
