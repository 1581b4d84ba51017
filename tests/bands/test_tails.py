import numpy as np
import pytest
from gap_on_store10 import gap
from scipy.stats import norm
from sklearn.base import clone

from unmet import LinearDecision, Newsvendor, SquaredError
from unmet.bands.classic.quantiles import QuantileTailBand
from unmet.errors import InvalidInput, Unsupported

COST = Newsvendor(underage=17, overage=3)  # level .85


def _normal(n, mean, scale):
    """Sample whose quantiles are those of a normal, as near as n values can be."""
    return norm(mean, scale).ppf((np.arange(n) + 0.5) / n)


@pytest.mark.parametrize("level", [0.45, 0.65, 0.95])
def test_extends_normal_quantiles_beyond_what_was_seen(level):
    sales = np.minimum(_normal(4000, 50, 12), 52)  # 43% censored
    cost = Newsvendor.at_level(level)
    model = LinearDecision(cost, band=QuantileTailBand()).fit(np.zeros((4000, 1)), sales)
    assert model.predict([[0.0]])[0] == pytest.approx(norm(50, 12).ppf(level), abs=0.05)


def test_mean_and_spread_are_both_linear_in_the_features():
    half = _normal(2000, 0, 1)
    x = np.repeat([[0.0], [1.0]], 2000, axis=0)
    demand = np.concatenate([20 + 3 * half, 50 + 9 * half])
    rule = QuantileTailBand().fit(COST, x, np.minimum(demand, 20 + 30 * x[:, 0]))
    assert rule.intercept_ == pytest.approx(20, abs=0.05)
    assert rule.coef_[0] == pytest.approx(30, abs=0.1)
    assert rule.intercept_scale_ == pytest.approx(3, abs=0.05)
    assert rule.coef_scale_[0] == pytest.approx(6, abs=0.1)
    low, high = rule.band([[0.0], [1.0]]).low
    assert high == pytest.approx(3 * low, rel=0.02)


def test_only_the_given_levels_are_read():
    sales = np.minimum(_normal(2000, 50, 12), 44)  # 69% censored, so .35 and .40 are bent
    X = np.zeros((2000, 1))
    bent = QuantileTailBand().fit(COST, X, sales)
    straight = QuantileTailBand(levels=(0.3, 0.05, 0.1, 0.2)).fit(COST, X, sales)
    assert straight.intercept_ == pytest.approx(50, abs=0.2)
    assert bent.intercept_ < 49


def test_no_shift_where_nothing_bends_and_never_a_negative_one():
    demand = _normal(3000, 50, 12)
    rule = QuantileTailBand().fit(COST, np.zeros((3000, 1)), demand)
    assert rule.band([[0.0]]).low == pytest.approx([0.0], abs=0.1)
    heavy = np.sign(demand - 50) * np.abs(demand - 50) ** 1.5 + 50  # a longer tail than a normal's
    rule = QuantileTailBand(levels=(0.3, 0.4)).fit(
        Newsvendor.at_level(0.99), np.zeros((3000, 1)), heavy
    )
    assert rule.band([[0.0]]).low == [0.0]


def test_a_linear_model_decides_the_extended_line():
    generator = np.random.default_rng(4)
    X = generator.uniform(size=(500, 2))
    mean = 30 + X @ [8.0, 5.0]
    sales = np.minimum(mean + 5 * generator.normal(size=500), mean)
    model = LinearDecision(COST, band=QuantileTailBand()).fit(X, sales)
    rule, z = model.band_rule_, norm.ppf(0.85)
    line = X @ (rule.coef_ + z * rule.coef_scale_) + rule.intercept_ + z * rule.intercept_scale_
    assert model.band_.low.min() > 0
    assert model.predict(X) == pytest.approx(line, abs=1e-5)


@pytest.mark.parametrize(("level", "least"), [(0.65, 0.78), (0.75, 0.88), (0.95, 0.96)])
def test_closes_the_gap_of_the_printed_store_without_flags(level, least):
    assert gap(QuantileTailBand(), level, flags=False) > least  # measured .85, .92, .98


def test_many_levels_by_row_are_interpolated():
    generator = np.random.default_rng(1)
    X = generator.uniform(size=(400, 1))
    sales = 40 + 10 * X[:, 0] - generator.gamma(2.0, 6.0, size=400)  # bent all the way
    underage = generator.uniform(2.0, 90.0, size=400)
    rule = QuantileTailBand().fit(Newsvendor(1, 3), X, sales, underage=underage)
    shift = rule.band(X, underage=underage).low
    rows = range(0, 400, 20)
    single = np.array([rule.band(X[[row]], underage=underage[row]).low[0] for row in rows])
    assert np.abs(shift[::20] - single).mean() < 0.06  # the line below alone would be .11 off
    assert single.std() > 2


def test_weights_are_repeats():
    generator = np.random.default_rng(0)
    X, times = generator.uniform(size=(80, 1)), generator.integers(0, 4, size=80)
    sales = np.minimum(20 + 5 * X[:, 0] + generator.normal(size=80), 21 + 5 * X[:, 0])
    weighted = QuantileTailBand().fit(COST, X, sales, sample_weight=times)
    again = np.repeat(np.arange(80), times)
    repeated = QuantileTailBand().fit(COST, X[again], sales[again])
    assert weighted.band(X).low == pytest.approx(repeated.band(X).low, abs=1e-5)


def test_flags_tell_whether_the_assumption_holds():
    generator = np.random.default_rng(3)
    demand = generator.normal(50, 10, size=2000)
    X = np.zeros((2000, 1))
    fair = QuantileTailBand().fit(COST, X, np.minimum(demand, 51), censored=demand > 51)
    order = generator.normal(50, 10, size=2000)
    mixed = QuantileTailBand().fit(COST, X, np.minimum(demand, order), censored=demand > order)
    assert len(fair.diagnosis_.notes) == 1
    assert fair.diagnosis_.share_censored == pytest.approx(np.mean(demand > 51))
    assert "are flagged as censored, so ε is too small" in mixed.diagnosis_.notes[1]
    low = generator.normal(45, 1, size=2000)  # touches the .40-quantile, not the .05-quantile
    some = QuantileTailBand().fit(COST, X, np.minimum(demand, low), censored=demand > low)
    assert len(some.diagnosis_.notes) == 2
    assert QuantileTailBand().fit(COST, X, demand).diagnosis_.share_censored is None


def test_one_row():
    rule = QuantileTailBand().fit(COST, [[1.0]], [5.0], censored=[True])
    assert rule.band([[1.0]]).low == pytest.approx([0.0], abs=1e-8)


@pytest.mark.parametrize("levels", [(0.1,), (0.2, 0.2), (0.0, 0.3), (0.3, 1.0), 0.2])
def test_levels_are_checked(levels):
    with pytest.raises(InvalidInput, match="levels must be at least two different numbers"):
        QuantileTailBand(levels).fit(COST, np.zeros((9, 1)), np.arange(9.0))


def test_needs_a_level():
    with pytest.raises(Unsupported, match="QuantileTailBand needs a cost whose best decision is a"):
        QuantileTailBand().fit(SquaredError(), np.zeros((9, 1)), np.arange(9.0))


def test_clones():
    assert clone(QuantileTailBand(levels=[0.1, 0.2])).levels == [0.1, 0.2]
