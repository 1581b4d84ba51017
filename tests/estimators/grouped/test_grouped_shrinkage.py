import numpy as np
import pytest

from unmet import Band, GroupedDecision, LatentBand, LinearDecision, Newsvendor
from unmet.estimators.grouped import choose
from unmet.rows import Rows

COST = Newsvendor(underage=3, overage=1)


def market(groups, n, spread, seed=0, p=4):
    """Training rows, and many test rows of the same groups; slopes differ by `spread`."""
    generator = np.random.default_rng(seed)
    level = np.exp(generator.normal(3.5, 0.4, groups))
    slopes = generator.normal(size=p) + spread * generator.normal(size=(groups, p))

    def draw(count):
        code = np.repeat(np.arange(groups), count)
        x = generator.normal(size=(code.size, p))
        y = (
            level[code]
            + 3 * np.einsum("ij,ij->i", x, slopes[code])
            + generator.gamma(2, 3, code.size)
        )
        return np.column_stack([code, x]), y

    return draw(n), draw(300)


def costs(n, spread):
    (X, y), (at, truth) = market(24, n, spread)
    return [
        -GroupedDecision(LinearDecision(COST), [0], shrink=k, min_rows=8, random_state=0)
        .fit(X, y)
        .score(at, truth)
        for k in ("auto", np.inf, None)
    ]


@pytest.mark.parametrize(("n", "gain"), [(14, 0.02), (30, 0.02)])
def test_small_groups_gain_over_both_extremes(n, gain):
    shrunk, pooled, separate = costs(n, 0.7)
    assert shrunk < (1 - gain) * min(pooled, separate)


def test_large_groups_decide_for_themselves():
    shrunk, pooled, separate = costs(300, 0.7)
    assert abs(shrunk / separate - 1) < 0.005
    assert separate < 0.9 * pooled


def test_equal_groups_leave_it_to_the_pooled_model():
    shrunk, pooled, separate = costs(14, 0.0)
    assert abs(shrunk / pooled - 1) < 0.01
    assert separate > 1.2 * pooled


def test_the_chosen_k_is_the_cheapest_of_a_search():
    generator = np.random.default_rng(0)
    truth, trained = generator.normal(50, 10, 4000), generator.integers(5, 60, 4000).astype(float)
    pooled = truth + generator.normal(0, 3, 4000)
    own = truth + generator.normal(0, 15, 4000) / np.sqrt(trained)
    band = Band(0.5, 1.5)
    rows = Rows(np.empty((4000, 0)), truth, COST, band=band)
    k = choose(rows, own, trained, pooled)

    def paid(k):
        w = trained / (trained + k)
        return COST.loss(w * own + (1 - w) * pooled, truth, band).sum()

    assert paid(k) <= 1.002 * min(paid(each) for each in np.geomspace(0.01, 1e5, 500))
    # by the variances, 15² / 3² rows
    assert 12 < k < 50


def test_a_rule_learned_from_all_rows_finds_what_small_groups_hide():
    """Half of all sales hide demand; groups of 40 rows are too small to see that."""
    (X, demand), (at, truth) = market(30, 40, 0.1)
    generator = np.random.default_rng(9)
    order = np.quantile(demand.reshape(30, 40), 0.5, axis=1)[X[:, 0].astype(int)]
    sales = np.minimum(demand, order + generator.normal(0, 2, demand.size))
    cost = Newsvendor(underage=4, overage=1)

    def paid(band, y, **given):
        model = GroupedDecision(LinearDecision(cost, band), [0], random_state=0).fit(X, y, **given)
        return -model.score(at, truth), model

    ignored, _ = paid(None, sales)
    known, _ = paid(None, demand)
    flagged, model = paid(LatentBand(families="normal"), sales, censored=sales < demand)
    assert 0.4 < model.diagnosis_.share_censored < 0.6
    assert flagged < ignored - 0.7 * (ignored - known)
