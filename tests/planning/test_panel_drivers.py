"""What moves usual sales: contributions add up to what models say, whatever these are."""

import datetime
from itertools import combinations
from math import factorial

import numpy as np
import polars as pl
import pytest

from unmet import BoostedDecision, Newsvendor, OrderPlan
from unmet.errors import Unsupported
from unmet.planning.candidates import DRIVERS, drivers
from unmet.planning.history import History

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)


def sales_table(n_series=8, n_days=70, promoted=True):
    generator = np.random.default_rng(0)
    level = np.geomspace(4, 90, n_series)[:, None]
    week = 1 + 0.5 * (np.arange(n_days) % 7 == 5)
    promotion = generator.random((n_series, n_days)) < 0.2
    demand = generator.poisson(level * week * np.where(promotion & promoted, 2.0, 1.0))
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(day) for day in range(n_days)] * n_series,
            "item": np.repeat([f"00{place}" for place in range(n_series)], n_days),
            "sales": demand.ravel(),
            "promotion": promotion.ravel().astype(int),
        }
    )


def coming():
    days = [FIRST + datetime.timedelta(70 + day) for day in range(7)]
    return pl.DataFrame({"date": days, "promotion": [0, 1, 0, 0, 0, 0, 0]})


@pytest.fixture(scope="module", params=["linear", "boosted", "blend"])
def plan(request):
    if request.param != "linear":
        pytest.importorskip("lightgbm")
    plan = OrderPlan(horizon=7, cost=Newsvendor.at_level(0.8), model=request.param)
    return plan.fit(sales_table(), future=coming())


def test_drivers_add_up_to_usual_sales(plan):
    parts = plan.explain(drivers=True)
    assert parts.columns[2:] == [
        *DRIVERS,
        *("usual_sales", "hidden_demand", "cost_of_running_out", "order"),
    ]
    np.testing.assert_allclose(
        parts.select(pl.sum_horizontal(DRIVERS)).to_series(), parts["usual_sales"], atol=0.006
    )
    history = History(plan.panel_)
    for model in plan.members_:
        found = drivers(model, history, *plan.targets_)
        np.testing.assert_allclose(
            np.sum(list(found.values()), axis=0), model.expected(history, *plan.targets_), rtol=1e-9
        )


def test_drivers_are_found_where_they_were_put(plan):
    """Sales double with a promotion, and are half as high again on Saturdays."""
    parts = plan.explain(drivers=True).sort("item", "date")
    added = parts["from_known_beforehand"] / parts["from_level"]
    promoted = (parts["date"] == FIRST + datetime.timedelta(71)).to_numpy()
    assert added.to_numpy()[promoted].mean() > 0.15
    assert added.to_numpy()[~promoted].mean() < 0.1
    by_day = parts["from_weekday"] / parts["from_level"]
    saturday = (parts["date"].dt.weekday() == 6).to_numpy()
    assert by_day.to_numpy()[saturday].mean() > by_day.to_numpy()[~saturday].mean() + 0.1


@pytest.mark.parametrize("model", ["distribution", "neural"])
def test_nothing_to_take_apart(model):
    plan = OrderPlan(horizon=2, model=model).fit(sales_table(3))
    with pytest.raises(Unsupported, match=r"drivers must be False unless model is"):
        plan.explain(drivers=True)


# --- Contributions of trees, against a loop over all subsets of features.


def _tree_value(node, row, known):
    """Value of a tree if only some features are known: others follow both ways, by counts."""
    if "leaf_value" in node:
        return node["leaf_value"]
    sides = node["left_child"], node["right_child"]
    if node["split_feature"] in known:
        return _tree_value(sides[not row[node["split_feature"]] <= node["threshold"]], row, known)
    counts = [each.get("internal_count", each.get("leaf_count")) for each in sides]
    values = [_tree_value(each, row, known) for each in sides]
    return np.average(values, weights=counts)


def test_contributions_are_shapley_values_of_the_refitted_trees():
    lightgbm = pytest.importorskip("lightgbm")
    generator = np.random.default_rng(1)
    X = generator.uniform(-1, 1, (300, 3))
    y = 10 + 5 * X[:, 0] * X[:, 1] + X[:, 2] + generator.normal(size=300)
    model = BoostedDecision(Newsvendor(4, 1), max_iter=3, max_leaf_nodes=6, random_state=0)
    model.fit(X, y)
    found = model.contributions(X[:5])
    assert found.shape == (5, 4)
    np.testing.assert_allclose(found.sum(axis=1), model.predict(X[:5]), rtol=1e-9)
    trees = lightgbm.Booster(model_str=model.trees_.text).dump_model()["tree_info"]

    def value(row, known):
        return sum(_tree_value(tree["tree_structure"], row, known) for tree in trees)

    for row, parts in zip(X[:5], found, strict=True):
        for feature in range(3):
            others = [each for each in range(3) if each != feature]
            expected = 0.0
            for size in range(3):
                weight = factorial(size) * factorial(2 - size) / factorial(3)
                for known in combinations(others, size):
                    expected += weight * (value(row, {*known, feature}) - value(row, set(known)))
            assert parts[feature] == pytest.approx(expected, abs=1e-9)
        assert parts[-1] == pytest.approx(model.baseline_ + value(row, set()), rel=1e-9)
