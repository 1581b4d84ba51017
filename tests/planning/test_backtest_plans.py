"""Comparisons: nobody looks ahead, and prices are those of brute force."""

import datetime
import re
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from sales_table import sales_table
from sklearn.base import clone
from sklearn.model_selection import KFold

from unmet.errors import InvalidInput
from unmet.evaluation import fill_rate, service_level
from unmet.planning import backtest, evaluate
from unmet.planning.backtest import METHODS, compare
from unmet.planning.plan_options import plan_from_options

BASE = {"observed": "sales", "features": ["price", "kind"], "underage": 3, "overage": 1}


@pytest.fixture(scope="module")
def table():
    return sales_table(60)


@pytest.fixture(scope="module")
def dated():
    words = {"date": "date", "series": ["store"], "censored_column": "out", "model": "linear"}
    return plan_from_options(**BASE, **words)


@pytest.fixture(scope="module")
def known(table, dated):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backtest, "_TRIALS", 2)
        return compare(dated, table, truth="demand", n_splits=2, horizon=10)


def nv_cost(order, demand, under=3.0, over=1.0):
    return np.mean(under * np.maximum(demand - order, 0) + over * np.maximum(order - demand, 0))


def spied(monkeypatch, plan, table, **options):
    """Decisions of every method on the rows held out, before they are evaluated, and the result."""
    kept, original = {}, backtest._evaluate

    def spy(plan, cost, decided, **more):
        kept.update({name: each.copy() for name, each in decided.items()})
        return original(plan, cost, decided, **more)

    with monkeypatch.context() as patch:  # a second spy must not speak to the first
        patch.setattr(backtest, "_evaluate", spy)
        return kept, compare(plan, table, **options)


def at_random(table, n_splits):
    """Rows in the order in which they are held out where there is no date."""
    blocks = KFold(n_splits, shuffle=True, random_state=0).split(np.empty(table.height))
    return [held for _, held in blocks]


def test_nobody_looks_ahead(monkeypatch, table, dated):
    """Change all that happens from the last block on: no decision may change."""
    monkeypatch.setattr(backtest, "_TRIALS", 2)
    last = pl.col("date") >= datetime.date(2024, 2, 20)
    other = table.with_columns(
        sales=pl.when(last).then(1000 - pl.col("sales")).otherwise("sales"),
        out=pl.when(last).then(~pl.col("out")).otherwise("out"),
    )
    options = {"truth": "demand", "n_splits": 1, "horizon": 10}
    first, _ = spied(monkeypatch, dated, table, **options)
    second, _ = spied(monkeypatch, dated, other, **options)
    assert list(first) == ["eas", "ieo", "published", "plan"]
    for method, decided in first.items():
        assert decided.size == 30
        np.testing.assert_array_equal(decided, second[method])


def test_on_the_truth_as_by_hand(table, dated, known):
    cut = [datetime.date(2024, 2, 10), datetime.date(2024, 2, 20), datetime.date(2024, 3, 1)]
    costs, orders, demands = [], [], []
    for start, stop in pairwise(cut):
        past = table.filter(pl.col("date") < start)
        block = table.filter((pl.col("date") >= start) & (pl.col("date") < stop))
        order = clone(dated).fit(past).decide(block).decision
        demand = block["demand"].to_numpy()
        costs.append(nv_cost(order, demand))
        orders.append(order)
        demands.append(demand)
    order, demand = np.concatenate(orders), np.concatenate(demands)
    found = known["plan"]
    assert known.basis == "truth"
    assert known.n_rows == order.size == 60
    assert list(known.folds) == [
        ("2024-02-10", "2024-02-19"),
        ("2024-02-20", "2024-02-29"),
    ]
    assert list(found.by_fold) == pytest.approx(costs)
    assert found.cost == pytest.approx(nv_cost(order, demand))
    assert found.decision == pytest.approx(order.mean())
    assert found.service_level == pytest.approx((order >= demand).mean())
    assert found.fill_rate == pytest.approx(np.minimum(order, demand).sum() / demand.sum())
    assert found.saving == pytest.approx(1 - found.cost / known["ieo"].cost)
    assert known["ieo"].saving == 0.0
    assert found.label == dated.words


def test_costs_by_row_and_rows_held_out_at_random(monkeypatch, table):
    words = {**BASE, "underage": None, "underage_column": "margin", "band": (0.0, 5.0)}
    options = {"truth": "demand", "n_splits": 3}
    plan = plan_from_options(**words)
    decided, found = spied(monkeypatch, plan, table, **options)
    assert found.folds == ()
    assert "methods may have been fitted to later rows" in found.notes[0]
    blocks = at_random(table, 3)
    demand, margin = (
        table[name].to_numpy()[np.concatenate(blocks)] for name in ("demand", "margin")
    )
    for method, order in decided.items():
        assert found[method].cost == pytest.approx(nv_cost(order, demand, margin))
        ends = np.cumsum([0, *(held.size for held in blocks)])
        each = [nv_cost(order[a:b], demand[a:b], margin[a:b]) for a, b in pairwise(ends)]
        assert list(found[method].by_fold) == pytest.approx(each)


def test_on_the_estimate(monkeypatch, table):
    plan = plan_from_options(**BASE, sellout_rate=0.4)
    monkeypatch.setattr(backtest, "_methods", lambda plan: (["eas", "plan"], []))
    decided, found = spied(monkeypatch, plan, table, n_splits=2)
    assert found.basis == "estimate"
    fitted = clone(plan).fit(table)
    held = table[np.concatenate(at_random(table, 2))]
    quantile = fitted.estimator_.rule_.quantile_function(fitted.encode(held))
    grid = (np.arange(400) + 0.5) / 400  # finer than ours
    for method in ("eas", "plan"):
        expected = np.mean([nv_cost(decided[method], quantile(u)) for u in grid])
        assert found[method].cost == pytest.approx(expected, rel=0.02)
    assert found["plan"].cost < found["eas"].cost


def test_flags_let_it_price_what_was_seen(monkeypatch):
    table = sales_table(150)
    plan = plan_from_options(**BASE, censored_column="out")
    monkeypatch.setattr(backtest, "_methods", lambda plan: (["eas", "ieo", "plan"], []))
    decided, found = spied(monkeypatch, plan, table, n_splits=2)
    names = ["eas", "ieo", "linear", "distribution", "plan"]
    assert [each.method for each in found.methods] == names
    assert found.basis == "seen"
    assert found["plan"].saving > 0 > found["eas"].saving
    assert "weighted for those that did" in found.notes[0]
    demand = table["demand"].to_numpy()[np.concatenate(at_random(table, 2))]
    true = {name: nv_cost(order, demand) for name, order in decided.items()}
    for one, other in (("eas", "plan"), ("ieo", "plan")):
        more = found[one].cost - found[other].cost
        assert more == pytest.approx(true[one] - true[other], rel=0.35)
    assert np.mean(found["plan"].by_fold) == pytest.approx(found["plan"].cost, rel=0.1)


@pytest.mark.slow
def test_flags_price_plans_that_do_not_learn_from_them():
    """Sales alone prefer whoever orders least; rows that were seen whole do not."""
    table = sales_table(150)
    words = {**BASE, "censored_column": "out"}
    bands = {"none": "none", "high": (10.0, 12.0)}
    really, found, naive = {}, {}, {}
    for name, band in bands.items():
        really[name] = compare(
            plan_from_options(**words, band=band), table, truth="demand", n_splits=2
        )
        found[name] = compare(plan_from_options(**words, band=band), table, n_splits=2)
        naive[name] = compare(plan_from_options(**BASE, band=band), table, n_splits=2)
        assert (found[name].basis, naive[name].basis) == ("seen", "observation")
    assert really["high"]["plan"].cost < really["high"]["ieo"].cost
    assert found["high"]["plan"].cost < found["high"]["ieo"].cost
    assert naive["high"]["plan"].cost > naive["high"]["ieo"].cost
    fitted = plan_from_options(**words, band="none").fit(table)
    plain = plan_from_options(**BASE, band="none").fit(table)
    np.testing.assert_array_equal(fitted.decide(table).decision, plain.decide(table).decision)
    assert any("used for evaluation only" in note for note in fitted.notes_)


def test_evaluate_agrees_with_the_measures(table):
    words = {**BASE, "underage": None, "underage_column": "margin"}
    plan = plan_from_options(**words, censored_column="out").fit(table)
    new = sales_table(10, seed=5)
    found = evaluate(plan, new, "demand")
    decided = plan.decide(new)
    demand, margin = new["demand"].to_numpy(), new["margin"].to_numpy()
    for method, order in (("plan", decided.decision), ("ieo", decided.ignoring)):
        assert found[method].cost == pytest.approx(nv_cost(order, demand, margin))
        assert found[method].service_level == service_level(order, demand)
        assert found[method].fill_rate == fill_rate(order, demand)
    assert found["plan"].saving == pytest.approx(1 - found["plan"].cost / found["ieo"].cost)
    for name in ("margin", "demand"):
        with pytest.raises(InvalidInput, match=f"got '{name}'"):
            evaluate(plan, new.drop(name), "demand")
    gaps = new.with_columns(demand=pl.when(pl.int_range(pl.len()) != 4).then("demand"))
    with pytest.raises(InvalidInput, match="truth must have a number in every row"):
        evaluate(plan, gaps, "demand")


def test_what_is_priced_can_be_carried_out(monkeypatch, table):
    """Every method in lots of 6, nothing or at least 96, and evaluated so."""
    monkeypatch.setattr(backtest, "_TRIALS", 2)
    plan = plan_from_options(**BASE, band=(0.0, 5.0))
    options = {"truth": "demand", "n_splits": 2, "step": 6, "minimum": 96, "upper": 120}
    decided, found = spied(monkeypatch, plan, table, **options)
    demand = table["demand"].to_numpy()[np.concatenate(at_random(table, 2))]
    assert {"eas", "ieo", "plan"} <= set(decided)
    for method, order in decided.items():
        assert set(np.unique(order)) <= {0, 96, 102, 108, 114, 120}
        assert found[method].cost == pytest.approx(nv_cost(order, demand))
    whole, _ = spied(monkeypatch, plan, table, truth="demand", n_splits=2)
    assert all((order == np.round(order)).all() for order in whole.values())
    fractions, _ = spied(monkeypatch, plan, table, truth="demand", n_splits=2, step=None)
    assert any((order != np.round(order)).any() for order in fractions.values())


def test_flags_price_a_fitted_plan():
    """Without the truth the order of methods, and how far they are apart, stay as they are."""
    plan = plan_from_options(**BASE, censored_column="out").fit(sales_table(150))
    new = sales_table(300, seed=5)
    stock = pl.Series(np.random.default_rng(1).normal(112, 25, new.height).round())
    new = new.with_columns(stock=stock, sales=pl.min_horizontal("demand", stock))
    new = new.with_columns(out=pl.col("sales") == pl.col("stock"))
    true = evaluate(plan, new, "demand")
    really = true["ieo"].cost - true["plan"].cost
    for columns in (None, {"censored": "out"}, {"stock": "stock"}):
        found = evaluate(plan, new.drop("demand"), columns=columns)
        assert found.basis == "seen"
        assert found.n_rows == 900
        more = found["ieo"].cost - found["plan"].cost
        assert more == pytest.approx(really, rel=0.2)
        assert "weighted for those that did" in found.notes[0]
        assert not any("exceeds nearly all past orders" in note for note in found.notes)
    low = evaluate(plan, sales_table(300, seed=5), lower=150)
    assert any("of the rows some decision exceeds nearly all" in note for note in low.notes)
    # sales alone would prefer to order less
    naive = evaluate(plan, new.with_columns(demand="sales"), "demand")
    assert naive["ieo"].cost - naive["plan"].cost < 0.5 * really


def test_nothing_to_price_by():
    table = sales_table(60)
    plan = plan_from_options(**BASE, band="none").fit(table)
    with pytest.raises(InvalidInput, match=r"needs the column of the truth.*add one"):
        evaluate(plan, table)
    for flags in (pl.lit(True), pl.lit(None, dtype=pl.Boolean)):
        with pytest.raises(InvalidInput, match="Too few rows have flags or stock"):
            evaluate(plan, table.with_columns(out=flags), columns={"censored": "out"})


def left_out(found):
    return [
        note.partition(", because")[0] for note in found.notes if note.startswith("Not compared")
    ]


def test_every_method_is_shown_or_named(monkeypatch, table):
    """Each baseline is in the table, or a note says why it is not."""
    monkeypatch.setattr(backtest, "_TRIALS", 2)
    baselines = {"eas", "ieo", "published"}
    for words in ({"band": (0.0, 5.0)}, {"band": "none"}, {"band": "none", "by": ["store"]}):
        found = compare(plan_from_options(**BASE, **words), table, truth="demand", n_splits=2)
        shown = {each.method for each in found.methods} & baselines
        named = {name for name in baselines if f"Not compared: {METHODS[name]}" in left_out(found)}
        assert shown | named == baselines
        assert not shown & named


def test_without_optuna_one_method_is_left_out_and_one_note_says_so(monkeypatch, table):
    monkeypatch.setitem(sys.modules, "optuna", None)
    found = compare(plan_from_options(**BASE, band=(0.0, 5.0)), table, truth="demand", n_splits=2)
    assert [each.method for each in found.methods] == ["eas", "ieo", "plan"]
    (note,) = [each for each in found.notes if each.startswith("Not compared")]
    assert re.fullmatch(
        "Not compared: published method, because SearchedBand needs optuna: install it with pip "
        "install 'optuna>=.*'.",
        note,
    )


@pytest.mark.slow
def test_flags_that_say_too_little_are_told(monkeypatch, table):
    monkeypatch.setattr(backtest, "_methods", lambda plan: (["plan"], []))
    row = pl.int_range(pl.len())
    few = table.with_columns(out=pl.when(row < 60).then("out"))
    found = compare(plan_from_options(**BASE, censored_column="out"), few, n_splits=2)
    assert found.basis == "estimate"
    assert any("Too few rows have flags or stock" in note for note in found.notes)


@pytest.mark.parametrize(
    ("words", "options", "sentence"),
    [
        ({}, {"step": "six"}, "step must be a number, None or 'auto', got 'six'"),
        ({}, {"n_splits": 1}, "n_splits must be from 2 to the number of rows, got 1"),
        ({}, {"horizon": 7}, "horizon needs a column of dates"),
        ({"date": "date"}, {"n_splits": 60}, "must have at least 61 different entries"),
        (
            {"date": "date"},
            {"n_splits": 2, "horizon": 30},
            "must have at least 61 different entries",
        ),
        ({"date": "date"}, {"n_splits": 0}, "n_splits must be a whole number of at least 1"),
        ({"date": "date"}, {"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({}, {"truth": "nope"}, "truth must be a column of the table, got 'nope'"),
        ({}, {"truth": "price"}, "features must not include the truth, got 'price'"),
        ({}, {"truth": "store"}, "truth must have numbers"),
    ],
)
def test_wrong_comparisons(table, words, options, sentence):
    with pytest.raises(InvalidInput) as error:
        compare(plan_from_options(**BASE, **words), table, **options)
    assert sentence in str(error.value)
