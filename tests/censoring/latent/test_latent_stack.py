"""Simple distributions with shrunken slopes, stacked: fits, weights, profiles, what users see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from unmet import LatentBand, Limits, Newsvendor
from unmet.censoring.latent.families import family_named
from unmet.censoring.latent.stack import _ridged
from unmet.data import load_yaz
from unmet.simulate import censor, history_orders
from unmet.solvers.descent.jumps import LEVELS

COST = Newsvendor(4, 1)


def flagged(n: int = 240, p: int = 3, seed: int = 0, family: str = "normal"):
    """Linear truth, noisy orders, flags."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    noise = {"normal": rng.normal(size=n), "gumbel": rng.gumbel(size=n)}[family]
    truth = 30 + X @ np.arange(1, p + 1) + 5 * noise
    order = 32 + X @ np.arange(1, p + 1) + 3 * rng.normal(size=n)
    return X, np.minimum(truth, order), truth > order, truth


def fitted(X, s, censored, **options):
    return LatentBand(random_state=0, **options).fit(COST, X, s, censored=censored)


@pytest.fixture(scope="module")
def usual():
    """What is learned from `flagged()`."""
    return fitted(*flagged()[:3])


@pytest.fixture(scope="module")
def few():
    """The same of fewer rows."""
    return fitted(*flagged(150)[:3])


DISTRIBUTIONS = {
    "normal": (stats.norm, lambda s: s),
    "logistic": (stats.logistic, lambda s: s),
    "gumbel": (stats.gumbel_r, lambda s: s),
    "lognormal": (stats.norm, np.log),
    "weibull": (stats.gumbel_l, np.log),
    "root_normal": (stats.norm, np.sqrt),
}


@pytest.mark.parametrize("strength", [0.0, 7.0])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_fit_is_the_penalised_maximum_that_scipy_finds(few, name, strength):
    X, s, censored, _ = flagged(150)
    model = few.model_
    latent = next(each.model for each in model.ranked if each.model.family.name == name)
    problem = model.data.problem(latent)
    found = _ridged(strength * model.basis.stretch)(problem)
    distribution, to_space = DISTRIBUTIONS[name]
    point = to_space(s / model.data.unit)
    slopes = (X - X.mean(axis=0)) / X.std(axis=0)

    def minus(v):
        z = v[-1] * point - v[0] - slopes @ v[1:-1]
        rows = np.where(censored, distribution.logsf(z), distribution.logpdf(z) + np.log(v[-1]))
        return 0.5 * strength * v[1:-1] @ v[1:-1] - rows.sum()

    start = np.r_[point.mean() / point.std(), np.zeros(X.shape[1]), 1 / point.std()]
    best = optimize.minimize(minus, start, method="BFGS", options={"gtol": 1e-8})
    _, location, log_scale = problem.residual(found)
    assert np.exp(-log_scale[0]) == pytest.approx(best.x[-1], rel=1e-3)
    expected = (best.x[0] + slopes @ best.x[1:-1]) / best.x[-1]
    assert location == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_beyond_the_rows_that_were_seen_the_median_tail_counts():
    rng = np.random.default_rng(1)
    truth = rng.gamma(4.0, 5.0, size=400)
    order = np.full(400, float(np.quantile(truth, 0.6))) + rng.uniform(0, 1, 400)
    X = rng.normal(size=(400, 1))
    rule = fitted(X, np.minimum(truth, order), truth > order)
    model = rule.model_
    assert len(model.members) > 1
    assert 0.3 < model.reach < 0.75
    assert any("median of the tails" in note for note in rule.diagnosis_.notes)
    rows, reach = model.at(model.chosen, X), model.reach
    for level in (reach, 0.8, 0.97):
        steps = rows._quantiles(level) - rows._quantiles(reach)
        expected = rows.truth(reach) + np.sort(steps, axis=0)[(len(steps) - 1) // 2]
        assert rows.truth(level) == pytest.approx(expected)
        assert rows.below(rows.truth(level)) == pytest.approx(level, abs=1e-3)


def test_quantiles_of_a_mixture_are_its_quantiles(usual):
    X, rule = flagged()[0], usual
    model = rule.model_
    assert len(model.members) > 1
    assert model.weights.sum() == pytest.approx(1.0)
    rows = model.at(model.chosen, X)
    for level in (0.1, 0.55, 0.93):
        assert rows.below(rows.truth(level)) == pytest.approx(level, abs=1e-4)
    assert rule.survival(X, rule.quantile(X, 0.8)) == pytest.approx(0.2, abs=1e-4)
    inside = (LEVELS > 1e-3) & (LEVELS < 0.99)  # the ends of a table are less exact
    table = rows.truth(LEVELS[:, None])[inside]
    one_by_one = [rows.truth(float(each)) for each in LEVELS[inside]]
    spread = float(np.mean(rows.truth(0.84) - rows.truth(0.16)))
    assert table == pytest.approx(np.stack(one_by_one), abs=0.005 * spread)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.column_stack([X, np.ones(len(X))]),
        lambda X: np.column_stack([X, X[:, 0], X @ np.ones(X.shape[1])]),
        lambda X: np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 60))]),
        lambda X: X * np.array([1e-8, 1.0, 1e9]),
    ],
    ids=["constant", "collinear", "more columns than rows", "scales"],
)
def test_awkward_features(change):
    X, s, censored, truth = flagged(50)
    X = change(X)
    decided = fitted(X, s, censored, families=("normal", "lognormal")).decision(X)
    assert np.isfinite(decided).all()
    assert COST.cost(decided, truth).mean() < 3 * COST.cost(np.full(50, 36.0), truth).mean()


def test_zeros_are_a_floor():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    truth = np.maximum(np.round(2 + X[:, 0] + 3 * rng.normal(size=300)), 0)
    order = rng.integers(2, 6, size=300)
    rule = fitted(X, np.minimum(truth, order), truth > order)
    assert rule.model_.data.floor == 0.0
    reached = [(rule.quantile(X, level) >= truth - 0.5).mean() for level in (0.6, 0.8, 0.9)]
    assert reached == pytest.approx([0.6, 0.8, 0.9], abs=0.08)


def test_a_higher_rate_never_lowers_a_decision():
    X, s, _, _ = flagged()
    rule = LatentBand(0.3, random_state=0).fit(COST, X, s)
    highs = [rule.band_at(X, rate).high.mean() for rate in (0.0, 0.1, 0.3, 0.5, 0.7)]
    assert np.all(np.diff(highs) > 0)
    low, high = rule.diagnosis_.interval
    assert low < 0.3 < high


def test_real_demand_is_not_decided_worse_than_by_a_tobit_model():
    """Two dishes of a restaurant, orders on past demand: the yardstick of the field."""
    table = load_yaz()
    paid, tobit = 0.0, 0.0
    for dish in ("lamb",):
        demand = table[dish].cast(float).to_numpy()
        open_days = demand > 0
        weekday = table["date"].dt.weekday().to_numpy()
        month = table["date"].dt.month().to_numpy()
        X = np.column_stack(
            [weekday == day for day in range(2, 8)] + [month == each for each in range(2, 13)]
        )[open_days].astype(float)
        demand, dates = demand[open_days], table["date"].to_numpy()[open_days]
        s, censored = censor(demand, history_orders(demand, dates, k=4))
        train, test = np.arange(demand.size) < 480, np.arange(demand.size) >= 480
        rule = fitted(X[train], s[train], censored[train])
        kept = X[train].std(axis=0) > 0
        slopes = np.column_stack([np.ones(len(X)), X[:, kept]])

        def minus(v, slopes=slopes, s=s, censored=censored, train=train):
            z = v[-1] * s[train] / 10 - slopes[train] @ v[:-1]
            rows = np.where(censored[train], stats.norm.logsf(z), stats.norm.logpdf(z))
            return -rows.sum() - (~censored[train]).sum() * np.log(v[-1])

        start = np.r_[s.mean() / 10, np.zeros(kept.sum()), 1.0]
        bounds = [(None, None)] * (start.size - 1) + [(1e-6, None)]
        v = optimize.minimize(minus, start, method="L-BFGS-B", bounds=bounds).x
        for level in (0.65, 0.85, 0.95):
            cost = Newsvendor.at_level(level)
            plain = 10 * (slopes[test] @ v[:-1] + stats.norm.ppf(level)) / v[-1]
            paid += cost.cost(rule.quantile(X[test], level), demand[test]).mean()
            tobit += cost.cost(np.maximum(plain, 0), demand[test]).mean()
    assert paid < 1.01 * tobit


def offered(n: int = 500, seed: int = 0, gap: float = 0.0):
    """Offers between 35 and 95 to buyers who would pay about 60; with a gap, of two kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    kind = gap * np.where(rng.random(n) < 0.5, -0.5, 0.5)
    truth = 60 + 4 * X[:, 0] + kind + (6 if gap else 14) * rng.normal(size=n)
    price = rng.uniform(35, 95, n)
    return X, price, price <= truth


@pytest.mark.parametrize("name", ["normal", "lognormal", "weibull", "flat"])
def test_a_fit_to_offers_is_the_maximum_that_scipy_finds(name):
    """Ten rows in advance say that what buyers pay varies by 30% of the mean price."""
    X, price, accepted = offered(300)
    rule = LatentBand(random_state=0).fit(COST, X, price, censored=Limits.offers(price, accepted))
    model, family = rule.model_, family_named(name)
    link = "multiplicative" if family.space == "log" else "linear"
    problem = model.data.problem(model.data.model(family, link=link))
    found = _ridged(2.0 * model.basis.stretch)(problem)
    point = price / model.data.unit if family.space == "linear" else np.log(price / model.data.unit)
    usual = 0.3 * point.mean() if family.space == "linear" else 0.3
    slopes = (X - X.mean(axis=0)) / X.std(axis=0)

    def minus(v):
        z = np.exp(v[-1]) * point - v[0] - slopes @ v[1:-1]
        rows = np.where(accepted, family.log_survival(z), family.log_below(z))
        advance = 10 * (v[-1] - np.exp(v[-1]) * usual / family.deviation)
        return v[1:-1] @ v[1:-1] - rows.sum() - advance

    best = optimize.minimize(minus, np.zeros(4), method="Nelder-Mead", options={"maxiter": 4000})
    _, location, log_scale = problem.residual(found)
    assert -log_scale[0] == pytest.approx(best.x[-1], abs=2e-3)
    expected = (best.x[0] + slopes @ best.x[1:-1]) / np.exp(best.x[-1])
    assert location == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("gap", [0.0, 30.0])
def test_offers_tell_whether_there_are_two_kinds_of_buyers(gap):
    X, price, accepted = offered(gap=gap, seed=3)
    rule = LatentBand(random_state=0).fit(COST, X, price, censored=Limits.offers(price, accepted))
    model = rule.model_
    assert model.weights.sum() == pytest.approx(1.0)
    groups = [each.model.family.name.startswith("two groups") for each in model.members]
    assert model.weights @ groups > 0.8 if gap else model.weights @ groups < 0.2
    assert any("The distribution of the truth is" in note for note in rule.diagnosis_.notes)

    def survival(price):
        humps = [stats.norm(60 + side * gap / 2, 6 if gap else 14) for side in (-1, 1)]
        return np.mean([each.sf(price) for each in humps])

    kept = rule.survival(X, 66.0 + 4 * X[:, 0]) / rule.survival(X, 54.0 + 4 * X[:, 0])
    assert kept.mean() == pytest.approx(survival(66) / survival(54), abs=0.1)


def test_offers_that_hardly_vary_are_not_taken_for_steady_demand():
    """Prices that followed the features tell no scale: 30% of the price is taken, or nearly."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 300)
    price = 50 + 10 * x
    accepted = rng.random(300) < 0.6
    rule = LatentBand(random_state=0, location=None).fit(
        COST, x[:, None], price, censored=Limits.offers(price, accepted)
    )
    middle = rule.quantile([[0.0]], 0.84) - rule.quantile([[0.0]], 0.16)
    assert 0.15 * 50 < 0.5 * middle[0] < 0.6 * 50
    assert rule.diagnosis_.identified == "no"
