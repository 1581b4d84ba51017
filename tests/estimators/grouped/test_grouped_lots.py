import numpy as np
import pytest

from unmet import Band, GroupedDecision, LinearDecision, Newsvendor
from unmet.estimators.lots import ShiftCost, to_lots
from unmet.rows import Rows


@pytest.mark.parametrize(
    "given", [{}, {"step": 30.0, "minimum": 40.0}, {"step": None, "minimum": 20.0}]
)
def test_each_group_rounds_by_its_own_rows(given):
    generator = np.random.default_rng(0)
    code = np.repeat(np.arange(4), 45)
    x = generator.normal(size=code.size)
    # a step of 30 is small for the last group, large for the first
    y = 20 + 3.0**code * (5 + x + generator.gamma(2, 2, code.size))
    cost, band = Newsvendor(underage=7, overage=1), Band(0, 1)
    X = np.column_stack([code, x])
    weight = generator.uniform(1, 2, code.size)
    model = GroupedDecision(LinearDecision(cost, band), [0], shrink=5, random_state=0)
    model.fit(X, y, sample_weight=weight)
    decision, lots = model.predict(X), model.decide(X, **given)
    step, minimum = given.get("step", 1.0), given.get("minimum")
    for group in range(4):
        rows = code == group
        training = Rows(np.empty((45, 0)), y[rows], cost, weight[rows], band)
        shift = ShiftCost.at(training, decision[rows])
        assert np.array_equal(lots[rows], to_lots(decision[rows], shift, step, 0, None, minimum))


def test_new_and_small_groups_round_by_all_rows():
    generator = np.random.default_rng(1)
    code = np.repeat(np.arange(3), [100, 100, 3])
    y = 10 + generator.gamma(2, 2, code.size)
    X = np.column_stack([code, generator.normal(size=code.size)])
    model = GroupedDecision(LinearDecision(Newsvendor(9, 1)), [0], random_state=0).fit(X, y)
    at = np.array([[2, 0.0], [5, 0.0], [8, 1.0]])
    training = Rows(np.empty((203, 0)), y, Newsvendor(9, 1))
    shift = ShiftCost.at(training, model.predict(X))
    assert np.array_equal(model.decide(at, step=7), to_lots(model.predict(at), shift, 7, 0, None))
