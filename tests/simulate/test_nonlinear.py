"""Demand that bends: what a planner sees, the truth beside it, and that no line follows it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from unmet import LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.simulate import nonlinear_demand

# Demand of the first day with seed 0: a change here changes every figure published on it.
PINNED = [165.0407019051, 177.441748194, 192.4810491481, 94.45710936446]


def _column(part, name):
    return part.features[:, part.feature_names.index(name)]


def test_sales_are_the_smaller_of_demand_and_order():
    train = nonlinear_demand(3, n=400, n_test=100).train
    assert np.array_equal(train.sales, np.minimum(train.demand, train.order))
    assert 0.3 < np.mean(train.demand > train.order) < 0.7


@pytest.mark.parametrize("alpha", [0.2, 0.85])
@pytest.mark.parametrize("family", ["normal", "gamma"])
def test_the_optimum_is_the_quantile_of_demand(family, alpha):
    part = nonlinear_demand(1, family=family, n=10, n_test=20_000, clip=False).test
    assert np.mean(part.demand <= part.optimum(alpha)) == pytest.approx(alpha, abs=0.012)


@pytest.mark.parametrize("alpha", [0.65, 0.95])
def test_even_the_best_line_fails(alpha):
    data, cost = nonlinear_demand(2), Newsvendor.at_level(alpha)
    line = LinearDecision(cost).fit(data.train.features, data.train.demand)
    best = cost.cost(data.test.optimum(alpha), data.test.demand).mean()
    assert -line.score(data.test.features, data.test.demand) > 1.3 * best


def test_a_markdown_sells_nothing_more_until_its_threshold():
    part = nonlinear_demand(0, n=20_000, n_test=4).train
    first = part.category == "lemonade"  # with the full effect of price
    price, mean = _column(part, "price")[first], part.mean[first]
    cheap, middle, dear = (
        mean[(price > low) & (price < high)].mean()
        for low, high in ((0.70, 0.80), (0.92, 1.0), (1.0, 1.1))
    )
    assert cheap > 1.3 * middle
    assert middle == pytest.approx(dear, rel=0.05)


def test_dummies_and_codes_say_the_same():
    part = nonlinear_demand(0, n=60, n_test=8).train
    codes = dict(zip(part.code_names, part.codes.T, strict=True))
    for name in ("promotion", "price", "temperature", "day"):
        assert np.array_equal(_column(part, name), codes[name])
    assert np.array_equal(_column(part, "soup") == 1, codes["product"] == 1)
    assert np.array_equal(_column(part, "Saturday") == 1, codes["weekday"] == 5)
    assert np.array_equal(
        (part.dates.astype("datetime64[D]").astype(int) + 3) % 7, codes["weekday"]
    )


def test_the_published_figures_rest_on_this_demand():
    assert nonlinear_demand(0).train.demand[:4] == pytest.approx(PINNED, rel=1e-10)


def test_a_seed_repeats_and_test_rows_do_not_move_training_rows():
    one, same, longer = (nonlinear_demand(5, n=90, n_test=size) for size in (40, 40, 400))
    assert np.array_equal(one.train.demand, same.train.demand)
    assert np.array_equal(one.train.sales, longer.train.sales)
    assert np.array_equal(one.test.demand, longer.test.demand[:40])
    assert not np.array_equal(one.train.demand, nonlinear_demand(6, n=90).train.demand)
    assert one.test.dates[0] > one.train.dates[-1]


def test_orders_of_each_kind():
    never = nonlinear_demand(0, n=200, n_test=8, orders="never").train
    assert np.array_equal(never.sales, never.demand)
    quantile = nonlinear_demand(0, n=8000, n_test=8, quantile=0.8).train
    assert np.mean(quantile.demand > quantile.order) == pytest.approx(0.2, abs=0.02)
    share = nonlinear_demand(0, n=8000, n_test=8, share=0.3, orders="noisy").train
    assert np.mean(share.demand > share.order) == pytest.approx(0.3, abs=0.02)


def test_a_table_to_look_at():
    table = nonlinear_demand(0, n=40, n_test=8).train.to_polars()
    assert table.height == 40
    assert isinstance(table["weekday"].dtype, pl.Enum)
    assert table["product"][:4].to_list() == ["lemonade", "soup", "bread", "salad"]
    assert {"sales", "demand", "order", "price"} <= set(table.columns)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0}, "n must be a positive integer, got 0."),
        ({"n_test": 2.5}, "n_test must be a positive integer, got 2.5."),
        ({"seed": -1}, "seed must be a non-negative integer, got -1."),
        ({"orders": "x"}, "orders must be one of piled, noisy, mixture, never, got 'x'."),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        nonlinear_demand(**arguments)
    assert str(caught.value) == sentence
