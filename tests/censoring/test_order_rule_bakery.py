"""Real demand: the point mass of a rule on real bakery demand, and none without a rule."""

import numpy as np
import pytest
from ordering import mean_of_four, sell

from unmet.censoring.order_rule import OrderRuleDetection
from unmet.data import load_bakery, load_yaz


def sold(table, rule):
    """Sales and orders of one series at a time, rows as in the table."""
    parts = [
        sell(part["demand"].to_numpy(), rule)
        for part in table.partition_by("store", "product", maintain_order=True)
    ]
    sales, order = zip(*parts, strict=True)
    return np.concatenate(sales), np.concatenate(order)


@pytest.mark.parametrize(("store", "product"), [(2, 101), (25, 110)])
def test_sold_out_days_of_one_bakery_are_found(store, product):
    table = load_bakery(stores=[store], products=[product])
    sales, order = sold(table, mean_of_four(1.15))
    finding = OrderRuleDetection().fit(sales, table["date"])
    assert finding.rule_.formula == (
        "1.15 × mean of the last 4 same weekdays, rounded up to a multiple of 1"
    )
    flagged = finding.censored_ == 1
    hidden = table["demand"].to_numpy() > order
    # whoever wants exactly what is there cannot be told from whoever wants more
    assert np.mean(hidden[flagged]) >= (0.95 if product == 101 else 0.88)
    assert np.mean(flagged[hidden]) >= 0.95
    assert np.mean((sales == order)[flagged]) == 1


def test_nothing_is_found_in_the_demand_itself():
    table = load_bakery(stores=[2, 22, 33], products=[101, 110])
    label = (table["store"] * 1000 + table["product"]).to_numpy()
    finding = OrderRuleDetection().fit(table["demand"], table["date"], label)
    assert not finding.accepted_, finding.rule_
    assert max(found.z for found in finding.candidates_) < 4


@pytest.mark.parametrize("dish", ["calamari", "lamb"])
def test_nothing_is_found_in_a_restaurant(dish):
    table = load_yaz()
    finding = OrderRuleDetection().fit(table[dish], table["date"])
    assert not finding.accepted_, finding.rule_
