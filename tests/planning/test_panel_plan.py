"""Plans of panels: what they choose, what they order, and tables of every awkward kind."""

import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from unmet import OrderPlan
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.planning import Schema
from unmet.planning.candidates import TrainingSet
from unmet.tables.panel import Panel

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)


def demand_and_stock(n_series=12, n_days=80, seed=0, ratio=1.2):
    """Demand with a week, of items that sell 4 and 400; stock that follows it."""
    generator = np.random.default_rng(seed)
    level = np.geomspace(4, 400, n_series)[:, None]
    week = 1 + 0.4 * np.sin(2 * np.pi * np.arange(n_days) / 7)
    demand = generator.poisson(level * week * generator.gamma(20, 1 / 20, (n_series, n_days)))
    stock = np.ceil(level * week * ratio * generator.uniform(0.7, 1.3, (n_series, n_days)))
    return demand.astype(float), stock


def sales_table(n_series=12, n_days=80, seed=0, flags=True, **how):
    demand, stock = demand_and_stock(n_series, n_days, seed, **how)
    rows = {
        "date": [FIRST + datetime.timedelta(day) for day in range(n_days)] * n_series,
        "item": np.repeat([f"{place:03}" for place in range(n_series)], n_days),
        "sales": np.minimum(demand, stock).ravel(),
    }
    if flags:
        rows["sold_out"] = (demand >= stock).ravel()
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def plan():
    return OrderPlan(horizon=3, cost=Newsvendor.at_level(0.8)).fit(sales_table())


def test_the_sheet(plan):
    order_table = plan.orders()
    assert order_table.columns == [
        *("item", "date", "order", "usual_sales", "hidden_demand", "safety", "based_on"),
        "outside_data",
    ]
    assert order_table.height == 12 * 3
    assert order_table["date"].unique().sort().to_list() == [
        FIRST + datetime.timedelta(80 + day) for day in range(3)
    ]
    assert order_table["order"].dtype == pl.Int64
    assert (order_table["order"] >= 0).all()
    assert set(order_table["based_on"]) == {"own history"}


def test_parts_add_up(plan):
    parts = plan.explain()
    total = parts["usual_sales"] + parts["hidden_demand"] + parts["cost_of_running_out"]
    np.testing.assert_allclose(total, parts["order"], atol=1e-3)
    assert (parts["hidden_demand"] >= 0).all()
    assert parts["hidden_demand"].sum() > 0


def test_the_choice_is_told(plan):
    choice = plan.choice_
    assert choice.model == "blend"
    assert set(choice.members) < set(choice.cost)
    assert "In a backtest its orders cost" in choice.why
    assert choice.censoring_adjusted
    assert choice.to_dict()["model"] == choice.model


def test_the_same_again_bit_for_bit_and_rows_in_any_order(plan):
    again = clone(plan).fit(sales_table().sample(fraction=1.0, shuffle=True, seed=1))
    assert again.orders().equals(plan.orders())


def test_mended_orders_are_nearer_to_the_truth_than_those_of_sales():
    """Where it sells out on many days, orders that take sales for demand meet too little of it."""
    demand, stock = demand_and_stock(20, 87, seed=3, ratio=1.0)
    table = sales_table(20, 80, seed=3, ratio=1.0)  # only shapes: values are put in below
    sales, flags = np.minimum(demand, stock)[:, :80], (demand >= stock)[:, :80]
    table = table.with_columns(
        pl.Series("sales", sales.ravel()), pl.Series("sold_out", flags.ravel())
    )
    cost = Newsvendor.at_level(0.8)
    found = {}
    for name, sold_out in (("told", None), ("ignoring", "")):
        fitted = OrderPlan(
            cost=Newsvendor.at_level(0.8), model="linear", schema=Schema(sold_out=sold_out)
        ).fit(table)
        orders = fitted.orders()["order"].to_numpy().reshape(20, 7)
        found[name] = np.mean(cost.cost(orders.ravel(), demand[:, 80:].ravel()))
    assert found["told"] < 0.9 * found["ignoring"]


def test_pandas_in_and_pandas_out(plan):
    pd = pytest.importorskip("pandas")
    rows = sales_table()
    table = pd.DataFrame({name: rows[name].to_list() for name in rows.columns})
    table["date"] = pd.to_datetime(table["date"])
    fitted = clone(plan).set_params(model="linear").fit(table)
    order_table = fitted.orders()
    assert isinstance(order_table, pd.DataFrame)
    direct = clone(plan).set_params(model="linear").fit(rows).orders()
    np.testing.assert_array_equal(order_table["order"], direct["order"])
    assert list(order_table["item"]) == direct["item"].to_list()
    assert isinstance(fitted.explain(order_table.head(1)), pd.DataFrame)


def test_a_network_follows_the_week():
    """It costs less than the quantile of each item's past, which knows nothing of weekdays."""
    demand, _ = demand_and_stock(12, 87, seed=5)
    past, truth = demand[:, :80], demand[:, 80:].ravel()
    table = sales_table(12, 80, flags=False).with_columns(pl.Series("sales", past.ravel()))
    cost = Newsvendor.at_level(0.8)
    flat = np.repeat(np.quantile(past, 0.8, axis=1), 7)
    plan = OrderPlan(cost=Newsvendor.at_level(0.8), model="neural", lot=None)
    orders = clone(plan).fit(table).orders()["order"]
    assert np.mean(cost.cost(orders.to_numpy(), truth)) < 0.8 * np.mean(cost.cost(flat, truth))


# --- Awkward tables.


@pytest.mark.parametrize("n_days", [1, 2, 10, 30])
def test_few_days(n_days):
    fitted = OrderPlan(horizon=2).fit(sales_table(n_series=3, n_days=n_days, flags=False))
    assert fitted.orders().height == 6
    assert (fitted.orders()["order"] > 0).all()


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_constant_sales(value):
    rows = sales_table(n_series=3, n_days=60, flags=False).with_columns(
        pl.lit(value).alias("sales")
    )
    fitted = OrderPlan(schema=Schema(sales="sales")).fit(rows)
    orders = fitted.orders()["order"]  # counts vary as much as chance makes them, or more
    assert ((orders >= value) & (orders <= 1.2 * value)).all()


def test_a_new_item_is_ordered_like_similar_ones():
    rows = sales_table(n_series=8)
    kind = pl.when(pl.col("item") >= "004").then(pl.lit("big")).otherwise(pl.lit("small"))
    rows = rows.with_columns(kind.alias("kind"))
    days = [FIRST + datetime.timedelta(80 + day) for day in range(7)]
    future = pl.DataFrame({"date": days, "item": ["new"] * 7, "kind": ["big"] * 7})
    fitted = OrderPlan(cost=Newsvendor.at_level(0.8), model="linear").fit(rows, future=future)
    order_table = fitted.orders()
    own = order_table.filter(pl.col("item") == "new")
    assert set(own["based_on"]) == {"similar series"}
    big = order_table.filter(pl.col("item").is_in(["004", "005", "006", "007"]))["order"].mean()
    assert 0.3 * big < own["order"].mean() < 3 * big
    assert any("1 new series" in note for note in fitted.notes_)


def test_prices_that_are_known_move_orders():
    generator = np.random.default_rng(0)
    rows = sales_table(n_series=6, n_days=90, flags=False)
    price = generator.choice([1.0, 2.0], rows.height)
    rows = rows.with_columns(
        pl.Series("price", price), (pl.col("sales") / pl.Series(price)).round().alias("sales")
    )
    days = [FIRST + datetime.timedelta(90 + day) for day in range(2)]
    future = pl.DataFrame({"date": days, "price": [1.0, 2.0]})
    fitted = OrderPlan(horizon=2, cost=Newsvendor.at_level(0.6), model="linear").fit(
        rows, future=future
    )
    cheap, dear = (fitted.orders().filter(pl.col("date") == day)["order"].sum() for day in days)
    assert cheap > 1.3 * dear


def test_a_closed_weekday_has_no_orders():
    rows = sales_table(n_series=4, flags=False).filter(pl.col("date").dt.weekday() != 7)
    fitted = OrderPlan(model="linear").fit(rows)
    assert 7 not in fitted.orders()["date"].dt.weekday().to_list()
    assert any("no orders" in note for note in fitted.notes_)


def test_lots():
    fitted = OrderPlan(model="linear", lot=6, horizon=2).fit(sales_table(n_series=4))
    assert (fitted.orders()["order"] % 6 == 0).all()
    halves = sales_table(n_series=4).with_columns(pl.col("sales") + 0.5)
    assert OrderPlan(model="linear", horizon=2).fit(halves).orders()["order"].dtype == pl.Float64


def test_lots_cost_least_of_all_multiples():
    """Against a grid: expected cost of every multiple under the plan's own distribution."""
    plan = OrderPlan(horizon=2, cost=Newsvendor(3, 1), lot=6, model="smoothing", sellout_rate=0)
    plan.fit(sales_table(n_series=6, flags=False))
    series, day, _ = plan.targets_
    count = np.arange(2_000)
    for row, order in enumerate(plan.orders()["order"]):
        own = (each[[row] * count.size] for each in plan._of_rows(series, day))
        chance = np.diff(plan.distribution_.reached(count.astype(float), *own), prepend=0.0)
        lots = np.arange(0, 1_200, 6)
        costs = [chance @ plan.cost_.cost(np.full(count.size, float(lot)), count) for lot in lots]
        assert costs[order // 6] <= min(costs) * (1 + 1e-3)


def test_whole_units_are_decided_series_by_series():
    rows = sales_table(n_series=4, flags=False)
    weighed = pl.when(pl.col("item") == "003").then(pl.col("sales") + 0.25).otherwise("sales")
    orders = OrderPlan(horizon=2, model="smoothing").fit(rows.with_columns(sales=weighed)).orders()
    whole = (orders["order"] == orders["order"].round()).to_numpy()
    assert whole[(orders["item"] != "003").to_numpy()].all()
    assert not whole[(orders["item"] == "003").to_numpy()].all()


def test_orders_beyond_all_sales_are_marked():
    plan = OrderPlan(horizon=7, cost=Newsvendor.at_level(0.999), model="smoothing")
    orders = plan.fit(sales_table(n_series=4, flags=False)).orders()
    largest = dict(enumerate(plan.panel_.largest))
    above = [row["order"] > largest[int(row["item"])] for row in orders.iter_rows(named=True)]
    assert any(above)
    assert [each == "above the largest sales" for each in orders["outside_data"]] == above


def test_a_level_that_is_promised_is_reached_on_days_held_out():
    plan = OrderPlan(horizon=3, cost=Newsvendor.at_level(0.8), model=("smoothing", "seasonal"))
    plan.fit(sales_table(n_series=30, n_days=90, flags=False))
    assert plan.reached_ == pytest.approx(0.8, abs=0.05)
    assert plan.at(cost=Newsvendor.at_level(0.95)).reached_ == pytest.approx(0.95, abs=0.03)


def test_a_member_that_spoils_the_mean_is_left_out(monkeypatch):
    from unmet.planning.candidates import PanelModel

    def spoiled(self, *rows):
        return (5.0 if self.name == "neural" else 1.0) * usual(self, *rows)

    usual = PanelModel.expected
    monkeypatch.setattr(PanelModel, "expected", spoiled)
    members = ("smoothing", "linear", "neural")
    fitted = OrderPlan(horizon=3, model=members).fit(sales_table(flags=False))
    assert fitted.choice_.members == ("smoothing", "linear")
    assert "without it, errors were smaller in the backtest" in fitted.choice_.left_out[0]


def test_trees_are_left_out_where_their_package_is_missing(monkeypatch):
    from unmet.errors import MissingPackage

    def fail():
        raise MissingPackage.for_extra("BoostedDecision", "lightgbm", "boost")

    monkeypatch.setattr("unmet.planning.candidates.load_lightgbm", fail)
    fitted = OrderPlan(horizon=3).fit(sales_table(n_series=4))
    assert set(fitted.choice_.members) == {"smoothing", "linear", "distribution"}
    assert "lightgbm" in fitted.choice_.left_out[0]
    with pytest.raises(MissingPackage):
        OrderPlan(horizon=3, model=("linear", "boosted")).fit(sales_table(n_series=4))


# --- Wrong words: all of them at once.


def test_all_wrong_words_are_told_at_once():
    wrong = OrderPlan(horizon=0, schema=Schema(gaps="none"), model="guess", random_state=-1)
    with pytest.raises(InvalidInput) as caught:
        wrong.fit(sales_table(n_series=2, n_days=5))
    sentence = str(caught.value)
    for part in (
        "horizon must be a whole number from 1 to 366, got 0.",
        "gaps must be 'auto', 'missing' or 'zero', got 'none'.",
        "model must be 'auto', one of 'seasonal', 'smoothing', 'linear', 'distribution', "
        "'neural', 'boosted', 'blend'",
        "random_state must be",
    ):
        assert part in sentence


def test_without_costs_nine_days_of_ten():
    fitted = OrderPlan(model="seasonal", horizon=1).fit(sales_table(n_series=2, n_days=30))
    assert fitted.cost_.level == pytest.approx(0.9)
    assert "90% service level" in fitted.notes_[0]


def test_an_empty_table_and_one_whose_series_have_ended():
    with pytest.raises(InvalidInput, match="table must have at least one row"):
        OrderPlan().fit(sales_table(n_series=1).head(0))


# --- TrainingSet and models.


def test_nothing_is_mended_where_sales_are_demand():
    demand, _ = demand_and_stock(5, 50)
    panel = Panel(demand, np.zeros(demand.shape), FIRST)
    training = TrainingSet(panel, 3, 0)
    assert training.censoring is None
    np.testing.assert_array_equal(training.demand, demand)


def test_mended_demand_is_at_least_the_sales_and_near_the_truth():
    demand, stock = demand_and_stock(30, 80, ratio=1.0)
    sales, flags = np.minimum(demand, stock), (demand >= stock).astype(float)
    training = TrainingSet(Panel(sales, flags, FIRST), 3, 0)
    assert (training.demand >= sales - 1e-9).all()
    np.testing.assert_array_equal(training.demand[flags == 0], sales[flags == 0])
    late = flags[:, 20:] == 1
    imputed, true, sold = (each[:, 20:][late].sum() for each in (training.demand, demand, sales))
    assert abs(imputed - true) < 0.6 * (true - sold)


@pytest.fixture(scope="module")
def untold():
    """Demand, what was sold of it, and nothing that tells which days sold out."""
    demand, stock = demand_and_stock(seed=3, n_days=120, ratio=1.05)
    table = sales_table(seed=3, n_days=120, flags=False, ratio=1.05)
    return table, float((demand >= stock).mean())


def test_a_sellout_rate_orders_what_it_hides(untold):
    table, rate = untold
    words = {"horizon": 3, "cost": Newsvendor.at_level(0.8), "model": "linear"}
    ignoring = OrderPlan(**words, sellout_rate=0.0).fit(table)
    untold = OrderPlan(**words).fit(table)
    told = OrderPlan(**words, sellout_rate=rate).fit(table)
    flagged = OrderPlan(**words).fit(sales_table(seed=3, n_days=120, ratio=1.05))
    assert any("orders assume that up to" in note for note in untold.notes_)
    for plan in (ignoring, told, flagged):
        assert not any("orders assume" in note for note in plan.notes_)
    plans = (ignoring, untold, told, flagged)
    less, some, more, whole = (each.orders()["order"].sum() for each in plans)
    assert less < some < more < less + 2 * (whole - less)  # flags say how much is hidden
    for plan in (untold, told):
        assert plan.orders()["hidden_demand"].sum() > 0
    assert ignoring.orders()["hidden_demand"].sum() == 0
    assert untold.at(sellout_rate=0.0).orders().equals(ignoring.orders())


def test_a_range_of_rates_says_what_its_ends_ask_for(untold):
    table, _ = untold
    plan = OrderPlan(
        horizon=3, cost=Newsvendor.at_level(0.8), model="linear", sellout_rate=(0.1, 0.5)
    )
    order_table = plan.fit(table).orders()
    assert (order_table["low"] <= order_table["order"]).all()
    assert (order_table["order"] <= order_table["high"]).all()
    assert order_table["low"].sum() < order_table["order"].sum() < order_table["high"].sum()
    assert order_table["high"].dtype == order_table["order"].dtype


@pytest.mark.slow
def test_flags_are_worth_more_than_a_rate(plan):
    told = OrderPlan(horizon=3, cost=Newsvendor.at_level(0.8), sellout_rate=(0.1, 0.5)).fit(
        sales_table()
    )
    assert told.orders().equals(plan.orders())
    assert any("sell-out rate was not used" in note for note in told.notes_)


def test_rates_that_are_none():
    with pytest.raises(InvalidInput, match="sellout_rate must be"):
        OrderPlan(sellout_rate=1.2).fit(sales_table())
