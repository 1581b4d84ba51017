"""A shared budget in fractions: against linear programs, closed forms and each other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from references import by_linear_program, random_case
from scipy.optimize import minimize
from scipy.stats import norm

from unmet import Newsvendor, allocate


@given(seed=st.integers(0, 10**6), extra=st.sampled_from([0.0, 0.37, 1.0, 5.0, 1000.0]))
@example(seed=0, extra=0.0)
def test_samples_reach_the_optimum_of_the_linear_program(seed, extra):
    case = random_case(seed, 7, 8)
    budget = float(case["use"] @ case["lower"]) + extra
    least, _ = by_linear_program(**case, budget=budget)
    under, over, values = case.pop("under"), case.pop("over"), case.pop("values")
    found = allocate(Newsvendor(under, over), values, budget, **case)
    y = found.decision
    paid = under * np.maximum(values.T - y, 0) + over * np.maximum(y - values.T, 0)
    assert paid.mean(axis=0).sum() == pytest.approx(least, rel=1e-9, abs=1e-10)
    assert found.expected_cost == pytest.approx(least, rel=1e-9, abs=1e-10)
    assert found.gap <= 1e-9
    assert case["use"] @ y <= budget * (1 + 1e-14) + 1e-14
    assert ((y >= case["lower"]) & (y <= case["upper"])).all()
    if found.binds:
        assert found.used == pytest.approx(budget, rel=1e-12)


def test_the_shadow_price_is_the_dual_and_what_one_more_unit_saves():
    generator = np.random.default_rng(0)
    values = generator.gamma(2.0, 10.0, size=(6, 40))
    under, over = generator.uniform(1, 6, 6), generator.uniform(0.5, 2, 6)
    use = generator.uniform(0.5, 3, 6)
    bounds = {"lower": np.zeros(6), "upper": np.full(6, 1e3)}
    cost = Newsvendor(under, over)
    for budget in (20.0, 90.0, 150.0):
        _, dual = by_linear_program(under, over, values, use, budget, **bounds)
        here = allocate(cost, values, budget, use=use)
        assert here.shadow_price == pytest.approx(dual, rel=1e-7)
        less = allocate(cost, values, budget - 0.01, use=use).expected_cost
        more = allocate(cost, values, budget + 0.01, use=use).expected_cost
        assert less - here.expected_cost >= 0.01 * here.shadow_price * (1 - 1e-6)
        assert here.expected_cost - more <= 0.01 * here.shadow_price * (1 + 1e-6)


def test_a_quantile_function_against_a_general_optimiser():
    mean, deviation = np.array([50.0, 70.0, 30.0]), np.array([10.0, 20.0, 3.0])
    under, over, use = np.array([2.0, 4.0, 9.0]), np.array([1.0, 1.0, 3.0]), np.array([1.0, 2, 1])

    def expected(y):
        z = (y - mean) / deviation
        short = deviation * (norm.pdf(z) - z * norm.sf(z))
        return float(np.sum(under * short + over * (y - mean + short)))

    def slope(y):
        return (under + over) * norm.cdf(y, mean, deviation) - under

    budget = 180.0
    reference = minimize(
        expected,
        [30.0, 40.0, 20.0],
        jac=slope,
        bounds=[(0, 60), (0, 65), (25, 99)],
        constraints={
            "type": "ineq",
            "fun": lambda y: budget - use @ y,
            "jac": lambda y: -use,
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = allocate(
        Newsvendor(under, over),
        norm(mean, deviation).ppf,
        budget,
        use=use,
        lower=[0, 0, 25],
        upper=[60, 65, 99],
    )
    assert found.decision == pytest.approx(reference.x, abs=1e-4)
    assert found.used == pytest.approx(budget, rel=1e-13)
    assert found.used <= budget
    assert expected(found.decision) <= reference.fun + 1e-9
    # expectations are based on 65 quantiles
    assert found.expected_cost == pytest.approx(expected(found.decision), rel=1e-4)
    assert found.gap <= 1e-9


def test_quantile_tables_are_many_samples():
    generator = np.random.default_rng(3)
    levels = np.array([0.05, 0.2, 0.5, 0.75, 0.9])
    table = np.sort(generator.gamma(2.0, 20.0, size=(5, 5)), axis=1)
    table[0, 1:3] = table[0, 1]  # a tie
    fine = (np.arange(20_000) + 0.5) / 20_000
    samples = np.stack([np.interp(fine, levels, row) for row in table])
    cost = Newsvendor(generator.uniform(1, 6, 5), 1.0)
    for budget in (10.0, 90.0, 1e6):
        exact = allocate(cost, table, budget, levels=levels)
        nearly = allocate(cost, samples, budget)
        assert exact.decision == pytest.approx(nearly.decision, abs=0.02)
        assert exact.cost == pytest.approx(nearly.cost, rel=1e-4, abs=1e-4)
        assert exact.shadow_price == pytest.approx(nearly.shadow_price, abs=1e-3)


def test_a_huge_budget_gives_everybody_the_quantile_of_the_level():
    values = np.arange(1.0, 11.0) * np.array([[1.0], [5.0]])
    found = allocate(Newsvendor(underage=[3, 1], overage=[1, 4]), values, 1e9)
    assert found.decision.tolist() == [8, 10]  # 75 % of ten values, 20 % of ten
    assert (found.shadow_price, found.gap, found.binds) == (0.0, 0.0, False)
    assert np.array_equal(found.decision, found.unconstrained)
    assert "The budget is not binding" in str(found)


def test_without_a_budget_only_what_uses_none_is_ordered():
    values = np.arange(1.0, 11.0) * np.ones((3, 1))
    found = allocate(Newsvendor(4, 1), values, 0.0, use=[1, 0, 2])
    assert found.decision.tolist() == [0, 8, 0]
    assert found.binds
    assert found.shadow_price == pytest.approx(4.0)  # a first unit sells for sure


@given(scale=st.sampled_from([1e-9, 1e-3, 1e4, 1e9]), money=st.sampled_from([1e-6, 1e7]))
@settings(max_examples=8)
def test_units_do_not_matter(scale, money):
    generator = np.random.default_rng(1)
    values, use = generator.gamma(2.0, 10.0, size=(8, 12)), generator.uniform(0.5, 3, 8)
    under = generator.uniform(1, 6, 8)
    one = allocate(Newsvendor(under, 1), values, 100.0, use=use)
    other = allocate(
        Newsvendor(under * money, money), values * scale, 100.0 * scale * 7, use=use * 7
    )
    assert other.decision == pytest.approx(one.decision * scale, rel=1e-9)
    assert other.shadow_price == pytest.approx(one.shadow_price * money / 7, rel=1e-9)
    assert other.expected_cost == pytest.approx(one.expected_cost * money * scale, rel=1e-9)


def test_groups_are_problems_of_their_own():
    generator = np.random.default_rng(4)
    values, use = generator.gamma(2.0, 10.0, size=(40, 15)), generator.uniform(0.5, 3, 40)
    under, store = generator.uniform(1, 6, 40), generator.choice(["b", "a", "c"], 40)
    budget = {"a": 50.0, "b": 1e6, "c": 0.0, "closed": 3.0}
    for step in (None, 2):
        together = allocate(Newsvendor(under, 1), values, budget, use=use, groups=store, step=step)
        assert together.groups.tolist() == ["a", "b", "c"]
        assert together.binds.tolist() == [True, False, True]
        for place, name in enumerate("abc"):
            rows = store == name
            alone = allocate(
                Newsvendor(under[rows], 1), values[rows], budget[name], use=use[rows], step=step
            )
            assert together.decision[rows] == pytest.approx(alone.decision, rel=1e-9, abs=1e-9)
            assert together.shadow_price[place] == pytest.approx(alone.shadow_price, rel=1e-9)
            assert together.used[place] == pytest.approx(alone.used)
    same = allocate(Newsvendor(under, 1), values, 60.0, use=use, groups=store)
    assert same.budget.tolist() == [60, 60, 60]
    assert "40 products share 3 budgets; 3 are binding." in str(same)


def test_tables_in_columns_out():
    values = np.random.default_rng(5).gamma(2.0, 10.0, size=(6, 4))
    frame = pl.DataFrame(values, schema=["a", "b", "c", "d"], orient="row")
    plain = allocate(Newsvendor(3, 1), values, 30.0)
    found = allocate(Newsvendor(3, 1), frame, 30.0)
    assert np.array_equal(found.decision, plain.decision)
    table = pl.DataFrame(found.columns())
    assert table["expected_cost"].sum() == pytest.approx(found.expected_cost)
    assert "share a budget of 30 and use 30 of it" in str(found)
    assert "The allocation is optimal." in str(found)
