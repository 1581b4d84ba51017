"""A shared budget in lots: against every combination, and proofs of what is not optimal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import by_every_combination, random_case

from unmet import Newsvendor, allocate


def _lots(seed, alike):
    case = random_case(seed, 4, 5)
    generator = np.random.default_rng(seed + 1)
    n = case["use"].size
    case["lower"], case["upper"] = np.floor(case["lower"]), np.full(n, 9.0)
    if alike:
        case["use"] = np.full(n, generator.choice([1.0, 0.3]))
        return case, np.full(n, generator.choice([1.0, 3.0, 0.7]))
    return case, generator.choice([1.0, 2.0, 3.0], n)


@given(
    seed=st.integers(0, 10**6),
    extra=st.sampled_from([0.0, 0.37, 1.0, 5.0, 7.0, 13.0, 1000.0]),
    alike=st.booleans(),
)
def test_no_combination_of_lots_beats_the_proven_bound(seed, extra, alike):
    case, step = _lots(seed, alike)
    least = np.ceil(case["lower"] / step - 1e-9) * step
    budget = float(case["use"] @ least) + extra
    best = by_every_combination(**case, budget=budget, step=step)
    under, over, values = case.pop("under"), case.pop("over"), case.pop("values")
    found = allocate(Newsvendor(under, over), values, budget, step=step, **case)
    assert found.used <= budget * (1 + 1e-11) + 1e-11
    assert found.decision / step == pytest.approx(np.round(found.decision / step), abs=1e-9)
    assert ((found.decision >= case["lower"]) & (found.decision <= case["upper"] + 1e-9)).all()
    above = found.expected_cost - best
    assert -1e-9 <= above <= found.gap + 1e-9
    if alike:  # every lot uses the same: greedy is optimal and says so
        assert found.gap <= 1e-9


def test_a_large_lot_that_does_not_fit_leaves_room_for_small_ones():
    values = np.array([[100.0, 100], [3, 3], [2, 2]])
    found = allocate(Newsvendor([9, 5, 4], 1), values, 12.0, step=[10, 1, 1])
    assert found.decision.tolist() == [10, 2, 0]
    # the small ones may save more per unit, but not where a large lot does not fit
    found = allocate(Newsvendor([9, 5, 4], 1), values, 9.0, step=[10, 1, 1])
    assert found.decision.tolist() == [0, 3, 2]
    assert found.shadow_price == pytest.approx(9.0)
    assert found.gap == pytest.approx(9 * 9.0 - 3 * 5 - 2 * 4)
    assert "The allocation is within 58 of the optimum." in str(found)


def test_the_gap_is_less_than_what_one_lot_saves():
    generator = np.random.default_rng(0)
    values = generator.gamma(2.0, 10.0, size=(300, 20))
    use, step = generator.uniform(0.5, 3, 300), generator.choice([1.0, 4.0, 6.0], 300)
    under = generator.uniform(1, 6, 300)
    for budget in (100.0, 3000.0, 7000.0):
        found = allocate(Newsvendor(under, 1), values, budget, use=use, step=step)
        assert found.binds
        assert 0 <= found.gap <= found.shadow_price * (use * step).max()
        assert found.gap <= 2e-3 * found.expected_cost
        relaxed = allocate(Newsvendor(under, 1), values, budget, use=use)
        assert found.expected_cost >= relaxed.expected_cost
        assert budget - found.used < (use * step).min() + 1e-9  # nothing that fits was left out


def test_without_a_binding_budget_each_product_gets_its_cheapest_lot():
    generator = np.random.default_rng(6)
    values, step = generator.gamma(2.0, 10.0, size=(20, 9)), generator.uniform(3, 30, 20)
    under, over = generator.uniform(1, 6, 20), generator.uniform(0.5, 2, 20)
    found = allocate(Newsvendor(under, over), values, 1e6, step=step, upper=60)
    for i, row in enumerate(values):
        lots = step[i] * np.arange(0, np.floor(60 / step[i]) + 1)
        paid = under[i] * np.maximum(row - lots[:, None], 0)
        paid = (paid + over[i] * np.maximum(lots[:, None] - row, 0)).mean(axis=1)
        assert found.decision[i] == pytest.approx(lots[paid.argmin()])
        assert found.cost[i] == pytest.approx(paid.min())
    assert not found.binds
