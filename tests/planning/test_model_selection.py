"""Which model a plan takes: by costs on time held out, where rows are known to have sold out."""

import datetime

import numpy as np
import polars as pl
import pytest
from sales_table import sales_table

import unmet
from unmet import DistributionDecision, LatentBand, LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation.backtest import ModelChoice, score_decisions
from unmet.planning.decision_models import HeldOut, candidates
from unmet.planning.plan_options import plan_from_options
from unmet.report import report_data
from unmet.rows import Rows

BASE = {"observed": "sales", "features": ["price", "kind"], "underage": 3, "overage": 1}


@pytest.fixture(scope="module")
def table():
    return sales_table(150)


@pytest.fixture(scope="module")
def small():
    return sales_table(60)


@pytest.fixture(scope="module")
def wide():
    """Multiplicative demand over a wide range of prices: what a line cannot follow."""
    generator = np.random.default_rng(3)
    n = 800
    price = generator.uniform(0, 3, n)
    demand = np.exp(2.5 + price + generator.normal(0, 0.35, n))
    stock = np.exp(2.7 + price + generator.normal(0, 0.3, n))
    day = [datetime.date(2024, 1, 1) + datetime.timedelta(int(each)) for each in range(n)]
    sales, out = np.minimum(demand, stock), demand >= stock
    columns = {"date": day, "price": price, "sales": sales, "out": out, "demand": demand}
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def chosen(wide):
    words = {"observed": "sales", "features": ["price"], "underage": 3, "overage": 1}
    return plan_from_options(**words, censored_column="out", date="date").fit(wide)


def test_takes_the_distribution_where_a_line_cannot_follow(chosen):
    plan, choice = chosen, chosen.choice_
    assert choice.model == "distribution" == plan.model_name
    assert isinstance(plan.estimator_.model_, DistributionDecision)
    assert choice.scored
    assert choice.cost["distribution"] < choice.cost["linear"]
    assert "In a backtest on the last quarter of the days its orders cost" in choice.why
    content = report_data(plan)
    assert choice.why in content["answer"]
    assert (
        content["inputs"]["model"] == "distribution, of linear, distribution (chosen in a backtest)"
    )
    assert plan.words == "this plan: distribution, latent band"


def test_the_score_is_that_of_models_fitted_to_the_earlier_part(wide, chosen):
    choice = chosen.choice_
    X, s, out = wide[["price"]].to_numpy(), wide["sales"].to_numpy(), wide["out"].to_numpy()
    past, coming = slice(0, 600), slice(600, 800)
    cost, decided = Newsvendor(3, 1), {}
    for name, kind in (("linear", LinearDecision), ("distribution", DistributionDecision)):
        model = kind(cost, LatentBand(random_state=0))
        model.fit(X[past], s[past], censored=out[past], time=np.arange(600))
        decided[name] = model.decide(X[coming], step=None)
    rule = LatentBand(random_state=0)
    rule.fit(cost, X[past], s[past], censored=out[past], time=np.arange(600))
    held = Rows(X[coming], s[coming], cost, censored=out[coming].astype(float))
    expected = score_decisions(cost, decided, held, rule.model_).cost
    assert choice.cost == pytest.approx(expected, rel=1e-6)


def test_scores_are_right_if_the_model_or_the_weights_are():
    """Truth known: wrong weights (orders follow demand) or a wrong model alone mislead neither."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    demand = 50 + 8 * X[:, 0] + 8 * rng.normal(size=4000)
    order = 54 + 8 * X[:, 0] + 6 * rng.normal(size=4000)
    sales, out = np.minimum(demand, order), (demand > order).astype(float)
    cost = Newsvendor(4, 1)
    learned = slice(0, 2000)
    right = LatentBand(random_state=0).fit(cost, X[learned], sales[learned], censored=out[learned])
    wrong = LatentBand(random_state=0).fit(
        cost, X[learned], 0.9 * sales[learned], censored=0 * out[learned]
    )
    held = Rows(X[2000:], sales[2000:], cost, censored=out[2000:])
    decided = {"low": 50 + 8 * X[2000:, 0], "high": 56.7 + 8 * X[2000:, 0]}
    true = {name: cost.cost(each, demand[2000:]).mean() for name, each in decided.items()}
    for model in (right.model_, wrong.model_):
        found = score_decisions(cost, decided, held, model)
        more, error = found.difference("low", "high")
        assert abs(more - (true["low"] - true["high"])) < 3 * error


def test_what_cannot_be_told_apart_goes_to_the_distribution(table):
    plan = plan_from_options(**BASE, stock_column="stock").fit(table)
    assert plan.choice_.model == "distribution"
    named = plan_from_options(**BASE, stock_column="stock", model="distribution").fit(table)
    assert named.choice_ is None
    np.testing.assert_array_equal(plan.decide(table).decision, named.decide(table).decision)


def test_without_flags_there_is_a_linear_model_and_a_sentence(small):
    row = pl.int_range(pl.len())
    some = small.with_columns(some=pl.when(row % 3 == 0).then("out"))
    for more in ({}, {"sellout_rate": 0.4}, {"censored_column": "some"}):
        plan = plan_from_options(**BASE, **more)
        rows = plan.rows(some)
        features = plan.encoder(rows.table).transform(rows.table)
        choice = HeldOut(plan, features, rows).choose(plan.cost)
        assert (choice.model, choice.scored) == ("linear", False)
        assert "no flags or stock say which rows sold out" in choice.why


@pytest.mark.slow
def test_others_are_compared_where_they_are_named(table):
    pytest.importorskip("lightgbm")
    plan = plan_from_options(**BASE, censored_column="out", model=("linear", "boosted")).fit(table)
    assert set(plan.choice_.cost) == {"linear", "boosted"}
    assert plan.choice_.model == "linear"  # demand is linear


def test_rows_held_out_are_the_last_quarter_of_the_days(table):
    plan = plan_from_options(**BASE, censored_column="out", date="date", series=["store"])
    rows = plan.rows(table)
    held_out = HeldOut(plan, plan.encoder(rows.table).transform(rows.table), rows)
    past, coming = held_out.past[1], held_out.coming[1]
    assert past.table["date"].max() < coming.table["date"].min()
    assert coming.table["date"].n_unique() == 150 // 4
    choice = held_out.choose(Newsvendor(9, 1))  # other costs need no other distribution
    assert choice.n_rows <= coming.observed.size


def test_seasonal_and_blend_are_models_like_others(small):
    pytest.importorskip("lightgbm")
    words = {**BASE, "censored_column": "out", "date": "date", "series": ["store"], "band": "none"}
    seasonal = plan_from_options(**words, model="seasonal").fit(small)
    found = small.with_columns(order=pl.Series(seasonal.decide(small, step=None).decision))
    kinds = found.group_by("store", pl.col("date").dt.weekday()).agg(pl.col("order").n_unique())
    assert (kinds["order"] == 1).all()
    parts = {
        name: plan_from_options(**words, model=name).fit(small).decide(small, step=None).decision
        for name in ("linear", "boosted", "blend")
    }
    half = 0.5 * (parts["linear"] + parts["boosted"])
    np.testing.assert_allclose(parts["blend"], half, rtol=1e-12)
    with pytest.raises(InvalidInput, match="model 'seasonal' needs a column of dates"):
        plan_from_options(**BASE, model="seasonal")


@pytest.mark.slow
def test_costs_and_weights_of_rows_are_used(table):
    words = {**BASE, "underage": None, "underage_column": "margin"}
    plan = plan_from_options(**words, censored_column="out", weight_column="weight").fit(table)
    assert plan.choice_.scored
    assert np.isfinite(plan.decide(table).decision).all()


def test_a_choice_is_saved(wide, chosen, tmp_path):
    loaded = unmet.load(unmet.save(chosen, tmp_path / "plan.unmet"))
    assert loaded.choice_ == chosen.choice_
    assert isinstance(loaded.choice_, ModelChoice)
    np.testing.assert_array_equal(loaded.decide(wide).decision, chosen.decide(wide).decision)


@pytest.mark.parametrize(
    "model", ["forest", ("linear", "forest"), (), ("distribution", "distribution"), 3]
)
def test_wrong_models_are_named(model):
    with pytest.raises(InvalidInput, match="model must be 'auto'"):
        candidates(model)


def test_a_distribution_needs_its_band():
    with pytest.raises(InvalidInput, match="model 'distribution' needs band 'latent'"):
        plan_from_options(**BASE, model="distribution", band="none").check()
