"""Slips and remarks of docs/paper/reproduction.md that no other test shows."""

import numpy as np
import pytest
from scipy.stats import norm

from paper.published import BAND_BOX, SERVICE_GAP_IMPROVEMENT, STORES
from unmet import Band, LinearDecision, Newsvendor
from unmet.evaluation import realised_cost
from unmet.simulate.store10 import PUBLISHED_BANDS, store10


@pytest.fixture(scope="module")
def data():
    return store10(seed=0)


@pytest.fixture(scope="module")
def printed():
    return store10(seed=0, clip=False)


def test_slip_9_the_printed_generator_has_negative_means_and_negative_demand(printed):
    assert (printed.train.mean < 0).mean() == pytest.approx(0.061, abs=5e-4)
    assert norm.cdf(-printed.train.mean / 46.57).mean() == pytest.approx(0.104, abs=5e-4)


def test_slip_10_in_pieces_the_published_band_changes_nothing(data):
    X, sales, cost = data.train.features, data.train.sales, Newsvendor.at_level(0.85)
    low, high = PUBLISHED_BANDS["linear"][0.85]
    paid = {}
    bands = {"none": None, "pieces": Band(low, high), "shares": Band.scaled(low, high, sales)}
    for name, band in bands.items():
        orders = LinearDecision(cost, band).fit(X, sales).predict(data.test.features)
        paid[name] = realised_cost(cost, orders, data.test.demand)
    assert paid["pieces"] == pytest.approx(paid["none"], rel=1e-3)
    assert paid["shares"] < 0.97 * paid["none"]


def test_slip_11_without_censoring_the_published_band_does_harm(data):
    X, demand, cost = data.train.features, data.train.demand, Newsvendor.at_level(0.55)
    paid = []
    for band in (None, Band.scaled(0.0022, 0.1976, demand)):
        orders = LinearDecision(cost, band).fit(X, demand).predict(data.test.features)
        paid.append(realised_cost(cost, orders, data.test.demand))
    assert paid[1] > 1.4 * paid[0]


def test_three_eighths_of_the_search_space_have_the_lower_end_on_top():
    ends = (np.arange(400) + 0.5) / 400
    crossed = BAND_BOX["low"][1] * ends[:, None] > BAND_BOX["high"][1] * ends
    assert crossed.mean() == pytest.approx(0.375, abs=0.002)


def test_a_larger_level_makes_the_same_censoring_dearer(printed):
    """The store ordered the mean whatever the costs: half of the rows are censored at any α."""
    assert printed.train.censored.mean() == pytest.approx(0.5, abs=0.02)
    ratios = []
    for level in (0.55, 0.95):
        cost, test = Newsvendor.at_level(level), printed.test
        both = (test.order, test.optimum(level))
        mean, best = (realised_cost(cost, orders, test.demand) for orders in both)
        ratios.append(mean / best)
    assert ratios[0] < 1.1
    assert ratios[1] > 3.5


def test_printed_improvements_of_service_levels_fall_with_the_level():
    rows = [list(each.values()) for each in SERVICE_GAP_IMPROVEMENT.values()]
    assert [len(row) for row in rows] == [5] * 4
    assert sum(int((np.diff(row) < 0).sum()) for row in rows) == 15


def test_by_r_squared_36_stores_are_more_linear_than_store_10():
    assert sum(each["R²"] > STORES[10]["R²"] for each in STORES.values()) == 36


def test_the_published_penalty_selects_no_feature_and_moves_with_the_origin():
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(300, 20))
    seen = 50 + 10 * noise[:, 0] + generator.normal(scale=5, size=300)
    zeros = {}
    for penalty in ("l2", "l1"):
        model = LinearDecision(Newsvendor(4, 1), penalty=penalty, strength=0.1).fit(noise, seen)
        zeros[penalty] = int((np.abs(model.coef_) < 1e-6).sum())
    assert zeros["l2"] == 0
    assert zeros["l1"] > 10
    # the paper's x₁ = 1 is penalised: 1,000 more sold, not quite 1,000 more ordered
    with_one = np.insert(noise, 0, 1.0, axis=1)

    def rise(columns, **how):
        orders = []
        for sales in (seen, seen + 1000):
            size = sales.std() if how["fit_intercept"] else np.sqrt(np.mean(sales**2))
            model = LinearDecision(Newsvendor(4, 1), penalty="l2", strength=0.001 * size, **how)
            orders.append(model.fit(columns, sales).predict(columns[:1])[0])
        return orders[1] - orders[0]

    assert rise(with_one, fit_intercept=False) < 995
    assert rise(noise, fit_intercept=True) == pytest.approx(1000, abs=0.5)


# --- Prop. DNN-UASBound: a network of the published size, 25 features, 9 and 5 sigmoid units

SHAPES = [(25, 9), (9, 5), (5, 1)]


def network(weights, x):
    layer, position = x, 0
    for number, (fan_in, fan_out) in enumerate(SHAPES):
        matrix = weights[position : position + fan_in * fan_out].reshape(fan_in, fan_out)
        position += fan_in * fan_out + fan_out
        layer = layer @ matrix + weights[position - fan_out : position]
        layer = layer if number == 2 else 1 / (1 + np.exp(-layer))
    return float(layer[0])


def gradient(weights, x, sale, cost, band, step=1e-5):
    ways = step * np.eye(weights.size)
    paid = [
        [float(cost.loss(network(weights + side * way, x), sale, band)[0]) for side in (1, -1)]
        for way in ways
    ]
    return np.array([up - down for up, down in paid]) / (2 * step)


@pytest.fixture(scope="module")
def published_size():
    generator = np.random.default_rng(0)
    weights = generator.normal(size=sum(a * b + b for a, b in SHAPES))
    weights[-6:-1] = 50.0  # so that orders are of the size of sales
    return weights, generator.integers(0, 2, 25).astype(float)


def test_one_row_moves_the_weights_of_a_network_further_than_the_proposition_allows(published_size):
    """One row and one step, n = K = 1: the bound is 2 (α ∨ (1 − α))(√1 + 2) η."""
    cost, band = Newsvendor.at_level(0.8), Band(0, 10)
    slopes = [gradient(*published_size, sale, cost, band) for sale in (300.0, 0.0)]
    assert slopes[0][-1] == pytest.approx(-0.8, abs=1e-6)  # slip 3: δ below the band is −α
    apart = np.linalg.norm(slopes[0] - slopes[1])  # in units of the learning rate η
    assert apart > 7 * 2 * 0.8 * (1 + 2)


def test_the_cost_of_a_network_is_not_convex_in_its_weights(published_size):
    """Hidden units in another order are the same network, and the mean of both is another."""
    weights, x = published_size
    parts = np.split(weights, np.cumsum([225, 9, 45, 5, 5]))
    first, second = parts[0].reshape(25, 9), parts[2].reshape(9, 5)
    twin = np.concatenate(
        [
            *(first[:, ::-1].ravel(), parts[1][::-1], second[::-1, ::-1].ravel()),
            *(parts[3][::-1], parts[4][::-1], parts[5]),
        ]
    )
    cost, sale = Newsvendor.at_level(0.8), network(weights, x)
    both_ends = [float(cost.loss(network(each, x), sale)[0]) for each in (weights, twin)]
    middle = float(cost.loss(network((weights + twin) / 2, x), sale)[0])
    assert max(both_ends) < 1e-9
    assert middle > 10
