"""Policies that ours are compared with in a shop: by hand, and by another optimiser."""

import datetime

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from benchmarks.policies import MeanPlusSafety, Oracle, SalesQuantile, Tobit
from benchmarks.shop_demand import shop_demand
from unmet.inventory import StockState, SupplyRules
from unmet.simulate import run_shop
from unmet.simulate.shop import Seen


def seen_of(sales, stock=None, **kept):
    sales = np.asarray(sales, dtype=float)
    stock = np.full(sales.shape, np.nan) if stock is None else np.asarray(stock, dtype=float)
    kept = {"first_day": datetime.date(2024, 1, 1), "step": 1, "n_before": sales.shape[1]} | kept
    return Seen(sales, stock, **kept)


def asked_of(policy, seen):
    policy.learn(seen)
    return policy.order(seen, StockState(np.zeros(seen.sales.shape[0])))


def test_a_mean_and_a_safety_stock():
    sales = np.random.default_rng(0).normal(50.0, 8.0, size=(2, 40))
    found = asked_of(MeanPlusSafety(SupplyRules(2, shortage=3.0), window=30), seen_of(sales))
    recent = sales[:, -30:]
    expected = 3 * recent.mean(axis=1) + norm.ppf(0.75) * recent.std(axis=1) * np.sqrt(3)
    np.testing.assert_allclose(found, expected)


def test_a_quantile_of_sums():
    sales = np.random.default_rng(1).poisson(4.0, size=(1, 30))
    found = asked_of(SalesQuantile(SupplyRules(1, 2, shortage=8.0), window=21), seen_of(sales))
    sums = np.sort([sales[0, start : start + 3].sum() for start in range(9, 28)])
    assert found == [sums[int(np.ceil(0.8 * sums.size)) - 1]]


def test_tobit_reaches_the_maximum_of_the_likelihood():
    generator = np.random.default_rng(2)
    demand, stock = generator.normal(40.0, 9.0, (1, 80)), generator.normal(43.0, 9.0, (1, 80))
    sales, hidden = np.minimum(demand, stock), demand >= stock
    found = asked_of(Tobit(SupplyRules(shortage=3.0)), seen_of(sales, stock))

    def unlikely(values):
        mean, deviation = values[0], np.exp(values[1])
        z = (sales - mean) / deviation
        return -np.where(hidden, norm.logsf(z), norm.logpdf(z) - np.log(deviation)).sum()

    best = minimize(unlikely, [40.0, 2.0], method="Nelder-Mead", options={"xatol": 1e-8}).x
    assert found[0] == pytest.approx(best[0] + norm.ppf(0.75) * np.exp(best[1]), rel=1e-3)


def test_who_takes_sales_for_demand_spirals_down_and_flags_help():
    demand, _ = shop_demand("gamma", 60, 420, seed=3)
    rules = SupplyRules(shelf_life=1, shortage=9.0)
    before = np.repeat(demand[:, :60].mean(axis=1, keepdims=True), 60, axis=1)
    policies = {
        "sales": SalesQuantile(rules),
        "drop": SalesQuantile(rules, drop_sold_out=True),
        "tobit": Tobit(rules),
        "oracle": Oracle(rules),
    }
    run = run_shop(demand, policies, rules, n_before=60, history_stock=before)
    cost = dict(run.total(since=56).select("policy", "cost").iter_rows())
    assert cost["oracle"] < cost["tobit"] < cost["sales"] < cost["drop"]
    rate = run.over_time(120).filter(policy="drop")["sell_out_rate"].to_list()
    assert rate[0] < rate[-1]
