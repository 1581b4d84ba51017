"""One distribution for a panel, against Tobit models of each group by itself."""

import numpy as np
import pytest
from scipy import optimize, stats

from unmet import DistributionDecision, GroupedDecision, LinearDecision, Newsvendor, SquaredError
from unmet.censoring.panel import PanelDistribution
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows

COST = Newsvendor(underage=4, overage=1)


def panel(n_groups=40, n_rows=30, seed=0, spread=0.1, slope=0.1, rows_seed=0):
    """Items of very different size whose slopes differ a little; about a third sells out."""
    generator = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n_rows)
    level = np.exp(generator.normal(3, 1, n_groups))
    slopes = 0.2 + slope * generator.normal(size=(n_groups, 2))
    generator = np.random.default_rng(100 + rows_seed)
    X = generator.normal(size=(group.size, 2))
    middle = np.log(level[group]) + (X * slopes[group]).sum(axis=1)
    demand = np.exp(middle + spread * generator.normal(size=group.size))
    stock = np.exp(middle + 0.05 + 0.15 * generator.normal(size=group.size))
    best = np.exp(middle + spread * stats.norm.ppf(COST.level))
    table = np.column_stack([group, X])
    return table, np.minimum(demand, stock), demand >= stock, demand, best


@pytest.fixture(scope="module")
def shop():
    return panel()


@pytest.fixture(scope="module")
def fitted(shop):
    table, sales, sold_out, *_ = shop
    return distribution().fit(table, sales, censored=sold_out)


def distribution(cost=COST, **parameters):
    return GroupedDecision(DistributionDecision(cost), by=[0], random_state=0, **parameters)


def tobit(X, sales, sold_out):
    basis = np.column_stack([np.ones(len(X)), X])

    def negative(parameters):
        z = (sales - basis @ parameters[:-1]) / np.exp(parameters[-1])
        row = np.where(sold_out, stats.norm.logsf(z), stats.norm.logpdf(z) - parameters[-1])
        return -row.sum()

    start = np.append(np.linalg.lstsq(basis, sales, rcond=None)[0], np.log(sales.std()))
    found = optimize.minimize(negative, start, method="BFGS").x
    return found[:-1], np.exp(found[-1])


def test_large_groups_come_to_their_own_tobit_models():
    generator = np.random.default_rng(1)
    group = np.repeat(np.arange(3), 1500)
    X = generator.normal(size=(group.size, 2))
    slopes, scale = generator.normal(0, 4, (3, 2)), np.array([3.0, 6.0, 9.0])
    demand = (X * slopes[group]).sum(axis=1) + scale[group] * generator.normal(size=group.size)
    stock = (X * slopes[group]).sum(axis=1) + 2 + 5 * generator.normal(size=group.size)
    sales, sold_out = np.minimum(demand, stock), demand >= stock
    model = distribution().fit(
        np.column_stack([group, X]), sales, censored=sold_out
    )  # some are negative
    decided = model.predict(np.column_stack([group, X]))
    for each in range(3):
        rows = group == each
        coefficients, sigma = tobit(X[rows], sales[rows], sold_out[rows])
        line = coefficients[0] + X[rows] @ coefficients[1:] + sigma * stats.norm.ppf(COST.level)
        assert np.abs(decided[rows] - line).max() < 0.12 * sigma
    assert (model.weight_ > 0.9).all()


def test_small_groups_borrow():
    table, sales, sold_out, *_ = panel(30, 10)
    coming, *_, best = panel(30, 10, rows_seed=1)
    fitted = distribution().fit(table, sales, censored=sold_out)
    alone = np.empty(sales.size)
    for each in range(30):
        rows = table[:, 0] == each
        coefficients, sigma = tobit(table[rows, 1:], np.log(sales[rows]), sold_out[rows])
        line = coefficients[0] + coming[rows, 1:] @ coefficients[1:]
        alone[rows] = np.exp(line + sigma * stats.norm.ppf(COST.level))
    decided = fitted.predict(coming)
    # the reference even knows that demand is lognormal
    assert np.mean(np.abs(np.log(decided / best))) < 0.8 * np.mean(np.abs(np.log(alone / best)))


def test_service_is_what_was_asked_for():
    served = []
    for seed in range(5):
        table, sales, sold_out, *_ = panel(60, 10, seed, rows_seed=2 * seed)
        coming, _, _, demand, _ = panel(60, 10, seed, rows_seed=2 * seed + 1)
        model = distribution().fit(table, sales, censored=sold_out)
        served.append(np.mean(demand <= model.predict(coming)))
    assert np.mean(served) == pytest.approx(COST.level, abs=0.025)


def test_groups_never_seen_get_the_common_distribution(fitted):
    rows = np.array([[99.0, 0.0, 0.0], [99.0, 1.0, 1.0]])
    decided = fitted.predict(rows)
    assert fitted.unseen_groups(rows) == [99.0]
    assert decided[1] / decided[0] == pytest.approx(np.exp(0.4), rel=0.15)


def test_weights_are_repetitions():
    generator = np.random.default_rng(3)
    X, group = generator.normal(size=(60, 2)), np.repeat(np.arange(4), 15)
    value = X.sum(axis=1) + generator.normal(size=60)  # negative ones: a single space
    hidden, times = generator.random(60) < 0.3, generator.permutation(np.repeat([0, 1, 2], 20))
    rows = Rows.of(SquaredError(), X, value, times, hidden, series=group)
    index = np.repeat(np.arange(60), times)
    again = Rows.of(
        SquaredError(), X[index], value[index], None, hidden[index], series=group[index]
    )
    weighed, repeated = (PanelDistribution().fit(each, np.zeros(4)) for each in (rows, again))
    one, other = (each.predict(X, group) for each in (weighed, repeated))
    assert one[0] == pytest.approx(other[0], abs=0.02)
    assert one[1] == pytest.approx(other[1], rel=0.02)


def test_stock_and_missing_flags(shop):
    table, sales, sold_out, *_ = shop
    stock = np.where(sold_out, sales, sales + 1)
    by_stock = distribution().fit(table, sales, stock=stock)
    by_flags = distribution().fit(table, sales, censored=sold_out)
    assert np.array_equal(by_stock.predict(table), by_flags.predict(table))
    some = np.where(np.arange(sales.size) % 4 == 0, np.nan, sold_out)
    told = distribution().fit(table, sales, censored=some)
    kept = ~np.isnan(some)
    alone = distribution().fit(table[kept], sales[kept], censored=sold_out[kept])
    assert told.predict(table) == pytest.approx(alone.predict(table), rel=0.1)
    assert "300 rows" in told.diagnosis_.notes[1]
    assert told.diagnosis_.share_censored == pytest.approx(sold_out[kept].mean())
    assert "counted" in str(told.diagnosis_) or told.diagnosis_.share_is_seen


@pytest.mark.parametrize(
    ("model", "known", "words"),
    [
        (distribution(), False, "needs to know which rows sold out"),
        (distribution(SquaredError()), True, "costs have two slopes"),
        (distribution(shrink=3.0), True, "share one distribution"),
        (distribution(min_rows=4), True, "share one distribution"),
        (distribution(pooled=LinearDecision(COST)), True, "share one distribution"),
        (GroupedDecision(DistributionDecision(COST, None), by=[0]), True, "needs band LatentBand"),
    ],
)
def test_what_does_not_fit_together(model, known, words, shop):
    table, sales, sold_out, *_ = shop
    with pytest.raises((Unsupported, InvalidInput), match=words):
        model.fit(table, sales, **({"censored": sold_out} if known else {}))
