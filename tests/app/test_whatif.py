"""What-ifs answer as a plan that learns anew would, only faster."""

import numpy as np
import polars as pl
import pytest

from unmet.app import WhatIf
from unmet.errors import InvalidInput, Unsupported
from unmet.planning import evaluate
from unmet.planning.example import EXAMPLE
from unmet.planning.plan_options import plan_from_options
from unmet.simulate import pricing, replacement, store10

WORDS = {"observed": "sales", "features": ("weekday", "month", "category")}


def costs(underage, overage, rate=None):
    return {"underage": underage, "overage": overage, "sellout_rate": rate}


@pytest.fixture(scope="module")
def restaurant(tables):
    return WhatIf(plan_from_options(**EXAMPLE), tables.sales)


@pytest.fixture(scope="module")
def store():
    return store10(seed=3).train.to_polars().head(300)


@pytest.fixture(scope="module")
def store_what_if(store):
    return WhatIf(plan_from_options(**WORDS, underage=3.0, overage=1.0), store)


def test_other_costs_give_what_a_plan_gives_that_learns_anew(tables, restaurant):
    plan = plan_from_options(**{**EXAMPLE, "underage": 7.0, "overage": 2.0}).fit(tables.sales)
    expected = plan.decide(tables.coming, 6, 12)
    found = restaurant.outcome(costs(7.0, 2.0), tables.coming, step=6, lower=12)
    np.testing.assert_array_equal(found["decisions"]["decision"], expected.decision)
    np.testing.assert_array_equal(found["decisions"]["ignoring"], expected.ignoring)
    assert found["diagnosis"].stake == pytest.approx(plan.diagnosis_.stake)
    assert found["stake"][0] == pytest.approx(plan.diagnosis_.stake)
    assert found["plan"].notes_ == plan.notes_
    hindsight = restaurant.outcome(costs(7.0, 2.0), tables.truth, truth="demand")["comparison"]
    evaluated = evaluate(plan, tables.truth, "demand")
    for method in ("ieo", "plan"):
        assert hindsight[method].cost == pytest.approx(evaluated[method].cost)
    assert hindsight["plan"].saving == pytest.approx(evaluated["plan"].saving)


def test_rates_move_decisions_and_money_the_same_way(store, store_what_if):
    rows = store.head(50)
    found = [
        store_what_if.outcome(costs(3.0, 1.0, rate), rows, step=None)
        for rate in (0.0, 0.2, 0.4, 0.6)
    ]
    means = [each["decisions"]["decision"].mean() for each in found]
    stakes = [each["stake"][0] for each in found]
    assert means == sorted(means)
    assert means[0] < means[1]
    assert stakes == sorted(stakes)
    assert stakes[0] == 0.0
    np.testing.assert_allclose(found[0]["decisions"]["decision"], found[0]["decisions"]["ignoring"])


def test_a_rate_says_that_it_was_assumed(tables, restaurant):
    counted = restaurant.outcome(costs(3.0, 1.0, 0.25), tables.coming)
    assert any("counted" in note for note in counted["notes"])
    assert counted["answer"][1] == "25% of the rows hide demand (your assumption)."
    assert counted["assumed"] == 0.25
    assert counted["diagnosis"].share_censored > 0.35
    told = restaurant.outcome(costs(3.0, 1.0), tables.coming)["notes"]
    assert not any("counted" in note for note in told)


def test_costs_by_row(store):
    dear = np.where(np.arange(store.height) % 2, 9.0, 2.0)
    table = store.with_columns(pl.Series("cost", dear))
    plan = plan_from_options(**WORDS, underage_column="cost", overage=1.0)
    what_if = WhatIf(plan, table)
    found = what_if.outcome({"overage": 1.0}, table.head(20), truth="demand")
    expected = plan.fit(table).decide(table.head(20))
    np.testing.assert_array_equal(found["decisions"]["decision"], expected.decision)
    assert found["comparison"]["plan"].cost == pytest.approx(
        evaluate(plan, table.head(20), "demand")["plan"].cost
    )
    with pytest.raises(InvalidInput, match="overage must be that of the plan"):
        what_if.outcome({"overage": 2.0}, table.head(20))


@pytest.mark.slow
def test_many_rows_are_sampled_and_said_to_be(store):
    plan = plan_from_options(**WORDS, underage=3.0, overage=1.0)
    what_if = WhatIf(plan, store, max_rows=200)
    found = what_if.outcome(costs(3.0, 1.0), store.head(40))
    assert what_if.sampled
    assert any("200 of 300 rows" in note for note in found["notes"])
    whole = WhatIf(plan, store, max_rows=None).outcome(costs(3.0, 1.0), store.head(40))
    assert not any("a sample of" in note for note in whole["notes"])
    assert found["decisions"]["decision"].mean() == pytest.approx(
        whole["decisions"]["decision"].mean(), rel=0.1
    )


def test_prices():
    data = pricing(seed=1).train
    names = list(data.feature_names)
    columns = dict(zip(names, data.features.T, strict=True))
    table = pl.DataFrame({**columns, "offer": data.offer, "accepted": data.accepted}).head(200)
    words = {"problem": "pricing", "accepted_column": "accepted"}
    plan = plan_from_options("offer", names, underage=2.0, overage=5.0, **words)
    what_if = WhatIf(plan_from_options("offer", names, underage=1.0, overage=1.0, **words), table)
    assert not what_if.takes_rates
    found = what_if.outcome(costs(2.0, 5.0), table.head(30), step=None)
    expected = plan.fit(table).decide(table.head(30), None)
    np.testing.assert_array_equal(found["decisions"]["decision"], expected.decision)
    with pytest.raises(Unsupported, match="limits"):
        what_if.outcome(costs(2.0, 5.0, 0.2), table.head(30))


@pytest.mark.parametrize(
    "features",
    [pytest.param(("load", "temperature"), marks=pytest.mark.slow), ()],
    ids=["features", "one age"],
)
def test_ages(features):
    table = replacement(n=40, seed=2).train.to_polars()
    words = {"problem": "replacement", "censored_column": "suspended"}
    plan = plan_from_options("time", features, planned=2.0, failure=9.0, **words)
    what_if = WhatIf(plan_from_options("time", features, planned=1.0, failure=8.0, **words), table)
    found = what_if.outcome({"planned": 2.0, "failure": 9.0}, table.head(20), step=None)
    expected = plan.fit(table).decide(table.head(20), None)
    np.testing.assert_allclose(found["decisions"]["decision"], expected.decision, rtol=1e-9)
    np.testing.assert_allclose(found["decisions"]["ignoring"], expected.ignoring, rtol=1e-9)
    assert found["stake"] is None


def test_what_the_page_cannot_do_is_refused(store):
    with pytest.raises(InvalidInput, match="needs model 'linear' or 'distribution'"):
        WhatIf(plan_from_options(**WORDS, underage=3.0, overage=1.0, model="boosted"), store)
    with pytest.raises(InvalidInput, match="underage must"):
        WhatIf(plan_from_options(**WORDS, underage=-3.0, overage=1.0), store)


def test_equal_observations_are_decided_on_and_said_to_tell_nothing(store):
    table = store.with_columns(pl.lit(5.0).alias(WORDS["observed"]))
    plan = plan_from_options(**WORDS, underage=3.0, overage=1.0)
    what_if = WhatIf(plan, table)
    assert not what_if.takes_rates
    found = what_if.outcome(costs(7.0, 2.0), table.head(20))
    assert found["decisions"]["decision"].to_list() == [5.0] * 20
    assert any("have the same observation" in note for note in found["notes"])
